/* SPDX-License-Identifier: MIT */
/*
 * random.h - code shared by the random operators: processing frame by frame, since each frame has its own
 * numbers, and random rectangles. Numbers are drawn on the host, also for a device: a few per frame.
 */
#ifndef FC_PLUGINS_RANDOM_H
#define FC_PLUGINS_RANDOM_H

#include <math.h>

#include "filters/base/power.h"
#include "plugins/single.h"

/* Which of an operator's versions runs. */
typedef enum random_version { RANDOM_CPU, RANDOM_REFERENCE, RANDOM_CUDA } random_version;

/* The call of that version; of a device's there is nothing in a build without CUDA. */
#if FC_HAVE_CUDA
#define RANDOM_CALL(version, cpu, reference, cuda)                                                           \
  ((version) == RANDOM_CUDA ? (cuda) : (version) == RANDOM_REFERENCE ? (reference) : (cpu))
#else
#define RANDOM_CALL(version, cpu, reference, cuda) ((version) == RANDOM_REFERENCE ? (reference) : (cpu))
#endif

/* One frame of a job, and its key. */
typedef struct random_frame {
  fc_view in, out;
  uint64_t key;
  random_version version;
} random_frame;
typedef fc_status (*random_frame_fn)(const fc_host *host, const void *prepared, const fc_job *job,
                                     const random_frame *frame);

static inline fc_view random_frame_of(const fc_view *v, int64_t n) {
  fc_view frame = *v;
  frame.data = fc_view_at(v, n, 0, 0, 0);
  frame.origin[FC_AXIS_N] += n;
  frame.shape[FC_AXIS_N] = 1;
  return frame;
}

static inline fc_status random_each(const fc_host *host, const void *prepared, const fc_job *job,
                                    random_version version, random_frame_fn run) {
  fc_status status = FC_OK;
  if (fc_view_count(job->out) == 0) return FC_OK;
  for (int64_t n = 0; n < job->out->shape[FC_AXIS_N] && status == FC_OK; n++) {
    const random_frame frame = {random_frame_of(job->in[0], n), random_frame_of(job->out, n),
                                fc_random_key(host, job->out->origin[FC_AXIS_N] + n), version};
    status = run(host, prepared, job, &frame);
  }
  return status;
}

/* All rows and columns of the input are read. */
static inline void random_see_all(fc_terms *terms) {
  fc_need *need = terms->needs[0];
  need->border = FC_BORDER_NONE;
  need->reach[FC_AXIS_X].before = need->reach[FC_AXIS_X].after = FC_WHOLE;
  need->reach[FC_AXIS_Y].before = need->reach[FC_AXIS_Y].after = FC_WHOLE;
}

typedef struct random_rectangle {
  int64_t x, y, width, height;
} random_rectangle;

/*
 * A rectangle within width x height whose area is a random fraction of it, uniform in area[0] to area[1], and
 * whose aspect ratio (width by height) is random between ratio[0] and ratio[1], uniform in its logarithm, as
 * in torchvision. Ten attempts are made; returns 0 if none fits. Uses numbers first .. first + 39.
 */
static inline int random_rectangle_of(uint64_t key, uint64_t first, int64_t width, int64_t height,
                                      const double area[2], const double ratio[2], random_rectangle *r) {
  const double low = fc_log2(ratio[0]), high = fc_log2(ratio[1]);
  for (uint64_t i = first; i < first + 40; i += 4) {
    const double part = fc_random_between(key, i, area[0], area[1]) * (double)width * (double)height;
    const double shape = fc_exp2(fc_random_between(key, i + 1, low, high));
    r->width = (int64_t)(sqrt(part * shape) + 0.5), r->height = (int64_t)(sqrt(part / shape) + 0.5);
    if (r->width < 1 || r->height < 1 || r->width > width || r->height > height) continue;
    r->x = fc_random_below(key, i + 2, width - r->width + 1);
    r->y = fc_random_below(key, i + 3, height - r->height + 1);
    return 1;
  }
  return 0;
}

/* Two numbers in ascending order, given or preset. */
static inline fc_status random_check_pair(const fc_host *host, const char *name, const fc_arg *arg) {
  if (arg->count == 2 && arg->floats[0] <= arg->floats[1]) return FC_OK;
  return host->fail(host, FC_INVALID, "%s=%s: expected the least and the most, as in %s=0.5,1", name,
                    arg->text, name);
}

#define RANDOM_P_PARAM(doc) FC_FLOAT_PARAM(0, "p", doc, NULL, "0.5", FC_FLOAT_BETWEEN(0, 1))

/* The end of each operator's documentation. */
#define RANDOM_DOC                                                                                           \
  "\n\nWhat is drawn depends on --seed, --epoch, the input's name, the frame's number and the stage's "      \
  "place in "                                                                                                \
  "the chain, and on nothing else: it is the same for any number of threads, shards and chunks, "            \
  "and "                                                                                                     \
  "another in each epoch."

/* Defines the process functions of all versions, by one for a frame; RANDOM_BACKENDS of the descriptor names
 * them. Numbers go into kernels by value: not for graphs. */
#define RANDOM_PROCESS(name, version, frame)                                                                 \
  static fc_status name(const fc_host *host, const void *prepared, const fc_job *job) {                      \
    return random_each(host, prepared, job, version, frame);                                                 \
  }
#if FC_HAVE_CUDA
#define RANDOM_PROCESSES(frame)                                                                              \
  RANDOM_PROCESS(process_cpu, RANDOM_CPU, frame)                                                             \
  RANDOM_PROCESS(process_reference, RANDOM_REFERENCE, frame)                                                 \
  RANDOM_PROCESS(process_cuda, RANDOM_CUDA, frame)
#else
#define RANDOM_PROCESSES(frame)                                                                              \
  RANDOM_PROCESS(process_cpu, RANDOM_CPU, frame)                                                             \
  RANDOM_PROCESS(process_reference, RANDOM_REFERENCE, frame)
#endif
#define RANDOM_BACKENDS(prepare, release, scratch, scratch_cuda)                                             \
  .backends = BACKENDS(FC_ON_CPU(prepare, release, scratch, process_cpu),                                    \
                       FC_ON_CUDA(0, prepare, release, scratch_cuda, process_cuda)),                         \
  .reference = FC_ON_CPU(prepare, release, scratch, process_reference)

#endif

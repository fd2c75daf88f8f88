/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - what the tests on a device share: a runner or a reason to skip, views with
 * random strides, and the runner's functions called so that a failure ends the test.
 */
#ifndef FC_TESTS_GPU_H
#define FC_TESTS_GPU_H

#include "core/device/runner.h"
#include "tests/filters/check.h"

#define SKIP 77 /* the exit status that Meson reports as a skipped test */

static inline void must(gboolean ok, GError *error) {
  if (ok && !error) return;
  fprintf(stderr, "failed: %s\n", error ? error->message : "no reason given");
  exit(1);
}

/* A runner on the first device with streams of its own; skips the test without one. */
static inline fc_runner *gpu_start(void) {
  char *reason = NULL;
  GError *error = NULL;
  if (!fc_cuda_driver() || fc_cuda_driver()->count(&reason) == 0) {
    printf("skipped: %s\n", reason);
    exit(SKIP);
  }
  fc_runner *runner = fc_cuda_driver()->open(0, NULL, &error);
  must(runner != NULL, error);
  printf("on %s\n", runner->description);
  return runner;
}

static inline void *must_alloc(void *memory) {
  if (memory) return memory;
  fprintf(stderr, "failed: no memory\n");
  exit(1);
}

/* ---- one piece of work, enqueued and waited for ------------------------- */

typedef struct gpu_work {
  fc_runner *runner;
  const fc_view *to, *from; /* copy; border: `to` */
  guint32 *notes;
  const fc_range *wanted;
  int border;
  const void *code;
} gpu_work;

static inline gboolean gpu_enqueue(void *data, GError **error) {
  const gpu_work *w = data;
  if (w->wanted) return w->runner->fill_border(w->runner, w->to, w->wanted, w->border, w->code, error);
  return w->runner->copy(w->runner, w->to, w->from, w->notes, error);
}

static inline void gpu_run(const gpu_work *work) {
  GError *error = NULL;
  gboolean ok = work->runner->compute(work->runner, 0, 0, gpu_enqueue, (void *)work, &error);
  must(ok && work->runner->finish(work->runner, &error), error);
}

static inline void gpu_copy(fc_runner *runner, const fc_view *to, const fc_view *from, guint32 *notes) {
  gpu_work work = {runner, to, from, notes, NULL, 0, NULL};
  gpu_run(&work);
}

static inline void gpu_border(fc_runner *runner, const fc_view *view, const fc_range wanted[FC_AXES],
                              int border, const void *code) {
  gpu_work work = {runner, view, NULL, NULL, wanted, border, code};
  gpu_run(&work);
}

static inline gboolean gpu_nothing(void *unused, GError **error) {
  return TRUE;
}

/* What is computed after an upload waits for it. */
static inline void gpu_upload(fc_runner *runner, const fc_view *to, const fc_view *from) {
  GError *error = NULL;
  must(runner->upload(runner, 0, to, from, &error) &&
           runner->compute(runner, 0, 0, gpu_nothing, NULL, &error) && runner->wait(runner, 0, &error),
       error);
}

static inline void gpu_download(fc_runner *runner, const fc_view *to, const fc_view *from) {
  GError *error = NULL;
  must(runner->download(runner, 0, to, from, &error) && runner->wait(runner, 0, &error), error);
}

/* ---- views -------------------------------------------------------------- */

/* Bytes as a row of u8. */
static inline fc_view bytes_view(void *memory, gint64 bytes, int device) {
  fc_view v = {sizeof v, FC_U8, FC_ARRAY, device, memory, {1, 1, bytes, 1}, {bytes, bytes, 1, 1}, {0}, {0}};
  for (int a = 0; a < FC_AXES; a++) v.extent[a] = v.shape[a];
  return v;
}

static inline void device_set(fc_runner *runner, void *device, void *host, gint64 bytes) {
  fc_view to = bytes_view(device, bytes, runner->device), from = bytes_view(host, bytes, FC_HOST);
  gpu_upload(runner, &to, &from);
}

static inline void device_get(fc_runner *runner, void *host, void *device, gint64 bytes) {
  fc_view to = bytes_view(host, bytes, FC_HOST), from = bytes_view(device, bytes, runner->device);
  gpu_download(runner, &to, &from);
}

/*
 * Gives a view of `shape` strides in a random order of axes, interleaved and planar
 * among them, with random room after some of them, and places it in `memory` after
 * some room. Returns the bytes that it takes; exits when those are more than `limit`.
 */
static inline gint64 random_layout(fc_view *v, int dtype, int kind, const gint64 shape[FC_AXES], void *memory,
                                   gint64 limit) {
  static const int orders[][FC_AXES] = {{3, 2, 1, 0}, {2, 1, 3, 0}, {3, 2, 1, 0}, {2, 3, 0, 1}, {1, 3, 2, 0}};
  const int *order = orders[random_int(0, 4)];
  gint64 size = (gint64)fc_dtype_size(dtype), lead = size * random_int(0, 20), bytes = size;
  gboolean padded = random_int(0, 1) == 1;
  memset(v, 0, sizeof *v);
  v->size = sizeof *v, v->dtype = dtype, v->kind = kind, v->data = (char *)memory + lead;
  for (int i = 0; i < FC_AXES; i++) {
    int a = order[i];
    v->shape[a] = v->extent[a] = shape[a];
    if (padded && random_int(0, 1)) bytes += size * random_int(0, i ? 9 : 2);
    if (padded && random_int(0, 3) == 0) bytes = (bytes + 63) / 64 * 64;
    v->stride[a] = bytes;
    bytes *= MAX(shape[a], 1);
  }
  if (lead + bytes <= limit) return lead + bytes;
  fprintf(stderr, "a view of the test is larger than its memory\n");
  exit(1);
}

/* The same view in other memory. */
static inline fc_view moved(const fc_view *v, const void *from, void *to, int device) {
  fc_view m = *v;
  m.data = (char *)to + ((const char *)v->data - (const char *)from);
  m.device = device;
  return m;
}

/* Calls body for every index of a shape. */
#define EVERY_INDEX(shape, n, y, x, c)                                                                       \
  for (gint64 n = 0; n < (shape)[0]; n++)                                                                    \
    for (gint64 y = 0; y < (shape)[1]; y++)                                                                  \
      for (gint64 x = 0; x < (shape)[2]; x++)                                                                \
        for (gint64 c = 0; c < (shape)[3]; c++)

#endif

/* SPDX-License-Identifier: MIT */
/*
 * stft_state.h - code shared by the operators on short-time spectra: the parameters for cutting sound into
 * frames, and the prepared transform in device memory.
 *
 * An operator puts FRAME_PARAMS first among its params and reads them with frames_read.
 */
#ifndef FC_PLUGINS_STFT_STATE_H
#define FC_PLUGINS_STFT_STATE_H

#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/fourier/stft.h"
#include "filters/fourier/window.h"
#include "plugins/windows.h"

/* ---- parameters ----------------------------------------------------------------- */

enum { FRAME, HOP, FFT, WINDOW, BETA, CENTER, FRAMES_PARAMS };

/* Far beyond any use, and small enough that products of two fit 64 bits. */
#define FRAME_LONGEST (1 << 24)

/* The parameters for cutting sound into frames; the frame length is different for each operator. */
#define FRAME_PARAMS(frame)                                                                                  \
  frame,                                                                                                     \
      FC_INT_PARAM(0, "hop", "Samples from one frame to the next. A quarter of the frame unless given.",     \
                   "samples", NULL, FC_INT_BETWEEN(1, FRAME_LONGEST)),                                       \
      FC_INT_PARAM(0, "fft",                                                                                 \
                   "Length of the transform: a frame is filled up to it with zeros, which makes more "       \
                   "bins. The frame's unless given. Any length works; those without large prime factors "    \
                   "are fast.",                                                                              \
                   "samples", NULL, FC_INT_BETWEEN(1, FRAME_LONGEST)),                                       \
      FC_ENUM_PARAM(0, "window", "What a frame is multiplied by, in its periodic form.", "hann",             \
                    WINDOW_CHOICES),                                                                         \
      FC_FLOAT_PARAM(0, "beta", "Shape of the Kaiser window: 0 is rectangular, 8.6 like Blackman's.", NULL,  \
                     "8.6", FC_FLOAT_BETWEEN(0, 100)),                                                       \
      FC_BOOL_PARAM(0, "center",                                                                             \
                    "Frames are centred on multiples of hop, the first on the first sample, with what "      \
                    "border says around the sound; otherwise they begin there.",                             \
                    "yes")

/* How a sound is cut into frames. */
typedef struct frames {
  int64_t frame, hop, size, before;
  fc_window window;
  double beta;
  int center;
} frames;

static inline fc_status frames_read(const fc_host *host, const fc_arg *const *args, frames *f) {
  f->frame = args[FRAME]->ints[0];
  f->hop = args[HOP]->count ? args[HOP]->ints[0] : f->frame / 4 > 0 ? f->frame / 4 : 1;
  f->size = args[FFT]->count ? args[FFT]->ints[0] : f->frame;
  f->window = (fc_window)args[WINDOW]->ints[0];
  f->beta = args[BETA]->floats[0];
  f->center = (int)args[CENTER]->ints[0];
  f->before = f->center ? f->frame / 2 : 0;
  if (f->size >= f->frame) return FC_OK;
  return host->fail(host, FC_INVALID, "fft=%lld is shorter than a frame of %lld samples", (long long)f->size,
                    (long long)f->frame);
}

/* Spectra that stft wrote to an .npy file are an array with two axes, which is read as an image. */
static inline fc_status frames_check_axes(const fc_host *host, const fc_format *in, int64_t values) {
  const int64_t *extent = in->extent;
  if (in->kind != FC_ARRAY || extent[FC_AXIS_C] != 1 || extent[FC_AXIS_X] != values || values == 1)
    return FC_OK;
  return host->fail(host, FC_INVALID,
                    "an array of two axes is read as rows and columns, not as frames and channels: give it a "
                    "third in front, array[None] in NumPy");
}

/* As many frames as cover `length` samples. */
static inline int64_t frames_count(const frames *f, int64_t length) {
  if (length < 0) return FC_UNKNOWN;
  if (length == 0) return 0;
  int64_t beyond = f->center ? length : length > f->frame ? length - f->frame : 0;
  return 1 + (beyond + f->hop - 1) / f->hop;
}

/* The forward transform's view of time: frame o looks at samples from o * hop - before on. There is one more
 * of centred frames than of hops, so they look back, also those of one sample. */
static inline fc_reach frames_reach(const frames *f) {
  const int64_t before = f->center && f->before == 0 ? 1 : f->before;
  return (fc_reach){before, f->frame - f->before - f->hop, f->hop, 1, 1};
}

/* ---- the prepared transform -------------------------------------------------------- */

typedef struct stft_state {
  fc_stft s;
  int device;
  void *memory[12]; /* on the host and on the device, to be freed */
  int devices[12], n_memory;
} stft_state;

static inline void stft_state_clear(const fc_host *host, stft_state *t) {
  for (int i = 0; i < t->n_memory; i++) host->free(host, t->devices[i], t->memory[i]);
  t->n_memory = 0;
}

static inline void *stft_state_alloc(const fc_host *host, stft_state *t, int device, size_t bytes) {
  void *memory = host->alloc(host, device, bytes ? bytes : 1);
  if (memory) t->devices[t->n_memory] = device, t->memory[t->n_memory++] = memory;
  return memory;
}

/* A copy on the device, or NULL. */
static inline const void *stft_state_upload(const fc_host *host, stft_state *t, const void *from,
                                            size_t bytes) {
  void *to = stft_state_alloc(host, t, t->device, bytes);
  return to && host->upload(host, t->device, to, from, bytes) == FC_OK ? to : NULL;
}

static inline void stft_state_set(void *to, int compute, int64_t at, double v) {
  if (compute == FC_F64)
    ((double *)to)[at] = v;
  else
    ((float *)to)[at] = (float)v;
}

static inline void stft_state_release(const fc_host *host, void *prepared) {
  if (prepared) stft_state_clear(host, prepared);
  free(prepared);
}

/* Window and plan; `scale` multiplies the window. On failure, stft_state_clear. */
static inline fc_status stft_state_make(const fc_host *host, const fc_setup *setup, const frames *f,
                                        double scale, stft_state *t) {
  size_t size = fc_dtype_size(setup->compute), window_bytes = (size_t)f->frame * size;
  size_t plan_bytes = fc_rfft_bytes(f->size, setup->compute);
  t->device = setup->device;
  double *exact = malloc((size_t)f->frame * sizeof *exact);
  void *window = stft_state_alloc(host, t, FC_HOST, window_bytes);
  void *plan = stft_state_alloc(host, t, FC_HOST, plan_bytes);
  if (!exact || !window || !plan) {
    free(exact);
    return host->fail(host, FC_NO_MEMORY, "no memory for a transform of %lld samples", (long long)f->size);
  }
  fc_window_fill(f->window, f->beta, 0, f->frame, exact);
  for (int64_t i = 0; i < f->frame; i++) stft_state_set(window, setup->compute, i, scale * exact[i]);
  free(exact);
  fc_status status = fc_rfft_init(plan, f->size, setup->compute, fc_isa_best());
  t->s.compute = setup->compute;
  t->s.isa = fc_isa_best();
  t->s.frame = f->frame, t->s.size = f->size, t->s.hop = f->hop, t->s.before = f->before;
  t->s.window = window;
  t->s.plan = plan;
  if (status != FC_OK || setup->device == FC_HOST) return status;
  t->s.device_window = stft_state_upload(host, t, window, window_bytes);
  t->s.device_plan = stft_state_upload(host, t, plan, (size_t)t->s.plan->bytes);
  if (t->s.device_window && t->s.device_plan) return FC_OK;
  return host->fail(host, FC_NO_MEMORY, "no device memory for a transform of %lld samples",
                    (long long)f->size);
}

/* ---- the forward transform as a backend's functions --------------------------------- */

static inline size_t stft_state_scratch(const void *prepared, const fc_job *job) {
  return fc_stft_scratch(&((const stft_state *)prepared)->s, job->out);
}

static inline fc_status stft_state_process(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_stft_cpu(&((const stft_state *)prepared)->s, job->in[0], job->out, job->scratch, job->notes);
}

/* Of the inverse's reference too. */
static inline size_t stft_state_scratch_reference(const void *prepared, const fc_job *job) {
  (void)job;
  return fc_stft_ref_scratch(&((const stft_state *)prepared)->s);
}

static inline fc_status stft_state_process_reference(const fc_host *host, const void *prepared,
                                                     const fc_job *job) {
  (void)host;
  return fc_stft_ref(&((const stft_state *)prepared)->s, job->in[0], job->out, job->scratch, job->notes);
}

#if FC_HAVE_CUDA
static inline size_t stft_state_scratch_cuda(const void *prepared, const fc_job *job) {
  return fc_stft_device_scratch(&((const stft_state *)prepared)->s, job->out);
}

static inline fc_status stft_state_process_cuda(const fc_host *host, const void *prepared,
                                                const fc_job *job) {
  (void)host;
  return fc_stft_cuda(&((const stft_state *)prepared)->s, job->in[0], job->out, job->scratch,
                      job->scratch_bytes, job->notes, job->stream);
}
#endif

#endif

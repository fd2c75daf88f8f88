/* SPDX-License-Identifier: MIT */
/*
 * convolution.h - code shared by the operators on filters/conv1d: a prepared mask, the choice between direct
 * sums and transforms, the prepared state, and the backends. Each includes it once, fills in a convolution
 * and defines only where its taps come from.
 */
#ifndef FC_PLUGINS_CONVOLUTION_H
#define FC_PLUGINS_CONVOLUTION_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/conv1d/choice.h"
#include "filters/conv1d/conv1d.h"
#include "filters/conv1d/conv1d_fft.h"
#include "filters/conv1d/conv1d_overlap.h"
#include "plugins/mask2d.h"
#include "plugins/meaning.h"
#include "plugins/single.h"

enum { SAME, FULL, VALID };
enum { AUTO, DIRECT, FFT };

typedef struct convolution {
  const char *name; /* of the mask, for messages */
  double *mask;     /* masks x used, in the order in which they are applied to the input */
  int64_t taps, masks;
  int64_t skipped, used; /* leading taps that are 0 in all masks; taps up to the last other one */
  int64_t before;        /* for mode=same */
  int axis, mode, method;
  int integers; /* all taps are integers */
} convolution;

/* ---- the mask ---------------------------------------------------------------- */

/* Zeros at the ends of a mask are only a delay, which costs nothing. */
static inline void trim_mask(convolution *self, const double *table, int flip) {
  int64_t n = self->taps, columns = self->masks, first = n, last = -1;
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = 0; k < columns; k++) {
      if (table[(flip ? n - 1 - j : j) * columns + k] == 0) continue;
      if (first > j) first = j;
      last = j;
    }
  self->skipped = last < 0 ? 0 : first;
  self->used = last < 0 ? 1 : last - first + 1;
}

/* Several columns are one mask per channel; a single row or column is one mask for all. */
static inline void read_mask(convolution *self, const double *table, int flip) {
  int64_t columns = self->masks;
  for (int64_t k = 0; k < columns; k++)
    for (int64_t i = 0; i < self->used; i++) {
      int64_t j = self->skipped + i;
      self->mask[k * self->used + i] = table[(flip ? self->taps - 1 - j : j) * columns + k];
    }
}

/* Normalises the taps of each mask to a sum of 1. Refused if the sum is only the rounding error of its
 * terms (a differentiator). */
static inline fc_status normalize_masks(const fc_host *host, convolution *self) {
  for (int64_t k = 0; k < self->masks; k++) {
    double *mask = self->mask + k * self->used, sum = 0, size = 0;
    for (int64_t j = 0; j < self->used; j++) sum += mask[j], size += fabs(mask[j]);
    if (fabs(sum) <= 1e-9 * size)
      return host->fail(host, FC_INVALID, "%s: normalize=yes divides by the sum of the mask, which is %s",
                        self->name, sum == 0 ? "0" : "close to 0");
    for (int64_t j = 0; j < self->used; j++) mask[j] /= sum;
  }
  return FC_OK;
}

static inline int are_integers(const convolution *self) {
  for (int64_t i = 0; i < self->used * self->masks; i++)
    if (self->mask[i] != rint(self->mask[i])) return 0;
  return 1;
}

static inline void convolution_finish(convolution *self) {
  free(self->mask);
}

/* Takes `taps` rows of `masks` columns, one impulse response per column; axis, mode and method are set. On
 * failure nothing needs to be freed. */
static inline fc_status convolution_init(const fc_host *host, convolution *self, const char *name,
                                         const double *table, int64_t taps, int64_t masks, int flip,
                                         int normalize) {
  fc_status status = FC_OK;
  self->name = name, self->taps = taps, self->masks = masks;
  self->mask = malloc((size_t)(taps * masks) * sizeof *self->mask);
  if (!self->mask)
    return host->fail(host, FC_NO_MEMORY, "%s: no memory for %lld taps", name, (long long)(taps * masks));
  /* When reversed, the centre (n-1)/2 of a convolution is that far from the last tap. */
  self->before = flip ? taps - 1 - (taps - 1) / 2 : taps / 2;
  trim_mask(self, table, flip);
  read_mask(self, table, flip);
  if (normalize) status = normalize_masks(host, self);
  self->integers = are_integers(self);
  if (status != FC_OK) convolution_finish(self);
  return status;
}

/* The position of the output's element within the mask. */
static inline int64_t before_of(const convolution *self) {
  return self->mode == FULL ? self->taps - 1 : self->mode == VALID ? 0 : self->before;
}

/* ---- terms --------------------------------------------------------------------- */

/* The number of outputs along the axis, to choose by; not used for sound, since the same stream must give
 * the same result with and without a known end. */
static inline int64_t outputs_along(const convolution *self, const fc_format *out) {
  return out->kind == FC_AUDIO ? FC_UNKNOWN : out->extent[self->axis];
}

/* The transforms to use: on the CPU of length n, with blocks of hop, on a device as in overlap. No length:
 * direct sums. */
typedef struct transforms {
  int64_t n, hop;
  fc_conv1d_overlap overlap;
} transforms;

/* Sums of integers are exact, which transforms are not; for live sound blocks would add too much delay.
 * The CPU's blocks are multiples of a device's, so that most cuts suit both. */
static inline transforms transforms_of(const convolution *self, const fc_format *in, const fc_format *out,
                                       int compute) {
  transforms t = {0};
  int64_t outputs = outputs_along(self, out);
  int always = self->method == FFT, exact = self->integers && in->dtype != FC_F32 && in->dtype != FC_F64;
  const int live = FC_HAS(in, live) && in->live;
  if (self->method == DIRECT || (self->method == AUTO && (exact || live))) return t;
  int even = self->masks == 1 && out->extent[FC_AXIS_C] > 0 && out->extent[FC_AXIS_C] % 2 == 0;
  t.overlap = fc_conv1d_overlap_plan(self->used, before_of(self) - self->skipped, outputs, even, compute,
                                     self->axis, always);
  t.n = fc_conv1d_fft_length(self->used, outputs, compute, t.overlap.hop, always);
  if (t.n) t.hop = fc_conv1d_fft_hop(self->used, t.n, t.overlap.hop);
  return t;
}

/* Whole blocks that fill vectors, but small enough to leave work for several threads. */
static inline int64_t grain(const convolution *self, const fc_format *out, int64_t hop, int compute) {
  int64_t lines = out->extent[FC_AXIS_C];
  int64_t along = out->extent[self->axis],
          across = out->extent[self->axis == FC_AXIS_X ? FC_AXIS_Y : FC_AXIS_X];
  if (across > 1) lines *= across;
  int64_t blocks = (fc_conv1d_fft_lanes(compute) + lines - 1) / (lines > 0 ? lines : 1);
  if (along >= 0 && blocks > along / hop / 4) blocks = along / hop / 4;
  return hop * (blocks > 1 ? blocks : 1);
}

static inline int64_t common_multiple(int64_t a, int64_t b) {
  int64_t x = a, y = b;
  while (y > 0) {
    int64_t rest = x % y;
    x = y, y = rest;
  }
  return a / x * b;
}

/* Where chunks may be cut, for any device. */
static inline int64_t grid_of(const convolution *self, const fc_format *out, const transforms *t,
                              int compute) {
  int64_t align = t->n ? grain(self, out, t->hop, compute) : 1, along = out->extent[self->axis];
  if (t->overlap.n) align = common_multiple(align, fc_conv1d_overlap_grid(&t->overlap));
  return along >= 1 && align > along ? along : align;
}

static inline void describe_transforms(const fc_host *host, const transforms *t) {
  char cpu[40] = "tap by tap", gpu[40] = "tap by tap";
  (void)gpu;
  if (t->n) snprintf(cpu, sizeof cpu, "by FFT in blocks of %lld", (long long)t->hop);
  if (t->overlap.n) snprintf(gpu, sizeof gpu, "by FFT in blocks of %lld", (long long)t->overlap.hop);
#if FC_HAVE_CUDA
  host->remark(host, "on the CPU %s, on a GPU %s", cpu, gpu);
#else
  host->remark(host, "%s", cpu);
#endif
}

/* Bound for a transform's error: no output is larger than this times the largest input. */
static inline double largest_gain(const convolution *self) {
  double largest = 0;
  for (int64_t k = 0; k < self->masks; k++) {
    double sum = 0;
    for (int64_t j = 0; j < self->used; j++) sum += fabs(self->mask[k * self->used + j]);
    largest = fmax(largest, sum);
  }
  return largest;
}

/* Whether a direct sum is fastest for any length: a transform pays most for endless lines. */
static inline int is_always_direct(const convolution *self, const fc_format *in, const fc_format *out,
                                   int compute) {
  fc_format endless = *out;
  endless.extent[self->axis] = FC_UNKNOWN;
  transforms t = transforms_of(self, in, &endless, compute);
  return t.n == 0 && t.overlap.n == 0;
}

static inline void plan_transforms(const fc_host *host, const convolution *self, fc_terms *terms) {
  transforms t = transforms_of(self, terms->in[0], terms->out, terms->compute);
  terms->work = 2.0 * (double)self->used;
  terms->any_size =
      terms->in[0]->kind == FC_AUDIO || is_always_direct(self, terms->in[0], terms->out, terms->compute);
  if (t.n == 0 && t.overlap.n == 0) return;
  terms->needs[0]->reach[self->axis].align = grid_of(self, terms->out, &t, terms->compute);
  if (t.n) terms->work = 5.0 * (double)t.n / (double)t.hop * log2((double)t.n);
  describe_transforms(host, &t);
  if (FC_HAS(terms, error_gain)) terms->error_gain = largest_gain(self);
}

/* Reach, extent, time and work; the operator sets the border. */
static inline fc_status convolution_terms(const fc_host *host, const convolution *self, fc_terms *terms) {
  const int64_t along = terms->in[0]->extent[self->axis];
  if (self->mode == VALID && along != FC_UNKNOWN && along < self->taps)
    return host->fail(host, FC_INVALID,
                      "%s: mode=valid leaves nothing: the mask has %lld taps, the signal %lld elements",
                      self->name, (long long)self->taps, (long long)along);
  fc_reach *reach = &terms->needs[0]->reach[self->axis];
  int64_t growth = self->mode == FULL ? self->taps - 1 : self->mode == VALID ? 1 - self->taps : 0;
  reach->before = before_of(self);
  reach->after = self->taps - 1 - reach->before;
  if (along != FC_UNKNOWN) terms->out->extent[self->axis] = along + growth;
  if (self->axis == FC_AXIS_X) meaning_shift_time(terms, self->before - before_of(self));
  plan_transforms(host, self, terms);
  return FC_OK;
}

/* ---- running ----------------------------------------------------------------- */

typedef struct convolution_state {
  fc_conv1d filter;
  fc_conv1d_fft *fft;        /* from host->alloc; NULL: direct sums */
  fc_conv1d_overlap overlap; /* on a device */
  void *device_tables;       /* its tables, from host->alloc; NULL: direct sums */
  void *mask, *device_mask;  /* from host->alloc */
  int device;
} convolution_state;

static inline void convolution_release(const fc_host *host, void *prepared) {
  convolution_state *state = prepared;
  if (!state) return;
  host->free(host, state->device, state->device_tables);
  host->free(host, state->device, state->device_mask);
  host->free(host, FC_HOST, state->fft);
  host->free(host, FC_HOST, state->mask);
  free(state);
}

static inline fc_status prepare_transforms(const fc_host *host, convolution_state *state, int64_t n) {
  size_t bytes = n ? fc_conv1d_fft_bytes(&state->filter, n) : 0;
  if (bytes == 0) return FC_OK;
  state->fft = host->alloc(host, FC_HOST, bytes);
  return state->fft ? fc_conv1d_fft_init(state->fft, &state->filter, n) : FC_NO_MEMORY;
}

#if FC_HAVE_CUDA
/* A device without enough shared memory for the transforms uses direct sums. */
static inline fc_status prepare_overlap(const fc_host *host, convolution_state *state,
                                        const fc_conv1d_overlap *overlap) {
  size_t bytes = overlap->n ? fc_conv1d_overlap_bytes(overlap, &state->filter) : 0;
  if (bytes == 0) return FC_OK;
  void *tables = host->alloc(host, FC_HOST, bytes);
  state->overlap = *overlap;
  state->device_tables = host->alloc(host, state->device, bytes);
  fc_status status = FC_NO_MEMORY;
  if (tables && state->device_tables)
    status = fc_conv1d_overlap_init(&state->overlap, &state->filter, tables);
  if (status == FC_OK) status = host->upload(host, state->device, state->device_tables, tables, bytes);
  host->free(host, FC_HOST, tables);
  return status;
}
#else
static inline fc_status prepare_overlap(const fc_host *host, convolution_state *state,
                                        const fc_conv1d_overlap *overlap) {
  return FC_OK;
}
#endif

static inline fc_status convolution_prepare(const fc_host *host, const convolution *self,
                                            const fc_setup *setup, void **prepared) {
  int64_t count = self->masks * self->used;
  transforms t = transforms_of(self, setup->in[0], setup->out, setup->compute);
  size_t bytes = (size_t)count * fc_dtype_size(setup->compute);
  fc_status status = FC_OK;
  convolution_state *state = calloc(1, sizeof *state);
  if (!state || !(state->mask = host->alloc(host, FC_HOST, bytes))) goto no_memory;
  state->device = setup->device;
  state_numbers(state->mask, setup->compute, self->mask, count);
  if (setup->device != FC_HOST)
    status = state_upload(host, setup->device, state->mask, bytes, &state->device_mask);
  state->filter = (fc_conv1d){
      .mask = state->mask,
      .device_mask = state->device_mask,
      .taps = self->used,
      .masks = self->masks,
      .before = before_of(self) - self->skipped,
      .axis = self->axis,
      .compute = setup->compute,
      .isa = fc_isa_best(),
      .unit = t.overlap.hop,
  };
  if (status == FC_OK)
    status = setup->device == FC_HOST ? prepare_transforms(host, state, t.n)
                                      : prepare_overlap(host, state, &t.overlap);
  if (status == FC_NO_MEMORY) goto no_memory;
  if (status != FC_OK)
    convolution_release(host, state);
  else
    *prepared = state;
  return status;

no_memory:
  convolution_release(host, state);
  return host->fail(host, FC_NO_MEMORY, "%s: no memory for %lld taps", self->name, (long long)count);
}

static inline size_t convolution_cpu_scratch(const void *prepared, const fc_job *job) {
  const convolution_state *state = prepared;
  return state->fft ? fc_conv1d_fft_scratch(state->fft, &state->filter)
                    : fc_conv1d_cpu_scratch(&state->filter);
}

static inline fc_status convolution_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const convolution_state *state = prepared;
  if (state->fft)
    return fc_conv1d_fft_cpu(state->fft, &state->filter, job->in[0], job->out, job->scratch, job->notes);
  return fc_conv1d_cpu(&state->filter, job->in[0], job->out, job->scratch, job->notes);
}

static inline fc_status convolution_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const convolution_state *state = prepared;
  return fc_conv1d_ref(&state->filter, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static inline size_t convolution_cuda_scratch(const void *prepared, const fc_job *job) {
  const convolution_state *state = prepared;
  return state->device_tables ? fc_conv1d_overlap_scratch(&state->overlap, &state->filter, job->out) : 0;
}

static inline fc_status convolution_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const convolution_state *state = prepared;
  if (job->edges && state->device_tables) return FC_UNSUPPORTED;
  if (job->edges)
    return fc_conv1d_cuda_edges(&state->filter, job->in[0], job->edges, job->out, job->stream, job->notes);
  if (state->device_tables)
    return fc_conv1d_overlap_cuda(&state->overlap, &state->filter, state->device_tables, job->in[0], job->out,
                                  job->scratch, job->scratch_bytes, job->stream, job->notes);
  return fc_conv1d_cuda(&state->filter, job->in[0], job->out, job->stream, job->notes);
}
#endif

/* By transforms: worth using alone, too. On an H200, 30 M of f32 by 114, 271, 500 taps took 79, 88, 94 us, by
 * the precompiled kernels 94, 97, 115; integers, which these store less directly, half as long. */
static inline fc_status convolution_describe_transforms(const convolution *self, const fc_setup *setup,
                                                        const transforms *t, fc_device_function *function) {
  if (self->mode != SAME || self->axis != FC_AXIS_X || setup->compute != FC_F32) return FC_UNSUPPORTED;
  function->flags = FC_FUNCTION_WINDOW | FC_FUNCTION_ALONE;
  function->window_x = (uint32_t)self->taps, function->window_y = 1;
  function->growth = 1.001 * largest_gain(self);
  return fc_conv1d_overlap_function(&t->overlap, self->used, before_of(self) - self->skipped, self->masks,
                                    function);
}

/* For direct sums of one block (conv1d.h) by one mask, as long as the window that was asked for. */
static inline fc_status convolution_describe(const convolution *self, const fc_setup *setup,
                                             fc_device_function *function) {
  const int along_x = self->axis == FC_AXIS_X;
  const transforms t = transforms_of(self, setup->in[0], setup->out, setup->compute);
#if FC_HAVE_CUDA
  if (t.overlap.n) return convolution_describe_transforms(self, setup, &t, function);
#else /* there is no backend with transforms, so that sums tap by tap, as on the CPU, are the best */
  if (t.overlap.n != 0 && (self->method == FFT || t.n)) return FC_UNSUPPORTED;
#endif
  if (self->mode != SAME || self->masks > 1 || self->used != self->taps || self->taps > FC_CONV1D_BLOCK)
    return FC_UNSUPPORTED;
  const fc_status status =
      mask2d_describe(setup, along_x ? self->taps : 1, along_x ? 1 : self->taps, self->mask, NULL, function);
  const fc_format *in = setup->in[0];
  fc_signal1d signal = {in->kind, in->dtype, setup->out->dtype, self->axis, self->taps, {0}};
  memcpy(signal.extent, in->extent, sizeof signal.extent);
  if (fc_conv1d_is_quick(&signal)) function->flags &= ~FC_FUNCTION_ALONE;
  return status;
}

static inline fc_status convolution_bind(const fc_host *host, const void *prepared,
                                         fc_device_function *function) {
  const convolution_state *state = prepared;
  if (strcmp(function->source, FC_FUNCTION_TRANSFORMS_TEXT) != 0) return FC_OK;
  return fc_conv1d_overlap_bind(&state->overlap, state->device_mask, state->device_tables, function);
}

/* The backends of an operator; members of fc_operator. */
#define CONVOLUTION_BACKENDS(prepare)                                                                        \
  .backends = BACKENDS(FC_BACKEND(FC_BACKEND_SHAPED, FC_KIND_HOST, prepare, convolution_release,             \
                                  convolution_cpu_scratch, convolution_cpu),                                 \
                       FC_ON_CUDA(FC_BACKEND_GRAPH | FC_BACKEND_EDGES | FC_BACKEND_SHAPED, prepare,          \
                                  convolution_release, convolution_cuda_scratch, convolution_cuda)),         \
  .reference =                                                                                               \
      FC_BACKEND(FC_BACKEND_SHAPED, FC_KIND_HOST, prepare, convolution_release, NULL, convolution_reference)

/* ---- joined by algebra ---------------------------------------------------------- */

/* What it does as numbers; zeros at the ends of the mask are taps too. */
static inline fc_status convolution_map(const convolution *self, fc_linear_map *map) {
  const int along_x = self->axis == FC_AXIS_X;
  const int64_t before = before_of(self), growth = self->mode == FULL    ? self->taps - 1
                                                   : self->mode == VALID ? 1 - self->taps
                                                                         : 0;
  map->form = FC_LINEAR_SEPARABLE, map->masks = self->masks;
  map->nx = along_x ? self->taps : 1, map->ny = along_x ? 1 : self->taps;
  map->before_x = along_x ? before : 0, map->before_y = along_x ? 0 : before;
  map->growth_x = along_x ? growth : 0, map->growth_y = along_x ? 0 : growth;
  map->count = self->masks * (self->taps + 1);
  if (map->room < map->count) return FC_OK;
  for (int64_t k = 0; k < self->masks; k++) {
    double *to = map->numbers + k * (self->taps + 1), *taps = along_x ? to : to + 1;
    to[along_x ? self->taps : 0] = 1;
    for (int64_t j = 0; j < self->taps; j++) {
      const int64_t i = j - self->skipped;
      taps[j] = i < 0 || i >= self->used ? 0 : self->mask[k * self->used + i];
    }
  }
  return FC_OK;
}

/* An instance for several stages. */
typedef struct convolution_joined {
  convolution base;
  int32_t border;
  double value;
} convolution_joined;

static inline void convolution_joined_destroy(void *instance) {
  convolution_joined *self = instance;
  if (!self) return;
  convolution_finish(&self->base);
  free(self);
}

/* How long the output of a map is; -1: as this operator makes none. */
static inline int convolution_mode_of(int64_t taps, int64_t before, int64_t growth) {
  if (growth == 0) return SAME;
  if (growth == taps - 1 && before == taps - 1) return FULL;
  return growth == 1 - taps && before == 0 ? VALID : -1;
}

/* Along one axis, summed as `method` says. */
static inline fc_status convolution_make(const fc_host *host, int method, const fc_linear_map *map,
                                         int32_t border, double value, void **instance) {
  const int along_x = map->ny == 1;
  const int64_t taps = along_x ? map->nx : map->ny, before = along_x ? map->before_x : map->before_y;
  if (map->form != FC_LINEAR_SEPARABLE || (map->nx > 1 && map->ny > 1)) return FC_UNSUPPORTED;
  const int mode = convolution_mode_of(taps, before, along_x ? map->growth_x : map->growth_y);
  convolution_joined *self = calloc(1, sizeof *self);
  double *table = malloc((size_t)(taps * map->masks) * sizeof *table);
  fc_status status = mode < 0 ? FC_UNSUPPORTED : self && table ? FC_OK : FC_NO_MEMORY;
  for (int64_t k = 0; status == FC_OK && k < map->masks; k++) {
    const double *own = map->numbers + k * (map->nx + map->ny), one = own[along_x ? map->nx : 0];
    for (int64_t j = 0; j < taps; j++) table[j * map->masks + k] = own[along_x ? j : j + 1] * one;
  }
  if (status == FC_OK) {
    *self = (convolution_joined){
        .base = {.axis = along_x ? FC_AXIS_X : FC_AXIS_Y, .mode = mode, .method = method},
        .border = border,
        .value = value};
    status = convolution_init(host, &self->base, "the joined mask", table, taps, map->masks, 0, 0);
    if (status == FC_OK && mode == SAME) self->base.before = before;
  }
  free(table);
  if (status == FC_OK)
    *instance = self;
  else
    free(self);
  return status;
}

static inline fc_status convolution_joined_negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const convolution_joined *self = instance;
  terms->needs[0]->border = self->border, terms->needs[0]->border_value = self->value;
  return convolution_terms(host, &self->base, terms);
}

static inline fc_status convolution_joined_prepare(const fc_host *host, void *instance, const fc_setup *setup,
                                                   void **prepared) {
  return convolution_prepare(host, &((convolution_joined *)instance)->base, setup, prepared);
}

static inline fc_status convolution_joined_describe(const fc_host *host, void *instance,
                                                    const fc_setup *setup, fc_device_function *function) {
  (void)host;
  return convolution_describe(&((convolution_joined *)instance)->base, setup, function);
}

/* Defines the operator of these instances. */
#define CONVOLUTION_JOINED                                                                                   \
  FC_FUSIBLE_BOUND(joined_extension, convolution_joined_describe, convolution_bind)                          \
  JOINED_OPERATOR("conv1d", "several convolutions as one", .flags = FC_OP_KEEPS_MEANING, FC_EVERY_SIGNAL,    \
                  .destroy = convolution_joined_destroy, .negotiate = convolution_joined_negotiate,          \
                  CONVOLUTION_BACKENDS(convolution_joined_prepare), .extension = joined_extension)

#endif

/* SPDX-License-Identifier: MIT */
/*
 * stretch.c - finds the range of each frame, then applies fc_pointwise_cpu with a map per frame.
 */
#include "filters/pointwise/stretch.h"
#include "filters/base/lines.h"
#include "filters/pointwise/pointwise.h"
#include "filters/pointwise/pointwise_kernels.h"

#define TILE 2048

/* A quarter of the largest number: differences of two such values stay finite. */
#define LIMIT_F32 0x1p126
#define LIMIT_F64 0x1p1022

typedef struct range {
  double low, high; /* low > high: no values found */
} range;

static double limit_of(const fc_stretch *s) {
  return s->compute == FC_F64 ? LIMIT_F64 : LIMIT_F32;
}

/* The map of one frame. Adding 0 turns -0 into 0: which of them is the minimum would depend on the order.
 * A range so narrow (only of the smallest numbers) that the factor would be too large counts as none. */
static void map_of(const fc_stretch *s, range r, double *from, double *factor) {
  *from = r.low <= r.high ? r.low + 0.0 : 0;
  *factor = r.low < r.high ? s->span / (r.high - r.low) : 0;
  if (*factor > limit_of(s)) *factor = 0;
}

/* ---- reference ------------------------------------------------------------ */

static double value_at(const fc_stretch *s, const fc_view *in, const int64_t at[FC_AXES]) {
  double v;
  fc_load_f64(&v, fc_view_at(in, at[0], at[1], at[2], at[3]), 0, 1, in->kind, in->dtype);
  return s->compute == FC_F64 ? v : (double)(float)v;
}

#define FOR_FRAME(v, at)                                                                                     \
  for (at[1] = 0; at[1] < (v)->shape[1]; at[1]++)                                                            \
    for (at[2] = 0; at[2] < (v)->shape[2]; at[2]++)                                                          \
      for (at[3] = 0; at[3] < (v)->shape[3]; at[3]++)

fc_status fc_stretch_ref(const fc_stretch *s, const fc_view *in, const fc_view *out, uint32_t *notes) {
  int64_t at[FC_AXES];
  double limit = limit_of(s), from, factor;
  for (at[0] = 0; at[0] < out->shape[0]; at[0]++) {
    range r = {limit, -limit};
    FOR_FRAME(out, at) {
      double v = value_at(s, in, at);
      if (v >= -limit && v <= limit && v < r.low) r.low = v;
      if (v >= -limit && v <= limit && v > r.high) r.high = v;
    }
    map_of(s, r, &from, &factor);
    FOR_FRAME(out, at) {
      double v = (value_at(s, in, at) - from) * factor + s->low;
      if (s->compute == FC_F32) v = (double)(float)v;
      fc_store_f64(fc_view_at(out, at[0], at[1], at[2], at[3]), 0, &v, 1, out->kind, out->dtype, notes);
    }
  }
  return FC_OK;
}

/* ---- vectorised ------------------------------------------------------------- */

/* The maps of the frames, followed by a tile or the scratch of fc_pointwise_cpu; on a device the ranges
 * are in place of the tile. */
static size_t maps_bytes(const fc_stretch *s, int64_t frames) {
  return ((size_t)frames * 2 * fc_dtype_size(s->compute) + 63) / 64 * 64;
}

size_t fc_stretch_scratch(const fc_stretch *s, int64_t frames) {
  fc_pointwise p = {.compute = s->compute};
  size_t ranges = (size_t)frames * 2 * sizeof(double), walk = fc_pointwise_cpu_scratch(&p);
  return maps_bytes(s, frames) + (walk > ranges ? walk : ranges);
}

static void widen_f32(range *r, const fc_pointwise_kernels *k, const float *from, int64_t count) {
  float low = (float)r->low, high = (float)r->high;
  k->range_f32(from, count, (float)LIMIT_F32, &low, &high);
  r->low = low, r->high = high;
}

static range frame_range(const fc_stretch *s, const fc_view *in, const fc_lines *l, int64_t frame,
                         void *tile) {
  const fc_pointwise_kernels *k = FC_ISA_PICK(fc_pointwise_kernels, s->isa);
  const fc_samples_kernels *samples = fc_samples_kernels_of(s->isa);
  fc_scaling map = fc_scaling_of(in->kind, in->dtype);
  range r = {limit_of(s), -limit_of(s)};
  for (int64_t y = 0; y < l->rows; y++)
    for (int64_t c = 0; c < l->channels; c++) {
      const char *line = fc_view_at(in, frame, y, 0, c);
      for (int64_t i = 0; i < l->length; i += TILE) {
        int64_t count = l->length - i < TILE ? l->length - i : TILE;
        if (s->compute == FC_F64) {
          samples->load_f64[in->dtype](tile, line + i * l->in_step, l->in_step, count, map);
          k->range_f64(tile, count, LIMIT_F64, &r.low, &r.high);
        } else {
          samples->load_f32[in->dtype](tile, line + i * l->in_step, l->in_step, count, map);
          widen_f32(&r, k, tile, count);
        }
      }
    }
  return r;
}

fc_status fc_stretch_cpu(const fc_stretch *s, const fc_view *in, const fc_view *out, void *scratch,
                         uint32_t *notes) {
  fc_lines l = fc_lines_of(in, out, 1);
  char *rest = (char *)scratch + maps_bytes(s, l.frames);
  for (int64_t f = 0; f < l.frames; f++) {
    double from, factor;
    map_of(s, frame_range(s, in, &l, f, rest), &from, &factor);
    if (s->compute == FC_F64)
      ((double *)scratch)[2 * f] = from, ((double *)scratch)[2 * f + 1] = factor;
    else
      ((float *)scratch)[2 * f] = (float)from, ((float *)scratch)[2 * f + 1] = (float)factor;
  }
  fc_pointwise p = {
      .form = FC_POINTWISE_MAP, .compute = s->compute, .isa = s->isa, .to = s->low, .frames = scratch};
  return fc_pointwise_cpu(&p, in, out, rest, notes);
}

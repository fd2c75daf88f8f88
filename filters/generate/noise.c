/* SPDX-License-Identifier: MIT */
/*
 * noise.c - the reference, and the loops of the vectorised version: each channel of a row in tiles, whose
 * noise is computed from a multiple of four columns on.
 */
#include "filters/generate/noise.h"

#include "filters/base/lines.h"
#include "filters/generate/noise_kernels.h"
#include "filters/generate/noise_math.h"

/* The channel whose noise a channel uses. */
static int64_t channel_of(const fc_noise *noise, int64_t c) {
  return noise->shared ? 0 : c;
}

fc_status fc_noise_ref(const fc_noise *noise, const fc_view *in, const fc_view *out, uint32_t *notes) {
  const int64_t *origin = out->origin;
  for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
    for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
      for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) {
        const int64_t channel = origin[FC_AXIS_C] + c;
        const double made =
            fc_noise_at(noise->key, fc_noise_row(origin[FC_AXIS_Y] + y, channel_of(noise, channel)),
                        origin[FC_AXIS_X] + x, noise->even);
        double v;
        fc_load_f64(&v, fc_view_at(in, 0, y, x, c), 0, 1, in->kind, in->dtype);
        if (noise->compute == FC_F32) v = (double)(float)v;
        if (noise->compute == FC_F64 && channel < noise->colors) {
          v += made * noise->deviation;
        } else if (channel < noise->colors) {
          const float scaled = (float)made * (float)noise->deviation;
          v = (double)((float)v + scaled);
        }
        fc_store_f64(fc_view_at(out, 0, y, x, c), 0, &v, 1, out->kind, out->dtype, notes);
      }
  return FC_OK;
}

size_t fc_noise_scratch(const fc_noise *noise) {
  (void)noise;
  return 2 * FC_NOISE_RUN * sizeof(double);
}

static void add_f32(float *restrict values, const double *restrict made, int64_t count, float deviation) {
  for (int64_t i = 0; i < count; i++) values[i] += (float)made[i] * deviation;
}

static void add_f64(double *restrict values, const double *restrict made, int64_t count, double deviation) {
  for (int64_t i = 0; i < count; i++) values[i] += made[i] * deviation;
}

/* One channel of a row of the views. */
static void noise_line(const fc_noise *noise, const fc_view *in, const fc_view *out, int64_t y, int64_t c,
                       void *scratch, uint32_t *notes) {
  const fc_noise_kernels *kernels = FC_ISA_PICK(fc_noise_kernels, noise->isa);
  const int64_t channel = out->origin[FC_AXIS_C] + c, width = out->shape[FC_AXIS_X],
                in_step = in->stride[FC_AXIS_X], out_step = out->stride[FC_AXIS_X];
  const uint64_t row = fc_noise_row(out->origin[FC_AXIS_Y] + y, channel_of(noise, channel));
  double *made = scratch;
  void *values = made + FC_NOISE_RUN;
  for (int64_t x = 0, count; x < width; x += count) {
    const int64_t at = out->origin[FC_AXIS_X] + x, ahead = at & 3;
    count = width - x < FC_NOISE_RUN - ahead ? width - x : FC_NOISE_RUN - ahead;
    fc_load(values, noise->compute, fc_view_at(in, 0, y, x, c), in_step, count, in->kind, in->dtype);
    if (channel < noise->colors) {
      kernels->make(noise->key, row, (uint64_t)at >> 2, noise->even, made);
      if (noise->compute == FC_F64)
        add_f64(values, made + ahead, count, noise->deviation);
      else
        add_f32(values, made + ahead, count, (float)noise->deviation);
    }
    fc_store(fc_view_at(out, 0, y, x, c), out_step, values, noise->compute, count, out->kind, out->dtype,
             notes);
  }
}

fc_status fc_noise_cpu(const fc_noise *noise, const fc_view *in, const fc_view *out, void *scratch,
                       uint32_t *notes) {
  for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
    for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) noise_line(noise, in, out, y, c, scratch, notes);
  return FC_OK;
}

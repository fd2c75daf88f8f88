/* SPDX-License-Identifier: MIT */
/*
 * tone.c - frequencies as steps of phase, the reference, and the loops of the vectorised version: tiles of
 * time, which all channels share except for noise.
 */
#include "filters/generate/tone.h"

#include <math.h>
#include <string.h>

#include "filters/generate/tone_kernels.h"
#include "filters/generate/tone_math.h"

void fc_tone_set_frequency(fc_tone *tone, double from, double to, int64_t length) {
  double sweep = length > 0 ? (to - from) / 2 / (double)length : 0;
  tone->step = (uint64_t)(int64_t)rint(fmin(from * 0x1p64, 0x1.fffffffffffffp62));
  tone->sweep = (uint64_t)(int64_t)rint(sweep * 0x1p64);
}

static int is_sound(const fc_view *v) {
  return v->shape[FC_AXIS_N] == 1 && v->shape[FC_AXIS_Y] == 1;
}

/* ---- reference ------------------------------------------------------------ */

static double sample_of(const fc_tone *tone, int64_t t, int64_t channel) {
  const uint64_t phase = fc_tone_phase(tone->step, tone->sweep, (uint64_t)t);
  switch (tone->form) {
  case FC_TONE_SINE: return fc_tone_sine(phase);
  case FC_TONE_SQUARE: return fc_tone_square(phase);
  case FC_TONE_NOISE: return fc_tone_noise(fc_tone_noise_state(tone->seed, t, channel));
  default: return 0;
  }
}

fc_status fc_tone_ref(const fc_tone *tone, const fc_view *out, uint32_t *notes) {
  if (fc_view_count(out) > 0 && !is_sound(out)) return FC_UNSUPPORTED;
  for (int64_t t = 0; t < out->shape[FC_AXIS_T]; t++)
    for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) {
      double v = tone->level * sample_of(tone, out->origin[FC_AXIS_T] + t, out->origin[FC_AXIS_C] + c);
      fc_store_f64(fc_view_at(out, 0, 0, t, c), 0, &v, 1, out->kind, out->dtype, notes);
    }
  return FC_OK;
}

/* ---- vectorised ------------------------------------------------------------- */

#define TILE 1024 /* samples: 8 KiB */

static void fill(const fc_tone *tone, const fc_tone_kernels *kernels, int64_t t, int64_t channel,
                 int64_t count, double *values) {
  switch (tone->form) {
  case FC_TONE_SINE: kernels->sine(values, count, tone, (uint64_t)t); break;
  case FC_TONE_SQUARE: kernels->square(values, count, tone, (uint64_t)t); break;
  case FC_TONE_NOISE: kernels->noise(values, count, tone, fc_tone_noise_state(tone->seed, t, channel)); break;
  default: memset(values, 0, (size_t)count * sizeof *values); break;
  }
}

fc_status fc_tone_cpu(const fc_tone *tone, const fc_view *out, uint32_t *notes) {
  const fc_tone_kernels *kernels = FC_ISA_PICK(fc_tone_kernels, tone->isa);
  const int64_t length = out->shape[FC_AXIS_T], *origin = out->origin;
  double values[TILE];
  if (fc_view_count(out) == 0) return FC_OK;
  if (!is_sound(out)) return FC_UNSUPPORTED;
  for (int64_t t = 0; t < length; t += TILE) {
    const int64_t count = length - t < TILE ? length - t : TILE;
    for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) {
      if (c == 0 || tone->form == FC_TONE_NOISE)
        fill(tone, kernels, origin[FC_AXIS_T] + t, origin[FC_AXIS_C] + c, count, values);
      fc_store_f64(fc_view_at(out, 0, 0, t, c), out->stride[FC_AXIS_T], values, count, out->kind, out->dtype,
                   notes);
    }
  }
  return FC_OK;
}

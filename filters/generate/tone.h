/* SPDX-License-Identifier: MIT */
/*
 * tone.h - test signals: a sine of constant or evenly rising frequency, a square wave, noise, silence.
 *
 * The phase is a 64-bit fraction of a turn, t * (step + sweep * t) at sample t, in arithmetic modulo 2^64: it
 * is exact at any position, so a sample depends only on its position, and frequencies are accurate to 2^-64
 * of the rate. Its sine is a polynomial on a quarter of a turn, within 4e-16, each operation rounded once.
 * Noise is uniform in [-1, 1): the counter-based generator of dither_math.h at (seed, sample, channel). So
 * every version gives the same bits.
 *
 * Views: sound (N and Y of 1), any strides and element types. Cost: about 25 operations a sample of sine.
 */
#ifndef FC_FILTERS_TONE_H
#define FC_FILTERS_TONE_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef enum fc_tone_form { FC_TONE_SINE, FC_TONE_SQUARE, FC_TONE_NOISE, FC_TONE_SILENCE } fc_tone_form;

typedef struct fc_tone {
  int32_t form; /* fc_tone_form */
  fc_isa isa;
  uint64_t step, sweep; /* fc_tone_set_frequency */
  uint64_t seed;
  double level; /* largest magnitude */
} fc_tone;

/* Frequencies relative to the sample rate, at sample 0 and at sample `length` (if they are equal, the
 * length is ignored); magnitudes up to 0.5. */
FC_FILTERS_API void fc_tone_set_frequency(fc_tone *tone, double from, double to, int64_t length);

/* The definition, a sample at a time. `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_tone_ref(const fc_tone *tone, const fc_view *out, uint32_t *notes);

/* Vectorised. */
FC_FILTERS_API fc_status fc_tone_cpu(const fc_tone *tone, const fc_view *out, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_tone_cuda(const fc_tone *tone, const fc_view *out, void *stream, uint32_t *notes);

FC_END_DECLS

#endif

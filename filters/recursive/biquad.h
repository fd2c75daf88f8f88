/* SPDX-License-Identifier: MIT */
/*
 * biquad.h - second-order recursive sections in series, along time: filters whose state is carried from piece
 * to piece.
 *
 * Each section is the transposed direct form II, which needs two numbers of state and is the least sensitive
 * of the direct forms to rounding in floating point:
 *
 *     y = b0 x + s1      s1' = b1 x - a1 y + s2      s2' = b2 x - a2 y
 *
 * State, coefficients and sums are doubles whatever the compute type, each operation rounded once and none
 * fused, in this order, in every version: the results are the same to the bit. At every position that is a
 * multiple of FC_BIQUAD_FLUSH a state below FC_BIQUAD_TINY is set to 0, so that the decay after the end of a
 * sound does not continue in denormal numbers, which are a hundred times slower.
 *
 * Views: sound (N and Y of 1), any strides and element types, equal shapes. Cost: 9 operations per section
 * and sample, four of them dependent on each other: about 16 cycles for two sections of up to FC_BIQUAD_LANES
 * channels together.
 */
#ifndef FC_FILTERS_BIQUAD_H
#define FC_FILTERS_BIQUAD_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

#define FC_BIQUAD_MOST  64 /* sections */
#define FC_BIQUAD_LANES 8
#define FC_BIQUAD_FLUSH 1024
#define FC_BIQUAD_TINY  1e-290

/* Coefficients with a0 = 1. */
typedef struct fc_biquad_section {
  double b0, b1, b2, a1, a2;
} fc_biquad_section;

typedef struct fc_biquad {
  int32_t sections; /* 1 to FC_BIQUAD_MOST */
  fc_isa isa;
  const fc_biquad_section *section;        /* in host memory */
  const fc_biquad_section *device_section; /* the same in the device's memory, for fc_biquad_cuda */
  /* Bit i, on the CPU only: what section i makes becomes a float before the next takes it. */
  uint64_t rounded;
} fc_biquad;

/* ---- design ------------------------------------------------------------------ */

typedef enum fc_biquad_form {
  FC_BIQUAD_LOWPASS,
  FC_BIQUAD_HIGHPASS,
  FC_BIQUAD_BAND, /* 0 dB at its centre */
  FC_BIQUAD_NOTCH,
  FC_BIQUAD_PEAK,
  FC_BIQUAD_LOWSHELF,
  FC_BIQUAD_HIGHSHELF
} fc_biquad_form;

/*
 * R. Bristow-Johnson, Audio EQ Cookbook. `frequency` over the sample rate, in (0, 0.5); `q` > 0; `gain` > 0
 * is the factor at the centre of a peak or on the shelf, and ignored by the others.
 */
FC_FILTERS_API fc_biquad_section fc_biquad_design(fc_biquad_form form, double frequency, double q,
                                                  double gain);

/* The q of section i of `sections` for a Butterworth filter of order 2 * sections. */
FC_FILTERS_API double fc_biquad_butterworth(int i, int sections);

/* Whether the section's impulse response does not grow: its poles are within or on the unit circle. */
FC_FILTERS_API int fc_biquad_is_stable(const fc_biquad_section *s);

/* ---- filtering ----------------------------------------------------------------- */

/* Bytes of state for this many channels: doubles, [channel][section][2], zero at the beginning of a
 * stream. */
FC_FILTERS_API size_t fc_biquad_state_bytes(const fc_biquad *b, int64_t channels);

/* The definition, a sample at a time. `state` is read and written; `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_biquad_ref(const fc_biquad *b, const fc_view *in, const fc_view *out, void *state,
                                       uint32_t *notes);

/* Channels side by side in vectors. `scratch` is fc_biquad_scratch() bytes, aligned to 64. */
FC_FILTERS_API size_t fc_biquad_scratch(void);
FC_FILTERS_API fc_status fc_biquad_cpu(const fc_biquad *b, const fc_view *in, const fc_view *out, void *state,
                                       void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device; `state` and `notes` are memory of it. Only in
 * a build with CUDA. */
FC_FILTERS_API fc_status fc_biquad_cuda(const fc_biquad *b, const fc_view *in, const fc_view *out,
                                        void *state, void *stream, uint32_t *notes);

FC_END_DECLS

#endif

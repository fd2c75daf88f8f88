/* SPDX-License-Identifier: MIT */
/*
 * polyphase.h - sound at another sample rate, by a windowed sinc in polyphase form.
 *
 * The ratio of the rates is up / down, in lowest terms. Output o is at the input's position t = o * down /
 * up, and is the signal's band-limited interpolation there:
 *
 *     out[o] = sum over j = 0 .. taps-1 of  h(j - before - frac(t)) * in[floor(t) - before + j]
 *
 * h is a sinc times a Kaiser window (J. F. Kaiser, 1974): with n the lower of both Nyquist frequencies,
 * frequencies below pass * n pass, those above n are stopped, and half way between the gain is -6 dB. So
 * there is no aliasing and no delay: the phase is linear, output 0 is at input 0. With equal rates samples
 * are unchanged. The taps of each output add up to 1.
 *
 * There are `up` different fractions. If these are at most FC_POLYPHASE_PHASES, the table has a row of taps
 * for each. Otherwise (44100 to 44101) it has rows for `phases` fractions, and the taps are interpolated
 * linearly between two rows, with an error below the stopband.
 *
 * Sums. The order of the sum of an output depends only on its position: the vectorised version adds up the
 * outer taps first and the middle last, or where up or down is large or taps are interpolated, has sixteen
 * partial sums, tap j in sum j mod 16. It has fused multiply-adds where the machine does. So results do not
 * depend on how the output is cut. Cost: 2 * taps flop an output.
 *
 * Views: sound, any strides and element types, N = Y = 1. `in` begins at the position of the output's first
 * element, floor(o * down / up), and is readable `before` elements ahead and taps - 1 - before beyond the
 * last. They do not overlap. Threads: pure functions of their arguments.
 */
#ifndef FC_FILTERS_POLYPHASE_H
#define FC_FILTERS_POLYPHASE_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

/* Limit of rows for a table of all fractions. */
#define FC_POLYPHASE_PHASES 2048
/* The number of taps is a multiple of it. */
#define FC_POLYPHASE_LANES 16

typedef enum fc_polyphase_quality {
  FC_POLYPHASE_LOW = 0,    /* passband to 0.80 of the lower Nyquist frequency, stopband -60 dB */
  FC_POLYPHASE_MEDIUM = 1, /* 0.88, -80 dB */
  FC_POLYPHASE_HIGH = 2,   /* 0.91, -100 dB: of 44.1 kHz all up to 20 kHz */
  FC_POLYPHASE_BEST = 3    /* 0.95, -120 dB */
} fc_polyphase_quality;

typedef struct fc_polyphase {
  int64_t up, down;
  int64_t taps, before;
  int64_t phases;    /* rows of the table without the last, which is row 0 one sample later */
  int32_t compute;   /* FC_F32 or FC_F64 */
  fc_isa isa;        /* for fc_polyphase_cpu */
  const void *table; /* (phases + 1) x taps of the compute type; borrowed */
  const void *device_table;
  double pass, stop, beta; /* the edges of both bands, in cycles a sample of the input; Kaiser's shape */
} fc_polyphase;

/* Sets everything except compute, isa and the tables. FC_INVALID if the ratio is not one of integers below
 * 2^31 (rates to a thousandth of a Hz), FC_UNSUPPORTED if the table would have more than 2^24 numbers. */
FC_FILTERS_API fc_status fc_polyphase_design(double from, double to, fc_polyphase_quality quality,
                                             fc_polyphase *r);
/* Writes the table, fc_polyphase_table_bytes, in host memory. */
FC_FILTERS_API size_t fc_polyphase_table_bytes(const fc_polyphase *r);
FC_FILTERS_API void fc_polyphase_fill(const fc_polyphase *r, void *table);

/* The number of outputs for this many inputs: all positions before the end, ceil(length * up / down). */
FC_FILTERS_API int64_t fc_polyphase_length(const fc_polyphase *r, int64_t length);

/* The definition, summed in double whatever the compute type; slow. `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_polyphase_ref(const fc_polyphase *r, const fc_view *in, const fc_view *out,
                                          uint32_t *notes);

/* Vectorised. `scratch` is fc_polyphase_scratch bytes, aligned to 64, undefined before and after. */
FC_FILTERS_API size_t fc_polyphase_scratch(const fc_polyphase *r);
FC_FILTERS_API fc_status fc_polyphase_cpu(const fc_polyphase *r, const fc_view *in, const fc_view *out,
                                          void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_polyphase_cuda(const fc_polyphase *r, const fc_view *in, const fc_view *out,
                                           void *stream, uint32_t *notes);

FC_END_DECLS

#endif

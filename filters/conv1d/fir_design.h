/* SPDX-License-Identifier: MIT */
/*
 * fir_design.h - masks of linear phase by the window method: passes, bands and stops, as scipy.signal.firwin
 * makes them.
 *
 *     h[i] = w[i] * (sum over the passbands [l, r] of  2 r sinc(2 r m) - 2 l sinc(2 l m)),   m = i - (taps -
 * 1)/2
 *
 * with the symmetric window w, scaled so that the gain is 1 in the middle of the first passband: at 0 for a
 * low pass and a band stop, at half the rate for a high pass, at the centre of a band pass. Edges are where
 * the gain is a half (-6 dB). Frequencies are cycles a sample, 0 to 1/2. Cost: a window value and two sines a
 * tap.
 */
#ifndef FC_FILTERS_FIR_DESIGN_H
#define FC_FILTERS_FIR_DESIGN_H

#include "filters/base/api.h"
#include "filters/fourier/window.h"

FC_BEGIN_DECLS

typedef enum fc_fir_band {
  FC_FIR_LOWPASS = 0,
  FC_FIR_HIGHPASS = 1,
  FC_FIR_BANDPASS = 2,
  FC_FIR_BANDSTOP = 3
} fc_fir_band;

typedef struct fc_fir_design {
  fc_fir_band band;
  double low, high; /* 0 < low < high < 1/2; a low or high pass has but `low` */
  int64_t taps;     /* odd if the passband includes half the rate: an even number has a zero there */
  fc_window window;
  double beta; /* Kaiser's */
} fc_fir_design;

/* Writes design->taps numbers. */
FC_FILTERS_API void fc_fir_design_fill(const fc_fir_design *design, double *taps);

/* Kaiser's fits (1974): the window's shape for an attenuation in dB; the taps that attenuation and the width
 * of the transition take; the attenuation that taps and width give. */
FC_FILTERS_API double fc_fir_kaiser_beta(double attenuation);
FC_FILTERS_API int64_t fc_fir_kaiser_taps(double attenuation, double width);
FC_FILTERS_API double fc_fir_kaiser_attenuation(int64_t taps, double width);

FC_END_DECLS

#endif

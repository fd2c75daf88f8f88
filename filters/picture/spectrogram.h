/* SPDX-License-Identifier: MIT */
/*
 * spectrogram.h - a picture of the frequencies of sound over time.
 *
 * Each column shows the mean power of spectra of `size` samples, half of them shared with the next, whose
 * centres are in its time range: one if that is shorter. Each row shows the largest power of the bins between
 * its edges, or, between two bins, their decibels interpolated. A sine of full scale has 0 dB. Rows are
 * equally spaced in Hz, in octaves or in mel (2595 log10(1 + f / 700)).
 *
 * Views: in is the whole sound, out the whole picture, an image of bytes with 1 or 3 channels. Cost:
 * transforms of twice the number of samples, or of `size` per column, whichever is more, in f32.
 */
#ifndef FC_FILTERS_SPECTROGRAM_H
#define FC_FILTERS_SPECTROGRAM_H

#include "filters/fourier/fft.h"
#include "filters/picture/panels.h"

FC_BEGIN_DECLS

typedef enum fc_pitch { FC_PITCH_LINEAR = 0, FC_PITCH_LOG = 1, FC_PITCH_MEL = 2 } fc_pitch;

typedef struct fc_spectrogram {
  fc_panels panels;
  double rate;      /* of the sound, Hz */
  double low, high; /* edges of a panel, Hz; 0 <= low < high */
  fc_pitch pitch;
  double top, range; /* dB of the brightest colour, and the range down to the darkest */
  fc_colors colors;
  const fc_rfft *plan; /* for f32 */
  const float *window; /* as long as the plan's n */
  double window_sum;
} fc_spectrogram;

/* Aligned to 64. */
FC_FILTERS_API size_t fc_spectrogram_scratch(const fc_spectrogram *s);
FC_FILTERS_API fc_status fc_spectrogram_cpu(const fc_spectrogram *s, const fc_view *in, const fc_view *out,
                                            void *scratch);

/* The frequency at a height of a panel, from 0 at its lower edge to 1 at its upper one; and the inverse. */
FC_FILTERS_API double fc_spectrogram_frequency(const fc_spectrogram *s, double height);
FC_FILTERS_API double fc_spectrogram_height(const fc_spectrogram *s, double frequency);

FC_END_DECLS

#endif

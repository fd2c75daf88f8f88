/* SPDX-License-Identifier: MIT */
/*
 * spectrogram.h - a picture of the frequencies of sound over time.
 *
 * Each column shows the mean power of spectra of `size` samples, half of them shared with the next, whose
 * centres are in its time range: one if that is shorter. Each row shows the largest power of the bins between
 * its edges, or, between two bins, their decibels interpolated. A sine of full scale has 0 dB. Rows are
 * equally spaced in Hz, in octaves or in mel (2595 log10(1 + f / 700)).
 *
 * A picture is made in two steps, so that no more of the sound need be in memory than a few spectra look at:
 * fc_spectrogram_blocks adds up the power of the spectra of a block, a part of a column; a meter takes the
 * blocks in order and keeps the levels of the picture's rows, which fc_spectrogram_draw makes colours of.
 *
 * Views: the picture is an image of bytes with 1 or 3 channels. Cost: transforms of twice as many samples as
 * there are, or of `size` for each column, whichever is more, in f32; 4 bytes a pixel are kept.
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

/* How a sound of some length is divided. */
typedef struct fc_spectrogram_grid {
  int64_t length;  /* samples */
  int64_t columns; /* that differ: as many as a panel is wide, or as there are samples */
  int64_t blocks;  /* of each column */
  int64_t frames;  /* spectra of each block */
} fc_spectrogram_grid;

FC_FILTERS_API fc_spectrogram_grid fc_spectrogram_grid_of(const fc_spectrogram *s, int64_t length);

/* Bytes of a block's power: doubles, [channel][bin]. */
FC_FILTERS_API size_t fc_spectrogram_block_bytes(const fc_spectrogram *s, int64_t channels);
/* How far beyond its stretch of the sound, from floor(b * length / all blocks) on, a block looks on either
 * side. */
FC_FILTERS_API int64_t fc_spectrogram_halo(const fc_spectrogram *s);

/* Of `count` blocks from `first` on; of the sound, `in` has at least what they look at, and by its origin it
 * is known where. `scratch` is fc_spectrogram_scratch() bytes, aligned to 64. */
FC_FILTERS_API size_t fc_spectrogram_scratch(const fc_spectrogram *s);
FC_FILTERS_API void fc_spectrogram_blocks(const fc_spectrogram *s, const fc_spectrogram_grid *g,
                                          const fc_view *in, int64_t first, int64_t count, double *powers,
                                          void *scratch);

typedef struct fc_spectrogram_meter {
  fc_spectrogram_grid grid;
  int64_t channels, taken; /* blocks so far */
  double *sum;             /* of the column's blocks, as of one */
  float *levels;           /* dB, [column][channel][row of a panel], with room for the picture's height */
} fc_spectrogram_meter;

/* The meter's memory, which is the caller's: aligned as doubles. */
FC_FILTERS_API size_t fc_spectrogram_meter_bytes(const fc_spectrogram *s, const fc_spectrogram_grid *g,
                                                 int64_t channels);
FC_FILTERS_API fc_spectrogram_meter fc_spectrogram_meter_of(const fc_spectrogram *s,
                                                            const fc_spectrogram_grid *g, int64_t channels,
                                                            void *memory);
/* Takes the next blocks. */
FC_FILTERS_API void fc_spectrogram_add(const fc_spectrogram *s, fc_spectrogram_meter *m, const double *powers,
                                       int64_t count);
/* Of all columns. */
FC_FILTERS_API fc_status fc_spectrogram_draw(const fc_spectrogram *s, const fc_spectrogram_meter *m,
                                             const fc_view *out);

/* The frequency at a height of a panel, from 0 at its lower edge to 1 at its upper one; and the inverse. */
FC_FILTERS_API double fc_spectrogram_frequency(const fc_spectrogram *s, double height);
FC_FILTERS_API double fc_spectrogram_height(const fc_spectrogram *s, double frequency);

FC_END_DECLS

#endif

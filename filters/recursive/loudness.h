/* SPDX-License-Identifier: MIT */
/*
 * loudness.h - loudness and true peak of sound, after ITU-R BS.1770-4, EBU R 128 and EBU Tech 3341 and 3342.
 *
 * Measuring has two parts. fc_loudness_cpu processes the samples: for each block of 100 ms and each channel
 * it writes the energy after the K-weighting (two sections of biquad.h, in doubles), the largest sample and
 * the largest value between samples. A meter takes the blocks in order and accumulates:
 *
 *     momentary    the mean over 4 blocks     gated     integrated loudness, LUFS
 *     short-term   the mean over 30 blocks    every 10th, gated: loudness range, LU
 *
 *     loudness = -0.691 + 10 log10 sum over channels of weight * energy
 *
 * The meter's memory does not grow: gated values are counted in bins of 0.01 LU, with the sum of their
 * energies, so that the integrated loudness is exact except for the bin that contains the gate.
 *
 * The true peak is that of the sound at 4 times its rate (2 times from 96 kHz on, its own from 192 kHz on): a
 * polyphase filter of FC_LOUDNESS_TAPS taps a phase, a sinc in a Kaiser window, in f32; it is flat to 0.05 dB
 * up to 0.4 of the rate.
 *
 * Views: sound, any strides and element types. Cost: 20 operations a sample for the weighting, whose chain of
 * dependent ones takes 16 cycles for up to 8 channels together, and 3 * FC_LOUDNESS_TAPS multiply-adds for
 * the true peak.
 */
#ifndef FC_FILTERS_LOUDNESS_H
#define FC_FILTERS_LOUDNESS_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"
#include "filters/recursive/biquad.h"

FC_BEGIN_DECLS

#define FC_LOUDNESS_TAPS   16   /* per phase */
#define FC_LOUDNESS_PHASES 4    /* maximum */
#define FC_LOUDNESS_GATE   -70. /* LUFS: everything below is silence */

typedef struct fc_loudness {
  fc_biquad_section weighting[2];
  int32_t phases; /* samples made from each: 4, 2 or 1 */
  fc_isa isa;
  float taps[FC_LOUDNESS_PHASES][FC_LOUDNESS_TAPS]; /* of phase p, in reversed time */
} fc_loudness;

/* For a sample rate of at least 100 Hz. */
FC_FILTERS_API fc_loudness fc_loudness_of(double rate);
/* Samples of a block, 100 ms. */
FC_FILTERS_API int64_t fc_loudness_block(double rate);

/* ---- samples to blocks ----------------------------------------------------------- */

/* A block's result: this, followed by an fc_loudness_part for each channel. */
typedef struct fc_loudness_head {
  uint32_t channels, reserved;
  int64_t count; /* samples of each channel; fewer in the last block */
} fc_loudness_head;

typedef struct fc_loudness_part {
  double energy;    /* sum of squares after the weighting */
  double peak;      /* largest magnitude of a sample */
  double true_peak; /* at least `peak` */
} fc_loudness_part;

FC_FILTERS_API size_t fc_loudness_block_bytes(int64_t channels);

/* Bytes of state for this many channels, zero at the beginning of a stream. */
FC_FILTERS_API size_t fc_loudness_state_bytes(int64_t channels);
FC_FILTERS_API size_t fc_loudness_scratch(void);

/* The view begins at a multiple of `block`; the results of its blocks go to `blocks`. `scratch` is
 * fc_loudness_scratch() bytes, aligned to 64. The reference processes one sample at a time, and uses none. */
FC_FILTERS_API fc_status fc_loudness_ref(const fc_loudness *l, const fc_view *in, int64_t block, void *state,
                                         void *blocks);
FC_FILTERS_API fc_status fc_loudness_cpu(const fc_loudness *l, const fc_view *in, int64_t block, void *state,
                                         void *scratch, void *blocks);

/* ---- blocks to results ------------------------------------------------------------ */

#define FC_LOUDNESS_BINS  10000 /* bins from the gate on, FC_LOUDNESS_WIDTH each */
#define FC_LOUDNESS_WIDTH 0.01
#define FC_LOUDNESS_SHORT 30 /* blocks of a short-term value */

typedef struct fc_loudness_bins {
  uint64_t count[FC_LOUDNESS_BINS];
  double energy[FC_LOUDNESS_BINS];
} fc_loudness_bins;

/* Initialised with zeros. */
typedef struct fc_loudness_meter {
  double recent[FC_LOUDNESS_SHORT]; /* weighted energies of the last blocks, a ring buffer */
  uint64_t blocks;                  /* whole blocks so far */
  double momentary, short_term;     /* the largest, as mean squares */
  fc_loudness_bins gated, ranged;
} fc_loudness_meter;

/* A channel's weight, by its speaker (WAVEFORMATEXTENSIBLE's mask; 0: by the number of channels): 1, 1.41
 * for the surround channels, 0 for low frequencies. */
FC_FILTERS_API double fc_loudness_weight(uint64_t speakers, int64_t channels, int64_t channel);

/* Takes the next block, whose weighted sum of squares is `energy`; only the last may be shorter than `block`.
 */
FC_FILTERS_API void fc_loudness_add(fc_loudness_meter *m, double energy, int64_t count, int64_t block);

/* LUFS of a mean square after the weighting; -inf for 0. */
FC_FILTERS_API double fc_loudness_level(double energy);
/* LUFS; -inf if nothing is louder than the gate. */
FC_FILTERS_API double fc_loudness_integrated(const fc_loudness_meter *m);
/* LU; 0 if nothing is. */
FC_FILTERS_API double fc_loudness_range(const fc_loudness_meter *m);

FC_END_DECLS

#endif

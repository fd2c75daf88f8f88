/* SPDX-License-Identifier: MIT */
/*
 * loudness.c - the weighting's design, the loops over tiles of time, the reference, and the meter.
 */
#include "filters/recursive/loudness.h"

#include <math.h>
#include <string.h>

#include "filters/base/lines.h"
#include "filters/recursive/biquad_kernels.h"
#include "filters/recursive/loudness_kernels.h"

#define LANES FC_BIQUAD_LANES
#define TAPS  FC_LOUDNESS_TAPS
#define PAST  (TAPS - 1)
#define TILE  256 /* samples of time: 16 KiB of values */
#define PI    3.14159265358979323846
#define BETA  6.0 /* of the Kaiser window: 60 dB */

/* ---- design -------------------------------------------------------------------- */

/* The sections that BS.1770 tabulates for 48 kHz, as functions of the rate: a shelf of 4 dB around 1.7 kHz
 * and a high pass at 38 Hz, by the bilinear transform (B. De Man, Evaluation of implementations of the
 * EBU R128 loudness measurement, 2018). */
static void design_weighting(double rate, fc_biquad_section s[2]) {
  const double gain = pow(10, 3.999843853973347 / 20), band = pow(gain, 0.4996667741545416);
  double k = tan(PI * 1681.974450955533 / rate), q = 0.7071752369554196, a0 = 1 + k / q + k * k;
  s[0] =
      (fc_biquad_section){(gain + band * k / q + k * k) / a0, 2 * (k * k - gain) / a0,
                          (gain - band * k / q + k * k) / a0, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0};
  k = tan(PI * 38.13547087602444 / rate), q = 0.5003270373238773, a0 = 1 + k / q + k * k;
  s[1] = (fc_biquad_section){1, -2, 1, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0};
}

/* The modified Bessel function of order 0. */
static double bessel(double x) {
  double sum = 1, term = 1;
  for (int k = 1; k < 40; k++) term *= x / (2 * k) * (x / (2 * k)), sum += term;
  return sum;
}

/* Phase p is p / phases of a sample after x[i - TAPS / 2]; the sum of a phase's taps is 1. */
static void design_phase(int phase, int phases, float *taps) {
  double exact[TAPS], sum = 0;
  for (int j = 0; j < TAPS; j++) {
    const double t = TAPS / 2 - j - (double)phase / phases, u = t / (TAPS / 2);
    const double window = fabs(u) >= 1 ? 0 : bessel(BETA * sqrt(1 - u * u)) / bessel(BETA);
    exact[j] = t == 0 ? 1 : sin(PI * t) / (PI * t) * window;
    sum += exact[j];
  }
  for (int j = 0; j < TAPS; j++) taps[j] = (float)(exact[j] / sum);
}

fc_loudness fc_loudness_of(double rate) {
  fc_loudness l = {.phases = rate < 96000 ? 4 : rate < 192000 ? 2 : 1, .isa = fc_isa_best()};
  design_weighting(rate, l.weighting);
  for (int p = 1; p < l.phases; p++) design_phase(p, l.phases, l.taps[p]);
  return l;
}

int64_t fc_loudness_block(double rate) {
  const int64_t block = (int64_t)floor(rate / 10 + 0.5);
  return block > 1 ? block : 1;
}

/* ---- samples to blocks ----------------------------------------------------------- */

size_t fc_loudness_block_bytes(int64_t channels) {
  return sizeof(fc_loudness_head) + (size_t)channels * sizeof(fc_loudness_part);
}

/* The weighting's state, [channel][section][2], then the last samples, [channel][PAST + 1]. */
size_t fc_loudness_state_bytes(int64_t channels) {
  return (size_t)channels * (4 * sizeof(double) + TAPS * sizeof(float));
}

static float *past_of(void *state, int64_t channels, int64_t channel) {
  return (float *)((double *)state + 4 * channels) + TAPS * channel;
}

static fc_loudness_part *block_at(void *blocks, int64_t i, int64_t channels, int64_t count) {
  char *at = (char *)blocks + (size_t)i * fc_loudness_block_bytes(channels);
  const fc_loudness_head head = {(uint32_t)channels, 0, count};
  memcpy(at, &head, sizeof head);
  return (fc_loudness_part *)(void *)(at + sizeof head);
}

static void flush(double *state, int count) {
  for (int i = 0; i < count; i++)
    if (fabs(state[i]) < FC_BIQUAD_TINY) state[i] = 0;
}

static double weighted(const fc_loudness *l, double x, double *state) {
  for (int i = 0; i < 2; i++) {
    const fc_biquad_section *s = &l->weighting[i];
    double *s1 = &state[2 * i], *s2 = &state[2 * i + 1], y = s->b0 * x + *s1;
    *s1 = (s->b1 * x - s->a1 * y) + *s2;
    *s2 = s->b2 * x - s->a2 * y;
    x = y;
  }
  return x;
}

static double between_samples(const fc_loudness *l, const float *newest) {
  float most = 0;
  for (int p = 1; p < l->phases; p++) {
    float y = 0;
    for (int j = 0; j < TAPS; j++) y = fmaf(l->taps[p][j], newest[-j], y);
    most = fmaxf(most, fabsf(y));
  }
  return most;
}

fc_status fc_loudness_ref(const fc_loudness *l, const fc_view *in, int64_t block, void *state, void *blocks) {
  const int64_t channels = in->shape[FC_AXIS_C], length = in->shape[FC_AXIS_T];
  for (int64_t from = 0; from < length; from += block) {
    const int64_t count = length - from < block ? length - from : block;
    fc_loudness_part *parts = block_at(blocks, from / block, channels, count);
    for (int64_t c = 0; c < channels; c++) {
      double *sections = (double *)state + 4 * c;
      float *past = past_of(state, channels, c);
      fc_loudness_part part = {0, 0, 0};
      flush(sections, 4);
      for (int64_t i = 0; i < count; i++) {
        double x;
        fc_load_f64(&x, fc_view_at(in, 0, 0, from + i, c), 0, 1, in->kind, in->dtype);
        memmove(past, past + 1, PAST * sizeof *past);
        past[PAST] = (float)x;
        const double y = weighted(l, x, sections);
        part.energy += y * y;
        part.peak = fmax(part.peak, fabs(x));
        part.true_peak = fmax(part.true_peak, between_samples(l, past + PAST));
      }
      part.true_peak = fmax(part.true_peak, part.peak);
      memcpy(&parts[c], &part, sizeof part);
    }
  }
  return FC_OK;
}

typedef struct work {
  double values[TILE * LANES], row[TILE * LANES];
  double sections[4 * LANES]; /* s1 and s2 of each section, channels in lanes */
  double sums[4][LANES];
  float line[LANES][PAST + TILE];
  fc_loudness_part part[LANES];
} work;

size_t fc_loudness_scratch(void) {
  return sizeof(work);
}

/* Frames of the channels from `first` on, interleaved. */
static void load(work *w, const fc_view *in, int64_t t, int64_t count, int64_t first, int n) {
  const int together = n == in->shape[FC_AXIS_C] && fc_is_interleaved(in), step = together ? n : 1;
  if (together)
    fc_load_f64(w->row, fc_view_at(in, 0, 0, t, 0), (int64_t)fc_dtype_size(in->dtype), count * n, in->kind,
                in->dtype);
  for (int c = 0; c < n; c++) {
    if (!together)
      fc_load_f64(w->row, fc_view_at(in, 0, 0, t, first + c), in->stride[FC_AXIS_T], count, in->kind,
                  in->dtype);
    const double *row = together ? w->row + c : w->row;
    double most = w->part[c].peak;
    for (int64_t i = 0; i < count; i++) {
      const double x = row[i * step], size = fabs(x);
      w->values[i * LANES + c] = x;
      w->line[c][PAST + i] = (float)x;
      most = size > most ? size : most;
    }
    w->part[c].peak = most;
  }
}

static void measure_tile(const fc_loudness *l, work *w, int64_t count, int n) {
  const fc_loudness_kernels *kernels = FC_ISA_PICK(fc_loudness_kernels, l->isa);
  FC_ISA_PICK(fc_biquad_kernels, l->isa)->two(w->values, count, l->weighting, 0, w->sections);
  kernels->squares(w->values, count, w->sums);
  for (int c = 0; c < n; c++) {
    for (int p = 1; p < l->phases; p++) {
      const double most = kernels->largest(w->line[c] + PAST, count, l->taps[p]);
      if (most > w->part[c].true_peak) w->part[c].true_peak = most;
    }
    memmove(w->line[c], w->line[c] + count, PAST * sizeof w->line[c][0]);
  }
}

static void measure_block(const fc_loudness *l, work *w, const fc_view *in, int64_t t, int64_t count,
                          int64_t first, int n) {
  memset(w->sums, 0, sizeof w->sums);
  memset(w->part, 0, sizeof w->part);
  flush(w->sections, 4 * LANES);
  for (int64_t i = 0; i < count; i += TILE) {
    const int64_t some = count - i < TILE ? count - i : TILE;
    load(w, in, t + i, some, first, n);
    measure_tile(l, w, some, n);
  }
  for (int c = 0; c < n; c++) {
    w->part[c].energy = (w->sums[0][c] + w->sums[1][c]) + (w->sums[2][c] + w->sums[3][c]);
    if (!(w->part[c].true_peak > w->part[c].peak)) w->part[c].true_peak = w->part[c].peak;
  }
}

static void move_state(work *w, void *state, int64_t channels, int64_t first, int n, int out) {
  for (int c = 0; c < n; c++) {
    double *sections = (double *)state + 4 * (first + c);
    float *past = past_of(state, channels, first + c);
    for (int i = 0; i < 4; i++)
      if (out)
        sections[i] = w->sections[i * LANES + c];
      else
        w->sections[i * LANES + c] = sections[i];
    if (out)
      memcpy(past + 1, w->line[c], PAST * sizeof *past);
    else
      memcpy(w->line[c], past + 1, PAST * sizeof *past);
  }
}

fc_status fc_loudness_cpu(const fc_loudness *l, const fc_view *in, int64_t block, void *state, void *scratch,
                          void *blocks) {
  const int64_t channels = in->shape[FC_AXIS_C], length = in->shape[FC_AXIS_T];
  work *w = scratch;
  for (int64_t first = 0; first < channels; first += LANES) {
    const int n = (int)(channels - first < LANES ? channels - first : LANES);
    memset(w, 0, sizeof *w);
    move_state(w, state, channels, first, n, 0);
    for (int64_t from = 0; from < length; from += block) {
      const int64_t count = length - from < block ? length - from : block;
      measure_block(l, w, in, from, count, first, n);
      memcpy(block_at(blocks, from / block, channels, count) + first, w->part,
             (size_t)n * sizeof(fc_loudness_part));
    }
    move_state(w, state, channels, first, n, 1);
  }
  return FC_OK;
}

/* ---- blocks to results ------------------------------------------------------------ */

/* Bits of WAVEFORMATEXTENSIBLE's mask. */
#define LOW_FREQUENCY (1u << 3)
#define BACK          (1u << 4 | 1u << 5)
#define SIDE          (1u << 9 | 1u << 10)

double fc_loudness_weight(uint64_t speakers, int64_t channels, int64_t channel) {
  static const uint32_t usual[] = {0, 0, 0, 0, 0x33, 0x37, 0x3f}; /* quad, 5.0, 5.1 */
  uint64_t mask = speakers ? speakers : channels <= 6 ? usual[channels] : 0, bit = mask;
  for (int64_t c = 0; c < channel && bit; c++) bit &= bit - 1;
  bit &= ~bit + 1;
  if (bit & LOW_FREQUENCY) return 0;
  if (bit & SIDE) return 1.41;
  return bit & BACK && !(mask & SIDE) ? 1.41
                                      /* if there are side channels too, those at the back are beyond 120
                                       * degrees */
                                      : 1;
}

double fc_loudness_level(double energy) {
  return energy > 0 ? -0.691 + 10 * log10(energy) : -INFINITY;
}

static void count_in(fc_loudness_bins *bins, double energy) {
  const double at = (fc_loudness_level(energy) - FC_LOUDNESS_GATE) / FC_LOUDNESS_WIDTH;
  if (!(at >= 0)) return;
  const int bin = at < FC_LOUDNESS_BINS - 1 ? (int)at : FC_LOUDNESS_BINS - 1;
  bins->count[bin]++;
  bins->energy[bin] += energy;
}

/* The mean square of the last `blocks`, summed in a fixed order, so that it does not depend on earlier
 * blocks. */
static double recent(const fc_loudness_meter *m, int blocks, int64_t block) {
  double sum = 0;
  for (int i = blocks; i > 0; i--) sum += m->recent[(m->blocks - (uint64_t)i) % FC_LOUDNESS_SHORT];
  return sum / ((double)blocks * (double)block);
}

void fc_loudness_add(fc_loudness_meter *m, double energy, int64_t count, int64_t block) {
  if (count < block || !(energy >= 0) || energy > 1e300) energy = count < block ? -1 : 0;
  if (energy < 0) return;
  m->recent[m->blocks++ % FC_LOUDNESS_SHORT] = energy;
  if (m->blocks >= 4) {
    const double mean = recent(m, 4, block);
    count_in(&m->gated, mean);
    m->momentary = fmax(m->momentary, mean);
  }
  if (m->blocks >= FC_LOUDNESS_SHORT) {
    const double mean = recent(m, FC_LOUDNESS_SHORT, block);
    m->short_term = fmax(m->short_term, mean);
    if (m->blocks % 10 == 0) count_in(&m->ranged, mean);
  }
}

/* The mean energy of the blocks counted in a bin and those above. */
static double mean_from(const fc_loudness_bins *bins, int from, uint64_t *count) {
  double sum = 0;
  *count = 0;
  for (int i = from; i < FC_LOUDNESS_BINS; i++) sum += bins->energy[i], *count += bins->count[i];
  return *count ? sum / (double)*count : 0;
}

/* The bin of a gate that is this many LU below the mean of all. */
static int relative_gate(const fc_loudness_bins *bins, double below) {
  uint64_t count;
  const double level = fc_loudness_level(mean_from(bins, 0, &count)) - below;
  const double at = ceil((level - FC_LOUDNESS_GATE) / FC_LOUDNESS_WIDTH);
  return count && at > 0 ? (int)fmin(at, FC_LOUDNESS_BINS) : 0;
}

double fc_loudness_integrated(const fc_loudness_meter *m) {
  uint64_t count;
  return fc_loudness_level(mean_from(&m->gated, relative_gate(&m->gated, 10), &count));
}

/* The level at `rank` among the blocks in a bin and those above. */
static double ranked(const fc_loudness_bins *bins, int from, uint64_t rank) {
  for (int i = from; i < FC_LOUDNESS_BINS; i++) {
    if (rank < bins->count[i]) return fc_loudness_level(bins->energy[i] / (double)bins->count[i]);
    rank -= bins->count[i];
  }
  return FC_LOUDNESS_GATE;
}

double fc_loudness_range(const fc_loudness_meter *m) {
  const int from = relative_gate(&m->ranged, 20);
  uint64_t count;
  mean_from(&m->ranged, from, &count);
  if (count == 0) return 0;
  const double last = (double)(count - 1);
  return ranked(&m->ranged, from, (uint64_t)(last * 0.95 + 0.5)) -
         ranked(&m->ranged, from, (uint64_t)(last * 0.10 + 0.5));
}

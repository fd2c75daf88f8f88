/* SPDX-License-Identifier: MIT */
/*
 * biquad_kernels.c - sections over channels in lanes. Each product and sum is rounded, in the same way on
 * every machine: contraction is off, and fused multiply-adds are deliberately not used.
 *
 * A section has four dependent operations per sample, so two sections process the samples together: the
 * second is at a sample while the first is at the next. States are vectors, which stay in registers; as
 * arrays they were in memory, which took three times as long (mono, one section: 17 ns per sample, now 5.6).
 */
#include "filters/recursive/biquad_kernels.h"

#include <string.h>

#define LANES FC_BIQUAD_LANES

/* GCC and clang map it to as many registers as the instruction set needs. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef float narrow_lanes __attribute__((vector_size(LANES * sizeof(float))));

typedef struct section {
  fc_biquad_section q;
  lanes s1, s2;
} section;

static inline void take(section *s, const fc_biquad_section *q, const double *state) {
  s->q = *q;
  memcpy(&s->s1, state, sizeof s->s1);
  memcpy(&s->s2, state + LANES, sizeof s->s2);
}

static inline void keep(const section *s, double *state) {
  memcpy(state, &s->s1, sizeof s->s1);
  memcpy(state + LANES, &s->s2, sizeof s->s2);
}

static inline void filter(section *s, lanes *x) {
  lanes y = s->q.b0 * *x + s->s1;
  s->s1 = (s->q.b1 * *x - s->q.a1 * y) + s->s2;
  s->s2 = s->q.b2 * *x - s->q.a2 * y;
  *x = y;
}

static inline void round_to_float(lanes *x) {
  *x = __builtin_convertvector(__builtin_convertvector(*x, narrow_lanes), lanes);
}

static void one(double *restrict values, int64_t count, const fc_biquad_section *q, uint64_t rounded,
                double *restrict state) {
  const int first = rounded & 1;
  section s;
  take(&s, q, state);
  for (int64_t i = 0; i < count; i++) {
    lanes x;
    memcpy(&x, values + i * LANES, sizeof x);
    filter(&s, &x);
    if (first) round_to_float(&x);
    memcpy(values + i * LANES, &x, sizeof x);
  }
  keep(&s, state);
}

static void two(double *restrict values, int64_t count, const fc_biquad_section *q, uint64_t rounded,
                double *restrict state) {
  const int first = rounded & 1, second = rounded >> 1 & 1;
  section s, t;
  take(&s, q, state);
  take(&t, q + 1, state + 2 * LANES);
  for (int64_t i = 0; i < count; i++) {
    lanes x;
    memcpy(&x, values + i * LANES, sizeof x);
    filter(&s, &x);
    if (first) round_to_float(&x);
    filter(&t, &x);
    if (second) round_to_float(&x);
    memcpy(values + i * LANES, &x, sizeof x);
  }
  keep(&s, state);
  keep(&t, state + 2 * LANES);
}

/* ---- few channels: sections side by side --------------------------------------- */

/*
 * With one or two channels most lanes would be empty. So lanes are sections here, each one sample behind the
 * one before it: lane k is section k / channels of channel k % channels and at step t filters sample t - k /
 * channels; its result moves by `channels` lanes for the next step. Sixteen dependent cycles per step, for as
 * many sections as fit into registers (mono, ten sections: 80 cycles per sample if done two by two).
 *
 *     step t     section 0     section 1     section 2        The last lanes are the last section's: leading
 *                sample t      sample t-1    sample t-2       lanes are empty where there are fewer.
 */
#if defined(__AVX512F__)
#define WIDE 8
#elif defined(__AVX2__)
#define WIDE 4
#else
#define WIDE 2
#endif
#define ROW_VECTORS 4
#define ROW_LANES   (ROW_VECTORS * WIDE)

typedef double wide __attribute__((vector_size(WIDE * sizeof(double))));
typedef float narrow __attribute__((vector_size(WIDE * sizeof(float))));
typedef int64_t mask __attribute__((vector_size(WIDE * sizeof(double))));

typedef struct row_state {
  wide b0, b1, b2, a1, a2, s1, s2, y;
  mask entry;  /* all bits set in the lanes where samples enter; in the first vector only */
  mask behind; /* samples behind the first section */
  mask round;  /* of the lanes whose output becomes a float */
} row_state;

static inline wide chosen(mask m, wide yes, wide no) {
  return (wide)(((mask)yes & m) | ((mask)no & ~m));
}

/* The last lanes of `before` followed by the first of `y`: everything moves by `channels`. */
static inline wide moved(wide before, wide y, int channels) {
#if WIDE == 8
  return channels == 1 ? __builtin_shufflevector(before, y, 7, 8, 9, 10, 11, 12, 13, 14)
                       : __builtin_shufflevector(before, y, 6, 7, 8, 9, 10, 11, 12, 13);
#elif WIDE == 4
  return channels == 1 ? __builtin_shufflevector(before, y, 3, 4, 5, 6)
                       : __builtin_shufflevector(before, y, 2, 3, 4, 5);
#else
  return channels == 1 ? __builtin_shufflevector(before, y, 1, 2) : __builtin_shufflevector(before, y, 0, 1);
#endif
}

static inline wide entering(const double *frame, int channels) {
  wide x;
  for (int i = 0; i < WIDE; i++) x[i] = channels == 1 ? frame[0] : frame[i % 2];
  return x;
}

/* A step of all lanes. Where `partly`, those keep their state whose sample, t - behind, is none of 0 to count
 * - 1. */
static inline __attribute__((always_inline)) void step(row_state *v, int vectors, int channels, int rounds,
                                                       const double *frame, int partly, int64_t t,
                                                       int64_t count) {
  wide x[ROW_VECTORS];
  for (int k = 0; k < vectors; k++) x[k] = moved(k ? v[k - 1].y : (wide){0}, v[k].y, channels);
  x[0] = (wide)((mask)x[0] | ((mask)entering(frame, channels) & v[0].entry));
  for (int k = 0; k < vectors; k++) {
    wide y = v[k].b0 * x[k] + v[k].s1;
    wide s1 = (v[k].b1 * x[k] - v[k].a1 * y) + v[k].s2, s2 = v[k].b2 * x[k] - v[k].a2 * y;
    if (partly) {
      const mask there = (t >= v[k].behind) & (t - count < v[k].behind);
      s1 = chosen(there, s1, v[k].s1), s2 = chosen(there, s2, v[k].s2);
    }
    v[k].s1 = s1, v[k].s2 = s2;
    v[k].y =
        rounds ? chosen(v[k].round, __builtin_convertvector(__builtin_convertvector(y, narrow), wide), y) : y;
  }
}

static inline __attribute__((always_inline)) void leave(const row_state *v, int vectors, int channels,
                                                        double *frame) {
  for (int c = 0; c < channels; c++) frame[c] = v[vectors - 1].y[WIDE - channels + c];
}

static inline __attribute__((always_inline)) void run_row(row_state *v, int vectors, int channels, int rounds,
                                                          double *restrict values, int64_t count,
                                                          int64_t late) {
  const double nothing[2] = {0, 0};
  int64_t t = 0;
  for (; t < late; t++)
    step(v, vectors, channels, rounds, t < count ? values + t * channels : nothing, 1, t, count);
  for (; t < count; t++) {
    step(v, vectors, channels, rounds, values + t * channels, 0, t, count);
    leave(v, vectors, channels, values + (t - late) * channels);
  }
  for (; t < count + late; t++) {
    step(v, vectors, channels, rounds, nothing, 1, t, count);
    leave(v, vectors, channels, values + (t - late) * channels);
  }
}

/* The compiler keeps vectors in registers where it knows how many there are. */
#define RUN_ROW(vectors, channels, rounds)                                                                   \
  static void run_row_##vectors##_##channels##_##rounds(row_state *all, double *values, int64_t count,       \
                                                        int64_t late) {                                      \
    row_state v[vectors];                                                                                    \
    memcpy(v, all, sizeof v);                                                                                \
    run_row(v, vectors, channels, rounds, values, count, late);                                              \
    memcpy(all, v, sizeof v);                                                                                \
  }
#define RUN_ROWS(vectors)                                                                                    \
  RUN_ROW(vectors, 1, 0) RUN_ROW(vectors, 1, 1) RUN_ROW(vectors, 2, 0) RUN_ROW(vectors, 2, 1)
RUN_ROWS(1)
RUN_ROWS(2)
RUN_ROWS(3)
RUN_ROWS(4)
#define ROWS_OF(channels, rounds)                                                                            \
  {                                                                                                          \
    run_row_1_##channels##_##rounds, run_row_2_##channels##_##rounds, run_row_3_##channels##_##rounds,       \
        run_row_4_##channels##_##rounds                                                                      \
  }

static void row(double *values, int64_t count, int channels, const fc_biquad_section *q, int sections,
                uint64_t rounded, double *state) {
  static void (*const runs[2][2][ROW_VECTORS])(row_state *, double *, int64_t, int64_t) = {
      {ROWS_OF(1, 0), ROWS_OF(1, 1)}, {ROWS_OF(2, 0), ROWS_OF(2, 1)}};
  const int rounds = (rounded & (((uint64_t)1 << sections) - 1)) != 0;
  const int used = sections * channels, vectors = (used + WIDE - 1) / WIDE, empty = vectors * WIDE - used;
  row_state v[ROW_VECTORS];
  memset(v, 0, sizeof v);
  for (int i = 0; i < used; i++) {
    row_state *mine = &v[(empty + i) / WIDE];
    const int lane = (empty + i) % WIDE, s = i / channels, c = i % channels;
    mine->b0[lane] = q[s].b0, mine->b1[lane] = q[s].b1, mine->b2[lane] = q[s].b2;
    mine->a1[lane] = q[s].a1, mine->a2[lane] = q[s].a2;
    mine->s1[lane] = state[2 * s * LANES + c], mine->s2[lane] = state[(2 * s + 1) * LANES + c];
    mine->behind[lane] = s;
    mine->entry[lane] = s == 0 ? -1 : 0;
    mine->round[lane] = rounded >> s & 1 ? -1 : 0;
  }
  runs[channels - 1][rounds][vectors - 1](v, values, count, sections - 1);
  for (int i = 0; i < used; i++) {
    const row_state *mine = &v[(empty + i) / WIDE];
    const int lane = (empty + i) % WIDE, s = i / channels, c = i % channels;
    state[2 * s * LANES + c] = mine->s1[lane], state[(2 * s + 1) * LANES + c] = mine->s2[lane];
  }
}

const fc_biquad_kernels FC_ISA_NAME(fc_biquad_kernels) = {one, two, row, ROW_LANES};

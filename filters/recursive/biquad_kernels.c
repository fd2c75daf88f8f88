/* SPDX-License-Identifier: MIT */
/*
 * biquad_kernels.c - sections over channels side by side. Products and sums round one by one, on every
 * machine alike: contraction is off and there is no fused multiply-add on purpose.
 *
 * A section is a chain of four dependent operations a sample, so two go over the samples at once: the second
 * is at a sample while the first is at the next. States are vectors, which stay in registers; as arrays they
 * went through memory, which took three times as long (mono, one section: 17 ns a sample, now 5.6).
 */
#include "filters/recursive/biquad_kernels.h"

#include <string.h>

#define LANES FC_BIQUAD_LANES

/* GCC and clang make of it as many registers as the instruction set needs. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

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

static void one(double *restrict values, int64_t count, const fc_biquad_section *q, double *restrict state) {
  section s;
  take(&s, q, state);
  for (int64_t i = 0; i < count; i++) {
    lanes x;
    memcpy(&x, values + i * LANES, sizeof x);
    filter(&s, &x);
    memcpy(values + i * LANES, &x, sizeof x);
  }
  keep(&s, state);
}

static void two(double *restrict values, int64_t count, const fc_biquad_section *q, double *restrict state) {
  section s, t;
  take(&s, q, state);
  take(&t, q + 1, state + 2 * LANES);
  for (int64_t i = 0; i < count; i++) {
    lanes x;
    memcpy(&x, values + i * LANES, sizeof x);
    filter(&s, &x);
    filter(&t, &x);
    memcpy(values + i * LANES, &x, sizeof x);
  }
  keep(&s, state);
  keep(&t, state + 2 * LANES);
}

const fc_biquad_kernels FC_ISA_NAME(fc_biquad_kernels) = {one, two};

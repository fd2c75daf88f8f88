/* SPDX-License-Identifier: MIT */
/*
 * quad.h - numbers with more digits than a double, for the definitions that results are
 * measured against: 113 bits. On x86-64 these are the compiler's __float128, whose arithmetic is
 * done in integers, and not the 80 bits of long double, which valgrind computes with 64. On 64-bit ARM
 * long double is what is wanted.
 */
#ifndef FC_TESTS_QUAD_H
#define FC_TESTS_QUAD_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__x86_64__)
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif

static inline quad quad_square(quad v) {
  return v * v;
}

/* A step of Newton's from the root in double; NaN of what has no root. */
static inline quad quad_root(quad v) {
  double near = sqrt((double)v);
  return near > 0 && near < INFINITY ? (near + v / near) / 2 : near;
}

static inline quad quad_abs(quad v) {
  return v < 0 ? -v : v;
}

/* cos and sin of an angle of at most pi / 4, by their series. */
static inline void quad_series(quad angle, quad *c, quad *s) {
  quad term = 1;
  *c = 1, *s = 0;
  for (int i = 1; i < 30; i++) {
    term *= angle / i;
    if (i % 2)
      *s += i % 4 == 1 ? term : -term;
    else
      *c += i % 4 == 0 ? term : -term;
  }
}

/* cos and sin of part / whole turns, 0 <= part < whole. */
static inline void quad_turn(int64_t part, int64_t whole, quad *c, quad *s) {
  const quad pi = (quad)0x1.921fb54442d18p+1 + (quad)0x1.1a62633145c07p-53 + (quad)-0x1.f1976b7ed8fbcp-109;
  int64_t quarter = (4 * part + whole / 2) / whole; /* the nearest */
  quad cosine, sine, angle = pi * (quad)(4 * part - quarter * whole) / (quad)(2 * whole);
  quad_series(angle, &cosine, &sine);
  *c = quarter % 4 == 0 ? cosine : quarter % 4 == 1 ? -sine : quarter % 4 == 2 ? -cosine : sine;
  *s = quarter % 4 == 0 ? sine : quarter % 4 == 1 ? cosine : quarter % 4 == 2 ? -sine : -cosine;
}

/* Those of all i / n turns, 0 <= i < n. */
typedef struct quad_circle {
  int64_t n;
  quad *cosine, *sine;
} quad_circle;

static inline quad_circle quad_circle_new(int64_t n) {
  quad_circle w = {n, malloc((size_t)n * sizeof(quad)), malloc((size_t)n * sizeof(quad))};
  if (!w.cosine || !w.sine) abort();
  for (int64_t i = 0; i < n; i++) quad_turn(i, n, &w.cosine[i], &w.sine[i]);
  return w;
}

static inline void quad_circle_free(quad_circle *w) {
  free(w->cosine);
  free(w->sine);
}

#endif

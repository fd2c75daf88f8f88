/* SPDX-License-Identifier: MIT */
/*
 * compare.h - compares a result with the expected one.
 *
 * If the reference gives its values in double, they are exact, and a stored integer must be the rounding of a
 * value within the tolerance: exact except near a tie, as long as there are fewer than about 2^17 codes.
 * Tolerances are relative to the largest value of the row (elements) and to the channel (L2): 1e-5 and 1e-6
 * where f32 is computed or stored, 3e-6 for integers made from it, 1e-12 and 1e-14 in f64. A sum whose terms
 * cancel has an error proportional to the terms, which cannot be seen from the row: `scale` may give their
 * size.
 */
#ifndef FC_CHECK_COMPARE_H
#define FC_CHECK_COMPARE_H

#include "check/trial.h"

typedef struct expected {
  const char *who; /* of the result being compared */
  fc_format out;
  const unsigned char *codes; /* of the reference, in that format */
  const double *reals;        /* of the reference in double; NULL: not available */
  int compute;
  gboolean exact; /* a copy: the same bits are required */
  fill fill;
  double tolerance;    /* relative, of an element and of a channel; 0: the defaults above */
  const double *scale; /* per channel: the size of the terms of a value; NULL: not known */
} expected;

gboolean compare_values(const expected *e, const unsigned char *got, verdict *v);
gboolean compare_notes(const expected *e, const guint32 expected_notes[FC_NOTES],
                       const guint32 notes[FC_NOTES], verdict *v);

/* The same bits, except that all NaN are equal. */
gboolean compare_bits(const fc_format *out, const unsigned char *a, const unsigned char *b, gint64 *at);

/* `tolerance` 0 requires the same bits; `size` is the magnitude of the signal's values. */
gboolean compare_measured(const char *who, const GArray *wanted, const GArray *got, double tolerance,
                          double size, verdict *v);

#endif

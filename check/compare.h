/* SPDX-License-Identifier: MIT */
/*
 * compare.h - is a result the one that was expected?
 *
 * Where the reference gives its values in double, those are the truth, and a stored
 * integer must be one that a value within the tolerance rounds to: exact but beside a
 * tie, as long as there are fewer than some 2^17 codes. Tolerances are relative to the
 * largest value of the row (elements) and to the channel (L2): 1e-5 and 1e-6 where f32 is
 * computed or stored, 3e-6 for integers made of it, 1e-12 and 1e-14 in f64. A sum whose terms cancel has an
 * error in proportion to the terms, of which the row knows nothing: `scale` may say how large those are.
 */
#ifndef FC_CHECK_COMPARE_H
#define FC_CHECK_COMPARE_H

#include "check/trial.h"

typedef struct expected {
  const char *who; /* of the result that is judged */
  fc_format out;
  const unsigned char *codes; /* the reference's, in that format */
  const double *reals;        /* the reference's in double; NULL: not to be had */
  int compute;
  gboolean exact; /* a copy: the same bits */
  fill fill;
  double tolerance;    /* relative, of an element and of a channel; 0: those above */
  const double *scale; /* a channel: the size of the terms that make up a value; NULL: not known */
} expected;

gboolean compare_values(const expected *e, const unsigned char *got, verdict *v);
gboolean compare_notes(const expected *e, const guint32 expected_notes[FC_NOTES],
                       const guint32 notes[FC_NOTES], verdict *v);

/* The same bits, but that any NaN is any other. */
gboolean compare_bits(const fc_format *out, const unsigned char *a, const unsigned char *b, gint64 *at);

/* `tolerance` 0 wants the same bits; `size` is that of the signal's values. */
gboolean compare_measured(const char *who, const GArray *wanted, const GArray *got, double tolerance,
                          double size, verdict *v);

#endif

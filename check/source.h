/* SPDX-License-Identifier: MIT */
/*
 * source.h - the signal that a case filters: its codes, and the border's values outside it, implemented from
 * the definitions in core/contract/plugin.h, without sharing code with the engine.
 */
#ifndef FC_CHECK_SOURCE_H
#define FC_CHECK_SOURCE_H

#include <stdbool.h>

#include "core/contract/plugin.h"
#include "check/random.h"

/* ---- one element ------------------------------------------------------------- */

/* The stored number. */
double element_code(const void *at, int dtype);
/* Its real value. */
double element_value(const void *at, int kind, int dtype);
/* Stores a real value: rounded half to even in units of a code, then biased and clamped; NaN becomes the
 * code of 0. */
void element_store(void *at, int kind, int dtype, double value);
/* The range of an integer type; false for a float. */
bool element_limits(int dtype, double *low, double *high);

/* ---- the signal --------------------------------------------------------------- */

typedef enum fill {
  FILL_RANDOM,   /* codes of the whole range; floats of the kind's usual range */
  FILL_SMALL,    /* a few small integers: ties, and sums that are exact */
  FILL_EXTREME,  /* the ends of the range, 0, and the tiniest floats */
  FILL_OFFSET,   /* a large constant with a little noise */
  FILL_CONSTANT, /* one value */
  FILL_IMPULSE,  /* one element that is not 0 */
  FILL_NAN,      /* random, with some NaN; floats only */
  FILL_INF,      /* random, with some infinities; floats only */
  FILL_COUNT
} fill;

const char *fill_name(fill f);

typedef struct source {
  fc_format format;
  size_t size;          /* of an element */
  int64_t count;        /* elements */
  unsigned char *codes; /* dense, N Y X C */
  double jitter; /* not 0: each FC_F64 element is changed by this relative amount wherever it is written */
  dice jitter_dice;
} source;

/* `format` with known extents. */
source source_new(const fc_format *format, fill how, dice *d);
/* The same real values in FC_F64, without jitter. */
source source_in_double(const source *s);
void source_free(source *s); /* may be all zeros */

/* The source of position `at` of `extent` elements under a border: a position inside, or -1 if there is
 * none (outside with zero or constant, or an empty signal). */
int64_t border_source(int border, int64_t at, int64_t extent);

/* Positions lo <= p < hi. */
typedef struct range {
  int64_t lo, hi;
} range;

/*
 * Writes the elements at the positions of `where`, including the border, to memory with these strides, where
 * `to` is the address of the first. Outside, FC_BORDER_NONE leaves the memory unchanged. `value` is that of
 * FC_BORDER_CONSTANT. With jitter, an element and its images in the border are changed by different amounts.
 */
void source_write(const source *s, const range where[FC_AXES], int border, double value, void *to,
                  const int64_t stride[FC_AXES]);

#endif

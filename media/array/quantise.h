/* SPDX-License-Identifier: MIT */
/*
 * quantise.h - from whatever a sink is handed to the dense samples that a file holds.
 */
#ifndef FC_MEDIA_QUANTISE_H
#define FC_MEDIA_QUANTISE_H

#include "core/base/error.h"
#include "core/context/stream.h"

G_BEGIN_DECLS

/*
 * Copies `from` (any element type, any strides) to `to`, dense in the order N, Y, X,
 * C, as elements of `dtype`. Values keep their meaning (fc_scaling_of); towards an
 * integer they are rounded half to even and clamped, and a NaN is FC_IO, naming
 * `name` and the place, counted from `first`: the sample of a sound, the row of an image, that the view
 * begins with. O(elements).
 */
gboolean fc_quantise(const char *name, const fc_view *from, gint64 first, void *to, int dtype,
                     GError **error);
/* What was clipped, of how many values; the largest magnitude. Begins as zeros. */
typedef struct fc_clipping {
  gint64 count, values;
  double peak;
} fc_clipping;

/* The same for integers of sound (FC_I16, FC_I32) of which the upper `bits` bits are kept: rounded once, from
 * the value straight to these. `clipped` (or NULL) counts values that lie more than a step, the noise of a
 * dither, beyond the range. */
gboolean fc_quantise_bits(const char *name, const fc_view *from, gint64 first, void *to, int dtype, int bits,
                          fc_clipping *clipped, GError **error);

/* Whether elements lie in the order N, Y, X, C with nothing between them: all, or those of each row. */
gboolean fc_is_dense(const fc_view *view);
gboolean fc_has_dense_rows(const fc_view *view);

/* The samples of `from` as fc_quantise would give them: where they already lie so,
 * there; else in *scratch, which is grown (g_free in the end). NULL on failure. */
const void *fc_dense(const char *name, const fc_view *from, gint64 first, int dtype, void **scratch,
                     gsize *scratch_size, GError **error);

/* As fc_quantise_bits would give them. */
const void *fc_dense_bits(const char *name, const fc_view *from, gint64 first, int dtype, int bits,
                          void **scratch, gsize *scratch_size, fc_clipping *clipped, GError **error);

G_END_DECLS

#endif

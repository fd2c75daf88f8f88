/* SPDX-License-Identifier: MIT */
/*
 * quantise.h - converts the views that a sink gets to the dense samples of a file.
 */
#ifndef FC_MEDIA_QUANTISE_H
#define FC_MEDIA_QUANTISE_H

#include "core/base/error.h"
#include "core/context/stream.h"

G_BEGIN_DECLS

/*
 * Copies `from` (any element type, any strides) to `to`, dense in the order N, Y, X,
 * C, as elements of `dtype`. Values keep their meaning (fc_scaling_of); integers are rounded half to even and
 * clamped, and a NaN is FC_IO, with a message that names `name` and the position, counted from `first`: the
 * sample of a sound, the row of an image, that the view begins with. O(elements).
 */
gboolean fc_quantise(const char *name, const fc_view *from, gint64 first, void *to, int dtype,
                     GError **error);
/* How many of how many values were clipped; the largest magnitude. Initially zero. */
typedef struct fc_clipping {
  gint64 count, values;
  double peak;
} fc_clipping;

/* The same for integers of sound (FC_I16, FC_I32) of which the upper `bits` bits are stored: values are
 * rounded once, directly to these. `clipped` (or NULL) counts values that lie more than a step, the noise of
 * a dither, beyond the range. */
gboolean fc_quantise_bits(const char *name, const fc_view *from, gint64 first, void *to, int dtype, int bits,
                          fc_clipping *clipped, GError **error);

/* Whether elements are dense in the order N, Y, X, C: all, or those of each row. */
gboolean fc_is_dense(const fc_view *view);
gboolean fc_has_dense_rows(const fc_view *view);

/* The samples of `from` as fc_quantise would give them: without a copy if they already are so, else in
 * *scratch, which is grown (free it with g_free at the end). NULL on failure. */
const void *fc_dense(const char *name, const fc_view *from, gint64 first, int dtype, void **scratch,
                     gsize *scratch_size, GError **error);

/* As fc_quantise_bits would give them. */
const void *fc_dense_bits(const char *name, const fc_view *from, gint64 first, int dtype, int bits,
                          void **scratch, gsize *scratch_size, fc_clipping *clipped, GError **error);

G_END_DECLS

#endif

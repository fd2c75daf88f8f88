/* SPDX-License-Identifier: MIT */
/*
 * quantise.c - see quantise.h. The engine's own conversion (core/base/buffer.h); but integers of sound of
 * which only the upper bits are stored, such as 24 of 32, are rounded here.
 */
#include "media/array/quantise.h"

#include "core/base/buffer.h"
#include "core/contract/plugin.h"

#include <math.h>
#include <string.h>

/* Values rounded at a time. */
#define BLOCK 512

/* Rounds half to even, for magnitudes below 2^51: the added constant leaves no bits for a fraction. On
 * baseline x86-64 rint() would be a function call for each sample. */
#define TO_INTEGER 6755399441055744.0 /* 1.5 * 2^52 */

/* ---- dense elements ------------------------------------------------------------ */

/* Dense elements of such a shape and type, in the order N, Y, X, C. */
static fc_view dense_view(const fc_view *like, int dtype, void *data) {
  fc_view dense = *like;
  gint64 step = (gint64)fc_dtype_size(dtype);
  dense.dtype = dtype;
  dense.data = data;
  for (int axis = FC_AXES - 1; axis >= 0; axis--) {
    dense.stride[axis] = step;
    step *= like->shape[axis];
  }
  return dense;
}

/* From axis `outermost` on. */
static gboolean is_dense(const fc_view *view, int outermost) {
  const fc_view dense = dense_view(view, view->dtype, view->data);
  for (int axis = outermost; axis < FC_AXES; axis++)
    if (view->shape[axis] > 1 && view->stride[axis] != dense.stride[axis]) return FALSE;
  return TRUE;
}

gboolean fc_is_dense(const fc_view *view) {
  return is_dense(view, FC_AXIS_N);
}

gboolean fc_has_dense_rows(const fc_view *view) {
  return is_dense(view, FC_AXIS_X);
}

/* ---- what is not a number -------------------------------------------------------- */

static gboolean is_nan(const fc_view *view, const gint64 at[FC_AXES]) {
  return isnan(fc_value_decode(fc_view_at(view, at[0], at[1], at[2], at[3]), view->kind, view->dtype));
}

/* Reports the position of the first one; FALSE. */
static gboolean fail_nan(const char *name, const fc_view *from, gint64 first, GError **error) {
  gint64 at[FC_AXES] = {0};
  while (at[FC_AXIS_N] < from->shape[FC_AXIS_N] && !is_nan(from, at))
    for (int axis = FC_AXIS_C; ++at[axis] == from->shape[axis] && axis > FC_AXIS_N; axis--) at[axis] = 0;
  if (from->kind == FC_AUDIO)
    return fc_fail(error, FC_IO,
                   "%s: sample %" G_GINT64_FORMAT " of channel %" G_GINT64_FORMAT
                   " is not a number (NaN), which integers cannot hold; .npy can",
                   name, first + at[FC_AXIS_X], at[FC_AXIS_C]);
  return fc_fail(error, FC_IO,
                 "%s: the value at row %" G_GINT64_FORMAT ", column %" G_GINT64_FORMAT
                 ", channel %" G_GINT64_FORMAT " is not a number (NaN), which integers cannot hold; .npy can",
                 name, first + at[FC_AXIS_Y], at[FC_AXIS_X], at[FC_AXIS_C]);
}

/* ---- rounding ---------------------------------------------------------------------- */

/* Rounds to so many bits; counts values that are more than a step beyond the range. */
static void round_block(double *values, gint64 count, int bits, fc_clipping *clipped) {
  const double steps = ldexp(1, bits - 1), step = 1 / steps, top = steps - 1;
  for (gint64 i = 0; clipped && i < count; i++) {
    clipped->count += values[i] > 1 || values[i] < -1 - step;
    clipped->peak = MAX(clipped->peak, fabs(values[i]));
  }
  if (clipped) clipped->values += count;
  for (gint64 i = 0; i < count; i++) {
    double value = values[i] * steps;
    value = value < -steps ? -steps : value > top ? top : value;
    values[i] = (value + TO_INTEGER - TO_INTEGER) * step;
  }
}

/* In pieces of frames, and of channels if one frame is larger than a piece. */
static void convert_narrow(const fc_view *to, const fc_view *from, int bits, fc_clipping *clipped,
                           guint32 *notes) {
  const gint64 channels = MIN(from->shape[FC_AXIS_C], BLOCK), frames = BLOCK / MAX(channels, 1);
  double block[BLOCK];
  for (gint64 x = 0; x < from->shape[FC_AXIS_X]; x += frames)
    for (gint64 c = 0; c < from->shape[FC_AXIS_C]; c += channels) {
      fc_view in = *from, out = *to;
      in.data = fc_view_at(from, 0, 0, x, c);
      out.data = fc_view_at(to, 0, 0, x, c);
      in.shape[FC_AXIS_X] = out.shape[FC_AXIS_X] = MIN(frames, from->shape[FC_AXIS_X] - x);
      in.shape[FC_AXIS_C] = out.shape[FC_AXIS_C] = MIN(channels, from->shape[FC_AXIS_C] - c);
      const fc_view values = dense_view(&in, FC_F64, block);
      fc_view_convert(&values, &in, NULL);
      round_block(block, fc_view_count(&values), bits, clipped);
      fc_view_convert(&out, &values, notes);
    }
}

gboolean fc_quantise_bits(const char *name, const fc_view *from, gint64 first, void *to, int dtype, int bits,
                          fc_clipping *clipped, GError **error) {
  const fc_view dense = dense_view(from, dtype, to);
  guint32 notes[FC_NOTES] = {0};
  if (bits < (int)fc_dtype_size(dtype) * 8 && !fc_dtype_is_float(dtype))
    convert_narrow(&dense, from, bits, clipped, notes);
  else
    fc_view_convert(&dense, from, notes);
  return !notes[FC_NOTE_NAN] || fail_nan(name, from, first, error);
}

gboolean fc_quantise(const char *name, const fc_view *from, gint64 first, void *to, int dtype,
                     GError **error) {
  return fc_quantise_bits(name, from, first, to, dtype, (int)fc_dtype_size(dtype) * 8, NULL, error);
}

const void *fc_dense_bits(const char *name, const fc_view *from, gint64 first, int dtype, int bits,
                          void **scratch, gsize *scratch_size, fc_clipping *clipped, GError **error) {
  const gboolean whole = fc_dtype_is_float(dtype) || bits == (int)fc_dtype_size(dtype) * 8;
  if (from->dtype == dtype && whole && fc_is_dense(from)) return from->data;
  const gsize size = MAX((gsize)fc_view_count(from) * fc_dtype_size(dtype), 1);
  if (size > *scratch_size) {
    g_free(*scratch);
    *scratch = g_try_malloc(size);
    *scratch_size = *scratch ? size : 0;
  }
  if (!*scratch) {
    fc_fail(error, FC_NO_MEMORY, "%s: no memory for %" G_GSIZE_FORMAT " bytes of samples", name, size);
    return NULL;
  }
  return fc_quantise_bits(name, from, first, *scratch, dtype, bits, clipped, error) ? *scratch : NULL;
}

const void *fc_dense(const char *name, const fc_view *from, gint64 first, int dtype, void **scratch,
                     gsize *scratch_size, GError **error) {
  return fc_dense_bits(name, from, first, dtype, (int)fc_dtype_size(dtype) * 8, scratch, scratch_size, NULL,
                       error);
}

/* SPDX-License-Identifier: MIT */
/*
 * quantise.c - see quantise.h. Elements pass through a small block of doubles: six
 * loads and six stores instead of thirty-six conversions, all of which vectorise.
 */
#include "media/array/quantise.h"

#include "core/base/buffer.h"

#include <math.h>
#include <string.h>

#define BLOCK 512

/* Half to even, for magnitudes below 2^51: what is added leaves no bits for a
 * fraction. rint() would be a call for each sample on the oldest x86-64. */
#define TO_INTEGER 6755399441055744.0 /* 1.5 * 2^52 */

#define LOAD(name, type)                                                                                     \
  static void name(double *to, const char *from, gint64 stride, int count, double scale, double bias) {      \
    for (int i = 0; i < count; i++) {                                                                        \
      type value;                                                                                            \
      memcpy(&value, from + i * stride, sizeof value);                                                       \
      to[i] = ((double)value - bias) * scale;                                                                \
    }                                                                                                        \
  }
LOAD(load_u8, guint8)
LOAD(load_i16, gint16)
LOAD(load_u16, guint16)
LOAD(load_i32, gint32)
LOAD(load_f32, float)
LOAD(load_f64, double)

#define STORE(name, type, low, high)                                                                         \
  static void name(void *to, const double *from, int count, double inverse, double bias) {                   \
    type *out = to;                                                                                          \
    for (int i = 0; i < count; i++) {                                                                        \
      double value = from[i] * inverse + bias;                                                               \
      value = value < (low) ? (low) : value;                                                                 \
      value = value > (high) ? (high) : value;                                                               \
      out[i] = (type)(value + TO_INTEGER - TO_INTEGER);                                                      \
    }                                                                                                        \
  }
STORE(store_u8, guint8, 0.0, 255.0)
STORE(store_i16, gint16, -32768.0, 32767.0)
STORE(store_u16, guint16, 0.0, 65535.0)
STORE(store_i32, gint32, -2147483648.0, 2147483647.0)

static void store_f32(void *to, const double *from, int count, double inverse, double bias) {
  float *out = to;
  for (int i = 0; i < count; i++) out[i] = (float)from[i];
}

static void store_f64(void *to, const double *from, int count, double inverse, double bias) {
  memcpy(to, from, (gsize)count * sizeof(double));
}

static void load(double *to, int dtype, const char *from, gint64 stride, int count, fc_scaling s) {
  switch (dtype) {
  case FC_U8: load_u8(to, from, stride, count, s.scale, s.bias); break;
  case FC_I16: load_i16(to, from, stride, count, s.scale, s.bias); break;
  case FC_U16: load_u16(to, from, stride, count, s.scale, s.bias); break;
  case FC_I32: load_i32(to, from, stride, count, s.scale, s.bias); break;
  case FC_F32: load_f32(to, from, stride, count, s.scale, s.bias); break;
  default: load_f64(to, from, stride, count, s.scale, s.bias); break;
  }
}

static void store(void *to, int dtype, const double *from, int count, fc_scaling s) {
  switch (dtype) {
  case FC_U8: store_u8(to, from, count, 1.0 / s.scale, s.bias); break;
  case FC_I16: store_i16(to, from, count, 1.0 / s.scale, s.bias); break;
  case FC_U16: store_u16(to, from, count, 1.0 / s.scale, s.bias); break;
  case FC_I32: store_i32(to, from, count, 1.0 / s.scale, s.bias); break;
  case FC_F32: store_f32(to, from, count, 1.0, 0.0); break;
  default: store_f64(to, from, count, 1.0, 0.0); break;
  }
}

/* Index of the first NaN, or -1. */
static int find_nan(const double *values, int count) {
  int any = 0;
  for (int i = 0; i < count; i++) any |= values[i] != values[i];
  for (int i = 0; any && i < count; i++)
    if (values[i] != values[i]) return i;
  return -1;
}

/* Integers that were rounded to `width - drop` bits, to the upper ones of their type. */
static void justify(void *to, int dtype, int count, int drop) {
  const int width = (int)fc_dtype_size(dtype) * 8;
  const gint32 top = (gint32)(((gint64)1 << (width - drop - 1)) - 1), bottom = -top - 1;
  for (int i = 0; i < count; i++)
    if (dtype == FC_I16)
      ((gint16 *)to)[i] = (gint16)(CLAMP(((gint16 *)to)[i], bottom, top) * (1 << drop));
    else
      ((gint32 *)to)[i] = CLAMP(((gint32 *)to)[i], bottom, top) * (1 << drop);
}

/* Counts values that lie more than a step beyond the range of so many bits. */
static void count_clipped(fc_clipping *clipped, const double *values, int count, double step, int bits) {
  const double top = step * ldexp(1, bits - 1), bottom = -top - step;
  for (int i = 0; i < count; i++) {
    clipped->count += values[i] > top || values[i] < bottom;
    clipped->peak = MAX(clipped->peak, fabs(values[i]));
  }
  clipped->values += count;
}

/* A run of elements `stride` bytes apart; returns the index of a NaN in the way of
 * an integer, or -1. */
static gint64 convert_run(const fc_view *from, const char *at, gint64 stride, gint64 count, char *to,
                          int dtype, int drop, fc_clipping *clipped) {
  fc_scaling in = fc_scaling_of(from->kind, from->dtype), out = fc_scaling_of(from->kind, dtype);
  out.scale *= (double)(1 << drop);
  gboolean may_fail = fc_dtype_is_float(from->dtype) && !fc_dtype_is_float(dtype);
  double block[BLOCK];
  for (gint64 done = 0; done < count; done += BLOCK) {
    int some = (int)MIN(count - done, BLOCK);
    load(block, from->dtype, at + done * stride, stride, some, in);
    int bad = may_fail ? find_nan(block, some) : -1;
    if (bad >= 0) return done + bad;
    if (clipped) count_clipped(clipped, block, some, out.scale, (int)fc_dtype_size(dtype) * 8 - drop);
    store(to + done * (gint64)fc_dtype_size(dtype), dtype, block, some, out);
    if (drop) justify(to + done * (gint64)fc_dtype_size(dtype), dtype, some, drop);
  }
  return -1;
}

static gboolean fail_nan(const char *name, const fc_view *from, const gint64 at[FC_AXES], GError **error) {
  if (from->kind == FC_AUDIO)
    return fc_fail(error, FC_IO,
                   "%s: sample %" G_GINT64_FORMAT " of channel %" G_GINT64_FORMAT
                   " is not a number (NaN), which integers cannot hold; .npy can",
                   name, at[FC_AXIS_X], at[FC_AXIS_C]);
  return fc_fail(error, FC_IO,
                 "%s: the value at row %" G_GINT64_FORMAT ", column %" G_GINT64_FORMAT
                 ", channel %" G_GINT64_FORMAT " is not a number (NaN), which integers cannot hold; .npy can",
                 name, at[FC_AXIS_Y], at[FC_AXIS_X], at[FC_AXIS_C]);
}

/* One row: as one run when its channels lie side by side. */
static gboolean convert_row(const char *name, const fc_view *from, gint64 n, gint64 y, gint64 first, char *to,
                            int dtype, int drop, fc_clipping *clipped, GError **error) {
  gint64 channels = from->shape[FC_AXIS_C], columns = from->shape[FC_AXIS_X];
  gint64 size = (gint64)fc_dtype_size(from->dtype);
  gboolean one_channel = channels == 1;
  gboolean packed = from->stride[FC_AXIS_C] == size && from->stride[FC_AXIS_X] == size * channels;
  gint64 runs = one_channel || packed ? 1 : columns;
  gint64 length = one_channel ? columns : packed ? columns * channels : channels;
  gint64 stride = one_channel ? from->stride[FC_AXIS_X] : packed ? size : from->stride[FC_AXIS_C];
  for (gint64 run = 0; run < runs; run++) {
    char *run_to = to + run * length * (gint64)fc_dtype_size(dtype);
    gint64 bad =
        convert_run(from, fc_view_at(from, n, y, run, 0), stride, length, run_to, dtype, drop, clipped);
    if (bad < 0) continue;
    gint64 element = run * length + bad;
    gint64 at[FC_AXES] = {n, y, element / channels, element % channels};
    at[from->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y] += first;
    return fail_nan(name, from, at, error);
  }
  return TRUE;
}

/* As they are: nothing to round. */
static void copy_dense(const fc_view *from, void *to) {
  fc_view dense = *from;
  gint64 step = (gint64)fc_dtype_size(from->dtype);
  dense.data = to;
  for (int axis = FC_AXES - 1; axis >= 0; axis--) {
    dense.stride[axis] = step;
    step *= from->shape[axis];
  }
  fc_view_copy(&dense, from);
}

gboolean fc_quantise_bits(const char *name, const fc_view *from, gint64 first, void *to, int dtype, int bits,
                          fc_clipping *clipped, GError **error) {
  const int drop = fc_dtype_is_float(dtype) ? 0 : (int)fc_dtype_size(dtype) * 8 - bits;
  if (from->dtype == dtype && !drop) {
    copy_dense(from, to);
    return TRUE;
  }
  gint64 row = from->shape[FC_AXIS_X] * from->shape[FC_AXIS_C] * (gint64)fc_dtype_size(dtype);
  char *at = to;
  for (gint64 n = 0; n < from->shape[FC_AXIS_N]; n++)
    for (gint64 y = 0; y < from->shape[FC_AXIS_Y]; y++, at += row)
      if (!convert_row(name, from, n, y, first, at, dtype, drop, clipped, error)) return FALSE;
  return TRUE;
}

gboolean fc_quantise(const char *name, const fc_view *from, gint64 first, void *to, int dtype,
                     GError **error) {
  return fc_quantise_bits(name, from, first, to, dtype, (int)fc_dtype_size(dtype) * 8, NULL, error);
}

/* From axis `outermost` on. */
static gboolean is_dense(const fc_view *view, int outermost) {
  gint64 step = (gint64)fc_dtype_size(view->dtype);
  for (int axis = FC_AXES - 1; axis >= outermost; axis--) {
    if (view->shape[axis] > 1 && view->stride[axis] != step) return FALSE;
    step *= view->shape[axis];
  }
  return TRUE;
}

gboolean fc_is_dense(const fc_view *view) {
  return is_dense(view, FC_AXIS_N);
}

gboolean fc_has_dense_rows(const fc_view *view) {
  return is_dense(view, FC_AXIS_X);
}

gboolean fc_reserve(const char *name, void **scratch, gsize *scratch_size, gsize size, GError **error) {
  if (size <= *scratch_size && *scratch) return TRUE;
  g_free(*scratch);
  *scratch = g_try_malloc(MAX(size, 1));
  *scratch_size = *scratch ? size : 0;
  return *scratch ||
         fc_fail(error, FC_NO_MEMORY, "%s: no memory for %" G_GSIZE_FORMAT " bytes of samples", name, size);
}

const void *fc_dense_bits(const char *name, const fc_view *from, gint64 first, int dtype, int bits,
                          void **scratch, gsize *scratch_size, fc_clipping *clipped, GError **error) {
  const gboolean whole = fc_dtype_is_float(dtype) || bits == (int)fc_dtype_size(dtype) * 8;
  if (from->dtype == dtype && whole && fc_is_dense(from)) return from->data;
  gsize size = (gsize)fc_view_count(from) * fc_dtype_size(dtype);
  if (!fc_reserve(name, scratch, scratch_size, size, error)) return NULL;
  return fc_quantise_bits(name, from, first, *scratch, dtype, bits, clipped, error) ? *scratch : NULL;
}

const void *fc_dense(const char *name, const fc_view *from, gint64 first, int dtype, void **scratch,
                     gsize *scratch_size, GError **error) {
  return fc_dense_bits(name, from, first, dtype, (int)fc_dtype_size(dtype) * 8, scratch, scratch_size, NULL,
                       error);
}

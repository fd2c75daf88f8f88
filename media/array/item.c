/* SPDX-License-Identifier: MIT */
/*
 * item.c - lossless conversion of file elements to our element types.
 */
#include "media/array/item.h"

#include <math.h>
#include <string.h>

static const fc_item items[] = {
    {'b', 1, FC_U8, 8},   {'u', 1, FC_U8, 8},   {'i', 1, FC_I16, 8},  {'u', 2, FC_U16, 16},
    {'i', 2, FC_I16, 16}, {'i', 4, FC_I32, 32}, {'u', 4, FC_F64, 32}, {'i', 8, FC_F64, 53},
    {'p', 1, FC_I16, 8},  {'p', 3, FC_I32, 24}, {'o', 1, FC_I16, 8},  {'u', 8, FC_F64, 53},
    {'f', 2, FC_F32, 11}, {'f', 4, FC_F32, 24}, {'f', 8, FC_F64, 53}, {'m', 1, FC_F32, 24},
    {'a', 1, FC_F32, 24},
};

const fc_item *fc_item_find(char kind, int size) {
  for (gsize i = 0; i < G_N_ELEMENTS(items); i++)
    if (items[i].kind == kind && items[i].size == size) return &items[i];
  return NULL;
}

gboolean fc_item_is_plain(const fc_item *item) {
  if (item->kind == 'b') return FALSE;
  return (gsize)item->size == fc_dtype_size(item->dtype) &&
         fc_dtype_is_float(item->dtype) == (item->kind == 'f');
}

void fc_items_swap(void *items_at, gsize count, int size) {
  guint8 *at = items_at;
  for (gsize i = 0; size > 1 && i < count; i++, at += size)
    for (int low = 0, high = size - 1; low < high; low++, high--) {
      guint8 byte = at[low];
      at[low] = at[high];
      at[high] = byte;
    }
}

/* IEEE 754 binary16: all its values are floats. */
static float half_to_float(guint16 half) {
  int exponent = half >> 10 & 31, fraction = half & 1023;
  float sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24));
}

/* Three bytes in native order become the upper three of four. */
static void widen(const void *from, gsize count, void *to) {
  const guint8 *at = from;
  guint32 *out = to;
  for (gsize i = 0; i < count; i++, at += 3)
    out[i] = G_BYTE_ORDER == G_LITTLE_ENDIAN
                 ? (guint32)at[0] << 8 | (guint32)at[1] << 16 | (guint32)at[2] << 24
                 : (guint32)at[0] << 24 | (guint32)at[1] << 16 | (guint32)at[2] << 8;
}

/* ---- ITU-T G.711 ------------------------------------------------------------- */

/* A sign, three bits for the segment, whose steps are twice those of the one below, and four bits for the
 * step in it. u-law inverts all bits and adds 132 to magnitudes, so that there is no linear segment. */
enum { SIGN = 0x80, SEGMENT = 7, STEP = 15, BIAS = 132, ALTERNATE = 0x55, LINEAR = 256 };

static float from_ulaw(guint8 code) {
  const guint8 bits = (guint8)~code;
  const int magnitude = (((bits & STEP) << 3) + BIAS) << (bits >> 4 & SEGMENT);
  return (float)(bits & SIGN ? BIAS - magnitude : magnitude - BIAS) / 32768;
}

static float from_alaw(guint8 code) {
  const int bits = code ^ ALTERNATE, segment = bits >> 4 & SEGMENT, step = ((bits & STEP) << 4) + 8;
  const int magnitude = segment ? (step + LINEAR) << (segment - 1) : step;
  return (float)(bits & SIGN ? magnitude : -magnitude) / 32768;
}

/* For magnitudes of 2^7 and more. */
static int segment_of(int magnitude) {
  return (int)g_bit_storage((gulong)magnitude) - 8;
}

guint8 fc_ulaw_of(gint16 sample) {
  enum { MOST = 32635 };
  const int magnitude = MIN(ABS((int)sample), MOST) + BIAS, segment = segment_of(magnitude);
  return (guint8) ~((sample < 0 ? SIGN : 0) | segment << 4 | (magnitude >> (segment + 3) & STEP));
}

guint8 fc_alaw_of(gint16 sample) {
  const int magnitude = MIN(ABS((int)sample), G_MAXINT16), segment = segment_of(MAX(magnitude, LINEAR));
  const int bits = magnitude < LINEAR ? magnitude >> 4 : segment << 4 | (magnitude >> (segment + 3) & STEP);
  return (guint8)((bits | (sample < 0 ? 0 : SIGN)) ^ ALTERNATE);
}

/* ---- all ----------------------------------------------------------------------- */

#define EACH(type, out, expression)                                                                          \
  for (gsize i = 0; i < count; i++) {                                                                        \
    type value;                                                                                              \
    memcpy(&value, (const char *)from + i * sizeof value, sizeof value);                                     \
    ((out *)to)[i] = (expression);                                                                           \
  }                                                                                                          \
  return -1

/* The same, for integers that f64 may not represent. */
#define EACH_WIDE(type, beyond)                                                                              \
  for (gsize i = 0; i < count; i++) {                                                                        \
    type value;                                                                                              \
    memcpy(&value, (const char *)from + i * sizeof value, sizeof value);                                     \
    if (beyond) return (gssize)i;                                                                            \
    ((double *)to)[i] = (double)value;                                                                       \
  }                                                                                                          \
  return -1

gssize fc_items_convert(const fc_item *item, const void *from, gsize count, void *to) {
  const gint64 most = (gint64)1 << 53;
  switch (item->kind << 8 | item->size) {
  case 'b' << 8 | 1: EACH(guint8, guint8, value != 0);
  case 'i' << 8 | 1: EACH(gint8, gint16, value);
  case 'p' << 8 | 1: EACH(guint8, gint16, (gint16)(guint16)(value << 8));
  case 'o' << 8 | 1: EACH(guint8, gint16, (gint16)(guint16)((value ^ 0x80) << 8));
  case 'm' << 8 | 1: EACH(guint8, float, from_ulaw(value));
  case 'a' << 8 | 1: EACH(guint8, float, from_alaw(value));
  case 'p' << 8 | 3: widen(from, count, to); return -1;
  case 'u' << 8 | 4: EACH(guint32, double, value);
  case 'f' << 8 | 2: EACH(guint16, float, half_to_float(value));
  case 'i' << 8 | 8: EACH_WIDE(gint64, value > most || value < -most);
  case 'u' << 8 | 8: EACH_WIDE(guint64, value > (guint64)most);
  default: memcpy(to, from, count * (gsize)item->size); return -1;
  }
}

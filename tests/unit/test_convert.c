/* SPDX-License-Identifier: MIT */
/*
 * test_convert.c - casts between element types on the host against their definition, element by element:
 * every pair of types, both layouts on either side, values beyond the range, NaN and infinities.
 */
#include "core/base/buffer.h"

#include <math.h>

static const double lowest[] = {0, -32768, 0, -2147483648.0};
static const double highest[] = {255, 32767, 65535, 2147483647.0};

static double code_at(const void *at, int dtype) {
  switch (dtype) {
  case FC_U8: return *(const guint8 *)at;
  case FC_I16: return *(const gint16 *)at;
  case FC_U16: return *(const guint16 *)at;
  case FC_I32: return *(const gint32 *)at;
  case FC_F32: return *(const float *)at;
  default: return *(const double *)at;
  }
}

static void set_code(void *at, int dtype, double code) {
  switch (dtype) {
  case FC_U8: *(guint8 *)at = (guint8)code; break;
  case FC_I16: *(gint16 *)at = (gint16)code; break;
  case FC_U16: *(guint16 *)at = (guint16)code; break;
  case FC_I32: *(gint32 *)at = (gint32)code; break;
  case FC_F32: *(float *)at = (float)code; break;
  default: *(double *)at = code; break;
  }
}

/* A code of the source: of floats some that become ties, that do not fit and that are not numbers. */
static double draw_code(int kind, int from, int to) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e300, 1e-40};
  fc_scaling s = fc_scaling_of(kind, to);
  if (!fc_dtype_is_float(from)) return floor(g_test_rand_double_range(lowest[from], highest[from] + 1));
  if (g_test_rand_int_range(0, 16) == 0) return odd[g_test_rand_int_range(0, G_N_ELEMENTS(odd))];
  if (fc_dtype_is_float(to)) return g_test_rand_double_range(-300, 300);
  double code = floor(g_test_rand_double_range(1.2 * lowest[to] - 1, 1.2 * highest[to] + 1)) - s.bias;
  return (code + (g_test_rand_int_range(0, 2) ? 0.5 : 0.3)) * s.scale;
}

/* The code that a code of another type becomes, and what is to be noted. */
static double expected(int kind, int from, int to, double code, guint32 notes[FC_NOTES]) {
  fc_scaling f = fc_scaling_of(kind, from), t = fc_scaling_of(kind, to);
  double value = (code - f.bias) * f.scale;
  if (fc_dtype_is_float(to)) return to == FC_F32 ? (double)(float)value : value;
  if (isnan(value)) {
    notes[FC_NOTE_NAN] = 1;
    return t.bias;
  }
  double rounded = nearbyint(value / t.scale) + t.bias;
  if (rounded < lowest[to] || rounded > highest[to]) notes[FC_NOTE_CLIPPED] = 1;
  return CLAMP(rounded, lowest[to], highest[to]);
}

static fc_view random_view(fc_buffer *b, int kind, int dtype, const gint64 shape[FC_AXES]) {
  fc_format format = {.kind = kind, .dtype = dtype, .layout = g_test_rand_int_range(0, 2)};
  fc_range all[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) all[a] = (fc_range){0, shape[a]}, format.extent[a] = shape[a];
  g_assert_true((g_test_rand_int_range(0, 2) ? fc_buffer_pack : fc_buffer_layout)(b, &format, format.extent));
  fc_buffer_hold(b, all, 0);
  b->memory = g_malloc0(b->bytes);
  return fc_buffer_view(b, all, &format);
}

static void check_pair(int kind, int from, int to) {
  const gint64 shape[FC_AXES] = {g_test_rand_int_range(1, 3), g_test_rand_int_range(1, 4),
                                 g_test_rand_int_range(1, 2500), g_test_rand_int_range(1, 5)};
  fc_buffer b1, b2;
  fc_view in = random_view(&b1, kind, from, shape), out = random_view(&b2, kind, to, shape);
  guint32 want[FC_NOTES] = {0, 0}, got[FC_NOTES] = {0, 0};
  gint64 at[FC_AXES];
  for (int pass = 0; pass < 2; pass++) {
    for (at[0] = 0; at[0] < shape[0]; at[0]++)
      for (at[1] = 0; at[1] < shape[1]; at[1]++)
        for (at[2] = 0; at[2] < shape[2]; at[2]++)
          for (at[3] = 0; at[3] < shape[3]; at[3]++) {
            void *i = fc_view_at(&in, at[0], at[1], at[2], at[3]);
            if (pass == 0) {
              set_code(i, from, draw_code(kind, from, to));
              continue;
            }
            double w = expected(kind, from, to, code_at(i, from), want);
            double g = code_at(fc_view_at(&out, at[0], at[1], at[2], at[3]), to);
            if (!isnan(w) || !isnan(g)) g_assert_cmpfloat(w, ==, g);
          }
    if (pass == 0) fc_view_convert(&out, &in, got);
  }
  for (int n = 0; n < FC_NOTES && from != to; n++) g_assert_cmpuint(want[n], ==, got[n]);
  g_free(b1.memory);
  g_free(b2.memory);
}

static void test_pairs(void) {
  for (int kind = 0; kind < FC_KIND_COUNT; kind++)
    for (int from = 0; from < FC_DTYPE_COUNT; from++)
      for (int to = 0; to < FC_DTYPE_COUNT; to++) check_pair(kind, from, to);
}

static void test_value(void) {
  union {
    guint8 u8;
    gint16 i16;
    double f64;
    char bytes[8];
  } code;
  fc_value_encode(&code, 0.5, FC_AUDIO, FC_I16);
  g_assert_cmpint(code.i16, ==, 16384);
  fc_value_encode(&code, 300, FC_IMAGE, FC_U8);
  g_assert_cmpint(code.u8, ==, 255);
  for (int i = 1; i < 8; i++) g_assert_cmpint(code.bytes[i], ==, 0);
  fc_value_encode(&code, 0.1, FC_ARRAY, FC_F64);
  g_assert_cmpfloat(code.f64, ==, 0.1);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/convert/pairs", test_pairs);
  g_test_add_func("/convert/value", test_value);
  return g_test_run();
}

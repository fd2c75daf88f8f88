/* SPDX-License-Identifier: MIT */
/*
 * source.c - elements, signals and borders; see source.h. Simple and slow.
 */
#include "check/source.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *memory) {
  if (memory) return memory;
  fprintf(stderr, "filterchain-check: no memory\n");
  exit(1);
}

/* ---- one element ------------------------------------------------------------- */

double element_code(const void *at, int dtype) {
  switch (dtype) {
  case FC_U8: return *(const uint8_t *)at;
  case FC_I16: return *(const int16_t *)at;
  case FC_U16: return *(const uint16_t *)at;
  case FC_I32: return *(const int32_t *)at;
  case FC_F32: return *(const float *)at;
  default: return *(const double *)at;
  }
}

static void set_code(void *at, int dtype, double code) {
  switch (dtype) {
  case FC_U8: *(uint8_t *)at = (uint8_t)code; break;
  case FC_I16: *(int16_t *)at = (int16_t)code; break;
  case FC_U16: *(uint16_t *)at = (uint16_t)code; break;
  case FC_I32: *(int32_t *)at = (int32_t)code; break;
  case FC_F32: *(float *)at = (float)code; break;
  default: *(double *)at = code; break;
  }
}

bool element_limits(int dtype, double *low, double *high) {
  static const double lows[] = {0, -32768, 0, -2147483648.0}, highs[] = {255, 32767, 65535, 2147483647.0};
  if (fc_dtype_is_float(dtype)) return false;
  *low = lows[dtype], *high = highs[dtype];
  return true;
}

double element_value(const void *at, int kind, int dtype) {
  fc_scaling s = fc_scaling_of(kind, dtype);
  return (element_code(at, dtype) - s.bias) * s.scale;
}

void element_store(void *at, int kind, int dtype, double value) {
  fc_scaling s = fc_scaling_of(kind, dtype);
  double low, high, code = value;
  if (element_limits(dtype, &low, &high)) {
    code = isnan(value) ? s.bias : nearbyint(value / s.scale) + s.bias;
    code = code < low ? low : code > high ? high : code;
  }
  set_code(at, dtype, code);
}

/* ---- making signals ----------------------------------------------------------- */

const char *fill_name(fill f) {
  static const char *const names[FILL_COUNT] = {"random",   "small",   "extreme", "offset",
                                                "constant", "impulse", "nan",     "inf"};
  return names[f];
}

/* The usual range of floating-point samples of a kind. */
static double usual(int kind) {
  return kind == FC_AUDIO ? 1 : kind == FC_IMAGE ? 255 : 1000;
}

static double random_code(const fc_format *f, dice *d) {
  double low, high, top = usual(f->kind);
  if (element_limits(f->dtype, &low, &high)) return (double)dice_int(d, (int64_t)low, (int64_t)high);
  return dice_real(d, f->kind == FC_IMAGE ? 0 : -top, top);
}

static double small_code(const fc_format *f, dice *d) {
  fc_scaling s = fc_scaling_of(f->kind, f->dtype);
  double code = s.bias + (double)dice_int(d, f->dtype == FC_U8 || f->dtype == FC_U16 ? 0 : -4, 4);
  return fc_dtype_is_float(f->dtype) ? code / 8 * usual(f->kind) : code;
}

static double extreme_code(const fc_format *f, dice *d) {
  double low, high, top = usual(f->kind);
  if (element_limits(f->dtype, &low, &high)) {
    const double codes[] = {low, low + 1, high - 1, high, fc_scaling_of(f->kind, f->dtype).bias};
    return DICE_PICK(d, codes);
  }
  const double codes[] = {-top, top, 0, -0.0, top / 2, top / 255, FLT_MIN, -FLT_MIN / 8};
  return DICE_PICK(d, codes);
}

static double offset_code(const fc_format *f, dice *d) {
  double low, high;
  if (element_limits(f->dtype, &low, &high)) return floor(low + (high - low) * 0.9) + dice_int(d, -2, 2);
  return 1e4 * usual(f->kind) * (1 + dice_real(d, 0, 1e-5));
}

static double code_of(const fc_format *f, fill how, dice *d) {
  switch (how) {
  case FILL_SMALL: return small_code(f, d);
  case FILL_EXTREME: return extreme_code(f, d);
  case FILL_OFFSET: return offset_code(f, d);
  case FILL_NAN: return dice_chance(d, 2) ? NAN : random_code(f, d);
  case FILL_INF: return dice_chance(d, 2) ? (dice_chance(d, 50) ? INFINITY : -INFINITY) : random_code(f, d);
  default: return random_code(f, d);
  }
}

static source empty_source(const fc_format *format) {
  source s = {.format = *format, .size = fc_dtype_size(format->dtype), .count = 1};
  for (int a = 0; a < FC_AXES; a++) s.count *= format->extent[a];
  s.codes = need(malloc((size_t)s.count * s.size + 1));
  return s;
}

source source_new(const fc_format *format, fill how, dice *d) {
  source s = empty_source(format);
  bool one = how == FILL_CONSTANT || how == FILL_IMPULSE;
  double same =
      how == FILL_IMPULSE ? fc_scaling_of(format->kind, format->dtype).bias : random_code(format, d);
  for (int64_t i = 0; i < s.count; i++)
    set_code(s.codes + (size_t)i * s.size, format->dtype, one ? same : code_of(format, how, d));
  /* At least one element has the value that the fill is named after. */
  double special = how == FILL_NAN ? NAN : how == FILL_INF ? INFINITY : random_code(format, d);
  if (s.count > 0 && (how == FILL_IMPULSE || how == FILL_NAN || how == FILL_INF))
    set_code(s.codes + (size_t)dice_int(d, 0, s.count - 1) * s.size, format->dtype, special);
  return s;
}

source source_in_double(const source *s) {
  fc_format format = s->format;
  format.dtype = FC_F64, format.bits = 53;
  source copy = empty_source(&format);
  for (int64_t i = 0; i < s->count; i++)
    ((double *)(void *)copy.codes)[i] =
        element_value(s->codes + (size_t)i * s->size, s->format.kind, s->format.dtype);
  return copy;
}

void source_free(source *s) {
  free(s->codes);
  memset(s, 0, sizeof *s);
}

/* ---- borders ------------------------------------------------------------------ */

int64_t border_source(int border, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  if (extent < 1) return -1;
  int64_t period, phase;
  switch (border) {
  case FC_BORDER_REPLICATE: return at < 0 ? 0 : extent - 1;
  case FC_BORDER_REFLECT: /* a b c d d c b a, repeated */
    period = 2 * extent, phase = (at % period + period) % period;
    return phase < extent ? phase : period - 1 - phase;
  case FC_BORDER_REFLECT101: /* a b c d c b, repeated */
    if (extent == 1) return 0;
    period = 2 * extent - 2, phase = (at % period + period) % period;
    return phase < extent ? phase : period - phase;
  case FC_BORDER_WRAP: return (at % extent + extent) % extent;
  default: return -1;
  }
}

/* The source position of each position of a range; -1: none. */
static int64_t *positions(range where, int border, int64_t extent) {
  int64_t count = where.hi > where.lo ? where.hi - where.lo : 0;
  int64_t *from = need(malloc((size_t)(count + 1) * sizeof *from));
  for (int64_t i = 0; i < count; i++) from[i] = border_source(border, where.lo + i, extent);
  return from;
}

void source_write(const source *s, const range where[FC_AXES], int border, double value, void *to,
                  const int64_t stride[FC_AXES]) {
  const int64_t *e = s->format.extent;
  unsigned char outside[8];
  int64_t *from[FC_AXES], count[FC_AXES], i[FC_AXES];
  dice d = s->jitter_dice;
  element_store(outside, s->format.kind, s->format.dtype, border == FC_BORDER_CONSTANT ? value : 0);
  for (int a = 0; a < FC_AXES; a++) {
    count[a] = where[a].hi > where[a].lo ? where[a].hi - where[a].lo : 0;
    from[a] = positions(where[a], border, e[a]);
  }
  for (i[0] = 0; i[0] < count[0]; i[0]++)
    for (i[1] = 0; i[1] < count[1]; i[1]++)
      for (i[2] = 0; i[2] < count[2]; i[2]++)
        for (i[3] = 0; i[3] < count[3]; i[3]++) {
          int64_t p[FC_AXES], offset = 0;
          bool inside = true;
          for (int a = 0; a < FC_AXES; a++) {
            p[a] = from[a][i[a]], inside &= p[a] >= 0;
            offset += i[a] * stride[a];
          }
          int64_t index = ((p[0] * e[1] + p[1]) * e[2] + p[2]) * e[3] + p[3];
          if (inside)
            memcpy((char *)to + offset, s->codes + (size_t)index * s->size, s->size);
          else if (border != FC_BORDER_NONE)
            memcpy((char *)to + offset, outside, s->size);
          if (s->jitter != 0)
            *(double *)(void *)((char *)to + offset) *= 1 + (dice_chance(&d, 50) ? s->jitter : -s->jitter);
        }
  for (int a = 0; a < FC_AXES; a++) free(from[a]);
}

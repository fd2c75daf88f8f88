/* SPDX-License-Identifier: MIT */
/*
 * place.c - places a signal into a larger one: each row is a margin, a copy and a margin.
 */
#include "filters/geometry/place.h"

#include <string.h>

#include "filters/base/integers.h"
#include "filters/base/lines.h"

static const void *code_of(const fc_place *p, int64_t c) {
  return &p->codes[p->n_codes > 1 ? c : 0]; /* the lowest bytes come first */
}

/* Whether there is an element at this position of an axis whose end may be unknown. */
static int is_there(int64_t at, int64_t extent) {
  return at >= 0 && (extent < 0 || at < extent);
}

fc_status fc_place_ref(const fc_place *p, const fc_view *in, const fc_view *out) {
  const size_t size = fc_dtype_size(out->dtype);
  int64_t at[FC_AXES] = {0};
  for (int64_t left = fc_view_count(out); left > 0; left--, fc_advance(out, at)) {
    const int64_t y = at[1] - p->down, x = at[2] - p->right;
    const int there = is_there(y + out->origin[FC_AXIS_Y], in->extent[FC_AXIS_Y]) &&
                      is_there(x + out->origin[FC_AXIS_X], in->extent[FC_AXIS_X]);
    memcpy(fc_view_at(out, at[0], at[1], at[2], at[3]),
           there ? fc_view_at(in, at[0], y, x, at[3]) : code_of(p, at[3]), size);
  }
  return FC_OK;
}

/* ---- rows ----------------------------------------------------------------------- */

#define DEFINE_LINES(T)                                                                                      \
  static void fill_##T(char *to, int64_t step, const void *code, int64_t count) {                            \
    T value;                                                                                                 \
    memcpy(&value, code, sizeof value);                                                                      \
    for (int64_t i = 0; i < count; i++) *(T *)(void *)(to + i * step) = value;                               \
  }                                                                                                          \
  static void copy_##T(char *to, int64_t step, const char *from, int64_t from_step, int64_t count) {         \
    for (int64_t i = 0; i < count; i++)                                                                      \
      *(T *)(void *)(to + i * step) = *(const T *)(const void *)(from + i * from_step);                      \
  }
DEFINE_LINES(uint8_t)
DEFINE_LINES(uint16_t)
DEFINE_LINES(uint32_t)
DEFINE_LINES(uint64_t)

static void fill(char *to, int64_t step, const void *code, int64_t count, int64_t size) {
  switch (size) {
  case 1: fill_uint8_t(to, step, code, count); break;
  case 2: fill_uint16_t(to, step, code, count); break;
  case 4: fill_uint32_t(to, step, code, count); break;
  default: fill_uint64_t(to, step, code, count); break;
  }
}

static void copy(char *to, int64_t step, const char *from, int64_t from_step, int64_t count, int64_t size) {
  if (step == size && from_step == size) {
    memcpy(to, from, (size_t)(count * size));
    return;
  }
  switch (size) {
  case 1: copy_uint8_t(to, step, from, from_step, count); break;
  case 2: copy_uint16_t(to, step, from, from_step, count); break;
  case 4: copy_uint32_t(to, step, from, from_step, count); break;
  default: copy_uint64_t(to, step, from, from_step, count); break;
  }
}

/* Columns [from, from + count) of an output row with the codes of their channels. */
static void fill_row(const fc_place *p, const fc_view *out, int64_t n, int64_t y, int64_t from,
                     int64_t count) {
  const int64_t size = (int64_t)fc_dtype_size(out->dtype), channels = out->shape[FC_AXIS_C];
  if (p->n_codes == 1 && fc_is_interleaved(out)) {
    fill(fc_view_at(out, n, y, from, 0), size, code_of(p, 0), count * channels, size);
    return;
  }
  for (int64_t c = 0; c < channels; c++)
    fill(fc_view_at(out, n, y, from, c), out->stride[FC_AXIS_X], code_of(p, c), count, size);
}

static void copy_row(const fc_place *p, const fc_view *in, const fc_view *out, int64_t n, int64_t y,
                     int64_t from, int64_t count) {
  const int64_t size = (int64_t)fc_dtype_size(out->dtype), channels = out->shape[FC_AXIS_C];
  const int64_t source = y - p->down, column = from - p->right;
  if (fc_is_interleaved(in) && fc_is_interleaved(out)) {
    memcpy(fc_view_at(out, n, y, from, 0), fc_view_at(in, n, source, column, 0),
           (size_t)(count * channels * size));
    return;
  }
  for (int64_t c = 0; c < channels; c++)
    copy(fc_view_at(out, n, y, from, c), out->stride[FC_AXIS_X], fc_view_at(in, n, source, column, c),
         in->stride[FC_AXIS_X], count, size);
}

fc_status fc_place_cpu(const fc_place *p, const fc_view *in, const fc_view *out) {
  const int64_t width = out->shape[FC_AXIS_X], extent = in->extent[FC_AXIS_X];
  /* Output columns [begin, end) have an input. */
  const int64_t first = p->right - out->origin[FC_AXIS_X];
  const int64_t begin = fc_smaller(fc_larger(first, 0), width);
  const int64_t end = extent < 0 ? width : fc_larger(begin, fc_smaller(first + extent, width));
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++) {
      if (!is_there(y + out->origin[FC_AXIS_Y] - p->down, in->extent[FC_AXIS_Y])) {
        fill_row(p, out, n, y, 0, width);
        continue;
      }
      if (begin > 0) fill_row(p, out, n, y, 0, begin);
      if (end > begin) copy_row(p, in, out, n, y, begin, end - begin);
      if (end < width) fill_row(p, out, n, y, end, width - end);
    }
  return FC_OK;
}

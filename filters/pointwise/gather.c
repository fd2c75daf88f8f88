/* SPDX-License-Identifier: MIT */
/*
 * gather.c - copies of samples; rows by memcpy where they are dense, else a loop for each
 * size of element.
 */
#include "filters/pointwise/gather.h"
#include "filters/base/lines.h"

#include <string.h>

static int64_t source_channel(const fc_gather *g, int64_t c) {
  return g->channels ? g->channels[c] : c;
}

fc_status fc_gather_ref(const fc_gather *g, const fc_view *in, const fc_view *out) {
  size_t size = fc_dtype_size(out->dtype);
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
        for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++)
          memcpy(fc_view_at(out, n, y, x, c),
                 fc_view_at(in, n, y + g->shift_y, x + g->shift_x, source_channel(g, c)), size);
  return FC_OK;
}

#define DEFINE_COPY(T)                                                                                       \
  static void copy_##T(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count) {      \
    for (int64_t i = 0; i < count; i++) *(T *)(to + i * to_step) = *(const T *)(from + i * from_step);       \
  }
DEFINE_COPY(uint8_t)
DEFINE_COPY(uint16_t)
DEFINE_COPY(uint32_t)
DEFINE_COPY(uint64_t)

static void copy_line(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count,
                      int64_t size) {
  if (to_step == size && from_step == size) {
    memcpy(to, from, (size_t)(count * size));
    return;
  }
  switch (size) {
  case 1: copy_uint8_t(to, to_step, from, from_step, count); break;
  case 2: copy_uint16_t(to, to_step, from, from_step, count); break;
  case 4: copy_uint32_t(to, to_step, from, from_step, count); break;
  default: copy_uint64_t(to, to_step, from, from_step, count); break;
  }
}

fc_status fc_gather_cpu(const fc_gather *g, const fc_view *in, const fc_view *out) {
  int64_t size = (int64_t)fc_dtype_size(out->dtype);
  fc_lines l = fc_lines_of(in, out, !g->channels);
  for (int64_t f = 0; f < l.frames; f++)
    for (int64_t y = 0; y < l.rows; y++)
      for (int64_t c = 0; c < l.channels; c++)
        copy_line(fc_view_at(out, f, y, 0, c), l.out_step,
                  fc_view_at(in, f, y + g->shift_y, g->shift_x, source_channel(g, c)), l.in_step, l.length,
                  size);
  return FC_OK;
}

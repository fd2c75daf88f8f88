/* SPDX-License-Identifier: MIT */
/* histogram.c - see histogram.h: loads rows in tiles and increments one counter per value. */
#include "filters/histogram/histogram.h"

#include <string.h>

#define TILE 1024

static void count_block(const fc_histogram *h, const fc_view *in, int64_t n, const int64_t from[FC_AXES],
                        const int64_t to[FC_AXES], char *block) {
  const int64_t channels = in->shape[FC_AXIS_C], each = h->bins + FC_HISTOGRAM_EXTRA;
  const fc_histogram_head head = {(uint32_t)channels, 0};
  uint64_t *counts = (uint64_t *)(void *)(block + sizeof head);
  double values[TILE];
  memset(block, 0, fc_histogram_bytes(h->bins, channels));
  memcpy(block, &head, sizeof head);
  for (int64_t y = from[FC_AXIS_Y]; y < to[FC_AXIS_Y]; y++)
    for (int64_t c = 0; c < channels; c++)
      for (int64_t x = from[FC_AXIS_X]; x < to[FC_AXIS_X]; x += TILE) {
        const int64_t count = to[FC_AXIS_X] - x < TILE ? to[FC_AXIS_X] - x : TILE;
        fc_load_f64(values, fc_view_at(in, n, y, x, c), in->stride[FC_AXIS_X], count, in->kind, in->dtype);
        for (int64_t i = 0; i < count; i++) counts[c * each + fc_histogram_place(h, values[i])]++;
      }
}

fc_status fc_histogram_cpu(const fc_histogram *h, const fc_view *in, void *to, int64_t stride) {
  const size_t bytes = fc_histogram_bytes(h->bins, in->shape[FC_AXIS_C]);
  const int64_t length = in->shape[h->axis];
  if (fc_view_count(in) == 0) return FC_OK;
  for (int64_t n = 0; n < in->shape[FC_AXIS_N]; n++)
    for (int64_t at = 0, i = 0; at < length; at += h->align, i++) {
      int64_t first[FC_AXES] = {0}, end[FC_AXES];
      memcpy(end, in->shape, sizeof end);
      first[h->axis] = at;
      end[h->axis] = length - at < h->align ? length : at + h->align;
      count_block(h, in, n, first, end, (char *)to + n * stride + i * (int64_t)bytes);
    }
  return FC_OK;
}

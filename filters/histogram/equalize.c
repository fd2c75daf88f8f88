/* SPDX-License-Identifier: MIT */
/* equalize.c - see equalize.h: counts, computes a table from them, and applies it, channel by channel. */
#include "filters/histogram/equalize.h"

#include <string.h>

#define MOST_CODES 65536

size_t fc_equalize_scratch(const fc_view *out) {
  (void)out;
  return MOST_CODES * (sizeof(uint64_t) + sizeof(uint16_t));
}

static void make_otsu_table(const fc_equalize *e, const uint64_t *counts, uint16_t *table, uint32_t codes) {
  uint64_t n = 0, sum = 0, n0 = 0, s0 = 0;
  uint32_t level = codes - 1;
  double best = 0;
  for (uint32_t i = 0; i < codes; i++) n += counts[i], sum += i * counts[i];
  for (uint32_t i = 0; i < codes; i++) {
    n0 += counts[i], s0 += i * counts[i];
    const double variance = fc_otsu_variance(n0, s0, n, sum);
    if (variance > best) best = variance, level = i;
  }
  for (uint32_t i = 0; i < codes; i++) table[i] = (uint16_t)fc_otsu_code(i, level, e);
}

/* Converts counts to the table. */
static void make_table(const fc_equalize *e, const uint64_t *counts, uint16_t *table, uint32_t codes) {
  uint64_t all = 0, below = 0, last = 0;
  if (e->form != FC_EQUALIZE_FLAT) {
    make_otsu_table(e, counts, table, codes);
    return;
  }
  for (uint32_t i = 0; i < codes; i++) {
    all += counts[i];
    if (counts[i]) last = counts[i];
  }
  for (uint32_t i = 0; i < codes; i++) {
    table[i] = (uint16_t)fc_equalize_code(i, below, all - last, e->white);
    below += counts[i];
  }
}

#define DEFINE_PASSES(T, NAME)                                                                               \
  static void count_##NAME(const char *from, int64_t step, int64_t count, uint64_t *counts) {                \
    for (int64_t i = 0; i < count; i++) counts[*(const T *)(from + i * step)]++;                             \
  }                                                                                                          \
  static void replace_##NAME(const char *from, int64_t in_step, char *to, int64_t out_step, int64_t count,   \
                             const uint16_t *table) {                                                        \
    for (int64_t i = 0; i < count; i++)                                                                      \
      *(T *)(to + i * out_step) = (T)table[*(const T *)(from + i * in_step)];                                \
  }
DEFINE_PASSES(uint8_t, u8)
DEFINE_PASSES(uint16_t, u16)

static void equalize_plane(const fc_equalize *e, const fc_view *in, const fc_view *out, int64_t n, int64_t c,
                           uint64_t *counts, uint16_t *table) {
  const int bytes = in->dtype == FC_U8;
  const uint32_t codes = bytes ? 256 : MOST_CODES;
  const int64_t width = out->shape[FC_AXIS_X], step = in->stride[FC_AXIS_X];
  memset(counts, 0, codes * sizeof *counts);
  for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
    (bytes ? count_u8 : count_u16)(fc_view_at(in, n, y, 0, c), step, width, counts);
  make_table(e, counts, table, codes);
  for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
    (bytes ? replace_u8 : replace_u16)(fc_view_at(in, n, y, 0, c), step, fc_view_at(out, n, y, 0, c),
                                       out->stride[FC_AXIS_X], width, table);
}

fc_status fc_equalize_cpu(const fc_equalize *e, const fc_view *in, const fc_view *out, void *scratch) {
  uint64_t *counts = scratch;
  if (in->dtype != out->dtype || (in->dtype != FC_U8 && in->dtype != FC_U16)) return FC_UNSUPPORTED;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++)
      equalize_plane(e, in, out, n, c, counts, (uint16_t *)(counts + MOST_CODES));
  return FC_OK;
}

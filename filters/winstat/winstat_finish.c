/* SPDX-License-Identifier: MIT */
/*
 * winstat_finish.c - from joined pieces to the output: see winstat_walk.h.
 */
#include "filters/base/codes.h"
#include "filters/winstat/winstat_walk.h"

/* The number of samples in the windows of this output row, for every cell. */
static void count_samples(fc_winstat_walk *k, int64_t y) {
  fc_winstat_span rows = {0, k->window[1]};
  if (k->w->shrink) rows = fc_winstat_inside(k->in, FC_AXIS_Y, y - k->w->before[1], y + k->w->after[1] + 1);
  int64_t high = rows.hi - rows.lo, cells = k->count * k->lanes;
  if (k->counted == high) return;
  k->counted = high;
  for (int64_t i = 0; i < cells; i++) {
    if (k->result == FC_F64)
      ((double *)k->counts)[i] = ((double *)k->across)[i] * (double)high;
    else
      ((float *)k->counts)[i] = ((float *)k->across)[i] * (float)high;
  }
}

/* The same along x, once per strip. */
void fc_winstat_count_across(fc_winstat_walk *k) {
  for (int64_t i = 0; i < k->count; i++) {
    fc_winstat_span s = {0, k->window[0]};
    int64_t x = k->x + i;
    if (k->w->shrink) s = fc_winstat_inside(k->in, FC_AXIS_X, x - k->w->before[0], x + k->w->after[0] + 1);
    for (int64_t j = i * k->lanes; j < (i + 1) * k->lanes; j++) {
      if (k->result == FC_F64)
        ((double *)k->across)[j] = (double)(s.hi - s.lo);
      else
        ((float *)k->across)[j] = (float)(s.hi - s.lo);
    }
  }
  k->counted = 0;
}

/* Totals of integers in one cell. */
static fc_uint128 squares_at(const fc_winstat_walk *k, const fc_winstat_row *rows, int64_t i) {
  if (k->field[FC_WALK_SQUARES].size == 4) return ((const uint32_t *)rows[FC_WALK_SQUARES].cells)[i];
  fc_uint128 low = ((const uint64_t *)rows[FC_WALK_SQUARES].cells)[i];
  if (!k->field[FC_WALK_SQUARES_HIGH].used) return low;
  return ((fc_uint128)((const uint64_t *)rows[FC_WALK_SQUARES_HIGH].cells)[i] << 32) + low;
}

static int64_t sum_at(const fc_winstat_walk *k, const fc_winstat_row *rows, int64_t i) {
  return k->field[FC_WALK_SUM].size == 4 ? ((const int32_t *)rows[FC_WALK_SUM].cells)[i]
                                         : ((const int64_t *)rows[FC_WALK_SUM].cells)[i];
}

/* Squared deviations of integers: in doubles while these are exact, in 128-bit integers otherwise. */
static void spread_of_codes(fc_winstat_walk *k, const fc_winstat_row *rows, int64_t cells, double scale) {
  const double area = (double)k->window[0] * (double)k->window[1];
  const double limit = (double)fc_codes_limit(k->in->dtype), *n = k->counts;
  if (area * area * limit * limit < 0x1p53) {
    k->k->spread_f64(k->spread, k->sum, k->squares, n, cells);
    return;
  }
  for (int64_t i = 0; i < cells; i++)
    k->spread[i] =
        fc_winstat_spread((uint64_t)n[i], sum_at(k, rows, i), squares_at(k, rows, i)) * scale * scale;
}

/* Totals of integers become real values; exact except for one rounding to double. */
static void totals_of_codes(fc_winstat_walk *k, const fc_winstat_row *rows, int64_t cells) {
  const double scale = fc_scaling_of(k->in->kind, k->in->dtype).scale;
  const void *sum = rows[FC_WALK_SUM].cells, *squares = rows[FC_WALK_SQUARES].cells;
  if (k->field[FC_WALK_SUM].used && k->field[FC_WALK_SUM].size == 4)
    k->k->double_i32(k->sum, sum, cells, scale);
  else if (k->field[FC_WALK_SUM].used)
    k->k->double_i64(k->sum, sum, cells, scale);
  if (!k->field[FC_WALK_SQUARES].used) return;
  if (k->field[FC_WALK_SQUARES_HIGH].used)
    for (int64_t i = 0; i < cells; i++)
      k->squares[i] = fc_winstat_double_of(squares_at(k, rows, i)) * scale * scale;
  else if (k->field[FC_WALK_SQUARES].size == 4)
    k->k->double_u32(k->squares, squares, cells, scale * scale);
  else
    k->k->double_u64(k->squares, squares, cells, scale * scale);
  if (k->field[FC_WALK_SUM].used) spread_of_codes(k, rows, cells, scale);
}

static void ratio(const fc_winstat_walk *k, void *to, const void *from, int64_t cells) {
  const int past = k->stream && to != k->stat;
  if (past && k->result == FC_F64)
    k->k->ratio_past_f64(to, from, k->counts, cells);
  else if (past)
    k->k->ratio_past_f32(to, from, k->counts, cells);
  else if (k->result == FC_F64)
    k->k->ratio_f64(to, from, k->counts, cells);
  else
    k->k->ratio_f32(to, from, k->counts, cells);
}

static void root(const fc_winstat_walk *k, void *to, const void *from, int64_t cells) {
  if (k->result == FC_F64)
    k->k->root_f64(to, from, k->counts, cells);
  else
    k->k->root_f32(to, from, k->counts, cells);
}

/* The row of totals that a statistic is computed from, in the result's type. */
static const void *totals_for(const fc_winstat_walk *k, const fc_winstat_row *rows, int stat) {
  switch (stat) {
  case FC_WINSTAT_SUM:
  case FC_WINSTAT_MEAN: return k->codes ? (const void *)k->sum : rows[FC_WALK_SUM].cells;
  case FC_WINSTAT_SUMSQ:
  case FC_WINSTAT_RMS: return k->codes ? (const void *)k->squares : rows[FC_WALK_SQUARES].cells;
  case FC_WINSTAT_MIN: return rows[FC_WALK_LEAST].cells;
  case FC_WINSTAT_MAX: return rows[FC_WALK_MOST].cells;
  default:
    return k->codes ? (const void *)k->spread : rows[FC_WALK_SPREAD].cells + 2 * rows[FC_WALK_SPREAD].pitch;
  }
}

/* One statistic of the row: in `to` or where its totals are. */
static const void *finish(const fc_winstat_walk *k, const fc_winstat_row *rows, int stat, int64_t cells,
                          void *to) {
  const void *totals = totals_for(k, rows, stat);
  switch (stat) {
  case FC_WINSTAT_MEAN:
  case FC_WINSTAT_VAR: ratio(k, to, totals, cells); return to;
  case FC_WINSTAT_STD:
  case FC_WINSTAT_RMS: root(k, to, totals, cells); return to;
  case FC_WINSTAT_MIN:
  case FC_WINSTAT_MAX:
    if (!k->codes) return totals;
    k->k->double_i32(to, totals, cells, fc_scaling_of(k->in->kind, k->in->dtype).scale);
    return to;
  default: return totals;
  }
}

/* to[i * to_step] = from[i * from_step] */
static void spread_out(const fc_winstat_walk *k, void *to, int64_t to_step, const void *from,
                       int64_t from_step, int64_t count) {
  if (k->result == FC_F64)
    for (int64_t i = 0; i < count; i++) ((double *)to)[i * to_step] = ((const double *)from)[i * from_step];
  else
    for (int64_t i = 0; i < count; i++) ((float *)to)[i * to_step] = ((const float *)from)[i * from_step];
}

/* Interleaves or stores one statistic of the row. */
static void deliver(fc_winstat_walk *k, int s, const void *stat, int64_t y, int whole) {
  const fc_view *out = k->out;
  const int64_t real = (int64_t)fc_dtype_size(k->result), channels = k->in->shape[FC_AXIS_C];
  const int64_t per_position = k->lanes * k->w->n_stats;
  for (int64_t j = 0; j < k->lanes; j++) {
    const char *from = (const char *)stat + j * real;
    if (whole) {
      spread_out(k, (char *)k->line + (s * k->lanes + j) * real, per_position, from, k->lanes, k->count);
      continue;
    }
    if (k->lanes > 1) spread_out(k, k->lane, 1, from, k->lanes, k->count);
    fc_store(fc_view_at(out, k->n, y, k->x, s * channels + k->c + j), out->stride[FC_AXIS_X],
             k->lanes > 1 ? k->lane : from, k->result, k->count, out->kind, out->dtype, k->notes);
  }
}

void fc_winstat_emit(fc_winstat_walk *k, const fc_winstat_row *rows, int64_t y) {
  const fc_view *out = k->out;
  const int64_t cells = k->count * k->lanes, size = (int64_t)fc_dtype_size(out->dtype);
  /* The strip has all channels and the output interleaves them: one contiguous store. */
  int whole = k->lanes == k->in->shape[FC_AXIS_C] && fc_winstat_is_packed(out), n = k->w->n_stats;
  /* And it is the only one, stored in the type in which it is computed. */
  int straight = whole && n == 1 && out->dtype == k->result;
  void *row = fc_view_at(out, k->n, y, k->x, k->c);
  const void *line = k->line;
  count_samples(k, y);
  if (k->codes) totals_of_codes(k, rows, cells);
  for (int s = 0; s < n; s++) {
    const void *stat = finish(k, rows, k->w->stat[s], cells, straight ? row : k->stat);
    if (whole && n == 1)
      line = stat;
    else
      deliver(k, s, stat, y, whole);
  }
  if (whole && line != row) fc_store(row, size, line, k->result, cells * n, out->kind, out->dtype, k->notes);
}

/* SPDX-License-Identifier: MIT */
/*
 * resample.c - the reference, and the two passes of the CPU version over rows.
 *
 * If columns are summed first, as many output rows as the kernels have lanes are summed from input rows, then
 * transposed, summed along rows and transposed back. If rows are summed first, as many input rows are, into a
 * ring buffer of rows, from which output rows are summed. The transposed data are a block of columns that
 * stays in the first- or second-level cache.
 */
#include "filters/resample/resample.h"

#include <string.h>

#include "filters/base/integers.h"
#include "filters/base/lines.h"
#include "filters/resample/resample_kernels.h"
#include "filters/resample/resample_math.h"

/* Sums of bytes along a row as it lies are for windows of so many pairs of taps at most, if so many of them
 * at least lie within the 64 values that are permuted at once. */
#define PAIRS_MOST    3
#define WINDOWS_LEAST 4
/* Bytes of a block of turned columns, unless one output needs more. */
#define BLOCK_BYTES 32768

typedef struct work {
  const fc_resample *r;
  const fc_view *in, *out;
  fc_resample_axis x, y;
  int codes, down_first, whole; /* whole: all channels at once */
  int positive;                 /* of bytes by weights that are not negative */
  int picks;                    /* only those pixels of a row are loaded that are in windows */
  int64_t channels;             /* interleaved in a row */
  const fc_resample_steps *k;
  int64_t group, lanes;     /* windows that fit into a group of `along`, or 0; rows at a time */
  int64_t sample, value;    /* bytes: of a loaded element, of what is between the passes */
  fc_resample_table tx, ty; /* of the output view's columns and rows */
  fc_resample_groups groups;
  int64_t *picked;          /* where each window begins beyond `low` */
  int64_t low, columns;     /* input columns that are looked at */
  int64_t slots, mid_slots; /* rows of the rings */
  int64_t span;             /* columns of a block: of the input, and at most as many of the output */
  int64_t loaded_row, mid_row, line_row; /* bytes of a row */
  char *loaded, *mid, *turned, *crossed, *lines;
  double *values;
  const void **rows;
  void **ends;
} work;

/* ---- scratch -------------------------------------------------------------------- */

static void *take(char **at, int64_t bytes) {
  char *here = *at;
  *at += fc_align64(bytes);
  return here;
}

static void lay_table(fc_resample_table *t, const fc_resample_axis *a, int64_t count, int codes,
                      int64_t weight, char **at) {
  t->room = codes ? fc_round_up(a->most, 2) : a->most;
  t->first = take(at, count * (int64_t)sizeof *t->first);
  t->taps = take(at, count * (int64_t)sizeof *t->taps);
  t->weights = take(at, count * t->room * weight);
}

/* Windows that surely fit into a group; 0: too few, or too large ones. For any layout of so many channels. */
static int64_t group_of(const work *w, int64_t channels) {
  const int64_t taps = w->x.filter == FC_RESAMPLE_AREA ? w->x.most : (int64_t)(2 * w->x.support) + 1;
  const int64_t room = 64 / channels;
  int64_t windows = w->picks ? room / taps : 1 + (int64_t)((double)(room - 1 - taps) / w->x.scale);
  if (!w->codes || !w->k->along[0] || w->x.filter == FC_RESAMPLE_NEAREST || taps > 2 * PAIRS_MOST ||
      room < taps + 1)
    return 0;
  windows = fc_smaller(windows, 32 / channels);
  return windows < WINDOWS_LEAST ? 0 : windows;
}

static void lay_groups(work *w, int64_t width, char **at) {
  const int64_t count = w->group ? fc_round_up(width, w->group) / w->group : 0;
  w->groups.first = take(at, count * (int64_t)sizeof *w->groups.first);
  w->groups.values = take(at, count * (int64_t)sizeof *w->groups.values);
  w->groups.begin = take(at, count * 32 * (int64_t)sizeof *w->groups.begin);
  w->groups.weights = take(at, count * PAIRS_MOST * 64 * (int64_t)sizeof *w->groups.weights);
}

static void choose(work *w, const fc_resample *r, const fc_view *in, const fc_view *out) {
  w->r = r, w->in = in, w->out = out;
  w->x = fc_resample_axis_of(r, in->extent[FC_AXIS_X], out->extent[FC_AXIS_X]);
  w->y = fc_resample_axis_of(r, in->extent[FC_AXIS_Y], out->extent[FC_AXIS_Y]);
  w->codes = fc_resample_by_codes(r, in->dtype, &w->x, &w->y);
  w->down_first = fc_resample_down_first(r, w->codes, &w->y);
  w->positive = w->codes && (w->x.filter == FC_RESAMPLE_BILINEAR || w->x.filter == FC_RESAMPLE_AREA);
  w->k = w->codes               ? FC_ISA_PICK(fc_resample_bytes, r->isa)
         : r->compute == FC_F64 ? FC_ISA_PICK(fc_resample_f64, r->isa)
                                : FC_ISA_PICK(fc_resample_f32, r->isa);
  w->value = w->k->value_bytes, w->sample = w->codes ? 1 : w->value;
  w->picks = !r->antialias && w->x.filter != FC_RESAMPLE_NEAREST && w->x.filter != FC_RESAMPLE_AREA &&
             5 * w->x.reach < w->x.scale;
  w->whole = r->alpha || (fc_is_interleaved(in) && fc_is_interleaved(out));
  w->channels = w->whole ? out->shape[FC_AXIS_C] : 1;
  w->group = group_of(w, fc_larger(out->shape[FC_AXIS_C], 1));
  w->lanes = w->group ? 1 : w->k->lanes;
}

/* An odd number of cache lines, so that vertical neighbours use different cache sets. */
static int64_t row_of_lines(int64_t bytes) {
  return fc_align64(bytes) | 64;
}

/* Lays out scratch and returns its size, which may depend only on the output's shape and the extents, not
 * on layout or position. */
static size_t lay(work *w, char *scratch) {
  char *at = scratch;
  const int64_t height = w->out->shape[FC_AXIS_Y], width = w->out->shape[FC_AXIS_X];
  const int64_t channels = fc_larger(w->out->shape[FC_AXIS_C], 1), lanes = w->lanes;
  const int64_t weight = w->codes ? 2 : w->value;
  const int64_t columns =
      fc_smaller((int64_t)((double)width * w->x.scale) + w->x.most + 2, w->in->extent[FC_AXIS_X]);
  lay_table(&w->tx, &w->x, width, w->codes, weight, &at);
  lay_table(&w->ty, &w->y, height, w->codes, weight, &at);
  w->picked = take(&at, w->picks ? width * (int64_t)sizeof *w->picked : 0);
  lay_groups(w, width, &at);
  w->slots = fc_larger(w->y.most, lanes);
  w->mid_slots = w->down_first ? lanes : w->y.most + lanes;
  w->span = fc_larger(w->x.most, BLOCK_BYTES / (w->value * lanes * channels));
  w->loaded_row =
      row_of_lines(columns * channels * w->sample + 64); /* pixels are picked 16 bytes at a time */
  w->mid_row = row_of_lines((w->down_first ? columns : width) * channels * w->value);
  w->line_row = row_of_lines(width * channels * fc_larger(w->sample, w->value));
  w->loaded = take(&at, w->slots * w->loaded_row);
  w->mid = take(&at, w->mid_slots * w->mid_row);
  const int64_t pixel = channels * lanes * w->value, block = fc_larger(BLOCK_BYTES, w->x.most * pixel);
  w->turned = take(&at, w->group ? 0 : block + pixel);
  w->crossed = take(&at, w->group ? 0 : block);
  w->lines = take(&at, (lanes + 1) * w->line_row);
  w->values = take(&at, fc_larger(w->x.most, w->y.most) * (int64_t)sizeof(double));
  w->rows = take(&at, fc_larger(w->y.most + 1, lanes) * (int64_t)sizeof(void *));
  w->ends = take(&at, lanes * (int64_t)sizeof(void *));
  return (size_t)(at - scratch);
}

/* Whether window i has the weights of the one before: at a whole scale, where centres are exact. If an end
 * cuts one of them off, their taps or their distance differ. */
static int repeats(const fc_resample_table *t, const fc_resample_axis *a, int64_t i) {
  return i > 0 && t->taps[i] == t->taps[i - 1] && (double)(t->first[i] - t->first[i - 1]) == a->scale;
}

static void fill_table(const work *w, fc_resample_table *t, const fc_resample_axis *a, int64_t from,
                       int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t taps = t->taps[i] = fc_resample_window(a, from + i, &t->first[i]);
    if (w->codes && repeats(t, a, i)) {
      int16_t *weights = (int16_t *)(void *)t->weights + i * t->room;
      memcpy(weights, weights - t->room, (size_t)t->room * sizeof *weights);
      continue;
    }
    w->k->values(a, from + i, t->first[i], taps, w->values);
    if (w->codes) {
      fc_resample_codes(w->values, taps, (int16_t *)(void *)t->weights + i * t->room, t->room);
      continue;
    }
    const double norm = fc_resample_norm(w->values, taps);
    for (int64_t k = 0; k < taps; k++)
      if (w->r->compute == FC_F64)
        ((double *)(void *)t->weights)[i * t->room + k] = w->values[k] * norm;
      else
        ((float *)(void *)t->weights)[i * t->room + k] = (float)(w->values[k] * norm);
  }
}

/* One value's window: where it begins, and its weights, of which `along` takes those of eight values by
 * fours. */
static void put_window(fc_resample_groups *g, int64_t group, int64_t value, int64_t begin,
                       const int16_t *weights, int64_t taps) {
  if (g->mixes) {
    g->begin[32 * group + value] = (uint16_t)begin;
    g->weights[64 * group + value] = (int16_t)(taps == 2 ? 2 * weights[1] : 0);
    return;
  }
  const int64_t place = value / 8 * 4 + value % 4, upper = value % 8 / 4;
  g->begin[32 * group + value] = (uint16_t)begin;
  for (int64_t k = 0; k < taps; k++)
    g->weights[(group * g->pairs + k / 2) * 64 + upper * 32 + 2 * place + k % 2] = weights[k];
}

static void fill_groups(work *w) {
  const fc_resample_table *t = &w->tx;
  fc_resample_groups *g = &w->groups;
  const int64_t width = w->out->shape[FC_AXIS_X], channels = w->channels;
  g->count = 0, g->pairs = 1, g->halves = 1, g->disjoint = 1, g->mixes = w->positive;
  for (int64_t x = 0; x < width; x++) {
    g->pairs = fc_larger(g->pairs, (t->taps[x] + 1) / 2);
    g->halves &= t->taps[x] == 2 && ((const int16_t *)(const void *)t->weights)[x * t->room] ==
                                        1 << (FC_RESAMPLE_WEIGHT_BITS - 1);
    g->disjoint &= t->first[x] == t->first[0] + 2 * x;
    g->mixes &= t->taps[x] <= 2 && ((const int16_t *)(const void *)t->weights)[x * t->room] > 0;
  }
  for (int64_t x = 0, count; x < width; x += count, g->count++) {
    const int64_t base = t->first[x];
    memset(g->begin + 32 * g->count, 0, 32 * sizeof *g->begin);
    memset(g->weights + 64 * g->pairs * g->count, 0, (size_t)(64 * g->pairs) * sizeof *g->weights);
    for (count = 0; x + count < width && (count + 1) * channels <= 32; count++) {
      const int64_t from = t->first[x + count] - base, taps = t->taps[x + count];
      if ((from + taps) * channels > 64) break;
      for (int64_t c = 0; c < channels; c++)
        put_window(g, g->count, count * channels + c, from * channels + c,
                   (const int16_t *)(const void *)t->weights + (x + count) * t->room, taps);
    }
    g->first[g->count] = (base - w->low) * channels;
    g->values[g->count] = count * channels;
  }
}

static void fill_tables(work *w) {
  const int64_t width = w->out->shape[FC_AXIS_X], height = w->out->shape[FC_AXIS_Y];
  w->tx.limits = w->ty.limits = fc_resample_limits(w->r, w->codes);
  fill_table(w, &w->tx, &w->x, w->out->origin[FC_AXIS_X], width);
  fill_table(w, &w->ty, &w->y, w->out->origin[FC_AXIS_Y], height);
  w->low = w->tx.first[0];
  w->columns = w->tx.first[width - 1] + w->tx.taps[width - 1] - w->low;
  int64_t position = 0;
  /* Windows follow one another in what is loaded. */
  for (int64_t x = 0; w->picks && x < width; x++) {
    w->picked[x] = w->tx.first[x] - w->low;
    w->tx.first[x] = w->low + position;
    position += w->tx.taps[x];
  }
  if (w->picks) w->columns = position;
  if (w->group) fill_groups(w);
}

int64_t fc_resample_halo(const fc_resample *r, int64_t in, int64_t out) {
  const fc_resample_axis a = fc_resample_axis_of(r, in, out);
  return fc_resample_halo_of(&a);
}

static int is_empty(const fc_view *in, const fc_view *out) {
  return fc_view_count(out) == 0 || in->extent[FC_AXIS_X] < 1 || in->extent[FC_AXIS_Y] < 1;
}

size_t fc_resample_scratch(const fc_resample *r, const fc_view *in, const fc_view *out) {
  work w;
  if (is_empty(in, out)) return 0;
  choose(&w, r, in, out);
  return lay(&w, fc_nowhere());
}

/* ---- the reference ---------------------------------------------------------------- */

/* Products and sums of floats computed in double and rounded to float are those of single precision. */
static double narrow(const work *w, double value) {
  return w->r->compute == FC_F32 ? (double)(float)value : value;
}

static double element(const work *w, int64_t n, int64_t y, int64_t x, int64_t c) {
  const fc_view *in = w->in;
  const int64_t last = in->shape[FC_AXIS_C] - 1;
  double value, alpha;
  y -= in->origin[FC_AXIS_Y], x -= in->origin[FC_AXIS_X];
  fc_load_f64(&value, fc_view_at(in, n, y, x, c), 0, 1, in->kind, in->dtype);
  if (!w->r->alpha || c == last) return narrow(w, value);
  fc_load_f64(&alpha, fc_view_at(in, n, y, x, last), 0, 1, in->kind, in->dtype);
  return narrow(w, narrow(w, value) * narrow(w, alpha));
}

static double weight_of(const work *w, const fc_resample_table *t, int64_t i, int64_t k) {
  if (w->codes) return ((const int16_t *)(const void *)t->weights)[i * t->room + k];
  if (w->r->compute == FC_F64) return ((const double *)(const void *)t->weights)[i * t->room + k];
  return ((const float *)(const void *)t->weights)[i * t->room + k];
}

/* Adds one term; integers are exact. */
static double plus(const work *w, int64_t k, double sum, double weight, double value) {
  const double product = w->codes ? weight * value : narrow(w, weight * value);
  return k == 0 ? product : w->codes ? sum + product : narrow(w, sum + product);
}

static double finished(const work *w, double sum, int pass) {
  return w->codes ? (double)fc_resample_finished((int32_t)sum, pass, w->tx.limits) : sum;
}

/* A weighted sum over both windows. Output row y and column x of the view. */
static double both_sums(const work *w, int64_t n, int64_t y, int64_t x, int64_t c) {
  const int down = w->down_first;
  const fc_resample_table *a = down ? &w->ty : &w->tx, *b = down ? &w->tx : &w->ty;
  const int64_t i = down ? y : x, j = down ? x : y;
  double sum = 0;
  for (int64_t l = 0; l < b->taps[j]; l++) {
    double inner = 0;
    for (int64_t k = 0; k < a->taps[i]; k++) {
      const int64_t p = a->first[i] + k, q = b->first[j] + l;
      inner = plus(w, k, inner, weight_of(w, a, i, k), element(w, n, down ? p : q, down ? q : p, c));
    }
    sum = plus(w, l, sum, weight_of(w, b, j, l), finished(w, inner, 0));
  }
  return finished(w, sum, 1);
}

static double colour(const work *w, double value, double alpha) {
  return alpha > 0 ? narrow(w, value / alpha) : 0;
}

/* Copied without conversion. */
static void copy_nearest(const work *w) {
  const fc_view *in = w->in, *out = w->out;
  const size_t size = fc_dtype_size(out->dtype);
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
        for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++)
          memcpy(fc_view_at(out, n, y, x, c),
                 fc_view_at(in, n, w->ty.first[y] - in->origin[FC_AXIS_Y],
                            w->tx.first[x] - in->origin[FC_AXIS_X], c),
                 size);
}

fc_status fc_resample_ref(const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch) {
  work w;
  int64_t at[FC_AXES];
  if (is_empty(in, out)) return FC_OK;
  choose(&w, r, in, out);
  w.picks = 0;
  lay(&w, scratch);
  fill_tables(&w);
  if (r->filter == FC_RESAMPLE_NEAREST) {
    copy_nearest(&w);
    return FC_OK;
  }
  const int64_t last = out->shape[FC_AXIS_C] - 1;
  for (at[0] = 0; at[0] < out->shape[0]; at[0]++)
    for (at[1] = 0; at[1] < out->shape[1]; at[1]++)
      for (at[2] = 0; at[2] < out->shape[2]; at[2]++)
        for (at[3] = 0; at[3] <= last; at[3]++) {
          double value = both_sums(&w, at[0], at[1], at[2], at[3]);
          if (r->alpha && at[3] < last) value = colour(&w, value, both_sums(&w, at[0], at[1], at[2], last));
          fc_store_f64(fc_view_at(out, at[0], at[1], at[2], at[3]), 0, &value, 1, out->kind, out->dtype,
                       NULL);
        }
  return FC_OK;
}

/* ---- rows in and out ---------------------------------------------------------------- */

/* `count` consecutive pixels. */
static void load_run(const work *w, char *to, const char *from, int64_t count) {
  const fc_view *in = w->in;
  const int64_t step = in->stride[FC_AXIS_X], size = (int64_t)fc_dtype_size(in->dtype);
  if (w->codes && w->channels == 1) {
    for (int64_t i = 0; i < count; i++) to[i] = from[i * step];
  } else if (w->codes) {
    memcpy(to, from, (size_t)(count * w->channels));
  } else if (w->channels == 1 || fc_is_interleaved(in)) {
    fc_load(to, w->r->compute, from, w->channels == 1 ? step : size, count * w->channels, in->kind,
            in->dtype);
  } else {
    for (int64_t i = 0; i < count; i++)
      fc_load(to + i * w->channels * w->value, w->r->compute, from + i * step, in->stride[FC_AXIS_C],
              w->channels, in->kind, in->dtype);
  }
}

/* The windows of a row of bytes: copied 16 pixels at a time while the row has so many, so that copies have
 * a constant size. */
static void pick_bytes(const work *w, char *to, const char *from) {
  const int64_t width = w->out->shape[FC_AXIS_X];
  const int64_t end = (w->picked[width - 1] + w->tx.taps[width - 1]) * w->channels;
  for (int64_t x = 0; x < width; x++) {
    const int64_t at = w->picked[x] * w->channels, bytes = w->tx.taps[x] * w->channels;
    if (bytes <= 16 && at + 16 <= end)
      memcpy(to, from + at, 16);
    else
      memcpy(to, from + at, (size_t)bytes);
    to += bytes;
  }
}

static void load_pixels(const work *w, char *to, const char *from) {
  const int64_t width = w->out->shape[FC_AXIS_X], step = w->in->stride[FC_AXIS_X];
  if (!w->picks) {
    load_run(w, to, from, w->columns);
  } else if (w->codes && step == w->channels) {
    pick_bytes(w, to, from);
  } else {
    for (int64_t x = 0; x < width; x++)
      load_run(w, to + (w->tx.first[x] - w->low) * w->channels * w->sample, from + w->picked[x] * step,
               w->tx.taps[x]);
  }
  if (w->r->alpha) w->k->multiply(to, w->columns, w->channels);
}

/* Whether elements of the view have the compute type and are contiguous. */
static int lies_ready(const work *w, const fc_view *v) {
  const int type = w->codes ? FC_U8 : w->r->compute;
  const int dense =
      w->channels == 1 ? v->stride[FC_AXIS_X] == (int64_t)fc_dtype_size(v->dtype) : fc_is_interleaved(v);
  return v->dtype == type && dense && !w->r->alpha && !(w->picks && v == w->in);
}

/* Input row y of the signal, loaded into its slot unless it can be used in place. */
static const void *row_of(const work *w, int64_t n, int64_t y, int64_t c, int load) {
  const fc_view *in = w->in;
  const char *from = fc_view_at(in, n, y - in->origin[FC_AXIS_Y], w->low - in->origin[FC_AXIS_X], c);
  char *slot = w->loaded + y % w->slots * w->loaded_row;
  if (lies_ready(w, in)) return from;
  if (load) load_pixels(w, slot, from);
  return slot;
}

/* Where output row y of the view is computed; then the remaining steps for it. */
static void *line_of(const work *w, int64_t n, int64_t y, int64_t c, int64_t lane) {
  if (lies_ready(w, w->out)) return fc_view_at(w->out, n, y, 0, c);
  return w->lines + lane * w->line_row;
}

static void finish_line(const work *w, int64_t n, int64_t y, int64_t c, int64_t lane) {
  const fc_view *out = w->out;
  const int64_t width = out->shape[FC_AXIS_X], step = out->stride[FC_AXIS_X];
  char *line = w->lines + lane * w->line_row, *to = fc_view_at(out, n, y, 0, c);
  if (lies_ready(w, out)) return;
  if (w->r->alpha) w->k->divide(line, width, w->channels);
  if (w->codes) {
    for (int64_t i = 0; i < width; i++) to[i * step] = line[i];
  } else if (w->channels == 1 || fc_is_interleaved(out)) {
    fc_store(to, w->channels == 1 ? step : (int64_t)fc_dtype_size(out->dtype), line, w->r->compute,
             width * w->channels, out->kind, out->dtype, NULL);
  } else {
    for (int64_t i = 0; i < width; i++)
      fc_store(to + i * step, out->stride[FC_AXIS_C], line + i * w->channels * w->value, w->r->compute,
               w->channels, out->kind, out->dtype, NULL);
  }
}

/* ---- the two passes ------------------------------------------------------------------ */

/* Sums along the rows in w->rows, which begin at input column w->low, into those of w->ends. */
static void sum_across(const work *w, int pass, int64_t element_bytes) {
  const fc_resample_steps *k = w->k;
  const fc_resample_table *t = &w->tx;
  if (w->group) {
    k->along[pass](t, &w->groups, w->channels, w->rows[0], w->columns * w->channels, w->ends[0]);
    return;
  }
  const int64_t width = w->out->shape[FC_AXIS_X], lanes = k->lanes, pixel = w->channels * lanes * w->value;
  const int64_t made = w->codes && pass ? 1 : w->value;
  for (int64_t x = 0, count; x < width; x += count) {
    const int64_t base = t->first[x];
    int64_t span = t->taps[x];
    for (count = 1; x + count < width && count < w->span; count++) {
      const int64_t more = t->first[x + count] + t->taps[x + count] - base;
      if (more > w->span) break;
      span = more;
    }
    for (int64_t r = 0; r < lanes; r++)
      w->rows[r] = (const char *)w->rows[r] + (base - w->low) * w->channels * element_bytes;
    k->turn[pass](w->rows, span * w->channels, w->turned);
    memset(w->turned + span * pixel, 0, (size_t)pixel); /* an odd tap's neighbour */
    k->across[pass](t, x, count, w->channels, w->turned, base, w->crossed);
    k->back[pass](w->crossed, count * w->channels, w->ends);
    for (int64_t r = 0; r < lanes; r++) {
      w->rows[r] = (const char *)w->rows[r] - (base - w->low) * w->channels * element_bytes;
      w->ends[r] = (char *)w->ends[r] + count * w->channels * made;
    }
  }
}

/* The sum for output row y over the rows in `w->rows`, which has one more for the partner of an odd tap. */
static void sum_down(const work *w, int64_t y, int pass, void *to, int64_t count) {
  const fc_resample_table *t = &w->ty;
  int64_t taps = t->taps[y];
  const int16_t *pair = (const int16_t *)(const void *)t->weights + y * t->room;
  if (pass && w->positive && w->k->mix && taps == 2 && pair[0] > 0) {
    w->k->mix(w->rows, (int16_t)(2 * pair[1]), to, count);
    return;
  }
  if (w->codes && taps % 2) w->rows[taps] = w->rows[taps - 1], taps++;
  w->k->down[pass](w->rows, t->weights + y * t->room * (w->codes ? 2 : w->value), taps, to, count);
}

/* Whether output row y is the mean of two rows, and of two columns: then one pass makes it. Sums are exact,
 * so the bits are those of two passes. */
static int is_quartered(const work *w, int64_t y) {
  return w->group && w->k->quarter && w->groups.halves && w->groups.disjoint && w->ty.taps[y] == 2 &&
         ((const int16_t *)(const void *)w->ty.weights)[y * w->ty.room] == 1 << (FC_RESAMPLE_WEIGHT_BITS - 1);
}

static void columns_first(const work *w, int64_t n, int64_t c) {
  const fc_resample_table *t = &w->ty;
  const int64_t height = w->out->shape[FC_AXIS_Y], lanes = w->lanes;
  int64_t loaded = t->first[0];
  for (int64_t y = 0; y < height; y += lanes) {
    const int64_t count = fc_smaller(lanes, height - y);
    for (int64_t r = 0; r < count; r++) {
      const int64_t first = t->first[y + r], end = first + t->taps[y + r];
      for (int64_t i = first; i < end; i++) w->rows[i - first] = row_of(w, n, i, c, i >= loaded);
      loaded = fc_larger(loaded, end);
      if (is_quartered(w, y + r)) { /* in groups rows are made one at a time */
        w->k->quarter(w->rows, w->channels, line_of(w, n, y, c, 0), w->out->shape[FC_AXIS_X] * w->channels);
        continue;
      }
      sum_down(w, y + r, 0, w->mid + r * w->mid_row, w->columns * w->channels);
    }
    for (int64_t r = 0; r < lanes; r++) {
      w->rows[r] = w->mid + fc_smaller(r, count - 1) * w->mid_row;
      w->ends[r] = r < count ? line_of(w, n, y + r, c, r) : w->lines + lanes * w->line_row;
    }
    if (!is_quartered(w, y)) sum_across(w, 1, w->value);
    for (int64_t r = 0; r < count; r++) finish_line(w, n, y + r, c, r);
  }
}

/* Input rows [from, from + count), at most `lanes`, summed along rows into their slots. */
static void make_rows(const work *w, int64_t n, int64_t c, int64_t from, int64_t count) {
  const int64_t lanes = w->lanes;
  for (int64_t r = 0; r < lanes; r++) {
    w->rows[r] = row_of(w, n, from + fc_smaller(r, count - 1), c, r < count);
    w->ends[r] = r < count ? w->mid + (from + r) % w->mid_slots * w->mid_row : w->lines + lanes * w->line_row;
  }
  sum_across(w, 0, w->sample);
}

static void rows_first(const work *w, int64_t n, int64_t c) {
  const fc_resample_table *t = &w->ty;
  const int64_t height = w->out->shape[FC_AXIS_Y], lanes = w->lanes;
  const int64_t all = t->first[height - 1] + t->taps[height - 1];
  int64_t made = t->first[0];
  for (int64_t y = 0; y < height; y++) {
    const int64_t first = t->first[y], end = first + t->taps[y];
    made = fc_larger(made, first); /* skips rows that no output needs */
    while (made < end) {
      const int64_t count = fc_smaller(lanes, all - made);
      make_rows(w, n, c, made, count);
      made += count;
    }
    for (int64_t i = first; i < end; i++) w->rows[i - first] = w->mid + i % w->mid_slots * w->mid_row;
    sum_down(w, y, 1, line_of(w, n, y, c, 0), w->out->shape[FC_AXIS_X] * w->channels);
    finish_line(w, n, y, c, 0);
  }
}

/* ---- nearest ---------------------------------------------------------------------------- */

/* Copies things of `bytes` bytes from where `first` says; `bytes` is a constant where this is inlined with
 * one. */
static inline void take_things(char *to, int64_t to_step, const char *from, int64_t from_step,
                               const int64_t *first, int64_t count, int64_t bytes) {
  for (int64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + first[i] * from_step, (size_t)bytes);
}

/* Three contiguous bytes as four, of which the next thing overwrites the last; `first` ascends, so only
 * copies of the last thing would read or write beyond it. */
static void take_threes(char *to, const char *from, const int64_t *first, int64_t count) {
  int64_t whole = count - 1, i = 0;
  while (whole > 0 && first[whole - 1] == first[count - 1]) whole--;
  for (; i + 4 <= whole;
       i += 4) { /* all loads first: stores might change `first`, for all the compiler knows */
    const int64_t p = first[i], q = first[i + 1], r = first[i + 2], s = first[i + 3];
    int32_t four[4];
    memcpy(&four[0], from + 3 * p, 4), memcpy(&four[1], from + 3 * q, 4);
    memcpy(&four[2], from + 3 * r, 4), memcpy(&four[3], from + 3 * s, 4);
    memcpy(to + 3 * i, &four[0], 4), memcpy(to + 3 * i + 3, &four[1], 4);
    memcpy(to + 3 * i + 6, &four[2], 4), memcpy(to + 3 * i + 9, &four[3], 4);
  }
  take_things(to + 3 * i, 3, from, 3, first + i, count - i, 3);
}

static void take_line(char *to, int64_t to_step, const char *from, int64_t from_step, const int64_t *first,
                      int64_t count, int64_t bytes) {
  if (bytes == 3 && to_step == 3 && from_step == 3) {
    take_threes(to, from, first, count);
    return;
  }
  switch (bytes) {
  case 1: take_things(to, to_step, from, from_step, first, count, 1); break;
  case 2: take_things(to, to_step, from, from_step, first, count, 2); break;
  case 3: take_things(to, to_step, from, from_step, first, count, 3); break;
  case 4: take_things(to, to_step, from, from_step, first, count, 4); break;
  case 8: take_things(to, to_step, from, from_step, first, count, 8); break;
  default: take_things(to, to_step, from, from_step, first, count, bytes); break;
  }
}

/* Whole pixels if they are contiguous; repeated rows are copied. */
static void nearest(const work *w) {
  const fc_view *in = w->in, *out = w->out;
  const int64_t size = (int64_t)fc_dtype_size(out->dtype), width = out->shape[FC_AXIS_X];
  const int whole = fc_is_interleaved(in) && fc_is_interleaved(out);
  const int64_t channels = whole ? 1 : out->shape[FC_AXIS_C],
                bytes = whole ? size * out->shape[FC_AXIS_C] : size;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < channels; c++) {
        const int64_t row = w->ty.first[y] - in->origin[FC_AXIS_Y];
        char *to = fc_view_at(out, n, y, 0, c);
        if (whole && y > 0 && w->ty.first[y] == w->ty.first[y - 1])
          memcpy(to, fc_view_at(out, n, y - 1, 0, 0), (size_t)(width * bytes));
        else
          take_line(to, out->stride[FC_AXIS_X], fc_view_at(in, n, row, -in->origin[FC_AXIS_X], c),
                    in->stride[FC_AXIS_X], w->tx.first, width, bytes);
      }
}

fc_status fc_resample_cpu(const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch) {
  work w;
  if (is_empty(in, out)) return FC_OK;
  choose(&w, r, in, out);
  lay(&w, scratch);
  fill_tables(&w);
  if (r->filter == FC_RESAMPLE_NEAREST) {
    nearest(&w);
    return FC_OK;
  }
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c += w.channels)
      if (w.down_first)
        columns_first(&w, n, c);
      else
        rows_first(&w, n, c);
  return FC_OK;
}

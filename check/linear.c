/* SPDX-License-Identifier: MIT */
/*
 * linear.c - the numbers of FC_LINEAR without the engine: the outputs whose windows lie within the signal are
 * made from them, by the definition in plugin.h, and compared with process.
 */
#include "check/probes.h"

#include <math.h>
#include <string.h>

#include "check/compare.h"

/* Numbers of a map, and products of a case, to keep its time within limits. */
#define MOST_NUMBERS  ((gint64)1 << 22)
#define MOST_PRODUCTS 3e7

/* Differences, relative to the largest sum of magnitudes. */
#define NEAR_F32 1e-5
#define NEAR_F64 1e-11

/* ---- asking --------------------------------------------------------------------------- */

/* One call of describe; FALSE: there is none, or not with these arguments. */
static gboolean describe(trial *t, double *numbers, gint64 room, fc_linear_map *map) {
  const fc_linear *linear = t->op->extension ? t->op->extension(t->op, FC_LINEAR) : NULL;
  fc_format in = t->ins[0], out = t->out;
  const fc_format *ins[] = {&in};
  for (int a = FC_AXIS_N; a <= FC_AXIS_X; a++) in.extent[a] = out.extent[a] = FC_UNKNOWN;
  const fc_setup setup = {sizeof setup, FC_HOST, t->compute, 1, ins, &out};
  *map = (fc_linear_map){.size = sizeof *map, .room = room, .numbers = numbers};
  return linear && t->n_in == 1 && linear->describe(&t->host.base, t->self, &setup, map) == FC_OK;
}

static gint64 taps_of(const fc_linear_map *m) {
  return m->form == FC_LINEAR_DENSE ? m->nx * m->ny : m->nx + m->ny;
}

static gboolean is_axis_sound(gint64 taps, gint64 before, gint64 growth, const fc_reach *r, gint64 in,
                              gint64 out) {
  return taps >= 1 && taps <= MOST_NUMBERS && before >= 0 && before < taps && out == in + growth &&
         r->before == before && r->after == taps - 1 - before;
}

/* Whether its members are what they may be, and those of negotiate. */
static gboolean is_sound(const trial *t, const fc_linear_map *m) {
  const gint64 *in = t->ins[0].extent, *out = t->out.extent, channels = in[FC_AXIS_C];
  const fc_reach *reach = t->needs[0].reach;
  if (in[FC_AXIS_N] != out[FC_AXIS_N]) return FALSE;
  if (m->form == FC_LINEAR_PIXELS)
    return in[FC_AXIS_Y] == out[FC_AXIS_Y] && in[FC_AXIS_X] == out[FC_AXIS_X] && m->rows == out[FC_AXIS_C] &&
           m->columns == channels && m->count == m->rows * (m->columns + 1);
  return (m->form == FC_LINEAR_SEPARABLE || m->form == FC_LINEAR_DENSE) && channels == out[FC_AXIS_C] &&
         (m->masks == 1 || m->masks == channels) &&
         is_axis_sound(m->nx, m->before_x, m->growth_x, &reach[FC_AXIS_X], in[FC_AXIS_X], out[FC_AXIS_X]) &&
         is_axis_sound(m->ny, m->before_y, m->growth_y, &reach[FC_AXIS_Y], in[FC_AXIS_Y], out[FC_AXIS_Y]) &&
         m->count == m->masks * taps_of(m);
}

static gboolean is_finite(const fc_linear_map *m) {
  for (gint64 i = 0; i < m->count; i++)
    if (!isfinite(m->numbers[i])) return FALSE;
  return TRUE;
}

/* ---- sums ----------------------------------------------------------------------------- */

/* A sum of products, and of their magnitudes. */
typedef struct total {
  double sum, size;
} total;

static void add(total *to, double factor, double value) {
  to->sum += factor * value, to->size += fabs(factor * value);
}

static total pixel_at(const fc_linear_map *m, const double *pixel, gint64 row) {
  total t = {0, 0};
  for (gint64 c = 0; c < m->columns; c++) add(&t, m->numbers[row * m->columns + c], pixel[c]);
  add(&t, m->numbers[m->rows * m->columns + row], 1);
  return t;
}

/* Of the window whose first element this is, of one channel. */
static total window_at(const fc_linear_map *m, const double *first, gint64 channel, gint64 column,
                       gint64 row) {
  const double *mask = m->numbers + (m->masks > 1 ? channel : 0) * taps_of(m);
  total t = {0, 0};
  for (gint64 l = 0; l < m->ny; l++)
    for (gint64 k = 0; k < m->nx; k++)
      add(&t, m->form == FC_LINEAR_DENSE ? mask[l * m->nx + k] : mask[m->nx + l] * mask[k],
          first[l * row + k * column]);
  return t;
}

/* Output number i; FALSE: it reads beyond an end. */
static gboolean output_at(const trial *t, const fc_linear_map *m, const double *from, gint64 i, total *to) {
  const gint64 *in = t->ins[0].extent, *out = t->out.extent, column = in[FC_AXIS_C],
               row = in[FC_AXIS_X] * column;
  const gint64 channel = i % out[FC_AXIS_C], pixel = i / out[FC_AXIS_C];
  if (m->form == FC_LINEAR_PIXELS) {
    *to = pixel_at(m, from + pixel * column, channel);
    return TRUE;
  }
  const gint64 x = pixel % out[FC_AXIS_X] - m->before_x, line = pixel / out[FC_AXIS_X],
               y = line % out[FC_AXIS_Y] - m->before_y, n = line / out[FC_AXIS_Y];
  if (x < 0 || y < 0 || x + m->nx > in[FC_AXIS_X] || y + m->ny > in[FC_AXIS_Y]) return FALSE;
  *to = window_at(m, from + (n * in[FC_AXIS_Y] + y) * row + x * column + channel, channel, column, row);
  return TRUE;
}

/* ---- comparing -------------------------------------------------------------------------- */

static gboolean compare(const trial *t, const fc_linear_map *m, const source *signal, const result *r,
                        verdict *v) {
  const gsize size = fc_dtype_size(t->compute);
  const double near = t->compute == FC_F64 ? NEAR_F64 : NEAR_F32;
  g_autofree double *from = g_new(double, signal->count + 1), *off = g_new0(double, r->count + 1);
  double largest = 0;
  for (gint64 i = 0; i < signal->count; i++)
    from[i] = element_code(signal->codes + (gsize)i * signal->size, t->compute);
  for (gint64 i = 0; i < r->count; i++) {
    total made;
    if (!output_at(t, m, from, i, &made)) continue;
    off[i] = made.sum - element_code(r->codes + (gsize)i * size, t->compute);
    largest = fmax(largest, made.size);
  }
  for (gint64 i = 0; i < r->count; i++)
    if (!(fabs(off[i]) <= near * largest))
      return blame(v, FAULT_LINEAR,
                   "%s: element %" G_GINT64_FORMAT " is %.9g by process, %.9g by its numbers", t->who, i,
                   element_code(r->codes + (gsize)i * size, t->compute),
                   element_code(r->codes + (gsize)i * size, t->compute) + off[i]);
  return TRUE;
}

static void check_numbers(case_setting *s, trial *t, verdict *v) {
  const manner how = {.layout_in = LAYOUT_INTERLEAVED, .layout_out = LAYOUT_INTERLEAVED, .seed = s->c->seed};
  fc_linear_map map, again;
  result r;
  if (t->ins[0].dtype != t->compute || t->out.dtype != t->compute || !describe(t, NULL, 0, &map)) return;
  if (!is_sound(t, &map) || map.count < 1 || map.count > MOST_NUMBERS) {
    if (map.count <= MOST_NUMBERS)
      blame(v, FAULT_LINEAR, "%s: its map is not what linear/1 allows, or not what negotiate asks for",
            t->who);
    return;
  }
  const double each = map.form == FC_LINEAR_PIXELS ? (double)map.columns : (double)map.nx * (double)map.ny;
  g_autofree double *numbers = g_new0(double, map.count);
  if (!describe(t, numbers, map.count, &again) || again.numbers != numbers || again.count != map.count ||
      again.form != map.form || !is_sound(t, &again)) {
    blame(v, FAULT_LINEAR, "%s: its map is another one when it is asked again", t->who);
  } else if (!is_finite(&again)) {
    blame(v, FAULT_LINEAR, "%s: a number of its map is not finite", t->who);
  } else if ((double)s->signals[0].count * each < MOST_PRODUCTS) {
    if (trial_run(t, s->signals, &how, &r, v)) compare(t, &again, &s->signals[0], &r, v);
    result_free(&r);
  }
}

case_end case_linear(const test_case *c, char **sentence, verdict *v) {
  test_case mine = *c;
  case_setting s;
  trial t = {0};
  mine.in.dtype = mine.wanted = c->compute, mine.in.bits = c->compute == FC_F64 ? 53 : 24;
  mine.layout_in = mine.layout_out = LAYOUT_INTERLEAVED, mine.in.layout = FC_INTERLEAVED;
  mine.fill = FILL_RANDOM;
  if (!case_set(&s, &mine, sentence)) return CASE_REFUSED;
  case_end end = case_start(&s, &t, sentence, v);
  if (end == CASE_RAN) {
    case_fill(&s, &t);
    check_numbers(&s, &t, v);
  }
  trial_finish(&t, v);
  case_clear(&s);
  return v->fault == FAULT_NONE ? end : CASE_FAILED;
}

/* SPDX-License-Identifier: MIT */
/*
 * biquad.c - design, reference, and the loops of the vectorised version: tiles of time in which the channels
 * of a group are interleaved.
 */
#include "filters/recursive/biquad.h"

#include <math.h>
#include <string.h>

#include "filters/base/lines.h"
#include "filters/recursive/biquad_kernels.h"

#define LANES FC_BIQUAD_LANES
#define TILE  256 /* samples of time: 16 KiB of values; divides FC_BIQUAD_FLUSH */
#define PI    3.14159265358979323846

/* ---- design ------------------------------------------------------------------ */

typedef struct polynomials {
  double b[3], a[3];
} polynomials;

/* The shelves, whose polynomials are mirror images: `sign` 1 is the low one. */
static polynomials shelf(double sign, double c, double alpha, double amplitude) {
  double plus = amplitude + 1, minus = amplitude - 1, root = 2 * sqrt(amplitude) * alpha;
  return (polynomials){
      {amplitude * (plus - sign * minus * c + root), sign * 2 * amplitude * (minus - sign * plus * c),
       amplitude * (plus - sign * minus * c - root)},
      {plus + sign * minus * c + root, sign * -2 * (minus + sign * plus * c), plus + sign * minus * c - root},
  };
}

static polynomials polynomials_of(fc_biquad_form form, double c, double alpha, double amplitude) {
  const double up = 1 + alpha, down = 1 - alpha;
  switch (form) {
  case FC_BIQUAD_LOWPASS: return (polynomials){{(1 - c) / 2, 1 - c, (1 - c) / 2}, {up, -2 * c, down}};
  case FC_BIQUAD_HIGHPASS: return (polynomials){{(1 + c) / 2, -(1 + c), (1 + c) / 2}, {up, -2 * c, down}};
  case FC_BIQUAD_BAND: return (polynomials){{alpha, 0, -alpha}, {up, -2 * c, down}};
  case FC_BIQUAD_NOTCH: return (polynomials){{1, -2 * c, 1}, {up, -2 * c, down}};
  case FC_BIQUAD_PEAK:
    return (polynomials){{1 + alpha * amplitude, -2 * c, 1 - alpha * amplitude},
                         {1 + alpha / amplitude, -2 * c, 1 - alpha / amplitude}};
  case FC_BIQUAD_LOWSHELF: return shelf(1, c, alpha, amplitude);
  default: return shelf(-1, c, alpha, amplitude);
  }
}

fc_biquad_section fc_biquad_design(fc_biquad_form form, double frequency, double q, double gain) {
  double w = 2 * PI * frequency;
  polynomials p = polynomials_of(form, cos(w), sin(w) / (2 * q), sqrt(gain));
  return (fc_biquad_section){p.b[0] / p.a[0], p.b[1] / p.a[0], p.b[2] / p.a[0], p.a[1] / p.a[0],
                             p.a[2] / p.a[0]};
}

double fc_biquad_butterworth(int i, int sections) {
  return 1 / (2 * sin(PI * (2 * i + 1) / (4 * sections)));
}

/* The triangle of a1, a2 for which the roots of z^2 + a1 z + a2 are at most 1 in magnitude. */
int fc_biquad_is_stable(const fc_biquad_section *s) {
  return fabs(s->a2) <= 1 && fabs(s->a1) <= 1 + s->a2;
}

size_t fc_biquad_state_bytes(const fc_biquad *b, int64_t channels) {
  return (size_t)channels * (size_t)b->sections * 2 * sizeof(double);
}

/* ---- reference ------------------------------------------------------------ */

static double flushed(double s) {
  return fabs(s) < FC_BIQUAD_TINY ? 0 : s;
}

static double filter_sample(const fc_biquad *b, double x, double *state) {
  for (int i = 0; i < b->sections; i++) {
    const fc_biquad_section *s = &b->section[i];
    double *s1 = &state[2 * i], *s2 = &state[2 * i + 1], y = s->b0 * x + *s1;
    *s1 = (s->b1 * x - s->a1 * y) + *s2;
    *s2 = s->b2 * x - s->a2 * y;
    x = b->rounded >> i & 1 ? (double)(float)y : y;
  }
  return x;
}

static int is_sound(const fc_view *v) {
  return v->shape[FC_AXIS_N] == 1 && v->shape[FC_AXIS_Y] == 1;
}

fc_status fc_biquad_ref(const fc_biquad *b, const fc_view *in, const fc_view *out, void *state,
                        uint32_t *notes) {
  if (fc_view_count(out) > 0 && !is_sound(out)) return FC_UNSUPPORTED;
  for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) {
    double *mine = (double *)state + c * b->sections * 2;
    for (int64_t t = 0; t < out->shape[FC_AXIS_T]; t++) {
      double v;
      if ((out->origin[FC_AXIS_T] + t) % FC_BIQUAD_FLUSH == 0)
        for (int i = 0; i < 2 * b->sections; i++) mine[i] = flushed(mine[i]);
      fc_load_f64(&v, fc_view_at(in, 0, 0, t, c), 0, 1, in->kind, in->dtype);
      v = filter_sample(b, v, mine);
      fc_store_f64(fc_view_at(out, 0, 0, t, c), 0, &v, 1, out->kind, out->dtype, notes);
    }
  }
  return FC_OK;
}

/* ---- vectorised ------------------------------------------------------------- */

size_t fc_biquad_scratch(void) {
  return (2 * TILE * LANES + FC_BIQUAD_MOST * 2 * LANES) * sizeof(double);
}

typedef struct group {
  const fc_biquad *b;
  const fc_view *in, *out;
  int64_t first;                /* channel */
  int lanes;                    /* number of channels in the group; other lanes are 0 */
  double *row, *values, *state; /* scratch; state is [section][2][LANES] */
  uint32_t *notes;
} group;

/* Converts between [channel][section][2] and the lanes. */
static void move_state(const group *g, double *state, int out) {
  for (int l = 0; l < g->lanes; l++)
    for (int i = 0; i < 2 * g->b->sections; i++) {
      double *there = &state[(g->first + l) * g->b->sections * 2 + i], *here = &g->state[i * LANES + l];
      if (out)
        *there = *here;
      else
        *here = *there;
    }
}

/* Whether the group has all channels and they are interleaved: then they are loaded and stored together. */
static int lies_together(const group *g, const fc_view *v) {
  return g->lanes == v->shape[FC_AXIS_C] && fc_is_interleaved(v);
}

/* Into frames of `width` values; without rearranging if that is the number of channels. */
static void load_lanes(const group *g, int64_t t, int64_t count, int width) {
  const fc_view *in = g->in;
  const int together = lies_together(g, in), step = together ? g->lanes : 1, dense = width == g->lanes;
  const int64_t size = (int64_t)fc_dtype_size(in->dtype);
  if (together) {
    fc_load_f64(dense ? g->values : g->row, fc_view_at(in, 0, 0, t, 0), size, count * step, in->kind,
                in->dtype);
    if (dense) return;
  }
  for (int l = 0; l < g->lanes; l++) {
    const double *row = together ? g->row + l : g->row;
    if (!together)
      fc_load_f64(g->row, fc_view_at(in, 0, 0, t, g->first + l), in->stride[FC_AXIS_T], count, in->kind,
                  in->dtype);
    for (int64_t i = 0; i < count; i++) g->values[i * width + l] = row[i * step];
  }
}

static void store_lanes(const group *g, int64_t t, int64_t count, int width) {
  const fc_view *out = g->out;
  const int together = lies_together(g, out), step = together ? g->lanes : 1, dense = width == g->lanes;
  for (int l = 0; l < g->lanes && !(together && dense); l++) {
    double *row = together ? g->row + l : g->row;
    for (int64_t i = 0; i < count; i++) row[i * step] = g->values[i * width + l];
    if (!together)
      fc_store_f64(fc_view_at(out, 0, 0, t, g->first + l), out->stride[FC_AXIS_T], g->row, count, out->kind,
                   out->dtype, g->notes);
  }
  if (together)
    fc_store_f64(fc_view_at(out, 0, 0, t, 0), (int64_t)fc_dtype_size(out->dtype), dense ? g->values : g->row,
                 count * step, out->kind, out->dtype, g->notes);
}

/* With few channels, vectors are filled with sections. */
static int by_sections(const group *g) {
  return g->lanes <= 2 && g->b->sections > 2;
}

static void filter_tile(const group *g, int64_t t, int64_t count) {
  const fc_biquad_kernels *kernels = FC_ISA_PICK(fc_biquad_kernels, g->b->isa);
  const fc_biquad_section *section = g->b->section;
  const int rows = by_sections(g), width = rows ? g->lanes : LANES, all = g->b->sections;
  if ((g->out->origin[FC_AXIS_T] + t) % FC_BIQUAD_FLUSH == 0)
    for (int i = 0; i < 2 * all * LANES; i++) g->state[i] = flushed(g->state[i]);
  load_lanes(g, t, count, width);
  if (rows) {
    const int most = kernels->row_lanes / g->lanes, passes = (all + most - 1) / most;
    for (int k = 0, s = 0, n; k < passes; k++, s += n) {
      n = (all - s + passes - k - 1) / (passes - k);
      kernels->row(g->values, count, g->lanes, section + s, n, g->b->rounded >> s, g->state + s * 2 * LANES);
    }
  } else {
    for (int s = 0; s < all; s += 2)
      (s + 1 < all ? kernels->two : kernels->one)(g->values, count, section + s, g->b->rounded >> s,
                                                  g->state + s * 2 * LANES);
  }
  store_lanes(g, t, count, width);
}

fc_status fc_biquad_cpu(const fc_biquad *b, const fc_view *in, const fc_view *out, void *state, void *scratch,
                        uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (!is_sound(out)) return FC_UNSUPPORTED;
  group g = {.b = b, .in = in, .out = out, .row = scratch, .notes = notes};
  g.values = g.row + TILE * LANES, g.state = g.values + TILE * LANES;
  const int64_t channels = out->shape[FC_AXIS_C], length = out->shape[FC_AXIS_T];
  for (; g.first < channels; g.first += LANES) {
    g.lanes = (int)(channels - g.first < LANES ? channels - g.first : LANES);
    memset(g.values, 0, (TILE * LANES + FC_BIQUAD_MOST * 2 * LANES) * sizeof(double));
    move_state(&g, state, 0);
    for (int64_t t = 0, count; t < length; t += count) {
      count = TILE - (out->origin[FC_AXIS_T] + t) % TILE;
      if (count > length - t) count = length - t;
      filter_tile(&g, t, count);
    }
    move_state(&g, state, 1);
  }
  return FC_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * polyphase.c - design, reference, and the loops of the vectorised version: tiles of outputs, two channels at
 * a time, whose input is converted once into lines of scratch.
 */
#include "filters/polyphase/polyphase.h"

#include <math.h>

#include "filters/fourier/window.h"
#include "filters/polyphase/polyphase_kernels.h"

#define PI 3.14159265358979323846

/* Outputs of a tile, and input samples that it spans in addition to its taps: lines of both fit a
 * second-level cache with the table. */
#define TILE 1024
#define SPAN 2048

#define TABLE_MOST ((int64_t)1 << 24)
#define RATIO_MOST ((int64_t)1 << 31)

/* ---- design ------------------------------------------------------------------ */

/* Some dB more than promised, since Kaiser's formulas are approximations. `phases`: number of rows for
 * which the error of linear interpolation, (pi / phases)^2 / 8, is below the stopband. */
typedef struct grade {
  double pass, attenuation;
  int64_t phases;
} grade;
static const grade grades[] = {{0.80, 65, 128}, {0.88, 84, 256}, {0.91, 104, 512}, {0.95, 127, 2048}};

static int64_t common_factor(int64_t a, int64_t b) {
  while (b > 0) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* Rates as integers in Hz, or in thousandths of a Hz. */
static fc_status ratio_of(double from, double to, fc_polyphase *r) {
  for (double unit = 1; unit <= 1000; unit *= 1000) {
    const double a = rint(from * unit), b = rint(to * unit);
    if (!(a >= 1 && b >= 1 && a < 1e15 && b < 1e15)) continue;
    if (fabs(a - from * unit) > 1e-9 * a || fabs(b - to * unit) > 1e-9 * b) continue;
    const int64_t factor = common_factor((int64_t)a, (int64_t)b);
    r->up = (int64_t)b / factor, r->down = (int64_t)a / factor;
    return r->up < RATIO_MOST && r->down < RATIO_MOST ? FC_OK : FC_INVALID;
  }
  return FC_INVALID;
}

fc_status fc_polyphase_design(double from, double to, fc_polyphase_quality quality, fc_polyphase *r) {
  const grade *g = &grades[quality];
  *r = (fc_polyphase){.up = 1, .down = 1};
  const fc_status status = ratio_of(from, to, r);
  if (status != FC_OK) return status;
  const double scale = r->up < r->down ? (double)r->up / (double)r->down : 1;
  r->stop = 0.5 * scale, r->pass = r->stop * g->pass;
  r->beta = 0.1102 * (g->attenuation - 8.7);
  const double length = (g->attenuation - 7.95) / (14.36 * (r->stop - r->pass)) + 1;
  if (length > (double)TABLE_MOST) return FC_UNSUPPORTED;
  r->taps = ((int64_t)ceil(length) + FC_POLYPHASE_LANES - 1) / FC_POLYPHASE_LANES * FC_POLYPHASE_LANES;
  if (r->up == r->down) r->taps = FC_POLYPHASE_LANES; /* of which one is 1 */
  r->before = r->taps / 2 - 1;
  r->phases = r->up;
  if (r->up > FC_POLYPHASE_PHASES) /* a wider sinc needs fewer rows */
    for (r->phases = g->phases; r->phases > 16 && (double)r->phases > 2 * (double)g->phases * scale;)
      r->phases /= 2;
  return (r->phases + 1) * r->taps > TABLE_MOST ? FC_UNSUPPORTED : FC_OK;
}

size_t fc_polyphase_table_bytes(const fc_polyphase *r) {
  return (size_t)(r->phases + 1) * (size_t)r->taps * fc_dtype_size(r->compute);
}

/* h, `at` samples from its centre, except for a factor. With equal rates there is nothing to filter. */
static double impulse(const fc_polyphase *r, double at) {
  if (r->up == r->down) return fabs(at) < 0.5;
  const double turns = r->pass + r->stop, x = at / (0.5 * (double)r->taps), angle = PI * turns * at;
  if (fabs(x) > 1) return 0;
  return (at == 0 ? 1 : sin(angle) / angle) * fc_bessel_i0(r->beta * sqrt(1 - x * x));
}

static void put(const fc_polyphase *r, void *table, int64_t row, int64_t tap, double v) {
  const int64_t i = row * r->taps + tap;
  if (r->compute == FC_F64)
    ((double *)table)[i] = v;
  else
    ((float *)table)[i] = (float)v;
}

/* Rows p and phases - p are mirror images. */
void fc_polyphase_fill(const fc_polyphase *r, void *table) {
  for (int64_t p = 0; p <= r->phases / 2; p++) {
    const double fraction = (double)p / (double)r->phases;
    double sum = 0;
    for (int64_t j = 0; j < r->taps; j++) sum += impulse(r, (double)(j - r->before) - fraction);
    for (int64_t j = 0; j < r->taps; j++) {
      const double v = impulse(r, (double)(j - r->before) - fraction) / sum;
      put(r, table, p, j, v);
      put(r, table, r->phases - p, r->taps - 1 - j, v);
    }
  }
}

/* ---- positions ---------------------------------------------------------------- */

/* floor(o * down / up), and the remainder in 1/up; o is split so that nothing overflows. */
static int64_t position(const fc_polyphase *r, int64_t o, int64_t *fraction) {
  const int64_t rounds = o / r->up, t = o % r->up * r->down;
  if (fraction) *fraction = t % r->up;
  return rounds * r->down + t / r->up;
}

int64_t fc_polyphase_length(const fc_polyphase *r, int64_t length) {
  const int64_t rounds = length / r->down, rest = length % r->down;
  return rounds * r->up + (rest * r->up + r->down - 1) / r->down;
}

static int is_sound(const fc_view *v) {
  return v->shape[FC_AXIS_N] == 1 && v->shape[FC_AXIS_Y] == 1;
}

/* ---- reference ------------------------------------------------------------ */

static double tap_at(const fc_polyphase *r, int64_t row, int64_t tap) {
  const int64_t i = row * r->taps + tap;
  return r->compute == FC_F64 ? ((const double *)r->table)[i] : (double)((const float *)r->table)[i];
}

static double tap_of(const fc_polyphase *r, int64_t fraction, int64_t tap) {
  if (r->phases == r->up) return tap_at(r, fraction, tap);
  const int64_t scaled = fraction * r->phases, row = scaled / r->up;
  const double a = tap_at(r, row, tap), b = tap_at(r, row + 1, tap);
  return a + (b - a) * ((double)(scaled % r->up) / (double)r->up);
}

fc_status fc_polyphase_ref(const fc_polyphase *r, const fc_view *in, const fc_view *out, uint32_t *notes) {
  if (fc_view_count(out) > 0 && !is_sound(out)) return FC_UNSUPPORTED;
  const int64_t origin = out->origin[FC_AXIS_T], first = position(r, origin, NULL);
  for (int64_t o = 0; o < out->shape[FC_AXIS_T]; o++) {
    int64_t fraction;
    const int64_t from = position(r, origin + o, &fraction) - first - r->before;
    for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) {
      double sum = 0, v;
      for (int64_t j = 0; j < r->taps; j++) {
        fc_load_f64(&v, fc_view_at(in, 0, 0, from + j, c), 0, 1, in->kind, in->dtype);
        sum += tap_of(r, fraction, j) * v;
      }
      const float rounded = (float)sum;
      fc_store(fc_view_at(out, 0, 0, o, c), 0, r->compute == FC_F64 ? (const void *)&sum : &rounded,
               r->compute, 1, out->kind, out->dtype, notes);
    }
  }
  return FC_OK;
}

/* ---- vectorised ------------------------------------------------------------- */

/* Input that a tile spans besides the taps of its last output: more of it with many taps, since the inputs
 * of tiles overlap by them. */
static int64_t span_of(const fc_polyphase *r) {
  return 2 * r->taps > SPAN ? 2 * r->taps : SPAN;
}

size_t fc_polyphase_scratch(const fc_polyphase *r) {
  const int64_t values = r->taps + span_of(r) + TILE;
  return (size_t)(FC_POLYPHASE_TOGETHER * values) * fc_dtype_size(r->compute);
}

typedef struct tile {
  const fc_polyphase *r;
  const fc_view *in, *out;
  int64_t channel, o, count; /* of the outputs */
  int channels;
  char *input, *output; /* scratch: lines, `pitch` and TILE apart */
  int64_t pitch;
  uint32_t *notes;
} tile;

static void filter_tile(const tile *t) {
  const fc_polyphase *r = t->r;
  const fc_polyphase_kernels *kernels = FC_ISA_PICK(fc_polyphase_kernels, r->isa);
  const fc_view *in = t->in, *out = t->out;
  const int64_t origin = out->origin[FC_AXIS_T], size = (int64_t)fc_dtype_size(r->compute);
  int64_t fraction;
  const int64_t from = position(r, origin + t->o, &fraction);
  const int64_t length = position(r, origin + t->o + t->count - 1, NULL) - from + r->taps;
  const int64_t at = from - position(r, origin, NULL) - r->before;
  for (int c = 0; c < t->channels; c++)
    fc_load(t->input + c * t->pitch * size, r->compute, fc_view_at(in, 0, 0, at, t->channel + c),
            in->stride[FC_AXIS_T], length, in->kind, in->dtype);
  if (r->compute == FC_F64)
    kernels->f64(r, (const double *)(const void *)t->input, t->pitch, (double *)(void *)t->output, TILE,
                 t->channels, fraction, t->count);
  else
    kernels->f32(r, (const float *)(const void *)t->input, t->pitch, (float *)(void *)t->output, TILE,
                 t->channels, fraction, t->count);
  for (int c = 0; c < t->channels; c++)
    fc_store(fc_view_at(out, 0, 0, t->o, t->channel + c), out->stride[FC_AXIS_T], t->output + c * TILE * size,
             r->compute, t->count, out->kind, out->dtype, t->notes);
}

fc_status fc_polyphase_cpu(const fc_polyphase *r, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (!is_sound(out)) return FC_UNSUPPORTED;
  const int64_t channels = out->shape[FC_AXIS_C], length = out->shape[FC_AXIS_T], span = span_of(r);
  const int64_t fits = span * r->up / r->down, step = fits < 1 ? 1 : fits < TILE ? fits : TILE;
  tile t = {.r = r, .in = in, .out = out, .input = scratch, .pitch = r->taps + span, .notes = notes};
  t.output = t.input + FC_POLYPHASE_TOGETHER * t.pitch * (int64_t)fc_dtype_size(r->compute);
  for (t.o = 0; t.o < length; t.o += step) {
    t.count = length - t.o < step ? length - t.o : step;
    for (t.channel = 0; t.channel < channels; t.channel += t.channels) {
      t.channels = channels - t.channel < FC_POLYPHASE_TOGETHER ? 1 : FC_POLYPHASE_TOGETHER;
      filter_tile(&t);
    }
  }
  return FC_OK;
}

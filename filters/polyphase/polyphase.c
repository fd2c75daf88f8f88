/* SPDX-License-Identifier: MIT */
/*
 * polyphase.c - design, reference, and the loops of the vectorised version, which sums short periods as
 * products of matrices, and outputs one by one where a period is long or taps are interpolated.
 */
#include "filters/polyphase/polyphase.h"

#include <math.h>
#include <string.h>

#include "filters/fourier/window.h"
#include "filters/polyphase/polyphase_kernels.h"

#define PI 3.14159265358979323846

#define TABLE_MOST    ((int64_t)1 << 24)
#define RATIO_MOST    ((int64_t)1 << 31)
#define MINIMUM(a, b) ((a) < (b) ? (a) : (b))
#define MAXIMUM(a, b) ((a) > (b) ? (a) : (b))

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

/* ---- vectorised: by periods -------------------------------------------------- */

/* Outputs, and samples, that a period may have; the values that a matrix of samples should have; channels
 * that are summed together; values that are converted at a time, at least. */
#define PERIOD_MOST 2048
#define SHEET       16384
#define CHANNELS    8
#define AT_ONCE     512
/* Columns of a sheet that are written together, at least. */
#define COLUMNS 8

/* A period of the output, or of less than 32 outputs several, so that these are whole groups. */
typedef struct period {
  int64_t outputs, samples, at_once; /* at_once: periods that are converted together */
} period;

static period period_of(const fc_polyphase *r) {
  const int64_t several = r->up < 32 ? FC_POLYPHASE_OUTPUTS / common_factor(r->up, FC_POLYPHASE_OUTPUTS) : 1;
  period p = {r->up * several, r->down * several, COLUMNS};
  while (p.at_once * MAXIMUM(p.outputs, p.samples) < AT_ONCE) p.at_once++;
  return p;
}

static int is_periodic(const fc_polyphase *r) {
  const period p = period_of(r);
  return r->phases == r->up && p.outputs <= PERIOD_MOST && p.samples <= PERIOD_MOST;
}

/* Pitches that are multiples of a cache line. */
static fc_polyphase_sheet sheet_of(const fc_polyphase *r, const period *p, int64_t channels) {
  const int64_t width = SHEET / p->samples / 64 * 64, following = (r->taps / p->samples + 2) * channels;
  fc_polyphase_sheet s = {p->samples, channels, MINIMUM(MAXIMUM(width, 64), 1024), 0};
  s.pitch = s.width + (following + 15) / 16 * 16;
  return s;
}

typedef struct sheets {
  const fc_polyphase *r;
  const fc_view *in, *out;
  period period;
  fc_polyphase_sheet sheet;
  int64_t channel;                /* the first of those that are summed together */
  int64_t base;                   /* the output, a group's first, where the first period begins */
  int64_t skipped;                /* outputs from there to the view's first */
  int64_t o, periods;             /* of this tile: outputs from `base` on, and how many periods there are */
  size_t size;                    /* of an element of the compute type */
  char *samples, *outputs, *line; /* scratch */
  uint32_t *notes;
} sheets;

static size_t sheet_scratch(const fc_polyphase *r) {
  const period p = period_of(r);
  const fc_polyphase_sheet s = sheet_of(r, &p, CHANNELS);
  const int64_t line = p.at_once * MAXIMUM(p.samples, p.outputs) * CHANNELS;
  return (size_t)(s.rows * s.pitch + p.outputs * s.width + line) * fc_dtype_size(r->compute);
}

/* Between a line of `periods` periods and columns of a sheet: elements of `size` bytes, a few columns at a
 * time, since that is a cache line of the sheet. Strides are in bytes: of elements of a period, and of
 * periods. */
static void transpose(char *to, int64_t to_stride, int64_t to_period, const char *from, int64_t from_stride,
                      int64_t from_period, int64_t count, int64_t periods, size_t size) {
#define COPY(bytes, columns)                                                                                 \
  for (int64_t i = 0; i < count; i++)                                                                        \
    for (int64_t m = 0; m < (columns); m++)                                                                  \
  memcpy(to + i * to_stride + m * to_period, from + i * from_stride + m * from_period, bytes)
  for (; periods > 0; periods -= COLUMNS, to += COLUMNS * to_period, from += COLUMNS * from_period)
    if (periods >= COLUMNS && size == 4)
      COPY(4, COLUMNS);
    else if (periods >= COLUMNS && size == 8)
      COPY(8, COLUMNS);
    else
      COPY(size, MINIMUM(periods, COLUMNS));
#undef COPY
}

/* Whether the channels that are summed together are all there are, adjacent, and frames as well. */
static int is_dense(const sheets *t, const fc_view *v) {
  const int64_t size = (int64_t)fc_dtype_size(v->dtype), channels = t->sheet.channels;
  return v->shape[FC_AXIS_C] == channels && (channels == 1 || v->stride[FC_AXIS_C] == size) &&
         v->stride[FC_AXIS_T] == channels * size;
}

/* The samples of `count` periods from the m-th of the tile on into their columns, and silence where the view
 * has none. */
static void load_periods(const sheets *t, int64_t m, int64_t count) {
  const fc_polyphase_sheet *s = &t->sheet;
  const fc_view *in = t->in;
  const int64_t origin = t->out->origin[FC_AXIS_T], frames = count * s->rows,
                first = position(t->r, origin, NULL);
  const int64_t at = position(t->r, t->base + t->o, NULL) - first - t->r->before + m * s->rows;
  const int64_t end =
      position(t->r, origin + t->out->shape[FC_AXIS_T] - 1, NULL) - first - t->r->before + t->r->taps;
  const int64_t from = MAXIMUM(at, -t->r->before), to = MAXIMUM(MINIMUM(at + frames, end), from);
  const int dense = is_dense(t, in);
  const int64_t size = (int64_t)t->size, lines = dense ? 1 : s->channels, together = s->channels / lines;
  const size_t element = (size_t)together * t->size;
  for (int64_t c = 0; c < lines; c++) {
    if (to - from < frames) memset(t->line, 0, (size_t)frames * element);
    if (to > from)
      fc_load(t->line + (size_t)(from - at) * element, t->r->compute,
              fc_view_at(in, 0, 0, from, t->channel + c),
              dense ? (int64_t)fc_dtype_size(in->dtype) : in->stride[FC_AXIS_T], (to - from) * together,
              in->kind, in->dtype);
    transpose(t->samples + (size_t)(m * s->channels + c) * t->size, s->pitch * size, s->channels * size,
              t->line, (int64_t)element, s->rows * (int64_t)element, s->rows, count, element);
  }
}

/* Of the same periods, the outputs that the view has. */
static void store_periods(const sheets *t, int64_t m, int64_t count) {
  const fc_polyphase_sheet *s = &t->sheet;
  const fc_view *out = t->out;
  const int64_t outputs = t->period.outputs, at = t->o + m * outputs - t->skipped;
  const int64_t from = MAXIMUM(at, 0), to = MINIMUM(at + count * outputs, out->shape[FC_AXIS_T]);
  const int dense = is_dense(t, out);
  const int64_t size = (int64_t)t->size, lines = dense ? 1 : s->channels, together = s->channels / lines;
  const size_t element = (size_t)together * t->size;
  for (int64_t c = 0; c < lines; c++) {
    transpose(t->line, (int64_t)element, outputs * (int64_t)element,
              t->outputs + (size_t)(m * s->channels + c) * t->size, s->width * size, s->channels * size,
              outputs, count, element);
    fc_store(fc_view_at(out, 0, 0, from, t->channel + c),
             dense ? (int64_t)fc_dtype_size(out->dtype) : out->stride[FC_AXIS_T],
             t->line + (size_t)(from - at) * element, t->r->compute, (to - from) * together, out->kind,
             out->dtype, t->notes);
  }
}

static void filter_sheet(const sheets *t, int64_t wanted) {
  const fc_polyphase *r = t->r;
  const fc_polyphase_kernels *kernels = FC_ISA_PICK(fc_polyphase_kernels, r->isa);
  const int64_t first = position(r, t->base, NULL), columns = t->periods * t->sheet.channels;
  for (int64_t i = 0; i < wanted;) {
    const int64_t left = t->period.outputs - (t->base + i) % t->period.outputs;
    fc_polyphase_group g = {.outputs = (int)MINIMUM(left, FC_POLYPHASE_OUTPUTS)};
    for (int o = 0; o < g.outputs; o++) {
      int64_t fraction;
      g.row[o] = position(r, t->base + i + o, &fraction) - first;
      g.taps[o] = (const char *)r->table + (size_t)(fraction * r->taps) * t->size;
    }
    char *to = t->outputs + (size_t)(i * t->sheet.width) * t->size;
    if (r->compute == FC_F64)
      kernels->group_f64(&t->sheet, &g, r->taps, (const double *)(const void *)t->samples,
                         (double *)(void *)to, columns);
    else
      kernels->group_f32(&t->sheet, &g, r->taps, (const float *)(const void *)t->samples, (float *)(void *)to,
                         columns);
    i += g.outputs;
  }
}

static void filter_sheets(sheets *t) {
  const fc_polyphase_sheet *s = &t->sheet;
  const int64_t end = t->skipped + t->out->shape[FC_AXIS_T], outputs = t->period.outputs,
                some = t->period.at_once;
  const int64_t most = s->width / s->channels, following = (s->pitch - s->width) / s->channels;
  memset(t->samples, 0, (size_t)(s->rows * s->pitch) * t->size);
  for (t->o = 0; t->o < end; t->o += most * outputs) {
    const int64_t left = end - t->o, periods = MINIMUM((left + outputs - 1) / outputs, most);
    t->periods = periods;
    for (int64_t m = 0; m < periods + following; m += some)
      load_periods(t, m, MINIMUM(some, periods + following - m));
    filter_sheet(t, MINIMUM(left, outputs));
    for (int64_t m = 0; m < periods; m += some) store_periods(t, m, MINIMUM(some, periods - m));
  }
}

static void run_by_periods(const fc_polyphase *r, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
  sheets t = {.r = r,
              .in = in,
              .out = out,
              .period = period_of(r),
              .size = fc_dtype_size(r->compute),
              .notes = notes};
  const int64_t origin = out->origin[FC_AXIS_T], channels = out->shape[FC_AXIS_C];
  t.skipped = origin % t.period.outputs % FC_POLYPHASE_OUTPUTS, t.base = origin - t.skipped;
  for (; t.channel < channels; t.channel += t.sheet.channels) {
    t.sheet = sheet_of(r, &t.period, MINIMUM(channels - t.channel, CHANNELS));
    t.samples = scratch;
    t.outputs = t.samples + (size_t)(t.sheet.rows * t.sheet.pitch) * t.size;
    t.line = t.outputs + (size_t)(t.period.outputs * t.sheet.width) * t.size;
    filter_sheets(&t);
  }
}

/* ---- vectorised: outputs one by one ----------------------------------------- */

/* Outputs of a tile, and input samples that it spans in addition to its taps: lines of both fit a
 * second-level cache with the table. */
#define TILE 1024
#define SPAN 2048

/* Input that a tile spans besides the taps of its last output: more of it with many taps, since the inputs
 * of tiles overlap by them. */
static int64_t span_of(const fc_polyphase *r) {
  return 2 * r->taps > SPAN ? 2 * r->taps : SPAN;
}

static size_t tile_scratch(const fc_polyphase *r) {
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

static void run_one_by_one(const fc_polyphase *r, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
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
}

/* ---- vectorised --------------------------------------------------------------- */

size_t fc_polyphase_scratch(const fc_polyphase *r) {
  return is_periodic(r) ? sheet_scratch(r) : tile_scratch(r);
}

fc_status fc_polyphase_cpu(const fc_polyphase *r, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (!is_sound(out)) return FC_UNSUPPORTED;
  if (is_periodic(r))
    run_by_periods(r, in, out, scratch, notes);
  else
    run_one_by_one(r, in, out, scratch, notes);
  return FC_OK;
}

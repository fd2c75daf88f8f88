/* SPDX-License-Identifier: MIT */
/*
 * trials.h - random compositions, with views and samples for them (test_emulated.c).
 */
#ifndef FC_TESTS_TRIALS_H
#define FC_TESTS_TRIALS_H

#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "core/compose/compose.h"
#include "core/compose/prefilter.h"
#include "core/base/demand.h"
#include "core/contract/rows_table.h"
#include "filters/conv1d/conv1d_overlap.h"
#include "filters/winstat/winstat.h"
#include "tests/device/chains_of_functions.h"

enum { MOST_STAGES = 4, AROUND = 64 };

/* One of several windows. */
typedef struct seen {
  fc_device_function f;
  char entry[FC_FUNCTION_ENTRY];
  float taps[FC_FUNCTION_BYTES / sizeof(float)];
  int nx, ny, statistic; /* -1: sums */
  gboolean dense;
} seen;

typedef struct trial {
  seen series[MOST_STAGES]; /* by stage, where t->what.windows > 1, and of a prefilter */
  stage stages[MOST_STAGES];
  fc_compose_stage described[MOST_STAGES];
  guint n, rounding;
  fc_composition what;
  guint32 notes[FC_NOTES]; /* of what is rounded */
  fc_device_function window;
  char entry[FC_FUNCTION_ENTRY];
  float taps[FC_FUNCTION_BYTES / sizeof(float)];
  double wide[FC_FUNCTION_BYTES / sizeof(double)]; /* the same, in double */
  int nx, ny;
  gboolean dense, sharpened, box, codes; /* codes: that is what the window sees */
  gboolean loud;                         /* integers at the ends of their range */
  gboolean sums, shrinks;                /* a box of sums of floats, or of squares; a box, cut at the ends */
  int statistic;                         /* fc_winstat_stat, or -1 */
  float *line[8];                        /* what the window sees of a line, channel by channel, from -nx on */
  gint64 line_n, line_y;
  fc_conv1d_overlap overlap; /* transforms; n 0: none */
  fc_conv1d filter;
  float *mask, *made[8]; /* by transforms: taps; of a line, its outputs from 0 on */
  guint8 *tables;
  fc_view in, out;
  guint8 *in_memory, *out_memory;
  gsize in_bytes, out_bytes;
  guint8 *guarded; /* the input again, beside a page that cannot be read */
  gsize guarded_bytes;
  fc_composed launch;
  guint processors;
  char *text;
} trial;

static GRand *numbers;
static const char *seed_text;

static int pick(int from, int to) {
  return g_rand_int_range(numbers, from, to);
}
static double real(double low, double high) {
  return g_rand_double_range(numbers, low, high);
}

/* ---- chains ---------------------------------------------------------------------- */

static void make_stage(stage *s, stage_kind kind, gint64 channels, double unit) {
  *s = (stage){.kind = kind, .dtype = FC_F32, .in = channels, .out = channels};
  s->op.factor = real(-1.5, 1.5), s->op.from = unit * real(-1, 1), s->op.to = unit * real(-1, 1);
  s->op.low = unit * real(-1, 0.2), s->op.high = unit * real(0.3, 1.2);
  for (int i = 0; i < 16; i++) s->matrix[i] = real(-0.9, 0.9);
  for (int i = 0; i < 4; i++) s->offset[i] = unit * real(-0.2, 0.2);
  stage_set_curve(s, unit, real(0, 1));
  stage_set_color(s, unit, pick(0, 100), pick(0, 100));
  if (kind == MATRIX) s->out = pick(1, 5);
  if (kind == MIX) s->order = pick(0, channels == 4 ? G_N_ELEMENTS(stage_mixes) : 4);
}

static void make_window(trial *t, guint at, int kind, double unit) {
  t->nx = pick(1, 10), t->ny = pick(1, 8), t->dense = pick(0, 2);
  if (!t->dense && pick(0, 2) == 0) t->nx = pick(10, 32), t->ny = pick(1, 32);
  if (kind == FC_AUDIO || pick(0, 3) == 0) t->nx = pick(1, pick(0, 3) ? 40 : 129), t->ny = 1, t->dense = TRUE;
  if (kind != FC_AUDIO && pick(0, 2) == 0) /* many taps, in several rows or in one column */
    t->nx = pick(0, 2) ? pick(6, 14) : 1, t->ny = t->nx > 1 ? pick(5, 14) : pick(25, 50), t->dense = TRUE;
  if (kind != FC_AUDIO && pick(0, 3) == 0) /* summed in runs */
    t->nx = pick(12, 24), t->ny = 257 / t->nx + pick(1, 6), t->dense = TRUE;
  t->sharpened = !t->dense && pick(0, 3);
  const int count = t->dense ? t->nx * t->ny : t->nx + t->ny;
  const gboolean positive = pick(0, 2);
  for (int i = 0; i < count; i++) t->taps[i] = (float)real(positive ? 0 : -0.5, positive ? 1.2 / count : 0.6);
  const char *what = t->dense ? "fc_dense" : t->sharpened ? "fc_sharpened" : "fc_separable";
  g_snprintf(t->entry, sizeof t->entry, "%s<%d,%d>", what, t->nx, t->ny);
  const float amount = (float)real(-2, 3), threshold = pick(0, 2) ? (float)(unit * real(0, 0.3)) : 0;
  if (t->sharpened) t->taps[count] = amount, t->taps[count + 1] = threshold;
  t->window = (fc_device_function){
      .size = sizeof t->window,
      .flags = FC_FUNCTION_WINDOW | (positive && !t->sharpened ? FC_FUNCTION_NONNEGATIVE : 0),
      .source = t->sharpened ? FC_FUNCTION_SHARPENED_TEXT : FC_FUNCTION_WINDOW_TEXT,
      .entry = t->entry,
      .bytes = t->taps,
      .n_bytes = (guint32)(count + (t->sharpened ? 2 : 0)) * 4,
      .align = 4,
      .low = 1,
      .growth = 1,
      .window_x = (guint32)t->nx,
      .window_y = (guint32)t->ny};
  for (int part = 0; part < (t->dense ? 1 : 2); part++) {
    double sum = 0;
    for (int i = part ? t->nx : 0; i < (t->dense || part ? count : t->nx); i++) sum += fabs(t->taps[i]);
    t->window.growth *= sum;
  }
  if (t->sharpened) t->window.growth = 1 + fabs((double)amount) * (1 + t->window.growth);
  t->described[at].function = &t->window;
  t->described[at].name = "window";
  t->what.window = at;
}

/* A function of neighbours: a sum as of fc_dense; `selects`: the last of them. */
static void make_around(trial *t, guint at, gboolean selects) {
  const gboolean single = t->what.compute == FC_F32;
  make_window(t, at, FC_IMAGE, 1);
  t->nx = pick(1, pick(0, 3) ? 6 : 32), t->ny = pick(1, 9), t->dense = TRUE, t->sharpened = FALSE;
  for (int i = 0; i < t->nx * t->ny; i++) t->taps[i] = (float)real(-0.2, 0.6), t->wide[i] = t->taps[i];
  g_snprintf(t->entry, sizeof t->entry, "%s<%d,%d>", selects ? "last" : "sum", t->nx, t->ny);
  fc_device_function *f = &t->window;
  f->flags = FC_FUNCTION_WINDOW | FC_FUNCTION_AROUND | (selects ? FC_FUNCTION_SELECTS : 0),
  f->source = around_text;
  f->bytes = single ? (void *)t->taps : t->wide, f->align = (guint32)fc_dtype_size(t->what.compute);
  f->n_bytes = selects ? 0 : (guint32)(t->nx * t->ny) * f->align;
  f->growth = pick(0, 2) ? -1 : 0.6 * t->nx * t->ny;
  f->window_x = (guint32)t->nx, f->window_y = (guint32)t->ny;
  t->described[at].name = "around";
}

/* Transforms, of two channels at a time or one, some masks with zeros at their ends, which are not summed,
 * some with so many that windows lie beyond their outputs. */
static void make_transforms(trial *t, guint at, gint64 channels) {
  static const gint64 lengths[] = {1024, 1024, 1024, 1024, 4096, 4096, 8192, 16384};
  const gint64 n = lengths[pick(0, G_N_ELEMENTS(lengths))],
               together = channels % 2 == 0 && pick(0, 3) ? 2 : 1;
  const gint64 taps = pick(1, (int)(n / 2 * (3 - together)) - 100),
               skipped = pick(0, 8) ? pick(0, 4) : pick(0, n < 16384 ? 700 : 4);
  fc_conv1d *f = &t->filter;
  *f = (fc_conv1d){.taps = taps, .masks = together == 1 && pick(0, 4) == 0 ? channels : 1, .compute = FC_F32};
  t->nx = (int)(taps + skipped + pick(0, 4)), t->ny = 1, t->dense = FALSE, t->statistic = -1;
  f->before = t->nx / 2 - skipped, f->axis = FC_AXIS_X, f->isa = fc_isa_best();
  f->mask = t->mask = g_new(float, (gsize)(taps * f->masks));
  double gain = 0;
  for (gint64 i = 0; i < taps * f->masks; i++)
    t->mask[i] = (float)(real(-0.5, 1) / (double)taps), gain += fabs((double)t->mask[i]);
  t->overlap = fc_conv1d_overlap_of(taps, f->before, n, (int)(3 - together));
  t->overlap.shared = 1 << 20;
  t->window = (fc_device_function){.size = sizeof t->window,
                                   .flags = FC_FUNCTION_WINDOW,
                                   .entry = t->entry,
                                   .bytes = t->taps,
                                   .low = 1,
                                   .growth = 1.001 * gain,
                                   .window_x = (guint32)t->nx,
                                   .window_y = 1};
  g_assert_cmpint(t->overlap.parts, ==, 1);
  g_assert_cmpint(fc_conv1d_overlap_function(&t->overlap, taps, f->before, f->masks, &t->window), ==, FC_OK);
  t->described[at].function = &t->window;
  t->described[at].name = "transforms";
  t->what.window = at;
}

/* What a window sees: integers only if all ahead select. */
static int link_of(const trial *t, guint at, int in_dtype) {
  return at ? t->described[at - 1].dtype : in_dtype;
}

/* A statistic of columns and rows, as the type `out`. FALSE: there is none. */
static gboolean make_box(trial *t, guint at, int in_dtype, int out, gboolean selects) {
  const int link = link_of(t, at, in_dtype);
  t->statistic = selects ? pick(FC_WINSTAT_MIN, FC_WINSTAT_MAX + 1) : pick(0, FC_WINSTAT_STATS);
  t->nx = pick(1, pick(0, 2) ? 10 : 32), t->ny = pick(1, pick(0, 2) ? 10 : 32);
  if (pick(0, 8) == 0) t->nx = pick(1, 65), t->ny = 1; /* of one row */
  if (pick(0, 16) == 0) t->nx = t->ny = 1;
  t->sums = fc_winstat_is_box_of_floats(t->statistic, link, FC_F32, t->nx, t->ny);
  if (!t->sums && !fc_winstat_is_box(t->statistic, link, out, t->nx, t->ny)) return FALSE;
  t->box = TRUE, t->dense = FALSE;
  t->codes = !t->sums && t->statistic != FC_WINSTAT_MIN && t->statistic != FC_WINSTAT_MAX;
  t->shrinks = t->statistic < FC_WINSTAT_MIN && pick(0, 2);
  const char *const shrinks = t->shrinks ? ",true" : "";
  if (t->sums)
    g_snprintf(t->entry, sizeof t->entry, "fc_box_sums<%d,%d,%d%s>", t->statistic, t->nx, t->ny, shrinks);
  else
    g_snprintf(t->entry, sizeof t->entry, "fc_box<%d,%d,%d,%d,%d%s>", t->statistic, t->nx, t->ny, link, out,
               shrinks);
  return TRUE;
}

/* A statistic, in windows of all lengths; `selects`: an extreme. */
static void make_statistic(trial *t, guint at, int kind, int in_dtype, int out, gint64 extent,
                           gboolean selects) {
  const int link = link_of(t, at, in_dtype);
  const gboolean codes = !fc_dtype_is_float(link);
  if (kind == FC_AUDIO || pick(0, 2) || !make_box(t, at, in_dtype, out, selects)) {
    t->statistic = selects ? pick(FC_WINSTAT_MIN, FC_WINSTAT_MAX + 1) : pick(0, FC_WINSTAT_STATS);
    t->ny = 1, t->dense = FALSE;
    t->nx = pick(0, 3)        ? pick(2, 100)
            : pick(0, 4) == 0 ? 16 * pick(1, 40) + pick(0, 3) - 1
                              : (int)CLAMP(exp(real(log(100), log(6000))), 2, 2 * extent + 100);
    t->codes = codes && t->statistic != FC_WINSTAT_MIN && t->statistic != FC_WINSTAT_MAX;
    g_snprintf(t->entry, sizeof t->entry, "fc_statistic<%d,%d,%d,%d>", t->statistic, t->nx,
               codes ? link : FC_F32, kind);
  }
  t->window = (fc_device_function){
      .size = sizeof t->window,
      .flags = FC_FUNCTION_WINDOW | FC_FUNCTION_NONNEGATIVE | (selects ? FC_FUNCTION_SELECTS : 0) |
               (t->shrinks ? FC_FUNCTION_SHRINKS : 0),
      .source = t->box ? FC_FUNCTION_BOX_TEXT : FC_FUNCTION_STATISTIC_TEXT,
      .entry = t->entry,
      .bytes = t->taps,
      .align = 1,
      .low = 1,
      .growth = t->statistic == FC_WINSTAT_SUM                                       ? t->nx * t->ny
                : t->statistic == FC_WINSTAT_SUMSQ || t->statistic == FC_WINSTAT_VAR ? NAN
                                                                                     : 1,
      .window_x = (guint32)t->nx,
      .window_y = (guint32)t->ny};
  t->described[at].function = &t->window;
  t->described[at].name = "statistic";
  t->what.window = at;
}

/* A view of a band of rows, or a stretch of sound, in memory of its own, with a gap behind each row where the
 * layout has one. */
static void place(fc_view *v, int kind, int dtype, const gint64 extent[4], gint64 first, gint64 count,
                  guint8 **memory, gsize *bytes, view_layout layout) {
  const int along = kind == FC_AUDIO ? 2 : 1;
  gint64 shape[4];
  memcpy(shape, extent, sizeof shape), shape[along] = count;
  *bytes = view_make(v, kind, dtype, shape, layout, FC_CUDA_DEVICE(0), NULL);
  *memory = g_malloc(*bytes + 2 * AROUND);
  v->data = *memory + AROUND + (gsize)v->data;
  v->origin[along] = first, v->extent[along] = extent[along];
}

/* The same memory with its rows, or its images, in the opposite order. */
static void turn_over(fc_view *v, int axis) {
  v->data = (char *)v->data + (v->shape[axis] - 1) * v->stride[axis];
  v->stride[axis] = -v->stride[axis];
}

static void fill(trial *t) {
  const double unit = t->in.kind == FC_AUDIO ? 1.2 : 300;
  const gsize size = fc_dtype_size(t->in.dtype);
  /* Integers at the ends of their range: sums are as large as they can be, all windows alike or not. */
  static const guint32 ends[] = {0, 0x80808080u, 0x80008000u, 0x7fff7fffu, 0x7f7f7f7fu, 0xffffffffu};
  const guint32 end = ends[pick(0, G_N_ELEMENTS(ends))], other = ends[pick(0, G_N_ELEMENTS(ends))];
  const int loud = fc_dtype_is_float(t->in.dtype) ? 0 : pick(0, 6);
  t->loud = loud > 2;
  /* Of extremes what takes precedence: NaN, infinities, and zeros by their sign, of which there may be
   * nothing else. */
  static const double firsts[] = {0, -0.0, 0, -0.0, -INFINITY, INFINITY, NAN, 1};
  const gboolean extreme = t->statistic == FC_WINSTAT_MIN || t->statistic == FC_WINSTAT_MAX;
  const int some = extreme && t->in.dtype == FC_F32 ? pick(0, 4) : 0;
  for (gsize i = 0; i + size <= t->in_bytes + 2 * AROUND; i += size) {
    guint32 r = g_rand_int(numbers);
    if (loud > 2) r = loud == 3 || r & 1 ? end : other;
    double v = (double)(gint32)r * 0x1p-31 * unit;
    if (r % 4001 == 0) v = r & 512 ? INFINITY : -1e30;
    if (some > 1 && r % 11 == 0) v = firsts[r >> 8 & 7];
    if (some == 1) v = firsts[r >> 8 & 1];
    float f = (float)v;
    guint64 wide;
    memcpy(&wide, &v, sizeof v);
    if (t->in.dtype == FC_F32)
      memcpy(t->in_memory + i, &f, size);
    else
      memcpy(t->in_memory + i, t->in.dtype == FC_F64 ? (const void *)&wide : &r, size);
  }
}

/* What is chosen of such a window: all but its size. */
static void describe_one(seen *w, int kind, int dtype) {
  const gboolean extreme = w->statistic >= 0;
  const int count = w->statistic >= 0 ? 0 : w->dense ? w->nx * w->ny : w->nx + w->ny;
  for (int i = 0; i < count; i++) w->taps[i] = (float)real(-0.2, 1.2 / count);
  const gboolean box = extreme && kind != FC_AUDIO && pick(0, 2); /* of one row */
  if (box)
    g_snprintf(w->entry, sizeof w->entry, "fc_box<%d,%d,1,%d,%d>", w->statistic, w->nx, dtype, dtype);
  else if (extreme)
    g_snprintf(w->entry, sizeof w->entry, "fc_statistic<%d,%d,%d,%d>", w->statistic, w->nx, dtype, kind);
  else
    g_snprintf(w->entry, sizeof w->entry, "%s<%d,%d>", w->dense ? "fc_dense" : "fc_separable", w->nx, w->ny);
  w->f = (fc_device_function){.size = sizeof w->f,
                              .flags = FC_FUNCTION_WINDOW | (extreme ? FC_FUNCTION_SELECTS : 0),
                              .source = box       ? FC_FUNCTION_BOX_TEXT
                                        : extreme ? FC_FUNCTION_STATISTIC_TEXT
                                                  : FC_FUNCTION_WINDOW_TEXT,
                              .entry = w->entry,
                              .bytes = w->taps,
                              .n_bytes = (guint32)count * 4,
                              .align = 4,
                              .low = 1,
                              .growth = -1,
                              .window_x = (guint32)w->nx,
                              .window_y = (guint32)w->ny};
}

/* Moves the input to where nothing ahead of it can be read, or behind it, but for what its last 16 bytes have
 * in them. */
static void guard(trial *t) {
  enum { PAGE = 64 << 10, PART = 16 };
  const gboolean at_end = pick(0, 2);
  const gsize room = (t->in_bytes + PAGE) / PAGE * PAGE;
  t->guarded_bytes = room + 2 * PAGE;
  t->guarded = mmap(NULL, t->guarded_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_assert_true(t->guarded != MAP_FAILED);
  g_assert_cmpint(mprotect(t->guarded + PAGE, room, PROT_READ | PROT_WRITE), ==, 0);
  guint8 *to = t->guarded + PAGE + (at_end ? (room - t->in_bytes) / PART * PART : 0),
         *from = t->in_memory + AROUND;
  memcpy(to, from, t->in_bytes);
  t->in.data = to + ((guint8 *)t->in.data - from);
}

static void make_one_of(seen *w, int kind, int dtype) {
  const gboolean extreme = pick(0, 4) == 0, line = kind == FC_AUDIO || extreme || pick(0, 4) == 0;
  w->dense = line || pick(0, 2), w->statistic = extreme ? pick(FC_WINSTAT_MIN, FC_WINSTAT_MAX + 1) : -1;
  w->nx = extreme ? pick(2, 25) : pick(1, line ? 24 : 8), w->ny = line ? 1 : pick(1, 8);
  describe_one(w, kind, dtype);
}

/* A short window ahead of that of the kernel. */
static void make_prefilter(trial *t, guint at, int kind, int dtype, gboolean selects) {
  seen *w = &t->series[at];
  fc_compose_stage *d = &t->described[at];
  w->dense = TRUE, w->ny = 1, w->nx = pick(2, 9);
  w->statistic = selects || pick(0, 4) == 0 ? pick(FC_WINSTAT_MIN, FC_WINSTAT_MAX + 1) : -1;
  describe_one(w, kind, dtype);
  w->f.growth = 1;
  for (int i = 0; w->statistic < 0 && i < w->nx; i++) w->f.growth += fabs((double)w->taps[i]);
  d->name = "prefilter", d->function = &w->f, d->border = pick(FC_BORDER_ZERO, FC_BORDER_WRAP);
  d->border_value = d->border != FC_BORDER_CONSTANT ? 0 : kind == FC_AUDIO ? 0.25 : 9;
}

/* Lets the kernel take the window of stage `first` as the prefilter of that of stage `at`. FALSE: it takes
 * none such. */
static gboolean take_prefilter(trial *t, guint first, guint at, int in_dtype) {
  fc_compose_stage *d = &t->described[at];
  d->border = t->what.border, d->border_value = t->what.border_value;
  t->what.windows = 2, t->what.window = first;
  t->what.border = t->described[first].border, t->what.border_value = t->described[first].border_value;
  fc_prefilter_take(&t->what, in_dtype, t->in.extent);
  return t->what.prefilter > 0;
}

/* Several windows, with functions ahead of, between and behind them. */
static trial *series_new(void) {
  static const int codes[] = {FC_U8, FC_I16, FC_U16, FC_F32};
  static const gint64 shapes[][3] = {{1, 31, 397}, {2, 19, 140}, {1, 60, 152}, {1, 12, 1201}, {3, 17, 67}};
  trial *t = g_new0(trial, 1);
  const gint64 *shape = shapes[pick(0, G_N_ELEMENTS(shapes))];
  gint64 channels = pick(1, 5), extent[4] = {shape[0], shape[1], shape[2], channels};
  const int kind = pick(0, FC_KIND_COUNT), along = kind == FC_AUDIO ? 2 : 1;
  if (kind == FC_AUDIO) extent[0] = extent[1] = 1, extent[2] = pick(1, 12) * pick(20, 1200);
  const int in_dtype = codes[pick(0, 4)], out_dtype = codes[pick(0, 4)];
  t->what = (fc_composition){.stages = t->described, .n = (guint)pick(2, MOST_STAGES + 1), .compute = FC_F32};
  t->what.window = t->what.n, t->statistic = -1, t->rounding = t->what.n - 1;
  const guint first = (guint)pick(0, (int)t->what.n - 1),
              second = (guint)pick((int)first + 1, (int)t->what.n);
  int link = in_dtype;
  gint64 before = 0, after = 0;
  for (guint i = 0; i < t->what.n; i++) {
    fc_compose_stage *d = &t->described[i];
    d->kind = kind;
    if (i == first || i == second || (i > first && i < second && pick(0, 2))) {
      seen *w = &t->series[i];
      make_one_of(w, kind, link);
      d->name = "window", d->function = &w->f;
      d->border = pick(FC_BORDER_ZERO, FC_BORDER_WRAP);
      d->border_value = d->border != FC_BORDER_CONSTANT ? 0 : kind == FC_AUDIO ? 0.5 : 17;
      if (t->what.windows++ == 0) t->what.window = i;
      if (w->statistic < 0) link = FC_F32;
      before += kind == FC_AUDIO ? w->nx / 2 : w->ny, after += kind == FC_AUDIO ? w->nx : w->ny;
    } else {
      const gboolean keeps = i > first && i < second;
      make_stage(&t->stages[i], (stage_kind)pick(COPY, keeps ? GAINS + 1 : COLOR), channels,
                 kind == FC_AUDIO ? 1 : 300);
      stage_prepare(&t->stages[i], FC_F32);
      d->name = "stage", d->function = &t->stages[i].function;
      channels = t->stages[i].out, link = FC_F32;
    }
    d->dtype = i + 1 == t->what.n ? out_dtype : link;
  }
  t->what.border = t->described[first].border, t->what.border_value = t->described[first].border_value;
  const view_layout layout = (view_layout)pick(0, VIEW_LAYOUTS),
                    out_layout = pick(0, 2) ? layout : (view_layout)pick(0, VIEW_LAYOUTS);
  const gint64 from = pick(0, 2) ? pick(0, (int)extent[along]) : 0,
               count = pick(1, (int)(extent[along] - from) + 1);
  const gint64 lo = pick(0, 2) ? MAX(from - before, 0) : 0,
               hi = pick(0, 2) ? MIN(MAX(from + count, before) + after, extent[along]) : extent[along];
  place(&t->in, kind, in_dtype, extent, lo, hi - lo, &t->in_memory, &t->in_bytes, layout);
  extent[3] = channels;
  place(&t->out, kind, out_dtype, extent, from, count, &t->out_memory, &t->out_bytes, out_layout);
  if (pick(0, 5) == 0) turn_over(&t->in, pick(0, 2));
  if (pick(0, 5) == 0) turn_over(&t->out, pick(0, 2));
  return t;
}

/* What a trial is of: functions without a window; any window; a statistic of integers among stages that only
 * put channels elsewhere; a function of neighbours, of any types, and also of images of one row or column;
 * transforms of three channels or more; a prefilter ahead of a long window; long aligned rows of floats that
 * a window sees as they are. */
typedef enum trial_kind { SAMPLES, WINDOW, MIXING, AROUND_EACH, TURNS, FILTERED, FLOATS } trial_kind;

static trial *trial_new(trial_kind of) {
  const gboolean window = of != SAMPLES, mixing = of == MIXING, around = of == AROUND_EACH,
                 turns = of == TURNS, filtered = of == FILTERED, floats = of == FLOATS;
  static const int codes[] = {FC_U8, FC_I16, FC_U16, FC_F32};
  static const gint64 shapes[][3] = {{1, 21, 397}, {2, 9, 140}, {1, 30, 290}, {1, 12, 701}, {3, 17, 37},
                                     {5, 13, 20},  {9, 1, 161}, {11, 7, 33},  {1, 90, 31},  {3, 50, 41},
                                     {1, 3, 397},  {2, 8, 240}, {1, 1, 701},  {1, 700, 1},  {2, 333, 1},
                                     {1, 2, 397},  {1, 5, 350}, {1, 6, 301},  {1, 7, 397},  {1, 1, 333},
                                     {2, 77, 1},   {2, 3, 2}};
  trial *t = g_new0(trial, 1);
  static const gint64 aligned[] = {1, 40, 1000};
  const gint64 *shape = floats ? aligned : shapes[pick(0, (int)G_N_ELEMENTS(shapes) - (around ? 0 : 3))];
  const gboolean many = turns && pick(0, 4) == 0;
  gint64 channels = many     ? pick(5, 9)
                    : floats ? 1
                             : pick(mixing || turns ? 3 : 1, 5),
         extent[4] = {shape[0], shape[1], shape[2], channels};
  const int kind = pick(0, FC_KIND_COUNT), along = kind == FC_AUDIO ? 2 : 1;
  if (window && kind == FC_AUDIO)
    extent[0] = pick(0, 4) ? 1 : pick(2, 5), extent[1] = 1, extent[2] = pick(1, 12) * pick(1, 1200);
  const gboolean curves = !window && pick(0, 3) == 0; /* of bytes, so that they are looked up */
  const int in_dtype = floats              ? FC_F32
                       : window && !around ? codes[pick(0, mixing ? 3 : 4)]
                       : curves            ? FC_U8
                                           : pick(0, FC_DTYPE_COUNT);
  const int out_dtype = window && !around ? codes[pick(0, mixing ? 3 : 4)] : pick(0, FC_DTYPE_COUNT);
  /* Rows of the inputs begin at multiples of 8 bytes, not all of 16. */
  const gint64 pixel = (gint64)fc_dtype_size(in_dtype) * channels, by = MAX(8 / (pixel & -pixel), 1);
  const gboolean eights = window && !mixing && !turns && !filtered && kind != FC_AUDIO && pick(0, 3) == 0;
  if (eights) extent[2] = (extent[2] / by | 1) * by;
  if (!window && pick(0, 3) == 0) extent[2] = pick(1, 60); /* several lines a block */
  t->what = (fc_composition){.stages = t->described, .n = (guint)pick(1, MOST_STAGES + 1), .compute = FC_F32};
  t->what.window = t->what.n, t->statistic = -1;
  if ((!window || around) && (in_dtype == FC_F64 || out_dtype == FC_F64)) t->what.compute = FC_F64;
  if (filtered) t->what.n = MAX(t->what.n, 2);
  const guint at = floats ? 0 : window ? (guint)pick(filtered ? 1 : 0, (int)t->what.n) : t->what.n;
  if (mixing || turns) t->what.n = MAX(t->what.n, 2);
  /* The stage that rounds: the last, or one behind which all others select. */
  const gboolean early = !fc_dtype_is_float(out_dtype) && pick(0, 2);
  t->rounding = early ? (guint)pick(turns ? (int)at : 0, (int)t->what.n) : t->what.n - 1;
  if (mixing) t->rounding = at;
  /* How many stages ahead of the window a prefilter is. */
  const guint ahead = filtered ? (guint)pick(1, (int)MIN(at, 2) + 1) : 0;
  for (guint i = 0; i < t->what.n; i++) {
    const gboolean selects = i > t->rounding || (mixing && i < at);
    if (i == at) {
      const int which = mixing ? 2 : eights ? 1 : turns ? 0 : ahead ? 2 * pick(0, 2) : pick(0, 3);
      if (around)
        make_around(t, at, selects);
      else if (which == 0 && !selects)
        make_transforms(t, at, channels);
      else if (which == 1 && !selects)
        make_window(t, at, kind, kind == FC_AUDIO ? 1 : 300);
      else
        make_statistic(t, at, kind, in_dtype, at >= t->rounding ? out_dtype : FC_F32, extent[2], selects);
    } else if (ahead && i == at - ahead) {
      make_prefilter(t, i, kind, link_of(t, i, in_dtype), selects);
    } else {
      const stage_kind placed = pick(0, 2) ? PLACED : PLACED_PIXELS;
      const gboolean is_placed = !window && !selects && !curves && pick(0, 4) == 0;
      const stage_kind single = i % 2 ? (stage_kind)pick(COPY, GAINS) : CURVE;
      const stage_kind any = selects          ? channels > 2 && !many && (mixing || pick(0, 2)) ? MIX : COPY
                             : curves || many ? single
                                              : (stage_kind)pick(COPY, COLOR + 1);
      make_stage(&t->stages[i], is_placed ? placed : any, channels, kind == FC_AUDIO ? 1 : 300);
      stage_prepare(&t->stages[i], t->what.compute);
      t->described[i].name = "stage", t->described[i].function = &t->stages[i].function;
      channels = t->stages[i].out;
    }
    t->described[i].dtype = mixing && i < at ? in_dtype : i >= t->rounding ? out_dtype : t->what.compute;
    t->described[i].kind = kind;
  }
  t->what.border = pick(FC_BORDER_ZERO, FC_BORDER_WRAP + 1);
  if (t->shrinks) t->what.border = fc_compose_border(&t->window, FC_BORDER_NONE);
  t->what.border_value = t->what.border != FC_BORDER_CONSTANT ? 0 : kind == FC_AUDIO ? 0.5 : 17;
  const view_layout layout = (view_layout)pick(0, mixing ? 1 : VIEW_LAYOUTS),
                    out_layout = mixing || pick(0, 2) ? layout : (view_layout)pick(0, VIEW_LAYOUTS);
  const gboolean whole =
      kind != FC_AUDIO && (extent[1] <= 8 || extent[2] == 1) && pick(0, 4); /* few.cuh takes no other */
  const gint64 first = window && !whole && pick(0, 2) ? pick(0, (int)extent[along]) : 0,
               rest = extent[along] - first, count = window && !whole ? pick(1, (int)rest + 1) : rest;
  /* Of sound often no more than windows see. */
  const gboolean part = window && (around || kind == FC_AUDIO) && pick(0, 3);
  const gint64 before = ahead && kind == FC_AUDIO ? t->series[at - ahead].nx : 0;
  const int taps = kind == FC_AUDIO ? t->nx : t->ny;
  const gint64 hop = t->overlap.n ? t->overlap.hop : 1, begin = first / hop * hop,
               end = (first + count + hop - 1) / hop * hop;
  /* A statistic along rows takes those of its outputs. */
  const gboolean same = window && kind != FC_AUDIO && t->statistic >= 0 && !t->box;
  const gint64 lo = same   ? first
                    : part ? MAX(begin - taps / 2 - before / 2, 0)
                           : 0,
               hi = same   ? first + count
                    : part ? MIN(end + taps - 1 - taps / 2 + before, extent[along])
                           : extent[along];
  place(&t->in, kind, in_dtype, extent, lo, hi - lo, &t->in_memory, &t->in_bytes, layout);
  extent[3] = channels;
  place(&t->out, kind, out_dtype, extent, first, count, &t->out_memory, &t->out_bytes, out_layout);
  if (!window) { /* a part of a larger signal, as functions that are told positions see it */
    t->out.origin[1] = 5, t->out.origin[2] = 1000;
    t->out.extent[1] = extent[1] + 9, t->out.extent[2] = extent[2] + 2000;
  }
  if (!mixing && pick(0, 5) == 0) turn_over(&t->in, pick(0, 2));
  if (!mixing && pick(0, 5) == 0) turn_over(&t->out, pick(0, 2));
  if (ahead && !take_prefilter(t, at - ahead, at, in_dtype)) t->what.n = 0; /* no kernel */
  return t;
}

/* Fills its memory, and puts that next to pages that cannot be read. Which kernel it is depends on where its
 * memory is, but not on what it has. */
static void trial_load(trial *t) {
  fill(t);
  guard(t);
}

static void trial_free(gpointer data) {
  trial *t = data;
  if (t->guarded) munmap(t->guarded, t->guarded_bytes);
  for (int c = 0; c < 8; c++) g_free(t->line[c]), g_free(t->made[c]);
  g_free(t->mask);
  g_free(t->tables);
  g_free(t->in_memory);
  g_free(t->out_memory);
  g_free(t->text);
  g_free(t);
}

#endif

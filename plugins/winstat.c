/* SPDX-License-Identifier: MIT */
/*
 * winstat.c - the operator winstat: parameters and terms; the work is filters/winstat.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/contract/fc_helpers.h"
#include "filters/winstat/winstat.h"
#include "plugins/border.h"
#include "plugins/meaning.h"
#include "plugins/single.h"

enum { WINDOW, STAT, AXIS, BORDER, VALUE, N_PARAMS };

/* A border in addition to those of fc_border: the window is cut at the ends. */
#define BORDER_SHRINK 100

typedef struct winstat {
  fc_winstat window;
  const fc_arg *border, *value; /* owned by the host */
  int axis, flat;               /* fc_axis of a window of one number; flat: the signal has no rows */
} winstat;

/* ---- create ----------------------------------------------------------------- */

static fc_status check_stats(const fc_host *host, const fc_arg *stat) {
  for (int64_t i = 0; i < stat->count; i++)
    for (int64_t j = 0; j < i; j++)
      if (stat->ints[i] == stat->ints[j])
        return host->fail(host, FC_INVALID, "stat=%s names a statistic twice", stat->text);
  return FC_OK;
}

static fc_status read_window(const fc_host *host, winstat *self, const fc_arg *const *args) {
  const fc_arg *window = args[WINDOW], *stat = args[STAT];
  int two = window->count == 2, down = !two && self->axis == FC_AXIS_Y;
  int64_t columns = down ? 1 : window->ints[0], rows = two ? window->ints[1] : down ? window->ints[0] : 1;
  int32_t stats[FC_WINSTAT_STATS];
  if (two && args[AXIS]->given)
    return host->fail(host, FC_INVALID, "window=%s has both axes; axis goes with one number", window->text);
  for (int64_t i = 0; i < stat->count; i++) stats[i] = (int32_t)stat->ints[i];
  self->flat = rows == 1 && !two && !down;
  int shrink = !args[VALUE]->given && args[BORDER]->ints[0] == BORDER_SHRINK;
  if (fc_winstat_init(&self->window, stats, (int)stat->count, columns, rows, shrink, FC_F32) != FC_OK)
    return host->fail(host, FC_INVALID, "window=%s holds more than %lld samples", window->text,
                      FC_WINSTAT_AREA_MAX);
  return FC_OK;
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  if (status == FC_OK) status = check_stats(host, args[STAT]);
  if (status != FC_OK) return status;
  winstat *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, FC_NO_MEMORY, "no memory for an operator");
  self->border = args[BORDER], self->value = args[VALUE];
  self->axis = (int)args[AXIS]->ints[0];
  status = read_window(host, self, args);
  if (status == FC_OK)
    *instance = self;
  else
    free(self);
  return status;
}

static void destroy(void *instance) {
  free(instance);
}

/* ---- negotiate -------------------------------------------------------------- */

/* A few additions along each axis, for any window; statistics other than sums are computed row by row. */
static double work_of(const fc_winstat *w, const fc_format *in) {
  double work = 12;
  for (int s = 0; s < w->n_stats; s++) {
    int spread = w->stat[s] == FC_WINSTAT_VAR || w->stat[s] == FC_WINSTAT_STD;
    if (w->stat[s] >= FC_WINSTAT_MIN || (spread && fc_dtype_is_float(in->dtype))) work = 24;
  }
  return work;
}

static int has_extremes_alone(const fc_winstat *w) {
  for (int s = 0; s < w->n_stats; s++)
    if (w->stat[s] != FC_WINSTAT_MIN && w->stat[s] != FC_WINSTAT_MAX) return 0;
  return 1;
}

/* Limits the window to what a signal of this kind can fill, and returns the border. Extremes of images in a
 * window that shrinks are those with the edges repeated, which kernels have that are faster. */
static int limit(fc_winstat *w, int border, int kind, const int64_t extent[FC_AXES]) {
  fc_winstat_clip(w, extent[FC_AXIS_X], extent[FC_AXIS_Y]);
  if (w->shrink && kind != FC_AUDIO && has_extremes_alone(w)) w->shrink = 0, border = FC_BORDER_REPLICATE;
  fc_winstat_fold(w, border, extent[FC_AXIS_X], extent[FC_AXIS_Y]);
  return border;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const winstat *self = instance;
  const fc_format *in = terms->in[0];
  fc_winstat w = self->window;
  if (in->kind == FC_AUDIO && !self->flat)
    return host->fail(host, FC_INVALID, "a window of rows: sound has but one axis; say window=%lld",
                      (long long)(w.before[0] + w.after[0] + 1));
  if (in->extent[FC_AXIS_C] > INT64_MAX / FC_WINSTAT_STATS / 8)
    return host->fail(host, FC_INVALID, "too many channels");
  terms->out->extent[FC_AXIS_C] = in->extent[FC_AXIS_C] * w.n_stats;
  if (w.n_stats > 1)
    terms->needs[0]->reach[FC_AXIS_C].before = terms->needs[0]->reach[FC_AXIS_C].after = FC_WHOLE;
  const int is_level =
      w.stat[0] == FC_WINSTAT_MEAN || w.stat[0] == FC_WINSTAT_MIN || w.stat[0] == FC_WINSTAT_MAX;
  if (w.n_stats > 1 || (in->kind != FC_AUDIO && !is_level)) meaning_forget_channels(terms->out);
  const int border = limit(&w, border_choice(self->border, self->value, in->kind), in->kind, in->extent);
  terms->needs[0]->reach[FC_AXIS_X].before = w.before[0],
  terms->needs[0]->reach[FC_AXIS_X].after = w.after[0];
  terms->needs[0]->reach[FC_AXIS_Y].before = w.before[1],
  terms->needs[0]->reach[FC_AXIS_Y].after = w.after[1];
  if (in->kind == FC_AUDIO) terms->needs[0]->reach[FC_AXIS_X].align = fc_winstat_align(&w);
  if (in->kind != FC_AUDIO)
    terms->needs[0]->reach[FC_AXIS_Y].align = fc_winstat_align_rows(&w, in->extent[FC_AXIS_X]);
  border_terms(self->border, self->value, terms);
  terms->needs[0]->border = w.shrink ? FC_BORDER_NONE : border;
  terms->work = work_of(&w, in);
  return FC_OK;
}

/* ---- running ----------------------------------------------------------------- */

typedef struct winstat_state {
  fc_winstat window;
  int border;
} winstat_state;

static void release(const fc_host *host, void *prepared) {
  free(prepared);
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const winstat *self = instance;
  winstat_state *state = malloc(sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "no memory for an operator");
  state->window = self->window;
  state->window.compute = setup->compute;
  state->border = border_choice(self->border, self->value, setup->in[0]->kind);
  *prepared = state;
  return FC_OK;
}

/* The window for a view, of a signal whose length may have been unknown before. If the length matters, any
 * output reads up to the end, so it is known now. */
static fc_winstat window_of(const void *prepared, const fc_job *job) {
  const winstat_state *state = prepared;
  fc_winstat w = state->window;
  limit(&w, state->border, job->in[0]->kind, job->in[0]->extent);
  return w;
}

static size_t cpu_scratch(const void *prepared, const fc_job *job) {
  fc_winstat w = window_of(prepared, job);
  return fc_winstat_cpu_scratch(&w, job->in[0]);
}

static fc_status cpu_process(const fc_host *host, const void *prepared, const fc_job *job) {
  fc_winstat w = window_of(prepared, job);
  return fc_winstat_cpu(&w, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status reference_process(const fc_host *host, const void *prepared, const fc_job *job) {
  fc_winstat w = window_of(prepared, job);
  return fc_winstat_ref(&w, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static size_t cuda_scratch(const void *prepared, const fc_job *job) {
  fc_winstat w = window_of(prepared, job);
  return fc_winstat_cuda_scratch(&w, job->in[0]);
}

static fc_status cuda_process(const fc_host *host, const void *prepared, const fc_job *job) {
  fc_winstat w = window_of(prepared, job);
  if (job->edges)
    return fc_winstat_cuda_edges(&w, job->in[0], job->edges, job->out, job->scratch, job->notes, job->stream);
  return fc_winstat_cuda(&w, job->in[0], job->out, job->scratch, job->notes, job->stream);
}
#endif

/* ---- device function -------------------------------------------------------------- */

/* A window of columns and rows, of images. */
static fc_status describe_box(const fc_setup *setup, const fc_winstat *w, fc_device_function *f) {
  const fc_format *in = setup->in[0];
  const int out = setup->out->dtype, stat = w->stat[0];
  const int64_t window[2] = {w->before[0] + 1 + w->after[0], w->before[1] + 1 + w->after[1]};
  const int floats = fc_winstat_is_box_of_floats(stat, in->dtype, setup->compute, window[0], window[1]);
  const int exact = fc_winstat_is_box(stat, in->dtype, out, window[0], window[1]);
  const char *const shrinks = w->shrink ? ",true" : "";
  if (in->kind == FC_AUDIO || !(floats || exact)) return FC_UNSUPPORTED;
  f->flags |= FC_FUNCTION_ALONE | (w->shrink ? FC_FUNCTION_SHRINKS : 0);
  f->source = FC_FUNCTION_BOX_TEXT;
  if (floats)
    snprintf(f->entry, FC_FUNCTION_ENTRY, "fc_box_sums<%d,%d,%d%s>", stat, (int)window[0], (int)window[1],
             shrinks);
  else
    snprintf(f->entry, FC_FUNCTION_ENTRY, "fc_box<%d,%d,%d,%d,%d%s>", stat, (int)window[0], (int)window[1],
             in->dtype, out, shrinks);
  f->window_x = (uint32_t)window[0], f->window_y = (uint32_t)window[1];
  return FC_OK;
}

/* A window along rows or time. Images of few rows have no kernel that combines variances of floats in short
 * windows as composed ones do (filters/gpu/moments.cuh). */
static fc_status describe_line(const fc_setup *setup, const fc_winstat *w, fc_device_function *f) {
  enum { ROWS = 8 }; /* as takes_spread in filters/winstat/choice.c */
  const fc_format *in = setup->in[0];
  const int stat = w->stat[0];
  const int64_t taps = w->before[0] + 1 + w->after[0], rows = in->extent[FC_AXIS_Y];
  const int few = taps <= FC_WINSTAT_SPREAD_MOST && rows > 1 && rows < ROWS;
  if (taps < 2 || taps > FC_FUNCTION_STATISTIC_MOST ||
      (few && fc_dtype_is_float(in->dtype) && (stat == FC_WINSTAT_VAR || stat == FC_WINSTAT_STD)))
    return FC_UNSUPPORTED;
  if (!fc_winstat_is_quick(in->kind, in->dtype, setup->out->dtype, in->extent[FC_AXIS_X],
                           in->extent[FC_AXIS_C], stat, taps))
    f->flags |= FC_FUNCTION_ALONE;
  f->source = FC_FUNCTION_STATISTIC_TEXT;
  /* Extremes of other types are those of the floats that they are computed with. */
  const int is_code = in->dtype == FC_U8 || in->dtype == FC_I16 || in->dtype == FC_U16,
            extreme = stat == FC_WINSTAT_MIN || stat == FC_WINSTAT_MAX;
  snprintf(f->entry, FC_FUNCTION_ENTRY, "fc_statistic<%d,%d,%d,%d>", stat, (int)taps,
           extreme && !is_code ? FC_F32 : in->dtype, in->kind);
  f->window_x = (uint32_t)taps, f->window_y = 1;
  return FC_OK;
}

/* One statistic; of windows that shrink at the ends only boxes, as is a single sample. */
static fc_status describe(const fc_host *host, void *instance, const fc_setup *setup, fc_device_function *f) {
  const winstat *self = instance;
  const fc_format *in = setup->in[0];
  fc_winstat w = self->window;
  (void)host;
  limit(&w, border_choice(self->border, self->value, in->kind), in->kind, in->extent);
  const int stat = w.stat[0];
  if (setup->compute != FC_F32 || w.n_stats != 1) return FC_UNSUPPORTED;
  f->flags = FC_FUNCTION_WINDOW | FC_FUNCTION_NONNEGATIVE;
  if (stat == FC_WINSTAT_MIN || stat == FC_WINSTAT_MAX) f->flags |= FC_FUNCTION_SELECTS | FC_FUNCTION_RANKS;
  const int one =
      w.before[0] + w.after[0] + w.before[1] + w.after[1] == 0; /* all that limit() left, as of one column */
  const int box = one || w.before[1] + w.after[1] > 0 ||
                  fc_winstat_is_row_box(in->kind, stat, in->dtype, setup->out->dtype, in->extent[FC_AXIS_X],
                                        in->extent[FC_AXIS_C], w.before[0] + 1 + w.after[0]);
  const fc_status status = box        ? describe_box(setup, &w, f)
                           : w.shrink ? FC_UNSUPPORTED
                                      : describe_line(setup, &w, f);
  f->n_bytes = 0, f->align = 1;
  /* For squares the factor is no bound. */
  f->growth = stat == FC_WINSTAT_SUM                               ? (double)f->window_x * f->window_y
              : stat == FC_WINSTAT_SUMSQ || stat == FC_WINSTAT_VAR ? NAN
                                                                   : 1;
  return status;
}
FC_FUSIBLE(extension, describe)

/* ---- descriptor -------------------------------------------------------------- */

#define SHRINK_CHOICE                                                                                        \
  FC_CHOICE(BORDER_SHRINK, "shrink", "the window is cut at the ends of the signal, and holds fewer samples")

static const fc_param *const params[N_PARAMS] = {
    [WINDOW] = FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST, 2, "window",
                        "Samples in a window along `axis`; or columns x rows of a window on an image, 15x15.",
                        "samples", NULL, FC_INT_BETWEEN(1, 4294967295), NULL, NULL, NULL),
    [STAT] = FC_PARAM(
        FC_ENUM, FC_PARAM_LIST, FC_WINSTAT_STATS, "stat",
        "The statistics of each window. Several become channels, in the order given: first all channels of "
        "the "
        "first statistic, then all of the second.",
        NULL, "mean", NULL,
        FC_CHOICES(FC_CHOICE(FC_WINSTAT_SUM, "sum", "the sum"),
                   FC_CHOICE(FC_WINSTAT_SUMSQ, "sumsq", "the sum of squares"),
                   FC_CHOICE(FC_WINSTAT_MEAN, "mean", "the mean: a box filter, a moving average"),
                   FC_CHOICE(FC_WINSTAT_VAR, "var",
                             "the variance of the population: squared deviations over their number"),
                   FC_CHOICE(FC_WINSTAT_STD, "std", "the standard deviation, root of var"),
                   FC_CHOICE(FC_WINSTAT_RMS, "rms", "the root of the mean square: a level meter"),
                   FC_CHOICE(FC_WINSTAT_MIN, "min", "the smallest sample: erosion by a flat element"),
                   FC_CHOICE(FC_WINSTAT_MAX, "max", "the largest sample: dilation, a peak meter"),
                   FC_CHOICE(FC_REFUSED, "median", "use the operator median")),
        NULL, NULL),
    [AXIS] = FC_ENUM_PARAM(0, "axis", "The axis of a window of one number.", "x",
                           FC_CHOICES(FC_CHOICE(FC_AXIS_X, "x", "along the rows, which is time for sound"),
                                      FC_CHOICE(FC_AXIS_Y, "y", "down the columns of an image"),
                                      FC_CHOICE(FC_AXIS_T, "t", "time: the same as x"))),
    [BORDER] = BORDER_PARAM_OF(BORDER_CHOICES(SHRINK_CHOICE, BORDER_REFUSED)),
    [VALUE] = BORDER_VALUE_PARAM,
};

static const char *const examples[] = {
    "winstat:15",
    "winstat:window=15:stat=sum,sumsq",
    "winstat:window=480:stat=rms:border=shrink",
    "winstat:window=4:stat=min,max:border=replicate",
    NULL,
};

static const fc_operator winstat_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "winstat",
    .summary = "statistics over a sliding window: mean, deviation, level, extremes",
    .keywords = FC_TEXTS("boxblur", "box_blur", "boxfilter", "uniform_filter", "erode=winstat:3x3:stat=min",
                         "dilate=winstat:3x3:stat=max"),
    .doc =
        "Computes statistics of the samples around each sample, channel by channel: sum, mean, deviation or "
        "extremes. "
        "The window is a stretch of time, of a row or (axis=y) of a column, or columns x rows of an image: "
        "window=5x5:stat=std marks texture, window=15x15 is a box blur. The output is as long and as wide "
        "as the input.\n\n"
        "A window of w samples has floor(w/2) before the output's own and floor((w-1)/2) after it, so an "
        "even one reaches one further back, as in scipy.ndimage.uniform_filter1d and as a box mask of "
        "conv1d lies. At the ends the border determines the values; with border=shrink it holds fewer "
        "samples "
        "there, and a mean is over as many as there are.\n\n"
        "Several statistics become channels in the order given: stat=mean,std makes "
        "of red, green and blue six channels, the three means first.\n\n"
        "The time it takes does not depend on the window. Integer samples are added exactly, in integers of "
        "up to 128 bits, and the result is rounded once, into the output's type; note that sums of squares "
        "above 2^24 are not exact in f32, and that an integer output file clamps what it cannot hold. "
        "Floating-point samples are added in f32 (f64 with --precision f64) in an order that depends only on "
        "their position, and without running subtraction, so that the error is no larger than that of "
        "summing each window alone. Variance is computed relative to samples of the window, so that a large "
        "common offset costs no precision. NaN and infinity touch only the windows they are in; NaN is the "
        "minimum "
        "and maximum of its window.",
    .examples = examples,
    .example_docs =
        FC_TEXTS("mean of 15", "sums and squares", "level of 10 ms", "lowest and highest of four"),
    .example_commands = FC_TEXTS("", "-i in.wav ... -o out.npy", "", ""),
    .n_params = N_PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = BACKENDS(
        FC_ON_CPU(prepare, release, cpu_scratch, cpu_process),
        FC_ON_CUDA(FC_BACKEND_GRAPH | FC_BACKEND_EDGES, prepare, release, cuda_scratch, cuda_process)),
    .reference = FC_ON_CPU(prepare, release, NULL, reference_process),
    .extension = extension,
};

SINGLE_OPERATOR_PLUGIN("winstat", winstat_operator)

/* SPDX-License-Identifier: MIT */
/*
 * plot.c - `filterchain plot`: magnitude, phase and group delay of a chain for sound, as SVG.
 *
 * Knows no particular operator: it sends an impulse through the chain, in double precision, and draws the
 * spectrum of the result. Each stage is first tested with signals for having a frequency response: whether it
 * is linear and time-invariant. Times are relative to the impulse, so that an operator that looks ahead has a
 * negative delay.
 */
#include "cli/plot/plot.h"

#include "cli/command.h"
#include "cli/report.h"

#include <math.h>
#include <string.h>

enum { LENGTH = 1 << 16, CENTRE = LENGTH / 2, POINTS = 600 };

/* ---- signals through a chain ------------------------------------------------------ */

static fc_view view_of(double *samples, gint64 count) {
  return (fc_view){.size = sizeof(fc_view),
                   .dtype = FC_F64,
                   .kind = FC_AUDIO,
                   .data = samples,
                   .shape = {1, 1, count, 1},
                   .stride = {8 * count, 8 * count, 8, 8},
                   .extent = {1, 1, count, 1}};
}

static gboolean fail_stage(GError **error, const char *text, const char *why) {
  g_autofree char *name = g_strndup(text, strcspn(text, ":"));
  g_set_error(error, FC_ERROR, FC_UNSUPPORTED, "%s: %s, so it has no frequency response", name, why);
  return FALSE;
}

static gboolean same_signal(const char *stage, const fc_format *f, double rate, GError **error) {
  if (f->kind != FC_AUDIO) return fail_stage(error, stage, "its output is not sound");
  if (f->extent[FC_AXIS_C] != 1) return fail_stage(error, stage, "it makes several channels from one");
  return f->rate == rate || fail_stage(error, stage, "it changes the sample rate");
}

static gboolean send(fc_session *session, double *in, double *out, GError **error) {
  const fc_view from = view_of(in, LENGTH);
  gint64 got = 0, more;
  memset(out, 0, LENGTH * sizeof *out);
  if (!fc_session_push(session, &from, error) || !fc_session_drain(session, error)) return FALSE;
  do {
    fc_view to = view_of(out + got, LENGTH - got);
    if ((more = fc_session_pull(session, &to, error)) < 0) return FALSE;
    got += more;
  } while (more > 0 && got < LENGTH);
  return TRUE;
}

static gboolean filter(fc_context *context, const char *const *stages, double rate, double *in, double *out,
                       GError **error) {
  const fc_format format = {.size = sizeof format,
                            .kind = FC_AUDIO,
                            .dtype = FC_F64,
                            .bits = 53,
                            .extent = {1, 1, FC_UNKNOWN, 1},
                            .rate = rate};
  fc_options how = FC_OPTIONS_INIT;
  how.device = "cpu", how.precision = FC_F64, how.threads = 1;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, error);
  if (!chain) return FALSE;
  const char *last = stages[fc_chain_length(chain) - 1];
  if (fc_chain_operator(chain, 0)->flags & FC_OP_TWO_PASSES)
    return fail_stage(error, stages[0], "it depends on the whole sound");
  g_autoptr(fc_session) session = fc_session_new(chain, &format, FC_F64, &how, error);
  return session && same_signal(last, fc_session_format(session), rate, error) &&
         send(session, in, out, error);
}

/* ---- tests for a frequency response ----------------------------------------------------- */

typedef struct trial {
  double *in, *first, *second, *both;
} trial;

/* The response to a sum of signals must be the sum of the responses, and silence must stay silence. */
static gboolean check_linear(const trial *t, double largest) {
  double off = 0;
  for (gsize i = 0; i < LENGTH; i++) off = MAX(off, fabs(t->first[i] + 0.25 * t->second[i] - t->both[i]));
  return off <= 1e-6 * largest;
}

/* A softer signal must give the same result, softer: a gate passes noise only if it is loud. */
static gboolean check_soft(const trial *t, double factor, double largest) {
  double off = 0;
  for (gsize i = 0; i < LENGTH; i++) off = MAX(off, fabs(factor * t->first[i] - t->second[i]));
  return off <= 1e-6 * factor * largest;
}

/* A later signal must give the same result, later. */
static gboolean check_steady(const trial *t, gsize later, double largest) {
  double off = 0;
  for (gsize i = 0; i + later < LENGTH; i++) off = MAX(off, fabs(t->first[i] - t->second[i + later]));
  return off <= 1e-6 * largest;
}

static double largest_of(const double *values) {
  double most = 0;
  for (gsize i = 0; i < LENGTH; i++) most = MAX(most, fabs(values[i]));
  return most;
}

/* Noise of magnitude up to 1 in the middle half. */
static void fill_noise(double *to, guint32 seed) {
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  memset(to, 0, LENGTH * sizeof *to);
  for (gsize i = LENGTH / 4; i < 3 * LENGTH / 4; i++) to[i] = g_rand_double_range(rand, -1, 1);
}

static gboolean check_stage(fc_context *context, const char *text, double rate, const trial *t,
                            GError **error) {
  const char *const stages[] = {text, NULL};
  enum { LATER = 4001 };
  const double soft = 1e-5;
  fill_noise(t->in, 1);
  if (!filter(context, stages, rate, t->in, t->first, error)) return FALSE;
  fill_noise(t->in, 2);
  if (!filter(context, stages, rate, t->in, t->second, error)) return FALSE;
  fill_noise(t->both, 1);
  for (gsize i = 0; i < LENGTH; i++) t->in[i] = t->both[i] + 0.25 * t->in[i];
  if (!filter(context, stages, rate, t->in, t->both, error)) return FALSE;
  const double largest = MAX(largest_of(t->first), 1e-3);
  if (!check_linear(t, largest)) return fail_stage(error, text, "it is not linear");
  fill_noise(t->in, 1);
  for (gsize i = 0; i < LENGTH; i++) t->in[i] *= soft;
  if (!filter(context, stages, rate, t->in, t->second, error)) return FALSE;
  if (!check_soft(t, soft, largest)) return fail_stage(error, text, "it is not linear");
  /* The same impulse early and late: alone it shows effects that noise would hide. */
  memset(t->in, 0, LENGTH * sizeof *t->in);
  t->in[CENTRE] = 1;
  if (!filter(context, stages, rate, t->in, t->first, error)) return FALSE;
  t->in[CENTRE] = 0, t->in[CENTRE + LATER] = 1;
  if (!filter(context, stages, rate, t->in, t->second, error)) return FALSE;
  if (check_steady(t, LATER, MAX(largest_of(t->first), 1e-3))) return TRUE;
  return fail_stage(error, text, "it changes with time");
}

/* ---- the response ---------------------------------------------------------------------- */

typedef struct response {
  double frequency[POINTS], decibels[POINTS], degrees[POINTS], delay[POINTS]; /* in ms */
} response;

/* H = sum h[n] e^-jwn, and the group delay Re(sum n h[n] e^-jwn / H), n from the impulse on. */
static void measure(const double *h, double rate, response *r) {
  gsize first = LENGTH, last = 0;
  for (gsize i = 0; i < LENGTH; i++)
    if (h[i] != 0) first = MIN(first, i), last = i;
  for (gsize k = 0; k < POINTS; k++) {
    const double low = MIN(20, rate / 200), f = low * pow(rate / 2 / low, (double)k / (POINTS - 1));
    const double w = 2 * G_PI * f / rate;
    double re = 0, im = 0, late_re = 0, late_im = 0;
    for (gsize i = first; i <= last && first < LENGTH; i++) {
      const double n = (double)i - CENTRE, c = h[i] * cos(w * n), s = -h[i] * sin(w * n);
      re += c, im += s, late_re += n * c, late_im += n * s;
    }
    const double power = re * re + im * im;
    r->frequency[k] = f;
    r->decibels[k] = power > 0 ? 10 * log10(power) : -INFINITY;
    r->degrees[k] = power > 0 ? atan2(im, re) * 180 / G_PI : NAN;
    if (r->degrees[k] < -179) r->degrees[k] += 360; /* rounding would draw a negative gain at both ends */
    r->delay[k] = power > 1e-20 ? (late_re * re + late_im * im) / power / rate * 1000 : NAN;
  }
}

/* The axis covers the finite values and is at least `room` high. */
static plot_panel panel_of(const char *title, const double *values, double room, double deepest) {
  double least = INFINITY, most = -INFINITY;
  for (gsize i = 0; i < POINTS; i++)
    if (isfinite(values[i])) least = MIN(least, values[i]), most = MAX(most, values[i]);
  if (least > most) least = most = 0;
  least = MAX(least, most - deepest);
  const double spare = MAX(room - (most - least), 0) / 2;
  const double step = plot_step((most - least + 2 * spare) / 6);
  return (plot_panel){title, values, floor((least - spare) / step) * step, ceil((most + spare) / step) * step,
                      step};
}

static char *draw(const arguments *a, double rate, const response *r) {
  g_autofree char *chain = g_strjoinv(" ", (char **)a->stages->pdata);
  g_autofree char *title = g_strdup_printf("%s, at %g Hz", chain, rate);
  const plot_panel panels[] = {panel_of("magnitude, dB", r->decibels, 12, 140),
                               {"phase, degrees", r->degrees, -180, 180, 90},
                               panel_of("group delay, ms", r->delay, 0.1, 1e9)};
  return plot_svg(title, r->frequency, POINTS, panels, G_N_ELEMENTS(panels));
}

/* The linear part of the chain, ending with NULL; a stage that is left out is reported. */
static gboolean pick_linear(const arguments *a, fc_context *context, double rate, const trial *t,
                            GPtrArray *linear, GError **error) {
  for (guint i = 0; i + 1 < a->stages->len; i++) {
    char *stage = g_ptr_array_index(a->stages, i);
    GError *why = NULL;
    if (check_stage(context, stage, rate, t, &why)) {
      g_ptr_array_add(linear, stage);
    } else if (a->stages->len > 2 && g_error_matches(why, FC_ERROR, FC_UNSUPPORTED)) {
      say_note("%s: it is left out", why->message);
      g_error_free(why);
    } else {
      g_propagate_error(error, why);
      return FALSE;
    }
  }
  g_ptr_array_add(linear, NULL);
  if (linear->len > 1) return TRUE;
  g_set_error(error, FC_ERROR, FC_INVALID, "no stage of the chain has a frequency response");
  return FALSE;
}

static gboolean plot(const arguments *a, fc_context *context, GError **error) {
  const double rate = a->rate ? (double)a->rate : 48000;
  g_autofree double *memory = g_new0(double, 4 * LENGTH);
  const trial t = {memory, memory + LENGTH, memory + 2 * LENGTH, memory + 3 * LENGTH};
  g_autoptr(GPtrArray) linear = g_ptr_array_new();
  if (!pick_linear(a, context, rate, &t, linear, error)) return FALSE;
  memset(t.in, 0, LENGTH * sizeof *t.in);
  t.in[CENTRE] = 1;
  if (!filter(context, (const char *const *)linear->pdata, rate, t.in, t.first, error)) return FALSE;
  g_autofree response *r = g_new0(response, 1);
  measure(t.first, rate, r);
  g_autofree char *svg = draw(a, rate, r);
  return report_write(a->output, svg, strlen(svg), error);
}

exit_status plot_command(const arguments *a) {
  g_autoptr(GError) error = NULL;
  if (a->operands->len) {
    say_error("plot: unexpected \"%s\"; stages are given with -p",
              (const char *)g_ptr_array_index(a->operands, 0));
    return EXIT_USAGE;
  }
  if (!a->stages->len || !a->output) {
    say_error("plot needs stages and a file to write: filterchain plot -p biquad:lowpass:freq=1000 -o "
              "response.svg");
    return EXIT_USAGE;
  }
  if (!plot_is_svg(a->output, &error)) return say_gerror(error);
  g_ptr_array_add(a->stages, NULL);
  g_autoptr(fc_context) context = command_context(a);
  return plot(a, context, &error) ? EXIT_DONE : say_gerror(error);
}

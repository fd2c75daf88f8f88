/* SPDX-License-Identifier: MIT */
/*
 * test_session.c - sessions as a live program uses them: ended after any number of samples, fed with nothing,
 * failing on the way, and never further behind than they have told. That they make the bits of a file is
 * tested of all operators by tests/engine/test_graphs.c.
 */
#include "core/contract/fc_helpers.h"
#include "core/contract/filterchain.h"

#include <string.h>

enum { MOST = 4000, CHANNELS = 2 };

static fc_context *context;
static float input[MOST * CHANNELS];

static fc_view view_of(float *data, gint64 frames) {
  fc_view v = {
      .size = sizeof v, .dtype = FC_F32, .kind = FC_AUDIO, .data = data, .shape = {1, 1, frames, CHANNELS}};
  memcpy(v.extent, v.shape, sizeof v.extent);
  v.stride[FC_AXIS_C] = 4, v.stride[FC_AXIS_X] = 4 * CHANNELS;
  v.stride[FC_AXIS_Y] = v.stride[FC_AXIS_N] = 4 * CHANNELS * MAX(frames, 1);
  return v;
}

static fc_format format_of(gint64 frames) {
  return (fc_format){.size = sizeof(fc_format),
                     .kind = FC_AUDIO,
                     .dtype = FC_F32,
                     .bits = 24,
                     .extent = {1, 1, frames, CHANNELS},
                     .rate = 8000};
}

static fc_options options_of(void) {
  static fc_format meaning;
  meaning = format_of(0);
  fc_options o = FC_OPTIONS_INIT;
  o.device = "cpu", o.precision = FC_F32, o.meaning = &meaning;
  return o;
}

static fc_session *open_session(fc_chain *chain, GError **error) {
  const fc_format format = format_of(FC_UNKNOWN);
  const fc_options o = options_of();
  return fc_session_new(chain, &format, FC_F32, &o, error);
}

static void push(fc_session *s, gint64 from, gint64 frames) {
  GError *error = NULL;
  fc_view part = view_of(input + from * CHANNELS, frames);
  fc_session_push(s, &part, &error);
  g_assert_no_error(error);
}

/* As much as there is, behind what there was. */
static gint64 pull(fc_session *s, float *to, gint64 done, gint64 room) {
  GError *error = NULL;
  fc_view into = view_of(to + done * CHANNELS, room - done);
  const gint64 got = fc_session_pull(s, &into, &error);
  g_assert_no_error(error);
  return done + got;
}

static gint64 run_whole(fc_chain *chain, gint64 frames, float *out) {
  const fc_format in = format_of(frames);
  const fc_options o = options_of();
  fc_format made = {.size = sizeof made, .dtype = FC_F32};
  GError *error = NULL;
  const gint64 length = fc_chain_output_format(chain, &in, &o, &made, &error) ? made.extent[FC_AXIS_X] : -1;
  g_clear_error(&error);
  if (length < 0 || length > 2 * MOST || made.extent[FC_AXIS_C] != CHANNELS) return -1;
  fc_view from = view_of(input, frames), to = view_of(out, length);
  if (fc_chain_run_host(chain, &from, &to, &o, NULL, &error)) return length;
  g_clear_error(&error);
  return -1;
}

/* ---- ended anywhere ------------------------------------------------------------------------- */

static const char *const chains[][4] = {
    {"gain:0.5", NULL},
    {"conv1d:[1,2,4,3]/10", "biquad:lowpass:freq=1kHz", "winstat:window=31:stat=mean", NULL},
    {"resample:12000", "gain:2", NULL},
    {"stft:64:hop=16", "istft:64:hop=16", NULL},
    {"delay:7", "reverse", NULL}, /* which no session takes */
    {"trim:5:to=30", "conv1d:[1,1,1]:mode=full:border=reflect", NULL},
    {"limiter:0.5", "gate:-40dB", NULL},
};

static void end_after(const char *const *stages, gint64 frames) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  g_autofree float *expect = g_new0(float, 2 * MOST * CHANNELS), *got = g_new0(float, 2 * MOST * CHANNELS);
  const gint64 length = run_whole(chain, frames, expect);
  fc_session *s = open_session(chain, &error);
  if (!s || length < 0) { /* nothing is left of so short a sound, or all of it is needed at once */
    if (!s) g_assert_nonnull(strstr(error->message, "needs the whole signal"));
    fc_session_free(s);
    return;
  }
  gint64 done = 0;
  for (gint64 at = 0, piece; at < frames; at += piece) {
    const gint64 wish = g_test_rand_int_range(0, 12);
    piece = MIN(wish, frames - at);
    push(s, at, piece);
    if (g_test_rand_bit()) done = pull(s, got, done, 2 * MOST);
  }
  for (int twice = 0; twice < 2; twice++) {
    g_assert_true(fc_session_drain(s, &error));
    done = pull(s, got, done, 2 * MOST);
    if (done != length)
      g_error("%s, %d samples: %d came out, not %d", stages[0], (int)frames, (int)done, (int)length);
  }
  g_assert_cmpmem(got, sizeof(float) * (gsize)(length * CHANNELS), expect,
                  sizeof(float) * (gsize)(length * CHANNELS));
  fc_session_free(s);
}

static void test_ended_anywhere(void) {
  for (guint i = 0; i < G_N_ELEMENTS(chains); i++)
    for (gint64 frames = 0; frames < 300; frames += frames < 70 ? 1 : 37) end_after(chains[i], frames);
}

/* Nothing, pushed at any time, changes nothing; and nothing is there to be pulled before anything has come.
 */
static void test_nothing(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, chains[1], &error);
  g_autofree float *expect = g_new0(float, 2 * MOST * CHANNELS), *got = g_new0(float, 2 * MOST * CHANNELS);
  const gint64 length = run_whole(chain, 500, expect);
  fc_session *s = open_session(chain, &error);
  g_assert_no_error(error);
  gint64 done = 0;
  for (gint64 at = 0; at < 500; at += 100) {
    for (int i = 0; i < 3; i++) push(s, at, 0);
    g_assert_cmpint(pull(s, got, done, done), ==, done); /* room for nothing */
    push(s, at, 100);
    push(s, at, 0);
    done = pull(s, got, done, 2 * MOST);
  }
  g_assert_true(fc_session_drain(s, &error));
  done = pull(s, got, done, 2 * MOST);
  g_assert_cmpint(done, ==, length);
  g_assert_cmpmem(got, sizeof(float) * 500 * CHANNELS, expect, sizeof(float) * 500 * CHANNELS);
  fc_session_free(s);
}

/* ---- never further behind than told ----------------------------------------------------------- */

/* Whether a session takes it, and makes a sample for each. */
static gboolean check_latency(const char *stage) {
  const char *const stages[] = {stage, NULL};
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, NULL);
  g_autofree float *out = g_new0(float, 2 * MOST * CHANNELS);
  fc_session *s = chain && run_whole(chain, MOST, out) == MOST ? open_session(chain, NULL) : NULL;
  if (!s) return FALSE;
  const gint64 latency = fc_session_latency(s);
  g_assert_cmpint(latency, >=, 0);
  gint64 done = 0;
  for (gint64 at = 0, piece; at < MOST; at += piece) {
    const gint64 wish = g_test_rand_int_range(1, 200);
    piece = MIN(wish, MOST - at);
    push(s, at, piece);
    done = pull(s, out, done, 2 * MOST);
    if (done < at + piece - latency)
      g_error("%s: %d samples out of %d, behind by more than %d", stage, (int)done, (int)(at + piece),
              (int)latency);
  }
  g_assert_true(fc_session_drain(s, NULL));
  g_assert_cmpint(pull(s, out, done, 2 * MOST), ==, MOST);
  fc_session_free(s);
  return TRUE;
}

static void test_latency(void) {
  gsize count;
  guint checked = 0;
  g_autofree const fc_operator **ops = fc_context_operators(context, &count);
  for (gsize i = 0; i < count; i++)
    for (guint e = 0; ops[i]->examples[e]; e++) checked += (guint)check_latency(ops[i]->examples[e]);
  g_test_message("%u examples", checked);
  g_assert_cmpuint(checked, >, 40);
}

/* ---- failing on the way -------------------------------------------------------------------------- */

static int calls_left;

static fc_status fail_later(const fc_host *host, const void *state, const fc_job *job) {
  if (calls_left-- == 0) return host->fail(host, FC_FATAL, "it has had enough");
  for (gint64 x = 0; x < job->out->shape[FC_AXIS_X]; x++)
    for (gint64 c = 0; c < job->out->shape[FC_AXIS_C]; c++)
      memcpy(fc_view_at(job->out, 0, 0, x, c), fc_view_at(job->in[0], 0, 0, x, c), sizeof(float));
  return FC_OK;
}

static const fc_operator tires = {.size = sizeof tires,
                                  .name = "tires",
                                  .summary = "a copy, until it fails",
                                  .doc = "For tests.",
                                  .examples = FC_TEXTS("tires"),
                                  .kinds = FC_KIND_BIT(FC_AUDIO),
                                  .dtypes_in = FC_DTYPE_BIT(FC_F32),
                                  .dtypes_out = FC_DTYPE_BIT(FC_F32),
                                  .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, fail_later))};
FC_PLUGIN("tiring", "1.0", "the filterchain authors", "MIT", "", &tires)

/* Fails in the middle, or at the end; what follows says so, and another session of the chain is none the
 * worse. */
static void test_failing(void) {
  static const char *const stages[] = {"conv1d:[1,2,1]/4", "tires", NULL};
  g_autoptr(GError) error = NULL;
  g_autofree float *out = g_new0(float, 2 * MOST * CHANNELS);
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  for (int good = 0; good < 5; good++) {
    calls_left = good;
    fc_session *s = open_session(chain, &error);
    g_assert_no_error(error);
    gboolean ok = TRUE;
    for (int i = 0; ok && i < 4; i++) {
      fc_view part = view_of(input + i * 100 * CHANNELS, 100);
      ok = fc_session_push(s, &part, &error);
    }
    if (ok) ok = fc_session_drain(s, &error);
    g_assert_false(ok);
    g_assert_error(error, FC_ERROR, FC_FATAL);
    g_assert_nonnull(strstr(error->message, "tires: it has had enough"));
    g_clear_error(&error);
    fc_view room = view_of(out, 10);
    g_assert_false(fc_session_push(s, &room, &error));
    g_assert_error(error, FC_ERROR, FC_INVALID);
    g_clear_error(&error);
    g_assert_cmpint(fc_session_pull(s, &room, NULL), ==, -1);
    g_assert_false(fc_session_drain(s, NULL));
    g_assert_null(fc_session_result(s, NULL));
    fc_session_free(s);
  }
  calls_left = 1000;
  end_after(stages, 200);
}

/* A view that does not fit is refused, and the session goes on. */
static void test_wrong_views(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, chains[1], &error);
  g_autofree float *expect = g_new0(float, 2 * MOST * CHANNELS), *got = g_new0(float, 2 * MOST * CHANNELS);
  run_whole(chain, 200, expect);
  fc_session *s = open_session(chain, &error);
  push(s, 0, 100);
  fc_view wrong = view_of(input, 10);
  wrong.shape[FC_AXIS_C] = wrong.extent[FC_AXIS_C] = 1;
  g_assert_false(fc_session_push(s, &wrong, NULL));
  g_assert_cmpint(fc_session_pull(s, &wrong, NULL), ==, -1);
  wrong = view_of(input, 10), wrong.dtype = FC_I16;
  g_assert_false(fc_session_push(s, &wrong, NULL));
  g_assert_cmpint(fc_session_pull(s, &wrong, NULL), ==, -1);
  g_assert_null(fc_session_result(s, NULL)); /* not yet */
  push(s, 100, 100);
  g_assert_true(fc_session_drain(s, &error));
  g_assert_cmpint(pull(s, got, 0, 2 * MOST), ==, 200);
  g_assert_cmpmem(got, sizeof(float) * 200 * CHANNELS, expect, sizeof(float) * 200 * CHANNELS);
  const fc_result *told = fc_session_result(s, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(told->device, ==, "cpu (1 thread)");
  g_assert_cmpint(told->in->extent[FC_AXIS_X], ==, 200); /* now that the end is known */
  g_assert_cmpint(told->out->extent[FC_AXIS_X], ==, 200);
  fc_session_free(s);
}

static void ignore(fc_log_level level, const char *message, void *data) {
  (void)level, (void)message, (void)data;
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  context = fc_context_new();
  fc_context_set_log(context, ignore, NULL);
  g_assert_true(fc_context_add_plugin(context, fc_plugin_entry_v1(), NULL));
  for (guint i = 0; i < G_N_ELEMENTS(input); i++) input[i] = (float)g_test_rand_double_range(-1, 1);
  g_test_add_func("/session/ended-anywhere", test_ended_anywhere);
  g_test_add_func("/session/nothing", test_nothing);
  g_test_add_func("/session/latency", test_latency);
  g_test_add_func("/session/failing", test_failing);
  g_test_add_func("/session/wrong-views", test_wrong_views);
  const int status = g_test_run();
  fc_context_free(context);
  return status;
}

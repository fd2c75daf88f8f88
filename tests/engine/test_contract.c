/* SPDX-License-Identifier: MIT */
/*
 * test_contract.c - what the engine holds operators to, and itself: halos on every axis, needs that may not
 * grow, borders that must be chosen, structs of other sizes.
 */
#include "core/base/error.h"
#include "core/context/chain.h"
#include "core/plan/chunk.h"
#include "core/run/memory.h"
#include "core/run/result.h"
#include "core/run/run.h"

#include <string.h>

typedef struct rule {
  fc_axis axis;
  gint64 before, after, align, grows; /* grows: `before` once the extent is known */
  int border;
  guint64 measure_bytes;
  gint64 makes;           /* a generator: elements */
  gboolean longest, told; /* as long as the longer of two inputs; told although one has no end yet */
} rule;

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const rule *r = self;
  if (r->makes) {
    terms->out->kind = FC_AUDIO, terms->out->rate = 8000;
    for (int a = 0; a < FC_AXES; a++) terms->out->extent[a] = 1;
    terms->out->extent[FC_AXIS_X] = r->makes;
    return FC_OK;
  }
  fc_reach *reach = &terms->needs[0]->reach[r->axis];
  reach->before = r->before, reach->after = r->after, reach->align = r->align;
  if (r->grows && terms->in[0]->extent[r->axis] >= 0) reach->before = r->grows;
  if (r->longest) {
    const gint64 other = terms->in[1]->extent[FC_AXIS_X];
    terms->needs[1]->border = r->border;
    terms->out->extent[FC_AXIS_X] =
        other < 0 && !r->told ? FC_UNKNOWN : MAX(terms->in[0]->extent[FC_AXIS_X], other);
  }
  terms->needs[0]->border = r->border;
  terms->measure_bytes = r->measure_bytes;
  return FC_OK;
}

/* The mean of what is looked at along the axis. */
static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const rule *r = state;
  const fc_view *out = job->out;
  for (gint64 i = 0; i < fc_view_count(out); i++) {
    const gint64 *n = out->shape;
    gint64 at[FC_AXES] = {i / (n[1] * n[2] * n[3]), i / (n[2] * n[3]) % n[1], i / n[3] % n[2], i % n[3]};
    float *to = fc_view_at(out, at[0], at[1], at[2], at[3]);
    double sum = 0;
    for (gint64 j = -r->before; j <= r->after && job->n_in; j++) {
      gint64 p[FC_AXES];
      memcpy(p, at, sizeof p);
      p[r->axis] += j;
      sum += *(const float *)fc_view_at(job->in[0], p[0], p[1], p[2], p[3]);
    }
    *to = (float)(sum / (double)(r->before + r->after + 1));
  }
  return FC_OK;
}

static const fc_backend cpu = {.size = sizeof cpu, .process = process};
static const fc_backend *const backends[] = {&cpu, NULL};
static const fc_operator mean = {.size = sizeof mean,
                                 .name = "mean",
                                 .kinds = FC_KINDS_ALL,
                                 .dtypes_in = FC_DTYPE_BIT(FC_F32),
                                 .dtypes_out = FC_DTYPE_BIT(FC_F32),
                                 .negotiate = negotiate,
                                 .backends = backends};
static const fc_operator maker = {.size = sizeof maker,
                                  .flags = FC_OP_GENERATOR,
                                  .name = "maker",
                                  .kinds = FC_KINDS_ALL,
                                  .dtypes_in = FC_DTYPE_BIT(FC_F32),
                                  .dtypes_out = FC_DTYPE_BIT(FC_F32),
                                  .negotiate = negotiate,
                                  .backends = backends};

static fc_context *context;

static fc_chain *chain_of(const fc_operator *op, rule *r) {
  fc_chain *chain = fc_chain_new(context);
  chain->n = 1, chain->stages = g_renew(fc_stage, chain->stages, 1);
  memset(chain->stages, 0, sizeof *chain->stages);
  fc_stage_host_init(&chain->stages[0].host, context);
  chain->stages[0].prepared = g_ptr_array_new();
  chain->stages[0].op = op, chain->stages[0].self = r;
  return chain;
}

static fc_plan *plan_of(fc_chain *chain, const fc_format *in, gint64 chunk, GError **error) {
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.chunk = chunk;
  fc_plan_query query = {.in = in, .wanted = -1, .rows = TRUE, .options = &options};
  return fc_plan_new(chain, &query, error);
}

static fc_format sound_of(gint64 length) {
  return (fc_format){.size = sizeof(fc_format),
                     .kind = FC_AUDIO,
                     .dtype = FC_F32,
                     .bits = 24,
                     .extent = {1, 1, length, 1},
                     .rate = 8000};
}

static fc_view frames_view(float *data, gint64 frames, gint64 side) {
  fc_view v = {
      .size = sizeof v, .dtype = FC_F32, .kind = FC_ARRAY, .data = data, .shape = {frames, side, side, 1}};
  v.stride[3] = v.stride[2] = 4, v.stride[1] = 4 * side, v.stride[0] = 4 * side * side;
  memcpy(v.extent, v.shape, sizeof v.extent);
  return v;
}

/* The mean over neighbouring frames, of small ones and of such as would else go by rows. */
static void test_frames(void) {
  static const gint64 sides[] = {64, 2200};
  rule r = {.axis = FC_AXIS_N, .before = 1, .after = 1, .align = 1, .border = FC_BORDER_REPLICATE};
  for (guint i = 0; i < G_N_ELEMENTS(sides); i++)
    for (gint64 chunk = 0; chunk < 2; chunk++) {
      const gint64 count = sides[i] * sides[i];
      g_autofree float *in = g_new(float, 3 * count), *out = g_new0(float, 3 * count);
      for (gint64 k = 0; k < 3 * count; k++) in[k] = k < count ? 1 : k < 2 * count ? 10 : 100;
      fc_view from = frames_view(in, 3, sides[i]), to = frames_view(out, 3, sides[i]);
      fc_chain *chain = chain_of(&mean, &r);
      GError *error = NULL;
      fc_format format;
      fc_format_of_view(&from, &format);
      fc_plan *plan = plan_of(chain, &format, chunk, &error);
      fc_run *run = plan ? fc_run_new(plan, NULL, &error) : NULL;
      g_assert_no_error(error);
      fc_source *source = fc_memory_source_new(context, &from);
      fc_sink *sink = fc_memory_sink_new(context, &to);
      fc_ends ends = {.source = source, .sink = sink, .name = "output"};
      fc_options options = FC_OPTIONS_INIT;
      fc_result *result = fc_result_new();
      gboolean began;
      fc_run_execute(run, &ends, &options, NULL, result, &began, &error);
      g_assert_no_error(error);
      for (gint64 k = 0; k < 3 * count; k++)
        g_assert_cmpfloat(out[k], ==, k < count ? 4 : k < 2 * count ? 37 : 70);
      memset(out, 0, (gsize)(3 * count) * sizeof *out);
      options.device = "cpu";
      fc_chain_run_host(chain, &from, &to, &options, NULL, &error);
      g_assert_no_error(error);
      for (gint64 k = 0; k < 3 * count; k++)
        g_assert_cmpfloat(out[k], ==, k < count ? 4 : k < 2 * count ? 37 : 70);
      fc_result_free(result);
      source->free(source);
      sink->free(sink);
      fc_run_free(run);
      fc_plan_unref(plan);
      fc_chain_free(chain);
    }
}

/* Less may be asked for once the end is known, and no more. */
static void test_growing(void) {
  rule r = {.axis = FC_AXIS_X, .before = 4, .align = 1, .border = FC_BORDER_ZERO, .grows = 1 << 22};
  fc_format in = sound_of(FC_UNKNOWN);
  fc_chain *chain = chain_of(&mean, &r);
  GError *error = NULL;
  fc_plan *plan = plan_of(chain, &in, 0, &error);
  g_assert_no_error(error);
  g_assert_null(fc_plan_with_extent(plan, -1, 100, &error));
  g_assert_error(error, FC_ERROR, FC_FATAL);
  g_assert_nonnull(strstr(error->message, "needs more since the end is known"));
  g_clear_error(&error);
  r.grows = 2;
  fc_plan *shorter = fc_plan_with_extent(plan, -1, 100, &error);
  g_assert_no_error(error);
  g_assert_cmpint(shorter->links[1].extent[FC_AXIS_X], ==, 100);
  g_assert_cmpint(plan->links[1].extent[FC_AXIS_X], ==, FC_UNKNOWN); /* a plan does not change */
  fc_plan_unref(shorter);
  fc_plan_unref(plan);
  fc_chain_free(chain);
}

/* By a further input that ends an output length becomes known, but not another. */
static void test_further_end(void) {
  rule r = {.axis = FC_AXIS_X, .after = 1, .align = 1, .border = FC_BORDER_ZERO, .longest = TRUE};
  fc_format in = sound_of(50), other = sound_of(FC_UNKNOWN);
  const fc_format *const sides[] = {&other};
  fc_plan_query query = {.in = &in, .sides = sides, .wanted = -1};
  fc_chain *chain = chain_of(&mean, &r);
  chain->stages[0].n_inputs = 1, chain->stages[0].inputs = g_new0(fc_stage_input, 1);
  for (int told = 0; told < 2; told++) {
    GError *error = NULL;
    r.told = told;
    fc_plan *plan = fc_plan_new(chain, &query, &error);
    g_assert_no_error(error);
    g_assert_false(plan->sides[0].random);
    fc_plan *ended = fc_plan_with_extent(plan, 0, 80, &error);
    if (told) {
      g_assert_null(ended);
      g_assert_error(error, FC_ERROR, FC_FATAL);
      g_assert_nonnull(strstr(error->message, "another length"));
      g_clear_error(&error);
    } else {
      g_assert_no_error(error);
      g_assert_cmpint(ended->links[1].extent[FC_AXIS_X], ==, 80);
      g_assert_cmpint(fc_plan_extent(ended, 0), ==, 80);
      g_assert_cmpint(fc_plan_extent(ended, -1), ==, 50);
    }
    fc_plan_unref(ended);
    fc_plan_unref(plan);
  }
  fc_chain_free(chain);
}

static void refuse(const rule *what, const char *because) {
  rule r = *what;
  fc_format in = sound_of(1000);
  fc_chain *chain = chain_of(&mean, &r);
  GError *error = NULL;
  g_assert_null(plan_of(chain, &in, 0, &error));
  g_assert_error(error, FC_ERROR, FC_FATAL);
  if (!strstr(error->message, because)) g_error("said: %s", error->message);
  g_clear_error(&error);
  fc_chain_free(chain);
}

static void test_terms(void) {
  refuse(&(rule){.axis = FC_AXIS_X, .before = 1, .align = 1, .border = FC_BORDER_UNSET}, "chooses no border");
  refuse(&(rule){.axis = FC_AXIS_X, .after = 1, .align = 1, .border = FC_BORDER_UNSET}, "chooses no border");
  refuse(&(rule){.axis = FC_AXIS_X, .before = G_MAXINT64 - 1, .align = 1}, "2^40");
  refuse(&(rule){.axis = FC_AXIS_X, .before = G_MININT64, .align = 1}, "2^40");
  refuse(&(rule){.axis = FC_AXIS_X, .align = G_MAXINT64}, "2^40");
  refuse(&(rule){.axis = FC_AXIS_X, .align = 0}, "below 1");
  refuse(&(rule){.axis = FC_AXIS_X, .align = 1, .border = 99}, "unknown border");
  refuse(&(rule){.axis = FC_AXIS_X, .align = 16, .measure_bytes = 8}, "nobody to collect");
}

/* Chunks hold whole blocks, so that none is computed twice. */
static void test_blocks(void) {
  rule r = {.axis = FC_AXIS_X, .align = 960, .border = FC_BORDER_NONE};
  fc_format in = sound_of(100000);
  fc_chain *chain = chain_of(&mean, &r);
  for (gint64 chunk = 1; chunk < 3000; chunk += 700) {
    g_autoptr(fc_plan) plan = plan_of(chain, &in, chunk, NULL);
    g_assert_cmpint(plan->chunk % 960, ==, 0);
    g_assert_cmpint(plan->chunk, >=, chunk);
    g_assert_cmpfloat(fc_plan_rework(plan, 0), ==, 1);
    g_autofree char *text = fc_plan_explain(plan, "in", "out", FALSE);
    g_assert_nonnull(strstr(text, "blocks of 960"));
  }
  fc_chain_free(chain);
}

/* Structs of callers who know less, and windows of signals. */
static void test_sizes(void) {
  rule r = {.axis = FC_AXIS_X, .before = 1, .align = 1, .border = FC_BORDER_ZERO};
  fc_chain *chain = chain_of(&mean, &r);
  GError *error = NULL;
  struct {
    fc_format format;
    guint64 behind;
  } small = {{0}, 0};
  const guint32 known = G_STRUCT_OFFSET(fc_format, color);
  fc_format in = sound_of(10);
  in.size = known;
  memset(&small, 0x5a, sizeof small);
  small.format.size = known, small.format.dtype = -1;
  g_assert_true(fc_chain_output_format(chain, &in, NULL, &small.format, &error));
  g_assert_cmpint(small.format.extent[FC_AXIS_X], ==, 10);
  for (const char *p = (const char *)&small + known; p < (const char *)(&small + 1); p++)
    g_assert_cmpint(*p, ==, 0x5a);

  float samples[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, made[10];
  fc_view from = {
      .size = G_STRUCT_OFFSET(fc_view, origin), .dtype = FC_F32, .kind = FC_AUDIO, .data = samples};
  from.shape[0] = from.shape[1] = from.shape[3] = 1, from.shape[2] = 10;
  from.stride[3] = from.stride[2] = 4, from.stride[1] = from.stride[0] = 40;
  fc_view to = from;
  to.data = made;
  memset(from.origin, 0x7f, sizeof from.origin); /* beyond what the caller's view has */
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu";
  g_assert_true(fc_chain_run_host(chain, &from, &to, &options, NULL, &error));
  g_assert_no_error(error);
  g_assert_cmpfloat(made[0], ==, 0.5f);
  fc_view window = to;
  window.size = sizeof window, window.data = samples;
  memset(window.origin, 0, sizeof window.origin);
  memcpy(window.extent, window.shape, sizeof window.extent);
  window.origin[FC_AXIS_X] = 5, window.extent[FC_AXIS_X] = 100;
  g_assert_false(fc_chain_run_host(chain, &window, &to, &options, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_UNSUPPORTED);
  g_clear_error(&error);
  fc_chain_free(chain);
}

static void test_generator(void) {
  rule r = {.makes = 5000};
  fc_chain *chain = chain_of(&maker, &r);
  GError *error = NULL;
  fc_format in = sound_of(10);
  g_assert_null(plan_of(chain, &in, 0, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_clear_error(&error);
  g_autoptr(fc_plan) plan = plan_of(chain, NULL, 0, &error);
  g_assert_no_error(error);
  g_assert_cmpint(plan->links[1].extent[FC_AXIS_X], ==, 5000);
  g_assert_cmpfloat(fc_plan_output_bytes(plan), ==, 20000);
  fc_chain_free(chain);
}

static guint prepared, released;

static fc_status count_prepare(const fc_host *host, void *self, const fc_setup *setup, void **state) {
  prepared++, *state = self;
  return FC_OK;
}

static void count_release(const fc_host *host, void *state) {
  released += state != NULL;
}

/* 10,000 images of 10,000 sizes, in no order: one preparation, no release; with a border, by three threads.
 */
static void test_prepared_once(void) {
  enum { SIDES = 100, SIZES = SIDES * SIDES, STEP = 7919 }; /* a prime that does not divide SIZES */
  const fc_backend counted = {
      .size = sizeof counted, .prepare = count_prepare, .release = count_release, .process = process};
  const fc_backend *const only[] = {&counted, NULL};
  fc_operator op = mean;
  rule r = {.axis = FC_AXIS_X, .before = 1, .after = 1, .align = 1, .border = FC_BORDER_REPLICATE};
  op.backends = only;
  fc_chain *chain = chain_of(&op, &r);
  static float in[SIDES * SIDES], out[SIDES * SIDES];
  for (int i = 0; i < SIZES; i++) in[i] = 2;
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu";
  for (int i = 0; i < SIZES; i++) {
    const int size = (int)((gint64)i * STEP % SIZES), y = 1 + size / SIDES, x = 1 + size % SIDES;
    fc_view from = frames_view(in, 1, 1), to;
    from.shape[1] = from.extent[1] = y, from.shape[2] = from.extent[2] = x;
    from.stride[1] = 4 * x, from.stride[0] = 4 * x * y;
    to = from, to.data = out;
    options.threads = 1 + i % 3;
    out[x * y - 1] = 0;
    g_assert_true(fc_chain_run_host(chain, &from, &to, &options, NULL, NULL));
    g_assert_cmpfloat(out[x * y - 1], ==, 2);
  }
  g_assert_cmpuint(prepared, ==, 1);
  g_assert_cmpuint(released, ==, 0);
  fc_chain_free(chain);
  g_assert_cmpuint(released, ==, 1);
}

/* An axis wanted whole is held once. */
static void test_room(void) {
  rule r = {.axis = FC_AXIS_C, .before = FC_WHOLE, .after = FC_WHOLE, .align = 3};
  fc_format in = sound_of(1000);
  in.extent[FC_AXIS_C] = 3;
  fc_chain *chain = chain_of(&mean, &r);
  g_autoptr(fc_plan) plan = plan_of(chain, &in, 100, NULL);
  for (guint l = 0; l <= plan->n; l++) {
    gint64 capacity[FC_AXES];
    fc_plan_capacity(plan, l, capacity);
    g_assert_cmpint(capacity[FC_AXIS_C], ==, 3);
  }
  fc_chain_free(chain);
}

static fc_plan *limited_plan(rule *r, gint64 length, gsize most, GError **error) {
  fc_format in = sound_of(length);
  fc_chain *chain = chain_of(&mean, r);
  fc_context_set_max_memory(context, most);
  fc_plan *plan = plan_of(chain, &in, 0, error);
  fc_context_set_max_memory(context, 0);
  fc_chain_free(chain);
  return plan;
}

/* A plan keeps to the limit: chunks get smaller, and a border that does not fit is named. */
static void test_memory_limit(void) {
  rule narrow = {.axis = FC_AXIS_X, .before = 8, .after = 8, .align = 1, .border = FC_BORDER_REFLECT},
       wide = {.axis = FC_AXIS_X, .before = 2000000, .after = 2000000, .align = 1, .border = FC_BORDER_ZERO};
  GError *error = NULL;
  fc_plan *plan = limited_plan(&narrow, 10000000, 0, &error);
  const gint64 freely = plan->chunk;
  fc_plan_unref(plan);
  plan = limited_plan(&narrow, 10000000, 100000, &error);
  g_assert_no_error(error);
  g_assert_cmpint(plan->chunk, <, freely);
  g_assert_cmpfloat(fc_plan_bytes(plan), <=, 100000);
  fc_plan_unref(plan);
  plan = limited_plan(&wide, 10, 17000000, &error); /* the border, the signal and some alignment */
  g_assert_no_error(error);
  fc_plan_unref(plan);
  g_assert_null(limited_plan(&wide, 10, 1000000, &error));
  g_assert_error(error, FC_ERROR, FC_NO_MEMORY);
  g_assert_cmpstr(error->message, ==,
                  "this needs 16 MB of memory, and the limit is 1 MB (--max-memory changes it): mean "
                  "looks at 2000000 values before and 2000000 after each, in a sound of 10");
  g_error_free(error);
}

/* What leaves out the end of a signal without looking ahead makes too much of a stream. */
static fc_status shorten(const fc_host *host, void *self, fc_terms *terms) {
  if (terms->in[0]->extent[FC_AXIS_X] >= 0)
    terms->out->extent[FC_AXIS_X] = MAX(terms->in[0]->extent[FC_AXIS_X] - 5, 0);
  return FC_OK;
}

static void test_left_out(void) {
  fc_operator hasty = mean;
  rule r = {.axis = FC_AXIS_X, .align = 1};
  hasty.name = "hasty", hasty.negotiate = shorten;
  fc_chain *chain = chain_of(&hasty, &r);
  fc_format in = sound_of(FC_UNKNOWN);
  float samples[100] = {0};
  fc_view all = {
      .size = sizeof all, .dtype = FC_F32, .kind = FC_AUDIO, .data = samples, .shape = {1, 1, 100, 1}};
  all.stride[3] = all.stride[2] = 4, all.stride[1] = all.stride[0] = 400;
  GError *error = NULL;
  fc_session *session = fc_session_new(chain, &in, FC_F32, NULL, &error);
  g_assert_no_error(error);
  g_assert_true(fc_session_push(session, &all, &error));
  g_assert_false(fc_session_drain(session, &error));
  g_assert_error(error, FC_ERROR, FC_FATAL);
  g_assert_nonnull(strstr(error->message, "hasty: the plugin broke its contract: its output ends sooner"));
  g_error_free(error);
  fc_session_free(session);
  fc_chain_free(chain);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  context = fc_context_new_with(NULL);
  g_test_add_func("/contract/frames", test_frames);
  g_test_add_func("/contract/growing", test_growing);
  g_test_add_func("/contract/further-end", test_further_end);
  g_test_add_func("/contract/terms", test_terms);
  g_test_add_func("/contract/blocks", test_blocks);
  g_test_add_func("/contract/sizes", test_sizes);
  g_test_add_func("/contract/generator", test_generator);
  g_test_add_func("/contract/prepared-once", test_prepared_once);
  g_test_add_func("/contract/room", test_room);
  g_test_add_func("/contract/memory-limit", test_memory_limit);
  g_test_add_func("/contract/left-out", test_left_out);
  int status = g_test_run();
  fc_context_free(context);
  return status;
}

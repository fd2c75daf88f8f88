/* SPDX-License-Identifier: MIT */
/*
 * test_plan.c - plans by themselves, without files and without running anything: what the chunks of random
 * chains look at, in order. A source is read forwards and keeps the end of what was read; so the demand of no
 * chunk may lie further back than fc_plan_span says, and no stretch be longer than fc_plan_capacity says.
 * Operators here only negotiate: halos, shifts, scales, blocks, borders and lengths of every kind.
 */
#include "core/context/chain.h"
#include "core/plan/chunk.h"

#include <string.h>

typedef struct unit {
  fc_reach reach;
  int border;
  gint64 lengthen; /* added to the extent */
  guint64 measure_bytes, carry_bytes;
} unit;

static gint64 made_of(const unit *u, gint64 extent) {
  if (extent < 0) return extent;
  const fc_reach *r = &u->reach;
  const gint64 blocks = fc_scale_ceil(extent, 1, r->num);
  return MAX((r->num > 1 ? blocks * r->den : extent * r->den) + u->lengthen, 0);
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const unit *u = self;
  terms->needs[0]->reach[FC_AXIS_X] = u->reach;
  terms->needs[0]->border = u->border;
  terms->out->extent[FC_AXIS_X] = made_of(u, terms->in[0]->extent[FC_AXIS_X]);
  terms->measure_bytes = u->measure_bytes, terms->carry_bytes = u->carry_bytes;
  return FC_OK;
}

static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  return FC_OK;
}
static fc_status collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  return FC_OK;
}
static fc_status report(const fc_host *host, void *self) {
  return FC_OK;
}

static const fc_backend cpu = {.size = sizeof cpu, .process = process};
static const fc_backend *const backends[] = {&cpu, NULL};
static const fc_operator op = {.size = sizeof op,
                               .name = "unit",
                               .kinds = FC_KINDS_ALL,
                               .dtypes_in = FC_DTYPES_ALL,
                               .dtypes_out = FC_DTYPES_ALL,
                               .negotiate = negotiate,
                               .collect = collect,
                               .report = report,
                               .backends = backends};

static fc_context *context;

static fc_chain *chain_of(unit *units, guint n) {
  fc_chain *chain = fc_chain_new(context);
  chain->n = n, chain->stages = g_renew(fc_stage, chain->stages, n);
  memset(chain->stages, 0, n * sizeof *chain->stages);
  for (guint i = 0; i < n; i++) {
    fc_stage_host_init(&chain->stages[i].host, context);
    chain->stages[i].prepared = g_ptr_array_new();
    chain->stages[i].op = &op, chain->stages[i].self = &units[i];
  }
  return chain;
}

static fc_plan *plan_of(fc_chain *chain, gint64 length, gint64 chunk) {
  const fc_format in = {
      .size = sizeof in, .kind = FC_AUDIO, .dtype = FC_F32, .extent = {1, 1, length, 1}, .rate = 8000};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.chunk = chunk;
  const fc_plan_query query = {.in = &in, .wanted = -1, .options = &options};
  GError *error = NULL;
  fc_plan *plan = fc_plan_new(chain, &query, &error);
  g_assert_no_error(error);
  return plan;
}

static void check_room(const fc_plan *plan, const fc_chunk *chunk) {
  for (guint l = 0; l <= chunk->last; l++) {
    gint64 capacity[FC_AXES];
    fc_plan_capacity(plan, l, capacity);
    for (int a = 0; a < FC_AXES; a++)
      g_assert_cmpint(fc_range_length(chunk->links[l].held[a]), <=, capacity[a]);
  }
}

/* All chunks of a signal of this length, which the plan knows at once, or where chunks look beyond its end.
 */
static void walk(fc_chain *chain, gint64 length, gint64 chunk_length, gboolean unknown) {
  g_autoptr(fc_plan) plan = plan_of(chain, unknown ? FC_UNKNOWN : length, chunk_length), known = NULL;
  if (plan->whole) return; /* read into memory first */
  fc_chunker *chunker = fc_chunker_new(plan);
  fc_chunk *chunk = fc_chunk_new(plan);
  gint64 read_to = 0;
  const gint64 span = fc_plan_span(plan, 0);
  while (fc_chunker_next(chunker, chunk)) {
    const fc_range made = chunk->links[0].made[FC_AXIS_X];
    if (unknown && !known && made.hi >= length) {
      GError *error = NULL;
      known = fc_plan_with_extent(plan, -1, length, &error);
      g_assert_no_error(error);
      fc_chunker_replan(chunker, known);
      if (!fc_chunker_next(chunker, chunk)) break;
      if (!fc_range_empty(chunk->links[0].made[FC_AXIS_X]))
        g_assert_cmpint(chunk->links[0].needed, >=, made.lo);
    }
    check_room(plan, chunk);
    if (!fc_range_empty(chunk->links[0].made[FC_AXIS_X])) {
      g_assert_cmpint(chunk->links[0].needed, >=, read_to - span);
      read_to = MAX(read_to, chunk->links[0].made[FC_AXIS_X].hi);
    }
    fc_chunker_commit(chunker, chunk);
  }
  fc_chunk_free(chunk);
  fc_chunker_free(chunker);
}

static void walk_all(unit *units, guint n) {
  static const gint64 lengths[] = {0, 1, 50, 300, 1001}, chunks[] = {1, 7, 100, 4096};
  fc_chain *chain = chain_of(units, n);
  for (guint l = 0; l < G_N_ELEMENTS(lengths); l++)
    for (guint c = 0; c < G_N_ELEMENTS(chunks); c++)
      for (int unknown = 0; unknown < 2; unknown++) walk(chain, lengths[l], chunks[c], unknown);
  fc_chain_free(chain);
}

/* Blocks of 16 samples that become 9 bins, mirrored at the end, under a halo. */
static void test_blocks_that_shrink(void) {
  unit units[] = {{.reach = {0, 0, 16, 9, 9}, .border = FC_BORDER_REFLECT},
                  {.reach = {1, 1, 1, 1, 1}, .border = FC_BORDER_ZERO}};
  walk_all(units, 2);
}

/* Chunks are whole blocks of all stages, where that does not take many times the largest: blocks of 512 and
 * of 10922 (sums of 24 channels) have 2.8 million elements in common. */
static void test_blocks_of_two_lengths(void) {
  static const struct {
    gint64 one, other, chunk;
  } cases[] = {{512, 10922, 16 * 10922}, {10922, 512, 16 * 10922}, {512, 16384, 16384}, {48, 64, 4224}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    unit units[] = {{.reach = {0, 0, 1, 1, cases[i].one}, .border = FC_BORDER_ZERO},
                    {.reach = {0, 0, 1, 1, cases[i].other}, .border = FC_BORDER_ZERO, .measure_bytes = 8}};
    fc_chain *chain = chain_of(units, 2);
    {
      g_autoptr(fc_plan) plan = plan_of(chain, 100000000, 4096);
      g_assert_cmpint(plan->chunk, ==, cases[i].chunk);
      for (guint s = 0; s < 2; s++) g_assert_cmpfloat(fc_plan_rework(plan, s), <, 1.26);
    }
    fc_chain_free(chain);
  }
}

/* Whether an operator may answer so once the end is known: what it has let the host make stays, and images
 * lie no further back than it said. */
static void test_ends(void) {
  static const struct {
    unit unit;
    const char *because; /* NULL: it may */
  } cases[] = {
      {{{0, 0, 1, 1, 1}, FC_BORDER_NONE, 0, 0, 0}, NULL},
      {{{0, 8, 1, 1, 1}, FC_BORDER_NONE, -8, 0, 0}, NULL},
      {{{0, 7, 1, 1, 1}, FC_BORDER_ZERO, -8, 0, 0}, "ends sooner"},
      {{{0, 0, 1, 1, 1}, FC_BORDER_NONE, -8, 0, 0}, "ends sooner"},
      {{{0, 0, 1, 1, 16}, FC_BORDER_NONE, -32, 0, 0}, "ends sooner"},
      {{{0, 0, 1, 1, 1}, FC_BORDER_ZERO, 1000, 0, 0}, NULL},
      {{{8, 0, 1, 1, 1}, FC_BORDER_REFLECT, 8, 0, 0}, NULL},
      {{{8, 0, 1, 1, 1}, FC_BORDER_REFLECT, 9, 0, 0}, "goes on longer"},
      {{{0, 0, 1, 1, 1}, FC_BORDER_REPLICATE, 1000, 0, 0}, "goes on longer"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    unit one = cases[i].unit;
    fc_chain *chain = chain_of(&one, 1);
    g_autoptr(fc_plan) plan = plan_of(chain, FC_UNKNOWN, 100);
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_plan) known = fc_plan_with_extent(plan, -1, 160, &error);
    g_assert_cmpint(known != NULL, ==, cases[i].because == NULL);
    if (cases[i].because) {
      g_assert_error(error, FC_ERROR, FC_FATAL);
      g_assert_true(g_str_has_prefix(error->message, "unit: the plugin broke its contract: "));
      if (!strstr(error->message, cases[i].because)) g_error("case %u: %s", i, error->message);
    }
    fc_chain_free(chain);
  }
}

static unit random_unit(void) {
  const gint64 factor = g_test_rand_int_range(2, 20), other = g_test_rand_int_range(2, 20);
  unit u = {.reach = {0, 0, 1, 1, 1}, .border = g_test_rand_int_range(FC_BORDER_ZERO, FC_BORDER_WRAP)};
  switch (g_test_rand_int_range(0, 8)) {
  case 0: u.reach = (fc_reach){0, 0, factor, other, other}; break;  /* blocks of another length */
  case 1: u.reach = (fc_reach){0, 1 - factor, factor, 1, 1}; break; /* a decimator */
  case 2: u.reach = (fc_reach){factor, other, 1, factor, 1}; break; /* more samples */
  case 3: u.reach = (fc_reach){-factor, factor, 1, 1, 1}, u.lengthen = -factor; break; /* a crop */
  case 4: u.reach.align = factor, u.measure_bytes = 8; break;
  case 5: u.carry_bytes = 8; break;
  default:
    u.reach.before = g_test_rand_int_range(0, 60), u.reach.after = g_test_rand_int_range(0, 60);
    u.reach.align = g_test_rand_bit() ? 1 : factor;
  }
  return u;
}

static void test_random(void) {
  for (int i = 0; i < 600; i++) {
    unit units[5];
    const guint n = (guint)g_test_rand_int_range(1, 6);
    for (guint k = 0; k < n; k++) units[k] = random_unit();
    walk_all(units, n);
  }
}

/* Seconds on a GPU: what is to be compiled counts, as far as it holds up the run. */
static void test_predicted(void) {
  static const struct {
    fc_prediction p;
    double seconds;
  } cases[] = {
      {{.start = 0.35, .apart = 2, .joined = 1}, 1.35},                       /* all kernels are there */
      {{.start = 0.35, .apart = 2, .joined = 2}, 2.35},                       /* or none can be made */
      {{.start = 0.35, .apart = 0.1, .joined = 0.05, .compile = 0.25}, 0.45}, /* done before they are there */
      {{.start = 0.35, .apart = 2, .joined = 1, .compile = 0.5}, 0.35 + 0.5 + 0.75},
      {{.start = 0.35, .apart = 2, .joined = 1, .compile = 0.5, .waits = TRUE}, 0.35 + 0.5 + 1},
      {{.start = 0.35, .apart = 0.1, .joined = 0.05, .compile = 0.25, .waits = TRUE}, 0.35 + 0.25 + 0.05},
      {{.start = 0.35, .apart = 1, .joined = 1, .compile = 0.5}, 1.35}, /* nothing is gained */
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    g_assert_cmpfloat_with_epsilon(fc_predicted_gpu(&cases[i].p), cases[i].seconds, 1e-12);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  context = fc_context_new_with(NULL);
  g_test_add_func("/plan/blocks-that-shrink", test_blocks_that_shrink);
  g_test_add_func("/plan/blocks-of-two-lengths", test_blocks_of_two_lengths);
  g_test_add_func("/plan/ends", test_ends);
  g_test_add_func("/plan/random-chains", test_random);
  g_test_add_func("/plan/predicted", test_predicted);
  const int status = g_test_run();
  fc_context_free(context);
  return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * test_engine.c - planner, demand and executor, on small operators made for the test.
 *
 * Every run is compared with a direct evaluation of the same chain on the whole
 * signal, in which each border is looked up element by element with no buffers, no
 * chunks and no demand. The operators: an asymmetric weighted sum over a window (any
 * border, optional change of length), a crop, a decimator, a repeater, sums across channels,
 * a counter that measures and passes through, a recursion that carries state, a sum with a second input, and
 * a generator. Each chain is run between a source and a sink, in memory, and as a session.
 */
#include "core/context/chain.h"
#include "core/plan/chunk.h"
#include "core/base/error.h"
#include "core/run/memory.h"
#include "core/run/result.h"
#include "core/run/run.h"
#include "core/run/states.h"

#include <math.h>
#include <string.h>

/* ---- operators -------------------------------------------------------- */

enum what { WINDOW, CROP, DECIMATE, REPEAT, COUNT, ACROSS, MIX, RECURSE, ADD, MAKE };

typedef struct samples {
  gint64 length;
  int channels;
  double *data;
} samples;

typedef struct unit {
  enum what what;
  gint64 before, after; /* window; crop: start, length */
  gint64 factor;        /* decimate, repeat */
  int border;
  gint64 lengthen; /* window: added to the extent (full, valid) */
  gint64 align;
  gint64 after2; /* add: length of the second input; make: of what it makes */
  samples side;  /* add: it */
  gboolean pipe; /* add: only its end tells how long it is */
  int channels;  /* make */
  double seen;   /* count: sum of all elements */
  gint64 blocks;
} unit;

static double load(const fc_view *v, gint64 x, gint64 c) {
  const void *p = fc_view_at(v, 0, 0, x, c);
  return v->dtype == FC_F64   ? *(const double *)p
         : v->dtype == FC_F32 ? *(const float *)p
                              : *(const gint16 *)p;
}

static void store(const fc_view *v, gint64 x, gint64 c, double value) {
  void *p = fc_view_at(v, 0, 0, x, c);
  if (v->dtype == FC_F64)
    *(double *)p = value;
  else if (v->dtype == FC_F32)
    *(float *)p = (float)value;
  else
    *(gint16 *)p = (gint16)value;
}

static double weight(gint64 j) {
  return (double)(j * 37 % 11 - 5);
}

/* In small integers, whatever comes. */
static double recurse(double *state, double x) {
  *state = fmod(3 * *state + fmod(x, 1009), 1009);
  return *state;
}

static double made(gint64 x, gint64 c) {
  return (double)((x * 31 + c * 7) % 19 - 9);
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  unit *u = self;
  gint64 *extent = &terms->out->extent[FC_AXIS_X];
  if (u->what == MAKE) {
    const gint64 all[FC_AXES] = {1, 1, u->after2, u->channels};
    terms->out->kind = FC_AUDIO;
    memcpy(terms->out->extent, all, sizeof all);
    return FC_OK;
  }
  fc_reach *r = &terms->needs[0]->reach[FC_AXIS_X];
  switch (u->what) {
  case WINDOW:
    r->before = u->before, r->after = u->after, r->align = u->align;
    terms->needs[0]->border = u->border, terms->needs[0]->border_value = 3;
    if (*extent >= 0) *extent = MAX(*extent + u->lengthen, 0);
    break;
  case CROP:
    r->before = -u->before, r->after = u->before;
    *extent = *extent < 0 ? u->after : CLAMP(*extent - u->before, 0, u->after);
    break;
  case DECIMATE:
    r->num = u->factor, r->after = 1 - u->factor;
    if (*extent >= 0) *extent = (*extent + u->factor - 1) / u->factor;
    break;
  case REPEAT:
    r->den = u->factor;
    if (*extent >= 0) *extent *= u->factor;
    break;
  case COUNT:
    r->align = u->align;
    terms->measure_bytes = sizeof(double);
    break;
  case ACROSS:
    terms->needs[0]->reach[FC_AXIS_C].before = terms->needs[0]->reach[FC_AXIS_C].after = 1;
    terms->needs[0]->border = FC_BORDER_REPLICATE;
    break;
  case RECURSE: terms->carry_bytes = (guint64)terms->out->extent[FC_AXIS_C] * sizeof(double); break;
  case ADD:
    terms->needs[1]->reach[FC_AXIS_X].before = u->before, terms->needs[1]->reach[FC_AXIS_X].after = u->after;
    terms->needs[1]->border = u->border, terms->needs[1]->border_value = 3;
    break;
  case MIX: {
    gint64 channels = terms->out->extent[FC_AXIS_C];
    terms->needs[0]->reach[FC_AXIS_C] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, channels};
    break;
  }
  case MAKE: break;
  }
  return FC_OK;
}

static void count_blocks(const unit *u, const fc_job *job) {
  const fc_view *v = job->in[0];
  double *sums = job->measure;
  for (gint64 x = 0; x < v->shape[FC_AXIS_X]; x++) {
    g_assert_cmpint(v->origin[FC_AXIS_X] % u->align, ==, 0);
    if (x % u->align == 0) sums[x / u->align] = 0;
    for (gint64 c = 0; c < v->shape[FC_AXIS_C]; c++) sums[x / u->align] += load(v, x, c);
  }
}

static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const unit *u = state;
  const fc_view *in = u->what == MAKE ? NULL : job->in[0], *out = job->out;
  if (u->what == COUNT) {
    count_blocks(u, job);
    return FC_OK;
  }
  for (gint64 x = 0; x < out->shape[FC_AXIS_X]; x++)
    for (gint64 c = 0; c < out->shape[FC_AXIS_C]; c++) {
      gint64 at = out->origin[FC_AXIS_X] + x;
      double y = 0;
      switch (u->what) {
      case WINDOW:
        for (gint64 j = -u->before; j <= u->after; j++) y += weight(j + u->before) * load(in, x + j, c);
        break;
      case CROP: y = load(in, x + u->before, c); break;
      case ACROSS: y = load(in, x, c - 1) + 2 * load(in, x, c) + 4 * load(in, x, c + 1); break;
      case MIX:
        for (gint64 d = 0; d < in->shape[FC_AXIS_C]; d++) y += weight(c + d) * load(in, x, d);
        break;
      case RECURSE: y = recurse(&((double *)job->carry)[c], load(in, x, c)); break;
      case ADD:
        y = load(in, x, c);
        for (gint64 j = -u->before; j <= u->after; j++)
          y += weight(j + u->before) * load(job->in[1], x + j, c);
        break;
      case MAKE: y = made(at, c); break;
      case DECIMATE: y = load(in, at * u->factor - in->origin[FC_AXIS_X], c); break;
      default: y = load(in, at / u->factor - in->origin[FC_AXIS_X], c); break;
      }
      store(out, x, c, y);
    }
  return FC_OK;
}

static void reset(void *self) {
  ((unit *)self)->seen = 0, ((unit *)self)->blocks = 0;
}

static fc_status collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  unit *u = self;
  for (gint64 i = 0; i < count; i++) u->seen += ((const double *)blocks)[i];
  u->blocks += count;
  return FC_OK;
}

static fc_status report(const fc_host *host, void *self) {
  fc_measurement m = {sizeof m, -1, "sum", "", ((unit *)self)->seen, NULL};
  host->measured(host, &m);
  return FC_OK;
}

static const fc_backend cpu = {.size = sizeof cpu, .process = process};
static const fc_backend *const backends[] = {&cpu, NULL};

static const fc_operator plain_operator = {.size = sizeof plain_operator,
                                           .name = "unit",
                                           .kinds = FC_KINDS_ALL,
                                           .dtypes_in = FC_DTYPES_FLOAT,
                                           .dtypes_out = FC_DTYPES_FLOAT,
                                           .negotiate = negotiate,
                                           .backends = backends};

static const fc_operator make_operator = {.size = sizeof make_operator,
                                          .flags = FC_OP_GENERATOR,
                                          .name = "make",
                                          .kinds = FC_KINDS_ALL,
                                          .dtypes_out = FC_DTYPES_FLOAT,
                                          .negotiate = negotiate,
                                          .backends = backends};

static const fc_operator count_operator = {.size = sizeof count_operator,
                                           .flags = FC_OP_PASSTHROUGH,
                                           .name = "count",
                                           .kinds = FC_KINDS_ALL,
                                           .dtypes_in = FC_DTYPES_FLOAT,
                                           .dtypes_out = FC_DTYPES_FLOAT,
                                           .negotiate = negotiate,
                                           .backends = backends,
                                           .reset = reset,
                                           .collect = collect,
                                           .report = report};

/* ---- direct evaluation ------------------------------------------------ */

static double at_border(const samples *s, gint64 x, int c, int border) {
  gint64 n = s->length;
  if (x >= 0 && x < n) return s->data[x * s->channels + c];
  if (border == FC_BORDER_CONSTANT) return 3;
  if (border == FC_BORDER_ZERO || n == 0) return 0;
  while (x < 0 || x >= n) {
    if (border == FC_BORDER_REPLICATE) x = x < 0 ? 0 : n - 1;
    if (border == FC_BORDER_REFLECT) x = x < 0 ? -1 - x : 2 * n - 1 - x;
    if (border == FC_BORDER_REFLECT101) x = n == 1 ? 0 : x < 0 ? -x : 2 * n - 2 - x;
    if (border == FC_BORDER_WRAP) x = x < 0 ? x + n : x - n;
  }
  return s->data[x * s->channels + c];
}

static samples evaluate(const unit *u, samples in, double *sum) {
  samples out = {in.length, in.channels, NULL};
  if (u->what == WINDOW) out.length = MAX(in.length + u->lengthen, 0);
  if (u->what == CROP) out.length = CLAMP(in.length - u->before, 0, u->after);
  if (u->what == DECIMATE) out.length = (in.length + u->factor - 1) / u->factor;
  if (u->what == REPEAT) out.length = in.length * u->factor;
  if (u->what == MAKE) out.length = u->after2;
  out.data = g_new0(double, out.length *out.channels + 1);
  for (gint64 i = 0; i < in.length * in.channels && u->what == COUNT; i++) *sum += in.data[i];
  double states[8] = {0};
  for (gint64 x = 0; x < out.length; x++)
    for (int c = 0; c < out.channels; c++) {
      double y = 0;
      switch (u->what) {
      case WINDOW:
        for (gint64 j = -u->before; j <= u->after; j++)
          y += weight(j + u->before) * at_border(&in, x + j, c, u->border);
        break;
      case CROP: y = in.data[(x + u->before) * in.channels + c]; break;
      case DECIMATE: y = in.data[x * u->factor * in.channels + c]; break;
      case REPEAT: y = in.data[x / u->factor * in.channels + c]; break;
      case COUNT: y = in.data[x * in.channels + c]; break;
      case MAKE: y = made(x, c); break;
      case RECURSE: y = recurse(&states[c], in.data[x * in.channels + c]); break;
      case ADD:
        y = in.data[x * in.channels + c];
        for (gint64 j = -u->before; j <= u->after; j++)
          y += weight(j + u->before) * at_border(&u->side, x + j, c, u->border);
        break;
      case ACROSS:
        for (int d = -1; d <= 1; d++)
          y += (1 << (d + 1)) * in.data[x * in.channels + CLAMP(c + d, 0, in.channels - 1)];
        break;
      case MIX:
        for (int d = 0; d < in.channels; d++) y += weight(c + d) * in.data[x * in.channels + d];
        break;
      }
      out.data[x * out.channels + c] = y;
    }
  g_free(in.data);
  return out;
}

/* ---- one comparison --------------------------------------------------- */

/* A source as a file is one: it wants frames packed, as stream.h promises. Or one whose
 * length only its end tells, which delivers in uneven pieces. */
typedef struct packed {
  fc_source base;
  fc_source *inner;
  int piece; /* 0: all that is asked for */
} packed;

static gint64 read_packed(fc_source *source, const fc_view *into, GError **error) {
  packed *me = (packed *)source;
  fc_view part = *into;
  gint64 size = (gint64)fc_dtype_size(into->dtype);
  g_assert_cmpint(into->stride[FC_AXIS_C], ==, size);
  g_assert_cmpint(into->stride[FC_AXIS_X], ==, size * source->format.extent[FC_AXIS_C]);
  if (me->piece) {
    me->piece = me->piece * 5 % 97 + 1;
    part.shape[FC_AXIS_X] = MIN(part.shape[FC_AXIS_X], me->piece);
  }
  return me->inner->read(me->inner, &part, error);
}

static void free_packed(fc_source *source) {
  packed *me = (packed *)source;
  me->inner->free(me->inner);
  g_free(me);
}

static fc_source *make_packed(fc_source *inner, gboolean unknown) {
  packed *me = g_new0(packed, 1);
  me->base =
      (fc_source){.format = inner->format, .name = inner->name, .read = read_packed, .free = free_packed};
  me->inner = inner;
  if (unknown) me->base.format.extent[FC_AXIS_X] = FC_UNKNOWN, me->piece = 3;
  return &me->base;
}

static fc_view view_of(double *data, gint64 length, int channels) {
  fc_view v = {sizeof v, FC_F64, FC_AUDIO,
               FC_HOST,  data,   {1, 1, length, channels},
               {0},      {0},    {1, 1, length, channels}};
  v.stride[FC_AXIS_C] = 8, v.stride[FC_AXIS_X] = 8 * channels;
  v.stride[FC_AXIS_Y] = v.stride[FC_AXIS_N] = 8 * channels * MAX(length, 1);
  return v;
}

/* Nothing that there is not is given room: an axis wanted whole is held once. */
static void check_room(const fc_plan *plan, const unit *units, guint n, int channels) {
  for (guint i = 0; i < n; i++)
    if (units[i].what == ACROSS) return;
  for (guint l = 1; l <= plan->n; l++) {
    gint64 capacity[FC_AXES];
    fc_plan_capacity(plan, l, capacity);
    g_assert_cmpint(capacity[FC_AXIS_C], ==, channels);
  }
}

/* What chunks really hold has room in what the plan counts on. */
static void check_held(fc_plan *plan) {
  fc_chunker *chunker = fc_chunker_new(plan);
  fc_chunk *chunk = fc_chunk_new(plan);
  while (fc_chunker_next(chunker, chunk)) {
    for (guint l = 0; l <= chunk->last; l++) {
      gint64 capacity[FC_AXES];
      if (l > 0 && plan->stages[l - 1].passthrough) continue; /* it lies in the memory of another */
      fc_plan_capacity(plan, l, capacity);
      for (int a = 0; a < FC_AXES; a++)
        g_assert_cmpint(fc_range_length(chunk->links[l].held[a]), <=, capacity[a]);
    }
    fc_chunker_commit(chunker, chunk);
  }
  fc_chunk_free(chunk);
  fc_chunker_free(chunker);
}

/* A chain of these units, whose further inputs are views. */
static fc_chain *make_chain(fc_context *context, unit *units, guint n) {
  fc_chain *chain = fc_chain_new(context);
  chain->n = n, chain->stages = g_renew(fc_stage, chain->stages, n + 1);
  memset(chain->stages, 0, sizeof *chain->stages * (n + 1));
  for (guint i = 0; i < n; i++) {
    fc_stage *stage = &chain->stages[i];
    fc_stage_host_init(&stage->host, context);
    stage->prepared = g_ptr_array_new();
    stage->op = units[i].what == COUNT  ? &count_operator
                : units[i].what == MAKE ? &make_operator
                                        : &plain_operator;
    stage->self = &units[i];
    if (units[i].what != ADD) continue;
    stage->n_inputs = 1, stage->inputs = g_new0(fc_stage_input, 1);
    stage->inputs[0].view = view_of(units[i].side.data, units[i].side.length, units[i].side.channels);
  }
  return chain;
}

/* One comparison: what is made of it, and what is expected. */
typedef struct trial {
  fc_context *context;
  fc_chain *chain;
  unit *units;
  guint n;
  int channels;
  fc_options options;
  fc_view in, out;
  samples expected;
  const double *sums;
} trial;

static void check_output(const trial *t, const double *output, const fc_result *result, const char *how) {
  for (gint64 i = 0; i < t->expected.length * t->channels; i++)
    if (output[i] != t->expected.data[i])
      g_error("%s: element %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " is %g, not %g", how, i,
              t->expected.length * t->channels, output[i], t->expected.data[i]);
  guint m = 0;
  for (guint i = 0; i < t->n; i++)
    if (t->units[i].what == COUNT) g_assert_cmpfloat(result->measured[m++]->value, ==, t->sums[i]);
  g_assert_cmpuint(m, ==, result->n_measured);
}

static void clear_output(const trial *t) {
  memset(t->out.data, 0x55, (gsize)(t->expected.length * t->channels) * sizeof(double));
}

static gboolean makes(const trial *t) {
  return t->n > 0 && t->units[0].what == MAKE;
}

static void load_source(fc_source **source, const trial *t) {
  GError *error = NULL;
  *source = fc_source_load(*source, t->context->frames, &error);
  g_assert_no_error(error);
}

/* A plan for sources; those of no known length that it needs whole, or out of order, are loaded first. */
static fc_plan *plan_between(const trial *t, fc_source **source, fc_source **sides, guint n_sides) {
  const fc_format *formats[16];
  fc_plan_query query = {.sides = formats, .wanted = -1, .options = &t->options};
  for (;;) {
    GError *error = NULL;
    gboolean again = FALSE;
    query.in = *source ? &(*source)->format : NULL;
    for (guint k = 0; k < n_sides; k++) formats[k] = &sides[k]->format;
    fc_plan *plan = fc_plan_new(t->chain, &query, &error);
    g_assert_no_error(error);
    if (plan->whole && *source && fc_plan_extent(plan, -1) < 0) load_source(source, t), again = TRUE;
    for (guint k = 0; k < n_sides; k++)
      if (plan->sides[k].random && fc_plan_extent(plan, (int)k) < 0) load_source(&sides[k], t), again = TRUE;
    if (!again) return plan;
    fc_plan_unref(plan);
  }
}

/* From a source into a sink, as between files. Returns whether a stage needed all of it. */
static gboolean check_stream(const trial *t, gboolean unknown) {
  fc_source *source = makes(t) ? NULL : make_packed(fc_memory_source_new(&t->in), unknown), *sides[16] = {0};
  fc_sink *sink = fc_memory_sink_new(&t->out);
  guint n_sides = 0;
  gboolean open_end = FALSE;
  for (guint i = 0; i < t->n; i++)
    if (t->units[i].what == ADD)
      sides[n_sides++] =
          make_packed(fc_memory_source_new(&t->chain->stages[i].inputs[0].view), t->units[i].pipe);
  GError *error = NULL;
  fc_plan *plan = plan_between(t, &source, sides, n_sides);
  const gboolean whole = plan->whole;
  for (guint l = 0; l <= plan->n; l++) open_end |= plan->links[l].extent[FC_AXIS_X] < 0;
  for (guint k = 0; k < n_sides; k++)
    if (plan->sides[k].random) load_source(&sides[k], t);
  check_room(plan, t->units, t->n, t->channels);
  clear_output(t);
  fc_run *run = fc_run_new(plan, NULL, &error);
  g_assert_no_error(error);
  fc_ends ends = {.source = source, .sides = sides, .sink = sink, .name = "output"};
  fc_result *result = fc_result_new();
  gboolean began;
  fc_run_execute(run, &ends, &t->options, NULL, result, &began, &error);
  g_assert_no_error(error);
  if (!open_end) check_held(plan);
  g_assert_cmpint(result->out->extent[FC_AXIS_X], ==, t->expected.length);
  check_output(t, t->out.data, result, "stream");
  fc_result_free(result);
  fc_run_free(run);
  fc_plan_unref(plan);
  if (source) source->free(source);
  sink->free(sink);
  for (guint k = 0; k < n_sides; k++) sides[k]->free(sides[k]);
  return whole;
}

/* In memory, twice: the second time the run is ready. */
static void check_memory(const trial *t) {
  for (int i = 0; i < 2; i++) {
    GError *error = NULL;
    fc_result *result = NULL;
    clear_output(t);
    fc_chain_run_host(t->chain, &t->in, &t->out, &t->options, &result, &error);
    g_assert_no_error(error);
    check_output(t, t->out.data, result, "memory");
    fc_result_free(result);
  }
}

/* Everything that can be pulled now. */
static gint64 pull_all(fc_session *session, const trial *t, gint64 done) {
  GError *error = NULL;
  for (gint64 got = 1; got > 0; done += got) {
    const gint64 wish = g_test_rand_int_range(1, 200), room = MIN(t->expected.length - done, wish);
    fc_view into = view_of((double *)t->out.data + done * t->channels, MAX(room, 0), t->channels);
    if (room <= 0) break;
    got = fc_session_pull(session, &into, &error);
    g_assert_no_error(error);
  }
  return done;
}

static void check_session(const trial *t) {
  GError *error = NULL;
  fc_format in;
  fc_format_of_view(&t->in, &in);
  fc_session *session = fc_session_new(t->chain, &in, FC_F64, &t->options, &error);
  g_assert_no_error(error);
  clear_output(t);
  gint64 pushed = 0, done = 0;
  while (pushed < t->in.shape[FC_AXIS_X]) {
    const gint64 wish = g_test_rand_int_range(1, 150), piece = MIN(wish, t->in.shape[FC_AXIS_X] - pushed);
    fc_view part = view_of((double *)t->in.data + pushed * t->channels, piece, t->channels);
    fc_session_push(session, &part, &error);
    g_assert_no_error(error);
    pushed += piece;
    done = pull_all(session, t, done);
  }
  fc_session_drain(session, &error);
  g_assert_no_error(error);
  done = pull_all(session, t, done);
  g_assert_cmpint(done, ==, t->expected.length);
  const fc_result *result = fc_session_result(session, &error);
  g_assert_no_error(error);
  check_output(t, t->out.data, result, "session");
  fc_session_free(session);
}

/* Short chunks are warned of. */
static void no_log(fc_log_level level, const char *message, void *data) {}

static void check(unit *units, guint n, gint64 length, int channels, gint64 chunk, int threads,
                  gboolean unknown) {
  for (guint i = 0; i < n; i++)
    if (units[i].what == ADD) {
      samples *side = &units[i].side;
      *side = (samples){units[i].after2, channels, NULL};
      side->data = g_new(double, side->length *channels + 1);
      for (gint64 k = 0; k < side->length * channels; k++)
        side->data[k] = (double)g_test_rand_int_range(-9, 10);
    }
  units[0].channels = channels;
  trial t = {.context = fc_context_new_with(NULL), .units = units, .n = n, .channels = channels};
  fc_context_set_log(t.context, no_log, NULL);
  t.chain = make_chain(t.context, units, n);
  t.expected = (samples){length, channels, g_new(double, length *channels + 1)};
  g_autofree double *input = g_new(double, length *channels + 1);
  for (gint64 i = 0; i < length * channels; i++)
    input[i] = t.expected.data[i] = (double)g_test_rand_int_range(-9, 10);
  double sums[16] = {0};
  for (guint i = 0; i < n; i++) t.expected = evaluate(&units[i], t.expected, &sums[i]);
  g_autofree double *output = g_new0(double, t.expected.length *channels + 1);
  t.sums = sums;
  t.in = view_of(input, length, channels), t.out = view_of(output, t.expected.length, channels);
  fc_options options = FC_OPTIONS_INIT;
  options.chunk = chunk, options.threads = threads, options.device = "cpu";
  options.precision = FC_F64; /* a generator has no input whose type it follows */
  t.options = options;
  gboolean whole = check_stream(&t, unknown);
  if (!unknown && !makes(&t)) check_memory(&t);
  if (!whole && !makes(&t)) check_session(&t);
  g_free(t.expected.data);
  for (guint i = 0; i < n; i++)
    if (units[i].what == ADD) g_free(units[i].side.data);
  fc_chain_free(t.chain);
  fc_context_free(t.context);
}

/* ---- tests ------------------------------------------------------------ */

static const gint64 lengths[] = {0, 1, 2, 7, 64, 501};
static const gint64 chunks[] = {1, 7, 100, 4096};

static void check_all(const unit *units, guint n) {
  for (guint l = 0; l < G_N_ELEMENTS(lengths); l++)
    for (guint k = 0; k < G_N_ELEMENTS(chunks); k++)
      for (int unknown = 0; unknown < 2; unknown++) {
        unit copy[16];
        if (n) memcpy(copy, units, n * sizeof *units);
        check(copy, n, lengths[l], 1 + (int)(l % 3), chunks[k], 1 + (int)(k % 3), unknown != 0);
      }
}

static unit window(gint64 before, gint64 after, int border) {
  return (unit){.what = WINDOW, .before = before, .after = after, .border = border, .align = 1, .factor = 1};
}

static void test_borders(void) {
  static const gint64 reaches[][2] = {{0, 0}, {3, 2}, {0, 9}, {9, 0}, {70, 3}, {2, 200}, {700, 700}, {-2, 5}};
  for (int border = FC_BORDER_ZERO; border <= FC_BORDER_WRAP; border++)
    for (guint i = 0; i < G_N_ELEMENTS(reaches); i++) {
      unit one = window(reaches[i][0], reaches[i][1], border);
      check_all(&one, 1);
    }
}

static void test_lengths(void) {
  unit full = window(8, 0, FC_BORDER_ZERO), valid = window(0, 8, FC_BORDER_ZERO);
  full.lengthen = 8, valid.lengthen = -8;
  check_all(&full, 1);
  check_all(&valid, 1);
  unit both[] = {full, valid};
  check_all(both, 2);
  unit all[] = {{.what = CROP, .before = 20, .after = 300},
                full,
                {.what = DECIMATE, .factor = 3},
                {.what = REPEAT, .factor = 4}};
  check_all(all, 4);
}

static void test_alignment(void) {
  unit a = window(5, 1, FC_BORDER_REFLECT), b = window(1, 5, FC_BORDER_REPLICATE);
  a.align = 16, b.align = 10;
  unit both[] = {a, b};
  check_all(both, 2);
}

/* A halo across channels is made elsewhere than in the memory that the source fills. */
static void test_across(void) {
  unit count = {.what = COUNT, .align = 8}, across = {.what = ACROSS};
  unit both[] = {count, across}, twice[] = {across, window(4, 3, FC_BORDER_REFLECT), across};
  check_all(&across, 1);
  check_all(both, 2);
  check_all(twice, 3);
}

static void test_empty_chain(void) {
  check_all(NULL, 0);
}

/* All channels at once, in one block. */
static void test_mixing(void) {
  unit mix = {.what = MIX}, both[] = {mix, window(4, 3, FC_BORDER_REFLECT)};
  unit twice[] = {mix, {.what = COUNT, .align = 8}, mix};
  check_all(&mix, 1);
  check_all(both, 2);
  check_all(twice, 3);
}

/* Measures see the whole samples once, whatever later stages look at. */
static void test_measures(void) {
  unit count = {.what = COUNT, .align = 32};
  unit crop = {.what = CROP, .before = 100, .after = 150};
  unit chains[][5] = {{count},
                      {crop, count},
                      {count, crop},
                      {count, crop, count, {.what = CROP, .before = 40, .after = 20}, count},
                      {window(3, 40, FC_BORDER_REFLECT101), count, window(60, 0, FC_BORDER_ZERO), count},
                      {count, {.what = DECIMATE, .factor = 50}, count, window(2, 2, FC_BORDER_WRAP)}};
  static const guint n[] = {1, 2, 2, 5, 4, 4};
  for (guint i = 0; i < G_N_ELEMENTS(chains); i++) check_all(chains[i], n[i]);
}

static fc_plan *limited_plan(fc_chain *chain, gint64 length, gsize most, GError **error) {
  fc_format in = {.size = sizeof in, .kind = FC_AUDIO, .dtype = FC_F64, .extent = {1, 1, length, 1}};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu";
  fc_context_set_max_memory(chain->context, most);
  fc_plan_query query = {.in = &in, .wanted = -1, .options = &options};
  return fc_plan_new(chain, &query, error);
}

/* A plan keeps to the limit: chunks get smaller, and a border that does not fit is named. */
static void test_memory_limit(void) {
  fc_context *context = fc_context_new_with(NULL);
  unit narrow = window(8, 8, FC_BORDER_REFLECT), wide = window(1000000, 1000000, FC_BORDER_ZERO);
  fc_chain *chain = make_chain(context, &narrow, 1);
  GError *error = NULL;
  fc_plan *plan = limited_plan(chain, 10000000, 0, &error);
  gint64 freely = plan->chunk;
  fc_plan_unref(plan);
  plan = limited_plan(chain, 10000000, 100000, &error);
  g_assert_no_error(error);
  g_assert_cmpint(plan->chunk, <, freely);
  g_assert_cmpfloat(fc_plan_bytes(plan), <=, 100000);
  fc_plan_unref(plan);
  chain->stages[0].self = &wide;
  plan = limited_plan(chain, 10, 17000000, &error); /* the border, the signal and some alignment */
  g_assert_no_error(error);
  fc_plan_unref(plan);
  g_assert_null(limited_plan(chain, 10, 1000000, &error));
  g_assert_error(error, FC_ERROR, FC_NO_MEMORY);
  g_assert_cmpstr(error->message, ==,
                  "this needs 16 MB of memory, and the limit is 1 MB (--max-memory changes it): unit "
                  "looks at 1000000 values before and 1000000 after each, in a sound of 10");
  g_error_free(error);
  fc_chain_free(chain);
  fc_context_free(context);
}

/* State goes from chunk to chunk in order, whatever looks at it from behind: halos, mirrors, crops, other
 * rates. */
static void test_state(void) {
  unit state = {.what = RECURSE}, count = {.what = COUNT, .align = 8},
       crop = {.what = CROP, .before = 120, .after = 200};
  unit chains[][5] = {
      {state},
      {state, state, state},
      {window(5, 9, FC_BORDER_REFLECT), state, window(30, 2, FC_BORDER_REFLECT101)},
      {state, crop, window(3, 3, FC_BORDER_REPLICATE)},
      {state, count, crop, state, count},
      {{.what = DECIMATE, .factor = 3}, state, {.what = REPEAT, .factor = 2}, window(2, 7, FC_BORDER_ZERO)},
      {state, window(2, 2, FC_BORDER_WRAP)}};
  static const guint n[] = {1, 3, 3, 3, 5, 4, 2};
  for (guint i = 0; i < G_N_ELEMENTS(chains); i++) check_all(chains[i], n[i]);
}

/* A second input is streamed beside the first one, or held where it is looked at out of order. */
static void test_inputs(void) {
  static const int borders[] = {FC_BORDER_ZERO, FC_BORDER_CONSTANT, FC_BORDER_REPLICATE, FC_BORDER_REFLECT,
                                FC_BORDER_WRAP};
  static const gint64 lengths_of[] = {1, 30, 64, 501, 900};
  for (guint b = 0; b < G_N_ELEMENTS(borders); b++)
    for (guint i = 0; i < G_N_ELEMENTS(lengths_of); i++)
      for (int pipe = 0; pipe < 2; pipe++) {
        unit add = {.what = ADD, .before = 5, .after = 2, .border = borders[b], .after2 = lengths_of[i]};
        unit make = {.what = MAKE, .after2 = lengths_of[(i + 2) % G_N_ELEMENTS(lengths_of)]};
        add.pipe = pipe;
        unit more[] = {add, window(4, 3, FC_BORDER_REFLECT), {.what = RECURSE}, add};
        unit made[] = {make, add, {.what = COUNT, .align = 8}, add};
        check_all(&add, 1);
        check_all(more, 4);
        if (pipe) check_all(made, 4);
      }
}

static unit random_unit(void) {
  switch (g_test_rand_int_range(0, 10)) {
  case 0:
    return (unit){
        .what = CROP, .before = g_test_rand_int_range(0, 50), .after = g_test_rand_int_range(0, 400)};
  case 1: return (unit){.what = DECIMATE, .factor = g_test_rand_int_range(1, 6)};
  case 2: return (unit){.what = REPEAT, .factor = g_test_rand_int_range(1, 4)};
  case 3: return (unit){.what = COUNT, .align = g_test_rand_int_range(1, 40)};
  case 4: return (unit){.what = RECURSE};
  case 5:
    return (unit){.what = ADD,
                  .before = g_test_rand_int_range(0, 20),
                  .after = g_test_rand_int_range(0, 20),
                  .border = g_test_rand_int_range(0, FC_BORDER_WRAP + 1),
                  .after2 = g_test_rand_int_range(1, 700),
                  .pipe = g_test_rand_bit()};
  default: {
    unit u = window(g_test_rand_int_range(0, 40), g_test_rand_int_range(0, 40),
                    g_test_rand_int_range(0, FC_BORDER_WRAP + 1));
    u.align = g_test_rand_int_range(0, 3) ? 1 : g_test_rand_int_range(1, 20);
    return u;
  }
  }
}

static void test_random(void) {
  for (int i = 0; i < 400; i++) {
    unit units[6];
    guint n = (guint)g_test_rand_int_range(1, 7);
    for (guint k = 0; k < n; k++) units[k] = random_unit();
    if (i % 8 == 0) units[0] = (unit){.what = MAKE, .after2 = g_test_rand_int_range(0, 600)};
    check(units, n, g_test_rand_int_range(0, 600), g_test_rand_int_range(1, 4), g_test_rand_int_range(1, 130),
          g_test_rand_int_range(1, 5), g_test_rand_bit() != 0);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/engine/empty-chain", test_empty_chain);
  g_test_add_func("/engine/borders", test_borders);
  g_test_add_func("/engine/lengths", test_lengths);
  g_test_add_func("/engine/alignment", test_alignment);
  g_test_add_func("/engine/across", test_across);
  g_test_add_func("/engine/mixing", test_mixing);
  g_test_add_func("/engine/measures", test_measures);
  g_test_add_func("/engine/state", test_state);
  g_test_add_func("/engine/inputs", test_inputs);
  g_test_add_func("/engine/memory-limit", test_memory_limit);
  g_test_add_func("/engine/random-chains", test_random);
  return g_test_run();
}

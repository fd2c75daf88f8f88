/* SPDX-License-Identifier: MIT */
/*
 * engine.c - see engine.h. Uses the library as a program would (filterchain.h); whether the values are right
 * is tested by the other cases.
 */
#include "check/engine.h"

#include <string.h>

#include "check/compare.h"
#include "core/registry/table.h"

#define STAGES 16 /* examples first, then random ones */
#define FEWEST 4  /* runs, however late it is */

typedef struct engine {
  fc_context *context;
  char *name; /* "id/operator" */
  const fc_operator *op;
  const char *device, *text;
  const harness_options *options;
  verdict *v;
  dice d;
  fc_format in;
  source signal;
  source *sides; /* of the further inputs, in the order of the parameters */
  guint n_sides;
} engine;

static fc_view view_of(const fc_format *f, void *data) {
  fc_view v = {.size = sizeof v, .dtype = f->dtype, .kind = f->kind, .data = data};
  gint64 step = (gint64)fc_dtype_size(f->dtype);
  for (int a = FC_AXES - 1; a >= 0; a--) {
    v.shape[a] = v.extent[a] = f->extent[a], v.stride[a] = step;
    step *= f->extent[a];
  }
  return v;
}

/* ---- the chain ------------------------------------------------------------------------------ */

static const fc_param *param_of(const fc_operator *op, const fc_stage_arg *arg) {
  for (guint i = 0; i < op->n_params; i++)
    if (arg->key ? strcmp(op->params[i]->name, arg->key) == 0 : (op->params[i]->flags & FC_PARAM_MAIN) != 0)
      return op->params[i];
  return NULL;
}

/* The stage's arguments; files of numbers and further inputs are generated. */
static fc_chain *chain_of(engine *e, GError **error) {
  g_autoptr(fc_stage_text) stage = fc_stage_text_parse(e->text, error);
  if (!stage) return NULL;
  fc_value *values = g_new0(fc_value, stage->n_args + 1);
  fc_view *views = g_new0(fc_view, stage->n_args + 1);
  fc_table **tables = g_new0(fc_table *, stage->n_args + 1);
  const fc_value **list = g_new0(const fc_value *, stage->n_args + 1);
  e->sides = g_new0(source, stage->n_args + 1), e->n_sides = 0;
  for (guint i = 0; i < stage->n_args; i++) {
    const fc_stage_arg *arg = &stage->args[i];
    const fc_param *p = param_of(e->op, arg);
    values[i] = (fc_value){.size = sizeof *values, .name = arg->key, .text = arg->value};
    if (p && p->type == FC_INPUT) {
      source *side = &e->sides[e->n_sides++];
      *side = source_new(&e->in, FILL_RANDOM, &e->d);
      views[i] = view_of(&e->in, side->codes);
      values[i].text = NULL, values[i].view = &views[i];
    } else if (p && p->type == FC_TABLE && (arg->quoted || arg->value[0] != '[')) {
      tables[i] = stage_table(p, &e->d);
      values[i].text = NULL, values[i].table = tables[i];
    }
    list[i] = &values[i];
  }
  fc_chain *chain = fc_chain_new(e->context);
  if (!fc_chain_add(chain, e->name, list, error)) g_clear_pointer(&chain, fc_chain_free);
  for (guint i = 0; i < stage->n_args; i++) fc_table_free(tables[i]);
  g_free(tables);
  g_free(views);
  g_free(values);
  g_free(list);
  return chain;
}

/* ---- runs ------------------------------------------------------------------------------------- */

static fc_options options_of(const engine *e, int threads, gint64 chunk, fc_fuse fuse) {
  fc_options o = FC_OPTIONS_INIT;
  o.device = e->device, o.threads = threads, o.chunk = chunk, o.fuse = fuse, o.precision = FC_F32;
  o.meaning = &e->in; /* sound has a rate */
  return o;
}

/* NULL: refused, or failed with a verdict. */
static unsigned char *run(engine *e, fc_chain *chain, const fc_format *out, const fc_options *o,
                          const char *how) {
  g_autoptr(GError) error = NULL;
  gsize bytes = fc_dtype_size(out->dtype);
  for (int a = 0; a < FC_AXES; a++) bytes *= (gsize)out->extent[a];
  unsigned char *codes = g_malloc0(bytes + 1);
  fc_view in = view_of(&e->in, e->signal.codes), made = view_of(out, codes);
  if (fc_chain_run_host(chain, &in, &made, o, NULL, &error)) return codes;
  g_free(codes);
  if (!g_error_matches(error, FC_ERROR, FC_UNSUPPORTED) && !g_error_matches(error, FC_ERROR, FC_INVALID) &&
      !g_error_matches(error, FC_ERROR, FC_IO)) /* except a measurement beyond what the arguments allow */
    blame(e->v, FAULT_ENGINE, "-p \"%s\", %s: %s", e->text, how, error->message);
  return NULL;
}

static gboolean same(engine *e, const fc_format *out, const unsigned char *wanted, const unsigned char *got,
                     const char *how) {
  gint64 at = 0;
  if (compare_bits(out, wanted, got, &at)) return TRUE;
  const gsize size = fc_dtype_size(out->dtype);
  return blame(e->v, FAULT_ENGINE,
               "-p \"%s\" on %s, %s: element %" G_GINT64_FORMAT " is %.17g, in one piece %.17g", e->text,
               e->device, how, at, element_code(got + (gsize)at * size, out->dtype),
               element_code(wanted + (gsize)at * size, out->dtype));
}

static gboolean run_also(engine *e, fc_chain *chain, const fc_format *out, const unsigned char *wanted,
                         const fc_options *o, const char *how) {
  g_autofree unsigned char *got = run(e, chain, out, o, how);
  if (!got) return e->v->fault == FAULT_NONE;
  return same(e, out, wanted, got, how);
}

/* Pushes pieces and pulls the available output; the output's elements are in order along time. */
static gboolean run_session(engine *e, fc_chain *chain, const fc_format *out, const unsigned char *wanted) {
  const fc_options o = options_of(e, 1, 0, FC_FUSE_NO);
  const int time = e->in.kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N;
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_session) session = fc_session_new(chain, &e->in, out->dtype, &o, &error);
  if (!session) return TRUE; /* it needs the whole signal */
  const gint64 extent = e->in.extent[time];
  fc_view in = view_of(&e->in, e->signal.codes), to = view_of(out, NULL);
  g_autofree unsigned char *codes = g_malloc0((gsize)(to.stride[time] * to.shape[time]) + 1);
  gint64 at = 0, made = 0, got = 0;
  for (gboolean ended = FALSE; !ended;) {
    const gint64 most = dice_int(&e->d, 1, extent), piece = MIN(most, extent - at);
    fc_view some = in;
    some.data = (char *)in.data + at * in.stride[time], some.shape[time] = piece;
    ended = at == extent;
    if (!(ended ? fc_session_drain(session, &error) : fc_session_push(session, &some, &error))) break;
    at += piece;
    do {
      fc_view room = to;
      room.data = codes + made * to.stride[time], room.shape[time] = to.shape[time] - made;
      got = fc_session_pull(session, &room, &error);
      made += MAX(got, 0);
    } while (got > 0 && made < to.shape[time]);
  }
  if (error) return blame(e->v, FAULT_ENGINE, "-p \"%s\" in a session: %s", e->text, error->message);
  if (made != to.shape[time])
    return blame(e->v, FAULT_ENGINE,
                 "-p \"%s\" in a session: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " elements came out",
                 e->text, made, to.shape[time]);
  return same(e, out, wanted, codes, "in a session");
}

/* In microseconds: smaller chunks are not tried if a run takes longer, since each chunk computes its halo
 * again. */
#define TOO_LONG 50000
/* In microseconds: a run that takes longer, such as of a mask of thousands of taps on a device that other
 * programs use as well, is the only one of its stage. */
#define MUCH_TOO_LONG 1000000
/* Limit on an output's elements: images may be enlarged ten thousand times. */
#define MOST_ELEMENTS 1e7

static gboolean in_all_ways(engine *e, fc_chain *chain) {
  const gboolean cuda = strcmp(e->device, "cuda") == 0;
  const fc_options plain = options_of(e, 1, 0, FC_FUSE_NO), threads = options_of(e, 3, 0, FC_FUSE_NO),
                   chunks = options_of(e, 4, e->in.kind == FC_AUDIO ? 97 : 2, FC_FUSE_NO),
                   fused = options_of(e, 1, 0, FC_FUSE_WAIT);
  g_autoptr(GError) error = NULL;
  fc_format out = {.size = sizeof out, .dtype = -1};
  if (!fc_chain_output_format(chain, &e->in, &plain, &out, &error)) return FALSE;
  double elements = 1;
  for (int a = 0; a < FC_AXES; a++) elements *= (double)MAX(out.extent[a], 0);
  if (elements < 1 || elements > MOST_ELEMENTS) return FALSE;
  const gint64 begun = g_get_monotonic_time();
  g_autofree unsigned char *wanted = run(e, chain, &out, &plain, "in one piece");
  if (!wanted) return FALSE;
  const gint64 took = g_get_monotonic_time() - begun;
  const gboolean quick = took < TOO_LONG;
  if (took > MUCH_TOO_LONG) return TRUE;
  if (run_also(e, chain, &out, wanted, &threads, "in 3 threads") &&
      (!quick || run_also(e, chain, &out, wanted, &chunks, "in small chunks")) &&
      run_session(e, chain, &out, wanted) && cuda)
    run_also(e, chain, &out, wanted, &fused, "as a composed kernel");
  return TRUE;
}

/* Runs one stage on one signal; returns whether it ran. */
static gboolean try_stage(engine *e, int kind, int dtype) {
  static const gint64 sound[FC_AXES] = {1, 1, 1777, 2}, picture[FC_AXES] = {2, 23, 37, 3};
  static const int bits[FC_DTYPE_COUNT] = {8, 16, 16, 32, 24, 53};
  g_autoptr(GError) error = NULL;
  e->in = (fc_format){
      .size = sizeof e->in, .kind = kind, .dtype = dtype, .bits = bits[dtype], .layout = FC_INTERLEAVED};
  memcpy(e->in.extent, kind == FC_AUDIO ? sound : picture, sizeof sound);
  e->in.rate = kind == FC_AUDIO ? 16000 : 0;
  e->signal = source_new(&e->in, FILL_RANDOM, &e->d);
  fc_chain *chain = chain_of(e, &error);
  const gboolean ran = chain && in_all_ways(e, chain);
  fc_chain_free(chain);
  for (guint i = 0; i < e->n_sides; i++) source_free(&e->sides[i]);
  g_clear_pointer(&e->sides, g_free);
  source_free(&e->signal);
  return ran;
}

static void on_log(fc_log_level level, const char *message, void *data) {
  (void)level, (void)message, (void)data;
}

gboolean engine_run(const char *path, const fc_plugin *plugin, const fc_operator *op, const char *device,
                    const harness_options *options, guint64 *ran, verdict *v) {
  static const int dtypes[] = {FC_F32, FC_U8, FC_I16};
  g_autoptr(GError) error = NULL;
  engine e = {
      .op = op, .device = device, .options = options, .v = v, .d = dice_of(options->seed, op->name, 7)};
  e.context = fc_context_new();
  e.name = g_strdup_printf("%s/%s", plugin->id, op->name);
  fc_context_set_log(e.context, on_log, NULL);
  if (!fc_context_open_plugin(e.context, path, &error))
    blame(v, FAULT_ENGINE, "the library does not take it: %s", error->message);
  GPtrArray *wishes = wishes_of(op);
  const gint64 end = g_get_monotonic_time() + (gint64)(MAX(options->seconds, 1) * 1e6);
  *ran = 0;
  for (guint i = 0; i < STAGES && v->fault == FAULT_NONE && (*ran < FEWEST || g_get_monotonic_time() < end);
       i++) {
    const int kind = (int)dice_int(&e.d, 0, FC_KIND_COUNT - 1), dtype = dtypes[i % G_N_ELEMENTS(dtypes)];
    static const gint64 shape[FC_AXES] = {2, 23, 37, 3};
    g_autofree char *text = stage_random(op, g_ptr_array_index(wishes, i % wishes->len), shape, &e.d);
    e.text = text;
    for (int k = 0; k < FC_KIND_COUNT && v->fault == FAULT_NONE; k++)
      if (op->kinds & FC_KIND_BIT((kind + k) % FC_KIND_COUNT) && op->dtypes_in & FC_DTYPE_BIT(dtype))
        *ran += try_stage(&e, (kind + k) % FC_KIND_COUNT, dtype);
  }
  g_ptr_array_free(wishes, TRUE);
  fc_context_free(e.context);
  g_free(e.name);
  return v->fault == FAULT_NONE;
}

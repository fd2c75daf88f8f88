/* SPDX-License-Identifier: MIT */
/*
 * run.c - the public ways to run a chain: on files, on host memory, on device memory.
 *
 * All three make a plan and hand it to the executor; what differs is where samples
 * come from and go to.
 */
#include "core/base/error.h"
#include "core/run/exec.h"
#include "core/run/fit.h"
#include "core/run/memory.h"
#include "core/run/parallel.h"

#include <string.h>

static const fc_options default_options = FC_OPTIONS_INIT;

/* A copy of the caller's options with fields it does not know of at their defaults. */
static fc_options full_options(const fc_options *options) {
  fc_options full = default_options;
  if (options) memcpy(&full, options, MIN(options->size, sizeof full));
  full.size = sizeof full;
  return full;
}

void fc_result_free(fc_result *result) {
  if (!result) return;
  for (gsize i = 0; i < result->n_measured; i++) {
    g_free(result->measured[i].name);
    g_free(result->measured[i].unit);
    g_free(result->measured[i].exact);
  }
  g_free(result->measured);
  g_free(result->device);
  g_free(result->reason);
  g_free(result);
}

/* The plan for a source and a sink: once for the chain's own output format, then for
 * the element type that the sink would like. */
static fc_plan *make_plan(fc_chain *chain, fc_source *source, fc_sink *sink, const fc_options *o,
                          GError **error) {
  fc_plan *plan = fc_plan_new(chain, &source->format, -1, o, error);
  if (plan && !sink) plan->rows = source->can_rows;
  if (!plan || !sink) return plan;
  fc_format wish = plan->links[plan->n];
  fc_plan_free(plan);
  if (!sink->accept(sink, &wish, error)) return NULL;
  plan = fc_plan_new(chain, &source->format, wish.dtype, o, error);
  if (plan) plan->rows = source->can_rows && sink->can_rows;
  if (plan) plan->links[plan->n].bits = plan->n ? MIN(wish.bits, 64) : wish.bits;
  return plan;
}

static gboolean measures(const fc_chain *chain) {
  for (guint i = 0; i < chain->n; i++)
    if (chain->stages[i].op->report) return TRUE;
  return FALSE;
}

/* ---- files ------------------------------------------------------------ */

typedef struct ends {
  fc_source *source;
  fc_sink *sink;
} ends;

static void close_ends(ends *e) {
  if (e->sink) e->sink->free(e->sink);
  if (e->source) e->source->free(e->source);
  e->sink = NULL, e->source = NULL;
}

static gboolean open_ends(fc_chain *chain, const char *input, const char *output, const fc_options *o,
                          ends *e, GError **error) {
  const fc_media *media = chain->context->media;
  if (!output && !measures(chain))
    return fc_fail(error, FC_INVALID,
                   "nothing to do: no output was named and no operator of the chain measures");
  e->source = media->open_source(chain->context, input, o, error);
  if (!e->source) return FALSE;
  if (!output) return TRUE;
  e->sink = media->open_sink(chain->context, output, o, e->source, error);
  return e->sink != NULL;
}

/* Makes plan and, if it asks for the whole of a signal of unknown length, loads it. */
static fc_plan *plan_ends(fc_chain *chain, ends *e, const fc_options *o, gboolean load, GError **error) {
  fc_plan *plan = make_plan(chain, e->source, e->sink, o, error);
  if (plan) plan->files = TRUE;
  if (!plan || !load || !plan->whole || e->source->format.extent[plan->cut] >= 0) return plan;
  fc_plan_free(plan);
  e->source = fc_source_load(e->source, chain->context->frames, error);
  return e->source ? make_plan(chain, e->source, e->sink, o, error) : NULL;
}

/* A GPU that was asked for is started while the input is opened. */
static fc_cuda_starting *start_device(const fc_options *o) {
  if (!o->device || !g_str_has_prefix(o->device, "cuda")) return NULL;
  const char *ordinal = o->device[4] == ':' ? o->device + 5 : "0";
  return fc_cuda_start((int)CLAMP(g_ascii_strtoll(ordinal, NULL, 10), 0, 1023));
}

/* `again`: the CPU may take over, from the beginning. */
static gboolean run_once(fc_chain *chain, const char *input, const char *output, const fc_options *o,
                         gboolean *again, fc_result *result, GError **error) {
  ends e = {NULL, NULL};
  g_autoptr(fc_plan) plan = NULL;
  fc_trace *trace = o->trace ? fc_trace_new(o->trace) : NULL;
  fc_cuda_starting *starting = start_device(o);
  gboolean ok = open_ends(chain, input, output, o, &e, error) &&
                (plan = plan_ends(chain, &e, o, TRUE, error)) != NULL &&
                fc_plan_choose_device(plan, o, TRUE, error);
  if (ok) {
    fc_context_log(chain->context, FC_LOG_INFO, "running on %s: %s",
                   plan->device == FC_HOST ? "the CPU" : "the GPU", plan->reason);
    ok = fc_execute(plan, e.source, e.sink, o, trace, result, error);
    result->reason = g_strdup(plan->reason);
    /* Last what cannot be taken back: without its trace a run has failed, and without memory too. */
    ok = ok && fc_trace_write(trace, error) && (!e.sink || e.sink->commit(e.sink, error));
    gboolean final = strcmp(input, "-") == 0 || (e.sink && e.sink->direct);
    *again = !ok && !final && fc_plan_may_leave_device(plan, *error);
  }
  close_ends(&e);
  fc_trace_free(trace);
  fc_cuda_start_wait(starting);
  return ok;
}

/* After a device that we chose, not the user, has failed under way: the same result is to be had
 * without it. Returns why, for the result of the next run. */
static char *start_over(fc_chain *chain, const char *name, fc_options *o, fc_result **result, GError **why) {
  fc_context_log(chain->context, FC_LOG_WARNING, "%s: the GPU failed (%s): starting over on the CPU", name,
                 (*why)->message);
  char *reason = g_strdup_printf("the GPU failed (%s)", (*why)->message);
  g_clear_error(why);
  fc_chain_release_prepared(chain);
  fc_result_free(*result);
  *result = g_new0(fc_result, 1);
  o->device = "cpu";
  return reason;
}

/* What is run: between files, or between views of host memory. */
typedef struct job {
  const char *input, *output;
  const fc_view *in, *out;
} job;

/* `again`: it failed, and the CPU may take over, from the beginning. */
typedef gboolean once_fn(fc_chain *chain, const job *what, const fc_options *o, gboolean *again,
                         fc_result *result, GError **error);

static gboolean run_job(fc_chain *chain, once_fn *once, const job *what, const fc_options *options,
                        fc_result **result, GError **error) {
  fc_options o = full_options(options);
  gint64 start = g_get_monotonic_time();
  gboolean again = FALSE;
  GError *why = NULL;
  char *reason = NULL;
  fc_result *r = g_new0(fc_result, 1);
  gboolean ok = once(chain, what, &o, &again, r, &why);
  if (again) {
    reason = start_over(chain, what->input ? what->input : "memory", &o, &r, &why);
    ok = once(chain, what, &o, &again, r, &why);
  }
  r->seconds = (double)(g_get_monotonic_time() - start) / 1e6;
  if (reason) g_free(r->reason), r->reason = reason;
  if (!ok) g_propagate_error(error, why);
  if (ok && result)
    *result = r;
  else
    fc_result_free(r);
  return ok;
}

static gboolean run_file_once(fc_chain *chain, const job *what, const fc_options *o, gboolean *again,
                              fc_result *result, GError **error) {
  return run_once(chain, what->input, what->output, o, again, result, error);
}

gboolean fc_chain_run_file(fc_chain *chain, const char *input, const char *output, const fc_options *options,
                           fc_result **result, GError **error) {
  job what = {.input = input, .output = output};
  return run_job(chain, run_file_once, &what, options, result, error);
}

char *fc_chain_explain_file(fc_chain *chain, const char *input, const char *output, const fc_options *options,
                            gboolean json, GError **error) {
  fc_options o = full_options(options);
  ends e = {NULL, NULL};
  g_autoptr(fc_plan) plan = NULL;
  char *text = NULL;
  int threads = o.threads;
  if (open_ends(chain, input, output, &o, &e, error) && (plan = plan_ends(chain, &e, &o, FALSE, error)) &&
      fc_plan_choose_device(plan, &o, FALSE, error) && fc_plan_choose_chunk(plan, &o, 0, error) &&
      fc_plan_fit(plan, &threads, error))
    text = fc_plan_explain(plan, input, output, json);
  close_ends(&e);
  return text;
}

/* ---- memory ----------------------------------------------------------- */

/* Operators load whole elements: each must lie where its type may. */
static gboolean check_alignment(const fc_view *v, const char *which, GError **error) {
  gint64 size = (gint64)fc_dtype_size(v->dtype);
  if ((guintptr)v->data % (guintptr)size)
    return fc_fail(error, FC_INVALID, "the %s view's data is not aligned to its elements of %d bytes", which,
                   (int)size);
  for (int a = 0; a < FC_AXES; a++)
    if (v->shape[a] > 1 && v->stride[a] % size)
      return fc_fail(error, FC_INVALID, "the %s view's stride on axis %c is no multiple of %d bytes", which,
                     "NYXC"[a], (int)size);
  return TRUE;
}

static gboolean check_view(const fc_view *v, const char *which, gboolean device, GError **error) {
  if (v->size < sizeof(fc_view))
    return fc_fail(error, FC_INVALID, "the %s view does not say its size", which);
  if (fc_dtype_size(v->dtype) == 0)
    return fc_fail(error, FC_INVALID, "the %s view has no known element type", which);
  if (v->kind < 0 || v->kind >= FC_KIND_COUNT)
    return fc_fail(error, FC_INVALID, "the %s view has no known kind", which);
  if ((v->device != FC_HOST) != device)
    return fc_fail(error, FC_INVALID, "the %s view lies in %s memory", which, device ? "host" : "device");
  for (int a = 0; a < FC_AXES; a++)
    if (v->shape[a] < 0) return fc_fail(error, FC_INVALID, "the %s view has a negative shape", which);
  if (!v->data && fc_view_count(v) > 0) return fc_fail(error, FC_INVALID, "the %s view has no data", which);
  return check_alignment(v, which, error);
}

gboolean fc_chain_output_format(fc_chain *chain, const fc_format *in, const fc_options *options,
                                fc_format *out, GError **error) {
  fc_options o = full_options(options);
  g_autoptr(fc_plan) plan = fc_plan_new(chain, in, out->dtype, &o, error);
  if (!plan) return FALSE;
  *out = plan->links[plan->n];
  return TRUE;
}

static gboolean run_memory(fc_plan *plan, ends *e, const fc_view *in, const fc_view *out, const fc_options *o,
                           fc_trace *trace, fc_result *r, GError **error) {
  if (!fc_plan_for_memory(plan)) return fc_execute(plan, e->source, e->sink, o, trace, r, error);
  return e->sink->begin(e->sink, &plan->links[plan->n], error) &&
         fc_execute_parallel(plan, in, out, o, trace, r, error);
}

static gboolean run_host_once(fc_chain *chain, const job *what, const fc_options *o, gboolean *again,
                              fc_result *result, GError **error) {
  ends e = {fc_memory_source_new(what->in), fc_memory_sink_new(what->out)};
  fc_trace *trace = o->trace ? fc_trace_new(o->trace) : NULL;
  g_autoptr(fc_plan) plan = make_plan(chain, e.source, e.sink, o, error);
  gboolean ok = plan && fc_plan_choose_device(plan, o, TRUE, error);
  if (ok) {
    ok = run_memory(plan, &e, what->in, what->out, o, trace, result, error) && fc_trace_write(trace, error);
    result->reason = g_strdup(plan->reason);
    *again = !ok && fc_plan_may_leave_device(plan, *error);
  }
  close_ends(&e);
  fc_trace_free(trace);
  return ok;
}

gboolean fc_chain_run_host(fc_chain *chain, const fc_view *in, const fc_view *out, const fc_options *options,
                           fc_result **result, GError **error) {
  if (!check_view(in, "input", FALSE, error) || !check_view(out, "output", FALSE, error)) return FALSE;
  job what = {.in = in, .out = out};
  return run_job(chain, run_host_once, &what, options, result, error);
}

static gboolean check_for_device(const fc_plan *plan, const fc_view *in, const fc_view *out, GError **error) {
  if (plan->measures)
    return fc_fail(error, FC_UNSUPPORTED,
                   "a chain that measures must wait for its results: run it on host memory");
  for (guint s = 0; s < plan->n; s++)
    if (plan->stages[s].op && !fc_backend_for(plan->stages[s].op, FC_KIND_CUDA))
      return fc_fail(error, FC_UNSUPPORTED, "%s: has no CUDA version", plan->stages[s].name);
  const fc_format *f = &plan->links[plan->n];
  for (int a = 0; a < FC_AXES; a++)
    if (f->extent[a] != out->shape[a])
      return fc_fail(error, FC_INVALID,
                     "the output view has shape %" G_GINT64_FORMAT
                     " on axis %c where the chain makes %" G_GINT64_FORMAT,
                     out->shape[a], "NYXC"[a], f -> extent[a]);
  if (in->device != out->device) return fc_fail(error, FC_INVALID, "the views lie on different devices");
  return TRUE;
}

/* What a run on a caller's stream was made ready for. */
typedef struct device_key {
  fc_format in;
  int out_dtype, precision, device;
  void *stream;
} device_key;

typedef struct ready_run {
  device_key key;
  fc_device_run *run;
} ready_run;

static void free_ready(void *data) {
  ready_run *ready = data;
  fc_device_run_free(ready->run);
  g_free(ready);
}

static gboolean same_key(const device_key *a, const device_key *b) {
  return memcmp(&a->in, &b->in, sizeof a->in) == 0 && a->out_dtype == b->out_dtype &&
         a->precision == b->precision && a->device == b->device && a->stream == b->stream;
}

static fc_device_run *make_ready(fc_chain *chain, const device_key *key, const fc_options *o,
                                 const fc_view *in, const fc_view *out, GError **error) {
  g_autoptr(fc_plan) plan = fc_plan_new(chain, &key->in, out->dtype, o, error);
  if (!plan || !check_for_device(plan, in, out, error)) return NULL;
  plan->device = in->device;
  fc_runner *runner = fc_cuda_runner_new(in->device, key->stream, error);
  return runner ? fc_device_run_new(g_steal_pointer(&plan), runner, error) : NULL;
}

gboolean fc_chain_run_device(fc_chain *chain, const fc_view *in, const fc_view *out, void *stream,
                             const fc_options *options, GError **error) {
  if (!check_view(in, "input", TRUE, error) || !check_view(out, "output", TRUE, error)) return FALSE;
  fc_options o = full_options(options);
  /* NULL is the legacy default stream, by the name that cannot be mistaken for "none". */
  device_key key = {.out_dtype = out->dtype, .precision = o.precision, .device = in->device};
  key.stream = stream ? stream : (void *)1;
  fc_format_of_view(in, &key.in);
  ready_run *ready = chain->device_run;
  if (ready && same_key(&ready->key, &key))
    return check_for_device(fc_device_run_plan(ready->run), in, out, error) &&
           fc_device_run_enqueue(ready->run, in, out, error);
  if (fc_cuda_captures(in->device, key.stream))
    return fc_fail(error, FC_INVALID,
                   "the stream is being captured, where nothing can be prepared: run the chain on it once "
                   "before, with the same formats");
  fc_device_run *run = make_ready(chain, &key, &o, in, out, error);
  if (!run) return FALSE;
  if (!fc_device_run_enqueue(run, in, out, error)) {
    fc_device_run_free(run);
    return FALSE;
  }
  ready = g_new0(ready_run, 1);
  ready->key = key, ready->run = run;
  chain->device_run = ready, chain->free_device_run = free_ready;
  return TRUE;
}

/* SPDX-License-Identifier: MIT */
/*
 * calls.c - the public functions that run a chain: on files, on host memory, on device memory.
 *
 * All of them make a plan, or reuse a run kept for the same key, and hand it to the executor. They differ
 * only in where samples come from and go to.
 */
#include "core/base/error.h"
#include "core/api/ends.h"
#include "core/run/memory.h"
#include "core/api/passes.h"
#include "core/api/ready.h"
#include "core/run/states.h"
#include "core/run/result.h"

#include <string.h>

/* ---- files ------------------------------------------------------------------- */

/* Reports a shortened chunk: because of the memory limit, or of the memory of a device. */
static void tell_if_shortened(const fc_plan *plan, const fc_plan *wanted, const char *name,
                              const fc_result *result) {
  gboolean by_device = plan->n_devices && plan->chunk < wanted->chunk;
  if (plan->chunk < plan->freely)
    fc_context_log(plan->chain->context, by_device ? FC_LOG_WARNING : FC_LOG_INFO,
                   "%s: memory was short on %s: worked on %" G_GINT64_FORMAT
                   " %s at a time instead of %" G_GINT64_FORMAT "%s",
                   name, result->device, plan->chunk, fc_plan_unit(plan, plan->chunk), plan->freely,
                   by_device ? "" : " (--max-memory sets the limit)");
  else if (plan->n && fc_plan_rework(plan, 0) > 4 && !plan->live) {
    g_autofree char *rework = fc_plan_rework_text(plan);
    fc_context_log(plan->chain->context, FC_LOG_WARNING,
                   "%s: chunks of %" G_GINT64_FORMAT
                   " %s are short: %s; allow longer ones (--chunk, --max-memory)",
                   name, plan->chunk, fc_plan_unit(plan, plan->chunk), rework);
  }
}

typedef struct attempt {
  fc_between between;
  fc_opened *opened; /* already opened, or NULL */
  fc_chain *chain;
  const fc_ends *ends;
  const fc_options *options;
  fc_trace *trace;
  fc_result *result;
  gboolean again; /* it failed, and the CPU may take over, from the beginning */
} attempt;

/* Runs by a plan; one that is kept ready for it, if there is. Before anything was read it is tried again with
 * smaller chunks when memory runs out, and on the CPU when a device fails that the user did not ask for; both
 * are said. `key` as in ready.h, or NULL. */
static gboolean run_plan(attempt *a, fc_plan *wanted, GBytes *key, GError **error) {
  fc_context *context = a->chain->context;
  fc_run *run = fc_ready_take(a->chain, key);
  g_autoptr(fc_plan) plan = fc_plan_ref(run ? fc_run_plan(run) : wanted);
  const char *name = a->ends->source ? a->ends->source->name : a->ends->sink ? a->ends->name : "memory";
  gint64 tried = G_MAXINT64;
  for (gboolean fresh = !run;; fresh = TRUE) {
    GError *why = NULL;
    gboolean began = FALSE, short_of = FALSE;
    if (fresh) {
      fc_plan *fit = fc_plan_fit(plan, &why);
      if (fit) fc_plan_unref(plan), plan = fit;
      run = fit ? fc_run_new(plan, NULL, &why) : NULL;
      short_of = fit && !run && g_error_matches(why, FC_ERROR, FC_NO_MEMORY);
    }
    if (run && fc_run_execute(run, a->ends, a->options, a->trace, a->result, &began, &why)) {
      if (fresh) tell_if_shortened(plan, wanted, name, a->result);
      fc_ready_keep(a->chain, key, run);
      return TRUE;
    }
    fc_run_free(run);
    if (short_of && !plan->whole && plan->chunk > 1 && plan->chunk < tried) {
      fc_context_log(context, FC_LOG_INFO, "%s: trying again with smaller chunks", why->message);
      fc_chain_forget(a->chain);
      tried = plan->chunk;
      fc_plan *less = fc_plan_with_chunk(plan, fc_plan_half(plan), plan->threads, 0);
      fc_plan_unref(plan), plan = less;
    } else if (!began && fc_plan_may_leave_device(plan, why)) {
      fc_context_log(context, FC_LOG_WARNING, "%s: the GPU failed (%s): continuing on the CPU", name,
                     why->message);
      fc_chain_forget(a->chain);
      fc_plan *cpu = fc_plan_on_cpu(plan, a->options, why, error);
      g_clear_error(&why);
      if (!cpu) return FALSE;
      fc_plan_unref(plan), plan = cpu, tried = G_MAXINT64;
    } else {
      a->again = fc_plan_may_leave_device(plan, why);
      g_propagate_error(error, why);
      return FALSE;
    }
    g_clear_error(&why);
  }
}

static gboolean check_shape(const fc_plan *plan, const fc_view *out, GError **error) {
  const fc_format *f = &plan->links[plan->n];
  for (int a = 0; a < FC_AXES; a++)
    if (f->extent[a] != out->shape[a])
      return fc_fail(error, FC_INVALID,
                     "the output view has shape %" G_GINT64_FORMAT
                     " on axis %c where the chain makes %" G_GINT64_FORMAT,
                     out->shape[a], "NYXC"[a], f -> extent[a]);
  return TRUE;
}

/* The key under which a finished run is kept for the next call. A run on views is kept if nothing in it but
 * the views themselves depends on the caller's memory. */
static GBytes *key_of(const attempt *a, const fc_opened *o, const fc_plan *plan) {
  if (!o->query.borrowed) return fc_opened_key(o);
  return plan->borrowed && !plan->n_sides ? fc_view_key(a->chain, o->in, o->out->dtype, NULL, a->options)
                                          : NULL;
}

/* For -v: what is joined by algebra, and why something is not, be it that an operator is at fault. */
static void tell_joined(const fc_plan *plan) {
  for (guint s = 0; s < plan->n; s++) {
    const fc_plan_stage *ps = &plan->stages[s];
    if (ps->made)
      fc_context_log(plan->chain->context, FC_LOG_INFO, "%s: %u stages joined by algebra: %s",
                     ps->stage->text, ps->made->n, ps->made->text);
    if (ps->apart)
      fc_context_log(plan->chain->context, FC_LOG_INFO, "%s: not joined to the next stage: %s",
                     ps->stage->text, ps->apart);
    if (ps->unsound)
      fc_context_log(plan->chain->context, FC_LOG_INFO, "%s: its map for --fuse=algebra is not used: %s",
                     ps->stage->text, ps->unsound);
  }
}

static gboolean run_opened(attempt *a, fc_opened *o, GError **error) {
  g_autoptr(fc_plan) plan = fc_opened_plan(o, TRUE, error);
  if (!plan || (a->between.out && !check_shape(plan, a->between.out, error))) return FALSE;
  g_autoptr(GBytes) key = key_of(a, o, plan);
  fc_ends ends;
  if (!fc_opened_ends(o, plan, &ends, error)) return FALSE;
  a->ends = &ends;
  fc_context_log(a->chain->context, FC_LOG_INFO, "running on %s: %s", plan->n_devices ? "the GPU" : "the CPU",
                 plan->reason);
  tell_joined(plan);
  return run_plan(a, plan, key, error);
}

/* Data that came from a pipe or went into one cannot be repeated: then the failure stands. */
static void check_again(attempt *a, const fc_opened *opened, GError **error) {
  const char *once = opened && opened->once                           ? opened->once
                     : opened && opened->sink && opened->sink->direct ? opened->sink->name
                                                                      : NULL;
  if (!a->again || !once) return;
  a->again = FALSE;
  g_prefix_error(error, "%s cannot be read twice, so the CPU does not take over: ", once);
}

static gboolean run_once(attempt *a, GError **error) {
  const fc_options *o = a->options;
  a->trace = o->trace ? fc_trace_new(o->trace) : NULL;
  /* A GPU that the user asked for is started while the input is opened. */
  fc_starting *starting = fc_start_device(a->chain, o->device);
  fc_opened *opened =
      a->opened ? g_steal_pointer(&a->opened) : fc_opened_new(a->chain, &a->between, o, error);
  gboolean ok = opened && run_opened(a, opened, error);
  fc_sink *sink = opened ? opened->sink : NULL;
  /* The commit comes last because it cannot be undone: a run whose trace cannot be written has failed, and
   * so has one without memory. */
  ok = ok && fc_trace_write(a->trace, error) && (!sink || !sink->commit || sink->commit(sink, error));
  if (!ok) check_again(a, opened, error);
  fc_opened_free(opened);
  fc_trace_free(a->trace);
  if (starting) a->chain->context->driver->start_wait(starting);
  return ok;
}

/* ---- passes ---------------------------------------------------------------------- */

/* Progress of all passes together. */
typedef struct whole_progress {
  fc_progress_fn progress;
  void *data;
  gint64 pass, passes;
} whole_progress;

static gboolean tell_whole(gint64 done, gint64 total, void *data) {
  const whole_progress *w = data;
  if (total < 0) return w->progress(done, total, w->data);
  return w->progress((w->pass * total + done) / w->passes, total, w->data);
}

typedef struct measuring {
  attempt *a;
  gboolean (*once)(attempt *a, GError **error);
  whole_progress *progress;
} measuring;

/* A run without an output whose result is discarded. */
static gboolean measure_once(void *data, GError **error) {
  const measuring *m = data;
  attempt first = *m->a;
  fc_options o = *first.options;
  o.trace = NULL;
  first.options = &o, first.opened = NULL, first.result = fc_result_new();
  first.between.output = NULL, first.between.out = NULL, first.between.later = FALSE;
  gboolean ok = m->once(&first, error);
  m->a->again = first.again;
  m->progress->pass++;
  fc_result_free(first.result);
  return ok;
}

/* Checks that the output can be written before time is spent on a first pass. */
static gboolean check_output(const attempt *a, GError **error) {
  if (!a->between.output) return TRUE;
  fc_context *context = a->chain->context;
  fc_sink *sink = context->media->open_sink(context, a->between.output, a->options, NULL, error);
  if (sink) sink->free(sink);
  return sink != NULL;
}

/* First the passes that the chain's stages need, then the run itself. */
static gboolean run_passes(attempt *a, gboolean (*once)(attempt *a, GError **error), GError **error) {
  const fc_options *options = a->options;
  fc_options o = *options;
  whole_progress progress = {o.progress, o.progress_data, 0, 1 + (gint64)fc_passes_count(a->chain)};
  measuring m = {a, once, &progress};
  if (progress.passes == 1) return once(a, error);
  if (o.progress) o.progress = tell_whole, o.progress_data = &progress;
  a->options = &o;
  gboolean ok =
      check_output(a, error) && fc_passes_measure(a->chain, measure_once, &m, error) && once(a, error);
  fc_passes_measure(a->chain, NULL, NULL, NULL);
  a->options = options;
  return ok;
}

/* The default name of an input for random numbers: its path; g_free. */
static char *random_name_of(const char *input) {
  return input ? fc_file_split(input, TRUE, NULL) : NULL;
}

/* Runs once, and again on the CPU if a device that the user did not choose fails during the run: the
 * result is the same. A failed run may still have measurements. */
static gboolean run_attempt(fc_chain *chain, attempt *a, const fc_options *options,
                            gboolean (*once)(attempt *a, GError **error), const char *name,
                            fc_result **result, GError **error) {
  fc_options o = fc_full_options(options);
  const gint64 start = g_get_monotonic_time();
  g_autofree char *reason = NULL, *random_name = random_name_of(a->between.input);
  if (!o.random_name) o.random_name = random_name;
  GError *why = NULL;
  a->chain = chain, a->options = &o, a->result = fc_result_new();
  gboolean ok = run_passes(a, once, &why);
  if (!ok && a->again) {
    fc_context_log(chain->context, FC_LOG_WARNING, "%s: the GPU failed (%s): starting again on the CPU", name,
                   why->message);
    reason = g_strdup_printf("the GPU failed (%s)", why->message);
    g_clear_error(&why);
    fc_chain_forget(chain);
    fc_result_free(a->result);
    a->result = fc_result_new();
    o.device = "cpu";
    ok = run_passes(a, once, &why);
  }
  a->result->seconds = (double)(g_get_monotonic_time() - start) / 1e6;
  const char *clipped = ok ? fc_result_clipped(a->result) : NULL;
  if (clipped) fc_context_log(chain->context, FC_LOG_WARNING, "%s", clipped);
  if (reason) fc_result_set_reason(a->result, reason);
  if (!ok) g_propagate_error(error, why);
  if ((ok || a->result->n_measured > 0) && result)
    *result = a->result;
  else
    fc_result_free(a->result);
  return ok;
}

gboolean fc_opened_run(fc_opened *opened, fc_chain *chain, const char *input, const char *output,
                       const fc_options *options, fc_result **result, GError **error) {
  attempt a = {.between = {.input = input, .output = output}, .opened = opened};
  if (result) *result = NULL;
  gboolean ok = run_attempt(chain, &a, options, run_once, input ? input : "the chain", result, error);
  fc_opened_free(a.opened);
  return ok;
}

gboolean fc_chain_run_file(fc_chain *chain, const char *input, const char *output, const fc_options *options,
                           fc_result **result, GError **error) {
  return fc_opened_run(NULL, chain, input, output, options, result, error);
}

char *fc_chain_explain_file(fc_chain *chain, const char *input, const char *output, const fc_options *options,
                            gboolean json, GError **error) {
  fc_options o = fc_full_options(options);
  fc_opened *opened = fc_opened_new(chain, &(fc_between){.input = input, .output = output}, &o, error);
  g_autoptr(fc_plan) plan = opened ? fc_opened_plan(opened, FALSE, error) : NULL;
  g_autoptr(fc_plan) fit = plan ? fc_plan_fit(plan, error) : NULL;
  char *text = fit ? fc_plan_explain(fit, input ? input : "none", output, json) : NULL;
  fc_opened_free(opened);
  return text;
}

/* ---- between files and memory ------------------------------------------------------ */

struct fc_loader {
  fc_chain *chain;
  char *input; /* path of an input that must be read again for measurements */
  char *random_name;
  GBytes *content;
  fc_options options;
  fc_opened *opened;
  fc_plan *plan;
};

void fc_loader_free(fc_loader *load) {
  if (!load) return;
  if (load->plan) fc_plan_unref(load->plan);
  fc_opened_free(load->opened);
  g_free(load->input);
  g_free(load->random_name);
  g_clear_pointer(&load->content, g_bytes_unref);
  g_free(load);
}

static fc_loader *open_load(fc_chain *chain, const char *input, GBytes *content, const fc_options *options,
                            GError **error) {
  g_autoptr(fc_loader) load = g_new0(fc_loader, 1);
  load->chain = chain, load->options = fc_full_options(options);
  load->random_name = load->options.random_name ? g_strdup(load->options.random_name) : random_name_of(input);
  load->options.random_name = load->random_name;
  load->options.in_bytes = content;
  load->input = g_strdup(input);
  load->opened = fc_opened_new(chain, &(fc_between){.input = input, .later = TRUE}, &load->options, error);
  /* Two-pass operators read the input once more. */
  if (content && fc_passes_count(chain))
    load->content = g_bytes_new(g_bytes_get_data(content, NULL), g_bytes_get_size(content));
  load->options.in_bytes = load->content;
  if (!load->opened || !fc_opened_know_end(load->opened, error)) return NULL;
  load->plan = fc_opened_plan(load->opened, FALSE, error);
  return load->plan ? g_steal_pointer(&load) : NULL;
}

fc_loader *fc_chain_load_file(fc_chain *chain, const char *input, const fc_options *options, GError **error) {
  return open_load(chain, input, NULL, options, error);
}

fc_loader *fc_chain_load_bytes(fc_chain *chain, const void *content, gsize bytes, const fc_options *options,
                               GError **error) {
  g_autoptr(GBytes) borrowed = g_bytes_new_static(content, bytes); /* copied before this returns */
  return open_load(chain, "memory", borrowed, options, error);
}

const fc_format *fc_loader_format(const fc_loader *load) {
  return &load->plan->links[load->plan->n];
}

/* The source has been read in part, so a failure is not retried. */
static gboolean run_load_once(attempt *a, GError **error) {
  gboolean ok = run_once(a, error);
  a->again = FALSE;
  return ok;
}

gboolean fc_loader_run(fc_loader *load, const fc_view *out, fc_result **result, GError **error) {
  fc_view to;
  if (result) *result = NULL;
  if (!fc_check_view(out, &to, "output", FALSE, error)) return FALSE;
  if (!load->opened) return fc_fail(error, FC_INVALID, "the loaded signal has been read already");
  if (!check_shape(load->plan, &to, error)) return FALSE;
  g_autofree char *name = g_strdup(load->opened->source ? load->opened->source->name : "the chain");
  load->opened->sink = fc_memory_sink_new(load->chain->context, &to);
  attempt a = {.between = {.input = load->input, .out = &to}, .opened = g_steal_pointer(&load->opened)};
  return run_attempt(load->chain, &a, &load->options, run_load_once, name, result, error);
}

gboolean fc_chain_save_file(fc_chain *chain, const fc_view *in, const char *output, const fc_options *options,
                            fc_result **result, GError **error) {
  fc_view from;
  if (result) *result = NULL;
  if (!fc_check_view(in, &from, "input", FALSE, error)) return FALSE;
  attempt a = {.between = {.in = &from, .output = output}};
  return run_attempt(chain, &a, options, run_once, "memory", result, error);
}

/* ---- memory --------------------------------------------------------------------- */

gboolean fc_chain_output_format(fc_chain *chain, const fc_format *in, const fc_options *options,
                                fc_format *out, GError **error) {
  fc_options o = fc_full_options(options);
  fc_format full = {0};
  memcpy(&full, in, MIN(in->size, sizeof full));
  full.size = sizeof full;
  fc_opened *opened = fc_opened_formats(chain, &full, out->dtype, &o, error);
  g_autoptr(fc_plan) plan = opened ? fc_opened_plan(opened, FALSE, error) : NULL;
  if (plan) {
    const guint32 size =
        out->size >= G_STRUCT_OFFSET(fc_format, extent) ? MIN(out->size, sizeof *out) : sizeof *out;
    memcpy(out, &plan->links[plan->n], size);
    out->size = size;
  }
  fc_opened_free(opened);
  return plan != NULL;
}

/* A run that is ready needs nothing but to be run. */
static gboolean run_host_once(attempt *a, GError **error) {
  const fc_options *o = a->options;
  const fc_between *between = &a->between;
  g_autoptr(GBytes) key =
      between->out && !o->trace ? fc_view_key(a->chain, between->in, between->out->dtype, NULL, o) : NULL;
  fc_run *ready = fc_ready_take(a->chain, key);
  if (!ready) return run_once(a, error);
  gboolean began, ok = check_shape(fc_run_plan(ready), between->out, error);
  fc_ends ends = {.in = between->in, .out = between->out, .name = "output"};
  if (ok && !fc_run_execute(ready, &ends, o, NULL, a->result, &began, error)) {
    fc_run_free(ready);
    return FALSE;
  }
  fc_ready_keep(a->chain, key, ready);
  return ok;
}

gboolean fc_chain_run_host(fc_chain *chain, const fc_view *in, const fc_view *out, const fc_options *options,
                           fc_result **result, GError **error) {
  fc_view from, to;
  if (result) *result = NULL;
  if (!fc_check_view(in, &from, "input", FALSE, error) || !fc_check_view(out, &to, "output", FALSE, error))
    return FALSE;
  attempt a = {.between = {.in = &from, .out = &to}};
  return run_attempt(chain, &a, options, run_host_once, "memory", result, error);
}

/* ---- a caller's stream ------------------------------------------------------------- */

static fc_run *make_device_run(fc_chain *chain, const fc_view *in, const fc_view *out, void *stream,
                               const fc_options *o, GError **error) {
  if (!fc_passes_check(chain, 0, FALSE, "a caller's stream", error)) return NULL;
  fc_opened *opened = fc_opened_new(chain, &(fc_between){.in = in, .out = out}, o, error);
  g_autoptr(fc_plan) plan = opened ? fc_opened_plan(opened, TRUE, error) : NULL;
  fc_run *run = NULL;
  if (!plan || !check_shape(plan, out, error))
    run = NULL;
  else if (plan->measures)
    fc_fail(error, FC_UNSUPPORTED, "a chain that measures must wait for its results: run it on host memory");
  else if (plan->n_sides)
    fc_fail(error, FC_UNSUPPORTED, "%s: a further input must be read: run the chain on host memory",
            plan->stages[plan->sides[0].stage].name);
  else
    run = fc_run_new(plan, stream, error);
  fc_opened_free(opened);
  return run;
}

gboolean fc_chain_run_device(fc_chain *chain, const fc_view *in, const fc_view *out, void *stream,
                             const fc_options *options, GError **error) {
  fc_view from, to;
  if (!fc_check_view(in, &from, "input", TRUE, error) || !fc_check_view(out, &to, "output", TRUE, error))
    return FALSE;
  const fc_driver *driver = chain->context->driver;
  if (!driver) return fc_fail(error, FC_DEVICE, "this build has no CUDA backend");
  if (from.device != to.device) return fc_fail(error, FC_INVALID, "the views lie on different devices");
  fc_options o = fc_full_options(options);
  /* NULL is the legacy default stream; 1 is its explicit handle, so that it is not taken for "no stream". */
  if (!stream) stream = (void *)1;
  g_autoptr(GBytes) key = fc_view_key(chain, &from, to.dtype, stream, &o);
  const gboolean captured = driver->captures(from.device, stream);
  fc_run *run = fc_ready_take(chain, key);
  if (!run && captured)
    return fc_fail(error, FC_INVALID,
                   "the stream is being captured, where nothing can be prepared: run the chain on it once "
                   "before, with the same formats");
  if (!run) run = make_device_run(chain, &from, &to, stream, &o, error);
  if (!run) return FALSE;
  if (!check_shape(fc_run_plan(run), &to, error)) {
    fc_ready_keep(chain, key, run);
    return FALSE;
  }
  fc_chain_tell_random(chain, &o);
  gboolean ok = fc_run_enqueue(run, &from, &to, error);
  /* Kept in any case: work that was enqueued before a failure still uses its memory, and a captured graph
   * uses it until fc_chain_release. */
  if (captured)
    fc_ready_pin(chain, key, run);
  else
    fc_ready_keep(chain, key, run);
  return ok;
}

gboolean fc_chain_check_device(fc_chain *chain, GError **error) {
  return fc_ready_check(chain, error);
}

void *fc_device_alloc(fc_context *context, gint32 device, gsize bytes, GError **error) {
  const fc_driver *driver = context->driver;
  void *memory = NULL;
  if (!driver || fc_device_kind_of(device) != driver->kind)
    fc_fail(error, FC_DEVICE, "this build has no CUDA backend");
  else if (!(memory = driver->alloc(device, MAX(bytes, 1))))
    fc_fail(error, FC_NO_MEMORY, "the device has no %" G_GSIZE_FORMAT " bytes left", bytes);
  return memory;
}

void fc_device_free(fc_context *context, gint32 device, void *memory) {
  if (memory) context->driver->release(device, memory);
}

/* SPDX-License-Identifier: MIT */
/*
 * chain.c - from -p strings to instances of operators, and their prepared states.
 */
#include "core/context/chain.h"

#include "core/base/error.h"
#include "core/context/host.h"
#include "core/device/runner.h"

#include <string.h>

/* Prepared states that a stage keeps while nothing runs. */
#define PREPARED_MOST 8

/* ---- making chains ---------------------------------------------------------- */

static gboolean create_with(fc_stage *stage, const fc_args *args, void **self, GError **error) {
  if (!stage->op->create) return TRUE;
  fc_status status = FC_CALLED(stage->op->name, stage->op->create(&stage->host.base, args->argv, self));
  return fc_stage_host_check(&stage->host, stage->op->name, "taking its parameters", status, error);
}

/* Arguments with times are resolved when the sample rate is known. */
static gboolean create(fc_stage *stage, GError **error) {
  return stage->args->timed || create_with(stage, stage->args, &stage->self, error);
}

static void destroy(const fc_operator *op, void *self) {
  if (!op || !op->destroy) return;
  fc_enter_operator(op->name);
  op->destroy(self);
  fc_enter_operator(NULL);
}

static void instance_free(fc_stage *stage, fc_instance *one) {
  destroy(stage->op, one->self);
  fc_args_free(one->args);
  g_free(one);
}

static fc_instance *instance_new(fc_stage *stage, double rate, GError **error) {
  fc_args *args = fc_args_at_rate(stage->op, stage->args, rate, error);
  if (!args) return NULL;
  fc_instance *one = g_new0(fc_instance, 1);
  one->rate = rate, one->args = args;
  if (create_with(stage, args, &one->self, error)) return one;
  instance_free(stage, one);
  return NULL;
}

gboolean fc_stage_instance(fc_stage *stage, double rate, void **self, GError **error) {
  *self = stage->self;
  if (!fc_stage_is_timed(stage)) return TRUE;
  if (!stage->instances) stage->instances = g_ptr_array_new();
  for (guint i = 0; i < stage->instances->len; i++) {
    const fc_instance *one = g_ptr_array_index(stage->instances, i);
    if (one->rate != rate) continue;
    *self = one->self;
    return TRUE;
  }
  fc_instance *one = instance_new(stage, rate, error);
  if (!one) return FALSE;
  g_ptr_array_add(stage->instances, one);
  *self = one->self;
  return TRUE;
}

const fc_two_passes *fc_stage_passes(const fc_stage *stage) {
  if (!(stage->op->flags & FC_OP_TWO_PASSES)) return NULL;
  const fc_two_passes *passes = fc_operator_extension(stage->op, FC_TWO_PASSES);
  if (!passes || !FC_HAS(passes, wanted) || !passes->wanted || fc_stage_is_timed(stage)) return passes;
  fc_enter_operator(stage->op->name);
  const gboolean wanted = passes->wanted(stage->self) != 0;
  fc_enter_operator(NULL);
  return wanted ? passes : NULL;
}

/* Records the stage's inputs from the arguments that name files. */
static gboolean take_inputs(fc_stage *stage, GError **error) {
  const guint n = stage->args->n_inputs;
  if (n > FC_INPUTS_MOST)
    return fc_fail(error, FC_INVALID, "%s: %u further inputs, at most %d are possible", stage->op->name, n,
                   FC_INPUTS_MOST);
  for (const char *const *line = stage->args->warnings; line && *line; line++)
    fc_context_log(stage->host.context, FC_LOG_WARNING, "%s", *line);
  stage->n_inputs = n;
  stage->inputs = g_new0(fc_stage_input, MAX(n, 1));
  for (guint i = 0; i < n; i++) stage->inputs[i].path = g_strdup(stage->args->inputs[i]->text);
  return TRUE;
}

static void init_stage(fc_stage *stage, fc_context *context) {
  fc_stage_host_init(&stage->host, context);
  stage->prepared = g_ptr_array_new();
}

static void clear_stage(fc_stage *stage) {
  destroy(stage->op, stage->self);
  if (stage->made) g_ptr_array_free(stage->made, TRUE);
  for (guint i = 0; stage->instances && i < stage->instances->len; i++)
    instance_free(stage, g_ptr_array_index(stage->instances, i));
  if (stage->instances) g_ptr_array_free(stage->instances, TRUE);
  fc_args_free(stage->args);
  for (guint k = 0; k < stage->n_inputs; k++) g_free(stage->inputs[k].path);
  g_free(stage->inputs);
  g_ptr_array_free(stage->prepared, TRUE);
  fc_stage_host_clear(&stage->host);
  g_free(stage->text);
}

static gboolean make_stage(fc_context *context, fc_stage *stage, const char *text, GError **error) {
  g_autoptr(fc_stage_text) parsed = fc_stage_text_parse(text, error);
  if (!parsed) return FALSE;
  stage->op = fc_registry_find(context->registry, parsed->name, error);
  if (!stage->op) return FALSE;
  stage->text = g_strdup(text);
  stage->args =
      fc_args_resolve(stage->op, parsed, context->media ? context->media->load_table : NULL, context, error);
  return stage->args && take_inputs(stage, error) && create(stage, error);
}

static fc_chain *chain_new(fc_context *context, guint n) {
  fc_chain *chain = g_new0(fc_chain, 1);
  chain->context = context;
  chain->stages = g_new0(fc_stage, MAX(n, 1));
  chain->ready = g_ptr_array_new();
  chain->workers = g_ptr_array_new_with_free_func((GDestroyNotify)fc_chain_free);
  return chain;
}

fc_chain *fc_chain_parse(fc_context *context, const char *const *stages, GError **error) {
  guint n = stages ? g_strv_length((char **)stages) : 0;
  fc_chain *chain = chain_new(context, n);
  for (guint i = 0; i < n; i++) {
    init_stage(&chain->stages[i], context);
    chain->n = i + 1;
    if (!make_stage(context, &chain->stages[i], stages[i], error)) {
      fc_chain_free(chain);
      return NULL;
    }
  }
  return chain;
}

fc_chain *fc_chain_clone(fc_chain *chain, GError **error) {
  fc_chain *other = chain_new(chain->context, chain->n);
  for (guint i = 0; i < chain->n; i++) {
    const fc_stage *from = &chain->stages[i];
    fc_stage *stage = &other->stages[i];
    init_stage(stage, chain->context);
    other->n = i + 1;
    stage->op = from->op, stage->text = g_strdup(from->text), stage->args = fc_args_ref(from->args);
    stage->n_inputs = from->n_inputs;
    stage->inputs = g_new0(fc_stage_input, MAX(from->n_inputs, 1));
    for (guint k = 0; k < from->n_inputs; k++) {
      stage->inputs[k] = from->inputs[k];
      stage->inputs[k].path = g_strdup(from->inputs[k].path);
    }
    if (!create(stage, error)) {
      fc_chain_free(other);
      return NULL;
    }
  }
  return other;
}

/* ---- a chain from operators and values -------------------------------------- */

fc_chain *fc_chain_new(fc_context *context) {
  return chain_new(context, 0);
}

static const fc_arg *arg_called(const fc_stage *stage, const char *name) {
  for (guint i = 0; i < stage->op->n_params; i++) {
    const fc_param *param = stage->op->params[i];
    gboolean called =
        name ? strcmp(param->name, name) == 0 || (param->aliases && g_strv_contains(param->aliases, name))
             : (param->flags & FC_PARAM_MAIN) != 0;
    if (called) return stage->args->argv[i];
  }
  return NULL;
}

/* Room for one more stage, which is not counted yet. */
static fc_stage *next_stage(fc_chain *chain) {
  fc_chain_release(chain);
  chain->stages = g_renew(fc_stage, chain->stages, chain->n + 1);
  fc_stage *stage = &chain->stages[chain->n];
  memset(stage, 0, sizeof *stage);
  init_stage(stage, chain->context);
  return stage;
}

gboolean fc_chain_add_text(fc_chain *chain, const char *text, GError **error) {
  fc_stage *stage = next_stage(chain);
  if (!make_stage(chain->context, stage, text, error)) {
    clear_stage(stage);
    return FALSE;
  }
  chain->n++;
  return TRUE;
}

gboolean fc_chain_add(fc_chain *chain, const char *name, const fc_value *const *values, GError **error) {
  const fc_operator *op = fc_registry_find(chain->context->registry, name, error);
  if (!op) return FALSE;
  const fc_media *media = chain->context->media;
  fc_stage *s = next_stage(chain);
  s->op = op, s->text = g_strdup(name);
  s->args = fc_args_of_values(s->op, values, media ? media->load_table : NULL, chain->context, error);
  chain->n++;
  gboolean ok = s->args && take_inputs(s, error);
  /* An input given as a view has no name; inputs are in the order of the parameters. */
  for (guint i = 0; ok && values && values[i]; i++) {
    const fc_arg *arg = values[i]->view ? arg_called(s, values[i]->name) : NULL;
    if (!arg) continue;
    fc_stage_input *input = &s->inputs[arg->input - 1];
    g_clear_pointer(&input->path, g_free);
    memcpy(&input->view, values[i]->view, MIN(values[i]->view->size, sizeof input->view));
  }
  if (ok && create(s, error)) return TRUE;
  clear_stage(s);
  chain->n--;
  return FALSE;
}

/* ---- prepared states ---------------------------------------------------------- */

/* The operator whose functions are called: its own, or that which stands for several stages. */
static const fc_operator *operator_of(const fc_stage *stage, const fc_prepared *p) {
  return p->made ? p->made->op : stage->op;
}

static void release(fc_stage *stage, fc_prepared *p) {
  const fc_driver *driver = stage->host.context->driver;
  if (p->backend->prepare && p->backend->release) {
    int before = p->device != FC_HOST ? driver->enter(p->device) : -1;
    fc_enter_operator(operator_of(stage, p)->name);
    p->backend->release(&stage->host.base, p->state);
    fc_enter_operator(NULL);
    if (p->device != FC_HOST) driver->leave(before);
  }
  if (p->numbers) driver->release(p->device, p->numbers);
  g_free(p->in);
  g_free(p);
}

void fc_prepared_unref(fc_stage *stage, fc_prepared *p) {
  if (p && g_atomic_int_dec_and_test(&p->references)) release(stage, p);
}

static void trim(fc_stage *stage, guint most) {
  for (guint i = 0; i < stage->prepared->len && stage->prepared->len > most;) {
    fc_prepared *p = g_ptr_array_index(stage->prepared, i);
    if (g_atomic_int_get(&p->references) == 1)
      g_ptr_array_remove_index(stage->prepared, i), fc_prepared_unref(stage, p);
    else
      i++;
  }
}

fc_format fc_format_without_extents(const fc_format *f, gboolean shaped) {
  fc_format told = *f;
  told.time_num = told.time_den = 0, told.framed = 0;
  for (int a = 0; a < FC_AXES; a++)
    if (a != FC_AXIS_C && !shaped) told.extent[a] = FC_UNKNOWN;
  return told;
}

static gboolean same(const fc_prepared *a, const fc_prepared *b) {
  return a->backend == b->backend && a->device == b->device && a->compute == b->compute &&
         a->joined == b->joined && a->made == b->made && a->n_in == b->n_in &&
         memcmp(a->in, b->in, a->n_in * sizeof *a->in) == 0 && memcmp(&a->out, &b->out, sizeof a->out) == 0;
}

static fc_prepared *find(fc_stage *stage, const fc_prepared *wanted) {
  for (guint i = stage->prepared->len; i-- > 0;) {
    fc_prepared *p = g_ptr_array_index(stage->prepared, i);
    if (!same(p, wanted)) continue;
    g_ptr_array_steal_index(stage->prepared, i);
    g_ptr_array_add(stage->prepared, p);
    return p;
  }
  return NULL;
}

/* ---- joined by algebra ---------------------------------------------------------- */

static void joined_free(void *data) {
  fc_joined *joined = data;
  destroy(joined->op, joined->self);
  fc_linear_map_clear(&joined->map);
  fc_linear_steps_free(joined->steps);
  g_free(joined->text);
  g_free(joined);
}

fc_joined *fc_stage_find_joined(const fc_stage *stage, guint n, int compute, const fc_format *in,
                                const fc_format *out) {
  const fc_format from = fc_format_without_extents(in, FALSE), to = fc_format_without_extents(out, FALSE);
  for (guint i = 0; stage->made && i < stage->made->len; i++) {
    fc_joined *one = g_ptr_array_index(stage->made, i);
    if (one->n == n && one->compute == compute && memcmp(&one->in, &from, sizeof from) == 0 &&
        memcmp(&one->out, &to, sizeof to) == 0)
      return one;
  }
  return NULL;
}

void fc_stage_keep_joined(fc_stage *stage, fc_joined *joined) {
  joined->in = fc_format_without_extents(&joined->in, FALSE),
  joined->out = fc_format_without_extents(&joined->out, FALSE);
  if (!stage->made) stage->made = g_ptr_array_new_with_free_func(joined_free);
  g_ptr_array_add(stage->made, joined);
}

void fc_stage_drop_joined(fc_stage *stage, fc_joined *joined) {
  g_ptr_array_remove(stage->made, joined);
}

gboolean fc_stage_sections(fc_stage *stage, double rate, fc_section *sections, guint room, guint *count,
                           GError **error) {
  const fc_cascade *cascade = fc_operator_extension(stage->op, FC_CASCADE);
  void *self = NULL;
  if (!fc_stage_instance(stage, rate, &self, error)) return FALSE;
  fc_enter_operator(stage->op->name);
  const fc_status status = cascade->design(&stage->host.base, self, rate, sections, room, count);
  fc_enter_operator(NULL);
  return fc_stage_host_check(&stage->host, stage->op->name, "designing its sections", status, error);
}

/* The sections of stages from `stage` on in a row, each rounded to float at its end where that is what is
 * computed in; g_free. */
static fc_section *sections_of(fc_stage *stage, const fc_prepared *p, guint *n, GError **error) {
  const fc_cascade *cascade = fc_operator_extension(stage->op, FC_CASCADE);
  fc_section *all = g_new0(fc_section, cascade->most);
  *n = 0;
  for (guint i = 0, more = 0; i < p->joined; i++, *n += more) {
    if (*n) all[*n - 1].rounded = p->compute == FC_F32;
    if (!fc_stage_sections(stage + i, p->in[0].rate, all + *n, cascade->most - *n, &more, error)) {
      g_free(all);
      return NULL;
    }
  }
  return all;
}

/* The numbers that edges are made from, on a device. */
static gboolean upload_numbers(const fc_driver *driver, fc_prepared *p, GError **error) {
  if (!p->made || p->device == FC_HOST || !fc_linear_has_edges(p->made->steps)) return TRUE;
  const gsize bytes = fc_linear_numbers(p->made->steps, NULL) * sizeof(double);
  g_autofree double *numbers = g_malloc(bytes);
  fc_linear_numbers(p->made->steps, numbers);
  p->numbers = driver->alloc(p->device, bytes);
  if (!p->numbers) return fc_fail(error, FC_NO_MEMORY, "no device memory for the taps of joined stages");
  return driver->upload(p->device, p->numbers, numbers, bytes, error);
}

static gboolean call_prepare(fc_stage *stage, fc_prepared *p, GError **error) {
  void *self = p->made ? p->made->self : NULL;
  const char *name = operator_of(stage, p)->name;
  if (!p->made && !fc_stage_instance(stage, p->n_in ? p->in[0].rate : p->out.rate, &self, error))
    return FALSE;
  p->state = self;
  if (!p->backend->prepare) return TRUE;
  const fc_driver *driver = stage->host.context->driver;
  const fc_format *in[1 + FC_INPUTS_MOST];
  for (guint i = 0; i < p->n_in; i++) in[i] = &p->in[i];
  fc_setup setup = {sizeof setup, p->device, p->compute, p->n_in, in, &p->out};
  guint n = 0;
  g_autofree fc_section *sections = p->joined ? sections_of(stage, p, &n, error) : NULL;
  if (p->joined && !sections) return FALSE;
  int before = p->device != FC_HOST ? driver->enter(p->device) : -1;
  const fc_cascade *cascade = sections ? fc_operator_extension(stage->op, FC_CASCADE) : NULL;
  fc_status status =
      FC_CALLED(name, cascade ? cascade->prepare(&stage->host.base, self, &setup, sections, n, &p->state)
                              : p->backend->prepare(&stage->host.base, self, &setup, &p->state));
  if (p->device != FC_HOST) driver->leave(before);
  return fc_stage_host_check_on(&stage->host, name, p->device, "preparing", status, error);
}

fc_prepared *fc_stage_prepare(fc_stage *stage, guint joined, const fc_joined *made, const fc_backend *backend,
                              gint32 device, int compute, guint n_in, gboolean any_size,
                              const fc_format *const *in, const fc_format *out, GError **error) {
  const gboolean shaped = (backend->flags & FC_BACKEND_SHAPED) != 0 && !any_size;
  g_autofree fc_prepared *wanted = g_new0(fc_prepared, 1);
  *wanted =
      (fc_prepared){.references = 1, .backend = backend, .device = device, .compute = compute, .n_in = n_in};
  wanted->joined = joined, wanted->made = made;
  wanted->in = g_new0(fc_format, MAX(n_in, 1));
  for (guint i = 0; i < n_in; i++) wanted->in[i] = fc_format_without_extents(in[i], shaped);
  wanted->out = fc_format_without_extents(out, shaped);
  fc_prepared *p = find(stage, wanted);
  if (!p && upload_numbers(stage->host.context->driver, wanted, error) &&
      call_prepare(stage, wanted, error)) {
    p = g_steal_pointer(&wanted);
    trim(stage, PREPARED_MOST - 1);
    g_ptr_array_add(stage->prepared, p);
  }
  if (wanted && wanted->numbers) stage->host.context->driver->release(device, wanted->numbers);
  if (wanted) g_free(wanted->in);
  if (p) g_atomic_int_inc(&p->references);
  return p;
}

/* ---- the end --------------------------------------------------------------------- */

void fc_chain_forget(fc_chain *chain) {
  g_ptr_array_set_size(chain->ready, 0);
  for (guint i = 0; i < chain->n; i++) trim(&chain->stages[i], 0);
}

void fc_chain_release(fc_chain *chain) {
  g_ptr_array_set_size(chain->workers, 0);
  fc_chain_forget(chain);
}

fc_chain *fc_chain_worker(fc_chain *chain, guint i, GError **error) {
  if (i == 0) return chain;
  while (chain->workers->len < i) {
    fc_chain *other = fc_chain_clone(chain, error);
    if (!other) return NULL;
    g_ptr_array_add(chain->workers, other);
  }
  return g_ptr_array_index(chain->workers, i - 1);
}

void fc_chain_free(fc_chain *chain) {
  if (!chain) return;
  fc_chain_release(chain);
  g_ptr_array_free(chain->ready, TRUE);
  g_ptr_array_free(chain->workers, TRUE);
  for (guint i = 0; i < chain->n; i++) clear_stage(&chain->stages[i]);
  g_free(chain->stages);
  g_free(chain);
}

guint fc_chain_length(const fc_chain *chain) {
  return chain->n;
}

const fc_operator *fc_chain_operator(const fc_chain *chain, guint stage) {
  return stage < chain->n ? chain->stages[stage].op : NULL;
}

double *fc_chain_mask(fc_chain *chain, guint stage, double rate, gsize *count, GError **error) {
  fc_stage *s = stage < chain->n ? &chain->stages[stage] : NULL;
  const char *name = s ? s->op->name : "an empty chain";
  const fc_mask_designer *designer = s ? fc_operator_extension(s->op, FC_DESIGNED_MASK) : NULL;
  g_autofree double *taps = NULL;
  gint64 made = 0;
  void *self;
  if (!designer || !FC_HAS(designer, design)) {
    fc_fail(error, FC_INVALID, "%s: it does not design a mask", name);
    return NULL;
  }
  if (!fc_stage_instance(s, rate, &self, error)) return NULL;
  for (gint64 room = 0; room == 0 || room < made;) {
    room = made;
    g_free(taps);
    taps = g_try_new(double, (gsize)MAX(room, 1));
    fc_status status =
        FC_CALLED(name, taps ? designer->design(&s->host.base, self, rate, taps, room, &made) : FC_NO_MEMORY);
    if (!fc_stage_host_check(&s->host, name, "designing", status, error)) return NULL;
    if (made < 1 || (room > 0 && made != room)) {
      fc_fail(error, FC_FATAL, "%s: the plugin broke its contract: a mask of %" G_GINT64_FORMAT " taps", name,
              made);
      return NULL;
    }
  }
  *count = (gsize)made;
  return g_steal_pointer(&taps);
}

const char **fc_chain_files(const fc_chain *chain) {
  GPtrArray *paths = g_ptr_array_new();
  for (guint i = 0; i < chain->n; i++) {
    fc_args_add_files(chain->stages[i].args, paths);
  }
  g_ptr_array_add(paths, NULL);
  return (const char **)g_ptr_array_free(paths, FALSE);
}

/* FNV-1a; its users mix it further. */
static guint64 hash_of(const char *name) {
  guint64 hash = 0xcbf29ce484222325u;
  for (; name && *name; name++) hash = (hash ^ (guint8)*name) * 0x100000001b3u;
  return hash;
}

void fc_chain_tell_random(fc_chain *chain, const fc_options *options) {
  const guint64 name = hash_of(options->random_name);
  for (guint i = 0; i < chain->n; i++)
    chain->stages[i].host.random = (fc_random){
        .size = sizeof(fc_random), .stage = i, .seed = options->seed, .epoch = options->epoch, .name = name};
}

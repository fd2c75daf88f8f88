/* SPDX-License-Identifier: MIT */
/*
 * chain.c - from -p strings to instances of operators, and their prepared states.
 */
#include "core/context/chain.h"

#include "core/base/error.h"
#include "core/device/runner.h"

#include <string.h>

static gboolean make_stage(fc_context *context, fc_stage *stage, const char *text, GError **error) {
  g_autoptr(fc_stage_text) parsed = fc_stage_text_parse(text, error);
  if (!parsed) return FALSE;
  stage->op = fc_registry_find(context->registry, parsed->name, error);
  if (!stage->op) return FALSE;
  stage->text = g_strdup(text);
  stage->args = fc_args_resolve(stage->op, parsed, context->media->load_table, context, error);
  if (!stage->args) return FALSE;
  if (!stage->op->create) return TRUE;
  fc_status status = stage->op->create(&stage->host.base, stage->args->argv, &stage->self);
  return fc_stage_host_check(&stage->host, stage->op->name, "taking its parameters", status, error);
}

fc_chain *fc_chain_parse(fc_context *context, const char *const *stages, GError **error) {
  fc_chain *chain = g_new0(fc_chain, 1);
  guint n = stages ? g_strv_length((char **)stages) : 0;
  chain->context = context;
  chain->stages = g_new0(fc_stage, n);
  for (guint i = 0; i < n; i++) {
    fc_stage_host_init(&chain->stages[i].host, context);
    chain->n = i + 1;
    if (!make_stage(context, &chain->stages[i], stages[i], error)) {
      fc_chain_free(chain);
      return NULL;
    }
  }
  return chain;
}

static void release_stage(fc_stage *stage) {
  fc_prepared *p = &stage->prepared;
  if (p->valid && p->backend->release) {
    int before = p->device != FC_HOST ? fc_cuda_enter(p->device) : -1;
    p->backend->release(&stage->host.base, p->state);
    if (p->device != FC_HOST) fc_cuda_leave(before);
  }
  memset(p, 0, sizeof *p);
}

void fc_chain_drop_device_run(fc_chain *chain) {
  if (chain->device_run) chain->free_device_run(g_steal_pointer(&chain->device_run));
}

void fc_chain_release_prepared(fc_chain *chain) {
  fc_chain_drop_device_run(chain);
  for (guint i = 0; i < chain->n; i++) release_stage(&chain->stages[i]);
}

void fc_chain_free(fc_chain *chain) {
  if (!chain) return;
  fc_chain_release_prepared(chain);
  for (guint i = 0; i < chain->n; i++) {
    fc_stage *stage = &chain->stages[i];
    if (stage->op && stage->op->destroy) stage->op->destroy(stage->self);
    fc_args_free(stage->args);
    fc_stage_host_clear(&stage->host);
    g_free(stage->text);
  }
  g_free(chain->stages);
  g_free(chain);
}

guint fc_chain_length(const fc_chain *chain) {
  return chain->n;
}

const fc_operator *fc_chain_operator(const fc_chain *chain, guint stage) {
  return stage < chain->n ? chain->stages[stage].op : NULL;
}

const char **fc_chain_files(const fc_chain *chain) {
  GPtrArray *paths = g_ptr_array_new();
  for (guint i = 0; i < chain->n; i++) fc_args_add_files(chain->stages[i].args, paths);
  g_ptr_array_add(paths, NULL);
  return (const char **)g_ptr_array_free(paths, FALSE);
}

gboolean fc_stage_prepare(fc_stage *stage, const fc_backend *backend, int device, int compute,
                          const fc_format *in, const fc_format *out, const void **state, GError **error) {
  fc_prepared *p = &stage->prepared;
  gboolean same = p->valid && p->backend == backend && p->device == device && p->compute == compute &&
                  memcmp(&p->in, in, sizeof *in) == 0 && memcmp(&p->out, out, sizeof *out) == 0;
  if (!same) {
    release_stage(stage);
    p->backend = backend, p->device = device, p->compute = compute;
    p->in = *in, p->out = *out;
    p->state = stage->self;
    if (backend->prepare) {
      const fc_format *ins[1] = {&p->in};
      fc_setup setup = {sizeof setup, device, compute, 1, ins, &p->out};
      int before = device != FC_HOST ? fc_cuda_enter(device) : -1;
      fc_status status = backend->prepare(&stage->host.base, stage->self, &setup, &p->state);
      if (device != FC_HOST) fc_cuda_leave(before);
      if (!fc_stage_host_check_on(&stage->host, stage->op->name, device, "preparing", status, error))
        return FALSE;
    }
    p->valid = TRUE;
  }
  *state = p->state;
  return TRUE;
}

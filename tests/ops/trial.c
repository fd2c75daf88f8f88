/* SPDX-License-Identifier: MIT */
/*
 * trial.c - an instance from create to destroy, and whether what it answers can be used;
 * see trial.h. Processing is in run.c.
 */
#include "tests/ops/trial.h"

#include <string.h>

static const int bits_of[FC_DTYPE_COUNT] = {8, 16, 16, 32, 24, 53};

static gboolean keeps_dtype(const fc_operator *op) {
  return (op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) != 0;
}

const fc_backend *backend_of(const fc_operator *op, int kind) {
  for (int i = 0; op->backends[i]; i++)
    if (op->backends[i]->device_kind == (uint32_t)kind) return op->backends[i];
  return NULL;
}

/* ---- refusals ------------------------------------------------------------------ */

/* What a status other than FC_OK comes to: refused with a sentence, or a fault. */
static outcome judge(trial *t, fc_status status, const char *doing, verdict *v) {
  const char *sentence = t->host.sentence;
  size_t length = strlen(sentence);
  if (status != FC_UNSUPPORTED && status != FC_INVALID) {
    blame(v, FAULT_STATUS, "%s: %s returned %d: %s", t->who, doing, (int)status, sentence);
    return FAILED;
  }
  if (length == 0) {
    blame(v, FAULT_SENTENCE, "%s: %s refused without a sentence", t->who, doing);
    return FAILED;
  }
  if (strchr(sentence, '\n') || sentence[length - 1] == '.') {
    blame(v, FAULT_SENTENCE, "%s: %s refused with a full stop or newline: %s", t->who, doing, sentence);
    return FAILED;
  }
  return REFUSED;
}

/* ---- terms --------------------------------------------------------------------- */

static gboolean wrong(trial *t, verdict *v, const char *what) {
  return blame(v, FAULT_CONTRACT, "%s: negotiate: %s", t->who, what);
}

static gboolean check_axis(trial *t, int a, verdict *v) {
  const fc_reach *r = &t->reach[a];
  if (r->num < 1 || r->den < 1 || r->align < 1) return wrong(t, v, "a scale or alignment below 1");
  if (t->out.extent[a] < FC_UNKNOWN) return wrong(t, v, "a negative extent");
  if (t->out.extent[a] < 0 && t->in.extent[a] >= 0)
    return wrong(t, v, "an output of unknown size for a known input");
  gboolean same = !r->before && !r->after && r->num == r->den && t->out.extent[a] == t->in.extent[a];
  if (t->op->flags & FC_OP_PASSTHROUGH && !same)
    return wrong(t, v, "passes frames through but asks for a halo or changes their size");
  return TRUE;
}

static gboolean check_terms(trial *t, verdict *v) {
  const fc_format *out = &t->out;
  if (out->dtype < 0 || out->dtype >= FC_DTYPE_COUNT) return wrong(t, v, "unknown element type");
  if (keeps_dtype(t->op) ? out->dtype != t->in.dtype : !(t->op->dtypes_out & FC_DTYPE_BIT(out->dtype)))
    return wrong(t, v, "an element type that it does not store");
  if (out->kind < 0 || out->kind >= FC_KIND_COUNT || (out->kind == FC_AUDIO) != (t->in.kind == FC_AUDIO))
    return wrong(t, v, "a kind of output that no chain can go on with");
  if (out->layout != FC_INTERLEAVED && out->layout != FC_PLANAR) return wrong(t, v, "unknown layout");
  if (t->border < FC_BORDER_ZERO || t->border > FC_BORDER_UNSET) return wrong(t, v, "unknown border");
  if (t->measure_bytes && !(t->op->collect && t->op->report))
    return wrong(t, v, "measures, but has no collect or report");
  for (int a = 0; a < FC_AXES; a++)
    if (!check_axis(t, a, v)) return FALSE;
  return TRUE;
}

static fc_status ask(trial *t, int wanted, fc_format *in, fc_format *out, fc_terms *terms, fc_need *asked) {
  *out = *in;
  out->dtype = keeps_dtype(t->op) ? in->dtype : wanted;
  if (out->dtype != in->dtype) out->bits = bits_of[out->dtype];
  const fc_format *ins[1] = {in};
  fc_need need = {.size = sizeof need, .border = FC_BORDER_UNSET};
  fc_need *const needs[1] = {&need};
  memset(terms, 0, sizeof *terms);
  terms->size = sizeof *terms, terms->compute = t->compute, terms->n_in = 1;
  terms->in = ins, terms->out = out, terms->needs = needs;
  for (int a = 0; a < FC_AXES; a++) need.reach[a] = (fc_reach){0, 0, 1, 1, 1};
  fc_status status = t->op->negotiate ? t->op->negotiate(&t->host.base, t->self, terms) : FC_OK;
  terms->in = NULL, terms->out = NULL, terms->needs = NULL;
  *asked = need;
  return status;
}

/* Negotiates, and once more: the same question has the same answer. */
static outcome negotiate(trial *t, const fc_format *in, int wanted, verdict *v) {
  fc_format again;
  fc_terms terms, second;
  fc_need need, need_again;
  t->in = *in;
  fc_status status = ask(t, wanted, &t->in, &t->out, &terms, &need);
  if (status != FC_OK) return judge(t, status, "negotiate", v);
  status = ask(t, wanted, &t->in, &again, &second, &need_again);
  if (status != FC_OK || memcmp(&again, &t->out, sizeof again) || memcmp(&terms, &second, sizeof terms) ||
      memcmp(&need, &need_again, sizeof need) || memcmp(in, &t->in, sizeof *in))
    return wrong(t, v, "another answer to the same question, or a change of its input's format"), FAILED;
  memcpy(t->reach, need.reach, sizeof t->reach);
  t->border = need.border, t->border_value = need.border_value, t->error_gain = terms.error_gain;
  t->measure_bytes = (gsize)terms.measure_bytes;
  return check_terms(t, v) ? RAN : FAILED;
}

/* ---- from begin to finish -------------------------------------------------------- */

outcome trial_begin(trial *t, const fc_operator *op, const fc_backend *backend, const test_device *device,
                    const char *who, const fc_args *args, const fc_format *in, int wanted, int compute,
                    verdict *v) {
  memset(t, 0, sizeof *t);
  t->op = op, t->backend = backend, t->who = who, t->compute = compute;
  host_init(&t->host, device);
  if (op->destroy) op->destroy(NULL);
  fc_status status = op->create ? op->create(&t->host.base, args->argv, &t->self) : FC_OK;
  if (status != FC_OK) {
    t->self = NULL;
    return judge(t, status, "create", v);
  }
  return negotiate(t, in, wanted, v);
}

outcome trial_learn(trial *t, gint64 extent, verdict *v) {
  fc_format in = t->in, before = t->out;
  in.extent[FC_AXIS_X] = extent;
  outcome o = negotiate(t, &in, before.dtype, v);
  if (o != RAN) return o;
  gint64 bound = before.extent[FC_AXIS_X];
  if (t->out.dtype != before.dtype || (bound >= 0 && t->out.extent[FC_AXIS_X] > bound))
    return wrong(t, v, "other terms once the end is known than it promised before"), FAILED;
  return RAN;
}

outcome trial_prepare(trial *t, verdict *v) {
  const fc_format *ins[1] = {&t->in};
  int32_t id = t->host.device->id;
  if (t->backend->probe) {
    fc_status status = t->backend->probe(&t->host.base, id);
    if (status != FC_OK) return judge(t, status, "probe", v);
  }
  if (t->backend->release) t->backend->release(&t->host.base, NULL);
  t->state = t->self;
  if (t->backend->prepare) {
    fc_setup setup = {sizeof setup, id, t->compute, 1, ins, &t->out};
    t->state = NULL;
    fc_status status = t->backend->prepare(&t->host.base, t->self, &setup, &t->state);
    if (status != FC_OK) return judge(t, status, "prepare", v);
  }
  t->prepared = TRUE;
  return RAN;
}

void trial_finish(trial *t, verdict *v) {
  if (!t->op) return;
  if (t->prepared && t->backend->release) t->backend->release(&t->host.base, t->state);
  if (t->op->destroy) t->op->destroy(t->self);
  host_finish(&t->host, t->who, v);
  t->op = NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * trial.c - an instance from create to destroy, with checks of its answers; see trial.h. Processing is in
 * run.c.
 */
#include "check/trial.h"

#include "check/watch.h"

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

/* Converts a status other than FC_OK: refused with a message, or a fault. */
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

/* Whether the whole output reads outside the input on this axis, so that a border must be chosen. */
static gboolean looks_outside(const trial *t, guint k, int a) {
  const fc_reach *r = &t->needs[k].reach[a];
  const gint64 extent = t->ins[k].extent[a], made = t->out.extent[a];
  if (r->before == FC_WHOLE || r->after == FC_WHOLE || made <= 0 || extent < 0) return FALSE;
  return r->before > 0 || (made * r->num + r->den - 1) / r->den + r->after > extent;
}

static gboolean check_need(trial *t, guint k, int a, verdict *v) {
  const fc_reach *r = &t->needs[k].reach[a];
  if (r->num < 1 || r->den < 1 || r->align < 1) return wrong(t, v, "a scale or alignment below 1");
  if (t->needs[k].border == FC_BORDER_UNSET && looks_outside(t, k, a))
    return wrong(t, v, "it looks beyond an end, and has chosen no border");
  return TRUE;
}

static gboolean check_axis(trial *t, int a, verdict *v) {
  const fc_reach *r = &t->needs[0].reach[a];
  if (t->out.extent[a] < FC_UNKNOWN) return wrong(t, v, "a negative extent");
  if (t->out.extent[a] < 0 && t->ins[0].extent[a] >= 0)
    return wrong(t, v, "an output of unknown size for a known input");
  for (guint k = 0; k < t->n_in; k++)
    if (!check_need(t, k, a, v)) return FALSE;
  gboolean same = !r->before && !r->after && r->num == r->den && t->out.extent[a] == t->ins[0].extent[a];
  if (t->op->flags & FC_OP_PASSTHROUGH && !same)
    return wrong(t, v, "passes frames through but asks for a halo or changes their size");
  return TRUE;
}

static gboolean check_terms(trial *t, verdict *v) {
  const fc_format *out = &t->out;
  if (out->dtype < 0 || out->dtype >= FC_DTYPE_COUNT) return wrong(t, v, "unknown element type");
  if (keeps_dtype(t->op) ? out->dtype != t->ins[0].dtype : !(t->op->dtypes_out & FC_DTYPE_BIT(out->dtype)))
    return wrong(t, v, "an element type that it does not store");
  if (out->kind < 0 || out->kind >= FC_KIND_COUNT) return wrong(t, v, "unknown kind of output");
  if (out->layout != FC_INTERLEAVED && out->layout != FC_PLANAR) return wrong(t, v, "unknown layout");
  for (guint k = 0; k < t->n_in; k++)
    if (t->needs[k].border < FC_BORDER_ZERO || t->needs[k].border > FC_BORDER_UNSET)
      return wrong(t, v, "unknown border");
  if (t->measure_bytes && !(t->op->collect && t->op->report))
    return wrong(t, v, "measures, but has no collect or report");
  for (int a = 0; a < FC_AXES; a++)
    if (!check_axis(t, a, v)) return FALSE;
  return TRUE;
}

/* The meaning of the output is unknown unless the operator keeps it. */
static void forget_meaning(fc_format *f) {
  f->color = FC_COLOR_UNKNOWN, f->alpha = FC_ALPHA_UNKNOWN, f->channels = 0;
  f->time_num = f->time_den = 0, f->framed = 0;
}

static fc_status ask(trial *t, int wanted, const fc_format *ins, fc_format *out, fc_terms *terms,
                     fc_need needs[MOST_INPUTS]) {
  const fc_format *in_pointers[MOST_INPUTS];
  fc_need *need_pointers[MOST_INPUTS];
  *out = ins[0];
  out->dtype = keeps_dtype(t->op) ? ins[0].dtype : wanted;
  if (out->dtype != ins[0].dtype) out->bits = bits_of[out->dtype];
  if (!(t->op->flags & (FC_OP_KEEPS_MEANING | FC_OP_PASSTHROUGH))) forget_meaning(out);
  memset(needs, 0, MOST_INPUTS * sizeof *needs);
  for (guint k = 0; k < MOST_INPUTS; k++) {
    in_pointers[k] = &ins[k], need_pointers[k] = &needs[k];
    needs[k].size = sizeof *needs, needs[k].border = FC_BORDER_UNSET;
    for (int a = 0; a < FC_AXES; a++) needs[k].reach[a] = (fc_reach){0, 0, 1, 1, 1};
  }
  memset(terms, 0, sizeof *terms);
  terms->size = sizeof *terms, terms->compute = t->compute, terms->n_in = t->n_in;
  terms->in = in_pointers, terms->out = out, terms->needs = need_pointers;
  const watch_phase was = watch_enter(WATCH_CALL);
  fc_status status = t->op->negotiate ? t->op->negotiate(&t->host.base, t->self, terms) : FC_OK;
  watch_enter(was);
  terms->in = NULL, terms->out = NULL, terms->needs = NULL;
  return status;
}

/* As in the engine, what has no version for a device runs on the host. */
static void stay_on_host(trial *t) {
  const fc_backend *there = backend_of(t->op, FC_KIND_HOST);
  if (there && t->host.device->id != FC_HOST) t->backend = there, t->host.device = device_cpu();
}

/* Negotiates twice: the same question must have the same answer. */
static outcome negotiate(trial *t, const fc_format *ins, int wanted, verdict *v) {
  fc_format again;
  fc_terms terms, second;
  fc_need needs[MOST_INPUTS];
  const gsize bytes = MAX(t->n_in, 1) * sizeof *ins;
  memmove(t->ins, ins, bytes);
  fc_format asked[MOST_INPUTS];
  memcpy(asked, t->ins, sizeof asked);
  fc_status status = ask(t, wanted, t->ins, &t->out, &terms, t->needs);
  if (status != FC_OK) return judge(t, status, "negotiate", v);
  status = ask(t, wanted, t->ins, &again, &second, needs);
  if (status != FC_OK || memcmp(&again, &t->out, sizeof again) || memcmp(&terms, &second, sizeof terms) ||
      memcmp(needs, t->needs, sizeof needs) || memcmp(asked, t->ins, sizeof asked))
    return wrong(t, v, "different answers to the same question, or a change of its input's format"), FAILED;
  t->error_gain = terms.error_gain;
  t->measure_bytes = (gsize)terms.measure_bytes, t->carry_bytes = (gsize)terms.carry_bytes;
  if (terms.on_host) stay_on_host(t);
  t->shaped = t->backend->flags & FC_BACKEND_SHAPED && !terms.any_size;
  return check_terms(t, v) ? RAN : FAILED;
}

int trial_time(const trial *t) {
  return t->out.kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N;
}

/* ---- from begin to finish -------------------------------------------------------- */

outcome trial_begin(trial *t, const fc_operator *op, const fc_backend *backend, const test_device *device,
                    const char *who, const fc_args *args, const fc_format *ins, int wanted, int compute,
                    verdict *v) {
  memset(t, 0, sizeof *t);
  t->n_in = op->flags & FC_OP_GENERATOR ? 0 : 1 + args->n_inputs;
  t->op = op, t->backend = backend, t->who = who, t->compute = compute;
  host_init(&t->host, device);
  const watch_phase was = watch_enter(WATCH_CALL);
  if (op->destroy) op->destroy(NULL);
  g_autoptr(GError) error = NULL;
  t->args = fc_args_at_rate(op, (fc_args *)args, t->n_in ? ins[0].rate : 16000, &error);
  fc_status status = t->args && op->create ? op->create(&t->host.base, t->args->argv, &t->self) : FC_OK;
  watch_enter(was);
  if (!t->args) return REFUSED;
  if (status != FC_OK) {
    t->self = NULL;
    return judge(t, status, "create", v);
  }
  return negotiate(t, ins, wanted, v);
}

outcome trial_learn(trial *t, gint64 extent, verdict *v) {
  fc_format ins[MOST_INPUTS], before = t->out;
  memcpy(ins, t->ins, sizeof ins);
  ins[0].extent[FC_AXIS_X] = extent;
  outcome o = negotiate(t, ins, before.dtype, v);
  if (o != RAN) return o;
  gint64 bound = before.extent[FC_AXIS_X];
  if (t->out.dtype != before.dtype || (bound >= 0 && t->out.extent[FC_AXIS_X] > bound))
    return wrong(t, v, "its terms change when the end becomes known"), FAILED;
  return RAN;
}

outcome trial_resize(trial *t, const fc_format *ins, int wanted, verdict *v) {
  return negotiate(t, ins, wanted, v);
}

/* The format as prepare gets it: no extents but that of C, unless the backend is shaped. */
static fc_format shown(const trial *t, const fc_format *format) {
  fc_format f = *format;
  if (!t->shaped) f.extent[FC_AXIS_N] = f.extent[FC_AXIS_Y] = f.extent[FC_AXIS_X] = FC_UNKNOWN;
  return f;
}

/* Probe and prepare. */
static outcome ready(trial *t, verdict *v) {
  fc_format formats[MOST_INPUTS], out = shown(t, &t->out);
  const fc_format *ins[MOST_INPUTS];
  for (guint k = 0; k < MOST_INPUTS; k++) formats[k] = shown(t, &t->ins[k]), ins[k] = &formats[k];
  int32_t id = t->host.device->id;
  if (t->backend->probe) {
    fc_status status = t->backend->probe(&t->host.base, id);
    if (status != FC_OK) return judge(t, status, "probe", v);
  }
  if (t->backend->release) t->backend->release(&t->host.base, NULL);
  t->state = t->self;
  if (t->backend->prepare) {
    fc_setup setup = {sizeof setup, id, t->compute, t->n_in, ins, &out};
    t->state = NULL;
    fc_status status = t->backend->prepare(&t->host.base, t->self, &setup, &t->state);
    if (status != FC_OK) return judge(t, status, "prepare", v);
  }
  t->prepared = TRUE;
  return RAN;
}

outcome trial_prepare(trial *t, verdict *v) {
  const watch_phase was = watch_enter(WATCH_CALL);
  const outcome o = ready(t, v);
  watch_enter(was);
  return o;
}

void trial_finish(trial *t, verdict *v) {
  if (!t->op) return;
  const watch_phase was = watch_enter(WATCH_CALL);
  if (t->prepared && t->backend->release) t->backend->release(&t->host.base, t->state);
  if (t->op->destroy) t->op->destroy(t->self);
  fc_args_free(t->args);
  watch_enter(was);
  host_finish(&t->host, t->who, v);
  t->op = NULL;
}

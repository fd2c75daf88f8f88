/* SPDX-License-Identifier: MIT */
/*
 * case.c - see case.h. The reference runs several times: as asked for, with a double output (the values
 * before rounding) and, when a value looks wrong, on input that is changed by about a millionth, which shows
 * the size of the terms that a value is made of.
 */
#include "check/case.h"

#include <math.h>
#include <string.h>

#include "check/compare.h"

/* Limit on the work of the reference, in elements read: 20 million in a plain loop take a few hundredths
 * of a second. Most cases are quicker, so that many can run. */
#define MOST_WORK     2e7
#define USUAL_WORK    2e6
#define MOST_ELEMENTS 2e6

/* Relative change of the input in a probe: somewhat larger than rounding errors. Nonlinear operators (a
 * level near zero) respond differently to changes of different sizes. */
#define PROBE_SINGLE 0x1p-20
#define PROBE_DOUBLE 0x1p-36
#define PROBES       12

typedef struct bench {
  const test_case *c;
  case_setting s;
  trial subject, reference;
  result wanted, whole;
  double *reals, *scale;
  verdict *v;
} bench;

static const fc_backend *reference_of(const test_case *c) {
  return c->op->reference ? c->op->reference : backend_of(c->op, FC_KIND_HOST);
}

/* ---- limiting the work -------------------------------------------------------------- */

static gboolean too_large(const trial *t, dice *d) {
  double most = dice_chance(d, 15) ? MOST_WORK : USUAL_WORK;
  double work = 1, out = 1, in = 1;
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &t->needs[0].reach[a];
    gboolean whole = r->before == FC_WHOLE || r->after == FC_WHOLE;
    double looks = whole ? (double)t->ins[0].extent[a] : 1.0 + (double)r->before + (double)r->after;
    out *= (double)MAX(t->out.extent[a], 1); /* even without frames there is room for one */
    in *= whole ? (double)t->ins[0].extent[a]
                : (double)t->out.extent[a] * (double)r->num / (double)r->den + fabs(looks);
    /* An element of a block transform depends on its whole block. */
    double group = t->measure_bytes ? 1 : (double)(r->align * r->num / r->den);
    work *= MAX(MAX(looks, group), 1);
  }
  return out > MOST_ELEMENTS || in > MOST_ELEMENTS || work * out > most;
}

/* ---- the reference ------------------------------------------------------------------ */

static manner plain(const bench *b) {
  return (manner){
      .layout_in = LAYOUT_INTERLEAVED, .layout_out = LAYOUT_INTERLEAVED, .poison = 0x00, .seed = b->c->seed};
}

static gboolean same_extents(const fc_format *a, const fc_format *b) {
  return memcmp(a->extent, b->extent, sizeof a->extent) == 0;
}

/* The reference's values in double, with this signal as the first input; NULL if it cannot compute them. */
static double *reference_reals(bench *b, const source *first) {
  const test_case *c = b->c;
  fc_format ins[MOST_INPUTS];
  source signals[MOST_INPUTS];
  trial t;
  result r = {NULL};
  verdict ignored = {FAULT_NONE, ""};
  manner how = plain(b);
  if (c->op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) return NULL;
  if (b->subject.n_in && !(c->op->dtypes_in & FC_DTYPE_BIT(first->format.dtype))) return NULL;
  memcpy(ins, b->s.ins, sizeof ins);
  memcpy(signals, b->s.signals, sizeof signals);
  ins[0] = first->format, signals[0] = *first;
  ins[0].stored = 1 + b->subject.out.dtype; /* values may depend on it (dither) */
  if (trial_begin(&t, c->op, reference_of(c), device_cpu(), "the reference", b->s.args, ins, FC_F64,
                  c->compute, &ignored) == RAN &&
      t.out.dtype == FC_F64 && same_extents(&t.out, &b->subject.out) && trial_prepare(&t, &ignored) == RAN)
    trial_run(&t, signals, &how, &r, &ignored);
  trial_finish(&t, &ignored);
  if (ignored.fault != FAULT_NONE && r.codes) g_clear_pointer(&r.codes, g_free);
  if (r.measured) g_array_unref(r.measured);
  return (double *)(void *)r.codes;
}

static double signal_size(const bench *b) {
  double largest = 0;
  for (guint k = 0; k < b->subject.n_in; k++) {
    const source *s = &b->s.signals[k];
    for (int64_t i = 0; i < s->count; i++) {
      double v = fabs(element_value(s->codes + (gsize)i * s->size, s->format.kind, s->format.dtype));
      if (isfinite(v)) largest = MAX(largest, v);
    }
  }
  return largest;
}

/* Records the largest change in each channel due to a change of the input by `probe`. */
static void note_changes(bench *b, double probe, const double *before, double *scale) {
  const gint64 *e = b->subject.out.extent;
  gint64 count = e[0] * e[1] * e[2] * e[3];
  source off = source_in_double(&b->s.signals[0]);
  off.jitter = probe, off.jitter_dice = (dice){dice_bits(&b->s.d)};
  double *after = reference_reals(b, &off);
  for (gint64 i = 0; after && i < count; i++) {
    /* Times four: terms of the same sign make sums larger than their changes, and the largest change of a
     * few elements is not the largest possible (decibels of small bins). */
    double change = 4 * fabs(after[i] - before[i]) / probe;
    if (isfinite(change)) scale[i % e[3]] = MAX(scale[i % e[3]], change);
  }
  g_free(after);
  source_free(&off);
}

/* Channels that are made of all input channels, such as the bins of a spectrum, share their terms: if the
 * terms of one happen to cancel exactly, the others show their size. If all cancel, whatever the input
 * (the imaginary parts of a single value's spectrum), the size is that of the signal. */
static void share_scale(const bench *b, double *scale) {
  const gint64 channels = b->subject.out.extent[FC_AXIS_C];
  const fc_reach *reach = &b->subject.needs[0].reach[FC_AXIS_C];
  double largest = 0;
  if (channels == b->subject.ins[0].extent[FC_AXIS_C] && reach->before != FC_WHOLE && reach->num == 1) return;
  for (gint64 c = 0; c < channels; c++) largest = MAX(largest, scale[c]);
  if (largest == 0) largest = signal_size(b);
  for (gint64 c = 0; c < channels; c++) scale[c] = largest;
}

/* For transforms, errors are proportional to the largest input, wherever it is. */
static void widen_scale(const bench *b, double *scale) {
  const double size = MAX(signal_size(b), fabs(b->subject.needs[0].border_value));
  for (gint64 c = 0; c < b->subject.out.extent[FC_AXIS_C]; c++)
    scale[c] = MAX(scale[c], b->subject.error_gain * size);
}

/* For each channel the size of the terms: the change of the output due to a change of the input by a
 * millionth, times a million. Changes may cancel too - those of two terms in half of the cases - so there
 * are several probes; for results in double also smaller ones. */
static double *probe(bench *b) {
  source exact = source_in_double(&b->s.signals[0]);
  double *before = reference_reals(b, &exact), *scale = g_new0(double, b->subject.out.extent[3] + 1);
  gboolean single = b->c->compute == FC_F32 || b->subject.out.dtype == FC_F32;
  for (int i = 0; before && i < PROBES; i++) note_changes(b, PROBE_SINGLE, before, scale);
  for (int i = 0; before && !single && i < PROBES; i++) note_changes(b, PROBE_DOUBLE, before, scale);
  share_scale(b, scale);
  widen_scale(b, scale);
  g_free(before);
  source_free(&exact);
  return scale;
}

static gboolean run_reference(bench *b) {
  const test_case *c = b->c;
  manner how = plain(b);
  outcome o = trial_begin(&b->reference, c->op, reference_of(c), device_cpu(), "the reference", b->s.args,
                          b->s.ins, c->wanted, c->compute, b->v);
  if (o != RAN || b->reference.out.dtype != b->subject.out.dtype ||
      !same_extents(&b->reference.out, &b->subject.out))
    return blame(b->v, FAULT_CONTRACT, "%s: another instance with the same arguments gives other terms",
                 c->who);
  if (trial_prepare(&b->reference, b->v) != RAN)
    return blame(b->v, FAULT_STATUS, "the reference: refused to be prepared: %s", b->reference.host.sentence);
  if (!trial_run(&b->reference, b->s.signals, &how, &b->wanted, b->v)) return FALSE;
  b->reals = reference_reals(b, &b->s.signals[0]);
  return TRUE;
}

/* ---- comparing ----------------------------------------------------------------------- */

static expected expectation(const bench *b, const char *who) {
  const fc_operator *op = b->c->op;
  return (expected){.who = who,
                    .out = b->subject.out,
                    .codes = b->wanted.codes,
                    .reals = b->reals,
                    .compute = b->c->compute,
                    .exact = (op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) != 0,
                    .fill = b->c->fill,
                    .tolerance = b->c->tolerance,
                    .scale = b->scale};
}

/* Compares a result; if that fails, again with the size of the terms. */
static gboolean judge(bench *b, const char *who, const result *r) {
  verdict first = {FAULT_NONE, ""};
  expected e = expectation(b, who);
  if (compare_values(&e, r->codes, &first) && compare_notes(&e, b->wanted.notes, r->notes, &first))
    return TRUE;
  if (!b->scale && !e.exact) {
    b->scale = probe(b);
    return judge(b, who, r);
  }
  return blame(b->v, first.fault, "%s", first.text);
}

static gboolean judge_whole(bench *b) {
  double size = signal_size(b);
  if (!judge(b, "the reference, beside itself in double", &b->wanted)) return FALSE;
  if (!judge(b, b->c->who, &b->whole)) return FALSE;
  if (!b->whole.measured) return TRUE;
  return compare_measured(b->c->who, b->wanted.measured, b->whole.measured, 1e-9, size, b->v);
}

/* Whether an element still has the byte pattern that was there before. */
static gboolean is_pattern(const unsigned char *code, gsize size, unsigned char pattern) {
  for (gsize i = 0; i < size; i++)
    if (code[i] != pattern) return FALSE;
  return TRUE;
}

static gboolean differs_at(bench *b, fault_kind fault, gint64 at, const result *r, const char *why) {
  const gsize size = fc_dtype_size(b->subject.out.dtype);
  return blame(b->v, fault,
               "%s: element %" G_GINT64_FORMAT " is %.17g, then %.17g when the same is done again: %s",
               b->c->who, at, element_code(b->whole.codes + (gsize)at * size, b->subject.out.dtype),
               element_code(r->codes + (gsize)at * size, b->subject.out.dtype), why);
}

/* Runs once more with the same patterns around and in the output, as a second stream, and once with other
 * patterns. */
static gboolean once_more(bench *b, manner how) {
  const fc_format *out = &b->subject.out;
  const unsigned char was = how.poison;
  const gsize size = fc_dtype_size(out->dtype);
  result r = {NULL}, other = {NULL};
  gint64 at = 0;
  gboolean ok = trial_run(&b->subject, b->s.signals, &how, &r, b->v);
  if (ok && !compare_bits(out, b->whole.codes, r.codes, &at))
    ok = differs_at(b, FAULT_STATE, at, &r, "what goes from piece to piece belongs into fc_job.carry");
  if (ok && r.measured && !compare_measured(b->c->who, b->whole.measured, r.measured, 0, 0, &(verdict){0}))
    ok = blame(b->v, FAULT_STATE, "%s: other measurements of the same signal after a reset", b->c->who);
  how.poison = 0x2b;
  ok = ok && trial_run(&b->subject, b->s.signals, &how, &other, b->v);
  if (ok && !compare_bits(out, b->whole.codes, other.codes, &at)) {
    const gsize from = (gsize)at * size;
    ok = is_pattern(b->whole.codes + from, size, was) && is_pattern(other.codes + from, size, how.poison)
             ? blame(b->v, FAULT_UNWRITTEN, "%s: element %" G_GINT64_FORMAT " of the output is not written",
                     b->c->who, at)
             : differs_at(b, FAULT_HALO, at, &other,
                          "it depends on what lies beyond its input, or in scratch or output before they are "
                          "written");
  }
  result_free(&r);
  result_free(&other);
  return ok;
}

/* The same computed in another way: the same bits. */
static gboolean again(bench *b, trial *t, const manner *how, fault_kind fault, const char *doing) {
  result r;
  gint64 at = 0;
  verdict *v = b->v;
  char who[160];
  g_snprintf(who, sizeof who, "%s, %s", b->c->who, doing);
  gboolean ok = trial_run(t, b->s.signals, how, &r, v);
  if (ok && !compare_bits(&b->subject.out, b->whole.codes, r.codes, &at)) {
    gsize size = fc_dtype_size(b->subject.out.dtype);
    ok = blame(v, fault, "%s (%u pieces): element %" G_GINT64_FORMAT " is %.17g, in one piece it is %.17g",
               who, r.pieces, at, element_code(r.codes + (gsize)at * size, b->subject.out.dtype),
               element_code(b->whole.codes + (gsize)at * size, b->subject.out.dtype));
  }
  for (int i = 0; ok && i < FC_NOTES; i++)
    if (r.notes[i] != b->whole.notes[i]) ok = blame(v, fault, "%s: other notes than in one piece", who);
  if (ok && r.measured) ok = compare_measured(who, b->whole.measured, r.measured, 0, 0, v);
  result_free(&r);
  return ok;
}

/* From two threads; a failure that also occurs with one is not attributed to threads. */
static gboolean again_in_threads(bench *b, const manner *how) {
  manner both = *how;
  both.threads = TRUE;
  if (again(b, &b->subject, &both, FAULT_THREADS, "cut, two threads")) return TRUE;
  verdict threads = *b->v;
  *b->v = (verdict){FAULT_NONE, ""};
  if (again(b, &b->subject, how, FAULT_CUT, "cut within one buffer")) *b->v = threads;
  return FALSE;
}

/* ---- all ways of computing ------------------------------------------------------------- */

/* Whether a host would run it on a signal whose end is not known yet. */
static gboolean may_be_open(const trial *t) {
  const fc_reach *r = &t->needs[0].reach[FC_AXIS_X];
  gboolean whole = r->before == FC_WHOLE || r->after == FC_WHOLE || t->needs[0].border == FC_BORDER_WRAP;
  return t->n_in > 0 && t->ins[0].kind == FC_AUDIO && !whole && t->ins[0].extent[FC_AXIS_X] > 0;
}

/* A stream whose length is known only at its end: prepared without the length, and the same to the bit. */
static gboolean run_open(bench *b, manner how) {
  const test_case *c = b->c;
  fc_format ins[MOST_INPUTS];
  trial t;
  if (!may_be_open(&b->subject)) return TRUE;
  memcpy(ins, b->s.ins, sizeof ins);
  ins[0].extent[FC_AXIS_X] = FC_UNKNOWN;
  outcome o =
      trial_begin(&t, c->op, c->backend, c->device, c->who, b->s.args, ins, c->wanted, c->compute, b->v);
  if (o == RAN) o = trial_prepare(&t, b->v);
  if (o == RAN) o = trial_learn(&t, c->in.extent[FC_AXIS_X], b->v);
  if (o == RAN && !same_extents(&t.out, &b->subject.out))
    blame(b->v, FAULT_CONTRACT, "%s: other extents when the length is told later", c->who);
  how.open = TRUE;
  if (o == RAN && b->v->fault == FAULT_NONE) again(b, &t, &how, FAULT_CUT, "cut, its end not known");
  trial_finish(&t, b->v);
  return b->v->fault == FAULT_NONE;
}

/* Prepared for one size and run on another, as a host may do unless the backend forbids it. */
static gboolean run_other_size(bench *b, manner how) {
  const test_case *c = b->c;
  fc_format ins[MOST_INPUTS];
  trial t;
  if (b->subject.shaped || b->subject.n_in == 0) return TRUE;
  memcpy(ins, b->s.ins, sizeof ins);
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++) {
    const gint64 was = ins[0].extent[a], other = was + dice_int(&b->s.d, 1, 40);
    if (a == FC_AXIS_Y && c->in.kind == FC_AUDIO) continue;
    for (guint k = 0; k < b->subject.n_in; k++)
      if (ins[k].extent[a] == was) ins[k].extent[a] = other;
  }
  verdict ignored = {FAULT_NONE, ""}; /* other sizes may be refused */
  outcome o =
      trial_begin(&t, c->op, c->backend, c->device, c->who, b->s.args, ins, c->wanted, c->compute, &ignored);
  if (o == RAN && !t.shaped) o = trial_prepare(&t, &ignored);
  if (o == RAN && !t.shaped) {
    o = trial_resize(&t, b->s.ins, c->wanted, b->v);
    if (o != RAN || !same_extents(&t.out, &b->subject.out))
      blame(b->v, FAULT_CONTRACT, "%s: other terms after it was asked for another size", c->who);
    else
      again(b, &t, &how, FAULT_CUT, "prepared for another size");
  }
  trial_finish(&t, b->v);
  return b->v->fault == FAULT_NONE;
}

/* Patterns differ from run to run, so that a value that depends on one is noticed. */
static gboolean run_all_manners(bench *b) {
  const test_case *c = b->c;
  manner how = {.layout_in = c->layout_in, .layout_out = c->layout_out, .poison = 0xff, .seed = c->seed};
  if (!trial_run(&b->subject, b->s.signals, &how, &b->whole, b->v)) return FALSE;
  if (!once_more(b, how) || !judge_whole(b)) return FALSE;
  how.cut = TRUE, how.poison = 0x5a;
  how.layout_in = (int)dice_int(&b->s.d, 0, LAYOUT_COUNT - 1);
  if (!again(b, &b->subject, &how, FAULT_CUT, "cut")) return FALSE;
  if (!run_open(b, how) || !run_other_size(b, how)) return FALSE;
  how.shared = TRUE, how.poison = 0x7f, how.seed++;
  return again_in_threads(b, &how);
}

/* ---- from begin to end ------------------------------------------------------------------ */

gboolean case_set(case_setting *s, const test_case *c, char **sentence) {
  g_autoptr(GError) error = NULL;
  *s = (case_setting){.c = c, .d = dice_of(c->seed, "case", 0)};
  *sentence = NULL;
  s->args = stage_args(c->op, c->text, &s->d, &error);
  if (!s->args) *sentence = g_strdup(error->message);
  s->ins[0] = c->in;
  memcpy(&s->ins[1], c->others, sizeof c->others);
  return s->args != NULL;
}

case_end case_start(case_setting *s, trial *t, char **sentence, verdict *v) {
  const test_case *c = s->c;
  if (s->args->n_inputs >= MOST_INPUTS) return CASE_TOO_LARGE;
  outcome o = trial_begin(t, c->op, c->backend, c->device, c->who, s->args, s->ins, c->wanted, c->compute, v);
  if (o == RAN && too_large(t, &s->d)) return CASE_TOO_LARGE;
  if (o == RAN) o = trial_prepare(t, v);
  if (o == REFUSED) *sentence = g_strdup(t->host.sentence);
  return o == RAN ? CASE_RAN : o == REFUSED ? CASE_REFUSED : CASE_FAILED;
}

void case_fill(case_setting *s, const trial *t) {
  const test_case *c = s->c;
  for (guint k = 0; k < t->n_in; k++) {
    gboolean odd = c->fill == FILL_NAN || c->fill == FILL_INF; /* integers cannot have these values */
    fill how = odd && !fc_dtype_is_float(s->ins[k].dtype) ? FILL_RANDOM : c->fill;
    s->signals[k] = source_new(&s->ins[k], how, &s->d);
  }
  if (t->n_in == 0) s->signals[0].format = c->in; /* a generator has no input */
}

void case_clear(case_setting *s) {
  for (int k = 0; k < MOST_INPUTS; k++) source_free(&s->signals[k]);
  fc_args_free(s->args);
  memset(s, 0, sizeof *s);
}

static case_end run_bench(bench *b, char **sentence) {
  const case_end end = case_start(&b->s, &b->subject, sentence, b->v);
  if (end != CASE_RAN) return end;
  case_fill(&b->s, &b->subject);
  return run_reference(b) && run_all_manners(b) ? CASE_RAN : CASE_FAILED;
}

case_end case_run(const test_case *c, char **sentence, verdict *v) {
  bench b = {.c = c, .v = v};
  if (!case_set(&b.s, c, sentence)) return CASE_REFUSED;
  case_end end = run_bench(&b, sentence);
  trial_finish(&b.subject, v);
  trial_finish(&b.reference, v);
  result_free(&b.wanted);
  result_free(&b.whole);
  g_free(b.reals);
  g_free(b.scale);
  case_clear(&b.s);
  return v->fault == FAULT_NONE ? end : CASE_FAILED;
}

char *case_describe(const test_case *c) {
  static const char *const kinds[] = {"audio", "image", "array"};
  const gint64 *e = c->in.extent;
  return g_strdup_printf("%s: %s %s -> %s, compute %s, %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT
                         "x%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT
                         " (N Y X C), %s -> %s, %s input: -p \"%s\"",
                         c->who, kinds[c->in.kind], fc_dtype_name(c->in.dtype), fc_dtype_name(c->wanted),
                         fc_dtype_name(c->compute), e[0], e[1], e[2], e[3], layout_name(c->layout_in),
                         layout_name(c->layout_out), fill_name(c->fill), c->text);
}

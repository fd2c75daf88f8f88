/* SPDX-License-Identifier: MIT */
/*
 * probes.c - see probes.h. Tests what process does besides computing its result.
 */
#include "check/probes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check/compare.h"
#include "check/watch.h"

int probes_output = -1;

static manner plain(const test_case *c) {
  return (manner){.layout_in = c->in.layout == FC_PLANAR ? LAYOUT_PLANAR : LAYOUT_INTERLEAVED,
                  .layout_out = c->in.layout == FC_PLANAR ? LAYOUT_PLANAR : LAYOUT_INTERLEAVED,
                  .poison = 0xff,
                  .seed = c->seed};
}

typedef gboolean (*body)(case_setting *s, trial *t, verdict *v);

/* Applies `what` to one prepared instance with signals. */
static case_end with_instance(const test_case *c, char **sentence, verdict *v, body what) {
  case_setting s;
  trial t = {0};
  if (!case_set(&s, c, sentence)) return CASE_REFUSED;
  case_end end = case_start(&s, &t, sentence, v);
  if (end == CASE_RAN) {
    case_fill(&s, &t);
    if (!what(&s, &t, v)) end = CASE_FAILED;
  }
  trial_finish(&t, v);
  case_clear(&s);
  return v->fault == FAULT_NONE ? end : CASE_FAILED;
}

/* Runs it; the result does not matter. */
static gboolean run_once(case_setting *s, trial *t, const manner *how, verdict *v) {
  result r;
  gboolean ok = trial_run(t, s->signals, how, &r, v);
  result_free(&r);
  return ok;
}

/* ---- the halo ---------------------------------------------------------------------------- */

/* On the host a signal reports a page that was touched; a device is lost with it. */
static gboolean touch(case_setting *s, trial *t, verdict *v) {
  manner how = plain(s->c);
  for (int cut = 0; cut < 2; cut++) {
    verdict other = {FAULT_NONE, ""}; /* bands and values are judged with the results */
    how.cut = cut;
    run_once(s, t, &how, &other);
    if (other.fault == FAULT_DEVICE && t->host.device->band == 0)
      return blame(v, FAULT_HALO, "process touched what it did not ask for: %s", other.text);
  }
  return TRUE;
}

case_end case_halo(const test_case *c, char **sentence, verdict *v) {
  return with_instance(c, sentence, v, touch);
}

/* ---- calls ------------------------------------------------------------------------------- */

static gint64 printed(void) {
  fflush(stdout);
  return probes_output < 0 ? 0 : (gint64)lseek(probes_output, 0, SEEK_END);
}

/* A device's driver takes memory too, now and then and for the first work of a stream: the operator's is what
 * is taken in each of some runs, by the second of two same calls. */
#define DEVICE_RUNS 4

/* The CUDA runtime is often part of the plugin, and its calls take a few bytes: cudaFuncSetAttribute 8.
 * Blocks below this size are taken for its own. */
#define RUNTIME_BYTES 64

static gboolean listen_to(case_setting *s, trial *t, verdict *v) {
  manner how = plain(s->c);
  size_t bytes = 0;
  const char *function = NULL;
  verdict ignored = {FAULT_NONE, ""};
  const gboolean on_host = t->host.device->id == FC_HOST;
  const gint64 before = printed();
  int allocations = 1;
  how.cut = TRUE, how.twice = !on_host;
  watch_ignore_below(on_host ? 0 : RUNTIME_BYTES);
  for (int i = 0; allocations && i < (on_host ? 1 : DEVICE_RUNS); i++) {
    watch_reset();
    run_once(s, t, &how, &ignored);
    if (printed() > before) return blame(v, FAULT_PRINTS, "%s: process prints", t->who);
    allocations = watch_allocations(&bytes, &function);
  }
  if (allocations)
    return blame(v, FAULT_ALLOCATES,
                 "%s: process allocates: %s of %zu bytes, %d in all; ask for scratch, or allocate in prepare",
                 t->who, function, bytes, allocations);
  return TRUE;
}

case_end case_calls(const test_case *c, char **sentence, verdict *v) {
  return with_instance(c, sentence, v, listen_to);
}

/* ---- memory -------------------------------------------------------------------------------- */

#define CYCLES 6
#define WARM   2 /* the first ones may allocate what is kept permanently */

case_end case_memory(const test_case *c, char **sentence, verdict *v) {
  case_end end = CASE_RAN;
  size_t live[CYCLES];
  int blocks[CYCLES];
  watch_reset();
  for (int i = 0; i < CYCLES && end == CASE_RAN; i++) {
    end = with_instance(c, sentence, v, touch);
    live[i] = watch_live(&blocks[i]);
  }
  for (int i = WARM; end == CASE_RAN && i < CYCLES; i++)
    if (live[i] <= live[i - 1]) return CASE_RAN;
  if (end != CASE_RAN) return end;
  blame(v, FAULT_LEAK,
        "%s: %zu bytes in %d blocks stay behind each time an instance is made, run and destroyed", c->who,
        live[CYCLES - 1] - live[CYCLES - 2], blocks[CYCLES - 1] - blocks[CYCLES - 2]);
  return CASE_FAILED;
}

/* ---- two instances --------------------------------------------------------------------------- */

typedef struct one {
  case_setting s;
  trial t;
  result alone, beside;
  verdict v;
} one;

static case_end start_one(one *o, const test_case *c, char **sentence) {
  if (!case_set(&o->s, c, sentence)) return CASE_REFUSED;
  const case_end end = case_start(&o->s, &o->t, sentence, &o->v);
  if (end == CASE_RAN) case_fill(&o->s, &o->t);
  return end;
}

static void finish_one(one *o) {
  trial_finish(&o->t, &o->v);
  result_free(&o->alone);
  result_free(&o->beside);
  case_clear(&o->s);
}

static gpointer run_beside(gpointer data) {
  one *o = data;
  const manner how = plain(o->s.c);
  trial_run(&o->t, o->s.signals, &how, &o->beside, &o->v);
  return NULL;
}

static gboolean same_as_alone(one *o, const char *when, verdict *v) {
  gint64 at = 0;
  if (o->v.fault != FAULT_NONE || compare_bits(&o->t.out, o->alone.codes, o->beside.codes, &at)) return TRUE;
  return blame(v, FAULT_INSTANCES,
               "%s: element %" G_GINT64_FORMAT " is another %s: instances share something", o->t.who, at,
               when);
}

/* The first alone; then the second is created and run, which must not change the first one's result. */
static gboolean side_by_side(one *a, one *b, const test_case *other, verdict *v) {
  const manner how = plain(a->s.c);
  char *sentence = NULL;
  gboolean ok = trial_run(&a->t, a->s.signals, &how, &a->alone, &a->v);
  if (ok) ok = start_one(b, other, &sentence) == CASE_RAN;
  g_free(sentence);
  if (!ok) return TRUE;
  if (!trial_run(&b->t, b->s.signals, &how, &b->alone, &b->v)) return TRUE;
  run_beside(a);
  if (!same_as_alone(a, "after another instance was made and run", v)) return FALSE;
  result_free(&a->beside);
  GThread *thread = g_thread_new("other", run_beside, b);
  run_beside(a);
  g_thread_join(thread);
  const char *when = "while another instance runs in another thread";
  return same_as_alone(a, when, v) && same_as_alone(b, when, v);
}

case_end case_instances(const test_case *c, char **sentence, verdict *v) {
  const wish anything = {NULL, -1, NULL};
  one *both = g_new0(one, 2);
  dice d = dice_of(c->seed, "other", 0);
  test_case other = *c;
  other.text = stage_random(c->op, &anything, c->in.extent, &d);
  other.seed = dice_bits(&d);
  case_end end = start_one(&both[0], c, sentence);
  if (end == CASE_RAN) side_by_side(&both[0], &both[1], &other, v);
  /* a failure without the other instance is reported by case_run */
  if (end == CASE_FAILED) end = CASE_TOO_LARGE;
  finish_one(&both[0]);
  finish_one(&both[1]);
  g_free(both);
  g_free(other.text);
  return v->fault == FAULT_NONE ? end : CASE_FAILED;
}

/* ---- streams ----------------------------------------------------------------------------------- */

/* Runs once normally first, so that kernels are loaded. */
static gboolean hold_back(case_setting *s, trial *t, verdict *v) {
  manner how = plain(s->c);
  verdict ignored = {FAULT_NONE, ""};
  if (!run_once(s, t, &how, &ignored)) return TRUE;
  how.held = TRUE;
  return run_once(s, t, &how, v);
}

case_end case_stream(const test_case *c, char **sentence, verdict *v) {
  return with_instance(c, sentence, v, hold_back);
}

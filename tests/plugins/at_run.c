/* SPDX-License-Identifier: MIT */
/*
 * at_run.c - plugins that end the process in the middle of a run, each in one way, or the signal elsewhere
 * than they have said. Compiled once a fixture, whose name says which.
 */
#include "tests/plugins/minimal.h"

#include <signal.h>
#include <stdlib.h>

static fc_status exits_in_process(const fc_host *host, const void *state, const fc_job *job) {
  exit(0);
}

static fc_status exits_quickly(const fc_host *host, const void *state, const fc_job *job) {
  quick_exit(0);
}

static fc_status crashes_in_process(const fc_host *host, const void *state, const fc_job *job) {
  raise(SIGSEGV);
  return FC_OK;
}

static fc_status aborts_in_process(const fc_host *host, const void *state, const fc_job *job) {
  abort();
}

static fc_status exits_in_create(const fc_host *host, const fc_arg *const *args, void **self) {
  exit(0);
}

static fc_status exits_in_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  exit(0);
}

/* ends_anywhere: in the callback that the environment names. */
static void end_in(const char *callback) {
  const char *wanted = getenv("FIXTURE_ENDS_IN");
  if (wanted && strcmp(wanted, callback) == 0) exit(0);
}

static fc_status ends_in_create(const fc_host *host, const fc_arg *const *args, void **self) {
  end_in("create");
  return FC_OK;
}

static void ends_in_destroy(void *self) {
  end_in("destroy");
}

static fc_status ends_in_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  end_in("negotiate");
  terms->measure_bytes = 8;
  return FC_OK;
}

static fc_status ends_in_prepare(const fc_host *host, void *self, const fc_setup *setup, void **state) {
  end_in("prepare");
  return FC_OK;
}

static void ends_in_release(const fc_host *host, void *state) {
  end_in("release");
}

static size_t ends_in_scratch(const void *state, const fc_job *job) {
  end_in("scratch");
  return 0;
}

static void ends_in_reset(void *self) {
  end_in("reset");
}

static fc_status ends_in_process(const fc_host *host, const void *state, const fc_job *job) {
  end_in("process");
  return process(host, state, job);
}

static fc_status ends_in_collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  end_in("collect");
  return FC_OK;
}

static fc_status ends_in_report(const fc_host *host, void *self) {
  end_in("report");
  return FC_OK;
}

static void begin_pass(void *self, int32_t pass) {
  end_in("begin");
}

static int32_t ends_in_wanted(const void *self) {
  end_in("wanted");
  return 1;
}

static const void *ends_in_extension(const fc_operator *asked, const char *name) {
  static const fc_two_passes passes = {sizeof passes, begin_pass, ends_in_wanted};
  end_in("extension");
  return strcmp(name, FC_TWO_PASSES) == 0 ? &passes : NULL;
}

static void end_anywhere(void) {
  op.create = ends_in_create, op.destroy = ends_in_destroy, op.negotiate = ends_in_negotiate;
  op.reset = ends_in_reset, op.collect = ends_in_collect, op.report = ends_in_report;
  op.extension = ends_in_extension;
  op.flags |= FC_OP_TWO_PASSES;
  cpu.prepare = ends_in_prepare, cpu.release = ends_in_release, cpu.scratch = ends_in_scratch;
  cpu.process = ends_in_process;
}

/* Eight less than there are, or a thousand more, mirrored, without needing anything else of the input. */
static fc_status of_another_length(const fc_host *host, void *self, fc_terms *terms) {
  const int64_t more = strcmp(FIXTURE, "goes_on") == 0 ? 1000 : -8;
  terms->needs[0]->border = FC_BORDER_REFLECT;
  if (terms->out->extent[FC_AXIS_X] >= 0) terms->out->extent[FC_AXIS_X] += more;
  return FC_OK;
}

/* Calls itself until the stack is used up. */
static int descend(volatile char *above, int depth) {
  volatile char here[4096];
  here[0] = above[0];
  return depth < 0 ? 0 : descend(here, depth + 1) + here[0];
}

static fc_status overflows_in_process(const fc_host *host, const void *state, const fc_job *job) {
  volatile char first = 1;
  return descend(&first, 0) ? FC_FATAL : FC_OK;
}

static void spoil(void) {
  if (strcmp(FIXTURE, "ends_sooner") == 0 || strcmp(FIXTURE, "goes_on") == 0)
    op.negotiate = of_another_length;
  if (strcmp(FIXTURE, "ends_anywhere") == 0) end_anywhere();
  if (strcmp(FIXTURE, "overflows_in_process") == 0) cpu.process = overflows_in_process;
  if (strcmp(FIXTURE, "exits_in_process") == 0) cpu.process = exits_in_process;
  if (strcmp(FIXTURE, "exits_quickly") == 0) cpu.process = exits_quickly;
  if (strcmp(FIXTURE, "crashes_in_process") == 0) cpu.process = crashes_in_process;
  if (strcmp(FIXTURE, "aborts_in_process") == 0) cpu.process = aborts_in_process;
  if (strcmp(FIXTURE, "exits_in_create") == 0) op.create = exits_in_create;
  if (strcmp(FIXTURE, "exits_in_negotiate") == 0) op.negotiate = exits_in_negotiate;
}

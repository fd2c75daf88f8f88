/* SPDX-License-Identifier: MIT */
/*
 * at_run.c - plugins that end the process in the middle of a run, each in one way. Compiled once a fixture,
 * whose name says which.
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

static void spoil(void) {
  if (strcmp(FIXTURE, "exits_in_process") == 0) cpu.process = exits_in_process;
  if (strcmp(FIXTURE, "exits_quickly") == 0) cpu.process = exits_quickly;
  if (strcmp(FIXTURE, "crashes_in_process") == 0) cpu.process = crashes_in_process;
  if (strcmp(FIXTURE, "aborts_in_process") == 0) cpu.process = aborts_in_process;
  if (strcmp(FIXTURE, "exits_in_create") == 0) op.create = exits_in_create;
  if (strcmp(FIXTURE, "exits_in_negotiate") == 0) op.negotiate = exits_in_negotiate;
}

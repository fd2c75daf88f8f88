/* SPDX-License-Identifier: MIT */
/*
 * unfit.c - plugins whose description is wrong, each in one way. Compiled once a fixture, whose name says
 * which way.
 */
#include "tests/plugins/minimal.h"

#include <signal.h>

static fc_status report(const fc_host *host, void *self) {
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  return FC_OK;
}

/* ---- the plugin -------------------------------------------------------- */

/* Crashes in its entry. */
static void asks_crash(void) {
  raise(SIGSEGV);
}

/* Made for another version of the contract, behind the right symbol. */
static void abi_old(void) {
  plugin.abi = 0;
}

/* A size that no struct has: uninitialised memory, or something else behind the symbol. */
static void size_wild(void) {
  plugin.size = 0xfffffff0u;
}

/* Does not say who it is. */
static void id_none(void) {
  plugin.id = 0;
}

/* An id that could not stand in a qualified name. */
static void id_slash(void) {
  plugin.id = "fixture/slash";
}

/* Announces an operator and has none. */
static void operators_none(void) {
  plugin.operators = 0;
}

/* A hole in the list of operators. */
static void operator_null(void) {
  operators[0] = 0;
}

/* ---- the operator ------------------------------------------------------ */

/* An operator without a name. */
static void name_null(void) {
  op.name = 0;
}

/* A name that could not be typed as others are. */
static void name_bad(void) {
  op.name = "Name-Bad";
}

/* A name that would lead out of a folder. */
static void name_path(void) {
  op.name = "../name_path";
}

/* A summary that would break every list it stands in. */
static void summary_lines(void) {
  op.summary = "two\nlines";
}

/* A promise or demand that this host does not understand. */
static void flags_unknown(void) {
  op.flags |= 1u << 12;
}

/* Takes nothing. */
static void kinds_none(void) {
  op.kinds = 0;
}

/* Reports measurements that it never collects. */
static void report_only(void) {
  op.report = report;
}

/* Makes a signal of nothing, and keeps the element type of - what? */
static void generator_keeps(void) {
  op.flags = FC_OP_GENERATOR | FC_OP_KEEPS_DTYPE;
}

/* Makes a signal of nothing, and does not say which. */
static void generator_mute(void) {
  op.flags = FC_OP_GENERATOR;
}

/* Takes no signal, and yet a further one. */
static void generator_input(void) {
  op.flags = FC_OP_GENERATOR, op.negotiate = negotiate;
  second.type = FC_INPUT;
}

/* ---- its backends ------------------------------------------------------ */

/* Runs nowhere. */
static void no_backend(void) {
  backends[0] = 0;
}

/* A backend that does nothing. */
static void no_process(void) {
  cpu.process = 0;
}

/* Two backends for one kind of device. */
static void backend_twice(void) {
  static const fc_backend *twice[] = {&cpu, &cpu, 0};
  op.backends = twice;
}

/* Runs only on a kind of device that this host does not know. */
static void backend_foreign(void) {
  cpu.device_kind = 99;
}

/* A backend with a demand that this host does not understand. */
static void backend_flags(void) {
  cpu.flags = 1u << 15;
}

/* ---- its parameters ---------------------------------------------------- */

/* A hole in the list of parameters. */
static void param_null(void) {
  params[1] = 0;
}

/* Two parameters of one name. */
static void param_twice(void) {
  second.name = "amount";
}

/* Another name of a parameter that is the name of the other one. */
static void alias_twice(void) {
  static const char *const aliases[] = {"gain", "amount", 0};
  second.aliases = aliases;
}

/* A type of parameter that this host does not know. */
static void param_type(void) {
  second.type = 99;
}

/* Two parameters that a bare value would belong to. */
static void two_mains(void) {
  second.flags = FC_PARAM_MAIN;
}

/* A choice between nothing. */
static void enum_empty(void) {
  second.type = FC_ENUM;
}

/* A list of what cannot be listed. */
static void list_of_text(void) {
  second.type = FC_STRING, second.flags = FC_PARAM_LIST;
}

/* A range that nothing lies in. */
static void range_empty(void) {
  limits.min = 11;
}

/* Numbers for text to lie between. */
static void limits_of_text(void) {
  second.type = FC_STRING, second.limits = &limits;
}

/* A preset that its own range forbids. */
static void preset_range(void) {
  amount.preset = "11";
}

/* A further input that is there even when the user names none. */
static void input_preset(void) {
  second.type = FC_INPUT, second.preset = "reference.wav";
}

/* ---- all --------------------------------------------------------------- */

#define WAY(name)                                                                                            \
  { #name, name }
static const struct {
  const char *name;
  void (*spoil)(void);
} ways[] = {
    WAY(abi_old),        WAY(alias_twice),   WAY(asks_crash),    WAY(backend_flags),   WAY(backend_foreign),
    WAY(backend_twice),  WAY(enum_empty),    WAY(flags_unknown), WAY(generator_input), WAY(generator_keeps),
    WAY(generator_mute), WAY(id_none),       WAY(id_slash),      WAY(input_preset),    WAY(kinds_none),
    WAY(limits_of_text), WAY(list_of_text),  WAY(name_bad),      WAY(name_null),       WAY(name_path),
    WAY(no_backend),     WAY(no_process),    WAY(operator_null), WAY(operators_none),  WAY(param_null),
    WAY(param_twice),    WAY(param_type),    WAY(preset_range),  WAY(range_empty),     WAY(report_only),
    WAY(size_wild),      WAY(summary_lines), WAY(two_mains),
};

static void spoil(void) {
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strcmp(ways[i].name, FIXTURE) == 0) ways[i].spoil();
}

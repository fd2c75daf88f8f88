/* SPDX-License-Identifier: MIT */
/*
 * test_faults.c - do the operator tests notice? Runs them on the operators of faults.c:
 * each fault must be found, and called by its name, and those without one must pass.
 *
 *     test_faults FOLDER [SEED]
 */
#include <stdlib.h>
#include <string.h>

#include "core/registry/registry.h"
#include "check/harness.h"
#include "check/trial.h"

#define BIT(fault) (1u << (fault))

static const struct known {
  const char *op;
  unsigned faults; /* any of these */
} known[] = {
    {"sound", BIT(FAULT_NONE)},
    {"ends_early", BIT(FAULT_UNWRITTEN)},
    /* Where planes touch, what lies beyond a row is another channel's value. A byte that is what the band
     * holds already changes nothing: then a note of its clipping is what gives it away. */
    {"writes_beyond", BIT(FAULT_BAND) | BIT(FAULT_VALUE) | BIT(FAULT_NOTES)},
    {"ignores_stride", BIT(FAULT_VALUE) | BIT(FAULT_BAND) | BIT(FAULT_CUT)},
    {"depends_on_cut", BIT(FAULT_CUT)},
    /* What lies there may be a NaN, then the note of it comes first, or so small that only rounding shows it.
     */
    {"reads_too_far", BIT(FAULT_HALO) | BIT(FAULT_VALUE) | BIT(FAULT_NOTES) | BIT(FAULT_CUT)},
    {"writes_input", BIT(FAULT_INPUT)},
    {"scratch_beyond", BIT(FAULT_BAND)},
    {"shares_state", BIT(FAULT_THREADS)},
    {"forgets_nan", BIT(FAULT_NOTES)},
    {"truncates", BIT(FAULT_VALUE)},
    {"adds_to_output", BIT(FAULT_HALO)},
    {"fails", BIT(FAULT_STATUS)},
    {"leaks", BIT(FAULT_LEAK)},
    {"refuses_silently", BIT(FAULT_SENTENCE)},
    {"refuses_all", BIT(FAULT_NOTHING)},
    {"refuses_example", BIT(FAULT_NOTHING)},
    {"changes_its_mind", BIT(FAULT_CONTRACT)},
    {"measures", BIT(FAULT_NONE)},
    {"measures_cuts", BIT(FAULT_MEASURE)},
    {"carries", BIT(FAULT_NONE)},
    {"forgets_carry", BIT(FAULT_CUT)},
    {"carries_beyond", BIT(FAULT_BAND)},
    {"adds", BIT(FAULT_NONE)},
    {"reads_other_too_far", BIT(FAULT_HALO) | BIT(FAULT_VALUE) | BIT(FAULT_NOTES) | BIT(FAULT_CUT)},
    {"writes_other", BIT(FAULT_INPUT)},
    {"generates", BIT(FAULT_NONE)},
    {"generates_cuts", BIT(FAULT_CUT)},
    {"remembers_size", BIT(FAULT_CUT)},
    {"forgets_border", BIT(FAULT_CONTRACT)},
};

static const struct known *find(const char *name) {
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (strcmp(known[i].op, name) == 0) return &known[i];
  return NULL;
}

static gboolean notices(const fc_operator *op, const harness_options *options) {
  harness_tally tally;
  const struct known *k = find(op->name);
  harness_run(op, backend_of(op, FC_KIND_HOST), device_cpu(), options, &tally);
  gboolean ok = k && k->faults & BIT(tally.first.fault);
  printf("%s %s: %s %s\n", ok ? "ok  " : "FAIL", op->name, fault_name(tally.first.fault), tally.first.text);
  return ok;
}

int main(int argc, char **argv) {
  gsize count, failed = 0;
  if (argc < 2 || argc > 3) return 2;
  guint64 seed = argc == 3 ? g_ascii_strtoull(argv[2], NULL, 10) : (guint64)g_get_real_time();
  harness_options options = {.seed = seed, .cases = 400, .only = -1};
  options.log = fopen("/dev/null", "w");
  if (!options.log) return 1;
  printf("seed %" G_GUINT64_FORMAT "\n", options.seed);
  fc_registry *registry = fc_registry_new();
  fc_registry_set_home(registry, argv[1], "");
  g_autofree const fc_operator **ops = fc_registry_operators(registry, &count);
  for (gsize i = 0; i < count; i++) failed += !notices(ops[i], &options);
  fc_registry_free(registry);
  fclose(options.log);
  printf("%" G_GSIZE_FORMAT " operators, %" G_GSIZE_FORMAT " judged wrongly\n", count, failed);
  return failed || count != G_N_ELEMENTS(known);
}

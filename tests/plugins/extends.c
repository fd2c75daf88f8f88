/* SPDX-License-Identifier: MIT */
/* Two operators and one function that distinguishes them by their addresses. */
#include "tests/plugins/minimal.h"

static fc_operator second_op;
static const fc_operator *both[] = {&op, &second_op};

static const void *extension(const fc_operator *which, const char *name) {
  static const char first_has[] = "first", second_has[] = "second";
  if (strcmp(name, "fixture/1") != 0) return 0;
  return which == &op ? first_has : which == &second_op ? second_has : 0;
}

static void spoil(void) {
  op.extension = extension;
  second_op = op;
  second_op.name = "extends_too";
  plugin.n_operators = 2;
  plugin.operators = both;
}

/* SPDX-License-Identifier: MIT */
/* Built against a later minor version: longer structs, kinds and types not known here. Works. */
#include "tests/plugins/minimal.h"

static struct {
  fc_operator known;
  const void *unknown;
} newer;

static void spoil(void) {
  newer.known = op, newer.unknown = &newer, newer.known.size = sizeof newer, newer.known.kinds |= 1u << 30;
  newer.known.dtypes_in |= 1u << 30, operators[0] = &newer.known;
}

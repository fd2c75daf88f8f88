/* SPDX-License-Identifier: MIT */
/* Built against a later minor version: longer structs; kinds, types, devices and ignorable flags not known
 * here. Works. */
#include "tests/plugins/minimal.h"

static struct {
  fc_operator known;
  const void *unknown;
} newer;

static fc_backend elsewhere;
static const fc_backend *more[] = {&elsewhere, &cpu, 0};

static void spoil(void) {
  newer.known = op, newer.unknown = &newer, newer.known.size = sizeof newer, newer.known.kinds |= 1u << 30;
  newer.known.dtypes_in |= 1u << 30, newer.known.flags |= 1u << 20, operators[0] = &newer.known;
  elsewhere = cpu, elsewhere.device_kind = 99, newer.known.backends = more;
  cpu.flags = 1u << 31, amount.flags |= 1u << 16, limits.flags |= 1u << 17;
}

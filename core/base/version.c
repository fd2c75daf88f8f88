/* SPDX-License-Identifier: MIT */
/* version.c - what this library is called. */
#include "core/contract/filterchain.h"

const char *fc_version(void) {
  return FC_VERSION;
}

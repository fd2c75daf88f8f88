/* SPDX-License-Identifier: MIT */
/* Reports measurements that it never collects. */
#include "tests/plugins/minimal.h"

static fc_status report(const fc_host *host, void *self) {
  return FC_OK;
}

static void spoil(void) {
  op.report = report;
}

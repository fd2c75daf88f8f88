/* SPDX-License-Identifier: MIT */
/* Has a function of the name of one of zlib's that is not static, and stores what it answers. */
#include "tests/plugins/minimal.h"

#include <stdlib.h>

__attribute__((visibility("default"), noinline)) unsigned long crc32(unsigned long crc, const void *bytes,
                                                                     unsigned count);

unsigned long crc32(unsigned long crc, const void *bytes, unsigned count) {
  return bytes && count ? 42 : crc;
}

static fc_status store_answer(const fc_host *host, const void *state, const fc_job *job) {
  *(uint8_t *)job->out->data = (uint8_t)crc32(0, job->in[0]->data, 1);
  return FC_OK;
}

static void spoil(void) {
  cpu.process = store_answer;
}

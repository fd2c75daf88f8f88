/* SPDX-License-Identifier: MIT */
/*
 * fuzz_npy.c - NumPy files as inputs and as tables, and what follows of them when they
 * are cut off.
 */
#include "tests/fuzz/fuzz.h"

#include "core/registry/table.h"

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  fc_media_options options = fuzz_options();
  const char *path = fuzz_file(data, size);
  for (int cut = 0; cut < 2; cut++) {
    options.allow_truncated = cut;
    options.in_format = "npy";
    fuzz_read(fc_media_open(path, &options, NULL), NULL, 1 << 20);
  }
  fc_table_free(fc_media_load_table(path, size & 1, NULL));
  return 0;
}

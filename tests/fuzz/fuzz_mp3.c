/* SPDX-License-Identifier: MIT */
/*
 * fuzz_mp3.c - MPEG audio and ID3 tags: read to the end, and the texts and pictures written as a tag again,
 * which is a whole one.
 */
#include <stdlib.h>
#include <string.h>

#include "media/audio/id3.h"
#include "tests/fuzz/fuzz.h"

static void write_tag(fc_source *source) {
  fc_blob tag = {0};
  g_autoptr(GString) lost = g_string_new(NULL);
  const fc_audio_spec spec = {.tags = fc_source_tags(source), .lost = lost};
  fc_id3_put(&spec, &tag);
  if (tag.size) {
    gsize size = 0;
    for (int i = 6; i < 10; i++) size = size << 7 | tag.data[i];
    if (memcmp(tag.data, "ID3\4", 4) != 0 || size + 10 != tag.size) abort();
  }
  fc_blob_clear(&tag);
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  fc_media_options options = fuzz_options();
  const char *path = fuzz_file(data, size);
  options.in_format = "mp3";
  for (int cut = 0; cut < 2; cut++) {
    options.allow_truncated = cut;
    fc_source *source = fc_media_open(path, &options, NULL);
    if (source && cut) write_tag(source);
    fuzz_read(source, NULL, 1 << 18);
  }
  return 0;
}

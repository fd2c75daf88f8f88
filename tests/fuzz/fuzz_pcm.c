/* SPDX-License-Identifier: MIT */
/*
 * fuzz_pcm.c - the headers of WAV, RF64, RIFX, W64, AIFF, CAF and AU alone, without the samples: what is
 * found lies within what can be counted, and a pipe says of the samples what a file says.
 */
#include <stdlib.h>
#include <string.h>

#include "media/audio/pcm_header.h"
#include "tests/fuzz/fuzz.h"

#define PIPE_MAX 65536

static void require(gboolean holds) {
  if (!holds) abort();
}

static void check(const fc_pcm_header *header) {
  require(header->channels >= 0 && header->channels <= 65535);
  require(header->size >= -1 && header->missing >= 0 && header->counted >= 0);
  require(!header->found || header->offset >= 0);
  require(!header->item || (header->item->size >= 1 && header->item->size <= 8));
  require(header->tags->bytes <= FC_TAGS_MAX);
}

/* FALSE where the input could not be read as one of these. */
static gboolean read_header(const char *path, fc_pcm_header *header) {
  g_autoptr(fc_input) input = fc_input_open(path, NULL, NULL);
  *header = (fc_pcm_header){0};
  return input && fc_pcm_header_read(header, input, NULL);
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  fc_pcm_header of_file, of_pipe;
  if (size < 4) return 0;
  const gboolean file = read_header(fuzz_file(data, size), &of_file);
  if (file) check(&of_file);
  if (size <= PIPE_MAX) {
    const gboolean pipe = read_header(fuzz_pipe(data, size), &of_pipe);
    if (pipe) check(&of_pipe);
    /* What stands ahead of the samples is the same in both. */
    if (file && pipe && of_file.found && of_pipe.found && of_pipe.channels && of_file.item && of_pipe.item)
      require(of_file.item == of_pipe.item && of_file.channels == of_pipe.channels &&
              of_file.offset == of_pipe.offset);
    fc_pcm_header_clear(&of_pipe);
  }
  fc_pcm_header_clear(&of_file);
  return 0;
}

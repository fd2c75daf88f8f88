/* SPDX-License-Identifier: MIT */
/* sound_pipe.c - see sound_pipe.h. */
#include "media/audio/sound_pipe.h"

#include <string.h>

fc_sound_pipe *fc_sound_pipe_new(fc_input *input) {
  fc_sound_pipe *pipe = g_new0(fc_sound_pipe, 1);
  pipe->reader.input = input;
  return pipe;
}

void fc_sound_pipe_free(fc_sound_pipe *pipe) {
  if (!pipe) return;
  g_clear_error(&pipe->problem);
  g_free(pipe);
}

/* What comes next; fewer bytes at the end. */
static gint64 take(fc_sound_pipe *pipe, void *to, gint64 size) {
  gssize got = pipe->problem ? 0 : fc_reader_read(&pipe->reader, to, (gsize)size, &pipe->problem);
  return MAX(got, 0);
}

/* FALSE when it ends before. */
static gboolean pass_to(fc_sound_pipe *pipe, gint64 at) {
  guint8 passed[4096];
  while (pipe->reader.position < at)
    if (!take(pipe, passed, MIN((gint64)sizeof passed, at - pipe->reader.position))) return FALSE;
  return TRUE;
}

gint64 fc_sound_pipe_read_at(fc_sound_pipe *pipe, gint64 at, void *to, gint64 size) {
  const fc_input *input = pipe->reader.input;
  gint64 got = CLAMP((gint64)input->head_size - at, 0, size);
  if (got) memcpy(to, input->head + at, (gsize)got);
  if (got == size || at + got < pipe->reader.position || !pass_to(pipe, at + got)) return got;
  return got + take(pipe, (char *)to + got, size - got);
}

/* The next byte, if one comes soon. */
static gboolean next_byte(fc_sound_pipe *pipe, guint8 *byte) {
  return fc_reader_is_ready(&pipe->reader, FC_INPUT_PATIENCE) && take(pipe, byte, 1) == 1;
}

/* FALSE where they do not come soon. */
static gboolean next_bytes(fc_sound_pipe *pipe, guint8 *to, gint64 count) {
  for (gint64 i = 0; i < count; i++)
    if (!next_byte(pipe, to + i)) return FALSE;
  return TRUE;
}

static gboolean skip_to(fc_sound_pipe *pipe, gint64 at) {
  guint8 byte;
  if (at - pipe->reader.position > FC_INPUT_LOOK_MOST) return FALSE;
  while (pipe->reader.position < at)
    if (!next_byte(pipe, &byte)) return FALSE;
  return pipe->reader.position == at;
}

gboolean fc_sound_pipe_finds(fc_sound_pipe *pipe, const fc_chunk_layout *layout, gint64 at, gint64 end) {
  guint8 head[8];
  while (at + (gint64)sizeof head <= end && skip_to(pipe, at) && next_bytes(pipe, head, sizeof head)) {
    gint64 size = (gint64)fc_chunk_get(layout, head + 4, 4);
    if (size && memcmp(head, layout->samples, 4) == 0) return TRUE;
    at += (gint64)sizeof head + size + (size & 1);
  }
  return FALSE;
}

gboolean fc_sound_pipe_goes_on(fc_sound_pipe *pipe, gint64 end) {
  gint64 looked = 0, meant = 0;
  guint8 byte;
  for (; looked < FC_INPUT_LOOK_MOST && meant <= FC_INPUT_FEW && next_byte(pipe, &byte); looked++)
    if (pipe->reader.position > end) meant += byte != 0 || meant;
  return meant > FC_INPUT_FEW;
}

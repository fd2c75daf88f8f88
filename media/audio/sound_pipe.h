/* SPDX-License-Identifier: MIT */
/*
 * sound_pipe.h - the bytes of a sound from a pipe that is kept nowhere: its first ones, which were looked at
 * already, anywhere, and all others as they come.
 */
#ifndef FC_MEDIA_SOUND_PIPE_H
#define FC_MEDIA_SOUND_PIPE_H

#include "media/audio/chunks.h"
#include "media/file/reader.h"

G_BEGIN_DECLS

typedef struct fc_sound_pipe {
  fc_reader reader;
  GError *problem; /* of the first read that failed, or NULL */
} fc_sound_pipe;

/* `input`, which is borrowed, stands at its beginning. */
fc_sound_pipe *fc_sound_pipe_new(fc_input *input);
void fc_sound_pipe_free(fc_sound_pipe *pipe); /* NULL is allowed */

/* The bytes at `at`, fewer where they end, or have gone by. */
gint64 fc_sound_pipe_read_at(fc_sound_pipe *pipe, gint64 at, void *to, gint64 size);

/* Whether there are samples among the chunks from one place to another that have not gone by. */
gboolean fc_sound_pipe_finds(fc_sound_pipe *pipe, const fc_chunk_layout *layout, gint64 at, gint64 end);

/* Whether anything but a few bytes or zeros comes behind the first `end` bytes. Who sends nothing for a
 * second and leaves the pipe open is taken to have sent all. */
gboolean fc_sound_pipe_goes_on(fc_sound_pipe *pipe, gint64 end);

G_END_DECLS

#endif

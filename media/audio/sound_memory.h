/* SPDX-License-Identifier: MIT */
/*
 * sound_memory.h - a small sound file that libsndfile writes into memory.
 */
#ifndef FC_MEDIA_SOUND_MEMORY_H
#define FC_MEDIA_SOUND_MEMORY_H

#include "media/audio/audio.h"
#include "media/file/blob.h"

G_BEGIN_DECLS

/* Empty when zeroed; `bytes` is cleared by whoever has it, and has failed when there was no memory. */
typedef struct fc_sound_memory {
  fc_blob bytes;
  gint64 position;
} fc_sound_memory;

/* For sf_open_virtual, with an fc_sound_memory as its data. */
extern SF_VIRTUAL_IO fc_sound_memory_vio;

G_END_DECLS

#endif

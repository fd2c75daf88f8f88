/* SPDX-License-Identifier: MIT */
/* sound_memory.c - see sound_memory.h. */
#include "media/audio/sound_memory.h"

#include <stdio.h>
#include <string.h>

static sf_count_t vio_size(void *data) {
  return (sf_count_t)((fc_sound_memory *)data)->bytes.size;
}

/* Not beyond the end, so that there are no gaps. */
static sf_count_t vio_seek(sf_count_t offset, int whence, void *data) {
  fc_sound_memory *memory = data;
  gint64 from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? memory->position : vio_size(data);
  if (from + offset < 0 || from + offset > vio_size(data)) return -1;
  return memory->position = from + offset;
}

static sf_count_t vio_tell(void *data) {
  return ((fc_sound_memory *)data)->position;
}

static sf_count_t vio_read(void *to, sf_count_t size, void *data) {
  fc_sound_memory *memory = data;
  gint64 got = MIN(size, vio_size(data) - memory->position);
  if (got > 0) memcpy(to, memory->bytes.data + memory->position, (gsize)got);
  memory->position += MAX(got, 0);
  return MAX(got, 0);
}

static sf_count_t vio_write(const void *from, sf_count_t size, void *data) {
  fc_sound_memory *memory = data;
  gint64 over = MIN(size, vio_size(data) - memory->position);
  if (over > 0) memcpy(memory->bytes.data + memory->position, from, (gsize)over);
  fc_blob_put(&memory->bytes, (const char *)from + over, (gsize)(size - over));
  if (memory->bytes.failed) return 0;
  memory->position += size;
  return size;
}

SF_VIRTUAL_IO fc_sound_memory_vio = {vio_size, vio_seek, vio_read, vio_write, vio_tell};

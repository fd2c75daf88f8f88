/* SPDX-License-Identifier: MIT */
/*
 * sound_view.c - see sound_view.h: a header of our own making, then the file's samples.
 */
#include "media/sound_view.h"

#include <stdio.h>
#include <string.h>

#include "media/blob.h"
#include "media/chunks.h"

/* The largest chunk that goes into the header, and what libsndfile reads of one. */
#define CHUNK_MAX 65536
/* All that may stand ahead of the samples of a CAF file. */
#define FRONT_MAX ((gint64)64 << 20)

/* The largest MPEG frame is 60 times the smallest. */
#define FAR 64

struct fc_sound_view {
  fc_input *input;
  fc_blob header;
  gint64 samples_at, samples_size; /* in the file */
  gint64 position;
  fc_sound_end end;
};

static gint64 size_of(const fc_sound_view *view) {
  return (gint64)view->header.size + view->samples_size;
}

/* ---- libsndfile's file ------------------------------------------------- */

static sf_count_t vio_size(void *data) {
  const fc_sound_view *view = data;
  return view->end == FC_SOUND_NO_END ? SF_COUNT_MAX : size_of(view);
}

/* What is read from the end is had from where it is. */
static gint64 end_of(const fc_sound_view *view, gint64 offset) {
  gboolean far = view->end == FC_SOUND_FAR_END && offset == 0;
  return far ? size_of(view) * FAR : size_of(view);
}

static sf_count_t vio_seek(sf_count_t offset, int whence, void *data) {
  fc_sound_view *view = data;
  gint64 from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? view->position : end_of(view, offset);
  if (from + offset < 0 || (whence == SEEK_END && view->end == FC_SOUND_NO_END)) return -1;
  return view->position = from + offset;
}

static sf_count_t vio_tell(void *data) {
  return ((fc_sound_view *)data)->position;
}

static sf_count_t vio_read(void *to, sf_count_t size, void *data) {
  fc_sound_view *view = data;
  gint64 header = view->header.size, got = 0;
  if (view->position < header) {
    got = MIN(size, header - view->position);
    memcpy(to, view->header.data + view->position, (gsize)got);
  } else if (view->position < size_of(view)) {
    gint64 at = view->position - header;
    gssize read_now = fc_input_read_at(view->input, view->samples_at + at, to,
                                       (gsize)MIN(size, view->samples_size - at), NULL);
    got = MAX(read_now, 0);
  }
  view->position += got;
  return got;
}

static sf_count_t vio_write(const void *from, sf_count_t size, void *data) {
  return 0;
}

SF_VIRTUAL_IO fc_sound_view_vio = {vio_size, vio_seek, vio_read, vio_write, vio_tell};

/* ---- the header -------------------------------------------------------- */

static gboolean is_known(const guint8 *id) {
  static const char *const known[] = {"ds64", "fmt ", "fact", "bext", "LIST", "cart"};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (memcmp(id, known[i], 4) == 0) return TRUE;
  return FALSE;
}

static void add_chunk(fc_sound_view *view, const fc_chunk *chunk) {
  const fc_chunk_layout *layout = fc_chunk_layout_of(FC_FAMILY_RIFF);
  gsize size = (gsize)chunk->size, whole = 8 + size + (size & 1);
  guint8 *to = fc_blob_grow(&view->header, whole);
  if (!to) return;
  memset(to, 0, whole);
  memcpy(to, chunk->id, 4);
  fc_chunk_put(layout, to + 4, size, 4);
  if (fc_input_read_at(view->input, chunk->offset, to + 8, size, NULL) != (gssize)size)
    view->header.size -= whole;
}

/* Sizes of RF64 stand in a chunk of their own, and are all ones where RIFF has them. */
static void make_header(fc_sound_view *view, const fc_chunks *chunks) {
  gboolean wide = memcmp(view->input->head, "RF64", 4) == 0;
  fc_blob_put(&view->header, view->input->head, 4);
  fc_blob_put(&view->header, "\xff\xff\xff\xffWAVE", 8);
  for (guint i = 0; i < chunks->items->len; i++) {
    const fc_chunk *chunk = &g_array_index(chunks->items, fc_chunk, i);
    if (is_known(chunk->id) && chunk->size >= 0 && chunk->size <= CHUNK_MAX &&
        !fc_chunk_is_endless_list(view->input, chunk))
      add_chunk(view, chunk);
  }
  fc_blob_put(&view->header, "data", 4);
  fc_blob_put_little(&view->header, wide ? G_MAXUINT32 : MIN((guint64)view->samples_size, G_MAXUINT32), 4);
}

/* All ahead of the samples as it is, but for their size. */
static gboolean make_caf_header(fc_sound_view *view) {
  const fc_chunk_layout *layout = fc_chunk_layout_of(FC_FAMILY_CAF);
  if (view->samples_at > FRONT_MAX) return FALSE;
  gsize size = (gsize)view->samples_at;
  guint8 *to = fc_blob_grow(&view->header, size);
  if (!to || fc_input_read_at(view->input, 0, to, size, NULL) != (gssize)size) return FALSE;
  fc_chunk_put(layout, to + size - layout->size_bytes, (guint64)view->samples_size, layout->size_bytes);
  return TRUE;
}

static gboolean make_view(fc_sound_view *view, const fc_chunks *chunks) {
  if (chunks->family == FC_FAMILY_CAF) return chunks->missing > 0 && make_caf_header(view);
  if (chunks->family != FC_FAMILY_RIFF) return FALSE;
  make_header(view, chunks);
  return !view->header.failed;
}

fc_sound_view *fc_sound_view_plain(fc_input *input, fc_sound_end end) {
  fc_sound_view *view = g_new0(fc_sound_view, 1);
  view->input = input;
  view->end = end;
  view->samples_size = input->size;
  return view;
}

gboolean fc_sound_view_is_needed(fc_input *input) {
  g_autoptr(fc_chunks) chunks = fc_chunks_read(input, NULL);
  if (!chunks) return FALSE;
  for (guint i = 0; i < chunks->items->len; i++)
    if (fc_chunk_is_endless_list(input, &g_array_index(chunks->items, fc_chunk, i))) return TRUE;
  return FALSE;
}

fc_sound_view *fc_sound_view_new(fc_input *input) {
  g_autoptr(fc_chunks) chunks = fc_chunks_read(input, NULL);
  if (!chunks || chunks->data < 0) return NULL;
  const fc_chunk *samples = &g_array_index(chunks->items, fc_chunk, chunks->data);
  gint64 left = input->size - samples->offset;
  fc_sound_view *view = g_new0(fc_sound_view, 1);
  view->input = input;
  view->samples_at = samples->offset;
  view->samples_size = samples->size >= 0 ? MIN(samples->size, left) : left;
  if (make_view(view, chunks)) return view;
  fc_sound_view_free(view);
  return NULL;
}

void fc_sound_view_free(fc_sound_view *view) {
  if (!view) return;
  fc_blob_clear(&view->header);
  g_free(view);
}

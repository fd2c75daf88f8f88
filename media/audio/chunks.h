/* SPDX-License-Identifier: MIT */
/*
 * chunks.h - the chunks of RIFF, RF64, W64, AIFF and CAF files: for telling a file
 * that was cut off, and for carrying metadata from one file to another.
 */
#ifndef FC_MEDIA_CHUNKS_H
#define FC_MEDIA_CHUNKS_H

#include "media/file/internal.h"

G_BEGIN_DECLS

typedef enum fc_family {
  FC_FAMILY_NONE,
  FC_FAMILY_RIFF, /* also RF64 */
  FC_FAMILY_RIFX,
  FC_FAMILY_W64,
  FC_FAMILY_AIFF,
  FC_FAMILY_CAF
} fc_family;

#define FC_CHUNK_ID_MAX 16

typedef struct fc_chunk {
  guint8 id[FC_CHUNK_ID_MAX]; /* as in the file: 4 bytes, or 16 in W64; the rest zero */
  gint64 offset;              /* of the payload */
  gint64 size;                /* of the payload, as the file says; -1: to the end of the file */
} fc_chunk;

typedef struct fc_chunks {
  fc_family family;
  GArray *items;       /* of fc_chunk */
  int data;            /* index of the samples' chunk, or -1 */
  gboolean open_ended; /* the samples' size was never filled in: they go to the end of the file */
  gboolean streamed;   /* and what stands in its place is the size of no file: none was to be filled in */
  gint64 end;          /* of the file, as it says; -1: it does not, or was never filled in */
  gboolean wrapped;    /* sizes of more than 4 GiB were counted from 0 again; the samples' is set right */
  gboolean several;    /* there are more chunks of samples, of which the first is read */
  gboolean joined;     /* something else, as another file, begins behind the end of this one */
  gint64 missing;      /* bytes that the file says it has and has not */
  gint64 more;         /* where chunks begin that are more than are looked at; or 0 */
  gint64 stray;        /* where what is no chunk begins, ahead of the end that the file says; or 0 */
} fc_chunks;

/* Of a seekable input. NULL with an error when it cannot be read; a file that is no
 * chunk file, or is nonsense after its first bytes, gives a short or empty list. */
fc_chunks *fc_chunks_read(fc_input *input, GError **error);
void fc_chunks_free(fc_chunks *chunks);

/* A number of up to 8 bytes, `at` bytes into the first chunk with this id that is as long; 0: there is none.
 */
guint64 fc_chunks_number(fc_input *input, const fc_chunks *chunks, const char *id, int at, int bytes);

/* The chunk at `*at` in the first bytes of a RIFF or AIFF file (0: the first one), which then is the place of
 * the next; NULL where these bytes end, and of other files. */
const guint8 *fc_chunks_peek(const fc_input *input, guint64 *at, guint64 *size);
/* Whether the first bytes reach the chunk of the samples, if it is a file that has one. */
gboolean fc_chunks_front_is_there(const fc_input *input);
/* Whether a chunk of a seekable file is a LIST with an entry of more than `longest` bytes, or one that
 * libsndfile takes for samples; or that cannot be read, or is too large to be looked at. */
gboolean fc_chunk_is_endless_list(fc_input *input, const fc_chunk *chunk, guint64 longest);

/* Libsndfile, which takes all lists for some of three kinds, steps back from entries that are longer, and
 * goes round for minutes; half of it is what any of its versions passes by. */
#define FC_CHUNK_LIST_ENTRY_MAX ((guint64)G_MAXINT32)

/* Whether an id begins as one of `words`: ids of four characters, apart by a blank. */
gboolean fc_chunk_id_is_among(const guint8 *id, const char *words);

/* Is it what a writer leaves in a size that it cannot fill in? */
gboolean fc_chunk_size_is_placeholder(guint64 size);

/* How chunks are laid out in a family. */
typedef struct fc_chunk_layout {
  fc_family family;
  const char *magic;
  guint8 file_header; /* bytes before the first chunk */
  guint8 id_bytes;    /* 4 or 16 */
  guint8 size_bytes;  /* 4 or 8 */
  guint8 align;       /* chunks start at multiples of this */
  gboolean big_endian;
  gboolean counts_header;  /* a size includes the chunk's own header */
  guint8 total_at;         /* where the file's own size stands; 0: nowhere */
  guint8 total_leaves_out; /* bytes of the file not counted in it */
  const char *samples;     /* id of the samples' chunk, its first four bytes */
} fc_chunk_layout;

const fc_chunk_layout *fc_chunk_layout_of(fc_family family);
/* As a file's first bytes tell; NULL when it has no chunks. */
const fc_chunk_layout *fc_chunk_layout_at(const fc_input *input);

/* An integer of up to 8 bytes as a layout has it. */
guint64 fc_chunk_get(const fc_chunk_layout *layout, const guint8 *from, int bytes);
void fc_chunk_put(const fc_chunk_layout *layout, guint8 *to, guint64 value, int bytes);

/* Four characters as an id of the layout. W64 has one tail for the ids that it took from
 * RIFF, and another for LIST. */
void fc_chunk_put_id(const fc_chunk_layout *layout, guint8 *to, const guint8 *id);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_chunks, fc_chunks_free)

G_END_DECLS

#endif

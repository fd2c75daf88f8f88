/* SPDX-License-Identifier: MIT */
/*
 * tags.h - what a file says beside its samples, as one value that goes from the input to the output: texts,
 * pictures, profiles, the speaker mask, and the raw chunks of its family.
 *
 * Between files of one family the raw chunks go over byte for byte; between families go texts, pictures,
 * profiles and the speaker mask. What the output cannot hold is named in one warning. A reader fills the tags
 * when it opens its file and attaches them to its source (fc_file_source); a sink takes a reference when it
 * is created. Tags that a sink may see are not changed any more.
 */
#ifndef FC_MEDIA_TAGS_H
#define FC_MEDIA_TAGS_H

#include "media/file/blob.h"

G_BEGIN_DECLS

typedef enum fc_tag_family {
  FC_TAGS_OTHER,
  FC_TAGS_RIFF, /* also RF64, RIFX and W64 */
  FC_TAGS_AIFF,
  FC_TAGS_CAF,
  FC_TAGS_FLAC,
  FC_TAGS_OGG,
  FC_TAGS_PNG,
  FC_TAGS_JPEG
} fc_tag_family;

/* A name as Vorbis comments have it ("TITLE"; NULL: the file gives none), and UTF-8 where the file says so.
 * `value` has a zero behind its `size` bytes, and may have others. */
typedef struct fc_tag_text {
  char *name, *value;
  gsize size;
} fc_tag_text;

/* A chunk, block or segment of the tags' family: its content without the header. */
typedef struct fc_tag_chunk {
  guint8 id[4]; /* in FLAC the first byte is the kind of the block, in JPEG the marker */
  guint8 *data;
  gsize size;
  gboolean ahead; /* it stood ahead of the samples */
} fc_tag_chunk;

/* Pixels a metre of an image, or else only their ratio; 0: not said. */
typedef struct fc_density {
  guint32 x, y;
  gboolean metres;
} fc_density;

typedef struct fc_tags {
  gatomicrefcount references;
  fc_tag_family family;
  GArray *texts;    /* of fc_tag_text, in the order of the file */
  GArray *pictures; /* of fc_blob: the content of a picture block of FLAC (RFC 9639, 8.8) */
  GArray *chunks;   /* of fc_tag_chunk */
  fc_blob icc, exif, xmp;

  /* Of a sound. */
  int sndfile;              /* libsndfile's format of the samples; 0: it is none */
  int channels, rate;       /* of the file that the tags are of */
  gint64 frames;            /* FC_UNKNOWN */
  guint32 speakers;         /* WAV's mask; 0: not said */
  gboolean speakers_stated; /* the file says it; otherwise the codec implies it */

  fc_density density; /* of an image */

  gsize bytes;     /* of texts, pictures and chunks */
  GString *lost;   /* names of what could not be read, for the warning */
  gboolean failed; /* there was no memory for some of it */
} fc_tags;

fc_tags *fc_tags_new(fc_tag_family family);
fc_tags *fc_tags_ref(fc_tags *tags); /* NULL is allowed, as in all that follow */
void fc_tags_unref(fc_tags *tags);

/* FALSE with an error that begins with `name` when there was no memory. */
gboolean fc_tags_check(const fc_tags *tags, const char *name, GError **error);

/* A name that is longer is none. */
#define FC_TAG_NAME_MAX ((gsize)256)
/* Copies what it is given. Of all tags of a file no more than FC_TAGS_MAX bytes are kept; what does not fit
 * is lost. `size` -1: `value` is a string. */
#define FC_TAGS_MAX ((gsize)64 << 20)
void fc_tags_add_text(fc_tags *tags, const char *name, const void *value, gssize size);
void fc_tags_add_picture(fc_tags *tags, const void *block, gsize size);
/* Room for the content of a chunk; NULL when there is none. */
guint8 *fc_tags_add_chunk(fc_tags *tags, const void *id, gsize size, gboolean ahead);
/* A whole chunk. */
void fc_tags_put_chunk(fc_tags *tags, const void *id, const void *data, gsize size, gboolean ahead);
/* Names something that is left out, once. */
void fc_tags_lose(fc_tags *tags, const char *word);

/* The name of a text for a warning: "texts" where it is no word that can be printed. */
const char *fc_tag_text_title(const fc_tag_text *text);

/* `text` as UTF-8: what is none is taken for what Windows has in its place. g_free; NULL when there is no
 * memory. */
char *fc_text_to_utf8(const char *text, gsize size);

/* The first text of a name in any case, that is not empty, or NULL. */
const char *fc_tags_text(const fc_tags *tags, const char *name);

/* The one warning: `lost` (and what the tags have lost already) is not in the output `name`. */
void fc_tags_warn_lost(const fc_tags *tags, const fc_media_options *options, const char *name,
                       const GString *lost);

/* ---- the source that carries them ----------------------------------------- */

/* What every source of media/ begins with. `base.free` is fc_file_source_free, by which it is known; it
 * frees name, tags and struct after `close` has ended the rest. */
typedef struct fc_file_source fc_file_source;
struct fc_file_source {
  fc_source base;
  fc_tags *tags;                         /* or NULL */
  void (*close)(fc_file_source *source); /* NULL is allowed */
};

void fc_file_source_free(fc_source *source);

/* The tags of a source of media/, borrowed; NULL for any other, and for NULL. */
fc_tags *fc_source_tags(fc_source *source);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_tags, fc_tags_unref)

G_END_DECLS

#endif

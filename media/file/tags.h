/* SPDX-License-Identifier: MIT */
/*
 * tags.h - a file's metadata, as one value that is passed from the input to the output: texts,
 * pictures, profiles, the speaker mask, and the raw chunks of its family.
 *
 * Between files of one family the raw chunks are copied byte for byte; between families texts, pictures,
 * profiles and the speaker mask are converted. What the output cannot hold is named in one warning. A reader
 * fills the tags when it opens its file and attaches them to its source (fc_file_source); a sink takes a
 * reference when it is created. Tags are constant once a sink may see them.
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

/* A name as in Vorbis comments ("TITLE"; NULL: none), and UTF-8 if the file declares it. `value` has a zero
 * after its `size` bytes, and may contain others. */
typedef struct fc_tag_text {
  char *name, *value;
  gsize size;
} fc_tag_text;

/* A chunk, block or segment of the tags' family: its content without the header. */
typedef struct fc_tag_chunk {
  guint8 id[4]; /* in FLAC the first byte is the kind of the block, in JPEG the marker */
  guint8 *data;
  gsize size;
  gboolean ahead; /* it preceded the samples */
} fc_tag_chunk;

/* Pixels per metre of an image, or only their ratio; 0: unknown. */
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
  int sndfile;              /* libsndfile's format of the samples; 0: not a sound file */
  int channels, rate;       /* of the tags' file */
  gint64 frames;            /* FC_UNKNOWN */
  guint32 speakers;         /* WAV's mask; 0: unknown */
  gboolean speakers_stated; /* explicit in the file; otherwise implied by the codec */

  fc_density density; /* of an image */

  gsize bytes;     /* of texts, pictures and chunks */
  GString *lost;   /* names of unreadable metadata, for the warning */
  gboolean failed; /* memory was lacking for some */
} fc_tags;

fc_tags *fc_tags_new(fc_tag_family family);
fc_tags *fc_tags_ref(fc_tags *tags); /* NULL is allowed, as in all that follow */
void fc_tags_unref(fc_tags *tags);

/* FALSE with an error that begins with `name` when there was no memory. */
gboolean fc_tags_check(const fc_tags *tags, const char *name, GError **error);

/* Longer names are invalid. */
#define FC_TAG_NAME_MAX ((gsize)256)
/* Copies its arguments. At most FC_TAGS_MAX bytes are kept of a file's tags; the rest is lost. `size` -1:
 * `value` is a string. */
#define FC_TAGS_MAX ((gsize)64 << 20)
void fc_tags_add_text(fc_tags *tags, const char *name, const void *value, gssize size);
void fc_tags_add_picture(fc_tags *tags, const void *block, gsize size);
/* Allocates the content of a chunk; NULL if memory is lacking. */
guint8 *fc_tags_add_chunk(fc_tags *tags, const void *id, gsize size, gboolean ahead);
/* A whole chunk. */
void fc_tags_put_chunk(fc_tags *tags, const void *id, const void *data, gsize size, gboolean ahead);
/* Adds a name to the lost metadata, once. */
void fc_tags_lose(fc_tags *tags, const char *word);

/* The name of a text for a warning: "texts" if it is not printable. */
const char *fc_tag_text_title(const fc_tag_text *text);

/* `text` as UTF-8: invalid UTF-8 is read as Windows-1252. g_free; NULL when there is no
 * memory. */
char *fc_text_to_utf8(const char *text, gsize size);

/* The first nonempty text of this name, ignoring case, or NULL. */
const char *fc_tags_text(const fc_tags *tags, const char *name);

/* The one warning: `lost` (and what the tags have lost already) is not in the output `name`. */
void fc_tags_warn_lost(const fc_tags *tags, const fc_media_options *options, const char *name,
                       const GString *lost);

/* ---- the source that carries them ----------------------------------------- */

/* Every source of media/ begins with this. `base.free` is fc_file_source_free, which identifies it; it calls
 * `close`, and then frees name, tags and struct. */
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

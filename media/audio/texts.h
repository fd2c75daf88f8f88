/* SPDX-License-Identifier: MIT */
/*
 * texts.h - the texts in a sound's chunks and comments: libsndfile leaves out long ones, and what stands
 * behind them.
 */
#ifndef FC_MEDIA_TEXTS_H
#define FC_MEDIA_TEXTS_H

#include "media/audio/places.h"

G_BEGIN_DECLS

/* As AIFF has texts, libsndfile refuses files with one of this size. */
#define FC_AIFF_TEXTS    "NAME AUTH (c)  ANNO"
#define FC_AIFF_TEXT_MAX 8190

/* A text: `size` bytes without an end. `which` is libsndfile's number of it, or 0 where it has none; `name`
 * is what the chunk calls it, or NULL when that is no word. */
typedef void (*fc_text_found)(const char *name, int which, const char *text, gsize size, void *data);

/* Every text of a chunk as a file of `family` has it, that is not empty; of one with zeros in it each part,
 * as others have no more than one. */
void fc_texts_find(fc_family family, const fc_meta_chunk *chunk, fc_text_found found, void *data);

/* Whether a chunk of AIFF is the name of a program, as libsndfile writes one. */
gboolean fc_text_is_program(const fc_meta_chunk *chunk);

/* The same of a field of Vorbis comments, whose names are in capital letters then. */
void fc_texts_find_comment(const guint8 *field, gsize size, fc_text_found found, void *data);

/* The text that AU has ahead of its samples, in which some name the program: a comment elsewhere. */
void fc_texts_find_annotation(const fc_input *input, fc_text_found found, void *data);

/* As FLAC, Ogg and CAF want texts: what is no UTF-8 is taken for what Windows has in its place. g_free; NULL
 * when there is no memory. */
char *fc_text_to_utf8(const char *text);

/* "title", "comment"; static. */
const char *fc_text_name(int which);

G_END_DECLS

#endif

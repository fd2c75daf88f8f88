/* SPDX-License-Identifier: MIT */
/*
 * options.h - options of a file, as they follow its name: "photo.jpg:scale=1/4",
 * "out.webp:lossless:effort=6". What there is for a format says its table (formats.c).
 *
 *   file    = path *( ":" option )
 *   option  = key "=" value  |  key            (the latter is key=yes)
 *
 * In path and value "\:" is a colon. A path may also be quoted as a whole: 'a:b.wav':dtype=i16. A text
 * without a colon is a path as it stands, and so is, for reading, the name of a file that exists.
 */
#ifndef FC_MEDIA_OPTIONS_H
#define FC_MEDIA_OPTIONS_H

#include "core/contract/filterchain.h"

G_BEGIN_DECLS

/* Options that were given; NULL where there are none. */
typedef struct fc_given_options fc_given_options;

/* The path, to be freed with g_free, and what was given behind it. NULL with FC_INVALID for an empty path or
 * key. */
char *fc_given_options_parse(const char *file, gboolean reading, fc_given_options **options, GError **error);
void fc_given_options_free(fc_given_options *options); /* NULL is allowed */

/* FALSE with FC_INVALID unless all are given once, are in `table` (ended by a NULL key; or NULL, which is
 * empty) and have values that it allows. `name` and `title` of the file and its format are for the message.
 */
gboolean fc_given_options_check(const fc_given_options *options, const fc_file_option *table,
                                const char *name, const char *title, GError **error);

/* The value given for a key of the table, or the standard one; NULL (0, FALSE) where there is no such key. */
const char *fc_option_text(const fc_given_options *options, const fc_file_option *table, const char *key);
/* Of a range of integers. */
gint64 fc_option_number(const fc_given_options *options, const fc_file_option *table, const char *key);
/* Of "yes|no". */
gboolean fc_option_is_set(const fc_given_options *options, const fc_file_option *table, const char *key);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_given_options, fc_given_options_free)

G_END_DECLS

#endif

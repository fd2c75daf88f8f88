/* SPDX-License-Identifier: MIT */
/*
 * names.h - the names of a batch's outputs, by a pattern:
 *
 *   {name}   the input's, "a.b.jpg"          {stem}  without its extension, "a.b"
 *   {ext}    the extension, "jpg"            {dir}   its folder, see below
 *   {index}  its place in the batch, from 0  {shard} the number of an archive, from 0
 *
 * {index:06} has at least six digits. {dir} is the folder relative to the one that was named: of
 * "photos/x/a.jpg" "x", where -i was "photos" or a pattern whose part without wildcards is "photos"; of a
 * file that was itself named, its whole folder. No part of it is ".." or leads to the root: an output never
 * leaves the pattern's own folder. If it is empty, a following "/" is removed too.
 */
#ifndef FC_MEDIA_NAMES_H
#define FC_MEDIA_NAMES_H

#include "media/batch/inputs.h"

G_BEGIN_DECLS

/* The parts of a name. */
typedef struct fc_named {
  const char *path; /* of the input; NULL if only {shard} is used */
  gsize root;       /* as in fc_entry */
  gint64 index, shard;
} fc_named;

/* FALSE with FC_INVALID for an unknown word in braces, or one with digits that is not a number. */
gboolean fc_pattern_check(const char *pattern, GError **error);
/* Whether the pattern contains any of these words, or the given one. */
gboolean fc_pattern_is(const char *text);
gboolean fc_pattern_has(const char *pattern, const char *word);
/* The part before the first word, up to its last "/"; "" if there is none. */
char *fc_pattern_folder(const char *pattern);
/* g_free. */
char *fc_pattern_fill(const char *pattern, const fc_named *named);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * inputs.h - expands an input of a batch: a file, the files of a folder, those that match a pattern ("photos/
 * ** /x.jpg" without the blanks), or the lines of a list.
 *
 * The order is that of the arguments, and within one that of the bytes of the paths, independent of the file
 * system: so it is the same on every machine, and so are shards.
 */
#ifndef FC_MEDIA_INPUTS_H
#define FC_MEDIA_INPUTS_H

#include "media/file/media.h"

G_BEGIN_DECLS

typedef struct fc_entry {
  char *path;
  const char *options; /* options after it, with the first colon, or "" */
  guint32 root;        /* bytes of the path before the part that is {dir} */
  gboolean found;      /* found in a folder or by a pattern, not named directly */
} fc_entry;

typedef struct fc_inputs {
  GArray *entries;    /* of fc_entry */
  GPtrArray *options; /* the texts */
  gint64 skipped;     /* in folders: what is not media, or no file, and links to folders */
  gboolean searched;  /* there was a folder, a pattern or a list */
} fc_inputs;

/* Whether one of the arguments may name several files, or none. */
gboolean fc_input_is_search(const char *argument);

/*
 * FC_IO for a folder or list that cannot be read, or is empty; a folder below it that cannot be read is an
 * entry, whose run fails. In folders only media are taken: by extension or, without one, by their first
 * bytes; `all`: everything (the format is given). Hidden files, and links to folders, are skipped in folders
 * and by patterns. `recursive`: includes subfolders.
 */
gboolean fc_inputs_expand(fc_inputs *inputs, const char *const *arguments, gboolean recursive, gboolean all,
                          GError **error);
void fc_inputs_clear(fc_inputs *inputs);

/* In the form for fc_chain_run_file; g_free. */
char *fc_entry_text(const fc_entry *entry);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * inputs.h - what an input of a batch stands for: a file, the files of a folder, those that a pattern of
 * names
 * ("photos/ ** /x.jpg" without the blanks) matches, or the lines of a list.
 *
 * The order is that of the arguments, and within one that of the bytes of the paths, whatever the file system
 * says: so it is the same on every machine, and a shard of it too.
 */
#ifndef FC_MEDIA_INPUTS_H
#define FC_MEDIA_INPUTS_H

#include "media/file/media.h"

G_BEGIN_DECLS

typedef struct fc_entry {
  char *path;
  const char *options; /* that stand behind it, with the first colon, or "" */
  guint32 root;        /* bytes of the path ahead of what {dir} is */
  gboolean found;      /* in a folder or by a pattern, not named itself */
} fc_entry;

typedef struct fc_inputs {
  GArray *entries;    /* of fc_entry */
  GPtrArray *options; /* the texts */
  gint64 skipped;     /* files of folders that are no media */
  gboolean searched;  /* there was a folder, a pattern or a list */
} fc_inputs;

/* Whether one of the arguments may stand for several files, or for none. */
gboolean fc_input_is_search(const char *argument);

/*
 * FC_IO for a folder or list that cannot be read, or holds nothing. Of a folder only what is media is taken:
 * by its extension, or where it has none by its first bytes; `all`: everything (the format is given).
 * Hidden files and folders that are links are skipped below a folder and a pattern. `recursive`: folders
 * with what is below them.
 */
gboolean fc_inputs_expand(fc_inputs *inputs, const char *const *arguments, gboolean recursive, gboolean all,
                          GError **error);
void fc_inputs_clear(fc_inputs *inputs);

/* As fc_chain_run_file takes it; g_free. */
char *fc_entry_text(const fc_entry *entry);

G_END_DECLS

#endif

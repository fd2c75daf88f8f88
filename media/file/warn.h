/* SPDX-License-Identifier: MIT */
/*
 * warn.h - warnings of media/, and the list of what an output leaves out.
 */
#ifndef FC_MEDIA_WARN_H
#define FC_MEDIA_WARN_H

#include "media/file/media.h"

G_BEGIN_DECLS

/* The end of an error about a truncated file. */
#define FC_MEDIA_ADVICE "; --allow-truncated uses the readable part"

/* A warning through the log of the options: one line that starts with the file. */
void fc_media_warn(const fc_media_options *options, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* A truncated file: an error, or with --allow-truncated a warning. */
gboolean fc_media_judge(const fc_media_options *options, const char *name, const char *fault, GError **error);
/* A message for -v. */
void fc_media_note(const fc_media_options *options, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Appends a word to a comma-separated list unless it is there already; a list that grew long ends in "and
 * more". */
void fc_media_add_word(GString *words, const char *word);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * formats.h - the table of formats: for each its names, the library behind it, its options, and the
 * functions of media/ that open and create such files.
 */
#ifndef FC_MEDIA_FORMATS_H
#define FC_MEDIA_FORMATS_H

#include "media/file/internal.h"

G_BEGIN_DECLS

/* "wav, rf64, ... or raw": what may be read, or written; g_free. */
char *fc_format_names(gboolean writing);

/* Behind the last dot of the last part of a path; NULL when there is none. */
const char *fc_extension_of(const char *path);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what the fuzz targets share. A target is one file, fuzz_x.c, that defines
 * LLVMFuzzerTestOneInput; libFuzzer drives it (-Dfuzz=true), and replay.c runs it over
 * the inputs kept in seeds/x in every build.
 *
 * A target must do the same for the same input, whatever it was given before.
 */
#ifndef FC_TESTS_FUZZ_FUZZ_H
#define FC_TESTS_FUZZ_FUZZ_H

#include "media/file/media.h"

G_BEGIN_DECLS

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size);

/* A file in memory with this content; its path, valid until the next call. */
const char *fuzz_file(const guint8 *data, gsize size);

/* The same through a pipe, to be read once; no more than a pipe holds. */
const char *fuzz_pipe(const guint8 *data, gsize size);

/* A file descriptor path to write to that keeps nothing. */
const char *fuzz_sink(void);

/* Options that say nothing to anybody. */
fc_media_options fuzz_options(void);

/*
 * Reads a source to its end, at most `most` elements, in pieces, and frees it; NULL is
 * allowed. Ends the process where the source breaks the promises of core/context/stream.h. The
 * elements go to `sink` too unless that is NULL, which is committed and freed.
 */
void fuzz_read(fc_source *source, fc_sink *sink, gint64 most);

/* A context with all operators of this build that opens no file, where the name of a table
 * stands for a small one; the same for the whole process. */
fc_context *fuzz_context(void);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * codecs.h - keeps to itself what a codec or a plugin writes to stderr or stdout on its own account.
 *
 * libsndfile does not tell libmpg123 to be quiet, which then has a line for everything odd in an MP3 file,
 * also where nothing is wrong with the result. What is wrong is said by us, in a line that names the file.
 */
#ifndef FC_CLI_CODECS_H
#define FC_CLI_CODECS_H

#include <stdio.h>

/* Once, before there are threads. Does nothing where the C library does not let stderr be replaced. */
void codecs_silence(void);

/* Between these nothing is printed on stdout, where libsndfile's ALAC has a word for odd packet tables: it
 * would come in between samples that go there, or results. For as long as files are open; they do not nest.
 */
void codecs_hold_stdout(void);
void codecs_release_stdout(void);
/* Where results go meanwhile: the real one. */
FILE *codecs_stdout(void);

/* The same while plugins are opened and asked what they hold, before a run: then the descriptor itself leads
 * nowhere, so that nothing gets past stdio. */
void plugins_hold_stdout(void);
void plugins_release_stdout(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * codecs.h - suppresses what codecs and plugins print to stderr or stdout.
 *
 * libsndfile does not silence libmpg123, which prints a line for everything unusual in an MP3 file, even if
 * the result is correct. We report real problems ourselves, in a line that names the file.
 */
#ifndef FC_CLI_CODECS_H
#define FC_CLI_CODECS_H

#include <stdio.h>

/* Once, before there are threads. Does nothing if the C library does not allow stderr to be replaced. */
void codecs_silence(void);

/* Between these calls nothing is printed on stdout, where libsndfile's ALAC decoder prints messages about
 * unusual packet tables, which would corrupt samples or results written there. To be used while files are
 * open; not nested. */
void codecs_hold_stdout(void);
void codecs_release_stdout(void);
/* The real stdout meanwhile, for results. */
FILE *codecs_stdout(void);

/* The same while plugins are opened and read, before a run: the descriptor itself is redirected to
 * /dev/null, so that output which bypasses stdio is suppressed too. */
void plugins_hold_stdout(void);
void plugins_release_stdout(void);

#endif

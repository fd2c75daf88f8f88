/* SPDX-License-Identifier: MIT */
/*
 * images.h - what tests of images share: chunks of PNG files, and the warnings about what accompanies pixels.
 */
#ifndef FC_TESTS_MEDIA_IMAGES_H
#define FC_TESTS_MEDIA_IMAGES_H

#include "tests/media/support.h"

/* Whether the build has these; stb_image, which reads PNG and JPEG without them, notices less of what is
 * damaged. */
#ifdef FC_WITH_SPNG
#define HAS_SPNG TRUE
#else
#define HAS_SPNG FALSE
#endif
#ifdef FC_WITH_TURBOJPEG
#define HAS_TURBOJPEG TRUE
#else
#define HAS_TURBOJPEG FALSE
#endif

void assert_open_fails(const char *path, int code, const char *message);
void put_big(GByteArray *to, guint32 value, int size);
/* A chunk of a PNG file. */
void put_chunk(GByteArray *to, const char *type, const void *data, gsize size);
gboolean contains(const char *path, const void *what, gsize size);
/* The warning of a copy without the names of the files, or ""; g_free. */
char *copy_saying(const char *in, const char *out);
void assert_copy_says(const char *in, const char *out, const char *expected);

#endif

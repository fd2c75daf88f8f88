/* SPDX-License-Identifier: MIT */
/*
 * fuzz_report.c - what the decoder's child says, from a child that says anything. The
 * input: width and height expected (two bytes each), and the shared memory.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "media/image/decoder/child.h"

/* The pixels that were believed in lie where they may be read. */
static void check_picture(const fc_picture *p, const char *shared, gsize size, const fc_image_header *header,
                          int scale) {
  g_assert_true(p->width == (header->width + scale - 1) / scale &&
                p->height == (header->height + scale - 1) / scale);
  g_assert_true(p->channels >= 1 && p->channels <= 4 && !p->memory);
  gsize bytes = (gsize)(p->width * p->height * p->channels) * fc_dtype_size(p->dtype);
  const char *pixels = p->pixels;
  g_assert_true(pixels > shared && pixels <= shared + size && bytes <= (gsize)(shared + size - pixels));
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  if (size < 4) return 0;
  const fc_image_header header = {
      .width = 1 + data[0] + 256 * data[1], .height = 1 + data[2] + 256 * (data[3] & 63), .orientation = 1};
  const fc_decode_wish wish = {.scale = 1 << (data[3] >> 6), .lenient = size % 2};
  gsize shared_size = MAX(size - 4, FC_DECODE_REPORT_SIZE);
  char *shared = g_malloc0(shared_size);
  memcpy(shared, data + 4, size - 4);
  fc_picture picture = {0};
  g_autofree char *warning = NULL;
  g_autoptr(GError) error = NULL;
  if (fc_image_take_report("image", shared, shared_size, &header, &wish, &picture, &warning, &error))
    check_picture(&picture, shared, shared_size, &header, wish.scale);
  else
    g_assert_null(strchr(error->message, '\n'));
  g_free(shared);
  return 0;
}

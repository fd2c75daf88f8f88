/* SPDX-License-Identifier: MIT */
/*
 * png.c - PNG by libspng, which checks the CRC of every chunk that it reads (header.c checks the others).
 *
 * Samples of 1, 2 and 4 bits and palettes become 8 bits; tRNS becomes an alpha channel. Rows are decoded one
 * by one, so that the available rows of a truncated file are kept.
 */
#include <spng.h>
#include <string.h>

#include "media/file/bytes.h"
#include "media/image/decoder/codec.h"

typedef struct png_form {
  int channels, bits;
  int format, flags; /* of spng_decode_image */
} png_form;

static png_form form_of(const struct spng_ihdr *header, gboolean transparent) {
  const gboolean wide = header->bit_depth == 16;
  const int bits = wide ? 16 : 8, flags = transparent ? SPNG_DECODE_TRNS : 0;
  switch (header->color_type) {
  case SPNG_COLOR_TYPE_GRAYSCALE:
    if (transparent) return (png_form){2, bits, wide ? SPNG_FMT_GA16 : SPNG_FMT_GA8, flags};
    return (png_form){1, bits, wide ? SPNG_FMT_PNG : SPNG_FMT_G8, 0};
  case SPNG_COLOR_TYPE_INDEXED:
    return (png_form){transparent ? 4 : 3, 8, transparent ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8, flags};
  case SPNG_COLOR_TYPE_TRUECOLOR:
    if (transparent) return (png_form){4, bits, wide ? SPNG_FMT_RGBA16 : SPNG_FMT_RGBA8, flags};
    return (png_form){3, bits, wide ? SPNG_FMT_PNG : SPNG_FMT_RGB8, 0};
  case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA: return (png_form){2, bits, SPNG_FMT_PNG, 0};
  default: return (png_form){4, bits, SPNG_FMT_PNG, 0};
  }
}

/* The file without chunks that do not concern the pixels, and which this process must not unpack. */
typedef struct png_stream {
  const guint8 *file;
  gsize size, at, end; /* data returned so far, up to the end of the chunk, where the next one begins */
} png_stream;

static gsize chunk_end(const png_stream *s, gsize at) {
  gsize length = (gsize)fc_big(s->file + at, 4);
  return length <= s->size - at - 8 && s->size - at - 8 - length >= 4 ? at + 12 + length : s->size;
}

/* Advances to the next chunk that is needed. */
static gboolean step(png_stream *s) {
  while (s->size - s->end >= 8) {
    const guint8 *type = s->file + s->end + 4;
    s->at = s->end;
    s->end = chunk_end(s, s->at);
    if (!(type[0] & 32) || memcmp(type, "tRNS", 4) == 0) return TRUE;
  }
  s->at = s->end;
  return FALSE;
}

static int read_bytes(spng_ctx *png, void *stream, void *to, size_t size) {
  png_stream *s = stream;
  while (size) {
    if (s->at == s->end && !step(s)) return SPNG_IO_EOF;
    gsize some = MIN(size, s->end - s->at);
    memcpy(to, s->file + s->at, some);
    s->at += some, to = (guint8 *)to + some, size -= some;
  }
  return 0;
}

/* libspng's code for the end of the file, or the error. */
static int decode_rows(spng_ctx *png, const fc_decode_task *task, const png_form *form) {
  int status = spng_decode_image(png, NULL, 0, form->format, form->flags | SPNG_DECODE_PROGRESSIVE);
  const gsize row = (gsize)task->width * (gsize)(form->channels * form->bits / 8);
  struct spng_row_info at;
  while (!status) {
    status = spng_get_row_info(png, &at);
    if (!status) status = spng_decode_row(png, task->pixels + at.row_num * row, row);
  }
  return status == SPNG_EOI ? spng_decode_chunks(png) : status;
}

static gboolean decode(spng_ctx *png, const fc_decode_task *task, fc_decode_report *report) {
  struct spng_ihdr header;
  struct spng_trns transparency;
  spng_set_crc_action(png, SPNG_CRC_ERROR, SPNG_CRC_ERROR);
  spng_set_image_limits(png, FC_IMAGE_SIDE_MAX, FC_IMAGE_SIDE_MAX);
  png_stream stream = {task->file, task->size, 0, 8}; /* the signature, and then chunks */
  int status = spng_set_png_stream(png, read_bytes, &stream);
  if (!status) status = spng_get_ihdr(png, &header);
  if (status) return fc_decode_fail(report, FC_CORRUPTED, spng_strerror(status));
  int found = spng_get_trns(png, &transparency);
  if (found && found != SPNG_ECHUNKAVAIL) return fc_decode_fail(report, FC_CORRUPTED, spng_strerror(found));
  const png_form form = form_of(&header, !found);
  if (!fc_decode_shape(task, report, header.width, header.height, form.channels, form.bits)) return FALSE;
  status = decode_rows(png, task, &form);
  if (!status) return TRUE;
  if (status == SPNG_EMEM) return fc_decode_fail(report, FC_CORRUPTED, "out of memory");
  fc_decode_fail(report, status == SPNG_IO_EOF ? FC_CUT_OFF : FC_CORRUPTED_IN_PARTS, spng_strerror(status));
  return task->lenient;
}

gboolean fc_decode_png(const fc_decode_task *task, fc_decode_report *report) {
  spng_ctx *png = spng_ctx_new(0);
  if (!png) return fc_decode_fail(report, FC_CORRUPTED, "out of memory");
  gboolean done = decode(png, task, report);
  spng_ctx_free(png);
  return done;
}

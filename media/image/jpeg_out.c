/* SPDX-License-Identifier: MIT */
/*
 * jpeg_out.c - JPEG by libjpeg-turbo, grey or RGB, written as the encoder produces it. Metadata are inserted
 * after the JFIF segment at the beginning of the file.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include "media/file/blob.h"
#include "media/file/bytes.h"
#include "media/file/output.h"
#include "media/image/image.h"

typedef struct jpeg_writer {
  struct jpeg_compress_struct jpeg; /* first, so that callbacks find the rest */
  struct jpeg_error_mgr errors;
  struct jpeg_destination_mgr to;
  jmp_buf out;
  struct fc_output *output;
  GError **error;
  char said[JMSG_LENGTH_MAX]; /* the encoder's error; "": the output failed */
  guint8 block[65536];
} jpeg_writer;

static void stop(j_common_ptr jpeg) {
  jpeg_writer *writer = (jpeg_writer *)jpeg;
  jpeg->err->format_message(jpeg, writer->said);
  longjmp(writer->out, 1);
}

static void print_nothing(j_common_ptr jpeg) {}

static void begin_block(j_compress_ptr jpeg) {
  jpeg_writer *writer = (jpeg_writer *)jpeg;
  writer->to.next_output_byte = writer->block;
  writer->to.free_in_buffer = sizeof writer->block;
}

static void write_or_stop(jpeg_writer *writer, const void *from, gsize size) {
  if (!fc_output_write(writer->output, from, size, writer->error)) longjmp(writer->out, 1);
}

static void write_rest(j_compress_ptr jpeg) {
  jpeg_writer *writer = (jpeg_writer *)jpeg;
  write_or_stop(writer, writer->block, sizeof writer->block - writer->to.free_in_buffer);
  begin_block(jpeg);
}

/* A full block, regardless of the counter. */
static boolean write_block(j_compress_ptr jpeg) {
  jpeg_writer *writer = (jpeg_writer *)jpeg;
  write_or_stop(writer, writer->block, sizeof writer->block);
  begin_block(jpeg);
  return TRUE;
}

/* The number of luma columns and rows per chroma sample. */
static void set_subsampling(struct jpeg_compress_struct *jpeg, const fc_encode_settings *settings) {
  static const struct {
    const char *name;
    int columns, rows;
  } kinds[] = {{"444", 1, 1}, {"422", 2, 1}, {"420", 2, 2}};
  gsize kind = settings->quality > 90 ? 0 : 2;
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (strcmp(kinds[i].name, settings->subsampling) == 0) kind = i;
  jpeg->comp_info[0].h_samp_factor = kinds[kind].columns;
  jpeg->comp_info[0].v_samp_factor = kinds[kind].rows;
}

static void begin(jpeg_writer *writer, const fc_picture *p, const fc_encode_settings *settings,
                  const fc_encode_metadata *metadata) {
  struct jpeg_compress_struct *jpeg = &writer->jpeg;
  static const guint8 none[5];
  jpeg_create_compress(jpeg);
  writer->to = (struct jpeg_destination_mgr){
      .init_destination = begin_block, .empty_output_buffer = write_block, .term_destination = write_rest};
  jpeg->dest = &writer->to;
  jpeg->image_width = (guint)p->width, jpeg->image_height = (guint)p->height;
  jpeg->input_components = p->channels;
  jpeg->in_color_space = p->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(jpeg);
  jpeg_set_quality(jpeg, settings->quality, TRUE);
  if (p->channels == 3) set_subsampling(jpeg, settings);
  if (settings->progressive) jpeg_simple_progression(jpeg);
  if (memcmp(metadata->jfif, none, sizeof none) != 0) {
    jpeg->density_unit = metadata->jfif[0];
    jpeg->X_density = (UINT16)fc_big(metadata->jfif + 1, 2);
    jpeg->Y_density = (UINT16)fc_big(metadata->jfif + 3, 2);
  }
  jpeg_start_compress(jpeg, TRUE);
  write_rest(jpeg);
  write_or_stop(writer, metadata->pieces.data, metadata->pieces.size);
}

static gboolean encode(jpeg_writer *writer, const fc_picture *p, const fc_encode_settings *settings,
                       const fc_encode_metadata *metadata) {
  struct jpeg_compress_struct *jpeg = &writer->jpeg;
  const gsize row = (gsize)p->width * (gsize)p->channels;
  if (setjmp(writer->out)) return FALSE;
  begin(writer, p, settings, metadata);
  while (jpeg->next_scanline < jpeg->image_height) {
    JSAMPROW at = (JSAMPROW)p->pixels + jpeg->next_scanline * row;
    jpeg_write_scanlines(jpeg, &at, 1);
  }
  jpeg_finish_compress(jpeg);
  return TRUE;
}

gboolean fc_encode_jpeg(const char *name, struct fc_output *output, const fc_picture *p,
                        const fc_encode_settings *settings, const fc_encode_metadata *metadata,
                        GError **error) {
  g_autofree jpeg_writer *writer = g_try_new0(jpeg_writer, 1);
  if (!writer) return fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", name);
  writer->output = output;
  writer->error = error;
  writer->jpeg.err = jpeg_std_error(&writer->errors);
  writer->errors.error_exit = stop;
  writer->errors.output_message = print_nothing;
  const gboolean done = encode(writer, p, settings, metadata);
  jpeg_destroy_compress(&writer->jpeg);
  if (writer->said[0]) fc_fail(error, FC_IO, "%s: cannot be encoded: %s", name, writer->said);
  return done;
}

/* SPDX-License-Identifier: MIT */
/* tiff_out.c - TIFF of 8 and 16 bits by libtiff, made in memory. */
#include <string.h>
#include <tiffio.h>

#include "media/file/blob.h"
#include "media/file/output.h"
#include "media/image/image.h"

const fc_file_option fc_tiff_writing[] = {{"compression", "none|lzw|deflate", "deflate", "all are lossless"},
                                          {NULL, NULL, NULL, NULL}};

/* ---- a file in memory ---------------------------------------------------- */

typedef struct memory_file {
  fc_blob bytes;
  toff_t at;
} memory_file;

static tsize_t read_bytes(thandle_t handle, tdata_t to, tsize_t size) {
  memory_file *m = handle;
  tsize_t left = m->at < m->bytes.size ? (tsize_t)(m->bytes.size - m->at) : 0, some = MIN(size, left);
  if (some > 0) memcpy(to, m->bytes.data + m->at, (gsize)some);
  m->at += (toff_t)MAX(some, 0);
  return some;
}

static tsize_t write_bytes(thandle_t handle, tdata_t from, tsize_t size) {
  memory_file *m = handle;
  const toff_t end = m->at + (toff_t)size;
  const gsize more = end > m->bytes.size ? end - m->bytes.size : 0, before = m->bytes.size;
  guint8 *grown = more ? fc_blob_grow(&m->bytes, more) : NULL;
  if (more && !grown) return 0;
  if (m->at > before) memset(m->bytes.data + before, 0, m->at - before);
  memcpy(m->bytes.data + m->at, from, (gsize)size);
  m->at = end;
  return size;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
  memory_file *m = handle;
  m->at = offset + (whence == SEEK_CUR ? m->at : whence == SEEK_END ? m->bytes.size : 0);
  return m->at;
}

static int close_file(thandle_t handle) {
  return 0;
}

static toff_t size_of(thandle_t handle) {
  return ((memory_file *)handle)->bytes.size;
}

/* ---- fields ---------------------------------------------------------------- */

static void set_blob(TIFF *tiff, ttag_t tag, const fc_blob *blob) {
  if (blob->size) TIFFSetField(tiff, tag, (uint32_t)blob->size, blob->data);
}

static void set_metadata(TIFF *tiff, const fc_encode_metadata *with) {
  set_blob(tiff, TIFFTAG_ICCPROFILE, &with->icc);
  set_blob(tiff, TIFFTAG_XMLPACKET, &with->xmp);
  if (with->comment.size) {
    g_autofree char *text = g_strndup((const char *)with->comment.data, with->comment.size);
    TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, text);
  }
  if (with->per_inch_x <= 0 || with->per_inch_y <= 0) return;
  TIFFSetField(tiff, TIFFTAG_XRESOLUTION, with->per_inch_x);
  TIFFSetField(tiff, TIFFTAG_YRESOLUTION, with->per_inch_y);
  TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
}

static void set_form(TIFF *tiff, const fc_picture *p, const fc_encode_settings *settings) {
  const uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
  const uint16_t compression = strcmp(settings->compression, "lzw") == 0    ? COMPRESSION_LZW
                               : strcmp(settings->compression, "none") == 0 ? COMPRESSION_NONE
                                                                            : COMPRESSION_ADOBE_DEFLATE;
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, (uint32_t)p->width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, (uint32_t)p->height);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, p->channels);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, p->dtype == FC_U16 ? 16 : 8);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, p->channels < 3 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
  if (compression != COMPRESSION_NONE) TIFFSetField(tiff, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(tiff, 0));
  if (p->channels % 2 == 0) TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
}

static gboolean write_rows(TIFF *tiff, const fc_picture *p) {
  const gsize row = (gsize)p->width * (gsize)p->channels * fc_dtype_size(p->dtype);
  g_autofree guint8 *copy = g_try_malloc(row); /* the predictor works in place */
  if (!copy) return FALSE;
  for (gint64 y = 0; y < p->height; y++) {
    memcpy(copy, (const guint8 *)p->pixels + (gsize)y * row, row);
    if (TIFFWriteScanline(tiff, copy, (uint32_t)y, 0) != 1) return FALSE;
  }
  return TIFFWriteDirectory(tiff) == 1;
}

gboolean fc_encode_tiff(const char *name, struct fc_output *output, const fc_picture *p,
                        const fc_encode_settings *settings, const fc_encode_metadata *metadata,
                        GError **error) {
  memory_file file = {0};
  TIFFSetErrorHandler(NULL);
  TIFFSetWarningHandler(NULL);
  TIFF *tiff =
      TIFFClientOpen(name, "w", &file, read_bytes, write_bytes, seek, close_file, size_of, NULL, NULL);
  gboolean made = tiff != NULL;
  if (tiff) {
    set_form(tiff, p, settings);
    set_metadata(tiff, metadata);
    made = write_rows(tiff, p);
    TIFFClose(tiff);
  }
  if (!made || file.bytes.failed) fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", name);
  gboolean done =
      made && !file.bytes.failed && fc_output_write(output, file.bytes.data, file.bytes.size, error);
  fc_blob_clear(&file.bytes);
  return done;
}

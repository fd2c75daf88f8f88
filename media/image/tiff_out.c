/* SPDX-License-Identifier: MIT */
/* tiff_out.c - TIFF of 8 and 16 bits by libtiff, made in memory. */
#include <string.h>
#include <sys/mman.h>
#include <tiffio.h>
#include <unistd.h>

#include "media/file/blob.h"
#include "media/file/output.h"
#include "media/image/exif.h"
#include "media/image/image.h"

const fc_file_option fc_tiff_writing[] = {{"compression", "none|lzw|deflate", "deflate", "all are lossless"},
                                          {NULL, NULL, NULL, NULL}};

/* ---- fields ---------------------------------------------------------------- */

static void set_blob(TIFF *tiff, ttag_t tag, const fc_blob *blob) {
  if (blob->size) TIFFSetField(tiff, tag, (uint32_t)blob->size, blob->data);
}

/* FALSE when there is no memory. */
static gboolean set_metadata(TIFF *tiff, const fc_encode_metadata *with) {
  set_blob(tiff, TIFFTAG_ICCPROFILE, &with->icc);
  set_blob(tiff, TIFFTAG_XMLPACKET, &with->xmp);
  if (with->comment.size) {
    g_autofree char *text = g_try_malloc0(with->comment.size + 1);
    if (!text) return FALSE;
    memcpy(text, with->comment.data, with->comment.size);
    TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, text);
  }
  if (with->per_inch_x <= 0 || with->per_inch_y <= 0) return TRUE;
  TIFFSetField(tiff, TIFFTAG_XRESOLUTION, with->per_inch_x);
  TIFFSetField(tiff, TIFFTAG_YRESOLUTION, with->per_inch_y);
  TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
  return TRUE;
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

/* A file in memory, since libtiff seeks back to its beginning. It begins with the EXIF data, whose offsets so
 * hold as they are; libtiff replaces their header, and what it writes follows them, in their byte order. */
static gboolean make(const char *name, int file, const fc_picture *p, const fc_encode_settings *settings,
                     const fc_encode_metadata *metadata) {
  const fc_blob *exif = &metadata->exif;
  TIFFSetErrorHandler(NULL);
  TIFFSetWarningHandler(NULL);
  if (exif->size && pwrite(file, exif->data, exif->size, 0) != (ssize_t)exif->size) return FALSE;
  const int own = dup(file); /* closed by libtiff */
  TIFF *tiff = own < 0 ? NULL : TIFFFdOpen(own, name, exif->size && exif->data[0] == 'M' ? "wb" : "wl");
  if (!tiff && own >= 0) close(own);
  if (!tiff) return FALSE;
  set_form(tiff, p, settings);
  const gboolean made = set_metadata(tiff, metadata) && write_rows(tiff, p);
  TIFFClose(tiff);
  return made;
}

gboolean fc_encode_tiff(const char *name, struct fc_output *output, const fc_picture *p,
                        const fc_encode_settings *settings, const fc_encode_metadata *metadata,
                        GError **error) {
  g_auto(fc_blob) directory = {0};
  const int file = memfd_create("filterchain-tiff", MFD_CLOEXEC);
  const gboolean made = file >= 0 && make(name, file, p, settings, metadata);
  const off_t size = made ? lseek(file, 0, SEEK_END) : 0;
  void *bytes = size > 0 ? mmap(NULL, (gsize)size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0) : MAP_FAILED;
  if (bytes != MAP_FAILED) fc_exif_into_tiff(bytes, (gsize)size, &metadata->exif, &directory);
  const gboolean done = bytes != MAP_FAILED && !directory.failed
                            ? fc_output_write(output, bytes, (gsize)size, error) &&
                                  fc_output_write(output, directory.data, directory.size, error)
                            : fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", name);
  if (bytes != MAP_FAILED) munmap(bytes, (gsize)size);
  if (file >= 0) close(file);
  return done;
}

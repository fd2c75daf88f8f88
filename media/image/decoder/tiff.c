/* SPDX-License-Identifier: MIT */
/*
 * tiff.c - TIFF by libtiff, its first page. Grey and RGB of 8 and 16 bits, with or without alpha, are read
 * directly, from strips or tiles; other kinds that libtiff supports (palettes, fewer bits, YCbCr, CMYK) are
 * converted by it to grey, RGB or RGBA of 8 bits.
 */
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "media/image/decoder/codec.h"

/* ---- the file in memory ---------------------------------------------------- */

typedef struct memory_file {
  const guint8 *bytes;
  toff_t size, at;
} memory_file;

static tsize_t read_bytes(thandle_t handle, tdata_t to, tsize_t size) {
  memory_file *m = handle;
  toff_t left = m->at < m->size ? m->size - m->at : 0, some = (toff_t)size < left ? (toff_t)size : left;
  memcpy(to, m->bytes + (left ? m->at : 0), some);
  m->at += some;
  return (tsize_t)some;
}

static tsize_t write_nothing(thandle_t handle, tdata_t from, tsize_t size) {
  return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
  memory_file *m = handle;
  m->at = offset + (whence == SEEK_CUR ? m->at : whence == SEEK_END ? m->size : 0);
  return m->at;
}

static int close_file(thandle_t handle) {
  return 0;
}

static toff_t size_of(thandle_t handle) {
  return ((memory_file *)handle)->size;
}

static int map_file(thandle_t handle, tdata_t *base, toff_t *size) {
  memory_file *m = handle;
  *base = (tdata_t)m->bytes, *size = m->size;
  return 1;
}

static void unmap_file(thandle_t handle, tdata_t base, toff_t size) {}

/* A tile may be larger than a small picture; this size is usual, and a much larger one is an error in the
 * file. */
#define TILE_MOST ((gsize)16 << 20)

/* ---- samples as they are ----------------------------------------------------- */

typedef struct tiff_form {
  uint32_t width, height;
  uint16_t channels, bits, sample_format, photometric, planar;
  gsize pixel, row; /* bytes */
} tiff_form;

static tiff_form form_of(TIFF *tiff) {
  tiff_form f = {0};
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &f.width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &f.height);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &f.channels);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &f.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &f.sample_format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &f.planar);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &f.photometric);
  f.pixel = (gsize)f.channels * f.bits / 8;
  f.row = f.width * f.pixel;
  return f;
}

static gboolean is_plain(const tiff_form *f) {
  const gboolean grey = f->photometric == PHOTOMETRIC_MINISBLACK && (f->channels == 1 || f->channels == 2),
                 rgb = f->photometric == PHOTOMETRIC_RGB && (f->channels == 3 || f->channels == 4);
  return (grey || rgb) && (f->bits == 8 || f->bits == 16) && f->sample_format == SAMPLEFORMAT_UINT &&
         (f->planar == PLANARCONFIG_CONTIG || f->channels == 1);
}

static gboolean read_strips(TIFF *tiff, const tiff_form *f, const fc_decode_task *task) {
  uint32_t rows = f->height;
  gboolean whole = TRUE;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows);
  if (!rows) return FALSE;
  for (uint32_t y = 0; y < f->height; y += rows) {
    const uint32_t some = rows < f->height - y ? rows : f->height - y;
    const tsize_t size = (tsize_t)(some * f->row);
    whole &=
        TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, y, 0), task->pixels + y * f->row, size) == size;
    if (rows >= f->height - y) break;
  }
  return whole;
}

static gboolean read_tiles(TIFF *tiff, const tiff_form *f, const fc_decode_task *task) {
  uint32_t width = 0, height = 0;
  const tsize_t size = TIFFTileSize(tiff);
  gboolean whole = TRUE;
  TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height);
  if (!width || !height || size <= 0 || (gsize)size / f->pixel / width < height) return FALSE;
  if ((gsize)size > TILE_MOST + 4 * task->room) return FALSE;
  guint8 *tile = calloc(1, (gsize)size);
  if (!tile) return FALSE;
  for (gsize y = 0; y < f->height; y += height)
    for (gsize x = 0; x < f->width; x += width) {
      whole &= TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, (uint32_t)x, (uint32_t)y, 0, 0), tile, size) ==
               size;
      const gsize columns = f->width - x < width ? f->width - x : width,
                  rows = f->height - y < height ? f->height - y : height;
      for (gsize i = 0; i < rows; i++)
        memcpy(task->pixels + (y + i) * f->row + x * f->pixel, tile + i * width * f->pixel,
               columns * f->pixel);
    }
  free(tile);
  return whole;
}

/* ---- samples that libtiff converts -------------------------------------------- */

/* Grey pages with one channel, such as black and white ones, stay so. */
static int converted_channels(TIFF *tiff, const tiff_form *f) {
  uint16_t count = 0, *kinds = NULL;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds);
  if (count > 0 && kinds[0] != EXTRASAMPLE_UNSPECIFIED) return 4;
  return f->photometric == PHOTOMETRIC_MINISBLACK || f->photometric == PHOTOMETRIC_MINISWHITE ? 1 : 3;
}

static gboolean read_converted(TIFF *tiff, const tiff_form *f, const fc_decode_task *task, int channels) {
  const gsize pixels = (gsize)f->width * f->height;
  uint32_t *rgba = calloc(pixels, sizeof *rgba);
  if (!rgba) return FALSE;
  /* In the order of the file: the caller, which knows the orientation, turns it. */
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  gboolean whole = TIFFReadRGBAImageOriented(tiff, f->width, f->height, rgba, ORIENTATION_TOPLEFT, 1) == 1;
  for (gsize i = 0; i < pixels; i++) {
    const guint8 pixel[4] = {TIFFGetR(rgba[i]), TIFFGetG(rgba[i]), TIFFGetB(rgba[i]), TIFFGetA(rgba[i])};
    memcpy(task->pixels + i * (gsize)channels, pixel, (gsize)channels);
  }
  free(rgba);
  return whole;
}

/* ---- all ------------------------------------------------------------------------ */

static gboolean decode(TIFF *tiff, const fc_decode_task *task, fc_decode_report *report) {
  char words[1024];
  const tiff_form f = form_of(tiff);
  const gboolean plain = is_plain(&f);
  const int channels = plain ? f.channels : converted_channels(tiff, &f);
  if (!plain && !TIFFRGBAImageOK(tiff, words)) return fc_decode_fail(report, FC_CORRUPTED, words);
  if (!fc_decode_shape(task, report, f.width, f.height, channels, plain ? f.bits : 8)) return FALSE;
  gboolean whole = !plain              ? read_converted(tiff, &f, task, channels)
                   : TIFFIsTiled(tiff) ? read_tiles(tiff, &f, task)
                                       : read_strips(tiff, &f, task);
  if (whole) return TRUE;
  fc_decode_fail(report, FC_CORRUPTED_IN_PARTS, "some of its strips or tiles cannot be decoded");
  return task->lenient;
}

gboolean fc_decode_tiff(const fc_decode_task *task, fc_decode_report *report) {
  memory_file file = {.bytes = task->file, .size = task->size};
  TIFFSetErrorHandler(NULL);
  TIFFSetWarningHandler(NULL);
  TIFF *tiff = TIFFClientOpen("image", "r", &file, read_bytes, write_nothing, seek, close_file, size_of,
                              map_file, unmap_file);
  if (!tiff) return fc_decode_fail(report, FC_CORRUPTED, "its directory cannot be read");
  gboolean done = decode(tiff, task, report);
  TIFFClose(tiff);
  return done;
}

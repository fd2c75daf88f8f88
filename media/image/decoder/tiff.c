/* SPDX-License-Identifier: MIT */
/*
 * tiff.c - TIFF by libtiff, its first page. Grey and RGB of 8 and 16 bits, with or without alpha, are read
 * directly, from strips or tiles, with samples together or apart; further channels are left out. Other kinds
 * that libtiff supports (palettes, fewer bits, YCbCr, CMYK) are converted by it to grey, RGB or RGBA of 8
 * bits.
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

/* A strip or tile may be larger than a small picture; this size is usual, and a much larger one is an error
 * in the file. */
#define BLOCK_MOST ((gsize)16 << 20)

/* ---- samples as they are ----------------------------------------------------- */

/* How samples lie in the file, and the first `channels` of each pixel, which are read. */
typedef struct tiff_form {
  uint32_t width, height;
  uint16_t samples, bits, sample_format, photometric, planar;
  int colors, channels;             /* with alpha there is one channel more than colours */
  gboolean inverted, premultiplied; /* 0 is white; colours are weighed by alpha */
} tiff_form;

/* Where the file does not say it. libtiff, which takes 0 as white then, adds channels beyond the first to
 * those of which nothing is known. */
static uint16_t guess_photometric(uint16_t samples, uint16_t extras, const uint16_t *kinds) {
  int known = 0;
  for (uint16_t i = 0; i < extras; i++) known += kinds[i] != EXTRASAMPLE_UNSPECIFIED;
  return samples >= known + 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
}

static tiff_form form_of(TIFF *tiff) {
  uint16_t extras = 0, *kinds = NULL;
  tiff_form f = {0};
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &f.width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &f.height);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &f.samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &f.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &f.sample_format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &f.planar);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &extras, &kinds);
  if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &f.photometric))
    f.photometric = guess_photometric(f.samples, extras, kinds);
  f.colors = f.photometric == PHOTOMETRIC_RGB ? 3 : 1;
  /* A single channel of which nothing is said is taken for alpha, as many programs write it. */
  const uint16_t kind = extras ? kinds[0] : EXTRASAMPLE_UNSPECIFIED;
  const gboolean alpha =
      f.samples == f.colors + 1 || (f.samples > f.colors && kind != EXTRASAMPLE_UNSPECIFIED);
  f.channels = f.colors + alpha;
  f.inverted = f.photometric == PHOTOMETRIC_MINISWHITE;
  f.premultiplied = alpha && kind == EXTRASAMPLE_ASSOCALPHA;
  return f;
}

static gboolean is_plain(const tiff_form *f) {
  return (f->photometric == PHOTOMETRIC_MINISBLACK || f->photometric == PHOTOMETRIC_MINISWHITE ||
          f->photometric == PHOTOMETRIC_RGB) &&
         f->samples >= f->colors && (f->bits == 8 || f->bits == 16) &&
         (f->sample_format == SAMPLEFORMAT_UINT || f->sample_format == SAMPLEFORMAT_VOID);
}

/* Strips or tiles, of all samples or of one each; or the rows of strips. */
typedef struct tiff_blocks {
  gboolean tiled, apart, rows;
  uint32_t width, height;
  gsize pixel, size; /* bytes */
  guint8 *bytes;     /* one of them */
} tiff_blocks;

static gboolean begin_blocks(TIFF *tiff, const tiff_form *f, const fc_decode_task *task,
                             fc_decode_report *report, tiff_blocks *b) {
  const gsize sample = f->bits / 8u;
  *b = (tiff_blocks){.tiled = TIFFIsTiled(tiff) != 0,
                     .apart = f->planar == PLANARCONFIG_SEPARATE && f->samples > 1,
                     .width = f->width,
                     .height = f->height};
  if (b->tiled) {
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &b->width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &b->height);
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &b->height);
    b->height = MIN(b->height, f->height);
  }
  tmsize_t size = b->tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
  /* Strips of many channels may have no room: they are read row by row; but libtiff drops what PackBits
   * repeats beyond a row. */
  uint16_t coding = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &coding);
  b->rows = !b->tiled && size > 0 && coding != COMPRESSION_PACKBITS &&
            (gsize)size / f->width / f->height >= FC_TIFF_HEAP;
  if (b->rows) b->height = 1, size = TIFFScanlineSize(tiff);
  b->pixel = b->apart ? sample : sample * f->samples, b->size = (gsize)size;
  if (!b->width || !b->height || size <= 0 || b->size / b->pixel / b->width < b->height ||
      (!b->tiled && b->size > BLOCK_MOST + 4 * task->room))
    return fc_decode_fail(report, FC_CORRUPTED, "the size of its strips or tiles is wrong");
  /* The decoder's memory has no more, whatever it is run in. */
  if (b->size <= BLOCK_MOST + (gsize)FC_TIFF_HEAP * f->width * f->height) b->bytes = calloc(1, b->size);
  if (b->bytes) return TRUE;
  return b->tiled ? fc_decode_fail(report, FC_FOREIGN, "tiles much larger than the pixels read of them")
                  : fc_decode_fail(report, FC_CORRUPTED, "out of memory");
}

/* FALSE: not all of it can be decoded. */
static gboolean fetch(TIFF *tiff, const tiff_blocks *b, uint32_t y, uint32_t x, uint16_t c, tmsize_t size) {
  if (b->rows) return TIFFReadScanline(tiff, b->bytes, y, c) == 1;
  return size == (b->tiled ? TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, x, y, 0, c), b->bytes, size)
                           : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, y, c), b->bytes, size));
}

/* The block at row y and column x, and with samples apart that of channel c. */
static gboolean read_block(TIFF *tiff, const tiff_form *f, const fc_decode_task *task, const tiff_blocks *b,
                           gsize y, gsize x, int c) {
  const gsize sample = f->bits / 8u, taken = b->apart ? sample : sample * (gsize)f->channels,
              pixel = sample * (gsize)f->channels;
  const gsize columns = MIN(b->width, f->width - x), rows = MIN(b->height, f->height - y),
              size = b->tiled ? b->size : rows * b->width * b->pixel;
  /* What can be read of a damaged one is used. */
  if (task->lenient) memset(b->bytes, 0, b->size);
  const gboolean whole = fetch(tiff, b, (uint32_t)y, (uint32_t)x, (uint16_t)c, (tmsize_t)size);
  for (gsize i = 0; i < rows; i++) {
    const guint8 *from = b->bytes + i * b->width * b->pixel;
    guint8 *to = task->pixels + ((y + i) * f->width + x) * pixel + (gsize)c * sample;
    if (taken == b->pixel && taken == pixel) memcpy(to, from, columns * pixel);
    for (gsize k = 0; k < columns && (taken != b->pixel || taken != pixel); k++)
      memcpy(to + k * pixel, from + k * b->pixel, taken);
  }
  return whole;
}

static unsigned get(const guint8 *samples, gsize i, int bits) {
  return bits == 16 ? ((const guint16 *)(const void *)samples)[i] : samples[i];
}

static void put(guint8 *samples, gsize i, int bits, unsigned value) {
  if (bits == 16)
    ((guint16 *)(void *)samples)[i] = (guint16)value;
  else
    samples[i] = (guint8)value;
}

/* So that 0 is black, and colours are not weighed by alpha. */
static void straighten(const tiff_form *f, guint8 *pixels) {
  const unsigned most = f->bits == 16 ? 65535 : 255;
  const gsize channels = (gsize)f->channels, colors = (gsize)f->colors;
  for (gsize at = 0, end = channels * f->width * f->height; at < end; at += channels) {
    const unsigned alpha = f->premultiplied ? get(pixels, at + colors, f->bits) : 0;
    for (gsize c = at; c < at + colors; c++) {
      unsigned value = get(pixels, c, f->bits);
      if (alpha) value = MIN((value * most + alpha / 2) / alpha, most);
      put(pixels, c, f->bits, f->inverted ? most - value : value);
    }
  }
}

static gboolean read_plain(TIFF *tiff, const tiff_form *f, const fc_decode_task *task, const tiff_blocks *b) {
  gboolean whole = TRUE;
  for (int c = 0; c < (b->apart ? f->channels : 1); c++)
    for (gsize y = 0; y < f->height; y += b->height)
      for (gsize x = 0; x < f->width; x += b->width) whole &= read_block(tiff, f, task, b, y, x, c);
  if (f->inverted || f->premultiplied) straighten(f, task->pixels);
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
  uint16_t coding = COMPRESSION_NONE;
  const tiff_form f = form_of(tiff);
  const gboolean plain = is_plain(&f);
  const int channels = plain ? f.channels : converted_channels(tiff, &f);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &coding);
  if (!TIFFIsCODECConfigured(coding)) return fc_decode_fail(report, FC_FOREIGN, "its compression");
  if (!plain && !TIFFRGBAImageOK(tiff, words)) return fc_decode_fail(report, FC_FOREIGN, words);
  if (!fc_decode_shape(task, report, f.width, f.height, channels, plain ? f.bits : 8)) return FALSE;
  tiff_blocks b = {0};
  if (plain && !begin_blocks(tiff, &f, task, report, &b)) return FALSE;
  const gboolean whole = plain ? read_plain(tiff, &f, task, &b) : read_converted(tiff, &f, task, channels);
  free(b.bytes);
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

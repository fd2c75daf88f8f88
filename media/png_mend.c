/* SPDX-License-Identifier: MIT */
/*
 * png_mend.c - a PNG file that was cut off, made whole: what is there is inflated, what
 * is not is zero (black, transparent), and all of it is wrapped up again without
 * compression, for stb_image gives up on anything less.
 *
 * Called in the decoder's child: memory comes from its arena, and nothing here makes a
 * system call. Costs one copy of the unpacked image.
 */
#include <string.h>
#include <zlib.h>

#include "media/image.h"

#define SIGNATURE  8
#define FRAME      12 /* length, type and checksum of a chunk */
#define IHDR_SIZE  13
#define STORED_MAX 65535 /* bytes of an uncompressed deflate block */

typedef struct png_mend {
  const guint8 *file;
  gsize size;
  fc_arena_alloc alloc;
  gsize next; /* where the next chunk of the file begins */
  z_stream zip;
  gboolean ended; /* nothing more comes out of it */
  guint8 *to, *at;
} png_mend;

static guint32 big32(const guint8 *at) {
  return (guint32)at[0] << 24 | (guint32)at[1] << 16 | (guint32)at[2] << 8 | at[3];
}

static void put32(guint8 *to, guint32 value) {
  for (int i = 0; i < 4; i++) to[i] = (guint8)(value >> (24 - 8 * i));
}

/* ---- how much there should be ------------------------------------------ */

static guint64 pass_size(guint64 width, guint64 height, guint64 bits) {
  return width && height ? ((width * bits + 7) / 8 + 1) * height : 0;
}

/* Bytes of the image before compression; 0 when the header makes no sense. */
static guint64 raw_size(const guint8 *header) {
  static const guint8 channels[] = {1, 0, 3, 1, 2, 0, 4};
  static const guint8 start[7][2] = {{0, 0}, {4, 0}, {0, 4}, {2, 0}, {0, 2}, {1, 0}, {0, 1}};
  static const guint8 step[7][2] = {{8, 8}, {8, 8}, {4, 8}, {4, 4}, {2, 4}, {2, 2}, {1, 2}};
  guint64 width = big32(header), height = big32(header + 4), size = 0;
  guint64 bits = header[9] < sizeof channels ? (guint64)header[8] * channels[header[9]] : 0;
  if (!header[12]) return pass_size(width, height, bits);
  for (int pass = 0; pass < 7; pass++) {
    guint64 x = start[pass][0], y = start[pass][1], dx = step[pass][0], dy = step[pass][1];
    size += pass_size(width > x ? (width - x + dx - 1) / dx : 0, height > y ? (height - y + dy - 1) / dy : 0,
                      bits);
  }
  return size;
}

/* ---- unpacking --------------------------------------------------------- */

static void *zip_alloc(void *mend, unsigned count, unsigned size) {
  return ((png_mend *)mend)->alloc((gsize)count * size);
}

static void zip_free(void *mend, void *memory) {}

/* The next chunk of compressed data, as far as it is there. */
static gboolean feed(png_mend *mend) {
  while (mend->size - mend->next >= 8) {
    const guint8 *chunk = mend->file + mend->next;
    gsize length = big32(chunk), left = mend->size - mend->next - 8;
    mend->next += 8 + MIN(left, length);
    if (left > length) mend->next += MIN(left - length, 4);
    if (memcmp(chunk + 4, "IDAT", 4) != 0) continue;
    mend->zip.next_in = (Bytef *)chunk + 8;
    mend->zip.avail_in = (uInt)MIN(left, length);
    return TRUE;
  }
  return FALSE;
}

/* Up to `count` bytes, and zeros after the last. */
static void unpack(png_mend *mend, guint8 *to, guint count) {
  memset(to, 0, count);
  mend->zip.next_out = to;
  mend->zip.avail_out = count;
  while (!mend->ended && mend->zip.avail_out) {
    if (!mend->zip.avail_in && !feed(mend)) break;
    int state = inflate(&mend->zip, Z_NO_FLUSH);
    mend->ended = state != Z_OK && !(state == Z_BUF_ERROR && !mend->zip.avail_in);
  }
}

/* ---- wrapping up ------------------------------------------------------- */

static void put_chunk(png_mend *mend, const char *type, gsize size) {
  put32(mend->at, (guint32)size);
  memcpy(mend->at + 4, type, 4);
  mend->at += 8;
}

/* A chunk of the file that must stay, if it is whole. stb_image looks at no checksum. */
static void copy_chunk(png_mend *mend, const char *type) {
  for (gsize at = SIGNATURE; mend->size - at >= FRAME;) {
    gsize length = big32(mend->file + at);
    if (mend->size - at - FRAME < length) return;
    if (memcmp(mend->file + at + 4, type, 4) == 0) {
      memcpy(mend->at, mend->file + at, FRAME + length);
      mend->at += FRAME + length;
      return;
    }
    at += FRAME + length;
  }
}

static void put_image(png_mend *mend, guint64 raw) {
  guint8 *head = mend->at;
  mend->at += 8;
  *mend->at++ = 0x78;
  *mend->at++ = 0x01;
  while (raw) {
    guint count = (guint)MIN(raw, STORED_MAX);
    raw -= count;
    const guint8 block[5] = {raw == 0, (guint8)count, (guint8)(count >> 8), (guint8)~count,
                             (guint8)(~count >> 8)};
    memcpy(mend->at, block, sizeof block);
    unpack(mend, mend->at + sizeof block, count);
    mend->at += sizeof block + count;
  }
  memset(mend->at, 0, 4 + 4); /* checksums */
  gsize size = (gsize)(mend->at + 4 - head - 8);
  mend->at += 8;
  put32(head, (guint32)size);
  memcpy(head + 4, "IDAT", 4);
}

const guint8 *fc_png_mend(const guint8 *file, gsize size, fc_arena_alloc alloc, gsize *mended) {
  png_mend mend = {.file = file, .size = size, .alloc = alloc, .next = SIGNATURE};
  if (size < SIGNATURE + FRAME + IHDR_SIZE) return NULL;
  guint64 raw = raw_size(file + SIGNATURE + 8);
  guint64 room = raw + (raw / STORED_MAX + 1) * 5 + 4096 + size;
  if (!raw || room > G_MAXINT32) return NULL;
  mend.zip.zalloc = zip_alloc;
  mend.zip.zfree = zip_free;
  mend.zip.opaque = &mend;
  mend.to = mend.at = alloc((gsize)room);
  if (!mend.to || inflateInit(&mend.zip) != Z_OK) return NULL;
  memcpy(mend.at, file, SIGNATURE);
  mend.at += SIGNATURE;
  copy_chunk(&mend, "IHDR");
  copy_chunk(&mend, "PLTE");
  copy_chunk(&mend, "tRNS");
  put_image(&mend, raw);
  put_chunk(&mend, "IEND", 0);
  memset(mend.at, 0, 4);
  *mended = (gsize)(mend.at + 4 - mend.to);
  return mend.to;
}

/* SPDX-License-Identifier: MIT */
/*
 * png_mend.c - a PNG file as stb_image is to see it, and what zlib says of its image data.
 *
 * stb_image takes palette entries that a file lacks from memory that nobody wrote, so a palette stands behind
 * one of 256 times black. Of a file that was cut off, what is there is inflated, what is not is zero (black,
 * transparent), and all of it is wrapped up again without compression, for stb_image gives up on anything
 * less; that costs one copy of the unpacked image. The checksum of the image data, which stb_image does not
 * look at, is taken of what it has unpacked.
 *
 * Called in the decoder's child: memory comes from its arena, and nothing here makes a
 * system call.
 */
#include <string.h>
#include <zlib.h>

#include "media/file/bytes.h"
#include "media/image/image.h"

#define SIGNATURE  8
#define FRAME      12 /* length, type and checksum of a chunk */
#define IHDR_SIZE  13
#define STORED_MAX 65535 /* bytes of an uncompressed deflate block */
#define PALETTE    (256 * 3)
#define BEYOND_MAX (1 << 20) /* bytes behind the last pixel that are read for the checksum behind them */

typedef struct png_mend {
  const guint8 *file;
  gsize size;
  fc_arena_alloc alloc;
  gsize next; /* where the next chunk of compressed data may begin */
  z_stream zip;
  int state; /* of unpacking: Z_OK while more may come */
  guint8 *to, *at;
} png_mend;

/* ---- how much there should be ------------------------------------------ */

static guint64 pass_size(guint64 width, guint64 height, guint64 bits) {
  return width && height ? ((width * bits + 7) / 8 + 1) * height : 0;
}

/* Bytes of the image before compression; 0 when the header makes no sense. */
static guint64 raw_size(const guint8 *header) {
  static const guint8 channels[] = {1, 0, 3, 1, 2, 0, 4};
  static const guint8 start[7][2] = {{0, 0}, {4, 0}, {0, 4}, {2, 0}, {0, 2}, {1, 0}, {0, 1}};
  static const guint8 step[7][2] = {{8, 8}, {8, 8}, {4, 8}, {4, 4}, {2, 4}, {2, 2}, {1, 2}};
  guint64 width = fc_big(header, 4), height = fc_big(header + 4, 4), size = 0;
  guint64 bits = header[9] < sizeof channels ? (guint64)header[8] * channels[header[9]] : 0;
  if (width > FC_IMAGE_SIDE_MAX || height > FC_IMAGE_SIDE_MAX || header[8] > 16 || header[12] > 1) return 0;
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
    gsize length = fc_big(chunk, 4), left = mend->size - mend->next - 8;
    if (memcmp(chunk + 4, "IEND", 4) == 0) return FALSE;
    mend->next += 8 + MIN(left, length);
    if (left > length) mend->next += MIN(left - length, 4);
    if (memcmp(chunk + 4, "IDAT", 4) != 0) continue;
    mend->zip.next_in = (Bytef *)chunk + 8;
    mend->zip.avail_in = (uInt)MIN(left, length);
    return TRUE;
  }
  return FALSE;
}

/* Up to `count` bytes, and zeros after the last; how many there were. */
static guint unpack(png_mend *mend, guint8 *to, guint count) {
  mend->zip.next_out = to;
  mend->zip.avail_out = count;
  while (mend->state == Z_OK && mend->zip.avail_out) {
    if (!mend->zip.avail_in && !feed(mend)) mend->state = Z_BUF_ERROR;
    if (mend->zip.avail_in) mend->state = inflate(&mend->zip, Z_NO_FLUSH);
  }
  guint missing = mend->zip.avail_out;
  memset(to + (count - missing), 0, missing);
  return count - missing;
}

/* ---- wrapping up ------------------------------------------------------- */

static void put_head(guint8 *to, const char *type, gsize size) {
  fc_put_big(to, size, 4);
  memcpy(to + 4, type, 4);
}

/* stb_image looks at no checksum. */
static void put_zeros(png_mend *mend, const char *type, gsize size) {
  put_head(mend->at, type, size);
  memset(mend->at + 8, 0, size + 4);
  mend->at += FRAME + size;
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
  put_head(head, "IDAT", (gsize)(mend->at + 4 - head - 8));
  mend->at += 8;
}

/* ---- all --------------------------------------------------------------- */

static gboolean is_data(const guint8 *chunk) {
  return memcmp(chunk + 4, "IDAT", 4) == 0;
}

/* The next whole chunk that is anything to stb_image, from `*at` on, which is moved behind it. */
static const guint8 *next_chunk(const png_mend *mend, gsize *at, gsize *size) {
  while (mend->size - *at >= FRAME) {
    const guint8 *chunk = mend->file + *at;
    *size = FRAME + (gsize)fc_big(chunk, 4);
    if (*size > mend->size - *at || memcmp(chunk + 4, "IEND", 4) == 0) return NULL;
    *at += *size;
    if (!(chunk[4] & 32) || memcmp(chunk + 4, "tRNS", 4) == 0) return chunk;
  }
  return NULL;
}

/* Bytes of all of them together: of those that bear image data, or of the others. */
static guint64 size_of(const png_mend *mend, gboolean data) {
  const guint8 *chunk;
  guint64 sum = 0;
  for (gsize at = SIGNATURE, size; (chunk = next_chunk(mend, &at, &size));)
    if (is_data(chunk) == data) sum += size;
  return sum;
}

/* In their order; unpacked, all image data stand where the first of them did. */
static void put_all(png_mend *mend, guint64 raw, gboolean unpacked) {
  const guint8 *chunk;
  gboolean palette = FALSE, image = !unpacked;
  for (gsize at = SIGNATURE, size; (chunk = next_chunk(mend, &at, &size));) {
    if (unpacked && is_data(chunk)) {
      if (!image) put_image(mend, raw);
      image = TRUE;
      continue;
    }
    if (memcmp(chunk + 4, "PLTE", 4) == 0 && !palette && size > FRAME) {
      put_zeros(mend, "PLTE", PALETTE);
      palette = TRUE;
    }
    memcpy(mend->at, chunk, size);
    mend->at += size;
  }
  if (!image) put_image(mend, raw);
  put_zeros(mend, "IEND", 0);
}

/* Bytes of the image before compression; 0 where there is no header to say it. */
static guint64 raw_size_of(const guint8 *file, gsize size) {
  return size < SIGNATURE + FRAME + IHDR_SIZE ? 0 : raw_size(file + SIGNATURE + 8);
}

static gboolean begin(png_mend *mend) {
  mend->zip.zalloc = zip_alloc;
  mend->zip.zfree = zip_free;
  mend->zip.opaque = mend;
  return inflateInit(&mend->zip) == Z_OK;
}

const guint8 *fc_png_mend(const guint8 *file, gsize *size, gboolean cut, fc_arena_alloc alloc) {
  png_mend mend = {.file = file, .size = *size, .alloc = alloc, .next = SIGNATURE};
  guint64 raw = raw_size_of(file, *size);
  if (!raw || (!cut && file[SIGNATURE + 8 + 9] != 3)) return file; /* stb_image says what is wrong with it */
  guint64 room = 4096 + size_of(&mend, FALSE);
  room += cut ? raw + (raw / STORED_MAX + 1) * 5 : size_of(&mend, TRUE);
  mend.to = mend.at = room <= G_MAXINT32 ? alloc((gsize)room) : NULL;
  if (!mend.to || (cut && !begin(&mend))) return NULL;
  memcpy(mend.at, file, SIGNATURE);
  mend.at += SIGNATURE;
  put_all(&mend, raw, cut);
  *size = (gsize)(mend.at - mend.to);
  return mend.to;
}

/* ---- what zlib says ---------------------------------------------------- */

/* The last four bytes of all image data, which is where the checksum is if nothing follows it. */
static guint32 last_of_data(const guint8 *file, gsize size) {
  const png_mend mend = {.file = file, .size = size};
  const guint8 *chunk;
  guint32 last = 0;
  for (gsize at = SIGNATURE, length; (chunk = next_chunk(&mend, &at, &length));)
    for (gsize i = MIN(length - FRAME, 4); is_data(chunk) && i > 0; i--)
      last = last << 8 | chunk[length - 4 - i];
  return last;
}

gboolean fc_png_sum_fits(const guint8 *file, gsize size, const guint8 *unpacked) {
  guint64 raw = raw_size_of(file, size);
  return adler32_z(adler32(0, NULL, 0), unpacked, (z_size_t)raw) == last_of_data(file, size);
}

/* What is wrong with data that did not come to their end, or not to enough; NULL when all is well. */
static const char *problem_of(const png_mend *mend, gboolean enough) {
  switch (mend->state) {
  case Z_STREAM_END: return enough ? NULL : "its image data are less than its pixels";
  case Z_OK: return "its image data are more than its pixels";
  case Z_BUF_ERROR: return enough ? "its image data lack their checksum" : "its image data are incomplete";
  case Z_MEM_ERROR: return "outofmem";
  default: break;
  }
  const char *said = mend->zip.msg;
  if (!said) return "its image data are damaged";
  return strcmp(said, "incorrect data check") == 0 ? "the checksum of its image data is wrong" : said;
}

const char *fc_png_problem(const guint8 *file, gsize size, fc_arena_alloc alloc) {
  png_mend mend = {.file = file, .size = size, .alloc = alloc, .next = SIGNATURE};
  const guint64 raw = raw_size_of(file, size);
  guint64 read = 0;
  guint8 piece[4096];
  if (!raw) return NULL;
  if (!begin(&mend)) return "outofmem";
  while (mend.state == Z_OK && read < raw + BEYOND_MAX) read += unpack(&mend, piece, sizeof piece);
  return problem_of(&mend, read >= raw);
}

/* SPDX-License-Identifier: MIT */
/* ogg_stream.c - see ogg_stream.h. Pages after RFC 3533, headers after Vorbis I and RFC 7845. */
#include "media/audio/ogg_stream.h"

#include <string.h>

#include "media/audio/audio_tags.h"
#include "media/file/bytes.h"

#define BLOCK 65536

/* The beginnings of header packets, and their number. */
static const struct {
  const char *identification, *comments;
  int count;
} codecs[] = {{"\1vorbis", "\3vorbis", 3}, {"OpusHead", "OpusTags", 2}};

static gboolean begins(const void *data, gsize size, const char *with) {
  return fc_begins(data, size, with, strlen(with));
}

/* FALSE when there is no memory. */
static gboolean feed(ogg_sync_state *sync, const void *data, gsize size) {
  char *to = ogg_sync_buffer(sync, (long)size);
  if (!to) return FALSE;
  memcpy(to, data, size);
  return ogg_sync_wrote(sync, (long)size) == 0;
}

/* ---- reading ------------------------------------------------------------------ */

static void find_damage(fc_ogg_verifier *verifier) {
  if (!verifier->damaged) verifier->damaged_at = verifier->position;
  verifier->damaged = TRUE;
}

/* Reads the codec and the comments; the decoder reads the rest. */
static void take_headers(fc_ogg_verifier *verifier, ogg_page *page) {
  enum { WANTED = 2, MAPPING_AT = 18 };
  ogg_packet packet;
  if (verifier->packets >= WANTED) return;
  verifier->failed |=
      ogg_stream_pagein(&verifier->headers, page) != 0 && ogg_stream_check(&verifier->headers) != 0;
  while (verifier->packets < WANTED && ogg_stream_packetout(&verifier->headers, &packet) == 1) {
    const gsize size = (gsize)packet.bytes;
    if (verifier->packets++ == 1)
      fc_blob_put(&verifier->comments, packet.packet, size);
    else if (begins(packet.packet, size, codecs[1].identification) && size > MAPPING_AT)
      verifier->mapping = packet.packet[MAPPING_AT];
  }
}

/* Missing and repeated pages have valid checksums. A live stream that is joined late has its headers,
 * followed by the current pages. */
static void count_page(fc_ogg_verifier *verifier, const ogg_page *page) {
  const int number = (int)ogg_page_pageno(page);
  const gboolean joins = verifier->at_headers && number > verifier->number;
  if (verifier->any && number != verifier->number + 1 && !joins) find_damage(verifier);
  verifier->number = number;
  verifier->at_headers = ogg_page_granulepos(page) == 0;
}

static void take_page(fc_ogg_verifier *verifier, ogg_page *page) {
  const gboolean first = ogg_page_bos(page) != 0, last = ogg_page_eos(page) != 0;
  if (!verifier->any) {
    verifier->serial = ogg_page_serialno(page);
    verifier->failed |= ogg_stream_init(&verifier->headers, verifier->serial) != 0;
  }
  const gboolean ours = ogg_page_serialno(page) == verifier->serial;
  verifier->chain |= verifier->ended && first;
  verifier->beside |= verifier->any && !verifier->over && first && !ours;
  if (ours && !verifier->over) {
    count_page(verifier, page);
    take_headers(verifier, page);
  }
  verifier->any = TRUE;
  verifier->ended = last;
  verifier->over |= last && ours;
}

void fc_ogg_verifier_feed(fc_ogg_verifier *verifier, const void *data, gsize size) {
  ogg_page page;
  long step;
  if (verifier->failed) return;
  if (!feed(&verifier->sync, data, size)) {
    verifier->failed = TRUE;
    return;
  }
  while ((step = ogg_sync_pageseek(&verifier->sync, &page)) != 0) {
    if (step > 0)
      take_page(verifier, &page);
    else if (verifier->any && !verifier->over)
      find_damage(verifier);
    verifier->position += ABS(step);
  }
  verifier->failed |= verifier->comments.failed;
}

gboolean fc_ogg_verifier_feed_file(fc_ogg_verifier *verifier, fc_input *input, GError **error) {
  g_autofree guint8 *block = g_malloc(BLOCK);
  gssize got;
  for (gint64 at = 0; (got = fc_input_read_at(input, at, block, BLOCK, error)) > 0; at += got)
    fc_ogg_verifier_feed(verifier, block, (gsize)got);
  if (verifier->failed) return fc_fail(error, FC_NO_MEMORY, "%s: no memory for its pages", input->name);
  return got == 0;
}

void fc_ogg_verifier_clear(fc_ogg_verifier *verifier) {
  ogg_sync_clear(&verifier->sync);
  ogg_stream_clear(&verifier->headers);
  fc_blob_clear(&verifier->comments);
}

/* After the end of the stream, part of a page belongs to another, truncated stream. */
gboolean fc_ogg_verifier_is_whole(const fc_ogg_verifier *verifier) {
  enum { MARK = 4 };
  const ogg_sync_state *sync = &verifier->sync;
  return verifier->over && verifier->ended &&
         (sync->fill - sync->returned < MARK || memcmp(sync->data + sync->returned, "OggS", MARK) != 0);
}

char *fc_ogg_verifier_fault(const fc_ogg_verifier *verifier) {
  return verifier->damaged ? g_strdup_printf("is damaged: what it has from byte %" G_GINT64_FORMAT
                                             " on is not what was written",
                                             verifier->damaged_at)
                           : NULL;
}

const char *fc_ogg_verifier_remark(const fc_ogg_verifier *verifier) {
  if (verifier->beside) return "holds streams side by side; the first is read, and the others are left out";
  if (verifier->chain)
    return "holds streams one after another; the first is read, and what follows is left out";
  return NULL;
}

gboolean fc_ogg_verifier_tags(const fc_ogg_verifier *verifier, fc_tags *tags) {
  const fc_blob *packet = &verifier->comments;
  for (gsize i = 0; i < G_N_ELEMENTS(codecs); i++) {
    const gsize head = strlen(codecs[i].comments);
    if (packet->size && begins(packet->data, packet->size, codecs[i].comments))
      return fc_comments_read(tags, packet->data + head, packet->size - head);
  }
  return FALSE;
}

/* ---- writing ------------------------------------------------------------------ */

/* The encoder draws its serial numbers at random. */
enum { SERIAL = 1 };

static gboolean fail_memory(const fc_ogg_writer *writer, GError **error) {
  return fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", writer->name);
}

static gboolean write_page(fc_ogg_writer *writer, ogg_page *page, GError **error) {
  guint8 *head = page->header;
  writer->position = ogg_page_granulepos(page);
  writer->ended = ogg_page_eos(page) != 0;
  for (int i = 0; i < 4; i++) {
    head[14 + i] = (guint8)(SERIAL >> 8 * i);
    head[18 + i] = (guint8)(writer->number >> 8 * i);
  }
  writer->number++;
  ogg_page_checksum_set(page);
  return fc_output_write(writer->output, head, (gsize)page->header_len, error) &&
         fc_output_write(writer->output, page->body, (gsize)page->body_len, error);
}

/* Codecs make no empty packets: libogg makes one when memory is lacking. */
static gboolean has_empty_packet(const ogg_page *page) {
  const guint8 *sizes = page->header + 27;
  int before = ogg_page_continued(page) ? 255 : 0;
  for (int i = 0; i < page->header[26]; before = sizes[i++])
    if (!sizes[i] && before != 255) return TRUE;
  return FALSE;
}

/* The encoder's comments are replaced by ours; its name is kept. */
static gboolean put_header(fc_ogg_writer *writer, ogg_packet *packet, GError **error) {
  g_auto(fc_blob) body = {0};
  ogg_packet out = *packet;
  if (writer->packets == 0)
    for (gsize i = 0; i < G_N_ELEMENTS(codecs); i++)
      if (begins(packet->packet, (gsize)packet->bytes, codecs[i].identification))
        writer->header_packets = codecs[i].count;
  const gboolean vorbis = writer->header_packets == codecs[0].count;
  if (writer->packets == 1) {
    const gsize head = strlen(codecs[vorbis ? 0 : 1].comments);
    if ((gsize)packet->bytes < head)
      return fc_fail(error, FC_FATAL, "%s: an Ogg header is damaged", writer->name);
    fc_blob_put(&body, packet->packet, head);
    fc_comments_put(writer->spec, packet->packet + head, (gsize)packet->bytes - head, &body);
    if (vorbis) fc_blob_put_little(&body, 1, 1); /* a bit that marks their end */
    if (!fc_blob_check(&body, writer->name, error)) return FALSE;
    out.packet = body.data;
    out.bytes = (long)body.size;
  }
  out.granulepos = 0;
  out.packetno = writer->packets;
  if (ogg_stream_packetin(&writer->rewritten, &out) != 0) return fail_memory(writer, error);
  writer->packets++;
  ogg_page page;
  /* The first has its own page, and samples begin on a new one. */
  while (writer->packets == 1 || writer->packets == writer->header_packets) {
    if (!ogg_stream_flush(&writer->rewritten, &page)) break;
    if (!write_page(writer, &page, error)) return FALSE;
  }
  return TRUE;
}

static gboolean take_header_page(fc_ogg_writer *writer, ogg_page *page, GError **error) {
  ogg_packet packet;
  if (!writer->headers.body_data && (ogg_stream_init(&writer->headers, ogg_page_serialno(page)) ||
                                     ogg_stream_init(&writer->rewritten, SERIAL)))
    return fail_memory(writer, error);
  if (ogg_stream_pagein(&writer->headers, page) != 0) return fail_memory(writer, error);
  while (ogg_stream_packetout(&writer->headers, &packet) == 1)
    if (!put_header(writer, &packet, error)) return FALSE;
  return TRUE;
}

gboolean fc_ogg_writer_feed(fc_ogg_writer *writer, const void *from, gsize size, GError **error) {
  ogg_page page;
  long step;
  if (!feed(&writer->sync, from, size)) return fail_memory(writer, error);
  while ((step = ogg_sync_pageseek(&writer->sync, &page)) != 0) {
    if (step < 0) return fc_fail(error, FC_FATAL, "%s: an Ogg page begins wrongly", writer->name);
    if (has_empty_packet(&page)) return fail_memory(writer, error);
    const gboolean header = !writer->packets || writer->packets < writer->header_packets;
    if (!(header ? take_header_page : write_page)(writer, &page, error)) return FALSE;
  }
  return TRUE;
}

gboolean fc_ogg_writer_is_complete(const fc_ogg_writer *writer, gint64 position) {
  return writer->sync.fill == writer->sync.returned && writer->ended && writer->position >= position;
}

void fc_ogg_writer_clear(fc_ogg_writer *writer) {
  ogg_sync_clear(&writer->sync);
  ogg_stream_clear(&writer->headers);
  ogg_stream_clear(&writer->rewritten);
}

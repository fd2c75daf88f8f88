/* SPDX-License-Identifier: MIT */
/* id3.c - see id3.h. Frames after ID3 2.2, 2.3 and 2.4, which differ in the size of ids and sizes. */
#include "media/audio/id3.h"

#include <string.h>

#include "media/audio/chunks.h"
#include "media/file/warn.h"

enum { TAG_HEAD = 10, EXTENDED = 0x40 };

/* More than any real tag has. */
#define FRAMES_MAX 4096

/* What libsndfile makes texts of, in the words of 2.2 and of the others, one of each kind; and the length,
 * which is that of another file. */
static const struct {
  const char *ids;
  int kind;
} known[] = {{"TT2  TIT2", 0},           {"TAL  TALB", 1}, {"TCR  TCOP", 2},
             {"TEN  TENC TSS  TSSE", 3}, {"TP1  TPE1", 4}, {"TRK  TRCK", 5},
             {"TYE  TYER TDRC", 6},      {"TCO  TCON", 7}, {"COM  COMM", 8}};
#define LENGTH "TLE  TLEN"

/* Of 7 bits a byte in 2.4, and in any tag's head. */
static gint64 number(const guint8 *at, int bytes, int bits) {
  gint64 value = 0;
  for (int i = 0; i < bytes; i++) value = value << bits | (at[i] & ((1 << bits) - 1));
  return value;
}

static gboolean is_id(const guint8 *id, int bytes) {
  for (int i = 0; i < bytes; i++)
    if (!g_ascii_isupper(id[i]) && !g_ascii_isdigit(id[i])) return FALSE;
  return TRUE;
}

/* `seen`: a bit for each kind that went by. */
static void name_frame(const guint8 *frame, int bytes, guint *seen, GString *words) {
  char id[5] = "    ";
  memcpy(id, frame, (gsize)bytes);
  guint bit = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (fc_chunk_id_is_among((const guint8 *)id, known[i].ids)) bit = 1u << known[i].kind;
  gboolean again = *seen & bit;
  *seen |= bit;
  if ((bit && !again) || fc_chunk_id_is_among((const guint8 *)id, LENGTH)) return;
  gboolean picture = strncmp(id, "APIC", 4) == 0 || strncmp(id, "PIC ", 4) == 0;
  fc_media_add_word(words, picture ? "picture" : g_strchomp(id));
}

void fc_id3_name_others(fc_input *input, GString *words) {
  guint8 head[TAG_HEAD], frame[TAG_HEAD];
  if (fc_input_read_at(input, 0, head, sizeof head, NULL) != sizeof head || memcmp(head, "ID3", 3) != 0)
    return;
  const int version = head[3], id = version == 2 ? 3 : 4, size_bits = version == 4 ? 7 : 8;
  const int frame_head = version == 2 ? 6 : TAG_HEAD;
  gint64 at = TAG_HEAD, end = TAG_HEAD + number(head + 6, 4, 7);
  if (version > 2 && (head[5] & EXTENDED) && fc_input_read_at(input, at, frame, 4, NULL) == 4)
    at += number(frame, 4, size_bits) + (version == 3 ? 4 : 0);
  guint seen = 0;
  for (int i = 0; i < FRAMES_MAX && at + frame_head <= end; i++) {
    if (fc_input_read_at(input, at, frame, (gsize)frame_head, NULL) != frame_head || !is_id(frame, id))
      return;
    name_frame(frame, id, &seen, words);
    at += frame_head + number(frame + id, id, version == 2 ? 8 : size_bits);
  }
}

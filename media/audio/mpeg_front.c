/* SPDX-License-Identifier: MIT */
/* mpeg_front.c - see mpeg_front.h. */
#include "media/audio/mpeg_front.h"

#include <string.h>

enum { TAG_HEAD = 10, FRAME_HEAD = 4 };

/* More than anybody puts ahead of a sound. */
#define TAGS_MAX 64
/* So many bytes of them, and of zeros behind them. */
#define BYTES_MOST ((gint64)64 << 20)
#define ZEROS_MOST ((gint64)1 << 20)

static gboolean is_tag(const guint8 *at) {
  return memcmp(at, "ID3", 3) == 0;
}

/* The first byte from a place on that is not 0: some fill a tag up behind its end. */
static gint64 skip_zeros(fc_input *input, gint64 at) {
  const gint64 most = MIN(input->size, at + ZEROS_MOST), behind = fc_input_skip_zeros(input, at, most);
  return behind < most ? behind : at;
}

/* Behind the tags at a place, with a footer or without; -1: there is nothing. */
static gint64 skip_tags(fc_input *input, gint64 at, gboolean footers) {
  guint8 head[TAG_HEAD];
  for (int tags = 0; tags < TAGS_MAX; tags++) {
    if (fc_input_read_at(input, at, head, sizeof head, NULL) != sizeof head) return -1;
    if (!is_tag(head)) return at;
    gint64 size = 0;
    for (int i = 6; i < TAG_HEAD; i++) size = size << 7 | (head[i] & 0x7f);
    at += TAG_HEAD + size + (footers && (head[5] & 0x10) ? TAG_HEAD : 0);
  }
  return -1;
}

gint64 fc_mpeg_skip_tags(fc_input *input, gint64 at) {
  gint64 behind = skip_tags(input, at, TRUE);
  return behind < 0 ? -1 : skip_zeros(input, behind);
}

gint64 fc_mpeg_zeros_behind_tags(fc_input *input, gint64 *tags) {
  *tags = skip_tags(input, 0, FALSE);
  return *tags < 0 ? 0 : skip_zeros(input, *tags) - *tags;
}

/* As libsndfile finds it, which knows of no footer; and as it is shown to it, in memory. */
static gboolean is_mpeg_behind_tags(fc_input *input) {
  guint8 next[FRAME_HEAD];
  gint64 tags, zeros = fc_mpeg_zeros_behind_tags(input, &tags);
  return tags >= 0 && (!zeros || tags < BYTES_MOST) &&
         fc_input_read_at(input, tags + zeros, next, sizeof next, NULL) == sizeof next && next[0] == 0xff &&
         next[1] >= 0xe0;
}

gboolean fc_mpeg_begins(fc_input *input) {
  return is_tag(input->head) ? is_mpeg_behind_tags(input) : input->head[0] == 0xff && input->head[1] >= 0xe0;
}

/* Behind tags and zeros, in any order: libsndfile would pass over a tag by itself, and see the rest of the
 * file as it is. -1: there is nothing. */
static gint64 skip_all(fc_input *input) {
  gint64 at = 0;
  for (int rounds = 0; rounds < TAGS_MAX && at >= 0; rounds++) {
    gint64 begin = at;
    at = fc_mpeg_skip_tags(input, at);
    if (at == begin) return at;
  }
  return -1;
}

gboolean fc_mpeg_pass_tags(fc_input *input, GError **error) {
  if (!is_tag(input->head)) return TRUE;
  if (!fc_input_make_seekable(input, error)) return FALSE;
  if (is_mpeg_behind_tags(input)) return TRUE;
  gint64 start = skip_all(input);
  if (start >= 0) return fc_input_begin_at(input, start, error);
  return fc_input_check(input, error) &&
         fc_fail(error, FC_IO, "%s: begins with an ID3 tag, and there is nothing behind it", input->name);
}

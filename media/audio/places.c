/* SPDX-License-Identifier: MIT */
/*
 * places.c - see places.h. RIFF's cue, smpl, plst, adtl, bext and cart, AIFF's MARK, INST and COMT, and CAF's
 * mark and regn: each is walked once, and what stays is moved forward over what does not.
 */
#include "media/audio/places.h"

#include <stdlib.h>
#include <string.h>

#include "core/view.h"
#include "media/file/bytes.h"

/* In bytes: what stands ahead of the entries, and each of them. */
enum { CUE_HEAD = 4, CUE = 24, LOOPS_HEAD = 36, LOOP = 24, PLAY_HEAD = 4, PLAY = 12 };
enum { LIST_HEAD = 4, LIST_ENTRY = 8 };
enum { CLOCK_AT = 338, TIMERS_AT = 684, TIMERS = 8, TIMER = 8 };
enum { CAF_HEAD = 8, CAF_MARK = 28, CAF_REGION = 12 };
enum { MARKS_HEAD = 2, MARK = 6, REMARK = 8, INST_LOOPS_AT = 8, INST_LOOP = 6 };

static gboolean is(const fc_meta_chunk *chunk, const char *id, gsize least) {
  return memcmp(chunk->id, id, 4) == 0 && chunk->size >= least;
}

/* ---- positions ---------------------------------------------------------- */

/* The place between two samples where it is in the part; FALSE: outside. */
static gboolean move(const fc_places *places, guint32 *position) {
  gint64 moved = (gint64)*position - places->lead;
  if (moved < 0 || moved > G_MAXUINT32 || (places->frames != FC_UNKNOWN && moved > places->frames))
    return FALSE;
  *position = (guint32)moved;
  return TRUE;
}

/* From a sample to another, both inside. */
static gboolean move_loop(const fc_places *places, guint32 *start, guint32 *end) {
  return *start <= *end && move(places, start) && move(places, end) &&
         (places->frames == FC_UNKNOWN || (gint64)*end < places->frames);
}

static int compare_ids(const void *a, const void *b) {
  guint32 one = *(const guint32 *)a, other = *(const guint32 *)b;
  return one < other ? -1 : one > other;
}

static gboolean is_gone(const fc_places *places, guint32 id) {
  return places->gone.size && bsearch(&id, places->gone.data, places->gone.size / 4, 4, compare_ids);
}

static void leave_out(fc_places *places, guint32 id) {
  fc_blob_put(&places->gone, &id, sizeof id);
  places->cues++;
}

/* Where in the part a cue point is, or NULL. */
static const guint32 *place_of(const fc_places *places, guint32 id) {
  const guint32 *found =
      places->kept.size ? bsearch(&id, places->kept.data, places->kept.size / 8, 8, compare_ids) : NULL;
  return found ? found + 1 : NULL;
}

/* How many of so many entries are really there. */
static gsize entries(const fc_meta_chunk *chunk, guint32 said, gsize head, gsize each) {
  return MIN((gsize)said, (chunk->size - head) / each);
}

/* Keeps what is at `from` at the end of what was kept before. */
static void keep(fc_meta_chunk *chunk, gsize *end, gsize from, gsize size) {
  memmove(chunk->data + *end, chunk->data + from, size);
  *end += size;
}

/* ---- RIFF --------------------------------------------------------------- */

static void find_cues(fc_places *places, const fc_meta_chunk *chunk) {
  gsize count = entries(chunk, fc_little(chunk->data, 4), CUE_HEAD, CUE);
  for (gsize i = 0; i < count; i++) {
    const guint8 *cue = chunk->data + CUE_HEAD + i * CUE;
    guint32 at = fc_little(cue + 20, 4), id = fc_little(cue, 4);
    if (move(places, &at))
      fc_blob_put(&places->kept, (guint32[]){id, at}, 8);
    else
      leave_out(places, id);
  }
}

/* Its position in the order of play is that of the sample, or nothing. */
static void move_cues(const fc_places *places, fc_meta_chunk *chunk) {
  gsize count = entries(chunk, fc_little(chunk->data, 4), CUE_HEAD, CUE), end = CUE_HEAD;
  for (gsize i = 0; i < count; i++) {
    guint8 *cue = chunk->data + CUE_HEAD + i * CUE;
    guint32 at = fc_little(cue + 20, 4), play = fc_little(cue + 4, 4);
    if (!move(places, &at)) continue;
    if (!move(places, &play)) play = 0;
    fc_put_little(cue + 4, play, 4);
    fc_put_little(cue + 20, at, 4);
    keep(chunk, &end, CUE_HEAD + i * CUE, CUE);
  }
  fc_put_little(chunk->data, (end - CUE_HEAD) / CUE, 4);
  chunk->size = end;
}

static gboolean loop_stays(const fc_places *places, guint8 *loop, gboolean store) {
  guint32 start = fc_little(loop + 8, 4), end = fc_little(loop + 12, 4);
  if (!move_loop(places, &start, &end)) return FALSE;
  if (store) fc_put_little(loop + 8, start, 4), fc_put_little(loop + 12, end, 4);
  return TRUE;
}

static void find_loops(fc_places *places, const fc_meta_chunk *chunk) {
  gsize count = entries(chunk, fc_little(chunk->data + 28, 4), LOOPS_HEAD, LOOP);
  for (gsize i = 0; i < count; i++)
    places->loops += !loop_stays(places, chunk->data + LOOPS_HEAD + i * LOOP, FALSE);
}

/* Behind the loops may be data of the sampler's own. */
static void move_loops(const fc_places *places, fc_meta_chunk *chunk) {
  gsize count = entries(chunk, fc_little(chunk->data + 28, 4), LOOPS_HEAD, LOOP), end = LOOPS_HEAD;
  for (gsize i = 0; i < count; i++)
    if (loop_stays(places, chunk->data + LOOPS_HEAD + i * LOOP, TRUE))
      keep(chunk, &end, LOOPS_HEAD + i * LOOP, LOOP);
  fc_put_little(chunk->data + 28, (end - LOOPS_HEAD) / LOOP, 4);
  gsize rest = LOOPS_HEAD + count * LOOP;
  keep(chunk, &end, rest, chunk->size - rest);
  chunk->size = end;
}

/* What is played, in order. */
static void move_plays(const fc_places *places, fc_meta_chunk *chunk) {
  gsize count = entries(chunk, fc_little(chunk->data, 4), PLAY_HEAD, PLAY), end = PLAY_HEAD;
  for (gsize i = 0; i < count; i++)
    if (!is_gone(places, fc_little(chunk->data + PLAY_HEAD + i * PLAY, 4)))
      keep(chunk, &end, PLAY_HEAD + i * PLAY, PLAY);
  fc_put_little(chunk->data, (end - PLAY_HEAD) / PLAY, 4);
  chunk->size = end;
}

/* A region reaches from its cue point so many samples on: no further than the part does. */
static void clip_region(const fc_places *places, guint8 *region) {
  const guint32 *at = place_of(places, fc_little(region, 4));
  guint32 length = fc_little(region + 4, 4);
  if (at && places->frames != FC_UNKNOWN && (gint64)length > places->frames - *at)
    fc_put_little(region + 4, (guint64)(places->frames - *at), 4);
}

/* Labels, notes and regions of cue points. */
static void move_labels(const fc_places *places, fc_meta_chunk *chunk) {
  gsize end = LIST_HEAD;
  for (gsize at = LIST_HEAD; chunk->size - at >= LIST_ENTRY;) {
    gsize size = fc_little(chunk->data + at + 4, 4), whole = LIST_ENTRY + size + (size & 1);
    whole = MIN(whole, chunk->size - at);
    gboolean names_one = whole >= LIST_ENTRY + 4;
    if (whole >= LIST_ENTRY + 8 && memcmp(chunk->data + at, "ltxt", 4) == 0)
      clip_region(places, chunk->data + at + LIST_ENTRY);
    if (!names_one || !is_gone(places, fc_little(chunk->data + at + LIST_ENTRY, 4)))
      keep(chunk, &end, at, whole);
    at += whole;
  }
  chunk->size = end;
}

/* Timers of a cart chunk: what they are for, and where. They alone of a chunk that stays all the same. */
static void move_timers(fc_places *places, fc_meta_chunk *chunk) {
  for (int i = 0; i < TIMERS; i++) {
    guint8 *timer = chunk->data + TIMERS_AT + i * TIMER;
    guint32 at = fc_little(timer + 4, 4);
    if (memcmp(timer, "\0\0\0\0", 4) == 0) continue;
    if (!places->nowhere && places->stretch == 1 && move(places, &at)) {
      fc_put_little(timer + 4, at, 4);
    } else {
      memset(timer, 0, TIMER);
      places->timers++;
    }
  }
}

static void move_clock(const fc_places *places, fc_meta_chunk *chunk) {
  guint8 *at = chunk->data + CLOCK_AT;
  guint32 low = fc_little(at, 4), high = fc_little(at + 4, 4);
  fc_places_move_clock(places, &low, &high);
  fc_put_little(at, low, 4);
  fc_put_little(at + 4, high, 4);
}

static void move_riff(fc_places *places, fc_meta_chunk *chunk) {
  if (is(chunk, "cue ", CUE_HEAD)) move_cues(places, chunk);
  if (is(chunk, "smpl", LOOPS_HEAD)) move_loops(places, chunk);
  if (is(chunk, "plst", PLAY_HEAD)) move_plays(places, chunk);
  if (is(chunk, "LIST", LIST_HEAD) && memcmp(chunk->data, "adtl", 4) == 0) move_labels(places, chunk);
  if (is(chunk, "bext", CLOCK_AT + 8)) move_clock(places, chunk);
  if (is(chunk, "cart", TIMERS_AT + TIMERS * TIMER)) move_timers(places, chunk);
}

/* ---- AIFF --------------------------------------------------------------- */

/* The next marker: an id, a position, and a name of a byte's length, even with that byte. 0: no more. */
static gsize mark_at(const fc_meta_chunk *chunk, gsize at) {
  if (chunk->size - at < MARK + 1) return 0;
  gsize name = chunk->data[at + MARK], whole = MARK + 1 + name + !(name & 1);
  return MIN(whole, chunk->size - at);
}

static void find_marks(fc_places *places, const fc_meta_chunk *chunk) {
  gsize count = fc_big(chunk->data, 2), size;
  for (gsize at = MARKS_HEAD; count-- && (size = mark_at(chunk, at)); at += size) {
    guint32 place = fc_big(chunk->data + at + 2, 4);
    if (!move(places, &place)) leave_out(places, fc_big(chunk->data + at, 2));
  }
}

static void move_marks(const fc_places *places, fc_meta_chunk *chunk) {
  gsize count = fc_big(chunk->data, 2), end = MARKS_HEAD, left = 0, size;
  for (gsize at = MARKS_HEAD; count-- && (size = mark_at(chunk, at)); at += size) {
    guint32 place = fc_big(chunk->data + at + 2, 4);
    if (!move(places, &place)) continue;
    fc_put_big(chunk->data + at + 2, place, 4);
    keep(chunk, &end, at, size);
    left++;
  }
  fc_put_big(chunk->data, left, 2);
  chunk->size = end;
}

/* A loop goes from a marker to another. */
static gboolean loop_is_gone(const fc_places *places, const guint8 *loop) {
  return fc_big(loop, 2) && (is_gone(places, fc_big(loop + 2, 2)) || is_gone(places, fc_big(loop + 4, 2)));
}

static void move_instrument(const fc_places *places, fc_meta_chunk *chunk) {
  for (int i = 0; i < 2; i++) {
    guint8 *loop = chunk->data + INST_LOOPS_AT + i * INST_LOOP;
    if (loop_is_gone(places, loop)) memset(loop, 0, INST_LOOP);
  }
}

/* Comments stay, also those about a marker, of which there are none at another rate. */
static void move_remarks(const fc_places *places, fc_meta_chunk *chunk) {
  const gboolean none = places->nowhere || places->stretch != 1;
  for (gsize at = MARKS_HEAD; at <= chunk->size && chunk->size - at >= REMARK;) {
    gsize size = fc_big(chunk->data + at + 6, 2);
    if (none || is_gone(places, fc_big(chunk->data + at + 4, 2))) fc_put_big(chunk->data + at + 4, 0, 2);
    at += REMARK + size + (size & 1);
  }
}

static void move_aiff(const fc_places *places, fc_meta_chunk *chunk) {
  if (is(chunk, "MARK", MARKS_HEAD)) move_marks(places, chunk);
  if (is(chunk, "INST", INST_LOOPS_AT + 2 * INST_LOOP)) move_instrument(places, chunk);
  if (is(chunk, "COMT", MARKS_HEAD)) move_remarks(places, chunk);
}

/* ---- CAF ---------------------------------------------------------------- */

/* A marker's frame is a double; whether it is in the part, and its place there if it is to be stored. */
static gboolean mark_stays(const fc_places *places, guint8 *mark, gboolean store) {
  guint64 bits = fc_big(mark + 4, 8);
  double frame;
  memcpy(&frame, &bits, sizeof frame);
  frame -= (double)places->lead;
  if (!(frame >= 0) || (places->frames != FC_UNKNOWN && frame > (double)places->frames)) return FALSE;
  memcpy(&bits, &frame, sizeof bits);
  if (store) fc_put_big(mark + 4, bits, 8);
  return TRUE;
}

/* Bytes of the entry at `at`: a marker, or a region with its own. 0: it is cut off. */
static gsize caf_entry(const fc_meta_chunk *chunk, gsize at, gboolean regions) {
  gsize left = chunk->size - at, marks = 0;
  if (!regions) return left < CAF_MARK ? 0 : CAF_MARK;
  if (left >= CAF_REGION) marks = fc_big(chunk->data + at + 8, 4);
  return left < CAF_REGION || marks > (left - CAF_REGION) / CAF_MARK ? 0 : CAF_REGION + marks * CAF_MARK;
}

/* A region stays if all of its markers do. */
static gboolean entry_stays(const fc_places *places, guint8 *entry, gsize size, gboolean store) {
  gboolean stays = TRUE;
  for (gsize at = size % CAF_MARK; at < size; at += CAF_MARK)
    stays = mark_stays(places, entry + at, store) && stays;
  return stays;
}

static void find_caf(fc_places *places, const fc_meta_chunk *chunk, gboolean regions) {
  gsize count = fc_big(chunk->data + 4, 4), size;
  for (gsize at = CAF_HEAD; count-- && (size = caf_entry(chunk, at, regions)); at += size)
    places->cues += !entry_stays(places, chunk->data + at, size, FALSE);
}

static void move_caf(const fc_places *places, fc_meta_chunk *chunk, gboolean regions) {
  gsize count = fc_big(chunk->data + 4, 4), end = CAF_HEAD, left = 0, size;
  for (gsize at = CAF_HEAD; count-- && (size = caf_entry(chunk, at, regions)); at += size) {
    if (!entry_stays(places, chunk->data + at, size, TRUE)) continue;
    keep(chunk, &end, at, size);
    left++;
  }
  fc_put_big(chunk->data + 4, left, 4);
  chunk->size = end;
}

/* Whether its entries are markers or, TRUE in `regions`, such. */
static gboolean is_caf(const fc_meta_chunk *chunk, gboolean *regions) {
  *regions = is(chunk, "regn", CAF_HEAD);
  return *regions || is(chunk, "mark", CAF_HEAD);
}

/* ---- all ---------------------------------------------------------------- */

gboolean fc_places_find(fc_places *places, fc_family family, const GArray *chunks) {
  for (guint i = 0; i < chunks->len; i++) {
    const fc_meta_chunk *chunk = &g_array_index(chunks, fc_meta_chunk, i);
    gboolean riff = family == FC_FAMILY_RIFF, regions;
    if (riff && is(chunk, "cue ", CUE_HEAD)) find_cues(places, chunk);
    if (riff && is(chunk, "smpl", LOOPS_HEAD)) find_loops(places, chunk);
    if (family == FC_FAMILY_AIFF && is(chunk, "MARK", MARKS_HEAD)) find_marks(places, chunk);
    if (family == FC_FAMILY_CAF && is_caf(chunk, &regions)) find_caf(places, chunk, regions);
  }
  if (places->gone.size) qsort(places->gone.data, places->gone.size / 4, 4, compare_ids);
  if (places->kept.size) qsort(places->kept.data, places->kept.size / 8, 8, compare_ids);
  return !places->gone.failed && !places->kept.failed;
}

void fc_places_move(fc_places *places, fc_family family, fc_meta_chunk *chunk) {
  gboolean regions;
  if (family == FC_FAMILY_RIFF) move_riff(places, chunk);
  if (family == FC_FAMILY_AIFF) move_aiff(places, chunk);
  if (family == FC_FAMILY_CAF && is_caf(chunk, &regions)) move_caf(places, chunk, regions);
}

void fc_places_clear(fc_places *places) {
  fc_blob_clear(&places->gone);
  fc_blob_clear(&places->kept);
}

/* ---- libsndfile's ------------------------------------------------------- */

void fc_places_move_cues(fc_places *places, SF_CUE_POINT *points, guint32 *count) {
  guint32 kept = 0;
  for (guint32 i = 0; i < *count; i++) {
    SF_CUE_POINT cue = points[i];
    guint32 at = cue.sample_offset, play = cue.position;
    if (!move(places, &at)) continue;
    cue.sample_offset = at;
    cue.position = move(places, &play) ? play : 0;
    points[kept++] = cue;
  }
  places->cues += *count - kept;
  *count = kept;
}

void fc_places_move_loops(fc_places *places, SF_INSTRUMENT *instrument) {
  int count = CLAMP(instrument->loop_count, 0, (int)G_N_ELEMENTS(instrument->loops)), kept = 0;
  for (int i = 0; i < count; i++) {
    guint32 start = instrument->loops[i].start, end = instrument->loops[i].end;
    if (!move(places, &start) || !move(places, &end)) continue;
    instrument->loops[kept] = instrument->loops[i];
    instrument->loops[kept].start = start;
    instrument->loops[kept++].end = end;
  }
  places->loops += (guint)(count - kept);
  instrument->loop_count = kept;
}

void fc_places_move_clock(const fc_places *places, guint32 *low, guint32 *high) {
  guint64 was = (guint64)*high << 32 | *low, back = places->lead < 0 ? (guint64)-places->lead : 0;
  /* Half a day at any rate is far from where a double has gaps. */
  if (places->stretch != 1) {
    double stretched = (double)was * places->stretch + 0.5;
    was = stretched < 0x1p64 ? (guint64)stretched : G_MAXUINT64;
  }
  guint64 begins = back ? was - MIN(was, back) : was + (guint64)places->lead;
  *low = (guint32)begins, *high = (guint32)(begins >> 32);
}

/* SPDX-License-Identifier: MIT */
/*
 * chunks.c - walks the chunks of a file. One table says how each family lays them
 * out; the walk believes nothing that the file's size does not bear out.
 */
#include "media/audio/chunks.h"

#include <string.h>

#include "media/file/bytes.h"
#include "media/audio/texts.h"
#include "media/file/window.h"

/* More chunks than any real file has. */
#define CHUNKS_MAX 4096
/* Room for the largest sample frame below a size that stands for "not known". */
#define SLACK 1024
/* Bytes of a file's header, which some count in. */
#define COUNTED 8
/* More than stands behind the samples of a file whose sizes are right. */
#define TAIL_MOST (16 << 20)
/* A longer list is not looked at. */
#define LIST_MAX (16 << 20)

static const fc_chunk_layout layouts[] = {
    {FC_FAMILY_RIFF, "RIFF", 12, 4, 4, 2, FALSE, FALSE, 4, 8, "data"},
    {FC_FAMILY_RIFF, "RF64", 12, 4, 4, 2, FALSE, FALSE, 4, 8, "data"},
    {FC_FAMILY_RIFX, "RIFX", 12, 4, 4, 2, TRUE, FALSE, 4, 8, "data"},
    {FC_FAMILY_W64, "riff", 40, 16, 8, 8, FALSE, TRUE, 16, 0, "data"},
    {FC_FAMILY_AIFF, "FORM", 12, 4, 4, 2, TRUE, FALSE, 4, 8, "SSND"},
    {FC_FAMILY_CAF, "caff", 8, 4, 8, 1, TRUE, FALSE, 0, 0, "data"},
};

const fc_chunk_layout *fc_chunk_layout_of(fc_family family) {
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++)
    if (layouts[i].family == family) return &layouts[i];
  return NULL;
}

guint64 fc_chunk_get(const fc_chunk_layout *layout, const guint8 *from, int bytes) {
  return layout->big_endian ? fc_big(from, bytes) : fc_little(from, bytes);
}

void fc_chunk_put(const fc_chunk_layout *layout, guint8 *to, guint64 value, int bytes) {
  (layout->big_endian ? fc_put_big : fc_put_little)(to, value, bytes);
}

void fc_chunk_put_id(const fc_chunk_layout *layout, guint8 *to, const guint8 *id) {
  static const guint8 riff_tail[12] = {0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1,
                                       0x00, 0xc0, 0x4f, 0x8e, 0xdb, 0x8a};
  static const guint8 list[16] = {'l',  'i',  's',  't',  0x2f, 0x91, 0xcf, 0x11,
                                  0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0x00, 0x00};
  memcpy(to, id, 4);
  if (layout->id_bytes == 4) return;
  memcpy(to + 4, riff_tail, sizeof riff_tail);
  if (memcmp(id, "LIST", 4) == 0) memcpy(to, list, sizeof list);
}

gboolean fc_chunk_id_is_among(const guint8 *id, const char *words) {
  for (gsize at = 0; at + 4 <= strlen(words); at += 5)
    if (memcmp(id, words + at, 4) == 0) return TRUE;
  return FALSE;
}

/* Writers that cannot go back leave one of these in the size: 0xffffffff (ffmpeg),
 * 0x7ffff000 and 0x7f000000 (sox), 0x7fffffff, 0x80000000 (arecord), all less the
 * rest of a frame or plus a header. */
#define SIZE_MOST ((guint64)1 << 62) /* what is more is none either */
static gboolean is_near_placeholder(guint64 size, guint64 less, guint64 more) {
  static const guint64 known[] = {0xffffffff, 0x80000000, 0x7fffffff, 0x7ffff000, 0x7f000000};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (size + less >= known[i] && size <= known[i] + more) return TRUE;
  return size >= SIZE_MOST;
}

gboolean fc_chunk_size_is_placeholder(guint64 size) {
  return is_near_placeholder(size, SLACK, 44);
}

typedef struct chunk_walk {
  fc_input *input;
  const fc_chunk_layout *layout;
  fc_chunks *chunks;
  gint64 total;   /* where the file ends by its own account; -1: it does not say */
  guint64 data64; /* RF64: the size of the samples */
  gboolean has_ds64;
  gboolean turned; /* RIFX: sizes may stand in it as in RIFF from here on */
} chunk_walk;

/* A chunk's id, or the `size` bytes of its header that a cut has left, not padding. */
static gboolean plausible_id(const guint8 *id, gssize size) {
  for (gssize i = 0; i < MIN(size, 4); i++)
    if (id[i] < 32 || id[i] > 126) return FALSE;
  return TRUE;
}

/* Whether a place is behind the end of which the file tells; of CAF, which does not, behind the samples. */
static gboolean is_behind(const chunk_walk *walk, gint64 at) {
  return walk->chunks->data >= 0 && at >= walk->total;
}

/* What is there is none of the file's chunks: a word for it, if it is anything. */
static void meet_stray(chunk_walk *walk, gint64 at) {
  gboolean behind = is_behind(walk, at);
  if (behind && !fc_input_goes_on(walk->input, at)) return;
  if (behind)
    walk->chunks->joined = TRUE;
  else
    walk->chunks->stray = at;
}

/* Of CAF a name tells whether it is a chunk that was cut off. */
static gboolean is_known(const chunk_walk *walk, const guint8 *id) {
  return walk->layout->family != FC_FAMILY_CAF ||
         fc_chunk_id_is_among(id, "desc data kuki pakt chan strg mark regn midi ovvw peak info umid uuid "
                                  "edct free inst text");
}

/* What has no name may be a chunk all the same, if there is as much of it as it says, and what stands behind
 * the end only then; zeros fill a file up. */
static gboolean may_be_chunk(chunk_walk *walk, const fc_chunk *chunk, gint64 at) {
  gboolean word = plausible_id(chunk->id, 4), zeros = memcmp(chunk->id, "\0\0\0\0", 4) == 0;
  gboolean foreign = is_behind(walk, at) && (walk->total >= 0 || !is_known(walk, chunk->id));
  if (word && !foreign) return TRUE;
  if (!zeros && chunk->size <= walk->input->size - chunk->offset) return TRUE;
  if (!zeros || foreign) meet_stray(walk, at);
  return FALSE;
}

/* The true sizes of an RF64 file. */
static gboolean read_ds64(chunk_walk *walk, const fc_chunk *chunk, GError **error) {
  guint8 sizes[16];
  gssize got = fc_input_read_at(walk->input, chunk->offset, sizes, sizeof sizes, error);
  if (got != sizeof sizes) return got >= 0;
  walk->has_ds64 = TRUE;
  walk->total = (gint64)MIN(fc_chunk_get(walk->layout, sizes, 8) + 8, (guint64)G_MAXINT64);
  walk->data64 = fc_chunk_get(walk->layout, sizes + 8, 8);
  return TRUE;
}

/* The largest there is in place of the file's own size. */
static gboolean is_total_of_none(const chunk_walk *walk) {
  return walk->layout->size_bytes == 4 && !walk->has_ds64 &&
         walk->total == (gint64)G_MAXUINT32 + walk->layout->total_leaves_out;
}

/* A writer that counted in 32 bits has lost the same number of times 4 GiB of the samples as of the file. */
static void unwrap(chunk_walk *walk, fc_chunk *chunk) {
  gint64 lost = walk->total > chunk->offset ? walk->input->size - walk->total : 0;
  if (is_total_of_none(walk)) lost = walk->input->size - chunk->offset - chunk->size;
  if (walk->layout->size_bytes != 4 || walk->has_ds64 || lost <= 0 || lost & G_MAXUINT32) return;
  walk->chunks->wrapped = TRUE;
  walk->total = walk->input->size, chunk->size += lost;
}

/* Where the file ends by its own account, of which the samples end at a place; -1: it has none. What writers
 * leave whole, or farther from the samples' end than other chunks are long, is none; near it, it may happen
 * to be as large. */
static gint64 true_total(const chunk_walk *walk, gint64 samples_end) {
  if (walk->total < 0) return -1;
  const guint64 size = (guint64)walk->total - walk->layout->total_leaves_out;
  const gint64 behind = walk->total - samples_end;
  gboolean fits = behind >= 0 && behind <= TAIL_MOST;
  return is_near_placeholder(size, 0, 0) || (!fits && fc_chunk_size_is_placeholder(size)) ? -1 : walk->total;
}

/* With the byte that makes them even; far away, where no file ends. */
static gint64 end_of(const fc_chunk *chunk) {
  return (guint64)chunk->size >= SIZE_MOST ? G_MAXINT64 : chunk->offset + chunk->size + (chunk->size & 1);
}

/* Whether a size that may stand for another is one, as the file says that it has chunks behind the samples.
 */
static gboolean is_borne_out(const chunk_walk *walk, const fc_chunk *chunk) {
  const gint64 behind = true_total(walk, end_of(chunk)) - end_of(chunk);
  return walk->layout->size_bytes == 4 && !walk->has_ds64 && behind > COUNTED && behind <= TAIL_MOST;
}

guint64 fc_chunks_number(fc_input *input, const fc_chunks *chunks, const char *id, int at, int bytes) {
  guint8 field[8];
  for (guint i = 0; i < chunks->items->len; i++) {
    const fc_chunk *chunk = &g_array_index(chunks->items, fc_chunk, i);
    if (memcmp(chunk->id, id, 4) != 0 || chunk->size < at + bytes) continue;
    gssize got = fc_input_read_at(input, chunk->offset + at, field, (gsize)bytes, NULL);
    return got == bytes ? fc_chunk_get(fc_chunk_layout_of(chunks->family), field, bytes) : 0;
  }
  return 0;
}

/* The largest with a sign, which is a prime, of frames of several bytes, as WAV says. */
static gboolean is_prime_of_none(const chunk_walk *walk, const fc_chunk *chunk) {
  enum { FRAME_AT = 12 };
  return walk->layout->size_bytes == 4 && !walk->has_ds64 && chunk->size == G_MAXINT32 &&
         fc_chunks_number(walk->input, walk->chunks, "fmt ", FRAME_AT, 2) > 1;
}

/* Whether it is that, or the largest there is: then no file is as long. Others may be those of a file whose
 * own size was never set. */
static gboolean is_size_of_none(const chunk_walk *walk, const fc_chunk *chunk) {
  gboolean narrow = walk->layout->size_bytes == 4 && !walk->has_ds64;
  if (is_prime_of_none(walk, chunk) || (narrow && chunk->size == G_MAXUINT32)) return TRUE;
  return is_total_of_none(walk) || (guint64)chunk->size >= SIZE_MOST;
}

/* Whether what stands behind no samples is a chunk, with a name and its end within the file, or zeros that
 * fill the file up, rather than samples. */
static gboolean is_no_sample(const chunk_walk *walk, gint64 at, gint64 left) {
  guint8 header[24];
  const int length = walk->layout->id_bytes + walk->layout->size_bytes;
  if (fc_input_read_at(walk->input, at, header, (gsize)length, NULL) != length) return FALSE;
  guint64 size = fc_chunk_get(walk->layout, header + walk->layout->id_bytes, walk->layout->size_bytes);
  return memcmp(header, "\0\0\0\0", 4) == 0 || (plausible_id(header, 4) && size <= (guint64)left);
}

/* What a writer leaves who does not know. Where as much is there it may be a size that happens to be so, as
 * of recorders that begin another file at 2 GiB, with padding or tags behind it: but not if the file goes on
 * for long, the file's own size is none, or it is the largest there is, twice. */
static gboolean was_never_set(const chunk_walk *walk, const fc_chunk *chunk) {
  gint64 left = walk->input->size - chunk->offset;
  if (chunk->size == 0)
    return left > 0 && (walk->total <= chunk->offset || is_total_of_none(walk) ||
                        !is_no_sample(walk, chunk->offset, left));
  if (is_prime_of_none(walk, chunk)) return TRUE;
  if (!fc_chunk_size_is_placeholder((guint64)chunk->size) || is_borne_out(walk, chunk)) return FALSE;
  if (chunk->size > left) return TRUE;
  if (walk->layout->size_bytes != 4 || walk->has_ds64) return FALSE;
  gint64 end = MAX(walk->total, chunk->offset + chunk->size);
  gboolean ones = chunk->size == G_MAXUINT32 && is_total_of_none(walk);
  gboolean agree = walk->total >= chunk->offset + chunk->size;
  return ones || walk->input->size > end + (agree ? TAIL_MOST : SLACK);
}

/* TRUE when the walk goes on behind the samples. */
static gboolean meet_samples(chunk_walk *walk, fc_chunk *chunk) {
  if (walk->has_ds64 && chunk->size == 0xffffffff)
    chunk->size = (gint64)MIN(walk->data64, (guint64)G_MAXINT64);
  walk->chunks->data = (int)walk->chunks->items->len;
  if (was_never_set(walk, chunk)) {
    walk->chunks->open_ended = TRUE;
    walk->chunks->streamed = chunk->size && is_size_of_none(walk, chunk);
    chunk->size = -1;
  } else {
    unwrap(walk, chunk);
    walk->chunks->end = true_total(walk, end_of(chunk));
  }
  return chunk->size >= 0;
}

/* Two files one behind the other: the second is none of the first one's chunks. Some writers count the eight
 * bytes of the header in. */
static gboolean begins_another(const chunk_walk *walk, const fc_chunk *chunk, gint64 at) {
  return walk->chunks->data >= 0 && at + COUNTED >= walk->total &&
         memcmp(chunk->id, walk->layout->magic, 4) == 0;
}

/* Reads the header of the chunk at `at`; FALSE at the end of what makes sense. In RIFX libsndfile writes the
 * sizes of cue points, and of all behind them or a cart, as in RIFF. */
static gboolean read_header(chunk_walk *walk, gint64 at, fc_chunk *chunk, GError **error) {
  const fc_chunk_layout *layout = walk->layout;
  int length = layout->id_bytes + layout->size_bytes;
  guint8 header[24];
  gssize got = fc_input_read_at(walk->input, at, header, (gsize)length, error);
  if (got != length) {
    gboolean caf = got > 0 && !layout->total_at && plausible_id(header, got);
    if (caf && (got < 4 || is_known(walk, header))) walk->chunks->missing = length - got;
    return FALSE;
  }
  memset(chunk, 0, sizeof *chunk);
  memcpy(chunk->id, header, layout->id_bytes);
  guint64 size = fc_chunk_get(layout, header + layout->id_bytes, layout->size_bytes);
  walk->turned |= memcmp(chunk->id, "cart", 4) == 0 || memcmp(chunk->id, "cue ", 4) == 0;
  guint64 left = (guint64)(walk->input->size - at), turned = GUINT32_SWAP_LE_BE((guint32)size);
  if (layout->family == FC_FAMILY_RIFX && walk->turned && size > left && turned < left) size = turned;
  gboolean nonsense = layout->counts_header && size < (guint64)length;
  if (nonsense && is_behind(walk, at)) meet_stray(walk, at);
  if (nonsense) return FALSE;
  if (layout->counts_header) size -= (guint64)length;
  chunk->offset = at + length;
  chunk->size = (gint64)MIN(size, SIZE_MOST);
  return may_be_chunk(walk, chunk, at);
}

/* Whether a chunk may begin at `at`: it has a name, and is all there. */
static gboolean is_whole_at(const chunk_walk *walk, gint64 at) {
  const fc_chunk_layout *layout = walk->layout;
  guint8 header[8];
  gssize got = fc_input_read_at(walk->input, at, header, sizeof header, NULL);
  return got == sizeof header && plausible_id(header, 4) &&
         fc_chunk_get(layout, header + 4, 4) <= (guint64)(walk->input->size - at) - sizeof header;
}

/* Where the next chunk begins. Some writers leave out the byte that makes an odd size even. */
static gint64 place_behind(const chunk_walk *walk, const fc_chunk *chunk) {
  gint64 end = chunk->offset + chunk->size, align = walk->layout->align,
         place = chunk->offset + (chunk->size + align - 1) / align * align;
  return align == 2 && place > end && !is_whole_at(walk, place) && is_whole_at(walk, end) ? end : place;
}

static gboolean walk_chunks(chunk_walk *walk, GError **error) {
  GError *problem = NULL;
  gint64 at = walk->layout->file_header;
  fc_chunk chunk;
  while (walk->chunks->items->len < CHUNKS_MAX && read_header(walk, at, &chunk, &problem)) {
    if ((walk->chunks->joined = begins_another(walk, &chunk, at))) break;
    gboolean samples = memcmp(chunk.id, walk->layout->samples, 4) == 0;
    walk->chunks->several |= samples && walk->chunks->data >= 0 && chunk.size > 0;
    samples = samples && walk->chunks->data < 0;
    if (memcmp(chunk.id, "ds64", 4) == 0 && !read_ds64(walk, &chunk, &problem)) break;
    gboolean on = !samples || meet_samples(walk, &chunk);
    if (on && chunk.size > walk->input->size - chunk.offset) {
      gboolean inside = walk->total < 0 || at < walk->total || samples;
      if (inside) walk->chunks->missing = chunk.size - (walk->input->size - chunk.offset);
      on = FALSE;
    }
    g_array_append_val(walk->chunks->items, chunk);
    if (!on) break;
    at = place_behind(walk, &chunk);
  }
  if (walk->chunks->items->len == CHUNKS_MAX && read_header(walk, at, &chunk, &problem))
    walk->chunks->more = at;
  if (!problem) return TRUE;
  g_propagate_error(error, problem);
  return FALSE;
}

const fc_chunk_layout *fc_chunk_layout_at(const fc_input *input) {
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++)
    if (input->head_size >= layouts[i].file_header && memcmp(input->head, layouts[i].magic, 4) == 0)
      return &layouts[i];
  return NULL;
}

const guint8 *fc_chunks_peek(const fc_input *input, guint64 *at, guint64 *size) {
  const fc_chunk_layout *layout = fc_chunk_layout_at(input);
  if (!layout || !layout->total_at || layout->id_bytes != 4) return NULL;
  guint64 place = MAX(*at, layout->file_header);
  if (place + 8 > input->head_size) return NULL;
  const guint8 *chunk = input->head + place;
  *size = fc_chunk_get(layout, chunk + 4, 4);
  *at = place + 8 + *size + (*size & 1);
  return chunk;
}

/* Entries as libsndfile finds them: it takes kinds of lists for words, wherever they stand, and sizes for
 * numbers of 32 bits with a sign, and what is called as samples are for these. What reaches less far beyond
 * the list it passes by, and a list of the third kind it reads in another way. */
static gboolean is_endless(const fc_chunk_layout *layout, fc_window *list, gint64 offset, gsize size,
                           guint64 longest) {
  static const char *const kinds[] = {"adtl", "INFO", "exif"};
  for (gsize at = 0; size - at >= 8;) {
    const guint8 *id = fc_window_see(list, offset + (gint64)at, 8);
    gboolean kind = FALSE;
    if (!id) return TRUE;
    if (memcmp(id, kinds[2], 4) == 0) return at > 0;
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) kind |= memcmp(id, kinds[i], 4) == 0;
    if (memcmp(id, layout->samples, 4) == 0) return TRUE;
    guint64 entry = kind ? 4 : 8 + fc_chunk_get(layout, id + 4, 4);
    if (entry > longest) return TRUE;
    if (entry + (entry & 1) > size - at) return FALSE;
    at += (gsize)(entry + (entry & 1));
  }
  return FALSE;
}

gboolean fc_chunk_is_endless_list(fc_input *input, const fc_chunk *chunk, guint64 longest) {
  const fc_chunk_layout *layout = fc_chunk_layout_at(input);
  if (!layout || layout->size_bytes != 4 || memcmp(chunk->id, "LIST", 4) != 0) return FALSE;
  gsize size = (gsize)CLAMP(MIN(chunk->size, input->size - chunk->offset), 0, LIST_MAX + 1);
  fc_window list = {.input = input}; /* memory may be refused */
  return size > LIST_MAX || is_endless(layout, &list, chunk->offset, size, longest);
}

static gint64 total_of(const chunk_walk *walk) {
  const fc_chunk_layout *layout = walk->layout;
  if (!layout->total_at) return -1;
  guint64 size = fc_chunk_get(layout, walk->input->head + layout->total_at, layout->size_bytes);
  return (gint64)MIN(size, SIZE_MOST) + layout->total_leaves_out;
}

/* The file ends sooner than it says, though no chunk is cut: what came last is gone.
 * Some writers count the eight bytes of the header in. */
static void compare_total(chunk_walk *walk) {
  fc_chunks *chunks = walk->chunks;
  gint64 behind = walk->total - walk->input->size;
  if (chunks->missing || chunks->open_ended || walk->total < 0 || behind <= COUNTED) return;
  if (!fc_chunk_size_is_placeholder((guint64)walk->total - walk->layout->total_leaves_out))
    chunks->missing = behind;
}

fc_chunks *fc_chunks_read(fc_input *input, GError **error) {
  g_autoptr(fc_chunks) chunks = g_new0(fc_chunks, 1);
  chunks->items = g_array_new(FALSE, FALSE, sizeof(fc_chunk));
  chunks->data = chunks->end = -1;
  chunk_walk walk = {.input = input, .layout = fc_chunk_layout_at(input), .chunks = chunks};
  if (!walk.layout) return g_steal_pointer(&chunks);
  chunks->family = walk.layout->family;
  walk.total = total_of(&walk);
  if (!walk_chunks(&walk, error)) return NULL;
  compare_total(&walk);
  return g_steal_pointer(&chunks);
}

void fc_chunks_free(fc_chunks *chunks) {
  if (!chunks) return;
  g_array_free(chunks->items, TRUE);
  g_free(chunks);
}

gboolean fc_chunks_front_is_there(const fc_input *input) {
  const fc_chunk_layout *layout = fc_chunk_layout_at(input);
  if (!layout || !layout->total_at || layout->id_bytes != 4) return TRUE;
  fc_input front;
  fc_input_front(input, &front);
  g_autoptr(fc_chunks) chunks = fc_chunks_read(&front, NULL);
  return chunks->data >= 0;
}

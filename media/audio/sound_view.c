/* SPDX-License-Identifier: MIT */
/*
 * sound_view.c - see sound_view.h: a header of our own making, then the file's samples, then a table of
 * packets.
 */
#include "media/audio/sound_view.h"

#include <stdio.h>
#include <string.h>

#include "media/file/blob.h"
#include "media/audio/mpeg_front.h"
#include "media/audio/ogg_page.h"
#include "media/audio/ogg_pipe.h"
#include "media/audio/sound_front.h"
#include "media/audio/sound_pipe.h"
#include "media/audio/texts.h"

/* libsndfile keeps no more than 64 KB of all chunks, or 100 KB where half of it are CAF's samples. */
#define ROOM 65000
/* And another one for the table of packets, which it does not keep. */
#define TABLE_MAX ((gint64)64 << 20)

/* The largest MPEG frame is 60 times the smallest. */
#define FAR 64

/* Reads and moves that opening any sound may take, and one more for so many bytes. */
#define CALLS       ((gint64)1 << 20)
#define CALLS_EVERY 64

/* Of samples of which a pipe does not say how many they are: more than come, or what 32 bits can say beside
 * the other chunks. */
#define ENDLESS ((gint64)1 << 56)
#define LARGE   ((gint64)G_MAXUINT32 - FC_INPUT_HEAD)

struct fc_sound_view {
  fc_input *input;
  fc_sound_pipe *pipe;             /* or NULL */
  gint64 counted;                  /* bytes of a pipe that its header counts */
  gboolean is_open;                /* it does not count the samples */
  fc_blob header, tail;            /* ahead of the samples, and behind them */
  gint64 samples_at, samples_size; /* in the file */
  gint64 padding;                  /* of the samples, with which the tail begins */
  gint64 position, reached;
  gint64 calls; /* that are left */
  fc_sound_end end;
};

static gint64 size_of(const fc_sound_view *view) {
  return (gint64)view->header.size + view->samples_size + (gint64)view->tail.size;
}

/* ---- how long it may take ------------------------------------------------ */

void fc_sound_view_allow(fc_sound_view *view, gint64 values) {
  gint64 size = view->pipe ? FC_INPUT_HEAD : size_of(view);
  if (view->calls >= 0) view->calls = CALLS + size / CALLS_EVERY + values / CALLS_EVERY;
}

gboolean fc_sound_view_check(const fc_sound_view *view, GError **error) {
  if (view->pipe && view->pipe->problem && error) *error = g_error_copy(view->pipe->problem);
  if (view->pipe && view->pipe->problem) return FALSE;
  return view->calls >= 0 ||
         fc_fail(error, FC_IO, "%s: is damaged: libsndfile does not come to an end with it",
                 view->input->name);
}

/* It has failed for good then. */
static gboolean may_go_on(fc_sound_view *view) {
  if (view->calls >= 0) view->calls--;
  return view->calls >= 0;
}

/* ---- libsndfile's file ------------------------------------------------- */

static sf_count_t vio_size(void *data) {
  const fc_sound_view *view = data;
  return view->end == FC_SOUND_NO_END ? SF_COUNT_MAX : size_of(view);
}

/* What is read from the end is had from where it is. */
static gint64 end_of(const fc_sound_view *view, gint64 offset) {
  gboolean far = view->end == FC_SOUND_FAR_END && offset == 0;
  return far ? size_of(view) * FAR : size_of(view);
}

static sf_count_t vio_seek(sf_count_t offset, int whence, void *data) {
  fc_sound_view *view = data;
  gint64 from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? view->position : end_of(view, offset), to;
  if (!may_go_on(view) || __builtin_add_overflow(from, offset, &to) || to < 0) return -1;
  if (whence == SEEK_END && view->end == FC_SOUND_NO_END) return -1;
  return view->position = to;
}

static sf_count_t vio_tell(void *data) {
  fc_sound_view *view = data;
  return may_go_on(view) ? view->position : vio_size(view);
}

/* What there is at `at` of a part in memory. */
static gint64 read_blob(const fc_blob *blob, gint64 at, void *to, gint64 size) {
  gint64 got = CLAMP((gint64)blob->size - at, 0, size);
  if (got) memcpy(to, blob->data + at, (gsize)got);
  return got;
}

static gint64 read_samples(const fc_sound_view *view, gint64 at, void *to, gint64 size) {
  gint64 some = CLAMP(view->samples_size - at, 0, size);
  if (view->pipe) return fc_sound_pipe_read_at(view->pipe, view->samples_at + at, to, some);
  gssize got = some ? fc_input_read_at(view->input, view->samples_at + at, to, (gsize)some, NULL) : 0;
  return MAX(got, 0);
}

/* What begins among the samples ends with them: libsndfile reads whole blocks of what it decodes, and makes
 * silence of those that end sooner. */
static sf_count_t vio_read(void *to, sf_count_t size, void *data) {
  fc_sound_view *view = data;
  char *bytes = to;
  gint64 header = (gint64)view->header.size, tail = header + view->samples_size, at = view->position, got = 0;
  if (!may_go_on(view) || size <= 0) return 0;
  if (at >= header && at < tail) size = MIN(size, tail + view->padding - at);
  if (at < header) got = read_blob(&view->header, at, bytes, size);
  if (at + got >= header) got += read_samples(view, at + got - header, bytes + got, size - got);
  if (at + got >= tail) got += read_blob(&view->tail, at + got - tail, bytes + got, size - got);
  view->position += got;
  view->reached = MAX(view->reached, view->position);
  return got;
}

static sf_count_t vio_write(const void *from, sf_count_t size, void *data) {
  return 0;
}

SF_VIRTUAL_IO fc_sound_view_vio = {vio_size, vio_seek, vio_read, vio_write, vio_tell};

/* ---- the header -------------------------------------------------------- */

/* What libsndfile reads no samples without, and what it understands beside them. Behind a cart and cue points
 * it takes RIFX for RIFF, samples too. */
typedef struct known_chunks {
  fc_family family;
  const char *vital, *useful;
} known_chunks;

static const known_chunks known[] = {
    {FC_FAMILY_RIFF, "fmt  fact", "bext cart cue  smpl LIST"},
    {FC_FAMILY_RIFX, "fmt  fact", "bext LIST"},
    {FC_FAMILY_W64, "fmt  fact", ""},
    {FC_FAMILY_AIFF, "COMM", "NAME AUTH (c)  ANNO APPL MARK INST"},
    {FC_FAMILY_CAF, "desc kuki", "info"},
};

/* Of a family that has chunks. */
static const known_chunks *known_of(fc_family family) {
  gsize i = 0;
  while (i + 1 < G_N_ELEMENTS(known) && known[i].family != family) i++;
  return &known[i];
}

typedef struct maker {
  fc_sound_view *view;
  const fc_chunk_layout *layout;
  const fc_chunks *chunks;
  gsize align; /* libsndfile knows of no padding in RF64 */
} maker;

static const fc_chunk *chunk_at(const fc_chunks *chunks, guint i) {
  return &g_array_index(chunks->items, fc_chunk, i);
}

/* Cue points or marks, of which it says that there are none. */
static gboolean counts_nothing(const maker *make, const fc_chunk *chunk) {
  gboolean cues = memcmp(chunk->id, "cue ", 4) == 0, marks = memcmp(chunk->id, "MARK", 4) == 0;
  guint8 count[4];
  int bytes = cues ? 4 : 2;
  return (cues || marks) &&
         fc_input_read_at(make->view->input, chunk->offset, count, (gsize)bytes, NULL) == bytes &&
         fc_chunk_get(make->layout, count, bytes) == 0;
}

/* Is it the samples', empty, endless, too long, or not all there? */
static gboolean is_left_out(const maker *make, guint i) {
  const fc_input *input = make->view->input;
  const fc_chunk *chunk = chunk_at(make->chunks, i);
  gboolean text = make->layout->family == FC_FAMILY_AIFF && fc_chunk_id_is_among(chunk->id, FC_AIFF_TEXTS);
  return (text && chunk->size >= FC_AIFF_TEXT_MAX) || (int)i == make->chunks->data || chunk->size <= 0 ||
         chunk->size > input->size - chunk->offset || counts_nothing(make, chunk) ||
         fc_chunk_is_endless_list(make->view->input, chunk, FC_CHUNK_LIST_ENTRY_MAX / 2);
}

/* A kind comes once, as libsndfile goes through the whole of what another one promises each time; but for
 * lists, which are texts or labels, and texts by themselves, of which it takes the last. */
static gboolean is_repeated(const maker *make, guint i) {
  const guint8 *id = chunk_at(make->chunks, i)->id;
  if (fc_chunk_id_is_among(id, "LIST " FC_AIFF_TEXTS)) return FALSE;
  for (guint k = i; k-- > 0;)
    if (memcmp(chunk_at(make->chunks, k)->id, id, 4) == 0 && !is_left_out(make, k)) return TRUE;
  return FALSE;
}

/* Its id and size. */
static void put_head(const maker *make, fc_blob *to, const guint8 *id, guint64 size) {
  const fc_chunk_layout *layout = make->layout;
  guint8 field[8];
  int head = layout->id_bytes + layout->size_bytes;
  if (layout->size_bytes == 4) size = MIN(size, G_MAXUINT32);
  fc_blob_put(to, id, layout->id_bytes);
  fc_chunk_put(layout, field, size + (layout->counts_header ? (guint64)head : 0), layout->size_bytes);
  fc_blob_put(to, field, layout->size_bytes);
}

static void put_padding(const maker *make, fc_blob *to, guint64 size) {
  static const guint8 zeros[8];
  fc_blob_put(to, zeros, (make->align - size % make->align) % make->align);
}

/* The tag that an extended format stands for, of samples that stand one by one; or one that nobody knows. */
static guint64 plain_tag(const fc_chunk_layout *layout, const guint8 *body, gint64 size) {
  enum { TYPE_AT = 24, REST = 14, PCM = 1, FLOAT = 3, ALAW = 6, ULAW = 7, UNKNOWN = 0 };
  static const guint8 rests[][REST] = {
      {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71},        /* KSDATAFORMAT_SUBTYPE_ */
      {0, 0, 0x21, 7, 0xd3, 0x11, 0x86, 0x44, 0xc8, 0xc1, 0xca, 0, 0, 0}}; /* AMBISONIC_B_FORMAT_ */
  if (size < TYPE_AT + 2 + REST) return UNKNOWN;
  guint64 tag = fc_chunk_get(layout, body + TYPE_AT, 2);
  gboolean plain = tag == PCM || tag == FLOAT || tag == ALAW || tag == ULAW;
  for (gsize i = 0; plain && i < G_N_ELEMENTS(rests); i++)
    if (memcmp(body + TYPE_AT + 2, rests[i], REST) == 0) return tag;
  return UNKNOWN;
}

/* Of W64 whose format is extended libsndfile does not look which one it stands for, and takes all samples for
 * integers; RIFX with such a format it does not read: it sees the plain tag. How many bits are valid it does
 * not ask for in any case. */
static void make_plain(const maker *make, const fc_chunk *chunk, guint8 *body) {
  enum { EXTENDED = 0xfffe };
  gboolean family = make->layout->family == FC_FAMILY_W64 || make->layout->family == FC_FAMILY_RIFX;
  gboolean format = family && memcmp(chunk->id, "fmt ", 4) == 0;
  if (format && chunk->size >= 2 && fc_chunk_get(make->layout, body, 2) == EXTENDED)
    fc_chunk_put(make->layout, body, plain_tag(make->layout, body, chunk->size), 2);
}

/* The whole chunk, if it can be read. */
static void put_chunk(const maker *make, fc_blob *to, const fc_chunk *chunk) {
  gsize before = to->size, size = (gsize)chunk->size;
  put_head(make, to, chunk->id, size);
  guint8 *bytes = fc_blob_grow(to, size);
  if (bytes && fc_input_read_at(make->view->input, chunk->offset, bytes, size, NULL) != (gssize)size)
    to->size = before;
  else {
    if (bytes) make_plain(make, chunk, bytes);
    put_padding(make, to, size);
  }
}

/* As far as there is room for them. */
static void put_chunks(const maker *make, fc_blob *to, const char *words, gint64 room) {
  for (guint i = 0; i < make->chunks->items->len; i++) {
    const fc_chunk *chunk = chunk_at(make->chunks, i);
    if (fc_chunk_id_is_among(chunk->id, words) && chunk->size <= room - (gint64)to->size &&
        !is_left_out(make, i) && !is_repeated(make, i))
      put_chunk(make, to, chunk);
  }
}

/* Where a size of RF64 is all ones, it stands here: the file's, for which that of the samples will do, the
 * samples', frames, no others. */
static void put_ds64(const maker *make) {
  fc_blob *to = &make->view->header;
  put_head(make, to, (const guint8 *)"ds64", 28);
  fc_blob_put_little(to, (guint64)make->view->samples_size, 8);
  fc_blob_put_little(to, (guint64)make->view->samples_size, 8);
  fc_blob_put_little(to, 0, 8);
  fc_blob_put_little(to, 0, 4);
}

/* Whether the samples are MP3, which libmpg123 looks for behind them too. */
static gboolean is_mpeg(const maker *make) {
  enum { MP3 = 0x55 };
  guint8 tag[2];
  for (guint i = 0; i < make->chunks->items->len; i++) {
    const fc_chunk *chunk = chunk_at(make->chunks, i);
    if (memcmp(chunk->id, "fmt ", 4) == 0 && !is_left_out(make, i))
      return fc_input_read_at(make->view->input, chunk->offset, tag, sizeof tag, NULL) == sizeof tag &&
             fc_chunk_get(make->layout, tag, sizeof tag) == MP3;
  }
  return FALSE;
}

/* Of ALAC in CAF the depth stands in the decoder's own data, which some wrap in two atoms; in the flags of
 * the format, where libsndfile looks for it, ffmpeg puts none. */
static void set_alac_flags(const maker *make) {
  enum { FORMAT_AT = 28, FLAGS_AT = 32, ATOMS = 24, CONFIG = 24, DEPTH_AT = 5 };
  guint8 kuki[ATOMS + CONFIG], *header = make->view->header.data;
  if (make->view->header.size < FLAGS_AT + 4 || memcmp(header + FORMAT_AT, "alac\0\0\0\0", 8) != 0) return;
  for (guint i = 0; i < make->chunks->items->len; i++) {
    const fc_chunk *chunk = chunk_at(make->chunks, i);
    gssize size = (gssize)MIN(chunk->size, (gint64)sizeof kuki);
    if (memcmp(chunk->id, "kuki", 4) != 0 || size < CONFIG ||
        fc_input_read_at(make->view->input, chunk->offset, kuki, (gsize)size, NULL) != size)
      continue;
    gboolean wrapped = size == sizeof kuki && memcmp(kuki + 4, "frma", 4) == 0;
    int depth = kuki[DEPTH_AT + (wrapped ? ATOMS : 0)];
    header[FLAGS_AT + 3] = depth == 16 ? 1 : depth == 20 ? 2 : depth == 24 ? 3 : depth == 32 ? 4 : 0;
  }
}

/* What libsndfile needs goes ahead of the samples. All else goes behind them, where samples are safe from
 * what it makes of a chunk; but for samples of more bytes than it can be told of, and those that are not read
 * by it, nor to their end. */
static void make_view(fc_sound_view *view, const fc_chunks *chunks) {
  maker make = {view, fc_chunk_layout_at(view->input), chunks, 1};
  const fc_chunk_layout *layout = make.layout;
  gboolean riff = layout->family == FC_FAMILY_RIFF, four = layout->size_bytes == 4;
  gboolean wide = riff && (view->input->head[1] == 'F' || view->samples_size >= G_MAXUINT32);
  const known_chunks *words = known_of(layout->family);
  if (!wide) make.align = layout->align;
  fc_blob_put(&view->header, view->input->head, layout->file_header);
  if (wide && !view->header.failed) memcpy(view->header.data, "RF64", 4); /* of more than RIFF can say */
  if (wide) put_ds64(&make);
  put_chunks(&make, &view->header, words->vital, ROOM);
  if (layout->family == FC_FAMILY_CAF && !view->header.failed) set_alac_flags(&make);
  gboolean mpeg = is_mpeg(&make);
  if (mpeg) put_chunks(&make, &view->header, words->useful, ROOM - (gint64)view->header.size);
  guint64 samples = wide ? G_MAXUINT32 : (guint64)view->samples_size;
  if (chunks->data >= 0) put_head(&make, &view->header, chunk_at(chunks, (guint)chunks->data)->id, samples);
  if (*words->useful && !mpeg && (wide || !four || samples < G_MAXUINT32)) {
    put_padding(&make, &view->tail, (guint64)view->samples_size);
    view->padding = (gint64)view->tail.size;
    put_chunks(&make, &view->tail, words->useful, ROOM - (gint64)view->header.size);
    if (layout->family == FC_FAMILY_CAF) put_chunks(&make, &view->tail, "pakt", TABLE_MAX);
  }
  if (view->header.failed || !layout->total_at) return;
  guint64 total = (guint64)size_of(view) - layout->total_leaves_out;
  if (four) total = wide ? G_MAXUINT32 : MIN(total, G_MAXUINT32);
  fc_chunk_put(layout, view->header.data + layout->total_at, total, layout->size_bytes);
}

/* Libsndfile takes the size in AU for a number with a sign, and what was never set for that of no samples:
 * it sees none in the header, and no more of the file than there are. */
static void see_au(fc_sound_view *view, gint64 all) {
  enum { SIZE_AT = 8, SIZE_END = 12 };
  const guint8 none[] = {0xff, 0xff, 0xff, 0xff};
  gint64 offset, size;
  if (!fc_sound_front_au(view->input, &offset, &size) || offset < SIZE_END || offset > all) return;
  fc_blob_put(&view->header, view->input->head, SIZE_AT);
  fc_blob_put(&view->header, none, sizeof none);
  view->samples_at = SIZE_END;
  view->samples_size = all - SIZE_END;
  if (size >= 0) view->samples_size = MIN(view->samples_size, offset - SIZE_END + size);
}

/* MP3 without the zeros between its tags and its first frame. */
static void see_tags(fc_sound_view *view) {
  gint64 tags, zeros;
  if (memcmp(view->input->head, "ID3", 3) != 0) return;
  if (!(zeros = fc_mpeg_zeros_behind_tags(view->input, &tags))) return;
  guint8 *to = fc_blob_grow(&view->header, (gsize)tags);
  if (to) fc_input_read_at(view->input, 0, to, (gsize)tags, NULL);
  view->samples_at = tags + zeros;
  view->samples_size = view->input->size - view->samples_at;
}

/* Ogg, and nothing that stands behind it. */
static void see_ogg(fc_sound_view *view) {
  if (memcmp(view->input->head, FC_OGG_MARK, FC_OGG_MARK_SIZE) == 0)
    view->samples_size = fc_ogg_end(view->input);
}

static fc_sound_view *plain_view(fc_input *input, fc_sound_end end) {
  fc_sound_view *view = g_new0(fc_sound_view, 1);
  view->input = input;
  view->end = end;
  view->samples_size = input->size;
  see_au(view, input->size);
  see_tags(view);
  see_ogg(view);
  return view;
}

static fc_sound_view *check_view(fc_sound_view *view) {
  if (!view->header.failed && !view->tail.failed) return view;
  fc_sound_view_free(view);
  return NULL;
}

fc_sound_view *fc_sound_view_new(fc_input *input, const fc_chunks *chunks, fc_sound_end end) {
  if (!chunks->family) return check_view(plain_view(input, end));
  fc_sound_view *view = g_new0(fc_sound_view, 1);
  view->input = input;
  view->end = end;
  if (chunks->data >= 0) {
    const fc_chunk *samples = chunk_at(chunks, (guint)chunks->data);
    gint64 left = input->size - samples->offset;
    view->samples_at = samples->offset;
    view->samples_size = samples->size >= 0 ? MIN(samples->size, left) : left;
  }
  make_view(view, chunks);
  return check_view(view);
}

/* Only the samples of RIFF, which is told of them as RF64, and of AU may be as many as they are. */
static void make_pipe_view(fc_sound_view *view, const fc_input *pipe) {
  fc_input front;
  fc_input_front(pipe, &front);
  g_autoptr(fc_chunks) chunks = fc_chunks_read(&front, NULL);
  if (chunks->data < 0) {
    gint64 offset, size;
    see_au(view, ENDLESS);
    view->is_open = fc_sound_front_au(pipe, &offset, &size) && size < 0;
    view->counted = view->samples_at + view->samples_size;
    return;
  }
  const fc_chunk *samples = chunk_at(chunks, (guint)chunks->data);
  view->samples_at = samples->offset;
  gint64 most = chunks->family == FC_FAMILY_RIFF ? ENDLESS : LARGE;
  view->is_open = samples->size < 0;
  view->samples_size = view->is_open ? most : samples->size;
  view->counted = samples->offset + view->samples_size + (view->samples_size & 1);
  view->counted = MAX(view->counted, chunks->end);
  view->input = &front;
  make_view(view, chunks);
}

fc_sound_view *fc_sound_view_of_pipe(fc_input *input) {
  fc_sound_view *view = g_new0(fc_sound_view, 1);
  view->pipe = fc_sound_pipe_new(input);
  view->input = input;
  make_pipe_view(view, input);
  view->input = input;
  return check_view(view);
}

gboolean fc_sound_view_has_more_samples(fc_sound_view *view) {
  const fc_chunk_layout *layout = fc_chunk_layout_at(view->input);
  gint64 end = view->samples_at + view->samples_size;
  return view->pipe && layout && !view->is_open &&
         fc_sound_pipe_finds(view->pipe, layout, end + (view->samples_size & 1), view->counted);
}

gboolean fc_sound_view_goes_on(fc_sound_view *view) {
  return view->pipe && fc_sound_pipe_goes_on(view->pipe, view->counted);
}

gint64 fc_sound_view_reached(const fc_sound_view *view) {
  return view->reached;
}

gboolean fc_sound_view_is_open(const fc_sound_view *view) {
  return view->is_open;
}

void fc_sound_view_free(fc_sound_view *view) {
  if (!view) return;
  fc_sound_pipe_free(view->pipe);
  fc_blob_clear(&view->header);
  fc_blob_clear(&view->tail);
  g_free(view);
}

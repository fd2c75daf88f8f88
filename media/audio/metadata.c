/* SPDX-License-Identifier: MIT */
/*
 * metadata.c - see metadata.h. Chunks are read through our own walk of the file, as
 * libsndfile's chunk interface knows only some containers and writes at most 100 KB.
 */
#include "media/audio/metadata.h"

#include "media/audio/flac_front.h"
#include "media/audio/id3.h"
#include "media/audio/mpeg_end.h"
#include "media/audio/ogg_pipe.h"
#include "media/audio/rifx.h"
#include "media/audio/sound_memory.h"
#include "media/audio/sound_view.h"
#include "media/audio/texts.h"
#include "media/file/warn.h"

#include <string.h>

/* All of a file's metadata, cover art included. */
#define BYTES_MAX ((gsize)64 << 20)

/* Of all texts together that go into a file of another kind: what libsndfile has room for in most headers,
 * and in CAF's. */
#define TEXTS_MAX     ((gsize)60000)
#define CAF_TEXTS_MAX ((gsize)16000)

/* More than libsndfile reads of any file. */
#define CUES_MAX 65535

/* What libsndfile keeps of a coding history, or of a cart's text. */
#define HISTORY_MAX 16384

/* libsndfile's own has room for 100. */
typedef struct cue_points {
  guint32 count;
  SF_CUE_POINT points[];
} cue_points;

struct fc_metadata {
  fc_family family;
  GArray *chunks;     /* of fc_meta_chunk: of the family's own */
  GArray *translated; /* the same for RIFF, from another family; made when asked for */
  GArray *moved;      /* of those, what says something else of a part of the sound; made with `chosen` */
  GArray *chosen;     /* what fc_metadata_chunks gave out last; borrows from the above */
  int channels, rate;
  gint64 frames; /* FC_UNKNOWN */
  /* FLAC's blocks, and those of them that do not count samples. */
  fc_blob blocks, placeless_blocks;
  fc_blob part_blocks;  /* all of a part of the sound; made when asked for */
  fc_comments comments; /* of FLAC and Ogg, whose pictures are blocks */
  fc_comments kept;     /* what fc_metadata_comments gave out last */
  fc_seats seats;
  char *strings[SF_STR_LAST + 1];
  gsize texts; /* bytes of them */
  gboolean no_memory;
  GString *others; /* words for what nothing here reads of an ID3 tag */
  SF_BROADCAST_INFO_VAR(HISTORY_MAX) broadcast;
  SF_CART_INFO_VAR(HISTORY_MAX) cart;
  cue_points *cues; /* or NULL */
  SF_INSTRUMENT instrument;
  gboolean has_broadcast, has_cart, has_instrument, is_ogg;
};

/* ---- which chunks ------------------------------------------------------ */

typedef struct chunk_names {
  fc_family family;
  const char *layout; /* about how the samples lie, or made from them: written anew */
  const char *places; /* count samples: wrong at another rate */
  const char *seats;  /* count channels: wrong for another number */
} chunk_names;

static const chunk_names names[] = {
    {FC_FAMILY_RIFF, "fmt  data fact PEAK ds64 JUNK junk PAD  FLLR filr levl MD5  slnt wavl",
     "cue  smpl plst", "chna"},
    {FC_FAMILY_AIFF, "COMM SSND FVER PEAK", "MARK INST", "CHAN"},
    {FC_FAMILY_CAF, "desc data free peak pakt kuki ovvw", "mark regn inst", "chan"},
};

static const chunk_names *names_of(fc_family family) {
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    if (names[i].family == family) return &names[i];
  return NULL;
}

/* A LIST that holds labels of cue points. */
static gboolean is_label_list(const fc_meta_chunk *chunk) {
  return memcmp(chunk->id, "LIST", 4) == 0 && chunk->size >= 4 && memcmp(chunk->data, "adtl", 4) == 0;
}

/* What a chunk is called in a message: by number where its id is no word. */
static char *title_of(const fc_meta_chunk *chunk) {
  const guint8 *id = chunk->id;
  gboolean word = id[0] != ' ';
  for (int i = 0; i < 4; i++) word &= id[i] >= ' ' && id[i] <= '~' && id[i] != ',';
  if (is_label_list(chunk)) return g_strdup("labels");
  return word ? g_strchomp(g_strndup((const char *)id, 4))
              : g_strdup_printf("0x%02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
}

/* ---- where to ----------------------------------------------------------- */

typedef enum target { TO_RIFF = 1, TO_AIFF = 2, TO_CAF = 4, TO_FLAC = 8, TO_OGG = 16, TO_OTHER = 32 } target;
#define TO_TEXTS (TO_RIFF | TO_AIFF | TO_CAF | TO_FLAC | TO_OGG)

static target target_of(int format) {
  switch (format & SF_FORMAT_TYPEMASK) {
  case SF_FORMAT_WAV:
  case SF_FORMAT_RF64:
  case SF_FORMAT_W64: return TO_RIFF;
  case SF_FORMAT_AIFF: return TO_AIFF;
  case SF_FORMAT_CAF: return TO_CAF;
  case SF_FORMAT_FLAC: return TO_FLAC;
  case SF_FORMAT_OGG: return TO_OGG;
  default: return TO_OTHER;
  }
}

static gboolean is_opus(const fc_audio_spec *spec) {
  return (spec->samples.format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS;
}

/* ---- reading ----------------------------------------------------------- */

static void clear_chunk(void *chunk) {
  g_free(((fc_meta_chunk *)chunk)->data);
}

static GArray *chunk_array(void) {
  GArray *array = g_array_new(FALSE, FALSE, sizeof(fc_meta_chunk));
  g_array_set_clear_func(array, clear_chunk);
  return array;
}

/* RIFF, RF64, RIFX and W64 carry the same chunks; W64's ids begin with RIFF's, but for its
 * own "list". */
static fc_family family_of(fc_family family) {
  return family == FC_FAMILY_W64 || family == FC_FAMILY_RIFX ? FC_FAMILY_RIFF : family;
}

typedef enum read_result { READ, LEFT_OUT, ASTRAY, UNKNOWN, NO_MEMORY } read_result;

/* LEFT_OUT when it is too large or cannot be read; ASTRAY when the next reader would not come out of it, or
 * take samples out of it; UNKNOWN when it is not known what the order of its bytes is. */
static read_result read_chunk(fc_input *input, const fc_chunk *from, fc_family family, gsize *room,
                              fc_meta_chunk *to) {
  if (from->size < 0 || (gsize)from->size > *room || from->size > input->size - from->offset) return LEFT_OUT;
  if (fc_chunk_is_endless_list(input, from, FC_CHUNK_LIST_ENTRY_MAX)) return ASTRAY;
  to->size = (gsize)from->size;
  to->data = g_try_malloc(to->size + 1);
  if (!to->data) return NO_MEMORY;
  memcpy(to->id, memcmp(from->id, "list", 4) == 0 ? (const guint8 *)"LIST" : from->id, 4);
  gboolean read = fc_input_read_at(input, from->offset, to->data, to->size, NULL) == (gssize)to->size;
  if (read && (family != FC_FAMILY_RIFX || fc_rifx_turn(to))) {
    *room -= to->size;
    return READ;
  }
  g_free(to->data);
  return read ? UNKNOWN : LEFT_OUT;
}

static void warn_of_chunk(const fc_input *input, const fc_chunk *chunk, read_result why,
                          const fc_media_options *options) {
  if (why == UNKNOWN)
    fc_media_warn(options, "%s: its chunk %.4s, in big-endian WAV of no known order of bytes, is left out",
                  input->name, (const char *)chunk->id);
  else if (why == ASTRAY && fc_input_check(input, NULL))
    fc_media_warn(options, "%s: its chunk %.4s would lead other programs astray, and is left out",
                  input->name, (const char *)chunk->id);
  else if (why == LEFT_OUT && fc_input_check(input, NULL))
    fc_media_warn(options, "%s: its chunk %.4s is damaged, too large or cut off, and is left out",
                  input->name, (const char *)chunk->id);
}

/* NULL when there is no memory. */
static GArray *read_chunks(fc_input *input, const fc_chunks *chunks, const fc_media_options *options) {
  g_autoptr(GArray) array = chunk_array();
  const chunk_names *known = names_of(family_of(chunks->family));
  gsize room = BYTES_MAX;
  for (guint i = 0; known && i < chunks->items->len; i++) {
    const fc_chunk *chunk = &g_array_index(chunks->items, fc_chunk, i);
    if ((int)i == chunks->data || fc_chunk_id_is_among(chunk->id, known->layout)) continue;
    fc_meta_chunk copy = {.before = (int)i < chunks->data};
    read_result result = read_chunk(input, chunk, chunks->family, &room, &copy);
    if (result == NO_MEMORY) return NULL;
    if (result == READ) g_array_append_val(array, copy);
    warn_of_chunk(input, chunk, result, options);
  }
  return g_steal_pointer(&array);
}

static gsize size_of_cues(guint32 count) {
  return sizeof(cue_points) + count * sizeof(SF_CUE_POINT);
}

/* FALSE when there is no memory. */
static gboolean read_cues(fc_metadata *metadata, SNDFILE *file) {
  guint32 count = 0;
  if (sf_command(file, SFC_GET_CUE_COUNT, &count, sizeof count) != SF_TRUE || !count || count > CUES_MAX)
    return TRUE;
  gsize size = size_of_cues(count);
  metadata->cues = g_try_malloc0(size);
  if (metadata->cues && sf_command(file, SFC_GET_CUE, metadata->cues, (int)size) != SF_TRUE)
    metadata->cues->count = 0;
  return metadata->cues != NULL;
}

static void read_known(fc_metadata *metadata, SNDFILE *file) {
  metadata->has_broadcast =
      sf_command(file, SFC_GET_BROADCAST_INFO, &metadata->broadcast, sizeof metadata->broadcast) == SF_TRUE;
  metadata->has_cart = sf_command(file, SFC_GET_CART_INFO, &metadata->cart, sizeof metadata->cart) == SF_TRUE;
  metadata->has_instrument =
      sf_command(file, SFC_GET_INSTRUMENT, &metadata->instrument, sizeof metadata->instrument) == SF_TRUE;
}

/* FALSE when there is no memory. */
static gboolean keep_string(fc_metadata *metadata, int which, const char *text, gsize size) {
  char *to = metadata->strings[which] = g_try_malloc(size + 1);
  if (!to) return FALSE;
  memcpy(to, text, size);
  to[size] = 0;
  metadata->texts += size;
  return TRUE;
}

/* FALSE when there is no memory. */
static gboolean read_strings(fc_metadata *metadata, SNDFILE *file) {
  gboolean kept = TRUE;
  for (int i = SF_STR_FIRST; i <= SF_STR_LAST; i++) {
    const char *text = sf_get_string(file, i);
    if (text) kept = keep_string(metadata, i, text, strlen(text)) && kept;
  }
  return kept;
}

/* What libsndfile has not found. */
static void add_string(const char *name, int which, const char *text, gsize size, void *data) {
  fc_metadata *metadata = data;
  if (which && !metadata->strings[which] && size <= TEXTS_MAX && metadata->texts <= TEXTS_MAX - size)
    metadata->no_memory |= !keep_string(metadata, which, text, size);
}

/* Says when a pipe brings something behind the samples, as far as its chunks ahead of them tell. Some writers
 * count the eight bytes of the header in. */
static void warn_of_pipe(const fc_input *input, const fc_chunks *chunks, const fc_media_options *options) {
  enum { COUNTED = 8 };
  const fc_chunk *samples = &g_array_index(chunks->items, fc_chunk, chunks->data);
  if (chunks->end > samples->offset + samples->size + (samples->size & 1) + COUNTED)
    fc_media_warn(
        options, "%s: has more in it behind its samples, which a pipe does not keep: name the file, or use <",
        input->name);
}

/* What libsndfile makes of places in RIFX, which are as in RIFF by now: it is given them as such. FALSE when
 * there is no memory. */
static gboolean read_turned(fc_metadata *metadata) {
  static const guint8 sound[] = "RIFF\0\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08";
  g_auto(fc_blob) file = {0};
  fc_blob_put(&file, sound, sizeof sound);
  for (guint i = 0; i < metadata->chunks->len; i++) {
    const fc_meta_chunk *chunk = &g_array_index(metadata->chunks, fc_meta_chunk, i);
    if (!fc_chunk_id_is_among(chunk->id, "cue  smpl LIST")) continue;
    fc_blob_put(&file, chunk->id, sizeof chunk->id);
    fc_blob_put_little(&file, chunk->size, 4);
    fc_blob_put(&file, chunk->data, chunk->size);
    fc_blob_put_little(&file, 0, chunk->size & 1);
  }
  fc_blob_put(&file, "data\0\0\0", 8);
  if (file.failed) return FALSE;
  fc_input input = {.name = (char *)"RIFX", .fd = -1, .seekable = TRUE, .bytes = file.data};
  input.size = (gint64)file.size;
  input.head_size = (gsize)fc_input_read_at(&input, 0, input.head, sizeof input.head, NULL);
  g_autoptr(fc_chunks) chunks = fc_chunks_read(&input, NULL);
  fc_sound_view *view = fc_sound_view_new(&input, chunks, FC_SOUND_END);
  SF_INFO info = {0};
  if (!view) return FALSE;
  fc_sound_view_allow(view, 0);
  SNDFILE *places = sf_open_virtual(&fc_sound_view_vio, SFM_READ, &info, view);
  gboolean read = !places || read_cues(metadata, places);
  metadata->has_instrument = places && sf_command(places, SFC_GET_INSTRUMENT, &metadata->instrument,
                                                  sizeof metadata->instrument) == SF_TRUE;
  if (places) sf_close(places);
  fc_sound_view_free(view);
  return read;
}

/* The chunks as they are. FALSE when there is no memory. */
static gboolean read_own(fc_metadata *metadata, fc_input *input, const fc_chunks *chunks,
                         const fc_media_options *options) {
  if (!names_of(family_of(chunks->family))) return TRUE;
  if (chunks->stray)
    fc_media_warn(options,
                  "%s: from byte %" G_GINT64_FORMAT " on it holds no chunks, and what that is is left out",
                  input->name, chunks->stray);
  if (chunks->more)
    fc_media_warn(options,
                  "%s: holds more than %u chunks; those from byte %" G_GINT64_FORMAT " on are left out",
                  input->name, chunks->items->len, chunks->more);
  metadata->family = family_of(chunks->family);
  metadata->chunks = read_chunks(input, chunks, options);
  if (metadata->family == FC_FAMILY_RIFF) fc_seats_of_wav(&metadata->seats, input, chunks);
  if (metadata->chunks)
    fc_seats_of_layout(&metadata->seats, metadata->family, metadata->chunks, metadata->channels);
  for (guint i = 0; metadata->chunks && i < metadata->chunks->len; i++)
    fc_texts_find(metadata->family, &g_array_index(metadata->chunks, fc_meta_chunk, i), add_string, metadata);
  return metadata->chunks && !metadata->no_memory &&
         (chunks->family != FC_FAMILY_RIFX || read_turned(metadata));
}

/* Those ahead of the samples of a pipe are among its first bytes; more may be there, or not. */
static gboolean read_front(fc_metadata *metadata, const fc_input *input, const fc_media_options *options) {
  fc_input front;
  fc_input_front(input, &front);
  g_autoptr(fc_chunks) chunks = fc_chunks_read(&front, NULL);
  if (chunks->data < 0) return TRUE;
  warn_of_pipe(input, chunks, options);
  g_array_set_size(chunks->items, (guint)chunks->data + 1);
  chunks->stray = chunks->more = 0;
  return read_own(metadata, &front, chunks, options);
}

/* FALSE when not all of it could be had. */
static gboolean read_ogg(fc_metadata *metadata, fc_source *like, fc_input *input) {
  fc_comments *to = &metadata->comments;
  gboolean whole = input->seekable
                       ? fc_ogg_comments_read(input, to)
                       : fc_ogg_headers_comments(fc_ogg_pipe_headers(fc_audio_source_ogg(like)), to);
  fc_comments_take_pictures(to, &metadata->blocks);
  fc_blob_join(&metadata->placeless_blocks, &metadata->blocks);
  return whole;
}

static gboolean read_flac(fc_metadata *metadata, fc_input *input) {
  gboolean whole = fc_flac_front_read(input, &metadata->blocks, &metadata->comments);
  fc_flac_blocks_without_places(&metadata->blocks, &metadata->placeless_blocks);
  return whole;
}

/* What FLAC and Ogg say. FALSE when there is no memory. */
static gboolean read_comments(fc_metadata *metadata, fc_source *like, fc_input *input,
                              const fc_media_options *options) {
  int format = fc_audio_source_format(like) & SF_FORMAT_TYPEMASK;
  gboolean whole = TRUE;
  metadata->is_ogg = format == SF_FORMAT_OGG;
  if (metadata->is_ogg) whole = read_ogg(metadata, like, input);
  if (format == SF_FORMAT_FLAC) whole = read_flac(metadata, input);
  if (metadata->blocks.failed || metadata->placeless_blocks.failed || metadata->comments.fields.failed)
    return FALSE;
  if (!whole && fc_input_check(input, NULL))
    fc_media_warn(
        options,
        "%s: some of what it says beside its samples is damaged, too large or cut off, and is left out",
        input->name);
  fc_comments_find(&metadata->comments, add_string, metadata);
  fc_seats_of_comments(&metadata->seats, &metadata->comments);
  fc_seats_of_codec(&metadata->seats, input, fc_audio_source_format(like), metadata->channels);
  return !metadata->no_memory;
}

/* FALSE when there is no memory. */
static gboolean read_all(fc_metadata *metadata, fc_source *like, const fc_media_options *options) {
  SNDFILE *file = fc_audio_source_file(like);
  fc_input *input = fc_audio_source_input(like);
  const fc_chunks *chunks = fc_audio_source_chunks(like);
  read_known(metadata, file);
  if (!read_cues(metadata, file) || !read_comments(metadata, like, input, options)) return FALSE;
  if (!metadata->comments.count && !read_strings(metadata, file)) return FALSE;
  gboolean mpeg = (fc_audio_source_format(like) & SF_FORMAT_TYPEMASK) == FC_SF_MPEG;
  if (mpeg && fc_mpeg_has_ape(input))
    fc_media_warn(options, "%s: the APE tag that it ends with is left out", input->name);
  if (input->begins) fc_media_warn(options, "%s: the ID3 tag that it begins with is left out", input->name);
  if (input->seekable) fc_id3_name_others(input, metadata->others);
  fc_texts_find_annotation(input, add_string, metadata);
  if (chunks) return read_own(metadata, input, chunks, options);
  return read_front(metadata, input, options);
}

fc_metadata *fc_metadata_read(fc_source *like, const fc_media_options *options, GError **error) {
  if (!fc_audio_source_file(like)) return NULL;
  g_autoptr(fc_metadata) metadata = g_new0(fc_metadata, 1);
  metadata->others = g_string_new(NULL);
  metadata->channels = (int)like->format.extent[FC_AXIS_C];
  metadata->rate = (int)like->format.rate;
  metadata->frames = like->format.extent[FC_AXIS_X];
  fc_input *input = fc_audio_source_input(like);
  if (!read_all(metadata, like, options))
    fc_fail(error, FC_NO_MEMORY, "%s: no memory for its metadata", input->name);
  else if (fc_input_check(input, error))
    return g_steal_pointer(&metadata);
  return NULL;
}

void fc_metadata_free(fc_metadata *metadata) {
  if (!metadata) return;
  if (metadata->chunks) g_array_unref(metadata->chunks);
  if (metadata->translated) g_array_unref(metadata->translated);
  if (metadata->moved) g_array_unref(metadata->moved);
  if (metadata->chosen) g_array_unref(metadata->chosen);
  fc_blob_clear(&metadata->blocks);
  fc_blob_clear(&metadata->placeless_blocks);
  fc_blob_clear(&metadata->part_blocks);
  fc_comments_clear(&metadata->comments);
  fc_comments_clear(&metadata->kept);
  if (metadata->others) g_string_free(metadata->others, TRUE);
  g_free(metadata->cues);
  for (int i = 0; i <= SF_STR_LAST; i++) g_free(metadata->strings[i]);
  g_free(metadata);
}

/* ---- handing on -------------------------------------------------------- */

/* Whether frames can be told that are the input's. */
static gboolean has_places(const fc_metadata *metadata, const fc_audio_spec *spec) {
  return metadata->rate == spec->rate && !spec->adrift;
}

/* The part of the input that is stored. */
static fc_places places_in(const fc_metadata *metadata, const fc_audio_spec *spec) {
  return (fc_places){.lead = spec->adrift ? 0 : spec->lead,
                     .frames = spec->frames,
                     .stretch = (double)spec->rate / MAX(metadata->rate, 1),
                     .nowhere = spec->adrift};
}

/* Nothing is done to what a whole sound says, right or not. */
static gboolean is_part(const fc_metadata *metadata, const fc_audio_spec *spec) {
  gboolean shorter =
      spec->frames != FC_UNKNOWN && metadata->frames != FC_UNKNOWN && spec->frames < metadata->frames;
  return metadata->rate != spec->rate || spec->adrift || spec->lead != 0 || shorter;
}

static void warn_of_places(const fc_places *places, const fc_media_options *options, const char *name) {
  g_autofree char *cues = g_strdup_printf("%u cue point%s", places->cues, places->cues == 1 ? "" : "s");
  g_autofree char *loops = g_strdup_printf("%u loop%s", places->loops, places->loops == 1 ? "" : "s");
  g_autofree char *timers = g_strdup_printf("%u timer%s", places->timers, places->timers == 1 ? "" : "s");
  g_autoptr(GString) words = g_string_new(NULL);
  if (places->cues) fc_media_add_word(words, cues);
  if (places->loops) fc_media_add_word(words, loops);
  if (places->timers) fc_media_add_word(words, timers);
  if (words->len)
    fc_media_warn(options, "%s: not in what is kept of the input, and left out: %s", name, words->str);
}

static gboolean has_cues(const fc_metadata *metadata) {
  return metadata->cues && metadata->cues->count > 0;
}

/* What libsndfile does not take - but for memory there is no reason - is told. */
static void set_places(SNDFILE *file, int command, void *what, gsize size, const char *title,
                       const fc_audio_spec *spec, const char *name) {
  if (sf_command(file, command, what, (int)size) != SF_TRUE)
    fc_media_warn(spec->options, "%s: the %s of the input cannot be stored, and are left out", name, title);
}

static void apply_cues(const fc_metadata *metadata, SNDFILE *file, const fc_audio_spec *spec,
                       fc_places *places, const char *name) {
  gsize size = size_of_cues(metadata->cues->count);
  g_autofree cue_points *cues = g_try_malloc(size);
  if (cues) memcpy(cues, metadata->cues, size);
  if (cues && is_part(metadata, spec)) fc_places_move_cues(places, cues->points, &cues->count);
  if (!cues)
    set_places(file, SFC_SET_CUE, NULL, 0, "cue points", spec, name);
  else if (cues->count)
    set_places(file, SFC_SET_CUE, cues, size_of_cues(cues->count), "cue points", spec, name);
}

static void apply_loops(const fc_metadata *metadata, SNDFILE *file, const fc_audio_spec *spec,
                        fc_places *places, const char *name) {
  SF_INSTRUMENT instrument = metadata->instrument;
  if (is_part(metadata, spec)) fc_places_move_loops(places, &instrument);
  set_places(file, SFC_SET_INSTRUMENT, &instrument, sizeof instrument, "loops", spec, name);
}

/* In AIFF libsndfile forgets the cue points when it is given loops, and the loops too. */
static void apply_places(const fc_metadata *metadata, SNDFILE *file, const fc_audio_spec *spec,
                         const char *name) {
  target to = target_of(spec->samples.format);
  gboolean cues = has_cues(metadata) && (to & (TO_RIFF | TO_AIFF)),
           loops = metadata->has_instrument && to == TO_RIFF;
  g_auto(fc_places) places = places_in(metadata, spec);
  if ((cues || loops) && !has_places(metadata, spec)) {
    fc_media_warn(spec->options, "%s: the %s of the input no longer fit the samples, and are left out", name,
                  !loops  ? "cue points"
                  : !cues ? "loops"
                          : "cue points and loops");
    return;
  }
  if (cues) apply_cues(metadata, file, spec, &places, name);
  if (loops) apply_loops(metadata, file, spec, &places, name);
  warn_of_places(&places, spec->options, name);
}

/* No more than what is used, for libsndfile refuses the largest. */
static void apply_broadcast(const fc_metadata *metadata, SNDFILE *file, const fc_audio_spec *spec) {
  SF_BROADCAST_INFO_VAR(HISTORY_MAX) info;
  const fc_places places = places_in(metadata, spec);
  if (!metadata->has_broadcast) return;
  memcpy(&info, &metadata->broadcast, sizeof info);
  if (is_part(metadata, spec))
    fc_places_move_clock(&places, &info.time_reference_low, &info.time_reference_high);
  sf_command(file, SFC_SET_BROADCAST_INFO, &info,
             (int)(info.coding_history - (char *)&info) + (int)MIN(info.coding_history_size, HISTORY_MAX));
}

static gboolean apply_string(SNDFILE *file, int which, const char *text, target to) {
  if (!(to & (TO_CAF | TO_FLAC | TO_OGG))) return sf_set_string(file, which, text) == 0;
  g_autofree char *utf8 = fc_text_to_utf8(text); /* libsndfile frees a text twice that is none */
  return utf8 && sf_set_string(file, which, utf8) == 0;
}

/* Whether a kind of file has a place for a text. */
static gboolean takes_text(target to, int which) {
  gboolean in_aiff = which == SF_STR_TITLE || which == SF_STR_COPYRIGHT || which == SF_STR_SOFTWARE ||
                     which == SF_STR_ARTIST || which == SF_STR_COMMENT;
  return to == TO_AIFF ? in_aiff : to != TO_RIFF || which != SF_STR_LICENSE;
}

static void warn_of_texts(const fc_audio_spec *spec, const char *name, const char *why,
                          const GString *texts) {
  if (texts->len)
    fc_media_warn(spec->options, "%s: these texts of the input %s, and are left out: %s", name, why,
                  texts->str);
}

/* Where there is a place for them, for which a warning has been given else. */
static void apply_strings(const fc_metadata *metadata, SNDFILE *file, const fc_audio_spec *spec,
                          const char *name) {
  target to = target_of(spec->samples.format);
  gsize room = to == TO_CAF ? CAF_TEXTS_MAX : 2 * TEXTS_MAX, size;
  g_autoptr(GString) lost = g_string_new(NULL);
  for (int i = SF_STR_FIRST; i <= SF_STR_LAST; i++) {
    if (!metadata->strings[i] || !(size = strlen(metadata->strings[i]))) continue;
    if (size <= room && takes_text(to, i) && apply_string(file, i, metadata->strings[i], to))
      room -= size;
    else
      fc_media_add_word(lost, fc_text_name(i));
  }
  if (to & TO_TEXTS) warn_of_texts(spec, name, "cannot be stored", lost);
}

/* They go over themselves, whatever libsndfile knows of them. */
static gboolean takes_comments(const fc_metadata *metadata, const fc_audio_spec *spec) {
  return metadata->comments.count && (target_of(spec->samples.format) & (TO_FLAC | TO_OGG));
}

void fc_metadata_apply(const fc_metadata *metadata, SNDFILE *file, const fc_audio_spec *spec,
                       const char *name) {
  if (!takes_comments(metadata, spec)) apply_strings(metadata, file, spec, name);
  apply_broadcast(metadata, file, spec);
  if (metadata->has_cart)
    sf_command(file, SFC_SET_CART_INFO, (void *)&metadata->cart,
               (int)((char *)metadata->cart.tag_text - (char *)&metadata->cart) +
                   (int)MIN(metadata->cart.tag_text_size, HISTORY_MAX));
  apply_places(metadata, file, spec, name);
  const fc_seats seats = fc_metadata_seats(metadata, spec);
  if (!fc_seats_put_layout(&seats, file, spec))
    fc_media_warn(spec->options, "%s: no memory for where the channels sit, which is left out", name);
}

/* A WAV file of no length with what libsndfile can carry; FALSE when it cannot be made. */
static gboolean write_known(const fc_metadata *metadata, fc_sound_memory *to, const fc_audio_spec *spec,
                            const char *name) {
  SF_INFO info = {.samplerate = spec->rate, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
  SNDFILE *file = sf_open_virtual(&fc_sound_memory_vio, SFM_WRITE, &info, to);
  if (!file) return FALSE;
  fc_audio_spec mono = *spec;
  mono.samples.format = SF_FORMAT_WAV;
  mono.channels = 0; /* the mask goes into our own header */
  fc_metadata_apply(metadata, file, &mono, name);
  return sf_close(file) == 0 && !to->bytes.failed;
}

/* The chunks of that file; NULL with an error. */
static GArray *translate(const fc_metadata *metadata, const fc_audio_spec *spec,
                         const fc_media_options *options, const char *name, GError **error) {
  fc_input input = {.name = (char *)"metadata", .fd = -1, .seekable = TRUE};
  fc_sound_memory memory = {0};
  GArray *array = NULL;
  if (write_known(metadata, &memory, spec, name)) {
    input.bytes = memory.bytes.data;
    input.size = (gint64)memory.bytes.size;
    input.head_size = (gsize)MAX(fc_input_read_at(&input, 0, input.head, 64, NULL), 0);
    g_autoptr(fc_chunks) chunks = fc_chunks_read(&input, NULL);
    if (chunks) array = read_chunks(&input, chunks, options);
  }
  fc_blob_clear(&memory.bytes);
  if (!array) fc_fail(error, FC_NO_MEMORY, "no memory for the metadata of the input");
  return array;
}

/* Left out as the samples that it counts are no longer those. */
static gboolean is_stale(const fc_metadata *metadata, const fc_meta_chunk *chunk, const chunk_names *known,
                         const fc_audio_spec *spec) {
  gboolean place = fc_chunk_id_is_among(chunk->id, known->places) || is_label_list(chunk);
  return (place && !has_places(metadata, spec)) ||
         (fc_chunk_id_is_among(chunk->id, known->seats) && metadata->channels != spec->channels);
}

static gboolean is_movable(const fc_meta_chunk *chunk, const chunk_names *known) {
  return fc_chunk_id_is_among(chunk->id, known->places) || is_label_list(chunk) ||
         fc_chunk_id_is_among(chunk->id, "bext cart COMT");
}

/* Puts what a part of the sound says in the place of what all of it does. FALSE when there is no memory. */
static gboolean move_chosen(fc_metadata *metadata, const fc_audio_spec *spec, const char *name) {
  g_auto(fc_places) places = places_in(metadata, spec);
  const chunk_names *known = names_of(metadata->family);
  if (metadata->moved) g_array_unref(metadata->moved);
  metadata->moved = chunk_array();
  if (!fc_places_find(&places, metadata->family, metadata->chosen)) return FALSE;
  for (guint i = 0; i < metadata->chosen->len; i++) {
    fc_meta_chunk *chunk = &g_array_index(metadata->chosen, fc_meta_chunk, i);
    if (!is_movable(chunk, known)) continue;
    guint8 *copy = g_try_malloc(chunk->size + 1);
    if (!copy) return FALSE;
    chunk->data = memcpy(copy, chunk->data, chunk->size);
    fc_places_move(&places, metadata->family, chunk);
    g_array_append_val(metadata->moved, *chunk);
  }
  warn_of_places(&places, spec->options, name);
  return TRUE;
}

const GArray *fc_metadata_chunks(fc_metadata *metadata, fc_family family, const fc_audio_spec *spec,
                                 const fc_media_options *options, const char *name, GError **error) {
  family = family_of(family);
  if (!metadata || !names_of(family)) return NULL;
  if (metadata->family != family && family != FC_FAMILY_RIFF) return NULL;
  if (metadata->family != family && !metadata->translated) {
    metadata->translated = translate(metadata, spec, options, name, error);
    if (!metadata->translated) {
      g_prefix_error(error, "%s: ", name);
      return NULL;
    }
  }
  const GArray *from = metadata->family == family ? metadata->chunks : metadata->translated;
  if (metadata->chosen) g_array_unref(metadata->chosen);
  metadata->chosen = g_array_new(FALSE, FALSE, sizeof(fc_meta_chunk));
  for (guint i = 0; i < from->len; i++) {
    const fc_meta_chunk *chunk = &g_array_index(from, fc_meta_chunk, i);
    if (is_stale(metadata, chunk, names_of(family), spec))
      fc_media_warn(options, "%s: the chunk %.4s of the input no longer fits the samples, and is left out",
                    name, (const char *)chunk->id);
    else
      g_array_append_val(metadata->chosen, *chunk);
  }
  if (from == metadata->translated || !is_part(metadata, spec) || move_chosen(metadata, spec, name))
    return metadata->chosen;
  fc_fail(error, FC_NO_MEMORY, "%s: no memory for its metadata", name);
  return NULL;
}

fc_seats fc_metadata_seats(const fc_metadata *metadata, const fc_audio_spec *spec) {
  return metadata && metadata->channels == spec->channels ? metadata->seats : (fc_seats){0};
}

/* Said in comments, and so in those of the copy. */
static gboolean is_mask_in_comments(const fc_metadata *metadata, target to) {
  guint32 mask;
  return (to & (TO_FLAC | TO_OGG)) && fc_comments_get_mask(&metadata->comments, &mask);
}

guint32 fc_metadata_flac_mask(const fc_metadata *metadata, const fc_audio_spec *spec) {
  const fc_seats seats = fc_metadata_seats(metadata, spec);
  return metadata && !is_mask_in_comments(metadata, TO_FLAC) ? fc_seats_of_flac(&seats, spec->channels) : 0;
}

/* From Ogg into Ogg they go on sitting where they did. */
static gboolean keeps_seats(const fc_metadata *metadata, const fc_audio_spec *spec) {
  gboolean same = metadata->is_ogg && target_of(spec->samples.format) == TO_OGG;
  return metadata->channels == spec->channels &&
         (same || fc_seats_fit(&metadata->seats, spec) || !metadata->seats.said_by);
}

static const fc_blob *blocks_of_part(fc_metadata *metadata, const fc_audio_spec *spec, const char *name) {
  g_auto(fc_places) places = places_in(metadata, spec);
  fc_blob_clear(&metadata->part_blocks);
  fc_flac_blocks_of_part(&metadata->blocks, places.lead, places.frames, &metadata->part_blocks, &places.cues);
  if (metadata->part_blocks.size > metadata->placeless_blocks.size)
    warn_of_places(&places, spec->options, name);
  return &metadata->part_blocks;
}

/* A cue sheet says where the sound ends too. */
const fc_blob *fc_metadata_flac_blocks(fc_metadata *metadata, const fc_audio_spec *spec, const char *name) {
  if (!metadata) return NULL;
  gboolean sheet = metadata->blocks.size > metadata->placeless_blocks.size;
  const fc_blob *blocks = &metadata->placeless_blocks;
  if (has_places(metadata, spec) && !is_part(metadata, spec))
    blocks = &metadata->blocks;
  else if (sheet && has_places(metadata, spec) && spec->frames != FC_UNKNOWN)
    blocks = blocks_of_part(metadata, spec, name);
  if (sheet && blocks->size <= metadata->placeless_blocks.size)
    fc_media_warn(spec->options, "%s: the cue sheet of the input no longer fits the samples, and is left out",
                  name);
  return blocks->size || blocks->failed ? blocks : NULL;
}

const fc_comments *fc_metadata_comments(fc_metadata *metadata, const fc_audio_spec *spec, const char *name) {
  enum {
    LIBRARY = 4096,          /* more than its name and the numbers need */
    FLAC_FIELDS_MAX = 100000 /* libFLAC reads no file with more */
  };
  gboolean flac = target_of(spec->samples.format) == TO_FLAC;
  if (!metadata || !(target_of(spec->samples.format) & (TO_FLAC | TO_OGG))) return NULL;
  g_autoptr(GString) stale = g_string_new(NULL), large = g_string_new(NULL);
  fc_comments_rules rules = {.places = !is_part(metadata, spec),
                             .seats = keeps_seats(metadata, spec),
                             .room = flac ? FC_FLAC_BLOCK_MAX - LIBRARY : BYTES_MAX,
                             .most = flac ? FLAC_FIELDS_MAX - (fc_metadata_flac_mask(metadata, spec) != 0)
                                          : BYTES_MAX,
                             .stale = stale,
                             .large = large};
  const guint8 *block;
  fc_comments_clear(&metadata->kept);
  fc_comments_choose(&metadata->comments, &rules, &metadata->kept);
  if (is_opus(spec)) fc_blob_join(&metadata->kept.behind, &metadata->comments.behind);
  for (gsize at = 0, size; !flac && (block = fc_flac_block_next(&metadata->placeless_blocks, &at, &size));)
    if (*block == FC_FLAC_PICTURE) fc_comments_add_picture(&metadata->kept, block + FC_FLAC_BLOCK_HEAD, size);
  warn_of_texts(spec, name, "no longer fit the samples", stale);
  warn_of_texts(spec, name, "cannot be stored", large);
  metadata->kept.fields.failed |= metadata->kept.behind.failed;
  gboolean any = metadata->kept.count || metadata->kept.behind.size || metadata->kept.fields.failed;
  return any ? &metadata->kept : NULL;
}

/* ---- what is lost ------------------------------------------------------ */

/* Chunks that libsndfile takes out of one family and puts into another, in its way. */
static const struct {
  fc_family family;
  target to;
  const char *ids;
} carried[] = {
    {FC_FAMILY_RIFF, TO_AIFF, "cue "},
    {FC_FAMILY_AIFF, TO_RIFF, "MARK INST"},
    {FC_FAMILY_AIFF, TO_TEXTS, "NAME AUTH (c)  ANNO COMT"},
    {FC_FAMILY_CAF, TO_TEXTS, "info strg"},
};

static gboolean is_carried(const fc_metadata *metadata, const fc_meta_chunk *chunk, target to) {
  gboolean texts =
      memcmp(chunk->id, "LIST", 4) == 0 && chunk->size >= 4 && memcmp(chunk->data, "INFO", 4) == 0;
  if (texts || (metadata->family == FC_FAMILY_AIFF && fc_text_is_program(chunk))) return (to & TO_TEXTS) != 0;
  gboolean cues = fc_chunk_id_is_among(chunk->id, "cue  MARK");
  if (chunk == metadata->seats.layout) return TRUE; /* or told of by itself */
  for (gsize i = 0; i < G_N_ELEMENTS(carried); i++)
    if (carried[i].family == metadata->family && (carried[i].to & to) &&
        fc_chunk_id_is_among(chunk->id, carried[i].ids))
      return !cues || has_cues(metadata);
  return FALSE;
}

typedef struct lost_texts {
  const fc_metadata *metadata;
  GString *names;
  gboolean none; /* of its strings goes over */
} lost_texts;

/* One that libsndfile knows nothing of, that is too long, or not the one of its kind that goes over. */
static void add_lost_text(const char *name, int which, const char *text, gsize size, void *data) {
  lost_texts *lost = data;
  if (name && g_strcmp0(name, lost->metadata->seats.said_by) == 0) return;
  const char *kept = which && !lost->none ? lost->metadata->strings[which] : NULL;
  if (!kept || strlen(kept) != size || memcmp(kept, text, size) != 0)
    fc_media_add_word(lost->names, name ? name : "texts");
}

/* Of an ID3 tag ahead of MPEG libsndfile has texts alone; all else has them in chunks or comments. */
static void add_lost_strings(const fc_metadata *metadata, target to, GString *lost) {
  if ((to & TO_TEXTS) || metadata->chunks || metadata->comments.count) return;
  for (int i = SF_STR_FIRST; i <= SF_STR_LAST; i++)
    if (metadata->strings[i] && *metadata->strings[i]) fc_media_add_word(lost, fc_text_name(i));
}

static void add_lost_comments(const fc_metadata *metadata, target to, GString *lost) {
  lost_texts texts = {metadata, lost, !(to & TO_TEXTS)};
  if (!(to & (TO_FLAC | TO_OGG))) fc_comments_find(&metadata->comments, add_lost_text, &texts);
  if (to != TO_FLAC) fc_flac_blocks_name(&metadata->blocks, to != TO_OGG, lost);
}

static const target own_targets[] = {
    [FC_FAMILY_RIFF] = TO_RIFF, [FC_FAMILY_AIFF] = TO_AIFF, [FC_FAMILY_CAF] = TO_CAF};

static void add_lost_chunks(const fc_metadata *metadata, target to, GString *lost) {
  lost_texts texts = {metadata, lost, FALSE};
  if (!metadata->chunks || own_targets[metadata->family] == to) return;
  for (guint i = 0; i < metadata->chunks->len; i++) {
    const fc_meta_chunk *chunk = &g_array_index(metadata->chunks, fc_meta_chunk, i);
    if (is_carried(metadata, chunk, to)) {
      fc_texts_find(metadata->family, chunk, add_lost_text, &texts);
      continue;
    }
    g_autofree char *title = title_of(chunk);
    fc_media_add_word(lost, title);
  }
}

/* Unless the chunk that goes over, or the comment, is told of as such. */
static void add_lost_seats(const fc_metadata *metadata, const fc_audio_spec *spec, target to, GString *lost,
                           const char *name) {
  const char *by = metadata->seats.said_by;
  gboolean chunk = metadata->seats.layout && own_targets[metadata->family] == to;
  if (!by || chunk || is_mask_in_comments(metadata, to) || keeps_seats(metadata, spec) ||
      fc_seats_are_usual(&metadata->seats, metadata->channels))
    return;
  if (metadata->channels == spec->channels)
    fc_media_add_word(lost, by);
  else
    fc_media_warn(spec->options, "%s: the %s of the input no longer fits the samples, and is left out", name,
                  by);
}

/* From Ogg into Ogg it is filtered already. */
static void warn_of_fourth(const fc_metadata *metadata, const fc_audio_spec *spec, const char *title,
                           const char *name) {
  const fc_seats seats = fc_metadata_seats(metadata, spec);
  if (!keeps_seats(metadata, spec) && fc_seats_lose_fourth(&seats, spec))
    fc_media_warn(
        spec->options,
        "%s: %s takes the fourth channel for low-frequency effects, and may filter all else out of it", name,
        title);
}

void fc_metadata_warn_lost(const fc_metadata *metadata, const fc_audio_spec *spec, const char *title,
                           const char *name) {
  if (!metadata) return;
  target to = target_of(spec->samples.format);
  g_autoptr(GString) lost = g_string_new(NULL);
  add_lost_chunks(metadata, to, lost);
  add_lost_comments(metadata, to, lost);
  if (metadata->comments.behind.size && !is_opus(spec)) fc_media_add_word(lost, "data behind the comments");
  add_lost_strings(metadata, to, lost);
  add_lost_seats(metadata, spec, to, lost, name);
  fc_media_warn_lost(spec->options, name, title, lost);
  warn_of_fourth(metadata, spec, title, name);
  if (metadata->others->len)
    fc_media_warn(spec->options, "%s: of the input's ID3 tag these are not read, and left out: %s", name,
                  metadata->others->str);
}

/* ---- appending --------------------------------------------------------- */

static gboolean append_one(const fc_meta_chunk *chunk, const fc_chunk_layout *layout, fc_output *output,
                           GError **error) {
  static const guint8 zeros[8];
  guint8 header[FC_CHUNK_ID_MAX + 8];
  gsize length = (gsize)layout->id_bytes + layout->size_bytes, align = layout->align;
  gsize before = (gsize)(-fc_output_size(output) & (gint64)(align - 1));
  fc_chunk_put_id(layout, header, chunk->id);
  fc_chunk_put(layout, header + layout->id_bytes, chunk->size + (layout->counts_header ? length : 0),
               layout->size_bytes);
  return fc_output_write(output, zeros, before, error) && fc_output_write(output, header, length, error) &&
         fc_output_write(output, chunk->data, chunk->size, error) &&
         fc_output_write(output, zeros, (gsize)(-(gint64)chunk->size & (gint64)(align - 1)), error);
}

gboolean fc_metadata_append(const GArray *chunks, fc_family family, fc_output *output, GError **error) {
  const fc_chunk_layout *layout = fc_chunk_layout_of(family);
  if (!chunks->len) return TRUE;
  for (guint i = 0; i < chunks->len; i++)
    if (!append_one(&g_array_index(chunks, fc_meta_chunk, i), layout, output, error)) return FALSE;
  if (!layout->total_at) return TRUE;
  guint8 total[8];
  fc_chunk_put(layout, total, (guint64)fc_output_size(output) - layout->total_leaves_out, layout->size_bytes);
  return fc_output_write_at(output, layout->total_at, total, layout->size_bytes, error);
}

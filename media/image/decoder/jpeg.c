/* SPDX-License-Identifier: MIT */
/*
 * jpeg.c - JPEG by libjpeg-turbo, also at 1/2, 1/4 and 1/8 of its size: then it computes the
 * smaller picture from fewer coefficients of each block.
 *
 * At 1/8 that is the first one alone, except for colour at half the size of brightness. In a progressive file
 * the others of a component have scans of their own, which are skipped: a fifth of the file is left to
 * decode. At 1/4 the last bit of the others of brightness is left out, which has a scan of its own, half of
 * the file: where the coefficients are stored in fine steps (FINE; a quality of 82 and more) that changes
 * samples by 0.5 of 255 on average, and by 4 at most.
 *
 * What libjpeg-turbo only warns of, as coded data that make no sense, is damage here.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include "media/image/decoder/codec.h"

/* More than any encoder makes, and few enough that a small file cannot take long. */
#define SCANS_MOST 500
/* Steps of the coefficients next to the first one. */
#define FINE 4

enum { RST0 = 0xd0, RST7 = 0xd7, EOI = 0xd9, SOS = 0xda };

typedef struct jpeg_reader {
  struct jpeg_decompress_struct jpeg; /* first, so that callbacks find the rest */
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr source;
  struct jpeg_progress_mgr progress;
  jmp_buf out;
  const fc_decode_task *task;
  char said[JMSG_LENGTH_MAX]; /* the first damage, or what stopped it */
  gsize at;                   /* in the file, behind what libjpeg has been given */
  struct {
    guint8 id;
    gboolean last_bit;       /* and of no other */
  } skipped[MAX_COMPONENTS]; /* components of which not all of the coefficients but the first is wanted */
  int n_skipped;
  JDIMENSION width;   /* of the picture */
  gboolean has_shape; /* the report says how large the picture is */
} jpeg_reader;

/* ---- what libjpeg says ------------------------------------------------------- */

static gboolean begins_with_one_of(const char *said, const char *const *words) {
  for (; *words; words++)
    if (strncmp(said, *words, strlen(*words)) == 0) return TRUE;
  return FALSE;
}

static void stop(j_common_ptr jpeg) {
  jpeg_reader *reader = (jpeg_reader *)jpeg;
  jpeg->err->format_message(jpeg, reader->said);
  longjmp(reader->out, 1);
}

/* A warning is damage, unless of oddities; the rest is read where it is wanted all the same. */
static void take_message(j_common_ptr jpeg, int level) {
  static const char *const harmless[] = {"Unknown Adobe color", "Warning: unknown JFIF",
                                         "Invalid SOS parameters", NULL};
  jpeg_reader *reader = (jpeg_reader *)jpeg;
  char said[JMSG_LENGTH_MAX];
  if (level >= 0 || reader->said[0]) return;
  jpeg->err->format_message(jpeg, said);
  if (begins_with_one_of(said, harmless)) return;
  memcpy(reader->said, said, sizeof said);
  if (!reader->task->lenient) longjmp(reader->out, 1);
}

static void print_nothing(j_common_ptr jpeg) {}

static void count_scans(j_common_ptr jpeg) {
  jpeg_reader *reader = (jpeg_reader *)jpeg;
  if (reader->jpeg.input_scan_number <= SCANS_MOST) return;
  strcpy(reader->said, "has too many scans");
  longjmp(reader->out, 1);
}

/* ---- the file ------------------------------------------------------------------ */

/* Behind the coded data that begin at a place: where the next marker is, or the end. */
static gsize end_of_scan(const guint8 *file, gsize at, gsize size) {
  for (const guint8 *found; at < size && (found = memchr(file + at, 0xff, size - at)); at++) {
    at = (gsize)(found - file) + 1;
    if (at == size) break;
    const guint8 marker = file[at];
    if (marker && marker != 0xff && (marker < RST0 || marker > RST7)) return at - 1;
    if (marker == 0xff) at--;
  }
  return size;
}

/* Whether a segment, from its marker on, begins a scan of one component's other coefficients that is
 * skipped. */
static gboolean is_skipped(const jpeg_reader *reader, const guint8 *segment, gsize size) {
  enum { COUNT = 4, ID = 5, FIRST_COEFFICIENT = 7, BITS = 9, LAST_BIT = 0x10 };
  if (size <= BITS || segment[1] != SOS || segment[COUNT] != 1 || !segment[FIRST_COEFFICIENT]) return FALSE;
  for (int i = 0; i < reader->n_skipped; i++)
    if (reader->skipped[i].id == segment[ID])
      return !reader->skipped[i].last_bit || segment[BITS] == LAST_BIT;
  return FALSE;
}

/* From a marker to behind the segment, and the scan that it begins; the rest of the file where that is none.
 */
static gsize end_of_segment(const guint8 *file, gsize at, gsize size) {
  if (size - at < 4 || file[at] != 0xff || file[at + 1] < 0xc0 || file[at + 1] == 0xff ||
      (file[at + 1] >= RST0 && file[at + 1] <= EOI))
    return size;
  const gsize end = at + 2 + ((gsize)file[at + 2] << 8 | file[at + 3]);
  if (end > size) return size;
  return file[at + 1] == SOS ? end_of_scan(file, end, size) : end;
}

/* The file piece by piece, without the scans that are not wanted; and behind it an end. */
static boolean give_more(j_decompress_ptr jpeg) {
  static const JOCTET end[] = {0xff, EOI};
  jpeg_reader *reader = (jpeg_reader *)jpeg;
  const fc_decode_task *task = reader->task;
  while (reader->at < task->size) {
    const gsize from = reader->at;
    /* Only progressive files have scans to be skipped, of others the rest comes at once. */
    const gboolean all = from + 1 < task->size && task->file[from + 1] == SOS && !jpeg->progressive_mode;
    reader->at = all ? task->size : end_of_segment(task->file, from, task->size);
    if (is_skipped(reader, task->file + from, reader->at - from)) continue;
    reader->source.next_input_byte = task->file + from;
    reader->source.bytes_in_buffer = reader->at - from;
    return TRUE;
  }
  if (!reader->said[0]) strcpy(reader->said, "Premature end of JPEG file");
  if (!task->lenient) longjmp(reader->out, 1);
  reader->source.next_input_byte = end;
  reader->source.bytes_in_buffer = sizeof end;
  return TRUE;
}

static void skip(j_decompress_ptr jpeg, long count) {
  struct jpeg_source_mgr *source = jpeg->src;
  while (count > (long)source->bytes_in_buffer) {
    count -= (long)source->bytes_in_buffer;
    source->fill_input_buffer(jpeg);
  }
  source->next_input_byte += MAX(count, 0);
  source->bytes_in_buffer -= (gsize)MAX(count, 0);
}

static void do_nothing(j_decompress_ptr jpeg) {}

/* ---- decoding -------------------------------------------------------------------- */

/* Inks as Adobe's programs store them, and so nearly all such files: 255 is none. Each colour is what its ink
 * and black leave of light, rounded as Pillow rounds it; colour profiles of inks are not applied. In place.
 */
static void inks_to_rgb(guint8 *pixels, gsize count) {
  for (gsize i = 0; i < count; i++) {
    const guint8 *from = pixels + 4 * i;
    guint8 rgb[3];
    for (int c = 0; c < 3; c++) {
      const unsigned taken = (255u - from[c]) * from[3] + 128;
      const int left = from[3] - (int)((taken + (taken >> 8)) >> 8);
      rgb[c] = (guint8)(left > 0 ? left : 0);
    }
    memcpy(pixels + 3 * i, rgb, 3);
  }
}

/* Samples of a side of a block, of which an own number is made from each component's coefficients. */
static int scaled_size(const jpeg_component_info *component) {
#if JPEG_LIB_VERSION >= 70
  return component->DCT_h_scaled_size;
#else
  return component->DCT_scaled_size;
#endif
}

/* What is read ahead of the picture; then all of the file that is wanted comes in pieces. */
static void begin(jpeg_reader *reader) {
  struct jpeg_decompress_struct *jpeg = &reader->jpeg;
  const fc_decode_task *task = reader->task;
  jpeg_create_decompress(jpeg);
  reader->source = (struct jpeg_source_mgr){.init_source = do_nothing,
                                            .fill_input_buffer = give_more,
                                            .skip_input_data = skip,
                                            .resync_to_restart = jpeg_resync_to_restart,
                                            .term_source = do_nothing};
  reader->progress.progress_monitor = count_scans;
  reader->at = 2;
  reader->source.next_input_byte = task->file;
  reader->source.bytes_in_buffer = 2;
  jpeg->src = &reader->source, jpeg->progress = &reader->progress;
  jpeg_read_header(jpeg, TRUE);
  jpeg->scale_num = 1, jpeg->scale_denom = (guint)task->scale;
  const gboolean inks = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
  jpeg->out_color_space = inks ? JCS_CMYK : task->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_calc_output_dimensions(jpeg);
  for (int i = 0; jpeg->progressive_mode && i < jpeg->num_components; i++) {
    const jpeg_component_info *component = &jpeg->comp_info[i];
    const guint table = (guint)component->quant_tbl_no; /* not looked at by libjpeg yet */
    const JQUANT_TBL *steps = table < NUM_QUANT_TBLS ? jpeg->quant_tbl_ptrs[table] : NULL;
    const gboolean fine = steps && steps->quantval[1] <= FINE && steps->quantval[8] <= FINE;
    const int size = scaled_size(component);
    if (size > 2 || (size == 2 && !(i == 0 && fine))) continue;
    reader->skipped[reader->n_skipped].id = (guint8)component->component_id;
    reader->skipped[reader->n_skipped++].last_bit = size == 2;
  }
  if (reader->n_skipped) jpeg->do_block_smoothing = FALSE; /* which would make up what was skipped */
}

/* A pixel is smoothed with neighbours no further than this, which are decoded too. */
#define BESIDE 4

/* Rows of pixels, of which `left` is the first column. */
static void read_rows(jpeg_reader *reader, JDIMENSION left, JDIMENSION end) {
  struct jpeg_decompress_struct *jpeg = &reader->jpeg;
  const fc_decode_task *task = reader->task;
  const gsize pixel = (gsize)jpeg->output_components, row = (gsize)reader->width * pixel;
  while (jpeg->output_scanline < end) {
    JSAMPROW rows[8];
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
      rows[i] = task->pixels + MIN(jpeg->output_scanline + i, end - 1) * row + left * pixel;
    jpeg_read_scanlines(jpeg, rows, MIN(G_N_ELEMENTS(rows), end - jpeg->output_scanline));
  }
}

/* libjpeg-turbo (2.1.5) miscounts the columns of a component that is both made from more coefficients than
 * the others and enlarged, as with 4 x 2 or 2 x 4 samples of brightness for one of colour at half the size.
 */
static gboolean has_windows(const struct jpeg_decompress_struct *jpeg, int scale) {
  for (int i = 0; i < jpeg->num_components; i++) {
    const jpeg_component_info *c = &jpeg->comp_info[i];
    const int least = DCTSIZE / scale, size = scaled_size(c);
    if (size != least && (c->h_samp_factor * size != jpeg->max_h_samp_factor * least ||
                          c->v_samp_factor * size != jpeg->max_v_samp_factor * least))
      return FALSE;
  }
  return TRUE;
}

/* What is not looked at is only decoded as far as finding damage takes: without a transform, and in rows of
 * it, without colours. */
static void read_window(jpeg_reader *reader) {
  struct jpeg_decompress_struct *jpeg = &reader->jpeg;
  const fc_decode_window *w = &reader->task->window;
  const JDIMENSION across = (JDIMENSION)(jpeg->max_h_samp_factor * DCTSIZE / reader->task->scale),
                   down = (JDIMENSION)(jpeg->max_v_samp_factor * DCTSIZE / reader->task->scale),
                   right = MIN((JDIMENSION)(w->left + w->width + BESIDE), jpeg->output_width),
                   end = MIN((JDIMENSION)(w->top + w->height), jpeg->output_height),
                   last = (jpeg->output_height - 1) / down * down;
  JDIMENSION left = (JDIMENSION)MAX(w->left - BESIDE, 0) / across * across, width = right - left;
  const JDIMENSION top = (JDIMENSION)MAX(w->top - BESIDE, 0) / down * down;
  jpeg_crop_scanline(jpeg, &left, &width);
  if (top) jpeg_skip_scanlines(jpeg, top);
  read_rows(reader, left, end);
  /* To skip to the very end would be to leave the rest unread. */
  if (jpeg->output_scanline < last) jpeg_skip_scanlines(jpeg, last - jpeg->output_scanline);
  read_rows(reader, left, jpeg->output_height);
}

/* All that libjpeg does; it leaves by longjmp. */
static gboolean decode(jpeg_reader *reader, fc_decode_report *report) {
  struct jpeg_decompress_struct *jpeg = &reader->jpeg;
  const fc_decode_task *task = reader->task;
  begin(reader);
  if (!fc_decode_shape(task, report, jpeg->output_width, jpeg->output_height, task->channels, 8))
    return FALSE;
  const gboolean inks = jpeg->out_color_space == JCS_CMYK;
  const gsize row = (gsize)jpeg->output_width * (gsize)(inks ? 4 : task->channels);
  if (inks && (task->channels != 3 || row * jpeg->output_height > task->room))
    return fc_decode_fail(report, FC_CORRUPTED, "it holds more than its header says");
  reader->has_shape = TRUE, reader->width = jpeg->output_width;
  jpeg_start_decompress(jpeg);
  if (task->window.width > 0 && !inks && !task->lenient && has_windows(jpeg, task->scale))
    read_window(reader);
  else
    read_rows(reader, 0, jpeg->output_height);
  jpeg_finish_decompress(jpeg);
  if (inks) inks_to_rgb(task->pixels, (gsize)jpeg->output_width * jpeg->output_height);
  return TRUE;
}

/* After a failure with other words, or ahead of the pixels, there is no picture. */
static gboolean take_damage(const jpeg_reader *reader, fc_decode_report *report) {
  static const char *const words[] = {"Corrupt JPEG data", "Inconsistent progression", "Premature end", NULL};
  const char *said = reader->said;
  if (!begins_with_one_of(said, words)) return fc_decode_fail(report, FC_CORRUPTED, said);
  fc_decode_fail(report, strstr(said, "Premature end") ? FC_CUT_OFF : FC_CORRUPTED_IN_PARTS, said);
  return reader->task->lenient && reader->has_shape;
}

static gboolean try_to_decode(jpeg_reader *reader, fc_decode_report *report) {
  return setjmp(reader->out) == 0 && decode(reader, report);
}

gboolean fc_decode_jpeg(const fc_decode_task *task, fc_decode_report *report) {
  jpeg_reader reader = {.task = task};
  reader.jpeg.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = stop;
  reader.errors.emit_message = take_message;
  reader.errors.output_message = print_nothing;
  const gboolean done = try_to_decode(&reader, report);
  jpeg_destroy_decompress(&reader.jpeg);
  return reader.said[0] ? take_damage(&reader, report) : done;
}

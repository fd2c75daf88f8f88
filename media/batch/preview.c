/* SPDX-License-Identifier: MIT */
/*
 * preview.c - a contact sheet: some inputs of a batch, spread over the list, each beside its output, as one
 * picture. Images are reduced to fit squares by averaging pixels. Samples of 8 and 16 bits, and floats that
 * are code values, are shown unscaled; others are scaled from their least to their largest value. Costs N
 * runs of the chain and of a copy.
 */
#include "media/batch/batch.h"

#include "core/api/ends.h"
#include "core/context/chain.h"
#include "media/array/array.h"

#include <math.h>
#include <string.h>

#define TILE       256
#define GAP        4 /* between the two of a pair */
#define MARGIN     16
#define BACKGROUND 32
#define PAIRS_MOST 4096

/* An array of elements, (Y, X, C) or with the channels first. */
typedef struct picture {
  fc_source *source;
  char *pixels; /* dense */
  gint64 height, width, channels;
  gint64 y_step, x_step, c_step; /* in elements */
  int dtype;
  double low, scale; /* a value v is shown as (v - low) * scale */
} picture;

typedef struct sheet {
  guint8 *pixels;
  gint64 width, height, columns;
} sheet;

/* ---- a picture ------------------------------------------------------------------ */

static double value_at(const picture *p, gint64 y, gint64 x, gint64 c) {
  const gint64 at = y * p->y_step + x * p->x_step + c * p->c_step;
  switch (p->dtype) {
  case FC_U8: return ((const guint8 *)p->pixels)[at];
  case FC_I16: return ((const gint16 *)(const void *)p->pixels)[at];
  case FC_U16: return ((const guint16 *)(const void *)p->pixels)[at];
  case FC_I32: return ((const gint32 *)(const void *)p->pixels)[at];
  case FC_F32: return ((const float *)(const void *)p->pixels)[at];
  default: return ((const double *)(const void *)p->pixels)[at];
  }
}

/* How values are mapped to 0 to 255. */
static void choose_scale(picture *p) {
  double least = INFINITY, most = -INFINITY;
  p->low = 0, p->scale = p->dtype == FC_U16 ? 1 / 257.0 : 1;
  if (p->dtype == FC_U8 || p->dtype == FC_U16) return;
  for (gint64 y = 0; y < p->height; y++)
    for (gint64 x = 0; x < p->width; x++)
      for (gint64 c = 0; c < p->channels; c++) {
        const double v = value_at(p, y, x, c);
        if (isfinite(v)) least = MIN(least, v), most = MAX(most, v);
      }
  if (least >= 0 && most > 2 && most <= 255) return;
  p->low = isfinite(least) ? least : 0;
  p->scale = most > least ? 255 / (most - least) : 0;
}

/* The first frame of a source, in memory. */
static gboolean load(picture *p, GBytes *npy, const char *name, GError **error) {
  const fc_media_options options = {.in_format = "npy", .in_bytes = npy};
  p->source = fc_media_open(name, &options, error);
  if (!p->source) return FALSE;
  const fc_format *f = &p->source->format;
  const gint64 h = f->extent[FC_AXIS_Y], w = f->extent[FC_AXIS_X], ch = f->extent[FC_AXIS_C];
  const gint64 size = (gint64)fc_dtype_size(f->dtype);
  p->dtype = f->dtype;
  p->pixels = g_try_malloc0((gsize)MAX(h * w * ch * size, 1));
  if (!p->pixels) return fc_fail(error, FC_NO_MEMORY, "%s: no memory for the preview", name);
  fc_view into = {
      .size = sizeof into, .dtype = f->dtype, .kind = f->kind, .device = FC_HOST, .data = p->pixels};
  const gint64 shape[] = {1, h, w, ch}, strides[] = {h * w * ch * size, w * ch * size, ch * size, size};
  memcpy(into.shape, shape, sizeof shape);
  memcpy(into.stride, strides, sizeof strides);
  memcpy(into.extent, shape, sizeof shape);
  if (p->source->read(p->source, &into, error) < 1) return FALSE;
  const gboolean planar = ch > 4 && h <= 4; /* (C, Y, X) */
  p->height = planar ? w : h, p->width = planar ? ch : w, p->channels = planar ? h : ch;
  p->y_step = planar ? ch : w * ch, p->x_step = planar ? 1 : ch, p->c_step = planar ? w * ch : 1;
  choose_scale(p);
  return p->height > 0 && p->width > 0 && p->channels > 0;
}

static void picture_clear(picture *p) {
  if (p->source) p->source->free(p->source);
  g_free(p->pixels);
}

/* ---- a tile ---------------------------------------------------------------------- */

static guint8 shown(const picture *p, gint64 channel, const gint64 y[2], const gint64 x[2]) {
  double sum = 0;
  for (gint64 row = y[0]; row < y[1]; row++)
    for (gint64 column = x[0]; column < x[1]; column++) sum += value_at(p, row, column, channel);
  const double mean = sum / (double)((y[1] - y[0]) * (x[1] - x[0]));
  const double value = (mean - p->low) * p->scale;
  return value >= 0 ? (guint8)MIN(value + 0.5, 255) : 0; /* a NaN is black */
}

/* Draws it centred in the square with the corner (left, top); smaller images are not enlarged. */
static void draw(const sheet *s, gint64 left, gint64 top, const picture *p) {
  const double shrink = MAX(1, (double)MAX(p->height, p->width) / TILE);
  const gint64 height = MAX((gint64)((double)p->height / shrink), 1),
               width = MAX((gint64)((double)p->width / shrink), 1);
  top += (TILE - height) / 2, left += (TILE - width) / 2;
  for (gint64 y = 0; y < height; y++)
    for (gint64 x = 0; x < width; x++) {
      const gint64 rows[] = {y * p->height / height,
                             MAX((y + 1) * p->height / height, y * p->height / height + 1)};
      const gint64 columns[] = {x * p->width / width,
                                MAX((x + 1) * p->width / width, x * p->width / width + 1)};
      guint8 *to = s->pixels + ((top + y) * s->width + left + x) * 3;
      for (gint64 c = 0; c < 3; c++) to[c] = shown(p, p->channels >= 3 ? c : 0, rows, columns);
    }
}

/* ---- the sheet --------------------------------------------------------------------- */

/* Runs a chain on one input and draws the output. */
static gboolean show(const fc_batch *b, fc_chain *chain, const fc_task *task, const sheet *s, gint64 left,
                     gint64 top, GError **error) {
  GBytes *made = NULL;
  fc_options options = b->options;
  options.out_format = "npy", options.in_bytes = task->content, options.out_bytes = &made;
  options.progress = NULL;
  if (task->random_name) options.random_name = task->random_name;
  const fc_between between = {.input = task->input, .output = "preview.npy"};
  fc_opened *opened = fc_opened_new(chain, &between, &options, error);
  g_autofree char *path = fc_file_split(task->input, TRUE, NULL), *name = fc_display_name(path, "-");
  if (!opened) return FALSE;
  opened->drawn = name;
  if (!fc_opened_run(opened, chain, task->input, between.output, &options, NULL, error)) return FALSE;
  picture p = {0};
  const gboolean ok = load(&p, made, task->input, error);
  if (ok) draw(s, left, top, &p);
  picture_clear(&p);
  g_bytes_unref(made);
  return ok;
}

/* What an operator says does not name the file. */
static void warn(const fc_batch *b, const fc_task *task, const GError *why) {
  g_autofree char *path = fc_file_split(task->input, TRUE, NULL), *name = fc_display_name(path, "-");
  const gboolean named = g_str_has_prefix(why->message, name);
  fc_context_log(b->chain->context, FC_LOG_WARNING, "%s%s%s", named ? "" : name, named ? "" : ": ",
                 why->message);
}

static fc_task *pick(fc_batch *b, gint64 i, gint64 n) {
  if (!b->archives) {
    fc_task *task = g_new0(fc_task, 1);
    const fc_entry *entry =
        &g_array_index(b->inputs.entries, fc_entry, (guint)(i * b->inputs.entries->len / n));
    task->input = fc_entry_text(entry);
    task->random_name = g_strdup(entry->path + entry->root);
    return task;
  }
  fc_task *task;
  while ((task = fc_batch_bring(b)) && task->pass) fc_task_free(task);
  return task;
}

static gboolean put(const sheet *s, const char *path, const fc_batch *b, GError **error) {
  const fc_media_options options = {.no_clobber = b->options.no_clobber, .sync = b->options.sync};
  fc_sink *sink = fc_media_create(path, &options, NULL, error);
  fc_view view = {
      .size = sizeof view, .dtype = FC_U8, .kind = FC_IMAGE, .device = FC_HOST, .data = s->pixels};
  fc_format format = {
      .size = sizeof format, .kind = FC_IMAGE, .dtype = FC_U8, .bits = 8, .layout = FC_INTERLEAVED};
  const gint64 shape[] = {1, s->height, s->width, 3},
               strides[] = {s->height * s->width * 3, s->width * 3, 3, 1};
  memcpy(view.shape, shape, sizeof shape);
  memcpy(view.extent, shape, sizeof shape);
  memcpy(view.stride, strides, sizeof strides);
  memcpy(format.extent, shape, sizeof shape);
  const gboolean ok = sink && sink->accept(sink, &format, error) && sink->begin(sink, &format, error) &&
                      sink->write(sink, &view, error) && sink->commit(sink, error);
  if (sink) sink->free(sink);
  return ok;
}

static sheet sheet_of(gint64 n) {
  sheet s = {.columns = (gint64)ceil(sqrt((double)n / 2))};
  const gint64 rows = (n + s.columns - 1) / s.columns;
  s.width = MARGIN + s.columns * (2 * TILE + GAP + MARGIN), s.height = MARGIN + rows * (TILE + MARGIN);
  s.pixels = g_malloc((gsize)(s.width * s.height * 3));
  memset(s.pixels, BACKGROUND, (gsize)(s.width * s.height * 3));
  return s;
}

gboolean fc_batch_preview(fc_batch *b, gint64 n, const char *path, GError **error) {
  static const char *const nothing[] = {NULL};
  g_autoptr(fc_chain) copy = fc_chain_parse(b->chain->context, nothing, error);
  gint64 drawn = 0;
  if (!copy) return FALSE;
  if (!b->archives) n = MIN(n, (gint64)b->inputs.entries->len);
  if (n < 1 || n > PAIRS_MOST)
    return fc_fail(error, FC_INVALID, "--preview: shows 1 to %d pairs", PAIRS_MOST);
  sheet s = sheet_of(n);
  for (gint64 i = 0; i < n; i++) {
    g_autoptr(fc_task) task = pick(b, i, n);
    g_autoptr(GError) why = NULL;
    const gint64 left = MARGIN + i % s.columns * (2 * TILE + GAP + MARGIN),
                 top = MARGIN + i / s.columns * (TILE + MARGIN);
    if (!task) break;
    if (task->why) why = g_error_copy(task->why);
    if (!why && show(b, copy, task, &s, left, top, &why) &&
        show(b, b->chain, task, &s, left + TILE + GAP, top, &why))
      drawn++;
    if (why) warn(b, task, why);
  }
  const gboolean ok =
      drawn ? put(&s, path, b, error) : fc_fail(error, FC_IO, "%s: there is nothing to show", path);
  g_free(s.pixels);
  fc_batch_rewind(b);
  return ok;
}

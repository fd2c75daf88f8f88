/* SPDX-License-Identifier: MIT */
/* ends.c - see ends.h. */
#include "core/api/ends.h"

#include "core/base/error.h"
#include "core/run/feed.h"
#include "core/run/memory.h"
#include "core/api/passes.h"

#include <string.h>

/* ---- what a caller gives --------------------------------------------------------- */

static const fc_options default_options = FC_OPTIONS_INIT;

fc_options fc_full_options(const fc_options *options) {
  fc_options full = default_options;
  if (options) memcpy(&full, options, MIN(options->size, sizeof full));
  full.size = sizeof full;
  return full;
}

gint32 fc_first_device(const char *device) {
  if (!device || !g_str_has_prefix(device, "cuda")) return FC_HOST;
  const char *ordinal = device[4] == ':' ? device + 5 : "0";
  return FC_CUDA_DEVICE((gint32)CLAMP(g_ascii_strtoll(ordinal, NULL, 10), 0, 1023));
}

fc_starting *fc_start_device(fc_chain *chain, const char *device) {
  const fc_driver *driver = chain->context->driver;
  const gint32 first = fc_first_device(device);
  return driver && first != FC_HOST ? driver->start(first) : NULL;
}

/* Operators load whole elements, so each must be aligned to its type. */
static gboolean check_alignment(const fc_view *v, const char *which, GError **error) {
  gint64 size = (gint64)fc_dtype_size(v->dtype);
  if ((guintptr)v->data % (guintptr)size)
    return fc_fail(error, FC_INVALID, "the %s view's data is not aligned to its elements of %d bytes", which,
                   (int)size);
  for (int a = 0; a < FC_AXES; a++)
    if (v->shape[a] > 1 && v->stride[a] % size)
      return fc_fail(error, FC_INVALID, "the %s view's stride on axis %c is not a multiple of %d bytes",
                     which, "NYXC"[a], (int)size);
  return TRUE;
}

/* A window of a larger signal is refused: values near its edges depend on samples outside it. */
static gboolean check_whole(const fc_view *v, const char *which, GError **error) {
  for (int a = 0; a < FC_AXES; a++)
    if (v->origin[a] != 0 || (v->extent[a] != 0 && v->extent[a] != v->shape[a]))
      return fc_fail(
          error, FC_UNSUPPORTED,
          "the %s view is a window of a larger signal on axis %c: give the signal whole, or push its "
          "pieces into a session",
          which, "NYXC"[a]);
  return TRUE;
}

gboolean fc_check_view(const fc_view *v, fc_view *full, const char *which, gboolean device, GError **error) {
  fc_view copy = {0};
  if (v->size < G_STRUCT_OFFSET(fc_view, origin))
    return fc_fail(error, FC_INVALID, "the %s view does not say its size", which);
  memcpy(&copy, v, MIN(v->size, sizeof copy));
  *full = copy; /* `full` may be where the view came from */
  full->size = sizeof *full;
  v = full;
  if (fc_dtype_size(v->dtype) == 0)
    return fc_fail(error, FC_INVALID, "the %s view has no known element type", which);
  if (v->kind < 0 || v->kind >= FC_KIND_COUNT)
    return fc_fail(error, FC_INVALID, "the %s view has no known kind", which);
  if ((v->device != FC_HOST) != device)
    return fc_fail(error, FC_INVALID, "the %s view lies in %s memory", which, device ? "host" : "device");
  for (int a = 0; a < FC_AXES; a++)
    if (v->shape[a] < 0) return fc_fail(error, FC_INVALID, "the %s view has a negative shape", which);
  if (!v->data && fc_view_count(v) > 0) return fc_fail(error, FC_INVALID, "the %s view has no data", which);
  if (!check_whole(v, which, error)) return FALSE;
  memcpy(full->extent, full->shape, sizeof full->extent);
  return check_alignment(v, which, error);
}

/* ---- opening -------------------------------------------------------------------- */

static gboolean measures(const fc_chain *chain) {
  for (guint i = 0; i < chain->n; i++)
    if (chain->stages[i].op->report) return TRUE;
  return FALSE;
}

static gboolean generates(const fc_chain *chain) {
  return chain->n > 0 && chain->stages[0].op->flags & FC_OP_GENERATOR;
}

/* Format options given for the chain's signal do not apply to further inputs. */
static fc_options options_of_side(const fc_options *o) {
  fc_options side = *o;
  side.in_format = side.in_raw = NULL;
  side.in_bytes = NULL;
  return side;
}

static fc_source *open_side(fc_context *context, const fc_stage *stage, const fc_stage_input *input,
                            const fc_options *o, GError **error) {
  fc_options side = options_of_side(o);
  if (!input->path) {
    fc_view full;
    return fc_check_view(&input->view, &full, "further input", FALSE, error)
               ? fc_memory_source_new(context, &full)
               : NULL;
  }
  if (strcmp(input->path, "-") == 0) {
    fc_fail(error, FC_INVALID, "%s: a further input is a file, not standard input", stage->op->name);
    return NULL;
  }
  if (!context->media || !context->media->open_source) {
    fc_fail(error, FC_UNSUPPORTED, "%s: %s: this context reads no files", stage->op->name, input->path);
    return NULL;
  }
  return context->media->open_source(context, input->path, &side, error);
}

/* Whether all inputs can be read again: files can, pipes cannot. Two-pass stages from `from` on require
 * it, and so does a fallback to the CPU during the run. */
static gboolean check_again(fc_opened *o, guint from, const char *file, const fc_source *source,
                            GError **error) {
  const gboolean again = strcmp(file, "-") != 0 && !g_str_has_prefix(file, "-:") &&
                         g_file_test(source->name, G_FILE_TEST_IS_REGULAR | G_FILE_TEST_IS_DIR);
  if (!again && !o->once) o->once = g_strdup(source->name);
  return fc_passes_check(o->chain, from, again, "an input that can be read once only", error);
}

static gboolean open_sides(fc_opened *o, GError **error) {
  fc_chain *chain = o->chain;
  guint n = 0;
  for (guint i = 0; i < chain->n; i++) n += chain->stages[i].n_inputs;
  o->sides = g_new0(fc_source *, n + 1);
  o->side_formats = g_new0(const fc_format *, n + 1);
  o->side_names = g_new0(const char *, n + 1);
  o->query.sides = o->side_formats, o->query.side_names = o->side_names;
  for (guint i = 0; i < chain->n; i++)
    for (guint k = 0; k < chain->stages[i].n_inputs; k++) {
      const fc_stage *stage = &chain->stages[i];
      fc_source *source = open_side(chain->context, stage, &stage->inputs[k], o->options, error);
      if (!source) return FALSE;
      o->sides[o->n_sides] = source;
      o->side_formats[o->n_sides] = &source->format;
      o->side_names[o->n_sides++] = source->name;
      if (stage->inputs[k].path && !check_again(o, i, stage->inputs[k].path, source, error)) return FALSE;
    }
  return TRUE;
}

/* Joins the inputs that follow the first one to it, as one source. */
static gboolean join_followers(fc_opened *o, GError **error) {
  fc_context *context = o->chain->context;
  fc_options options = *o->options;
  if (!options.followers || !options.followers[0]) return TRUE;
  options.in_bytes = NULL; /* these belong to the first input */
  g_autoptr(GPtrArray) sources = g_ptr_array_new();
  g_ptr_array_add(sources, g_steal_pointer(&o->source));
  for (const char *const *next = o->options->followers; *next; next++) {
    fc_source *source = context->media->open_source(context, *next, &options, error);
    if (source) g_ptr_array_add(sources, source);
    if (source && check_again(o, 0, *next, source, error)) continue;
    for (guint i = 0; i < sources->len; i++) {
      source = g_ptr_array_index(sources, i);
      source->free(source);
    }
    return FALSE;
  }
  o->source = fc_joined_source((fc_source **)sources->pdata, sources->len, error);
  if (o->source) o->format = o->source->format;
  return o->source != NULL;
}

/* The format that the view gives, completed by the caller's `meaning`. */
static void format_of_view(const fc_view *view, const fc_options *o, fc_format *format) {
  fc_format_of_view(view, format);
  if (!o->meaning) return;
  fc_format told = {0};
  memcpy(&told, o->meaning, MIN(o->meaning->size, sizeof told));
  if (told.bits > 0) format->bits = told.bits;
  format->rate = told.rate, format->color = told.color, format->alpha = told.alpha;
  format->channels = told.channels, format->time_num = told.time_num, format->time_den = told.time_den;
}

/* Takes the source over; NULL on failure. */
static gboolean load(const fc_opened *o, fc_source **source, GError **error) {
  *source = fc_source_load(o->chain->context, g_steal_pointer(source), error);
  return *source != NULL;
}

static gboolean open_input(fc_opened *o, const fc_between *b, GError **error) {
  if (!b->input && !b->in)
    return generates(o->chain) ||
           fc_fail(error, FC_INVALID, "there is no input, and the chain does not generate a signal");
  o->query.in = &o->format;
  if (b->in) {
    format_of_view(b->in, o->options, &o->format);
    if (b->out) {
      o->in = b->in, o->out = b->out;
      o->query.device = b->in->device, o->query.borrowed = TRUE, o->query.wanted = b->out->dtype;
      return TRUE;
    }
    o->source = fc_memory_source_new(o->chain->context, b->in);
    o->source->format = o->format;
    return TRUE;
  }
  o->source = o->chain->context->media->open_source(o->chain->context, b->input, o->options, error);
  if (!o->source) return FALSE;
  o->format = o->source->format;
  return o->options->in_bytes || check_again(o, 0, b->input, o->source, error);
}

static gboolean open_output(fc_opened *o, const fc_between *b, GError **error) {
  fc_context *context = o->chain->context;
  if (!b->output) return TRUE;
  o->sink = context->media->open_sink(context, b->output, o->options, b->in ? NULL : o->source, error);
  return o->sink != NULL;
}

static fc_opened *checked(fc_opened *o, gboolean ok) {
  if (ok) return o;
  fc_opened_free(o);
  return NULL;
}

static fc_opened *new_opened(fc_chain *chain, const fc_options *options, int wanted) {
  fc_opened *o = g_new0(fc_opened, 1);
  o->chain = chain, o->options = options;
  o->query = (fc_plan_query){.wanted = wanted, .device = FC_HOST, .options = options};
  return o;
}

fc_opened *fc_opened_new(fc_chain *chain, const fc_between *b, const fc_options *options, GError **error) {
  fc_opened *o = new_opened(chain, options, -1);
  o->query.files = !b->in || b->output;
  if (!b->output && !b->out && !b->later && !measures(chain))
    return checked(o, fc_fail(error, FC_INVALID, "there is no output, and the chain measures nothing"));
  return checked(o, open_input(o, b, error) && open_output(o, b, error) &&
                        (!b->input || join_followers(o, error)) && open_sides(o, error));
}

fc_opened *fc_opened_formats(fc_chain *chain, const fc_format *in, int wanted, const fc_options *options,
                             GError **error) {
  fc_opened *o = new_opened(chain, options, wanted);
  o->format = *in;
  if (!generates(chain)) o->query.in = &o->format;
  return checked(o, open_sides(o, error));
}

gboolean fc_opened_know_end(fc_opened *o, GError **error) {
  if (!o->source || o->source->format.extent[fc_stream_axis(o->format.kind)] >= 0) return TRUE;
  if (!load(o, &o->source, error)) return FALSE;
  o->format = o->source->format;
  return TRUE;
}

void fc_opened_free(fc_opened *o) {
  if (!o) return;
  if (o->sink) o->sink->free(o->sink);
  if (o->source) o->source->free(o->source);
  for (guint k = 0; k < o->n_sides; k++)
    if (o->sides[k]) o->sides[k]->free(o->sides[k]);
  g_free(o->sides);
  g_free(o->side_formats);
  g_free(o->side_names);
  g_free(o->once);
  g_free(o);
}

/* ---- planning ---------------------------------------------------------------------- */

static fc_plan_query query_of(const fc_opened *o, gboolean touch) {
  fc_plan_query query = o->query;
  query.touch = touch;
  query.seeks = o->source && o->source->seek;
  query.rows = o->source ? o->source->can_rows : query.borrowed;
  if (o->sink) query.rows = query.rows && o->sink->can_rows;
  for (guint k = 0; k < o->n_sides; k++) query.rows = query.rows && o->sides[k]->can_rows;
  return query;
}

/* An input of unknown length that a stage needs as a whole, or out of order, is read into memory; the plan
 * must then be made again. */
static gboolean load_unknown(fc_opened *o, const fc_plan *plan, gboolean *loaded, GError **error) {
  *loaded = FALSE;
  if (plan->whole && o->source && fc_plan_extent(plan, -1) < 0) {
    if (!load(o, &o->source, error)) return FALSE;
    o->format = o->source->format, o->query.loaded = *loaded = TRUE;
  }
  for (guint k = 0; k < o->n_sides; k++) {
    if (!plan->sides[k].random || fc_plan_extent(plan, (int)k) >= 0) continue;
    if (!load(o, &o->sides[k], error)) return FALSE;
    o->side_formats[k] = &o->sides[k]->format, o->side_names[k] = o->sides[k]->name, *loaded = TRUE;
  }
  return TRUE;
}

/* Outputs of fewer bytes are written at once, which fails as early as asking for room does. */
#define ROOM_WORTH 32768

/* Refuses an output for which the file system has no room before anything is written. */
static gboolean check_room(const fc_opened *o, const fc_plan *plan, GError **error) {
  const double bytes = fc_plan_output_bytes(plan);
  if (!o->sink || !o->sink->room || !o->query.sample_bytes || bytes < ROOM_WORTH) return TRUE;
  const double room = o->sink->room(o->sink);
  if (room < 0 || bytes <= room) return TRUE;
  g_autofree char *size = fc_size_for_message(bytes), *left = fc_size_for_message(room);
  return fc_fail(error, FC_IO, "%s: the output takes %s, and where it goes %s are left", o->sink->name, size,
                 left);
}

/* Rows, columns and channels of a picture in an array, (Y, X, C) or with few channels first. */
static void sides_of(const fc_format *f, gint64 sides[3]) {
  const gboolean planar = f->extent[FC_AXIS_C] > 4 && f->extent[FC_AXIS_Y] <= 4;
  for (int i = 0; i < 3; i++) sides[i] = f->extent[planar ? FC_AXIS_Y + (i + 1) % 3 : FC_AXIS_Y + i];
}

/* How many pixels of so many channels an input is enough for: its own, or as many as its elements make, in
 * whatever order the axes are. */
static double pixels_in(const fc_format *in, gint64 channels) {
  double elements = 1;
  if (in->kind == FC_AUDIO) return 0;
  for (int a = 0; a < FC_AXES; a++) elements *= (double)MAX(in->extent[a], 1);
  return MAX(elements / (double)MAX(channels, 1),
             (double)in->extent[FC_AXIS_X] * (double)in->extent[FC_AXIS_Y]);
}

/* Refuses a picture that a chain makes much larger, before anything is allocated: of formats that are encoded
 * nobody knows the size of the file, and rows would be made for days. Arrays are bounded by check_room,
 * unless they are made to be drawn; a picture may always be as large as what it is made from. */
static gboolean check_pixels(const fc_opened *o, const fc_format *in, const fc_format *out, GError **error) {
  const gint64 asked = o->query.options ? o->query.options->max_pixels : 0,
               limit = MAX(asked, FC_PIXELS_MOST);
  gint64 sides[3];
  if (out->kind == FC_AUDIO || (o->sink->sample_bytes && !o->drawn)) return TRUE;
  sides_of(out, sides);
  const double pixels = (double)sides[0] * (double)sides[1];
  if (sides[0] < 1 || sides[1] < 1 || pixels <= (double)limit || pixels <= pixels_in(in, sides[2]))
    return TRUE;
  g_autofree char *size = fc_size_for_message(pixels * (double)sides[2] * (double)fc_dtype_size(out->dtype));
  return fc_fail(error, FC_UNSUPPORTED,
                 "%s: %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                 " pixels, %s of samples, are more than the limit of %" G_GINT64_FORMAT
                 " pixels (--max-pixels %.0f allows it)",
                 o->drawn ? o->drawn : o->sink->name, sides[1], sides[0], size, limit, pixels);
}

/* Whether the first stage, which reduces the image, gives the same output size for a smaller version of
 * it, without enlarging that. */
static gboolean makes_the_same(const fc_plan *of_whole, const fc_plan *of_part) {
  static const fc_axis axes[] = {FC_AXIS_Y, FC_AXIS_X};
  for (gsize i = 0; i < G_N_ELEMENTS(axes); i++) {
    const fc_reach *whole = &of_whole->stages[0].reach[axes[i]], *part = &of_part->stages[0].reach[axes[i]];
    if (of_whole->links[1].extent[axes[i]] != of_part->links[1].extent[axes[i]] || whole->num <= whole->den ||
        part->num < part->den)
      return FALSE;
  }
  return TRUE;
}

/* A source that can decode at reduced size is asked for the smallest size from which the first stage still
 * makes the same output size. The stage must resize to a fixed size. TRUE: the source's format has
 * changed. */
static gboolean shrink(fc_opened *o, const fc_plan *whole) {
  if (!o->source || !o->source->shrink || !whole->n || !whole->stages[0].op) return FALSE;
  for (int divisor = 8; divisor > 1; divisor /= 2) {
    fc_format smaller = o->format;
    for (fc_axis axis = FC_AXIS_Y; axis <= FC_AXIS_X; axis++)
      smaller.extent[axis] = (smaller.extent[axis] + divisor - 1) / divisor;
    fc_plan_query query = query_of(o, FALSE);
    query.in = &smaller;
    g_autoptr(fc_plan) part = fc_plan_formats(o->chain, &query, NULL);
    if (!part || !part->stages[0].op || !makes_the_same(whole, part)) continue;
    o->source->shrink(o->source, divisor);
    o->format = o->source->format;
    fc_context_log(o->chain->context, FC_LOG_INFO, "%s: is read at 1/%d of its size", o->source->name,
                   divisor);
    break;
  }
  o->source->shrink = NULL;
  return TRUE;
}

fc_plan *fc_opened_plan(fc_opened *o, gboolean touch, GError **error) {
  for (;;) {
    fc_plan_query query = query_of(o, touch);
    g_autoptr(fc_plan) formats = fc_plan_formats(o->chain, &query, error);
    gboolean loaded = FALSE;
    if (!formats || !load_unknown(o, formats, &loaded, error)) return NULL;
    if (loaded || shrink(o, formats)) continue;
    if (o->sink) {
      fc_format wish = formats->links[formats->n];
      if (!o->sink->accept(o->sink, &wish, error) || !check_pixels(o, &formats->links[0], &wish, error))
        return NULL;
      o->query.wanted = wish.dtype, o->query.stored = wish.stored;
      o->query.bits = formats->n ? MIN(wish.bits, 64) : wish.bits;
      o->query.sample_bytes = o->sink->sample_bytes;
    }
    query = query_of(o, touch);
    g_autoptr(fc_plan) plan = fc_plan_new(o->chain, &query, error);
    if (!plan || !load_unknown(o, plan, &loaded, error)) return NULL;
    if (!loaded) return check_room(o, plan, error) ? g_steal_pointer(&plan) : NULL;
  }
}

gboolean fc_opened_ends(fc_opened *o, const fc_plan *plan, fc_ends *ends, GError **error) {
  for (guint k = 0; k < o->n_sides; k++) {
    const fc_plan_side *side = &plan->sides[k];
    gint64 room[FC_AXES];
    fc_plan_side_capacity(plan, k, room); /* a stage that looks at channels beside those there are has gaps */
    const gboolean gaps = side->format.kind == FC_AUDIO && room[FC_AXIS_C] > side->format.extent[FC_AXIS_C];
    o->sides[k] = fc_source_cast(o->sides[k], side->format.dtype, gaps);
    if (side->random && !load(o, &o->sides[k], error)) return FALSE;
  }
  fc_range looked[FC_AXES];
  if (o->source && o->source->window && fc_plan_looks_at((fc_plan *)plan, looked))
    o->source->window(o->source, looked[FC_AXIS_Y], looked[FC_AXIS_X]);
  if (o->query.borrowed && !plan->borrowed) { /* copied like a file */
    o->source = fc_memory_source_new(o->chain->context, o->in);
    o->sink = fc_memory_sink_new(o->chain->context, o->out);
  }
  *ends = (fc_ends){.source = o->source,
                    .sides = o->sides,
                    .sink = o->sink,
                    .in = o->in,
                    .out = o->out,
                    .name = o->sink     ? o->sink->name
                            : o->source ? o->source->name
                                        : "output"};
  if (plan->borrowed) ends->source = NULL, ends->sink = NULL, ends->name = "output";
  return TRUE;
}

/* ---- keys --------------------------------------------------------------------------- */

static void append(GByteArray *key, const void *data, gsize bytes) {
  g_byte_array_append(key, data, (guint)bytes);
}

static void append_options(GByteArray *key, const fc_chain *chain, const fc_options *o) {
  const char *device = o->device ? o->device : "auto";
  const gint64 numbers[] = {o->threads,
                            o->precision,
                            o->chunk,
                            o->fuse,
                            (gint64)(o->latency * 1e9),
                            (gint64)chain->context->max_memory,
                            (gint64)(gintptr)chain->context->driver};
  append(key, device, strlen(device) + 1);
  append(key, numbers, sizeof numbers);
}

GBytes *fc_opened_key(const fc_opened *o) {
  if (fc_passes_count(o->chain)) return NULL;
  fc_plan_query query = query_of(o, TRUE);
  GByteArray *key = g_byte_array_new();
  const gint64 numbers[] = {'f',         query.wanted, query.bits,     query.stored,
                            query.files, query.rows,   query.borrowed, query.in != NULL};
  append(key, numbers, sizeof numbers);
  append(key, &o->format, sizeof o->format);
  for (guint k = 0; k < o->n_sides; k++) append(key, o->side_formats[k], sizeof(fc_format));
  append_options(key, o->chain, o->options);
  return g_byte_array_free_to_bytes(key);
}

GBytes *fc_view_key(const fc_chain *chain, const fc_view *in, int out_dtype, const void *stream,
                    const fc_options *o) {
  fc_format format;
  if (fc_passes_count(chain)) return NULL;
  GByteArray *key = g_byte_array_sized_new(256);
  const gint64 numbers[] = {'v', out_dtype, in->device, (gint64)(gintptr)stream};
  format_of_view(in, o, &format);
  append(key, numbers, sizeof numbers);
  append(key, &format, sizeof format);
  append_options(key, chain, o);
  return g_byte_array_free_to_bytes(key);
}

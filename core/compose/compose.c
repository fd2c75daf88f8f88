/* SPDX-License-Identifier: MIT */
/*
 * compose.c - see compose.h.
 */
#include "core/compose/compose.h"

#include "core/base/demand.h"
#include "core/compose/around.h"
#include "core/compose/map.h"
#include "core/compose/overlap.h"
#include "core/compose/prefilter.h"
#include "core/compose/ranges.h"
#include "core/compose/series.h"
#include "core/compose/slide.h"
#include "core/compose/text.h"
#include "core/compose/vectors.h"

#include <string.h>

/* Of march.cuh: rows begin at multiples of so many bytes. Of few.cuh ROWS_STEP times the number of rows, 1 to
 * MOST_ROWS, or times TURNED or APART_TURNED: one column, whose pixels are adjacent, or apart. */
enum { ROWS_STEP = 32, MOST_ROWS = 8, TURNED, APART_TURNED };
enum {
  BEGINS = 2,
  OUT_BEGINS = 8,
  MARCH_WARP = 32,
  LENDS = 128,
  LONGER = 256,
  CELLS = 512,
  FEW = CELLS + 32 * FC_VECTORS_CELLS,
  WHOLE = 3 * BEGINS + 3 * OUT_BEGINS
};
/* Kernel variants. Of map.cuh those of map.h. Of march.cuh, row.cuh, slide.cuh and series.cuh: whether
 * channels are planar, as of overlap.cuh, and whether all vectors are aligned, of series.cuh those of the
 * inputs and those of the outputs; of march.cuh in its place where rows of the inputs begin, and those of the
 * outputs, and whether threads at the ends of a block have outputs and whether threads have more elements, or
 * how large the cells of narrow images are, or how many rows there are (few.cuh); of march.cuh and series.cuh
 * how many warps a block has; of series.cuh also how many elements a thread has; of slide.cuh whether lines
 * are short; of overlap.cuh whether channels of a position are different jobs; of around.cuh whether channels
 * are planar, and whether there is one row; of column.cuh as of march.cuh where rows begin. */
enum {
  MARCH = FC_MAP_VARIANTS,
  ROW = MARCH + FEW + ROWS_STEP * APART_TURNED,
  SLIDE = ROW + 4,
  OVERLAP = SLIDE + 8,
  SERIES = OVERLAP + 8,
  AROUND = SERIES + 128,
  COLUMN = AROUND + 4
};
enum {
  IN_PLANES = 1,
  ALIGNED = 2,
  ONE_ROW = 2,
  SHORT = 4,
  APART = 4,
  OUT_ALIGNED = 4,
  WARP = 8,
  LENGTH = 32
};
static const gint64 begins_of_class[] = {1, 4, 8, 16};
G_STATIC_ASSERT(COLUMN == AROUND + 2 * ONE_ROW && COLUMN + MARCH_WARP == FC_COMPOSE_VARIANTS);

const char *fc_compose_skeleton(guint variant) {
  return variant < MARCH     ? fc_map_skeleton(variant)
         : variant < ROW     ? "march"
         : variant < SLIDE   ? "row"
         : variant < OVERLAP ? "slide"
         : variant < SERIES  ? "overlap"
         : variant < AROUND  ? "series"
         : variant < COLUMN  ? "around"
                             : "column";
}

/* ---- the text -------------------------------------------------------------------- */

/* Whether it is an identifier, possibly with template arguments, that can go into the text unquoted. */
static gboolean is_entry(const char *entry) {
  if (!entry || !(g_ascii_isalpha(*entry) || *entry == '_')) return FALSE;
  for (const char *c = entry; *c; c++)
    if (!g_ascii_isalnum(*c) && !strchr("_<>, ", *c)) return FALSE;
  return strlen(entry) < 64;
}

static gboolean is_fit(const fc_compose_stage *s, gint64 channels) {
  const fc_device_function *f = s->function;
  return f->source && is_entry(f->entry) && (f->in == 0) == (f->out == 0) &&
         (f->in == 0 || f->in == channels) && MAX(f->in, f->out) <= FC_COMPOSE_CHANNELS &&
         f->n_bytes <= FC_COMPOSE_MOST && f->align <= FC_COMPOSE_ALIGN && (f->n_bytes == 0 || f->bytes) &&
         s->dtype >= 0 && s->dtype < FC_DTYPE_COUNT;
}

/* ---- parameters -------------------------------------------------------------------- */

static gsize aligned_up(gsize bytes) {
  return (bytes + FC_COMPOSE_ALIGN - 1) / FC_COMPOSE_ALIGN * FC_COMPOSE_ALIGN;
}

gsize fc_compose_bytes(const fc_device_function *function) {
  return aligned_up(MAX(function->n_bytes, 1)); /* an empty struct takes one byte */
}

static gboolean append_bytes(fc_composed *to, const void *bytes, gsize n) {
  const gsize aligned = aligned_up(n);
  if (aligned > FC_COMPOSE_MOST - to->n_params) return FALSE;
  memset(to->params + to->n_params, 0, aligned);
  memcpy(to->params + to->n_params, bytes, n);
  to->n_params += (guint)aligned;
  return TRUE;
}

/* `place` may be NULL. */
static gboolean set_params(fc_composed *to, const void *args, gsize n, const fc_map_place *place,
                           const fc_composition *c) {
  to->n_params = 0;
  gboolean ok = append_bytes(to, args, n) && (!place || append_bytes(to, place, sizeof *place));
  for (guint i = 0; i < c->n && ok; i++) {
    const fc_device_function *f = c->stages[i].function;
    ok = append_bytes(to, f->n_bytes ? f->bytes : "", MAX(f->n_bytes, 1));
  }
  return ok;
}

/* ---- windows ------------------------------------------------------------------------- */

typedef fc_vectors window;

enum {
  MARCH_WINDOW = 31,
  ROW_WINDOW = 128,
  COLUMN_WINDOW = 48, /* rows; of 64 it is slower than this one alone and one other stage */
  MARCH_LINE = 128,   /* of a single row */
  MARCH_DENSE = 512,  /* the parameters of a function */
  SLIDE_WINDOW = 16384,
  USUAL_BLOCKS = 6 /* blocks per multiprocessor, where that is not known */
};

G_STATIC_ASSERT(MARCH_WINDOW == FC_FUNCTION_BOX_MOST);

static gboolean marches(int dtype) {
  return dtype == FC_U8 || dtype == FC_I16 || dtype == FC_U16 || dtype == FC_F32;
}

static gboolean is_statistic(const fc_device_function *f) {
  return g_str_has_prefix(f->entry, "fc_statistic");
}

static gboolean may_see(const window *w) {
  const gint64 x = w->nx, y = w->ny;
  const gboolean fits = !g_str_has_prefix(w->f->entry, "fc_dense") || x * y <= MARCH_DENSE;
  if (x < 1 || y < 1) return FALSE;
  if (w->few) return MAX(x, y) <= MARCH_LINE && fits;
  if (w->around) return MAX(x, y) <= FC_FUNCTION_AROUND_MOST && w->f->in == 0 && w->f->out == 0;
  if (w->slide) return x > 1 && x <= SLIDE_WINDOW && y == 1;
  if (w->overlap) return y == 1 && fc_overlap_lies_around(w);
  if (w->column) return y <= COLUMN_WINDOW;
  return x <= (w->row ? ROW_WINDOW : y == 1 ? MARCH_LINE : MARCH_WINDOW) && y <= MARCH_WINDOW && fits;
}

/* Sets how many rows there are, and the window as the skeleton sees it; `few`: a number of rows,
 * TURNED or APART_TURNED; 0: few.cuh is not used. FALSE: it has no such operator. */
static gboolean set_few(window *w, guint few) {
  const fc_device_function *f = w->f;
  w->turned = few >= TURNED, w->apart = few == APART_TURNED, w->few = w->turned ? 1 : few;
  w->nx = w->turned ? f->window_y : f->window_x, w->ny = w->turned ? f->window_x : f->window_y;
  return few == 0 || fc_vectors_is_box(f) || fc_vectors_sums_rows(f) ||
         g_str_has_prefix(f->entry, "fc_dense");
}

int fc_compose_border(const fc_device_function *function, int border) {
  return function->flags & FC_FUNCTION_SHRINKS ? FC_BORDER_ZERO : border;
}

/* FALSE: there is no such kernel. `flags`: IN_PLANES, channels are planes, and independent signals; and, for
 * march.cuh, where rows begin, or of few.cuh. */
static gboolean describe_window(window *w, const fc_composition *c, int in_dtype, gint64 channels,
                                guint flags) {
  const gboolean planar = (flags & IN_PLANES) != 0;
  const fc_device_function *f = c->stages[c->window].function;
  gint64 middle = channels, out = channels;
  *w =
      (window){.f = f, .in_dtype = in_dtype, .out_dtype = c->stages[c->n - 1].dtype, .plain = c->window == 0};
  w->begins[0] = begins_of_class[flags / BEGINS % 4], w->begins[1] = begins_of_class[flags / OUT_BEGINS % 4];
  w->around = (f->flags & FC_FUNCTION_AROUND) != 0;
  if (!set_few(w, flags / ROWS_STEP)) return FALSE;
  const gboolean transforms = !w->around && fc_overlap_read(f, &w->together, &w->transform);
  w->slide = !w->around && is_statistic(f), w->overlap = transforms ? f->bytes : NULL;
  w->row =
      !w->around && !w->slide && !w->overlap && c->stages[c->window].kind == FC_AUDIO && f->window_y == 1;
  w->column = !w->around && !w->row && !w->few && f->window_x == 1 && f->window_y > MARCH_WINDOW &&
              g_str_has_prefix(f->entry, "fc_dense");
  if (!w->around && (c->compute != FC_F32 || !marches(in_dtype) || !marches(w->out_dtype))) return FALSE;
  if (c->border == FC_BORDER_NONE || c->border == FC_BORDER_UNSET || !may_see(w)) return FALSE;
  for (guint i = 0; i < c->n; i++) {
    if (c->stages[i].function->out == 0) continue;
    w->pixels = TRUE, out = c->stages[i].function->out;
    if (i < c->window) middle = out;
  }
  if (w->pixels && (planar || w->apart || MAX(MAX(channels, middle), out) > 4)) return FALSE;
  w->step = planar ? 1 : middle;
  const gboolean units = w->pixels || (!planar && (w->slide || w->overlap));
  w->ui = units ? channels : 1, w->um = units ? middle : 1, w->uo = units ? out : 1;
  if (w->slide) w->v = (fc_slide_is_running(w) ? fc_slide_each(w) : 4) * w->um;
  if (w->overlap) w->v = w->um; /* the samples of a position that a job has */
  if (w->around) return w->step <= 4 && fc_around_set(w, c->compute, FALSE);
  if (w->column) return w->step <= 4 && fc_vectors_set_column(w);
  if (w->overlap)
    return w->step % w->together == 0 &&
           (fc_overlap_shared(w) <= FC_OVERLAP_SHARED || fc_overlap_take_apart(w));
  return w->step <= 4 && (w->slide || fc_vectors_choose(w));
}

gboolean fc_compose_possible(const fc_composition *c, int in_dtype, gint64 channels) {
  window w;
  fc_series k;
  if (c->windows > 1) return fc_series_describe(&k, c, in_dtype, channels, FALSE, 0);
  if (fc_text_is_placed(c)) return c->window == c->n && channels <= FC_COMPOSE_CHANNELS;
  return c->window == c->n || describe_window(&w, c, in_dtype, channels, WHOLE);
}

static gboolean begins_at(const void *data, const fc_view *v, gint64 bytes) {
  return fc_vectors_begins_of(data, v) >= MIN(bytes & -bytes, 16);
}

/* The last of those classes that it belongs to. */
static guint class_of(gint64 begins) {
  guint k = G_N_ELEMENTS(begins_of_class) - 1;
  while (begins < begins_of_class[k]) k--;
  return k;
}

/* Pieces of a line (rows, slices, tiles) per block, at least `least`, where `lines` have `count` each, on a
 * device that runs `places` blocks at a time: few rounds of blocks, and little of what a block does beside
 * its pieces, as much as `twice` / 2 of them. The last round ends with its slowest multiprocessor, which
 * costs a fifth of a round, unless it is the only one and `steady`: where memory is the bottleneck, the other
 * multiprocessors leave that one more bandwidth, and blocks that begin together read rows side by side (3 x 3
 * of 16384 x 16384 floats took 542 us in one round, 647 in two, which would have been a better fit; H200). */
static gint64 pieces_of_block(gint64 count, gint64 lines, gint64 least, gint64 twice, gint64 places,
                              gboolean steady) {
  gint64 best = count, cheapest = G_MAXINT64;
  for (gint64 rounds = 1; rounds <= 32; rounds++) {
    const gint64 pieces = rounds * places / lines;
    if (pieces < 1) continue;
    const gint64 each = MAX((count + pieces - 1) / pieces, least), blocks = (count + each - 1) / each * lines;
    const gint64 turns = (blocks + places - 1) / places, fifths = 5 * turns + (steady && turns == 1 ? 0 : 1);
    const gint64 cost = fifths * (2 * each + twice);
    if (cost < cheapest) cheapest = cost, best = each;
  }
  return MIN(best, count);
}

/* A launch in the making: the window of a composition on these views, whose lines run along `along`. */
typedef struct lines {
  const fc_composition *c;
  window w;
  fc_view in; /* moved along the lines to args.first */
  const fc_view *out;
  gboolean planar;
  guint processors, resident; /* see fc_compose */
  int along;
  guint32 *notes;
  fc_window_args args;
} lines;

/* Planes of all images. */
static gint64 planes_of(const lines *l) {
  return l->in.shape[FC_AXIS_N] * (l->planar ? l->in.shape[FC_AXIS_C] : 1);
}

/* The arguments that all skeletons have; lines are cut from `first` on. FALSE: there is no kernel for such
 * views. Positions are numbered in 32 bits, also those that a border is mirrored from, and what a line's
 * outputs see must be there. */
static gboolean fill_lines(lines *l, gint64 first) {
  const fc_view *in = &l->in, *out = l->out;
  const int along = l->along, other = along == FC_AXIS_X ? FC_AXIS_Y : FC_AXIS_X;
  const gint64 far = G_MAXINT32 / 4 / (l->w.row ? l->w.step : 1),
               taps = along == FC_AXIS_X ? l->w.nx : l->w.ny;
  const gint64 origin = out->origin[along], total = out->shape[along], across = out->shape[other];
  if (in->shape[other] != across || in->origin[other] != out->origin[other] || across > far ||
      total > far - taps || planes_of(l) > far ||
      (l->c->border == FC_BORDER_WRAP && in->extent[along] > far) ||
      !fc_window_has_all(in, out, along, taps, l->c->border) || !fc_prefilter_has_all(l->c, in, out, taps))
    return FALSE;
  char *data = (char *)in->data + (origin - in->origin[along]) * in->stride[along];
  l->in.data = data + first * in->stride[along];
  l->args = (fc_window_args){.views = fc_window_views_of(data, in, out),
                             .across = (gint32)across,
                             .planes = l->planar ? (gint32)in->shape[FC_AXIS_C] : 1,
                             .begin = (gint32)MIN(origin, far),
                             .extent = (gint32)(MIN(origin, far) + MIN(in->extent[along] - origin, far)),
                             .total = (gint32)total,
                             .first = (gint32)first,
                             .constant = (float)l->c->border_value,
                             .ahead = fc_prefilter_constant(l->c),
                             .notes = l->notes};
  return TRUE;
}

/* Where rows of both views begin; for interleaved channels their stride does not matter. */
static void sides_of(const lines *l, gint64 begins[2]) {
  fc_view a = l->in, b = *l->out;
  if (!l->planar) a.stride[FC_AXIS_C] = b.stride[FC_AXIS_C] = 0;
  begins[0] = fc_vectors_begins_of(a.data, &a), begins[1] = fc_vectors_begins_of(b.data, &b);
}

/* Whether vectors of both views start at addresses where they can be moved whole. */
static gboolean is_aligned_both(const lines *l) {
  window w = l->w;
  sides_of(l, w.begins);
  return fc_vectors_moved(&w, 0) == 16 && fc_vectors_moved(&w, 1) == 16;
}

/* Cuts each line into `count` pieces, of which a block processes `each`; blocks along lines. */
static gint64 split_lines(lines *l, gint64 count, gint64 each) {
  l->args.count = (gint32)count, l->args.each = (gint32)each;
  return (count + each - 1) / each;
}

/* The launch of a skeleton, on a grid of images by `y` by `x` blocks; of transforms, and cells of narrow
 * images, `x` are those of all images. */
static gboolean launch_lines(const lines *l, guint variant, gint64 threads, gint64 x, gint64 y,
                             fc_composed *to) {
  const gint64 z = l->w.overlap || l->w.cell ? 1 : planes_of(l);
  to->variant = variant + (l->planar ? IN_PLANES : 0), to->threads = (guint)threads;
  to->grid[0] = (guint)x, to->grid[1] = (guint)y, to->grid[2] = (guint)z;
  return y <= 65535 && z <= 65535 && set_params(to, &l->args, sizeof l->args, NULL, l->c);
}

/* Blocks at a time to assume: where memory is the bottleneck STREAMS of as many threads as can be, or as many
 * as read AHEAD bytes ahead, which keeps it busy; more are slower. */
static gint64 places_of(const lines *l) {
  enum { STREAMS = 4, AHEAD = 32 << 10 };
  const window *w = &l->w;
  const gint64 bytes = w->threads * w->batch * (w->v / w->um * w->ui) * (gint64)fc_dtype_size(w->in_dtype);
  const gint64 usual = STREAMS * (fc_vectors_threads(w) / w->threads), streams = MAX(usual, AHEAD / bytes);
  const gint64 resident = l->resident ? l->resident : usual;
  return l->processors * (fc_vectors_is_bound_by_memory(w, l->c->n) ? MIN(streams, resident) : resident);
}

static gboolean launch_row(lines *l, fc_composed *to) {
  const window *w = &l->w;
  const gint64 total = l->out->shape[FC_AXIS_X] * w->step, slices = (total + w->width - 1) / w->width;
  /* Too short for the threads of a block. */
  if (l->in.shape[FC_AXIS_Y] != 1 || total < w->threads * w->v / 4 || !fill_lines(l, 0)) return FALSE;
  const gint64 each =
      pieces_of_block(slices, planes_of(l), 16, 18, places_of(l), fc_vectors_is_bound_by_memory(w, l->c->n));
  return launch_lines(l, ROW + (is_aligned_both(l) ? ALIGNED : 0), w->threads, split_lines(l, slices, each),
                      1, to);
}

/* Rows of all images as those of one, if they are equally far apart; of the args that have been filled. */
static void join_images(lines *l) {
  const fc_view *views[] = {&l->in, l->out};
  const gint64 rows = l->in.shape[FC_AXIS_Y], images = l->in.shape[FC_AXIS_N];
  for (guint i = 0; i < G_N_ELEMENTS(views); i++)
    if (l->planar || (rows > 1 && views[i]->stride[FC_AXIS_N] != rows * views[i]->stride[FC_AXIS_Y])) return;
  if (rows * images > G_MAXINT32) return;
  if (rows == 1)
    l->args.views.in_row = l->args.views.in_image, l->args.views.out_row = l->args.views.out_image;
  l->args.across = (gint32)(rows * images), l->in.shape[FC_AXIS_N] = 1;
}

static gboolean launch_slide(lines *l, fc_composed *to) {
  const window *w = &l->w;
  const gint64 total = l->out->shape[FC_AXIS_X], origin = l->out->origin[FC_AXIS_X];
  const gboolean is_short = fc_slide_is_short(w, origin, total), folded = fc_slide_is_folded(w, is_short);
  const gint64 samples = fc_slide_samples(w, is_short), first = fc_slide_first(w, origin),
               pitch = folded ? fc_slide_pitch(w, origin, total) : 0;
  /* Lines that are mostly borders are faster one stage at a time, but of what is exact in any order. */
  if (total < (folded || fc_slide_is_running(w) ? FC_SLIDE_LEAST : FC_SLIDE_GROUP / 4) || pitch > 2 * total ||
      !fill_lines(l, first))
    return FALSE;
  const gboolean aligned = is_aligned_both(l); /* images, too */
  if (folded) join_images(l);
  const gint64 begin = fc_slide_is_running(w) ? 0 : first + w->f->window_x / 2, /* of outputs */
      length = folded ? l->args.across * pitch : total - begin, rows = folded ? 1 : l->args.across,
               tiles = (length + samples - 1) / samples,
               places = (gint64)l->processors * (l->resident ? l->resident : USUAL_BLOCKS),
               each = pieces_of_block(tiles, rows * planes_of(l), 1, fc_slide_warm(w, samples) + 1, places,
                                      TRUE);
  return length <= G_MAXINT32 / 4 &&
         launch_lines(l, SLIDE + (aligned ? ALIGNED : 0) + (is_short ? SHORT : 0),
                      fc_slide_threads(w, samples), split_lines(l, tiles, each), MIN(rows, 65535), to);
}

/* What these outputs need of the signal, if blocks are computed whole. */
static gboolean has_blocks(const fc_composition *c, const fc_view *in, const fc_view *out, gint64 hop,
                           gint64 taps) {
  fc_view whole = *out;
  gint64 *first = &whole.origin[FC_AXIS_X], end = *first + out->shape[FC_AXIS_X];
  *first -= *first % hop, end = (end + hop - 1) / hop * hop;
  whole.shape[FC_AXIS_X] = MIN(end, in->extent[FC_AXIS_X]) - *first;
  return fc_window_has_all(in, &whole, FC_AXIS_X, taps, c->border) &&
         fc_prefilter_has_all(c, in, &whole, taps);
}

/* Some rounds of blocks: of one, groups would all load at a time, and then all transform. */
static gboolean launch_overlap(lines *l, fc_composed *to) {
  enum { ROUNDS = 4 };
  const fc_function_transforms *o = l->w.overlap;
  const gint64 skip = l->out->origin[FC_AXIS_X] % o->hop,
               count = (l->out->shape[FC_AXIS_X] + skip + o->hop - 1) / o->hop;
  if (!has_blocks(l->c, &l->in, l->out, o->hop, l->w.f->window_x) || !fill_lines(l, -skip)) return FALSE;
  const gboolean apart = o->room && fc_overlap_shared(&l->w) > o->room && fc_overlap_take_apart(&l->w);
  const gint64 jobs = count * l->args.across * planes_of(l) * (l->w.step / l->w.v),
               most = ROUNDS * l->processors * fc_overlap_resident(&l->w);
  split_lines(l, count, jobs);
  to->shared = (guint)fc_overlap_shared(&l->w);
  return jobs <= G_MAXINT32 / 4 && (o->room == 0 || to->shared <= (guint)o->room) &&
         launch_lines(l, OVERLAP + (is_aligned_both(l) ? ALIGNED : 0) + (apart ? APART : 0), o->threads,
                      CLAMP((jobs + o->groups - 1) / o->groups, 1, most), 1, to);
}

/* Sets in a march or column where rows begin; FALSE: there is no such kernel. `few`: as of set_few. */
static gboolean fill_march(lines *l, gint64 width, guint few, guint *flags) {
  const fc_view *in = &l->in;
  gint64 begins[2];
  if (in->origin[FC_AXIS_X] || in->shape[FC_AXIS_X] != in->extent[FC_AXIS_X] || width > G_MAXINT32 / 4)
    return FALSE;
  sides_of(l, begins);
  *flags = few == APART_TURNED ? 0 : class_of(begins[0]) * BEGINS + class_of(begins[1]) * OUT_BEGINS;
  if (!describe_window(&l->w, l->c, in->dtype, in->shape[FC_AXIS_C],
                       *flags + few * ROWS_STEP + (l->planar ? IN_PLANES : 0)) ||
      !fill_lines(l, 0))
    return FALSE;
  l->args.across = (gint32)width;
  return TRUE;
}

/* The same view with rows for columns, of which there is one. */
static void turn(fc_view *v) {
  v->shape[FC_AXIS_X] = v->shape[FC_AXIS_Y], v->extent[FC_AXIS_X] = v->extent[FC_AXIS_Y],
  v->origin[FC_AXIS_X] = v->origin[FC_AXIS_Y], v->stride[FC_AXIS_X] = v->stride[FC_AXIS_Y];
  v->shape[FC_AXIS_Y] = v->extent[FC_AXIS_Y] = 1, v->origin[FC_AXIS_Y] = v->stride[FC_AXIS_Y] = 0;
}

/* Images of few rows, all of them, as long as half a block at least; or of one column. */
static gboolean launch_few(const lines *from, fc_composed *to) {
  lines l = *from;
  fc_view out = *l.out;
  guint flags, few = (guint)MIN(out.shape[FC_AXIS_Y], MOST_ROWS + 1);
  if (l.in.extent[FC_AXIS_X] == 1) {
    gboolean planes = FALSE, out_planes = FALSE;
    l.out = &out, turn(&l.in), turn(&out);
    few = fc_window_lies_in_rows(&l.in, &planes) && fc_window_lies_in_rows(&out, &out_planes) &&
                  planes == l.planar && out_planes == l.planar
              ? TURNED
              : APART_TURNED;
  } else if (few > MOST_ROWS || l.w.f->window_y == 1) {
    return FALSE;
  }
  const gint64 width = l.in.extent[FC_AXIS_X] * l.w.step;
  if (out.shape[FC_AXIS_Y] != l.in.extent[FC_AXIS_Y] || !fill_march(&l, width, few, &flags)) return FALSE;
  if (few == APART_TURNED)
    l.args.views.in_row = l.in.stride[FC_AXIS_X], l.args.views.out_row = out.stride[FC_AXIS_X];
  return width >= l.w.width / 2 && launch_lines(&l, MARCH + FEW + (few - 1) * ROWS_STEP + flags, l.w.threads,
                                                (width + l.w.width - 1) / l.w.width, 1, to);
}

/* Bands of columns, cut into pieces of one row each, of which a block takes some; or, of narrow images, as
 * many such runs of rows as a block has cells. */
static gboolean launch_march(lines *l, fc_composed *to) {
  window *w = &l->w;
  const gint64 width = l->in.extent[FC_AXIS_X] * w->step;
  guint flags;
  if (!fill_march(l, width, 0, &flags)) return FALSE;
  const int cell = fc_vectors_fit_cell(w, width);
  if (cell < 0 && width < 32 * w->v / 4) return FALSE; /* too short for the threads of a warp */
  if (cell < 0) fc_vectors_fit(w, width);
  const gint64 bands = cell < 0 ? (width + w->width - 1) / w->width : 1, planes = planes_of(l),
               cells = cell < 0 ? 1 : w->threads / w->cell, rows = l->out->shape[FC_AXIS_Y],
               each = pieces_of_block(rows, bands * planes, 16, 2 * ((gint64)w->f->window_y + 8),
                                      cells * places_of(l), fc_vectors_is_bound_by_memory(w, l->c->n)),
               pieces = split_lines(l, rows, each), blocks = (planes * pieces + cells - 1) / cells;
  l->args.count = (gint32)planes;
  const guint kind =
      cell < 0 ? MARCH_WARP * (guint)(w->threads / 32 - 1) + (w->lends ? LENDS : 0) + (w->longer ? LONGER : 0)
               : CELLS + 32 * (guint)cell;
  /* The variant of such rows has the same text (fc_vectors_set_cell). */
  if (w->begins[0] == 1) flags -= flags / BEGINS % 4 * BEGINS;
  return blocks <= G_MAXINT32 / cells && launch_lines(l, MARCH + flags + kind, w->threads,
                                                      cell < 0 ? bands : blocks, cell < 0 ? pieces : 1, to);
}

/* As march.cuh, in bands of a warp; pieces are rows. None for rows that begin anywhere: 51 taps between a
 * gain and a clip of u16 RGB, 1305 wide, took 367 us, one by one 249 (H200). */
static gboolean launch_column(lines *l, fc_composed *to) {
  const window *w = &l->w;
  const gint64 width = l->in.extent[FC_AXIS_X] * w->step, rows = l->out->shape[FC_AXIS_Y];
  guint flags;
  if (width < w->width / 4 || !fill_march(l, width, 0, &flags) || w->loose[0] || w->loose[1]) return FALSE;
  const gint64 bands = (width + w->width - 1) / w->width,
               places = (gint64)l->processors * (l->resident ? l->resident : USUAL_BLOCKS),
               each = pieces_of_block(rows, bands * planes_of(l), 16, w->f->window_y / 4, places, FALSE);
  return launch_lines(l, COLUMN + flags, w->threads, bands, split_lines(l, rows, each), to);
}

static gboolean launch_around(lines *l, fc_composed *to) {
  fc_around_args args;
  const gboolean one = l->out->shape[FC_AXIS_Y] == 1;
  if (!fc_around_set(&l->w, l->c->compute, one) ||
      !fc_around_launch(&l->w, l->c, &l->in, l->out, l->planar, &args, to))
    return FALSE;
  args.notes = l->notes;
  to->variant = AROUND + (l->planar ? IN_PLANES : 0) + (one ? ONE_ROW : 0);
  return set_params(to, &args, sizeof args, NULL, l->c);
}

static gboolean launch_window(const fc_composition *c, const fc_view *in, const fc_view *out, guint32 *notes,
                              guint processors, guint resident, fc_composed *to) {
  lines l = {.c = c,
             .in = *in,
             .out = out,
             .processors = processors,
             .resident = resident,
             .along = FC_AXIS_X,
             .notes = notes};
  gboolean out_planar = FALSE;
  if (!fc_window_lies_in_rows(in, &l.planar) || !fc_window_lies_in_rows(out, &out_planar) ||
      l.planar != out_planar ||
      !describe_window(&l.w, c, in->dtype, in->shape[FC_AXIS_C], (l.planar ? IN_PLANES : 0) | WHOLE))
    return FALSE;
  if (l.w.around) return launch_around(&l, to);
  if (l.w.slide) return launch_slide(&l, to);
  if (l.w.overlap) return launch_overlap(&l, to);
  if (l.w.row) return launch_row(&l, to);
  l.along = FC_AXIS_Y;
  if (launch_few(&l, to)) return TRUE;
  return l.w.column ? launch_column(&l, to) : launch_march(&l, to);
}

/* The skeleton's arguments after those that all variants have. */
static void append_window_arguments(GString *text, const window *w, guint variant) {
  const gboolean is_short = w->slide && ((variant - SLIDE) & SHORT) != 0;
  if (w->around)
    g_string_append_printf(text, ", %u, %u, %d, %d, %d", w->f->window_x, w->f->window_y, (int)w->width,
                           (int)w->v, (int)w->threads);
  else if (w->slide)
    g_string_append_printf(text, ", %d, %s", (int)fc_slide_samples(w, is_short),
                           fc_text_truth[fc_slide_is_folded(w, is_short)]);
  else if (w->row)
    g_string_append_printf(text, ", %d, %d, %d, %d, %s", (int)w->v, (int)w->batch, (int)w->threads,
                           (int)w->unroll, fc_text_truth[w->sorted]);
  else if (!w->overlap && !w->column)
    g_string_append_printf(text, ", %d, %d, %d, %d, %s, %s, %d", (int)w->v, (int)w->batch, (int)w->threads,
                           (int)(w->cell ? w->cell : w->threads), fc_text_truth[w->lends],
                           fc_text_truth[w->copies], (int)w->unroll);
}

static void append_window(GString *text, const fc_composition *c, const fc_view *in, const fc_view *out,
                          guint variant) {
  const gboolean march = variant < ROW, column = variant >= COLUMN, down = march || column;
  const guint flags = (column ? variant - COLUMN : variant - MARCH) % (down ? MARCH_WARP : SHORT);
  const guint few = march && variant - MARCH >= FEW ? (variant - MARCH - FEW) / ROWS_STEP + 1 : 0;
  window w;
  describe_window(&w, c, in->dtype, in->shape[FC_AXIS_C],
                  down ? flags + few * ROWS_STEP : (flags & IN_PLANES) | WHOLE);
  const gboolean is_short = w.slide && ((variant - SLIDE) & SHORT) != 0;
  if (w.slide) w.threads = fc_slide_threads(&w, fc_slide_samples(&w, is_short));
  if (w.overlap) w.threads = w.overlap->threads;
  if (w.overlap && (variant - OVERLAP) & APART) fc_overlap_take_apart(&w);
  if (w.around) fc_around_set(&w, c->compute, (flags & ONE_ROW) != 0);
  if (march && !few && variant - MARCH >= CELLS) {
    fc_vectors_set_cell(&w, (int)((variant - MARCH - CELLS) / MARCH_WARP));
  } else if (march && !few) {
    if (variant - MARCH >= LONGER) fc_vectors_lengthen(&w);
    fc_vectors_cut(&w, 32 * ((gint64)(variant - MARCH) % LENDS / MARCH_WARP + 1),
                   (variant - MARCH) % LONGER >= LENDS);
  }
  const gboolean before = c->window > 0, after = c->window + 1 < c->n;
  if (c->prefilter > 1) fc_text_chain(text, "Ahead", c, 0, c->prefilter - 1, w.ui, in->dtype);
  if (c->prefilter && c->prefilter < c->window)
    fc_text_chain(text, "Behind", c, c->prefilter, c->window, w.um, in->dtype);
  if (c->prefilter)
    fc_prefilter_append(text, c);
  else if (before)
    fc_text_chain(text, "Pre", c, 0, c->window, w.ui, in->dtype);
  if (after) fc_text_chain(text, "Post", c, c->window + 1, c->n, w.um, in->dtype);
  g_string_append_printf(text, "typedef %sstage%u::%s%s Op;\nstruct Params {\n  fc_%s_args args;\n",
                         w.turned ? "fc_turned<" : "", c->window, w.f->entry, w.turned ? ">" : "",
                         w.around ? "around" : "window");
  if (before) g_string_append_printf(text, "  alignas(%d) Pre pre;\n", FC_COMPOSE_ALIGN);
  g_string_append_printf(text, "  alignas(%d) Op op;\n", FC_COMPOSE_ALIGN);
  if (after) g_string_append_printf(text, "  alignas(%d) Post post;\n", FC_COMPOSE_ALIGN);
  g_string_append(text, "};\n");
  if (w.overlap) /* what the host computed the launch by */
    g_string_append_printf(text, "static_assert(Op::is(%d, %d, %d, %d), \"\");\n", w.overlap->threads,
                           w.overlap->groups, (int)w.v / w.together, (int)fc_overlap_shared(&w));
  const gboolean rows = c->stages[c->window].kind != FC_AUDIO;
  const int resident = w.overlap ? fc_overlap_resident(&w)
                       : w.slide ? fc_slide_blocks(&w, is_short, rows)
                                 : 0;
  g_autofree char *bounds = march      ? g_strdup_printf("%d FC_AT_LEAST", (int)w.threads)
                            : resident ? g_strdup_printf("%d, %d", (int)w.threads, resident)
                                       : g_strdup_printf("%d", (int)w.threads);
  g_autofree char *sides =
      down ? g_strdup_printf("%d, %d", (int)fc_vectors_moved(&w, 0), (int)fc_vectors_moved(&w, 1))
           : g_strconcat(w.around ? fc_text_types[c->compute] : fc_text_truth[!!(flags & ALIGNED)],
                         w.overlap ? ", " : NULL, fc_text_truth[fc_ranges_finite(c, c->window, in->dtype)],
                         NULL);
  g_autofree char *skeleton = few ? g_strdup_printf("fc_few<%d, ", (int)w.few) : g_strdup("");
  g_string_append_printf(
      text,
      "extern \"C\" __global__ void __launch_bounds__(%s) kernel(const __grid_constant__ Params p) {\n"
      "  fc_await_earlier();\n  %sfc_%s<%s, %d, %s, %d, %d, %d, %d, %d, %d, %s",
      bounds, skeleton, fc_compose_skeleton(variant), fc_text_types[in->dtype],
      fc_text_kind(in->kind, in->dtype), fc_text_types[out->dtype], fc_text_kind(out->kind, out->dtype),
      (int)w.ui, (int)w.um, (int)w.uo, (int)w.step, c->border, sides);
  append_window_arguments(text, &w, variant);
  const gboolean floats = w.slide && !fc_slide_is_running(&w);
  const char *const none = down || w.row || w.overlap || floats ? fc_ranges_none(c, in->dtype) : "fc_none";
  g_string_append_printf(text, ", %s, Op, %s", before ? "Pre" : "fc_none", after ? "Post" : none);
  g_string_append_printf(text, ">%s::run(p.args, %s, p.op, %s);\n}\n", few ? ">" : "",
                         before ? "p.pre" : "{}", after ? "p.post" : "{}");
}

/* ---- several windows ------------------------------------------------------------------ */

static gboolean launch_series(const fc_composition *c, const fc_view *in, const fc_view *out, guint32 *notes,
                              guint processors, guint resident, fc_composed *to) {
  fc_series k;
  fc_series_args args;
  fc_view first, last = *out;
  gboolean planar = FALSE, out_planar = FALSE;
  if (!fc_window_lies_in_rows(in, &planar) || !fc_window_lies_in_rows(out, &out_planar) ||
      planar != out_planar ||
      !fc_series_describe(&k, c, in->dtype, in->shape[FC_AXIS_C], planar, out->shape[FC_AXIS_X]) ||
      !fc_series_launch(&k, c, in, out, planar, processors, resident, &args, to))
    return FALSE;
  first = *in, first.data = (void *)args.views.in, args.notes = notes;
  if (!planar) first.stride[FC_AXIS_C] = last.stride[FC_AXIS_C] = 0;
  guint length = 0;
  while (fc_series_lengths[length] != k.v) length++;
  to->variant =
      SERIES + (planar ? IN_PLANES : 0) + WARP * (to->threads / 32 - 1) + LENGTH * length +
      (begins_at(args.views.in, &first, k.v / k.um * k.ui * (gint64)fc_dtype_size(in->dtype)) ? ALIGNED : 0) +
      (begins_at(out->data, &last, k.v / k.um * k.uo * (gint64)fc_dtype_size(out->dtype)) ? OUT_ALIGNED : 0);
  return set_params(to, &args, sizeof args, NULL, c);
}

/* The functions ahead of, between and behind the windows, as chains with these names, and the kernel. */
static void append_series(GString *text, const fc_composition *c, const fc_view *in, const fc_view *out,
                          guint variant) {
  static const char *const names[] = {"Pre", "Behind0", "Behind1", "Behind2", "Behind3"};
  const guint flags = (variant - SERIES) % WARP, threads = 32 * ((variant - SERIES) % LENGTH / WARP + 1);
  fc_series k;
  fc_series_describe(&k, c, in->dtype, in->shape[FC_AXIS_C], (flags & IN_PLANES) != 0, 0);
  fc_series_set(&k, c, fc_series_lengths[(variant - SERIES) / LENGTH], threads);
  for (guint i = 0; i <= k.n; i++) {
    const guint from = i ? k.at[i - 1] + 1 : 0, to = i < k.n ? k.at[i] : c->n;
    if (from < to) fc_text_chain(text, names[i], c, from, to, i ? k.um : k.ui, in->dtype);
  }
  g_autofree char *types_of =
      g_strdup_printf("%s, %d, %s, %d", fc_text_types[in->dtype], fc_text_kind(in->kind, in->dtype),
                      fc_text_types[out->dtype], fc_text_kind(out->kind, out->dtype));
  g_autofree char *ends =
      g_strdup_printf("%s, %s", fc_text_truth[!!(flags & ALIGNED)], fc_text_truth[!!(flags & OUT_ALIGNED)]);
  fc_series_append(text, &k, c, names, types_of, ends);
}

/* ---- all of it --------------------------------------------------------------------- */

/* Whether stages and views fit each other. */
static gboolean is_sound(const fc_composition *c, const fc_view *in, const fc_view *out) {
  gint64 channels = in->shape[FC_AXIS_C];
  if (c->n == 0 || c->n > FC_COMPOSE_STAGES || fc_view_count(out) == 0) return FALSE;
  for (guint i = 0; i < c->n; i++) {
    if (!is_fit(&c->stages[i], channels)) return FALSE;
    if (c->stages[i].function->out > 0) channels = c->stages[i].function->out;
  }
  for (int a = 0; a < FC_AXIS_C; a++)
    if (in->shape[a] != out->shape[a] && (a == FC_AXIS_N || c->window == c->n)) return FALSE;
  return channels == out->shape[FC_AXIS_C] && c->stages[c->n - 1].dtype == out->dtype &&
         (!fc_text_is_placed(c) || MAX(in->shape[FC_AXIS_C], channels) <= FC_COMPOSE_CHANNELS);
}

gboolean fc_compose(const fc_composition *c, const fc_view *in, const fc_view *out, guint32 *notes,
                    guint processors, guint resident, fc_composed *to) {
  to->shared = 0;
  if (!is_sound(c, in, out)) return FALSE;
  if (c->windows > 1) return launch_series(c, in, out, notes, processors, resident, to);
  if (c->window < c->n) return launch_window(c, in, out, notes, processors, resident, to);
  fc_map_args args;
  const fc_map_place place = {out->origin[FC_AXIS_X], out->origin[FC_AXIS_Y], out->extent[FC_AXIS_X],
                              out->extent[FC_AXIS_Y]};
  if (!fc_map_launch(c, in, out, processors, &args, to)) return FALSE;
  args.notes = notes;
  return set_params(to, &args, sizeof args, fc_text_is_placed(c) ? &place : NULL, c);
}

char *fc_compose_text(const fc_composition *c, const fc_view *in, const fc_view *out, guint variant) {
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "#include \"filters/%s/%s.cuh\"\n",
                         variant >= OVERLAP && variant < SERIES ? "conv1d" : "gpu",
                         variant < MARCH                           ? "map"
                         : variant >= MARCH + FEW && variant < ROW ? "few"
                                                                   : fc_compose_skeleton(variant));
  gboolean boxes = FALSE;
  for (guint i = 0; i < c->n; i++) boxes |= g_str_has_prefix(c->stages[i].function->entry, "fc_box");
  if (boxes) g_string_append(text, "#include \"filters/gpu/box.cuh\"\n");
  for (guint i = 0; i < c->n; i++) fc_text_function(text, i, c, in->dtype);
  if (c->windows > 1) {
    append_series(text, c, in, out, variant);
  } else if (c->window < c->n) {
    append_window(text, c, in, out, variant);
  } else {
    fc_map_append(text, c, in, out, variant);
  }
  return g_string_free(text, FALSE);
}

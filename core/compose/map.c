/* SPDX-License-Identifier: MIT */
/* map.c - see map.h. */
#include "core/compose/map.h"

#include <string.h>

#include "core/compose/text.h"

enum { WARPS = 8, MAP_THREADS = 256, EACH = 4, TURNS = 32, TABLES = 6 };

/* As variants of the text; TILES has WARPS warps, FEWER_TILES half as many. */
enum { PACKS, TABLE, STRIDED, PLANES, TILES, FEWER_TILES };
G_STATIC_ASSERT(FEWER_TILES + 1 == FC_MAP_VARIANTS);

const char *fc_map_skeleton(guint variant) {
  static const char *const names[FC_MAP_VARIANTS] = {"packs", "table", "strided", "planes", "tiles", "tiles"};
  return names[variant];
}

/* ---- where samples lie ------------------------------------------------------- */

/* One axis of both views. */
typedef struct axis {
  gint64 count, in, out; /* number of elements; distance in bytes in either view */
} axis;

/* Orders axes by the distance of their elements in the output, and joins those that are contiguous in each
 * other in both views. Returns how many are left, the innermost first; at least one. */
static guint join_axes(axis *axes, guint n) {
  guint kept = 0;
  for (guint i = 0; i < n; i++)
    if (axes[i].count > 1) axes[kept++] = axes[i];
  for (guint i = 1; i < kept; i++)
    for (guint j = i; j > 0 && ABS(axes[j].out) < ABS(axes[j - 1].out); j--) {
      axis swap = axes[j];
      axes[j] = axes[j - 1], axes[j - 1] = swap;
    }
  guint last = 0;
  for (guint i = 1; i < kept; i++) {
    axis *inner = &axes[last];
    if (axes[i].in == inner->in * inner->count && axes[i].out == inner->out * inner->count)
      inner->count *= axes[i].count;
    else
      axes[++last] = axes[i];
  }
  if (kept == 0) axes[0] = (axis){1, 0, 0};
  return kept == 0 ? 1 : last + 1;
}

static axis axis_of(const fc_view *in, const fc_view *out, int a) {
  return (axis){out->shape[a], in->stride[a], out->stride[a]};
}

/* `placed`: lines are rows, numbered by row and image, and not joined any further. */
static gboolean fill_args(fc_map_args *a, const fc_view *in, const fc_view *out, gboolean pixels,
                          gboolean placed) {
  axis axes[FC_AXES];
  guint n = 0;
  memset(a, 0, sizeof *a);
  a->in = in->data, a->out = out->data;
  for (int i = FC_AXES - 1; i >= 0; i--)
    if (i != FC_AXIS_C || !pixels) axes[n++] = axis_of(in, out, i);
  if (!placed) n = join_axes(axes, n);
  a->length = axes[0].count, a->in_step[0] = axes[0].in, a->out_step[0] = axes[0].out;
  gint64 lines = 1;
  for (guint i = 0; i < 3; i++) { /* count[2] is the fastest axis, axes[1] */
    const axis *x = i + 1 < n ? &axes[i + 1] : NULL;
    a->count[2 - i] = x ? x->count : 1, a->in_step[3 - i] = x ? x->in : 0,
                 a->out_step[3 - i] = x ? x->out : 0;
    if (lines > G_MAXINT32 / a->count[2 - i]) return FALSE;
    lines *= a->count[2 - i];
  }
  if (lines > 1 && a->length > G_MAXINT32 / lines)
    return FALSE; /* units, and the last grid beyond them, are numbered in 32 bits */
  a->in_channel = pixels ? in->stride[FC_AXIS_C] : 0, a->out_channel = pixels ? out->stride[FC_AXIS_C] : 0;
  return TRUE;
}

/* Whether lines, and channels in them, start at multiples of 16 bytes. */
static gboolean is_aligned(const void *data, const gint64 *step, gint64 channel, gint64 channels) {
  gint64 all = (gint64)(guintptr)data | step[1] | step[2] | step[3] | (channels > 1 ? channel : 0);
  return (all & 15) == 0;
}

/* ---- the launch ------------------------------------------------------------------- */

/* Both views, and what has been derived from them. */
typedef struct shape {
  int in_dtype, out_dtype, in_kind, out_kind, compute;
  gint64 channels_in, channels_out; /* of pixels; 1 where samples are independent */
  gint64 in_size, out_size;
  gboolean costly; /* whether looking results up is faster than computing them */
} shape;

static shape shape_of(const fc_view *in, const fc_view *out, int compute, gboolean pixels) {
  return (shape){in->dtype,
                 out->dtype,
                 fc_text_kind(in->kind, in->dtype),
                 fc_text_kind(out->kind, out->dtype),
                 compute,
                 pixels ? in->shape[FC_AXIS_C] : 1,
                 pixels ? out->shape[FC_AXIS_C] : 1,
                 (gint64)fc_dtype_size(in->dtype),
                 (gint64)fc_dtype_size(out->dtype),
                 FALSE};
}

/* Whether some function of single samples says that it is worth a kernel by itself, as powers are. */
static gboolean is_costly(const fc_composition *c) {
  for (guint i = 0; i < c->n; i++)
    if (c->stages[i].function->flags & FC_FUNCTION_ALONE && c->stages[i].function->in == 0) return TRUE;
  return FALSE;
}

/* Pixels per thread, such that both sides are whole words; as in map.cuh. */
static gint64 pixels_of(const shape *s) {
  gint64 wide = MAX(s->in_size, s->out_size), slim = MIN(s->in_size, s->out_size);
  return MAX(16 / wide, 4 / slim);
}

static gint64 warps_of(guint variant) {
  return variant == TILES ? WARPS : WARPS / 2;
}

/* Pixels of a warp's tile. */
static gint64 tile_pixels(const shape *s) {
  return 32 * pixels_of(s);
}

/* The variant for these views: packs of samples, tiles of interleaved pixels or of the samples of short
 * lines, planes, or any strides. */
static guint choose(const shape *s, const fc_map_args *a) {
  const gint64 in = s->in_size * s->channels_in, out = s->out_size * s->channels_out;
  const gboolean dense = a->in_step[0] == in && a->out_step[0] == out;
  const gint64 wide = MAX(s->in_size, s->out_size), slim = MIN(s->in_size, s->out_size);
  const gboolean samples = s->channels_in == 1 && s->channels_out == 1;
  if (s->costly && s->in_dtype == FC_U8 && dense && wide <= 4 && s->out_dtype != FC_I32 &&
      a->length >= 64 * 16 / wide)
    return TABLE;
  if (samples && dense && wide <= 4 * slim && a->length >= 64 * 16 / wide) return PACKS;
  if (samples && 4 * a->length < tile_pixels(s)) return STRIDED;
  const gboolean interleaved = (s->channels_in == 1 || a->in_channel == s->in_size) &&
                               (s->channels_out == 1 || a->out_channel == s->out_size);
  const gint64 room = tile_pixels(s) * MAX(in, out) + 48;
  const guint tiles = 2 * WARPS * room <= 48 << 10 ? TILES : FEWER_TILES;
  if (interleaved && dense && MAX(s->channels_in, s->channels_out) <= 4 && a->length >= 32 &&
      2 * warps_of(tiles) * room <= 48 << 10)
    return tiles;
  const gboolean planar = a->in_step[0] == s->in_size && a->out_step[0] == s->out_size;
  if (planar && MAX(s->channels_in, s->channels_out) <= 4 &&
      is_aligned(a->in, a->in_step, a->in_channel, s->channels_in) &&
      is_aligned(a->out, a->out_step, a->out_channel, s->channels_out))
    return PLANES;
  return STRIDED;
}

static guint grid_of(gint64 work, gint64 per_block, gint64 most) {
  return (guint)CLAMP((work + per_block - 1) / per_block, 1, most);
}

static gboolean size_grid(fc_composed *c, const shape *s, const fc_map_args *a, guint processors) {
  const gint64 lines = a->count[0] * a->count[1] * a->count[2];
  c->threads = MAP_THREADS, c->grid[1] = 1;
  if (c->variant >= TILES) {
    const gint64 warps = warps_of(c->variant), pixels = tile_pixels(s);
    const gint64 tiles = (a->length + pixels - 1) / pixels;
    c->threads = (guint)(32 * warps);
    c->grid[0] = grid_of(lines * tiles, warps, (gint64)processors * TURNS);
    return TRUE;
  }
  gint64 each = MAP_THREADS * EACH;
  if (c->variant == TABLE) {
    each *= 16 / s->out_size;
    c->grid[0] = grid_of(lines * ((a->length + each - 1) / each), 1, (gint64)processors * TABLES);
    return TRUE;
  }
  if (c->variant == PACKS) each *= 16 / MAX(s->in_size, s->out_size);
  if (c->variant == PLANES) each = MAP_THREADS * pixels_of(s);
  const gboolean samples = s->channels_in == 1 && s->channels_out == 1,
                 small = samples && MAX(s->in_size, s->out_size) <= 2,
                 adjacent = a->in_step[0] == s->in_size && a->out_step[0] == s->out_size;
  if (c->variant == STRIDED && samples) each *= small ? 4 : 2;
  const gint64 run = small && adjacent ? 4 : 1; /* of map.cuh */
  const gint64 line = (a->length + run - 1) / run * run,
               work = c->variant == STRIDED ? lines * line : a->length;
  if ((work + each - 1) / each > G_MAXINT32) return FALSE;
  c->grid[0] = grid_of(work, each, G_MAXINT32);
  if (c->variant != STRIDED) c->grid[1] = grid_of(lines, 1, 65535);
  return TRUE;
}

static gboolean takes_pixels(const fc_composition *c) {
  gboolean pixels = fc_text_is_placed(c);
  for (guint i = 0; i < c->n; i++) pixels |= c->stages[i].function->out > 0;
  return pixels;
}

gboolean fc_map_launch(const fc_composition *c, const fc_view *in, const fc_view *out, guint processors,
                       fc_map_args *args, fc_composed *to) {
  const gboolean pixels = takes_pixels(c);
  shape s = shape_of(in, out, c->compute, pixels);
  s.costly = !pixels && is_costly(c);
  if (!fill_args(args, in, out, pixels, fc_text_is_placed(c))) return FALSE;
  to->variant = choose(&s, args), to->grid[2] = 1;
  return size_grid(to, &s, args, processors);
}

/* ---- the text -------------------------------------------------------------------- */

static void append_kernel(GString *text, guint variant, const shape *s) {
  const gint64 threads = variant >= TILES ? 32 * warps_of(variant) : MAP_THREADS;
  g_string_append(text, "struct Params {\n  fc_map_args args;\n");
  g_string_append_printf(text, "  alignas(%d) Chain chain;\n};\n", FC_COMPOSE_ALIGN);
  g_string_append_printf(
      text,
      "extern \"C\" __global__ void __launch_bounds__(%d) kernel(const __grid_constant__ Params p) {\n"
      "  fc_await_earlier();\n  fc_map_%s<%s, %s, %d, %s, %d, ",
      (int)threads, fc_map_skeleton(variant), fc_text_types[s->compute], fc_text_types[s->in_dtype],
      s->in_kind, fc_text_types[s->out_dtype], s->out_kind);
  if (variant >= STRIDED) g_string_append_printf(text, "%d, %d, ", (int)s->channels_in, (int)s->channels_out);
  if (variant >= TILES) g_string_append_printf(text, "%d, ", (int)warps_of(variant));
  g_string_append(text, "Chain>::run(p.args, p.chain);\n}\n");
}

void fc_map_append(GString *text, const fc_composition *c, const fc_view *in, const fc_view *out,
                   guint variant) {
  const shape s = shape_of(in, out, c->compute, takes_pixels(c));
  fc_text_chain(text, "Chain", c, 0, c->n, s.channels_in, in->dtype);
  append_kernel(text, variant, &s);
}

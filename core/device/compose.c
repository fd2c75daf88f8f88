/* SPDX-License-Identifier: MIT */
/*
 * compose.c - see compose.h.
 */
#include "core/device/compose.h"

#include <string.h>

enum { WARPS = 8, MAP_THREADS = 256, EACH = 4, TURNS = 32 };

/* By the name that map.cuh has for them after fc_map_; tiles of WARPS warps, or of half as many. */
enum { PACKS, STRIDED, PLANES, TILES, FEWER_TILES };
const char *const fc_compose_skeletons[FC_COMPOSE_VARIANTS] = {"packs", "strided", "planes", "tiles",
                                                               "tiles"};

static const char *const types[FC_DTYPE_COUNT] = {"uint8_t", "int16_t", "uint16_t",
                                                  "int32_t", "float",   "double"};

/* ---- where samples lie ------------------------------------------------------- */

/* One axis of both views. */
typedef struct axis {
  gint64 count, in, out; /* elements; bytes from one to the next */
} axis;

/* Orders axes by how far apart their elements lie in the output, and joins those that follow one another
 * without a gap in both views. Returns how many are left, the innermost first; at least one. */
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

static gboolean fill_args(fc_map_args *a, const fc_view *in, const fc_view *out, gboolean pixels,
                          guint32 *notes) {
  axis axes[FC_AXES];
  guint n = 0;
  memset(a, 0, sizeof *a);
  a->in = in->data, a->out = out->data, a->notes = notes;
  for (int i = FC_AXES - 1; i >= 0; i--)
    if (i != FC_AXIS_C || !pixels) axes[n++] = axis_of(in, out, i);
  n = join_axes(axes, n);
  a->length = axes[0].count, a->in_step[0] = axes[0].in, a->out_step[0] = axes[0].out;
  gint64 lines = 1;
  for (guint i = 0; i < 3; i++) { /* count[2] is the fastest, of axes[1] */
    const axis *x = i + 1 < n ? &axes[i + 1] : NULL;
    a->count[2 - i] = x ? x->count : 1, a->in_step[3 - i] = x ? x->in : 0,
                 a->out_step[3 - i] = x ? x->out : 0;
    if (lines > G_MAXINT32 / a->count[2 - i]) return FALSE;
    lines *= a->count[2 - i];
  }
  if (lines > 1 && a->length > G_MAXINT32 / lines)
    return FALSE; /* 32 bits number units, and what is beyond the last */
  a->in_channel = pixels ? in->stride[FC_AXIS_C] : 0, a->out_channel = pixels ? out->stride[FC_AXIS_C] : 0;
  return TRUE;
}

/* Whether lines, and channels in them, begin at multiples of 16 bytes. */
static gboolean is_aligned(const void *data, const gint64 *step, gint64 channel, gint64 channels) {
  gint64 all = (gint64)(guintptr)data | step[1] | step[2] | step[3] | (channels > 1 ? channel : 0);
  return (all & 15) == 0;
}

/* ---- the text -------------------------------------------------------------------- */

/* Both views, and what is known of them. */
typedef struct shape {
  int in_dtype, out_dtype, in_kind, out_kind, compute;
  gint64 channels_in, channels_out; /* of pixels; 1 where each sample is by itself */
  gint64 in_size, out_size;
} shape;

static shape shape_of(const fc_view *in, const fc_view *out, int compute, gboolean pixels) {
  return (shape){in->dtype,
                 out->dtype,
                 in->kind,
                 out->kind,
                 compute,
                 pixels ? in->shape[FC_AXIS_C] : 1,
                 pixels ? out->shape[FC_AXIS_C] : 1,
                 (gint64)fc_dtype_size(in->dtype),
                 (gint64)fc_dtype_size(out->dtype)};
}

/* Pixels of a thread, of whole words on either side; as in map.cuh. */
static gint64 pixels_of(const shape *s) {
  gint64 wide = MAX(s->in_size, s->out_size), slim = MIN(s->in_size, s->out_size);
  return MAX(16 / wide, 4 / slim);
}

static gint64 warps_of(guint variant) {
  return variant == TILES ? WARPS : WARPS / 2;
}

/* Of a warp's tile. */
static gint64 tile_pixels(const shape *s) {
  return 32 * pixels_of(s);
}

/* What suits: packs of samples, tiles of interleaved pixels, planes, or any strides. */
static guint choose(const shape *s, const fc_map_args *a) {
  const gint64 in = s->in_size * s->channels_in, out = s->out_size * s->channels_out;
  const gboolean dense = a->in_step[0] == in && a->out_step[0] == out;
  const gint64 wide = MAX(s->in_size, s->out_size), slim = MIN(s->in_size, s->out_size);
  if (s->channels_in == 1 && s->channels_out == 1)
    return dense && wide <= 4 * slim && a->length >= 64 * 16 / wide ? PACKS : STRIDED;
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
  if (c->variant == PACKS) each *= 16 / MAX(s->in_size, s->out_size);
  if (c->variant == PLANES) each = MAP_THREADS * pixels_of(s);
  const gint64 work = c->variant == STRIDED ? lines * a->length : a->length;
  if ((work + each - 1) / each > G_MAXINT32) return FALSE;
  c->grid[0] = grid_of(work, each, G_MAXINT32);
  if (c->variant != STRIDED) c->grid[1] = grid_of(lines, 1, 65535);
  return TRUE;
}

/* Is it a name, as a template's with arguments is: what goes into the text unquoted? */
static gboolean is_entry(const char *entry) {
  if (!entry || !(g_ascii_isalpha(*entry) || *entry == '_')) return FALSE;
  for (const char *c = entry; *c; c++)
    if (!g_ascii_isalnum(*c) && !strchr("_<>, ", *c)) return FALSE;
  return strlen(entry) < 64;
}

static gboolean check_stage(const fc_compose_stage *s, gint64 channels, GError **error) {
  const fc_device_function *f = s->function;
  if (!f->source || !is_entry(f->entry))
    return fc_fail(error, FC_INVALID, "%s: the device function has no text or no name", s->name);
  if ((f->in == 0) != (f->out == 0) || (f->in > 0 && f->in != channels))
    return fc_fail(error, FC_INVALID,
                   "%s: the device function is for %u channels, and there are %" G_GINT64_FORMAT, s->name,
                   f->in, channels);
  if (f->out > FC_COMPOSE_CHANNELS || f->in > FC_COMPOSE_CHANNELS)
    return fc_fail(error, FC_UNSUPPORTED, "%s: a kernel is composed for up to %d channels of a pixel",
                   s->name, FC_COMPOSE_CHANNELS);
  if (f->n_bytes > FC_COMPOSE_MOST || f->align > FC_COMPOSE_ALIGN || (f->n_bytes > 0 && !f->bytes))
    return fc_fail(error, FC_UNSUPPORTED,
                   "%s: the device function's parameters are too many, or aligned to more than %d", s->name,
                   FC_COMPOSE_ALIGN);
  return s->dtype >= 0 && s->dtype < FC_DTYPE_COUNT ? TRUE
                                                    : fc_fail(error, FC_FATAL, "%s: no such type", s->name);
}

/* A stage's text in a namespace of its own. Lines are counted from the text's first, and named after the
 * operator. */
static void append_function(GString *text, guint i, const fc_compose_stage *s, int compute) {
  g_autofree char *name = g_strescape(s->name, NULL);
  g_string_append_printf(text, "namespace stage%u {\ntypedef %s real;\n#line 1 \"%s\"\n%s\n}\n", i,
                         types[compute], name, s->function->source);
  g_string_append_printf(
      text,
      "#line 1 \"parameters of %s\"\nstatic_assert(sizeof(stage%u::%s) == %u, \"the text's members "
      "are not laid out as the bytes are\");\n",
      name, i, s->function->entry, MAX(s->function->n_bytes, 1));
}

/* The struct that holds all functions, and runs them on the samples of N / channels pixels. */
static void append_chain(GString *text, const fc_compose_stage *stages, guint n, const shape *s) {
  const char *real = types[s->compute];
  gint64 channels = s->channels_in;
  g_string_append(text, "#line 1 \"chain\"\nstruct Chain {\n");
  for (guint i = 0; i < n; i++)
    g_string_append_printf(text, "  alignas(%d) stage%u::%s f%u;\n", FC_COMPOSE_ALIGN, i,
                           stages[i].function->entry, i);
  g_string_append_printf(text,
                         "  template <int N, int M> FC_DEVICE void run(const %s (&v0)[N], %s (&to)[M], "
                         "fc_dev_noted &noted) const {\n"
                         "    constexpr int PIXELS = N / %d;\n",
                         real, real, (int)s->channels_in);
  for (guint i = 0; i < n; i++) {
    const fc_device_function *f = stages[i].function;
    if (f->out > 0) channels = f->out;
    g_string_append_printf(text, "    %s v%u[PIXELS * %d];\n    fc_map_apply<%u, %u>(f%u, v%u, v%u);\n", real,
                           i + 1, (int)channels, f->in, f->out, i, i, i + 1);
    const int link = stages[i].dtype;
    if (i + 1 < n && !(f->flags & FC_FUNCTION_SELECTS) &&
        (!fc_dtype_is_float(link) || (link == FC_F32 && s->compute == FC_F64)))
      g_string_append_printf(text, "    fc_map_round<%s, %d>(v%u, noted);\n", types[link], stages[i].kind,
                             i + 1);
  }
  g_string_append_printf(text, "#pragma unroll\n    for (int i = 0; i < M; i++) to[i] = v%u[i];\n  }\n};\n",
                         n);
}

static void append_kernel(GString *text, guint variant, const shape *s) {
  const gint64 threads = variant >= TILES ? 32 * warps_of(variant) : MAP_THREADS;
  g_string_append(text, "struct Params {\n  fc_map_args args;\n");
  g_string_append_printf(text, "  alignas(%d) Chain chain;\n};\n", FC_COMPOSE_ALIGN);
  g_string_append_printf(
      text,
      "extern \"C\" __global__ void __launch_bounds__(%d) kernel(const __grid_constant__ Params p) {\n"
      "  fc_map_%s<%s, %s, %d, %s, %d, ",
      (int)threads, fc_compose_skeletons[variant], types[s->compute], types[s->in_dtype], s->in_kind,
      types[s->out_dtype], s->out_kind);
  if (variant != PACKS) g_string_append_printf(text, "%d, %d, ", (int)s->channels_in, (int)s->channels_out);
  if (variant >= TILES) g_string_append_printf(text, "%d, ", (int)warps_of(variant));
  g_string_append(text, "Chain>::run(p.args, p.chain);\n}\n");
}

/* ---- parameters -------------------------------------------------------------------- */

static gsize aligned_up(gsize bytes) {
  return (bytes + FC_COMPOSE_ALIGN - 1) / FC_COMPOSE_ALIGN * FC_COMPOSE_ALIGN;
}

gsize fc_compose_bytes(const fc_device_function *function) {
  return aligned_up(MAX(function->n_bytes, 1)); /* an empty struct takes a byte */
}

static gboolean append_bytes(fc_composed *to, const void *bytes, gsize n) {
  const gsize aligned = aligned_up(n);
  if (aligned > FC_COMPOSE_MOST - to->n_params) return FALSE;
  memset(to->params + to->n_params, 0, aligned);
  memcpy(to->params + to->n_params, bytes, n);
  to->n_params += (guint)aligned;
  return TRUE;
}

static gboolean set_params(fc_composed *to, const fc_map_args *a, const fc_compose_stage *stages, guint n) {
  to->n_params = 0;
  gboolean ok = append_bytes(to, a, sizeof *a);
  for (guint i = 0; i < n && ok; i++) {
    const fc_device_function *f = stages[i].function;
    ok = append_bytes(to, f->n_bytes ? f->bytes : "", MAX(f->n_bytes, 1));
  }
  return ok;
}

/* ---- all of it --------------------------------------------------------------------- */

/* Channels through all stages; sets whether any is for pixels. */
static gboolean check_stages(const fc_compose_stage *stages, guint n, const fc_view *in, const fc_view *out,
                             gboolean *pixels, GError **error) {
  gint64 channels = in->shape[FC_AXIS_C];
  *pixels = FALSE;
  if (n == 0 || n > FC_COMPOSE_STAGES)
    return fc_fail(error, FC_UNSUPPORTED, "a kernel is composed of 1 to %d stages", FC_COMPOSE_STAGES);
  for (guint i = 0; i < n; i++) {
    if (!check_stage(&stages[i], channels, error)) return FALSE;
    if (stages[i].function->out > 0) channels = stages[i].function->out, *pixels = TRUE;
  }
  if (channels != out->shape[FC_AXIS_C])
    return fc_fail(error, FC_FATAL, "the stages make another number of channels");
  if (stages[n - 1].dtype != out->dtype) return fc_fail(error, FC_FATAL, "the last stage makes another type");
  for (int a = 0; a < FC_AXIS_C; a++)
    if (in->shape[a] != out->shape[a])
      return fc_fail(error, FC_FATAL, "views of stages side by side differ in shape");
  return fc_view_count(out) > 0 ? TRUE : fc_fail(error, FC_UNSUPPORTED, "there is nothing to be computed");
}

gboolean fc_compose_map(const fc_compose_stage *stages, guint n_stages, int compute, const fc_view *in,
                        const fc_view *out, guint32 *notes, guint processors, fc_composed *c,
                        GError **error) {
  gboolean pixels = FALSE;
  fc_map_args args;
  if (!check_stages(stages, n_stages, in, out, &pixels, error)) return FALSE;
  const shape s = shape_of(in, out, compute, pixels);
  if (!fill_args(&args, in, out, pixels, notes))
    return fc_fail(error, FC_UNSUPPORTED, "the signal is larger than a kernel numbers");
  c->variant = choose(&s, &args);
  if (!size_grid(c, &s, &args, processors))
    return fc_fail(error, FC_UNSUPPORTED, "the signal is larger than a kernel numbers");
  return set_params(c, &args, stages, n_stages) ||
         fc_fail(error, FC_UNSUPPORTED, "parameters of all stages take more than %d bytes", FC_COMPOSE_MOST);
}

char *fc_compose_text(const fc_compose_stage *stages, guint n_stages, int compute, const fc_view *in,
                      const fc_view *out, guint variant) {
  gboolean pixels = FALSE;
  for (guint i = 0; i < n_stages; i++) pixels |= stages[i].function->out > 0;
  const shape s = shape_of(in, out, compute, pixels);
  GString *text = g_string_new("#include \"filters/gpu/map.cuh\"\n");
  for (guint i = 0; i < n_stages; i++) append_function(text, i, &stages[i], compute);
  append_chain(text, stages, n_stages, &s);
  append_kernel(text, variant, &s);
  return g_string_free(text, FALSE);
}

/* SPDX-License-Identifier: MIT */
/* series.c - see series.h. */
#include "core/compose/series.h"

#include <string.h>

#include "core/compose/ranges.h"

enum {
  THREADS = 128,
  SHARED = 48 << 10,
  REGISTERS = 150, /* for windows and sums */
  TAPS = 64,       /* of a window along lines, or of an extreme */
  EXTREME = 24,
  ROWS = 19,  /* of a window */
  DENSE = 81, /* taps: more are limited by arithmetic */
  CHANNELS = 4
};

const gint64 fc_series_lengths[FC_SERIES_LENGTHS] = {4, 8, 12, 16};

static gint64 up_to(gint64 n, gint64 multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

static gboolean is_extreme(const fc_device_function *f) {
  return (f->flags & FC_FUNCTION_SELECTS) != 0;
}

static gboolean is_dense(const fc_device_function *f) {
  return g_str_has_prefix(f->entry, "fc_dense");
}

/* Whether the skeleton has such a window. */
static gboolean has_window(const fc_compose_stage *s) {
  const fc_device_function *f = s->function;
  const gint64 x = f->window_x, y = f->window_y;
  if (s->border == FC_BORDER_NONE || s->border == FC_BORDER_UNSET || s->border == FC_BORDER_WRAP ||
      f->flags & FC_FUNCTION_AROUND)
    return FALSE;
  if (is_extreme(f)) return y == 1 && x >= 2 && x <= EXTREME;
  if (is_dense(f)) return x <= TAPS && y <= ROWS && (y == 1 || x * y <= DENSE);
  return g_str_has_prefix(f->entry, "fc_separable") && x <= TAPS && y <= ROWS;
}

static gboolean is_stored(int dtype) {
  return dtype == FC_U8 || dtype == FC_I16 || dtype == FC_U16 || dtype == FC_F32;
}

/* Finds the windows, and what pixels are ahead of, between and behind them. Nothing is rounded ahead of the
 * last window, since that would be noted of elements that are no outputs. */
static gboolean find_windows(fc_series *k, const fc_composition *c, int in_dtype, gint64 channels) {
  gint64 now = channels;
  k->um = channels;
  k->line = TRUE;
  for (guint i = 0; i < c->n; i++) {
    const fc_device_function *f = c->stages[i].function;
    if (f->flags & FC_FUNCTION_WINDOW) {
      if (k->n == FC_SERIES_WINDOWS || !has_window(&c->stages[i]) || (k->n > 0 && now != k->um)) return FALSE;
      if (k->n == 0) k->um = now;
      k->line &= c->stages[i].kind == FC_AUDIO && f->window_y == 1;
      k->at[k->n++] = i;
    }
    if (f->out > 0) k->pixels = TRUE, now = f->out;
  }
  k->uo = now;
  if (k->n < 2) return FALSE;
  for (guint i = 0; i < k->at[k->n - 1]; i++)
    if (fc_ranges_rounded(c, i, in_dtype)) return FALSE;
  return TRUE;
}

/* Floats of a thread: sums of all windows, and the window that is read. */
static gint64 kept(const fc_series *k, const fc_composition *c) {
  gint64 sums = 0, most = 0;
  for (guint i = 0; i < k->n; i++) {
    const fc_device_function *f = c->stages[k->at[i]].function;
    const gint64 seen = up_to(k->v + ((gint64)f->window_x - 1) * k->step + 3, 4);
    sums += k->v * ((gint64)f->window_y - 1);
    most = MAX(most, is_dense(f) && f->window_y == 1 ? MIN(seen, 64) : seen);
  }
  return sums + most;
}

/* What follows from vectors and threads; as in series.cuh. */
static gboolean lay_out(fc_series *k, const fc_composition *c) {
  const gint64 padded = k->v % 8 == 0 ? k->v + 4 : k->v;
  gint64 rows = 0;
  k->left = k->right = k->above = 0;
  for (guint i = 0; i < k->n; i++) {
    const fc_compose_stage *s = &c->stages[k->at[i]];
    const gint64 x = s->function->window_x, y = s->function->window_y;
    const gboolean constant = s->border == FC_BORDER_ZERO || s->border == FC_BORDER_CONSTANT;
    k->left += up_to(x / 2 * k->step, k->v), k->right += up_to((x - 1 - x / 2) * k->step, k->v);
    k->above += y - 1;
    rows += i == 0 || y == 1 ? k->batch : y / 2 + k->batch + 1 + (constant ? 1 : 0);
  }
  k->width = k->threads * k->v - k->left - k->right;
  const gint64 out = k->v / k->um * k->uo * (gint64)fc_dtype_size(c->stages[c->n - 1].dtype),
               together = k->threads * (out % 32 ? out : out + 16); /* fc_window_room of window.cuh */
  k->shared = rows * k->threads * padded * 4 + together;
  return k->width >= k->threads * k->v / 4 && k->shared <= SHARED;
}

gboolean fc_series_set(fc_series *k, const fc_composition *c, gint64 v, gint64 threads) {
  k->v = v, k->threads = THREADS, k->batch = 4;
  if (v % k->um || (v == 12 && k->um != 3) || (v == 16 && !k->line) || kept(k, c) > REGISTERS) return FALSE;
  while (k->batch /= 2)
    if (lay_out(k, c)) break;
  k->threads = threads;
  return k->batch > 0 && lay_out(k, c);
}

/* Threads that cover a row of so many elements with the fewest in all, BLOCK of them counted for a block. */
static void fit(fc_series *k, const fc_composition *c, gint64 width) {
  enum { BLOCK = 16 };
  gint64 best = 0, least = G_MAXINT64;
  for (k->threads = THREADS; k->threads > 0; k->threads -= 32) {
    if (!lay_out(k, c)) continue;
    const gint64 cost = (width + k->width - 1) / k->width * (k->threads + BLOCK);
    if (cost < least) least = cost, best = k->threads;
  }
  k->threads = best;
  lay_out(k, c);
}

/* ---- the estimate ------------------------------------------------------------------------ */

/* All in cycles of a multiprocessor for 32 samples, which take a warp one instruction each, and 128 bytes of
 * shared memory. Calibrated by test_series_cuda --times on an H200: 132 of 1.7 GHz, 17 bytes of memory a
 * cycle. */
#define CLOCK  (132 * 1.7)
#define MEMORY 17.0
#define START  10e6 /* of a kernel, for all samples: 1.4 microseconds */
#define SECOND 0.1  /* of what limits a kernel less, added to what limits it most */
#define APART  1.15 /* cycles a fourth of an instruction of march.cuh and row.cuh, over a whole kernel */
/* So many times what is counted takes series.cuh by rows; along lines 1. From the times of a kernel that
 * loaded elements at the ends of rows one after the other: this one has not been timed. */
#define FRAMES 3.0
/* Joined kernels have to be so much faster: estimates are not exact, and one kernel more to compile. */
#define MARGIN 0.9

/* Instructions of a vector of a kernel with one window, and of series.cuh, for each window and beside them:
 * loops, addresses, places in the ring; of a sample that is a code; of a function between. */
enum { OF_ONE = 60, OF_WINDOW = 85, OF_KERNEL = 90, OF_CODE = 5, OF_FUNCTION = 2 };

typedef struct load {
  double issued, shared;
} load;

/* A window by vectors of v elements, without what is beside it. */
static load load_of(const fc_device_function *f, gint64 v, gint64 step) {
  const gint64 x = f->window_x, y = f->window_y, quads = up_to(v + (x - 1) * step + 3, 4) / 4;
  double each = (double)(is_dense(f) ? x * y : x + y);
  if (is_extreme(f)) {
    each = 1;
    for (gint64 by = 1; 2 * by <= x; by *= 2) each += (double)(v + (x - by) * step) / (double)v;
  }
  return (load){(each + (double)(3 * quads) / (double)v) / 4, 4 * (double)(quads + v / 4) / (double)v};
}

/* Of samples that are loaded and stored, and of functions. */
static double around(guint functions, int in, int out) {
  const guint codes = (fc_dtype_is_float(in) ? 0 : 1) + (fc_dtype_is_float(out) ? 0 : 1);
  return (double)(functions * OF_FUNCTION + codes * OF_CODE) / 4;
}

/* `start`: of the kernel, for 32 samples. */
static double time_of(int in, int out, double again, double work, double start) {
  const double memory = 32 / MEMORY * ((double)fc_dtype_size(in) * again + (double)fc_dtype_size(out));
  return MAX(memory, work) + SECOND * MIN(memory, work) + start;
}

/* A kernel with the window `w` alone, and the functions around it, as if it lost nothing at the ends of rows:
 * by vectors of 8 elements; along lines of 16 bytes of the smaller type, or with several channels apart, if
 * that is better (vectors.c). */
static double time_apart(const fc_compose_stage *w, gboolean line, guint functions, int in, int out,
                         gint64 step, double start) {
  const gint64 v = line ? 16 / (gint64)MIN(fc_dtype_size(in), fc_dtype_size(out)) : 8;
  const load whole = load_of(w->function, v, step), sorted = load_of(w->function, 4 * step, 1);
  double work = MAX(whole.issued, whole.shared) + OF_ONE / 4. / (double)v;
  if (line && step > 1) work = MIN(work, MAX(sorted.issued, sorted.shared + 2) + OF_ONE / 16. / (double)step);
  return time_of(in, out, 1, APART * (work + around(functions, in, out)), start);
}

static double start_of(const gint64 extent[FC_AXES]) {
  double samples = 1;
  for (int a = 0; a < FC_AXES; a++) samples *= extent[a] < 0 ? 1e6 : (double)MAX(extent[a], 1);
  return START / samples;
}

static double time_joined(const fc_series *k, const fc_composition *c, int in, const gint64 extent[FC_AXES]) {
  enum { PLACES = 132 * 4, LEAST = 8 };
  const int out = c->stages[c->n - 1].dtype;
  const gint64 row = extent[FC_AXIS_X] < 0 ? G_MAXINT32 : extent[FC_AXIS_X] * k->step,
               bands = k->line ? 1 : (row + k->width - 1) / k->width,
               height = extent[FC_AXIS_Y] < 0 ? G_MAXINT16 : MAX(extent[FC_AXIS_Y], 1),
               rows = CLAMP(MAX(extent[FC_AXIS_N], 1) * height * bands / PLACES, LEAST, MAX(height, LEAST));
  const double all = (double)(k->threads * k->v),
               across = k->line ? all / (double)k->width : (double)bands * all / (double)row;
  gint64 more = 0; /* rows beside those of a block's outputs */
  load sum = {0, 0};
  for (guint i = k->n; i-- > 0;) {
    const fc_device_function *f = c->stages[k->at[i]].function;
    const load l = load_of(f, k->v, k->step);
    more += k->line ? 0 : (gint64)f->window_y - 1;
    const double again = across * (1 + (double)more / (double)rows);
    sum.issued += (l.issued + OF_WINDOW / 4. / (double)k->v) * again, sum.shared += l.shared * again;
  }
  const double again = k->line ? 1 : 1 + (double)more / (double)rows,
               work = MAX(sum.issued, sum.shared) + across * OF_KERNEL / 4. / (double)k->v +
                      around(c->n - k->n, in, out);
  return time_of(in, out, again, (k->line ? 1 : FRAMES) * work, start_of(extent));
}

/* ---- the layout -------------------------------------------------------------------------- */

gboolean fc_series_describe(fc_series *k, const fc_composition *c, int in_dtype, gint64 channels,
                            gboolean planar, gint64 width) {
  const gint64 extent[FC_AXES] = {1, -1, width > 0 ? width : -1, channels},
               in = (gint64)fc_dtype_size(in_dtype), out = (gint64)fc_dtype_size(c->stages[c->n - 1].dtype);
  *k = (fc_series){.n = 0};
  if (c->compute != FC_F32 || !is_stored(in_dtype) || !is_stored(c->stages[c->n - 1].dtype) ||
      !find_windows(k, c, in_dtype, channels) || MAX(MAX(channels, k->um), k->uo) > CHANNELS ||
      (k->pixels && planar))
    return FALSE;
  k->step = planar ? 1 : k->um;
  k->ui = k->pixels ? channels : 1, k->um = k->pixels ? k->um : 1, k->uo = k->pixels ? k->uo : 1;
  fc_series best = {.n = 0};
  double least = 0;
  for (guint i = 0; i < FC_SERIES_LENGTHS; i++) {
    if (!fc_series_set(k, c, fc_series_lengths[i], THREADS) || k->v / k->um * k->ui * in % 4 ||
        k->v / k->um * k->uo * out % 4)
      continue;
    if (!k->line && width > 0) fit(k, c, width * k->step);
    const double cost = time_joined(k, c, in_dtype, extent);
    if (best.n == 0 || cost < least) best = *k, least = cost;
  }
  *k = best;
  return best.n > 0;
}

/* Whether a mirror shows pixels that there are; a length that is not known is long. */
static gboolean is_large(const fc_series *k, const fc_composition *c, const gint64 extent[FC_AXES]) {
  for (guint i = 0; i < k->n; i++) {
    const fc_device_function *f = c->stages[k->at[i]].function;
    if ((extent[FC_AXIS_X] >= 0 && extent[FC_AXIS_X] <= (gint64)f->window_x) ||
        (f->window_y > 1 && extent[FC_AXIS_Y] >= 0 && extent[FC_AXIS_Y] <= (gint64)f->window_y))
      return FALSE;
  }
  return TRUE;
}

gboolean fc_series_pays(const fc_composition *c, int in_dtype, const gint64 extent[FC_AXES], double *joined,
                        double *apart) {
  const gint64 channels = extent[FC_AXIS_C], width = MAX(extent[FC_AXIS_X], 0);
  const double million = 1e6 / 32 / CLOCK;
  fc_series k, ahead;
  if (!fc_series_describe(&k, c, in_dtype, channels, FALSE, width) || !is_large(&k, c, extent)) return FALSE;
  const guint last = k.at[k.n - 1];
  const int link = c->stages[last - 1].dtype, out = c->stages[c->n - 1].dtype;
  const fc_composition before = {c->stages, last, c->compute, c->window, c->border, c->border_value, k.n - 1};
  const double start = start_of(extent);
  double time = time_apart(&c->stages[last], k.line, c->n - 1 - last, link, out, k.step, start);
  if (k.n == 2)
    time += time_apart(&c->stages[k.at[0]], k.line, last - 1, in_dtype, link, k.step, start);
  else if (fc_series_describe(&ahead, &before, in_dtype, channels, FALSE, width))
    time += time_joined(&ahead, &before, in_dtype, extent);
  const double together = time_joined(&k, c, in_dtype, extent);
  if (joined) *joined = together * million;
  if (apart) *apart = time * million;
  return together < MARGIN * time;
}

/* ---- a launch ----------------------------------------------------------------------------- */

/* Whether the views have what series.cuh reads, whose ranges of rows these are. Where the end of a stream is
 * not known yet, its border is not either. */
static gboolean has_all(const fc_series *k, const fc_composition *c, const fc_view *in, const fc_view *out) {
  const gint64 x = out->origin[FC_AXIS_X], lo = in->origin[FC_AXIS_X], hi = lo + in->shape[FC_AXIS_X],
               height = in->extent[FC_AXIS_Y];
  gint64 before = 0, after = 0, top = out->origin[FC_AXIS_Y], end = top + out->shape[FC_AXIS_Y];
  if (in->extent[FC_AXIS_X] < 0 || height < 0) return FALSE;
  for (guint i = k->n; i-- > 0;) {
    const fc_device_function *f = c->stages[k->at[i]].function;
    const gint64 nx = f->window_x, ny = f->window_y, from = top - ny / 2, to = end + ny - 1 - ny / 2;
    before += nx / 2, after += nx - 1 - nx / 2;
    if (ny == 1) continue;
    top = MAX(from, 0), end = MIN(to, height);
    if (from < 0) end = MAX(end, MIN(1 - from, height));
    if (to > height) top = MIN(top, 2 * height - 1 - to);
  }
  if (k->line)
    return in->shape[FC_AXIS_Y] == 1 && out->shape[FC_AXIS_X] > before + after && MAX(x - before, 0) >= lo &&
           MIN(x + out->shape[FC_AXIS_X] + after, in->extent[FC_AXIS_X]) <= hi;
  return lo == 0 && x == 0 && hi == in->extent[FC_AXIS_X] && out->shape[FC_AXIS_X] == hi &&
         top >= in->origin[FC_AXIS_Y] && end <= in->origin[FC_AXIS_Y] + in->shape[FC_AXIS_Y];
}

/* Rows, or slices, per block, where `bands` have so many each: few rounds of blocks, and few rows that are
 * computed twice. */
static gint64 rows_of_block(gint64 rows, gint64 bands, gint64 again, gint64 places) {
  gint64 best = rows, least = G_MAXINT64;
  for (gint64 rounds = 1; rounds <= 16; rounds++) {
    const gint64 each = MAX((rows * bands + rounds * places - 1) / (rounds * places), 8),
                 blocks = (rows + each - 1) / each * bands,
                 cost = (blocks + places - 1) / places * (each + again);
    if (cost < least) least = cost, best = each;
  }
  return MIN(best, rows);
}

gboolean fc_series_launch(const fc_series *k, const fc_composition *c, const fc_view *in, const fc_view *out,
                          gboolean planar, guint processors, guint resident, fc_series_args *args,
                          fc_composed *to) {
  enum { BLOCKS = 5 }; /* per multiprocessor, where that is not known */
  const gint64 far = G_MAXINT32 / 4 / k->step * k->step, total = out->shape[FC_AXIS_X] * k->step,
               ahead = out->origin[FC_AXIS_X] * k->step,
               behind = (in->extent[FC_AXIS_X] - out->origin[FC_AXIS_X]) * k->step,
               planes = planar ? in->shape[FC_AXIS_C] : 1, images = in->shape[FC_AXIS_N] * planes;
  if (!is_large(k, c, in->extent) || !has_all(k, c, in, out) || total > far || in->extent[FC_AXIS_Y] > far ||
      images > 65535 || total < k->threads * k->v / 4)
    return FALSE;
  const gint64 slices = (total + k->width - 1) / k->width, bands = k->line ? 1 : slices,
               rows = k->line ? slices : out->shape[FC_AXIS_Y],
               each = rows_of_block(rows, bands * images, k->above + 2,
                                    (gint64)processors * (resident ? resident : BLOCKS));
  const char *first = fc_view_at(in, 0, -in->origin[FC_AXIS_Y],
                                 out->origin[FC_AXIS_X] - in->origin[FC_AXIS_X], 0); /* of row 0 */
  *args = (fc_series_args){.views = fc_window_views_of(first, in, out),
                           .begin = (gint32)MIN(ahead, far),
                           .end = (gint32)MIN(behind, 2 * far),
                           .total = (gint32)total,
                           .height = k->line ? 1 : (gint32)in->extent[FC_AXIS_Y],
                           .first = k->line ? 0 : (gint32)out->origin[FC_AXIS_Y],
                           .count = (gint32)rows,
                           .rows = (gint32)each,
                           .planes = (gint32)planes};
  for (guint i = 0; i < k->n; i++) args->constant[i] = (float)c->stages[k->at[i]].border_value;
  to->threads = (guint)k->threads;
  to->grid[0] = (guint)bands, to->grid[1] = (guint)((rows + each - 1) / each), to->grid[2] = (guint)images;
  return to->grid[1] <= 65535;
}

/* ---- the text ------------------------------------------------------------------------------ */

void fc_series_append(GString *text, const fc_series *k, const fc_composition *c, const char *const *names,
                      const char *types, const char *aligned) {
  GString *members = g_string_new(NULL), *links = g_string_new(NULL), *values = g_string_new(NULL);
  const gboolean before = k->at[0] > 0, after = k->at[k->n - 1] + 1 < c->n;
  for (guint i = 0; i < k->n; i++) {
    const fc_compose_stage *s = &c->stages[k->at[i]];
    const gboolean extreme = is_extreme(s->function), some = i + 1 < k->n && k->at[i + 1] > k->at[i] + 1;
    g_string_append_printf(text, "typedef %sstage%u::%s%s Op%u;\n", extreme ? "fc_extreme<" : "", k->at[i],
                           s->function->entry, extreme ? ">" : "", i);
    g_string_append_printf(members, "  alignas(%d) Op%u op%u;\n", FC_COMPOSE_ALIGN, i, i);
    g_string_append_printf(links, ", fc_series_link<Op%u, %d, %s>", i, s->border,
                           some ? names[i + 1] : "fc_none");
    g_string_append_printf(values, ", {p.op%u, ", i);
    if (some) {
      g_string_append_printf(members, "  alignas(%d) %s behind%u;\n", FC_COMPOSE_ALIGN, names[i + 1], i);
      g_string_append_printf(values, "p.behind%u}", i);
    } else {
      g_string_append(values, "none}");
    }
  }
  g_string_append(text, "struct Params {\n  fc_series_args args;\n");
  if (before) g_string_append_printf(text, "  alignas(%d) %s pre;\n", FC_COMPOSE_ALIGN, names[0]);
  g_string_append(text, members->str);
  if (after) g_string_append_printf(text, "  alignas(%d) %s post;\n", FC_COMPOSE_ALIGN, names[k->n]);
  g_string_append_printf(
      text,
      "};\nextern \"C\" __global__ void __launch_bounds__(%d) kernel(const __grid_constant__ Params p) {\n"
      "  fc_await_earlier();\n  const fc_none none{};\n  fc_series<%s, %d, %d, %d, %d, %s, %d, %d, %d, %s, "
      "%s, %s%s>::run(p.args, "
      "%s, "
      "%s%s);\n}\n",
      (int)k->threads, types, (int)k->ui, (int)k->um, (int)k->uo, (int)k->step, aligned, (int)k->v,
      (int)k->batch, (int)k->threads, k->line ? "true" : "false", before ? names[0] : "fc_none",
      after ? names[k->n] : "fc_none", links->str, before ? "p.pre" : "none", after ? "p.post" : "none",
      values->str);
  g_string_free(members, TRUE), g_string_free(links, TRUE), g_string_free(values, TRUE);
}

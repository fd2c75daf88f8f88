/* SPDX-License-Identifier: MIT */
/* linear.c - see linear.h. */
#include "core/base/linear.h"

#include <math.h>
#include <string.h>

/* Numbers of a map (128 MB). */
#define NUMBERS_MOST ((gint64)1 << 24)
/* Channels of a matrix. */
#define CHANNELS_MOST 64
/* Of an image's edges so much is made at a time. */
#define SCRATCH_MOST ((gint64)16 << 20)

static const char too_many[] = "too much to be multiplied out";

/* ---- maps ------------------------------------------------------------------------ */

static gint64 mask_count(const fc_linear_map *m) {
  return m->form == FC_LINEAR_DENSE ? m->nx * m->ny : m->nx + m->ny;
}

gint64 fc_linear_count(const fc_linear_map *m) {
  return m->form == FC_LINEAR_PIXELS ? m->rows * (m->columns + 1) : m->masks * mask_count(m);
}

static gboolean is_window_valid(const fc_linear_map *m, gint64 channels) {
  const gint64 taps[] = {m->nx, m->ny}, before[] = {m->before_x, m->before_y},
               growth[] = {m->growth_x, m->growth_y};
  for (int i = 0; i < 2; i++)
    if (taps[i] < 1 || taps[i] > G_MAXINT32 || before[i] < 0 || before[i] >= taps[i] ||
        !(growth[i] == 0 || (growth[i] == taps[i] - 1 && before[i] == taps[i] - 1) ||
          (growth[i] == 1 - taps[i] && before[i] == 0)))
      return FALSE;
  if (m->nx > NUMBERS_MOST / m->ny) return FALSE;
  return m->masks == 1 || (m->masks == channels && channels <= CHANNELS_MOST);
}

gboolean fc_linear_is_large(const fc_linear_map *m) {
  return (m->form == FC_LINEAR_PIXELS ? MAX(m->rows, m->columns) : m->masks) > CHANNELS_MOST ||
         m->count > NUMBERS_MOST;
}

gboolean fc_linear_is_valid(const fc_linear_map *m, gint64 channels_in, gint64 channels_out) {
  if (m->form < FC_LINEAR_PIXELS || m->form > FC_LINEAR_DENSE) return FALSE;
  if (m->form == FC_LINEAR_PIXELS
          ? m->rows != channels_out || m->columns != channels_in || MAX(m->rows, m->columns) > CHANNELS_MOST
          : channels_in != channels_out || !is_window_valid(m, channels_in))
    return FALSE;
  if (fc_linear_count(m) > NUMBERS_MOST || fc_linear_count(m) != m->count) return FALSE;
  for (gint64 i = 0; m->numbers && i < m->count; i++)
    if (!isfinite(m->numbers[i])) return FALSE;
  return TRUE;
}

void fc_linear_map_clear(fc_linear_map *m) {
  g_clear_pointer(&m->numbers, g_free);
}

/* Room for its numbers, as many as its other members say; zeros. */
static gboolean make_room(fc_linear_map *m) {
  m->size = sizeof *m;
  m->count = m->room = fc_linear_count(m);
  m->numbers = g_try_new0(double, (gsize)m->count);
  return m->numbers != NULL;
}

/* Whether each channel is multiplied by a factor of its own, and nothing else. */
static gboolean is_diagonal(const fc_linear_map *m) {
  for (gint64 r = 0; r < m->rows; r++)
    for (gint64 c = 0; c <= m->columns; c++) {
      const gboolean offset = c == m->columns;
      const double v = offset ? m->numbers[m->rows * m->columns + r] : m->numbers[r * m->columns + c];
      if (v != 0 && (offset || r != c)) return FALSE;
    }
  return m->rows == m->columns;
}

char *fc_linear_size(const fc_linear_map *m) {
  if (m->form == FC_LINEAR_PIXELS && is_diagonal(m))
    return g_strdup_printf("%" G_GINT64_FORMAT " factor%s", m->rows, m->rows > 1 ? "s" : "");
  if (m->form == FC_LINEAR_PIXELS)
    return g_strdup_printf("%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT, m->rows, m->columns);
  if (m->nx > 1 && m->ny > 1)
    return g_strdup_printf("%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " taps", m->nx, m->ny);
  return g_strdup_printf("%" G_GINT64_FORMAT " tap%s", MAX(m->nx, m->ny), MAX(m->nx, m->ny) > 1 ? "s" : "");
}

gboolean fc_linear_map_copy(fc_linear_map *to, const fc_linear_map *from) {
  *to = *from;
  if (!make_room(to)) return FALSE;
  memcpy(to->numbers, from->numbers, (gsize)to->count * sizeof *to->numbers);
  return TRUE;
}

/* ---- multiplied out ---------------------------------------------------------------- */

/* to[j + k] += a[j] b[k]. */
static void convolve(double *to, const double *a, gint64 n, const double *b, gint64 m) {
  for (gint64 j = 0; j < n; j++)
    for (gint64 k = 0; k < m; k++) to[j + k] += a[j] * b[k];
}

/* Number (y, x) of a window's mask. */
static double mask_at(const fc_linear_map *m, const double *mask, gint64 y, gint64 x) {
  return m->form == FC_LINEAR_DENSE ? mask[y * m->nx + x] : mask[m->nx + y] * mask[x];
}

static void convolve_masks(const fc_linear_map *a, const double *p, const fc_linear_map *b, const double *q,
                           const fc_linear_map *both, double *to) {
  if (both->form == FC_LINEAR_SEPARABLE) {
    convolve(to, p, a->nx, q, b->nx);
    convolve(to + both->nx, p + a->nx, a->ny, q + b->nx, b->ny);
    return;
  }
  for (gint64 y = 0; y < a->ny; y++)
    for (gint64 x = 0; x < a->nx; x++) {
      const double factor = mask_at(a, p, y, x);
      for (gint64 v = 0; v < b->ny; v++)
        for (gint64 u = 0; u < b->nx; u++) to[(y + v) * both->nx + x + u] += factor * mask_at(b, q, v, u);
    }
}

/* Takes so many products off the budget; FALSE: it does not have them. */
static gboolean spend(double *budget, double products) {
  if (products > *budget) return FALSE;
  *budget -= products;
  return TRUE;
}

static const char *join_windows(const fc_linear_map *a, const fc_linear_map *b, fc_linear_map *both,
                                double *budget) {
  *both = (fc_linear_map){
      .form = a->form == b->form ? a->form : FC_LINEAR_DENSE,
      .masks = MAX(a->masks, b->masks),
      .nx = a->nx + b->nx - 1,
      .ny = a->ny + b->ny - 1,
      .before_x = a->before_x + b->before_x,
      .before_y = a->before_y + b->before_y,
      .growth_x = a->growth_x + b->growth_x,
      .growth_y = a->growth_y + b->growth_y,
  };
  const double products =
      (double)both->masks * (both->form == FC_LINEAR_SEPARABLE
                                 ? (double)a->nx * (double)b->nx + (double)a->ny * (double)b->ny
                                 : (double)a->nx * (double)a->ny * (double)b->nx * (double)b->ny);
  if (fc_linear_count(both) > NUMBERS_MOST || !spend(budget, products) || !make_room(both)) return too_many;
  for (gint64 c = 0; c < both->masks; c++)
    convolve_masks(a, a->numbers + (a->masks > 1 ? c : 0) * mask_count(a), b,
                   b->numbers + (b->masks > 1 ? c : 0) * mask_count(b), both,
                   both->numbers + c * mask_count(both));
  return NULL;
}

static const char *join_pixels(const fc_linear_map *a, const fc_linear_map *b, fc_linear_map *both,
                               double *budget) {
  const double *offset = a->numbers + a->rows * a->columns, *own = b->numbers + b->rows * b->columns;
  *both = (fc_linear_map){.form = FC_LINEAR_PIXELS, .rows = b->rows, .columns = a->columns};
  if (!spend(budget, (double)b->count * (double)(a->columns + 1)) || !make_room(both)) return too_many;
  double *sum = both->numbers + both->rows * both->columns;
  for (gint64 r = 0; r < b->rows; r++) {
    sum[r] = own[r];
    for (gint64 k = 0; k < b->columns; k++) {
      const double factor = b->numbers[r * b->columns + k];
      sum[r] += factor * offset[k];
      for (gint64 c = 0; c < a->columns; c++)
        both->numbers[r * both->columns + c] += factor * a->numbers[k * a->columns + c];
    }
  }
  return NULL;
}

static double factor_of(const fc_linear_map *m, gint64 channel) {
  return m->numbers[channel * (m->columns + 1)];
}

/* A window whose results, or samples, are multiplied. */
static const char *scale_window(const fc_linear_map *window, const fc_linear_map *pixels, fc_linear_map *both,
                                double *budget) {
  if (!is_diagonal(pixels)) return "a window is not joined to a matrix that mixes channels, or adds to them";
  gboolean alike = TRUE;
  for (gint64 c = 1; c < pixels->rows; c++) alike &= factor_of(pixels, c) == factor_of(pixels, 0);
  *both = *window, both->numbers = NULL;
  both->masks = window->masks > 1 || !alike ? pixels->rows : 1;
  if (fc_linear_count(both) > NUMBERS_MOST || !spend(budget, (double)fc_linear_count(both)) ||
      !make_room(both))
    return too_many;
  const gint64 each = mask_count(window), scaled = window->form == FC_LINEAR_DENSE ? each : window->nx;
  for (gint64 c = 0; c < both->masks; c++)
    for (gint64 i = 0; i < each; i++)
      both->numbers[c * each + i] =
          window->numbers[(window->masks > 1 ? c : 0) * each + i] * (i < scaled ? factor_of(pixels, c) : 1);
  return NULL;
}

const char *fc_linear_compose(const fc_linear_map *first, const fc_linear_map *second, fc_linear_map *both,
                              double *budget) {
  const gboolean before = fc_linear_is_window(first), behind = fc_linear_is_window(second);
  memset(both, 0, sizeof *both);
  const char *why = before && behind ? join_windows(first, second, both, budget)
                    : before         ? scale_window(first, second, both, budget)
                    : behind         ? scale_window(second, first, both, budget)
                                     : join_pixels(first, second, both, budget);
  for (gint64 i = 0; !why && i < both->count; i++)
    if (!isfinite(both->numbers[i])) why = "its numbers would not be finite";
  if (why) fc_linear_map_clear(both);
  return why;
}

/* ---- edges ------------------------------------------------------------------------- */

/* What a window reads along X and Y; the reach of other stages is that of one tap. */
static fc_reach reach_of(const fc_linear_map *m, int axis) {
  if (!fc_linear_is_window(m) || (axis != FC_AXIS_X && axis != FC_AXIS_Y)) return (fc_reach){0, 0, 1, 1, 1};
  const gint64 taps = axis == FC_AXIS_X ? m->nx : m->ny,
               before = axis == FC_AXIS_X ? m->before_x : m->before_y;
  return (fc_reach){before, taps - 1 - before, 1, 1, 1};
}

static gint64 growth_of(const fc_linear_map *m, int axis) {
  if (!fc_linear_is_window(m)) return 0;
  return axis == FC_AXIS_X ? m->growth_x : axis == FC_AXIS_Y ? m->growth_y : 0;
}

static gboolean is_mirror(int border) {
  return border == FC_BORDER_REFLECT || border == FC_BORDER_REFLECT101;
}

/* Whether the images of what a window reads beyond either end are no farther from that end than what it reads
 * on the other side: only so much of the signal is there where few outputs are made at a time. */
static gboolean has_images_near(const fc_linear_step *s, int axis) {
  const fc_reach r = reach_of(&s->map, axis);
  const gint64 once = s->border == FC_BORDER_REFLECT101 ? 0 : 1, right = r.after + growth_of(&s->map, axis);
  return !is_mirror(s->border) || (r.before - once <= r.after && right - once <= r.before);
}

const char *fc_linear_find_edges(fc_linear_steps *steps) {
  guint windows = 0, all = 0, wraps = 0;
  memset(steps->first, 0, sizeof steps->first), memset(steps->last, 0, sizeof steps->last);
  for (guint i = 0; i < steps->n; i++) {
    const fc_linear_step *s = &steps->step[i];
    if (!fc_linear_is_window(&s->map)) continue;
    windows += !s->continues;
    for (int a = FC_AXIS_Y; a <= FC_AXIS_X && windows > 1; a++) {
      const fc_reach r = reach_of(&s->map, a);
      steps->first[a] += r.before, steps->last[a] += r.after + growth_of(&s->map, a);
    }
    wraps += s->border == FC_BORDER_WRAP, all++;
  }
  if (windows < 2) return NULL;
  if (wraps && wraps < all) return "border=wrap is joined to border=wrap only";
  for (guint i = 0; i < steps->n; i++)
    for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++) {
      const fc_linear_step *s = &steps->step[i];
      if (wraps && growth_of(&s->map, a)) return "border=wrap is joined where the length is kept";
      if (wraps) steps->first[a] = steps->last[a] = 0;
      if (fc_linear_is_window(&s->map) && !has_images_near(s, a))
        return "its border mirrors more than it reads on the other side";
    }
  return NULL;
}

fc_linear_steps *fc_linear_steps_new(gint64 channels) {
  fc_linear_steps *steps = g_new0(fc_linear_steps, 1);
  steps->channels = channels;
  return steps;
}

/* With numbers of 0; NULL: there is no memory for them. */
static fc_linear_step *add_step(fc_linear_steps *steps, const fc_linear_map *map, int border, double value) {
  steps->step = g_renew(fc_linear_step, steps->step, steps->n + 1);
  fc_linear_step *s = &steps->step[steps->n++];
  *s = (fc_linear_step){.map = *map, .border = border, .border_value = value};
  return make_room(&s->map) ? s : NULL;
}

/* One axis of a separable window: x[0 ... nx) and 1, or 1 and y[0 ... ny). */
static gboolean add_axis(fc_linear_steps *steps, const fc_linear_map *map, int axis, int border,
                         double value) {
  fc_linear_map one = *map;
  if (axis == FC_AXIS_X)
    one.ny = 1, one.before_y = one.growth_y = 0;
  else
    one.nx = 1, one.before_x = one.growth_x = 0;
  fc_linear_step *s = add_step(steps, &one, border, value);
  if (!s) return FALSE;
  for (gint64 c = 0; c < map->masks; c++) {
    const double *from = map->numbers + c * mask_count(map) + (axis == FC_AXIS_X ? 0 : map->nx);
    double *to = s->map.numbers + c * mask_count(&one);
    for (gint64 i = 0; i < mask_count(&one); i++) to[i] = 1;
    memcpy(to + (axis == FC_AXIS_X ? 0 : 1), from, (gsize)MAX(one.nx, one.ny) * sizeof *to);
  }
  return TRUE;
}

gboolean fc_linear_steps_add(fc_linear_steps *steps, const fc_linear_map *map, int border, double value) {
  /* Beyond the ends of the rows a constant is the same in all rows only ahead of both sums. */
  const gboolean apart = map->form == FC_LINEAR_SEPARABLE && map->nx > 1 && map->ny > 1 &&
                         (border != FC_BORDER_CONSTANT || value == 0);
  if (apart) {
    const gboolean added =
        add_axis(steps, map, FC_AXIS_X, border, value) && add_axis(steps, map, FC_AXIS_Y, border, value);
    steps->step[steps->n - 1].continues = TRUE;
    return added;
  }
  fc_linear_step *s = add_step(steps, map, border, value);
  if (s) memcpy(s->map.numbers, map->numbers, (gsize)s->map.count * sizeof(double));
  return s != NULL;
}

gboolean fc_linear_has_edges(const fc_linear_steps *steps) {
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++)
    if (steps->first[a] > 0 || steps->last[a] > 0) return TRUE;
  return FALSE;
}

void fc_linear_steps_free(fc_linear_steps *steps) {
  if (!steps) return;
  for (guint i = 0; i < steps->n; i++) fc_linear_map_clear(&steps->step[i].map);
  g_free(steps->step);
  g_free(steps);
}

/* Products of one output of a step. */
static double work_of(const fc_linear_map *m) {
  return m->form == FC_LINEAR_PIXELS ? (double)m->columns : (double)m->nx * (double)m->ny;
}

double fc_linear_edge_work(const fc_linear_steps *steps, const gint64 extent[FC_AXES]) {
  double work = 0, count = (double)(MAX(extent[FC_AXIS_N], 1) * extent[FC_AXIS_C]), inside = 1, all = 1;
  for (guint i = 0; i < steps->n; i++) work += work_of(&steps->step[i].map);
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++) {
    const gint64 edges = steps->first[a] + steps->last[a];
    all *= (double)extent[a], inside *= (double)MAX(extent[a] - edges, 0);
  }
  return count * work * (all - inside);
}

/* ---- making edges ------------------------------------------------------------------ */

static gint64 most_channels(const fc_linear_steps *steps) {
  gint64 most = steps->channels;
  for (guint i = 0; i < steps->n; i++)
    if (!fc_linear_is_window(&steps->step[i].map)) most = MAX(most, steps->step[i].map.rows);
  return most;
}

/* Doubles of the largest box of one frame. */
static gint64 largest_box(const fc_linear_steps *steps, const gint64 shape[FC_AXES]) {
  gint64 most = 0, reach[FC_AXES] = {0};
  for (guint i = 0; i < steps->n; i++)
    for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++) {
      const fc_reach r = reach_of(&steps->step[i].map, a);
      reach[a] += r.before + r.after;
    }
  for (int along = FC_AXIS_Y; along <= FC_AXIS_X; along++) {
    gint64 count = most_channels(steps);
    const gint64 edge = MIN(MAX(steps->first[along], steps->last[along]), shape[along]);
    for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++) count *= (a == along ? edge : shape[a]) + reach[a];
    if (edge > 0) most = MAX(most, count);
  }
  return most;
}

/* Of two buffers for a frame. */
static gint64 frame_bytes(const fc_linear_steps *steps, const gint64 shape[FC_AXES]) {
  return 2 * (gint64)sizeof(double) * MAX(largest_box(steps, shape), 1);
}

static gint64 frames_at_a_time(const fc_linear_steps *steps, const gint64 shape[FC_AXES]) {
  return CLAMP(SCRATCH_MOST / frame_bytes(steps, shape), 1, MAX(shape[FC_AXIS_N], 1));
}

/* Not less for a larger shape, of which fewer frames may be made at a time. */
gsize fc_linear_scratch(const fc_linear_steps *steps, const gint64 shape[FC_AXES]) {
  if (!fc_linear_has_edges(steps)) return 0;
  const gint64 each = frame_bytes(steps, shape);
  return (gsize)MIN(MAX(shape[FC_AXIS_N], 1) * each, MAX(SCRATCH_MOST, each));
}

gsize fc_linear_numbers(const fc_linear_steps *steps, double *to) {
  gsize count = 0;
  for (guint i = 0; i < steps->n; i++) {
    const fc_linear_map *m = &steps->step[i].map;
    if (to) memcpy(to + count, m->numbers, (gsize)m->count * sizeof *to);
    count += (gsize)m->count;
  }
  return count;
}

typedef struct ranges {
  fc_range of[FC_AXES];
} ranges;

static fc_linear_box box_of(const ranges *r) {
  fc_linear_box box;
  for (int a = 0; a < FC_AXES; a++) box.lo[a] = r->of[a].lo, box.shape[a] = fc_range_length(r->of[a]);
  return box;
}

/* The box as a view. */
static fc_view view_of(const ranges *r, double *data, const fc_view *like, gint32 device) {
  fc_view v = {.size = sizeof v, .dtype = FC_F64, .kind = like->kind, .device = device, .data = data};
  gint64 stride = (gint64)sizeof *data;
  for (int a = FC_AXES - 1; a >= 0; a--) {
    v.origin[a] = r->of[a].lo, v.shape[a] = fc_range_length(r->of[a]), v.extent[a] = like->extent[a];
    v.stride[a] = stride, stride *= MAX(v.shape[a], 1);
  }
  return v;
}

/* That part of a view. */
static fc_view part_of(const fc_view *all, const ranges *r) {
  fc_view v = *all;
  for (int a = 0; a < FC_AXES; a++) {
    v.data = (char *)v.data + (r->of[a].lo - all->origin[a]) * all->stride[a];
    v.origin[a] = r->of[a].lo, v.shape[a] = fc_range_length(r->of[a]);
  }
  return v;
}

/* What a step reads of its input, of this extent, to make `out`. */
static ranges input_of(const fc_linear_step *s, const ranges *out, const gint64 extent[FC_AXES]) {
  ranges in = *out;
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++) {
    const fc_reach r = reach_of(&s->map, a);
    in.of[a] = fc_reach_need(&r, s->border, out->of[a], extent[a]).real;
  }
  if (!fc_linear_is_window(&s->map)) in.of[FC_AXIS_C] = (fc_range){0, s->map.columns};
  return in;
}

static fc_linear_sum sum_of(const fc_linear_step *s, const double *numbers, const gint64 extent[FC_AXES],
                            const ranges *in, const ranges *out) {
  const fc_linear_map *m = &s->map;
  fc_linear_sum sum = {.form = m->form,
                       .border = s->border,
                       .value = s->border_value,
                       .columns = m->columns,
                       .masks = m->masks,
                       .nx = m->nx,
                       .ny = m->ny,
                       .before_x = m->before_x,
                       .before_y = m->before_y,
                       .numbers = numbers,
                       .in = box_of(in),
                       .out = box_of(out)};
  if (m->form == FC_LINEAR_PIXELS) sum.offsets = numbers + m->rows * m->columns;
  sum.extent_y = extent[FC_AXIS_Y] < 0 ? FC_NO_END : extent[FC_AXIS_Y];
  sum.extent_x = extent[FC_AXIS_X] < 0 ? FC_NO_END : extent[FC_AXIS_X];
  return sum;
}

/* What is made of a link, and how long the signal is there. */
typedef struct edge_link {
  ranges made;
  gint64 extent[FC_AXES];
} edge_link;

/* The links of the joined stages, from the last one's range backwards; g_free. */
static edge_link *links_of(const fc_linear_steps *steps, const fc_view *in, const ranges *what) {
  edge_link *links = g_new(edge_link, steps->n + 1);
  memcpy(links[0].extent, in->extent, sizeof links[0].extent);
  for (guint i = 0; i < steps->n; i++)
    for (int a = 0; a < FC_AXES; a++) {
      const gint64 n = links[i].extent[a];
      links[i + 1].extent[a] = n < 0 ? n : n + growth_of(&steps->step[i].map, a);
    }
  links[steps->n].made = *what;
  for (guint i = steps->n; i-- > 0;)
    links[i].made = input_of(&steps->step[i], &links[i + 1].made, links[i].extent);
  return links;
}

/* Stage by stage, in two buffers in turn. */
static gboolean make_box(const fc_linear_steps *steps, const fc_linear_device *device, const fc_view *in,
                         const fc_view *out, const ranges *what, double *const buffers[2], guint32 *notes,
                         GError **error) {
  g_autofree edge_link *links = links_of(steps, in, what);
  const double *numbers = device->numbers;
  const fc_view read = part_of(in, &links[0].made),
                copied = view_of(&links[0].made, buffers[0], in, device->where);
  if (fc_view_count(&read) && !device->copy(device->data, &copied, &read, NULL, error)) return FALSE;
  for (guint i = 0; i < steps->n; i++) {
    const fc_linear_step *s = &steps->step[i];
    fc_linear_sum sum =
        sum_of(s, numbers ? numbers : s->map.numbers, links[i].extent, &links[i].made, &links[i + 1].made);
    sum.from = buffers[i % 2], sum.to = buffers[(i + 1) % 2];
    if (!device->sum(device->data, &sum, error)) return FALSE;
    if (numbers) numbers += s->map.count;
  }
  const fc_view made = view_of(what, buffers[steps->n % 2], out, device->where), to = part_of(out, what);
  return device->copy(device->data, &to, &made, notes, error);
}

/* Some frames at a time. */
static gboolean make_strip(const fc_linear_steps *steps, const fc_linear_device *device, const fc_view *in,
                           const fc_view *out, fc_range y, fc_range x, void *scratch, guint32 *notes,
                           GError **error) {
  const gint64 at_a_time = frames_at_a_time(steps, out->shape),
               end = out->origin[FC_AXIS_N] + out->shape[FC_AXIS_N];
  double *const buffers[2] = {scratch, (double *)scratch + at_a_time * largest_box(steps, out->shape)};
  const gint64 c = out->origin[FC_AXIS_C];
  if (fc_range_empty(y) || fc_range_empty(x)) return TRUE;
  for (gint64 n = out->origin[FC_AXIS_N]; n < end; n += at_a_time) {
    const ranges what = {{{n, MIN(n + at_a_time, end)}, y, x, {c, c + out->shape[FC_AXIS_C]}}};
    if (!make_box(steps, device, in, out, &what, buffers, notes, error)) return FALSE;
  }
  return TRUE;
}

/* What of an axis is edge, at either end, and what is not. */
static void cut_axis(const fc_linear_steps *steps, const fc_view *out, int a, fc_range *first,
                     fc_range *inside, fc_range *last) {
  const gint64 lo = out->origin[a], hi = lo + out->shape[a], from = MIN(MAX(lo, steps->first[a]), hi),
               end = out->extent[a], to = end < 0 ? hi : MAX(MIN(hi, end - steps->last[a]), from);
  *first = (fc_range){lo, from}, *inside = (fc_range){from, to}, *last = (fc_range){to, hi};
}

fc_range fc_linear_inside(const fc_linear_steps *steps, const fc_view *out, int axis) {
  fc_range first, inside, last;
  cut_axis(steps, out, axis, &first, &inside, &last);
  return inside;
}

gboolean fc_linear_make_edges(const fc_linear_steps *steps, const fc_linear_device *device, const fc_view *in,
                              const fc_view *out, void *scratch, guint32 *notes, GError **error) {
  fc_range top, rows, bottom, left, columns, right;
  cut_axis(steps, out, FC_AXIS_Y, &top, &rows, &bottom);
  cut_axis(steps, out, FC_AXIS_X, &left, &columns, &right);
  const fc_range all = {left.lo, right.hi};
  return make_strip(steps, device, in, out, top, all, scratch, notes, error) &&
         make_strip(steps, device, in, out, bottom, all, scratch, notes, error) &&
         make_strip(steps, device, in, out, rows, left, scratch, notes, error) &&
         make_strip(steps, device, in, out, rows, right, scratch, notes, error);
}

void fc_linear_sum_on_cpu(const fc_linear_sum *sum) {
  const gint64 count = sum->out.shape[0] * sum->out.shape[1] * sum->out.shape[2] * sum->out.shape[3];
  for (gint64 i = 0; i < count; i++) {
    const fc_linear_place p = fc_linear_place_of(sum, (guint32)i);
    double total = 0;
    for (gint64 l = 0; l < fc_linear_rows(sum); l++)
      for (gint64 k = 0; k < fc_linear_columns(sum); k++) total += fc_linear_product(sum, p, l, k);
    sum->to[i] = total + fc_linear_offset(sum, p);
  }
}

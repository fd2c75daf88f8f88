/* SPDX-License-Identifier: MIT */
/*
 * buffer.c - layout of link buffers, strided copies and borders on the host.
 *
 * Copies go by the longest contiguous run that both sides share, so that the common
 * cases (interleaved audio, whole image rows) are memcpy.
 */
#include "core/base/buffer.h"

#include <string.h>

#include "core/contract/rows_table.h"

/* A cache line of a GPU: accesses of a warp that are not aligned to it touch one more. */
#define ALIGNMENT 128

/* ---- layout ----------------------------------------------------------- */

static gboolean grow(gint64 *bytes, gint64 count) {
  if (count < 1) count = 1;
  if (*bytes > G_MAXINT64 / 4 / count) return FALSE;
  *bytes *= count;
  return TRUE;
}

static gboolean lay_out(fc_buffer *b, const fc_format *format, const gint64 capacity[FC_AXES],
                        gboolean packed) {
  static const int interleaved[FC_AXES] = {FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N};
  static const int planar[FC_AXES] = {FC_AXIS_X, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N};
  const int *order = format->layout == FC_PLANAR ? planar : interleaved;
  b->dtype = format->dtype, b->kind = format->kind, b->layout = format->layout;
  gint64 bytes = (gint64)fc_dtype_size(format->dtype);
  for (int i = 0; i < FC_AXES; i++) {
    int axis = order[i];
    b->capacity[axis] = capacity[axis];
    b->stride[axis] = bytes;
    if (!grow(&bytes, capacity[axis])) return FALSE;
    /* Rows start aligned, so that aligning one row aligns all. */
    if (axis == FC_AXIS_X && !packed) bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
  }
  b->bytes = (gsize)bytes + (packed ? ALIGNMENT : 0); /* the data may begin anywhere */
  return TRUE;
}

gboolean fc_buffer_layout(fc_buffer *b, const fc_format *format, const gint64 capacity[FC_AXES]) {
  return lay_out(b, format, capacity, FALSE);
}

gboolean fc_buffer_pack(fc_buffer *b, const fc_format *format, const gint64 capacity[FC_AXES]) {
  return lay_out(b, format, capacity, TRUE);
}

void fc_buffer_hold(fc_buffer *b, const fc_range held[FC_AXES], gint64 aligned) {
  for (int a = 0; a < FC_AXES; a++) b->held[a] = held[a];
  gint64 ahead = fc_modulo((aligned - held[FC_AXIS_X].lo) * b->stride[FC_AXIS_X], ALIGNMENT);
  gint64 size = (gint64)fc_dtype_size(b->dtype);
  b->lead = (ALIGNMENT - ahead) % ALIGNMENT / size * size;
}

fc_view fc_buffer_view(const fc_buffer *b, const fc_range what[FC_AXES], const fc_format *format) {
  fc_view v = {sizeof v, b->dtype, b->kind, b->device, NULL, {0}, {0}, {0}, {0}};
  /* Summed before it is added: an intermediate sum may point outside the memory. */
  gint64 offset = b->lead;
  for (int a = 0; a < FC_AXES; a++) {
    v.shape[a] = fc_range_length(what[a]);
    v.stride[a] = b->stride[a];
    v.origin[a] = what[a].lo;
    v.extent[a] = format->extent[a];
    offset += (what[a].lo - b->held[a].lo) * b->stride[a];
  }
  if (b->memory) v.data = (char *)b->memory + offset;
  return v;
}

fc_view fc_shaped_view(const fc_format *format, const gint64 shape[FC_AXES]) {
  fc_buffer b = {0};
  fc_range all[FC_AXES];
  fc_buffer_layout(&b, format, shape);
  for (int a = 0; a < FC_AXES; a++) all[a] = (fc_range){0, shape[a]};
  fc_buffer_hold(&b, all, 0);
  return fc_buffer_view(&b, all, format);
}

int fc_dtype_bits(int dtype) {
  static const int bits[FC_DTYPE_COUNT] = {8, 16, 16, 32, 24, 53};
  return bits[dtype];
}

void fc_format_of_view(const fc_view *view, fc_format *format) {
  memset(format, 0, sizeof *format);
  format->size = sizeof *format;
  format->kind = view->kind, format->dtype = view->dtype;
  format->bits = fc_dtype_bits(view->dtype);
  gboolean apart = view->shape[FC_AXIS_C] > 1 && view->stride[FC_AXIS_C] > view->stride[FC_AXIS_X];
  format->layout = apart ? FC_PLANAR : FC_INTERLEAVED;
  for (int a = 0; a < FC_AXES; a++) format->extent[a] = view->shape[a];
}

/* ---- copies ----------------------------------------------------------- */

typedef void (*run_fn)(char *to, gint64 to_stride, const char *from, gint64 from_stride, gint64 count,
                       gsize size, void *data);

/* Calls `run` for every innermost run along `inner`, in a nest of loops over the other axes. */
static void walk(const fc_view *to, const fc_view *from, int inner, run_fn run, gsize size, void *data) {
  int outer[3], n = 0;
  for (int a = 0; a < FC_AXES; a++)
    if (a != inner) outer[n++] = a;
  const gint64 *shape = to->shape;
  for (gint64 i = 0; i < shape[outer[0]]; i++)
    for (gint64 j = 0; j < shape[outer[1]]; j++)
      for (gint64 k = 0; k < shape[outer[2]]; k++) {
        const gint64 at[3] = {i, j, k};
        char *t = to->data;
        const char *f = from->data;
        for (int d = 0; d < 3; d++) {
          t += at[d] * to->stride[outer[d]];
          f += at[d] * from->stride[outer[d]];
        }
        run(t, to->stride[inner], f, from->stride[inner], shape[inner], size, data);
      }
}

static void copy_run(char *to, gint64 ts, const char *from, gint64 fs, gint64 count, gsize size, void *data) {
  if (ts == (gint64)size && fs == (gint64)size) {
    memcpy(to, from, (gsize)count * size);
    return;
  }
  switch (size) {
  case 1:
    for (gint64 i = 0; i < count; i++) to[i * ts] = from[i * fs];
    break;
  case 2:
    for (gint64 i = 0; i < count; i++) *(guint16 *)(to + i * ts) = *(const guint16 *)(from + i * fs);
    break;
  case 4:
    for (gint64 i = 0; i < count; i++) *(guint32 *)(to + i * ts) = *(const guint32 *)(from + i * fs);
    break;
  default:
    for (gint64 i = 0; i < count; i++) *(guint64 *)(to + i * ts) = *(const guint64 *)(from + i * fs);
    break;
  }
}

/* Merges pairs of axes that are contiguous in both views into one longer axis. */
static void merge_axes(fc_view *to, fc_view *from) {
  static const int pairs[][2] = {{FC_AXIS_X, FC_AXIS_C}, {FC_AXIS_Y, FC_AXIS_C}, {FC_AXIS_Y, FC_AXIS_X}};
  for (guint i = 0; i < G_N_ELEMENTS(pairs); i++) {
    int outer = pairs[i][0], inner = pairs[i][1];
    gint64 n = to->shape[inner];
    if (n == 1) { /* the outer axis replaces it */
      to->shape[inner] = to->shape[outer], from->shape[inner] = to->shape[outer];
      to->stride[inner] = to->stride[outer], from->stride[inner] = from->stride[outer];
      to->shape[outer] = from->shape[outer] = 1;
    } else if (to->stride[outer] == n * to->stride[inner] && from->stride[outer] == n * from->stride[inner]) {
      to->shape[inner] = from->shape[inner] = n * to->shape[outer];
      to->shape[outer] = from->shape[outer] = 1;
    }
  }
}

static int longest_axis(const fc_view *v) {
  int best = FC_AXIS_C;
  gint64 size = (gint64)fc_dtype_size(v->dtype);
  if (v->stride[best] == size && v->shape[best] > 1) return best;
  for (int a = FC_AXIS_X; a >= 0; a--)
    if (v->shape[a] > 1 && (v->stride[a] == size || v->shape[best] == 1)) best = a;
  return best;
}

void fc_view_copy(const fc_view *to, const fc_view *from) {
  if (fc_view_count(to) == 0) return;
  fc_view t = *to, f = *from;
  merge_axes(&t, &f);
  walk(&t, &f, longest_axis(&t), copy_run, fc_dtype_size(to->dtype), NULL);
}

/* ---- conversion ------------------------------------------------------- */

void fc_value_encode(void *code, double value, int kind, int dtype) {
  memset(code, 0, 8);
  fc_rows_table()->store_f64(code, 8, &value, 1, kind, dtype, NULL);
}

double fc_value_decode(const void *code, int kind, int dtype) {
  double value;
  fc_rows_table()->load_f64(&value, code, 8, 1, kind, dtype);
  return value;
}

/* Elements converted at a time: 8 KiB of values, which stay in the first-level cache. */
#define CONVERT_RUN 1024

struct conversion {
  const fc_view *to, *from; /* types and kinds */
  gboolean wide;            /* computed in double */
  guint32 *notes;
};

/* Loads or stores directly from or to memory that holds values in the compute type. */
static void convert_f32(const struct conversion *c, char *to, gint64 ts, const char *from, gint64 fs,
                        gint64 count) {
  const fc_rows *rows = fc_rows_table();
  float buffer[CONVERT_RUN];
  gboolean dense_to = c->to->dtype == FC_F32 && ts == sizeof(float);
  gboolean dense_from = c->from->dtype == FC_F32 && fs == sizeof(float);
  float *values = dense_to ? (float *)to : dense_from ? (float *)from : buffer;
  if (!dense_from) rows->load_f32(values, from, fs, count, c->from->kind, c->from->dtype);
  if (!dense_to) rows->store_f32(to, ts, values, count, c->to->kind, c->to->dtype, c->notes);
}

static void convert_f64(const struct conversion *c, char *to, gint64 ts, const char *from, gint64 fs,
                        gint64 count) {
  const fc_rows *rows = fc_rows_table();
  double buffer[CONVERT_RUN];
  gboolean dense_to = c->to->dtype == FC_F64 && ts == sizeof(double);
  gboolean dense_from = c->from->dtype == FC_F64 && fs == sizeof(double);
  double *values = dense_to ? (double *)to : dense_from ? (double *)from : buffer;
  if (!dense_from) rows->load_f64(values, from, fs, count, c->from->kind, c->from->dtype);
  if (!dense_to) rows->store_f64(to, ts, values, count, c->to->kind, c->to->dtype, c->notes);
}

static void convert_run(char *to, gint64 ts, const char *from, gint64 fs, gint64 count, gsize size,
                        void *data) {
  const struct conversion *c = data;
  for (gint64 i = 0, n; i < count; i += n) {
    n = MIN(count - i, CONVERT_RUN);
    (c->wide ? convert_f64 : convert_f32)(c, to + i * ts, ts, from + i * fs, fs, n);
  }
}

/* Whether values of these types need a double. (Loading i32 as f32 rounds once, as intended.) */
static gboolean needs_double(int to, int from) {
  return to == FC_F64 || from == FC_F64 || (from == FC_I32 && to != FC_F32);
}

void fc_view_convert(const fc_view *to, const fc_view *from, guint32 *notes) {
  if (fc_view_count(to) == 0) return;
  if (to->dtype == from->dtype) {
    fc_view_copy(to, from);
    return;
  }
  fc_view t = *to, f = *from;
  struct conversion c = {to, from, needs_double(to->dtype, from->dtype), notes};
  merge_axes(&t, &f);
  walk(&t, &f, longest_axis(&t), convert_run, 0, &c);
}

/* ---- borders ---------------------------------------------------------- */

static void fill_run(char *to, gint64 ts, const char *from, gint64 fs, gint64 count, gsize size, void *data) {
  copy_run(to, ts, data, 0, count, size, NULL);
}

/* `count` slices of a view with origin, from position p of an axis on. */
static fc_view slices_of(const fc_view *slab, int axis, gint64 p, gint64 count) {
  fc_view v = *slab;
  v.shape[axis] = count;
  v.data = (char *)slab->data + (p - slab->origin[axis]) * slab->stride[axis];
  return v;
}

/* Sets `count` slices from position p on, from those at `source` and `step` further each; source -1: to
 * `code`. */
static void fill_slices(const fc_view *slab, int axis, gint64 p, gint64 count, gint64 source, gint64 step,
                        const void *code) {
  fc_view to = slices_of(slab, axis, p, count), from = slices_of(slab, axis, source, count);
  from.stride[axis] *= step;
  if (source >= 0)
    fc_view_copy(&to, &from);
  else
    walk(&to, &to, longest_axis(&to), fill_run, fc_dtype_size(slab->dtype), (void *)code);
}

/* Fills positions [lo, hi) of an axis, which lie outside the signal, in runs of consecutive source
 * positions (forwards, backwards or constant), so that whole rows are copied instead of one column at a
 * time. */
static void fill_runs(const fc_view *slab, int axis, fc_range side, gint64 extent, int border,
                      const void *code) {
  for (gint64 p = side.lo, count; p < side.hi; p += count) {
    gint64 source = fc_border_map(border, p, extent), step = 0;
    count = source < 0 ? side.hi - p : 1;
    if (source >= 0 && p + 1 < side.hi) step = fc_border_map(border, p + 1, extent) - source;
    if (ABS(step) > 1) step = 0;
    while (p + count < side.hi && fc_border_map(border, p + count, extent) == source + count * step) count++;
    fill_slices(slab, axis, p, count, source, step, code);
  }
}

/* After how many elements the border repeats; the maximum where it cannot be continued by copying itself
 * (zero and constant borders are filled directly). */
static gint64 period_of(int border, gint64 extent) {
  switch (border) {
  case FC_BORDER_REFLECT: return 2 * MAX(extent, 1);
  case FC_BORDER_REFLECT101: return MAX(2 * extent - 2, 1);
  case FC_BORDER_WRAP: return MAX(extent, 1);
  default: return G_MAXINT64;
  }
}

/*
 * Fills [lo, hi) of an axis, which lies before the signal (`left`) or after it: the period next to the signal
 * is copied from the signal, and the rest from what has been filled already, doubling the length with each
 * copy. So a border of millions of elements beside a small signal costs no more than writing it.
 */
static void fill_side(const fc_view *slab, int axis, fc_range side, gboolean left, int border,
                      const void *code) {
  gint64 extent = slab->extent[axis] < 0 ? FC_NO_END : slab->extent[axis];
  gint64 length = fc_range_length(side), done = MIN(period_of(border, extent), length);
  fc_range near = left ? (fc_range){side.hi - done, side.hi} : (fc_range){side.lo, side.lo + done};
  fill_runs(slab, axis, near, extent, border, code);
  for (gint64 more; done < length; done += more) {
    more = MIN(done, length - done);
    fc_view to = slices_of(slab, axis, left ? side.hi - done - more : side.lo + done, more),
            from = slices_of(slab, axis, left ? side.hi - more : side.lo, more);
    fc_view_copy(&to, &from);
  }
}

void fc_view_fill_border(const fc_view *view, const fc_range wanted[FC_AXES], int border, const void *code) {
  if (border == FC_BORDER_NONE) return;
  /* X first, in the existing rows; then Y, over rows that are already extended, and so on: corners come
   * out right because each axis copies what the last one completed. */
  static const int order[FC_AXES] = {FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N};
  fc_view slab = *view;
  for (int a = 0; a < FC_AXES; a++) {
    /* Existing rows: the part of the view inside the signal. */
    gint64 lo = MAX(view->origin[a], 0), hi = view->origin[a] + view->shape[a];
    if (view->extent[a] >= 0) hi = MIN(hi, view->extent[a]);
    slab.data = (char *)slab.data + (lo - view->origin[a]) * view->stride[a];
    slab.origin[a] = lo, slab.shape[a] = MAX(hi - lo, 0);
  }
  for (int i = 0; i < FC_AXES; i++) {
    int a = order[i];
    gint64 extent = view->extent[a] < 0 ? FC_NO_END : view->extent[a];
    fill_side(&slab, a, (fc_range){wanted[a].lo, MIN(wanted[a].hi, 0)}, TRUE, border, code);
    fill_side(&slab, a, (fc_range){MAX(wanted[a].lo, extent), wanted[a].hi}, FALSE, border, code);
    /* From here on the axis is complete over the wanted range. */
    gint64 lo = MIN(slab.origin[a], wanted[a].lo), hi = MAX(slab.origin[a] + slab.shape[a], wanted[a].hi);
    slab.data = (char *)slab.data + (lo - slab.origin[a]) * slab.stride[a];
    slab.origin[a] = lo, slab.shape[a] = hi - lo;
  }
}

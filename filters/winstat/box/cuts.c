/* SPDX-License-Identifier: MIT */
/* cuts.c - see cuts.h. */
#include "filters/winstat/box/cuts.h"

#include "filters/base/integers.h"

enum { RUN = FC_WINSTAT_RUN };

static int64_t modulo(int64_t a, int64_t b) {
  return (a % b + b) % b;
}

fc_winstat_span fc_winstat_read(const fc_winstat *w, const fc_view *in, const fc_edges *edges, int axis,
                                int of_view) {
  const int64_t extent = in->shape[of_view];
  if (w->shrink) return fc_winstat_inside(in, of_view, -w->before[axis], extent + w->after[axis]);
  return (fc_winstat_span){edges ? 0 : -w->before[axis], edges ? extent : extent + w->after[axis]};
}

/* ---- images seen otherwise ---------------------------------------------------------------- */

/* Whether border elements are one constant. */
static int is_constant(int border) {
  return border == FC_BORDER_ZERO || border == FC_BORDER_CONSTANT;
}

/* Whether the border's constant is finite in single precision. */
static int is_finite(const fc_edges *edges, const fc_view *in) {
  return in->dtype == FC_F32 && (edges->code & 0x7f800000u) != 0x7f800000u;
}

/* If an axis has a single sample, windows along it hold this sample and the border only: removes the axis
 * from the window and records how often the sample counts. */
static void fold(fc_winstat_seen *s, int axis, int of_view, const fc_edges *edges) {
  const int alone = s->in.shape[of_view] == 1 && s->in.extent[of_view] == 1 && s->in.origin[of_view] == 0;
  const int filled = edges && is_constant(edges->border);
  if (!alone || s->w.before[axis] + s->w.after[axis] == 0 || !(s->w.shrink || edges)) return;
  if (filled) {
    if (axis == 0 || !is_finite(edges, &s->in)) return;
    s->alone = (int32_t)fc_winstat_tall(&s->w), s->at = (int32_t)s->w.before[1];
  }
  if (axis == 0) s->times = (int32_t)fc_winstat_across(&s->w);
  s->w.before[axis] = s->w.after[axis] = 0;
}

/* Turns a single column into a row whose pixels are not adjacent. */
static void turn(fc_winstat_seen *s) {
  if (s->in.shape[FC_AXIS_X] != 1 || s->w.before[0] + s->w.after[0] > 0 || s->in.shape[FC_AXIS_Y] == 1)
    return;
  for (int k = 0; k < 2; k++) {
    fc_view *v = k ? &s->out : &s->in;
    v->shape[FC_AXIS_X] = v->shape[FC_AXIS_Y], v->shape[FC_AXIS_Y] = 1;
    v->extent[FC_AXIS_X] = v->extent[FC_AXIS_Y], v->extent[FC_AXIS_Y] = 1;
    v->origin[FC_AXIS_X] = v->origin[FC_AXIS_Y], v->origin[FC_AXIS_Y] = 0;
    v->stride[FC_AXIS_X] = v->stride[FC_AXIS_Y];
  }
  s->w.before[0] = s->w.before[1], s->w.after[0] = s->w.after[1], s->w.before[1] = s->w.after[1] = 0;
}

/* Merges the rows of all images where windows have a single row. */
static void join(fc_winstat_seen *s) {
  const int64_t frames = s->in.shape[FC_AXIS_N], rows = s->in.shape[FC_AXIS_Y];
  if (frames == 1 || s->w.before[1] + s->w.after[1] > 0) return;
  for (int k = 0; k < 2; k++) {
    const fc_view *v = k ? &s->out : &s->in;
    if (rows > 1 && v->stride[FC_AXIS_N] != rows * v->stride[FC_AXIS_Y]) return;
  }
  for (int k = 0; k < 2; k++) {
    fc_view *v = k ? &s->out : &s->in;
    if (rows == 1) v->stride[FC_AXIS_Y] = v->stride[FC_AXIS_N];
    v->shape[FC_AXIS_Y] = v->extent[FC_AXIS_Y] = rows * frames, v->origin[FC_AXIS_Y] = 0;
    v->shape[FC_AXIS_N] = v->extent[FC_AXIS_N] = 1;
  }
}

fc_winstat_seen fc_winstat_see(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                               const fc_view *out) {
  fc_winstat_seen s = {.w = *w, .in = *in, .out = *out, .times = 1};
  fold(&s, 0, FC_AXIS_X, edges), fold(&s, 1, FC_AXIS_Y, edges);
  turn(&s), join(&s);
  if (s.w.before[1] + s.w.after[1] > 0) return s;
  if (s.in.shape[FC_AXIS_Y] == 1) s.in.stride[FC_AXIS_Y] = 0;
  if (s.out.shape[FC_AXIS_Y] == 1) s.out.stride[FC_AXIS_Y] = 0;
  return s;
}

int fc_winstat_side_by_side(const fc_view *v) {
  const int64_t size = (int64_t)fc_dtype_size(v->dtype), channels = v->shape[FC_AXIS_C];
  if (v->stride[FC_AXIS_X] == size) return 1;
  return channels <= 4 && v->stride[FC_AXIS_X] == channels * size && v->stride[FC_AXIS_C] == size
             ? (int)channels
             : 0;
}

int fc_winstat_channels(const fc_winstat_seen *s) {
  enum { TOGETHER = 8 }; /* interleaved channels, at most */
  const int64_t most = 1 << 28, channels = s->in.shape[FC_AXIS_C];
  if (s->in.shape[FC_AXIS_X] * channels > most || s->in.shape[FC_AXIS_Y] > most || channels > most) return 0;
  int together = channels <= TOGETHER && s->in.stride[FC_AXIS_C] < s->in.stride[FC_AXIS_X];
  for (int k = 0; k < 2; k++) {
    const int64_t apart = (k ? &s->out : &s->in)->stride[FC_AXIS_C];
    together = together && apart > 0 && apart < INT32_MAX / TOGETHER;
  }
  return together ? (int)channels : 1;
}

/* ---- strips of words ------------------------------------------------------------------------ */

fc_peak_row fc_peak_row_of(int dtype) {
  return dtype == FC_F32  ? (fc_peak_row)FC_PEAK_ROW_F32
         : dtype == FC_U8 ? (fc_peak_row)FC_PEAK_ROW_U8
                          : (fc_peak_row)FC_PEAK_ROW_U16;
}

fc_peak_row fc_deviation_row(void) {
  return (fc_peak_row)FC_DEVIATION_ROW;
}

int32_t fc_peak_runs(fc_peak_row row, int step, int64_t window, int skew) {
  const int32_t most = row.lanes / step, fits = row.held / step - fc_winstat_warm(window);
  int32_t runs = fits < most ? fits : most;
  while (runs > 0 && skew + (runs * RUN + window - 1) * step > row.samples) runs--;
  return 2 * runs >= most ? runs : 0;
}

int fc_peak_ragged(const fc_view *in, int step) {
  return in->stride[FC_AXIS_Y] % 4 != 0 ||
         (step == 1 && in->shape[FC_AXIS_C] != 1 && in->stride[FC_AXIS_C] % 4 != 0) ||
         (in->shape[FC_AXIS_N] != 1 && in->stride[FC_AXIS_N] % 4 != 0);
}

int fc_peak_skew(const fc_winstat *w, const fc_view *in, int step) {
  const int64_t size = (int64_t)fc_dtype_size(in->dtype);
  return fc_peak_ragged(in, step) ? 0
                                  : (int)(modulo((intptr_t)in->data - w->before[0] * step * size, 4) / size);
}

int64_t fc_peak_bytes(int dtype, int64_t tall) {
  const fc_peak_row row = fc_peak_row_of(dtype);
  const int64_t each = 4 / (int64_t)fc_dtype_size(dtype), groups = RUN / each,
                table = groups * (RUN * row.held + row.lanes), /* of runs along rows, and results */
      words = (fc_winstat_warm(tall) + 2) * RUN * (row.samples / each) + table + RUN * row.lanes / 2;
  return 4 * words;
}

int64_t fc_deviation_bytes(int64_t tall) {
  enum { ROWS = 8 }; /* of a step */
  const fc_peak_row row = fc_deviation_row();
  const int64_t slots = (tall - 1 + ROWS - 1) / ROWS + 2;
  return 4 * slots * ROWS * (row.samples / 4) + 8 * (ROWS * (RUN * row.held + 32) + row.lanes * RUN / 4);
}

/* ---- cells of words --------------------------------------------------------------------------- */

/* Cuts a long row into rows that follow each other in memory, each of whole strips of `wide` pixels. */
static void cut_row(fc_cell_cut *c, int32_t wide) {
  enum { STRIPS = 8, ROWS = 64 }; /* of such rows, if that gives at least as many rows */
  if (c->rows != 1 || !c->flat || c->strips < 2) return;
  const int32_t strips = c->columns / (wide * ROWS);
  c->strips = strips > STRIPS ? STRIPS : strips < 1 ? 1 : strips;
  c->follow = c->strips * wide;
  c->rows = (c->columns - c->x0 + c->follow - 1) / c->follow;
  c->columns = c->follow + c->x0;
}

int fc_cells_cut(fc_cell_cut *c, fc_cell_shape shape) {
  const int32_t most = shape.lanes / c->step, fits = shape.segments / c->step - c->warm;
  c->runs = most < fits ? most : fits;
  if (c->runs < 1) return 0;
  const int32_t wide = c->runs * RUN, columns = c->columns - c->x0;
  c->strips = (columns + wide - 1) / wide;
  /* The smallest width that covers the columns with this number of strips. */
  const int32_t each = (columns + c->strips - 1) / c->strips;
  c->runs = (each + RUN - 1) / RUN;
  c->strips = (columns + c->runs * RUN - 1) / (c->runs * RUN);
  c->plane = c->runs + c->warm, c->cells = 1, c->follow = 0;
  if (c->strips == 1) {
    const int32_t lanes = shape.lanes / (c->step * c->runs), segments = shape.segments / (c->step * c->plane);
    c->cells = lanes < segments ? lanes : segments;
  }
  cut_row(c, c->runs * RUN);
  return 1;
}

/* ---- sums in boxes ---------------------------------------------------------------------------------- */

/* Pitch of rows such that threads in eight neighbouring rows access different banks. */
static int32_t pitch_of(int64_t words) {
  return (int32_t)(words / 32 * 32 + (words % 32 > 4 ? 36 : 4));
}

/* For strips of so many interleaved channels, and as many columns as threads. Segments of floats begin at
 * multiples of RUN samples in the signal, so that whole segments can be copied. Outputs begin at such
 * multiples too; where these differ from the windows' (skew), one more run of sums is needed. */
void fc_strips_cut(fc_strip_cut *c) {
  c->runs = c->threads / c->channels / RUN;
  c->pixels = (c->runs - (c->skew > 0)) * RUN;
  c->plane = RUN * (c->runs + fc_winstat_warm(c->across));
  c->pitch = pitch_of((int64_t)c->plane * c->channels);
  c->held = pitch_of((int64_t)c->runs * RUN * c->channels);
  c->slots = fc_winstat_warm(c->tall) + 1;
}

int64_t fc_strips_bytes(const fc_strip_cut *c, int quantities) {
  const int64_t tile = RUN * (int64_t)c->pitch + RUN, sums = (int64_t)c->slots * RUN * c->held,
                totals = c->tall > 2 * RUN ? (int64_t)c->slots * c->held : 0,
                segments = c->across > 2 * RUN ? (int64_t)RUN * c->channels * (c->plane / RUN) : 0;
  return 4 * (c->stages * tile + quantities * (sums + totals + segments));
}

/* What a block of half of the threads needs with both quantities at once, limited to the shared memory of
 * sm_90. With one channel and a warp all such windows also fit the 64 KB of sm_75 (they need 62,688 bytes at
 * most). */
int fc_strips_fit(int64_t across, int64_t tall) {
  enum { SHARED_MOST = 227 << 10, THREADS = 128, CHANNELS = 4 };
  fc_strip_cut one = {.across = across, .tall = tall, .channels = 1, .threads = THREADS, .stages = 2},
               many = {.across = across, .tall = tall, .channels = CHANNELS, .threads = THREADS, .stages = 1};
  fc_strips_cut(&one), fc_strips_cut(&many);
  return fc_strips_bytes(&one, 2) <= SHARED_MOST && fc_strips_bytes(&many, 2) <= SHARED_MOST;
}

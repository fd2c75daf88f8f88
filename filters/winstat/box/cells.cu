// SPDX-License-Identifier: MIT
//
// cells.cu - how images are cut into cells.
#include "filters/winstat/box/cells.cuh"

namespace winstat {

constexpr int64_t CELL_CHANNELS = 8; // interleaved channels, at most
// A long row is cut into rows of CELL_FOLLOW strips each, if that gives at least CELL_FOLLOW_ROWS rows.
constexpr int64_t CELL_FOLLOW = 8, CELL_FOLLOW_ROWS = 64;

// Whether the border's constant is finite in single precision.
static bool finite(const fc_edges &edges, const fc_view &in) {
  return in.dtype == FC_F32 && (edges.code & 0x7f800000u) != 0x7f800000u;
}

// If an axis has a single sample, windows along it hold this sample and the border only: removes the axis
// from the window and records how often the sample counts.
static void fold(seen *s, int axis, int of_view, const fc_edges *edges, bool extremes) {
  const bool alone = s->in.shape[of_view] == 1 && s->in.extent[of_view] == 1 && s->in.origin[of_view] == 0;
  const bool filled = edges && constant(edges->border);
  if (!alone || s->w.before[axis] + s->w.after[axis] == 0 || !(filled || s->w.shrink || edges)) return;
  if (filled && !extremes) {
    if (axis == 0 || !finite(*edges, s->in)) return;
    s->alone = static_cast<int32_t>(s->w.before[1] + s->w.after[1] + 1);
    s->at = static_cast<int32_t>(s->w.before[1]);
  }
  s->filled = s->filled || filled;
  if (axis == 0) s->times = static_cast<int32_t>(s->w.before[0] + s->w.after[0] + 1);
  s->w.before[axis] = s->w.after[axis] = 0;
}

// Turns a single column into a row whose pixels are not adjacent.
static void turn(seen *s) {
  if (s->in.shape[FC_AXIS_X] != 1 || s->w.before[0] + s->w.after[0] > 0 || s->in.shape[FC_AXIS_Y] == 1)
    return;
  for (fc_view *v : {&s->in, &s->out}) {
    v->shape[FC_AXIS_X] = v->shape[FC_AXIS_Y], v->shape[FC_AXIS_Y] = 1;
    v->extent[FC_AXIS_X] = v->extent[FC_AXIS_Y], v->extent[FC_AXIS_Y] = 1;
    v->origin[FC_AXIS_X] = v->origin[FC_AXIS_Y], v->origin[FC_AXIS_Y] = 0;
    v->stride[FC_AXIS_X] = v->stride[FC_AXIS_Y];
  }
  s->w.before[0] = s->w.before[1], s->w.after[0] = s->w.after[1], s->w.before[1] = s->w.after[1] = 0;
}

// Merges the rows of all images where windows have a single row.
static void join(seen *s) {
  const int64_t frames = s->in.shape[FC_AXIS_N], rows = s->in.shape[FC_AXIS_Y];
  if (frames == 1 || s->w.before[1] + s->w.after[1] > 0) return;
  for (const fc_view *v : {&s->in, &s->out})
    if (rows > 1 && v->stride[FC_AXIS_N] != rows * v->stride[FC_AXIS_Y]) return;
  for (fc_view *v : {&s->in, &s->out}) {
    if (rows == 1) v->stride[FC_AXIS_Y] = v->stride[FC_AXIS_N];
    v->shape[FC_AXIS_Y] = v->extent[FC_AXIS_Y] = rows * frames, v->origin[FC_AXIS_Y] = 0;
    v->shape[FC_AXIS_N] = v->extent[FC_AXIS_N] = 1;
  }
}

seen seen_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
             bool extremes) {
  seen s = {*w, *in, *out, 1, false, 0, 0};
  fold(&s, 0, FC_AXIS_X, edges, extremes), fold(&s, 1, FC_AXIS_Y, edges, extremes);
  turn(&s), join(&s);
  for (fc_view *v : {&s.in, &s.out})
    if (v->shape[FC_AXIS_Y] == 1 && s.w.before[1] + s.w.after[1] == 0) v->stride[FC_AXIS_Y] = 0;
  return s;
}

int channels_of(const seen &s) {
  const int64_t most = 1 << 28, size = static_cast<int64_t>(fc_dtype_size(s.in.dtype));
  const int64_t channels = s.in.shape[FC_AXIS_C];
  if (s.in.shape[FC_AXIS_X] * channels > most || s.in.shape[FC_AXIS_Y] > most || channels > most) return 0;
  bool together = channels <= CELL_CHANNELS;
  // Words of several samples need pixels without gaps.
  if (size < 4) {
    const int step = side_by_side(&s.in);
    return step == side_by_side(&s.out) ? step : 0;
  }
  for (const fc_view *v : {&s.in, &s.out}) {
    together = together && v->stride[FC_AXIS_C] > 0 && v->stride[FC_AXIS_C] < INT32_MAX / CELL_CHANNELS;
  }
  together = together && s.in.stride[FC_AXIS_C] < s.in.stride[FC_AXIS_X];
  return together ? static_cast<int>(channels) : 1;
}

// Cuts a long row into rows that follow each other in memory, each of whole strips.
static void cut_row(cell_args *c, const seen &s, int wide) {
  peak_args *a = &c->p;
  if (a->rows != 1 || a->y.reach > 0 || s.in.shape[FC_AXIS_N] * a->planes != 1 || a->strips < 2) return;
  int64_t strips = a->columns / (wide * CELL_FOLLOW_ROWS);
  strips = strips > CELL_FOLLOW ? CELL_FOLLOW : strips < 1 ? 1 : strips;
  const int64_t columns = strips * wide;
  c->all = static_cast<int64_t>(a->columns) * a->step, c->follow = columns * a->step;
  a->rows = static_cast<int32_t>((a->columns - c->x0 + columns - 1) / columns);
  a->columns = static_cast<int32_t>(columns + c->x0);
  a->row_in = columns * s.in.stride[FC_AXIS_X], a->row_out = columns * s.out.stride[FC_AXIS_X];
  a->lo[1] = 0, a->hi[1] = a->rows, a->strips = static_cast<int32_t>(strips);
}

bool cells_fit(cell_args *c, const seen &s, const cell_shape &shape) {
  peak_args *a = &c->p;
  const int C = a->step, beyond = shape.elements > 1 && a->x.warm == 0 ? 1 : a->x.warm,
            cut = C == 1 && a->skew ? shape.elements : 0; // pixels of a strip that are outside it
  const int most = shape.lanes / C, fits = shape.segments / C - beyond;
  a->runs = most < fits ? most : fits;
  if (a->runs < 1) return false;
  const int wide = a->runs * RUN - cut, columns = a->columns - c->x0;
  a->strips = (columns + wide - 1) / wide;
  // The smallest width that covers the columns with this number of strips.
  const int each = (columns + a->strips - 1) / a->strips;
  a->runs = (each + cut + RUN - 1) / RUN;
  a->strips = (columns + a->runs * RUN - cut - 1) / (a->runs * RUN - cut);
  c->plane = a->runs + beyond, c->cells = 1;
  if (a->strips == 1) {
    const int lanes = shape.lanes / (C * a->runs), segments = shape.segments / (C * c->plane);
    c->cells = lanes < segments ? lanes : segments;
  }
  c->pixel_in = s.in.stride[FC_AXIS_X], c->pixel_out = s.out.stride[FC_AXIS_X];
  if (C > 1) {
    c->channel_in = static_cast<int32_t>(s.in.stride[FC_AXIS_C]);
    c->channel_out = static_cast<int32_t>(s.out.stride[FC_AXIS_C]);
  }
  cut_row(c, s, a->runs * RUN - cut);
  return true;
}

int64_t cells_split(cell_args *c, const seen &s, int64_t resident) {
  peak_args *a = &c->p;
  const int64_t images = s.in.shape[FC_AXIS_N] * a->planes, steps = (a->rows - c->y0 + RUN - 1) / RUN;
  double least = 0;
  for (int64_t each = 1;; each += 1 + each / 8) {
    if (each > steps) each = steps;
    const int64_t splits = (steps + each - 1) / each, even = (steps + splits - 1) / splits,
                  blocks = (images * splits + c->cells - 1) / c->cells * a->strips;
    const double cost = static_cast<double>(blocks + resident) * static_cast<double>(even + a->y.warm + 1);
    if (least == 0 || cost < least)
      least = cost, a->blocks = static_cast<int32_t>(even),
      a->splits = static_cast<int32_t>((steps + even - 1) / even);
    if (each == steps) break;
  }
  c->units = images * a->splits;
  return (c->units + c->cells - 1) / c->cells * a->strips;
}

} // namespace winstat

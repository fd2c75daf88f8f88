// SPDX-License-Identifier: MIT
//
// box_cells.cu - launches the kernel of box_cells.cuh.
#include "filters/winstat/box_cells.cuh"
#include "filters/winstat/box_launch.cuh"
#include "filters/winstat/march.cuh"

namespace winstat {

constexpr int TOGETHER = 4; // channels side by side that share a block of threads, at most

// ---- arguments ------------------------------------------------------------------

// Cells of a block: channels that lie side by side have one each; narrow images as many as fit.
static void cut_cells(cell_args *a, bool together) {
  const int side = together ? a->planes : 1;
  const int needed = (a->columns - a->x0 + RUN - 1) / RUN;
  int most = BOX_RUNS / side;
  while (most > 1 && (most + a->x.warm) * side > CELL_SEGMENTS) most--;
  a->strips = (needed + most - 1) / most;
  a->runs = (needed + a->strips - 1) / a->strips;
  a->wide = (a->runs + a->x.warm) * RUN;
  const int sums = BOX_RUNS / a->runs, samples = CELL_SEGMENTS / (a->runs + a->x.warm);
  a->cells = sums < samples ? sums : samples;
  a->together = together;
}

static cell_args cell_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                              const fc_view *out, int which) {
  static const int axes[2] = {FC_AXIS_X, FC_AXIS_Y};
  cell_args a = {};
  a.columns = static_cast<int32_t>(in->shape[FC_AXIS_X]), a.rows = static_cast<int32_t>(in->shape[FC_AXIS_Y]);
  a.planes = static_cast<int32_t>(in->shape[FC_AXIS_C]);
  a.x = extent16_of(w->before[0] + w->after[0] + 1), a.y = extent16_of(w->before[1] + w->after[1] + 1);
  a.x0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_X] - w->before[0], RUN));
  a.y0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_Y], RUN));
  for (int i = 0; i < 2; i++) {
    const int64_t extent = in->shape[axes[i]];
    a.before[i] = static_cast<int32_t>(w->before[i]);
    fc_winstat_span s = {edges ? 0 : -w->before[i], edges ? extent : extent + w->after[i]};
    if (w->shrink) s = fc_winstat_inside(in, axes[i], -w->before[i], extent + w->after[i]);
    a.lo[i] = static_cast<int32_t>(s.lo), a.hi[i] = static_cast<int32_t>(s.hi);
  }
  a.edges = ends_of(edges), a.outside = outside_of(edges, in), a.shrink = w->shrink;
  a.step_in = static_cast<int32_t>(in->stride[FC_AXIS_X]);
  a.step_out = static_cast<int32_t>(out->stride[FC_AXIS_X]);
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.in = static_cast<const char *>(in->data);
  a.out = static_cast<char *>(out->data) + which * in->shape[FC_AXIS_C] * a.plane_out;
  a.mean = w->stat[which] == FC_WINSTAT_MEAN;
  a.area = static_cast<float>((a.x.reach + 1) * (a.y.reach + 1)), a.over = 1.0f / a.area;
  a.store = fc_dev_map_of<float>(in->kind, in->dtype), a.bias = a.store.bias;
  a.slots = a.y.warm + 2;
  a.zeros = a.outside == 0;
  cut_cells(&a, a.planes > 1 && a.planes <= TOGETHER &&
                    a.plane_in == static_cast<int64_t>(fc_dtype_size(in->dtype)));
  const int64_t starts = static_cast<int64_t>(reinterpret_cast<uintptr_t>(in->data)) | a.row_in | a.frame_in |
                         (a.planes > 1 ? a.plane_in : 0);
  a.quads = in->dtype == FC_F32 && !a.together && a.step_in == sizeof(float) && starts % 16 == 0 &&
            (a.x0 - a.before[0]) % 4 == 0;
  return a;
}

// ---- launching ------------------------------------------------------------------

// Parts of the rows: as short as they can be, before blocks of rows that are made twice cost more.
static void split_rows(cell_args *a, int64_t frames, int64_t resident) {
  const int32_t all = (a->rows - a->y0 + RUN - 1) / RUN;
  int64_t best = INT64_MAX;
  for (int32_t splits = 1; splits <= all && splits <= 4096; splits++) {
    const int32_t blocks = (all + splits - 1) / splits, real = (all + blocks - 1) / blocks;
    const int64_t groups = (frames * a->planes * real + a->cells - 1) / a->cells;
    const int64_t cost = (groups * a->strips + resident) * (blocks + a->y.warm + 1);
    if (cost < best) best = cost, a->blocks = blocks, a->splits = real;
  }
}

template <typename T> static fc_status launch(cell_args a, int64_t frames, cudaStream_t stream, bool *done) {
  const auto kernel = box_cells<T>;
  const int64_t bytes =
      static_cast<int64_t>(sizeof(float)) * a.slots * (CELL_SLOT + (a.y.segments > 1 ? BOX_THREADS : 0));
  const int64_t resident = march_resident(kernel, BOX_THREADS, bytes, 2);
  if (resident == 0) return FC_OK;
  split_rows(&a, frames, resident);
  const int64_t items = frames * a.planes * a.splits, blocks = (items + a.cells - 1) / a.cells * a.strips;
  if (items > INT32_MAX - CELL_SEGMENTS || blocks > INT32_MAX) return FC_OK;
  a.items = static_cast<uint32_t>(items);
  kernel<<<static_cast<unsigned>(blocks), BOX_THREADS, bytes, stream>>>(a);
  *done = true;
  return fc_launch_status();
}

fc_status run_cells(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                    int which, uint32_t *notes, cudaStream_t stream, bool *done) {
  *done = false;
  cell_args a = cell_args_of(w, in, edges, out, which);
  const int64_t frames = in->shape[FC_AXIS_N];
  a.notes = notes;
  switch (in->dtype) {
  case FC_U8: return launch<uint8_t>(a, frames, stream, done);
  case FC_I16: return launch<int16_t>(a, frames, stream, done);
  case FC_U16: return launch<uint16_t>(a, frames, stream, done);
  default: return launch<float>(a, frames, stream, done);
  }
}

} // namespace winstat

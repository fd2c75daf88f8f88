// SPDX-License-Identifier: MIT
//
// winstat_box_march.cu - launches the kernel of winstat_box_march.cuh.
#include "filters/winstat_box_march.cuh"
#include "filters/winstat_box_launch.cuh"
#include "filters/winstat_march.cuh"

namespace winstat {

// Columns. Images of less have several in a block of threads.
constexpr int64_t BOX_NARROW = BOX_THREADS / 2;
// Windows of a row: rows that are worth it, sixteen being made at once; segments that are added in the order
// of other kernels; columns from which on these are faster, of floats and of integers.
constexpr int64_t ROWS_LEAST = 8, ROWS_FLOATS = 1024, ROWS_CODES = 256;
constexpr int ROWS_SEGMENTS = 1;

static bool quarters(const fc_view *v) {
  return v->stride[FC_AXIS_X] == sizeof(float) && v->stride[FC_AXIS_Y] % 16 == 0 &&
         v->stride[FC_AXIS_N] % 16 == 0 && (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] % 16 == 0);
}

// Whether samples can be copied four at a time.
static bool plain_planes(const fc_winstat *w, const fc_view *in) {
  const int64_t start = static_cast<int64_t>(reinterpret_cast<uintptr_t>(in->data)) -
                        (w->before[0] + floor_mod(in->origin[FC_AXIS_X] - w->before[0], RUN)) *
                            static_cast<int64_t>(sizeof(float));
  return in->dtype == FC_F32 && quarters(in) && floor_mod(start, 16) == 0;
}

// Whether it is a matter of these kernels, and not one of those for rows.
static bool fits(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  const extent16 x = extent16_of(w->before[0] + w->after[0] + 1);
  if (in->dtype != out->dtype || in->kind != out->kind || x.warm > BOX_SEGMENTS || !summed_in_floats(w, in) ||
      !within_reach(in, in->shape[FC_AXIS_X] + x.reach) || !within_reach(out, in->shape[FC_AXIS_X]))
    return false;
  if (w->before[1] + w->after[1] > 0) return true;
  return x.segments <= ROWS_SEGMENTS && in->shape[FC_AXIS_Y] >= ROWS_LEAST &&
         in->shape[FC_AXIS_X] < (in->dtype == FC_F32 ? ROWS_FLOATS : ROWS_CODES);
}

static box_args box_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            int which) {
  box_args a = {};
  const int64_t columns = w->before[0] + w->after[0] + 1, rows = w->before[1] + w->after[1] + 1;
  a.x = extent16_of(columns), a.y = extent16_of(rows);
  a.columns = static_cast<int32_t>(in->shape[FC_AXIS_X]), a.rows = static_cast<int32_t>(in->shape[FC_AXIS_Y]);
  a.x0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_X], RUN));
  a.y0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_Y], RUN));
  a.skew = static_cast<int32_t>(floor_mod(-w->before[0], RUN));
  a.pixels = BOX_THREADS - (a.skew > 0 ? RUN : 0), a.before = static_cast<int32_t>(w->before[1]);
  a.wide = BOX_THREADS + RUN * a.x.warm, a.slots = a.y.warm + 2;
  const int64_t first = a.x0 - w->before[0] - a.skew;
  a.lo[0] = static_cast<int32_t>((edges ? 0 : -w->before[0]) - first);
  a.lo[1] = static_cast<int32_t>(edges ? 0 : -w->before[1]);
  a.hi[0] = static_cast<int32_t>(a.columns + (edges ? 0 : w->after[0]) - first);
  a.hi[1] = static_cast<int32_t>(a.rows + (edges ? 0 : w->after[1]));
  a.seen[0] = static_cast<int32_t>(-w->before[0] - first);
  a.seen[1] = static_cast<int32_t>(a.columns + w->after[0] - first);
  a.edges = ends_of(edges), a.shrink = w->shrink;
  if (w->shrink) {
    const fc_winstat_span x = fc_winstat_inside(in, FC_AXIS_X, -w->before[0], a.columns + w->after[0]),
                          y = fc_winstat_inside(in, FC_AXIS_Y, -w->before[1], a.rows + w->after[1]);
    a.lo[0] = static_cast<int32_t>(x.lo - first), a.hi[0] = static_cast<int32_t>(x.hi - first);
    a.lo[1] = static_cast<int32_t>(y.lo), a.hi[1] = static_cast<int32_t>(y.hi);
  }
  a.in = static_cast<const char *>(in->data) + first * in->stride[FC_AXIS_X];
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.out = static_cast<char *>(out->data) + which * in->shape[FC_AXIS_C] * a.plane_out;
  a.planes = static_cast<int32_t>(in->shape[FC_AXIS_C]);
  a.strips = (a.columns - a.x0 + a.pixels - 1) / a.pixels;
  a.mean = w->stat[which] == FC_WINSTAT_MEAN;
  a.area = static_cast<float>(columns * rows), a.over = 1.0f / a.area;
  a.step_in = static_cast<int32_t>(in->stride[FC_AXIS_X]);
  a.step_out = static_cast<int32_t>(out->stride[FC_AXIS_X]);
  a.outside = outside_of(edges, in), a.store = fc_dev_map_of<float>(in->kind, in->dtype);
  a.bias = a.store.bias;
  return a;
}

// Where only one block fits a multiprocessor the general kernel, whose strips may be narrower, is as fast.
template <typename T, bool PLAIN>
static fc_status launch(box_args a, int64_t frames, cudaStream_t stream, bool *done) {
  const auto kernel = box_march<T, PLAIN>;
  const int64_t bytes = sizeof(float) * a.slots * (BOX_SLOT + (a.y.segments > 1 ? BOX_THREADS : 0));
  int each = 0, device = 0, processors = 1;
  if (!fc_allow_shared(kernel, bytes)) return FC_OK;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, BOX_THREADS, static_cast<size_t>(bytes)) !=
          cudaSuccess ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    fc_forget_error(); // the general kernel may yet do it
    return FC_OK;
  }
  if (each < 2) return FC_OK;
  const int64_t strips = a.strips * frames * a.planes;
  const march_splits s = march_splits_of((a.rows - a.y0 + RUN - 1) / RUN, a.y.warm, strips,
                                         static_cast<int64_t>(processors) * each);
  a.blocks = s.steps, a.splits = s.splits;
  if (strips * a.splits > INT32_MAX) return FC_OK;
  kernel<<<static_cast<unsigned>(strips * a.splits), BOX_THREADS, bytes, stream>>>(a);
  *done = true;
  return fc_launch_status();
}

static fc_status march(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                       int which, uint32_t *notes, cudaStream_t stream, bool *done) {
  box_args a = box_args_of(w, in, edges, out, which);
  const int64_t frames = in->shape[FC_AXIS_N];
  a.notes = notes;
  switch (in->dtype) {
  case FC_U8: return launch<uint8_t, false>(a, frames, stream, done);
  case FC_I16: return launch<int16_t, false>(a, frames, stream, done);
  case FC_U16: return launch<uint16_t, false>(a, frames, stream, done);
  default: break;
  }
  return plain_planes(w, in) ? launch<float, true>(a, frames, stream, done)
                             : launch<float, false>(a, frames, stream, done);
}

fc_status run_boxes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                    unsigned mask, uint32_t *notes, cudaStream_t stream, bool *done) {
  int which = -1, wanted = 0;
  *done = false;
  for (int i = 0; i < w->n_stats; i++)
    if (mask & 1u << w->stat[i]) which = i, wanted++;
  if (wanted != 1 || (w->stat[which] != FC_WINSTAT_SUM && w->stat[which] != FC_WINSTAT_MEAN)) return FC_OK;
  if (!fits(w, in, out)) return FC_OK;
  if (in->shape[FC_AXIS_X] >= BOX_NARROW) {
    const fc_status status = march(w, in, edges, out, which, notes, stream, done);
    if (status != FC_OK || *done) return status;
  }
  return run_cells(w, in, edges, out, which, notes, stream, done);
}

} // namespace winstat

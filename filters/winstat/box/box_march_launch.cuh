// SPDX-License-Identifier: MIT
//
// box_march_launch.cuh - launches the kernel of box_march.cuh for a layout.
#ifndef FC_FILTERS_WINSTAT_BOX_MARCH_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_BOX_MARCH_LAUNCH_CUH

#include "filters/winstat/box/box_march.cuh"
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/launch.cuh"

namespace winstat {

// `channels` interleaved channels are read together; 1: each separately.
static inline box_args box_args_of(const call &c, int which, int channels) {
  box_args a = {};
  const fc_winstat *w = c.w;
  const fc_view *in = c.in, *out = c.out;
  const fc_edges *edges = c.edges;
  const int64_t columns = w->before[0] + w->after[0] + 1, rows = w->before[1] + w->after[1] + 1;
  a.x = extent16_of(columns), a.y = extent16_of(rows);
  a.columns = static_cast<int32_t>(in->shape[FC_AXIS_X]), a.rows = static_cast<int32_t>(in->shape[FC_AXIS_Y]);
  // Pixels of several channels begin where windows begin with a segment: a strip has fewer of them.
  a.x0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_X] - (channels > 1 ? w->before[0] : 0), RUN));
  a.y0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_Y], RUN));
  a.skew = channels > 1 ? 0 : static_cast<int32_t>(floor_mod(-w->before[0], RUN));
  const int32_t runs = BOX_RUNS / channels;
  a.pixels = runs * RUN - (a.skew > 0 ? RUN : 0), a.before = static_cast<int32_t>(w->before[1]);
  a.wide = (runs + a.x.warm) * RUN, a.slots = a.y.warm + 2;
  const int64_t first = a.x0 - w->before[0] - a.skew;
  const fc_winstat_span x = fc_winstat_read(w, in, edges, 0, FC_AXIS_X),
                        y = fc_winstat_read(w, in, edges, 1, FC_AXIS_Y);
  a.lo[0] = static_cast<int32_t>(x.lo - first), a.hi[0] = static_cast<int32_t>(x.hi - first);
  a.lo[1] = static_cast<int32_t>(y.lo), a.hi[1] = static_cast<int32_t>(y.hi);
  a.seen[0] = static_cast<int32_t>(-w->before[0] - first);
  a.seen[1] = static_cast<int32_t>(a.columns + w->after[0] - first);
  a.edges = ends_of(edges), a.shrink = w->shrink;
  a.in = static_cast<const char *>(in->data) + first * in->stride[FC_AXIS_X];
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.out = static_cast<char *>(out->data) + which * in->shape[FC_AXIS_C] * a.plane_out;
  a.planes = channels > 1 ? 1 : static_cast<int32_t>(in->shape[FC_AXIS_C]);
  a.strips = (a.columns - a.x0 + a.pixels - 1) / a.pixels;
  a.mean = w->stat[which] == FC_WINSTAT_MEAN;
  a.area = static_cast<float>(columns * rows), a.over = 1.0f / a.area;
  a.step_in = static_cast<int32_t>(in->stride[FC_AXIS_X]);
  a.step_out = static_cast<int32_t>(out->stride[FC_AXIS_X]);
  a.outside = outside_of(edges, in), a.last = static_cast<int32_t>(a.rows + w->after[1]);
  a.zeros =
      a.outside == 0 && (!edges || edges->border == FC_BORDER_ZERO || edges->border == FC_BORDER_CONSTANT);
  a.store = fc_dev_map_of<float>(in->kind, in->dtype);
  a.dtype = in->dtype, a.bias = a.store.bias;
  return a;
}

template <class L> static fc_status launch_march(box_args a, int64_t frames, cudaStream_t stream) {
  const auto kernel = box_march<L>;
  const int64_t bytes = fc_box_bytes(L::pitch, a.y.reach + 1),
                resident = march_resident(kernel, BOX_THREADS, bytes), strips = a.strips * frames * a.planes;
  if (resident == 0) return FC_DEVICE;
  const march_splits s = march_splits_of((a.rows - a.y0 + RUN - 1) / RUN, a.y.warm, strips, resident);
  a.blocks = s.steps, a.splits = s.splits;
  if (strips * a.splits > INT32_MAX) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(strips * a.splits), BOX_THREADS, bytes, stream>>>(a);
  return fc_launch_status();
}

} // namespace winstat

#endif

// SPDX-License-Identifier: MIT
//
// winstat_box_march.cu - launches the kernel of winstat_box_march.cuh.
#include "filters/winstat_box_march.cuh"
#include "filters/winstat_strips_launch.cuh"

namespace winstat {

static bool small(int64_t v) {
  return v > -(1 << 30) && v < 1 << 30;
}

static bool quarters(const fc_view *v) {
  return v->stride[FC_AXIS_X] == sizeof(float) && v->stride[FC_AXIS_Y] % 16 == 0 &&
         v->stride[FC_AXIS_N] % 16 == 0 && (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] % 16 == 0);
}

// Whether rows of samples and results are what the kernel asks for. What it makes of them is the same.
static bool plain_planes(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  const int64_t start = static_cast<int64_t>(reinterpret_cast<uintptr_t>(in->data)) -
                        (w->before[0] + floor_mod(in->origin[FC_AXIS_X] - w->before[0], RUN)) *
                            static_cast<int64_t>(sizeof(float));
  return in->dtype == FC_F32 && w->compute == FC_F32 && out->dtype == FC_F32 && quarters(in) &&
         floor_mod(start, 16) == 0 && out->stride[FC_AXIS_X] == sizeof(float) &&
         small(in->shape[FC_AXIS_X]) && small(in->shape[FC_AXIS_Y]) && w->before[1] + w->after[1] > 0;
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
  a.in = static_cast<const char *>(in->data) + first * static_cast<int64_t>(sizeof(float));
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.out = static_cast<char *>(out->data) + which * in->shape[FC_AXIS_C] * a.plane_out;
  a.planes = static_cast<int32_t>(in->shape[FC_AXIS_C]);
  a.strips = (a.columns - a.x0 + a.pixels - 1) / a.pixels;
  a.mean = w->stat[which] == FC_WINSTAT_MEAN;
  a.area = static_cast<float>(columns * rows), a.over = 1.0f / a.area;
  return a;
}

// Splits of the strips: as short as they can be, so that multiprocessors end together and do not go in step,
// before blocks of rows that are made twice cost more.
static void split(box_args *a, int64_t strips, int64_t resident) {
  const int32_t all = (a->rows - a->y0 + RUN - 1) / RUN;
  int64_t best = INT64_MAX;
  for (int32_t splits = 1; splits <= all && splits <= 256; splits++) {
    const int32_t blocks = (all + splits - 1) / splits, real = (all + blocks - 1) / blocks;
    const int64_t cost = (strips * real + resident) * (blocks + a->y.warm + 1);
    if (cost < best) best = cost, a->blocks = blocks, a->splits = real;
  }
}

// Where only one block fits a multiprocessor the general kernel, whose strips may be narrower, is as fast.
static fc_status launch(box_args a, int64_t frames, cudaStream_t stream, bool *done) {
  const int64_t bytes = sizeof(float) * a.slots * (BOX_SLOT + (a.y.segments > 1 ? BOX_THREADS : 0));
  int each = 0, device = 0, processors = 1;
  if (!fc_allow_shared(box_march, bytes)) return FC_OK;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, box_march, BOX_THREADS,
                                                    static_cast<size_t>(bytes)) != cudaSuccess ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    fc_forget_error(); // the general kernel may yet do it
    return FC_OK;
  }
  if (each < 2) return FC_OK;
  const int64_t strips = a.strips * frames * a.planes;
  split(&a, strips, static_cast<int64_t>(processors) * each);
  if (strips * a.splits > INT32_MAX) return FC_OK;
  box_march<<<static_cast<unsigned>(strips * a.splits), BOX_THREADS, bytes, stream>>>(a);
  *done = true;
  return fc_launch_status();
}

fc_status run_boxes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                    unsigned mask, cudaStream_t stream, bool *done) {
  int which = -1, wanted = 0;
  *done = false;
  for (int i = 0; i < w->n_stats; i++)
    if (mask & 1u << w->stat[i]) which = i, wanted++;
  if (wanted != 1 || (w->stat[which] != FC_WINSTAT_SUM && w->stat[which] != FC_WINSTAT_MEAN)) return FC_OK;
  if (!plain_planes(w, in, out)) return FC_OK;
  const box_args a = box_args_of(w, in, edges, out, which);
  return a.x.warm > BOX_SEGMENTS ? FC_OK : launch(a, in->shape[FC_AXIS_N], stream, done);
}

} // namespace winstat

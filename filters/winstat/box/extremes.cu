// SPDX-License-Identifier: MIT
//
// extremes.cu - launches the kernels of extremes.cuh.
#include <type_traits>

#include "filters/winstat/box/extremes.cuh"
#include "filters/winstat/launch.cuh"
#include "filters/winstat/box/march.cuh"

namespace winstat {

// Whether results can be stored as words.
static bool alike(const fc_view *v, int64_t planes) {
  return v->stride[FC_AXIS_Y] % 4 == 0 && (planes == 1 || v->stride[FC_AXIS_C] % 4 == 0) &&
         (v->shape[FC_AXIS_N] == 1 || v->stride[FC_AXIS_N] % 4 == 0);
}

static int32_t reach_of(int64_t v) {
  return static_cast<int32_t>(v);
}

static void ends_of_views(peak_args *a, const fc_winstat *w, const fc_view *in, const fc_edges *edges) {
  static const int axes[2] = {FC_AXIS_X, FC_AXIS_Y};
  for (int k = 0; k < 2; k++) {
    const fc_winstat_span s = fc_winstat_read(w, in, edges, k, axes[k]);
    a->lo[k] = reach_of(s.lo), a->hi[k] = reach_of(s.hi);
    a->before[k] = reach_of(w->before[k]), a->window[k] = reach_of(w->before[k] + w->after[k] + 1);
  }
}

peak_args peak_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                       int which, int step) {
  peak_args a = {};
  const int64_t channels = in->shape[FC_AXIS_C];
  const bool most = w->stat[which] == FC_WINSTAT_MAX;
  ends_of_views(&a, w, in, edges);
  a.planes = reach_of(step > 1 ? 1 : channels);
  a.in = static_cast<const char *>(in->data);
  a.out = static_cast<char *>(out->data) + which * channels * out->stride[FC_AXIS_C];
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.columns = reach_of(in->shape[FC_AXIS_X]), a.rows = reach_of(in->shape[FC_AXIS_Y]);
  a.edges = ends_of(edges);
  if (in->dtype == FC_F32)
    a.flip = most ? 0x80000000u : 0, a.beyond = 0x7f800000u ^ a.flip;
  else
    a.flip = (in->dtype == FC_I16 ? 0x80008000u : 0) ^ (most ? 0xffffffffu : 0), a.beyond = ~a.flip;
  a.ragged = fc_peak_ragged(in, step);
  a.words = alike(out, a.planes) && reinterpret_cast<uintptr_t>(a.out) % 4 == 0;
  a.skew = fc_peak_skew(w, in, step);
  a.step = step, a.x = extent16_of(a.window[0]), a.y = extent16_of(a.window[1]);
  a.warm = a.y.warm, a.slots = a.warm + 2;
  return a;
}

template <typename T> constexpr bool is_counted(fc_peak_row r) {
  return r.lanes == peak<T>::LANES && r.held == peak<T>::HELD && r.samples == peak<T>::WORDS * peak<T>::K;
}
static_assert(is_counted<float>(FC_PEAK_ROW_F32) && is_counted<uint16_t>(FC_PEAK_ROW_U16) &&
                  is_counted<uint8_t>(FC_PEAK_ROW_U8),
              "as counted");

int64_t strips_of(peak_args *a, fc_peak_row row, int64_t frames) {
  a->runs = fc_peak_runs(row, a->step, a->window[0], a->skew), a->held = a->runs + a->x.warm;
  a->strips = (a->columns + a->runs * PEAK_ROWS - 1) / (a->runs * PEAK_ROWS);
  return a->strips * frames * a->planes;
}

template <typename T> static fc_status launch(peak_args a, int dtype, int64_t frames, cudaStream_t stream) {
  const int64_t bytes = fc_peak_bytes(dtype, a.window[1]),
                resident = march_resident(peak_march<T>, peak<T>::WORDS, bytes),
                strips = strips_of(&a, fc_peak_row_of(dtype), frames);
  const march_splits s = march_splits_of((a.rows + PEAK_ROWS - 1) / PEAK_ROWS, a.warm, strips, resident);
  a.blocks = s.steps, a.splits = s.splits;
  if (strips * a.splits > INT32_MAX) return FC_UNSUPPORTED;
  peak_march<T><<<static_cast<unsigned>(strips * a.splits), peak<T>::WORDS, bytes, stream>>>(a);
  return fc_launch_status();
}

fc_status run_peak(const call &c, int which) {
  const peak_args a = peak_args_of(c.w, c.in, c.edges, c.out, which, fc_winstat_side_by_side(c.in));
  const int64_t frames = c.in->shape[FC_AXIS_N];
  switch (c.in->dtype) {
  case FC_U8: return launch<uint8_t>(a, FC_U8, frames, c.stream);
  case FC_F32: return launch<float>(a, FC_F32, frames, c.stream);
  default: return launch<uint16_t>(a, FC_U16, frames, c.stream);
  }
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// extremes.cu - launches the kernels of extremes.cuh.
#include <type_traits>

#include "filters/winstat/box/extremes.cuh"
#include "filters/winstat/launch.cuh"
#include "filters/winstat/box/march.cuh"

namespace winstat {

int side_by_side(const fc_view *v) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype)), channels = v->shape[FC_AXIS_C];
  if (v->stride[FC_AXIS_X] == size) return 1;
  return channels <= 4 && v->stride[FC_AXIS_X] == channels * size && v->stride[FC_AXIS_C] == size
             ? static_cast<int>(channels)
             : 0;
}

static bool alike(const fc_view *v, int64_t planes) {
  return v->stride[FC_AXIS_Y] % 4 == 0 && (planes == 1 || v->stride[FC_AXIS_C] % 4 == 0) &&
         (v->shape[FC_AXIS_N] == 1 || v->stride[FC_AXIS_N] % 4 == 0);
}

static int32_t reach_of(int64_t v) {
  return static_cast<int32_t>(v);
}

static void ends_of_views(peak_args *a, const fc_winstat *w, const fc_view *in, bool edges) {
  static const int axes[2] = {FC_AXIS_X, FC_AXIS_Y};
  for (int k = 0; k < 2; k++) {
    const int64_t size = in->shape[axes[k]];
    fc_winstat_span s = {edges ? 0 : -w->before[k], edges ? size : size + w->after[k]};
    if (w->shrink) s = fc_winstat_inside(in, axes[k], -w->before[k], size + w->after[k]);
    a->lo[k] = reach_of(s.lo), a->hi[k] = reach_of(s.hi);
    a->before[k] = reach_of(w->before[k]), a->window[k] = reach_of(w->before[k] + w->after[k] + 1);
  }
}

peak_args peak_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                       int which, int step) {
  peak_args a = {};
  const int64_t size = static_cast<int64_t>(fc_dtype_size(in->dtype)), channels = in->shape[FC_AXIS_C];
  const bool most = w->stat[which] == FC_WINSTAT_MAX;
  ends_of_views(&a, w, in, edges != nullptr);
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
  a.ragged = !alike(in, a.planes);
  a.words = alike(out, a.planes) && reinterpret_cast<uintptr_t>(a.out) % 4 == 0;
  const int64_t begin =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(in->data)) - w->before[0] * step * size;
  a.skew = a.ragged ? 0 : reach_of(floor_mod(begin, 4) / size);
  a.step = step, a.x = extent16_of(a.window[0]), a.y = extent16_of(a.window[1]);
  a.warm = a.y.warm, a.slots = a.warm + 2;
  return a;
}

// Chooses the largest number of runs that leaves room for the columns that windows reach beyond them; false
// if these are too few, or if there is not enough shared memory.
template <typename T> static bool fit(peak_args *a, int64_t *bytes) {
  typedef peak<T> P;
  const int most = P::LANES / a->step, beyond = a->x.warm;
  a->runs = peak_room<T>::RUNS / a->step - beyond;
  if (a->runs > most) a->runs = most;
  while (a->runs > 0 && a->skew + (a->runs * PEAK_ROWS + a->window[0] - 1) * a->step > P::WORDS * P::K)
    a->runs--;
  a->held = a->runs + beyond;
  *bytes = static_cast<int64_t>(sizeof(uint32_t)) * (a->slots * PEAK_ROWS * P::WORDS + peak_room<T>::SIZE);
  return 2 * a->runs >= most && fc_allow_shared(peak_march<T>, *bytes);
}

template <typename T> static fc_status launch(peak_args a, int64_t frames, cudaStream_t stream) {
  int64_t bytes = 0;
  if (!fit<T>(&a, &bytes)) return FC_UNSUPPORTED;
  a.strips = (a.columns + a.runs * PEAK_ROWS - 1) / (a.runs * PEAK_ROWS);
  const int64_t strips = a.strips * frames * a.planes;
  const march_splits s = march_splits_of((a.rows + PEAK_ROWS - 1) / PEAK_ROWS, a.warm, strips,
                                         march_resident(peak_march<T>, peak<T>::WORDS, bytes));
  a.blocks = s.steps, a.splits = s.splits;
  if (strips * a.splits > INT32_MAX) return FC_UNSUPPORTED;
  peak_march<T><<<static_cast<unsigned>(strips * a.splits), peak<T>::WORDS, bytes, stream>>>(a);
  return fc_launch_status();
}

// Calls f with a value of the type whose samples are compared.
template <typename Fn> static auto with_peaks(int dtype, Fn f) {
  switch (dtype) {
  case FC_U8: return f(uint8_t{});
  case FC_F32: return f(float{});
  default: return f(uint16_t{});
  }
}

// Whether samples are compared as they are stored, and results stored the same way.
static bool compared(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  return in->dtype == out->dtype && in->dtype != FC_I32 && in->dtype != FC_F64 &&
         (in->dtype != FC_F32 || w->compute == FC_F32);
}

static bool march_takes(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  const int step = side_by_side(in);
  const int64_t most = 1 << 28, channels = in->shape[FC_AXIS_C];
  if (in->shape[FC_AXIS_Y] < PEAK_ROWS / 2) return false; // a step processes twice as many rows
  if (step == 0 || side_by_side(out) != step || (step > 1 && w->n_stats > 1)) return false;
  for (int k = 0; k < 2; k++)
    if (w->before[k] + w->after[k] > FC_WINSTAT_ROW_BLOCK) return false;
  if (in->shape[FC_AXIS_X] * step > most || in->shape[FC_AXIS_Y] > most || channels > most) return false;
  peak_args a = peak_args_of(w, in, nullptr, out, 0, step);
  return with_peaks(in->dtype, [&](auto t) {
    int64_t bytes = 0;
    return fit<decltype(t)>(&a, &bytes);
  });
}

bool extremes_take(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out) {
  bool cells = false;
  if (!compared(w, in, out)) return false;
  run_peak_cells(w, in, edges, out, 0, true, nullptr, &cells);
  return cells || march_takes(w, in, out);
}

fc_status run_extremes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                       int which, cudaStream_t stream) {
  bool done = false;
  const fc_status status = run_peak_cells(w, in, edges, out, which, false, stream, &done);
  if (status != FC_OK || done) return status;
  const int step = side_by_side(in);
  const peak_args a = peak_args_of(w, in, edges, out, which, step);
  return with_peaks(in->dtype, [&](auto t) { return launch<decltype(t)>(a, in->shape[FC_AXIS_N], stream); });
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// winstat_spread.cu - launches the kernels of winstat_spread.cuh.
#include "filters/winstat_march.cuh"
#include "filters/winstat_spread.cuh"
#include "filters/winstat_spread_launch.cuh"

namespace winstat {

static bool short_enough(const fc_winstat *w) {
  return w->before[0] + w->after[0] < SPREAD_MOST && w->before[1] + w->after[1] < SPREAD_MOST;
}

bool spread_takes(const fc_winstat *w, const fc_view *in) {
  // Signals of few rows would leave most of a step unused.
  const int64_t rows = in->extent[FC_AXIS_Y];
  if (in->kind == FC_AUDIO || (rows != FC_UNKNOWN && rows < SPREAD_ROWS / 2)) return false;
  return in->dtype == FC_F32 && w->compute == FC_F32 && !w->shrink && short_enough(w);
}

static spread_shares shares_of(int window) {
  spread_shares s = {};
  for (int k = 0; k < SPREAD_ROWS; k++) {
    const double before = SPREAD_ROWS - k, after = window - before;
    s.share[k] = static_cast<float>(after / window),
    s.weight[k] = static_cast<float>(before * after / window);
  }
  return s;
}

static spread_args spread_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                  const fc_view *out, int which, uint32_t *notes) {
  static const int axes[2] = {FC_AXIS_X, FC_AXIS_Y};
  spread_args a = {};
  a.in = static_cast<const char *>(in->data);
  a.out = static_cast<char *>(out->data) + which * in->shape[FC_AXIS_C] * out->stride[FC_AXIS_C];
  a.step_in = in->stride[FC_AXIS_X], a.row_in = in->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.frame_in = in->stride[FC_AXIS_N];
  a.step_out = out->stride[FC_AXIS_X], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_out = out->stride[FC_AXIS_C], a.frame_out = out->stride[FC_AXIS_N];
  a.columns = static_cast<int32_t>(in->shape[FC_AXIS_X]), a.rows = static_cast<int32_t>(in->shape[FC_AXIS_Y]);
  a.x0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_X], SPREAD_ROWS));
  a.y0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_Y], SPREAD_ROWS));
  a.planes = static_cast<int32_t>(in->shape[FC_AXIS_C]), a.edges = ends_of(edges);
  for (int k = 0; k < 2; k++) {
    a.before[k] = static_cast<int32_t>(w->before[k]);
    a.window[k] = static_cast<int32_t>(w->before[k] + w->after[k] + 1);
    a.over[k] = 1.0f / static_cast<float>(a.window[k]);
    a.shares[k] = shares_of(a.window[k]);
    a.lo[k] = edges ? 0 : -a.before[k];
    a.hi[k] = static_cast<int32_t>(in->shape[axes[k]] + (edges ? 0 : w->after[k]));
  }
  a.x = extent16_of(a.window[0]), a.y = extent16_of(a.window[1]);
  a.warm = a.y.warm, a.slots = a.warm + 2;
  a.root = w->stat[which] == FC_WINSTAT_STD, a.dtype = out->dtype;
  a.store = fc_dev_map_of<float>(out->kind, out->dtype), a.notes = notes;
  return a;
}

template <int RUNS> static fc_status launch(spread_args a, int64_t frames, cudaStream_t stream) {
  typedef spread_room<RUNS> room;
  const int64_t bytes = sizeof(float) * (static_cast<int64_t>(a.slots) * room::STEP + 3 * room::PLANE);
  const int wide = RUNS * SPREAD_ROWS, steps = (a.rows - a.y0 + SPREAD_ROWS - 1) / SPREAD_ROWS;
  const int64_t resident = march_resident(spread_march<RUNS>, room::THREADS, bytes);
  a.strips = (a.columns - a.x0 + wide - 1) / wide;
  const int64_t strips = a.strips * frames * a.planes;
  const march_splits s = march_splits_of(steps, a.warm, strips, resident);
  a.blocks = s.steps, a.splits = s.splits;
  if (resident == 0 || strips * a.splits > INT32_MAX) return FC_UNSUPPORTED;
  spread_march<RUNS><<<static_cast<unsigned>(strips * a.splits), room::THREADS, bytes, stream>>>(a);
  return fc_launch_status();
}

fc_status run_spread(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                     int which, uint32_t *notes, cudaStream_t stream) {
  const int64_t most = 1 << 28;
  if (in->shape[FC_AXIS_X] > most || in->shape[FC_AXIS_Y] > most) return FC_UNSUPPORTED;
  const spread_args a = spread_args_of(w, in, edges, out, which, notes);
  return launch<8>(a, in->shape[FC_AXIS_N], stream);
}

} // namespace winstat

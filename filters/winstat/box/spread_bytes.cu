// SPDX-License-Identifier: MIT
//
// spread_bytes.cu - launches the kernel of spread_bytes.cuh.
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/box/spread_bytes.cuh"
#include "filters/winstat/launch.cuh"

namespace winstat {

static deviation_args deviation_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                        const fc_view *out, int which, int step, uint32_t *notes) {
  deviation_args d = {};
  const fc_scaling scaling = fc_scaling_of(in->kind, in->dtype);
  d.p = peak_args_of(w, in, edges, out, which, step);
  d.root = w->stat[which] == FC_WINSTAT_STD, d.dtype = out->dtype;
  d.count = static_cast<uint32_t>(d.p.window[0] * d.p.window[1]);
  const double n = static_cast<double>(d.count);
  d.over = static_cast<float>(d.root ? 1 / n : scaling.scale / (n * n));
  d.top = static_cast<float>(255 - scaling.bias) + 0.4f;
  d.scale = scaling.scale, d.step_out = static_cast<int64_t>(fc_dtype_size(out->dtype));
  d.store = fc_dev_map_of<double>(out->kind, out->dtype), d.notes = notes;
  return d;
}

constexpr fc_peak_row COUNTED = FC_DEVIATION_ROW;
static_assert(COUNTED.held == deviation_room::RUNS && COUNTED.samples == 4 * DEVIATION_WORDS, "as counted");

template <bool BYTES> static fc_status launch(deviation_args d, int64_t frames, cudaStream_t stream) {
  peak_args *a = &d.p;
  a->warm = (a->window[1] - 1 + DEVIATION_ROWS - 1) / DEVIATION_ROWS, a->slots = a->warm + 2;
  const int64_t bytes = fc_deviation_bytes(a->window[1]),
                resident = march_resident(deviation_march<BYTES>, DEVIATION_THREADS, bytes);
  const int32_t steps = (a->rows + DEVIATION_ROWS - 1) / DEVIATION_ROWS;
  const int64_t strips = strips_of(a, fc_deviation_row(), frames);
  const march_splits s = march_splits_of(steps, a->warm, strips, resident);
  a->blocks = s.steps, a->splits = s.splits;
  if (resident == 0 || strips * a->splits > INT32_MAX) return FC_UNSUPPORTED;
  deviation_march<BYTES><<<static_cast<unsigned>(strips * a->splits), DEVIATION_THREADS, bytes, stream>>>(d);
  return fc_launch_status();
}

fc_status run_spread_bytes(const call &c, int which) {
  const int step = fc_winstat_side_by_side(c.in);
  const deviation_args d = deviation_args_of(c.w, c.in, c.edges, c.out, which, step, c.notes);
  const int64_t frames = c.in->shape[FC_AXIS_N];
  return c.out->dtype == FC_U8 ? launch<true>(d, frames, c.stream) : launch<false>(d, frames, c.stream);
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// box_bytes.cu - launches the kernel of box_bytes.cuh.
#include "filters/winstat/box_bytes.cuh"
#include "filters/winstat/march.cuh"
#include "filters/winstat/strips_launch.cuh"

namespace winstat {

constexpr int64_t SUMS_AREA = 32768; // samples of a window, whose sum is below 2^23
constexpr int SUMS_ROWS = 256;       // of a window, whose sums fit 16 bits with a row more
constexpr int SUMS_COLUMNS = 33;     // of a window

static bool sums_fit(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  const int64_t across = w->before[0] + w->after[0] + 1, tall = w->before[1] + w->after[1] + 1;
  return w->n_stats == 1 && w->stat[0] == FC_WINSTAT_MEAN && tall > 1 && in->dtype == FC_U8 &&
         out->dtype == FC_U8 && in->kind == out->kind && across <= SUMS_COLUMNS && tall <= SUMS_ROWS &&
         across * tall <= SUMS_AREA;
}

static sums_args sums_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                              const fc_view *out, int channels) {
  sums_args a = {};
  a.b = byte_strips_of(w, in, edges, out, 0, channels);
  a.inside[0] = a.b.lo[0] / channels, a.inside[1] = a.b.hi[0] / channels;
  const int32_t area = a.b.across * a.b.tall;
  a.over = 1.0f / static_cast<float>(area), a.shrink = w->shrink;
  a.exactly = area % 2 == 0 && (area & (area - 1)) != 0;
  if (a.shrink && !a.exactly) {
    const int32_t ahead = a.inside[0] + static_cast<int32_t>(w->before[0]),
                  behind = a.b.columns + static_cast<int32_t>(w->after[0]) - a.inside[1];
    a.rim = (ahead < a.b.columns ? ahead : a.b.columns) * channels;
    a.rims = a.rim + behind * channels;
    if (a.rims > a.b.bytes) a.rims = a.b.bytes;
  }
  return a;
}

template <int C> static fc_status launch(sums_args a, int64_t frames, cudaStream_t stream, bool *done) {
  constexpr int CHUNK = sums_chunk<C>::bytes;
  const auto kernel = a.shrink ? box_bytes<C, true> : box_bytes<C, false>;
  if (!byte_cut_columns<C, CHUNK>(&a.b, frames, 16)) return FC_OK;
  a.far = a.b.window / CHUNK, a.rest = a.b.window % CHUNK;
  for (int k = 0; k < sums_chunk<C>::sums; k++)
    a.part[k] = 2 * k + 1 < a.rest ? ~0u : 2 * k < a.rest ? 0xffffu : 0u;
  const int64_t resident = march_resident(kernel, 32 * STRIP_WARPS, 0) * STRIP_WARPS,
                warps = resident > 0 ? byte_cut_rows(&a.b, frames, resident) : 0;
  if (warps == 0) return FC_OK;
  kernel<<<fc_blocks(warps, STRIP_WARPS, INT32_MAX), 32 * STRIP_WARPS, 0, stream>>>(a);
  *done = true;
  return fc_launch_status();
}

fc_status run_box_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                        cudaStream_t stream, bool *done) {
  *done = false;
  const int channels = byte_channels(in, out);
  if (channels == 0 || !sums_fit(w, in, out)) return FC_OK;
  const sums_args a = sums_args_of(w, in, edges, out, channels);
  const int64_t frames = in->shape[FC_AXIS_N];
  return with_channels(channels, [&](auto c) { return launch<decltype(c)::value>(a, frames, stream, done); });
}

} // namespace winstat

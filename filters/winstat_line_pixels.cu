// SPDX-License-Identifier: MIT
//
// winstat_line_pixels.cu - launches the kernel of winstat_line_pixels.cuh.
#include "filters/winstat_line_pixels.cuh"
#include "filters/winstat_runs_launch.cuh"

namespace winstat {

template <bool SUMS, bool SQUARES>
static fc_status launch(const pixel_args &a, int64_t rows, cudaStream_t stream, bool *done) {
  const auto kernel = pixel_march<SUMS, SQUARES>;
  const int64_t bytes = pixel_bytes(a);
  if (!fc_allow_shared(kernel, bytes)) return FC_OK;
  kernel<<<static_cast<unsigned>(rows * a.line.s.stretches), RUN_THREADS, bytes, stream>>>(a);
  *done = true;
  return fc_launch_status();
}

// Rows without gaps of so many words a column.
static bool together(const fc_dev_view &v, int64_t words) {
  return v.dtype == FC_F32 && v.stride[FC_AXIS_C] == sizeof(float) &&
         v.stride[FC_AXIS_X] == words * static_cast<int64_t>(sizeof(float)) &&
         reinterpret_cast<uintptr_t>(v.data) % sizeof(float) == 0 &&
         v.stride[FC_AXIS_Y] % sizeof(float) == 0 && v.stride[FC_AXIS_N] % sizeof(float) == 0;
}

fc_status run_pixels(const pass<float> &p, const line_args &line, int sum, int square, cudaStream_t stream,
                     bool *done) {
  *done = false;
  pixel_args a = {};
  const int64_t results = p.channels * p.n_stats, rows = p.frames * p.rows;
  if (results == 1 || p.channels > PIXEL_CHANNELS || !together(p.in, p.channels) ||
      !together(p.out, results) || line.s.pieces > 1 || rows > INT32_MAX / line.s.stretches)
    return FC_OK;
  a.line = line;
  a.line.in = p.in.data + p.n0 * p.in.stride[FC_AXIS_N] + p.y0 * p.in.stride[FC_AXIS_Y];
  a.line.out[0] = p.out.data + p.n0 * p.out.stride[FC_AXIS_N] + p.y0 * p.out.stride[FC_AXIS_Y];
  const int32_t first = line.x - line.before;
  a.line.lo += first, a.line.hi += first;
  a.channels = static_cast<int32_t>(p.channels), a.results = static_cast<int32_t>(results);
  if (sum >= 0) a.slot[0] = static_cast<int32_t>(p.slot[sum] * p.channels);
  if (square >= 0) a.slot[1] = static_cast<int32_t>(p.slot[square] * p.channels);
  a.plane = line.s.near_segments * RUN;
  a.apart = 32 * RUN + (32 / a.results + 3) / 4 * 4; // neighbours lie in different banks
  return square < 0 ? launch<true, false>(a, rows, stream, done)
         : sum >= 0 ? launch<true, true>(a, rows, stream, done)
                    : launch<false, true>(a, rows, stream, done);
}

} // namespace winstat

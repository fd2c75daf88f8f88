// SPDX-License-Identifier: MIT
//
// line_ring.cu - launches the kernel of line_ring.cuh.
#include "filters/winstat/line_ring.cuh"
#include "filters/winstat/runs_launch.cuh"

namespace winstat {

constexpr int64_t RING_STRETCHES = 4096; // of a row, at most
constexpr int RING_BLOCKS = 2;           // of a multiprocessor, at the least

// Stretches of rows, so that all end together, before groups that are read twice cost more.
static void split_rows(ring_args *a, int64_t lines, int64_t resident) {
  const int64_t twice = a->line.s.u + 1;
  int64_t least = INT64_MAX;
  for (int64_t n = 1; n <= a->groups && n * lines <= RING_STRETCHES + lines; n++) {
    const int64_t each = (a->groups + n - 1) / n,
                  cost = (lines * n + resident - 1) / resident * (each + twice);
    if (cost < least) least = cost, a->each = static_cast<int32_t>(each);
  }
  a->stretches = (a->groups + a->each - 1) / a->each;
}

template <bool SUMS, bool SQUARES>
static fc_status launch(ring_args a, int64_t lines, cudaStream_t stream, bool *done) {
  const auto kernel = line_ring<SUMS, SQUARES>;
  const int64_t bytes = ring_bytes(a, SUMS + SQUARES);
  int each = 0, device = 0, processors = 1;
  if (!fc_allow_shared(kernel, bytes)) return FC_OK; // others may yet do it
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, 32 * RING_WARPS,
                                                    static_cast<size_t>(bytes)) != cudaSuccess ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    fc_forget_error();
    return FC_OK;
  }
  if (each < RING_BLOCKS) return FC_OK;
  split_rows(&a, lines, static_cast<int64_t>(processors) * each);
  if (lines > INT32_MAX / a.stretches) return FC_OK;
  kernel<<<static_cast<unsigned>(lines * a.stretches), 32 * RING_WARPS, bytes, stream>>>(a);
  *done = true;
  return fc_launch_status();
}

fc_status run_ring(const line_args &line, int64_t lines, bool sums, bool squares, cudaStream_t stream,
                   bool *done) {
  *done = false;
  if (line.s.bits < 5) return FC_OK; // groups are not the largest
  ring_args a = {};
  a.line = line;
  a.groups = static_cast<int32_t>((line.columns - line.x + GROUP_SAMPLES - 1) / GROUP_SAMPLES);
  a.sums = line.s.u + 1 + 2 * RING_WARPS;
  return !squares ? launch<true, false>(a, lines, stream, done)
         : sums   ? launch<true, true>(a, lines, stream, done)
                  : launch<false, true>(a, lines, stream, done);
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// winstat_line_ring.cu - launches the kernel of winstat_line_ring.cuh.
#include "filters/winstat_line_ring.cuh"
#include "filters/winstat_runs_launch.cuh"

namespace winstat {

constexpr int64_t RING_STRETCHES = 4096; // of a row, at most

// What a device has: multiprocessors, and of each shared memory and warps of the kernel by its registers.
struct ring_room {
  int processors, shared, warps;
};

template <typename K> static bool room_of(K kernel, ring_room *r) {
  cudaFuncAttributes about;
  int device = 0, registers = 0;
  if (cudaFuncGetAttributes(&about, kernel) != cudaSuccess || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&r->processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&r->shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) !=
          cudaSuccess ||
      cudaDeviceGetAttribute(&registers, cudaDevAttrMaxRegistersPerMultiprocessor, device) != cudaSuccess)
    return false;
  r->warps = registers / ((about.numRegs + 7) / 8 * 8 * 32);
  return true;
}

static void size_ring(ring_args *a, int warps) {
  a->slots = a->line.s.u + 1 + 2 * warps, a->kept = 2 * warps + 1;
  a->staging = a->line.s.u >= warps ? 0 : GROUP_SAMPLES;
}

// Stretches of rows, so that all end together, before groups that are read twice cost more.
static void split_rows(ring_args *a, int64_t lines, const ring_room &room) {
  const int64_t resident = 3ll * room.processors, twice = a->line.s.u + 1;
  int64_t least = INT64_MAX;
  for (int64_t n = 1; n <= a->groups && n * lines <= RING_STRETCHES + lines; n++) {
    const int64_t each = (a->groups + n - 1) / n,
                  cost = (lines * n + resident - 1) / resident * (each + twice);
    if (cost < least) least = cost, a->each = static_cast<int32_t>(each);
  }
  a->stretches = (a->groups + a->each - 1) / a->each;
}

// Warps of a block, so that as many as can be work at once and few are idle in the last step, and in small
// blocks rather, whose barriers hold up fewer; 0: too few fit.
static int warps_of(const ring_args &line, const ring_room &room, int quantities) {
  constexpr int LEAST = 8;         // of a multiprocessor
  constexpr int64_t SYSTEM = 1024; // shared memory that a block has besides
  int best = 0;
  double busiest = 0;
  for (int warps = 4; warps <= RING_WARPS; warps++) {
    ring_args a = line;
    size_ring(&a, warps);
    int64_t blocks = room.shared / (ring_bytes(a, warps, quantities) + SYSTEM);
    if (blocks > room.warps / warps) blocks = room.warps / warps;
    const int arriving = a.each + a.line.s.u + 1, steps = (arriving + warps - 1) / warps;
    const double busy = static_cast<double>(blocks * arriving) / steps / (1 + 0.03 * warps);
    if (blocks * warps >= LEAST && busy > busiest) busiest = busy, best = warps;
  }
  return best;
}

template <bool SUMS, bool SQUARES>
static fc_status launch(ring_args a, int64_t lines, cudaStream_t stream, bool *done) {
  const auto kernel = line_ring<SUMS, SQUARES>;
  ring_room room;
  if (!room_of(kernel, &room)) {
    fc_forget_error(); // others may yet do it
    return FC_OK;
  }
  split_rows(&a, lines, room);
  const int warps = warps_of(a, room, SUMS + SQUARES);
  if (warps == 0 || lines > INT32_MAX / a.stretches) return FC_OK;
  size_ring(&a, warps);
  const int64_t bytes = ring_bytes(a, warps, SUMS + SQUARES);
  if (!fc_allow_shared(kernel, bytes)) return FC_OK;
  kernel<<<static_cast<unsigned>(lines * a.stretches), 32 * warps, bytes, stream>>>(a);
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
  return !squares ? launch<true, false>(a, lines, stream, done)
         : sums   ? launch<true, true>(a, lines, stream, done)
                  : launch<false, true>(a, lines, stream, done);
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// line_ring.cu - sums of floats in windows of more than a group of 512 samples along rows: kernel and launch.
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/rows/cuts.h"
#include "filters/winstat/rows/line_march.cuh"
#include "filters/winstat/launch.cuh"

// The same results as line_march.cuh, bit for bit, for windows longer than a group.
//
// A block of threads moves along a row, a group of 512 samples per warp and step. A warp copies the arriving
// group into a ring buffer in shared memory and computes its sum and the prefix sum before each of its
// segments. After a barrier, the only one in a step, it computes the windows that end in this group: these
// begin u + 1 groups earlier. The samples that they begin with are copied a second time, from the L2 cache,
// where a cache policy keeps them until then. Of the groups between only the sums are stored, so the shared
// memory is small and nearly independent of the window's length. Borders are copied too, from samples that
// have just been read. Where the part before a row is a constant, the sum of one such group is computed and
// used for all.

namespace winstat {

constexpr int GROUP_SAMPLES = GROUP * RUN;
// Warps per block. With 6, four blocks fit on a multiprocessor; 4 and 8, with as many warps in total, take 2
// and 5 % longer.
constexpr int RING_WARPS = 6;
constexpr int RING_SLOTS =
    2 * RING_WARPS + 1;       // ring slots: the last group of the previous step, this step's, the next one's
constexpr int RING_ROOMS = 2; // per warp: the samples that windows of this step and the next begin with

// A row is cut into stretches, one per block. Groups count from the first of a stretch.
struct ring_args {
  line_args line; // for the first group, not for a tile; only x, u, v and over of its `runs` are used
  int32_t groups, each, stretches; // groups per row that windows begin in, and per stretch; stretches
  int32_t sums;                    // number of group sums that are kept
};

// ---- samples into shared memory -----------------------------------------------------

// Copies a group whose source is contiguous, read forwards (step 1) or backwards (step -1) from `from`.
__device__ __forceinline__ void ring_copy_evenly(const float *from, int step, float *to) {
  const int lane = threadIdx.x % 32;
  if (step == 1 && reinterpret_cast<uintptr_t>(from) % 8 == 0) {
    from += 2 * lane;
#pragma unroll
    for (int k = 0; k < RUN / 2; k++) // words 64 k + 2 lane and 64 k + 2 lane + 1
      fc_copy_word<8>(to + 64 * k + (2 * lane ^ ((2 * k + (lane >> 4)) & 3) << 2), from + 64 * k);
    return;
  }
  from += step * lane;
#pragma unroll
  for (int k = 0; k < RUN; k++) fc_copy_word(to + 32 * k + (lane ^ k % 4 << 2), from + step * 32 * k);
}

__device__ __forceinline__ void ring_fill(float v, float *to) {
#pragma unroll
  for (int k = 0; k < RUN / 4; k++)
    reinterpret_cast<float4 *>(to)[threadIdx.x % 32 + 32 * k] = make_float4(v, v, v, v);
}

// Copies a group that is not all readable, or is not aligned to 16 bytes. `row`: column 0; x: the column of
// the group's first sample.
inline __device__ __noinline__ void ring_copy_ends(const line_args &a, const float *row, float *to, int x,
                                                   bool quads) {
  const int extent = a.columns, border = a.edges.border;
  if (x >= a.lo && x + GROUP_SAMPLES <= a.hi) {
    ring_copy_evenly(row + x, 1, to);
    return;
  }
  if (x + GROUP_SAMPLES <= a.lo || x >= a.hi) { // nothing of the group is readable
    const int first = a.edges.on ? border_source(border, x, extent) : -1;
    if (first < 0 || border == FC_BORDER_REPLICATE) {
      ring_fill(first < 0 ? __uint_as_float(static_cast<uint32_t>(a.edges.code)) : row[first], to);
      return;
    }
    // A mirrored or repeated group is still contiguous unless it holds a turning point. For FC_BORDER_WRAP a
    // distance of 1 - GROUP_SAMPLES means a jump back to the start, not a mirrored group.
    const int apart = border_source(border, x + GROUP_SAMPLES - 1, extent) - first;
    if (apart == GROUP_SAMPLES - 1 || (apart == 1 - GROUP_SAMPLES && border != FC_BORDER_WRAP)) {
      ring_copy_evenly(row + first, apart > 0 ? 1 : -1, to);
      return;
    }
  }
  const int seen[2] = {-a.before - x, extent + a.s.x.reach - a.before - x};
  copy_with_ends<32>(
      threadIdx.x % 32, GROUP_SAMPLES, a.lo - x, a.hi - x, quads, seen,
      [&](int i) { fc_copy_words(to + 4 * quarter(i / 4), row + x + i); },
      [&](int i) {
        float *here = to + 4 * quarter(i / 4) + i % 4;
        const bool inside = x + i >= a.lo && x + i < a.hi;
        const int source = inside ? x + i : a.edges.on ? border_source(border, x + i, extent) : -1;
        if (inside || source >= 0)
          fc_copy_word(here, row + source);
        else
          *here = __uint_as_float(static_cast<uint32_t>(a.edges.code));
      });
}

// Copies a group, with a cache policy for L2.
__device__ __forceinline__ void ring_copy(const line_args &a, const float *row, float *to, int x,
                                          uint64_t policy) {
  const bool quads = reinterpret_cast<uintptr_t>(row + x) % 16 == 0; // the same for all groups of a row
  if (x < a.lo || x + GROUP_SAMPLES > a.hi || !quads) {
    ring_copy_ends(a, row, to, x, quads);
    return;
  }
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < RUN / 4; k++)
    fc_copy_words_by(to + 4 * quarter(lane) + k * 128, row + x + 4 * lane + k * 128, policy);
}

// ---- windows ------------------------------------------------------------------------

// The slot `by` after `slot` in a ring of `slots`.
__device__ __forceinline__ int ring_after(int slot, int by, int slots) {
  return slot + by < slots ? slot + by : slot + by - slots;
}

// Sums of a segment or a group, one for each quantity.
template <class S> struct ring_sums { float of[S::COUNT]; };

// The prefix sum before each segment of a group, and the group's sum; one lane per segment.
template <class S>
__device__ __forceinline__ void ring_scan(const float *group, ring_sums<S> *ahead, ring_sums<S> *sum) {
  const int lane = threadIdx.x % 32;
  float x[RUN], y[RUN];
  ring_sums<S> total, before;
  read_segment(x, group, lane);
#pragma unroll
  for (int q = 0; q < S::COUNT; q++) quantity_of<S>(q, y, x), total.of[q] = sum16(y);
#pragma unroll
  for (int by = 1; by < GROUP; by *= 2) {
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) {
      const float other = __shfl_up_sync(ALL, total.of[q], by);
      if (lane >= by) total.of[q] = plus(other, total.of[q]);
    }
  }
#pragma unroll
  for (int q = 0; q < S::COUNT; q++) {
    before.of[q] = __shfl_up_sync(ALL, total.of[q], 1);
    if (lane == 0) before.of[q] = 0;
  }
  ahead[lane] = before;
  if (lane == GROUP - 1) *sum = total;
}

// Replaces total[], the sums of a lane's segment, by the sums of all that lies between this segment and the
// group that its windows end in. sums[slot] is the sum of the segment's own group.
template <class S>
__device__ __forceinline__ void ring_between(const runs &s, float (&total)[S::COUNT],
                                             const ring_sums<S> *sums, int slot, int slots) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int by = 1; by < GROUP; by *= 2) {
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) {
      const float other = __shfl_down_sync(ALL, total[q], by);
      if (lane + by < GROUP) total[q] = plus(total[q], other);
    }
  }
#pragma unroll
  for (int q = 0; q < S::COUNT; q++) {
    total[q] = __shfl_down_sync(ALL, total[q], 1);
    if (lane == GROUP - 1) total[q] = 0;
  }
  if (s.u > 1) {
    float middle[S::COUNT] = {};
#pragma unroll 1
    for (int k = 1 + lane; k < s.u; k += GROUP) {
      const ring_sums<S> group = sums[ring_after(slot, k, slots)];
#pragma unroll
      for (int q = 0; q < S::COUNT; q++) middle[q] = plus(middle[q], group.of[q]);
    }
#pragma unroll
    for (int by = GROUP / 2; by > 0; by /= 2)
#pragma unroll
      for (int q = 0; q < S::COUNT; q++) middle[q] = plus(middle[q], __shfl_xor_sync(ALL, middle[q], by));
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) total[q] = plus(total[q], middle[q]);
  }
  if (lane + s.v >= GROUP) {
    const ring_sums<S> group = sums[ring_after(slot, s.u, slots)];
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) total[q] = plus(total[q], group.of[q]);
  }
}

// Like long_windows, but the two segments that windows end in need not be adjacent in shared memory.
template <class S> struct ring_windows {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[S::COUNT][RUN], const float (&core)[S::COUNT],
                                             const float *const &tile, const int &segment, const int &next) {
    constexpr int N = (RUN + W + 2) / 4 * 4;
    float x[N], y[N];
#pragma unroll
    for (int k = 0; k < N / 4; k++) {
      const int first = 4 * quarter(4 * (k < RUN / 4 ? segment : next));
      const float4 q = *reinterpret_cast<const float4 *>(tile + (first ^ k % 4 * 4));
      x[4 * k] = q.x, x[4 * k + 1] = q.y, x[4 * k + 2] = q.z, x[4 * k + 3] = q.w;
    }
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) quantity_of<S>(q, y, x), add_ends<W>(v[q], core[q], y);
  }
};

// ---- a block's way along a row ---------------------------------------------------------

// Position of a warp: the arriving group, its ring slot, and the slot of its sum.
struct ring_place {
  int group, slot, sum;
};

// The windows that begin in the group with the samples `first`, whose sum is in sums[begin].
template <class S>
__device__ __forceinline__ void ring_make(const ring_args &a, float (&v)[S::COUNT][RUN], const float *samples,
                                          const float *first, const ring_sums<S> *ahead,
                                          const ring_sums<S> *sums, const ring_place &at, int begin) {
  const runs &s = a.line.s;
  const int lane = threadIdx.x % 32;
  float x[RUN], core[S::COUNT];
  read_segment(x, first, lane);
#pragma unroll
  for (int q = 0; q < S::COUNT; q++) quantity_of<S>(q, v[q], x), suffixes(v[q]), core[q] = v[q][0];
  ring_between<S>(s, core, sums, begin, a.sums);
  // Windows end in the arriving group or in the one before it.
  const int end = lane + s.v, before = ring_after(at.slot, RING_SLOTS - 1, RING_SLOTS);
  const int segment = (end >= GROUP ? at.slot : before) * GROUP + end % GROUP,
            next = (end + 1 >= GROUP ? at.slot : before) * GROUP + (end + 1) % GROUP;
  const ring_sums<S> last = ahead[segment];
#pragma unroll
  for (int q = 0; q < S::COUNT; q++) core[q] = plus(core[q], last.of[q]);
  with_window<ring_windows<S>>(s.x.rest + 1, v, core, samples, segment, next);
}

// How many of a stretch's first groups, from column x on, consist of the same constant (zeros, the border's
// constant or the replicated first sample). No window ends in them, so that their sums suffice.
__device__ __forceinline__ int ring_constant(const line_args &a, int x) {
  if (a.edges.on && a.edges.border > FC_BORDER_REPLICATE && a.edges.border != FC_BORDER_NONE) return 0;
  const int count = x < a.lo ? (a.lo - x) / GROUP_SAMPLES : 0;
  return count < a.s.u ? count : a.s.u;
}

// The sums of these groups. The first warps compute one each and copy it to the others. `room` and `ahead`
// belong to the warp.
template <class S>
__device__ __forceinline__ void ring_skip(const line_args &a, const float *row, float *room,
                                          ring_sums<S> *ahead, ring_sums<S> *sums, int x, int count) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp >= count) return;
  ring_copy_ends(a, row, room, x, reinterpret_cast<uintptr_t>(row + x) % 16 == 0);
  __syncwarp();
  ring_scan<S>(room, ahead, sums + warp);
  __syncwarp();
  const ring_sums<S> sum = sums[warp];
  for (int i = warp + RING_WARPS * (1 + lane); i < count; i += 32 * RING_WARPS) sums[i] = sum;
}

template <class S>
__device__ __forceinline__ void ring_give(const line_args &l, float (&v)[S::COUNT][RUN], bool sums,
                                          bool squares, float *staging, int64_t here, int x) {
  const int mine = x + static_cast<int>(threadIdx.x % 32) * RUN;
  if (sums) line_finish(l, v[0], l.stat[0], mine);
  if (squares) line_finish(l, v[S::COUNT - 1], l.stat[1], mine);
  if (sums) line_give<true>(v[0], staging, reinterpret_cast<float *>(l.out[0] + here), x, l.columns);
  if (squares)
    line_give<true>(v[S::COUNT - 1], staging, reinterpret_cast<float *>(l.out[1] + here), x, l.columns);
}

template <bool SUMS, bool SQUARES>
__global__ void __launch_bounds__(32 * RING_WARPS, 4) line_ring(const __grid_constant__ ring_args a) {
  extern __shared__ __align__(16) float samples[];
  typedef quantities<SUMS, SQUARES> S;
  const line_args &l = a.line;
  const int warp = threadIdx.x / 32;
  float *rooms = samples + (RING_SLOTS + RING_ROOMS * warp) * GROUP_SAMPLES;
  ring_sums<S> *ahead = reinterpret_cast<ring_sums<S> *>(samples + (RING_SLOTS + RING_ROOMS * RING_WARPS) *
                                                                       GROUP_SAMPLES),
               *sums = ahead + RING_SLOTS * GROUP;
  unsigned i = blockIdx.x;
  const int first = static_cast<int>(i % a.stretches) * a.each;
  i /= a.stretches;
  const unsigned plane = i % l.planes;
  i /= l.planes;
  const int64_t y = i % l.rows, n = i / l.rows;
  const float *row =
      reinterpret_cast<const float *>(l.in + n * l.frame_in + plane * l.plane_in + y * l.row_in);
  const int64_t to = n * l.frame_out + plane * l.plane_out + y * l.row_out;
  const int count = a.groups - first < a.each ? a.groups - first : a.each, // groups that windows begin in
      between = l.s.u + 1, arriving = count + between;
  const int start = l.x - l.before + first * GROUP_SAMPLES; // the column of the stretch's first sample
  const int skipped = ring_constant(l, start);
  const uint64_t keep = fc_cache_last(), drop = fc_cache_first();
  ring_place at = {skipped + warp, warp, skipped + warp};
  int room = 0;
  // Copies a group, and the group that the windows ending in it begin in.
  auto copy = [&](int group, int slot, float *begin) {
    if (group < arriving)
      ring_copy(l, row, samples + slot * GROUP_SAMPLES, start + group * GROUP_SAMPLES, keep);
    if (group < arriving && group >= between)
      ring_copy(l, row, begin, start + (group - between) * GROUP_SAMPLES, drop);
    fc_commit_copies();
  };
  copy(at.group, at.slot, rooms);
  ring_skip<S>(l, row, rooms + GROUP_SAMPLES, ahead + (RING_WARPS + 1 + warp) * GROUP, sums, start, skipped);
#pragma unroll 1
  for (int done = skipped; done < arriving; done += RING_WARPS) { // the same for all warps
    fc_await_copies();
    __syncwarp();
    if (at.group < arriving)
      ring_scan<S>(samples + at.slot * GROUP_SAMPLES, ahead + at.slot * GROUP, sums + at.sum);
    __syncthreads();
    float *begin = rooms + room * GROUP_SAMPLES;
    room ^= 1;
    copy(at.group + RING_WARPS, ring_after(at.slot, RING_WARPS, RING_SLOTS), rooms + room * GROUP_SAMPLES);
    const int begins = at.group - between;
    if (begins >= 0 && begins < count) {
      float v[S::COUNT][RUN];
      ring_make<S>(a, v, samples, begin, ahead, sums, at, ring_after(at.sum, a.sums - between, a.sums));
      const int x = start + l.before + begins * GROUP_SAMPLES;
      ring_give<S>(l, v, SUMS, SQUARES, begin, to + 4ll * x, x);
    }
    at.group += RING_WARPS;
    at.slot = ring_after(at.slot, RING_WARPS, RING_SLOTS), at.sum = ring_after(at.sum, RING_WARPS, a.sums);
  }
}

} // namespace winstat

namespace winstat {

constexpr int64_t RING_STRETCHES = 4096; // stretches per row, at most

// Chooses the number of stretches per row: enough that all blocks end together, but each stretch reads u + 1
// groups that its neighbour reads too.
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

static_assert(RING_WARPS == FC_RING_WARPS && RING_SLOTS == FC_RING_SLOTS && RING_ROOMS == FC_RING_ROOMS,
              "as counted");

template <bool SUMS, bool SQUARES>
static fc_status launch(ring_args a, int64_t bytes, int64_t lines, cudaStream_t stream) {
  const auto kernel = line_ring<SUMS, SQUARES>;
  const int64_t resident = march_resident(kernel, 32 * RING_WARPS, bytes);
  if (resident == 0) return FC_DEVICE;
  split_rows(&a, lines, resident);
  if (lines > INT32_MAX / a.stretches) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(lines * a.stretches), 32 * RING_WARPS, bytes, stream>>>(a);
  return fc_launch_status();
}

fc_status run_ring(const line_args &line, int64_t lines, bool sums, bool squares, cudaStream_t stream) {
  ring_args a = {};
  a.line = line;
  a.groups = static_cast<int32_t>((line.columns - line.x + GROUP_SAMPLES - 1) / GROUP_SAMPLES);
  a.sums = line.s.u + 1 + 2 * RING_WARPS;
  const fc_line_groups g = fc_line_groups_of(line.s.x.reach + 1);
  const int64_t bytes = fc_line_ring_bytes(&g, sums + squares);
  return !squares ? launch<true, false>(a, bytes, lines, stream)
         : sums   ? launch<true, true>(a, bytes, lines, stream)
                  : launch<false, true>(a, bytes, lines, stream);
}

} // namespace winstat

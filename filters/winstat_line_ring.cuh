// SPDX-License-Identifier: MIT
//
// winstat_line_ring.cuh - what winstat_line_march.cuh does, to the bit, for windows of more than a group:
// every sample comes into shared memory once.
//
// A block of threads goes along a row by as many groups of 512 samples as it has warps. Shared memory is a
// ring of groups: those that windows begin in, those between, those that they end in and those on their way.
// A warp copies a group that arrives and makes its sum and what is ahead of each of its segments; after a
// barrier, the only one in a step, it makes the windows that end in it: those that begin as many groups
// earlier as there are between, and one. Borders are copied too, from samples that have just been read.
#ifndef FC_FILTERS_WINSTAT_LINE_RING_CUH
#define FC_FILTERS_WINSTAT_LINE_RING_CUH

#include "filters/winstat_line_march.cuh"

namespace winstat {

constexpr int GROUP_SAMPLES = GROUP * RUN;
constexpr int RING_WARPS = 21; // of a block, at most

// Groups are counted from the stretch's first.
struct ring_args {
  line_args line;                  // of the first group, not of a tile; of its `runs` only x, u, v and over
  int32_t groups, each, stretches; // of a row, that windows begin in; of a stretch; of a row
  int32_t slots, kept;             // of the ring; groups of which what is ahead of segments is kept
  int32_t staging;                 // words of a warp; 0: results change places where its samples were
};

static inline int64_t ring_bytes(const ring_args &a, int warps, int quantities) {
  return sizeof(float) * (static_cast<int64_t>(a.slots) * (GROUP_SAMPLES + quantities) +
                          quantities * a.kept * GROUP + warps * a.staging);
}

// ---- samples into shared memory -----------------------------------------------------

// A group that is read from `from` on, forwards or backwards.
__device__ __forceinline__ void ring_copy_evenly(const float *from, int step, float *to) {
  const int lane = threadIdx.x % 32;
  from += step * lane;
#pragma unroll
  for (int k = 0; k < RUN; k++) fc_copy_word(to + 32 * k + (lane ^ k % 4 << 2), from + step * 32 * k);
}

__device__ __forceinline__ void ring_fill(float v, float *to) {
#pragma unroll
  for (int k = 0; k < RUN / 4; k++)
    reinterpret_cast<float4 *>(to)[threadIdx.x % 32 + 32 * k] = make_float4(v, v, v, v);
}

// A group of which not all can be read: column 0 of its row is at `row`, its first sample at column x.
inline __device__ __noinline__ void ring_copy_ends(const line_args &a, const float *row, float *to, int x) {
  const int extent = a.columns, border = a.edges.border;
  if (x + GROUP_SAMPLES <= a.lo || x >= a.hi) { // none
    const int first = a.edges.on ? border_source(border, x, extent) : -1;
    if (first < 0 || border == FC_BORDER_REPLICATE) {
      ring_fill(first < 0 ? __uint_as_float(static_cast<uint32_t>(a.edges.code)) : row[first], to);
      return;
    }
    // Without a turn? A signal that is repeated jumps back at its end.
    const int apart = border_source(border, x + GROUP_SAMPLES - 1, extent) - first;
    if (apart == GROUP_SAMPLES - 1 || (apart == 1 - GROUP_SAMPLES && border != FC_BORDER_WRAP)) {
      ring_copy_evenly(row + first, apart > 0 ? 1 : -1, to);
      return;
    }
  }
  const int seen[2] = {-a.before - x, extent + a.s.x.reach - a.before - x};
  copy_with_ends<32>(
      threadIdx.x % 32, GROUP_SAMPLES, a.lo - x, a.hi - x, seen,
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

__device__ __forceinline__ void ring_copy(const line_args &a, const float *row, float *to, int x) {
  if (x < a.lo || x + GROUP_SAMPLES > a.hi) {
    ring_copy_ends(a, row, to, x);
    return;
  }
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < RUN / 4; k++)
    fc_copy_words(to + 4 * quarter(lane) + k * 128, row + x + 4 * lane + k * 128);
}

// ---- windows ------------------------------------------------------------------------

// A place that goes round.
__device__ __forceinline__ int ring_after(int slot, int by, int slots) {
  return slot + by < slots ? slot + by : slot + by - slots;
}

// Of each quantity, of segments or groups.
template <class S> struct ring_sums { float of[S::COUNT]; };

// What is ahead of each segment of a group, and its sum: a lane a segment.
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

// What lies between a lane's segment, of which total[] are the sums, and the group that its windows end in;
// sums[slot] are those of the segment's group.
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

// As long_windows; the segments that windows end in need not lie side by side.
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

// Where a warp is: slots of the group that arrives, and of what is kept of it.
struct ring_place {
  int group, slot, kept;
};

// The windows that begin in the group in slot `begin`.
template <class S>
__device__ __forceinline__ void ring_make(const ring_args &a, float (&v)[S::COUNT][RUN], const float *samples,
                                          const ring_sums<S> *ahead, const ring_sums<S> *sums,
                                          const ring_place &at, int begin) {
  const runs &s = a.line.s;
  const int lane = threadIdx.x % 32;
  float x[RUN], core[S::COUNT];
  read_segment(x, samples + begin * GROUP_SAMPLES, lane);
#pragma unroll
  for (int q = 0; q < S::COUNT; q++) quantity_of<S>(q, v[q], x), suffixes(v[q]), core[q] = v[q][0];
  ring_between<S>(s, core, sums, begin, a.slots);
  // They end in the group that arrives, and in the one before.
  const int end = lane + s.v, slot = ring_after(at.slot, a.slots - 1, a.slots),
            kept = end >= GROUP ? at.kept : ring_after(at.kept, a.kept - 1, a.kept);
  const ring_sums<S> last = ahead[kept * GROUP + end % GROUP];
#pragma unroll
  for (int q = 0; q < S::COUNT; q++) core[q] = plus(core[q], last.of[q]);
  const int segment = (end >= GROUP ? at.slot : slot) * GROUP + end % GROUP,
            next = (end + 1 >= GROUP ? at.slot : slot) * GROUP + (end + 1) % GROUP;
  with_window<ring_windows<S>>(s.x.rest + 1, v, core, samples, segment, next);
}

template <bool SUMS, bool SQUARES>
__global__ void __launch_bounds__(32 * RING_WARPS, 1) line_ring(const __grid_constant__ ring_args a) {
  extern __shared__ __align__(16) float samples[];
  typedef quantities<SUMS, SQUARES> S;
  const line_args &l = a.line;
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32;
  float *apart = samples + a.slots * GROUP_SAMPLES;
  ring_sums<S> *ahead = reinterpret_cast<ring_sums<S> *>(apart + warps * a.staging),
               *sums = ahead + a.kept * GROUP;
  apart += warp * a.staging;
  unsigned i = blockIdx.x;
  const int first = static_cast<int>(i % a.stretches) * a.each;
  i /= a.stretches;
  const unsigned plane = i % l.planes;
  i /= l.planes;
  const int64_t y = i % l.rows, n = i / l.rows;
  const float *row =
      reinterpret_cast<const float *>(l.in + n * l.frame_in + plane * l.plane_in + y * l.row_in);
  const int64_t to = n * l.frame_out + plane * l.plane_out + y * l.row_out;
  const int count = a.groups - first < a.each ? a.groups - first : a.each, // that windows begin in
      between = l.s.u + 1, arriving = count + between;
  const int start = l.x - l.before + first * GROUP_SAMPLES; // the column of the stretch's first sample
  ring_place at = {warp, warp, warp};
  auto copy = [&](int group, int slot) {
    if (group < arriving) ring_copy(l, row, samples + slot * GROUP_SAMPLES, start + group * GROUP_SAMPLES);
    fc_commit_copies();
  };
  copy(at.group, at.slot);
#pragma unroll 1
  for (int done = 0; done < arriving; done += warps) { // the same for all warps
    fc_await_copies();
    __syncwarp();
    if (at.group < arriving)
      ring_scan<S>(samples + at.slot * GROUP_SAMPLES, ahead + at.kept * GROUP, sums + at.slot);
    __syncthreads();
    copy(at.group + warps, ring_after(at.slot, warps, a.slots));
    const int begins = at.group - between;
    if (begins >= 0 && begins < count) {
      const int slot = ring_after(at.slot, a.slots - between, a.slots);
      float v[S::COUNT][RUN];
      ring_make<S>(a, v, samples, ahead, sums, at, slot);
      float *staging = a.staging ? apart : samples + slot * GROUP_SAMPLES;
      const int x = start + l.before + begins * GROUP_SAMPLES;
      const int64_t here = to + 4ll * x;
      const int mine = x + static_cast<int>(threadIdx.x % 32) * RUN;
      if (SUMS) line_finish(l, v[0], l.stat[0], mine);
      if (SQUARES) line_finish(l, v[S::COUNT - 1], l.stat[1], mine);
      if (SUMS) line_give(v[0], staging, reinterpret_cast<float *>(l.out[0] + here), x, l.columns);
      if (SQUARES)
        line_give(v[S::COUNT - 1], staging, reinterpret_cast<float *>(l.out[1] + here), x, l.columns);
    }
    at.group += warps;
    at.slot = ring_after(at.slot, warps, a.slots), at.kept = ring_after(at.kept, warps, a.kept);
  }
}

} // namespace winstat

#endif

// SPDX-License-Identifier: MIT
//
// box_pixels.cu - boxes of floats with three or four interleaved channels.
#include "filters/winstat/box/box_march.cuh"
#include "filters/winstat/box/box_march_launch.cuh"

// A sample layout for box_march.cuh: interleaved channels stay interleaved in shared memory, so that the
// reads and writes of a warp are contiguous. Only the sums along x step from pixel to pixel.

namespace winstat {

// Words between segments of C channels: four more than a segment has, against bank conflicts.
template <int C> constexpr int pixel_segment = RUN *C + 4;

template <int C, int N> __device__ __forceinline__ void pixel_samples(float (&x)[N], const float *from) {
#pragma unroll
  for (int k = 0; k < N; k++) x[k] = from[k / RUN * pixel_segment<C> + k % RUN * C];
}

template <int C> struct pixel_run {
  template <int W> static __device__ __forceinline__ void run(float (&v)[RUN], const float *const &from) {
    float x[RUN + W - 1];
    pixel_samples<C>(x, from);
    slide_short<W>(v, x);
  }
};

// v: the suffixes of a segment; see box_tail.
template <int C> struct pixel_tail {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[RUN], const float &core, const float *const &lead) {
    float x[RUN + W - 1];
    pixel_samples<C>(x, lead);
    add_ends<W>(v, core, x);
  }
};

// The windows of one channel that begin in the segment at `from`.
template <int C>
__device__ __forceinline__ void pixel_row(float (&v)[RUN], const float *from, const extent16 &w) {
  if (w.segments == 0) {
    with_window<pixel_run<C>>(w.reach + 1, v, from);
    return;
  }
  float core = 0;
#pragma unroll 1
  for (int k = 1; k < w.segments; k++) {
    float x[RUN];
    pixel_samples<C>(x, from + k * pixel_segment<C>);
    core = k == 1 ? sum16(x) : plus(core, sum16(x));
  }
  pixel_samples<C>(v, from);
  suffixes(v);
  const float *lead = from + w.segments * pixel_segment<C>;
  with_window<pixel_tail<C>>(w.rest + 1, v, core, lead);
}

// SEGMENTS: the number of segments that windows span along x beyond their first. Words are in the order of
// memory.
template <int C, int SEGMENTS> struct box_pixels {
  static constexpr bool halves = true, codes = false;
  static constexpr int channels = C, runs = BOX_RUNS / C;
  // A warp reads two rows; where it avoids bank conflicts the second is shifted by 16 banks.
  static constexpr int least = (runs + SEGMENTS) * pixel_segment<C>,
                       pitch = C == 4 ? (least + 15) / 32 * 32 + 16 : least;

  static __device__ __forceinline__ int word(int i) { return i + i / (RUN * C) * 4; }

  static __device__ __forceinline__ void sum(const box_args &a, float *row, int lane, bool idle) {
    const int run = idle ? runs : lane / C;
    float v[RUN], *from = row + run * pixel_segment<C> + (lane - run * C);
    if (run < runs) pixel_row<C>(v, from, a.x);
    __syncwarp();
    if (run >= runs) return;
#pragma unroll
    for (int k = 0; k < RUN; k++) from[k * C] = v[k];
  }

  // Copies words, SIZE at once, all of which can be read.
  template <int SIZE>
  static __device__ __forceinline__ void copy_all(int count, const float *from, float *row) {
#pragma unroll 4
    for (int i = SIZE * (threadIdx.x % BOX_RUNS); i < count; i += SIZE * BOX_RUNS) {
      if (SIZE == 4)
        fc_copy_words(row + word(i), from + i);
      else
        fc_copy_word<4 * (SIZE < 4 ? SIZE : 1)>(row + word(i), from + i);
    }
  }

  // Copies a row of which the samples lo .. hi - 1 can be read, and fills in the border.
  static __device__ __noinline__ void copy_ends(const box_args &a, const float *from, float *row, int lo,
                                                int hi) {
    const int strip = a.lo[0] - lo, end = a.seen[1] - strip < a.wide ? a.seen[1] - strip : a.wide,
              begin = a.seen[0] - strip > 0 ? a.seen[0] - strip : 0;
#pragma unroll 1
    for (int i = begin * C + static_cast<int>(threadIdx.x % BOX_RUNS); i < end * C; i += BOX_RUNS) {
      const int x = i / C;
      int source = x >= lo && x < hi ? x - lo : -1;
      if (source < 0 && a.edges.on) source = border_source(a.edges.border, x - lo, hi - lo);
      if (source >= 0)
        fc_copy_word(row + word(i), from + (lo + source) * static_cast<int64_t>(C) + (i - x * C));
      else
        row[word(i)] = a.outside;
    }
  }

  static __device__ __forceinline__ void copy(const box_args &a, const char *from, float *row, int lo,
                                              int hi) {
    const float *first = reinterpret_cast<const float *>(from);
    const unsigned beyond = static_cast<unsigned>(reinterpret_cast<uintptr_t>(from)) % 16;
    if (lo > 0 || hi < a.wide)
      copy_ends(a, first, row, lo, hi);
    else if (beyond == 0)
      copy_all<4>(a.wide * C, first, row);
    else if (beyond == 8)
      copy_all<2>(a.wide * C, first, row);
    else
      copy_all<1>(a.wide * C, first, row);
  }
};

} // namespace winstat

namespace winstat {

static_assert(box_pixels<3, 2>::pitch == FC_BOX_RGB && box_pixels<4, 1>::pitch == FC_BOX_RGBA, "as counted");

fc_status run_box_pixels(const call &c, int which) {
  const int channels = static_cast<int>(c.in->shape[FC_AXIS_C]);
  const box_args a = box_args_of(c, which, channels);
  const int64_t frames = c.in->shape[FC_AXIS_N];
  return channels == 3 ? launch_march<box_pixels<3, 2>>(a, frames, c.stream)
                       : launch_march<box_pixels<4, 1>>(a, frames, c.stream);
}

} // namespace winstat

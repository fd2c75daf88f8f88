// SPDX-License-Identifier: MIT
//
// row.cuh - the skeleton of kernels composed at run time for windows along one axis of long lines, as sound
// has them: sums of products, with what is done to each sample or pixel before and after them, and the border
// made on the way.
//
// A line is cut into slices of WIDTH outputs; a block processes some consecutive slices. A slice and its
// margins are loaded into registers, where the functions before the window run, and stored to shared memory,
// B slices at a time and double-buffered, since lines can be very long:
//
//     in --load--> Pre --> row[2][B][THREADS * V] --> sums of V --> Post --store--> out
//
// window.cuh describes the layout of a slice in shared memory, and the order of sums.
#ifndef FC_FILTERS_GPU_ROW_CUH
#define FC_FILTERS_GPU_ROW_CUH

#include "filters/gpu/window.cuh"

// Positions are relative to the first output, in elements between Pre and Post; `in` is the input at position
// 0. The signal has `begin` elements before that, and ends `end` after it. The host's copy of the struct is
// in core/device/compose.h.
struct fc_row_args {
  const char *in;
  char *out;
  int64_t in_image, in_plane, out_image, out_plane;
  int32_t begin, end, total; // total: elements of outputs
  int32_t slices, planes;    // per block; per image
  float constant;            // the value beyond the ends, between Pre and Post
  uint32_t *notes;
};

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          int V, int B, int THREADS, int UNROLL, typename Pre, typename Op, typename Post>
struct fc_row {
  using W = fc_window<Op, UI, UM, UO, STEP, V, THREADS>;
  static constexpr int IN = W::IN, OUT = W::OUT, VP = W::VP;

  // A thread's elements from position `at` on if not all of them are in the signal: pixel by pixel.
  static FC_DEVICE void put_ends(const fc_row_args &a, const char *in, float *to, int at, const Pre &pre,
                                 fc_dev_noted &noted) {
    const int ahead = a.begin / STEP, extent = ahead + a.end / STEP;
#pragma unroll 1
    for (int i = 0; i < V; i += UM) {
      if (at + i < -W::L || at + i >= a.total + W::R) continue; // used by no window, and may not exist
      const int e = at + i + a.begin, far = e + STEP * 4096;    // positive for any window
      const int source = fc_dev_border_source(BORDER, far / STEP - 4096, extent);
      float x[UI], v[UM];
      if (source >= 0) {
        const T *samples = reinterpret_cast<const T *>(in) +
                           static_cast<int64_t>(((source - ahead) * STEP + far % STEP) / UM) * UI;
#pragma unroll
        for (int c = 0; c < UI; c++)
          x[c] = fc_dev_value<float, T>(samples[c], fc_map_scaling<float, T, KT>());
        pre.run(x, v, noted);
      }
#pragma unroll
      for (int c = 0; c < UM; c++) to[i + c] = source < 0 ? a.constant : v[c];
    }
  }

  static FC_DEVICE void run(const fc_row_args &a, const Pre &pre, const Op &op, const Post &post) {
    __shared__ __align__(16) float row[2][B][THREADS * VP];
    const int t = threadIdx.x;
    const int first = static_cast<int>(blockIdx.x) * a.slices; // of the block
    const int rest = (a.total + W::WIDTH - 1) / W::WIDTH - first, count = rest < a.slices ? rest : a.slices;
    const int image = static_cast<int>(blockIdx.z) / a.planes,
              plane = static_cast<int>(blockIdx.z) % a.planes;
    const char *in = a.in + image * a.in_image + plane * a.in_plane;
    char *out = a.out + image * a.out_image + plane * a.out_plane;
    const int at = first * W::WIDTH - W::PL + t * V; // of this thread's vector in the first slice
    const bool mine = t >= W::PL / V && t < THREADS - W::PR / V;
    const int window = mine ? t - W::PL / V : 0;
    fc_dev_noted noted = {false, false};
    fc_window_load<T, KT, IN, ALIGNED> raw[B];

    const int from = a.begin < W::L ? -a.begin : -W::L, to = a.end < a.total + W::R ? a.end : a.total + W::R;
    const auto is_whole = [&](int s) {
      const int e = at + s * W::WIDTH;
      return s < count && e >= from && e + V <= to;
    };
    const auto fetch = [&](int q) {
#pragma unroll
      for (int u = 0; u < B; u++)
        if (is_whole(q + u))
          raw[u].fetch(in + static_cast<int64_t>((at + (q + u) * W::WIDTH) / UM * UI) *
                                static_cast<int>(sizeof(T)));
    };
    const auto put = [&](int q, int phase) {
#pragma unroll
      for (int u = 0; u < B; u++) {
        float *room = &row[phase][u][t * VP];
        if (is_whole(q + u)) {
          float x[IN], v[V];
          raw[u].values(x);
          pre.run(x, v, noted);
          fc_window_keep(room, v);
        } else if (q + u < count) {
          put_ends(a, in, room, at + (q + u) * W::WIDTH, pre, noted);
        }
      }
    };

    fetch(0);
    int phase = 0;
#pragma unroll 1
    for (int q = 0; q < count; q += B, phase ^= 1) {
      put(q, phase);
      if (q + B < count) fetch(q + B);
      __syncthreads();
#pragma unroll UNROLL
      for (int u = 0; u < B; u++) {
        if (q + u >= count) continue;
        float sum[1][V], v[V], o[OUT];
#pragma unroll
        for (int i = 0; i < V; i++) sum[0][i] = 0;
        W::add(op, &row[phase][u][window * VP], sum, v);
        const int e = at + (q + u) * W::WIDTH, left = mine ? a.total - e : 0;
        if constexpr (Post::NOTES) {
          if (left <= 0) continue;
          fc_window_fill<UM>(v, left);
        }
        post.run(v, o, noted);
        if (left > 0)
          fc_window_store<U, KU, Post::QUIET, ALIGNED, V, UM>(
              out + static_cast<int64_t>(e / UM * UO) * static_cast<int>(sizeof(U)), o, left, noted);
      }
    }
    noted.tell(a.notes);
  }
};

#endif

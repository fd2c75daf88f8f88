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
// SORTED: there the channels of a slice lie apart, so that a thread's outputs are consecutive ones of a
// single channel, which share most of their window; they go back through shared memory to be interleaved.
// Otherwise a thread's window is STEP times as long.
//
// window.cuh describes the layout of a slice in shared memory, and the order of sums.
#ifndef FC_FILTERS_GPU_ROW_CUH
#define FC_FILTERS_GPU_ROW_CUH

#include "filters/gpu/window.cuh"

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          int V, int B, int THREADS, int UNROLL, bool SORTED, typename Pre, typename Op, typename Post>
struct fc_row {
  // The layout of a slice, or of one channel of it.
  static constexpr int PARTS = SORTED ? STEP : 1, SEGMENTS = THREADS / PARTS;
  using W = fc_window<Op, SORTED ? 1 : UI, SORTED ? 1 : UM, SORTED ? 1 : UO, STEP / PARTS, V, SEGMENTS>;
  static constexpr int IN = V / UM * UI, OUT = V / UM * UO, VP = W::VP, EACH = V / PARTS;
  static constexpr int L = W::L * PARTS, R = W::R * PARTS, PL = W::PL * PARTS, PR = W::PR * PARTS,
                       WIDTH = W::WIDTH * PARTS; // in elements
  static_assert(!SORTED || EACH == 4, "four positions a thread");

  // Where element i of thread t lies; SORTED: EACH consecutive ones of its channel.
  static FC_DEVICE int place(int t, int i) {
    const int position = t * EACH + i / PARTS;
    return SORTED ? i % PARTS * (SEGMENTS * VP) + position / V * VP + position % V : t * VP + i;
  }

  static FC_DEVICE void keep(float *row, int t, const float (&v)[V]) {
    if constexpr (SORTED)
#pragma unroll
      for (int c = 0; c < PARTS; c++)
        *reinterpret_cast<float4 *>(row + place(t, c)) =
            make_float4(v[c], v[PARTS + c], v[2 * PARTS + c], v[3 * PARTS + c]);
    else
      fc_window_keep(row + t * VP, v);
  }

  // A thread's sums. SORTED: they replace the inputs in shared memory, by channel, and come back by position.
  static FC_DEVICE void sums(const Op &op, float *row, int t, float (&v)[V]) {
    const int segment = t % SEGMENTS, first = t / SEGMENTS * (SEGMENTS * VP);
    const bool mine = segment >= W::PL / V && segment < SEGMENTS - W::PR / V;
    float sum[1][V];
#pragma unroll
    for (int i = 0; i < V; i++) sum[0][i] = 0;
    W::add(op, row + first + (mine ? segment - W::PL / V : 0) * VP, sum, v);
    if constexpr (!SORTED) return;
    __syncthreads();
    fc_window_keep(row + first + segment * VP, v);
    __syncthreads();
#pragma unroll
    for (int c = 0; c < PARTS; c++) {
      const float4 f = *reinterpret_cast<const float4 *>(row + place(t, c));
      v[c] = f.x, v[PARTS + c] = f.y, v[2 * PARTS + c] = f.z, v[3 * PARTS + c] = f.w;
    }
  }

  // A thread's elements from position `at` on if not all of them are in the signal: pixel by pixel.
  static FC_DEVICE void put_ends(const fc_window_args &a, const char *in, float *row, int t, int at,
                                 const Pre &pre, fc_dev_noted &noted) {
#pragma unroll 1
    for (int i = 0; i < V; i += UM) {
      if (at + i < -L || at + i >= a.total * STEP + R) continue;    // used by no window, and may not exist
      const int e = at + i + a.begin * STEP, far = e + STEP * 4096; // positive for any window
      const int source = fc_dev_border_source(BORDER, far / STEP - 4096, a.extent);
      float x[UI], v[UM];
      if (source >= 0) {
        const T *samples = reinterpret_cast<const T *>(in) +
                           static_cast<int64_t>(((source - a.begin) * STEP + far % STEP) / UM) * UI;
#pragma unroll
        for (int c = 0; c < UI; c++)
          x[c] = fc_dev_value<float, T>(samples[c], fc_map_scaling<float, T, KT>());
        pre.run(x, v, noted);
      }
#pragma unroll
      for (int c = 0; c < UM; c++) row[place(t, i + c)] = source < 0 ? a.constant : v[c];
    }
  }

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &op, const Post &post) {
    constexpr int WO = OUT * sizeof(U) / 4;
    constexpr int ROOM = fc_window_room<WO> * (THREADS / 32);
    constexpr bool TOGETHER =
        WO > 4 && WO % 4 == 0 && (ALIGNED || sizeof(U) == 4) && 2 * B * THREADS * VP + ROOM <= (48 << 10) / 4;
    __shared__ __align__(16) float row[2][B][THREADS * VP];
    __shared__ __align__(16) uint32_t rooms[TOGETHER ? ROOM : 4];
    const int t = threadIdx.x;
    const int first = static_cast<int>(blockIdx.x) * a.each; // of the block
    const int rest = a.count - first, count = rest < a.each ? rest : a.each, total = a.total * STEP;
    const fc_window_line line = fc_window_line_of(a, blockIdx.z, 0);
    const int at = first * WIDTH - PL + t * V; // of this thread's vector in the first slice
    const bool mine = t >= PL / V && t < THREADS - PR / V;
    fc_dev_noted noted = {false, false};
    fc_window_load<T, KT, IN, ALIGNED> raw[B];

    const int begin = a.begin * STEP, end = (a.extent - a.begin) * STEP; // of the signal, in elements
    const int from = begin < L ? -begin : -L, to = end < total + R ? end : total + R;
    const auto is_whole = [&](int s) {
      const int e = at + s * WIDTH;
      return s < count && e >= from && e + V <= to;
    };
    const auto fetch = [&](int q) {
#pragma unroll
      for (int u = 0; u < B; u++)
        if (is_whole(q + u))
          raw[u].fetch(line.in +
                       static_cast<int64_t>((at + (q + u) * WIDTH) / UM * UI) * static_cast<int>(sizeof(T)));
    };
    const auto put = [&](int q, int phase) {
#pragma unroll
      for (int u = 0; u < B; u++) {
        if (is_whole(q + u)) {
          float x[IN], v[V];
          raw[u].values(x);
          pre.run(x, v, noted);
          keep(row[phase][u], t, v);
        } else if (q + u < count) {
          put_ends(a, line.in, row[phase][u], t, at + (q + u) * WIDTH, pre, noted);
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
        float v[V], o[OUT];
        sums(op, row[phase][u], t, v);
        const int e = at + (q + u) * WIDTH, left = mine ? total - e : 0;
        char *to = line.out + static_cast<int64_t>(e / UM * UO) * static_cast<int>(sizeof(U));
        uint32_t word[WO];
        bool all = false;
        if (!Post::NOTES || left > 0) {
          if constexpr (Post::NOTES) fc_window_fill<UM>(v, left);
          post.run(v, o, noted);
          if (left > 0)
            all = fc_window_codes<U, KU, Post::QUIET, V, UM, Post::NEAR>(word, to, o, left, noted);
        }
        if constexpr (TOGETHER) {
          const int ends = (total - e + t * V) / V; // threads whose outputs are all in the signal
          fc_window_store_together<U, ALIGNED>(to, word, {PL / V, min(THREADS - PR / V, ends) - 1},
                                               rooms + t / 32 * fc_window_room<WO>);
        } else if (all) {
          fc_window_store_words<U, ALIGNED>(to, word);
        }
      }
    }
    noted.tell(a.notes);
  }
};

#endif

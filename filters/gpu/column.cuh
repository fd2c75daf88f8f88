// SPDX-License-Identifier: MIT
//
// column.cuh - the skeleton of kernels composed at run time for windows of one column and more rows than
// march.cuh keeps sums of in registers: sums of products, with what is done to each sample or pixel before
// and after them, and the border made on the way.
//
// A block is a warp with 128 adjacent elements, four a lane, and goes down a segment of rows, R at a time. A
// ring in shared memory has what the functions before the window made of the last ROWS rows; a lane reads
// only what it has written, so there are no barriers. R outputs below each other share all rows but R - 1:
// each is read once and added to all their sums, which are in registers:
//
//     in --load--> Pre --> ring [GROUPS][R][32 * V] --> sums of R x V --> Post --store--> out
//
// window.cuh describes the order of sums.
#ifndef FC_FILTERS_GPU_COLUMN_CUH
#define FC_FILTERS_GPU_COLUMN_CUH

#include "filters/gpu/window.cuh"

// BEGINS, OUT_BEGINS: vectors of the inputs, and of the outputs, begin at multiples of 16 bytes, or of their
// length where that is less; or of 8 bytes.
template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, int BEGINS,
          int OUT_BEGINS, typename Pre, typename Op, typename Post>
struct fc_column {
  static constexpr int V = 4, R = 8, LANES = 32, NY = Op::NY, IN = V / UM * UI, OUT = V / UM * UO;
  static constexpr int GROUPS = (NY - 1 + 2 * R - 1) / R, ROWS = GROUPS * R; // at least NY - 1 + R
  static constexpr int WORDS = OUT * static_cast<int>(sizeof(U)) / 4;
  static constexpr bool CONSTANT = BORDER == FC_BORDER_ZERO || BORDER == FC_BORDER_CONSTANT;
  using vector = fc_window_load<T, KT, IN, true, (BEGINS == 8 ? 2 : 4)>;
  static_assert(Op::NX == 1 && V % UM == 0 && BEGINS > 1 && OUT_BEGINS > 1,
                "one column, whole pixels, vectors that are moved whole");

  // The sums of R outputs; the ring's oldest rows, from which the first one's window begins, are in group
  // `oldest`.
  static FC_DEVICE void add(const Op &op, const float (&ring)[GROUPS][R][LANES * V], int oldest,
                            float (&sum)[R][V]) {
    const int lane = threadIdx.x;
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
      for (int i = 0; i < V; i++) sum[r][i] = 0;
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      const int group = oldest + g < GROUPS ? oldest + g : oldest + g - GROUPS;
      const float *from = ring[group][0] + lane * V;
#pragma unroll
      for (int u = 0; u < R; u++) {
        const int j = g * R + u;
        if (j >= NY - 1 + R) continue;
        const float4 row = *reinterpret_cast<const float4 *>(from + u * (LANES * V));
        const float v[V] = {row.x, row.y, row.z, row.w};
#pragma unroll
        for (int r = 0; r < R; r++) {
          const int k = j - r; // of the taps
          if (k < 0 || k >= NY) continue;
#pragma unroll
          for (int i = 0; i < V; i++) sum[r][i] = fmaf(op.m[k][0], v[i], sum[r][i]);
        }
      }
    }
  }

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &op, const Post &post) {
    __shared__ __align__(16) float ring[GROUPS][R][LANES * V];
    const int lane = threadIdx.x;
    const int from = static_cast<int>(blockIdx.y) * a.each; // of the block's outputs
    const int rest = a.total - from, count = rest < a.each ? rest : a.each, need = count + NY - 1;
    const fc_window_line line = fc_window_line_of(a, static_cast<int>(blockIdx.z), 0);
    const int e = (static_cast<int>(blockIdx.x) * LANES + lane) * V; // this lane's elements
    const int left = a.across - e < V ? a.across - e : V;            // V, fewer, or none
    const int top = a.begin + from - NY / 2; // the first row that is looked at, of the signal
    const char *in = line.in + static_cast<int64_t>(e / UM * UI) * static_cast<int>(sizeof(T));
    char *to = line.out + from * a.out_row + static_cast<int64_t>(e / UM * UO) * static_cast<int>(sizeof(U));
    fc_dev_noted noted = {false, false};
    vector raw[R];
    const auto source = [&](int q) {
      return q < need ? fc_dev_border_source(BORDER, top + q, a.extent) : -1;
    };
    const auto row = [&](int from_row) { return in + (from_row - a.begin) * a.in_row; };

    // R rows from q on; returns which of them are of the signal.
    const auto fetch = [&](int q) {
      const int y = top + q;
      if (y >= 0 && y + R <= a.extent && q + R <= need) {
        const char *begin = row(y);
#pragma unroll
        for (int u = 0; u < R; u++, begin += a.in_row)
          if (left == V) raw[u].fetch(begin);
        return (1u << R) - 1;
      }
      // Rows beyond the signal, and none: a lane finds each row's source.
      const int mine = source(q + lane % R);
      uint32_t there = 0;
#pragma unroll
      for (int u = 0; u < R; u++) {
        const int from_row = __shfl_sync(0xffffffffu, mine, u);
        if (from_row < 0) continue;
        there |= 1u << u;
        if (left == V) raw[u].fetch(row(from_row));
      }
      return there;
    };
    const auto put = [&](int q, int group, uint32_t there) {
#pragma unroll
      for (int u = 0; u < R; u++) {
        float x[IN], v[V];
#pragma unroll
        for (int i = 0; i < V; i++) v[i] = CONSTANT ? a.constant : 0;
        if (left == V && (there >> u & 1)) {
          raw[u].values(x, fc_window_scaling<T, KT>(pre));
          fc_window_run(pre, x, v, noted);
        }
        fc_window_keep(ring[group][u] + lane * V, v);
      }
      if (left <= 0 || left == V) return;
#pragma unroll 1
      for (int u = 0; u < R; u++) { // the row's last pixels, one by one
        if (!(there >> u & 1)) continue;
        const T *samples = reinterpret_cast<const T *>(row(source(q + u)));
#pragma unroll 1
        for (int p = 0; p < left / UM; p++) {
          float x[UI], v[UM];
#pragma unroll
          for (int c = 0; c < UI; c++)
            x[c] = fc_dev_value<float, T>(samples[p * UI + c], fc_map_scaling<float, T, KT>());
          pre.run(x, v, noted);
#pragma unroll
          for (int c = 0; c < UM; c++) ring[group][u][lane * V + p * UM + c] = v[c];
        }
      }
    };

    uint32_t there = fetch(0);
    int group = 0;
#pragma unroll 1
    for (int q = 0; q + R - ROWS < count; q += R) {
      put(q, group, there);
      there = fetch(q + R);
      group = group + 1 < GROUPS ? group + 1 : 0;
      const int first = q + R - ROWS; // output whose window begins with the oldest row
      if (first < 0) continue;
      float sum[R][V];
      add(op, ring, group, sum);
#pragma unroll
      for (int r = 0; r < R; r++, to += a.out_row) {
        float out[OUT];
        uint32_t word[WORDS];
        if (first + r >= count || left <= 0) continue;
        if constexpr (Post::NOTES) fc_window_fill<UM>(sum[r], left);
        post.run(sum[r], out, noted);
        if (!fc_window_codes<U, KU, Post::QUIET, V, UM, Post::NEAR>(word, to, out, left, noted)) continue;
        if (OUT_BEGINS == 8)
          fc_window_store_halves(to, word);
        else
          fc_map_store_words(to, word);
      }
    }
    noted.tell(a.notes);
  }
};

#endif

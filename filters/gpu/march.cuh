// SPDX-License-Identifier: MIT
//
// march.cuh - the skeleton of kernels composed at run time for windows of rows and columns: sums of products,
// with what is done to each sample or pixel before and after them, and the border made on the way.
//
// A block marches down a band of WIDTH elements. Rows of the input are loaded B at a time into registers,
// where the functions before the window run once per sample, and stored to shared memory, double-buffered; a
// thread then reads the windows of its V outputs, and adds the row's contributions to the sums of all output
// rows it belongs to, which stay in registers:
//
//     in --load--> Pre --> row[2][B][THREADS * V] --> sums of NY rows x V --> Post --store--> out
//
// Of narrow images a block has several, side by side: THREADS of them, a cell, to each.
//
// window.cuh describes the layout of a row in shared memory.
#ifndef FC_FILTERS_GPU_MARCH_CUH
#define FC_FILTERS_GPU_MARCH_CUH

#include "filters/gpu/window.cuh"

// BEGINS, OUT_BEGINS: vectors of the inputs, and of the outputs, begin at multiples of 16 bytes, or of their
// length where that is less; of 8 bytes; or anywhere (1).
template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, int BEGINS,
          int OUT_BEGINS, int V, int B, int ALL_THREADS, int THREADS, bool LENDS, int UNROLL, typename Pre,
          typename Op, typename Post>
struct fc_march {
  using W = fc_window<Op, UI, UM, UO, STEP, V, THREADS>;
  static constexpr int NY = Op::NY, IN = W::IN, OUT = W::OUT, L = W::L, R = W::R, PL = W::PL, PR = W::PR,
                       VP = W::VP;
  // Vectors that windows see beside the outputs'. Threads at the ends of a block load them, and have no
  // outputs; or (LENDS) all have outputs, and the first HALO of them load a second vector each.
  static constexpr int SEEN = (PL + PR) / V, HALO = LENDS ? SEEN : 0, SLOTS = HALO ? 2 : 1,
                       ROW = (THREADS + HALO) * VP, WIDTH = W::WIDTH + HALO * V,
                       FIRST = HALO ? 0 : PL / V; // the first thread with outputs
  static constexpr int CELLS = ALL_THREADS / THREADS;
  static_assert(HALO <= THREADS && ALL_THREADS % THREADS == 0 && (CELLS == 1 || 32 % THREADS == 0),
                "two vectors a thread, whole cells");
  using X = fc_window_across<T, KT, IN>;
  // Whether lanes exchange parts of vectors; floats go word by word (325 x 325, 17 + 14 taps: 127 us for
  // 155).
  static constexpr bool ACROSS = BEGINS == 1 && sizeof(T) < 4, OUT_ACROSS = OUT_BEGINS == 1 && sizeof(U) < 4;
  // Whether outputs are stored through shared memory.
  static constexpr int WORDS = OUT * static_cast<int>(sizeof(U)) / 4;
  static constexpr bool WIDE = CELLS == 1 && fc_window_is_wide(4 * WORDS, sizeof(U));
  using vector = fc_window_load<T, KT, IN, (BEGINS > 1), (BEGINS == 8 ? 2 : 4)>;
  // Elements that are read behind a vector.
  static constexpr int BEHIND = !ACROSS ? 0 : (V * X::G + X::W - 1) / X::W;
  // Units (samples, or pixels) at the ends of a row, which are loaded one by one, and a thread's share of a
  // batch.
  static constexpr int MOST = (L + R + V + BEHIND) / UM, EACH = (MOST * B + THREADS - 1) / THREADS;
  static constexpr bool CONSTANT = BORDER == FC_BORDER_ZERO || BORDER == FC_BORDER_CONSTANT;
  static_assert((B & (B - 1)) == 0 && B <= 32, "a lane finds a row");

  // A vector that a thread loads of each row. `loads`: it is in the signal; `whole`: so is what is read
  // behind it, and it is used (else its elements are loaded one by one); `last`: no lane behind loads what
  // follows.
  struct slot {
    bool loads, whole, last;
  };
  static FC_DEVICE slot slot_of(const fc_window_args &a, int s, int e, bool exists) {
    const int t = thread();
    const bool some = exists && (s == 0 || t < HALO), whole = some && e >= 0 && e + V + BEHIND <= a.across;
    return {some && e >= 0 && e + V <= a.across, whole,
            whole && (t % 32 == 31 || t == THREADS - 1 || (s > 0 && t == HALO - 1) || e + 2 * V > a.across)};
  }

  // This thread's number in its cell.
  static FC_DEVICE int thread() { return static_cast<int>(threadIdx.x) % THREADS; }

  struct unit {
    int row;  // in the batch; B: none
    int from; // the sample where its source begins, or -1: the constant
    int to;   // place in shared memory
    T code[UI];
  };

  static FC_DEVICE int source_row(const fc_window_args &a, int y) {
    return fc_dev_border_source(BORDER, y, a.extent);
  }

  // The source of unit k of this thread: units left of the signal, then those after the last whole vector.
  static FC_DEVICE void place(const fc_window_args &a, int k, int first, int whole, unit &u) {
    const int i = thread() + k * THREADS, j = i % MOST;
    const int left = first == 0 ? L / UM : 0, right = max(whole, first - PL);
    const int end = a.across + R < first + WIDTH + R ? a.across + R : first + WIDTH + R;
    const int count = left + (end > right ? (end - right) / UM : 0);
    const int e = j < left ? j * UM - L : right + (j - left) * UM;
    // pixel and channel of the element; the sum is positive for any window
    const int x = e + STEP * 4096, c = x % STEP,
              source = fc_dev_border_source(BORDER, x / STEP - 4096, a.across / STEP);
    u.row = i < MOST * B && j < count ? i / MOST : B;
    u.from = source < 0 ? -1 : (source * STEP + c) / UM * UI;
    u.to = (e - first + PL) / V * VP + (e - first + PL) % V;
  }

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &op, const Post &post) {
    __shared__ __align__(16) float rows[2][B][CELLS * ROW];
    __shared__ __align__(16) uint32_t room[WIDE ? THREADS / 32 : 1][WIDE ? fc_window_room<WORDS> : 4];
    const int t = thread(), cell = static_cast<int>(threadIdx.x) / THREADS,
              plane = static_cast<int>(blockIdx.z) * CELLS + cell;
    const bool exists = CELLS == 1 || plane < a.count;
    const int first = static_cast<int>(blockIdx.x) * WIDTH;
    const int from = static_cast<int>(blockIdx.y) * a.each; // of the block's outputs
    const int rest = a.total - from, count = rest < a.each ? rest : a.each, need = count + NY - 1;
    const fc_window_line line = fc_window_line_of(a, plane, 0);
    const int top = a.begin + from - NY / 2; // the first row that is looked at, of the signal
    const char *batch = line.in + (from - NY / 2) * a.in_row; // where it begins, or would
    const int e = first - PL + t * V;                         // this thread's elements of input
    const int o = first + (t - FIRST) * V;                    // and of output
    slot slots[SLOTS];
#pragma unroll
    for (int s = 0; s < SLOTS; s++) slots[s] = slot_of(a, s, e + s * (THREADS * V), exists);
    const bool mine = exists && (HALO || (t >= FIRST && t < THREADS - PR / V));
    const int left = mine ? a.across - o : 0; // number of its outputs: V, fewer, or 0
    char *to = line.out + from * a.out_row + static_cast<int64_t>(o / UM * UO) * static_cast<int>(sizeof(U));
    const int64_t at = static_cast<int64_t>(e / UM * UI) * static_cast<int>(sizeof(T));
    const int window = mine ? t - FIRST : 0;
    const bool works = __any_sync(0xffffffffu, left > 0); // the warp has outputs
    fc_dev_noted noted = {false, false};
    typename fc_window_kept<Op, V, ALL_THREADS>::type sum;
    fc_window_kept<Op, V, ALL_THREADS>::begin(sum);
    typename fc_either<ACROSS, X, vector>::type raw[B][SLOTS];
    unit units[EACH];
    const int end = (a.across - BEHIND) / V * V; // of the last whole vector
    const bool at_end = first == 0 || first + WIDTH + R > end;
    const int ends = FIRST + min(WIDTH / V, (a.across - first) / V); // threads
    const int begins = cell * THREADS, lane = begins + t;            // the cell's threads
    const fc_window_lanes lanes = {max(begins + FIRST, lane & ~31),
                                   exists ? min(begins + ends - 1, lane | 31) : -1};
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      place(a, k, first, end, units[k]);
      if (!exists) units[k].row = B;
    }
    const auto row = [&](int phase, int u) -> float * { return rows[phase][u] + cell * ROW; };

    const auto fetch_row = [&](int u, const char *begin) {
#pragma unroll
      for (int s = 0; s < SLOTS; s++) {
        const char *vector = begin + at + s * (THREADS * IN * static_cast<int>(sizeof(T)));
        if (!slots[s].loads) continue;
        if constexpr (ACROSS)
          raw[u][s].fetch(vector, slots[s].last);
        else
          raw[u][s].fetch(vector);
      }
    };
    const auto fetch_unit = [&](unit &u, const char *begin) {
      if (CONSTANT && u.from < 0) return;
      const T *samples = reinterpret_cast<const T *>(begin) + u.from;
#pragma unroll
      for (int c = 0; c < UI; c++) u.code[c] = samples[c];
    };

    // The batch from row q on, which begins at `batch`.
    const auto fetch = [&](int q) {
      const int y = top + q;
      if (y >= 0 && y + B <= a.extent && q + B <= need) {
        const char *begin = batch;
#pragma unroll
        for (int u = 0; u < B; u++, begin += a.in_row) fetch_row(u, begin);
        if (!at_end) return;
#pragma unroll
        for (int k = 0; k < EACH; k++)
          if (units[k].row < B) fetch_unit(units[k], batch + units[k].row * a.in_row);
        return;
      }
      // Rows beyond the signal, and none: a lane finds each row's source.
      const int i = static_cast<int>(threadIdx.x) % B, source = q + i < need ? source_row(a, y + i) : -1;
#pragma unroll
      for (int u = 0; u < B; u++) {
        const int from_row = __shfl_sync(0xffffffffu, source, u);
        if (from_row >= 0) fetch_row(u, batch + (from_row - y) * a.in_row);
      }
      if (!at_end) return;
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int u = units[k].row, from_row = __shfl_sync(0xffffffffu, source, u);
        if (u < B && from_row >= 0) fetch_unit(units[k], batch + (from_row - y) * a.in_row);
      }
    };

    // For the batch from row q on. The values of rows that have not been loaded are not used, and nothing is
    // noted of them.
    const auto tell = [&](const fc_dev_noted &here, bool is_loaded) {
      if (!Pre::NOTES) return;
      noted.nan |= here.nan & is_loaded, noted.clipped |= here.clipped & is_loaded;
    };
    const auto put = [&](int q, int phase) {
#pragma unroll
      for (int s = 0; s < SLOTS; s++) {
        if (CELLS == 1 && s > 0 && (t & ~31) >= HALO) continue;
        if constexpr (ACROSS)
#pragma unroll
          for (int u = 0; u < B; u++) raw[u][s].join(slots[s].last);
        if (!slots[s].whole) continue;
#pragma unroll
        for (int u = 0; u < B; u++) {
          float x[IN], v[V];
          fc_dev_noted here = {false, false};
          const bool beyond = CONSTANT && (top + q + u < 0 || top + q + u >= a.extent);
          raw[u][s].values(x, fc_window_scaling<T, KT>(pre));
          fc_window_run(pre, x, v, here);
          tell(here, !beyond && q + u < need);
          if (beyond)
#pragma unroll
            for (int i = 0; i < V; i++) v[i] = a.constant;
          fc_window_keep(row(phase, u) + (t + s * THREADS) * VP, v);
        }
      }
      if (!at_end) return;
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        if (units[k].row >= B) continue;
        float x[UI], v[UM];
#pragma unroll
        for (int c = 0; c < UI; c++)
          x[c] = fc_dev_value<float, T>(units[k].code[c], fc_map_scaling<float, T, KT>());
        fc_dev_noted here = {false, false};
        const int y = top + q + units[k].row;
        const bool beyond = CONSTANT && (units[k].from < 0 || y < 0 || y >= a.extent);
        pre.run(x, v, here);
        tell(here, !beyond && q + units[k].row < need);
#pragma unroll
        for (int c = 0; c < UM; c++) row(phase, units[k].row)[units[k].to + c] = beyond ? a.constant : v[c];
      }
    };

    fetch(0);
    int phase = 0;
#pragma unroll 1
    for (int q = 0; q < need; q += B, phase ^= 1) {
      put(q, phase);
      batch += B * a.in_row;
      if (q + B < need) fetch(q + B);
      __syncthreads();
      if (!works) continue;
#pragma unroll UNROLL
      for (int u = 0; u < B; u++) {
        float v[V], out[OUT];
        W::add(op, row(phase, u) + window * VP, sum, v);
        const int y = q + u - (NY - 1);
        if (y < 0 || y >= count) continue;
        uint32_t word[WORDS];
        bool all = false;
        if (!Post::NOTES || left > 0) {
          if constexpr (Post::NOTES) fc_window_fill<UM>(v, left);
          post.run(v, out, noted);
          if (left > 0)
            all = fc_window_codes<U, KU, Post::QUIET, V, UM, Post::NEAR>(word, to, out, left, noted);
        }
        if constexpr (OUT_ACROSS)
          fc_window_store_across<U>(to, word, lanes);
        else if constexpr (WIDE)
          fc_window_store_wide<OUT_BEGINS == 16>(to, word, lanes, room[WIDE ? t / 32 : 0]);
        else if (all && OUT_BEGINS == 8)
          fc_window_store_halves(to, word);
        else if (all)
          fc_window_store_words<U, (OUT_BEGINS > 1)>(to, word);
        to += a.out_row;
      }
    }
    noted.tell(a.notes);
  }
};

#endif

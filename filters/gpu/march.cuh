// SPDX-License-Identifier: MIT
//
// march.cuh - the skeleton of kernels composed at run time for windows of rows and columns: sums of products,
// with what is done to each sample or pixel before and after them, and the border made on the way.
//
// A block marches down a band of WIDTH elements. Rows of the input are loaded B at a time into registers,
// where the functions before the window run once per sample, and stored to shared memory, double-buffered; a
// thread then reads the windows of its V outputs, and adds the row's contributions to the sums of all output
// rows it belongs to, which stay in registers. (COPIES: rows that a window sees as they are go into shared
// memory by asynchronous copies, and take no registers on their way.)
//
//     in --load--> Pre --> row[2][B][THREADS * V] --> sums of NY rows x V --> Post --store--> out
//
// Of narrow images a block has several pieces of so many rows, side by side: THREADS of them, a cell, to
// each.
//
// window.cuh describes the layout of a row in shared memory.
#ifndef FC_FILTERS_GPU_MARCH_CUH
#define FC_FILTERS_GPU_MARCH_CUH

#include "filters/gpu/copy_async.cuh"
#include "filters/gpu/window.cuh"

// The element of a row, of STEP interleaved channels, that element e is, or the border makes it; -1: it is
// the constant.
template <int BORDER, int STEP> FC_DEVICE int fc_march_source(const fc_window_args &a, int e) {
  const int x = e + STEP * 4096, c = x % STEP, // positive for any window
      source = fc_dev_border_source(BORDER, x / STEP - 4096, a.across / STEP);
  return source < 0 ? -1 : source * STEP + c;
}

// What a loader has to know of a row: where it is in shared memory, whether it lies beyond the signal, where
// it may be constant, and whether it is loaded at all.
struct fc_march_row {
  float *to;
  bool beyond, loaded;
};
// Where it begins in memory, if it is to be loaded.
struct fc_march_begin {
  const char *at;
  bool loads;
};

// Values x through Pre. Nothing is noted of them if the row is not loaded, or if they become the constant, as
// those of a row beyond the signal do, and those `beside` it. VECTOR: fc_window_scaling made x.
template <bool CONSTANT, bool VECTOR, typename Pre, int N, int M>
FC_DEVICE void fc_march_run(const fc_window_args &a, const Pre &pre, const float (&x)[N], float (&v)[M],
                            const fc_march_row &row, bool beside, fc_dev_noted &noted) {
  fc_dev_noted here = {false, false};
  if constexpr (VECTOR)
    fc_window_run(pre, x, v, here);
  else
    pre.run(x, v, here);
  const bool constant = CONSTANT && (row.beyond || beside);
  if (Pre::NOTES)
    noted.nan |= here.nan & row.loaded & !constant, noted.clipped |= here.clipped & row.loaded & !constant;
  if (constant)
#pragma unroll
    for (int i = 0; i < M; i++) v[i] = a.constant;
}

// Loads rows of a block by vectors of V elements, one a thread, or (LENDS) a second one by the first HALO
// threads. What is not in a vector that lies in the signal, at the ends of rows, is loaded pixel by pixel.
// BEGINS: as of fc_march. Of bytes that begin anywhere lanes exchange parts of vectors; floats go word by
// word (325 x 325, 17 + 14 taps: 127 us for 155). COPIES: aligned floats that are kept as they are go into
// shared memory directly, and take no registers.
template <typename T, int KT, int UI, int STEP, int BORDER, int BEGINS, int B, int THREADS, bool LENDS,
          bool COPIES_, typename Pre, typename W>
struct fc_march_vectors {
  static constexpr int V = W::V, UM = W::UM, IN = W::IN, L = W::L, R = W::R, PL = W::PL, VP = W::VP;
  static constexpr int HALO = LENDS ? (PL + W::PR) / V : 0, SLOTS = HALO ? 2 : 1, WIDTH = W::WIDTH + HALO * V;
  using X = fc_window_across<T, KT, IN>;
  static constexpr bool ACROSS = BEGINS == 1 && sizeof(T) < 4, COPIES = COPIES_;
  static_assert(!COPIES || (sizeof(T) == 4 && BEGINS == 16 && IN == V && !Pre::NOTES), "floats as they are");
  static constexpr int BEHIND = ACROSS ? (V * X::G + X::W - 1) / X::W : 0; // elements, read behind a vector
  static constexpr bool CONSTANT = BORDER == FC_BORDER_ZERO || BORDER == FC_BORDER_CONSTANT;
  // Pixels at the ends of a row, and a thread's share of those of a batch.
  static constexpr int MOST = (L + R + V + BEHIND) / UM, EACH = (MOST * B + THREADS - 1) / THREADS;
  static_assert(HALO <= THREADS && (B & (B - 1)) == 0 && B <= 32, "two vectors a thread; a lane finds a row");

  struct unit {
    int row;  // in the batch; B: none
    int from; // the sample where its source begins, or -1: the constant
    int to;   // place in shared memory
    T code[UI];
  };
  // A vector of each row. `loads`: it is in the signal; `whole`: so is what is read behind it, and it is used
  // (else its elements are loaded one by one); `last`: no lane behind loads what follows.
  struct slot {
    bool loads, whole, last;
  };
  typename fc_either<ACROSS, X, fc_window_load<T, KT, IN, (BEGINS > 1), (BEGINS == 8 ? 2 : 4)>>::type
      raw[B][SLOTS];
  slot slots[SLOTS];
  unit units[EACH];
  bool at_end;
  int64_t at; // in bytes, of this thread's vector

  // Unit i of a batch: in each row those left of the signal, then those after the last whole vector.
  static FC_DEVICE void place(const fc_window_args &a, int i, int first, int whole, unit &u) {
    const int j = i % MOST, left = first == 0 ? L / UM : 0, right = max(whole, first - PL);
    const int end = a.across + R < first + WIDTH + R ? a.across + R : first + WIDTH + R;
    const int count = left + (end > right ? (end - right) / UM : 0);
    const int e = j < left ? j * UM - L : right + (j - left) * UM;
    u.row = i < MOST * B && j < count ? i / MOST : B;
    const int source = fc_march_source<BORDER, STEP>(a, e);
    u.from = source < 0 ? -1 : source / UM * UI;
    u.to = (e - first + PL) / V * VP + (e - first + PL) % V;
  }

  // Of a band that begins with element `first`; thread t of those of an image, if there is one.
  FC_DEVICE void begin(const fc_window_args &a, int first, int t, bool exists) {
    const int e = first - PL + t * V, end = (a.across - BEHIND) / V * V; // of the last whole vector
    at = static_cast<int64_t>(e / UM * UI) * static_cast<int>(sizeof(T));
    at_end = first == 0 || first + WIDTH + R > end;
#pragma unroll
    for (int s = 0; s < SLOTS; s++) {
      const int from = e + s * (THREADS * V);
      const bool some = exists && (s == 0 || t < HALO) && from >= 0,
                 whole = some && from + V + BEHIND <= a.across;
      slots[s] = {
          some && from + V <= a.across, whole,
          whole && (t % 32 == 31 || t == THREADS - 1 || (s > 0 && t == HALO - 1) || from + 2 * V > a.across)};
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      place(a, t + k * THREADS, first, end, units[k]);
      if (!exists) units[k].row = B;
    }
  }

  // V floats of a row. Past the first-level cache only where no two warps read from the same 32 bytes: 15 x
  // 15 551 us that way, 19 x 19 625, and through it 566.
  static FC_DEVICE void copy(float *to, const char *from) {
#pragma unroll
    for (int i = 0; i < V; i += 4)
      if (PL % 8 == 0)
        fc_copy_words(to + i, from + 4 * i);
      else
        fc_copy_word<16>(to + i, from + 4 * i);
  }

  // A batch, of whose rows row(u) tells; for all lanes. COPIES: into(u) is where it goes.
  template <class Row, class Into> FC_DEVICE void fetch(Row row, Into into, int t) {
#pragma unroll
    for (int u = 0; u < B; u++) {
      const fc_march_begin begin = row(u);
      if (!begin.loads) continue;
#pragma unroll
      for (int s = 0; s < SLOTS; s++) {
        const char *vector = begin.at + at + s * (THREADS * IN * static_cast<int>(sizeof(T)));
        if (!slots[s].loads) continue;
        if constexpr (COPIES)
          copy(into(u) + (t + s * THREADS) * VP, vector);
        else if constexpr (ACROSS)
          raw[u][s].fetch(vector, slots[s].last);
        else
          raw[u][s].fetch(vector);
      }
    }
    if (COPIES) fc_commit_copies();
    if (!at_end) return;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const fc_march_begin begin = row(units[k].row);
      if (units[k].row >= B || !begin.loads || (CONSTANT && units[k].from < 0)) continue;
#pragma unroll
      for (int c = 0; c < UI; c++)
        units[k].code[c] = reinterpret_cast<const T *>(begin.at)[units[k].from + c];
    }
  }

  // What has been loaded, through Pre, into the rows in shared memory of which of(u) tells.
  template <class Of>
  FC_DEVICE void put(const fc_window_args &a, int t, const Pre &pre, Of of, fc_dev_noted &noted) {
    if (COPIES) fc_await_copies();
#pragma unroll
    for (int s = 0; s < SLOTS; s++) {
      if (THREADS >= 32 && s > 0 && (t & ~31) >= HALO) continue;
      if constexpr (ACROSS)
#pragma unroll
        for (int u = 0; u < B; u++) raw[u][s].join(slots[s].last);
      if (!slots[s].whole) continue;
#pragma unroll
      for (int u = 0; u < B; u++) {
        const fc_march_row row = of(u);
        if (COPIES && !(CONSTANT && row.beyond)) continue;
        float x[IN], v[V];
        raw[u][s].values(x, fc_window_scaling<T, KT>(pre));
        fc_march_run<CONSTANT, true>(a, pre, x, v, row, false, noted);
        fc_window_keep(row.to + (t + s * THREADS) * VP, v);
      }
    }
    if (!at_end) return;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      if (units[k].row >= B) continue;
      const fc_march_row row = of(units[k].row);
      float x[UI], v[UM];
#pragma unroll
      for (int c = 0; c < UI; c++)
        x[c] = fc_dev_value<float, T>(units[k].code[c], fc_map_scaling<float, T, KT>());
      fc_march_run<CONSTANT, false>(a, pre, x, v, row, units[k].from < 0, noted);
#pragma unroll
      for (int c = 0; c < UM; c++) row.to[units[k].to + c] = v[c];
    }
  }
};

// Bytes from the first to element e of a row whose pixels, of STEP elements, are `pixel` bytes apart.
template <typename T, int STEP> FC_DEVICE int64_t fc_march_apart(int e, int64_t pixel) {
  return e / STEP * pixel + e % STEP * static_cast<int>(sizeof(T));
}

// The same sample by sample, of rows that begin anywhere: a thread's are THREADS apart, so that those of a
// warp lie side by side, and the ends of rows are not special. APART: of one row whose pixels are a.in_row
// apart.
template <typename T, int KT, int UI, int STEP, int BORDER, bool APART, int B, int THREADS, typename Pre,
          typename W>
struct fc_march_units {
  static constexpr int V = W::V, L = W::L, R = W::R, PL = W::PL, VP = W::VP, WIDTH = THREADS * V;
  static constexpr bool CONSTANT = BORDER == FC_BORDER_ZERO || BORDER == FC_BORDER_CONSTANT;
  static constexpr int EACH = (WIDTH + L + R + THREADS - 1) / THREADS;
  static constexpr bool COPIES = false;
  static_assert(UI == 1 && W::UM == 1, "samples by themselves");
  int count, from[EACH]; // its samples, and the sources of these, or -1: the constant
  int64_t pixel;
  T code[B][EACH];

  static FC_DEVICE int place(int i) { return i / V * VP + i % V; }

  FC_DEVICE void begin(const fc_window_args &a, int first, int t, bool exists) {
    const int all = min(a.across, first + WIDTH) + R - first + L;
    count = exists && t < all ? (all - t + THREADS - 1) / THREADS : 0, pixel = a.in_row;
#pragma unroll
    for (int k = 0; k < EACH; k++) from[k] = fc_march_source<BORDER, STEP>(a, first - L + t + k * THREADS);
  }

  template <class Row, class Into> FC_DEVICE void fetch(Row row, Into, int) {
#pragma unroll
    for (int u = 0; u < B; u++) {
      const fc_march_begin begin = row(u);
      if (!begin.loads) continue;
#pragma unroll
      for (int k = 0; k < EACH; k++)
        if (k < count && !(CONSTANT && from[k] < 0))
          code[u][k] = APART
                           ? *reinterpret_cast<const T *>(begin.at + fc_march_apart<T, STEP>(from[k], pixel))
                           : reinterpret_cast<const T *>(begin.at)[from[k]];
    }
  }

  template <class Of>
  FC_DEVICE void put(const fc_window_args &a, int t, const Pre &pre, Of of, fc_dev_noted &noted) {
    const int to = t + PL - L, at = place(to);
#pragma unroll
    for (int u = 0; u < B; u++) {
      const fc_march_row row = of(u);
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        if (k >= count) continue;
        float x[1] = {fc_dev_value<float, T>(code[u][k], fc_map_scaling<float, T, KT>())}, v[1];
        fc_march_run<CONSTANT, false>(a, pre, x, v, row, from[k] < 0, noted);
        // an element as far on in its vector, or another
        row.to[THREADS % V == 0 ? at + k * (THREADS / V * VP) : place(to + k * THREADS)] = v[0];
      }
    }
  }
};

// Whether some windows of a batch may be cut at the signal's ends.
template <bool CUT> struct fc_march_cut { static constexpr bool value = CUT; };

// BEGINS, OUT_BEGINS: vectors of the inputs, and of the outputs, begin at multiples of 16 bytes, or of their
// length where that is less; of 8 bytes; or anywhere (1). 0, both, of one column that is taken as a row
// (few.cuh): pixels are apart.
template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, int BEGINS,
          int OUT_BEGINS, int V, int B, int ALL_THREADS, int THREADS, bool LENDS, bool COPIES, int UNROLL,
          typename Pre, typename Op, typename Post>
struct fc_march {
  using W = fc_window<Op, UI, UM, UO, STEP, V, THREADS>;
  static constexpr int CELLS = ALL_THREADS / THREADS;
  // As is_by_units of core/compose/vectors.c.
  static constexpr bool APART = BEGINS == 0,
                        UNITS = APART || (BEGINS == 1 && UI == 1 && UM == 1 &&
                                          (sizeof(T) == 2 || (sizeof(T) == 1 && CELLS > 1)));
  using loader = typename fc_either<
      UNITS, fc_march_units<T, KT, UI, STEP, BORDER, APART, B, THREADS, Pre, W>,
      fc_march_vectors<T, KT, UI, STEP, BORDER, BEGINS, B, THREADS, LENDS, COPIES, Pre, W>>::type;
  // Whether all threads have outputs; else those at the ends of a block have none.
  static constexpr bool ALL = LENDS || UNITS;
  static constexpr int NY = Op::NY, OUT = W::OUT, PL = W::PL, PR = W::PR, VP = W::VP, WIDTH = loader::WIDTH,
                       ROW = (WIDTH + PL + PR) / V * VP, FIRST = ALL ? 0 : PL / V; // thread with outputs
  static_assert(ALL_THREADS % THREADS == 0 && (CELLS == 1 || (32 % THREADS == 0 && THREADS >= B)),
                "whole cells, of a lane a row");
  // Whether outputs are stored through shared memory.
  static constexpr int WORDS = OUT * static_cast<int>(sizeof(U)) / 4;
  static constexpr bool TOGETHER =
                            (OUT_BEGINS == 1 && sizeof(U) < 4) || fc_window_is_wide(4 * WORDS, sizeof(U)),
                        ROOM = APART || (TOGETHER && (THREADS < 32 || !fc_window_exchanges<U, WORDS>));
  typedef uint32_t room[ROOM ? ALL_THREADS / 32 : 1][ROOM ? fc_window_room<WORDS> : 4];
  // For few.cuh.
  static constexpr int ROWS = B, COUNT = ALL_THREADS, ENDS = BORDER, DISTANCE = STEP;
  typedef Pre ahead;
  typedef Op window;
  typedef Post behind;

  // Where a thread's outputs are: in a row of them, in bytes; its first element; how many of these are in the
  // signal, V, fewer or 0; its window in shared memory; and the threads of its row that have outputs.
  struct place {
    int64_t at;
    int first, left, window;
    fc_window_lanes lanes;
  };
  static FC_DEVICE place place_of(const fc_window_args &a, int first, int t, bool exists) {
    const int o = first + (t - FIRST) * V;
    const bool mine = exists && (ALL || (t >= FIRST && t < THREADS - PR / V));
    const int ends = FIRST + min(WIDTH / V, (a.across - first) / V), // threads
        begins = static_cast<int>(threadIdx.x) - t;                  // the cell's threads
    return {static_cast<int64_t>(o / UM * UO) * static_cast<int>(sizeof(U)),
            o,
            mine ? a.across - o : 0,
            mine ? t - FIRST : 0,
            {begins + FIRST, exists ? begins + ends - 1 : -1}};
  }

  // Outputs of a row whose pixels are `pixel` bytes apart, through Post, for all lanes: `some` of a thread's
  // elements, from `at` on, are in the signal. `to` is the first of the row. They are stored side by side.
  static FC_DEVICE void give_apart(char *to, int at, int64_t pixel, float (&v)[V], int some, const Post &post,
                                   room &all_room, fc_dev_noted &noted) {
    static_assert(OUT == V, "samples by themselves");
    constexpr int EACH = fc_window_stride<WORDS> * 4 / static_cast<int>(sizeof(U));
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float out[OUT];
    uint32_t word[WORDS];
    if (some > 0) {
      fc_window_fill<UM>(v, some);
      post.run(v, out, noted);
      fc_map_codes<float, U, KU, Post::QUIET, Post::NEAR>(word, out, noted);
    }
    uint32_t *words = all_room[threadIdx.x / 32];
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[lane * fc_window_stride<WORDS> + i] = word[i];
    __syncwarp();
    const int count =
        __shfl_sync(0xffffffffu, some, 0); // elements from lane 0 on; may be more than the warp's
#pragma unroll
    for (int i = 0; i < OUT; i++) {
      const int k = i * 32 + lane;
      if (k < count)
        *reinterpret_cast<U *>(to + fc_march_apart<U, STEP>(at - lane * OUT + k, pixel)) =
            reinterpret_cast<const U *>(words)[k / OUT * EACH + k % OUT];
    }
  }

  // The same where pixels are adjacent; `to`: the thread's outputs.
  static FC_DEVICE void give(char *to, float (&v)[V], int some, const Post &post,
                             const fc_window_lanes &lanes, room &all_room, fc_dev_noted &noted) {
    float out[OUT];
    // Undefined words would be kept from row to row, by moves that wait for what has been loaded ahead: bytes
    // in odd rows by 5 taps down took 207 us for 134.
    uint32_t word[WORDS] = {};
    bool all = false;
    if (!Post::NOTES || some > 0) {
      if constexpr (Post::NOTES) fc_window_fill<UM>(v, some);
      post.run(v, out, noted);
      if (some > 0) all = fc_window_codes<U, KU, Post::QUIET, V, UM, Post::NEAR>(word, to, out, some, noted);
    }
    if constexpr (TOGETHER)
      fc_window_store_together<U, OUT_BEGINS == 16, THREADS % 32 ? THREADS : 32>(
          to, word, lanes, all_room[ROOM ? threadIdx.x / 32 : 0]);
    else if (all && OUT_BEGINS == 8)
      fc_window_store_halves(to, word);
    else if (all)
      fc_window_store_words<U, (OUT_BEGINS > 1)>(to, word);
  }

  // A part of an image: from an element of a row, and a row on, a.each rows.
  struct piece {
    int plane, first, row;
  };
  static FC_DEVICE piece piece_of(const fc_window_args &a, int cell) {
    const int x = static_cast<int>(blockIdx.x);
    if constexpr (CELLS == 1) {
      return {static_cast<int>(blockIdx.z), x * WIDTH, static_cast<int>(blockIdx.y) * a.each};
    } else {
      const int pieces = (a.total + a.each - 1) / a.each, i = x * CELLS + cell;
      return {i / pieces, 0, i % pieces * a.each};
    }
  }

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &op, const Post &post) {
    __shared__ __align__(16) float rows[2][B][CELLS * ROW];
    __shared__ __align__(16) room all_room;
    const int t = static_cast<int>(threadIdx.x) % THREADS, cell = static_cast<int>(threadIdx.x) / THREADS;
    const piece p = piece_of(a, cell);
    const int plane = p.plane, first = p.first, from = p.row; // of the outputs
    const bool exists = CELLS == 1 || plane < a.count;
    const int rest = a.total - from, count = rest < a.each ? rest : a.each;
    // Rows of outputs, and of inputs, of the block's longest piece.
    const int most = CELLS == 1 ? count : a.each, need = most + NY - 1;
    const fc_window_line line = fc_window_line_of(a, plane, 0);
    const int top = a.begin + from - NY / 2; // the first row that is looked at, of the signal
    const char *batch = line.in + (from - NY / 2) * a.in_row; // where it begins, or would
    const place mine = place_of(a, first, t, exists);
    char *to = line.out + from * a.out_row + mine.at;
    const bool works = __any_sync(0xffffffffu, mine.left > 0); // the warp has outputs
    // No window of the thread is cut at the ends of a row.
    const bool whole = mine.first >= W::L && mine.first + V + W::R <= a.across;
    fc_dev_noted noted = {false, false};
    typename fc_window_kept<Op, V, ALL_THREADS>::type sum;
    fc_window_kept<Op, V, ALL_THREADS>::begin(sum);
    loader l;
    l.begin(a, first, t, exists);

    const auto row = [&](int phase, int u) -> float * { return rows[phase][u] + cell * ROW; };
    // The batch from row q on, which begins at `batch`.
    const auto fetch = [&](int q, int phase) {
      const auto into = [&](int u) { return row(phase, u); };
      const int y = top + q;
      const bool inside = y >= 0 && y + B <= a.extent && q + B <= count + NY - 1;
      if (CELLS == 1 ? inside : __all_sync(0xffffffffu, inside))
        return l.fetch([&](int u) -> fc_march_begin { return {batch + u * a.in_row, true}; }, into, t);
      // Rows beyond the signal, and none: a lane finds each row's source.
      const int lane = static_cast<int>(threadIdx.x) % 32, i = lane % B, of_cell = cell * THREADS % 32,
                source = q + i < count + NY - 1 ? fc_dev_border_source(BORDER, y + i, a.extent) : -1;
      l.fetch(
          [&](int u) -> fc_march_begin {
            const int from_row = __shfl_sync(0xffffffffu, source, of_cell + u);
            return {batch + (from_row - y) * a.in_row, from_row >= 0};
          },
          into, t);
    };

    fetch(0, 0);
    int phase = 0;
#pragma unroll 1
    for (int q = 0; q < need; q += B, phase ^= 1) {
      const auto of = [&](int u) -> fc_march_row {
        const int y = top + q + u;
        return {row(phase, u), loader::CONSTANT && (y < 0 || y >= a.extent), q + u < count + NY - 1};
      };
      l.put(a, t, pre, of, noted);
      batch += B * a.in_row;
      if constexpr (!loader::COPIES)
        if (q + B < need) fetch(q + B, phase ^ 1);
      __syncthreads();
      if constexpr (loader::COPIES) // until the barrier other threads read there the batch before
        if (q + B < need) fetch(q + B, phase ^ 1);
      if (!works) continue;
      // The same twice, since the compiler schedules what is in a function by itself otherwise: u8 RGBA by 16
      // + 13 taps 131 us for 127. Cut windows are rare and long: f32 RGB by 15 x 15 169 us unrolled, 146; but
      // of one channel 97, 104.
      if constexpr (fc_window_shrinks<Op>::value) {
        const auto rows_of = [&](auto cut) {
          constexpr bool CUT = decltype(cut)::value;
#pragma unroll CUT && (V > 4 || STEP > 1) ? 1 : UNROLL
          for (int u = 0; u < B; u++) {
            float v[V];
            W::add(op, row(phase, u) + mine.window * VP, sum, v);
            const int y = q + u - (NY - 1);
            if (y < 0 || y >= most) continue;
            if constexpr (CUT)
              op.template finish<STEP>(
                  sum, fc_window_place{mine.first, a.begin + from + y, a.across, a.extent}, v);
            else
              op.template finish<STEP>(sum, fc_window_whole(), v);
            const bool here = CELLS == 1 || y < count; // a piece may be shorter than others of the block
            give(to, v, here ? mine.left : 0, post, {mine.lanes.lo, here ? mine.lanes.hi : -1}, all_room,
                 noted);
            to += a.out_row;
          }
        };
        if (__all_sync(0xffffffffu, whole && top + q >= NY - 1 && top + q + B <= a.extent))
          rows_of(fc_march_cut<false>());
        else
          rows_of(fc_march_cut<true>());
      } else {
#pragma unroll UNROLL
        for (int u = 0; u < B; u++) {
          float v[V];
          W::add(op, row(phase, u) + mine.window * VP, sum, v);
          const int y = q + u - (NY - 1);
          if (y < 0 || y >= most) continue;
          const bool here = CELLS == 1 || y < count; // a piece may be shorter than others of the block
          give(to, v, here ? mine.left : 0, post, {mine.lanes.lo, here ? mine.lanes.hi : -1}, all_room,
               noted);
          to += a.out_row;
        }
      }
    }
    noted.tell(a.notes);
  }
};

#endif

// SPDX-License-Identifier: MIT
//
// series.cuh - the skeleton of kernels composed at run time for several windows, one behind the other: sums
// of products over rows and columns, and extremes along rows, with what is done to each sample or pixel
// before, between and behind them. What is between two windows stays on the chip.
//
// A block goes down a band of WIDTH elements, as march.cuh does, with a ring of rows in shared memory ahead
// of each window. Per turn B rows of the input are loaded; each window takes the rows that are there, adds
// them to sums in registers, and puts B rows at most into the ring of the next one:
//
//     in --load--> Pre --> ring 0 --> sums of NY0 rows --> Mid0 --> ring 1 --> ... --> Post --store--> out
//
// LINE: along long lines, as sound has them, windows have one row. A turn loads B slices of WIDTH elements.
//
// Each window sees the border of what the one ahead of it makes, not what that would make of elements beyond
// the frame: these are copied in shared memory where a band has them, and rows beyond the frame are rows of
// the ring, read out of turn. So a ring holds the rows that a mirror looks back at, and a border that repeats
// the signal (FC_BORDER_WRAP) is not handled.
//
// Cost: elements of the band that windows look at beyond WIDTH are computed twice, as are rows above and
// below those of a block. Sums have the order of window.cuh, so the bits are those of windows one by one.
#ifndef FC_FILTERS_GPU_SERIES_CUH
#define FC_FILTERS_GPU_SERIES_CUH

#include "filters/gpu/statistic.cuh"
#include "filters/gpu/window.cuh"

constexpr int FC_SERIES_WINDOWS = 4;

// Elements are relative to the first output of a row; `in` is element 0 of row 0 of the signal. The frame
// begins `begin` elements before that, and ends `end` after it. The host's copy of the struct is in
// core/compose/compose.h.
struct fc_series_args {
  const char *in;
  char *out;
  int64_t in_row, out_row, in_image, in_plane, out_image, out_plane;
  int32_t begin, end, total;         // total: elements of a row of outputs
  int32_t height;                    // rows of the signal
  int32_t first, count;              // rows of outputs; LINE: 0, and slices
  int32_t rows, planes;              // per block; per image
  float constant[FC_SERIES_WINDOWS]; // the value beyond the ends, as each window sees it
  uint32_t *notes;
};

// The extremes of windows of NX, as a window of window.cuh: of 2, 4, 8, ... elements, then of two that
// overlap.
template <typename Statistic> struct fc_extreme {
  static constexpr int NX = Statistic::NX, NY = 1;
  static constexpr bool LINE = false;

  // m[i]: of BY elements from i on; then of the largest power of 2 that fits into NX.
  template <int BY, int STEP, int ALL> static FC_DEVICE void widen(float (&m)[ALL]) {
    if constexpr (2 * BY <= NX) {
#pragma unroll
      for (int i = 0; i + BY * STEP < ALL; i++) m[i] = Statistic::policy::join(m[i], m[i + BY * STEP]);
      widen<2 * BY, STEP>(m);
    }
  }
  static constexpr int held(int by) {
    return 2 * by <= NX ? held(2 * by) : by;
  }

  template <int STEP, int V, int NW>
  FC_DEVICE void add(const float (&w)[NW], int first, float (&)[1][V], float (&done)[V]) const {
    constexpr int ALL = V + (NX - 1) * STEP, APART = (NX - held(1)) * STEP;
    float m[ALL];
#pragma unroll
    for (int i = 0; i < ALL; i++) m[i] = w[first + i];
    widen<1, STEP>(m);
#pragma unroll
    for (int i = 0; i < V; i++) done[i] = Statistic::policy::join(m[i], m[i + APART]);
  }
};

// A window, the functions behind it, and the border of what it sees.
template <typename OP, int BORDER_, typename MID> struct fc_series_link {
  typedef OP Op;
  typedef MID Mid;
  static constexpr int BORDER = BORDER_, NX = Op::NX, NY = Op::NY;
  static constexpr bool CONSTANT = BORDER == FC_BORDER_ZERO || BORDER == FC_BORDER_CONSTANT;
  const Op &op;
  const Mid &mid;
};

// A range of rows.
struct fc_series_rows {
  int lo, hi;
};

// A band's row in shared memory, V elements a thread, as in window.cuh.
template <int STEP, int V, int THREADS> struct fc_series_row {
  static constexpr int VP = V % 8 == 0 ? V + 4 : V, SIZE = THREADS * VP, WIDTH = THREADS * V;

  static FC_DEVICE int place(int at) { return at / V * VP + at % V; }

  // Whether elements beyond the frame's ends are in the row, which begins with element `from` of `extent`.
  static FC_DEVICE bool has_end(int from, int extent) { return from < 0 || from + WIDTH > extent; }

  // The element that stands for x, beyond the frame's ends by less than its length; -1: the constant.
  template <int BORDER> static FC_DEVICE int source(int x, int extent) {
    constexpr int EDGE = BORDER == FC_BORDER_REFLECT;
    const int far = x + STEP * 4096, c = far % STEP, p = far / STEP - 4096, n = extent / STEP; // far > 0
    const int q = BORDER == FC_BORDER_REPLICATE ? (p < 0 ? 0 : n - 1)
                  : p < 0                       ? -p - EDGE
                                                : 2 * n - 2 + EDGE - p;
    return BORDER == FC_BORDER_ZERO || BORDER == FC_BORDER_CONSTANT ? -1 : q * STEP + c;
  }

  // Makes element i of those that the window looks at beyond the frame's ends.
  template <typename Link>
  static FC_DEVICE void mend(float *row, int i, int from, int extent, float constant) {
    constexpr int L = Link::NX / 2 * STEP;
    const int x = i < L ? i - L : extent + i - L, in = source<Link::BORDER>(x, extent), to = x - from,
              at = in - from;
    if (to < 0 || to >= WIDTH) return;
    if (in < 0)
      row[place(to)] = constant;
    else if (at >= 0 && at < WIDTH)
      row[place(to)] = row[place(at)];
  }
};

template <int UM_, int STEP_, int V_, int B_, int THREADS_> struct fc_series_shape {
  static constexpr int UM = UM_, STEP = STEP_, V = V_, B = B_, THREADS = THREADS_;
  typedef fc_series_row<STEP, V, THREADS> row;
};

// One window and those behind it. K: which of the windows; AT: where its ring begins in shared memory, in
// rows.
template <typename S, int K, int AT, typename Link, typename... Links> struct fc_series_stage {
  typedef typename Link::Op Op;
  typedef typename S::row row;
  static constexpr bool LAST = sizeof...(Links) == 0;
  static constexpr int V = S::V, NY = Op::NY, TOP = NY / 2, LOW = NY - 1 - TOP;
  // Rows of its ring: of a batch that is loaded in the order in which it is used, or of one behind those that
  // a mirror at the top waits for; and one of constants.
  static constexpr int DEPTH = K == 0    ? S::B
                               : NY == 1 ? S::B
                                         : TOP + S::B + 1,
                       CONSTANTS = K > 0 && NY > 1 && Link::CONSTANT ? 1 : 0;
  using W = fc_window<Op, S::UM, S::UM, S::UM, S::STEP, V, S::THREADS>;
  template <typename... Rest> struct behind {
    static constexpr int LEFT = 0, RIGHT = 0, ROWS = 0, BEFORE = 0, AFTER = 0;
    FC_DEVICE fc_series_rows begin(const fc_series_args &, float *, fc_series_rows made) { return made; }
    FC_DEVICE bool done() const { return true; }
  };
  template <typename Next, typename... Rest>
  struct behind<Next, Rest...> : fc_series_stage<S, K + 1, AT + DEPTH + CONSTANTS, Next, Rest...> {};
  typedef behind<Links...> next_type;
  // Elements that this window and those behind it look at beyond their outputs, and these in whole vectors,
  // which the band loses at either end.
  static constexpr int BEFORE = W::L + next_type::BEFORE, AFTER = W::R + next_type::AFTER,
                       LEFT = W::PL + next_type::LEFT, RIGHT = W::PR + next_type::RIGHT,
                       ROWS = DEPTH + CONSTANTS + next_type::ROWS;

  float sum[NY][V];
  int at, end;      // the row that is taken next, and where they end; some are beyond the frame
  int made_from;    // rows above are sums of some rows only
  int fresh, ready; // rows from `fresh` on have come since the last turn; `ready` is the next one
  int head;         // its place in the ring
  next_type rest;

  // Returns which rows of the frame it needs to make rows [lo, hi) of the last window.
  FC_DEVICE fc_series_rows begin(const fc_series_args &a, float *shared, fc_series_rows last) {
    const fc_series_rows made = rest.begin(a, shared, last);
#pragma unroll
    for (int j = 0; j < NY; j++)
#pragma unroll
      for (int i = 0; i < V; i++) sum[j][i] = 0;
    made_from = made.lo, at = made.lo - TOP, end = made.hi + LOW;
    if (CONSTANTS)
      for (int i = threadIdx.x; i < row::SIZE; i += S::THREADS)
        shared[(AT + DEPTH) * row::SIZE + i] = a.constant[K];
    fc_series_rows need = {at, end};
    if (NY > 1) {
      need.lo = max(at, 0), need.hi = min(end, a.height);
      if (at < 0) need.hi = max(need.hi, min(1 - at, a.height)); // what a mirror shows
      if (end > a.height) need.lo = min(need.lo, max(2 * a.height - 1 - end, 0));
    }
    fresh = ready = K == 0 ? at : need.lo, head = 0;
    return need;
  }

  FC_DEVICE bool done() const {
    return at >= end && rest.done();
  }

  // Where row y is in shared memory.
  FC_DEVICE int place(int y) const {
    const int before = head - (ready - y);
    return (AT + (before < 0 ? before + DEPTH : before)) * row::SIZE;
  }

  // Where the row is that stands for row y, or -1: not there yet.
  FC_DEVICE int source(const fc_series_args &a, int y) const {
    if (K > 0 && NY > 1 && (y < 0 || y >= a.height)) y = fc_dev_border_source(Link::BORDER, y, a.height);
    if (CONSTANTS && y < 0) return (AT + DEPTH) * row::SIZE;
    return y < ready ? place(y) : -1;
  }

  // Where the next row goes; it counts as there.
  FC_DEVICE int next() {
    const int to = (AT + head) * row::SIZE;
    ready++, head = head + 1 < DEPTH ? head + 1 : 0;
    return to;
  }

  // A row that is complete goes into the ring of the next window.
  template <typename C, typename Next, typename... More>
  FC_DEVICE void pass(float *shared, const float (&v)[V], const Link &link, fc_dev_noted &noted) {
    float w[V];
    link.mid.run(v, w, noted);
    fc_window_keep(shared + rest.next() + threadIdx.x * row::VP, w);
  }

  // Makes what is beyond the ends of rows that have come.
  template <typename C> FC_DEVICE void mend(const fc_series_args &a, float *shared) {
    constexpr int EACH = (Link::NX - 1) * S::STEP;
    if constexpr (EACH > 0) {
      const int extent = a.begin + a.end;
      bool any = false;
#pragma unroll 1
      for (int y = fresh; y < ready; y++) any |= row::has_end(C::first(y) + a.begin, extent);
      if (any) {
#pragma unroll 1
        for (int i = threadIdx.x; i < (ready - fresh) * EACH; i += S::THREADS) {
          const int y = fresh + i / EACH, from = C::first(y) + a.begin;
          if (row::has_end(from, extent))
            row::template mend<Link>(shared + place(y), i % EACH, from, extent, a.constant[K]);
        }
        __syncthreads();
      }
    }
    fresh = ready;
  }

  // Takes the rows that are there, as far as they make one batch. C: the series.
  template <typename C>
  FC_DEVICE void take(const fc_series_args &a, const C &c, float *shared, fc_dev_noted &noted,
                      const Link &link, const Links &...links) {
    constexpr int FIRST = W::PL / V, MOST = S::THREADS - 1 - (W::PL + W::PR) / V;
    const float *mine = shared + min(max(static_cast<int>(threadIdx.x) - FIRST, 0), MOST) * row::VP;
    mend<C>(a, shared);
    int made = 0;
    const auto finish = [&](float(&v)[V]) {
      const int y = at++ - LOW;
      if (y < made_from) return;
      made++;
      if constexpr (LAST)
        c.give(a, y, v, noted);
      else
        pass<C, Links...>(shared, v, link, noted);
    };
#pragma unroll 1
    while (at < end && made < S::B) {
      const int from = source(a, at);
      if (from < 0) break;
      float v[V];
      W::add(link.op, mine + from, sum, v);
      finish(v);
    }
    if constexpr (!LAST) {
      __syncthreads();
      rest.take(a, c, shared, noted, links...);
    }
  }
};

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, bool ALIGNED,
          bool OUT_ALIGNED, int V, int B, int THREADS, bool LINE, typename Pre, typename Post,
          typename... Links>
struct fc_series {
  static constexpr int IN = V / UM * UI, OUT = V / UM * UO;
  typedef fc_series_shape<UM, STEP, V, B, THREADS> shape;
  typedef typename shape::row row;
  typedef fc_series_stage<shape, 0, 0, Links...> stages;
  static constexpr int WIDTH = THREADS * V - stages::LEFT - stages::RIGHT;
  // Rows that begin anywhere: lanes exchange words, and elements behind a vector are read.
  using across = fc_window_across<T, KT, IN>;
  typedef typename fc_either<ALIGNED, fc_window_load<T, KT, IN, true>, across>::type vector;
  static constexpr int BEHIND = ALIGNED ? 0 : (V * across::G + across::W - 1) / across::W;
  static_assert(WIDTH > 0, "the band is wider than what windows look at beyond it");

  // Whether outputs are stored through shared memory: more than 16 bytes a thread, or in rows that begin
  // anywhere.
  static constexpr int WORDS = OUT * sizeof(U) / 4, ROOM = fc_window_room<WORDS> * (THREADS / 32);
  static constexpr bool TOGETHER = !OUT_ALIGNED || (WORDS > 4 && WORDS % 4 == 0);

  const Pre &pre;
  const Post &post;
  const char *in;
  char *out; // of row a.first
  uint32_t *room;

  // The first element of row y, or slice y, in shared memory, and this thread's.
  static FC_DEVICE int first(int y) {
    return (LINE ? y : static_cast<int>(blockIdx.x)) * WIDTH - stages::LEFT;
  }
  static FC_DEVICE int element(int y) { return first(y) + static_cast<int>(threadIdx.x) * V; }

  // Elements that may be read: the frame, and of lines what windows look at.
  static FC_DEVICE int readable_from(const fc_series_args &a) {
    return LINE ? max(-a.begin, -stages::BEFORE) : 0;
  }
  static FC_DEVICE int readable_to(const fc_series_args &a) {
    return LINE ? min(a.end, a.total + stages::AFTER) : a.end;
  }
  static FC_DEVICE bool can_load(const fc_series_args &a, int e) {
    return e >= readable_from(a) && e + V <= readable_to(a);
  }
  static FC_DEVICE bool is_whole(const fc_series_args &a, int e) {
    return e >= readable_from(a) && e + V + BEHIND <= readable_to(a);
  }
  // Whether the next lane does not load what follows this vector.
  static FC_DEVICE bool is_last(const fc_series_args &a, int e) {
    return is_whole(a, e) && (threadIdx.x % 32 == 31 || e + 2 * V > readable_to(a));
  }
  template <typename Link> static FC_DEVICE int source(const fc_series_args &a, int y) {
    return LINE || (y >= 0 && y < a.height) ? y : fc_dev_border_source(Link::BORDER, y, a.height);
  }
  FC_DEVICE const char *address(const fc_series_args &a, int y, int e) const {
    return in + (LINE ? 0 : y * a.in_row) + static_cast<int64_t>(e / UM * UI) * static_cast<int>(sizeof(T));
  }

  template <typename Link> FC_DEVICE void load(const fc_series_args &a, int y, vector &raw) const {
    const int e = element(y), from = source<Link>(a, y);
    if ((!LINE && from < 0) || !can_load(a, e)) return;
    if constexpr (ALIGNED)
      raw.fetch(address(a, from, e));
    else
      raw.fetch(address(a, from, e), is_last(a, e));
  }

  // Row y of the input, which has been loaded, for the first window.
  template <typename Link>
  FC_DEVICE void put(const fc_series_args &a, float *to, int y, vector &raw, fc_dev_noted &noted) const {
    if constexpr (!ALIGNED) raw.join(is_last(a, element(y)));
    const bool beyond = !LINE && source<Link>(a, y) < 0;
    if (!beyond && !is_whole(a, element(y))) return;
    float x[IN], v[V];
    raw.values(x, fc_window_scaling<T, KT>(pre));
    fc_window_run(pre, x, v, noted);
    if (beyond)
#pragma unroll
      for (int i = 0; i < V; i++) v[i] = a.constant[0];
    fc_window_keep(to + threadIdx.x * row::VP, v);
  }

  // Pixels of vectors of which only some elements can be read: a thread has one of one row of a batch.
  struct unit {
    int row, e; // in the batch, or B: none; its first element
    T code[UI];
  };
  static constexpr int UNITS = ((LINE ? 2 : 1) * V + BEHIND) / UM;
  static_assert(UNITS * B <= THREADS, "a thread each");

  // Whether some of row y, or slice y, is loaded this way.
  static FC_DEVICE bool has_units(const fc_series_args &a, int y) {
    return first(y) < readable_from(a) || first(y) + row::WIDTH + BEHIND > readable_to(a);
  }

  template <typename Link>
  FC_DEVICE void load_unit(const fc_series_args &a, int from, int end, unit &u) const {
    u.row = static_cast<int>(threadIdx.x) / UNITS;
    const int y = from + u.row, j = static_cast<int>(threadIdx.x) % UNITS;
    if (u.row >= B || y >= end || !has_units(a, y)) {
      u.row = B;
      return;
    }
    const int lo = readable_from(a), hi = readable_to(a), at = first(y);
    // the elements that no whole vector has: from `lo` on, as LINE may begin anywhere, and up to `hi`
    const int whole = lo > at ? (lo - at + V - 1) / V * V + at : at, left = lo > at ? (whole - lo) / UM : 0,
              last = max(at + (hi - BEHIND - at) / V * V, whole);
    u.e = j < left ? lo + j * UM : last + (j - left) * UM;
    const int source_row = source<Link>(a, y);
    if (u.e >= hi || u.e >= at + row::WIDTH || (!LINE && source_row < 0)) {
      u.row = B;
      return;
    }
    const T *samples = reinterpret_cast<const T *>(address(a, source_row, u.e));
#pragma unroll
    for (int k = 0; k < UI; k++) u.code[k] = samples[k];
  }

  FC_DEVICE void put_unit(float *to, int y, const unit &u, fc_dev_noted &noted) const {
    float x[UI], v[UM];
#pragma unroll
    for (int k = 0; k < UI; k++) x[k] = fc_dev_value<float, T>(u.code[k], fc_map_scaling<float, T, KT>());
    pre.run(x, v, noted);
#pragma unroll
    for (int k = 0; k < UM; k++) to[row::place(u.e - first(y) + k)] = v[k];
  }

  // Sums of a row of the last window.
  FC_DEVICE void give(const fc_series_args &a, int y, float (&v)[V], fc_dev_noted &noted) const {
    const int t = static_cast<int>(threadIdx.x), e = element(y);
    const int left = t >= stages::LEFT / V && t < THREADS - stages::RIGHT / V ? a.total - e : 0;
    char *to = out + (LINE ? 0 : (y - a.first) * a.out_row) +
               static_cast<int64_t>(e / UM * UO) * static_cast<int>(sizeof(U));
    uint32_t word[WORDS];
    bool all = false;
    if (left > 0) {
      float o[OUT];
      if constexpr (Post::NOTES) fc_window_fill<UM>(v, left);
      post.run(v, o, noted);
      all = left >= V;
      if (all) fc_map_codes<float, U, KU, Post::QUIET, Post::NEAR>(word, o, noted);
#pragma unroll
      for (int i = 0; i < OUT; i++) // at the ends of rows, in fewer registers than as words
        if (!all && i < left / UM * UO)
          reinterpret_cast<U *>(to)[i] =
              fc_map_code<float, U, Post::QUIET>(o[i], fc_map_scaling<float, U, KU>(), noted);
    }
    const int end = min(THREADS - stages::RIGHT / V, (a.total - first(y)) / V) - 1; // last whole vector
    if constexpr (TOGETHER)
      fc_window_store_together<U, OUT_ALIGNED>(to, word, {stages::LEFT / V, end},
                                               room + t / 32 * fc_window_room<WORDS>);
    else if (all)
      fc_map_store_words(to, word);
  }

  template <typename First, typename... Rest>
  static FC_DEVICE void run_from(const fc_series_args &a, const fc_series &c, float *shared,
                                 const First &link, const Rest &...rest) {
    const int from = a.first + static_cast<int>(blockIdx.y) * a.rows, left = a.first + a.count - from;
    fc_dev_noted noted = {false, false};
    vector raw[B];
    unit some;
    stages s;
    s.begin(a, shared, {from, from + min(left, a.rows)});
    const auto fetch = [&] {
#pragma unroll
      for (int u = 0; u < B; u++)
        if (s.ready + u < s.end) c.template load<First>(a, s.ready + u, raw[u]);
      some.row = B;
      if (LINE || has_units(a, 0)) c.template load_unit<First>(a, s.ready, s.end, some);
    };
    fetch();
#pragma unroll 1
    while (!s.done()) {
      const int y = s.ready;
#pragma unroll
      for (int u = 0; u < B; u++)
        if (s.ready < s.end) c.template put<First>(a, shared + s.next(), y + u, raw[u], noted);
      if (some.row < B) c.put_unit(shared + s.place(y + some.row), y + some.row, some, noted);
      fetch();
      __syncthreads();
      s.take(a, c, shared, noted, link, rest...);
    }
    noted.tell(a.notes);
  }

  static FC_DEVICE void run(const fc_series_args &a, const Pre &pre, const Post &post,
                            const Links &...links) {
    __shared__ __align__(16) float shared[stages::ROWS * row::SIZE];
    __shared__ __align__(16) uint32_t room[TOGETHER ? ROOM : 4];
    const int image = static_cast<int>(blockIdx.z) / a.planes,
              plane = static_cast<int>(blockIdx.z) % a.planes;
    const fc_series c = {pre, post, a.in + image * a.in_image + plane * a.in_plane,
                         a.out + image * a.out_image + plane * a.out_plane, room};
    run_from(a, c, shared, links...);
  }
};

#endif

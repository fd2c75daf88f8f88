// SPDX-License-Identifier: MIT
//
// few.cuh - windows over images of H rows, too few to march down (march.cuh, whose parts this is made of):
// most of a window's rows repeat, or are the border's constant. A block loads the rows of its columns once;
// which row of the image each row of a window is, the compiler knows:
//
//     in --load--> Pre --> rows[H][THREADS * V] --> of each row what its window makes of these --> out
//
// An image of one column is taken as one of one row, whose pixels may be apart, with the window turned:
// fc_turned is an operator whose columns are the rows of another's. A separable mask sums along X first: of
// one sample, or of the constant, so that is done once for each sample (TURNS).
#ifndef FC_FILTERS_GPU_FEW_CUH
#define FC_FILTERS_GPU_FEW_CUH

#include "filters/gpu/box.cuh"
#include "filters/gpu/march.cuh"

// Calls f(fc_few_number<I>()) for I from 0 to N - 1.
template <int I> struct fc_few_number { static constexpr int value = I; };
template <int N, int I = 0, class F> FC_DEVICE void fc_few_each(F f) {
  if constexpr (I < N) {
    f(fc_few_number<I>());
    fc_few_each<N, I + 1>(f);
  }
}

// The row of the image that row J of the window of row Y is; H: the constant.
template <int BORDER, int H, int NY, int Y, int J> FC_DEVICE constexpr int fc_few_source() {
  constexpr int source = fc_dev_border_source(BORDER, Y - NY / 2 + J, H);
  return source < 0 ? H : source;
}

// How outputs are made: of<STEP, BORDER, H, V, NW>(op, first, see, place, give) calls see(r, w) for the
// windows of a thread in row r, and give(y, done) for each row of outputs, which lie at place(y). Those that
// sum what they make of each row:
template <class Op> struct fc_few_rows {
  template <int STEP, int BORDER, int H, int V, int NW, class See, class Place, class Give>
  static FC_DEVICE void of(const Op &op, int first, See see, Place place, Give give) {
    float h[H + 1][V];
#pragma unroll
    for (int r = 0; r <= H; r++) {
      float w[NW];
      see(r, w);
      op.template across<STEP>(w, first, h[r]);
    }
    fc_few_each<H>([&](auto y) {
      float done[V], column[V][Op::NY];
      fc_few_each<Op::NY>([&](auto j) {
        constexpr int r = fc_few_source<BORDER, H, Op::NY, decltype(y)::value, decltype(j)::value>();
#pragma unroll
        for (int i = 0; i < V; i++) column[i][j.value] = h[r][i];
      });
#pragma unroll
      for (int i = 0; i < V; i++) done[i] = op.down(column[i]);
      op.template finish<STEP>(place(y.value), done);
      give(y.value, done);
    });
  }
};

// Sums of more than FC_DENSE_RUN taps are made in runs of HIGH rows, as there.
template <int V, int HIGH> struct fc_few_runs {
  float sum[V], runs[V];
  FC_DEVICE fc_few_runs() {
#pragma unroll
    for (int i = 0; i < V; i++) sum[i] = runs[i] = 0;
  }
  FC_DEVICE void begin(int row) {
    if (row == 0 || row % HIGH) return;
#pragma unroll
    for (int i = 0; i < V; i++) runs[i] += sum[i], sum[i] = 0;
  }
  FC_DEVICE void end(int rows) {
#pragma unroll
    for (int i = 0; i < V; i++) sum[i] = rows > HIGH ? runs[i] + sum[i] : sum[i];
  }
};

template <int KX, int KY> struct fc_few_rows<fc_dense<KX, KY>> {
  template <int STEP, int BORDER, int H, int V, int NW, class See, class Place, class Give>
  static FC_DEVICE void of(const fc_dense<KX, KY> &op, int first, See see, Place, Give give) {
    fc_few_each<H>([&](auto y) {
      fc_few_runs<V, fc_dense<KX, KY>::HIGH> all;
      fc_few_each<KY>([&](auto j) {
        float w[NW];
        see(fc_few_source<BORDER, H, KY, decltype(y)::value, decltype(j)::value>(), w);
        all.begin(j.value);
#pragma unroll
        for (int k = 0; k < KX; k++)
#pragma unroll
          for (int i = 0; i < V; i++)
            all.sum[i] = fmaf(op.m[j.value][k], w[first + i + k * STEP], all.sum[i]);
      });
      all.end(KY);
      give(y.value, all.sum);
    });
  }
};

// What windows in each row have in common is found once, and joined, or summed, for each output.
template <int WHICH, int KX, int KY, int DTYPE, int OUT, bool SHRINKS>
struct fc_few_rows<fc_box<WHICH, KX, KY, DTYPE, OUT, SHRINKS>> {
  using Op = fc_box<WHICH, KX, KY, DTYPE, OUT, SHRINKS>;
  template <int STEP, int BORDER, int H, int V, int NW, class See, class Place, class Give>
  static FC_DEVICE void of(const Op &, int first, See see, Place place, Give give) {
    float all[H + 1][V]; // extremes
    uint32_t sum[H + 1][V], squares[H + 1][V];
#pragma unroll
    for (int r = 0; r <= H; r++) {
      float w[NW], h[V];
      see(r, w);
      if constexpr (Op::EXTREME) fc_box_across<KX, STEP>(w, first, all[r], Op::join);
      if constexpr (Op::SUMS) {
        fc_box_across<KX, STEP>(w, first, h, Op::join);
        words_of(h, sum[r]);
      }
      if constexpr (Op::SQUARES) {
#pragma unroll
        for (int i = 0; i < NW; i++) w[i] *= w[i];
        fc_box_across<KX, STEP>(w, first, h, Op::join);
        words_of(h, squares[r]);
      }
    }
    fc_few_each<H>([&](auto y) {
      float done[V];
      uint32_t s[V], q[V];
#pragma unroll
      for (int i = 0; i < V; i++) s[i] = q[i] = 0;
      fc_few_each<KY>([&](auto j) {
        constexpr int r = fc_few_source<BORDER, H, KY, decltype(y)::value, decltype(j)::value>();
#pragma unroll
        for (int i = 0; i < V; i++) {
          if constexpr (Op::EXTREME) done[i] = j.value ? Op::join(done[i], all[r][i]) : all[r][i];
          if constexpr (Op::SUMS) s[i] += sum[r][i];
          if constexpr (Op::SQUARES) q[i] += squares[r][i];
        }
      });
      if constexpr (!Op::EXTREME) Op::template finish<STEP>(place(y.value), s, q, done);
      give(y.value, done);
    });
  }
  template <int V> static FC_DEVICE void words_of(const float (&h)[V], uint32_t (&to)[V]) {
    const fc_box_row<V, false> row = Op::template row_of<V, false>(h);
#pragma unroll
    for (int i = 0; i < V; i++) to[i] = row.word[i];
  }
};

// ---- one column, taken as one row --------------------------------------------------------

// TURNS: each(v, constant) is what is made of a sample first.
template <class Op> struct fc_turned : Op {
  static constexpr int NX = Op::NY, NY = 1;
  static constexpr bool TURNS = true;
  using Op::finish;
  template <int STEP, int V> FC_DEVICE void finish(const fc_window_place &of, float (&v)[V]) const {
    const fc_box_counts<Op::NY, 1, STEP> counts(of);
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = Op::of_count(v[i], counts.at(i));
  }
  template <int BORDER> FC_DEVICE float each(float v, float constant) const {
    float w[Op::NX], h[1];
    fc_few_each<Op::NX>([&](auto k) {
      constexpr int source = fc_few_source<BORDER, 1, Op::NX, 0, decltype(k)::value>();
      w[k.value] = source ? constant : v;
    });
    this->template across<1>(w, 0, h);
    return h[0];
  }
};
template <class Op> struct fc_few_rows<fc_turned<Op>> {
  template <int STEP, int BORDER, int H, int V, int NW, class See, class Place, class Give>
  static FC_DEVICE void of(const fc_turned<Op> &op, int first, See see, Place place, Give give) {
    float w[NW], done[V];
    see(0, w);
    op.template along<STEP>(w, first, done);
    op.template finish<STEP>(place(0), done);
    give(0, done);
  }
};

template <int KX, int KY> struct fc_turned<fc_dense<KX, KY>> : fc_dense<KX, KY> {
  static constexpr int NX = KY, NY = 1;
  static constexpr bool TURNS = false;
};
template <int KX, int KY> struct fc_few_rows<fc_turned<fc_dense<KX, KY>>> {
  template <int STEP, int BORDER, int H, int V, int NW, class See, class Place, class Give>
  static FC_DEVICE void of(const fc_dense<KX, KY> &op, int first, See see, Place, Give give) {
    float w[NW], constant[NW];
    see(0, w), see(1, constant);
    fc_few_runs<V, fc_dense<KX, KY>::HIGH> all;
    fc_few_each<KY>([&](auto j) {
      all.begin(j.value);
      fc_few_each<KX>([&](auto k) {
        constexpr int source = fc_few_source<BORDER, 1, KX, 0, decltype(k)::value>();
#pragma unroll
        for (int i = 0; i < V; i++) {
          const int at = first + i + j.value * STEP;
          all.sum[i] = fmaf(op.m[j.value][k.value], source ? constant[at] : w[at], all.sum[i]);
        }
      });
    });
    all.end(KY);
    give(0, all.sum);
  }
};

// Statistics are exact in any order.
template <int WHICH, int KX, int KY, int DTYPE, int OUT, bool SHRINKS>
struct fc_turned<fc_box<WHICH, KX, KY, DTYPE, OUT, SHRINKS>> : fc_box<WHICH, KY, KX, DTYPE, OUT, SHRINKS> {
  static constexpr bool TURNS = false;
};
template <int WHICH, int KX, int KY, int DTYPE, int OUT, bool SHRINKS>
struct fc_few_rows<fc_turned<fc_box<WHICH, KX, KY, DTYPE, OUT, SHRINKS>>>
    : fc_few_rows<fc_box<WHICH, KY, KX, DTYPE, OUT, SHRINKS>> {};

template <class Op> struct fc_window_shrinks<fc_turned<Op>> : fc_window_shrinks<Op> {};

// ---- the kernel --------------------------------------------------------------------------

template <class Op> struct fc_few_turns { static constexpr bool value = false; };
template <class Op> struct fc_few_turns<fc_turned<Op>> {
  static constexpr bool value = fc_turned<Op>::TURNS;
};

// M: the fc_march of the same arguments, of whose batches as many are loaded as hold H rows.
template <int H, class M> struct fc_few : M {
  static constexpr int B = M::ROWS, V = M::W::V, ALL_ROWS = (H + B - 1) / B * B;
  using W = typename M::W;
  static_assert(H == 1 || !M::APART, "stored through a room that nothing else waits for");

  using Op = typename M::window;

  static FC_DEVICE void run(const fc_window_args &a, const typename M::ahead &pre, const Op &op,
                            const typename M::behind &post) {
    __shared__ __align__(16) float rows[ALL_ROWS][M::ROW];
    __shared__ __align__(16) typename M::room room;
    const int t = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * M::WIDTH;
    const fc_window_line line = fc_window_line_of(a, static_cast<int>(blockIdx.z), 0);
    const typename M::place p = M::place_of(a, first, t, true);
    fc_dev_noted noted = {false, false};
    typename M::loader l;
    l.begin(a, first, t, true);
#pragma unroll
    for (int q = 0; q < ALL_ROWS; q += B) {
      l.fetch(
          [&](int u) -> fc_march_begin {
            return {line.in + (q + u) * a.in_row, q + u < H};
          },
          [&](int u) { return rows[q + u]; }, t);
      l.put(
          a, t, pre,
          [&](int u) -> fc_march_row {
            return {rows[q + u], false, q + u < H};
          },
          noted);
    }
    __syncthreads();
    float constant = a.constant;
    if constexpr (fc_few_turns<Op>::value) {
      for (int i = t; i < M::ROW; i += M::COUNT) rows[0][i] = op.template each<M::ENDS>(rows[0][i], constant);
      __syncthreads();
    }
    if (__any_sync(0xffffffffu, p.left > 0)) {
      const auto see = [&](int r, float(&w)[W::NW]) {
#pragma unroll
        for (int i = 0; i < W::NW; i += 4)
          if (r < H)
            W::read(w, i, rows[r] + p.window * W::VP);
          else
            w[i] = w[i + 1] = w[i + 2] = w[i + 3] = constant;
      };
      const auto place = [&](int y) {
        if constexpr (fc_window_shrinks<Op>::value)
          return fc_window_place{p.first, y, a.across, H};
        else
          return fc_window_whole();
      };
      fc_few_rows<Op>::template of<M::DISTANCE, M::ENDS, H, V, W::NW>(
          op, W::FIRST, see, place, [&](int y, float(&v)[V]) {
            if constexpr (M::APART)
              M::give_apart(line.out, p.first, a.out_row, v, p.left, post, room, noted);
            else
              M::give(line.out + y * a.out_row + p.at, v, p.left, post, p.lanes, room, noted);
          });
    }
    noted.tell(a.notes);
  }
};

#endif

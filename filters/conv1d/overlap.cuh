// SPDX-License-Identifier: MIT
//
// overlap.cuh - the skeleton of kernels composed at run time for long masks along lines, by transforms: the
// convolution of conv1d_overlap.h with what is done to each sample or pixel before and after it, and the
// border made on the way.
//
// A group of threads takes a block of outputs at a time: it loads the block's inputs into registers, where
// the functions before run, transforms them there, multiplies them by the mask's spectrum, transforms back,
// and stores through the functions after.
//
//     in --load--> Pre --> x[E] --forward--> * spectrum --back--> x[E] --> Post --store--> out
//
// Blocks lie as in the precompiled kernels (overlap.cu), and the arithmetic is the same (overlap_save.cuh),
// so bits are those of the stages run one by one. Where one transform does not take all channels of a
// position, a group makes several in turn, and keeps what waits in shared memory, which is for exchanges
// otherwise; or, where there is no room for that, they are different jobs, and functions of samples alone.
#ifndef FC_FILTERS_OVERLAP_CUH
#define FC_FILTERS_OVERLAP_CUH

#include "filters/fourier/gpu/overlap_save.cuh"
#include "filters/gpu/prefilter.cuh"

// fc_function_transforms of device_function.h: LENGTH complex values a transform, of TOGETHER channels.
template <int LENGTH, int TOGETHER_> struct fc_transforms {
  static constexpr int TOGETHER = TOGETHER_;
  typedef fc_overlap_of<LENGTH> config;
  static constexpr int kept(int turns_) { // bytes of a group
    return (turns_ - 1) * LENGTH * static_cast<int>(sizeof(fc_complex<float>));
  }
  static constexpr bool is(int threads_, int groups_, int turns_, int bytes) {
    return config::threads == threads_ && config::groups == groups_ &&
           config::bytes + config::groups * kept(turns_) == bytes;
  }
  const float *mask;
  const fc_complex<float> *tables;
  int32_t taps, before, hop, lead, mask_step, groups, threads, resident, shared, room;
};

FC_DEVICE unsigned char *fc_shared_memory(void) {
#ifdef __CUDA_ARCH__
  extern __shared__ __align__(16) unsigned char memory[];
#else
  alignas(16) static unsigned char memory[256 << 10];
#endif
  return memory;
}

// SURE: what comes out of the window is known to be finite, and not large.
template <typename Post> constexpr bool fc_is_none = false;
template <> constexpr bool fc_is_none<fc_none> = true;
template <> constexpr bool fc_is_none<fc_none_near> = true;
template <> constexpr bool fc_is_none<fc_none_quiet> = true;

// Keeps the compiler from making what follows from i in advance, and from keeping it in registers that
// transforms need.
FC_DEVICE void fc_overlap_forget(int &i) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(i));
#endif
}

// Adjacent samples, moved as one.
template <typename T, int N> struct alignas(N * sizeof(T)) fc_overlap_some { T v[N]; };

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          bool SURE, typename Pre, typename Op, typename Post>
struct fc_overlap {
  typedef typename Op::config config;
  typedef typename config::S S;
  static constexpr int TOGETHER = Op::TOGETHER, N = S::N, THREADS = S::threads;
  typedef fc_prefilter<Pre> prefilter;
  static constexpr bool LINES = TOGETHER == 1; // re and im are N positions apart in a line, else two channels
  static constexpr int INPUTS = LINES ? 2 * N : N;
  // Of a position: channels that a job has, of all; transforms that it makes of them in turn, and jobs that
  // share it. Its samples as they are loaded and stored, of all.
  static constexpr bool WHOLE = UM == STEP;
  static constexpr int WIDE = WHOLE ? STEP : TOGETHER, TURNS = WIDE / TOGETHER, JOBS = STEP / WIDE;
  static constexpr int IN = WHOLE ? UI : TOGETHER, OUT = WHOLE ? UO : TOGETHER;
  static constexpr int ALL_IN = WHOLE ? UI : STEP, ALL_OUT = WHOLE ? UO : STEP;
  // Samples of a position that are moved as one.
  static constexpr int some_of(int all) { return !ALIGNED || all % 2 ? 1 : all % 4 ? 2 : 4; }
  static constexpr int SOME_IN = some_of(IN), SOME_OUT = some_of(OUT);
  // Positions beyond a line for which there is room where values are exchanged: as many as a window has, or
  // somewhat more than a mask, which suffices where its window lies around its output
  // (core/compose/overlap.c).
  static constexpr int ROOM = config::exchange / static_cast<int>(sizeof(float)) / TOGETHER;
  static_assert(WHOLE || (UI == 1 && UM == 1 && UO == 1), "samples by themselves, or positions");
  static_assert(ROOM >= INPUTS || (config::halves && ROOM >= INPUTS / 2 + prefilter::TAPS), "room");

  // A block: samples at position 0, the position of its first output, and its first mask.
  struct job {
    const char *in;
    char *out;
    int first, mask;
  };

  // The last ones first: the ends of a line take long, and at the end would keep the device waiting.
  static FC_DEVICE int turned(const fc_window_args &a, int i) {
    return i < JOBS ? a.each - JOBS + i : i - JOBS;
  }

  static FC_DEVICE job job_of(const fc_window_args &a, const Op &op, int i) {
    const int channel = i % JOBS * WIDE;
    i /= JOBS;
    int mask = channel;
    fc_window_line at = {a.in, a.out};
    if (a.each != a.count * JOBS) { // several lines
      const int line = i / a.count, plane = line / a.across;
      at = fc_window_line_of(a, plane, line - plane * a.across);
      i -= line * a.count, mask += plane % a.planes;
    }
    return {at.in + channel * static_cast<int>(sizeof(T)), at.out + channel * static_cast<int>(sizeof(U)),
            i * op.hop + a.first, mask};
  }

  // ---- loads ----

  // The samples of a position inside the signal.
  static FC_DEVICE void read(const char *in, int position, float (&x)[IN]) {
    constexpr fc_dev_map<float> map = fc_map_scaling<float, T, KT>();
    const char *from = in + static_cast<int64_t>(position) * (ALL_IN * static_cast<int>(sizeof(T)));
#pragma unroll
    for (int first = 0; first < IN; first += SOME_IN) {
      float v[SOME_IN];
      if constexpr (SOME_IN * sizeof(T) % 4 == 0 && SOME_IN > 1) {
        struct alignas(SOME_IN * sizeof(T)) {
          uint32_t word[SOME_IN * sizeof(T) / 4];
        } some;
        some = reinterpret_cast<const decltype(some) *>(from)[first / SOME_IN];
        fc_map_values<float, T, KT>(v, some.word, map);
      } else {
        const auto some = reinterpret_cast<const fc_overlap_some<T, SOME_IN> *>(from)[first / SOME_IN];
#pragma unroll
        for (int c = 0; c < SOME_IN; c++) v[c] = fc_code_value<T>(some.v[c], map);
      }
#pragma unroll
      for (int c = 0; c < SOME_IN; c++) x[first + c] = v[c];
    }
  }

  // What is convolved of a position inside the signal, as are those that a prefilter looks at.
  static FC_DEVICE void take(const char *in, int position, const Pre &pre, float (&v)[WIDE],
                             fc_dev_noted &noted) {
    float x[prefilter::TAPS * IN];
#pragma unroll
    for (int k = 0; k < prefilter::TAPS; k++) {
      float one[IN];
      read(in, position + k - prefilter::BEFORE, one);
#pragma unroll
      for (int c = 0; c < IN; c++) x[k * IN + c] = one[c];
    }
    fc_prefiltered<1>(pre, x, v, noted);
  }

  // The same, or the border's.
  static FC_DEVICE void look(const fc_window_args &a, const job &j, int position, const Pre &pre,
                             float (&v)[WIDE], fc_dev_noted &noted) {
    const int source = fc_dev_border_source(BORDER, position + a.begin, a.extent);
#pragma unroll
    for (int c = 0; c < WIDE; c++) v[c] = a.constant;
    if (source >= 0)
      fc_prefiltered_at<IN>(a, source, pre, v, noted, [&](int at, float(&x)[IN]) { read(j.in, at, x); });
  }

  // What a group has of all its transforms but one, by position: in a turn each thread has its own, as in
  // registers.
  template <typename C> static FC_DEVICE C *kept_of(C *kept, int turn) {
    return kept + turn * N;
  }

  // A window: from position `at` on, of which [lead, count) is wanted, and of that [lo, hi) inside the
  // signal; the rest is 0.
  struct span {
    int at, lead, count, lo, hi;
    // The number of what is wanted and not inside.
    FC_DEVICE int beyond() const { return lo - lead + count - hi; }
    FC_DEVICE int position(int q) const { return lead + q < lo ? lead + q : hi + q - (lo - lead); }
    FC_DEVICE int number(int i) const { return i < lo ? i - lead : lo - lead + i - hi; }
  };

  // The samples of a window: x, of the first transform, and what is kept of the others. FULL: all that is
  // wanted is inside; then what is not wanted is read all the same, from a place that is wanted by others, so
  // that no load is behind a branch. Else what is beyond has been put into `row` and what is kept.
  template <bool FULL>
  static FC_DEVICE void load(fc_complex<float> *x, fc_complex<float> *kept, const char *in, const span &w,
                             int t, const float *row, const Pre &pre, fc_dev_noted &noted) {
    // Element `first` of the thread; whether it is beyond.
    const auto get = [&](int first, float(&v)[WIDE]) {
      const bool sure = FULL && first > 0 && first + THREADS <= INPUTS - FC_OVERLAP_UNIT;
      const int i = first + t;
      const bool wanted = sure || (i >= w.lo && i < w.hi);
      if (FULL) {
        take(in, w.at + (wanted ? i : w.lo), pre, v, noted);
#pragma unroll
        for (int c = 0; c < WIDE; c++) v[c] = wanted ? v[c] : 0;
        return false;
      }
      const bool beyond = !wanted && i >= w.lead && i < w.count;
#pragma unroll
      for (int c = 0; c < WIDE; c++) v[c] = beyond && c < TOGETHER ? row[w.number(i) + c * ROOM] : 0;
      if (wanted) take(in, w.at + i, pre, v, noted);
      return beyond;
    };
#pragma unroll
    for (int e = 0; e < S::E; e++) {
      float v[WIDE], u[WIDE] = {0};
      const int k = S::index(1, 0, e);
      const bool beyond = get(k, v), beyond_im = LINES && get(k + N, u);
      x[e] = {v[0], LINES ? u[0] : v[TOGETHER - 1]};
#pragma unroll
      for (int turn = 1; turn < TURNS; turn++) {
        fc_complex<float> &to = kept_of(kept, turn - 1)[t + k];
        if (!beyond) to.re = v[turn * TOGETHER];
        if (!(LINES ? beyond_im : beyond)) to.im = LINES ? u[turn] : v[turn * TOGETHER + TOGETHER - 1];
      }
    }
  }

  // What is beyond the signal.
  static FC_DEVICE void put_beyond(const fc_window_args &a, const job &j, fc_complex<float> *kept,
                                   const span &w, int t, float *row, const Pre &pre, fc_dev_noted &noted) {
    fc_group_barrier<THREADS>(); // all have read what was there before
#pragma unroll 1
    for (int q = t; q < w.beyond(); q += THREADS) {
      const int i = w.position(q);
      float v[WIDE];
      look(a, j, w.at + i, pre, v, noted);
#pragma unroll
      for (int c = 0; c < WIDE; c++) {
        if (c < TOGETHER) {
          row[q + c * ROOM] = v[c];
          continue;
        }
        fc_complex<float> &to = kept_of(kept, c / TOGETHER - 1)[LINES && i >= N ? i - N : i];
        (LINES ? i >= N : c % TOGETHER > 0) ? to.im = v[c] : to.re = v[c];
      }
    }
    fc_group_barrier<THREADS>();
  }

  // Prefetches the inputs of block i, if inside the signal, into the second-level cache.
  static FC_DEVICE void await(const fc_window_args &a, const Op &op, int i) {
#if __CUDA_ARCH__ >= 900
    if (i >= a.each) return;
    const job j = job_of(a, op, turned(a, i));
    const int from = max(j.first - op.before, -a.begin),
              to = min(j.first - op.before + op.hop + op.taps - 1, a.extent - a.begin);
    constexpr int BYTES = ALL_IN * sizeof(T);
    const uint64_t first =
                       (reinterpret_cast<uint64_t>(j.in) + static_cast<int64_t>(from) * BYTES + 15) / 16 * 16,
                   last = (reinterpret_cast<uint64_t>(j.in) + static_cast<int64_t>(to) * BYTES) / 16 * 16;
    if (to > from && last > first)
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first),
                   "r"(static_cast<uint32_t>(last - first))
                   : "memory");
#endif
  }

  // ---- stores ----

  static FC_DEVICE char *place(char *out, int position) {
    return out + static_cast<int64_t>(position) * (ALL_OUT * static_cast<int>(sizeof(U)));
  }

  // The output at an address, if `there`. FINITE: there is no NaN.
  template <bool FINITE = false>
  static FC_DEVICE void give(char *to, bool there, const float (&v)[WIDE], const Post &post,
                             fc_dev_noted &noted) {
    constexpr fc_dev_map<float> map = fc_map_scaling<float, U, KU>();
    float y[OUT];
    fc_dev_noted here = {false, false};
    fc_overlap_some<U, SOME_OUT> some[OUT / SOME_OUT];
    post.run(v, y, here);
    if (Post::NOTES) noted.nan |= there & here.nan, noted.clipped |= there & here.clipped;
#pragma unroll
    for (int c = 0; c < OUT; c++)
      some[c / SOME_OUT].v[c % SOME_OUT] =
          fc_map_code<float, U, Post::QUIET, FINITE>(fc_is_code<U> && !there ? 0 : y[c], map, noted);
    if (!there) return;
#pragma unroll
    for (int k = 0; k < OUT / SOME_OUT; k++)
      reinterpret_cast<fc_overlap_some<U, SOME_OUT> *>(to)[k] = some[k];
  }

  // The results of a position, of the last transform and of those that are kept: `re` and `im` of all.
  static FC_DEVICE void put(float (&v)[WIDE], int turn, float re, float im) {
    v[turn * TOGETHER] = re, v[turn * TOGETHER + TOGETHER - 1] = LINES ? re : im;
  }

  // The first outputs of a block; FULL: all, which are at least half of what the transform makes. As their
  // number is a multiple of FC_OVERLAP_UNIT, a warp has all of as many as are adjacent, or none.
  template <bool FULL>
  static FC_DEVICE void store(const fc_complex<float> *x, const fc_complex<float> *kept, const job &j,
                              int count, int t, const Post &post, fc_dev_noted &noted) {
    constexpr bool FINITE = fc_is_none<Post>; // infinite ones are summed tap by tap
    constexpr int SOME = FULL && THREADS < FC_OVERLAP_UNIT ? FC_OVERLAP_UNIT / THREADS : 1;
    static_assert(S::E % SOME == 0, "whole units");
    const int left = count - t;
    char *to = place(j.out, j.first + t);
#pragma unroll
    for (int part = 0; part < (LINES ? 2 : 1); part++)
#pragma unroll
      for (int e = 0; e < S::E; e++) {
        const int at = S::index(1, 0, e) + part * N;
        const bool sure = FULL && at + THREADS <= INPUTS / 2;
        if (SOME > 1 && !sure && e % SOME == 0 && at >= left) return;
        float v[WIDE];
#pragma unroll
        for (int turn = 0; turn < TURNS; turn++) {
          const fc_complex<float> one = turn + 1 == TURNS ? x[e] : kept_of(kept, turn)[t + S::index(1, 0, e)];
          put(v, turn, part ? one.im : one.re, one.im);
        }
        give<FINITE>(place(to, at), sure || SOME > 1 || at < left, v, post, noted);
      }
  }

  // A transform's results at a position tap by tap.
  static FC_DEVICE void sum_directly(const fc_window_args &a, const Op &op, const job &j, int turn, int at,
                                     const Pre &pre, float (&v)[WIDE], fc_dev_noted &noted) {
    const float *mask = op.mask + (LINES ? static_cast<int64_t>(j.mask + turn) * op.mask_step : 0);
#pragma unroll
    for (int c = 0; c < WIDE; c++)
      if (c / TOGETHER == turn)
        v[c] = fc_sum_directly(mask, op.taps, [&](int64_t k) {
          float of[WIDE];
          look(a, j, at + static_cast<int>(k), pre, of, noted);
          return of[c];
        });
  }

  // Outputs [lo, hi) of a block, through a row in shared memory; `bad`: bits of the transforms whose results
  // are not finite, so that these are summed tap by tap.
  static FC_DEVICE void store_ends(const fc_window_args &a, const Op &op, const job &j,
                                   const fc_complex<float> *x, const fc_complex<float> *kept, unsigned bad,
                                   int lo, int hi, int t, float *row, const Pre &pre, const Post &post,
                                   fc_dev_noted &noted) {
    constexpr int EACH = LINES ? N : N / 2; // of both channels half a row at a time
#pragma unroll
    for (int part = 0; part < 2; part++) {
      fc_group_barrier<THREADS>();
#pragma unroll
      for (int e = 0; e < S::E; e++) {
        const int i = S::index(1, 0, e);
        if constexpr (LINES)
          row[t + i] = part ? x[e].im : x[e].re;
        else if (i / EACH == part)
          row[t + i - part * EACH] = x[e].re, row[t + i - part * EACH + EACH] = x[e].im;
      }
      fc_group_barrier<THREADS>();
#pragma unroll 1
      for (int k = t; k < EACH; k += THREADS) {
        const int i = k + part * EACH;
        if (i < lo || i >= hi) continue;
        float v[WIDE];
#pragma unroll
        for (int turn = 0; turn < TURNS; turn++) {
          if (bad >> turn & 1) {
            sum_directly(a, op, j, turn, j.first + i - op.before, pre, v, noted);
          } else if (turn + 1 < TURNS) {
            const fc_complex<float> one = kept_of(kept, turn)[LINES ? k : i];
            put(v, turn, LINES && part ? one.im : one.re, one.im);
          } else {
            put(v, turn, row[k], LINES ? 0 : row[k + EACH]);
          }
        }
        give(place(j.out, j.first + i), true, v, post, noted);
      }
    }
    fc_group_barrier<THREADS>();
  }

  // ---- all of it ----

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &op, const Post &post) {
    const int t = static_cast<int>(threadIdx.x) % THREADS, group = static_cast<int>(threadIdx.x) / THREADS;
    void *shared = fc_shared_memory() + group * config::exchange;
    float *row = static_cast<float *>(shared);
    fc_complex<float> *kept =
        reinterpret_cast<fc_complex<float> *>(fc_shared_memory() + config::bytes + group * Op::kept(TURNS));
    const int groups = static_cast<int>(gridDim.x) * config::groups;
#pragma unroll 1
    for (int i = static_cast<int>(blockIdx.x) * config::groups + group; i < a.each; i += groups) {
      fc_dev_noted noted = {false, false};
      const job j = job_of(a, op, turned(a, i));
      const int window = op.lead + op.hop + op.taps - 1;
      span w = {j.first - op.before - op.lead, op.lead};
      w.count = fc_within(static_cast<int64_t>(a.extent) - a.begin - j.first + op.lead + op.taps - 1, window);
      w.lo = min(max(w.lead, prefilter::BEFORE - a.begin - w.at), w.count);
      w.hi = max(min(w.count, a.extent - prefilter::AFTER - a.begin - w.at), w.lo);
      fc_complex<float> x[S::E];
      if (w.lo == w.lead && w.hi == window) {
        load<true>(x, kept, j.in, w, t, row, pre, noted);
      } else {
        put_beyond(a, j, kept, w, t, row, pre, noted);
        load<false>(x, kept, j.in, w, t, row, pre, noted);
        fc_group_barrier<THREADS>();
      }
      if (THREADS > 32 && t == 0) await(a, op, i + groups);
      unsigned bad = 0;
#pragma unroll 1
      for (int turn = 0; turn < TURNS; turn++) {
        if (turn > 0) { // what waited, for the results
          fc_complex<float> *own = kept_of(kept, turn - 1) + t;
#pragma unroll
          for (int e = 0; e < S::E; e++) {
            const fc_complex<float> was = own[S::index(1, 0, e)];
            own[S::index(1, 0, e)] = x[e], x[e] = was;
          }
        }
        const auto spectrum = [&] {
          int mask = LINES && op.mask_step ? j.mask + turn : 0;
          fc_overlap_forget(mask);
          return op.tables + fc_fft_table_size<S> + static_cast<int64_t>(mask) * N;
        };
        if (fc_overlap_block<S, config::halves, SURE>(x, t, op.tables, spectrum, shared, LINES))
          bad |= 1u << turn;
      }
      fc_overlap_forget(i);
      const job k = job_of(a, op, turned(a, i));
      const int lo = k.first < 0 ? -k.first : 0, hi = min(op.hop, a.total - k.first);
      if (bad || lo > 0)
        store_ends(a, op, k, x, kept, bad, lo, hi, t, row, pre, post, noted);
      else if (hi < op.hop)
        store<false>(x, kept, k, hi, t, post, noted);
      else
        store<true>(x, kept, k, hi, t, post, noted);
      noted.tell(a.notes);
    }
  }
};

#endif

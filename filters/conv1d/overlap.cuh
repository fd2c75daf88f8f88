// SPDX-License-Identifier: MIT
//
// overlap.cuh - the skeleton of kernels composed at run time for long masks along lines, by transforms: the
// convolution of conv1d_overlap.h with what is done to each sample or pixel before and after it, and the
// border made on the way.
//
// A group of threads takes a block of outputs at a time: it loads the block's inputs into registers, where
// the functions before run, transforms them there, multiplies them by the mask's spectrum, transforms back,
// and stores through the functions after. Shared memory is for exchanges only.
//
//     in --load--> Pre --> x[E] --forward--> * spectrum --back--> x[E] --> Post --store--> out
//
// Blocks lie as in the precompiled kernels (overlap.cu), and the arithmetic is the same (overlap_save.cuh),
// so bits are those of the stages run one by one. Where one transform does not take all channels of a
// position, functions are of samples alone; channels that are exchanged ahead of the convolution are loaded
// from other places, those that are exchanged behind it stored to others.
#ifndef FC_FILTERS_OVERLAP_CUH
#define FC_FILTERS_OVERLAP_CUH

#include "filters/fourier/gpu/overlap_save.cuh"
#include "filters/gpu/prefilter.cuh"

// fc_function_transforms of device_function.h: LENGTH complex values a transform, of TOGETHER channels.
template <int LENGTH, int TOGETHER_> struct fc_transforms {
  static constexpr int TOGETHER = TOGETHER_;
  typedef fc_overlap_of<LENGTH> config;
  static constexpr bool is(int threads_, int groups_, int bytes) {
    return config::threads == threads_ && config::groups == groups_ && config::bytes == bytes;
  }
  const float *mask;
  const fc_complex<float> *tables;
  int32_t taps, before, hop, lead, mask_step, groups, threads, resident, shared, unused;
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

// Where a channel that is convolved lies in a position of the input, FROM, or of the output, TO: hexadecimal
// digits, the last of them of channel 0; or 0, all in order.
FC_DEVICE constexpr int fc_overlap_place(int digits, int channel) {
  return digits ? digits >> 4 * channel & 15 : channel;
}

// Whether the channels of each transform are adjacent and in order there; if so, from a multiple of their
// number on.
template <int STEP, int TOGETHER> FC_DEVICE constexpr bool fc_overlap_adjacent(int digits) {
  for (int c = 0; digits && c < STEP; c += TOGETHER)
    if (fc_overlap_place(digits, c + TOGETHER - 1) != fc_overlap_place(digits, c) + TOGETHER - 1)
      return false;
  return true;
}

// Adjacent samples, moved as one.
template <typename T, int N> struct alignas(N * sizeof(T)) fc_overlap_some { T v[N]; };

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          bool SURE, typename Pre, typename Op, typename Post, int FROM = 0, int TO = 0>
struct fc_overlap {
  typedef typename Op::config config;
  typedef typename config::S S;
  static constexpr int TOGETHER = Op::TOGETHER, N = S::N, THREADS = S::threads;
  typedef fc_prefilter<Pre> prefilter;
  static constexpr bool LINES = TOGETHER == 1; // re and im are N positions apart in a line, else two channels
  static constexpr int INPUTS = LINES ? 2 * N : N;
  // Samples that are loaded, and stored, at a position: all of it, or some channels; and its samples in all.
  static constexpr bool PIXELS = STEP == TOGETHER;
  static constexpr int IN = PIXELS ? UI : TOGETHER, OUT = PIXELS ? UO : TOGETHER;
  static constexpr int ALL_IN = PIXELS ? UI : STEP, ALL_OUT = PIXELS ? UO : STEP, JOBS = STEP / TOGETHER;
  // Whether these are moved as one.
  static constexpr bool IN_ONE = ALIGNED && IN % 2 == 0 && fc_overlap_adjacent<STEP, TOGETHER>(FROM);
  static constexpr bool OUT_ONE = ALIGNED && OUT % 2 == 0 && fc_overlap_adjacent<STEP, TOGETHER>(TO);
  static_assert(PIXELS ? UM == STEP : UI == 1 && UM == 1 && UO == 1, "samples by themselves, or pixels");

  // A block: samples at position 0, the position of its first output, and its mask, which is also its first
  // channel where channels are interleaved.
  struct job {
    const char *in;
    char *out;
    int first, mask;
  };

  static FC_DEVICE job job_of(const fc_window_args &a, const Op &op, int i) {
    const int channel = i % JOBS * TOGETHER;
    i /= JOBS;
    int mask = channel;
    fc_window_line at = {a.in, a.out};
    if (a.each != a.count * JOBS) { // several lines
      const int line = i / a.count, plane = line / a.across;
      at = fc_window_line_of(a, plane, line - plane * a.across);
      i -= line * a.count, mask += plane % a.planes;
    }
    const int from = fc_overlap_place(FROM, channel), to = fc_overlap_place(TO, channel);
    return {at.in + from * static_cast<int>(sizeof(T)), at.out + to * static_cast<int>(sizeof(U)),
            i * op.hop + a.first, mask};
  }

  // How many samples behind the job's first channel the second lies.
  static FC_DEVICE int apart_by(int digits, const job &j) {
    return fc_overlap_place(digits, j.mask + 1) - fc_overlap_place(digits, j.mask);
  }

  // ---- loads ----

  // The samples of a position inside the signal; its channels lie so many samples apart.
  static FC_DEVICE void read(const char *in, int apart, int position, float (&x)[IN]) {
    constexpr fc_dev_map<float> map = fc_map_scaling<float, T, KT>();
    const char *from = in + static_cast<int64_t>(position) * (ALL_IN * static_cast<int>(sizeof(T)));
    if constexpr (IN_ONE && IN * sizeof(T) % 4 == 0) {
      struct alignas(IN * sizeof(T)) {
        uint32_t word[IN * sizeof(T) / 4];
      } some;
      some = *reinterpret_cast<const decltype(some) *>(from);
      fc_map_values<float, T, KT>(x, some.word, map);
    } else if constexpr (IN_ONE) {
      const auto some = *reinterpret_cast<const fc_overlap_some<T, IN> *>(from);
#pragma unroll
      for (int c = 0; c < IN; c++) x[c] = fc_code_value<T>(some.v[c], map);
    } else {
#pragma unroll
      for (int c = 0; c < IN; c++) x[c] = fc_code_value<T>(reinterpret_cast<const T *>(from)[c * apart], map);
    }
  }

  // What is convolved of a position inside the signal, as are those that a prefilter looks at.
  static FC_DEVICE void take(const char *in, int apart, int position, const Pre &pre, float (&v)[TOGETHER],
                             fc_dev_noted &noted) {
    float x[prefilter::TAPS * IN];
#pragma unroll
    for (int k = 0; k < prefilter::TAPS; k++) {
      float one[IN];
      read(in, apart, position + k - prefilter::BEFORE, one);
#pragma unroll
      for (int c = 0; c < IN; c++) x[k * IN + c] = one[c];
    }
    fc_prefiltered<1>(pre, x, v, noted);
  }

  // The same, or the border's.
  static FC_DEVICE void look(const fc_window_args &a, const job &j, int position, const Pre &pre,
                             float (&v)[TOGETHER], fc_dev_noted &noted) {
    const int source = fc_dev_border_source(BORDER, position + a.begin, a.extent);
#pragma unroll
    for (int c = 0; c < TOGETHER; c++) v[c] = a.constant;
    if (source >= 0)
      fc_prefiltered_at<IN>(a, source, pre, v, noted,
                            [&](int at, float(&x)[IN]) { read(j.in, apart_by(FROM, j), at, x); });
  }

  // A full window, all inside the signal, from position `at` on. What is not wanted is read all the same,
  // from a place that is wanted by others, so that no load is behind a branch.
  static FC_DEVICE void load(fc_complex<float> *x, const char *in, int apart, int at, int count, int lead,
                             int t, const Pre &pre, fc_dev_noted &noted) {
    const auto get = [&](int first, float(&v)[TOGETHER]) {
      const bool sure = first > 0 && first + THREADS <= INPUTS - FC_OVERLAP_UNIT;
      const int i = first + t;
      const bool wanted = sure || (i >= lead && i < count);
      take(in, apart, at + (wanted ? i : lead), pre, v, noted);
#pragma unroll
      for (int c = 0; c < TOGETHER; c++) v[c] = wanted ? v[c] : 0;
    };
#pragma unroll
    for (int e = 0; e < S::E; e++) {
      float v[TOGETHER], w[TOGETHER] = {0};
      get(S::index(1, 0, e), v);
      if constexpr (LINES) get(S::index(1, 0, e) + N, w);
      x[e] = {v[0], LINES ? w[0] : v[TOGETHER - 1]};
    }
  }

  // Any window: position by position through a row in shared memory, re and im in turn.
  static FC_DEVICE void load_ends(const fc_window_args &a, const job &j, fc_complex<float> *x, int at,
                                  int count, int lead, int t, float *row, const Pre &pre,
                                  fc_dev_noted &noted) {
#pragma unroll
    for (int part = 0; part < 2; part++) {
      fc_group_barrier<THREADS>(); // all have read the row, or what was there before
#pragma unroll 1
      for (int k = t; k < N; k += THREADS) {
        const int i = LINES ? k + part * N : k;
        float v[TOGETHER] = {0};
        if (i >= lead && i < count) look(a, j, at + i, pre, v, noted);
        row[k] = v[LINES ? 0 : part * (TOGETHER - 1)];
      }
      fc_group_barrier<THREADS>();
#pragma unroll
      for (int e = 0; e < S::E; e++) (part ? x[e].im : x[e].re) = row[t + S::index(1, 0, e)];
    }
    fc_group_barrier<THREADS>();
  }

  // Prefetches the inputs of block i, if inside the signal, into the second-level cache.
  static FC_DEVICE void await(const fc_window_args &a, const Op &op, int i) {
#if __CUDA_ARCH__ >= 900
    if (i >= a.each) return;
    const job j = job_of(a, op, i);
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

  // The output at an address, channels so many samples apart, if `there`. FINITE: there is no NaN.
  template <bool FINITE = false>
  static FC_DEVICE void give(char *to, int apart, bool there, const float (&v)[TOGETHER], const Post &post,
                             fc_dev_noted &noted) {
    constexpr fc_dev_map<float> map = fc_map_scaling<float, U, KU>();
    float y[OUT];
    fc_dev_noted here = {false, false};
    fc_overlap_some<U, OUT == 3 ? 4 : OUT> some;
    post.run(v, y, here);
    if (Post::NOTES) noted.nan |= there & here.nan, noted.clipped |= there & here.clipped;
#pragma unroll
    for (int c = 0; c < OUT; c++)
      some.v[c] = fc_map_code<float, U, Post::QUIET, FINITE>(fc_is_code<U> && !there ? 0 : y[c], map, noted);
    if (!there) return;
    if constexpr (OUT_ONE) {
      *reinterpret_cast<fc_overlap_some<U, OUT> *>(to) = some;
    } else {
#pragma unroll
      for (int c = 0; c < OUT; c++) reinterpret_cast<U *>(to)[c * apart] = some.v[c];
    }
  }

  // All outputs of a block, which are at least half of what the transform makes. As their number is a
  // multiple of FC_OVERLAP_UNIT, a warp has all of as many as are adjacent, or none.
  static FC_DEVICE void store(const fc_complex<float> *x, const job &j, int hop, int t, const Post &post,
                              fc_dev_noted &noted) {
    constexpr bool FINITE = fc_is_none<Post>; // infinite ones are summed tap by tap
    constexpr int SOME = THREADS < FC_OVERLAP_UNIT ? FC_OVERLAP_UNIT / THREADS : 1;
    static_assert(S::E % SOME == 0, "whole units");
    const int left = hop - t;
    char *to = place(j.out, j.first + t);
#pragma unroll
    for (int part = 0; part < (LINES ? 2 : 1); part++)
#pragma unroll
      for (int e = 0; e < S::E; e++) {
        const int at = S::index(1, 0, e) + part * N;
        const bool sure = at + THREADS <= INPUTS / 2;
        if (SOME > 1 && !sure && e % SOME == 0 && at >= left) return;
        const float re = part ? x[e].im : x[e].re;
        float v[TOGETHER];
        v[0] = re, v[TOGETHER - 1] = LINES ? re : x[e].im;
        give<FINITE>(place(to, at), apart_by(TO, j), sure || SOME > 1 || at < left, v, post, noted);
      }
  }

  // Outputs [lo, hi) of a block, through a row in shared memory as in load_ends.
  static FC_DEVICE void store_ends(const fc_complex<float> *x, const job &j, int lo, int hi, int t,
                                   float *row, const Post &post, fc_dev_noted &noted) {
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
        float v[TOGETHER];
#pragma unroll
        for (int c = 0; c < TOGETHER; c++) v[c] = row[k + c * EACH];
        give(place(j.out, j.first + i), apart_by(TO, j), true, v, post, noted);
      }
    }
    fc_group_barrier<THREADS>();
  }

  static FC_DEVICE void store_directly(const fc_window_args &a, const Op &op, const job &j, int lo, int hi,
                                       int t, const Pre &pre, const Post &post, fc_dev_noted &noted) {
#pragma unroll 1
    for (int i = lo + t; i < hi; i += THREADS) {
      const int at = j.first + i - op.before;
      float sum[TOGETHER];
#pragma unroll
      for (int c = 0; c < TOGETHER; c++)
        sum[c] =
            fc_sum_directly(op.mask + static_cast<int64_t>(j.mask) * op.mask_step, op.taps, [&](int64_t k) {
              float v[TOGETHER];
              look(a, j, at + static_cast<int>(k), pre, v, noted);
              return v[c];
            });
      give(place(j.out, j.first + i), apart_by(TO, j), true, sum, post, noted);
    }
  }

  // ---- all of it ----

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &op, const Post &post) {
    const int t = static_cast<int>(threadIdx.x) % THREADS, group = static_cast<int>(threadIdx.x) / THREADS;
    void *shared = fc_shared_memory() + group * config::exchange;
    const int groups = static_cast<int>(gridDim.x) * config::groups;
    const fc_complex<float> *spectra = op.tables + fc_fft_table_size<S>;
    fc_dev_noted noted = {false, false};
#pragma unroll 1
    for (int i = static_cast<int>(blockIdx.x) * config::groups + group; i < a.each; i += groups) {
      const job j = job_of(a, op, i);
      const int at = j.first - op.before - op.lead, window = op.lead + op.hop + op.taps - 1,
                count = fc_within(static_cast<int64_t>(a.extent) - a.begin - j.first + op.lead + op.taps - 1,
                                  window);
      fc_complex<float> x[S::E];
      if (count == window && at + op.lead - prefilter::BEFORE >= -a.begin &&
          at + window + prefilter::AFTER <= a.extent - a.begin)
        load(x, j.in, apart_by(FROM, j), at, count, op.lead, t, pre, noted);
      else
        load_ends(a, j, x, at, count, op.lead, t, static_cast<float *>(shared), pre, noted);
      if (THREADS > 32 && t == 0) await(a, op, i + groups);
      const int64_t mask = op.mask_step ? j.mask : 0;
      const int lo = j.first < 0 ? -j.first : 0, hi = min(op.hop, a.total - j.first);
      if (fc_overlap_block<S, config::halves, SURE>(x, t, op.tables, spectra + mask * N, shared, LINES))
        store_directly(a, op, j, lo, hi, t, pre, post, noted);
      else if (lo == 0 && hi == op.hop)
        store(x, j, hi, t, post, noted);
      else
        store_ends(x, j, lo, hi, t, static_cast<float *>(shared), post, noted);
    }
    noted.tell(a.notes);
  }
};

#endif

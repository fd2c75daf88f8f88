// SPDX-License-Identifier: MIT
//
// map.cuh - the skeleton of kernels composed at run time for operations without neighbours, on samples or
// pixels. Memory is read once and written once; in between the device functions of a chain of stages run in
// registers. The text of a kernel (core/compose/compose.c) is this file, the functions, a struct Chain that
// holds them and
//
//     extern "C" __global__ void kernel(const __grid_constant__ Params p) {
//       fc_await_earlier();
//       fc_map_packs<F, T, KIND, U, KIND, Chain>::run(p.args, p.chain);
//     }
//
// F is the compute type, T and U are stored. Loads, stores, rounding, clamping and notes are those of
// cuda.cuh and sample_words.cuh, as in precompiled kernels, so that a chain gives the bits of its stages run
// one by one.
//
// Compiled by NVRTC, which finds no headers but those embedded with this one, and by nvcc. No contraction:
// -fmad=false.
#ifndef FC_FILTERS_MAP_CUH
#define FC_FILTERS_MAP_CUH

#include "filters/gpu/packs.cuh"
#include "filters/gpu/pixel_tiles.cuh"

#define FC_DEVICE __device__ __forceinline__

// One of two types.
template <bool FIRST, class A, class B> struct fc_either { typedef A type; };
template <class A, class B> struct fc_either<false, A, B> { typedef B type; };

// Blocks may start before the kernel ahead of this one in the stream has ended (programmatic dependent
// launch), which saves 1.7 us of an H200 between two kernels. They read and write nothing until it has ended
// and what it wrote is visible.
FC_DEVICE void fc_await_earlier(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- what device functions may call ------------------------------------------

// Limits that let a NaN pass. Written as selections: for v < low ? low : v with limits in constant memory,
// the compiler branches around their loads, which makes a memory-bound kernel 10 to 15 % slower.
FC_DEVICE float fc_at_least(float v, float low) {
#ifdef __CUDA_ARCH__
  float r;
  asm("{ .reg .pred p; setp.lt.f32 p, %1, %2; selp.f32 %0, %2, %1, p; }" : "=f"(r) : "f"(v), "f"(low));
  return r;
#else
  return v < low ? low : v;
#endif
}
FC_DEVICE double fc_at_least(double v, double low) {
#ifdef __CUDA_ARCH__
  double r;
  asm("{ .reg .pred p; setp.lt.f64 p, %1, %2; selp.f64 %0, %2, %1, p; }" : "=d"(r) : "d"(v), "d"(low));
  return r;
#else
  return v < low ? low : v;
#endif
}
FC_DEVICE float fc_at_most(float v, float high) {
#ifdef __CUDA_ARCH__
  float r;
  asm("{ .reg .pred p; setp.gt.f32 p, %1, %2; selp.f32 %0, %2, %1, p; }" : "=f"(r) : "f"(v), "f"(high));
  return r;
#else
  return v > high ? high : v;
#endif
}
FC_DEVICE double fc_at_most(double v, double high) {
#ifdef __CUDA_ARCH__
  double r;
  asm("{ .reg .pred p; setp.gt.f64 p, %1, %2; selp.f64 %0, %2, %1, p; }" : "=d"(r) : "d"(v), "d"(high));
  return r;
#else
  return v > high ? high : v;
#endif
}
// The same if there is no NaN and the sign of a zero does not matter: one instruction.
FC_DEVICE float fc_larger(float a, float b) {
  return fmaxf(a, b);
}
FC_DEVICE double fc_larger(double a, double b) {
  return fmax(a, b);
}
FC_DEVICE float fc_smaller(float a, float b) {
  return fminf(a, b);
}
FC_DEVICE double fc_smaller(double a, double b) {
  return fmin(a, b);
}
FC_DEVICE float fc_fma(float a, float b, float c) {
  return fmaf(a, b, c);
}
FC_DEVICE double fc_fma(double a, double b, double c) {
  return fma(a, b, c);
}

// ---- where samples lie ---------------------------------------------------------

// Lines of `length` units: samples, or pixels with in_channel and out_channel bytes from one channel to the
// next. in_step[0] is the distance of units, the others are those along the axes that number the lines, of
// which count[2] is the fastest. Bytes. The host's twin is in core/compose/compose.h.
struct fc_map_args {
  const char *in;
  char *out;
  int64_t length, count[3], in_step[4], out_step[4], in_channel, out_channel;
  uint32_t *notes;
};

struct fc_map_line {
  const char *in;
  char *out;
  int64_t y; // for lines that are rows
};

// For chains with functions that use positions (device_function.h, whose fc_position this is): units are
// pixels, a line is a row, rows number the lines. Position of the launch's first output, and the signal's
// size.
struct fc_position {
  int64_t x, y, c, width, height;
};
struct fc_map_place {
  int64_t x, y, width, height;
};

// The pixels of a thread: base + first, base + first + 1, ... of row y; those at `limit` and beyond are
// copies of pixel `base`.
struct fc_map_at {
  int64_t base, y;
  int first, limit;
};
FC_DEVICE fc_map_at fc_map_at_pixel(int64_t x, int64_t y) {
  return {x, y, 0, 0x7fffffff};
}

FC_DEVICE fc_map_line fc_map_line_of(const fc_map_args &a, int64_t line) {
  fc_map_line l = {a.in, a.out, 0};
  if (a.count[0] * a.count[1] * a.count[2] == 1) return l;
  const uint32_t rest = static_cast<uint32_t>(line), fast = static_cast<uint32_t>(a.count[2]),
                 i = rest / fast;
  const uint32_t middle = static_cast<uint32_t>(a.count[1]), n = i / middle;
  l.y = rest - i * fast;
  l.in += n * a.in_step[1] + (i - n * middle) * a.in_step[2] + (rest - i * fast) * a.in_step[3];
  l.out += n * a.out_step[1] + (i - n * middle) * a.out_step[2] + (rest - i * fast) * a.out_step[3];
  return l;
}

template <typename T> constexpr int fc_map_dtype = FC_F64;
template <> constexpr int fc_map_dtype<uint8_t> = FC_U8;
template <> constexpr int fc_map_dtype<int16_t> = FC_I16;
template <> constexpr int fc_map_dtype<uint16_t> = FC_U16;
template <> constexpr int fc_map_dtype<int32_t> = FC_I32;
template <> constexpr int fc_map_dtype<float> = FC_F32;

// fc_dev_map_of for types and kinds known at compile time, on the device: all of it is constant there.
template <typename F, typename T, int KIND> FC_DEVICE constexpr fc_dev_map<F> fc_map_scaling() {
  if (KIND != FC_AUDIO || fc_map_dtype<T> >= FC_F32) return {F(1), F(1), 0};
  if (sizeof(T) == 1) return {F(1) / F(128), F(128), 128};
  if (sizeof(T) == 2) return {F(1) / F(32768), F(32768), fc_map_dtype<T> == FC_U16 ? 32768 : 0};
  return {F(1) / F(2147483648.0), F(2147483648.0), 0};
}

// ---- stages ----------------------------------------------------------------------

// Applies one function to the samples of `to`'s pixels: IN and OUT channels, or 0 and 0 if samples are
// independent.
template <int IN, int OUT, typename F, typename Fn, int N, int M>
FC_DEVICE void fc_map_apply(const Fn &f, const F (&from)[N], F (&to)[M]) {
  if constexpr (IN == 0) {
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = f(from[i]);
  } else {
#pragma unroll
    for (int p = 0; p < N / IN; p++) {
      F x[IN], y[OUT];
#pragma unroll
      for (int c = 0; c < IN; c++) x[c] = from[p * IN + c];
      f(x, y);
#pragma unroll
      for (int c = 0; c < OUT; c++) to[p * OUT + c] = y[c];
    }
  }
}

// The same for a function that uses positions; of pixels with C channels.
template <int IN, int OUT, int C, typename F, typename Fn, int N, int M>
FC_DEVICE void fc_map_apply_at(const Fn &f, const F (&from)[N], F (&to)[M], const fc_map_at &at,
                               const fc_map_place &place) {
#pragma unroll
  for (int p = 0; p < N / C; p++) {
    const int64_t x = place.x + at.base + (at.first + p < at.limit ? at.first + p : 0);
    if constexpr (IN == 0) {
#pragma unroll
      for (int c = 0; c < C; c++)
        to[p * C + c] = f(from[p * C + c], fc_position{x, place.y + at.y, c, place.width, place.height});
    } else {
      F in[IN], out[OUT];
#pragma unroll
      for (int c = 0; c < IN; c++) in[c] = from[p * IN + c];
      f(in, out, fc_position{x, place.y + at.y, 0, place.width, place.height});
#pragma unroll
      for (int c = 0; c < OUT; c++) to[p * OUT + c] = out[c];
    }
  }
}

template <typename Chain, typename F, int N, int M>
FC_DEVICE void fc_map_run(const Chain &chain, const F (&v)[N], F (&w)[M], fc_dev_noted &noted,
                          const fc_map_at &at) {
  if constexpr (Chain::PLACED)
    chain.run(v, w, noted, at);
  else
    chain.run(v, w, noted);
}

// fc_dev_code without a branch for each sample: with dozens of branches, the barriers at which lanes
// reconverge exceed the device's registers for them, and go to local memory. Notes are written once, at a
// thread's end. QUIET: there is certainly no NaN, and nothing out of range; FINITE: no NaN. Codes of 8 and 16
// bits of floats are rounded by an addition (sample_words.cuh), limited before it: half beyond a limit rounds
// to the limit if that is even.
template <typename F, typename U, bool QUIET = false, bool FINITE = false>
FC_DEVICE U fc_map_code(F v, fc_dev_map<F> map, fc_dev_noted &noted) {
  if constexpr (fc_map_dtype<U> >= FC_F32) {
    return fc_dev_code<F, U>(v, map, nullptr);
  } else if constexpr (fc_is_code<U> && sizeof(F) == 4) {
    const float low = static_cast<float>(fc_dev_limits<U>::low - map.bias),
                high = static_cast<float>(fc_dev_limits<U>::high - map.bias), scaled = v * map.inverse;
    const float magic = 12582912.f + static_cast<float>(map.bias);
    if constexpr (QUIET) return static_cast<U>(__float_as_uint(scaled + magic));
    const bool nan = !FINITE && v != v;
    noted.nan |= nan, noted.clipped |= (scaled < low - 0.5f) | (scaled >= high + 0.5f);
    return static_cast<U>(__float_as_uint((nan ? 0.f : fminf(fmaxf(scaled, low), high)) + magic));
  } else if constexpr (QUIET) {
    return static_cast<U>(static_cast<int32_t>(fc_dev_round(v * map.inverse)) + map.bias);
  } else {
    constexpr int32_t least = fc_dev_limits<U>::low, most = fc_dev_limits<U>::high;
    const F low = static_cast<F>(least) - static_cast<F>(map.bias);
    const F above = static_cast<F>(static_cast<double>(most) + 1.0) - static_cast<F>(map.bias);
    const F r = fc_dev_round(v * map.inverse);
    const bool nan = r != r, under = r < low, over = r >= above;
    noted.nan |= nan, noted.clipped |= under | over;
    const int32_t code = static_cast<int32_t>(nan | under | over ? F(0) : r) + map.bias;
    return static_cast<U>(under ? least : over ? most : code);
  }
}

// Element i of packed words, and the inverse: by shifts, since memcpy may use local memory.
template <typename T, int W> FC_DEVICE T fc_map_element(const uint32_t (&word)[W], int i) {
  if constexpr (sizeof(T) == 8)
    return __hiloint2double(static_cast<int>(word[2 * i + 1]), static_cast<int>(word[2 * i]));
  else if constexpr (fc_map_dtype<T> == FC_F32)
    return __uint_as_float(word[i]);
  else
    return static_cast<T>(word[i * sizeof(T) / 4] >> i * sizeof(T) % 4 * 8);
}
template <typename U, int W> FC_DEVICE void fc_map_element_set(uint32_t (&word)[W], int i, U code) {
  if constexpr (sizeof(U) == 8) {
    word[2 * i] = static_cast<uint32_t>(__double2loint(code)),
             word[2 * i + 1] = static_cast<uint32_t>(__double2hiint(code));
  } else if constexpr (fc_map_dtype<U> == FC_F32) {
    word[i] = __float_as_uint(code);
  } else {
    typedef typename std::make_unsigned<U>::type whole;
    static_assert(static_cast<whole>(-1) > 0, "also where <type_traits> is ours (core/device/embed.py)");
    constexpr int each = 4 / sizeof(U);
    const uint32_t bits = static_cast<whole>(code);
    word[i / each] = i % each ? word[i / each] | bits << i % each * (8 * sizeof(U)) : bits;
  }
}

// Values of N packed samples, and back. NEAR: bytes that lie near their range (sample_words.cuh).
template <typename F, typename T, int KIND, int N>
FC_DEVICE void fc_map_values(F (&v)[N], const uint32_t (&words)[N * sizeof(T) / 4],
                             const fc_dev_map<F> &map = fc_map_scaling<F, T, KIND>()) {
  if constexpr (fc_is_code<T> && sizeof(F) == 4) {
    fc_words_values<T, N>(v, words, map);
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = fc_dev_value<F, T>(fc_map_element<T>(words, i), map);
  }
}
template <typename F, typename U, int KIND, bool QUIET = false, bool NEAR = false, int N>
FC_DEVICE void fc_map_codes(uint32_t (&words)[N * sizeof(U) / 4], const F (&v)[N], fc_dev_noted &noted) {
  constexpr fc_dev_map<F> map = fc_map_scaling<F, U, KIND>();
  if constexpr (fc_is_code<U> && sizeof(F) == 4 && QUIET) {
    uint32_t t[N]; // the code in the low bits, as in fc_words_codes
#pragma unroll
    for (int i = 0; i < N; i++)
      t[i] = __float_as_uint(
          fmaf(v[i], map.inverse, 12582912.f + static_cast<float>(fc_codes_offset<U> + map.bias)));
    constexpr int each = 4 / sizeof(U);
#pragma unroll
    for (int i = 0; i < N; i += each) {
      if constexpr (each == 4)
        words[i / 4] =
            __byte_perm(__byte_perm(t[i], t[i + 1], 0x0040), __byte_perm(t[i + 2], t[i + 3], 0x0040), 0x5410);
      else
        words[i / 2] = __byte_perm(t[i], t[i + 1], 0x5410) ^ (std::is_signed<U>::value ? 0x80008000u : 0u);
    }
  } else if constexpr (NEAR && sizeof(U) == 1) {
    fc_words_near<N>(words, v, map, noted);
  } else if constexpr (fc_is_code<U> && sizeof(F) == 4) {
    fc_words_codes<U, N>(words, v, map, noted);
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) fc_map_element_set<U>(words, i, fc_map_code<F, U, QUIET>(v[i], map, noted));
  }
}

// What a link between two stages stores and loads again: nothing changes if it has the compute type.
template <typename L, int KIND, typename F, int N>
FC_DEVICE void fc_map_round(F (&v)[N], fc_dev_noted &noted) {
  constexpr fc_dev_map<F> map = fc_map_scaling<F, L, KIND>();
  if constexpr (fc_is_code<L> && sizeof(F) == 4 && N * sizeof(L) % 4 == 0) {
    uint32_t words[N * sizeof(L) / 4];
    fc_map_codes<F, L, KIND>(words, v, noted);
    fc_map_values<F, L, KIND>(v, words);
    return;
  }
#pragma unroll
  for (int i = 0; i < N; i++) v[i] = fc_dev_value<F, L>(fc_map_code<F, L>(v[i], map, noted), map);
}

// Any number of words, by the widest accesses, of MOST words, that divide it; aligned to these.
template <int MOST = 4, int WORDS> FC_DEVICE void fc_map_load_words(uint32_t (&to)[WORDS], const char *from) {
  constexpr int EACH = MOST == 4 && WORDS % 4 == 0 ? 4 : MOST >= 2 && WORDS % 2 == 0 ? 2 : 1;
#pragma unroll
  for (int i = 0; i < WORDS; i += EACH) {
    uint32_t some[EACH];
    fc_words_load(some, from + 4 * i);
#pragma unroll
    for (int k = 0; k < EACH; k++) to[i + k] = some[k];
  }
}
template <int MOST = 4, int WORDS>
FC_DEVICE void fc_map_store_words(char *to, const uint32_t (&from)[WORDS]) {
  constexpr int EACH = MOST == 4 && WORDS % 4 == 0 ? 4 : MOST >= 2 && WORDS % 2 == 0 ? 2 : 1;
#pragma unroll
  for (int i = 0; i < WORDS; i += EACH) {
    uint32_t some[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) some[k] = from[i + k];
    fc_words_store(to + 4 * i, some);
  }
}

// ---- samples that lie dense --------------------------------------------------------

// A block of FC_MAP_THREADS processes EACH packs of 16 bytes per thread, all loads before the first use;
// blockIdx.y is the line. The elements before and after the packs, fewer than there are threads, are
// processed by the first block.
constexpr int FC_MAP_THREADS = 256;

template <typename F, typename T, int KT, typename U, int KU, typename Chain> struct fc_map_packs {
  static constexpr int N = fc_pack<T, U>::size, EACH = 4, SIZE = sizeof(T);

  template <bool ALIKE>
  static FC_DEVICE void packs(const fc_packs &p, const fc_map_line &l, const Chain &chain,
                              fc_dev_noted &noted) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * (FC_MAP_THREADS * EACH) + threadIdx.x;
    const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(l.in + p.head * SIZE) % 4);
    fc_packed<T, N> x[EACH];
    uint32_t last[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int64_t i = p.head + (first + k * FC_MAP_THREADS) * N;
      if (i >= p.body) continue; // no break: branches would nest
      if (ALIKE)
        fc_words_load(x[k].word, l.in + i * SIZE);
      else
        fc_words_load_askew(x[k].word, &last[k], l.in + i * SIZE, askew);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int64_t i = p.head + (first + k * FC_MAP_THREADS) * N;
      if (i >= p.body) continue;
      if (!ALIKE) fc_words_shift(x[k].word, last[k], askew);
      F v[N], w[N];
      uint32_t y[N * sizeof(U) / 4];
      fc_map_values<F, T, KT>(v, x[k].word);
      fc_map_run(chain, v, w, noted, fc_map_at_pixel(i, l.y));
      fc_map_codes<F, U, KU, Chain::QUIET>(y, w, noted);
      fc_words_store(l.out + i * static_cast<int>(sizeof(U)), y);
    }
  }

  static FC_DEVICE void run(const fc_map_args &a, const Chain &chain) {
    const int64_t lines = a.count[0] * a.count[1] * a.count[2];
    fc_dev_noted noted = {false, false};
    for (int64_t line = blockIdx.y; line < lines; line += gridDim.y) {
      const fc_map_line l = fc_map_line_of(a, line);
      const fc_packs p = fc_packs_of<T, U>(l.in, l.out, a.length);
      if (p.alike)
        packs<true>(p, l, chain, noted);
      else
        packs<false>(p, l, chain, noted);
      const int64_t at = threadIdx.x < p.head ? threadIdx.x : threadIdx.x + p.count * N;
      if (blockIdx.x > 0 || at >= a.length) continue;
      F v[1] = {fc_dev_load<F, T>(l.in + at * SIZE, fc_map_scaling<F, T, KT>())}, w[1];
      fc_map_run(chain, v, w, noted, fc_map_at_pixel(at, l.y));
      *reinterpret_cast<U *>(l.out + at * static_cast<int>(sizeof(U))) =
          fc_map_code<F, U, Chain::QUIET>(w[0], fc_map_scaling<F, U, KU>(), noted);
    }
    noted.tell(a.notes);
  }
};

// ---- bytes through costly functions ----------------------------------------------------

// For dense bytes: a block first computes the results of all 256 codes, and then looks them up; functions of
// single samples have no other inputs. The table has a word for each lane, so that lanes do not meet in a
// bank: a code with what is noted where it occurs, or a float.
template <typename F, typename T, int KT, typename U, int KU, typename Chain> struct fc_map_table {
  static constexpr int N = fc_pack<T, U>::size, EACH = 4, LANES = FC_TILE_LANES;
  static constexpr int PIECE = FC_MAP_THREADS * EACH * N; // elements of a block at a time
  static constexpr uint32_t NAN_SEEN = 1u << 30, CLIPPED = 1u << 31;

  static FC_DEVICE void fill(uint32_t *table, const Chain &chain) {
    const int code = threadIdx.x;
    fc_dev_noted noted = {false, false};
    F v[1] = {fc_dev_value<F, T>(static_cast<T>(code), fc_map_scaling<F, T, KT>())}, w[1];
    fc_map_run(chain, v, w, noted, fc_map_at_pixel(0, 0));
    uint32_t word[1];
    fc_map_element_set<U>(word, 0, fc_map_code<F, U, Chain::QUIET>(w[0], fc_map_scaling<F, U, KU>(), noted));
    if (sizeof(U) < 4) word[0] |= (noted.nan ? NAN_SEEN : 0) | (noted.clipped ? CLIPPED : 0);
    for (int i = 0; i < LANES; i++) table[code * LANES + (code + i) % LANES] = word[0];
  }

  // Results of N bytes; returns what is noted of them, among other bits.
  static FC_DEVICE uint32_t look(const uint32_t *mine, const uint32_t (&from)[N / 4],
                                 uint32_t (&to)[N * sizeof(U) / 4]) {
    uint32_t t[N], seen = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
      t[i] = mine[(from[i / 4] >> 8 * (i % 4) & 255) * LANES];
      seen |= t[i];
    }
    constexpr int each = 4 / sizeof(U);
#pragma unroll
    for (int i = 0; i < N; i += each) {
      if constexpr (each == 4)
        to[i / 4] =
            __byte_perm(__byte_perm(t[i], t[i + 1], 0x0040), __byte_perm(t[i + 2], t[i + 3], 0x0040), 0x5410);
      else if constexpr (each == 2)
        to[i / 2] = __byte_perm(t[i], t[i + 1], 0x5410);
      else
        to[i] = t[i];
    }
    return seen;
  }

  // The packs of a piece of a line.
  static FC_DEVICE uint32_t packs(const uint32_t *mine, const fc_packs &p, const fc_map_line &l,
                                  int64_t piece) {
    const int64_t first = piece * (FC_MAP_THREADS * EACH) + threadIdx.x;
    const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(l.in + p.head) % 4);
    fc_packed<T, N> x[EACH];
    uint32_t last[EACH], seen = 0;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int64_t i = p.head + (first + k * FC_MAP_THREADS) * N;
      if (i >= p.body) continue;
      if (p.alike)
        last[k] = 0, fc_words_load(x[k].word, l.in + i);
      else
        fc_words_load_askew(x[k].word, &last[k], l.in + i, askew);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int64_t i = p.head + (first + k * FC_MAP_THREADS) * N;
      if (i >= p.body) continue;
      if (!p.alike) fc_words_shift(x[k].word, last[k], askew);
      uint32_t y[N * sizeof(U) / 4];
      seen |= look(mine, x[k].word, y);
      fc_words_store(l.out + i * static_cast<int>(sizeof(U)), y);
    }
    return seen;
  }

  static FC_DEVICE void run(const fc_map_args &a, const Chain &chain) {
    __shared__ uint32_t table[256 * LANES];
    fill(table, chain);
    __syncthreads();
    const uint32_t *mine = table + threadIdx.x % LANES;
    const int64_t pieces = (a.length + PIECE - 1) / PIECE,
                  all = a.count[0] * a.count[1] * a.count[2] * pieces;
    uint32_t seen = 0;
    for (int64_t i = blockIdx.x; i < all; i += gridDim.x) {
      const int64_t line = i < pieces ? 0 : static_cast<uint32_t>(i) / static_cast<uint32_t>(pieces);
      const fc_map_line l = fc_map_line_of(a, line);
      const fc_packs p = fc_packs_of<T, U>(l.in, l.out, a.length);
      seen |= packs(mine, p, l, i - line * pieces);
      const int64_t at = threadIdx.x < p.head ? threadIdx.x : threadIdx.x + p.count * N;
      if (i > line * pieces || at >= a.length) continue;
      const uint32_t word = mine[static_cast<uint8_t>(l.in[at]) * LANES];
      const uint32_t words[1] = {word};
      *reinterpret_cast<U *>(l.out + at * static_cast<int>(sizeof(U))) = fc_map_element<U>(words, 0);
      seen |= word;
    }
    if (sizeof(U) < 4) fc_dev_noted{(seen & NAN_SEEN) != 0, (seen & CLIPPED) != 0}.tell(a.notes);
  }
};

// ---- pixels whose channels lie side by side --------------------------------------------

// Tiles of pixel_tiles.cuh, with other types and channels for the output: a lane has P pixels, of whole words
// on either side.
template <typename F, typename T, int KT, typename U, int KU, int CI, int CO, int WARPS, typename Chain>
struct fc_map_tiles {
  static constexpr int WIDE = sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U), SLIM = sizeof(T) +
                                                                                    sizeof(U) - WIDE;
  static constexpr int P = 16 / WIDE > 4 / SLIM ? 16 / WIDE : 4 / SLIM, PIXELS = FC_TILE_LANES * P;
  static constexpr int G =
      SLIM < 4 ? 4 / SLIM : 1; // concurrent pixels: whole words, and few enough for registers
  static constexpr int IN = CI * sizeof(T), OUT = CO * sizeof(U); // bytes of a pixel
  static constexpr int WI = P * IN / 4, WO = P * OUT / 4;         // words per lane
  static constexpr int BYTES = PIXELS * (IN > OUT ? IN : OUT) + 32;
  static constexpr int QI = (PIXELS * IN + 511) / 512,
                       QO = (PIXELS * OUT + 511) / 512; // 16-byte units per lane, rounded up

  static FC_DEVICE void take(uint32_t (&to)[WI], const unsigned char *from) {
    if constexpr (WI % 4 == 0) {
      fc_tile_words<WI / 4>(to, from);
    } else {
      const uint32_t bits = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 4) * 8;
      const uint32_t *word = reinterpret_cast<const uint32_t *>(from - bits / 8);
      uint32_t here = word[0];
#pragma unroll
      for (int i = 0; i < WI; i++) {
        const uint32_t next = i + 1 < WI || bits ? word[i + 1] : 0;
        to[i] = __funnelshift_r(here, next, bits), here = next;
      }
    }
  }

  static FC_DEVICE void keep(unsigned char *room, const uint32_t (&v)[WO], int lane) {
    if constexpr (WO % 4 == 0) {
      fc_tile_keep<WO / 4>(room, v, lane);
    } else {
#pragma unroll
      for (int i = 0; i < WO; i++) reinterpret_cast<uint32_t *>(room)[lane * WO + i] = v[i];
    }
  }

  // Pixels beyond the row's last are copies of its first, so that they cause no false notes.
  static FC_DEVICE void fill(unsigned char *pixels, int used, int lane) {
#pragma unroll 1
    for (int b = used * IN + lane; b < PIXELS * IN; b += FC_TILE_LANES) pixels[b] = pixels[b % IN];
  }

  static FC_DEVICE fc_pixel_tile tile_of(const fc_map_args &a, int64_t tile, int64_t tiles) {
    const bool one = a.count[0] * a.count[1] * a.count[2] == 1;
    const int64_t line = one ? 0 : static_cast<uint32_t>(tile) / static_cast<uint32_t>(tiles),
                  at = tile - line * tiles;
    const fc_map_line l = fc_map_line_of(a, line);
    const int64_t left = a.length - at * PIXELS;
    fc_pixel_tile t;
    t.in = l.in + at * (PIXELS * IN), t.out = l.out + at * (PIXELS * OUT);
    t.left = left < 2 * PIXELS ? static_cast<int>(left) : 2 * PIXELS;
    t.used = t.left < PIXELS ? t.left : PIXELS;
    t.first = at == 0;
    return t;
  }

  static FC_DEVICE fc_map_at pixel_of(const fc_map_args &a, int64_t tile, int64_t tiles, int first,
                                      int used) {
    const bool one = a.count[0] * a.count[1] * a.count[2] == 1;
    const int64_t line = one ? 0 : static_cast<uint32_t>(tile) / static_cast<uint32_t>(tiles);
    return {(tile - line * tiles) * PIXELS, fc_map_line_of(a, line).y, first, used};
  }

  static FC_DEVICE void run(const fc_map_args &a, const Chain &chain) {
    __shared__ __align__(16) unsigned char rooms[WARPS][2][(BYTES + 15) / 16 * 16];
    const int lane = threadIdx.x % FC_TILE_LANES, warp = threadIdx.x / FC_TILE_LANES;
    const int64_t tiles = (a.length + PIXELS - 1) / PIXELS,
                  total = a.count[0] * a.count[1] * a.count[2] * tiles;
    const int64_t step = static_cast<int64_t>(gridDim.x) * WARPS;
    unsigned char *room = rooms[warp][0], *other = rooms[warp][1];
    fc_dev_noted noted = {false, false};
    int64_t tile = static_cast<int64_t>(blockIdx.x) * WARPS + warp;
    if (tile >= total) return;
    fc_pixel_tile next = tile_of(a, tile, tiles);
    fc_tile_fetch<QI>(room, next, IN, lane);
    fc_commit_copies();
    for (;;) {
      const fc_pixel_tile t = next;
      tile += step;
      if (tile < total) {
        next = tile_of(a, tile, tiles);
        fc_tile_fetch<QI>(other, next, IN, lane);
      }
      fc_commit_copies();
      fc_tile_await<1>();
      unsigned char *pixels = room + fc_tile_phase(t.in);
      if (t.used < PIXELS) {
        fill(pixels, t.used, lane);
        __syncwarp();
      }
      uint32_t x[WI], y[WO];
      take(x, pixels + lane * P * IN);
      __syncwarp();
#pragma unroll
      for (int g = 0; g < P / G; g++) {
        uint32_t from[G * IN / 4], to[G * OUT / 4];
        F v[G * CI], w[G * CO];
#pragma unroll
        for (int i = 0; i < G * IN / 4; i++) from[i] = x[g * (G * IN / 4) + i];
        fc_map_values<F, T, KT>(v, from);
        fc_map_run(chain, v, w, noted, pixel_of(a, tile - step, tiles, lane * P + g * G, t.used));
        fc_map_codes<F, U, KU, Chain::QUIET>(to, w, noted);
#pragma unroll
        for (int i = 0; i < G * OUT / 4; i++) y[g * (G * OUT / 4) + i] = to[i];
      }
      keep(room, y, lane);
      __syncwarp();
      fc_tile_send<QO>(t.out, room, t.used * OUT, lane);
      if (tile >= total) break;
      __syncwarp(); // it has been sent
      unsigned char *swap = room;
      room = other, other = swap;
    }
    noted.tell(a.notes);
  }
};

// ---- pixels whose channels are planes ----------------------------------------------------

// For rows of all planes aligned to 16 bytes: a thread has P pixels, of whole words in each plane.
template <typename F, typename T, int KT, typename U, int KU, int CI, int CO, typename Chain>
struct fc_map_planes {
  static constexpr int WIDE = sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U), SLIM = sizeof(T) +
                                                                                    sizeof(U) - WIDE;
  static constexpr int P = 16 / WIDE > 4 / SLIM ? 16 / WIDE : 4 / SLIM;

  static FC_DEVICE void some(const fc_map_args &a, const fc_map_line &l, int64_t first, const Chain &chain,
                             fc_dev_noted &noted) {
    for (int64_t i = first; i < a.length; i++) {
      F v[CI], w[CO];
      for (int c = 0; c < CI; c++)
        v[c] = fc_dev_load<F, T>(l.in + c * a.in_channel + i * static_cast<int>(sizeof(T)),
                                 fc_map_scaling<F, T, KT>());
      fc_map_run(chain, v, w, noted, fc_map_at_pixel(i, l.y));
      for (int c = 0; c < CO; c++)
        *reinterpret_cast<U *>(l.out + c * a.out_channel + i * static_cast<int>(sizeof(U))) =
            fc_map_code<F, U, Chain::QUIET>(w[c], fc_map_scaling<F, U, KU>(), noted);
    }
  }

  static FC_DEVICE void run(const fc_map_args &a, const Chain &chain) {
    const int64_t lines = a.count[0] * a.count[1] * a.count[2];
    const int64_t i = (static_cast<int64_t>(blockIdx.x) * FC_MAP_THREADS + threadIdx.x) * P;
    fc_dev_noted noted = {false, false};
    for (int64_t line = blockIdx.y; line < lines && i < a.length; line += gridDim.y) {
      const fc_map_line l = fc_map_line_of(a, line);
      if (i + P > a.length) {
        some(a, l, i, chain, noted);
        continue;
      }
      uint32_t x[CI][P * sizeof(T) / 4];
#pragma unroll
      for (int c = 0; c < CI; c++)
        fc_map_load_words(x[c], l.in + c * a.in_channel + i * static_cast<int>(sizeof(T)));
      F v[P * CI], w[P * CO];
#pragma unroll
      for (int c = 0; c < CI; c++) {
        F plane[P];
        fc_map_values<F, T, KT>(plane, x[c]);
#pragma unroll
        for (int p = 0; p < P; p++) v[p * CI + c] = plane[p];
      }
      fc_map_run(chain, v, w, noted, fc_map_at_pixel(i, l.y));
#pragma unroll
      for (int c = 0; c < CO; c++) {
        F plane[P];
        uint32_t y[P * sizeof(U) / 4];
#pragma unroll
        for (int p = 0; p < P; p++) plane[p] = w[p * CO + c];
        fc_map_codes<F, U, KU, Chain::QUIET>(y, plane, noted);
        fc_map_store_words(l.out + c * a.out_channel + i * static_cast<int>(sizeof(U)), y);
      }
    }
    noted.tell(a.notes);
  }
};

// ---- anything else -----------------------------------------------------------------------

// A pixel (or sample: one channel) at a time, with any strides; EACH of a thread, FC_MAP_THREADS apart, of
// which FEW are loaded before the first is stored: memory may be the same on both sides, so the compiler
// does not. Where the first lies takes a division; the others lie `hop` bytes further each, and `wrap` where
// that is beyond the line's end. Of adjacent small codes a thread has RUNs of four instead. Lines along more
// than one axis take three divisions a unit.
template <typename F, typename T, int KT, typename U, int KU, int CI, int CO, typename Chain>
struct fc_map_strided {
  static constexpr bool SAMPLES = CI == 1 && CO == 1, SMALL = SAMPLES && sizeof(T) <= 2 && sizeof(U) <= 2;
  static constexpr int EACH = SMALL ? 16 : SAMPLES ? 8 : 4, FEW = CI * sizeof(F) > 32 ? 1 : SAMPLES ? 8 : 4;

  template <int RUN> struct unit {
    T code[RUN][CI];
    char *to;
    fc_map_at at;
    int count; // of its RUN
  };
  template <int RUN> static FC_DEVICE void load(const fc_map_args &a, unit<RUN> &u, const char *from) {
#pragma unroll
    for (int r = 0; r < RUN; r++)
      if (r < u.count)
#pragma unroll
        for (int c = 0; c < CI; c++)
          u.code[r][c] =
              *reinterpret_cast<const T *>(from + r * static_cast<int>(sizeof(T)) + c * a.in_channel);
  }
  static FC_DEVICE void store(const fc_map_args &a, const unit<1> &u, const Chain &chain,
                              fc_dev_noted &noted) {
    F v[CI], w[CO];
    if (u.count == 0) return;
#pragma unroll
    for (int c = 0; c < CI; c++) v[c] = fc_dev_value<F, T>(u.code[0][c], fc_map_scaling<F, T, KT>());
    fc_map_run(chain, v, w, noted, u.at);
#pragma unroll
    for (int c = 0; c < CO; c++)
      *reinterpret_cast<U *>(u.to + c * a.out_channel) =
          fc_map_code<F, U, Chain::QUIET>(w[c], fc_map_scaling<F, U, KU>(), noted);
  }
  // What is missing of a run is its first sample, of which nothing more is noted.
  static FC_DEVICE void store(const fc_map_args &, const unit<4> &u, const Chain &chain,
                              fc_dev_noted &noted) {
    F v[4], w[4];
    uint32_t words[sizeof(U)];
    if (u.count == 0) return;
#pragma unroll
    for (int r = 0; r < 4; r++)
      v[r] = fc_dev_value<F, T>(r < u.count ? u.code[r][0] : u.code[0][0], fc_map_scaling<F, T, KT>());
    fc_map_run(chain, v, w, noted, fc_map_at{u.at.base, u.at.y, 0, u.count});
    fc_map_codes<F, U, KU, Chain::QUIET>(words, w, noted);
#pragma unroll
    for (int r = 0; r < 4; r++)
      if (r < u.count) reinterpret_cast<U *>(u.to)[r] = fc_map_element<U>(words, r);
  }

  // Lines that are equally far apart, or one (then RUN is 1).
  template <int RUN>
  static FC_DEVICE void even(const fc_map_args &a, const Chain &chain, fc_dev_noted &noted) {
    constexpr int UNITS = EACH / RUN, AHEAD = FEW < UNITS ? FEW : UNITS;
    const bool one = a.count[2] == 1;
    const int64_t length = (a.length + RUN - 1) / RUN, total = a.count[2] * length, // in units
        first = static_cast<int64_t>(blockIdx.x) * (FC_MAP_THREADS * UNITS) + threadIdx.x;
    const int rest =
        total - first < UNITS * FC_MAP_THREADS ? static_cast<int>(total - first) : UNITS * FC_MAP_THREADS;
    const int64_t in_step = RUN * a.in_step[0], out_step = RUN * a.out_step[0];
    const uint32_t units = static_cast<uint32_t>(length);
    const int64_t down = one ? 0 : static_cast<uint32_t>(FC_MAP_THREADS) / units,
                  across = FC_MAP_THREADS - down * length, in_hop = down * a.in_step[3] + across * in_step,
                  out_hop = down * a.out_step[3] + across * out_step,
                  in_wrap = a.in_step[3] - length * in_step, out_wrap = a.out_step[3] - length * out_step;
    int64_t line = one ? 0 : static_cast<uint32_t>(first) / units, x = first - line * length;
    const char *from = a.in + line * a.in_step[3] + x * in_step;
    char *to = a.out + line * a.out_step[3] + x * out_step;
    uint32_t left = units - static_cast<uint32_t>(x); // of the line, at least 1
    const int last = RUN == 1 ? 1 : static_cast<int>(a.length - (length - 1) * RUN);
#pragma unroll
    for (int b = 0; b < UNITS; b += AHEAD) {
      unit<RUN> u[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        u[k].to = to, u[k].at = fc_map_at_pixel(x * RUN, line);
        u[k].count = (b + k) * FC_MAP_THREADS >= rest ? 0 : RUN > 1 && left == 1 ? last : RUN;
        load(a, u[k], from);
        const bool wraps = !one && left <= across;
        from += in_hop + (wraps ? in_wrap : 0), to += out_hop + (wraps ? out_wrap : 0);
        x += across - (wraps ? length : 0), line += down + wraps;
        left += (wraps ? units : 0) - static_cast<uint32_t>(across);
      }
#pragma unroll
      for (int k = 0; k < AHEAD; k++) store(a, u[k], chain, noted);
    }
  }

  static FC_DEVICE void uneven(const fc_map_args &a, const Chain &chain, fc_dev_noted &noted) {
    constexpr int AHEAD = FEW < 2 ? FEW : 2;
    const int64_t total = a.count[0] * a.count[1] * a.count[2] * a.length,
                  first = static_cast<int64_t>(blockIdx.x) * (FC_MAP_THREADS * EACH) + threadIdx.x;
#pragma unroll 1
    for (int b = 0; b < EACH; b += AHEAD) {
      unit<1> u[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        const int64_t i = first + (b + k) * FC_MAP_THREADS;
        u[k].count = i < total;
        if (i >= total) continue;
        const int64_t line = static_cast<uint32_t>(i) / static_cast<uint32_t>(a.length),
                      x = i - line * a.length;
        const fc_map_line l = fc_map_line_of(a, line);
        u[k].to = l.out + x * a.out_step[0], u[k].at = fc_map_at_pixel(x, l.y);
        load(a, u[k], l.in + x * a.in_step[0]);
      }
#pragma unroll
      for (int k = 0; k < AHEAD; k++) store(a, u[k], chain, noted);
    }
  }

  static FC_DEVICE void run(const fc_map_args &a, const Chain &chain) {
    fc_dev_noted noted = {false, false};
    const bool adjacent = a.in_step[0] == sizeof(T) && a.out_step[0] == sizeof(U);
    if (a.count[0] * a.count[1] > 1)
      uneven(a, chain, noted);
    else if (SMALL && adjacent && a.count[2] > 1)
      even<SMALL ? 4 : 1>(a, chain, noted);
    else
      even<1>(a, chain, noted);
    noted.tell(a.notes);
  }
};

#endif

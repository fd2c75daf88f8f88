// SPDX-License-Identifier: MIT
//
// packs.cuh - dense lines of samples as packs of 16 bytes, for operations that treat samples independently:
// the positions of a line's packs, their loads, which need not be aligned, and their stores.
#ifndef FC_FILTERS_PACKS_CUH
#define FC_FILTERS_PACKS_CUH

#include "filters/gpu/sample_words.cuh"

// Elements that a thread processes together, as words: the wider of the two types fills 16 bytes.
template <typename T, int N> struct fc_packed {
  static constexpr int WORDS = N * static_cast<int>(sizeof(T)) / 4;
  uint32_t word[WORDS];
};

template <typename T, typename U> struct fc_pack {
  static constexpr int size = 16 / (sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U));
};

// A dense line divided into packs that are aligned in the output: `head` elements before them, `body` is
// their end. If they are not also aligned in the input (`alike`) they are read by words, of which the first
// and the last of a pack may extend up to three bytes beyond it, but never beyond the line.
struct fc_packs {
  int64_t head, count, body;
  bool alike;
};

template <typename T, typename U>
__host__ __device__ __forceinline__ fc_packs fc_packs_of(const char *from, const char *to, int64_t length) {
  constexpr int N = fc_pack<T, U>::size, bytes = N * static_cast<int>(sizeof(T));
  fc_packs p;
  p.head = (N - static_cast<int>(reinterpret_cast<uintptr_t>(to) / sizeof(U) % N)) % N;
  const uintptr_t first = reinterpret_cast<uintptr_t>(from) + p.head * sizeof(T);
  const int askew = static_cast<int>(first % 4);
  p.alike = first % bytes == 0;
  if (p.head * static_cast<int>(sizeof(T)) < askew) p.head += N;
  const int64_t rest = length - p.head - (askew ? 4 / static_cast<int>(sizeof(T)) : 0);
  p.count = rest > 0 ? rest / N : 0;
  if (p.count == 0) p.head = 0;
  p.body = p.head + p.count * N;
  return p;
}

// Words from an address that is aligned to all of them.
template <int WORDS> __device__ __forceinline__ void fc_words_load(uint32_t (&to)[WORDS], const char *from) {
  if constexpr (WORDS == 4) {
    const uint4 v = *reinterpret_cast<const uint4 *>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else if constexpr (WORDS == 2) {
    const uint2 v = *reinterpret_cast<const uint2 *>(from);
    to[0] = v.x, to[1] = v.y;
  } else {
    to[0] = *reinterpret_cast<const uint32_t *>(from);
  }
}

// From any other address: from the word that contains it, and one more if it is not aligned. Shifting is a
// separate step, so that all loads of a thread are issued together.
template <int WORDS>
__device__ __forceinline__ void fc_words_load_askew(uint32_t (&to)[WORDS], uint32_t *last, const char *from,
                                                    uint32_t askew) {
  const uint32_t *word = reinterpret_cast<const uint32_t *>(from - askew);
#pragma unroll
  for (int i = 0; i < WORDS; i++) to[i] = word[i];
  *last = askew ? word[WORDS] : 0;
}
template <int WORDS>
__device__ __forceinline__ void fc_words_shift(uint32_t (&v)[WORDS], uint32_t last, uint32_t askew) {
#pragma unroll
  for (int i = 0; i < WORDS; i++) v[i] = __funnelshift_r(v[i], i + 1 < WORDS ? v[i + 1] : last, askew * 8);
}

// One store: otherwise the compiler may store the elements one by one.
template <int WORDS> __device__ __forceinline__ void fc_words_store(void *to, const uint32_t (&v)[WORDS]) {
  if constexpr (WORDS == 4)
    *static_cast<uint4 *>(to) = make_uint4(v[0], v[1], v[2], v[3]);
  else if constexpr (WORDS == 2)
    *static_cast<uint2 *>(to) = make_uint2(v[0], v[1]);
  else
    *static_cast<uint32_t *>(to) = v[0];
}

// Values of packed elements and back.
template <typename F, typename T, int N>
__device__ __forceinline__ void fc_packed_values(F (&v)[N], const fc_packed<T, N> &from, fc_dev_map<F> map) {
  if constexpr (fc_is_code<T> && sizeof(F) == 4) {
    fc_words_values<T, N>(v, from.word, map);
  } else {
    T code[N];
    memcpy(code, from.word, sizeof code);
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = fc_dev_value<F, T>(code[k], map);
  }
}

template <typename F, typename U, int N>
__device__ __forceinline__ void fc_packed_codes(fc_packed<U, N> &to, const F (&v)[N], fc_dev_map<F> map,
                                                fc_dev_noted &noted, uint32_t *notes) {
  if constexpr (fc_is_code<U> && sizeof(F) == 4) {
    fc_words_codes<U, N>(to.word, v, map, noted);
  } else {
    U code[N];
#pragma unroll
    for (int k = 0; k < N; k++) code[k] = fc_dev_code<F, U>(v[k], map, notes);
    memcpy(to.word, code, sizeof code);
  }
}

#ifndef __CUDACC_RTC__
// Calls f with a value of the output's type if it and the input's are a common pair: equal types and, in f32,
// those of 8 and 16 bits among each other and with f32.
template <typename F, typename T, typename Fn> bool fc_with_common(int out_dtype, T, Fn f) {
  return fc_dispatch_dtype(out_dtype, [&](auto u) {
           using U = decltype(u);
           constexpr bool same = std::is_same<T, U>::value;
           constexpr bool one = std::is_same<T, float>::value || std::is_same<U, float>::value;
           constexpr bool codes = fc_is_code<T> && fc_is_code<U>;
           if constexpr (same || (sizeof(F) == 4 && (one || codes))) return f(u), FC_OK;
           return FC_UNSUPPORTED;
         }) == FC_OK;
}
#endif

#endif

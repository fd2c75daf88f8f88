// SPDX-License-Identifier: MIT
//
// sample_words.cuh - codes of 8 and 16 bits in the words of a thread's registers, to floats and back. Per
// cycle a multiprocessor converts 16 values between integers and floats, but permutes the bytes of 64 and
// adds 128. So a code is combined with the bits of 2^23, which gives the float 2^23 + code; and adding 1.5 *
// 2^23 to a float leaves its nearest integer, half to even, in the low bits. Results are those of
// fc_dev_value and fc_dev_code, to the bit.
#ifndef FC_FILTERS_SAMPLE_WORDS_CUH
#define FC_FILTERS_SAMPLE_WORDS_CUH

#include <type_traits>

#include "filters/gpu/cuda.cuh"

// Notes on the samples that a thread has stored, written once at its end.
struct fc_dev_noted {
  bool nan, clipped;

  __device__ __forceinline__ void tell(uint32_t *notes) const {
    if (nan) fc_dev_note(notes, 0);
    if (clipped) fc_dev_note(notes, 1);
  }
};

template <typename T> constexpr bool fc_is_code = sizeof(T) < 4;
// Makes codes start from 0.
template <typename T> constexpr int fc_code_offset = std::is_signed<T>::value ? 32768 : 0;

// ---- to floats -----------------------------------------------------------

template <typename T, int N>
__device__ __forceinline__ void fc_words_values(float (&v)[N], const uint32_t (&from)[N * sizeof(T) / 4],
                                                fc_dev_map<float> map) {
  const float beyond = -(8388608.f + static_cast<float>(fc_code_offset<T> + map.bias)) * map.scale;
  constexpr int each = 4 / sizeof(T);
#pragma unroll
  for (int k = 0; k < N; k++) {
    const uint32_t word = std::is_signed<T>::value ? from[k / each] ^ 0x80008000u : from[k / each];
    const uint32_t which = each == 4 ? 0x7440u + k % each : k % each ? 0x7432u : 0x7410u;
    v[k] = fmaf(__uint_as_float(__byte_perm(word, 0x4b000000u, which)), map.scale, beyond);
  }
}

// The same of one sample, of any type.
template <typename T> __device__ __forceinline__ float fc_code_value(T code, fc_dev_map<float> map) {
  if constexpr (fc_is_code<T>) {
    const float beyond = -(8388608.f + static_cast<float>(fc_code_offset<T> + map.bias)) * map.scale;
    const uint32_t bits = static_cast<typename std::make_unsigned<T>::type>(code) ^ fc_code_offset<T>;
    return fmaf(__uint_as_float(bits | 0x4b000000u), map.scale, beyond);
  } else {
    return fc_dev_value<float, T>(code, map);
  }
}

// ---- to codes ------------------------------------------------------------

// One by one: for NaN and values far out of range. The device rounds NaN to 0, and values out of range to the
// nearest 32-bit integer.
template <typename T>
__device__ __forceinline__ T fc_code_held(float v, fc_dev_map<float> map, fc_dev_noted &noted) {
  const float scaled = v * map.inverse;
  const int32_t low = fc_dev_limits<T>::low - map.bias, high = fc_dev_limits<T>::high - map.bias;
  const int32_t code = __float2int_rn(scaled), held = min(max(code, low), high);
  noted.nan |= scaled != scaled, noted.clipped |= code != held;
  return static_cast<T>(held + map.bias);
}

template <typename T, int N>
__device__ __forceinline__ void fc_words_held(uint32_t (&to)[N * sizeof(T) / 4], const float (&v)[N],
                                              fc_dev_map<float> map, fc_dev_noted &noted) {
  constexpr int each = 4 / sizeof(T), bits = 8 * sizeof(T);
#pragma unroll
  for (int k = 0; k < N; k++) {
    const uint32_t code =
        static_cast<typename std::make_unsigned<T>::type>(fc_code_held<T>(v[k], map, noted));
    to[k / each] = k % each ? to[k / each] | code << (k % each * bits) : code;
  }
}

// Four bytes of floats whose low 16 bits are 32768 + code, codes that fit 16 bits.
__device__ __forceinline__ uint32_t fc_bytes_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const uint32_t low = 0x80008000u, high = 0x80ff80ffu;
  const uint32_t first = __vmaxu2(__vminu2(__byte_perm(a, b, 0x5410), high), low);
  const uint32_t second = __vmaxu2(__vminu2(__byte_perm(c, d, 0x5410), high), low);
  return __byte_perm(first, second, 0x6420);
}

// Limits both 16-bit halves to 0 to 255.
__device__ __forceinline__ uint32_t fc_held_bytes(uint32_t codes) {
#if __CUDA_ARCH__ >= 900
  return __vimin_s16x2_relu(codes, 0x00ff00ffu);
#else
  return __vmaxs2(__vmins2(codes, 0x00ff00ffu), 0u);
#endif
}

// Bytes of floats whose low 16 bits are codes, as signed numbers.
template <int N>
__device__ __forceinline__ void fc_bytes_near(uint32_t (&to)[N / 4], const uint32_t (&t)[N],
                                              fc_dev_noted &noted) {
  uint32_t beyond = 0;
#pragma unroll
  for (int k = 0; k < N; k += 4) {
    const uint32_t a = __byte_perm(t[k], t[k + 1], 0x5410), b = __byte_perm(t[k + 2], t[k + 3], 0x5410);
    const uint32_t first = fc_held_bytes(a), second = fc_held_bytes(b);
    beyond |= a ^ first, beyond |= b ^ second;
    to[k / 4] = __byte_perm(first, second, 0x6420);
  }
  noted.clipped |= beyond != 0;
}

// Moves codes into the low bits: bytes to the middle of 16, so that those slightly out of range are still
// numbers; and the bits above them.
template <typename T> constexpr int fc_codes_offset = sizeof(T) == 1 ? 32768 : fc_code_offset<T>;
template <typename T> constexpr uint32_t fc_codes_zero = 0x4b400000u + (sizeof(T) == 1 ? 32768 : 0);

// One sample: a code, or a float unchanged.
template <typename T>
__device__ __forceinline__ T fc_value_code(float v, fc_dev_map<float> map, fc_dev_noted &noted) {
  if constexpr (fc_is_code<T>) {
    const float magic = 12582912.f + static_cast<float>(fc_codes_offset<T> + map.bias);
    const uint32_t t = __float_as_uint(fmaf(v, map.inverse, magic));
    if ((t ^ fc_codes_zero<T>) >> 8 * sizeof(T)) return fc_code_held<T>(v, map, noted);
    return static_cast<T>(t ^ fc_code_offset<T>);
  } else {
    return fc_dev_code<float, T>(v, map, nullptr);
  }
}

// Bytes of values that are known to lie near their range, so that no code exceeds 16 bits, and not to be NaN.
template <int N>
__device__ __forceinline__ void fc_words_near(uint32_t (&to)[N / 4], const float (&v)[N],
                                              fc_dev_map<float> map, fc_dev_noted &noted) {
  uint32_t t[N];
#pragma unroll
  for (int k = 0; k < N; k++)
    t[k] = __float_as_uint(fmaf(v[k], map.inverse, 12582912.f + static_cast<float>(map.bias)));
  fc_bytes_near<N>(to, t, noted);
}

// N samples, whole words of them.
template <typename T, int N>
__device__ __forceinline__ void fc_words_codes(uint32_t (&to)[N * sizeof(T) / 4], const float (&v)[N],
                                               fc_dev_map<float> map, fc_dev_noted &noted) {
  const float magic = 12582912.f + static_cast<float>(fc_codes_offset<T> + map.bias);
  uint32_t t[N], beyond = 0; // bits that no code has
#pragma unroll
  for (int k = 0; k < N; k++) {
    t[k] = __float_as_uint(fmaf(v[k], map.inverse, magic));
    beyond |= t[k] ^ fc_codes_zero<T>;
  }
  if (beyond >> 16) return fc_words_held<T, N>(to, v, map, noted);
  if constexpr (sizeof(T) == 1) {
    noted.clipped |= beyond >> 8 != 0;
#pragma unroll
    for (int k = 0; k < N; k += 4) to[k / 4] = fc_bytes_of(t[k], t[k + 1], t[k + 2], t[k + 3]);
  } else {
#pragma unroll
    for (int k = 0; k < N; k += 2)
      to[k / 2] = __byte_perm(t[k], t[k + 1], 0x5410) ^ (std::is_signed<T>::value ? 0x80008000u : 0u);
  }
}

#endif

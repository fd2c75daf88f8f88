// SPDX-License-Identifier: MIT
//
// quads.cuh - horizontal sums of rows of bytes as in digits.cuh, by windows of 16 outputs: if these with
// their margin are 32 bytes, a window's words serve two products, one for the first two of each 4 outputs and
// one for the others. So a thread has 4 adjacent outputs of a window, which it stores together, and reads
// half the words. A warp has 256 adjacent columns: a thread has 4 of the first 128, and 4 of the others.
//
// Sums of integers are exact, so the bits are those of fc_sepconv_bytes. Internal to filters/.
#ifndef FC_FILTERS_SEPCONV_QUADS_CUH
#define FC_FILTERS_SEPCONV_QUADS_CUH

#include "filters/filter2d/sepconv/digits.cuh"

// Digits of T: [half][digit][register][lane].
struct fc_quads_digits {
  uint32_t of[2][3][2][32];
};
struct fc_quads_fragment {
  uint32_t of[2][3][2];
};

// For windows that begin `shift` bytes into a word. Called by all threads, which may read them after the next
// barrier.
[[maybe_unused]] __device__ __forceinline__ void fc_quads_make(const fc_byte_taps &t, int shift,
                                                               fc_quads_digits &all) {
  const uint32_t *x = fc_share_digits(t);
#pragma unroll 1
  for (int i = threadIdx.x; i < 4 * 32; i += blockDim.x) {
    const int half = i / 64, r = i / 32 % 2, lane = i % 32, n = lane / 4;
    uint32_t word[3] = {0, 0, 0};
#pragma unroll
    for (int byte = 0; byte < 4; byte++) {
      const int e = lane % 4 * 8 + r * 4 + byte - shift - (n / 2 * 4 + n % 2 + 2 * half), tap = e / t.step;
      if (e < 0 || tap * t.step != e || tap >= t.nx) continue;
#pragma unroll
      for (int d = 0; d < 3; d++) word[d] |= (x[tap] >> 8 * d & 255) << 8 * byte;
    }
#pragma unroll
    for (int d = 0; d < 3; d++) all.of[half][d][r][lane] = word[d];
  }
}

[[maybe_unused]] __device__ __forceinline__ void fc_quads_load(const fc_quads_digits &all,
                                                               fc_quads_fragment &f) {
#pragma unroll
  for (int i = 0; i < 12; i++)
    f.of[i / 6][i / 2 % 3][i % 2] = all.of[i / 6][i / 2 % 3][i % 2][threadIdx.x % 32];
}

// A thread's first column in a block, and the word of a row in which its window of the first 128 begins: that
// of the other is 32 further.
__device__ __forceinline__ int fc_quads_column(void) {
  return static_cast<int>(threadIdx.x) / 32 * 256 + static_cast<int>(threadIdx.x) % 32 * 4;
}
__device__ __forceinline__ int fc_quads_word(void) {
  const int lane = threadIdx.x % 32;
  return static_cast<int>(threadIdx.x) / 32 * 64 + lane / 4 * 4 + lane % 4 * 2;
}

// A thread's sums of two windows; `one` and `two` are its words. SHIFTED: windows begin `bits` into them.
template <bool SHIFTED>
[[maybe_unused]] __device__ __forceinline__ void
fc_quads_windows(const uint32_t *first_word, const uint32_t *second_word, [[maybe_unused]] uint32_t bits,
                 const fc_quads_fragment &f, float4 (&v)[2]) {
  const volatile uint32_t *one = first_word, *two = second_word; // loads of 32 bits, see fc_sum_windows
  uint32_t a[4] = {one[0], two[0], one[1], two[1]};
  if (SHIFTED) {
    const uint32_t first = one[2], second = two[2];
    a[0] = __funnelshift_r(a[0], a[2], bits), a[1] = __funnelshift_r(a[1], a[3], bits);
    a[2] = __funnelshift_r(a[2], first, bits), a[3] = __funnelshift_r(a[3], second, bits);
  }
  fc_tile_sums sum[2][3];
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int d = 0; d < 3; d++) sum[half][d] = fc_multiply_bytes(a, f.of[half][d], fc_tile_sums{});
  float of[2][4];
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      of[i / 2][2 * half + i % 2] =
          static_cast<float>((sum[half][2].of[i] * 256 + sum[half][1].of[i]) * 256 + sum[half][0].of[i]);
#pragma unroll
  for (int g = 0; g < 2; g++) v[g] = make_float4(of[g][0], of[g][1], of[g][2], of[g][3]);
}

// The same of a row, where the second window lies 128 further.
template <bool SHIFTED>
[[maybe_unused]] __device__ __forceinline__ void fc_quads_sum(const uint32_t *s, uint32_t bits,
                                                              const fc_quads_fragment &f, float4 (&v)[2]) {
  fc_quads_windows<SHIFTED>(s, s + 32, bits, f, v);
}

// Four integers as bytes, clamped.
[[maybe_unused]] __device__ __forceinline__ uint32_t fc_quads_bytes(const uint32_t *code) {
  uint32_t bytes;
  asm("{\n"
      ".reg .b32 high;\n"
      "cvt.pack.sat.u8.s32.b32 high, %1, %2, 0;\n"
      "cvt.pack.sat.u8.s32.b32 %0, %3, %4, high;\n"
      "}"
      : "=r"(bytes)
      : "r"(code[3] - FC_BYTE_ZERO), "r"(code[2] - FC_BYTE_ZERO), "r"(code[1] - FC_BYTE_ZERO),
        "r"(code[0] - FC_BYTE_ZERO));
  return bytes;
}

template <typename T> __device__ __forceinline__ void fc_store_if(bool is_one, char *to, uint32_t value) {
  const uint32_t stored = is_one;
  if constexpr (sizeof(T) == 4)
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, %0, 0;\n"
                 "@p st.global.u32 [%1], %2;\n"
                 "}" ::"r"(stored),
                 "l"(to), "r"(value)
                 : "memory");
  else
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, %0, 0;\n"
                 "@p st.global.u8 [%1], %2;\n"
                 "}" ::"r"(stored),
                 "l"(to), "r"(value)
                 : "memory");
}

// Stores a row of a whole band, if it is one of output. `to` is the address of the thread's first column.
// SHIFTED: at any address. Then words are combined with those of the previous lane, and the last lane's last
// bytes with the first lane's first: those 4 bytes, of which some belong to the end of the warp's columns and
// some to their beginning, are each stored by one lane.
template <bool SHIFTED>
[[maybe_unused]] __device__ __forceinline__ void fc_quads_store(bool is_output, char *to,
                                                                const float4 (&sum)[2], uint32_t &seen) {
  uint32_t code[8], all = 0;
  fc_round_sums<2>(sum, code);
#pragma unroll
  for (int i = 0; i < 8; i++) all |= code[i];
  seen |= is_output ? all : 0;
  const uint32_t one = fc_quads_bytes(code), two = fc_quads_bytes(code + 4);
  if (!SHIFTED) {
    fc_store_if<uint32_t>(is_output, to, one);
    fc_store_if<uint32_t>(is_output, to + 128, two);
    return;
  }
  const int lane = threadIdx.x % 32, back = static_cast<int>(reinterpret_cast<uintptr_t>(to) % 4);
  const uint32_t before = __shfl_sync(~0u, lane == 31 ? two : one, lane + 31),
                 between = __shfl_sync(~0u, lane == 31 ? one : two, lane + 31);
  const uint32_t first = __funnelshift_l(before, one, 8 * back),
                 second = __funnelshift_l(between, two, 8 * back);
  const uint32_t ends = __shfl_sync(~0u, first, 0);
  char *word = to - back;
  fc_store_if<uint32_t>(is_output && lane > 0, word, first);
  fc_store_if<uint32_t>(is_output, word + 128, second);
  fc_store_if<uint8_t>(is_output && lane < 4, word - 3 * lane + (lane < back ? 256 : 0), ends >> 8 * lane);
}

// A thread's column i, counted from its first.
__device__ __forceinline__ constexpr int fc_quads_column_of(int i) {
  return i / 4 * 128 + i % 4;
}

// The same if not all columns exist, but those whose bits are set in `inside`: one by one.
[[maybe_unused]] __device__ __forceinline__ void fc_quads_store_some(char *to, uint32_t inside,
                                                                     const float4 (&sum)[2], uint32_t &seen) {
  uint32_t code[8];
  fc_round_sums<2>(sum, code);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    if (!(inside >> i & 1)) continue;
    seen |= code[i];
    to[fc_quads_column_of(i)] = static_cast<char>(fc_bytes_of(code[i], FC_BYTE_ZERO));
  }
}

// Which of a thread's columns exist in a band of `width`.
[[maybe_unused]] __device__ __forceinline__ uint32_t fc_quads_inside(int width) {
  uint32_t inside = 0;
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (fc_quads_column() + fc_quads_column_of(i) < width) inside |= 1u << i;
  asm volatile("" : "+r"(inside)); // or the compiler finds it out anew in every row
  return inside;
}

// ---- launching -------------------------------------------------------------

// Whether rows of outputs have different alignments to a word, or are not aligned.
static inline bool fc_quads_ragged(const fc_march &m) {
  const int64_t ends = (m.images > 1 ? m.out_image : 0) | (m.planes > 1 ? m.out_plane : 0) | m.out_row;
  return (ends | m.columns | static_cast<int64_t>(reinterpret_cast<uintptr_t>(m.out))) % 4 != 0;
}

#endif

// SPDX-License-Identifier: MIT
//
// digits.cuh - horizontal sums of rows of bytes by the integer matrix units; code shared by the filters of u8
// images. Internal to filters/.
//
// Multiply-adds are too slow for bytes: k taps in each direction are 2k of them per sample, and converting
// costs as much again. So a row's taps are integers of 24 bits (fixed point, so that 255 times the sum of
// their magnitudes fits 31 bits), in three digits of 8, and the sums along are products of matrices of bytes:
//
//   D[m][n] = sum over w < 32 * KS of window m's byte w * T[w][n]
//
// where window m begins 8 m bytes into the row, and column n of T holds the taps so that D is output n of the
// 8 above window m. The zeros in T cost far less than the units save. The 16 windows of a product are
// adjacent in one row, so that a thread always has the same 4 columns, and the vertical sums are
// multiply-adds in its registers as elsewhere. Products of integers are exact: no sum depends on the window's
// position, and the error is that of taps rounded to 2^-23 of the sum of their magnitudes.
#ifndef FC_FILTERS_SEPCONV_DIGITS_CUH
#define FC_FILTERS_SEPCONV_DIGITS_CUH

#include <math.h>

#include "filters/filter2d/band.cuh"
#include "filters/filter2d/sepconv.h"

constexpr int FC_DIGIT_STEPS = 5;             // of 32 bytes of a window
constexpr int64_t FC_DIGIT_LARGEST = 8355000; // sum of magnitudes of integer taps

// The horizontal taps.
struct fc_byte_taps {
  int nx, step;
  uint32_t x[FC_DIGIT_TAPS]; // digits, the least in the lowest byte
};

// Digits of T for windows that begin `shift` bytes into a word, in the layout of the units:
// [shift][step][digit][register][lane].
template <int KS> struct fc_digits { uint32_t of[4][KS][3][2][32]; };

// The words of one lane for 4 adjacent bytes of the window: step k / 2, register k % 2. `x` are the digits of
// the taps, `step` apart.
template <int KS>
__device__ __forceinline__ void fc_make_digit(const uint32_t *x, int nx, int step, int shift, int k, int lane,
                                              fc_digits<KS> &all) {
  uint32_t word[3] = {0, 0, 0};
#pragma unroll
  for (int byte = 0; byte < 4; byte++) {
    const int e = k / 2 * 32 + lane % 4 * 8 + k % 2 * 4 + byte - shift - lane / 4, tap = e / step;
    if (e < 0 || tap * step != e || tap >= nx) continue;
#pragma unroll
    for (int d = 0; d < 3; d++) word[d] |= (x[tap] >> 8 * d & 255) << 8 * byte;
  }
#pragma unroll
  for (int d = 0; d < 3; d++) all.of[shift][k / 2][d][k % 2][lane] = word[d];
}

// The taps in shared memory, since threads need different ones. Called by all threads.
__device__ __forceinline__ const uint32_t *fc_share_digits(const fc_byte_taps &t) {
  __shared__ uint32_t x[FC_DIGIT_TAPS];
  for (int i = threadIdx.x; i < t.nx; i += blockDim.x) x[i] = t.x[i];
  __syncthreads();
  return x;
}

// All shifts, one per warp.
template <int KS> __device__ __forceinline__ void fc_make_digits(const fc_byte_taps &t, fc_digits<KS> &all) {
  const uint32_t *x = fc_share_digits(t);
#pragma unroll 1
  for (int k = 0; k < 2 * KS; k++)
    fc_make_digit<KS>(x, t.nx, t.step, threadIdx.x / 32, k, threadIdx.x % 32, all);
}

template <int KS> struct fc_fragment { uint32_t of[KS][3][2]; };

template <int KS>
__device__ __forceinline__ void fc_load_digits(const fc_digits<KS> &all, uint32_t shift, fc_fragment<KS> &f) {
#pragma unroll
  for (int k = 0; k < KS; k++)
#pragma unroll
    for (int d = 0; d < 3; d++)
#pragma unroll
      for (int r = 0; r < 2; r++) f.of[k][d][r] = all.of[shift][k][d][r][threadIdx.x % 32];
}

struct fc_tile_sums {
  int of[4];
};

[[maybe_unused]] __device__ __forceinline__ fc_tile_sums fc_multiply_bytes(const uint32_t (&a)[4],
                                                                           const uint32_t (&b)[2],
                                                                           const fc_tile_sums &c) {
  fc_tile_sums d;
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=&r"(d.of[0]), "=&r"(d.of[1]), "=&r"(d.of[2]), "=&r"(d.of[3]) // not in a's place: that costs moves
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c.of[0]), "r"(c.of[1]),
        "r"(c.of[2]), "r"(c.of[3]));
  return d;
}

// A thread's 4 horizontal sums: 2 adjacent ones of each of two windows. `s` and `r` are its words of the
// first; bytes are distributed so that its next word is the one after.
template <int KS>
__device__ __forceinline__ float4 fc_sum_windows(const uint32_t *s, const uint32_t *r,
                                                 const fc_fragment<KS> &f) {
  // 4 loads into adjacent registers, instead of 2 of 64 bits and moves
  const volatile uint32_t *one = s, *two = r;
  fc_tile_sums sum[3] = {};
#pragma unroll
  for (int k = 0; k < KS; k++) {
    const uint32_t a[4] = {one[8 * k], two[8 * k], one[8 * k + 1], two[8 * k + 1]};
#pragma unroll
    for (int d = 0; d < 3; d++) sum[d] = fc_multiply_bytes(a, f.of[k][d], sum[d]);
  }
  float v[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    v[i] = static_cast<float>((sum[2].of[i] * 256 + sum[1].of[i]) * 256 + sum[0].of[i]);
  return make_float4(v[0], v[1], v[2], v[3]);
}

// The same for a row, where the second window is 64 further.
template <int KS>
__device__ __forceinline__ float4 fc_sum_bytes(const uint32_t *s, const fc_fragment<KS> &f) {
  return fc_sum_windows<KS>(s, s + 16, f);
}

// Column i of a thread's 4 * GROUPS, counted from its first.
__device__ __forceinline__ constexpr int fc_column_of(int i) {
  return i / 4 * FC_BAND_WIDTH + i % 4 / 2 * 64 + i % 2;
}

__device__ __forceinline__ int fc_first_column(void) {
  const int lane = threadIdx.x % 32;
  return static_cast<int>(threadIdx.x) / 32 * 128 + lane / 4 * 8 + lane % 4 * 2;
}

// Those of a thread's columns that exist in a band of `width`, a bit each.
template <int G> __device__ __forceinline__ uint32_t fc_columns_inside(int width) {
  uint32_t inside = 0;
#pragma unroll
  for (int i = 0; i < 4 * G; i++)
    if (fc_first_column() + fc_column_of(i) < width) inside |= 1u << i;
  return inside;
}

constexpr uint32_t FC_BYTE_ZERO =
    0x4b400000; // 1.5 * 2^23: adding it rounds half to even and leaves the integer in the low bits

// Two integers as bytes, clamped.
[[maybe_unused]] __device__ __forceinline__ uint32_t fc_bytes_of(uint32_t low, uint32_t high) {
  uint32_t bytes;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;"
      : "=r"(bytes)
      : "r"(high - FC_BYTE_ZERO), "r"(low - FC_BYTE_ZERO));
  return bytes;
}

// Integers in the low bits, to be clamped. Sums stay below 2^21, so that a sum outside 0 to 255 can be seen
// in the combined bits of all.
template <int G>
[[maybe_unused]] __device__ __forceinline__ void fc_round_sums(const float4 (&sum)[G],
                                                               uint32_t (&code)[4 * G]) {
  const float zero = __uint_as_float(FC_BYTE_ZERO);
#pragma unroll
  for (int g = 0; g < G; g++) {
    code[4 * g] = __float_as_uint(sum[g].x + zero), code[4 * g + 1] = __float_as_uint(sum[g].y + zero);
    code[4 * g + 2] = __float_as_uint(sum[g].z + zero), code[4 * g + 3] = __float_as_uint(sum[g].w + zero);
  }
}

// Stores a row of sums of a whole band, which may not be an output row: without branches, so that several
// rows are processed concurrently. Two at a time, at even addresses.
template <int G>
[[maybe_unused]] __device__ __forceinline__ void fc_store_whole(bool is_output, char *row,
                                                                const float4 (&sum)[G], uint32_t &seen) {
  uint32_t code[4 * G], all = 0;
  fc_round_sums<G>(sum, code);
#pragma unroll
  for (int i = 0; i < 4 * G; i += 2) {
    const uint32_t bytes = fc_bytes_of(code[i], code[i + 1]), stored = is_output;
    char *to = row + fc_column_of(i);
    all |= code[i] | code[i + 1];
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, %0, 0;\n"
                 "@p st.global.u16 [%1], %2;\n"
                 "}" ::"r"(stored),
                 "l"(to), "h"(static_cast<uint16_t>(bytes))
                 : "memory");
  }
  seen |= is_output ? all : 0;
}

// ---- launching -------------------------------------------------------------

// Whether the kernel was compiled for a device with these units. If the build has no code for a device, that
// of an older one runs, which is empty.
static inline bool fc_has_units(const void *kernel) {
  cudaFuncAttributes a;
  if (cudaFuncGetAttributes(&a, kernel) == cudaSuccess) return a.ptxVersion >= 80;
  cudaGetLastError();
  return false;
}

static inline double fc_magnitude(const void *taps, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += fabs(static_cast<double>(static_cast<const float *>(taps)[i]));
  return sum;
}

// v in signed digits of 8 bits, the least significant first.
static inline uint32_t fc_digits_of(int64_t v) {
  const int64_t low = ((v + 128) & 255) - 128, rest = (v - low) / 256;
  const int64_t middle = ((rest + 128) & 255) - 128, high = (rest - middle) / 256;
  return static_cast<uint32_t>((low & 255) | (middle & 255) << 8 | (high & 255) << 16);
}

// Steps of 32 bytes that a window needs, from the word of the first of 8 windows on.
static inline int fc_digit_steps(const fc_march &m) {
  const bool words = (fc_band_steps(m) | m.columns | reinterpret_cast<intptr_t>(m.in)) % 4 == 0;
  return (8 + m.margin + (words ? 0 : 3) + 31) / 32;
}

// Reads the horizontal taps, and returns the exponent by which they are scaled.
static inline int fc_read_bytes_taps(const fc_sepconv *op, int step, fc_byte_taps *t) {
  const float *x = static_cast<const float *>(op->x);
  int exponent;
  frexp(static_cast<double>(FC_DIGIT_LARGEST) / fc_magnitude(x, op->nx), &exponent);
  exponent--; // 2^exponent * sum <= FC_DIGIT_LARGEST
  *t = fc_byte_taps{};
  t->nx = static_cast<int>(op->nx), t->step = step;
  for (int64_t i = 0; i < op->nx; i++)
    t->x[i] = fc_digits_of(llrint(ldexp(static_cast<double>(x[i]), exponent)));
  return exponent;
}

// Like fc_band_of, for bytes and windows of so many steps of 32 bytes.
static inline fc_band fc_bytes_band_of(const fc_sepconv *op, const fc_march &m, int groups, int steps) {
  fc_band b = fc_band_of(m, groups, 0);
  const int64_t ends = (m.images > 1 ? m.out_image : 0) | (m.planes > 1 ? m.out_plane : 0) | m.out_row;
  b.wide = (ends | static_cast<int64_t>(reinterpret_cast<uintptr_t>(m.out))) % 2 == 0;
  b.rows_down = static_cast<int32_t>(op->ny);
  b.pitch = groups * FC_BAND_WIDTH / 4 + 8 * steps + 8;
  return b;
}

#endif

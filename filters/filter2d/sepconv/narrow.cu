// SPDX-License-Identifier: MIT
//
// narrow.cu - separable filters of narrow images (conv2d/narrow.cuh): lanes sum their rows horizontally, in
// place; then all sum vertically. From u8 to u8 the horizontal sums are those of bytes.cu, exact integers
// with taps of 24 bits.
#include "filters/filter2d/conv2d/narrow.cuh"
#include "filters/filter2d/sepconv/band.cuh"
#include "filters/filter2d/sepconv/digits.cuh"

namespace {

constexpr int TAPS = (FC_NARROW_TAPS + 3) / 4 * 4;

template <typename V> struct taps {
  alignas(16) V x[TAPS];
  alignas(16) float y[TAPS];
};

template <typename V> struct four_of { using type = float4; };
template <> struct four_of<int> { using type = int4; };

__device__ __forceinline__ float4 as_floats(float4 v) {
  return v;
}
__device__ __forceinline__ float4 as_floats(int4 v) {
  return make_float4(static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z),
                     static_cast<float>(v.w));
}

__device__ __forceinline__ void multiply_add(float tap, const float *v, float4 &sum) {
  fc_fma4(tap, v[0], v[1], v[2], v[3], sum);
}
__device__ __forceinline__ void multiply_add(int tap, const int *v, int4 &sum) {
  sum.x += tap * v[0], sum.y += tap * v[1], sum.z += tap * v[2], sum.w += tap * v[3];
}

// Reads a row of floats by quads, in order.
struct floats {
  const float *at; // aligned to 16 bytes

  __device__ __forceinline__ floats(const fc_narrow &b, const uint32_t *memory, int r, int column)
      : at(reinterpret_cast<const float *>(memory) + r * b.pitch + column) {}
  __device__ __forceinline__ void next(float *to) {
    const float4 v = *reinterpret_cast<const float4 *>(at);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    at += 4;
  }
};

// The same for bytes, which may begin anywhere in a word.
struct bytes {
  const uint32_t *at;
  uint32_t word, shift; // the next word, and the shift that aligns it with the one after it

  __device__ __forceinline__ bytes(const fc_narrow &b, const uint32_t *memory, int r, int column) {
    const int first = fc_narrow_first_byte(b);
    at = memory + b.pieces * b.held * b.pitch + r * b.raw_pitch + first / 4 + column / 4;
    word = *at;
    shift = 0x3210 + 0x1111 * (first % 4);
  }
  __device__ __forceinline__ void next(int *to) {
    const uint32_t behind = *++at, four = __byte_perm(word, behind, shift);
    word = behind;
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = static_cast<int>(four >> 8 * i & 255);
  }
};

// Four adjacent sums of nx taps, STEP apart, 4 taps at a time: a window of 4 * STEP + 4 values slides along.
// `x` is in shared memory, aligned to 16 bytes and read up to a multiple of 4.
template <int STEP, typename V, typename Row>
__device__ __forceinline__ float4 add_along(Row row, const V *x, int nx) {
  using V4 = typename four_of<V>::type;
  V w[4 * STEP + 4];
  V4 sum = {};
  row.next(w);
#pragma unroll 2
  for (int i = 0; i < nx; i += 4) {
#pragma unroll
    for (int q = 1; q <= STEP; q++) row.next(w + 4 * q);
    const V4 tap = *reinterpret_cast<const V4 *>(x + i);
    multiply_add(tap.x, w, sum);
    if (i + 1 < nx) multiply_add(tap.y, w + STEP, sum);
    if (i + 2 < nx) multiply_add(tap.z, w + 2 * STEP, sum);
    if (i + 3 < nx) multiply_add(tap.w, w + 3 * STEP, sum);
#pragma unroll
    for (int p = 0; p < 4; p++) w[p] = w[4 * STEP + p];
  }
  return as_floats(sum);
}

// Sums a warp's rows horizontally, two parts at a time: two short rows, or two parts of a long one. Results
// of f32 overwrite the row, so all of a row is summed before any of it is stored.
template <int STEP, typename Row, typename V>
__device__ __forceinline__ void sum_along(const fc_narrow &b, const fc_narrow_lane &l, const V *x,
                                          uint32_t *memory) {
  const bool is_short = b.columns <= 128;
  const int next_row = is_short ? l.next : 0, next_column = is_short ? 0 : 128, next = l.next + next_row;
  const int all = b.pieces * b.held;
#pragma unroll 1
  for (int first = 0; first < all; first += next) {
    float4 sum[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int r = first + l.row + k * next_row, column = l.column + k * next_column;
      if (r < all && column < b.columns) sum[k] = add_along<STEP>(Row(b, memory, r, column), x, b.nx);
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int r = first + l.row + k * next_row, column = l.column + k * next_column;
      if (r < all && column < b.columns)
        reinterpret_cast<float4 *>(memory)[(r * b.pitch + column) / 4] = sum[k];
    }
  }
}

// Adds tap j of a window to the sums of FC_NARROW_DOWN outputs, which begin `first` rows into `row`.
__device__ __forceinline__ void add_tap(float tap, const float4 (&row)[FC_NARROW_DOWN + 4], int first,
                                        float4 (&sum)[FC_NARROW_DOWN]) {
#pragma unroll
  for (int r = 0; r < FC_NARROW_DOWN; r++) {
    const float4 v = row[first + r];
    fc_fma4(tap, v.x, v.y, v.z, v.w, sum[r]);
  }
}

__device__ __forceinline__ void load_rows(const float *piece, const int *source, float4 *to) {
  const int4 at = *reinterpret_cast<const int4 *>(source);
  to[0] = *reinterpret_cast<const float4 *>(piece + at.x);
  to[1] = *reinterpret_cast<const float4 *>(piece + at.y);
  to[2] = *reinterpret_cast<const float4 *>(piece + at.z);
  to[3] = *reinterpret_cast<const float4 *>(piece + at.w);
}

// Sums FC_NARROW_DOWN outputs of 4 columns vertically, 4 taps at a time: a window of rows slides down.
__device__ __forceinline__ void sum_down(const float *piece, const int *source, const float *y, int ny,
                                         float4 (&sum)[FC_NARROW_DOWN]) {
  float4 row[FC_NARROW_DOWN + 4];
#pragma unroll
  for (int r = 0; r < FC_NARROW_DOWN; r += 4) load_rows(piece, source + r, row + r);
#pragma unroll 2
  for (int j = 0; j < ny; j += 4) {
    load_rows(piece, source + j + FC_NARROW_DOWN, row + FC_NARROW_DOWN);
    const float4 tap = *reinterpret_cast<const float4 *>(y + j);
    add_tap(tap.x, row, 0, sum);
    if (j + 1 < ny) add_tap(tap.y, row, 1, sum);
    if (j + 2 < ny) add_tap(tap.z, row, 2, sum);
    if (j + 3 < ny) add_tap(tap.w, row, 3, sum);
#pragma unroll
    for (int r = 0; r < FC_NARROW_DOWN; r++) row[r] = row[r + 4];
  }
}

// Stores the sums of a u8 image.
__device__ __forceinline__ void store_bytes(const fc_narrow &b, char *row, int column, float4 v,
                                            uint32_t &seen) {
  uint32_t code[4];
  const float4 sums[1] = {v};
  fc_round_sums<1>(sums, code);
  if (b.wide && column + 4 <= b.columns) {
    seen |= code[0] | code[1] | code[2] | code[3];
    *reinterpret_cast<uint32_t *>(row + column) =
        fc_bytes_of(code[0], code[1]) | fc_bytes_of(code[2], code[3]) << 16;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (column + i >= b.columns) continue;
    seen |= code[i];
    row[column + i] = static_cast<char>(fc_bytes_of(code[i], FC_BYTE_ZERO));
  }
}

// The same; STEP 0: as many channels as the image has.
template <int STEP, typename Row, typename V>
__device__ __forceinline__ void sum_steps(const fc_narrow &b, const fc_narrow_lane &l, const V *x,
                                          uint32_t *memory) {
  if constexpr (STEP > 0) {
    sum_along<STEP, Row>(b, l, x, memory);
  } else {
    switch (b.step) {
    case 1: return sum_along<1, Row>(b, l, x, memory);
    case 2: return sum_along<2, Row>(b, l, x, memory);
    case 3: return sum_along<3, Row>(b, l, x, memory);
    default: return sum_along<4, Row>(b, l, x, memory);
    }
  }
}

// FLOATS: f32 to f32. STEP 0: known at run time.
template <int STEP, typename V, bool FLOATS>
__global__ void __launch_bounds__(FC_NARROW_THREADS, 7)
    sepconv_narrow(const __grid_constant__ fc_narrow b, const __grid_constant__ taps<V> t) {
  constexpr bool BYTES = std::is_same_v<V, int>;
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ fc_narrow_tables tables;
  __shared__ taps<V> shared;
  const fc_narrow_lane l = fc_narrow_lane_of(b);
  for (int i = threadIdx.x; i < TAPS; i += FC_NARROW_THREADS) shared.x[i] = t.x[i], shared.y[i] = t.y[i];
  fc_narrow_look_up(b, tables);
  __syncthreads();
  if constexpr (BYTES)
    fc_narrow_bytes(b, tables, l, memory + b.pieces * b.held * b.pitch);
  else
    fc_narrow_values<FLOATS>(b, tables, l, memory);
  sum_steps<STEP, std::conditional_t<BYTES, bytes, floats>>(b, l, shared.x, memory);
  __syncthreads();
  uint32_t seen = FC_BYTE_ZERO;
  fc_narrow_each(b, tables, l, [&](int piece, int y, int column, int count) {
    float4 sum[FC_NARROW_DOWN] = {};
    sum_down(reinterpret_cast<const float *>(memory) + piece * b.held * b.pitch + column, tables.source + y,
             shared.y, b.ny, sum);
    char *to = tables.out[piece] + y * b.out_row;
    if constexpr (BYTES || FLOATS) {
#pragma unroll
      for (int r = 0; r < FC_NARROW_DOWN; r++, to += b.out_row) {
        if (r >= count) break;
        if constexpr (BYTES)
          store_bytes(b, to, column, sum[r], seen);
        else
          fc_narrow_store_as<float>(b, to, column, sum[r]);
      }
    } else {
      fc_narrow_store_rows(b, to, column, sum, count);
    }
  });
  if (BYTES && seen > FC_BYTE_ZERO + 255) fc_dev_note(b.notes, 1);
}

template <typename V, bool FLOATS>
fc_status launch(const fc_march &m, const taps<V> &t, const fc_narrow &b, cudaStream_t stream) {
  switch (m.step) {
  case 1: return fc_narrow_launch(sepconv_narrow<1, V, FLOATS>, b, t, stream);
  case 2: return fc_narrow_launch(sepconv_narrow<2, V, FLOATS>, b, t, stream);
  case 3: return fc_narrow_launch(sepconv_narrow<3, V, FLOATS>, b, t, stream);
  default: return fc_narrow_launch(sepconv_narrow<4, V, FLOATS>, b, t, stream);
  }
}

// The integer value of three signed digits.
int integer_of(uint32_t digits) {
  const auto digit = [&](int d) { return static_cast<int>(static_cast<int8_t>(digits >> 8 * d & 255)); };
  return (digit(2) * 256 + digit(1)) * 256 + digit(0);
}

// Taps in the format of bytes.cu.
taps<int> bytes_taps_of(const fc_sepconv *op, int step) {
  const float *y = static_cast<const float *>(op->y);
  taps<int> t = {};
  fc_byte_taps along;
  const int exponent = fc_read_bytes_taps(op, step, &along);
  for (int64_t i = 0; i < op->nx; i++) t.x[i] = integer_of(along.x[i]);
  for (int64_t j = 0; j < op->ny; j++) t.y[j] = ldexpf(y[j], -exponent);
  return t;
}

// Whether the whole image, of which this may be a part, is computed with the exact sums of bytes.cu: parts
// and whole must give the same bits.
bool is_exact(const fc_march &m) {
  return m.digits && fc_digit_steps(m) <= FC_DIGIT_STEPS &&
         fc_has_units(reinterpret_cast<const void *>(sepconv_narrow<1, int, false>));
}

taps<float> taps_of(const fc_sepconv *op) {
  taps<float> t = {};
  for (int64_t i = 0; i < op->nx; i++) t.x[i] = static_cast<const float *>(op->x)[i];
  for (int64_t j = 0; j < op->ny; j++) t.y[j] = static_cast<const float *>(op->y)[j];
  return t;
}

} // namespace

fc_status fc_sepconv_narrow(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  if (!fc_narrow_fits(m)) return FC_UNSUPPORTED;
  const bool floats = m.in_dtype == FC_F32 && m.out_dtype == FC_F32;
  const bool exact = is_exact(m);
  const fc_narrow b = fc_narrow_of(m, op->nx, op->ny, exact);
  if (exact) return launch<int, false>(m, bytes_taps_of(op, m.step), b, stream);
  if (floats) return launch<float, true>(m, taps_of(op), b, stream);
  // Other types, which are mostly composed: one kernel for all numbers of channels.
  return fc_narrow_launch(sepconv_narrow<0, float, false>, b, taps_of(op), stream);
}

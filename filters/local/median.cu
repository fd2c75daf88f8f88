// SPDX-License-Identifier: MIT
//
// median.cu - median.h on a CUDA device: a thread per sample, of dense rows of 8 and 16 bits per word of four
// or two. 3 x 3 and 5 x 5 by the networks of median_kernels.inc in registers. Other windows by binary search
// over the bits of the median, from the highest down: a bit is 1 if no more than half of the window is below
// the value with that bit set. This reads the window once per bit of a key, from the first-level cache.
#include "filters/gpu/cuda.cuh"
#include "filters/local/median.h"
#include "filters/local/median_key.h"

namespace {

constexpr int THREADS = 256;

// An element as its key, an unsigned integer of the same size whose order is that of the elements.
template <typename T, int DTYPE> struct element {
  typedef T key;
  static constexpr int BYTES = sizeof(T);
  static __device__ __forceinline__ T load(const char *at) {
    return static_cast<T>(fc_key_of(*reinterpret_cast<const T *>(at), DTYPE));
  }
  static __device__ __forceinline__ void store(char *at, T key) {
    *reinterpret_cast<T *>(at) = static_cast<T>(fc_key_to(key, DTYPE));
  }
};

// A word that begins anywhere.
__device__ __forceinline__ uint32_t word_of(const char *at) {
  const unsigned skew = static_cast<unsigned>(reinterpret_cast<uintptr_t>(at) & 3);
  const uint32_t *words = reinterpret_cast<const uint32_t *>(at - skew);
  const uint32_t first = __ldg(words);
  return skew ? __funnelshift_r(first, __ldg(words + 1), 8 * skew) : first;
}

// Two keys of 16 bits; with FLIP those of signed elements.
template <uint32_t FLIP> struct two_elements {
  struct key {
    uint32_t two;
  };
  static constexpr int BYTES = 4;
  static __device__ __forceinline__ key load(const char *at) { return {word_of(at) ^ FLIP}; }
  static __device__ __forceinline__ void store(char *at, key v) {
    *reinterpret_cast<uint32_t *>(at) = v.two ^ FLIP;
  }
};

// Four bytes, every other one apart.
struct four_bytes {
  struct key {
    uint32_t even, odd;
  };
  static constexpr int BYTES = 4;
  static __device__ __forceinline__ key load(const char *at) {
    const uint32_t word = word_of(at);
    return {word & 0x00ff00ffu, word >> 8 & 0x00ff00ffu};
  }
  static __device__ __forceinline__ void store(char *at, key v) {
    *reinterpret_cast<uint32_t *>(at) = v.even | v.odd << 8;
  }
};

template <typename T> __device__ __forceinline__ void exchange(T &a, T &b) {
  const T least = a < b ? a : b;
  b = a < b ? b : a;
  a = least;
}
__device__ __forceinline__ void exchange_pairs(uint32_t &a, uint32_t &b) {
  const uint32_t least = __vminu2(a, b);
  b = __vmaxu2(a, b);
  a = least;
}
__device__ __forceinline__ void exchange(two_elements<0>::key &a, two_elements<0>::key &b) {
  exchange_pairs(a.two, b.two);
}
__device__ __forceinline__ void exchange(two_elements<0x80008000u>::key &a,
                                         two_elements<0x80008000u>::key &b) {
  exchange_pairs(a.two, b.two);
}
__device__ __forceinline__ void exchange(four_bytes::key &a, four_bytes::key &b) {
  exchange_pairs(a.even, b.even), exchange_pairs(a.odd, b.odd);
}

// Moves the minimum to the first position and the maximum to the last.
template <int COUNT, typename T> __device__ __forceinline__ void spread(T *v) {
#pragma unroll
  for (int i = 0; i < COUNT / 2; i++) exchange(v[i], v[COUNT - 1 - i]);
#pragma unroll
  for (int i = 1; i <= (COUNT - 1) / 2; i++) exchange(v[0], v[i]);
#pragma unroll
  for (int i = COUNT / 2; i < COUNT - 1; i++) exchange(v[i], v[COUNT - 1]);
}

// Removes minimum and maximum of KEPT values of the SIDE x SIDE window, neither of which can be the median,
// and loads one more value, until three are left.
template <int SIDE, int KEPT, typename E, typename T>
__device__ __forceinline__ void reduce(T *v, const char *corner, int64_t step_y, int64_t step_x) {
  spread<KEPT>(v);
  if constexpr (KEPT > 3) {
    constexpr int NEXT = 2 * (SIDE * SIDE / 2 + 2) - KEPT;
    v[0] = E::load(corner + NEXT / SIDE * step_y + NEXT % SIDE * step_x);
    reduce<SIDE, KEPT - 1, E>(v, corner, step_y, step_x);
  }
}

template <int SIDE, typename E>
__device__ __forceinline__ typename E::key by_network(const char *corner, int64_t step_y, int64_t step_x) {
  constexpr int FIRST = SIDE * SIDE / 2 + 2;
  typename E::key v[FIRST];
#pragma unroll
  for (int i = 0; i < FIRST; i++) v[i] = E::load(corner + i / SIDE * step_y + i % SIDE * step_x);
  reduce<SIDE, FIRST, E>(v, corner, step_y, step_x);
  return v[1];
}

template <typename E>
__device__ __forceinline__ typename E::key by_bits(const char *corner, int64_t step_y, int64_t step_x, int nx,
                                                   int ny) {
  typedef typename E::key T;
  const int half = nx * ny / 2;
  T found = 0;
  for (int bit = static_cast<int>(8 * sizeof(T)) - 1; bit >= 0; bit--) {
    const T tried = static_cast<T>(found | static_cast<T>(T{1} << bit));
    int below = 0;
    for (int j = 0; j < ny; j++)
      for (int k = 0; k < nx; k++) below += E::load(corner + j * step_y + k * step_x) < tried;
    if (below <= half) found = tried;
  }
  return found;
}

template <int SIDE, typename E>
__global__ void __launch_bounds__(THREADS) median(fc_dev_view in, fc_dev_view out, int nx, int ny) {
  const int64_t channels = out.shape[FC_AXIS_C], row = out.shape[FC_AXIS_X] * channels;
  const int64_t rows = out.shape[FC_AXIS_Y], lines = out.shape[FC_AXIS_N] * rows;
  const int64_t step_y = in.stride[FC_AXIS_Y], step_x = in.stride[FC_AXIS_X];
  for (int64_t line = blockIdx.y; line < lines; line += gridDim.y)
    for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < row;
         i += static_cast<int64_t>(gridDim.x) * THREADS) {
      const int64_t n = line / rows, y = line % rows, x = i / channels, c = i % channels;
      const char *corner = in.at(n, y - ny / 2, x - nx / 2, c);
      if constexpr (SIDE > 0)
        E::store(out.at(n, y, x, c), by_network<SIDE, E>(corner, step_y, step_x));
      else
        E::store(out.at(n, y, x, c), by_bits<E>(corner, step_y, step_x, nx, ny));
    }
}

// ---- rows of adjacent elements ------------------------------------------------------------

constexpr int ROWS = 16; // that a thread goes down

template <typename T> __device__ __forceinline__ void sort(T (&v)[3]) {
  exchange(v[0], v[1]), exchange(v[1], v[2]), exchange(v[0], v[1]);
}
template <typename T> __device__ __forceinline__ void sort(T (&v)[5]) {
  exchange(v[0], v[3]), exchange(v[1], v[4]), exchange(v[0], v[2]), exchange(v[1], v[3]);
  exchange(v[0], v[1]), exchange(v[2], v[4]), exchange(v[1], v[2]), exchange(v[3], v[4]);
  exchange(v[2], v[3]);
}

// Moves the LEAST smallest of 5 to the beginning, or the greatest to the end.
template <int LEAST, typename T> __device__ __forceinline__ void least_first(T (&v)[5]) {
#pragma unroll
  for (int k = 0; k < LEAST; k++)
#pragma unroll
    for (int i = k + 1; i < 5; i++) exchange(v[k], v[i]);
}
template <int MOST, typename T> __device__ __forceinline__ void most_last(T (&v)[5]) {
#pragma unroll
  for (int k = 4; k > 4 - MOST; k--)
#pragma unroll
    for (int i = 0; i < k; i++) exchange(v[i], v[k]);
}

// The median of 13, of which the first KEPT are looked at, as `reduce` does.
template <int KEPT, typename T> __device__ __forceinline__ void reduce_list(T *v, const T *all) {
  spread<KEPT>(v);
  if constexpr (KEPT > 3) {
    v[0] = all[16 - KEPT];
    reduce_list<KEPT - 1>(v, all);
  }
}

// The median of sorted rows. Of 3 x 3: the median of the greatest of the smallest, the median of the middle
// ones and the smallest of the greatest.
template <typename T> __device__ __forceinline__ T median_of(const T (&row)[3][3]) {
  T low[3], middle[3], high[3];
#pragma unroll
  for (int i = 0; i < 3; i++) low[i] = row[i][0], middle[i] = row[i][1], high[i] = row[i][2];
  sort(middle);
  exchange(low[0], low[1]), exchange(low[1], low[2]);
  exchange(high[1], high[2]), exchange(high[0], high[1]);
  T three[3] = {low[2], middle[1], high[0]};
  sort(three);
  return three[1];
}
// Of 5 x 5, with columns of equal rank sorted too, the element of rank i in column j is not less than
// (i + 1) (j + 1) of all, itself included: beyond 13 it is not the median. As many drop out below; the median
// of the 13 that are left is that of all.
template <typename T> __device__ __forceinline__ T median_of(const T (&row)[5][5]) {
  T column[5][5];
#pragma unroll
  for (int j = 0; j < 5; j++)
#pragma unroll
    for (int i = 0; i < 5; i++) column[j][i] = row[i][j];
  least_first<3>(column[0]), least_first<2>(column[1]), spread<5>(column[2]);
  most_last<2>(column[3]), most_last<3>(column[4]);
  const T all[13] = {column[0][3], column[0][4], column[1][2], column[1][3], column[1][4],
                     column[2][1], column[2][2], column[2][3], column[3][0], column[3][1],
                     column[3][2], column[4][0], column[4][1]};
  T v[8];
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = all[i];
  reduce_list<8>(v, all);
  return v[1];
}

// Goes down so many rows of one key, with the sorted rows of the window.
template <int SIDE, typename E>
__device__ __forceinline__ void go_down(const char *corner, char *to, int count, int64_t in_row,
                                        int64_t out_row, int64_t step_x) {
  typename E::key row[SIDE][SIDE];
#pragma unroll 1
  for (int r = 1 - SIDE; r < count; r++, corner += in_row) {
#pragma unroll
    for (int i = 0; i + 1 < SIDE; i++)
#pragma unroll
      for (int k = 0; k < SIDE; k++) row[i][k] = row[i + 1][k];
#pragma unroll
    for (int k = 0; k < SIDE; k++) row[SIDE - 1][k] = E::load(corner + k * step_x);
    sort(row[SIDE - 1]);
    if (r >= 0) E::store(to + r * out_row, median_of(row));
  }
}

// Rows of adjacent elements on both sides: SINGLE ones, and words of them.
template <int SIDE, typename SINGLE, typename E>
__global__ void __launch_bounds__(THREADS)
    median_rows(fc_dev_view in, fc_dev_view out, fc_dev_divider by_segments) {
  const int rows = static_cast<int>(out.shape[FC_AXIS_Y]), segments = (rows + ROWS - 1) / ROWS,
            all = static_cast<int>(out.shape[FC_AXIS_N]) * segments;
  const int bytes = static_cast<int>(out.shape[FC_AXIS_X] * out.shape[FC_AXIS_C]) * SINGLE::BYTES;
  const int64_t in_row = in.stride[FC_AXIS_Y], out_row = out.stride[FC_AXIS_Y], step_x = in.stride[FC_AXIS_X];
  for (int segment = blockIdx.y; segment < all; segment += gridDim.y) {
    const int n = by_segments.quotient(segment), y = (segment - n * segments) * ROWS;
    const char *from = in.at(n, y - SIDE / 2, -(SIDE / 2), 0);
    char *to = out.at(n, y, 0, 0);
    const int count = min(ROWS, rows - y);
    for (int i = (blockIdx.x * THREADS + threadIdx.x) * E::BYTES; i < bytes;
         i += gridDim.x * THREADS * E::BYTES)
      if (i + E::BYTES <= bytes)
        go_down<SIDE, E>(from + i, to + i, count, in_row, out_row, step_x);
      else
        for (int k = i; k < bytes; k += SINGLE::BYTES)
          go_down<SIDE, SINGLE>(from + k, to + k, count, in_row, out_row, step_x);
  }
}

template <int SIDE, typename SINGLE, typename E>
fc_status launch_rows(const fc_view *in, const fc_view *out, void *stream) {
  const int64_t bytes = out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C] * SINGLE::BYTES;
  const int64_t lines = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y];
  const int64_t starts = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out->data)) |
                         out->stride[FC_AXIS_Y] | out->stride[FC_AXIS_N];
  if (!fc_dev_is_interleaved(in) || !fc_dev_is_interleaved(out) || starts % E::BYTES != 0 ||
      lines > INT32_MAX / 2 || bytes > INT32_MAX / 2)
    return FC_UNSUPPORTED;
  const int64_t segments = (out->shape[FC_AXIS_Y] + ROWS - 1) / ROWS;
  const dim3 grid(fc_blocks(bytes, THREADS * E::BYTES, 1 << 20),
                  fc_blocks(out->shape[FC_AXIS_N] * segments, 1, 65535));
  return fc_launch(median_rows<SIDE, SINGLE, E>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(in),
                   fc_dev_view_of(out), fc_dev_divider_of(segments));
}

template <typename E, typename WORDS>
fc_status launch(const fc_median *m, const fc_view *in, const fc_view *out, void *stream) {
  fc_status status = FC_UNSUPPORTED;
  if (m->nx == m->ny && m->nx == 3) status = launch_rows<3, E, WORDS>(in, out, stream);
  if (m->nx == m->ny && m->nx == 5) status = launch_rows<5, E, WORDS>(in, out, stream);
  if (status != FC_UNSUPPORTED) return status;
  const int64_t row = out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C];
  const dim3 grid(fc_blocks(row, THREADS, 1 << 20),
                  fc_blocks(out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y], 1, 65535));
  const bool square = m->nx == m->ny;
  return fc_launch(square && m->nx == 3   ? median<3, E>
                   : square && m->nx == 5 ? median<5, E>
                                          : median<0, E>,
                   grid, dim3(THREADS), 0, stream, fc_dev_view_of(in), fc_dev_view_of(out),
                   static_cast<int>(m->nx), static_cast<int>(m->ny));
}

} // namespace

fc_status fc_median_cuda(const fc_median *m, const fc_view *in, const fc_view *out, void *stream) {
  if (in->dtype != out->dtype) return FC_UNSUPPORTED;
  if (fc_view_count(out) == 0) return FC_OK;
  switch (in->dtype) {
  case FC_U8: return launch<element<uint8_t, FC_U8>, four_bytes>(m, in, out, stream);
  case FC_I16: return launch<element<uint16_t, FC_I16>, two_elements<0x80008000u>>(m, in, out, stream);
  case FC_U16: return launch<element<uint16_t, FC_U16>, two_elements<0>>(m, in, out, stream);
  case FC_I32: return launch<element<uint32_t, FC_I32>, element<uint32_t, FC_I32>>(m, in, out, stream);
  case FC_F32: return launch<element<uint32_t, FC_F32>, element<uint32_t, FC_F32>>(m, in, out, stream);
  default: return launch<element<uint64_t, FC_F64>, element<uint64_t, FC_F64>>(m, in, out, stream);
  }
}

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

// Rows of adjacent elements on both sides: SINGLE ones, and words of them.
template <int SIDE, typename SINGLE, typename E>
__global__ void __launch_bounds__(THREADS)
    median_rows(fc_dev_view in, fc_dev_view out, fc_dev_divider by_rows) {
  const int rows = static_cast<int>(out.shape[FC_AXIS_Y]),
            lines = static_cast<int>(out.shape[FC_AXIS_N]) * rows;
  const int bytes = static_cast<int>(out.shape[FC_AXIS_X] * out.shape[FC_AXIS_C]) * SINGLE::BYTES;
  const int64_t step_y = in.stride[FC_AXIS_Y], step_x = in.stride[FC_AXIS_X];
  for (int line = blockIdx.y; line < lines; line += gridDim.y) {
    const int n = by_rows.quotient(line), y = line - n * rows;
    const char *from = in.at(n, y - SIDE / 2, -(SIDE / 2), 0);
    char *to = out.at(n, y, 0, 0);
    for (int i = (blockIdx.x * THREADS + threadIdx.x) * E::BYTES; i < bytes;
         i += gridDim.x * THREADS * E::BYTES)
      if (i + E::BYTES <= bytes)
        E::store(to + i, by_network<SIDE, E>(from + i, step_y, step_x));
      else
        for (int k = i; k < bytes; k += SINGLE::BYTES)
          SINGLE::store(to + k, by_network<SIDE, SINGLE>(from + k, step_y, step_x));
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
  const dim3 grid(fc_blocks(bytes, THREADS * E::BYTES, 1 << 20), fc_blocks(lines, 1, 65535));
  return fc_launch(median_rows<SIDE, SINGLE, E>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(in),
                   fc_dev_view_of(out), fc_dev_divider_of(out->shape[FC_AXIS_Y]));
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

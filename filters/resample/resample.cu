// SPDX-License-Identifier: MIT
//
// resample.cu - resample.h on a CUDA device. Windows of a few inputs are summed in registers (few.cuh), other
// bytes, and all of which rows come first, are products of matrices where the device has the units and the
// strides allow (products.h). Else a first kernel makes the windows and weights, with a warp per output row
// or column. Then a block computes a tile of the output with both passes: the first from global to shared
// memory, the second from there. If the first pass is vertical, interleaved bytes are summed four neighbours
// at a time, with pairs of taps by dp2a. If shared memory cannot hold even the window of one output, the
// passes are two kernels, with the intermediate values in scratch.
#include "filters/resample/matrix_bytes.cuh"
#include "filters/gpu/packs.cuh"
#include "filters/resample/few.cuh"
#include "filters/resample/passes.cuh"
#include "filters/resample/products.h"
#include "filters/resample/resample.h"

namespace {

constexpr int64_t SHARED_MOST = 40960;  // bytes, so that several blocks are resident per multiprocessor
constexpr int TILE_X = 64, TILE_Y = 16; // maximum of outputs per tile

// ---- tiles ------------------------------------------------------------------------

// The layout of tiles and of the intermediate values, with `pitch` values per row.
struct tiling {
  int32_t nx, ny;
  int64_t across, down, planes;
  int32_t pitch;
  fc_dev_divider by_row; // elements of a row
};

// The intermediate values of a tile's row r, computed by the aligned words that contain its bytes. `at` is
// the first word in the first row of the window.
__device__ __forceinline__ void words_down(const job<of_bytes> &j, const char *at, int words, int r,
                                           int16_t *to) {
  const int32_t *w = reinterpret_cast<const int32_t *>(j.y.weights + static_cast<int64_t>(r) * j.y.room);
  const int64_t step = j.in.stride[FC_AXIS_Y];
  const int taps = j.y.taps[r];
  for (int i = threadIdx.x; i < words; i += LANES) {
    const char *from = at + 4 * i;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int k = 0; k < taps; k += 2) {
      const uint32_t a = *reinterpret_cast<const uint32_t *>(from);
      const uint32_t b = k + 1 < taps ? *reinterpret_cast<const uint32_t *>(from + step) : 0;
      const uint32_t low = __byte_perm(a, b, 0x5140), high = __byte_perm(a, b, 0x7362);
      const int32_t both = w[k / 2];
      s0 = fc_two_products(both, low, s0), s1 = fc_two_products_above(both, low, s1);
      s2 = fc_two_products(both, high, s2), s3 = fc_two_products_above(both, high, s3);
      from += 2 * step;
    }
    int16_t *four = to + 4 * i;
    four[0] = between(of_bytes{}, s0, j.limits), four[1] = between(of_bytes{}, s1, j.limits);
    four[2] = between(of_bytes{}, s2, j.limits), four[3] = between(of_bytes{}, s3, j.limits);
  }
}

// First pass vertical. WORDS: interleaved bytes, all rows at the same offset within a word.
template <typename P, bool WORDS>
__device__ __forceinline__ void tile_down(const job<P> &j, const tiling &t, const plane<P> &p, int x0, int nx,
                                          int y0, int ny, typename P::value *mid) {
  const int64_t low = j.x.first[x0];
  const int elements = static_cast<int>(j.x.first[x0 + nx - 1] + j.x.taps[x0 + nx - 1] - low) * j.channels;
  const char *left = p.in + low * j.in.stride[FC_AXIS_X];
  const int skew = WORDS ? static_cast<int>(reinterpret_cast<uintptr_t>(left) % 4) : 0;
  for (int r = threadIdx.y; r < ny; r += WARPS) {
    typename P::value *row = mid + r * t.pitch;
    if constexpr (WORDS)
      words_down(j, left - skew + j.y.first[y0 + r] * j.in.stride[FC_AXIS_Y], (skew + elements + 3) / 4,
                 y0 + r, row);
    else
      for (int i = threadIdx.x; i < elements; i += LANES) {
        const int x = j.by_channels.quotient(i);
        row[i] = first_down(j, p, y0 + r, low + x, i - x * j.channels);
      }
  }
  __syncthreads();
  for (int r = threadIdx.y; r < ny; r += WARPS)
    for (int i = threadIdx.x; i < nx * j.channels; i += LANES) {
      const int x = j.by_channels.quotient(i), c = i - x * j.channels, o = x0 + x;
      char *to = p.out + (y0 + r) * j.out.stride[FC_AXIS_Y] + o * j.out.stride[FC_AXIS_X] +
                 c * j.out.stride[FC_AXIS_C];
      finish(j, to, mid + r * t.pitch + skew + (j.x.first[o] - low) * j.channels, c, j.channels,
             j.x.weights + static_cast<int64_t>(o) * j.x.room, j.x.taps[o]);
    }
}

// Four adjacent elements as values; `left` of them, at least one, may be read. ALPHA: a pixel, of which the
// last one multiplies the others.
template <typename T, bool ALIGNED, bool ALPHA>
__device__ __forceinline__ float4 four_at(const job<of_reals<float>> &j, const char *from, int left) {
  float v[4];
  if constexpr (ALIGNED) {
    uint32_t words[sizeof(T)];
    fc_words_load(words, from);
    if constexpr (fc_is_code<T>)
      fc_words_values<T, 4>(v, words, j.load);
    else
      memcpy(v, words, sizeof v);
  } else
#pragma unroll
    for (int i = 0; i < 4; i++)
      v[i] = fc_code_value(reinterpret_cast<const T *>(from)[min(i, left - 1)], j.load);
  if constexpr (ALPHA) v[0] *= v[3], v[1] *= v[3], v[2] *= v[3];
  return make_float4(v[0], v[1], v[2], v[3]);
}

__device__ __forceinline__ float4 add_four(float4 s, float w, float4 v) {
  using P = of_reals<float>;
  return make_float4(P::add(s.x, w, v.x), P::add(s.y, w, v.y), P::add(s.z, w, v.z), P::add(s.w, w, v.w));
}

constexpr int ROWS_AT_ONCE = 4; // of a thread along the rows, which share its weights

// Pixels with alpha, in ROWS_AT_ONCE rows.
template <typename T>
__device__ __forceinline__ void across_pixels(const job<of_reals<float>> &j, const tiling &t,
                                              const plane<of_reals<float>> &p, int x0, int nx, int y0, int ny,
                                              const float *mid, int begin) {
  using P = of_reals<float>;
  constexpr int SIZE = static_cast<int>(sizeof(T));
  const int groups = (ny + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
  for (int i = threadIdx.y * LANES + threadIdx.x; i < t.nx * groups; i += LANES * WARPS) {
    const int group = i / t.nx, x = i - group * t.nx, o = x0 + x, row = ROWS_AT_ONCE * group;
    if (x >= nx) continue;
    const float *w = j.x.weights + static_cast<int64_t>(o) * j.x.room;
    const float *from = mid + row * t.pitch + j.x.first[o] * 4 - begin;
    float4 sum[ROWS_AT_ONCE];
    const int taps = j.x.taps[o];
#pragma unroll
    for (int m = 0; m < ROWS_AT_ONCE; m++) {
      const float4 v = *reinterpret_cast<const float4 *>(from + m * t.pitch);
      sum[m] =
          make_float4(P::first(w[0], v.x), P::first(w[0], v.y), P::first(w[0], v.z), P::first(w[0], v.w));
    }
#pragma unroll 2
    for (int k = 1; k < taps; k++)
#pragma unroll
      for (int m = 0; m < ROWS_AT_ONCE; m++)
        sum[m] = add_four(sum[m], w[k], *reinterpret_cast<const float4 *>(from + m * t.pitch + 4 * k));
    char *to =
        p.out + static_cast<int64_t>(y0 + row) * j.out.stride[FC_AXIS_Y] + static_cast<int64_t>(o) * 4 * SIZE;
#pragma unroll
    for (int m = 0; m < ROWS_AT_ONCE; m++, to += j.out.stride[FC_AXIS_Y]) {
      if (row + m >= ny) continue;
      const float alpha = sum[m].w, colour[3] = {sum[m].x, sum[m].y, sum[m].z};
#pragma unroll
      for (int c = 0; c < 3; c++)
        fc_dev_store<float, T>(to + c * SIZE, alpha > 0 ? colour[c] / alpha : 0.f, j.store, nullptr);
      fc_dev_store<float, T>(to + 3 * SIZE, alpha, j.store, nullptr);
    }
  }
}

// First pass vertical, of interleaved elements of type T: four adjacent ones a thread. ALIGNED: those at
// multiples of 4 lie at multiples of their bytes. ALPHA: pixels of four channels with alpha.
template <typename T, bool ALIGNED, bool ALPHA>
__device__ __forceinline__ void dense_down(const job<of_reals<float>> &j, const tiling &t,
                                           const plane<of_reals<float>> &p, int x0, int nx, int y0, int ny,
                                           float *mid) {
  using P = of_reals<float>;
  constexpr int SIZE = static_cast<int>(sizeof(T));
  const int low = j.x.first[x0] * j.channels,
            end = (j.x.first[x0 + nx - 1] + j.x.taps[x0 + nx - 1]) * j.channels;
  const int begin = ALIGNED ? low / 4 * 4 : low;
  for (int r = threadIdx.y; r < ny; r += WARPS) {
    const float *w = j.y.weights + static_cast<int64_t>(y0 + r) * j.y.room;
    const int taps = j.y.taps[y0 + r];
    for (int i = 4 * threadIdx.x; i < end - begin; i += 4 * LANES) {
      const int left = end - begin - i;
      const char *at =
          p.in + j.y.first[y0 + r] * j.in.stride[FC_AXIS_Y] + static_cast<int64_t>(begin + i) * SIZE;
      const float4 v = four_at<T, ALIGNED, ALPHA>(j, at, left);
      float4 sum =
          make_float4(P::first(w[0], v.x), P::first(w[0], v.y), P::first(w[0], v.z), P::first(w[0], v.w));
#pragma unroll 4
      for (int k = 1; k < taps; k++)
        sum = add_four(sum, w[k], four_at<T, ALIGNED, ALPHA>(j, at += j.in.stride[FC_AXIS_Y], left));
      *reinterpret_cast<float4 *>(mid + r * t.pitch + i) = sum;
    }
  }
  __syncthreads();
  if constexpr (ALPHA) return across_pixels<T>(j, t, p, x0, nx, y0, ny, mid, begin);
  const int elements = nx * j.channels, groups = (ny + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
  const int all = t.nx * j.channels; // of a whole tile
  for (int i = threadIdx.y * LANES + threadIdx.x; i < all * groups; i += LANES * WARPS) {
    const int group = t.by_row.quotient(i), e = i - group * all, row = ROWS_AT_ONCE * group;
    if (e >= elements) continue;
    const int x = j.by_channels.quotient(e), c = e - x * j.channels, o = x0 + x, taps = j.x.taps[o];
    const float *w = j.x.weights + static_cast<int64_t>(o) * j.x.room;
    const float *from = mid + row * t.pitch + j.x.first[o] * j.channels - begin + c;
    float sum[ROWS_AT_ONCE];
#pragma unroll
    for (int m = 0; m < ROWS_AT_ONCE; m++) sum[m] = P::first(w[0], from[m * t.pitch]);
#pragma unroll 2
    for (int k = 1; k < taps; k++)
#pragma unroll
      for (int m = 0; m < ROWS_AT_ONCE; m++)
        sum[m] = P::add(sum[m], w[k], from[m * t.pitch + k * j.channels]);
    char *to = p.out + static_cast<int64_t>(y0 + row) * j.out.stride[FC_AXIS_Y] +
               (static_cast<int64_t>(x0) * j.channels + e) * SIZE;
#pragma unroll
    for (int m = 0; m < ROWS_AT_ONCE; m++)
      if (row + m < ny) fc_dev_store<float, T>(to + m * j.out.stride[FC_AXIS_Y], sum[m], j.store, nullptr);
  }
}

// First pass horizontal.
template <typename P>
__device__ __forceinline__ void tile_across(const job<P> &j, const tiling &t, const plane<P> &p, int x0,
                                            int nx, int y0, int ny, typename P::value *mid) {
  const int64_t low = j.y.first[y0];
  const int rows = static_cast<int>(j.y.first[y0 + ny - 1] + j.y.taps[y0 + ny - 1] - low);
  for (int r = threadIdx.y; r < rows; r += WARPS)
    for (int i = threadIdx.x; i < nx * j.channels; i += LANES) {
      const int x = j.by_channels.quotient(i);
      mid[r * t.pitch + i] = first_across(j, p, low + r, x0 + x, i - x * j.channels);
    }
  __syncthreads();
  for (int r = threadIdx.y; r < ny; r += WARPS)
    for (int i = threadIdx.x; i < nx * j.channels; i += LANES) {
      const int x = j.by_channels.quotient(i), c = i - x * j.channels, o = y0 + r;
      char *to = p.out + o * j.out.stride[FC_AXIS_Y] + (x0 + x) * j.out.stride[FC_AXIS_X] +
                 c * j.out.stride[FC_AXIS_C];
      finish(j, to, mid + (j.y.first[o] - low) * t.pitch + x * j.channels, c, t.pitch,
             j.y.weights + static_cast<int64_t>(o) * j.y.room, j.y.taps[o]);
    }
}

template <typename P, bool DOWN_FIRST, bool WORDS>
__global__ void __launch_bounds__(LANES *WARPS) resample_tiles(job<P> j, tiling t) {
  extern __shared__ __align__(16) unsigned char resample_shared[];
  typename P::value *mid = reinterpret_cast<typename P::value *>(resample_shared);
  const int64_t all = t.across * t.down * t.planes;
  for (int64_t i = blockIdx.x; i < all; i += gridDim.x) {
    const plane<P> p = plane_of(j, i / (t.across * t.down));
    const int64_t tile = i % (t.across * t.down);
    const int x0 = static_cast<int>(tile % t.across) * t.nx, y0 = static_cast<int>(tile / t.across) * t.ny;
    const int nx = min(t.nx, j.x.count - x0), ny = min(t.ny, j.y.count - y0);
    if constexpr (DOWN_FIRST)
      tile_down<P, WORDS>(j, t, p, x0, nx, y0, ny, mid);
    else
      tile_across<P>(j, t, p, x0, nx, y0, ny, mid);
    __syncthreads();
  }
}

template <typename T, bool ALIGNED, bool ALPHA>
__global__ void __launch_bounds__(LANES *WARPS, 4) resample_dense(job<of_reals<float>> j, tiling t) {
  extern __shared__ __align__(16) unsigned char resample_shared[];
  float *mid = reinterpret_cast<float *>(resample_shared);
  const int64_t all = t.across * t.down * t.planes;
  for (int64_t i = blockIdx.x; i < all; i += gridDim.x) {
    const plane<of_reals<float>> p = plane_of(j, i / (t.across * t.down));
    const int64_t tile = i % (t.across * t.down);
    const int x0 = static_cast<int>(tile % t.across) * t.nx, y0 = static_cast<int>(tile / t.across) * t.ny;
    dense_down<T, ALIGNED, ALPHA>(j, t, p, x0, min(t.nx, j.x.count - x0), y0, min(t.ny, j.y.count - y0), mid);
    __syncthreads();
  }
}

// ---- through scratch memory ----------------------------------------------------------

// Rows of intermediate values: one per output row if the first pass is vertical, otherwise per input row.
struct passage {
  int64_t rows, pitch, planes;
  int32_t down_first;
};

template <typename P>
__global__ void __launch_bounds__(LANES *WARPS) resample_first(job<P> j, passage s, typename P::value *mid) {
  const int64_t low_x = j.x.first[0], low_y = j.y.first[0], all = s.planes * s.rows * s.pitch;
  const int64_t columns = j.x.first[j.x.count - 1] + j.x.taps[j.x.count - 1] - low_x;
  const int64_t rows = j.y.first[j.y.count - 1] + j.y.taps[j.y.count - 1] - low_y;
  const int64_t thread = threadIdx.y * LANES + threadIdx.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(LANES * WARPS) + thread; i < all;
       i += gridDim.x * static_cast<int64_t>(LANES * WARPS)) {
    const int64_t row = i / s.pitch, x = i % s.pitch / j.channels, c = i % s.pitch % j.channels;
    const plane<P> p = plane_of(j, row / s.rows);
    const int64_t y = row % s.rows;
    if (s.down_first ? x >= columns : y >= rows) continue; // padding, which is not read
    mid[i] = s.down_first ? first_down(j, p, static_cast<int>(y), low_x + x, static_cast<int>(c))
                          : first_across(j, p, low_y + y, static_cast<int>(x), static_cast<int>(c));
  }
}

template <typename P>
__global__ void __launch_bounds__(LANES *WARPS)
    resample_second(job<P> j, passage s, const typename P::value *mid) {
  const int64_t low_x = j.x.first[0], low_y = j.y.first[0];
  const int64_t row = static_cast<int64_t>(j.x.count) * j.channels, all = s.planes * j.y.count * row;
  const int64_t thread = threadIdx.y * LANES + threadIdx.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(LANES * WARPS) + thread; i < all;
       i += gridDim.x * static_cast<int64_t>(LANES * WARPS)) {
    const int64_t line = i / row, x = i % row / j.channels, y = line % j.y.count;
    const int c = static_cast<int>(i % row % j.channels);
    const plane<P> p = plane_of(j, line / j.y.count);
    const typename P::value *from = mid + line / j.y.count * s.rows * s.pitch;
    char *to =
        p.out + y * j.out.stride[FC_AXIS_Y] + x * j.out.stride[FC_AXIS_X] + c * j.out.stride[FC_AXIS_C];
    if (s.down_first)
      finish(j, to, from + y * s.pitch + (j.x.first[x] - low_x) * j.channels, c, j.channels,
             j.x.weights + x * j.x.room, j.x.taps[x]);
    else
      finish(j, to, from + (j.y.first[y] - low_y) * s.pitch + x * j.channels, c, s.pitch,
             j.y.weights + y * j.y.room, j.y.taps[y]);
  }
}

// ---- nearest ---------------------------------------------------------------------------

// Rows of a block: where they begin on both sides is computed once.
constexpr int NEAREST_ROWS = 256;

struct nearest_job {
  fc_dev_view in, out;
  fc_resample_axis x, y;
  int64_t out_x, out_y, in_x, in_y; // origins
  int64_t rows;                     // of all planes
  int32_t groups, channels;         // planes of a frame; channels of a row
};

// The input's offset of element i of a row.
__device__ __forceinline__ int64_t nearest_offset(const nearest_job &j, int64_t i) {
  const int64_t pixel = j.channels == 1 ? i : i / j.channels, c = i - pixel * j.channels;
  int64_t x;
  fc_resample_span(&j.x, j.out_x + pixel, &x);
  return (x - j.in_x) * j.in.stride[FC_AXIS_X] + c * j.in.stride[FC_AXIS_C];
}

// A thread copies PER adjacent elements of each row, a word.
template <typename E, int PER>
__global__ void __launch_bounds__(LANES *WARPS) resample_nearest(const __grid_constant__ nearest_job j) {
  __shared__ const char *from[NEAREST_ROWS];
  __shared__ char *to[NEAREST_ROWS];
  const int64_t r0 = static_cast<int64_t>(blockIdx.x) * NEAREST_ROWS,
                width = j.out.shape[FC_AXIS_X] * j.channels;
  const int count = static_cast<int>(min(static_cast<int64_t>(NEAREST_ROWS), j.rows - r0));
  for (int k = threadIdx.y * LANES + threadIdx.x; k < count; k += LANES * WARPS) {
    const int64_t height = j.out.shape[FC_AXIS_Y], plane = (r0 + k) / height, oy = (r0 + k) % height;
    const int64_t n = plane / j.groups, c = plane % j.groups;
    int64_t iy;
    fc_resample_span(&j.y, j.out_y + oy, &iy);
    from[k] = j.in.at(n, iy - j.in_y, 0, c), to[k] = j.out.at(n, oy, 0, c);
  }
  __syncthreads();
  for (int64_t i = (blockIdx.y * static_cast<int64_t>(LANES) + threadIdx.x) * PER; i < width;
       i += static_cast<int64_t>(gridDim.y) * LANES * PER) {
    int64_t offset[PER];
#pragma unroll
    for (int k = 0; k < PER; k++) offset[k] = nearest_offset(j, min(i + k, width - 1));
    const int64_t at =
        PER == 1 && j.channels == 1 ? i * j.out.stride[FC_AXIS_X] : i * static_cast<int64_t>(sizeof(E));
#pragma unroll 4
    for (int r = threadIdx.y; r < count; r += WARPS) {
      E v[PER];
#pragma unroll
      for (int k = 0; k < PER; k++) v[k] = __ldg(reinterpret_cast<const E *>(from[r] + offset[k]));
      if constexpr (PER > 1) {
        if (i + PER <= width) {
          uint32_t word;
          memcpy(&word, v, sizeof word);
          *reinterpret_cast<uint32_t *>(to[r] + at) = word;
          continue;
        }
      }
#pragma unroll
      for (int k = 0; k < PER; k++)
        if (i + k < width) *reinterpret_cast<E *>(to[r] + at + k * static_cast<int64_t>(sizeof(E))) = v[k];
    }
  }
}

// Channels that are adjacent in the output are copied together, else planes of them.
template <typename E>
fc_status launch_nearest(const fc_resample_axis &x, const fc_resample_axis &y, const fc_view *in,
                         const fc_view *out, void *stream) {
  const bool whole = fc_dev_is_interleaved(out);
  nearest_job j = {fc_dev_view_of(in),
                   fc_dev_view_of(out),
                   x,
                   y,
                   out->origin[FC_AXIS_X],
                   out->origin[FC_AXIS_Y],
                   in->origin[FC_AXIS_X],
                   in->origin[FC_AXIS_Y],
                   0,
                   0,
                   0};
  j.channels = static_cast<int32_t>(whole ? out->shape[FC_AXIS_C] : 1);
  j.groups = static_cast<int32_t>(whole ? 1 : out->shape[FC_AXIS_C]);
  j.rows = out->shape[FC_AXIS_N] * j.groups * out->shape[FC_AXIS_Y];
  const int64_t starts = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out->data)) |
                         out->stride[FC_AXIS_Y] | out->stride[FC_AXIS_N] |
                         (j.groups > 1 ? out->stride[FC_AXIS_C] : 0);
  const bool words = sizeof(E) < 4 && starts % 4 == 0 &&
                     out->stride[FC_AXIS_X] == j.channels * static_cast<int64_t>(sizeof(E));
  constexpr int PER = sizeof(E) < 4 ? static_cast<int>(4 / sizeof(E)) : 1;
  const int64_t width = out->shape[FC_AXIS_X] * j.channels;
  const dim3 grid(fc_blocks(j.rows, NEAREST_ROWS, INT32_MAX),
                  fc_blocks(width, LANES * (words ? PER : 1), 65535));
  return fc_launch(words ? resample_nearest<E, PER> : resample_nearest<E, 1>, grid, dim3(LANES, WARPS), 0,
                   stream, j);
}

// ---- host code ---------------------------------------------------------------------------

// What is derived from the two views.
struct choice {
  fc_resample_axis x, y;
  bool codes, down_first, whole, tiles;
  int64_t channels, value; // channels per row; bytes per intermediate value
  int64_t room_x, room_y;
  tiling tile;
  int64_t rows, pitch, planes; // of the passage
};

int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// The maximum number of inputs that `count` adjacent outputs read.
int64_t inputs_of(const fc_resample_axis &a, int64_t count) {
  return smaller(static_cast<int64_t>(static_cast<double>(count) * a.scale) + a.most + 2, a.in);
}

// Intermediate values per row for a tile nx outputs wide; below, their bytes for a tile of nx x ny.
int64_t pitch_of(const choice &w, int64_t nx) {
  return w.down_first ? (inputs_of(w.x, nx) * w.channels + 3) / 4 * 4 + 4 : nx * w.channels;
}
int64_t tile_bytes(const choice &w, int64_t nx, int64_t ny) {
  return pitch_of(w, nx) * (w.down_first ? ny : inputs_of(w.y, ny)) * w.value;
}

// Halves a side of the tile until it fits: Y, or X if it reads more than twice as many inputs as Y, since the
// halo matters less on a longer side.
void choose_tile(choice *w, const fc_view *out) {
  int64_t nx = TILE_X, ny = TILE_Y;
  while (tile_bytes(*w, nx, ny) > SHARED_MOST && (nx > 1 || ny > 1))
    if (ny == 1 || (nx > 1 && nx * w->x.scale > 2 * ny * w->y.scale))
      nx /= 2;
    else
      ny /= 2;
  w->tiles = tile_bytes(*w, nx, ny) <= SHARED_MOST;
  w->tile.nx = static_cast<int32_t>(nx), w->tile.ny = static_cast<int32_t>(ny);
  w->tile.across = (out->shape[FC_AXIS_X] + nx - 1) / nx,
  w->tile.down = (out->shape[FC_AXIS_Y] + ny - 1) / ny;
  w->tile.planes = w->planes;
  w->tile.pitch = w->tiles ? static_cast<int32_t>(pitch_of(*w, nx)) : 0;
  w->tile.by_row = fc_dev_divider_of(nx * w->channels);
}

choice choose(const fc_resample *r, const fc_view *in, const fc_view *out) {
  choice w;
  w.x = fc_resample_axis_of(r, in->extent[FC_AXIS_X], out->extent[FC_AXIS_X]);
  w.y = fc_resample_axis_of(r, in->extent[FC_AXIS_Y], out->extent[FC_AXIS_Y]);
  w.codes = fc_resample_by_codes(r, in->dtype, &w.x, &w.y);
  w.down_first = fc_resample_down_first(r, w.codes, &w.y);
  w.whole = r->alpha || (fc_dev_is_interleaved(in) && fc_dev_is_interleaved(out));
  w.channels = w.whole ? out->shape[FC_AXIS_C] : 1;
  w.planes = out->shape[FC_AXIS_N] * (w.whole ? 1 : out->shape[FC_AXIS_C]);
  w.value = w.codes ? 2 : static_cast<int64_t>(fc_dtype_size(r->compute));
  w.room_x = (w.x.most + 1) / 2 * 2, w.room_y = (w.y.most + 1) / 2 * 2;
  choose_tile(&w, out);
  w.rows = w.down_first ? out->shape[FC_AXIS_Y] : inputs_of(w.y, out->shape[FC_AXIS_Y]);
  w.pitch = (w.down_first ? inputs_of(w.x, out->shape[FC_AXIS_X]) : out->shape[FC_AXIS_X]) * w.channels;
  return w;
}

int64_t aligned(int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

struct memory {
  int64_t first_x, taps_x, weights_x, first_y, taps_y, weights_y, between, bytes;
};

// From shapes and extents only. Whether intermediate values need scratch is decided as if all channels were
// processed together, which is the maximum of what tiles can need.
memory lay(const fc_resample *r, const fc_view *in, const fc_view *out) {
  choice w = choose(r, in, out);
  const int64_t width = out->shape[FC_AXIS_X], height = out->shape[FC_AXIS_Y];
  memory m = {0, 0, 0, 0, 0, 0, 0, 0};
  int64_t at = 0;
  m.first_x = at, at += aligned(width * 4);
  m.taps_x = at, at += aligned(width * 4);
  m.weights_x = at, at += aligned(width * w.room_x * w.value);
  m.first_y = at, at += aligned(height * 4);
  m.taps_y = at, at += aligned(height * 4);
  m.weights_y = at, at += aligned(height * w.room_y * w.value);
  m.between = at;
  w.channels = out->shape[FC_AXIS_C];
  choose_tile(&w, out);
  if (!w.tiles)
    at += aligned(out->shape[FC_AXIS_N] * w.channels * w.value *
                  (w.down_first ? height * inputs_of(w.x, width) : inputs_of(w.y, height) * width));
  m.bytes = at;
  return m;
}

template <typename W>
table<W> table_of(void *scratch, int64_t first, int64_t taps, int64_t weights, int64_t room,
                  const fc_view *out, int axis) {
  char *base = static_cast<char *>(scratch);
  return {reinterpret_cast<int32_t *>(base + first), reinterpret_cast<int32_t *>(base + taps),
          reinterpret_cast<W *>(base + weights),     static_cast<int32_t>(room),
          static_cast<int32_t>(out->shape[axis]),    out->origin[axis]};
}

template <typename P, bool DOWN_FIRST, bool WORDS>
fc_status launch_tiles(const choice &w, const job<P> &j, void *stream) {
  const int64_t bytes = tile_bytes(w, w.tile.nx, w.tile.ny);
  const unsigned blocks = fc_blocks(w.tile.across * w.tile.down * w.tile.planes, 1, 1 << 30);
  return fc_launch(resample_tiles<P, DOWN_FIRST, WORDS>, dim3(blocks), dim3(LANES, WARPS),
                   static_cast<size_t>(bytes), stream, j, w.tile);
}

template <typename P> fc_status launch_passes(const choice &w, const job<P> &j, void *between, void *stream) {
  const passage s = {w.rows, w.pitch, w.planes, w.down_first};
  typename P::value *mid = static_cast<typename P::value *>(between);
  const int64_t outputs = w.planes * j.x.count * j.y.count * w.channels;
  const unsigned first = fc_blocks(w.planes * w.rows * w.pitch, LANES * WARPS, 1 << 20);
  const unsigned last = fc_blocks(outputs, LANES * WARPS, 1 << 20);
  fc_status status = fc_launch(resample_first<P>, dim3(first), dim3(LANES, WARPS), 0, stream, j, s, mid);
  if (status != FC_OK) return status;
  return fc_launch(resample_second<P>, dim3(last), dim3(LANES, WARPS), 0, stream, j, s, mid);
}

// Floats and u16 in floats whose elements are adjacent in a row on both sides, down first; else
// FC_UNSUPPORTED.
template <typename T, bool ALPHA>
fc_status launch_dense(const choice &w, const job<of_reals<float>> &j, const fc_view *in, const fc_view *out,
                       void *stream) {
  const bool adjacent = fc_dev_is_interleaved(in) && fc_dev_is_interleaved(out) && w.whole;
  const int64_t size = static_cast<int64_t>(sizeof(T));
  if (!w.down_first || ALPHA != (j.alpha != 0) || (ALPHA && w.channels != 4) ||
      (!adjacent && (ALPHA || in->stride[FC_AXIS_X] != size || out->stride[FC_AXIS_X] != size)) ||
      w.tile.nx * w.channels > 4096 || in->extent[FC_AXIS_X] > INT32_MAX / w.channels)
    return FC_UNSUPPORTED;
  const int64_t bytes =
      tile_bytes(w, w.tile.nx, (w.tile.ny + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE * ROWS_AT_ONCE);
  if (bytes > SHARED_MOST + (SHARED_MOST >> 3)) return FC_UNSUPPORTED;
  const int64_t first = static_cast<int64_t>(reinterpret_cast<uintptr_t>(in->data)) -
                        in->origin[FC_AXIS_X] * in->stride[FC_AXIS_X];
  const int64_t steps = first | in->stride[FC_AXIS_Y] |
                        (in->shape[FC_AXIS_N] > 1 ? in->stride[FC_AXIS_N] : 0) |
                        (j.groups > 1 ? in->stride[FC_AXIS_C] : 0);
  const unsigned blocks = fc_blocks(w.tile.across * w.tile.down * w.tile.planes, 1, 1 << 30);
  return fc_launch(steps % (4 * size) == 0 ? resample_dense<T, true, ALPHA> : resample_dense<T, false, ALPHA>,
                   dim3(blocks), dim3(LANES, WARPS), static_cast<size_t>(bytes), stream, j, w.tile);
}

fc_status launch_if_dense(const choice &, const job<of_bytes> &, const fc_view *, const fc_view *, void *) {
  return FC_UNSUPPORTED;
}
fc_status launch_if_dense(const choice &, const job<of_reals<double>> &, const fc_view *, const fc_view *,
                          void *) {
  return FC_UNSUPPORTED;
}
fc_status launch_if_dense(const choice &w, const job<of_reals<float>> &j, const fc_view *in,
                          const fc_view *out, void *stream) {
  switch (in->dtype) {
  case FC_F32:
    return j.alpha ? launch_dense<float, true>(w, j, in, out, stream)
                   : launch_dense<float, false>(w, j, in, out, stream);
  case FC_U16:
    return j.alpha ? launch_dense<uint16_t, true>(w, j, in, out, stream)
                   : launch_dense<uint16_t, false>(w, j, in, out, stream);
  case FC_U8: return launch_dense<uint8_t, true>(w, j, in, out, stream);
  default: return FC_UNSUPPORTED;
  }
}

template <typename P, typename T, int TAPS, int PER>
fc_status launch_few_taps(const choice &w, const job<P> &j, const fc_view *in, const fc_view *out,
                          void *stream) {
  few_job<P> f;
  f.of = j, f.planes = w.planes;
  f.elements = static_cast<int32_t>(out->shape[FC_AXIS_X] * w.channels);
  f.groups = (f.elements + PER - 1) / PER;
  const int64_t end = in->origin[FC_AXIS_X] + in->shape[FC_AXIS_X] + fc_resample_halo_of(&w.x);
  f.end = static_cast<int32_t>(smaller(end, w.x.in));
  const int64_t steps = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out->data)) |
                        out->stride[FC_AXIS_Y] | out->stride[FC_AXIS_N] |
                        (j.groups > 1 ? out->stride[FC_AXIS_C] : 0);
  f.aligned = steps % (PER * static_cast<int64_t>(sizeof(T))) == 0;
  const dim3 grid(fc_blocks(f.groups, FEW_THREADS, INT32_MAX), fc_blocks(j.y.count, FEW_ROWS, INT32_MAX),
                  fc_blocks(w.planes, 1, 65535));
  return fc_launch(w.down_first ? resample_few<P, T, TAPS, PER, true> : resample_few<P, T, TAPS, PER, false>,
                   grid, dim3(FEW_THREADS), 0, stream, f);
}

template <typename P, typename T, int PER>
fc_status launch_few_of(const choice &w, const job<P> &j, int taps, const fc_view *in, const fc_view *out,
                        void *stream) {
  const int64_t size = static_cast<int64_t>(sizeof(T));
  const bool adjacent = (w.whole && fc_dev_is_interleaved(in) && fc_dev_is_interleaved(out)) ||
                        (!w.whole && in->stride[FC_AXIS_X] == size && out->stride[FC_AXIS_X] == size);
  if (!adjacent || in->extent[FC_AXIS_X] > INT32_MAX / 8 / w.channels / size ||
      out->extent[FC_AXIS_X] > INT32_MAX / 8 / w.channels || j.y.count > 65535 * FEW_ROWS)
    return FC_UNSUPPORTED;
  if (taps == 2) return launch_few_taps<P, T, 2, PER>(w, j, in, out, stream);
  if (taps == 4) return launch_few_taps<P, T, 4, PER>(w, j, in, out, stream);
  if constexpr (sizeof(T) > 1)
    if (taps == 6) return launch_few_taps<P, T, 6, PER>(w, j, in, out, stream);
  return FC_UNSUPPORTED;
}

fc_status launch_few(const choice &w, const job<of_bytes> &j, int taps, const fc_view *in, const fc_view *out,
                     void *stream) {
  return launch_few_of<of_bytes, uint8_t, 8>(w, j, taps, in, out, stream);
}
fc_status launch_few(const choice &w, const job<of_reals<float>> &j, int taps, const fc_view *in,
                     const fc_view *out, void *stream) {
  switch (in->dtype) {
  case FC_F32: return launch_few_of<of_reals<float>, float, 4>(w, j, taps, in, out, stream);
  case FC_U16: return launch_few_of<of_reals<float>, uint16_t, 4>(w, j, taps, in, out, stream);
  default: return FC_UNSUPPORTED;
  }
}
fc_status launch_few(const choice &, const job<of_reals<double>> &, int, const fc_view *, const fc_view *,
                     void *) {
  return FC_UNSUPPORTED;
}

// Whether four bytes can be processed at a time: all rows must have the same offset within a word.
bool has_words(const choice &w, const fc_view *in) {
  const int dense = w.channels == 1 ? in->stride[FC_AXIS_X] == 1 : fc_dev_is_interleaved(in);
  return w.codes && dense && in->stride[FC_AXIS_Y] % 4 == 0;
}

template <typename P>
fc_status run(const choice &w, const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch,
              void *stream) {
  using W = typename P::weight;
  const memory m = lay(r, in, out);
  job<P> j;
  j.in = fc_dev_view_of(in), j.out = fc_dev_view_of(out);
  j.x = table_of<W>(scratch, m.first_x, m.taps_x, m.weights_x, w.room_x, out, FC_AXIS_X);
  j.y = table_of<W>(scratch, m.first_y, m.taps_y, m.weights_y, w.room_y, out, FC_AXIS_Y);
  j.load = fc_dev_map_of<typename P::real>(in->kind, in->dtype);
  j.store = fc_dev_map_of<typename P::real>(out->kind, out->dtype);
  j.in_x = in->origin[FC_AXIS_X], j.in_y = in->origin[FC_AXIS_Y];
  j.channels = static_cast<int32_t>(w.channels);
  j.groups = static_cast<int32_t>(w.whole ? 1 : out->shape[FC_AXIS_C]);
  j.alpha = r->alpha, j.limits = fc_resample_limits(r, w.codes);
  j.by_channels = fc_dev_divider_of(w.channels);
  const int64_t outputs = out->shape[FC_AXIS_X] + out->shape[FC_AXIS_Y];
  fc_status status = fc_launch(resample_tables<W>, dim3(fc_blocks(outputs, WARPS, INT32_MAX)),
                               dim3(LANES, WARPS), 0, stream, w.x, w.y, j.x, j.y);
  if (status != FC_OK) return status;
  status = launch_few(w, j, fc_resample_few_taps(r, w.codes, &w.x, &w.y), in, out, stream);
  if (status != FC_UNSUPPORTED) return status;
  if (!w.tiles) return launch_passes<P>(w, j, static_cast<char *>(scratch) + m.between, stream);
  status = launch_if_dense(w, j, in, out, stream);
  if (status != FC_UNSUPPORTED) return status;
  if (!w.down_first) return launch_tiles<P, false, false>(w, j, stream);
  return has_words(w, in) ? launch_tiles<P, true, sizeof(W) == 2>(w, j, stream)
                          : launch_tiles<P, true, false>(w, j, stream);
}

bool is_empty(const fc_view *in, const fc_view *out) {
  return fc_view_count(out) == 0 || in->extent[FC_AXIS_X] < 1 || in->extent[FC_AXIS_Y] < 1;
}

} // namespace

extern "C" size_t fc_resample_cuda_scratch(const fc_resample *r, const fc_view *in, const fc_view *out) {
  if (r->filter == FC_RESAMPLE_NEAREST || is_empty(in, out)) return 0;
  int64_t most = lay(r, in, out).bytes;
  for (int64_t bytes : {fc_resample_along_scratch(r, in, out), fc_resample_strips_scratch(r, in, out)})
    if (bytes > most) most = bytes;
  return static_cast<size_t>(most);
}

extern "C" fc_status fc_resample_cuda(const fc_resample *r, const fc_view *in, const fc_view *out,
                                      void *scratch, void *stream) {
  if (is_empty(in, out)) return FC_OK;
  const choice w = choose(r, in, out);
  if (r->filter == FC_RESAMPLE_NEAREST) switch (fc_dtype_size(out->dtype)) {
    case 1: return launch_nearest<uint8_t>(w.x, w.y, in, out, stream);
    case 2: return launch_nearest<uint16_t>(w.x, w.y, in, out, stream);
    case 4: return launch_nearest<uint32_t>(w.x, w.y, in, out, stream);
    default: return launch_nearest<uint64_t>(w.x, w.y, in, out, stream);
    }
  if (w.codes) {
    fc_status status = FC_UNSUPPORTED;
    switch (fc_resample_way_of(r, &w.x, &w.y)) {
    case FC_RESAMPLE_STRIPS: status = fc_resample_strips(r, in, out, scratch, stream); break;
    case FC_RESAMPLE_ALONG: status = fc_resample_along(r, in, out, scratch, stream); break;
    default: break;
    }
    return status == FC_UNSUPPORTED ? run<of_bytes>(w, r, in, out, scratch, stream) : status;
  }
  if (r->compute == FC_F64) return run<of_reals<double>>(w, r, in, out, scratch, stream);
  return run<of_reals<float>>(w, r, in, out, scratch, stream);
}

// SPDX-License-Identifier: MIT
//
// conv1d.cu - one-dimensional convolution on a CUDA device.
//
// Both kernels keep R consecutive outputs of a thread in registers and slide a window of R inputs over them,
// so that an input is fetched once for R multiply-adds.
//
// conv1d_lines is for rows along X whose channels are interleaved, planes, or one only. A block loads a tile
// of input into shared memory by vector loads and converts it; outputs are stored the same way. A short mask
// is a kernel parameter, in the constant bank; a longer one passes through shared memory with the tile, a
// piece at a time, whatever its length.
//
// conv1d_columns is for everything else, mainly axis Y: neighbouring threads read neighbouring elements
// directly from global memory, and the caches hold the rows that overlap.
//
// The order of sums is that of conv1d.h, so the bits do not depend on the kernel or on how the signal is
// cut. The host makes the borders: nothing here branches on them. Short masks on the common sample types and
// layouts have kernels of their own, which make the border too: quads.cu and columns.cu.
// choice.c has the table.
#include "filters/conv1d/choice.h"
#include "filters/conv1d/conv1d.h"
#include "filters/conv1d/kernels.cuh"
#include "filters/gpu/cuda.cuh"

namespace {

// R is odd: threads read shared memory R words apart, then without bank conflicts.
template <typename F> struct tuning;
template <> struct tuning<float> { static constexpr int line_outputs = 15, column_outputs = 8; };
template <> struct tuning<double> { static constexpr int line_outputs = 7, column_outputs = 4; };

constexpr int threads_most = 256;
constexpr int shared_most = 48 * 1024;  // available without opting in, on any device
constexpr int pieces_bytes = 24 * 1024; // part of it, for the taps of a piece of a long mask
constexpr int constant_bytes = 2048;    // longer masks thrash the constant cache

// acc[r] += sum over j < taps of w(j) * x(j + r), ascending in j. The window is a ring of R registers; R
// taps are unrolled, so that its position is known at compile time and no register is moved.
template <int R, typename F, typename X, typename W>
__device__ __forceinline__ void add_taps(F (&acc)[R], X x, W w, int taps) {
  F window[R];
#pragma unroll
  for (int r = 0; r < R - 1; r++) window[r] = x(r);
  int j = 0;
  for (; j + R <= taps; j += R) {
#pragma unroll
    for (int t = 0; t < R; t++) {
      window[(t + R - 1) % R] = x(j + t + R - 1);
      F tap = w(j + t);
#pragma unroll
      for (int r = 0; r < R; r++) acc[r] = fma(window[(t + r) % R], tap, acc[r]);
    }
  }
#pragma unroll
  for (int t = 0; t < R - 1; t++) {
    if (j + t < taps) {
      window[(t + R - 1) % R] = x(j + t + R - 1);
      F tap = w(j + t);
#pragma unroll
      for (int r = 0; r < R; r++) acc[r] = fma(window[(t + r) % R], tap, acc[r]);
    }
  }
}

// Sums one block of taps from 0 and adds the result to the totals, or initialises them if it is the first.
template <int R, typename F, typename X, typename W>
__device__ __forceinline__ void add_block(F (&sum)[R], X x, W w, int taps, bool first) {
  F acc[R];
#pragma unroll
  for (int r = 0; r < R; r++) acc[r] = 0;
  add_taps<R, F>(acc, x, w, taps);
#pragma unroll
  for (int r = 0; r < R; r++) sum[r] = first ? acc[r] : sum[r] + acc[r];
}

// ---- tiles in shared memory ------------------------------------------------

// Samples are copied between global and shared memory in packs, each with as many as fill 16 bytes of F;
// elements before the first aligned pack and after the last are copied singly.
template <typename F> constexpr int pack_size = 16 / sizeof(F);

template <typename T, int N, int A> struct alignas(A) pack { T v[N]; };

template <typename F, typename T> struct packing {
  static constexpr int size = pack_size<F>;
  static constexpr int bytes = size * static_cast<int>(sizeof(T));
  static constexpr int alignment = bytes < 16 ? bytes : 16;
  using global = pack<T, size, alignment>;
  using shared = pack<F, size, 16>;

  // Elements before the first aligned address, and the offset in shared memory (which is aligned to 16) at
  // which they are stored so that packs are aligned there too.
  static __device__ __forceinline__ int head(const void *at) {
    int over = static_cast<int>(reinterpret_cast<uintptr_t>(at) % alignment);
    return over ? (alignment - over) / static_cast<int>(sizeof(T)) : 0;
  }
  static __device__ __forceinline__ int lead(const void *at) { return (size - head(at) % size) % size; }
};

template <typename F, typename T>
__device__ __forceinline__ F *load_tile(F *tile, const void *from, int count, fc_dev_map<F> map) {
  using P = packing<F, T>;
  const T *global = static_cast<const T *>(from);
  F *shared = tile + P::lead(from);
  int head = min(P::head(from), count), packs = (count - head) / P::size, tail = head + packs * P::size;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    typename P::global in = *reinterpret_cast<const typename P::global *>(global + head + i * P::size);
    typename P::shared out;
#pragma unroll
    for (int k = 0; k < P::size; k++) out.v[k] = fc_dev_value<F, T>(in.v[k], map);
    *reinterpret_cast<typename P::shared *>(shared + head + i * P::size) = out;
  }
  for (int i = threadIdx.x; i < head; i += blockDim.x) shared[i] = fc_dev_value<F, T>(global[i], map);
  for (int i = tail + threadIdx.x; i < count; i += blockDim.x) shared[i] = fc_dev_value<F, T>(global[i], map);
  return shared;
}

template <typename F, typename T>
__device__ __forceinline__ void store_tile(void *to, const F *tile, int count, fc_dev_map<F> map,
                                           uint32_t *notes) {
  using P = packing<F, T>;
  T *global = static_cast<T *>(to);
  const F *shared = tile + P::lead(to);
  int head = min(P::head(to), count), packs = (count - head) / P::size, tail = head + packs * P::size;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    typename P::shared in = *reinterpret_cast<const typename P::shared *>(shared + head + i * P::size);
    typename P::global out;
#pragma unroll
    for (int k = 0; k < P::size; k++) out.v[k] = fc_dev_code<F, T>(in.v[k], map, notes);
    *reinterpret_cast<typename P::global *>(global + head + i * P::size) = out;
  }
  for (int i = threadIdx.x; i < head; i += blockDim.x) global[i] = fc_dev_code<F, T>(shared[i], map, notes);
  for (int i = tail + threadIdx.x; i < count; i += blockDim.x)
    global[i] = fc_dev_code<F, T>(shared[i], map, notes);
}

// The element type is the same for all threads: a switch per tile costs nothing, and saves six copies of
// each kernel.
template <typename F>
__device__ F *load_tile_any(F *tile, const void *from, int dtype, int count, fc_dev_map<F> map) {
  switch (dtype) {
  case FC_U8: return load_tile<F, uint8_t>(tile, from, count, map);
  case FC_I16: return load_tile<F, int16_t>(tile, from, count, map);
  case FC_U16: return load_tile<F, uint16_t>(tile, from, count, map);
  case FC_I32: return load_tile<F, int32_t>(tile, from, count, map);
  case FC_F32: return load_tile<F, float>(tile, from, count, map);
  default: return load_tile<F, double>(tile, from, count, map);
  }
}

template <typename F>
__device__ void store_tile_any(void *to, int dtype, const F *tile, int count, fc_dev_map<F> map,
                               uint32_t *notes) {
  switch (dtype) {
  case FC_U8: store_tile<F, uint8_t>(to, tile, count, map, notes); break;
  case FC_I16: store_tile<F, int16_t>(to, tile, count, map, notes); break;
  case FC_U16: store_tile<F, uint16_t>(to, tile, count, map, notes); break;
  case FC_I32: store_tile<F, int32_t>(to, tile, count, map, notes); break;
  case FC_F32: store_tile<F, float>(to, tile, count, map, notes); break;
  default: store_tile<F, double>(to, tile, count, map, notes); break;
  }
}

// The offset at which store_tile_any expects the first element.
template <typename F> __device__ int store_lead(const void *to, int dtype) {
  switch (dtype) {
  case FC_U8: return packing<F, uint8_t>::lead(to);
  case FC_I16: return packing<F, int16_t>::lead(to);
  case FC_U16: return packing<F, uint16_t>::lead(to);
  case FC_I32: return packing<F, int32_t>::lead(to);
  case FC_F32: return packing<F, float>::lead(to);
  default: return packing<F, double>::lead(to);
  }
}

// ---- lines -----------------------------------------------------------------

// A short mask as a kernel parameter; N = 1 if the mask is not passed this way.
template <typename F, int N> struct tap_list { F tap[N]; };
template <typename F> constexpr int tap_list_size = constant_bytes / static_cast<int>(sizeof(F));

template <typename F> struct line_args {
  fc_dev_view in, out;
  fc_dev_map<F> in_map, out_map;
  uint32_t *notes;
  const F *mask; // in device memory
  int64_t taps, before, length;
  int64_t tiles, tiles_a_row, frames;
  int64_t channels;  // each a row of its own (planes); else 1
  int step;          // number of interleaved channels
  int groups;        // threads per channel
  int masks;         // masks per tile: 1 or step
  int64_t mask_step; // distance between the masks of two planes
  int piece;         // taps that pass through shared memory together: a multiple of the block
  int tile_size;     // elements of the tile, which precedes the taps
};

// A tile's position.
template <typename F> struct tile_place {
  const char *in;
  char *out;
  const F *mask;
  int live;
};

template <typename F>
__device__ __forceinline__ tile_place<F> place_tile(const line_args<F> &a, int64_t t, int positions) {
  // 64-bit divisions would take longer than some of the tiles, and few signals have that many tiles.
  const bool few = a.tiles < (int64_t{1} << 31);
  const int64_t row =
      few ? static_cast<uint32_t>(t) / static_cast<uint32_t>(a.tiles_a_row) : t / a.tiles_a_row;
  const int64_t start = (t - row * a.tiles_a_row) * positions;
  const int64_t line = a.channels == 1 ? row : row / a.channels, plane = row - line * a.channels;
  const int64_t n = a.frames == 1 ? 0 : line / a.out.shape[FC_AXIS_Y], y = line - n * a.out.shape[FC_AXIS_Y];
  return {a.in.at(n, y, start - a.before, plane), a.out.at(n, y, start, plane), a.mask + plane * a.mask_step,
          static_cast<int>(min(static_cast<int64_t>(positions), a.length - start))};
}

// Stores the sums of all threads through the tile, after all have read it.
template <typename F>
__device__ __forceinline__ void store_sums(const line_args<F> &a, F *tile, const F *sum, char *out, int live,
                                           int step, int first, bool working) {
  constexpr int R = tuning<F>::line_outputs;
  __syncthreads();
  if (working) {
    F *mine = tile + store_lead<F>(out, a.out.dtype) + first;
#pragma unroll
    for (int r = 0; r < R; r++) mine[r * step] = sum[r];
  }
  __syncthreads();
  store_tile_any<F>(out, a.out.dtype, tile, live * step, a.out_map, a.notes);
}

template <typename F, int N>
__global__ void __launch_bounds__(threads_most)
    conv1d_lines(const __grid_constant__ line_args<F> a, const __grid_constant__ tap_list<F, N> list) {
  constexpr int R = tuning<F>::line_outputs;
  extern __shared__ __align__(16) unsigned char memory[];
  F *tile = reinterpret_cast<F *>(memory), *taps = tile + a.tile_size;
  const int step = a.step, channel = threadIdx.x % step, group = threadIdx.x / step;
  const bool working = group < a.groups;
  const int pitch = a.piece | 1; // odd, so that the masks of neighbouring channels lie in different banks
  const int positions = a.groups * R, first = group * R * step + channel;

  for (int64_t t = blockIdx.x; t < a.tiles; t += gridDim.x) {
    const tile_place<F> at = place_tile(a, t, positions);
    F sum[R];
    for (int64_t j = 0; j < a.taps; j += a.piece) {
      const int piece = static_cast<int>(min(static_cast<int64_t>(a.piece), a.taps - j));
      __syncthreads(); // all threads have finished with the tile before
      const F *x = load_tile_any<F>(tile, at.in + j * a.in.stride[FC_AXIS_X], a.in.dtype,
                                    (at.live + piece - 1) * step, a.in_map);
      if (N == 1) {
        for (int i = threadIdx.x; i < piece * a.masks; i += blockDim.x)
          taps[i / piece * pitch + i % piece] = at.mask[i / piece * a.taps + j + i % piece];
      }
      __syncthreads();
      if (!working) continue;
      const F *mine = x + first, *w = taps + (a.masks == 1 ? 0 : channel * pitch);
      for (int b = 0; b < piece; b += FC_CONV1D_BLOCK) {
        const F *from = mine + b * step;
        add_block<R, F>(
            sum, [&](int q) { return from[q * step]; },
            [&](int k) { return N == 1 ? w[b + k] : list.tap[(N == 1 ? 0 : j) + b + k]; },
            min(FC_CONV1D_BLOCK, piece - b), j + b == 0);
      }
    }
    store_sums<F>(a, tile, sum, at.out, at.live, step, first, working);
  }
}

// ---- columns ---------------------------------------------------------------

// Threads are assigned to `inner` elements: the first `count` are `first` bytes apart, and each further
// group of `count` is `second` bytes after the one before.
struct inner_axes {
  int64_t inner, count;
  int64_t in_first, in_second, out_first, out_second; // bytes
};

template <typename F> struct column_args {
  fc_dev_view in, out;
  fc_dev_map<F> in_map, out_map;
  uint32_t *notes;
  const F *mask;
  int64_t taps, before, masks;
  int axis;
  inner_axes inner;
  int channel_first; // channels are the first inner axis, otherwise the second
  int64_t outer;     // frames; frames x rows if the axis is X
};

// Computes R outputs of one column, beginning at `in` and `out`, of which `live` exist.
template <typename F, typename T>
__device__ __forceinline__ void filter_column(const column_args<F> &a, const F *mask, const char *in,
                                              char *out, int live) {
  constexpr int R = tuning<F>::column_outputs;
  const int64_t stride = a.in.stride[a.axis], readable = a.taps - 1 + live;
  F sum[R];
  for (int64_t j = 0; j < a.taps; j += FC_CONV1D_BLOCK) {
    const char *from = in + (j - a.before) * stride;
    const int64_t left = readable - j;
    add_block<R, F>(
        sum, [&](int q) { return q < left ? fc_dev_load<F, T>(from + q * stride, a.in_map) : F(0); },
        [&](int k) { return __ldg(mask + j + k); },
        static_cast<int>(min(static_cast<int64_t>(FC_CONV1D_BLOCK), a.taps - j)), j == 0);
  }
#pragma unroll
  for (int r = 0; r < R; r++)
    if (r < live)
      fc_dev_store_any<F>(out + r * a.out.stride[a.axis], a.out.dtype, sum[r], a.out_map, a.notes);
}

template <typename F, typename T>
__global__ void __launch_bounds__(threads_most) conv1d_columns(const __grid_constant__ column_args<F> a) {
  constexpr int R = tuning<F>::column_outputs;
  const int64_t length = a.out.shape[a.axis], segments = (length + R - 1) / R, rows = a.out.shape[FC_AXIS_Y];
  const int64_t across = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t down = static_cast<int64_t>(gridDim.y) * blockDim.y;
  for (int64_t e = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < a.inner.inner;
       e += across) {
    const int64_t second = e / a.inner.count, first = e - second * a.inner.count;
    const F *mask = a.mask + (a.masks > 1 ? (a.channel_first ? first : second) * a.taps : 0);
    const char *in = a.in.data + first * a.inner.in_first + second * a.inner.in_second;
    char *out = a.out.data + first * a.inner.out_first + second * a.inner.out_second;
    for (int64_t o = blockIdx.z; o < a.outer; o += gridDim.z) {
      const int64_t n = a.axis == FC_AXIS_X ? o / rows : o, y = a.axis == FC_AXIS_X ? o - n * rows : 0;
      const char *in_row = in + n * a.in.stride[FC_AXIS_N] + y * a.in.stride[FC_AXIS_Y];
      char *out_row = out + n * a.out.stride[FC_AXIS_N] + y * a.out.stride[FC_AXIS_Y];
      for (int64_t s = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; s < segments; s += down) {
        const int64_t at = s * R;
        filter_column<F, T>(a, mask, in_row + at * a.in.stride[a.axis], out_row + at * a.out.stride[a.axis],
                            static_cast<int>(min(static_cast<int64_t>(R), length - at)));
      }
    }
  }
}

// ---- launching -------------------------------------------------------------

// Whether samples of a row are adjacent, with channels interleaved or separate.
bool is_dense(const fc_view *v, int64_t step) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  return v->stride[FC_AXIS_X] == step * size && (step == 1 || v->stride[FC_AXIS_C] == size);
}

// Threads per block, chosen so that the tiles of a row have about the same length.
int line_threads(int64_t length, int64_t step, int outputs) {
  const int64_t most = threads_most / step * outputs, tiles = (length + most - 1) / most;
  const int64_t groups = ((length + tiles - 1) / tiles + outputs - 1) / outputs;
  const int64_t threads = (groups * step + 31) / 32 * 32;
  return static_cast<int>(threads < 64 ? 64 : threads > threads_most ? threads_most : threads);
}

// Assigns shared memory to the tile and the taps; false if there are too many channels.
template <typename F> bool plan_lines(line_args<F> *a, int threads, bool listed, size_t *bytes) {
  constexpr int R = tuning<F>::line_outputs;
  const int64_t a_tap = a->step + (listed ? 0 : a->masks), block = FC_CONV1D_BLOCK;
  const int64_t most = pieces_bytes / static_cast<int64_t>(sizeof(F)) / a_tap / block * block;
  const int64_t needed = (a->taps + block - 1) / block * block;
  a->groups = threads / a->step;
  if (a->groups < 1) return false;
  a->piece = static_cast<int>(needed < most ? needed : most < block ? block : most);
  int64_t halo = (a->taps < a->piece ? a->taps : a->piece) - 1;
  int64_t size = (a->groups * R + halo) * a->step + pack_size<F>; // with the maximum lead
  a->tile_size = static_cast<int>((size + pack_size<F> - 1) / pack_size<F> * pack_size<F>);
  *bytes = (a->tile_size + (listed ? 0 : static_cast<int64_t>(a->masks) * (a->piece | 1))) * sizeof(F);
  a->tiles_a_row = (a->length + a->groups * R - 1) / (a->groups * R);
  return *bytes <= shared_most;
}

template <typename F, int N>
fc_status launch_lines(const line_args<F> &a, const tap_list<F, N> &list, int threads, size_t bytes,
                       cudaStream_t stream) {
  conv1d_lines<F, N><<<fc_blocks(a.tiles, 1, INT32_MAX), threads, bytes, stream>>>(a, list);
  return fc_launch_status();
}

// Returns FC_UNSUPPORTED if the layout requires conv1d_columns.
template <typename F>
fc_status try_lines(const fc_conv1d *c, const fc_view *in, const fc_view *out, cudaStream_t stream,
                    uint32_t *notes) {
  const int64_t channels = out->shape[FC_AXIS_C];
  const bool interleaved = channels <= threads_most && is_dense(in, channels) && is_dense(out, channels);
  if (c->axis != FC_AXIS_X || !(interleaved || (is_dense(in, 1) && is_dense(out, 1)))) return FC_UNSUPPORTED;
  line_args<F> a = {};
  a.in = fc_dev_view_of(in), a.out = fc_dev_view_of(out);
  a.in_map = fc_dev_map_of<F>(in->kind, in->dtype), a.out_map = fc_dev_map_of<F>(out->kind, out->dtype);
  a.notes = notes, a.mask = static_cast<const F *>(c->device_mask);
  a.taps = c->taps, a.before = c->before, a.length = out->shape[FC_AXIS_X];
  a.channels = interleaved ? 1 : channels, a.step = interleaved ? static_cast<int>(channels) : 1;
  a.masks = interleaved ? static_cast<int>(c->masks) : 1;
  a.mask_step = !interleaved && c->masks > 1 ? c->taps : 0;
  const bool listed = c->masks == 1 && c->taps <= tap_list_size<F>;
  const int threads = line_threads(a.length, a.step, tuning<F>::line_outputs);
  size_t bytes = 0;
  if (!plan_lines<F>(&a, threads, listed, &bytes)) return FC_UNSUPPORTED;
  a.frames = out->shape[FC_AXIS_N];
  a.tiles = a.tiles_a_row * a.frames * out->shape[FC_AXIS_Y] * a.channels;
  if (!listed) return launch_lines<F, 1>(a, tap_list<F, 1>{}, threads, bytes, stream);
  tap_list<F, tap_list_size<F>> list = {};
  for (int64_t j = 0; j < c->taps; j++) list.tap[j] = static_cast<const F *>(c->mask)[j];
  return launch_lines<F, tap_list_size<F>>(a, list, threads, bytes, stream);
}

// Chooses the axes across the threads: X and C if columns go along Y, C alone if they go along X. The one
// with the smaller stride is the first.
template <typename F>
void plan_columns(const fc_conv1d *c, const fc_view *in, const fc_view *out, column_args<F> *a) {
  const int64_t columns = out->shape[FC_AXIS_X], channels = out->shape[FC_AXIS_C];
  const bool along_x = c->axis == FC_AXIS_X;
  a->channel_first = along_x || (channels > 1 && in->stride[FC_AXIS_C] <= in->stride[FC_AXIS_X]);
  const int first = a->channel_first ? FC_AXIS_C : FC_AXIS_X,
            second = a->channel_first ? FC_AXIS_X : FC_AXIS_C;
  a->inner.inner = along_x ? channels : columns * channels;
  a->inner.count = out->shape[first];
  a->inner.in_first = in->stride[first], a->inner.in_second = in->stride[second];
  a->inner.out_first = out->stride[first], a->inner.out_second = out->stride[second];
  a->outer = out->shape[FC_AXIS_N] * (along_x ? out->shape[FC_AXIS_Y] : 1);
}

template <typename F>
fc_status launch_columns(const fc_conv1d *c, const fc_view *in, const fc_view *out, cudaStream_t stream,
                         uint32_t *notes) {
  column_args<F> a = {};
  a.in = fc_dev_view_of(in), a.out = fc_dev_view_of(out);
  a.in_map = fc_dev_map_of<F>(in->kind, in->dtype), a.out_map = fc_dev_map_of<F>(out->kind, out->dtype);
  a.notes = notes, a.mask = static_cast<const F *>(c->device_mask);
  a.taps = c->taps, a.before = c->before, a.masks = c->masks, a.axis = c->axis;
  plan_columns<F>(c, in, out, &a);
  dim3 block(1, 1, 1);
  while (block.x < threads_most && block.x < a.inner.inner) block.x *= 2;
  block.y = threads_most / block.x;
  const dim3 grid(
      fc_blocks(a.inner.inner, block.x, INT32_MAX),
      fc_blocks(out->shape[c->axis], static_cast<int64_t>(block.y) * tuning<F>::column_outputs, 65535),
      fc_blocks(a.outer, 1, 65535));
  return fc_dispatch_dtype(in->dtype, [&](auto zero) {
    conv1d_columns<F, decltype(zero)><<<grid, block, 0, stream>>>(a);
    return fc_launch_status();
  });
}

// Columns of an image few pixels wide can be treated as a row with interleaved channels.
bool is_narrow(const fc_conv1d *c, const fc_view *v) {
  constexpr int64_t widest = 16;
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype)),
                across = v->shape[FC_AXIS_X] * v->shape[FC_AXIS_C];
  return c->axis == FC_AXIS_Y && c->masks == 1 && across <= widest && v->stride[FC_AXIS_Y] == across * size &&
         (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] == size) &&
         (v->shape[FC_AXIS_X] == 1 || v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size);
}

fc_view turned(const fc_view *v) {
  fc_view t = *v;
  t.shape[FC_AXIS_C] = v->shape[FC_AXIS_X] * v->shape[FC_AXIS_C];
  t.stride[FC_AXIS_C] = static_cast<int64_t>(fc_dtype_size(v->dtype));
  t.shape[FC_AXIS_X] = v->shape[FC_AXIS_Y], t.stride[FC_AXIS_X] = v->stride[FC_AXIS_Y];
  t.shape[FC_AXIS_Y] = 1, t.stride[FC_AXIS_Y] = v->stride[FC_AXIS_N];
  return t;
}

template <typename F>
fc_status run_any(const fc_conv1d *c, const fc_view *in, const fc_view *out, cudaStream_t stream,
                  uint32_t *notes) {
  const fc_status status = try_lines<F>(c, in, out, stream, notes);
  return status == FC_UNSUPPORTED ? launch_columns<F>(c, in, out, stream, notes) : status;
}

fc_status launch(fc_kernel1d kernel, const fc_conv1d *c, const fc_view *in, const fc_edges *edges,
                 const fc_view *out, cudaStream_t stream, uint32_t *notes) {
  switch (kernel) {
  case FC_KERNEL1D_QUADS: return fc_conv1d_quads(c, in, edges, out, stream);
  case FC_KERNEL1D_COLUMNS: return fc_conv1d_columns(c, in, edges, out, stream, notes);
  case FC_KERNEL1D_ANY:
    return fc_dispatch_compute(c->compute,
                               [&](auto f) { return run_any<decltype(f)>(c, in, out, stream, notes); });
  default: return FC_UNSUPPORTED;
  }
}

// Runs the first kernel of the table that finds room; with `edges`, FC_UNSUPPORTED if none of those makes a
// border.
fc_status run(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
              cudaStream_t stream, uint32_t *notes) {
  if (is_narrow(c, in) && is_narrow(c, out)) {
    fc_conv1d along = *c;
    along.axis = FC_AXIS_X;
    const fc_view x = turned(in), y = turned(out);
    return run(&along, &x, edges, &y, stream, notes);
  }
  const fc_case1d k = fc_conv1d_case(c, in, edges, out);
  for (int from = 0;; from++) {
    const fc_kernel1d kernel = fc_case1d_choose(&k, static_cast<fc_kernel1d>(from));
    const fc_status status = launch(kernel, c, in, edges, out, stream, notes);
    if (status != FC_UNSUPPORTED || kernel >= FC_KERNEL1D_ANY) return status;
    from = kernel;
  }
}

} // namespace

fc_status fc_conv1d_cuda(const fc_conv1d *c, const fc_view *in, const fc_view *out, void *stream,
                         uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  return run(c, in, nullptr, out, static_cast<cudaStream_t>(stream), notes);
}

fc_status fc_conv1d_cuda_edges(const fc_conv1d *c, const fc_view *in, const fc_edges *edges,
                               const fc_view *out, void *stream, uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  return run(c, in, edges, out, static_cast<cudaStream_t>(stream), notes);
}

// SPDX-License-Identifier: MIT
//
// pixels.cu - short masks along rows of three or four interleaved channels of u8, i16 and u16, or with f32
// on one side.
//
// As tiles.cu, except that a stretch of a warp's tile is one channel of 256 pixels: samples are
// deinterleaved on their way into shared memory. A lane loads eight pixels, which it deinterleaves in
// registers, and computes eight pixels; these are stored through shared memory, so that neighbouring lanes
// store neighbouring words. With three channels too, rows may begin at any address: the number of pixels
// skipped before the tile is chosen so that loads are aligned.
//
// The order of sums is that of conv1d.h.
#include "filters/conv1d/kernels.cuh"

#include "filters/conv1d/windows.cuh"

namespace {

constexpr int EACH = FC_WINDOW_EACH, TILE = FC_WINDOW_STRETCH, WARPS = FC_WINDOW_WARPS; // TILE: in pixels
constexpr int SHORTEST = 128; // minimum pixels per row
constexpr int ROUNDS = TILE / EACH / 32;
static_assert(ROUNDS == 1, "a lane loads as many pixels as it makes, and some of the rest");

struct pixels_args {
  fc_dev_view in, out;
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
  int pixels; // per row of output
  fc_window_ends ends;
  fc_window_rows rows;
  int taps, quads; // quads: for one shift in the list
  int half, plane; // quads: of half a channel's tile in shared memory, and between channels
};

// The size of one load or store, and eight pixels of C channels.
template <typename T> constexpr int PIECE = sizeof(T) == 1 ? 8 : 16 / sizeof(T); // in elements
template <typename T> struct alignas(PIECE<T> * sizeof(T)) piece { uint32_t w[PIECE<T> * sizeof(T) / 4]; };
template <typename T, int C> struct eight_pixels {
  static constexpr int PIECES = EACH * C / PIECE<T>;
  union {
    piece<T> p[PIECES];
    uint32_t w[EACH * C * sizeof(T) / 4];
  };
};

// Pixels from the last one that begins at a multiple of a piece to the one at `elements`.
template <typename T, int C> __device__ __forceinline__ int pixels_over(uintptr_t elements) {
  const int over = static_cast<int>(elements) & (PIECE<T> - 1);
  return C == 3 ? 3 * over & (PIECE<T> - 1) : over / 4; // 3 is its own inverse modulo 4 and 8
}

template <typename T, int C>
__device__ __forceinline__ void to_floats(float (&v)[EACH * C], const eight_pixels<T, C> &from,
                                          fc_dev_map<float> map) {
  if constexpr (fc_is_code<T>) {
    fc_words_values<T, EACH * C>(v, from.w, map);
  } else {
#pragma unroll
    for (int i = 0; i < EACH * C; i++) v[i] = __uint_as_float(from.w[i]);
  }
}

// Stores pixels 8 q to 8 q + 7 in a tile, deinterleaved.
template <int C>
__device__ __forceinline__ void put(const pixels_args &a, float4 *tile, int q, const float (&v)[EACH * C]) {
#pragma unroll
  for (int c = 0; c < C; c++) {
    float4 *to = tile + c * a.plane + q;
    to[0] = make_float4(v[c], v[C + c], v[2 * C + c], v[3 * C + c]);
    to[a.half] = make_float4(v[4 * C + c], v[5 * C + c], v[6 * C + c], v[7 * C + c]);
  }
}

// Loads `count` groups of eight pixels of a row, from pixel `first` on.
template <typename T, int C>
__device__ __forceinline__ void fill(const pixels_args &a, float4 *tile, const T *row, int first, int count) {
#pragma unroll 2
  for (int q = threadIdx.x % 32; q < count; q += 32) {
    const int e = first + q * EACH;
    float v[EACH * C];
    if (fc_window_inside(a.ends, e, EACH)) {
      eight_pixels<T, C> from;
      const piece<T> *pieces = reinterpret_cast<const piece<T> *>(row + static_cast<int64_t>(e) * C);
#pragma unroll
      for (int i = 0; i < eight_pixels<T, C>::PIECES; i++) from.p[i] = pieces[i];
      to_floats<T, C>(v, from, a.in_map);
    } else {
#pragma unroll
      for (int i = 0; i < EACH * C; i++)
        v[i] = fc_window_element<T, 1, C>(a.ends, row, e + i / C, i % C, a.in_map);
    }
    put<C>(a, tile, q, v);
  }
}

template <typename U, int C>
__device__ __forceinline__ void to_codes(eight_pixels<U, C> &to, const float (&sum)[C][EACH],
                                         fc_dev_map<float> map, fc_dev_noted &noted) {
  float v[EACH * C];
#pragma unroll
  for (int i = 0; i < EACH * C; i++) v[i] = sum[i % C][i / C];
  if constexpr (fc_is_code<U>) {
    fc_words_codes<U, EACH * C>(to.w, v, map, noted);
  } else {
#pragma unroll
    for (int i = 0; i < EACH * C; i++) to.w[i] = __float_as_uint(v[i]);
  }
}

// Stores a whole tile through `room`, so that neighbouring lanes store neighbouring pieces.
template <typename U, int C>
__device__ __forceinline__ void store_tile(U *to, float4 *room, const eight_pixels<U, C> &mine) {
  constexpr int PIECES = eight_pixels<U, C>::PIECES;
  piece<U> *pieces = reinterpret_cast<piece<U> *>(room);
  const int lane = threadIdx.x % 32;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < PIECES; i++) pieces[lane * PIECES + i] = mine.p[i];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < PIECES; i++) reinterpret_cast<piece<U> *>(to)[i * 32 + lane] = pieces[i * 32 + lane];
}

// Stores the part of a tile that is within its row.
template <typename U, int C>
__device__ __forceinline__ void store_some(const pixels_args &a, U *row, int at,
                                           const float (&sum)[C][EACH]) {
#pragma unroll
  for (int r = 0; r < EACH; r++)
    if (at + r >= 0 && at + r < a.pixels)
#pragma unroll
      for (int c = 0; c < C; c++)
        row[static_cast<int64_t>(at + r) * C + c] = fc_dev_code<float, U>(sum[c][r], a.out_map, a.notes);
}

template <typename T, typename U, int C>
__global__ void __launch_bounds__(32 * WARPS, 4)
    conv1d_pixels(const __grid_constant__ pixels_args a, const __grid_constant__ fc_window_taps<1> list) {
  extern __shared__ __align__(16) float4 memory[];
  const int unit = static_cast<int>(blockIdx.x) * WARPS + static_cast<int>(threadIdx.x / 32);
  if (unit >= a.rows.units) return;
  const fc_window_row p = fc_window_row_of(a.rows, unit);
  const T *in = reinterpret_cast<const T *>(a.in.at(p.n, p.y, 0, 0));
  U *out = reinterpret_cast<U *>(a.out.at(p.n, p.y, 0, 0));
  const int lead = pixels_over<U, C>(reinterpret_cast<uintptr_t>(out) / sizeof(U));
  int first = p.unit * a.rows.turns * TILE - lead; // the tile's first output
  const int end = min(first + a.rows.turns * TILE, a.pixels);
  const T *window = in + static_cast<int64_t>(first + a.ends.first) * C;
  const int passed = pixels_over<T, C>(reinterpret_cast<uintptr_t>(window) / sizeof(T)), shift = passed % 4;
  const int count = (passed + TILE + a.taps - 1 + EACH - 1) / EACH;
  float4 *tile = memory + threadIdx.x / 32 * (C * a.plane);
  // The window may begin in the second quad.
  const float4 *even = tile + threadIdx.x % 32 + (passed < 4 ? 0 : a.half);
  const float4 *odd = tile + threadIdx.x % 32 + (passed < 4 ? a.half : 1);
  fc_dev_noted noted = {};
#pragma unroll 1
  for (; first < end; first += TILE) {
    fill<T, C>(a, tile, in, first + a.ends.first - passed, count);
    __syncwarp();
    float sum[C][EACH];
    fc_window_sums<1, C>(sum, even, odd, a.plane, a.taps, shift, list.quad + shift * a.quads);
    if (first >= 0 && first + TILE <= a.pixels) {
      eight_pixels<U, C> mine;
      to_codes<U, C>(mine, sum, a.out_map, noted);
      store_tile<U, C>(out + static_cast<int64_t>(first) * C, tile, mine);
    } else {
      store_some<U, C>(a, out, first + static_cast<int>(threadIdx.x % 32) * EACH, sum);
    }
    __syncwarp();
  }
  if (fc_is_code<U>) noted.tell(a.notes);
}

// ---- launching -------------------------------------------------------------

template <typename T, typename U, int C>
fc_status launch(pixels_args a, const fc_conv1d *c, const fc_view *out, cudaStream_t stream) {
  fc_window_taps<1> list = {};
  if (!fc_window_rows_of(&a.rows, out, a.pixels, TILE, 1)) return FC_UNSUPPORTED;
  fc_window_list<1>(&list, c);
  a.half = fc_window_half(EACH - 1 + TILE + a.taps - 1 + EACH - 1), a.plane = 2 * a.half;
  const int64_t bytes = static_cast<int64_t>(WARPS) * C * a.plane * static_cast<int64_t>(sizeof(float4));
  if (!fc_allow_shared(conv1d_pixels<T, U, C>, bytes)) return FC_UNSUPPORTED;
  conv1d_pixels<T, U, C><<<fc_blocks(a.rows.units, WARPS, INT32_MAX), 32 * WARPS, bytes, stream>>>(a, list);
  return fc_launch_status();
}

} // namespace

fc_status fc_conv1d_pixels(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           cudaStream_t stream, uint32_t *notes) {
  const int64_t channels = out->shape[FC_AXIS_C];
  pixels_args a = {};
  if (c->axis != FC_AXIS_X || c->compute != FC_F32 || c->masks != 1 || c->taps > FC_WINDOW_TAPS ||
      (channels != 3 && channels != 4) || !fc_window_pixels(in, channels) ||
      !fc_window_pixels(out, channels) || out->shape[FC_AXIS_X] < SHORTEST ||
      !fc_window_ends_of(&a.ends, c, in, edges, out, 1))
    return FC_UNSUPPORTED;
  a.in = fc_dev_view_of(in), a.out = fc_dev_view_of(out);
  a.in_map = fc_dev_map_of<float>(in->kind, in->dtype);
  a.out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  a.pixels = static_cast<int>(out->shape[FC_AXIS_X]), a.notes = notes;
  a.taps = static_cast<int>(c->taps), a.quads = fc_window_quads(c->taps, 1);
  return fc_window_dispatch(in->dtype, out->dtype, [&](auto from, auto to) {
    using T = decltype(from);
    using U = decltype(to);
    if constexpr (!fc_is_code<T> && !fc_is_code<U>)
      return FC_UNSUPPORTED; // vectors.cu is for these
    else
      return channels == 3 ? launch<T, U, 3>(a, c, out, stream) : launch<T, U, 4>(a, c, out, stream);
  });
}

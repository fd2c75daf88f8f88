// SPDX-License-Identifier: MIT
//
// tiles.cu - short masks along rows of u8, i16, u16 and f32, of one channel or two interleaved.
//
// Each warp has a tile of a row in shared memory, as floats, so that each sample is converted once. A lane
// computes eight adjacent elements in each of several stretches of 256, and slides over its inputs a quad at
// a time; the tile's even and odd quads are stored separately, so that neighbouring lanes read neighbouring
// quads. Loads are 16 bytes (8 for u8), the taps come from the constant bank. Warps do not wait for each
// other: each computes several tiles, and loads the samples of the next before it sums the current one.
//
// Outputs are stored in aligned groups of eight, so a row's first tile may begin up to 7 elements early.
// Inputs may begin inside a quad: the first `shift` elements of it are skipped. In a tile that touches an
// end of the readable range, the chunks that touch it are filled an element at a time, mapped by the border
// if the views are the whole signal.
//
// The order of sums is that of conv1d.h.
#include "filters/conv1d/kernels.cuh"

#include "filters/conv1d/windows.cuh"

namespace {

constexpr int EACH = FC_WINDOW_EACH, STRETCH = FC_WINDOW_STRETCH, WARPS = FC_WINDOW_WARPS;
constexpr int FEW = 1, MANY = 3; // stretches per tile, in short and in long rows
constexpr int SHORTEST = 96;     // minimum elements per row

struct tiles_args {
  fc_dev_view in, out;
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
  int elements; // per row of output
  fc_window_ends ends;
  fc_window_rows rows;
  int taps, quads; // quads: for one shift in the list
  int half;        // quads of half a tile in shared memory
};

// Elements per load.
template <typename T> constexpr int CHUNK = sizeof(T) < 4 ? 8 : 4;
template <typename T> struct alignas(CHUNK<T> * sizeof(T)) words_of { uint32_t w[CHUNK<T> * sizeof(T) / 4]; };

// ---- filling a tile --------------------------------------------------------

// Stores chunk q of a tile, as floats.
template <typename T>
__device__ __forceinline__ void put(float4 *tile, int half, int q, const words_of<T> &from,
                                    fc_dev_map<float> map) {
  float v[8];
  fc_words_values<T, 8>(v, from.w, map);
  tile[q] = make_float4(v[0], v[1], v[2], v[3]);
  tile[half + q] = make_float4(v[4], v[5], v[6], v[7]);
}
template <>
__device__ __forceinline__ void put<float>(float4 *tile, int half, int q, const words_of<float> &from,
                                           fc_dev_map<float>) {
  tile[fc_window_place(q, half)] = *reinterpret_cast<const float4 *>(from.w);
}

// The chunks of a tile in flight from memory: ROUNDS per lane, and one for the remainder.
template <typename T, int ROUNDS> struct chunks_of {
  words_of<T> v[ROUNDS + 1];

  __device__ __forceinline__ void load(const T *from, int count) {
    const words_of<T> *chunks = reinterpret_cast<const words_of<T> *>(from) + threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) v[i] = chunks[i * 32];
    if (ROUNDS * 32 + static_cast<int>(threadIdx.x % 32) < count) v[ROUNDS] = chunks[ROUNDS * 32];
  }

  __device__ __forceinline__ void fill(float4 *tile, int half, const T *from, int count,
                                       fc_dev_map<float> map) const {
    const int lane = threadIdx.x % 32, rest = ROUNDS * 32 + lane;
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) put<T>(tile, half, i * 32 + lane, v[i], map);
    if (rest < count) put<T>(tile, half, rest, v[ROUNDS], map);
    for (int q = rest + 32; q < count; q += 32)
      put<T>(tile, half, q, reinterpret_cast<const words_of<T> *>(from)[q], map);
  }
};

// Loads a tile of which some chunks touch an end; `first` is its first element in the row.
template <typename T, int STEP>
__device__ __forceinline__ void fill_end(const tiles_args &a, float4 *tile, const T *row, int first,
                                         int count) {
  float *to = reinterpret_cast<float *>(tile);
#pragma unroll 2
  for (int q = threadIdx.x % 32; q < count; q += 32) {
    const int e = first + q * CHUNK<T>;
    if (fc_window_inside(a.ends, e, CHUNK<T>)) {
      put<T>(tile, a.half, q, *reinterpret_cast<const words_of<T> *>(row + e), a.in_map);
      continue;
    }
#pragma unroll 1
    for (int i = 0; i < CHUNK<T>; i++)
      to[4 * fc_window_place((q * CHUNK<T> + i) / 4, a.half) + i % 4] =
          fc_window_element<T, STEP, 1>(a.ends, row, e + i, 0, a.in_map);
  }
}

// ---- storing ---------------------------------------------------------------

// Two lanes exchange quads, so that both store into the same 32 bytes.
__device__ __forceinline__ void store_eight(float *to, const float (&v)[EACH], fc_dev_map<float>,
                                            fc_dev_noted &) {
  const bool odd = threadIdx.x % 2;
  float4 other, first = {v[0], v[1], v[2], v[3]}, second = {v[4], v[5], v[6], v[7]};
  other.x = __shfl_xor_sync(0xffffffffu, odd ? first.x : second.x, 1);
  other.y = __shfl_xor_sync(0xffffffffu, odd ? first.y : second.y, 1);
  other.z = __shfl_xor_sync(0xffffffffu, odd ? first.z : second.z, 1);
  other.w = __shfl_xor_sync(0xffffffffu, odd ? first.w : second.w, 1);
  float4 *quads = reinterpret_cast<float4 *>(to);
  quads[odd ? -1 : 0] = odd ? other : first;
  quads[odd ? 1 : 2] = odd ? second : other;
}

template <typename T>
__device__ __forceinline__ void store_eight(T *to, const float (&v)[EACH], fc_dev_map<float> map,
                                            fc_dev_noted &noted) {
  words_of<T> codes;
  fc_words_codes<T, EACH>(codes.w, v, map, noted);
  *reinterpret_cast<words_of<T> *>(to) = codes;
}

// Stores the part of a tile that is within its row.
template <typename T>
__device__ __forceinline__ void store_some(T *row, int at, int elements, const float (&v)[EACH],
                                           const tiles_args &a) {
#pragma unroll
  for (int r = 0; r < EACH; r++)
    if (at + r >= 0 && at + r < elements) row[at + r] = fc_dev_code<float, T>(v[r], a.out_map, a.notes);
}

// ---- the kernel ------------------------------------------------------------

template <typename U, int K>
__device__ __forceinline__ void store_tile(const tiles_args &a, U *row, int first,
                                           const float (&sum)[K][EACH], fc_dev_noted &noted) {
  const int at = first + static_cast<int>(threadIdx.x % 32) * EACH;
  const bool inside = first >= 0 && first + K * STRETCH <= a.elements;
#pragma unroll
  for (int k = 0; k < K; k++) {
    if (inside)
      store_eight(row + at + k * STRETCH, sum[k], a.out_map, noted);
    else
      store_some(row, at + k * STRETCH, a.elements, sum[k], a);
  }
}

template <typename T, typename U, int STEP, int K>
__global__ void __launch_bounds__(32 * WARPS, K == FEW ? 8 : 4)
    conv1d_tiles(const __grid_constant__ tiles_args a, const __grid_constant__ fc_window_taps<STEP> list) {
  constexpr int TILE = K * STRETCH;
  extern __shared__ __align__(16) float4 memory[];
  const int unit = static_cast<int>(blockIdx.x) * WARPS + static_cast<int>(threadIdx.x / 32);
  if (unit >= a.rows.units) return;
  const fc_window_row p = fc_window_row_of(a.rows, unit);
  const T *in = reinterpret_cast<const T *>(a.in.at(p.n, p.y, 0, p.plane));
  U *out = reinterpret_cast<U *>(a.out.at(p.n, p.y, 0, p.plane));
  const int lead = static_cast<int>(reinterpret_cast<uintptr_t>(out) / sizeof(U) % EACH);
  int first = p.unit * a.rows.turns * TILE - lead; // the tile's first output
  const int end = min(first + a.rows.turns * TILE, a.elements);
  int from = first + a.ends.first;
  const int passed = static_cast<int>(reinterpret_cast<uintptr_t>(in + from) / sizeof(T) % CHUNK<T>);
  const int count = (passed + TILE + STEP * (a.taps - 1) + CHUNK<T> - 1) / CHUNK<T>, shift = passed % 4;
  from -= passed;
  float4 *tile = memory + threadIdx.x / 32 * (2 * a.half);
  // With chunks of two quads, the window may begin in the second.
  const float4 *even = tile + threadIdx.x % 32 + (passed < 4 ? 0 : a.half);
  const float4 *odd = tile + threadIdx.x % 32 + (passed < 4 ? a.half : 1);
  chunks_of<T, TILE / CHUNK<T> / 32> next;
  bool loaded = fc_window_inside(a.ends, from, count * CHUNK<T>);
  if (loaded) next.load(in + from, count);
  fc_dev_noted noted = {};
#pragma unroll 1
  for (; first < end; first += TILE, from += TILE) {
    if (loaded)
      next.fill(tile, a.half, in + from, count, a.in_map);
    else
      fill_end<T, STEP>(a, tile, in, from, count);
    __syncwarp();
    loaded = first + TILE < end && fc_window_inside(a.ends, from + TILE, count * CHUNK<T>);
    if (loaded) next.load(in + from + TILE, count);
    float sum[K][EACH];
    fc_window_sums<STEP, K>(sum, even, odd, 32, a.taps, shift, list.quad + shift / STEP * a.quads);
    store_tile<U, K>(a, out, first, sum, noted);
    __syncwarp();
  }
  if (fc_is_code<U>) noted.tell(a.notes);
}

// ---- launching -------------------------------------------------------------

// Whether samples of a row are adjacent and aligned so that `shift` is a multiple of the step.
bool fits(const fc_view *v, int64_t step) {
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v->data));
  for (int axis = 0; axis < FC_AXES; axis++)
    if (v->shape[axis] > 1 && !(axis == FC_AXIS_C && step > 1)) bits |= v->stride[axis];
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  return v->stride[FC_AXIS_X] == step * size && (step == 1 || v->stride[FC_AXIS_C] == size) &&
         bits % (step * size) == 0;
}

template <typename T, typename U, int STEP, int K>
fc_status launch(tiles_args a, const fc_conv1d *c, const fc_view *out, cudaStream_t stream) {
  constexpr int TILE = K * STRETCH;
  fc_window_taps<STEP> list = {};
  if (!fc_window_rows_of(&a.rows, out, a.elements, TILE, STEP == 1 ? out->shape[FC_AXIS_C] : 1))
    return FC_UNSUPPORTED;
  fc_window_list<STEP>(&list, c);
  a.half = fc_window_half(CHUNK<T> - 1 + TILE + STEP * (a.taps - 1) + CHUNK<T> - 1);
  const size_t bytes = static_cast<size_t>(WARPS) * 2 * a.half * sizeof(float4);
  conv1d_tiles<T, U, STEP, K>
      <<<fc_blocks(a.rows.units, WARPS, INT32_MAX), 32 * WARPS, bytes, stream>>>(a, list);
  return fc_launch_status();
}

template <typename T, typename U>
fc_status launch_steps(const tiles_args &a, const fc_conv1d *c, const fc_view *out, int step,
                       cudaStream_t stream) {
  if (a.elements < 2 * MANY * STRETCH)
    return step == 1 ? launch<T, U, 1, FEW>(a, c, out, stream) : launch<T, U, 2, FEW>(a, c, out, stream);
  return step == 1 ? launch<T, U, 1, MANY>(a, c, out, stream) : launch<T, U, 2, MANY>(a, c, out, stream);
}

} // namespace

fc_status fc_conv1d_tiles(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes) {
  const int step = fits(in, 1) && fits(out, 1)                                 ? 1
                   : out->shape[FC_AXIS_C] == 2 && fits(in, 2) && fits(out, 2) ? 2
                                                                               : 0;
  tiles_args a = {};
  if (c->axis != FC_AXIS_X || c->compute != FC_F32 || c->masks != 1 || c->taps > FC_WINDOW_TAPS ||
      step == 0 || out->shape[FC_AXIS_X] * step < SHORTEST ||
      !fc_window_ends_of(&a.ends, c, in, edges, out, step))
    return FC_UNSUPPORTED;
  a.in = fc_dev_view_of(in), a.out = fc_dev_view_of(out);
  a.in_map = fc_dev_map_of<float>(in->kind, in->dtype);
  a.out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  a.elements = static_cast<int>(out->shape[FC_AXIS_X] * step), a.notes = notes;
  a.taps = static_cast<int>(c->taps), a.quads = fc_window_quads(c->taps, step);
  return fc_window_dispatch(in->dtype, out->dtype, [&](auto from, auto to) {
    return launch_steps<decltype(from), decltype(to)>(a, c, out, step, stream);
  });
}

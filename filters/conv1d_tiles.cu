// SPDX-License-Identifier: MIT
//
// conv1d_tiles.cu - short masks along rows of u8, i16, u16 and f32, of one channel or two interleaved.
//
// A warp has a tile of a row to itself, in shared memory, as floats: each sample is converted once. A lane
// makes eight neighbouring elements in each of several stretches of 256, and slides over its inputs a quad at
// a time; the tile's even and odd quads lie apart, so that neighbouring lanes read neighbouring ones. Loads
// are of 16 bytes (8 of u8), the taps come from the constant bank. No warp waits for another.
//
// Outputs are stored where eight of them are aligned, so a row's first tile may begin up to 7 elements early.
// Inputs need not begin where quads do: `shift` elements of the first quad are passed over. A tile that
// touches an end of what can be read is filled one element after the other, by way of the border where the
// views are the whole signal; the others never ask.
//
// Sums run in the order that conv1d.h lays down.
#include "filters/conv1d_tiles.cuh"

#include "filters/border.cuh"
#include "filters/sample_words.cuh"

namespace {

constexpr int EACH = 8; // neighbouring outputs of a lane
constexpr int STRETCHES = 2, STRETCH = 32 * EACH, TILE = STRETCHES * STRETCH;
constexpr int WARPS = 8, RESIDENT = 3;
constexpr int SHORTEST = 256; // row that this is worth while for, in elements
constexpr int MOST_TAPS = FC_CONV1D_BLOCK;

// Taps by the place in two quads where they meet the window's first element, for each shift that there
// may be: 4 of one channel, 2 of two.
template <int STEP> constexpr int SHIFTS = 4 / STEP;
template <int STEP> constexpr int MOST_QUADS = 2 * ((3 + STEP * (MOST_TAPS - 1) + 1 + 7) / 8);
template <int STEP> struct tap_quads { float4 quad[SHIFTS<STEP> * MOST_QUADS<STEP>]; };

struct tiles_args {
  fc_dev_view in, out;
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
  int64_t elements;   // of a row of output
  int64_t begin, end; // the elements of a row of input that can be read; 0 stands where output 0 does
  int64_t ahead;      // elements from where output 0 stands back to where its window begins
  int64_t past;       // where the last output's window ends
  fc_dev_border border;
  int units;       // tiles in all
  int taps, quads; // quads: of a shift in the list
  int half;        // quads of half a tile in shared memory
  fc_dev_divider tiles_a_row, rows, planes;
  int n_tiles, n_rows, n_planes;
};

// Elements that are loaded together.
template <typename T> constexpr int CHUNK = sizeof(T) < 4 ? 8 : 4;

// ---- filling a tile --------------------------------------------------------

// Where quad q of a tile lies.
__device__ __forceinline__ int place_of(int q, int half) {
  return q / 2 + q % 2 * half;
}

template <typename T> struct alignas(CHUNK<T> * sizeof(T)) words_of { uint32_t w[CHUNK<T> * sizeof(T) / 4]; };

// Chunk q of a tile, as floats.
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
  tile[place_of(q, half)] = *reinterpret_cast<const float4 *>(from.w);
}

// `count` chunks from `from` on, ROUNDS * 32 at the least.
template <int ROUNDS, typename T>
__device__ __forceinline__ void fill(float4 *tile, int half, const T *from, int count,
                                     fc_dev_map<float> map) {
  const words_of<T> *chunks = reinterpret_cast<const words_of<T> *>(from);
  const int lane = threadIdx.x % 32, rest = ROUNDS * 32 + lane;
  words_of<T> v[ROUNDS + 1];
#pragma unroll
  for (int i = 0; i < ROUNDS; i++) v[i] = chunks[i * 32 + lane];
  if (rest < count) v[ROUNDS] = chunks[rest];
#pragma unroll
  for (int i = 0; i < ROUNDS; i++) put<T>(tile, half, i * 32 + lane, v[i], map);
  if (rest < count) put<T>(tile, half, rest, v[ROUNDS], map);
  for (int q = rest + 32; q < count; q += 32) put<T>(tile, half, q, chunks[q], map);
}

// Element e of a row, which may lie beyond its ends.
template <typename T, int STEP>
__device__ __forceinline__ float element(const tiles_args &a, const T *row, int64_t e) {
  // Tiles hold more than windows look at.
  if (e < -a.ahead || e >= a.past) return 0.f;
  if (e >= a.begin && e < a.end) return fc_dev_value<float, T>(row[e], a.in_map);
  const int source = fc_dev_border_element<STEP>(a.border, static_cast<int>(e));
  const T code =
      source == FC_BORDER_ELEMENT_NONE ? *reinterpret_cast<const T *>(&a.border.code) : row[source];
  return fc_dev_value<float, T>(code, a.in_map);
}

template <typename T, int STEP>
__device__ __forceinline__ void fill_end(const tiles_args &a, float4 *tile, const T *row, int64_t first,
                                         int count) {
  float *to = reinterpret_cast<float *>(tile);
#pragma unroll 4
  for (int i = threadIdx.x % 32; i < count; i += 32)
    to[4 * place_of(i / 4, a.half) + i % 4] = element<T, STEP>(a, row, first + i);
}

// ---- sums ------------------------------------------------------------------

// Adds tap `w` that meets element t of the first two quads of the window.
__device__ __forceinline__ void add_tap(float (&sum)[STRETCHES][EACH], const float4 (&v)[4][STRETCHES],
                                        float w, int t) {
#pragma unroll
  for (int k = 0; k < STRETCHES; k++) {
    const float x[16] = {v[0][k].x, v[0][k].y, v[0][k].z, v[0][k].w, v[1][k].x, v[1][k].y,
                         v[1][k].z, v[1][k].w, v[2][k].x, v[2][k].y, v[2][k].z, v[2][k].w,
                         v[3][k].x, v[3][k].y, v[3][k].z, v[3][k].w};
#pragma unroll
    for (int r = 0; r < EACH; r++) sum[k][r] = fmaf(x[r + t], w, sum[k][r]);
  }
}

// Those of eight taps from `begin` up to `end`.
template <int STEP>
__device__ __forceinline__ void add_taps(float (&sum)[STRETCHES][EACH], const float4 (&v)[4][STRETCHES],
                                         const float4 *taps, int begin, int end) {
  const float4 w[2] = {taps[0], taps[1]};
#pragma unroll
  for (int t = 0; t < 8; t += STEP) {
    const float4 q = w[t / 4];
    if (t >= begin && t < end)
      add_tap(sum, v, t % 4 == 0 ? q.x : t % 4 == 1 ? q.y : t % 4 == 2 ? q.z : q.w, t);
  }
}

__device__ __forceinline__ void move_on(float4 (&v)[4][STRETCHES]) {
#pragma unroll
  for (int k = 0; k < STRETCHES; k++) v[0][k] = v[2][k], v[1][k] = v[3][k];
}

// Quads 2 g and 2 g + 1 of the windows, counted from the lane's first.
__device__ __forceinline__ void fetch(float4 (&v)[4][STRETCHES], int to, const float4 *even,
                                      const float4 *odd, int g) {
#pragma unroll
  for (int k = 0; k < STRETCHES; k++) v[to][k] = even[k * 32 + g], v[to + 1][k] = odd[k * 32 + g];
}

// The sums of a lane, whose window begins `shift` elements before it is meant to.
template <int STEP>
__device__ __forceinline__ void sum_windows(float (&sum)[STRETCHES][EACH], const float4 *even,
                                            const float4 *odd, int taps, int shift, const float4 *list) {
  float4 v[4][STRETCHES];
#pragma unroll
  for (int k = 0; k < STRETCHES; k++)
#pragma unroll
    for (int r = 0; r < EACH; r++) sum[k][r] = 0.f;
  const int end = shift + STEP * (taps - 1) + 1, whole = end / 8;
  fetch(v, 0, even, odd, 0), fetch(v, 2, even, odd, 1);
  add_taps<STEP>(sum, v, list, shift, end);
  move_on(v);
  int g = 1;
#pragma unroll 2
  for (; g < whole; g++) {
    fetch(v, 2, even, odd, g + 1);
    add_taps<STEP>(sum, v, list + 2 * g, 0, 8);
    move_on(v);
  }
  if (8 * g >= end) return;
  fetch(v, 2, even, odd, g + 1);
  add_taps<STEP>(sum, v, list + 2 * g, 0, end - 8 * g);
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

// Of a tile that is not all within its row.
template <typename T>
__device__ __forceinline__ void store_some(T *row, int64_t at, int64_t elements, const float (&v)[EACH],
                                           const tiles_args &a) {
#pragma unroll
  for (int r = 0; r < EACH; r++)
    if (at + r >= 0 && at + r < elements) row[at + r] = fc_dev_code<float, T>(v[r], a.out_map, a.notes);
}

// ---- the kernel ------------------------------------------------------------

struct row_place {
  uint32_t tile, n, y, plane;
};

__device__ __forceinline__ row_place place_of_unit(const tiles_args &a, int unit) {
  row_place p = {static_cast<uint32_t>(unit), 0, 0, 0};
  if (a.n_tiles == a.units) return p;
  const int line = a.tiles_a_row.quotient(unit), image = a.rows.quotient(line);
  p.tile = unit - line * a.n_tiles, p.y = line - image * a.n_rows;
  p.n = a.planes.quotient(image), p.plane = image - p.n * a.n_planes;
  return p;
}

template <typename T, typename U, int STEP>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    conv1d_tiles(const __grid_constant__ tiles_args a, const __grid_constant__ tap_quads<STEP> list) {
  extern __shared__ __align__(16) float4 memory[];
  const int unit = static_cast<int>(blockIdx.x) * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (unit >= a.units) return;
  const row_place p = place_of_unit(a, unit);
  const T *in = reinterpret_cast<const T *>(a.in.at(p.n, p.y, 0, p.plane));
  U *out = reinterpret_cast<U *>(a.out.at(p.n, p.y, 0, p.plane));
  const int lead = static_cast<int>(reinterpret_cast<uintptr_t>(out) / sizeof(U) % EACH);
  const int64_t first = static_cast<int64_t>(p.tile) * TILE - lead; // the tile's first output
  const int passed =
      static_cast<int>(reinterpret_cast<uintptr_t>(in + (first - a.ahead)) / sizeof(T) % CHUNK<T>);
  const int64_t from = first - a.ahead - passed;
  const int count = (passed + TILE + STEP * (a.taps - 1) + CHUNK<T> - 1) / CHUNK<T>;
  float4 *tile = memory + threadIdx.x / 32 * (2 * a.half);
  if (from >= a.begin && from + count * CHUNK<T> <= a.end)
    fill<TILE / CHUNK<T> / 32>(tile, a.half, in + from, count, a.in_map);
  else
    fill_end<T, STEP>(a, tile, in, from, count * CHUNK<T>);
  __syncwarp();
  const float4 *even = tile + lane, *odd = even + a.half;
  const int shift = passed % 4;
  float sum[STRETCHES][EACH];
  // Of chunks of two quads, the window may begin in the second one.
  sum_windows<STEP>(sum, passed < 4 ? even : odd, passed < 4 ? odd : even + 1, a.taps, shift,
                    list.quad + shift / STEP * a.quads);
  fc_dev_noted noted = {};
  const bool inside = first >= 0 && first + TILE <= a.elements;
#pragma unroll
  for (int k = 0; k < STRETCHES; k++) {
    const int64_t at = first + k * STRETCH + lane * EACH;
    if (inside)
      store_eight(out + at, sum[k], a.out_map, noted);
    else
      store_some(out, at, a.elements, sum[k], a);
  }
  if (fc_is_code<U>) noted.tell(a.notes);
}

// ---- launching -------------------------------------------------------------

// Whether samples of a row are adjacent, and begin where a tap's neighbours may meet quads.
bool fits(const fc_view *v, int64_t step) {
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v->data));
  for (int axis = 0; axis < FC_AXES; axis++)
    if (v->shape[axis] > 1 && !(axis == FC_AXIS_C && step > 1)) bits |= v->stride[axis];
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  return v->stride[FC_AXIS_X] == step * size && (step == 1 || v->stride[FC_AXIS_C] == size) &&
         bits % (step * size) == 0;
}

template <int STEP> void list_taps(tap_quads<STEP> *list, const fc_conv1d *c, int quads) {
  for (int shift = 0; shift < 4; shift += STEP)
    for (int j = 0; j < c->taps; j++) {
      const int place = shift + j * STEP;
      float4 *quad = &list->quad[shift / STEP * quads + place / 4];
      (&quad->x)[place % 4] = static_cast<const float *>(c->mask)[j];
    }
}

bool plan(tiles_args *a, const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
          int64_t step) {
  const int64_t planes = step == 1 ? out->shape[FC_AXIS_C] : 1, rows = out->shape[FC_AXIS_Y];
  a->in = fc_dev_view_of(in), a->out = fc_dev_view_of(out);
  a->in_map = fc_dev_map_of<float>(in->kind, in->dtype);
  a->out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  a->elements = out->shape[FC_AXIS_X] * step, a->ahead = c->before * step;
  a->taps = static_cast<int>(c->taps),
  a->quads = 2 * static_cast<int>((3 + step * (c->taps - 1) + 1 + 7) / 8);
  a->past = a->elements + (c->taps - 1) * step - a->ahead;
  a->begin = edges ? 0 : -a->ahead, a->end = edges ? in->shape[FC_AXIS_X] * step : a->past;
  if (!fc_dev_border_of(&a->border, edges, in, c->before, c->taps, out->shape[FC_AXIS_X])) return false;
  const int64_t tiles = (a->elements + EACH - 1 + TILE - 1) / TILE, most = INT32_MAX - WARPS;
  if (tiles > most || rows > most / tiles || planes > most / tiles / rows ||
      out->shape[FC_AXIS_N] > most / tiles / rows / planes)
    return false;
  a->n_tiles = static_cast<int>(tiles), a->n_rows = static_cast<int>(rows),
  a->n_planes = static_cast<int>(planes);
  a->units = static_cast<int>(tiles * rows * planes * out->shape[FC_AXIS_N]);
  a->tiles_a_row = fc_dev_divider_of(tiles), a->rows = fc_dev_divider_of(rows);
  a->planes = fc_dev_divider_of(planes);
  // Halves begin four quads apart in the banks, for what is stored to both at once.
  const int64_t quads = (7 + TILE + step * (c->taps - 1) + 7) / 4 + 4;
  a->half = static_cast<int>((quads / 2 + 1 + 7) / 8 * 8 + 4);
  return true;
}

template <typename T, typename U, int STEP>
fc_status launch(const tiles_args &a, const fc_conv1d *c, cudaStream_t stream) {
  tap_quads<STEP> list = {};
  list_taps<STEP>(&list, c, a.quads);
  const size_t bytes = static_cast<size_t>(WARPS) * 2 * a.half * sizeof(float4);
  conv1d_tiles<T, U, STEP><<<fc_blocks(a.units, WARPS, INT32_MAX), 32 * WARPS, bytes, stream>>>(a, list);
  return fc_launch_status();
}

// Calls f with a value of the element type, where this file knows it.
template <typename Fn> fc_status dispatch(int dtype, Fn f) {
  switch (dtype) {
  case FC_U8: return f(uint8_t{});
  case FC_I16: return f(int16_t{});
  case FC_U16: return f(uint16_t{});
  case FC_F32: return f(float{});
  default: return FC_UNSUPPORTED;
  }
}

template <int STEP> fc_status launch_types(const tiles_args &a, const fc_conv1d *c, cudaStream_t stream) {
  return dispatch(a.in.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (a.out.dtype == a.in.dtype) return launch<T, T, STEP>(a, c, stream);
    if (a.out.dtype == FC_F32) return launch<T, float, STEP>(a, c, stream);
    if (!std::is_same<T, float>::value) return FC_UNSUPPORTED;
    return dispatch(a.out.dtype,
                    [&](auto other) { return launch<float, decltype(other), STEP>(a, c, stream); });
  });
}

} // namespace

fc_status fc_conv1d_tiles(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes) {
  const int64_t channels = out->shape[FC_AXIS_C];
  const int64_t step = fits(in, 1) && fits(out, 1) ? 1 : channels == 2 && fits(in, 2) && fits(out, 2) ? 2 : 0;
  tiles_args a = {};
  if (c->axis != FC_AXIS_X || c->compute != FC_F32 || c->masks != 1 || c->taps > MOST_TAPS || step == 0 ||
      out->shape[FC_AXIS_X] * step < SHORTEST || in->shape[FC_AXIS_X] == 0 ||
      !plan(&a, c, in, edges, out, step))
    return FC_UNSUPPORTED;
  a.notes = notes;
  return step == 1 ? launch_types<1>(a, c, stream) : launch_types<2>(a, c, stream);
}

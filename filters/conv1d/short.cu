// SPDX-License-Identifier: MIT
//
// short.cu - short masks along rows that are short themselves, whose border is to be made.
//
// A lane has whole rows to itself, 32 neighbouring ones a warp, and all outputs of several of them in
// registers. All lanes then look at the same place of their rows, so what stands for an element beyond the
// ends is found in a list that the host has made, four places and four taps at a time; the constant lies
// behind each row. Rows pass through shared memory in both directions, so that neighbouring lanes load and
// store neighbouring elements; there they are an odd number of words apart.
//
// Sums run in the order that conv1d.h lays down.
#include "filters/conv1d/short.cuh"

#include "filters/gpu/border.cuh"
#include "filters/gpu/sample_words.cuh"

namespace {

constexpr int LONGEST = 32;           // row
constexpr int WARPS = 4, AT_ONCE = 8; // AT_ONCE: elements that a lane loads
constexpr int MOST_TAPS = FC_CONV1D_BLOCK, MOST_QUADS = (MOST_TAPS + 3) / 4;

struct short_args {
  const char *in;
  char *out;
  int64_t in_row, out_row; // bytes from row to row
  int64_t in_gap, out_gap; // and from the end of one to the next
  int64_t rows;
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
  int in_dtype, out_dtype;
  int length, taps;
  fc_dev_divider by_length;
  uint64_t code; // of the constant that stands beyond the ends, as it is stored
};

// Places in a row, in bytes of shared memory: of the first window's elements but for the last, and of those
// that each tap brings in.
struct short_lists {
  float4 tap[MOST_QUADS];
  ushort4 ahead[LONGEST / 4], next[MOST_QUADS];
};

// Calls f with a value of the element type, which is the same for every thread.
template <typename Fn> __device__ __forceinline__ void with_type(int dtype, Fn f) {
  switch (dtype) {
  case FC_U8: f(uint8_t{}); break;
  case FC_I16: f(int16_t{}); break;
  case FC_U16: f(uint16_t{}); break;
  case FC_I32: f(int32_t{}); break;
  case FC_F32: f(float{}); break;
  default: f(double{}); break;
  }
}

// Elements of the warp's rows, to rows that are PITCH words apart.
template <typename T, int PITCH>
__device__ __forceinline__ void load_rows(const short_args &a, float *tile, const char *from, int count) {
#pragma unroll 1
  for (int begin = threadIdx.x % 32; begin < count; begin += 32 * AT_ONCE) {
    float v[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = begin + 32 * k;
      const char *at = from + i * static_cast<int>(sizeof(T));
      if (a.in_gap != 0) at += a.by_length.quotient(i) * a.in_gap;
      if (i < count) v[k] = fc_code_value<T>(*reinterpret_cast<const T *>(at), a.in_map);
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = begin + 32 * k;
      if (i < count) tile[i + a.by_length.quotient(i) * (PITCH - a.length)] = v[k];
    }
  }
}

template <typename T, int PITCH>
__device__ __forceinline__ void store_rows(const short_args &a, const float *tile, char *to, int count) {
  fc_dev_noted noted = {};
#pragma unroll 4
  for (int i = threadIdx.x % 32; i < count; i += 32) {
    const int row = a.by_length.quotient(i);
    char *at = to + i * static_cast<int>(sizeof(T));
    if (a.out_gap != 0) at += row * a.out_gap;
    const float v = tile[i + row * (PITCH - a.length)];
    if constexpr (fc_is_code<T>)
      *reinterpret_cast<T *>(at) = fc_value_code<T>(v, a.out_map, noted);
    else
      *reinterpret_cast<T *>(at) = fc_dev_code<float, T>(v, a.out_map, a.notes);
  }
  if (fc_is_code<T>) noted.tell(a.notes);
}

// K rows of a lane, 32 rows apart from each other: EACH outputs of each, and their windows for four taps.
template <int EACH, int K, int PITCH> struct short_sums {
  float x[K][EACH + 3], sum[K][EACH];

  __device__ __forceinline__ void load(const char *row, int to, int place) {
#pragma unroll
    for (int k = 0; k < K; k++)
      x[k][to] = *reinterpret_cast<const float *>(row + place + k * (32 * PITCH * 4));
  }

  __device__ __forceinline__ void add(float tap, int t) {
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
      for (int r = 0; r < EACH; r++) sum[k][r] = fmaf(x[k][r + t], tap, sum[k][r]);
  }

  __device__ __forceinline__ void begin(const char *row, const short_lists &list) {
#pragma unroll
    for (int r = 0; r < EACH - 1; r++) {
      const ushort4 places = list.ahead[r / 4];
      load(row, r, r % 4 == 0 ? places.x : r % 4 == 1 ? places.y : r % 4 == 2 ? places.z : places.w);
    }
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
      for (int r = 0; r < EACH; r++) sum[k][r] = 0.f;
  }

  __device__ __forceinline__ void make(const char *row, const short_lists &list, int taps) {
    begin(row, list);
    int g = 0;
    for (; 4 * g + 4 <= taps; g++) {
      const float4 w = list.tap[g];
      const ushort4 places = list.next[g];
      load(row, EACH - 1, places.x), load(row, EACH, places.y);
      load(row, EACH + 1, places.z), load(row, EACH + 2, places.w);
      add(w.x, 0), add(w.y, 1), add(w.z, 2), add(w.w, 3);
#pragma unroll
      for (int k = 0; k < K; k++)
#pragma unroll
        for (int r = 0; r < EACH - 1; r++) x[k][r] = x[k][r + 4];
    }
    if (4 * g == taps) return;
    const float4 w = list.tap[g];
    const ushort4 places = list.next[g];
    load(row, EACH - 1, places.x), add(w.x, 0);
    if (4 * g + 1 < taps) load(row, EACH, places.y), add(w.y, 1);
    if (4 * g + 2 < taps) load(row, EACH + 1, places.z), add(w.z, 2);
  }
};

// Words from row to row: odd, with room for the constant.
template <int EACH> constexpr int PITCH_OF = (EACH + 1) | 1;

template <int EACH, int K>
__global__ void __launch_bounds__(32 * WARPS)
    conv1d_short(const __grid_constant__ short_args a, const __grid_constant__ short_lists list) {
  constexpr int PITCH = PITCH_OF<EACH>, ROWS = 32 * K;
  __shared__ __align__(16) float memory[WARPS * ROWS * PITCH];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * WARPS + warp) * ROWS;
  if (first >= a.rows) return;
  const int count = static_cast<int>(min(static_cast<int64_t>(ROWS), a.rows - first)) * a.length;
  float *tile = memory + warp * ROWS * PITCH, *mine = tile + lane * PITCH;
  with_type(a.in_dtype, [&](auto zero) {
    using T = decltype(zero);
    const float constant = fc_dev_load<float, T>(&a.code, a.in_map);
#pragma unroll
    for (int k = 0; k < K; k++) mine[k * 32 * PITCH + a.length] = constant;
    load_rows<T, PITCH>(a, tile, a.in + first * a.in_row, count);
  });
  __syncwarp();
  short_sums<EACH, K, PITCH> s;
  s.make(reinterpret_cast<const char *>(mine), list, a.taps);
#pragma unroll
  for (int k = 0; k < K; k++) // in place: nobody else reads a lane's rows
#pragma unroll
    for (int r = 0; r < EACH; r++)
      if (r < a.length) mine[k * 32 * PITCH + r] = s.sum[k][r];
  __syncwarp();
  with_type(a.out_dtype,
            [&](auto zero) { store_rows<decltype(zero), PITCH>(a, tile, a.out + first * a.out_row, count); });
}

// ---- launching -------------------------------------------------------------

// Whether rows are dense, and equally far apart.
bool fits(const fc_view *v) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype)), *shape = v->shape;
  return (shape[FC_AXIS_X] == 1 || v->stride[FC_AXIS_X] == size) &&
         (shape[FC_AXIS_N] == 1 || shape[FC_AXIS_Y] == 1 ||
          v->stride[FC_AXIS_N] == shape[FC_AXIS_Y] * v->stride[FC_AXIS_Y]);
}

int64_t row_bytes(const fc_view *v) {
  return v->stride[v->shape[FC_AXIS_Y] == 1 ? FC_AXIS_N : FC_AXIS_Y];
}

void make_lists(short_lists *list, const fc_conv1d *c, const fc_edges *edges, int length, int each) {
  for (int j = 0; j < c->taps; j++) (&list->tap[0].x)[j] = static_cast<const float *>(c->mask)[j];
  for (int p = 0; p < each - 1 + c->taps; p++) {
    const int source = fc_dev_border_source(edges->border, p - static_cast<int>(c->before), length);
    uint16_t *to = p < each - 1 ? &list->ahead[0].x + p : &list->next[0].x + (p - each + 1);
    *to = static_cast<uint16_t>(4 * (source < 0 ? length : source));
  }
}

template <int EACH, int K>
fc_status launch(const short_args &a, const fc_conv1d *c, const fc_edges *edges, cudaStream_t stream) {
  short_lists list = {};
  make_lists(&list, c, edges, a.length, EACH);
  const int64_t blocks = (a.rows + 32 * K * WARPS - 1) / (32 * K * WARPS);
  if (blocks > INT32_MAX) return FC_UNSUPPORTED;
  conv1d_short<EACH, K><<<static_cast<unsigned>(blocks), 32 * WARPS, 0, stream>>>(a, list);
  return fc_launch_status();
}

// As many rows a lane as registers hold.
fc_status launch_for(const short_args &a, const fc_conv1d *c, const fc_edges *edges, cudaStream_t stream) {
  if (a.length <= 2) return launch<2, 8>(a, c, edges, stream);
  if (a.length == 3) return launch<3, 8>(a, c, edges, stream);
  if (a.length == 4) return launch<4, 4>(a, c, edges, stream);
  if (a.length == 5) return launch<5, 4>(a, c, edges, stream);
  if (a.length <= 7) return launch<7, 4>(a, c, edges, stream);
  if (a.length <= 8) return launch<8, 2>(a, c, edges, stream);
  if (a.length <= 10) return launch<10, 2>(a, c, edges, stream);
  if (a.length <= 12) return launch<12, 2>(a, c, edges, stream);
  if (a.length <= 16) return launch<16, 1>(a, c, edges, stream);
  return a.length <= 24 ? launch<24, 1>(a, c, edges, stream) : launch<32, 1>(a, c, edges, stream);
}

} // namespace

fc_status fc_conv1d_short(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes) {
  const int64_t length = out->shape[FC_AXIS_X];
  if (!edges || c->axis != FC_AXIS_X || c->compute != FC_F32 || c->masks != 1 || c->taps > MOST_TAPS ||
      length > LONGEST || in->shape[FC_AXIS_X] != length || out->shape[FC_AXIS_C] != 1 || !fits(in) ||
      !fits(out) || c->before < -MOST_TAPS || c->before > 2 * MOST_TAPS)
    return FC_UNSUPPORTED;
  short_args a = {};
  a.in = static_cast<const char *>(in->data), a.out = static_cast<char *>(out->data);
  a.in_row = row_bytes(in), a.out_row = row_bytes(out);
  a.in_gap = a.in_row - length * static_cast<int64_t>(fc_dtype_size(in->dtype));
  a.out_gap = a.out_row - length * static_cast<int64_t>(fc_dtype_size(out->dtype));
  a.rows = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y];
  a.in_map = fc_dev_map_of<float>(in->kind, in->dtype);
  a.out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  a.notes = notes, a.in_dtype = in->dtype, a.out_dtype = out->dtype, a.code = edges->code;
  a.length = static_cast<int>(length), a.taps = static_cast<int>(c->taps);
  a.by_length = fc_dev_divider_of(length);
  return launch_for(a, c, edges, stream);
}

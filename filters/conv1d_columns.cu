// SPDX-License-Identifier: MIT
//
// conv1d_columns.cu - short masks down the columns of images of u8, i16, u16 and f32.
//
// A lane makes eight rows of four elements: adjacent ones, or, where rows begin anywhere, each beside its
// neighbours' so that these are loaded together. It slides down its columns a row at a time, in a ring of
// registers whose place is known at compile time, and converts what it loads once for eight outputs. Taps come
// from the constant bank. Rows that neighbouring warps have in common come from the first cache. What stands
// for a row beyond the ends is the same for a whole warp, and asked for only by those whose windows touch an
// end.
//
// Sums run in the order that conv1d.h lays down.
#include "filters/conv1d_columns.cuh"

#include "filters/conv1d_windows.cuh"

namespace {

constexpr int ROWS = 8; // of a lane's outputs
constexpr int WARPS = 4, RESIDENT = 4;
constexpr int MOST_GRID = 65535;

// How a lane's elements lie: adjacent; as far apart as a warp is wide; or it has one alone.
enum { ADJACENT, APART, ALONE };
template <int WAY> constexpr int EACH = WAY == ALONE ? 1 : 4;
template <int WAY> constexpr int ACROSS = 32 * EACH<WAY>; // elements of a warp

struct columns_args {
  const char *in; // of the first row of output
  char *out;
  int64_t in_row, out_row, in_image, out_image, in_plane, out_plane; // bytes
  int64_t width;                                                     // elements of a row
  int height, planes, taps;
  fc_dev_divider by_across; // blocks side by side
  int across;
  fc_window_ends ends; // in rows
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
};

struct column_taps {
  float tap[FC_WINDOW_TAPS];
};

template <typename T> struct alignas(4 * sizeof(T)) four {
  uint32_t w[sizeof(T)];
};

template <typename T, int WAY>
__device__ __forceinline__ void load(float (&to)[EACH<WAY>], const char *from, fc_dev_map<float> map) {
  if constexpr (WAY == ADJACENT && fc_is_code<T>) {
    const four<T> words = *reinterpret_cast<const four<T> *>(from);
    fc_words_values<T, 4>(to, words.w, map);
  } else if constexpr (WAY == ADJACENT) {
    const float4 quad = *reinterpret_cast<const float4 *>(from);
    to[0] = quad.x, to[1] = quad.y, to[2] = quad.z, to[3] = quad.w;
  } else {
#pragma unroll
    for (int i = 0; i < EACH<WAY>; i++)
      to[i] = fc_code_value<T>(reinterpret_cast<const T *>(from)[32 * i], map);
  }
}

template <typename U, int WAY>
__device__ __forceinline__ void store(char *to, const float (&v)[EACH<WAY>], fc_dev_map<float> map,
                                      fc_dev_noted &noted) {
  if constexpr (WAY == ADJACENT && fc_is_code<U>) {
    four<U> words;
    fc_words_codes<U, 4>(words.w, v, map, noted);
    *reinterpret_cast<four<U> *>(to) = words;
  } else if constexpr (WAY == ADJACENT) {
    *reinterpret_cast<float4 *>(to) = make_float4(v[0], v[1], v[2], v[3]);
  } else {
#pragma unroll
    for (int i = 0; i < EACH<WAY>; i++) reinterpret_cast<U *>(to)[32 * i] = fc_value_code<U>(v[i], map, noted);
  }
}

// Row q of a column that may lie beyond an end, or that no output needs.
template <typename T, int WAY>
__device__ __forceinline__ void load_any(float (&to)[EACH<WAY>], const columns_args &a, const char *column,
                                         int q) {
  if (q < a.ends.first || q >= a.ends.past) q = a.ends.begin;
  if (q < a.ends.begin || q >= a.ends.end) q = fc_dev_border_element<1>(a.ends.border, q);
  if (q != FC_BORDER_ELEMENT_NONE) return load<T, WAY>(to, column + q * a.in_row, a.in_map);
#pragma unroll
  for (int i = 0; i < EACH<WAY>; i++) to[i] = fc_dev_load<float, T>(&a.ends.border.code, a.in_map);
}

template <int V>
__device__ __forceinline__ void add_tap(float (&sum)[ROWS][V], const float (&x)[ROWS][V], float w, int t) {
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int i = 0; i < V; i++) sum[r][i] = fmaf(x[(t + r) % ROWS][i], w, sum[r][i]);
}

// next(x): the column's next row.
template <int V, typename Next>
__device__ __forceinline__ void sum_columns(float (&sum)[ROWS][V], const column_taps &list, int taps,
                                            Next next) {
  float x[ROWS][V];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
#pragma unroll
    for (int i = 0; i < V; i++) sum[r][i] = 0.f;
    if (r < ROWS - 1) next(x[r]);
  }
  int j = 0;
  for (; j + ROWS <= taps; j += ROWS) {
#pragma unroll
    for (int t = 0; t < ROWS; t++) {
      next(x[(t + ROWS - 1) % ROWS]);
      add_tap<V>(sum, x, list.tap[j + t], t);
    }
  }
#pragma unroll
  for (int t = 0; t < ROWS - 1; t++) {
    if (j + t < taps) {
      next(x[(t + ROWS - 1) % ROWS]);
      add_tap<V>(sum, x, list.tap[j + t], t);
    }
  }
}

template <typename T, typename U, int WAY>
__global__ void __launch_bounds__(32 * WARPS, WAY == ALONE ? 8 : RESIDENT)
    conv1d_columns(const __grid_constant__ columns_args a, const __grid_constant__ column_taps list) {
  constexpr int V = EACH<WAY>;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int down = a.by_across.quotient(static_cast<int>(blockIdx.x));
  int64_t e = (static_cast<int64_t>(blockIdx.x) - static_cast<int64_t>(down) * a.across) * ACROSS<WAY>;
  if (WAY == APART) e = min(e, a.width - ACROSS<WAY>); // some columns twice, alike
  e += WAY == ADJACENT ? 4 * lane : lane;
  const int y = (down * WARPS + static_cast<int>(threadIdx.x / 32)) * ROWS;
  if (e >= a.width || y >= a.height) return;
  const int n = static_cast<int>(blockIdx.y) / a.planes, plane = static_cast<int>(blockIdx.y) - n * a.planes;
  const char *column = a.in + n * a.in_image + plane * a.in_plane + e * static_cast<int64_t>(sizeof(T));
  char *out =
      a.out + n * a.out_image + plane * a.out_plane + y * a.out_row + e * static_cast<int64_t>(sizeof(U));
  int q = y + a.ends.first;
  float sum[ROWS][V];
  if (fc_window_inside(a.ends, q, ROWS - 1 + a.taps)) {
    const char *from = column + q * a.in_row;
    sum_columns<V>(sum, list, a.taps,
                   [&](float(&x)[V]) { load<T, WAY>(x, from, a.in_map), from += a.in_row; });
  } else {
    sum_columns<V>(sum, list, a.taps, [&](float(&x)[V]) { load_any<T, WAY>(x, a, column, q++); });
  }
  fc_dev_noted noted = {};
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    if (y + r < a.height) store<U, WAY>(out + r * a.out_row, sum[r], a.out_map, noted);
  if (fc_is_code<U>) noted.tell(a.notes);
}

// ---- launching -------------------------------------------------------------

// Whether rows are dense: 1 in planes, 2 with interleaved channels (of one channel: both), 0 neither.
int density(const fc_view *v) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype)), channels = v->shape[FC_AXIS_C];
  return (v->stride[FC_AXIS_X] == size ? 1 : 0) |
         (v->stride[FC_AXIS_X] == channels * size && (channels == 1 || v->stride[FC_AXIS_C] == size) ? 2 : 0);
}

// Whether four adjacent elements may be loaded and stored together.
bool fours(const fc_view *v, bool planes) {
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v->data));
  bits |= v->stride[FC_AXIS_Y]; // of a border, if not of another row
  if (v->shape[FC_AXIS_N] > 1) bits |= v->stride[FC_AXIS_N];
  if (planes && v->shape[FC_AXIS_C] > 1) bits |= v->stride[FC_AXIS_C];
  return bits % (4 * static_cast<int64_t>(fc_dtype_size(v->dtype))) == 0;
}

template <typename T, typename U, int WAY>
fc_status launch(columns_args a, const column_taps &list, int64_t images, cudaStream_t stream) {
  const int64_t across = (a.width + ACROSS<WAY> - 1) / ACROSS<WAY>,
                down = (a.height + ROWS * WARPS - 1) / (ROWS * WARPS);
  if (across > INT32_MAX / down || images > MOST_GRID) return FC_UNSUPPORTED;
  a.across = static_cast<int>(across), a.by_across = fc_dev_divider_of(across);
  const dim3 grid(static_cast<unsigned>(across * down), static_cast<unsigned>(images));
  conv1d_columns<T, U, WAY><<<grid, 32 * WARPS, 0, stream>>>(a, list);
  return fc_launch_status();
}

} // namespace

fc_status fc_conv1d_columns(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream, uint32_t *notes) {
  const int alike = density(in) & density(out);
  if (c->axis != FC_AXIS_Y || c->compute != FC_F32 || c->masks != 1 || c->taps > FC_WINDOW_TAPS || !alike)
    return FC_UNSUPPORTED;
  const bool planes = alike == 1;
  columns_args a = {};
  // The ends are those of rows: as if they lay along X.
  fc_view down_in = *in, down_out = *out;
  down_in.shape[FC_AXIS_X] = in->shape[FC_AXIS_Y], down_out.shape[FC_AXIS_X] = out->shape[FC_AXIS_Y];
  if (!fc_window_ends_of(&a.ends, c, &down_in, edges, &down_out, 1)) return FC_UNSUPPORTED;
  a.in = static_cast<const char *>(in->data), a.out = static_cast<char *>(out->data);
  a.in_row = in->stride[FC_AXIS_Y], a.out_row = out->stride[FC_AXIS_Y];
  a.in_image = in->stride[FC_AXIS_N], a.out_image = out->stride[FC_AXIS_N];
  a.in_plane = in->stride[FC_AXIS_C], a.out_plane = out->stride[FC_AXIS_C];
  a.planes = planes ? static_cast<int>(out->shape[FC_AXIS_C]) : 1;
  a.width = out->shape[FC_AXIS_X] * (planes ? 1 : out->shape[FC_AXIS_C]);
  a.height = static_cast<int>(out->shape[FC_AXIS_Y]), a.taps = static_cast<int>(c->taps);
  a.in_map = fc_dev_map_of<float>(in->kind, in->dtype),
  a.out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  a.notes = notes;
  column_taps list = {};
  for (int j = 0; j < a.taps; j++) list.tap[j] = static_cast<const float *>(c->mask)[j];
  const bool wide = a.width % 4 == 0 && fours(in, planes) && fours(out, planes);
  const int64_t images = out->shape[FC_AXIS_N] * a.planes;
  return fc_window_dispatch(in->dtype, out->dtype, [&](auto from, auto to) {
    using T = decltype(from);
    using U = decltype(to);
    if (wide) return launch<T, U, ADJACENT>(a, list, images, stream);
    return a.width >= ACROSS<APART> ? launch<T, U, APART>(a, list, images, stream)
                                    : launch<T, U, ALONE>(a, list, images, stream);
  });
}

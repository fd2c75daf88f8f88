// SPDX-License-Identifier: MIT
//
// columns.cu - short masks along the columns of images of u8, i16, u16 and f32.
//
// A lane computes eight rows of four elements. These are adjacent or, if rows may begin anywhere, 32
// elements apart, so that a warp's loads are adjacent. It slides down its columns a row at a time, in a ring
// of registers whose position is known at compile time, and converts what it loads once for eight outputs.
// Taps come from the constant bank. Rows that neighbouring warps share are read from the first-level cache.
// The border's row is the same for a whole warp, and computed only by warps whose windows touch an end; for
// low images the host makes a list of all rows. If images are narrow, or their elements are not adjacent, a
// lane computes one column only.
//
// The order of sums is that of conv1d.h.
#include "filters/conv1d/kernels.cuh"

#include "filters/gpu/border.cuh"
#include "filters/gpu/sample_words.cuh"

namespace {

constexpr int ROWS = 8;                // of outputs per lane
constexpr int WARPS = 4, RESIDENT = 4; // WARPS: a power of two
constexpr int MOST_LISTED = 512;       // maximum of rows that windows read
constexpr int LOW = 16;                // maximum height of images for which all rows are listed
constexpr int NOWHERE = -1;

// Layout of a lane's four elements: adjacent; 32 elements apart; or one element only.
enum { ADJACENT, APART, ALONE };
template <int WAY> constexpr int EACH = WAY == ALONE ? 1 : 4;
template <int WAY> constexpr int ACROSS = 32 * EACH<WAY>; // elements per warp

// The readable part of a column of input, and the part that windows read, in rows relative to output 0.
struct column_ends {
  int begin, end;
  int first, past;
  fc_dev_border border;
};

__device__ __forceinline__ bool is_inside(const column_ends &ends, int e, int count) {
  return e >= ends.begin && e + count <= ends.end;
}

// False if 32 bits are not enough, or the border cannot be made.
bool ends_of(column_ends *a, const fc_conv1d *c, const fc_view *in, const fc_edges *edges,
             const fc_view *out) {
  constexpr int64_t most = INT32_MAX / 2;
  const int64_t outputs = out->shape[FC_AXIS_X], frames = in->shape[FC_AXIS_X];
  const int64_t around = c->before < 0 ? -c->before : c->before;
  if (outputs > most || frames > most || around > most ||
      !fc_dev_border_of(&a->border, edges, in, c->before, c->taps, outputs))
    return false;
  a->first = static_cast<int>(-c->before);
  a->past = static_cast<int>((outputs + c->taps - 1 - c->before));
  a->begin = edges ? 0 : a->first, a->end = edges ? static_cast<int>(frames) : a->past;
  return true;
}

struct columns_args {
  const char *in; // the input row at the position of the first output row
  char *out;
  int64_t in_row, out_row, in_image, out_image, in_plane, out_plane; // bytes
  int64_t in_step, out_step;                                         // from an element of a row to the next
  int64_t width;                                                     // elements per row
  int height, planes, taps;
  int across, down; // blocks per image in each direction
  int warps_down;   // a power of two
  // Lanes per narrow image, and how many images (or strips, if ALONE) share a warp.
  int lanes, images, share;
  fc_dev_divider by_across, by_down, by_planes, by_lanes;
  column_ends ends; // in rows
  bool listed;
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
};

struct column_taps {
  float tap[FC_CONV1D_BLOCK];
};
// The input row for each row that windows read, if these are few; NOWHERE for the constant.
struct column_rows {
  int16_t at[MOST_LISTED];
};

template <typename T> struct alignas(4 * sizeof(T)) four { uint32_t w[sizeof(T)]; };

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
    for (int i = 0; i < EACH<WAY>; i++)
      reinterpret_cast<U *>(to)[32 * i] = fc_value_code<U>(v[i], map, noted);
  }
}

// The input row for row q, which may be outside the image, or needed by no output; FC_BORDER_ELEMENT_NONE
// for the constant.
__device__ __forceinline__ int source_row(const columns_args &a, const column_rows &rows, int q) {
  if (a.listed) {
    const int row = rows.at[min(q, a.ends.past - 1) - a.ends.first];
    return row == NOWHERE ? FC_BORDER_ELEMENT_NONE : row;
  }
  if (q < a.ends.first || q >= a.ends.past) q = a.ends.begin;
  return q < a.ends.begin || q >= a.ends.end ? fc_dev_border_element<1>(a.ends.border, q) : q;
}

// Loads a row, the same for all lanes. The load is unconditional, since a branch would keep several from
// being in flight.
template <typename T, int WAY>
__device__ __forceinline__ void load_any(float (&to)[EACH<WAY>], const columns_args &a, const char *column,
                                         int row, float constant) {
  const bool none = row == FC_BORDER_ELEMENT_NONE;
  load<T, WAY>(to, column + (none ? a.ends.begin : row) * a.in_row, a.in_map);
#pragma unroll
  for (int i = 0; i < EACH<WAY>; i++) to[i] = none ? constant : to[i];
}

template <int V>
__device__ __forceinline__ void add_tap(float (&sum)[ROWS][V], const float (&x)[ROWS][V], float w, int t) {
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int i = 0; i < V; i++) sum[r][i] = fmaf(x[(t + r) % ROWS][i], w, sum[r][i]);
}

// next(x) loads the column's next row.
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

// A lane's outputs: image, first row, and first element of the row, -1 if it has none.
struct column_place {
  int n, plane, y;
  int64_t e;
};

// A warp computes several narrow images or, with ALONE, several strips of one.
template <int WAY> __device__ __forceinline__ column_place place_of(const columns_args &a) {
  const int warp = static_cast<int>(threadIdx.x / 32), block = static_cast<int>(blockIdx.x);
  const int strip = a.by_across.quotient(block);
  int image = a.by_down.quotient(strip), lane = static_cast<int>(threadIdx.x % 32);
  const int beside = WARPS / a.warps_down, down = warp & (a.warps_down - 1);
  column_place p;
  p.y = (strip - image * a.down) * a.warps_down + down;
  p.e = (static_cast<int64_t>(block - strip * a.across) * beside + warp / a.warps_down) * ACROSS<WAY>;
  bool none = p.e >= a.width;
  if (WAY != APART && a.share > 1) {
    const int which = a.by_lanes.quotient(lane);
    none |= which >= a.share, lane -= which * a.lanes;
    if (WAY == ADJACENT)
      image = image * a.share + which, none |= image >= a.images;
    else
      p.y = p.y * a.share + which;
  }
  p.n = a.by_planes.quotient(image), p.plane = image - p.n * a.planes;
  p.y *= ROWS;
  if (WAY == APART) p.e = min(p.e, a.width - ACROSS<WAY>); // computes some columns twice
  p.e += WAY == ADJACENT ? 4 * lane : lane;
  if (none || p.e >= a.width || p.y >= a.height) p.e = -1;
  return p;
}

template <typename T, int WAY>
__global__ void __launch_bounds__(32 * WARPS, WAY == ALONE ? 8 : RESIDENT)
    conv1d_short_columns(const __grid_constant__ columns_args a, const __grid_constant__ column_taps list,
                         const __grid_constant__ column_rows rows) {
  constexpr int V = EACH<WAY>;
  const column_place p = place_of<WAY>(a);
  if (p.e < 0) return;
  const char *column = a.in + p.n * a.in_image + p.plane * a.in_plane +
                       p.e * (WAY == ALONE ? a.in_step : static_cast<int64_t>(sizeof(T)));
  char *out = a.out + p.n * a.out_image + p.plane * a.out_plane + p.y * a.out_row +
              p.e * (WAY == ALONE ? a.out_step : static_cast<int64_t>(sizeof(T)));
  int q = p.y + a.ends.first;
  float sum[ROWS][V];
  if (is_inside(a.ends, q, ROWS - 1 + a.taps)) {
    const char *from = column + q * a.in_row;
    sum_columns<V>(sum, list, a.taps,
                   [&](float(&x)[V]) { load<T, WAY>(x, from, a.in_map), from += a.in_row; });
  } else {
    const float constant = fc_dev_load<float, T>(&a.ends.border.code, a.in_map);
    sum_columns<V>(sum, list, a.taps,
                   [&](float(&x)[V]) { load_any<T, WAY>(x, a, column, source_row(a, rows, q++), constant); });
  }
  fc_dev_noted noted = {};
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    if (p.y + r < a.height) store<T, WAY>(out + r * a.out_row, sum[r], a.out_map, noted);
  if (fc_is_code<T>) noted.tell(a.notes);
}

// ---- launching -------------------------------------------------------------

// Whether a row's elements are adjacent: of all channels or, if channels are planes, of one.
bool is_dense(const fc_view *v, bool planes) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype)), channels = v->shape[FC_AXIS_C];
  if (planes) return v->stride[FC_AXIS_X] == size;
  return v->stride[FC_AXIS_X] == channels * size && (channels == 1 || v->stride[FC_AXIS_C] == size);
}

// Whether four adjacent elements may be loaded and stored together.
bool fours(const fc_view *v, bool planes) {
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v->data));
  bits |= v->stride[FC_AXIS_Y]; // for a height of 1 too: border rows use it
  if (v->shape[FC_AXIS_N] > 1) bits |= v->stride[FC_AXIS_N];
  if (planes && v->shape[FC_AXIS_C] > 1) bits |= v->stride[FC_AXIS_C];
  return bits % (4 * static_cast<int64_t>(fc_dtype_size(v->dtype))) == 0;
}

// Makes the list of all rows. False if they are too many, or `before` or the height exceeds the list's
// range.
bool list_rows(column_rows *rows, columns_args *a, const fc_conv1d *c, const fc_view *in,
               const fc_edges *edges, const fc_view *out) {
  const int64_t looked_at = out->shape[FC_AXIS_Y] + c->taps - 1, height = in->shape[FC_AXIS_Y];
  if (!edges || looked_at > MOST_LISTED || height > INT16_MAX || height == 0 || c->before < -MOST_LISTED ||
      c->before > MOST_LISTED)
    return false;
  const int before = static_cast<int>(c->before);
  for (int p = 0; p < looked_at; p++)
    rows->at[p] =
        static_cast<int16_t>(fc_dev_border_source(edges->border, p - before, static_cast<int>(height)));
  a->listed = true;
  a->ends = {0, 0, -before, static_cast<int>(looked_at) - before, {edges->border, 0, edges->code}};
  return true;
}

// The ends as for rows along X, with X and Y exchanged. The list is used for low images only: it is slower
// if there are warps that touch no end.
bool set_ends(column_rows *rows, columns_args *a, const fc_conv1d *c, const fc_view *in,
              const fc_edges *edges, const fc_view *out) {
  fc_view down_in = *in, down_out = *out;
  down_in.shape[FC_AXIS_X] = in->shape[FC_AXIS_Y], down_out.shape[FC_AXIS_X] = out->shape[FC_AXIS_Y];
  if (in->shape[FC_AXIS_Y] <= LOW && list_rows(rows, a, c, in, edges, out)) return true;
  return ends_of(&a->ends, c, &down_in, edges, &down_out) || list_rows(rows, a, c, in, edges, out);
}

// Distributes images over warps and blocks. False if the number of blocks exceeds 31 bits.
template <int WAY> bool set_blocks(columns_args *a, int64_t images, int64_t *blocks) {
  int64_t strips = (a->height + ROWS - 1) / ROWS, elements = ACROSS<WAY>;
  a->images = static_cast<int>(images), a->share = 1;
  if (WAY != APART && a->width * 2 <= elements) {
    a->lanes = static_cast<int>((a->width + EACH<WAY> - 1) / EACH<WAY>), a->share = 32 / a->lanes;
    a->by_lanes = fc_dev_divider_of(a->lanes);
    if (WAY == ADJACENT)
      images = (images + a->share - 1) / a->share;
    else
      strips = (strips + a->share - 1) / a->share;
  }
  a->warps_down = strips > 2 ? WARPS : static_cast<int>(strips);
  const int64_t down = (strips + a->warps_down - 1) / a->warps_down;
  elements *= WARPS / a->warps_down;
  const int64_t across = (a->width + elements - 1) / elements;
  if (across > INT32_MAX / down || images > INT32_MAX / (across * down)) return false;
  a->across = static_cast<int>(across), a->down = static_cast<int>(down);
  a->by_across = fc_dev_divider_of(across), a->by_down = fc_dev_divider_of(down);
  a->by_planes = fc_dev_divider_of(a->planes);
  *blocks = across * down * images;
  return true;
}

template <typename T, int WAY>
fc_status launch(columns_args a, const column_taps &list, const column_rows &rows, int64_t images,
                 cudaStream_t stream) {
  int64_t blocks = 0;
  if (images > INT32_MAX / 32 || !set_blocks<WAY>(&a, images, &blocks)) return FC_UNSUPPORTED;
  conv1d_short_columns<T, WAY><<<static_cast<unsigned>(blocks), 32 * WARPS, 0, stream>>>(a, list, rows);
  return fc_launch_status();
}

} // namespace

fc_status fc_conv1d_columns(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream, uint32_t *notes) {
  const bool together = is_dense(in, false) && is_dense(out, false), planes = !together;
  const bool dense = together || (is_dense(in, true) && is_dense(out, true));
  columns_args a = {};
  column_taps list = {};
  column_rows rows = {};
  if (!set_ends(&rows, &a, c, in, edges, out)) return FC_UNSUPPORTED;
  a.in = static_cast<const char *>(in->data), a.out = static_cast<char *>(out->data);
  a.in_row = in->stride[FC_AXIS_Y], a.out_row = out->stride[FC_AXIS_Y];
  a.in_image = in->stride[FC_AXIS_N], a.out_image = out->stride[FC_AXIS_N];
  a.in_plane = in->stride[FC_AXIS_C], a.out_plane = out->stride[FC_AXIS_C];
  a.in_step = in->stride[planes ? FC_AXIS_X : FC_AXIS_C],
  a.out_step = out->stride[planes ? FC_AXIS_X : FC_AXIS_C];
  if (out->shape[FC_AXIS_C] == 1) a.in_step = in->stride[FC_AXIS_X], a.out_step = out->stride[FC_AXIS_X];
  a.planes = planes ? static_cast<int>(out->shape[FC_AXIS_C]) : 1;
  a.width = out->shape[FC_AXIS_X] * (planes ? 1 : out->shape[FC_AXIS_C]);
  a.height = static_cast<int>(out->shape[FC_AXIS_Y]), a.taps = static_cast<int>(c->taps);
  a.in_map = fc_dev_map_of<float>(in->kind, in->dtype);
  a.out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  a.notes = notes;
  for (int j = 0; j < a.taps; j++) list.tap[j] = static_cast<const float *>(c->mask)[j];
  const bool wide = dense && a.width % 4 == 0 && fours(in, planes) && fours(out, planes);
  const int64_t images = out->shape[FC_AXIS_N] * a.planes;
  return fc_conv1d_dispatch(in->dtype, [&](auto t) {
    using T = decltype(t);
    if (wide) return launch<T, ADJACENT>(a, list, rows, images, stream);
    return dense && a.width >= ACROSS<APART> ? launch<T, APART>(a, list, rows, images, stream)
                                             : launch<T, ALONE>(a, list, rows, images, stream);
  });
}

// SPDX-License-Identifier: MIT
//
// rows.cu - short masks along rows so short that a tile contains several.
//
// A block loads whole rows into shared memory, as floats and with their borders: each channel of a row
// becomes a row there that contains all of its windows. A lane computes EACH adjacent outputs of one of
// them, sliding over its inputs a quad at a time. The distance between rows is such that the quads of
// neighbouring lanes are in different banks, across rows too. Outputs replace the inputs in shared memory
// and are stored as these were loaded: neighbouring lanes access neighbouring elements, so rows may begin at
// any address.
//
// The order of sums is that of conv1d.h.
#include "filters/conv1d/kernels.cuh"

#include "filters/conv1d/choice.h"
#include "filters/conv1d/windows.cuh"

namespace {

constexpr int THREADS = 128;
constexpr int MOST_TAPS = FC_CONV1D_BLOCK, MOST_QUADS = (MOST_TAPS + 3) / 4, MOST_BORDER = 2 * MOST_TAPS;
constexpr int MOST_SHARED = 96 * 1024; // so that two blocks are resident
constexpr int NOWHERE = -1;

// Quotients, rounded down, of numbers below 2^16 by divisors from 2 on; `times` is 0 for the divisor 1.
struct small_divider {
  uint32_t times;
};

struct rows_args {
  const char *in; // the first loaded element of the first row
  char *out;
  int64_t rows;
  int64_t in_row, out_row; // bytes between the beginnings of rows,
  int64_t in_gap, out_gap; // and between the end of a row and the next
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
  int channels, taps;
  int loaded, stored; // elements per row
  int lead, frames;   // frames in shared memory before the loaded ones; loaded frames
  int ahead, border;  // border frames: before the loaded ones, in total
  int outputs;        // frames per row
  int pitch, units;   // floats between rows in shared memory; lanes per row
  int tile_rows;
  small_divider by_loaded, by_stored, by_units, by_channels;
  uint64_t code; // of the border's constant
};

struct row_taps {
  float4 quad[MOST_QUADS];
};
// The frame that each border frame is mapped to, or NOWHERE for the constant.
struct row_sources {
  int16_t of[MOST_BORDER];
};

// ---- between global and shared memory --------------------------------------

__device__ __forceinline__ int quotient(small_divider by, int n) {
  return by.times ? static_cast<int>(__umulhi(by.times, static_cast<uint32_t>(n))) : n;
}
// Divides by the elements per row, which may be 1 only with small EACH.
template <int EACH> __device__ __forceinline__ int quotient(small_divider by, int n) {
  return EACH > 4 ? static_cast<int>(__umulhi(by.times, static_cast<uint32_t>(n))) : quotient(by, n);
}

// The position in shared memory of element i of a sequence of rows of `elements`, minus i.
template <int EACH, bool MONO>
__device__ __forceinline__ int moved_by(const rows_args &a, small_divider by_elements, int elements, int i) {
  const int row = quotient<EACH>(by_elements, i);
  if (MONO) return row * (a.pitch - elements);
  const int e = i - row * elements, x = quotient(a.by_channels, e), c = e - x * a.channels;
  return (row * a.channels + c) * a.pitch + x - i;
}

// Loads the tile's rows as floats, with EACH loads per lane in flight. `from(i)` is the address of element
// i.
template <int EACH, bool MONO, typename From>
__device__ __forceinline__ void fill(const rows_args &a, float *tile, int count, From from) {
#pragma unroll 1
  for (int begin = threadIdx.x; begin < count; begin += EACH * THREADS) {
    float v[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++)
      if (begin + k * THREADS < count) v[k] = fc_code_value(*from(begin + k * THREADS), a.in_map);
    float *to = tile + a.lead + begin;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int i = begin + k * THREADS;
      if (i < count) to[k * THREADS + moved_by<EACH, MONO>(a, a.by_loaded, a.loaded, i)] = v[k];
    }
  }
}

template <typename T, int EACH, bool MONO>
__device__ __forceinline__ void fill_tile(const rows_args &a, float *tile, const char *in, int count) {
  if (a.in_gap == 0)
    fill<EACH, MONO>(a, tile, count, [&](int i) { return reinterpret_cast<const T *>(in) + i; });
  else
    fill<EACH, MONO>(a, tile, count, [&](int i) {
      const int64_t gaps = quotient<EACH>(a.by_loaded, i) * static_cast<int64_t>(a.in_gap);
      return reinterpret_cast<const T *>(in + gaps) + i;
    });
}

// Stores the rows of sums. `to(i)` is the address of element i.
template <typename U, int EACH, bool MONO, typename To>
__device__ __forceinline__ void deliver(const rows_args &a, const float *tile, int count, fc_dev_noted &noted,
                                        To to) {
  const float *from = tile + threadIdx.x;
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int i = static_cast<int>(threadIdx.x) + k * THREADS;
    if (i < count)
      *to(i) = fc_value_code<U>(from[k * THREADS + moved_by<EACH, MONO>(a, a.by_stored, a.stored, i)],
                                a.out_map, noted);
  }
}

template <typename U, int EACH, bool MONO>
__device__ __forceinline__ void deliver_tile(const rows_args &a, const float *tile, char *out, int count,
                                             fc_dev_noted &noted) {
  if (a.out_gap == 0)
    deliver<U, EACH, MONO>(a, tile, count, noted, [&](int i) { return reinterpret_cast<U *>(out) + i; });
  else
    deliver<U, EACH, MONO>(a, tile, count, noted, [&](int i) {
      const int64_t gaps = quotient<EACH>(a.by_stored, i) * static_cast<int64_t>(a.out_gap);
      return reinterpret_cast<U *>(out + gaps) + i;
    });
}

// Converts a lane's sums to the output type and stores them in shared memory with the layout of the output,
// if that has no gaps.
template <typename U, int EACH>
__device__ __forceinline__ void put_codes(const rows_args &a, U *room, int row, int first,
                                          const float (&sum)[EACH], fc_dev_noted &noted) {
  const int outer = quotient(a.by_channels, row), channel = row - outer * a.channels;
  const int left = a.outputs - first; // values beyond the row are no outputs and must not be noted
  U *to = room + outer * a.stored + first * a.channels + channel;
  float v[EACH];
#pragma unroll
  for (int r = 0; r < EACH; r++) v[r] = r < left ? sum[r] : 0.f;
  uint32_t words[EACH * sizeof(U) / 4];
  fc_words_codes<U, EACH>(words, v, a.out_map, noted);
#pragma unroll
  for (int r = 0; r < EACH; r++)
    if (r < left) to[r * a.channels] = static_cast<U>(words[r * sizeof(U) / 4] >> r * 8 * sizeof(U) % 32);
}

// Copies elements from `over` up to `end`, by words; both sides have the same alignment.
template <typename U> __device__ __forceinline__ void copy_codes(U *to, const U *room, int over, int end) {
  constexpr int V = 16 / static_cast<int>(sizeof(U));
  for (int i = static_cast<int>(threadIdx.x) * V; i < end; i += THREADS * V) {
    if (i >= over && i + V <= end) {
      *reinterpret_cast<uint4 *>(to + i) = *reinterpret_cast<const uint4 *>(room + i);
    } else {
#pragma unroll 1
      for (int k = max(i, over); k < min(i + V, end); k++) to[k] = room[k];
    }
  }
}

// Makes the borders: a lane has one position beyond the ends, in several of `rows` rows.
__device__ __forceinline__ void make_borders(const rows_args &a, const row_sources &list, float *tile,
                                             int rows, float constant) {
  const int warp = static_cast<int>(threadIdx.x / 32), step = THREADS / 32 * a.pitch;
  for (int b = static_cast<int>(threadIdx.x % 32); b < a.border; b += 32) {
    const int source = list.of[b];
    float *to = tile + warp * a.pitch + (b < a.ahead ? b : b + a.frames);
    if (source == NOWHERE) {
#pragma unroll 4
      for (int row = warp; row < rows; row += THREADS / 32, to += step) *to = constant;
    } else {
      const float *from = tile + warp * a.pitch + a.lead + source;
#pragma unroll 4
      for (int row = warp; row < rows; row += THREADS / 32, to += step, from += step) *to = *from;
    }
  }
}

// ---- sums ------------------------------------------------------------------

// Adds tap `w`, multiplied with element t of the window for the first output.
template <int QUADS>
__device__ __forceinline__ void add_tap(float (&sum)[4 * QUADS], const float4 (&v)[QUADS + 1], float w,
                                        int t) {
#pragma unroll
  for (int r = 0; r < 4 * QUADS; r++) {
    const float4 q = v[(r + t) / 4];
    const int k = (r + t) % 4;
    sum[r] = fmaf(k == 0 ? q.x : k == 1 ? q.y : k == 2 ? q.z : q.w, w, sum[r]);
  }
}

template <int QUADS>
__device__ __forceinline__ void sum_window(float (&sum)[4 * QUADS], const float4 *from, int taps,
                                           const row_taps &list) {
  float4 v[QUADS + 1];
#pragma unroll
  for (int q = 0; q < QUADS; q++) v[q] = from[q];
#pragma unroll
  for (int r = 0; r < 4 * QUADS; r++) sum[r] = 0.f;
  int g = 0;
#pragma unroll QUADS + 1
  for (; 4 * g + 4 <= taps; g++) {
    const float4 w = list.quad[g];
    v[QUADS] = from[g + QUADS];
    add_tap<QUADS>(sum, v, w.x, 0), add_tap<QUADS>(sum, v, w.y, 1);
    add_tap<QUADS>(sum, v, w.z, 2), add_tap<QUADS>(sum, v, w.w, 3);
#pragma unroll
    for (int q = 0; q < QUADS; q++) v[q] = v[q + 1];
  }
  if (4 * g == taps) return;
  const float4 w = list.quad[g];
  v[QUADS] = from[g + QUADS];
  add_tap<QUADS>(sum, v, w.x, 0);
  if (4 * g + 1 < taps) add_tap<QUADS>(sum, v, w.y, 1);
  if (4 * g + 2 < taps) add_tap<QUADS>(sum, v, w.z, 2);
}

// ---- the kernel ------------------------------------------------------------

// Stores a block's sums through shared memory, after all windows have been read.
template <typename U, int QUADS, bool MONO>
__device__ __forceinline__ void store_tile(const rows_args &a, float *tile, char *out, int row, int unit,
                                           int here, const float (&sum)[4 * QUADS], fc_dev_noted &noted) {
  const bool works = row < here * (MONO ? 1 : a.channels);
  const int count = here * a.stored;
  if (fc_is_code<U> && a.out_gap == 0) {
    U *room = reinterpret_cast<U *>(tile);
    const int over = static_cast<int>(reinterpret_cast<uintptr_t>(out) % 16 / sizeof(U));
    if constexpr (fc_is_code<U>)
      if (works) put_codes<U, 4 * QUADS>(a, room + over, row, unit * 4 * QUADS, sum, noted);
    __syncthreads();
    copy_codes<U>(reinterpret_cast<U *>(out) - over, room, over, over + count);
    return;
  }
  float4 *mine = reinterpret_cast<float4 *>(tile + row * a.pitch) + unit * QUADS;
  if (works)
#pragma unroll
    for (int q = 0; q < QUADS; q++)
      mine[q] = make_float4(sum[4 * q], sum[4 * q + 1], sum[4 * q + 2], sum[4 * q + 3]);
  __syncthreads();
  deliver_tile<U, 4 * QUADS, MONO>(a, tile, out, count, noted);
}

template <typename T, int QUADS, bool MONO>
__global__ void __launch_bounds__(THREADS, QUADS > 3 ? 6 : 8)
    conv1d_rows(const __grid_constant__ rows_args a, const __grid_constant__ row_taps taps,
                const __grid_constant__ row_sources sources) {
  constexpr int EACH = 4 * QUADS;
  extern __shared__ __align__(16) float tile[];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * a.tile_rows;
  const int here = static_cast<int>(min(static_cast<int64_t>(a.tile_rows), a.rows - first));
  const int rows = here * (MONO ? 1 : a.channels); // in shared memory
  fill_tile<T, EACH, MONO>(a, tile, a.in + first * a.in_row, here * a.loaded);
  __syncthreads();
  if (a.border > 0) {
    make_borders(a, sources, tile, rows, fc_dev_load<float, T>(&a.code, a.in_map));
    __syncthreads();
  }
  const int row = quotient(a.by_units, static_cast<int>(threadIdx.x)),
            unit = static_cast<int>(threadIdx.x) - row * a.units;
  float sum[EACH];
  if (row < rows)
    sum_window<QUADS>(sum, reinterpret_cast<const float4 *>(tile + row * a.pitch) + unit * QUADS, a.taps,
                      taps);
  __syncthreads(); // all windows have been read
  fc_dev_noted noted = {};
  store_tile<T, QUADS, MONO>(a, tile, a.out + first * a.out_row, row, unit, here, sum, noted);
  if (fc_is_code<T>) noted.tell(a.notes);
}

// ---- launching -------------------------------------------------------------

small_divider divider_of(int64_t d) {
  return {d == 1 ? 0 : static_cast<uint32_t>(((int64_t{1} << 32) + d - 1) / d)};
}

// Bytes between consecutive rows, including those of all channels if these are planes; false if the
// distances differ.
bool rows_apart(const fc_view *v, bool planes, int64_t *apart) {
  int64_t rows = 1;
  for (int axis : {FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N}) {
    if (v->shape[axis] == 1 || (axis == FC_AXIS_C && !planes)) continue;
    if (rows > 1 && v->stride[axis] != rows * *apart) return false;
    if (rows == 1) *apart = v->stride[axis];
    rows *= v->shape[axis];
  }
  return true;
}

// Whether the elements of a row of `frames` are adjacent.
bool is_dense(const fc_view *v, int64_t frames, int64_t channels) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  return (channels == 1 || v->stride[FC_AXIS_C] == size) &&
         (frames == 1 || v->stride[FC_AXIS_X] == channels * size);
}

// Lists the frames that border frames are mapped to. False if they exceed the list.
bool list_sources(row_sources *list, rows_args *a, const fc_edges *edges) {
  const int windows = a->outputs + a->taps - 1, behind = windows - a->lead - a->frames;
  a->ahead = a->lead < windows ? a->lead : windows;
  a->border = edges ? a->ahead + (behind > 0 ? behind : 0) : 0;
  if (a->border > MOST_BORDER) return false;
  for (int b = 0; b < a->border; b++) {
    const int frame = (b < a->ahead ? b : b + a->frames) - a->lead;
    list->of[b] = static_cast<int16_t>(fc_dev_border_source(edges->border, frame, a->frames));
  }
  return true;
}

// Sets what does not depend on the tile size. False if the layout is unsuitable or sizes exceed 32 bits.
bool set_rows(rows_args *a, const fc_conv1d *c, const fc_view *in, const fc_edges *edges,
              const fc_view *out) {
  const int64_t outputs = out->shape[FC_AXIS_X],
                frames = edges ? in->shape[FC_AXIS_X] : outputs + c->taps - 1;
  if (frames < 1 || frames > FC_CONV1D_ROWS_MOST + MOST_TAPS || c->before > FC_CONV1D_ROWS_MOST ||
      c->before < (edges ? 0 : -FC_CONV1D_ROWS_MOST))
    return false;
  int64_t channels = out->shape[FC_AXIS_C];
  const bool together = is_dense(in, frames, channels) && is_dense(out, outputs, channels);
  if (!together) channels = 1;
  if (channels > THREADS || !is_dense(in, frames, channels) || !is_dense(out, outputs, channels) ||
      !rows_apart(in, !together, &a->in_row) || !rows_apart(out, !together, &a->out_row))
    return false;
  const int64_t in_size = static_cast<int64_t>(fc_dtype_size(in->dtype)),
                out_size = static_cast<int64_t>(fc_dtype_size(out->dtype));
  a->rows = fc_view_count(out) / outputs / channels, a->channels = static_cast<int>(channels);
  a->loaded = static_cast<int>(frames * channels), a->stored = static_cast<int>(outputs * channels);
  if (a->rows == 1) a->in_row = a->loaded * in_size, a->out_row = a->stored * out_size;
  a->in_gap = a->in_row - a->loaded * in_size, a->out_gap = a->out_row - a->stored * out_size;
  a->in = static_cast<const char *>(in->data) - (edges ? 0 : c->before * channels * in_size);
  a->out = static_cast<char *>(out->data);
  a->outputs = static_cast<int>(outputs);
  a->taps = static_cast<int>(c->taps), a->frames = static_cast<int>(frames);
  a->lead = edges ? static_cast<int>(c->before) : 0;
  a->by_loaded = divider_of(a->loaded), a->by_stored = divider_of(a->stored);
  a->by_channels = divider_of(channels);
  return true;
}

// Sets the number of rows per tile for lanes of 4 * quads outputs. False if not even one fits.
bool set_tile(rows_args *a, int quads, int64_t *bytes) {
  const int windows = a->outputs + a->taps - 1, held = a->lead + a->frames;
  a->units = (a->outputs + 4 * quads - 1) / (4 * quads);
  a->tile_rows = THREADS / (a->units * a->channels);
  if (a->tile_rows < 1) return false;
  const int least = windows > held ? windows : held, made = 4 * quads * a->units;
  a->pitch = ((least > made ? least : made) + 3) / 4;
  while ((a->pitch - quads * a->units) % 8 != 0) a->pitch++; // neighbouring lanes then read different banks
  a->pitch *= 4;
  a->by_units = divider_of(a->units);
  // The last window is read to the end of its last quad.
  *bytes = (static_cast<int64_t>(a->tile_rows) * a->channels * a->pitch + 4 * (quads + 2)) *
           static_cast<int64_t>(sizeof(float));
  return *bytes <= MOST_SHARED;
}

template <typename T, int QUADS>
fc_status launch(rows_args a, const row_taps &taps, const row_sources &sources, cudaStream_t stream) {
  int64_t bytes = 0;
  if (!set_tile(&a, QUADS, &bytes)) return FC_UNSUPPORTED;
  const auto kernel = a.channels == 1 ? conv1d_rows<T, QUADS, true> : conv1d_rows<T, QUADS, false>;
  const int64_t blocks = (a.rows + a.tile_rows - 1) / a.tile_rows;
  if (blocks > INT32_MAX || !fc_allow_shared(kernel, bytes)) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(blocks), THREADS, bytes, stream>>>(a, taps, sources);
  return fc_launch_status();
}

// Surplus outputs computed by lanes of 4 * quads outputs, in percent of the row's outputs.
int wasted(const rows_args &a, int quads) {
  const int units = (a.outputs + 4 * quads - 1) / (4 * quads);
  return 100 * (units * 4 * quads - a.outputs) / a.outputs;
}

} // namespace

fc_status fc_conv1d_rows(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         cudaStream_t stream, uint32_t *notes) {
  rows_args a = {};
  row_taps taps = {};
  row_sources sources = {};
  if (!set_rows(&a, c, in, edges, out) || !list_sources(&sources, &a, edges)) return FC_UNSUPPORTED;
  a.notes = notes, a.code = edges ? edges->code : 0;
  a.in_map = fc_dev_map_of<float>(in->kind, in->dtype);
  a.out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  for (int j = 0; j < a.taps; j++) (&taps.quad[0].x)[j] = static_cast<const float *>(c->mask)[j];
  return fc_window_dispatch(in->dtype, [&](auto t) {
    using T = decltype(t);
    if (a.outputs <= 4 || a.loaded == 1) return launch<T, 1>(a, taps, sources, stream);
    return wasted(a, 3) + 10 < wasted(a, 5) ? launch<T, 3>(a, taps, sources, stream)
                                            : launch<T, 5>(a, taps, sources, stream);
  });
}

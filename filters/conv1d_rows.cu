// SPDX-License-Identifier: MIT
//
// conv1d_rows.cu - short masks along rows so short that several make a tile.
//
// A block brings whole rows into shared memory, as floats and with their borders made around them: each
// channel of a row becomes a row there, from which a window never has to leave. A lane makes EACH neighbouring
// outputs of one of them, sliding over its inputs a quad at a time. Rows lie such that the quads of
// neighbouring lanes are in different banks, from row to row as well. Outputs take the place of the inputs
// and go back as these came: neighbouring lanes load and store neighbouring elements, so it does not matter
// where a row begins.
//
// Sums run in the order that conv1d.h lays down.
#include "filters/conv1d_rows.cuh"

#include "filters/border.cuh"
#include "filters/sample_words.cuh"

namespace {

constexpr int FEW = 128, MANY = 256; // threads of a block
constexpr int LONGEST = 640; // row of output, in frames
constexpr int MOST_TAPS = FC_CONV1D_BLOCK, MOST_QUADS = (MOST_TAPS + 3) / 4, MOST_BORDER = 2 * MOST_TAPS;
constexpr int MOST_SHARED = 96 * 1024; // so that two blocks find room
constexpr int WIDE_FROM = 60; // frames, that a lane makes 20 outputs
constexpr int NOWHERE = -1;

// Quotients of numbers below 2^16 by others, rounded down.
struct small_divider {
  uint32_t times; // 0: by 1

  __device__ __forceinline__ int quotient(int n) const {
    return times ? static_cast<int>(__umulhi(times, static_cast<uint32_t>(n))) : n;
  }
};

struct rows_args {
  const char *in; // of the first row, from the first element that is loaded
  char *out;
  int64_t rows;
  int64_t in_row, out_row; // bytes from row to row,
  int64_t in_gap, out_gap; // and from the end of one to the next
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
  int in_dtype, out_dtype;
  int channels, taps;
  int loaded, stored; // elements of a row
  int lead, frames;   // frames in shared memory ahead of those loaded, and of these
  int ahead, border;  // of those that a border stands for: ahead, and all
  int pitch, units;   // floats from row to row in shared memory, and lanes of one
  int tile_rows;
  small_divider by_loaded, by_stored, by_units, by_channels;
  uint64_t code; // of the constant
};

struct row_taps {
  float4 quad[MOST_QUADS];
};
// Frames that stand for those beyond the ends, or NOWHERE for the constant.
struct row_sources {
  int16_t of[MOST_BORDER];
};

// ---- between global and shared memory --------------------------------------

// Where element i of some rows of `elements` lies in shared memory, less where i itself would.
template <bool MONO>
__device__ __forceinline__ int moved_by(const rows_args &a, small_divider by_elements, int elements, int i) {
  const int row = by_elements.quotient(i);
  if (MONO) return row * (a.pitch - elements);
  const int e = i - row * elements, x = a.by_channels.quotient(e), c = e - x * a.channels;
  return (row * a.channels + c) * a.pitch + x - i;
}

// Loads so many at once that they are all on their way before the first is needed.
template <typename T, int THREADS, int EACH, bool MONO>
__device__ __forceinline__ void fill(const rows_args &a, float *tile, const char *in, int count) {
  for (int begin = threadIdx.x; begin < count; begin += EACH * THREADS) {
    float v[EACH];
    if (a.in_gap == 0) {
      const T *from = reinterpret_cast<const T *>(in) + begin;
#pragma unroll
      for (int k = 0; k < EACH; k++)
        if (begin + k * THREADS < count) v[k] = fc_code_value<T>(from[k * THREADS], a.in_map);
    } else {
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int i = begin + k * THREADS;
        const char *from =
            in + i * static_cast<int>(sizeof(T)) + a.by_loaded.quotient(i) * a.in_gap;
        if (i < count) v[k] = fc_code_value<T>(*reinterpret_cast<const T *>(from), a.in_map);
      }
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int i = begin + k * THREADS;
      if (i < count) tile[a.lead + i + moved_by<MONO>(a, a.by_loaded, a.loaded, i)] = v[k];
    }
  }
}

template <typename T, int THREADS, int EACH, bool MONO>
__device__ __forceinline__ void deliver(const rows_args &a, const float *tile, char *out, int count) {
  fc_dev_noted noted = {};
  const auto code = [&](int i) {
    return fc_value_code<T>(tile[i + moved_by<MONO>(a, a.by_stored, a.stored, i)], a.out_map, noted);
  };
  if (a.out_gap == 0) {
    T *to = reinterpret_cast<T *>(out) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int i = static_cast<int>(threadIdx.x) + k * THREADS;
      if (i < count) to[k * THREADS] = code(i);
    }
  } else {
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int i = static_cast<int>(threadIdx.x) + k * THREADS;
      char *to =
          out + i * static_cast<int>(sizeof(T)) + a.by_stored.quotient(i) * a.out_gap;
      if (i < count) *reinterpret_cast<T *>(to) = code(i);
    }
  }
  if (fc_is_code<T>) noted.tell(a.notes);
}

// Calls f with a value of the element type, which is the same for every thread.
template <typename Fn> __device__ __forceinline__ void with_type(int dtype, Fn f) {
  switch (dtype) {
  case FC_U8: return f(uint8_t{});
  case FC_I16: return f(int16_t{});
  case FC_U16: return f(uint16_t{});
  default: return f(float{});
  }
}

// A lane has a place beyond the ends to itself, the same in several of `rows` rows.
template <int THREADS>
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

// Adds tap `w` that meets element t of the window.
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

template <int THREADS, int QUADS, bool MONO>
__global__ void __launch_bounds__(THREADS, (QUADS > 3 ? 768 : 1024) / THREADS)
    conv1d_rows(const __grid_constant__ rows_args a, const __grid_constant__ row_taps taps,
                const __grid_constant__ row_sources sources) {
  constexpr int EACH = 4 * QUADS;
  extern __shared__ __align__(16) float tile[];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * a.tile_rows;
  const int here = static_cast<int>(min(static_cast<int64_t>(a.tile_rows), a.rows - first));
  const int rows = here * (MONO ? 1 : a.channels); // in shared memory
  float constant = 0.f;
  with_type(a.in_dtype, [&](auto zero) {
    using T = decltype(zero);
    constant = fc_dev_load<float, T>(&a.code, a.in_map);
    fill<T, THREADS, EACH, MONO>(a, tile, a.in + first * a.in_row, here * a.loaded);
  });
  __syncthreads();
  if (a.border > 0) {
    make_borders<THREADS>(a, sources, tile, rows, constant);
    __syncthreads();
  }
  const int row = a.by_units.quotient(threadIdx.x), unit = static_cast<int>(threadIdx.x) - row * a.units;
  float4 *mine = reinterpret_cast<float4 *>(tile + row * a.pitch) + unit * QUADS;
  float sum[EACH];
  if (row < rows) sum_window<QUADS>(sum, mine, a.taps, taps);
  __syncthreads(); // all windows have been read
  if (row < rows)
#pragma unroll
    for (int q = 0; q < QUADS; q++)
      mine[q] = make_float4(sum[4 * q], sum[4 * q + 1], sum[4 * q + 2], sum[4 * q + 3]);
  __syncthreads();
  with_type(a.out_dtype, [&](auto zero) {
    deliver<decltype(zero), THREADS, EACH, MONO>(a, tile, a.out + first * a.out_row, here * a.stored);
  });
}

// ---- launching -------------------------------------------------------------

small_divider divider_of(int64_t d) {
  return {d == 1 ? 0 : static_cast<uint32_t>(((int64_t{1} << 32) + d - 1) / d)};
}

// Bytes from each row to the next, all channels' where they lie in planes; false where they are not equal.
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

// Whether the elements of a row that is `frames` long are adjacent.
bool is_dense(const fc_view *v, int64_t frames, int64_t channels) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  return (channels == 1 || v->stride[FC_AXIS_C] == size) &&
         (frames == 1 || v->stride[FC_AXIS_X] == channels * size);
}

// Which frames stand for those beyond the ends. False where they are more than the list has room for.
bool list_sources(row_sources *list, rows_args *a, const fc_edges *edges) {
  const int windows = a->stored / a->channels + a->taps - 1, behind = windows - a->lead - a->frames;
  a->ahead = a->lead < windows ? a->lead : windows;
  a->border = edges ? a->ahead + (behind > 0 ? behind : 0) : 0;
  if (a->border > MOST_BORDER) return false;
  for (int b = 0; b < a->border; b++) {
    const int frame = (b < a->ahead ? b : b + a->frames) - a->lead;
    list->of[b] = static_cast<int16_t>(fc_dev_border_source(edges->border, frame, a->frames));
  }
  return true;
}

// What is the same whatever the tile. False where rows do not lie as they must, or 32 bits do not count them.
bool set_rows(rows_args *a, const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out) {
  const int64_t outputs = out->shape[FC_AXIS_X],
                frames = edges ? in->shape[FC_AXIS_X] : outputs + c->taps - 1;
  if (outputs > LONGEST || frames < 1 || frames > LONGEST + MOST_TAPS || c->before > LONGEST ||
      c->before < (edges ? 0 : -LONGEST))
    return false;
  int64_t channels = out->shape[FC_AXIS_C];
  const bool together = is_dense(in, frames, channels) && is_dense(out, outputs, channels);
  if (!together) channels = 1;
  if (channels > FEW || !is_dense(in, frames, channels) || !is_dense(out, outputs, channels) ||
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
  a->taps = static_cast<int>(c->taps), a->frames = static_cast<int>(frames);
  a->lead = edges ? static_cast<int>(c->before) : 0;
  a->by_loaded = divider_of(a->loaded), a->by_stored = divider_of(a->stored);
  a->by_channels = divider_of(channels);
  return true;
}

// How rows share a tile of lanes that make 4 * quads outputs. False where it has no room for one.
bool set_tile(rows_args *a, int threads, int quads, int64_t *bytes) {
  const int outputs = a->stored / a->channels, windows = outputs + a->taps - 1, held = a->lead + a->frames;
  a->units = (outputs + 4 * quads - 1) / (4 * quads);
  a->tile_rows = threads / (a->units * a->channels);
  if (a->tile_rows < 1) return false;
  const int least = windows > held ? windows : held, made = 4 * quads * a->units;
  a->pitch = ((least > made ? least : made) + 3) / 4;
  while ((a->pitch - quads * a->units) % 8 != 0) a->pitch++; // neighbours in different banks
  a->pitch *= 4;
  a->by_units = divider_of(a->units);
  // The last window is read to the end of its last quad.
  *bytes = (static_cast<int64_t>(a->tile_rows) * a->channels * a->pitch + 4 * (quads + 2)) *
           static_cast<int64_t>(sizeof(float));
  return *bytes <= MOST_SHARED;
}

template <int THREADS, int QUADS>
fc_status launch(rows_args a, const row_taps &taps, const row_sources &sources, cudaStream_t stream) {
  int64_t bytes = 0;
  if (!set_tile(&a, THREADS, QUADS, &bytes)) return FC_UNSUPPORTED;
  const auto kernel = a.channels == 1 ? conv1d_rows<THREADS, QUADS, true> : conv1d_rows<THREADS, QUADS, false>;
  const int64_t blocks = (a.rows + a.tile_rows - 1) / a.tile_rows;
  if (blocks > INT32_MAX || !fc_allow_shared(kernel, bytes)) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(blocks), THREADS, bytes, stream>>>(a, taps, sources);
  return fc_launch_status();
}

// Of MANY.
int busy_lanes(const rows_args &a, int threads, int quads) {
  const int units = (a.stored / a.channels + 4 * quads - 1) / (4 * quads) * a.channels;
  return threads / units * units * (MANY / threads);
}

bool is_type(int dtype) {
  return dtype == FC_U8 || dtype == FC_I16 || dtype == FC_U16 || dtype == FC_F32;
}

} // namespace

fc_status fc_conv1d_rows(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         cudaStream_t stream, uint32_t *notes) {
  rows_args a = {};
  row_taps taps = {};
  row_sources sources = {};
  if (c->axis != FC_AXIS_X || c->compute != FC_F32 || c->masks != 1 || c->taps > MOST_TAPS ||
      !is_type(in->dtype) || !is_type(out->dtype) || !set_rows(&a, c, in, edges, out) ||
      !list_sources(&sources, &a, edges))
    return FC_UNSUPPORTED;
  a.in_dtype = in->dtype, a.out_dtype = out->dtype, a.notes = notes, a.code = edges ? edges->code : 0;
  a.in_map = fc_dev_map_of<float>(in->kind, in->dtype);
  a.out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  for (int j = 0; j < a.taps; j++) (&taps.quad[0].x)[j] = static_cast<const float *>(c->mask)[j];
  if (busy_lanes(a, FEW, 3) == 0 || a.stored / a.channels >= WIDE_FROM)
    return busy_lanes(a, MANY, 5) > busy_lanes(a, FEW, 5) + MANY / 8 ? launch<MANY, 5>(a, taps, sources, stream)
                                                                   : launch<FEW, 5>(a, taps, sources, stream);
  return a.stored / a.channels <= 4 ? launch<FEW, 1>(a, taps, sources, stream)
                                    : launch<FEW, 3>(a, taps, sources, stream);
}

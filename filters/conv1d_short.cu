// SPDX-License-Identifier: MIT
//
// conv1d_short.cu - short masks along rows that are short themselves, down to one pixel.
//
// A lane has rows to itself, 32 neighbouring ones a warp: all lanes then look at the same place of their
// rows, so what stands for an element beyond the ends is found in a list that the host has made, and no lane
// waits for another that is at an end. Rows pass through shared memory in both directions, so that
// neighbouring lanes load and store neighbouring elements; there they are an odd number of words apart.
// Several times 32 rows where these are very short, for enough loads under way.
//
// Sums run in the order that conv1d.h lays down.
#include "filters/conv1d_short.cuh"

#include "filters/border.cuh"
#include "filters/cuda.cuh"

namespace {

constexpr int LONGEST = 255; // row, in elements
constexpr int AT_ONCE = 512; // elements that a warp loads, if its rows are as short as that
constexpr int MOST_WARPS = 4, SHARED = 48 * 1024;
constexpr int MOST_TAPS = FC_CONV1D_BLOCK;
constexpr int MOST_EACH = 8; // neighbouring outputs that a lane makes at once

struct short_args {
  const char *in; // of the first row, from the first element that is loaded
  char *out;
  int64_t in_row, out_row; // bytes from row to row
  int64_t rows;
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
  int in_dtype, out_dtype, in_size;
  int groups;                  // of 32 rows, a warp
  int channels, outputs, taps; // outputs: of a row, in frames
  int loaded, stored;          // elements of a row
  fc_dev_divider by_loaded, by_stored;
  int in_pitch, out_pitch; // words, in shared memory
  uint64_t code;           // of the constant that stands beyond the ends, as it is stored
};

// Where the frames that windows look at lie in what was loaded, as elements; or NOWHERE, for the constant.
struct places {
  int at[LONGEST + MOST_TAPS + MOST_EACH];
};
constexpr int NOWHERE = -1;
struct short_taps {
  float tap[MOST_TAPS];
};

template <typename T>
__device__ __forceinline__ void load_rows(const short_args &a, float *tile, const char *from, int count) {
#pragma unroll 4
  for (int i = threadIdx.x % 32; i < count; i += 32) {
    const int row = a.by_loaded.quotient(i), e = i - row * a.loaded;
    const T *element = reinterpret_cast<const T *>(from + row * a.in_row) + e;
    tile[row * a.in_pitch + e] = fc_dev_value<float, T>(*element, a.in_map);
  }
}

template <typename T>
__device__ __forceinline__ void store_rows(const short_args &a, const float *tile, char *to, int count) {
#pragma unroll 4
  for (int i = threadIdx.x % 32; i < count; i += 32) {
    const int row = a.by_stored.quotient(i), e = i - row * a.stored;
    T *element = reinterpret_cast<T *>(to + row * a.out_row) + e;
    *element = fc_dev_code<float, T>(tile[row * a.out_pitch + e], a.out_map, a.notes);
  }
}

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

// The output of a row of one frame, which is what all that is not the constant stands for.
__device__ __forceinline__ float sum_frame(const short_args &a, const places &list, const short_taps &taps,
                                           float value, float constant) {
  float sum = 0.f;
#pragma unroll 8
  for (int j = 0; j < a.taps; j++) sum = fmaf(list.at[j] == NOWHERE ? constant : value, taps.tap[j], sum);
  return sum;
}

// EACH outputs from frame f on, of a lane's row that lies at `row`, of one channel.
template <int EACH>
__device__ __forceinline__ void sum_frames(float (&sum)[EACH], const short_args &a, const places &list,
                                           const short_taps &taps, const float *row, float constant, int f) {
  const auto x = [&](int p) { return list.at[p] == NOWHERE ? constant : row[list.at[p]]; };
  float v[EACH];
#pragma unroll
  for (int r = 0; r < EACH; r++) sum[r] = 0.f, v[r] = r < EACH - 1 ? x(f + r) : 0.f;
#pragma unroll 8
  for (int j = 0; j < a.taps; j++) {
    v[EACH - 1] = x(f + j + EACH - 1);
#pragma unroll
    for (int r = 0; r < EACH; r++) sum[r] = fmaf(v[r], taps.tap[j], sum[r]);
#pragma unroll
    for (int r = 0; r < EACH - 1; r++) v[r] = v[r + 1];
  }
}

template <int EACH>
__global__ void __launch_bounds__(32 * MOST_WARPS)
    conv1d_short(const __grid_constant__ short_args a, const __grid_constant__ places list,
                 const __grid_constant__ short_taps taps) {
  extern __shared__ __align__(16) float memory[];
  const int rows = 32 * a.groups, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + warp) * rows;
  if (first >= a.rows) return;
  const int here = static_cast<int>(min(static_cast<int64_t>(rows), a.rows - first));
  float *in = memory + warp * rows * (a.in_pitch + a.out_pitch), *out = in + rows * a.in_pitch;
  float constant = 0.f;
  with_type(a.in_dtype, [&](auto zero) {
    using T = decltype(zero);
    constant = fc_dev_load<float, T>(&a.code, a.in_map);
    load_rows<T>(a, in, a.in + first * a.in_row, here * a.loaded);
  });
  __syncwarp();
  for (int row = lane; row < here; row += 32)
    for (int c = 0; c < a.channels; c++)
      for (int f = 0; f < a.outputs; f += EACH) {
        float sum[EACH];
        if (EACH == 1 && a.loaded == a.channels)
          sum[0] = sum_frame(a, list, taps, in[row * a.in_pitch + c], constant);
        else
          sum_frames<EACH>(sum, a, list, taps, in + row * a.in_pitch + c, constant, f);
        float *to = out + row * a.out_pitch + f * a.channels + c;
#pragma unroll
        for (int r = 0; r < EACH; r++)
          if (EACH == 1 || f + r < a.outputs) to[r * a.channels] = sum[r];
      }
  __syncwarp();
  with_type(a.out_dtype, [&](auto zero) {
    store_rows<decltype(zero)>(a, out, a.out + first * a.out_row, here * a.stored);
  });
}

// ---- launching -------------------------------------------------------------

// Whether the elements of a row that is `frames` long are adjacent, and its rows equally far apart.
bool fits(const fc_view *v, int64_t frames) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype)), *shape = v->shape;
  return (shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] == size) &&
         (frames == 1 || v->stride[FC_AXIS_X] == shape[FC_AXIS_C] * size) &&
         (shape[FC_AXIS_N] == 1 || v->stride[FC_AXIS_N] == shape[FC_AXIS_Y] * v->stride[FC_AXIS_Y]);
}

// Where what a row's windows look at lies in what is loaded of it.
void list_places(places *list, const short_args &a, const fc_conv1d *c, const fc_edges *edges, int frames) {
  const int before = static_cast<int>(c->before);
  for (int p = 0; p < a.outputs + a.taps - 1; p++) {
    const int source = edges ? fc_dev_border_source(edges->border, p - before, frames) : p;
    list->at[p] = source < 0 ? NOWHERE : source * a.channels;
  }
}

bool plan(short_args *a, const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out) {
  const int64_t channels = out->shape[FC_AXIS_C],
                frames = edges ? in->shape[FC_AXIS_X] : out->shape[FC_AXIS_X] + c->taps - 1;
  const int64_t around = c->before < 0 ? -c->before : c->before;
  // Without edges what lies ahead of a row is looked at, of however many frames.
  if (!fits(in, edges ? in->shape[FC_AXIS_X] : 0) || !fits(out, out->shape[FC_AXIS_X]) ||
      channels > LONGEST || out->shape[FC_AXIS_X] > LONGEST / channels || frames == 0 ||
      frames > (LONGEST + MOST_TAPS) / channels || around > INT32_MAX / 4)
    return false;
  a->in_size = static_cast<int>(fc_dtype_size(in->dtype));
  a->in = static_cast<const char *>(in->data) - (edges ? 0 : c->before * channels * a->in_size);
  a->out = static_cast<char *>(out->data);
  a->in_row = in->stride[FC_AXIS_Y], a->out_row = out->stride[FC_AXIS_Y];
  a->rows = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y];
  a->in_map = fc_dev_map_of<float>(in->kind, in->dtype),
  a->out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  a->in_dtype = in->dtype, a->out_dtype = out->dtype, a->code = edges ? edges->code : 0;
  a->channels = static_cast<int>(channels), a->outputs = static_cast<int>(out->shape[FC_AXIS_X]);
  a->taps = static_cast<int>(c->taps);
  a->loaded = static_cast<int>(frames * channels), a->stored = a->outputs * a->channels;
  a->by_loaded = fc_dev_divider_of(a->loaded), a->by_stored = fc_dev_divider_of(a->stored);
  a->in_pitch = a->loaded | 1, a->out_pitch = a->stored | 1;
  a->groups = AT_ONCE / 32 / a->loaded < 1 ? 1 : AT_ONCE / 32 / a->loaded;
  return true;
}

template <int EACH>
fc_status launch(const short_args &a, const places &list, const short_taps &taps, cudaStream_t stream) {
  const int warp_bytes = 32 * a.groups * (a.in_pitch + a.out_pitch) * static_cast<int>(sizeof(float));
  const int warps = SHARED / warp_bytes < 1            ? 1
                    : SHARED / warp_bytes < MOST_WARPS ? SHARED / warp_bytes
                                                       : MOST_WARPS;
  const int64_t blocks = (a.rows + 32 * a.groups * warps - 1) / (32 * a.groups * warps);
  if (blocks > INT32_MAX || !fc_allow_shared(conv1d_short<EACH>, warps * warp_bytes)) return FC_UNSUPPORTED;
  conv1d_short<EACH>
      <<<static_cast<unsigned>(blocks), 32 * warps, warps * warp_bytes, stream>>>(a, list, taps);
  return fc_launch_status();
}

} // namespace

fc_status fc_conv1d_short(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes) {
  short_args a = {};
  if (c->axis != FC_AXIS_X || c->compute != FC_F32 || c->masks != 1 || c->taps > MOST_TAPS ||
      !plan(&a, c, in, edges, out))
    return FC_UNSUPPORTED;
  a.notes = notes;
  places list = {};
  short_taps taps = {};
  list_places(&list, a, c, edges, static_cast<int>(in->shape[FC_AXIS_X]));
  for (int j = 0; j < a.taps; j++) taps.tap[j] = static_cast<const float *>(c->mask)[j];
  if (a.outputs <= 2)
    return a.outputs == 1 ? launch<1>(a, list, taps, stream) : launch<2>(a, list, taps, stream);
  return a.outputs <= 4 ? launch<4>(a, list, taps, stream) : launch<8>(a, list, taps, stream);
}

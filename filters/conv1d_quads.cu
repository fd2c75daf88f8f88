// SPDX-License-Identifier: MIT
//
// conv1d_quads.cu - short masks along rows of f32, of one channel or two interleaved: memory binds up to
// some 30 taps, so nothing stands between it and the sums, no shared memory and no barrier.
//
// A lane makes four neighbouring elements, a quad, in each of several stretches of 128 elements,
// and slides over its inputs a quad at a time: all loads and stores are of 16 aligned bytes, side by side,
// and the quads that neighbours have in common come from the first cache. Inputs need not begin
// where quads do: `shift` elements of the first quad are passed over.
//
// Sums run in the order that conv1d.h lays down. A row's last tile begins early enough to be a whole one;
// the few elements before the first quad and behind the last are made one by one.
#include "filters/conv1d_quads.cuh"

#include "filters/cuda.cuh"

namespace {

constexpr int STRETCHES = 4, TILE = STRETCHES * 128; // elements, of a warp
constexpr int WARPS = 8, RESIDENT = 4;
constexpr int SHORTEST = 4 * TILE; // row that this is worth while for
constexpr int MOST_TAPS = FC_CONV1D_BLOCK, MOST_ROWS = 65535;

// The taps by the place in a quad where they meet the window's first element, for each shift that there
// may be: 4 of one channel, 2 of two.
constexpr int MOST_QUADS = (3 + MOST_TAPS + 3) / 4;
struct tap_quads {
  float4 quad[4 * MOST_QUADS];
};

struct quads_args {
  fc_dev_view in, out;
  int64_t elements; // of a row
  int64_t channels; // that are rows by themselves, else 1
  int64_t ahead;    // elements from where output 0 stands back to where its window begins
  int taps, quads;  // quads: of a shift in the list
};

// Adds tap `w` that meets element t of the window's first quad.
__device__ __forceinline__ void add_tap(float (&sum)[STRETCHES][4], const float4 (&here)[STRETCHES],
                                        const float4 (&next)[STRETCHES], float w, int t) {
#pragma unroll
  for (int k = 0; k < STRETCHES; k++) {
    const float v[8] = {here[k].x, here[k].y, here[k].z, here[k].w,
                        next[k].x, next[k].y, next[k].z, next[k].w};
#pragma unroll
    for (int r = 0; r < 4; r++) sum[k][r] = fmaf(v[r + t], w, sum[k][r]);
  }
}

// A quad but for the elements that are passed over, of which there is one at least: nothing else was
// ever written there.
__device__ __forceinline__ float4 end_of_quad(const float *quad, int shift) {
  return {0.f, shift <= 1 ? quad[1] : 0.f, shift <= 2 ? quad[2] : 0.f, quad[3]};
}

// The sums of a lane, whose window begins at the aligned quad `from`, `shift` elements before it is meant
// to. STEP: elements from a tap to the next; the taps are those from quad `first` of the list on. `ahead`:
// what is passed over lies ahead of the row.
template <int STEP>
__device__ __forceinline__ void sum_windows(float (&sum)[STRETCHES][4], const float *from, int taps,
                                            int shift, bool ahead, const tap_quads &list, int first) {
  const auto x = [&](int k, int g) {
    return __ldg(reinterpret_cast<const float4 *>(from + k * 128 + g * 4));
  };
  float4 here[STRETCHES], next[STRETCHES];
#pragma unroll
  for (int k = 0; k < STRETCHES; k++) {
#pragma unroll
    for (int r = 0; r < 4; r++) sum[k][r] = 0.f;
    here[k] = k == 0 && ahead ? end_of_quad(from, shift) : x(k, 0);
  }
  const int end = shift + STEP * (taps - 1) + 1, whole = (end + STEP - 1) / 4;
  int g = 0;
  if (shift > 0) { // the first quad, from there on
    const float4 w = list.quad[first];
#pragma unroll
    for (int k = 0; k < STRETCHES; k++) next[k] = x(k, 1);
    if (STEP == 1 && shift <= 1 && 1 < end) add_tap(sum, here, next, w.y, 1);
    if (shift <= 2 && 2 < end) add_tap(sum, here, next, w.z, 2);
    if (STEP == 1 && 3 < end) add_tap(sum, here, next, w.w, 3);
#pragma unroll
    for (int k = 0; k < STRETCHES; k++) here[k] = next[k];
    g = 1;
  }
#pragma unroll 2
  for (; g < whole; g++) {
    const float4 w = list.quad[first + g];
#pragma unroll
    for (int k = 0; k < STRETCHES; k++) next[k] = x(k, g + 1);
    add_tap(sum, here, next, w.x, 0);
    if (STEP == 1) add_tap(sum, here, next, w.y, 1);
    add_tap(sum, here, next, w.z, 2);
    if (STEP == 1) add_tap(sum, here, next, w.w, 3);
#pragma unroll
    for (int k = 0; k < STRETCHES; k++) here[k] = next[k];
  }
  const int rest = end - 4 * g;
  if (rest > 0) {
    const float4 w = list.quad[first + g];
#pragma unroll
    for (int k = 0; k < STRETCHES; k++) next[k] = rest > 1 ? x(k, g + 1) : here[k];
    add_tap(sum, here, next, w.x, 0);
    if (STEP == 1 && rest > 1) add_tap(sum, here, next, w.y, 1);
    if (STEP == 1 && rest > 2) add_tap(sum, here, next, w.z, 2);
  }
}

// One output by itself.
template <int STEP>
__device__ __forceinline__ float sum_alone(const float *window, int taps, const tap_quads &list) {
  float sum = 0.f;
#pragma unroll 4
  for (int j = 0; j < taps; j++) sum = fmaf(__ldg(window + j * STEP), (&list.quad[0].x)[j * STEP], sum);
  return sum;
}

template <int STEP>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    conv1d_quads(const __grid_constant__ quads_args a, const __grid_constant__ tap_quads list) {
  const int64_t tile = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const uint32_t channels = static_cast<uint32_t>(a.channels),
                 z = blockIdx.z; // no division where one will do
  const uint32_t n = channels == 1 ? z : z / channels, channel = z - n * channels;
  const float *in = reinterpret_cast<const float *>(a.in.at(n, blockIdx.y, 0, channel)) - a.ahead;
  float *out = reinterpret_cast<float *>(a.out.at(n, blockIdx.y, 0, channel));
  // Quads are those of the output's memory.
  const int lead = static_cast<int>(reinterpret_cast<uintptr_t>(out) / sizeof(float) % 4);
  const int shift = static_cast<int>((reinterpret_cast<uintptr_t>(in) / sizeof(float) - lead) % 4);
  const int64_t begin = (4 - lead) % 4, last = begin + (a.elements - begin - TILE - 3) / 4 * 4;
  const int64_t first = begin + tile * TILE;
  if (first - TILE < last) {
    const int64_t at = (first < last ? first : last) + lane * 4;
    float sum[STRETCHES][4];
    sum_windows<STEP>(sum, in + at - shift, a.taps, shift, at < shift, list, shift / STEP * a.quads);
#pragma unroll
    for (int k = 0; k < STRETCHES; k++)
      *reinterpret_cast<float4 *>(out + at + k * 128) = {sum[k][0], sum[k][1], sum[k][2], sum[k][3]};
  } else if (first - 2 * TILE < last) { // the warp after the last
    const int64_t at = lane < 4 ? lane : last + TILE + lane - 4;
    if (at < (lane < 4 ? begin : a.elements)) out[at] = sum_alone<STEP>(in + at, a.taps, list);
  }
}

// Whether samples of a row are adjacent, and begin where a tap's neighbours may meet quads.
bool fits(const fc_view *v, int64_t step, int64_t along) {
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v->data));
  for (int axis = 0; axis < FC_AXES; axis++)
    if (v->shape[axis] > 1 && !(axis == FC_AXIS_C && step > 1)) bits |= v->stride[axis];
  const int64_t size = sizeof(float);
  return v->dtype == FC_F32 && v->stride[FC_AXIS_X] == step * size &&
         (step == 1 || v->stride[FC_AXIS_C] == size) && bits % (step * size) == 0 && along * step >= SHORTEST;
}

template <int STEP>
fc_status launch(const fc_conv1d *c, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  quads_args a = {};
  tap_quads list = {};
  a.in = fc_dev_view_of(in), a.out = fc_dev_view_of(out);
  a.elements = out->shape[FC_AXIS_X] * STEP, a.ahead = c->before * STEP;
  a.channels = STEP == 1 ? out->shape[FC_AXIS_C] : 1;
  const int64_t frames = out->shape[FC_AXIS_N] * a.channels;
  a.taps = static_cast<int>(c->taps), a.quads = (3 + STEP * (a.taps - 1) + 1 + 3) / 4;
  if (out->shape[FC_AXIS_Y] > MOST_ROWS || frames > MOST_ROWS) return FC_UNSUPPORTED;
  for (int shift = 0; shift < 4; shift += STEP)
    for (int j = 0; j < a.taps; j++) {
      const int place = shift + j * STEP;
      float4 *quad = &list.quad[shift / STEP * a.quads + place / 4];
      (&quad->x)[place % 4] = static_cast<const float *>(c->mask)[j];
    }
  const dim3 grid(fc_blocks(a.elements + TILE, TILE * WARPS, INT32_MAX),
                  fc_blocks(out->shape[FC_AXIS_Y], 1, MOST_ROWS), fc_blocks(frames, 1, MOST_ROWS));
  // Neighbours' quads come from the first cache, so all of it shall be one. (A wish: nothing depends on it.)
  if (cudaFuncSetAttribute(conv1d_quads<STEP>, cudaFuncAttributePreferredSharedMemoryCarveout,
                           cudaSharedmemCarveoutMaxL1) != cudaSuccess)
    return fc_launch_status();
  conv1d_quads<STEP><<<grid, 32 * WARPS, 0, stream>>>(a, list);
  return fc_launch_status();
}

} // namespace

fc_status fc_conv1d_quads(const fc_conv1d *c, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  const int64_t along = out->shape[FC_AXIS_X];
  if (c->axis != FC_AXIS_X || c->compute != FC_F32 || c->masks != 1 || c->taps > MOST_TAPS)
    return FC_UNSUPPORTED;
  if (fits(in, 1, along) && fits(out, 1, along)) return launch<1>(c, in, out, stream);
  if (out->shape[FC_AXIS_C] == 2 && fits(in, 2, along) && fits(out, 2, along))
    return launch<2>(c, in, out, stream);
  return FC_UNSUPPORTED;
}

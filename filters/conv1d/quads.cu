// SPDX-License-Identifier: MIT
//
// quads.cu - short masks along rows of f32, of one channel or two interleaved. Memory bandwidth is the limit
// up to some 30 taps, so inputs go directly into registers, without shared memory or barriers.
//
// A lane computes four adjacent elements, a quad, in each of several stretches of 128 elements, and slides
// over its inputs a quad at a time: all loads and stores are 16 bytes, aligned and adjacent across lanes,
// and the quads that neighbouring lanes share are read from the first-level cache. Inputs may begin inside a
// quad: the first `shift` elements of it are skipped. Warps live for some microseconds only, so the host
// computes what it can in order to keep the time to the first load short.
//
// The order of sums is that of conv1d.h. A row's last tile begins early enough to be whole. The outputs at
// both ends, whose quads are not all readable, are computed one by one by a warp of their own, scheduled
// before the row's other warps; it also makes the border if the views are the whole signal.
#include "filters/conv1d/kernels.cuh"

#include "filters/gpu/border.cuh"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int STRETCHES = 4, TILE = STRETCHES * 128; // elements per warp
constexpr int WARPS = 8, RESIDENT = 4;
constexpr int MOST_TAPS = FC_CONV1D_BLOCK, MOST_IMAGES = 65535;

// The taps, padded so that they align with the quads of a window, for each possible shift: 4 with one
// channel, 2 with two.
constexpr int MOST_QUADS = (3 + MOST_TAPS + 3) / 4;
struct tap_quads {
  float4 quad[4 * MOST_QUADS];
};

// A row of output: where its first and last whole tile begin, and the shift of its windows within quads.
struct row_cut {
  int begin, last, shift;
};

struct quads_args {
  const float *in; // the input at the position of output 0, in the first row
  float *out;
  int64_t in_row, out_row;     // elements between rows,
  int64_t in_image, out_image; // between images: blocks' y,
  int64_t in_plane, out_plane; // and between channels: blocks' z
  int elements;                // per row
  int ahead;                   // elements from the beginning of output 0's window to output 0
  int begin, end;              // readable range of a row, relative to the position of output 0
  int taps, quads;             // quads: for one shift in the list
  int read[4];                 // elements loaded from a lane's first quad on, for each shift
  int units;                   // warps; the first of each row computes its ends
  int units_a_row;
  fc_dev_divider a_row;
  row_cut cut; // of the first row
  bool alike;  // all other rows have the same
  fc_dev_border border;
};

// Adds tap `w`, multiplied with element t of the window's first quad for the first output.
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

// A lane's sums. The window begins `shift` elements after the aligned quad `from`. STEP: elements between
// taps; the taps begin at quad `g` of the list.
template <int STEP>
__device__ __forceinline__ void sum_windows(float (&sum)[STRETCHES][4], const float *from, int taps,
                                            int shift, const tap_quads &list, int g) {
  const auto x = [&](int k, int q) {
    return __ldg(reinterpret_cast<const float4 *>(from + k * 128 + q * 4));
  };
  float4 here[STRETCHES], next[STRETCHES];
#pragma unroll
  for (int k = 0; k < STRETCHES; k++) {
    here[k] = x(k, 0);
#pragma unroll
    for (int r = 0; r < 4; r++) sum[k][r] = 0.f;
  }
  int left = shift + STEP * (taps - 1) + 1; // elements left, from the beginning of the first quad
  if (shift > 0) {                          // the part of the first quad after `shift`
    const float4 w = list.quad[g];
#pragma unroll
    for (int k = 0; k < STRETCHES; k++) next[k] = x(k, 1);
    if (STEP == 1 && shift <= 1 && 1 < left) add_tap(sum, here, next, w.y, 1);
    if (shift <= 2 && 2 < left) add_tap(sum, here, next, w.z, 2);
    if (STEP == 1 && 3 < left) add_tap(sum, here, next, w.w, 3);
#pragma unroll
    for (int k = 0; k < STRETCHES; k++) here[k] = next[k];
    left -= 4, from += 4, g++;
  }
#pragma unroll 2
  for (; left > 4 - STEP; left -= 4, from += 4, g++) {
    const float4 w = list.quad[g];
#pragma unroll
    for (int k = 0; k < STRETCHES; k++) next[k] = x(k, 1);
    add_tap(sum, here, next, w.x, 0);
    if (STEP == 1) add_tap(sum, here, next, w.y, 1);
    add_tap(sum, here, next, w.z, 2);
    if (STEP == 1) add_tap(sum, here, next, w.w, 3);
#pragma unroll
    for (int k = 0; k < STRETCHES; k++) here[k] = next[k];
  }
  if (left <= 0) return;
  const float4 w = list.quad[g];
#pragma unroll
  for (int k = 0; k < STRETCHES; k++) next[k] = left > 1 ? x(k, 1) : here[k];
  add_tap(sum, here, next, w.x, 0);
  if (STEP == 1 && left > 1) add_tap(sum, here, next, w.y, 1);
  if (STEP == 1 && left > 2) add_tap(sum, here, next, w.z, 2);
}

// Elements that sum_windows loads, from a lane's first quad on.
int elements_read(int taps, int shift, int step) {
  int left = shift + step * (taps - 1) + 1, quads = 1;
  if (shift > 0) left -= 4, quads++;
  for (; left > 4 - step; left -= 4) quads++;
  return 4 * (quads + (left > 1));
}

// Element e of a row, mapped by the border if it is outside.
template <int STEP> __device__ __forceinline__ float element(const quads_args &a, const float *in, int e) {
  if (e < a.begin || e >= a.end) e = fc_dev_border_element<STEP>(a.border, e);
  return e == FC_BORDER_ELEMENT_NONE ? __uint_as_float(static_cast<uint32_t>(a.border.code)) : __ldg(in + e);
}

// Computes the outputs of a row that no tile contains, one by one.
template <int STEP>
__device__ __forceinline__ void make_ends(const quads_args &a, const tap_quads &list, const float *in,
                                          float *out, row_cut cut) {
  const int behind = cut.last + TILE - cut.begin; // skips the outputs of the tiles
  for (int i = threadIdx.x % 32; i + (i < cut.begin ? 0 : behind) < a.elements; i += 32) {
    const int at = i + (i < cut.begin ? 0 : behind);
    float sum = 0.f;
#pragma unroll 8
    for (int j = 0; j < a.taps; j++)
      sum = fmaf(element<STEP>(a, in, at - a.ahead + j * STEP), (&list.quad[0].x)[j * STEP], sum);
    out[at] = sum;
  }
}

__host__ __device__ __forceinline__ int row_cut_up(int n, int to) { // next number = `to` mod 4
  return n + ((to - n) & 3);
}

// Tiles begin at multiples of a quad in the output's memory.
__host__ __device__ __forceinline__ row_cut cut_of(const quads_args &a, const float *in, const float *out) {
  const int lead = static_cast<int>(reinterpret_cast<uintptr_t>(out) / sizeof(float)) & 3;
  const uint32_t window = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(in) / sizeof(float)) - a.ahead;
  row_cut c;
  c.shift = static_cast<int>(window - lead) & 3;
  const int first = a.begin + a.ahead + c.shift,
            last = a.end + a.ahead + c.shift - a.read[c.shift] - TILE + 4;
  c.begin = row_cut_up(first > 0 ? first : 0, -lead);
  c.last = row_cut_up((last < a.elements - TILE ? last : a.elements - TILE) - 3, -lead);
  return c;
}

template <int STEP, bool MANY>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    conv1d_quads(const __grid_constant__ quads_args a, const __grid_constant__ tap_quads list) {
  const float *in = a.in;
  float *out = a.out;
  row_cut cut = a.cut;
  int unit = static_cast<int>(blockIdx.x) * WARPS + static_cast<int>(threadIdx.x) / 32;
  if (unit >= a.units) return;
  if (MANY) {
    const int row = a.a_row.quotient(unit);
    unit -= row * a.units_a_row;
    in += row * a.in_row + blockIdx.y * a.in_image + blockIdx.z * a.in_plane;
    out += row * a.out_row + blockIdx.y * a.out_image + blockIdx.z * a.out_plane;
    if (!a.alike) cut = cut_of(a, in, out);
  }
  if (unit == 0) return make_ends<STEP>(a, list, in, out, cut);
  int at = cut.begin + (unit - 1) * TILE;
  if (at >= cut.last + TILE) return;
  at = min(at, cut.last) + static_cast<int>(threadIdx.x) % 32 * 4;
  float sum[STRETCHES][4];
  sum_windows<STEP>(sum, in + (at - a.ahead - cut.shift), a.taps, cut.shift, list,
                    cut.shift / STEP * a.quads);
#pragma unroll
  for (int k = 0; k < STRETCHES; k++)
    *reinterpret_cast<float4 *>(out + at + k * 128) = {sum[k][0], sum[k][1], sum[k][2], sum[k][3]};
}

// ---- launching -------------------------------------------------------------

int64_t stride_of(const fc_view *v, int axis) {
  return v->stride[axis] / static_cast<int64_t>(sizeof(float));
}

// False if the sizes exceed 32 bits, with a margin.
template <int STEP>
bool set_row(quads_args *a, const fc_conv1d *c, const fc_view *in, const fc_edges *edges,
             const fc_view *out) {
  constexpr int64_t most = INT32_MAX - 16 * TILE;
  const int64_t elements = out->shape[FC_AXIS_X] * STEP, there = in->shape[FC_AXIS_X] * STEP;
  const int64_t around = c->before < 0 ? -c->before : c->before;
  if (elements > most || there > most || around > most / 4 ||
      !fc_dev_border_of(&a->border, edges, in, c->before, c->taps, out->shape[FC_AXIS_X]))
    return false;
  a->in = static_cast<const float *>(in->data), a->out = static_cast<float *>(out->data);
  a->elements = static_cast<int>(elements), a->ahead = static_cast<int>(c->before * STEP);
  a->taps = static_cast<int>(c->taps), a->quads = (3 + STEP * (a->taps - 1) + 1 + 3) / 4;
  a->begin = edges ? 0 : -a->ahead;
  const int64_t end = edges ? there : elements + (c->taps - 1 - c->before) * STEP;
  if (end > most) return false;
  a->end = static_cast<int>(end);
  for (int shift = 0; shift < 4; shift += STEP) a->read[shift] = elements_read(a->taps, shift, STEP);
  a->cut = cut_of(*a, a->in, a->out);
  return a->cut.last - a->cut.begin >= 8; // leaves a margin for other rows, which may have another alignment
}

template <int STEP> bool set_rows(quads_args *a, const fc_view *in, const fc_view *out) {
  a->in_row = stride_of(in, FC_AXIS_Y), a->out_row = stride_of(out, FC_AXIS_Y);
  a->in_image = stride_of(in, FC_AXIS_N), a->out_image = stride_of(out, FC_AXIS_N);
  a->in_plane = stride_of(in, FC_AXIS_C), a->out_plane = stride_of(out, FC_AXIS_C);
  int64_t apart = 0;
  for (int axis = FC_AXIS_N; axis <= FC_AXIS_Y; axis++)
    if (out->shape[axis] > 1) apart |= stride_of(in, axis) | stride_of(out, axis);
  if (STEP == 1 && out->shape[FC_AXIS_C] > 1) apart |= a->in_plane | a->out_plane;
  a->alike = apart % 4 == 0;
  a->units_a_row = (a->elements + TILE - 1) / TILE + 1;
  a->a_row = fc_dev_divider_of(a->units_a_row);
  if (out->shape[FC_AXIS_Y] > (INT32_MAX - WARPS) / a->units_a_row) return false;
  a->units = static_cast<int>(out->shape[FC_AXIS_Y]) * a->units_a_row;
  return true;
}

void list_taps(tap_quads *list, const quads_args *a, const float *mask, int step) {
  for (int shift = 0; shift < 4; shift += step)
    for (int j = 0; j < a->taps; j++) {
      const int place = shift + j * step;
      float4 *quad = &list->quad[shift / step * a->quads + place / 4];
      (&quad->x)[place % 4] = mask[j];
    }
}

template <int STEP>
fc_status launch(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                 cudaStream_t stream) {
  quads_args a = {};
  tap_quads list = {};
  const int64_t images = out->shape[FC_AXIS_N], planes = STEP == 1 ? out->shape[FC_AXIS_C] : 1;
  if (images > MOST_IMAGES || planes > MOST_IMAGES || !set_row<STEP>(&a, c, in, edges, out) ||
      !set_rows<STEP>(&a, in, out))
    return FC_UNSUPPORTED;
  list_taps(&list, &a, static_cast<const float *>(c->mask), STEP);
  const dim3 grid(fc_blocks(a.units, WARPS, INT32_MAX), static_cast<unsigned>(images),
                  static_cast<unsigned>(planes));
  const bool many = images > 1 || planes > 1 || out->shape[FC_AXIS_Y] > 1;
  const auto kernel = many ? conv1d_quads<STEP, true> : conv1d_quads<STEP, false>;
  kernel<<<grid, 32 * WARPS, 0, stream>>>(a, list);
  return fc_launch_status();
}

} // namespace

fc_status fc_conv1d_quads(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream) {
  const bool samples = in->stride[FC_AXIS_X] == sizeof(float) && out->stride[FC_AXIS_X] == sizeof(float);
  return samples ? launch<1>(c, in, edges, out, stream) : launch<2>(c, in, edges, out, stream);
}

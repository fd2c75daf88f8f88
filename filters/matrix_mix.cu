// SPDX-License-Identifier: MIT
//
// matrix_mix.cu - see matrix_mix.cuh.
#include "filters/matrix_mix.cuh"

namespace {

constexpr int THREADS = 256;
// A thread's group is as many pixels as make a whole number of 16-byte accesses.
template <typename T> constexpr int PIXELS = 16 / static_cast<int>(sizeof(T));
template <typename T> constexpr int GROUPS = sizeof(T) == 4 ? 3 : 2; // under way in a thread

// Rows of pixels that lie adjacent in both views; one row where the rows do too.
struct runs {
  const char *in;
  char *out;
  int64_t rows, length;                         // pixels of a row
  int64_t groups;                               // in a row, the last perhaps not full
  int64_t per_batch;                            // rows of one batch entry
  int64_t in_row, out_row, in_batch, out_batch; // bytes
  int align;                                    // 16 or 4: every row begins at a multiple of it in both; or 1
};

template <int CI, int CO> struct weights { float m[CI][CO], offset[CO]; };

template <typename T, int COUNT> union pixels {
  uint4 quad[COUNT * sizeof(T) / 16];
  uint32_t word[COUNT * sizeof(T) / 4];
  T sample[COUNT];
};

// Samples [0, used) of a group; the rest is whatever.
template <typename T, int COUNT>
__device__ __forceinline__ void load_group(pixels<T, COUNT> &p, const char *from, int used, int align) {
  if (align == 16 && used == COUNT) {
#pragma unroll
    for (int i = 0; i < static_cast<int>(COUNT * sizeof(T) / 16); i++)
      p.quad[i] = reinterpret_cast<const uint4 *>(from)[i];
  } else if (align == 4 && used == COUNT) {
#pragma unroll
    for (int i = 0; i < static_cast<int>(COUNT * sizeof(T) / 4); i++)
      p.word[i] = reinterpret_cast<const uint32_t *>(from)[i];
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i++) p.sample[i] = i < used ? reinterpret_cast<const T *>(from)[i] : T(0);
  }
}

template <typename T, int COUNT>
__device__ __forceinline__ void store_group(char *to, const pixels<T, COUNT> &p, int used, int align) {
  if (align == 16 && used == COUNT) {
#pragma unroll
    for (int i = 0; i < static_cast<int>(COUNT * sizeof(T) / 16); i++)
      reinterpret_cast<uint4 *>(to)[i] = p.quad[i];
  } else if (align == 4 && used == COUNT) {
#pragma unroll
    for (int i = 0; i < static_cast<int>(COUNT * sizeof(T) / 4); i++)
      reinterpret_cast<uint32_t *>(to)[i] = p.word[i];
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (i < used) reinterpret_cast<T *>(to)[i] = p.sample[i];
  }
}

// `used` counts samples of the output: what lies beyond is not looked at for notes.
template <typename T, int CI, int CO>
__device__ __forceinline__ void mix_group(pixels<T, PIXELS<T> * CO> &y, const pixels<T, PIXELS<T> * CI> &x,
                                          const weights<CI, CO> &w, int used, fc_dev_map<float> map,
                                          uint32_t *notes) {
#pragma unroll
  for (int p = 0; p < PIXELS<T>; p++)
#pragma unroll
    for (int r = 0; r < CO; r++) {
      float sum = w.offset[r];
#pragma unroll
      for (int c = 0; c < CI; c++)
        sum = fmaf(w.m[c][r], fc_dev_value<float, T>(x.sample[p * CI + c], map), sum);
      if (p * CO + r < used) y.sample[p * CO + r] = fc_dev_code<float, T>(sum, map, notes);
    }
}

struct group_place {
  const char *in;
  char *out;
  int used; // pixels
};

template <typename T, int CI, int CO>
__device__ __forceinline__ group_place place_of(const runs &r, int64_t group) {
  int64_t row = r.rows == 1 ? 0 : group / r.groups, first = (group - row * r.groups) * PIXELS<T>;
  int64_t batch = r.rows == 1 ? 0 : row / r.per_batch, y = row - batch * r.per_batch;
  group_place g;
  g.in = r.in + batch * r.in_batch + y * r.in_row + first * static_cast<int64_t>(CI * sizeof(T));
  g.out = r.out + batch * r.out_batch + y * r.out_row + first * static_cast<int64_t>(CO * sizeof(T));
  g.used = r.length - first < PIXELS<T> ? static_cast<int>(r.length - first) : PIXELS<T>;
  return g;
}

template <typename T, int CI, int CO>
__global__ void __launch_bounds__(THREADS)
    mix_kernel(runs r, int pitch, const float *matrix, const float *offset, fc_dev_map<float> map,
               uint32_t *notes) {
  weights<CI, CO> w;
#pragma unroll
  for (int k = 0; k < CO; k++) {
    w.offset[k] = offset ? offset[k] : 0.f;
#pragma unroll
    for (int c = 0; c < CI; c++) w.m[c][k] = matrix[c * pitch + k];
  }
  const int64_t total = r.rows * r.groups, stride = static_cast<int64_t>(gridDim.x) * THREADS;
  for (int64_t g = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; g < total;
       g += GROUPS<T> * stride) {
    pixels<T, PIXELS<T> * CI> x[GROUPS<T>];
    group_place at[GROUPS<T>];
#pragma unroll
    for (int i = 0; i < GROUPS<T>; i++) {
      at[i].used = 0;
      if (g + i * stride >= total) continue;
      at[i] = place_of<T, CI, CO>(r, g + i * stride);
      load_group<T, PIXELS<T> * CI>(x[i], at[i].in, at[i].used * CI, r.align);
    }
#pragma unroll
    for (int i = 0; i < GROUPS<T>; i++) {
      if (at[i].used == 0) continue;
      pixels<T, PIXELS<T> * CO> y;
      mix_group<T, CI, CO>(y, x[i], w, at[i].used * CO, map, notes);
      store_group<T, PIXELS<T> * CO>(at[i].out, y, at[i].used * CO, r.align);
    }
  }
}

bool is_dense(const fc_view *v) {
  int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  return (v->stride[FC_AXIS_C] == size || v->shape[FC_AXIS_C] == 1) &&
         v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size;
}

// Whether each row of pixels, and each batch entry, begins where the one before ends.
bool is_one_row(const fc_view *v) {
  int64_t row = v->shape[FC_AXIS_X] * v->stride[FC_AXIS_X];
  bool rows = v->shape[FC_AXIS_Y] == 1 || v->stride[FC_AXIS_Y] == row;
  return rows && (v->shape[FC_AXIS_N] == 1 || v->stride[FC_AXIS_N] == v->shape[FC_AXIS_Y] * row);
}

uint64_t beginnings(const fc_view *v, bool one_row) {
  uint64_t all = reinterpret_cast<uintptr_t>(v->data);
  if (!one_row)
    all |= static_cast<uint64_t>(v->stride[FC_AXIS_Y]) | static_cast<uint64_t>(v->stride[FC_AXIS_N]);
  return all;
}

runs runs_of(const fc_view *in, const fc_view *out, int pixels) {
  runs r;
  bool one = is_one_row(in) && is_one_row(out);
  int64_t lines = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y];
  r.in = static_cast<const char *>(in->data);
  r.out = static_cast<char *>(out->data);
  r.rows = one ? 1 : lines;
  r.length = out->shape[FC_AXIS_X] * (one ? lines : 1);
  r.groups = (r.length + pixels - 1) / pixels;
  r.per_batch = out->shape[FC_AXIS_Y];
  r.in_row = in->stride[FC_AXIS_Y], r.out_row = out->stride[FC_AXIS_Y];
  r.in_batch = in->stride[FC_AXIS_N], r.out_batch = out->stride[FC_AXIS_N];
  const uint64_t all = beginnings(in, one) | beginnings(out, one);
  r.align = all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1;
  return r;
}

template <typename T, int CI, int CO>
fc_status launch(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                 cudaStream_t stream) {
  runs r = runs_of(in, out, PIXELS<T>);
  unsigned blocks = fc_blocks(r.rows * r.groups, THREADS * GROUPS<T>, 256 * 16);
  mix_kernel<T, CI, CO><<<blocks, THREADS, 0, stream>>>(
      r, static_cast<int>(m->pitch), static_cast<const float *>(m->matrix),
      static_cast<const float *>(m->offset), fc_dev_map_of<float>(in->kind, in->dtype), notes);
  return fc_launch_status();
}

template <typename T, int CI>
fc_status launch_rows(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                      cudaStream_t s) {
  switch (m->rows) {
  case 1: return launch<T, CI, 1>(m, in, out, notes, s);
  case 2: return launch<T, CI, 2>(m, in, out, notes, s);
  case 3: return launch<T, CI, 3>(m, in, out, notes, s);
  default: return launch<T, CI, 4>(m, in, out, notes, s);
  }
}

template <typename T>
fc_status launch_type(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                      cudaStream_t s) {
  switch (m->cols) {
  case 1: return launch_rows<T, 1>(m, in, out, notes, s);
  case 2: return launch_rows<T, 2>(m, in, out, notes, s);
  case 3: return launch_rows<T, 3>(m, in, out, notes, s);
  default: return launch_rows<T, 4>(m, in, out, notes, s);
  }
}

} // namespace

bool fc_matrix_mix_try(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                       cudaStream_t stream, fc_status *status) {
  if (m->compute != FC_F32 || m->axis != FC_AXIS_C || m->rows > 4 || m->cols > 4) return false;
  if (in->shape[FC_AXIS_C] != m->cols || out->shape[FC_AXIS_C] != m->rows) return false;
  if (in->dtype != out->dtype || in->kind != out->kind || !is_dense(in) || !is_dense(out)) return false;
  switch (in->dtype) {
  case FC_U8: *status = launch_type<uint8_t>(m, in, out, notes, stream); return true;
  case FC_I16: *status = launch_type<int16_t>(m, in, out, notes, stream); return true;
  case FC_U16: *status = launch_type<uint16_t>(m, in, out, notes, stream); return true;
  case FC_F32: *status = launch_type<float>(m, in, out, notes, stream); return true;
  default: return false;
  }
}

// SPDX-License-Identifier: MIT
//
// gaps.cu - see gaps.cuh.
#include "filters/filter2d/gaps.cuh"

#include "filters/filter2d/conv2d.h"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int THREADS = 256;
constexpr size_t ALIGN = 256;

struct column_copy {
  const char *from;
  char *to;
  int64_t rows, count;                                                // of an image; of all elements
  int64_t from_image, from_row, from_step, to_image, to_row, to_step; // bytes
  int channels;
};

// A thread an element.
template <typename T> __global__ void __launch_bounds__(THREADS) filter2d_column(const column_copy c) {
  for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < c.count;
       i += static_cast<int64_t>(gridDim.x) * THREADS) {
    const int64_t row = i / c.channels, channel = i - row * c.channels, n = row / c.rows,
                  y = row - n * c.rows;
    *reinterpret_cast<T *>(c.to + n * c.to_image + y * c.to_row + channel * c.to_step) =
        *reinterpret_cast<const T *>(c.from + n * c.from_image + y * c.from_row + channel * c.from_step);
  }
}

template <typename T> fc_status launch(const column_copy &c, cudaStream_t stream) {
  filter2d_column<T><<<fc_blocks(c.count, THREADS, INT32_MAX), THREADS, 0, stream>>>(c);
  return fc_launch_status();
}

size_t bytes_of(const fc_view *v) {
  return (static_cast<size_t>(fc_view_count(v)) * fc_dtype_size(v->dtype) + ALIGN - 1) / ALIGN * ALIGN;
}

fc_view dense(const fc_view *v, void *data) {
  fc_view d = *v;
  d.data = data;
  int64_t stride = static_cast<int64_t>(fc_dtype_size(v->dtype));
  for (int a = FC_AXIS_C; a >= FC_AXIS_N; a--) d.stride[a] = stride, stride *= v->shape[a];
  return d;
}

// One pixel wide, of one channel or interleaved ones.
bool is_column(const fc_view *v) {
  return v->shape[FC_AXIS_X] == 1 && v->shape[FC_AXIS_Y] > 1 &&
         (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] == static_cast<int64_t>(fc_dtype_size(v->dtype)));
}

bool is_dense(const fc_view *v) {
  return v->stride[FC_AXIS_Y] == static_cast<int64_t>(fc_dtype_size(v->dtype)) * v->shape[FC_AXIS_C];
}

} // namespace

bool fc_has_gaps(const fc_view *in, const fc_view *out) {
  return is_column(in) && is_column(out) && !(is_dense(in) && is_dense(out));
}

void fc_dense_views(const fc_view *in, const fc_view *out, void *scratch, fc_view *dense_in,
                    fc_view *dense_out) {
  *dense_in = dense(in, scratch);
  *dense_out = dense(out, static_cast<char *>(scratch) + bytes_of(in));
}

fc_status fc_copy_column(const fc_view *to, const fc_view *from, cudaStream_t stream) {
  column_copy c = {};
  c.from = static_cast<const char *>(from->data), c.to = static_cast<char *>(to->data);
  c.rows = from->shape[FC_AXIS_Y], c.count = fc_view_count(from);
  c.from_image = from->stride[FC_AXIS_N], c.from_row = from->stride[FC_AXIS_Y];
  c.to_image = to->stride[FC_AXIS_N], c.to_row = to->stride[FC_AXIS_Y];
  c.from_step = from->stride[FC_AXIS_C], c.to_step = to->stride[FC_AXIS_C];
  c.channels = static_cast<int>(from->shape[FC_AXIS_C]);
  switch (fc_dtype_size(from->dtype)) {
  case 1: return launch<uint8_t>(c, stream);
  case 2: return launch<uint16_t>(c, stream);
  case 4: return launch<uint32_t>(c, stream);
  default: return launch<uint64_t>(c, stream);
  }
}

// By the shape alone: strides are not known when a run is planned.
extern "C" size_t fc_filter2d_edges_scratch(const fc_view *in, const fc_view *out) {
  return out->shape[FC_AXIS_X] == 1 && out->shape[FC_AXIS_Y] > 1 ? bytes_of(in) + bytes_of(out) : 0;
}

// SPDX-License-Identifier: MIT
//
// gaps.cu - see gaps.cuh.
#include "filters/gpu/gaps.cuh"

#include "filters/gpu/cuda.cuh"

namespace {

// Of a thread: elements that are loaded before the first is stored, so that enough bytes are in flight where
// a warp's element is one of 96 bytes.
constexpr int THREADS = 256, EACH = 8;

struct column_copy {
  const char *from;
  char *to;
  int64_t from_image, from_row, from_channel, to_image, to_row, to_channel; // bytes
  int32_t count, rows, channels;                                            // elements; rows of an image
  fc_dev_divider by_rows, by_channels;
};

// EVEN: all elements are equally far apart, in either view, by a row.
template <typename T, bool EVEN>
__global__ void __launch_bounds__(THREADS) gaps_column(const __grid_constant__ column_copy c) {
  const auto place = [&](int i, int64_t image, int64_t row, int64_t channel) {
    if (EVEN) return i * row;
    const int line = c.by_channels.quotient(i), n = c.by_rows.quotient(line);
    return n * image + (line - n * c.rows) * row + (i - line * c.channels) * channel;
  };
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (THREADS * EACH) + threadIdx.x;
  T v[EACH];
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int64_t i = first + k * THREADS;
    if (i < c.count)
      v[k] = *reinterpret_cast<const T *>(
          c.from + place(static_cast<int>(i), c.from_image, c.from_row, c.from_channel));
  }
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int64_t i = first + k * THREADS;
    if (i < c.count)
      *reinterpret_cast<T *>(c.to + place(static_cast<int>(i), c.to_image, c.to_row, c.to_channel)) = v[k];
  }
}

template <typename T> fc_status launch(const column_copy &c, cudaStream_t stream) {
  const bool even =
      c.channels == 1 &&
      (c.count == c.rows || (c.from_image == c.rows * c.from_row && c.to_image == c.rows * c.to_row));
  const unsigned blocks = fc_blocks(c.count, THREADS * EACH, INT32_MAX);
  if (even)
    gaps_column<T, true><<<blocks, THREADS, 0, stream>>>(c);
  else
    gaps_column<T, false><<<blocks, THREADS, 0, stream>>>(c);
  return fc_launch_status();
}

fc_view dense(const fc_view *v, void *data) {
  fc_view d = *v;
  d.data = data;
  int64_t stride = static_cast<int64_t>(fc_dtype_size(v->dtype));
  for (int a = FC_AXIS_C; a >= FC_AXIS_N; a--) d.stride[a] = stride, stride *= v->shape[a];
  return d;
}

// One pixel wide, of one channel or interleaved ones; 32 bits number the elements.
bool is_column(const fc_view *v) {
  return v->shape[FC_AXIS_X] == 1 && v->shape[FC_AXIS_Y] > 1 && fc_view_count(v) <= INT32_MAX &&
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
  *dense_out = dense(out, static_cast<char *>(scratch) + fc_gaps_bytes(in));
}

fc_status fc_copy_column(const fc_view *to, const fc_view *from, cudaStream_t stream) {
  column_copy c = {};
  c.from = static_cast<const char *>(from->data), c.to = static_cast<char *>(to->data);
  c.rows = static_cast<int32_t>(from->shape[FC_AXIS_Y]), c.count = static_cast<int32_t>(fc_view_count(from));
  c.channels = static_cast<int32_t>(from->shape[FC_AXIS_C]);
  c.from_image = from->stride[FC_AXIS_N], c.from_row = from->stride[FC_AXIS_Y];
  c.to_image = to->stride[FC_AXIS_N], c.to_row = to->stride[FC_AXIS_Y];
  c.from_channel = from->stride[FC_AXIS_C], c.to_channel = to->stride[FC_AXIS_C];
  c.by_rows = fc_dev_divider_of(c.rows), c.by_channels = fc_dev_divider_of(c.channels);
  switch (fc_dtype_size(from->dtype)) {
  case 1: return launch<uint8_t>(c, stream);
  case 2: return launch<uint16_t>(c, stream);
  case 4: return launch<uint32_t>(c, stream);
  default: return launch<uint64_t>(c, stream);
  }
}

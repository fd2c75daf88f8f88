// SPDX-License-Identifier: MIT
//
// place.cu - a signal inserted into a larger one on a CUDA device: a thread per word of 4 bytes of the
// output's rows where their elements are adjacent on both sides, else a thread per element.
#include "filters/geometry/place.h"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int THREADS = 256;

// The input's bounds; an unknown extent is taken as a very large one.
struct bounds {
  int64_t origin_y, origin_x, height, width;
};

template <typename E>
__global__ void __launch_bounds__(THREADS)
    place_elements(fc_dev_view in, fc_dev_view out, fc_place p, bounds b) {
  const int64_t channels = out.shape[FC_AXIS_C], row = out.shape[FC_AXIS_X] * channels;
  const int64_t rows = out.shape[FC_AXIS_N] * out.shape[FC_AXIS_Y];
  for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    const int64_t n = r / out.shape[FC_AXIS_Y], y = r % out.shape[FC_AXIS_Y], from_y = y - p.down;
    const bool inside_y = from_y + b.origin_y >= 0 && from_y + b.origin_y < b.height;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < row;
         i += static_cast<int64_t>(gridDim.x) * THREADS) {
      int64_t x = i, c = 0;
      if (channels > 1) x = i / channels, c = i % channels;
      const int64_t from_x = x - p.right;
      const bool inside = inside_y && from_x + b.origin_x >= 0 && from_x + b.origin_x < b.width;
      E code = static_cast<E>(p.codes[p.n_codes > 1 ? c : 0]);
      if (inside) code = *reinterpret_cast<const E *>(in.at(n, from_y, from_x, c));
      *reinterpret_cast<E *>(out.at(n, y, x, c)) = code;
    }
  }
}

template <typename E>
fc_status launch_place(const fc_place *p, const fc_view *in, const fc_view *out, void *stream) {
  const int64_t height = in->extent[FC_AXIS_Y], width = in->extent[FC_AXIS_X];
  const bounds b = {out->origin[FC_AXIS_Y], out->origin[FC_AXIS_X], height < 0 ? INT64_MAX : height,
                    width < 0 ? INT64_MAX : width};
  const dim3 grid(fc_blocks(out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C], THREADS, 1 << 20),
                  fc_blocks(out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y], 1, 65535));
  return fc_launch(place_elements<E>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(in), fc_dev_view_of(out),
                   *p, b);
}

// Rows of adjacent elements, in bytes. All positions are in the output.
struct rows_job {
  const char *in;
  char *out;
  int64_t in_n, in_c, in_y, out_n, out_c, out_y, rows;
  int32_t height, groups;    // rows and planes of a frame
  int32_t begin, end, bytes; // what the input covers of a row
  int32_t top, bottom;
  int32_t pixel; // bytes after which codes repeat
  uint8_t codes[FC_PLACE_CODES * 8];
};

__device__ __forceinline__ uint32_t row_byte(const rows_job &j, const char *from, bool covered, int at) {
  if (covered && at >= j.begin && at < j.end) return static_cast<uint8_t>(from[at]);
  return j.codes[at % j.pixel];
}

// A block for rows, one after the other.
__global__ void __launch_bounds__(THREADS) place_rows(const __grid_constant__ rows_job j) {
  for (int64_t r = blockIdx.x; r < j.rows; r += gridDim.x) {
    const unsigned line = static_cast<unsigned>(r), height = static_cast<unsigned>(j.height);
    const unsigned plane = line / height, groups = static_cast<unsigned>(j.groups);
    const int y = static_cast<int>(line % height);
    const bool covered = y >= j.top && y < j.bottom;
    const int64_t n = plane / groups, c = plane % groups;
    const char *from = j.in + n * j.in_n + c * j.in_c + y * j.in_y;
    char *to = j.out + n * j.out_n + c * j.out_c + y * j.out_y;
    for (int at = 4 * static_cast<int>(threadIdx.x); at < j.bytes; at += 4 * THREADS) {
      uint32_t word = 0;
      if (covered && at >= j.begin && at + 4 <= j.end) {
        const unsigned skew = static_cast<unsigned>(reinterpret_cast<uintptr_t>(from + at) & 3);
        const uint32_t *words = reinterpret_cast<const uint32_t *>(from + at - skew);
        word = __funnelshift_r(__ldg(words), skew ? __ldg(words + 1) : 0, 8 * skew);
      } else
        for (int k = 0; k < 4; k++) word |= row_byte(j, from, covered, at + k) << 8 * k;
      if (at + 4 <= j.bytes)
        *reinterpret_cast<uint32_t *>(to + at) = word;
      else
        for (int k = 0; k < j.bytes - at; k++) to[at + k] = static_cast<char>(word >> 8 * k);
    }
  }
}

int32_t within(int64_t v, int64_t most) {
  return static_cast<int32_t>(v < 0 ? 0 : v > most ? most : v);
}

// FC_UNSUPPORTED: other strides.
fc_status launch_rows(const fc_place *p, const fc_view *in, const fc_view *out, void *stream) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(out->dtype));
  const bool whole = fc_dev_is_interleaved(in) && fc_dev_is_interleaved(out);
  if (!whole && (in->stride[FC_AXIS_X] != size || out->stride[FC_AXIS_X] != size || p->n_codes > 1))
    return FC_UNSUPPORTED;
  rows_job j;
  const int64_t channels = whole ? out->shape[FC_AXIS_C] : 1, pixel = size * channels;
  const int64_t width = out->shape[FC_AXIS_X], height = out->shape[FC_AXIS_Y],
                groups = whole ? 1 : out->shape[FC_AXIS_C];
  if (channels > FC_PLACE_CODES || width * pixel > INT32_MAX / 2 ||
      height * groups * out->shape[FC_AXIS_N] > INT32_MAX)
    return FC_UNSUPPORTED;
  const int64_t starts = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out->data)) |
                         out->stride[FC_AXIS_Y] | out->stride[FC_AXIS_N] |
                         (whole ? 0 : out->stride[FC_AXIS_C]);
  if (starts % 4 != 0) return FC_UNSUPPORTED;
  j.in_n = in->stride[FC_AXIS_N], j.in_c = whole ? 0 : in->stride[FC_AXIS_C], j.in_y = in->stride[FC_AXIS_Y];
  j.out_n = out->stride[FC_AXIS_N], j.out_c = whole ? 0 : out->stride[FC_AXIS_C],
  j.out_y = out->stride[FC_AXIS_Y];
  j.in = static_cast<const char *>(in->data) - p->down * j.in_y - p->right * pixel;
  j.out = static_cast<char *>(out->data);
  j.rows = out->shape[FC_AXIS_N] * groups * height;
  j.height = static_cast<int32_t>(height), j.groups = static_cast<int32_t>(groups);
  j.bytes = static_cast<int32_t>(width * pixel), j.pixel = static_cast<int32_t>(pixel);
  // Output y is input y - down, which is position y - down + origin of the signal, as in place_elements.
  const int64_t left = p->right - out->origin[FC_AXIS_X], up = p->down - out->origin[FC_AXIS_Y];
  const int64_t right = in->extent[FC_AXIS_X] < 0 ? width : left + in->extent[FC_AXIS_X];
  const int64_t low = in->extent[FC_AXIS_Y] < 0 ? height : up + in->extent[FC_AXIS_Y];
  j.begin = within(left, width) * j.pixel, j.end = within(right, width) * j.pixel;
  j.top = within(up, height), j.bottom = within(low, height);
  for (int c = 0; c < channels; c++)
    memcpy(j.codes + c * size, &p->codes[p->n_codes > 1 ? c : 0], static_cast<size_t>(size));
  return fc_launch(place_rows, dim3(fc_blocks(j.rows, 1, 1 << 16)), dim3(THREADS), 0, stream, j);
}

} // namespace

extern "C" fc_status fc_place_cuda(const fc_place *p, const fc_view *in, const fc_view *out, void *stream) {
  if (fc_view_count(out) == 0) return FC_OK;
  const fc_status status = launch_rows(p, in, out, stream);
  if (status != FC_UNSUPPORTED) return status;
  switch (fc_dtype_size(out->dtype)) {
  case 1: return launch_place<uint8_t>(p, in, out, stream);
  case 2: return launch_place<uint16_t>(p, in, out, stream);
  case 4: return launch_place<uint32_t>(p, in, out, stream);
  default: return launch_place<uint64_t>(p, in, out, stream);
  }
}

// SPDX-License-Identifier: MIT
//
// gather.cu - copies of samples on a CUDA device. Neighbouring threads take neighbouring
// elements of the output, EACH of them a block's width apart.
#include "filters/cuda.cuh"
#include "filters/gather.h"
#include "filters/lines.h"

namespace {

constexpr int THREADS = 256;
constexpr int EACH = 4;

// How the elements of an output line are numbered.
enum numbering {
  ALIKE,      // as the input's: lines of fc_lines
  INTERLEAVED // a row of all channels, whose inputs lie elsewhere
};

// Where element i of a line comes from, given the address of the line's beginning.
struct source {
  int numbering;
  int64_t step, x_step, c_step, channels; // bytes, bytes, bytes, elements
  const int32_t *map;

  __device__ __forceinline__ int64_t offset(int64_t i) const {
    if (numbering == ALIKE) return i * step;
    int64_t x, c;
    if ((i | channels) >> 32) {
      x = i / channels, c = i % channels;
    } else {
      const uint32_t k = static_cast<uint32_t>(i), n = static_cast<uint32_t>(channels);
      x = k / n, c = k % n;
    }
    return x * x_step + (map ? map[c] : c) * c_step;
  }
};

template <typename E>
__global__ void __launch_bounds__(THREADS)
    run(fc_dev_view in, fc_dev_view out, fc_lines lines, source src, int64_t shift_y, int64_t shift_x) {
  const int64_t count = lines.frames * lines.rows * lines.channels;
  const int64_t span = static_cast<int64_t>(gridDim.x) * (THREADS * EACH);
  for (int64_t line = blockIdx.y; line < count; line += gridDim.y) {
    const int64_t c = line % lines.channels, y = line / lines.channels % lines.rows;
    const int64_t n = line / lines.channels / lines.rows;
    const int64_t from_c = src.numbering == ALIKE && src.map ? src.map[c] : c;
    const char *from = in.at(n, y + shift_y, shift_x, from_c);
    char *to = out.at(n, y, 0, c);
    for (int64_t base = blockIdx.x * static_cast<int64_t>(THREADS * EACH) + threadIdx.x; base < lines.length;
         base += span) {
      E v[EACH];
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int64_t i = base + k * THREADS;
        v[k] = i < lines.length ? *reinterpret_cast<const E *>(from + src.offset(i)) : E(0);
      }
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int64_t i = base + k * THREADS;
        if (i < lines.length) *reinterpret_cast<E *>(to + i * lines.out_step) = v[k];
      }
    }
  }
}

template <typename E>
fc_status launch(const fc_gather *g, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  fc_lines lines = fc_lines_of(in, out, !g->channels);
  source src = {
      ALIKE, lines.in_step, in->stride[FC_AXIS_X], in->stride[FC_AXIS_C], out->shape[FC_AXIS_C], g->channels};
  if (lines.channels > 1 && fc_is_interleaved(out)) {
    src.numbering = INTERLEAVED;
    lines.length *= lines.channels;
    lines.channels = 1;
    lines.out_step = sizeof(E);
  }
  const int64_t count = lines.frames * lines.rows * lines.channels;
  if (count == 0 || lines.length == 0) return FC_OK;
  const dim3 grid(fc_blocks(lines.length, THREADS * EACH, 1 << 20), fc_blocks(count, 1, 65535));
  run<E><<<grid, THREADS, 0, stream>>>(fc_dev_view_of(in), fc_dev_view_of(out), lines, src, g->shift_y,
                                       g->shift_x);
  return fc_launch_status();
}

} // namespace

extern "C" fc_status fc_gather_cuda(const fc_gather *g, const fc_view *in, const fc_view *out, void *stream) {
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  switch (fc_dtype_size(out->dtype)) {
  case 1: return launch<uint8_t>(g, in, out, s);
  case 2: return launch<uint16_t>(g, in, out, s);
  case 4: return launch<uint32_t>(g, in, out, s);
  case 8: return launch<uint64_t>(g, in, out, s);
  default: return FC_FATAL;
  }
}

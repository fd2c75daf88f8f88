// SPDX-License-Identifier: MIT
//
// gather.cu - copies of samples on a CUDA device. Neighbouring threads take neighbouring elements of the
// output; a thread has EACH of them, a block's width apart. Lines of adjacent elements whose channels keep
// their positions are copied as bytes, 16 at a time (gather_dense). Selections from a few interleaved
// channels are composed where they can be (plugins/mix.c).
#include "filters/pointwise/gather.h"
#include "filters/base/lines.h"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int EACH = 4;

// How the elements of an output line are numbered.
enum numbering {
  ALIKE,      // in the order of the input: lines of fc_lines
  INTERLEAVED // a row of all channels, whose inputs are in another order
};

// The source address of element i of a line, given the address of the line's first.
struct source {
  int numbering;
  int64_t step, x_step, c_step, channels; // in bytes; channels: a count
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
__global__ void __launch_bounds__(THREADS) gather_lines(fc_dev_view in, fc_dev_view out, fc_lines lines,
                                                        source src, int64_t shift_y, int64_t shift_x) {
  const int64_t count = lines.frames * lines.rows * lines.channels;
  const int64_t span = static_cast<int64_t>(gridDim.x) * (THREADS * EACH);
  for (int64_t line = blockIdx.y; line < count; line += gridDim.y) {
    const fc_dev_line l = fc_dev_line_of(lines, line);
    const int64_t from_c = src.numbering == ALIKE && src.map ? src.map[l.c] : l.c;
    const char *from = in.at(l.n, l.y + shift_y, shift_x, from_c);
    char *to = out.at(l.n, l.y, 0, l.c);
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

// 16 bytes from any address, by aligned words: up to three bytes before them and, unless that
// is aligned, up to three after are read.
__device__ __forceinline__ uint4 load_bytes(const char *from) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(from);
  if (address % 16 == 0) return *reinterpret_cast<const uint4 *>(from);
  const uint32_t *word = reinterpret_cast<const uint32_t *>(address - address % 4);
  const uint32_t a = word[0], b = word[1], c = word[2], d = word[3];
  if (address % 4 == 0) return make_uint4(a, b, c, d);
  const uint32_t e = word[4], bits = static_cast<uint32_t>(address % 4) * 8;
  return make_uint4(__funnelshift_r(a, b, bits), __funnelshift_r(b, c, bits), __funnelshift_r(c, d, bits),
                    __funnelshift_r(d, e, bits));
}

// Copies lines of `bytes` adjacent bytes. Stores are aligned; nothing outside the line is read.
__global__ void __launch_bounds__(THREADS) gather_dense(fc_dev_view in, fc_dev_view out, fc_lines lines,
                                                        int64_t bytes, int64_t shift_y, int64_t shift_x) {
  const int64_t count = lines.frames * lines.rows * lines.channels;
  const int64_t first = blockIdx.x * static_cast<int64_t>(THREADS * EACH) + threadIdx.x;
  const int64_t span = static_cast<int64_t>(gridDim.x) * (THREADS * EACH);
  for (int64_t line = blockIdx.y; line < count; line += gridDim.y) {
    const fc_dev_line l = fc_dev_line_of(lines, line);
    const char *from = in.at(l.n, l.y + shift_y, shift_x, l.c);
    char *to = out.at(l.n, l.y, 0, l.c);
    int64_t head = (16 - reinterpret_cast<uintptr_t>(to) % 16) % 16;
    const int64_t askew = (reinterpret_cast<uintptr_t>(from) + head) % 4;
    if (head < askew) head += 16;
    const int64_t rest = bytes - head - (askew ? 4 : 0), packs = rest > 0 ? rest / 16 : 0;
    for (int64_t base = first; base < packs; base += span) {
      uint4 v[EACH];
#pragma unroll
      for (int k = 0; k < EACH; k++)
        if (base + k * THREADS < packs) v[k] = load_bytes(from + head + (base + k * THREADS) * 16);
#pragma unroll
      for (int k = 0; k < EACH; k++)
        if (base + k * THREADS < packs)
          *reinterpret_cast<uint4 *>(to + head + (base + k * THREADS) * 16) = v[k];
    }
    if (packs == 0) head = 0;
    const int64_t edges = bytes - packs * 16, step = static_cast<int64_t>(gridDim.x) * THREADS;
    for (int64_t e = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; e < edges; e += step) {
      const int64_t i = e < head ? e : e + packs * 16;
      to[i] = from[i];
    }
  }
}

static fc_status launch_dense(const fc_gather *g, const fc_view *in, const fc_view *out,
                              const fc_lines &lines, int64_t size, cudaStream_t stream) {
  const int64_t bytes = lines.length * size, count = lines.frames * lines.rows * lines.channels;
  const dim3 grid(fc_blocks(bytes, THREADS * EACH * 16, 1 << 20), fc_blocks(count, 1, 65535));
  gather_dense<<<grid, THREADS, 0, stream>>>(fc_dev_view_of(in), fc_dev_view_of(out), lines, bytes,
                                             g->shift_y, g->shift_x);
  return fc_launch_status();
}

template <typename E>
fc_status launch(const fc_gather *g, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  fc_lines lines = fc_lines_of(in, out, !g->channels);
  const int64_t size = sizeof(E);
  if (!g->channels && lines.in_step == size && lines.out_step == size && fc_view_count(out) > 0) {
    fc_lines_merge(&lines, in, out, 1);
    return launch_dense(g, in, out, lines, size, stream);
  }
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
  gather_lines<E><<<grid, THREADS, 0, stream>>>(fc_dev_view_of(in), fc_dev_view_of(out), lines, src,
                                                g->shift_y, g->shift_x);
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

// SPDX-License-Identifier: MIT
//
// dither.cu - triangular noise on a CUDA device, bit for bit that of dither.c. Bound by memory and by the
// multiplications of 64 bits alike: where channels lie side by side a line is a row with all of them, a
// thread stays with one channel, and works out what its row and channel begin with once for its EACH samples.
#include "filters/dither.h"
#include "filters/dither_math.h"
#include "filters/lines.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int EACH = 4;

template <typename F> struct noise {
  uint64_t hash;      // of the seed
  int64_t n, y, x, c; // the place of the view's first sample in the signal
  F unit;             // of the noise's numbers
  unsigned channels;  // side by side in a line; 1: a line is of one channel
  fc_dev_map<F> in, out;
};

__device__ __forceinline__ float sum(float v, int32_t units, float unit) {
  return __fadd_rn(v, __fmul_rn(static_cast<float>(units), unit));
}
__device__ __forceinline__ double sum(double v, int32_t units, double unit) {
  return __dadd_rn(v, __dmul_rn(units, unit));
}

// A line has blockDim.x threads, a multiple of the channels, and a block blockDim.y lines.
template <typename F, typename T>
__global__ void __launch_bounds__(THREADS)
    run(fc_dev_view in, fc_dev_view out, fc_lines lines, noise<F> a, uint32_t *notes) {
  const int64_t count = lines.frames * lines.rows * lines.channels;
  // Samples of a channel side by side that a line's threads have at once, and this thread's.
  const unsigned places = blockDim.x / a.channels;
  const unsigned place = threadIdx.x / a.channels, channel = threadIdx.x - place * a.channels;
  const int64_t first = blockIdx.x * static_cast<int64_t>(blockDim.x * EACH) + threadIdx.x;
  const int64_t span = static_cast<int64_t>(gridDim.x) * (blockDim.x * EACH);
  const int64_t step = static_cast<int64_t>(gridDim.y) * blockDim.y;
  for (int64_t line = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; line < count;
       line += step) {
    const fc_dev_line l = fc_dev_line_of(lines, line);
    const char *from = in.at(l.n, l.y, 0, l.c);
    char *to = out.at(l.n, l.y, 0, l.c);
    const uint64_t hash =
        fc_dither_hash(fc_dither_hash(fc_dither_hash(a.hash, a.n + l.n), a.y + l.y), a.c + l.c + channel);
    int64_t x = a.x + static_cast<int64_t>(blockIdx.x) * (EACH * places) + place;
    for (int64_t base = first; base < lines.length;
         base += span, x += static_cast<int64_t>(gridDim.x) * (EACH * places)) {
      F v[EACH];
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int64_t i = base + k * blockDim.x;
        v[k] = i < lines.length ? fc_dev_load<F, T>(from + i * lines.in_step, a.in) : F(0);
      }
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int64_t i = base + k * blockDim.x;
        if (i >= lines.length) break;
        const int32_t units =
            fc_dither_units(hash + static_cast<uint64_t>(x + k * places) * FC_DITHER_GROWTH);
        fc_dev_store_any<F>(to + i * lines.out_step, out.dtype, sum(v[k], units, a.unit), a.out, notes);
      }
    }
  }
}

// Threads of a line: a multiple of its channels, about as many as have something to do.
unsigned threads_of(int64_t length, unsigned channels) {
  unsigned threads = channels;
  while (2 * threads <= THREADS && static_cast<int64_t>(threads) * EACH < length) threads *= 2;
  // Three channels by doubling are 192; 255 leave no warp idle.
  return static_cast<int64_t>(threads) * EACH < length ? THREADS / channels * channels : threads;
}

template <typename F, typename T>
fc_status launch(const fc_dither *d, const fc_view *in, const fc_view *out, cudaStream_t stream,
                 uint32_t *notes) {
  const int64_t channels = out->shape[FC_AXIS_C];
  const fc_lines lines = fc_lines_of(in, out, channels <= THREADS);
  const int64_t count = lines.frames * lines.rows * lines.channels;
  if (count == 0 || lines.length == 0) return FC_OK;
  const unsigned together = lines.channels == 1 ? static_cast<unsigned>(channels) : 1;
  const unsigned threads = threads_of(lines.length, together), rows = THREADS / threads;
  const noise<F> a = {fc_dither_mix(d->seed + FC_DITHER_GROWTH),
                      out->origin[FC_AXIS_N],
                      out->origin[FC_AXIS_Y],
                      out->origin[FC_AXIS_X],
                      out->origin[FC_AXIS_C],
                      static_cast<F>(d->step * 0x1p-24),
                      together,
                      fc_dev_map_of<F>(in->kind, in->dtype),
                      fc_dev_map_of<F>(out->kind, out->dtype)};
  const dim3 grid(fc_blocks(lines.length, static_cast<int64_t>(threads) * EACH, 1 << 20),
                  fc_blocks(count, rows, 65535));
  run<F, T>
      <<<grid, dim3(threads, rows), 0, stream>>>(fc_dev_view_of(in), fc_dev_view_of(out), lines, a, notes);
  return fc_launch_status();
}

} // namespace

extern "C" fc_status fc_dither_cuda(const fc_dither *d, const fc_view *in, const fc_view *out, void *stream,
                                    uint32_t *notes) {
  return fc_dispatch_compute(d->compute, [&](auto f) {
    using F = decltype(f);
    return fc_dispatch_dtype(in->dtype, [&](auto t) {
      return launch<F, decltype(t)>(d, in, out, static_cast<cudaStream_t>(stream), notes);
    });
  });
}

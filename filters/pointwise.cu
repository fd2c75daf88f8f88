// SPDX-License-Identifier: MIT
//
// pointwise.cu - operations on each sample by itself on a CUDA device. Bound by memory: a
// thread makes EACH outputs a block's width apart, so that loads are coalesced
// and several are in flight. Multiplications and additions round one by one, as on the CPU.
#include "filters/cuda.cuh"
#include "filters/lines.h"
#include "filters/pointwise.h"

namespace {

constexpr int THREADS = 256;
constexpr int EACH = 4;

__device__ __forceinline__ float multiply(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double multiply(double a, double b) {
  return __dmul_rn(a, b);
}
__device__ __forceinline__ float add(float a, float b) {
  return __fadd_rn(a, b);
}
__device__ __forceinline__ double add(double a, double b) {
  return __dadd_rn(a, b);
}

template <typename F> struct operation {
  int form;
  F from, factor, to, low, high;
  const F *factors, *frames;
  int64_t group; // interleaved channels with a factor each: their number; else 1

  __device__ __forceinline__ F apply(F v) const {
    switch (form) {
    case FC_POINTWISE_SCALE: return multiply(v, factor);
    case FC_POINTWISE_MAP: return add(multiply(add(v, -from), factor), to);
    case FC_POINTWISE_CLAMP: return v < low ? low : v > high ? high : v;
    default: return v;
    }
  }
};

template <typename F> operation<F> operation_of(const fc_pointwise *p, int64_t group) {
  operation<F> o = {p->form,
                    static_cast<F>(p->from),
                    static_cast<F>(p->factor),
                    static_cast<F>(p->to),
                    static_cast<F>(p->low),
                    static_cast<F>(p->high),
                    p->form == FC_POINTWISE_SCALE ? static_cast<const F *>(p->factors) : nullptr,
                    p->form == FC_POINTWISE_MAP ? static_cast<const F *>(p->frames) : nullptr,
                    group};
  return o;
}

// i % group; lines of more than 2^32 elements are rare, and 64-bit remainders slow.
__device__ __forceinline__ int64_t place_in_group(int64_t i, int64_t group) {
  if ((i | group) >> 32) return i % group;
  return static_cast<uint32_t>(i) % static_cast<uint32_t>(group);
}

template <typename F, typename T>
__global__ void __launch_bounds__(THREADS)
    run(fc_dev_view in, fc_dev_view out, fc_lines lines, operation<F> op, fc_dev_map<F> in_map,
        fc_dev_map<F> out_map, uint32_t *notes) {
  const int64_t count = lines.frames * lines.rows * lines.channels;
  const int64_t span = static_cast<int64_t>(gridDim.x) * (THREADS * EACH);
  for (int64_t line = blockIdx.y; line < count; line += gridDim.y) {
    const int64_t c = line % lines.channels, y = line / lines.channels % lines.rows;
    const int64_t n = line / lines.channels / lines.rows;
    const char *from = in.at(n, y, 0, c);
    char *to = out.at(n, y, 0, c);
    operation<F> mine = op;
    if (op.factors && op.group == 1) mine.factor = op.factors[c];
    if (op.frames) mine.from = op.frames[2 * n], mine.factor = op.frames[2 * n + 1];
    for (int64_t base = blockIdx.x * static_cast<int64_t>(THREADS * EACH) + threadIdx.x; base < lines.length;
         base += span) {
      F v[EACH];
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int64_t i = base + k * THREADS;
        v[k] = i < lines.length ? fc_dev_load<F, T>(from + i * lines.in_step, in_map) : F(0);
      }
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int64_t i = base + k * THREADS;
        if (i >= lines.length) break;
        if (op.group > 1) mine.factor = op.factors[place_in_group(i, op.group)];
        fc_dev_store_any<F>(to + i * lines.out_step, out.dtype, mine.apply(v[k]), out_map, notes);
      }
    }
  }
}

template <typename F, typename T>
fc_status launch(const fc_pointwise *p, const fc_view *in, const fc_view *out, cudaStream_t stream,
                 uint32_t *notes) {
  const fc_lines lines = fc_lines_of(in, out, 1);
  const int64_t count = lines.frames * lines.rows * lines.channels;
  if (count == 0 || lines.length == 0) return FC_OK;
  const bool varies = p->form == FC_POINTWISE_SCALE && p->factors;
  const bool together = lines.channels == 1 && out->shape[FC_AXIS_C] > 1;
  const dim3 grid(fc_blocks(lines.length, THREADS * EACH, 1 << 20), fc_blocks(count, 1, 65535));
  run<F, T><<<grid, THREADS, 0, stream>>>(fc_dev_view_of(in), fc_dev_view_of(out), lines,
                                          operation_of<F>(p, varies && together ? out->shape[FC_AXIS_C] : 1),
                                          fc_dev_map_of<F>(in->kind, in->dtype),
                                          fc_dev_map_of<F>(out->kind, out->dtype), notes);
  return fc_launch_status();
}

} // namespace

extern "C" fc_status fc_pointwise_cuda(const fc_pointwise *p, const fc_view *in, const fc_view *out,
                                       void *stream, uint32_t *notes) {
  return fc_dispatch_compute(p->compute, [&](auto f) {
    using F = decltype(f);
    return fc_dispatch_dtype(in->dtype, [&](auto t) {
      return launch<F, decltype(t)>(p, in, out, static_cast<cudaStream_t>(stream), notes);
    });
  });
}

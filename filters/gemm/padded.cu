// SPDX-License-Identifier: MIT
//
// padded.cu - products of matrices with any alignment: their lines are first copied to multiples of 16 bytes,
// which the copy engine of sm_90 requires (tma.cuh).
#include "filters/gemm/result.cuh"
#include "filters/gemm/tma.cuh"

namespace {

constexpr int THREADS = 256;

// fc_gemm_lines with their addresses.
template <typename F> struct lines {
  const F *from;
  F *to;
  int64_t count, length, pitch, step, pitch_to;
};

// Elements that a lane and a warp copy at a time. All are read before any is written, so that the reads
// overlap.
constexpr int EACH = 8, STRETCH = 32 * EACH;

template <typename F> __host__ __device__ int64_t stretches(const lines<F> &l) {
  return l.count * ((l.length + STRETCH - 1) / STRETCH);
}

template <typename F> __device__ void copy_stretch(const lines<F> &l, int64_t stretch) {
  const int64_t of_line = (l.length + STRETCH - 1) / STRETCH, i = stretch / of_line;
  const int64_t first = (stretch - i * of_line) * STRETCH + threadIdx.x % 32;
  const F *from = l.from + i * l.pitch;
  F *to = l.to + i * l.pitch_to, v[EACH];
#pragma unroll
  for (int u = 0; u < EACH; u++)
    if (first + 32 * u < l.length) v[u] = from[(first + 32 * u) * l.step];
#pragma unroll
  for (int u = 0; u < EACH; u++)
    if (first + 32 * u < l.length) to[first + 32 * u] = v[u];
}

template <typename F>
__global__ void __launch_bounds__(THREADS) gemm_pad(const lines<F> a, const lines<F> b) {
  const int64_t of_a = stretches(a), all = of_a + stretches(b);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * (THREADS / 32);
  for (int64_t s = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) / 32; s < all; s += stride)
    if (s < of_a)
      copy_stretch(a, s);
    else
      copy_stretch(b, s - of_a);
}

template <typename F> lines<F> lines_of(const fc_gemm_lines &l, char *scratch) {
  return {static_cast<const F *>(l.from),
          reinterpret_cast<F *>(scratch + l.at),
          l.count,
          l.length,
          l.pitch,
          l.step,
          l.pitch_to};
}

template <typename F> fc_status multiply(const fc_gemm *given, char *scratch, cudaStream_t stream) {
  fc_gemm g = *given;
  const fc_gemm_padding p = fc_gemm_padding_of(given);
  const lines<F> a = lines_of<F>(p.a, scratch), b = lines_of<F>(p.b, scratch);
  if (a.count > 0) g.a = a.to, g.a_row = p.a.by_k ? a.pitch_to : 1, g.a_col = p.a.by_k ? 1 : a.pitch_to;
  if (b.count > 0) g.b = b.to, g.b_col = p.b.by_k ? b.pitch_to : 1, g.b_row = p.b.by_k ? 1 : b.pitch_to;
  const int64_t all = stretches(a) + stretches(b);
  gemm_pad<F><<<fc_blocks(all, THREADS / 32, INT32_MAX), THREADS, 0, stream>>>(a, b);
  const fc_status status = fc_launch_status();
  return status == FC_OK ? fc_gemm_cuda(&g, stream) : status;
}

} // namespace

extern "C" fc_status fc_gemm_padded_cuda(const fc_gemm *g, void *scratch, void *stream) {
  const fc_status status = fc_gemm_check(g);
  const fc_gemm_chip chip = fc_gemm_chip_now();
  if (status != FC_OK) return status;
  if (chip.major != 9 || fc_gemm_padded_scratch(g) == 0) return fc_gemm_cuda(g, stream);
  return fc_dispatch_compute(g->type, [&](auto f) {
    return multiply<decltype(f)>(g, static_cast<char *>(scratch), static_cast<cudaStream_t>(stream));
  });
}

// SPDX-License-Identifier: MIT
//
// padded.cu - products of matrices with any alignment: their lines are first copied to multiples of 16 bytes,
// which the copy engine of sm_90 requires (tma.cuh).
#include "filters/gemm/tma.cuh"

namespace {

constexpr int THREADS = 256;

// `count` lines of `length` elements. In the source, elements are `step` and lines `pitch` apart; in the copy
// elements are adjacent and lines pitch_to apart.
template <typename F> struct lines {
  const F *from;
  F *to;
  int64_t count, length, pitch, step, pitch_to;
  bool by_k;
  // Distances in the copy: between rows (columns) of the operand, and along k.
  int64_t across(void) const { return by_k ? pitch_to : 1; }
  int64_t along(void) const { return by_k ? 1 : pitch_to; }
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

// The lines of one operand, none if it can be read as it is. If elements are adjacent neither along k nor
// across, the copy is adjacent along k.
template <typename F> lines<F> lines_of(const fc_tma_operand<F> &o, int64_t k) {
  constexpr int64_t WHOLE = 32;
  const bool by_k = o.across != 1 || o.by_k();
  lines<F> l = {o.data, nullptr, 0, by_k ? k : o.limit, by_k ? o.across : o.along, by_k ? o.along : o.across,
                0,      by_k};
  l.pitch_to = (l.length + WHOLE - 1) / WHOLE * WHOLE;
  l.count = o.readable() ? 0 : by_k ? o.limit : k;
  return l;
}

template <typename F> struct plan {
  lines<F> a, b;
  size_t bytes_a(void) const { return static_cast<size_t>(a.count * a.pitch_to) * sizeof(F); }
  size_t bytes_b(void) const { return static_cast<size_t>(b.count * b.pitch_to) * sizeof(F); }
};
template <typename F> plan<F> plan_of(const fc_gemm *g) {
  fc_tma_operand<F> a, b;
  fc_tma_result<F> c;
  (void)fc_tma_operands(g, &a, &b, &c);
  return {lines_of(a, g->k), lines_of(b, g->k)};
}

template <typename F> size_t scratch_of(const fc_gemm *g) {
  const plan<F> p = plan_of<F>(g);
  return p.bytes_a() + p.bytes_b();
}

template <typename F> fc_status multiply(const fc_gemm *given, char *scratch, cudaStream_t stream) {
  fc_gemm g = *given;
  plan<F> p = plan_of<F>(given);
  p.a.to = reinterpret_cast<F *>(scratch), p.b.to = reinterpret_cast<F *>(scratch + p.bytes_a());
  if (p.a.count > 0) g.a = p.a.to, g.a_row = p.a.across(), g.a_col = p.a.along();
  if (p.b.count > 0) g.b = p.b.to, g.b_col = p.b.across(), g.b_row = p.b.along();
  const int64_t all = stretches(p.a) + stretches(p.b);
  gemm_pad<F><<<fc_blocks(all, THREADS / 32, INT32_MAX), THREADS, 0, stream>>>(p.a, p.b);
  const fc_status status = fc_launch_status();
  return status == FC_OK ? fc_gemm_cuda(&g, stream) : status;
}

// Whether copying pays: in small products each element is used too few times.
bool gains(const fc_gemm *g) {
  return fc_gemm_check(g) == FC_OK && g->alpha != 0 && g->m >= 128 && g->n >= 128 && g->k >= 128;
}

} // namespace

extern "C" size_t fc_gemm_padded_scratch(const fc_gemm *g) {
  if (!gains(g)) return 0;
  return g->type == FC_F64 ? scratch_of<double>(g) : scratch_of<float>(g);
}

extern "C" fc_status fc_gemm_padded_cuda(const fc_gemm *g, void *scratch, void *stream) {
  if (fc_gemm_padded_scratch(g) == 0) return fc_gemm_cuda(g, stream);
  return fc_dispatch_compute(g->type, [&](auto f) {
    return multiply<decltype(f)>(g, static_cast<char *>(scratch), static_cast<cudaStream_t>(stream));
  });
}

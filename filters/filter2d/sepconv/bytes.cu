// SPDX-License-Identifier: MIT
//
// bytes.cu - separable filters of u8 images in bands (band.cuh): horizontal sums by the integer matrix units
// (digits.cuh), vertical sums by multiply-adds. Short masks are also computed by quads_bytes.cu.
//
// Vertically, a kernel of N rows is used for all masks of fewer, zero-padded; rows beyond the mask's are not
// loaded, and their place in shared memory holds some finite values. If rows begin at different offsets
// within a word (RAGGED), each offset has its own matrix.
#include "filters/filter2d/sepconv/band.cuh"
#include "filters/filter2d/sepconv/digits.cuh"

namespace {

// Rows per batch; batches in shared memory; groups of 512 columns, 4 per thread: as many as registers allow,
// since they share a row's cost other than its sums; and the minimum of resident blocks per multiprocessor,
// which limits the registers per thread.
template <int N, bool RAGGED> struct layout_of {
  static constexpr int rows = N >= 23 || (RAGGED && N <= 7) ? 4 : 8, stages = 4;
  static constexpr int groups = N <= (RAGGED ? 7 : 9) ? 2 : 1;
  static constexpr int blocks = N <= 3              ? 5
                                : N <= 7            ? (RAGGED ? 4 : 3)
                                : N == 9 || N >= 19 ? (N == 31 ? 2 : 3)
                                : RAGGED            ? 5
                                                    : 4;
};

template <int N> struct taps_of {
  fc_byte_taps along;
  float y[N];
};

// Adds a row to the sums it contributes to: tap j to that of the output j rows above.
template <int N, int KS, int G, int SUMS>
__device__ __forceinline__ void scatter(int u, const taps_of<N> &t, const uint32_t *row,
                                        const fc_fragment<KS> &f, float4 (&sum)[SUMS][G]) {
#pragma unroll
  for (int g = 0; g < G; g++) {
    const float4 v = fc_sum_bytes<KS>(row + g * (FC_BAND_WIDTH / 4), f);
#pragma unroll
    for (int j = 0; j < N; j++) {
      float4 &s = sum[u + N - 1 - j][g];
      s.x = fmaf(t.y[j], v.x, s.x), s.y = fmaf(t.y[j], v.y, s.y);
      s.z = fmaf(t.y[j], v.z, s.z), s.w = fmaf(t.y[j], v.w, s.w);
    }
  }
}

// WHOLE: the band has all its columns and, unless rows are RAGGED, pairs of outputs lie at even addresses.
template <int N, int KS, bool RAGGED, bool WHOLE>
__device__ __forceinline__ void march(const fc_band &b, const taps_of<N> &t, const fc_band_way &way,
                                      const fc_digits<KS> &all, uint32_t *memory) {
  constexpr int BATCH = layout_of<N, RAGGED>::rows, G = layout_of<N, RAGGED>::groups, SUMS = N - 1 + BATCH;
  const int lane = threadIdx.x % 32, end = way.count + N - 1;
  const fc_place p = fc_place_of<G>(b, way.width);
  // Rows beyond the mask's are not loaded.
  fc_band_ring<1, BATCH, layout_of<N, RAGGED>::stages, G, RAGGED ? FC_BAND_RAGGED : FC_BAND_WORDS, true> ring(
      b, way, way.count + b.rows_down - 1, memory);
  const uint32_t at = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(way.in));
  fc_fragment<KS> f;
  fc_load_digits(all, at % 4, f);
  const int column = (RAGGED ? 0 : ring.skip(at)) + threadIdx.x / 32 * 32 + lane / 4 * 2 + lane % 4 * 2;
  float4 sum[SUMS][G];
#pragma unroll
  for (int i = 0; i < SUMS * G; i++) sum[i / G][i % G] = make_float4(0, 0, 0, 0);
  char *to = way.out + p.column - (N - 1) * b.out_row;
  uint32_t seen = FC_BYTE_ZERO;
#pragma unroll 1
  for (int q = -BATCH * static_cast<int>(ring.early()); q < end; q += BATCH) {
    const uint32_t *rows = ring.turn(b, way) + column;
    if (q < 0) continue;
    const uint32_t places = RAGGED ? ring.places(b) : 0;
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      const uint32_t place = places >> 4 * u & 15;
      if (RAGGED) fc_load_digits(all, place % 4, f);
      scatter<N, KS, G, SUMS>(u, t, rows + u * b.pitch + place / 4, f, sum);
      const bool is_output = static_cast<uint32_t>(q + u - (N - 1)) < static_cast<uint32_t>(way.count);
      if (WHOLE)
        fc_store_whole<G, !RAGGED>(is_output, to, sum[u], seen);
      else if (is_output)
        fc_store_bytes<G>(p, to, sum[u], seen);
    }
#pragma unroll
    for (int i = 0; i < SUMS * G; i++)
      sum[i / G][i % G] = i / G < N - 1 ? sum[i / G + BATCH][i % G] : make_float4(0, 0, 0, 0);
  }
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(b.notes, 1);
}

template <int N, int KS, bool RAGGED>
__global__ void __launch_bounds__(FC_BAND_THREADS, (layout_of<N, RAGGED>::blocks))
    sepconv_bytes_band(const __grid_constant__ fc_band b, const __grid_constant__ taps_of<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  fc_digits<KS> &all = *reinterpret_cast<fc_digits<KS> *>(memory);
  fc_make_digits<KS>(t.along, all);
  __syncthreads();
  const fc_band_way way = fc_band_begin<1, layout_of<N, RAGGED>::groups>(b);
  if ((RAGGED || b.wide) && way.width == layout_of<N, RAGGED>::groups * FC_BAND_WIDTH)
    march<N, KS, RAGGED, true>(b, t, way, all, memory + sizeof all / 4);
  else
    march<N, KS, RAGGED, false>(b, t, way, all, memory + sizeof all / 4);
#endif
}

// ---- launching -------------------------------------------------------------

template <int N, int KS, bool RAGGED>
fc_status launch(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  using layout = layout_of<N, RAGGED>;
  const auto kernel = sepconv_bytes_band<N, KS, RAGGED>;
  if (!fc_has_units(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  taps_of<N> t = {};
  const int exponent = fc_read_bytes_taps(op, m.step, &t.along);
  for (int64_t j = 0; j < op->ny; j++) t.y[j] = ldexpf(static_cast<const float *>(op->y)[j], -exponent);
  fc_band b = fc_bytes_band_of(op, m, layout::groups);
  b.overlap = m.columns >= layout::groups * FC_BAND_WIDTH && (RAGGED || m.columns % 2 == 0);
  const int bytes = static_cast<int>(sizeof(fc_digits<KS>)) + 4 * layout::stages * layout::rows * b.pitch;
  return fc_band_launch(kernel, b, m, t, bytes, op->ny, stream);
}

// Selects the kernel with the smallest available N that is at least the mask's rows.
template <int KS, bool RAGGED, int... N>
fc_status choose(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  fc_status status = FC_UNSUPPORTED;
  (void)((op->ny <= N && (status = launch<N, KS, RAGGED>(op, m, stream), true)) || ...);
  return status;
}

fc_status run_ragged(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  switch (fc_digit_steps(m)) {
  case 1: return choose<1, true, 7, 15, 31>(op, m, stream);
  case 2: return choose<2, true, 7, 15, 31>(op, m, stream);
  case 3: return choose<3, true, 7, 15, 31>(op, m, stream);
  case 4: return choose<4, true, 7, 31>(op, m, stream);
  case FC_DIGIT_STEPS: return choose<FC_DIGIT_STEPS, true, 31>(op, m, stream);
  default: return FC_UNSUPPORTED;
  }
}

// Fewer kernels for wider windows, which seldom have few rows.
fc_status run(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  switch (fc_digit_steps(m)) {
  case 1: return choose<1, false, 3, 5, 7, 9, 11, 15, 19, 23, 31>(op, m, stream);
  case 2: return choose<2, false, 7, 9, 11, 15, 19, 23, 31>(op, m, stream);
  case 3: return choose<3, false, 7, 15, 23, 31>(op, m, stream);
  case 4: return choose<4, false, 7, 15, 31>(op, m, stream);
  case FC_DIGIT_STEPS: return choose<FC_DIGIT_STEPS, false, 31>(op, m, stream);
  default: return FC_UNSUPPORTED;
  }
}

} // namespace

// Parts of images that are one pixel wide too: the tiles' sums differ in their bits from those of digits.cuh.
fc_status fc_sepconv_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  return fc_band_steps(m) % 4 == 0 ? run(op, m, stream) : run_ragged(op, m, stream);
}

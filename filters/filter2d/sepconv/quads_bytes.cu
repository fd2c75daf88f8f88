// SPDX-License-Identifier: MIT
//
// quads_bytes.cu - as bytes.cu, for short masks, whose horizontal sums are those of quads.cuh. If rows of
// inputs or of outputs begin at different offsets within a word (RAGGED), the words of windows are shifted
// to the offset that the matrix is made for, and those of outputs to their address.
//
// Vertically, a kernel of N rows is used for all masks of fewer, zero-padded; rows beyond the mask's are not
// loaded, and their place in shared memory holds some finite values.
#include "filters/filter2d/sepconv/band.cuh"
#include "filters/filter2d/sepconv/quads.cuh"

namespace {

constexpr int GROUPS = 2; // groups of 512 columns

// Rows per batch; batches in shared memory; minimum of resident blocks per multiprocessor, which limits the
// registers per thread.
template <int N> struct layout_of { static constexpr int rows = 4, stages = 4, blocks = N <= 3 ? 6 : 4; };

template <int N> struct taps_of {
  fc_byte_taps along;
  float y[N];
};

// Adds a row to the sums it contributes to: tap j to that of the output j rows above.
template <int N, int SUMS>
__device__ __forceinline__ void scatter(int u, const taps_of<N> &t, const float4 (&v)[GROUPS],
                                        float4 (&sum)[SUMS][GROUPS]) {
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
#pragma unroll
    for (int j = 0; j < N; j++) fc_fma4(t.y[j], v[g].x, v[g].y, v[g].z, v[g].w, sum[u + N - 1 - j][g]);
}

template <int N, bool RAGGED, bool WHOLE>
__device__ __forceinline__ void march(const fc_band &b, const taps_of<N> &t, const fc_band_way &way,
                                      const fc_quads_digits &all, uint32_t *memory) {
  constexpr int BATCH = layout_of<N>::rows, SUMS = N - 1 + BATCH;
  const int end = way.count + N - 1;
  const uint32_t inside = fc_quads_inside(way.width);
  // Rows beyond the mask's are not loaded.
  fc_band_ring<1, BATCH, layout_of<N>::stages, GROUPS, RAGGED ? FC_BAND_RAGGED : FC_BAND_WORDS> ring(
      b, way, way.count + b.rows_down - 1, memory);
  const uint32_t at = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(way.in));
  fc_quads_fragment f;
  fc_quads_load(all, f);
  const int word = (RAGGED ? 0 : ring.skip(at)) + fc_quads_word();
  float4 sum[SUMS][GROUPS];
#pragma unroll
  for (int i = 0; i < SUMS * GROUPS; i++) sum[i / GROUPS][i % GROUPS] = make_float4(0, 0, 0, 0);
  char *to = way.out + fc_quads_column() - (N - 1) * b.out_row;
  uint32_t seen = FC_BYTE_ZERO;
#pragma unroll 1
  for (int q = -BATCH * static_cast<int>(ring.early()); q < end; q += BATCH) {
    const uint32_t *rows = ring.turn(b, way) + word;
    if (q < 0) continue;
    const uint32_t places = RAGGED ? ring.places(b) : 0;
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      const uint32_t place = places >> 4 * u & 15;
      float4 v[GROUPS];
      fc_quads_sum<RAGGED>(rows + u * b.pitch + place / 4, place % 4 * 8, f, v);
      scatter<N, SUMS>(u, t, v, sum);
      const bool is_output = static_cast<uint32_t>(q + u - (N - 1)) < static_cast<uint32_t>(way.count);
      if (WHOLE)
        fc_quads_store<RAGGED>(is_output, to, sum[u], seen);
      else if (is_output)
        fc_quads_store_some(to, inside, sum[u], seen);
    }
#pragma unroll
    for (int i = 0; i < SUMS * GROUPS; i++)
      sum[i / GROUPS][i % GROUPS] =
          i / GROUPS < N - 1 ? sum[i / GROUPS + BATCH][i % GROUPS] : make_float4(0, 0, 0, 0);
  }
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(b.notes, 1);
}

template <int N, bool RAGGED>
__global__ void __launch_bounds__(FC_BAND_THREADS, (layout_of<N>::blocks))
    sepconv_quads_bytes_band(const __grid_constant__ fc_band b, const __grid_constant__ taps_of<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ fc_quads_digits all;
  fc_quads_make(t.along, RAGGED ? 0 : static_cast<int>(reinterpret_cast<uintptr_t>(b.in) % 4), all);
  __syncthreads();
  const fc_band_way way = fc_band_begin<1, GROUPS>(b);
  if (way.width == GROUPS * FC_BAND_WIDTH)
    march<N, RAGGED, true>(b, t, way, all, memory);
  else
    march<N, RAGGED, false>(b, t, way, all, memory);
#endif
}

template <int N, bool RAGGED>
fc_status launch(const fc_sepconv *op, const fc_march &m, const fc_band &b, cudaStream_t stream) {
  const auto kernel = sepconv_quads_bytes_band<N, RAGGED>;
  if (!fc_has_units(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  taps_of<N> t = {};
  const int exponent = fc_read_bytes_taps(op, m.step, &t.along);
  for (int64_t j = 0; j < op->ny; j++) t.y[j] = ldexpf(static_cast<const float *>(op->y)[j], -exponent);
  const int rows = layout_of<N>::stages * layout_of<N>::rows;
  return fc_band_launch(kernel, b, m, t, 4 * rows * b.pitch, op->ny, stream);
}

} // namespace

fc_status fc_sepconv_quads_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  fc_band b = fc_bytes_band_of(op, m, GROUPS, fc_digit_steps(m));
  const bool ragged = fc_band_steps(m) % 4 != 0 || fc_quads_ragged(m);
  b.overlap = m.columns >= GROUPS * FC_BAND_WIDTH;
  if (!ragged) return launch<7, false>(op, m, b, stream);
  return op->ny <= 3 ? launch<3, true>(op, m, b, stream) : launch<7, true>(op, m, b, stream);
}

// SPDX-License-Identifier: MIT
//
// bytes.cu - separable filters of u8 images in bands (band.cuh): horizontal sums by the integer matrix units
// (digits.cuh), vertical sums by multiply-adds. Short masks are also computed by quads_bytes.cu.
//
// Vertically, a kernel of N rows is used for all masks of fewer, zero-padded; rows beyond the mask's are not
// loaded, and their place in shared memory holds some finite values. Most kernels store pairs of whole bands.
// RAGGED ones serve everything else: rows that begin at different offsets within a word, of which each has
// its own matrix; narrow images; and outputs at odd addresses.
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

// RAGGED: of the bytes of a row of sums, stores those whose bits in `inside` are set.
template <int G>
__device__ __forceinline__ void store_inside(uint32_t inside, char *row, const float4 (&sum)[G],
                                             uint32_t &seen) {
  uint32_t code[4 * G];
  fc_round_sums<G>(sum, code);
#pragma unroll
  for (int i = 0; i < 4 * G; i++)
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 ".reg .b32 bit;\n"
                 "and.b32 bit, %1, %2;\n"
                 "setp.ne.u32 p, bit, 0;\n"
                 "@p or.b32 %0, %0, %3;\n"
                 "@p st.global.u8 [%4], %5;\n"
                 "}"
                 : "+r"(seen)
                 : "r"(inside), "r"(1 << i), "r"(code[i]), "l"(row + fc_column_of(i)),
                   "r"(fc_bytes_of(code[i], FC_BYTE_ZERO))
                 : "memory");
}

template <int N, int KS, bool RAGGED>
__global__ void __launch_bounds__(FC_BAND_THREADS, (layout_of<N, RAGGED>::blocks))
    sepconv_bytes_band(const __grid_constant__ fc_band b, const __grid_constant__ taps_of<N> t) {
#if __CUDA_ARCH__ >= 800
  constexpr int BATCH = layout_of<N, RAGGED>::rows, G = layout_of<N, RAGGED>::groups, SUMS = N - 1 + BATCH;
  extern __shared__ __align__(16) uint32_t memory[];
  fc_digits<KS> &all = *reinterpret_cast<fc_digits<KS> *>(memory);
  fc_make_digits<KS>(t.along, all);
  __syncthreads();
  const fc_band_way way = fc_band_begin<1, G>(b);
  const int lane = threadIdx.x % 32, end = way.count + N - 1;
  const uint32_t inside = RAGGED ? fc_columns_inside<G>(way.width) : 0;
  // Rows beyond the mask's are not loaded.
  fc_band_ring<1, BATCH, layout_of<N, RAGGED>::stages, G, RAGGED ? FC_BAND_RAGGED : FC_BAND_WORDS> ring(
      b, way, way.count + b.rows_down - 1, memory + sizeof all / 4);
  const uint32_t at = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(way.in));
  fc_fragment<KS> f;
  fc_load_digits(all, at % 4, f);
  const int column = (RAGGED ? 0 : ring.skip(at)) + threadIdx.x / 32 * 32 + lane / 4 * 2 + lane % 4 * 2;
  float4 sum[SUMS][G];
#pragma unroll
  for (int i = 0; i < SUMS * G; i++) sum[i / G][i % G] = make_float4(0, 0, 0, 0);
  char *to = way.out + fc_first_column() - (N - 1) * b.out_row;
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
      if (RAGGED)
        store_inside<G>(is_output ? inside : 0, to, sum[u], seen);
      else
        fc_store_whole<G>(is_output, to, sum[u], seen);
    }
#pragma unroll
    for (int i = 0; i < SUMS * G; i++)
      sum[i / G][i % G] = i / G < N - 1 ? sum[i / G + BATCH][i % G] : make_float4(0, 0, 0, 0);
  }
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(b.notes, 1);
#endif
}

// ---- launching -------------------------------------------------------------

// FC_UNSUPPORTED if the mask is larger, or the images are not those that the kernel is for.
template <int N_, int KS_, bool RAGGED_> struct kernel_of {
  static constexpr int N = N_, KS = KS_;
  static constexpr bool RAGGED = RAGGED_;
};
template <class K> fc_status launch(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  using layout = layout_of<K::N, K::RAGGED>;
  if (op->ny > K::N || fc_digit_steps(m) > K::KS) return FC_UNSUPPORTED;
  fc_band b = fc_bytes_band_of(op, m, layout::groups, K::KS);
  b.overlap = m.columns >= layout::groups * FC_BAND_WIDTH && (K::RAGGED || m.columns % 2 == 0);
  if (!K::RAGGED && !(b.overlap && b.wide && fc_band_steps(m) % 4 == 0)) return FC_UNSUPPORTED;
  const auto kernel = sepconv_bytes_band<K::N, K::KS, K::RAGGED>;
  if (!fc_has_units(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  taps_of<K::N> t = {};
  const int exponent = fc_read_bytes_taps(op, m.step, &t.along);
  for (int64_t j = 0; j < op->ny; j++) t.y[j] = ldexpf(static_cast<const float *>(op->y)[j], -exponent);
  const int bytes = static_cast<int>(sizeof(fc_digits<K::KS>)) + 4 * layout::stages * layout::rows * b.pitch;
  return fc_band_launch(kernel, b, m, t, bytes, op->ny, stream);
}

template <class... K> fc_status run(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  fc_status status = FC_UNSUPPORTED;
  (void)(((status = launch<K>(op, m, stream)) != FC_UNSUPPORTED) || ...);
  return status;
}

template <int N, int KS> using whole = kernel_of<N, KS, false>;
template <int N, int KS> using ragged = kernel_of<N, KS, true>;

} // namespace

// Parts of images that are one pixel wide too: the tiles' sums differ in their bits from those of digits.cuh.
// The first that takes them, of those that square masks on one to four channels need, and wide ones of few
// rows: 10 x 4 of RGB in odd rows by 15 rows 73 us, by 7 48. Images narrower than two groups by one of a
// single group. Masks of 17 to 31 rows and one step take two: three products more a row.
fc_status fc_sepconv_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  return run<whole<3, 1>, whole<5, 1>, whole<7, 1>, whole<9, 1>, whole<11, 1>, whole<15, 1>, whole<7, 2>,
             whole<9, 2>, whole<11, 2>, whole<15, 2>, whole<19, 2>, whole<23, 2>, whole<31, 2>, whole<7, 3>,
             whole<15, 3>, whole<23, 3>, whole<31, 3>, whole<31, 4>, ragged<7, 1>, ragged<15, 1>,
             ragged<7, 2>, ragged<15, 2>, ragged<31, 2>, ragged<7, 3>, ragged<15, 3>, ragged<31, 3>,
             ragged<31, FC_DIGIT_STEPS>>(op, m, stream);
}

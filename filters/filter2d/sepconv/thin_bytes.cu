// SPDX-License-Identifier: MIT
//
// thin_bytes.cu - separable filters of u8 images of few rows (sepconv/thin.cuh): as thin.cu, with the
// horizontal sums of bytes.cu. Each block processes several bands, since preparing the digits of the taps
// takes as long as a band. A kernel of N rows is used for all masks of fewer, zero-padded. Short masks march
// over the rows of windows (quads.cuh): summing a row horizontally again is cheaper for them than keeping
// its sums.
#include "filters/filter2d/conv2d/line_bytes.cuh"
#include "filters/filter2d/sepconv/thin.cuh"
#include "filters/filter2d/sepconv/band.cuh"
#include "filters/filter2d/sepconv/quads.cuh"

namespace {

constexpr int FETCHED = 2; // groups of 512 columns, loaded together

template <int N> struct taps {
  fc_byte_taps along;
  uint32_t bands; // of all images
  float y[N];
};

// The offset of the row within a word.
__device__ __forceinline__ uint32_t shift_of(const char *row) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row)) % 4;
}

// Words of all rows, including the constant's.
__host__ __device__ inline int rows_words(const fc_band &b) {
  return (b.edges.height + 1) * b.pitch;
}

// Begins to copy the rows, keeping their offset within a word, and stores a row of the constant after them:
// by whole words if all of them may be read, otherwise by bytes.
[[maybe_unused]] __device__ __forceinline__ void fetch(const fc_band &b, const fc_band_way &way,
                                                       uint32_t *rows) {
  const int n = way.width + b.margin, height = b.edges.height;
  const bool inner = way.lo <= -3 && way.hi >= n + 3;
  const char *row = way.in + b.edges.up * b.in_row;
  for (int r = 0; r < height; r++, row += b.in_row, rows += b.pitch) {
    const int shift = static_cast<int>(shift_of(row));
    for (int i = threadIdx.x; inner && i < (shift + n + 3) / 4; i += FC_BAND_THREADS)
      fc_copy_word(rows + i, row - shift + 4 * i);
    for (int j = threadIdx.x; !inner && j < n; j += FC_BAND_THREADS) {
      const int from = j >= way.lo && j < way.hi ? j : fc_band_element(b.edges, way.x, j);
      reinterpret_cast<uint8_t *>(rows)[shift + j] =
          static_cast<uint8_t>(from == FC_BAND_CONSTANT ? b.edges.code : static_cast<uint8_t>(row[from]));
    }
  }
  fc_commit_copies();
  if (!fc_thin_constant(b)) return;
  for (int i = threadIdx.x; i < b.pitch; i += FC_BAND_THREADS) rows[i] = b.edges.code;
}

// Sums the group of columns from `first` on. Horizontally to `along`, each thread its own columns;
// vertically, row q of the windows is multiplied with tap q - y for output y.
template <int N, int KS>
__device__ __forceinline__ void filter(const fc_band &b, const fc_band_way &way, const taps<N> &t,
                                       const fc_digits<KS> &all, const int *sources, const uint32_t *rows,
                                       int first, float4 *along, uint32_t &seen) {
  const int lane = threadIdx.x % 32, height = b.edges.height, left = way.width - first;
  const int sums = fc_thin_constant(b) ? height + 1 : height;
  rows += first / 4 + threadIdx.x / 32 * 32 + lane / 4 * 2 + lane % 4 * 2;
#pragma unroll 2
  for (int r = 0; r < sums; r++, rows += b.pitch) {
    fc_fragment<KS> f;
    fc_load_digits(all, shift_of(way.in + (b.edges.up + r) * b.in_row), f);
    along[r * FC_BAND_THREADS] = fc_sum_bytes<KS>(rows, f);
  }
  float4 sum[FC_THIN_ROWS][1] = {};
#pragma unroll
  for (int q = 0; q < N + FC_THIN_ROWS - 1; q++) {
    const float4 v = along[sources[q] * FC_BAND_THREADS];
#pragma unroll
    for (int o = 0; o < FC_THIN_ROWS; o++)
      if (q - o >= 0 && q - o < N) fc_fma4(t.y[q - o], v.x, v.y, v.z, v.w, sum[o][0]);
  }
  char *to = way.out + first + fc_first_column();
  const bool whole = b.wide && left >= FC_BAND_WIDTH;
  const fc_place place = fc_place_of<1>(b, left);
#pragma unroll
  for (int o = 0; o < FC_THIN_ROWS; o++, to += b.out_row) {
    if (o >= height) break;
    if (whole)
      fc_store_whole<1>(true, to, sum[o], seen);
    else
      fc_store_bytes<1>(place, to, sum[o], seen);
  }
}

// Calls begin(way, rows), which starts a copy, and sum(way, rows) for each band of a block; each is copied
// while the one before is summed.
template <typename Begin, typename Sum>
[[maybe_unused]] __device__ __forceinline__ void each_band(const fc_band &b, uint32_t bands, uint32_t *memory,
                                                           Begin begin, Sum sum) {
  const int room = rows_words(b);
  fc_band_way way = fc_band_of_block<1, FETCHED>(b, blockIdx.x, bands);
  begin(way, memory);
#pragma unroll 1
  for (uint32_t band = blockIdx.x, turn = 0; band < bands; band += gridDim.x, turn ^= 1) {
    const fc_band_way next = fc_band_of_block<1, FETCHED>(b, min(band + gridDim.x, bands - 1), bands);
    __syncthreads(); // all threads have finished reading the buffer
    begin(next, memory + (turn ^ 1) * room);
    fc_await_copies<1>();
    __syncthreads();
    sum(way, memory + turn * room);
    way = next;
  }
  fc_await_copies();
}

template <int N, int KS>
__device__ __forceinline__ void filter_bands(const fc_band &b, const taps<N> &t, const fc_digits<KS> &all,
                                             const int *sources, uint32_t *memory) {
  float4 *along = reinterpret_cast<float4 *>(memory + 2 * rows_words(b)) + threadIdx.x;
  uint32_t seen = FC_BYTE_ZERO;
  each_band(
      b, t.bands, memory, [&](const fc_band_way &way, uint32_t *rows) { fetch(b, way, rows); },
      [&](const fc_band_way &way, const uint32_t *rows) {
#pragma unroll 1
        for (int first = 0; first < way.width; first += FC_BAND_WIDTH)
          filter<N, KS>(b, way, t, all, sources, rows, first, along, seen);
      });
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(b.notes, 1);
}

template <int N, int KS>
__global__ void __launch_bounds__(FC_BAND_THREADS, 5)
    sepconv_thin_bytes(const __grid_constant__ fc_band b, const __grid_constant__ taps<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ int sources[FC_THIN_ROWS + N];
  fc_digits<KS> &all = *reinterpret_cast<fc_digits<KS> *>(memory);
  fc_make_digits<KS>(t.along, all);
  for (int q = threadIdx.x; q < FC_THIN_ROWS + N; q += FC_BAND_THREADS) // rows that no output needs too
    sources[q] = fc_thin_source(b, min(q, b.edges.height + b.rows_down - 2));
  filter_bands<N, KS>(b, t, all, sources, memory + sizeof all / 4);
#endif
}

// ---- short masks -------------------------------------------------------------

// Copies the rows of a band, each by one warp and to the same offset within 16 bytes; `rows` has b.pitch
// words for each.
[[maybe_unused]] __device__ __forceinline__ void fetch_rows(const fc_band &b, const fc_band_way &way,
                                                            uint32_t *rows) {
  const char *first = way.in + b.edges.up * b.in_row;
#pragma unroll 1
  for (int r = threadIdx.x / 32; r < b.edges.height; r += FC_BAND_THREADS / 32)
    fc_line_fetch(b, way, first + r * b.in_row, reinterpret_cast<char *>(rows + r * b.pitch),
                  static_cast<int>(threadIdx.x) % 32, 32);
  fc_commit_copies();
}

// Marches over the rows of windows of a band: each is mapped to its image row, summed horizontally, and
// added to the up to N sums it contributes to.
template <int N, bool RAGGED>
__device__ __forceinline__ void march(const fc_band &b, const fc_band_way &way, const taps<N> &t,
                                      const fc_quads_fragment &f, const int *sources, const uint32_t *rows,
                                      uint32_t &seen) {
  constexpr int ROWS = N - 1 + FC_THIN_ROWS;
  const uint32_t place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(way.in + b.edges.up * b.in_row)),
                 step = static_cast<uint32_t>(b.in_row);
  const uint32_t inside = fc_quads_inside(way.width);
  char *to = way.out + fc_quads_column();
  float4 sum[ROWS][2] = {};
  rows += fc_quads_word();
#pragma unroll
  for (int q = 0; q < ROWS; q++) {
    const int source = sources[q];
    const uint32_t own = (place + source * step) % 16; // any will do for the constant's row
    float4 v[2];
    fc_quads_sum<true>(rows + source * b.pitch + own / 4, own % 4 * 8, f, v);
#pragma unroll
    for (int g = 0; g < 2; g++)
#pragma unroll
      for (int j = 0; j < N; j++)
        if (q >= j && q - j < FC_THIN_ROWS) fc_fma4(t.y[j], v[g].x, v[g].y, v[g].z, v[g].w, sum[q - j][g]);
    if (q < N - 1) continue;
    if (q - (N - 1) >= b.edges.height) break;
    if (way.width == FETCHED * FC_BAND_WIDTH)
      fc_quads_store<RAGGED>(true, to, sum[q - (N - 1)], seen);
    else
      fc_quads_store_some(to, inside, sum[q - (N - 1)], seen);
    to += b.out_row;
  }
}

template <int N, bool RAGGED>
__global__ void __launch_bounds__(FC_BAND_THREADS, N <= 3 ? 4 : 3)
    sepconv_thin_bytes_quads(const __grid_constant__ fc_band b, const __grid_constant__ taps<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ int sources[FC_THIN_ROWS + N];
  __shared__ fc_quads_digits all;
  const int room = rows_words(b);
  fc_quads_make(t.along, 0, all);
  for (int q = threadIdx.x; q < FC_THIN_ROWS + N; q += FC_BAND_THREADS) // rows that no output needs too
    sources[q] = fc_thin_source(b, min(q, b.edges.height + b.rows_down - 2));
  for (int i = threadIdx.x; i < 2 * b.pitch; i += FC_BAND_THREADS)
    memory[i / b.pitch * room + b.edges.height * b.pitch + i % b.pitch] = b.edges.code;
  __syncthreads();
  fc_quads_fragment f;
  fc_quads_load(all, f);
  uint32_t seen = FC_BYTE_ZERO;
  each_band(
      b, t.bands, memory, [&](const fc_band_way &way, uint32_t *rows) { fetch_rows(b, way, rows); },
      [&](const fc_band_way &way, const uint32_t *rows) {
        march<N, RAGGED>(b, way, t, f, sources, rows, seen);
      });
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(b.notes, 1);
#endif
}

// ---- launching -------------------------------------------------------------

// Launches as many blocks as are resident at once, with the given bytes of shared memory.
template <int N>
fc_status launch(void (*kernel)(const fc_band, const taps<N>), const fc_sepconv *op, const fc_march &m,
                 fc_band b, int bytes, cudaStream_t stream) {
  const void *function = reinterpret_cast<const void *>(kernel);
  b.rows = m.height, b.segments = 1;
  const int64_t bands = m.images * m.planes * b.bands;
  if (bands > INT32_MAX || m.columns > INT32_MAX / 4) return FC_UNSUPPORTED;
  taps<N> t = {};
  const int exponent = fc_read_bytes_taps(op, m.step, &t.along);
  for (int64_t j = 0; j < op->ny; j++) t.y[j] = ldexpf(static_cast<const float *>(op->y)[j], -exponent);
  t.bands = static_cast<uint32_t>(bands);
  const int64_t resident = fc_has_units(function) ? fc_band_resident(function, bytes) : 0;
  if (resident == 0) return FC_UNSUPPORTED;
  const unsigned blocks = static_cast<unsigned>(bands < resident ? bands : resident);
  kernel<<<blocks, FC_BAND_THREADS, bytes, stream>>>(b, t);
  return fc_launch_status();
}

template <int N, int KS> fc_status launch(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const fc_band b = fc_bytes_band_of(op, m, FETCHED, fc_digit_steps(m));
  const int bytes = static_cast<int>(sizeof(fc_digits<KS>)) +
                    4 * (2 * rows_words(b) + (b.edges.height + 1) * FC_BAND_WIDTH);
  return launch<N>(sepconv_thin_bytes<N, KS>, op, m, b, bytes, stream);
}

template <int N> fc_status launch_quads(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  fc_band b = fc_bytes_band_of(op, m, FETCHED, fc_digit_steps(m));
  const bool ragged = fc_quads_ragged(m);
  b.overlap = m.columns >= FETCHED * FC_BAND_WIDTH;
  return launch<N>(ragged ? sepconv_thin_bytes_quads<N, true> : sepconv_thin_bytes_quads<N, false>, op, m, b,
                   4 * 2 * rows_words(b), stream);
}

// Of wide windows only the longest mask has a kernel.
fc_status run(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const int64_t n = op->ny;
  switch (fc_digit_steps(m)) {
  case 1:
    if (n <= 7 && FC_QUADS_OUTPUTS + m.margin <= FC_QUADS_WINDOW)
      return n <= 3 ? launch_quads<3>(op, m, stream) : launch_quads<7>(op, m, stream);
    return n <= 15 ? launch<15, 1>(op, m, stream) : launch<31, 1>(op, m, stream);
  case 2: return n <= 15 ? launch<15, 2>(op, m, stream) : launch<31, 2>(op, m, stream);
  case 3: return launch<31, 3>(op, m, stream);
  case 4: return launch<31, 4>(op, m, stream);
  case 5: return launch<31, 5>(op, m, stream);
  default: return FC_UNSUPPORTED;
  }
}

} // namespace

fc_status fc_sepconv_thin_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  return run(op, m, stream);
}

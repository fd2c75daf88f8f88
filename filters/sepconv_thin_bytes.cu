// SPDX-License-Identifier: MIT
//
// sepconv_thin_bytes.cu - separable filters of u8 images of few rows (conv2d_thin.cuh): as sepconv_thin.cu,
// with the sums along of sepconv_bytes.cu. Blocks stay and take one band after the other, for the digits of
// the taps take as long to make as a band.
#include "filters/conv2d_thin.cuh"
#include "filters/sepconv_band.cuh"
#include "filters/sepconv_digits.cuh"

namespace {

constexpr int GROUPS = 2;  // of 512 columns, summed at a time
constexpr int FETCHED = 4; // and brought at a time

struct taps {
  fc_byte_taps along;
  int ny;
  uint32_t bands; // of all images
  alignas(16) float y[FC_DIGIT_DOWN + 1];
};

// Where the row begins in a word.
__device__ __forceinline__ uint32_t shift_of(const char *row) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row)) % 4;
}

// Words of all rows, and of that of the constant.
__host__ __device__ inline int rows_words(const fc_band &b) {
  return (b.edges.height + 1) * b.pitch;
}

// Begins to copy the rows to where they begin in a word too, and after them stores one of the constant: whole
// words where all of them can be read, else bytes.
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

// Sums the groups of columns from `first` on: each row along to `along`, each thread its own columns, and
// what stands for the rows of each window down.
template <int KS>
__device__ __forceinline__ void filter(const fc_band &b, const fc_band_way &way, const taps &t,
                                       const fc_digits<KS> &all, const int *sources, const float *down,
                                       const uint32_t *rows, int first, float4 *along, uint32_t &seen) {
  const int lane = threadIdx.x % 32, height = b.edges.height, left = way.width - first;
  const bool whole = b.wide && left >= GROUPS * FC_BAND_WIDTH;
  const bool constant = fc_thin_constant(b);
  rows += first / 4 + threadIdx.x / 32 * 32 + lane / 4 * 2 + lane % 4 * 2;
  for (int r = 0; r < height + constant; r++, rows += b.pitch) {
    fc_fragment<KS> f;
    fc_load_digits(all, shift_of(way.in + (b.edges.up + r) * b.in_row), f);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      along[(r * GROUPS + g) * FC_BAND_THREADS] = fc_sum_bytes<KS>(rows + g * (FC_BAND_WIDTH / 4), f);
    }
  }
  for (int y = 0; y < height; y++) {
    float4 sum[GROUPS] = {};
    fc_thin_each(down, t.ny, [&](int j, float tap) {
#pragma unroll
      for (int g = 0; g < GROUPS; g++) {
        const float4 v = along[(sources[y + j] * GROUPS + g) * FC_BAND_THREADS];
        fc_fma4(tap, v.x, v.y, v.z, v.w, sum[g]);
      }
    });
    char *to = way.out + y * b.out_row + first + fc_first_column();
    if (whole)
      fc_store_whole<GROUPS, true>(true, to, sum, seen);
    else
      fc_store_bytes<GROUPS>(fc_place_of<GROUPS>(b, left), to, sum, seen);
  }
}

// A block's bands, one after the other, each copied while the one before is summed.
template <int KS>
__device__ __forceinline__ void filter_bands(const fc_band &b, const taps &t, const fc_digits<KS> &all,
                                             const int *sources, const float *down, uint32_t *memory) {
  constexpr int G = FETCHED;
  const int room = rows_words(b);
  float4 *along = reinterpret_cast<float4 *>(memory + 2 * room) + threadIdx.x;
  fc_band_way way = fc_band_of_block<1, G>(b, blockIdx.x, t.bands);
  uint32_t seen = FC_BYTE_ZERO;
  fetch(b, way, memory);
#pragma unroll 1
  for (uint32_t band = blockIdx.x, turn = 0; band < t.bands; band += gridDim.x, turn ^= 1) {
    const fc_band_way next = fc_band_of_block<1, G>(b, min(band + gridDim.x, t.bands - 1), t.bands);
    __syncthreads(); // all have left the room
    fetch(b, next, memory + (turn ^ 1) * room);
    fc_await_copies<1>();
    __syncthreads();
#pragma unroll 1
    for (int first = 0; first < way.width; first += GROUPS * FC_BAND_WIDTH)
      filter<KS>(b, way, t, all, sources, down, memory + turn * room, first, along, seen);
    way = next;
  }
  fc_await_copies();
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(b.notes, 1);
}

template <int KS>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    thin_kernel(const __grid_constant__ fc_band b, const __grid_constant__ taps t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ int sources[FC_THIN_ROWS + FC_DIGIT_DOWN];
  __shared__ __align__(16) float down[FC_DIGIT_DOWN + 1];
  fc_digits<KS> &all = *reinterpret_cast<fc_digits<KS> *>(memory);
  fc_make_digits<KS>(t.along, threadIdx.x / 32, all);
  fc_thin_look_up(b, sources);
  fc_thin_share(t.y, FC_DIGIT_DOWN + 1, down);
  filter_bands<KS>(b, t, all, sources, down, memory + sizeof all / 4);
#endif
}

template <int KS> fc_status launch(const fc_band &b, const taps &t, cudaStream_t stream) {
  const auto kernel = thin_kernel<KS>;
  const void *function = reinterpret_cast<const void *>(kernel);
  const int bytes = static_cast<int>(sizeof(fc_digits<KS>)) +
                    4 * (2 * rows_words(b) + (b.edges.height + 1) * GROUPS * FC_BAND_WIDTH);
  const int64_t resident = fc_has_units(function) ? fc_band_resident(function, bytes) : 0;
  if (resident == 0) return FC_UNSUPPORTED;
  const unsigned blocks = static_cast<unsigned>(t.bands < resident ? t.bands : resident);
  kernel<<<blocks, FC_BAND_THREADS, bytes, stream>>>(b, t);
  return fc_launch_status();
}

fc_status launch(const fc_sepconv *op, const fc_march &m, taps t, cudaStream_t stream) {
  fc_band b = fc_bytes_band_of(op, m, FETCHED);
  b.rows = m.height, b.segments = 1;
  const int64_t bands = m.images * m.planes * b.bands;
  if (bands > INT32_MAX || m.columns > INT32_MAX / 4) return FC_UNSUPPORTED;
  t.bands = static_cast<uint32_t>(bands);
  switch (fc_digit_steps(m)) {
  case 1: return launch<1>(b, t, stream);
  case 2: return launch<2>(b, t, stream);
  case 3: return launch<3>(b, t, stream);
  case 4: return launch<4>(b, t, stream);
  default: return FC_UNSUPPORTED;
  }
}

} // namespace

fc_status fc_sepconv_thin_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  if (!fc_thin_is(m, op->ny) || !fc_bytes_fit(op, m)) return FC_UNSUPPORTED;
  taps t = {};
  const int exponent = fc_read_bytes_taps(op, m.step, &t.along);
  t.ny = static_cast<int>(op->ny);
  for (int64_t j = 0; j < op->ny; j++) t.y[j] = ldexpf(static_cast<const float *>(op->y)[j], -exponent);
  return launch(op, m, t, stream);
}

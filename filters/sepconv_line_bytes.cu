// SPDX-License-Identifier: MIT
//
// sepconv_line_bytes.cu - separable filters of u8 images of one row, or one pixel wide (conv2d_line.cuh),
// with the integer sums of sepconv_bytes.cu across pixels. Across the line all taps meet the same element, or
// the constant.
//
// A kernel of N taps across a row, or along a column, serves all masks of fewer, whose other taps are 0.
#include "filters/conv2d_line.cuh"
#include "filters/sepconv_band.cuh"
#include "filters/sepconv_digits.cuh"

namespace {

constexpr int GROUPS = 2;   // of 512 columns of a row, summed at a time
constexpr int FETCHED = 16; // and brought at a time

// Begins to copy n bytes to where they begin in 16 bytes, and returns that: by as many where the line is far
// enough from its ends.
__device__ __forceinline__ int fetch(const fc_band &b, const fc_band_way &way, uint32_t *line) {
  const int n = way.width + b.margin;
  const char *first = way.in + b.edges.up * b.in_row;
  const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(first) % 16);
  if (way.lo <= -15 && way.hi >= n + 15) {
#pragma unroll 5
    for (int i = threadIdx.x; i < (shift + n + 15) / 16; i += FC_BAND_THREADS)
      fc_copy_words(line + 4 * i, first - shift + 16 * i);
  } else {
    for (int j = threadIdx.x; j < n; j += FC_BAND_THREADS) {
      const int from = j >= way.lo && j < way.hi ? j : fc_band_element(b.edges, way.x, j);
      reinterpret_cast<uint8_t *>(line)[shift + j] =
          static_cast<uint8_t>(from == FC_BAND_CONSTANT ? b.edges.code : static_cast<uint8_t>(first[from]));
    }
  }
  fc_commit_copies();
  return shift;
}

// ---- rows --------------------------------------------------------------------

// Down: all taps; or where rows beside it are of the constant, the middle one, and those after it.
template <int N> struct row_taps {
  fc_byte_taps along;
  float down[N];
  bool constant;
  float beside, ahead; // what the constant comes to along, and its rows above down
  uint32_t bands;      // of all images
};

template <int N> __device__ __forceinline__ float4 sum_down(const row_taps<N> &t, float4 v) {
  if (t.constant) {
    float4 sum = make_float4(t.ahead, t.ahead, t.ahead, t.ahead);
    fc_fma4(t.down[0], v.x, v.y, v.z, v.w, sum);
#pragma unroll
    for (int j = 1; j <= N / 2; j++) fc_fma4(t.down[j], t.beside, t.beside, t.beside, t.beside, sum);
    return sum;
  }
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int j = 0; j < N; j++) fc_fma4(t.down[j], v.x, v.y, v.z, v.w, sum);
  return sum;
}

// Sums the groups of columns from `first` on; `line` is the thread's word of the first window.
template <int KS, int N>
__device__ __forceinline__ void filter(const fc_band &b, const fc_band_way &way, const row_taps<N> &t,
                                       const fc_fragment<KS> &f, const uint32_t *line, int first,
                                       uint32_t &seen) {
  const int left = way.width - first;
  float4 sum[GROUPS];
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
    sum[g] = sum_down<N>(t, fc_sum_bytes<KS>(line + (first + g * FC_BAND_WIDTH) / 4, f));
  char *to = way.out + first + fc_first_column();
  if (b.wide && left >= GROUPS * FC_BAND_WIDTH)
    fc_store_whole<GROUPS, true>(true, to, sum, seen);
  else
    fc_store_bytes<GROUPS>(fc_place_of<GROUPS>(b, left), to, sum, seen);
}

// Blocks stay and take one band after the other, for the digits of the taps take as long to make as a band;
// each is copied while the one before is summed.
template <int KS, int N>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    row_kernel(const __grid_constant__ fc_band b, const __grid_constant__ row_taps<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  fc_digits<KS> &all = *reinterpret_cast<fc_digits<KS> *>(memory);
  uint32_t *rooms = memory + sizeof all / 4;
  const int lane = threadIdx.x % 32, column = threadIdx.x / 32 * 32 + lane / 4 * 2 + lane % 4 * 2;
  uint32_t seen = FC_BYTE_ZERO;
  fc_make_digits<KS>(t.along, all);
  fc_band_way way = fc_band_of_block<1, FETCHED>(b, blockIdx.x, t.bands);
  int shift = fetch(b, way, rooms);
#pragma unroll 1
  for (uint32_t band = blockIdx.x, turn = 0; band < t.bands; band += gridDim.x, turn ^= 1) {
    const fc_band_way next = fc_band_of_block<1, FETCHED>(b, min(band + gridDim.x, t.bands - 1), t.bands);
    __syncthreads(); // all have left the room
    const int next_shift = fetch(b, next, rooms + (turn ^ 1) * b.pitch);
    fc_await_copies<1>();
    __syncthreads();
    fc_fragment<KS> f;
    fc_load_digits(all, shift % 4, f);
#pragma unroll 1
    for (int first = 0; first < way.width; first += GROUPS * FC_BAND_WIDTH)
      filter<KS, N>(b, way, t, f, rooms + turn * b.pitch + shift / 4 + column, first, seen);
    way = next, shift = next_shift;
  }
  fc_await_copies();
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(b.notes, 1);
#endif
}

// ---- columns -----------------------------------------------------------------

// What an element comes to across is element * times + plus.
template <int N> struct column_taps {
  int32_t times, plus;
  float down[N];
};

// Elements as they lie in memory, from `shift` bytes on, to what they come to across.
__device__ __forceinline__ void widen(const uint32_t *raw, int shift, int quads, int times, int plus,
                                      float *line) {
  raw += shift / 4;
  for (int i = threadIdx.x; i < quads; i += FC_BAND_THREADS) {
    const uint32_t word = __funnelshift_r(raw[i], raw[i + 1], shift % 4 * 8);
    float4 v;
    v.x = static_cast<float>(static_cast<int>(word & 255) * times + plus);
    v.y = static_cast<float>(static_cast<int>(word >> 8 & 255) * times + plus);
    v.z = static_cast<float>(static_cast<int>(word >> 16 & 255) * times + plus);
    v.w = static_cast<float>(static_cast<int>(word >> 24) * times + plus);
    *reinterpret_cast<float4 *>(line + 4 * i) = v;
  }
}

// Stores a thread's 4 sums from element i on.
[[maybe_unused]] __device__ __forceinline__ void store_quad(const fc_band &b, const fc_band_way &way, int i,
                                                            float4 v, uint32_t &seen) {
  const float4 sum[1] = {v};
  uint32_t code[4];
  fc_round_sums<1>(sum, code);
  const uint32_t bytes = fc_bytes_of(code[0], code[1]) | fc_bytes_of(code[2], code[3]) << 16;
  if (b.wide && i + 4 <= way.width) {
    *reinterpret_cast<uint32_t *>(way.out + i) = bytes;
    seen |= code[0] | code[1] | code[2] | code[3];
    return;
  }
#pragma unroll
  for (int p = 0; p < 4; p++)
    if (i + p < way.width) way.out[i + p] = static_cast<char>(bytes >> 8 * p), seen |= code[p];
}

template <int N, int STEP>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    column_kernel(const __grid_constant__ fc_band b, const __grid_constant__ column_taps<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  const fc_band_way way = fc_band_begin<1, FC_LINE_GROUPS>(b);
  float *line = reinterpret_cast<float *>(memory);
  uint32_t *raw = memory + b.pitch, seen = FC_BYTE_ZERO;
  const int shift = fetch(b, way, raw);
  fc_await_copies();
  __syncthreads();
  widen(raw, shift, b.pitch / 4, t.times, t.plus, line);
  __syncthreads();
#pragma unroll 1
  for (int i = 4 * threadIdx.x; i < way.width; i += FC_BAND_WIDTH)
    store_quad(b, way, i, fc_sum_along<N, STEP, 0>(line + i, t.down), seen);
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(b.notes, 1);
#endif
}

// ---- launching -------------------------------------------------------------

// A tap along, from its digits.
int32_t value_of(uint32_t digits) {
  return static_cast<int8_t>(digits) + 256 * static_cast<int8_t>(digits >> 8) +
         65536 * static_cast<int8_t>(digits >> 16);
}

int32_t sum_of(const fc_byte_taps &t) {
  int32_t sum = 0;
  for (int i = 0; i < t.nx; i++) sum += value_of(t.x[i]);
  return sum;
}

float tap_down(const fc_sepconv *op, int64_t j, int exponent) {
  return ldexpf(static_cast<const float *>(op->y)[j], -exponent);
}

template <int KS, int N> fc_status launch(const fc_band &b, const row_taps<N> &t, cudaStream_t stream) {
  const auto kernel = row_kernel<KS, N>;
  const void *function = reinterpret_cast<const void *>(kernel);
  const int bytes = static_cast<int>(sizeof(fc_digits<KS>)) + 4 * 2 * b.pitch;
  const int64_t resident = fc_has_units(function) ? fc_band_resident(function, bytes) : 0;
  if (resident == 0) return FC_UNSUPPORTED;
  const unsigned blocks = static_cast<unsigned>(t.bands < resident ? t.bands : resident);
  kernel<<<blocks, FC_BAND_THREADS, bytes, stream>>>(b, t);
  return fc_launch_status();
}

template <int N> fc_status run_row(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  fc_band b = fc_bytes_band_of(op, m, FETCHED);
  b.rows = 1, b.segments = 1;
  const int64_t bands = m.images * m.planes * b.bands;
  if (bands > INT32_MAX || m.columns > INT32_MAX / 4) return FC_UNSUPPORTED;
  row_taps<N> t = {};
  const int exponent = fc_read_bytes_taps(op, m.step, &t.along);
  t.bands = static_cast<uint32_t>(bands), t.constant = fc_line_constant(m);
  t.beside = static_cast<float>(static_cast<int32_t>(m.edges.code & 255) * sum_of(t.along));
  for (int64_t j = 0; t.constant && j < op->ny / 2; j++)
    t.ahead = fmaf(tap_down(op, j, exponent), t.beside, t.ahead);
  const int64_t first = t.constant ? op->ny / 2 : 0;
  for (int64_t j = first; j < op->ny; j++) t.down[j - first] = tap_down(op, j, exponent);
  switch (fc_digit_steps(m)) {
  case 1: return launch<1, N>(b, t, stream);
  case 2: return launch<2, N>(b, t, stream);
  case 3: return launch<3, N>(b, t, stream);
  case 4: return launch<4, N>(b, t, stream);
  default: return FC_UNSUPPORTED;
  }
}

template <int N, int STEP>
fc_status launch(const fc_march &line, const column_taps<N> &t, cudaStream_t stream) {
  fc_band b = fc_band_of(line, FC_LINE_GROUPS, 0);
  b.pitch = FC_LINE_GROUPS * FC_BAND_WIDTH + (N - 1) * STEP / 4 * 4 + 8;
  const auto kernel = column_kernel<N, STEP>;
  if (!fc_has_units(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  return fc_band_launch(kernel, b, line, t, 4 * b.pitch + b.pitch + 32, N, stream);
}

template <int N>
fc_status run_column(const fc_sepconv *op, const fc_march &m, const fc_march &line, cudaStream_t stream) {
  column_taps<N> t = {};
  fc_byte_taps along;
  const int exponent = fc_read_bytes_taps(op, m.step, &along);
  const int32_t all = sum_of(along), middle = value_of(along.x[op->nx / 2]);
  t.times = fc_line_constant(m) ? middle : all;
  t.plus = fc_line_constant(m) ? static_cast<int32_t>(m.edges.code & 255) * (all - middle) : 0;
  for (int64_t j = 0; j < op->ny; j++) t.down[j] = tap_down(op, j, exponent);
  switch (m.step) {
  case 1: return launch<N, 1>(line, t, stream);
  case 3: return launch<N, 3>(line, t, stream);
  default: return FC_UNSUPPORTED;
  }
}

template <int N>
fc_status run(const fc_sepconv *op, const fc_march &m, const fc_march *column, cudaStream_t stream) {
  return column ? run_column<N>(op, m, *column, stream) : run_row<N>(op, m, stream);
}

} // namespace

fc_status fc_sepconv_line_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  fc_march turned;
  if (!m.edges.on || !fc_bytes_fit(op, m)) return FC_UNSUPPORTED;
  const fc_march *column = m.height > 1 && fc_line_turn(m, op->nx, op->ny, &turned) ? &turned : nullptr;
  if (m.height > 1 && !column) return FC_UNSUPPORTED;
  if (op->ny <= 3) return run<3>(op, m, column, stream);
  if (op->ny <= 7) return run<7>(op, m, column, stream);
  if (op->ny <= 15) return run<15>(op, m, column, stream);
  return run<31>(op, m, column, stream);
}

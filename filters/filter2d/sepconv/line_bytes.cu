// SPDX-License-Identifier: MIT
//
// line_bytes.cu - separable filters of u8 images of one row, or one pixel wide (conv2d/line.cuh), with the
// horizontal integer sums of bytes.cu. Across the line all taps are multiplied with the same element, or all
// but the middle one with the constant.
//
// A kernel of N taps, vertically for a row or along the line for a column, is used for all masks of fewer,
// zero-padded.
#include "filters/filter2d/conv2d/line_bytes.cuh"
#include "filters/filter2d/sepconv/band.cuh"
#include "filters/filter2d/sepconv/quads.cuh"

namespace {

[[maybe_unused]] constexpr int GROUPS = 2; // groups of 512 columns of a row, summed together

// ---- rows --------------------------------------------------------------------

// `down` has all vertical taps; or, if the rows beside the image are the constant, the middle one and those
// after it.
template <int N> struct row_taps {
  fc_byte_lines lines;
  fc_byte_taps along;
  float down[N];
  bool constant;
  float beside, ahead; // the constant's horizontal sum; the vertical sum of the rows above the middle one
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

// Calls f(way, word, byte, first) for each part, GROUPS groups wide, of all bands: the first window of the
// part begins at `byte` within `word`, column `first` of the band.
template <int N, typename Fn>
[[maybe_unused]] __device__ __forceinline__ void each_part(const row_taps<N> &t, void *rooms, Fn f) {
  fc_line_each(t.lines, static_cast<char *>(rooms), [&](const fc_band_way &way, uint32_t line) {
    const uint32_t *word = static_cast<const uint32_t *>(__cvta_shared_to_generic(line & ~3u));
#pragma unroll 1
    for (int first = 0; first < way.width; first += GROUPS * FC_BAND_WIDTH)
      f(way, word + first / 4, line % 4, first);
  });
}

// Which of a thread's 8 columns are within the image, for a band that begins at `x` of the row; `own` and
// COLUMN(i) are relative to the band's part.
template <typename Column>
[[maybe_unused]] __device__ __forceinline__ uint32_t columns_inside(const fc_byte_lines &l,
                                                                    const fc_band_way &way, int first,
                                                                    int own, Column column) {
  const int x = way.x + l.b.edges.left, columns = static_cast<int>(l.b.columns);
  if (x + first >= 0 && x + first + GROUPS * FC_BAND_WIDTH <= columns) return FC_PAIRS;
  uint32_t inside = 0;
#pragma unroll
  for (int i = 0; i < 4 * GROUPS; i++) {
    const int c = x + first + own + column(i);
    if (c >= 0 && c < columns) inside |= 1u << i;
  }
  return inside;
}

template <int KS, int N>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    sepconv_line_bytes_row(const __grid_constant__ row_taps<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  fc_digits<KS> &all = *reinterpret_cast<fc_digits<KS> *>(memory);
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * 32 + lane / 4 * 2 + lane % 4 * 2;
  uint32_t seen = FC_BYTE_ZERO;
  fc_make_digits<KS>(t.along, all);
  __syncthreads();
  each_part(t, memory + sizeof all / 4,
            [&](const fc_band_way &way, const uint32_t *line, uint32_t shift, int first) {
              fc_fragment<KS> f;
              fc_load_digits(all, shift, f);
              float4 sum[GROUPS];
#pragma unroll
              for (int g = 0; g < GROUPS; g++)
                sum[g] = sum_down<N>(t, fc_sum_bytes<KS>(line + own + g * FC_BAND_WIDTH / 4, f));
              const int column = fc_first_column();
              const fc_place p = {column, columns_inside(t.lines, way, first, column, fc_column_of)};
              fc_store_bytes<GROUPS>(p, way.out + first + column, sum, seen);
            });
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(t.lines.b.notes, 1);
#endif
}

// The same for windows of up to 32 bytes (quads.cuh).
template <int N>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    sepconv_line_bytes_quads(const __grid_constant__ row_taps<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ fc_quads_digits all;
  uint32_t seen = FC_BYTE_ZERO;
  fc_quads_make(t.along, 0, all);
  __syncthreads();
  fc_quads_fragment f;
  fc_quads_load(all, f);
  each_part(t, memory, [&](const fc_band_way &way, const uint32_t *line, uint32_t shift, int first) {
    float4 v[GROUPS], sum[GROUPS];
    fc_quads_sum<true>(line + fc_quads_word(), 8 * shift, f, v);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) sum[g] = sum_down<N>(t, v[g]);
    const int column = fc_quads_column();
    const uint32_t inside = columns_inside(t.lines, way, first, column, fc_quads_column_of);
    if (inside == FC_PAIRS)
      fc_quads_store<false>(true, way.out + first + column, sum, seen);
    else
      fc_quads_store_some(way.out + first + column, inside, sum, seen);
  });
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(t.lines.b.notes, 1);
#endif
}

// ---- columns -----------------------------------------------------------------

// The sum across the line of an element is element * times + plus.
template <int N> struct column_taps {
  fc_byte_lines lines;
  int32_t times, plus;
  float down[N];
};

// Sums of 8 adjacent outputs; each element is summed across the line once.
template <int N, int STEP>
__device__ __forceinline__ void sum_column(const column_taps<N> &t, const fc_byte_window<N, STEP> &w,
                                           float (&sum)[FC_BYTE_COLUMNS]) {
#pragma unroll
  for (int k = 0; k < w.BYTES; k++) {
    const int element = static_cast<int>(__byte_perm(w.word[k / 4], 0, 0x4440 + k % 4));
    const float v = static_cast<float>(element * t.times + t.plus);
#pragma unroll
    for (int e = 0; e < FC_BYTE_COLUMNS; e++)
      if (k >= e && (k - e) % STEP == 0 && (k - e) / STEP < N)
        sum[e] = fmaf(t.down[(k - e) / STEP], v, sum[e]);
  }
}

template <int N, int STEP>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    sepconv_line_bytes_column(const __grid_constant__ column_taps<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  uint32_t seen = FC_BYTE_ZERO;
  fc_line_filter(t.lines, reinterpret_cast<char *>(memory), [&](uint32_t at, const fc_byte_place &p) {
    float sum[FC_BYTE_COLUMNS] = {};
    sum_column<N, STEP>(t, fc_byte_window<N, STEP>(at), sum);
    uint32_t code[FC_BYTE_COLUMNS];
    const float4 sums[2] = {make_float4(sum[0], sum[1], sum[2], sum[3]),
                            make_float4(sum[4], sum[5], sum[6], sum[7])};
    fc_round_sums<2>(sums, code);
#pragma unroll
    for (int e = 0; e < FC_BYTE_COLUMNS; e++)
      if (p.whole || (p.column + e >= 0 && p.column + e < p.width)) seen |= code[e];
    return fc_byte_codes{{fc_quads_bytes(code), fc_quads_bytes(code + 4)}};
  });
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(t.lines.b.notes, 1);
#endif
}

// ---- launching -------------------------------------------------------------

// The value of a horizontal tap from its digits.
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

// Launches a kernel that reads windows up to `margin` bytes beyond a band and uses additional bytes of
// shared memory.
template <typename Taps>
fc_status launch(void (*kernel)(const Taps), const fc_march &line, Taps t, int margin, int bytes,
                 cudaStream_t stream) {
  if (!fc_has_units(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  fc_march wide = line;
  wide.margin = margin;
  if (!fc_line_plan(wide, &t.lines)) return FC_UNSUPPORTED;
  t.lines.b.margin = line.margin;
  return fc_line_launch(kernel, t, bytes, stream);
}

// The most steps of a window that a square mask of N rows needs: others go to kernels of more rows.
template <int N> constexpr int MOST_STEPS = N <= 3 ? 0 : N <= 7 ? 2 : N <= 15 ? 3 : 4;

template <int KS, int N> fc_status launch(const fc_march &m, const row_taps<N> &t, cudaStream_t stream) {
  if constexpr (KS <= MOST_STEPS<N>)
    return launch(sepconv_line_bytes_row<KS, N>, m, t, 32 * KS, static_cast<int>(sizeof(fc_digits<KS>)),
                  stream);
  return FC_UNSUPPORTED;
}

template <int N> fc_status run_row(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  row_taps<N> t = {};
  const int exponent = fc_read_bytes_taps(op, m.step, &t.along);
  t.constant = fc_line_constant(m);
  t.beside = static_cast<float>(static_cast<int32_t>(m.edges.code & 255) * sum_of(t.along));
  for (int64_t j = 0; t.constant && j < op->ny / 2; j++)
    t.ahead = fmaf(tap_down(op, j, exponent), t.beside, t.ahead);
  const int64_t first = t.constant ? op->ny / 2 : 0;
  for (int64_t j = first; j < op->ny; j++) t.down[j - first] = tap_down(op, j, exponent);
  if (FC_QUADS_OUTPUTS + m.margin <= FC_QUADS_WINDOW)
    return launch(sepconv_line_bytes_quads<N>, m, t, FC_QUADS_WINDOW, 0, stream);
  switch ((8 + m.margin + 3 + 31) / 32) { // outputs begin at multiples of 8 bytes, windows anywhere
  case 1:
  case 2: return launch<2, N>(m, t, stream);
  case 3: return launch<3, N>(m, t, stream);
  case 4: return launch<4, N>(m, t, stream);
  default: return FC_UNSUPPORTED;
  }
}

// The number of elements read per window follows from the kernel's N, not from the mask's length.
template <int N, int STEP>
fc_status launch(const fc_march &line, const column_taps<N> &t, cudaStream_t stream) {
  return launch(sepconv_line_bytes_column<N, STEP>, line, t, (N - 1) * STEP, 0, stream);
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
  const fc_march line = fc_line_of(m, op->nx, op->ny), *column = m.height > 1 ? &line : nullptr;
  fc_status status = FC_UNSUPPORTED;
  if (op->ny <= 3) status = run<3>(op, m, column, stream);
  if (status == FC_UNSUPPORTED && op->ny <= 7) status = run<7>(op, m, column, stream);
  if (status == FC_UNSUPPORTED && op->ny <= 15) status = run<15>(op, m, column, stream);
  return status == FC_UNSUPPORTED ? run<31>(op, m, column, stream) : status;
}

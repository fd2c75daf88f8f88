// SPDX-License-Identifier: MIT
//
// sepconv_bytes.cu - separable filters of u8 images in bands (conv2d_band.cuh), the sums along
// by the integer matrix units.
//
// Bytes are too many for multiply-adds: k taps each way are 2k of them a sample, and converting
// costs as much again. So a row's taps are taken as integers of 24 bits (fixed point, so that
// 255 times the sum of their magnitudes fits 31 bits), in three digits of 8, and the sums along
// are products of matrices of bytes:
//
//   D[m][n] = sum over w < 32 * KS of window m's byte w * T[w][n]
//
// where window m begins 8 m bytes into the row, and column n of T holds the taps so that D is
// output n of the 8 above window m. What T costs in zeros is far less than what it saves. The 16
// windows of a product lie side by side in one row, so that a thread always has the same 4
// columns, and the sums down are multiply-adds in its registers as elsewhere. Products of
// integers are exact: no sum depends on where a window lies, and the error is that of taps
// rounded to 2^-23 of the sum of their magnitudes.
//
// Down, a kernel of N rows serves all masks of fewer, whose other taps are 0; rows beyond the
// mask's are not read, and what lies in their place is some finite number. Where rows begin at
// different places in a word, RAGGED, the matrix is another for each.
#include <math.h>

#include "filters/conv2d_band.cuh"
#include "filters/sepconv_band.cuh"

namespace {

// Rows of a batch, batches in shared memory, and groups of 512 columns, 4 a thread: what a row
// costs apart from its sums is shared by as many groups as there are registers for. And the blocks that
// a multiprocessor's registers are shared out to.
template <int N, bool RAGGED> struct layout_of {
  static constexpr int rows = N >= 23 ? 4 : 8, stages = rows == 4 ? 4 : 3,
                       groups = N <= (RAGGED ? 3 : 9) ? 2 : 1;
  static constexpr int blocks = N <= 3              ? 5
                                : N <= 7            ? (RAGGED ? 6 : 4)
                                : N == 9 || N >= 19 ? (N == 31 ? 2 : 3)
                                : RAGGED            ? 5
                                                    : 4;
};
constexpr int MAX_STEPS = 4;                 // of 32 bytes of a window
constexpr int MAX_TAPS = 32 * MAX_STEPS - 7; // along, at most
constexpr int MAX_EDGES =
    FC_BAND_THREADS - 16;            // margin where the border is ours: a thread has one byte of it
constexpr int64_t LARGEST = 8355000; // sum of magnitudes of integer taps

template <int N> struct taps_of {
  int nx, step;
  uint32_t x[MAX_TAPS]; // digits, the least in the lowest byte
  float y[N];
};

// Digits of T for windows that begin `shift` bytes into a word, as the units want them:
// [shift][step][digit][register][lane].
template <int KS> struct digits { uint32_t of[4][KS][3][2][32]; };

// One warp, one shift.
template <int N, int KS>
__device__ __forceinline__ void make_digits(const taps_of<N> &t, int shift, digits<KS> &all) {
  const int lane = threadIdx.x % 32, column = lane / 4;
#pragma unroll 1
  for (int k = 0; k < 2 * KS; k++) { // 4 adjacent bytes of the window: step k / 2, register k % 2
    uint32_t word[3] = {0, 0, 0};
#pragma unroll
    for (int byte = 0; byte < 4; byte++) {
      const int e = k / 2 * 32 + lane % 4 * 8 + k % 2 * 4 + byte - shift - column, tap = e / t.step;
      if (e < 0 || tap * t.step != e || tap >= t.nx) continue;
      const uint32_t x = t.x[tap];
#pragma unroll
      for (int d = 0; d < 3; d++) word[d] |= (x >> 8 * d & 255) << 8 * byte;
    }
#pragma unroll
    for (int d = 0; d < 3; d++) all.of[shift][k / 2][d][k % 2][lane] = word[d];
  }
}

template <int KS> struct fragment { uint32_t of[KS][3][2]; };

template <int KS>
__device__ __forceinline__ void load_digits(const digits<KS> &all, int shift, fragment<KS> &f) {
#pragma unroll
  for (int k = 0; k < KS; k++)
#pragma unroll
    for (int d = 0; d < 3; d++)
#pragma unroll
      for (int r = 0; r < 2; r++) f.of[k][d][r] = all.of[shift][k][d][r][threadIdx.x % 32];
}

struct tile {
  int of[4];
};

[[maybe_unused]] __device__ __forceinline__ tile multiply(const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                          const tile &c) {
  tile d;
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=&r"(d.of[0]), "=&r"(d.of[1]), "=&r"(d.of[2]), "=&r"(d.of[3]) // not in a's place: that costs moves
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c.of[0]), "r"(c.of[1]),
        "r"(c.of[2]), "r"(c.of[3]));
  return d;
}

// A thread's 4 sums along a row: 2 adjacent ones, and 2 that lie 64 further. `s` is its word
// of the first window; the windows' bytes are handed out so that its next is the word after.
template <int KS> __device__ __forceinline__ float4 sum_along(const uint32_t *s, const fragment<KS> &f) {
  const volatile uint32_t *word = s; // 4 loads into adjacent registers, not 2 of 64 bits and moves
  tile sum[3] = {};
#pragma unroll
  for (int k = 0; k < KS; k++) {
    const uint32_t a[4] = {word[8 * k], word[8 * k + 16], word[8 * k + 1], word[8 * k + 17]};
#pragma unroll
    for (int d = 0; d < 3; d++) sum[d] = multiply(a, f.of[k][d], sum[d]);
  }
  float v[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    v[i] = static_cast<float>((sum[2].of[i] * 256 + sum[1].of[i]) * 256 + sum[0].of[i]);
  return make_float4(v[0], v[1], v[2], v[3]);
}

// Where a thread's sums belong in a row of output.
struct place {
  int column;
  uint32_t inside; // a bit for each of its columns
  bool pairs;      // all are, and each pair is at an even address
};

// Column i of a thread's 4 * GROUPS, counted from its first.
__device__ __forceinline__ constexpr int column_of(int i) {
  return i / 4 * FC_BAND_WIDTH + i % 4 / 2 * 64 + i % 2;
}

template <int G> __device__ __forceinline__ place place_of(const fc_band &b, int width) {
  const int lane = threadIdx.x % 32;
  place p = {static_cast<int>(threadIdx.x) / 32 * 128 + lane / 4 * 8 + lane % 4 * 2, 0, false};
#pragma unroll
  for (int i = 0; i < 4 * G; i++)
    if (p.column + column_of(i) < width) p.inside |= 1u << i;
  p.pairs = b.wide && p.inside == (1u << 4 * G) - 1;
  return p;
}

constexpr uint32_t ZERO =
    0x4b400000; // 1.5 * 2^23: adding it rounds half to even and leaves the integer in the low bits

// Two integers as bytes, clamped.
[[maybe_unused]] __device__ __forceinline__ uint32_t bytes_of(uint32_t low, uint32_t high) {
  uint32_t bytes;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(bytes) : "r"(high - ZERO), "r"(low - ZERO));
  return bytes;
}

// Stores a row of sums. They stay below 2^21, so that one outside 0 to 255 shows in the bits that are
// gathered in `seen` of every output.
template <int G>
[[maybe_unused]] __device__ __forceinline__ void store(const place &p, char *row, const float4 (&sum)[G],
                                                       uint32_t &seen) {
  uint32_t code[4 * G];
#pragma unroll
  for (int g = 0; g < G; g++) {
    const float zero = __uint_as_float(ZERO);
    code[4 * g] = __float_as_uint(sum[g].x + zero), code[4 * g + 1] = __float_as_uint(sum[g].y + zero);
    code[4 * g + 2] = __float_as_uint(sum[g].z + zero), code[4 * g + 3] = __float_as_uint(sum[g].w + zero);
  }
  if (p.pairs) {
#pragma unroll
    for (int i = 0; i < 4 * G; i += 2) {
      seen |= code[i] | code[i + 1];
      *reinterpret_cast<uint16_t *>(row + column_of(i)) =
          static_cast<uint16_t>(bytes_of(code[i], code[i + 1]));
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4 * G; i++) {
      if (!(p.inside >> i & 1)) continue;
      seen |= code[i];
      row[column_of(i)] = static_cast<char>(bytes_of(code[i], ZERO));
    }
  }
}

// Adds a row to the sums of the outputs that it belongs to: tap j to those of j rows up.
template <int N, int KS, int G, int SUMS>
__device__ __forceinline__ void scatter(int u, const taps_of<N> &t, const uint32_t *row,
                                        const fragment<KS> &f, float4 (&sum)[SUMS][G]) {
#pragma unroll
  for (int g = 0; g < G; g++) {
    const float4 v = sum_along<KS>(row + g * (FC_BAND_WIDTH / 4), f);
#pragma unroll
    for (int j = 0; j < N; j++) {
      float4 &s = sum[u + N - 1 - j][g];
      s.x = fmaf(t.y[j], v.x, s.x), s.y = fmaf(t.y[j], v.y, s.y);
      s.z = fmaf(t.y[j], v.z, s.z), s.w = fmaf(t.y[j], v.w, s.w);
    }
  }
}

template <int N, int KS, bool RAGGED>
__device__ __forceinline__ void march(const fc_band &b, const taps_of<N> &t, const fc_band_way &way,
                                      const digits<KS> &all, uint32_t *memory) {
  constexpr int BATCH = layout_of<N, RAGGED>::rows, G = layout_of<N, RAGGED>::groups, SUMS = N - 1 + BATCH;
  const int lane = threadIdx.x % 32, end = way.count + N - 1;
  const place p = place_of<G>(b, way.width);
  // Of the rows beyond the mask's none is read.
  fc_band_ring<1, BATCH, layout_of<N, RAGGED>::stages, G, RAGGED ? FC_BAND_RAGGED : FC_BAND_WORDS> ring(
      b, way, way.count + b.rows_down - 1, memory);
  uintptr_t at = reinterpret_cast<uintptr_t>(way.in);
  fragment<KS> f;
  load_digits(all, static_cast<int>(at & 3), f);
  float4 sum[SUMS][G];
#pragma unroll
  for (int i = 0; i < SUMS * G; i++) sum[i / G][i % G] = make_float4(0, 0, 0, 0);
  char *to = way.out + p.column - (N - 1) * b.out_row;
  uint32_t seen = ZERO;
#pragma unroll 1
  for (int q = -BATCH * ring.early(); q < end; q += BATCH) {
    const uint32_t *rows = ring.turn(b, way) + threadIdx.x / 32 * 32 + lane / 4 * 2 + lane % 4 * 2;
    if (q < 0) continue;
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      if (RAGGED) load_digits(all, static_cast<int>(at & 3), f), at += b.in_row;
      scatter<N, KS, G, SUMS>(u, t, rows + u * b.pitch, f, sum);
      if (q + u >= N - 1 && q + u < end) store<G>(p, to, sum[u], seen);
    }
#pragma unroll
    for (int i = 0; i < SUMS * G; i++)
      sum[i / G][i % G] = i / G < N - 1 ? sum[i / G + BATCH][i % G] : make_float4(0, 0, 0, 0);
  }
  if (seen > ZERO + 255) fc_dev_note(b.notes, 1);
}

template <int N, int KS, bool RAGGED>
__global__ void __launch_bounds__(FC_BAND_THREADS, (layout_of<N, RAGGED>::blocks))
    band_kernel(const __grid_constant__ fc_band b, const __grid_constant__ taps_of<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  digits<KS> &all = *reinterpret_cast<digits<KS> *>(memory);
  make_digits<N, KS>(t, threadIdx.x / 32, all);
  __syncthreads();
  march<N, KS, RAGGED>(b, t, fc_band_begin<1, layout_of<N, RAGGED>::groups>(b), all, memory + sizeof all / 4);
#endif
}

// ---- launching -------------------------------------------------------------

// Was the kernel compiled for a device that has the units? Where the build has no code for a
// device, that of an older one runs, which is empty.
bool has_units(const void *kernel) {
  cudaFuncAttributes a;
  if (cudaFuncGetAttributes(&a, kernel) == cudaSuccess) return a.ptxVersion >= 80;
  cudaGetLastError();
  return false;
}

double magnitude(const void *taps, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += fabs(static_cast<double>(static_cast<const float *>(taps)[i]));
  return sum;
}

// Is the mask one of numbers that integers and the store's rounding are good for?
bool is_moderate(const fc_sepconv *op) {
  const double x = magnitude(op->x, op->nx), y = magnitude(op->y, op->ny), least = 0x1p-40, most = 0x1p40;
  return x >= least && x <= most && y <= most && 255 * x * y < 0x1p21; // not if one is no number
}

// v in digits of 8 bits with signs, the least lowest.
uint32_t digits_of(int64_t v) {
  const int64_t low = ((v + 128) & 255) - 128, rest = (v - low) / 256;
  const int64_t middle = ((rest + 128) & 255) - 128, high = (rest - middle) / 256;
  return static_cast<uint32_t>((low & 255) | (middle & 255) << 8 | (high & 255) << 16);
}

template <int N> void read_taps(const fc_sepconv *op, int step, taps_of<N> *t) {
  const float *x = static_cast<const float *>(op->x), *y = static_cast<const float *>(op->y);
  int exponent;
  frexp(static_cast<double>(LARGEST) / magnitude(x, op->nx), &exponent);
  exponent--; // 2^exponent * sum <= LARGEST
  *t = taps_of<N>{};
  t->nx = static_cast<int>(op->nx), t->step = step;
  for (int64_t i = 0; i < op->nx; i++)
    t->x[i] = digits_of(llrint(ldexp(static_cast<double>(x[i]), exponent)));
  for (int64_t j = 0; j < op->ny; j++) t->y[j] = ldexpf(y[j], -exponent);
}

template <int N, int KS, bool RAGGED>
fc_status launch(const fc_sepconv *op, const fc_march &m, fc_band b, const taps_of<N> &t,
                 cudaStream_t stream) {
  const auto kernel = band_kernel<N, KS, RAGGED>;
  if (!has_units(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  b.pitch = layout_of<N, RAGGED>::groups * FC_BAND_WIDTH / 4 + 8 * KS + 4;
  const int rows = layout_of<N, RAGGED>::stages * layout_of<N, RAGGED>::rows;
  return fc_band_launch(kernel, b, m, t, static_cast<int>(sizeof(digits<KS>)) + 4 * rows * b.pitch, op->ny,
                        stream);
}

template <int N, bool RAGGED> fc_status launch(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  taps_of<N> t;
  read_taps(op, m.step, &t);
  fc_band b = fc_band_of(m, layout_of<N, RAGGED>::groups, 0);
  const int64_t ends = (m.images > 1 ? m.out_image : 0) | (m.planes > 1 ? m.out_plane : 0) | m.out_row;
  b.wide = (ends | static_cast<int64_t>(reinterpret_cast<uintptr_t>(m.out))) % 2 == 0;
  b.rows_down = static_cast<int32_t>(op->ny);
  switch ((8 + m.margin + 3 + 31) / 32) {
  case 1: return launch<N, 1, RAGGED>(op, m, b, t, stream);
  case 2: return launch<N, 2, RAGGED>(op, m, b, t, stream);
  case 3: return launch<N, 3, RAGGED>(op, m, b, t, stream);
  case 4: return launch<N, 4, RAGGED>(op, m, b, t, stream);
  default: return FC_UNSUPPORTED;
  }
}

fc_status run_ragged(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const int64_t n = op->ny;
  if (n <= 3) return launch<3, true>(op, m, stream);
  if (n <= 7) return launch<7, true>(op, m, stream);
  if (n <= 15) return launch<15, true>(op, m, stream);
  if (n <= 31) return launch<31, true>(op, m, stream);
  return FC_UNSUPPORTED;
}

fc_status run(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const int64_t n = op->ny;
  if (n <= 3) return launch<3, false>(op, m, stream);
  if (n <= 5) return launch<5, false>(op, m, stream);
  if (n <= 7) return launch<7, false>(op, m, stream);
  if (n <= 9) return launch<9, false>(op, m, stream);
  if (n <= 11) return launch<11, false>(op, m, stream);
  if (n <= 15) return launch<15, false>(op, m, stream);
  if (n <= 19) return launch<19, false>(op, m, stream);
  if (n <= 23) return launch<23, false>(op, m, stream);
  if (n <= 31) return launch<31, false>(op, m, stream);
  return FC_UNSUPPORTED;
}

bool is_plain(fc_dev_map<float> map) {
  return map.scale == 1 && map.bias == 0;
}

} // namespace

fc_status fc_sepconv_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  if (m.in_dtype != FC_U8 || m.out_dtype != FC_U8 || op->rank != 1 || op->nx > MAX_TAPS ||
      !is_plain(m.in_map) || !is_plain(m.out_map) || !is_moderate(op) || (m.edges.on && m.margin > MAX_EDGES))
    return FC_UNSUPPORTED;
  const int64_t starts = (m.images > 1 ? m.in_image : 0) | (m.planes > 1 ? m.in_plane : 0) | m.in_row;
  return starts % 4 == 0 ? run(op, m, stream) : run_ragged(op, m, stream);
}

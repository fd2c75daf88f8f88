// SPDX-License-Identifier: MIT
//
// bands.cuh - the kernels of bands.cu. Both passes are products with a band matrix of weights, by the units
// for matrices of bytes: a block copies the bytes that a tile of outputs reads into shared memory, sums along
// one axis, keeps the values between the passes there, and sums along the other while the next tile is
// copied.
//
// Weights, and values between the passes, are two bytes each; the upper one of a weight is rounded, the lower
// one signed. Sums are exact in any order, so the bits are those of resample_math.h. Values between are
// stored with 2^15 added, which makes their bytes unsigned, and which the last sum takes off again: weights
// of an output add up to 2^14. No filter's weights have absolute values that add up to more than 1.6, so that
// they fit.
//
// `Elements` are samples of a row, channels interleaved; positions are in the signal.
#ifndef FC_FILTERS_RESAMPLE_BANDS_CUH
#define FC_FILTERS_RESAMPLE_BANDS_CUH

#include "filters/gpu/copy_async.cuh"
#include "filters/gpu/matrix_bytes.cuh"
#include "filters/resample/products.cuh"
#include "filters/resample/weights.cuh"

namespace {

constexpr int BAND_WARPS = 8, BAND_THREADS = 32 * BAND_WARPS;
constexpr int BAND_MOST = 512; // inputs of a group
constexpr int BAND_ROWS = 2;   // groups of rows of a tile, at most
constexpr int BAND_BLOCKS = 3; // resident on a multiprocessor

// Weights of an axis for groups of adjacent outputs: of each, four inputs together for all outputs of the
// group before the next four. The inputs of a group of columns begin at a multiple of 16 elements.
struct band {
  uint2 *codes;   // [group][inputs / 4][outputs of a group]
  int2 *range;    // [group]: its first input, and where the last one's window ends
  int32_t inputs; // of a group, a multiple of 16 or 32
  int32_t groups;
  int32_t count;    // outputs of the view: pixels or rows
  int32_t channels; // interleaved
  int64_t from;     // position of the first output
};

// ---- tables -------------------------------------------------------------------

// Where input i of a group is among four adjacent weights. With `turned`, a lane's four are two pairs of
// rows, 8 apart.
__device__ __forceinline__ int band_slot(int i, int n, int outputs, bool turned) {
  const int four = turned ? i / 16 * 4 + i % 8 / 2 : i / 4, in_four = turned ? i % 16 / 8 * 2 + i % 2 : i % 4;
  return (four * outputs + n) * 4 + in_four;
}

// The first input of a group: of columns an element, else a row.
__device__ __forceinline__ int band_start(const fc_resample_axis &a, const band &b, int group, int outputs) {
  int64_t first;
  fc_resample_window(&a, b.from + static_cast<int64_t>(group) * outputs / b.channels, &first);
  return outputs == GROUP_X ? static_cast<int>(first * b.channels) / 16 * 16 : static_cast<int>(first);
}

// The weights of output k, one of each channel, by a warp.
__device__ __forceinline__ void put_band(const fc_resample_axis &a, const band &b, int k, int outputs,
                                         bool turned, int16_t *weights) {
  const int lane = threadIdx.x % 32;
  int64_t first;
  const int taps = static_cast<int>(fc_resample_window(&a, b.from + k, &first));
  fc_put_codes(a, b.from + k, first, taps, fc_norm_of(a, b.from + k, first, taps), weights);
  __syncwarp();
  for (int c = 0; c < b.channels; c++) {
    const int e = k * b.channels + c, group = e / outputs, n = e % outputs;
    const int start = band_start(a, b, group, outputs);
    uint16_t *to =
        reinterpret_cast<uint16_t *>(b.codes + static_cast<int64_t>(group) * (b.inputs / 4) * outputs);
    for (int i = lane; i < b.inputs; i += 32) {
      const int at = start + i, tap = at / b.channels - static_cast<int>(first);
      const int w = at % b.channels == c && tap >= 0 && tap < taps ? weights[tap] : 0;
      to[band_slot(i, n, outputs, turned)] = static_cast<uint16_t>(((w + 128) & 0xff00) | (w & 0xff));
    }
    if (lane == 0 && n == 0) b.range[group].x = start;
    if (lane == 0 && (n == outputs - 1 || e == b.count * b.channels - 1))
      b.range[group].y = static_cast<int>(first + taps) * b.channels;
  }
}

// A warp per output column and row.
__global__ void __launch_bounds__(BAND_THREADS)
    resample_band_tables(fc_resample_axis x, fc_resample_axis y, band bx, band by, int turned) {
  __shared__ int16_t weights[BAND_WARPS][BAND_MOST];
  const int warp = threadIdx.x / 32;
  const int64_t i = blockIdx.x * static_cast<int64_t>(BAND_WARPS) + warp;
  if (i < bx.count)
    put_band(x, bx, static_cast<int>(i), GROUP_X, false, weights[warp]);
  else if (i < static_cast<int64_t>(bx.count) + by.count)
    put_band(y, by, static_cast<int>(i - bx.count), GROUP_Y, turned != 0, weights[warp]);
}

// ---- tiles --------------------------------------------------------------------

struct band_job {
  const char *in; // element 0 of row 0 of the signal, which may be outside the view
  char *out;      // of the view
  int64_t in_row, in_n, in_c, out_row, out_n, out_c; // bytes
  int32_t low, high;                                 // elements of a row that are readable
  int32_t planes, by_n;                              // frames times planes of a frame, planes of a frame
  int32_t width, height;                             // elements and rows of the output
  band x, y;
  int32_t groups_x, groups_y, down; // groups of a tile; tiles below each other
  int32_t vectors, aligned;         // 16 bytes of a tile's rows; whether they are at multiples of 16
  int32_t step_rows, step_vectors;  // of a block's threads: whole rows, and what is left
  fc_dev_divider by_vectors, by_out, by_down, by_planes;
  int32_t raw_pitch, mid_pitch, out_pitch, mid_at, high_at, out_at; // bytes; the latter in shared memory
  int32_t least, most;                                              // limits of sums of the first pass
};

struct band_tile {
  int e0, e1, r0, r1; // elements and rows that are read
  int xg, yg, nx, ny; // first groups and groups
  const char *in;     // the plane's row r0
  char *out;          // the tile's first element
  int above;          // the first row that the second group of rows reads, from r0 on
};

// What blocks do not change: their columns.
__device__ __forceinline__ band_tile band_columns_of(const band_job &j) {
  band_tile t;
  t.xg = static_cast<int>(blockIdx.x) * j.groups_x, t.nx = min(j.groups_x, j.x.groups - t.xg);
  t.e0 = j.x.range[t.xg].x, t.e1 = j.x.range[t.xg + t.nx - 1].y;
  return t;
}

__device__ __forceinline__ void set_rows(const band_job &j, int tile, band_tile &t) {
  const int plane = j.by_down.quotient(tile), n = j.by_planes.quotient(plane), c = plane - n * j.by_n;
  t.yg = (tile - plane * j.down) * j.groups_y, t.ny = min(j.groups_y, j.y.groups - t.yg);
  const int2 first = j.y.range[t.yg], last = j.y.range[t.yg + t.ny - 1];
  t.r0 = first.x, t.r1 = last.y, t.above = last.x - first.x;
  t.in = j.in + n * j.in_n + c * j.in_c + t.r0 * j.in_row;
  t.out =
      j.out + n * j.out_n + c * j.out_c + static_cast<int64_t>(t.yg) * GROUP_Y * j.out_row + t.xg * GROUP_X;
}

// 16 bytes that begin anywhere, by aligned words.
__device__ __forceinline__ void copy_skewed(char *to, const char *from) {
  const unsigned skew = static_cast<unsigned>(reinterpret_cast<uintptr_t>(from) & 3);
  const uint32_t *w = reinterpret_cast<const uint32_t *>(from - skew);
  const uint32_t a = w[0], b = w[1], c = w[2], d = w[3], e = skew ? w[4] : 0;
  *reinterpret_cast<uint4 *>(to) =
      make_uint4(__funnelshift_r(a, b, 8 * skew), __funnelshift_r(b, c, 8 * skew),
                 __funnelshift_r(c, d, 8 * skew), __funnelshift_r(d, e, 8 * skew));
}

// Enqueues the copy of what a tile reads. Elements beyond the view stay what they are: their weights are 0.
__device__ __forceinline__ void copy_tile(const band_job &j, const band_tile &t, unsigned char *raw) {
  const bool inside = t.e0 >= j.low && t.e0 + 16 * ((t.e1 - t.e0 + 15) / 16) <= j.high && j.aligned;
  const int rows = t.r1 - t.r0, in_row = static_cast<int>(j.in_row); // a tile's rows are within 2 GB
  int r = j.by_vectors.quotient(threadIdx.x), q = static_cast<int>(threadIdx.x) - r * j.vectors;
  const char *first = t.in + t.e0;
  for (; r < rows; r += j.step_rows, q += j.step_vectors) {
    if (q >= j.vectors) q -= j.vectors, r++;
    if (r >= rows) break;
    const int e = t.e0 + 16 * q;
    if (e >= t.e1) continue;
    const char *at = first + (r * in_row + 16 * q);
    char *to = reinterpret_cast<char *>(raw + r * j.raw_pitch + 16 * q);
    if (inside)
      fc_copy_words(to, at);
    else if (e < j.low || e + 16 > j.high)
      for (int k = max(j.low - e, 0); k < min(j.high - e, 16); k++) to[k] = at[k];
    else if (j.aligned)
      fc_copy_words(to, at);
    else
      copy_skewed(to, at);
  }
  fc_commit_copies();
}

// Lower and upper bytes of four weights.
__device__ __forceinline__ void part_weights(uint2 four, uint32_t &low, uint32_t &high) {
  low = __byte_perm(four.x, four.y, 0x6420), high = __byte_perm(four.x, four.y, 0x7531);
}

// The weights of 16 rows for 32 inputs, as the left side of a product.
struct row_weights {
  uint32_t low[4], high[4];
  __device__ __forceinline__ void load(const uint2 *codes, int step, int g, int t) {
    const uint2 *at = codes + (8 * step + t) * GROUP_Y + g;
    part_weights(at[0], low[0], high[0]), part_weights(at[8], low[1], high[1]);
    part_weights(at[4 * GROUP_Y], low[2], high[2]), part_weights(at[4 * GROUP_Y + 8], low[3], high[3]);
  }
};

// Sums of 16 rows at 16 h + 2 n + i of 32 columns, as of[2 h + i], times the lower and the upper bytes of the
// weights.
struct four_columns {
  fc_matrix_sums of[4][2];
};

// `at` is the lane's row of 16, and half of the columns.
__device__ __forceinline__ void add_rows(four_columns &s, const row_weights &w, const unsigned char *at,
                                         int pitch) {
  uint32_t column[2][4];
#pragma unroll
  for (int half = 0; half < 2; half++) {
    uint32_t a[4]; // pairs of columns in two rows each: 0 to 7, 8 to 15 of the left half, of the right half
    fc_matrix_load_turned(a, at + 16 * half * pitch);
    column[half][0] = __byte_perm(a[0], a[1], 0x6420), column[half][1] = __byte_perm(a[0], a[1], 0x7531);
    column[half][2] = __byte_perm(a[2], a[3], 0x6420), column[half][3] = __byte_perm(a[2], a[3], 0x7531);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    s.of[i][0] = fc_matrix_product_signed(w.low, column[0][i], column[1][i], s.of[i][0]);
    s.of[i][1] = fc_matrix_product_signed(w.high, column[0][i], column[1][i], s.of[i][1]);
  }
}

static_assert(FC_RESAMPLE_SHIFT(0) == 8, "the first pass takes whole bytes off");

__device__ __forceinline__ void begin(fc_matrix_sums &s, int32_t with) {
#pragma unroll
  for (int i = 0; i < 4; i++) s.of[i] = with;
}

// The values of a lane, 4 adjacent columns of each half in rows g and g + 8: lower and upper bytes apart.
__device__ __forceinline__ void put_columns(const four_columns &s, unsigned char *low, unsigned char *high,
                                            int pitch) {
#pragma unroll
  for (int row = 0; row < 2; row++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      uint32_t v[4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const fc_matrix_sums(&part)[2] = s.of[2 * h + k % 2];
        v[k] = static_cast<uint32_t>(part[0].of[2 * row + k / 2]) +
               (static_cast<uint32_t>(part[1].of[2 * row + k / 2]) << 8);
      }
      const uint32_t one = __byte_perm(v[0], v[1], 0x6251), two = __byte_perm(v[2], v[3], 0x6251);
      const int to = 8 * row * pitch + 16 * h;
      *reinterpret_cast<uint32_t *>(low + to) = __byte_perm(one, two, 0x5410);
      *reinterpret_cast<uint32_t *>(high + to) = __byte_perm(one, two, 0x7632);
    }
}

// First pass down the columns, 32 at a time by a warp. STEPS of 32 inputs, whose weights are kept; 0: any.
template <int STEPS>
__device__ __forceinline__ void sum_down(const band_job &j, const band_tile &tile, unsigned char *shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4,
            steps = j.y.inputs / 32;
  for (int m = 0; m < tile.ny; m++) {
    const int group = tile.yg + m;
    const uint2 *codes = j.y.codes + static_cast<int64_t>(group) * (j.y.inputs / 4) * GROUP_Y;
    const unsigned char *raw = shared + ((m ? tile.above : 0) + lane % 16) * j.raw_pitch + lane / 16 * 16;
    row_weights kept[STEPS ? STEPS : 1];
#pragma unroll
    for (int s = 0; s < STEPS; s++) kept[s].load(codes, s, g, t);
    for (int x = 32 * warp; x < tile.e1 - tile.e0; x += 32 * BAND_WARPS) {
      four_columns sums;
#pragma unroll
      for (int i = 0; i < 4; i++) begin(sums.of[i][0], FIRST_BIAS), begin(sums.of[i][1], 0);
      if constexpr (STEPS > 0) {
#pragma unroll
        for (int s = 0; s < STEPS; s++) add_rows(sums, kept[s], raw + x + 32 * s * j.raw_pitch, j.raw_pitch);
      } else
#pragma unroll 1
        for (int s = 0; s < steps; s++) {
          kept[0].load(codes, s, g, t);
          add_rows(sums, kept[0], raw + x + 32 * s * j.raw_pitch, j.raw_pitch);
        }
      const int to = (GROUP_Y * m + g) * j.mid_pitch + x + 4 * t;
      put_columns(sums, shared + j.mid_at + to, shared + j.high_at + to, j.mid_pitch);
    }
  }
}

// The three parts of a sum of the second pass, by the bytes multiplied.
struct parts {
  fc_matrix_sums of[3];
};

__device__ __forceinline__ void begin(parts &p) {
  begin(p.of[0], LAST_BIAS), begin(p.of[1], 0), begin(p.of[2], 0);
}

// Where a lane's outputs of rows g and g + 8 of a group of rows are in shared memory: rows have the offsets
// from multiples of 16 that they have in memory.
__device__ __forceinline__ int place_of(const band_job &j, const band_tile &tile, int row) {
  const unsigned to = static_cast<unsigned>(reinterpret_cast<uintptr_t>(tile.out)) +
                      static_cast<unsigned>(row) * static_cast<unsigned>(j.out_row);
  return j.out_at + row * j.out_pitch + static_cast<int>(to & 15) + 2 * (static_cast<int>(threadIdx.x) % 4);
}

// Elements 2 t and 2 t + 1 of a group, of two rows.
__device__ __forceinline__ void put_outputs(const parts &p, unsigned char *upper, unsigned char *lower) {
  int32_t v[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint32_t sum = static_cast<uint32_t>(p.of[0].of[i]) + (static_cast<uint32_t>(p.of[1].of[i]) << 8) +
                         (static_cast<uint32_t>(p.of[2].of[i]) << 16);
    v[i] = static_cast<int32_t>(sum) >> FC_RESAMPLE_SHIFT(1);
  }
  const uint32_t one = fc_two_bytes(v[0], v[1], 0), two = fc_two_bytes(v[2], v[3], 0);
  upper[0] = static_cast<unsigned char>(one), upper[1] = static_cast<unsigned char>(one >> 8);
  lower[0] = static_cast<unsigned char>(two), lower[1] = static_cast<unsigned char>(two >> 8);
}

// The weights of 8 elements for 32 inputs, as the right side of a product.
struct column_weights {
  uint32_t low[2], high[2];
  __device__ __forceinline__ void load(const uint2 *codes, int step, int g, int t) {
    const uint2 *at = codes + (8 * step + t) * GROUP_X + g;
    part_weights(at[0], low[0], high[0]), part_weights(at[4 * GROUP_X], low[1], high[1]);
  }
};

// Second pass along the rows, a group of elements at a time by a warp, for ROWS groups of rows. Those that
// the tile lacks are of no meaning, and not stored.
template <int ROWS>
__device__ __forceinline__ void sum_across_last(const band_job &j, const band_tile &tile,
                                                unsigned char *shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int corner = j.mid_at + lane % 16 * j.mid_pitch + lane / 16 * 16 - tile.e0,
            upper = j.high_at - j.mid_at;
  int place[ROWS][2];
#pragma unroll
  for (int m = 0; m < ROWS; m++)
    place[m][0] = place_of(j, tile, GROUP_Y * m + g), place[m][1] = place_of(j, tile, GROUP_Y * m + g + 8);
  const int steps = j.x.inputs / 32;
  const uint2 *codes = j.x.codes + static_cast<int64_t>(tile.xg + warp) * (8 * steps) * GROUP_X;
  for (int k = warp; k < tile.nx; k += BAND_WARPS, codes += BAND_WARPS * 8 * steps * GROUP_X) {
    const unsigned char *low = shared + corner + j.x.range[tile.xg + k].x;
    parts sums[ROWS];
#pragma unroll
    for (int m = 0; m < ROWS; m++) begin(sums[m]);
#pragma unroll 2
    for (int s = 0; s < steps; s++) {
      column_weights w;
      w.load(codes, s, g, t);
#pragma unroll
      for (int m = 0; m < ROWS; m++) {
        uint32_t a[4], b[4];
        fc_matrix_load(a, low + 32 * s + m * GROUP_Y * j.mid_pitch);
        fc_matrix_load(b, low + 32 * s + m * GROUP_Y * j.mid_pitch + upper);
        sums[m].of[0] = fc_matrix_product(a, w.low[0], w.low[1], sums[m].of[0]);
        sums[m].of[1] = fc_matrix_product(a, w.high[0], w.high[1], sums[m].of[1]);
        sums[m].of[1] = fc_matrix_product(b, w.low[0], w.low[1], sums[m].of[1]);
        sums[m].of[2] = fc_matrix_product(b, w.high[0], w.high[1], sums[m].of[2]);
      }
    }
#pragma unroll
    for (int m = 0; m < ROWS; m++)
      put_outputs(sums[m], shared + place[m][0] + GROUP_X * k, shared + place[m][1] + GROUP_X * k);
  }
}

// First pass along the rows: a group of elements in four times 16 rows at a time, values of 16 bits.
__device__ __forceinline__ void sum_across(const band_job &j, const band_tile &tile, unsigned char *shared) {
  constexpr int AT_ONCE = 4;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int blocks = (tile.r1 - tile.r0 + 15) / 16, parts = (blocks + AT_ONCE - 1) / AT_ONCE;
  for (int i = warp; i < tile.nx * parts; i += BAND_WARPS) {
    const int part = i / tile.nx, k = i - part * tile.nx, group = tile.xg + k, first = part * AT_ONCE;
    const uint2 *codes = j.x.codes + static_cast<int64_t>(group) * (j.x.inputs / 4) * GROUP_X;
    const unsigned char *raw =
        shared + lane % 16 * j.raw_pitch + lane / 16 * 16 + j.x.range[group].x - tile.e0;
    fc_matrix_sums sums[AT_ONCE][2];
#pragma unroll
    for (int m = 0; m < AT_ONCE; m++) begin(sums[m][0], FIRST_BIAS), begin(sums[m][1], 0);
#pragma unroll 1
    for (int s = 0; s < j.x.inputs / 32; s++) {
      column_weights w;
      w.load(codes, s, g, t);
#pragma unroll
      for (int m = 0; m < AT_ONCE; m++) {
        if (first + m >= blocks) continue;
        uint32_t a[4];
        fc_matrix_load(a, raw + 32 * s + 16 * (first + m) * j.raw_pitch);
        sums[m][0] = fc_matrix_product(a, w.low[0], w.low[1], sums[m][0]);
        sums[m][1] = fc_matrix_product(a, w.high[0], w.high[1], sums[m][1]);
      }
    }
#pragma unroll
    for (int m = 0; m < AT_ONCE; m++) {
      if (first + m >= blocks) continue;
      int32_t v[4];
#pragma unroll
      for (int i = 0; i < 4; i++)
        v[i] = min(max(static_cast<int32_t>(static_cast<uint32_t>(sums[m][0].of[i]) +
                                            (static_cast<uint32_t>(sums[m][1].of[i]) << 8)),
                       j.least),
                   j.most);
      unsigned char *to =
          shared + j.mid_at + (16 * (first + m) + g) * j.mid_pitch + 2 * (GROUP_X * k + 2 * t);
      *reinterpret_cast<uint32_t *>(to) =
          __byte_perm(static_cast<uint32_t>(v[0]), static_cast<uint32_t>(v[1]), 0x6521);
      *reinterpret_cast<uint32_t *>(to + 8 * j.mid_pitch) =
          __byte_perm(static_cast<uint32_t>(v[2]), static_cast<uint32_t>(v[3]), 0x6521);
    }
  }
}

// The weights of 16 rows for 16 inputs of two bytes, lower one first: times the lower bytes, times both,
// times the upper ones.
struct pair_weights {
  uint32_t of[3][4];
  __device__ __forceinline__ void load(const uint2 *codes, int step, int g, int t) {
    const uint32_t *at = reinterpret_cast<const uint32_t *>(codes + (4 * step + t / 2) * GROUP_Y + g) + t % 2;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint32_t two = at[2 * (i % 2 * 8 + i / 2 * 2 * GROUP_Y)];
      of[0][i] = two & 0x00ff00ffu, of[1][i] = __byte_perm(two, 0, 0x2301), of[2][i] = two & 0xff00ff00u;
    }
  }
};

// Second pass down the columns: two groups of elements at a time by a warp.
__device__ __forceinline__ void sum_down_last(const band_job &j, const band_tile &tile,
                                              unsigned char *shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int pairs = (tile.nx + 1) / 2;
  for (int i = warp; i < pairs * tile.ny; i += BAND_WARPS) {
    const int m = i >= pairs ? 1 : 0, k = 2 * (i - m * pairs), group = tile.yg + m;
    const uint2 *codes = j.y.codes + static_cast<int64_t>(group) * (j.y.inputs / 4) * GROUP_Y;
    const unsigned char *mid =
        shared + j.mid_at + ((m ? tile.above : 0) + lane % 16) * j.mid_pitch + 2 * GROUP_X * (k + lane / 16);
    parts sums[2];
    begin(sums[0]), begin(sums[1]);
#pragma unroll 2
    for (int s = 0; s < j.y.inputs / 16; s++) {
      pair_weights w;
      w.load(codes, s, g, t);
      uint32_t b[4];
      fc_matrix_load_turned(b, mid + 16 * s * j.mid_pitch);
#pragma unroll
      for (int part = 0; part < 3; part++) {
        sums[0].of[part] = fc_matrix_product_signed(w.of[part], b[0], b[1], sums[0].of[part]);
        sums[1].of[part] = fc_matrix_product_signed(w.of[part], b[2], b[3], sums[1].of[part]);
      }
    }
    unsigned char *one = shared + place_of(j, tile, GROUP_Y * m + g) + GROUP_X * k,
                  *two = shared + place_of(j, tile, GROUP_Y * m + g + 8) + GROUP_X * k;
    put_outputs(sums[0], one, two);
    if (k + 1 < tile.nx) put_outputs(sums[1], one + GROUP_X, two + GROUP_X);
  }
}

// The tile of outputs from shared memory: 16 bytes at multiples of 16 at once, what is left at the ends
// singly.
__device__ __forceinline__ void store_tile(const band_job &j, const band_tile &t, const unsigned char *from) {
  const int bytes = min(t.nx * GROUP_X, j.width - t.xg * GROUP_X);
  const int rows = min(t.ny * GROUP_Y, j.height - t.yg * GROUP_Y), vectors = j.out_pitch / 16;
  for (int i = threadIdx.x; i < rows * vectors; i += BAND_THREADS) {
    const int r = j.by_out.quotient(i), q = 16 * (i - r * vectors);
    char *to = t.out + r * j.out_row;
    const int skew = static_cast<int>(static_cast<unsigned>(reinterpret_cast<uintptr_t>(to)) & 15);
    if (q >= skew && q + 16 <= skew + bytes)
      *reinterpret_cast<uint4 *>(to - skew + q) =
          *reinterpret_cast<const uint4 *>(from + r * j.out_pitch + q);
  }
  for (int i = threadIdx.x; i < 32 * rows; i += BAND_THREADS) {
    const int r = i / 32, k = i % 16;
    char *to = t.out + r * j.out_row;
    const int skew = static_cast<int>(reinterpret_cast<uintptr_t>(to) & 15), end = skew + bytes;
    const int at = i % 32 < 16 ? k : end / 16 * 16 + k; // the first vector, or the last
    const bool whole = i % 32 < 16 && skew == 0 && end >= 16;
    if (!whole && at >= skew && at < end) to[at - skew] = static_cast<char>(from[r * j.out_pitch + at]);
  }
}

template <bool DOWN_FIRST, int STEPS, int ROWS>
__global__ void __launch_bounds__(BAND_THREADS, DOWN_FIRST &&STEPS == 3 ? 2 : BAND_BLOCKS)
    resample_bands(const __grid_constant__ band_job j) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) unsigned char resample_bands_shared[];
  unsigned char *shared = resample_bands_shared;
  const int all = j.down * j.planes;
  int i = static_cast<int>(blockIdx.y);
  if (i >= all) return;
  band_tile tile = band_columns_of(j);
  set_rows(j, i, tile);
  copy_tile(j, tile, shared);
  for (;;) {
    i += static_cast<int>(gridDim.y);
    band_tile next = tile; // what it reads is looked up before it is needed
    set_rows(j, min(i, all - 1), next);
    fc_await_copies();
    __syncthreads();
    if constexpr (DOWN_FIRST)
      sum_down<STEPS>(j, tile, shared);
    else
      sum_across(j, tile, shared);
    __syncthreads();
    if (i < all) copy_tile(j, next, shared);
    if constexpr (DOWN_FIRST)
      sum_across_last<ROWS>(j, tile, shared);
    else
      sum_down_last(j, tile, shared);
    __syncthreads();
    store_tile(j, tile, shared + j.out_at);
    if (i >= all) break;
    tile = next;
  }
#endif
}

} // namespace

#endif

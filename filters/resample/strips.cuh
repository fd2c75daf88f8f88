// SPDX-License-Identifier: MIT
//
// strips.cuh - the kernel of strips.cu: bytes along rows, then down columns. A warp takes a strip of 16
// elements of output, or of two TILES of 16, and walks down; the warps of a block have adjacent strips, and
// copy the rows that they read together, 32 at a time, into a ring. The weights of a strip's columns stay in
// registers, as the left side of a product whose right side are 16 rows as they lie in the ring; and since
// its sums lie in a warp as the left side of the next wants them, they are multiplied, out of registers, by
// the weights of each group of 8 rows of output whose window ends there.
//
// Of values between the passes the upper byte is signed, the lower one is not. A unit is 16 rows, at
// multiples of 16 in the signal; a group reads UNITS of them at most, which are the last ones that a warp
// keeps. STEPS of 32 elements; 0: as many as there are, and weights are looked up where they are used.
#ifndef FC_FILTERS_RESAMPLE_STRIPS_CUH
#define FC_FILTERS_RESAMPLE_STRIPS_CUH

#include "filters/resample/products.cuh"

namespace {

constexpr int STRIP = 16, STRIP_ROWS = 8, STRIP_UNIT = 16;
constexpr int STRIP_WARPS = 8, STRIP_ANY_WARPS = 4, STRIP_BLOCKS = 2; // of a block; blocks that are resident
constexpr int STRIP_STAGES = 3, STRIP_COPIED = 2 * STRIP_UNIT;        // rows copied together
constexpr int STRIP_ANY_UNITS = 20;                                   // where STEPS is 0

// ---- tables -------------------------------------------------------------------

// X: [strip][step][tile][lower, upper][lane]; Y: [group][step][lane], two words of lower bytes and two of
// upper ones.
struct strip_tables {
  // The elements of pixel k: of a strip of one tile, 2 g and 2 g + 1 are rows g and g + 8 of the product; of
  // two, 4 g to 4 g + 3 those of the first product and of the second.
  static __device__ __forceinline__ void put_columns(const fc_resample_axis &a, const product_axis &x, int k,
                                                     int first, int taps, const int16_t *weights) {
    const int lane = static_cast<int>(threadIdx.x) % 32, channels = x.channels, wide = STRIP * x.tiles;
    for (int c = 0; c < channels; c++) {
      const int e = k * channels + c, strip = e / wide, n = e % wide, pixel = strip * wide / channels;
      int start = first;
      if (pixel != k) window_of(a, x, pixel, &start);
      start = start * channels / 16 * 16;
      if (lane == 0 && n == 0) x.range[strip].x = start;
      if (lane == 0 && (n == wide - 1 || e == x.count * channels - 1))
        x.range[strip].y = (first + taps) * channels;
      const int from = first * channels + c - start; // the first tap's place
      for (int i = lane; i < 32 * x.steps; i += 32) {
        const int tap = i >= from ? (i - from) / channels : 0;
        const bool mine = i >= from && (i - from) % channels == 0 && tap < taps;
        uint4 *to = x.codes +
                    ((static_cast<int64_t>(strip) * x.steps + i / 32) * x.tiles + n / 2 % x.tiles) * 64 +
                    n / (2 * x.tiles) * 4 + i % 16 / 4;
        const int byte = (i % 32 / 16 * 2 + n % 2) * 4 + i % 4;
        put_code(to, to + 32, byte, byte, mine ? weights[tap] : 0);
      }
    }
  }

  // Row k; inputs are in the order in which a lane has them: of a unit, rows 2 t, 2 t + 1, and those 8
  // further.
  static __device__ __forceinline__ void put_row(const fc_resample_axis &a, const product_axis &y, int k,
                                                 int first, int taps, const int16_t *weights) {
    const int lane = static_cast<int>(threadIdx.x) % 32, group = k / STRIP_ROWS, n = k % STRIP_ROWS;
    const int last_row = min(group * STRIP_ROWS + STRIP_ROWS - 1, y.count - 1);
    int last = first;
    const int last_taps = last_row == k ? taps : window_of(a, y, last_row, &last), end = last + last_taps;
    const int start = ((end - 1) / STRIP_UNIT + 1) * STRIP_UNIT - 32 * y.steps;
    if (lane == 0 && n == 0) y.range[group].x = first;
    if (lane == 0 && last_row == k) y.range[group].y = end;
    for (int i = lane; i < 32 * y.steps; i += 32) {
      const int tap = start + i - first, r = i % 16;
      uint4 *to = y.codes + (static_cast<int64_t>(group) * y.steps + i / 32) * 32 + n * 4 + r % 8 / 2;
      const int byte = i % 32 / 16 * 4 + r / 8 * 2 + r % 2;
      put_code(to, to, byte, 8 + byte, tap >= 0 && tap < taps ? weights[tap] : 0);
    }
  }
};

// ---- a warp's work --------------------------------------------------------------

struct strip_job {
  const char *in; // element 0 of row 0 of the signal, which may be outside the view
  char *out;      // of the view
  int64_t in_row, in_n, in_c, out_row, out_n, out_c; // bytes
  int32_t low, high;                                 // elements of a row that are readable
  int32_t planes, by_n;                              // frames times planes of a frame, planes of a frame
  int32_t width, height;                             // elements and rows of the output
  int32_t strips, groups;                            // of a row; of a plane
  int32_t segment, segments;                         // groups of a block's rows; such parts of a plane
  int32_t pitch, stage;                              // bytes of a copied row, and of 32 of them
  int32_t skewed;                                    // rows do not begin at multiples of 16 bytes
  uint32_t least, most;                              // values between the passes: two of 16 bits
  product_axis x, y;
  fc_dev_divider by_segments, by_planes;
};

// A lane's values of a unit: two elements, in four rows each; lower and upper bytes.
struct strip_unit {
  uint32_t low[2], high[2];
};

// Sums of a unit as they grow.
template <int TILES> struct strip_sums {
  fc_matrix_sums low[TILES][2], high[TILES][2]; // of rows 8 i + 2 t and one more
  // 32 elements. `at`: for four 8 x 16 parts, of two times 8 rows, left and right, a row each.
  __device__ __forceinline__ void add(const product_left (&w)[TILES], const unsigned char *at) {
    uint32_t b[4];
    fc_matrix_load(b, at);
#pragma unroll
    for (int m = 0; m < TILES; m++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        low[m][i] = fc_matrix_product_signed(w[m].low, b[2 * i], b[2 * i + 1], low[m][i]);
        high[m][i] = fc_matrix_product_signed(w[m].high, b[2 * i], b[2 * i + 1], high[m][i]);
      }
  }
};

// Sums 16 rows along, of TILES tiles, by the weights `w`, or so many steps of `codes`.
template <int STEPS, int TILES>
__device__ __forceinline__ void sum_unit(strip_unit (&to)[TILES], const strip_job &j,
                                         const product_left (&w)[STEPS ? STEPS : 1][TILES],
                                         const uint4 *codes, const unsigned char *at) {
  strip_sums<TILES> sums;
#pragma unroll
  for (int m = 0; m < TILES; m++)
#pragma unroll
    for (int i = 0; i < 2; i++)
      sums.low[m][i] = sums_of(1 << (FC_RESAMPLE_SHIFT(0) - 1)), sums.high[m][i] = sums_of(0);
  if constexpr (STEPS > 0) {
#pragma unroll
    for (int s = 0; s < STEPS; s++) sums.add(w[s], at + 32 * s);
  } else {
#pragma unroll 2
    for (int s = 0; s < j.x.steps; s++) {
      product_left some[TILES];
#pragma unroll
      for (int m = 0; m < TILES; m++) some[m].load(codes + 64 * (s * TILES + m));
      sums.add(some, at + 32 * s);
    }
  }
#pragma unroll
  for (int m = 0; m < TILES; m++)
#pragma unroll
    for (int e = 0; e < 2; e++) {
      uint32_t two[2];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        uint32_t v[2];
#pragma unroll
        for (int k = 0; k < 2; k++)
          v[k] = static_cast<uint32_t>(sums.low[m][i].of[2 * e + k]) +
                 (static_cast<uint32_t>(sums.high[m][i].of[2 * e + k]) << 8);
        two[i] = __vmaxs2(__vmins2(__byte_perm(v[0], v[1], 0x6521), j.most), j.least);
      }
      to[m].low[e] = __byte_perm(two[0], two[1], 0x6420), to[m].high[e] = __byte_perm(two[0], two[1], 0x7531);
    }
}

// A group of outputs from the last units, of which NEWEST is the last: two elements of rows 2 t (upper) and
// 2 t + 1, in the lower bytes, below those that were there. KEPT: the weights are `rows`; else those of
// `codes`, without the first `none` steps, which are not in windows.
template <int NEWEST, int UNITS, int TILES, int KEPT>
__device__ __forceinline__ void sum_rows(const strip_unit (&v)[UNITS][TILES], int tile,
                                         const uint4 (&rows)[KEPT ? KEPT : 1], const uint4 *codes, int none,
                                         uint32_t &upper, uint32_t &lower) {
  fc_matrix_sums sums[4] = {sums_of(1 << (FC_RESAMPLE_SHIFT(1) - 1)), sums_of(0), sums_of(0), sums_of(0)};
#pragma unroll
  for (int s = 0; s < UNITS / 2; s++) {
    if (!KEPT && s < none) continue;
    const uint4 w = KEPT ? rows[KEPT ? s : 0] : codes[32 * (s - none)];
    const strip_unit &a = v[(NEWEST + 1 + 2 * s) % UNITS][tile], &b = v[(NEWEST + 2 + 2 * s) % UNITS][tile];
    const uint32_t low[4] = {a.low[0], a.low[1], b.low[0], b.low[1]},
                   high[4] = {a.high[0], a.high[1], b.high[0], b.high[1]};
    sums[0] = fc_matrix_product(low, w.x, w.y, sums[0]);
    sums[1] = fc_matrix_product(low, w.z, w.w, sums[1]);
    sums[2] = fc_matrix_product_both(high, w.x, w.y, sums[2]);
    sums[3] = fc_matrix_product_both(high, w.z, w.w, sums[3]);
  }
  int32_t to[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    to[i] = static_cast<int32_t>(
                static_cast<uint32_t>(sums[0].of[i]) +
                ((static_cast<uint32_t>(sums[1].of[i]) + static_cast<uint32_t>(sums[2].of[i])) << 8) +
                (static_cast<uint32_t>(sums[3].of[i]) << 16)) >>
            FC_RESAMPLE_SHIFT(1);
  upper = fc_two_bytes(to[0], to[2], upper), lower = fc_two_bytes(to[1], to[3], lower);
}

// COUNT bytes of a row, of which `left` are in it; at once, in parts of two bytes, or singly.
enum strip_way { SINGLY, BY_TWO, AT_ONCE };
template <int COUNT> __device__ __forceinline__ int strip_way_of(const char *to, int left) {
  if (left < COUNT) return SINGLY;
  const unsigned low = static_cast<unsigned>(reinterpret_cast<uintptr_t>(to));
  return low % COUNT == 0 ? AT_ONCE : low % 2 == 0 ? BY_TWO : SINGLY;
}
template <int COUNT>
__device__ __forceinline__ void strip_store(char *to, uint32_t bytes, int left, int way) {
  if (COUNT == 4 && way == AT_ONCE) *reinterpret_cast<uint32_t *>(to) = bytes;
  if (COUNT == 2 ? way == AT_ONCE : way == BY_TWO)
    *reinterpret_cast<uint16_t *>(to) = static_cast<uint16_t>(bytes);
  if (COUNT == 4 && way == BY_TWO) *reinterpret_cast<uint16_t *>(to + 2) = static_cast<uint16_t>(bytes >> 16);
  if (way == SINGLY)
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (i < left) to[i] = static_cast<char>(bytes >> 8 * i);
}

// A block on its way down. Where rows do not begin at multiples of 16 bytes, what is copied then does, one
// vector more, and is shifted in its place by the warp that has copied it.
template <int STEPS, int UNITS, int TILES> struct strip_walk {
  static constexpr bool ANY = STEPS == 0;
  static constexpr int WARPS = ANY ? STRIP_ANY_WARPS : STRIP_WARPS;
  static constexpr int PER = 2 * TILES;            // adjacent elements of a lane
  static constexpr int KEPT = ANY ? 0 : UNITS / 2; // steps of a group, whose weights are kept
  const strip_job &j;
  unsigned char *ring;
  const char *from;       // the lane's first 16 bytes of the warp's first row that is copied next
  int e0, vectors;        // of the copied rows
  int row;                // the next one that is copied
  int first_row, end_row; // those that are copied
  unsigned fill_at,
      read; // bytes: the stage that is filled next, and the lane's place in the one that is read
  unsigned lane_at;
  product_left columns[ANY ? 1 : STEPS][TILES];
  const uint4 *column_codes;
  strip_unit values[UNITS][TILES];
  const uint4 *codes, *next_codes; // of the group after the next, of the next
  const int2 *range;
  uint4 rows[ANY ? 1 : KEPT]; // weights of the next group
  int unit, end;              // and its last unit
  int left_x, left_y;         // elements, rows of the next group that are stored
  char *to;
  const int2 *last_range; // of the last group
  int way, way_below;     // how the lane's bytes are stored: alignments do not change on the way down

  // Of the warp's i-th row of any stage.
  __device__ __forceinline__ unsigned skew_of(int i) const {
    return (static_cast<unsigned>(reinterpret_cast<uintptr_t>(from)) +
            static_cast<unsigned>(i * WARPS) * static_cast<unsigned>(j.in_row)) %
           16;
  }
  // A warp every WARPS-th row.
  __device__ __forceinline__ void fill() {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    constexpr int MINE = STRIP_COPIED / WARPS;
    const bool inside = !j.skewed && row >= first_row && row + STRIP_COPIED <= end_row;
    unsigned char *place = ring + fill_at + warp * j.pitch + 16 * lane;
    const char *at = from;
    const int64_t apart = WARPS * j.in_row;
    for (int v = lane; v < vectors; v += 32, place += 512, at += 512) {
      const int e = e0 + 16 * v;
      if (inside && e >= j.low && e + 16 <= j.high) {
        const char *line = at;
#pragma unroll
        for (int i = 0; i < MINE; i++, line += apart) fc_copy_words_line(place + WARPS * i * j.pitch, line);
      } else
#pragma unroll 1
        for (int i = 0; i < MINE; i++) {
          const int r = row + warp + WARPS * i, back = j.skewed ? static_cast<int>(skew_of(i)) : 0;
          if (r >= first_row && r < end_row && e - back + 16 > j.low && e - back < j.high)
            fc_copy_words_begun(place + WARPS * i * j.pitch, at + i * apart - back,
                                min(j.high - (e - back), 16));
        }
    }
    fc_commit_copies();
    row += STRIP_COPIED, from += STRIP_COPIED * j.in_row, fill_at += static_cast<unsigned>(j.stage);
    if (fill_at == static_cast<unsigned>(STRIP_STAGES * j.stage)) fill_at = 0;
  }
  // The rows of a stage that the warp has copied.
  __device__ __forceinline__ void shift(unsigned char *stage) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    __syncwarp();
#pragma unroll 1
    for (int i = 0; i < STRIP_COPIED / WARPS; i++) {
      const unsigned skew = skew_of(i), by = skew % 4 * 8;
      unsigned char *at = stage + (warp + WARPS * i) * j.pitch;
#pragma unroll 1
      for (int begin = 0; begin < vectors - 1; begin += 32) {
        const int v = begin + lane;
        uint32_t w[5];
        if (v < vectors - 1)
#pragma unroll
          for (unsigned k = 0; k < 5; k++)
            w[k] = *reinterpret_cast<const uint32_t *>(at + 16 * v + skew / 4 * 4 + 4 * k);
        __syncwarp();
        if (v < vectors - 1)
          *reinterpret_cast<uint4 *>(at + 16 * v) =
              make_uint4(__funnelshift_r(w[0], w[1], by), __funnelshift_r(w[1], w[2], by),
                         __funnelshift_r(w[2], w[3], by), __funnelshift_r(w[3], w[4], by));
        __syncwarp();
      }
    }
  }
  __device__ __forceinline__ int steps_down() const {
    return ANY ? j.y.steps : KEPT;
  }
  // Weights and end of the group after the one that was there; the last one stays.
  __device__ __forceinline__ void next_group() {
#pragma unroll
    for (int s = 0; s < KEPT; s++) rows[s] = codes[32 * s];
    end = static_cast<int>(static_cast<unsigned>(range->y - 1) / STRIP_UNIT), next_codes = codes;
    if (range != last_range) codes += 32 * steps_down(), range++;
  }
  __device__ __forceinline__ void enter() {
    fc_await_copies<STRIP_STAGES - 2>();
    read += static_cast<unsigned>(j.stage);
    if (read == static_cast<unsigned>(STRIP_STAGES * j.stage)) read = 0;
    if (j.skewed) shift(ring + read);
    __syncthreads();
    fill();
  }
  // The groups that end at the unit, which is values[AT]; whether they were the last ones.
  template <int AT> __device__ __forceinline__ bool finish() {
    while (end == unit) {
      uint32_t upper = 0, lower = 0;
#pragma unroll
      for (int m = TILES - 1; m >= 0; m--)
        sum_rows<AT, UNITS, TILES, KEPT>(values, m, rows, next_codes, UNITS / 2 - steps_down(), upper, lower);
      const bool last = left_y <= STRIP_ROWS;
      const int t2 = static_cast<int>(threadIdx.x) % 4 * 2;
      next_group();
      if (t2 < left_y) strip_store<PER>(to, upper, left_x, way);
      if (t2 + 1 < left_y) strip_store<PER>(to + j.out_row, lower, left_x, way_below);
      to += STRIP_ROWS * j.out_row, left_y -= STRIP_ROWS;
      if (last) return true;
    }
    unit++;
    return false;
  }
  // The next unit, and the groups that end there. Units take the places of the oldest ones, so that none has
  // to move; but many would be much code.
  template <int P> __device__ __forceinline__ bool step() {
    constexpr int AT = ANY ? UNITS - 1 : P;
    if (P % 2 == 0) enter();
    if constexpr (ANY) {
#pragma unroll
      for (int u = 0; u + 1 < UNITS; u++)
#pragma unroll
        for (int m = 0; m < TILES; m++) values[u][m] = values[u + 1][m];
    }
    sum_unit<STEPS, TILES>(values[AT], j, columns, column_codes,
                           ring + read + lane_at + P % 2 * STRIP_UNIT * j.pitch);
    return finish<AT>();
  }
  template <int P = 0> __device__ __forceinline__ bool round() {
    if (step<P>()) return true;
    if constexpr (P + 1 < (ANY ? 2 : UNITS))
      return round<P + 1>();
    else
      return false;
  }
  // A segment of a plane.
  __device__ __forceinline__ void walk(int item, int strip) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int plane = j.by_segments.quotient(item), n = j.by_planes.quotient(plane), c = plane - n * j.by_n;
    const int first = (item - plane * j.segments) * j.segment, last = min(first + j.segment, j.groups) - 1;
    const char *in = j.in + n * j.in_n + c * j.in_c;
    const int x = strip * STRIP * TILES + lane / 4 * PER, y = first * STRIP_ROWS;
    to = j.out + n * j.out_n + c * j.out_c + (y + lane % 4 * 2) * j.out_row + x;
    left_x = j.width - x, left_y = min((last + 1) * STRIP_ROWS, j.height) - y;
    first_row = j.y.range[first].x, end_row = j.y.range[last].y, unit = first_row / STRIP_UNIT;
    codes = j.y.codes + static_cast<int64_t>(first) * steps_down() * 32 + lane, range = j.y.range + first;
    last_range = range + (last - first);
    way = strip_way_of<PER>(to, left_x), way_below = strip_way_of<PER>(to + j.out_row, left_x);
    next_group();
    row = unit * STRIP_UNIT;
    from = in + (row + static_cast<int>(threadIdx.x) / 32) * j.in_row + (e0 + 16 * lane);
    fill_at = 0, read = static_cast<unsigned>((STRIP_STAGES - 1) * j.stage);
#pragma unroll
    for (int p = 0; p < UNITS; p++)
#pragma unroll
      for (int m = 0; m < TILES; m++) values[p][m] = {};
#pragma unroll 1
    for (int i = 0; i < STRIP_STAGES - 1; i++) fill();
    while (!round()) continue;
    fc_await_copies<0>();
    __syncthreads();
  }
};

template <int STEPS, int UNITS, int TILES>
__global__ void __launch_bounds__(32 * (STEPS ? STRIP_WARPS : STRIP_ANY_WARPS), STRIP_BLOCKS)
    resample_strips(const __grid_constant__ strip_job j) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) unsigned char resample_strips_shared[];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  constexpr int WARPS = STEPS ? STRIP_WARPS : STRIP_ANY_WARPS;
  const int band = static_cast<int>(blockIdx.x) * WARPS, strip = band + warp;
  const int mine = min(strip, j.strips - 1); // the strips beyond the row are not stored
  strip_walk<STEPS, UNITS, TILES> w{j, resample_strips_shared};
  w.e0 = j.x.range[band].x;
  w.vectors = (j.x.range[min(band + WARPS, j.strips) - 1].y - w.e0 + 15) / 16 + j.skewed;
  w.lane_at = static_cast<unsigned>((lane % 8 + lane / 16 * 8) * j.pitch + lane / 8 % 2 * 16 +
                                    j.x.range[mine].x - w.e0);
  w.column_codes = j.x.codes + static_cast<int64_t>(mine) * (STEPS ? STEPS : j.x.steps) * TILES * 64 + lane;
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int m = 0; m < TILES; m++) w.columns[s][m].load(w.column_codes + 64 * (s * TILES + m));
  for (int i = static_cast<int>(blockIdx.y); i < j.planes * j.segments; i += static_cast<int>(gridDim.y))
    w.walk(i, strip);
#endif
}

} // namespace

#endif

// SPDX-License-Identifier: MIT
//
// along.cuh - the kernel of along.cu: bytes down columns, then along rows, without a barrier in between. A
// warp takes 16 rows of output and walks along them. It copies what their windows read, 64 bytes of each row
// at a time, into a ring of its own; sums 32 columns down, by products with the weights of its rows, which it
// keeps; and since the sums of a product lie in a warp as the left side of the next wants them, multiplies
// them, out of registers, by the weights of each group of outputs whose window ends there.
//
// Values between the passes have 2^15 added, which makes their bytes unsigned, and which the last sum takes
// off again: weights of an output add up to 2^14. Blocks are 32 elements of a row, at multiples of 32 in the
// signal; a group of 8 elements reads BLOCKS of them at most, which are the last ones that a warp keeps.
//
// STEPS of 32 rows, whose weights are kept in registers, and those of the columns in shared memory; 0: as
// many as there are, looked up where they are used.
#ifndef FC_FILTERS_RESAMPLE_ALONG_CUH
#define FC_FILTERS_RESAMPLE_ALONG_CUH

#include "filters/resample/products.cuh"

namespace {

constexpr int GROUP_X = 8, GROUP_Y = 16;                 // outputs of a product: elements, rows
constexpr int ALONG_BLOCK = 32;                          // elements of a row
constexpr int ALONG_CHUNK = 64, ALONG_STAGES = 2;        // elements copied together; such parts of a ring
constexpr int ALONG_FLUSH = 8;                           // groups that are stored together
constexpr int ALONG_PITCH = GROUP_X * ALONG_FLUSH + 16;  // bytes of a staged row
constexpr int ALONG_WARPS = 16, ALONG_SKEWED_WARPS = 12; // of a block, at most
// Where STEPS is 0; only both axes shrunk by much: 8 to 19 times takes 0.5 to 0.8 of the time by tiles, of
// one axis by 10 and the other by 1.1 1.4 to 1.8 times as long (H200).
constexpr int ALONG_ANY_WARPS = 8, ALONG_ANY_BLOCKS = 16, ALONG_ANY_SHRUNK = 4;
// Added to values between the passes, and what sums of the passes begin with: half of the last place, too.
constexpr int32_t BIAS = 1 << 15;
constexpr int32_t FIRST_BIAS = (1 << (FC_RESAMPLE_SHIFT(0) - 1)) + BIAS * (1 << FC_RESAMPLE_SHIFT(0));
constexpr int32_t LAST_BIAS = (1 << (FC_RESAMPLE_SHIFT(1) - 1)) - BIAS * (1 << FC_RESAMPLE_WEIGHT_BITS);

// ---- tables -------------------------------------------------------------------

// X: [group][block][lane], two words of lower bytes and two of upper ones; Y: [group][step][lower,
// upper][lane].
struct along_tables {
  // The elements of pixel k, whose weights are there: n-th of their groups.
  static __device__ __forceinline__ void put_columns(const fc_resample_axis &a, const product_axis &x, int k,
                                                     int first, int taps, const int16_t *weights) {
    const int lane = static_cast<int>(threadIdx.x) % 32, channels = x.channels;
    int known = -1, start = 0;
    for (int c = 0; c < channels; c++) {
      const int e = k * channels + c, group = e / GROUP_X, n = e % GROUP_X;
      if (group != known) {
        const int last_pixel = min((group * GROUP_X + GROUP_X - 1) / channels, x.count - 1);
        int last = first;
        const int last_taps = last_pixel == k ? taps : window_of(a, x, last_pixel, &last);
        const int end = (last + last_taps) * channels;
        known = group, start = ((end - 1) / ALONG_BLOCK - x.steps + 1) * ALONG_BLOCK;
        if (lane == 0 && n == 0) x.range[group].x = first * channels;
        if (lane == 0 && last_pixel == k) x.range[group].y = end;
      }
      const int from = first * channels + c - start; // the first tap's place
      for (int i = lane; i < x.steps * ALONG_BLOCK; i += 32) {
        const int tap = i >= from ? (i - from) / channels : 0, slot = i % ALONG_BLOCK;
        const bool mine = i >= from && (i - from) % channels == 0 && tap < taps;
        uint4 *to =
            x.codes + (static_cast<int64_t>(group) * x.steps + i / ALONG_BLOCK) * 32 + n * 4 + slot % 16 / 4;
        const int byte = slot / 16 * 4 + slot % 4;
        put_code(to, to, byte, 8 + byte, mine ? weights[tap] : 0);
      }
    }
  }

  // Row k; inputs are in the order in which two halves of a load that turns them lie in a word.
  static __device__ __forceinline__ void put_row(const fc_resample_axis &a, const product_axis &y, int k,
                                                 int first, int taps, const int16_t *weights) {
    const int lane = static_cast<int>(threadIdx.x) % 32, group = k / GROUP_Y, n = k % GROUP_Y;
    int start = first;
    if (n) window_of(a, y, group * GROUP_Y, &start);
    if (lane == 0 && n == 0) y.range[group].x = first;
    if (lane == 0 && (n == GROUP_Y - 1 || k == y.count - 1)) y.range[group].y = first + taps;
    for (int i = lane; i < y.steps * ALONG_BLOCK; i += 32) {
      const int tap = start + i - first, r = i % 16, word = i % 32 / 16 * 2 + n / 8;
      uint4 *to = y.codes + (static_cast<int64_t>(group) * y.steps + i / 32) * 64 + n % 8 * 4 + r % 8 / 2;
      const int byte = word * 4 + r / 8 * 2 + r % 2;
      put_code(to, to + 32, byte, byte, tap >= 0 && tap < taps ? weights[tap] : 0);
    }
  }
};

// ---- a warp's work --------------------------------------------------------------

struct along_job {
  const char *in; // element 0 of row 0 of the signal, which may be outside the view
  char *out;      // of the view
  int64_t in_row, in_n, in_c, out_row, out_n, out_c; // bytes
  int32_t low, high;                                 // elements of a row that are readable
  int32_t planes, by_n;                              // frames times planes of a frame, planes of a frame
  int32_t width, height;                             // elements and rows of the output
  int32_t groups_x, groups_y, part;                  // part: groups of a block's columns
  int32_t whole, wholes; // chunks that begin there, or less than so many elements later, are readable
  int32_t slot, ring;    // bytes of a stage, of the ring
  int32_t ends_at, rings_at, warp_bytes; // bytes: in shared memory; of a warp
  product_axis x, y;
  fc_dev_divider by_groups, by_planes;
};

struct along_task {
  const char *in;            // element 0 of the first row that is read
  char *out;                 // the first element of the part
  int rows, out_rows, bytes; // bytes: of an output row
};

__device__ __forceinline__ along_task along_task_of(const along_job &j, int i, int xg, int groups) {
  const int plane = j.by_groups.quotient(i), yg = i - plane * j.groups_y, n = j.by_planes.quotient(plane),
            c = plane - n * j.by_n;
  const int2 range = j.y.range[yg];
  along_task t;
  t.in = j.in + n * j.in_n + c * j.in_c + range.x * j.in_row;
  t.out = j.out + n * j.out_n + c * j.out_c + static_cast<int64_t>(yg) * GROUP_Y * j.out_row + xg * GROUP_X;
  t.rows = range.y - range.x, t.out_rows = min(GROUP_Y, j.height - yg * GROUP_Y);
  t.bytes = min(groups * GROUP_X, j.width - xg * GROUP_X);
  return t;
}

// Where 16 bytes of a row are in a stage: so that those of 8 adjacent rows are in different banks.
constexpr int ALONG_UNITS = ALONG_CHUNK / 16;
__device__ __forceinline__ unsigned along_place(unsigned row, unsigned unit) {
  constexpr unsigned SAME = 8 / ALONG_UNITS; // rows that fit into 128 bytes
  return row * ALONG_CHUNK + (unit ^ (row / SAME % ALONG_UNITS)) * 16;
}

// Enqueues the copy of the elements from e on, of which not all are readable. The others stay what they are:
// their weights are 0.
__device__ __noinline__ void copy_edges(const along_job &j, const char *in, int rows, int e,
                                        unsigned char *stage) {
  const unsigned lane = threadIdx.x % 32, unit = lane % ALONG_UNITS;
  const int mine = e + static_cast<int>(16 * unit);
  if (mine >= j.high || mine + 16 <= j.low) return;
#pragma unroll 1
  for (int r = static_cast<int>(lane / ALONG_UNITS); r < rows; r += 32 / ALONG_UNITS)
    fc_copy_words_begun(stage + along_place(static_cast<unsigned>(r), unit), in + r * j.in_row + mine,
                        min(j.high - mine, 16));
}

// 16 rows of 32 values between the passes, lower and upper bytes, as the left side of a product.
struct along_values {
  uint32_t low[4], high[4];
};

// Sums of a block as they grow.
struct along_sums {
  fc_matrix_sums low[4], high[4]; // of columns 16 h + 2 n + i: 2 h + i
  // 32 rows. `at` is the lane's row of 16, and half of the block.
  template <int PITCH> __device__ __forceinline__ void add(const product_left &w, const unsigned char *at) {
    uint32_t column[2][4];
#pragma unroll
    for (int half = 0; half < 2; half++) {
      uint32_t a[4]; // pairs of columns in two rows each: 0 to 7, 8 to 15 of the left half, of the right half
      fc_matrix_load_turned(a, at + half * 16 * PITCH);
      column[half][0] = __byte_perm(a[0], a[1], 0x6420), column[half][1] = __byte_perm(a[0], a[1], 0x7531);
      column[half][2] = __byte_perm(a[2], a[3], 0x6420), column[half][3] = __byte_perm(a[2], a[3], 0x7531);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
      low[i] = fc_matrix_product_signed(w.low, column[0][i], column[1][i], low[i]);
      high[i] = fc_matrix_product_signed(w.high, column[0][i], column[1][i], high[i]);
    }
  }
};

// Sums a block down, by the weights `w`, or so many steps of `codes`.
template <int STEPS, int PITCH>
__device__ __forceinline__ along_values sum_block(const product_left (&w)[STEPS ? STEPS : 1],
                                                  const uint4 *codes, int steps, const unsigned char *at) {
  along_sums sums;
#pragma unroll
  for (int i = 0; i < 4; i++) sums.low[i] = sums_of(FIRST_BIAS), sums.high[i] = sums_of(0);
  if constexpr (STEPS > 0) {
#pragma unroll
    for (int s = 0; s < STEPS; s++) sums.add<PITCH>(w[s], at + s * 32 * PITCH);
  } else
#pragma unroll 2
    for (int s = 0; s < steps; s++) {
      product_left some;
      some.load(codes + 64 * s);
      sums.add<PITCH>(some, at + s * 32 * PITCH);
    }
  along_values to;
#pragma unroll
  for (int row = 0; row < 2; row++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      uint32_t v[4]; // columns 16 h + 4 t + k
#pragma unroll
      for (int k = 0; k < 4; k++)
        v[k] = static_cast<uint32_t>(sums.low[2 * h + k % 2].of[2 * row + k / 2]) +
               (static_cast<uint32_t>(sums.high[2 * h + k % 2].of[2 * row + k / 2]) << 8);
      const uint32_t one = __byte_perm(v[0], v[1], 0x6251), two = __byte_perm(v[2], v[3], 0x6251);
      to.low[2 * h + row] = __byte_perm(one, two, 0x5410);
      to.high[2 * h + row] = __byte_perm(one, two, 0x7632);
    }
  return to;
}

// A group of outputs from the last blocks, of which NEWEST is the last: elements 2 t and 2 t + 1 of rows g
// and g + 8, in the lower bytes. The first `none` blocks are not in windows.
template <int NEWEST, int BLOCKS>
__device__ __forceinline__ void sum_group(const along_values (&v)[BLOCKS], const uint4 *weights, int none,
                                          uint32_t &upper, uint32_t &lower) {
  fc_matrix_sums sums[3] = {sums_of(LAST_BIAS), sums_of(0), sums_of(0)};
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    if (b < none) continue;
    const uint4 w = weights[32 * (b - none)];
    const along_values &block = v[(NEWEST + 1 + b) % BLOCKS];
    sums[0] = fc_matrix_product(block.low, w.x, w.y, sums[0]);
    sums[1] = fc_matrix_product(block.low, w.z, w.w, sums[1]);
    sums[2] = fc_matrix_product(block.high, w.z, w.w, sums[2]);
    sums[1] = fc_matrix_product(block.high, w.x, w.y, sums[1]);
  }
  int32_t to[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    to[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[0].of[i]) +
                                 (static_cast<uint32_t>(sums[1].of[i]) << 8) +
                                 (static_cast<uint32_t>(sums[2].of[i]) << 16)) >>
            FC_RESAMPLE_SHIFT(1);
  upper = fc_two_bytes(to[0], to[1], 0), lower = fc_two_bytes(to[2], to[3], 0);
}

// Rows of a warp's outputs on their way to memory, each with the offset from a multiple of 16 bytes that it
// has there.
struct along_stage {
  unsigned char *rows;
  unsigned char *mine[2]; // of the lane's elements of the first group, in its two rows
  int waiting, done;      // bytes of a row that are there; times 64 bytes were stored

  __device__ __forceinline__ void begin(const along_job &j, const along_task &t, unsigned char *at) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    rows = at, waiting = done = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int r = lane / 4 + 8 * i;
      mine[i] = at + r * ALONG_PITCH + skew_of(j, t, r) + lane % 4 * 2;
    }
  }
  __device__ __forceinline__ int skew_of(const along_job &j, const along_task &t, int r) const {
    return static_cast<int>((static_cast<unsigned>(reinterpret_cast<uintptr_t>(t.out)) +
                             static_cast<unsigned>(r) * static_cast<unsigned>(j.out_row)) &
                            15);
  }
  __device__ __forceinline__ void put(uint32_t upper, uint32_t lower) {
    mine[0][waiting] = static_cast<unsigned char>(upper);
    mine[0][waiting + 1] = static_cast<unsigned char>(upper >> 8);
    mine[1][waiting] = static_cast<unsigned char>(lower);
    mine[1][waiting + 1] = static_cast<unsigned char>(lower >> 8);
    waiting += GROUP_X;
  }
  // Stores what is complete: 16 bytes at multiples of 16 at once, those at the ends singly.
  __device__ __forceinline__ void flush(const along_job &j, const along_task &t, bool last) {
    const int lane = static_cast<int>(threadIdx.x) % 32, bytes = min(waiting, t.bytes - 64 * done);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int r = lane / 4 + 8 * i, skew = skew_of(j, t, r), begin = done ? 0 : skew;
      if (r >= t.out_rows) continue;
      const unsigned char *from = rows + r * ALONG_PITCH;
      char *to = t.out + r * j.out_row - skew + 64 * done;
#pragma unroll 1
      for (int v = lane % 4 * 16; v < (last ? skew + bytes : 64); v += 64) {
        if (v >= begin && v + 16 <= skew + bytes)
          *reinterpret_cast<uint4 *>(to + v) = *reinterpret_cast<const uint4 *>(from + v);
        else
#pragma unroll 1
          for (int k = max(v, begin); k < min(v + 16, skew + bytes); k++) to[k] = static_cast<char>(from[k]);
      }
    }
    __syncwarp();
    if (lane < GROUP_Y)
      *reinterpret_cast<uint4 *>(rows + lane * ALONG_PITCH) =
          *reinterpret_cast<const uint4 *>(rows + lane * ALONG_PITCH + 64);
    __syncwarp();
    waiting = 0, done++;
  }
};

// A warp on its way along the rows. SKEWED: rows do not begin at multiples of 16 bytes. What is copied then
// does; a row has three chunks beside each other, and each is shifted in its place once the next one is
// there.
constexpr int ALONG_SKEWED = 3 * ALONG_CHUNK, ALONG_SKEWED_PITCH = ALONG_SKEWED + 16;
template <int STEPS, int BLOCKS, bool SKEWED> struct along_walk {
  static constexpr bool ANY = STEPS == 0;
  static constexpr int PER = ALONG_CHUNK / ALONG_BLOCK;
  static constexpr int ROWS = 32 / ALONG_UNITS; // that a warp copies together
  const along_job &j;
  const along_task &t;
  unsigned char *memory;
  unsigned read, fill_to, read_at, fill_at; // stages, and the lane's places in them
  const char *from;                         // the lane's next 16 bytes
  int64_t step;
  int left, next,
      limit;            // rows from the lane's first one; the next element that is copied, and where they end
  unsigned wholes;      // chunks that begin up to so far from j.whole on are readable, and wanted
  const int *ends;      // the last block of each group's window, then INT32_MAX
  const uint4 *weights; // of the next group
  int block, end;
  product_left rows[ANY ? 1 : STEPS];
  const uint4 *codes; // of the rows
  along_values values[BLOCKS];
  along_stage out;

  __device__ __forceinline__ int steps() const { return ANY ? j.y.steps : STEPS; }
  __device__ __forceinline__ int blocks() const { return ANY ? j.x.steps : BLOCKS; }
  __device__ __forceinline__ unsigned after(unsigned at) const {
    const unsigned to = at + (SKEWED ? ALONG_CHUNK : j.slot);
    return to == static_cast<unsigned>(SKEWED ? ALONG_SKEWED : j.ring) ? 0 : to;
  }
  __device__ __forceinline__ unsigned skew_of(int row) const {
    return (static_cast<unsigned>(reinterpret_cast<uintptr_t>(t.in)) +
            static_cast<unsigned>(row) * static_cast<unsigned>(j.in_row)) %
           16;
  }
  __device__ __forceinline__ void fill_skewed() {
    const int lane = static_cast<int>(threadIdx.x) % 32, unit = lane % ALONG_UNITS;
    if (next < limit + 16)
#pragma unroll
      for (int i = 0; i < steps() * 32 / ROWS; i++) {
        const int r = lane / ALONG_UNITS + ROWS * i, e = next + 16 * unit - static_cast<int>(skew_of(r));
        if (r < t.rows && e + 16 > j.low && e < j.high)
          fc_copy_words_begun(memory + r * ALONG_SKEWED_PITCH + fill_to + 16 * unit, t.in + r * j.in_row + e,
                              min(j.high - e, 16));
      }
  }
  // The chunk at `read`, by itself and the beginning of the next one.
  __device__ __forceinline__ void shift_skewed() {
    const int lane = static_cast<int>(threadIdx.x) % 32, unit = lane % ALONG_UNITS;
#pragma unroll 1
    for (int r = lane / ALONG_UNITS, i = 0; i < steps() * 32 / ROWS; i++, r += ROWS) {
      const unsigned skew = skew_of(r), first = read + 16 * unit + skew / 4 * 4, by = skew % 4 * 8;
      unsigned char *row = memory + min(r, t.rows - 1) * ALONG_SKEWED_PITCH;
      uint32_t w[5];
#pragma unroll
      for (unsigned k = 0; k < 5; k++) {
        const unsigned at = first + 4 * k;
        w[k] = *reinterpret_cast<const uint32_t *>(row + (at < ALONG_SKEWED ? at : at - ALONG_SKEWED));
      }
      __syncwarp();
      if (r < t.rows)
        *reinterpret_cast<uint4 *>(row + read + 16 * unit) =
            make_uint4(__funnelshift_r(w[0], w[1], by), __funnelshift_r(w[1], w[2], by),
                       __funnelshift_r(w[2], w[3], by), __funnelshift_r(w[3], w[4], by));
    }
  }
  __device__ __forceinline__ void fill() {
    if constexpr (SKEWED)
      fill_skewed();
    else if (static_cast<unsigned>(next - j.whole) < wholes) {
      const char *row = from;
      unsigned char *to = memory + fill_to;
#pragma unroll
      for (int i = 0; i < steps() * 32 / ROWS; i++, row += step)
        if (ROWS * i < left) fc_copy_words_line(to + (fill_at + i * ROWS * ALONG_CHUNK), row);
    } else if (next < limit)
      copy_edges(j, t.in, t.rows, next, memory + fill_to);
    fc_commit_copies();
    next += ALONG_CHUNK, from += ALONG_CHUNK, fill_to = after(fill_to);
  }
  __device__ __forceinline__ void start(int yg, int first) {
    const int lane = static_cast<int>(threadIdx.x) % 32, row = lane / ALONG_UNITS, unit = lane % ALONG_UNITS;
    next = first / PER * ALONG_CHUNK;
    wholes = static_cast<unsigned>(max(min(limit - j.whole, j.wholes), 0));
    read = static_cast<unsigned>(SKEWED ? 2 * ALONG_CHUNK : j.ring - j.slot), fill_to = 0;
    read_at = SKEWED ? static_cast<unsigned>(lane % 16 * ALONG_SKEWED_PITCH + lane / 16 * 16)
                     : along_place(static_cast<unsigned>(lane) % 16, static_cast<unsigned>(lane) / 16);
    fill_at = along_place(static_cast<unsigned>(row), static_cast<unsigned>(unit));
    from = t.in + row * j.in_row + (next + 16 * unit);
    step = ROWS * j.in_row, left = t.rows - row;
#pragma unroll 1
    for (int i = 0; i < (SKEWED ? 2 : ALONG_STAGES - 1); i++) fill();
    codes = j.y.codes + static_cast<int64_t>(yg) * steps() * 64 + lane;
#pragma unroll
    for (int s = 0; s < STEPS; s++) rows[s].load(codes + 64 * s);
    out.begin(j, t, memory + j.ring);
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) values[b] = {};
    block = first, end = *ends;
    if (first % PER) enter();
  }
  // The next chunk, and the copy of one more.
  __device__ __forceinline__ void enter() {
    fc_await_copies<SKEWED ? 0 : ALONG_STAGES - 2>();
    __syncwarp();
    read = after(read);
    if constexpr (SKEWED) {
      shift_skewed();
      __syncwarp();
    }
    fill();
  }
  // A block into values[P], and the groups that end there; whether they were the last ones.
  template <int P> __device__ __forceinline__ bool step_block() {
    if (static_cast<unsigned>(block) % PER == 0) enter();
    const unsigned half = static_cast<unsigned>(block) % PER * ALONG_BLOCK; // of the chunk
    constexpr int PITCH = SKEWED ? ALONG_SKEWED_PITCH : ALONG_CHUNK, AT = ANY ? BLOCKS - 1 : P;
    const unsigned char *at = memory + read + (SKEWED ? read_at + half : read_at ^ half);
    if constexpr (ANY)
#pragma unroll
      for (int b = 0; b + 1 < BLOCKS; b++) values[b] = values[b + 1];
    values[AT] = sum_block<STEPS, PITCH>(rows, codes, j.y.steps, at);
    while (end == block) {
      uint32_t upper, lower;
      end = *++ends;
      sum_group<AT, BLOCKS>(values, weights, BLOCKS - blocks(), upper, lower);
      weights += 32 * blocks();
      out.put(upper, lower);
      if (out.waiting == GROUP_X * ALONG_FLUSH || end == INT32_MAX) out.flush(j, t, end == INT32_MAX);
    }
    block++;
    return end == INT32_MAX;
  }
  // Blocks take the places of the oldest ones, so that none has to move; but many would be much code.
  template <int P = 0> __device__ __forceinline__ bool round() {
    if (step_block<P>()) return true;
    if constexpr (!ANY && P + 1 < BLOCKS)
      return round<P + 1>();
    else
      return false;
  }
};

// Blocks of threads stay in their columns, whose weights they keep.
template <int STEPS, int BLOCKS, bool SKEWED>
__global__ void __launch_bounds__(32 * (STEPS ? ALONG_WARPS : ALONG_ANY_WARPS), 1)
    resample_along(const __grid_constant__ along_job j) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) unsigned char resample_along_shared[];
  unsigned char *shared = resample_along_shared;
  const int xg = static_cast<int>(blockIdx.x) * j.part, groups = min(j.part, j.groups_x - xg);
  const int blocks = STEPS ? BLOCKS : j.x.steps;
  int *ends = reinterpret_cast<int *>(shared + j.ends_at);
  const uint4 *weights = j.x.codes + static_cast<int64_t>(xg) * blocks * 32;
  if constexpr (STEPS > 0) {
    uint4 *kept = reinterpret_cast<uint4 *>(shared);
    for (int i = static_cast<int>(threadIdx.x); i < groups * BLOCKS * 32; i += static_cast<int>(blockDim.x))
      kept[i] = weights[i];
    weights = kept;
  }
  for (int i = static_cast<int>(threadIdx.x); i <= groups; i += static_cast<int>(blockDim.x))
    ends[i] = i < groups ? (j.x.range[xg + i].y - 1) / ALONG_BLOCK : INT32_MAX;
  const int first = j.x.range[xg].x / ALONG_BLOCK, limit = j.x.range[xg + groups - 1].y;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / 32, warp = static_cast<int>(threadIdx.x) / 32;
  unsigned char *memory = shared + j.rings_at + warp * j.warp_bytes;
  const int all = j.planes * j.groups_y;
  for (int i = static_cast<int>(blockIdx.y) * warps + warp; i < all;
       i += static_cast<int>(gridDim.y) * warps) {
    const along_task t = along_task_of(j, i, xg, groups);
    along_walk<STEPS, BLOCKS, SKEWED> w{j, t, memory};
    w.ends = ends, w.weights = weights + threadIdx.x % 32, w.limit = limit;
    w.start(i - j.by_groups.quotient(i) * j.groups_y, first);
    while (!w.round()) continue;
    __syncwarp();
  }
#endif
}

} // namespace

#endif

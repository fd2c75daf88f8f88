// SPDX-License-Identifier: MIT
//
// bytes.cuh - code shared by dense 2-D filters of u8 images on a CUDA device: windows, sums and stores of a
// thread that has 8 adjacent columns. Internal to filters/.
//
// A byte becomes a float in one instruction that puts it into the low bits of a word: that is the subnormal v
// * 2^-149, which multiply-adds process at full speed. The taps compensate: they are 2^118 times too large
// and the sums 2^31 times too small, exactly. Sums become integers by another multiply-add, whose rounding is
// that of the store. The order of sums is that of the marching kernels, so the bits are.
//
// Where outputs' rows do not begin at multiples of 8 bytes, RAGGED, a lane's bytes are shifted together with
// those of the lane before, so that all stores are still of 8 bytes but those at the ends of a warp's
// columns.
#ifndef FC_FILTERS_CONV2D_BYTES_CUH
#define FC_FILTERS_CONV2D_BYTES_CUH

#include <math.h>

#include "filters/filter2d/band.cuh"
#include "filters/filter2d/conv2d/kernels.cuh"

// How rows of bytes are loaded by the kernels of bytes.cu: a block marches down a band of columns, and the
// bulk copy engine (copy_bulk.cuh) loads each row's part of it into a ring of batches in shared memory,
// several in advance. Internal to filters/.
//
// The engine copies multiples of 16 bytes from multiples of 16, so a row has the same alignment to 16 bytes
// in shared memory as in global memory: rows may have different alignments. At the ends of rows, the first
// and last bytes of the view, and the border, if it is made here, are loaded by the warp that starts the
// batch, because the engine may not read them. A table has the source of each of these elements.
//
// The warps take turns in starting a batch; barriers signal when a batch has arrived and when all warps have
// finished with it.

#define FC_BYTE_ENDS 96 // maximum of elements at either end of a row that the engine may not load

__device__ __forceinline__ void fc_shared_store_byte(uint32_t to, uint32_t byte) {
  asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "r"(byte) : "memory");
}

// Shared by all threads of a block.
template <int STAGES> struct fc_byte_room {
  uint64_t bars[2 * STAGES];             // for each batch: has it arrived, and have all finished with it
  alignas(16) uint32_t shift[STAGES][8]; // how far into 16 bytes each of its rows begins
  fc_band_way way;
  int n, rows; // elements of a row of windows, and those rows
  int32_t from[2][FC_BYTE_ENDS];
};

// Called by all threads; `way` is visible after the next barrier.
template <int STAGES>
__device__ __forceinline__ void fc_byte_begin(const fc_band &b, const fc_band_way &way, int n,
                                              fc_byte_room<STAGES> &room) {
  if (threadIdx.x == 0) {
    room.way = way, room.n = n, room.rows = way.count + b.rows_down - 1;
    const uint32_t bars = fc_shared_address(room.bars);
    for (uint32_t i = 0; i < STAGES; i++)
      fc_bar_init(bars + 8 * i, 32), fc_bar_init(bars + 8 * (STAGES + i), FC_BAND_THREADS);
    fc_bar_publish();
  }
  for (int i = threadIdx.x; i < 2 * FC_BYTE_ENDS; i += FC_BAND_THREADS) {
    const int j = i < FC_BYTE_ENDS ? i : n - 2 * FC_BYTE_ENDS + i;
    int from = j >= way.lo && j < way.hi ? j : FC_BAND_CONSTANT;
    if (from != j && b.edges.on) from = fc_band_element(b.edges, way.x, j);
    room.from[i / FC_BYTE_ENDS][i % FC_BYTE_ENDS] = from;
  }
}

// By one warp: elements [0, begin) and [end, n) of a lane's row, to `to` in shared memory, 4 rows at a time.
// Without a row, all are the constant.
template <int BATCH, int STAGES>
__device__ __forceinline__ void fc_byte_fetch_ends(const fc_byte_room<STAGES> &room, uint32_t code,
                                                   const char *row, int begin, int end, uint32_t to) {
  const int n = room.n;
#pragma unroll 1
  for (int u = 0; u < BATCH; u += 4)
#pragma unroll 1
    for (int i = threadIdx.x % 32, more = 1; more; i += 32) {
      uint32_t value[4];
      int at[4];
      more = 0;
#pragma unroll
      for (int v = 0; v < 4; v++) {
        const uint64_t from = __shfl_sync(~0u, reinterpret_cast<uint64_t>(row), u + v);
        const int head = max(__shfl_sync(~0u, begin, u + v), 0);
        const int next = max(__shfl_sync(~0u, end, u + v), 0);
        const int j = i < head ? i : next + i - head;
        value[v] = code, at[v] = j < n ? j : -1;
        if (j < n && from != 0) {
          const int e = j < FC_BYTE_ENDS ? room.from[0][j] : room.from[1][FC_BYTE_ENDS - n + j];
          if (e != FC_BAND_CONSTANT) value[v] = *reinterpret_cast<const uint8_t *>(from + e);
        }
        more |= j + 32 < n;
      }
#pragma unroll
      for (int v = 0; v < 4; v++) {
        const uint32_t start = __shfl_sync(~0u, to, u + v);
        if (at[v] >= 0) fc_shared_store_byte(start + at[v], value[v]);
      }
      more = __any_sync(~0u, more);
    }
  fc_bulk_after_stores();
}

template <int BATCH, int STAGES> struct fc_byte_ring {
  static_assert((STAGES & (STAGES - 1)) == 0, "turns may wrap");
  static_assert(BATCH <= 8, "rows of fc_byte_room");
  static constexpr uint32_t EARLY = STAGES - 2; // iterations before there is a batch to sum

  fc_byte_room<STAGES> &room;
  uint32_t ring, bars; // addresses in shared memory
  uint32_t turns;      // batches started so far

  __device__ __forceinline__ fc_byte_ring(fc_byte_room<STAGES> &r, void *memory)
      : room(r), ring(fc_shared_address(memory)), bars(fc_shared_address(r.bars)), turns(0) {
    asm volatile("" : "+r"(ring), "+r"(bars)); // keeps the compiler from computing them again
  }
  __device__ __forceinline__ uint32_t full(uint32_t batch) const { return bars + 8 * (batch % STAGES); }
  __device__ __forceinline__ uint32_t empty(uint32_t batch) const { return full(batch) + 8 * STAGES; }
  __device__ __forceinline__ uint32_t batch(const fc_band &b, uint32_t number) const {
    return ring + number % STAGES * BATCH * b.pitch;
  }

  // The number of the next batch, once it has arrived; another is started. The first EARLY calls return none.
  // An arrival does not wait for outstanding reads of shared memory: so it is made to depend on `seen`, which
  // is computed from the last values read, and on `nothing`, a 0 unknown to the compiler.
  __device__ __forceinline__ uint32_t turn(const fc_band &b, uint32_t seen, uint32_t nothing) {
    const uint32_t now = turns - EARLY;
    if (turns > EARLY) fc_bar_arrive(empty(now - 1) + (seen & nothing));
    __syncwarp();
    if (turns % (FC_BAND_THREADS / 32) == threadIdx.x / 32) fetch(b);
    if (turns + 1 > EARLY) fc_bar_wait(full(now), now / STAGES % 2);
    turns++;
    return now;
  }

  // The address of row q of windows, or of its source; the constant: nullptr.
  __device__ __forceinline__ const char *row_of(const fc_band &b, int q) const {
    const char *own = room.way.in + q * b.in_row;
    if (!b.edges.on) return own;
    const int y = room.way.y + q, source = fc_dev_border_source(b.edges.border, y, b.edges.height);
    return source < 0 ? nullptr : own + static_cast<int64_t>(source - y) * b.in_row;
  }

  // By one warp, one row per lane. The engine loads elements [begin, end).
  __device__ __forceinline__ void fetch(const fc_band &b) const {
    const int lane = threadIdx.x % 32, q = static_cast<int>(turns) * BATCH + lane, n = room.n;
    const bool mine = lane < BATCH && q < room.rows;
    const char *row = mine ? row_of(b, q) : nullptr;
    const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(row) % 16);
    const int lo = room.way.lo, hi = room.way.hi;
    int begin = lo <= -shift ? -shift : (lo + shift + 15) / 16 * 16 - shift;
    int end = min((n + shift + 15) / 16, (hi + shift) / 16) * 16 - shift;
    if (!row || end < begin) begin = end = n;
    const uint32_t to = batch(b, turns) + lane * b.pitch + shift;
    fc_bar_wait(empty(turns), turns / STAGES % 2 ^ 1);
    if (lane < BATCH) room.shift[turns % STAGES][lane] = shift;
    if (mine && begin < end) {
      fc_bar_await_bytes(full(turns), end - begin);
      fc_bulk_copy(to + begin, row + begin, end - begin, full(turns));
    }
    if (__any_sync(~0u, mine && (begin > 0 || end < n)))
      fc_byte_fetch_ends<BATCH>(room, b.edges.code, row, mine ? begin : 0, mine ? end : n, to);
    fc_bar_arrive(full(turns));
  }
};

constexpr int FC_BYTE_COLUMNS = 8;         // of a thread
constexpr int FC_BYTE_SCALE = 118;         // exponent of taps
constexpr float FC_BYTE_UNSCALE = 0x1p31f; // 149 - 118
constexpr uint32_t FC_BYTE_INTEGER =
    0x4b400000; // 1.5 * 2^23: what is added to it is rounded to even, into the low bits

// Taps by columns: those of one position along the row follow each other.
template <int K> struct fc_byte_mask {
  alignas(8) float tap[K][(K + 1) / 2 * 2];
  uint32_t nothing; // 0
};

// Columns of a block, for one group.
constexpr int FC_BYTE_WIDTH = FC_BYTE_COLUMNS * FC_BAND_THREADS;

// A thread's window of a row: bytes from the first one of its first column on.
template <int K, int STEP> struct fc_byte_window {
  static constexpr int BYTES = FC_BYTE_COLUMNS + (K - 1) * STEP, WORDS = (BYTES + 3) / 4;

  // As it lies in shared memory, at `at`.
  struct raw {
    uint32_t at, word[WORDS + 1];
    __device__ __forceinline__ explicit raw(uint32_t at) : at(at) {
#pragma unroll
      for (int i = 0; i <= WORDS; i++)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word[i]) : "r"((at & ~3u) + 4 * i));
    }
  };

  uint32_t word[WORDS];

  __device__ __forceinline__ explicit fc_byte_window(const raw &r) {
#pragma unroll
    for (int i = 0; i < WORDS; i++) word[i] = __funnelshift_r(r.word[i], r.word[i + 1], r.at % 4 * 8);
  }
  __device__ __forceinline__ explicit fc_byte_window(uint32_t at) : fc_byte_window(raw(at)) {}
  // Byte i as a subnormal.
  __device__ __forceinline__ float operator[](int i) const {
    return __uint_as_float(__byte_perm(word[i / 4], 0, 0x4440 + i % 4));
  }
};

// ---- sums down ---------------------------------------------------------------

// Rows per batch and batches in shared memory; blocks that share a multiprocessor's registers.
constexpr int FC_BYTE_ROWS = 4, FC_BYTE_STAGES = 4, FC_BYTE_BLOCKS = 8;

template <int K> struct fc_byte_sums {
  static constexpr int ROWS = K - 1 + FC_BYTE_ROWS;
  float of[ROWS][FC_BYTE_COLUMNS];
};

// Adds a row to the sums it contributes to: tap j to those of the output j rows up.
template <int K, int STEP>
__device__ __forceinline__ void fc_byte_scatter(int u, const fc_byte_mask<K> &mask,
                                                const fc_byte_window<K, STEP> &w, fc_byte_sums<K> &sum) {
#pragma unroll
  for (int i = 0; i < K; i++) {
    float v[FC_BYTE_COLUMNS];
#pragma unroll
    for (int e = 0; e < FC_BYTE_COLUMNS; e++) v[e] = w[i * STEP + e];
#pragma unroll
    for (int j = 0; j < K; j++)
#pragma unroll
      for (int e = 0; e < FC_BYTE_COLUMNS; e++) {
        float &to = sum.of[u + K - 1 - j][e];
        to = fmaf(mask.tap[i][j], v[e], to);
      }
  }
}

// Of all rows, after the rows of a batch are done.
template <int K> __device__ __forceinline__ void fc_byte_next(fc_byte_sums<K> &sum) {
  constexpr int BATCH = FC_BYTE_ROWS, COLUMNS = FC_BYTE_COLUMNS;
#pragma unroll
  for (int i = 0; i < sum.ROWS * COLUMNS; i++)
    sum.of[i / COLUMNS][i % COLUMNS] =
        i / COLUMNS < K - 1 ? sum.of[i / COLUMNS + BATCH < sum.ROWS ? i / COLUMNS + BATCH : 0][i % COLUMNS]
                            : 0;
}

// ---- outputs -----------------------------------------------------------------

// Sums as bytes, clamped.
struct fc_byte_codes {
  uint32_t word[2];
};

// `seen` gathers their values before clamping, as integers of 16 bits.
__device__ __forceinline__ fc_byte_codes fc_byte_codes_of(const float (&sum)[FC_BYTE_COLUMNS],
                                                          uint32_t &seen) {
  fc_byte_codes c;
  uint32_t half[FC_BYTE_COLUMNS / 2], all = 0;
#pragma unroll
  for (int e = 0; e < FC_BYTE_COLUMNS; e += 2) {
    const float zero = __uint_as_float(FC_BYTE_INTEGER);
    const float low = fmaf(sum[e], FC_BYTE_UNSCALE, zero), high = fmaf(sum[e + 1], FC_BYTE_UNSCALE, zero);
    half[e / 2] = __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x5410);
    all |= half[e / 2];
    half[e / 2] = __vimin_s16x2_relu(half[e / 2], 0x00ff00ff);
  }
  c.word[0] = __byte_perm(half[0], half[1], 0x6420), c.word[1] = __byte_perm(half[2], half[3], 0x6420);
  seen = all;
  return c;
}

// A thread's position.
struct fc_byte_place {
  int column, width; // its first, and of the row
  bool whole, some;  // it stores 8 bytes of every row, or fewer
};

// For 8 columns from `column` on, which may begin before the row, or extend beyond its end.
__device__ __forceinline__ fc_byte_place fc_byte_place_of(int column, int width) {
  const bool whole = column >= 0 && column + FC_BYTE_COLUMNS <= width;
  return {column, width, whole, !whole && column < width};
}

// The bytes of [0, 8) to store: those in columns of the row, the first being `column`.
__device__ __forceinline__ void fc_byte_store_some(char *to, fc_byte_codes c, int column, int width) {
#pragma unroll 1
  for (int i = 0; i < FC_BYTE_COLUMNS; i++) {
    if (column + i >= 0 && column + i < width) to[i] = static_cast<char>(c.word[0]);
    c.word[0] = __funnelshift_r(c.word[0], c.word[1], 8), c.word[1] >>= 8;
  }
}

// Which of a thread's sums are outside the range of a byte, if it does not have all 8 columns: at least one
// bit set.
__device__ __forceinline__ uint32_t fc_byte_seen(const float (&sum)[FC_BYTE_COLUMNS],
                                                 const fc_byte_place &p) {
  uint32_t seen = 0;
#pragma unroll
  for (int e = 0; e < FC_BYTE_COLUMNS; e++) {
    const uint32_t code =
        __float_as_uint(fmaf(sum[e], FC_BYTE_UNSCALE, __uint_as_float(FC_BYTE_INTEGER))) & 0xffff;
    if (p.column + e >= 0 && p.column + e < p.width) seen |= code;
  }
  return seen;
}

// Stores bytes at any alignment, by a warp whose lanes have adjacent columns. The last lane's bytes are
// combined with the first lane's, in 8 bytes of which some belong to the end of the warp's columns and some
// to their beginning; each part is stored by one lane.
__device__ __forceinline__ void fc_byte_store_joined(const fc_byte_place &p, char *to, fc_byte_codes c) {
  constexpr int COLUMNS = 32 * FC_BYTE_COLUMNS;
  const int lane = threadIdx.x % 32, back = static_cast<int>(reinterpret_cast<uintptr_t>(to) % 8);
  const uint32_t first = __shfl_sync(~0u, c.word[0], lane + 31),
                 second = __shfl_sync(~0u, c.word[1], lane + 31);
  const uint32_t bits = back % 4 * 8, w0 = c.word[0], w1 = c.word[1];
  const uint32_t x = back < 4 ? second : first, y = back < 4 ? w0 : second, z = back < 4 ? w1 : w0;
  c.word[0] = __funnelshift_l(x, y, bits), c.word[1] = __funnelshift_l(y, z, bits);
  to -= back;
  const uint32_t low = __shfl_sync(~0u, c.word[0], 0), high = __shfl_sync(~0u, c.word[1], 0);
  if (lane > 0 && p.whole)
    *reinterpret_cast<uint2 *>(to) = make_uint2(c.word[0], c.word[1]);
  else if (lane > 0 && p.column - back < p.width) // at least on the lane's previous value
    fc_byte_store_some(to, c, p.column - back, p.width);
  const int further = (1 - FC_BYTE_COLUMNS) * lane + (lane < back ? COLUMNS : 0); // from this lane's on
  if (lane < FC_BYTE_COLUMNS && p.column - back + further < p.width)
    to[further] = static_cast<char>((lane < 4 ? low : high) >> lane % 4 * 8);
}

template <bool RAGGED>
__device__ __forceinline__ void fc_byte_store(const fc_byte_place &p, char *to,
                                              const float (&sum)[FC_BYTE_COLUMNS], uint32_t &seen) {
  uint32_t all;
  const fc_byte_codes c = fc_byte_codes_of(sum, all);
  if (RAGGED) fc_byte_store_joined(p, to, c);
  if (p.whole) {
    if (!RAGGED) *reinterpret_cast<uint2 *>(to) = make_uint2(c.word[0], c.word[1]);
    seen |= all;
  } else if (p.some) {
    if (!RAGGED) fc_byte_store_some(to, c, p.column, p.width);
    seen |= fc_byte_seen(sum, p);
  }
}

// The band of a block.
__device__ __forceinline__ fc_band_way fc_byte_band(const fc_band &b) {
  return fc_band_of_width<1, FC_BYTE_WIDTH>(b, blockIdx.x, gridDim.x);
}

// ---- launching -------------------------------------------------------------

// Is the kernel's code for a device that has the engine?
static inline bool fc_byte_has_engine(const void *kernel) {
  cudaFuncAttributes a;
  if (cudaFuncGetAttributes(&a, kernel) == cudaSuccess) return a.ptxVersion >= 90;
  return fc_forget_error();
}

// Bands for windows of `rows_down` rows.
static inline fc_band fc_byte_band_of(const fc_march &m, int rows_down) {
  fc_band b = fc_band_of(m, 1, 0);
  b.bands = (m.columns + FC_BYTE_WIDTH - 1) / FC_BYTE_WIDTH;
  b.rows_down = rows_down;
  b.pitch = (FC_BYTE_WIDTH + b.margin + 2 * 16 + 15) / 16 * 16;
  return b;
}

// Whether all rows of outputs begin at multiples of 8 bytes.
static inline bool fc_byte_is_ragged(const fc_march &m) {
  const int64_t steps = (m.images > 1 ? m.out_image : 0) | (m.planes > 1 ? m.out_plane : 0) | m.out_row;
  return (steps | static_cast<int64_t>(reinterpret_cast<uintptr_t>(m.out))) % FC_BYTE_COLUMNS != 0;
}

template <int K> static inline fc_byte_mask<K> fc_byte_mask_of(const fc_conv2d *op) {
  fc_byte_mask<K> mask = {};
  for (int i = 0; i < K * K; i++)
    mask.tap[i % K][i / K] = ldexpf(static_cast<const float *>(op->mask)[i], FC_BYTE_SCALE);
  return mask;
}

#endif

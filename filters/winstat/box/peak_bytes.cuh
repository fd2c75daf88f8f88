// SPDX-License-Identifier: MIT
//
// peak_bytes.cuh - minima and maxima of bytes in windows, for rows of any alignment.
//
// A warp goes down a strip of columns, a lane with 32 bytes of each row. Rows are loaded into a ring in
// shared memory as aligned words, and are shifted when they are read. Along y, windows are of the rest of a
// block of as many rows and of the beginning of the next (van Herk 1992, Gil and Werman 1993): when a block
// is there, what is from each of its rows to its end takes its place in the ring. Along x, 3 and 9 pixels are
// joined in registers, exchanged between lanes, and windows are combined from these in shared memory, where
// several channels only change a distance and results are aligned to 16 bytes of the output. No warp waits
// for another. Narrow images, and pieces of one, share a warp: each has a *cell* of lanes. Beyond the ends is
// a constant, as in peak_cells.cuh.
//
// Bytes are compared as the upper halves of pairs of 16 bits: what is below them never changes their order.
#ifndef FC_FILTERS_WINSTAT_PEAK_BYTES_CUH
#define FC_FILTERS_WINSTAT_PEAK_BYTES_CUH

#include "filters/gpu/copy_async.cuh"
#include "filters/winstat/bytes.cuh"

namespace winstat {

constexpr int CREST_WARPS = 2, CREST_WORDS = 8; // per block, and per lane
constexpr int CREST_BYTES = 4 * CREST_WORDS, CREST_ROW = 32 * CREST_WORDS;
constexpr int CREST_SLACK = 48; // unneeded words of a row that windows of lanes cover
constexpr int CREST_AHEAD = 2;  // rows in flight beyond those covered

// Bytes of a row are counted from its column 0.
struct crest_bytes_args {
  const char *in; // column 0 of row 0
  char *out;
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out;
  int32_t bytes, rows, planes;
  int32_t lo[2], hi[2]; // readable bytes, and rows
  int32_t follow, all;  // bytes from row to row where they follow each other without a gap, else 0; of all
  int32_t ahead, lead;  // bytes of a strip before its first result, and of everything it covers
  int32_t above, tall;  // rows of a window before its own; in all
  int32_t joined, last; // distance in bytes of the groups from which windows are combined, and
  int32_t reads, power; // ... from the first to the last; their number; how many times three are joined
  int32_t sole; // distance of pixels in bytes, if only the first byte of each belongs to the image; or 0
  int32_t ragged, quads;      // rows are not aligned to 4; they are aligned to 16
  uint32_t beyond, least;     // the value beyond the ends; the value that windows cover too
  int32_t lanes, cells, made; // of a cell; of a warp; bytes of results per cell row
  int32_t strips, splits, each;
  uint32_t units; // planes, frames and splits, one per cell
};

// Four bytes: 3 and 1, 2 and 0.
struct crest_pair {
  uint32_t high, low;
};

template <bool MOST> struct crest {
  static __device__ __forceinline__ crest_pair of(uint32_t w) { return {w, w << 8}; }
  static __device__ __forceinline__ uint32_t word(const crest_pair &p) {
    return __byte_perm(p.high, p.low, 0x3715);
  }
  static __device__ __forceinline__ uint32_t of_two(uint32_t a, uint32_t b) {
    return MOST ? __vmaxu2(a, b) : __vminu2(a, b);
  }
  static __device__ __forceinline__ uint32_t of_three(uint32_t a, uint32_t b, uint32_t c) {
    return MOST ? __vimax3_u16x2(a, b, c) : __vimin3_u16x2(a, b, c);
  }
  static __device__ __forceinline__ crest_pair of_two(const crest_pair &a, const crest_pair &b) {
    return {of_two(a.high, b.high), of_two(a.low, b.low)};
  }
};

// ---- rows into shared memory ----------------------------------------------------------

// A lane's words of rows. Contiguous ones are copied by adjacent lanes, if a warp has one cell.
struct crest_source {
  const char *from;           // row 0, the cell's first byte
  const char *lo, *hi;        // the readable part of memory
  int32_t place;              // the lane's first word among those of its cell; the next are `apart` further
  int32_t apart;              //
  int32_t first, last;        // rows in which all of them are readable
  uint32_t some;              // which of them contain bytes of rows
  uint32_t mask[CREST_WORDS]; // which of the bytes that the lane covers exist
};

// The existing bytes, from lo to hi - 1, among four bytes from byte i of a row on.
__device__ __forceinline__ uint32_t crest_there(int i, int lo, int hi) {
  const int from = lo - i < 0 ? 0 : lo - i > 4 ? 4 : lo - i, to = hi - i < 0 ? 0 : hi - i > 4 ? 4 : hi - i;
  const uint64_t ones = 0xffffffffu, after = ones << 8 * from, before = (1ull << 8 * to) - 1;
  return static_cast<uint32_t>(after & before);
}
__device__ __forceinline__ void crest_masks(const crest_bytes_args &a, crest_source &s, int i, int y) {
#pragma unroll
  for (int k = 0; k < CREST_WORDS; k++)
    s.mask[k] = crest_there(i + 4 * k, a.lo[0] - y * a.follow, a.hi[0] - y * a.follow);
}

// The word at `at`, which is not fully readable.
inline __device__ __noinline__ void crest_some(const char *lo, const char *hi, const char *at, uint32_t *to) {
  uint32_t word = 0;
  for (int b = 0; b < 4; b++)
    if (at + b >= lo && at + b < hi)
      word |= static_cast<uint32_t>(static_cast<unsigned char>(at[b])) << 8 * b;
  *to = word;
}

// `mine`: the lane's words in the ring.
__device__ __forceinline__ void crest_copy(const crest_bytes_args &a, const crest_source &s, int y,
                                           uint32_t *to, uint32_t *mine) {
  const char *row = s.from + y * a.row_in;
  const int skew = static_cast<int>(reinterpret_cast<uintptr_t>(row) & 3);
  const char *at = row - skew + 4 * s.place;
  to += s.place;
  if (y >= s.first && y < s.last) {
    if (a.quads) {
      if (s.some) {
#pragma unroll
        for (int k = 0; k < CREST_WORDS; k += 4) fc_copy_words(to + k, at + 4 * k);
      }
    } else {
#pragma unroll
      for (int k = 0; k < CREST_WORDS; k++)
        if (s.some >> k & 1) fc_copy_word(to + k * s.apart, at + 4 * s.apart * k);
    }
  } else if (y < a.lo[1] || y >= a.hi[1]) {
#pragma unroll
    for (int k = 0; k < CREST_WORDS; k += 4)
      *reinterpret_cast<uint4 *>(mine + k) = make_uint4(a.beyond, a.beyond, a.beyond, a.beyond);
  } else {
#pragma unroll 1
    for (int k = 0; k < CREST_WORDS; k++)
      if (s.some >> k & 1) crest_some(s.lo, s.hi, at + 4 * k * s.apart, to + k * s.apart);
  }
}

__device__ __forceinline__ void crest_quads(uint32_t (&v)[CREST_WORDS], const uint32_t *from) {
#pragma unroll
  for (int k = 0; k < CREST_WORDS; k += 4) {
    const uint4 q = *reinterpret_cast<const uint4 *>(from + k);
    v[k] = q.x, v[k + 1] = q.y, v[k + 2] = q.z, v[k + 3] = q.w;
  }
}
template <bool MOST>
__device__ __forceinline__ void crest_put(uint32_t *to, const crest_pair (&v)[CREST_WORDS]) {
  typedef crest<MOST> P;
#pragma unroll
  for (int k = 0; k < CREST_WORDS; k += 4)
    *reinterpret_cast<uint4 *>(to + k) =
        make_uint4(P::word(v[k]), P::word(v[k + 1]), P::word(v[k + 2]), P::word(v[k + 3]));
}

// The lane's bytes of a loaded row, which begins `skew` bytes after its first word.
__device__ __forceinline__ void crest_row(const crest_bytes_args &a, const crest_source &s, bool borders,
                                          uint32_t (&v)[CREST_WORDS], const uint32_t *from, int skew) {
  crest_quads(v, from);
  if (a.ragged) { // the same for all, as are the borders
    const uint32_t next = __shfl_down_sync(ALL, v[0], 1);
#pragma unroll
    for (int k = 0; k < CREST_WORDS; k++)
      v[k] = __funnelshift_r(v[k], k + 1 < CREST_WORDS ? v[k + 1 < CREST_WORDS ? k + 1 : k] : next, 8 * skew);
  }
  if (borders) {
#pragma unroll
    for (int k = 0; k < CREST_WORDS; k++) v[k] = (v[k] & s.mask[k]) | (a.beyond & ~s.mask[k]);
  }
}

// ---- windows along x ------------------------------------------------------------------

// Bytes 2 + D and D of word k.
template <int D, int N> __device__ __forceinline__ uint32_t crest_at(const crest_pair (&v)[N], int k) {
  const int i = k + D / 4 < N ? k + D / 4 : N - 1, j = k + D / 4 + 1 < N ? k + D / 4 + 1 : N - 1;
  switch (D % 4) {
  case 0: return v[i].low;
  case 1: return v[i].high;
  case 2: return __byte_perm(v[i].low, v[j].low, 0x5432);
  default: return __byte_perm(v[i].high, v[j].high, 0x5432);
  }
}

// Joins three bytes that are D apart, for the first M words.
template <bool MOST, int D, int M, int N>
__device__ __forceinline__ void crest_join(crest_pair (&to)[M], const crest_pair (&v)[N]) {
  typedef crest<MOST> P;
#pragma unroll
  for (int k = 0; k < M; k++) {
    to[k].low = P::of_three(v[k].low, crest_at<D>(v, k), crest_at<2 * D>(v, k));
    to[k].high = P::of_three(v[k].high, crest_at<D + 1>(v, k), crest_at<2 * D + 1>(v, k));
  }
}

// A lane's words, and those of the following lanes.
template <bool MOST, int N>
__device__ __forceinline__ void crest_more(crest_pair (&to)[N], const crest_pair (&v)[CREST_WORDS]) {
  typedef crest<MOST> P;
#pragma unroll
  for (int k = 0; k < N; k++)
    to[k] = k < CREST_WORDS ? v[k % CREST_WORDS]
                            : P::of(__shfl_down_sync(ALL, P::word(v[k % CREST_WORDS]), k / CREST_WORDS));
}

// 3 pixels of C channels, or 9, become one.
template <bool MOST, int C>
__device__ __forceinline__ void crest_joined(const crest_bytes_args &a, crest_pair (&v)[CREST_WORDS]) {
  constexpr int THREE = CREST_WORDS + (2 * C + 3) / 4, OF_THREE = CREST_WORDS + (6 * C + 3) / 4,
                NINE = CREST_WORDS + 2 * C;
  if (a.power == 1) {
    crest_pair x[THREE], y[CREST_WORDS];
    crest_more<MOST>(x, v);
    crest_join<MOST, C>(y, x);
#pragma unroll
    for (int k = 0; k < CREST_WORDS; k++) v[k] = y[k];
  } else if (a.power == 2) {
    crest_pair x[NINE], y[OF_THREE], z[CREST_WORDS];
    crest_more<MOST>(x, v);
    crest_join<MOST, C>(y, x);
    crest_join<MOST, 3 * C>(z, y);
#pragma unroll
    for (int k = 0; k < CREST_WORDS; k++) v[k] = z[k];
  }
}

// Words from byte `at` on.
__device__ __forceinline__ void crest_take(uint32_t (&v)[CREST_WORDS], const uint32_t *line, int at) {
  uint32_t x[CREST_WORDS + 4];
  const uint4 *quads = reinterpret_cast<const uint4 *>(line) + (at >> 4);
#pragma unroll
  for (int k = 0; k < CREST_WORDS / 4 + 1; k++) {
    const uint4 q = quads[k];
    x[4 * k] = q.x, x[4 * k + 1] = q.y, x[4 * k + 2] = q.z, x[4 * k + 3] = q.w;
  }
  const int shift = 8 * (at & 3);
  // The cells of a warp are usually of one kind.
#define CREST_FROM(n)                                                                                        \
  _Pragma("unroll") for (int k = 0; k < CREST_WORDS; k++) v[k] =                                             \
      __funnelshift_r(x[k + n], x[k + n + 1 < CREST_WORDS + 4 ? k + n + 1 : k + n], shift)
  switch (at >> 2 & 3) {
  case 0: CREST_FROM(0); break;
  case 1: CREST_FROM(1); break;
  case 2: CREST_FROM(2); break;
  default: CREST_FROM(3); break;
  }
#undef CREST_FROM
}

// The bytes of a row whose index is a multiple of `apart`.
__device__ __forceinline__ void crest_give(const uint32_t (&v)[CREST_WORDS], char *row, int i, int count,
                                           int apart) {
  int next = static_cast<int>(floor_mod(-i, apart));
#pragma unroll
  for (int b = 0; b < CREST_BYTES; b++) {
    if (b != next) continue;
    next += apart;
    if (i + b >= 0 && i + b < count) row[i + b] = static_cast<char>(v[b / 4] >> 8 * (b % 4));
  }
}

// ---- the march ------------------------------------------------------------------------

template <bool MOST, int C>
__global__ void __launch_bounds__(32 * CREST_WARPS) crest_march(const __grid_constant__ crest_bytes_args a) {
  typedef crest<MOST> P;
  extern __shared__ __align__(16) uint32_t memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, cell = lane / a.lanes,
            place = lane - cell * a.lanes, slots = a.tall + CREST_AHEAD;
  const unsigned item = blockIdx.x * CREST_WARPS + warp, strip = item % a.strips,
                 units = item / a.strips * a.cells;
  if (units >= a.units) return; // warps as a whole
  const bool live = cell < a.cells && units + cell < a.units;
  unsigned unit = live ? units + cell : units;
  uint32_t *const ring = memory + warp * (slots * CREST_ROW + CREST_ROW + CREST_SLACK);
  uint32_t *const line = ring + slots * CREST_ROW, *const mine = ring + lane * CREST_WORDS;
  const int y0 = static_cast<int>(unit % a.splits) * a.each,
            end = y0 + a.each < a.rows ? y0 + a.each : a.rows, count = a.cells > 1 ? a.each : end - y0;
  unit /= a.splits;
  const int64_t plane = unit % a.planes, frame = unit / a.planes;
  const int begin = static_cast<int>(strip) * a.made;
  crest_source s;
  const int first = begin - a.ahead, sees = first + place * CREST_BYTES;
  const char *const image = a.in + frame * a.frame_in + plane * a.plane_in;
  s.from = image + first;
  s.lo = image + a.lo[1] * a.row_in + a.lo[0];
  s.hi = image + (a.follow ? 0 : (a.hi[1] - 1) * a.row_in) + a.hi[0];
  const bool together = a.cells == 1 && !a.quads;
  s.apart = together ? 32 : 1, s.place = together ? lane : place * CREST_WORDS, s.some = 0;
  uint32_t *const to = ring + (together ? 0 : cell * a.lanes * CREST_WORDS);
  {
    const int i = first + 4 * s.place - (a.ragged ? 3 : 0), size = a.quads ? 4 * CREST_WORDS : 4,
              more = size + (a.ragged ? 3 : 0);
    int begins = a.lo[0], till = a.lo[0];
    for (int k = CREST_WORDS - 1; k >= 0; k--) {
      const int at = a.quads ? i : i + 4 * k * s.apart;
      if (!(live || together) || (!a.follow && (at + more <= a.lo[0] || at >= a.hi[0]))) continue;
      if (!s.some) till = at + more;
      s.some |= 1u << k, begins = at;
    }
    // Rows are contiguous in memory, and the gaps between them are readable.
    s.first = a.lo[1], s.last = a.hi[1];
    while (s.first < s.last && image + s.first * a.row_in + begins < s.lo) s.first++;
    while (s.last > s.first && image + (s.last - 1) * a.row_in + till > s.hi) s.last--;
  }
  crest_masks(a, s, sees, y0);
  char *out = a.out + frame * a.frame_out + plane * a.plane_out + y0 * a.row_out;
  const int top = y0 - a.above, seen = count + a.tall - 1; // rows: the first that windows cover, and all
  const unsigned lean = static_cast<unsigned>(reinterpret_cast<uintptr_t>(s.from) + top * a.row_in),
                 leans = static_cast<unsigned>(a.row_in);
#pragma unroll 1
  for (int r = 0; r < slots; r++) {
    if (r < seen) crest_copy(a, s, top + r, to + r * CREST_ROW, mine + r * CREST_ROW);
    fc_commit_copies();
  }
  // Whether the warp covers columns beyond the ends of rows.
  const bool borders = __any_sync(ALL, sees + y0 * a.follow < a.lo[0] ||
                                           sees + CREST_BYTES + (y0 + count - 1) * a.follow > a.hi[0]);
  const crest_pair least = P::of(a.least);
  crest_pair prefix[CREST_WORDS];
  int slot = 0, of_block = 0; // of the first row that windows cover: in the ring, and in its block
#pragma unroll 1
  for (int j = 0; j < count; j++, out += a.row_out) {
    uint32_t w[CREST_WORDS];
    crest_pair v[CREST_WORDS];
    const int last = slot + a.tall - 1 < slots ? slot + a.tall - 1 : slot + a.tall - 1 - slots;
    fc_await_copies<CREST_AHEAD>();
    __syncwarp();
    if (borders && a.follow) crest_masks(a, s, sees, y0 + j);
    if (of_block == 0) {
#pragma unroll
      for (int k = 0; k < CREST_WORDS; k++) v[k] = prefix[k] = least;
      int at = last;
#pragma unroll 2
      for (int r = a.tall - 1; r >= 0; r--) {
        crest_row(a, s, borders, w, mine + at * CREST_ROW, (lean + (j + r) * leans) & 3);
#pragma unroll
        for (int k = 0; k < CREST_WORDS; k++) v[k] = P::of_two(v[k], P::of(w[k]));
        crest_put<MOST>(mine + at * CREST_ROW, v);
        at = at > 0 ? at - 1 : slots - 1;
      }
    } else {
      uint32_t rest[CREST_WORDS];
      crest_row(a, s, borders, w, mine + last * CREST_ROW, (lean + (j + a.tall - 1) * leans) & 3);
      crest_quads(rest, mine + slot * CREST_ROW);
#pragma unroll
      for (int k = 0; k < CREST_WORDS; k++) {
        prefix[k] = P::of_two(prefix[k], P::of(w[k]));
        v[k] = P::of_two(prefix[k], P::of(rest[k]));
      }
    }
    crest_joined<MOST, C>(a, v);
    crest_put<MOST>(line + lane * CREST_WORDS, v);
    __syncwarp();
    if (j + slots < seen) crest_copy(a, s, top + j + slots, to + slot * CREST_ROW, mine + slot * CREST_ROW);
    fc_commit_copies();
    const int skew = static_cast<int>(reinterpret_cast<uintptr_t>(out) & 15);
    const int at = lane * CREST_BYTES + a.lead - skew, i = begin - skew + place * CREST_BYTES;
    crest_take(w, line, at);
#pragma unroll 1
    for (int n = 1; n < a.reads; n++) {
      uint32_t x[CREST_WORDS];
      crest_take(x, line, at + (n + 1 < a.reads ? n * a.joined : a.last));
#pragma unroll
      for (int k = 0; k < CREST_WORDS; k++) w[k] = P::word(P::of_two(P::of(w[k]), P::of(x[k])));
    }
    const int y = y0 + j, left = a.all - y * a.follow;
    const int given = a.follow && left < a.bytes ? left : a.bytes;
    if (live && y < end && place * CREST_BYTES < a.made) {
      if (a.sole)
        crest_give(w, out, i, given, a.sole);
      else
        bytes_give(w, out, i, given, 1);
    }
    slot = slot + 1 < slots ? slot + 1 : 0;
    of_block = of_block + 1 < a.tall ? of_block + 1 : 0;
  }
}

} // namespace winstat

#endif

// SPDX-License-Identifier: MIT
//
// peak_cells.cuh - like extremes.cuh, for windows of moderate size, with one barrier per 16 rows and several
// narrow images, or pieces of one, in a block of threads.
//
// A thread copies a column of words, which no other thread reads, and replaces them by the extremes along y
// of 16 rows; words of several samples are transposed, so that they hold as many rows of one column. After a
// barrier, the only one in 16 rows, a warp replaces these by the extremes along x, 16 pixels per lane; after
// the next barrier, columns are stored. Shared memory is a ring of blocks of 16 rows.
//
// A row of shared memory is cut into planes: of a channel of a cell, which is an image's piece from top to
// bottom. Beyond the ends is a constant: if a border repeats samples of the window itself, one that is never
// an extreme.
#ifndef FC_FILTERS_WINSTAT_PEAK_CELLS_CUH
#define FC_FILTERS_WINSTAT_PEAK_CELLS_CUH

#include "filters/winstat/box/cells.cuh"

namespace winstat {

// PITCH: words per row; LANES: runs of 16 pixels of a group of K rows; SEGMENT: words of such a run in each
// of K rows; SPARE: blocks of the ring beyond those that windows cover. For interleaved channels (MANY) rows
// are arranged so that pixels of one channel are spread over the banks.
template <typename T, bool MANY> struct cell_room {
  static constexpr int K = peak<T>::K, WORDS = K == 4 ? 144 : 288, THREADS = K == 4 ? 160 : 288;
  static constexpr int PITCH = K > 1 && MANY ? WORDS + 1 : WORDS;
  static constexpr int LANES = K == 1 ? 16 : 32, SEGMENT = PEAK_ROWS / K, GROUPS = PEAK_ROWS / K;
  static constexpr int STEP = PEAK_ROWS * PITCH, SPARE = K == 1 ? 2 : 4, BLOCKS = K == 4 ? 4 : K == 2 ? 2 : 3;
  static constexpr bool EARLY = K > 1; // copies use a separate block of the ring
  // Quarters of segments are permuted so that lanes, one segment each, use different banks.
  static __device__ __forceinline__ int at(int i) {
    return K > 1 && MANY ? i : i ^ (i >> 5 & (SEGMENT / 4 - 1)) << 2;
  }
};

struct crest_args {
  cell_args c;
  int32_t late;   // elements of a plane before the first that is stored as a word
  int32_t filled; // windows also cover this
  uint32_t filling;
};

// ---- samples into shared memory -----------------------------------------------------

// A thread's column: elements e .. e + K - 1 of a cell's rows; rows first .. last - 1 have them in whole
// words; `some` of others may exist.
struct cell_column {
  const char *from; // row 0
  int32_t e, first, last;
  peak_way way;
};

// The word of row y, of which only some elements may exist.
template <typename T>
__device__ __noinline__ uint32_t cell_word(const cell_args &c, const char *from, int y, int e) {
  const peak_args &a = c.p;
  union {
    uint32_t word;
    T at[peak<T>::K];
  } u = {a.beyond};
  const int64_t lo = static_cast<int64_t>(a.lo[0]) * a.step - y * c.follow,
                hi = static_cast<int64_t>(a.hi[0]) * a.step - y * c.follow;
#pragma unroll
  for (int k = 0; k < peak<T>::K; k++)
    if (e + k >= lo && e + k < hi)
      u.at[k] = *reinterpret_cast<const T *>(from + y * a.row_in + k * sizeof(T));
  return u.word;
}

template <typename T, bool MANY>
__device__ __forceinline__ void cell_copy(const cell_args &c, const cell_column &s, int y, uint32_t *to) {
  constexpr int PITCH = cell_room<T, MANY>::PITCH;
  const peak_args &a = c.p;
  if (s.way == PEAK_UNSEEN) return;
  const char *at = s.from + y * a.row_in;
  if (s.way == PEAK_PLAIN && y >= s.first && y + PEAK_ROWS <= s.last) {
#pragma unroll
    for (int k = 0; k < PEAK_ROWS; k++, at += a.row_in) fc_copy_word(to + k * PITCH, at);
    return;
  }
#pragma unroll 4
  for (int k = 0; k < PEAK_ROWS; k++, at += a.row_in) {
    const bool whole = y + k >= s.first && y + k < s.last;
    if (peak<T>::K == 1 || (s.way == PEAK_PLAIN && !c.follow)) {
      if (whole)
        fc_copy_word(to + k * PITCH, at);
      else
        to[k * PITCH] = a.beyond;
    } else if (whole && s.way == PEAK_SHIFTED) {
      const uintptr_t here = reinterpret_cast<uintptr_t>(at);
      const uint32_t *word = reinterpret_cast<const uint32_t *>(here & ~uintptr_t{3});
      const unsigned shift = static_cast<unsigned>(here & 3) * 8;
      to[k * PITCH] = __funnelshift_r(word[0], word[shift ? 1 : 0], shift);
    } else if (whole && s.way == PEAK_PLAIN) {
      to[k * PITCH] = *reinterpret_cast<const uint32_t *>(at);
    } else {
      to[k * PITCH] = y + k >= a.lo[1] && y + k < a.hi[1] ? cell_word<T>(c, s.from, y + k, s.e) : a.beyond;
    }
  }
}

// Rows in which elements e .. e + K - 1, and `spare` beyond them, exist.
template <typename T>
__device__ __forceinline__ void cell_rows(const cell_args &c, cell_column *s, int spare) {
  const peak_args &a = c.p;
  constexpr int K = peak<T>::K;
  const int64_t ahead = s->e - static_cast<int64_t>(a.lo[0]) * a.step,
                left = static_cast<int64_t>(a.hi[0]) * a.step - s->e - K;
  s->first = a.lo[1], s->last = a.hi[1];
  if (c.follow) {
    const int64_t from = -floor_div(ahead - spare, c.follow), to = floor_div(left - spare, c.follow) + 1;
    if (from > s->first) s->first = static_cast<int32_t>(from);
    if (to < s->last) s->last = static_cast<int32_t>(to);
  } else if (ahead < spare || left < spare) {
    s->first = s->last = 0;
    s->way = ahead > -K && left > -K && K > 1 ? PEAK_GATHERED : PEAK_PLAIN; // a part of it, or nothing
  }
}

// ---- extremes along x ---------------------------------------------------------------

// The start of a lane's windows: a run of pixels of one channel. get() loads the first COUNT pixels of the
// run `segment` further on.
template <typename T, bool MANY> struct cell_line {
  typedef cell_room<T, MANY> room;
  static constexpr int K = room::K;
  uint32_t *rows; // K of them
  int at;

  __device__ __forceinline__ cell_line(uint32_t *rows, int at, int, int) : rows(rows), at(at) {}
  template <int COUNT> __device__ __forceinline__ void get(uint32_t (&x)[PEAK_ROWS], int segment) const {
    const int place = room::at(at + segment * room::SEGMENT);
#pragma unroll
    for (int l = 0; l < K; l++)
#pragma unroll
      for (int d = 0; d < room::SEGMENT; d += 4) {
        if (d * K + l >= COUNT) continue;
        const uint4 q = *reinterpret_cast<const uint4 *>(rows + l * room::PITCH + (place ^ d));
        x[d * K + l] = q.x, x[(d + 1) * K + l] = q.y;
        x[(d + 2) * K + l] = q.z, x[(d + 3) * K + l] = q.w;
      }
  }
  __device__ __forceinline__ void put(const uint32_t (&v)[PEAK_ROWS]) const {
    const int place = room::at(at);
#pragma unroll
    for (int l = 0; l < K; l++)
#pragma unroll
      for (int d = 0; d < room::SEGMENT; d += 4)
        *reinterpret_cast<uint4 *>(rows + l * room::PITCH + (place ^ d)) =
            make_uint4(v[d * K + l], v[(d + 1) * K + l], v[(d + 2) * K + l], v[(d + 3) * K + l]);
  }
};

// Words of several samples with interleaved channels: pixels that are K apart are as many words apart as
// there are channels, in one row.
template <typename T> struct cell_lines {
  typedef cell_room<T, true> room;
  static constexpr int K = room::K;
  uint32_t *first[K];
  int channels;

  __device__ __forceinline__ cell_lines(uint32_t *rows, int at, int element, int channels)
      : channels(channels) {
#pragma unroll
    for (int j = 0; j < K; j++, element += channels)
      first[j] = rows + at + (element & (K - 1)) * room::PITCH + element / K;
  }
  template <int COUNT> __device__ __forceinline__ void get(uint32_t (&x)[PEAK_ROWS], int segment) const {
#pragma unroll
    for (int k = 0; k < COUNT; k++) x[k] = first[k % K][(segment * room::SEGMENT + k / K) * channels];
  }
  __device__ __forceinline__ void put(const uint32_t (&v)[PEAK_ROWS]) const {
#pragma unroll
    for (int k = 0; k < PEAK_ROWS; k++) first[k % K][k / K * channels] = v[k];
  }
};
template <> struct cell_line<uint16_t, true> : cell_lines<uint16_t> {
  using cell_lines<uint16_t>::cell_lines;
};

template <typename T, class Line>
__device__ __forceinline__ void cell_along(const extent16 &w, uint32_t (&v)[PEAK_ROWS], const Line &line) {
  typedef peak<T> P;
  uint32_t x[PEAK_ROWS], y[PEAK_ROWS], z[PEAK_ROWS];
  auto put = [&](int k, const P &p) { v[k] = p.word(); };
  if (w.segments == 0) {
    with_number(w.reach + 1, [&](auto n) {
      constexpr int W = decltype(n)::value;
      line.template get<PEAK_ROWS>(x, 0);
      if (W > 1) line.template get<W - 1>(y, 1);
      peak_short<T, W>([&](int k) { return P::of(k < PEAK_ROWS ? x[k % PEAK_ROWS] : y[k % PEAK_ROWS]); },
                       put);
    });
    return;
  }
  P core = P::none();
#pragma unroll 1
  for (int s = 1; s < w.segments; s++) {
    line.template get<PEAK_ROWS>(x, s);
#pragma unroll
    for (int k = 0; k < PEAK_ROWS; k++) core = P::least(core, P::of(x[k]));
  }
  with_number(w.rest + 1, [&](auto n) {
    constexpr int PART = decltype(n)::value;
    line.template get<PEAK_ROWS>(x, 0);
    line.template get<PEAK_ROWS>(y, w.segments);
    if (PART > 1) line.template get<PART - 1>(z, w.segments + 1);
    peak_long<T, PART>(
        core, [&](int k) { return P::of(x[k % PEAK_ROWS]); },
        [&](int k) { return P::of(k < PEAK_ROWS ? y[k % PEAK_ROWS] : z[k % PEAK_ROWS]); }, put);
  });
}

// ---- results ------------------------------------------------------------------------

// A thread's column of results: elements first .. last - 1 are needed.
struct cell_result {
  char *to; // row 0, its first element
  int32_t at[4];
  int32_t first, last, rows;
  int32_t tail; // like `last`, for the last row
};

// Sixteen rows from `row` on.
template <typename T, bool MANY>
__device__ __forceinline__ void cell_store(const crest_args &d, const cell_result &r, const uint32_t *block,
                                           int row) {
  typedef cell_room<T, MANY> room;
  constexpr int K = room::K;
  const peak_args &a = d.c.p;
  if (r.last <= r.first) return;
  char *to = r.to + row * a.row_out;
  const bool whole = r.first == 0 && r.last == K && (K == 1 || (a.words && r.tail == K));
#pragma unroll
  for (int g = 0; g < room::GROUPS; g++) {
    uint32_t w[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
      w[k] = block[g * K * room::PITCH + r.at[k]];
      if (d.filled) w[k] = peak<T>::least(peak<T>::of(w[k]), peak<T>::of(d.filling)).word();
      w[k] = peak<T>::result(w[k], a.flip);
    }
    turn_words<K>(w);
#pragma unroll
    for (int k = 0; k < K; k++, to += a.row_out) {
      if (row + g * K + k >= r.rows) continue;
      if (whole) {
        *reinterpret_cast<uint32_t *>(to) = w[k];
      } else {
        union {
          uint32_t word;
          T at[K];
        } u = {w[k]};
#pragma unroll
        for (int i = 0; i < K; i++)
          if (i >= r.first && i < (row + g * K + k + 1 < r.rows ? r.last : r.tail))
            reinterpret_cast<T *>(to)[i] = u.at[i];
      }
    }
  }
}

// ---- the march ----------------------------------------------------------------------

// The position of a thread's words: cell, element of its rows, channel and pixel of a plane.
template <typename T, bool MANY>
__global__ void __launch_bounds__(cell_room<T, MANY>::THREADS, cell_room<T, MANY>::BLOCKS)
    cell_march(const __grid_constant__ crest_args d) {
  typedef peak<T> P;
  typedef cell_room<T, MANY> room;
  constexpr int K = room::K, PITCH = room::PITCH, STEP = room::STEP;
  extern __shared__ __align__(16) uint32_t memory[];
  const cell_args &c = d.c;
  const peak_args &a = c.p;
  const int C = a.step, thread = threadIdx.x;
  // The thread's columns.
  const int plane = c.plane * room::SEGMENT, words = plane * C + (K > 1 && MANY); // of a plane, and of a cell
  const cell_spot s = cell_spot_of<K>(c, words * K);
  const int place = room::at(K == 1 ? (s.cell * C + s.channel) * plane + s.pixel : thread);
  int y = s.y;
  cell_column source = {nullptr, 0, 0, 0, PEAK_UNSEEN};
  cell_result result = {nullptr, {place, 0, 0, 0}, 0, 0, 0, 0};
  if (s.live) {
    source.e = (s.x - a.before[0]) * C - a.skew + s.element;
    if (s.element < a.skew + (s.pixels + a.window[0] - 1) * C) {
      source.way = K > 1 && a.ragged ? PEAK_SHIFTED : PEAK_PLAIN;
      source.from = a.in + s.in +
                    (K == 1 ? (s.x - a.before[0] + s.pixel) * static_cast<int64_t>(c.pixel_in) +
                                  s.channel * c.channel_in
                            : source.e * static_cast<int64_t>(sizeof(T)));
      cell_rows<T>(c, &source, K > 1 && a.ragged ? K : 0);
    }
    const int e = s.element + d.late; // of a plane, the first that is stored
    const int from = a.skew - e, to = a.skew + s.pixels * C - e;
    result.first = from < 0 ? 0 : from, result.last = to < K ? to : K;
    result.rows = a.rows, result.tail = result.last;
    if (c.follow) {
      const int64_t rest = c.all - (s.x * C + e - a.skew) - (a.rows - 1) * c.follow;
      if (rest < result.tail) result.tail = rest > 0 ? static_cast<int32_t>(rest) : 0;
      if (rest <= 0 && K == 1) result.rows--;
    }
    result.to = a.out + s.out +
                (K == 1 ? (s.x + s.pixel) * static_cast<int64_t>(c.pixel_out) + s.channel * c.channel_out
                        : (s.x * C + e - a.skew) * static_cast<int64_t>(sizeof(T)));
    if (K > 1)
#pragma unroll
      for (int k = 0; k < K; k++) {
        const int i = e + k, of = i < 0 ? 0 : i / K;
        result.at[k] = (i & (K - 1)) * PITCH + room::at(s.cell * words + (of < words ? of : words - 1));
      }
  }
  // The lane's windows along x.
  const int lane = thread % 32, run = lane % room::LANES,
            group = thread / 32 * (32 / room::LANES) + lane / room::LANES;
  const int plane_of_run = run / a.runs, planes = c.cells * C;
  const bool slides = group < room::GROUPS && plane_of_run < planes;
  const int channel = plane_of_run % C,
            begins = plane_of_run / C * words + (K == 1 ? channel * plane : 0) +
                     (run - plane_of_run * a.runs) * room::SEGMENT * (K == 1 ? 1 : C);
  int slot = 0; // of the block in which windows begin
  auto after = [&](int by) { return slot + by < a.slots ? slot + by : slot + by - a.slots; };
  auto copy_next = [&](int block) {
    if (block + 1 < s.blocks)
      cell_copy<T, MANY>(c, source, y - a.before[1] + (a.y.warm + 1) * PEAK_ROWS,
                         memory + after(a.y.warm + 1) * STEP + place);
    fc_commit_copies();
  };
  for (int n = 0; n <= a.y.warm; n++)
    cell_copy<T, MANY>(c, source, y - a.before[1] + n * PEAK_ROWS, memory + n * STEP + place);
  fc_commit_copies();
#pragma unroll 1
  for (int block = 0; block < s.blocks; block++, y += PEAK_ROWS) {
    fc_await_copies<0>();
    if (room::EARLY) copy_next(block);
    if (source.way != PEAK_UNSEEN) {
      uint32_t v[PEAK_ROWS];
      peak_down<T, PITCH>(
          a.y, a.flip, [&](int n) { return memory + after(n) * STEP + place; },
          [&](int k, const P &p) { v[k] = p.word(); });
      uint32_t *const here = memory + slot * STEP + place;
#pragma unroll
      for (int g = 0; g < room::GROUPS; g++) turn_words<K>(v + g * K);
#pragma unroll
      for (int k = 0; k < PEAK_ROWS; k++) here[k * PITCH] = v[k];
    }
    __syncthreads();
    if (block > 0) cell_store<T, MANY>(d, result, memory + after(a.slots - 1) * STEP, y - PEAK_ROWS);
    if (!room::EARLY) copy_next(block);
    const bool made = slides && (c.cells > 1 || y + group * K < a.rows);
    const cell_line<T, MANY> line(memory + slot * STEP + group * K * PITCH, begins, a.skew + channel, C);
    uint32_t v[PEAK_ROWS];
    if (made) cell_along<T>(a.x, v, line);
    __syncwarp();
    if (made) line.put(v);
    slot = after(1);
  }
  __syncthreads();
  cell_store<T, MANY>(d, result, memory + after(a.slots - 1) * STEP, y - PEAK_ROWS);
}

} // namespace winstat

#endif

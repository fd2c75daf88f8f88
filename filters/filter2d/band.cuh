// SPDX-License-Identifier: MIT
//
// band.cuh - the fastest way to lay a 2-D filter out on a CUDA device: a block marches down a band of 512 or
// 1024 elements, 4 or 8 a thread, and keeps the sums of all rows that the window touches in registers, as the
// warps of march.cuh do. The difference is how rows are loaded: a block copies each row of its band as a
// whole, by words or by 16 bytes and several batches in advance, so that address computations cost almost
// nothing, little is read twice, and 30 to 50 KB are in flight per multiprocessor. Internal to filters/, for
// the types for which that pays.
//
// For rows of adjacent elements, as fc_march_of takes them: an interleaved row of C channels is one row
// whose taps lie `step` = C apart.
//
// On sm_90 the bulk copy engine loads rows of bytes: the warps take turns in starting the copy of a batch,
// and barriers in shared memory signal when a batch has arrived and when all warps have finished with it. So
// no warp moves elements, and none waits for the slowest. The engine loads whole pieces of 16; the bytes at
// the ends are stored by the warp itself, from a list made once per block.
//
// Where a view ends with its signal (fc_edges), these kernels make the border themselves: a row above or
// below is copied from the row that the border maps it to, and in the first and last band each thread copies
// at most one additional element from its mapped position. All this is decided once per block or row; inner
// blocks do not pay for it.
#ifndef FC_FILTERS_CONV2D_BAND_CUH
#define FC_FILTERS_CONV2D_BAND_CUH

#include <type_traits>

#include "filters/gpu/border.cuh"
#include "filters/filter2d/march.cuh"
#include "filters/gpu/copy_async.cuh"
#include "filters/gpu/copy_bulk.cuh"

#define FC_BAND_THREADS 128

// The ends of the signal.
struct fc_band_edges {
  bool on;                // the views end where the signal ends: nothing beyond may be read
  int32_t border;         // fc_border
  uint32_t code;          // the border's constant, in every element of a word
  int32_t up, left;       // rows and elements of the first window that are outside
  int32_t height, pixels; // of the signal
  int32_t step;           // elements of a pixel
};

// Kernel arguments; strides in bytes.
struct fc_band {
  const char *in; // from the first element of the first window on
  char *out;
  int64_t in_image, in_plane, in_row, out_image, out_plane, out_row;
  int64_t planes, height, columns;
  int64_t bands, segments, rows; // rows of a segment, which one block processes
  int32_t margin, pitch;         // distance of rows in shared memory, in words
  int32_t early;                 // leading elements of a window that do not count and may not exist
  int32_t rows_down;             // of a window
  bool wide;                     // outputs can be stored 4 (f32) or 2 (u8) at a time
  bool alike;                    // all rows have the same alignment to 16 bytes
  bool overlap;                  // the last band is as wide as the others, and overlaps the one before
  fc_band_edges edges;
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
};

// The part of the image that a block processes.
struct fc_band_way {
  const char *in; // first element of the first row of windows
  char *out;      // first output
  int count;      // rows of output
  int width;      // of output in a row; less in the last band
  int y, x;       // where in the signal the first row of windows begins
  int lo, hi;     // the readable elements of each row of windows; some may be beyond them
};

// Bands at the ends of the rows are first, because they take a little longer.
template <int SIZE, int WIDTH>
__device__ __forceinline__ fc_band_way fc_band_of_width(const fc_band &b, uint32_t block, uint32_t blocks) {
  const uint32_t bands = static_cast<uint32_t>(b.bands), ends = bands > 1 ? 2 : 0;
  const uint32_t lines = blocks / bands;
  uint32_t w = block, band;
  if (w < ends * lines)
    band = w % 2 * (bands - 1), w /= 2;
  else
    w -= ends * lines, band = w % (bands - ends) + ends / 2, w /= bands - ends;
  int64_t e = static_cast<int64_t>(band) * WIDTH;
  if (b.overlap && e + WIDTH > b.columns) e = b.columns - WIDTH;
  const int64_t left = b.columns - e;
  const uint32_t segments = static_cast<uint32_t>(b.segments), planes = static_cast<uint32_t>(b.planes);
  const int64_t y = w % segments * b.rows;
  w /= segments;
  const int64_t plane = w % planes, image = w / planes;
  fc_band_way way;
  way.in = b.in + image * b.in_image + plane * b.in_plane + y * b.in_row + e * SIZE;
  way.out = b.out + image * b.out_image + plane * b.out_plane + y * b.out_row + e * SIZE;
  way.count = static_cast<int>(b.height - y < b.rows ? b.height - y : b.rows);
  way.width = left < WIDTH ? static_cast<int>(left) : WIDTH;
  way.y = static_cast<int>(y) - b.edges.up, way.x = static_cast<int>(e) - b.edges.left;
  const int64_t lo = b.edges.on ? b.edges.left - e : b.early - e,
                hi = b.edges.on ? b.columns - way.x : left + b.margin;
  way.lo = lo > -WIDTH ? static_cast<int>(lo) : -WIDTH;
  way.hi = hi < 2 * WIDTH ? static_cast<int>(hi) : 2 * WIDTH;
  return way;
}

template <int SIZE, int GROUPS>
__device__ __forceinline__ fc_band_way fc_band_of_block(const fc_band &b, uint32_t block, uint32_t blocks) {
  return fc_band_of_width<SIZE, GROUPS * FC_BAND_WIDTH>(b, block, blocks);
}

template <int SIZE, int GROUPS> __device__ __forceinline__ fc_band_way fc_band_begin(const fc_band &b) {
  return fc_band_of_block<SIZE, GROUPS>(b, blockIdx.x, gridDim.x);
}

// A thread's share of copying a row of a band: pieces - words, or 16 bytes - that contain only readable
// memory, and at most one additional element, which may come from another position.
struct fc_band_share {
  uint32_t pieces; // bit i: piece i * FC_BAND_THREADS and its own number
  int to;          // the element, counted from the window's first; or -1
  int from;        // counted likewise; or FC_BAND_CONSTANT
};
#define FC_BAND_CONSTANT INT32_MIN

// The source of element j of a row of windows that begins at `x` of the signal.
__device__ __forceinline__ int fc_band_element(const fc_band_edges &edges, int x, int j) {
  const int e = x + j, pixel = e < 0 ? -((-e + edges.step - 1) / edges.step) : e / edges.step;
  const int source = fc_dev_border_source(edges.border, pixel, edges.pixels);
  return source < 0 ? FC_BAND_CONSTANT : j + (source - pixel) * edges.step;
}

// For a row that begins `shift` elements into a piece of `each` elements.
template <int PIECES>
__device__ __forceinline__ fc_band_share fc_band_share_of(const fc_band &b, const fc_band_way &way, int each,
                                                          int shift) {
  const int thread = threadIdx.x, n = way.width + b.margin;
  const int first = (max(way.lo + shift, 0) + each - 1) / each, all = (n + shift + each - 1) / each,
            end = way.hi + shift >= all * each ? all : (min(n, way.hi) + shift) / each;
  fc_band_share s = {0, -1, 0};
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    const int piece = i * FC_BAND_THREADS + thread;
    if (piece >= first && piece < end) s.pieces |= 1u << i;
  }
  const int before = max(first * each - shift, 0);
  const int j = thread < before ? thread : max(end * each - shift, before) + thread - before;
  if (j >= n) return s;
  if (b.edges.on)
    s.to = j, s.from = fc_band_element(b.edges, way.x, j);
  else if (j >= way.lo)
    s.to = s.from = j;
  return s;
}

// The bytes of a row of windows that are in fully readable pieces of 16 bytes.
struct fc_band_pieces {
  int first, end;
};

// For a row that begins `place` bytes into such a piece.
__device__ __forceinline__ fc_band_pieces fc_band_pieces_of(const fc_band &b, const fc_band_way &way,
                                                            int place) {
  const int n = way.width + b.margin, lo = way.lo > -15 ? max(way.lo, 0) + 15 : 0,
            hi = way.hi < n + 15 ? min(way.hi, n) : n + 15;
  return {((lo + place) & ~15) - place, ((hi + place) & ~15) - place};
}

// How rows are copied: by 16 bytes (floats aligned to that), by words, or by words of bytes whose rows have
// different alignments.
enum fc_band_copies { FC_BAND_QUADS, FC_BAND_WORDS, FC_BAND_RAGGED };

// The ring buffer of batches in shared memory, and the source of the next row. A whole row of a band is FULL
// words per thread, plus the margin. ENGINE: in bulk if available.
template <int SIZE, int BATCH, int STAGES, int FULL, fc_band_copies COPIES> struct fc_band_ring {
  static constexpr bool QUADS = COPIES == FC_BAND_QUADS, RAGGED = COPIES == FC_BAND_RAGGED,
                        ENGINE = SIZE == 1, BULK = FC_BULK_CODE && ENGINE;
  // Maximum of surplus elements copied.
  static constexpr int SPARE = BULK || QUADS ? 16 / SIZE - 1 : 4 / SIZE - 1;
  const char *from; // the next row to be copied
  int words;        // of a row
  // the band is whole, and everything that it copies is readable: all threads copy in the same way
  bool inner;
  bool bulk;      // rows are loaded in bulk
  uint32_t ring;  // address in shared memory
  uint32_t turns; // batches started so far
  uint32_t bars;  // address of the barriers
  static_assert((STAGES & (STAGES - 1)) == 0, "turns may wrap");

  // Per thread, for the bands that need it: kept out of registers, which are needed for sums.
  static __device__ __forceinline__ fc_band_share &share() {
    __shared__ fc_band_share all[FC_BAND_THREADS];
    return all[threadIdx.x];
  }

  // Rows to copy: the position of the first in the signal, and their number.
  struct rest {
    int y, rows;
  };
  static __device__ __forceinline__ rest &all_rows() {
    __shared__ rest all;
    return all;
  }
  // From the next batch on.
  __device__ __forceinline__ rest to_come() const {
    const int done = static_cast<int>(turns) * BATCH;
    return {all_rows().y + done, all_rows().rows - done};
  }

  // For each batch of the ring: a barrier for its arrival, and one for all threads having finished with it.
  __device__ __forceinline__ uint32_t full(uint32_t batch) const { return bars + 8 * (batch % STAGES); }
  __device__ __forceinline__ uint32_t empty(uint32_t batch) const {
    return bars + 8 * STAGES + 8 * (batch % STAGES);
  }
  __device__ __forceinline__ void make_barriers(void) {
    __shared__ uint64_t all[2 * STAGES];
    bars = fc_shared_address(all);
    asm volatile("" : "+r"(bars)); // keeps the compiler from computing it again
    if (threadIdx.x == 0) {
      for (uint32_t i = 0; i < STAGES; i++) fc_bar_init(full(i), 32), fc_bar_init(empty(i), FC_BAND_THREADS);
      fc_bar_publish();
    }
    __syncthreads();
  }

  __device__ __forceinline__ fc_band_ring(const fc_band &b, const fc_band_way &way, int rows,
                                          uint32_t *memory)
      : from(way.in), ring(fc_shared_address(memory)), turns(0), bars(0) {
    asm volatile("" : "+r"(ring));                    // as above
    if (threadIdx.x == 0) all_rows() = {way.y, rows}; // visible after the next barrier
    const int n = way.width + b.margin, spare = SIZE == 4 && !QUADS ? 0 : SPARE;
    inner = way.width == FULL * FC_BAND_THREADS * 4 / SIZE && way.lo <= (SIZE == 4 ? 0 : -SPARE) &&
            way.hi >= n + spare;
    bulk = BULK && (RAGGED || b.alike);
    words = QUADS ? (n + 3) / 4 * 4 : SIZE == 4 ? n : (shift_of(b, 0) + n + 3) / 4;
    if (!inner && !(BULK && RAGGED))
      share() = QUADS ? fc_band_share_of<FULL / 4 + 1>(b, way, 4, 0) : share_of_words(b, way, 0);
    if (BULK && !inner) list_ends(b, way);
    if (BULK) make_barriers();
  }

  // For row u of the next batch.
  __device__ __forceinline__ fc_band_share share_of_words(const fc_band &b, const fc_band_way &way,
                                                          int u) const {
    return fc_band_share_of<FULL + 1>(b, way, 4 / SIZE, shift_of(b, u) / SIZE);
  }

  __device__ __forceinline__ int shift_of(const fc_band &b, int u) const {
    return SIZE == 4 ? 0 : static_cast<int>(reinterpret_cast<uintptr_t>(from + u * b.in_row) & 3);
  }

  // Starts to copy a batch of rows, in whole pieces. The first and last piece may contain elements outside
  // the window, but only readable ones.
  __device__ __forceinline__ void fetch(const fc_band &b, const fc_band_way &way) {
    uint32_t *to = batch(b, turns);
    const rest r = to_come();
    if (r.rows < BATCH || (b.edges.on && (r.y < 0 || r.y + BATCH > b.edges.height)))
      fetch_some(b, way, to);
    else if (QUADS && inner)
      fetch_quads(b, to);
    else if (!RAGGED && inner)
      fetch_plain(b, to);
    else if (QUADS)
      fetch_end_quads(b, to);
    else
      fetch_words(b, way, to);
    fc_commit_copies();
  }

  // A batch whose rows all exist, of an inner band.
  __device__ __forceinline__ void fetch_plain(const fc_band &b, uint32_t *to) const {
    const char *row = from - shift_of(b, 0) + 4 * threadIdx.x;
    const bool last = static_cast<int>(threadIdx.x) < words - FULL * FC_BAND_THREADS;
    to += threadIdx.x;
#pragma unroll
    for (int u = 0; u < BATCH; u++, row += b.in_row, to += b.pitch) {
#pragma unroll
      for (int i = 0; i < FULL; i++) fc_copy_word(to + i * FC_BAND_THREADS, row + 4 * i * FC_BAND_THREADS);
      if (last) fc_copy_word(to + FULL * FC_BAND_THREADS, row + 4 * FULL * FC_BAND_THREADS);
    }
  }

  // The same 16 bytes at a time.
  __device__ __forceinline__ void fetch_quads(const fc_band &b, uint32_t *to) const {
    const bool last = 4 * static_cast<int>(threadIdx.x) < words - FULL * FC_BAND_THREADS;
    const char *row = from + 16 * threadIdx.x;
    to += 4 * threadIdx.x;
#pragma unroll
    for (int u = 0; u < BATCH; u++, row += b.in_row, to += b.pitch) {
#pragma unroll
      for (int i = 0; i < FULL; i += 4)
        fc_copy_words(to + i * FC_BAND_THREADS, row + 4 * i * FC_BAND_THREADS);
      if (last) fc_copy_words(to + FULL * FC_BAND_THREADS, row + 4 * FULL * FC_BAND_THREADS);
    }
  }

  // The same at the ends of the signal.
  __device__ __forceinline__ void fetch_end_quads(const fc_band &b, uint32_t *to) const {
    const fc_band_share s = share();
    const char *row = from;
#pragma unroll
    for (int u = 0; u < BATCH; u++, row += b.in_row, to += b.pitch) copy_quads(b, s, row, to);
  }

  __device__ __forceinline__ void copy_quads(const fc_band &b, const fc_band_share &s, const char *row,
                                             uint32_t *to) const {
#pragma unroll
    for (int i = 0; i <= FULL / 4; i++) {
      const int word = 4 * (i * FC_BAND_THREADS + threadIdx.x);
      if (s.pieces >> i & 1) fc_copy_words(to + word, row + 4 * word);
    }
    copy_element(b, s, row, to);
  }

  __device__ __forceinline__ void copy_element(const fc_band &b, const fc_band_share &s, const char *row,
                                               uint32_t *to) const {
    if (SIZE != 4 || s.to < 0) return;
    if (s.from == FC_BAND_CONSTANT)
      to[s.to] = b.edges.code;
    else
      fc_copy_word(to + s.to, row + 4 * s.from);
  }

  // A batch whose rows all exist, by words. For rows with different alignments the shares are computed one by
  // one, except in bands where only the last word depends on the alignment.
  __device__ __forceinline__ void fetch_words(const fc_band &b, const fc_band_way &way, uint32_t *to) const {
    const fc_band_share s = share();
    uint32_t *room = to;
#pragma unroll
    for (int u = 0; u < BATCH; u++, room += b.pitch) {
      const int shift = shift_of(b, RAGGED ? u : 0);
      const char *row = from + u * b.in_row;
      uint32_t pieces = s.pieces;
      if (RAGGED && inner) {
        const int more = (shift + way.width + b.margin + 3) / 4 - FULL * FC_BAND_THREADS;
        pieces = (1u << FULL) - 1 + (static_cast<int>(threadIdx.x) < more ? 1u << FULL : 0);
      } else if (RAGGED) {
        pieces = share_of_words(b, way, u).pieces;
      }
      copy_words(row - shift, pieces, room);
      copy_element(b, s, row, room);
    }
    if (SIZE == 1 && !inner) fetch_bytes(b, way, to);
  }

  __device__ __forceinline__ void copy_words(const char *row, uint32_t pieces, uint32_t *to) const {
#pragma unroll
    for (int i = 0; i <= FULL; i++) {
      const int word = i * FC_BAND_THREADS + threadIdx.x;
      if (pieces >> i & 1) fc_copy_word(to + word, row + 4 * word);
    }
  }

  // The single bytes of a batch, which asynchronous copies do not support: all are loaded before the first is
  // stored.
  __device__ __forceinline__ void fetch_bytes(const fc_band &b, const fc_band_way &way, uint32_t *to) const {
    uint8_t byte[BATCH];
    int at[BATCH];
#pragma unroll
    for (int u = 0; u < BATCH; u++) {
      const fc_band_share s = RAGGED ? share_of_words(b, way, u) : share();
      at[u] = s.to < 0 ? -1 : s.to + shift_of(b, RAGGED ? u : 0);
      byte[u] = static_cast<uint8_t>(b.edges.code);
      if (at[u] >= 0 && s.from != FC_BAND_CONSTANT)
        byte[u] = static_cast<uint8_t>((from + u * b.in_row)[s.from]);
    }
#pragma unroll
    for (int u = 0; u < BATCH; u++)
      if (at[u] >= 0) reinterpret_cast<uint8_t *>(to + u * b.pitch)[at[u]] = byte[u];
  }

  // A batch with missing rows: beyond the end, or outside the signal, where the border maps them to others.
  __device__ __forceinline__ void fetch_some(const fc_band &b, const fc_band_way &way, uint32_t *to) const {
#pragma unroll 1
    for (int u = 0; u < BATCH && u < to_come().rows; u++, to += b.pitch) {
      const char *own = from + u * b.in_row, *row = own;
      if (b.edges.on) row = row_of(b, u);
      if (!row)
        for (int i = threadIdx.x; i < b.pitch; i += FC_BAND_THREADS) to[i] = b.edges.code;
      else if (QUADS)
        copy_quads(b, fc_band_share_of<FULL / 4 + 1>(b, way, 4, 0), row, to);
      else if (RAGGED && (reinterpret_cast<uintptr_t>(row) & 3) != (reinterpret_cast<uintptr_t>(own) & 3))
        copy_bytes(b, way, row, shift_of(b, u), to);
      else
        copy_row(b, share_of_words(b, way, u), row, shift_of(b, u), to);
    }
  }

  __device__ __forceinline__ void copy_row(const fc_band &b, const fc_band_share &s, const char *row,
                                           int shift, uint32_t *to) const {
    copy_words(row - shift, s.pieces, to);
    copy_element(b, s, row, to);
    if (SIZE == 1 && s.to >= 0)
      reinterpret_cast<uint8_t *>(to)[s.to + shift] =
          static_cast<uint8_t>(s.from == FC_BAND_CONSTANT ? b.edges.code : static_cast<uint8_t>(row[s.from]));
  }

  // A row of bytes, which may be aligned differently from the row it is mapped to.
  __device__ __forceinline__ void copy_bytes(const fc_band &b, const fc_band_way &way, const char *row,
                                             int shift, uint32_t *to) const {
    uint8_t *bytes = reinterpret_cast<uint8_t *>(to) + shift;
#pragma unroll 2
    for (int j = threadIdx.x; j < way.width + b.margin; j += FC_BAND_THREADS) {
      const int source = b.edges.on ? fc_band_element(b.edges, way.x, j) : j;
      bytes[j] =
          static_cast<uint8_t>(source == FC_BAND_CONSTANT ? b.edges.code : static_cast<uint8_t>(row[source]));
    }
  }

  // Iterations before there is a batch to sum. With the engine there is room for one more batch: a buffer
  // that is filled again was finished one batch ago.
  static __device__ __forceinline__ constexpr uint32_t early() {
    return STAGES - 1 - ENGINE;
  }

  // The next batch, once it has arrived for all threads; the copy of another is started. The first call
  // returns none.
  __device__ __forceinline__ const uint32_t *turn(const fc_band &b, const fc_band_way &way) {
    if (BULK && (RAGGED || bulk)) {
      turn_bulk(b, way);
    } else {
      fc_await_copies<STAGES - 2 - ENGINE>();
      __syncthreads();
      fetch(b, way);
    }
    from += BATCH * b.in_row;
    return batch(b, turns++ - early());
  }

  // Its address is kept, instead of being derived again from the start of shared memory.
  __device__ __forceinline__ uint32_t *batch(const fc_band &b, uint32_t number) const {
    return static_cast<uint32_t *>(__cvta_shared_to_generic(ring + number % STAGES * BATCH * 4 * b.pitch));
  }

  // Words from the start of a row in shared memory to the word of its first element, if the row is at `at` in
  // memory.
  __device__ __forceinline__ int skip(uint32_t at) const {
    return bulk ? at % 16 / 4 : 0;
  }

  // Everything read from the previous batch has been used by now (see fc_bar_arrive): each element is part of
  // a sum of that batch, and in the listings of all kernels every read is awaited before the end of the loop.
  __device__ __forceinline__ void turn_bulk(const fc_band &b, const fc_band_way &way) {
    const uint32_t warp = threadIdx.x / 32, now = turns - early();
    if (turns > early()) fc_bar_arrive(empty(now - 1));
    __syncwarp();
    if (turns % (FC_BAND_THREADS / 32) == warp) fetch_bulk(b, way);
    if (turns >= early()) fc_bar_wait(full(now), now / STAGES % 2);
  }

  // By one warp, one row per lane: rows of the constant are stored by all lanes.
  __device__ __forceinline__ void fetch_bulk(const fc_band &b, const fc_band_way &way) const {
    const rest r = to_come();
    const int lane = threadIdx.x % 32, rows = min(BATCH, r.rows);
    uint32_t *to = batch(b, turns);
    fc_bar_wait(empty(turns), turns / STAGES % 2 ^ 1);
    const bool outside = b.edges.on && (r.y < 0 || r.y + BATCH > b.edges.height);
    const char *row = lane < rows ? from + lane * b.in_row : nullptr;
    if (outside && row) row = row_of(b, lane);
    if (outside) store_constant(b, __ballot_sync(~0u, lane < rows && !row), to);
    if (RAGGED) tell_places(row);
    if (!inner) store_ends(b, way, row, to);
    if (row) {
      const fc_band_pieces p = fc_band_pieces_of(b, way, place_of(row));
      const int first = place_of(row) + p.first, bytes = p.end - p.first;
      if (bytes > 0) {
        fc_bar_await_bytes(full(turns), bytes);
        fc_bulk_copy(fc_shared_address(to + lane * b.pitch) + first, row + p.first, bytes, full(turns));
      }
    }
    fc_bar_arrive(full(turns));
  }

  // A row's offset from a multiple of 16 bytes.
  static __device__ __forceinline__ int place_of(const char *row) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(row) % 16);
  }

  // The source of row u of the next batch; the constant: nullptr.
  __device__ __forceinline__ const char *row_of(const fc_band &b, int u) const {
    const int y = to_come().y, source = fc_dev_border_source(b.edges.border, y + u, b.edges.height);
    return source < 0 ? nullptr : from + static_cast<int64_t>(source - y) * b.in_row;
  }

  // By one warp: the rows of the constant, one bit each.
  __device__ __forceinline__ void store_constant(const fc_band &b, uint32_t rows, uint32_t *to) const {
#pragma unroll 1
    for (; rows; rows >>= 1, to += b.pitch)
      for (int i = threadIdx.x % 32; (rows & 1) && i < b.pitch; i += 32) to[i] = b.edges.code;
    fc_bulk_after_stores();
  }

  // For ragged rows, the offset of each row of a batch from a multiple of 16 bytes, which is the same in
  // shared memory: 4 bits each.
  static __device__ __forceinline__ uint32_t *all_places() {
    __shared__ uint32_t all[STAGES];
    return all;
  }
  __device__ __forceinline__ void tell_places([[maybe_unused]] const char *row) const {
#if FC_BULK_CODE
    static_assert(BATCH <= 8, "4 bits of a word for each row");
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t all = __reduce_or_sync(~0u, row ? static_cast<uint32_t>(place_of(row)) << 4 * lane : 0);
    if (lane == 0) all_places()[turns % STAGES] = all;
#endif
  }
  // For the batch that arrived last. Without the engine, offsets in a word.
  __device__ __forceinline__ uint32_t places(const fc_band &b) const {
    if (BULK) return all_places()[(turns - 1 - early()) % STAGES];
    const char *row = from - (early() + 1) * BATCH * b.in_row;
    uint32_t all = 0;
#pragma unroll
    for (uint32_t u = 0; u < BATCH; u++, row += b.in_row)
      all |= (static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row)) & 3) << 4 * u;
    return all;
  }

  // The elements of rows of bytes that the engine does not load, because they share 16 bytes with unreadable
  // ones, or do not exist at their position: the first `left` and those from `right` on.
  struct ends {
    int left, right, count;
    int from[FC_MARCH_MARGIN + 30]; // the source of each
    const char *row[FC_BAND_THREADS / 32][BATCH];
  };
  static __device__ __forceinline__ ends &all_ends() {
    __shared__ ends all;
    return all;
  }
  __device__ __forceinline__ void list_ends(const fc_band &b, const fc_band_way &way) const {
    ends &e = all_ends();
    const int n = way.width + b.margin, left = way.lo > -15 ? min(max(way.lo, 0) + 15, n) : 0;
    const int right = way.hi < n + 15 ? max(min(way.hi, n) - 15, left) : n, count = left + n - right;
    if (threadIdx.x == 0) e.left = left, e.right = right, e.count = count;
    for (int i = threadIdx.x; i < count; i += FC_BAND_THREADS) {
      const int j = i < left ? i : i - left + right;
      e.from[i] = b.edges.on ? fc_band_element(b.edges, way.x, j) : j;
    }
  }

  // By one warp, `row` being the lane's row.
  __device__ __forceinline__ void store_ends(const fc_band &b, const fc_band_way &way, const char *row,
                                             uint32_t *to) const {
    ends &e = all_ends();
    const int lane = threadIdx.x % 32;
    const char **rows = e.row[threadIdx.x / 32];
    if (lane < BATCH) rows[lane] = row;
    __syncwarp();
#pragma unroll 1
    for (int i = lane; i < e.count; i += 32)
#pragma unroll 1
      for (int u = 0; u < BATCH; u += 4)
        store_four(b, way, rows + u, i < e.left ? i : i - e.left + e.right, e.from[i], to + u * b.pitch);
    fc_bulk_after_stores();
    __syncwarp();
  }

  // Element j of 4 rows, all loaded before the first is stored.
  __device__ __forceinline__ void store_four(const fc_band &b, const fc_band_way &way,
                                             const char *const *rows, int j, int source, uint32_t *to) const {
    uint8_t byte[4];
    int at[4];
#pragma unroll
    for (int u = 0; u < 4; u++) {
      const char *row = rows[u];
      const fc_band_pieces p = fc_band_pieces_of(b, way, place_of(row));
      at[u] = row && (j < p.first || j >= p.end) ? place_of(row) + j : -1;
      byte[u] = static_cast<uint8_t>(b.edges.code);
      if (at[u] >= 0 && source != FC_BAND_CONSTANT) byte[u] = static_cast<uint8_t>(row[source]);
    }
#pragma unroll
    for (int u = 0; u < 4; u++, to += b.pitch)
      if (at[u] >= 0) reinterpret_cast<uint8_t *>(to)[at[u]] = byte[u];
  }
};

// How many rows of outputs a thread stores, 4 adjacent ones of each: 0 if it has no columns.
__device__ __forceinline__ uint32_t fc_band_rows(const fc_band_way &way) {
  uint32_t rows = 4 * static_cast<int>(threadIdx.x) < way.width ? way.count : 0;
  asm volatile("" : "+r"(rows)); // or the compiler finds it out anew in every row
  return rows;
}

// Stores the sums of a warp's 128 columns by adjacent lanes. `room` has 128 floats for each warp.
__device__ __forceinline__ void fc_band_store_across(const fc_band_way &way, char *to, float4 v,
                                                     float *room) {
  const int lane = threadIdx.x % 32, first = static_cast<int>(threadIdx.x) / 32 * 128 + lane;
  float *row = reinterpret_cast<float *>(to);
  __syncwarp();
  *reinterpret_cast<float4 *>(room + 4 * lane) = v;
  __syncwarp();
#pragma unroll
  for (int p = 0; p < 4; p++)
    if (first + 32 * p < way.width) row[first + 32 * p] = room[32 * p + lane];
}

// Stores a thread's sums of output o, if it is one. QUADS: 4 at a time, at `to`; otherwise `to` is the start
// of the row.
template <bool QUADS>
__device__ __forceinline__ void fc_band_store(const fc_band_way &way, uint32_t rows, int o, char *to,
                                              float4 v, float *room) {
  if (QUADS) {
    if (static_cast<uint32_t>(o) < rows) *reinterpret_cast<float4 *>(to) = v;
  } else {
    if (static_cast<uint32_t>(o) < static_cast<uint32_t>(way.count)) fc_band_store_across(way, to, v, room);
  }
}

// The number of elements that windows of N taps, STEP apart, begin early, such that the first of 4 adjacent
// outputs is at a group of 4 input elements: rows aligned to 16 bytes can then be copied in such groups, and
// no more is loaded.
template <int N, int STEP> constexpr int fc_band_early = (4 - N / 2 * STEP % 4) % 4;

// ---- launching -------------------------------------------------------------

// Calls f(std::integral_constant<int, N>) for the odd number n of LEAST to MOST.
template <int LEAST, int MOST, typename Fn> static inline fc_status fc_band_choose(int64_t n, Fn f) {
  if constexpr (LEAST > MOST)
    return FC_UNSUPPORTED;
  else
    return n == LEAST ? f(std::integral_constant<int, LEAST>{}) : fc_band_choose<LEAST + 2, MOST>(n, f);
}

// The low bits that all row distances of the input have in common.
static inline int64_t fc_band_steps(const fc_march &m) {
  return (m.images > 1 ? m.in_image : 0) | (m.planes > 1 ? m.in_plane : 0) | m.in_row;
}

// Windows begin `early` elements before the first that counts.
static inline fc_band fc_band_of(const fc_march &m, int groups, int early) {
  fc_band b = {};
  b.in = m.in - early * m.in_size, b.out = m.out, b.early = early;
  b.in_image = m.in_image, b.in_plane = m.in_plane, b.in_row = m.in_row;
  b.out_image = m.out_image, b.out_plane = m.out_plane, b.out_row = m.out_row;
  b.planes = m.planes, b.height = m.height, b.columns = m.columns;
  b.bands = (m.columns + groups * FC_BAND_WIDTH - 1) / (groups * FC_BAND_WIDTH);
  b.margin = m.margin + early, b.wide = m.quads;
  b.in_map = m.in_map, b.out_map = m.out_map, b.notes = m.notes;
  b.edges = {m.edges.on, m.edges.border, m.edges.code, m.up, m.left + early, 0, 0, m.step};
  b.edges.height = static_cast<int32_t>(m.height), b.edges.pixels = static_cast<int32_t>(m.columns / m.step);
  b.alike = fc_band_steps(m) % 16 == 0;
  return b;
}

// Whether all rows can be copied and all outputs stored 4 floats at a time, with none left over.
static inline bool fc_band_quads(const fc_band &b) {
  return b.wide && b.alike && b.columns % 4 == 0 && reinterpret_cast<uintptr_t>(b.in) % 16 == 0;
}

// The same of floats, with rows apart by a pitch; and the bytes of shared memory for so many of them and a
// room to store from (fc_band_store).
static inline fc_band fc_band_floats_of(const fc_march &m, int groups, int early) {
  fc_band b = fc_band_of(m, groups, early);
  b.pitch = (groups * FC_BAND_WIDTH + b.margin + 3) / 4 * 4 + 4;
  return b;
}
static inline int fc_band_floats_bytes(const fc_band &b, int rows) {
  return 4 * (FC_BAND_WIDTH + rows * b.pitch);
}

// Concurrent blocks of `kernel` on the device, with `bytes` of shared memory, which may be more than the
// default limit; 0 if that is not available.
static inline int64_t fc_band_resident(const void *kernel, int bytes) {
  int device = 0, processors = 1, blocks = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (fc_allow_shared(kernel, bytes) &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, FC_BAND_THREADS, bytes) == cudaSuccess)
    return static_cast<int64_t>(processors) * blocks;
  cudaGetLastError();
  return 0;
}

// Launches `kernel` with `bytes` of shared memory and enough segments to fill the device.
template <typename Taps>
static inline fc_status fc_band_launch(void (*kernel)(const fc_band, const Taps), fc_band b,
                                       const fc_march &m, const Taps &taps, int bytes, int64_t ny,
                                       cudaStream_t stream) {
  const int64_t resident = fc_band_resident(reinterpret_cast<const void *>(kernel), bytes);
  if (resident == 0) return FC_UNSUPPORTED;
  fc_march way = m;
  way.strips = b.bands;
  fc_march_segment(&way, resident, ny);
  b.rows = way.rows, b.segments = way.segments;
  const int64_t grid = m.images * b.planes * b.bands * b.segments;
  if (grid > INT32_MAX || b.rows > INT32_MAX / 2) return FC_UNSUPPORTED;
  if (b.edges.on && (b.height > INT32_MAX / 4 || b.columns > INT32_MAX / 4)) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(grid), FC_BAND_THREADS, bytes, stream>>>(b, taps);
  return fc_launch_status();
}

#endif

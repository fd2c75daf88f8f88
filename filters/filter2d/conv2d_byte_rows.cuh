// SPDX-License-Identifier: MIT
//
// conv2d_byte_rows.cuh - how rows of bytes come to the kernels of conv2d_bytes.cu: a block marches down a
// band of columns, and the engine for bulk copies (copy_bulk.cuh) brings each row's part of it into a ring of
// batches in shared memory, several ahead. Internal to filters/.
//
// The engine copies multiples of 16 bytes from multiples of 16, so a row lies in shared memory as far into 16
// bytes as it does in global memory: rows need not lie alike. At the ends of rows, what the engine may not
// touch - the first and last bytes of the view, and the border, if it is to be made here - is brought by the
// warp that tells the engine of the batch. A table says for each of these elements where it comes from.
//
// A warp in turn tells the engine of a batch; barriers tell when a batch is there, and when all have left it.
#ifndef FC_FILTERS_CONV2D_BYTE_ROWS_CUH
#define FC_FILTERS_CONV2D_BYTE_ROWS_CUH

#include "filters/filter2d/conv2d_band.cuh"

#define FC_BYTE_ENDS 96 // elements at either end of a row that the engine may not bring, at most

__device__ __forceinline__ void fc_shared_store_byte(uint32_t to, uint32_t byte) {
  asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "r"(byte) : "memory");
}

// What all threads of a block share.
template <int STAGES> struct fc_byte_room {
  uint64_t bars[2 * STAGES];             // of each batch: is it there, and have all left it?
  alignas(16) uint32_t shift[STAGES][8]; // how far into 16 bytes each of its rows begins
  fc_band_way way;
  int n, rows; // elements of a row of windows, and those rows
  int32_t from[2][FC_BYTE_ENDS];
};

// Called by all threads; `way` is seen after the next barrier.
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

// By one warp: elements [0, begin) and [end, n) of a lane's row, and what lies at `to` in shared memory, 4
// rows at a time. Where there is no row, all are the constant.
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
  static constexpr uint32_t EARLY = STAGES - 2; // turns before there is a batch to be summed

  fc_byte_room<STAGES> &room;
  uint32_t ring, bars; // addresses in shared memory
  uint32_t turns;      // batches that have been begun

  __device__ __forceinline__ fc_byte_ring(fc_byte_room<STAGES> &r, void *memory)
      : room(r), ring(fc_shared_address(memory)), bars(fc_shared_address(r.bars)), turns(0) {
    asm volatile("" : "+r"(ring), "+r"(bars)); // or the compiler finds them out anew
  }
  __device__ __forceinline__ uint32_t full(uint32_t batch) const { return bars + 8 * (batch % STAGES); }
  __device__ __forceinline__ uint32_t empty(uint32_t batch) const { return full(batch) + 8 * STAGES; }
  __device__ __forceinline__ uint32_t batch(const fc_band &b, uint32_t number) const {
    return ring + number % STAGES * BATCH * b.pitch;
  }

  // The number of the batch that comes next, once it is there; another is begun. The first EARLY turns bring
  // none. An arrival does not wait for reads of shared memory that were begun: it is made to depend on
  // `seen`, which is made of what was read last, and on `nothing`, a 0 that the compiler does not know.
  __device__ __forceinline__ uint32_t turn(const fc_band &b, uint32_t seen, uint32_t nothing) {
    const uint32_t now = turns - EARLY;
    if (turns > EARLY) fc_bar_arrive(empty(now - 1) + (seen & nothing));
    __syncwarp();
    if (turns % (FC_BAND_THREADS / 32) == threadIdx.x / 32) fetch(b);
    if (turns + 1 > EARLY) fc_bar_wait(full(now), now / STAGES % 2);
    turns++;
    return now;
  }

  // Row q of windows as it lies in memory, or what stands for it; the constant: nullptr.
  __device__ __forceinline__ const char *row_of(const fc_band &b, int q) const {
    const char *own = room.way.in + q * b.in_row;
    if (!b.edges.on) return own;
    const int y = room.way.y + q, source = fc_dev_border_source(b.edges.border, y, b.edges.height);
    return source < 0 ? nullptr : own + static_cast<int64_t>(source - y) * b.in_row;
  }

  // By one warp, a lane a row. The engine brings elements [begin, end).
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

#endif

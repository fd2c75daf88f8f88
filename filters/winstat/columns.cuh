// SPDX-License-Identifier: MIT
//
// columns.cuh - general code for windows along y, of samples or of rows that were joined before: short ones
// piece by piece, others from joined blocks of rows. Internal to winstat.cu.
#ifndef FC_FILTERS_WINSTAT_COLUMNS_CUH
#define FC_FILTERS_WINSTAT_COLUMNS_CUH

#include "filters/winstat/samples.cuh"

namespace winstat {

// A cell is a column of one channel: channels adjacent as in most inputs, columns adjacent in
// the table.
struct cell {
  int64_t x, c;
};
template <typename R> __device__ __forceinline__ cell cell_of(const pass<R> &p, bool table, int64_t i) {
  cell k;
  if (table)
    k.c = i / p.columns, k.x = i - k.c * p.columns;
  else
    k.x = i / p.channels, k.c = i - k.x * p.channels;
  return k;
}

// Input row y (relative to the view) of a cell, from the table or the input.
template <class P>
__device__ __forceinline__ P row_at(const pass<typename P::real> &p, const P *table, int64_t frame, int64_t y,
                                    cell k) {
  if (!table) return piece_at<P>(p, p.n0 + frame, y, k.x, k.c);
  int64_t row = y - (p.y0 - p.before[1]);
  if (row < 0 || row >= table_rows(p)) return P::none();
  return table[table_index(p, frame * table_rows(p) + row, k.x, k.c)];
}

// One output per thread, from the input.
template <class P> __global__ void __launch_bounds__(THREADS) column_direct(pass<typename P::real> p) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
  if (i >= p.columns * p.channels) return;
  const cell k = cell_of(p, false, i);
  for (int64_t line = blockIdx.y; line < p.frames * p.rows; line += gridDim.y) {
    int64_t frame = line / p.rows, n = p.n0 + frame, y = p.y0 + (line - frame * p.rows);
    span s = window_at(p, 1, y);
    P sum = join_samples<P>(p, p.in.at(n, s.from, k.x, k.c), p.in.stride[FC_AXIS_Y], s.to - s.from);
    emit(p, sum, n, y, k.x, k.c);
  }
}

// The same from the table of joined rows.
template <class P>
__global__ void __launch_bounds__(THREADS) column_of_rows(pass<typename P::real> p, const P *table) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x, cells = p.columns * p.channels;
  if (i >= cells) return;
  const cell k = cell_of(p, true, i);
  for (int64_t line = blockIdx.y; line < p.frames * p.rows; line += gridDim.y) {
    int64_t frame = line / p.rows, row = line - frame * p.rows;
    const P *at = table + (frame * table_rows(p) + row) * cells + i;
    P sum = *at;
#pragma unroll 4
    for (int64_t j = 1; j < p.window[1]; j++) sum = P::join(sum, at[j * cells]);
    emit(p, sum, p.n0 + frame, p.y0 + row, k.x, k.c);
  }
}

// Blocks along y and their tables: [frame][block][cell], followed by blocks of blocks. `first_high` is the
// block of blocks that contains block `first`.
template <class P> struct column_tables {
  int64_t first, starts, count;
  int64_t first_high, count_high;
  P *low, *high;
};

template <class P>
__global__ void __launch_bounds__(THREADS)
    column_blocks(pass<typename P::real> p, column_tables<P> t, const P *table) {
  const int64_t cells = p.columns * p.channels;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
  if (i >= cells) return;
  const cell k = cell_of(p, table != nullptr, i);
  for (int64_t line = blockIdx.y; line < p.frames * t.count; line += gridDim.y) {
    int64_t frame = line / t.count, y = (t.first + (line - frame * t.count)) * COLUMN_BLOCK - p.origin[1];
    P sum = row_at(p, table, frame, y, k);
#pragma unroll
    for (int j = 1; j < COLUMN_BLOCK; j++) sum = P::join(sum, row_at(p, table, frame, y + j, k));
    t.low[line * cells + i] = sum;
  }
}

template <class P>
__global__ void __launch_bounds__(THREADS) column_blocks_high(pass<typename P::real> p, column_tables<P> t) {
  const int64_t cells = p.columns * p.channels;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
  if (i >= cells) return;
  for (int64_t line = blockIdx.y; line < p.frames * t.count_high; line += gridDim.y) {
    int64_t frame = line / t.count_high;
    int64_t low = (t.first_high + (line - frame * t.count_high)) * COLUMN_BLOCK - t.first;
    P sum = P::none();
    for (int64_t j = low < 0 ? 0 : low; j < low + COLUMN_BLOCK && j < t.count; j++)
      sum = P::join(sum, t.low[(frame * t.count + j) * cells + i]);
    t.high[line * cells + i] = sum;
  }
}

// The join of blocks from .. to - 1, counted from position 0 of the signal.
template <class P>
__device__ P join_blocks(const column_tables<P> &t, int64_t frame, int64_t from, int64_t to, int64_t cells,
                         int64_t i) {
  P sum = P::none();
  while (from < to) {
    if (floor_mod(from, COLUMN_BLOCK) == 0 && from + COLUMN_BLOCK <= to) {
      int64_t high = floor_div(from, COLUMN_BLOCK) - t.first_high;
      sum = P::join(sum, t.high[(frame * t.count_high + high) * cells + i]);
      from += COLUMN_BLOCK;
    } else {
      sum = P::join(sum, t.low[(frame * t.count + (from - t.first)) * cells + i]);
      from++;
    }
  }
  return sum;
}

// The windows of more than COLUMN_BLOCK rows that start in one block of a cell.
template <class P>
__global__ void __launch_bounds__(THREADS)
    column_windows(pass<typename P::real> p, column_tables<P> t, const P *table) {
  const int64_t cells = p.columns * p.channels, reach = p.window[1] - 1;
  const int64_t between = reach / COLUMN_BLOCK, rest = reach % COLUMN_BLOCK;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
  if (i >= cells) return;
  const cell k = cell_of(p, table != nullptr, i);
  for (int64_t line = blockIdx.y; line < p.frames * t.starts; line += gridDim.y) {
    int64_t frame = line / t.starts, block = t.first + (line - frame * t.starts);
    int64_t y = block * COLUMN_BLOCK - p.origin[1];
    // In local memory: if unrolled to keep it in registers, the code would be 16 times as long.
    P suffix[COLUMN_BLOCK];
#pragma unroll 1
    for (int j = COLUMN_BLOCK - 1; j >= 0; j--) {
      suffix[j] = row_at(p, table, frame, y + j, k);
      if (j < COLUMN_BLOCK - 1) suffix[j] = P::join(suffix[j], suffix[j + 1]);
    }
    P middle = join_blocks(t, frame, block + 1, block + between, cells, i);
    P prefix = P::none();
    for (int64_t j = 0; j < rest; j++)
      prefix = P::join(prefix, row_at(p, table, frame, y + reach - rest + j, k));
#pragma unroll 1
    for (int j = 0; j < COLUMN_BLOCK; j++) {
      if (j > 0 && (j + reach) % COLUMN_BLOCK == 0) {
        middle = P::join(middle, t.low[(frame * t.count + block + between - t.first) * cells + i]);
        prefix = P::none();
      }
      prefix = P::join(prefix, row_at(p, table, frame, y + reach + j, k));
      int64_t at = y + j + p.before[1];
      if (at >= p.y0 && at < p.y0 + p.rows)
        emit(p, P::join(P::join(suffix[j], middle), prefix), p.n0 + frame, at, k.x, k.c);
    }
  }
}

} // namespace winstat

#endif

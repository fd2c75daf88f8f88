// SPDX-License-Identifier: MIT
//
// box_cells.cu - sums in boxes of samples in any layout: kernel and launch.
#include "filters/winstat/box/box_sums.cuh"
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/launch.cuh"

// The same results as box_march.cuh, bit for bit, for any layout: rows of any length and alignment,
// interleaved channels, narrow images, and integers of 8 and 16 bits, whose sums are exact in floats.
//
// The rows of samples in shared memory are divided into *cells*, each for another channel, frame or part of
// the rows of an image, so that a block of threads works on several narrow images at once. Samples are copied
// one by one: a table, computed once per block, gives the source of each word of a row, including the
// mirrored and repeated columns of the border; a second table has a pointer for each row and cell.

namespace winstat {

constexpr int CELL_SEGMENTS = 22; // segments per row of samples, and so the most cells
constexpr int CELL_PITCH = CELL_SEGMENTS * RUN;
constexpr int CELL_SLOT = RUN * CELL_PITCH;

struct box_cell_args {
  const char *in; // column 0 of row 0 of channel 0 of frame 0
  char *out;
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out; // distances in bytes
  int32_t step_in, step_out;                                         // bytes between columns
  int32_t columns, rows, planes;
  int32_t x0, y0; // at most 0: of the first strip, and part of the rows; windows of x0 begin with a segment
  int32_t before[2];    // samples of a window before its own
  int32_t lo[2], hi[2]; // columns and rows that may be read
  ends edges;           // border mode, for samples that cannot be read
  float outside;        // ... its constant
  extent16 x, y;
  int32_t strips, splits, blocks, slots; // blocks: blocks of rows per split
  int32_t cells, runs, wide;             // per cell: runs of sums, words of samples
  uint32_t items;                        // channels x splits x frames: one per cell
  int32_t together;                      // adjacent cells are channels of the same pixels
  int32_t quads;                         // four columns can be copied at once
  int32_t zeros;                         // rows beyond the ends are zeros
  int32_t mean, shrink, bias;
  float area, over;
  fc_dev_map<float> store;
  uint32_t *notes;
  int32_t dtype;
};

// An item, processed by one cell: the first row of its outputs, and the position of its channel and frame.
struct cell_item {
  int y;
  int64_t plane, frame;
};

__device__ __forceinline__ cell_item cell_item_of(const box_cell_args &a, unsigned i) {
  const unsigned rest = i / a.planes, frame = rest / a.splits;
  return {a.y0 + static_cast<int>(rest - frame * a.splits) * a.blocks * RUN,
          static_cast<int64_t>(i % a.planes), static_cast<int64_t>(frame)};
}

// Tables of a block's cells, in shared memory.
struct cell_tables {
  int2 where[CELL_PITCH];              // per word: byte offset from column 0 or NOWHERE; index + (cell << 16)
  const char *row[RUN][CELL_SEGMENTS]; // column 0, or NULL: a row of the constant
  const char *first[CELL_SEGMENTS];    // row 0, or NULL: no item
  int y[CELL_SEGMENTS];                // the first row of samples
};
static_assert(sizeof(cell_tables) == FC_BOX_TABLES && CELL_PITCH == FC_BOX_CELLS &&
                  FC_BOX_UNITS == INT32_MAX - CELL_SEGMENTS,
              "as counted");
constexpr int NOWHERE = INT32_MIN;

// The source of position p along an axis, NOWHERE for the border's constant.
__device__ __forceinline__ int cell_source(const box_cell_args &a, int axis, int p) {
  if (p >= a.lo[axis] && p < a.hi[axis]) return p;
  const int source = a.edges.on ? border_source(a.edges.border, p, axis ? a.rows : a.columns) : -1;
  return source < 0 ? NOWHERE : source;
}

// The number of entries of cell_tables::where for four words, and for one.
struct cell_words {
  int quads, words;
};

// Fills in the tables that do not change from row to row. `first`: the column of the cells' first sample.
__device__ __forceinline__ cell_words cell_begin(const box_cell_args &a, cell_tables &t, unsigned item,
                                                 int first) {
  const int unseen = -a.before[0] - first, from = unseen > 0 ? unseen : 0,
            seen = a.columns + a.x.reach - a.before[0] - first, end = seen < a.wide ? seen : a.wide;
  // Columns low .. high - 1 are copied as whole quads, all of them readable.
  int low = a.lo[0] - first, high = a.hi[0] - first;
  low = ((low > from ? low : from) + 3) & ~3, high = (high < end ? high : end) & ~3;
  if (!a.quads || high < low) low = high = from;
  const int quads = (high - low) / 4, words = end > from ? end - from - (high - low) : 0;
  const cell_words count = {quads * a.cells, words * a.cells};
  for (int j = threadIdx.x; j < count.quads; j += BOX_THREADS) {
    const int cell = j / quads, at = low + 4 * (j - cell * quads);
    t.where[j] = make_int2((first + at) * a.step_in, box_word(cell * a.wide + at) | cell << 16);
  }
  for (int j = threadIdx.x; j < count.words; j += BOX_THREADS) {
    const int cell = a.together ? j % a.cells : j / words, k = a.together ? j / a.cells : j % words,
              at = from + k < low ? from + k : from + k + (high - low);
    const int source = cell_source(a, 0, first + at);
    t.where[count.quads + j] = make_int2(source == NOWHERE ? NOWHERE : source * a.step_in,
                                         box_word(cell * a.wide + at) | cell << 16);
  }
  const int cell = threadIdx.x;
  if (cell < a.cells) {
    const cell_item i = cell_item_of(a, item + cell);
    t.first[cell] = item + cell < a.items ? a.in + i.frame * a.frame_in + i.plane * a.plane_in : nullptr;
    t.y[cell] = i.y - a.before[1];
  }
  __syncthreads();
  return count;
}

// Fills in the sources of the rows that a warp copies: `row` and the next one, of block `block` of rows.
__device__ __forceinline__ void box_cell_rows(const box_cell_args &a, cell_tables &t, int row, int block) {
  for (int i = threadIdx.x % 32; i < 2 * a.cells; i += 32) {
    const int k = i < a.cells ? 0 : 1, cell = i - k * a.cells;
    const int source = cell_source(a, 1, t.y[cell] + block * RUN + row + k);
    t.row[row + k][cell] = t.first[cell] && source != NOWHERE ? t.first[cell] + source * a.row_in : nullptr;
  }
  __syncwarp();
}

// Copies BATCH words. Those of floats are asynchronous, complete after fc_await_copies.
template <int BATCH>
__device__ __forceinline__ void cell_take(const box_cell_args &a, const float *const (&from)[BATCH],
                                          float *const (&to)[BATCH]) {
#pragma unroll
  for (int k = 0; k < BATCH; k++) {
    if (from[k])
      fc_copy_word(to[k], from[k]);
    else if (to[k])
      *to[k] = a.outside;
  }
}
template <int BATCH, typename T>
__device__ __forceinline__ void cell_take(const box_cell_args &a, const T *const (&from)[BATCH],
                                          float *const (&to)[BATCH]) {
  float v[BATCH];
#pragma unroll
  for (int k = 0; k < BATCH; k++)
    v[k] = from[k] ? static_cast<float>(static_cast<int32_t>(*from[k]) - a.bias) : a.outside;
#pragma unroll
  for (int k = 0; k < BATCH; k++)
    if (to[k]) *to[k] = v[k];
}

// Copies one row, by a warp.
template <typename T>
__device__ __forceinline__ void box_cell_copy(const box_cell_args &a, const cell_tables &t, int row,
                                              const cell_words &count, float *to) {
  constexpr int BATCH = sizeof(T) == sizeof(float) ? 4 : 6;
  const int lane = threadIdx.x % 32, end = count.quads + count.words;
  if (sizeof(T) == sizeof(float)) {
#pragma unroll 2
    for (int j = lane; j < count.quads; j += 32) {
      const int2 w = t.where[j];
      const char *first = t.row[row][w.y >> 16];
      float *here = to + (w.y & 0xffff);
      if (first)
        fc_copy_words(here, first + w.x);
      else
        *reinterpret_cast<float4 *>(here) = make_float4(a.outside, a.outside, a.outside, a.outside);
    }
  }
#pragma unroll 1
  for (int j = count.quads + lane; j < end; j += 32 * BATCH) {
    const T *from[BATCH];
    float *here[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
      from[k] = nullptr, here[k] = nullptr;
      if (j + 32 * k >= end) continue;
      const int2 w = t.where[j + 32 * k];
      const char *first = t.row[row][w.y >> 16];
      here[k] = to + (w.y & 0xffff);
      if (first && w.x != NOWHERE) from[k] = reinterpret_cast<const T *>(first + w.x);
    }
    cell_take<BATCH>(a, from, here);
  }
}

__device__ __forceinline__ void box_cell_copy_codes(const box_cell_args &a, const cell_tables &t, int row,
                                                    const cell_words &count, float *to) {
  with_code(a.dtype, [&](auto code) { box_cell_copy<decltype(code)>(a, t, row, count, to); });
}

// The column of outputs that a thread computes.
struct box_cell_column {
  int x, at, word; // its column, its next row, the position of its sums
  bool live;
  char *to;
};

__device__ __forceinline__ box_cell_column cell_column_of(const box_cell_args &a, unsigned item, int first) {
  box_cell_column c;
  const int pixels = a.runs * RUN, cell = static_cast<int>(threadIdx.x) / pixels;
  c.x = first + static_cast<int>(threadIdx.x) - cell * pixels;
  c.word = box_word(cell * a.wide + static_cast<int>(threadIdx.x) - cell * pixels);
  c.live = cell < a.cells && item + cell < a.items && c.x >= 0 && c.x < a.columns;
  const cell_item i = cell_item_of(a, item + cell);
  c.at = i.y;
  c.to = a.out + i.frame * a.frame_out + i.plane * a.plane_out + c.x * static_cast<int64_t>(a.step_out) +
         i.y * a.row_out;
  return c;
}

__device__ __forceinline__ int cell_inside(const box_cell_args &a, int axis, int position, int reach) {
  const int from = position - a.before[axis], to = from + reach + 1;
  return (to < a.hi[axis] ? to : a.hi[axis]) - (from > a.lo[axis] ? from : a.lo[axis]);
}

// Turns sums into means, for the windows of column x and rows y .. y + RUN - 1.
__device__ __forceinline__ void cell_means(const box_cell_args &a, float (&v)[RUN], int x, int y) {
  const int columns = a.shrink ? cell_inside(a, 0, x, a.x.reach) : a.x.reach + 1;
  if (!a.shrink || (columns == a.x.reach + 1 && y - a.before[1] >= a.lo[1] &&
                    y + RUN - a.before[1] + a.y.reach <= a.hi[1])) {
#pragma unroll
    for (int k = 0; k < RUN; k++) v[k] = mean_of(v[k], a.area, a.over);
    return;
  }
#pragma unroll
  for (int k = 0; k < RUN; k++) {
    const float n = static_cast<float>(columns * cell_inside(a, 1, y + k, a.y.reach));
    v[k] = mean_of(v[k], n, 1 / n);
  }
}

template <typename T>
__device__ __forceinline__ void cell_give(const box_cell_args &a, const float (&v)[RUN],
                                          const box_cell_column &c) {
  if (c.at >= 0 && c.at + RUN <= a.rows) {
#pragma unroll
    for (int k = 0; k < RUN; k++) fc_dev_store<float, T>(c.to + k * a.row_out, v[k], a.store, a.notes);
  } else {
#pragma unroll
    for (int k = 0; k < RUN; k++)
      if (c.at + k >= 0 && c.at + k < a.rows)
        fc_dev_store<float, T>(c.to + k * a.row_out, v[k], a.store, a.notes);
  }
}

__device__ __forceinline__ void cell_give_codes(const box_cell_args &a, const float (&v)[RUN],
                                                const box_cell_column &c) {
  with_code(a.dtype, [&](auto code) { cell_give<decltype(code)>(a, v, c); });
}

// ---- the march ----------------------------------------------------------------------

// CODES: of integers of any type whose sums are made here, not of floats.
template <bool CODES>
__global__ void __launch_bounds__(BOX_THREADS, 3) box_cells(const __grid_constant__ box_cell_args a) {
  extern __shared__ __align__(16) float memory[];
  __shared__ cell_tables tables;
  const unsigned strip = blockIdx.x % a.strips, item = blockIdx.x / a.strips * a.cells;
  const int first = a.x0 + static_cast<int>(strip) * a.runs * RUN;
  const cell_words count = cell_begin(a, tables, item, first - a.before[0]);
  const int row = threadIdx.x / BOX_RUNS, lane = threadIdx.x % BOX_RUNS, copied = row / 2 * 2;
  const int cell = lane / a.runs, run = cell * a.wide + (lane - cell * a.runs) * RUN;
  box_cell_column own = cell_column_of(a, item, first);
  const box_ring<CELL_PITCH> ring = {memory + own.word, a.slots};
  float *totals = memory + a.slots * CELL_SLOT + threadIdx.x;
  const int end = a.blocks + a.y.warm;
  auto copy = [&](int block, int slot) {
    box_cell_rows(a, tables, copied, block);
#pragma unroll
    for (int k = 0; k < 2; k++) {
      float *to = memory + slot * CELL_SLOT + (copied + k) * CELL_PITCH;
      if constexpr (CODES)
        box_cell_copy_codes(a, tables, copied + k, count, to);
      else
        box_cell_copy<float>(a, tables, copied + k, count, to);
    }
    fc_commit_copies();
  };
  copy(0, 0);
  for (int block = 0, slot = 0; block < end; block++, slot = ring.after(slot, 1)) {
    fc_await_copies();
    __syncwarp();
    float v[RUN];
    float *here = memory + slot * CELL_SLOT + row * CELL_PITCH;
    // The sums of a row of zeros are zeros and need no additions.
    const bool busy = cell < a.cells && !(a.zeros && !tables.row[row][cell]);
    if (busy) box_row(v, here, run, a.x);
    __syncwarp();
    if (busy) {
#pragma unroll
      for (int k = 0; k < RUN / 4; k++)
        *reinterpret_cast<float4 *>(here + box_word(run + 4 * k)) =
            make_float4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
    }
    __syncthreads();
    if (block + 1 < end) copy(block + 1, ring.after(slot, 1));
    if (!own.live) continue;
    if (a.y.segments > 1) {
      const float *column = ring.at(slot);
#pragma unroll
      for (int k = 0; k < RUN; k++) v[k] = column[k * CELL_PITCH];
      totals[slot * BOX_THREADS] = sum16(v);
    }
    if (block < a.y.warm) continue;
    box_column<false>(v, a.y, ring, ring.after(slot, a.slots - a.y.warm), totals);
    if (CODES) {
#pragma unroll
      for (int k = 0; k < RUN; k++) v[k] = times(v[k], a.store.scale);
    }
    if (a.mean) cell_means(a, v, own.x, own.at);
    if constexpr (CODES)
      cell_give_codes(a, v, own);
    else
      cell_give<float>(a, v, own);
    own.at += RUN, own.to += RUN * a.row_out;
  }
}

} // namespace winstat

namespace winstat {

constexpr int TOGETHER = 4; // interleaved channels that share a block of threads, at most

// ---- arguments ------------------------------------------------------------------

// Number of cells per block: interleaved channels have one each; of narrow images as many as fit.
static void cut_cells(box_cell_args *a, bool together) {
  const int side = together ? a->planes : 1;
  const int needed = (a->columns - a->x0 + RUN - 1) / RUN;
  int most = BOX_RUNS / side;
  while (most > 1 && (most + a->x.warm) * side > CELL_SEGMENTS) most--;
  a->strips = (needed + most - 1) / most;
  a->runs = (needed + a->strips - 1) / a->strips;
  a->wide = (a->runs + a->x.warm) * RUN;
  const int sums = BOX_RUNS / a->runs, samples = CELL_SEGMENTS / (a->runs + a->x.warm);
  a->cells = sums < samples ? sums : samples;
  a->together = together;
}

static box_cell_args cell_args_of(const call &c, int which) {
  static const int axes[2] = {FC_AXIS_X, FC_AXIS_Y};
  const fc_winstat *w = c.w;
  const fc_view *in = c.in, *out = c.out;
  const fc_edges *edges = c.edges;
  box_cell_args a = {};
  a.columns = static_cast<int32_t>(in->shape[FC_AXIS_X]), a.rows = static_cast<int32_t>(in->shape[FC_AXIS_Y]);
  a.planes = static_cast<int32_t>(in->shape[FC_AXIS_C]);
  a.x = extent16_of(w->before[0] + w->after[0] + 1), a.y = extent16_of(w->before[1] + w->after[1] + 1);
  a.x0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_X] - w->before[0], RUN));
  a.y0 = static_cast<int32_t>(-floor_mod(in->origin[FC_AXIS_Y], RUN));
  for (int i = 0; i < 2; i++) {
    const fc_winstat_span s = fc_winstat_read(w, in, edges, i, axes[i]);
    a.before[i] = static_cast<int32_t>(w->before[i]);
    a.lo[i] = static_cast<int32_t>(s.lo), a.hi[i] = static_cast<int32_t>(s.hi);
  }
  a.edges = ends_of(edges), a.outside = outside_of(edges, in), a.shrink = w->shrink;
  a.step_in = static_cast<int32_t>(in->stride[FC_AXIS_X]);
  a.step_out = static_cast<int32_t>(out->stride[FC_AXIS_X]);
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.in = static_cast<const char *>(in->data);
  a.out = static_cast<char *>(out->data) + which * in->shape[FC_AXIS_C] * a.plane_out;
  a.mean = w->stat[which] == FC_WINSTAT_MEAN;
  a.area = static_cast<float>((a.x.reach + 1) * (a.y.reach + 1)), a.over = 1.0f / a.area;
  a.store = fc_dev_map_of<float>(in->kind, in->dtype), a.dtype = in->dtype, a.bias = a.store.bias;
  a.slots = a.y.warm + 2;
  a.zeros = a.outside == 0;
  cut_cells(&a, a.planes > 1 && a.planes <= TOGETHER &&
                    a.plane_in == static_cast<int64_t>(fc_dtype_size(in->dtype)));
  const int64_t starts = static_cast<int64_t>(reinterpret_cast<uintptr_t>(in->data)) | a.row_in | a.frame_in |
                         (a.planes > 1 ? a.plane_in : 0);
  a.quads = in->dtype == FC_F32 && !a.together && a.step_in == sizeof(float) && starts % 16 == 0 &&
            (a.x0 - a.before[0]) % 4 == 0;
  return a;
}

// ---- launching ------------------------------------------------------------------

// Splits the rows of images: into short parts, to keep the device busy, until the rows that two parts both
// compute cost more.
static void split_rows(box_cell_args *a, int64_t frames, int64_t resident) {
  const int32_t all = (a->rows - a->y0 + RUN - 1) / RUN;
  int64_t best = INT64_MAX;
  for (int32_t splits = 1; splits <= all && splits <= 4096; splits++) {
    const int32_t blocks = (all + splits - 1) / splits, real = (all + blocks - 1) / blocks;
    const int64_t groups = (frames * a->planes * real + a->cells - 1) / a->cells;
    const int64_t cost = (groups * a->strips + resident) * (blocks + a->y.warm + 1);
    if (cost < best) best = cost, a->blocks = blocks, a->splits = real;
  }
}

template <bool CODES> static fc_status launch(box_cell_args a, int64_t frames, cudaStream_t stream) {
  const auto kernel = box_cells<CODES>;
  const int64_t bytes = fc_box_bytes(CELL_PITCH, a.y.reach + 1),
                resident = march_resident(kernel, BOX_THREADS, bytes);
  if (resident == 0) return FC_DEVICE;
  split_rows(&a, frames, resident);
  const int64_t items = frames * a.planes * a.splits, blocks = (items + a.cells - 1) / a.cells * a.strips;
  if (items > FC_BOX_UNITS || blocks > INT32_MAX) return FC_UNSUPPORTED;
  a.items = static_cast<uint32_t>(items);
  kernel<<<static_cast<unsigned>(blocks), BOX_THREADS, bytes, stream>>>(a);
  return fc_launch_status();
}

fc_status run_box_cells(const call &c, int which) {
  box_cell_args a = cell_args_of(c, which);
  const int64_t frames = c.in->shape[FC_AXIS_N];
  a.notes = c.notes;
  return c.in->dtype == FC_F32 ? launch<false>(a, frames, c.stream) : launch<true>(a, frames, c.stream);
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// narrow.cuh - 2-D filters of narrow images on a CUDA device, and of batches of small ones: a band of
// band.cuh would have columns for only a few threads of a block. Here a block processes pieces - whole small
// images, or some rows of a tall one - and threads share the rows of all pieces. Internal to filters/.
//
// The rows of a piece are in shared memory as 32-bit numbers, with their border. Lanes of a warp, with 4
// adjacent columns each, load, convert and horizontally sum the same rows, so that they need not wait for
// others; then all sum vertically, FC_NARROW_DOWN rows of outputs per thread. In a piece that is a whole
// image each row is present once, and a table maps the rows of windows to them.
//
// The order of sums is that of the marching kernels, so the bits are.
#ifndef FC_FILTERS_CONV2D_NARROW_CUH
#define FC_FILTERS_CONV2D_NARROW_CUH

#include "filters/gpu/border.cuh"
#include "filters/filter2d/march.cuh"

#define FC_NARROW_THREADS 128
#define FC_NARROW_DOWN    4   // rows of outputs per thread
#define FC_NARROW_HEIGHT  64  // maximum per piece
#define FC_NARROW_PIECES  32  // maximum per block
#define FC_NARROW_ROWS    256 // in shared memory, maximum for all pieces of a block

// Of shared memory: more concurrent blocks are better than more pieces per block, and than tall pieces,
// unless small ones read much twice.
#define FC_NARROW_BYTES (20 * 1024)
#define FC_NARROW_PIECE (28 * 1024)
#define FC_NARROW_MOST  (40 * 1024)

#define FC_NARROW_SOURCES (FC_NARROW_HEIGHT + FC_NARROW_TAPS + 2 * FC_NARROW_DOWN)
#define FC_NARROW_NONE    INT16_MIN // the constant, among columns

struct fc_narrow {
  const char *in; // the first element that is loaded
  char *out;
  int64_t in_image, in_plane, in_row, out_image, out_plane, out_row;
  int32_t planes, height, count;    // count: pieces
  int32_t pieces, rows, segments;   // per block; outputs per piece; pieces per image
  int32_t columns, elements;        // outputs per row, and elements loaded per row
  int32_t brought, held;            // rows of a piece: without and with that of the constant
  int32_t nx, ny, up, left, margin; // the window
  int32_t quads, lanes;             // groups of 4 columns; warp lanes per row
  int32_t pitch, raw_pitch;         // distance of rows in words: as numbers, and as loaded
  int32_t raw_first;                // words of a row before those that are brought
  int32_t shift, head, words,
      tail; // offset of such a row in a word, and how much is loaded by bytes and by words
  int32_t in_dtype, out_dtype, in_size, step;
  fc_dev_divider by_held, by_groups, by_segments, by_planes; // groups: of a piece's rows of outputs
  bool whole;                                          // pieces are whole images whose border is made here
  bool constant;                                       // there may be rows of the constant
  bool wide;                                           // outputs can be stored 4 at a time
  int16_t column[FC_NARROW_COLUMNS + FC_MARCH_MARGIN]; // the source of each element of a row of windows
  int16_t source[FC_NARROW_SOURCES];                   // and the row of a piece for each row of windows
  fc_march_edges edges;
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
};

// What all threads look up.
struct fc_narrow_tables {
  const char *row[FC_NARROW_ROWS];
  char *out[FC_NARROW_PIECES];
  int count[FC_NARROW_PIECES];               // rows of outputs
  alignas(16) int source[FC_NARROW_SOURCES]; // where a window's rows are in a piece, in words
  int16_t column[FC_NARROW_COLUMNS + FC_MARCH_MARGIN];
};

// A thread's position: lanes of a row are adjacent.
struct fc_narrow_lane {
  // among the rows that a warp processes at a time; the first group of 4 of the first iteration
  int row, column;
  int next; // rows that all warps take at a time
};

__device__ __forceinline__ fc_narrow_lane fc_narrow_lane_of(const fc_narrow &b) {
  const int lane = threadIdx.x % 32, warp = static_cast<int>(threadIdx.x) / 32, together = 32 / b.lanes;
  const int row = lane / b.lanes;
  fc_narrow_lane l = {warp * together + row, lane % b.lanes * 4, FC_NARROW_THREADS / 32 * together};
  if (row >= together) l.row = 1 << 24; // no row's
  return l;
}

__device__ __forceinline__ const char *fc_narrow_constant_row(const fc_narrow_tables &t) {
  return reinterpret_cast<const char *>(t.row); // not one of the image's rows
}

// The address of row `line` of a piece that begins with row y of an image at `image`; any readable row if it
// is beyond the piece's end.
__device__ __forceinline__ const char *fc_narrow_row(const fc_narrow &b, const fc_narrow_tables &t,
                                                     const char *image, int y, int line, int count) {
  if (b.whole) return line < b.brought ? image + line * b.in_row : fc_narrow_constant_row(t);
  if (line >= count + b.ny - 1) return b.in;
  if (!b.edges.on) return image + static_cast<int64_t>(y + line) * b.in_row;
  const int source = fc_dev_border_source(b.edges.border, y + line - b.up, b.height);
  return source < 0 ? fc_narrow_constant_row(t) : image + source * b.in_row;
}

// Called by all threads; visible after the next barrier.
__device__ __forceinline__ void fc_narrow_look_up(const fc_narrow &b, fc_narrow_tables &t) {
  const int first = static_cast<int>(blockIdx.x) * b.pieces;
  for (int i = threadIdx.x; i < b.pieces * b.held; i += FC_NARROW_THREADS) {
    const int p = b.by_held.quotient(i), line = i - p * b.held;
    const int n = first + p, of_plane = b.by_segments.quotient(n), image = b.by_planes.quotient(of_plane);
    const int plane = of_plane - image * b.planes, y = (n - of_plane * b.segments) * b.rows;
    const int count = n < b.count ? min(b.height - y, b.rows) : 0;
    const char *in = b.in + image * b.in_image + plane * b.in_plane;
    t.row[i] = n < b.count ? fc_narrow_row(b, t, in, y, line, count) : b.in;
    if (line > 0) continue;
    t.count[p] = count;
    t.out[p] = b.out + image * b.out_image + plane * b.out_plane + y * b.out_row;
  }
  for (int i = threadIdx.x; i < b.columns + b.margin; i += FC_NARROW_THREADS) t.column[i] = b.column[i];
  if (threadIdx.x < FC_NARROW_SOURCES) t.source[threadIdx.x] = b.source[threadIdx.x] * b.pitch;
}

// ---- rows --------------------------------------------------------------------

// A thread's share of the rows of the constant, of `words` words each.
__device__ __forceinline__ void fc_narrow_fill(const fc_narrow &b, const fc_narrow_tables &t,
                                               const fc_narrow_lane &l, uint32_t *rows, int pitch,
                                               uint32_t word) {
  if (!b.constant) return;
  for (int r = l.row; r < b.pieces * b.held; r += l.next)
    for (int i = l.column / 4; t.row[r] == fc_narrow_constant_row(t) && i < pitch; i += b.lanes)
      rows[r * pitch + i] = word;
}

// Loads a thread's share of floats.
__device__ __forceinline__ void fc_narrow_fetch(const fc_narrow &b, const fc_narrow_tables &t,
                                                const fc_narrow_lane &l, uint32_t *rows) {
  const int end = b.pieces * b.held;
  for (int j = l.column / 4; j < b.columns + b.margin; j += b.lanes) {
    const int from = t.column[j];
    if (from == FC_NARROW_NONE) {
      for (int r = l.row; r < end; r += l.next) rows[r * b.pitch + j] = b.edges.code;
    } else if (!b.constant) {
#pragma unroll 4
      for (int r = l.row; r < end; r += l.next) fc_copy_word(rows + r * b.pitch + j, t.row[r] + 4 * from);
    } else {
#pragma unroll 4
      for (int r = l.row; r < end; r += l.next)
        if (t.row[r] != fc_narrow_constant_row(t)) fc_copy_word(rows + r * b.pitch + j, t.row[r] + 4 * from);
    }
  }
  fc_narrow_fill(b, t, l, rows, b.pitch, b.edges.code);
  fc_commit_copies();
  fc_await_copies();
  __syncwarp();
}

// For other types, loads the words that contain the rows. Words that also contain foreign bytes, and rows
// with different alignments, are loaded byte by byte.
__device__ __forceinline__ void fc_narrow_fetch_raw(const fc_narrow &b, const fc_narrow_tables &t,
                                                    const fc_narrow_lane &l, uint32_t *raw) {
  const int end = b.pieces * b.held, pitch = 4 * b.raw_pitch;
  char *rows = reinterpret_cast<char *>(raw + b.raw_first) + b.shift;
  for (int i = l.column / 4; i < b.words; i += b.lanes) {
    const int at = b.head + 4 * i;
#pragma unroll 4
    for (int r = l.row; r < end; r += l.next)
      if (!b.constant || t.row[r] != fc_narrow_constant_row(t))
        fc_copy_word(rows + r * pitch + at, t.row[r] + at);
  }
  fc_commit_copies();
  for (int i = l.column / 4; i < b.head + b.tail; i += b.lanes) {
    const int at = i < b.head ? i : i + 4 * b.words;
#pragma unroll 4
    for (int r = l.row; r < end; r += l.next)
      if (!b.constant || t.row[r] != fc_narrow_constant_row(t)) rows[r * pitch + at] = t.row[r][at];
  }
  fc_await_copies();
  __syncwarp();
}

// From words to values.
template <typename T>
__device__ __forceinline__ void fc_narrow_widen(const fc_narrow &b, const fc_narrow_tables &t,
                                                const fc_narrow_lane &l, const uint32_t *raw, float *rows) {
  const int end = b.pieces * b.held;
  const T constant = static_cast<T>(b.edges.code);
  for (int j = l.column / 4; j < b.columns + b.margin; j += b.lanes) {
    const int from = t.column[j];
#pragma unroll 4
    for (int r = l.row; r < end; r += l.next) {
      const char *in = reinterpret_cast<const char *>(raw + r * b.raw_pitch) + b.shift;
      const bool is_constant =
          from == FC_NARROW_NONE || (b.constant && t.row[r] == fc_narrow_constant_row(t));
      const T code = is_constant ? constant : reinterpret_cast<const T *>(in)[from];
      rows[r * b.pitch + j] = fc_dev_value<float, T>(code, b.in_map);
    }
  }
  __syncwarp();
}

// All rows that the thread's warp takes, as their values. FLOATS: they are such.
template <bool FLOATS>
__device__ __forceinline__ void fc_narrow_values(const fc_narrow &b, const fc_narrow_tables &t,
                                                 const fc_narrow_lane &l, uint32_t *memory) {
  if (FLOATS || b.in_dtype == FC_F32) return fc_narrow_fetch(b, t, l, memory);
  uint32_t *raw = memory + b.pieces * b.held * b.pitch;
  float *rows = reinterpret_cast<float *>(memory);
  fc_narrow_fetch_raw(b, t, l, raw);
  switch (b.in_dtype) {
  case FC_U8: fc_narrow_widen<uint8_t>(b, t, l, raw, rows); break;
  case FC_I16: fc_narrow_widen<int16_t>(b, t, l, raw, rows); break;
  case FC_U16: fc_narrow_widen<uint16_t>(b, t, l, raw, rows); break;
  default: fc_narrow_widen<int32_t>(b, t, l, raw, rows); break;
  }
}

// The first byte of a row of windows, relative to the row's start in shared memory.
__device__ __forceinline__ int fc_narrow_first_byte(const fc_narrow &b) {
  return b.shift + (b.edges.on ? 4 * b.raw_first - b.left : 0);
}

// For bytes that are not converted: the rows with their border.
__device__ __forceinline__ void fc_narrow_bytes(const fc_narrow &b, const fc_narrow_tables &t,
                                                const fc_narrow_lane &l, uint32_t *raw) {
  fc_narrow_fetch_raw(b, t, l, raw);
  if (!b.edges.on) return;
  fc_narrow_fill(b, t, l, raw, b.raw_pitch, b.edges.code);
  __syncwarp();
  uint8_t *rows = reinterpret_cast<uint8_t *>(raw) + fc_narrow_first_byte(b);
  for (int i = l.column / 4; i < b.margin; i += b.lanes) {
    const int j = i < b.left ? i : i + b.columns, from = t.column[j];
#pragma unroll 4
    for (int r = l.row; r < b.pieces * b.held; r += l.next) {
      uint8_t *row = rows + 4 * r * b.raw_pitch;
      row[j] = from == FC_NARROW_NONE ? static_cast<uint8_t>(b.edges.code) : row[b.left + from];
    }
  }
  __syncwarp();
}

// ---- outputs -----------------------------------------------------------------

template <typename T>
__device__ __forceinline__ void fc_narrow_store_as(const fc_narrow &b, char *row, int column, float4 v) {
  T *to = reinterpret_cast<T *>(row) + column;
  const float of[4] = {v.x, v.y, v.z, v.w};
  if (b.wide && column + 4 <= b.columns) {
    fc_march_quad<T> quad;
#pragma unroll
    for (int i = 0; i < 4; i++) quad.v[i] = fc_dev_code<float, T>(of[i], b.out_map, b.notes);
    *reinterpret_cast<fc_march_quad<T> *>(to) = quad;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (column + i < b.columns) to[i] = fc_dev_code<float, T>(of[i], b.out_map, b.notes);
}

__device__ __forceinline__ void fc_narrow_store(const fc_narrow &b, char *row, int column, float4 v) {
  switch (b.out_dtype) {
  case FC_U8: fc_narrow_store_as<uint8_t>(b, row, column, v); break;
  case FC_I16: fc_narrow_store_as<int16_t>(b, row, column, v); break;
  case FC_U16: fc_narrow_store_as<uint16_t>(b, row, column, v); break;
  case FC_I32: fc_narrow_store_as<int32_t>(b, row, column, v); break;
  case FC_F32: fc_narrow_store_as<float>(b, row, column, v); break;
  default: fc_narrow_store_as<double>(b, row, column, v); break;
  }
}

// Rows below each other, of any types: from a copy in local memory, in a loop, as the stores of all types are
// most of a kernel.
__device__ __forceinline__ void fc_narrow_store_rows(const fc_narrow &b, char *to, int column,
                                                     const float4 (&sum)[FC_NARROW_DOWN], int count) {
  float4 copy[FC_NARROW_DOWN];
#pragma unroll
  for (int r = 0; r < FC_NARROW_DOWN; r++) copy[r] = sum[r];
#pragma unroll 1
  for (int r = 0; r < FC_NARROW_DOWN && r < count; r++, to += b.out_row)
    fc_narrow_store(b, to, column, copy[r]);
}

// Calls f(piece, y, column, count) for the thread's groups of FC_NARROW_DOWN rows and 4 columns of outputs:
// row y of a piece and the first column, with `count` existing rows.
template <typename Fn>
__device__ __forceinline__ void fc_narrow_each(const fc_narrow &b, const fc_narrow_tables &t,
                                               const fc_narrow_lane &l, Fn f) {
  const int groups = (b.rows + FC_NARROW_DOWN - 1) / FC_NARROW_DOWN;
  for (int g = l.row; g < b.pieces * groups; g += l.next) {
    const int piece = b.by_groups.quotient(g), y = (g - piece * groups) * FC_NARROW_DOWN;
    const int count = t.count[piece] - y;
    if (count <= 0) continue;
    for (int column = l.column; column < b.columns; column += 4 * b.lanes) f(piece, y, column, count);
  }
}

// ---- launching -------------------------------------------------------------

// Whether 32 bits can number all pieces.
static inline bool fc_narrow_fits(const fc_march &m) {
  return m.images <= INT32_MAX / 4 / m.height / m.planes && m.height <= INT32_MAX / 4;
}

// Words of shared memory that a piece takes.
static inline int fc_narrow_words(const fc_narrow &b) {
  return b.held * (b.pitch + b.raw_pitch);
}

// The source of element j of a row, counted from `left` before the first.
static inline int16_t fc_narrow_column(const fc_narrow &b, int j) {
  if (!b.edges.on) return static_cast<int16_t>(j);
  const int e = j - b.left, pixel = e < 0 ? -((b.step - 1 - e) / b.step) : e / b.step;
  const int source = fc_dev_border_source(b.edges.border, pixel, b.columns / b.step);
  return static_cast<int16_t>(source < 0 ? FC_NARROW_NONE : e + (source - pixel) * b.step);
}

// The row of a piece that is row q of windows.
static inline int16_t fc_narrow_source(const fc_narrow &b, int q) {
  if (q >= b.rows + b.ny - 1) return 0; // read in groups of four, and not used
  if (!b.whole) return static_cast<int16_t>(q);
  const int source = fc_dev_border_source(b.edges.border, q - b.up, b.rows);
  return static_cast<int16_t>(source < 0 ? b.brought : source);
}

// How rows are brought as they lie in memory.
static inline void fc_narrow_lie(fc_narrow *b, const fc_march &m) {
  const int64_t steps = (m.images > 1 ? m.in_image : 0) | (m.planes > 1 ? m.in_plane : 0) | m.in_row;
  const bool alike = steps % 4 == 0;
  const int bytes = b->elements * b->in_size;
  b->shift = alike ? static_cast<int32_t>(reinterpret_cast<uintptr_t>(b->in) & 3) : 0;
  b->head = !alike ? bytes : b->shift == 0 ? 0 : bytes < 4 - b->shift ? bytes : 4 - b->shift;
  b->words = (bytes - b->head) / 4, b->tail = bytes - b->head - 4 * b->words;
}

// Sets the rows of outputs in a piece, and everything that depends on them.
static inline void fc_narrow_cut(fc_narrow *b, const fc_march &m, int64_t most) {
  const int64_t segments = (m.height + most - 1) / most;
  b->segments = static_cast<int32_t>(segments);
  b->rows = static_cast<int32_t>((m.height + segments - 1) / segments);
  b->whole = m.edges.on && b->segments == 1;
  b->brought = b->whole ? b->rows : b->rows + b->ny - 1;
  b->constant = m.edges.on && (m.edges.border == FC_BORDER_ZERO || m.edges.border == FC_BORDER_CONSTANT);
  b->held = b->brought + (b->whole && b->constant);
  b->count = static_cast<int32_t>(m.images * m.planes * segments);

  int64_t pieces = (b->raw_pitch ? FC_NARROW_PIECE : FC_NARROW_BYTES) / 4 / fc_narrow_words(*b);
  if (pieces > FC_NARROW_ROWS / b->held) pieces = FC_NARROW_ROWS / b->held;
  if (pieces > FC_NARROW_PIECES) pieces = FC_NARROW_PIECES;
  b->pieces = static_cast<int32_t>(pieces < 1 ? 1 : pieces);
  b->by_held = fc_dev_divider_of(b->held), b->by_segments = fc_dev_divider_of(b->segments);
  b->by_groups = fc_dev_divider_of((b->rows + FC_NARROW_DOWN - 1) / FC_NARROW_DOWN);
}

// For an image that fits. BYTES: rows are not converted, and there is memory for their horizontal sums,
// unless there are no SUMS.
static inline fc_narrow fc_narrow_of(const fc_march &m, int64_t nx, int64_t ny, bool bytes,
                                     bool sums = true) {
  fc_narrow b = {};
  b.in = m.edges.on ? m.in + m.up * m.in_row + static_cast<int64_t>(m.left) * m.in_size : m.in;
  b.out = m.out;
  b.in_image = m.in_image, b.in_plane = m.in_plane, b.in_row = m.in_row;
  b.out_image = m.out_image, b.out_plane = m.out_plane, b.out_row = m.out_row;
  b.planes = static_cast<int32_t>(m.planes), b.height = static_cast<int32_t>(m.height);
  b.columns = static_cast<int32_t>(m.columns);
  b.nx = static_cast<int32_t>(nx), b.ny = static_cast<int32_t>(ny);
  b.up = m.up, b.left = m.left, b.margin = m.margin;
  b.elements = b.columns + (m.edges.on ? 0 : b.margin);
  b.quads = (b.columns + 3) / 4, b.lanes = b.quads < 32 ? b.quads : 32;
  const int window = 4 * b.quads + (b.nx + 3) / 4 * 4 * m.step; // that is read; its last columns are not used
  b.pitch = !sums ? 0 : bytes ? 4 * b.quads : window;
  b.raw_pitch = m.in_dtype == FC_F32 ? 0 : (b.elements * m.in_size + 3 + 3) / 4;
  b.raw_first = bytes && m.edges.on ? (b.left + 3) / 4 : 0;
  if (bytes)
    b.raw_pitch = (3 + 3 + window + 3) / 4 + 1; // the first byte, and a word that the last are shifted with
  b.in_dtype = m.in_dtype, b.out_dtype = m.out_dtype, b.in_size = m.in_size, b.step = m.step;
  b.wide = m.quads, b.edges = m.edges, b.in_map = m.in_map, b.out_map = m.out_map, b.notes = m.notes;
  fc_narrow_lie(&b, m);
  int64_t most = FC_NARROW_HEIGHT;
  do fc_narrow_cut(&b, m, most), most /= 2;
  while (most >= 16 && 4 * fc_narrow_words(b) > (b.rows < 8 * ny ? FC_NARROW_MOST : FC_NARROW_PIECE));
  for (int j = 0; j < b.columns + b.margin; j++) b.column[j] = fc_narrow_column(b, j);
  for (int q = 0; q < FC_NARROW_SOURCES; q++) b.source[q] = fc_narrow_source(b, q);
  return b;
}

// Launches `kernel`, which needs only a piece's rows.
template <typename Taps>
static inline fc_status fc_narrow_launch(void (*kernel)(const fc_narrow, const Taps), const fc_narrow &b,
                                         const Taps &taps, cudaStream_t stream) {
  const int bytes = 4 * b.pieces * fc_narrow_words(b);
  const int blocks = (b.count + b.pieces - 1) / b.pieces;
  if (!fc_allow_shared(kernel, bytes)) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(blocks), FC_NARROW_THREADS, bytes, stream>>>(b, taps);
  return fc_launch_status();
}

#endif

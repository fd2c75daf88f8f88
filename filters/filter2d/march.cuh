// SPDX-License-Identifier: MIT
//
// march.cuh - the fast way to lay a 2-D filter out on a CUDA device: a warp marches down a strip of 128
// elements, 4 a lane, and keeps the sums of all rows that the window touches in registers, so that every row
// of input is read once. Internal to filters/.
//
// For rows of adjacent elements: an interleaved row of C channels is treated as one row whose taps are `step`
// = C apart. Rows come a batch at a time, copied asynchronously into shared memory while the batch
// before is summed. They are copied as whole 4-byte words - for words that contain bytes outside the view,
// which may be uninitialised, see fc_march_fetch and fc_march_fetch_inner - and integers are converted in
// shared memory. Each warp has its own shared memory: warps do not wait for each other.
//
// Each output is summed in one order wherever strips, batches and segments begin: its rows from top to
// bottom, as in tiles.cuh.
#ifndef FC_FILTERS_CONV2D_MARCH_CUH
#define FC_FILTERS_CONV2D_MARCH_CUH

#include "core/contract/edges.h"
#include "filters/filter2d/choice.h"
#include "filters/filter2d/conv2d_strips.h"
#include "filters/gpu/copy_async.cuh"
#include "filters/gpu/cuda.cuh"

#define FC_MARCH_WIDTH  128 // elements of a strip: 4 per lane
#define FC_MARCH_WARPS  4   // maximum per block
#define FC_MARCH_SHARED (48 * 1024)
#define FC_MARCH_SLACK  20 // floats that may be read beyond a row without being used

// The border beyond the ends of the views, if these are the signal's ends (fc_edges); `on` is false if the
// host has made it.
struct fc_march_edges {
  bool on;
  int32_t border;
  uint32_t code; // in every element of a word
};

// Kernel arguments; strides in bytes.
struct fc_march {
  const char *in; // from the first element of the first window on
  char *out;
  int64_t in_image, in_plane, in_row, out_image, out_plane, out_row;
  int64_t images, planes, height, columns; // planes: channels, or 1 of joined ones
  int64_t strips, segments, rows;          // rows of a segment, which one warp processes
  int32_t in_dtype, out_dtype, in_size, out_size, margin, step;
  int32_t raw_pitch, row_pitch; // words and floats from row to row in shared memory
  int32_t warps;                // of a block
  int32_t warp_words;           // of shared memory
  int32_t up, left;             // rows and elements of a window above and left of its output
  bool quads;                   // outputs can be stored 4 at a time
  fc_march_edges edges;         // of bands only (band.cuh)
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
};

// The part of the image that a warp processes.
struct fc_march_way {
  const char *in; // first element of the first row of windows
  char *out;      // first output
  int64_t count;  // rows of output
  int elements;   // of input in a row
  int width;      // of output in a row, 128 but in the last strip
  bool ends;      // its rows' first or last word may hold bytes that are not the view's
};

// False for a warp beyond the last.
__device__ __forceinline__ bool fc_march_begin(const fc_march &m, fc_march_way *way) {
  int64_t w = static_cast<int64_t>(blockIdx.x) * m.warps + threadIdx.x / 32;
  const int64_t strip = w % m.strips;
  w /= m.strips;
  const int64_t y = w % m.segments * m.rows;
  w /= m.segments;
  const int64_t plane = w % m.planes, image = w / m.planes;
  if (image >= m.images || y >= m.height) return false;
  const int64_t e = strip * FC_MARCH_WIDTH, left = m.columns - e;
  way->in = m.in + image * m.in_image + plane * m.in_plane + y * m.in_row + e * m.in_size;
  way->out = m.out + image * m.out_image + plane * m.out_plane + y * m.out_row + e * m.out_size;
  way->count = m.height - y < m.rows ? m.height - y : m.rows;
  way->width = left < FC_MARCH_WIDTH ? static_cast<int>(left) : FC_MARCH_WIDTH;
  way->elements = way->width + m.margin;
  way->ends =
      m.in_size < 4 && (strip == 0 || left < FC_MARCH_WIDTH + 4); // the last strip may be of one element
  return true;
}

// Starts to copy rows [q, min(q + BATCH, end)) into `raw`, with raw_pitch words per row. The first and last
// word may contain up to 3 bytes outside the view, which are not used; no word is partly outside memory.
template <int BATCH>
__device__ __forceinline__ void fc_march_fetch_inner(const fc_march &m, const fc_march_way &way, int64_t q,
                                                     int64_t end, uint32_t *raw) {
  const int lane = threadIdx.x % 32, bytes = way.elements * m.in_size;
  for (int u = 0; u < BATCH && q + u < end; u++) {
    const char *row = way.in + (q + u) * m.in_row;
    const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(row) & 3), words = (shift + bytes + 3) / 4;
    const uint32_t *from = reinterpret_cast<const uint32_t *>(row - shift);
    for (int i = lane; i < words; i += 32) fc_copy_word(raw + u * m.raw_pitch + i, from + i);
  }
  fc_commit_copies();
}

// A row that begins `head` bytes before a word, has this many words, and ends with bytes from `tail` on.
struct fc_march_pieces {
  int head, words, tail;
};

__device__ __forceinline__ fc_march_pieces fc_march_pieces_of(const char *row, int bytes) {
  fc_march_pieces p;
  p.head = min(static_cast<int>(-reinterpret_cast<uintptr_t>(row) & 3), bytes);
  p.words = (bytes - p.head) / 4, p.tail = p.head + 4 * p.words;
  return p;
}

// Byte k of those before a row's words, and of those after them.
__device__ __forceinline__ void fc_march_copy_bytes(const char *row, int bytes, int k, uint32_t *raw) {
  const fc_march_pieces p = fc_march_pieces_of(row, bytes);
  char *to = reinterpret_cast<char *>(raw) + (reinterpret_cast<uintptr_t>(row) & 3);
  const bool first = k < p.head, last = p.tail + k < bytes;
  char before = 0, after = 0;
  if (first) before = row[k];
  if (last) after = row[p.tail + k];
  if (first) to[k] = before;
  if (last) to[p.tail + k] = after;
}

// The same if the first or last word may contain bytes outside the view: the bytes inside are copied
// separately, for all rows at a time, two bytes of a row per lane.
template <int BATCH>
__device__ __forceinline__ void fc_march_fetch_ends(const fc_march &m, const fc_march_way &way, int64_t q,
                                                    int64_t end, uint32_t *raw) {
  static_assert(BATCH <= 8, "4 lanes for each row");
  const int lane = threadIdx.x % 32, bytes = way.elements * m.in_size;
#pragma unroll 1
  for (int u = 0; u < BATCH && q + u < end; u++) {
    const char *row = way.in + (q + u) * m.in_row;
    const fc_march_pieces p = fc_march_pieces_of(row, bytes);
    uint32_t *to = raw + u * m.raw_pitch + (p.head > 0);
#pragma unroll 1
    for (int i = lane; i < p.words; i += 32) fc_copy_word(to + i, row + p.head + 4 * i);
  }
  const int u = lane / 4;
  if (u < BATCH && q + u < end)
    fc_march_copy_bytes(way.in + (q + u) * m.in_row, bytes, lane % 4, raw + u * m.raw_pitch);
}

template <int BATCH>
__device__ __forceinline__ void fc_march_fetch(const fc_march &m, const fc_march_way &way, int64_t q,
                                               int64_t end, uint32_t *raw) {
  if (way.ends) {
    fc_march_fetch_ends<BATCH>(m, way, q, end, raw);
    fc_commit_copies();
  } else {
    fc_march_fetch_inner<BATCH>(m, way, q, end, raw);
  }
}

template <typename T, int BATCH>
__device__ __forceinline__ void fc_march_widen(const fc_march &m, const fc_march_way &way, int64_t q,
                                               const uint32_t *raw, float *rows) {
  const int lane = threadIdx.x % 32;
#pragma unroll 1
  for (int u = 0; u < BATCH; u++) {
    const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(way.in + (q + u) * m.in_row) & 3);
    const T *from =
        reinterpret_cast<const T *>(reinterpret_cast<const char *>(raw + u * m.raw_pitch) + shift);
#pragma unroll 4
    for (int i = lane; i < way.elements; i += 32)
      rows[u * m.row_pitch + i] = fc_dev_value<float, T>(from[i], m.in_map);
  }
}

// The batch as floats: where it was copied to, or converted, into `room`. Rows beyond the last have arbitrary
// content.
template <int BATCH>
__device__ __forceinline__ const float *fc_march_rows(const fc_march &m, const fc_march_way &way, int64_t q,
                                                      const uint32_t *raw, float *room) {
  switch (m.in_dtype) {
  case FC_U8: fc_march_widen<uint8_t, BATCH>(m, way, q, raw, room); break;
  case FC_I16: fc_march_widen<int16_t, BATCH>(m, way, q, raw, room); break;
  case FC_U16: fc_march_widen<uint16_t, BATCH>(m, way, q, raw, room); break;
  case FC_I32: fc_march_widen<int32_t, BATCH>(m, way, q, raw, room); break;
  default: return reinterpret_cast<const float *>(raw);
  }
  __syncwarp();
  return room;
}

template <typename T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) fc_march_quad { T v[4]; };

template <typename T>
__device__ __forceinline__ void fc_march_store_row(const fc_march &m, const fc_march_way &way,
                                                   const float *sums, T *to) {
  const int lane = threadIdx.x % 32;
  if (m.quads && 4 * lane + 4 <= way.width) {
    fc_march_quad<T> quad;
    const float4 v = *reinterpret_cast<const float4 *>(sums + 4 * lane);
    quad.v[0] = fc_dev_code<float, T>(v.x, m.out_map, m.notes);
    quad.v[1] = fc_dev_code<float, T>(v.y, m.out_map, m.notes);
    quad.v[2] = fc_dev_code<float, T>(v.z, m.out_map, m.notes);
    quad.v[3] = fc_dev_code<float, T>(v.w, m.out_map, m.notes);
    *reinterpret_cast<fc_march_quad<T> *>(to + 4 * lane) = quad;
    return;
  }
  // A strip that cannot be stored in quads is stored by adjacent lanes; in one that can, the last lanes store
  // separately.
  const int first = m.quads ? 4 * lane : lane, next = m.quads ? 1 : 32;
  const int end = m.quads ? min(4 * lane + 4, way.width) : way.width;
  for (int i = first; i < end; i += next) to[i] = fc_dev_code<float, T>(sums[i], m.out_map, m.notes);
}

template <typename T, int BATCH>
__device__ __forceinline__ void fc_march_store_as(const fc_march &m, const fc_march_way &way, int64_t o,
                                                  const float *sums) {
#pragma unroll 1
  for (int u = 0; u < BATCH; u++)
    if (o + u >= 0 && o + u < way.count)
      fc_march_store_row<T>(m, way, sums + u * FC_MARCH_WIDTH,
                            reinterpret_cast<T *>(way.out + (o + u) * m.out_row));
}

// Stores rows of 128 sums as outputs o, o + 1, ...; those before the first and beyond the last are omitted.
template <int BATCH>
__device__ __forceinline__ void fc_march_store(const fc_march &m, const fc_march_way &way, int64_t o,
                                               const float *sums) {
  __syncwarp();
  switch (m.out_dtype) {
  case FC_U8: fc_march_store_as<uint8_t, BATCH>(m, way, o, sums); break;
  case FC_I16: fc_march_store_as<int16_t, BATCH>(m, way, o, sums); break;
  case FC_U16: fc_march_store_as<uint16_t, BATCH>(m, way, o, sums); break;
  case FC_I32: fc_march_store_as<int32_t, BATCH>(m, way, o, sums); break;
  case FC_F32: fc_march_store_as<float, BATCH>(m, way, o, sums); break;
  default: fc_march_store_as<double, BATCH>(m, way, o, sums); break;
  }
}

// Stores four adjacent sums of a lane directly into f32 outputs, as a quad.
__device__ __forceinline__ void fc_march_put(const fc_march &m, const fc_march_way &way, int64_t o,
                                             float4 v) {
  const int i = 4 * (threadIdx.x % 32);
  if (o < 0 || o >= way.count || i >= way.width) return;
  float *to = reinterpret_cast<float *>(way.out + o * m.out_row) + i;
  if (i + 4 <= way.width) {
    *reinterpret_cast<float4 *>(to) = v;
    return;
  }
  to[0] = v.x;
  if (i + 1 < way.width) to[1] = v.y;
  if (i + 2 < way.width) to[2] = v.z;
}

// ---- sums --------------------------------------------------------------------

__device__ __forceinline__ void fc_fma4(float tap, float a, float b, float c, float d, float4 &sum) {
  sum.x = fmaf(tap, a, sum.x);
  sum.y = fmaf(tap, b, sum.y);
  sum.z = fmaf(tap, c, sum.z);
  sum.w = fmaf(tap, d, sum.w);
}

// Adds to four adjacent sums nx taps, STEP apart, from s on (aligned to 16 bytes), 4 taps at a time: a window
// of 4 * STEP + 4 elements slides along. `x` is in shared memory, aligned to 16 bytes and read up to a
// multiple of 4; of s, up to 4 * STEP elements more than are summed.
template <int STEP>
__device__ __forceinline__ float4 fc_add_along(const float *s, const float *x, int nx, float4 sum) {
  float w[4 * STEP + 4];
  float4 v = *reinterpret_cast<const float4 *>(s);
  w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
#pragma unroll 2
  for (int i = 0; i < nx; i += 4) {
#pragma unroll
    for (int q = 1; q <= STEP; q++) {
      v = *reinterpret_cast<const float4 *>(s + i * STEP + 4 * q);
      w[4 * q] = v.x, w[4 * q + 1] = v.y, w[4 * q + 2] = v.z, w[4 * q + 3] = v.w;
    }
    const float4 tap = *reinterpret_cast<const float4 *>(x + i);
    fc_fma4(tap.x, w[0], w[1], w[2], w[3], sum);
    if (i + 1 < nx) fc_fma4(tap.y, w[STEP], w[STEP + 1], w[STEP + 2], w[STEP + 3], sum);
    if (i + 2 < nx) fc_fma4(tap.z, w[2 * STEP], w[2 * STEP + 1], w[2 * STEP + 2], w[2 * STEP + 3], sum);
    if (i + 3 < nx) fc_fma4(tap.w, w[3 * STEP], w[3 * STEP + 1], w[3 * STEP + 2], w[3 * STEP + 3], sum);
#pragma unroll
    for (int p = 0; p < 4; p++) w[p] = w[4 * STEP + p];
  }
  return sum;
}

// ---- launching -------------------------------------------------------------

static inline bool fc_march_quads(const fc_view *out) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(out->dtype)), align = 4 * size < 16 ? 4 * size : 16;
  int64_t all = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out->data));
  const bool joined = fc_rows_joined(out);
  for (int a = 0; a < FC_AXES; a++)
    if (a != FC_AXIS_X && (a != FC_AXIS_C || !joined) && out->shape[a] > 1) all |= out->stride[a];
  return all % align == 0;
}

// Of a case of adjacent elements; everything except the segments. The window reads nx - 1 pixels and ny - 1
// rows beyond its own; `edges` NULL: the host has made the border.
static inline fc_march fc_march_of(const fc_case2d &c, const fc_view *in, const fc_edges *edges,
                                   const fc_view *out, uint32_t *notes) {
  fc_march m = {};
  m.in_size = static_cast<int32_t>(fc_dtype_size(in->dtype));
  m.out_size = static_cast<int32_t>(fc_dtype_size(out->dtype));
  m.in = static_cast<const char *>(fc_view_at(in, 0, -(c.ny / 2), -(c.nx / 2), 0));
  m.out = static_cast<char *>(out->data);
  m.in_image = in->stride[FC_AXIS_N], m.in_plane = in->stride[FC_AXIS_C], m.in_row = in->stride[FC_AXIS_Y];
  m.out_image = out->stride[FC_AXIS_N], m.out_plane = out->stride[FC_AXIS_C],
  m.out_row = out->stride[FC_AXIS_Y];
  m.images = out->shape[FC_AXIS_N], m.height = c.height, m.columns = c.columns;
  m.planes = fc_rows_joined(in) && fc_rows_joined(out) ? 1 : out->shape[FC_AXIS_C];
  m.strips = (m.columns + FC_MARCH_WIDTH - 1) / FC_MARCH_WIDTH;
  m.in_dtype = in->dtype, m.out_dtype = out->dtype;
  m.step = c.step, m.margin = static_cast<int32_t>(c.margin);
  m.row_pitch = (FC_MARCH_WIDTH + m.margin + 3) / 4 * 4 + FC_MARCH_SLACK;
  m.raw_pitch =
      in->dtype == FC_F32 ? m.row_pitch : ((FC_MARCH_WIDTH + m.margin) * m.in_size + 6) / 16 * 4 + 4;
  m.up = static_cast<int32_t>(c.ny / 2), m.left = static_cast<int32_t>(c.nx / 2 * c.step);
  m.quads = fc_march_quads(out);
  m.in_map = fc_dev_map_of<float>(in->kind, in->dtype);
  m.out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  m.notes = notes;
  if (!edges) return m;
  const uint32_t code = static_cast<uint32_t>(edges->code);
  m.edges.on = true, m.edges.border = edges->border;
  m.edges.code = m.in_size == 1 ? code * 0x01010101u : m.in_size == 2 ? code * 0x00010001u : code;
  return m;
}

// Launches the first kernel from the tables of choice.h for which `launch` finds room on the device; with
// `edges`, FC_UNSUPPORTED if none of those makes a border.
template <typename Launch>
static inline fc_status fc_march_run(const fc_case2d &c, const fc_view *in, const fc_edges *edges,
                                     const fc_view *out, uint32_t *notes, Launch launch) {
  const fc_march m = c.adjacent ? fc_march_of(c, in, edges, out, notes) : fc_march{};
  for (int from = 0;; from++) {
    const fc_kernel2d kernel = fc_case2d_choose(&c, static_cast<fc_kernel2d>(from));
    if (kernel == FC_KERNEL2D_HOST) return FC_UNSUPPORTED;
    const fc_status status = launch(kernel, m);
    if (status != FC_UNSUPPORTED || kernel == FC_KERNEL2D_TILES) return status;
    from = kernel;
  }
}

// Cuts the way down into segments so that the warps fill the device a whole number of
// times, weighing idle warps at the end against the rows that segments read twice.
static inline void fc_march_segment(fc_march *m, int64_t resident, int64_t ny) {
  const int64_t least = 16, lines = m->images * m->planes * m->strips;
  int64_t best = INT64_MAX;
  m->rows = m->height;
  for (int64_t waves = 1; waves <= 16; waves++) {
    const int64_t segments = waves * resident / lines;
    if (segments < 1) continue;
    int64_t rows = (m->height + segments - 1) / segments;
    if (rows < least) rows = least;
    const int64_t cost = waves * (rows + ny + 8); // 8: the cost of starting
    if (cost >= best) continue;
    best = cost;
    m->rows = rows;
  }
  m->segments = (m->height + m->rows - 1) / m->rows;
}

// Launches `kernel` with `words` of shared memory a warp and `common` bytes a block.
template <typename Taps>
static inline fc_status fc_march_launch(void (*kernel)(const fc_march, const Taps), fc_march m,
                                        const Taps &taps, int words, int common, int64_t ny,
                                        cudaStream_t stream) {
  m.warp_words = (words + 3) / 4 * 4;
  m.warps = FC_MARCH_WARPS;
  while (m.warps > 1 && m.warps * m.warp_words * 4 + common > FC_MARCH_SHARED) m.warps /= 2;
  const int bytes = m.warps * m.warp_words * 4 + common;
  int device = 0, processors = 1, blocks = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, m.warps * 32, bytes);
  fc_march_segment(&m, static_cast<int64_t>(processors) * (blocks < 1 ? 1 : blocks) * m.warps, ny);
  const int64_t warps = m.images * m.planes * m.strips * m.segments, grid = (warps + m.warps - 1) / m.warps;
  if (grid > INT32_MAX) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(grid), m.warps * 32, bytes, stream>>>(m, taps);
  return fc_launch_status();
}

#endif

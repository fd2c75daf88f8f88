// SPDX-License-Identifier: MIT
//
// byte_strips.cuh - warps that march down strips of columns of bytes; a lane has a chunk of each row.
//
// Narrow images share a warp: each has a *cell* of lanes. The sums of a chunk's columns are updated
// incrementally, so that a row is read when it enters the windows and once more when it leaves them. Columns
// beyond the ends of rows use the sums of the columns that they repeat.
#ifndef FC_FILTERS_WINSTAT_BYTE_STRIPS_CUH
#define FC_FILTERS_WINSTAT_BYTE_STRIPS_CUH

#include "filters/winstat/box/cuts.h"
#include "filters/winstat/bytes.cuh"

namespace winstat {

constexpr int STRIP_WARPS = 4;           // per block
constexpr int STRIP_ENDS = FC_BYTE_ENDS; // maximum of columns beyond the ends in a warp's cells

// Bytes of a row are counted from its column 0.
struct byte_strips {
  const char *in; // column 0 of row 0
  char *out;
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out;
  int32_t bytes, columns, rows, planes;
  int32_t lo[2], hi[2];        // bytes, and rows, that are readable
  int32_t before, window, pad; // bytes; `pad`: space for rows of results that are not aligned to 16
  int32_t above, tall;         // rows of a window before its own; in all
  int32_t across;              // columns of a window
  ends edges;                  // the value beyond, if there is nothing to read
  uint32_t outside;            // ... the constant, four times
  int32_t lanes, cells, made;  // of a cell; of a warp; bytes of results per cell row
  int32_t strips, splits, each;
  int32_t ahead, all; // columns beyond the ends of a row: before it, and in all
  uint32_t units;     // planes, frames and splits, one per cell
};

// ---- a lane's bytes of a row ---------------------------------------------------------

// The position of a lane: its number in its cell, the first byte of its chunk, in rows at `in`, and the
// readable part of memory. Rows y .. end - 1 of results are made, of which `out` is the first; the first
// lane's chunk begins with byte `start`, the strip's results with byte `begin`.
struct byte_spot {
  const char *in, *from, *to;
  char *out;
  int place, first, y, end, begin, start;
  bool live;
  bool plain; // all existing quads of the chunk's rows
};

// False for a warp without work.
template <int CHUNK> __device__ __forceinline__ bool byte_spot_of(const byte_strips &a, byte_spot *s) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, cell = lane / a.lanes;
  const unsigned item = blockIdx.x * STRIP_WARPS + warp, strip = item % a.strips,
                 first = item / a.strips * a.cells;
  unsigned unit = first + cell;
  if (first >= a.units) return false;
  s->place = lane - cell * a.lanes;
  s->live = cell < a.cells && unit < a.units;
  if (!s->live) unit = first;
  s->y = static_cast<int>(unit % a.splits) * a.each;
  s->end = s->y + a.each < a.rows ? s->y + a.each : a.rows;
  unit /= a.splits;
  const int64_t plane = unit % a.planes, n = unit / a.planes;
  s->begin = static_cast<int>(strip) * a.made, s->start = s->begin - a.before - a.pad;
  s->in = a.in + n * a.frame_in + plane * a.plane_in, s->first = s->start + s->place * CHUNK;
  s->from = s->in + a.lo[1] * a.row_in + a.lo[0], s->to = s->in + (a.hi[1] - 1) * a.row_in + a.hi[0];
  const int top = s->y - a.above > a.lo[1] ? s->y - a.above : a.lo[1],
            bottom = (s->end - a.above + a.tall < a.hi[1] ? s->end - a.above + a.tall : a.hi[1]) - 1;
  s->plain = s->in + top * a.row_in + s->first - 15 >= s->from &&
             s->in + bottom * a.row_in + s->first + CHUNK + 16 <= s->to;
  s->out = a.out + n * a.frame_out + plane * a.plane_out + s->y * a.row_out;
  return true;
}

// As in memory, from the multiple of 16 before the chunk.
template <int CHUNK> struct byte_row {
  static constexpr int QUADS = (CHUNK + 30) / 16;
  uint32_t x[4 * QUADS];
  int lead;
};

// The bytes of the row in a quad that is not fully readable.
inline __device__ __noinline__ uint4 byte_some(const char *row, int i, int lo, int hi) {
  uint32_t v[4] = {};
  for (int b = 0; b < 16; b++)
    if (i + b >= lo && i + b < hi)
      v[b / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(row[i + b])) << 8 * (b % 4);
  return make_uint4(v[0], v[1], v[2], v[3]);
}

template <int CHUNK>
__device__ __forceinline__ void byte_fetch(const byte_strips &a, const byte_spot &p, int y,
                                           byte_row<CHUNK> &r) {
  constexpr int QUADS = byte_row<CHUNK>::QUADS;
  if (p.plain && y >= a.lo[1] && y < a.hi[1]) {
    const char *at = p.in + y * a.row_in + p.first;
    r.lead = static_cast<int>(reinterpret_cast<uintptr_t>(at) & 15);
    const uint4 *quads = reinterpret_cast<const uint4 *>(at - r.lead);
#pragma unroll
    for (int k = 0; k < QUADS; k++) {
      const uint4 q = quads[16 * k < CHUNK || r.lead + CHUNK > 16 * k ? k : 0];
      r.x[4 * k] = q.x, r.x[4 * k + 1] = q.y, r.x[4 * k + 2] = q.z, r.x[4 * k + 3] = q.w;
    }
    return;
  }
  int source = y;
  bool none = false;
  if (y < a.lo[1] || y >= a.hi[1]) {
    source = a.edges.on ? border_source(a.edges.border, y, a.rows) : -1;
    none = source < 0;
  }
  const char *row = p.in + source * a.row_in;
  r.lead = none ? 0 : static_cast<int>(reinterpret_cast<uintptr_t>(row + p.first) & 15);
#pragma unroll
  for (int k = 0; k < QUADS; k++) {
    const int i = p.first - r.lead + 16 * k;
    uint4 q = make_uint4(a.outside, a.outside, a.outside, a.outside);
    if (!none && i < a.hi[0] && i + 16 > a.lo[0] && r.lead + CHUNK > 16 * k) {
      if (row + i >= p.from && row + i + 16 <= p.to)
        q = *reinterpret_cast<const uint4 *>(row + i);
      else
        q = byte_some(row, i, a.lo[0], a.hi[0]);
    }
    r.x[4 * k] = q.x, r.x[4 * k + 1] = q.y, r.x[4 * k + 2] = q.z, r.x[4 * k + 3] = q.w;
  }
}

// ---- ends of rows --------------------------------------------------------------------

// For each column beyond the ends of a row, which of a warp's sums is its own, and whose it repeats.
struct byte_end {
  uint16_t to, from;
};
constexpr uint16_t CONSTANT = 0xffff;

// at(i): the address of the sums of a warp's byte i.
template <int C, int CHUNK, class At>
__device__ __forceinline__ int byte_list_ends(const byte_strips &a, byte_end *list, int start, At at) {
  const int lane = threadIdx.x % 32, room = a.lanes * CHUNK;
  int count = 0;
  for (int base = 0; base < a.all * a.cells; base += 32) { // the same for all lanes
    const int j = base + lane, cell = j / a.all, k = j - cell * a.all;
    const int i = k < a.ahead ? a.lo[0] - a.ahead + k : a.hi[0] + k - a.ahead, to = i - start;
    const bool mine = j < a.all * a.cells && to >= 0 && to < room;
    const unsigned those = __ballot_sync(ALL, mine);
    if (mine) {
      const int source = bytes_source<C>(a.edges, i, a.lo[0], a.hi[0], a.columns);
      list[count + __popc(those & ((1u << lane) - 1))] = {
          static_cast<uint16_t>(at(cell * room + to)),
          source == ELSEWHERE ? CONSTANT : static_cast<uint16_t>(at(cell * room + source - start))};
    }
    count += __popc(those);
  }
  __syncwarp();
  return count;
}

// ---- on the host ---------------------------------------------------------------------

// Everything except how it is cut.
static inline byte_strips byte_strips_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                         const fc_view *out, int which, int channels) {
  byte_strips a = {};
  const fc_winstat_span x = fc_winstat_read(w, in, edges, 0, FC_AXIS_X),
                        y = fc_winstat_read(w, in, edges, 1, FC_AXIS_Y);
  a.in = static_cast<const char *>(in->data);
  a.out = static_cast<char *>(out->data) + which * in->shape[FC_AXIS_C] * out->stride[FC_AXIS_C];
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.columns = static_cast<int32_t>(in->shape[FC_AXIS_X]), a.bytes = a.columns * channels;
  a.rows = static_cast<int32_t>(in->shape[FC_AXIS_Y]);
  a.planes = channels > 1 ? 1 : static_cast<int32_t>(in->shape[FC_AXIS_C]);
  a.lo[0] = static_cast<int32_t>(x.lo) * channels, a.hi[0] = static_cast<int32_t>(x.hi) * channels;
  a.lo[1] = static_cast<int32_t>(y.lo), a.hi[1] = static_cast<int32_t>(y.hi);
  a.across = static_cast<int32_t>(w->before[0] + w->after[0] + 1);
  a.before = static_cast<int32_t>(w->before[0]) * channels, a.window = a.across * channels;
  a.above = static_cast<int32_t>(w->before[1]);
  a.tall = static_cast<int32_t>(w->before[1] + w->after[1] + 1);
  a.edges = ends_of(edges), a.outside = edges ? static_cast<uint8_t>(edges->code) * 0x01010101u : 0;
  a.ahead = a.lo[0] + a.before;
  a.all = a.ahead + a.bytes + (a.window - a.before - channels) - a.hi[0];
  return a;
}

// Lanes, cells and strips; `pad` is for rows of results that are not aligned to 16 bytes.
template <int C, int CHUNK> static inline void byte_cut_columns(byte_strips *a, int64_t frames, int pad) {
  fc_byte_cut c = {};
  c.channels = C, c.chunk = CHUNK, c.pad = pad, c.bytes = a->bytes, c.window = a->window, c.all = a->all;
  c.skew = fc_byte_skew(a->out, a->row_out, a->planes > 1 ? a->plane_out : 0, frames > 1 ? a->frame_out : 0);
  fc_byte_cut_columns(&c);
  a->pad = c.pad, a->lanes = c.lanes, a->cells = c.cells, a->made = c.made, a->strips = c.strips;
}

// Splits of rows: enough for all warps, unless more rows would be read twice than are made. Returns the
// number of warps, or 0 if there are too many.
static inline int64_t byte_cut_rows(byte_strips *a, int64_t frames, int64_t resident) {
  int64_t splits = resident * a->cells / (a->strips * frames * a->planes), least = a->rows / (2 * a->tall);
  if (splits > least) splits = least;
  a->splits = static_cast<int32_t>(splits < 1 ? 1 : splits);
  a->each = (a->rows + a->splits - 1) / a->splits;
  a->splits = (a->rows + a->each - 1) / a->each;
  const int64_t units = frames * a->planes * a->splits, warps = (units + a->cells - 1) / a->cells * a->strips;
  if (units > INT32_MAX - 32 || warps > INT32_MAX) return 0;
  a->units = static_cast<uint32_t>(units);
  return warps;
}

} // namespace winstat

#endif

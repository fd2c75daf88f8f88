// SPDX-License-Identifier: MIT
//
// winstat_box_bytes.cuh - means of bytes in windows of rows and columns.
//
// Sums of integers are exact, so windows slide by what enters and leaves them, along both axes. A warp goes
// down a strip of columns, a lane with 16 or 48 bytes of each row: it has the sums of its columns over the
// rows of a window, two in a word, to which a row is added and from which another is taken, and shows them to
// the others in shared memory; from there it makes 16 or 48 means, whose windows slide along the row. Nothing
// waits for another warp. Narrow images share a warp: each has a *cell* of lanes. What stands beyond the ends
// of rows is copied there from the sums of the columns that it repeats.
#ifndef FC_FILTERS_WINSTAT_BOX_BYTES_CUH
#define FC_FILTERS_WINSTAT_BOX_BYTES_CUH

#include "filters/winstat_bytes.cuh"

namespace winstat {

constexpr int SUMS_WARPS = 4;   // of a block
constexpr int SUMS_SLACK = 256; // of a row of sums, for windows of lanes that nobody wants
constexpr int SUMS_ENDS = 512;  // columns beyond the ends that a warp's cells have, at most

// Bytes of a row are counted from its column 0.
struct sums_args {
  const char *in; // column 0 of row 0
  char *out;
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out;
  int32_t bytes, columns, rows, planes;
  int32_t lo[2], hi[2];              // bytes, and rows, that may be read
  int32_t before, window, pad;       // bytes; `pad`: room for rows of results that begin at no multiple of 16
  int32_t above, tall;               // rows that windows see ahead; in all
  ends edges;                        // what stands beyond, if that is not there to be read
  uint32_t outside;                  // ... the constant, four times
  int32_t across, shrink, inside[2]; // columns of a window; of those that shrink only columns inside[] count
  int32_t exactly;                   // means may lie halfway between two codes, or are of fewer samples
  float over;
  int32_t lanes, cells, made; // of a cell; of a warp; bytes of results of a cell's row
  int32_t strips, splits, each;
  int32_t far, rest;  // a window is so many chunks, and bytes
  int32_t ahead, all; // columns beyond the ends of a row: before it, and in all
  uint32_t units;     // planes, frames and splits: a cell one
  uint32_t part[24];  // of a chunk's words of sums those of the first `rest`
};

template <int C> struct sums_chunk {
  static constexpr int bytes = C == 3 ? 48 : 16, words = bytes / 4, sums = bytes / 2; // sums: words of them
  static constexpr int pitch = 32 * bytes + SUMS_SLACK;                               // sums
  // Which halves of word k of sums are of channel c, a one each, as bytes.
  static constexpr __host__ __device__ uint32_t ones(int k, int c) {
    return ((2 * k) % C == c ? 1u : 0u) | ((2 * k + 1) % C == c ? 0x100u : 0u);
  }
};

// Two halves of a word by the two low bytes of another, and `sum`.
__device__ __forceinline__ uint32_t halves(uint32_t word, uint32_t weights, uint32_t sum) {
  uint32_t r;
  asm("dp2a.lo.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(word), "r"(weights), "r"(sum));
  return r;
}

// ---- a lane's bytes of a row ---------------------------------------------------------

// Where a lane is: the first byte of its chunk, in rows at `in`, and what of memory may be read.
struct sums_place {
  const char *in, *from, *to;
  int first;
  bool plain; // all quads of the chunk's rows that the image has
};

// As they lie in memory, from the multiple of 16 on that comes before the chunk.
template <int C> struct sums_row {
  uint32_t x[sums_chunk<C>::words + 4];
  int lead;
};

// Of a quad of which not all may be read the bytes of the row.
inline __device__ __noinline__ uint4 sums_some(const char *row, int i, int lo, int hi) {
  uint32_t v[4] = {};
  for (int b = 0; b < 16; b++)
    if (i + b >= lo && i + b < hi)
      v[b / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(row[i + b])) << 8 * (b % 4);
  return make_uint4(v[0], v[1], v[2], v[3]);
}

template <int C>
__device__ __forceinline__ void sums_fetch(const sums_args &a, const sums_place &p, int y, sums_row<C> &r) {
  if (p.plain && y >= a.lo[1] && y < a.hi[1]) {
    const char *at = p.in + y * a.row_in + p.first;
    r.lead = static_cast<int>(reinterpret_cast<uintptr_t>(at) & 15);
    const uint4 *quads = reinterpret_cast<const uint4 *>(at - r.lead);
#pragma unroll
    for (int k = 0; k < sums_chunk<C>::words / 4 + 1; k++) {
      const uint4 q = quads[k < sums_chunk<C>::words / 4 || r.lead > 0 ? k : 0];
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
  for (int k = 0; k < sums_chunk<C>::words / 4 + 1; k++) {
    const int i = p.first - r.lead + 16 * k;
    uint4 q = make_uint4(a.outside, a.outside, a.outside, a.outside);
    if (!none && i < a.hi[0] && i + 16 > a.lo[0] && (r.lead > 0 || k < sums_chunk<C>::words / 4)) {
      if (row + i >= p.from && row + i + 16 <= p.to)
        q = *reinterpret_cast<const uint4 *>(row + i);
      else
        q = sums_some(row, i, a.lo[0], a.hi[0]);
    }
    r.x[4 * k] = q.x, r.x[4 * k + 1] = q.y, r.x[4 * k + 2] = q.z, r.x[4 * k + 3] = q.w;
  }
}

// Adds a row to the sums of columns, or takes one away.
template <int C, bool ADD>
__device__ __forceinline__ void sums_row_by(uint32_t (&v)[sums_chunk<C>::sums], sums_row<C> &r) {
  uint32_t w[sums_chunk<C>::words];
  bytes_shift(w, r.x, r.lead);
#pragma unroll
  for (int k = 0; k < sums_chunk<C>::words; k++) {
    const uint32_t low = __byte_perm(w[k], 0, 0x4140), high = __byte_perm(w[k], 0, 0x4342);
    if (ADD)
      v[2 * k] += low, v[2 * k + 1] += high;
    else
      v[2 * k] -= low, v[2 * k + 1] -= high;
  }
}

// ---- windows ------------------------------------------------------------------------

// For each column beyond the ends of a row which of a warp's sums is its, and whose it repeats.
struct sums_end {
  uint16_t to, from;
};
constexpr uint16_t CONSTANT = 0xffff;

template <int C>
__device__ __forceinline__ int sums_list_ends(const sums_args &a, sums_end *list, int start) {
  constexpr int CHUNK = sums_chunk<C>::bytes;
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
          static_cast<uint16_t>(cell * room + to),
          source == ELSEWHERE ? CONSTANT : static_cast<uint16_t>(cell * room + source - start)};
    }
    count += __popc(those);
  }
  __syncwarp();
  return count;
}

template <int C> struct sums_of { uint32_t of[C]; };

// Of words of sums, or of parts of them, channel by channel.
template <int C>
__device__ __forceinline__ sums_of<C> sums_total(const uint32_t (&v)[sums_chunk<C>::sums],
                                                 const uint32_t *part = nullptr) {
  sums_of<C> s = {};
#pragma unroll
  for (int k = 0; k < sums_chunk<C>::sums; k++)
#pragma unroll
    for (int c = 0; c < C; c++)
      if (sums_chunk<C>::ones(k, c))
        s.of[c] = halves(part ? v[k] & part[k] : v[k], sums_chunk<C>::ones(k, c), s.of[c]);
  return s;
}

// The sums of the first windows of a lane's chunk: from those of the lanes that they see.
template <int C>
__device__ __forceinline__ sums_of<C> sums_begin(const sums_args &a,
                                                 const uint32_t (&v)[sums_chunk<C>::sums]) {
  sums_of<C> s = sums_total<C>(v, a.part);
  if (a.far == 0) return s;
  const sums_of<C> all = sums_total<C>(v);
#pragma unroll
  for (int c = 0; c < C; c++) {
    s.of[c] = __shfl_down_sync(ALL, s.of[c], a.far) + all.of[c];
#pragma unroll 1
    for (int k = 1; k < a.far; k++) s.of[c] += __shfl_down_sync(ALL, all.of[c], k);
  }
  return s;
}

// Samples that count in the window of byte i's result of row y.
template <int C> __device__ __forceinline__ int sums_inside(const sums_args &a, int i, int y) {
  const int x = i / C, left = x - a.before / C, right = left + a.across, up = y - a.above, down = up + a.tall;
  const int columns = (right < a.inside[1] ? right : a.inside[1]) - (left > a.inside[0] ? left : a.inside[0]);
  return columns * ((down < a.hi[1] ? down : a.hi[1]) - (up > a.lo[1] ? up : a.lo[1]));
}

// From what leaves windows to what enters them: the codes of a chunk, from byte i of row y on.
template <int C, bool EXACTLY>
__device__ __forceinline__ void sums_slide(const sums_args &a, sums_of<C> s,
                                           const uint32_t (&leave)[sums_chunk<C>::sums],
                                           const uint32_t (&enter)[sums_chunk<C>::sums],
                                           uint32_t (&codes)[sums_chunk<C>::words], int i, int y) {
#pragma unroll
  for (int c = 0; c < C; c++) s.of[c] += NUMBER;
#pragma unroll
  for (int k = 0; k < sums_chunk<C>::words; k++) {
    uint32_t code[4];
#pragma unroll
    for (int b = 0; b < 4; b++) {
      uint32_t &sum = s.of[(4 * k + b) % C];
      const int half = 2 * k + b / 2, at = i + 4 * k + b;
      if (EXACTLY) {
        const int n = !a.shrink ? a.across * a.tall : at >= 0 && at < a.bytes ? sums_inside<C>(a, at, y) : 1;
        code[b] = bytes_mean_exact(static_cast<int32_t>(sum - NUMBER), n, 1.0f / static_cast<float>(n));
      } else {
        code[b] = bytes_mean(__uint_as_float(sum) - 8388608.0f, a.over);
      }
      sum = halves(__byte_perm(enter[half], leave[half], b % 2 ? 0x7632 : 0x5410), 0xff01, sum);
    }
    codes[k] =
        __byte_perm(__byte_perm(code[0], code[1], 0x0040), __byte_perm(code[2], code[3], 0x0040), 0x5410);
  }
}

// ---- the march ----------------------------------------------------------------------

template <int C>
__global__ void __launch_bounds__(32 * SUMS_WARPS, C == 3 ? 3 : 6)
    box_bytes(const __grid_constant__ sums_args a) {
  typedef sums_chunk<C> chunk;
  __shared__ __align__(16) uint16_t memory[SUMS_WARPS][2][chunk::pitch];
  __shared__ sums_end lists[SUMS_WARPS][SUMS_ENDS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, cell = lane / a.lanes,
            place = lane - cell * a.lanes;
  const unsigned item = blockIdx.x * SUMS_WARPS + warp, strip = item % a.strips;
  unsigned unit = item / a.strips * a.cells + cell;
  if (item / a.strips * a.cells >= a.units) return; // warps as a whole
  const bool live = cell < a.cells && unit < a.units;
  if (!live) unit = item / a.strips * a.cells;
  const int y0 = static_cast<int>(unit % a.splits) * a.each,
            end = y0 + a.each < a.rows ? y0 + a.each : a.rows;
  unit /= a.splits;
  const int64_t plane = unit % a.planes, n = unit / a.planes;
  const int begin = static_cast<int>(strip) * a.made, start = begin - a.before - a.pad;
  sums_place p;
  p.in = a.in + n * a.frame_in + plane * a.plane_in, p.first = start + place * chunk::bytes;
  p.from = p.in + a.lo[1] * a.row_in + a.lo[0], p.to = p.in + (a.hi[1] - 1) * a.row_in + a.hi[0];
  const int top = y0 - a.above > a.lo[1] ? y0 - a.above : a.lo[1],
            bottom = (end - a.above + a.tall < a.hi[1] ? end - a.above + a.tall : a.hi[1]) - 1;
  p.plain = p.in + top * a.row_in + p.first - 15 >= p.from &&
            p.in + bottom * a.row_in + p.first + chunk::bytes + 16 <= p.to;
  char *out = a.out + n * a.frame_out + plane * a.plane_out + y0 * a.row_out;
  const int ends = sums_list_ends<C>(a, lists[warp], start);
  uint32_t v[chunk::sums] = {};
  sums_row<C> row;
#pragma unroll 1
  for (int k = 0; k < a.tall - 1; k++)
    sums_fetch<C>(a, p, y0 - a.above + k, row), sums_row_by<C, true>(v, row);
  sums_fetch<C>(a, p, y0 - a.above + a.tall - 1, row);
#pragma unroll 1
  for (int k = 0; k < a.each; k++, out += a.row_out) { // the same for all lanes
    const int y = y0 + k;
    uint16_t *sums = memory[warp][k & 1];
    sums_row_by<C, true>(v, row);
    sums_row<C> old;
    sums_fetch<C>(a, p, y - a.above, old);
    if (k + 1 < a.each) sums_fetch<C>(a, p, y - a.above + a.tall, row);
    uint4 *mine = reinterpret_cast<uint4 *>(sums + lane * chunk::bytes);
#pragma unroll
    for (int j = 0; j < chunk::sums / 4; j++)
      mine[j] = make_uint4(v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3]);
    __syncwarp();
    if (ends > 0) {
      for (int j = lane; j < ends; j += 32) {
        const sums_end e = lists[warp][j];
        sums[e.to] = e.from == CONSTANT ? static_cast<uint16_t>((a.outside & 0xff) * a.tall) : sums[e.from];
      }
      __syncwarp();
    }
    const int skew = static_cast<int>(reinterpret_cast<uintptr_t>(out) & 15);
    const unsigned char *raw = reinterpret_cast<const unsigned char *>(sums);
    const int at = 2 * (lane * chunk::bytes + a.pad - skew), i = begin - skew + place * chunk::bytes;
    uint32_t leave[chunk::sums], enter[chunk::sums], codes[chunk::words];
    bytes_take(leave, raw, at);
    const sums_of<C> s = sums_begin<C>(a, leave);
    bytes_take(enter, raw, at + 2 * a.window);
    if (a.exactly)
      sums_slide<C, true>(a, s, leave, enter, codes, i, y);
    else
      sums_slide<C, false>(a, s, leave, enter, codes, i, y);
    if (live && y < end && place * chunk::bytes < a.made) bytes_give(codes, out, i, a.bytes, 1);
    sums_row_by<C, false>(v, old);
  }
}

} // namespace winstat

#endif

// SPDX-License-Identifier: MIT
//
// box_squares.cu - variances, standard deviations and root mean squares of bytes in boxes: kernel and launch.
#include "filters/winstat/box/byte_strips.cuh"
#include "filters/winstat/box/number.cuh"

#include <cmath>

#include "filters/winstat/box/march.cuh"
#include "filters/winstat/launch.cuh"

// Windows of up to 33 columns and 16 rows.
//
// All arithmetic is on integers modulo 2^32. The deviation sum of a window of n samples, n sum(v^2) -
// sum(v)^2, is exact if it is below 2^32. A sample v is added as (v + 2^19)^2 = v^2 + 2^20 v (mod 2^32), so
// that one multiplication updates both sums of a column: the squares in the low 20 bits, the sum in the upper
// 12, neither of which overflows in 16 rows. Along a row a window slides by T, the words of columns, and by
// their upper parts, which give S + 2^19 n for the sum S; n T minus the square of that is the deviation sum.
// If only squares are needed, samples are added without the 2^19: then there are no upper parts, and T is the
// sum of squares.
//
// A result code is the root of the deviation sum (or that sum itself), scaled, computed in single precision
// and rounded down. Whether it must be one more is decided by a table: `least` has the smallest deviation sum
// for which the definition gives the next code. So the result is exact in spite of the rounding, and no case
// has to be computed twice.
//
// Warps move down strips as described in byte_strips.cuh. Words of columns come from other lanes by shuffles;
// shared memory is only used where a strip contains an end of rows.

namespace winstat {

constexpr int SQUARES_CODES = 256;

struct squares_args {
  byte_strips b;
  int32_t far, rest; // a window is `far` chunks and `rest` pixels
  int32_t root;
  uint32_t offset;     // added to each sample: 2^19, or 0
  uint32_t times, sum; // n and 2^19 n, or 1 and 0
  uint32_t begun;      // contribution of missing rows to a column
  uint32_t fill;       // sum of a column of the border's constant
  uint32_t bias;       // four times the offset of codes
  uint32_t top;        // four times the largest code
  int32_t clip;        // whether results can be larger than the largest code
  uint32_t *notes;
  float over;                    // scale: root (or deviation sum) to four times the code
  uint32_t least[SQUARES_CODES]; // smallest deviation sum that gives the next code
};

// A lane's chunk: whole pixels, in an even number of words.
template <int C> struct squares_chunk {
  static constexpr int BYTES = C == 3 ? 24 : 16, WORDS = BYTES / 4, PIXELS = BYTES / C;
  static constexpr int SIDE = BYTES % 16 == 0 ? 16 : 8; // bytes per store of results
  static constexpr int PITCH = BYTES + 4; // bytes per lane in shared memory, padded against bank conflicts
};

// The contribution of byte b of a word: (v + offset)^2.
__device__ __forceinline__ uint32_t square_of(const squares_args &a, uint32_t word, int b) {
  const uint32_t v = __byte_perm(word, a.offset, 0x7640u | static_cast<uint32_t>(b));
  return v * v;
}

// Adds a row to the words of columns, or subtracts it.
template <bool ADD, int CHUNK>
__device__ __forceinline__ void squares_by(const squares_args &a, uint32_t (&v)[CHUNK], byte_row<CHUNK> &r) {
  if (r.lead != 0) {
    uint32_t w[CHUNK / 4];
    bytes_shift(w, r.x, r.lead);
#pragma unroll
    for (int k = 0; k < CHUNK / 4; k++) r.x[k] = w[k];
  }
#pragma unroll
  for (int k = 0; k < CHUNK; k++) {
    const uint32_t square = square_of(a, r.x[k / 4], k % 4);
    v[k] = ADD ? v[k] + square : v[k] - square;
  }
}

// ---- along a row ---------------------------------------------------------------------

// The sliding sums of a window: of column words, and of samples plus 2^19 each.
struct squares_sum {
  uint32_t words, sum;
  __device__ __forceinline__ void add(uint32_t v) { words += v, sum += v >> 20; }
  __device__ __forceinline__ void add(const squares_sum &s) { words += s.words, sum += s.sum; }
  __device__ __forceinline__ squares_sum down(int lanes) const {
    return {__shfl_down_sync(ALL, words, lanes), __shfl_down_sync(ALL, sum, lanes)};
  }
};

// The deviation sums of a lane's windows, which begin in its own columns. FAR: they span whole chunks; REST:
// number of pixels beyond these.
template <int C, int REST, bool FAR>
__device__ __forceinline__ void squares_slide(const squares_args &a,
                                              const uint32_t (&v)[squares_chunk<C>::BYTES],
                                              uint32_t (&d)[squares_chunk<C>::BYTES]) {
  constexpr int CHUNK = squares_chunk<C>::BYTES;
  squares_sum s[C];
#pragma unroll
  for (int c = 0; c < C; c++) {
    s[c] = {0, 0};
#pragma unroll
    for (int k = 0; k < REST; k++) s[c].add(v[k * C + c]);
    if (FAR) {
      const squares_sum end = s[c].down(a.far);
#pragma unroll
      for (int k = REST; k < squares_chunk<C>::PIXELS; k++) s[c].add(v[k * C + c]);
      const squares_sum all = s[c];
#pragma unroll 1
      for (int k = 1; k < a.far; k++) s[c].add(all.down(k));
      if (REST > 0) s[c].add(end);
    }
    s[c].sum += a.sum;
  }
#pragma unroll
  for (int k = 0; k < CHUNK; k++) {
    squares_sum &now = s[k % C];
    d[k] = now.words * a.times - now.sum * now.sum;
    if (k + C >= CHUNK) continue;
    const int at = k + REST * C;
    const uint32_t own = v[at % CHUNK];
    const uint32_t next = at >= CHUNK ? __shfl_down_sync(ALL, own, FAR ? a.far + 1 : 1)
                          : FAR       ? __shfl_down_sync(ALL, own, a.far)
                                      : own;
    now.words += next - v[k], now.sum += (next >> 20) - (v[k] >> 20);
  }
}

template <int C>
__device__ __forceinline__ void squares_along(const squares_args &a,
                                              const uint32_t (&v)[squares_chunk<C>::BYTES],
                                              uint32_t (&d)[squares_chunk<C>::BYTES]) {
  with_number(a.rest + 1, [&](auto n) {
    constexpr int REST = decltype(n)::value - 1;
    if constexpr (REST < squares_chunk<C>::PIXELS) {
      if (a.far > 0)
        squares_slide<C, REST, true>(a, v, d);
      else
        squares_slide<C, REST, false>(a, v, d);
    }
  });
}

// Converts deviation sums to codes, four in a word. CLIP: results may exceed the largest code; returns which
// do.
template <bool CLIP, int CHUNK>
__device__ __forceinline__ uint32_t squares_codes(const squares_args &a, const uint32_t *least,
                                                  const uint32_t (&d)[CHUNK], uint32_t (&codes)[CHUNK / 4]) {
  constexpr uint32_t PLACES = 4 * SQUARES_CODES - 4; // mask of byte offsets into the table
  uint32_t larger = 0;
#pragma unroll
  for (int k = 0; k < CHUNK; k += 4) {
    uint32_t four[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float code = __uint2float_rn(d[k + j]);
      if (a.root) asm("sqrt.approx.ftz.f32 %0, %0;" : "+f"(code));
      // Adding 2^23 leaves an integer in the low bits; rounding toward zero makes it the floor.
      code = __fmaf_rz(code, a.over, 8388608.0f);
      if (CLIP) code = fminf(code, 8388608.0f + static_cast<float>(a.top));
      const uint32_t place = __float_as_uint(code) & PLACES;
      const uint32_t limit =
          *reinterpret_cast<const uint32_t *>(reinterpret_cast<const char *>(least) + place);
      four[j] = d[k + j] >= limit ? place + 4 : place;
      if (CLIP && four[j] > a.top) four[j] = a.top, larger |= 1u << (k + j);
    }
    codes[k / 4] = ((four[0] >> 2) + (four[1] << 6) + (four[2] << 14) + (four[3] << 22)) ^ a.bias;
  }
  return larger;
}

// ---- the march -----------------------------------------------------------------------

// Fills in the columns beyond the ends of rows, through shared memory.
template <int C>
__device__ __forceinline__ void squares_ends(const squares_args &a, uint32_t (&v)[squares_chunk<C>::BYTES],
                                             uint32_t *memory, const byte_end *list, int ends) {
  const int lane = threadIdx.x % 32;
  uint4 *mine = reinterpret_cast<uint4 *>(memory + lane * squares_chunk<C>::PITCH);
#pragma unroll
  for (int k = 0; k < squares_chunk<C>::WORDS; k++)
    mine[k] = make_uint4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
  __syncwarp();
  for (int j = lane; j < ends; j += 32) {
    const byte_end e = list[j];
    memory[e.to] = e.from == CONSTANT ? a.fill : memory[e.from];
  }
  __syncwarp();
#pragma unroll
  for (int k = 0; k < squares_chunk<C>::WORDS; k++) {
    const uint4 q = mine[k];
    v[4 * k] = q.x, v[4 * k + 1] = q.y, v[4 * k + 2] = q.z, v[4 * k + 3] = q.w;
  }
}

// Stores a lane's codes, which begin `skew` bytes after a multiple of SIDE, together with the codes that
// other lanes have before them, so that stores are aligned.
template <int C>
__device__ __forceinline__ void squares_give(const byte_strips &a, uint32_t (&codes)[squares_chunk<C>::WORDS],
                                             char *row, int i, bool wanted) {
  constexpr int WORDS = squares_chunk<C>::WORDS, SIDE = squares_chunk<C>::SIDE;
  int skew = 0;
  if (a.pad > 0) { // the same for all lanes
    uint32_t x[WORDS + 4];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = __shfl_up_sync(ALL, codes[WORDS - 4 + k], 1);
#pragma unroll
    for (int k = 0; k < WORDS; k++) x[4 + k] = codes[k];
    skew = static_cast<int>((reinterpret_cast<uintptr_t>(row) + i) & (SIDE - 1));
    if (skew > 0) bytes_shift(codes, x, 16 - skew);
  }
  if (wanted) bytes_give(codes, row, i - skew, a.bytes, 1);
}

template <int C>
__global__ void __launch_bounds__(32 * STRIP_WARPS, C == 3 ? 4 : 5)
    box_squares(const __grid_constant__ squares_args d) {
  typedef squares_chunk<C> chunk;
  constexpr int CHUNK = chunk::BYTES;
  __shared__ uint32_t least[SQUARES_CODES];
  __shared__ __align__(16) uint32_t memory[STRIP_WARPS][32 * chunk::PITCH];
  __shared__ byte_end lists[STRIP_WARPS][STRIP_ENDS];
  const byte_strips &a = d.b;
  const int warp = threadIdx.x / 32;
  for (int k = threadIdx.x; k < SQUARES_CODES; k += 32 * STRIP_WARPS) least[k] = d.least[k];
  __syncthreads();
  byte_spot p;
  if (!byte_spot_of<CHUNK>(a, &p)) return;
  const int ends = byte_list_ends<C, CHUNK>(a, lists[warp], p.start,
                                            [](int i) { return i / CHUNK * chunk::PITCH + i % CHUNK; });
  char *out = p.out;
  const int i = p.begin + p.place * CHUNK - a.pad;
  const bool wanted = p.live && i >= p.begin && i < p.begin + a.made;
  uint32_t v[CHUNK];
#pragma unroll
  for (int k = 0; k < CHUNK; k++) v[k] = d.begun;
  byte_row<CHUNK> row;
#pragma unroll 1
  for (int k = 0; k < a.tall - 1; k++) byte_fetch(a, p, p.y - a.above + k, row), squares_by<true>(d, v, row);
  byte_fetch(a, p, p.y - a.above + a.tall - 1, row);
#pragma unroll 1
  for (int k = 0; k < a.each; k++, out += a.row_out) { // the same for all lanes
    const int y = p.y + k;
    squares_by<true>(d, v, row);
    byte_row<CHUNK> old;
    byte_fetch(a, p, y - a.above, old);
    if (k + 1 < a.each) byte_fetch(a, p, y - a.above + a.tall, row);
    if (ends > 0) squares_ends<C>(d, v, memory[warp], lists[warp], ends);
    uint32_t deviations[CHUNK], codes[chunk::WORDS];
    squares_along<C>(d, v, deviations);
    if (d.clip) {
      uint32_t larger = squares_codes<true>(d, least, deviations, codes);
      for (int b = 0; larger != 0; b++, larger >>= 1)
        if ((larger & 1) && wanted && y < p.end && i + b >= 0 && i + b < a.bytes) fc_dev_note(d.notes, 1);
    } else {
      squares_codes<false>(d, least, deviations, codes);
    }
    squares_give<C>(a, codes, out, i, wanted && y < p.end);
    squares_by<false>(d, v, old);
  }
}

} // namespace winstat

namespace winstat {

// ---- codes ---------------------------------------------------------------------------

// Conversion of deviation sums, or sums of squares, to codes, as defined by codes_stat and fc_dev_code.
struct squares_rule {
  double n, scale, inverse;
  int stat;

  double code(double of) const {
    if (stat == FC_WINSTAT_RMS) return nearbyint(sqrt(of * scale * scale / n) * inverse);
    const double v = of / n * scale * scale / n;
    return nearbyint((stat == FC_WINSTAT_STD ? sqrt(v) : v) * inverse);
  }
  // The deviation sum, or its root, is this times the code.
  double times() const {
    return stat == FC_WINSTAT_RMS ? sqrt(n) : stat == FC_WINSTAT_STD ? n : n * n / scale;
  }
  // The largest code.
  double most() const { return code(stat == FC_WINSTAT_RMS ? n * 255 * 255 : floor(n * n / 4) * 255 * 255); }
  // The smallest sum that gives a code above k. The definition itself is evaluated only where the limit is
  // within rounding error of an integer.
  uint32_t least(int k) const {
    const double half = k + 0.5,
                 limit = stat == FC_WINSTAT_RMS   ? half * half * n
                         : stat == FC_WINSTAT_STD ? half * half * n * n
                                                  : half * times(),
                 near = nearbyint(limit);
    if (limit >= UINT32_MAX) return UINT32_MAX;
    const bool more = fabs(limit - near) > 1e-3 ? near > limit : code(near) > k;
    return static_cast<uint32_t>(near) + !more;
  }
};

static squares_rule rule_of(const fc_winstat *w, const fc_view *in, int which) {
  const int64_t n = (w->before[0] + w->after[0] + 1) * (w->before[1] + w->after[1] + 1);
  return {static_cast<double>(n), fc_scaling_of(in->kind, in->dtype).scale,
          fc_dev_map_of<double>(in->kind, in->dtype).inverse, w->stat[which]};
}

// ---- arguments -------------------------------------------------------------------

// Whether the image has one row and the border above and below is a constant.
static bool alone(const fc_winstat *w, const fc_view *in, const fc_edges *edges) {
  return edges && in->shape[FC_AXIS_Y] == 1 && w->before[1] + w->after[1] > 0 &&
         (edges->border == FC_BORDER_ZERO || edges->border == FC_BORDER_CONSTANT);
}

static squares_args squares_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                    const fc_view *out, int which, int channels, uint32_t *notes) {
  squares_args a = {};
  const squares_rule rule = rule_of(w, in, which);
  a.b = byte_strips_of(w, in, edges, out, which, channels);
  const bool squares = rule.stat == FC_WINSTAT_RMS;
  const uint32_t n = static_cast<uint32_t>(rule.n);
  a.root = rule.stat != FC_WINSTAT_VAR, a.over = static_cast<float>(4 / rule.times());
  a.offset = squares ? 0 : 1u << 19, a.times = squares ? 1 : n, a.sum = n * a.offset;
  const uint32_t bias = static_cast<uint32_t>(fc_scaling_of(in->kind, in->dtype).bias);
  a.bias = bias * 0x01010101u, a.top = 4 * (255 - bias), a.clip = 4 * rule.most() > a.top, a.notes = notes;
  const uint32_t v = (a.b.outside & 0xff) + a.offset, tall = static_cast<uint32_t>(a.b.tall);
  a.fill = tall * v * v;
  if (alone(w, in, edges)) a.begun = (tall - 1) * v * v, a.b.tall = 1, a.b.above = 0;
  return a;
}

// ---- launching -----------------------------------------------------------------------

// Strips that contain ends of rows take longer. Launching several times as many warps as are resident
// balances the load.
constexpr int64_t WAVES = 4;

static_assert(squares_chunk<1>::BYTES == FC_SQUARES_CHUNK(1) &&
                  squares_chunk<3>::BYTES == FC_SQUARES_CHUNK(3),
              "as counted");

template <int C> static fc_status launch(squares_args a, int64_t frames, cudaStream_t stream) {
  constexpr int CHUNK = squares_chunk<C>::BYTES;
  const auto kernel = box_squares<C>;
  byte_cut_columns<C, CHUNK>(&a.b, frames, CHUNK);
  const int64_t resident = march_resident(kernel, 32 * STRIP_WARPS, 0) * STRIP_WARPS,
                warps = resident > 0 ? byte_cut_rows(&a.b, frames, WAVES * resident) : 0;
  if (warps == 0) return FC_UNSUPPORTED;
  a.far = a.b.across / squares_chunk<C>::PIXELS, a.rest = a.b.across % squares_chunk<C>::PIXELS;
  kernel<<<fc_blocks(warps, STRIP_WARPS, INT32_MAX), 32 * STRIP_WARPS, 0, stream>>>(a);
  return fc_launch_status();
}

// Arguments for bytes from .. to - 1 of a row. What windows read beyond that lies in the row, except at its
// own ends.
static squares_args part_of(squares_args a, int from, int to, int channels) {
  byte_strips &b = a.b;
  const int beyond = b.window - b.before - channels;
  const bool begins = from == 0, ends = to == b.bytes;
  if (!begins) b.lo[0] = -b.before, b.ahead = 0;
  b.hi[0] = ends ? b.hi[0] - from : to - from + beyond;
  b.in += from, b.out += from, b.bytes = to - from, b.columns = b.bytes / channels;
  b.all = b.ahead + b.bytes + beyond - b.hi[0];
  return a;
}

// A long row: its two ends are processed as such, the middle as an image of shorter rows that follow one
// another in memory; windows still span one row.
template <int C> static fc_status launch_row(const squares_args &a, int32_t middle, cudaStream_t stream) {
  constexpr int32_t WIDE = FC_SQUARES_WIDE(C);
  squares_args rows = part_of(a, WIDE, 2 * WIDE, C);
  rows.b.row_in = rows.b.row_out = WIDE, rows.b.rows = rows.b.hi[1] = middle / WIDE;
  for (const squares_args &part : {rows, part_of(a, 0, WIDE, C), part_of(a, WIDE + middle, a.b.bytes, C)}) {
    const fc_status status = launch<C>(part, 1, stream);
    if (status != FC_OK) return status;
  }
  return FC_OK;
}

fc_status run_box_squares(const call &c, int which) {
  const int channels = fc_byte_channels(c.in, c.out);
  squares_args a = squares_args_of(c.w, c.in, c.edges, c.out, which, channels, c.notes);
  for (int k = 0; k < SQUARES_CODES; k++) a.least[k] = rule_of(c.w, c.in, which).least(k);
  const int32_t middle = static_cast<int32_t>(fc_squares_middle(c.w, c.in, c.edges, channels));
  return with_channels(channels, [&](auto n) {
    constexpr int C = decltype(n)::value;
    return middle > 0 ? launch_row<C>(a, middle, c.stream) : launch<C>(a, c.in->shape[FC_AXIS_N], c.stream);
  });
}

} // namespace winstat

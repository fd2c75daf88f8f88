// SPDX-License-Identifier: MIT
//
// box_bytes.cu - means of bytes in windows of several rows and columns: kernel and launch.
#include "filters/winstat/box/byte_strips.cuh"
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/launch.cuh"

// Means of bytes in windows of several rows and columns.
//
// Sums of integers are exact, so windows can slide along both axes: add what enters, subtract what leaves. A
// warp moves down a strip of columns, each lane processing 16 or 48 bytes of each row. A lane keeps the sums
// of its columns over the rows of a window, two 16-bit sums per word; for each row it adds the row that
// enters and subtracts the one that leaves, and publishes the sums in shared memory. From these it computes
// 16 or 48 means, whose windows slide along the row. Warps never wait for each other. Narrow images share a
// warp, each with a range of lanes called a *cell*. The border at the ends of rows is filled in shared memory
// by copying the sums of the columns that it repeats.

namespace winstat {

constexpr int SUMS_SLACK = 256; // room after a row of sums: idle lanes read there, too

struct sums_args {
  byte_strips b;
  int32_t shrink, inside[2]; // shrinking windows count only these columns
  int32_t exactly;           // whether means may be exact halves, to be rounded exactly
  int32_t border, borders;   // bytes with windows that shrink along x: at a row's start; in total
  float over;
  int32_t far, rest; // a window is `far` chunks and `rest` bytes
  uint32_t part[24]; // masks that select the sums of a chunk's first `rest` bytes
};

template <int C> struct sums_chunk {
  static constexpr int bytes = C == 3 ? 48 : 16, words = bytes / 4, sums = bytes / 2; // sums: words of them
  static constexpr int pitch = 32 * bytes + SUMS_SLACK;                               // sums
  // Weights for a dot product: 1 in each half of word k of sums that belongs to channel c, as bytes.
  static constexpr __host__ __device__ uint32_t ones(int k, int c) {
    return ((2 * k) % C == c ? 1u : 0u) | ((2 * k + 1) % C == c ? 0x100u : 0u);
  }
};

// Returns sum + low half x byte 0 of the weights + high half x byte 1.
__device__ __forceinline__ uint32_t halves(uint32_t word, uint32_t weights, uint32_t sum) {
  uint32_t r;
  asm("dp2a.lo.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(word), "r"(weights), "r"(sum));
  return r;
}

// Adds a row to the sums of columns, or subtracts it.
template <int C, bool ADD>
__device__ __forceinline__ void sums_row_by(uint32_t (&v)[sums_chunk<C>::sums],
                                            byte_row<sums_chunk<C>::bytes> &r) {
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

template <int C> struct sums_of { uint32_t of[C]; };

// Adds words of column sums, or masked ones, channel by channel.
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

// The sums of the first window of a lane's chunk, one per channel, from the sums of the lanes that it spans.
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

// Number of samples in the (shrunk) window of byte i of row y.
template <int C> __device__ __forceinline__ int sums_inside(const sums_args &a, int i, int y) {
  const byte_strips &b = a.b;
  const int x = i / C, left = x - b.before / C, right = left + b.across, up = y - b.above, down = up + b.tall;
  const int columns = (right < a.inside[1] ? right : a.inside[1]) - (left > a.inside[0] ? left : a.inside[0]);
  return columns * ((down < b.hi[1] ? down : b.hi[1]) - (up > b.lo[1] ? up : b.lo[1]));
}

// Slides windows along a chunk and computes its codes, from byte i of row y on.
template <int C, bool EXACTLY, bool SHRINKS>
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
        const int n = !SHRINKS                    ? a.b.across * a.b.tall
                      : at >= 0 && at < a.b.bytes ? sums_inside<C>(a, at, y)
                                                  : 1;
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

// The codes at the ends of a row, where windows shrink, one per lane: they need another divisor than the
// whole windows of the row. `to`: the results of the lane's cell, NULL if it has none.
template <int C>
__device__ __forceinline__ void sums_borders(const sums_args &d, const uint16_t *sums, int begin, int start,
                                             int y, char *to) {
  const byte_strips &a = d.b;
  __syncwarp(); // the codes to be replaced have been stored
#pragma unroll 1
  for (int base = 0; base < a.cells * d.borders; base += 32) { // the same for all lanes
    const int j = base + static_cast<int>(threadIdx.x % 32), cell = j / d.borders, k = j - cell * d.borders,
              of = cell < a.cells ? cell * a.lanes : 0;
    const int row = __shfl_sync(ALL, y, of), i = k < d.border ? k : a.bytes - d.borders + k;
    char *const out =
        reinterpret_cast<char *>(__shfl_sync(ALL, reinterpret_cast<unsigned long long>(to), of));
    const int first = begin - static_cast<int>(reinterpret_cast<uintptr_t>(out) & 15);
    if (cell >= a.cells || !out || i < first || i >= first + a.made) continue;
    const uint16_t *seen = sums + of * sums_chunk<C>::bytes + i - a.before - start;
    int32_t sum = 0;
#pragma unroll 5
    for (int x = 0; x < a.across; x++) sum += seen[x * C];
    const int n = sums_inside<C>(d, i, row);
    out[i] = static_cast<char>(bytes_mean_exact(sum, n, 1.0f / static_cast<float>(n)));
  }
}

// ---- the march ----------------------------------------------------------------------

template <int C, bool SHRINK>
__global__ void __launch_bounds__(32 * STRIP_WARPS, C == 3 ? 3 : 6)
    box_bytes(const __grid_constant__ sums_args d) {
  typedef sums_chunk<C> chunk;
  __shared__ __align__(16) uint16_t memory[STRIP_WARPS][2][chunk::pitch];
  __shared__ byte_end lists[STRIP_WARPS][STRIP_ENDS];
  const byte_strips &a = d.b;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  byte_spot p;
  if (!byte_spot_of<chunk::bytes>(a, &p)) return;
  const int ends = byte_list_ends<C, chunk::bytes>(a, lists[warp], p.start, [](int i) { return i; });
  char *out = p.out;
  uint32_t v[chunk::sums] = {};
  byte_row<chunk::bytes> row;
#pragma unroll 1
  for (int k = 0; k < a.tall - 1; k++) byte_fetch(a, p, p.y - a.above + k, row), sums_row_by<C, true>(v, row);
  byte_fetch(a, p, p.y - a.above + a.tall - 1, row);
#pragma unroll 1
  for (int k = 0; k < a.each; k++, out += a.row_out) { // the same for all lanes
    const int y = p.y + k;
    uint16_t *sums = memory[warp][k & 1];
    sums_row_by<C, true>(v, row);
    byte_row<chunk::bytes> old;
    byte_fetch(a, p, y - a.above, old);
    if (k + 1 < a.each) byte_fetch(a, p, y - a.above + a.tall, row);
    uint4 *mine = reinterpret_cast<uint4 *>(sums + lane * chunk::bytes);
#pragma unroll
    for (int j = 0; j < chunk::sums / 4; j++)
      mine[j] = make_uint4(v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3]);
    __syncwarp();
    if (ends > 0) {
      for (int j = lane; j < ends; j += 32) {
        const byte_end e = lists[warp][j];
        sums[e.to] = e.from == CONSTANT ? static_cast<uint16_t>((a.outside & 0xff) * a.tall) : sums[e.from];
      }
      __syncwarp();
    }
    const int skew = static_cast<int>(reinterpret_cast<uintptr_t>(out) & 15);
    const unsigned char *raw = reinterpret_cast<const unsigned char *>(sums);
    const int at = 2 * (lane * chunk::bytes + a.pad - skew), i = p.begin - skew + p.place * chunk::bytes;
    uint32_t leave[chunk::sums], enter[chunk::sums], codes[chunk::words];
    bytes_take(leave, raw, at);
    const sums_of<C> s = sums_begin<C>(d, leave);
    bytes_take(enter, raw, at + 2 * a.window);
    const bool wanted = p.live && y < p.end;
    const bool shrinks =
        SHRINK &&
        __any_sync(ALL, wanted && (y - a.above < a.lo[1] || y - a.above + a.tall > a.hi[1])); // along y
    if (d.exactly || shrinks)
      sums_slide<C, true, SHRINK>(d, s, leave, enter, codes, i, y);
    else
      sums_slide<C, false, false>(d, s, leave, enter, codes, i, y);
    if (wanted && p.place * chunk::bytes < a.made) bytes_give(codes, out, i, a.bytes, 1);
    if (SHRINK && d.borders > 0 && !shrinks)
      sums_borders<C>(d, sums, p.begin, p.start, y, wanted ? out : nullptr);
    sums_row_by<C, false>(v, old);
  }
}

} // namespace winstat

namespace winstat {

static sums_args sums_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                              const fc_view *out, int channels) {
  sums_args a = {};
  a.b = byte_strips_of(w, in, edges, out, 0, channels);
  a.inside[0] = a.b.lo[0] / channels, a.inside[1] = a.b.hi[0] / channels;
  const int32_t area = a.b.across * a.b.tall;
  a.over = 1.0f / static_cast<float>(area), a.shrink = w->shrink;
  a.exactly = area % 2 == 0 && (area & (area - 1)) != 0;
  if (a.shrink && !a.exactly) {
    const int32_t ahead = a.inside[0] + static_cast<int32_t>(w->before[0]),
                  behind = a.b.columns + static_cast<int32_t>(w->after[0]) - a.inside[1];
    a.border = (ahead < a.b.columns ? ahead : a.b.columns) * channels;
    a.borders = a.border + behind * channels;
    if (a.borders > a.b.bytes) a.borders = a.b.bytes;
  }
  return a;
}

static_assert(sums_chunk<1>::bytes == FC_SUMS_CHUNK(1) && sums_chunk<3>::bytes == FC_SUMS_CHUNK(3),
              "as counted");

template <int C> static fc_status launch(sums_args a, int64_t frames, cudaStream_t stream) {
  constexpr int CHUNK = sums_chunk<C>::bytes;
  const auto kernel = a.shrink ? box_bytes<C, true> : box_bytes<C, false>;
  byte_cut_columns<C, CHUNK>(&a.b, frames, 16);
  a.far = a.b.window / CHUNK, a.rest = a.b.window % CHUNK;
  for (int k = 0; k < sums_chunk<C>::sums; k++)
    a.part[k] = 2 * k + 1 < a.rest ? ~0u : 2 * k < a.rest ? 0xffffu : 0u;
  const int64_t resident = march_resident(kernel, 32 * STRIP_WARPS, 0) * STRIP_WARPS,
                warps = resident > 0 ? byte_cut_rows(&a.b, frames, resident) : 0;
  if (warps == 0) return FC_UNSUPPORTED;
  kernel<<<fc_blocks(warps, STRIP_WARPS, INT32_MAX), 32 * STRIP_WARPS, 0, stream>>>(a);
  return fc_launch_status();
}

fc_status run_box_bytes(const call &c, int) {
  const int channels = fc_byte_channels(c.in, c.out);
  const sums_args a = sums_args_of(c.w, c.in, c.edges, c.out, channels);
  return with_channels(
      channels, [&](auto n) { return launch<decltype(n)::value>(a, c.in->shape[FC_AXIS_N], c.stream); });
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// line_bytes.cu - means of bytes in windows along rows: kernel and launch.
#include "filters/gpu/copy_async.cuh"
#include "filters/winstat/box/cuts.h"
#include "filters/winstat/bytes.cuh"
#include "filters/winstat/rows/cuts.h"
#include "filters/winstat/launch.cuh"

// Means of bytes in windows along rows, of any length.
//
// Sums of integers are exact, so a window can slide: add the byte that enters, subtract the one that leaves.
// A thread computes the results of one chunk of 32 or 48 bytes, aligned to 16. Its first window comes from a
// scan over the block of the sums of all chunks:
//
//   first window = prefix(chunk that the window ends in) + leading bytes of that chunk - prefix(own chunk)
//
// From there the window slides, at about one and a half instructions an output. Interleaved channels have a
// sum each. A block holds a piece of a long row, or several short rows, with their borders, as bytes in
// shared memory.
//
// Windows longer than rows are folded: a shorter one slides, to which multiples of the row's sum and of the
// samples at its ends are added (fc_line_bytes_fold): 1001 of rows of 100 took 18.8 times the aligned time a
// byte, as a thousand bytes of border were copied for each.

namespace winstat {

// The sum of the products of four bytes and four signed weights, and `sum`.
__device__ __forceinline__ uint32_t weighed(uint32_t bytes, uint32_t weights, uint32_t sum) {
  uint32_t r;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(bytes), "r"(weights), "r"(sum));
  return r;
}

constexpr int BYTES_THREADS = 256, BYTES_WARPS = BYTES_THREADS / 32;

// Byte indices of a row count from its column 0, those of a window from the first output of the row.
struct bytes_args {
  const char *in; // column 0 of row 0
  char *out;
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out;
  int32_t step_in, step_out;          // distance of adjacent bytes
  int32_t bytes, rows, planes;        // bytes per row; rows per frame; channels processed one by one
  int32_t lo, hi;                     // bytes that may be read
  int32_t before, after;              // bytes of a window before the result's first channel, and after it
  int32_t window;                     // before + after + channels
  int32_t dense;                      // rows lie closely: quads may also read what lies between them
  ends edges;                         // border mode, for samples that cannot be read
  int32_t outside;                    // ... its constant
  int32_t columns, shrink, inside[2]; // shrinking windows count only columns inside[0] .. inside[1] - 1
  int32_t samples, ties;              // samples per window; whether means may be exact halves
  float over;
  int32_t pieces, made;       // pieces per row; chunks of a piece with results
  int32_t chunks, far, rest;  // made + far; a window is `far` chunks and `rest` bytes
  int32_t each, groups;       // rows per block; blocks per frame
  int32_t need, quads, pitch; // bytes read per row; as quads of 16; pitch in shared memory
  fc_dev_divider by_chunks, by_quads;
  uint32_t part[12];            // masks that select the first `rest` bytes of a chunk
  int32_t row_sum, first, last; // of windows longer than rows (fc_line_bytes_fold)
};

// Chunk size: a number of words that holds whole pixels.
template <int C> struct chunk_of {
  static constexpr int bytes = C == 3 ? 48 : 32, words = bytes / 4;
  // Weights for a byte dot product: 1 in each byte of word k that belongs to channel c.
  static constexpr __host__ __device__ uint32_t ones(int k, int c) {
    uint32_t v = 0;
    for (int b = 0; b < 4; b++)
      if ((4 * k + b) % C == c) v |= 1u << 8 * b;
    return v;
  }
};

// Position of a row of a piece. `first`: the byte index of its first result, aligned to 16 in memory, so
// possibly before the row. `from`: the quad that holds the first sample of its windows, at byte `lead`.
struct bytes_row {
  int first, lead;
  const char *from;
};

__device__ __forceinline__ bytes_row bytes_row_of(const bytes_args &a, const char *in, const char *out,
                                                  int begin) {
  bytes_row r;
  const int skew = a.step_out == 1 ? static_cast<int>(reinterpret_cast<uintptr_t>(out) & 15) : 0;
  r.first = begin - skew;
  r.from = in + (r.first - a.before);
  r.lead = a.step_in == 1 ? static_cast<int>(reinterpret_cast<uintptr_t>(r.from) & 15) : 0;
  r.from -= r.lead;
  return r;
}

// ---- samples into shared memory -----------------------------------------------------

// The range of memory that quads of a row may be read from.
struct bytes_span {
  const char *from, *to;
  __device__ __forceinline__ bool holds(const char *quad) const { return quad >= from && quad + 16 <= to; }
};

__device__ __forceinline__ bytes_span bytes_span_of(const bytes_args &a, const char *frame, const char *row) {
  if (a.dense) return {frame, frame + (a.rows - 1) * a.row_in + a.bytes};
  return {row + a.lo, row + a.hi};
}

// Copies whole quads. Samples that are not adjacent have none.
__device__ __forceinline__ void bytes_copy(const bytes_args &a, unsigned char *raw, const char *frame,
                                           const char *in, const char *out, int rows, int begin) {
  if (a.step_in != 1) return;
  for (int i = threadIdx.x; i < rows * a.quads; i += static_cast<int>(blockDim.x)) {
    const int row = a.each == 1 ? 0 : a.by_quads.quotient(i), k = i - row * a.quads;
    const char *line = in + row * a.row_in;
    const bytes_row r = bytes_row_of(a, line, out + row * a.row_out, begin);
    const char *quad = r.from + 16 * k;
    if (16 * k < r.lead + a.need && bytes_span_of(a, frame, line).holds(quad))
      fc_copy_words(raw + row * a.pitch + 16 * k, quad);
  }
  fc_commit_copies();
}

// Fills in byte i of all rows from `first` on where no whole quad covers it. `within`: all readable bytes are
// already in shared memory and need not be read again.
template <int C>
__device__ __forceinline__ void bytes_fill(const bytes_args &a, unsigned char *raw, const char *frame,
                                           const char *in, const char *out, int rows, int begin, int i,
                                           int first, int abreast, bool within) {
  const int source = bytes_source<C>(a.edges, i, a.lo, a.hi, a.columns);
  const bool copied = i >= a.lo && i < a.hi && a.step_in == 1;
  const int64_t from = source == ELSEWHERE ? 0 : static_cast<int64_t>(source) * a.step_in;
  const char *line = in + first * a.row_in;
  for (int row = first; row < rows; row += abreast, line += abreast * a.row_in) {
    const bytes_row r = bytes_row_of(a, line, out + row * a.row_out, begin);
    const int at = i - (r.first - a.before);
    if (at < 0 || at >= a.need ||
        (copied && bytes_span_of(a, frame, line).holds(r.from + ((at + r.lead) & ~15))))
      continue;
    unsigned char *here = raw + row * a.pitch + r.lead;
    const int there = source - (r.first - a.before);
    if (source == ELSEWHERE)
      here[at] = static_cast<unsigned char>(a.outside);
    else
      here[at] =
          within && there >= 0 && there < a.need ? here[there] : static_cast<unsigned char>(line[from]);
  }
}

// Fills in the border, and the ends of rows that are not whole quads. `within`: there are no such ends.
template <int C>
__device__ __forceinline__ void bytes_ends(const bytes_args &a, unsigned char *raw, const char *frame,
                                           const char *in, const char *out, int rows, int begin,
                                           bool within) {
  const int middle = a.step_in == 1 ? a.hi - a.lo < 30 ? a.hi - a.lo : 30 : a.need + 16;
  const int ahead = a.lo + a.before, beyond = a.bytes + a.after - a.hi;
  const int threads = static_cast<int>(blockDim.x), all = ahead + beyond + (within ? 0 : middle),
            across = all < threads ? all : threads;
  if (across == 0) return;
  const int abreast = threads / across, first = static_cast<int>(threadIdx.x) / across,
            me = static_cast<int>(threadIdx.x) - first * across;
  if (first >= abreast) return;
#pragma unroll 1
  for (int j = me; j < all; j += across) {
    int i = j - a.before;
    if (j >= ahead) i = a.hi + (j - ahead);
    if (j >= ahead + beyond) {
      const int k = j - ahead - beyond;
      i = a.step_in != 1 ? begin - 15 - a.before + k : k < (middle + 1) / 2 ? a.lo + k : a.hi - (middle - k);
      if (i < a.lo || i >= a.hi) continue;
    }
    bytes_fill<C>(a, raw, frame, in, out, rows, begin, i, first, abreast, within);
  }
}

// ---- windows ------------------------------------------------------------------------

template <int C> struct bytes_sums { uint32_t of[C]; };

template <int C, int WORDS>
__device__ __forceinline__ void bytes_total(bytes_sums<C> &sum, const uint32_t (&v)[WORDS]) {
#pragma unroll
  for (int c = 0; c < C; c++) sum.of[c] = 0;
#pragma unroll
  for (int k = 0; k < WORDS; k++)
#pragma unroll
    for (int c = 0; c < C; c++)
      if (chunk_of<C>::ones(k, c)) sum.of[c] = __dp4a(v[k], chunk_of<C>::ones(k, c), sum.of[c]);
}

// Sums in shared memory. Per chunk: the sum of the chunks before it in its warp, and that plus its first
// `rest` bytes. Per warp: its total.
template <int C> struct bytes_tables {
  bytes_sums<C> ahead[BYTES_THREADS], ends[BYTES_THREADS], warps[BYTES_WARPS];
};

template <int C>
__device__ __forceinline__ void bytes_scan(const bytes_args &a, bytes_tables<C> &t,
                                           const uint32_t (&v)[chunk_of<C>::words]) {
  const int lane = threadIdx.x % 32;
  bytes_sums<C> own, part;
  uint32_t first[chunk_of<C>::words];
  bytes_total(own, v);
#pragma unroll
  for (int k = 0; k < chunk_of<C>::words; k++) first[k] = v[k] & a.part[k];
  bytes_total(part, first);
#pragma unroll
  for (int c = 0; c < C; c++) {
    uint32_t sum = own.of[c];
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const uint32_t other = __shfl_up_sync(ALL, sum, by);
      if (lane >= by) sum += other;
    }
    if (lane == 31) t.warps[threadIdx.x / 32].of[c] = sum;
    sum -= own.of[c];
    t.ahead[threadIdx.x].of[c] = sum, t.ends[threadIdx.x].of[c] = sum + part.of[c];
  }
}

// The sums of the first window of a thread's chunk, one per channel.
template <int C>
__device__ __forceinline__ bytes_sums<C> bytes_begin(const bytes_args &a, const bytes_tables<C> &t) {
  const int end = static_cast<int>(threadIdx.x) + a.far;
  bytes_sums<C> s;
#pragma unroll
  for (int c = 0; c < C; c++) s.of[c] = t.ends[end].of[c] - t.ahead[threadIdx.x].of[c];
  for (int warp = threadIdx.x / 32; warp < end / 32; warp++)
#pragma unroll
    for (int c = 0; c < C; c++) s.of[c] += t.warps[warp].of[c];
  return s;
}

// Adds a thread's part of its row to the row's sums: a chunk from byte `place` * chunk of the row on, which
// is at `from` in shared memory.
template <int C>
__device__ __forceinline__ void bytes_whole(const bytes_args &a, bytes_sums<C> &total,
                                            const unsigned char *raw, int from, int place) {
  uint32_t v[chunk_of<C>::words];
  const int left = a.bytes - place * chunk_of<C>::bytes;
  if (left <= 0) return;
  bytes_take(v, raw, from + place * chunk_of<C>::bytes);
#pragma unroll
  for (int k = 0; k < chunk_of<C>::words; k++) {
    const int some = left - 4 * k;
    v[k] &= some >= 4 ? ~0u : some <= 0 ? 0u : (1u << 8 * some) - 1;
  }
  bytes_sums<C> sum;
  bytes_total(sum, v);
#pragma unroll
  for (int c = 0; c < C; c++) atomicAdd(&total.of[c], sum.of[c]);
}

// What windows hold beside the shorter one; the chunk's sums begin with that of the channel of the
// row's byte `first`, above -16.
template <int C>
__device__ __forceinline__ void bytes_beside(const bytes_args &a, bytes_sums<C> &s,
                                             const bytes_sums<C> &total, const unsigned char *row,
                                             int first) {
  const bool constant = a.edges.border == FC_BORDER_ZERO || a.edges.border == FC_BORDER_CONSTANT;
#pragma unroll
  for (int c = 0; c < C; c++) {
    const int channel = (c + first + 16 * C) % C;
    const int32_t ahead = constant ? a.outside : row[channel],
                  behind = constant ? a.outside : row[a.bytes - C + channel];
    s.of[c] += static_cast<uint32_t>(a.row_sum) * total.of[channel] +
               static_cast<uint32_t>(a.first * ahead + a.last * behind);
  }
}

// Number of samples in the (shrunk) window of byte i's result.
template <int C> __device__ __forceinline__ int bytes_inside(const bytes_args &a, int i) {
  const int x = i / C, from = x - a.before / C, to = from + a.samples;
  return (to < a.inside[1] ? to : a.inside[1]) - (from > a.inside[0] ? from : a.inside[0]);
}

// The means of a chunk's windows. s: the sums of the first one; v[]: the bytes that leave, replaced by the
// means; enter[]: the bytes that enter; i: the index of the chunk's first byte.
template <int C, bool SLOWLY>
__device__ __forceinline__ void bytes_slide(const bytes_args &a, bytes_sums<C> s,
                                            uint32_t (&v)[chunk_of<C>::words],
                                            const uint32_t (&enter)[chunk_of<C>::words], int i) {
#pragma unroll
  for (int c = 0; c < C; c++) s.of[c] += NUMBER;
#pragma unroll
  for (int k = 0; k < chunk_of<C>::words; k++) {
    const uint32_t pair[2] = {__byte_perm(enter[k], v[k], 0x5140), __byte_perm(enter[k], v[k], 0x7362)};
    uint32_t code[4];
#pragma unroll
    for (int b = 0; b < 4; b++) {
      uint32_t &sum = s.of[(4 * k + b) % C];
      if (SLOWLY) {
        const int at = i + 4 * k + b;
        const int n = a.shrink ? at >= 0 && at < a.bytes ? bytes_inside<C>(a, at) : 1 : a.samples;
        code[b] = bytes_mean_exact(static_cast<int32_t>(sum - NUMBER), n,
                                   a.shrink ? 1.0f / static_cast<float>(n) : a.over);
      } else {
        code[b] = bytes_mean(__uint_as_float(sum) - 8388608.0f, a.over);
      }
      sum = weighed(pair[b / 2], b % 2 ? 0xff010000u : 0x0000ff01u, sum);
    }
    v[k] = __byte_perm(__byte_perm(code[0], code[1], 0x0040), __byte_perm(code[2], code[3], 0x0040), 0x5410);
  }
}

template <int C, bool FOLDED>
__global__ void __launch_bounds__(BYTES_THREADS, C == 3 ? 4 : 5)
    line_bytes(const __grid_constant__ bytes_args a) {
  typedef chunk_of<C> chunk;
  extern __shared__ __align__(16) unsigned char raw[];
  __shared__ bytes_tables<C> tables;
  __shared__ bytes_sums<C> totals[FOLDED ? BYTES_THREADS : 1]; // of rows
  unsigned block = blockIdx.x;
  const int begin = static_cast<int>(block % a.pieces) * a.made * chunk::bytes;
  block /= a.pieces;
  const int group = static_cast<int>(block % a.groups) * a.each;
  block /= a.groups;
  const int64_t plane = block % a.planes, n = block / a.planes;
  const int rows = a.rows - group < a.each ? a.rows - group : a.each;
  const char *frame = a.in + n * a.frame_in + plane * a.plane_in, *in = frame + group * a.row_in;
  char *out = a.out + n * a.frame_out + plane * a.plane_out + group * a.row_out;
  if (FOLDED) totals[threadIdx.x] = {};
  bytes_copy(a, raw, frame, in, out, rows, begin);
  if (a.step_in != 1 || begin - a.before < a.lo + 31 || begin + a.need - a.before > a.hi - 31) {
    if (a.dense) { // quads also bring bytes from beyond a row's end
      fc_await_copies();
      __syncthreads();
    }
    bytes_ends<C>(a, raw, frame, in, out, rows, begin, a.dense && group > 0 && group + rows < a.rows);
  }
  fc_await_copies();
  __syncthreads();
  const int row = a.each == 1 ? 0 : a.by_chunks.quotient(static_cast<int>(threadIdx.x)),
            place = static_cast<int>(threadIdx.x) - row * a.chunks;
  const bool live = row < rows && place < a.chunks;
  const bytes_row r = bytes_row_of(a, in + row * a.row_in, out + row * a.row_out, begin);
  const int at = row * a.pitch + r.lead + place * chunk::bytes, i = r.first + place * chunk::bytes;
  uint32_t v[chunk::words] = {}, enter[chunk::words];
  if (live) bytes_take(v, raw, at);
  bytes_scan<C>(a, tables, v);
  const int whole = row * a.pitch + r.lead + a.before - r.first; // the row's first byte
  if (FOLDED && live && place < a.made) bytes_whole<C>(a, totals[row], raw, whole, place);
  __syncthreads();
  if (!live || place >= a.made || i >= a.bytes || i + chunk::bytes <= 0) return;
  bytes_take(enter, raw, at + a.window);
  bytes_sums<C> s = bytes_begin<C>(a, tables);
  if (FOLDED) bytes_beside<C>(a, s, totals[row], raw + whole, r.first);
  if (a.ties || a.shrink)
    bytes_slide<C, true>(a, s, v, enter, i);
  else
    bytes_slide<C, false>(a, s, v, enter, i);
  bytes_give(v, out + row * a.row_out, i, a.bytes, a.step_out);
}

} // namespace winstat

namespace winstat {

static_assert(BYTES_THREADS == FC_LINE_BYTES_THREADS && chunk_of<1>::bytes == FC_LINE_BYTES_CHUNK(1) &&
                  chunk_of<3>::bytes == FC_LINE_BYTES_CHUNK(3),
              "as counted");

// Divides rows into pieces, or groups several rows into one block.
template <int C> static void cut_bytes(bytes_args *a, const fc_line_bytes_cut &cut) {
  constexpr int CHUNK = chunk_of<C>::bytes;
  a->rows = cut.rows, a->far = cut.far, a->rest = cut.rest, a->pieces = cut.pieces, a->made = cut.made;
  a->chunks = a->made + a->far, a->each = cut.each, a->groups = cut.groups;
  a->dense = a->step_in == 1 && a->row_in >= a->bytes && a->lo == 0 && a->hi == a->bytes;
  a->need = a->made * CHUNK + (a->window > a->before ? a->window : a->before);
  a->quads = (15 + a->need + 15) / 16, a->pitch = (a->need + 63) / 16 * 16;
  a->by_chunks = fc_dev_divider_of(a->chunks), a->by_quads = fc_dev_divider_of(a->quads);
  for (int k = 0; k < chunk_of<C>::words; k++) {
    const int left = a->rest - 4 * k;
    a->part[k] = left >= 4 ? ~0u : left <= 0 ? 0u : (1u << 8 * left) - 1;
  }
}

static bytes_args bytes_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                const fc_view *out, int channels) {
  bytes_args a = {};
  const int64_t columns = in->shape[FC_AXIS_X];
  const fc_winstat_span seen = fc_winstat_read(w, in, edges, 0, FC_AXIS_X);
  a.in = static_cast<const char *>(in->data), a.out = static_cast<char *>(out->data);
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.step_in = channels > 1 ? 1 : static_cast<int32_t>(in->stride[FC_AXIS_X]);
  a.step_out = channels > 1 ? 1 : static_cast<int32_t>(out->stride[FC_AXIS_X]);
  a.columns = static_cast<int32_t>(columns), a.bytes = a.columns * channels;
  a.rows = static_cast<int32_t>(in->shape[FC_AXIS_Y]);
  a.planes = channels > 1 ? 1 : static_cast<int32_t>(in->shape[FC_AXIS_C]);
  a.lo = static_cast<int32_t>(seen.lo) * channels, a.hi = static_cast<int32_t>(seen.hi) * channels;
  a.inside[0] = static_cast<int32_t>(seen.lo), a.inside[1] = static_cast<int32_t>(seen.hi);
  a.before = static_cast<int32_t>(w->before[0]) * channels;
  a.after = static_cast<int32_t>(w->after[0]) * channels;
  a.window = a.before + a.after + channels;
  a.samples = static_cast<int32_t>(w->before[0] + w->after[0] + 1),
  a.over = 1.0f / static_cast<float>(a.samples);
  a.ties = a.samples % 2 == 0 && (a.samples & (a.samples - 1)) != 0, a.shrink = w->shrink;
  a.edges = ends_of(edges), a.outside = edges ? static_cast<uint8_t>(edges->code) : 0;
  return a;
}

template <int C>
static fc_status launch(bytes_args a, const fc_line_bytes_cut &cut, bool folded, int64_t frames,
                        cudaStream_t stream) {
  cut_bytes<C>(&a, cut);
  const auto kernel = folded ? line_bytes<C, true> : line_bytes<C, false>;
  const int64_t blocks = static_cast<int64_t>(a.pieces) * a.groups * a.planes, bytes = a.each * a.pitch;
  if (!fc_allow_shared(kernel, bytes)) return FC_DEVICE;
  const int threads = (a.each * a.chunks + 31) / 32 * 32;
  kernel<<<static_cast<unsigned>(blocks * frames), threads, static_cast<size_t>(bytes), stream>>>(a);
  return fc_launch_status();
}

// Replaces the window by a shorter one, whose cut is *cut.
static bool fold(const call &c, bytes_args *a, fc_line_bytes_cut *cut, int64_t *frames) {
  fc_line_bytes_fold f;
  fc_winstat w = *c.w;
  if (!c.edges || !fc_line_bytes_fold_of(c.w, c.edges->border, c.in->shape[FC_AXIS_X], &f)) return false;
  w.before[0] = f.before, w.after[0] = f.after;
  const fc_line_bytes_cut shorter = fc_line_bytes_cut_of(&w, c.in, c.out, frames);
  if (shorter.pieces > 1) return false;
  const int32_t channels = shorter.channels;
  a->before = f.before * channels, a->after = f.after > 0 ? f.after * channels : 0;
  a->window = (f.before + f.after + 1) * channels;
  a->row_sum = f.row, a->first = f.first, a->last = f.last, *cut = shorter;
  return true;
}

fc_status run_line_bytes(const call &c, int) {
  int64_t frames = 0;
  fc_line_bytes_cut cut = fc_line_bytes_cut_of(c.w, c.in, c.out, &frames);
  bytes_args a = bytes_args_of(c.w, c.in, c.edges, c.out, cut.channels);
  const bool folded = fold(c, &a, &cut, &frames);
  return with_channels(cut.channels,
                       [&](auto n) { return launch<decltype(n)::value>(a, cut, folded, frames, c.stream); });
}

} // namespace winstat

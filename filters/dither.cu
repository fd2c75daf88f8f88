// SPDX-License-Identifier: MIT
//
// dither.cu - triangular noise on a CUDA device, bit for bit that of dither.c. What binds is the mixing of 64
// bits: once a sample, and three times for what a row and channel begin with. Dense memory goes by packs of
// 16 bytes, however short the rows in it are, and each warp works out what those of its part begin with; of a
// column, whose samples are rows, each thread for its own (add_packed). Others go an element at a time, and a
// block's threads work out the beginnings of its lines (add_lines), unless they are so short that there are
// hardly more samples (add_elements).
#include "filters/dither.h"
#include "filters/dither_math.h"
#include "filters/lines_runs.cuh"
#include "filters/packs.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int EACH = 4, TILE = THREADS * EACH; // elements of a thread and of a block, of shorter lines
constexpr int MOST_CHANNELS = 256;             // side by side in a line
constexpr int LEAST_LINE = 8;                  // samples of a channel whose state is worth keeping
constexpr int MOST_DENSE_CHANNELS = 48;        // of a dense run by packs
constexpr int LEAST_DENSE = 1024;              // elements of it

template <typename F> struct noise {
  uint64_t hash, frame;                           // of the seed, and with the view's first frame
  int64_t n, y, x, c;                             // the place of the view's first sample in the signal
  F unit;                                         // of the noise's numbers
  int channels;                                   // side by side in a line; 1: a line is of one channel
  fc_dev_divider by_channels, by_rows, by_length; // rows of a frame, elements of a line
  fc_dev_map<F> in, out;
};

__device__ __forceinline__ float sum(float v, int32_t units, float unit) {
  return __fadd_rn(v, __fmul_rn(static_cast<float>(units), unit));
}
__device__ __forceinline__ double sum(double v, int32_t units, double unit) {
  return __dadd_rn(v, __dmul_rn(units, unit));
}

template <typename F> __device__ __forceinline__ uint64_t frame_hash(const noise<F> &a, int64_t n) {
  return n == 0 ? a.frame : fc_dither_hash(a.hash, a.n + n);
}

// The state for the first sample of a row and channel, less what a sample's place in the view adds.
template <typename F>
__device__ __forceinline__ uint64_t state_of(const noise<F> &a, int64_t n, int64_t y, int64_t c) {
  const uint64_t hash = fc_dither_hash(frame_hash(a, n), a.y + y);
  return fc_dither_hash(hash, a.c + c) + static_cast<uint64_t>(a.x) * FC_DITHER_GROWTH;
}

// How much the state grows by in x samples.
__device__ __forceinline__ uint64_t growth(int x) {
  return static_cast<uint64_t>(static_cast<uint32_t>(x)) * FC_DITHER_GROWTH;
}

// ---- dense runs ----------------------------------------------------------------

// Lines without a gap between them are a run: one, those of a frame, or those of all frames. A warp has a
// unit of a run: some turns of as many packs as its lanes load at once.
constexpr int RUN_WARPS = 4;
template <typename T, typename U> constexpr int MOST_TURNS = fc_pack<T, U>::size / 2;
template <typename T, typename U> constexpr int PACKS = 16 / fc_pack<T, U>::size; // of a lane at once
constexpr int TURN = 32 * 16;                                                     // elements
constexpr int MANY_UNITS = 16384; // before they have more turns

struct dense_runs {
  fc_lines firsts;                                   // the lines that runs begin with
  int length, line, rows;                            // elements of a run and of a line; lines of a frame
  int units, each, turns;                            // in all, of a run, and those of a unit
  int stride, room;                                  // states of a line and of a warp in shared memory
  fc_dev_divider by_line, by_rows, by_each, by_more; // by_more: states of a line that no hash makes
};

// Where the states of a pack's samples come from.
enum state_source {
  OF_LINES,    // of a channel, no shorter than a pack: the first of each line is in shared memory
  OF_CHANNELS, // the first of each line, as many as its channels and what a pack adds to them
  OF_SAMPLES,  // a column, where each begins a line
};

// The states of `count` lines, the run's from `line` on.
template <int SOURCE, typename F>
__device__ __forceinline__ void fill_states(uint64_t *table, const noise<F> &a, const dense_runs &r,
                                            const fc_dev_line &l, int line, int count) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int i = lane; i < count * a.channels; i += 32) {
    const int which = a.by_channels.quotient(i), c = i - which * a.channels;
    const int n = r.by_rows.quotient(line + which), y = line + which - n * r.rows;
    table[which * r.stride + c] = state_of(a, l.n + n, l.y + y, l.c + c);
  }
  __syncwarp();
  if constexpr (SOURCE == OF_CHANNELS) {
    const int more = r.stride - a.channels;
    for (int i = lane; i < count * more; i += 32) {
      const int which = r.by_more.quotient(i), j = a.channels + i - which * more;
      const int x = a.by_channels.quotient(j);
      uint64_t *states = table + which * r.stride;
      states[j] = states[j - x * a.channels] + growth(x);
    }
    __syncwarp();
  }
}

// Adds the noise to a pack that begins with the run's element i. ENDS: a line may end in it.
template <bool ENDS, typename F, int N>
__device__ __forceinline__ void add_to_line(F (&v)[N], const noise<F> &a, const uint64_t *states, int at,
                                            int left) {
  uint64_t state = states[0] + growth(at);
  const uint64_t next = ENDS ? states[1] - growth(left) : 0;
#pragma unroll
  for (int e = 0; e < N; e++) {
    if (ENDS && e == left) state = next;
    v[e] = sum(v[e], fc_dither_units(state + growth(e)), a.unit);
  }
}

template <bool ENDS, typename F, int N>
__device__ __forceinline__ void add_to_channels(F (&v)[N], const noise<F> &a, const dense_runs &r,
                                                const uint64_t *states, int at, int left) {
  const int x = a.by_channels.quotient(at);
  const uint64_t *first = states + (at - x * a.channels), *next = states + (r.stride - left);
  uint64_t grown = growth(x);
#pragma unroll
  for (int e = 0; e < N; e++) {
    if (ENDS && e == left) first = next, next += r.stride - r.line, left += r.line, grown = 0;
    v[e] = sum(v[e], fc_dither_units(first[e] + grown), a.unit);
  }
}

template <int SOURCE, typename F, int N>
__device__ __forceinline__ void add_noise(F (&v)[N], const noise<F> &a, const dense_runs &r,
                                          const uint64_t *table, int line, int i) {
  const int mine = r.by_line.quotient(i), at = i - mine * r.line, left = r.line - at;
  const uint64_t *states = table + (mine - line) * r.stride;
  const bool none = __all_sync(~0u, left >= N);
  if constexpr (SOURCE == OF_LINES) {
    if (none)
      add_to_line<false>(v, a, states, at, left);
    else
      add_to_line<true>(v, a, states, at, left);
  } else {
    if (none)
      add_to_channels<false>(v, a, r, states, at, left);
    else
      add_to_channels<true>(v, a, r, states, at, left);
  }
}

// The same to a column's, whose first line is y; `hash` is its frame's.
template <typename F, int N>
__device__ __forceinline__ void add_to_column(F (&v)[N], const noise<F> &a, uint64_t hash, int64_t y,
                                              int64_t c) {
  const uint64_t first = hash + static_cast<uint64_t>(a.y + y + 1) * FC_DITHER_GROWTH;
#pragma unroll
  for (int e = 0; e < N; e++) {
    const uint64_t state = fc_dither_hash(fc_dither_mix(first + growth(e)), a.c + c);
    v[e] = sum(v[e], fc_dither_units(state + static_cast<uint64_t>(a.x) * FC_DITHER_GROWTH), a.unit);
  }
}

// The elements of a run ahead of its packs and behind them.
template <typename F, typename T, typename U>
__device__ __forceinline__ void add_ends(const noise<F> &a, const dense_runs &r, const fc_dev_line &l,
                                         const fc_packs &p, const char *from, char *to, uint32_t *notes) {
  const int head = static_cast<int>(p.head), packed = static_cast<int>(p.body) - head;
  for (int i = static_cast<int>(threadIdx.x % 32); i < r.length - packed; i += 32) {
    const int at = i < head ? i : i + packed;
    const int line = r.by_line.quotient(at), within = at - line * r.line;
    const int x = a.by_channels.quotient(within), n = r.by_rows.quotient(line);
    const uint64_t state =
        state_of(a, l.n + n, l.y + line - n * r.rows, l.c + within - x * a.channels) + growth(x);
    const F v = fc_dev_load<F, T>(from + static_cast<int64_t>(at) * static_cast<int>(sizeof(T)), a.in);
    fc_dev_store<F, U>(to + static_cast<int64_t>(at) * static_cast<int>(sizeof(U)),
                       sum(v, fc_dither_units(state), a.unit), a.out, notes);
  }
}

template <int SOURCE, typename F, typename T, typename U>
__global__ void __launch_bounds__(32 * RUN_WARPS)
    add_packed(fc_dev_view in, fc_dev_view out, const __grid_constant__ dense_runs r,
               const __grid_constant__ noise<F> a, uint32_t *notes) {
  constexpr int N = fc_pack<T, U>::size, SIZE = static_cast<int>(sizeof(T)), K = PACKS<T, U>;
  extern __shared__ uint64_t room[];
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  uint64_t *table = room + warp * r.room;
  const int unit = static_cast<int>(blockIdx.x) * RUN_WARPS + warp;
  if (unit >= r.units) return;
  const int run = r.by_each.quotient(unit), part = unit - run * r.each;
  const fc_dev_line l = fc_dev_line_of(r.firsts, run);
  const char *from = in.at(l.n, l.y, 0, l.c);
  char *to = out.at(l.n, l.y, 0, l.c);
  const fc_packs p = fc_packs_of<T, U>(from, to, r.length);
  const int head = static_cast<int>(p.head), body = static_cast<int>(p.body);
  const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from + p.head * SIZE) % 4);
  int first = head + part * r.turns * TURN;
  const int end = min(first + r.turns * TURN, body);
  if (part == 0) add_ends<F, T, U>(a, r, l, p, from, to, notes);
  if (first >= end) return;
  const int line = r.by_line.quotient(first);
  uint64_t hash = 0;
  if constexpr (SOURCE == OF_SAMPLES)
    hash = frame_hash(a, l.n);
  else
    fill_states<SOURCE>(table, a, r, l, line, r.by_line.quotient(end - 1) - line + 2);
  fc_dev_noted noted = {false, false};
#pragma unroll 1
  for (; first < end; first += TURN) {
    fc_packed<T, N> x[K];
    uint32_t last[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
      const int i = min(first + (k * 32 + lane) * N, end - N);
      if (p.alike)
        fc_words_load(x[k].word, from + static_cast<int64_t>(i) * SIZE);
      else
        fc_words_load_askew(x[k].word, &last[k], from + static_cast<int64_t>(i) * SIZE, askew);
    }
#pragma unroll
    for (int k = 0; k < K; k++) {
      const int own = first + (k * 32 + lane) * N, i = min(own, end - N);
      if (!p.alike) fc_words_shift(x[k].word, last[k], askew);
      F v[N];
      fc_packed<U, N> y;
      fc_packed_values(v, x[k], a.in);
      if constexpr (SOURCE == OF_SAMPLES)
        add_to_column(v, a, hash, l.y + i, l.c);
      else
        add_noise<SOURCE>(v, a, r, table, line, i);
      fc_packed_codes(y, v, a.out, noted, notes);
      if (own == i) fc_words_store(to + static_cast<int64_t>(i) * static_cast<int>(sizeof(U)), y.word);
    }
  }
  noted.tell(notes);
}

// ---- any others ------------------------------------------------------------------

// A block has a tile of the elements of all lines one after the other: where those that it touches begin is
// in shared memory, and the states of their channels. `most`: lines that a tile may touch.
template <typename F, typename T>
__global__ void __launch_bounds__(THREADS)
    add_lines(fc_dev_view in, fc_dev_view out, fc_lines lines, noise<F> a, int most, uint32_t *notes) {
  extern __shared__ uint64_t room[];
  char **from = reinterpret_cast<char **>(room), **to = from + most;
  uint64_t *states = room + 2 * most;
  const int64_t all = lines.frames * lines.rows * lines.channels * lines.length,
                begin = blockIdx.x * static_cast<int64_t>(TILE);
  const int length = static_cast<int>(lines.length);
  const int64_t line =
      begin >> 32 ? begin / length : static_cast<uint32_t>(begin) / static_cast<uint32_t>(length);
  const int ahead = static_cast<int>(begin - line * length); // of its first line, not its own
  const int elements = static_cast<int>(min(all - begin, static_cast<int64_t>(TILE)));
  const int touched = a.by_length.quotient(ahead + elements - 1) + 1;
  for (int i = threadIdx.x; i < touched; i += THREADS) {
    const fc_dev_line l = fc_dev_line_of(lines, line + i);
    from[i] = in.at(l.n, l.y, 0, l.c), to[i] = out.at(l.n, l.y, 0, l.c);
  }
  for (int i = threadIdx.x; i < touched * a.channels; i += THREADS) {
    const int which = a.by_channels.quotient(i);
    const fc_dev_line l = fc_dev_line_of(lines, line + which);
    states[i] = state_of(a, l.n, l.y, l.c + i - which * a.channels);
  }
  __syncthreads();
  F v[EACH];
  int row[EACH], at[EACH];
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int i = k * THREADS + static_cast<int>(threadIdx.x);
    row[k] = a.by_length.quotient(ahead + i), at[k] = ahead + i - row[k] * length;
    if (i < elements) v[k] = fc_dev_load<F, T>(from[row[k]] + at[k] * lines.in_step, a.in);
  }
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    if (k * THREADS + static_cast<int>(threadIdx.x) >= elements) break;
    const int x = a.by_channels.quotient(at[k]), channel = at[k] - x * a.channels;
    const int32_t units = fc_dither_units(states[row[k] * a.channels + channel] + growth(x));
    char *sample = to[row[k]] + at[k] * lines.out_step;
    if (out.dtype == in.dtype)
      fc_dev_store<F, T>(sample, sum(v[k], units, a.unit), a.out, notes);
    else
      fc_dev_store_any<F>(sample, out.dtype, sum(v[k], units, a.unit), a.out, notes);
  }
}

// Lines of few elements: each of these finds its state itself.
template <typename F, typename T>
__global__ void __launch_bounds__(FC_RUN_THREADS)
    add_elements(fc_dev_view in, fc_dev_view out, const __grid_constant__ fc_dev_runs r, noise<F> a,
                 uint32_t *notes) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const bool same = out.dtype == in.dtype;
  fc_dev_noted noted = {false, false};
  for (int64_t plane = blockIdx.y; plane < r.planes; plane += gridDim.y) {
    const fc_dev_line at = fc_dev_plane_of(r, plane);
    const fc_dev_run run = fc_dev_run_of(r, in, out, at);
    F v[FC_RUN_EACH];
#pragma unroll
    for (int k = 0; k < FC_RUN_EACH; k++)
      if (32 * k + lane < run.elements)
        v[k] = fc_dev_get<F, T>(fc_dev_spot_in(r, run, fc_dev_spot_of(r, run, 32 * k + lane)), a.in);
#pragma unroll
    for (int k = 0; k < FC_RUN_EACH; k++) {
      if (32 * k + lane >= run.elements) break;
      const fc_dev_spot spot = fc_dev_spot_of(r, run, 32 * k + lane);
      const int x = a.by_channels.quotient(spot.at), c = spot.at - x * a.channels;
      const int64_t line = run.line + spot.line;
      const int64_t n = r.frames == 1 ? 0 : r.rows == 1 ? line : a.by_rows.quotient(static_cast<int>(line));
      const uint64_t state = state_of(a, at.n + n, line - n * r.rows, at.c + c) + growth(x);
      fc_dev_put<F, T>(fc_dev_spot_out(r, run, spot), out.dtype, same,
                       sum(v[k], fc_dither_units(state), a.unit), a.out, noted, notes);
    }
  }
  noted.tell(notes);
}

// ---- host ------------------------------------------------------------------------

// Runs of what `lines` became when those without gaps between them were merged.
dense_runs dense_runs_of(const fc_lines &lines, const fc_lines &merged, int channels, int pack) {
  dense_runs r = {};
  r.firsts = merged, r.length = static_cast<int>(merged.length);
  r.line = static_cast<int>(lines.length), r.rows = static_cast<int>(lines.rows);
  r.by_line = fc_dev_divider_of(r.line), r.by_rows = fc_dev_divider_of(r.rows);
  r.stride = pack > 1 ? min(r.line, channels + pack - 1) : 1;
  r.by_more = fc_dev_divider_of(r.stride - channels);
  return r;
}

// Splits them into units; false if there are too many.
bool split_runs(dense_runs *r, int pack, int most_turns) {
  const int64_t runs = r->firsts.frames * r->firsts.rows * r->firsts.channels;
  const int64_t parts = (r->length / pack * pack + TURN - 1) / TURN;
  for (r->turns = 1; r->turns < most_turns && runs * parts >= 2 * r->turns * MANY_UNITS;) r->turns *= 2;
  const auto states = [&] { return ((r->turns * TURN - 2) / r->line + 3) * r->stride; };
  while (r->turns > 1 && states() * RUN_WARPS * sizeof(uint64_t) > 40 << 10) r->turns /= 2;
  r->room = states();
  r->each = static_cast<int>((parts + r->turns - 1) / r->turns), r->by_each = fc_dev_divider_of(r->each);
  if (runs > INT32_MAX / r->each - RUN_WARPS) return false;
  r->units = static_cast<int>(runs) * r->each;
  return true;
}

template <int SOURCE, typename F, typename T, typename U>
fc_status launch_runs(const noise<F> &a, const fc_dev_view &in, const fc_dev_view &out, dense_runs r,
                      cudaStream_t stream, uint32_t *notes) {
  if (!split_runs(&r, fc_pack<T, U>::size, MOST_TURNS<T, U>)) return FC_UNSUPPORTED;
  const size_t bytes = SOURCE == OF_SAMPLES ? 0 : sizeof(uint64_t) * static_cast<size_t>(r.room) * RUN_WARPS;
  add_packed<SOURCE, F, T, U>
      <<<fc_blocks(r.units, RUN_WARPS, INT32_MAX), 32 * RUN_WARPS, bytes, stream>>>(in, out, r, a, notes);
  return fc_launch_status();
}

// FC_UNSUPPORTED where that kernel is not for these lines, of which none is longer than 32 bits count.
template <typename F, typename T, typename U>
fc_status launch_packed(const noise<F> &a, const fc_dev_view &in, const fc_dev_view &out,
                        const fc_lines &lines, const fc_lines &merged, cudaStream_t stream, uint32_t *notes) {
  constexpr int N = fc_pack<T, U>::size;
  if (lines.length == 1 && merged.rows == 1 && lines.rows >= LEAST_DENSE) {
    // A frame a run, that samples of a run are lines of one.
    fc_lines column = lines;
    column.rows = 1, column.length = lines.rows;
    return launch_runs<OF_SAMPLES, F, T, U>(a, in, out, dense_runs_of(lines, column, 1, 1), stream, notes);
  }
  if (merged.length < LEAST_DENSE || a.channels > MOST_DENSE_CHANNELS) return FC_UNSUPPORTED;
  if (a.channels == 1 && lines.length >= N)
    return launch_runs<OF_LINES, F, T, U>(a, in, out, dense_runs_of(lines, merged, 1, 1), stream, notes);
  return launch_runs<OF_CHANNELS, F, T, U>(a, in, out, dense_runs_of(lines, merged, a.channels, N), stream,
                                           notes);
}

// `merged` are the same lines where those without gaps between them are one.
template <typename F, typename T>
fc_status launch_lines(const noise<F> &a, const fc_dev_view &in, const fc_dev_view &out,
                       const fc_lines &lines, const fc_lines &merged, cudaStream_t stream, uint32_t *notes) {
  fc_status status = FC_UNSUPPORTED;
  if (lines.in_step == sizeof(T) && lines.out_step == static_cast<int64_t>(fc_dtype_size(out.dtype)))
    fc_with_common<F>(out.dtype, T{}, [&](auto u) {
      status = launch_packed<F, T, decltype(u)>(a, in, out, lines, merged, stream, notes);
    });
  if (status != FC_UNSUPPORTED) return status;
  if (lines.length < LEAST_LINE * a.channels) {
    const fc_dev_runs r = fc_dev_runs_of(lines, in, out);
    add_elements<F, T><<<fc_dev_runs_grid(r), FC_RUN_THREADS, 0, stream>>>(in, out, r, a, notes);
    return fc_launch_status();
  }
  const int64_t count = lines.frames * lines.rows * lines.channels, touched = (TILE - 2) / lines.length + 2;
  const int most = static_cast<int>(touched < count ? touched : count);
  const size_t bytes = sizeof(uint64_t) * static_cast<size_t>(most * (2 + a.channels));
  add_lines<F, T><<<fc_blocks(count * lines.length, TILE, INT32_MAX), THREADS, bytes, stream>>>(
      in, out, lines, a, most, notes);
  return fc_launch_status();
}

template <typename F, typename T>
fc_status launch(const fc_dither *d, const fc_view *in, const fc_view *out, cudaStream_t stream,
                 uint32_t *notes) {
  const int64_t channels = out->shape[FC_AXIS_C];
  const fc_lines lines = fc_lines_of(in, out, channels <= MOST_CHANNELS);
  if (lines.frames * lines.rows * lines.channels == 0) return FC_OK;
  const int together = lines.channels == 1 ? static_cast<int>(channels) : 1;
  noise<F> a = {};
  a.hash = fc_dither_mix(d->seed + FC_DITHER_GROWTH),
  a.frame = fc_dither_hash(a.hash, out->origin[FC_AXIS_N]);
  a.n = out->origin[FC_AXIS_N], a.y = out->origin[FC_AXIS_Y];
  a.x = out->origin[FC_AXIS_X], a.c = out->origin[FC_AXIS_C];
  a.unit = static_cast<F>(d->step * 0x1p-24);
  a.channels = together, a.by_channels = fc_dev_divider_of(together),
  a.by_rows = fc_dev_divider_of(lines.rows);
  a.in = fc_dev_map_of<F>(in->kind, in->dtype), a.out = fc_dev_map_of<F>(out->kind, out->dtype);
  fc_lines merged = lines;
  fc_lines_merge(&merged, in, out, 1);
  if (merged.length > FC_RUN_LONGEST) merged = lines, fc_lines_merge(&merged, in, out, 0);
  const bool whole = merged.length <= FC_RUN_LONGEST; // else a line is a run, or a stretch of it
  return fc_for_stretches(
      lines, fc_dev_view_of(in), fc_dev_view_of(out), together,
      [&](const fc_lines &stretch, const fc_dev_view &from, const fc_dev_view &to, int64_t ahead) {
        a.x = out->origin[FC_AXIS_X] + ahead / together;
        a.by_length = fc_dev_divider_of(stretch.length);
        return launch_lines<F, T>(a, from, to, stretch, whole ? merged : stretch, stream, notes);
      });
}

} // namespace

extern "C" fc_status fc_dither_cuda(const fc_dither *d, const fc_view *in, const fc_view *out, void *stream,
                                    uint32_t *notes) {
  return fc_dispatch_compute(d->compute, [&](auto f) {
    using F = decltype(f);
    return fc_dispatch_dtype(in->dtype, [&](auto t) {
      return launch<F, decltype(t)>(d, in, out, static_cast<cudaStream_t>(stream), notes);
    });
  });
}

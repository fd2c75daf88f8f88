// SPDX-License-Identifier: MIT
//
// dither.cu - triangular noise on a CUDA device, bit for bit that of dither.c. What binds is the mixing of 64
// bits: once a sample, and three times for what a row and channel begin with, which is therefore worked
// out once for all of a block's samples of them, by as many threads as there are such: for long dense rows,
// which go by packs of 16 bytes (add_packed), and for others, an element at a time (add_lines), unless they
// are so short that there are hardly more samples (add_elements).
#include "filters/dither.h"
#include "filters/dither_math.h"
#include "filters/lines_runs.cuh"
#include "filters/packs.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int EACH = 4, TILE = THREADS * EACH; // elements of a thread and of a block, of shorter lines
constexpr int MOST_CHANNELS = 256;             // side by side in a line
constexpr int LEAST_LINE = 8;                  // samples of a channel whose state is worth keeping
// A dense line by packs has at least so many threads, more than there are elements beside its packs, so that
// four lines share a block at the most; its channels share a table with what a pack adds to them.
constexpr int FEWEST_DENSE = 64, MOST_TOGETHER = THREADS / FEWEST_DENSE, MOST_DENSE_CHANNELS = 48;
constexpr int LEAST_DENSE = 1024; // elements of a line, or its hashes are many

template <typename F> struct noise {
  uint64_t hash;                                  // of the seed
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

// The state for the first sample of a row and channel, less what a sample's place in the view adds.
template <typename F>
__device__ __forceinline__ uint64_t state_of(const noise<F> &a, int64_t n, int64_t y, int64_t c) {
  const uint64_t hash = fc_dither_hash(fc_dither_hash(a.hash, a.n + n), a.y + y);
  return fc_dither_hash(hash, a.c + c) + static_cast<uint64_t>(a.x) * FC_DITHER_GROWTH;
}

// How much the state grows by in x samples.
__device__ __forceinline__ uint64_t growth(int x) {
  return static_cast<uint64_t>(static_cast<uint32_t>(x)) * FC_DITHER_GROWTH;
}

// ---- dense lines ---------------------------------------------------------------

// Packs of a thread: 16 elements at least, or 32 where they take no more registers.
template <typename T, typename U> constexpr int PACKS = fc_pack<T, U>::size > 8 ? 2 : 4;

// A line has blockDim.x threads, and a block blockDim.y lines.
template <typename F, typename T, typename U>
__global__ void __launch_bounds__(THREADS)
    add_packed(fc_dev_view in, fc_dev_view out, fc_lines lines, noise<F> a, uint32_t *notes) {
  constexpr int N = fc_pack<T, U>::size, SIZE = static_cast<int>(sizeof(T)), K = PACKS<T, U>;
  // The state where a pack begins with channel c is that at c, and those of its other elements follow.
  __shared__ uint64_t tables[MOST_TOGETHER][MOST_DENSE_CHANNELS + N];
  uint64_t *table = tables[threadIdx.y];
  const int64_t count = lines.frames * lines.rows * lines.channels;
  const int apart = static_cast<int>(blockDim.x),
            first = static_cast<int>(blockIdx.x) * apart * K + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.y) * blockDim.y;
  fc_dev_noted noted = {false, false};
  for (int64_t base = static_cast<int64_t>(blockIdx.y) * blockDim.y; base < count; base += step) {
    const bool live = base + threadIdx.y < count;
    const fc_dev_line l = fc_dev_line_of(lines, live ? base + threadIdx.y : base);
    const char *from = in.at(l.n, l.y, 0, l.c);
    char *to = out.at(l.n, l.y, 0, l.c);
    const fc_packs p = fc_packs_of<T, U>(from, to, lines.length);
    const int head = static_cast<int>(p.head), body = live ? static_cast<int>(p.body) : 0;
    const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from + p.head * SIZE) % 4);
    fc_packed<T, N> x[K];
    uint32_t last[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
      const int i = head + (first + k * apart) * N;
      if (i >= body) continue;
      if (p.alike)
        fc_words_load(x[k].word, from + static_cast<int64_t>(i) * SIZE);
      else
        fc_words_load_askew(x[k].word, &last[k], from + static_cast<int64_t>(i) * SIZE, askew);
    }
    for (int j = threadIdx.x; j < a.channels + N - 1; j += apart) {
      const int x_on = a.by_channels.quotient(j);
      table[j] = state_of(a, l.n, l.y, l.c + j - x_on * a.channels) + growth(x_on);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; k++) {
      const int i = head + (first + k * apart) * N;
      if (i >= body) break;
      if (!p.alike) fc_words_shift(x[k].word, last[k], askew);
      const int place = a.by_channels.quotient(i);
      const uint64_t grown = growth(place);
      const uint64_t *states = table + (i - place * a.channels);
      F v[N];
      fc_packed<U, N> y;
      fc_packed_values(v, x[k], a.in);
#pragma unroll
      for (int e = 0; e < N; e++) v[e] = sum(v[e], fc_dither_units(states[e] + grown), a.unit);
      fc_packed_codes(y, v, a.out, noted, notes);
      fc_words_store(to + static_cast<int64_t>(i) * static_cast<int>(sizeof(U)), y.word);
    }
    // The elements ahead of the packs and behind them.
    const int at = first < head ? first : first + static_cast<int>(p.count) * N;
    if (live && blockIdx.x == 0 && at < lines.length) {
      const int place = a.by_channels.quotient(at);
      const F v = fc_dev_load<F, T>(from + static_cast<int64_t>(at) * SIZE, a.in);
      fc_dev_store<F, U>(to + static_cast<int64_t>(at) * static_cast<int>(sizeof(U)),
                         sum(v, fc_dither_units(table[at - place * a.channels] + growth(place)), a.unit),
                         a.out, notes);
    }
    __syncthreads();
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

// FC_UNSUPPORTED where that kernel is not for these lines.
template <typename F, typename T>
fc_status launch_packed(const noise<F> &a, const fc_dev_view &in, const fc_dev_view &out,
                        const fc_lines &lines, cudaStream_t stream, uint32_t *notes) {
  if (lines.in_step != sizeof(T) || lines.out_step != static_cast<int64_t>(fc_dtype_size(out.dtype)) ||
      lines.length < LEAST_DENSE || a.channels > MOST_DENSE_CHANNELS)
    return FC_UNSUPPORTED;
  const int64_t count = lines.frames * lines.rows * lines.channels;
  const bool common = fc_with_common<F>(out.dtype, T{}, [&](auto u) {
    using U = decltype(u);
    constexpr int N = fc_pack<T, U>::size, K = PACKS<T, U>;
    const int64_t packs = lines.length / N;
    unsigned threads = FEWEST_DENSE;
    while (threads < THREADS && static_cast<int64_t>(threads) * K < packs) threads *= 2;
    const unsigned together = THREADS / threads;
    const dim3 grid(fc_blocks(packs, static_cast<int64_t>(threads) * K, INT32_MAX),
                    fc_blocks(count, together, 65535));
    add_packed<F, T, U><<<grid, dim3(threads, together), 0, stream>>>(in, out, lines, a, notes);
  });
  return common ? fc_launch_status() : FC_UNSUPPORTED;
}

template <typename F, typename T>
fc_status launch_lines(const noise<F> &a, const fc_dev_view &in, const fc_dev_view &out,
                       const fc_lines &lines, cudaStream_t stream, uint32_t *notes) {
  const fc_status status = launch_packed<F, T>(a, in, out, lines, stream, notes);
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
  noise<F> a = {fc_dither_mix(d->seed + FC_DITHER_GROWTH),
                out->origin[FC_AXIS_N],
                out->origin[FC_AXIS_Y],
                out->origin[FC_AXIS_X],
                out->origin[FC_AXIS_C],
                static_cast<F>(d->step * 0x1p-24),
                together,
                fc_dev_divider_of(together),
                fc_dev_divider_of(lines.rows),
                {},
                fc_dev_map_of<F>(in->kind, in->dtype),
                fc_dev_map_of<F>(out->kind, out->dtype)};
  return fc_for_stretches(
      lines, fc_dev_view_of(in), fc_dev_view_of(out), together,
      [&](const fc_lines &stretch, const fc_dev_view &from, const fc_dev_view &to, int64_t ahead) {
        a.x = out->origin[FC_AXIS_X] + ahead / together;
        a.by_length = fc_dev_divider_of(stretch.length);
        return launch_lines<F, T>(a, from, to, stretch, stream, notes);
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

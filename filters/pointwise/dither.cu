// SPDX-License-Identifier: MIT
//
// dither.cu - triangular noise on a CUDA device, bit for bit that of dither.c. The limit is the 64-bit mixing
// function, once per sample. Dense memory is processed in packs of 16 bytes, even if its rows are short: the
// state of a sample is that of the pack's first sample plus a constant per step, plus a further constant for
// each end of a pixel or row in between. Other memory is processed by single elements.
#include "filters/pointwise/dither.h"
#include "filters/pointwise/dither_math.h"
#include "filters/base/lines.h"
#include "filters/gpu/sample_words.cuh"
#include "filters/gpu/packs.cuh"

// Lines of fc_lines, element by element, for lines of any length and distance: a warp has a run of 512
// elements of consecutive lines, and neighbouring lanes take neighbouring elements. There are no barriers.

#define FC_RUN_THREADS 256
#define FC_RUN_EACH    16 // elements per lane
#define FC_RUN_SIZE    (32 * FC_RUN_EACH)
#define FC_RUN_LONGEST (INT64_C(1) << 30) // longest line

// Lines that are equally far apart: of one channel, in all frames or in one.
struct fc_dev_runs {
  int64_t lines, elements; // in total
  int64_t in_line, out_line, in_step, out_step;
  int length, frames; // elements per line; frames that the lines belong to
  int64_t rows;       // per frame
  int64_t planes, channels;
  fc_dev_divider by_length;
};

// A run: the address of its first line, of which the first `ahead` elements belong to an earlier run; the
// index of that line; the number of elements, <= 0 if there is no such run.
struct fc_dev_run {
  const char *from;
  char *to;
  int64_t line;
  int ahead, elements;
};

// An element: the index of its line within the run, and its index in that line.
struct fc_dev_spot {
  int line, at;
};

// The frame and channel that the lines of a plane share.
__device__ __forceinline__ fc_dev_line fc_dev_plane_of(const fc_dev_runs &r, int64_t plane) {
  const int64_t n = r.channels == 1 ? plane : plane / r.channels;
  return {n, 0, plane - n * r.channels};
}

__device__ __forceinline__ fc_dev_run fc_dev_run_of(const fc_dev_runs &r, const fc_dev_view &in,
                                                    const fc_dev_view &out, const fc_dev_line &plane) {
  const int64_t warp = blockIdx.x * static_cast<int64_t>(FC_RUN_THREADS / 32) + threadIdx.x / 32,
                begin = warp * FC_RUN_SIZE, left = r.elements - begin;
  fc_dev_run run;
  run.line = begin >> 32 ? begin / r.length : static_cast<uint32_t>(begin) / static_cast<uint32_t>(r.length);
  run.ahead = static_cast<int>(begin - run.line * r.length);
  run.elements = static_cast<int>(min(left, static_cast<int64_t>(FC_RUN_SIZE)));
  run.from = in.at(plane.n, 0, 0, plane.c) + run.line * r.in_line;
  run.to = out.at(plane.n, 0, 0, plane.c) + run.line * r.out_line;
  return run;
}

__device__ __forceinline__ fc_dev_spot fc_dev_spot_of(const fc_dev_runs &r, const fc_dev_run &run, int i) {
  const int line = r.by_length.quotient(run.ahead + i);
  return {line, run.ahead + i - line * r.length};
}

// steps * stride, where only the stride may be negative: two multiplications instead of three.
__device__ __forceinline__ int64_t fc_dev_steps(int steps, int64_t stride) {
  return static_cast<int64_t>(static_cast<uint32_t>(steps) * static_cast<uint64_t>(stride));
}

__device__ __forceinline__ const char *fc_dev_spot_in(const fc_dev_runs &r, const fc_dev_run &run,
                                                      const fc_dev_spot &s) {
  return run.from + fc_dev_steps(s.line, r.in_line) + fc_dev_steps(s.at, r.in_step);
}
__device__ __forceinline__ char *fc_dev_spot_out(const fc_dev_runs &r, const fc_dev_run &run,
                                                 const fc_dev_spot &s) {
  return run.to + fc_dev_steps(s.line, r.out_line) + fc_dev_steps(s.at, r.out_step);
}

// Requires lines of 1 .. FC_RUN_LONGEST elements.
static inline fc_dev_runs fc_dev_runs_of(const fc_lines &lines, const fc_dev_view &in,
                                         const fc_dev_view &out) {
  fc_dev_runs r = {};
  const bool apart = lines.rows == 1,
             fold = lines.frames <= INT32_MAX / lines.rows &&
                    (apart || (in.stride[FC_AXIS_N] == lines.rows * in.stride[FC_AXIS_Y] &&
                               out.stride[FC_AXIS_N] == lines.rows * out.stride[FC_AXIS_Y]));
  const int axis = apart && lines.frames > 1 ? FC_AXIS_N : FC_AXIS_Y;
  r.frames = fold ? static_cast<int>(lines.frames) : 1, r.rows = lines.rows;
  r.lines = r.frames * lines.rows, r.elements = r.lines * lines.length;
  r.in_line = in.stride[axis], r.out_line = out.stride[axis];
  r.in_step = lines.in_step, r.out_step = lines.out_step;
  r.length = static_cast<int>(lines.length), r.channels = lines.channels;
  r.planes = lines.channels * (fold ? 1 : lines.frames);
  r.by_length = fc_dev_divider_of(lines.length);
  return r;
}

static inline dim3 fc_dev_runs_grid(const fc_dev_runs &r) {
  return dim3(fc_blocks(r.elements, FC_RUN_THREADS * FC_RUN_EACH, INT32_MAX), fc_blocks(r.planes, 1, 65535));
}

// Calls `launch` for lines that 32 bits can count. Longer ones are split into stretches, one call each: with
// the lines, the views and the number of elements before the stretch. Each `group` of elements stays
// together.
template <typename Fn>
static inline fc_status fc_for_stretches(fc_lines lines, fc_dev_view in, fc_dev_view out, int64_t group,
                                         Fn launch) {
  const int64_t length = lines.length, stretch = FC_RUN_LONGEST / group * group;
  fc_status status = FC_OK;
  for (int64_t ahead = 0; ahead < length && status == FC_OK; ahead += stretch) {
    lines.length = length - ahead < stretch ? length - ahead : stretch;
    status = launch(lines, in, out, ahead);
    in.data += stretch * lines.in_step, out.data += stretch * lines.out_step;
  }
  return status;
}

// One sample; floats are converted by their bits where possible.
template <typename F, typename T>
__device__ __forceinline__ F fc_dev_get(const char *from, fc_dev_map<F> map) {
  if constexpr (sizeof(F) == 4)
    return fc_code_value<T>(*reinterpret_cast<const T *>(from), map);
  else
    return fc_dev_load<F, T>(from, map);
}
template <typename F, typename T>
__device__ __forceinline__ void fc_dev_put(char *to, F v, fc_dev_map<F> map, fc_dev_noted &noted,
                                           uint32_t *notes) {
  if constexpr (sizeof(F) == 4 && fc_is_code<T>)
    *reinterpret_cast<T *>(to) = fc_value_code<T>(v, map, noted);
  else
    fc_dev_store<F, T>(to, v, map, notes);
}

namespace {

constexpr int LEAST_DENSE = 1024; // fewest elements of a dense run, to use packs

template <typename F> struct noise {
  uint64_t seed, origin;               // origin: contribution of the view's y, x and c to its states
  uint64_t frame;                      // the state of its first sample
  int64_t n;                           // index of the view's first frame in the signal
  F unit;                              // scale of the noise
  int channels;                        // interleaved channels per line; 1: lines of one channel
  fc_dev_divider by_channels, by_rows; // by_rows: rows per frame
  fc_dev_map<F> in, out;
};

__device__ __forceinline__ float sum(float v, int32_t units, float unit) {
  return __fadd_rn(v, __fmul_rn(static_cast<float>(units), unit));
}
__device__ __forceinline__ double sum(double v, int32_t units, double unit) {
  return __dadd_rn(v, __dmul_rn(units, unit));
}

// steps * by, modulo 2^64.
__device__ __forceinline__ uint64_t grown(int steps, uint64_t by) {
  return static_cast<uint64_t>(static_cast<uint32_t>(steps)) * by;
}

// The frame that a thread processes: its index, and the state of its first sample, which is mixed again only
// when the frame changes.
struct known_frame {
  int64_t n;
  uint64_t state;
};

template <typename F> __device__ __forceinline__ uint64_t frame_state(const noise<F> &a, int64_t n) {
  return n == 0 ? a.frame : fc_dither_frame(a.seed, a.n + n) + a.origin;
}

// ---- dense runs ----------------------------------------------------------------

// Lines without gaps between them form a run: one line, those of a frame, or those of all frames. A warp
// processes a unit of a run: several turns of as many packs as its lanes load at once.
constexpr int RUN_WARPS = 4;
template <typename T, typename U> constexpr int MOST_TURNS = fc_pack<T, U>::size / 2;
template <typename T, typename U> constexpr int PACKS = 16 / fc_pack<T, U>::size; // packs per lane and turn
constexpr int TURN = 32 * 16;                                                     // elements
constexpr int MANY_UNITS = 16384; // units, before each gets more turns

// The axes of a run are interleaved channels, columns and rows, innermost first; axes of size 1 are omitted.
struct dense_runs {
  fc_lines firsts;        // first line of each run
  int length;             // elements per run
  int units, each, turns; // units in total, and per run; turns per unit
  fc_dev_divider by_each;
  int size[3]; // sizes of the axes
  fc_dev_divider by_size[3];
  int line, frame;    // size of two axes and of all three, or more than a run
  uint64_t step[3];   // increment of the state per step along an axis
  uint64_t jump[3];   // ... and additionally at its end
  uint64_t ahead[16]; // increments within a pack, along the innermost axis
  uint32_t starts[2]; // bit i: i is a multiple of size[0]; of `line`
};

// A position in a run: its state, its frame n, and how many elements are left along each axis, and in the
// frame.
struct dense_place {
  uint64_t state;
  int n, left[3];
};

// `frame` is kept from one position to the next.
template <typename F>
__device__ __forceinline__ dense_place place_of(const noise<F> &a, const dense_runs &r, const fc_dev_line &l,
                                                known_frame &frame, int i) {
  const int pixel = r.by_size[0].quotient(i), row = r.by_size[1].quotient(pixel),
            n = r.by_size[2].quotient(row);
  const int within = i - pixel * r.size[0];
  if (n != frame.n) {
    frame.n = n;
    frame.state = frame_state(a, l.n + n) + fc_dither_place(l.y, 0, l.c);
  }
  dense_place p;
  p.state = frame.state + grown(within, r.step[0]) + grown(pixel - row * r.size[1], r.step[1]) +
            grown(row - n * r.size[2], r.step[2]);
  p.n = n, p.left[0] = r.size[0] - within, p.left[1] = r.line - (i - row * r.line);
  p.left[2] = r.frame - (i - n * r.frame);
  return p;
}

// Adds the noise to a pack. ENDS: the number of axes that may end in it; the third is the frame, which ends
// at most once. `next`: the additional increment of the state there.
template <int ENDS, typename F, int N>
__device__ __forceinline__ void add_to_pack(F (&v)[N], const noise<F> &a, const dense_runs &r,
                                            const dense_place &p, uint64_t next) {
  uint64_t state = p.state;
  const uint32_t pixels = r.starts[0] << min(p.left[0], 31), rows = r.starts[1] << min(p.left[1], 31);
#pragma unroll
  for (int e = 0; e < N; e++) {
    if (ENDS > 0 && e > 0 && (pixels >> e & 1)) state += r.jump[0];
    if (ENDS > 1 && e > 0 && (rows >> e & 1)) state += r.jump[1];
    if (ENDS > 2 && e == p.left[2]) state += next;
    v[e] = sum(v[e], fc_dither_units(state + r.ahead[e]), a.unit);
  }
}

// Adds the noise to the pack that begins with the run's element i. All lanes of a warp take part.
template <typename F, int N>
__device__ __forceinline__ void add_noise(F (&v)[N], const noise<F> &a, const dense_runs &r,
                                          const fc_dev_line &l, known_frame &frame, int i) {
  const dense_place p = place_of(a, r, l, frame, i);
  if (__all_sync(~0u, p.left[0] >= N)) {
    add_to_pack<0>(v, a, r, p, 0);
  } else if (__all_sync(~0u, p.left[1] >= N)) {
    add_to_pack<1>(v, a, r, p, 0);
  } else {
    uint64_t next = 0;
    if (p.left[2] < N) next = frame_state(a, l.n + p.n + 1) - frame_state(a, l.n + p.n) + r.jump[2];
    add_to_pack<3>(v, a, r, p, next);
  }
}

// The elements of a run before its first pack and after its last.
template <typename F, typename T, typename U>
__device__ __forceinline__ void add_ends(const noise<F> &a, const dense_runs &r, const fc_dev_line &l,
                                         const fc_packs &p, const char *from, char *to, uint32_t *notes) {
  const int head = static_cast<int>(p.head), packed = static_cast<int>(p.body) - head;
  known_frame frame = {-1, 0};
  for (int i = static_cast<int>(threadIdx.x % 32); i < r.length - packed; i += 32) {
    const int at = i < head ? i : i + packed;
    const uint64_t state = place_of(a, r, l, frame, at).state;
    const F v = fc_dev_load<F, T>(from + static_cast<int64_t>(at) * static_cast<int>(sizeof(T)), a.in);
    fc_dev_store<F, U>(to + static_cast<int64_t>(at) * static_cast<int>(sizeof(U)),
                       sum(v, fc_dither_units(state), a.unit), a.out, notes);
  }
}

template <typename F, typename T, typename U>
__global__ void __launch_bounds__(32 * RUN_WARPS)
    dither_packed(fc_dev_view in, fc_dev_view out, const __grid_constant__ dense_runs r,
                  const __grid_constant__ noise<F> a, uint32_t *notes) {
  constexpr int N = fc_pack<T, U>::size, SIZE = static_cast<int>(sizeof(T)), K = PACKS<T, U>;
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
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
  known_frame frame = {-1, 0};
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
      add_noise(v, a, r, l, frame, i);
      fc_packed_codes(y, v, a.out, noted, notes);
      if (own == i) fc_words_store(to + static_cast<int64_t>(i) * static_cast<int>(sizeof(U)), y.word);
    }
  }
  noted.tell(notes);
}

// ---- any others ------------------------------------------------------------------

// PLAIN: lines of one channel and one frame at a time, of type T in and out; else of any types.
template <bool PLAIN, typename F, typename T>
__global__ void __launch_bounds__(FC_RUN_THREADS)
    dither_elements(fc_dev_view in, fc_dev_view out, const __grid_constant__ fc_dev_runs r,
                    const __grid_constant__ noise<F> a, uint32_t *notes) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const bool frames = !PLAIN && r.frames > 1;
  fc_dev_noted noted = {false, false};
  for (int64_t plane = blockIdx.y; plane < r.planes; plane += gridDim.y) {
    const fc_dev_line at = fc_dev_plane_of(r, plane);
    const fc_dev_run run = fc_dev_run_of(r, in, out, at);
    if (run.elements <= 0) break;
    known_frame frame = {-1, 0};
    const uint64_t first = frames ? 0 : frame_state(a, at.n) + fc_dither_place(run.line, 0, at.c);
    F v[FC_RUN_EACH];
    const auto load = [&](auto t) { // all in flight at once; beyond the end repeats the last
#pragma unroll
      for (int k = 0; k < FC_RUN_EACH; k++) {
        const fc_dev_spot spot = fc_dev_spot_of(r, run, min(32 * k + lane, run.elements - 1));
        v[k] = fc_dev_get<F, decltype(t)>(fc_dev_spot_in(r, run, spot), a.in);
      }
    };
    if constexpr (PLAIN)
      load(T{});
    else
      fc_dev_dispatch(in.dtype, load);
    // Unrolled, stores of any type are a hundred kilobytes.
    constexpr int TOGETHER = PLAIN ? FC_RUN_EACH : 1;
#pragma unroll TOGETHER
    for (int k = 0; k < FC_RUN_EACH; k++) {
      if (32 * k + lane >= run.elements) break;
      const fc_dev_spot spot = fc_dev_spot_of(r, run, 32 * k + lane);
      uint64_t state = first + grown(spot.line, FC_DITHER_ROWS);
      if (frames) {
        const int line = static_cast<int>(run.line) + spot.line, n = a.by_rows.quotient(line);
        if (n != frame.n) frame = {n, frame_state(a, at.n + n) + fc_dither_place(0, 0, at.c)};
        state = frame.state + grown(line - n * static_cast<int>(r.rows), FC_DITHER_ROWS);
      }
      if constexpr (PLAIN) {
        state += grown(spot.at, FC_DITHER_GROWTH);
      } else {
        const int x = a.by_channels.quotient(spot.at), c = spot.at - x * a.channels;
        state += grown(x, FC_DITHER_GROWTH) + grown(c, FC_DITHER_CHANNELS);
      }
      const F y = sum(v[k], fc_dither_units(state), a.unit);
      char *to = fc_dev_spot_out(r, run, spot);
      if constexpr (PLAIN)
        fc_dev_put<F, T>(to, y, a.out, noted, notes);
      else
        fc_dev_store_any<F>(to, out.dtype, y, a.out, notes);
    }
  }
  noted.tell(notes);
}

// ---- host ------------------------------------------------------------------------

// The multiples of n among the first 32 numbers, as bits.
uint32_t multiples_of(int64_t n) {
  uint32_t bits = 1;
  for (int64_t i = n; i < 32; i += n) bits |= uint32_t{1} << i;
  return bits;
}

// The runs in `merged`: `lines`, joined where there are no gaps between them, and short enough for 32 bits.
dense_runs dense_runs_of(const fc_lines &lines, const fc_lines &merged, int channels) {
  const int64_t sizes[] = {channels, lines.length / channels, lines.rows};
  const uint64_t steps[] = {FC_DITHER_CHANNELS, FC_DITHER_GROWTH, FC_DITHER_ROWS};
  dense_runs r = {};
  r.firsts = merged, r.length = static_cast<int>(merged.length);
  int axes = 0;
  for (int i = 0; i < 3; i++)
    if (sizes[i] > 1)
      r.size[axes] = static_cast<int>(min(sizes[i], FC_RUN_LONGEST)), r.step[axes++] = steps[i];
  for (; axes < 3; axes++) r.size[axes] = 1;
  for (int i = 0; i < 3; i++) {
    r.by_size[i] = fc_dev_divider_of(r.size[i]);
    r.jump[i] = (i < 2 ? r.step[i + 1] : 0) - static_cast<uint64_t>(r.size[i]) * r.step[i];
  }
  for (int e = 0; e < 16; e++) r.ahead[e] = static_cast<uint64_t>(e) * r.step[0];
  const int64_t line = int64_t{r.size[0]} * r.size[1], most = INT32_MAX;
  r.line = static_cast<int>(min(line, most));
  r.frame = static_cast<int>(line < most ? min(line * r.size[2], most) : most);
  r.starts[0] = multiples_of(r.size[0]), r.starts[1] = multiples_of(line);
  return r;
}

// Pairs that have kernels of their own, in single precision: a type to itself, and to codes with fewer bits.
// To others noise of such steps means nothing.
template <typename F, typename T, typename U>
constexpr bool is_common = sizeof(F) == 4 && (fc_is_code<T> || std::is_same<T, float>::value) &&
                           (std::is_same<T, U>::value ||
                            (fc_is_code<U> && (std::is_same<T, float>::value || sizeof(U) < sizeof(T))));

// Splits runs into units; false if there are too many.
bool split_runs(dense_runs *r, int pack, int most_turns) {
  const int64_t runs = r->firsts.frames * r->firsts.rows * r->firsts.channels;
  const int64_t parts = (r->length / pack * pack + TURN - 1) / TURN;
  for (r->turns = 1; r->turns < most_turns && runs * parts >= 2 * r->turns * MANY_UNITS;) r->turns *= 2;
  r->each = static_cast<int>((parts + r->turns - 1) / r->turns), r->by_each = fc_dev_divider_of(r->each);
  if (runs > INT32_MAX / r->each - RUN_WARPS) return false;
  r->units = static_cast<int>(runs) * r->each;
  return true;
}

// FC_UNSUPPORTED if the kernel does not suit these lines: short runs, or frames smaller than a pack.
template <typename F, typename T, typename U>
fc_status launch_packed(const noise<F> &a, const fc_dev_view &in, const fc_dev_view &out,
                        const fc_lines &lines, const fc_lines &merged, cudaStream_t stream, uint32_t *notes) {
  constexpr int N = fc_pack<T, U>::size;
  if (merged.length < LEAST_DENSE) return FC_UNSUPPORTED;
  dense_runs r = dense_runs_of(lines, merged, a.channels);
  if (r.frame < N || !split_runs(&r, N, MOST_TURNS<T, U>)) return FC_UNSUPPORTED;
  dither_packed<F, T, U>
      <<<fc_blocks(r.units, RUN_WARPS, INT32_MAX), 32 * RUN_WARPS, 0, stream>>>(in, out, r, a, notes);
  return fc_launch_status();
}

// `merged`: the same lines, joined where there are no gaps between them.
template <typename F, typename T>
fc_status launch_lines(const noise<F> &a, const fc_dev_view &in, const fc_dev_view &out,
                       const fc_lines &lines, const fc_lines &merged, cudaStream_t stream, uint32_t *notes) {
  fc_status status = FC_UNSUPPORTED;
  if (lines.in_step == sizeof(T) && lines.out_step == static_cast<int64_t>(fc_dtype_size(out.dtype)))
    fc_dispatch_dtype(out.dtype, [&](auto u) {
      if constexpr (is_common<F, T, decltype(u)>)
        status = launch_packed<F, T, decltype(u)>(a, in, out, lines, merged, stream, notes);
      return FC_OK;
    });
  if (status != FC_UNSUPPORTED) return status;
  const fc_dev_runs r = fc_dev_runs_of(lines, in, out);
  auto kernel = dither_elements<false, F, F>;
  if constexpr (is_common<F, T, T>)
    if (r.frames == 1 && a.channels == 1 && out.dtype == in.dtype) kernel = dither_elements<true, F, T>;
  kernel<<<fc_dev_runs_grid(r), FC_RUN_THREADS, 0, stream>>>(in, out, r, a, notes);
  return fc_launch_status();
}

template <typename F, typename T>
fc_status launch(const fc_dither *d, const fc_view *in, const fc_view *out, cudaStream_t stream,
                 uint32_t *notes) {
  const int64_t channels = out->shape[FC_AXIS_C];
  const fc_lines lines = fc_lines_of(in, out, channels <= FC_RUN_LONGEST);
  if (lines.frames * lines.rows * lines.channels == 0) return FC_OK;
  const int together = lines.channels == 1 ? static_cast<int>(channels) : 1;
  noise<F> a = {};
  a.seed = d->seed, a.n = out->origin[FC_AXIS_N];
  a.unit = static_cast<F>(d->step * 0x1p-24);
  a.channels = together, a.by_channels = fc_dev_divider_of(together),
  a.by_rows = fc_dev_divider_of(lines.rows);
  a.in = fc_dev_map_of<F>(in->kind, in->dtype), a.out = fc_dev_map_of<F>(out->kind, out->dtype);
  fc_lines merged = lines;
  fc_lines_merge(&merged, in, out, 1);
  if (merged.length > FC_RUN_LONGEST) merged = lines, fc_lines_merge(&merged, in, out, 0);
  const bool whole = merged.length <= FC_RUN_LONGEST; // else a run is a line, or a stretch of one
  return fc_for_stretches(
      lines, fc_dev_view_of(in), fc_dev_view_of(out), together,
      [&](const fc_lines &stretch, const fc_dev_view &from, const fc_dev_view &to, int64_t ahead) {
        a.origin = fc_dither_place(out->origin[FC_AXIS_Y], out->origin[FC_AXIS_X] + ahead / together,
                                   out->origin[FC_AXIS_C]);
        a.frame = fc_dither_frame(a.seed, a.n) + a.origin;
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

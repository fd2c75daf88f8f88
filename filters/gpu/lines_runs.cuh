// SPDX-License-Identifier: MIT
//
// lines_runs.cuh - lines of fc_lines an element at a time, however short and far apart they are: a warp has a
// run of 512 elements of lines one after the other, neighbouring lanes neighbouring ones, and no barrier.
#ifndef FC_FILTERS_LINES_RUNS_CUH
#define FC_FILTERS_LINES_RUNS_CUH

#include "filters/gpu/lines.cuh"
#include "filters/gpu/sample_words.cuh"

#define FC_RUN_THREADS 256
#define FC_RUN_EACH    16 // elements of a lane
#define FC_RUN_SIZE    (32 * FC_RUN_EACH)
#define FC_RUN_LONGEST (INT64_C(1) << 30) // line

// Lines that are equally far apart: of one channel, and of all frames or of one.
struct fc_dev_runs {
  int64_t lines, elements; // in all
  int64_t in_line, out_line, in_step, out_step;
  int length, frames; // frames: of the lines, one after the other
  int64_t rows;       // of a frame
  int64_t planes, channels;
  fc_dev_divider by_length;
};

// A run: where its first line begins, of which `ahead` elements are not its own; which line that is; and how
// many elements it has, none or less if there is no such run.
struct fc_dev_run {
  const char *from;
  char *to;
  int64_t line;
  int ahead, elements;
};

// An element: of the how-manieth line of the run, and its place in it.
struct fc_dev_spot {
  int line, at;
};

// The frame and channel that lines of a plane have in common.
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

// So many steps of a stride, which alone may be negative: two multiplications instead of three.
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

// Lines up to FC_RUN_LONGEST, and not none.
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

// Calls `launch` for lines of what 32 bits count, one stretch of them after the other: with the lines, the
// views and how many elements lie ahead. `group` elements stay together.
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

// One sample, by way of floats' bits where that is possible.
template <typename F, typename T>
__device__ __forceinline__ F fc_dev_get(const char *from, fc_dev_map<F> map) {
  if constexpr (sizeof(F) == 4)
    return fc_code_value<T>(*reinterpret_cast<const T *>(from), map);
  else
    return fc_dev_load<F, T>(from, map);
}
template <typename F, typename T>
__device__ __forceinline__ void fc_dev_put(char *to, int dtype, bool same, F v, fc_dev_map<F> map,
                                           fc_dev_noted &noted, uint32_t *notes) {
  if (!same) return fc_dev_store_any<F>(to, dtype, v, map, notes);
  if constexpr (sizeof(F) == 4 && fc_is_code<T>)
    *reinterpret_cast<T *>(to) = fc_value_code<T>(v, map, noted);
  else
    fc_dev_store<F, T>(to, v, map, notes);
}

#endif

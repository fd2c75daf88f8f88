// SPDX-License-Identifier: MIT
//
// box_sums.cuh - sums of floats in windows of rows and columns: along x from the samples of a row in shared
// memory, which are replaced by the sums, and along y from these.
#ifndef FC_FILTERS_WINSTAT_BOX_SUMS_CUH
#define FC_FILTERS_WINSTAT_BOX_SUMS_CUH

#include "filters/winstat/samples.cuh"
#include "filters/winstat/slide16.cuh"

namespace winstat {

// Calls f with an integer of a type whose sums are exact in floats.
template <class F> __device__ __forceinline__ void with_code(int dtype, F f) {
  switch (dtype) {
  case FC_U8: f(uint8_t{}); break;
  case FC_I16: f(int16_t{}); break;
  default: f(uint16_t{}); break;
  }
}

constexpr int BOX_THREADS = 256, BOX_RUNS = BOX_THREADS / RUN;
constexpr int BOX_SEGMENTS = 2; // number covered along x after the segment in which a window begins

// The position of word i of a row: quarters of segments are permuted so that eight lanes, one segment each,
// use different banks.
__device__ __forceinline__ int box_word(int i) {
  return i ^ (i >> 5 & 3) << 2;
}

// ---- sums along x -------------------------------------------------------------------

// Samples from the beginning of a segment on.
template <int N> __device__ __forceinline__ void box_segments(float (&x)[N], const float *row, int from) {
  const float *first = row + box_word(from), *second = row + box_word(from + RUN);
  const int turn = from >> 5 & 3, turned = (from + RUN) >> 5 & 3;
#pragma unroll
  for (int k = 0; k < N; k += 4) {
    const int which = k / 4 % 4;
    const float4 q = *reinterpret_cast<const float4 *>(k < RUN ? first + ((which ^ turn) - turn) * 4
                                                               : second + ((which ^ turned) - turned) * 4);
    x[k] = q.x, x[k + 1] = q.y, x[k + 2] = q.z, x[k + 3] = q.w;
  }
}

struct box_run {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[RUN], const float *const &row, const int &from) {
    float x[(RUN + W + 2) / 4 * 4];
    box_segments(x, row, from);
    slide_short<W>(v, x);
  }
};

// v: suffixes. The first window ends with sample W - 1 from `lead` on; `core`: what lies between.
struct box_tail {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[RUN], const float &core, const float *const &row,
                                             const int &lead) {
    float x[(RUN + W + 2) / 4 * 4];
    box_segments(x, row, lead);
    add_ends<W>(v, core, x);
  }
};

__device__ __forceinline__ void box_long(float (&v)[RUN], const float *row, int from, const extent16 &w) {
  float core = 0;
#pragma unroll 1
  for (int k = 1; k < w.segments; k++) {
    float x[RUN];
    box_segments(x, row, from + k * RUN);
    core = k == 1 ? sum16(x) : plus(core, sum16(x));
  }
  box_segments(v, row, from);
  suffixes(v);
  const int lead = from + w.segments * RUN;
  with_window<box_tail>(w.rest + 1, v, core, row, lead);
}

__device__ __forceinline__ void box_row(float (&v)[RUN], const float *row, int from, const extent16 &w) {
  if (w.segments == 0)
    with_window<box_run>(w.reach + 1, v, row, from);
  else
    box_long(v, row, from, w);
}

// ---- sums along y -------------------------------------------------------------------

// For a column: `now` and `next` are addresses of blocks of rows.
template <int PITCH> struct box_column_run {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[RUN], const float *const &now,
                                             const float *const &next) {
    float x[RUN + W - 1];
#pragma unroll
    for (int k = 0; k < RUN + W - 1; k++) x[k] = k < RUN ? now[k * PITCH] : next[(k - RUN) * PITCH];
    slide_short<W>(v, x);
  }
};

// v: suffixes. The first window ends with row W - 1 of the block `far`, after which the block `beyond`
// follows.
template <int PITCH> struct box_column_tail {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[RUN], const float &core, const float *const &far,
                                             const float *const &beyond) {
    float x[RUN + W - 1];
#pragma unroll
    for (int k = 0; k < RUN + W - 1; k++) x[k] = k < RUN ? far[k * PITCH] : beyond[(k - RUN) * PITCH];
    add_ends<W>(v, core, x);
  }
};

// The ring: the address of a thread's column in a block of rows of PITCH words.
template <int PITCH> struct box_ring {
  const float *column;
  int slots;
  __device__ __forceinline__ int after(int slot, int by) const {
    return slot + by < slots ? slot + by : slot + by - slots;
  }
  __device__ __forceinline__ const float *at(int slot) const { return column + slot * (RUN * PITCH); }
};

// The windows that begin in the block in `slot`. EACH: there is a loop for each length of long ones, which is
// faster, and takes longer to compile, than an address where they end.
template <bool EACH, int PITCH>
__device__ __forceinline__ void box_column(float (&v)[RUN], const extent16 &y, const box_ring<PITCH> &r,
                                           int slot, const float *totals) {
  const float *now = r.at(slot), *next = r.at(r.after(slot, 1));
  if (y.segments == 0) {
    with_window<box_column_run<PITCH>>(y.reach + 1, v, now, next);
    return;
  }
  float core = 0;
  for (int k = 1; k < y.segments; k++) {
    const float total = totals[r.after(slot, k) * BOX_THREADS];
    core = k == 1 ? total : plus(core, total);
  }
#pragma unroll
  for (int k = 0; k < RUN; k++) v[k] = now[k * PITCH];
  suffixes(v);
  const int end = r.after(slot, y.segments);
  const float *far = r.at(end), *beyond = r.at(r.after(end, 1));
  if constexpr (EACH) {
    with_window<box_column_tail<PITCH>>(y.rest + 1, v, core, far, beyond);
  } else {
#pragma unroll
    for (int k = 0; k < RUN; k++)
      if (k <= y.rest) core = plus(core, far[k * PITCH]);
    const float *here = far + (y.rest + 1) * PITCH, *there = beyond + (y.rest + 1 - RUN) * PITCH;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
      v[k] = plus(v[k], core);
      if (k + 1 < RUN) core = plus(core, (y.rest + 1 + k < RUN ? here : there)[k * PITCH]);
    }
  }
}

} // namespace winstat

#endif

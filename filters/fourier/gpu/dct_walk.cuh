// SPDX-License-Identifier: MIT
//
// dct_walk.cuh - numbers the lines of a transform of dct_fft.h: the other axes and the blocks along its own
// axis, in order of their distance in memory.
#ifndef FC_FILTERS_DCT_WALK_CUH
#define FC_FILTERS_DCT_WALK_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/fourier/dct_fft.h"

struct fc_dct_walk {
  int64_t count[FC_AXES], from[FC_AXES], to[FC_AXES]; // bytes
  int64_t lines;
  int32_t n;

  // Byte offsets from the beginnings of the views. Usually there are fewer than 2^32 lines, for which
  // division is several times faster.
  __device__ __forceinline__ void find(int64_t i, int64_t *in, int64_t *out) const {
    int64_t f = 0, t = 0;
    const bool narrow = !(lines >> 32);
#pragma unroll
    for (int a = 0; a < FC_AXES; a++) {
      if (a >= n) break;
      int64_t rest = 0;
      if (a + 1 < n)
        rest = narrow ? static_cast<uint32_t>(i) / static_cast<uint32_t>(count[a]) : i / count[a];
      const int64_t at = i - rest * count[a];
      f += at * from[a], t += at * to[a];
      i = rest;
    }
    *in = f, *out = t;
  }
};

static inline void fc_dct_walk_add(fc_dct_walk *w, int64_t count, int64_t from, int64_t to) {
  w->lines *= count;
  if (count == 1) return;
  int i = w->n++;
  for (; i > 0 && w->from[i - 1] > from; i--)
    w->count[i] = w->count[i - 1], w->from[i] = w->from[i - 1], w->to[i] = w->to[i - 1];
  w->count[i] = count, w->from[i] = from, w->to[i] = to;
}

// Joins two counters if the second continues where the first ends, as in rows of whole blocks.
static inline void fc_dct_walk_join(fc_dct_walk *w) {
  int kept = 0;
  for (int i = 1; i < w->n; i++)
    if (w->from[i] == w->count[kept] * w->from[kept] && w->to[i] == w->count[kept] * w->to[kept]) {
      w->count[kept] *= w->count[i];
    } else {
      kept++;
      w->count[kept] = w->count[i], w->from[kept] = w->from[i], w->to[kept] = w->to[i];
    }
  if (w->n > 0) w->n = kept + 1;
}

static inline fc_dct_walk fc_dct_walk_of(const fc_dct_fft *plan, const fc_view *in, const fc_view *out) {
  fc_dct_walk w = {};
  w.lines = 1;
  for (int a = 0; a < FC_AXES; a++)
    if (a == plan->axis)
      fc_dct_walk_add(&w, out->shape[a] / plan->rows, plan->cols * in->stride[a],
                      plan->rows * out->stride[a]);
    else
      fc_dct_walk_add(&w, out->shape[a], in->stride[a], out->stride[a]);
  fc_dct_walk_join(&w);
  return w;
}

// Runs the kernel for this length if there is one; false, and no status, if not. The views are checked and
// not empty.
bool fc_dct_blocks_try(const fc_dct_fft *plan, const fc_view *in, const fc_view *out, uint32_t *notes,
                       cudaStream_t stream, fc_status *status);

#endif

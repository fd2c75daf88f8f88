// SPDX-License-Identifier: MIT
//
// walk.cuh - the positions that a matrix is applied at. Internal to the .cu files of filters/.
#ifndef FC_FILTERS_MATRIX_WALK_CUH
#define FC_FILTERS_MATRIX_WALK_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/matrix/matrix.h"

// The positions that a matrix is applied at, numbered from 0: the
// blocks of its axis and every element of the other axes, those that lie closest in
// memory numbered next to each other.

struct fc_matrix_walk {
  int64_t count;
  int64_t size[FC_AXES - 1]; // of all but the slowest dimension
  int64_t in[FC_AXES], out[FC_AXES];
  bool narrow; // all numbers fit 32 bits, whose division is several times faster

  __device__ __forceinline__ void offsets(int64_t position, int64_t *from, int64_t *to) const {
    int64_t f = 0, t = 0;
#pragma unroll
    for (int d = 0; d < FC_AXES - 1; d++) {
      int64_t quotient =
          narrow ? static_cast<int64_t>(static_cast<uint32_t>(position) / static_cast<uint32_t>(size[d]))
                 : position / size[d];
      int64_t rest = position - quotient * size[d];
      f += rest * in[d];
      t += rest * out[d];
      position = quotient;
    }
    *from = f + position * in[FC_AXES - 1];
    *to = t + position * out[FC_AXES - 1];
  }
};

// Dimensions of one element are left where they are: they cost a division, no more.
static inline fc_matrix_walk fc_matrix_walk_of(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  struct dimension {
    int64_t size, in, out;
  } d[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) d[a] = {out->shape[a], in->stride[a], out->stride[a]};
  d[m->axis] = {out->shape[m->axis] / m->rows, in->stride[m->axis] * m->cols, out->stride[m->axis] * m->rows};
  // By distance in the input, smallest first.
  for (int i = 1; i < FC_AXES; i++)
    for (int j = i; j > 0; j--) {
      int64_t a = d[j].in < 0 ? -d[j].in : d[j].in, b = d[j - 1].in < 0 ? -d[j - 1].in : d[j - 1].in;
      if (a >= b) break;
      dimension swap = d[j];
      d[j] = d[j - 1];
      d[j - 1] = swap;
    }
  fc_matrix_walk w;
  w.count = 1;
  for (int i = 0; i < FC_AXES; i++) {
    if (i < FC_AXES - 1) w.size[i] = d[i].size;
    w.in[i] = d[i].in;
    w.out[i] = d[i].out;
    w.count *= d[i].size;
  }
  w.narrow = w.count <= UINT32_MAX;
  return w;
}

#endif

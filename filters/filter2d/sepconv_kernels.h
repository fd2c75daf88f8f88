/* SPDX-License-Identifier: MIT */
/*
 * sepconv_kernels.h - the two passes of a separable filter, for one instruction set.
 * Internal to filters/. Pointers are to elements of the table's type; counts, steps and
 * pitches are in elements.
 */
#ifndef FC_FILTERS_SEPCONV_KERNELS_H
#define FC_FILTERS_SEPCONV_KERNELS_H

#include "filters/base/isa.h"
#include "filters/filter2d/sepconv.h"

typedef struct fc_sepconv_kernels {
  size_t size; /* of an element */

  /* For r < count (1 to FC_STRIP_ROWS) and i < n:
   * to[r * pitch + i] = sum over j of y[j] * rows[r + j][from + i], in runs of FC_SEPCONV_RUN. */
  void (*columns)(int64_t count, const void *const *rows, int64_t from, const void *y, int64_t ny, void *to,
                  int64_t pitch, int64_t n);

  /* For i < n: to[i] = sum over t < rank, j < nx of x[t * nx + j] * from[t * pitch + i + j * step], in
   * runs of FC_SEPCONV_RUN taps of one term. With `stream`, results are stored past the cache where
   * possible; the caller executes FC_STREAM_END. */
  void (*row)(const void *from, int64_t pitch, int64_t rank, const void *x, int64_t nx, int64_t step,
              void *to, int64_t n, int stream);

  /* f32 only: the columns of rows of u8. */
  void (*columns_u8)(int64_t count, const void *const *rows, int64_t from, const void *y, int64_t ny,
                     void *to, int64_t pitch, int64_t n);

  /* f32 only: the row pass of one term with results rounded half to even to u8. Returns 1 if all results
   * are in 0 .. 255; else `to` must be computed in another way. Also returns 0 for short rows and long
   * masks. */
  int (*row_u8)(const void *from, const void *x, int64_t nx, int64_t step, uint8_t *to, int64_t n,
                int stream);
} fc_sepconv_kernels;

/* [0] for f32, [1] for f64. */
typedef fc_sepconv_kernels fc_sepconv_kernel_pair[2];
FC_ISA_DECLARE(fc_sepconv_kernel_pair, fc_sepconv_kernels);

static inline const fc_sepconv_kernels *fc_sepconv_kernels_of(int isa, int compute) {
  return &(*FC_ISA_PICK(fc_sepconv_kernels, isa))[compute == FC_F64];
}

#endif

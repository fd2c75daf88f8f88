/* SPDX-License-Identifier: MIT */
/*
 * gemm.h - general matrix multiplication, C = alpha A B + beta D, in f32 and f64; D is C itself unless given.
 *
 * A is m x k, B is k x n, C and D are m x n; each has a distance between rows and one between columns, in
 * elements, which covers row- and column-major order, transposes, any leading dimension and strided access.
 * Distances are arbitrary, except that C's elements must be distinct: with d_col 0, D is a value for each
 * row. C overlaps neither A nor B, nor another D. As in BLAS, beta 0 means that D is not read (C may have
 * held NaN), and alpha 0 that A and B are not.
 *
 * Every element of C is a sum over k in one fixed order: it does not depend on m, n, the strides or where a
 * tile of the computation begins, so that a product computed in pieces is the product computed whole, bit for
 * bit. Error: |error| <= about k * eps * (|A||B|), in practice sqrt(k) * eps. GPUs of sm_90 make sums of more
 * than 16 products of f32 in f64, which is faster there, and round once.
 *
 * On GPUs; on the CPU `matrix` has loops of its own over the tiles of gemm_kernels.h. No allocation;
 * re-entrant. Cost 2mnk flop.
 */
#ifndef FC_FILTERS_GEMM_H
#define FC_FILTERS_GEMM_H

#include "core/contract/view.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef struct fc_gemm {
  int32_t type;    /* FC_F32 or FC_F64, of the three matrices and of the sums */
  int64_t m, n, k; /* each >= 0 */
  double alpha, beta;
  const void *a, *b;
  void *c;
  int64_t a_row, a_col; /* distance from A[i][j] to A[i+1][j], to A[i][j+1], in elements */
  int64_t b_row, b_col;
  int64_t c_row, c_col;
  const void *d; /* NULL: C */
  int64_t d_row, d_col;
} fc_gemm;

/* FC_INVALID for an invalid type or size, or a NULL matrix with elements. */
FC_FILTERS_API fc_status fc_gemm_check(const fc_gemm *g);

/* The plain triple loop; sums in double for either type. */
FC_FILTERS_API fc_status fc_gemm_ref(const fc_gemm *g);

/* Matrices in the memory of the current device; enqueues on `stream`, a cudaStream_t. */
FC_FILTERS_API fc_status fc_gemm_cuda(const fc_gemm *g, void *stream);

/* The same, to the bit, with scratch for copies of matrices whose lines of adjacent elements are not
 * aligned to 16 bytes: without it such products, of 128 and more on every side, take up to three times as
 * long on sm_90. `scratch`: fc_gemm_padded_scratch bytes of device memory, aligned to 128, in use until
 * the stream has completed the product; if that is 0, nothing is copied and it may be NULL. */
FC_FILTERS_API size_t fc_gemm_padded_scratch(const fc_gemm *g);
FC_FILTERS_API fc_status fc_gemm_padded_cuda(const fc_gemm *g, void *scratch, void *stream);

/*
 * The same product of f32 matrices on tensor cores, by three products of split elements (3xTF32): 1.5 to 2
 * times as fast on sm_90 if all sides are large, and slower than fc_gemm_cuda if m or n is below about 200.
 * The bits differ from those of fc_gemm_cuda, so the caller must choose, in the same way for all pieces. Each
 * element is split into 11 and up to 13 significant bits, and the product of the lower halves is omitted:
 * relative to |A||B| each product is off by about 2^-22, and sums of 32 products are added in f32. So the
 * error is at most about that of sums in f32 (tests/filters/test_gemm_split_cuda.c); sums of up to 32
 * products are left to fc_gemm_cuda. NaN, infinities and the largest numbers give the same as there: a sum
 * that is not finite is computed again, one product after the other. The lower halves of elements below
 * 2^-100 are lost. A product in pieces is still the product computed whole, bit for bit, on the same kind of
 * device.
 *
 * `scratch`: fc_gemm_split_scratch bytes of device memory, aligned to 128, which depend on m, n and k alone:
 * the size of A and B, and the larger of them once more; in use until the stream has completed the product.
 * FC_UNSUPPORTED, with nothing enqueued, for f64, for empty products, and on devices other than sm_90 (where
 * mma.sync is no faster than plain f32): call fc_gemm_cuda then.
 */
FC_FILTERS_API size_t fc_gemm_split_scratch(const fc_gemm *g);
FC_FILTERS_API fc_status fc_gemm_split_cuda(const fc_gemm *g, void *scratch, void *stream);

FC_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * lowrank.h - decomposes a matrix into a sum of a few products of a column and a row.
 *
 * By cross approximation with complete pivoting: the largest remaining element, p at (r, c), gives the term
 * column_c * row_r / p, which is subtracted; and so on. The terms stay below 4 times the largest element of
 * the matrix, so that no digits are lost among them, and - unlike the factors of a singular value
 * decomposition, which needs the roots of things - they are exact where the matrix's ratios are: [1,2,1] by
 * [1,2,1] is recovered to the bit, and integers stay integers. An SVD would also give the best approximation
 * of lower rank, but only exact decompositions are needed here.
 *
 * Cost: rows * cols * rank.
 */
#ifndef FC_FILTERS_LOWRANK_H
#define FC_FILTERS_LOWRANK_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

/* How much may remain, relative to the sum of magnitudes, for the sum of terms to replace the matrix: the
 * error of rounding the taps to f32, and a few roundings in f64. */
#define FC_LOWRANK_F32 0x1p-24
#define FC_LOWRANK_F64 0x1p-50

/*
 * The least rank <= `most` whose terms leave at most `tolerance` times the sum of the
 * magnitudes of `matrix`, which is rows x cols, row-major and finite; 0 if there is
 * none, and 1 for a matrix of zeros. Then matrix[i][j] is the sum over t < rank of
 * column[t * rows + i] * row[t * cols + j]. `column` and `row` hold `most` vectors,
 * `rest` (scratch) rows * cols numbers.
 */
FC_FILTERS_API int fc_lowrank(const double *matrix, int64_t rows, int64_t cols, int most, double tolerance,
                              double *column, double *row, double *rest);

FC_END_DECLS

#endif

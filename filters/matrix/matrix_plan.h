/* SPDX-License-Identifier: MIT */
/*
 * matrix_plan.h - what is decided of a matrix along an axis on a GPU before anything is launched, as plain
 * functions of sizes, types and strides, which need no GPU: the kernel, the matrix products that the signal
 * is divided into, and where they lie in scratch memory. Internal to filters/.
 */
#ifndef FC_FILTERS_MATRIX_PLAN_H
#define FC_FILTERS_MATRIX_PLAN_H

#include "filters/gemm/gemm_plan.h"
#include "filters/matrix/matrix.h"

FC_BEGIN_DECLS

typedef enum fc_matrix_launch {
  FC_MATRIX_PIXELS,    /* 3 x 3, interleaved channels of f32, dense: a thread mixes four pixels */
  FC_MATRIX_BLOCKS_4,  /* up to 4 x 4: a thread multiplies a block in its registers */
  FC_MATRIX_BLOCKS_8,  /* up to 8 x 8 */
  FC_MATRIX_BLOCKS_16, /* up to 16 x 16 */
  FC_MATRIX_PRODUCTS   /* larger: matrix products (gemm/gemm.h) */
} fc_matrix_launch;

typedef struct fc_matrix_choice {
  fc_matrix_launch launch;
  double us; /* predicted for an H200 */
} fc_matrix_choice;

/* The first of the kernels from `first` on that takes these views. */
FC_FILTERS_API fc_matrix_choice fc_matrix_choose(const fc_matrix *m, const fc_view *in, const fc_view *out,
                                                 fc_matrix_launch first);

/* ---- products ---------------------------------------------------------------------- */

/* A position is a block along the axis at one place of the other axes: `cols` inputs, `rows` outputs. Inputs
 * that are not of the compute type are converted in scratch memory first, outputs there last. What needs
 * scratch is processed in pieces of so many positions, so that the memory is bounded:
 *
 *   0       from           to             work                bytes
 *   | inputs of a piece    | its outputs  | fc_gemm_work_most |
 */
typedef struct fc_matrix_layout {
  int64_t positions; /* of a piece, at most */
  size_t to, work, bytes;
} fc_matrix_layout;

/* Elements of a piece, of the input or the output: 64 MiB of f32. */
#define FC_MATRIX_PIECE (INT64_C(16) << 20)

/* For any type of the input, and any strides; `piece` is FC_MATRIX_PIECE, or less in tests. */
FC_FILTERS_API fc_matrix_layout fc_matrix_layout_of(const fc_matrix *m, const fc_view *out, int64_t piece);

/* A piece: the views of the signal, and those that are multiplied, in scratch memory where the type is
 * another. */
typedef struct fc_matrix_piece {
  fc_view in, out, from, to;
  int converts_in, converts_out;
} fc_matrix_piece;

typedef struct fc_matrix_pieces {
  fc_matrix_layout layout;
  int64_t take[FC_AXES], number[FC_AXES]; /* positions of a piece along each axis; pieces along it */
  int64_t count;
} fc_matrix_pieces;

/* Everything is one piece if it needs no scratch. */
FC_FILTERS_API fc_matrix_pieces fc_matrix_pieces_of(const fc_matrix *m, const fc_view *in, const fc_view *out,
                                                    int64_t piece);
FC_FILTERS_API fc_matrix_piece fc_matrix_piece_of(const fc_matrix *m, const fc_matrix_pieces *p,
                                                  int64_t index, const fc_view *in, const fc_view *out,
                                                  void *scratch);

/* One product along the dimension with the most positions, repeated for each position of the others, whose
 * numbers and distances in bytes are `size`, `in` and `out`. With an offset it is D. */
typedef struct fc_matrix_products {
  fc_gemm first;
  int64_t count;
  int64_t size[FC_AXES], in[FC_AXES], out[FC_AXES];
} fc_matrix_products;

/* Both views are of the compute type. */
FC_FILTERS_API fc_matrix_products fc_matrix_products_of(const fc_matrix *m, const fc_view *in,
                                                        const fc_view *out);
FC_FILTERS_API fc_gemm fc_matrix_product_at(const fc_matrix_products *p, int64_t index);

FC_END_DECLS

#endif

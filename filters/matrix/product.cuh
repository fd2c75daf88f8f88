// SPDX-License-Identifier: MIT
//
// product.cuh - a matrix along an axis as matrix products (gemm/gemm.h): where they are taken. Internal to
// filters/.
#ifndef FC_FILTERS_MATRIX_PRODUCT_CUH
#define FC_FILTERS_MATRIX_PRODUCT_CUH

#include "filters/matrix/walk.cuh"

// Whether products are taken: for elements of the type computed with, without offsets, always; for others
// where the matrix is large enough to pay for what is copied. It depends on the matrix, on types and on the
// kind of device alone.
bool fc_matrix_is_product(const fc_matrix *m, const fc_view *in, const fc_view *out);

// Device memory for the copies that fc_matrix_product makes of these views; 0 where it makes none.
size_t fc_matrix_product_scratch(const fc_matrix *m, const fc_view *in, const fc_view *out);

// `scratch`: as many bytes as the above says, aligned to 256.
fc_status fc_matrix_product(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                            char *scratch, cudaStream_t stream);

#endif

// SPDX-License-Identifier: MIT
//
// matrix_mix.cuh - mixing of one to four interleaved channels into as many, in f32, between
// samples of one type: u8, i16, u16 or f32. A thread takes as many neighbouring pixels as are a whole
// number of 16 bytes of each channel (pixel_tiles.cuh).
#ifndef FC_FILTERS_MATRIX_MIX_CUH
#define FC_FILTERS_MATRIX_MIX_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/matrix/matrix.h"

// Runs the mixing kernel if there is one for these views; FALSE, and no status, if not.
bool fc_matrix_mix_try(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                       cudaStream_t stream, fc_status *status);

#endif

// SPDX-License-Identifier: MIT
//
// matrix_mix.cuh - mixing of one to four interleaved channels into as many, in f32, between
// samples of one type: u8, i16, u16 or f32. A thread takes four neighbouring pixels,
// which are a whole number of 4-byte words whatever the type and the channels, and
// three such groups at a time to have enough loads under way.
#ifndef FC_FILTERS_MATRIX_MIX_CUH
#define FC_FILTERS_MATRIX_MIX_CUH

#include "filters/cuda.cuh"
#include "filters/matrix.h"

// Runs the mixing kernel if there is one for these views; FALSE, and no status, if not.
bool fc_matrix_mix_try(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                       cudaStream_t stream, fc_status *status);

#endif

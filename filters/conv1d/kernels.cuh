// SPDX-License-Identifier: MIT
//
// kernels.cuh - the kernels for short masks from which conv1d.cu chooses, each in the file of its name. All
// give the same bits. FC_UNSUPPORTED, with nothing enqueued, if a kernel does not support the views or the
// mask.
#ifndef FC_FILTERS_CONV1D_KERNELS_CUH
#define FC_FILTERS_CONV1D_KERNELS_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

// Supported: rows of at least some thousand bytes of one to four interleaved channels, computed in f32 with
// one mask of up to 128 taps, whose sums of bytes stay within a bound. Same bits as fc_conv1d_cuda; otherwise
// FC_UNSUPPORTED, with nothing done.
fc_status fc_conv1d_bytes(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes);

// Supported: columns of images whose rows are dense, in planes or with interleaved channels, of the types of
// tiles.cuh, with one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal. Same bits as
// fc_conv1d_cuda; otherwise FC_UNSUPPORTED, with nothing done.
fc_status fc_conv1d_columns(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream, uint32_t *notes);

// Supported: rows that are long enough, of three or four channels, of the types of tiles.cuh but not f32 on
// both sides, with one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal. Same bits as
// fc_conv1d_cuda; otherwise FC_UNSUPPORTED, with nothing done.
fc_status fc_conv1d_pixels(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           cudaStream_t stream, uint32_t *notes);

// Supported: rows that are long enough, of one channel or two interleaved, f32 in and out, with one mask of
// up to 128 taps. `edges`, unless NULL: `in` is the whole signal. Same bits as fc_conv1d_cuda; otherwise
// FC_UNSUPPORTED, with nothing done.
fc_status fc_conv1d_quads(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream);

// Supported: rows of up to 640 samples of u8, i16, u16 or f32, equally spaced, with interleaved channels or
// in planes, computed in f32 with one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal.
// Same bits as fc_conv1d_cuda; otherwise FC_UNSUPPORTED, with nothing done.
fc_status fc_conv1d_rows(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         cudaStream_t stream, uint32_t *notes);

// Supported: whole signals of u8, i16, u16 or f32, whose border is made here, computed in f32 with one mask
// of up to 128 taps. Same bits as fc_conv1d_cuda; otherwise FC_UNSUPPORTED, with nothing done.
fc_status fc_conv1d_single(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           cudaStream_t stream, uint32_t *notes);

// Supported: rows that are long enough, of one channel or two interleaved, of one of these types in and out
// or f32 on one side, with one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal. Same
// bits as fc_conv1d_cuda; otherwise FC_UNSUPPORTED, with nothing done.
fc_status fc_conv1d_tiles(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes);

// Supported: rows that are long enough, of three or four channels, f32 in and out, with one mask of up to 128
// taps. `edges`, unless NULL: `in` is the whole signal. Same bits as fc_conv1d_cuda; otherwise
// FC_UNSUPPORTED, with nothing done.
fc_status fc_conv1d_vectors(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream);

#endif

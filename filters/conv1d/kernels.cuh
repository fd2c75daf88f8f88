// SPDX-License-Identifier: MIT
//
// kernels.cuh - the kernels for short masks that conv1d.cu chooses from, each in the file of its name. All
// give the same bits. FC_UNSUPPORTED, with nothing enqueued, where a kernel is not for the views or the mask.
#ifndef FC_FILTERS_CONV1D_KERNELS_CUH
#define FC_FILTERS_CONV1D_KERNELS_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// some thousand bytes of one to four interleaved channels, computed with in f32 with one mask of up to 128
// taps, whose sums of bytes cannot be far from them.
fc_status fc_conv1d_bytes(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes);

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are columns
// of images whose rows are dense, in planes or with interleaved channels, of the types of tiles.cuh,
// with one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal.
fc_status fc_conv1d_columns(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream, uint32_t *notes);

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// some length, of three or four channels, of the types of tiles.cuh but f32 on both sides, with one
// mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal.
fc_status fc_conv1d_pixels(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           cudaStream_t stream, uint32_t *notes);

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// some length, of one channel or two interleaved, f32 in and out, with one mask of up to 128 taps. `edges`,
// unless NULL: `in` is the whole signal.
fc_status fc_conv1d_quads(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream);

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// up to 640 samples of u8, i16, u16 or f32, equally far apart, whose channels are interleaved or lie in
// planes, computed with in f32 with one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole
// signal.
fc_status fc_conv1d_rows(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         cudaStream_t stream, uint32_t *notes);

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are whole
// signals of u8, i16, u16 or f32, whose border is to be made, computed with in f32 with one mask of up to 128
// taps.
fc_status fc_conv1d_single(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           cudaStream_t stream, uint32_t *notes);

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// some length, of one channel or two interleaved, of one of these types in and out or f32 on one side, with
// one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal.
fc_status fc_conv1d_tiles(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes);

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// some length, of three or four channels, f32 in and out, with one mask of up to 128 taps. `edges`, unless
// NULL: `in` is the whole signal.
fc_status fc_conv1d_vectors(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream);

#endif

// SPDX-License-Identifier: MIT
//
// conv2d.cu - dense 2-D filters on a CUDA device.
//
// Most are composed (filters/gpu/march.cuh). 3 x 3 of u8 marches in bands (conv2d/bytes.cu). choice.c has the
// table.
//
// Where nothing is composed, all else is computed by the tiles of tiles.cuh: 8 vertically adjacent outputs
// per thread, which share what is read of a row. The order of sums is the same in all kernels.
#include "filters/filter2d/conv2d.h"
#include "filters/filter2d/conv2d/kernels.cuh"
#include "filters/filter2d/march.cuh"
#include "filters/filter2d/tiles.cuh"

namespace {

// ---- any layout, type and mask ---------------------------------------------

template <typename F> struct long_mask {
  const F *mask;
  int64_t nx, ny;
};

// Adds the sums of one run of the mask, its taps [j, j_end) x [i, i_end), to the totals.
template <typename F, typename T>
__device__ __forceinline__ void add_run(const fc_tiles<F> &t, const fc_tile_place &p, const long_mask<F> &m,
                                        int64_t j, int64_t j_end, int64_t i, int64_t i_end,
                                        F (&total)[FC_TILE_ROWS]) {
  F sum[FC_TILE_ROWS] = {};
  for (int64_t q = j; q < j_end + p.rows - 1; q++) {
    const char *at = t.in.at(p.n, p.y + q, p.x + i, p.c);
    for (int64_t k = i; k < i_end; k++, at += t.in.stride[FC_AXIS_X]) {
      const F v = fc_dev_load<F, T>(at, t.in_map);
#pragma unroll
      for (int r = 0; r < FC_TILE_ROWS; r++)
        if (q >= j + r && q < j_end + r) sum[r] = fc_tile_fma(__ldg(m.mask + (q - r) * m.nx + k), v, sum[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < FC_TILE_ROWS; r++) total[r] += sum[r];
}

template <typename F, typename T>
__global__ void __launch_bounds__(FC_TILE_THREADS) conv2d_tile(const fc_tiles<F> t, const long_mask<F> m) {
  const int64_t wide = m.nx < FC_CONV2D_RUN ? m.nx : FC_CONV2D_RUN, high = FC_CONV2D_RUN / wide;
  for (int64_t tile = blockIdx.x; tile < t.count; tile += gridDim.x) {
    const fc_tile_place p = fc_tile_at(t, tile);
    if (p.rows == 0) continue;
    F total[FC_TILE_ROWS] = {};
    for (int64_t j = 0; j < m.ny; j += high)
      for (int64_t i = 0; i < m.nx; i += wide)
        add_run<F, T>(t, p, m, j, j + high < m.ny ? j + high : m.ny, i, i + wide < m.nx ? i + wide : m.nx,
                      total);
    fc_tile_store(t, p, total);
  }
}

template <typename F>
fc_status run_tiles(const fc_conv2d *op, const fc_view *in, const fc_view *out, cudaStream_t stream,
                    uint32_t *notes) {
  const fc_tiles<F> t = fc_tiles_of<F>(in, out, op->nx, op->ny, notes);
  const long_mask<F> mask = {static_cast<const F *>(op->device_mask), op->nx, op->ny};
  return fc_dispatch_dtype(in->dtype, [&](auto sample) {
    conv2d_tile<F, decltype(sample)>
        <<<fc_blocks(t.count, 1, INT32_MAX), FC_TILE_THREADS, 0, stream>>>(t, mask);
    return fc_launch_status();
  });
}

fc_status run(const fc_conv2d *op, const fc_view *in, const fc_edges *edges, const fc_view *out,
              cudaStream_t s, uint32_t *notes) {
  const fc_case2d c = fc_conv2d_case(op, in, edges, out);
  return fc_march_run(c, in, edges, out, notes, [&](fc_kernel2d kernel, const fc_march &m) {
    switch (kernel) {
    case FC_KERNEL2D_BYTES: return fc_conv2d_bytes(op, m, s);
    default: break;
    }
    return fc_dispatch_compute(op->compute,
                               [&](auto f) { return run_tiles<decltype(f)>(op, in, out, s, notes); });
  });
}

} // namespace

extern "C" fc_status fc_conv2d_cuda(const fc_conv2d *op, const fc_view *in, const fc_view *out, void *stream,
                                    uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  return run(op, in, nullptr, out, static_cast<cudaStream_t>(stream), notes);
}

extern "C" fc_status fc_conv2d_cuda_edges(const fc_conv2d *op, const fc_view *in, const fc_edges *edges,
                                          const fc_view *out, void *stream, uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  return run(op, in, edges, out, static_cast<cudaStream_t>(stream), notes);
}

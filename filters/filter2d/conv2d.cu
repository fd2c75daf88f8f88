// SPDX-License-Identifier: MIT
//
// conv2d.cu - dense 2-D filters on a CUDA device.
//
// The marching kernel (march.cuh) is for f32 and square masks of 3, 5, ... 15 taps a side: a lane reads the
// window of each new row once from shared memory and adds its products to the K sums per column that the row
// contributes to, all in registers. Taps are operands from constant memory. The number of unrolled rows is
// limited by the instruction cache.
//
// From f32 to f32 it marches in wider bands (conv2d/floats.cu), and so does u8 (conv2d/bytes.cu). Images of
// few rows whose border the kernel makes do not march (conv2d/thin.cu), nor do narrow images and batches of
// small ones (conv2d/narrow.cu).
//
// Everything else is computed by the tiles of tiles.cuh: 8 vertically adjacent outputs per thread, which
// share what is read of a row. The order of sums is the same in all kernels.
#include "filters/filter2d/conv2d.h"
#include "filters/filter2d/conv2d/floats.cuh"
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

// ---- marching ----------------------------------------------------------------

template <int K> struct mask_of { float tap[K][K]; };

// Unrolled rows, about 1500 multiply-adds; and the minimum of resident blocks per multiprocessor, which
// limits the registers per thread.
template <int K> struct batch_of {
  static constexpr int rows = K <= 7 ? 8 : K <= 9 ? 4 : 2, blocks = K <= 3 ? 8 : K <= 5 ? 6 : K <= 7 ? 4 : 3;
};

// Adds one row, read from `s` on (aligned to 16 bytes), to the sums it contributes to: tap row j to those of
// the output j rows above.
template <int K, int STEP, int SUMS>
__device__ __forceinline__ void scatter(int u, const mask_of<K> &mask, const float *s,
                                        float (&sum)[SUMS][4]) {
  constexpr int QUADS = ((K - 1) * STEP + 4 + 3) / 4;
  float w[4 * QUADS];
#pragma unroll
  for (int i = 0; i < K; i++) {
#pragma unroll
    for (int q = 0; q < QUADS; q++) { // loads the quads that no earlier tap needed
      const bool now = 4 * q <= i * STEP + 3 && (i == 0 || 4 * q > (i - 1) * STEP + 3);
      if (!now) continue;
      const float4 v = *reinterpret_cast<const float4 *>(s + 4 * q);
      w[4 * q] = v.x, w[4 * q + 1] = v.y, w[4 * q + 2] = v.z, w[4 * q + 3] = v.w;
    }
#pragma unroll
    for (int j = 0; j < K; j++)
#pragma unroll
      for (int p = 0; p < 4; p++)
        sum[u + K - 1 - j][p] = fmaf(mask.tap[j][i], w[i * STEP + p], sum[u + K - 1 - j][p]);
  }
}

template <int BATCH>
__device__ __forceinline__ void fetch(const fc_march &m, const fc_march_way &way, int64_t q, int64_t end,
                                      uint32_t *raw) {
  if (way.ends) {
    const int rows = static_cast<int>(end - q < BATCH ? end - q : BATCH);
    fc_march_call_ends<BATCH>(way.in + q * m.in_row, m.in_row, way.elements * m.in_size, rows, raw,
                              m.raw_pitch);
    fc_commit_copies();
  } else {
    fc_march_fetch_inner<BATCH>(m, way, q, end, raw);
  }
}

// Computes one warp's strip. Capacities: `raw` two batches in the input's type, `room` one batch as floats
// (unused if the input is f32), `done` the sums of one batch.
template <int K, int STEP>
__device__ __forceinline__ void march(const fc_march &m, const fc_march_way &way, const mask_of<K> &mask,
                                      uint32_t *raw, float *room, float *done) {
  constexpr int BATCH = batch_of<K>::rows, SUMS = K - 1 + BATCH;
  const int lane = threadIdx.x % 32;
  const int64_t end = way.count + K - 1;
  const bool direct = m.quads && m.out_dtype == FC_F32;
  float sum[SUMS][4];
#pragma unroll
  for (int i = 0; i < SUMS; i++) sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = 0;
  fetch<BATCH>(m, way, 0, end, raw);
  for (int64_t q = 0; q < end; q += BATCH) {
    uint32_t *now = raw + (q / BATCH % 2) * BATCH * m.raw_pitch,
             *next = raw + (q / BATCH % 2 ^ 1) * BATCH * m.raw_pitch;
    fc_await_copies();
    __syncwarp();
    fetch<BATCH>(m, way, q + BATCH, end, next);
    const float *rows = fc_march_rows<BATCH>(m, way, q, now, room) + 4 * lane;
#pragma unroll
    for (int u = 0; u < BATCH; u++) {
      scatter<K, STEP, SUMS>(u, mask, rows + u * m.row_pitch, sum);
      const float4 v = make_float4(sum[u][0], sum[u][1], sum[u][2], sum[u][3]);
      if (direct)
        fc_march_put(m, way, q + u - (K - 1), v);
      else
        *reinterpret_cast<float4 *>(done + u * FC_MARCH_WIDTH + 4 * lane) = v;
    }
    if (!direct) fc_march_store<BATCH>(m, way, q - (K - 1), done);
#pragma unroll
    for (int i = 0; i < SUMS; i++)
#pragma unroll
      for (int p = 0; p < 4; p++) sum[i][p] = i < K - 1 ? sum[i + BATCH < SUMS ? i + BATCH : 0][p] : 0;
  }
}

template <int K, int STEP>
__global__ void __launch_bounds__(32 * FC_MARCH_WARPS, batch_of<K>::blocks)
    conv2d_march(const __grid_constant__ fc_march m, const __grid_constant__ mask_of<K> mask) {
  constexpr int BATCH = batch_of<K>::rows;
  extern __shared__ __align__(16) unsigned char memory[];
  fc_march_way way;
  if (!fc_march_begin(m, &way)) return;
  uint32_t *raw = reinterpret_cast<uint32_t *>(memory) + (threadIdx.x / 32) * m.warp_words;
  float *room = reinterpret_cast<float *>(raw + 2 * BATCH * m.raw_pitch);
  march<K, STEP>(m, way, mask, raw, room, m.in_dtype == FC_F32 ? room : room + BATCH * m.row_pitch);
}

template <int K> fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  const int rows = 2 * m.raw_pitch + (m.in_dtype == FC_F32 ? 0 : m.row_pitch);
  const int words = batch_of<K>::rows * (rows + FC_MARCH_WIDTH);
  mask_of<K> mask;
  for (int i = 0; i < K * K; i++) mask.tap[i / K][i % K] = static_cast<const float *>(op->mask)[i];
  switch (m.step) {
  case 1: return fc_march_launch(conv2d_march<K, 1>, m, mask, words, 0, K, stream);
  case 3: return fc_march_launch(conv2d_march<K, 3>, m, mask, words, 0, K, stream);
  case 4: return fc_march_launch(conv2d_march<K, 4>, m, mask, words, 0, K, stream);
  default: return FC_UNSUPPORTED;
  }
}

// FC_UNSUPPORTED if there is no kernel for this mask.
fc_status run_march(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  if (op->nx != op->ny || fc_march_one_wide(m)) return FC_UNSUPPORTED;
  switch (op->nx) {
  case 3: return launch<3>(op, m, stream);
  case 5: return launch<5>(op, m, stream);
  case 7: return launch<7>(op, m, stream);
  case 9: return launch<9>(op, m, stream);
  case 11: return launch<11>(op, m, stream);
  case 13: return launch<13>(op, m, stream);
  case 15: return launch<15>(op, m, stream);
  default: return FC_UNSUPPORTED;
  }
}

// Kernels in the order in which they are tried: for inputs that contain their border, and for those whose
// border the kernel makes.
using way_of = fc_status (*)(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);
const way_of with_border[] = {fc_conv2d_narrow_bytes, fc_conv2d_narrow, fc_conv2d_floats, fc_conv2d_bytes,
                              run_march};
const way_of to_edges[] = {fc_conv2d_narrow_bytes, fc_conv2d_narrow, fc_conv2d_line,
                           fc_conv2d_line_bytes,   fc_conv2d_thin,   fc_conv2d_thin_bytes,
                           fc_conv2d_floats,       fc_conv2d_bytes};

template <int N>
fc_status run_first(const way_of (&ways)[N], const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  fc_status status = FC_UNSUPPORTED;
  for (int i = 0; i < N && status == FC_UNSUPPORTED; i++) status = ways[i](op, m, stream);
  return status;
}

} // namespace

extern "C" fc_status fc_conv2d_cuda(const fc_conv2d *op, const fc_view *in, const fc_view *out, void *stream,
                                    uint32_t *notes) {
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  fc_march m;
  if (fc_view_count(out) == 0) return FC_OK;
  if (op->compute == FC_F32 && fc_march_plan(&m, in, out, op->nx, op->ny, notes)) {
    const fc_status status = run_first(with_border, op, m, s);
    if (status != FC_UNSUPPORTED) return status;
  }
  return fc_dispatch_compute(op->compute,
                             [&](auto f) { return run_tiles<decltype(f)>(op, in, out, s, notes); });
}

extern "C" fc_status fc_conv2d_cuda_edges(const fc_conv2d *op, const fc_view *in, const fc_edges *edges,
                                          const fc_view *out, void *stream, uint32_t *notes) {
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  fc_march m;
  if (fc_view_count(out) == 0) return FC_OK;
  if (!fc_march_plan_edges(&m, op->compute, in, edges, out, op->nx, op->ny, notes)) return FC_UNSUPPORTED;
  return run_first(to_edges, op, m, s);
}

// SPDX-License-Identifier: MIT
//
// sepconv.cu - separable 2-D filters on a CUDA device, both passes in one kernel.
//
// Most are composed (filters/gpu/march.cuh). Kernels that are faster for their cases are asked first
// (choice.c): bands (band.cuh) of f32 by many taps, sepconv/floats.cu, and of u8 to u8,
// sepconv/quads_bytes.cu and sepconv/bytes.cu.
//
// The marching kernel (march.cuh) takes masks of several terms, and others where nothing is composed, of up
// to 31 rows and windows up to 125 elements wide: each new row is summed horizontally from shared memory, 4
// outputs per lane, and the result is added to the sums per column that it contributes to, which are in
// registers, for 7, 15 or 31 taps at most. A step of the march is 8 rows, all unrolled, after which each sum
// is renamed to the one 8 rows before. Taps are read from shared memory.
//
// Everything else is computed by the tiles of tiles.cuh: 8 vertically adjacent outputs per thread. Every
// thread sums each row horizontally for itself, or, of large masks, reads the sums that a kernel before has
// put into scratch. The order of sums is the same in all kernels but those for bytes.
#include "filters/filter2d/march.cuh"
#include "filters/filter2d/tiles.cuh"
#include "filters/filter2d/sepconv.h"
#include "filters/filter2d/sepconv/band.cuh"

namespace {

// ---- any layout, type and mask ---------------------------------------------

template <typename F> struct long_taps {
  const F *x, *y;
  int64_t nx, ny, rank;
};

template <typename F, typename T>
__device__ __forceinline__ F sum_along(const char *at, int64_t step, const F *x, int64_t nx,
                                       fc_dev_map<F> map) {
  F total = 0;
  for (int64_t begin = 0; begin < nx; begin += FC_SEPCONV_RUN) {
    const int64_t end = nx - begin < FC_SEPCONV_RUN ? nx : begin + FC_SEPCONV_RUN;
    F sum = 0;
    for (int64_t i = begin; i < end; i++, at += step)
      sum = fc_tile_fma(__ldg(x + i), fc_dev_load<F, T>(at, map), sum);
    total += sum;
  }
  return total;
}

// The sums along a row of the input, of one term: computed by each thread that needs them, ...
template <typename F, typename T> struct sums_made {
  __device__ __forceinline__ F operator()(const fc_tiles<F> &t, const long_taps<F> &taps,
                                          const fc_tile_place &p, int64_t q, int64_t k) const {
    return sum_along<F, T>(t.in.at(p.n, p.y + q, p.x, p.c), t.in.stride[FC_AXIS_X], taps.x + k * taps.nx,
                           taps.nx, t.in_map);
  }
};

// ... or once, by the kernel before: taps.rank times the images, dense, in the order in which the tiles go
// along a row.
template <typename F> struct sums_kept {
  const F *sums;
  __device__ __forceinline__ F operator()(const fc_tiles<F> &t, const long_taps<F> &taps,
                                          const fc_tile_place &p, int64_t q, int64_t k) const {
    const int64_t width = t.out.shape[FC_AXIS_X], channels = t.out.shape[FC_AXIS_C];
    const int64_t rows = t.out.shape[FC_AXIS_Y] + taps.ny - 1;
    const int64_t e = t.by_channel ? p.x * channels + p.c : p.c * width + p.x;
    return sums[((k * t.out.shape[FC_AXIS_N] + p.n) * rows + p.y + q) * width * channels + e];
  }
};

template <typename F, typename T>
__global__ void __launch_bounds__(FC_TILE_THREADS)
    sepconv_along(const fc_tiles<F> t, const long_taps<F> taps, F *sums) {
  const int64_t width = t.out.shape[FC_AXIS_X], channels = t.out.shape[FC_AXIS_C], row = width * channels;
  const int64_t rows = t.out.shape[FC_AXIS_Y] + taps.ny - 1, lines = t.out.shape[FC_AXIS_N] * rows;
  for (int64_t line = blockIdx.y; line < lines * taps.rank; line += gridDim.y) {
    const int64_t k = line / lines, n = line % lines / rows, y = line % rows;
    for (int64_t e = blockIdx.x * static_cast<int64_t>(FC_TILE_THREADS) + threadIdx.x; e < row;
         e += static_cast<int64_t>(gridDim.x) * FC_TILE_THREADS) {
      const int64_t x = t.by_channel ? e / channels : e % width, c = t.by_channel ? e % channels : e / width;
      sums[line * row + e] = sum_along<F, T>(t.in.at(n, y, x, c), t.in.stride[FC_AXIS_X],
                                             taps.x + k * taps.nx, taps.nx, t.in_map);
    }
  }
}

template <typename F, typename Sums>
__global__ void __launch_bounds__(FC_TILE_THREADS)
    sepconv_tile(const fc_tiles<F> t, const long_taps<F> taps, const Sums sums) {
  for (int64_t tile = blockIdx.x; tile < t.count; tile += gridDim.x) {
    const fc_tile_place p = fc_tile_at(t, tile);
    if (p.rows == 0) continue;
    F total[FC_TILE_ROWS] = {}, sum[FC_TILE_ROWS] = {};
    for (int64_t q = 0; q < taps.ny + p.rows - 1; q++) {
      for (int64_t k = 0; k < taps.rank; k++) {
        const F v = sums(t, taps, p, q, k);
        const F *y = taps.y + k * taps.ny;
#pragma unroll
        for (int r = 0; r < FC_TILE_ROWS; r++)
          if (q >= r && q - r < taps.ny) sum[r] = fc_tile_fma(__ldg(y + (q - r)), v, sum[r]);
      }
#pragma unroll
      for (int r = 0; r < FC_TILE_ROWS; r++) // at the end of a run, or of the mask
        if (q >= r && ((q - r) % FC_SEPCONV_RUN == FC_SEPCONV_RUN - 1 || q - r == taps.ny - 1))
          total[r] += sum[r], sum[r] = 0;
    }
    fc_tile_store(t, p, total);
  }
}

// `sums` NULL: in one kernel.
template <typename F>
fc_status run_tiles(const fc_sepconv *op, const fc_view *in, const fc_view *out, F *sums, cudaStream_t stream,
                    uint32_t *notes) {
  const fc_tiles<F> t = fc_tiles_of<F>(in, out, op->nx, op->ny, notes);
  const long_taps<F> taps = {static_cast<const F *>(op->device_x), static_cast<const F *>(op->device_y),
                             op->nx, op->ny, op->rank};
  const int blocks = fc_blocks(t.count, 1, INT32_MAX);
  return fc_dispatch_dtype(in->dtype, [&](auto sample) {
    using T = decltype(sample);
    if (!sums) {
      sepconv_tile<F><<<blocks, FC_TILE_THREADS, 0, stream>>>(t, taps, sums_made<F, T>{});
      return fc_launch_status();
    }
    const int64_t rows = out->shape[FC_AXIS_N] * (out->shape[FC_AXIS_Y] + op->ny - 1) * op->rank;
    const dim3 grid(fc_blocks(out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C], FC_TILE_THREADS, INT32_MAX),
                    fc_blocks(rows, 1, 65535));
    sepconv_along<F, T><<<grid, FC_TILE_THREADS, 0, stream>>>(t, taps, sums);
    sepconv_tile<F><<<blocks, FC_TILE_THREADS, 0, stream>>>(t, taps, sums_kept<F>{sums});
    return fc_launch_status();
  });
}

// ---- marching ----------------------------------------------------------------

constexpr int BATCH = 8;

struct taps {
  int nx, ny, rank;
  float x[FC_SEPCONV_RANKS][FC_MARCH_MARGIN + 4]; // zero-padded to a multiple of 4
  float y[FC_SEPCONV_RANKS][FC_SEPCONV_TAPS + 1];
};

// The taps in shared memory, for indices not known at compile time.
struct shared_taps {
  alignas(16) float x[FC_SEPCONV_RANKS][FC_MARCH_MARGIN + 4], y[FC_SEPCONV_RANKS][FC_SEPCONV_TAPS + 1];
};

// Sums a batch of rows horizontally: the lane's 4 sums of row u and term k are stored at along[(k * BATCH +
// u) * 128 + 4 * lane].
template <int STEP>
__device__ __forceinline__ void batch_any(const fc_march &m, const taps &t, const shared_taps &shared,
                                          const float *rows, float *along) {
#pragma unroll 1
  for (int k = 0; k < t.rank; k++)
#pragma unroll 1
    for (int u = 0; u < BATCH; u++)
      *reinterpret_cast<float4 *>(along + (k * BATCH + u) * FC_MARCH_WIDTH) =
          fc_add_along<STEP>(rows + u * m.row_pitch, shared.x[k], t.nx, make_float4(0, 0, 0, 0));
}

__device__ __forceinline__ void batch_along(const fc_march &m, const taps &t, const shared_taps &shared,
                                            const float *rows, float *along) {
  switch (m.step) {
  case 1: batch_any<1>(m, t, shared, rows, along); break;
  case 2: batch_any<2>(m, t, shared, rows, along); break;
  case 3: batch_any<3>(m, t, shared, rows, along); break;
  default: batch_any<4>(m, t, shared, rows, along); break;
  }
}

// Adds row u of a batch to the sums it contributes to: the last tap to sum[u], those before it to the next
// ones. A mask has up to MOST taps.
template <int MOST>
__device__ __forceinline__ void scatter(int u, const taps &t, const shared_taps &shared, const float *along,
                                        float4 (&sum)[MOST - 1 + BATCH]) {
#pragma unroll 1
  for (int k = 0; k < t.rank; k++) {
    const float4 v = *reinterpret_cast<const float4 *>(along + (k * BATCH + u) * FC_MARCH_WIDTH);
    const float *last = shared.y[k] + t.ny - 1;
#pragma unroll
    for (int i = 0; i < MOST; i++)
      if (i < t.ny) fc_fma4(last[-i], v.x, v.y, v.z, v.w, sum[u + i]);
  }
}

// Computes one warp's strip. Capacities: `raw` two batches in the input's type, `room` one batch as floats
// (unused if the input is f32), `along` the horizontal sums of one batch for each term.
template <int MOST>
__device__ __forceinline__ void march(const fc_march &m, const fc_march_way &way, const taps &t,
                                      const shared_taps &shared, uint32_t *raw, float *room, float *along) {
  const int lane = threadIdx.x % 32;
  const int64_t end = way.count + t.ny - 1;
  const bool direct = m.quads && m.out_dtype == FC_F32;
  float4 sum[MOST - 1 + BATCH];
#pragma unroll
  for (int i = 0; i < MOST - 1 + BATCH; i++) sum[i] = make_float4(0, 0, 0, 0);
  fc_march_fetch<BATCH>(m, way, 0, end, raw);
  for (int64_t q = 0; q < end; q += BATCH) {
    uint32_t *now = raw + (q / BATCH % 2) * BATCH * m.raw_pitch,
             *next = raw + (q / BATCH % 2 ^ 1) * BATCH * m.raw_pitch;
    fc_await_copies();
    __syncwarp();
    fc_march_fetch<BATCH>(m, way, q + BATCH, end, next);
    const float *rows = fc_march_rows<BATCH>(m, way, q, now, room);
    batch_along(m, t, shared, rows + 4 * lane, along + 4 * lane);
#pragma unroll
    for (int u = 0; u < BATCH; u++) {
      scatter<MOST>(u, t, shared, along + 4 * lane, sum);
      if (direct)
        fc_march_put(m, way, q + u - (t.ny - 1), sum[u]);
      else
        *reinterpret_cast<float4 *>(along + u * FC_MARCH_WIDTH + 4 * lane) = sum[u];
    }
    if (!direct) fc_march_store<BATCH>(m, way, q - (t.ny - 1), along);
#pragma unroll
    for (int i = 0; i < MOST - 1 + BATCH; i++)
      sum[i] = i < MOST - 1 ? sum[i + BATCH] : make_float4(0, 0, 0, 0);
  }
}

template <int MOST>
__global__ void __launch_bounds__(32 * FC_MARCH_WARPS)
    sepconv_march(const __grid_constant__ fc_march m, const __grid_constant__ taps t) {
  extern __shared__ __align__(16) unsigned char memory[];
  shared_taps &shared = *reinterpret_cast<shared_taps *>(memory);
  for (int i = threadIdx.x; i < FC_SEPCONV_RANKS * (FC_MARCH_MARGIN + 4); i += blockDim.x)
    (&shared.x[0][0])[i] = (&t.x[0][0])[i];
  for (int i = threadIdx.x; i < FC_SEPCONV_RANKS * (FC_SEPCONV_TAPS + 1); i += blockDim.x)
    (&shared.y[0][0])[i] = (&t.y[0][0])[i];
  __syncthreads();
  fc_march_way way;
  if (!fc_march_begin(m, &way)) return;
  uint32_t *raw =
      reinterpret_cast<uint32_t *>(memory + sizeof(shared_taps)) + (threadIdx.x / 32) * m.warp_words;
  float *room = reinterpret_cast<float *>(raw + 2 * BATCH * m.raw_pitch);
  float *along = m.in_dtype == FC_F32 ? room : room + BATCH * m.row_pitch;
  march<MOST>(m, way, t, shared, raw, room, along);
}

template <int MOST> fc_status launch(const fc_march &m, const taps &t, cudaStream_t stream) {
  const int rows = 2 * m.raw_pitch + (m.in_dtype == FC_F32 ? 0 : m.row_pitch);
  const int words = BATCH * (rows + t.rank * FC_MARCH_WIDTH), common = sizeof(shared_taps);
  return fc_march_launch(sepconv_march<MOST>, m, t, words, common, t.ny, stream);
}

// The taps as kernel argument, for at most FC_SEPCONV_TAPS vertically and FC_MARCH_MARGIN horizontally.
taps taps_of(const fc_sepconv *op) {
  taps t = {};
  t.nx = static_cast<int>(op->nx), t.ny = static_cast<int>(op->ny), t.rank = op->rank;
  const float *x = static_cast<const float *>(op->x), *y = static_cast<const float *>(op->y);
  for (int k = 0; k < FC_SEPCONV_RANKS && k < op->rank; k++) {
    for (int i = 0; i < FC_MARCH_MARGIN && i < op->nx; i++) t.x[k][i] = x[k * op->nx + i];
    for (int j = 0; j < FC_SEPCONV_TAPS && j < op->ny; j++) t.y[k][j] = y[k * op->ny + j];
  }
  return t;
}

fc_status run_march(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const taps t = taps_of(op);
  return t.ny <= 7    ? launch<7>(m, t, stream)
         : t.ny <= 15 ? launch<15>(m, t, stream)
                      : launch<FC_SEPCONV_TAPS>(m, t, stream);
}

} // namespace

// Of one kernel, each thread sums ny + 7 rows for 8 outputs; of two, (rows + ny - 1) / rows for one. The
// second costs two accesses of memory an output, about as much as 32 taps.
extern "C" size_t fc_sepconv_cuda_scratch(const fc_sepconv *op, const fc_view *out) {
  if (op->compute == FC_F32 && op->ny <= FC_SEPCONV_TAPS && op->nx <= FC_MARCH_MARGIN) return 0;
  const double rows = static_cast<double>(out->shape[FC_AXIS_Y]), nx = static_cast<double>(op->nx),
               ny = static_cast<double>(op->ny), all = rows + ny - 1;
  if (rows < 1 || (ny + FC_TILE_ROWS - 1) / FC_TILE_ROWS * nx < all / rows * nx + 32) return 0;
  return static_cast<size_t>(out->shape[FC_AXIS_N] * out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C] *
                             (out->shape[FC_AXIS_Y] + op->ny - 1) * op->rank) *
         fc_dtype_size(op->compute);
}

namespace {

fc_status run(const fc_sepconv *op, const fc_view *in, const fc_edges *edges, const fc_view *out,
              void *scratch, cudaStream_t s, uint32_t *notes) {
  const fc_case2d c = fc_sepconv_case(op, in, edges, out);
  return fc_march_run(c, in, edges, out, notes, [&](fc_kernel2d kernel, const fc_march &m) {
    switch (kernel) {
    case FC_KERNEL2D_FLOATS: return fc_sepconv_floats(op, m, s);
    case FC_KERNEL2D_QUADS_BYTES: return fc_sepconv_quads_bytes(op, m, s);
    case FC_KERNEL2D_BYTES: return fc_sepconv_bytes(op, m, s);
    case FC_KERNEL2D_MARCH: return run_march(op, m, s);
    default: break;
    }
    void *sums = fc_sepconv_cuda_scratch(op, out) > 0 ? scratch : nullptr;
    return fc_dispatch_compute(op->compute, [&](auto f) {
      return run_tiles(op, in, out, static_cast<decltype(f) *>(sums), s, notes);
    });
  });
}

} // namespace

extern "C" fc_status fc_sepconv_cuda(const fc_sepconv *op, const fc_view *in, const fc_view *out,
                                     void *scratch, void *stream, uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  return run(op, in, nullptr, out, scratch, static_cast<cudaStream_t>(stream), notes);
}

extern "C" fc_status fc_sepconv_cuda_edges(const fc_sepconv *op, const fc_view *in, const fc_edges *edges,
                                           const fc_view *out, void *stream, uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  return run(op, in, edges, out, nullptr, static_cast<cudaStream_t>(stream), notes);
}

// SPDX-License-Identifier: MIT
//
// equalize.cu - equalize.h on a CUDA device, in three steps: counts by atomics, for bytes in shared memory
// first; a block per channel makes the table, summing the counts in the order of codes; and codes are
// replaced. Counts are integers, so the order of additions does not change the result.
#include "filters/gpu/cuda.cuh"
#include "filters/histogram/equalize.h"

namespace {

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) clear(unsigned *counts, int64_t count) {
  for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * THREADS)
    counts[i] = 0;
}

// blockIdx.y is the plane: channel c of frame n is plane n * channels + c.
template <typename T>
__global__ void __launch_bounds__(THREADS) equalize_count(fc_dev_view in, unsigned *counts, unsigned codes) {
  __shared__ unsigned own[256];
  const int64_t channels = in.shape[FC_AXIS_C], width = in.shape[FC_AXIS_X];
  const int64_t samples = width * in.shape[FC_AXIS_Y], planes = in.shape[FC_AXIS_N] * channels;
  for (int64_t plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    unsigned *mine = counts + plane * codes;
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < samples;
         i += static_cast<int64_t>(gridDim.x) * THREADS) {
      const T code =
          *reinterpret_cast<const T *>(in.at(plane / channels, i / width, i % width, plane % channels));
      atomicAdd(sizeof(T) == 1 ? &own[code & 255] : &mine[code], 1u);
    }
    __syncthreads();
    if (sizeof(T) == 1 && own[threadIdx.x]) atomicAdd(&mine[threadIdx.x], own[threadIdx.x]);
    __syncthreads();
  }
}

// Replaces the counts by the table; each thread processes a range of codes.
__global__ void __launch_bounds__(THREADS)
    tabulate(unsigned *counts, unsigned codes, unsigned white, int64_t planes) {
  __shared__ unsigned long long sums[THREADS];
  __shared__ unsigned last[THREADS];
  const unsigned each = codes / THREADS, first = threadIdx.x * each;
  for (int64_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
    unsigned *mine = counts + plane * codes + first;
    unsigned long long sum = 0, below = 0, all = 0;
    unsigned largest = 0;
    for (unsigned i = 0; i < each; i++) {
      sum += mine[i];
      if (mine[i]) largest = mine[i];
    }
    sums[threadIdx.x] = sum, last[threadIdx.x] = largest;
    __syncthreads();
    largest = 0;
    for (unsigned t = 0; t < THREADS; t++) {
      if (t < threadIdx.x) below += sums[t];
      all += sums[t];
      if (last[t]) largest = last[t];
    }
    for (unsigned i = 0; i < each; i++) {
      const unsigned here = mine[i];
      mine[i] = fc_equalize_code(first + i, below, all - largest, white);
      below += here;
    }
    __syncthreads();
  }
}

// Replaces the counts by Otsu's table: each thread finds the best threshold of its range of codes, then the
// first of the best is taken.
__global__ void __launch_bounds__(THREADS)
    tabulate_otsu(unsigned *counts, unsigned codes, fc_equalize e, int64_t planes) {
  __shared__ unsigned long long numbers[THREADS], sums[THREADS];
  __shared__ double best[THREADS];
  __shared__ unsigned at[THREADS];
  const unsigned each = codes / THREADS, first = threadIdx.x * each;
  for (int64_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
    unsigned *mine = counts + plane * codes + first;
    unsigned long long n = 0, s = 0, n0 = 0, s0 = 0;
    for (unsigned i = 0; i < each; i++)
      n += mine[i], s += static_cast<unsigned long long>(first + i) * mine[i];
    numbers[threadIdx.x] = n, sums[threadIdx.x] = s;
    __syncthreads();
    n = s = 0;
    for (unsigned t = 0; t < THREADS; t++) {
      if (t == threadIdx.x) n0 = n, s0 = s;
      n += numbers[t], s += sums[t];
    }
    double most = 0;
    unsigned level = codes - 1;
    for (unsigned i = 0; i < each; i++) {
      n0 += mine[i], s0 += static_cast<unsigned long long>(first + i) * mine[i];
      const double variance = fc_otsu_variance(n0, s0, n, s);
      if (variance > most) most = variance, level = first + i;
    }
    best[threadIdx.x] = most, at[threadIdx.x] = level;
    __syncthreads();
    most = 0, level = codes - 1;
    for (unsigned t = 0; t < THREADS; t++)
      if (best[t] > most) most = best[t], level = at[t];
    for (unsigned i = 0; i < each; i++) mine[i] = fc_otsu_code(first + i, level, &e);
    __syncthreads();
  }
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    replace(fc_dev_view in, fc_dev_view out, const unsigned *table, unsigned codes) {
  const int64_t channels = out.shape[FC_AXIS_C], row = out.shape[FC_AXIS_X] * channels;
  const int64_t rows = out.shape[FC_AXIS_Y], lines = out.shape[FC_AXIS_N] * rows;
  for (int64_t line = blockIdx.y; line < lines; line += gridDim.y)
    for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < row;
         i += static_cast<int64_t>(gridDim.x) * THREADS) {
      const int64_t n = line / rows, y = line % rows, x = i / channels, c = i % channels;
      const T code = *reinterpret_cast<const T *>(in.at(n, y, x, c));
      *reinterpret_cast<T *>(out.at(n, y, x, c)) = static_cast<T>(table[(n * channels + c) * codes + code]);
    }
}

template <typename T>
fc_status launch(const fc_equalize *e, const fc_view *in, const fc_view *out, unsigned *counts,
                 void *stream) {
  const unsigned codes = sizeof(T) == 1 ? 256 : 65536;
  const int64_t planes = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_C];
  const int64_t row = out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C], rows = out->shape[FC_AXIS_Y];
  const dim3 block(THREADS);
  fc_status status = fc_launch(clear, dim3(fc_blocks(planes * codes, THREADS, 4096)), block, 0, stream,
                               counts, planes * codes);
  if (status == FC_OK)
    status = fc_launch(
        equalize_count<T>,
        dim3(fc_blocks(out->shape[FC_AXIS_X] * rows, THREADS * 16, 1024), fc_blocks(planes, 1, 65535)), block,
        0, stream, fc_dev_view_of(in), counts, codes);
  if (status == FC_OK && e->form != FC_EQUALIZE_FLAT)
    status = fc_launch(tabulate_otsu, dim3(fc_blocks(planes, 1, 65535)), block, 0, stream, counts, codes, *e,
                       planes);
  else if (status == FC_OK)
    status = fc_launch(tabulate, dim3(fc_blocks(planes, 1, 65535)), block, 0, stream, counts, codes, e->white,
                       planes);
  if (status == FC_OK)
    status = fc_launch(
        replace<T>, dim3(fc_blocks(row, THREADS, 1 << 20), fc_blocks(out->shape[FC_AXIS_N] * rows, 1, 65535)),
        block, 0, stream, fc_dev_view_of(in), fc_dev_view_of(out), counts, codes);
  return status;
}

} // namespace

size_t fc_equalize_cuda_scratch(const fc_view *out) {
  const size_t codes = out->dtype == FC_U8 ? 256 : 65536;
  return static_cast<size_t>(out->shape[FC_AXIS_N] * out->shape[FC_AXIS_C]) * codes * sizeof(unsigned);
}

fc_status fc_equalize_cuda(const fc_equalize *e, const fc_view *in, const fc_view *out, void *scratch,
                           void *stream) {
  if (in->dtype != out->dtype) return FC_UNSUPPORTED;
  if (fc_view_count(out) == 0) return FC_OK;
  unsigned *counts = static_cast<unsigned *>(scratch);
  if (in->dtype == FC_U8) return launch<uint8_t>(e, in, out, counts, stream);
  return in->dtype == FC_U16 ? launch<uint16_t>(e, in, out, counts, stream) : FC_UNSUPPORTED;
}

// SPDX-License-Identifier: MIT
//
// equalize.cu - equalize.h on a CUDA device, in three steps: counts by atomics, for bytes in shared memory
// first (whole frames of up to 4 channels by words, a table a warp); a block per channel makes the table,
// summing the counts in the order of codes; and codes are replaced. Counts are integers, so the order of
// additions does not change the result.
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

// ---- frames of adjacent bytes, up to 4 channels ---------------------------------

constexpr int MOST = 4, WARPS = THREADS / 32;

struct frames {
  const uint8_t *in;
  uint8_t *out;
  int64_t in_n, out_n;
  unsigned bytes, channels; // of a frame; a multiple of 4
};

// blockIdx.y is the frame. Each warp counts for itself, since adjacent samples are alike.
__global__ void __launch_bounds__(THREADS) count_frames(frames f, unsigned *counts) {
  __shared__ unsigned own[WARPS][MOST * 256];
  const unsigned all = f.channels * 256, warp = threadIdx.x / 32;
  for (unsigned i = threadIdx.x; i < WARPS * MOST * 256; i += THREADS) own[0][i] = 0;
  __syncthreads();
  const uint32_t *words = reinterpret_cast<const uint32_t *>(f.in + blockIdx.y * f.in_n);
#pragma unroll 4
  for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < f.bytes / 4; i += gridDim.x * THREADS) {
    const uint32_t word = __ldg(words + i);
    unsigned c = 4 * i % f.channels;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      atomicAdd(&own[warp][c * 256 + (word >> 8 * k & 255)], 1u);
      c = c + 1 == f.channels ? 0 : c + 1;
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < all; i += THREADS) {
    unsigned sum = 0;
    for (int w = 0; w < WARPS; w++) sum += own[w][i];
    if (sum) atomicAdd(&counts[blockIdx.y * all + i], sum);
  }
}

__global__ void __launch_bounds__(THREADS) replace_frames(frames f, const unsigned *table) {
  __shared__ uint8_t own[MOST * 256];
  const unsigned all = f.channels * 256;
  for (unsigned i = threadIdx.x; i < all; i += THREADS)
    own[i] = static_cast<uint8_t>(table[blockIdx.y * all + i]);
  __syncthreads();
  const uint32_t *words = reinterpret_cast<const uint32_t *>(f.in + blockIdx.y * f.in_n);
  uint32_t *to = reinterpret_cast<uint32_t *>(f.out + blockIdx.y * f.out_n);
#pragma unroll 4
  for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < f.bytes / 4; i += gridDim.x * THREADS) {
    const uint32_t word = __ldg(words + i);
    unsigned c = 4 * i % f.channels;
    uint32_t made = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      made |= static_cast<uint32_t>(own[c * 256 + (word >> 8 * k & 255)]) << 8 * k;
      c = c + 1 == f.channels ? 0 : c + 1;
    }
    to[i] = made;
  }
}

bool are_frames(const fc_view *v) {
  const int64_t row = v->shape[FC_AXIS_X] * v->shape[FC_AXIS_C];
  const int64_t starts = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v->data)) | v->stride[FC_AXIS_N];
  return fc_dev_is_interleaved(v) && v->stride[FC_AXIS_Y] == row && starts % 4 == 0 &&
         row * v->shape[FC_AXIS_Y] % 4 == 0 && row * v->shape[FC_AXIS_Y] <= INT32_MAX;
}

// Whether these views are of such frames.
bool frames_of(const fc_view *in, const fc_view *out, frames *f) {
  f->in = static_cast<const uint8_t *>(in->data), f->out = static_cast<uint8_t *>(out->data);
  f->in_n = in->stride[FC_AXIS_N], f->out_n = out->stride[FC_AXIS_N];
  f->channels = static_cast<unsigned>(out->shape[FC_AXIS_C]);
  f->bytes = static_cast<unsigned>(out->shape[FC_AXIS_X] * out->shape[FC_AXIS_Y] * out->shape[FC_AXIS_C]);
  return in->dtype == FC_U8 && are_frames(in) && are_frames(out) && out->shape[FC_AXIS_C] <= MOST &&
         out->shape[FC_AXIS_N] <= 65535;
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
  frames f;
  const bool together = frames_of(in, out, &f);
  const dim3 parts(
      fc_blocks(f.bytes, THREADS * 64, (2048 + out->shape[FC_AXIS_N] - 1) / out->shape[FC_AXIS_N]),
      static_cast<unsigned>(together ? out->shape[FC_AXIS_N] : 1));
  if (status == FC_OK && together)
    status = fc_launch(count_frames, parts, block, 0, stream, f, counts);
  else if (status == FC_OK)
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
  if (status == FC_OK && together)
    status = fc_launch(replace_frames, parts, block, 0, stream, f, counts);
  else if (status == FC_OK)
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

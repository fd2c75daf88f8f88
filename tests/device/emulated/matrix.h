/* SPDX-License-Identifier: MIT */
/*
 * matrix.h - in place of filters/resample/matrix_bytes.cuh: products of matrices of bytes and loads of their
 * parts by emulated warps, and the host's half of the headers, whose launches run blocks of fibers.
 */
#ifndef FC_TESTS_EMULATED_MATRIX_H
#define FC_TESTS_EMULATED_MATRIX_H
#define FC_FILTERS_MATRIX_BYTES_CUH

#include "tests/device/emulated/cuda_runtime.h"
#include "filters/gpu/cuda.cuh"

struct int2 {
  int x, y;
};

struct fc_matrix_sums {
  int32_t of[4];
};

/* What the lanes of a warp have in `mine`, until the next one meets them. */
template <typename T> struct of_warp {
  const T *of[32];
  explicit of_warp(const T &mine) {
    const unsigned first = warp_of(running);
    fiber *me = running;
    const unsigned turn = me->turn++ & 1;
    const T *pointer = &mine;
    memcpy(&me->word[turn], &pointer, sizeof pointer);
    meet(WARP);
    for (unsigned i = 0; i < 32; i++) memcpy(&of[i], &fibers[first + i].word[turn], sizeof of[i]);
  }
  ~of_warp() { meet(WARP); }
};

/* c + a b of 16 x 32 and 32 x 8 bytes, of which one or both have signed ones. */
struct product_sides {
  uint32_t word[6];
};
template <typename A, typename B>
static fc_matrix_sums product_of(const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const fc_matrix_sums &c) {
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const product_sides mine = {{a[0], a[1], a[2], a[3], b0, b1}};
  const of_warp<product_sides> all(mine);
  fc_matrix_sums d = c;
  for (unsigned i = 0; i < 4; i++)
    for (unsigned k = 0; k < 32; k++) {
      const unsigned owner = k % 16 / 4, shift = k % 4 * 8, half = k / 16;
      const uint32_t left = all.of[g * 4 + owner]->word[half * 2 + i / 2];
      const uint32_t right = all.of[(2 * t + i % 2) * 4 + owner]->word[4 + half];
      d.of[i] += static_cast<A>(left >> shift) * static_cast<B>(right >> shift);
    }
  return d;
}
static fc_matrix_sums fc_matrix_product(const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                        const fc_matrix_sums &c) {
  return product_of<uint8_t, int8_t>(a, b0, b1, c);
}
static fc_matrix_sums fc_matrix_product_signed(const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                               const fc_matrix_sums &c) {
  return product_of<int8_t, uint8_t>(a, b0, b1, c);
}
static fc_matrix_sums fc_matrix_product_both(const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                             const fc_matrix_sums &c) {
  return product_of<int8_t, int8_t>(a, b0, b1, c);
}

/* A block's shared memory and its bytes; whether a load read beyond them. */
static const unsigned char *emulated_shared;
static size_t emulated_bytes;
static bool emulated_beyond;
static void loads_row(const void *row) {
  if (emulated_shared)
    emulated_beyond |= static_cast<const unsigned char *>(row) + 16 > emulated_shared + emulated_bytes;
}

static void fc_matrix_load(uint32_t (&a)[4], const void *row) {
  loads_row(row);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const of_warp<const void *> all(row);
  for (int k = 0; k < 4; k++)
    memcpy(&a[k], static_cast<const char *>(*all.of[8 * k + lane / 4]) + lane % 4 * 4, 4);
}
static void fc_matrix_load_turned(uint32_t (&a)[4], const void *row) {
  loads_row(row);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const of_warp<const void *> all(row);
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 2; i++)
      memcpy(reinterpret_cast<char *>(&a[k]) + 2 * i,
             static_cast<const char *>(*all.of[8 * k + lane % 4 * 2 + i]) + lane / 4 * 2, 2);
}

static int32_t fc_two_products(int32_t weights, uint32_t bytes, int32_t sum) {
  return sum + static_cast<int16_t>(weights) * static_cast<int32_t>(bytes & 255) +
         (weights >> 16) * static_cast<int32_t>(bytes >> 8 & 255);
}
static int32_t fc_two_products_above(int32_t weights, uint32_t bytes, int32_t sum) {
  return fc_two_products(weights, bytes >> 16, sum);
}

static uint32_t fc_two_bytes(int32_t low, int32_t high, uint32_t upper) {
  const auto byte = [](int32_t v) { return static_cast<uint32_t>(v < 0 ? 0 : v > 255 ? 255 : v); };
  return upper << 16 | byte(high) << 8 | byte(low);
}

/* ---- the host's half ------------------------------------------------------------ */

typedef int cudaError_t;
enum { cudaSuccess, cudaDevAttrMultiProcessorCount, cudaErrorInvalidValue };
struct cudaFuncAttributes {
  int ptxVersion;
};
template <typename K> static cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *about, K) {
  about->ptxVersion = 90;
  return cudaSuccess;
}
static cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
static int emulated_processors = 3;
static cudaError_t cudaDeviceGetAttribute(int *value, int, int) {
  *value = emulated_processors;
  return cudaSuccess;
}
static bool fc_forget_error(void) {
  return false;
}
template <typename K> static bool fc_allow_shared(K, int64_t bytes) {
  return bytes <= 227 << 10;
}
static unsigned fc_blocks(int64_t work, int64_t per_block, int64_t limit) {
  const int64_t blocks = (work + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > limit ? limit : blocks);
}
static bool fc_dev_is_interleaved(const fc_view *v) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  return (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] == size) &&
         v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size;
}

/* Blocks one after the other. */
template <typename... P, typename... A>
static fc_status fc_launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, void *,
                           A... arguments) {
  emulated_bytes = shared, emulated_beyond = false;
  const auto call = [&] { kernel(static_cast<P>(arguments)...); };
  const unsigned size[3] = {grid.x, grid.y, grid.z};
  run_grid([](const void *what) { (*static_cast<const decltype(call) *>(what))(); }, &call, size, block.x,
           block.y);
  return emulated_beyond ? FC_FATAL : FC_OK;
}

#endif

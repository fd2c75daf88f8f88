/* SPDX-License-Identifier: MIT */
/*
 * cuda_runtime.h - in place of CUDA's, so that the text of a composed kernel is C++ for the host: what the
 * kernels of filters/gpu use of the language and its intrinsics, and blocks of threads as fibers, one after
 * the other, each of which runs from barrier to barrier. For kernels whose threads all meet the same
 * barriers.
 */
#ifndef FC_TESTS_EMULATED_CUDA_H
#define FC_TESTS_EMULATED_CUDA_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <vector>

#define __CUDACC_RTC__ 1 /* without the host's half of the headers */
#define __device__
#define __host__
#define __forceinline__ inline
#define __global__      static
#define __shared__      static
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)

using std::max;
using std::min;

struct uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}

template <typename To, typename From> inline To bits_as(From from) {
  To to;
  static_assert(sizeof to == sizeof from, "");
  memcpy(&to, &from, sizeof to);
  return to;
}
inline float __uint_as_float(unsigned v) {
  return bits_as<float>(v);
}
inline unsigned __float_as_uint(float v) {
  return bits_as<unsigned>(v);
}
inline double __hiloint2double(int high, int low) {
  return bits_as<double>(static_cast<uint64_t>(static_cast<unsigned>(high)) << 32 |
                         static_cast<unsigned>(low));
}
inline int __double2loint(double v) {
  return static_cast<int>(bits_as<uint64_t>(v));
}
inline int __double2hiint(double v) {
  return static_cast<int>(bits_as<uint64_t>(v) >> 32);
}
inline int __float2int_rn(float v) {
  const float r = rintf(v);
  return r != r ? 0 : r >= 2147483648.f ? INT32_MAX : r < -2147483648.f ? INT32_MIN : static_cast<int>(r);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which) {
  const uint64_t all = static_cast<uint64_t>(b) << 32 | a;
  unsigned to = 0;
  for (int i = 0; i < 4; i++) to |= static_cast<unsigned>(all >> 8 * (which >> 4 * i & 7) & 255) << 8 * i;
  return to;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (by & 31));
}
template <typename T, typename Fn> inline unsigned halves(unsigned a, unsigned b, Fn fn) {
  const T low = fn(static_cast<T>(a), static_cast<T>(b)),
          high = fn(static_cast<T>(a >> 16), static_cast<T>(b >> 16));
  return static_cast<uint16_t>(low) | static_cast<unsigned>(static_cast<uint16_t>(high)) << 16;
}
inline unsigned __vminu2(unsigned a, unsigned b) {
  return halves<uint16_t>(a, b, [](uint16_t x, uint16_t y) { return x < y ? x : y; });
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
  return halves<uint16_t>(a, b, [](uint16_t x, uint16_t y) { return x > y ? x : y; });
}
inline unsigned __vmins2(unsigned a, unsigned b) {
  return halves<int16_t>(a, b, [](int16_t x, int16_t y) { return x < y ? x : y; });
}
inline unsigned __vmaxs2(unsigned a, unsigned b) {
  return halves<int16_t>(a, b, [](int16_t x, int16_t y) { return x > y ? x : y; });
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline uint64_t __cvta_generic_to_shared(const void *p) {
  return reinterpret_cast<uint64_t>(p);
}
template <typename T> inline T __ldg(const T *p) {
  return *p;
}

/* ---- threads ---------------------------------------------------------------------- */

static dim3 threadIdx, blockIdx, blockDim, gridDim;

struct fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool over;
};
static ucontext_t scheduler;
static std::vector<fiber> fibers;
static fiber *running;
static void (*body)(const void *);
static const void *argument;

static void enter(void) {
  body(argument);
  running->over = true;
}

static void meet(void) {
  swapcontext(&running->context, &scheduler);
}
#define __syncthreads() meet()
#define __syncwarp(...) meet()

static void run_block(unsigned threads) {
  const size_t stack = 512 << 10;
  fibers.resize(threads);
  for (fiber &f : fibers) {
    if (!f.stack) f.stack.reset(new char[stack]);
    f.over = false;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get(), f.context.uc_stack.ss_size = stack,
    f.context.uc_link = &scheduler;
    makecontext(&f.context, enter, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (unsigned t = 0; t < threads; t++) {
      if (fibers[t].over) continue;
      running = &fibers[t], threadIdx.x = t, any = true;
      swapcontext(&scheduler, &running->context);
    }
  }
}

/* All blocks of a grid. */
static void run_grid(void (*kernel)(const void *), const void *params, const unsigned grid[3],
                     unsigned threads) {
  body = kernel, argument = params;
  gridDim.x = grid[0], gridDim.y = grid[1], gridDim.z = grid[2], blockDim.x = threads;
  for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++) run_block(threads);
}

#endif

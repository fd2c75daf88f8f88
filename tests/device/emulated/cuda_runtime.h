/* SPDX-License-Identifier: MIT */
/*
 * cuda_runtime.h - in place of CUDA's, so that the text of a composed kernel is C++ for the host: what the
 * kernels of filters/gpu use of the language and its intrinsics, and blocks of threads as fibers, one after
 * the other, each of which runs from barrier to barrier, of its warp or its block.
 */
#ifndef FC_TESTS_EMULATED_CUDA_H
#define FC_TESTS_EMULATED_CUDA_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
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
#define __noinline__

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
  unsigned x, y, z;
  dim3(unsigned across = 1, unsigned down = 1, unsigned deep = 1) : x(across), y(down), z(deep) {}
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
inline float rsqrtf(float v) {
  return 1 / sqrtf(v);
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
template <typename T, typename byte> T emulated_dot(T a, T b, T sum) {
  for (int i = 0; i < 4; i++)
    sum += static_cast<T>(static_cast<byte>(a >> 8 * i)) * static_cast<T>(static_cast<byte>(b >> 8 * i));
  return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  return emulated_dot<unsigned, uint8_t>(a, b, sum);
}
inline int __dp4a(int a, int b, int sum) {
  return emulated_dot<int, int8_t>(a, b, sum);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (by & 31));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (by & 31) >> 32);
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

/* What a fiber waits for: nothing, the others of its warp, or those of its block. */
enum waiting { NOTHING, WARP, BLOCK, END };

struct fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  waiting at;
  unsigned turn;    /* of words that lanes exchange: those of one are read while the next are written */
  uint64_t word[2]; /* what it shows the others */
};
static ucontext_t scheduler;
static std::vector<fiber> fibers;
static fiber *running;
static void (*body)(const void *);
static const void *argument;

static void enter(void) {
  body(argument);
  running->at = END;
}

static void meet(waiting whom) {
  running->at = whom;
  swapcontext(&running->context, &scheduler);
}
#define __syncthreads() meet(BLOCK)
#define __syncwarp(...) meet(WARP)

/* The first fiber of a fiber's warp. */
static unsigned warp_of(const fiber *f) {
  return static_cast<unsigned>(f - fibers.data()) / 32 * 32;
}

/* The word of lane `from`, or the lane's own where there is none. */
template <typename T> static T exchange(T v, int from) {
  fiber *me = running;
  const unsigned turn = me->turn++ & 1;
  static_assert(sizeof v <= 8, "");
  memcpy(&me->word[turn], &v, sizeof v);
  const unsigned first = warp_of(me);
  meet(WARP);
  if (from >= 0 && from < 32) memcpy(&v, &fibers[first + from].word[turn], sizeof v);
  return v;
}
template <typename T> static T __shfl_up_sync(unsigned, T v, int by) {
  return exchange(v, static_cast<int>(threadIdx.x % 32) - by);
}
template <typename T> static T __shfl_down_sync(unsigned, T v, int by) {
  return exchange(v, static_cast<int>(threadIdx.x % 32) + by);
}
template <typename T> static T __shfl_sync(unsigned, T v, int lane) {
  return exchange(v, lane & 31);
}

/* Whether a flag is set in any of a warp's lanes, or of a block's threads. */
static int any_of(bool flag, waiting whom, unsigned first, unsigned count) {
  fiber *me = running;
  const unsigned turn = me->turn++ & 1;
  me->word[turn] = flag;
  meet(whom);
  bool any = false;
  for (unsigned i = first; i < first + count && i < fibers.size(); i++) any |= fibers[i].word[turn] != 0;
  return any;
}
static int __any_sync(unsigned, bool flag) {
  return any_of(flag, WARP, warp_of(running), 32);
}
static int __all_sync(unsigned mask, bool flag) {
  return !__any_sync(mask, !flag);
}
static int __syncthreads_or(bool flag) {
  return any_of(flag, BLOCK, 0, static_cast<unsigned>(fibers.size()));
}

/* Lets those go on that have met: warps, or else the block. */
static bool release(unsigned threads) {
  bool any = false, left = false, stuck = false;
  for (unsigned first = 0; first < threads; first += 32) {
    const unsigned end = min(first + 32, threads);
    bool met = true, some = false;
    for (unsigned t = first; t < end; t++)
      met &= fibers[t].at == WARP || fibers[t].at == END, some |= fibers[t].at == WARP,
          left |= fibers[t].at != END;
    for (unsigned t = first; t < end && met && some; t++)
      if (fibers[t].at == WARP) fibers[t].at = NOTHING, any = true;
    stuck |= some && !met;
  }
  if (stuck && !any) abort(); /* lanes of one warp wait at different barriers */
  for (unsigned t = 0; t < threads && !any; t++)
    if (fibers[t].at == BLOCK) fibers[t].at = NOTHING;
  return left;
}

static void run_block(unsigned threads) {
  const size_t stack = 512 << 10;
  fibers.resize(threads);
  for (fiber &f : fibers) {
    if (!f.stack) f.stack.reset(new char[stack]);
    f.at = NOTHING, f.turn = 0;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get(), f.context.uc_stack.ss_size = stack,
    f.context.uc_link = &scheduler;
    makecontext(&f.context, enter, 0);
  }
  unsigned round = 0; // threads run in the order of their numbers, and then in the opposite one
  do {
    for (unsigned i = 0; i < threads; i++) {
      const unsigned t = round % 2 ? threads - 1 - i : i;
      if (fibers[t].at != NOTHING) continue;
      running = &fibers[t], threadIdx.x = t % blockDim.x, threadIdx.y = t / blockDim.x;
      swapcontext(&scheduler, &running->context);
    }
    round++;
  } while (release(threads));
}

/* All blocks of a grid; of `down` rows of threads. */
static void run_grid(void (*kernel)(const void *), const void *params, const unsigned grid[3],
                     unsigned threads, unsigned down = 1) {
  body = kernel, argument = params;
  gridDim.x = grid[0], gridDim.y = grid[1], gridDim.z = grid[2], blockDim.x = threads, blockDim.y = down;
  for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++) run_block(threads * down);
}

#endif

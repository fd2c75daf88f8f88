// SPDX-License-Identifier: MIT
//
// copy_async.cuh - copies from global into shared memory without using registers.
#ifndef FC_FILTERS_COPY_ASYNC_CUH
#define FC_FILTERS_COPY_ASYNC_CUH

#include <cuda_runtime.h>
#include <stdint.h>

// Asynchronous copies, where the device supports them, of words of 4, 8 or 16 bytes, through the first-level
// cache, and of aligned 16 bytes, past it; complete for the thread when it has awaited all that it committed,
// and for others after a barrier.
template <int BYTES = 4> __device__ __forceinline__ void fc_copy_word(void *shared, const void *global) {
#if __CUDA_ARCH__ < 800
  if (BYTES == 16)
    *static_cast<uint4 *>(shared) = *static_cast<const uint4 *>(global);
  else if (BYTES == 8)
    *static_cast<uint2 *>(shared) = *static_cast<const uint2 *>(global);
  else
    *static_cast<uint32_t *>(shared) = *static_cast<const uint32_t *>(global);
#else
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global), "n"(BYTES)
               : "memory");
#endif
}
__device__ __forceinline__ void fc_copy_words(void *shared, const void *global) {
#if __CUDA_ARCH__ < 800
  *static_cast<uint4 *>(shared) = *static_cast<const uint4 *>(global);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
#endif
}
// The same for what is copied in parts: the second-level cache gets the 128 bytes around them at once.
__device__ __forceinline__ void fc_copy_words_line(void *shared, const void *global) {
#if __CUDA_ARCH__ < 800
  fc_copy_words(shared, global);
#else
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
#endif
}
// The first `bytes` of 16, and zeros: no more are read. Both addresses are multiples of 16.
__device__ __forceinline__ void fc_copy_words_begun(void *shared, const void *global, int bytes) {
#if __CUDA_ARCH__ < 800
  for (int i = 0; i < 16; i++)
    static_cast<char *>(shared)[i] = i < bytes ? static_cast<const char *>(global)[i] : 0;
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global), "r"(bytes)
               : "memory");
#endif
}
// Policies of the second-level cache: evict first, so that other data stay; and evict last.
__device__ __forceinline__ uint64_t fc_cache_first(void) {
  uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}
__device__ __forceinline__ uint64_t fc_cache_last(void) {
  uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}
__device__ __forceinline__ void fc_copy_words_by(void *shared, const void *global, uint64_t policy) {
#if __CUDA_ARCH__ < 800
  fc_copy_words(shared, global);
#else
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global), "l"(policy)
               : "memory");
#endif
}
// For data that are read once.
__device__ __forceinline__ void fc_copy_words_once(void *shared, const void *global) {
  fc_copy_words_by(shared, global, fc_cache_first());
}
__device__ __forceinline__ void fc_commit_copies(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most the last LATER commits are outstanding.
template <int LATER = 0> __device__ __forceinline__ void fc_await_copies(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
}

#endif

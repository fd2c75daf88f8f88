// SPDX-License-Identifier: MIT
//
// copy_bulk.cuh - barriers in shared memory, and bulk copies of sm_90 that signal them. Addresses of shared
// memory are fc_shared_address()es. Elsewhere than on sm_90 these functions do nothing: ask FC_BULK_CODE.
#ifndef FC_FILTERS_COPY_BULK_CUH
#define FC_FILTERS_COPY_BULK_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define FC_BULK_CODE     1
#define FC_BULK_ASM(...) asm volatile(__VA_ARGS__)
#else
#define FC_BULK_CODE 0
#define FC_BULK_ASM(...)
#endif

__device__ __forceinline__ uint32_t fc_shared_address(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void fc_bar_init([[maybe_unused]] uint32_t bar, [[maybe_unused]] int arrivals) {
  FC_BULK_ASM("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}
// Makes the barriers initialised so far visible to the copy engine.
__device__ __forceinline__ void fc_bar_publish(void) {
  FC_BULK_ASM("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Arrives, and makes the barrier wait for this many bytes of copies.
__device__ __forceinline__ void fc_bar_expect([[maybe_unused]] uint32_t bar,
                                              [[maybe_unused]] uint32_t bytes) {
  FC_BULK_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
// The same without arriving, before the copies begin.
__device__ __forceinline__ void fc_bar_await_bytes([[maybe_unused]] uint32_t bar,
                                                   [[maybe_unused]] uint32_t bytes) {
  FC_BULK_ASM("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
// An arrival does not wait for outstanding reads of shared memory. If the data may be overwritten after it,
// their values must have been used by then, or the arrival be made to depend on them (fc_byte_ring::turn,
// fc_tma_pipe::advance).
__device__ __forceinline__ void fc_bar_arrive([[maybe_unused]] uint32_t bar) {
  FC_BULK_ASM("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
// Waits until the phase of this parity is over.
__device__ __forceinline__ void fc_bar_wait([[maybe_unused]] uint32_t bar, [[maybe_unused]] uint32_t parity) {
  FC_BULK_ASM("{\n"
              ".reg .pred over;\n"
              "WAIT_%=:\n"
              "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
              "@!over bra WAIT_%=;\n"
              "}" ::"r"(bar),
              "r"(parity)
              : "memory");
}
// Adjacent bytes; both addresses and their number are multiples of 16.
__device__ __forceinline__ void fc_bulk_copy([[maybe_unused]] uint32_t to, [[maybe_unused]] const void *from,
                                             [[maybe_unused]] uint32_t bytes, [[maybe_unused]] uint32_t bar) {
  FC_BULK_ASM(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(bar)
      : "memory");
}
// Orders this thread's stores to shared memory before later accesses of the copy engine.
__device__ __forceinline__ void fc_bulk_after_stores(void) {
  FC_BULK_ASM("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif

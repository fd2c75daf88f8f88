// SPDX-License-Identifier: MIT
//
// wgmma.cuh - the instructions by which four warps of sm_90a multiply tf32 numbers: 64 x N sums
// in registers, 8 steps of k, A from registers and B from shared memory. Operands in registers cannot be
// indexed, so each N is written out. Internal to split.cu.
#ifndef FC_FILTERS_GEMM_WGMMA_CUH
#define FC_FILTERS_GEMM_WGMMA_CUH

#include "filters/gemm/tma.cuh"

// Where a slice of B lies: lines of 128 bytes, one a column, swapped by the copy engine; eights of lines
// follow each other. In units of 16 bytes: the address, the distance of eights; bit 62 says 128 bytes.
__device__ __forceinline__ uint64_t fc_wgmma_slice(uint32_t address) {
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | UINT64_C(1) << 16 | UINT64_C(64) << 32 |
         UINT64_C(1) << 62;
}

// Registers are as they should be before the first product; that was the last of a group; all are done.
__device__ __forceinline__ void fc_wgmma_begin(void) {
#if FC_TMA_CODE
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void fc_wgmma_commit(void) {
#if FC_TMA_CODE
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void fc_wgmma_await(void) {
#if FC_TMA_CODE
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
}

// The compiler neither moves nor keeps elsewhere what the products change behind its back.
template <int COUNT> __device__ __forceinline__ void fc_wgmma_hold(float (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// d = a b, or with `add` d += a b. Lane 4g + t of warp w holds rows 16 w + g and + 8 of `a` at k = t (a0, a1)
// and t + 4; d[4 e + 2 h + v] is the sum of row 16 w + g + 8 h and column 8 e + 2 t + v.
template <int N> struct fc_wgmma;

template <> struct fc_wgmma<64> {
  static __device__ __forceinline__ void multiply(float (&d)[32], const uint32_t (&a)[4], uint64_t b,
                                                  int add) {
#if FC_TMA_CODE
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                 "}, {%32, %33, %34, %35}, %36, add, 1, 1;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
#endif
  }
};

template <> struct fc_wgmma<128> {
  static __device__ __forceinline__ void multiply(float (&d)[64], const uint32_t (&a)[4], uint64_t b,
                                                  int add) {
#if FC_TMA_CODE
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, {%64, %65, %66, %67}, %68, add, 1, 1;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
                   "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                   "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
                   "+f"(d[63])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
#endif
  }
};

#endif

// SPDX-License-Identifier: MIT
//
// matrix_bytes.cuh - products of matrices of bytes by a warp on sm_80 and later, and loads of their parts
// from shared memory. A lane is 4 g + t. Of a, 16 rows of 32 bytes, it holds bytes 4 t to 4 t + 3 of rows g
// and g + 8, and those 16 further; of b the same of column g of 8; of the sums 2 t and 2 t + 1 of rows g and
// g + 8.
#ifndef FC_FILTERS_MATRIX_BYTES_CUH
#define FC_FILTERS_MATRIX_BYTES_CUH

#include <cuda_runtime.h>
#include <stdint.h>

struct fc_matrix_sums {
  int32_t of[4];
};

// c + a b; a of bytes 0 to 255 and b of signed ones, the reverse, and both of signed ones. Not in c's place,
// so that constants need no moves.
#define FC_MATRIX_PRODUCT(name, of_a, of_b)                                                                  \
  __device__ __forceinline__ fc_matrix_sums name(const uint32_t(&a)[4], uint32_t b0, uint32_t b1,            \
                                                 const fc_matrix_sums &c) {                                  \
    fc_matrix_sums d;                                                                                        \
    asm("mma.sync.aligned.m16n8k32.row.col.s32." of_a "." of_b ".s32 "                                       \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                                \
        : "=r"(d.of[0]), "=r"(d.of[1]), "=r"(d.of[2]), "=r"(d.of[3])                                         \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c.of[0]), "r"(c.of[1]),          \
          "r"(c.of[2]), "r"(c.of[3]));                                                                       \
    return d;                                                                                                \
  }
FC_MATRIX_PRODUCT(fc_matrix_product, "u8", "s8")
FC_MATRIX_PRODUCT(fc_matrix_product_signed, "s8", "u8")
FC_MATRIX_PRODUCT(fc_matrix_product_both, "s8", "s8")
#undef FC_MATRIX_PRODUCT

// Four 8 x 8 matrices of 16 bits: matrix k has as its rows the 16 bytes at the addresses of lanes 8 k to 8 k
// + 7. A lane gets elements 2 t and 2 t + 1 of row g of each; or, turned, of column g.
__device__ __forceinline__ void fc_matrix_load(uint32_t (&a)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}
__device__ __forceinline__ void fc_matrix_load_turned(uint32_t (&a)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

// The sum, and the products of two 16-bit weights and the lower, or the upper two bytes.
__device__ __forceinline__ int32_t fc_two_products(int32_t weights, uint32_t bytes, int32_t sum) {
  int32_t result;
  asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(weights), "r"(bytes), "r"(sum));
  return result;
}
__device__ __forceinline__ int32_t fc_two_products_above(int32_t weights, uint32_t bytes, int32_t sum) {
  int32_t result;
  asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(weights), "r"(bytes), "r"(sum));
  return result;
}

// Two integers limited to 0..255 in the lowest bytes, those of `upper` above.
__device__ __forceinline__ uint32_t fc_two_bytes(int32_t low, int32_t high, uint32_t upper) {
  uint32_t bytes;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(high), "r"(low), "r"(upper));
  return bytes;
}

#endif

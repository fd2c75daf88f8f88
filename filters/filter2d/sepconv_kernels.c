/* SPDX-License-Identifier: MIT */
/*
 * sepconv_kernels.c - the column and the row pass of sepconv, for one instruction set
 * and both compute types; and for rows of bytes.
 */
#include "filters/filter2d/sepconv_kernels.h"
#include "filters/filter2d/conv2d_strips.h"
#include "filters/base/simd.h"

#define FC_KERNELS "filters/filter2d/sepconv_kernels.inc"
#include "filters/base/both_types.inc"

#define T        float
#define FMA1     FC_FMAF
#define V        fc_vf
#define LANES    FC_LANES_F32
#define LOAD     fc_vf_load
#define STORE    fc_vf_store
#define SPLAT    fc_vf_splat
#define FMA      FC_VF_FMA
#define R        uint8_t
#define LOAD_ROW fc_vf_load_u8
#define G(f)     f##_u8
#include "filters/filter2d/sepconv_columns.inc"

/* A vector of bytes and, or-ed into `seen`, the integers that they are made of. Adding 1.5 * 2^23
 * rounds half to even and leaves the integer in the low bits; what is not a number of 0 to 255, a NaN
 * too, leaves bits above them. */
#define MAGIC 0x1.8p23f
FC_INLINE fc_vb bytes_block(const float *restrict from, const float *x, int64_t nx, int64_t step,
                            fc_vi *seen) {
  fc_vf sum[4] = {{0}};
  fc_vi code[4];
  const fc_vf magic = fc_vf_splat(MAGIC);
  for (int64_t j = 0; j < nx; j++, from += step) {
    fc_vf tap = fc_vf_splat(x[j]);
    FC_UNROLL
    for (int m = 0; m < 4; m++) sum[m] = FC_VF_FMA(tap, fc_vf_load(from + m * FC_LANES_F32), sum[m]);
  }
  FC_UNROLL
  for (int m = 0; m < 4; m++) {
    code[m] = (fc_vi)((fc_vu)(sum[m] + magic) - (fc_vu)magic);
    *seen |= code[m];
  }
  return fc_vb_pack(code[0], code[1], code[2], code[3]);
}

static int row_u8(const void *source, const void *taps, int64_t nx, int64_t step, uint8_t *to, int64_t n,
                  int stream) {
  const float *from = (const float *)source, *x = (const float *)taps;
  fc_vi seen = {0};
  fc_vb bytes;
  if (n < 2 * FC_VECTOR_BYTES || nx > FC_SEPCONV_RUN) return 0;
  /* Whole vectors at aligned addresses, one before that overlaps them, and one after. */
  int64_t i = (int64_t)(-(uintptr_t)to % FC_VECTOR_BYTES), ends[2] = {0, n - FC_VECTOR_BYTES};
  for (; i + FC_VECTOR_BYTES <= n; i += FC_VECTOR_BYTES) {
    bytes = bytes_block(from + i, x, nx, step, &seen);
    if (stream)
      FC_VB_STREAM(to + i, bytes);
    else
      memcpy(to + i, &bytes, sizeof bytes);
  }
  for (int end = (uintptr_t)to % FC_VECTOR_BYTES == 0; end < (i < n ? 2 : 1); end++) {
    bytes = bytes_block(from + ends[end], x, nx, step, &seen);
    memcpy(to + ends[end], &bytes, sizeof bytes);
  }
  int32_t all = 0;
  for (int m = 0; m < FC_LANES_F32; m++) all |= seen[m];
  return (all & ~255) == 0;
}

const fc_sepconv_kernel_pair FC_ISA_NAME(fc_sepconv_kernels) = {
    {sizeof(float), columns_f32, row_f32, columns_u8, row_u8},
    {sizeof(double), columns_f64, row_f64, NULL, NULL},
};

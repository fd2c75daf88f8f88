/* SPDX-License-Identifier: MIT */
/*
 * rows.c - the conversions of samples_kernels.c as the table that the host gives to plugins
 * (core/contract/rows_table.h). A separate static library, linked by libfilterchain-filters and by the
 * engine: nothing here is exported, and the engine's casts give the same bits as the algorithms.
 */
#include "filters/base/rows.h"
#include "filters/base/isa.h"

FC_ISA_DECLARE(fc_samples_kernels, fc_samples_kernels);

#ifndef FC_ISA_MOST /* by the option isa of the build */
#define FC_ISA_MOST FC_ISA_AVX512
#endif

fc_isa fc_rows_isa(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (FC_ISA_MOST == FC_ISA_BASE || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2"))
    return FC_ISA_BASE;
  if (FC_ISA_MOST == FC_ISA_AVX512 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return FC_ISA_AVX512;
  return FC_ISA_AVX2;
#else
  return FC_ISA_BASE;
#endif
}

static const fc_samples_kernels *best(void) {
  return FC_ISA_PICK(fc_samples_kernels, fc_rows_isa());
}

static void load_f32(float *to, const void *from, int64_t stride, int64_t count, int kind, int dtype) {
  best()->load_f32[dtype](to, from, stride, count, fc_scaling_of(kind, dtype));
}

static void load_f64(double *to, const void *from, int64_t stride, int64_t count, int kind, int dtype) {
  best()->load_f64[dtype](to, from, stride, count, fc_scaling_of(kind, dtype));
}

static void store_f32(void *to, int64_t stride, const float *from, int64_t count, int kind, int dtype,
                      uint32_t *notes) {
  best()->store_f32[dtype](to, stride, from, count, fc_scaling_of(kind, dtype), notes);
}

static void store_f64(void *to, int64_t stride, const double *from, int64_t count, int kind, int dtype,
                      uint32_t *notes) {
  best()->store_f64[dtype](to, stride, from, count, fc_scaling_of(kind, dtype), notes);
}

const fc_rows *fc_rows_table(void) {
  static const fc_rows table = {sizeof(fc_rows), load_f32, load_f64, store_f32, store_f64};
  return &table;
}

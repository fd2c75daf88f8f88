/* SPDX-License-Identifier: MIT */
/*
 * samples.c - the conversions of rows.c under the names that the algorithms use. The choice by instruction
 * set, compute type and element type costs a few nanoseconds per call, so calls should be for rows, not for
 * single samples.
 */
#include "filters/base/samples.h"
#include "filters/base/isa.h"
#include "filters/base/rows.h"

FC_ISA_DECLARE(fc_samples_kernels, fc_samples_kernels);

fc_isa fc_isa_best(void) {
  return fc_rows_isa();
}

const char *fc_isa_name(fc_isa isa) {
  switch (isa) {
  case FC_ISA_BASE: return "base";
  case FC_ISA_AVX2: return "avx2";
  case FC_ISA_AVX512: return "avx512";
  default: return "?";
  }
}

const fc_samples_kernels *fc_samples_kernels_of(fc_isa isa) {
  return FC_ISA_PICK(fc_samples_kernels, isa);
}

void fc_load_f32(float *to, const void *from, int64_t stride, int64_t count, int kind, int dtype) {
  fc_rows_table()->load_f32(to, from, stride, count, kind, dtype);
}

void fc_load_f64(double *to, const void *from, int64_t stride, int64_t count, int kind, int dtype) {
  fc_rows_table()->load_f64(to, from, stride, count, kind, dtype);
}

void fc_store_f32(void *to, int64_t stride, const float *from, int64_t count, int kind, int dtype,
                  uint32_t *notes) {
  fc_rows_table()->store_f32(to, stride, from, count, kind, dtype, notes);
}

void fc_store_f64(void *to, int64_t stride, const double *from, int64_t count, int kind, int dtype,
                  uint32_t *notes) {
  fc_rows_table()->store_f64(to, stride, from, count, kind, dtype, notes);
}

void fc_load(void *to, int compute, const void *from, int64_t stride, int64_t count, int kind, int dtype) {
  if (compute == FC_F64)
    fc_load_f64(to, from, stride, count, kind, dtype);
  else
    fc_load_f32(to, from, stride, count, kind, dtype);
}

void fc_store(void *to, int64_t stride, const void *from, int compute, int64_t count, int kind, int dtype,
              uint32_t *notes) {
  if (compute == FC_F64)
    fc_store_f64(to, stride, from, count, kind, dtype, notes);
  else
    fc_store_f32(to, stride, from, count, kind, dtype, notes);
}

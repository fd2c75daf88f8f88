/* SPDX-License-Identifier: MIT */
/*
 * codes.c - chooses among the loads of codes_kernels.c by instruction set and element
 * type; see codes.h.
 */
#include "filters/base/codes.h"
#include "filters/base/isa.h"

FC_ISA_DECLARE(fc_codes_kernels, fc_codes_kernels);

void fc_codes_load(int32_t *to, const void *from, int64_t stride, int64_t count, int kind, int dtype) {
  const fc_codes_kernels *k = FC_ISA_PICK(fc_codes_kernels, fc_isa_best());
  k->load[dtype](to, from, stride, count, (int32_t)fc_scaling_of(kind, dtype).bias);
}

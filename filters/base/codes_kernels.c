/* SPDX-License-Identifier: MIT */
/*
 * codes_kernels.c - the loops of codes.h, for one instruction set: widening, less the
 * bias.
 */
#include "filters/base/codes.h"
#include "filters/base/isa.h"

FC_ISA_DECLARE(fc_codes_kernels, fc_codes_kernels);

/* Written once, compiled for adjacent elements and for any other stride. */
#define DEFINE_LOAD(T)                                                                                       \
  static inline void load_loop_##T(int32_t *restrict to, const char *restrict from, int64_t stride,          \
                                   int64_t count, int32_t bias) {                                            \
    for (int64_t i = 0; i < count; i++) to[i] = (int32_t)(*(const T *)(from + i * stride)) - bias;           \
  }                                                                                                          \
  static void load_##T(int32_t *to, const void *from, int64_t stride, int64_t count, int32_t bias) {         \
    if (stride == (int64_t)sizeof(T))                                                                        \
      load_loop_##T(to, from, sizeof(T), count, bias);                                                       \
    else                                                                                                     \
      load_loop_##T(to, from, stride, count, bias);                                                          \
  }

DEFINE_LOAD(uint8_t)
DEFINE_LOAD(int16_t)
DEFINE_LOAD(uint16_t)
DEFINE_LOAD(int32_t)

const fc_codes_kernels FC_ISA_NAME(fc_codes_kernels) = {
    {load_uint8_t, load_int16_t, load_uint16_t, load_int32_t}};

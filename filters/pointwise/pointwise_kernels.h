/* SPDX-License-Identifier: MIT */
/*
 * pointwise_kernels.h - the loops of pointwise.c and stretch.c, for one instruction set.
 * `to` and `from` are dense and do not overlap.
 */
#ifndef FC_FILTERS_POINTWISE_KERNELS_H
#define FC_FILTERS_POINTWISE_KERNELS_H

#include "filters/base/isa.h"
#include "filters/pointwise/pointwise.h"

typedef struct fc_pointwise_kernels {
  void (*scale_f32)(float *to, const float *from, int64_t count, float factor);
  void (*scale_f64)(double *to, const double *from, int64_t count, double factor);
  /* One factor per element. */
  void (*scale_each_f32)(float *to, const float *from, int64_t count, const float *factors);
  void (*scale_each_f64)(double *to, const double *from, int64_t count, const double *factors);
  void (*map_f32)(float *to, const float *from, int64_t count, float subtract, float factor, float add);
  void (*map_f64)(double *to, const double *from, int64_t count, double subtract, double factor, double add);
  void (*clamp_f32)(float *to, const float *from, int64_t count, float low, float high);
  void (*clamp_f64)(double *to, const double *from, int64_t count, double low, double high);
  /* v * factor + add, rounded once: with any instruction set. */
  void (*affine_f32)(float *to, const float *from, int64_t count, float factor, float add);
  void (*affine_f64)(double *to, const double *from, int64_t count, double factor, double add);
  /* One factor and term per element. */
  void (*affine_each_f32)(float *to, const float *from, int64_t count, const float *factors,
                          const float *adds);
  void (*affine_each_f64)(double *to, const double *from, int64_t count, const double *factors,
                          const double *adds);
  void (*affine_each_bytes)(float *to, const uint8_t *from, int64_t count, const float *factors,
                            const float *adds);
  void (*curve_f32)(float *to, const float *from, int64_t count, const fc_pointwise *p);
  void (*curve_f64)(double *to, const double *from, int64_t count, const fc_pointwise *p);
  void (*threshold_f32)(float *to, const float *from, int64_t count, const fc_pointwise *p);
  void (*threshold_f64)(double *to, const double *from, int64_t count, const fc_pointwise *p);
  /* table[code], of codes `step` bytes apart. */
  void (*look_up_u8_f32)(float *to, const void *from, int64_t step, int64_t count, const float *table);
  void (*look_up_u8_f64)(double *to, const void *from, int64_t step, int64_t count, const double *table);
  void (*look_up_u16_f32)(float *to, const void *from, int64_t step, int64_t count, const float *table);
  void (*look_up_u16_f64)(double *to, const void *from, int64_t step, int64_t count, const double *table);
  /* to[i] = table[from[i]], of 256; the rows may be the same. */
  void (*look_up_bytes)(uint8_t *to, const uint8_t *from, int64_t count, const uint8_t *table);
  /* Codes above `level` become (code & kept[1]) | set[1], the others (code & kept[0]) | set[0]; in place too.
   */
  void (*step_bytes)(uint8_t *to, const uint8_t *from, int64_t count, int level, const uint8_t kept[2],
                     const uint8_t set[2]);
  /* Widens [*low, *high] to include the values within [-limit, limit]; NaN is ignored. */
  void (*range_f32)(const float *from, int64_t count, float limit, float *low, float *high);
  void (*range_f64)(const double *from, int64_t count, double limit, double *low, double *high);
} fc_pointwise_kernels;

FC_ISA_DECLARE(fc_pointwise_kernels, fc_pointwise_kernels);

#endif

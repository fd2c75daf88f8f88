/* SPDX-License-Identifier: MIT */
/*
 * power.h - the functions of power.inc, in C and in CUDA.
 */
#ifndef FC_FILTERS_POWER_H
#define FC_FILTERS_POWER_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define FC_POWER_FN static __device__ __forceinline__
FC_POWER_FN unsigned long long fc_bits_of(double v) {
  return static_cast<unsigned long long>(__double_as_longlong(v));
}
FC_POWER_FN double fc_of_bits(unsigned long long bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
#else
#define FC_POWER_FN static inline __attribute__((unused, always_inline))
FC_POWER_FN unsigned long long fc_bits_of(double v) {
  unsigned long long bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
FC_POWER_FN double fc_of_bits(unsigned long long bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
/* For code that is shared with the texts of device functions, which have their own fc_at_least and
 * fc_at_most. */
FC_POWER_FN float fc_at_least_f32(float v, float low) {
  return v < low ? low : v;
}
FC_POWER_FN double fc_at_least_f64(double v, double low) {
  return v < low ? low : v;
}
FC_POWER_FN float fc_at_most_f32(float v, float high) {
  return v > high ? high : v;
}
FC_POWER_FN double fc_at_most_f64(double v, double high) {
  return v > high ? high : v;
}
#endif

/* The start of a device function's text that contains power.inc. */
#define FC_POWER_TEXT                                                                                        \
  "FC_DEVICE unsigned long long fc_bits_of(double v) {\n"                                                    \
  "  return (unsigned long long)(unsigned)__double2hiint(v) << 32 | (unsigned)__double2loint(v);\n"          \
  "}\n"                                                                                                      \
  "FC_DEVICE double fc_of_bits(unsigned long long bits) {\n"                                                 \
  "  return __hiloint2double((int)(bits >> 32), (int)bits);\n"                                               \
  "}\n"

#define FC_SHARED_CODE(...) __VA_ARGS__
#define FC_DEVICE           FC_POWER_FN
#include "filters/base/power.inc"
#undef FC_DEVICE
#undef FC_SHARED_CODE

#endif

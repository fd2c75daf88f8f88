/* SPDX-License-Identifier: MIT */
/*
 * curve.h - curve.inc in C: fc_curve_value_f32, fc_threshold_value_f32, and the same of _f64.
 */
#ifndef FC_FILTERS_CURVE_H
#define FC_FILTERS_CURVE_H

#include "filters/base/power.h"

#define FC_SHARED_CODE(...) __VA_ARGS__
#define FC_DEVICE           static inline __attribute__((unused, always_inline))

#define real               float
#define fc_at_least        fc_at_least_f32
#define fc_at_most         fc_at_most_f32
#define fc_curve_part      fc_curve_part_f32
#define fc_curve_power     fc_curve_power_f32
#define fc_curve_value     fc_curve_value_f32
#define fc_threshold_value fc_threshold_value_f32
#include "filters/pointwise/curve.inc"
#undef real
#undef fc_at_least
#undef fc_at_most
#undef fc_curve_part
#undef fc_curve_power
#undef fc_curve_value
#undef fc_threshold_value

#define real               double
#define fc_at_least        fc_at_least_f64
#define fc_at_most         fc_at_most_f64
#define fc_curve_part      fc_curve_part_f64
#define fc_curve_power     fc_curve_power_f64
#define fc_curve_value     fc_curve_value_f64
#define fc_threshold_value fc_threshold_value_f64
#include "filters/pointwise/curve.inc"
#undef real
#undef fc_at_least
#undef fc_at_most
#undef fc_curve_part
#undef fc_curve_power
#undef fc_curve_value
#undef fc_threshold_value

#undef FC_DEVICE
#undef FC_SHARED_CODE

#endif

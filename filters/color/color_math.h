/* SPDX-License-Identifier: MIT */
/*
 * color_math.h - color.inc in C: fc_color_decode_f32, fc_color_encode_f32, and the same of _f64.
 */
#ifndef FC_FILTERS_COLOR_MATH_H
#define FC_FILTERS_COLOR_MATH_H

#include "filters/base/power.h"

#define FC_SHARED_CODE(...) __VA_ARGS__
#define FC_DEVICE           static inline __attribute__((unused, always_inline))

/* The functions have different names for the two types. */
#define FC_COLOR_PASTE(name, type)  name##_##type
#define FC_COLOR_PASTE2(name, type) FC_COLOR_PASTE(name, type)
#define FC_COLOR_NAME(name)         FC_COLOR_PASTE2(name, FC_COLOR_TYPE)
#define fc_at_least                 FC_COLOR_NAME(fc_at_least)
#define fc_at_most                  FC_COLOR_NAME(fc_at_most)
#define fc_color_to_light           FC_COLOR_NAME(fc_color_to_light)
#define fc_color_from_light         FC_COLOR_NAME(fc_color_from_light)
#define fc_color_lab_root           FC_COLOR_NAME(fc_color_lab_root)
#define fc_color_lab_cube           FC_COLOR_NAME(fc_color_lab_cube)
#define fc_color_limited            FC_COLOR_NAME(fc_color_limited)
#define fc_color_code               FC_COLOR_NAME(fc_color_code)
#define fc_color_luma               FC_COLOR_NAME(fc_color_luma)
#define fc_color_from_ycbcr         FC_COLOR_NAME(fc_color_from_ycbcr)
#define fc_color_to_ycbcr           FC_COLOR_NAME(fc_color_to_ycbcr)
#define fc_color_hue_part           FC_COLOR_NAME(fc_color_hue_part)
#define fc_color_from_hsv           FC_COLOR_NAME(fc_color_from_hsv)
#define fc_color_to_hsv             FC_COLOR_NAME(fc_color_to_hsv)
#define fc_color_from_linear        FC_COLOR_NAME(fc_color_from_linear)
#define fc_color_to_linear          FC_COLOR_NAME(fc_color_to_linear)
#define fc_color_to_lab             FC_COLOR_NAME(fc_color_to_lab)
#define fc_color_from_lab           FC_COLOR_NAME(fc_color_from_lab)
#define fc_color_decode             FC_COLOR_NAME(fc_color_decode)
#define fc_color_encode             FC_COLOR_NAME(fc_color_encode)

#define real          float
#define FC_COLOR_TYPE f32
#include "filters/color/color.inc"
#undef real
#undef FC_COLOR_TYPE
#define real          double
#define FC_COLOR_TYPE f64
#include "filters/color/color.inc"
#undef real
#undef FC_COLOR_TYPE

#undef fc_color_to_light
#undef fc_color_from_light
#undef fc_color_lab_root
#undef fc_color_lab_cube
#undef fc_color_limited
#undef fc_color_code
#undef fc_color_luma
#undef fc_color_from_ycbcr
#undef fc_color_to_ycbcr
#undef fc_color_hue_part
#undef fc_color_from_hsv
#undef fc_color_to_hsv
#undef fc_color_from_linear
#undef fc_color_to_linear
#undef fc_color_to_lab
#undef fc_color_from_lab
#undef fc_color_decode
#undef fc_color_encode
#undef fc_at_most
#undef fc_at_least
#undef FC_DEVICE
#undef FC_SHARED_CODE

#endif

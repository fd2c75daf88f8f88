/* SPDX-License-Identifier: MIT */
/*
 * color.h - pixels from one colour space to another: grey, R G B with sRGB's transfer curve, R G B
 * proportional to light, Y Cb Cr as in JPEG, H S V, CIE L a b of D65. All are codes, 0 to `white`:
 *
 *   grey   (kr R + kg G + kb B) / sum, weights that are whole numbers, so that for 8 bits the rounded result
 *          is the exact one; of BT.601 299, 587, 114 (Pillow, OpenCV), of BT.709 2126, 7152, 722
 *   YCbCr  luma, and (B - Y) / 2 (1 - kb), (R - Y) / 2 (1 - kr) around the middle code, limited to the range
 *   HSV    hue as a part of a turn, saturation, value, each of them times white
 *   Lab    L of 100 is white; a and b are 128 more than CIE's, times white / 255: OpenCV's 8-bit codes
 *
 * Everything goes through R G B. Sums and products are rounded one by one, powers are those of
 * filters/base/power.h: the same bits on the CPU and on a device. A channel beyond those of the colours is
 * copied (alpha).
 *
 * Views: equal shapes but for channels, which are those of the spaces and `extra` more; any strides, kinds
 * and element types. Pure functions. Cost: a pass over memory; 3 powers of about 20 ns a pixel for light, 6
 * for Lab; of 8 bits 4 ns for Lab of 8 bits, whose light is a table and whose roots are single precision
 * where that surely rounds to the same code (test_color tries all colours).
 */
#ifndef FC_FILTERS_COLOR_H
#define FC_FILTERS_COLOR_H

#include "core/contract/device_function.h"
#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef enum fc_color_space {
  FC_SPACE_GRAY = 0,
  FC_SPACE_RGB = 1,
  FC_SPACE_LINEAR = 2,
  FC_SPACE_YCBCR = 3,
  FC_SPACE_HSV = 4,
  FC_SPACE_LAB = 5,
  FC_SPACES = 6
} fc_color_space;

#define FC_COLOR_NUMBERS 6

typedef struct fc_color_conversion {
  int32_t compute; /* FC_F32 or FC_F64 */
  fc_isa isa;      /* for fc_color_cpu */
  int32_t from, to;
  int32_t extra;                    /* channels after the colours that are copied: 0 or 1 */
  double numbers[FC_COLOR_NUMBERS]; /* fc_color_set */
} fc_color_conversion;

static inline int fc_space_channels(int space) {
  return space == FC_SPACE_GRAY ? 1 : 3;
}

/* Weights of R, G and B, and the code of white; the middle of chroma is an integer, 128 of 255, for a
 * white above 1. */
FC_FILTERS_API void fc_color_set(fc_color_conversion *c, const double luma[3], double white);

/* R G B of 8 bits to Lab of 8 bits: with a table of light and single precision, giving the same bits. */
static inline int fc_color_is_lab_of_bytes(const fc_color_conversion *c, const fc_view *in,
                                           const fc_view *out) {
  return c->from == FC_SPACE_RGB && c->to == FC_SPACE_LAB && c->compute == FC_F32 && in->dtype == FC_U8 &&
         out->dtype == FC_U8 && in->kind != FC_AUDIO && out->kind != FC_AUDIO && c->numbers[4] == 255;
}

/* The definition, a pixel at a time. `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_color_ref(const fc_color_conversion *c, const fc_view *in, const fc_view *out,
                                      uint32_t *notes);

/* Vectorised. `scratch` is fc_color_scratch bytes, aligned to 64. */
FC_FILTERS_API size_t fc_color_scratch(const fc_color_conversion *c);
FC_FILTERS_API fc_status fc_color_cpu(const fc_color_conversion *c, const fc_view *in, const fc_view *out,
                                      void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_color_cuda(const fc_color_conversion *c, const fc_view *in, const fc_view *out,
                                       void *stream, uint32_t *notes);

/* The same as a device function (functions.h). */
FC_FILTERS_API void fc_color_describe(const fc_color_conversion *c, fc_device_function *f);

FC_END_DECLS

#endif

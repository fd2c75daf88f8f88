/* SPDX-License-Identifier: MIT */
/*
 * codes.h - integer samples as integers, for algorithms whose sums are exact.
 *
 * A code is the stored number less the bias of its kind (fc_scaling_of), so that real value = code * scale:
 * unsigned audio becomes signed, other types are unchanged.
 */
#ifndef FC_FILTERS_CODES_H
#define FC_FILTERS_CODES_H

#include "filters/base/samples.h"

FC_BEGIN_DECLS

/*
 * Loads `count` elements of an integer dtype that lie `stride` bytes apart. `to` is
 * dense and does not overlap `from`; the stride may be negative.
 */
FC_FILTERS_API void fc_codes_load(int32_t *to, const void *from, int64_t stride, int64_t count, int kind,
                                  int dtype);

/* The largest |code| of an integer dtype in any kind. */
static inline int64_t fc_codes_limit(int dtype) {
  switch (dtype) {
  case FC_U8: return 255;
  case FC_I16: return 32768;
  case FC_U16: return 65535;
  default: return 2147483648LL;
  }
}

/* The loads of one instruction set, indexed by dtype. */
typedef struct fc_codes_kernels {
  void (*load[FC_I32 + 1])(int32_t *to, const void *from, int64_t stride, int64_t count, int32_t bias);
} fc_codes_kernels;

FC_END_DECLS

#endif

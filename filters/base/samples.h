/* SPDX-License-Identifier: MIT */
/*
 * samples.h - conversion between stored samples and floating-point values.
 *
 * Conversion is part of every operator's load and store: an algorithm loads a row into a small buffer of its
 * compute type, works there, and stores the row. Loads are exact where the value fits; stores round half to
 * even and clamp. What a code means depends on kind and dtype, see fc_scaling_of.
 */
#ifndef FC_FILTERS_SAMPLES_H
#define FC_FILTERS_SAMPLES_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

/* Instruction sets of the vectorised versions; each includes the ones before it. FC_ISA_BASE is what the
 * compiler targets by default. */
typedef enum fc_isa { FC_ISA_BASE = 0, FC_ISA_AVX2 = 1, FC_ISA_AVX512 = 2, FC_ISA_COUNT = 3 } fc_isa;

/* The best one that both this machine and this build support. Cheap; no state. */
FC_FILTERS_API fc_isa fc_isa_best(void);
FC_FILTERS_API const char *fc_isa_name(fc_isa isa);

/*
 * Loads `count` elements that lie `stride` bytes apart, from `from` on, as real
 * values into `to` (float or double by name). `from` is element 0; kind and dtype
 * as in the view it belongs to. `to` is dense and does not overlap `from`; the stride
 * may be negative.
 */
FC_FILTERS_API void fc_load_f32(float *to, const void *from, int64_t stride, int64_t count, int kind,
                                int dtype);
FC_FILTERS_API void fc_load_f64(double *to, const void *from, int64_t stride, int64_t count, int kind,
                                int dtype);

/*
 * Stores `count` real values as elements `stride` bytes apart. notes (FC_NOTES
 * words as in plugin.h, or NULL): [0] is set where a NaN met an integer type (and
 * the real value 0 is stored), [1] where a value was clamped. Safe from several threads at once.
 */
FC_FILTERS_API void fc_store_f32(void *to, int64_t stride, const float *from, int64_t count, int kind,
                                 int dtype, uint32_t *notes);
FC_FILTERS_API void fc_store_f64(void *to, int64_t stride, const double *from, int64_t count, int kind,
                                 int dtype, uint32_t *notes);

/* The same for any compute type, FC_F32 or FC_F64, chosen at run time. */
FC_FILTERS_API void fc_load(void *to, int compute, const void *from, int64_t stride, int64_t count, int kind,
                            int dtype);
FC_FILTERS_API void fc_store(void *to, int64_t stride, const void *from, int compute, int64_t count, int kind,
                             int dtype, uint32_t *notes);

/*
 * The conversions for one instruction set, which this machine must support: for tests, and for loops over
 * rows so short that choosing would take noticeable time. Indexed by dtype; `map` is fc_scaling_of(kind,
 * dtype). Owned by the library.
 */
typedef struct fc_samples_kernels {
  void (*load_f32[FC_DTYPE_COUNT])(float *to, const void *from, int64_t stride, int64_t count,
                                   fc_scaling map);
  void (*load_f64[FC_DTYPE_COUNT])(double *to, const void *from, int64_t stride, int64_t count,
                                   fc_scaling map);
  void (*store_f32[FC_DTYPE_COUNT])(void *to, int64_t stride, const float *from, int64_t count,
                                    fc_scaling map, uint32_t *notes);
  void (*store_f64[FC_DTYPE_COUNT])(void *to, int64_t stride, const double *from, int64_t count,
                                    fc_scaling map, uint32_t *notes);
  /* Bytes of interleaved pixels of 2 to 4 channels into planes `apart` bytes from each other, and back. */
  void (*split_bytes)(uint8_t *to, int64_t apart, const uint8_t *from, int channels, int64_t count);
  void (*join_bytes)(uint8_t *to, const uint8_t *from, int64_t apart, int channels, int64_t count);
} fc_samples_kernels;
FC_FILTERS_API const fc_samples_kernels *fc_samples_kernels_of(fc_isa isa);

FC_END_DECLS

#endif

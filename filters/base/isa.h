/* SPDX-License-Identifier: MIT */
/*
 * isa.h - for files that are compiled once for each instruction set (x_kernels.c).
 *
 * Such a file defines one constant table of function pointers, named with FC_ISA_NAME, and keeps its
 * functions static. x.c declares the table's copies with FC_ISA_DECLARE and takes one with FC_ISA_PICK:
 *
 *     x_kernels.h   typedef struct fc_x_kernels { void (*row)(...); } fc_x_kernels;
 *                   FC_ISA_DECLARE(fc_x_kernels, fc_x_kernels);
 *     x_kernels.c   const fc_x_kernels FC_ISA_NAME(fc_x_kernels) = {row};
 *     x.c           const fc_x_kernels *k = FC_ISA_PICK(fc_x_kernels, x->isa);
 *
 * FC_FMA rounds once if the instruction set has a fused multiply-add, and always twice if it has not, so that
 * a vector loop and its scalar tail agree to the bit.
 */
#ifndef FC_FILTERS_ISA_H
#define FC_FILTERS_ISA_H

#include "filters/base/samples.h"

#ifndef FC_ISA
#define FC_ISA base
#endif

#define FC_ISA_PASTE2(name, isa) name##_##isa
#define FC_ISA_PASTE(name, isa)  FC_ISA_PASTE2(name, isa)
#define FC_ISA_NAME(name)        FC_ISA_PASTE(name, FC_ISA)

#if defined(__x86_64__)
#define FC_ISA_DECLARE(type, name) extern const type name##_base, name##_avx2, name##_avx512
#define FC_ISA_PICK(name, isa)                                                                               \
  ((isa) >= FC_ISA_AVX512 ? &name##_avx512 : (isa) == FC_ISA_AVX2 ? &name##_avx2 : &name##_base)
#else
#define FC_ISA_DECLARE(type, name) extern const type name##_base
#define FC_ISA_PICK(name, isa)     ((void)(isa), &name##_base)
#endif

#if defined(__FMA__) || defined(__aarch64__)
#define FC_FMA(a, b, c)  __builtin_fma(a, b, c)
#define FC_FMAF(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FC_FMA(a, b, c)  ((a) * (b) + (c))
#define FC_FMAF(a, b, c) ((a) * (b) + (c))
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * isa.h - for files that are compiled once for each instruction set (x_kernels.c).
 *
 * FC_ISA_NAME(f) names this compilation's own f; FC_FMA rounds once where the
 * instruction set has a fused multiply-add, and twice, always, where it has not -
 * so that a vector loop and its scalar tail agree to the bit.
 */
#ifndef FC_FILTERS_ISA_H
#define FC_FILTERS_ISA_H

#ifndef FC_ISA
#define FC_ISA base
#endif

#define FC_ISA_PASTE2(name, isa) name##_##isa
#define FC_ISA_PASTE(name, isa) FC_ISA_PASTE2(name, isa)
#define FC_ISA_NAME(name) FC_ISA_PASTE(name, FC_ISA)

#if defined(__FMA__) || defined(__aarch64__)
#define FC_FMA(a, b, c) __builtin_fma(a, b, c)
#define FC_FMAF(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FC_FMA(a, b, c) ((a) * (b) + (c))
#define FC_FMAF(a, b, c) ((a) * (b) + (c))
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * gemm_tiles.h - the tiles of sums of tma.cuh, and what each was measured to take; kernels are listed in the
 * same order in tma_f32.cu and tma_f64.cu. Large tiles are faster, small ones waste less at the edges and
 * leave fewer processors idle.
 */
#ifndef FC_FILTERS_GEMM_TILES_H
#define FC_FILTERS_GEMM_TILES_H

#include "filters/gemm/gemm_plan.h"

#ifdef __cplusplus
#define FC_GEMM_CONSTANT static constexpr
#else
#define FC_GEMM_CONSTANT static const
#endif

/* Floats, multiplied as doubles. */
#define FC_GEMM_TILES_F32 6
FC_GEMM_CONSTANT fc_gemm_tile fc_gemm_tiles_f32[FC_GEMM_TILES_F32] = {
    {128, 128, 146, 142}, {64, 128, 77, 72.5},  {64, 64, 43.5, 42},
    {32, 64, 27.7, 24.7}, {32, 32, 23.3, 13.1}, {16, 32, 18, 12.1}};

/* Doubles. The last is for vectors, which are limited by memory bandwidth: never the cheapest. */
#define FC_GEMM_TILES_F64   8
#define FC_GEMM_VECTORS_F64 7
FC_GEMM_CONSTANT fc_gemm_tile fc_gemm_tiles_f64[FC_GEMM_TILES_F64] = {
    {128, 128, 141, 141}, {64, 128, 72.5, 82}, {96, 96, 82, 82},    {64, 64, 39.3, 38.5},
    {32, 64, 21.7, 21.4}, {32, 32, 16.5, 11},  {16, 32, 14.5, 8.7}, {16, 32, 14.5, 14.5}};

#endif

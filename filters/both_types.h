/* SPDX-License-Identifier: MIT */
/*
 * both_types.h - compiles a file of kernels, whose name FC_KERNELS is, for float and for double, with
 *   T       the element type
 *   F(f)    a name with the type's suffix
 *   FMA1    the multiply-add of elements, SQRT their root
 *   V       the vector of LANES elements, with LOAD, STORE, STREAM, SPLAT and FMA as in simd.h
 * For the sources of one instruction set; to be included once in each.
 */
#include <math.h>

#include "filters/simd.h"

#define T      float
#define F(f)   f##_f32
#define FMA1   FC_FMAF
#define SQRT   sqrtf
#define V      fc_vf
#define LANES  FC_LANES_F32
#define LOAD   fc_vf_load
#define STORE  fc_vf_store
#define STREAM FC_VF_STREAM
#define SPLAT  fc_vf_splat
#define FMA    FC_VF_FMA
#include FC_KERNELS
#undef T
#undef F
#undef FMA1
#undef SQRT
#undef V
#undef LANES
#undef LOAD
#undef STORE
#undef STREAM
#undef SPLAT
#undef FMA

#define T      double
#define F(f)   f##_f64
#define FMA1   FC_FMA
#define SQRT   sqrt
#define V      fc_vd
#define LANES  FC_LANES_F64
#define LOAD   fc_vd_load
#define STORE  fc_vd_store
#define STREAM FC_VD_STREAM
#define SPLAT  fc_vd_splat
#define FMA    FC_VD_FMA
#include FC_KERNELS
#undef T
#undef F
#undef FMA1
#undef SQRT
#undef V
#undef LANES
#undef LOAD
#undef STORE
#undef STREAM
#undef SPLAT
#undef FMA

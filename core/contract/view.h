/* SPDX-License-Identifier: MIT */
/*
 * view.h - types shared by every part of filterchain: status, element type, view.
 *
 * A view describes samples; it does not own them. It is the only type of the engine that the algorithms in
 * filters/ know, so this header is plain C11 and C++17 with no dependency, and it holds no function that is
 * not inline.
 *
 * Axes. Every view has the same four: N (frames of a batch), Y (rows), X (columns, or time), C (channels).
 * Audio is N = Y = 1 with time on X, so that a row of an image and a stretch of audio are the same thing to
 * an algorithm.
 *
 * Units. `stride` is in bytes and may be any value the element size divides (interleaved, planar and padded
 * views differ in nothing else); `shape`, `origin` and `extent` are in elements.
 */
#ifndef FC_VIEW_H
#define FC_VIEW_H

#include <stddef.h>
#include <stdint.h>

/* The functions of this header may be called in kernels too. */
#if defined(__CUDACC__)
#define FC_VIEW_INLINE static inline __host__ __device__
#else
#define FC_VIEW_INLINE static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Every fallible function returns one of these. Zero is success. */
typedef enum fc_status {
  FC_OK = 0,
  FC_UNSUPPORTED = 1, /* valid, but not supported by this code */
  FC_INVALID = 2,     /* an error of the caller's or the user's */
  FC_NO_MEMORY = 3,   /* host or device memory; worth retrying with less */
  FC_DEVICE = 4,      /* the device failed and cannot be used any more */
  FC_IO = 5,          /* a file could not be read or written, or holds bad data */
  FC_FATAL = 6        /* a broken guarantee inside the program or a plugin */
} fc_status;

typedef enum fc_dtype {
  FC_U8 = 0,
  FC_I16 = 1,
  FC_U16 = 2,
  FC_I32 = 3,
  FC_F32 = 4,
  FC_F64 = 5,
  FC_DTYPE_COUNT = 6
} fc_dtype;

/* Sets of element types, for descriptors: FC_DTYPE_BIT(FC_F32) | ... */
#define FC_DTYPE_BIT(dtype) (1u << (unsigned)(dtype))
#define FC_DTYPES_ALL       ((1u << FC_DTYPE_COUNT) - 1u)
#define FC_DTYPES_FLOAT     (FC_DTYPE_BIT(FC_F32) | FC_DTYPE_BIT(FC_F64))

typedef enum fc_axis {
  FC_AXIS_N = 0,
  FC_AXIS_Y = 1,
  FC_AXIS_X = 2,
  FC_AXIS_T = 2, /* time is X */
  FC_AXIS_C = 3,
  FC_AXES = 4
} fc_axis;

/*
 * What the samples mean, which decides how integers and floats correspond:
 *   audio  full scale is +-1.0: i16 v is v/32768, i32 v/2^31, u8 (v-128)/128,
 *          u16 (v-32768)/32768;
 *   image  code values: u8 200 is 200.0 and u16 40000 is 40000.0;
 *   array  code values too, with no photographic or acoustic meaning.
 */
typedef enum fc_kind { FC_AUDIO = 0, FC_IMAGE = 1, FC_ARRAY = 2, FC_KIND_COUNT = 3 } fc_kind;

#define FC_KIND_BIT(kind) (1u << (unsigned)(kind))
#define FC_KINDS_ALL      ((1u << FC_KIND_COUNT) - 1u)

/*
 * Where memory is and work is done: a kind of device in the upper half of an int32_t, the index within the
 * kind in the lower. Zero is the host, so that a zeroed view is in host memory.
 */
typedef enum fc_device_kind { FC_KIND_HOST = 0, FC_KIND_CUDA = 1 } fc_device_kind;
#define FC_HOST                 0
#define FC_CUDA_DEVICE(ordinal) ((int32_t)((FC_KIND_CUDA << 16) | (ordinal)))

FC_VIEW_INLINE int fc_device_kind_of(int32_t device) {
  return (int)((uint32_t)device >> 16);
}
FC_VIEW_INLINE int fc_device_ordinal(int32_t device) {
  return device & 0xffff;
}

/* An extent that is not known before the input ends (Ogg, pipes). */
#define FC_UNKNOWN (-1)

/*
 * A window onto a signal. `data` points at element (0,0,0,0) of the window,
 * whose position in the whole signal is `origin`; the whole signal measures
 * `extent` (which may be FC_UNKNOWN on one axis). Inputs handed to an operator
 * may be read beyond their shape by the halo that the operator asked for.
 */
typedef struct fc_view {
  uint32_t size;  /* sizeof(fc_view) of whoever filled it in */
  int32_t dtype;  /* fc_dtype */
  int32_t kind;   /* fc_kind */
  int32_t device; /* FC_HOST or FC_CUDA_DEVICE(n) */
  void *data;
  int64_t shape[FC_AXES];
  int64_t stride[FC_AXES]; /* bytes */
  int64_t origin[FC_AXES];
  int64_t extent[FC_AXES];
} fc_view;

FC_VIEW_INLINE size_t fc_dtype_size(int dtype) {
  switch (dtype) {
  case FC_U8: return 1;
  case FC_I16:
  case FC_U16: return 2;
  case FC_I32:
  case FC_F32: return 4;
  case FC_F64: return 8;
  default: return 0;
  }
}

static inline const char *fc_dtype_name(int dtype) {
  switch (dtype) {
  case FC_U8: return "u8";
  case FC_I16: return "i16";
  case FC_U16: return "u16";
  case FC_I32: return "i32";
  case FC_F32: return "f32";
  case FC_F64: return "f64";
  default: return "?";
  }
}

FC_VIEW_INLINE int fc_dtype_is_float(int dtype) {
  return dtype == FC_F32 || dtype == FC_F64;
}

/*
 * How an integer sample becomes a real value: value = (code - bias) * scale.
 * Powers of two only, so the conversion is exact wherever the value fits.
 */
typedef struct fc_scaling {
  double scale, bias;
} fc_scaling;

FC_VIEW_INLINE fc_scaling fc_scaling_of(int kind, int dtype) {
  fc_scaling s = {1.0, 0.0};
  if (kind != FC_AUDIO) return s;
  switch (dtype) {
  case FC_U8: s.scale = 1.0 / 128.0, s.bias = 128.0; break;
  case FC_I16: s.scale = 1.0 / 32768.0; break;
  case FC_U16: s.scale = 1.0 / 32768.0, s.bias = 32768.0; break;
  case FC_I32: s.scale = 1.0 / 2147483648.0; break;
  default: break;
  }
  return s;
}

/* Address of an element; indices are relative to the view and may lie in its halo. */
FC_VIEW_INLINE void *fc_view_at(const fc_view *v, int64_t n, int64_t y, int64_t x, int64_t c) {
  return (char *)v->data + n * v->stride[FC_AXIS_N] + y * v->stride[FC_AXIS_Y] + x * v->stride[FC_AXIS_X] +
         c * v->stride[FC_AXIS_C];
}

FC_VIEW_INLINE int64_t fc_view_count(const fc_view *v) {
  return v->shape[0] * v->shape[1] * v->shape[2] * v->shape[3];
}

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: MIT
//
// matrix_line.cuh - loads and stores short lines of samples to and from one thread's registers, with accesses
// as wide as alignment allows. N is the number of registers, a constant, so that they are registers; `count`
// <= N is the number of samples.
#ifndef FC_FILTERS_MATRIX_LINE_CUH
#define FC_FILTERS_MATRIX_LINE_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/matrix/matrix.h"

// The layout of a view's lines: samples `step` bytes apart, or adjacent and accessible `width` (4 or 16)
// bytes at a time; width 0: not adjacent. (8 would double the code for little gain.)
template <typename F> struct fc_line {
  int64_t step;
  fc_dev_map<F> map;
  int32_t dtype, width;
};

template <int W> struct fc_line_word;
template <> struct fc_line_word<4> { using type = uint32_t; };
template <> struct fc_line_word<16> { using type = uint4; };

template <typename T, int W> union fc_line_chunk {
  typename fc_line_word<W>::type word;
  T sample[W / sizeof(T) > 0 ? W / sizeof(T) : 1];
};

template <typename F, typename T, int N, int W>
__device__ __forceinline__ void fc_line_load_words(F (&x)[N], const char *from, int count,
                                                   fc_dev_map<F> map) {
  constexpr int each = W / static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < N; i += each)
    if (i < count) {
      fc_line_chunk<T, W> c;
      c.word = *reinterpret_cast<const typename fc_line_word<W>::type *>(from + i * sizeof(T));
#pragma unroll
      for (int v = 0; v < each; v++)
        if (i + v < N) x[i + v] = fc_dev_value<F, T>(c.sample[v], map);
    }
}

template <typename F, typename T, int N>
__device__ __forceinline__ void fc_line_load_type(F (&x)[N], const char *from, int count,
                                                  const fc_line<F> &line) {
  if (line.width == 16) return fc_line_load_words<F, T, N, 16>(x, from, count, line.map);
  if (sizeof(T) < 4 && line.width == 4)
    return fc_line_load_words < F, T, N, sizeof(T) < 4 ? 4 : 16 > (x, from, count, line.map);
#pragma unroll
  for (int i = 0; i < N; i++)
    if (i < count) x[i] = fc_dev_load<F, T>(from + i * line.step, line.map);
}

// Registers beyond `count` are not changed.
template <typename F, int N>
__device__ __forceinline__ void fc_line_load(F (&x)[N], const char *from, int count, const fc_line<F> &line) {
  switch (line.dtype) {
  case FC_U8: return fc_line_load_type<F, uint8_t, N>(x, from, count, line);
  case FC_I16: return fc_line_load_type<F, int16_t, N>(x, from, count, line);
  case FC_U16: return fc_line_load_type<F, uint16_t, N>(x, from, count, line);
  case FC_I32: return fc_line_load_type<F, int32_t, N>(x, from, count, line);
  case FC_F32: return fc_line_load_type<F, float, N>(x, from, count, line);
  default: return fc_line_load_type<F, double, N>(x, from, count, line);
  }
}

template <typename F, typename T, int N, int W>
__device__ __forceinline__ void fc_line_store_words(char *to, const F (&y)[N], int count, fc_dev_map<F> map,
                                                    uint32_t *notes) {
  constexpr int each = W / static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < N; i += each)
    if (i < count) {
      fc_line_chunk<T, W> c;
#pragma unroll
      for (int v = 0; v < each; v++)
        if (i + v < N) c.sample[v] = fc_dev_code<F, T>(y[i + v], map, notes);
      *reinterpret_cast<typename fc_line_word<W>::type *>(to + i * sizeof(T)) = c.word;
    }
}

template <typename F, typename T, int N>
__device__ __forceinline__ void fc_line_store_type(char *to, const F (&y)[N], int count,
                                                   const fc_line<F> &line, uint32_t *notes) {
  if (line.width == 16) return fc_line_store_words<F, T, N, 16>(to, y, count, line.map, notes);
  if (sizeof(T) < 4 && line.width == 4)
    return fc_line_store_words < F, T, N, sizeof(T) < 4 ? 4 : 16 > (to, y, count, line.map, notes);
#pragma unroll
  for (int i = 0; i < N; i++)
    if (i < count) fc_dev_store<F, T>(to + i * line.step, y[i], line.map, notes);
}

template <typename F, int N>
__device__ __forceinline__ void fc_line_store(char *to, const F (&y)[N], int count, const fc_line<F> &line,
                                              uint32_t *notes) {
  switch (line.dtype) {
  case FC_U8: return fc_line_store_type<F, uint8_t, N>(to, y, count, line, notes);
  case FC_I16: return fc_line_store_type<F, int16_t, N>(to, y, count, line, notes);
  case FC_U16: return fc_line_store_type<F, uint16_t, N>(to, y, count, line, notes);
  case FC_I32: return fc_line_store_type<F, int32_t, N>(to, y, count, line, notes);
  case FC_F32: return fc_line_store_type<F, float, N>(to, y, count, line, notes);
  default: return fc_line_store_type<F, double, N>(to, y, count, line, notes);
  }
}

// Lines of `count` samples along an axis of a view, with their beginnings at the view's
// data plus multiples of its other strides and of `count` samples.
template <typename F> static inline fc_line<F> fc_line_of(const fc_view *v, int axis, int64_t count) {
  int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  fc_line<F> line = {v->stride[axis], fc_dev_map_of<F>(v->kind, v->dtype), v->dtype, 0};
  if (v->stride[axis] != size) return line;
  // Every start and the length must be multiples of the access.
  uint64_t all = reinterpret_cast<uintptr_t>(v->data) | static_cast<uint64_t>(count * size);
  for (int a = 0; a < FC_AXES; a++)
    if (a != axis && v->shape[a] > 1) all |= static_cast<uint64_t>(v->stride[a]);
  line.width = all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 0;
  // An access no wider than a sample has no advantage.
  if (line.width <= size) line.width = 0;
  return line;
}

// Views as for FC_MATRIX_PIXELS (matrix_plan.h); FC_UNSUPPORTED, with nothing enqueued, for more tiles than a
// grid may have blocks.
fc_status fc_matrix_mix(const fc_matrix *m, const fc_view *in, const fc_view *out, cudaStream_t stream);

#endif

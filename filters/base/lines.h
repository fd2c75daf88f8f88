/* SPDX-License-Identifier: MIT */
/*
 * lines.h - a pair of views of equal shape as lines of equally spaced elements, for operations that treat all
 * samples alike.
 *
 * Where both views are interleaved a line is a whole row with all its channels, dense; else it is one channel
 * of a row. C11 and CUDA.
 */
#ifndef FC_FILTERS_LINES_H
#define FC_FILTERS_LINES_H

#include "core/contract/view.h"

typedef struct fc_lines {
  int64_t frames, rows, channels; /* number of lines; channels is 1 where a line contains them all */
  int64_t length;                 /* elements of a line */
  int64_t in_step, out_step;      /* bytes from one to the next */
} fc_lines;

/* Channels adjacent, and columns contiguous. */
static inline int fc_is_interleaved(const fc_view *v) {
  int64_t size = (int64_t)fc_dtype_size(v->dtype);
  return (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] == size) &&
         v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size;
}

/* The position after `at`, in the order of a view's axes; the first again after the last. */
static inline void fc_advance(const fc_view *v, int64_t at[FC_AXES]) {
  for (int a = FC_AXES - 1; a >= 0; at[a--] = 0)
    if (++at[a] < v->shape[a]) return;
}

static inline fc_lines fc_lines_of(const fc_view *in, const fc_view *out, int whole_rows) {
  fc_lines l;
  int64_t channels = out->shape[FC_AXIS_C], columns = out->shape[FC_AXIS_X];
  int whole = whole_rows && fc_is_interleaved(in) && fc_is_interleaved(out);
  l.frames = out->shape[FC_AXIS_N];
  l.rows = out->shape[FC_AXIS_Y];
  l.channels = whole ? 1 : channels;
  l.length = whole ? columns * channels : columns;
  l.in_step = whole ? (int64_t)fc_dtype_size(in->dtype) : in->stride[FC_AXIS_X];
  l.out_step = whole ? (int64_t)fc_dtype_size(out->dtype) : out->stride[FC_AXIS_X];
  return l;
}

/*
 * Joins lines that are contiguous in both views: rows and, with `frames`, also frames.
 */
static inline void fc_lines_merge(fc_lines *l, const fc_view *in, const fc_view *out, int frames) {
  if (l->rows > 1 &&
      (in->stride[FC_AXIS_Y] != l->length * l->in_step || out->stride[FC_AXIS_Y] != l->length * l->out_step))
    return;
  l->length *= l->rows, l->rows = 1;
  if (!frames || (l->frames > 1 && (in->stride[FC_AXIS_N] != l->length * l->in_step ||
                                    out->stride[FC_AXIS_N] != l->length * l->out_step)))
    return;
  l->length *= l->frames, l->frames = 1;
}

#ifdef __CUDACC__
/* The line that a block of threads processes. Computed once per block, since a division of 64 bits is a
 * subroutine of a hundred instructions, more than a thread needs for its samples. */
struct fc_dev_line {
  int64_t n, y, c;
};

__device__ __forceinline__ fc_dev_line fc_dev_line_of(const fc_lines &lines, int64_t line) {
  if (lines.rows == 1 && lines.channels == 1) return {line, 0, 0};
  if (line >> 32 || lines.rows >> 32 || lines.channels >> 32)
    return {line / lines.channels / lines.rows, line / lines.channels % lines.rows, line % lines.channels};
  const uint32_t i = static_cast<uint32_t>(line), channels = static_cast<uint32_t>(lines.channels);
  const uint32_t rows = static_cast<uint32_t>(lines.rows), row = i / channels, n = row / rows;
  return {n, row - n * rows, i - row * channels};
}
#endif

#endif

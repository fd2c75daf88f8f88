// SPDX-License-Identifier: MIT
//
// lines.cuh - the line of fc_lines that a block of threads processes. Computed once per block, since a
// division of 64 bits is a subroutine of a hundred instructions, more than a thread needs for its samples.
#ifndef FC_FILTERS_LINES_CUH
#define FC_FILTERS_LINES_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/base/lines.h"

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

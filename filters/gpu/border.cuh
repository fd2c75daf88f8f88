// SPDX-License-Identifier: MIT
//
// border.cuh - maps positions beyond the ends of a signal to elements inside, for kernels that make the
// border themselves (core/contract/edges.h).
#ifndef FC_FILTERS_BORDER_CUH
#define FC_FILTERS_BORDER_CUH

#include <stdint.h>

#include "core/contract/edges.h"
#include "core/contract/view.h"

// fc_border_map: the position that stands for p, or -1 for the constant.
__host__ __device__ __forceinline__ constexpr int fc_dev_border_source(int border, int p, int extent) {
  if (p >= 0 && p < extent) return p;
  if (border == FC_BORDER_REPLICATE) return p < 0 ? 0 : extent - 1;
  if (border != FC_BORDER_WRAP && border != FC_BORDER_REFLECT && border != FC_BORDER_REFLECT101) return -1;
  // Mirrors are at `edge` beyond the first element: half an element, or none.
  const int edge = border == FC_BORDER_REFLECT;
  const int near = border == FC_BORDER_WRAP ? (p < 0 ? p + extent : p - extent)
                   : p < 0                  ? -p - edge
                                            : 2 * extent - 2 + edge - p;
  if (near >= 0 && near < extent) return near; // mostly: no division
  const int period = border == FC_BORDER_WRAP ? extent : 2 * (extent - 1 + edge);
  if (period == 0) return 0;
  int q = p % period;
  if (q < 0) q += period;
  return q < extent ? q : period - edge - q;
}

// For signals along X, if a window reaches no further beyond an end than the signal is long.
struct fc_dev_border {
  int border;    // fc_border
  int frames;    // of the signal
  uint64_t code; // of its constant
};
#define FC_BORDER_ELEMENT_NONE INT32_MIN // the constant

// The element of a row of STEP interleaved channels that e, beyond the ends, is mapped to.
template <int STEP> __device__ __forceinline__ int fc_dev_border_element(const fc_dev_border &b, int e) {
  const int frame = e < 0 ? -((STEP - 1 - e) / STEP) : e / STEP, edge = b.border == FC_BORDER_REFLECT101;
  int source = FC_BORDER_ELEMENT_NONE;
  if (b.border == FC_BORDER_REPLICATE) source = e < 0 ? 0 : b.frames - 1;
  if (b.border == FC_BORDER_WRAP) source = e < 0 ? frame + b.frames : frame - b.frames;
  if (b.border == FC_BORDER_REFLECT || b.border == FC_BORDER_REFLECT101)
    source = e < 0 ? edge - 1 - frame : 2 * b.frames - 1 - edge - frame;
  return source == FC_BORDER_ELEMENT_NONE ? source : source * STEP + e - frame * STEP;
}

// False if a window of `taps`, `before` of them before an output, reaches further, or in another direction.
static inline bool fc_dev_border_of(fc_dev_border *b, const fc_edges *edges, const fc_view *in,
                                    int64_t before, int64_t taps, int64_t outputs) {
  *b = {FC_BORDER_NONE, 0, 0};
  if (!edges) return true;
  const int64_t frames = in->shape[FC_AXIS_X];
  if (frames > INT32_MAX / 2 || before < 0 || before >= taps || before >= frames ||
      outputs - before + taps - 1 >= 2 * frames)
    return false;
  *b = {edges->border, static_cast<int>(frames), edges->code};
  return true;
}

#endif

// SPDX-License-Identifier: MIT
//
// box_launch.cuh - code shared by the launchers of box_march.cu and box_cells.cu.
#ifndef FC_FILTERS_WINSTAT_BOX_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_BOX_LAUNCH_CUH

#include "filters/winstat/samples.cuh"
#include "filters/winstat/launch.cuh"

#include <cstring>

namespace winstat {

static inline bool small(int64_t v) {
  return v > -(1 << 30) && v < 1 << 30;
}

// Elements are aligned to their type, in an order that 32 bits can number.
static inline bool within_reach(const fc_view *v, int64_t columns) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype)), step = v->stride[FC_AXIS_X];
  for (int a = 0; a < FC_AXES; a++)
    if (v->stride[a] % size != 0 || !small(v->shape[a])) return false;
  return reinterpret_cast<uintptr_t>(v->data) % static_cast<uintptr_t>(size) == 0 && step > 0 &&
         step < 1 << 16 && small(step * columns);
}

// Whether sums computed in floats give the required results: either exact, or with the rounding that the
// definition has too.
static inline bool summed_in_floats(const fc_winstat *w, const fc_view *in) {
  if (in->dtype == FC_F32) return w->compute == FC_F32;
  if (in->dtype != FC_U8 && in->dtype != FC_I16 && in->dtype != FC_U16) return false;
  return (w->before[0] + w->after[0] + 1) * (w->before[1] + w->after[1] + 1) * magnitude_of(in->dtype) <
         1 << 23;
}

// The border's constant as a sample of the sums.
static inline float outside_of(const fc_edges *edges, const fc_view *in) {
  if (!edges) return 0;
  float value = 0;
  int32_t code = 0;
  const int32_t bias = static_cast<int32_t>(fc_scaling_of(in->kind, in->dtype).bias);
  switch (in->dtype) {
  case FC_U8: code = static_cast<uint8_t>(edges->code); break;
  case FC_I16: code = static_cast<int16_t>(edges->code); break;
  case FC_U16: code = static_cast<uint16_t>(edges->code); break;
  default: memcpy(&value, &edges->code, sizeof value); return value;
  }
  return static_cast<float>(code - bias);
}

} // namespace winstat

#endif

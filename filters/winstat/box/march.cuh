// SPDX-License-Identifier: MIT
//
// march.cuh - host code shared by kernels that march down strips of columns.
#ifndef FC_FILTERS_WINSTAT_MARCH_CUH
#define FC_FILTERS_WINSTAT_MARCH_CUH

#include <cstring>

#include "filters/gpu/cuda.cuh"
#include "filters/winstat/box/cuts.h"
#include "filters/winstat/samples.cuh"

namespace winstat {

// Concurrent blocks of a kernel on the device, by which work is split; 0 if there is none of it for the
// device.
template <typename K> static inline int64_t march_resident(K kernel, int threads, int64_t bytes) {
  int each = 0, device = 0, processors = 1;
  if (fc_allow_shared(kernel, bytes) &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, static_cast<size_t>(bytes)) ==
          cudaSuccess &&
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess)
    return static_cast<int64_t>(processors) * each;
  fc_forget_error();
  return 0;
}

// How strips of `steps` steps are split: as short as possible, so that multiprocessors end together and do
// not run in step, until the `warm` steps repeated by each split cost more.
struct march_splits {
  int32_t steps, splits;
};
static inline march_splits march_splits_of(int32_t steps, int32_t warm, int64_t strips, int64_t resident) {
  march_splits best = {steps, 1};
  int64_t least = INT64_MAX;
  for (int32_t splits = 1; splits <= steps && splits <= 256; splits++) {
    const int32_t each = (steps + splits - 1) / splits, real = (steps + each - 1) / each;
    const int64_t cost = (strips * real + resident) * (each + warm + 1);
    if (cost < least) least = cost, best = {each, real};
  }
  return best;
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

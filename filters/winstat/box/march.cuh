// SPDX-License-Identifier: MIT
//
// march.cuh - host code shared by kernels that march down strips of columns.
#ifndef FC_FILTERS_WINSTAT_MARCH_CUH
#define FC_FILTERS_WINSTAT_MARCH_CUH

#include "filters/gpu/cuda.cuh"

namespace winstat {

// Concurrent blocks of a kernel on the device; 0 if a multiprocessor does not have enough shared memory, or
// runs fewer than `least`.
template <typename K>
static inline int64_t march_resident(K kernel, int threads, int64_t bytes, int least = 1) {
  int each = 0, device = 0, processors = 1;
  if (fc_allow_shared(kernel, bytes) &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, static_cast<size_t>(bytes)) ==
          cudaSuccess &&
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess)
    return each < least ? 0 : static_cast<int64_t>(processors) * each;
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

} // namespace winstat

#endif

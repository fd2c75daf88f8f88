// SPDX-License-Identifier: MIT
//
// peak_bytes_launch.cuh - extremes of bytes, by the kernel of peak_bytes.cuh.
#ifndef FC_FILTERS_WINSTAT_PEAK_BYTES_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_PEAK_BYTES_LAUNCH_CUH

#include "filters/winstat/extremes.cuh"

namespace winstat {

// Of `frames` images; `filled`: windows see what stands beyond the ends besides; `sole`: pixels lie p.step
// bytes apart, and have one byte each. As run_peak_cells else.
fc_status run_peak_bytes(const peak_args &p, int64_t frames, bool filled, bool sole, bool only_ask,
                         cudaStream_t stream, bool *done);

} // namespace winstat

#endif

// SPDX-License-Identifier: MIT
//
// box_pixels.cu - boxes of floats of three or four channels side by side: box_pixels.cuh.
#include "filters/winstat/box_pixels.cuh"
#include "filters/winstat/box_march_launch.cuh"

namespace winstat {

// Columns that are worth a strip of its own.
constexpr int64_t PIXELS_LEAST = 40;

fc_status run_box_pixels(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         int which, cudaStream_t stream, bool *done) {
  *done = false;
  if (in->dtype == FC_U8) return run_box_bytes(w, in, edges, out, stream, done);
  const int channels = static_cast<int>(in->shape[FC_AXIS_C]);
  const int64_t reach = w->before[0] + w->after[0];
  if (in->dtype != FC_F32 || (channels != 3 && channels != 4) || reach == 0 ||
      w->before[1] + w->after[1] == 0 || in->shape[FC_AXIS_X] < PIXELS_LEAST ||
      in->stride[FC_AXIS_X] != channels * static_cast<int64_t>(sizeof(float)) ||
      in->stride[FC_AXIS_C] != sizeof(float) || out->stride[FC_AXIS_C] != sizeof(float))
    return FC_OK;
  const box_args a = box_args_of(w, in, edges, out, which, channels);
  const int64_t frames = in->shape[FC_AXIS_N];
  if (channels == 3 && a.x.warm <= 2) return launch_march<box_pixels<3, 2>>(a, frames, stream, done);
  if (channels == 4 && a.x.warm <= 1) return launch_march<box_pixels<4, 1>>(a, frames, stream, done);
  return FC_OK;
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// box_march.cu - sums in boxes: launches the kernel of box_march.cuh.
#include "filters/winstat/box/box_march_launch.cuh"

namespace winstat {

static_assert(BOX_PITCH == FC_BOX_PITCH && BOX_THREADS == FC_BOX_THREADS && RUN == FC_WINSTAT_RUN,
              "as counted");

static bool quarters(const fc_view *v) {
  return v->stride[FC_AXIS_X] == sizeof(float) && v->stride[FC_AXIS_Y] % 16 == 0 &&
         v->stride[FC_AXIS_N] % 16 == 0 && (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] % 16 == 0);
}

// Whether samples can be copied four at a time.
static bool plain_planes(const fc_winstat *w, const fc_view *in) {
  const int64_t start = static_cast<int64_t>(reinterpret_cast<uintptr_t>(in->data)) -
                        (w->before[0] + floor_mod(in->origin[FC_AXIS_X] - w->before[0], RUN)) *
                            static_cast<int64_t>(sizeof(float));
  return in->dtype == FC_F32 && quarters(in) && floor_mod(start, 16) == 0;
}

fc_status run_box_march(const call &c, int which) {
  box_args a = box_args_of(c, which, 1);
  const int64_t frames = c.in->shape[FC_AXIS_N];
  a.notes = c.notes;
  if (c.in->dtype != FC_F32) return launch_march<box_words<true>>(a, frames, c.stream);
  return plain_planes(c.w, c.in) ? launch_march<box_quads>(a, frames, c.stream)
                                 : launch_march<box_words<false>>(a, frames, c.stream);
}

} // namespace winstat

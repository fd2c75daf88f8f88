// SPDX-License-Identifier: MIT
//
// prefilter.cuh - a short window along a line ahead of the one that a skeleton is about, computed as samples
// are loaded: a few taps, or an extreme of a few samples, ahead of a long statistic or a transform. What it
// makes is never in memory. For slide.cuh, running.cuh and extremes.cuh, and for overlap.cuh of conv1d.
//
//     in --load--> ahead --> TAPS samples: op --> behind --> the skeleton's window
//
// Where there is one, the functions before the skeleton's window are a struct Pre with TAPS, with BORDER, the
// border of what the prefilter sees, and with ahead(), op and behind(). A thread loads what is around its own
// samples too, out of the first cache; in overlap.cuh, where these are not adjacent, each TAPS times.
//
// The sum of an output begins from 0 and goes tap by tap, as in window.cuh: its bits are those of the stage
// run by itself.
#ifndef FC_FILTERS_GPU_PREFILTER_CUH
#define FC_FILTERS_GPU_PREFILTER_CUH

#include "filters/gpu/statistic.cuh"
#include "filters/gpu/window.cuh"

// How sample k of a window is added to what those before it made, 0 at first.
template <typename Statistic> struct fc_tap_by_tap {
  static FC_DEVICE float add(const Statistic &, int k, float v, float sum) {
    return k ? Statistic::policy::join(sum, v) : v;
  }
};
template <int KX> struct fc_tap_by_tap<fc_dense<KX, 1>> {
  static FC_DEVICE float add(const fc_dense<KX, 1> &op, int k, float v, float sum) {
    return fmaf(op.m[0][k], v, sum);
  }
};

// How many samples Pre looks at; before its own, and behind it. 1, 0 and 0: there is no prefilter.
template <typename Pre, typename = int> struct fc_prefilter {
  static constexpr int TAPS = 1, BEFORE = 0, AFTER = 0;
};
template <typename Pre> struct fc_prefilter<Pre, decltype(Pre::TAPS + 0)> {
  static constexpr int TAPS = Pre::TAPS, BEFORE = TAPS / 2, AFTER = TAPS - 1 - BEFORE;
};

// P positions, as the skeleton's window sees them, given those around them too.
template <int P, typename Pre, int N, int M>
FC_DEVICE void fc_prefiltered(const Pre &pre, const float (&x)[N], float (&v)[M], fc_dev_noted &noted) {
  if constexpr (fc_prefilter<Pre>::TAPS == 1) {
    pre.run(x, v, noted);
  } else {
    constexpr int TAPS = Pre::TAPS, UM = M / P;
    float u[(P + TAPS - 1) * UM], sum[M] = {};
    pre.ahead(x, u, noted);
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
      for (int k = 0; k < TAPS; k++)
        sum[i] = fc_tap_by_tap<typename Pre::op_type>::add(pre.op, k, u[i + k * UM], sum[i]);
    pre.behind(sum, v, noted);
  }
}

// Position `source` of the signal, whose samples read(position, x) gives; there the prefilter sees its own
// border.
template <int UI, typename Pre, int UM, typename Read>
FC_DEVICE void fc_prefiltered_at(const fc_window_args &a, int source, const Pre &pre, float (&v)[UM],
                                 fc_dev_noted &noted, Read read) {
  float x[UI];
  if constexpr (fc_prefilter<Pre>::TAPS == 1) {
    read(source - a.begin, x);
    pre.run(x, v, noted);
  } else {
    float sum[UM] = {};
#pragma unroll
    for (int k = 0; k < Pre::TAPS; k++) {
      const int at = fc_dev_border_source(Pre::BORDER, source + k - fc_prefilter<Pre>::BEFORE, a.extent);
      float u[UM];
#pragma unroll
      for (int c = 0; c < UM; c++) u[c] = a.ahead;
      if (at >= 0) {
        read(at - a.begin, x);
        pre.ahead(x, u, noted);
      }
#pragma unroll
      for (int c = 0; c < UM; c++)
        sum[c] = fc_tap_by_tap<typename Pre::op_type>::add(pre.op, k, u[c], sum[c]);
    }
    pre.behind(sum, v, noted);
  }
}

// The samples of a position in a line with all of its UI channels.
template <typename T, int KT, int UI>
FC_DEVICE void fc_read_position(const char *in, int at, float (&x)[UI]) {
  const T *samples = reinterpret_cast<const T *>(in) + static_cast<int64_t>(at) * UI;
#pragma unroll
  for (int c = 0; c < UI; c++) x[c] = fc_dev_value<float, T>(samples[c], fc_map_scaling<float, T, KT>());
}

#endif

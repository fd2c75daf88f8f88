// SPDX-License-Identifier: MIT
//
// tone.cu - tone.h on a CUDA device: a thread per sample, with the functions of tone_math.h, so that the
// bits are those of the CPU.
#include "filters/generate/tone_math.h"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int THREADS = 256;

__device__ __forceinline__ double sample_of(const fc_tone &tone, int64_t t, int64_t channel) {
  const uint64_t phase = fc_tone_phase(tone.step, tone.sweep, static_cast<uint64_t>(t));
  switch (tone.form) {
  case FC_TONE_SINE: return fc_tone_sine(phase);
  case FC_TONE_SQUARE: return fc_tone_square(phase);
  case FC_TONE_NOISE: return fc_tone_noise(fc_tone_noise_state(tone.seed, t, channel));
  default: return 0;
  }
}

// With interleaved channels, neighbouring threads compute neighbouring elements, i.e. channels first.
__global__ void __launch_bounds__(THREADS)
    tone_elements(fc_tone tone, fc_dev_view out, int64_t origin_t, int64_t origin_c, fc_dev_map<double> store,
                  uint32_t *notes) {
  const int64_t channels = out.shape[FC_AXIS_C], count = out.shape[FC_AXIS_T] * channels;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * THREADS) {
    const int64_t t = i / channels, c = i % channels;
    const double v = __dmul_rn(tone.level, sample_of(tone, origin_t + t, origin_c + c));
    fc_dev_store_any<double>(out.at(0, 0, t, c), out.dtype, v, store, notes);
  }
}

} // namespace

fc_status fc_tone_cuda(const fc_tone *tone, const fc_view *out, void *stream, uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (out->shape[FC_AXIS_N] != 1 || out->shape[FC_AXIS_Y] != 1) return FC_UNSUPPORTED;
  return fc_launch(tone_elements, dim3(fc_blocks(fc_view_count(out), THREADS, 1 << 16)), dim3(THREADS), 0,
                   stream, *tone, fc_dev_view_of(out), out->origin[FC_AXIS_T], out->origin[FC_AXIS_C],
                   fc_dev_map_of<double>(out->kind, out->dtype), notes);
}

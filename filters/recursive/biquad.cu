// SPDX-License-Identifier: MIT
//
// biquad.cu - biquad.h on a CUDA device. One block of threads per channel: all threads load a tile of samples
// as doubles and store the results; in between one warp filters the tile, with one section per lane. Lane s
// processes sample t - s while lane 0 processes sample t, and passes its result to lane s + 1 (a shuffle), so
// a sample takes the time of one section for up to 32 sections. Operations and their order are those of the
// reference: the same bits.
#include "filters/gpu/cuda.cuh"
#include "filters/recursive/biquad.h"

namespace {

constexpr int THREADS = 128;
constexpr int TILE = FC_BIQUAD_FLUSH; // samples: 8 KiB
constexpr int GROUPS = (FC_BIQUAD_MOST + 31) / 32;

struct section_state {
  fc_biquad_section q;
  double s1, s2;

  __device__ __forceinline__ double filter(double x) {
    const double y = __dadd_rn(__dmul_rn(q.b0, x), s1);
    s1 = __dadd_rn(__dsub_rn(__dmul_rn(q.b1, x), __dmul_rn(q.a1, y)), s2);
    s2 = __dsub_rn(__dmul_rn(q.b2, x), __dmul_rn(q.a2, y));
    return y;
  }
  __device__ __forceinline__ void flush() {
    if (fabs(s1) < FC_BIQUAD_TINY) s1 = 0;
    if (fabs(s2) < FC_BIQUAD_TINY) s2 = 0;
  }
};

// Filters a tile through the sections of one warp, `active` of them.
__device__ __forceinline__ void filter_tile(double *tile, int count, section_state &mine, int active) {
  const int lane = static_cast<int>(threadIdx.x);
  double y = 0;
  for (int t = 0; t < count + active - 1; t++) {
    const double before = __shfl_up_sync(0xffffffffu, y, 1);
    const int i = t - lane;
    if (lane < active && i >= 0 && i < count) {
      y = mine.filter(lane == 0 ? tile[i] : before);
      if (lane == active - 1) tile[i] = y;
    }
  }
  __syncwarp();
}

__global__ void __launch_bounds__(THREADS)
    biquad_sections(fc_dev_view in, fc_dev_view out, const fc_biquad_section *sections, int n_sections,
                    double *state, int64_t origin, fc_dev_map<double> load, fc_dev_map<double> store,
                    uint32_t *notes) {
  __shared__ double tile[TILE];
  const int64_t channel = blockIdx.x, length = out.shape[FC_AXIS_T];
  const int lane = static_cast<int>(threadIdx.x);
  double *const states = state + channel * n_sections * 2;
  section_state mine[GROUPS] = {};
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const int s = g * 32 + lane;
    if (lane < 32 && s < n_sections) mine[g] = {sections[s], states[2 * s], states[2 * s + 1]};
  }
  for (int64_t base = 0, count; base < length; base += count) {
    const int64_t within = (origin + base) % TILE;
    count = TILE - within < length - base ? TILE - within : length - base;
    for (int i = lane; i < count; i += THREADS)
      tile[i] = fc_dev_load_any<double>(in.at(0, 0, base + i, channel), in.dtype, load);
    __syncthreads();
    if (lane < 32) {
#pragma unroll
      for (int g = 0; g < GROUPS; g++) {
        const int active = n_sections - g * 32 < 32 ? n_sections - g * 32 : 32;
        if (active <= 0) break;
        if (within == 0) mine[g].flush();
        filter_tile(tile, static_cast<int>(count), mine[g], active);
      }
    }
    __syncthreads();
    for (int i = lane; i < count; i += THREADS)
      fc_dev_store_any<double>(out.at(0, 0, base + i, channel), out.dtype, tile[i], store, notes);
    __syncthreads();
  }
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const int s = g * 32 + lane;
    if (lane < 32 && s < n_sections) states[2 * s] = mine[g].s1, states[2 * s + 1] = mine[g].s2;
  }
}

} // namespace

fc_status fc_biquad_cuda(const fc_biquad *b, const fc_view *in, const fc_view *out, void *state, void *stream,
                         uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (out->shape[FC_AXIS_N] != 1 || out->shape[FC_AXIS_Y] != 1) return FC_UNSUPPORTED;
  return fc_launch(biquad_sections, dim3(static_cast<unsigned>(out->shape[FC_AXIS_C])), dim3(THREADS), 0,
                   stream, fc_dev_view_of(in), fc_dev_view_of(out), b->device_section, b->sections,
                   static_cast<double *>(state), out->origin[FC_AXIS_T],
                   fc_dev_map_of<double>(in->kind, in->dtype), fc_dev_map_of<double>(out->kind, out->dtype),
                   notes);
}

// SPDX-License-Identifier: MIT
//
// stft.cu - short-time Fourier transforms on a CUDA device: a block of threads computes one frame of one
// channel from the samples to the output values in one kernel (window, transform, magnitude, filterbank),
// without global memory in between.
#include "filters/fourier/gpu/fft_block.cuh"
#include "filters/fourier/stft.h"

namespace {

template <typename F> struct job {
  fc_dev_rfft<F> plan;
  fc_dev_view in, out;
  fc_dev_map<F> map_in, map_out;
  int32_t in_dtype, out_dtype;
  int64_t frame, hop, before, values;
  const F *window;
  int32_t components, component[FC_COMPONENTS];
  int64_t bands;
  const int64_t *first, *bin;
  const F *weights;
  int64_t count; // frames of all channels
  fc_complex<F> *global;
  uint32_t *notes;
};

// Loads a frame into the buffer; returns whether a sample was NaN or infinite.
template <typename F>
__device__ __forceinline__ bool load_frame(const job<F> &j, fc_complex<F> *buffer, const char *from) {
  bool bad = false;
  const int64_t step = j.in.stride[FC_AXIS_X];
  for (int i = threadIdx.x; i < j.plan.n; i += blockDim.x) {
    F v = F(0);
    if (i < j.frame) v = j.window[i] * fc_dev_load_any<F>(from + i * step, j.in_dtype, j.map_in);
    bad |= v * F(0) != F(0);
    fc_rfft_put(j.plan, buffer, i, v);
  }
  return bad;
}

template <typename F> __device__ __forceinline__ F component_of(fc_complex<F> x, int component) {
  if (component == FC_RE) return x.re;
  if (component == FC_IM) return x.im;
  F power = fc_fft_fma(x.re, x.re, x.im * x.im);
  return component == FC_MAG ? sqrt(power) : power;
}

template <typename F> __device__ __forceinline__ F decibels(F power) {
  const F floor = static_cast<F>(FC_DB_FLOOR);
  return F(10) * log10(power < floor ? floor : power);
}

template <typename F> __device__ __forceinline__ F band_of(const job<F> &j, const F *spectrum, int b) {
  F sum = F(0);
  const int64_t begin = j.first[b], end = j.first[b + 1];
  const F *row = spectrum + j.bin[b] - begin;
  for (int64_t i = begin; i < end;) {
    const int64_t stop = end - i < FC_BANDS_BLOCK ? end : i + FC_BANDS_BLOCK;
    F block = F(0);
    for (; i < stop; i++) block = fc_fft_fma(j.weights[i], row[i], block);
    sum += block;
  }
  return sum;
}

// Stores one component of all bins, or of all bands, to `to`; `spare` is the unused buffer.
template <typename F>
__device__ __forceinline__ void store_component(const job<F> &j, const fc_complex<F> *z, F *spare,
                                                int component, bool bad, char *to) {
  const int64_t step = j.out.stride[FC_AXIS_C];
  const F taint = bad ? static_cast<F>(NAN) : F(0);
  for (int k = threadIdx.x; k < j.plan.bins; k += blockDim.x) {
    F v = component_of(fc_rfft_bin(j.plan, z, k), component);
    if (bad) v = taint;
    if (j.bands)
      spare[k] = v;
    else
      fc_dev_store_any<F>(to + k * step, j.out_dtype, component == FC_DB ? decibels(v) : v, j.map_out,
                          j.notes);
  }
  if (!j.bands) return;
  __syncthreads();
  for (int b = threadIdx.x; b < j.bands; b += blockDim.x) {
    F v = band_of(j, spare, b);
    fc_dev_store_any<F>(to + b * step, j.out_dtype, component == FC_DB ? decibels(v) : v, j.map_out, j.notes);
  }
  __syncthreads();
}

template <typename F> __global__ void stft_kernel(job<F> j) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int64_t values = fc_block_values(j.plan.complex);
  fc_complex<F> *a =
      j.global ? j.global + blockIdx.x * 2 * values : reinterpret_cast<fc_complex<F> *>(shared);
  fc_complex<F> *b = a + values;
  const int64_t channels = j.in.shape[FC_AXIS_C], frames = j.out.shape[FC_AXIS_X],
                rows = j.out.shape[FC_AXIS_Y];
  for (int64_t i = blockIdx.x; i < j.count; i += gridDim.x) {
    int64_t c = i % channels, f = i / channels % frames, row = i / channels / frames;
    int64_t y = row % rows, n = row / rows;
    bool bad = load_frame(j, a, j.in.at(n, y, f * j.hop - j.before, c));
    bad = __syncthreads_or(bad) != 0;
    fc_complex<F> *z = fc_block_fft(j.plan.complex, a, b);
    F *spare = reinterpret_cast<F *>(z == a ? b : a);
    for (int k = 0; k < j.components; k++)
      store_component(j, z, spare, j.component[k], bad, j.out.at(n, y, f, (c * j.components + k) * j.values));
    __syncthreads(); // before the next frame overwrites what other threads still read
  }
}

template <typename F>
job<F> job_of(const fc_stft *s, const fc_view *in, const fc_view *out, uint32_t *notes) {
  job<F> j;
  j.plan = fc_dev_rfft_of<F>(s->plan, s->device_plan);
  j.in = fc_dev_view_of(in), j.out = fc_dev_view_of(out);
  j.map_in = fc_dev_map_of<F>(in->kind, in->dtype), j.map_out = fc_dev_map_of<F>(out->kind, out->dtype);
  j.in_dtype = in->dtype, j.out_dtype = out->dtype;
  j.frame = s->frame, j.hop = s->hop, j.before = s->before;
  j.values = s->bands.count ? s->bands.count : s->size / 2 + 1;
  j.window = static_cast<const F *>(s->device_window);
  j.components = s->components;
  for (int i = 0; i < FC_COMPONENTS; i++) j.component[i] = s->component[i];
  j.bands = s->bands.count;
  j.first = s->device_bands.first, j.bin = s->device_bands.bin;
  j.weights = static_cast<const F *>(s->device_bands.weights);
  j.count = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y] * out->shape[FC_AXIS_X] * in->shape[FC_AXIS_C];
  j.global = nullptr;
  j.notes = notes;
  return j;
}

template <typename F>
fc_status run(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch, size_t scratch_bytes,
              uint32_t *notes, cudaStream_t stream) {
  job<F> j = job_of<F>(s, in, out, notes);
  if (j.count == 0) return FC_OK;
  const fc_fft_choice c = fc_block_choose<false>(j.plan.complex);
  const unsigned threads = static_cast<unsigned>(c.threads);
  if (c.launch == FC_FFT_GLOBAL) {
    const int64_t blocks = static_cast<int64_t>(scratch_bytes) / c.bytes;
    if (blocks < 1) return FC_FATAL;
    j.global = static_cast<fc_complex<F> *>(scratch);
    stft_kernel<F><<<fc_blocks(j.count, 1, blocks), threads, 0, stream>>>(j);
    return fc_launch_status();
  }
  if (cudaFuncSetAttribute(stft_kernel<F>, cudaFuncAttributeMaxDynamicSharedMemorySize, FC_FFT_SHARED) !=
      cudaSuccess)
    return fc_launch_status();
  stft_kernel<F><<<fc_blocks(j.count, 1, INT32_MAX), threads, static_cast<size_t>(c.bytes), stream>>>(j);
  return fc_launch_status();
}

} // namespace

extern "C" size_t fc_stft_device_scratch(const fc_stft *s, const fc_view *out) {
  int64_t frames = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y] * out->shape[FC_AXIS_X];
  int64_t jobs = frames * (out->shape[FC_AXIS_C] / fc_stft_width(s));
  return fc_fft_global(fc_rfft_complex(s->plan), jobs);
}

extern "C" fc_status fc_stft_cuda(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                                  size_t scratch_bytes, uint32_t *notes, void *stream) {
  fc_status status = fc_stft_check(s, in, out);
  if (status != FC_OK) return status;
  cudaStream_t c = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(
      s->compute, [&](auto f) { return run<decltype(f)>(s, in, out, scratch, scratch_bytes, notes, c); });
}

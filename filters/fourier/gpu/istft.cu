// SPDX-License-Identifier: MIT
//
// istft.cu - the inverse of stft.cu on a CUDA device, in two kernels: a block of threads transforms one
// frame of one channel into scratch memory, then a thread adds up the frames that cover one sample, in their
// order.
#include "filters/fourier/gpu/fft_block.cuh"
#include "filters/fourier/stft.h"

namespace {

constexpr int THREADS = 256;
// See istft.c.
constexpr double LEAST_COVERAGE = 1e-10;

int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

// The existing frames that cover any of `length` samples, counted from the view's first frame.
struct range {
  int64_t first, count;
};

range frames_over(const fc_stft *s, const fc_view *in, int64_t length) {
  int64_t first = floor_of(s->before - s->frame, s->hop) + 1,
          end = floor_of(length - 1 + s->before, s->hop) + 1;
  int64_t origin = in->origin[FC_AXIS_X], extent = in->extent[FC_AXIS_X];
  if (first < -origin) first = -origin;
  if (extent >= 0 && end > extent - origin) end = extent - origin;
  range r = {first, end > first ? end - first : 0};
  return r;
}

template <typename F> struct job {
  fc_dev_rfft<F> plan;
  fc_dev_view in, out;
  fc_dev_map<F> map_in, map_out;
  int64_t frame, hop, before;
  range frames;
  const F *window;
  F least;   // samples with less weight are 0
  F *turned; // [n][y][channel][frame][sample]
  fc_complex<F> *global;
  uint32_t *notes;
};

template <typename F>
__device__ __forceinline__ fc_complex<F> load_bin(const job<F> &j, const char *bins, int k) {
  const int64_t step = j.in.stride[FC_AXIS_C];
  return {fc_dev_load_any<F>(bins + k * step, j.in.dtype, j.map_in),
          fc_dev_load_any<F>(bins + (j.plan.bins + k) * step, j.in.dtype, j.map_in)};
}

// Loads the conjugated input of the inverse; returns whether a bin was NaN or infinite.
template <typename F>
__device__ __forceinline__ bool load_spectrum(const job<F> &j, fc_complex<F> *buffer, const char *bins) {
  bool bad = false;
  const int n = j.plan.n, length = j.plan.even ? n / 2 : n;
  for (int k = threadIdx.x; k < j.plan.bins; k += blockDim.x) {
    fc_complex<F> x = load_bin(j, bins, k);
    bad |= x.re * F(0) != F(0) || x.im * F(0) != F(0);
  }
  for (int k = threadIdx.x; k < length; k += blockDim.x) {
    if (j.plan.even) {
      buffer[k] = fc_rfft_unbin(j.plan, load_bin(j, bins, k), load_bin(j, bins, length - k), k);
    } else {
      fc_complex<F> x = load_bin(j, bins, k < j.plan.bins ? k : n - k);
      buffer[k] = k == 0 ? fc_complex<F>{x.re, F(0)} : k < j.plan.bins ? fc_conjugate(x) : x;
    }
  }
  return bad;
}

template <typename F> __global__ void istft_inverse(job<F> j, int64_t jobs) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int64_t values = fc_block_values(j.plan.complex);
  fc_complex<F> *a =
      j.global ? j.global + blockIdx.x * 2 * values : reinterpret_cast<fc_complex<F> *>(shared);
  fc_complex<F> *b = a + values;
  const int64_t channels = j.out.shape[FC_AXIS_C], rows = j.out.shape[FC_AXIS_Y];
  const F scale = F(1) / static_cast<F>(j.plan.complex.n);
  for (int64_t i = blockIdx.x; i < jobs; i += gridDim.x) {
    int64_t f = i % j.frames.count, c = i / j.frames.count % channels, row = i / j.frames.count / channels;
    bool bad = load_spectrum(j, a, j.in.at(row / rows, row % rows, j.frames.first + f, c * 2 * j.plan.bins));
    bad = __syncthreads_or(bad) != 0;
    const fc_complex<F> *z = fc_block_fft(j.plan.complex, a, b);
    F *to = j.turned + i * j.frame;
    for (int k = threadIdx.x; k < j.frame; k += blockDim.x)
      to[k] = bad ? static_cast<F>(NAN) : fc_rfft_get(j.plan, z, k) * scale;
    __syncthreads(); // before the next frame overwrites what other threads still read
  }
}

template <typename F> __global__ void __launch_bounds__(THREADS) istft_overlap(job<F> j, int64_t samples) {
  const int64_t channels = j.out.shape[FC_AXIS_C], length = j.out.shape[FC_AXIS_X],
                rows = j.out.shape[FC_AXIS_Y];
  const int64_t stride = static_cast<int64_t>(gridDim.x) * THREADS;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < samples; i += stride) {
    int64_t x = i % length, line = i / length, c = line % channels, row = line / channels;
    // The first and the last frame that cover this sample, then limited to the existing ones.
    int64_t lo = x + j.before - j.frame, hi = x + j.before;
    int64_t f = (lo < 0 ? -((-lo + j.hop - 1) / j.hop) : lo / j.hop) + 1, last = hi / j.hop;
    if (f < j.frames.first) f = j.frames.first;
    if (last > j.frames.first + j.frames.count - 1) last = j.frames.first + j.frames.count - 1;
    F sum = F(0), weight = F(0);
    for (; f <= last; f++) {
      int64_t at = hi - f * j.hop;
      F w = j.window[at];
      sum = fc_fft_fma(w, j.turned[(line * j.frames.count + f - j.frames.first) * j.frame + at], sum);
      weight = fc_fft_fma(w, w, weight);
    }
    fc_dev_store_any<F>(j.out.at(row / rows, row % rows, x, c), j.out.dtype,
                        weight > j.least ? sum / weight : F(0), j.map_out, j.notes);
  }
}

// The weight below which a sample counts as not covered; computed from the window in host memory.
double least_weight(const fc_stft *s) {
  double most = 0;
  for (int64_t i = 0; i < s->frame; i++) {
    double w = s->compute == FC_F64 ? static_cast<const double *>(s->window)[i]
                                    : static_cast<double>(static_cast<const float *>(s->window)[i]);
    most = w * w > most ? w * w : most;
  }
  return most * LEAST_COVERAGE;
}

int64_t lines_of(const fc_view *out) {
  return out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y] * out->shape[FC_AXIS_C];
}

int64_t align256(int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

template <typename F>
fc_status launch_inverse(job<F> j, int64_t jobs, char *rest, int64_t rest_bytes, cudaStream_t stream) {
  const fc_fft_choice c = fc_block_choose<false>(j.plan.complex);
  const unsigned threads = static_cast<unsigned>(c.threads);
  if (c.launch == FC_FFT_GLOBAL) {
    if (rest_bytes < c.bytes) return FC_FATAL;
    j.global = reinterpret_cast<fc_complex<F> *>(rest);
    istft_inverse<F><<<fc_blocks(jobs, 1, rest_bytes / c.bytes), threads, 0, stream>>>(j, jobs);
    return fc_launch_status();
  }
  if (cudaFuncSetAttribute(istft_inverse<F>, cudaFuncAttributeMaxDynamicSharedMemorySize, FC_FFT_SHARED) !=
      cudaSuccess)
    return fc_launch_status();
  istft_inverse<F><<<fc_blocks(jobs, 1, INT32_MAX), threads, static_cast<size_t>(c.bytes), stream>>>(j, jobs);
  return fc_launch_status();
}

template <typename F>
fc_status run(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch, size_t scratch_bytes,
              uint32_t *notes, cudaStream_t stream) {
  job<F> j;
  j.plan = fc_dev_rfft_of<F>(s->plan, s->device_plan);
  j.in = fc_dev_view_of(in), j.out = fc_dev_view_of(out);
  j.map_in = fc_dev_map_of<F>(in->kind, in->dtype), j.map_out = fc_dev_map_of<F>(out->kind, out->dtype);
  j.frame = s->frame, j.hop = s->hop, j.before = s->before;
  j.frames = frames_over(s, in, out->shape[FC_AXIS_X]);
  j.window = static_cast<const F *>(s->device_window);
  j.least = static_cast<F>(least_weight(s));
  j.turned = static_cast<F *>(scratch);
  j.global = nullptr;
  j.notes = notes;
  int64_t jobs = lines_of(out) * j.frames.count, samples = lines_of(out) * out->shape[FC_AXIS_X];
  int64_t used = align256(jobs * s->frame * static_cast<int64_t>(sizeof(F)));
  if (used > static_cast<int64_t>(scratch_bytes)) return FC_FATAL;
  fc_status status = FC_OK;
  if (jobs > 0)
    status = launch_inverse(j, jobs, static_cast<char *>(scratch) + used,
                            static_cast<int64_t>(scratch_bytes) - used, stream);
  if (status != FC_OK) return status;
  istft_overlap<F><<<fc_blocks(samples, THREADS, 256 * 16), THREADS, 0, stream>>>(j, samples);
  return fc_launch_status();
}

} // namespace

extern "C" size_t fc_istft_device_scratch(const fc_stft *s, const fc_view *in, const fc_view *out) {
  (void)in;
  // The maximum number of frames that can cover that many samples, wherever they begin.
  int64_t frames = (out->shape[FC_AXIS_X] + s->frame + s->hop - 1) / s->hop + 1;
  int64_t jobs = lines_of(out) * frames, size = static_cast<int64_t>(fc_dtype_size(s->compute));
  return static_cast<size_t>(align256(jobs * s->frame * size)) +
         fc_fft_global(fc_rfft_complex(s->plan), jobs);
}

extern "C" fc_status fc_istft_cuda(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                                   size_t scratch_bytes, uint32_t *notes, void *stream) {
  fc_status status = fc_istft_check(s, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  cudaStream_t c = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(
      s->compute, [&](auto f) { return run<decltype(f)>(s, in, out, scratch, scratch_bytes, notes, c); });
}

// SPDX-License-Identifier: MIT
//
// dct_fft.cu - the transforms of dct_fft.h on a CUDA device: lines of one block each, along any axis, by the
// kernel of dft_lines.cuh. Type II: values are reordered as they are loaded, and coefficients are rotated as
// they are stored, two opposite ones at a time. Type III: the other way round.
#include "filters/fourier/gpu/dct_walk.cuh"
#include "filters/fourier/gpu/dft_lines.cuh"

namespace {

// Arguments of both directions.
template <typename F> struct lines_work : fc_dft_work<F> {
  fc_dev_rfft<F> real;
  const fc_complex<F> *pairs;
  fc_dct_walk walk;
  const char *in;
  char *out;
  int64_t in_step, out_step;
  int32_t n, rows, cols, in_dtype, out_dtype;
  fc_dev_map<F> map_in, map_out;
  uint32_t *notes;

  __device__ __forceinline__ fc_dft_line<F> place(int64_t i) const {
    int64_t from, to;
    walk.find(i, &from, &to);
    fc_dft_line<F> l = {in + from, out + to, nullptr, 0};
    return l;
  }

  // The index of value i in the input of the Fourier transform.
  __device__ __forceinline__ int reordered(int i) const { return i % 2 ? n - 1 - i / 2 : i / 2; }

  __device__ __forceinline__ F sample(const fc_dft_line<F> &l, int i) const {
    if (i >= cols) return F(0);
    if (sizeof(F) == 4 && in_dtype == FC_F32) return *reinterpret_cast<const float *>(l.from + i * in_step);
    return fc_dev_load_any<F>(l.from + i * in_step, in_dtype, map_in);
  }

  __device__ __forceinline__ void put(const fc_dft_line<F> &l, int i, F v) const {
    if (i >= rows) return;
    if (l.bad) v = static_cast<F>(NAN);
    if (sizeof(F) == 4 && out_dtype == FC_F32)
      *reinterpret_cast<float *>(l.to + i * out_step) = static_cast<float>(v);
    else
      fc_dev_store_any<F>(l.to + i * out_step, out_dtype, v, map_out, notes);
  }
};

// Type II: loads values, stores coefficients k and n - k.
template <typename F> struct second_work : lines_work<F> {
  __device__ __forceinline__ bool load(const fc_dft_line<F> &l, fc_complex<F> *to, int i) const {
    const F v = this->sample(l, i);
    fc_rfft_put(this->real, to, this->reordered(i), v);
    return v * F(0) != F(0);
  }

  __device__ __forceinline__ void store(const fc_dft_line<F> &l, const fc_complex<F> *z, int k) const {
    const fc_complex<F> v = fc_rfft_bin(this->real, z, k), w = this->pairs[k];
    this->put(l, k, fc_fft_fma(w.re, v.re, w.im * v.im));
    if (k > 0 && 2 * k < this->n) this->put(l, this->n - k, fc_fft_fma(w.im, v.re, -(w.re * v.im)));
  }
};

// Type III: loads coefficients, stores values.
template <typename F> struct third_work : lines_work<F> {
  F scale;

  __device__ __forceinline__ fc_complex<F> bin(const fc_dft_line<F> &l, int k, bool *bad) const {
    const F low = this->sample(l, k), high = k ? this->sample(l, this->n - k) : F(0);
    *bad |= low * F(0) != F(0) || high * F(0) != F(0);
    const fc_complex<F> w = this->pairs[k];
    return {fc_fft_fma(w.re, low, w.im * high), fc_fft_fma(w.im, low, -(w.re * high))};
  }

  __device__ __forceinline__ bool load(const fc_dft_line<F> &l, fc_complex<F> *to, int k) const {
    bool bad = false;
    const fc_complex<F> x = bin(l, k, &bad);
    if (this->real.even) {
      const int m = this->n / 2;
      const fc_complex<F> y = bin(l, m - k, &bad);
      to[k] = fc_rfft_unbin(this->real, x, y, k);
      if (k > 0 && 2 * k < m) to[m - k] = fc_rfft_unbin(this->real, y, x, m - k);
    } else {
      to[k] = k ? fc_conjugate(x) : fc_complex<F>{x.re, F(0)};
      if (k) to[this->n - k] = x;
    }
    return bad;
  }

  __device__ __forceinline__ void store(const fc_dft_line<F> &l, const fc_complex<F> *z, int i) const {
    this->put(l, i, fc_rfft_get(this->real, z, this->reordered(i)) * scale);
  }
};

template <typename F>
void describe(lines_work<F> &w, const fc_dct_fft *plan, const fc_view *in, const fc_view *out,
              uint32_t *notes) {
  const char *device = static_cast<const char *>(plan->device);
  const fc_rfft *real = reinterpret_cast<const fc_rfft *>(reinterpret_cast<const char *>(plan) + plan->real);
  w.real = fc_dev_rfft_of<F>(real, device + plan->real);
  w.plan = w.real.complex;
  w.pairs = reinterpret_cast<const fc_complex<F> *>(device + plan->pairs);
  w.walk = fc_dct_walk_of(plan, in, out);
  w.count = w.walk.lines;
  w.in = static_cast<const char *>(in->data), w.out = static_cast<char *>(out->data);
  w.in_step = in->stride[plan->axis], w.out_step = out->stride[plan->axis];
  w.n = static_cast<int32_t>(plan->dct.size);
  w.rows = static_cast<int32_t>(plan->rows), w.cols = static_cast<int32_t>(plan->cols);
  w.in_dtype = in->dtype, w.out_dtype = out->dtype;
  w.map_in = fc_dev_map_of<F>(in->kind, in->dtype), w.map_out = fc_dev_map_of<F>(out->kind, out->dtype);
  w.notes = notes;
  // Adjacent lines are processed together if there are enough, so that loads are contiguous.
  const bool beside = w.walk.n > 0 && w.walk.from[0] < in->stride[plan->axis];
  w.across = beside && w.walk.count[0] >= FC_FFT_ACROSS;
}

template <typename F>
fc_status run(const fc_dct_fft *plan, const fc_view *in, const fc_view *out, char *scratch, uint32_t *notes,
              cudaStream_t stream) {
  const int64_t bytes = static_cast<int64_t>(fc_dct_fft_device_scratch(plan));
  if (fc_dct_fft_is_second(&plan->dct)) {
    second_work<F> w;
    describe(w, plan, in, out, notes);
    w.loads = w.n, w.stores = w.n / 2 + 1;
    return fc_dft_launch(w, scratch, bytes, stream);
  }
  third_work<F> w;
  describe(w, plan, in, out, notes);
  w.loads = (w.real.even ? w.n / 4 : w.n / 2) + 1, w.stores = w.n;
  w.scale = static_cast<F>(1.0 / static_cast<double>(w.plan.n));
  return fc_dft_launch(w, scratch, bytes, stream);
}

fc_status apply(const void *self, const fc_view *in, const fc_view *out, void *scratch, uint32_t *notes,
                void *stream) {
  return fc_dct_fft_cuda(static_cast<const fc_dct_fft *>(self), in, out, scratch, notes, stream);
}

size_t scratch_of(const void *self, const fc_view *) {
  return fc_dct_fft_device_scratch(static_cast<const fc_dct_fft *>(self));
}

} // namespace

extern "C" int fc_dct_major_of(int32_t device) {
  int major = 0;
  const cudaError_t error =
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device - FC_CUDA_DEVICE(0));
  return error == cudaSuccess ? major : (fc_forget_error(), 0);
}

extern "C" size_t fc_dct_fft_device_scratch(const fc_dct_fft *plan) {
  const fc_rfft *real = reinterpret_cast<const fc_rfft *>(reinterpret_cast<const char *>(plan) + plan->real);
  return fc_fft_global(fc_rfft_complex(real), INT64_MAX);
}

extern "C" fc_status fc_dct_fft_cuda(const fc_dct_fft *plan, const fc_view *in, const fc_view *out,
                                     void *scratch, uint32_t *notes, void *stream) {
  fc_status status = fc_dct_fft_check(plan, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  if (fc_dct_blocks_try(plan, in, out, notes, static_cast<cudaStream_t>(stream), &status)) return status;
  return fc_dispatch_compute(plan->compute, [&](auto f) {
    return run<decltype(f)>(plan, in, out, static_cast<char *>(scratch), notes,
                            static_cast<cudaStream_t>(stream));
  });
}

extern "C" fc_device_pass fc_dct_fft_device_pass(const fc_dct_fft *plan) {
  return {plan->rows, plan->cols, plan, scratch_of, apply};
}

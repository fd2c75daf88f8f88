// SPDX-License-Identifier: MIT
//
// idft.cu - inverse discrete Fourier transforms on a CUDA device. In two dimensions columns are transformed
// first, to complex values in scratch memory, then rows of these; otherwise lines of bins along X or Y.
#include "filters/fourier/gpu/dft_lines.cuh"

namespace {

// Reads bins whose real and imaginary parts are channels.
template <typename F> struct bins_in {
  fc_dev_view in;
  fc_dev_map<F> map;
};

template <typename F>
__device__ __forceinline__ fc_complex<F> load_bin(const bins_in<F> &b, const char *from) {
  return {fc_dev_load_any<F>(from, b.in.dtype, b.map),
          fc_dev_load_any<F>(from + b.in.stride[FC_AXIS_C], b.in.dtype, b.map)};
}

template <typename F> __device__ __forceinline__ bool is_bad(fc_complex<F> x) {
  return x.re * F(0) != F(0) || x.im * F(0) != F(0);
}

// Transforms columns of bins; the results are the rows' spectra.
template <typename F> struct column_work : fc_dft_work<F> {
  bins_in<F> bins;
  fc_dft_extents e;
  int64_t ny;
  F scale;
  fc_complex<F> *middle;

  __device__ __forceinline__ fc_dft_line<F> place(int64_t i) const {
    const fc_dft_at at = fc_dft_find(i, e.width, e.height / ny, e.channels);
    return {bins.in.at(at.n, at.y * ny, at.x, at.c * 2), nullptr,
            middle + (at.plane * e.height + at.y * ny) * e.width + at.x, 0};
  }

  // The inverse is the conjugate of the transform of the conjugate.
  __device__ __forceinline__ bool load(const fc_dft_line<F> &l, fc_complex<F> *to, int i) const {
    const fc_complex<F> x = load_bin(bins, l.from + i * bins.in.stride[FC_AXIS_Y]);
    to[i] = fc_conjugate(x);
    return is_bad(x);
  }

  __device__ __forceinline__ void store(const fc_dft_line<F> &l, const fc_complex<F> *z, int i) const {
    const fc_complex<F> x = {z[i].re * scale, -z[i].im * scale};
    const F nan = static_cast<F>(NAN);
    l.middle[i * e.width] = l.bad ? fc_complex<F>{nan, nan} : x;
  }
};

// Transforms lines of bins along X (nx) or Y (ny), or the rows' spectra in scratch, to real values.
template <typename F> struct real_work : fc_dft_work<F> {
  fc_dev_rfft<F> real;
  bins_in<F> bins;
  fc_dev_view out;
  fc_dev_map<F> map_out;
  fc_dft_extents e;
  int64_t nx, ny, bins_x, bins_y, in_step, out_step;
  bool half;
  F scale;
  const fc_complex<F> *middle;
  uint32_t *notes;

  __device__ __forceinline__ fc_dft_line<F> place(int64_t i) const {
    fc_dft_line<F> l = {nullptr, nullptr, nullptr, 0};
    if (nx) {
      const fc_dft_at at = fc_dft_find(i, e.width / bins_x, e.height, e.channels);
      l.to = out.at(at.n, at.y, at.x * nx, at.c);
      if (middle)
        l.from =
            reinterpret_cast<const char *>(middle + (at.plane * e.height + at.y) * e.width + at.x * bins_x);
      else
        l.from = bins.in.at(at.n, at.y, at.x * bins_x, at.c * 2);
    } else {
      const fc_dft_at at = fc_dft_find(i, e.width, e.height / ny, e.channels);
      l.to = out.at(at.n, at.y * ny, at.x, at.c);
      l.from = bins.in.at(at.n, at.y * bins_y, at.x, at.c * 2);
    }
    return l;
  }

  __device__ __forceinline__ fc_complex<F> bin_of(const fc_dft_line<F> &l, int k, bool *bad) const {
    const fc_complex<F> x =
        middle ? reinterpret_cast<const fc_complex<F> *>(l.from)[k] : load_bin(bins, l.from + k * in_step);
    *bad |= is_bad(x);
    return x;
  }

  // Bin k <= n/2 of the real part's spectrum. If all n bins are given, it is the mean of bin k and the
  // conjugate of bin n - k.
  __device__ __forceinline__ fc_complex<F> half_bin(const fc_dft_line<F> &l, int k, bool *bad) const {
    const fc_complex<F> x = bin_of(l, k, bad);
    if (half) return x;
    const fc_complex<F> y = bin_of(l, k ? real.n - k : 0, bad);
    return {F(0.5) * (x.re + y.re), F(0.5) * (x.im - y.im)};
  }

  __device__ __forceinline__ bool load(const fc_dft_line<F> &l, fc_complex<F> *to, int k) const {
    bool bad = false;
    if (real.even) {
      const fc_complex<F> x = half_bin(l, k, &bad), y = half_bin(l, real.n / 2 - k, &bad);
      to[k] = fc_rfft_unbin(real, x, y, k);
    } else {
      const fc_complex<F> x = half_bin(l, k < real.bins ? k : real.n - k, &bad);
      to[k] = k == 0 ? fc_complex<F>{x.re, F(0)} : k < real.bins ? fc_conjugate(x) : x;
    }
    return bad;
  }

  __device__ __forceinline__ void store(const fc_dft_line<F> &l, const fc_complex<F> *z, int i) const {
    const F v = l.bad ? static_cast<F>(NAN) : fc_rfft_get(real, z, i) * scale;
    fc_dev_store_any<F>(l.to + i * out_step, out.dtype, v, map_out, notes);
  }
};

fc_dft_extents extents_of(const fc_dft *d, const fc_view *out) {
  return fc_dft_extents_of(d, out, out->shape[FC_AXIS_C], d->nx);
}

template <typename F>
column_work<F> column_work_of(const fc_dft *d, const bins_in<F> &bins, const fc_dft_extents &e,
                              fc_complex<F> *middle) {
  column_work<F> w;
  w.plan = fc_dev_fft_of<F>(d->complex, d->device_complex);
  w.loads = w.stores = static_cast<int32_t>(d->ny);
  w.across = true;
  w.count = e.planes * e.width * (e.height / d->ny);
  w.bins = bins;
  w.e = e;
  w.ny = d->ny;
  w.scale = static_cast<F>(1.0 / static_cast<double>(d->ny));
  w.middle = middle;
  return w;
}

template <typename F>
real_work<F> real_work_of(const fc_dft *d, const bins_in<F> &bins, const fc_view *out,
                          const fc_dft_extents &e) {
  real_work<F> w;
  const int axis = d->nx ? FC_AXIS_X : FC_AXIS_Y;
  w.real = fc_dev_rfft_of<F>(d->real, d->device_real);
  w.plan = w.real.complex;
  w.bins = bins;
  w.out = fc_dev_view_of(out);
  w.map_out = fc_dev_map_of<F>(out->kind, out->dtype);
  w.e = e;
  w.nx = d->nx, w.ny = d->ny, w.bins_x = fc_dft_bins_x(d), w.bins_y = fc_dft_bins_y(d);
  w.in_step = bins.in.stride[axis], w.out_step = out->stride[axis];
  w.half = d->half != 0;
  w.scale = static_cast<F>(d->scale / static_cast<double>(w.plan.n));
  w.loads = static_cast<int32_t>(w.plan.n);
  w.stores = w.real.n;
  w.across = d->nx == 0;
  w.count = e.planes * (d->nx ? e.height * (e.width / w.bins_x) : e.width * (e.height / d->ny));
  w.middle = nullptr;
  return w;
}

template <typename F>
fc_status run(const fc_dft *d, const fc_view *in, const fc_view *out, char *scratch, int64_t scratch_bytes,
              uint32_t *notes, cudaStream_t stream) {
  const fc_dft_extents e = extents_of(d, out);
  const int64_t used = fc_dft_middle_bytes<F>(d, e);
  if (used > scratch_bytes) return FC_FATAL;
  const bins_in<F> bins = {fc_dev_view_of(in), fc_dev_map_of<F>(in->kind, in->dtype)};
  real_work<F> rows = real_work_of<F>(d, bins, out, e);
  rows.notes = notes;
  if (d->complex) {
    fc_complex<F> *middle = reinterpret_cast<fc_complex<F> *>(scratch);
    rows.middle = middle;
    fc_status status =
        fc_dft_launch(column_work_of<F>(d, bins, e, middle), scratch + used, scratch_bytes - used, stream);
    if (status != FC_OK) return status;
  }
  return fc_dft_launch(rows, scratch + used, scratch_bytes - used, stream);
}

} // namespace

extern "C" size_t fc_idft_device_scratch(const fc_dft *d, const fc_view *out) {
  return fc_dft_scratch_bytes(d, extents_of(d, out));
}

extern "C" fc_status fc_idft_cuda(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                                  size_t scratch_bytes, uint32_t *notes, void *stream) {
  fc_status status = fc_idft_check(d, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  cudaStream_t c = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(d->compute, [&](auto f) {
    return run<decltype(f)>(d, in, out, static_cast<char *>(scratch), static_cast<int64_t>(scratch_bytes),
                            notes, c);
  });
}

// SPDX-License-Identifier: MIT
//
// dft.cu - discrete Fourier transforms of blocks on a CUDA device: lines of real values along X or along Y.
// In two dimensions the rows' spectra are stored in scratch memory, and a second launch transforms their
// columns.
#include "filters/fourier/gpu/dft_lines.cuh"

namespace {

template <typename F> struct bins_out {
  fc_dev_view out;
  fc_dev_map<F> map;
  int32_t components, component[FC_COMPONENTS];
  F scale;
  uint32_t *notes;
};

template <typename F> __device__ __forceinline__ F component_of(fc_complex<F> x, int component) {
  if (component == FC_RE) return x.re;
  if (component == FC_IM) return x.im;
  F power = fc_fft_fma(x.re, x.re, x.im * x.im);
  if (component == FC_MAG) return sqrt(power);
  const F floor = static_cast<F>(FC_DB_FLOOR);
  return component == FC_DB ? F(10) * log10(power < floor ? floor : power) : power;
}

// Stores all components of a bin, along C.
template <typename F>
__device__ __forceinline__ void store_bin(const bins_out<F> &b, char *to, fc_complex<F> x) {
  x.re *= b.scale, x.im *= b.scale;
  for (int c = 0; c < b.components; c++)
    fc_dev_store_any<F>(to + c * b.out.stride[FC_AXIS_C], b.out.dtype, component_of(x, b.component[c]), b.map,
                        b.notes);
}

// Lines of real values, along X (nx) or Y (ny); bins go to the output or, in two dimensions, to scratch.
template <typename F> struct real_work : fc_dft_work<F> {
  fc_dev_rfft<F> real;
  fc_dev_view in;
  fc_dev_map<F> map_in;
  bins_out<F> bins;
  fc_dft_extents e;
  int64_t nx, ny, bins_x, bins_y, in_step, out_step;
  fc_complex<F> *middle;

  __device__ __forceinline__ fc_dft_line<F> place(int64_t i) const {
    fc_dft_line<F> l = {nullptr, nullptr, nullptr, 0};
    if (nx) {
      const fc_dft_at at = fc_dft_find(i, e.width / bins_x, e.height, e.channels);
      l.from = in.at(at.n, at.y, at.x * nx, at.c);
      if (middle)
        l.middle = middle + (at.plane * e.height + at.y) * e.width + at.x * bins_x;
      else
        l.to = bins.out.at(at.n, at.y, at.x * bins_x, at.c * bins.components);
    } else {
      const fc_dft_at at = fc_dft_find(i, e.width, e.height / bins_y, e.channels);
      l.from = in.at(at.n, at.y * ny, at.x, at.c);
      l.to = bins.out.at(at.n, at.y * bins_y, at.x, at.c * bins.components);
    }
    return l;
  }

  __device__ __forceinline__ bool load(const fc_dft_line<F> &l, fc_complex<F> *to, int i) const {
    const F v = fc_dev_load_any<F>(l.from + i * in_step, in.dtype, map_in);
    fc_rfft_put(real, to, i, v);
    return v * F(0) != F(0);
  }

  __device__ __forceinline__ void store(const fc_dft_line<F> &l, const fc_complex<F> *z, int k) const {
    fc_complex<F> x =
        k < real.bins ? fc_rfft_bin(real, z, k) : fc_conjugate(fc_rfft_bin(real, z, real.n - k));
    if (l.bad) x.re = x.im = static_cast<F>(NAN);
    if (l.middle)
      l.middle[k] = x;
    else
      store_bin(bins, l.to + k * out_step, x);
  }
};

// Columns of the rows' spectra. A NaN makes all bins of its column NaN.
template <typename F> struct column_work : fc_dft_work<F> {
  bins_out<F> bins;
  fc_dft_extents e;
  int64_t ny;
  fc_complex<F> *middle;

  __device__ __forceinline__ fc_dft_line<F> place(int64_t i) const {
    const fc_dft_at at = fc_dft_find(i, e.width, e.height / ny, e.channels);
    return {nullptr, bins.out.at(at.n, at.y * ny, at.x, at.c * bins.components),
            middle + (at.plane * e.height + at.y * ny) * e.width + at.x, 0};
  }

  __device__ __forceinline__ bool load(const fc_dft_line<F> &l, fc_complex<F> *to, int i) const {
    to[i] = l.middle[i * e.width];
    return false;
  }

  __device__ __forceinline__ void store(const fc_dft_line<F> &l, const fc_complex<F> *z, int k) const {
    store_bin(bins, l.to + k * bins.out.stride[FC_AXIS_Y], z[k]);
  }
};

fc_dft_extents extents_of(const fc_dft *d, const fc_view *out) {
  return fc_dft_extents_of(d, out, out->shape[FC_AXIS_C] / d->components, fc_dft_bins_x(d));
}

template <typename F> bins_out<F> bins_out_of(const fc_dft *d, const fc_view *out, uint32_t *notes) {
  bins_out<F> b;
  b.out = fc_dev_view_of(out);
  b.map = fc_dev_map_of<F>(out->kind, out->dtype);
  b.components = d->components;
  for (int i = 0; i < FC_COMPONENTS; i++) b.component[i] = d->component[i];
  b.scale = static_cast<F>(d->scale);
  b.notes = notes;
  return b;
}

template <typename F>
real_work<F> real_work_of(const fc_dft *d, const fc_view *in, const bins_out<F> &bins,
                          const fc_dft_extents &e) {
  real_work<F> w;
  const int axis = d->nx ? FC_AXIS_X : FC_AXIS_Y;
  w.real = fc_dev_rfft_of<F>(d->real, d->device_real);
  w.plan = w.real.complex;
  w.in = fc_dev_view_of(in);
  w.map_in = fc_dev_map_of<F>(in->kind, in->dtype);
  w.bins = bins;
  w.e = e;
  w.nx = d->nx, w.ny = d->ny, w.bins_x = fc_dft_bins_x(d), w.bins_y = fc_dft_bins_y(d);
  w.in_step = in->stride[axis], w.out_step = bins.out.stride[axis];
  w.loads = w.real.n;
  w.stores = static_cast<int32_t>(d->nx ? w.bins_x : w.bins_y);
  w.across = d->nx == 0;
  // In two dimensions a row of blocks has as many rows of bins as it has rows.
  w.count = e.planes * (d->nx ? e.height * (e.width / w.bins_x) : e.width * (e.height / w.bins_y));
  w.middle = nullptr;
  return w;
}

template <typename F>
fc_status run(const fc_dft *d, const fc_view *in, const fc_view *out, char *scratch, int64_t scratch_bytes,
              uint32_t *notes, cudaStream_t stream) {
  const fc_dft_extents e = extents_of(d, out);
  const int64_t used = fc_dft_middle_bytes<F>(d, e);
  if (used > scratch_bytes) return FC_FATAL;
  const bins_out<F> bins = bins_out_of<F>(d, out, notes);
  real_work<F> rows = real_work_of<F>(d, in, bins, e);
  if (d->complex) rows.middle = reinterpret_cast<fc_complex<F> *>(scratch);
  fc_status status = fc_dft_launch(rows, scratch + used, scratch_bytes - used, stream);
  if (status != FC_OK || !d->complex) return status;
  column_work<F> columns;
  columns.plan = fc_dev_fft_of<F>(d->complex, d->device_complex);
  columns.loads = columns.stores = static_cast<int32_t>(d->ny);
  columns.across = true;
  columns.count = e.planes * e.width * (e.height / d->ny);
  columns.bins = bins;
  columns.e = e;
  columns.ny = d->ny;
  columns.middle = rows.middle;
  return fc_dft_launch(columns, scratch + used, scratch_bytes - used, stream);
}

} // namespace

extern "C" size_t fc_dft_device_scratch(const fc_dft *d, const fc_view *out) {
  return fc_dft_scratch_bytes(d, extents_of(d, out));
}

extern "C" fc_status fc_dft_cuda(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                                 size_t scratch_bytes, uint32_t *notes, void *stream) {
  fc_status status = fc_dft_check(d, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  cudaStream_t c = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(d->compute, [&](auto f) {
    return run<decltype(f)>(d, in, out, static_cast<char *>(scratch), static_cast<int64_t>(scratch_bytes),
                            notes, c);
  });
}

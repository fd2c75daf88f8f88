// SPDX-License-Identifier: MIT
//
// overlap.cu - see conv1d_overlap.h. A group of threads loads its blocks directly into registers, transforms
// them there, multiplies them by the mask's spectrum, transforms back and stores. Shared memory is used for
// exchanges only; global memory is read once (except for the overlap) and written once. Groups are
// persistent and process several jobs. overlap_save.cuh has what this shares with overlap.cuh.
#include "filters/conv1d/conv1d_overlap.h"

#include "filters/conv1d/tables.cuh"
#include "filters/gpu/cuda.cuh"

namespace {

template <typename F> struct overlap_args {
  fc_dev_view in, out;
  fc_dev_map<F> in_map, out_map;
  uint32_t *notes;
  const F *mask;                         // in device memory, for blocks that are summed directly
  const fc_complex<F> *tables, *spectra; // spectra: masks x parts, in the order of registers
  fc_complex<F> *kept;                   // parts x N values per block of threads
  int64_t taps, before, length, places, jobs, channels, across, mask_step;
  int32_t axis, hop, window, parts, run; // window: inputs of a block, including `lead`
  int32_t lead;                          // zeros before the inputs
  int32_t together;                      // channels per transform: 1 or 2
  int32_t in_way, out_way;               // how samples are loaded and stored
  int32_t ahead;                         // bytes of input per step along the axis, to prefetch; 0: none
};

static_assert(FC_OVERLAP_UNIT == FC_CONV1D_OVERLAP_UNIT && FC_OVERLAP_SUM == FC_CONV1D_BLOCK, "as conv1d.h");

// Adjacent samples, pairs of adjacent channels, samples at any distance: of type F; any type at any distance.
enum { IN_LINES, IN_FRAMES, APART, CONVERTED };

// ---- jobs ---------------------------------------------------------------------

// `run` consecutive blocks of a line, or of two channels if these share a transform.
struct overlap_job {
  const char *in; // input of tap 0 for its first output, minus `lead`
  char *out;
  int64_t first, channel;
};

template <typename I>
__device__ __forceinline__ void divide(I job, I channels, I places, I across, bool columns, int64_t at[4]) {
  const I inner = columns ? across : places, outer = columns ? places : across;
  at[FC_AXIS_C] = job % channels;
  job /= channels;
  const I i = job % inner;
  job /= inner;
  at[FC_AXIS_X] = columns ? i : job % outer; // a column, or a position along the row
  at[FC_AXIS_Y] = columns ? job % outer : i;
  at[FC_AXIS_N] = job / outer;
  if (columns) return;
  const int64_t row = at[FC_AXIS_X];
  at[FC_AXIS_X] = at[FC_AXIS_Y], at[FC_AXIS_Y] = row;
}

// The order of jobs is channels first, then for columns adjacent ones: neighbours run at about the same
// time, so that memory sectors they share are still in the cache.
template <typename F> __device__ __forceinline__ overlap_job job_of(const overlap_args<F> &a, int64_t job) {
  const bool columns = a.axis == FC_AXIS_Y;
  int64_t at[FC_AXES] = {0, 0, 0, 0};
  if (a.jobs == a.places) // one line: avoids the divisions
    at[columns ? FC_AXIS_Y : FC_AXIS_X] = job;
  else if (a.jobs < (int64_t{1} << 31)) // 64-bit divisions are slow
    divide<uint32_t>(static_cast<uint32_t>(job), static_cast<uint32_t>(a.channels),
                     static_cast<uint32_t>(a.places), static_cast<uint32_t>(a.across), columns, at);
  else
    divide<int64_t>(job, a.channels, a.places, a.across, columns, at);
  const int64_t first = (columns ? at[FC_AXIS_Y] : at[FC_AXIS_X]) * a.run * a.hop;
  at[FC_AXIS_C] *= a.together;
  const int64_t x = columns ? at[FC_AXIS_X] : first, y = columns ? first : at[FC_AXIS_Y];
  const int64_t ahead = (a.before + a.lead) * a.in.stride[a.axis];
  return {a.in.at(at[FC_AXIS_N], y, x, at[FC_AXIS_C]) - ahead, a.out.at(at[FC_AXIS_N], y, x, at[FC_AXIS_C]),
          first, at[FC_AXIS_C]};
}

// The length of the window for a number of outputs, at most a whole one.
template <typename F> __device__ __forceinline__ int inputs_of(const overlap_args<F> &a, int64_t outputs) {
  return fc_within(outputs + a.lead + a.taps - 1, a.window);
}

// ---- loads and stores ------------------------------------------------------------

// How samples correspond to complex values: bytes from one value's re to the next, and from re to im; the
// number of samples in re and im; and how many of the first are zeros (lead).
struct layout {
  int64_t step, apart;
  int re, im, re_lead, im_lead;
};

// Layout of `count` samples of one line, or of two.
template <typename F, typename S, bool LINES>
__device__ __forceinline__ layout layout_of(const overlap_args<F> &a, const fc_dev_view &v, int count,
                                            int lead) {
  const int64_t step = v.stride[a.axis];
  const int re = fc_within(count, S::N);
  return LINES ? layout{step, S::N * step, re, fc_within(count - S::N, S::N), lead, 0}
               : layout{step, v.stride[FC_AXIS_C], re, re, lead, lead};
}

// Adjacent samples are loaded directly into registers; zeros beyond their end.
template <typename F, typename S>
__device__ __forceinline__ void load_line(fc_complex<F> *x, const char *data, int count, int lead, int t) {
  const F *from = reinterpret_cast<const F *>(data) + t;
  if (count >
      S::N + S::N - FC_OVERLAP_UNIT) { // a full window; its hop was rounded down by less than FC_OVERLAP_UNIT
#pragma unroll
    for (int e = 0; e < S::E; e++) {
      const int i = S::index(1, 0, e);
      const bool sure = i + S::threads <= S::N - FC_OVERLAP_UNIT;
      x[e] = {e > 0 || t >= lead ? from[i] : F(0), sure || t + i + S::N < count ? from[i + S::N] : F(0)};
    }
    return;
  }
#pragma unroll
  for (int e = 0; e < S::E; e++) {
    const int i = S::index(1, 0, e);
    x[e] = {t + i < count && (e > 0 || t >= lead) ? from[i] : F(0),
            t + i + S::N < count ? from[i + S::N] : F(0)};
  }
}

template <typename F, typename S>
__device__ __forceinline__ void load_frames(fc_complex<F> *x, const char *from, int64_t step, int count,
                                            int lead, int t) {
  from += t * step;
#pragma unroll
  for (int e = 0; e < S::E; e++) {
    const int i = S::index(1, 0, e);
    x[e] = {F(0), F(0)};
    if (t + i < count && (e > 0 || t >= lead))
      x[e] = *reinterpret_cast<const fc_complex<F> *>(from + i * step);
  }
}

template <typename F, typename S>
__device__ __forceinline__ void load_apart(fc_complex<F> *x, const char *from, layout l, int t) {
  from += t * l.step;
#pragma unroll
  for (int e = 0; e < S::E; e++) {
    const int i = S::index(1, 0, e);
    const char *re = from + i * l.step;
    x[e].re = t + i < l.re && (e > 0 || t >= l.re_lead) ? *reinterpret_cast<const F *>(re) : F(0);
    x[e].im = t + i < l.im && (e > 0 || t >= l.im_lead) ? *reinterpret_cast<const F *>(re + l.apart) : F(0);
  }
}

template <typename F, typename S>
__device__ __forceinline__ void store_line(const fc_complex<F> *x, char *data, int count, int t) {
  F *to = reinterpret_cast<F *>(data) + t;
#pragma unroll
  for (int e = 0; e < S::E; e++) {
    const int i = S::index(1, 0, e);
    if (t + i < count) to[i] = x[e].re;
    if (t + i + S::N < count) to[i + S::N] = x[e].im;
  }
}

template <typename F, typename S>
__device__ __forceinline__ void store_frames(const fc_complex<F> *x, char *to, int64_t step, int count,
                                             int t) {
  to += t * step;
#pragma unroll
  for (int e = 0; e < S::E; e++) {
    const int i = S::index(1, 0, e);
    if (t + i < count) *reinterpret_cast<fc_complex<F> *>(to + i * step) = x[e];
  }
}

template <typename F, typename S>
__device__ __forceinline__ void store_apart(const fc_complex<F> *x, char *to, layout l, int t) {
  to += t * l.step;
#pragma unroll
  for (int e = 0; e < S::E; e++) {
    const int i = S::index(1, 0, e);
    char *re = to + i * l.step;
    if (t + i < l.re) *reinterpret_cast<F *>(re) = x[e].re;
    if (t + i < l.im) *reinterpret_cast<F *>(re + l.apart) = x[e].im;
  }
}

// Other types pass through a row in shared memory, so that their conversions are short loops: first re of all
// values, then im.
template <typename F, typename S, typename T>
__device__ __forceinline__ void fetch_as(F *row, const char *from, int64_t step, int count, int lead, int t,
                                         fc_dev_map<F> map) {
#pragma unroll 8
  for (int i = t; i < S::N; i += S::threads)
    row[i] = i < count && i >= lead ? fc_dev_load<F, T>(from + i * step, map) : F(0);
}

template <typename F, typename S>
__device__ __forceinline__ void fetch(const overlap_args<F> &a, F *row, const char *from, int64_t step,
                                      int count, int lead, int t) {
  switch (a.in.dtype) {
  case FC_U8: return fetch_as<F, S, uint8_t>(row, from, step, count, lead, t, a.in_map);
  case FC_I16: return fetch_as<F, S, int16_t>(row, from, step, count, lead, t, a.in_map);
  case FC_U16: return fetch_as<F, S, uint16_t>(row, from, step, count, lead, t, a.in_map);
  case FC_I32: return fetch_as<F, S, int32_t>(row, from, step, count, lead, t, a.in_map);
  case FC_F32: return fetch_as<F, S, float>(row, from, step, count, lead, t, a.in_map);
  default: return fetch_as<F, S, double>(row, from, step, count, lead, t, a.in_map);
  }
}

template <typename F, typename S>
__device__ __forceinline__ void load_converted(const overlap_args<F> &a, fc_complex<F> *x, const char *from,
                                               layout l, int t, F *row) {
#pragma unroll
  for (int e = 0; e < S::E; e++) x[e] = {F(0), F(0)};
#pragma unroll 1
  for (int part = 0; part < 2; part++) {
    fc_group_barrier<S::threads>(); // all have finished reading the row, or its previous contents
    fetch<F, S>(a, row, part ? from + l.apart : from, l.step, part ? l.im : l.re,
                part ? l.im_lead : l.re_lead, t);
    fc_group_barrier<S::threads>();
#pragma unroll
    for (int e = 0; e < S::E; e++) x[e] = {x[e].im, row[t + S::index(1, 0, e)]};
  }
  fc_group_barrier<S::threads>();
}

template <typename F, typename S>
__device__ __forceinline__ void store_converted(const overlap_args<F> &a, const fc_complex<F> *x, char *to,
                                                layout l, int t, F *row) {
#pragma unroll 1
  for (int part = 0; part < 2; part++, to += l.apart) {
    fc_group_barrier<S::threads>();
#pragma unroll
    for (int e = 0; e < S::E; e++) row[t + S::index(1, 0, e)] = part ? x[e].im : x[e].re;
    fc_group_barrier<S::threads>();
#pragma unroll 1
    for (int i = t; i < (part ? l.im : l.re); i += S::threads)
      fc_dev_store_any<F>(to + i * l.step, a.out.dtype, row[i], a.out_map, a.notes);
  }
  fc_group_barrier<S::threads>();
}

// Lines are re and im of a transform, or pairs of channels.
template <typename F, typename S, bool LINES>
__device__ __forceinline__ void load(const overlap_args<F> &a, fc_complex<F> *x, const char *from, int count,
                                     int t, void *shared) {
  if (a.in_way <= IN_FRAMES) {
    if constexpr (LINES) return load_line<F, S>(x, from, count, a.lead, t);
    return load_frames<F, S>(x, from, a.in.stride[a.axis], count, a.lead, t);
  }
  const layout l = layout_of<F, S, LINES>(a, a.in, count, a.lead);
  if (a.in_way == APART) return load_apart<F, S>(x, from, l, t);
  load_converted<F, S>(a, x, from, l, t, static_cast<F *>(shared));
}

template <typename F, typename S, bool LINES>
__device__ __forceinline__ void store(const overlap_args<F> &a, const fc_complex<F> *x, char *to, int count,
                                      int t, void *shared) {
  if (a.out_way <= IN_FRAMES) {
    if constexpr (LINES) return store_line<F, S>(x, to, count, t);
    return store_frames<F, S>(x, to, a.out.stride[a.axis], count, t);
  }
  const layout l = layout_of<F, S, LINES>(a, a.out, count, 0);
  if (a.out_way == APART) return store_apart<F, S>(x, to, l, t);
  store_converted<F, S>(a, x, to, l, t, static_cast<F *>(shared));
}

// Prefetches the inputs of a job into the second-level cache.
template <typename F> __device__ __forceinline__ void ask_for(const overlap_args<F> &a, int64_t i) {
#if __CUDA_ARCH__ >= 900
  const int64_t size = a.ahead;
  if (i >= a.jobs || size == 0) return;
  const overlap_job job = job_of(a, i);
  const int64_t bytes = (inputs_of(a, a.length - job.first) - a.lead) * size;
  const uint64_t from = reinterpret_cast<uint64_t>(job.in) + a.lead * size, first = (from + 15) / 16 * 16;
  const int64_t count =
      static_cast<int64_t>(from + static_cast<uint64_t>(bytes)) / 16 * 16 - static_cast<int64_t>(first);
  if (count > 0)
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first), "r"(static_cast<uint32_t>(count))
                 : "memory");
#endif
}

// ---- values that are not finite ------------------------------------------------------

// Computes `count` outputs tap by tap, in the order of conv1d.h. (Inlined: a call would cost registers in
// the code that does not need it.)
template <typename F>
__device__ __forceinline__ void sum_directly(const overlap_args<F> &a, const char *from, char *to, int count,
                                             const F *mask, int t, int threads) {
  const int64_t in_stride = a.in.stride[a.axis], out_stride = a.out.stride[a.axis];
  for (int o = t; o < count; o += threads) {
    const char *x = from + o * in_stride;
    const F sum = fc_sum_directly(
        mask, a.taps, [&](int64_t j) { return fc_dev_load_any<F>(x + j * in_stride, a.in.dtype, a.in_map); });
    fc_dev_store_any<F>(to + o * out_stride, a.out.dtype, sum, a.out_map, a.notes);
  }
}

// Computes `count` outputs of a block tap by tap, in all its channels.
template <typename F>
__device__ __forceinline__ void block_directly(const overlap_args<F> &a, const char *window, char *to,
                                               int count, const F *mask, int t, int threads) {
  const char *from = window + a.lead * a.in.stride[a.axis];
#pragma unroll 1
  for (int channel = 0; channel < a.together; channel++)
    sum_directly(a, from + channel * a.in.stride[FC_AXIS_C], to + channel * a.out.stride[FC_AXIS_C], count,
                 mask, t, threads);
}

// ---- kernels -----------------------------------------------------------------------------

// Stores a block's `count` outputs, or, if they are not finite, those of its inputs.
template <typename F, typename S, bool LINES>
__device__ __forceinline__ void finish(const overlap_args<F> &a, bool bad, const fc_complex<F> *x,
                                       const char *from, char *to, int count, const F *mask, int t,
                                       void *shared) {
  if (bad) return block_directly(a, from, to, count, mask, t, S::threads);
  store<F, S, LINES>(a, x, to, count, t, shared);
}

template <typename F, typename S, int GROUPS, bool HALVES, int RESIDENT, bool LINES>
__global__ void __launch_bounds__(S::threads *GROUPS, RESIDENT)
    conv1d_overlap(const __grid_constant__ overlap_args<F> a) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int t = threadIdx.x % S::threads, group = threadIdx.x / S::threads;
  void *shared = memory + group * fc_exchange_bytes<F, S, HALVES>;
  const int64_t groups = static_cast<int64_t>(gridDim.x) * GROUPS;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * GROUPS + group; i < a.jobs; i += groups) {
    const overlap_job job = job_of(a, i);
    const int64_t left = a.length - job.first, mask = a.mask_step ? job.channel : 0;
    fc_complex<F> x[S::E];
    load<F, S, LINES>(a, x, job.in, inputs_of(a, left), t, shared);
    if (S::threads > 32 && t == 0) ask_for(a, i + groups);
    const bool bad = fc_overlap_block<S, HALVES>(
        x, t, a.tables, [&] { return a.spectra + mask * S::N; }, shared, LINES);
    finish<F, S, LINES>(a, bad, x, job.in, job.out, fc_within(left, a.hop), a.mask + mask * a.mask_step, t,
                        shared);
  }
}

// Step s of a job transforms block s; after it, block s - (parts - 1) has been multiplied with all parts.
// The partial sums of block b are in slot b modulo parts; each thread keeps its own values.
template <typename F, typename S, bool HALVES, int RESIDENT>
__global__ void __launch_bounds__(S::threads, RESIDENT)
    conv1d_overlap_parts(const __grid_constant__ overlap_args<F> a) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int t = threadIdx.x, last = a.parts - 1;
  fc_complex<F> *kept = a.kept + blockIdx.x * (int64_t{S::N} * a.parts) + t;
  for (int64_t i = blockIdx.x; i < a.jobs; i += gridDim.x) {
    const overlap_job job = job_of(a, i);
    const int64_t mask = a.mask_step ? job.channel : 0;
    const fc_complex<F> *spectra = a.spectra + mask * a.parts * S::N;
    const int64_t in_step = a.hop * a.in.stride[a.axis], out_step = a.hop * a.out.stride[a.axis];
    // Inputs are loaded for the job's own outputs only, so that its bits do not depend on what follows it.
    const int64_t outputs = min(a.length - job.first, static_cast<int64_t>(a.run) * a.hop);
    for (int s = 0; s < a.run + last; s++) {
      fc_complex<F> x[S::E];
      load<F, S, true>(a, x, job.in + s * in_step, inputs_of(a, outputs - s * static_cast<int64_t>(a.hop)), t,
                       memory);
      fc_overlap_forward<S, HALVES>(x, t, a.tables, memory, true);
      for (int p = 0; p < last && p <= s; p++) {
        fc_complex<F> *slot = kept + (s - p) % a.parts * S::N;
        fc_products<S>(x, spectra + p * int64_t{S::N}, t, [&](int e, fc_complex<F> y) {
          fc_complex<F> &k = slot[e * S::threads];
          k = p == 0 ? y : fc_add(k, y);
        });
      }
      if (s < last) {
        __syncthreads(); // before the next exchange overwrites what other threads still read
        continue;
      }
      const fc_complex<F> *slot = kept + (s - last) % a.parts * S::N;
      fc_products<S>(x, spectra + last * int64_t{S::N}, t, [&](int e, fc_complex<F> y) {
        const fc_complex<F> k = slot[e * S::threads];
        x[e] = {y.im + k.im, y.re + k.re};
      });
      const int64_t done = (s - last) * static_cast<int64_t>(a.hop);
      const bool bad = fc_overlap_back<S, HALVES>(x, t, a.tables, memory, true);
      finish<F, S, true>(a, bad, x, job.in + (s - last) * in_step, job.out + (s - last) * out_step,
                         fc_within(a.length - job.first - done, a.hop), a.mask + mask * a.mask_step, t,
                         memory);
    }
  }
}

// ---- which kernel -----------------------------------------------------------------------

struct device_limits {
  int processors, shared; // maximum of shared memory per block
};

device_limits limits_of_device(void) {
  device_limits d = {1, 48 * 1024};
  int device = 0;
  if (cudaGetDevice(&device) == cudaSuccess) {
    cudaDeviceGetAttribute(&d.processors, cudaDevAttrMultiProcessorCount, device);
    cudaDeviceGetAttribute(&d.shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
  return d;
}

// Masks may have several parts with the longest transforms alone.
template <typename C>
constexpr bool takes_parts = sizeof(typename C::F) == 8 ? C::S::N == 4096 : C::S::N == 16384;

// Exchanges by halves, so that there is room on all devices.
template <int N, typename Fn> fc_status with_room(int room, Fn f) {
  return room >= fc_overlap_of<N, true>::bytes ? f(fc_overlap_of<N, true>{}) : FC_UNSUPPORTED;
}

template <typename Fn> fc_status with_config(int64_t n, int compute, int shared, Fn f) {
  if (compute == FC_F64) switch (n) {
    case 1024: return f(fc_overlap_config<double, fc_fft_shape<1024, 16, 16, 16, 4>, 1, false, 8>{});
    case 4096: return f(fc_overlap_config<double, fc_fft_shape<4096, 16, 16, 16, 16>, 1, true, 2>{});
    default: return FC_UNSUPPORTED;
    }
  switch (n) {
  case 1024: return f(fc_overlap_of<1024>{});
  case 4096: return f(fc_overlap_of<4096>{});
  case 8192: return with_room<8192>(shared, f);
  case 16384: return with_room<16384>(shared, f);
  default: return FC_UNSUPPORTED;
  }
}

// ---- launching ----------------------------------------------------------------------------

int64_t places_of(const fc_conv1d_overlap *o, int64_t length) {
  const int64_t grid = fc_conv1d_overlap_grid(o);
  return (length + grid - 1) / grid;
}

int together_of(const fc_conv1d_overlap *o) {
  return o->stretches == 1 ? 2 : 1;
}

int64_t jobs_of(const fc_conv1d_overlap *o, const fc_conv1d *c, const fc_view *out) {
  const int64_t along = out->shape[c->axis];
  return along == 0 ? 0 : fc_view_count(out) / along / together_of(o) * places_of(o, along);
}

bool aligned_for_frames(const fc_view *v, int along, int64_t size) {
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v->data));
  for (int axis = 0; axis < FC_AXES; axis++)
    if (axis != FC_AXIS_C && (axis == along || v->shape[axis] > 1)) bits |= v->stride[axis];
  return v->stride[FC_AXIS_C] == size && bits % (2 * size) == 0;
}

int way_of(const fc_conv1d_overlap *o, const fc_conv1d *c, const fc_view *v) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  const bool adjacent = o->stretches > 1 ? v->stride[c->axis] == size : aligned_for_frames(v, c->axis, size);
  if (v->dtype != c->compute) return CONVERTED;
  return !adjacent ? APART : o->stretches > 1 ? IN_LINES : IN_FRAMES;
}

template <typename C>
overlap_args<typename C::F> args_of(const fc_conv1d_overlap *o, const fc_conv1d *c, const void *tables,
                                    const fc_view *in, const fc_view *out, uint32_t *notes) {
  using F = typename C::F;
  overlap_args<F> a = {};
  a.in = fc_dev_view_of(in), a.out = fc_dev_view_of(out);
  a.in_map = fc_dev_map_of<F>(in->kind, in->dtype), a.out_map = fc_dev_map_of<F>(out->kind, out->dtype);
  a.notes = notes, a.mask = static_cast<const F *>(c->device_mask);
  a.tables = static_cast<const fc_complex<F> *>(tables);
  a.spectra = a.tables + fc_fft_table_size<typename C::S>;
  a.taps = c->taps, a.before = c->before, a.length = out->shape[c->axis];
  a.places = places_of(o, a.length), a.jobs = jobs_of(o, c, out);
  a.together = together_of(o), a.channels = out->shape[FC_AXIS_C] / a.together;
  a.across = out->shape[c->axis == FC_AXIS_X ? FC_AXIS_Y : FC_AXIS_X];
  a.mask_step = c->masks > 1 ? c->taps : 0;
  a.axis = c->axis, a.hop = static_cast<int32_t>(o->hop), a.run = static_cast<int32_t>(o->run);
  a.window = static_cast<int32_t>(o->lead + o->hop + o->part - 1), a.parts = static_cast<int32_t>(o->parts),
  a.lead = static_cast<int32_t>(o->lead);
  a.in_way = way_of(o, c, in);
  a.out_way = way_of(o, c, out);
  const int64_t step = in->stride[c->axis];
  const bool dense = step == a.together * static_cast<int64_t>(fc_dtype_size(in->dtype));
  a.ahead = a.in_way <= IN_FRAMES && dense ? static_cast<int32_t>(step) : 0;
  return a;
}

template <typename C> auto kernel_of(bool lines) {
  return lines ? &conv1d_overlap<typename C::F, typename C::S, C::groups, C::halves, C::resident, true>
               : &conv1d_overlap<typename C::F, typename C::S, C::groups, C::halves, C::resident, false>;
}
template <typename C> constexpr auto parts_kernel_of(void) {
  return &conv1d_overlap_parts<typename C::F, typename C::S, C::halves, 1>;
}

// Allows a kernel the shared memory it needs, and returns the number of resident blocks in `blocks`.
template <typename C, typename K> fc_status ready_kernel(K kernel, int processors, int64_t *blocks) {
  int each = 0;
  if (!fc_allow_shared(kernel, static_cast<int64_t>(C::bytes))) {
    const fc_status status = fc_launch_status(); // FC_OK if the device has too little
    return status == FC_OK ? FC_UNSUPPORTED : status;
  }
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, C::threads, C::bytes) != cudaSuccess)
    return fc_launch_status();
  *blocks = static_cast<int64_t>(processors) * (each > 0 ? each : 1);
  return FC_OK;
}

template <typename C> fc_status ready(fc_conv1d_overlap *o, const device_limits &d) {
  o->shared = d.shared;
  if (o->parts == 1) return ready_kernel<C>(kernel_of<C>(o->stretches == 2), d.processors, &o->workers);
  if constexpr (takes_parts<C>) return ready_kernel<C>(parts_kernel_of<C>(), d.processors, &o->workers);
  return FC_UNSUPPORTED;
}

template <typename C> int64_t kept_bytes(const fc_conv1d_overlap *o) {
  return o->parts * C::S::N * static_cast<int64_t>(sizeof(fc_complex<typename C::F>));
}

// Each block of threads processes several jobs.
template <typename C>
fc_status launch(const fc_conv1d_overlap *o, overlap_args<typename C::F> a, void *scratch,
                 size_t scratch_bytes, cudaStream_t stream) {
  if (o->parts == 1) {
    const auto kernel = kernel_of<C>(a.together == 1);
    kernel<<<fc_blocks(a.jobs, C::groups, o->workers), C::threads, C::bytes, stream>>>(a);
    return fc_launch_status();
  }
  if constexpr (takes_parts<C>) {
    const int64_t most = static_cast<int64_t>(scratch_bytes) / kept_bytes<C>(o);
    if (most < 1) return FC_FATAL;
    a.kept = static_cast<fc_complex<typename C::F> *>(scratch);
    parts_kernel_of<C>()<<<fc_blocks(a.jobs, 1, most), C::threads, C::bytes, stream>>>(a);
  }
  return fc_launch_status();
}

} // namespace

extern "C" size_t fc_conv1d_overlap_bytes(const fc_conv1d_overlap *o, const fc_conv1d *c) {
  size_t bytes = 0;
  with_config(o->n, c->compute, limits_of_device().shared, [&](auto config) {
    using S = typename decltype(config)::S;
    const int64_t values = fc_fft_table_size<S> + c->masks * o->parts * S::N;
    bytes = static_cast<size_t>(values) * sizeof(fc_complex<typename decltype(config)::F>);
    return FC_OK;
  });
  return bytes;
}

extern "C" fc_status fc_conv1d_overlap_init(fc_conv1d_overlap *o, const fc_conv1d *c, void *tables) {
  const device_limits d = limits_of_device();
  return with_config(o->n, c->compute, d.shared, [&](auto config) {
    using C = decltype(config);
    const fc_status status = fc_overlap_tables<C>(o, c, static_cast<fc_complex<typename C::F> *>(tables));
    return status == FC_OK ? ready<C>(o, d) : status;
  });
}

extern "C" size_t fc_conv1d_overlap_scratch(const fc_conv1d_overlap *o, const fc_conv1d *c,
                                            const fc_view *out) {
  const int64_t jobs = jobs_of(o, c, out), blocks = jobs < o->workers ? jobs : o->workers;
  size_t bytes = 0;
  if (o->parts == 1) return 0;
  with_config(o->n, c->compute, o->shared, [&](auto config) {
    bytes = static_cast<size_t>(blocks * kept_bytes<decltype(config)>(o));
    return FC_OK;
  });
  return bytes;
}

extern "C" fc_status fc_conv1d_overlap_cuda(const fc_conv1d_overlap *o, const fc_conv1d *c,
                                            const void *tables, const fc_view *in, const fc_view *out,
                                            void *scratch, size_t scratch_bytes, void *stream,
                                            uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (out->origin[c->axis] % fc_conv1d_overlap_grid(o) != 0) return FC_INVALID;
  if (o->stretches == 1 && (c->masks > 1 || out->shape[FC_AXIS_C] % 2 != 0)) return FC_INVALID;
  return with_config(o->n, c->compute, o->shared, [&](auto config) {
    using C = decltype(config);
    return launch<C>(o, args_of<C>(o, c, tables, in, out, notes), scratch, scratch_bytes,
                     static_cast<cudaStream_t>(stream));
  });
}

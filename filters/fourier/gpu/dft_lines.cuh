// SPDX-License-Identifier: MIT
//
// dft_lines.cuh - the one kernel of dft.cu and idft.cu: a block of threads loads lines (blocks of rows, or
// columns), transforms them and stores them. A Work defines what a line is and what is done with its values.
// Many short lines are processed together, until they fill the block; if neighbouring lines are neighbours in
// memory, threads access them across.
#ifndef FC_FILTERS_DFT_LINES_CUH
#define FC_FILTERS_DFT_LINES_CUH

#include "filters/fourier/dft.h"
#include "filters/fourier/gpu/fft_block.cuh"

// Start of a line in the input, the output or the intermediate spectra, as used by a Work. `bad` is for the
// kernel.
template <typename F> struct fc_dft_line {
  const char *from;
  char *to;
  fc_complex<F> *middle;
  int32_t bad;
};

// What the kernel needs to know. A Work adds these, for threads of any number at once:
//   fc_dft_line<F> place(int64_t i)               line i
//   bool load(line, fc_complex<F> *to, int i)     puts element i into the line's buffer; not finite?
//   void store(line, const fc_complex<F> *z, int i)   takes element i from the line's transform
template <typename F> struct fc_dft_work {
  using value = F;
  fc_dev_fft<F> plan;
  int32_t loads, stores; // elements of a line
  bool across;           // neighbouring lines are neighbours in memory
  int64_t count;         // lines
  fc_block_lines lines;  // at a time
  fc_dev_divider by_loads, by_stores, by_lines;
  fc_complex<F> *global; // buffers in global memory, or NULL: shared memory is used
};

// Element t of so many lines: which line's, and which of its `each`.
struct fc_dft_place {
  int line, at;
};
template <bool MANY>
__device__ __forceinline__ fc_dft_place fc_dft_split(int t, int lines, fc_dev_divider by_lines, int each,
                                                     fc_dev_divider by_each, bool across) {
  if (!MANY) return {0, t};
  if (across) {
    const int at = by_lines.quotient(t);
    return {t - at * lines, at};
  }
  const int line = by_each.quotient(t);
  return {line, t - line * each};
}

template <typename Work, bool MANY> __global__ void fc_dft_kernel(Work w) {
  using F = typename Work::value;
  extern __shared__ __align__(16) unsigned char fc_dft_shared[];
  const int64_t values = MANY ? static_cast<int64_t>(w.lines.count) * w.lines.pitch : fc_block_values(w.plan);
  fc_complex<F> *a = w.global ? w.global + static_cast<int64_t>(blockIdx.x) * 2 * values
                              : reinterpret_cast<fc_complex<F> *>(fc_dft_shared);
  fc_complex<F> *b = a + values;
  fc_dft_line<F> *places = reinterpret_cast<fc_dft_line<F> *>(b + values), own; // places: of MANY
  const int64_t step = MANY ? w.lines.count : 1;
  for (int64_t first = blockIdx.x * step; first < w.count; first += gridDim.x * step) {
    const int have = static_cast<int>(w.count - first < step ? w.count - first : step);
    const int taken = MANY && w.across ? w.lines.count : have; // up to this many are distinguished
    bool bad = false;
    if (MANY) {
      for (int l = threadIdx.x; l < have; l += blockDim.x) places[l] = w.place(first + l);
      __syncthreads();
    } else {
      own = w.place(first);
    }
    for (int t = threadIdx.x; t < taken * w.loads; t += blockDim.x) {
      const fc_dft_place p = fc_dft_split<MANY>(t, taken, w.by_lines, w.loads, w.by_loads, w.across);
      if (MANY && p.line >= have) continue;
      const bool spoilt = w.load(MANY ? places[p.line] : own, a + p.line * w.lines.pitch, p.at);
      if (MANY && spoilt) places[p.line].bad = 1;
      bad |= spoilt;
    }
    if (!MANY) own.bad = __syncthreads_or(bad);
    const fc_complex<F> *z = fc_block_fft<F, MANY>(w.plan, a, b, {have, w.lines.pitch});
    for (int t = threadIdx.x; t < taken * w.stores; t += blockDim.x) {
      const fc_dft_place p = fc_dft_split<MANY>(t, taken, w.by_lines, w.stores, w.by_stores, w.across);
      if (MANY && p.line >= have) continue;
      w.store(MANY ? places[p.line] : own, z + p.line * w.lines.pitch, p.at);
    }
    __syncthreads(); // before the next lines overwrite what others still read
  }
}

// ---- launching ------------------------------------------------------------------------

static_assert(sizeof(fc_dft_line<float>) == FC_FFT_LINE && sizeof(fc_dft_line<double>) == FC_FFT_LINE,
              "as counted");

template <typename Work, bool MANY>
static inline fc_status fc_dft_start(const Work &w, const fc_fft_choice &c, int64_t most,
                                     cudaStream_t stream) {
  const bool shared = c.launch != FC_FFT_GLOBAL;
  if (shared && cudaFuncSetAttribute(fc_dft_kernel<Work, MANY>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     FC_FFT_SHARED) != cudaSuccess)
    return fc_launch_status();
  fc_dft_kernel<Work, MANY><<<fc_blocks(w.count, c.lines, most), static_cast<unsigned>(c.threads),
                              shared ? static_cast<size_t>(c.bytes) : 0, stream>>>(w);
  return fc_launch_status();
}

// `global` is memory for lines that do not fit shared memory, see fc_fft_global.
template <typename Work>
static inline fc_status fc_dft_launch(Work w, char *global, int64_t global_bytes, cudaStream_t stream) {
  using F = typename Work::value;
  const fc_fft_choice c = fc_block_choose<true>(w.plan, w.across);
  w.global = nullptr, w.lines = {c.lines, c.pitch};
  if (w.count == 0) return FC_OK;
  if (c.launch == FC_FFT_GLOBAL) {
    if (global_bytes < c.bytes) return FC_FATAL;
    w.global = reinterpret_cast<fc_complex<F> *>(global);
    return fc_dft_start<Work, false>(w, c, global_bytes / c.bytes, stream);
  }
  if (c.launch == FC_FFT_ALONE) return fc_dft_start<Work, false>(w, c, INT32_MAX, stream);
  w.by_lines = fc_dev_divider_of(c.lines);
  w.by_loads = fc_dev_divider_of(w.loads), w.by_stores = fc_dev_divider_of(w.stores);
  return fc_dft_start<Work, true>(w, c, INT32_MAX, stream);
}

// ---- scratch memory -----------------------------------------------------------------------

// The part that a call processes, in bins: a row of blocks along X has `width`, and there are `planes` (N
// times the channels of the values), each of `height` rows.
struct fc_dft_extents {
  int64_t width, height, planes, channels;
};

// `shape` is that of the values or bins, with as many channels, and `columns` what a block of
// these has along X.
static inline fc_dft_extents fc_dft_extents_of(const fc_dft *d, const fc_view *shape, int64_t channels,
                                               int64_t columns) {
  fc_dft_extents e;
  e.width = d->nx ? shape->shape[FC_AXIS_X] / columns * fc_dft_bins_x(d) : shape->shape[FC_AXIS_X];
  e.height = shape->shape[FC_AXIS_Y];
  e.channels = channels;
  e.planes = shape->shape[FC_AXIS_N] * channels;
  return e;
}

// The rows' spectra in two dimensions: [plane][row][bin].
template <typename F> static inline int64_t fc_dft_middle_bytes(const fc_dft *d, const fc_dft_extents &e) {
  if (!d->complex) return 0;
  return (e.planes * e.height * e.width * static_cast<int64_t>(sizeof(fc_complex<F>)) + 255) / 256 * 256;
}

static inline size_t fc_dft_scratch_bytes(const fc_dft *d, const fc_dft_extents &e) {
  const int64_t lines = e.planes * e.height * e.width, // more than there are
      middle = d->compute == FC_F64 ? fc_dft_middle_bytes<double>(d, e) : fc_dft_middle_bytes<float>(d, e);
  const size_t real = fc_fft_global(fc_rfft_complex(d->real), lines),
               complex = d->complex ? fc_fft_global(d->complex, lines) : 0;
  return static_cast<size_t>(middle) + (real > complex ? real : complex);
}

// ---- where lines lie ------------------------------------------------------------------------

// Line i, counted along X first, then rows of blocks, channels and N.
struct fc_dft_at {
  int64_t x, y, c, n, plane;
};
__device__ __forceinline__ fc_dft_at fc_dft_find(int64_t i, int64_t across, int64_t down, int64_t channels) {
  fc_dft_at at;
  int64_t row = i / across;
  at.x = i - row * across;
  at.plane = row / down;
  at.y = row - at.plane * down;
  at.n = at.plane / channels;
  at.c = at.plane - at.n * channels;
  return at;
}

#endif

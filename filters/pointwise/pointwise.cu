// SPDX-License-Identifier: MIT
//
// pointwise.cu - operations on single samples on a CUDA device. Bound by memory. Contiguous lines are merged.
// Where the elements of a line are adjacent and the pair of types is a common one, a thread processes EACH
// times 16 bytes (pointwise_dense); else EACH elements, whose distance is the number of threads per line. The
// shorter lines are, the more of them share a block. Columns are treated as lines where rows are shorter.
// Multiplications and additions are rounded separately, as on the CPU.
#include "filters/base/power.h"
#include "filters/base/lines.h"
#include "filters/gpu/packs.cuh"
#include "filters/pointwise/pointwise.h"

namespace {

constexpr int THREADS = 256;
constexpr int EACH = 4;
// Fewest threads per dense line: more than the elements before its first pack and after its last, at most 19
// each. Lines with fewer packs are processed element by element.
constexpr unsigned FEWEST_DENSE = 64;
constexpr int LEAST_PACKS = 16;
// Resident blocks per multiprocessor: without this bound the compiler uses so many registers that only two
// fit.
template <typename F> constexpr int RESIDENT = sizeof(F) == 4 ? 3 : 1;

__device__ __forceinline__ float multiply(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double multiply(double a, double b) {
  return __dmul_rn(a, b);
}
__device__ __forceinline__ float add(float a, float b) {
  return __fadd_rn(a, b);
}
__device__ __forceinline__ double add(double a, double b) {
  return __dadd_rn(a, b);
}

__device__ __forceinline__ float fused(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double fused(double a, double b, double c) {
  return __fma_rn(a, b, c);
}

// The functions of curve.inc, for both types.
template <typename real> __device__ __forceinline__ real fc_at_least(real v, real low) {
  return v < low ? low : v;
}
template <typename real> __device__ __forceinline__ real fc_at_most(real v, real high) {
  return v > high ? high : v;
}
template <typename real> struct shared {
#define FC_SHARED_CODE(...) __VA_ARGS__
#define FC_DEVICE           static __device__ __forceinline__
#include "filters/pointwise/curve.inc"
#undef FC_DEVICE
#undef FC_SHARED_CODE
};

template <typename F> struct operation {
  int form, keeps;
  F from, factor, to, low, high, span;
  const F *factors, *frames;
  int64_t group; // number of interleaved channels with a factor each, else 1

  __device__ __forceinline__ F apply(F v) const {
    switch (form) {
    case FC_POINTWISE_SCALE: return multiply(v, factor);
    case FC_POINTWISE_MAP: return add(multiply(add(v, -from), factor), to);
    case FC_POINTWISE_CLAMP: return v < low ? low : v > high ? high : v;
    case FC_POINTWISE_AFFINE: return fused(v, factor, to);
    case FC_POINTWISE_CURVE: return shared<F>::fc_curve_value(v, from, factor, high, F(1), span, to, 0);
    case FC_POINTWISE_THRESHOLD: return shared<F>::fc_threshold_value(v, from, high, low, keeps);
    default: return v;
    }
  }
};

template <typename F> operation<F> operation_of(const fc_pointwise *p, int64_t group) {
  const bool each = p->form == FC_POINTWISE_SCALE || p->form == FC_POINTWISE_AFFINE;
  operation<F> o = {p->form,
                    p->keeps,
                    static_cast<F>(p->from),
                    static_cast<F>(p->factor),
                    static_cast<F>(p->to),
                    static_cast<F>(p->low),
                    static_cast<F>(p->high),
                    static_cast<F>(p->span),
                    each ? static_cast<const F *>(p->factors) : nullptr,
                    p->form == FC_POINTWISE_MAP ? static_cast<const F *>(p->frames) : nullptr,
                    group};
  return o;
}

// i % group, in 32 bits where possible: 64-bit remainders are slow, and lines of more than 2^32 elements
// rare.
__device__ __forceinline__ int64_t place_in_group(int64_t i, int64_t group) {
  if ((i | group) >> 32) return i % group;
  return static_cast<uint32_t>(i) % static_cast<uint32_t>(group);
}

// Sets the parameters of channel c.
template <typename F> __device__ __forceinline__ void set_channel(operation<F> &op, int64_t c) {
  if (op.form == FC_POINTWISE_AFFINE)
    op.factor = op.factors[2 * c], op.to = op.factors[2 * c + 1];
  else
    op.factor = op.factors[c];
}

// The operation for one line: frame n, channel c.
template <typename F>
__device__ __forceinline__ operation<F> operation_for(const operation<F> &op, int64_t n, int64_t c) {
  operation<F> mine = op;
  if (op.factors && op.group == 1) set_channel(mine, c);
  if (op.frames) mine.from = op.frames[2 * n], mine.factor = op.frames[2 * n + 1];
  return mine;
}

template <typename F>
__global__ void __launch_bounds__(THREADS)
    pointwise_lines(fc_dev_view in, fc_dev_view out, fc_lines lines, operation<F> op, fc_dev_map<F> in_map,
                    fc_dev_map<F> out_map, uint32_t *notes) {
  const int64_t count = lines.frames * lines.rows * lines.channels;
  const int apart = static_cast<int>(blockDim.x);
  const int64_t span = static_cast<int64_t>(gridDim.x) * (apart * EACH);
  const int64_t step = static_cast<int64_t>(gridDim.y) * blockDim.y;
  for (int64_t line = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; line < count;
       line += step) {
    const fc_dev_line l = fc_dev_line_of(lines, line);
    const char *from = in.at(l.n, l.y, 0, l.c);
    char *to = out.at(l.n, l.y, 0, l.c);
    operation<F> mine = operation_for(op, l.n, l.c);
    for (int64_t base = blockIdx.x * static_cast<int64_t>(apart * EACH) + threadIdx.x; base < lines.length;
         base += span) {
      F v[EACH];
      fc_dev_dispatch(in.dtype, [&](auto t) {
#pragma unroll
        for (int k = 0; k < EACH; k++) {
          const int64_t i = base + k * apart;
          v[k] = i < lines.length ? fc_dev_load<F, decltype(t)>(from + i * lines.in_step, in_map) : F(0);
        }
      });
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int64_t i = base + k * apart;
        if (i >= lines.length) break;
        if (op.group > 1) set_channel(mine, place_in_group(i, op.group));
        fc_dev_store_any<F>(to + i * lines.out_step, out.dtype, mine.apply(v[k]), out_map, notes);
      }
    }
  }
}

// Applies the operation to N elements from element i of a line on, with one test of its kind for all N.
template <typename F, int N>
__device__ __forceinline__ void apply_all(F (&v)[N], const operation<F> &op, int64_t i) {
  switch (op.form) {
  case FC_POINTWISE_SCALE: {
    int64_t place = op.group > 1 ? place_in_group(i, op.group) : 0;
#pragma unroll
    for (int k = 0; k < N; k++) {
      v[k] = multiply(v[k], op.group > 1 ? op.factors[place] : op.factor);
      if (++place >= op.group) place = 0;
    }
    break;
  }
  case FC_POINTWISE_AFFINE: {
    int64_t place = op.group > 1 ? place_in_group(i, op.group) : 0;
#pragma unroll
    for (int k = 0; k < N; k++) {
      v[k] = op.group > 1 ? fused(v[k], op.factors[2 * place], op.factors[2 * place + 1])
                          : fused(v[k], op.factor, op.to);
      if (++place >= op.group) place = 0;
    }
    break;
  }
  case FC_POINTWISE_CURVE:
#pragma unroll
    for (int k = 0; k < N; k++)
      v[k] = shared<F>::fc_curve_value(v[k], op.from, op.factor, op.high, F(1), op.span, op.to, 0);
    break;
  case FC_POINTWISE_THRESHOLD:
#pragma unroll
    for (int k = 0; k < N; k++)
      v[k] = shared<F>::fc_threshold_value(v[k], op.from, op.high, op.low, op.keeps);
    break;
  case FC_POINTWISE_MAP:
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = add(multiply(add(v[k], -op.from), op.factor), op.to);
    break;
  case FC_POINTWISE_CLAMP:
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = v[k] < op.low ? op.low : v[k] > op.high ? op.high : v[k];
    break;
  default: break;
  }
}

// The packs of a line that this thread processes, from `first` on.
template <bool ALIKE, typename F, typename T, typename U>
__device__ __forceinline__ void run_packs(const fc_packs &p, const char *from, char *to, int64_t first,
                                          const operation<F> &op, fc_dev_map<F> in_map, fc_dev_map<F> out_map,
                                          fc_dev_noted &noted, uint32_t *notes) {
  constexpr int N = fc_pack<T, U>::size, SIZE = static_cast<int>(sizeof(T));
  const int apart = static_cast<int>(blockDim.x);
  const int64_t span = static_cast<int64_t>(gridDim.x) * (apart * EACH);
  const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from + p.head * SIZE) % 4);
  for (int64_t base = first; base < p.count; base += span) {
    fc_packed<T, N> x[EACH];
    uint32_t last[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int64_t i = p.head + (base + k * apart) * N;
      if (i >= p.body) continue;
      if (ALIKE)
        fc_words_load(x[k].word, from + i * SIZE);
      else
        fc_words_load_askew(x[k].word, &last[k], from + i * SIZE, askew);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int64_t i = p.head + (base + k * apart) * N;
      if (i >= p.body) break;
      if (!ALIKE) fc_words_shift(x[k].word, last[k], askew);
      F v[N];
      fc_packed<U, N> y;
      fc_packed_values(v, x[k], in_map);
      apply_all(v, op, i);
      fc_packed_codes(y, v, out_map, noted, notes);
      fc_words_store(to + i * static_cast<int>(sizeof(U)), y.word);
    }
  }
}

template <typename F, typename T, typename U>
__global__ void __launch_bounds__(THREADS, RESIDENT<F>)
    pointwise_dense(fc_dev_view in, fc_dev_view out, fc_lines lines, operation<F> op, fc_dev_map<F> in_map,
                    fc_dev_map<F> out_map, uint32_t *notes) {
  constexpr int N = fc_pack<T, U>::size;
  const int64_t count = lines.frames * lines.rows * lines.channels;
  const int64_t first = blockIdx.x * static_cast<int64_t>(blockDim.x * EACH) + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.y) * blockDim.y;
  fc_dev_noted noted = {false, false};
  for (int64_t line = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; line < count;
       line += step) {
    const fc_dev_line l = fc_dev_line_of(lines, line);
    const char *from = in.at(l.n, l.y, 0, l.c);
    char *to = out.at(l.n, l.y, 0, l.c);
    operation<F> mine = operation_for(op, l.n, l.c);
    const fc_packs p = fc_packs_of<T, U>(from, to, lines.length);
    // The elements before and after the packs, fewer than a line has threads (FEWEST_DENSE). They are loaded
    // before the packs, so that a line waits for memory only once.
    const int64_t at = first < p.head ? first : first + p.count * N;
    const bool at_edge = blockIdx.x == 0 && at < lines.length;
    const F edge = at_edge ? fc_dev_load<F, T>(from + at * static_cast<int>(sizeof(T)), in_map) : F(0);
    if (p.alike)
      run_packs<true, F, T, U>(p, from, to, first, mine, in_map, out_map, noted, notes);
    else
      run_packs<false, F, T, U>(p, from, to, first, mine, in_map, out_map, noted, notes);
    if (!at_edge) continue;
    F v[1] = {edge};
    apply_all(v, mine, at);
    fc_dev_store<F, U>(to + at * static_cast<int>(sizeof(U)), v[0], out_map, notes);
  }
  noted.tell(notes);
}

// Blocks and threads for lines of `work` loads: as many threads per line as have work, a power of two and at
// least `fewest`.
struct shape {
  dim3 grid, block;
};

shape shape_of(int64_t work, int64_t lines, unsigned fewest) {
  unsigned threads = fewest;
  while (threads < THREADS && static_cast<int64_t>(threads) * EACH < work) threads *= 2;
  const unsigned together = THREADS / threads;
  return {
      dim3(fc_blocks(work, static_cast<int64_t>(threads) * EACH, 1 << 20), fc_blocks(lines, together, 65535)),
      dim3(threads, together)};
}

template <typename T>
constexpr int dtype_of = std::is_same<T, uint8_t>::value    ? FC_U8
                         : std::is_same<T, int16_t>::value  ? FC_I16
                         : std::is_same<T, uint16_t>::value ? FC_U16
                         : std::is_same<T, int32_t>::value  ? FC_I32
                         : std::is_same<T, float>::value    ? FC_F32
                                                            : FC_F64;

// FC_UNSUPPORTED if the kernel does not support these views.
template <typename F, typename T>
fc_status launch_dense(const operation<F> &op, const fc_view *in, const fc_view *out, const fc_lines &lines,
                       cudaStream_t stream, uint32_t *notes) {
  if (lines.in_step != sizeof(T) || lines.out_step != static_cast<int64_t>(fc_dtype_size(out->dtype)))
    return FC_UNSUPPORTED;
  const char *from = static_cast<const char *>(in->data), *to = static_cast<const char *>(out->data);
  const int64_t count = lines.frames * lines.rows * lines.channels;
  int64_t packs = 0;
  fc_dispatch_dtype(out->dtype, [&](auto u) {
    using U = decltype(u);
    if constexpr (FC_POINTWISE_IS_DENSE(dtype_of<F>, dtype_of<T>, dtype_of<U>)) {
      packs = fc_packs_of<T, U>(from, to, lines.length).count;
      const shape s = shape_of(packs, count, FEWEST_DENSE);
      if (packs >= LEAST_PACKS)
        pointwise_dense<F, T, U><<<s.grid, s.block, 0, stream>>>(
            fc_dev_view_of(in), fc_dev_view_of(out), lines, op, fc_dev_map_of<F>(in->kind, in->dtype),
            fc_dev_map_of<F>(out->kind, out->dtype), notes);
    }
    return FC_OK;
  });
  return packs >= LEAST_PACKS ? fc_launch_status() : FC_UNSUPPORTED;
}

template <typename F, typename T>
fc_status launch(const fc_pointwise *p, const fc_view *in, const fc_view *out, cudaStream_t stream,
                 uint32_t *notes) {
  fc_lines lines = fc_lines_of(in, out, 1);
  const int64_t count = lines.frames * lines.rows * lines.channels;
  if (count == 0 || lines.length == 0) return FC_OK;
  const bool varies = (p->form == FC_POINTWISE_SCALE || p->form == FC_POINTWISE_AFFINE) && p->factors;
  const bool together = lines.channels == 1 && out->shape[FC_AXIS_C] > 1;
  const operation<F> op = operation_of<F>(p, varies && together ? out->shape[FC_AXIS_C] : 1);
  fc_lines_merge(&lines, in, out, !op.frames);
  const fc_status status = launch_dense<F, T>(op, in, out, lines, stream, notes);
  if (status != FC_UNSUPPORTED) return status;
  const shape s = shape_of(lines.length, lines.frames * lines.rows * lines.channels, 1);
  pointwise_lines<F><<<s.grid, s.block, 0, stream>>>(fc_dev_view_of(in), fc_dev_view_of(out), lines, op,
                                                     fc_dev_map_of<F>(in->kind, in->dtype),
                                                     fc_dev_map_of<F>(out->kind, out->dtype), notes);
  return fc_launch_status();
}

// A curve with a power needs as many registers as all other forms together, so it has a kernel of its own. A
// simple one suffices, since fused kernels are run where they are available.
struct power_curve {
  double from, factor, most, exponent, span, to;
  template <typename F> __device__ F operator()(F v) const {
    return shared<F>::fc_curve_value(v, F(from), F(factor), F(most), F(exponent), F(span), F(to), 1);
  }
};

} // namespace

extern "C" fc_status fc_pointwise_cuda(const fc_pointwise *p, const fc_view *in, const fc_view *out,
                                       void *stream, uint32_t *notes) {
  if (p->form == FC_POINTWISE_CURVE && p->exponent != 1)
    return fc_dev_map_samples(in, out, power_curve{p->from, p->factor, p->high, p->exponent, p->span, p->to},
                              p->compute, stream, notes);
  return fc_dispatch_compute(p->compute, [&](auto f) {
    using F = decltype(f);
    return fc_dispatch_dtype(in->dtype, [&](auto t) {
      return launch<F, decltype(t)>(p, in, out, static_cast<cudaStream_t>(stream), notes);
    });
  });
}

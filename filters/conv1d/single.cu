// SPDX-License-Identifier: MIT
//
// single.cu - short masks along an axis with one sample.
//
// Each tap is multiplied with that sample or with the border's constant, so an output depends on the one
// input at its position: a lane loads some adjacent ones, or of views with gaps a single one.
//
// The order of sums is that of conv1d.h.
#include "filters/conv1d/kernels.cuh"

#include "filters/gpu/sample_words.cuh"

namespace {

constexpr int THREADS = 256, MOST_TAPS = FC_CONV1D_BLOCK;

struct single_args {
  const char *in;
  char *out;
  int64_t count;
  int64_t in_stride[FC_AXES], out_stride[FC_AXES]; // of views with gaps
  fc_dev_divider by[FC_AXES];                      // their shape
  int shape[FC_AXES];
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
  int begin, end, taps; // the taps multiplied with the sample; others with the constant
  uint64_t code;        // of the border's constant
  float tap[MOST_TAPS];
};

template <typename T, int V> struct alignas(V * sizeof(T)) adjacent { T v[V]; };

template <typename T, int V>
__device__ __forceinline__ void load(float (&to)[V], const adjacent<T, V> *from, fc_dev_map<float> map) {
  const adjacent<T, V> codes = *from;
#pragma unroll
  for (int i = 0; i < V; i++) to[i] = fc_code_value<T>(codes.v[i], map);
}

template <typename T, int V>
__device__ __forceinline__ void store(adjacent<T, V> *to, const float (&v)[V], fc_dev_map<float> map,
                                      fc_dev_noted &noted) {
  adjacent<T, V> codes;
#pragma unroll
  for (int i = 0; i < V; i++) codes.v[i] = fc_value_code<T>(v[i], map, noted);
  *to = codes;
}

template <int V> __device__ __forceinline__ void add(float (&sum)[V], const float (&v)[V], float tap) {
#pragma unroll
  for (int i = 0; i < V; i++) sum[i] = fmaf(v[i], tap, sum[i]);
}

// Offset of element `at` of a view with gaps.
__device__ __forceinline__ int64_t offset_of(const single_args &a, const int64_t (&stride)[FC_AXES], int at) {
  int64_t offset = 0;
#pragma unroll
  for (int axis = FC_AXES - 1; axis > 0; axis--) {
    const int rest = a.by[axis].quotient(at);
    offset += (at - rest * a.shape[axis]) * stride[axis], at = rest;
  }
  return offset + at * stride[0];
}

template <typename T, int V, bool GAPS>
__global__ void __launch_bounds__(THREADS) conv1d_single(const __grid_constant__ single_args a) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
  if (at >= a.count / V) return;
  const char *from = a.in + (GAPS ? offset_of(a, a.in_stride, static_cast<int>(at))
                                  : at * static_cast<int64_t>(V * sizeof(T)));
  char *to = a.out + (GAPS ? offset_of(a, a.out_stride, static_cast<int>(at))
                           : at * static_cast<int64_t>(V * sizeof(T)));
  float constant[V], v[V], sum[V];
  load<T, V>(v, reinterpret_cast<const adjacent<T, V> *>(from), a.in_map);
#pragma unroll
  for (int i = 0; i < V; i++) constant[i] = fc_dev_load<float, T>(&a.code, a.in_map), sum[i] = 0.f;
  int j = 0;
#pragma unroll 4
  for (; j < a.begin; j++) add<V>(sum, constant, a.tap[j]);
#pragma unroll 8
  for (; j < a.end; j++) add<V>(sum, v, a.tap[j]);
#pragma unroll 4
  for (; j < a.taps; j++) add<V>(sum, constant, a.tap[j]);
  fc_dev_noted noted = {};
  store<T, V>(reinterpret_cast<adjacent<T, V> *>(to), sum, a.out_map, noted);
  if (fc_is_code<T>) noted.tell(a.notes);
}

// ---- launching -------------------------------------------------------------

// Whether both views are without gaps and in the same order.
bool alike(const fc_view *in, const fc_view *out) {
  const int64_t in_size = static_cast<int64_t>(fc_dtype_size(in->dtype)),
                out_size = static_cast<int64_t>(fc_dtype_size(out->dtype));
  int64_t count = 1;
  for (bool found = true; found;) {
    found = false;
    for (int axis = FC_AXES - 1; axis >= 0 && !found; axis--) {
      found = out->shape[axis] > 1 && in->stride[axis] == count * in_size &&
              out->stride[axis] == count * out_size;
      if (found) count *= out->shape[axis];
    }
  }
  return count == fc_view_count(out);
}

template <typename T, int V, bool GAPS> fc_status launch(const single_args &a, cudaStream_t stream) {
  const int64_t blocks = (a.count / V + THREADS - 1) / THREADS;
  if (blocks > INT32_MAX / (GAPS ? THREADS : 1)) return FC_UNSUPPORTED;
  conv1d_single<T, V, GAPS><<<static_cast<unsigned>(blocks), THREADS, 0, stream>>>(a);
  return fc_launch_status();
}

// Several elements per lane if they are aligned, and those behind the last multiple by a launch of their own:
// one channel of three of 2^27 bytes is 44739242 bytes, which by one a lane took four times as long. Few
// elements go by one launch.
template <typename T> fc_status launch_aligned(const single_args &a, bool gaps, cudaStream_t stream) {
  constexpr int V = sizeof(T) == 4 ? 4 : 8, FEW = 1 << 20;
  if (gaps) return launch<T, 1, true>(a, stream);
  const int64_t rest = a.count % V;
  if ((reinterpret_cast<uintptr_t>(a.in) | reinterpret_cast<uintptr_t>(a.out)) % (V * sizeof(T)) != 0 ||
      (rest != 0 && a.count < FEW))
    return launch<T, 1, false>(a, stream);
  single_args last = a;
  last.in += (a.count - rest) * static_cast<int64_t>(sizeof(T)), last.count = rest;
  last.out += (a.count - rest) * static_cast<int64_t>(sizeof(T));
  const fc_status status = launch<T, V, false>(a, stream);
  return status != FC_OK || rest == 0 ? status : launch<T, 1, false>(last, stream);
}

} // namespace

fc_status fc_conv1d_single(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           cudaStream_t stream, uint32_t *notes) {
  single_args a = {};
  a.in = static_cast<const char *>(in->data), a.out = static_cast<char *>(out->data);
  a.count = fc_view_count(out);
  for (int axis = 0; axis < FC_AXES; axis++) {
    a.in_stride[axis] = in->stride[axis], a.out_stride[axis] = out->stride[axis];
    a.shape[axis] = static_cast<int>(out->shape[axis]), a.by[axis] = fc_dev_divider_of(a.shape[axis]);
  }
  a.in_map = fc_dev_map_of<float>(in->kind, in->dtype);
  a.out_map = fc_dev_map_of<float>(out->kind, out->dtype);
  a.notes = notes, a.taps = static_cast<int>(c->taps), a.end = a.taps, a.code = edges->code;
  if (edges->border == FC_BORDER_ZERO || edges->border == FC_BORDER_CONSTANT) {
    const bool met = c->before >= 0 && c->before < c->taps;
    a.begin = met ? static_cast<int>(c->before) : a.taps, a.end = a.begin + met;
  }
  const bool gaps = !alike(in, out);
  for (int j = 0; j < a.taps; j++) a.tap[j] = static_cast<const float *>(c->mask)[j];
  return fc_conv1d_dispatch(in->dtype, [&](auto t) { return launch_aligned<decltype(t)>(a, gaps, stream); });
}

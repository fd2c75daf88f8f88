// SPDX-License-Identifier: MIT
//
// cuda_kernels.cu - strided transfers, conversion and borders; see cuda_kernels.cuh.
//
// All three treat memory as a nest of at most four axes, fastest first. A thread finds its element by
// dividing its index by the lengths of the axes, with multiplications in place of divisions (a division by a
// run-time number is about 20 instructions, a multiplication 2: enough to be slower than memory). Indices
// have 32 bits, so a launch covers LAUNCH_LIMIT elements at most and more work takes several launches.
#include "core/device/cuda_kernels.cuh"

#include <string.h>

namespace {

// Below 2^31 by enough that no index of a grid overflows; see also `quotient`.
const int64_t LAUNCH_LIMIT = 1 << 30;

const int THREADS = 256;
// Elements a thread of a copy has in flight: 4 loads before the first store.
const int COPY_UNROLL = 4;
// Blocks along a border; threads stride through the rest. Borders are small.
const int64_t BORDER_BLOCKS = 4096;

// The greatest pitch that copies take (cudaDevAttrMaxPitch of every device so far).
const int64_t MAX_PITCH = INT32_MAX;
// At most this many slices of a box are copied one by one.
const int64_t FEW_SLICES = 16;

// ---- division ------------------------------------------------------------

// n / divisor for n < 2^31 as (mulhi(n, multiplier) + n) >> shift, after Granlund and
// Montgomery, Division by invariant integers using multiplication (1994).
struct divider {
  uint32_t divisor, multiplier, shift;
};

divider divider_of(int64_t divisor) {
  divider d = {(uint32_t)divisor, 0, 0};
  while ((1ll << d.shift) < divisor) d.shift++;
  d.multiplier = (uint32_t)((((1ull << d.shift) - (uint64_t)divisor) << 32) / (uint64_t)divisor + 1);
  return d;
}

__device__ __forceinline__ uint32_t quotient(uint32_t n, const divider &d) {
  return (__umulhi(n, d.multiplier) + n) >> d.shift;
}

// ---- nests of axes -------------------------------------------------------

// Two views of equal shape as a nest of axes, fastest in `to` first, without axes of
// one element and with axes joined that are contiguous in each other on both sides.
struct nest {
  char *to;
  const char *from;
  int rank;
  int64_t count[FC_AXES], to_stride[FC_AXES], from_stride[FC_AXES];
};

void nest_append(nest *n, int64_t count, int64_t to_stride, int64_t from_stride) {
  int last = n->rank - 1;
  if (last >= 0 && to_stride == n->count[last] * n->to_stride[last] &&
      from_stride == n->count[last] * n->from_stride[last]) {
    n->count[last] *= count;
    return;
  }
  n->count[n->rank] = count, n->to_stride[n->rank] = to_stride, n->from_stride[n->rank] = from_stride;
  n->rank++;
}

// Sorts the axes of a view by stride, smallest first.
void sort_axes(const fc_view *v, int order[FC_AXES]) {
  for (int i = 0; i < FC_AXES; i++) {
    // C before X before Y before N where strides are equal (axes of one element).
    int axis = FC_AXES - 1 - i, at = i;
    for (; at > 0 && v->stride[order[at - 1]] > v->stride[axis]; at--) order[at] = order[at - 1];
    order[at] = axis;
  }
}

// FALSE when there is nothing to copy.
bool nest_of(nest *n, const fc_view *to, const fc_view *from) {
  int order[FC_AXES];
  sort_axes(to, order);
  n->to = (char *)to->data, n->from = (const char *)from->data, n->rank = 0;
  for (int i = 0; i < FC_AXES; i++) {
    int a = order[i];
    if (to->shape[a] <= 0) return false;
    if (to->shape[a] > 1) nest_append(n, to->shape[a], to->stride[a], from->stride[a]);
  }
  return true;
}

void nest_drop_first(nest *n) {
  for (int k = 1; k < n->rank; k++) {
    n->count[k - 1] = n->count[k];
    n->to_stride[k - 1] = n->to_stride[k], n->from_stride[k - 1] = n->from_stride[k];
  }
  n->rank--;
}

void nest_swap(nest *n, int i, int j) {
  int64_t count = n->count[i], to = n->to_stride[i], from = n->from_stride[i];
  n->count[i] = n->count[j], n->to_stride[i] = n->to_stride[j], n->from_stride[i] = n->from_stride[j];
  n->count[j] = count, n->to_stride[j] = to, n->from_stride[j] = from;
}

int nest_longest(const nest *n) {
  int longest = 0;
  for (int k = 1; k < n->rank; k++)
    if (n->count[k] > n->count[longest]) longest = k;
  return longest;
}

// Removes the first axis if it is contiguous on both sides; returns the bytes of the contiguous runs that the
// remaining axes enumerate.
int64_t nest_take_run(nest *n, int64_t element) {
  if (n->rank == 0 || n->to_stride[0] != element || n->from_stride[0] != element) return element;
  int64_t run = n->count[0] * element;
  nest_drop_first(n);
  return run;
}

// ---- transfers -----------------------------------------------------------

bool fits_pitched(const nest *n) {
  return n->to_stride[0] <= MAX_PITCH && n->from_stride[0] <= MAX_PITCH;
}

// A box has slices that are a whole number of rows apart, on both sides. A few slices are copied one by one:
// that costs microseconds, and compute-sanitizer (2025.3) assumes a wrong distance between the slices of
// cudaMemcpy3DAsync, so that initcheck reports errors in the copied data.
bool fits_box(const nest *n) {
  return n->count[1] > FEW_SLICES && fits_pitched(n) && n->to_stride[1] % n->to_stride[0] == 0 &&
         n->from_stride[1] % n->from_stride[0] == 0 && n->to_stride[1] / n->to_stride[0] >= n->count[0] &&
         n->from_stride[1] / n->from_stride[0] >= n->count[0];
}

cudaError_t transfer_box(const nest *n, char *to, const char *from, int64_t run, cudaMemcpyKind kind,
                         cudaStream_t stream) {
  cudaMemcpy3DParms box;
  memset(&box, 0, sizeof box);
  box.dstPtr = make_cudaPitchedPtr(to, (size_t)n->to_stride[0], (size_t)run,
                                   (size_t)(n->to_stride[1] / n->to_stride[0]));
  box.srcPtr = make_cudaPitchedPtr((void *)from, (size_t)n->from_stride[0], (size_t)run,
                                   (size_t)(n->from_stride[1] / n->from_stride[0]));
  box.extent = make_cudaExtent((size_t)run, (size_t)n->count[0], (size_t)n->count[1]);
  box.kind = kind;
  return cudaMemcpy3DAsync(&box, stream);
}

// Copies what the innermost `rank` axes enumerate, starting at `to` and `from`.
cudaError_t transfer_axes(const nest *n, int rank, char *to, const char *from, int64_t run,
                          cudaMemcpyKind kind, cudaStream_t stream) {
  if (rank == 0) return cudaMemcpyAsync(to, from, (size_t)run, kind, stream);
  if (rank == 1 && fits_pitched(n))
    return cudaMemcpy2DAsync(to, (size_t)n->to_stride[0], from, (size_t)n->from_stride[0], (size_t)run,
                             (size_t)n->count[0], kind, stream);
  if (rank == 2 && fits_box(n)) return transfer_box(n, to, from, run, kind, stream);
  int axis = rank - 1;
  for (int64_t i = 0; i < n->count[axis]; i++) {
    cudaError_t status = transfer_axes(n, axis, to + i * n->to_stride[axis], from + i * n->from_stride[axis],
                                       run, kind, stream);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

// ---- conversion: kernels -------------------------------------------------

struct copy_job {
  char *to;
  const char *from;
  uint32_t total;
  int32_t rank;
  divider counts[FC_AXES - 1]; // the slowest axis needs none
  int64_t to_stride[FC_AXES], from_stride[FC_AXES];
  double scale, inverse; // of `from`, and 1 / that of `to`: powers of two
  int32_t from_bias, to_bias;
  uint32_t *notes;
};

struct place {
  int64_t to, from;
};

__device__ __forceinline__ place place_of(const copy_job &job, uint32_t index) {
  place at = {index * job.to_stride[0], index * job.from_stride[0]};
  if (job.rank <= 1) return at; // a uniform branch
  at.to = at.from = 0;
#pragma unroll
  for (int k = 0; k < FC_AXES; k++) {
    uint32_t slower = k < FC_AXES - 1 ? quotient(index, job.counts[k]) : 0;
    int64_t here = k < FC_AXES - 1 ? index - slower * job.counts[k].divisor : index;
    at.to += here * job.to_stride[k];
    at.from += here * job.from_stride[k];
    index = slower;
  }
  return at;
}

// The type in which a conversion is exact, or rounds once: float unless one side is f64 or i32 is paired with
// another integer type. An i32 rounds to f32 once in either direction, and f32 times 2^31 is exact in f32.
template <typename From, typename To> struct compute_of { typedef float type; };
template <typename To> struct compute_of<double, To> { typedef double type; };
template <typename From> struct compute_of<From, double> { typedef double type; };
template <> struct compute_of<double, double> { typedef double type; };
template <typename To> struct compute_of<int32_t, To> { typedef double type; };
template <> struct compute_of<int32_t, float> { typedef float type; };
template <> struct compute_of<int32_t, double> { typedef double type; };
template <> struct compute_of<uint8_t, int32_t> { typedef double type; };
template <> struct compute_of<int16_t, int32_t> { typedef double type; };
template <> struct compute_of<uint16_t, int32_t> { typedef double type; };

template <typename T> struct limits;
template <> struct limits<uint8_t> { static constexpr double low = 0.0, high = 255.0; };
template <> struct limits<int16_t> { static constexpr double low = -32768.0, high = 32767.0; };
template <> struct limits<uint16_t> { static constexpr double low = 0.0, high = 65535.0; };
template <> struct limits<int32_t> { static constexpr double low = -2147483648.0, high = 2147483647.0; };

template <typename T> struct is_float { static constexpr bool value = false; };
template <> struct is_float<float> { static constexpr bool value = true; };
template <> struct is_float<double> { static constexpr bool value = true; };

__device__ __forceinline__ float round_even(float v) {
  return rintf(v);
}
__device__ __forceinline__ double round_even(double v) {
  return rint(v);
}

// Every thread that writes a note writes the same.
__device__ __forceinline__ void note(uint32_t *notes, int which) {
  if (notes) *(volatile uint32_t *)(notes + which) = 1;
}

// The code of a real value times the inverse scale, as an integer type. The bias is added after rounding;
// adding it before would round twice. The upper limit is "below high + 1", which every compute type can
// represent.
template <typename To, typename F> __device__ __forceinline__ To code_of(F v, const copy_job &job) {
  F r = round_even(v);
  F low = (F)limits<To>::low - (F)job.to_bias, above = (F)(limits<To>::high + 1.0) - (F)job.to_bias;
  if (r >= low && r < above) return (To)((int32_t)r + job.to_bias);
  if (r != r) {
    note(job.notes, FC_NOTE_NAN);
    return (To)job.to_bias;
  }
  note(job.notes, FC_NOTE_CLIPPED);
  return (To)(r < low ? limits<To>::low : limits<To>::high);
}

template <typename From, typename To>
__device__ __forceinline__ To convert_one(From code, const copy_job &job) {
  typedef typename compute_of<From, To>::type F;
  F v = (F)code;
  if constexpr (!is_float<From>::value) v = (v - (F)job.from_bias) * (F)job.scale;
  if constexpr (is_float<To>::value)
    return (To)v;
  else
    return code_of<To>(v * (F)job.inverse, job);
}

template <typename From, typename To>
__global__ void __launch_bounds__(THREADS) convert(const __grid_constant__ copy_job job) {
  uint32_t first = blockIdx.x * (uint32_t)(THREADS * COPY_UNROLL) + threadIdx.x;
  From codes[COPY_UNROLL];
#pragma unroll
  for (int u = 0; u < COPY_UNROLL; u++) {
    uint32_t index = first + u * THREADS;
    if (index < job.total) codes[u] = *(const From *)(job.from + place_of(job, index).from);
  }
#pragma unroll
  for (int u = 0; u < COPY_UNROLL; u++) {
    uint32_t index = first + u * THREADS;
    if (index < job.total) *(To *)(job.to + place_of(job, index).to) = convert_one<From, To>(codes[u], job);
  }
}

template <typename T>
__global__ void __launch_bounds__(THREADS) move_units(const __grid_constant__ copy_job job) {
  uint32_t first = blockIdx.x * (uint32_t)(THREADS * COPY_UNROLL) + threadIdx.x;
  T units[COPY_UNROLL];
#pragma unroll
  for (int u = 0; u < COPY_UNROLL; u++) {
    uint32_t index = first + u * THREADS;
    if (index < job.total) units[u] = *(const T *)(job.from + place_of(job, index).from);
  }
#pragma unroll
  for (int u = 0; u < COPY_UNROLL; u++) {
    uint32_t index = first + u * THREADS;
    if (index < job.total) *(T *)(job.to + place_of(job, index).to) = units[u];
  }
}

// ---- conversion: launchers -----------------------------------------------

template <typename From> const void *converter_from(int to) {
  switch (to) {
  case FC_U8: return (const void *)convert<From, uint8_t>;
  case FC_I16: return (const void *)convert<From, int16_t>;
  case FC_U16: return (const void *)convert<From, uint16_t>;
  case FC_I32: return (const void *)convert<From, int32_t>;
  case FC_F32: return (const void *)convert<From, float>;
  case FC_F64: return (const void *)convert<From, double>;
  default: return NULL;
  }
}

const void *converter(int from, int to) {
  switch (from) {
  case FC_U8: return converter_from<uint8_t>(to);
  case FC_I16: return converter_from<int16_t>(to);
  case FC_U16: return converter_from<uint16_t>(to);
  case FC_I32: return converter_from<int32_t>(to);
  case FC_F32: return converter_from<float>(to);
  case FC_F64: return converter_from<double>(to);
  default: return NULL;
  }
}

const void *mover(int64_t unit) {
  switch (unit) {
  case 1: return (const void *)move_units<uint8_t>;
  case 2: return (const void *)move_units<uint16_t>;
  case 4: return (const void *)move_units<uint32_t>;
  case 8: return (const void *)move_units<uint2>;
  case 16: return (const void *)move_units<uint4>;
  default: return NULL;
  }
}

// Launches a copy kernel over a nest, in parts of its longest axis where it is too long.
cudaError_t launch_copy(const void *kernel, const nest *n, copy_job job, cudaStream_t stream) {
  int64_t total = 1;
  for (int k = 0; k < n->rank; k++) total *= n->count[k];
  if (total > LAUNCH_LIMIT) {
    nest head = *n, tail = *n;
    int axis = nest_longest(n);
    head.count[axis] = n->count[axis] / 2, tail.count[axis] -= head.count[axis];
    tail.to += head.count[axis] * n->to_stride[axis], tail.from += head.count[axis] * n->from_stride[axis];
    cudaError_t status = launch_copy(kernel, &head, job, stream);
    return status != cudaSuccess ? status : launch_copy(kernel, &tail, job, stream);
  }
  job.to = n->to, job.from = n->from, job.rank = n->rank, job.total = (uint32_t)total;
  for (int k = 0; k < FC_AXES; k++) {
    bool real = k < n->rank;
    if (k < FC_AXES - 1) job.counts[k] = divider_of(real ? n->count[k] : 1);
    job.to_stride[k] = real ? n->to_stride[k] : 0, job.from_stride[k] = real ? n->from_stride[k] : 0;
  }
  uint32_t tile = THREADS * COPY_UNROLL;
  void *arguments[] = {&job};
  return cudaLaunchKernel(kernel, dim3((job.total + tile - 1) / tile), dim3(THREADS), arguments, 0, stream);
}

// The widest unit, up to 16 bytes, that divides runs, strides and addresses.
int64_t widest_unit(const nest *n, int64_t run) {
  uint64_t all = (uint64_t)run | (uint64_t)(uintptr_t)n->to | (uint64_t)(uintptr_t)n->from | 16;
  for (int k = 0; k < n->rank; k++) all |= (uint64_t)n->to_stride[k] | (uint64_t)n->from_stride[k];
  return (int64_t)(all & (~all + 1));
}

cudaError_t move_equal(nest *n, int64_t element, cudaStream_t stream) {
  copy_job job;
  memset(&job, 0, sizeof job);
  int64_t run = nest_take_run(n, element);
  if (n->rank == 0) return cudaMemcpyAsync(n->to, n->from, (size_t)run, cudaMemcpyDefault, stream);
  if (run == element) return launch_copy(mover(element), n, job, stream);
  int64_t unit = widest_unit(n, run);
  // The run becomes the fastest axis again, counted in units.
  for (int k = n->rank++; k > 0; k--) {
    n->count[k] = n->count[k - 1];
    n->to_stride[k] = n->to_stride[k - 1], n->from_stride[k] = n->from_stride[k - 1];
  }
  n->count[0] = run / unit, n->to_stride[0] = n->from_stride[0] = unit;
  return launch_copy(mover(unit), n, job, stream);
}

// ---- borders -------------------------------------------------------------
//
// The positions to fill are divided into borders, one per axis: outside on this axis, inside on the slower
// ones, anywhere within `wanted` on the faster. A thread maps all four coordinates of its position at once
// and copies from an element inside the signal, so that borders are independent and one launch fills them
// all.

// Positions along axis k: lo + i, plus `gap` from i = split on, which skips the signal between the border's
// two ends.
struct rim {
  uint32_t total;
  divider counts[FC_AXES - 1];
  uint32_t split[FC_AXES];
  int64_t lo[FC_AXES], gap[FC_AXES];
};

const int RIMS = FC_AXES;

// Axes are in the order of their strides, fastest first.
struct border_job {
  char *zero; // address of position (0, 0, 0, 0), even if outside the memory
  int64_t stride[FC_AXES], extent[FC_AXES];
  int32_t border;
  uint64_t code;
  rim rims[RIMS];
};

// fc_border_map, with a fast path for positions less than a period outside.
__device__ __forceinline__ int64_t border_map(int border, int64_t p, int64_t extent) {
  if (p >= 0 && p < extent) return p;
  if (extent <= 0) return -1;
  if (border == FC_BORDER_REPLICATE) return p < 0 ? 0 : extent - 1;
  if (border == FC_BORDER_WRAP) {
    int64_t q = p < 0 ? p + extent : p - extent;
    if (q >= 0 && q < extent) return q;
    q = p % extent;
    return q < 0 ? q + extent : q;
  }
  if (border != FC_BORDER_REFLECT && border != FC_BORDER_REFLECT101) return -1;
  // Mirrors are at `edge` beyond the first element: half an element, or none.
  int64_t edge = border == FC_BORDER_REFLECT;
  int64_t q = p < 0 ? -p - edge : 2 * extent - 2 + edge - p;
  if (q >= 0 && q < extent) return q;
  int64_t period = 2 * (extent - 1 + edge);
  if (period == 0) return 0;
  q = p % period;
  if (q < 0) q += period;
  return q < extent ? q : period - edge - q;
}

template <typename T>
__global__ void __launch_bounds__(THREADS) fill_rims(const __grid_constant__ border_job job) {
  const rim &r = job.rims[blockIdx.y];
  for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < r.total; i += gridDim.x * THREADS) {
    uint32_t index = i;
    int64_t to = 0, from = 0;
    bool image = true;
#pragma unroll
    for (int k = 0; k < FC_AXES; k++) {
      uint32_t slower = k < FC_AXES - 1 ? quotient(index, r.counts[k]) : 0;
      uint32_t here = k < FC_AXES - 1 ? index - slower * r.counts[k].divisor : index;
      index = slower;
      int64_t p = r.lo[k] + here + (here >= r.split[k] ? r.gap[k] : 0);
      int64_t source = border_map(job.border, p, job.extent[k]);
      image = image && source >= 0;
      to += p * job.stride[k];
      from += source * job.stride[k];
    }
    *(T *)(job.zero + to) = image ? *(const T *)(job.zero + from) : (T)job.code;
  }
}

// A border before it is cut into launches: counts of any size.
struct region {
  int64_t count[FC_AXES], split[FC_AXES], lo[FC_AXES], gap[FC_AXES];
};

// Collects borders and launches as many together as a launch can take.
struct border_launch {
  border_job job;
  int n;
  const void *kernel;
  cudaStream_t stream;
};

cudaError_t border_flush(border_launch *l) {
  if (l->n == 0) return cudaSuccess;
  int64_t longest = 0;
  for (int i = 0; i < l->n; i++)
    if (l->job.rims[i].total > longest) longest = l->job.rims[i].total;
  int64_t blocks = (longest + THREADS - 1) / THREADS;
  if (blocks > BORDER_BLOCKS) blocks = BORDER_BLOCKS;
  dim3 grid((unsigned)blocks, (unsigned)l->n);
  void *arguments[] = {&l->job};
  l->n = 0;
  return cudaLaunchKernel(l->kernel, grid, dim3(THREADS), arguments, 0, l->stream);
}

// The part of a region from index `at` of an axis on.
region region_tail(const region *whole, int axis, int64_t at) {
  region tail = *whole;
  tail.count[axis] -= at;
  tail.lo[axis] += at;
  if (at < whole->split[axis]) {
    tail.split[axis] -= at;
  } else {
    tail.lo[axis] += whole->gap[axis];
    tail.split[axis] = tail.count[axis], tail.gap[axis] = 0;
  }
  return tail;
}

cudaError_t border_add(border_launch *l, const region *g) {
  int64_t total = 1;
  int longest = 0;
  for (int k = 0; k < FC_AXES; k++) {
    if (g->count[k] <= 0) return cudaSuccess;
    total *= g->count[k];
    if (g->count[k] > g->count[longest]) longest = k;
  }
  if (total > LAUNCH_LIMIT) {
    region head = *g, tail = region_tail(g, longest, g->count[longest] / 2);
    head.count[longest] /= 2;
    cudaError_t status = border_add(l, &head);
    return status != cudaSuccess ? status : border_add(l, &tail);
  }
  rim *r = &l->job.rims[l->n++];
  r->total = (uint32_t)total;
  for (int k = 0; k < FC_AXES; k++) {
    if (k < FC_AXES - 1) r->counts[k] = divider_of(g->count[k]);
    r->split[k] = (uint32_t)(g->split[k] < g->count[k] ? g->split[k] : g->count[k]);
    r->lo[k] = g->lo[k], r->gap[k] = g->gap[k];
  }
  return l->n == RIMS ? border_flush(l) : cudaSuccess;
}

// One axis of `wanted`, and how the signal divides it.
struct stretch {
  int64_t lo, hi;             // wanted
  int64_t first_in, first_up; // where the inside begins, and where the part after it begins
};

stretch stretch_of(fc_range wanted, int64_t extent) {
  stretch s = {wanted.lo, wanted.hi, wanted.lo, wanted.hi};
  if (s.hi < s.lo) s.hi = s.first_up = s.lo;
  if (s.lo < 0) s.first_in = s.hi < 0 ? s.hi : 0;
  if (s.hi > extent) s.first_up = s.first_in > extent ? s.first_in : extent;
  return s;
}

// The part outside on `axis`, both ends together.
region rim_of_axis(const stretch s[FC_AXES], int axis) {
  region g;
  for (int k = 0; k < FC_AXES; k++) {
    g.lo[k] = k <= axis ? s[k].lo : s[k].first_in;
    g.count[k] = g.split[k] = k <= axis ? s[k].hi - s[k].lo : s[k].first_up - s[k].first_in;
    g.gap[k] = 0;
  }
  g.split[axis] = s[axis].first_in - s[axis].lo;
  g.gap[axis] = s[axis].first_up - s[axis].first_in;
  g.count[axis] -= g.gap[axis];
  return g;
}

const void *border_kernel(size_t element) {
  switch (element) {
  case 1: return (const void *)fill_rims<uint8_t>;
  case 2: return (const void *)fill_rims<uint16_t>;
  case 4: return (const void *)fill_rims<uint32_t>;
  default: return (const void *)fill_rims<uint64_t>;
  }
}

// The element for zero, when the caller gives no value.
uint64_t border_code(const fc_view *view, const void *code) {
  uint64_t bits = (uint64_t)fc_scaling_of(view->kind, view->dtype).bias; // floats have no bias
  if (code) {
    bits = 0;
    memcpy(&bits, code, fc_dtype_size(view->dtype)); // little-endian, as every host with CUDA
  }
  return bits;
}

} // namespace

// ---- for the runner ------------------------------------------------------

cudaError_t fc_cuda_transfer(const fc_view *to, const fc_view *from, cudaMemcpyKind kind,
                             cudaStream_t stream) {
  nest n;
  if (!nest_of(&n, to, from)) return cudaSuccess;
  int64_t run = nest_take_run(&n, (int64_t)fc_dtype_size(to->dtype));
  // A pitched copy covers one axis: the longest, so that the fewest copies remain.
  if (n.rank >= 2 && !fits_box(&n)) nest_swap(&n, 0, nest_longest(&n));
  return transfer_axes(&n, n.rank, n.to, n.from, run, kind, stream);
}

cudaError_t fc_cuda_convert(const fc_view *to, const fc_view *from, uint32_t *notes, cudaStream_t stream) {
  nest n;
  if (!nest_of(&n, to, from)) return cudaSuccess;
  if (to->dtype == from->dtype) return move_equal(&n, (int64_t)fc_dtype_size(to->dtype), stream);
  const void *kernel = converter(from->dtype, to->dtype);
  if (!kernel) return cudaErrorInvalidValue;
  fc_scaling in = fc_scaling_of(from->kind, from->dtype), out = fc_scaling_of(to->kind, to->dtype);
  copy_job job;
  memset(&job, 0, sizeof job);
  job.scale = in.scale, job.from_bias = (int32_t)in.bias;
  job.inverse = 1.0 / out.scale, job.to_bias = (int32_t)out.bias;
  job.notes = notes;
  return launch_copy(kernel, &n, job, stream);
}

cudaError_t fc_cuda_fill_border(const fc_view *view, const fc_range wanted[FC_AXES], int border,
                                const void *code, cudaStream_t stream) {
  if (border == FC_BORDER_NONE) return cudaSuccess;
  border_launch l;
  memset(&l, 0, sizeof l);
  l.kernel = border_kernel(fc_dtype_size(view->dtype)), l.stream = stream;
  l.job.border = border, l.job.code = border_code(view, code);
  l.job.zero = (char *)view->data;
  stretch s[FC_AXES];
  int order[FC_AXES];
  sort_axes(view, order);
  for (int k = 0; k < FC_AXES; k++) {
    int a = order[k];
    bool endless = view->extent[a] < 0;
    // As in demand.c: large, but twice as much does not overflow.
    l.job.extent[k] = endless ? INT64_MAX / 4 : view->extent[a];
    l.job.stride[k] = view->stride[a];
    l.job.zero -= view->origin[a] * view->stride[a];
    s[k] = stretch_of(wanted[a], l.job.extent[k]);
    if (endless && border == FC_BORDER_WRAP && s[k].first_in > s[k].lo) return cudaErrorInvalidValue;
  }
  for (int k = 0; k < FC_AXES; k++) {
    region g = rim_of_axis(s, k);
    cudaError_t status = border_add(&l, &g);
    if (status != cudaSuccess) return status;
  }
  return border_flush(&l);
}

// ---- sums near the ends of joined stages -------------------------------------

namespace {

// `lanes` threads an output, a power of 2 up to a warp, share its products: outputs are few. Those from
// `first` on, up to `outputs`.
__global__ void __launch_bounds__(THREADS)
    sum_edges(const __grid_constant__ fc_linear_sum sum, uint32_t first, uint32_t outputs, uint32_t lanes) {
  const uint32_t thread = blockIdx.x * THREADS + threadIdx.x, i = first + thread / lanes,
                 lane = thread % lanes;
  const fc_linear_place p = fc_linear_place_of(&sum, min(i, outputs - 1));
  const uint32_t columns = (uint32_t)fc_linear_columns(&sum),
                 products = i < outputs ? columns * (uint32_t)fc_linear_rows(&sum) : 0;
  double total = 0;
  for (uint32_t j = lane; j < products; j += lanes)
    total += fc_linear_product(&sum, p, j / columns, j % columns);
  // The whole warp is here, also beyond the last output.
  for (uint32_t step = lanes / 2; step; step /= 2) total += __shfl_xor_sync(0xffffffff, total, step);
  if (lane == 0 && i < outputs) sum.to[i] = total + fc_linear_offset(&sum, p);
}

// Products that a thread takes at least.
const int64_t PRODUCTS = 4;

} // namespace

cudaError_t fc_cuda_sum(const fc_linear_sum *sum, cudaStream_t stream) {
  int64_t outputs = 1, lanes = 1;
  for (int a = 0; a < FC_AXES; a++) outputs *= sum->out.shape[a];
  const int64_t products = fc_linear_rows(sum) * fc_linear_columns(sum);
  if (outputs == 0) return cudaSuccess;
  while (lanes < 32 && lanes * PRODUCTS < products) lanes *= 2;
  if (outputs > INT32_MAX || products > INT32_MAX) return cudaErrorInvalidValue;
  const int64_t each = LAUNCH_LIMIT / lanes;
  for (int64_t first = 0; first < outputs; first += each) {
    const int64_t end = outputs - first < each ? outputs : first + each;
    const unsigned blocks = (unsigned)(((end - first) * lanes + THREADS - 1) / THREADS);
    sum_edges<<<blocks, THREADS, 0, stream>>>(*sum, (uint32_t)first, (uint32_t)end, (uint32_t)lanes);
  }
  return cudaGetLastError();
}

cudaError_t fc_cuda_has_code(void) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, (const void *)move_units<uint4>);
}

// SPDX-License-Identifier: MIT
//
// rivals_common.cu - noise, comparing, masks, and what the machine itself can do.
#include "tests/bench/rivals.cuh"

#include <cstdarg>

namespace rivals {

void name(char *to, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(to, size, format, arguments);
  va_end(arguments);
}

// ---- noise -----------------------------------------------------------------------

namespace {

// A number of 64 bits from its place (SplitMix64).
__device__ __forceinline__ uint64_t mixed(uint64_t x) {
  x = (x + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

__device__ __forceinline__ float number(uint64_t bits, float) {
  return static_cast<float>(bits >> 40) * (2.f / (1 << 24)) - 1.f;
}
__device__ __forceinline__ double number(uint64_t bits, double) {
  return static_cast<double>(bits >> 11) * (2. / (1ull << 53)) - 1.;
}
__device__ __forceinline__ int32_t number(uint64_t bits, int32_t) {
  return static_cast<int32_t>(bits % 60001) - 30000;
}
__device__ __forceinline__ uint8_t number(uint64_t bits, uint8_t) {
  return static_cast<uint8_t>(bits >> 56);
}

template <typename T> __global__ void noise(T *to, size_t count, uint64_t seed) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = number(mixed(seed ^ i), T());
}

template <typename T> void make_noise(const buffer &b, uint64_t seed) {
  noise<<<2048, 256, 0, stream>>>(b.as<T>(), b.bytes / sizeof(T), seed);
}

} // namespace

void fill(const buffer &b, int dtype) {
  static uint64_t calls;
  const uint64_t seed = ++calls << 44;
  switch (dtype) {
  case FC_U8: make_noise<uint8_t>(b, seed); break;
  case FC_I32: make_noise<int32_t>(b, seed); break;
  case FC_F64: make_noise<double>(b, seed); break;
  default: make_noise<float>(b, seed); break;
  }
  must(cudaGetLastError(), "making noise");
}

// ---- comparing ---------------------------------------------------------------------

namespace {

struct plane {
  const char *data;
  int64_t row, column, channel;
};

plane plane_of(const fc_view &v) {
  return {static_cast<const char *>(v.data), v.stride[FC_AXIS_Y], v.stride[FC_AXIS_X], v.stride[FC_AXIS_C]};
}

struct area {
  int64_t top, left, rows, columns, channels;
};

template <typename T>
__device__ __forceinline__ double value(const plane &p, int64_t y, int64_t x, int64_t c) {
  return static_cast<double>(*reinterpret_cast<const T *>(p.data + y * p.row + x * p.column + c * p.channel));
}

// worst[0] is the largest difference, [1] the largest value: as bits, whose order is that of the numbers,
// as none is negative. What is not a number is infinitely far off.
template <typename A, typename B>
__global__ void compare(plane a, plane b, area w, double scale, unsigned long long *worst) {
  const int64_t total = w.rows * w.columns * w.channels, step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  double apart = 0, size = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < total; i += step) {
    const int64_t c = i % w.channels, x = i / w.channels % w.columns + w.left,
                  y = i / w.channels / w.columns + w.top;
    const double one = value<A>(a, y, x, c), other = scale * value<B>(b, y, x, c);
    const double d = fabs(one - other);
    apart = d <= apart ? apart : d == d ? d : INFINITY;
    size = fmax(size, fabs(other));
  }
  for (int by = 16; by > 0; by /= 2) {
    apart = fmax(apart, __shfl_down_sync(0xffffffffu, apart, by));
    size = fmax(size, __shfl_down_sync(0xffffffffu, size, by));
  }
  if (threadIdx.x % 32) return;
  atomicMax(worst, __double_as_longlong(apart));
  atomicMax(worst + 1, __double_as_longlong(size));
}

} // namespace

double difference(const fc_view &a, const fc_view &b, int64_t margin, double scale) {
  const int64_t y = a.shape[FC_AXIS_Y] > 1 ? margin : 0, x = a.shape[FC_AXIS_X] > 1 ? margin : 0;
  const area inside = {y, x, a.shape[FC_AXIS_Y] - 2 * y, a.shape[FC_AXIS_X] - 2 * x, a.shape[FC_AXIS_C]};
  buffer worst(2 * sizeof(double));
  must(cudaMemsetAsync(worst.data, 0, worst.bytes, stream), "comparing");
  unsigned long long *to = worst.as<unsigned long long>();
  const plane p = plane_of(a), q = plane_of(b);
  if (a.dtype == FC_U8)
    compare<uint8_t, uint8_t><<<2048, 256, 0, stream>>>(p, q, inside, scale, to);
  else if (a.dtype == FC_F64)
    compare<double, double><<<2048, 256, 0, stream>>>(p, q, inside, scale, to);
  else if (b.dtype == FC_F64)
    compare<float, double><<<2048, 256, 0, stream>>>(p, q, inside, scale, to);
  else
    compare<float, float><<<2048, 256, 0, stream>>>(p, q, inside, scale, to);
  double found[2];
  must(cudaMemcpyAsync(found, worst.data, sizeof found, cudaMemcpyDeviceToHost, stream), "comparing");
  must(cudaStreamSynchronize(stream), "comparing");
  return fc_dtype_is_float(a.dtype) && found[1] > 0 ? found[0] / found[1] : found[0];
}

// ---- chains' texts and masks ---------------------------------------------------------

text &text::operator<<(const char *more) {
  const size_t size = strlen(more);
  memory = static_cast<char *>(realloc(memory, length + size + 1));
  if (!memory) must(cudaErrorMemoryAllocation, "writing a chain");
  memcpy(memory + length, more, size + 1);
  length += size;
  return *this;
}

text &text::operator<<(int64_t number) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", static_cast<long long>(number));
  return *this << digits;
}

text &text::matrix(const float *values, int rows, int columns) {
  char number[24];
  for (int i = 0; i < rows * columns; i++) {
    snprintf(number, sizeof number, "%s%.9g", i == 0 ? "[" : i % columns ? "," : ";", values[i]);
    *this << number;
  }
  return *this << "]";
}

void bell(float *taps, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    const double x = (i - (count - 1) / 2.) / (0.25 * count);
    sum += taps[i] = static_cast<float>(exp(-0.5 * x * x));
  }
  for (int i = 0; i < count; i++) taps[i] = static_cast<float>(taps[i] / sum);
}

void uneven(float *taps, int count) {
  double sum = 0;
  uint32_t state = 12345;
  for (int i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    taps[i] = static_cast<float>(state >> 8) / (1 << 24) - 0.3f;
    sum += fabs(taps[i]);
  }
  for (int i = 0; i < count; i++) taps[i] = static_cast<float>(taps[i] / sum);
}

// ---- the machine -------------------------------------------------------------------

double copy_speed(double bytes) {
  static struct { double bytes, speed; } known[64];
  static int count;
  for (int i = 0; i < count; i++)
    if (known[i].bytes == bytes) return known[i].speed;
  const size_t half = static_cast<size_t>(bytes / 2) & ~static_cast<size_t>(15);
  buffer from(half), to(half);
  fill(from, FC_F32);
  double best = 0;
  for (int way = 0; way < COPY_WAYS; way++) {
    const double seconds = alone([&](int) { copy_some_way(way, to.data, from.data, half, stream); });
    best = std::max(best, 2. * half / seconds);
  }
  if (count < 64) known[count].bytes = bytes, known[count++].speed = best;
  return best;
}

double peak_f32() {
  int clock = 0, processors = 0;
  must(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0), "device");
  must(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "device");
  return 2. * 128 * processors * clock * 1e3; // kHz; 128 multiply-adds a cycle since sm_86, and on sm_90
}

} // namespace rivals

// SPDX-License-Identifier: MIT
//
// rivals.cuh - what the parts of the comparison on a GPU share: timing in turns, memory, random
// signals, the check that two answers are the same, and the table.
#ifndef FC_TESTS_BENCH_RIVALS_CUH
#define FC_TESTS_BENCH_RIVALS_CUH

#include "tests/bench/bench_cuda.cuh"
#include "tests/bench/ours.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace rivals {

constexpr int64_t SIDE = 16384; // of images
constexpr int MOST_REPEATS = 100;

struct settings {
  int repeats;
  const char *only; // names of groups, separated by commas; NULL: all
  const char *json; // a file, or NULL
};
extern settings run_settings;
extern cudaStream_t stream; // everything runs on it

// What is to be reached; 0 is no target of that sort.
struct target {
  double ratio;   // theirs / ours
  double of_copy; // of the machine's copy speed
  double of_peak; // of its f32 multiply-adds
};

struct row {
  char work[72], rival[48];
  const char *note;    // what was compared, or is otherwise to be known; may be NULL
  double bytes, flops; // read and written at the least; 0: does not apply
  double ours, theirs; // seconds
  double bare;         // of our filter alone, where its input lies ready with its border; 0: not measured
  double error, allowed;
  target aim;
};

// Prints the row as well, and keeps it.
void add(const row &r);
// As printf, for row::work and row::rival.
void name(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Bytes read and written a second by the fastest copy of as many bytes.
double copy_speed(double bytes);
double peak_f32();

// ---- timing ------------------------------------------------------------------

struct times {
  double ours, theirs;
};

inline double median(float *ms, int count) {
  std::sort(ms, ms + count);
  return ms[count / 2] * 1e-3;
}

// Median seconds of two jobs that take turns, so that what slows one down slows both. Each is called
// with the number of the turn, for those that take other memory every time. Nothing waits in between:
// the stream is never empty, and a launch's time on the host is hidden as it is in use.
template <typename A, typename B> times in_turns(A ours, B theirs) {
  const int turns = run_settings.repeats;
  static cudaEvent_t events[2 * MOST_REPEATS + 1];
  if (!events[0])
    for (cudaEvent_t &e : events) must(cudaEventCreate(&e), "event");
  for (int i = 0; i < 3; i++) ours(i), theirs(i);
  must(cudaStreamSynchronize(stream), "warming up");
  must(cudaEventRecord(events[0], stream), "event");
  for (int i = 0; i < turns; i++) {
    ours(i);
    must(cudaEventRecord(events[2 * i + 1], stream), "event");
    theirs(i);
    must(cudaEventRecord(events[2 * i + 2], stream), "event");
  }
  must(cudaStreamSynchronize(stream), "running");
  must(cudaGetLastError(), "launching");
  float a[MOST_REPEATS], b[MOST_REPEATS];
  for (int i = 0; i < turns; i++) {
    must(cudaEventElapsedTime(&a[i], events[2 * i], events[2 * i + 1]), "event");
    must(cudaEventElapsedTime(&b[i], events[2 * i + 1], events[2 * i + 2]), "event");
  }
  return {median(a, turns), median(b, turns)};
}

template <typename A> double alone(A job) {
  return in_turns(job, [](int) {}).ours;
}

// ---- memory --------------------------------------------------------------------

// Device memory for the length of a scope.
class buffer {
public:
  explicit buffer(size_t bytes) : data(device_array<char>(bytes)), bytes(bytes) {}
  ~buffer() { cudaFree(data); }
  buffer(const buffer &) = delete;
  template <typename T> T *as() const { return reinterpret_cast<T *>(data); }
  // What no result is: NaN in floating point.
  void poison() const { must(cudaMemsetAsync(data, 0xff, bytes, stream), "filling"); }
  char *const data;
  const size_t bytes;
};

// Noise: f32 and f64 in [-1, 1), bytes, or i32 within +-30000. Every call makes other numbers.
void fill(const buffer &b, int dtype);

// Rows of an image or array, or (audio) a stretch of time, without gaps.
inline fc_view view_of(int kind, int dtype, void *data, int64_t y, int64_t x, int64_t c = 1) {
  fc_view v = {sizeof v, dtype, kind, FC_CUDA_DEVICE(0), data, {1, y, x, c}, {}, {}, {1, y, x, c}};
  v.stride[FC_AXIS_C] = (int64_t)fc_dtype_size(dtype);
  v.stride[FC_AXIS_X] = c * v.stride[FC_AXIS_C];
  v.stride[FC_AXIS_Y] = x * v.stride[FC_AXIS_X];
  v.stride[FC_AXIS_N] = y * v.stride[FC_AXIS_Y];
  return v;
}

// Largest |a - scale * b| away from the outer `margin` rows and columns (of an axis longer than one),
// of floating point over the largest |scale * b|. Of one element type, or a is f32 and b f64.
double difference(const fc_view &a, const fc_view &b, int64_t margin, double scale = 1);

// ---- our chain beside somebody ---------------------------------------------------

// A chain's text: "sepconv:[1,2,1]:border=replicate", made of masks as given.
class text {
public:
  text() { *this << ""; }
  ~text() { free(memory); }
  text(const text &) = delete;
  text &operator<<(const char *more);
  text &operator<<(int64_t number);
  // [a,b;c,d]
  text &matrix(const float *values, int rows, int columns);
  operator const char *() const { return memory; }

private:
  char *memory = NULL;
  size_t length = 0;
};

class chain {
public:
  explicit chain(const char *stages) : c(ours_chain_new(stages)) {}
  ~chain() {
    must(cudaStreamSynchronize(stream), "running");
    ours_chain_free(c);
  }
  chain(const chain &) = delete;
  void operator()(const fc_view &in, const fc_view &out) const { ours_chain_run(c, &in, &out, stream); }

private:
  ours_chain *c;
};

// Seconds of our filters' launchers alone on images of SIDE x SIDE and on `count` samples, their input
// with its border lying ready. stats: "sum,sumsq", as the operator has them.
double bare_winstat(int columns, int rows, const char *stats);
double bare_sepconv(const float *taps, int count, int dtype, int channels);
double bare_conv2d(const float *mask, int side, int dtype);
double bare_conv1d(const float *taps, int count, int64_t samples);

// Taps of a bell, whose sum is 1.
void bell(float *taps, int count);
// Taps without any symmetry, the sum of whose magnitudes is 1.
void uneven(float *taps, int count);

// ---- the groups --------------------------------------------------------------------

void against_npp();
void against_npp_row();
void against_cub();
void against_blas();
void against_fft();
void against_ourselves();

} // namespace rivals

#endif

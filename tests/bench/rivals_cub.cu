// SPDX-License-Identifier: MIT
//
// rivals_cub.cu - reductions beside CUB, and beside cuBLAS where that is there.
//
// CUB leaves one number in device memory; ours every statistic there is of each block of the
// signal (fc_stats_cuda), whose parts the host then merges: the check does so, the time is without.
#include "tests/bench/rivals.cuh"

#include "filters/stats/stats.h"

#include <cub/device/device_reduce.cuh>
#include <cuda/functional>
#ifdef RIVALS_BLAS
#include <cublas_v2.h>
#endif

namespace rivals {
namespace {

struct square {
  __device__ __forceinline__ unsigned long long operator()(int v) const {
    return static_cast<unsigned long long>(static_cast<long long>(v) * v);
  }
  __device__ __forceinline__ float operator()(float v) const { return v * v; }
};

// T: of the samples, S: of the sum.
template <typename T, typename S> class cub_sum {
public:
  cub_sum(int64_t count) : count(count), scratch(need(count)), result(256) {}
  void operator()(const T *from) const {
    size_t bytes = scratch.bytes;
    must(cub::DeviceReduce::TransformReduce(scratch.data, bytes, from, result.as<S>(), count,
                                            ::cuda::std::plus<>(), square(), S(0), stream),
         "CUB");
  }
  double answer() const {
    S sum;
    must(cudaStreamSynchronize(stream), "waiting");
    must(cudaMemcpy(&sum, result.data, sizeof sum, cudaMemcpyDeviceToHost), "downloading");
    return static_cast<double>(sum);
  }

private:
  static size_t need(int64_t count) {
    size_t bytes = 0;
    must(cub::DeviceReduce::TransformReduce(NULL, bytes, static_cast<T *>(NULL), static_cast<S *>(NULL),
                                            count, ::cuda::std::plus<>(), square(), S(0), stream),
         "CUB");
    return bytes + 1;
  }
  const int64_t count;
  const buffer scratch, result;
};

class our_stats {
public:
  our_stats(int dtype, int64_t count)
      : view(view_of(FC_ARRAY, dtype, NULL, count / COLUMNS, COLUMNS)),
        align(fc_stats_align(FC_ARRAY, COLUMNS, 1)), blocks((count / COLUMNS + align - 1) / align),
        block_bytes(fc_stats_block_bytes(1)), parts(static_cast<size_t>(blocks) * block_bytes),
        scratch(fc_stats_cuda_scratch(&view, align) + 256) {}
  void operator()(const void *from) const {
    fc_view in = view;
    in.data = const_cast<void *>(from);
    if (fc_stats_cuda(&in, align, parts.data, static_cast<int64_t>(parts.bytes), scratch.data, stream) !=
        FC_OK)
      must(cudaErrorInvalidValue, "fc_stats_cuda");
  }
  double answer() const {
    host_array<char> host(parts.bytes);
    must(cudaStreamSynchronize(stream), "waiting"); // which no copy does that knows nothing of the stream
    must(cudaMemcpy(host.data(), parts.data, parts.bytes, cudaMemcpyDeviceToHost), "downloading");
    fc_stats_tree tree = {};
    for (int64_t i = 0; i < blocks; i++) {
      fc_stats_part part;
      memcpy(&part, host.data() + i * block_bytes + sizeof(fc_stats_block), sizeof part);
      fc_stats_push(&tree, &part);
    }
    const fc_stats_part all = fc_stats_total(&tree);
    return fc_stats_results(&all, view.kind, view.dtype).squares;
  }

private:
  static constexpr int64_t COLUMNS = 1024;
  const fc_view view;
  const int64_t align, blocks;
  const size_t block_bytes;
  const buffer parts, scratch;
};

double apart(double a, double b) {
  return fabs(a - b) / fabs(b);
}

// A call each for every one of several signals, captured once.
class graph {
public:
  template <typename F> graph(int calls, F job) {
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
    for (int i = 0; i < calls; i++) job(i);
    cudaGraph_t recorded;
    must(cudaStreamEndCapture(stream, &recorded), "capturing");
    must(cudaGraphInstantiate(&ready, recorded, 0), "capturing");
    cudaGraphDestroy(recorded);
  }
  ~graph() { cudaGraphExecDestroy(ready); }
  graph(const graph &) = delete;
  void launch() const { must(cudaGraphLaunch(ready, stream), "launching a graph"); }

private:
  cudaGraphExec_t ready;
};

// 64 signals one after another, several times the L2 together; the time is that of one.
void short_signals() {
  constexpr int64_t COUNT = 1 << 20;
  constexpr int SIGNALS = 64;
  const buffer in(COUNT * SIGNALS * sizeof(int32_t));
  fill(in, FC_I32);
  const our_stats ours(FC_I32, COUNT);
  const cub_sum<int32_t, unsigned long long> theirs(COUNT);
  auto signal = [&](int i) { return in.as<int32_t>() + i % SIGNALS * COUNT; };
  row r = {};
  name(r.rival, sizeof r.rival, "CUB TransformReduce");
  // No bytes: a copy of as many would stay in the L2 and is no measure.
  r.allowed = 1e-15, r.aim = {1, 0, 0};
  r.note = "a call, 64 in a row; ours: all statistics, the blocks' merge on the host not counted";
  ours(signal(5)), theirs(signal(5));
  r.error = apart(ours.answer(), theirs.answer());
  auto all = [&](auto &job) {
    for (int i = 0; i < SIGNALS; i++) job(signal(i));
  };
  times t = in_turns([&](int) { all(ours); }, [&](int) { all(theirs); });
  name(r.work, sizeof r.work, "sum of squares, 2^20 i32");
  r.ours = t.ours / SIGNALS, r.theirs = t.theirs / SIGNALS;
  add(r);
  const graph our_graph(SIGNALS, [&](int i) { ours(signal(i)); });
  const graph their_graph(SIGNALS, [&](int i) { theirs(signal(i)); });
  t = in_turns([&](int) { our_graph.launch(); }, [&](int) { their_graph.launch(); });
  name(r.work, sizeof r.work, "sum of squares, 2^20 i32, in a graph");
  r.note = "a call, 64 in one graph; ours: all statistics, the blocks' merge on the host not counted";
  r.ours = t.ours / SIGNALS, r.theirs = t.theirs / SIGNALS;
  add(r);
}

#ifdef RIVALS_BLAS
void beside_dot(row r, const buffer &in, int64_t count, const our_stats &ours) {
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) must(cudaErrorInitializationError, "cuBLAS");
  cublasSetStream(handle, stream);
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
  const buffer result(256);
  auto dot = [&](int) {
    cublasSdot_64(handle, count, in.as<float>(), 1, in.as<float>(), 1, result.as<float>());
  };
  const times t = in_turns([&](int) { ours(in.data); }, dot);
  float sum = 0;
  must(cudaMemcpy(&sum, result.data, sizeof sum, cudaMemcpyDeviceToHost), "downloading");
  name(r.rival, sizeof r.rival, "cuBLAS dot");
  r.error = apart(ours.answer(), sum), r.ours = t.ours, r.theirs = t.theirs;
  add(r);
  cublasDestroy(handle);
}
#endif

void a_long_signal() {
  constexpr int64_t COUNT = 1 << 28;
  const buffer in(COUNT * sizeof(float));
  fill(in, FC_F32);
  const our_stats ours(FC_F32, COUNT);
  const cub_sum<float, float> theirs(COUNT);
  row r = {};
  r.bytes = static_cast<double>(in.bytes), r.allowed = 1e-4, r.aim = {1, 0, 0};
  times t = in_turns([&](int) { ours(in.data); }, [&](int) { theirs(in.as<float>()); });
  name(r.work, sizeof r.work, "sum of squares, 2^28 f32");
  name(r.rival, sizeof r.rival, "CUB TransformReduce");
  r.note = "ours: all statistics, in double; the blocks' merge on the host not counted";
  r.error = apart(ours.answer(), theirs.answer()), r.ours = t.ours, r.theirs = t.theirs;
  add(r);
#ifdef RIVALS_BLAS
  beside_dot(r, in, COUNT, ours);
#endif
  t = in_turns([&](int) { ours(in.data); }, [&](int) { theirs(in.as<float>()), theirs(in.as<float>()); });
  name(r.work, sizeof r.work, "sum, sumsq, min and max, 2^28 f32");
  name(r.rival, sizeof r.rival, "CUB, two calls");
  r.ours = t.ours, r.theirs = t.theirs, r.aim = {1.9, 0, 0};
  add(r);
}

} // namespace

void against_cub() {
  short_signals();
  a_long_signal();
}

} // namespace rivals

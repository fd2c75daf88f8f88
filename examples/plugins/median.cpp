// SPDX-License-Identifier: MIT
//
// median - the median of a square window of pixels, or of a stretch of sound: takes out single wrong samples
// and keeps edges. For the CPU, and for a GPU where nvcc compiles it. Simple: side^4 / 4 steps a sample.
//
//   flags="-std=c++17 -shared -O3 $(pkg-config --cflags filterchain-plugin)"
//   c++ $flags -fPIC -fvisibility=hidden median.cpp -o median.so
//   nvcc -x cu $flags --fmad=false -Xcompiler=-fPIC,-fvisibility=hidden median.cpp -o median.so
//   filterchain -i in.png --plugin-dir . -p median:3 -o out.png
#ifdef __CUDACC__
#include <fc_helpers.cuh>
#define ON_BOTH __host__ __device__
#else
#define ON_BOTH
#endif
#include <fc_plugin.hpp>

namespace {

constexpr int MOST = 9; // a side of the window

// Sorts by insertion, in n^2 / 4 steps; NaN is treated the same on the CPU and the GPU.
template <typename F> ON_BOTH F middle_of(F *v, int n) {
  for (int i = 1; i < n; i++) {
    const F x = v[i];
    int j = i;
    for (; j > 0 && v[j - 1] > x; j--) v[j] = v[j - 1];
    v[j] = x;
  }
  return v[n / 2];
}

struct median {
  int side;
  explicit median(const fc::arguments &args) : side(static_cast<int>(args["side"].integer())) {
    if (side % 2 == 0) throw fc::error("side: " + std::to_string(side) + " is even; a median has a middle");
  }
  int rows(int kind) const { return kind == FC_AUDIO ? 1 : side; }

  void negotiate(fc::terms &terms) const {
    const int down = rows(terms.in().kind) / 2;
    terms.reach(FC_AXIS_X, side / 2, side / 2).reach(FC_AXIS_Y, down, down);
    terms.border(FC_BORDER_REPLICATE).work(side * side * 8.0);
  }
  void process(const fc::job &job) const {
    job.raw->compute == FC_F64 ? filter<double>(job) : filter<float>(job);
  }

private:
  // Rows of the window, loaded once for a stretch of outputs; then a median for each.
  template <typename F> void filter(const fc::job &job) const {
    constexpr int64_t STRETCH = 256;
    const int down = rows(job.in().kind);
    const int64_t *shape = job.out().shape;
    F samples[MOST][STRETCH + MOST], window[MOST * MOST], made[STRETCH];
    for (int64_t n = 0; n < shape[FC_AXIS_N]; n++)
      for (int64_t y = 0; y < shape[FC_AXIS_Y]; y++)
        for (int64_t c = 0; c < shape[FC_AXIS_C]; c++)
          for (int64_t x = 0; x < shape[FC_AXIS_X]; x += STRETCH) {
            const int64_t left = shape[FC_AXIS_X] - x, count = left < STRETCH ? left : STRETCH;
            for (int r = 0; r < down; r++)
              job.load(samples[r], 0, n, y + r - down / 2, x - side / 2, c, count + side - 1);
            for (int64_t i = 0; i < count; i++) {
              for (int k = 0; k < down * side; k++) window[k] = samples[k / side][i + k % side];
              made[i] = middle_of(window, down * side);
            }
            job.store(made, n, y, x, c, count);
          }
  }
};

#ifdef __CUDACC__
// One thread for each element: it loads its window and sorts it.
template <typename F>
__global__ void median_kernel(fc_dev_view in, fc_dev_view out, int across, int down, fc_dev_map<F> load,
                              fc_dev_map<F> store, uint32_t *notes) {
  const int64_t row = out.shape[2] * out.shape[3], all = out.shape[0] * out.shape[1] * row;
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= all) return;
  const int64_t n = i / row / out.shape[1], y = i / row % out.shape[1], x = i % row / out.shape[3];
  F window[MOST * MOST];
  int count = 0;
  for (int dy = -(down / 2); dy <= down / 2; dy++)
    for (int dx = -(across / 2); dx <= across / 2; dx++)
      window[count++] = fc_dev_load_any<F>(in.at(n, y + dy, x + dx, i % out.shape[3]), in.dtype, load);
  fc_dev_store_any<F>(out.at(n, y, x, i % out.shape[3]), out.dtype, middle_of(window, count), store, notes);
}

fc_status process_cuda(const fc_host *, const void *state, const fc_job *job) {
  const fc_view *in = job->in[0], *out = job->out;
  const median *self = static_cast<const median *>(state);
  const int64_t all = fc_view_count(out);
  if (all == 0) return FC_OK;
  return fc_dispatch_compute(job->compute, [&](auto f) {
    using F = decltype(f);
    return fc_launch(median_kernel<F>, dim3(fc_blocks(all, 128, INT32_MAX)), dim3(128), 0, job->stream,
                     fc_dev_view_of(in), fc_dev_view_of(out), self->side, self->rows(in->kind),
                     fc_dev_map_of<F>(in->kind, in->dtype), fc_dev_map_of<F>(out->kind, out->dtype),
                     job->notes);
  });
}
#endif

auto describe() {
  fc::op<median> op("median");
  op.flags(FC_OP_KEEPS_MEANING).summary("median of a window").example("median:3").example("median:5");
  op.doc("Replaces each sample by the median of those around it: side x side pixels of a channel, or side "
         "samples of sound. Beyond an end the last sample is repeated.");
  op.param(fc::integer("side").main().preset("3").between(1, MOST).doc("Of the window, in samples; odd."));
#ifdef __CUDACC__
  op.backend(FC_ON_CUDA(FC_BACKEND_GRAPH, nullptr, nullptr, nullptr, process_cuda));
#endif
  return op;
}

} // namespace

FC_PLUGIN_OF("org.example.median", "1.0", "you", "MIT", "https://example.org/median", describe())

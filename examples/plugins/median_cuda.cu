// SPDX-License-Identifier: MIT
//
// median_cuda.cu - median.c's kernel: a thread an element, which loads its window and sorts it. Simple, not
// quick.
//
//   nvcc -c --fmad=false -Xcompiler
//   -fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics
//     $(pkg-config --cflags filterchain-plugin) median_cuda.cu
//   cc -DHAVE_CUDA -shared ... median.c median_cuda.o -o median.so -lcudart_static -ldl -lrt -lpthread
#include <fc_helpers.cuh>

#include "median.h"

static __device__ __forceinline__ float median_of(float *v, int n) {
  return median_f32(v, n);
}
static __device__ __forceinline__ double median_of(double *v, int n) {
  return median_f64(v, n);
}

template <typename F>
static __global__ void median_kernel(fc_dev_view in, fc_dev_view out, int across, int down,
                                     fc_dev_map<F> load, fc_dev_map<F> store, uint32_t *notes) {
  const int64_t row = out.shape[2] * out.shape[3], all = out.shape[0] * out.shape[1] * row;
  F window[MEDIAN_MOST * MEDIAN_MOST];
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < all;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t c = i % out.shape[3], x = i % row / out.shape[3], y = i / row % out.shape[1],
                  n = i / row / out.shape[1];
    int count = 0;
    for (int dy = -(down / 2); dy <= down / 2; dy++)
      for (int dx = -(across / 2); dx <= across / 2; dx++)
        window[count++] = fc_dev_load_any<F>(in.at(n, y + dy, x + dx, c), in.dtype, load);
    fc_dev_store_any<F>(out.at(n, y, x, c), out.dtype, median_of(window, count), store, notes);
  }
}

extern "C" fc_status median_cuda(const fc_host *, const void *state, const fc_job *job) {
  const fc_view *in = job->in[0], *out = job->out;
  const int side = static_cast<int>(static_cast<const fc_arg *const *>(state)[0]->ints[0]);
  const int down = in->kind == FC_AUDIO ? 1 : side;
  const int64_t all = fc_view_count(out);
  if (all == 0) return FC_OK;
  return fc_dispatch_compute(job->compute, [&](auto f) {
    using F = decltype(f);
    return fc_launch(median_kernel<F>, dim3(fc_blocks(all, 128, 1 << 20)), dim3(128), 0, job->stream,
                     fc_dev_view_of(in), fc_dev_view_of(out), side, down,
                     fc_dev_map_of<F>(in->kind, in->dtype), fc_dev_map_of<F>(out->kind, out->dtype),
                     job->notes);
  });
}

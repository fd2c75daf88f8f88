// SPDX-License-Identifier: MIT
//
// ladder_reduction.cu - the sum of squares of int32, from one thread to one launch that
// reads at the speed of the memory. Times include the partial sums' way to the host and
// their addition there, where a rung leaves them to the host. Ours is what the operator stats launches, whose
// parts are merged on the host as it does: a chain measures only what lies in host memory.
#include "filters/stats/stats.h"
#include "tests/bench/bench_cuda.cuh"

#include <cstring>

namespace {

typedef unsigned long long u64;

__device__ inline u64 square(int v) {
  return (u64)((long long)v * v);
}

const int THREADS = 256, BLOCKS = 32;

__global__ void one_thread(const int *data, long n, u64 *sums) {
  u64 sum = 0;
  for (long i = 0; i < n; i++) sum += square(data[i]);
  *sums = sum;
}

__global__ void stretches(const int *data, long n, u64 *sums) {
  long length = (n + THREADS - 1) / THREADS, from = threadIdx.x * length;
  u64 sum = 0;
  for (long i = from; i < from + length && i < n; i++) sum += square(data[i]);
  sums[threadIdx.x] = sum;
}

// Interleaved over all threads of all blocks: rungs 3 and 4 differ in the grid.
__global__ void interleaved(const int *data, long n, u64 *sums) {
  long thread = blockIdx.x * (long)blockDim.x + threadIdx.x, step = gridDim.x * (long)blockDim.x;
  u64 sum = 0;
  for (long i = thread; i < n; i += step) sum += square(data[i]);
  sums[thread] = sum;
}

__device__ u64 partial(const int *data, long n) {
  long step = gridDim.x * (long)blockDim.x;
  u64 sum = 0;
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += step) sum += square(data[i]);
  return sum;
}

__global__ void block_serial(const int *data, long n, u64 *sums) {
  __shared__ u64 shared[THREADS];
  shared[threadIdx.x] = partial(data, n);
  __syncthreads();
  if (threadIdx.x != 0) return;
  u64 sum = 0;
  for (int i = 0; i < THREADS; i++) sum += shared[i];
  sums[blockIdx.x] = sum;
}

__global__ void tree_doubling(const int *data, long n, u64 *sums) {
  __shared__ u64 shared[THREADS];
  shared[threadIdx.x] = partial(data, n);
  for (int stride = 1; stride < THREADS; stride *= 2) {
    __syncthreads();
    if (threadIdx.x % (2 * stride) == 0) shared[threadIdx.x] += shared[threadIdx.x + stride];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

__global__ void tree_halving(const int *data, long n, u64 *sums) {
  __shared__ u64 shared[THREADS];
  shared[threadIdx.x] = partial(data, n);
  __syncthreads();
#pragma unroll
  for (int stride = THREADS / 2; stride >= 32; stride /= 2) {
    if (threadIdx.x < stride) shared[threadIdx.x] += shared[threadIdx.x + stride];
    __syncthreads();
  }
  // The last warp: lanes read what others have just written, so each step is in two
  // halves with a barrier of the warp between them.
  if (threadIdx.x < 32) {
#pragma unroll
    for (int stride = 16; stride > 0; stride /= 2) {
      u64 other = shared[threadIdx.x + stride];
      __syncwarp();
      shared[threadIdx.x] += other;
      __syncwarp();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
  }
}

struct work {
  const int *data;
  long n;
  u64 *sums, *host; // device, and pinned
  // of the statistics: a block's parts, and how many there are
  fc_view in;
  int64_t align, blocks;
  char *parts, *host_parts;
  void *scratch;
  u64 answer;
};

void add_on_host(work *w, int count) {
  must(cudaMemcpyAsync(w->host, w->sums, count * sizeof(u64), cudaMemcpyDeviceToHost), "download");
  must(cudaStreamSynchronize(0), "running");
  w->answer = 0;
  for (int i = 0; i < count; i++) w->answer += w->host[i];
}

void rung1(void *p) {
  work *w = (work *)p;
  one_thread<<<1, 1>>>(w->data, w->n, w->sums);
  add_on_host(w, 1);
}
void rung2(void *p) {
  work *w = (work *)p;
  stretches<<<1, THREADS>>>(w->data, w->n, w->sums);
  add_on_host(w, THREADS);
}
void rung3(void *p) {
  work *w = (work *)p;
  interleaved<<<1, THREADS>>>(w->data, w->n, w->sums);
  add_on_host(w, THREADS);
}
void rung4(void *p) {
  work *w = (work *)p;
  interleaved<<<BLOCKS, THREADS>>>(w->data, w->n, w->sums);
  add_on_host(w, BLOCKS * THREADS);
}
void rung5(void *p) {
  work *w = (work *)p;
  block_serial<<<BLOCKS, THREADS>>>(w->data, w->n, w->sums);
  add_on_host(w, BLOCKS);
}
void rung6(void *p) {
  work *w = (work *)p;
  tree_doubling<<<BLOCKS, THREADS>>>(w->data, w->n, w->sums);
  add_on_host(w, BLOCKS);
}
void rung7(void *p) {
  work *w = (work *)p;
  tree_halving<<<BLOCKS, THREADS>>>(w->data, w->n, w->sums);
  add_on_host(w, BLOCKS);
}
// All that stats prints, of which the sum of squares is checked.
void ours(void *p) {
  work *w = (work *)p;
  const size_t each = fc_stats_block_bytes(1), bytes = (size_t)w->blocks * each;
  if (fc_stats_cuda(&w->in, w->align, w->parts, (int64_t)bytes, w->scratch, NULL) != FC_OK)
    must(cudaErrorInvalidValue, "fc_stats_cuda");
  must(cudaMemcpyAsync(w->host_parts, w->parts, bytes, cudaMemcpyDeviceToHost), "download");
  must(cudaStreamSynchronize(0), "running");
  fc_stats_tree tree = {};
  for (int64_t i = 0; i < w->blocks; i++) {
    fc_stats_part part;
    memcpy(&part, w->host_parts + i * each + sizeof(fc_stats_block), sizeof part);
    fc_stats_push(&tree, &part);
  }
  w->answer = fc_stats_total(&tree).squares_low;
}

} // namespace

extern "C" void ladder_cuda_reduction(const bench_settings *s, bench_table *t) {
  static const struct {
    const char *name, *idea;
    void (*run)(void *);
  } rungs[] = {
      {"1", "one thread, one loop", rung1},
      {"2", "256 threads, a contiguous stretch each, added on the host", rung2},
      {"3", "interleaved: neighbours read neighbouring words", rung3},
      {"4", "32 blocks, 8192 partial sums to the host", rung4},
      {"5", "a sum a block in shared memory, thread 0 adds", rung5},
      {"6", "tree in shared memory, doubling stride", rung6},
      {"7", "halving stride: no divergence, no bank conflicts", rung7},
      {"ours", "16-byte loads in flight, shuffles, one launch; all statistics of the operator", ours}};
  static char title[80];
  long n = s->size ? (long)s->size : 1 << 20;
  snprintf(title, sizeof title, "sum of squares of %ld i32, result on the host", n);
  t->title = title;
  int *host = (int *)malloc(n * sizeof(int));
  bench_noise_i32(host, (size_t)n, 30000, 7);
  u64 right = 0;
  for (long i = 0; i < n; i++) right += (u64)((long long)host[i] * host[i]);
  work w = {};
  w.data = device_copy(host, (size_t)n), w.n = n;
  w.sums = device_array<u64>(BLOCKS * THREADS);
  const long columns = n % 1024 ? n : 1024; // rows are units of work
  w.in.size = sizeof w.in, w.in.dtype = FC_I32, w.in.kind = FC_ARRAY, w.in.device = FC_CUDA_DEVICE(0);
  w.in.data = (void *)w.data;
  for (int a = 0; a < FC_AXES; a++)
    w.in.shape[a] = w.in.extent[a] = a == FC_AXIS_X   ? columns
                                     : a == FC_AXIS_Y ? n / columns
                                                      : 1,
    w.in.stride[a] = a >= FC_AXIS_X   ? 4
                     : a == FC_AXIS_Y ? 4 * columns
                                      : 4 * n;
  w.align = fc_stats_align(FC_ARRAY, columns, 1), w.blocks = (n / columns + w.align - 1) / w.align;
  const size_t bytes = (size_t)w.blocks * fc_stats_block_bytes(1);
  w.parts = device_array<char>(bytes),
  w.scratch = device_array<char>(fc_stats_cuda_scratch(&w.in, w.align) + 256);
  must(cudaHostAlloc((void **)&w.host, BLOCKS * THREADS * sizeof(u64), 0), "pinned memory");
  must(cudaHostAlloc((void **)&w.host_parts, bytes, 0), "pinned memory");
  for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
    w.answer = 0;
    double seconds = time_cuda(rungs[i].run, &w, s->repeats);
    bench_add(t, rungs[i].name, rungs[i].idea, seconds, 4.0 * n, 2.0 * n, w.answer == right ? 0 : 1, 0);
  }
  cudaFree((void *)w.data), cudaFree(w.sums), cudaFree(w.parts), cudaFree(w.scratch);
  cudaFreeHost(w.host), cudaFreeHost(w.host_parts);
  free(host);
}

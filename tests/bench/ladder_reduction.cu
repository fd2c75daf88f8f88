// SPDX-License-Identifier: MIT
//
// ladder_reduction.cu - the sum of squares of int32, from one thread to one launch that
// reads at the speed of the memory. Times include the partial sums' way to the host and
// their addition there, where a rung leaves them to the host.
#include "tests/bench/bench_cuda.cuh"

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

struct totals {
  u64 sum, sumsq;
  int smallest, largest;
};

__device__ inline void take(totals *t, int v) {
  t->sum += (u64)(long long)v;
  t->sumsq += square(v);
  t->smallest = min(t->smallest, v);
  t->largest = max(t->largest, v);
}

__device__ inline totals merged(totals a, const totals &b) {
  a.sum += b.sum, a.sumsq += b.sumsq;
  a.smallest = min(a.smallest, b.smallest), a.largest = max(a.largest, b.largest);
  return a;
}

__device__ totals across_warp(totals t) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    totals other = {__shfl_xor_sync(~0u, t.sum, lane), __shfl_xor_sync(~0u, t.sumsq, lane),
                    __shfl_xor_sync(~0u, t.smallest, lane), __shfl_xor_sync(~0u, t.largest, lane)};
    t = merged(t, other);
  }
  return t;
}

// The block's total in thread 0.
__device__ totals across_block(totals t, totals *shared) {
  t = across_warp(t);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = t;
  __syncthreads();
  if (threadIdx.x < 32) {
    totals none = {0, 0, 0x7fffffff, (int)0x80000000};
    t = across_warp(threadIdx.x < blockDim.x / 32 ? shared[threadIdx.x] : none);
  }
  __syncthreads();
  return t;
}

// Sum, sum of squares, minimum and maximum in one read and one launch: the block that
// draws the last ticket adds the others' totals in their order, and puts the tickets back.
__global__ void __launch_bounds__(512) one_launch(const int4 *data, long quads, const int *tail, int n_tail,
                                                  totals *partials, unsigned *tickets, totals *result) {
  __shared__ totals shared[16];
  __shared__ bool last;
  totals t = {0, 0, 0x7fffffff, (int)0x80000000};
  const long step = gridDim.x * (long)blockDim.x;
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  for (; i + 3 * step < quads; i += 4 * step) {
    int4 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = __ldcs(data + i + k * step);
#pragma unroll
    for (int k = 0; k < 4; k++) take(&t, v[k].x), take(&t, v[k].y), take(&t, v[k].z), take(&t, v[k].w);
  }
  for (; i < quads; i += step) {
    int4 v = __ldcs(data + i);
    take(&t, v.x), take(&t, v.y), take(&t, v.z), take(&t, v.w);
  }
  if (blockIdx.x == 0 && (int)threadIdx.x < n_tail) take(&t, tail[threadIdx.x]);
  t = across_block(t, shared);
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = t;
    __threadfence();
    last = atomicAdd(tickets, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  totals sum = {0, 0, 0x7fffffff, (int)0x80000000};
  for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
    const volatile totals *p = partials + b;
    totals other = {p->sum, p->sumsq, p->smallest, p->largest};
    sum = merged(sum, other);
  }
  sum = across_block(sum, shared);
  if (threadIdx.x == 0) *result = sum, *tickets = 0;
}

struct work {
  const int *data;
  long n;
  u64 *sums, *host; // device, and pinned
  totals *partials, *result, *host_result;
  unsigned *tickets;
  int blocks;
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
void ours(void *p) {
  work *w = (work *)p;
  one_launch<<<w->blocks, 512>>>((const int4 *)w->data, w->n / 4, w->data + w->n / 4 * 4, (int)(w->n % 4),
                                 w->partials, w->tickets, w->result);
  must(cudaMemcpyAsync(w->host_result, w->result, sizeof(totals), cudaMemcpyDeviceToHost), "download");
  must(cudaStreamSynchronize(0), "running");
  w->answer = w->host_result->sumsq;
}

} // namespace

extern "C" void ladder_cuda_reduction(const bench_settings *s, bench_table *t) {
  static const struct {
    const char *name, *idea;
    void (*run)(void *);
  } rungs[] = {{"1", "one thread, one loop", rung1},
               {"2", "256 threads, a contiguous stretch each, added on the host", rung2},
               {"3", "interleaved: neighbours read neighbouring words", rung3},
               {"4", "32 blocks, 8192 partial sums to the host", rung4},
               {"5", "a sum a block in shared memory, thread 0 adds", rung5},
               {"6", "tree in shared memory, doubling stride", rung6},
               {"7", "halving stride: no divergence, no bank conflicts", rung7},
               {"ours", "16-byte loads in flight, shuffles, one launch; sum, min and max as well", ours}};
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
  int processors = 0;
  must(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "device");
  w.blocks = (int)((n / 4 + 511) / 512);
  if (w.blocks > 2 * processors) w.blocks = 2 * processors;
  if (w.blocks < 1) w.blocks = 1;
  w.partials = device_array<totals>(w.blocks), w.result = device_array<totals>(1);
  w.tickets = device_array<unsigned>(1);
  must(cudaMemset(w.tickets, 0, sizeof(unsigned)), "tickets");
  must(cudaHostAlloc((void **)&w.host, BLOCKS * THREADS * sizeof(u64), 0), "pinned memory");
  must(cudaHostAlloc((void **)&w.host_result, sizeof(totals), 0), "pinned memory");
  for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
    w.answer = 0;
    double seconds = time_cuda(rungs[i].run, &w, s->repeats);
    bench_add(t, rungs[i].name, rungs[i].idea, seconds, 4.0 * n, 2.0 * n, w.answer == right ? 0 : 1, 0);
  }
  cudaFree((void *)w.data), cudaFree(w.sums), cudaFree(w.partials), cudaFree(w.result), cudaFree(w.tickets);
  cudaFreeHost(w.host), cudaFreeHost(w.host_result);
  free(host);
}

// SPDX-License-Identifier: MIT
//
// ladder_winstat.cu - sum and sum of squares in a window that slides along the rows of
// an image of f32. Windows stick out into a margin of zeros. Ours is the operator winstat.
#include "tests/bench/bench_cuda.cuh"
#include "tests/bench/ours.h"

#include <cmath>
#include <cstring>

namespace {

const int TILE = 256;

struct image {
  const float *in; // element (0,0) of the image; rows are `pitch` apart, readable `window` beyond both ends
  float *sum, *sumsq;
  int n, pitch, before, window;
};

__global__ void in_memory(image m) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= m.n) return;
  const float *row = m.in + (size_t)y * m.pitch;
  volatile float *sum = m.sum + (size_t)y * m.n + x, *sumsq = m.sumsq + (size_t)y * m.n + x;
  *sum = 0, *sumsq = 0;
  for (int j = 0; j < m.window; j++) {
    float v = row[x - m.before + j];
    *sum += v, *sumsq += v * v;
  }
}

__global__ void two_loops(image m) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= m.n) return;
  const float *row = m.in + (size_t)y * m.pitch + x - m.before;
  float sum = 0, sumsq = 0;
  for (int j = 0; j < m.window; j++) sum += row[j];
  m.sum[(size_t)y * m.n + x] = sum;
  for (int j = 0; j < m.window; j++) sumsq += row[j] * row[j];
  m.sumsq[(size_t)y * m.n + x] = sumsq;
}

__global__ void staged(image m) {
  extern __shared__ float tile[];
  int first = blockIdx.x * TILE, y = blockIdx.y;
  const float *row = m.in + (size_t)y * m.pitch + first - m.before;
  int wanted = min(TILE, m.n - first) + m.window - 1;
  for (int k = threadIdx.x; k < wanted; k += TILE) tile[k] = row[k];
  __syncthreads();
  int x = first + threadIdx.x;
  if (x >= m.n) return;
  float sum = 0, sumsq = 0;
  for (int j = 0; j < m.window; j++) {
    float v = tile[threadIdx.x + j];
    sum += v, sumsq += v * v;
  }
  m.sum[(size_t)y * m.n + x] = sum;
  m.sumsq[(size_t)y * m.n + x] = sumsq;
}

struct work {
  image m;
  ours_chain *ours;
  fc_view in, out;
};

dim3 grid(const image &m) {
  return dim3((m.n + TILE - 1) / TILE, m.n);
}

void run_in_memory(void *p) {
  image &m = ((work *)p)->m;
  in_memory<<<grid(m), TILE>>>(m);
}
void run_two_loops(void *p) {
  image &m = ((work *)p)->m;
  two_loops<<<grid(m), TILE>>>(m);
}
void run_staged(void *p) {
  image &m = ((work *)p)->m;
  staged<<<grid(m), TILE, (TILE + m.window - 1) * sizeof(float)>>>(m);
}
void run_ours(void *p) {
  work *w = (work *)p;
  ours_chain_run(w->ours, &w->in, &w->out, NULL);
}

fc_view plane(const float *data, int n, int pitch, int channels) {
  fc_view v;
  memset(&v, 0, sizeof v);
  v.size = sizeof v, v.dtype = FC_F32, v.kind = FC_ARRAY, v.device = FC_CUDA_DEVICE(0), v.data = (void *)data;
  const int64_t shape[FC_AXES] = {1, n, n, channels};
  const int64_t stride[FC_AXES] = {4ll * pitch * n, 4ll * pitch, 4, 4ll * n * n};
  for (int a = 0; a < FC_AXES; a++) v.shape[a] = v.extent[a] = shape[a], v.stride[a] = stride[a];
  return v;
}

// Compares some rows with sums in double.
double error_of(const work *w, const host_array<float> &in) {
  const image &m = w->m;
  double worst = 0, largest = 0;
  host_array<float> sum(m.n), sumsq(m.n);
  for (int y = 0; y < m.n; y += m.n / 7 + 1) {
    must(cudaMemcpy(sum.data(), m.sum + (size_t)y * m.n, m.n * sizeof(float), cudaMemcpyDeviceToHost),
         "download");
    must(cudaMemcpy(sumsq.data(), m.sumsq + (size_t)y * m.n, m.n * sizeof(float), cudaMemcpyDeviceToHost),
         "download");
    for (int x = 0; x < m.n; x++) {
      double a = 0, b = 0;
      for (int j = 0; j < m.window; j++) {
        double v = in[(size_t)y * m.pitch + m.window + x - m.before + j];
        a += v, b += v * v;
      }
      double difference = std::fmax(std::fabs(a - sum[x]), std::fabs(b - sumsq[x]));
      if (!(difference <= worst)) worst = difference;
      largest = std::fmax(largest, b);
    }
  }
  return worst / largest;
}

} // namespace

extern "C" void ladder_cuda_winstat(const bench_settings *s, bench_table *t) {
  static const struct {
    const char *name, *idea;
    void (*run)(void *);
  } rungs[] = {{"1", "a thread an output, both sums accumulated in global memory", run_in_memory},
               {"2", "two loops, one a sum, in registers", run_two_loops},
               {"3", "the window staged in shared memory", run_staged},
               {"ours", "the operator: both sums from one read, cost independent of the window", run_ours}};
  static char title[80], stage[80];
  int n = s->size ? (int)s->size : 16384, window = s->window ? s->window : 15;
  snprintf(title, sizeof title, "sliding sum and sumsq along the rows of %d x %d f32, window %d", n, n,
           window);
  t->title = title;
  work w = {};
  snprintf(stage, sizeof stage, "winstat:window=%d:stat=sum,sumsq:border=zero", window);
  w.ours = ours_chain_new(stage);
  w.m.n = n, w.m.window = window, w.m.before = window / 2;
  w.m.pitch = (n + 2 * window + 3) / 4 * 4;
  host_array<float> in((size_t)n * w.m.pitch);
  bench_noise_f32(in.data(), in.size(), 11);
  for (int y = 0; y < n; y++)
    for (int x = 0; x < w.m.pitch; x++)
      if (x < window || x >= window + n) in[(size_t)y * w.m.pitch + x] = 0;
  float *data = device_copy(in.data(), in.size());
  w.m.in = data + window;
  w.m.sum = device_array<float>(2 * (size_t)n * n), w.m.sumsq = w.m.sum + (size_t)n * n;
  w.in = plane(w.m.in, n, w.m.pitch, 1), w.out = plane(w.m.sum, n, n, 2);
  for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
    if (i == 2 && (TILE + window) * sizeof(float) > 48 << 10) continue;
    must(cudaMemset(w.m.sum, 0xff, 2 * (size_t)n * n * sizeof(float)), "poisoning");
    double seconds = time_cuda(rungs[i].run, &w, s->repeats);
    bench_add(t, rungs[i].name, rungs[i].idea, seconds, 12.0 * n * n, 4.0 * n * n * window, error_of(&w, in),
              1e-5);
  }
  ours_chain_free(w.ours);
  cudaFree(data), cudaFree(w.m.sum);
}

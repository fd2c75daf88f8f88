// SPDX-License-Identifier: MIT
//
// ladder_gemm.cu - C = A B in f64, column-major, n a multiple of 128: the rungs of a
// register-blocked product, each a combination of three ideas on one skeleton - 128-bit
// loads from shared memory, fragments read one step ahead, two buffers of shared memory -
// and ours, the operator matrix on the rows of an image that are B's columns. 128 x 128 outputs a block of
// 256 threads, 8 x 8 a thread.
#include "tests/bench/bench_cuda.cuh"
#include "tests/bench/ours.h"

#include <cmath>

namespace {

const int TILE = 128, DEPTH = 8, THREADS = 256;

// The two tiles of one step, k-major, so that a step's operands lie side by side.
struct tiles {
  double a[DEPTH][TILE], b[DEPTH][TILE];
};

// What a thread carries from global to shared memory: 4 elements of either tile.
struct carried {
  double a[4], b[4];
};

__device__ void load_tiles(carried *c, const double *a, const double *b, int n, int k, int row, int col) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int at = threadIdx.x + i * THREADS;
    c->a[i] = a[(size_t)(k + at / TILE) * n + row + at % TILE];   // column k of A, down the rows
    c->b[i] = b[(size_t)(col + at / DEPTH) * n + k + at % DEPTH]; // down column `col` of B
  }
}

__device__ void store_tiles(tiles *t, const carried *c) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int at = threadIdx.x + i * THREADS;
    t->a[at / TILE][at % TILE] = c->a[i];
    t->b[at % DEPTH][at / DEPTH] = c->b[i];
  }
}

// A thread's 8 operands of one step: in two groups, 64 apart; by pairs, or one by one
// with a stride of 16 between them.
template <bool WIDE> __device__ void fragment(double *f, const double *line, int thread) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    if (WIDE && i % 2 == 0) {
      double2 v = *(const double2 *)(line + 2 * thread + 32 * (i / 2));
      f[i] = v.x, f[i + 1] = v.y;
    }
    if (!WIDE) f[i] = line[thread + 16 * i];
  }
}

template <bool WIDE> __device__ int place(int thread, int i) {
  return WIDE ? 2 * thread + 32 * (i / 2) + i % 2 : thread + 16 * i;
}

template <bool WIDE, bool AHEAD> __device__ void multiply(double c[8][8], const tiles *t, int tx, int ty) {
  double a[2][8], b[2][8];
  if (AHEAD) fragment<WIDE>(a[0], t->a[0], tx), fragment<WIDE>(b[0], t->b[0], ty);
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    int now = AHEAD ? k % 2 : 0;
    if (!AHEAD) fragment<WIDE>(a[0], t->a[k], tx), fragment<WIDE>(b[0], t->b[k], ty);
    if (AHEAD && k + 1 < DEPTH)
      fragment<WIDE>(a[1 - now], t->a[k + 1], tx), fragment<WIDE>(b[1 - now], t->b[k + 1], ty);
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
      for (int j = 0; j < 8; j++) c[i][j] += a[now][i] * b[now][j];
  }
}

template <bool WIDE, bool AHEAD, bool DOUBLE>
__global__ void __launch_bounds__(THREADS, 1) product(const double *a, const double *b, double *out, int n) {
  __shared__ __align__(16) tiles buffers[DOUBLE ? 2 : 1];
  const int row = blockIdx.x * TILE, col = blockIdx.y * TILE, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  double c[8][8] = {};
  carried next;
  load_tiles(&next, a, b, n, 0, row, col);
  store_tiles(&buffers[0], &next);
  __syncthreads();
  for (int k = 0; k < n; k += DEPTH) {
    const int now = DOUBLE ? k / DEPTH % 2 : 0;
    const bool more = k + DEPTH < n;
    if (more) load_tiles(&next, a, b, n, k + DEPTH, row, col); // in flight during the arithmetic
    multiply<WIDE, AHEAD>(c, &buffers[now], tx, ty);
    if (!DOUBLE) __syncthreads();
    if (more) store_tiles(&buffers[DOUBLE ? 1 - now : 0], &next);
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 8; j++)
#pragma unroll
    for (int i = 0; i < 8; i++)
      out[(size_t)(col + place<WIDE>(ty, j)) * n + row + place<WIDE>(tx, i)] = c[i][j];
}

struct work {
  const double *a, *b;
  double *c;
  int n;
  ours_chain *ours;
  fc_view from, to; // B and C, a column a row
};

template <bool WIDE, bool AHEAD, bool DOUBLE> void run(void *p) {
  work *w = (work *)p;
  product<WIDE, AHEAD, DOUBLE><<<dim3(w->n / TILE, w->n / TILE), THREADS>>>(w->a, w->b, w->c, w->n);
}

void run_ours(void *p) {
  work *w = (work *)p;
  ours_chain_run(w->ours, &w->from, &w->to, NULL);
}

fc_view square(double *data, int n) {
  const int64_t image = 8ll * n * n;
  fc_view v = {sizeof v, FC_F64,      FC_ARRAY, FC_CUDA_DEVICE(0), data, {1, n, n, 1}, {image, 8ll * n, 8, 8},
               {},       {1, n, n, 1}};
  return v;
}

// Some columns against sums in long double.
double error_of(const work *w, const host_array<double> &a, const host_array<double> &b) {
  const int n = w->n;
  host_array<double> column(n);
  double worst = 0, largest = 0;
  for (int j = 0; j < n; j += n / 3 + 1) {
    must(cudaMemcpy(column.data(), w->c + (size_t)j * n, n * sizeof(double), cudaMemcpyDeviceToHost),
         "download");
    for (int i = 0; i < n; i += 7) {
      long double sum = 0;
      for (int k = 0; k < n; k++) sum += (long double)a[(size_t)k * n + i] * b[(size_t)j * n + k];
      double difference = std::fabs((double)(sum - column[i]));
      if (!(difference <= worst)) worst = difference;
      largest = std::fmax(largest, std::fabs((double)sum));
    }
  }
  return worst / largest;
}

} // namespace

extern "C" void ladder_cuda_gemm(const bench_settings *s, bench_table *t) {
  static const struct {
    const char *name, *idea;
    void (*run)(void *);
  } rungs[] = {
      {"1", "128 x 128 a block, 8 x 8 a thread in registers, next tile on its way", run<false, false, false>},
      {"2", "+ 128-bit loads from shared memory", run<true, false, false>},
      {"3", "+ fragments read one step ahead", run<true, true, false>},
      {"4", "2 with two buffers: one barrier a step", run<true, false, true>},
      {"5", "4 + fragments one step ahead", run<true, true, true>},
      {"ours", "the operator: asynchronous copies, tensor cores", run_ours}};
  static char title[80];
  int n = s->size ? (int)s->size : 2048;
  n = (n + TILE - 1) / TILE * TILE;
  snprintf(title, sizeof title, "gemm f64, n = %d", n);
  t->title = title;
  size_t count = (size_t)n * n;
  host_array<double> a(count), b(count);
  bench_noise_f64(a.data(), count, 13);
  bench_noise_f64(b.data(), count, 17);
  work w = {};
  w.a = device_copy(a.data(), count), w.b = device_copy(b.data(), count), w.c = device_array<double>(count),
  w.n = n;
  w.ours = ours_chain_of_table("matrix:%s:axis=x", a.data(), n, n, 1);
  w.from = square((double *)w.b, n), w.to = square(w.c, n);
  for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
    must(cudaMemset(w.c, 0xff, count * sizeof(double)), "poisoning");
    double seconds = time_cuda(rungs[i].run, &w, s->repeats);
    bench_add(t, rungs[i].name, rungs[i].idea, seconds, 24.0 * count, 2.0 * count * n, error_of(&w, a, b),
              1e-12);
  }
  ours_chain_free(w.ours);
  cudaFree((void *)w.a), cudaFree((void *)w.b), cudaFree(w.c);
}

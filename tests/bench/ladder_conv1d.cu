// SPDX-License-Identifier: MIT
//
// ladder_conv1d.cu - one-dimensional convolution of f32, from the first idea to ours.
// The rungs write the central `n` outputs of an input without a halo: elements beyond
// the ends ("ghosts") count as zero. Ours is the operator conv1d, which chooses between sums and transforms.
#include "tests/bench/bench_cuda.cuh"
#include "tests/bench/ours.h"

#include <cstring>

namespace {

const int TILE = 256, CONSTANT_TAPS = 16384;
__constant__ float constant_mask[CONSTANT_TAPS];

__global__ void naive(const float *in, float *out, long n, const float *mask, int taps) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < taps; j++) {
    long x = i - taps / 2 + j;
    if (x >= 0 && x < n) sum += mask[j] * in[x];
  }
  out[i] = sum;
}

__global__ void constant(const float *in, float *out, long n, int taps) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < taps; j++) {
    long x = i - taps / 2 + j;
    if (x >= 0 && x < n) sum += constant_mask[j] * in[x];
  }
  out[i] = sum;
}

__global__ void tiled(const float *in, float *out, long n, int taps) {
  extern __shared__ float tile[];
  long first = blockIdx.x * (long)TILE - taps / 2;
  for (int k = threadIdx.x; k < TILE + taps - 1; k += TILE) {
    long x = first + k;
    tile[k] = x >= 0 && x < n ? in[x] : 0;
  }
  __syncthreads();
  long i = blockIdx.x * (long)TILE + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < taps; j++) sum += constant_mask[j] * tile[threadIdx.x + j];
  out[i] = sum;
}

__global__ void tile_only(const float *in, float *out, long n, int taps) {
  __shared__ float tile[TILE];
  long begin = blockIdx.x * (long)TILE, i = begin + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < taps; j++) {
    long x = i - taps / 2 + j;
    if (x < 0 || x >= n) continue;
    sum += constant_mask[j] * (x >= begin && x < begin + TILE ? tile[x - begin] : in[x]);
  }
  out[i] = sum;
}

struct work {
  const float *in; // with `pad` zeros on either side
  float *out;
  const float *mask;
  long n;
  int taps;
  ours_chain *ours;
  fc_view from, to;
};

unsigned grid(const work *w) {
  return (unsigned)((w->n + TILE - 1) / TILE);
}

void run_naive(void *p) {
  work *w = (work *)p;
  naive<<<grid(w), TILE>>>(w->in, w->out, w->n, w->mask, w->taps);
}
void run_constant(void *p) {
  work *w = (work *)p;
  constant<<<grid(w), TILE>>>(w->in, w->out, w->n, w->taps);
}
void run_tiled(void *p) {
  work *w = (work *)p;
  tiled<<<grid(w), TILE, (TILE + w->taps - 1) * sizeof(float)>>>(w->in, w->out, w->n, w->taps);
}
void run_tile_only(void *p) {
  work *w = (work *)p;
  tile_only<<<grid(w), TILE>>>(w->in, w->out, w->n, w->taps);
}
void run_ours(void *p) {
  work *w = (work *)p;
  ours_chain_run(w->ours, &w->from, &w->to, NULL);
}

fc_view line(float *data, long n) {
  fc_view v;
  memset(&v, 0, sizeof v);
  v.size = sizeof v, v.dtype = FC_F32, v.kind = FC_AUDIO, v.device = FC_CUDA_DEVICE(0), v.data = data;
  for (int a = 0; a < FC_AXES; a++)
    v.shape[a] = v.extent[a] = a == FC_AXIS_X ? n : 1, v.stride[a] = a >= FC_AXIS_X ? 4 : 4 * n;
  return v;
}

// Checks a stretch at the beginning, the middle and the end against sums in double.
double error_of(const work *w, const host_array<float> &in, const host_array<float> &mask) {
  const long length = 2000;
  double worst = 0, largest = 0;
  host_array<float> out(length);
  const long starts[] = {0, w->n / 2, w->n - length};
  for (long start : starts) {
    must(cudaMemcpy(out.data(), w->out + start, length * sizeof(float), cudaMemcpyDeviceToHost), "download");
    for (long i = 0; i < length; i++) {
      double sum = 0;
      for (int j = 0; j < w->taps; j++) {
        long x = start + i - w->taps / 2 + j;
        if (x >= 0 && x < w->n) sum += (double)mask[j] * in[x];
      }
      double difference = sum - out[i];
      if (difference < 0) difference = -difference;
      if (!(difference <= worst)) worst = difference;
      if (sum > largest) largest = sum;
    }
  }
  return worst / largest;
}

} // namespace

extern "C" void ladder_cuda_conv1d(const bench_settings *s, bench_table *t) {
  static const struct {
    const char *name, *idea;
    void (*run)(void *);
  } rungs[] = {
      {"1", "a thread an output, mask in global memory, ghosts by if", run_naive},
      {"2", "mask in constant memory", run_constant},
      {"3", "tile with its halo in shared memory", run_tiled},
      {"4", "tile alone in shared memory, halo through the cache", run_tile_only},
      {"ours", "the operator: outputs in registers, vector loads; long masks by transforms", run_ours}};
  static char title[80];
  long n = s->size ? (long)s->size : 1 << 26;
  int taps = s->taps ? s->taps : 31;
  snprintf(title, sizeof title, "conv1d of %ld f32, %d taps", n, taps);
  t->title = title;
  long pad = taps;
  host_array<float> in(n), mask(taps);
  bench_noise_f32(in.data(), (size_t)n, 3);
  bench_noise_f32(mask.data(), (size_t)taps, 5);
  float *padded = device_array<float>(n + 2 * pad);
  must(cudaMemset(padded, 0, (n + 2 * pad) * sizeof(float)), "borders");
  must(cudaMemcpy(padded + pad, in.data(), n * sizeof(float), cudaMemcpyHostToDevice), "uploading");
  if (taps <= CONSTANT_TAPS)
    must(cudaMemcpyToSymbol(constant_mask, mask.data(), taps * sizeof(float)), "constant memory");
  work w = {};
  w.in = padded + pad, w.n = n, w.taps = taps;
  w.out = device_array<float>(n), w.mask = device_copy(mask.data(), (size_t)taps);
  host_array<double> wide(taps);
  for (int j = 0; j < taps; j++) wide[j] = mask[j];
  w.ours = ours_chain_of_table("conv1d:%s:flip=no:border=zero", wide.data(), 1, taps, 0);
  w.from = line((float *)w.in, n), w.to = line(w.out, n);
  for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
    bool needs_constant = i >= 1 && i <= 3;
    if (needs_constant && taps > CONSTANT_TAPS) continue;
    if (i == 2 && (TILE + taps - 1) * sizeof(float) > 48 << 10) continue;
    must(cudaMemset(w.out, 0xff, n * sizeof(float)), "poisoning");
    double seconds = time_cuda(rungs[i].run, &w, s->repeats);
    bench_add(t, rungs[i].name, rungs[i].idea, seconds, 8.0 * n, 2.0 * n * taps, error_of(&w, in, mask),
              1e-5);
  }
  ours_chain_free(w.ours);
  cudaFree(padded), cudaFree(w.out), cudaFree((void *)w.mask);
}

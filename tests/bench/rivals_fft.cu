// SPDX-License-Identifier: MIT
//
// rivals_fft.cu - long convolutions beside overlap-save by cuFFT: batched transforms of overlapping
// stretches, which cuFFT reads where they lie, a product of spectra, the way back, and a copy of what is
// right of it. The best length of transform of several.
#ifdef RIVALS_FFT

#include "tests/bench/rivals.cuh"

#include <cufft.h>

namespace rivals {
namespace {

constexpr int64_t SAMPLES = 1 << 27;

void must_fft(cufftResult status) {
  if (status == CUFFT_SUCCESS) return;
  fprintf(stderr, "cuFFT: status %d\n", static_cast<int>(status));
  exit(1);
}

// spectra[b][i] *= mask[i] / n
__global__ void multiply(cufftComplex *spectra, const cufftComplex *mask, int bins, int64_t total,
                         float scale) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < total; i += step) {
    const cufftComplex a = spectra[i], b = mask[i % bins];
    spectra[i] = make_cuFloatComplex((a.x * b.x - a.y * b.y) * scale, (a.x * b.y + a.y * b.x) * scale);
  }
}

class overlap_save {
public:
  overlap_save(const float *taps, int count, int n)
      : taps(count), n(n), bins(n / 2 + 1), hop(n - count - 1), blocks((SAMPLES + hop - 1) / hop),
        spectra(sizeof(cufftComplex) * blocks * bins), mask(sizeof(cufftComplex) * bins),
        back(sizeof(float) * blocks * n) {
    long long length = n;
    size_t bytes;
    must_fft(cufftCreate(&forward)), must_fft(cufftCreate(&inverse));
    must_fft(cufftMakePlanMany64(forward, 1, &length, &length, 1, hop, &length, 1, bins, CUFFT_R2C, blocks,
                                 &bytes));
    must_fft(
        cufftMakePlanMany64(inverse, 1, &length, &length, 1, bins, &length, 1, n, CUFFT_C2R, blocks, &bytes));
    must_fft(cufftSetStream(forward, stream)), must_fft(cufftSetStream(inverse, stream));
    cufftHandle once;
    must_fft(cufftPlan1d(&once, n, CUFFT_R2C, 1));
    must_fft(cufftSetStream(once, stream));
    must(cudaMemsetAsync(back.data, 0, sizeof(float) * n, stream), "filling");
    must(cudaMemcpyAsync(back.data, taps, sizeof(float) * count, cudaMemcpyHostToDevice, stream),
         "uploading");
    must_fft(cufftExecR2C(once, back.as<float>(), mask.as<cufftComplex>()));
    must(cudaStreamSynchronize(stream), "transforming a mask");
    cufftDestroy(once);
  }
  ~overlap_save() {
    cufftDestroy(forward);
    cufftDestroy(inverse);
  }
  overlap_save(const overlap_save &) = delete;

  // A stretch begins (count + 1) / 2 samples ahead of its first output, so that of a mask of odd length its
  // right outputs are those from count on. cuFFT takes even distances alone, and whole blocks are read.
  void operator()(float *from, float *to) const {
    must_fft(cufftExecR2C(forward, from, spectra.as<cufftComplex>()));
    multiply<<<2048, 256, 0, stream>>>(spectra.as<cufftComplex>(), mask.as<cufftComplex>(), bins,
                                       blocks * bins, 1.f / n);
    must_fft(cufftExecC2R(inverse, spectra.as<cufftComplex>(), back.as<float>()));
    must(cudaMemcpy2DAsync(to, sizeof(float) * hop, back.as<float>() + taps, sizeof(float) * n,
                           sizeof(float) * hop, blocks, cudaMemcpyDeviceToDevice, stream),
         "copying");
  }

private:
  const int taps, n, bins;
  const int64_t hop, blocks;
  const buffer spectra, mask, back;
  cufftHandle forward, inverse;
};

double seconds_of(const overlap_save &way, float *from, float *to) {
  const int turns = run_settings.repeats;
  run_settings.repeats = 3;
  const double seconds = alone([&](int) { way(from, to); });
  run_settings.repeats = turns;
  return seconds;
}

void convolve(int count, double of_copy) {
  constexpr int64_t MORE = 1 << 20; // the last block of a transform reads and writes so much further
  host_array<float> taps(count);
  uneven(taps.data(), count);
  const buffer in(sizeof(float) * (SAMPLES + 2 * MORE)), ours(sizeof(float) * SAMPLES),
      theirs(sizeof(float) * (SAMPLES + MORE));
  fill(in, FC_F32), ours.poison(), theirs.poison();
  // There are samples ahead of the signal, for them; for us it begins after zeros.
  float *const from = in.as<float>() + MORE, *const early = from - (count + 1) / 2;
  int best = 0;
  double least = INFINITY;
  for (int n = 4096; n <= 262144; n *= 4) {
    if (n < 3 * count) continue;
    const double seconds = seconds_of(overlap_save(taps.data(), count, n), early, theirs.as<float>());
    if (seconds < least) least = seconds, best = n;
  }
  const overlap_save them(taps.data(), count, best);
  text stages;
  stages << "conv1d:";
  stages.matrix(taps.data(), 1, count);
  chain us(stages);
  const fc_view x = view_of(FC_AUDIO, FC_F32, from, 1, SAMPLES),
                y = view_of(FC_AUDIO, FC_F32, ours.data, 1, SAMPLES);
  us(x, y), them(early, theirs.as<float>());
  row r = {};
  r.error = difference(y, view_of(FC_AUDIO, FC_F32, theirs.data, 1, SAMPLES), count);
  const times t = in_turns([&](int) { us(x, y); }, [&](int) { them(early, theirs.as<float>()); });
  name(r.work, sizeof r.work, "conv1d 128 Mi f32, %d taps", count);
  name(r.rival, sizeof r.rival, "cuFFT overlap-save of %d", best);
  r.note = "compared away from the ends";
  r.bytes = 2. * sizeof(float) * SAMPLES, r.flops = 2. * count * SAMPLES, r.allowed = 1e-5;
  r.ours = t.ours, r.theirs = t.theirs, r.aim = {1, of_copy, 0};
  add(r);
}

} // namespace

void against_fft() {
  convolve(127, 0.40);
  convolve(1023, 0.50);
  convolve(16383, 0.30);
}

} // namespace rivals

#endif

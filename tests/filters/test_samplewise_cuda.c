/* SPDX-License-Identifier: MIT */
/*
 * test_samplewise_cuda.c - pointwise, dither, stretch and gather on a CUDA device against the CPU's
 * vectorised versions: the same values to the bit (but for what a NaN carries), the same
 * notes, nothing written beyond the elements. Skipped without a device.
 */
#include "tests/filters/device_signals.h"
#include "tests/filters/samplewise.h"

static fc_status run_on_device(const trial *t, const fc_view *in, const fc_view *out, uint32_t *notes) {
  fc_pointwise p = t->pointwise;
  fc_gather g = t->gather;
  size_t factors = 2 * TRIAL_CHANNELS * fc_dtype_size(p.compute);
  void *numbers = p.factors ? to_device(p.factors, factors) : NULL;
  void *channels = g.channels ? to_device(g.channels, sizeof t->channels) : NULL;
  void *scratch = NULL;
  p.factors = numbers, g.channels = channels;
  if (t->kind == TRIAL_STRETCH &&
      cudaMalloc(&scratch, fc_stretch_scratch(&t->stretch, out->shape[FC_AXIS_N])))
    abort();
  fc_status status = t->kind == TRIAL_POINTWISE ? fc_pointwise_cuda(&p, in, out, NULL, notes)
                     : t->kind == TRIAL_STRETCH ? fc_stretch_cuda(&t->stretch, in, out, scratch, NULL, notes)
                     : t->kind == TRIAL_DITHER  ? fc_dither_cuda(&t->dither, in, out, NULL, notes)
                                                : fc_gather_cuda(&g, in, out, NULL);
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "%s: the kernel failed", trial_name(t));
  cudaFree(numbers);
  cudaFree(channels);
  cudaFree(scratch);
  return status;
}

static int64_t count_differences(const signal *a, const signal *b) {
  int64_t at[FC_AXES], different = 0;
  FOR_EACH(&a->view, at) {
    double x = view_get(&a->view, at), y = view_get(&b->view, at);
    different += !(isnan(x) && isnan(y)) && (x != y || signbit(x) != signbit(y));
  }
  return different;
}

static void check_trial(trial *t) {
  uint32_t notes[2] = {0, 0}, device_notes[2] = {0, 0};
  signal got = signal_like(&t->out);
  fc_view in = view_on_device(&t->in), out = view_on_device(&got);
  uint32_t *noted = to_device(device_notes, sizeof device_notes);
  trial_run(t, fc_isa_best(), &t->in.view, &t->out.view, notes);
  CHECK(run_on_device(t, &in, &out, noted) == FC_OK, "%s: refused", trial_name(t));
  view_from_device(&got, &out);
  view_from_device(&t->in, &in);
  cudaMemcpy(device_notes, noted, sizeof device_notes, cudaMemcpyDeviceToHost);
  cudaFree(noted);
  int64_t wrong = count_differences(&got, &t->out);
  CHECK(wrong == 0, "%s: %d elements differ from the CPU's", trial_name(t), (int)wrong);
  CHECK(memcmp(notes, device_notes, sizeof notes) == 0, "%s: other notes than the CPU's", trial_name(t));
  CHECK(signal_only_written(&got), "%s: wrote between or beyond the elements", trial_name(t));
  signal_free(&got);
}

int main(void) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fprintf(stderr, "skipped: no CUDA device\n");
    return SKIPPED;
  }
  random_start(20240612);
  for (int i = 0; i < 1200; i += trial_step()) {
    trial *t = trial_new((trial_kind)(i % TRIAL_KINDS));
    check_trial(t);
    trial_free(t);
  }
  return check_result();
}

/* SPDX-License-Identifier: MIT */
/*
 * test_random_cuda.c - noise and twists of colour on a CUDA device: the bits and notes of the CPU's versions,
 * on views of all types, layouts and sizes, whole and cut; nothing written beyond the elements. Skipped
 * without a device.
 */
#include "tests/filters/device_signals.h"
#include "tests/filters/randoms.h"

static fc_status run(const trial *t, const fc_view *in, const fc_view *out, uint32_t *notes) {
  return t->twists ? fc_twist_cuda(&t->twist, in, out, NULL, notes)
                   : fc_noise_cuda(&t->noise, in, out, NULL, notes);
}

static void check_trial(uint32_t *notes) {
  static _Alignas(64) char scratch[65536];
  static const int64_t widths[] = {1, 3, 8, 511, 513, 1100};
  const int64_t shape[FC_AXES] = {1, random_int(1, 5), widths[random_int(0, 5)], random_int(1, 4)};
  const int in_type = (int)random_int(0, FC_DTYPE_COUNT - 1),
            out_type = (int)random_int(0, FC_DTYPE_COUNT - 1);
  trial t = trial_new(shape[FC_AXIS_C]);
  t.noise.isa = t.twist.isa = fc_isa_best();
  signal in = signal_new(FC_IMAGE, in_type, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_IMAGE, out_type, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal got = signal_new(FC_IMAGE, out_type, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  want.view.origin[FC_AXIS_X] = random_int(0, 1 << 20), want.view.origin[FC_AXIS_Y] = random_int(0, 1 << 20);
  memcpy(got.view.origin, want.view.origin, sizeof got.view.origin);
  signal_fill(&in, 0);
  uint32_t host_notes[2] = {0, 0}, device_notes[2];
  CHECK((t.twists ? fc_twist_cpu(&t.twist, &in.view, &want.view, scratch, host_notes)
                  : fc_noise_cpu(&t.noise, &in.view, &want.view, scratch, host_notes)) == FC_OK,
        "the CPU fails");
  cudaMemset(notes, 0, sizeof device_notes);
  const fc_view from = view_on_device(&in), to = view_on_device(&got);
  for (int64_t x = 0, count; x < shape[FC_AXIS_X]; x += count) {
    count = random_int(1, shape[FC_AXIS_X] - x);
    const fc_view part_in = view_cut(&from, FC_AXIS_X, x, count), part = view_cut(&to, FC_AXIS_X, x, count);
    CHECK(run(&t, &part_in, &part, notes) == FC_OK, "refused");
  }
  view_from_device(&got, &to), view_from_device(&in, &from);
  cudaMemcpy(device_notes, notes, sizeof device_notes, cudaMemcpyDeviceToHost);
  int64_t at[FC_AXES], off = 0;
  FOR_EACH(&want.view, at)
  off += memcmp(fc_view_at(&want.view, at[0], at[1], at[2], at[3]),
                fc_view_at(&got.view, at[0], at[1], at[2], at[3]), fc_dtype_size(out_type)) != 0;
  CHECK(off == 0, "%s: %" PRId64 " elements differ from the CPU's", t.twists ? "twist" : "noise", off);
  CHECK(memcmp(host_notes, device_notes, sizeof host_notes) == 0, "other notes");
  CHECK(signal_only_written(&got), "wrote beyond the elements");
  signal_free(&in), signal_free(&want), signal_free(&got);
}

int main(void) {
  int count = 0;
  uint32_t *notes = NULL;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return SKIPPED;
  if (cudaMalloc((void **)&notes, 2 * sizeof *notes) != cudaSuccess) return SKIPPED;
  random_start(20261127);
  for (int i = 0; i < 300; i += trial_step()) check_trial(notes);
  cudaFree(notes);
  return check_result();
}

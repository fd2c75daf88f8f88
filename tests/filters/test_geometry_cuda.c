/* SPDX-License-Identifier: MIT */
/*
 * test_geometry_cuda.c - copies with axes exchanged, signals put into larger ones and resampling on a CUDA
 * device: the bits of the CPU's versions, on views of all types, layouts and sizes, whole and cut; nothing
 * written beyond the elements. Skipped without a device.
 */
#include "filters/resample/resample.h"
#include "tests/filters/device_signals.h"
#include "tests/filters/geometry.h"

static void check_same(const signal *want, const signal *got, const char *what) {
  int64_t at[FC_AXES], off = 0;
  FOR_EACH(&want->view, at)
  off += memcmp(fc_view_at(&want->view, at[0], at[1], at[2], at[3]),
                fc_view_at(&got->view, at[0], at[1], at[2], at[3]), fc_dtype_size(want->view.dtype)) != 0;
  CHECK(off == 0, "%s: %" PRId64 " elements differ from the CPU's", what, off);
  CHECK(signal_only_written((signal *)(uintptr_t)got), "%s: wrote beyond the elements", what);
}

static signal like(const signal *s) {
  return signal_new(s->view.kind, s->view.dtype, s->view.shape, (int)random_int(0, LAYOUT_COUNT - 1),
                    FC_AXIS_X, 0, 0);
}

static void check_copies(void) {
  permute_trial p = permute_trial_new();
  place_trial q = place_trial_new();
  signal turned = like(&p.out), placed = like(&q.out);
  fc_view in = view_on_device(&p.in), out = view_on_device(&turned);
  fc_permute_cpu(&p.permute, &p.in.view, &p.out.view);
  CHECK(fc_permute_cuda(&p.permute, &in, &out, NULL) == FC_OK, "permute: refused");
  view_from_device(&turned, &out), view_from_device(&p.in, &in);
  check_same(&p.out, &turned, "permute");
  in = view_on_device(&q.in), out = view_on_device(&placed);
  fc_place_cpu(&q.place, &q.in.view, &q.out.view);
  CHECK(fc_place_cuda(&q.place, &in, &out, NULL) == FC_OK, "place: refused");
  view_from_device(&placed, &out), view_from_device(&q.in, &in);
  check_same(&q.out, &placed, "place");
  signal_free(&turned), signal_free(&placed);
  permute_trial_free(&p), place_trial_free(&q);
}

static void resample_part(const fc_resample *r, const fc_view *in, const fc_view *out) {
  void *scratch = NULL;
  size_t bytes = fc_resample_cuda_scratch(r, in, out);
  if (cudaMalloc(&scratch, bytes ? bytes : 1) != cudaSuccess) abort();
  cudaMemset(scratch, 0xff, bytes);
  CHECK(fc_resample_cuda(r, in, out, scratch, NULL) == FC_OK, "resample: refused");
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "resample: the kernel failed");
  cudaFree(scratch);
}

/* Some rows are so long that shared memory does not hold a window. */
static void check_resample(int i) {
  static const int64_t sides[] = {1, 2, 3, 7, 33, 64, 130, 301, 900};
  const int64_t channels = random_int(1, 5), frames = random_int(1, 2);
  int64_t from[FC_AXES] = {frames, sides[random_int(0, 8)], sides[random_int(0, 8)], channels};
  int64_t to[FC_AXES] = {frames, random_int(1, 150), random_int(1, 200), channels};
  if (i % 20 == 0) from[FC_AXIS_Y] = 2, from[FC_AXIS_X] = 30000, to[FC_AXIS_X] = random_int(1, 3);
  const int dtype = random_int(0, 1) ? FC_U8 : (int)random_int(0, FC_DTYPE_COUNT - 1);
  fc_resample r = {.filter = (int)random_int(0, FC_RESAMPLE_AREA),
                   .antialias = (int)random_int(0, 1),
                   .compute = random_int(0, 1) ? FC_F64 : FC_F32,
                   .isa = fc_isa_best()};
  r.alpha = (channels == 2 || channels == 4) && r.filter != FC_RESAMPLE_NEAREST && random_int(0, 2) == 0;
  signal in = signal_new(FC_IMAGE, dtype, from, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_IMAGE, dtype, to, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0), got = like(&want);
  signal_fill(&in, 0);
  guarded scratch = guarded_new(fc_resample_scratch(&r, &in.view, &want.view));
  fc_resample_cpu(&r, &in.view, &want.view, scratch.data);
  guarded_free(&scratch);
  fc_view there = view_on_device(&in), out = view_on_device(&got);
  for (int64_t y = 0, rows; y < to[FC_AXIS_Y]; y += rows) {
    rows = i % 2 ? to[FC_AXIS_Y] : random_int(1, to[FC_AXIS_Y] - y);
    fc_view band = view_cut(&out, FC_AXIS_Y, y, rows);
    resample_part(&r, &there, &band);
  }
  view_from_device(&got, &out), view_from_device(&in, &there);
  check_same(&want, &got, "resample");
  signal_free(&in), signal_free(&want), signal_free(&got);
}

int main(void) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fprintf(stderr, "skipped: no CUDA device\n");
    return SKIPPED;
  }
  random_start(20261125);
  for (int i = 0; i < 200; i += trial_step()) check_copies();
  for (int i = 0; i < 300; i += trial_step()) check_resample(i);
  return check_result();
}

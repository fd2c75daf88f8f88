/* SPDX-License-Identifier: MIT */
/*
 * test_polyphase_cuda.c - sound at other rates on a CUDA device, against the reference: tables of all phases
 * and interpolated ones, every element type and layout, any position; pieces, bit for bit. Skipped without a
 * device.
 */
#include "filters/polyphase/polyphase.h"
#include "tests/filters/conv1d_device.h"

static void *table_to_device(const fc_polyphase *r) {
  void *table = NULL;
  must(cudaMalloc(&table, fc_polyphase_table_bytes(r)));
  must(cudaMemcpy(table, r->table, fc_polyphase_table_bytes(r), cudaMemcpyHostToDevice));
  return table;
}

static void run(const fc_polyphase *r, const fc_view *in, const fc_view *out) {
  CHECK(fc_polyphase_cuda(r, in, out, NULL, NULL) == FC_OK, "it fails");
  must(cudaDeviceSynchronize());
}

/* Pieces, each of which begins at an input of its own. */
static void run_cut(const fc_polyphase *r, const fc_view *in, const fc_view *out) {
  for (int64_t from = 0, count; from < out->shape[FC_AXIS_X]; from += count) {
    count = random_int(1, out->shape[FC_AXIS_X]);
    if (count > out->shape[FC_AXIS_X] - from) count = out->shape[FC_AXIS_X] - from;
    const int64_t first = out->origin[FC_AXIS_X];
    const int64_t at = (first + from) * r->down / r->up - first * r->down / r->up;
    fc_view i = *in, o = view_cut(out, FC_AXIS_X, from, count);
    i.data = fc_view_at(in, 0, 0, at, 0);
    run(r, &i, &o);
  }
}

static double largest_difference(const fc_view *a, const fc_view *b) {
  int64_t at[FC_AXES];
  double worst = 0;
  FOR_EACH(a, at) worst = fmax(worst, fabs(view_get(a, at) - view_get(b, at)));
  return worst;
}

static void check_trial(void) {
  static const double rates[] = {8000, 11025, 16000, 44100, 44101, 48000, 96000};
  const int dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
  fc_polyphase r;
  if (fc_polyphase_design(rates[random_int(0, 6)], rates[random_int(0, 6)],
                          (fc_polyphase_quality)random_int(0, 3), &r) != FC_OK)
    abort();
  r.compute = (int32_t)random_int(FC_F32, FC_F64);
  void *table = malloc(fc_polyphase_table_bytes(&r));
  if (!table) abort();
  fc_polyphase_fill(&r, table);
  r.table = table, r.device_table = table_to_device(&r);
  const int64_t length = random_int(1, 2000), first = random_int(0, 1 << 30);
  const int64_t shape[FC_AXES] = {1, 1, length, random_int(1, 5)};
  const int64_t inputs = (first + length) * r.down / r.up - first * r.down / r.up + 1;
  const int64_t read[FC_AXES] = {1, 1, inputs, shape[3]};
  signal in =
      signal_new(FC_AUDIO, dtype, read, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, r.before, r.taps);
  signal want = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal got = signal_new(FC_AUDIO, FC_F64, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal cut = signal_new(FC_AUDIO, FC_F64, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal_fill(&in, 0);
  want.view.origin[FC_AXIS_X] = got.view.origin[FC_AXIS_X] = cut.view.origin[FC_AXIS_X] = first;
  CHECK(fc_polyphase_ref(&r, &in.view, &want.view, NULL) == FC_OK, "the reference fails");
  signal on = to_device(&in), whole = to_device(&got), pieces = to_device(&cut);
  run(&r, &on.view, &whole.view);
  run_cut(&r, &on.view, &pieces.view);
  from_device(&got, &whole), from_device(&cut, &pieces);
  const double off = largest_difference(&want.view, &got.view);
  CHECK(off < (r.compute == FC_F64 ? 1e-14 : 1e-5), "off by %g", off);
  CHECK(largest_difference(&got.view, &cut.view) == 0, "another result in pieces");
  CHECK(signal_only_written(&got) && signal_only_written(&cut), "wrote beyond its elements");
  device_free(&on), device_free(&whole), device_free(&pieces);
  signal_free(&in), signal_free(&want), signal_free(&got), signal_free(&cut);
  must(cudaFree((void *)(uintptr_t)r.device_table));
  free(table);
}

int main(void) {
  skip_without_device();
  random_start(20261123);
  for (int i = 0; i < 60; i++) check_trial();
  return check_result();
}

/* SPDX-License-Identifier: MIT */
/*
 * test_stats_cuda.c - blocks of statistics measured on a CUDA device: the same bytes as on the CPU, for
 * every element type, layout and cut, with NaN and infinity among the samples. Nothing
 * beyond the blocks is written. Skipped without a device.
 */
#include <cuda_runtime_api.h>

#include "tests/filters/stats_check.h"

#define SKIPPED 77

static void *device_copy(const void *from, size_t bytes) {
  void *to = NULL;
  if (cudaMalloc(&to, bytes ? bytes : 1) != cudaSuccess) abort();
  cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
  return to;
}

/* Measures `v`, whose memory has been copied to `data`; blocks come back into guarded memory. */
static guarded run_cuda(const fc_view *v, int64_t align) {
  int64_t frame = block_count(v, align) * (int64_t)fc_stats_block_bytes(v->shape[FC_AXIS_C]);
  guarded blocks = guarded_new((size_t)(frame * v->shape[FC_AXIS_N]));
  size_t total = blocks.bytes + 2 * GUARD_BYTES, bytes = fc_stats_cuda_scratch(v, align);
  void *memory = device_copy(blocks.base, total), *scratch = NULL;
  if (bytes > 0 && cudaMalloc(&scratch, bytes) != cudaSuccess) abort();
  CHECK(fc_stats_cuda(v, align, (char *)memory + GUARD_BYTES, frame, scratch, NULL) == FC_OK, "launch");
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "%s", cudaGetErrorString(cudaGetLastError()));
  cudaMemcpy(blocks.base, memory, total, cudaMemcpyDeviceToHost);
  CHECK(guarded_intact(&blocks), "the blocks were overrun");
  cudaFree(memory), cudaFree(scratch);
  return blocks;
}

static guarded run_cpu(const fc_view *v, int64_t align) {
  int64_t frame = block_count(v, align) * (int64_t)fc_stats_block_bytes(v->shape[FC_AXIS_C]);
  guarded blocks = guarded_new((size_t)(frame * v->shape[FC_AXIS_N])),
          scratch = guarded_new(fc_stats_cpu_scratch(v));
  fc_stats_cpu(v, align, blocks.data, frame, scratch.data, fc_isa_best());
  guarded_free(&scratch);
  return blocks;
}

static fc_view on_device(const signal *s, void *memory) {
  fc_view v = s->view;
  v.device = FC_CUDA_DEVICE(0);
  v.data = (char *)memory + ((const char *)s->view.data - (const char *)s->memory.data);
  return v;
}

static void check_signal(const signal *s, int64_t align) {
  const fc_view *v = &s->view;
  const int along = v->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
  void *memory = device_copy(s->memory.data, s->memory.bytes);
  fc_view there = on_device(s, memory);
  guarded cpu = run_cpu(v, align), cuda = run_cuda(&there, align);
  const char *name = fc_dtype_name(v->dtype);
  CHECK(cpu.bytes == cuda.bytes && !memcmp(cpu.data, cuda.data, cpu.bytes), "%s kind %d %dx%dx%dx%d align %d",
        name, v->kind, (int)v->shape[0], (int)v->shape[1], (int)v->shape[2], (int)v->shape[3], (int)align);
  /* From some block on: the same blocks. */
  if (block_count(v, align) > 1 && v->shape[FC_AXIS_N] == 1) {
    int64_t skip = random_int(1, block_count(v, align) - 1);
    fc_view rest = view_cut(&there, along, skip * align, v->shape[along] - skip * align);
    guarded part = run_cuda(&rest, align);
    size_t ahead = (size_t)skip * fc_stats_block_bytes(v->shape[FC_AXIS_C]);
    CHECK(!memcmp(part.data, (char *)cpu.data + ahead, part.bytes), "%s: cut after %d blocks", name,
          (int)skip);
    guarded_free(&part);
  }
  cudaFree(memory);
  guarded_free(&cpu), guarded_free(&cuda);
}

/* Rows of more chunks than threads that merge them. */
static void test_long_rows(void) {
  const int64_t shape[4] = {1, 2, 300001, 1};
  for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++) {
    signal s = signal_new(FC_ARRAY, dtype, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    fill_sort(&s, dtype % 3);
    check_signal(&s, 1);
    signal_free(&s);
  }
}

/* A row of more units than one block of threads merges; without NaN but for the last time. */
static void test_longest_row(void) {
  static const int dtypes[] = {FC_U8, FC_F32, FC_F32};
  const int64_t shape[4] = {1, 1, 2300001, 1};
  for (int i = 0; i < 3; i++) {
    signal s = signal_new(FC_ARRAY, dtypes[i], shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    fill_sort(&s, i);
    check_signal(&s, 1);
    signal_free(&s);
  }
}

/* Whole chunks from every alignment, rows that follow without a gap and rows that do not. */
static void test_alignment(void) {
  for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++)
    for (int i = 0; i < 8; i++) {
      const int64_t shape[4] = {1, 1 + 3 * (i % 2), 4200 + i, 1};
      signal s = signal_new(FC_ARRAY, dtype, shape, i % 4 < 2 ? LAYOUT_INTERLEAVED : LAYOUT_COUNT - 1,
                            FC_AXIS_X, 0, 0);
      fill_sort(&s, i % 2);
      signal part = s;
      part.view = view_cut(&s.view, FC_AXIS_X, i, 4200);
      check_signal(&part, i < 4 ? 1 : 3);
      signal_free(&s);
    }
}

/* Signals that are long enough to be streamed: rows, time in two channels apart, a row of many units; from an
 * address that is aligned and one that is not; with some samples that are not finite. */
static void test_streamed(void) {
  static const int64_t shapes[][4] = {{1, 16448, 1024, 1}, {1, 1, 1 << 23, 2}, {2, 2, 1 << 22, 1}};
  static const int kinds[] = {FC_ARRAY, FC_AUDIO, FC_ARRAY}, aligns[] = {16, 16384, 1};
  for (int i = 0; i < 3; i++) {
    signal s = signal_new(kinds[i], FC_F32, shapes[i], LAYOUT_PLANAR, FC_AXIS_X, 0, 0);
    fill_sort(&s, i % 2);
    check_signal(&s, aligns[i]);
    for (int n = 0; n < 40; n++) {
      const int64_t at[4] = {0, random_int(0, shapes[i][1] - 1), random_int(0, shapes[i][2] - 1), 0};
      view_set(&s.view, at, n % 4 ? NAN : INFINITY);
    }
    check_signal(&s, aligns[i]);
    signal_free(&s);
  }
}

/* Channels side by side, so many that blocks of threads have them together: small frames of chunks that are
 * not whole, and whole chunks, from the beginning and from an element later. */
static void test_pixels(void) {
  for (int i = 0; i < 3 * FC_DTYPE_COUNT; i++) {
    const int dtype = i / 3, channels = 2 + i % 3;
    const int64_t frames[4] = {2300, 1, 301, channels}, rows[4] = {1, 2080, 1024, channels};
    signal s = signal_new(FC_IMAGE, dtype, frames, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    fill_sort(&s, i % 2);
    check_signal(&s, 1);
    s.view = view_cut(&s.view, FC_AXIS_N, 1, 2299);
    check_signal(&s, 1);
    signal_free(&s);
    if (dtype % 3 != i % 3 || trial_skipped()) continue;
    s = signal_new(FC_IMAGE, dtype, rows, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    fill_sort(&s, i % 2);
    check_signal(&s, 16);
    s.view = view_cut(&s.view, FC_AXIS_Y, 0, 2079);
    s.view.data = (char *)s.view.data + fc_dtype_size(dtype);
    check_signal(&s, 16);
    signal_free(&s);
  }
}

int main(int argc, char **argv) {
  static const int64_t aligns[] = {1, 3, 64, 1024, 2048, 3000, 16384};
  int devices = 0, count = argc > 1 ? atoi(argv[1]) : 600;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fprintf(stderr, "skipped: no CUDA device\n");
    return SKIPPED;
  }
  random_start(20261124);
  for (int i = 0; i < count; i++) {
    signal s = random_signal(i % 3);
    int64_t align = s.view.kind == FC_AUDIO ? PICK(aligns) : random_int(1, 20);
    if (block_count(&s.view, align) < 2000) check_signal(&s, align);
    signal_free(&s);
  }
  test_long_rows();
  test_longest_row();
  test_alignment();
  test_streamed();
  test_pixels();
  return check_result();
}

/* SPDX-License-Identifier: MIT */
/*
 * test_conv1d_overlap_cuda.c - overlap-save on a device against the reference, on random
 * layouts and element types, with each of its transforms; the error on noise, of short masks
 * and those of several parts; the same bits for any cut at the grid; a NaN or an infinity
 * spoils what its mask covers, and no more; notes. Skipped without a device.
 */
#include "filters/conv1d/conv1d_fft.h"
#include "filters/conv1d/conv1d_overlap.h"
#include "tests/filters/conv1d_device.h"

static const int64_t windows[2][4] = {{1024, 4096, 8192, 16384}, {1024, 4096}};

/* ---- on the device ------------------------------------------------------------ */

typedef struct ready {
  fc_conv1d_overlap o;
  fc_conv1d c;
  void *mask, *tables;
} ready;

static ready ready_new(const fc_conv1d *c, int64_t n, int stretches) {
  ready r = {.o = fc_conv1d_overlap_of(c->taps, c->before, n, stretches), .c = *c, .mask = mask_to_device(c)};
  size_t bytes = fc_conv1d_overlap_bytes(&r.o, c);
  void *tables = aligned_alloc(64, (bytes + 63) / 64 * 64);
  CHECK(bytes > 0 && fc_conv1d_overlap_init(&r.o, c, tables) == FC_OK, "no window of %" PRId64, n);
  must(cudaMalloc(&r.tables, bytes));
  must(cudaMemcpy(r.tables, tables, bytes, cudaMemcpyHostToDevice));
  free(tables);
  r.c.device_mask = r.mask;
  return r;
}

static void ready_free(ready *r) {
  must(cudaFree(r->mask));
  must(cudaFree(r->tables));
}

static void enqueue(const ready *r, const fc_view *in, const fc_view *out, uint32_t *notes) {
  size_t bytes = fc_conv1d_overlap_scratch(&r->o, &r->c, out);
  void *scratch = NULL;
  if (bytes > 0) must(cudaMalloc(&scratch, bytes));
  fc_status status = fc_conv1d_overlap_cuda(&r->o, &r->c, r->tables, in, out, scratch, bytes, NULL, notes);
  CHECK(status == FC_OK, "fc_conv1d_overlap_cuda says %d", (int)status);
  must(cudaFree(scratch));
}

/* `out` of `in`, at random cuts of `cut` grids at most along the axis; 0: in one go. */
static void run(const ready *r, const signal *in, signal *out, int64_t cut) {
  signal device_in = to_device(in), device_out = to_device(out);
  int64_t grid = fc_conv1d_overlap_grid(&r->o), length = out->view.shape[r->c.axis];
  for (int64_t i = 0, count; i < length; i += count) {
    count = cut ? random_int(1, cut) * grid : length;
    if (count > length - i) count = length - i;
    fc_view in_cut = view_cut(&device_in.view, r->c.axis, i, count);
    fc_view out_cut = view_cut(&device_out.view, r->c.axis, i, count);
    enqueue(r, &in_cut, &out_cut, NULL);
  }
  from_device(out, &device_out);
  device_free(&device_in);
  device_free(&device_out);
}

/* ---- random views --------------------------------------------------------------- */

/* A few blocks and a bit along the axis, few lines. */
static trial overlap_trial(int64_t *n, int *stretches) {
  static const int64_t channels[] = {1, 2, 3, 6};
  trial t = trial_new();
  free(t.mask);
  *n = windows[t.c.compute == FC_F64][random_int(0, t.c.compute == FC_F64 ? 1 : 3)];
  int64_t most = *n > 4096 ? 60 : *n == 4096 ? 200 : 512, across = random_int(1, 3);
  t.c.taps = random_int(0, 3) ? random_int(1, most) : random_int(1, 5);
  t.shape[3] = pick(channels, *n > 4096 ? 2 : 4);
  t.c.masks = random_int(0, 1) ? 1 : t.shape[3];
  *stretches = t.c.masks == 1 && t.shape[3] % 2 == 0 && random_int(0, 1) ? 1 : 2;
  int64_t grid = *stretches * *n - t.c.taps + 1,
          along = random_int(1, *n == 1024 && random_int(0, 1) ? 3 * grid : grid + grid / 2);
  t.shape[1] = t.c.axis == FC_AXIS_Y ? along : across, t.shape[2] = t.c.axis == FC_AXIS_X ? along : across;
  t.c.before = random_int(0, t.c.taps - 1);
  trial_mask(&t);
  return t;
}

static void trial_run(void) {
  int64_t n;
  int stretches;
  trial t = overlap_trial(&n, &stretches);
  signal in =
      signal_new(t.kind, t.in_dtype, t.shape, t.in_layout, t.c.axis, t.c.before, t.c.taps - 1 - t.c.before);
  signal want = signal_new(t.kind, t.out_dtype, t.shape, t.out_layout, t.c.axis, 0, 0);
  signal out = signal_new(t.kind, t.out_dtype, t.shape, t.out_layout, t.c.axis, 0, 0);
  signal cut = signal_new(t.kind, t.out_dtype, t.shape, t.out_layout, t.c.axis, 0, 0);
  ready r = ready_new(&t.c, n, stretches);
  signal_fill(&in, 0);
  CHECK(fc_conv1d_ref(&t.c, &in.view, &want.view, NULL) == FC_OK, "ref failed");
  run(&r, &in, &out, 0);
  run(&r, &in, &cut, 2);
  compare(&t, &out, &want, "overlap-save");
  CHECK(memcmp(out.memory.data, cut.memory.data, out.memory.bytes) == 0,
        "a cut shows, axis %d, window %d * %" PRId64 ", %s", t.c.axis, stretches, n,
        fc_dtype_name(t.in_dtype));
  CHECK(signal_only_written(&out), "wrote where no element is");
  ready_free(&r);
  signal_free(&in);
  signal_free(&want);
  signal_free(&out);
  signal_free(&cut);
  free(t.mask);
}

/* ---- integers ------------------------------------------------------------------- */

/* Their answer is to the bit that of the same values as floats, however each of the two is loaded. */
static void integers_check(int dtype, int lay, int64_t channels, int64_t n, int stretches) {
  const int64_t taps = random_int(1, 500), shape[4] = {1, 1, 2 * stretches * n + 77, channels};
  trial t = {.c = {.taps = taps, .masks = 1, .before = taps / 3, .axis = FC_AXIS_X, .compute = FC_F32}};
  int64_t at[FC_AXES];
  signal in = signal_new(FC_ARRAY, dtype, shape, lay, FC_AXIS_X, t.c.before, taps - 1 - t.c.before);
  signal same = signal_new(FC_ARRAY, FC_F32, shape, lay, FC_AXIS_X, t.c.before, taps - 1 - t.c.before);
  signal out = signal_new(FC_ARRAY, FC_F32, shape, lay, FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_ARRAY, FC_F32, shape, lay, FC_AXIS_X, 0, 0);
  trial_mask(&t);
  signal_fill(&in, 0);
  for (at[0] = at[1] = 0, at[2] = -t.c.before; at[2] < shape[2] + taps - 1 - t.c.before; at[2]++)
    for (at[3] = 0; at[3] < channels; at[3]++) view_set(&same.view, at, view_get(&in.view, at));
  ready r = ready_new(&t.c, n, stretches);
  run(&r, &same, &want, 0);
  run(&r, &in, &out, 0);
  CHECK(memcmp(out.memory.data, want.memory.data, out.memory.bytes) == 0,
        "%s, %s, %" PRId64 " channels, window %d * %" PRId64 ": not as floats", fc_dtype_name(dtype),
        layout_name(lay), channels, stretches, n);
  ready_free(&r);
  signal_free(&in);
  signal_free(&same);
  signal_free(&out);
  signal_free(&want);
  free(t.mask);
}

/* ---- the error ---------------------------------------------------------------------- */

/* The relative error (L2) of the last channel of `got` against sums in double. */
static double error_of(const fc_conv1d *c, const signal *in, const signal *got) {
  const int64_t channel = got->view.shape[FC_AXIS_C] - 1;
  int64_t at[FC_AXES] = {0, 0, 0, channel}, count = got->view.shape[FC_AXIS_X],
          step = count > 3000 ? count / 3000 : 1;
  double error = 0, size = 0;
  for (at[2] = 0; at[2] < count; at[2] += step) {
    double want = 0;
    for (int64_t j = 0; j < c->taps; j++) {
      int64_t from[FC_AXES] = {0, 0, at[2] - c->before + j, channel};
      double tap = c->compute == FC_F64 ? ((const double *)c->mask)[j] : (double)((const float *)c->mask)[j];
      want += tap * view_get(&in->view, from);
    }
    double off = view_get(&got->view, at) - want;
    error += off * off, size += want * want;
  }
  return sqrt(error / size);
}

static void noise_check(int64_t taps, int64_t n, int stretches, int compute, int64_t outputs) {
  trial t = {.kind = FC_AUDIO, .in_dtype = compute, .out_dtype = compute};
  t.shape[0] = t.shape[1] = t.shape[3] = 1, t.shape[2] = outputs;
  t.c = (fc_conv1d){.taps = taps, .masks = 1, .before = taps / 2, .axis = FC_AXIS_X, .compute = compute};
  if (stretches == 1) t.shape[3] = 2;
  trial_mask(&t);
  signal in =
      signal_new(t.kind, compute, t.shape, LAYOUT_INTERLEAVED, FC_AXIS_X, t.c.before, taps - 1 - t.c.before);
  signal out = signal_new(t.kind, compute, t.shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal cut = signal_new(t.kind, compute, t.shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  ready r = ready_new(&t.c, n, stretches);
  signal_fill(&in, 0);
  run(&r, &in, &out, 0);
  run(&r, &in, &cut, 1);
  double error = error_of(&t.c, &in, &out);
  printf("%s, %" PRId64 " taps, window %d * %" PRId64 ", %" PRId64 " parts: relative error %.2g\n",
         fc_dtype_name(compute), taps, stretches, n, r.o.parts, error);
  CHECK(error <= (compute == FC_F64 ? 1e-14 : 1e-6), "%" PRId64 " taps: relative error %g", taps, error);
  CHECK(memcmp(out.memory.data, cut.memory.data, out.memory.bytes) == 0, "a cut shows, %" PRId64 " taps",
        taps);
  ready_free(&r);
  signal_free(&in);
  signal_free(&out);
  signal_free(&cut);
  free(t.mask);
}

/* ---- what is not finite ---------------------------------------------------------------- */

/* Also values whose sums over a block, but not over a mask, are beyond the largest float. */
static void contagion_check(double bad_value, int axis, int64_t n, int stretches, int64_t taps) {
  int other = axis == FC_AXIS_X ? FC_AXIS_Y : FC_AXIS_X;
  int64_t along = 2 * stretches * n, before = taps / 3, at[4];
  int64_t shape[4] = {1, axis == FC_AXIS_Y ? along : 2, axis == FC_AXIS_X ? along : 2,
                      stretches == 1 ? 4 : 3};
  int64_t bad[4] = {0, random_int(0, shape[1] - 1), random_int(0, shape[2] - 1), random_int(0, 2)};
  trial t = {.c = {.taps = taps, .masks = 1, .before = before, .axis = axis, .compute = FC_F32}};
  trial_mask(&t);
  signal in = signal_new(FC_ARRAY, FC_F32, shape, LAYOUT_INTERLEAVED, axis, before, taps - 1 - before);
  signal out = signal_new(FC_ARRAY, FC_F32, shape, LAYOUT_INTERLEAVED, axis, 0, 0);
  signal_fill(&in, 0);
  if (isfinite(bad_value))
    FOR_EACH(&in.view, at) view_set(&in.view, at, at[axis] < along / 3 ? bad_value : 1);
  else
    view_set(&in.view, bad, bad_value);
  ready r = ready_new(&t.c, n, stretches);
  run(&r, &in, &out, 0);
  FOR_EACH(&out.view, at) {
    int64_t reach = bad[axis] - at[axis] + before;
    int touched =
        !isfinite(bad_value) && at[3] == bad[3] && at[other] == bad[other] && reach >= 0 && reach < taps;
    CHECK(touched == !isfinite(view_get(&out.view, at)), "%g at %" PRId64 " and output %" PRId64, bad_value,
          bad[axis], at[axis]);
  }
  ready_free(&r);
  signal_free(&in);
  signal_free(&out);
  free(t.mask);
}

/* A NaN on the way into integers is noted; its neighbours in the block are not. */
static void notes_check(void) {
  int64_t shape[4] = {1, 1, 3000, 1};
  float one = 1;
  uint32_t notes[FC_NOTES] = {0, 0}, *device_notes = NULL;
  fc_conv1d c = {.mask = &one, .taps = 1, .masks = 1, .axis = FC_AXIS_X, .compute = FC_F32};
  signal in = signal_new(FC_IMAGE, FC_F32, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal out = signal_new(FC_IMAGE, FC_U8, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  for (int64_t x = 0; x < 3000; x++) view_set(&in.view, (int64_t[]){0, 0, x, 0}, 7);
  ready r = ready_new(&c, 1024, 2);
  must(cudaMalloc((void **)&device_notes, sizeof notes));
  for (int i = 0; i < 3; i++) {
    if (i > 0) view_set(&in.view, (int64_t[]){0, 0, 1500, 0}, i == 1 ? (double)NAN : 1000);
    signal device_in = to_device(&in), device_out = to_device(&out);
    must(cudaMemset(device_notes, 0, sizeof notes));
    enqueue(&r, &device_in.view, &device_out.view, device_notes);
    from_device(&out, &device_out);
    must(cudaMemcpy(notes, device_notes, sizeof notes, cudaMemcpyDeviceToHost));
    CHECK(notes[FC_NOTE_NAN] == (i == 1) && notes[FC_NOTE_CLIPPED] == (i == 2), "%d: notes %u %u", i,
          notes[0], notes[1]);
    device_free(&device_in);
    device_free(&device_out);
  }
  must(cudaFree(device_notes));
  ready_free(&r);
  signal_free(&in);
  signal_free(&out);
}

static void refusals_check(void) {
  float mask[40] = {0};
  fc_conv1d c = {.mask = mask, .taps = 40, .masks = 1, .axis = FC_AXIS_X, .compute = FC_F32};
  fc_conv1d_overlap o = fc_conv1d_overlap_of(40, 0, 1024, 2);
  fc_view v = {.size = sizeof v, .dtype = FC_F32, .kind = FC_ARRAY};
  for (int a = 0; a < FC_AXES; a++) v.shape[a] = 1, v.stride[a] = 4;
  v.origin[FC_AXIS_X] = 64;
  CHECK(fc_conv1d_overlap_cuda(&o, &c, NULL, &v, &v, NULL, 0, NULL, NULL) == FC_INVALID,
        "began within a block");
  v.shape[FC_AXIS_X] = 0;
  CHECK(fc_conv1d_overlap_cuda(&o, &c, NULL, &v, &v, NULL, 0, NULL, NULL) == FC_OK, "nothing to do");
}

typedef struct noise_case {
  int64_t taps, n;
  int stretches, compute;
  int64_t outputs;
} noise_case;

static const noise_case noise_cases[] = {
    {31, 1024, 2, FC_F32, 9000},      {512, 1024, 1, FC_F32, 9000},    {1025, 1024, 2, FC_F32, 9000},
    {1023, 4096, 2, FC_F32, 40000},   {2049, 4096, 1, FC_F32, 40000},  {4097, 4096, 2, FC_F32, 40000},
    {4095, 16384, 2, FC_F32, 100000}, {8192, 16384, 1, FC_F32, 50000}, {16385, 16384, 2, FC_F32, 150000},
    {8191, 8192, 2, FC_F32, 50000},   {4000, 8192, 1, FC_F32, 50000},  {40000, 16384, 2, FC_F32, 600000},
    {31, 1024, 1, FC_F64, 9000},      {512, 1024, 2, FC_F64, 9000},    {1023, 4096, 2, FC_F64, 40000},
    {2049, 4096, 1, FC_F64, 90000},   {9000, 4096, 2, FC_F64, 200000},
};

int main(void) {
  static const double bad_values[] = {(double)NAN, (double)INFINITY, 1e37};
  skip_without_device();
  random_start(3);
  for (size_t i = 0; i < sizeof noise_cases / sizeof *noise_cases; i++) {
    const noise_case *c = &noise_cases[i];
    noise_check(c->taps, c->n, c->stretches, c->compute, c->outputs);
  }
  for (int i = 0; i < 80; i++) trial_run();
  for (int dtype = FC_U8; dtype < FC_F32; dtype++)
    for (int lay = 0; lay < LAYOUT_COUNT; lay++)
      for (int64_t channels = 1; channels <= 4; channels++)
        for (int64_t n = 1024; n <= 16384; n *= 4)
          integers_check(dtype, lay, channels, n, channels % 2 ? 2 : (int)random_int(1, 2));
  for (int i = 0; i < 3; i++) {
    contagion_check(bad_values[i], FC_AXIS_X, 1024, 2, random_int(1, 400));
    contagion_check(bad_values[i], FC_AXIS_X, 1024, 1, random_int(1, 400));
    contagion_check(bad_values[i], FC_AXIS_Y, 4096, 2, random_int(1, 400));
    contagion_check(bad_values[i], FC_AXIS_X, 16384, 2, random_int(1, 400));
    contagion_check(bad_values[i], FC_AXIS_X, 8192, 1, random_int(1, 400));
  }
  contagion_check(bad_values[0], FC_AXIS_X, 16384, 2, 20000);
  notes_check();
  refusals_check();
  return check_result();
}

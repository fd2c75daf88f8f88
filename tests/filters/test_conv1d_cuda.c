/* SPDX-License-Identifier: MIT */
/*
 * test_conv1d_cuda.c - the CUDA version against the reference on random layouts, element
 * types and lengths; the same bits for any cut, and from either kernel; masks that pass
 * through shared memory in pieces; grids beyond 65535; notes; the border made by the filter. Skipped
 * without a device.
 */
#include "tests/filters/conv1d_device.h"

static void enqueue(const fc_conv1d *c, const fc_view *in, const fc_view *out, uint32_t *notes) {
  fc_status status = fc_conv1d_cuda(c, in, out, NULL, notes);
  CHECK(status == FC_OK, "fc_conv1d_cuda says %d", (int)status);
}

/* `out` = what the device makes of `in`, in one go. */
static void run(fc_conv1d c, const signal *in, signal *out) {
  signal device_in = to_device(in), device_out = to_device(out);
  void *mask = mask_to_device(&c);
  c.device_mask = mask;
  enqueue(&c, &device_in.view, &device_out.view, NULL);
  from_device(out, &device_out);
  must(cudaFree(mask));
  device_free(&device_in);
  device_free(&device_out);
}

/* The same of a signal whose border the filter makes; false where it does not. */
static int run_edges(fc_conv1d c, const signal *in, const fc_edges *edges, signal *out) {
  signal device_in = to_device(in), device_out = to_device(out);
  void *mask = mask_to_device(&c);
  c.device_mask = mask;
  const fc_status status = fc_conv1d_cuda_edges(&c, &device_in.view, edges, &device_out.view, NULL, NULL);
  CHECK(status == FC_OK || status == FC_UNSUPPORTED, "fc_conv1d_cuda_edges says %d", (int)status);
  from_device(out, &device_out);
  must(cudaFree(mask));
  device_free(&device_in);
  device_free(&device_out);
  return status == FC_OK;
}

/* The same in random pieces along X and Y. */
static void run_cut(const trial *t, const signal *in, signal *out) {
  signal device_in = to_device(in), device_out = to_device(out);
  fc_conv1d c = t->c;
  void *mask = mask_to_device(&c);
  c.device_mask = mask;
  for (int64_t y = 0, h; y < t->shape[1]; y += h) {
    h = random_int(1, t->shape[1] - y);
    for (int64_t x = 0, w; x < t->shape[2]; x += w) {
      w = random_int(1, t->shape[2] - x);
      fc_view in_rows = view_cut(&device_in.view, FC_AXIS_Y, y, h);
      fc_view in_cut = view_cut(&in_rows, FC_AXIS_X, x, w);
      fc_view out_rows = view_cut(&device_out.view, FC_AXIS_Y, y, h);
      fc_view out_cut = view_cut(&out_rows, FC_AXIS_X, x, w);
      enqueue(&c, &in_cut, &out_cut, NULL);
    }
  }
  from_device(out, &device_out);
  must(cudaFree(mask));
  device_free(&device_in);
  device_free(&device_out);
}

static void trial_run(const trial *t) {
  int64_t after = t->c.taps - 1 - t->c.before;
  signal in = signal_new(t->kind, t->in_dtype, t->shape, t->in_layout, t->c.axis, t->c.before, after);
  signal want = signal_new(t->kind, t->out_dtype, t->shape, t->out_layout, t->c.axis, 0, 0);
  signal out = signal_new(t->kind, t->out_dtype, t->shape, t->out_layout, t->c.axis, 0, 0);
  signal cut = signal_new(t->kind, t->out_dtype, t->shape, t->out_layout, t->c.axis, 0, 0);
  signal_fill(&in, 0);
  CHECK(fc_conv1d_ref(&t->c, &in.view, &want.view, NULL) == FC_OK, "ref failed");
  run(t->c, &in, &out);
  run_cut(t, &in, &cut);
  compare(t, &out, &want, "cuda");
  CHECK(memcmp(out.memory.data, cut.memory.data, out.memory.bytes) == 0, "a cut shows, %s axis %d",
        fc_dtype_name(t->in_dtype), t->c.axis);
  CHECK(signal_only_written(&out), "wrote where no element is");
  signal_free(&in);
  signal_free(&want);
  signal_free(&out);
  signal_free(&cut);
}

/* Random trials but with a mask of this many taps on axis X, where both kernels meet it. */
static void long_mask_check(int64_t taps, int64_t channels, int per_channel, int lay, int compute) {
  trial t = {.kind = FC_AUDIO, .in_dtype = FC_I16, .out_dtype = FC_F32, .in_layout = lay, .out_layout = lay};
  t.shape[0] = t.shape[1] = 1, t.shape[2] = 301, t.shape[3] = channels;
  t.c.axis = FC_AXIS_X, t.c.compute = compute, t.c.taps = taps, t.c.before = taps / 3;
  t.c.masks = per_channel ? channels : 1;
  trial_mask(&t);
  trial_run(&t);
  free(t.mask);
}

/* The kernel for lines and the one for columns give the same bits: the same samples, once
 * dense and once scattered. */
static void kernels_agree_check(int compute, int64_t taps) {
  trial t = {.kind = FC_ARRAY, .in_dtype = FC_F32, .out_dtype = FC_F64};
  int64_t at[FC_AXES];
  t.shape[0] = 1, t.shape[1] = 2, t.shape[2] = 1000, t.shape[3] = 2;
  t.c.axis = FC_AXIS_X, t.c.compute = compute, t.c.taps = taps, t.c.before = 0, t.c.masks = 1;
  trial_mask(&t);
  signal in = signal_new(t.kind, FC_F32, t.shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, taps - 1);
  signal in_apart = signal_new(t.kind, FC_F32, t.shape, LAYOUT_SCATTERED, FC_AXIS_X, 0, taps - 1);
  signal out = signal_new(t.kind, FC_F64, t.shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal out_apart = signal_new(t.kind, FC_F64, t.shape, LAYOUT_SCATTERED, FC_AXIS_X, 0, 0);
  signal_fill(&in, 0);
  FOR_EACH_WITH_HALO(&in, at) view_set(&in_apart.view, at, view_get(&in.view, at));
  run(t.c, &in, &out);
  run(t.c, &in_apart, &out_apart);
  FOR_EACH(&out.view, at)
  CHECK(view_get(&out.view, at) == view_get(&out_apart.view, at), "lines and columns differ at %" PRId64,
        at[2]);
  signal_free(&in);
  signal_free(&in_apart);
  signal_free(&out);
  signal_free(&out_apart);
  free(t.mask);
}

/* More rows, frames or columns than a grid has blocks in y or z. */
static void large_grid_check(int64_t n, int64_t y, int64_t x, int axis, int lay) {
  trial t = {.kind = FC_IMAGE, .in_dtype = FC_U8, .out_dtype = FC_U8, .in_layout = lay, .out_layout = lay};
  t.shape[0] = n, t.shape[1] = y, t.shape[2] = x, t.shape[3] = 1;
  t.c.axis = axis, t.c.compute = FC_F32, t.c.taps = 3, t.c.before = 1, t.c.masks = 1;
  trial_mask(&t);
  signal in = signal_new(t.kind, FC_U8, t.shape, lay, axis, 1, 1);
  signal want = signal_new(t.kind, FC_U8, t.shape, lay, axis, 0, 0);
  signal out = signal_new(t.kind, FC_U8, t.shape, lay, axis, 0, 0);
  signal_fill(&in, 0);
  fc_conv1d_ref(&t.c, &in.view, &want.view, NULL);
  run(t.c, &in, &out);
  compare(&t, &out, &want, "cuda, a large grid");
  signal_free(&in);
  signal_free(&want);
  signal_free(&out);
  free(t.mask);
}

/* A NaN and an overflow on the way into u8 are noted, and only they. */
static void notes_check(double sample, uint32_t nan, uint32_t clipped, double stored) {
  int64_t shape[4] = {1, 1, 9, 1}, middle[4] = {0, 0, 4, 0};
  float one = 1;
  uint32_t notes[FC_NOTES] = {0, 0}, *device_notes = NULL;
  signal in = signal_new(FC_IMAGE, FC_F32, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal out = signal_new(FC_IMAGE, FC_U8, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  for (int64_t x = 0; x < 9; x++) view_set(&in.view, (int64_t[]){0, 0, x, 0}, 7);
  view_set(&in.view, middle, sample);
  fc_conv1d c = {.mask = &one, .taps = 1, .masks = 1, .axis = FC_AXIS_X, .compute = FC_F32};
  signal device_in = to_device(&in), device_out = to_device(&out);
  void *mask = mask_to_device(&c);
  c.device_mask = mask;
  must(cudaMalloc((void **)&device_notes, sizeof notes));
  must(cudaMemset(device_notes, 0, sizeof notes));
  enqueue(&c, &device_in.view, &device_out.view, device_notes);
  from_device(&out, &device_out);
  must(cudaMemcpy(notes, device_notes, sizeof notes, cudaMemcpyDeviceToHost));
  CHECK(notes[FC_NOTE_NAN] == nan && notes[FC_NOTE_CLIPPED] == clipped, "%g: notes %u %u, not %u %u", sample,
        notes[0], notes[1], nan, clipped);
  CHECK(view_get(&out.view, middle) == stored, "%g became %g", sample, view_get(&out.view, middle));
  must(cudaFree(mask));
  must(cudaFree(device_notes));
  device_free(&device_in);
  device_free(&device_out);
  signal_free(&in);
  signal_free(&out);
}

/* `bordered` becomes the signal with a border on the axis. */
static void fill_with_border(signal *s, signal *bordered, int axis, const fc_edges *edges) {
  int64_t at[FC_AXES];
  FOR_EACH_WITH_HALO(bordered, at) {
    int64_t from[FC_AXES] = {at[0], at[1], at[2], at[3]};
    from[axis] = border_position(at[axis], s->view.shape[axis], edges->border);
    const void *element = from[axis] < 0 ? (const void *)&edges->code
                                         : fc_view_at(&s->view, from[0], from[1], from[2], from[3]);
    memcpy(fc_view_at(&bordered->view, at[0], at[1], at[2], at[3]), element, fc_dtype_size(s->view.dtype));
  }
}

/* A convolution by a short mask of rows as media have them, of very short ones, or of narrow columns. */
static trial rows_trial(void) {
  static const int64_t lengths[] = {1,   2,   3,   5,   10,  13,   40,   100,  128,  255,  256,  257,
                                    300, 301, 500, 512, 520, 1000, 1023, 1540, 2049, 2310, 4099, 6000};
  static const int64_t taps[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 127, 128};
  static const int64_t widths[] = {1, 2, 3, 4, 8, 40, 129, 260};
  static const int dtypes[] = {FC_U8, FC_I16, FC_U16, FC_F32, FC_F32, FC_F64};
  trial t = {.kind = (int)random_int(0, FC_KIND_COUNT - 1), .in_layout = LAYOUT_INTERLEAVED};
  t.in_dtype = dtypes[random_int(0, 5)];
  t.out_dtype = random_int(0, 1) ? t.in_dtype : dtypes[random_int(0, 5)];
  t.in_layout = (int)random_int(LAYOUT_INTERLEAVED, LAYOUT_PADDED);
  t.out_layout = (int)random_int(LAYOUT_INTERLEAVED, LAYOUT_PADDED);
  if (random_int(0, 7) == 0) t.in_layout = t.out_layout = LAYOUT_SCATTERED;
  const int64_t length = pick(lengths, sizeof lengths / sizeof *lengths);
  t.c.axis = random_int(0, 3) ? FC_AXIS_X : FC_AXIS_Y;
  t.shape[0] = random_int(1, 2), t.shape[3] = random_int(1, 4);
  t.shape[1] = t.c.axis == FC_AXIS_Y ? length : random_int(1, length < 16 ? 600 : length < 128 ? 100 : 9);
  t.shape[2] = t.c.axis == FC_AXIS_X ? length : length > 300 ? random_int(1, 3) : pick(widths, 8);
  t.c.compute = random_int(0, 7) ? FC_F32 : FC_F64, t.c.masks = 1;
  t.c.taps = pick(taps, sizeof taps / sizeof *taps);
  t.c.before = random_int(-2, t.c.taps + 2);
  trial_mask(&t);
  return t;
}

static void same_check(const trial *t, const fc_edges *edges, signal *got, const signal *want,
                       const char *how) {
  int64_t at[FC_AXES], differ = 0;
  char text[256];
  trial_describe(t, text, sizeof text);
  FOR_EACH(&want->view, at) {
    const void *a = fc_view_at(&got->view, at[0], at[1], at[2], at[3]);
    differ +=
        memcmp(a, fc_view_at(&want->view, at[0], at[1], at[2], at[3]), fc_dtype_size(t->out_dtype)) != 0;
  }
  CHECK(differ == 0, "%s: border %d, %s: %" PRId64 " elements differ", text, edges->border, how, differ);
  CHECK(signal_only_written(got), "%s: %s: wrote where no element is", text, how);
}

static signal turned(const signal *s) {
  signal t = *s;
  t.view.shape[FC_AXIS_X] = s->view.shape[FC_AXIS_Y], t.view.shape[FC_AXIS_Y] = s->view.shape[FC_AXIS_X];
  t.view.stride[FC_AXIS_X] = s->view.stride[FC_AXIS_Y], t.view.stride[FC_AXIS_Y] = s->view.stride[FC_AXIS_X];
  return t;
}

/* By the kernel for any layout, which alone takes rows of scattered elements. */
static void run_scattered(fc_conv1d c, const signal *in, const signal *out) {
  const int turn = c.axis == FC_AXIS_Y;
  signal x = turn ? turned(in) : *in, y = turn ? turned(out) : *out;
  c.axis = FC_AXIS_X;
  run(c, &x, &y);
}

/* A signal whose border the filter makes, and the same with its border made before: to the bit what the
 * kernel for any layout makes of that. Outputs may be fewer than inputs, or more. Whether the filter made it.
 */
static int edges_trial(const trial *t, const fc_edges *edges) {
  int64_t out_shape[FC_AXES];
  memcpy(out_shape, t->shape, sizeof out_shape);
  out_shape[t->c.axis] += random_int(0, 2) ? 0 : random_int(1 - t->shape[t->c.axis], t->c.taps - 1);
  if (out_shape[t->c.axis] < 1) out_shape[t->c.axis] = 1;
  const int64_t reach = out_shape[t->c.axis] - t->shape[t->c.axis] + t->c.taps - 1 - t->c.before;
  const int64_t before = t->c.before > 0 ? t->c.before : 0, after = reach > 0 ? reach : 0;
  signal in = signal_new(t->kind, t->in_dtype, t->shape, t->in_layout, t->c.axis, 0, 0);
  signal dense = signal_new(t->kind, t->in_dtype, t->shape, t->in_layout, t->c.axis, before, after);
  signal apart = signal_new(t->kind, t->in_dtype, t->shape, LAYOUT_SCATTERED, t->c.axis, before, after);
  signal want = signal_new(t->kind, t->out_dtype, out_shape, LAYOUT_SCATTERED, t->c.axis, 0, 0);
  signal got = signal_new(t->kind, t->out_dtype, out_shape, t->out_layout, t->c.axis, 0, 0);
  signal_fill(&in, 0);
  fill_with_border(&in, &dense, t->c.axis, edges), fill_with_border(&in, &apart, t->c.axis, edges);
  run_scattered(t->c, &apart, &want);
  run(t->c, &dense, &got);
  same_check(t, edges, &got, &want, "made before");
  const int made = run_edges(t->c, &in, edges, &got);
  if (made) same_check(t, edges, &got, &want, "made by the filter");
  signal_free(&in), signal_free(&dense), signal_free(&apart), signal_free(&want), signal_free(&got);
  return made;
}

static void edges_check(int rounds) {
  int taken = 0;
  for (int i = 0; i < rounds; i++) {
    trial t = rows_trial();
    fc_edges edges = {sizeof edges, (int32_t)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP), 0};
    if (edges.border == FC_BORDER_CONSTANT)
      element_set(&edges.code, t.in_dtype, t.in_dtype >= FC_F32 ? 0.625 : 77);
    taken += edges_trial(&t, &edges);
    free(t.mask);
  }
  CHECK(taken > rounds / 20, "%d of %d", taken, rounds);
}

int main(void) {
  skip_without_device();
  random_start(3);
  for (int i = 0; i < 300; i += trial_step()) {
    trial t = trial_new();
    trial_run(&t);
    free(t.mask);
  }
  for (int compute = FC_F32; compute <= FC_F64; compute++) {
    long_mask_check(513, 1, 0, LAYOUT_INTERLEAVED, compute);
    long_mask_check(5000, 2, 0, LAYOUT_INTERLEAVED, compute);
    long_mask_check(5000, 2, 1, LAYOUT_INTERLEAVED, compute);
    long_mask_check(3000, 3, 1, LAYOUT_PLANAR, compute);
    long_mask_check(3000, 3, 0, LAYOUT_PLANAR, compute);
    long_mask_check(20000, 1, 0, LAYOUT_INTERLEAVED, compute);
    long_mask_check(600, 24, 1, LAYOUT_INTERLEAVED, compute);
    long_mask_check(600, 300, 0, LAYOUT_INTERLEAVED, compute);
    kernels_agree_check(compute, 1);
    kernels_agree_check(compute, 129);
    kernels_agree_check(compute, 700);
  }
  large_grid_check(70000, 1, 3, FC_AXIS_Y, LAYOUT_INTERLEAVED);
  large_grid_check(1, 70000, 3, FC_AXIS_X, LAYOUT_SCATTERED);
  large_grid_check(1, 70000, 3, FC_AXIS_X, LAYOUT_INTERLEAVED);
  large_grid_check(1, 600000, 1, FC_AXIS_Y, LAYOUT_INTERLEAVED);
  edges_check(600 / trial_step());
  notes_check(8, 0, 0, 8);
  notes_check(NAN, 1, 0, 0);
  notes_check(1000, 0, 1, 255);
  notes_check(-INFINITY, 0, 1, 0);
  return check_result();
}

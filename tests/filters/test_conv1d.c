/* SPDX-License-Identifier: MIT */
/*
 * test_conv1d.c - the reference and every instruction set against NumPy's and SciPy's
 * results, against what convolution is (impulse, DC, linearity, shift), and against each
 * other on random layouts, element types and lengths; and the same bits for any cut.
 *
 *     test_conv1d tests/goldens/conv1d.txt
 */
#include "tests/filters/conv1d_trials.h"

/* What runs a convolution: the reference, then the instruction sets from base on. */
#define REFERENCE (-1)

static const char *version_name(int version) {
  return version == REFERENCE ? "ref" : fc_isa_name((fc_isa)version);
}

static void run(int version, fc_conv1d c, const fc_view *in, const fc_view *out) {
  uint32_t notes[FC_NOTES] = {0, 0};
  if (version == REFERENCE) {
    CHECK(fc_conv1d_ref(&c, in, out, notes) == FC_OK, "ref failed");
    return;
  }
  c.isa = (fc_isa)version;
  guarded scratch = guarded_new(fc_conv1d_cpu_scratch(&c));
  CHECK(fc_conv1d_cpu(&c, in, out, scratch.data, notes) == FC_OK, "cpu failed");
  CHECK(guarded_intact(&scratch), "%s wrote beyond its scratch", version_name(version));
  guarded_free(&scratch);
}

/* ---- goldens --------------------------------------------------------------- */

typedef struct numbers {
  char name[16];
  int64_t count;
  double *values;
} numbers;

typedef struct golden {
  const numbers *signal, *mask;
  char oracle[16], border[16], mode[8], flip[8];
  double value;
  int64_t count;
  double *results;
} golden;

static double *numbers_read(FILE *file, int64_t count) {
  double *values = malloc((size_t)(count > 0 ? count : 1) * sizeof *values);
  for (int64_t i = 0; values && i < count; i++)
    if (fscanf(file, "%lf", &values[i]) != 1) abort();
  return values;
}

static int border_of(const char *name) {
  static const char *const names[] = {"zero", "constant", "replicate", "reflect", "reflect101", "wrap"};
  for (int b = 0; b < 6; b++)
    if (strcmp(names[b], name) == 0) return b;
  abort();
}

/* The signal with `before` and `after` elements that the border makes around it. */
static double *extended(const golden *g, int64_t before, int64_t after) {
  const numbers *s = g->signal;
  int border = border_of(g->border);
  double *x = malloc((size_t)(before + s->count + after) * sizeof *x);
  for (int64_t i = -before; i < s->count + after; i++) {
    int64_t at = border_position(i, s->count, border);
    x[i + before] = at < 0 ? g->value : s->values[at];
  }
  return x;
}

static double relative_l2(const double *got, const double *want, int64_t count) {
  double error = 0, size = 0;
  for (int64_t i = 0; i < count; i++)
    error += (got[i] - want[i]) * (got[i] - want[i]), size += want[i] * want[i];
  return size > 0 ? sqrt(error / size) : sqrt(error);
}

/* Runs a case on axis X or Y in one type throughout. */
static void golden_run(const golden *g, int version, int dtype, int axis) {
  int64_t n = g->mask->count, flip = strcmp(g->flip, "yes") == 0;
  int64_t before = flip ? n - 1 - (n - 1) / 2 : n / 2;
  if (strcmp(g->mode, "full") == 0) before = n - 1;
  if (strcmp(g->mode, "valid") == 0) before = 0;
  int64_t after = g->count - g->signal->count + n - 1 - before, shape[4] = {1, 1, 1, 1};
  double mask[128], *x = extended(g, before, after > 0 ? after : 0),
                    *got = malloc((size_t)g->count * sizeof *got);
  for (int64_t j = 0; j < n; j++) {
    double tap = g->mask->values[flip ? n - 1 - j : j];
    if (dtype == FC_F64)
      mask[j] = tap;
    else
      ((float *)mask)[j] = (float)tap;
  }
  shape[axis] = g->count;
  signal in = signal_new(FC_ARRAY, dtype, shape, LAYOUT_INTERLEAVED, axis, before, n - 1 - before);
  signal out = signal_new(FC_ARRAY, dtype, shape, LAYOUT_INTERLEAVED, axis, 0, 0);
  for (int64_t i = 0; i < g->count + n - 1; i++)
    element_set((char *)in.memory.data + i * (int64_t)fc_dtype_size(dtype), dtype, x[i]);
  fc_conv1d c = {.mask = mask, .taps = n, .masks = 1, .before = before, .axis = axis, .compute = dtype};
  run(version, c, &in.view, &out.view);
  for (int64_t i = 0; i < g->count; i++)
    got[i] = element_get((char *)out.view.data + i * (int64_t)fc_dtype_size(dtype), dtype);
  double error = relative_l2(got, g->results, g->count), limit = dtype == FC_F64 ? 1e-14 : 1e-6;
  CHECK(error <= limit, "%s %s, axis %d: %s %s border %s mode %s flip %s: relative error %.3g",
        version_name(version), fc_dtype_name(dtype), axis, g->oracle, g->mask->name, g->border, g->mode,
        g->flip, error);
  signal_free(&in);
  signal_free(&out);
  free(x);
  free(got);
}

static const numbers *numbers_find(const numbers *all, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(all[i].name, name) == 0) return &all[i];
  abort();
}

static void goldens_check(const char *path) {
  numbers signals[16];
  int n_signals = 0, n_cases = 0;
  char word[256], name[16], mask[16];
  FILE *file = fopen(path, "r");
  CHECK(file != NULL, "cannot open %s", path);
  while (file && fscanf(file, "%255s", word) == 1) {
    golden g;
    if (strcmp(word, "signal") == 0 && n_signals < 16) {
      numbers *s = &signals[n_signals++];
      if (fscanf(file, "%15s %" SCNd64, s->name, &s->count) != 2) abort();
      s->values = numbers_read(file, s->count);
    } else if (strcmp(word, "case") == 0) {
      if (fscanf(file, "%15s %15s %15s %15s %lf %7s %7s %" SCNd64, g.oracle, name, mask, g.border, &g.value,
                 g.mode, g.flip, &g.count) != 8)
        abort();
      g.signal = numbers_find(signals, n_signals, name), g.mask = numbers_find(signals, n_signals, mask);
      g.results = numbers_read(file, g.count);
      for (int version = REFERENCE; version <= (int)fc_isa_best(); version++)
        for (int dtype = FC_F32; dtype <= FC_F64; dtype++)
          for (int axis = FC_AXIS_Y; axis <= FC_AXIS_X; axis++) golden_run(&g, version, dtype, axis);
      free(g.results);
      n_cases++;
    } else if (word[0] != '#' || !fgets(word, sizeof word, file)) {
      abort();
    }
  }
  CHECK(n_cases > 100, "only %d cases in %s", n_cases, path);
  for (int i = 0; i < n_signals; i++) free(signals[i].values);
  if (file) fclose(file);
}

/* ---- what convolution is --------------------------------------------------- */

enum { LENGTH = 333 };

/* One line of f64 with `taps` of mask, centre in the middle. */
static void line_run(int version, const double *mask, int64_t taps, const double *x, double *y) {
  int64_t shape[4] = {1, 1, LENGTH, 1}, before = taps / 2;
  fc_view in = {.size = sizeof in, .dtype = FC_F64, .kind = FC_ARRAY, .device = FC_HOST};
  for (int a = 0; a < FC_AXES; a++) in.shape[a] = shape[a], in.stride[a] = 8;
  fc_view out = in;
  in.data = (void *)(uintptr_t)(x + before), out.data = y;
  fc_conv1d c = {
      .mask = mask, .taps = taps, .masks = 1, .before = before, .axis = FC_AXIS_X, .compute = FC_F64};
  run(version, c, &in, &out);
}

static double greatest_difference(const double *a, const double *b, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

static void laws_check(int version) {
  enum { TAPS = 200, WITH_HALO = LENGTH + TAPS };
  double mask[TAPS], x1[WITH_HALO + 1], x2[WITH_HALO + 1], sum[WITH_HALO + 1], y1[LENGTH], y2[LENGTH],
      y[LENGTH], total = 0;
  for (int j = 0; j < TAPS; j++) total += mask[j] = random_real();
  for (int i = 0; i <= WITH_HALO; i++)
    x1[i] = random_real(), x2[i] = random_real(), sum[i] = 3 * x1[i] - x2[i];
  const char *name = version_name(version);

  line_run(version, mask, TAPS, x1, y1);
  line_run(version, mask, TAPS, x2, y2);
  line_run(version, mask, TAPS, sum, y);
  for (int i = 0; i < LENGTH; i++) y2[i] = 3 * y1[i] - y2[i];
  CHECK(greatest_difference(y, y2, LENGTH) < 1e-12, "%s is not linear", name);

  line_run(version, mask, TAPS, x1 + 1, y);
  CHECK(memcmp(y, y1 + 1, (LENGTH - 1) * sizeof *y) == 0, "%s does not commute with a shift", name);

  for (int i = 0; i <= WITH_HALO; i++) x2[i] = 1;
  line_run(version, mask, TAPS, x2, y);
  for (int i = 0; i < LENGTH; i++) y2[i] = total;
  CHECK(greatest_difference(y, y2, LENGTH) < 1e-12, "%s: the gain at DC is not the sum of the mask", name);

  /* An impulse brings out the mask, back to front: taps are in the order of the input. */
  for (int i = 0; i <= WITH_HALO; i++) x2[i] = i == 250;
  line_run(version, mask, TAPS, x2, y);
  for (int i = 0; i < LENGTH; i++) y2[i] = i <= 250 && 250 - i < TAPS ? mask[250 - i] : 0;
  CHECK(memcmp(y, y2, sizeof y) == 0, "%s: an impulse gives another mask", name);

  double one = 1;
  line_run(version, &one, 1, x1, y);
  CHECK(memcmp(y, x1, sizeof y) == 0, "%s: the identity mask changes the signal", name);
}

/* ---- long masks in f32 ------------------------------------------------------ */

/* 65536 taps of one sign against a constant, the worst case for a running f32 sum: in one
 * run the error would be about 65536 half units. Blocks keep it to a few hundred. */
static void long_mask_check(int version) {
  enum { TAPS = 65536, OUTPUTS = 40 };
  float *mask = malloc(TAPS * sizeof *mask), *x = malloc((TAPS + OUTPUTS) * sizeof *x), y[OUTPUTS];
  double want[OUTPUTS], got[OUTPUTS];
  for (int j = 0; j < TAPS; j++) mask[j] = (float)(0.1 + 0.01 * random_real());
  for (int i = 0; i < TAPS + OUTPUTS; i++) x[i] = (float)(0.7 + 0.01 * random_real());
  fc_view in = {.size = sizeof in, .dtype = FC_F32, .kind = FC_ARRAY, .device = FC_HOST};
  for (int a = 0; a < FC_AXES; a++) in.shape[a] = 1, in.stride[a] = 4;
  in.shape[FC_AXIS_X] = OUTPUTS;
  fc_view out = in;
  in.data = x, out.data = y;
  fc_conv1d c = {.mask = mask, .taps = TAPS, .masks = 1, .before = 0, .axis = FC_AXIS_X, .compute = FC_F32};
  run(version, c, &in, &out);
  for (int i = 0; i < OUTPUTS; i++) {
    want[i] = 0, got[i] = y[i];
    for (int j = 0; j < TAPS; j++) want[i] += (double)mask[j] * x[i + j];
  }
  double error = relative_l2(got, want, OUTPUTS);
  CHECK(error <= 2e-6, "%s: 65536 taps in f32 err by %.3g", version_name(version), error);
  free(mask);
  free(x);
}

/* ---- random views ----------------------------------------------------------- */

/* The output made in pieces along X and Y equals the whole, bit for bit. */
static void cuts_check(const trial *t, int version, const signal *in, const signal *whole) {
  signal out = signal_new(t->kind, t->out_dtype, t->shape, t->out_layout, FC_AXIS_X, 0, 0);
  int64_t most[2] = {random_int(1, t->shape[1] + 1), random_int(1, t->shape[2] + 1)};
  for (int64_t y = 0, h; y < t->shape[1]; y += h) {
    h = random_int(1, most[0]);
    if (h > t->shape[1] - y) h = t->shape[1] - y;
    for (int64_t x = 0, w; x < t->shape[2]; x += w) {
      w = random_int(1, most[1]);
      if (w > t->shape[2] - x) w = t->shape[2] - x;
      fc_view in_rows = view_cut(&in->view, FC_AXIS_Y, y, h), in_cut = view_cut(&in_rows, FC_AXIS_X, x, w);
      fc_view out_rows = view_cut(&out.view, FC_AXIS_Y, y, h), out_cut = view_cut(&out_rows, FC_AXIS_X, x, w);
      run(version, t->c, &in_cut, &out_cut);
    }
  }
  CHECK(memcmp(out.memory.data, whole->memory.data, out.memory.bytes) == 0, "%s: a cut shows, %s axis %d",
        version_name(version), fc_dtype_name(t->in_dtype), t->c.axis);
  signal_free(&out);
}

static void trial_run(void) {
  trial t = trial_new();
  int64_t after = t.c.taps - 1 - t.c.before;
  signal in = signal_new(t.kind, t.in_dtype, t.shape, t.in_layout, t.c.axis, t.c.before, after);
  signal want = signal_new(t.kind, t.out_dtype, t.shape, t.out_layout, t.c.axis, 0, 0);
  signal_fill(&in, 0);
  run(REFERENCE, t.c, &in.view, &want.view);
  for (int version = 0; version <= (int)fc_isa_best(); version++) {
    signal out = signal_new(t.kind, t.out_dtype, t.shape, t.out_layout, t.c.axis, 0, 0);
    run(version, t.c, &in.view, &out.view);
    compare(&t, &out, &want, version_name(version));
    cuts_check(&t, version, &in, &out);
    CHECK(signal_only_written(&out), "%s wrote where no element is", version_name(version));
    signal_free(&out);
  }
  CHECK(signal_only_written(&want), "ref wrote where no element is");
  signal_free(&in);
  signal_free(&want);
  free(t.mask);
}

/* Integer samples and taps: sums are exact, so every version agrees with plain integers. */
static void integers_check(int version) {
  enum { COUNT = 501, TAPS = 131 };
  float mask[TAPS];
  int16_t x[COUNT + TAPS - 1];
  int32_t y[COUNT];
  for (int j = 0; j < TAPS; j++) mask[j] = (float)random_int(-7, 7);
  for (int i = 0; i < COUNT + TAPS - 1; i++) x[i] = (int16_t)random_int(-9000, 9000);
  fc_view in = {.size = sizeof in, .dtype = FC_I16, .kind = FC_ARRAY, .device = FC_HOST};
  for (int a = 0; a < FC_AXES; a++) in.shape[a] = 1, in.stride[a] = 2;
  in.shape[FC_AXIS_X] = COUNT, in.data = x;
  fc_view out = in;
  out.dtype = FC_I32, out.data = y;
  for (int a = 0; a < FC_AXES; a++) out.stride[a] = 4;
  fc_conv1d c = {.mask = mask, .taps = TAPS, .masks = 1, .before = 0, .axis = FC_AXIS_X, .compute = FC_F32};
  run(version, c, &in, &out);
  for (int i = 0; i < COUNT; i++) {
    int32_t sum = 0;
    for (int j = 0; j < TAPS; j++) sum += (int32_t)mask[j] * x[i + j];
    CHECK(y[i] == sum, "%s: %d is not %d", version_name(version), y[i], sum);
  }
}

/* A NaN or infinity touches the outputs whose taps reach it, and no other. */
static void contagion_check(int version) {
  for (int trial_index = 0; trial_index < 40; trial_index++) {
    int axis = trial_index % 2 ? FC_AXIS_X : FC_AXIS_Y;
    int64_t shape[4] = {1, axis == FC_AXIS_Y ? 70 : 1, 70, 3}, taps = random_int(1, 40), before = taps / 3,
            at[4];
    int64_t bad[4] = {0, random_int(0, shape[1] - 1), random_int(0, 69), random_int(0, 2)};
    float mask[40];
    for (int j = 0; j < taps; j++) mask[j] = (float)random_real();
    signal in = signal_new(FC_ARRAY, FC_F32, shape, LAYOUT_INTERLEAVED, axis, before, taps - 1 - before);
    signal out = signal_new(FC_ARRAY, FC_F32, shape, LAYOUT_INTERLEAVED, axis, 0, 0);
    signal_fill(&in, 0);
    view_set(&in.view, bad, trial_index % 3 ? NAN : INFINITY);
    fc_conv1d c = {.mask = mask, .taps = taps, .masks = 1, .before = before, .axis = axis, .compute = FC_F32};
    run(version, c, &in.view, &out.view);
    FOR_EACH(&out.view, at) {
      int64_t reach = bad[axis] - at[axis] + before, other = axis == FC_AXIS_X ? FC_AXIS_Y : FC_AXIS_X;
      int touched = at[3] == bad[3] && at[other] == bad[other] && reach >= 0 && reach < taps;
      CHECK(touched == !isfinite(view_get(&out.view, at)),
            "%s: a bad sample at %" PRId64 " and output %" PRId64, version_name(version), bad[axis],
            at[axis]);
    }
    signal_free(&in);
    signal_free(&out);
  }
}

int main(int argc, char **argv) {
  random_start(2);
  if (argc != 2) return fprintf(stderr, "usage: %s conv1d.txt\n", argv[0]), 2;
  goldens_check(argv[1]);
  for (int version = REFERENCE; version <= (int)fc_isa_best(); version++) {
    laws_check(version);
    long_mask_check(version);
    integers_check(version);
    contagion_check(version);
  }
  for (int i = 0; i < 300; i += trial_step()) trial_run();
  return check_result();
}

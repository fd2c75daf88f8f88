/* SPDX-License-Identifier: MIT */
/*
 * test_compose.c - composed kernels as far as no GPU is needed: their text and parameters, what NVRTC makes
 * of a corpus of them for three chips (no spills, no local memory). The parts with NVRTC are skipped where
 * there is none.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/compose/ranges.h"
#include "core/device/code_usage.h"
#include "core/device/jit.h"
#include "filters/conv1d/conv1d_overlap.h"
#include "tests/device/chains_of_functions.h"

static const stage gain = {.kind = GAIN, .dtype = FC_F32, .op = {.factor = 0.7}};
static const stage clip = {.kind = CLIP, .dtype = FC_F32, .op = {.low = 16, .high = 235}};
static const stage luma = {
    .kind = MATRIX, .dtype = FC_F32, .in = 3, .out = 1, .matrix = {0.299, 0.587, 0.114}};
static const stage rotate = {
    .kind = MATRIX, .dtype = FC_F32, .in = 3, .out = 3, .matrix = {0, 1, 0, 0, 0, 1, 1, 0, 0}};

static const stage curve = {
    .kind = CURVE, .dtype = FC_F32, .op = {.factor = 1 / 255.0, .high = 1, .exponent = 0.45, .span = 255}};
static const stage normalize = {
    .kind = AFFINES, .dtype = FC_F32, .in = 3, .out = 3, .matrix = {0.02, -2, 0.02, -2, 0.02, -2}};
/* From and to, of three channels. */
static stage color(int from, int to) {
  stage s = {.kind = COLOR, .dtype = FC_F32, .in = 3};
  stage_set_color(&s, 255, from - FC_SPACE_RGB, to);
  return s;
}
static const stage threshold = {.kind = THRESHOLD, .dtype = FC_F32, .op = {.from = 100, .high = 255}};
static const stage reversed = {.kind = MIX, .dtype = FC_F32, .in = 3, .out = 4};

/* ---- composing -------------------------------------------------------------------- */

/* A chain on an image of so many channels, whose last stage stores `out_dtype`. */
typedef struct chain {
  stage stages[8];
  guint n;
  int compute, kind, in_dtype, out_dtype;
  view_layout layout;
  gint64 channels;
} chain;

static launch *compose(chain *c) {
  g_autofree fc_compose_stage *described = g_new0(fc_compose_stage, c->n);
  fc_view in, out;
  gint64 shape[] = {1, 61, 997, c->channels}, out_shape[] = {1, 61, 997, c->channels};
  for (guint i = 0; i < c->n; i++) {
    if (i + 1 == c->n) c->stages[i].dtype = c->out_dtype;
    if (c->stages[i].kind >= MATRIX) out_shape[3] = c->stages[i].out;
    stage_prepare(&c->stages[i], c->compute);
  }
  stages_describe(c->stages, c->n, c->kind, described);
  view_make(&in, c->kind, c->in_dtype, shape, c->layout, FC_CUDA_DEVICE(0), (void *)(guintptr)0x10000);
  view_make(&out, c->kind, c->out_dtype, out_shape, c->layout, FC_CUDA_DEVICE(0), (void *)(guintptr)0x80000);
  return launch_new(described, c->n, c->compute, &in, &out, NULL, 132);
}

static chain images(stage first, stage second, int in, int out, gint64 channels) {
  return (chain){.stages = {first, second},
                 .n = 2,
                 .compute = FC_F32,
                 .kind = FC_IMAGE,
                 .in_dtype = in,
                 .out_dtype = out,
                 .channels = channels};
}

static void test_numbers_are_parameters(void) {
  chain a = images(gain, clip, FC_U8, FC_U8, 3), b = a, other = images(clip, gain, FC_U8, FC_U8, 3);
  b.stages[0].op.factor = 1.5;
  g_autoptr(launch) x = compose(&a), y = compose(&b), z = compose(&other);
  g_assert_true(x && y && z);
  g_assert_cmpstr(x->text, ==, y->text);
  g_assert_cmpstr(x->text, !=, z->text);
  g_assert_cmpuint(x->composed.n_params, ==, 144 + 16 + 16); /* arguments, gain, clip */
  float factor, limits[2];
  memcpy(&factor, y->composed.params + 144, sizeof factor);
  memcpy(limits, y->composed.params + 160, sizeof limits);
  g_assert_cmpfloat(factor, ==, 1.5f);
  g_assert_true(limits[0] == 16 && limits[1] == 235);
}

static void test_skeletons(void) {
  static const struct {
    gboolean pixels;
    view_layout layout;
    int in, out;
    const char *skeleton;
  } cases[] = {{FALSE, DENSE, FC_F32, FC_F32, "packs"},  {FALSE, GAPS, FC_U8, FC_F32, "packs"},
               {FALSE, PLANES, FC_I16, FC_I16, "packs"}, {FALSE, DENSE, FC_U8, FC_F64, "tiles"},
               {TRUE, DENSE, FC_U8, FC_U8, "tiles"},     {TRUE, GAPS, FC_F32, FC_U8, "tiles"},
               {TRUE, PLANES, FC_F32, FC_F32, "planes"}, {TRUE, PLANES, FC_U8, FC_F64, "planes"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    chain c = images(gain, cases[i].pixels ? rotate : clip, cases[i].in, cases[i].out, 3);
    c.layout = cases[i].layout;
    g_autoptr(launch) x = compose(&c);
    g_assert_nonnull(x);
    g_assert_cmpstr(fc_compose_skeleton(x->composed.variant), ==, cases[i].skeleton);
  }
  const struct {
    int in, out;
    const char *skeleton;
  } powers[] = {{FC_U8, FC_U8, "table"}, {FC_U8, FC_F32, "table"}, {FC_U16, FC_U16, "packs"}};
  for (guint i = 0; i < G_N_ELEMENTS(powers); i++) {
    chain c = images(curve, clip, powers[i].in, powers[i].out, 3);
    g_autoptr(launch) x = compose(&c);
    g_assert_nonnull(x);
    g_assert_cmpstr(fc_compose_skeleton(x->composed.variant), ==, powers[i].skeleton);
  }
}

/* A link of an integer type rounds, one of the type computed with does not. */
static void test_links(void) {
  chain c = images(gain, clip, FC_U8, FC_F32, 1);
  g_autoptr(launch) floats = compose(&c);
  c.stages[0].dtype = FC_U8;
  g_autoptr(launch) bytes = compose(&c);
  c.stages[0].dtype = FC_F64;
  g_autoptr(launch) doubles = compose(&c);
  c.stages[0].dtype = FC_F32, c.compute = FC_F64, c.out_dtype = FC_F64;
  g_autoptr(launch) narrowed = compose(&c);
  g_assert_null(strstr(floats->text, "fc_map_round"));
  g_assert_nonnull(strstr(bytes->text, "fc_map_round<uint8_t, 1>(v1"));
  g_assert_null(strstr(doubles->text, "fc_map_round"));
  g_assert_nonnull(strstr(narrowed->text, "fc_map_round<float, 1>(v1"));
}

/* What is said of values: that what comes to the last stage is no NaN, and that nothing stored is clipped. */
static void proofs_are(chain c, gboolean tame, gboolean quiet) {
  g_autoptr(launch) l = compose(&c);
  g_assert_nonnull(l);
  g_autofree char *last = g_strdup_printf("namespace stage%u ", c.n - 1);
  g_assert_cmpint(strstr(strstr(l->text, last), "fc_larger") != NULL, ==, tame);
  g_assert_cmpint(strstr(l->text, "QUIET = true") != NULL, ==, quiet);
}

/* A border of NaN is seen by a window and what is behind it. */
static void test_border_of_nan(void) {
  stage sum = {.kind = AROUND_SUM, .dtype = FC_F32, .in = 1, .out = 1}, limits = clip;
  stage_prepare(&sum, FC_F32), stage_prepare(&limits, FC_F32);
  sum.function.growth = 9;
  const fc_compose_stage stages[] = {{"sum", &sum.function, FC_F32, FC_IMAGE},
                                     {"clip", &limits.function, FC_U8, FC_IMAGE}};
  const double borders[] = {0, NAN};
  for (guint i = 0; i < 4; i++) {
    const fc_composition c = {stages, 2, FC_F32, 0, FC_BORDER_CONSTANT, borders[i / 2]};
    g_assert_cmpint(fc_ranges_nan_free(&c, i % 2, FC_U8), ==, i / 2 == 0);
  }
}

/* Numbers that the type computed with does not hold prove nothing: 1e-42 is not what 1e42 undoes. */
static void test_proofs(void) {
  stage half = gain, loud = gain, less = gain, more = gain, limits = clip, odd = rotate;
  half.op.factor = 0.5, loud.op.factor = 1.5, less.op.factor = 1e-42, more.op.factor = 1e42;
  proofs_are(images(half, clip, FC_U8, FC_U8, 3), TRUE, TRUE);
  proofs_are(images(half, clip, FC_F32, FC_U8, 3), FALSE, FALSE);
  chain c = images(less, more, FC_U8, FC_U8, 3);
  proofs_are(c, FALSE, FALSE);
  c.stages[2] = clip, c.n = 3;
  proofs_are(c, FALSE, FALSE);
  for (guint i = 0; i < 6; i++) c.stages[i] = gain, c.stages[i].op.factor = i < 3 ? 1e-14 : 1e14;
  c.n = 6;
  proofs_are(c, TRUE, FALSE);
  odd.matrix[4] = NAN;
  proofs_are(images(odd, half, FC_U8, FC_U8, 3), FALSE, FALSE);
  odd.matrix[4] = INFINITY;
  proofs_are(images(odd, half, FC_U8, FC_U8, 3), FALSE, FALSE);
  limits.op.low = 0, limits.op.high = 2147483647; /* one more in f32 */
  proofs_are(images(loud, limits, FC_I32, FC_I32, 3), TRUE, FALSE);
  proofs_are(images(gain, limits, FC_I32, FC_I32, 3), TRUE, TRUE);
  limits.op.high = 1e9;
  proofs_are(images(loud, limits, FC_I32, FC_I32, 3), TRUE, TRUE);
  /* A limit may lie outside. */
  limits.op.low = limits.op.high = 300;
  proofs_are(images(half, limits, FC_U8, FC_U8, 3), TRUE, FALSE);
  limits.op.low = -5;
  proofs_are(images(half, limits, FC_U8, FC_U8, 3), TRUE, TRUE);
  /* What is not negative stays so under factors that are not. */
  stage back = half;
  back.op.factor = 1.9;
  proofs_are(images(half, back, FC_U8, FC_U8, 3), TRUE, TRUE);
  back.op.factor = -0.9;
  proofs_are(images(half, back, FC_U8, FC_U8, 3), TRUE, FALSE);
  proofs_are(images(back, half, FC_U8, FC_U8, 3), TRUE, FALSE);
  /* 255 / 2 is rounded up on the way, and doubled again. */
  half.dtype = FC_I16, more.op.factor = 2;
  proofs_are(images(half, more, FC_U8, FC_U8, 3), TRUE, FALSE);
}

static void refused(const fc_compose_stage *s, guint n, const fc_view *in, const fc_view *out) {
  g_assert_null(launch_new(s, n, FC_F32, in, out, NULL, 132));
}

static void test_refusals(void) {
  gint64 shape[] = {1, 61, 997, 3}, nothing[] = {1, 0, 997, 3}, wide[] = {(gint64)1 << 20, 1 << 12, 97, 3};
  fc_view in, out, none, many;
  stage s = rotate;
  float numbers[4] = {0};
  stage_prepare(&s, FC_F32);
  fc_device_function f = s.function;
  fc_compose_stage described = {"matrix", &f, FC_F32, FC_IMAGE}, all[65];
  view_make(&in, FC_IMAGE, FC_F32, shape, DENSE, 0, numbers);
  view_make(&none, FC_IMAGE, FC_F32, nothing, DENSE, 0, numbers);
  view_make(&many, FC_IMAGE, FC_F32, wide, GAPS, 0, numbers);
  out = in;
  f.entry = "a; } evil";
  refused(&described, 1, &in, &out);
  f.entry = NULL;
  refused(&described, 1, &in, &out);
  f = s.function, f.source = NULL;
  refused(&described, 1, &in, &out);
  f = s.function, f.in = 4;
  refused(&described, 1, &in, &out);
  f = s.function, f.out = 17;
  refused(&described, 1, &in, &out);
  f = s.function, f.align = 32;
  refused(&described, 1, &in, &out);
  f = s.function, f.n_bytes = 1 << 20;
  refused(&described, 1, &in, &out);
  f = s.function;
  refused(&described, 1, &none, &none);
  refused(&described, 1, &many, &many);
  out.shape[FC_AXIS_X]--;
  refused(&described, 1, &in, &out);
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) all[i] = described;
  refused(all, 65, &in, &in);
  f.n_bytes = 80, all[0].function = &f;
  refused(all, 64, &in, &in); /* 5 KB of parameters */
}

/* ---- NVRTC ------------------------------------------------------------------------ */

static char *compiler_or_skip(void) {
  char *compiler = fc_jit_find_compiler();
  if (!compiler) g_test_skip("there is no libnvrtc");
  return compiler;
}

/* Milliseconds that a busy machine may take for a kernel. */
enum { LONG = 600000 };

typedef struct task {
  chain c;
  int major, minor;
  const char *compiler;
  char *complaint;
} task;

static void run_task(task *t) {
  GError *error = NULL;
  g_autoptr(launch) composed = compose(&t->c);
  GBytes *code = composed ? fc_jit_compile(FILTERCHAIN_JIT, t->compiler, t->major, t->minor, composed->text,
                                           LONG, NULL, &error)
                          : NULL;
  int frame = 0, registers = 0;
  if (code) code_usage(g_bytes_get_data(code, NULL), g_bytes_get_size(code), &frame, &registers);
  if (!composed)
    t->complaint = g_strdup("no kernel is composed");
  else if (error)
    t->complaint = g_strdup(error->message);
  else if (frame != 0 || registers < 8)
    t->complaint = g_strdup_printf("%s: %d bytes of local memory, %d registers",
                                   fc_compose_skeleton(composed->composed.variant), frame, registers);
  g_clear_error(&error);
  g_clear_pointer(&code, g_bytes_unref);
}

typedef struct work {
  task *tasks;
  guint n;
  gint next; /* atomic */
} work;

static void *run_tasks(void *data) {
  work *w = data;
  for (guint i; (i = (guint)g_atomic_int_add(&w->next, 1)) < w->n;) run_task(&w->tasks[i]);
  return NULL;
}

/* All pairs of types, and pixels of what media have, in each layout. */
static GPtrArray *corpus(void) {
  GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
  for (int in = 0; in < FC_DTYPE_COUNT; in++)
    for (int out = 0; out < FC_DTYPE_COUNT; out++)
      for (int pixels = 0; pixels < 2; pixels++) {
        const gboolean common = in == out || out == FC_F32 || (in == FC_U8 && out == FC_F64);
        if (!common) continue;
        chain c = images(gain, pixels ? (in == FC_U8 ? luma : rotate) : clip, in, out, 3);
        if (in == FC_F64) c.compute = FC_F64;
        c.layout = (view_layout)((in + out + pixels) % VIEW_LAYOUTS);
        if (in == FC_I16) c.kind = FC_AUDIO, c.stages[0].dtype = pixels ? FC_F32 : FC_I16;
        g_ptr_array_add(all, g_memdup2(&c, sizeof c));
        c.layout = DENSE, c.channels = pixels ? 3 : 1;
        if (pixels && in == out) g_ptr_array_add(all, g_memdup2(&c, sizeof c));
        c.stages[1] = reversed;
        if (pixels && in == out) g_ptr_array_add(all, g_memdup2(&c, sizeof c));
      }
  const chain others[] = {images(curve, threshold, FC_U8, FC_U8, 1),
                          images(curve, normalize, FC_U8, FC_F32, 3), images(gain, curve, FC_F32, FC_F32, 1),
                          images(gain, normalize, FC_U8, FC_F32, 3)};
  for (int space = FC_SPACE_GRAY; space < FC_SPACES; space++) {
    if (space == FC_SPACE_RGB || space == FC_SPACE_LINEAR) continue; /* parts of Lab */
    const chain to = images(gain, color(FC_SPACE_RGB, space), FC_U8,
                            space == FC_SPACE_LINEAR ? FC_F32 : FC_U8, 3),
                from = images(color(MAX(space, FC_SPACE_RGB), FC_SPACE_RGB), gain, FC_U8, FC_U8, 3);
    g_ptr_array_add(all, g_memdup2(&to, sizeof to));
    if (space > FC_SPACE_RGB) g_ptr_array_add(all, g_memdup2(&from, sizeof from));
  }
  for (guint i = 0; i < G_N_ELEMENTS(others); i++)
    g_ptr_array_add(all, g_memdup2(&others[i], sizeof others[i]));
  return all;
}

static void test_corpus(gconstpointer chip) {
  g_autofree char *compiler = compiler_or_skip();
  g_autoptr(GPtrArray) chains = corpus();
  const int sm = GPOINTER_TO_INT(chip);
  if (!compiler) return;
  g_autofree task *tasks = g_new0(task, chains->len);
  for (guint i = 0; i < chains->len; i++) {
    tasks[i].c = *(const chain *)g_ptr_array_index(chains, i);
    tasks[i].major = sm / 10, tasks[i].minor = sm % 10, tasks[i].compiler = compiler;
  }
  /* POSIX ones, whose order ThreadSanitizer sees. */
  work w = {tasks, chains->len, 0};
  pthread_t other;
  g_assert_cmpint(pthread_create(&other, NULL, run_tasks, &w), ==, 0);
  run_tasks(&w);
  pthread_join(other, NULL);
  for (guint i = 0; i < chains->len; i++) {
    const chain *c = &tasks[i].c;
    if (tasks[i].complaint &&
        strstr(tasks[i].complaint, "kernels cannot be compiled: nvrtc: error: invalid value for --gpu-arch"))
      g_test_skip("this NVRTC does not know the chip");
    else if (tasks[i].complaint)
      g_test_fail_printf("%s to %s, %d channels, layout %d: %s", fc_dtype_name(c->in_dtype),
                         fc_dtype_name(c->out_dtype), (int)c->channels, c->layout, tasks[i].complaint);
    g_free(tasks[i].complaint);
  }
  g_test_message("%u kernels", chains->len);
}

/* A filter, all of whose taps are the same; `count` of them. */
static fc_device_function filter_of(const char *entry, gint64 nx, gint64 ny, gint64 count) {
  static float taps[FC_FUNCTION_BYTES / sizeof(float)];
  for (gint64 i = 0; i < count; i++) taps[i] = 0.2f;
  return (fc_device_function){.size = sizeof(fc_device_function),
                              .flags = FC_FUNCTION_WINDOW,
                              .source = FC_FUNCTION_WINDOW_TEXT,
                              .entry = (char *)entry,
                              .bytes = taps,
                              .n_bytes = (guint32)count * 4,
                              .align = 4,
                              .low = 1,
                              .growth = 1,
                              .window_x = (guint32)nx,
                              .window_y = (guint32)ny};
}

/* Positions beyond 2^29 from the outputs are as good as others, unless what is at the signal's other end may
 * be looked at. */
static void test_far_ends(void) {
  const fc_device_function window = filter_of("fc_dense<5,1>", 5, 1, 5);
  const fc_compose_stage described = {
      .name = "window", .function = &window, .dtype = FC_F32, .kind = FC_AUDIO};
  gint64 shape[] = {1, 1, 100004, 1}, out_shape[] = {1, 1, 100000, 1};
  fc_composition c = {&described, 1, FC_F32, 0, FC_BORDER_REFLECT, 0};
  fc_view in, out;
  fc_composed to;
  view_make(&in, FC_AUDIO, FC_F32, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x10000);
  view_make(&out, FC_AUDIO, FC_F32, out_shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x80000);
  in.extent[FC_AXIS_X] = out.extent[FC_AXIS_X] = (gint64)1 << 31;
  in.origin[FC_AXIS_X] = (gint64)1 << 30, out.origin[FC_AXIS_X] = in.origin[FC_AXIS_X] + 2;
  g_assert_true(fc_compose(&c, &in, &out, NULL, 132, 0, &to));
  c.border = FC_BORDER_WRAP;
  g_assert_false(fc_compose(&c, &in, &out, NULL, 132, 0, &to));
  in.extent[FC_AXIS_X] = out.extent[FC_AXIS_X] = (gint64)1 << 29;
  in.origin[FC_AXIS_X] = 1000, out.origin[FC_AXIS_X] = 1002;
  g_assert_false(fc_compose(&c, &in, &out, NULL, 132, 0, &to));
  in.extent[FC_AXIS_X] = out.extent[FC_AXIS_X] = 1 << 28;
  g_assert_true(fc_compose(&c, &in, &out, NULL, 132, 0, &to));
}

/* ---- windows -------------------------------------------------------------------- */

/* The text of a composition on three images. */
static char *text_of(const fc_composition *c, int in_dtype, gint64 width, gint64 channels) {
  gint64 shape[] = {3, 120, width, channels};
  fc_view in, out;
  fc_composed to;
  view_make(&in, FC_IMAGE, in_dtype, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x10000);
  view_make(&out, FC_IMAGE, c->stages[c->n - 1].dtype, shape, DENSE, FC_CUDA_DEVICE(0),
            (void *)(guintptr)0x800000);
  g_assert_true(fc_compose(c, &in, &out, NULL, 132, 0, &to));
  return fc_compose_text(c, &in, &out, to.variant);
}

/* That of a filter alone. */
static char *text_of_filter(const char *entry, gint64 nx, gint64 ny, int in_dtype, int out_dtype,
                            gint64 width, gint64 channels) {
  const fc_device_function window =
      filter_of(entry, nx, ny, g_str_has_prefix(entry, "fc_dense") ? nx * ny : nx + ny);
  const fc_compose_stage described = {
      .name = "window", .function = &window, .dtype = out_dtype, .kind = FC_IMAGE};
  const fc_composition c = {&described, 1, FC_F32, 0, FC_BORDER_REFLECT101, 0};
  return text_of(&c, in_dtype, width, channels);
}

/* By how many bytes vectors are moved depends on where rows begin. */
static void test_rows_begin(void) {
  static const struct {
    int in, out;
    gint64 width, channels;
    const char *moved;
  } cases[] = {{FC_U16, FC_U16, 176, 4, ", 4, 16, 16, 8, "},
               {FC_U16, FC_U16, 175, 4, ", 4, 16, 16, 4, "},
               {FC_U16, FC_F32, 175, 4, ", 4, 8, 16, 8, "},
               {FC_U16, FC_U16, 175, 3, ", 4, 1, 1, 8, "},
               {FC_F32, FC_F32, 175, 4, ", 4, 16, 16, 4, "},
               {FC_F32, FC_F32, 175, 2, ", 4, 8, 8, 4, "},
               {FC_F32, FC_U16, 175, 2, ", 4, 8, 1, 4, "},
               {FC_F32, FC_F32, 175, 3, ", 4, 1, 1, 4, "},
               {FC_U8, FC_U8, 168, 3, ", 4, 16, 16, 8, "},
               {FC_U8, FC_U8, 172, 1, ", 4, 1, 1, 8, "}, /* one image a warp */
               {FC_U8, FC_U8, 300, 1, ", 4, 1, 1, 16, "}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = text_of_filter("fc_separable<5,5>", 5, 5, cases[i].in, cases[i].out,
                                           cases[i].width, cases[i].channels);
    const char *call = strstr(text, "fc_march<");
    g_assert_nonnull(call);
    if (!strstr(call, cases[i].moved)) g_test_fail_printf("case %u: %s in %s", i, cases[i].moved, call);
  }
}

/* Images of few rows, all of them, and of one column, whose pixels may be apart (filters/gpu/few.cuh). */
static void test_few_rows(void) {
  static const struct {
    gint64 rows, width, first, gap;
    const char *call; /* NULL: not by that */
  } cases[] = {{8, 4000, 0, 0, "  fc_few<8, fc_march<"},
               {3, 4000, 0, 0, "  fc_few<3, fc_march<"},
               {9, 4000, 0, 0, NULL},
               {8, 4000, 2, 0, NULL}, /* some of the rows */
               {4000, 1, 0, 0, ", 4, 16, 16, "},
               {4000, 1, 0, 8, ", 4, 0, 0, "}};
  const fc_device_function window = filter_of("fc_separable<5,9>", 5, 9, 14);
  const fc_compose_stage described = {
      .name = "window", .function = &window, .dtype = FC_F32, .kind = FC_IMAGE};
  const fc_composition c = {&described, 1, FC_F32, 0, FC_BORDER_REFLECT101, 0};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gint64 shape[] = {2, cases[i].rows, cases[i].width, 1};
    fc_view in, out;
    fc_composed to;
    view_make(&in, FC_IMAGE, FC_F32, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x10000);
    in.stride[FC_AXIS_Y] += cases[i].gap, in.stride[FC_AXIS_N] = in.shape[FC_AXIS_Y] * in.stride[FC_AXIS_Y];
    out = in, out.data = (void *)(guintptr)0x800000;
    out.origin[FC_AXIS_Y] = cases[i].first, out.shape[FC_AXIS_Y] -= cases[i].first;
    g_assert_true(fc_compose(&c, &in, &out, NULL, 132, 0, &to));
    g_autofree char *text = fc_compose_text(&c, &in, &out, to.variant);
    g_assert_cmpint(strstr(text, "fc_few<") != NULL, ==, cases[i].call != NULL);
    g_assert_cmpint(strstr(text, "typedef fc_turned<") != NULL, ==, cases[i].width == 1);
    if (cases[i].call && !strstr(text, cases[i].call)) g_test_fail_printf("%s in %s", cases[i].call, text);
  }
}

/* Dense masks of many taps have 4 or 8 elements a thread, by the width of rows, and one long column a
 * skeleton of its own. */
static void test_many_taps(void) {
  static const struct {
    const char *entry;
    gint64 nx, ny;
    int in, out;
    gint64 width, channels;
    const char *call;
  } cases[] = {
      {"fc_dense<14,9>", 14, 9, FC_U16, FC_U16, 141, 4, ", 8, 1, 32, 32, false, false, 1, fc_none"},
      {"fc_dense<19,5>", 19, 5, FC_F32, FC_F32, 286, 4, ", 8, 1, 32, 32, true, false, 1, fc_none"},
      {"fc_dense<16,16>", 16, 16, FC_F32, FC_F32, 3440, 2, ", 4, 4, 64, 64, true, false, 1, fc_none"},
      {"fc_dense<7,7>", 7, 7, FC_F32, FC_F32, 3440, 2, ", 8, 4, 96, 96, true, false, 4, fc_none"},
      {"fc_dense<1,31>", 1, 31, FC_F32, FC_F32, 3440, 2, ", 4, 4, 96, 96, false, false, 4, fc_none"},
      {"fc_dense<1,32>", 1, 32, FC_F32, FC_F32, 3440, 2, "  fc_column<float, "},
      {"fc_dense<1,48>", 1, 48, FC_U8, FC_U8, 304, 3, "  fc_column<uint8_t, "}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = text_of_filter(cases[i].entry, cases[i].nx, cases[i].ny, cases[i].in,
                                           cases[i].out, cases[i].width, cases[i].channels);
    if (!strstr(text, cases[i].call)) g_test_fail_printf("case %u: %s in %s", i, cases[i].call, text);
  }
}

/* Rows of floats that a window sees as they are, are copied where registers are short, but by large blocks
 * only; those of many rows of a mean eight at a time by small ones. */
static void test_copies(void) {
  static const struct {
    const char *entry;
    gint64 size, width;
    const char *call;
  } cases[] = {{"fc_separable<15,15>", 15, 5480, ", 4, 4, 128, 128, true, true, 4, "},
               {"fc_separable<15,15>", 15, 5477, ", 4, 4, 128, 128, true, false, 4, "},
               {"fc_separable<31,31>", 31, 5480, ", 4, 4, 128, 128, true, false, 4, "},
               {"fc_box_sums<2,23,23>", 23, 5480, ", 4, 4, 128, 128, true, true, 4, "},
               {"fc_box_sums<2,23,23>", 23, 224, ", 4, 4, 64, 64, true, false, 4, "},
               {"fc_box_sums<2,31,31>", 31, 5480, ", 4, 8, 64, 64, true, true, 8, "}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text =
        text_of_filter(cases[i].entry, cases[i].size, cases[i].size, FC_F32, FC_F32, cases[i].width, 1);
    if (!strstr(text, cases[i].call)) g_test_fail_printf("case %u: %s in %s", i, cases[i].call, text);
  }
}

/* What is proved of a window's values: a mask of weights keeps bytes and u16, whose sums are rounded by a few
 * units, one that adds up to 4 / 3 makes bytes that are clipped, but not far out of range. */
static void test_windows_prove(void) {
  static const struct {
    int in, out;
    double growth;
    const char *none;
  } cases[] = {{FC_U8, FC_U8, 1, ", fc_none_quiet>"},    {FC_U16, FC_U16, 1, ", fc_none_quiet>"},
               {FC_U8, FC_U8, 1.333, ", fc_none_near>"}, {FC_U8, FC_U8, 200, ", fc_none>"},
               {FC_U16, FC_U16, 1.333, ", fc_none>"},    {FC_F32, FC_U8, 1, ", fc_none>"},
               {FC_U16, FC_U16, 1.00001, ", fc_none>"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    fc_device_function window = filter_of("fc_separable<5,5>", 5, 5, 10);
    window.growth = cases[i].growth, window.flags |= FC_FUNCTION_NONNEGATIVE;
    const fc_compose_stage described = {
        .name = "window", .function = &window, .dtype = cases[i].out, .kind = FC_IMAGE};
    const fc_composition c = {&described, 1, FC_F32, 0, FC_BORDER_REFLECT101, 0};
    g_autofree char *text = text_of(&c, cases[i].in, 176, 1);
    if (!strstr(text, cases[i].none)) g_test_fail_printf("case %u: not %s", i, cases[i].none);
  }
}

/* Transforms are not checked for infinite results if inputs are integers, unless the mask, or what is
 * beyond the ends, is far too large; that stored values are integers proves nothing. */
static void test_transforms_prove(void) {
  static const struct {
    int in, out;
    double growth, beyond;
    const char *sure;
  } cases[] = {
      {FC_U8, FC_F32, 1, 0, ", true, fc_none, Op"},      {FC_I16, FC_I16, 2, 0, ", true, fc_none, Op"},
      {FC_F32, FC_U8, 1, 0, ", false, fc_none, Op"},     {FC_F32, FC_F32, 1, 0, ", false, fc_none, Op"},
      {FC_U16, FC_F32, 1e27, 0, ", false, fc_none, Op"}, {FC_U8, FC_U8, NAN, 0, ", false, fc_none, Op"},
      {FC_U8, FC_F32, 1e-9, 1e9, ", true, fc_none, Op"}, {FC_U8, FC_F32, 1e-9, 3e38, ", false, fc_none, Op"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    char entry[FC_FUNCTION_ENTRY];
    float numbers[FC_FUNCTION_BYTES / sizeof(float)] = {0};
    fc_device_function window = filter_of(entry, 271, 1, 0);
    const fc_conv1d_overlap o = fc_conv1d_overlap_of(271, 135, 1024, 2);
    window.bytes = numbers, window.growth = cases[i].growth;
    g_assert_cmpint(fc_conv1d_overlap_function(&o, 271, 135, 1, &window), ==, FC_OK);
    const fc_compose_stage described = {
        .name = "window", .function = &window, .dtype = cases[i].out, .kind = FC_IMAGE};
    const fc_composition c = {&described, 1, FC_F32, 0, FC_BORDER_CONSTANT, cases[i].beyond};
    g_autofree char *text = text_of(&c, cases[i].in, 1920, 1);
    if (!strstr(text, cases[i].sure)) g_test_fail_printf("case %u: not %s", i, cases[i].sure);
  }
}

/* Of a position of several transforms these are made in turn, and what waits takes shared memory. Where that
 * would be too much, or is too much for a device, they are different jobs; with functions of pixels there is
 * no kernel then, or no launch. */
static void test_transforms_in_turn(void) {
  static const struct {
    gint64 channels, transform;
    int together, turns, resident, shared; /* 0: there is none */
    stage_kind behind;
  } cases[] = {
      {1, 1024, 1, 1, 4, 34816, GAIN},  {2, 1024, 2, 1, 4, 34816, GAIN}, {2, 1024, 1, 2, 3, 67584, GAIN},
      {3, 1024, 1, 3, 2, 100352, GAIN}, {4, 1024, 2, 2, 3, 67584, GAIN}, {4, 1024, 1, 1, 4, 34816, GAIN},
      {6, 1024, 2, 3, 2, 100352, GAIN}, {8, 1024, 2, 1, 4, 34816, GAIN}, {3, 4096, 1, 1, 3, 36864, GAIN},
      {4, 4096, 2, 2, 3, 69632, GAIN},  {4, 8192, 2, 1, 2, 67584, GAIN}, {3, 16384, 1, 1, 1, 67584, GAIN},
      {3, 4096, 2, 0, 0, 0, GAIN},      {4, 4096, 2, 2, 3, 69632, MIX},  {3, 1024, 1, 3, 2, 100352, MIX},
      {3, 4096, 1, 0, 0, 0, MIX}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const gint64 channels = cases[i].channels;
    stage behind = {.kind = cases[i].behind, .order = 2, .in = channels, .out = channels};
    char entry[FC_FUNCTION_ENTRY];
    fc_function_transforms members;
    fc_device_function window = filter_of(entry, 271, 1, 0);
    const fc_conv1d_overlap o = fc_conv1d_overlap_of(271, 135, cases[i].transform, 3 - cases[i].together);
    window.bytes = &members;
    g_assert_cmpint(fc_conv1d_overlap_function(&o, 271, 135, 1, &window), ==, FC_OK);
    stage_prepare(&behind, FC_F32);
    const fc_compose_stage stages[] = {{"window", &window, FC_F32, FC_IMAGE},
                                       {"behind", &behind.function, FC_F32, FC_IMAGE}};
    const fc_composition c = {stages, 2, FC_F32, 0, FC_BORDER_REFLECT101, 0};
    g_assert_cmpint(fc_compose_possible(&c, FC_U8, channels), ==, cases[i].turns > 0);
    if (!cases[i].turns) continue;
    gint64 shape[] = {3, 120, 1920, channels};
    fc_view in, out;
    fc_composed to;
    view_make(&in, FC_IMAGE, FC_U8, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x10000);
    view_make(&out, FC_IMAGE, FC_F32, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x80000000);
    const int own = members.shared;
    for (int less = 0; less < 2; less++) {
      members.room = cases[i].shared - less;
      const gboolean apart = less && cases[i].turns > 1 && cases[i].behind == GAIN;
      g_assert_cmpint(fc_compose(&c, &in, &out, NULL, 132, 0, &to), ==, !less || apart);
      if (less && !apart) continue;
      g_autofree char *text = fc_compose_text(&c, &in, &out, to.variant);
      g_autofree char *is = g_strdup_printf("Op::is(%d, %d, %d, %d)", members.threads, members.groups,
                                            apart ? 1 : cases[i].turns, apart ? own : cases[i].shared);
      g_autofree char *bounds = g_strdup_printf("__launch_bounds__(%d, %d)", members.threads,
                                                apart ? members.resident : cases[i].resident);
      g_assert_cmpint(to.shared, ==, apart ? own : cases[i].shared);
      if (!strstr(text, is) || !strstr(text, bounds)) g_test_fail_printf("case %u: %s", i, text);
    }
  }
}

/* A factor ahead of a window is part of how codes become values where that is exact. */
static void test_factors(void) {
  static const struct {
    int in;
    double factor;
    gboolean scales;
  } cases[] = {{FC_U8, 1.1, TRUE}, {FC_U16, 0.3, TRUE}, {FC_I16, 1.1, FALSE}, {FC_F32, 1.1, FALSE},
               {FC_U8, 0, FALSE},  {FC_U8, -1, FALSE},  {FC_U8, 1e10, FALSE}, {FC_U8, 1e-10, FALSE}};
  const fc_device_function window = filter_of("fc_separable<5,5>", 5, 5, 10);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    stage scale = gain;
    scale.op.factor = cases[i].factor;
    stage_prepare(&scale, FC_F32);
    const fc_compose_stage stages[] = {{"gain", &scale.function, FC_F32, FC_IMAGE},
                                       {"window", &window, FC_F32, FC_IMAGE}};
    const fc_composition c = {stages, 2, FC_F32, 1, FC_BORDER_REFLECT101, 0};
    g_autofree char *text = text_of(&c, cases[i].in, 176, 1);
    g_assert_cmpint(strstr(text, "SCALES = true") != NULL, ==, cases[i].scales);
  }
}

/* Of what takes a few registers more than 16 warps have, the compiler is asked for fewer: here it takes 129
 * and 132 by itself (NVRTC 13.0). It is not asked where that took five seconds, as it may on a busy machine.
 */
static void test_few_registers(void) {
  static const struct {
    const char *entry;
    gint64 nx, ny, width, channels;
    int most;
  } cases[] = {{"fc_separable<15,15>", 15, 15, 1937, 1, 128}, {"fc_separable<9,17>", 9, 17, 1937, 1, 128}};
  g_autofree char *compiler = compiler_or_skip();
  for (guint i = 0; compiler && i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *text = text_of_filter(cases[i].entry, cases[i].nx, cases[i].ny, FC_F32, FC_F32,
                                           cases[i].width, cases[i].channels);
    int frame = 0, registers = G_MAXINT;
    g_assert_nonnull(strstr(text, " FC_AT_LEAST)"));
    for (int trial = 0; trial < 10 && registers > cases[i].most; trial++) {
      g_autoptr(GBytes) code = fc_jit_compile(FILTERCHAIN_JIT, compiler, 9, 0, text, LONG, NULL, &error);
      g_assert_no_error(error);
      code_usage(g_bytes_get_data(code, NULL), g_bytes_get_size(code), &frame, &registers);
    }
    g_test_message("%s: %d registers, %d bytes of local memory", cases[i].entry, registers, frame);
    g_assert_true(registers > 0 && registers <= cases[i].most && frame == 0);
  }
}

/* The largest neighbour less the smallest, in a window of constant size: all of it in registers. */
static const char range_text[] =
    "template <int NX, int NY> struct range {\n  real factor;\n"
    "  FC_DEVICE real operator()(const fc_around &at) const {\n    real least = at(0, 0), most = least;\n"
    "    for (int y = -NY / 2; y < NY - NY / 2; y++)\n      for (int x = -NX / 2; x < NX - NX / 2; x++)\n"
    "        least = fc_at_most(least, at(x, y)), most = fc_at_least(most, at(x, y));\n"
    "    return (most - least) * factor;\n  }\n};\n";

typedef struct window_task {
  gboolean dense;
  int nx, ny, in, out;
  gint64 channels;
  gboolean luma;
  const char *statistic;   /* of sound, but for fc_box; NULL: a filter of an image */
  int transform, together; /* length, and channels at a time; 0: none */
  gboolean around;         /* in place of a filter */
  gboolean sharpened;      /* a separable one */
  const char *compiler;
  char *complaint;
  int registers;
} window_task;

static void run_window(gpointer data, gpointer unused) {
  window_task *t = data;
  g_autoptr(GError) error = NULL;
  stage before = t->luma ? luma : gain, after = clip;
  double taps[FC_FUNCTION_BYTES / sizeof(double)] = {0};
  const char *sums = t->dense ? "fc_dense" : t->sharpened ? "fc_sharpened" : "fc_separable";
  g_autofree char *entry =
      t->statistic ? g_strdup(t->statistic) : g_strdup_printf("%s<%d,%d>", sums, t->nx, t->ny);
  const gboolean box = t->statistic && g_str_has_prefix(t->statistic, "fc_box");
  const int kind = (t->statistic && !box) || t->transform ? FC_AUDIO : FC_IMAGE;
  const guint first = t->statistic && !strstr(t->statistic, ",4,0>") ? 1 : 0; /* codes are what is read */
  fc_device_function window = {.size = sizeof window,
                               .flags = FC_FUNCTION_WINDOW,
                               .source = box            ? FC_FUNCTION_BOX_TEXT
                                         : t->statistic ? FC_FUNCTION_STATISTIC_TEXT
                                         : t->sharpened ? FC_FUNCTION_SHARPENED_TEXT
                                                        : FC_FUNCTION_WINDOW_TEXT,
                               .entry = entry,
                               .bytes = taps,
                               .n_bytes = t->statistic ? 0
                                          : t->dense   ? 4 * (guint32)(t->nx * t->ny)
                                                       : 4 * (guint32)(t->nx + t->ny + 2 * t->sharpened),
                               .align = 4,
                               .low = 1,
                               .growth = -1,
                               .window_x = (guint32)t->nx,
                               .window_y = (guint32)t->ny};
  char transforms[FC_FUNCTION_ENTRY];
  if (t->transform) {
    const fc_conv1d_overlap o = fc_conv1d_overlap_of(t->nx, t->nx / 2, t->transform, 3 - t->together);
    window.entry = transforms;
    g_assert_cmpint(fc_conv1d_overlap_function(&o, t->nx, t->nx / 2, 1, &window), ==, FC_OK);
  }
  const int compute = t->around && t->in == FC_F64 ? FC_F64 : FC_F32;
  if (t->around) {
    window.entry = transforms, window.source = range_text, window.flags |= FC_FUNCTION_AROUND;
    window.n_bytes = window.align = (guint32)fc_dtype_size(compute);
    g_snprintf(transforms, sizeof transforms, "range<%d, %d>", t->nx, t->ny);
  }
  stage_prepare(&before, compute), stage_prepare(&after, compute);
  const fc_compose_stage stages[] = {{"before", &before.function, compute, kind},
                                     {"window", &window, compute, kind},
                                     {"after", &after.function, t->out, kind}};
  const fc_composition c = {stages + first, 3 - first, compute, 1 - first, FC_BORDER_REFLECT101, 0};
  const gint64 rows = kind == FC_AUDIO ? 1 : 1080;
  gint64 shape[] = {1, rows, 1920, t->channels}, out_shape[] = {1, rows, 1920, t->luma ? 1 : t->channels};
  fc_view in, out;
  fc_composed made;
  view_make(&in, kind, t->in, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x10000);
  view_make(&out, kind, t->out, out_shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x80000);
  if (fc_compose(&c, &in, &out, NULL, 132, 0, &made)) {
    g_autofree char *text = fc_compose_text(&c, &in, &out, made.variant);
    GBytes *code = fc_jit_compile(FILTERCHAIN_JIT, t->compiler, 9, 0, text, LONG, NULL, &error);
    int frame = 0;
    if (code) code_usage(g_bytes_get_data(code, NULL), g_bytes_get_size(code), &frame, &t->registers);
    if (frame > (t->statistic || t->transform ? 64 : 0)) /* of what is called where a guess is not sure */
      t->complaint = g_strdup_printf("%d bytes of local memory", frame);
    if (code) g_bytes_unref(code);
    if (error) t->complaint = g_strdup(error->message);
  } else {
    t->complaint = g_strdup("no kernel is composed");
  }
}

static window_task window_tasks[] = {{FALSE, 5, 5, FC_F32, FC_F32, 1, FALSE},
                                     {FALSE, 15, 15, FC_F32, FC_F32, 1, FALSE},
                                     {FALSE, 31, 31, FC_F32, FC_F32, 1, FALSE},
                                     {FALSE, 31, 31, FC_F32, FC_F32, 3, FALSE},
                                     {FALSE, 31, 31, FC_U8, FC_U8, 4, FALSE},
                                     {FALSE, 25, 25, FC_U8, FC_U8, 1, FALSE},
                                     {TRUE, 5, 5, FC_U8, FC_U8, 4, FALSE},
                                     {TRUE, 12, 4, FC_U8, FC_U8, 2, FALSE},
                                     {TRUE, 7, 7, FC_U8, FC_U8, 1, FALSE},
                                     {TRUE, 9, 5, FC_F32, FC_F32, 1, FALSE},
                                     {TRUE, 6, 6, FC_F32, FC_F32, 1, FALSE},
                                     {TRUE, 15, 15, FC_F32, FC_F32, 1, FALSE},
                                     {FALSE, 5, 5, FC_U8, FC_U8, 3, FALSE},
                                     {FALSE, 15, 15, FC_U8, FC_U8, 3, FALSE},
                                     {FALSE, 5, 5, FC_U8, FC_U8, 3, TRUE},
                                     {FALSE, 9, 9, FC_U8, FC_U8, 3, .sharpened = TRUE},
                                     {FALSE, 9, 9, FC_F32, FC_F32, 1, .sharpened = TRUE},
                                     {FALSE, 17, 17, FC_U16, FC_U16, 3, .sharpened = TRUE},
                                     {TRUE, 3, 15, FC_U16, FC_F32, 4, FALSE},
                                     {TRUE, 127, 1, FC_U8, FC_U8, 3, FALSE},
                                     {TRUE, 99, 1, FC_U16, FC_F32, 4, FALSE},
                                     {TRUE, 99, 1, FC_F32, FC_F32, 1, FALSE},
                                     {TRUE, 14, 9, FC_U16, FC_U16, 4, FALSE},
                                     {TRUE, 19, 13, FC_F32, FC_F32, 2, FALSE},
                                     {TRUE, 1, 32, FC_F32, FC_F32, 4, FALSE},
                                     {TRUE, 1, 41, FC_U16, FC_F32, 3, FALSE},
                                     {TRUE, 1, 48, FC_U8, FC_U8, 1, FALSE},
                                     {FALSE, 369, 1, FC_U8, FC_U8, 4, FALSE, "fc_statistic<2,369,4,0>"},
                                     {FALSE, 4800, 1, FC_F32, FC_F32, 2, FALSE, "fc_statistic<5,4800,4,0>"},
                                     {FALSE, 40, 1, FC_F32, FC_F32, 4, FALSE, "fc_statistic<7,40,4,0>"},
                                     {FALSE, 645, 1, FC_I16, FC_I16, 4, FALSE, "fc_statistic<4,645,4,0>"},
                                     {FALSE, 14, 1, FC_F32, FC_F32, 3, FALSE, "fc_statistic<4,14,4,0>"},
                                     {FALSE, 40, 1, FC_F32, FC_F32, 3, FALSE, "fc_statistic<4,40,4,0>"},
                                     {FALSE, 600, 1, FC_F32, FC_F32, 3, FALSE, "fc_statistic<4,600,4,0>"},
                                     {FALSE, 9, 1, FC_U8, FC_U8, 3, FALSE, "fc_statistic<6,9,4,0>"},
                                     {FALSE, 16384, 1, FC_F32, FC_F32, 4, FALSE, "fc_statistic<6,16384,4,0>"},
                                     {FALSE, 549, 1, FC_U8, FC_U8, 1, FALSE, "fc_statistic<6,549,0,0>"},
                                     {FALSE, 4800, 1, FC_I16, FC_I16, 2, FALSE, "fc_statistic<7,4800,1,0>"},
                                     {FALSE, 1457, 1, FC_I16, FC_I16, 2, FALSE, "fc_statistic<2,1457,1,0>"},
                                     {FALSE, 4800, 1, FC_I16, FC_I16, 2, FALSE, "fc_statistic<5,4800,1,0>"},
                                     {FALSE, 116, 1, FC_U8, FC_U8, 1, FALSE, "fc_statistic<4,116,0,0>"},
                                     {FALSE, 15, 15, FC_U8, FC_U8, 3, FALSE, "fc_box<7,15,15,0,4>"},
                                     {FALSE, 31, 31, FC_F32, FC_F32, 1, FALSE, "fc_box<6,31,31,4,4>"},
                                     {FALSE, 31, 31, FC_U16, FC_U16, 4, FALSE, "fc_box<2,31,31,2,4>"},
                                     {FALSE, 7, 7, FC_U8, FC_F32, 3, FALSE, "fc_box<4,7,7,0,4>"},
                                     {FALSE, 1, 31, FC_U8, FC_U8, 1, FALSE, "fc_box<5,1,31,0,4>"},
                                     {TRUE, 127, 1, FC_U8, FC_U8, 1, FALSE, NULL, 1024, 1},
                                     {TRUE, 1023, 1, FC_I16, FC_F32, 2, FALSE, NULL, 4096, 2},
                                     {TRUE, 3000, 1, FC_F32, FC_F32, 4, FALSE, NULL, 8192, 2},
                                     {TRUE, 101, 1, FC_U8, FC_U8, 4, FALSE, NULL, 1024, 2},
                                     {TRUE, 101, 1, FC_F32, FC_F32, 3, FALSE, NULL, 1024, 1},
                                     {TRUE, 381, 1, FC_F32, FC_I16, 4, FALSE, NULL, 4096, 2},
                                     {TRUE, 3, 3, FC_F32, FC_F32, 1, FALSE, NULL, 0, 0, TRUE},
                                     {TRUE, 3, 3, FC_U8, FC_U8, 3, FALSE, NULL, 0, 0, TRUE},
                                     {TRUE, 5, 5, FC_U8, FC_U8, 3, TRUE, NULL, 0, 0, TRUE},
                                     {TRUE, 9, 9, FC_I16, FC_F32, 4, FALSE, NULL, 0, 0, TRUE},
                                     {TRUE, 31, 31, FC_F32, FC_F32, 1, FALSE, NULL, 0, 0, TRUE},
                                     {TRUE, 4, 5, FC_F64, FC_F64, 2, FALSE, NULL, 0, 0, TRUE},
                                     {TRUE, 31, 31, FC_F64, FC_F64, 3, FALSE, NULL, 0, 0, TRUE}};

static void test_windows(void) {
  g_autofree char *compiler = compiler_or_skip();
  if (!compiler) return;
  GThreadPool *pool = g_thread_pool_new(run_window, NULL, 2, FALSE, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(window_tasks); i++) {
    window_tasks[i].compiler = compiler;
    g_thread_pool_push(pool, &window_tasks[i], NULL);
  }
  g_thread_pool_free(pool, FALSE, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS(window_tasks); i++) {
    const window_task *t = &window_tasks[i];
    g_test_message("%s %d x %d, %s to %s, %d channels%s: %d registers",
                   t->statistic   ? t->statistic
                   : t->transform ? "transforms"
                   : t->around    ? "around"
                   : t->dense     ? "dense"
                   : t->sharpened ? "sharpened"
                                  : "separable",
                   t->ny, t->nx, fc_dtype_name(t->in), fc_dtype_name(t->out), (int)t->channels,
                   t->luma ? ", luma" : "", t->registers);
    if (t->complaint) g_test_fail_printf("%d x %d: %s", t->ny, t->nx, t->complaint);
    g_free(t->complaint);
  }
}

/* What the compiler says of a plugin's text names the plugin and the line. */
static void test_faulty_text(void) {
  g_autofree char *compiler = compiler_or_skip();
  g_autoptr(GError) error = NULL, unknown = NULL;
  if (!compiler) return;
  chain c = images(gain, clip, FC_F32, FC_F32, 1);
  g_autoptr(launch) right = compose(&c);
  fc_device_function f = c.stages[0].function;
  f.source = "struct fc_scale {\n  real factor;\n  FC_DEVICE real operator()(real v) const { return v * "
             "factr; }\n};\n";
  fc_compose_stage s[2];
  stages_describe(c.stages, 2, FC_IMAGE, s);
  s[0].name = "my_gain", s[0].function = &f;
  gint64 shape[] = {1, 61, 997, 1};
  fc_view in;
  view_make(&in, FC_IMAGE, FC_F32, shape, DENSE, 0, (void *)(guintptr)0x10000);
  g_autoptr(launch) wrong = launch_new(s, 2, FC_F32, &in, &in, NULL, 132);
  g_assert_null(fc_jit_compile(FILTERCHAIN_JIT, compiler, 9, 0, wrong->text, 0, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_assert_nonnull(strstr(error->message, "my_gain(3): error"));
  g_assert_nonnull(strstr(error->message, "factr"));
  g_assert_null(fc_jit_compile(FILTERCHAIN_JIT, compiler, 1, 1, right->text, 0, NULL, &unknown));
  g_assert_error(unknown, FC_ERROR, FC_UNSUPPORTED);
}

/* Members that are not what the bytes are would be read from each other's place. */
static void test_layout_is_checked(void) {
  g_autofree char *compiler = compiler_or_skip();
  g_autoptr(GError) error = NULL;
  if (!compiler) return;
  chain c = images(gain, clip, FC_F32, FC_F32, 1);
  g_autoptr(launch) right = compose(&c);
  GString *text = g_string_new(right->text);
  g_assert_cmpuint(
      g_string_replace(text, "sizeof(stage0::fc_scale) == 4", "sizeof(stage0::fc_scale) == 8", 0), ==, 1);
  g_assert_null(fc_jit_compile(FILTERCHAIN_JIT, compiler, 9, 0, text->str, 0, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_assert_nonnull(strstr(error->message, "parameters of gain"));
  g_string_free(text, TRUE);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/compose/numbers are parameters", test_numbers_are_parameters);
  g_test_add_func("/compose/skeletons", test_skeletons);
  g_test_add_func("/compose/links", test_links);
  g_test_add_func("/compose/proofs", test_proofs);
  g_test_add_func("/compose/border of NaN", test_border_of_nan);
  g_test_add_func("/compose/refusals", test_refusals);
  g_test_add_func("/compose/far ends", test_far_ends);
  g_test_add_data_func("/compose/corpus for sm_75", GINT_TO_POINTER(75), test_corpus);
  g_test_add_data_func("/compose/corpus for sm_90", GINT_TO_POINTER(90), test_corpus);
  g_test_add_data_func("/compose/corpus for sm_120", GINT_TO_POINTER(120), test_corpus);
  g_test_add_func("/compose/rows begin", test_rows_begin);
  g_test_add_func("/compose/few rows", test_few_rows);
  g_test_add_func("/compose/many-taps", test_many_taps);
  g_test_add_func("/compose/copies", test_copies);
  g_test_add_func("/compose/windows prove", test_windows_prove);
  g_test_add_func("/compose/transforms prove", test_transforms_prove);
  g_test_add_func("/compose/transforms in turn", test_transforms_in_turn);
  g_test_add_func("/compose/factors", test_factors);
  g_test_add_func("/compose/few registers", test_few_registers);
  g_test_add_func("/compose/windows", test_windows);
  g_test_add_func("/compose/faulty text", test_faulty_text);
  g_test_add_func("/compose/layout is checked", test_layout_is_checked);
  return g_test_run();
}

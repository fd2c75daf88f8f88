/* SPDX-License-Identifier: MIT */
/*
 * test_series.c - several windows in one kernel (core/compose/series.h) as far as no GPU is needed: which of
 * them, when an estimate says that it pays, and what NVRTC makes of some of them (no local memory), where it
 * is installed. test_emulated.c runs them.
 */
#include <string.h>

#include "core/compose/series.h"
#include "core/device/code_usage.h"
#include "core/device/jit.h"
#include "tests/device/chains_of_functions.h"
#include "tests/device/some_windows.h"

/* Milliseconds that a busy machine may take for a kernel. */
enum { LONG = 600000 };

/* ---- compiled ---------------------------------------------------------------------- */

/* Windows as in some_windows.h, one behind the other. */
typedef struct series_task {
  const char *windows[4];
  int kind, in, out;
  gint64 channels;
  gboolean between; /* a gain behind each window */
  const char *compiler;
  char *complaint;
  int registers;
} series_task;

static void run_series(gpointer data, gpointer unused) {
  series_task *t = data;
  g_autoptr(GError) error = NULL;
  stage middle = {.kind = GAIN, .dtype = FC_F32, .op = {.factor = 0.7}};
  double taps[FC_FUNCTION_BYTES / sizeof(double)] = {0};
  char entries[4][FC_FUNCTION_ENTRY];
  fc_device_function windows[4];
  fc_compose_stage stages[8];
  fc_composition c = {stages, 0, FC_F32, 0, FC_BORDER_REFLECT101, 0, 0};
  stage_prepare(&middle, FC_F32);
  for (guint i = 0; i < 4 && t->windows[i]; i++) {
    window_describe(t->windows[i], &windows[i], entries[i], taps);
    stages[c.n++] = (fc_compose_stage){"window", &windows[i], FC_F32, t->kind, FC_BORDER_REFLECT101, 0};
    if (t->between) stages[c.n++] = (fc_compose_stage){"gain", &middle.function, FC_F32, t->kind};
    c.windows++;
  }
  stages[c.n - 1].dtype = t->out;
  const gint64 rows = t->kind == FC_AUDIO ? 1 : 1080, columns = t->kind == FC_AUDIO ? 1 << 20 : 1920;
  gint64 shape[] = {1, rows, columns, t->channels};
  fc_view in, out;
  fc_composed made;
  view_make(&in, t->kind, t->in, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x10000);
  view_make(&out, t->kind, t->out, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x80000);
  if (fc_compose(&c, &in, &out, NULL, 132, 0, &made)) {
    g_autofree char *text = fc_compose_text(&c, &in, &out, made.variant);
    GBytes *code = fc_jit_compile(FILTERCHAIN_JIT, t->compiler, 9, 0, text, LONG, NULL, &error);
    int frame = 0;
    if (code) code_usage(g_bytes_get_data(code, NULL), g_bytes_get_size(code), &frame, &t->registers);
    if (frame > 0) t->complaint = g_strdup_printf("%d bytes of local memory", frame);
    if (code) g_bytes_unref(code);
    if (error) t->complaint = g_strdup(error->message);
  } else {
    t->complaint = g_strdup("no kernel is composed");
  }
}

static void test_series(void) {
  series_task tasks[] = {{{"s5x5", "s5x5"}, FC_IMAGE, FC_F32, FC_F32, 1},
                         {{"s9x9", "s15x15"}, FC_IMAGE, FC_F32, FC_F32, 1},
                         {{"s5x5", "s5x5"}, FC_IMAGE, FC_U8, FC_U8, 3, TRUE},
                         {{"d3x3", "d5x5"}, FC_IMAGE, FC_U16, FC_U16, 2},
                         {{"d7x7", "s7x7"}, FC_IMAGE, FC_F32, FC_F32, 4},
                         {{"d3x3", "s5x5", "d3x3"}, FC_IMAGE, FC_U8, FC_U8, 1},
                         {{"d5x1", "d9x1"}, FC_AUDIO, FC_F32, FC_F32, 1},
                         {{"d31x1", "d31x1"}, FC_AUDIO, FC_I16, FC_I16, 2, TRUE},
                         {{"d3x1", "m9"}, FC_AUDIO, FC_U8, FC_U8, 2},
                         {{"d25x1", "m24", "d3x1", "d9x1"}, FC_AUDIO, FC_F32, FC_F32, 4}};
  g_autofree char *compiler = fc_jit_find_compiler();
  if (!compiler) {
    g_test_skip("there is no libnvrtc");
    return;
  }
  GThreadPool *pool = g_thread_pool_new(run_series, NULL, 2, FALSE, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(tasks); i++) {
    tasks[i].compiler = compiler;
    g_thread_pool_push(pool, &tasks[i], NULL);
  }
  g_thread_pool_free(pool, FALSE, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS(tasks); i++) {
    const series_task *t = &tasks[i];
    g_test_message("%s, %s, ..., %s to %s, %d channels: %d registers", t->windows[0], t->windows[1],
                   fc_dtype_name(t->in), fc_dtype_name(t->out), (int)t->channels, t->registers);
    if (t->complaint) g_test_fail_printf("%s, %s: %s", t->windows[0], t->windows[1], t->complaint);
    g_free(t->complaint);
  }
}

/* ---- which, and whether it pays -------------------------------------------------------- */

typedef struct made {
  fc_device_function windows[4];
  char entries[4][FC_FUNCTION_ENTRY];
  double taps[FC_FUNCTION_BYTES / sizeof(double)];
  fc_compose_stage stages[4];
  fc_composition c;
} made;

static void make(made *m, const char *const *windows, int kind, int out, int border) {
  *m = (made){.c = {m->stages, 0, FC_F32, 0, border, 0, 0}};
  for (guint i = 0; i < 4 && windows[i]; i++) {
    window_describe(windows[i], &m->windows[i], m->entries[i], m->taps);
    m->stages[i] = (fc_compose_stage){"window", &m->windows[i], FC_F32, kind, border, 0};
    m->c.n++, m->c.windows++;
  }
  m->stages[m->c.n - 1].dtype = out;
}

static void test_which(void) {
  static const struct {
    const char *windows[4];
    int kind, in, out, border;
    gint64 channels;
    gboolean is;
  } cases[] = {{{"d5x1", "d9x1"}, FC_AUDIO, FC_F32, FC_F32, FC_BORDER_ZERO, 1, TRUE},
               {{"d5x1"}, FC_AUDIO, FC_F32, FC_F32, FC_BORDER_ZERO, 1, FALSE},
               {{"d5x1", "d9x1"}, FC_AUDIO, FC_F32, FC_F32, FC_BORDER_WRAP, 1, FALSE},
               {{"d5x1", "d9x1"}, FC_AUDIO, FC_F32, FC_F32, FC_BORDER_ZERO, 5, FALSE},
               {{"d5x1", "d9x1"}, FC_AUDIO, FC_F32, FC_I32, FC_BORDER_ZERO, 1, FALSE},
               {{"d5x1", "m300"}, FC_AUDIO, FC_F32, FC_F32, FC_BORDER_ZERO, 1, FALSE},
               {{"s5x5", "d3x3", "m9", "s3x3"}, FC_IMAGE, FC_U8, FC_U8, FC_BORDER_REPLICATE, 3, TRUE},
               {{"s5x5", "d15x15"}, FC_IMAGE, FC_U8, FC_U8, FC_BORDER_REPLICATE, 3, FALSE}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    made m;
    fc_series k;
    make(&m, cases[i].windows, cases[i].kind, cases[i].out, cases[i].border);
    g_test_message("%s, %s", cases[i].windows[0], cases[i].windows[1]);
    g_assert_cmpint(fc_series_describe(&k, &m.c, cases[i].in, cases[i].channels, FALSE, 0), ==, cases[i].is);
    if (!cases[i].is) continue;
    g_assert_cmpuint(k.n, ==, m.c.windows);
    g_assert_cmpint(k.line, ==, cases[i].kind == FC_AUDIO);
    g_assert_cmpint(k.width, ==, k.threads * k.v - k.left - k.right);
  }
}

/* A value that is rounded between two windows would be noted of samples that are no outputs. */
static void test_rounding(void) {
  made m;
  fc_series k;
  make(&m, (const char *const[]){"d5x1", "d9x1", NULL}, FC_AUDIO, FC_U8, FC_BORDER_ZERO);
  g_assert_true(fc_series_describe(&k, &m.c, FC_U8, 1, FALSE, 0));
  m.stages[0].dtype = FC_U8;
  g_assert_false(fc_series_describe(&k, &m.c, FC_U8, 1, FALSE, 0));
  make(&m, (const char *const[]){"m5", "d9x1", NULL}, FC_AUDIO, FC_U8, FC_BORDER_ZERO);
  m.stages[0].dtype = FC_U8; /* one of the bytes that are read */
  g_assert_true(fc_series_describe(&k, &m.c, FC_U8, 1, FALSE, 0));
}

/* Where the end of a stream is not known, its border is not either: the stages run one by one. */
static void test_unknown_end(void) {
  made m;
  fc_view in, out;
  fc_composed to;
  gint64 shape[] = {1, 1, 1 << 20, 1};
  make(&m, (const char *const[]){"d3x1", "d5x1", NULL}, FC_AUDIO, FC_F32, FC_BORDER_ZERO);
  view_make(&in, FC_AUDIO, FC_F32, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x10000);
  view_make(&out, FC_AUDIO, FC_F32, shape, DENSE, FC_CUDA_DEVICE(0), (void *)(guintptr)0x80000);
  g_assert_true(fc_compose(&m.c, &in, &out, NULL, 132, 0, &to));
  in.extent[FC_AXIS_X] = out.extent[FC_AXIS_X] = FC_UNKNOWN;
  g_assert_false(fc_compose(&m.c, &in, &out, NULL, 132, 0, &to));
}

static void test_pays(void) {
  static const struct {
    const char *windows[4];
    int kind, dtype;
    gint64 extent[FC_AXES];
    gboolean pays;
  } cases[] = {{{"d3x1", "d5x1"}, FC_AUDIO, FC_F32, {1, 1, 30000000, 1}, TRUE},
               {{"d3x1", "d5x1"}, FC_AUDIO, FC_U8, {1, 1, -1, 2}, TRUE},
               {{"d63x1", "d63x1"}, FC_AUDIO, FC_F32, {1, 1, 30000000, 4}, FALSE},
               {{"m5", "d9x1", "d3x1"}, FC_AUDIO, FC_I16, {1, 1, 1000000, 4}, TRUE},
               {{"s6x6", "d1x11"}, FC_IMAGE, FC_U16, {308, 156, 175, 4}, FALSE},
               {{"s19x19", "s19x19"}, FC_IMAGE, FC_F32, {100, 160, 160, 2}, FALSE},
               {{"s5x5", "s5x5"}, FC_IMAGE, FC_F32, {1, 5, 6000, 1}, FALSE}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    made m;
    double joined = 0, apart = 0;
    make(&m, cases[i].windows, cases[i].kind, cases[i].dtype, FC_BORDER_REFLECT101);
    const gboolean pays = fc_series_pays(&m.c, cases[i].dtype, cases[i].extent, &joined, &apart);
    g_test_message("%s, %s: %g, %g", cases[i].windows[0], cases[i].windows[1], joined, apart);
    g_assert_cmpint(pays, ==, cases[i].pays);
    if (pays) g_assert_cmpfloat(joined, <, apart);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/series/which", test_which);
  g_test_add_func("/series/rounding", test_rounding);
  g_test_add_func("/series/unknown end", test_unknown_end);
  g_test_add_func("/series/pays", test_pays);
  g_test_add_func("/series/compiled", test_series);
  return g_test_run();
}

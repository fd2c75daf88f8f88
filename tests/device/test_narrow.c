/* SPDX-License-Identifier: MIT */
/*
 * test_narrow.c - integers ahead of stages that only rank samples (core/plan/narrow.c): where the plan has
 * them, and that results and warnings are those of the stages one by one. The device is the fake one, on
 * which operators run with their CPU code.
 */
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "core/plan/plan.h"
#include "core/registry/registry.h"
#include "tests/device/fake_device.h"
#include "tests/device/hosted.h"

enum { ROWS = 40, COLUMNS = 300, CHANNELS = 3, SAMPLES = ROWS * COLUMNS * CHANNELS };

static fc_context *context;
static char *warning;
static const char *but; /* the operator that has no CUDA version */

static void log_line(fc_log_level level, const char *message, void *data) {
  if (level == FC_LOG_WARNING) g_free(warning), warning = g_strdup(message);
}

/* Links: the types between the stages, ! behind what is not heard. */
typedef struct narrow_case {
  const char *stages[7];
  int kind, in, out;
  const char *links;
} narrow_case;

static const narrow_case cases[] = {
    {{"conv2d:[1,2,1;1,2,2]/9", "winstat:9x9:stat=max"}, FC_IMAGE, FC_U8, FC_U8, "u8"},
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:30:stat=min", "mix:2,1,0"},
     FC_IMAGE,
     FC_U16,
     FC_U16,
     "u16 u16"},
    {{"gain:0.5", "sepconv:[1,2,1]/4", "clip:max=90.4", "winstat:30:stat=max", "clip:min=3.3"},
     FC_IMAGE,
     FC_U8,
     FC_U8,
     "f32 f32 u8 u8"},
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:window=75:stat=min"}, FC_AUDIO, FC_I16, FC_I16, "i16"},
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:window=75:stat=max:border=replicate"},
     FC_AUDIO,
     FC_U8,
     FC_U8,
     "u8"},
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:window=75:stat=max:border=constant:value=0.3"},
     FC_AUDIO,
     FC_U8,
     FC_U8,
     "f32"}, /* 0.3 is no code */
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:window=75:stat=max:border=constant:value=0.25"},
     FC_AUDIO,
     FC_U8,
     FC_U8,
     "u8"},
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:30:stat=min", "winstat:40:stat=max", "flip:x"},
     FC_IMAGE,
     FC_U8,
     FC_U8,
     "u8 u8 u8"},
    /* What is clipped would be told, or comes to nothing behind it. */
    {{"conv1d:[1,1,2,2,4,2,2,1,5]/16", "winstat:30:stat=min"}, FC_IMAGE, FC_U8, FC_U8, "f32"},
    {{"conv1d:[1,1,2,2,4,2,2,1,5]/16", "winstat:30:stat=min", "clip:min=9:max=200"},
     FC_IMAGE,
     FC_U8,
     FC_U8,
     "u8! u8"},
    {{"conv1d:[-2,1,1,1,1,1,1,1,1]/6", "winstat:30:stat=max", "clip:min=9:max=300"},
     FC_IMAGE,
     FC_U8,
     FC_U8,
     "f32 f32"},
    /* Another stage would warn of a limit outside the range, or it comes to nothing. */
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:30:stat=min", "clip:min=300", "clip:max=200"},
     FC_IMAGE,
     FC_U8,
     FC_U8,
     "f32 f32 f32"},
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:window=75:stat=max", "clip:max=-1.5",
      "winstat:window=60:stat=max"},
     FC_AUDIO,
     FC_I16,
     FC_I16,
     "f32 f32 f32"},
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:30:stat=min", "clip:min=9", "clip:min=-5:max=300",
      "clip:min=270"},
     FC_IMAGE,
     FC_U8,
     FC_U8,
     "u8 u8 u8 u8"},
    /* A NaN may come. */
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:30:stat=min"}, FC_IMAGE, FC_F32, FC_U8, "f32"},
    {{"gain:1e38", "gain:1e38", "gain:0", "winstat:30:stat=min"}, FC_IMAGE, FC_U8, FC_U8, "f32 f32 f32"},
    /* Integers are not delivered, or computed with behind it, or in twice the precision. */
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:30:stat=min"}, FC_IMAGE, FC_U8, FC_F32, "f32"},
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:30:stat=min"}, FC_IMAGE, FC_U8, FC_I32, "f32"},
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:30:stat=min", "gain:0.5"}, FC_IMAGE, FC_U8, FC_U8, "f32 f32"},
    /* One kernel has both windows. */
    {{"conv1d:[1,2,1]/4", "winstat:window=75:stat=min"}, FC_AUDIO, FC_I16, FC_I16, "f32"},
    {{"conv1d:[1,2,1]/4", "winstat:window=75:stat=min"}, FC_AUDIO, FC_U8, FC_U8, "u8"}, /* as bytes, apart */
    {{"conv1d:[1,1,2,2,4,2,2,1,1]/16", "winstat:window=5:stat=max"}, FC_AUDIO, FC_I16, FC_I16, "f32"},
    /* No floats are made. */
    {{"winstat:30:stat=mean", "winstat:30:stat=max"}, FC_IMAGE, FC_U8, FC_U8, "f32"},
    {{"winstat:5x5:stat=mean", "winstat:30:stat=max"}, FC_IMAGE, FC_U8, FC_U8, "f32"},
    {{"mix:2,1,0", "winstat:30:stat=max"}, FC_IMAGE, FC_U8, FC_U8, "u8"},
    /* Bytes to bytes are convolved in integers, which are rounded otherwise. */
    {{"sepconv:[1,2,1]/4", "winstat:9x9:stat=max"}, FC_IMAGE, FC_U8, FC_U8, "f32"},
};

static void set_options(fc_options *options, const char *device, int fuse) {
  *options = (fc_options)FC_OPTIONS_INIT;
  options->device = device, options->fuse = fuse;
}

static char *links_of(const fc_plan *plan) {
  GString *links = g_string_new(NULL);
  for (guint s = 0; s + 1 < plan->n; s++)
    g_string_append_printf(links, "%s%s%s", s ? " " : "", fc_dtype_name(plan->links[s + 1].dtype),
                           plan->stages[s].unheard ? "!" : "");
  return g_string_free(links, FALSE);
}

/* On the fake device's context, whose operators are those of the chain. */
static fc_chain *parse(const char *const *stages, GPtrArray **hosted) {
  g_autoptr(GError) error = NULL;
  fc_chain *chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  *hosted = host_stages(chain, but);
  return chain;
}

static void test_links(void) {
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    for (int fuse = 0; fuse < 2; fuse++) {
      const narrow_case *n = &cases[i];
      GPtrArray *hosted;
      fc_chain *chain = parse(n->stages, &hosted);
      fc_options options;
      set_options(&options, "cuda", fuse ? FC_FUSE_AUTO : FC_FUSE_NO);
      const fc_format in = {.size = sizeof in,
                            .kind = n->kind,
                            .dtype = n->in,
                            .bits = 8 * (int)fc_dtype_size(n->in),
                            .extent = {1, n->kind == FC_AUDIO ? 1 : ROWS,
                                       n->kind == FC_AUDIO ? FC_UNKNOWN : COLUMNS, CHANNELS}};
      const fc_plan_query query = {.in = &in, .wanted = n->out, .bits = 7, .rows = TRUE, .options = &options};
      g_autoptr(GError) error = NULL;
      g_autoptr(fc_plan) plan = fc_plan_new(chain, &query, &error);
      g_assert_no_error(error);
      g_autofree char *links = links_of(plan);
      if (fuse && strcmp(links, n->links) != 0)
        g_test_fail_printf("%s ...: %s, not %s", n->stages[0], links, n->links);
      g_assert_cmpint(plan->links[plan->n].bits, ==, 7);
      if (n->kind == FC_AUDIO) { /* the same once its length is known */
        g_autoptr(fc_plan) known = fc_plan_with_extent(plan, -1, COLUMNS, &error);
        g_assert_no_error(error);
        g_autofree char *again = links_of(known);
        g_assert_cmpstr(again, ==, links);
      }
      /* On the CPU as without kernels. */
      g_autoptr(fc_plan) on_cpu =
          fc_plan_on_cpu(plan, &options, &(GError){.message = (char *)"it failed"}, &error);
      g_assert_no_error(error);
      g_autofree char *wide = links_of(on_cpu);
      g_assert_null(strchr(wide, '!'));
      if (fuse == 0) g_assert_cmpstr(links, ==, wide);
      if (fuse && strcmp(links, "f32") == 0) g_assert_cmpstr(links, ==, wide);
      g_assert_cmpint(on_cpu->links[on_cpu->n].bits, ==, 7);
      fc_chain_free(chain);
      g_ptr_array_unref(hosted);
    }
}

/* ---- results --------------------------------------------------------------------------- */

static fc_view view_of(const narrow_case *n, int dtype, void *data) {
  const gint64 size = (gint64)fc_dtype_size(dtype), rows = n->kind == FC_AUDIO ? 1 : ROWS;
  const gint64 columns = SAMPLES / CHANNELS / rows;
  return (fc_view){
      .size = sizeof(fc_view),
      .dtype = dtype,
      .kind = n->kind,
      .device = FC_HOST,
      .data = data,
      .shape = {1, rows, columns, CHANNELS},
      .stride = {rows * columns * CHANNELS * size, columns * CHANNELS * size, CHANNELS * size, size},
      .extent = {1, rows, columns, CHANNELS}};
}

/* Runs it, and returns what it warns of. */
static char *run(const narrow_case *n, int fuse, gint64 chunk, const void *samples, void *made) {
  const fc_view in = view_of(n, n->in, (void *)samples), out = view_of(n, n->out, made);
  g_autoptr(GError) error = NULL;
  GPtrArray *hosted;
  fc_chain *chain = parse(n->stages, &hosted);
  fc_options options;
  set_options(&options, "cuda", fuse);
  options.chunk = chunk;
  g_clear_pointer(&warning, g_free);
  fake_device_set(NULL);
  fc_chain_run_host(chain, &in, &out, &options, NULL, &error);
  g_assert_no_error(error);
  fc_chain_free(chain);
  g_ptr_array_unref(hosted);
  fc_context_release(context);
  return g_steal_pointer(&warning);
}

static void test_results(void) {
  g_autofree guint8 *samples = g_malloc(4 * SAMPLES), *good = g_malloc0(4 * SAMPLES),
                    *got = g_malloc0(4 * SAMPLES);
  guint warned = 0;
  for (guint32 i = 0, state = 1; i < 4 * SAMPLES; i++) /* bytes, and calm ones, so that extremes differ */
    samples[i] = (guint8)((state = state * 1664525 + 1013904223) >> (i / 500 % 2 ? 24 : 27));
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    if (cases[i].in == FC_F32 || strcmp(cases[i].stages[0], "gain:1e38") == 0) continue; /* a NaN fails */
    for (gint64 chunk = 0; chunk < 20; chunk += 13) {
      g_autofree char *expected = run(&cases[i], FC_FUSE_NO, chunk, samples, good);
      g_autofree char *said = run(&cases[i], FC_FUSE_AUTO, chunk, samples, got);
      g_assert_cmpmem(got, SAMPLES * fc_dtype_size(cases[i].out), good,
                      SAMPLES * fc_dtype_size(cases[i].out));
      g_assert_cmpstr(said, ==, expected);
      warned += said != NULL;
    }
  }
  g_assert_cmpuint(warned, >, 0);
}

/* What stages joined by algebra make near the ends is not what their function makes: here more than 255, of
 * which no sum of bytes by the joined mask comes near. The operator that joins them is none of the hosted
 * ones: with a CUDA version it would call CUDA. */
static void test_joined(void) {
  static const narrow_case joined = {
      {"conv1d:[1,0,-1]/4:border=constant:value=255", "conv1d:[1,1,1]:border=constant:value=255",
       "clip:min=-1000", "sepconv:[1,50,1]/52:border=replicate", "winstat:30:stat=max", "clip:min=0"},
      FC_IMAGE,
      FC_U8,
      FC_U8,
      NULL};
  if (fc_has_cuda()) {
    g_test_skip("a build with CUDA");
    return;
  }
  g_autofree guint8 *samples = g_malloc(SAMPLES), *made = g_malloc(SAMPLES);
  for (guint i = 0; i < SAMPLES; i++) samples[i] = (guint8)(i * 101);
  but = "conv1d", context->joins_all = TRUE;
  g_autofree char *said = run(&joined, FC_FUSE_ALGEBRA, 0, samples, made);
  but = NULL, context->joins_all = FALSE;
  g_assert_nonnull(said);
  g_assert_nonnull(strstr(said, "clipped"));
}

int main(int argc, char **argv) {
  g_setenv("FILTERCHAIN_NO_CACHE", "1", TRUE);
  g_test_init(&argc, &argv, NULL);
  context = fc_context_new();
  context->driver = &fake_driver;
  fc_context_set_log(context, log_line, NULL);
  fc_registry_set_home(context->registry, DEVICE_TEST_PLUGINS, "/nonexistent");
  g_test_add_func("/narrow/links", test_links);
  g_test_add_func("/narrow/results", test_results);
  g_test_add_func("/narrow/joined", test_joined);
  const int status = g_test_run();
  fc_context_free(context);
  g_free(warning);
  return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * test_fused.c - stages that run as one kernel: which of them the plan joins, and that the engine launches
 * the kernel on the right samples with the right numbers, from files, memory and a caller's stream, in
 * chunks, and switches to it when it has been compiled. The device is the fake one, whose kernel is the
 * test's own reading of the launch's parameters; the program plays its own compiler ("false:good" as the
 * library's name).
 */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/contract/fc_helpers.h"
#include "core/contract/rows_table.h"
#include "core/device/kernel_cache.h"
#include "core/device/kernels.h"
#include "core/prebuilt/archive.h"
#include "core/run/fused.h"
#include "tests/device/fake_device.h"
#include "tests/device/hosted.h"
#include "tests/media/support.h"

static const char *self;
static fc_context *context;

/* ---- the plan ---------------------------------------------------------------------- */

typedef struct ready_chain {
  fc_chain *chain;
  GPtrArray *hosted;
} ready_chain;

/* `but`: of which operator there is no CUDA version; or NULL. */
static ready_chain parse_but(const char *const *stages, const char *but) {
  GError *error = NULL;
  ready_chain c = {fc_chain_parse(context, stages, &error), NULL};
  g_assert_no_error(error);
  c.hosted = host_stages(c.chain, but);
  return c;
}

static ready_chain parse(const char *const *stages) {
  return parse_but(stages, NULL);
}

static void drop(ready_chain *c) {
  fc_chain_free(c->chain);
  g_ptr_array_unref(c->hosted);
}

/* "2+3>": a kernel of two stages, and one of three that writes the exchanged axes of the stage behind, in the
 * order of stages; others are left out. */
static char *groups_of(const char *const *stages, int kind, int dtype, gint64 channels, int wanted,
                       const fc_options *options) {
  ready_chain c = parse(stages);
  const fc_format in = {.size = sizeof in,
                        .kind = kind,
                        .dtype = dtype,
                        .bits = 8 * (int)fc_dtype_size(dtype),
                        .extent = {1, kind == FC_AUDIO ? 1 : 301, 400, channels}};
  const fc_plan_query query = {.in = &in, .wanted = wanted, .files = TRUE, .rows = TRUE, .options = options};
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_plan) plan = fc_plan_new(c.chain, &query, &error);
  g_assert_no_error(error);
  GString *groups = g_string_new(NULL);
  for (guint s = 0; s < plan->n; s++)
    if (plan->stages[s].fused)
      g_string_append_printf(groups, "%s%u%s", groups->len ? "+" : "", plan->stages[s].fused,
                             plan->stages[s].through ? ">" : "");
  g_autoptr(fc_plan) on_cpu =
      fc_plan_on_cpu(plan, options, &(GError){.message = (char *)"it failed"}, &error);
  for (guint s = 0; s < plan->n; s++) g_assert_true(!on_cpu->stages[s].fused && !on_cpu->stages[s].function);
  drop(&c);
  return g_string_free(groups, FALSE);
}

/* Which stages of a chain are one kernel: their numbers, > where its axes are exchanged behind them. */
static const struct {
  const char *stages[7];
  int kind, dtype;
  gint64 channels;
  const char *groups;
} group_cases[] = {
    {{"gain:2", "clip:0.5"}, FC_AUDIO, FC_I16, 2, "2"},
    {{"gain:2"}, FC_AUDIO, FC_I16, 2, ""},
    {{"gain:2", "clip:0.5", "winstat:window=3", "gain:2", "gain:1,2", "clip:0.1"}, FC_AUDIO, FC_F32, 2, "6"},
    {{"gain:2", "winstat:window=3:border=shrink", "gain:2"}, FC_AUDIO, FC_F32, 2, ""},
    {{"gain:2", "winstat:window=3:stat=mean,rms", "gain:2"}, FC_AUDIO, FC_F32, 2, ""},
    {{"winstat:window=20:stat=max"}, FC_AUDIO, FC_I16, 2, "1"},
    {{"winstat:window=1026"}, FC_AUDIO, FC_F32, 2, "1"},
    {{"winstat:window=1026"}, FC_AUDIO, FC_F32, 1, ""},
    {{"winstat:window=20:stat=rms", "conv1d:[1,2,1]/4", "winstat:window=3"}, FC_AUDIO, FC_I16, 2, "1+2"},
    /* A short window is computed ahead of a long one. */
    {{"gain:2", "conv1d:[1,2,1]/4", "clip:0.5", "winstat:window=500", "gain:2"}, FC_AUDIO, FC_I16, 2, "5"},
    {{"winstat:window=5:stat=min", "winstat:window=500:stat=std"}, FC_AUDIO, FC_I16, 2, "2"},
    {{"winstat:window=9:stat=min", "winstat:window=500:stat=std"}, FC_AUDIO, FC_I16, 2, "1+1"},
    {{"conv1d:[1,2,1]/4:border=wrap", "winstat:window=500:stat=std"}, FC_AUDIO, FC_F32, 2, "1"},
    {{"conv1d:[1,2,1]/4", "matrix:[0.5,0.5]", "winstat:window=500:stat=max"}, FC_AUDIO, FC_I16, 2, "2+1"},
    {{"conv1d:[1,2,1]/4:axis=y", "winstat:window=500:stat=max:axis=x"}, FC_IMAGE, FC_U8, 1, "1+1"},
    {{"gain:2", "winstat:window=33:stat=std"}, FC_AUDIO, FC_F32, 2, "2"},
    {{"winstat:window=33:stat=var"}, FC_IMAGE, FC_F32, 3, "1"},
    {{"winstat:window=9x9:stat=std", "gain:2"}, FC_IMAGE, FC_F32, 3, ""}, /* in another order */
    {{"gain:2", "winstat:window=34:stat=std"}, FC_AUDIO, FC_F32, 2, "2"},
    {{"winstat:window=15x15"}, FC_IMAGE, FC_U8, 3, "1"},
    {{"gain:2", "winstat:window=15x31", "clip:min=3"}, FC_IMAGE, FC_F32, 1, "3"},
    {{"gain:2", "winstat:window=5:axis=y:stat=rms:border=shrink"}, FC_IMAGE, FC_F32, 3, "2"},
    {{"winstat:window=9:axis=y"}, FC_IMAGE, FC_U16, 1, "1"},
    {{"winstat:window=32x3"}, FC_IMAGE, FC_U16, 1, ""},
    {{"winstat:window=15x15:border=shrink"}, FC_IMAGE, FC_U16, 1, "1"},
    {{"winstat:window=15x15:stat=max"}, FC_IMAGE, FC_U8, 3, "1"},
    {{"winstat:window=9x2:stat=std"}, FC_IMAGE, FC_U8, 1, "1"},
    {{"gain:2", "winstat:window=5x5:stat=max", "clip:min=3"}, FC_IMAGE, FC_U8, 3, "3"},
    {{"matrix:[0.5,0.5]", "gain:2"}, FC_AUDIO, FC_F32, 2, "2"},
    {{"matrix:[0.3,0.6,0.1]"}, FC_IMAGE, FC_U8, 3, "1"}, /* to floats */
    {{"matrix:[0.3,0.6,0.1]"}, FC_IMAGE, FC_F32, 3, "1"},
    {{"matrix:[3,6,1;2,1,4;1,1,2]/10"}, FC_IMAGE, FC_F32, 3, ""}, /* a kernel ahead of time is faster */
    {{"mix:2,1,0"}, FC_IMAGE, FC_U8, 3, "1"},
    {{"mix:1,0"}, FC_AUDIO, FC_F32, 2, "1"},
    {{"mix:0,1,2"}, FC_IMAGE, FC_U8, 3, ""},  /* a copy */
    {{"mix:2,1,0"}, FC_AUDIO, FC_I32, 3, ""}, /* computed in f64 */
    /* Behind what becomes an integer, and may be noted, a kernel has copies of integers alone. */
    {{"gain:2", "convert:u8", "gain:2", "clip:0.5"}, FC_AUDIO, FC_I16, 2, "2+2"},
    {{"gain:2", "convert:u8", "mix:1,0", "mix:1,0"}, FC_AUDIO, FC_I16, 2, "4"},
    {{"gain:2", "convert:u8", "mix:1,0", "gain:2"}, FC_AUDIO, FC_I16, 2, "3"},
    {{"winstat:window=20:stat=rms", "convert:u8", "winstat:window=3:stat=max"}, FC_AUDIO, FC_I16, 2, "2+1"},
    {{"mix:1,0", "mix:1,0", "gain:2"}, FC_AUDIO, FC_I16, 2, "3"},
    {{"mix:1,0", "gain:2"}, FC_AUDIO, FC_F64, 2, "2"}, /* computed in f64 */
    {{"crop:x=3", "gain:2", "crop:y=2", "gain:2"}, FC_IMAGE, FC_U8, 3, "2+2"},
    {{"matrix:[0.3,0.6,0.1]", "gain:2", "sepconv:[1,2,1]/4"}, FC_IMAGE, FC_U8, 3, "3"},
    {{"gain:2", "sepconv:[1,2,1]/4", "clip:min=3", "sepconv:[1,2,1]/4:border=wrap"},
     FC_IMAGE,
     FC_U8,
     3,
     "3+1"},
    /* Several windows where that is estimated to be faster, and no border repeats the signal. */
    {{"gain:2", "conv1d:[1,2,1]/4", "clip:0.5", "conv1d:[1,2,1]/4"}, FC_AUDIO, FC_I16, 2, "4"},
    {{"conv1d:[1,2,1]/4", "winstat:window=5:stat=max", "conv1d:[1,2,1]/4"}, FC_AUDIO, FC_F32, 1, "3"},
    {{"gain:2", "conv1d:[1,2,1]/4", "conv1d:[1,2,1]/4:border=wrap"}, FC_AUDIO, FC_F32, 1, "2"},
    {{"conv2d:[1,2,1;1,3,2]/9", "sepconv:[1,2,1]/4:border=wrap"}, FC_IMAGE, FC_U8, 3, "1+1"},
    /* By itself a window is worth a kernel where none as fast is built ahead; here bytes become floats. */
    {{"conv2d:[1,2,3;4,5,7]"}, FC_IMAGE, FC_U8, 3, "1"},
    {{"conv2d:[1,2,3;4,5,7;1,9,2]"}, FC_IMAGE, FC_U8, 3, "1"},
    {{"conv2d:[1,2,3;4,5,7;1,9,2]"}, FC_IMAGE, FC_F32, 3, "1"},
    {{"sepconv:[1,2,1]/4:y=[1,2]/3", "gain:2"}, FC_IMAGE, FC_F32, 3, "2"},
    {{"conv1d:[1,2,1]/4"}, FC_IMAGE, FC_U16, 3, "1"},
    {{"conv1d:[1,2,1]/4:axis=y"}, FC_IMAGE, FC_U8, 1, "1"},
    {{"conv1d:[1,2,1]/4"}, FC_IMAGE, FC_F32, 3, "1"},
    {{"conv1d:[1,2,1]/4"}, FC_AUDIO, FC_F32, 2, ""},
    {{"conv1d:[1,2,1]/4"}, FC_AUDIO, FC_I16, 2, "1"},
    {{"sepconv:[1,2,1]/4"}, FC_IMAGE, FC_F32, 3, "1"},
    {{"sepconv:[1,2,1]/4"}, FC_IMAGE, FC_U16, 3, "1"},
    {{"sharpen"}, FC_IMAGE, FC_U8, 3, "1"},
    {{"gain:2", "sharpen:2:threshold=3", "clip:min=0:max=255"}, FC_IMAGE, FC_U8, 3, "3"},
    {{"sharpen", "sharpen"}, FC_IMAGE, FC_F32, 1, "1+1"},
    {{"sharpen:3"}, FC_IMAGE, FC_U8, 1, "1"}, /* 25 x 25 */
    {{"sharpen:3"}, FC_IMAGE, FC_U8, 3, ""},
    {{"sharpen:5"}, FC_IMAGE, FC_U8, 3, ""},                   /* 41 x 41 */
    {{"winstat:window=20:stat=rms"}, FC_IMAGE, FC_U8, 3, "1"}, /* to floats */
    {{"winstat:window=20"}, FC_IMAGE, FC_U8, 1, "1"},
    {{"gain:2", "winstat:window=20:stat=rms", "mix:0,1,2"}, FC_IMAGE, FC_U8, 3, "3"},
    {{"gain:2", "conv1d:[1,2,1]/4", "clip:0.5"}, FC_AUDIO, FC_I16, 2, "3"},
    {{"gain:2", "conv1d:[1,2,1]/4:axis=y", "conv1d:[1,2,1]/4:border=wrap", "gain:2"},
     FC_IMAGE,
     FC_U8,
     3,
     "2+2"},
    {{"gain:1.2", "mix:0", "gain:0.5", "gain:0.8", "mix:0"}, FC_IMAGE, FC_U8, 1, "5"},
    {{"gain:2", "conv1d:[0,2,1]/4"}, FC_AUDIO, FC_I16, 2, ""}, /* less than the window that was asked for */
    {{"gain:2", "conv1d:[1,2,1]/4:mode=full"}, FC_AUDIO, FC_I16, 2, ""},
    {{"gain:2", "stats", "gain:2", "gain:2"}, FC_IMAGE, FC_U8, 3, "2"},
    /* Six channels are too many pixel by pixel, not sample by sample. */
    {{"gain:1,2,3,4,5,6", "gain:2", "clip:min=1"}, FC_ARRAY, FC_F32, 6, "2"},
    {{"convert:f32:scale=stretch", "gain:2"}, FC_IMAGE, FC_U8, 3, ""},
    /* Exchanged axes are the kernel's strides, but not those of a window. */
    {{"gain:2", "layout:chw"}, FC_IMAGE, FC_U8, 3, "1>"},
    {{"crop:x=3", "gain:2", "layout:chw", "gain:2", "layout:hwc"}, FC_IMAGE, FC_U8, 3, "2>+1>"},
    {{"sepconv:[1,2,1]/4", "gain:2", "layout:chw"}, FC_IMAGE, FC_U8, 3, "2"},
    {{"layout:chw"}, FC_IMAGE, FC_U8, 3, ""},
};

static void test_groups(void) {
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  for (guint i = 0; i < G_N_ELEMENTS(group_cases); i++) {
    options.fuse = FC_FUSE_AUTO;
    g_autofree char *groups = groups_of(group_cases[i].stages, group_cases[i].kind, group_cases[i].dtype,
                                        group_cases[i].channels, -1, &options);
    g_assert_cmpstr(groups, ==, group_cases[i].groups);
    options.fuse = FC_FUSE_NO;
    g_autofree char *none = groups_of(group_cases[i].stages, group_cases[i].kind, group_cases[i].dtype,
                                      group_cases[i].channels, -1, &options);
    g_assert_cmpstr(none, ==, "");
  }
}

/* Separable sums of bytes to bytes are composed where they are floats: in images of up to 768 elements a row.
 */
static void test_bytes(void) {
  static const char *const filters[] = {
      "sepconv:[1,2,1]/4", "gauss:1", "conv2d:[1,2,1;2,4,2;1,2,1]/16", "conv2d:[1,2,3;4,5,7;1,9,2]/34",
      "sepconv:[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]/33"}; /* 33 taps */
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  for (guint i = 0; i < G_N_ELEMENTS(filters); i++)
    for (gint64 channels = 1; channels < 4; channels += 2) { /* 400 columns */
      const char *const stages[] = {filters[i], NULL};
      g_autofree char *groups = groups_of(stages, FC_IMAGE, FC_U8, channels, FC_U8, &options);
      g_assert_cmpstr(groups, ==, channels == 1 && i < 4 ? "1" : "");
    }
}

/* The text of the kernel of these two stages behind another one. */
static char *text_behind(const char *ahead, const char *gain, int dtype) {
  const char *const stages[] = {ahead, "sepconv:[1,2,1]/4:border=wrap", gain, NULL};
  ready_chain c = parse(stages);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  const fc_format in = {.size = sizeof in,
                        .kind = FC_IMAGE,
                        .dtype = dtype,
                        .bits = 8 * (int)fc_dtype_size(dtype),
                        .extent = {1, 301, 400, 3}};
  const fc_plan_query query = {.in = &in, .wanted = FC_U8, .files = TRUE, .rows = TRUE, .options = &options};
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_plan) plan = fc_plan_new(c.chain, &query, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(plan->stages[1].fused, ==, 2);
  char *text = fc_plan_kernel_text(plan, 1, TRUE);
  drop(&c);
  return text;
}

/* What the kernels before have made of bytes is known to be in their range, or near it; of floats nothing is.
 */
static void test_known(void) {
  static const struct {
    const char *ahead, *gain;
    int dtype;
    const char *known;
  } cases[] = {{"sepconv:[1,2,1]/4:border=wrap", "gain:0.5", FC_U8, "QUIET = true, NEAR = true"},
               {"sepconv:[1,2,1]/4:border=wrap", "gain:2", FC_U8, "QUIET = false, NEAR = true"},
               {"sepconv:[1,2,300]/4:border=wrap", "gain:2", FC_U8, "QUIET = false, NEAR = false"},
               {"sepconv:[1,2,1]/4:border=wrap", "gain:0.5", FC_F32, "QUIET = false, NEAR = false"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = text_behind(cases[i].ahead, cases[i].gain, cases[i].dtype);
    g_assert_nonnull(strstr(text, cases[i].known));
  }
}

/* An operator of a plugin that breaks the contract of device functions in one of these ways. */
static enum {
  SOUND,
  HAS_TOO_MANY_BYTES,
  HAS_OWN_BYTES,
  HAS_OWN_NAME,
  HAS_ENDLESS_NAME,
  HAS_NO_TEXT,
  LOOKS_AROUND, /* soundly, as said to negotiate; from here on it asks for a window */
  LOOKS_BESIDE, /* what is no window */
  LOOKS_FURTHER,
  LOOKS_TOO_FAR, /* as it says */
  LOOKS_AT_PIXELS,
  LOOKS_WHERE_IT_IS,
  LOOKS_AT_ALL_IT_MAKES, /* which one result of several neighbours cannot be */
  ODDITIES
} oddity;

static fc_status odd_negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  (void)host, (void)instance;
  const int side = oddity == LOOKS_TOO_FAR ? FC_FUNCTION_AROUND_MOST + 2 : 3;
  if (oddity >= LOOKS_AROUND) fc_need_window(terms->needs[0], side, side, FC_BORDER_WRAP);
  return FC_OK;
}

static fc_status odd_describe(const fc_host *host, void *instance, const fc_setup *setup,
                              fc_device_function *f) {
  static double own[1];
  static char name[] = "odd";
  static const double number = 2;
  (void)host, (void)instance;
  const fc_status status = fc_describe_samples(
      setup, f, name, "struct odd { real k; FC_DEVICE real operator()(real v) const { return k * v; } };",
      &number, 1);
  if (oddity == HAS_TOO_MANY_BYTES) f->n_bytes = FC_FUNCTION_BYTES + 8;
  if (oddity == HAS_OWN_BYTES) f->bytes = own;
  if (oddity == HAS_OWN_NAME) f->entry = name;
  if (oddity == HAS_ENDLESS_NAME) memset(f->entry, 'a', FC_FUNCTION_ENTRY);
  if (oddity == HAS_NO_TEXT) f->source = NULL;
  if (oddity < LOOKS_AROUND) return status;
  const int side = oddity == LOOKS_TOO_FAR ? FC_FUNCTION_AROUND_MOST + 2 : oddity == LOOKS_FURTHER ? 5 : 3;
  f->source =
      "struct odd { real k; FC_DEVICE real operator()(const fc_around &at) const { return at(1, -1); } };";
  fc_describe_around(f, side, side);
  if (oddity == LOOKS_BESIDE) f->flags &= ~FC_FUNCTION_WINDOW;
  if (oddity == LOOKS_AT_PIXELS) f->in = f->out = 1;
  if (oddity == LOOKS_WHERE_IT_IS) f->flags |= FC_FUNCTION_POSITION;
  if (oddity == LOOKS_AT_ALL_IT_MAKES) f->flags |= FC_FUNCTION_SELECTS | FC_FUNCTION_KEEPS_ALL;
  return status;
}
FC_FUSIBLE(odd_extension, odd_describe)

static fc_status odd_process(const fc_host *host, const void *state, const fc_job *job) {
  (void)host, (void)state, (void)job;
  return FC_FATAL; /* plans are made of it only */
}

static const fc_operator odd_operator = {
    .size = sizeof odd_operator,
    FC_EVERY_SIGNAL,
    .name = "odd",
    .summary = "twice as much",
    .doc = "For tests.",
    .examples = FC_TEXTS("odd"),
    .negotiate = odd_negotiate,
    .extension = odd_extension,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, odd_process)),
};
static const fc_operator *const odd_operators[] = {&odd_operator};
static const fc_plugin odd_plugin = {
    sizeof odd_plugin, FC_PLUGIN_ABI, "org.example.odd", "1", "a test", "MIT", "", 1, odd_operators};

/* What is not in the buffers that a plugin was given, or is more than they hold, is not used. */
static void test_broken_functions(void) {
  static const char *const stages[] = {"odd", "gain:2", NULL};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  for (oddity = SOUND; oddity < ODDITIES; oddity++) {
    g_autofree char *groups = groups_of(stages, FC_IMAGE, FC_F32, 1, -1, &options);
    g_assert_cmpstr(groups, ==, oddity == SOUND || oddity == LOOKS_AROUND ? "2" : "");
  }
  /* One function of neighbours in a kernel, of any type, with what is on both sides of it. */
  static const char *const both[] = {"gain:2", "odd", "clip:min=1", "odd", "sepconv:[1,2,1]/4", NULL};
  static const int dtypes[] = {FC_U8, FC_I32, FC_F64};
  oddity = LOOKS_AROUND;
  for (guint i = 0; i < G_N_ELEMENTS(dtypes); i++) {
    g_autofree char *groups = groups_of(both, FC_IMAGE, dtypes[i], 3, dtypes[i], &options);
    g_assert_cmpstr(groups, ==, dtypes[i] == FC_U8 ? "3+1" : "3");
  }
  oddity = SOUND;
}

/* Of a row of pixels, each channel with its own: what is left of the sample less what is right of it. */
static void differ_f32(const void *state, const fc_around_f32 *first, float *made, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    made[i] = first->middle[i - first->column] - first->middle[i + first->column];
}

/* Pixels of more samples than the CPU's loop has in a row go channel by channel. */
static void test_wide_pixels(void) {
  enum { COLUMNS = 6, CHANNELS = FC_ROW_VALUES + 2 };
  const fc_host host = {.size = sizeof host, .rows = fc_rows_table()};
  g_autofree float *in = g_new(float, COLUMNS *CHANNELS), *out = g_new0(float, (COLUMNS - 2) * CHANNELS);
  for (int i = 0; i < COLUMNS * CHANNELS; i++) in[i] = (float)(i % 251 * (i / CHANNELS));
  fc_view from = {.data = in + CHANNELS, .dtype = FC_F32, .kind = FC_IMAGE}, to = from;
  const int64_t shape[FC_AXES] = {1, 1, COLUMNS - 2, CHANNELS},
                stride[FC_AXES] = {4 * COLUMNS * CHANNELS, 4 * COLUMNS * CHANNELS, 4 * CHANNELS, 4};
  memcpy(from.shape, shape, sizeof shape), memcpy(from.stride, stride, sizeof stride);
  to = from, to.data = out;
  const fc_view *views[] = {&from};
  const fc_job job = {.size = sizeof job, .in = views, .out = &to, .compute = FC_F32};
  g_assert_cmpint(fc_map_around(&host, &job, NULL, 3, 1, differ_f32, NULL), ==, FC_OK);
  for (int i = 0; i < (COLUMNS - 2) * CHANNELS; i++)
    g_assert_cmpfloat(out[i], ==, in[i] - in[i + 2 * CHANNELS]);
}

/* A plugin that was built without CUDA transforms nothing on a device: a mask for which its CUDA version
 * would is a composed kernel there, unless transforms are asked for, or the CPU's are worth it too. */
static void test_long_mask(void) {
  static const struct {
    guint taps;
    const char *options;
    gboolean composed;
  } cases[] = {{101, "", TRUE}, {101, ":method=fft", FALSE}, {129, "", FALSE}};
  if (fc_has_cuda()) {
    g_test_skip("a build with CUDA");
    return;
  }
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GString *stage = g_string_new("conv1d:[1");
    for (guint k = 1; k < cases[i].taps; k++) g_string_append(stage, ",1");
    g_string_append_printf(stage, "]/%u%s", cases[i].taps, cases[i].options);
    ready_chain c = parse_but((const char *const[]){stage->str, NULL}, "conv1d");
    const fc_format in = {.size = sizeof in,
                          .kind = FC_AUDIO,
                          .dtype = FC_I16,
                          .bits = 16,
                          .rate = 16000,
                          .extent = {1, 1, 48640, 1}};
    const fc_plan_query query = {.in = &in, .wanted = -1, .files = TRUE, .rows = TRUE, .options = &options};
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_plan) plan = fc_plan_new(c.chain, &query, &error);
    g_assert_no_error(error);
    g_assert_cmpint(plan->stages[0].composed, ==, cases[i].composed);
    drop(&c);
    g_string_free(stage, TRUE);
  }
}

/* What there is on pixels goes into the kernel of transforms, though one takes but two channels or one:
 * unless there is no room for what waits. */
static void test_pixels_of_transforms(void) {
  static const struct {
    guint taps;
    gint64 channels;
    const char *groups, *stages[3]; /* behind a long mask */
  } cases[] = {{381, 4, "3", {"gain:2", "mix:2,1,0,3"}},
               {381, 3, "3", {"mix:1,2,0", "clip:min=3"}},
               {381, 4, "3", {"gain:2", "mix:2,1,0,1"}},
               {381, 4, "2", {"matrix:[1,2,0,0;0,1,2,0;0,0,1,2;1,0,0,1]"}},
               {9001, 3, "2+1", {"gain:2", "mix:2,1,0"}}};
  if (!fc_has_cuda()) {
    g_test_skip("a build without CUDA");
    return;
  }
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GString) mask = g_string_new("conv1d:[1");
    for (guint k = 1; k < cases[i].taps; k++) g_string_append(mask, ",1");
    g_string_append_printf(mask, "]/%u", cases[i].taps);
    const char *const stages[] = {mask->str, cases[i].stages[0], cases[i].stages[1], NULL};
    g_autofree char *groups = groups_of(stages, FC_AUDIO, FC_F32, cases[i].channels, -1, &options);
    g_assert_cmpstr(groups, ==, cases[i].groups);
  }
}

/* The stage that rounds is the one whose kernel says what it clips, though copies follow. */
static void test_noting(void) {
  static const char *const stages[] = {"gain:2", "convert:u8", "mix:1,0", "mix:1,0", NULL};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  ready_chain c = parse(stages);
  const fc_format in = {.size = sizeof in, .dtype = FC_I16, .bits = 16, .extent = {1, 1, 400, 2}};
  const fc_plan_query query = {.in = &in, .wanted = -1, .options = &options};
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_plan) plan = fc_plan_new(c.chain, &query, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(plan->stages[0].fused, ==, 4);
  g_assert_cmpuint(fc_plan_noting(plan, 0), ==, 1);
  drop(&c);
}

/* --dry-run tells what was estimated of several windows, whichever way it was decided. */
static void test_told(void) {
  static const struct {
    const char *stages[4];
    int kind;
    const char *text;
  } cases[] = {{{"conv1d:[1,2,1]/4", "gain:2", "conv1d:[1,2,1]/4"},
                FC_AUDIO,
                "fused   stages 1 to 3, 3 stages in 1 kernel; 2 windows: an estimated "},
               {{"sepconv:[1,2,3,4,5,4,3,2,1]/25", "sepconv:[1,2,3,4,5,4,3,2,1]/25"},
                FC_IMAGE,
                " stage 1; the window of stage 2 apart: an estimated "},
               {{"gain:2", "clip:min=0.1"}, FC_IMAGE, "fused   stages 1 to 2, 2 stages in 1 kernel\n"}};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    ready_chain c = parse(cases[i].stages);
    const fc_format in = {.size = sizeof in,
                          .kind = cases[i].kind,
                          .dtype = FC_F32,
                          .bits = 32,
                          .extent = {1, cases[i].kind == FC_AUDIO ? 1 : 300, 70000, 4}};
    const fc_plan_query query = {.in = &in, .wanted = -1, .options = &options};
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_plan) plan = fc_plan_new(c.chain, &query, &error);
    g_assert_no_error(error);
    g_autofree char *text = fc_plan_explain(plan, "in", "out", FALSE);
    if (!strstr(text, cases[i].text)) g_test_fail_printf("%s is not in %s", cases[i].text, text);
    drop(&c);
  }
}

/* Parameters of a kernel are 4 KB at the most: what is more begins another. */
static void test_long_chain(void) {
  const char *stages[301] = {NULL};
  for (guint i = 0; i < 300; i++) stages[i] = "gain:1.01";
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  g_autofree char *groups = groups_of(stages, FC_AUDIO, FC_F32, 1, -1, &options);
  g_assert_cmpstr(groups, ==, "64+64+64+64+44");
}

/* ---- the kernel ----------------------------------------------------------------------- */

static guint launches;
static gboolean first_copies; /* the first stage is a crop, which has no number */

/* Factors on lines of f32. */
static void launch(const fc_composed *composed) {
  fc_map_args a;
  memcpy(&a, composed->params, sizeof a);
  const guint8 *at = composed->params + FC_COMPOSE_FIRST, *end = composed->params + composed->n_params;
  if (first_copies) at += FC_COMPOSE_ALIGN;
  g_assert_true(at < end && a.notes && composed->variant < FC_COMPOSE_VARIANTS);
  for (gint64 line = 0; line < a.count[0] * a.count[1] * a.count[2]; line++) {
    const gint64 i[] = {line / a.count[2] / a.count[1], line / a.count[2] % a.count[1], line % a.count[2]};
    const char *from = a.in;
    char *to = a.out;
    for (int k = 0; k < 3; k++) from += i[k] * a.in_step[k + 1], to += i[k] * a.out_step[k + 1];
    for (gint64 x = 0; x < a.length; x++, from += a.in_step[0], to += a.out_step[0]) {
      float v, factor;
      memcpy(&v, from, sizeof v);
      for (const guint8 *p = at; p < end; p += FC_COMPOSE_ALIGN)
        memcpy(&factor, p, sizeof factor), v *= factor;
      memcpy(to, &v, sizeof v);
    }
  }
  launches++;
}

enum { HEIGHT = 300, WIDTH = 1001, PIXELS = HEIGHT * WIDTH };

static fc_view plane_of(float *samples, int width, int height, gint32 device) {
  return (fc_view){.size = sizeof(fc_view),
                   .dtype = FC_F32,
                   .kind = FC_ARRAY,
                   .device = device,
                   .data = samples,
                   .shape = {1, height, width, 1},
                   .stride = {4 * width * height, 4 * width, 4, 4},
                   .extent = {1, height, width, 1}};
}

static float *noise_of(guint32 state) {
  float *samples = g_new(float, PIXELS);
  for (guint i = 0; i < PIXELS; i++) samples[i] = (float)noise(&state) - 100;
  return samples;
}

static const char *const gains[] = {"gain:1.5", "gain:-0.3", "gain:7", NULL};
static const char *const cropped[] = {"crop:x=100:y=7", "gain:-0.3", "gain:7", NULL};
static const char *const around[] = {"conv1d:[0,1,2,1]/4:border=reflect", "gain:-0.3", "gain:7",
                                     "conv1d:[0,1,2,1]/4", NULL};

static void run_host(const char *const *stages, const char *device, int fuse, gint64 chunk, const fc_view *in,
                     const fc_view *out) {
  ready_chain c = parse(stages);
  fc_options options = FC_OPTIONS_INIT;
  g_autoptr(GError) error = NULL;
  options.device = device, options.fuse = fuse, options.chunk = chunk;
  fc_chain_run_host(c.chain, in, out, &options, NULL, &error);
  g_assert_no_error(error);
  drop(&c);
}

static void test_memory(void) {
  static const struct {
    const char *const *stages;
    gboolean copies;
    int width, height;
  } cases[] = {{gains, FALSE, WIDTH, HEIGHT},
               {cropped, TRUE, WIDTH - 100, HEIGHT - 7},
               {around, FALSE, WIDTH, HEIGHT}};
  g_autofree float *samples = noise_of(1), *good = g_new(float, PIXELS), *got = g_new(float, PIXELS);
  const fc_view in = plane_of(samples, WIDTH, HEIGHT, FC_HOST);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const gsize size = sizeof(float) * (gsize)(cases[i].width * cases[i].height);
    const fc_view expected = plane_of(good, cases[i].width, cases[i].height, FC_HOST),
                  out = plane_of(got, cases[i].width, cases[i].height, FC_HOST);
    first_copies = cases[i].copies;
    run_host(cases[i].stages, "cpu", FC_FUSE_WAIT, 0, &in, &expected);
    for (gint64 chunk = 0; chunk < 100; chunk += 64) {
      launches = 0;
      run_host(cases[i].stages, "cuda", FC_FUSE_NO, chunk, &in, &out);
      g_assert_cmpuint(launches, ==, 0);
      g_assert_cmpmem(got, size, good, size);
      memset(got, 0xff, size);
      run_host(cases[i].stages, "cuda", FC_FUSE_WAIT, chunk, &in, &out);
      g_assert_cmpuint(launches, ==, chunk ? (cases[i].height + 63) / 64 : 1);
      g_assert_cmpmem(got, size, good, size);
    }
  }
  first_copies = FALSE;
}

/* The stage that exchanges axes is the kernel's strides: one launch for all three. */
static void test_exchanged(void) {
  static const char *const stages[] = {"crop:x=100:y=7", "gain:-0.3", "layout:chw", NULL};
  enum { FRAMES = 2, ROWS = 50, COLUMNS = 333, LEFT = COLUMNS - 100, DOWN = ROWS - 7 };
  g_autofree float *samples = noise_of(5), *good = g_new(float, PIXELS), *got = g_new(float, PIXELS);
  const gsize size = sizeof(float) * FRAMES * DOWN * LEFT * 3;
  const fc_view in = {.size = sizeof in,
                      .dtype = FC_F32,
                      .kind = FC_IMAGE,
                      .device = FC_HOST,
                      .data = samples,
                      .shape = {FRAMES, ROWS, COLUMNS, 3},
                      .stride = {12 * COLUMNS * ROWS, 12 * COLUMNS, 12, 4},
                      .extent = {FRAMES, ROWS, COLUMNS, 3}};
  fc_view out = {.size = sizeof out,
                 .dtype = FC_F32,
                 .kind = FC_ARRAY,
                 .device = FC_HOST,
                 .data = good,
                 .shape = {FRAMES, 3, DOWN, LEFT},
                 .stride = {12 * LEFT * DOWN, 4 * LEFT * DOWN, 4 * LEFT, 4},
                 .extent = {FRAMES, 3, DOWN, LEFT}};
  run_host(stages, "cpu", FC_FUSE_WAIT, 0, &in, &out);
  out.data = got, first_copies = TRUE;
  for (int fuse = 0; fuse < 2; fuse++) {
    memset(got, 0xff, size), launches = 0;
    run_host(stages, "cuda", fuse ? FC_FUSE_WAIT : FC_FUSE_NO, 0, &in, &out);
    g_assert_cmpuint(launches, ==, fuse);
    g_assert_cmpmem(got, size, good, size);
  }
  first_copies = FALSE;
}

/* Nobody waits: the first calls go without, and a later one has it. A small signal is not worth compiling
 * for, until many have come. */
static void test_switch(void) {
  static const char *const stages[] = {"gain:1.25", "gain:-0.3", "gain:3", "gain:0.1", "gain:2", NULL};
  g_autofree float *samples = noise_of(2), *good = g_new(float, PIXELS);
  const gsize size = PIXELS * sizeof(float);
  const fc_view host = plane_of(samples, WIDTH, HEIGHT, FC_HOST),
                expected = plane_of(good, WIDTH, HEIGHT, FC_HOST);
  run_host(stages, "cpu", FC_FUSE_AUTO, 0, &host, &expected);
  const fc_view from = plane_of(fake_driver.alloc(FC_CUDA_DEVICE(0), size), WIDTH, HEIGHT, FC_CUDA_DEVICE(0)),
                to = plane_of(fake_driver.alloc(FC_CUDA_DEVICE(0), size), WIDTH, HEIGHT, FC_CUDA_DEVICE(0));
  memcpy(from.data, samples, size);
  ready_chain c = parse(stages);
  int stream = 0;
  guint calls = 0;
  for (launches = 0; launches < 10; calls++) {
    g_autoptr(GError) error = NULL;
    memset(to.data, 0xff, size);
    fc_chain_run_device(c.chain, &from, &to, &stream, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpmem(to.data, size, good, size);
    g_assert_cmpuint(calls, <, 1000000);
  }
  g_test_message("%u calls before the first of the kernel", calls - 10);
  g_assert_cmpuint(calls - 10, >=, (1 << 30) / (8 * size));
  /* The same chain on the same views, as others are asked for. */
  fc_options options = FC_OPTIONS_INIT;
  options.fuse = FC_FUSE_NO;
  launches = 0;
  g_assert_true(fc_chain_run_device(c.chain, &from, &to, &stream, &options, NULL));
  g_assert_cmpuint(launches, ==, 0);
  options.fuse = FC_FUSE_WAIT;
  g_assert_true(fc_chain_run_device(c.chain, &from, &to, &stream, &options, NULL));
  g_assert_cmpuint(launches, ==, 1);
  drop(&c);
  fake_driver.release(FC_CUDA_DEVICE(0), from.data);
  fake_driver.release(FC_CUDA_DEVICE(0), to.data);
}

/* Many small signals are worth a kernel together, though none of their chains sees more than one. */
static void test_many(void) {
  static const char *const stages[] = {"gain:1.25", "gain:-0.3", "gain:3", "gain:0.1",
                                       "gain:2",    "gain:1.5",  NULL};
  enum { SMALL = 100 };
  g_autofree float *samples = noise_of(4), *good = g_new(float, PIXELS), *got = g_new(float, PIXELS);
  const fc_view in = plane_of(samples, WIDTH, SMALL, FC_HOST),
                expected = plane_of(good, WIDTH, SMALL, FC_HOST), out = plane_of(got, WIDTH, SMALL, FC_HOST);
  run_host(stages, "cpu", FC_FUSE_AUTO, 0, &in, &expected);
  guint calls = 0;
  for (launches = 0; launches == 0; calls++) {
    run_host(stages, "cuda", FC_FUSE_AUTO, 0, &in, &out);
    g_assert_cmpmem(got, WIDTH * SMALL * sizeof(float), good, WIDTH * SMALL * sizeof(float));
    g_assert_cmpuint(calls, <, 100000);
  }
  g_assert_cmpuint(calls, >, (1 << 30) / (10 * WIDTH * SMALL * sizeof(float)));
}

/* A compiler that crashes, none, and texts that have errors: the stages run one by one, and the reason is
 * told once, but of each text. */
static guint told, ahead;
static void log_line(fc_log_level level, const char *message, void *data) {
  told += level == FC_LOG_INFO && strstr(message, "stages run one by one") != NULL;
  ahead += level == FC_LOG_INFO && strcmp(message, "gain+gain+gain: in a kernel that was built ahead") == 0;
}

static fc_context *context_with(const char *compiler, const char *prebuilt) {
  fc_context *made = fc_context_new();
  made->driver = &fake_driver;
  fc_registry_set_home(made->registry, DEVICE_TEST_PLUGINS, "/nonexistent");
  fc_context_set_log(made, log_line, NULL);
  fc_kernels_set_compiler(made, self, compiler, prebuilt);
  return made;
}

static void test_no_compiler(void) {
  static const char *const compilers[] = {NULL, "false:crash", "false:wrong"};
  static const char *const others[] = {"gain:2", "clip:min=0", NULL};
  fc_context *mine = context;
  g_autofree float *samples = noise_of(3), *good = g_new(float, PIXELS), *got = g_new(float, PIXELS);
  const fc_view in = plane_of(samples, WIDTH, HEIGHT, FC_HOST),
                expected = plane_of(good, WIDTH, HEIGHT, FC_HOST),
                out = plane_of(got, WIDTH, HEIGHT, FC_HOST);
  run_host(around, "cpu", FC_FUSE_AUTO, 0, &in, &expected);
  for (guint c = 0; c < G_N_ELEMENTS(compilers); c++) {
    context = context_with(compilers[c], NULL);
    launches = told = 0;
    for (int i = 0; i < 3; i++) {
      memset(got, 0xff, PIXELS * sizeof(float));
      run_host(around, "cuda", FC_FUSE_WAIT, 0, &in, &out);
      g_assert_cmpmem(got, PIXELS * sizeof(float), good, PIXELS * sizeof(float));
    }
    run_host(others, "cuda", FC_FUSE_WAIT, 0, &in, &out);
    g_assert_cmpuint(launches, ==, 0);
    g_assert_cmpuint(told, ==, c == 2 ? 2 : 1);
    fc_context_free(context);
  }
  context = mine;
}

/* The archive that a build would have for these stages. */
static void build_ahead(const char *const *stages, const char *path) {
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  ready_chain c = parse(stages);
  const fc_format in = {
      .size = sizeof in, .kind = FC_ARRAY, .dtype = FC_F32, .bits = 24, .extent = {1, 99, 999, 1}};
  const fc_plan_query query = {.in = &in, .wanted = -1, .rows = TRUE, .options = &options};
  g_autoptr(fc_plan) plan = fc_plan_new(c.chain, &query, NULL);
  g_autofree char *text = fc_plan_kernel_text(plan, 0, TRUE);
  g_autoptr(GHashTable) codes =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
  g_hash_table_insert(codes, fc_kernel_prebuilt_key(9, 0, text), g_bytes_new("fake", 4));
  g_assert_true(fc_archive_write(path, codes, NULL));
  drop(&c);
}

/* Kernels built ahead are there without a compiler, for other numbers and another size too, and -v says so.
 */
static void test_prebuilt(void) {
  static const char *const others[] = {"gain:2", "gain:3", "gain:-1", NULL};
  fc_context *mine = context;
  g_autofree float *samples = noise_of(6), *good = g_new(float, PIXELS), *got = g_new(float, PIXELS);
  const fc_view in = plane_of(samples, WIDTH, HEIGHT, FC_HOST),
                expected = plane_of(good, WIDTH, HEIGHT, FC_HOST),
                out = plane_of(got, WIDTH, HEIGHT, FC_HOST);
  g_autofree char *folder = g_dir_make_tmp("filterchain-XXXXXX", NULL),
                  *path = g_build_filename(folder, "kernels-sm_90", NULL),
                  *prebuilt = g_build_filename(folder, "kernels-", NULL);
  run_host(others, "cpu", FC_FUSE_AUTO, 0, &in, &expected);
  build_ahead(gains, path);
  context = context_with(NULL, prebuilt);
  launches = told = ahead = 0;
  for (guint i = 1; i < 3; i++) {
    memset(got, 0xff, PIXELS * sizeof(float));
    run_host(others, "cuda", FC_FUSE_WAIT, 0, &in, &out);
    g_assert_cmpmem(got, PIXELS * sizeof(float), good, PIXELS * sizeof(float));
    g_assert_cmpuint(launches, ==, i);
  }
  g_assert_cmpuint(ahead, ==, 1);
  g_assert_cmpuint(told, ==, 0);
  fc_context_free(context);
  (void)(g_unlink(path), g_rmdir(folder));
  context = mine;
}

/* Why --device auto takes the GPU, for a second of many such images. */
static char *reason_of(const char *const *stages, int fuse) {
  ready_chain c = parse(stages);
  const fc_format in = {
      .size = sizeof in, .kind = FC_ARRAY, .dtype = FC_F32, .bits = 24, .extent = {1, 99, 999, 1}};
  fc_options options = FC_OPTIONS_INIT;
  options.fuse = fuse;
  const fc_plan_query query = {.in = &in, .wanted = -1, .rows = TRUE, .options = &options};
  g_autoptr(fc_plan) plan = fc_plan_new(c.chain, &query, NULL);
  char *reason = g_strdup(plan->reason);
  g_assert_cmpuint(plan->n_devices, ==, 1);
  drop(&c);
  return reason;
}

/* The prediction counts the kernels that are to be compiled, and only these. */
static void test_counted(void) {
  fc_context *mine = context;
  g_autofree char *folder = g_dir_make_tmp("filterchain-XXXXXX", NULL),
                  *path = g_build_filename(folder, "kernels-sm_90", NULL),
                  *prebuilt = g_build_filename(folder, "kernels-", NULL);
  build_ahead(gains, path);
  for (int i = 0; i < 4; i++) {
    static const int fuse[] = {FC_FUSE_WAIT, FC_FUSE_AUTO, FC_FUSE_WAIT, FC_FUSE_WAIT};
    static const char *const says[] = {
        "with its start-up and 0.25 s for compiling 1 kernel,",
        "with its start-up, stages one by one for the 0.25 s of compiling 1 kernel,", "with its start-up,",
        "with its start-up,"};
    context = context_with(i == 3 ? NULL : "false:good", i == 2 ? prebuilt : NULL);
    g_autofree char *reason = reason_of(gains, fuse[i]);
    if (!strstr(reason, says[i])) g_error("%s: \"%s\" is not in it", reason, says[i]);
    fc_context_free(context);
  }
  (void)(g_unlink(path), g_rmdir(folder));
  context = mine;
}

/* ---- operators without a CUDA version, that have a device function --------------------- */

static const char *const only[] = {"gain:1.5", NULL};

/* What came of it on the device, or NULL with `why`; `callers`: in the caller's memory there. */
static float *run_only(const fc_view *in, int fuse, gboolean callers, GError **why) {
  const gsize size = PIXELS * sizeof(float);
  ready_chain c = parse_but(only, "gain");
  fc_options options = FC_OPTIONS_INIT;
  float *got = g_new0(float, PIXELS);
  const fc_view out = plane_of(got, WIDTH, HEIGHT, FC_HOST);
  gboolean ok;
  options.device = callers ? NULL : "cuda", options.fuse = fuse;
  if (callers) {
    int stream = 0;
    const fc_view from =
                      plane_of(fake_driver.alloc(FC_CUDA_DEVICE(0), size), WIDTH, HEIGHT, FC_CUDA_DEVICE(0)),
                  to = plane_of(fake_driver.alloc(FC_CUDA_DEVICE(0), size), WIDTH, HEIGHT, FC_CUDA_DEVICE(0));
    memcpy(from.data, in->data, size);
    ok = fc_chain_run_device(c.chain, &from, &to, &stream, &options, why);
    memcpy(got, to.data, size);
    drop(&c); /* what it has enqueued is over */
    fake_driver.release(FC_CUDA_DEVICE(0), from.data);
    fake_driver.release(FC_CUDA_DEVICE(0), to.data);
  } else {
    ok = fc_chain_run_host(c.chain, in, &out, &options, NULL, why);
    drop(&c);
  }
  if (!ok) g_clear_pointer(&got, g_free);
  return got;
}

/* They are on the device in a kernel at once, and on the CPU without one; only there, if the memory is the
 * caller's. */
static void test_no_cuda_version(void) {
  fc_context *mine = context;
  g_autofree float *samples = noise_of(5), *good = g_new(float, PIXELS);
  const fc_view in = plane_of(samples, WIDTH, HEIGHT, FC_HOST),
                expected = plane_of(good, WIDTH, HEIGHT, FC_HOST);
  run_host(only, "cpu", FC_FUSE_AUTO, 0, &in, &expected);
  for (int compiler = 1; compiler >= 0; compiler--) {
    context = context_with(compiler ? "false:good" : NULL, NULL);
    for (int callers = 0; callers < 2; callers++)
      for (int fuse = 0; fuse < 2; fuse++) {
        g_autoptr(GError) why = NULL;
        launches = 0;
        g_autofree float *got = run_only(&in, fuse ? FC_FUSE_AUTO : FC_FUSE_NO, callers, &why);
        g_assert_cmpuint(launches, ==, compiler && fuse);
        if (!callers || (compiler && fuse)) {
          g_assert_no_error(why);
          g_assert_cmpmem(got, PIXELS * sizeof(float), good, PIXELS * sizeof(float));
        } else {
          g_assert_error(why, FC_ERROR, FC_UNSUPPORTED);
          g_assert_nonnull(strstr(why->message, fuse ? "gain: has no CUDA version, and no kernel could be"
                                                     : "gain: has no CUDA version"));
        }
      }
    fc_context_free(context);
  }
  context = mine;
}

static int play(const char *part) {
  const char *answer = strcmp(part, "wrong") == 0 ? "log 5\nerror" : "cubin 4\nfake";
  char some[4096];
  while (read(0, some, sizeof some) > 0) continue;
  if (strcmp(part, "crash") == 0) abort();
  return write(FC_CHILD_ANSWERS, answer, strlen(answer)) == (gssize)strlen(answer) ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc == 2 && g_str_has_prefix(argv[1], "false:")) return play(argv[1] + strlen("false:"));
  g_setenv("FILTERCHAIN_NO_CACHE", "1", TRUE);
  g_test_init(&argc, &argv, NULL);
  self = argv[0];
  const fake_faults faults = {.launch = launch};
  fake_device_set(&faults);
  context = fc_context_new();
  context->driver = &fake_driver;
  fc_registry_set_home(context->registry, DEVICE_TEST_PLUGINS, "/nonexistent");
  fc_kernels_set_compiler(context, self, "false:good", NULL);
  g_assert_true(fc_context_add_plugin(context, &odd_plugin, NULL));
  g_test_add_func("/fused/groups", test_groups);
  g_test_add_func("/fused/bytes", test_bytes);
  g_test_add_func("/fused/known", test_known);
  g_test_add_func("/fused/broken functions", test_broken_functions);
  g_test_add_func("/fused/wide pixels", test_wide_pixels);
  g_test_add_func("/fused/long mask", test_long_mask);
  g_test_add_func("/fused/pixels of transforms", test_pixels_of_transforms);
  g_test_add_func("/fused/noting", test_noting);
  g_test_add_func("/fused/told", test_told);
  g_test_add_func("/fused/long chain", test_long_chain);
  g_test_add_func("/fused/memory", test_memory);
  g_test_add_func("/fused/exchanged", test_exchanged);
  g_test_add_func("/fused/switch", test_switch);
  g_test_add_func("/fused/no CUDA version", test_no_cuda_version);
  g_test_add_func("/fused/many", test_many);
  g_test_add_func("/fused/no compiler", test_no_compiler);
  g_test_add_func("/fused/prebuilt", test_prebuilt);
  g_test_add_func("/fused/counted", test_counted);
  const int status = g_test_run();
  fc_context_free(context);
  g_assert_cmpuint(fake_device_live(), ==, 0);
  return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * test_bands.c - a single image goes to a device and back in bands of rows, with the same bits as in one
 * piece: every operator that takes images, by its examples and with every border, alone and in random chains,
 * on the fake device (which computes what the CPU does) and on the CPU in bands of 1, 7 and 16 rows against
 * the whole. What needs an image at once stays in one piece; what does not must have been cut.
 */
#include <string.h>

#include "core/context/context.h"
#include "core/run/result.h"
#include "core/run/run.h"
#include "core/run/memory.h"
#include "core/registry/registry.h"
#include "tests/device/fake_device.h"
#include "tests/device/hosted.h"
#include "tests/stream/chains.h"

#define SEED   20261121
#define CHAINS 100 /* random ones */

static const gint64 bands[] = {1, 7, 16};

static fc_context *context;

/* Of random chains some clip, and some meet memory that is too short for a chunk of theirs. */
static void ignore(fc_log_level level, const char *message, void *data) {}

static fc_format format_of(int kind, int dtype, gint64 rows, gint64 columns, gint64 channels) {
  return (fc_format){sizeof(fc_format),
                     kind,
                     dtype,
                     dtype == FC_U8 ? 8 : 24,
                     FC_INTERLEAVED,
                     0,
                     {1, rows, columns, channels},
                     0};
}

static gsize bytes_of(const fc_format *f) {
  gsize count = fc_dtype_size(f->dtype);
  for (int a = 0; a < FC_AXES; a++) count *= (gsize)f->extent[a];
  return count;
}

static fc_view view_of(const fc_format *f, void *data) {
  fc_view v = {.size = sizeof v, .dtype = f->dtype, .kind = f->kind, .device = FC_HOST, .data = data};
  gint64 stride = (gint64)fc_dtype_size(f->dtype);
  for (int a = FC_AXES - 1; a >= 0; a--) {
    v.shape[a] = v.extent[a] = f->extent[a];
    v.stride[a] = stride;
    stride *= f->extent[a];
  }
  return v;
}

static void *noise_of(const fc_format *f) {
  dice d = dice_of(SEED, "pixels", 0);
  gsize bytes = bytes_of(f);
  void *data = g_malloc(bytes + 1);
  for (gsize i = 0; i < bytes / fc_dtype_size(f->dtype); i++)
    if (f->dtype == FC_U8)
      ((guint8 *)data)[i] = (guint8)dice_int(&d, 0, 255);
    else
      ((float *)data)[i] = (float)dice_real(&d, 0, 200);
  return data;
}

/* ---- one chain on one image ---------------------------------------------- */

typedef struct image {
  fc_format in, out;
  const void *pixels;
  const char *const *stages;
  char *text;
} image;

/* The outcome, or NULL with the error. */
static void *run(const image *m, const char *device, gint64 band, fc_result **result, GError **error) {
  g_autoptr(fc_chain) chain = fc_chain_parse(context, m->stages, error);
  g_assert_no_error(*error);
  g_autoptr(GPtrArray) hosted = NULL;
  if (strcmp(device, "cuda") == 0) hosted = host_stages(chain, NULL);
  fc_options options = FC_OPTIONS_INIT;
  options.device = device, options.chunk = band;
  void *data = g_malloc(bytes_of(&m->out) + 1);
  fc_view in = view_of(&m->in, (void *)m->pixels), out = view_of(&m->out, data);
  memset(data, 0x5a, bytes_of(&m->out));
  fake_device_set(NULL);
  gboolean ok = fc_chain_run_host(chain, &in, &out, &options, result, error);
  g_clear_pointer(&chain, fc_chain_free); /* before what its stages point at */
  if (ok) return data;
  g_free(data);
  return NULL;
}

static void *run_device(const image *m, gint64 band, fc_result **result, GError **error) {
  return run(m, "cuda", band, result, error);
}

/* The same on the CPU, as between files: from a source through a ring of chunks to a sink. */
static void *run_ring(const image *m, gint64 band, fc_result **result, GError **error) {
  g_autoptr(fc_chain) chain = fc_chain_parse(context, m->stages, error);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.chunk = band, options.threads = 2;
  void *data = g_malloc(bytes_of(&m->out) + 1);
  fc_view in = view_of(&m->in, (void *)m->pixels), out = view_of(&m->out, data);
  fc_source *source = fc_memory_source_new(context, &in);
  fc_sink *sink = fc_memory_sink_new(context, &out);
  fc_plan_query query = {
      .in = &m->in, .wanted = m->out.dtype, .rows = source->can_rows && sink->can_rows, .options = &options};
  g_autoptr(fc_plan) plan = fc_plan_new(chain, &query, error);
  fc_run *run = plan ? fc_run_new(plan, NULL, error) : NULL;
  fc_ends ends = {.source = source, .sink = sink, .name = "output"};
  gboolean began;
  *result = fc_result_new();
  gboolean ok = run && fc_run_execute(run, &ends, &options, NULL, *result, &began, error);
  fc_run_free(run);
  source->free(source);
  sink->free(sink);
  if (ok) return data;
  g_free(data);
  return NULL;
}

static gboolean same_measurements(const fc_result *a, const fc_result *b) {
  gboolean same = a->n_measured == b->n_measured;
  for (gsize i = 0; same && i < a->n_measured; i++)
    same = strcmp(a->measured[i]->name, b->measured[i]->name) == 0 &&
           memcmp(&a->measured[i]->value, &b->measured[i]->value, sizeof(double)) == 0 &&
           g_strcmp0(a->measured[i]->exact, b->measured[i]->exact) == 0;
  return same;
}

enum cut { ALWAYS, PERHAPS, NEVER };

/* Whether bands will do: not for a stage that needs all rows, or is stateful; where borders wrap it depends
 * on what is looked at. */
static enum cut cut_of(const image *m) {
  g_autoptr(fc_chain) chain = fc_chain_parse(context, m->stages, NULL);
  fc_plan_query query = {.in = &m->in, .wanted = -1};
  g_autoptr(fc_plan) plan = fc_plan_formats(chain, &query, NULL);
  enum cut cut = plan->measures ? PERHAPS : ALWAYS;
  for (guint s = 0; s < plan->n; s++) {
    const fc_reach *r = &plan->stages[s].reach[FC_AXIS_Y];
    if (r->before == FC_WHOLE || r->after == FC_WHOLE) return NEVER;
    if (plan->stages[s].border == FC_BORDER_WRAP) cut = PERHAPS;
  }
  return cut;
}

typedef void *run_fn(const image *m, gint64 band, fc_result **result, GError **error);

/* In how many chunks it was done, of bands of so many rows. */
static gint64 check_bands(const image *m, run_fn *by, gint64 band, const void *whole,
                          const fc_result *expected) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) result = NULL;
  g_autofree void *data = by(m, band, &result, &error);
  if (!data) g_error("%s: bands of %d: %s", m->text, (int)band, error->message);
  if (memcmp(data, whole, bytes_of(&m->out)) != 0) g_error("%s: bands of %d differ", m->text, (int)band);
  if (!same_measurements(result, expected))
    g_error("%s: bands of %d measure other values", m->text, (int)band);
  fc_context_release(context);
  g_assert_cmpuint(fake_device_live(), ==, 0);
  return result->chunks;
}

/* TRUE when it was cut. */
static gboolean try_image(const char *const *stages, const fc_format *in, const void *pixels) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) expected = NULL;
  image m = {.in = *in, .pixels = pixels, .stages = stages};
  if (!chain_takes(context, stages, in, &m.out)) return FALSE;
  g_autofree char *text = g_strjoinv(" -p ", (char **)stages);
  m.text = text;
  g_autofree void *whole = run(&m, "cpu", 0, &expected, &error);
  if (!whole) g_error("%s: %s", m.text, error->message);
  enum cut cut = cut_of(&m);
  gint64 rows = m.out.extent[FC_AXIS_Y], chunks = 0;
  for (guint i = 0; i < G_N_ELEMENTS(bands); i++) {
    chunks = check_bands(&m, run_device, bands[i], whole, expected);
    g_assert_cmpint(check_bands(&m, run_ring, bands[i], whole, expected), ==, chunks);
    /* Whole blocks of what the stages work in, where bands were shorter. */
    if (cut == ALWAYS) g_assert_cmpint(chunks, <=, (rows + bands[i] - 1) / bands[i]);
    if (cut == NEVER) g_assert_cmpint(chunks, <=, 1);
  }
  return chunks > 1;
}

/* ---- tests --------------------------------------------------------------- */

static void check_stages(const fc_format *in) {
  g_autofree void *pixels = noise_of(in);
  g_autoptr(GPtrArray) stages = stages_for(context, in, FALSE);
  dice d = dice_of(SEED, "chains", (guint64)in->dtype);
  guint cut = 0, random = 0;
  for (guint i = 0; i < stages->len; i++) {
    const char *const alone[] = {g_ptr_array_index(stages, i), NULL};
    cut += (guint)try_image(alone, in, pixels);
  }
  g_test_message("%u stages alone, %u of them cut", stages->len, cut);
  g_assert_cmpuint(stages->len, >, 50);
  g_assert_cmpuint(cut, >, stages->len / 2);
  for (guint i = 0; i < CHAINS; i++) {
    g_auto(GStrv) chain = random_chain(context, stages, in, &d);
    random += chain && try_image((const char *const *)chain, in, pixels);
  }
  g_test_message("%u random chains, %u of them cut", CHAINS, random);
  g_assert_cmpuint(random, >, CHAINS / 10);
}

static void test_pixels(void) {
  fc_format in = format_of(FC_IMAGE, FC_U8, 43, 29, 3);
  check_stages(&in);
}

static void test_array(void) {
  fc_format in = format_of(FC_ARRAY, FC_F32, 37, 41, 1);
  check_stages(&in);
}

/* Neither the device's memory nor pinned memory grows with the image. */
static void test_memory(void) {
  static const char *const stages[] = {"sepconv:[1,2,1]/4", "gain:0.5", NULL};
  gsize peaks[2];
  for (int i = 0; i < 2; i++) {
    fc_format in = format_of(FC_ARRAY, FC_F32, 100 << (4 * i), 1000, 1);
    g_autofree void *pixels = noise_of(&in);
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_result) result = NULL;
    image m = {.in = in, .out = in, .pixels = pixels, .stages = stages};
    g_autofree void *data = run_device(&m, 20, &result, &error);
    g_assert_nonnull(data);
    g_assert_cmpint(result->chunks, ==, in.extent[FC_AXIS_Y] / 20);
    peaks[i] = fake_device_peak();
  }
  g_assert_cmpuint(peaks[0], ==, peaks[1]);
}

/* Large frames of a batch go by rows too, one after another: in a chunk of all frames, and in bands. */
static void check_batch(const char *first, const char *second) {
  const char *const stages[] = {first, second, NULL};
  fc_format in = format_of(FC_ARRAY, FC_F32, 1100, 4001, 1);
  in.extent[FC_AXIS_N] = 3;
  g_autofree void *pixels = noise_of(&in);
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) expected = NULL;
  image m = {.in = in, .pixels = pixels, .stages = stages};
  g_assert_true(chain_takes(context, stages, &in, &m.out));
  m.text = (char *)first;
  g_autofree void *whole = run_ring(&m, 3, &expected, &error);
  g_assert_no_error(error);
  g_assert_cmpint(expected->chunks, ==, 1);
  gint64 chunks = check_bands(&m, run_ring, 0, whole, expected);
  g_assert_cmpint(chunks, >=, 3);
  g_assert_cmpint(check_bands(&m, run_device, 0, whole, expected), >=, 3); /* larger ones on a device */
}

static void test_batch(void) {
  check_batch("sepconv:[1,2,3,2,1]/9:border=reflect101", NULL);
  check_batch("crop:x=7:y=100:width=3900:height=950", "winstat:window=31x5:stat=mean");
  check_batch("stats", "crop:y=200:height=300");
  check_batch("conv1d:[1,2,4]/7:axis=y:border=replicate", "stats");
}

/* What measures sees all of an image, however little of it a later stage keeps. */
static void test_measured(void) {
  static const char *const alone[] = {"stats", NULL}, *const cropped[] = {
                                                          "stats", "crop:x=9:y=30:width=4:height=3", NULL};
  static run_fn *const ways[] = {run_ring, run_device};
  fc_format in = format_of(FC_IMAGE, FC_U8, 43, 29, 3);
  g_autofree void *pixels = noise_of(&in);
  for (guint i = 0; i < G_N_ELEMENTS(ways); i++)
    for (gint64 band = 1; band <= 64; band *= 4) {
      g_autoptr(GError) error = NULL;
      g_autoptr(fc_result) all = NULL, some = NULL;
      image m = {.in = in, .out = in, .pixels = pixels, .stages = alone};
      g_autofree void *copied = ways[i](&m, band, &all, &error);
      g_assert_nonnull(copied);
      m.stages = cropped;
      g_assert_true(chain_takes(context, cropped, &in, &m.out));
      g_autofree void *kept = ways[i](&m, band, &some, &error);
      g_assert_nonnull(kept);
      g_assert_true(same_measurements(some, all));
    }
}

/* Samples go over as they are in memory, each row once and those that two bands look at twice. */
static void test_bytes(void) {
  static const char *const stages[] = {"sepconv:[1,2,1]/4:border=zero", "gain:0.5", NULL};
  const gint64 rows = 100, band = 10, row = 29 * 3;
  fc_format in = format_of(FC_IMAGE, FC_U8, rows, 29, 3);
  g_autofree void *pixels = noise_of(&in);
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) result = NULL;
  image m = {.in = in, .out = in, .pixels = pixels, .stages = stages};
  g_autofree void *data = run_device(&m, band, &result, &error);
  g_assert_nonnull(data);
  g_assert_cmpint(result->bytes_up, ==, (rows + 2 * (rows / band - 1)) * row);
  g_assert_cmpint(result->bytes_down, ==, rows * row);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  context = fc_context_new();
  context->driver = &fake_driver;
  fc_context_set_log(context, ignore, NULL);
  fc_registry_set_home(context->registry, DEVICE_TEST_PLUGINS, "/nonexistent");
  g_test_add_func("/bands/pixels", test_pixels);
  g_test_add_func("/bands/array", test_array);
  g_test_add_func("/bands/memory", test_memory);
  g_test_add_func("/bands/batch", test_batch);
  g_test_add_func("/bands/measured", test_measured);
  g_test_add_func("/bands/bytes", test_bytes);
  int status = g_test_run();
  fc_context_free(context);
  return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * test_between.c - the library between files and memory, as a binding of another language uses it: files,
 * their content and generators into views, views into files; chains that are cloned and made stage by stage,
 * and operators that the program itself has.
 */
#include "core/contract/fc_helpers.h"
#include "core/contract/filterchain.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

enum { FRAMES = 3000, CHANNELS = 2 };

typedef struct place {
  char *folder, *file;
  fc_context *context;
} place;

static void set_up(place *p, gconstpointer data) {
  p->folder = g_dir_make_tmp("between-XXXXXX", NULL);
  p->file = g_build_filename(p->folder, "x.wav", NULL);
  p->context = fc_context_new();
}

static void tear_down(place *p, gconstpointer data) {
  g_unlink(p->file);
  g_rmdir(p->folder);
  g_free(p->file);
  g_free(p->folder);
  fc_context_free(p->context);
}

static fc_view view_of(void *data, int dtype, gint64 frames, int channels) {
  const gint64 size = (gint64)fc_dtype_size(dtype);
  return (fc_view){.size = sizeof(fc_view),
                   .dtype = dtype,
                   .kind = FC_AUDIO,
                   .data = data,
                   .shape = {1, 1, frames, channels},
                   .stride = {size * channels * frames, size * channels * frames, size * channels, size},
                   .extent = {1, 1, frames, channels}};
}

static fc_chain *parse(place *p, const char *stage) {
  const char *const stages[] = {stage, NULL};
  GError *error = NULL;
  fc_chain *chain = fc_chain_parse(p->context, stages, &error);
  g_assert_no_error(error);
  return chain;
}

/* Samples into a file with their rate, and back from the file and from its content. */
static void test_there_and_back(place *p, gconstpointer data) {
  gint16 in[FRAMES * CHANNELS], out[FRAMES * CHANNELS];
  for (int i = 0; i < FRAMES * CHANNELS; i++) in[i] = (gint16)(2 * (i * 7919 % 30000 - 15000));
  fc_view from = view_of(in, FC_I16, FRAMES, CHANNELS), to = view_of(out, FC_I16, FRAMES, CHANNELS);
  g_autoptr(fc_chain) halve = parse(p, "gain:0.5"), twice = parse(p, "gain:2");
  g_autoptr(GError) error = NULL;
  const fc_format meaning = {.size = sizeof meaning, .rate = 11025};
  fc_options options = FC_OPTIONS_INIT;
  options.meaning = &meaning, options.chunk = 700;
  g_assert_true(fc_chain_save_file(halve, &from, p->file, &options, NULL, &error));
  g_assert_no_error(error);
  g_autofree char *content = NULL;
  gsize bytes;
  g_assert_true(g_file_get_contents(p->file, &content, &bytes, NULL));
  for (int way = 0; way < 2; way++) {
    g_autoptr(fc_loader) load = way ? fc_chain_load_bytes(twice, content, bytes, NULL, &error)
                                    : fc_chain_load_file(twice, p->file, NULL, &error);
    g_assert_no_error(error);
    const fc_format *format = fc_loader_format(load);
    g_assert_cmpint(format->kind, ==, FC_AUDIO);
    g_assert_cmpint(format->extent[FC_AXIS_X], ==, FRAMES);
    g_assert_cmpint(format->extent[FC_AXIS_C], ==, CHANNELS);
    g_assert_cmpfloat(format->rate, ==, 11025);
    fc_view less = view_of(out, FC_I16, FRAMES - 1, CHANNELS);
    g_assert_false(fc_loader_run(load, &less, NULL, &error));
    g_assert_error(error, FC_ERROR, FC_INVALID);
    g_clear_error(&error);
    memset(out, 0, sizeof out);
    g_autoptr(fc_result) result = NULL;
    g_assert_true(fc_loader_run(load, &to, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpmem(out, sizeof out, in, sizeof in);
    g_assert_cmpstr(result->device, !=, "");
    g_assert_false(fc_loader_run(load, &to, NULL, &error)); /* only once */
    g_assert_error(error, FC_ERROR, FC_INVALID);
    g_clear_error(&error);
  }
}

static double largest(const float *samples) {
  double most = 0;
  for (int i = 0; i < FRAMES * CHANNELS; i++) most = MAX(most, fabs((double)samples[i]));
  return most;
}

/* What is measured before it is changed is opened twice, and both times read from its beginning. */
static void test_two_passes(place *p, gconstpointer data) {
  float in[FRAMES * CHANNELS], out[FRAMES * CHANNELS];
  for (int i = 0; i < FRAMES * CHANNELS; i++) in[i] = (float)(i * 7919 % 30000 - 15000) / 65536;
  in[FRAMES * CHANNELS - 1] = 0.25F;
  fc_view from = view_of(in, FC_F32, FRAMES, CHANNELS), to = view_of(out, FC_F32, FRAMES, CHANNELS);
  g_autoptr(fc_chain) copy = parse(p, "gain:1"), loud = parse(p, "loudnorm:peak=0.5");
  g_autoptr(GError) error = NULL;
  const fc_format meaning = {.size = sizeof meaning, .rate = 8000};
  fc_options options = FC_OPTIONS_INIT;
  options.meaning = &meaning, options.chunk = 700;
  g_assert_true(fc_chain_save_file(copy, &from, p->file, &options, NULL, &error));
  g_assert_no_error(error);
  g_autofree char *content = NULL;
  gsize bytes;
  g_assert_true(g_file_get_contents(p->file, &content, &bytes, NULL));
  for (int way = 0; way < 4; way++) {
    memset(out, 0, sizeof out);
    g_autoptr(fc_loader) load = way == 0   ? fc_chain_load_file(loud, p->file, &options, &error)
                                : way == 1 ? fc_chain_load_bytes(loud, content, bytes, NULL, &error)
                                           : NULL;
    g_assert_no_error(error);
    if (load)
      g_assert_true(fc_loader_run(load, &to, NULL, &error));
    else if (way == 2)
      g_assert_true(fc_chain_run_host(loud, &from, &to, &options, NULL, &error));
    else {
      g_assert_true(fc_chain_save_file(loud, &from, p->file, &options, NULL, &error));
      g_autoptr(fc_loader) again = fc_chain_load_file(copy, p->file, NULL, &error);
      g_assert_true(fc_loader_run(again, &to, NULL, &error));
    }
    g_assert_no_error(error);
    g_assert_cmpfloat_with_epsilon(largest(out), 0.5, 1e-6);
    g_assert_cmpfloat_with_epsilon((double)out[1] / (double)in[1], 2, 1e-4);
  }
}

/* A picture of some of a batch makes nothing else, and all of it can be run afterwards. */
static gboolean count_file(const fc_batch_file *file, void *data) {
  *(int *)data += file->why == NULL;
  return TRUE;
}

static int run_batch(place *p, const char *input, const char *output, const char *picture) {
  const char *const inputs[] = {input, NULL};
  const fc_batch_spec spec = {.size = sizeof spec, .inputs = inputs, .output = output};
  const fc_options options = FC_OPTIONS_INIT;
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_chain) chain = parse(p, "gain:0.5");
  g_autoptr(fc_batch) batch = fc_batch_new(chain, &spec, &options, &error);
  g_assert_no_error(error);
  int done = 0;
  if (picture) {
    g_assert_true(fc_batch_preview(batch, 1, picture, &error));
    g_assert_no_error(error);
    g_autofree char *folder = g_path_get_dirname(output);
    g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
  }
  g_assert_cmpint((int)fc_batch_run(batch, count_file, &done, &error), ==, 0);
  g_assert_no_error(error);
  return done;
}

static void remove_all(const char *path) {
  g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
  for (const char *name; dir && (name = g_dir_read_name(dir));) {
    g_autofree char *inner = g_build_filename(path, name, NULL);
    remove_all(inner);
  }
  g_remove(path);
}

static void test_preview_and_run(place *p, gconstpointer data) {
  float in[FRAMES * CHANNELS] = {0};
  fc_view from = view_of(in, FC_F32, FRAMES, CHANNELS);
  g_autoptr(fc_chain) copy = parse(p, "gain:1");
  g_autoptr(GError) error = NULL;
  const fc_format meaning = {.size = sizeof meaning, .rate = 8000};
  fc_options options = FC_OPTIONS_INIT;
  options.meaning = &meaning;
  g_assert_true(fc_chain_save_file(copy, &from, p->file, &options, NULL, &error));
  g_assert_no_error(error);
  g_autofree char *tar = g_build_filename(p->folder, "x.tar", NULL),
                  *out = g_build_filename(p->folder, "out/{name}", NULL),
                  *sheet = g_build_filename(p->folder, "sheet.png", NULL);
  g_assert_cmpint(run_batch(p, p->file, tar, NULL), ==, 1);
  g_assert_cmpint(run_batch(p, tar, out, sheet), ==, 1);
  g_autofree char *made = g_build_filename(p->folder, "out", NULL);
  g_assert_true(g_file_test(made, G_FILE_TEST_IS_DIR));
  remove_all(p->folder);
}

static void test_generator(place *p, gconstpointer data) {
  g_autoptr(fc_chain) chain = parse(p, "tone:square:freq=1000:rate=8000:length=16:level=1");
  g_autoptr(GError) error = NULL;
  float out[16];
  fc_view to = view_of(out, FC_F32, 16, 1);
  g_autoptr(fc_loader) load = fc_chain_load_file(chain, NULL, NULL, &error);
  g_assert_no_error(error);
  g_assert_true(fc_loader_run(load, &to, NULL, &error));
  g_assert_no_error(error);
  g_assert_cmpfloat(out[1], ==, 1);
  g_assert_cmpfloat(out[5], ==, -1);
}

/* What fails leaves no file; what is no file is told, and so is a chain without an input. */
static void test_failures(place *p, gconstpointer data) {
  float in[4] = {0, 1, NAN, 0};
  fc_view from = view_of(in, FC_F32, 4, 1);
  g_autoptr(fc_chain) chain = parse(p, "gain:1");
  g_autoptr(GError) error = NULL;
  const fc_format meaning = {.size = sizeof meaning, .rate = 8000};
  fc_options options = FC_OPTIONS_INIT;
  options.meaning = &meaning;
  g_autofree char *as_integers = g_strconcat(p->file, ":depth=16", NULL);
  gboolean ok = fc_chain_save_file(chain, &from, as_integers, &options, NULL, &error);
  g_assert_false(ok);
  g_assert_nonnull(error);
  g_assert_false(g_file_test(p->file, G_FILE_TEST_EXISTS));
  g_clear_error(&error);
  g_assert_null(fc_chain_load_bytes(chain, "no file", 7, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_UNSUPPORTED);
  g_assert_nonnull(strstr(error->message, "memory"));
  g_clear_error(&error);
  g_assert_null(fc_chain_load_bytes(chain, "", 0, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_IO);
  g_clear_error(&error);
  g_assert_null(fc_chain_load_file(chain, NULL, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
}

/* An instance more of the same stages, made one after the other. */
static void test_clone(place *p, gconstpointer data) {
  g_autoptr(fc_chain) chain = fc_chain_new(p->context);
  g_autoptr(GError) error = NULL;
  static const double taps[] = {3};
  const fc_table table = {.size = sizeof table, .name = "three", .rows = 1, .cols = 1, .data = taps};
  const fc_value mask = {.size = sizeof mask, .table = &table}, *const values[] = {&mask, NULL};
  g_assert_true(fc_chain_add_text(chain, "gain:0.5", &error));
  g_assert_true(fc_chain_add(chain, "conv1d", values, &error));
  g_assert_false(fc_chain_add_text(chain, "conv1d", &error)); /* and is as it was */
  g_clear_error(&error);
  g_autoptr(fc_chain) other = fc_chain_clone(chain, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(fc_chain_length(other), ==, 2);
  for (int i = 0; i < 2; i++) {
    float in[3] = {1, 2, 4}, out[3];
    fc_view from = view_of(in, FC_F32, 3, 1), to = view_of(out, FC_F32, 3, 1);
    g_assert_true(fc_chain_run_host(i ? other : chain, &from, &to, NULL, NULL, &error));
    g_assert_cmpfloat(out[2], ==, 6);
  }
}

/* ---- an operator of the program's own ---------------------------------------- */

static fc_status process_negative(const fc_host *host, const void *state, const fc_job *job) {
  for (gint64 x = 0; x < job->out->shape[FC_AXIS_X]; x++)
    *(float *)fc_view_at(job->out, 0, 0, x, 0) = -*(float *)fc_view_at(job->in[0], 0, 0, x, 0);
  return FC_OK;
}

static const char *const examples[] = {"negative", NULL};
static const fc_backend on_cpu = {
    .size = sizeof(fc_backend), .device_kind = FC_KIND_HOST, .process = process_negative};
static const fc_backend *const backends[] = {&on_cpu, NULL};
static const fc_operator negative = {.size = sizeof(fc_operator),
                                     .name = "negative",
                                     .summary = "the other sign",
                                     .doc = "For the test.",
                                     .examples = examples,
                                     .kinds = FC_KIND_BIT(FC_AUDIO),
                                     .dtypes_in = FC_DTYPE_BIT(FC_F32),
                                     .dtypes_out = FC_DTYPE_BIT(FC_F32),
                                     .backends = backends};

static void test_own_operator(place *p, gconstpointer data) {
  static const fc_operator *const operators[] = {&negative};
  static const fc_plugin plugin = {sizeof plugin, FC_PLUGIN_ABI, "test.own", "1", "test", "MIT", "", 1,
                                   operators};
  g_autoptr(GError) error = NULL;
  g_assert_true(fc_context_add_plugin(p->context, &plugin, &error));
  g_assert_no_error(error);
  g_assert_false(fc_context_add_plugin(p->context, &plugin, &error));
  g_assert_cmpstr(error->message, ==, "there is an operator \"negative\" already");
  g_clear_error(&error);
  g_autoptr(fc_chain) chain = parse(p, "negative");
  float in[2] = {1, -2}, out[2];
  fc_view from = view_of(in, FC_F32, 2, 1), to = view_of(out, FC_F32, 2, 1);
  g_assert_true(fc_chain_run_host(chain, &from, &to, NULL, NULL, &error));
  g_assert_cmpfloat(out[0] + 10 * out[1], ==, 19);
}

/* Its second pass divides by the largest sample that the first one saw, and by a time in samples. */
typedef struct fitted {
  int pass;
  gint64 length;
  double most;
} fitted;

static fc_status fitted_create(const fc_host *host, const fc_arg *const *args, void **self) {
  fitted *f = g_new0(fitted, 1);
  f->length = args[0]->ints[0];
  *self = f;
  return FC_OK;
}

static fc_status fitted_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  terms->measure_bytes = ((const fitted *)self)->pass ? 0 : sizeof(double);
  return FC_OK;
}

static fc_status fitted_process(const fc_host *host, const void *state, const fc_job *job) {
  const fitted *f = state;
  for (gint64 x = 0; x < job->out->shape[FC_AXIS_X]; x++) {
    const double value = (double)*(const float *)fc_view_at(job->in[0], 0, 0, x, 0);
    if (f->pass == 0) ((double *)job->measure)[x] = value;
    *(float *)fc_view_at(job->out, 0, 0, x, 0) =
        (float)(f->pass ? value / f->most / (double)f->length : value);
  }
  return FC_OK;
}

static fc_status fitted_collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  fitted *f = self;
  for (gint64 i = 0; i < count; i++) f->most = MAX(f->most, ((const double *)blocks)[i]);
  return FC_OK;
}

static fc_status fitted_report(const fc_host *host, void *self) {
  return FC_OK;
}

static void fitted_begin(void *self, int32_t pass) {
  fitted *f = self;
  f->pass = pass;
  if (pass == 0) f->most = 0;
}

static const void *fitted_extension(const fc_operator *op, const char *name) {
  static const fc_two_passes passes = {sizeof passes, fitted_begin};
  return strcmp(name, FC_TWO_PASSES) == 0 ? &passes : NULL;
}

static const char *const fitted_examples[] = {"fitted:2", NULL};
static const fc_backend fitted_on_cpu = {
    .size = sizeof(fc_backend), .device_kind = FC_KIND_HOST, .process = fitted_process};
static const fc_backend *const fitted_backends[] = {&fitted_on_cpu, NULL};
static const fc_param *const fitted_params[] = {
    FC_INT_PARAM(FC_PARAM_MAIN, "length", "How long.", "samples", "1", FC_INT_AT_LEAST(1))};
static const fc_operator fitted_operator = {.size = sizeof(fc_operator),
                                            .flags = FC_OP_TWO_PASSES,
                                            .name = "fitted",
                                            .summary = "for the test",
                                            .doc = "For the test.",
                                            .examples = fitted_examples,
                                            .kinds = FC_KIND_BIT(FC_AUDIO),
                                            .dtypes_in = FC_DTYPE_BIT(FC_F32),
                                            .dtypes_out = FC_DTYPE_BIT(FC_F32),
                                            .n_params = 1,
                                            .params = fitted_params,
                                            .create = fitted_create,
                                            .destroy = g_free,
                                            .negotiate = fitted_negotiate,
                                            .backends = fitted_backends,
                                            .collect = fitted_collect,
                                            .report = fitted_report,
                                            .extension = fitted_extension};

/* Instances of each rate learn of the passes; a clone has its own. */
static void test_times_in_two_passes(place *p, gconstpointer data) {
  static const fc_operator *const operators[] = {&fitted_operator};
  static const fc_plugin plugin = {sizeof plugin, FC_PLUGIN_ABI, "test.fitted", "1", "test", "MIT", "", 1,
                                   operators};
  g_autoptr(GError) error = NULL;
  g_assert_true(fc_context_add_plugin(p->context, &plugin, &error));
  g_assert_no_error(error);
  g_autoptr(fc_chain) chain = parse(p, "fitted:1ms");
  g_autoptr(fc_chain) other = fc_chain_clone(chain, &error);
  g_assert_no_error(error);
  for (int i = 0; i < 6; i++) {
    float in[3] = {(float)(1 + i), 2, 8}, out[3] = {0};
    const double rate = i % 2 ? 2000 : 4000;
    const fc_format meaning = {.size = sizeof meaning, .rate = rate};
    fc_options options = FC_OPTIONS_INIT;
    options.meaning = &meaning;
    fc_view from = view_of(in, FC_F32, 3, 1), to = view_of(out, FC_F32, 3, 1);
    g_assert_true(fc_chain_run_host(i > 3 ? other : chain, &from, &to, &options, NULL, &error));
    g_assert_no_error(error);
    g_assert_cmpfloat(out[2], ==, 1000 / rate);
    g_assert_cmpfloat(out[0], ==, (1 + i) / 8.0 * 1000 / rate);
  }
}

static void test_no_device(place *p, gconstpointer data) {
  if (fc_has_cuda()) {
    g_test_skip("this build has the CUDA backend");
    return;
  }
  g_autoptr(GError) error = NULL;
  g_assert_null(fc_device_alloc(p->context, FC_CUDA_DEVICE(0), 16, &error));
  g_assert_error(error, FC_ERROR, FC_DEVICE);
  fc_device_free(p->context, FC_CUDA_DEVICE(0), NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add("/between/there-and-back", place, NULL, set_up, test_there_and_back, tear_down);
  g_test_add("/between/two-passes", place, NULL, set_up, test_two_passes, tear_down);
  g_test_add("/between/preview-and-run", place, NULL, set_up, test_preview_and_run, tear_down);
  g_test_add("/between/generator", place, NULL, set_up, test_generator, tear_down);
  g_test_add("/between/failures", place, NULL, set_up, test_failures, tear_down);
  g_test_add("/between/clone", place, NULL, set_up, test_clone, tear_down);
  g_test_add("/between/own-operator", place, NULL, set_up, test_own_operator, tear_down);
  g_test_add("/between/times-in-two-passes", place, NULL, set_up, test_times_in_two_passes, tear_down);
  g_test_add("/between/no-device", place, NULL, set_up, test_no_device, tear_down);
  return g_test_run();
}

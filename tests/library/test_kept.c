/* SPDX-License-Identifier: MIT */
/*
 * test_kept.c - what a chain keeps from batch to batch: the instances of its workers, with what they have
 * prepared. Counted by an operator that copies. And what a context keeps from call to call: threads.
 */
#include "core/contract/fc_helpers.h"
#include "core/contract/filterchain.h"

#include <glib/gstdio.h>
#include <string.h>

enum { FILES = 12, BATCHES = 5 };

static gint created, destroyed, prepared, released;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  g_atomic_int_inc(&created);
  return FC_OK;
}

static void destroy(void *self) {
  g_atomic_int_inc(&destroyed);
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **state) {
  g_atomic_int_inc(&prepared);
  return FC_OK;
}

static void release(const fc_host *host, void *state) {
  g_atomic_int_inc(&released);
}

static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const fc_view *in = job->in[0], *out = job->out;
  for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
    for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
      memcpy(fc_view_at(out, 0, y, x, 0), fc_view_at(in, 0, y, x, 0), fc_dtype_size(out->dtype));
  return FC_OK;
}

static const fc_operator counts = {.size = sizeof counts,
                                   .flags = FC_OP_KEEPS_DTYPE,
                                   .name = "counts",
                                   .summary = "copies",
                                   .doc = "Counts.",
                                   FC_EVERY_SIGNAL,
                                   .create = create,
                                   .destroy = destroy,
                                   .backends = FC_BACKENDS(FC_ON_CPU(prepare, release, NULL, process))};

/* Turns a sound around, and so needs all of it. */
static fc_status need_all(const fc_host *host, void *self, fc_terms *terms) {
  terms->needs[0]->reach[FC_AXIS_X].before = terms->needs[0]->reach[FC_AXIS_X].after = FC_WHOLE;
  return FC_OK;
}

static fc_status turn_around(const fc_host *host, const void *state, const fc_job *job) {
  const fc_view *in = job->in[0], *out = job->out;
  for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
    *(uint8_t *)fc_view_at(out, 0, 0, x, 0) =
        *(const uint8_t *)fc_view_at(in, 0, 0, in->shape[FC_AXIS_X] - 1 - (out->origin[FC_AXIS_X] + x), 0);
  return FC_OK;
}

static const fc_operator turns = {.size = sizeof turns,
                                  .flags = FC_OP_KEEPS_DTYPE,
                                  .name = "turns",
                                  .summary = "turns around",
                                  .doc = "Needs all.",
                                  FC_EVERY_SIGNAL,
                                  .negotiate = need_all,
                                  .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, turn_around))};
FC_PLUGIN("test", "1", "test", "MIT", "", &counts, &turns)

/* A .npy file of so many rows of 4 bytes. */
static void write_rows(const char *path, int rows) {
  g_autofree guint8 *file = g_malloc0((gsize)(128 + 4 * rows));
  memset(file, ' ', 128);
  memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
  g_autofree char *header =
      g_strdup_printf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 4), }", rows);
  memcpy(file + 10, header, strlen(header));
  file[127] = '\n';
  g_autoptr(GError) error = NULL;
  g_file_set_contents(path, (const char *)file, 128 + 4 * rows, &error);
  g_assert_no_error(error);
}

static gboolean done(gsize index, const fc_result *result, const GError *error, void *data) {
  g_assert_no_error(error);
  ++*(int *)data;
  return TRUE;
}

static void test_batches(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp("filterchain-XXXXXX", &error);
  g_assert_no_error(error);
  fc_file files[FILES];
  const fc_file *all[FILES];
  for (int i = 0; i < FILES; i++) {
    files[i] = (fc_file){.size = sizeof(fc_file),
                         .input = g_strdup_printf("%s/%d.npy", folder, i),
                         .output = g_strdup_printf("%s/out%d.npy", folder, i)};
    write_rows(files[i].input, 10 + i); /* each of a size of its own */
    all[i] = &files[i];
  }
  fc_context *context = fc_context_new();
  g_assert_true(fc_context_add_plugin(context, fc_plugin_entry_v1(), &error));
  const char *const stages[] = {"counts", NULL};
  fc_chain *chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.threads = 2;
  int told = 0;
  for (int batch = 0; batch < BATCHES; batch++)
    g_assert_cmpint(fc_chain_run_files(chain, all, FILES, &options, done, &told, &error), ==, 0);
  g_assert_cmpint(told, ==, BATCHES * FILES);
  g_assert_cmpint(created, ==, 2); /* the chain and one more, for two workers */
  g_assert_cmpint(prepared, <=, 2);
  g_assert_cmpint(released, ==, 0);
  fc_chain_release(chain);
  g_assert_cmpint(destroyed, ==, 1);
  g_assert_cmpint(released, ==, prepared);
  fc_chain_free(chain);
  g_assert_cmpint(destroyed, ==, created);
  fc_context_free(context);
  for (int i = 0; i < FILES; i++) {
    g_remove(files[i].input), g_remove(files[i].output);
    g_free((char *)files[i].input), g_free((char *)files[i].output);
  }
  g_rmdir(folder);
}

static guint count_threads(void) {
  guint n = 0;
  GDir *dir = g_dir_open("/proc/self/task", 0, NULL);
  while (g_dir_read_name(dir)) n++;
  g_dir_close(dir);
  return n;
}

/* A sound in memory that is copied, which several threads share: they are the context's, and stay. */
static void test_threads(void) {
  enum { SAMPLES = 16 << 20 };
  if (g_get_num_processors() < 2) {
    g_test_skip("one processor copies alone");
    return;
  }
  g_autoptr(GError) error = NULL;
  fc_context *context = fc_context_new();
  g_assert_true(fc_context_add_plugin(context, fc_plugin_entry_v1(), &error));
  const char *const stages[] = {"turns", NULL};
  fc_chain *chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.threads = 1;
  g_autofree guint8 *samples = g_malloc(SAMPLES), *made = g_malloc0(SAMPLES);
  for (gsize i = 0; i < SAMPLES; i++) samples[i] = (guint8)(i % 251);
  fc_view in = {.size = sizeof in,
                .kind = FC_AUDIO,
                .dtype = FC_U8,
                .data = samples,
                .shape = {1, 1, SAMPLES, 1},
                .stride = {SAMPLES, SAMPLES, 1, 1}},
          out = in;
  out.data = made;
  const guint before = count_threads();
  g_assert_true(fc_chain_run_host(chain, &in, &out, &options, NULL, &error));
  const guint after = count_threads();
  g_assert_cmpuint(after, >, before);
  g_assert_true(fc_chain_run_host(chain, &in, &out, &options, NULL, &error));
  g_assert_cmpuint(count_threads(), ==, after);
  for (gsize i = 0; i < SAMPLES; i++)
    if (made[i] != samples[SAMPLES - 1 - i]) g_error("sample %" G_GSIZE_FORMAT, i);
  fc_chain_free(chain);
  fc_context_free(context);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/kept/batches", test_batches);
  g_test_add_func("/kept/threads", test_threads);
  return g_test_run();
}

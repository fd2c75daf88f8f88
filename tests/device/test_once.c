/* SPDX-License-Identifier: MIT */
/*
 * test_once.c - inputs that can be read once only - the chain's, a further one, one that follows - when a
 * device fails. Before anything was read the CPU takes over; later the run fails and says which input keeps
 * the CPU from it. Named pipes, to each of which the content is written once; and sessions.
 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/registry/registry.h"
#include "tests/device/fake_device.h"
#include "tests/device/hosted.h"

enum { FRAMES = 20000, HEADER = 44, BYTES = HEADER + 2 * FRAMES, CHUNK = 1000 };

static fc_context *context;
static char *folder;

/* Mono, 16 bits, 8000 Hz. */
static void make_sound(guint8 *file, int seed) {
  static const char start[] = "RIFF____WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data____";
  const guint32 riff = GUINT32_TO_LE(BYTES - 8), data = GUINT32_TO_LE(2 * FRAMES);
  memcpy(file, start, HEADER);
  memcpy(file + 4, &riff, 4), memcpy(file + 40, &data, 4);
  for (int i = 0; i < 2 * FRAMES; i++) file[HEADER + i] = (guint8)(i % 2 ? 0 : i * seed % 251);
}

static char *path_of(const char *name) {
  return g_build_filename(folder, name, NULL);
}

typedef struct writer {
  char *path;
  guint8 content[BYTES];
} writer;

/* As much as anybody reads, once. */
static gpointer write_once(gpointer data) {
  const writer *w = data;
  const int pipe = open(w->path, O_WRONLY | O_CLOEXEC);
  for (gsize at = 0; at < BYTES;) {
    const gssize wrote = write(pipe, w->content + at, BYTES - at);
    if (wrote <= 0) break;
    at += (gsize)wrote;
  }
  close(pipe);
  return NULL;
}

typedef enum which { NONE, FIRST, FURTHER, FOLLOWER } which;

static gboolean run(which once, const char *out, const fake_faults *faults, GError **error) {
  static const char *const names[] = {"", "first.wav", "further.wav", "follower.wav"};
  g_autofree char *paths[4] = {NULL};
  writer *w = g_new0(writer, 1);
  for (int i = FIRST; i <= FOLLOWER; i++) {
    paths[i] = path_of(names[i]);
    guint8 *content = i == (int)once ? w->content : g_malloc(BYTES);
    make_sound(content, 3 + i);
    g_remove(paths[i]);
    if (i == (int)once)
      g_assert_cmpint(mkfifo(paths[i], 0600), ==, 0);
    else
      g_assert_true(g_file_set_contents(paths[i], (const char *)content, BYTES, NULL));
    if (i != (int)once) g_free(content);
  }
  w->path = paths[once];
  GThread *thread = once ? g_thread_new("writer", write_once, w) : NULL;
  g_autofree char *mixin = g_strdup_printf("mixin:%s", paths[FURTHER]);
  const char *const stages[] = {mixin, "gain:0.25", NULL}, *const followers[] = {paths[FOLLOWER], NULL};
  fc_chain *chain = fc_chain_parse(context, stages, error);
  g_assert_no_error(*error);
  GPtrArray *hosted = host_stages(chain, NULL);
  fc_options options = FC_OPTIONS_INIT;
  options.chunk = CHUNK, options.followers = followers;
  options.device = faults ? "auto" : "cpu";
  fake_device_set(faults);
  const gboolean ok = fc_chain_run_file(chain, paths[FIRST], out, &options, NULL, error);
  if (faults) g_assert_true(fake_device_failed());
  if (thread) g_thread_join(thread);
  fc_chain_free(chain);
  g_ptr_array_unref(hosted);
  fc_context_release(context);
  for (int i = FIRST; i <= FOLLOWER; i++) g_free(g_steal_pointer(&paths[i]));
  g_free(w);
  return ok;
}

static void test_once(void) {
  static const fake_faults early = {.call = FAKE_NEW, .at = 1}, late = {.call = FAKE_COMPUTE, .at = 2};
  g_autofree char *good = path_of("good.wav"), *out = path_of("out.wav");
  g_autoptr(GError) error = NULL;
  g_assert_true(run(NONE, good, NULL, &error));
  g_autofree char *expected = NULL;
  gsize bytes;
  g_assert_true(g_file_get_contents(good, &expected, &bytes, NULL));
  for (which once = NONE; once <= FOLLOWER; once++)
    for (int when = 0; when < 2; when++) {
      g_clear_error(&error);
      g_remove(out);
      const gboolean ok = run(once, out, when ? &late : &early, &error);
      g_test_message("%d, %s: %s", once, when ? "late" : "early", ok ? "complete" : error->message);
      if (ok) {
        g_autofree char *made = NULL;
        gsize size;
        g_assert_true(g_file_get_contents(out, &made, &size, NULL));
        g_assert_cmpmem(made, size, expected, bytes);
      }
      g_assert_cmpint(ok, ==, when == 0 || once == NONE);
      if (ok) continue;
      g_assert_nonnull(strstr(error->message, ".wav cannot be read twice, so the CPU does not take over: "));
      g_assert_nonnull(strstr(error->message, "cuda:0"));
      g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
    }
}

/* Sound that is pushed in pieces cannot be read again either. */
static gboolean push_all(fc_chain *chain, GError **error) {
  static float samples[CHUNK];
  const fc_format format = {.size = sizeof format,
                            .kind = FC_AUDIO,
                            .dtype = FC_F32,
                            .bits = 24,
                            .extent = {1, 1, FC_UNKNOWN, 1},
                            .rate = 8000};
  const fc_view piece = {.size = sizeof piece,
                         .kind = FC_AUDIO,
                         .dtype = FC_F32,
                         .data = samples,
                         .shape = {1, 1, CHUNK, 1},
                         .stride = {sizeof samples, sizeof samples, sizeof *samples, sizeof *samples}};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda", options.chunk = CHUNK;
  g_autoptr(fc_session) session = fc_session_new(chain, &format, FC_F32, &options, error);
  gboolean ok = session != NULL;
  for (int i = 0; i < 4 && ok; i++) ok = fc_session_push(session, &piece, error);
  return ok && fc_session_drain(session, error);
}

/* A device that has failed in a session is not used again: the next session opens it anew. */
static void test_session(void) {
  static const fake_call calls[] = {FAKE_UPLOAD, FAKE_COMPUTE, FAKE_DOWNLOAD, FAKE_WAIT};
  static const char *const stages[] = {"biquad:lowpass:freq=1kHz", "gain:0.5", NULL};
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++)
    for (guint at = 1; at <= 3; at++) {
      const fake_faults faults = {.call = calls[i], .at = at};
      g_autoptr(GError) error = NULL;
      fc_chain *chain = fc_chain_parse(context, stages, &error);
      g_assert_no_error(error);
      GPtrArray *hosted = host_stages(chain, NULL);
      fake_device_set(&faults);
      g_assert_false(push_all(chain, &error));
      g_assert_nonnull(strstr(error->message, "cuda:0"));
      g_clear_error(&error);
      for (int again = 0; again < 2; again++) {
        fake_device_set(NULL);
        g_assert_true(push_all(chain, &error));
        g_assert_cmpuint(fake_device_calls(FAKE_NEW), ==, again ? 0 : 1);
      }
      fc_chain_free(chain);
      g_ptr_array_unref(hosted);
      fc_context_release(context);
      g_assert_cmpuint(fake_device_live(), ==, 0);
    }
}

static void no_log(fc_log_level level, const char *message, void *data) {}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  signal(SIGPIPE, SIG_IGN);
  folder = g_dir_make_tmp("filterchain-XXXXXX", NULL);
  context = fc_context_new();
  context->driver = &fake_driver;
  fc_context_set_log(context, no_log, NULL);
  fc_registry_set_home(context->registry, DEVICE_TEST_PLUGINS, "/nonexistent");
  g_test_add_func("/once/inputs", test_once);
  g_test_add_func("/once/session", test_session);
  const int status = g_test_run();
  static const char *const names[] = {"first.wav", "further.wav", "follower.wav", "good.wav", "out.wav"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = path_of(names[i]);
    g_remove(path);
  }
  g_rmdir(folder);
  g_free(folder);
  fc_context_free(context);
  return status;
}

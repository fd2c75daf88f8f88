/* SPDX-License-Identifier: MIT */
/*
 * test_notes.c - the warning of clipped values in a run on a device of which a stage is left to the CPU: that
 * stage counts there, so the sentence is the one of a run on the CPU, whatever the chunks and the number of
 * devices. What the device clips is a flag: the fact without figures.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "core/context/context.h"
#include "core/registry/registry.h"
#include "tests/device/fake_device.h"
#include "tests/device/hosted.h"

enum { FRAMES = 20000, HEADER = 44, BYTES = HEADER + 2 * FRAMES };

static fc_context *context;
static char *in, *out, *warning;

static void log_line(fc_log_level level, const char *message, void *data) {
  if (level == FC_LOG_WARNING) g_free(warning), warning = g_strdup(message);
}

/* Mono, 16 bits, 8000 Hz: all codes, in no order. */
static void make_sound(void) {
  static const char start[] = "RIFF____WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data____";
  const guint32 riff = GUINT32_TO_LE(BYTES - 8), data = GUINT32_TO_LE(2 * FRAMES);
  g_autofree guint8 *file = g_malloc(BYTES);
  memcpy(file, start, HEADER);
  memcpy(file + 4, &riff, 4), memcpy(file + 40, &data, 4);
  for (guint32 i = 0, state = 1; i < 2 * FRAMES; i++)
    file[HEADER + i] = (guint8)((state = state * 1664525 + 1013904223) >> 24);
  g_assert_true(g_file_set_contents(in, (const char *)file, BYTES, NULL));
}

/* The warning of a run; `but` has no CUDA version. g_free. */
static char *warned(const char *const *stages, const char *but, const char *device, gint64 chunk) {
  const fake_faults two = {.devices = 2};
  g_autoptr(GError) error = NULL;
  fc_chain *chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  GPtrArray *hosted = host_stages(chain, but);
  fc_options options = FC_OPTIONS_INIT;
  options.device = device, options.chunk = chunk;
  options.fuse = FC_FUSE_NO; /* else a gain could become a kernel, which sets a flag */
  g_clear_pointer(&warning, g_free);
  fake_device_set(&two);
  fc_chain_run_file(chain, in, out, &options, NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpint(fake_device_calls(FAKE_NEW) > 0, ==, strcmp(device, "cpu") != 0);
  fc_chain_free(chain);
  g_ptr_array_unref(hosted);
  fc_context_release(context);
  g_assert_nonnull(warning);
  return g_steal_pointer(&warning);
}

static void test_left_to_cpu(void) {
  /* The second: chunks make parts of what is clipped twice, for the window behind it. The third carries
   * state. */
  static const struct {
    const char *stages[4], *left;
  } chains[] = {{{"conv1d:[1,2,1]/4", "gain:3"}, "gain"},
                {{"gain:3", "convert:dtype=i16", "winstat:window=301:stat=mean"}, "convert"},
                {{"conv1d:[1,1]", "biquad:lowpass:freq=3kHz"}, "biquad"}};
  static const gint64 chunks[] = {0, 1000, 777};
  for (guint i = 0; i < G_N_ELEMENTS(chains); i++) {
    g_autofree char *expected = warned(chains[i].stages, chains[i].left, "cpu", 0);
    g_assert_nonnull(strstr(expected, " of 20000 values ("));
    g_assert_nonnull(strstr(expected, ", the peak by "));
    for (guint k = 0; k < G_N_ELEMENTS(chunks); k++) {
      g_autofree char *one = warned(chains[i].stages, chains[i].left, "cuda:0", chunks[k]);
      g_autofree char *both = warned(chains[i].stages, chains[i].left, "cuda:0,1", chunks[k]);
      g_assert_cmpstr(one, ==, expected);
      g_assert_cmpstr(both, ==, expected);
    }
  }
}

static void test_flag(void) {
  static const char *const stages[] = {"conv1d:[1,2,1]/4", "gain:3", NULL};
  g_autofree char *said = warned(stages, NULL, "cuda:0", 1000);
  g_assert_nonnull(strstr(said, "gain: some values exceeded the range of i16 and were clipped"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_autofree char *folder = g_dir_make_tmp("filterchain-XXXXXX", NULL);
  in = g_build_filename(folder, "in.wav", NULL), out = g_build_filename(folder, "out.wav", NULL);
  make_sound();
  context = fc_context_new();
  context->driver = &fake_driver;
  fc_context_set_log(context, log_line, NULL);
  fc_registry_set_home(context->registry, DEVICE_TEST_PLUGINS, "/nonexistent");
  g_test_add_func("/notes/left-to-cpu", test_left_to_cpu);
  g_test_add_func("/notes/flag", test_flag);
  const int status = g_test_run();
  g_remove(in), g_remove(out), g_rmdir(folder);
  g_free(in), g_free(out);
  fc_context_free(context);
  return status;
}

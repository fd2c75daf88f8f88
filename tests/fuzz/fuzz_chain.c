/* SPDX-License-Identifier: MIT */
/*
 * fuzz_chain.c - a stage a line, as -p takes them: the syntax by itself, then the whole
 * way to instances of operators and to the format of the output. No file is opened.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core/registry/syntax.h"

static void cut_up(const char *line) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_stage_text) stage = fc_stage_text_parse(line, &error);
  g_assert_true((stage != NULL) != (error != NULL));
  for (guint i = 0; stage && i < stage->n_args; i++) {
    const fc_stage_arg *arg = &stage->args[i];
    g_assert_true(arg->value && (arg->quoted || *arg->value));
    g_assert_cmpuint(arg->column, <=, strlen(line) + 1);
  }
  fc_stage_arg value;
  if (fc_stage_value_parse(line, &value, NULL)) fc_stage_arg_clear(&value);
}

static void negotiate(fc_chain *chain) {
  static const fc_format formats[] = {
      {sizeof(fc_format), FC_AUDIO, FC_I16, 16, FC_INTERLEAVED, 0, {1, 1, 4000, 2}, 16000},
      {sizeof(fc_format), FC_AUDIO, FC_F32, 32, FC_INTERLEAVED, 0, {1, 1, FC_UNKNOWN, 1}, 48000},
      {sizeof(fc_format), FC_IMAGE, FC_U8, 8, FC_INTERLEAVED, 0, {1, 30, 40, 3}, 0},
      {sizeof(fc_format), FC_ARRAY, FC_F64, 53, FC_PLANAR, 0, {2, 30, 1, 4}, 0}};
  for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
    g_autoptr(GError) error = NULL;
    fc_format out = {.size = sizeof out, .dtype = -1};
    gboolean made = fc_chain_output_format(chain, &formats[i], NULL, &out, &error);
    g_assert_true(made != (error != NULL));
    if (error) g_assert_null(strchr(error->message, '\n'));
  }
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  if (size > 4096) return 0;
  g_autoptr(GError) error = NULL;
  g_autofree char *text = g_strndup(data ? (const char *)data : "", size);
  g_auto(GStrv) lines = g_strsplit(text, "\n", 8);
  for (guint i = 0; lines[i]; i++) cut_up(lines[i]);
  g_autoptr(fc_chain) chain = fc_chain_parse(fuzz_context(), (const char *const *)lines, &error);
  g_assert_true((chain != NULL) != (error != NULL));
  if (error) g_assert_null(strchr(error->message, '\n'));
  if (chain) negotiate(chain);
  return 0;
}

/* SPDX-License-Identifier: MIT */
/* design.c - `filterchain design`: writes the mask that an operator designs to a file of numbers, which
 * can be read as a table parameter. */
#include "cli/codecs.h"
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

/* One number per line, after a comment with the stage; every double is written so that reading gives the
 * same value. */
static char *mask_text(const arguments *a, const double *taps, gsize count) {
  GString *text = g_string_new(NULL);
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *stage = g_strdelimit(g_strdup(g_ptr_array_index(a->stages, 0)), "\r\n", ' ');
  g_string_append_printf(text, "# filterchain design -p %s", stage);
  if (a->rate) g_string_append_printf(text, " --rate %" G_GINT64_FORMAT, a->rate);
  g_string_append_printf(text, "\n# %" G_GSIZE_FORMAT " taps\n", count);
  for (gsize i = 0; i < count; i++)
    g_string_append_printf(text, "%s\n", g_ascii_dtostr(number, sizeof number, taps[i]));
  return g_string_free(text, FALSE);
}

static gboolean write_mask(const arguments *a, const char *text, GError **error) {
  if (!a->output || strcmp(a->output, "-") == 0) return fputs(text, stdout) >= 0;
  if (a->no_clobber && g_file_test(a->output, G_FILE_TEST_EXISTS)) {
    g_set_error(error, FC_ERROR, FC_IO, "%s: exists already; name another file or leave out --no-clobber",
                a->output);
    return FALSE;
  }
  if (g_file_set_contents(a->output, text, -1, error)) return TRUE;
  if (error && *error) (*error)->domain = FC_ERROR, (*error)->code = FC_IO;
  return FALSE;
}

exit_status design_command(const arguments *a) {
  if (a->operands->len) {
    say_error("\"%s\" is not an option (see filterchain design --help)",
              (const char *)g_ptr_array_index(a->operands, 0));
    return EXIT_USAGE;
  }
  if (a->stages->len != 1) {
    say_error("design needs one operator: -p fir:lowpass=3k --rate 48000");
    return EXIT_USAGE;
  }
  g_autoptr(fc_context) context = command_context(a);
  g_autoptr(GError) error = NULL;
  const char *stages[] = {g_ptr_array_index(a->stages, 0), NULL};
  plugins_hold_stdout();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, &error);
  plugins_release_stdout();
  gsize count = 0;
  g_autofree double *taps = chain ? fc_chain_mask(chain, 0, (double)a->rate, &count, &error) : NULL;
  if (!taps && chain && !a->rate && strstr(error->message, "sample rate"))
    g_prefix_error(&error, "--rate is missing: ");
  if (!taps) return say_gerror(error);
  g_autofree char *text = mask_text(a, taps, count);
  return write_mask(a, text, &error) ? EXIT_DONE : error ? say_gerror(error) : EXIT_FAILED;
}

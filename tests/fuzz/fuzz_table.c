/* SPDX-License-Identifier: MIT */
/*
 * fuzz_table.c - the text of mask and matrix files, written-out tables, and numbers.
 */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

#include "core/registry/table.h"

static void check(fc_table *table, GError *error) {
  g_assert_true((table != NULL) != (error != NULL));
  if (error) g_assert_null(strchr(error->message, '\n'));
  for (gint64 i = 0; table && i < table->rows * table->cols; i++) g_assert_true(isfinite(table->data[i]));
  fc_table_free(table);
  g_clear_error(&error);
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  /* At its end there is no NUL: the parser may not look for one. */
  const char *text = (const char *)data;
  for (gboolean ragged = FALSE; ragged <= TRUE; ragged++) {
    GError *error = NULL;
    fc_table *table = fc_table_parse("mask.txt", text, size, ragged, &error);
    check(table, error);
    g_autofree char *line = g_strndup(text ? text : "", size);
    error = NULL;
    table = fc_table_parse_inline(line, ragged, &error);
    check(table, error);
  }
  double value = 0;
  const char *end = size ? fc_number_scan(text, text + size, &value) : NULL;
  if (end) g_assert_true(end > text && end <= text + size && isfinite(value));
  g_autofree char *quoted = fc_quote_for_message(text ? text : "", size);
  g_assert_true(g_utf8_validate(quoted, -1, NULL));
  return 0;
}

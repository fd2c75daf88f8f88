/* SPDX-License-Identifier: MIT */
/*
 * fuzz_tar.c - tar archives, from a file and through a pipe: both find the same members, whether or not their
 * contents are read, and what is found is found again in an archive that is written with it. Checksums of
 * headers are corrected first, as no change would come past them.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

#include "media/batch/tar.h"

#define BLOCK 512
/* Of a member's content: small enough that a fuzzed header goes beyond it. */
#define CONTENT_MOST 4096

typedef enum from { FROM_FILE, FROM_PIPE, FROM_MEMORY } from;

static void correct_checksum(guint8 *block) {
  char text[8];
  guint sum = 0;
  if (memcmp(block + 257, "ustar", 5) != 0) return;
  for (int i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : block[i];
  snprintf(text, sizeof text, "%06o", sum);
  memcpy(block + 148, text, 7);
  block[155] = ' ';
}

/* What a member says of itself, as a line of the account of an archive; its content into `copy`. */
static void tell(GString *account, const char *path, gint64 size, GBytes *content, fc_output *copy) {
  g_assert_true(*path && size >= 0 && fc_tar_key(path) <= strlen(path));
  g_string_append_printf(account, "%s %" G_GINT64_FORMAT "\n", path, size);
  if (content) g_assert_cmpint((gint64)g_bytes_get_size(content), ==, size);
  if (!content || !copy) return;
  const gint64 before = fc_output_size(copy);
  g_assert_true(fc_tar_put(copy, path, content, NULL));
  g_assert_cmpint(fc_output_size(copy) - before, ==, fc_tar_size(path, size));
}

/* The members in order, and how it ends. `whole`: with their contents. */
static GString *read_archive(fc_input *input, gboolean whole, fc_output *copy) {
  GString *account = g_string_new(NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_tar_reader) tar = input ? fc_tar_open(input, &error) : NULL;
  gint64 size;
  int got = tar ? 0 : -1;
  for (char *path = NULL; tar && (got = fc_tar_next(tar, &path, &size, &error)) > 0; g_free(path)) {
    g_autoptr(GBytes) content = whole ? fc_tar_content(tar, CONTENT_MOST, &error) : NULL;
    /* Large ones are refused, and those that are stored without their holes; what follows is read. */
    const gboolean refused = g_error_matches(error, FC_ERROR, FC_UNSUPPORTED);
    g_assert_true(!refused || size > CONTENT_MOST || strstr(error->message, "without its holes"));
    if (refused) g_clear_error(&error);
    tell(account, path, size, content, copy);
    if (error) {
      g_free(path);
      got = -1;
      break;
    }
  }
  g_assert_true((got < 0) == (error != NULL || !input));
  g_string_append(account, got < 0 ? "failed" : "end");
  return account;
}

static GString *read_from(from where, const guint8 *file, gsize size, gboolean whole, fc_output *copy) {
  if (where == FROM_MEMORY) {
    g_autoptr(GBytes) bytes = g_bytes_new_static(file, size);
    return read_archive(fc_input_open_bytes("x.tar", bytes, NULL), whole, copy);
  }
  const char *path = where == FROM_FILE ? fuzz_file(file, size) : fuzz_pipe(file, size);
  return read_archive(fc_input_open(path, NULL, NULL), whole, copy);
}

static void assert_same(GString *a, GString *b) {
  g_assert_cmpstr(a->str, ==, b->str);
  g_string_free(a, TRUE);
  g_string_free(b, TRUE);
}

/* The members that could be read, written and read again. */
static void write_and_read(const guint8 *file, gsize size) {
  GBytes *made = NULL;
  const fc_media_options options = {.out_bytes = &made};
  g_autoptr(fc_output) copy = fc_output_open_for("copy.tar", 0, &options, NULL);
  g_autoptr(fc_output) again = NULL;
  g_string_free(read_from(FROM_FILE, file, size, TRUE, copy), TRUE);
  g_assert_true(fc_tar_put_end(copy, NULL) && fc_output_commit(copy, NULL));
  g_autoptr(GBytes) first = g_steal_pointer(&made);
  again = fc_output_open_for("again.tar", 0, &options, NULL);
  gsize length;
  const guint8 *bytes = g_bytes_get_data(first, &length);
  if (length == 2 * BLOCK) return; /* nothing was in it */
  GString *account = read_from(FROM_MEMORY, bytes, length, TRUE, again);
  g_assert_true(g_str_has_suffix(account->str, "end"));
  g_string_free(account, TRUE);
  g_assert_true(fc_tar_put_end(again, NULL) && fc_output_commit(again, NULL));
  g_autoptr(GBytes) second = made;
  g_assert_true(g_bytes_equal(first, second));
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  if (!size) return 0;
  g_autofree guint8 *file = g_malloc(size);
  memcpy(file, data, size);
  for (gsize at = 0; size - at >= BLOCK; at += BLOCK) correct_checksum(file + at);
  assert_same(read_from(FROM_FILE, file, size, TRUE, NULL), read_from(FROM_PIPE, file, size, TRUE, NULL));
  assert_same(read_from(FROM_FILE, file, size, FALSE, NULL), read_from(FROM_PIPE, file, size, FALSE, NULL));
  write_and_read(file, size);
  return 0;
}

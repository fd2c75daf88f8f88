/* SPDX-License-Identifier: MIT */
/* images.c - see images.h. */
#include "tests/media/images.h"

#include <string.h>
#include <zlib.h>

void assert_open_fails(const char *path, int code, const char *message) {
  GError *error = NULL;
  g_autofree char *expected = g_strdup_printf("%s: %s", path, message);
  g_assert_false(can_read(path, NULL, &error));
  g_assert_error(error, FC_ERROR, code);
  g_assert_cmpstr(error->message, ==, expected);
  g_error_free(error);
}

void put_big(GByteArray *to, guint32 value, int size) {
  while (size--) {
    guint8 byte = (guint8)(value >> 8 * size);
    g_byte_array_append(to, &byte, 1);
  }
}

void put_chunk(GByteArray *to, const char *type, const void *data, gsize size) {
  put_big(to, (guint32)size, 4);
  guint start = to->len;
  g_byte_array_append(to, (const guint8 *)type, 4);
  if (size) g_byte_array_append(to, data, (guint)size);
  put_big(to, (guint32)crc32(0, to->data + start, to->len - start), 4);
}

gboolean contains(const char *path, const void *what, gsize size) {
  bytes b = load(path);
  gboolean found = memmem(b.data, b.size, what, size) != NULL;
  clear_bytes(&b);
  return found;
}

/* Not what -v says, as that an image is turned. */
static void keep_warning(fc_log_level level, const char *message, void *data) {
  if (level != FC_LOG_INFO) keep_line(level, message, data);
}

char *copy_saying(const char *in, const char *out) {
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  copy_job job = {.in = in, .out = out, .options = {.log = keep_warning, .log_data = lines}, .dtype = -1};
  g_assert_true(copy(&job, NULL));
  g_assert_cmpuint(lines->len, <=, 1);
  const char *line = lines->len ? lines->pdata[0] : "", *said = strstr(line, ": ");
  return g_strdup(said ? said + 2 : line);
}

void assert_copy_says(const char *in, const char *out, const char *expected) {
  g_autofree char *said = copy_saying(in, out);
  g_assert_cmpstr(said, ==, expected);
}

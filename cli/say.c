/* SPDX-License-Identifier: MIT */
/* Messages on stderr. One mutex keeps lines whole and the bar below them; it may be global, since the
 * command has only one terminal. */
#include "cli/say.h"

#include <stdio.h>
#include <string.h>

static GMutex mutex;
static gboolean bar_shown;
static gboolean quiet;

void say_set_quiet(gboolean value) {
  quiet = value;
}

static void erase_bar(void) {
  if (bar_shown) fputs("\r\033[K", stderr);
  bar_shown = FALSE;
}

static void write_line(const char *before, char *text) {
  // A name or a plugin's message may contain control characters (C1 too, in UTF-8); a message is one line.
  for (char *c = text; *c; c++) {
    if ((guchar)*c < ' ' || *c == 127) *c = ' ';
    if ((guchar)c[0] == 0xc2 && (guchar)c[1] >= 0x80 && (guchar)c[1] < 0xa0) c[0] = c[1] = ' ';
  }
  g_strchomp(text);
  g_mutex_lock(&mutex);
  erase_bar();
  fprintf(stderr, "%s%s\n", before, text);
  fflush(stderr);
  g_mutex_unlock(&mutex);
}

void say_error(const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_autofree char *text = g_strdup_vprintf(format, values);
  va_end(values);
  write_line("filterchain: ", text);
}

void say_note(const char *format, ...) {
  if (quiet) return;
  va_list values;
  va_start(values, format);
  g_autofree char *text = g_strdup_vprintf(format, values);
  va_end(values);
  write_line("filterchain: ", text);
}

gboolean refuse(GError **error, const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_autofree char *text = g_strdup_vprintf(format, values);
  va_end(values);
  g_set_error(error, FC_ERROR, FC_INVALID, "%s", text);
  return FALSE;
}

exit_status say_gerror(const GError *error) {
  say_error("%s", error->message);
  gboolean usage = error->domain == FC_ERROR && (error->code == FC_INVALID || error->code == FC_UNSUPPORTED);
  return usage ? EXIT_USAGE : EXIT_FAILED;
}

void say_once(const char *text) {
  static char *last;
  g_mutex_lock(&mutex);
  const gboolean again = last && strcmp(last, text) == 0;
  g_free(last);
  last = g_strdup(text);
  g_mutex_unlock(&mutex);
  if (!again) say_note("%s", text);
}

void say_raw(const char *line) {
  g_mutex_lock(&mutex);
  erase_bar();
  fputs(line, stderr);
  fflush(stderr);
  g_mutex_unlock(&mutex);
}

void say_bar(const char *text) {
  g_mutex_lock(&mutex);
  erase_bar();
  if (text) {
    fputs(text, stderr);
    bar_shown = TRUE;
  }
  fflush(stderr);
  g_mutex_unlock(&mutex);
}

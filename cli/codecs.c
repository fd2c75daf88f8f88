/* SPDX-License-Identifier: MIT */
/* See codecs.h. Replaces the command's stderr by a stream that drops what codecs print: libmpg123 writes
 * each line with one call. */
#define _GNU_SOURCE 1
#include "cli/codecs.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__

static const char *const openings[] = {"Note: Illegal Audio-MPEG-Header",
                                       "Note: Trying to resync",
                                       "Note: Skipped ",
                                       "Note: Hit end of (available) data",
                                       "Note: Junk at the beginning",
                                       "Note: Looks like a RIFF header",
                                       "Note: Could be a BMP album art",
                                       "Note: Xing",
                                       "Warning: Xing stream size",
                                       "Warning: Encountered more data after announced end",
                                       "Warning: Big change",
                                       "Warning: Real sample count"};

/* Or a line that begins with a place in its source: "[src/libmpg123/parse.c:...". */
static gboolean is_codecs(const char *text, gsize size) {
  while (size && *text == '\n') text++, size--;
  const char *end = memchr(text, ']', size);
  if (end && *text == '[' && memmem(text, (gsize)(end - text), "libmpg123/", 10)) return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS(openings); i++)
    if (size >= strlen(openings[i]) && memcmp(text, openings[i], strlen(openings[i])) == 0) return TRUE;
  return FALSE;
}

static ssize_t pass_on(void *data, const char *text, size_t size) {
  if (is_codecs(text, size)) return (ssize_t)size;
  ssize_t written;
  do written = write(STDERR_FILENO, text, size);
  while (written < 0 && errno == EINTR);
  return MAX(written, 0);
}

/* GLib asks a stream for its descriptor, which this one does not have. */
static GLogWriterOutput write_log(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer data) {
  g_autofree char *text = g_log_writer_format_fields(level, fields, count, FALSE);
  fprintf(stderr, "%s\n", text);
  return G_LOG_WRITER_HANDLED;
}

void codecs_silence(void) {
  static const cookie_io_functions_t functions = {.write = pass_on};
  FILE *stream = fopencookie(NULL, "w", functions);
  if (!stream) return;
  setvbuf(stream, NULL, _IONBF, 0);
  g_log_set_writer_func(write_log, NULL, NULL);
  stderr = stream;
}

static FILE *held;

static ssize_t swallow(void *data, const char *text, size_t size) {
  return (ssize_t)size;
}

void codecs_hold_stdout(void) {
  static const cookie_io_functions_t functions = {.write = swallow};
  static FILE *nowhere;
  if (!nowhere) nowhere = fopencookie(NULL, "w", functions);
  if (!nowhere) return;
  held = stdout;
  stdout = nowhere;
}

void codecs_release_stdout(void) {
  if (held) stdout = held;
  held = NULL;
}

FILE *codecs_stdout(void) {
  return held ? held : stdout;
}

#else

void codecs_silence(void) {}
void codecs_hold_stdout(void) {}
void codecs_release_stdout(void) {}
FILE *codecs_stdout(void) {
  return stdout;
}

#endif

/* ---- plugins ----------------------------------------------------------- */

static int kept_stdout = -1;

void plugins_hold_stdout(void) {
  fflush(stdout);
  kept_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept_stdout < 0) return; /* stdout is closed */
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO), close(nowhere);
}

void plugins_release_stdout(void) {
  if (kept_stdout < 0) return;
  fflush(stdout); /* output of plugins */
  dup2(kept_stdout, STDOUT_FILENO);
  close(kept_stdout);
  kept_stdout = -1;
}

/* SPDX-License-Identifier: MIT */
/*
 * trace.c - see trace.h. Events are kept as text and written at the end in one go, so that tracing does not
 * wait for a disk during a run. The text is in pieces: one growing string would be moved, and the freed
 * memory would be counted as the run's.
 */
#include "core/base/trace.h"

#include "core/base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (256 << 10)

struct fc_trace {
  char *path;
  pthread_mutex_t mutex;
  GPtrArray *full; /* of GString: pieces of at least PIECE bytes */
  GString *events; /* the piece that is being filled */
  gint64 bytes;    /* total size of the full pieces */
  gint64 peak;     /* the largest value that fc_trace_memory has read */
};

static void free_piece(gpointer piece) {
  g_string_free(piece, TRUE);
}

/* The piece for the next event. */
static GString *room(fc_trace *trace) {
  if (trace->events->len >= PIECE) {
    trace->bytes += (gint64)trace->events->len;
    g_ptr_array_add(trace->full, trace->events);
    trace->events = g_string_sized_new(PIECE + 4096);
  }
  return trace->events;
}

static void name_tracks(fc_trace *trace, fc_track first, fc_track last) {
  static const char *const names[] = {"reader",      "compute",      "writer",
                                      "lane upload", "lane compute", "lane download"};
  for (int i = first; i <= (int)last; i++)
    g_string_append_printf(
        trace->events,
        "%s{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
        i ? ",\n" : "", i, names[i]);
}

fc_trace *fc_trace_new(const char *path) {
  fc_trace *trace = g_new0(fc_trace, 1);
  trace->path = g_strdup(path);
  trace->full = g_ptr_array_new_with_free_func(free_piece);
  trace->events = g_string_new(NULL);
  pthread_mutex_init(&trace->mutex, NULL);
  name_tracks(trace, FC_TRACK_READER, FC_TRACK_WRITER);
  return trace;
}

void fc_trace_name_lanes(fc_trace *trace) {
  pthread_mutex_lock(&trace->mutex);
  name_tracks(trace, FC_TRACK_LANE_UPLOAD, FC_TRACK_LANE_DOWNLOAD);
  pthread_mutex_unlock(&trace->mutex);
}

gint64 fc_trace_now(const fc_trace *trace) {
  return trace ? g_get_monotonic_time() : 0;
}

void fc_trace_add(fc_trace *trace, fc_track track, const char *name, gint64 start, gint64 chunk,
                  gint64 bytes) {
  if (trace) fc_trace_add_span(trace, track, name, start, g_get_monotonic_time(), chunk, bytes);
}

void fc_trace_add_span(fc_trace *trace, fc_track track, const char *name, gint64 start, gint64 end,
                       gint64 chunk, gint64 bytes) {
  if (!trace) return;
  g_autofree char *escaped = g_strescape(name, NULL);
  pthread_mutex_lock(&trace->mutex);
  g_string_append_printf(room(trace),
                         ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%" G_GINT64_FORMAT
                         ",\"dur\":%" G_GINT64_FORMAT ",\"args\":{\"chunk\":%" G_GINT64_FORMAT,
                         escaped, (int)track, start, end - start, chunk);
  if (bytes >= 0) g_string_append_printf(trace->events, ",\"bytes\":%" G_GINT64_FORMAT, bytes);
  g_string_append(trace->events, "}}");
  pthread_mutex_unlock(&trace->mutex);
}

/* Resident memory of this process in bytes; 0 where it is not known. */
static gint64 resident(void) {
  long long pages = 0;
  FILE *statm = fopen("/proc/self/statm", "re");
  if (!statm) return 0;
  if (fscanf(statm, "%*d %lld", &pages) != 1) pages = 0;
  fclose(statm);
  return pages * sysconf(_SC_PAGESIZE);
}

void fc_trace_memory(fc_trace *trace) {
  gint64 bytes = trace ? resident() : 0;
  if (bytes == 0) return;
  pthread_mutex_lock(&trace->mutex);
  bytes -= MIN(bytes, trace->bytes + (gint64)trace->events->len); /* without the memory of the trace itself */
  trace->peak = MAX(trace->peak, bytes);
  g_string_append_printf(room(trace),
                         ",\n{\"name\":\"resident\",\"ph\":\"C\",\"pid\":1,\"ts\":%" G_GINT64_FORMAT
                         ",\"args\":{\"bytes\":%" G_GINT64_FORMAT "}}",
                         g_get_monotonic_time(), bytes);
  pthread_mutex_unlock(&trace->mutex);
}

static gboolean fail(const char *path, const char *why, GError **error) {
  return fc_fail(error, FC_IO, "%s: the trace cannot be written: %s", path, why);
}

static gboolean write_plain(const char *path, const char *text, GError **error) {
  gboolean standard = strcmp(path, "-") == 0;
  FILE *file = standard ? stdout : fopen(path, "we");
  if (!file) return fail(path, g_strerror(errno), error);
  gboolean written = fputs(text, file) >= 0 && fflush(file) == 0;
  int why = errno;
  if (!standard) fclose(file);
  return written || fail(standard ? "standard output" : path, g_strerror(why), error);
}

/* Replaces a file atomically, through a symbolic link so that the link stays. A device or a pipe is
 * written directly, because a rename would replace it by a file. */
static gboolean write_text(const char *path, const char *text, GError **error) {
  struct stat info;
  gboolean existed = stat(path, &info) == 0;
  if (strcmp(path, "-") == 0 || (existed && !S_ISREG(info.st_mode))) return write_plain(path, text, error);
  int mode = existed ? (int)(info.st_mode & 0777) : 0666;
  char *target = realpath(path, NULL);
  g_autoptr(GError) cause = NULL;
  gboolean written = g_file_set_contents_full(target ? target : path, text, -1,
                                              G_FILE_SET_CONTENTS_CONSISTENT, mode, &cause);
  free(target);
  /* Before the chmod the file has the mode that umask leaves. */
  if (written && existed && chmod(path, (mode_t)mode) != 0) return fail(path, g_strerror(errno), error);
  if (written) return TRUE;
  /* GLib's message names its temporary file; the reason is at its end. */
  const char *reason = strrchr(cause->message, ':');
  return fail(path, reason ? reason + 2 : cause->message, error);
}

gboolean fc_trace_write(fc_trace *trace, GError **error) {
  if (!trace) return TRUE;
  fc_trace_memory(trace);
  pthread_mutex_lock(&trace->mutex);
  g_autoptr(GString) text = g_string_new("{\"traceEvents\":[\n");
  for (guint i = 0; i < trace->full->len; i++) {
    const GString *piece = trace->full->pdata[i];
    g_string_append_len(text, piece->str, (gssize)piece->len);
  }
  g_string_append_len(text, trace->events->str, (gssize)trace->events->len);
  g_string_append_printf(text, "\n],\n\"otherData\":{\"peak_resident_bytes\":%" G_GINT64_FORMAT "}}\n",
                         trace->peak);
  pthread_mutex_unlock(&trace->mutex);
  return write_text(trace->path, text->str, error);
}

void fc_trace_free(fc_trace *trace) {
  if (!trace) return;
  g_free(trace->path);
  g_string_free(trace->events, TRUE);
  g_ptr_array_unref(trace->full);
  pthread_mutex_destroy(&trace->mutex);
  g_free(trace);
}

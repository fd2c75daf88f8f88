/* SPDX-License-Identifier: MIT */
/*
 * trace.h - a record of a run in Chrome's trace format (chrome://tracing, Perfetto).
 *
 * Complete events only, on named tracks: reader, compute, writer, and of a device the three lanes that chunks
 * pass through (runner.h), with the times that the device took. Thread-safe. A NULL
 * trace is allowed everywhere and does nothing.
 */
#ifndef FC_CORE_TRACE_H
#define FC_CORE_TRACE_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct fc_trace fc_trace;

typedef enum fc_track {
  FC_TRACK_READER,
  FC_TRACK_COMPUTE,
  FC_TRACK_WRITER,
  FC_TRACK_LANE_UPLOAD,
  FC_TRACK_LANE_COMPUTE,
  FC_TRACK_LANE_DOWNLOAD
} fc_track;

fc_trace *fc_trace_new(const char *path);
/* Microseconds since a fixed moment; 0 for a NULL trace. */
gint64 fc_trace_now(const fc_trace *trace);
/* An event from `start` until now, on one chunk; negative bytes are omitted. */
void fc_trace_add(fc_trace *trace, fc_track track, const char *name, gint64 start, gint64 chunk,
                  gint64 bytes);
/* The same for an event that has ended. */
void fc_trace_add_span(fc_trace *trace, fc_track track, const char *name, gint64 start, gint64 end,
                       gint64 chunk, gint64 bytes);
/* Names the tracks of a device's lanes. */
void fc_trace_name_lanes(fc_trace *trace);
/* Records the resident memory of the process, without that of the trace itself, as a counter; the largest
 * value is written at the end (otherData.peak_resident_bytes). */
void fc_trace_memory(fc_trace *trace);
/* Writes the file; "-" is standard output. The trace stays usable. */
gboolean fc_trace_write(fc_trace *trace, GError **error);
void fc_trace_free(fc_trace *trace);

G_END_DECLS

#endif

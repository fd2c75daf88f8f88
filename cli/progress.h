/* SPDX-License-Identifier: MIT */
/*
 * progress.h - how far the work is: a bar on the terminal for work that takes over a
 * second, or a JSON object a line for programs, on stderr.
 */
#ifndef FC_CLI_PROGRESS_H
#define FC_CLI_PROGRESS_H

#include <glib.h>

typedef enum progress_mode { PROGRESS_AUTO = 0, PROGRESS_NONE = 1, PROGRESS_JSON = 2 } progress_mode;

typedef struct progress {
  progress_mode mode;
  guint part, parts; /* the file worked on, from 1, of how many */
  const char *file;  /* borrowed */
  gint64 begun;      /* of the monotonic clock, microseconds: this file */
  gint64 started;    /* and the whole work */
  gint64 drawn;      /* when the bar was */
  gint64 done, total;
  /* of a batch */
  gboolean batch;
  guint failed;
  gint64 bytes;   /* of the inputs that are over */
  gint64 resumed; /* of all files, those that were there already; the caller's to set */
} progress;

/* AUTO becomes NONE unless stderr is a terminal. */
/* A batch has `parts` files, or 0: nobody knows. */
void progress_init(progress *p, progress_mode mode, gboolean batch, guint parts);
/* Starts the next file. */
void progress_begin(progress *p, const char *file);
/* An fc_progress_fn; `data` is the progress. */
gboolean progress_update(gint64 done, gint64 total, void *data);
/* `done`: how many elements there were in the end, or -1 when the work failed. */
void progress_end(progress *p, gint64 done);
/* Of a batch: that the next file, in order, of so many bytes, is over; `done` as above. */
void progress_file(progress *p, const char *file, double seconds, gint64 done, gint64 bytes);

#endif

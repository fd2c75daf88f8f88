/* SPDX-License-Identifier: MIT */
/*
 * progress.h - shows the progress of the work on stderr: a bar on the terminal if it takes over a second, or
 * a JSON object per line for programs.
 */
#ifndef FC_CLI_PROGRESS_H
#define FC_CLI_PROGRESS_H

#include <glib.h>

typedef enum progress_mode { PROGRESS_AUTO = 0, PROGRESS_NONE = 1, PROGRESS_JSON = 2 } progress_mode;

typedef struct progress {
  progress_mode mode;
  guint part, parts; /* number of the current file, from 1; number of files */
  const char *file;  /* borrowed */
  gint64 begun;      /* by the monotonic clock in microseconds: start of this file */
  gint64 started;    /* start of the whole work */
  gint64 drawn;      /* when the bar was drawn */
  gint64 done, total;
  /* of a batch */
  gboolean batch;
  guint failed;
  gint64 bytes;   /* of the completed inputs */
  gint64 resumed; /* files that existed already; set by the caller */
} progress;

/* AUTO becomes NONE unless stderr is a terminal. */
/* A batch has `parts` files; 0: not known. */
void progress_init(progress *p, progress_mode mode, gboolean batch, guint parts);
/* Starts the next file. */
void progress_begin(progress *p, const char *file);
/* An fc_progress_fn; `data` is the progress. */
gboolean progress_update(gint64 done, gint64 total, void *data);
/* `done`: the final number of elements, or -1 if the work failed. */
void progress_end(progress *p, gint64 done);
/* For a batch: the next file, in order, of this many bytes, is done; `done` as above. */
void progress_file(progress *p, const char *file, double seconds, gint64 done, gint64 bytes);

#endif

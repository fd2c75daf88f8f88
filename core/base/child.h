/* SPDX-License-Identifier: MIT */
/*
 * child.h - child processes of ours, for work that may crash or hang. Each has a process group of its own,
 * which is killed in the end, so that nothing it started is left behind.
 */
#ifndef FC_CORE_CHILD_H
#define FC_CORE_CHILD_H

#include <glib.h>

G_BEGIN_DECLS

/* The descriptor on which a child answers. */
#define FC_CHILD_ANSWERS 3

/* What a child said, and how it ended. */
typedef struct fc_child_answer {
  GByteArray *said;
  gboolean late; /* it took too long, or was to be stopped */
  int status;    /* as waitpid has it; -1 where nobody kept it */
} fc_child_answer;

/*
 * Runs `program` with one argument, default signals and nothing blocked, hands it the request (or NULL) on
 * descriptor 0, and listens until it has ended, or said more than `longest` bytes: at most until the
 * deadline, by g_get_monotonic_time, or until `stop` (read atomically; or NULL). Then it is killed, if need
 * be, and what it started. Its other standard descriptors are /dev/null. Returns errno; where that is 0,
 * answer->said is the caller's to unref. Any thread.
 */
int fc_child_ask(const char *program, const char *argument, const GString *request, gsize longest,
                 gint64 deadline, const gint *stop, fc_child_answer *answer);

G_END_DECLS

#endif

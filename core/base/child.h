/* SPDX-License-Identifier: MIT */
/*
 * child.h - child processes of ours, for work that may crash or hang. Each has a process group of its own,
 * which is killed in the end, so that nothing it started is left behind.
 */
#ifndef FC_CORE_CHILD_H
#define FC_CORE_CHILD_H

#include <glib.h>
#include <sys/types.h>

G_BEGIN_DECLS

/* The descriptor on which a child answers. */
#define FC_CHILD_ANSWERS 3

/* Starts `program` with one argument, default signal handlers and no blocked signals. Its descriptors 0 to
 * 2 are /dev/null, except 0 where `input` is given (-1: not given; it must not be 0 to 3). Returns errno. */
int fc_child_start(const char *program, const char *argument, int input, int answers, pid_t *pid);

/* Whether it has ended, waiting until the deadline (g_get_monotonic_time). It is left a zombie, so that
 * its process id is not reused yet. */
gboolean fc_child_has_ended(pid_t pid, gint64 deadline);

/* Kills it, if necessary, and what it started. Returns its wait status, or -1 if that is not available. */
int fc_child_end(pid_t pid);

G_END_DECLS

#endif

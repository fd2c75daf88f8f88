/* SPDX-License-Identifier: MIT */
/*
 * child.h - programs of ours that do what may crash or hang: a process with a group of its own, which is
 * killed in the end, so that nothing that it started stays behind.
 */
#ifndef FC_CORE_CHILD_H
#define FC_CORE_CHILD_H

#include <glib.h>
#include <sys/types.h>

G_BEGIN_DECLS

/* The descriptor that a child answers on. */
#define FC_CHILD_ANSWERS 3

/* Starts `program` with one argument, default signals and nothing blocked. Its descriptors 0 to 2 are
 * /dev/null, but for 0 where `input` is none of -1 (and of 0 to 3). Returns errno. */
int fc_child_start(const char *program, const char *argument, int input, int answers, pid_t *pid);

/* Whether it has ended, or does before the deadline, by g_get_monotonic_time. It stays a zombie, so that its
 * number is not another's yet. */
gboolean fc_child_has_ended(pid_t pid, gint64 deadline);

/* Kills it, if need be, and what it started. Its wait status, or -1 where nobody kept it. */
int fc_child_end(pid_t pid);

G_END_DECLS

#endif

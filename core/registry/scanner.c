/* SPDX-License-Identifier: MIT */
/* scanner.c - see scanner.h. */
#include "core/registry/scanner.h"

#include "core/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's answer: a few lines. */
typedef struct answers {
  char text[2 * FC_SCAN_ANSWER_LONGEST];
  gsize length;
  gint64 deadline;
  gboolean late;
} answers;

static gboolean is_complete(const answers *a) {
  return a->length && strstr(a->text, "fit") && a->text[a->length - 1] == '\n';
}

/* Until the verdict, the end of the pipe, or the deadline. */
static void listen_to(int fd, answers *a) {
  a->deadline = g_get_monotonic_time() + FC_SCAN_TIMEOUT_MS * G_TIME_SPAN_MILLISECOND;
  while (a->length < sizeof a->text - 1) {
    struct pollfd p = {fd, POLLIN, 0};
    gint64 left = (a->deadline - g_get_monotonic_time()) / G_TIME_SPAN_MILLISECOND;
    int ready = poll(&p, 1, (int)MAX(left, 0));
    if (ready < 0 && errno == EINTR) continue;
    a->late = ready == 0;
    if (ready <= 0) return;
    ssize_t n = read(fd, a->text + a->length, sizeof a->text - 1 - a->length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    a->length += (gsize)n;
    a->text[a->length] = 0;
    if (is_complete(a)) return;
  }
}

/* Where posix_spawn uses fork, as under valgrind, it cannot report a missing helper: the child then ends
 * with status 127. */
static gboolean was_started(const char *helper, const answers *a, int status) {
  gboolean silent = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 127 && !a->length;
  return !silent || access(helper, X_OK) == 0;
}

static gboolean judge(const answers *a, int status, GError **error) {
  gboolean asked = strstr(a->text, "asking") != NULL;
  const char *doing = asked ? "while being asked what it holds" : "while being opened";
  const char *unfit = strstr(a->text, "\nunfit ");
  if (unfit) return fc_fail(error, asked ? FC_INVALID : FC_IO, "%s", unfit + strlen("\nunfit "));
  if (strstr(a->text, "\nfit\n")) return TRUE;
  if (a->late)
    return fc_fail(error, FC_IO, "did not return within %d seconds %s", FC_SCAN_TIMEOUT_MS / 1000, doing);
  if (status != -1 && WIFSIGNALED(status))
    return fc_fail(error, FC_IO, "crashed %s (signal %d, %s)", doing, WTERMSIG(status),
                   g_strsignal(WTERMSIG(status)));
  return fc_fail(error, FC_IO, "ended the process %s (exit status %d)", doing,
                 status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

gboolean fc_scan_plugin(const char *helper, const char *path, GError **error) {
  int ends[2];
  pid_t pid;
  answers a = {0};
  if (pipe2(ends, O_CLOEXEC) != 0) return fc_fail(error, FC_IO, "cannot be looked at: %s", g_strerror(errno));
  int failed = fc_child_start(helper, path, -1, ends[1], &pid);
  close(ends[1]);
  if (!failed) listen_to(ends[0], &a);
  close(ends[0]);
  if (failed) return fc_fail(error, FC_IO, "cannot be looked at: %s: %s", helper, g_strerror(failed));
  /* It should exit soon after it closes the pipe - unless a constructor closed the pipe and keeps running. */
  if (!a.late && !is_complete(&a)) a.late = !fc_child_has_ended(pid, a.deadline);
  int status = fc_child_end(pid);
  if (!was_started(helper, &a, status))
    return fc_fail(error, FC_IO, "cannot be looked at: %s: %s", helper, g_strerror(errno));
  return judge(&a, status, error);
}

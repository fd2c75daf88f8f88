/* SPDX-License-Identifier: MIT */
/* scanner.c - see scanner.h. */
#include "core/registry/scanner.h"

#include "core/base/child.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where posix_spawn starts the child by fork, as it may and under valgrind does, it cannot tell that the
 * helper is not there: the child ends with status 127 then. */
static gboolean was_started(const char *helper, const fc_child_answer *a) {
  const int status = a->status;
  gboolean silent = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 127 && !a->said->len;
  return !silent || access(helper, X_OK) == 0;
}

static gboolean judge(const char *text, gboolean late, int status, GError **error) {
  gboolean asked = strstr(text, "asking") != NULL;
  const char *doing = asked ? "while being asked what it holds" : "while being opened";
  const char *unfit = strstr(text, "\nunfit ");
  if (unfit) return fc_fail(error, asked ? FC_INVALID : FC_IO, "%s", unfit + strlen("\nunfit "));
  if (strstr(text, "\nfit\n")) return TRUE;
  if (late)
    return fc_fail(error, FC_IO, "did not return within %d seconds %s", FC_SCAN_TIMEOUT_MS / 1000, doing);
  if (status != -1 && WIFSIGNALED(status))
    return fc_fail(error, FC_IO, "crashed %s (signal %d, %s)", doing, WTERMSIG(status),
                   g_strsignal(WTERMSIG(status)));
  return fc_fail(error, FC_IO, "ended the process %s (exit status %d)", doing,
                 status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

gboolean fc_scan_plugin(const char *helper, const char *path, GError **error) {
  const gint64 deadline = g_get_monotonic_time() + FC_SCAN_TIMEOUT_MS * G_TIME_SPAN_MILLISECOND;
  fc_child_answer a;
  int failed = fc_child_ask(helper, path, NULL, 2 * FC_SCAN_ANSWER_LONGEST, deadline, NULL, &a);
  if (!failed && !was_started(helper, &a)) {
    failed = errno;
    g_byte_array_unref(a.said);
  }
  if (failed) return fc_fail(error, FC_IO, "cannot be looked at: %s: %s", helper, g_strerror(failed));
  g_autofree char *text = g_strndup((const char *)a.said->data, a.said->len);
  g_byte_array_unref(a.said);
  return judge(text, a.late, a.status, error);
}

/* SPDX-License-Identifier: MIT */
/* child.c - see child.h. */
#include "core/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_init(attributes);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setflags(attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

int fc_child_start(const char *program, const char *argument, int input, int answers, pid_t *pid) {
  char *argv[] = {(char *)program, (char *)argument, NULL};
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  set_attributes(&attributes);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, answers, FC_CHILD_ANSWERS);
  if (input >= 0) posix_spawn_file_actions_adddup2(&actions, input, 0);
  for (int fd = input >= 0; fd < 3; fd++)
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  int failed = posix_spawn(pid, program, &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

gboolean fc_child_has_ended(pid_t pid, gint64 deadline) {
  for (;;) {
    siginfo_t info = {0};
    int failed = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    /* the caller ignores SIGCHLD: the kernel has reaped the child, so there is no status */
    if (failed && errno != EINTR) return TRUE;
    if (!failed && info.si_pid == pid) return TRUE;
    if (g_get_monotonic_time() >= deadline) return FALSE;
    g_usleep(500);
  }
}

int fc_child_end(pid_t pid) {
  int status = -1;
  pid_t got;
  kill(-pid, SIGKILL);
  do got = waitpid(pid, &status, 0);
  while (got < 0 && errno == EINTR);
  return got == pid ? status : -1;
}

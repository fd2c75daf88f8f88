/* SPDX-License-Identifier: MIT */
/* child.c - see child.h. */
#include "core/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct child {
  pid_t pid;
  int requests, answers; /* descriptors; -1: closed */
  const GString *request;
  gsize sent, longest;
  gint64 deadline;
  const gint *stop;
} child;

/* ---- starting and ending -------------------------------------------------------- */

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

/* Returns errno. */
static int start(const char *program, const char *argument, int input, int answers, pid_t *pid) {
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

/* It stays a zombie, so that its number is not another's yet. */
static gboolean has_ended(const child *c) {
  siginfo_t info = {0};
  int failed = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT);
  if (failed) return errno != EINTR; /* the caller ignores SIGCHLD: nothing to see */
  return info.si_pid == c->pid;
}

static gboolean is_late(const child *c) {
  return g_get_monotonic_time() >= c->deadline || (c->stop && g_atomic_int_get(c->stop));
}

/* Its wait status. */
static int end(pid_t pid) {
  int status = -1;
  pid_t got;
  kill(-pid, SIGKILL);
  do got = waitpid(pid, &status, 0);
  while (got < 0 && errno == EINTR);
  return got == pid ? status : -1;
}

/* ---- talking ------------------------------------------------------------------------ */

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Descriptors that are none of 0 to 3, which the child's are made to be. */
static gboolean open_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) return FALSE;
  for (int i = 0; i < 2; i++) {
    int higher = fcntl(ends[i], F_DUPFD_CLOEXEC, FC_CHILD_ANSWERS + 1);
    close(ends[i]);
    ends[i] = higher;
  }
  if (ends[0] >= 0 && ends[1] >= 0) return TRUE;
  const int failed = errno;
  for (int i = 0; i < 2; i++) close_end(&ends[i]);
  errno = failed;
  return FALSE;
}

/* Writes to a pipe that nobody reads any more end in EPIPE, not in a signal. */
static ssize_t write_quietly(int fd, const void *bytes, gsize n) {
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal), sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ssize_t wrote = write(fd, bytes, n);
  int failed = errno;
  if (wrote < 0 && failed == EPIPE && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) &&
      !sigismember(&before, SIGPIPE)) {
    struct timespec now = {0, 0};
    (void)sigtimedwait(&pipe_signal, NULL, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = failed;
  return wrote;
}

static void send_more(child *c) {
  ssize_t n = write_quietly(c->requests, c->request->str + c->sent, c->request->len - c->sent);
  if (n > 0) c->sent += (gsize)n;
  if (c->sent < c->request->len && (n >= 0 || errno == EAGAIN || errno == EINTR)) return;
  close_end(&c->requests); /* all is said, or nobody listens */
}

/* FALSE at the end of the answer. */
static gboolean hear_more(const child *c, GByteArray *said) {
  guint8 some[1 << 16];
  ssize_t n = read(c->answers, some, sizeof some);
  if (n < 0 && errno == EINTR) return TRUE;
  if (n <= 0 || said->len + (gsize)n > c->longest) return FALSE;
  g_byte_array_append(said, some, (guint)n);
  return TRUE;
}

/* How often it is asked whether to stop; and whether the child has ended, of whose own children one may hold
 * the pipe open. */
#define LOOK_UP_MS 20

static void talk(child *c, GByteArray *said) {
  for (gboolean ended = FALSE;;) {
    struct pollfd p[] = {{c->answers, POLLIN, 0}, {c->requests, POLLOUT, 0}};
    int ready = poll(p, c->requests >= 0 ? 2 : 1, ended ? 0 : LOOK_UP_MS);
    if (is_late(c) || (ready < 0 && errno != EINTR) || (ready == 0 && ended)) return;
    if (ready == 0) ended = has_ended(c);
    if (ready <= 0) continue;
    if (c->requests >= 0 && p[1].revents) send_more(c);
    if (p[0].revents && !hear_more(c, said)) return;
  }
}

int fc_child_ask(const char *program, const char *argument, const GString *request, gsize longest,
                 gint64 deadline, const gint *stop, fc_child_answer *answer) {
  int down[2] = {-1, -1}, up[2] = {-1, -1};
  child c = {.request = request, .longest = longest, .deadline = deadline, .stop = stop};
  int failed = (request && !open_pipe(down)) || !open_pipe(up) ? errno : 0;
  if (!failed) failed = start(program, argument, down[0], up[1], &c.pid);
  close_end(&down[0]), close_end(&up[1]);
  c.requests = down[1], c.answers = up[0];
  if (!failed) {
    *answer = (fc_child_answer){.said = g_byte_array_new()};
    if (request) (void)fcntl(c.requests, F_SETFL, O_NONBLOCK);
    talk(&c, answer->said);
  }
  close_end(&c.requests), close_end(&c.answers);
  if (failed) return failed;
  while (!has_ended(&c) && !answer->late) {
    answer->late = is_late(&c);
    if (!answer->late) g_usleep(500);
  }
  answer->status = end(c.pid);
  return 0;
}

/* SPDX-License-Identifier: MIT */
/* jit.c - see jit.h. */
#include "core/device/jit.h"

#include "core/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* No contraction: a composed kernel must round as its stages do. -default-device applies to the headers'
 * inline functions. */
const char *const fc_jit_options[] = {"--fmad=false", "-std=c++17", "-default-device", "--minimal", NULL};

/* ---- where NVRTC is --------------------------------------------------------------- */

static const char *const file_names[] = {"libnvrtc.so.14", "libnvrtc.so.13", "libnvrtc.so.12",
                                         "libnvrtc.so.11.2", "libnvrtc.so"};

static char *look_in(const char *folder) {
  for (guint i = 0; folder && *folder && i < G_N_ELEMENTS(file_names); i++) {
    g_autofree char *path = g_build_filename(folder, file_names[i], NULL);
    if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) return g_steal_pointer(&path);
  }
  return NULL;
}

static char *look_below(const char *root, const char *folder) {
  if (!root || !*root) return NULL;
  g_autofree char *path = g_build_filename(root, folder, NULL);
  return look_in(path);
}

char *fc_jit_find_compiler(void) {
  static const char *const folders[] = {"/usr/local/cuda/lib64",
                                        "/usr/local/cuda/targets/x86_64-linux/lib",
                                        "/usr/local/cuda/targets/sbsa-linux/lib",
                                        "/opt/cuda/lib64",
                                        "/usr/lib/x86_64-linux-gnu",
                                        "/usr/lib/aarch64-linux-gnu",
                                        "/usr/lib64",
                                        "/usr/lib"};
  const char *given = g_getenv("FILTERCHAIN_NVRTC");
  if (given) return *given ? g_strdup(given) : NULL;
  g_auto(GStrv) paths = g_strsplit(g_getenv("LD_LIBRARY_PATH") ? g_getenv("LD_LIBRARY_PATH") : "", ":", -1);
  char *found = NULL;
  for (guint i = 0; !found && paths[i]; i++) found = look_in(paths[i]);
  if (!found) found = look_below(g_getenv("CUDA_PATH"), "lib64");
  if (!found) found = look_below(g_getenv("CUDA_HOME"), "lib64");
  for (guint i = 0; !found && i < G_N_ELEMENTS(folders); i++) found = look_in(folders[i]);
  return found;
}

char *fc_jit_identity(const char *compiler) {
  struct stat about;
  char *real = realpath(compiler, NULL);
  char *identity = NULL;
  if (real && stat(real, &about) == 0)
    identity = g_strdup_printf("%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, real, (gint64)about.st_size,
                               (gint64)about.st_mtime);
  free(real);
  return identity ? identity : g_strdup(compiler);
}

/* ---- the child ------------------------------------------------------------------------ */

typedef struct child {
  pid_t pid;
  int requests, answers; /* descriptors */
  gint64 deadline;
  const gint *stop;
  GString *request;
  gsize sent;
  GByteArray *answer;
  gboolean late, left; /* it timed out; it closed its end of the pipe but did not exit */
} child;

static void append_part(GString *to, const char *kind, const char *bytes, gsize n) {
  g_string_append_printf(to, "%s %" G_GSIZE_FORMAT "\n", kind, n);
  g_string_append_len(to, bytes, (gssize)n);
}

static GString *request_of(int major, int minor, const char *text) {
  GString *to = g_string_new(NULL);
  g_autofree char *chip = g_strdup_printf("-arch=sm_%d%d", major, minor);
  append_part(to, "option", chip, strlen(chip));
  for (guint i = 0; fc_jit_options[i]; i++)
    append_part(to, "option", fc_jit_options[i], strlen(fc_jit_options[i]));
  for (const fc_compose_header *h = fc_compose_headers; h->name; h++) {
    append_part(to, "name", h->name, strlen(h->name));
    append_part(to, "header", h->text, strlen(h->text));
  }
  append_part(to, "text", text, strlen(text));
  return to;
}

/* Descriptors other than 0 to 3, which are reassigned in the child. */
static gboolean open_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) return FALSE;
  for (int i = 0; i < 2; i++) {
    int higher = fcntl(ends[i], F_DUPFD_CLOEXEC, FC_CHILD_ANSWERS + 1);
    close(ends[i]);
    ends[i] = higher;
  }
  if (ends[0] >= 0 && ends[1] >= 0) return TRUE;
  for (int i = 0; i < 2; i++)
    if (ends[i] >= 0) close(ends[i]);
  return FALSE;
}

static gboolean start(child *c, const char *helper, const char *compiler, GError **error) {
  int down[2], up[2];
  if (!open_pipe(down)) return fc_fail(error, FC_IO, "kernels cannot be compiled: %s", g_strerror(errno));
  if (!open_pipe(up)) {
    close(down[0]), close(down[1]);
    return fc_fail(error, FC_IO, "kernels cannot be compiled: %s", g_strerror(errno));
  }
  int failed = fc_child_start(helper, compiler, down[0], up[1], &c->pid);
  close(down[0]), close(up[1]);
  c->requests = down[1], c->answers = up[0];
  (void)fcntl(c->requests, F_SETFL, O_NONBLOCK);
  if (failed) {
    close(c->requests), close(c->answers);
    return fc_fail(error, FC_IO, "kernels cannot be compiled: %s: %s", helper, g_strerror(failed));
  }
  return TRUE;
}

/* Writing to a pipe without a reader gives EPIPE, not a signal. */
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
  close(c->requests); /* everything is written, or nobody reads */
  c->requests = -1;
}

/* FALSE at the end of the answer. */
static gboolean hear_more(child *c) {
  guint8 some[1 << 16];
  ssize_t n = read(c->answers, some, sizeof some);
  if (n < 0 && errno == EINTR) return TRUE;
  if (n <= 0 || c->answer->len + (gsize)n > FC_JIT_LONGEST) return FALSE;
  g_byte_array_append(c->answer, some, (guint)n);
  return TRUE;
}

/* Interval at which the stop request is checked. */
#define LOOK_UP_MS 20

static void talk(child *c) {
  gboolean listening = TRUE;
  while (listening) {
    struct pollfd p[] = {{c->answers, POLLIN, 0}, {c->requests, POLLOUT, 0}};
    gint64 left = (c->deadline - g_get_monotonic_time()) / G_TIME_SPAN_MILLISECOND;
    int ready = poll(p, c->requests >= 0 ? 2 : 1, (int)CLAMP(left, 0, LOOK_UP_MS));
    c->late = ready == 0 && (left <= LOOK_UP_MS || (c->stop && g_atomic_int_get(c->stop)));
    if (c->late || (ready < 0 && errno != EINTR)) return;
    if (ready <= 0) continue;
    if (c->requests >= 0 && p[1].revents) send_more(c);
    if (p[0].revents) listening = hear_more(c);
  }
}

/* The child's wait status, or -1 if that is not available. */
static int reap(child *c) {
  if (c->requests >= 0) close(c->requests);
  close(c->answers);
  /* It has closed the pipe, so it should exit soon; one that does not is killed. */
  c->left = !c->late && !fc_child_has_ended(c->pid, g_get_monotonic_time() + G_TIME_SPAN_SECOND / 10);
  return fc_child_end(c->pid);
}

/* ---- the answer ------------------------------------------------------------------------ */

/* The single part of the answer; NULL where it is not well-formed. */
static const guint8 *answer_of(const GByteArray *a, const char *kind, gsize *n) {
  const guint8 *end = a->len ? memchr(a->data, '\n', MIN(a->len, 64)) : NULL;
  const gsize length = strlen(kind);
  if (!end || (gsize)(end - a->data) <= length || memcmp(a->data, kind, length) != 0 ||
      a->data[length] != ' ')
    return NULL;
  g_autofree char *number =
      g_strndup((const char *)a->data + length + 1, (gsize)(end - a->data) - length - 1);
  guint64 value;
  if (!g_ascii_string_to_unsigned(number, 10, 0, FC_JIT_LONGEST, &value, NULL)) return NULL;
  *n = (gsize)value;
  return (gsize)(a->data + a->len - (end + 1)) == *n ? end + 1 : NULL;
}

static GBytes *judge(const child *c, int status, int timeout, GError **error) {
  gsize n;
  const guint8 *cubin = answer_of(c->answer, "cubin", &n);
  if (cubin && n > 0) return g_bytes_new(cubin, n);
  const guint8 *said = answer_of(c->answer, "log", &n);
  if (said) {
    fc_fail(error, FC_INVALID, "the kernel cannot be compiled: %.*s", (int)MIN(n, 4000), (const char *)said);
  } else if ((said = answer_of(c->answer, "unknown", &n)) != NULL) {
    fc_fail(error, FC_UNSUPPORTED, "kernels cannot be compiled: %.*s", (int)MIN(n, 500), (const char *)said);
  } else if (c->late) {
    fc_fail(error, FC_IO, "kernels cannot be compiled: the compiler took longer than %g s", timeout / 1000.);
  } else if (!c->left && status != -1 && WIFSIGNALED(status)) {
    fc_fail(error, FC_IO, "kernels cannot be compiled: the compiler crashed (signal %d, %s)",
            WTERMSIG(status), g_strsignal(WTERMSIG(status)));
  } else {
    fc_fail(error, FC_IO, "kernels cannot be compiled: the compiler ended without an answer");
  }
  return NULL;
}

GBytes *fc_jit_compile(const char *helper, const char *compiler, int major, int minor, const char *text,
                       int timeout_ms, const gint *stop, GError **error) {
  child c = {.stop = stop};
  const int timeout = timeout_ms > 0 ? timeout_ms : FC_JIT_TIMEOUT_MS;
  if (!compiler) {
    fc_fail(error, FC_UNSUPPORTED,
            "kernels cannot be compiled: libnvrtc (part of the CUDA Toolkit) was not found");
    return NULL;
  }
  if (!start(&c, helper, compiler, error)) return NULL;
  c.deadline = g_get_monotonic_time() + timeout * G_TIME_SPAN_MILLISECOND;
  c.request = request_of(major, minor, text);
  c.answer = g_byte_array_new();
  talk(&c);
  int status = reap(&c);
  GBytes *cubin = judge(&c, status, timeout, error);
  g_string_free(c.request, TRUE);
  g_byte_array_unref(c.answer);
  return cubin;
}

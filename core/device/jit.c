/* SPDX-License-Identifier: MIT */
/* jit.c - see jit.h. */
#include "core/device/jit.h"

#include "core/base/child.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

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

/* ---- what is asked -------------------------------------------------------------------- */

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

/* ---- what is answered -------------------------------------------------------------------- */

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

static GBytes *judge(const fc_child_answer *a, int timeout, GError **error) {
  gsize n;
  const int status = a->status;
  const guint8 *cubin = answer_of(a->said, "cubin", &n);
  if (cubin && n > 0) return g_bytes_new(cubin, n);
  const guint8 *said = answer_of(a->said, "log", &n);
  if (said) {
    fc_fail(error, FC_INVALID, "the kernel cannot be compiled: %.*s", (int)MIN(n, 4000), (const char *)said);
  } else if ((said = answer_of(a->said, "unknown", &n)) != NULL) {
    fc_fail(error, FC_UNSUPPORTED, "kernels cannot be compiled: %.*s", (int)MIN(n, 500), (const char *)said);
  } else if (a->late) {
    fc_fail(error, FC_IO, "kernels cannot be compiled: the compiler took longer than %g s", timeout / 1000.);
  } else if (status != -1 && WIFSIGNALED(status)) {
    fc_fail(error, FC_IO, "kernels cannot be compiled: the compiler crashed (signal %d, %s)",
            WTERMSIG(status), g_strsignal(WTERMSIG(status)));
  } else {
    fc_fail(error, FC_IO, "kernels cannot be compiled: the compiler ended without an answer");
  }
  return NULL;
}

GBytes *fc_jit_compile(const char *helper, const char *compiler, int major, int minor, const char *text,
                       int timeout_ms, const gint *stop, GError **error) {
  const int timeout = timeout_ms > 0 ? timeout_ms : FC_JIT_TIMEOUT_MS;
  const gint64 deadline = g_get_monotonic_time() + timeout * G_TIME_SPAN_MILLISECOND;
  fc_child_answer a;
  if (!compiler) {
    fc_fail(error, FC_UNSUPPORTED,
            "kernels cannot be compiled: libnvrtc (part of the CUDA Toolkit) was not found");
    return NULL;
  }
  g_autoptr(GString) request = request_of(major, minor, text);
  int failed = fc_child_ask(helper, compiler, request, FC_JIT_LONGEST, deadline, stop, &a);
  if (failed) {
    fc_fail(error, FC_IO, "kernels cannot be compiled: %s: %s", helper, g_strerror(failed));
    return NULL;
  }
  GBytes *cubin = judge(&a, timeout, error);
  g_byte_array_unref(a.said);
  return cubin;
}

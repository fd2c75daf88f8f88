/* SPDX-License-Identifier: MIT */
/*
 * jit_main.c - the program filterchain-jit: compiles one CUDA text, as the child of jit.h. Not to be run by
 * users.
 *
 *   filterchain-jit LIBNVRTC <request 3>answer
 *
 * In the request "option", "name" and "header" may occur several times, "text" is the last. The answer is one
 * of "cubin", "log" (the text has errors), "unknown" (the compiler is missing, or does not know the chip).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/device/code_usage.h"
#include "core/device/jit.h"

enum { MOST_PARTS = 64, INVALID_OPTION = 5 };

typedef struct nvrtc {
  int (*create)(void **program, const char *text, const char *name, int headers, const char *const *texts,
                const char *const *names);
  int (*compile)(void *program, int n, const char *const *options);
  int (*log_size)(void *program, size_t *size), (*log)(void *program, char *log);
  int (*cubin_size)(void *program, size_t *size), (*cubin)(void *program, char *cubin);
} nvrtc;

typedef struct request {
  const char *option[MOST_PARTS], *name[MOST_PARTS], *header[MOST_PARTS];
  int options, names, headers;
  const char *text;
} request;

/* ---- talking ------------------------------------------------------------------- */

static void answer(const char *kind, const void *bytes, size_t n) {
  char head[64];
  int length = snprintf(head, sizeof head, "%s %zu\n", kind, n);
  const struct {
    const char *at;
    size_t n;
  } parts[] = {{head, (size_t)length}, {bytes, n}};
  for (int i = 0; i < 2; i++)
    for (size_t done = 0; done < parts[i].n;) {
      ssize_t wrote = write(FC_CHILD_ANSWERS, parts[i].at + done, parts[i].n - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) _exit(2);
      done += (size_t)wrote;
    }
}

/* Ends the process, after its answer, without running the library's exit handlers. */
G_NORETURN static void refuse(const char *why) {
  answer("unknown", why, strlen(why));
  _exit(1);
}

/* A part's bytes, followed by a zero; NULL at the end of the request. */
static char *read_part(char *kind, size_t most) {
  unsigned long long n = 0;
  char line[96], format[32];
  if (!fgets(line, sizeof line, stdin)) return NULL;
  snprintf(format, sizeof format, "%%%zus %%llu", most - 1);
  if (sscanf(line, format, kind, &n) != 2 || n > FC_JIT_LONGEST) return NULL;
  char *bytes = g_try_malloc(n + 1);
  if (!bytes || fread(bytes, 1, n, stdin) != n) return NULL;
  bytes[n] = 0;
  return bytes;
}

static int read_request(request *r) {
  char kind[16], *part;
  while (!r->text && (part = read_part(kind, sizeof kind)) != NULL) {
    if (strcmp(kind, "option") == 0 && r->options < MOST_PARTS)
      r->option[r->options++] = part;
    else if (strcmp(kind, "name") == 0 && r->names < MOST_PARTS)
      r->name[r->names++] = part;
    else if (strcmp(kind, "header") == 0 && r->headers < MOST_PARTS)
      r->header[r->headers++] = part;
    else if (strcmp(kind, "text") == 0)
      r->text = part;
    else
      return 0;
  }
  return r->text && r->names == r->headers;
}

/* ---- compiling -------------------------------------------------------------------- */

static void *find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  if (!symbol) refuse("the library is not NVRTC of CUDA 11.2 or later");
  return symbol;
}

static nvrtc load(const char *path) {
  nvrtc n;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) refuse(dlerror());
  *(void **)&n.create = find(library, "nvrtcCreateProgram");
  *(void **)&n.compile = find(library, "nvrtcCompileProgram");
  *(void **)&n.log_size = find(library, "nvrtcGetProgramLogSize");
  *(void **)&n.log = find(library, "nvrtcGetProgramLog");
  *(void **)&n.cubin_size = find(library, "nvrtcGetCUBINSize");
  *(void **)&n.cubin = find(library, "nvrtcGetCUBIN");
  return n;
}

typedef struct result {
  int failed; /* as NVRTC has it */
  char *bytes;
  size_t size;
  int frame, registers; /* of a kernel's thread */
} result;

/* The machine code, or what the compiler says of errors. */
static result compile(const nvrtc *n, const request *r) {
  result to = {0};
  void *program = NULL;
  if (n->create(&program, r->text, "kernel.cu", r->headers, r->header, r->name) != 0)
    refuse("NVRTC cannot make a program of it");
  to.failed = n->compile(program, r->options, r->option);
  if (to.failed ? n->log_size(program, &to.size) : n->cubin_size(program, &to.size))
    refuse("NVRTC does not tell a size");
  to.bytes = g_try_malloc0(to.size + 1);
  if (!to.bytes || (to.failed ? n->log(program, to.bytes) : n->cubin(program, to.bytes)))
    refuse("NVRTC does not hand its result over");
  if (to.failed == INVALID_OPTION) refuse(to.bytes); /* an unknown chip is an invalid option */
  if (to.failed)
    to.size = strlen(to.bytes);
  else
    code_usage(to.bytes, to.size, &to.frame, &to.registers);
  return to;
}

/* Registers of a thread that leave room for so many warps on a multiprocessor, of any chip: it has four times
 * 16384, given to warps by eight for each thread. */
static int registers_for(int warps) {
  return (1 << 14) / (32 * warps / 4) / 8 * 8;
}

/* Warps to ask room for, given what the compiler took by itself; 0: none. */
static int warps_to_ask(int registers) {
  enum { FEW = 8, LEAST = 12, MORE = 16 };
  if (registers > registers_for(LEAST)) return LEAST;
  return registers > registers_for(MORE) && registers <= registers_for(MORE) + FEW ? MORE : 0;
}

/*
 * The compiler does not see how many warps fit: once it took 169 registers for 14 + 18 taps of f32, so that 6
 * ran in place of 12, a chain with it took 0.73 ms for 0.64 (H200). Told of all kernels, it takes as many
 * registers as it may where it could do with fewer. So where the text lets it be told (window.cuh), and it
 * took more than leave room for 12 warps, or a few more than for 16, it is told then, and the result is kept
 * if it neither spills nor is longer. Both have to end within the time of one.
 */
static int compile_twice(const nvrtc *n, request *r) {
  const gint64 begun = g_get_monotonic_time();
  result made = compile(n, r);
  const gboolean quick = g_get_monotonic_time() - begun < FC_JIT_TIMEOUT_MS / 4 * G_TIME_SPAN_MILLISECOND;
  const char *bounds = g_strrstr(r->text, "__launch_bounds__(");
  int threads = 0, length = 0;
  if (bounds) sscanf(bounds, "__launch_bounds__(%d FC_AT_LEAST)%n", &threads, &length);
  const int warps = made.failed || !length ? 0 : warps_to_ask(made.registers);
  if (warps && quick && 32 * warps % threads == 0 && r->options < MOST_PARTS) {
    char option[32];
    snprintf(option, sizeof option, "-DFC_AT_LEAST=,%d", 32 * warps / threads);
    r->option[r->options++] = option;
    const result told = compile(n, r);
    if (!told.failed && told.frame <= made.frame && told.registers <= registers_for(warps) &&
        told.size <= made.size + made.size / 32)
      made = told;
  }
  answer(made.failed ? "log" : "cubin", made.bytes, made.size);
  return made.failed ? 1 : 0;
}

/* A crash here is expected and reported: no core files, and a time limit in case the parent has gone. */
static void limit_self(void) {
  struct rlimit none = {0, 0}, seconds = {FC_JIT_TIMEOUT_MS / 1000 + 1, FC_JIT_TIMEOUT_MS / 1000 + 1};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_CPU, &seconds);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int main(int argc, char **argv) {
  static request r;
  if (argc != 2) return 2;
  limit_self();
  if (!read_request(&r)) return 2;
  const nvrtc n = load(argv[1]);
  _exit(compile_twice(&n, &r));
}

/* SPDX-License-Identifier: MIT */
/*
 * test_device.c - memory and failures of a device: what is not available, what does not
 * exist, and what a forked child is told.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/gpu.h"

static void device_memory(fc_runner *r) {
  CHECK(r->alloc(r, (gsize)1 << 50) == NULL, "a petabyte was allocated");
  /* And the failure left nothing behind that later work would trip over. */
  char *memory[20];
  for (int i = 0; i < 20; i++) {
    memory[i] = must_alloc(r->alloc(r, (gsize)i * 1000));
    CHECK((guintptr)memory[i] % 256 == 0, "%p", (void *)memory[i]);
  }
  for (int i = 0; i < 20; i += 2) r->release(r, memory[i]); /* the others go with the runner */
  r->release(r, NULL);
}

static void host_memory(fc_runner *r) {
  unsigned char *memory = must_alloc(r->alloc_host(r, 100000));
  int set = 0;
  for (int i = 0; i < 100000; i++) set |= memory[i];
  CHECK(set == 0, "host memory is not zeroed");
  r->release_host(r, memory);
  r->release_host(r, NULL);
}

/* Work that waits for an upload of plain memory must find all of it. */
static void plain_memory(fc_runner *r) {
  const gint64 bytes = 40 << 20;
  GError *error = NULL;
  unsigned char *sent = g_malloc((gsize)bytes), *got = g_malloc0((gsize)bytes);
  for (gint64 i = 0; i < bytes; i++) sent[i] = (unsigned char)(i * 7 + (i >> 11));
  void *memory = must_alloc(fc_cuda_driver()->alloc(0, (gsize)bytes)),
       *copy = must_alloc(r->alloc(r, (gsize)bytes));
  must(fc_cuda_driver()->upload(0, memory, sent, (gsize)bytes, &error), error);
  fc_view from = bytes_view(memory, bytes, 0), to = bytes_view(copy, bytes, 0);
  gpu_copy(r, &to, &from, NULL);
  device_get(r, got, copy, bytes);
  CHECK(memcmp(sent, got, (gsize)bytes) == 0, "a round trip");
  fc_cuda_driver()->release(0, memory);
  fc_cuda_driver()->release(0, NULL);
  g_free(sent);
  g_free(got);
  CHECK(fc_cuda_driver()->alloc(0, (gsize)1 << 50) == NULL, "a petabyte was allocated");
}

static void no_such_device(void) {
  GError *error = NULL;
  CHECK(fc_cuda_driver()->open(999, NULL, &error) == NULL, "made a runner on cuda:999");
  CHECK(error && error->code == FC_DEVICE && strstr(error->message, "cuda:999"), "%s",
        error ? error->message : "no error");
  g_clear_error(&error);
  CHECK(fc_cuda_driver()->alloc(999, 10) == NULL, "memory on cuda:999");
  CHECK(!fc_cuda_driver()->upload(999, &error, &error, 1, &error), "copied to cuda:999");
  CHECK(error && error->code == FC_DEVICE, "no error");
  g_clear_error(&error);
  CHECK(fc_cuda_driver()->enter(999) == -1, "entered cuda:999");
  int before = fc_cuda_driver()->enter(0);
  CHECK(before == 0, "%d was current", before);
  fc_cuda_driver()->leave(before);
}

/* The exit status of the child counts what went wrong there. */
static int in_child(fc_runner *r) {
  int wrong = 0;
  GError *error = NULL;
  char *reason = NULL;
  wrong += fc_cuda_driver()->count(&reason) != 0 || !strstr(reason, "fork");
  wrong += fc_cuda_driver()->open(0, NULL, &error) != NULL || !strstr(error->message, "fork");
  g_clear_error(&error);
  wrong += r->wait(r, 0, &error) || !strstr(error->message, "fork");
  wrong += r->alloc(r, 100) != NULL;
  wrong += fc_cuda_driver()->alloc(0, 100) != NULL;
  r->free(r); /* leaves the parent's device alone */
  return wrong;
}

static void after_fork(fc_runner *r) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) _exit(in_child(r));
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child, "no child");
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", (unsigned)status);
}

int main(void) {
  CHECK(!fc_cuda_driver() || fc_cuda_driver()->present() || fc_cuda_driver()->count(NULL) == 0,
        "a device but no driver");
  fc_runner *r = gpu_start();
  CHECK(strncmp(r->description, "cuda:0 (", 8) == 0, "%s", r->description);
  CHECK(r->device == FC_CUDA_DEVICE(0) && r->threads == 1 && r->stream, "fields");
  device_memory(r);
  host_memory(r);
  plain_memory(r);
  no_such_device();
  after_fork(r);
  plain_memory(r); /* the parent goes on */
  r->free(r);
  return check_result();
}

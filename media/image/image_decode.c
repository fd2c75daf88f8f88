/* SPDX-License-Identifier: MIT */
/*
 * image_decode.c - stb_image in a child process that can do nothing but decode
 * (image_child.c): what goes to it, how it is waited for, and what is believed of it.
 *
 * The child is a fork of this process, or, where there are many images or this process is
 * large, of a small helper (decoders.h). Pixels come back in
 * memory shared with it; nothing in there is believed before it is checked, and not before
 * the child is gone. One child an image, either way.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "media/image/decoders.h"
#include "media/image/image_child.h"

/* Seconds of processor time: so many, and one more for each 2^23 pixels. The clock may
 * run three times as long, for machines that are busy. */
#define SECONDS      10
#define PIXELS_A_SEC ((gint64)1 << 23)
#define PATIENCE     3

typedef struct decode_job {
  const char *name;
  fc_decode_task task;
  int done[2]; /* a pipe: the child writes one byte, or closes it by dying */
} decode_job;

/* ---- what came of it --------------------------------------------------- */

static gboolean fail_child(const decode_job *job, int status, gboolean in_time, GError **error) {
  if (!in_time || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
    return fc_fail(error, FC_IO, "%s: decoding was stopped at the limit of %d s of processor time", job->name,
                   job->task.seconds);
  if (WIFSIGNALED(status))
    return fc_fail(error, FC_IO, "%s: the decoder crashed on it (%s) and was contained; the file is damaged",
                   job->name, g_strsignal(WTERMSIG(status)));
  return fc_fail(error, FC_IO, "%s: the decoder ended without a word; the file is damaged", job->name);
}

gboolean fc_image_take_report(const char *name, const void *shared, gsize shared_size,
                              const fc_image_check *check, fc_picture *picture, GError **error) {
  fc_decode_report said;
  memcpy(&said, shared, sizeof said);
  said.reason[sizeof said.reason - 1] = 0;
  if (!said.pixels_at) {
    for (char *c = said.reason; *c; c++)
      if (!g_ascii_isprint(*c)) *c = '?';
    return fc_fail(error, FC_IO, "%s: cannot be decoded: %s", name, said.reason);
  }
  gboolean sane = said.width == check->width && said.height == check->height && said.channels >= 1 &&
                  said.channels <= 4 && (said.bits == 8 || said.bits == 16) &&
                  said.pixels_at >= FC_DECODE_REPORT_SIZE && said.pixels_at % 16 == 0 &&
                  (guint64)said.pixels_at <= shared_size;
  guint64 bytes =
      sane ? (guint64)check->width * (guint64)check->height * (guint64)(said.channels * said.bits / 8) : 0;
  if (!sane || bytes > shared_size - (guint64)said.pixels_at)
    return fc_fail(error, FC_IO, "%s: what its header says and what it holds differ", name);
  *picture = (fc_picture){.width = said.width,
                          .height = said.height,
                          .channels = said.channels,
                          .dtype = said.bits == 16 ? FC_U16 : FC_U8,
                          .pixels = (const char *)shared + said.pixels_at};
  return TRUE;
}

static gboolean take_result(const decode_job *job, int status, gboolean in_time, const fc_image_check *check,
                            fc_picture *picture, GError **error) {
  const fc_decode_task *task = &job->task;
  if (!in_time || !((fc_decode_report *)task->shared)->done) return fail_child(job, status, in_time, error);
  return fc_image_take_report(job->name, task->shared, task->shared_size, check, picture, error);
}

/* ---- a child of our own ------------------------------------------------ */

/* No handler of the parent's runs in the child: all signals stay blocked there. */
static pid_t start(const decode_job *job) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = fork();
  if (pid == 0) fc_decode_child(&job->task);
  int problem = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = problem;
  return pid;
}

static gint64 patience_of(const decode_job *job) {
  return (gint64)job->task.seconds * PATIENCE * G_USEC_PER_SEC;
}

/* TRUE when the child has said that it is done, or has died. */
static gboolean wait_for_word(const decode_job *job) {
  gint64 end = g_get_monotonic_time() + patience_of(job);
  for (;;) {
    gint64 left = end - g_get_monotonic_time();
    if (left <= 0) return FALSE;
    struct pollfd poll_fd = {job->done[0], POLLIN, 0};
    if (poll(&poll_fd, 1, (int)(left / 1000) + 1) > 0) return TRUE;
  }
}

/* The child's end; status 0 also where somebody else has collected it. */
static int collect(pid_t pid, gboolean in_time) {
  if (!in_time) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 0;
  return status;
}

static gboolean run_forked(decode_job *job, const fc_image_check *check, fc_picture *picture,
                           GError **error) {
  if (pipe2(job->done, O_CLOEXEC) != 0)
    return fc_fail(error, FC_IO, "%s: no pipe to the decoder: %s", job->name, g_strerror(errno));
  job->task.word = job->done[1];
  pid_t pid = start(job);
  int problem = errno;
  close(job->done[1]);
  gboolean in_time = pid > 0 && wait_for_word(job);
  int status = pid > 0 ? collect(pid, in_time) : 0;
  close(job->done[0]);
  if (pid < 0)
    return fc_fail(error, FC_NO_MEMORY, "%s: no process for the decoder: %s", job->name, g_strerror(problem));
  return take_result(job, status, in_time, check, picture, error);
}

/* For the largest that stb_image takes: PNG of 16 bits and 4 channels, interlaced, needs
 * three images of 8 bytes a pixel and the file twice (which is as large as an image when
 * it was mended); progressive JPEG, rounded up to blocks, less. Only what is touched
 * costs memory. */
static gsize arena_for(const fc_decode_task *task, const fc_image_check *check) {
  return FC_DECODE_REPORT_SIZE + 2 * task->size +
         (task->cut ? 64 : 32) * (gsize)(check->width + 64) * (gsize)(check->height + 64) + ((gsize)16 << 20);
}

static gboolean map(fc_decode_task *task, gsize size, int kind, int fd) {
  task->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | kind, fd, 0);
  return task->shared != MAP_FAILED;
}

static gboolean decode_forked(decode_job *job, const fc_image_check *check, fc_picture *picture,
                              GError **error) {
  fc_decode_task *task = &job->task;
  task->descriptors = sysconf(_SC_OPEN_MAX);
  if (!map(task, task->shared_size, MAP_ANONYMOUS, -1))
    return fc_fail(error, FC_NO_MEMORY,
                   "%s: no memory to decode %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels", job->name,
                   check->width, check->height);
  task->address_space = fc_address_space(NULL);
  gboolean done = run_forked(job, check, picture, error);
  if (done) picture->arena = task->shared, picture->arena_size = task->shared_size;
  if (!done) munmap(task->shared, task->shared_size);
  return done;
}

/* ---- a child of a helper's --------------------------------------------- */

/* Memory that has a descriptor, and whose size nobody can change, or -1. */
static int make_memory(gsize size) {
  struct rlimit most; /* of files, which this is one of: going beyond it would raise a signal */
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < size || size > (gsize)G_MAXINT64) return -1;
  int fd = memfd_create("filterchain-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

/* Memory for the helper with the file in it, behind the arena; its descriptor, or -1. */
static int prepare(fc_decode_task *task, fc_decode_request *request) {
  *request = (fc_decode_request){.magic = FC_DECODE_MAGIC,
                                 .seconds = task->seconds,
                                 .cut = task->cut,
                                 .pixels = task->pixels,
                                 .shared_size = task->shared_size,
                                 .file_at = (task->shared_size + 63) / 64 * 64,
                                 .file_size = task->size};
  gsize size = request->file_at + request->file_size;
  int fd = make_memory(size);
  if (fd >= 0 && map(task, size, 0, fd)) {
    memcpy((char *)task->shared + request->file_at, task->file, task->size);
    return fd;
  }
  if (fd >= 0) close(fd);
  return -1;
}

/* FC_DECODERS_NONE: nothing has happened. */
static fc_decoders_result decode_helped(decode_job *job, fc_decoders *decoders, const fc_image_check *check,
                                        fc_picture *picture, gboolean *done, GError **error) {
  fc_decode_request request;
  fc_decode_answer answer = {0};
  int fd = prepare(&job->task, &request);
  if (fd < 0) return FC_DECODERS_NONE;
  gsize size = request.file_at + request.file_size;
  fc_decoders_result result = fc_decoders_run(decoders, &request, fd, patience_of(job), &answer);
  close(fd);
  *done = FALSE;
  if (result != FC_DECODERS_NONE && answer.problem)
    fc_fail(error, FC_NO_MEMORY, "%s: no process for the decoder: %s", job->name, g_strerror(answer.problem));
  else if (result != FC_DECODERS_NONE)
    *done = take_result(job, answer.status, result != FC_DECODERS_LATE, check, picture, error);
  if (*done) picture->arena = job->task.shared, picture->arena_size = size;
  if (!*done) munmap(job->task.shared, size);
  return result;
}

/* ---- either ------------------------------------------------------------ */

gboolean fc_image_decode(const char *name, const guint8 *file, gsize size, const fc_image_check *check,
                         fc_decoders *decoders, fc_picture *picture, GError **error) {
  decode_job job = {.name = name,
                    .task = {.file = file,
                             .size = check->end ? check->end : size,
                             .pixels = check->width * check->height,
                             .cut = check->cut,
                             .word = -1}};
  job.task.seconds = (int)(SECONDS + job.task.pixels / PIXELS_A_SEC) * (FC_SANITIZED ? 4 : 1);
  job.task.shared_size = arena_for(&job.task, check);
  gsize resident = 0;
  gboolean done;
  if (decoders) fc_address_space(&resident);
  if (decoders && fc_decoders_pay(decoders, resident) &&
      decode_helped(&job, decoders, check, picture, &done, error) != FC_DECODERS_NONE)
    return done;
  return decode_forked(&job, check, picture, error);
}

void fc_picture_clear(fc_picture *picture) {
  if (picture->arena) munmap(picture->arena, picture->arena_size);
  memset(picture, 0, sizeof *picture);
}

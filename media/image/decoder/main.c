/* SPDX-License-Identifier: MIT */
/*
 * main.c - filterchain-decode, see decoders.h. Its standard input is the socket; it ends when the other side
 * is closed. The child for the next image is forked in advance. Without GLib, so that it starts and forks
 * quickly.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "media/image/decoders.h"
#include "media/image/decoder/child.h"

#define PAGE 4096

static long descriptors;

/* FALSE at the end, and for an invalid request or one of another version. */
static int listen_for(fc_decode_request *request, int *memory) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {request, sizeof *request};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t got;
  do got = recvmsg(0, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  struct cmsghdr *with = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (got != sizeof *request || request->magic != FC_DECODE_MAGIC || !with || with->cmsg_type != SCM_RIGHTS ||
      with->cmsg_len != CMSG_LEN(sizeof *memory))
    return 0;
  memcpy(memory, CMSG_DATA(with), sizeof *memory);
  return 1;
}

/* Maps the memory, which is all that the child keeps, without its descriptor; NULL on failure. */
static char *map(const fc_decode_request *request, int memory) {
  char *shared = mmap(NULL, request->memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
  if (shared == MAP_FAILED) return NULL;
#ifdef MADV_POPULATE_WRITE
  /* Populating all pages of the picture at once costs half of populating them one by one. */
  madvise(shared, (FC_DECODE_REPORT_SIZE + request->exact_room + PAGE - 1) / PAGE * PAGE,
          MADV_POPULATE_WRITE);
#endif
  return shared;
}

static int confine(const fc_decode_request *request, fc_decode_report *report) {
  const size_t file_size = request->keep ? request->memory : request->file_size;
  const fc_child_limits limits = {
      .heap = fc_decode_heap((fc_image_kind)request->kind, request->pixels, file_size),
      .seconds = request->seconds,
      .kept = request->keep ? 0 : -1,
      .descriptors = descriptors};
  return fc_child_confine(&limits, report);
}

/* TRUE: a complete picture. */
static int decode(const fc_decode_request *request, char *shared) {
  const size_t file_at = FC_DECODE_REPORT_SIZE + request->room;
  fc_decode_report *report = (fc_decode_report *)(void *)shared;
  const fc_decode_task task = {.kind = (fc_image_kind)request->kind,
                               .file = (const guint8 *)shared + file_at,
                               .size = request->file_size,
                               .width = request->width,
                               .height = request->height,
                               .channels = request->channels,
                               .scale = request->scale,
                               .window = request->window,
                               .lenient = request->lenient,
                               .pixels = (guint8 *)shared + FC_DECODE_REPORT_SIZE,
                               .room = request->room};
  fc_decode(&task, report);
  report->done = 1;
  return report->decoded && report->damage == FC_UNDAMAGED;
}

/* Forked before the request, which it reads itself; `asked` tells the helper that there is a request to be
 * answered: the child answers itself if it stays for the next one. */
static G_NORETURN void wait_and_decode(volatile int *asked) {
  const fc_decode_answer kept = {.magic = FC_DECODE_MAGIC, .kept = 1};
  fc_decode_request request;
  int memory;
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (!listen_for(&request, &memory)) _exit(0);
  *asked = 1;
  char *shared = map(&request, memory);
  if (!shared) _exit(1);
  if (!confine(&request, (fc_decode_report *)(void *)shared)) {
    ((fc_decode_report *)(void *)shared)->done = 1;
    fc_child_end();
  }
  while (decode(&request, shared) && request.keep) {
    *asked = 0;
    if (write(0, &kept, sizeof kept) != sizeof kept) break;
    if (read(0, &request, sizeof request) != sizeof request) break;
    *asked = 1;
  }
  fc_child_end();
}

/* There is no child: reports that in answer to the next request. */
static int refuse(int problem) {
  const fc_decode_answer answer = {.magic = FC_DECODE_MAGIC, .problem = problem};
  fc_decode_request request;
  int memory;
  if (!listen_for(&request, &memory)) return 0;
  close(memory);
  return send(0, &answer, sizeof answer, MSG_NOSIGNAL) > 0;
}

/* One child, for one image or more. FALSE at the end. */
static int serve(volatile int *asked) {
  fc_decode_answer answer = {.magic = FC_DECODE_MAGIC};
  *asked = 0;
  pid_t pid = fork();
  if (pid == 0) wait_and_decode(asked);
  if (pid < 0) return refuse(errno);
  while (waitpid(pid, &answer.status, 0) < 0 && errno == EINTR) continue;
  return *asked && send(0, &answer, sizeof answer, MSG_NOSIGNAL) > 0;
}

static int compare(const void *a, const void *b) {
  return *(const int *)a - *(const int *)b;
}

/* glibc's qsort, which libtiff calls, queries the size of memory when it first sorts more than 1 KB, which
 * the children may not do. */
static void sort_once(void) {
  int numbers[1024] = {0};
  qsort(numbers, G_N_ELEMENTS(numbers), sizeof *numbers, compare);
}

int main(void) {
  const fc_decode_answer hello = {.magic = FC_DECODE_MAGIC};
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGCHLD, SIG_DFL); /* ignored children would leave no status */
  descriptors = sysconf(_SC_OPEN_MAX);
  sort_once();
  fc_close_descriptors(0, descriptors);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  int *asked = mmap(NULL, sizeof *asked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (asked == MAP_FAILED || chdir("/") != 0 || send(0, &hello, sizeof hello, MSG_NOSIGNAL) < 0) return 1;
  while (serve(asked)) continue;
  _exit(0);
}

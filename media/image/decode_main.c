/* SPDX-License-Identifier: MIT */
/*
 * decode_main.c - filterchain-decode, see decoders.h. Its standard input is the socket; it ends
 * when the other side is closed. Without GLib, so that it starts and forks in no time.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "media/image/decoders.h"
#include "media/image/image_child.h"

static long descriptors;

/* FALSE at the end, and for what is no request of this version's. */
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

/* The child: nothing but this memory, and soon not even the descriptors of it. */
static G_NORETURN void decode(const fc_decode_request *request, int memory) {
  size_t whole = request->file_at + request->file_size;
  char *shared = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
  if (shared == MAP_FAILED) _exit(1);
  const fc_decode_task task = {.file = (const guint8 *)shared + request->file_at,
                               .size = request->file_size,
                               .pixels = request->pixels,
                               .cut = request->cut,
                               .seconds = request->seconds,
                               .address_space = fc_address_space(NULL),
                               .shared = shared,
                               .shared_size = request->shared_size,
                               .word = -1,
                               .descriptors = descriptors};
  fc_decode_child(&task);
}

static void serve(const fc_decode_request *request, int memory) {
  fc_decode_answer answer = {.magic = FC_DECODE_MAGIC};
  pid_t pid = fork();
  if (pid == 0) decode(request, memory);
  answer.problem = pid < 0 ? errno : 0;
  close(memory);
  while (pid > 0 && waitpid(pid, &answer.status, 0) < 0 && errno == EINTR) continue;
  send(0, &answer, sizeof answer, MSG_NOSIGNAL);
}

int main(void) {
  const fc_decode_answer hello = {.magic = FC_DECODE_MAGIC};
  fc_decode_request request;
  sigset_t all;
  int memory;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGCHLD, SIG_DFL); /* children that are ignored leave no status */
  descriptors = sysconf(_SC_OPEN_MAX);
  fc_close_descriptors(0, descriptors);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (chdir("/") != 0 || send(0, &hello, sizeof hello, MSG_NOSIGNAL) < 0) return 1;
  while (listen_for(&request, &memory)) serve(&request, memory);
  _exit(0);
}

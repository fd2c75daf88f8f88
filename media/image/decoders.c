/* SPDX-License-Identifier: MIT */
/*
 * decoders.c - see decoders.h.
 */
#include "media/image/decoders.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "media/image/decoder/child.h"

#define IDLE_MOST 128
/* As many pieces of memory are kept as were in use at once (workers of a batch), at least so many; in total
 * at most so many bytes; none is larger than this, and none is made smaller than that. */
#define KEPT_MOST  4
#define KEPT_TOTAL ((gsize)512 << 20)
#define KEPT_SIZE  ((gsize)128 << 20)
#define KEPT_LEAST ((gsize)2 << 20)
/* A child that is kept ends after so many images of less than LARGE pixels, of which a larger one counts as
 * several, since a new child costs as much as a small image. Its heap is for images of at least and at most
 * so many pixels. None is kept while more pieces of memory than this are in use. */
#define SERVED_MOST  128
#define LARGE        ((guint64)1 << 20)
#define LARGE_COUNTS 4
#define PIXELS_LEAST ((guint64)1 << 21)
#define PIXELS_MOST  ((guint64)1 << 25)
#define IN_USE_MOST  128
/* Time limit for a helper's first message, in microseconds. */
#define START_PATIENCE (10 * G_USEC_PER_SEC)
/* How often a wait looks whether the run is to stop. */
#define LOOK_UP (G_USEC_PER_SEC / 50)

typedef struct helper {
  pid_t pid;
  int socket;
  pid_t owner; /* whose child it is */
} helper;

struct fc_decoders {
  char *program;
  GMutex mutex;
  GQueue idle;   /* of helper */
  GQueue memory; /* of fc_decode_memory */
  guint in_use;  /* pieces of memory in use */
  guint at_once; /* the largest number in use so far */
  gsize kept;    /* bytes of `memory` */
  pid_t owner;   /* the parent of the children */
  gboolean none; /* the program does not start, or is another version */
};

/* ---- one helper -------------------------------------------------------- */

/* In a process group of its own: the caller handles Ctrl-C, and helper and child can be killed together. */
static int spawn(const char *program, int socket, pid_t *pid) {
  char *argv[] = {(char *)program, NULL};
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, 0);
  for (int fd = 1; fd < 3; fd++) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  /* The decoders' symbols are bound when it starts, not in every child. */
  g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), "LD_BIND_NOW", "1", TRUE);
  int failed = posix_spawn(pid, program, &actions, &attributes, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

/* The helper and its child, if any. After a fork they belong to the parent process. */
static void end(helper *h) {
  close(h->socket);
  if (h->owner == getpid()) {
    kill(-h->pid, SIGKILL);
    while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
  g_free(h);
}

static fc_decoders_result listen_to(const helper *h, gint64 patience, const int *cancel,
                                    fc_decode_answer *answer) {
  gint64 late = g_get_monotonic_time() + patience;
  for (;;) {
    gint64 left = late - g_get_monotonic_time();
    if (left <= 0) return FC_DECODERS_LATE;
    if (cancel && g_atomic_int_get(cancel)) return FC_DECODERS_STOPPED;
    struct pollfd ready = {h->socket, POLLIN, 0};
    if (poll(&ready, 1, (int)(MIN(left, cancel ? LOOK_UP : left) / 1000) + 1) > 0) break;
  }
  gssize got;
  do got = recv(h->socket, answer, sizeof *answer, 0);
  while (got < 0 && errno == EINTR);
  return got == sizeof *answer && answer->magic == FC_DECODE_MAGIC ? FC_DECODERS_ANSWERED : FC_DECODERS_LOST;
}

static helper *start(const char *program) {
  int ends[2];
  fc_decode_answer hello;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return NULL;
  helper *h = g_new0(helper, 1);
  h->socket = ends[0];
  h->owner = getpid();
  int failed = spawn(program, ends[1], &h->pid);
  close(ends[1]);
  if (failed) {
    close(ends[0]);
    g_free(h);
    return NULL;
  }
  if (listen_to(h, START_PATIENCE, NULL, &hello) == FC_DECODERS_ANSWERED) return h;
  end(h);
  return NULL;
}

/* `memory`: its descriptor, or -1 for a child that has it. */
static gboolean ask(const helper *h, const fc_decode_request *request, int memory) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {(void *)request, sizeof *request};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (memory >= 0) message.msg_control = &control, message.msg_controllen = sizeof control;
  control.header = (struct cmsghdr){
      .cmsg_len = CMSG_LEN(sizeof memory), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.header), &memory, sizeof memory);
  gssize sent;
  do sent = sendmsg(h->socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == sizeof *request;
}

/* ---- memory -------------------------------------------------------------- */

/* Its size is sealed. */
static fc_decode_memory *make_memory(gsize size) {
  struct rlimit most; /* RLIMIT_FSIZE applies to it too: exceeding it would raise a signal */
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < size || size > (gsize)G_MAXINT64) return NULL;
  int fd = memfd_create("filterchain-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return NULL;
  void *at = MAP_FAILED;
  if (ftruncate(fd, (off_t)size) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) {
    close(fd);
    return NULL;
  }
  fc_decode_memory *memory = g_new(fc_decode_memory, 1);
  *memory = (fc_decode_memory){.fd = fd, .at = at, .size = size};
  return memory;
}

static void free_memory(fc_decode_memory *memory) {
  if (memory->helper) end(memory->helper);
  munmap(memory->at, memory->size);
  close(memory->fd);
  g_free(memory);
}

/* ---- all of them ------------------------------------------------------- */

static void end_idle(fc_decoders *d) {
  for (helper *h; (h = g_queue_pop_head(&d->idle));) end(h);
  for (fc_decode_memory *m; (m = g_queue_pop_head(&d->memory));) free_memory(m);
  d->kept = 0;
}

/* After a fork, children and memory belong to the parent process. */
static void forget_others(fc_decoders *d) {
  if (d->owner == getpid()) return;
  d->owner = getpid();
  end_idle(d);
}

/* An idle one, or NULL. */
static helper *take_idle(fc_decoders *d, gboolean *none) {
  g_mutex_lock(&d->mutex);
  forget_others(d);
  *none = d->none;
  helper *h = g_queue_pop_head(&d->idle);
  g_mutex_unlock(&d->mutex);
  return h;
}

static helper *take_new(fc_decoders *d) {
  helper *h = start(d->program);
  if (h) return h;
  g_mutex_lock(&d->mutex);
  d->none = TRUE;
  g_mutex_unlock(&d->mutex);
  return NULL;
}

static void give_back(fc_decoders *d, helper *h) {
  g_mutex_lock(&d->mutex);
  gboolean keep = d->owner == getpid() && g_queue_get_length(&d->idle) < IDLE_MOST;
  if (keep) g_queue_push_head(&d->idle, h);
  g_mutex_unlock(&d->mutex);
  if (!keep) end(h);
}

/* One that has accepted the request, or NULL. Helpers that have died are removed. */
static helper *engage(fc_decoders *d, const fc_decode_request *request, int memory) {
  gboolean none;
  for (helper *h; (h = take_idle(d, &none));) {
    if (ask(h, request, memory)) return h;
    end(h);
  }
  helper *h = none ? NULL : take_new(d);
  if (h && ask(h, request, memory)) return h;
  if (h) end(h);
  return NULL;
}

/* 2: the memory's child can decode it, possibly made for larger images; 1: it has no child; 0: its child or
 * size does not fit. */
static int fitness(const fc_decode_memory *memory, gsize size, const fc_decode_request *request) {
  if (memory->size < size) return 0;
  if (memory->helper) return memory->kind == request->kind && memory->pixels >= request->pixels ? 2 : 0;
  return memory->size / 4 <= size + KEPT_LEAST;
}

/* A power of two, so that memory fits images of many sizes. Untouched pages take no memory. */
static gsize rounded(gsize size) {
  gsize room = KEPT_LEAST;
  while (room < size && room < KEPT_SIZE) room *= 2;
  return MAX(room, size);
}

/* The least recently used one, if too much is kept. Under the mutex. */
static fc_decode_memory *pop_surplus(fc_decoders *d) {
  const guint most = CLAMP(d->at_once, KEPT_MOST, IN_USE_MOST);
  if (g_queue_get_length(&d->memory) <= most && d->kept <= KEPT_TOTAL) return NULL;
  fc_decode_memory *last = g_queue_pop_tail(&d->memory);
  d->kept -= last->size;
  return last;
}

fc_decode_memory *fc_decoders_take_memory(fc_decoders *d, const fc_decode_request *request, gboolean fresh) {
  const gsize size = FC_DECODE_REPORT_SIZE + request->room + request->file_size;
  fc_decode_memory *found = NULL;
  g_mutex_lock(&d->mutex);
  forget_others(d);
  for (int fit = 2; fit > 0 && !found && !fresh; fit--)
    for (GList *at = d->memory.head; at && !found; at = at->next)
      if (fitness(at->data, size, request) == fit) found = at->data;
  if (found)
    g_queue_remove(&d->memory, found), d->kept -= found->size;
  else
    found = make_memory(rounded(size));
  if (found) {
    found->used = MAX(found->used, size);
    d->in_use++;
    d->at_once = MAX(d->at_once, d->in_use);
  }
  g_mutex_unlock(&d->mutex);
  return found;
}

void fc_decoders_give_memory(fc_decoders *d, fc_decode_memory *memory, gboolean keep) {
  keep = keep && memory->size <= KEPT_SIZE;
  /* No child sees what others decoded. A kept child knows its own images, so its memory need not be cleared
   * yet. */
  if (keep) memset(memory->at, 0, memory->helper ? FC_DECODE_REPORT_SIZE : memory->used);
  if (!memory->helper) memory->used = 0;
  g_mutex_lock(&d->mutex);
  d->in_use--;
  if (keep) g_queue_push_head(&d->memory, memory), d->kept += memory->size;
  fc_decode_memory *surplus = keep ? pop_surplus(d) : memory;
  g_mutex_unlock(&d->mutex);
  for (; surplus; g_mutex_unlock(&d->mutex)) {
    free_memory(surplus);
    g_mutex_lock(&d->mutex);
    surplus = pop_surplus(d);
  }
}

static guint counts_for(const fc_decode_request *request) {
  return request->pixels < LARGE ? 1 : LARGE_COUNTS;
}

static gboolean may_keep(fc_decoders *d, const fc_decode_memory *memory, const fc_decode_request *request) {
  if (request->pixels > PIXELS_MOST || memory->size > KEPT_SIZE) return FALSE;
  g_mutex_lock(&d->mutex);
  const gboolean may = d->in_use <= IN_USE_MOST && memory->served + counts_for(request) < SERVED_MOST;
  g_mutex_unlock(&d->mutex);
  return may;
}

fc_decoders_result fc_decoders_run(fc_decoders *d, const fc_decode_request *request, fc_decode_memory *memory,
                                   gint64 patience, const int *cancel, fc_decode_answer *answer) {
  fc_decode_request asked = *request;
  asked.memory = memory->size;
  if (!memory->helper) memory->served = 0;
  asked.keep = may_keep(d, memory, request);
  for (guint64 most = PIXELS_LEAST; asked.keep; most *= 2)
    if (most >= asked.pixels) {
      asked.pixels = most;
      break;
    }
  helper *h = g_steal_pointer(&memory->helper);
  if (h && !ask(h, &asked, -1)) {
    end(h);
    return FC_DECODERS_LOST; /* the memory still has its images, which no other child may see */
  }
  if (!h) {
    memory->kind = asked.kind, memory->pixels = asked.pixels;
    h = engage(d, &asked, memory->fd);
  }
  if (!h) return FC_DECODERS_NONE;
  fc_decoders_result result = listen_to(h, patience, cancel, answer);
  if (result == FC_DECODERS_ANSWERED && answer->kept && !asked.keep) result = FC_DECODERS_LOST; /* a lie */
  if (result != FC_DECODERS_ANSWERED)
    end(h);
  else if (answer->kept)
    memory->helper = h;
  else
    give_back(d, h);
  memory->served += counts_for(request);
  return result;
}

/* ---- all of it ------------------------------------------------------------ */

guint fc_decoders_idle(fc_decoders *d) {
  g_mutex_lock(&d->mutex);
  guint count = g_queue_get_length(&d->idle);
  for (GList *at = d->memory.head; at; at = at->next)
    count += ((const fc_decode_memory *)at->data)->helper != NULL;
  g_mutex_unlock(&d->mutex);
  return count;
}

fc_decoders *fc_decoders_new(const char *program) {
  fc_decoders *d = g_new0(fc_decoders, 1);
  d->program = g_strdup(program);
  d->owner = getpid();
  g_mutex_init(&d->mutex);
  g_queue_init(&d->idle);
  g_queue_init(&d->memory);
  return d;
}

void fc_decoders_free(fc_decoders *d) {
  if (!d) return;
  end_idle(d);
  g_mutex_clear(&d->mutex);
  g_free(d->program);
  g_free(d);
}

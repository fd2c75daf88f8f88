/* SPDX-License-Identifier: MIT */
/*
 * at_load.c - plugins that do what they must not while they are being loaded, each one thing. Compiled once a
 * fixture, whose name says which; their descriptions are right.
 */
#include "tests/plugins/minimal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void crash(void) {
  raise(SIGSEGV);
}

/* With success, which must not pass for one. */
static void exits(void) {
  exit(0);
}

static void hangs(void) {
  while (1) pause();
}

/* Closes every descriptor, the one for answers too, and hangs: the end of the pipe is not the end of the
 * child. */
static void hides(void) {
  for (int fd = 0; fd < 64; fd++) close(fd);
  while (1) pause();
}

/* Through stdio and past it. `spoil` prints when it is being asked. */
static void prints(void) {
  printf("loaded ");
  if (write(STDOUT_FILENO, "at once\n", 8) != 8) _exit(1);
}

/* ---- confined: ends with a status that tells what it could do; 64 is nothing of what it should not ---- */

enum { DUMPS_CORE = 1, RUNS_ON = 2, OUTLIVES = 4, TALKS = 8, IS_DEAF = 16, AS_SHOULD_BE = 64 };

static int is_limited(int what, rlim_t most) {
  struct rlimit limit;
  return getrlimit(what, &limit) == 0 && limit.rlim_max <= most;
}

static int is_nowhere(int fd) {
  struct stat null, there;
  return stat("/dev/null", &null) == 0 && fstat(fd, &there) == 0 && there.st_rdev == null.st_rdev;
}

static void confined(void) {
  int may = AS_SHOULD_BE, signal = 0;
  sigset_t blocked;
  if (!is_limited(RLIMIT_CORE, 0)) may |= DUMPS_CORE;
  if (!is_limited(RLIMIT_CPU, 60)) may |= RUNS_ON;
  if (prctl(PR_GET_PDEATHSIG, &signal) != 0 || signal != SIGKILL) may |= OUTLIVES;
  for (int fd = 0; fd < 3; fd++)
    if (!is_nowhere(fd)) may |= TALKS;
  if (sigprocmask(SIG_BLOCK, NULL, &blocked) != 0 || sigismember(&blocked, SIGTERM)) may |= IS_DEAF;
  _exit(may);
}

/* ---- leaves_child: starts a process that holds a lock on the file $FIXTURE_LOCK, and ends itself ------ */

enum { SECONDS = 60 }; /* until it would end if nobody ended it */

static void hold(int ready) {
  const char *path = getenv("FIXTURE_LOCK");
  for (int other = 3; other < 64; other++) /* the scanner would wait for the end of its pipe */
    if (other != ready) close(other);
  int fd = path ? open(path, O_RDWR) : -1;
  if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(ready, "", 1) != 1) _exit(1);
  alarm(SECONDS);
  for (;;) pause();
}

static void leaves_child(void) {
  int between[2];
  char byte;
  if (pipe(between) != 0) _exit(2);
  if (fork() == 0) hold(between[1]);
  close(between[1]);
  _exit(read(between[0], &byte, 1) == 1 ? 5 : 3);
}

/* ---- all --------------------------------------------------------------- */

#define WAY(name)                                                                                            \
  { #name, name }
static const struct {
  const char *name;
  void (*act)(void);
} ways[] = {WAY(confined), WAY(crash), WAY(exits), WAY(hangs), WAY(hides), WAY(leaves_child), WAY(prints)};

__attribute__((constructor)) static void at_load(void) {
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strcmp(ways[i].name, FIXTURE) == 0) ways[i].act();
}

static void spoil(void) {
  if (strcmp(FIXTURE, "prints") == 0) puts("asked");
}

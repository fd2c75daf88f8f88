/* SPDX-License-Identifier: MIT */
/* Starts a process while it is being loaded, which holds a lock on the file $FIXTURE_LOCK, and ends itself.
 */
#include "tests/plugins/minimal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

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

__attribute__((constructor)) static void at_load(void) {
  int between[2];
  char byte;
  if (pipe(between) != 0) _exit(2);
  if (fork() == 0) hold(between[1]);
  close(between[1]);
  _exit(read(between[0], &byte, 1) == 1 ? 5 : 3);
}

static void spoil(void) {}

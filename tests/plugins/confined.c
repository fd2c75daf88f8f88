/* SPDX-License-Identifier: MIT */
/* Ends the process while it is being loaded, with a status that tells what it could do there: 64 is nothing
 * of what it should not. */
#include "tests/plugins/minimal.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DUMPS_CORE = 1, RUNS_ON = 2, OUTLIVES = 4, TALKS = 8, IS_DEAF = 16, AS_SHOULD_BE = 64 };

static int is_limited(int what, rlim_t most) {
  struct rlimit limit;
  return getrlimit(what, &limit) == 0 && limit.rlim_max <= most;
}

static int is_nowhere(int fd) {
  struct stat null, there;
  return stat("/dev/null", &null) == 0 && fstat(fd, &there) == 0 && there.st_rdev == null.st_rdev;
}

__attribute__((constructor)) static void at_load(void) {
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

static void spoil(void) {}

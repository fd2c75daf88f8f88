/* SPDX-License-Identifier: MIT */
/* Closes every descriptor while it is being loaded, the one for answers too, and hangs: the end of the pipe
 * is not the end of the child. */
#include "tests/plugins/minimal.h"

#include <unistd.h>

__attribute__((constructor)) static void at_load(void) {
  for (int fd = 0; fd < 64; fd++) close(fd);
  while (1) pause();
}

static void spoil(void) {}

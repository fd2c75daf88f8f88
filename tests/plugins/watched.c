/* SPDX-License-Identifier: MIT */
/* Appends its name to the file $FIXTURE_LOG whenever it is loaded, and crashes then if that is
 * $FIXTURE_CRASHES. With UNFIT it describes nothing. */
#include "tests/plugins/minimal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void at_load(void) {
  const char *log = getenv("FIXTURE_LOG"), *crashes = getenv("FIXTURE_CRASHES");
  FILE *file = log ? fopen(log, "a") : NULL;
  if (file) {
    fputs(FIXTURE "\n", file);
    fclose(file);
  }
  if (crashes && strcmp(crashes, FIXTURE) == 0) raise(SIGSEGV);
}

static void spoil(void) {
#ifdef UNFIT
  plugin.n_operators = 0;
#endif
}

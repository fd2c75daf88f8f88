/* SPDX-License-Identifier: MIT */
/*
 * program.c - commands that are programs of their own: the benchmark carries versions
 * of the algorithms that nobody should have to load with the command.
 */
#include "cli/command.h"

#include <errno.h>
#include <unistd.h>

/* Where it is, relative to this program: in a build tree, and installed. */
static const char *const folders[] = {"../tests/bench", FC_PROGRAM_DIR};

exit_status program_run(const char *name, char **argv) {
  g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *here = g_path_get_dirname(self ? self : "");
  for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
    g_autofree char *path = g_build_filename(here, folders[i], name, NULL);
    execv(path, argv);
    if (errno != ENOENT && errno != ENOTDIR) break;
  }
  say_error("%s: cannot be started: %s", name, g_strerror(errno));
  return EXIT_FAILED;
}

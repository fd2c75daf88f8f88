/* SPDX-License-Identifier: MIT */
/*
 * emulate.h - the texts of composed kernels as C++ for the host, compiled and loaded
 * (emulated/cuda_runtime.h).
 */
#ifndef FC_TESTS_EMULATE_H
#define FC_TESTS_EMULATE_H

#include <dlfcn.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

typedef void (*run_fn)(const void *params, const guint *grid, guint threads);

/* All kernels in one file: a namespace each, behind what all of them include. */
static inline char *emulate_source(const char *const *texts) {
  GString *s = g_string_new("#include \"filters/gpu/map.cuh\"\n#include \"filters/gpu/march.cuh\"\n#include "
                            "\"filters/gpu/row.cuh\"\n#include \"filters/gpu/slide.cuh\"\n#include "
                            "\"filters/gpu/series.cuh\"\n#include \"filters/gpu/around.cuh\"\n#include "
                            "\"filters/gpu/column.cuh\"\n#include "
                            "\"filters/gpu/box.cuh\"\n#include \"filters/gpu/few.cuh\"\n#include "
                            "\"tests/device/emulated/blocks.cuh\"\n");
  for (guint i = 0; texts[i]; i++) {
    GString *body = g_string_new(strchr(texts[i], '\n') + 1);
    g_string_replace(body, "extern \"C\" __global__", "static", 0);
    g_string_append_printf(
        s,
        "namespace kernel%u {\n%s\nstatic void enter(const void *p) { kernel(*static_cast<const "
        "Params *>(p)); }\n}\n#line 1 \"entry\"\n"
        "extern \"C\" void run%u(const void *params, const unsigned *grid, unsigned threads) {\n"
        "  kernel%u::Params p;\n  memcpy(static_cast<void *>(&p), params, sizeof p);\n"
        "  run_grid(kernel%u::enter, &p, grid, threads);\n}\n",
        i, body->str, i, i, i);
    g_string_free(body, TRUE);
  }
  return g_string_free(s, FALSE);
}

/* Words of a compiler's command; what is loaded has run0, run1 and so on. */
static inline void *emulate_compile(const char *const *texts, const char *root, char **compiler) {
  g_autofree char *folder = g_dir_make_tmp("fc-emulated-XXXXXX", NULL), *source = emulate_source(texts);
  g_autofree char *file = g_build_filename(folder, "kernels.cpp", NULL),
                  *library = g_build_filename(folder, "kernels.so", NULL);
  g_autofree char *stubs = g_build_filename(root, "tests/device/emulated", NULL);
  g_autoptr(GPtrArray) argv = g_ptr_array_new();
  g_autofree char *said = NULL;
  int status = 0;
  g_assert_true(g_file_set_contents(file, source, -1, NULL));
  for (char **word = compiler; *word; word++) g_ptr_array_add(argv, *word);
  const char *const more[] = {"-std=c++17", "-O1",   "-ffp-contract=off",
                              "-mfma",      "-fPIC", "-shared",
                              "-w",         "-I",    stubs,
                              "-I",         root,    "-o",
                              library,      file,    NULL};
  for (guint i = 0; i < G_N_ELEMENTS(more); i++) g_ptr_array_add(argv, (char *)more[i]);
  if (!g_spawn_sync(NULL, (char **)argv->pdata, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, &said, &status,
                    NULL) ||
      status)
    g_error("%s\n%s", said, file);
  void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!loaded) g_error("%s", dlerror());
  g_unlink(file), g_unlink(library), g_rmdir(folder);
  return loaded;
}

#endif

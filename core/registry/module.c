/* SPDX-License-Identifier: MIT */
/*
 * module.c - see module.h. Errors are the end of a sentence about the file: "is made
 * for plugin ABI 2, this is 1".
 */
#include "core/registry/module.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No later version of the contract will have larger structs; garbage will. */
#define STRUCT_LARGEST 65536u
#define VERSIONS_TRIED 9

gboolean fc_module_check_file(const char *path, GError **error) {
  struct stat st;
  if (!g_str_has_suffix(path, ".so")) return fc_fail(error, FC_INVALID, "does not end in .so");
  if (stat(path, &st) != 0) return fc_fail(error, FC_IO, "cannot be read: %s", g_strerror(errno));
  /* Opening a pipe would block. */
  if (!S_ISREG(st.st_mode)) return fc_fail(error, FC_INVALID, "is not a regular file");
  if (access(path, R_OK) != 0) return fc_fail(error, FC_IO, "cannot be read: %s", g_strerror(errno));
  return TRUE;
}

gboolean fc_module_check_sanitizer(const char *path, GError **error) {
  static const struct sanitizer {
    const char *symbol, *name, *library;
  } sanitizers[] = {{"__asan_init", "AddressSanitizer", "libasan.so"},
                    {"__tsan_init", "ThreadSanitizer", "libtsan.so"}};
  g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);
  if (!file) return TRUE; /* the error is reported when it is opened */
  for (guint i = 0; i < G_N_ELEMENTS(sanitizers); i++) {
    const struct sanitizer *s = &sanitizers[i];
    if (dlsym(RTLD_DEFAULT, s->symbol) ||
        !memmem(g_mapped_file_get_contents(file), g_mapped_file_get_length(file), s->symbol,
                strlen(s->symbol)))
      continue;
    return fc_fail(error, FC_IO,
                   "is built with %s, whose runtime must be loaded ahead: run with LD_PRELOAD=\"$(cc "
                   "-print-file-name=%s)\", or build it without",
                   s->name, s->library);
  }
  return TRUE;
}

/* The loader's message repeats the path, which our message has already. */
static gboolean fail_open(const char *path, GError **error) {
  const char *why = dlerror();
  if (!why) why = "no reason given";
  gsize length = strlen(path);
  if (strncmp(why, path, length) == 0 && why[length] == ':') why += length + 1;
  while (*why == ' ') why++;
  return fc_fail(error, FC_IO, "cannot be loaded: %s", why);
}

void *fc_module_open(const char *path, gboolean trusted, GError **error) {
  int when = trusted ? RTLD_LAZY : RTLD_NOW | FC_MODULE_OWN_NAMES;
  void *module = dlopen(path, when | RTLD_LOCAL | RTLD_NODELETE);
  if (!module) fail_open(path, error);
  return module;
}

static gboolean fail_entry(void *module, GError **error) {
  for (int version = 1; version <= VERSIONS_TRIED; version++) {
    char name[32];
    g_snprintf(name, sizeof name, "fc_plugin_entry_v%d", version);
    if (version != FC_PLUGIN_ABI && dlsym(module, name))
      return fc_fail(error, FC_UNSUPPORTED, "is made for plugin ABI %d, this is %d", version, FC_PLUGIN_ABI);
  }
  return fc_fail(error, FC_INVALID, "is not a filterchain plugin: it has no symbol %s", FC_PLUGIN_ENTRY_NAME);
}

const fc_plugin *fc_module_ask(void *module, GError **error) {
  void *symbol = dlsym(module, FC_PLUGIN_ENTRY_NAME);
  fc_plugin_entry_fn entry;
  if (!symbol) {
    fail_entry(module, error);
    return NULL;
  }
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from an object pointer to a function pointer */
  const fc_plugin *plugin = entry();
  if (!plugin)
    fc_fail(error, FC_INVALID, "describes nothing: its entry returned NULL");
  else if (plugin->size < G_STRUCT_OFFSET(fc_plugin, id) || plugin->size > STRUCT_LARGEST)
    fc_fail(error, FC_INVALID, "has an fc_plugin of impossible size %u", plugin->size);
  else if (plugin->abi != FC_PLUGIN_ABI)
    fc_fail(error, FC_UNSUPPORTED, "is made for plugin ABI %u, this is %d", plugin->abi, FC_PLUGIN_ABI);
  else
    return plugin;
  return NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * registry.c - see registry.h. All plugin files stand in one array in search order and
 * are opened when they are needed. Which definition of a name counts depends on that
 * order alone, never on what has been opened so far or is remembered of earlier runs: NAME.so
 * in the first folder that has one and where it defines NAME, else the first file that does.
 */
#include "core/registry/registry.h"

#include "core/registry/descriptor.h"
#include "core/registry/module.h"
#include "core/registry/plugin_cache.h"
#include "core/registry/scanner.h"
#include "core/base/suggest.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FC_PLUGIN_DIR
#define FC_PLUGIN_DIR "/usr/local/lib/filterchain/plugins"
#endif
#define SCAN_PROGRAM    "filterchain-scan"
#define BUILD_TREE_MARK "filterchain-build-tree"

typedef enum file_state { UNSEEN, ACCEPTED, REJECTED } file_state;

typedef struct plugin_file {
  char *path;
  gboolean trusted; /* of our own installation: opened without the scanner */
  gboolean extra;   /* given by path, not found in a folder */
  file_state state;
  char *reason;      /* why REJECTED */
  char *unfit;       /* which operators of an ACCEPTED one are not fit, and why; or NULL */
  char *shadowed;    /* what of an ACCEPTED one is not used; made on request */
  fc_plugin *plugin; /* of an ACCEPTED one */
} plugin_file;

struct fc_registry {
  GMutex mutex;
  GPtrArray *dirs;  /* of char *, in search order; the built-in one comes last */
  GPtrArray *files; /* of plugin_file *, in search order, once `listed` */
  gboolean listed;
  char *builtin;          /* the built-in folder, canonical */
  char *helper;           /* the scanner's program */
  char *cache_folder;     /* NULL: nothing is remembered from run to run */
  fc_plugin_cache *cache; /* read when a file from outside our installation is first met */
};

/* ---- where we are ------------------------------------------------------ */

/* The canonical path, or a copy of the path where there is no such file. */
static char *canonical(const char *path) {
  char *real = realpath(path, NULL);
  char *copy = real ? g_strdup(real) : g_canonicalize_filename(path, NULL);
  free(real);
  return copy;
}

/* The folder of the object that holds this code: the library, or a program that the
 * engine is linked into. */
static char *own_folder(void) {
  static const char anchor = 0;
  Dl_info info;
  /* A program found through $PATH is known to the loader by its bare name. */
  gboolean known = dladdr(&anchor, &info) && info.dli_fname && strchr(info.dli_fname, '/');
  char *file = canonical(known ? info.dli_fname : "/proc/self/exe");
  char *folder = g_path_get_dirname(file);
  g_free(file);
  return folder;
}

/* Built-in plugins and the scanner's program: in a build tree, beside the library
 * where it is installed, or where it was configured to be. */
static void find_home(fc_registry *r) {
  char *home = own_folder();
  char *mark = g_build_filename(home, "plugins", BUILD_TREE_MARK, NULL);
  char *beside = g_build_filename(home, "filterchain", "plugins", NULL);
  char *folder;
  if (g_file_test(mark, G_FILE_TEST_EXISTS)) {
    folder = g_build_filename(home, "plugins", NULL);
    r->helper = g_build_filename(home, "core", SCAN_PROGRAM, NULL);
  } else {
    folder = g_strdup(g_file_test(beside, G_FILE_TEST_IS_DIR) ? beside : FC_PLUGIN_DIR);
    r->helper = g_build_filename(folder, "..", SCAN_PROGRAM, NULL);
  }
  r->builtin = canonical(folder);
  g_free(folder);
  g_free(beside);
  g_free(mark);
  g_free(home);
}

char *fc_registry_program(const fc_registry *r, const char *folder, const char *name) {
  g_autofree char *mark = g_build_filename(r->builtin, BUILD_TREE_MARK, NULL);
  gboolean build_tree = g_file_test(mark, G_FILE_TEST_EXISTS);
  return g_build_filename(r->builtin, "..", build_tree ? folder : ".", name, NULL);
}

void fc_registry_set_home(fc_registry *r, const char *builtin, const char *helper) {
  g_free(r->builtin);
  g_free(r->helper);
  r->builtin = canonical(builtin);
  r->helper = g_strdup(helper);
}

void fc_registry_set_cache(fc_registry *r, const char *folder) {
  g_free(r->cache_folder);
  r->cache_folder = g_strdup(folder);
}

/* ---- files ------------------------------------------------------------- */

static plugin_file *add_file(fc_registry *r, const char *path, gboolean trusted, gboolean extra) {
  plugin_file *file = g_new0(plugin_file, 1);
  file->path = g_strdup(path);
  file->trusted = trusted;
  file->extra = extra;
  g_ptr_array_add(r->files, file);
  return file;
}

static void free_file(gpointer data) {
  plugin_file *file = data;
  fc_descriptor_free(file->plugin);
  g_free(file->path);
  g_free(file->reason);
  g_free(file->unfit);
  g_free(file->shadowed);
  g_free(file);
}

static gint compare_names(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The plugins of one folder in the order of their names, whatever the file system's. */
static void list_dir(fc_registry *r, const char *dir) {
  GDir *open = g_dir_open(dir, 0, NULL);
  if (!open) return;
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  for (const char *name = g_dir_read_name(open); name; name = g_dir_read_name(open))
    if (g_str_has_suffix(name, ".so")) g_ptr_array_add(names, g_strdup(name));
  g_dir_close(open);
  g_ptr_array_sort(names, compare_names);
  gboolean trusted = strcmp(dir, r->builtin) == 0;
  for (guint i = 0; i < names->len; i++) {
    char *path = g_build_filename(dir, names->pdata[i], NULL);
    add_file(r, path, trusted, FALSE);
    g_free(path);
  }
  g_ptr_array_free(names, TRUE);
}

static void add_dir(GPtrArray *dirs, const char *dir) {
  char *path = canonical(dir);
  for (guint i = 0; i < dirs->len; i++)
    if (strcmp(dirs->pdata[i], path) == 0) {
      g_free(path);
      return;
    }
  g_ptr_array_add(dirs, path);
}

/* Once, at the first look-up: which plugin files there are. */
static void list_files(fc_registry *r) {
  if (r->listed) return;
  r->listed = TRUE;
  char **more =
      g_strsplit(g_getenv("FILTERCHAIN_PLUGIN_PATH") ? g_getenv("FILTERCHAIN_PLUGIN_PATH") : "", ":", -1);
  for (guint i = 0; more[i]; i++)
    if (*more[i]) add_dir(r->dirs, more[i]);
  g_strfreev(more);
  add_dir(r->dirs, r->builtin);
  for (guint i = 0; i < r->dirs->len; i++) list_dir(r, r->dirs->pdata[i]);
}

/* ---- opening ----------------------------------------------------------- */

static fc_plugin *look_into(fc_registry *r, plugin_file *file, GError **error) {
  if (!fc_module_check_file(file->path, error)) return NULL;
  if (!file->trusted && !fc_scan_plugin(r->helper, file->path, error)) return NULL;
  GModule *module = fc_module_open(file->path, file->trusted, error);
  if (!module) return NULL;
  const fc_plugin *plugin = fc_module_ask(module, error);
  return plugin ? fc_descriptor_copy(plugin, &file->unfit, error) : NULL;
}

/* Our own files are not worth a look into the cache, and those given by path are opened anyway. */
static fc_plugin_cache *cache_for(fc_registry *r, const plugin_file *file) {
  if (file->trusted || file->extra) return NULL;
  if (!r->cache) r->cache = fc_plugin_cache_open(r->cache_folder, r->helper);
  return r->cache;
}

/* A file that is unfit by what it says stays so; one that could not be loaded may be another day. */
static void remember(fc_registry *r, const plugin_file *file, const fc_plugin_mark *mark,
                     const GError *error) {
  fc_plugin_cache *cache = cache_for(r, file);
  if (!cache) return;
  if (file->plugin || g_error_matches(error, FC_ERROR, FC_INVALID))
    fc_plugin_cache_note(cache, file->path, mark, file->plugin);
  else
    fc_plugin_cache_forget(cache, file->path);
}

/* The file's plugin, opened now unless it was before; NULL when it is rejected. */
static const fc_plugin *ensure_open(fc_registry *r, plugin_file *file) {
  if (file->state == UNSEEN) {
    GError *error = NULL;
    fc_plugin_mark mark = fc_plugin_mark_of(file->path);
    file->plugin = look_into(r, file, &error);
    file->state = file->plugin ? ACCEPTED : REJECTED;
    if (error) file->reason = g_strdup(error->message);
    remember(r, file, &mark, error);
    g_clear_error(&error);
  }
  return file->plugin;
}

static void open_all(fc_registry *r) {
  for (guint i = 0; i < r->files->len; i++) ensure_open(r, r->files->pdata[i]);
}

/* Whether a file that has not been opened need not be, looking for this name. */
static gboolean is_known_to_lack(fc_registry *r, const plugin_file *file, const char *name) {
  fc_plugin_cache *cache = file->state == UNSEEN ? cache_for(r, file) : NULL;
  return cache && fc_plugin_cache_lacks(cache, file->path, name);
}

static const fc_operator *operator_in(const fc_plugin *plugin, const char *name) {
  for (guint i = 0; plugin && i < plugin->n_operators; i++)
    if (strcmp(plugin->operators[i]->name, name) == 0) return plugin->operators[i];
  return NULL;
}

static gboolean is_named(const plugin_file *file, const char *name) {
  const char *base = strrchr(file->path, '/');
  base = base ? base + 1 : file->path;
  gsize length = strlen(name);
  return !file->extra && strncmp(base, name, length) == 0 && strcmp(base + length, ".so") == 0;
}

/* The definition of a name that counts, and its file. */
static const fc_operator *winner(fc_registry *r, const char *name, const plugin_file **from) {
  for (int pass = 0; pass < 2; pass++)
    for (guint i = 0; i < r->files->len; i++) {
      plugin_file *file = r->files->pdata[i];
      if ((pass == 0 && !is_named(file, name)) || is_known_to_lack(r, file, name)) continue;
      const fc_operator *op = operator_in(ensure_open(r, file), name);
      if (!op) continue;
      *from = file;
      return op;
    }
  return NULL;
}

/* ---- all of them ------------------------------------------------------- */

static gint compare_operators(gconstpointer a, gconstpointer b) {
  const fc_operator *const *p = a, *const *q = b;
  return strcmp((*p)->name, (*q)->name);
}

/* Sorted, those that count only; the caller frees the array. */
static GPtrArray *all_operators(fc_registry *r) {
  GPtrArray *all = g_ptr_array_new();
  open_all(r);
  for (guint i = 0; i < r->files->len; i++) {
    const fc_plugin *plugin = ((const plugin_file *)r->files->pdata[i])->plugin;
    for (guint j = 0; plugin && j < plugin->n_operators; j++) {
      const plugin_file *from;
      const fc_operator *op = plugin->operators[j];
      if (winner(r, op->name, &from) == op) g_ptr_array_add(all, (gpointer)op);
    }
  }
  g_ptr_array_sort(all, compare_operators);
  return all;
}

/* Says of an accepted file which of its operators are unfit, and which others define before it. */
static void note_shadowed(fc_registry *r, plugin_file *file) {
  GString *note = g_string_new(file->unfit);
  for (guint j = 0; file->plugin && j < file->plugin->n_operators; j++) {
    const fc_operator *op = file->plugin->operators[j];
    const plugin_file *from;
    if (winner(r, op->name, &from) == op) continue;
    g_string_append_printf(note, "%soperator \"%s\" is already defined by %s", note->len ? "; " : "",
                           op->name, from->path);
  }
  g_free(file->shadowed);
  file->shadowed = g_string_free(note, note->len == 0);
}

/* ---- not found --------------------------------------------------------- */

/* A plugin of that name that is there but unfit is the likely cause. */
static const plugin_file *rejected_namesake(const fc_registry *r, const char *name) {
  for (guint i = 0; i < r->files->len; i++) {
    const plugin_file *file = r->files->pdata[i];
    if (file->state == REJECTED && is_named(file, name)) return file;
  }
  return NULL;
}

static void fail_find(fc_registry *r, const char *name, GError **error) {
  GPtrArray *all = all_operators(r);
  const char **names = g_new0(const char *, all->len + 1);
  for (guint i = 0; i < all->len; i++) names[i] = ((const fc_operator *)all->pdata[i])->name;
  const plugin_file *namesake = rejected_namesake(r, name);
  char *hint = fc_did_you_mean(name, names), *shown = g_strndup(name, 64);
  if (namesake)
    fc_fail(error, FC_UNSUPPORTED, "no operator \"%s\": %s %s", shown, namesake->path, namesake->reason);
  else if (all->len == 0)
    fc_fail(error, FC_UNSUPPORTED, "no operator \"%s\": there are no plugins in %s", shown, r->builtin);
  else
    fc_fail(error, FC_UNSUPPORTED, "no operator \"%s\"%s", shown,
            *hint ? hint : " (`list` shows what there is)");
  g_free(hint);
  g_free(shown);
  g_free(names);
  g_ptr_array_free(all, TRUE);
}

/* ---- the public face --------------------------------------------------- */

/* Ends what the mutex guards, and keeps what has been learned. */
static void leave(fc_registry *r) {
  if (r->cache) fc_plugin_cache_save(r->cache);
  g_mutex_unlock(&r->mutex);
}

fc_registry *fc_registry_new(void) {
  fc_registry *r = g_new0(fc_registry, 1);
  g_mutex_init(&r->mutex);
  r->dirs = g_ptr_array_new_with_free_func(g_free);
  r->files = g_ptr_array_new_with_free_func(free_file);
  r->cache_folder = fc_plugin_cache_folder();
  find_home(r);
  return r;
}

void fc_registry_free(fc_registry *r) {
  if (!r) return;
  fc_plugin_cache_free(r->cache);
  g_free(r->cache_folder);
  g_ptr_array_free(r->files, TRUE);
  g_ptr_array_free(r->dirs, TRUE);
  g_free(r->builtin);
  g_free(r->helper);
  g_mutex_clear(&r->mutex);
  g_free(r);
}

void fc_registry_add_dir(fc_registry *r, const char *dir) {
  g_mutex_lock(&r->mutex);
  add_dir(r->dirs, dir);
  g_mutex_unlock(&r->mutex);
}

const fc_operator *fc_registry_find(fc_registry *r, const char *name, GError **error) {
  const plugin_file *from;
  g_mutex_lock(&r->mutex);
  list_files(r);
  /* What cannot be a name is in no plugin, so none need be opened to know. */
  const fc_operator *op = fc_is_name(name) ? winner(r, name, &from) : NULL;
  /* That there is none is not said on the cache's word. */
  if (!op && fc_is_name(name)) {
    open_all(r);
    op = winner(r, name, &from);
  }
  if (!op) fail_find(r, name, error);
  leave(r);
  return op;
}

const fc_operator **fc_registry_operators(fc_registry *r, gsize *count) {
  g_mutex_lock(&r->mutex);
  list_files(r);
  GPtrArray *all = all_operators(r);
  leave(r);
  if (count) *count = all->len;
  g_ptr_array_add(all, NULL);
  return (const fc_operator **)g_ptr_array_free(all, FALSE);
}

fc_plugin_info *fc_registry_plugins(fc_registry *r, gsize *count) {
  g_mutex_lock(&r->mutex);
  list_files(r);
  open_all(r);
  fc_plugin_info *infos = g_new0(fc_plugin_info, r->files->len + 1);
  for (guint i = 0; i < r->files->len; i++) {
    plugin_file *file = r->files->pdata[i];
    const fc_plugin *plugin = file->plugin;
    /* A note handed out before must stay valid, and what shadows does not change:
     * a file opened by path is searched last. */
    if (plugin && !file->shadowed) note_shadowed(r, file);
    infos[i].path = file->path;
    infos[i].id = plugin ? plugin->id : NULL;
    infos[i].version = plugin ? plugin->version : NULL;
    infos[i].reason = plugin ? file->shadowed : file->reason;
  }
  if (count) *count = r->files->len;
  leave(r);
  return infos;
}

static plugin_file *file_of(const fc_registry *r, const char *path) {
  for (guint i = 0; i < r->files->len; i++) {
    plugin_file *file = r->files->pdata[i];
    if (strcmp(file->path, path) == 0) return file;
  }
  return NULL;
}

const fc_plugin *fc_registry_open(fc_registry *r, const char *path, GError **error) {
  char *full = canonical(path), *dir = g_path_get_dirname(full);
  g_mutex_lock(&r->mutex);
  list_files(r);
  plugin_file *file = file_of(r, full);
  if (!file) file = add_file(r, full, strcmp(dir, r->builtin) == 0, TRUE);
  const fc_plugin *plugin = ensure_open(r, file);
  if (!plugin) fc_fail(error, FC_INVALID, "%s %s", path, file->reason);
  g_mutex_unlock(&r->mutex);
  g_free(dir);
  g_free(full);
  return plugin;
}

const fc_plugin *fc_registry_plugin_of(fc_registry *r, const fc_operator *op, const char **path) {
  const fc_plugin *found = NULL;
  g_mutex_lock(&r->mutex);
  for (guint i = 0; i < r->files->len && !found; i++) {
    const plugin_file *file = r->files->pdata[i];
    for (guint j = 0; file->plugin && j < file->plugin->n_operators; j++)
      if (file->plugin->operators[j] == op) {
        found = file->plugin;
        if (path) *path = file->path;
      }
  }
  g_mutex_unlock(&r->mutex);
  return found;
}

/* SPDX-License-Identifier: MIT */
/*
 * registry.c - see registry.h. All plugin files are in one array in search order and are opened when needed.
 * Which definition of a name is used depends on that order only, not on what has been opened or cached so
 * far.
 *
 * The mutex is not held while a file is being checked, which may take as long as the scanner's timeout: other
 * threads can look up operators meanwhile, and only threads that need that file wait for it.
 */
#include "core/registry/registry.h"

#include "core/base/patience.h"
#include "core/base/private_files.h"
#include "core/base/suggest.h"
#include "core/registry/descriptor.h"
#include "core/registry/module.h"
#include "core/registry/plugin_cache.h"
#include "core/registry/scanner.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FC_PLUGIN_DIR
#define FC_PLUGIN_DIR "/usr/local/lib/filterchain/plugins"
#endif
#define SCAN_PROGRAM    "filterchain-scan"
#define BUILD_TREE_MARK "filterchain-build-tree"

/* A file that takes longer to open slows down every run, so the user is told, unless it is ours: then the
 * machine is busy. */
#define PATIENCE G_TIME_SPAN_SECOND

typedef enum file_state { UNSEEN, OPENING, ACCEPTED, REJECTED } file_state;

typedef struct plugin_file {
  char *path;
  gboolean trusted; /* in our own installation: opened without the scanner */
  gboolean extra;   /* given by path, not found in a folder */
  file_state state;
  char *reason;      /* why it is REJECTED */
  GStrv unfit;       /* `operator "x": what is wrong with it`, for each invalid operator; NULL: none */
  char *unused;      /* which operators of an ACCEPTED file are not used; made on request */
  fc_plugin *plugin; /* of an ACCEPTED one */
} plugin_file;

struct fc_registry {
  pthread_mutex_t mutex;
  pthread_cond_t opened; /* a file is no longer OPENING */
  GPtrArray *dirs;       /* of char *, in search order; the built-in one comes last */
  GPtrArray *files;      /* of plugin_file *, in search order, once `listed` */
  gboolean listed;
  char *builtin;          /* the built-in folder, canonical */
  char *helper;           /* the scanner's program */
  char *cache_folder;     /* NULL: no cache */
  fc_plugin_cache *cache; /* read when a file outside our installation is first met */
  fc_log_fn log;
  void *log_data;
  GHashTable *told;   /* of char *: built-in operators whose replacement has been reported */
  GPtrArray *pending; /* of char *: warnings to log when the mutex is released */
};

/* ---- our own files ----------------------------------------------------- */

/* The canonical path, or a copy of the path if there is no such file. */
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
  g_autofree char *file = canonical(known ? info.dli_fname : "/proc/self/exe");
  return g_path_get_dirname(file);
}

/* Finds the built-in plugins and the scanner's program: in a build tree, beside the installed library, or
 * where they were configured to be. */
static void find_home(fc_registry *r) {
  g_autofree char *home = own_folder(), *in_tree = g_build_filename(home, "plugins", NULL);
  g_autofree char *mark = g_build_filename(in_tree, BUILD_TREE_MARK, NULL);
  g_autofree char *beside = g_build_filename(home, "filterchain", "plugins", NULL);
  if (g_file_test(mark, G_FILE_TEST_EXISTS)) {
    r->builtin = canonical(in_tree);
    r->helper = g_build_filename(home, "core", SCAN_PROGRAM, NULL);
    return;
  }
  const char *folder = g_file_test(beside, G_FILE_TEST_IS_DIR) ? beside : FC_PLUGIN_DIR;
  r->builtin = canonical(folder);
  r->helper = g_build_filename(folder, "..", SCAN_PROGRAM, NULL);
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
  g_strfreev(file->unfit);
  g_free(file->unused);
  g_free(file);
}

static gint compare_names(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The plugins of one folder, sorted by name: the file system's order is arbitrary. */
static void list_dir(fc_registry *r, const char *dir) {
  GDir *open = g_dir_open(dir, 0, NULL);
  if (!open) return;
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  for (const char *name = g_dir_read_name(open); name; name = g_dir_read_name(open))
    if (g_str_has_suffix(name, ".so")) g_ptr_array_add(names, g_strdup(name));
  g_dir_close(open);
  g_ptr_array_sort(names, compare_names);
  gboolean trusted = strcmp(dir, r->builtin) == 0;
  for (guint i = 0; i < names->len; i++) {
    g_autofree char *path = g_build_filename(dir, names->pdata[i], NULL);
    add_file(r, path, trusted, FALSE);
  }
}

static void add_dir(GPtrArray *dirs, const char *dir) {
  g_autofree char *path = canonical(dir);
  if (!g_ptr_array_find_with_equal_func(dirs, path, g_str_equal, NULL))
    g_ptr_array_add(dirs, g_steal_pointer(&path));
}

/* At the first look-up: lists the plugin files. */
static void list_files(fc_registry *r) {
  if (r->listed) return;
  r->listed = TRUE;
  const char *path = secure_getenv("FILTERCHAIN_PLUGIN_PATH"); /* not where others' rights are lent */
  g_auto(GStrv) more = g_strsplit(path ? path : "", ":", -1);
  for (guint i = 0; more[i]; i++)
    if (*more[i]) add_dir(r->dirs, more[i]);
  add_dir(r->dirs, r->builtin);
  for (guint i = 0; i < r->dirs->len; i++) list_dir(r, r->dirs->pdata[i]);
}

/* ---- opening ----------------------------------------------------------- */

/* The result of checking a file. */
typedef struct finding {
  fc_plugin *plugin; /* NULL: rejected */
  GStrv unfit;
  GError *error;
} finding;

static void look_into(const fc_registry *r, const char *path, gboolean trusted, finding *f) {
  if (!fc_module_check_file(path, &f->error)) return;
  if (!trusted && !fc_scan_plugin(r->helper, path, &f->error)) return;
  void *module = fc_module_open(path, trusted, &f->error);
  const fc_plugin *plugin = module ? fc_module_ask(module, &f->error) : NULL;
  if (plugin) f->plugin = fc_descriptor_copy(plugin, &f->unfit, &f->error);
}

/* The cache is not used for our own files, which open quickly, nor for files given by path, which are
 * opened anyway. */
static fc_plugin_cache *cache_for(fc_registry *r, const plugin_file *file) {
  if (file->trusted || file->extra) return NULL;
  if (!r->cache) r->cache = fc_plugin_cache_open(r->cache_folder, r->helper);
  return r->cache;
}

/* A file rejected for its content stays rejected; one that could not be loaded may load another day. */
static void remember(fc_registry *r, const plugin_file *file, const fc_plugin_mark *mark,
                     const GError *error) {
  fc_plugin_cache *cache = cache_for(r, file);
  if (!cache) return;
  if (file->plugin || g_error_matches(error, FC_ERROR, FC_INVALID))
    fc_plugin_cache_note(cache, file->path, mark, file->plugin);
  else
    fc_plugin_cache_forget(cache, file->path);
}

static void warn_of_delay(fc_registry *r, const plugin_file *file, gint64 taken) {
  if (taken < PATIENCE || file->extra || file->trusted) return;
  g_ptr_array_add(r->pending, g_strdup_printf("waited for %s, which %s", file->path,
                                              file->reason ? file->reason : "took long to open"));
}

/* Releases the mutex while the file is being checked. */
static void open_now(fc_registry *r, plugin_file *file) {
  finding f = {0};
  file->state = OPENING;
  pthread_mutex_unlock(&r->mutex);
  gint64 begun = g_get_monotonic_time();
  fc_plugin_mark mark = fc_plugin_mark_of(file->path);
  look_into(r, file->path, file->trusted, &f);
  gint64 taken = g_get_monotonic_time() - begun;
  pthread_mutex_lock(&r->mutex);
  file->plugin = f.plugin;
  file->unfit = f.unfit;
  file->reason = f.error ? g_strdup(f.error->message) : NULL;
  file->state = file->plugin ? ACCEPTED : REJECTED;
  remember(r, file, &mark, f.error);
  warn_of_delay(r, file, taken);
  g_clear_error(&f.error);
  pthread_cond_broadcast(&r->opened);
}

/* The file's plugin, opened now unless it was before; NULL when it is rejected. Another thread may take
 * the mutex meanwhile. */
static const fc_plugin *ensure_open(fc_registry *r, plugin_file *file) {
  if (file->state == UNSEEN) open_now(r, file);
  while (file->state == OPENING) fc_cond_wait(&r->opened, &r->mutex);
  return file->plugin;
}

static void open_all(fc_registry *r) {
  for (guint i = 0; i < r->files->len; i++) ensure_open(r, r->files->pdata[i]);
}

/* ---- search order ------------------------------------------------------ */

static gboolean is_named(const plugin_file *file, const char *name) {
  const char *base = strrchr(file->path, '/');
  base = base ? base + 1 : file->path;
  gsize length = strlen(name);
  return !file->extra && strncmp(base, name, length) == 0 && strcmp(base + length, ".so") == 0;
}

/* Whether an unopened file need not be opened to look for this name. */
static gboolean is_known_to_lack(fc_registry *r, const plugin_file *file, const char *name) {
  gboolean open = file->state == ACCEPTED || file->state == REJECTED;
  fc_plugin_cache *cache = open ? NULL : cache_for(r, file);
  return cache && fc_plugin_cache_lacks(cache, file->path, name);
}

static const fc_operator *operator_in(const fc_plugin *plugin, const char *name) {
  for (guint i = 0; plugin && i < plugin->n_operators; i++)
    if (strcmp(plugin->operators[i]->name, name) == 0) return plugin->operators[i];
  return NULL;
}

/* The file of our own installation that is named after the operator, as all of ours are; or NULL. */
static plugin_file *our_own(const fc_registry *r, const char *name) {
  for (guint i = 0; i < r->files->len; i++) {
    plugin_file *file = r->files->pdata[i];
    if (file->trusted && is_named(file, name)) return file;
  }
  return NULL;
}

static const fc_operator *definition_in(fc_registry *r, plugin_file *file, const char *id, const char *name) {
  const fc_plugin *plugin = ensure_open(r, file);
  return plugin && (!id || strcmp(plugin->id, id) == 0) ? operator_in(plugin, name) : NULL;
}

/* The definition of a name that is used - among the plugins of that id, if it is not NULL - and its file.
 * In the built-in folder NAME.so is tried first, so that the others there need not be opened. */
static const fc_operator *winner(fc_registry *r, const char *id, const char *name, const plugin_file **from) {
  plugin_file *own = our_own(r, name);
  for (guint i = 0; i < r->files->len; i++) {
    plugin_file *file = r->files->pdata[i];
    const fc_operator *op = NULL;
    if (file->trusted && own) {
      if ((op = definition_in(r, own, id, name))) file = own;
      own = NULL;
    }
    if (!op && !is_known_to_lack(r, file, name)) op = definition_in(r, file, id, name);
    if (!op) continue;
    *from = file;
    return op;
  }
  return NULL;
}

/* Logged once: the user may not know that one of the plugin folders redefines the operator. */
static void warn_of_replacement(fc_registry *r, const char *name, const plugin_file *from) {
  if (from->trusted || !our_own(r, name) || !g_hash_table_add(r->told, g_strdup(name))) return;
  g_ptr_array_add(r->pending,
                  g_strdup_printf("operator \"%s\" is taken from %s (%s) in place of the built-in one", name,
                                  from->path, from->plugin->id));
}

/* ---- listing ----------------------------------------------------------- */

static gint compare_operators(gconstpointer a, gconstpointer b) {
  const fc_operator *const *p = a, *const *q = b;
  return strcmp((*p)->name, (*q)->name);
}

/* Sorted, without overridden definitions; the caller frees the array. */
static GPtrArray *all_operators(fc_registry *r) {
  GPtrArray *all = g_ptr_array_new();
  open_all(r);
  for (guint i = 0; i < r->files->len; i++) {
    const fc_plugin *plugin = ((const plugin_file *)r->files->pdata[i])->plugin;
    for (guint j = 0; plugin && j < plugin->n_operators; j++) {
      const plugin_file *from;
      const fc_operator *op = plugin->operators[j];
      if (winner(r, NULL, op->name, &from) == op) g_ptr_array_add(all, (gpointer)op);
    }
  }
  g_ptr_array_sort(all, compare_operators);
  return all;
}

/* Which operators of an accepted file are not used, and why; NULL: none. g_free. */
static char *unused_in(fc_registry *r, const plugin_file *file) {
  g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; file->unfit && file->unfit[i]; i++) g_ptr_array_add(notes, g_strdup(file->unfit[i]));
  for (guint j = 0; file->plugin && j < file->plugin->n_operators; j++) {
    const fc_operator *op = file->plugin->operators[j];
    const plugin_file *from = NULL;
    if (winner(r, NULL, op->name, &from) != op && from)
      g_ptr_array_add(
          notes, g_strdup_printf("operator \"%s\" is not used: %s defines it first", op->name, from->path));
  }
  g_ptr_array_add(notes, NULL);
  return notes->len > 1 ? g_strjoinv("; ", (char **)notes->pdata) : NULL;
}

/* ---- not found --------------------------------------------------------- */

/* "PATH operator "x": what is wrong with it" for a plugin that has it, or "PATH crashed ..." for a file of
 * that name; NULL if there is neither. g_free. */
static char *why_unfit(const fc_registry *r, const char *name) {
  g_autofree char *begin = g_strdup_printf("operator \"%s\": ", name);
  for (guint i = 0; i < r->files->len; i++) {
    const plugin_file *file = r->files->pdata[i];
    if (file->reason && (is_named(file, name) || strstr(file->reason, begin)))
      return g_strdup_printf("%s %s", file->path, file->reason);
    for (guint j = 0; file->unfit && file->unfit[j]; j++)
      if (g_str_has_prefix(file->unfit[j], begin))
        return g_strdup_printf("%s %s", file->path, file->unfit[j]);
  }
  return NULL;
}

/* The ids of the plugins that define an operator: "a, b"; NULL: none. g_free. */
static char *ids_with(const fc_registry *r, const char *name) {
  GString *ids = g_string_new(NULL);
  for (guint i = 0; i < r->files->len; i++) {
    const fc_plugin *plugin = ((const plugin_file *)r->files->pdata[i])->plugin;
    if (operator_in(plugin, name)) g_string_append_printf(ids, "%s%s", ids->len ? ", " : "", plugin->id);
  }
  return g_string_free(ids, ids->len == 0);
}

static void fail_qualified(const fc_registry *r, const char *full, const char *name, GError **error) {
  g_autofree char *ids = ids_with(r, name);
  if (ids)
    fc_fail(error, FC_UNSUPPORTED, "no operator \"%s\": \"%s\" is defined by %s", full, name, ids);
  else
    fc_fail(error, FC_UNSUPPORTED, "no operator \"%s\" (filterchain list shows all)", full);
}

/* Whether there is a file whose operators are not known. */
static gboolean has_rejected(const fc_registry *r) {
  for (guint i = 0; i < r->files->len; i++)
    if (!((const plugin_file *)r->files->pdata[i])->plugin) return TRUE;
  return FALSE;
}

/* ---- what an unknown name may stand for -------------------------------- */

/* What to write for a word: "resample:RATE" for rate, its main parameter, "biquad:highpass" for one of its
 * choices, and the stage of a keyword; NULL: nothing of the operator. g_free. */
static char *stage_for(const fc_operator *op, const char *word) {
  for (guint k = 0; k < op->n_params; k++) {
    const fc_param *p = op->params[k];
    if (!(p->flags & FC_PARAM_MAIN)) continue;
    g_autofree char *upper = g_ascii_strup(p->name, -1);
    if (strcmp(p->name, word) == 0 && p->type != FC_ENUM) return g_strdup_printf("%s:%s", op->name, upper);
    for (const fc_choice *const *c = p->choices; c && *c; c++)
      if ((*c)->value != FC_REFUSED && strcmp((*c)->name, word) == 0)
        return g_strdup_printf("%s:%s", op->name, word);
  }
  for (const char *const *k = op->keywords; *k; k++)
    if (g_str_has_prefix(*k, word) && (*k)[strlen(word)] == '=') return g_strdup(*k + strlen(word) + 1);
  return NULL;
}

static gboolean has_word(const char *text, const char *word) {
  const gsize length = strlen(word);
  for (const char *at = text; (at = strcasestr(at, word)); at++)
    if ((at == text || !g_ascii_isalpha(at[-1])) && !g_ascii_isalpha(at[length])) return length > 2;
  return FALSE;
}

/* ": did you mean "fir:lowpass=3k"?", ": see gauss (blur images by a Gaussian)": the stages for a word, else
 * operators with that keyword, else with that word in their summaries; NULL: none, or too many. g_free. */
static char *hint_for(const GPtrArray *all, const char *word) {
  enum { STAGE, KEYWORD, SUMMARY, KINDS };
  GString *hints[KINDS] = {g_string_new(": did you mean "), g_string_new(": see "), g_string_new(": see ")};
  guint n[KINDS] = {0};
  for (guint i = 0; i < all->len; i++) {
    const fc_operator *op = all->pdata[i];
    g_autofree char *stage = stage_for(op, word);
    const int kind = stage                                 ? STAGE
                     : g_strv_contains(op->keywords, word) ? KEYWORD
                     : has_word(op->summary, word)         ? SUMMARY
                                                           : KINDS;
    if (kind == KINDS) continue;
    g_string_append(hints[kind], n[kind]++ ? " or " : "");
    if (stage)
      g_string_append_printf(hints[kind], "\"%s\"", stage);
    else
      g_string_append_printf(hints[kind], "%s (%s)", op->name, op->summary);
  }
  g_string_append_c(hints[STAGE], '?');
  char *best = NULL;
  for (int kind = 0; kind < KINDS; kind++) {
    char *text = g_string_free(hints[kind], best || n[kind] == 0 || n[kind] > (kind == SUMMARY ? 2 : 3));
    if (text) best = text;
  }
  return best;
}

static gboolean is_operator(const GPtrArray *all, const char *name, gsize length) {
  for (guint i = 0; i < all->len; i++) {
    const char *its = ((const fc_operator *)all->pdata[i])->name;
    if (strlen(its) == length && strncmp(its, name, length) == 0) return TRUE;
  }
  return FALSE;
}

/* ": did you mean "gain:0.5"?" for gain=0.5 and "gain 0.5"; NULL: the name is not cut so. g_free. */
static char *colon_hint(const GPtrArray *all, const char *name) {
  const gsize length = strcspn(name, "= ,");
  if (!name[length] || !name[length + 1] || !is_operator(all, name, length)) return NULL;
  return g_strdup_printf(": did you mean \"%.*s:%.40s\"?", (int)length, name, name + length + 1);
}

/* For "flip|rotate": ": did you mean stages of their own, "flip" and "rotate"?"; NULL: there are no two
 * names. g_free. */
static char *chain_hint(const GPtrArray *all, const char *name) {
  static const char between[] = "|;, ";
  const gsize length = strcspn(name, between);
  const char *next = name + length + strspn(name + length, between);
  const gsize rest = strcspn(next, between);
  if (!is_operator(all, name, length) || !is_operator(all, next, rest)) return NULL;
  return g_strdup_printf(": did you mean stages of their own, \"%.*s\" and \"%.*s\"?", (int)length, name,
                         (int)rest, next);
}

/* The same for the nearest word by its spelling, of names, choices and keywords; "": none is near. */
static char *spelling_hint(const GPtrArray *all, const char *typed) {
  g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < all->len; i++)
    g_ptr_array_add(words, g_strdup(((const fc_operator *)all->pdata[i])->name));
  for (guint i = 0; i < all->len; i++) {
    const fc_operator *op = all->pdata[i];
    for (guint k = 0; k < op->n_params; k++)
      for (const fc_choice *const *c = op->params[k]->choices; c && *c; c++)
        if (op->params[k]->flags & FC_PARAM_MAIN && (*c)->value != FC_REFUSED)
          g_ptr_array_add(words, g_strdup((*c)->name));
    for (const char *const *k = op->keywords; *k; k++)
      g_ptr_array_add(words, g_strndup(*k, strcspn(*k, "=")));
  }
  g_ptr_array_add(words, NULL);
  const char *near = fc_suggest(typed, (const char *const *)words->pdata);
  if (!near) return g_strdup("");
  if (is_operator(all, near, strlen(near))) return g_strdup_printf(": did you mean \"%s\"?", near);
  /* There are many of these words, so one is nearly always near. */
  char *hint = fc_edit_distance(typed, near) > 1 ? NULL : hint_for(all, near);
  return hint ? hint : g_strdup("");
}

static void fail_find(fc_registry *r, const char *name, GError **error) {
  g_autoptr(GPtrArray) all = all_operators(r);
  g_autofree char *hint = chain_hint(all, name), *shown = g_strndup(name, 64), *why = why_unfit(r, name);
  if (!hint) hint = colon_hint(all, name);
  if (!hint) hint = hint_for(all, name);
  if (!hint) hint = spelling_hint(all, name);
  if (strchr(name, '/'))
    fail_qualified(r, shown, strrchr(name, '/') + 1, error);
  else if (why)
    fc_fail(error, FC_UNSUPPORTED, "no operator \"%s\": %s", shown, why);
  else if (all->len == 0)
    fc_fail(error, FC_UNSUPPORTED, "no operator \"%s\": there are no plugins in %s", shown, r->builtin);
  else
    fc_fail(error, FC_UNSUPPORTED, "no operator \"%s\"%s", shown,
            *hint             ? hint
            : has_rejected(r) ? "; a plugin file could not be loaded: filterchain list says which and why"
                              : " (filterchain list shows all)");
}

/* ---- public functions -------------------------------------------------- */

static void enter(fc_registry *r) {
  pthread_mutex_lock(&r->mutex);
  list_files(r);
}

/* Releases the mutex, saves the cache and logs pending warnings. */
static void leave(fc_registry *r) {
  g_autoptr(GPtrArray) pending = r->pending;
  r->pending = g_ptr_array_new_with_free_func(g_free);
  if (r->cache) fc_plugin_cache_save(r->cache);
  pthread_mutex_unlock(&r->mutex);
  for (guint i = 0; r->log && i < pending->len; i++) r->log(FC_LOG_WARNING, pending->pdata[i], r->log_data);
}

fc_registry *fc_registry_new(void) {
  fc_registry *r = g_new0(fc_registry, 1);
  pthread_mutex_init(&r->mutex, NULL);
  fc_cond_init(&r->opened);
  r->dirs = g_ptr_array_new_with_free_func(g_free);
  r->files = g_ptr_array_new_with_free_func(free_file);
  r->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  r->pending = g_ptr_array_new_with_free_func(g_free);
  r->cache_folder = fc_private_folder(NULL);
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
  g_hash_table_unref(r->told);
  g_ptr_array_free(r->pending, TRUE);
  pthread_cond_destroy(&r->opened);
  pthread_mutex_destroy(&r->mutex);
  g_free(r);
}

void fc_registry_set_log(fc_registry *r, fc_log_fn log, void *data) {
  r->log = log;
  r->log_data = data;
}

void fc_registry_add_dir(fc_registry *r, const char *dir) {
  pthread_mutex_lock(&r->mutex);
  add_dir(r->dirs, dir);
  pthread_mutex_unlock(&r->mutex);
}

const fc_operator *fc_registry_find(fc_registry *r, const char *name, GError **error) {
  const plugin_file *from = NULL;
  const fc_operator *op = NULL;
  const char *slash = strrchr(name, '/'), *plain = slash ? slash + 1 : name;
  g_autofree char *id = slash ? g_strndup(name, (gsize)(slash - name)) : NULL;
  enter(r);
  /* A text that cannot be a name is in no plugin, so none is opened. */
  if (fc_is_name(plain)) op = winner(r, id, plain, &from);
  /* The cache alone is not trusted to say that an operator does not exist. */
  if (!op && fc_is_name(plain)) {
    open_all(r);
    op = winner(r, id, plain, &from);
  }
  if (!op) fail_find(r, name, error);
  if (op && !id) warn_of_replacement(r, name, from);
  leave(r);
  return op;
}

const fc_operator **fc_registry_operators(fc_registry *r, gsize *count) {
  enter(r);
  GPtrArray *all = all_operators(r);
  leave(r);
  if (count) *count = all->len;
  g_ptr_array_add(all, NULL);
  return (const fc_operator **)g_ptr_array_free(all, FALSE);
}

fc_plugin_info *fc_registry_plugins(fc_registry *r, gsize *count) {
  enter(r);
  open_all(r);
  guint n = r->files->len;
  fc_plugin_info *infos = g_new0(fc_plugin_info, n + 1);
  for (guint i = 0; i < n; i++) {
    plugin_file *file = r->files->pdata[i];
    const fc_plugin *plugin = ensure_open(r, file);
    /* A note returned earlier must stay valid; and files opened by path are searched last, so earlier
     * results do not change. */
    if (plugin && !file->unused) file->unused = unused_in(r, file);
    infos[i].path = file->path;
    infos[i].id = plugin ? plugin->id : NULL;
    infos[i].version = plugin ? plugin->version : NULL;
    infos[i].reason = plugin ? file->unused : file->reason;
  }
  leave(r);
  if (count) *count = n;
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
  g_autofree char *full = canonical(path), *dir = g_path_get_dirname(full);
  enter(r);
  plugin_file *file = file_of(r, full);
  if (!file) file = add_file(r, full, strcmp(dir, r->builtin) == 0, TRUE);
  const fc_plugin *plugin = ensure_open(r, file);
  if (!plugin) fc_fail(error, FC_INVALID, "%s %s", path, file->reason);
  leave(r);
  return plugin;
}

/* The first operator of a plugin whose name is already in use, or NULL. */
static const char *taken_name(fc_registry *r, const fc_plugin *plugin) {
  for (guint i = 0; i < plugin->n_operators; i++) {
    const plugin_file *from;
    if (winner(r, NULL, plugin->operators[i]->name, &from)) return plugin->operators[i]->name;
  }
  return NULL;
}

gboolean fc_registry_add(fc_registry *r, const fc_plugin *plugin, GError **error) {
  g_auto(GStrv) unfit = NULL;
  fc_plugin *copy = fc_descriptor_copy(plugin, &unfit, error);
  if (!copy) return FALSE;
  enter(r);
  const char *taken = taken_name(r, copy);
  gboolean ok = !unfit && !taken;
  if (unfit) fc_fail(error, FC_INVALID, "%s", unfit[0]);
  if (!unfit && taken) fc_fail(error, FC_INVALID, "there is an operator \"%s\" already", taken);
  if (ok) {
    plugin_file *file = add_file(r, copy->id, FALSE, TRUE);
    file->plugin = copy, file->state = ACCEPTED;
  } else
    fc_descriptor_free(copy);
  leave(r);
  return ok;
}

const fc_plugin *fc_registry_plugin_of(fc_registry *r, const fc_operator *op, const char **path) {
  const fc_plugin *found = NULL;
  pthread_mutex_lock(&r->mutex);
  for (guint i = 0; i < r->files->len && !found; i++) {
    const plugin_file *file = r->files->pdata[i];
    for (guint j = 0; file->plugin && j < file->plugin->n_operators; j++)
      if (file->plugin->operators[j] == op) {
        found = file->plugin;
        if (path) *path = file->path;
      }
  }
  pthread_mutex_unlock(&r->mutex);
  return found;
}

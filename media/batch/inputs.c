/* SPDX-License-Identifier: MIT */
/*
 * inputs.c - see inputs.h. A path with wildcards is matched component by component, so that only folders that
 * can match are read; "**" is any number of folders. Costs one pass through each folder, using the file types
 * of readdir, and a sort; only files without an extension are opened.
 */
#include "media/batch/inputs.h"

#include "media/file/formats.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

typedef struct search {
  fc_inputs *to;
  const char *options;
  guint32 root;
  gboolean recursive, all;
  char **parts; /* of a pattern, or NULL: a folder */
} search;

/* ---- what is taken --------------------------------------------------------- */

static void add(fc_inputs *inputs, const char *path, const char *options, gsize root, gboolean found) {
  const fc_entry entry = {g_strdup(path), options, (guint32)root, found};
  g_array_append_val(inputs->entries, entry);
}

/* Samples without a header are accepted if their format is given. Pictures that are not read are taken, and
 * fail by name: none is skipped in silence. */
static gboolean is_media(const char *path) {
  const fc_file_format *format = fc_format_by_extension(path);
  if (fc_format_is_foreign_picture(path)) return TRUE;
  if (format) return format->open && format->open != fc_raw_open;
  if (g_str_has_suffix(path, ".tar")) return TRUE;
  if (fc_extension_of(path)) return FALSE;
  g_autoptr(fc_input) input = fc_input_open(path, NULL, NULL);
  return input && fc_probe_knows(input);
}

static void take(search *s, const char *path) {
  if (s->parts || s->all || is_media(path))
    add(s->to, path, s->options, s->root, TRUE);
  else
    s->to->skipped++;
}

static int compare_entries(gconstpointer a, gconstpointer b) {
  return strcmp(((const fc_entry *)a)->path, ((const fc_entry *)b)->path);
}

/* Sorts the entries from `first` on and removes duplicates: "a/ ** / b" may match a path in several ways. */
static void sort_from(GArray *entries, guint first) {
  fc_entry *from = &g_array_index(entries, fc_entry, 0) + first;
  guint n = entries->len - first, kept = 0;
  if (n) qsort(from, n, sizeof *from, compare_entries);
  for (guint i = 0; i < n; i++)
    if (kept && strcmp(from[kept - 1].path, from[i].path) == 0)
      g_free(from[i].path);
    else
      from[kept++] = from[i];
  g_array_set_size(entries, first + kept);
}

/* ---- folders ---------------------------------------------------------------- */

typedef enum item_kind { IS_FILE, IS_FOLDER, IS_OTHER } item_kind;

/* A link to a file counts as a file, even if that does not exist, which is then reported; a link to a
 * folder is not followed, to avoid endless recursion. */
static item_kind kind_of(const char *path, int told) {
  struct stat info;
  if (told == DT_REG) return IS_FILE;
  if (told == DT_DIR) return IS_FOLDER;
  if (told != DT_LNK && told != DT_UNKNOWN) return IS_OTHER;
  if (told == DT_UNKNOWN && lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) return IS_FOLDER;
  const gboolean there = stat(path, &info) == 0;
  return (there && S_ISREG(info.st_mode)) || (!there && told == DT_LNK) ? IS_FILE : IS_OTHER;
}

static char *join(const char *folder, const char *name) {
  return *folder ? g_strconcat(folder, g_str_has_suffix(folder, "/") ? "" : "/", name, NULL) : g_strdup(name);
}

/* A folder below the searched one that cannot be read is an entry, which fails as a file would, and the
 * others go on. The slash keeps its output's name from being that of a file beside it. */
static gboolean take_unreadable(search *s, const char *folder) {
  if (strlen(folder) <= s->root) return FALSE;
  g_autofree char *path = g_strconcat(folder, "/", NULL);
  add(s->to, path, s->options, s->root, TRUE);
  return TRUE;
}

/* The items of a folder, unsorted, as a byte for the kind followed by the name; NULL on failure. A folder
 * that has just been removed is empty. */
static GPtrArray *items_of(search *s, const char *folder, GError **error) {
  GPtrArray *items = g_ptr_array_new_with_free_func(g_free);
  DIR *dir = opendir(*folder ? folder : ".");
  if (!dir && (errno == ENOENT || take_unreadable(s, folder))) return items;
  if (!dir) {
    fc_fail(error, FC_IO, "%s: the folder cannot be read: %s", folder, g_strerror(errno));
    g_ptr_array_unref(items);
    return NULL;
  }
  for (const struct dirent *item; (item = readdir(dir));) {
    if (item->d_name[0] == '.') continue;
    g_autofree char *path = join(folder, item->d_name);
    const char kind[] = {(char)('0' + kind_of(path, item->d_type)), '\0'};
    g_ptr_array_add(items, g_strconcat(kind, item->d_name, NULL));
  }
  closedir(dir);
  return items;
}

static item_kind item_is(const char *item) {
  return (item_kind)(item[0] - '0');
}

/* All files of a folder; `deep`: including subfolders. */
static gboolean walk_folder(search *s, const char *folder, gboolean deep, GError **error) {
  g_autoptr(GPtrArray) items = items_of(s, folder, error);
  gboolean ok = items != NULL;
  for (guint i = 0; ok && i < items->len; i++) {
    const char *item = items->pdata[i];
    g_autofree char *path = join(folder, item + 1);
    if (item_is(item) == IS_FILE) take(s, path);
    if (item_is(item) == IS_FOLDER && deep) ok = walk_folder(s, path, TRUE, error);
    if (item_is(item) == IS_OTHER && (deep || !g_file_test(path, G_FILE_TEST_IS_DIR))) s->to->skipped++;
  }
  return ok;
}

/* ---- patterns ---------------------------------------------------------------- */

static gboolean has_wildcard(const char *text) {
  const char *open = strchr(text, '[');
  return strpbrk(text, "*?") || (open && strchr(open, ']'));
}

static gboolean match(search *s, const char *folder, guint part, GError **error);

static gboolean match_literal(search *s, const char *folder, guint part, GError **error) {
  g_autofree char *path = join(folder, s->parts[part]);
  if (s->parts[part + 1]) return match(s, path, part + 1, error);
  struct stat info;
  if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) take(s, path);
  return TRUE;
}

/* The files in a folder that match the pattern's parts from `part` on. */
static gboolean match(search *s, const char *folder, guint part, GError **error) {
  const char *pattern = s->parts[part];
  const gboolean last = !s->parts[part + 1], any = strcmp(pattern, "**") == 0;
  if (any && last) return walk_folder(s, folder, TRUE, error);
  if (any && !match(s, folder, part + 1, error)) return FALSE;
  if (!has_wildcard(pattern)) return match_literal(s, folder, part, error);
  g_autoptr(GPtrArray) items = items_of(s, folder, error);
  gboolean ok = items != NULL;
  for (guint i = 0; ok && i < items->len; i++) {
    const char *item = items->pdata[i];
    g_autofree char *path = join(folder, item + 1);
    struct stat info;
    if (!any && fnmatch(pattern, item + 1, FNM_PERIOD) != 0) continue;
    if (last && item_is(item) == IS_FILE) take(s, path);
    if (last) continue;
    /* A link to a folder is followed if a part of the pattern names it, but not by "**". */
    const gboolean folder_like =
        item_is(item) == IS_FOLDER ||
        (!any && item_is(item) == IS_OTHER && stat(path, &info) == 0 && S_ISDIR(info.st_mode));
    if (folder_like) ok = match(s, path, any ? part : part + 1, error);
  }
  return ok;
}

static gboolean expand_pattern(search *s, const char *pattern, GError **error) {
  g_auto(GStrv) parts = g_strsplit(pattern, "/", -1);
  g_autoptr(GString) fixed = g_string_new(*pattern == '/' ? "/" : "");
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  guint first = 0, n = g_strv_length(parts);
  while (first + 1 < n && !has_wildcard(parts[first])) {
    g_autofree char *path = join(fixed->str, parts[first]);
    if (*parts[first]) g_string_assign(fixed, path);
    first++;
  }
  for (guint i = first; i < n; i++)
    if (*parts[i]) g_ptr_array_add(rest, parts[i]);
  g_ptr_array_add(rest, NULL);
  s->parts = (char **)rest->pdata;
  s->root = (guint32)(fixed->len + (fixed->len && !g_str_has_suffix(fixed->str, "/")));
  return match(s, fixed->str, 0, error);
}

/* ---- lists --------------------------------------------------------------------- */

/* One path per line; if the list contains a NUL, paths end with NUL instead (find -print0). Editors may
 * put a byte order mark before the first. */
static gboolean expand_list(fc_inputs *to, const char *name, GError **error) {
  g_autofree char *text = NULL;
  g_autoptr(GError) why = NULL;
  gsize size = 0;
  const gboolean piped = strcmp(name, "-") == 0;
  if (!g_file_get_contents(piped ? "/dev/stdin" : name, &text, &size, &why)) {
    const char *reason = strrchr(why->message, ':');
    g_autofree char *literal = g_strconcat("@", name, NULL);
    return fc_fail(error, FC_IO, "@%s: the list cannot be read: %s%s%s", name,
                   reason ? reason + 2 : why->message,
                   g_file_test(literal, G_FILE_TEST_EXISTS) ? "; the file of that name is ./" : "",
                   g_file_test(literal, G_FILE_TEST_EXISTS) ? literal : "");
  }
  const char between = memchr(text, '\0', size) ? '\0' : '\n';
  const gsize mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  for (char *line = text + mark, *end = text + size; line < end;) {
    char *stop = memchr(line, between, (gsize)(end - line));
    if (!stop) stop = end;
    *stop = '\0';
    if (between == '\n' && stop > line && stop[-1] == '\r') stop[-1] = '\0';
    g_autofree char *safe = strcmp(line, "-") == 0 ? g_strdup("./-") : NULL;
    if (*line) add(to, safe ? safe : line, "", 0, FALSE);
    line = stop + 1;
  }
  return TRUE;
}

/* ---- all of it ------------------------------------------------------------------- */

static gboolean exists(const char *path, gboolean *folder) {
  struct stat info;
  const gboolean there = stat(path, &info) == 0;
  *folder = there && S_ISDIR(info.st_mode);
  return there;
}

gboolean fc_input_is_search(const char *argument) {
  gboolean folder;
  g_autofree char *path = fc_file_split(argument, TRUE, NULL);
  if (argument[0] == '@') return TRUE;
  return exists(path, &folder) ? folder : has_wildcard(path);
}

static gboolean expand_one(fc_inputs *to, const char *argument, gboolean recursive, gboolean all,
                           GError **error) {
  gboolean folder;
  char *options = NULL;
  if (argument[0] == '@') {
    to->searched = TRUE;
    return expand_list(to, argument + 1, error);
  }
  g_autofree char *path = fc_file_split(argument, TRUE, &options);
  g_ptr_array_add(to->options, options);
  search s = {.to = to, .options = options, .recursive = recursive, .all = all};
  const gint64 skipped = to->skipped;
  const guint first = to->entries->len;
  if (exists(path, &folder) ? !folder : !has_wildcard(path)) {
    add(to, path, options, 0, FALSE);
    return TRUE;
  }
  to->searched = TRUE;
  gsize length = strlen(path);
  while (folder && length > 1 && path[length - 1] == '/') path[--length] = '\0';
  s.root = (guint32)(length + (path[length - 1] != '/'));
  if (!(folder ? walk_folder(&s, path, recursive, error) : expand_pattern(&s, path, error))) return FALSE;
  sort_from(to->entries, first);
  if (to->entries->len > first) return TRUE;
  if (!folder) return fc_fail(error, FC_IO, "%s: no file matches this pattern", path);
  return fc_fail(error, FC_IO, "%s: the folder holds no sound, image or array%s%s", path,
                 to->skipped > skipped ? " among its files" : "",
                 recursive ? "" : " (-r looks in the folders below it too)");
}

gboolean fc_inputs_expand(fc_inputs *inputs, const char *const *arguments, gboolean recursive, gboolean all,
                          GError **error) {
  *inputs = (fc_inputs){.entries = g_array_new(FALSE, FALSE, sizeof(fc_entry)),
                        .options = g_ptr_array_new_with_free_func(g_free)};
  for (gsize i = 0; arguments[i]; i++)
    if (!expand_one(inputs, arguments[i], recursive, all, error)) return FALSE;
  return inputs->entries->len > 0 || fc_fail(error, FC_IO, "%s: the list names no file", arguments[0]);
}

void fc_inputs_clear(fc_inputs *inputs) {
  if (!inputs->entries) return;
  for (guint i = 0; i < inputs->entries->len; i++) g_free(g_array_index(inputs->entries, fc_entry, i).path);
  g_array_unref(inputs->entries);
  g_ptr_array_unref(inputs->options);
  *inputs = (fc_inputs){0};
}

char *fc_entry_text(const fc_entry *entry) {
  return fc_file_join(entry->path, entry->options);
}

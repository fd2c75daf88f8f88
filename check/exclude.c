/* SPDX-License-Identifier: MIT */
/*
 * exclude.c - see exclude.h.
 */
#include "check/exclude.h"

#include <string.h>

#include "check/harness.h"
#include "core/base/error.h"

typedef struct exclusion {
  char *op, *backend, *item, *reason; /* backend NULL: any */
  char *where;                        /* "median.check:3" */
} exclusion;

static void free_exclusion(gpointer data) {
  exclusion *e = data;
  g_free(e->op);
  g_free(e->backend);
  g_free(e->item);
  g_free(e->reason);
  g_free(e->where);
  g_free(e);
}

/* FALSE: it is none. */
static gboolean read_line(GPtrArray *list, char *line, const char *path, guint number) {
  char *colon = strchr(line, ':'), *blank = strpbrk(line, " \t");
  if (!colon || !blank || blank > colon) return FALSE;
  *colon = *blank = 0;
  char *slash = strchr(line, '/');
  if (slash) *slash = 0;
  exclusion *e = g_new0(exclusion, 1);
  e->op = g_strdup(line), e->backend = slash ? g_strdup(slash + 1) : NULL;
  e->item = g_strdup(g_strstrip(blank + 1)), e->reason = g_strdup(g_strstrip(colon + 1));
  e->where = g_strdup_printf("%s:%u", path, number);
  g_ptr_array_add(list, e);
  return *e->op && *e->item && *e->reason;
}

GPtrArray *exclusions_read(const char *plugin, GError **error) {
  GPtrArray *list = g_ptr_array_new_with_free_func(free_exclusion);
  g_autofree char *stem = g_strndup(plugin, strlen(plugin) - (g_str_has_suffix(plugin, ".so") ? 3 : 0));
  g_autofree char *path = g_strconcat(stem, ".check", NULL), *text = NULL;
  if (!g_file_get_contents(path, &text, NULL, NULL)) return list;
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    const char *line = g_strstrip(lines[i]);
    if (!*line || *line == '#' || read_line(list, lines[i], path, i + 1)) continue;
    fc_fail(error, FC_INVALID, "%s:%u: expected OPERATOR[/BACKEND] TEST-OR-ITEM: REASON", path, i + 1);
    g_ptr_array_unref(list);
    return NULL;
  }
  return list;
}

const char *exclusions_find(const GPtrArray *list, const char *op, const char *backend, const char *test,
                            const char *item) {
  for (guint i = 0; i < list->len; i++) {
    const exclusion *e = list->pdata[i];
    if (strcmp(e->op, "*") != 0 && g_strcmp0(e->op, op) != 0) continue;
    if (e->backend && g_strcmp0(e->backend, backend) != 0) continue;
    if (strcmp(e->item, test) == 0 || strcmp(e->item, item) == 0) return e->reason;
  }
  return NULL;
}

static gboolean is_item(const char *name) {
  for (int f = FAULT_NONE + 1; f < FAULT_COUNT; f++)
    if (strcmp(name, fault_name(f)) == 0) return TRUE;
  return FALSE;
}

gboolean exclusions_fit(const GPtrArray *list, gboolean (*is_operator)(const char *name, const void *data),
                        const void *data, gboolean (*is_test)(const char *name), GError **error) {
  for (guint i = 0; i < list->len; i++) {
    const exclusion *e = list->pdata[i];
    if (strcmp(e->op, "*") != 0 && !is_operator(e->op, data))
      return fc_fail(error, FC_INVALID, "%s: the plugin has no operator %s", e->where, e->op);
    if (e->backend && strcmp(e->backend, "cpu") != 0 && strcmp(e->backend, "cuda") != 0)
      return fc_fail(error, FC_INVALID, "%s: there is no backend %s", e->where, e->backend);
    if (!is_item(e->item) && !is_test(e->item))
      return fc_fail(error, FC_INVALID,
                     "%s: there is no test or item %s; filterchain check --list names them", e->where,
                     e->item);
  }
  return TRUE;
}

/* SPDX-License-Identifier: MIT */
/*
 * suggest.c - see suggest.h. Optimal string alignment in three rolling rows.
 */
#include "core/base/suggest.h"

#include <string.h>

#define LONGEST 64

guint fc_edit_distance(const char *a, const char *b) {
  guint rows[3][LONGEST + 1];
  gsize n = strnlen(a, LONGEST), m = strnlen(b, LONGEST);
  guint *before = rows[0], *last = rows[1], *now = rows[2];
  for (gsize j = 0; j <= m; j++) last[j] = (guint)j;
  for (gsize i = 1; i <= n; i++) {
    char p = g_ascii_tolower(a[i - 1]);
    now[0] = (guint)i;
    for (gsize j = 1; j <= m; j++) {
      char q = g_ascii_tolower(b[j - 1]);
      guint d = MIN(MIN(last[j], now[j - 1]) + 1, last[j - 1] + (p != q));
      if (i > 1 && j > 1 && p == g_ascii_tolower(b[j - 2]) && q == g_ascii_tolower(a[i - 2]))
        d = MIN(d, before[j - 2] + 1);
      now[j] = d;
    }
    guint *spare = before;
    before = last, last = now, now = spare;
  }
  return last[m];
}

/* "conv" for "conv1d": a prefix of at least two letters. */
static gboolean begins(const char *name, const char *typed, gsize length) {
  return length >= 2 && g_ascii_strncasecmp(name, typed, length) == 0;
}

const char *fc_suggest(const char *typed, const char *const *names) {
  const char *best = NULL, *begun = NULL;
  gsize length = strlen(typed);
  if (length == 0) return NULL;
  guint nearest = MAX(1, (guint)MIN(length, LONGEST) / 3) + 1;
  for (; names && *names; names++) {
    guint d = fc_edit_distance(typed, *names);
    /* Not if every character is replaced: "a" is not a mistyped "b". */
    if (d < nearest && d < MAX(length, strlen(*names))) nearest = d, best = *names;
    if (!begun && begins(*names, typed, length)) begun = *names;
  }
  return best ? best : begun;
}

char *fc_did_you_mean(const char *typed, const char *const *names) {
  const char *name = fc_suggest(typed, names);
  return name ? g_strdup_printf(": did you mean \"%s\"?", name) : g_strdup("");
}

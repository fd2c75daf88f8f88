/* SPDX-License-Identifier: MIT */
/*
 * syntax.h - one stage of a chain as text, cut into its parts.
 *
 *   stage  = name *( ":" arg )
 *   arg    = key "=" value  |  value
 *   key    = a letter or "_", then letters, digits, "_" or "-"
 *
 * In a value '...' takes everything up to the next ' literally, and \: \\ \' (and \, \[ \] \=) are the
 * characters themselves; any other backslash is literal, so that most paths need no escaping. Brackets [...]
 * protect ':' within a written-out table. A value may have any bytes, since file names may. An arg whose
 * first characters are quoted or escaped is never key=value: 'a=b.txt' is a bare value, a=b.txt the key a. A
 * time in hours, minutes and seconds (0:01:30, units.h) is one value, including its ':'.
 */
#ifndef FC_CORE_SYNTAX_H
#define FC_CORE_SYNTAX_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct fc_stage_arg {
  char *key;       /* NULL: a bare value */
  char *value;     /* quotes and escapes undone; may be empty only when quoted ('') */
  gboolean quoted; /* some of the value was quoted or escaped: it is a name, never a written-out table */
  guint column;    /* of its first character in the text, from 1 */
} fc_stage_arg;

typedef struct fc_stage_text {
  char *text; /* as typed */
  char *name; /* of the operator */
  guint n_args;
  fc_stage_arg *args;
} fc_stage_text;

/* Splits `text`; NULL with FC_INVALID and the column (in characters, from 1) of the error: an empty name
 * or argument, an open quote or bracket. */
fc_stage_text *fc_stage_text_parse(const char *text, GError **error);
void fc_stage_text_free(fc_stage_text *stage); /* NULL is allowed */

/* One value alone, as in a preset; may be empty. On success the caller clears `arg`. */
gboolean fc_stage_value_parse(const char *text, fc_stage_arg *arg, GError **error);
void fc_stage_arg_clear(fc_stage_arg *arg);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_stage_text, fc_stage_text_free)

G_END_DECLS

#endif

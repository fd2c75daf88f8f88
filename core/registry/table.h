/* SPDX-License-Identifier: MIT */
/*
 * table.h - tables of numbers (masks, matrices) as text.
 *
 * A file: numbers separated by blanks or commas, one row per line, # starts a comment. A written-out table:
 * [1,2,1]/4, [1,0;0,1]*2 - numbers separated by ',' or blanks, rows by ';', and one divisor or factor for
 * all.
 *
 * Numbers are decimal with '.', whatever the locale; nan, inf and hexadecimal are refused, and so is what
 * overflows a double. O(length), one allocation that grows.
 */
#ifndef FC_CORE_TABLE_H
#define FC_CORE_TABLE_H

#include "core/base/error.h"

G_BEGIN_DECLS

/* Maximum of numbers in a table: 512 MiB of them. */
#define FC_TABLE_MAX (G_GINT64_CONSTANT(1) << 26)

/* Copies `name` and rows*cols values; NULL with FC_NO_MEMORY or FC_INVALID (too
 * large, or a value that is not finite). `rate` 0: not from a sound file. */
fc_table *fc_table_new(const char *name, gint64 rows, gint64 cols, const double *data, double rate,
                       GError **error);
void fc_table_free(fc_table *table); /* NULL is allowed */

/* The text of a mask file. Rows must be equally long unless `ragged`, which joins all rows into one when
 * they differ; one number per line gives one column. Messages start with `name` and the line: mask.txt:7:
 * expected a number, found "x". `text` need not end with NUL. */
fc_table *fc_table_parse(const char *name, const char *text, gsize length, gboolean ragged, GError **error);

/* A written-out table, which begins with '['. Messages start with the text. */
fc_table *fc_table_parse_inline(const char *text, gboolean ragged, GError **error);

/*
 * Reads one decimal number at `text`, which ends at `end`; returns the first character after it, or NULL if
 * there is none or it is out of range. No leading blanks. Used for every number that a user writes.
 */
const char *fc_number_scan(const char *text, const char *end, double *value);

/* `text`, shortened and with unprintable characters replaced, for an error message; g_free. */
char *fc_quote_for_message(const char *text, gsize length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_table, fc_table_free)

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * table.c - see table.h. The text is untrusted: it need not end with NUL, may be binary, and may hold more
 * numbers than memory does. The array grows by doubling through g_try_realloc_n, up to FC_TABLE_MAX.
 */
#include "core/registry/table.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- one number -------------------------------------------------------- */

typedef struct decimal {
  guint64 digits;      /* significant digits, as long as they fit */
  gint64 count, shift; /* number of digits; value = digits * 10^shift */
} decimal;

static const char *scan_digits(const char *p, const char *end, decimal *d, int shift) {
  for (; p < end && g_ascii_isdigit(*p); p++) {
    if (d->count > 0 || *p != '0') d->count++;
    if (d->count <= 19) d->digits = d->digits * 10 + (guint64)(*p - '0');
    d->shift += shift;
  }
  return p;
}

/* "e-3": consumed only if digits follow. */
static const char *scan_exponent(const char *p, const char *end, decimal *d) {
  const char *q = p + 1;
  if (p >= end || (*p != 'e' && *p != 'E')) return p;
  gboolean minus = q < end && *q == '-';
  if (q < end && (*q == '-' || *q == '+')) q++;
  if (q >= end || !g_ascii_isdigit(*q)) return p;
  int value = 0;
  for (; q < end && g_ascii_isdigit(*q); q++) value = MIN(value * 10 + (*q - '0'), 100000);
  d->shift += minus ? -value : value;
  return q;
}

/* Up to 15 digits and powers of ten up to 22 are exact in a double, so one multiplication or division
 * rounds correctly (Clinger 1990), ten times faster than strtod; masks of a million taps are common. */
static gboolean quick_value(const decimal *d, double *value) {
  static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (FLT_EVAL_METHOD != 0 || d->count > 15 || ABS(d->shift) > 22) return FALSE;
  *value = d->shift < 0 ? (double)d->digits / ten[-d->shift] : (double)d->digits * ten[d->shift];
  return TRUE;
}

/* Independent of the locale; `length` bytes that are known to be a decimal number. Very long numbers are
 * rare; infinity if memory for a copy is lacking. */
static double slow_value(const char *text, gsize length) {
  char few[128];
  char *copy = length < sizeof few ? few : g_try_malloc(length + 1);
  if (!copy) return HUGE_VAL;
  memcpy(copy, text, length);
  copy[length] = 0;
  double value = g_ascii_strtod(copy, NULL);
  if (copy != few) g_free(copy);
  return value;
}

/* Like fc_number_scan, but with an infinite value for numbers that are too large. */
static const char *scan_number(const char *text, const char *end, double *value) {
  decimal d = {0};
  const char *p = text;
  gboolean minus = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  const char *digits = p;
  p = scan_digits(p, end, &d, 0);
  gboolean any = p > digits;
  if (p < end && *p == '.') {
    const char *fraction = p + 1;
    p = scan_digits(fraction, end, &d, -1);
    any = any || p > fraction;
  }
  if (!any) return NULL;
  p = scan_exponent(p, end, &d);
  if (!quick_value(&d, value)) *value = slow_value(digits, (gsize)(p - digits));
  if (minus) *value = -*value;
  return p;
}

const char *fc_number_scan(const char *text, const char *end, double *value) {
  const char *after = scan_number(text, end, value);
  return after && isfinite(*value) ? after : NULL;
}

/* ---- messages ---------------------------------------------------------- */

#define SHOWN_MOST 40 /* characters */

char *fc_quote_for_message(const char *text, gsize length) {
  /* Four bytes per character at most; the rest is not shown. */
  g_autofree char *valid = g_utf8_make_valid(text, (gssize)MIN(length, 4 * SHOWN_MOST));
  GString *shown = g_string_new(NULL);
  const char *p = valid;
  for (int n = 0; *p && n < SHOWN_MOST; p = g_utf8_next_char(p), n++) {
    gunichar c = g_utf8_get_char(p);
    g_string_append_unichar(shown, g_unichar_iscntrl(c) ? 0xfffd : c);
  }
  if (*p || length > 4 * SHOWN_MOST) g_string_append(shown, "...");
  return g_string_free(shown, FALSE);
}

/* Whether a word that is not a number is nan, inf or the like. */
static gboolean is_nonfinite_word(const char *word, gsize length) {
  if (length > 0 && (*word == '-' || *word == '+')) word++, length--;
  return length >= 3 && (!g_ascii_strncasecmp(word, "nan", 3) || !g_ascii_strncasecmp(word, "inf", 3));
}

static gboolean is_binary(const char *word, gsize length) {
  for (gsize i = 0; i < length; i++)
    if ((guchar)word[i] < 0x20 || word[i] == 0x7f) return TRUE;
  /* The word ends at an ASCII character, so this is not caused by cutting a character. */
  return !g_utf8_validate_len(word, length, NULL);
}

/* ---- numbers gathered row by row --------------------------------------- */

typedef struct gather {
  const char *name; /* of the file, or the text itself */
  guint64 line;     /* line being read; 0 where there are no lines */
  double *values;
  gint64 count, room;
  gint64 rows, cols; /* complete rows; the length of the first */
  gint64 row_start;  /* start of the row being read */
  gboolean ragged;   /* rows may differ in length */
  gboolean uneven;   /* and they do */
} gather;

/* "mask.txt:7: ", formatted only in case of an error: there are many lines. */
G_GNUC_PRINTF(3, 4) static gboolean fail_here(const gather *g, GError **error, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  g_autofree char *what = g_strdup_vprintf(format, ap);
  va_end(ap);
  if (g->line)
    fc_fail(error, FC_INVALID, "%s:%" G_GUINT64_FORMAT ": %s", g->name, g->line, what);
  else
    fc_fail(error, FC_INVALID, "%s: %s", g->name, what);
  return FALSE;
}

/* Explains why the `length` > 0 bytes at `word` are not a number. */
static gboolean fail_word(const gather *g, const char *word, gsize length, GError **error) {
  double value;
  g_autofree char *shown = fc_quote_for_message(word, length);
  if (is_binary(word, length))
    fail_here(g, error, "expected numbers, found binary data");
  else if (is_nonfinite_word(word, length))
    fail_here(g, error, "\"%s\" is not finite", shown);
  else if (scan_number(word, word + length, &value) == word + length)
    fail_here(g, error, "\"%s\" is too large", shown);
  else
    fail_here(g, error, "expected a number, found \"%s\"", shown);
  return FALSE;
}

/* Beyond the range of a 32-bit float: a mask with such a number would turn any signal into infinities and
 * NaNs. */
static gboolean too_large(double value) {
  return !(fabs(value) <= (double)FLT_MAX);
}

static gboolean put_number(gather *g, double value, GError **error) {
  if (too_large(value))
    return fail_here(g, error, "%g is too large: the largest number of a mask or matrix is 3.4e38", value);
  if (g->count == FC_TABLE_MAX)
    return fail_here(g, error, "more than %" G_GINT64_FORMAT " numbers", FC_TABLE_MAX);
  if (g->count == g->room) {
    gint64 room = MAX(64, g->room * 2);
    double *more = g_try_realloc_n(g->values, (gsize)room, sizeof *more);
    if (!more) return fc_fail(error, FC_NO_MEMORY, "%s: out of memory for the numbers", g->name);
    g->values = more;
    g->room = room;
  }
  g->values[g->count++] = value;
  return TRUE;
}

static gboolean end_row(gather *g, GError **error) {
  gint64 cols = g->count - g->row_start;
  if (cols == 0) return TRUE;
  if (g->rows == 0) g->cols = cols;
  if (cols != g->cols && !g->ragged)
    return fail_here(g, error, "%" G_GINT64_FORMAT " numbers in this row, %" G_GINT64_FORMAT " in the first",
                     cols, g->cols);
  g->uneven = g->uneven || cols != g->cols;
  g->row_start = g->count;
  g->rows++;
  return TRUE;
}

/* Takes the numbers over without copying them. */
static fc_table *make_table(const char *name, gint64 rows, gint64 cols, double *values, double rate) {
  fc_table *table = g_new0(fc_table, 1);
  table->size = sizeof *table;
  table->name = g_strdup(name);
  table->rows = rows;
  table->cols = cols;
  table->data = values;
  table->rate = rate;
  return table;
}

static fc_table *finish_table(const gather *g, const char *name) {
  if (g->uneven) return make_table(name, 1, g->count, g->values, 0);
  return make_table(name, g->rows, g->cols, g->values, 0);
}

/* ---- a file ------------------------------------------------------------ */

static gboolean is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static gboolean is_line_end(char c) {
  return c == '\n' || c == '\r';
}

static const char *word_end(const char *p, const char *end) {
  while (p < end && !is_blank(*p) && !is_line_end(*p) && !strchr(",;#]", *p)) p++;
  return p;
}

static gboolean take_number(gather *g, const char **at, const char *end, GError **error) {
  double value;
  const char *stop = word_end(*at, end);
  if (stop == *at) stop++; /* a lone delimiter: included in the message */
  if (fc_number_scan(*at, stop, &value) != stop) return fail_word(g, *at, (gsize)(stop - *at), error);
  *at = stop;
  return put_number(g, value, error);
}

/* One line without its end. A comma must follow a number; one at the end of the line is allowed, for
 * coefficients pasted from a program. */
static gboolean parse_line(gather *g, const char *p, const char *end, GError **error) {
  gboolean comma_allowed = FALSE;
  while (TRUE) {
    while (p < end && is_blank(*p)) p++;
    if (p >= end || *p == '#') return end_row(g, error);
    if (*p == ',' && comma_allowed) {
      comma_allowed = FALSE;
      p++;
    } else {
      if (!take_number(g, &p, end, error)) return FALSE;
      comma_allowed = TRUE;
    }
  }
}

static gboolean parse_lines(gather *g, const char *text, const char *end, GError **error) {
  for (g->line = 1; text < end; g->line++) {
    const char *stop = text;
    while (stop < end && !is_line_end(*stop)) stop++;
    if (!parse_line(g, text, stop, error)) return FALSE;
    text = stop + (stop + 1 < end && stop[0] == '\r' && stop[1] == '\n' ? 2 : 1);
  }
  return TRUE;
}

fc_table *fc_table_parse(const char *name, const char *text, gsize length, gboolean ragged, GError **error) {
  gather g = {.name = name, .ragged = ragged};
  const char *end = text + length;
  if (length >= 2 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2))) {
    fc_fail(error, FC_INVALID, "%s: UTF-16 text: save it as UTF-8", name);
    return NULL;
  }
  if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3;
  if (parse_lines(&g, text, end, error)) {
    if (g.count > 0) return finish_table(&g, name);
    fc_fail(error, FC_INVALID, "%s: it holds no numbers", name);
  }
  g_free(g.values);
  return NULL;
}

/* ---- written-out tables ------------------------------------------------ */

/* After the ']': nothing, or /n, or *n for all the numbers. Divides instead of multiplying by a
 * reciprocal: [1]/3 is 1/3 to the last bit. */
static gboolean apply_factor(gather *g, const char *p, const char *end, GError **error) {
  double n;
  if (p == end) return TRUE;
  char sign = *p;
  if ((sign != '/' && sign != '*') || p + 1 == end)
    return fail_here(g, error, "after \"]\" only /NUMBER or *NUMBER may follow");
  if (fc_number_scan(p + 1, end, &n) != end) return fail_word(g, p + 1, (gsize)(end - p - 1), error);
  if (sign == '/' && n == 0) return fail_here(g, error, "%s divides by zero", p);
  for (gint64 i = 0; i < g->count; i++) {
    g->values[i] = sign == '/' ? g->values[i] / n : g->values[i] * n;
    if (too_large(g->values[i])) return fail_here(g, error, "%s makes a number larger than 3.4e38", p);
  }
  return TRUE;
}

/* [row;row]: a separator is needed after a number and allowed only there. */
static const char *parse_rows(gather *g, const char *p, const char *end, GError **error) {
  gboolean after_number = FALSE;
  for (p++; p < end; p++) {
    if (is_blank(*p)) continue;
    if (*p == ']' || *p == ';') {
      if (!after_number) break;
      if (!end_row(g, error)) return NULL;
      if (*p == ']') return p + 1;
      after_number = FALSE;
    } else if (*p == ',') {
      if (!after_number) break;
      after_number = FALSE;
    } else {
      if (!take_number(g, &p, end, error)) return NULL;
      p--;
      after_number = TRUE;
    }
  }
  if (p < end)
    fail_here(g, error, "expected a number before \"%c\"", *p);
  else
    fail_here(g, error, "\"[\" is not closed");
  return NULL;
}

fc_table *fc_table_parse_inline(const char *text, gboolean ragged, GError **error) {
  g_autofree char *shown = fc_quote_for_message(text, strlen(text));
  gather g = {.name = shown, .ragged = ragged};
  const char *end = text + strlen(text), *after;
  fc_table *table = NULL;
  if (*text != '[')
    fail_here(&g, error, "a table that is written out begins with \"[\"");
  else if ((after = parse_rows(&g, text, end, error)) && apply_factor(&g, after, end, error))
    table = finish_table(&g, text);
  if (!table) g_free(g.values);
  return table;
}

/* ---- from an array ----------------------------------------------------- */

fc_table *fc_table_new(const char *name, gint64 rows, gint64 cols, const double *data, double rate,
                       GError **error) {
  if (rows <= 0 || cols <= 0) {
    fc_fail(error, FC_INVALID, "%s: it holds no numbers", name);
    return NULL;
  }
  if (rows > FC_TABLE_MAX / cols) {
    fc_fail(error, FC_INVALID, "%s: more than %" G_GINT64_FORMAT " numbers", name, FC_TABLE_MAX);
    return NULL;
  }
  for (gint64 i = 0; i < rows * cols; i++)
    if (!(fabs(data[i]) <= (double)FLT_MAX)) {
      fc_fail(error, FC_INVALID, "%s: number %" G_GINT64_FORMAT " is %s", name, i + 1,
              isfinite(data[i]) ? "too large: the largest is 3.4e38" : "not finite");
      return NULL;
    }
  double *copy = g_try_malloc_n((gsize)(rows * cols), sizeof *copy);
  if (!copy) {
    fc_fail(error, FC_NO_MEMORY, "%s: out of memory for the numbers", name);
    return NULL;
  }
  memcpy(copy, data, (gsize)(rows * cols) * sizeof *copy);
  return make_table(name, rows, cols, copy, rate);
}

void fc_table_free(fc_table *table) {
  if (!table) return;
  g_free((gpointer)table->name);
  g_free((gpointer)table->data);
  g_free(table);
}

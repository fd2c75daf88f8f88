/* SPDX-License-Identifier: MIT */
/* units.c - see units.h. */
#include "core/registry/units.h"

#include "core/registry/table.h"

#include <string.h>

typedef struct unit {
  const char *name;
  double factor;
} unit;

static double factor_of(const unit *units, gsize n, const char *name, gsize length) {
  for (gsize i = 0; i < n; i++)
    if (strlen(units[i].name) == length && strncmp(units[i].name, name, length) == 0) return units[i].factor;
  return 0;
}

/* ":" and two digits, of which the first is less than 6. */
static gboolean is_sixtieth(const char *at) {
  return at[0] == ':' && at[1] >= '0' && at[1] <= '5' && g_ascii_isdigit(at[2]) && !g_ascii_isdigit(at[3]);
}

/* H:MM:SS, or with `short_form` M:SS; the seconds may have a fraction. */
static gsize scan_clock(const char *text, gboolean short_form, double *seconds) {
  const char *at = text;
  double total = 0;
  guint fields = 1;
  while (g_ascii_isdigit(*at) && at - text < 9) total = 10 * total + (*at++ - '0');
  if (at == text) return 0;
  for (; fields < 3 && is_sixtieth(at); fields++, at += 3)
    total = 60 * total + 10 * (at[1] - '0') + (at[2] - '0');
  if (fields < (short_form ? 2 : 3)) return 0;
  if (*at == '.') {
    double scale = 1;
    for (at++; g_ascii_isdigit(*at); at++) total += (*at - '0') * (scale /= 10);
  }
  *seconds = total;
  return (gsize)(at - text);
}

gsize fc_clock_length(const char *text) {
  double seconds;
  gsize length = scan_clock(text, FALSE, &seconds);
  return length && (text[length] == ':' || !text[length]) ? length : 0;
}

gboolean fc_time_scan(const char *word, gsize length, double *seconds) {
  static const unit units[] = {{"s", 1}, {"ms", 1e3}, {"us", 1e6}}; /* units per second */
  g_autofree char *copy = g_strndup(word, length);
  const char *end = copy + length, *after = fc_number_scan(copy, end, seconds);
  if (memchr(copy, ':', length)) return scan_clock(copy, TRUE, seconds) == length;
  if (!after) return FALSE;
  double parts = factor_of(units, G_N_ELEMENTS(units), after, (gsize)(end - after));
  if (parts > 0) *seconds /= parts;
  return parts > 0;
}

double fc_frequency_unit(const char *name, gsize length) {
  static const unit units[] = {{"Hz", 1},  {"hz", 1},    {"kHz", 1e3}, {"khz", 1e3},
                               {"k", 1e3}, {"MHz", 1e6}, {"M", 1e6}};
  return factor_of(units, G_N_ELEMENTS(units), name, length);
}

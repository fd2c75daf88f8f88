/* SPDX-License-Identifier: MIT */
/*
 * error.c - see error.h. Messages contain file names and texts of plugins, so control characters and line
 * breaks are replaced here, in one place.
 */
#include "core/base/error.h"

#include <stdarg.h>

G_DEFINE_QUARK(fc - error - quark, fc_error)

/* One line of valid UTF-8 without control characters, C1 controls (U+0080 to
 * U+009F, some terminals obey them) included. Takes and returns ownership. */
static char *tidy(char *message) {
  char *valid = g_utf8_make_valid(message, -1);
  g_free(message);
  for (char *p = valid; *p; p++) {
    guchar c = (guchar)p[0];
    if (c < 0x20 || c == 0x7f) *p = ' ';
    if (c == 0xc2 && (guchar)p[1] < 0xa0) p[0] = p[1] = ' ';
  }
  return g_strchomp(valid);
}

gboolean fc_fail(GError **error, fc_status code, const char *format, ...) {
  if (!error) return FALSE;
  va_list ap;
  va_start(ap, format);
  g_autofree char *message = tidy(g_strdup_vprintf(format, ap));
  va_end(ap);
  g_set_error_literal(error, FC_ERROR, (gint)code, message);
  return FALSE;
}

char *fc_size_for_message(double bytes) {
  static const char *const units[] = {"MB", "GB", "TB", "PB"};
  guint unit = 0;
  double value = bytes / 1e6;
  /* 999.5 and more would print as 1000, so they take the next unit. */
  for (; value >= 999.5 && unit + 1 < G_N_ELEMENTS(units); unit++) value /= 1000;
  return g_strdup_printf("%.3g %s", value, units[unit]);
}

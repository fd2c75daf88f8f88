/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include "cli/json.h"
#include "cli/say.h"

#include <sys/ioctl.h>
#include <unistd.h>

/* Shorter work shows no bar. */
#define PATIENCE    G_USEC_PER_SEC
#define LABEL_WIDTH 24
/* Minimum time between two drawings. */
#define REDRAW (G_USEC_PER_SEC / 10)

static double seconds_since(gint64 begun) {
  return (double)(g_get_monotonic_time() - begun) / G_USEC_PER_SEC;
}

static int terminal_width(void) {
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

/* "12.3 M" for 12345678. */
static char *short_number(double value) {
  static const char *const prefixes[] = {"", " k", " M", " G", " T"};
  guint i = 0;
  for (; value >= 999.5 && i + 1 < G_N_ELEMENTS(prefixes); i++) value /= 1000.0;
  return g_strdup_printf("%.3g%s", value, prefixes[i]);
}

static char *clock_time(double seconds) {
  gint64 s = (gint64)(seconds + 0.5);
  if (s >= 3600) return g_strdup_printf("%d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
  return g_strdup_printf("%d:%02d", (int)(s / 60), (int)(s % 60));
}

/* The completed fraction: of one file, or of the number of files. */
static double portion(const progress *p) {
  double here = p->total > 0 ? (double)p->done / (double)p->total : 0;
  return p->batch ? MIN((double)(p->part + p->resumed) / MAX(p->parts, 1), 1) : here;
}

/* Files per second, and megabytes. */
static double files_per_second(const progress *p) {
  const double seconds = seconds_since(p->started);
  return seconds > 0 ? p->part / seconds : 0;
}

static double mb_per_second(const progress *p) {
  const double seconds = seconds_since(p->started);
  return seconds > 0 ? (double)p->bytes / 1e6 / seconds : 0;
}

/* Estimated seconds until the end of a batch; negative: not known. */
static double seconds_left(const progress *p) {
  const double rate = files_per_second(p), left = (double)p->parts - p->part - (double)p->resumed;
  return p->parts && rate > 0 ? MAX(left, 0) / rate : -1;
}

static char *figures_of_batch(const progress *p) {
  g_autofree char *rate = short_number(files_per_second(p)),
                  *left = seconds_left(p) < 0 ? g_strdup("") : clock_time(seconds_left(p)),
                  *failed = p->failed ? g_strdup_printf("  %u failed", p->failed) : g_strdup("");
  g_autofree char *part = p->parts ? g_strdup_printf("%3d%%  ", (int)(100 * portion(p))) : g_strdup("");
  return g_strdup_printf("%s%s/s  %.3g MB/s%s%s%s", part, rate, mb_per_second(p), failed, *left ? "  " : "",
                         *left ? left : "");
}

/* The text right of the bar: percent, speed, time left. */
static char *figures(const progress *p) {
  if (p->batch) return figures_of_batch(p);
  double seconds = seconds_since(p->started), part = portion(p);
  g_autofree char *rate = short_number(seconds > 0 ? (double)p->done / seconds : 0);
  if (p->total <= 0) {
    g_autofree char *done = short_number((double)p->done);
    return g_strdup_printf("%s  %s/s", done, rate);
  }
  g_autofree char *left = part > 0 ? clock_time(seconds * (1 - part) / part) : g_strdup("?");
  return g_strdup_printf("%3d%%  %s/s  %s left", (int)(100 * part), rate, left);
}

/* The file's name, shortened, with its number in a batch. */
static char *label_of(const progress *p) {
  g_autofree char *base = g_path_get_basename(p->file);
  g_autofree char *valid = g_utf8_make_valid(base, -1);
  g_autofree char *shown = g_utf8_substring(valid, 0, MIN(g_utf8_strlen(valid, -1), LABEL_WIDTH));
  for (char *c = shown; *c; c++)
    if ((guchar)*c < ' ' || *c == 127) *c = '?';
  if (!p->batch) return g_strdup(shown);
  return p->parts ? g_strdup_printf("%u/%u %s", p->part, p->parts, shown)
                  : g_strdup_printf("%u %s", p->part, shown);
}

static void draw(const progress *p) {
  g_autofree char *label = label_of(p), *right = figures(p);
  int room = terminal_width() - (int)(g_utf8_strlen(label, -1) + g_utf8_strlen(right, -1)) - 6;
  g_autoptr(GString) line = g_string_new(label);
  if (room >= 4 && (p->batch ? p->parts > 0 : p->total > 0)) {
    int full = (int)(room * portion(p));
    g_string_append(line, " [");
    for (int i = 0; i < room; i++) g_string_append_c(line, i < full ? '#' : '.');
    g_string_append_c(line, ']');
  }
  g_string_append_printf(line, " %s", right);
  say_bar(line->str);
}

static void write_batch(const progress *p, json *j) {
  json_int(j, "failed", p->failed);
  json_int(j, "resumed", p->resumed);
  json_number(j, "files_per_second", files_per_second(p));
  json_number(j, "mb_per_second", mb_per_second(p));
  if (seconds_left(p) < 0)
    json_null(j, "left");
  else
    json_number(j, "left", seconds_left(p));
}

static void write_json(const progress *p, gboolean ended, gboolean complete) {
  json j = json_begin(TRUE);
  json_open(&j, NULL, '{');
  json_path(&j, "file", p->file);
  json_int(&j, "part", p->part);
  if (p->parts)
    json_int(&j, "parts", p->parts);
  else
    json_null(&j, "parts");
  json_int(&j, "done", p->done);
  if (p->total >= 0)
    json_int(&j, "total", p->total);
  else
    json_null(&j, "total");
  json_number(&j, "seconds", seconds_since(p->begun));
  if (ended) json_bool(&j, "complete", complete);
  if (p->batch) write_batch(p, &j);
  json_close(&j, '}');
  g_autofree char *line = json_end(&j);
  say_raw(line);
}

void progress_init(progress *p, progress_mode mode, gboolean batch, guint parts) {
  gboolean nobody_looks = mode == PROGRESS_AUTO && !isatty(STDERR_FILENO);
  *p = (progress){.mode = nobody_looks ? PROGRESS_NONE : mode,
                  .batch = batch,
                  .parts = parts,
                  .started = g_get_monotonic_time()};
}

void progress_begin(progress *p, const char *file) {
  p->part++;
  p->file = file;
  p->begun = g_get_monotonic_time();
  p->done = 0;
  p->total = -1;
}

gboolean progress_update(gint64 done, gint64 total, void *data) {
  progress *p = data;
  p->done = done;
  p->total = total;
  if (p->mode == PROGRESS_JSON)
    write_json(p, FALSE, FALSE);
  else if (p->mode == PROGRESS_AUTO && g_get_monotonic_time() - p->started > PATIENCE)
    draw(p);
  return TRUE;
}

void progress_file(progress *p, const char *file, double seconds, gint64 done, gint64 bytes) {
  gint64 now = g_get_monotonic_time();
  progress_begin(p, file);
  p->bytes += bytes;
  p->failed += done < 0;
  p->begun = now - (gint64)(seconds * G_USEC_PER_SEC);
  p->done = p->total = 1;
  if (p->mode == PROGRESS_AUTO && now - p->started > PATIENCE && now - p->drawn > REDRAW) {
    draw(p);
    p->drawn = now;
  }
  p->done = 0, p->total = -1;
  progress_end(p, done);
}

void progress_end(progress *p, gint64 done) {
  if (done >= 0) p->done = p->total = MAX(p->total, done); /* counted in rows, an image may have fewer */
  if (p->mode == PROGRESS_JSON)
    write_json(p, TRUE, done >= 0);
  else if (p->mode == PROGRESS_AUTO && p->part == p->parts)
    say_bar(NULL);
}

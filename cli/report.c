/* SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include "cli/command.h"

#include "cli/describe.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void outcome_free(outcome *o) {
  g_free(o->output);
  g_free(o->in_path);
  g_free(o->out_path);
  g_free(o);
}

/* ---- the table --------------------------------------------------------- */

static char *value_text(const fc_measured *m) {
  if (isnan(m->value)) return g_strdup("nan"); // printf may print a sign, which has no meaning
  return m->exact ? g_strdup(m->exact) : g_strdup_printf("%.9g", m->value);
}

static gboolean same_row(const fc_measured *a, const fc_measured *b) {
  return strcmp(a->name, b->name) == 0 && g_strcmp0(a->unit, b->unit) == 0;
}

/* The table of one stage: a cell for each measurement and channel, or NULL. */
typedef struct table {
  const char *name;          /* the operator's */
  GPtrArray *rows;           /* of fc_measured: the first value of each measurement */
  const fc_measured **cells; /* [row][channel - first] */
  int first, last;           /* channels; -1 is all of them together */
} table;

/* More columns than this do not fit a terminal: then channels become rows. */
#define COLUMNS_MOST 9

static guint row_of(GPtrArray *rows, const fc_measured *m) {
  for (guint i = 0; i < rows->len; i++)
    if (same_row(rows->pdata[i], m)) return i;
  g_ptr_array_add(rows, (gpointer)m);
  return rows->len - 1;
}

static table table_of(const fc_measured *const *measured, gsize n) {
  table t = {.name = measured[0]->operator_name, .rows = g_ptr_array_new(), .first = 0, .last = -1};
  for (gsize i = 0; i < n; i++) {
    row_of(t.rows, measured[i]);
    t.first = MIN(t.first, measured[i]->channel);
    t.last = MAX(t.last, measured[i]->channel);
  }
  gsize columns = (gsize)(t.last - t.first + 1);
  t.cells = g_new0(const fc_measured *, t.rows->len *columns + 1);
  for (gsize i = 0; i < n; i++)
    t.cells[row_of(t.rows, measured[i]) * columns + (gsize)(measured[i]->channel - t.first)] = measured[i];
  return t;
}

static void table_clear(table *t) {
  g_ptr_array_unref(t->rows);
  g_free(t->cells);
}

static char *heading(int channel) {
  return channel < 0 ? g_strdup("all") : g_strdup_printf("channel %d", channel);
}

static char *cell_text(const table *t, guint row, int channel) {
  const fc_measured *cell = t->cells[row * (guint)(t->last - t->first + 1) + (guint)(channel - t->first)];
  return cell ? value_text(cell) : g_strdup("-");
}

/* The width of a measurement's longest value. */
static int row_width(const table *t, guint row) {
  gsize width = 0;
  for (int channel = t->first; channel <= t->last; channel++) {
    g_autofree char *text = cell_text(t, row, channel);
    width = MAX(width, strlen(text));
  }
  return (int)width;
}

/* A row per measurement, a column per channel. */
static void print_wide(FILE *to, const table *t) {
  int name_width = (int)strlen(t->name), width = (int)strlen(t->last < 0 ? "all" : "channel 0");
  for (guint i = 0; i < t->rows->len; i++) {
    const fc_measured *row = t->rows->pdata[i];
    name_width = MAX(name_width, (int)strlen(row->name));
    width = MAX(width, row_width(t, i));
  }
  fprintf(to, "%-*s", name_width, t->name);
  for (int channel = t->first; channel <= t->last; channel++) {
    g_autofree char *head = heading(channel);
    fprintf(to, "  %*s", width, head);
  }
  fputc('\n', to);
  for (guint i = 0; i < t->rows->len; i++) {
    const fc_measured *row = t->rows->pdata[i];
    fprintf(to, "%-*s", name_width, row->name);
    for (int channel = t->first; channel <= t->last; channel++) {
      g_autofree char *text = cell_text(t, i, channel);
      fprintf(to, "  %*s", width, text);
    }
    fprintf(to, "%s%s\n", row->unit && *row->unit ? "  " : "", row->unit ? row->unit : "");
  }
}

/* A row per channel, a column per measurement. */
static void print_long(FILE *to, const table *t) {
  g_autofree char *last = heading(t->last);
  int name_width = (int)MAX(strlen(t->name), strlen(last));
  g_autofree int *widths = g_new(int, t->rows->len);
  fprintf(to, "%-*s", name_width, t->name);
  for (guint i = 0; i < t->rows->len; i++) {
    const fc_measured *row = t->rows->pdata[i];
    gboolean has_unit = row->unit && *row->unit;
    g_autofree char *head = has_unit ? g_strdup_printf("%s (%s)", row->name, row->unit) : g_strdup(row->name);
    widths[i] = MAX((int)strlen(head), row_width(t, i));
    fprintf(to, "  %*s", widths[i], head);
  }
  for (int channel = t->first; channel <= t->last; channel++) {
    g_autofree char *head = heading(channel);
    fprintf(to, "\n%-*s", name_width, head);
    for (guint i = 0; i < t->rows->len; i++) {
      g_autofree char *text = cell_text(t, i, channel);
      fprintf(to, "  %*s", widths[i], text);
    }
  }
  fputc('\n', to);
}

void report_print(FILE *to, const fc_result *result, const char *name) {
  if (result->n_measured && name) fprintf(to, "%s\n", name);
  for (gsize i = 0; i < result->n_measured;) {
    gsize n = 1;
    while (i + n < result->n_measured && result->measured[i + n]->stage == result->measured[i]->stage) n++;
    if (i) fputc('\n', to);
    table t = table_of(result->measured + i, n);
    (t.last - t.first < COLUMNS_MOST ? print_wide : print_long)(to, &t);
    table_clear(&t);
    i += n;
  }
}

/* ---- JSON -------------------------------------------------------------- */

static void write_format(json *j, const char *key, const fc_format *format) {
  static const char *const axes[FC_AXES] = {"n", "y", "x", "channels"};
  json_open(j, key, '{');
  json_string(j, "kind", kind_name(format->kind));
  json_string(j, "dtype", fc_dtype_name(format->dtype));
  json_int(j, "bits", format->bits);
  for (int axis = 0; axis < FC_AXES; axis++) json_int(j, axes[axis], format->extent[axis]);
  if (format->rate > 0) json_number(j, "rate", format->rate);
  json_close(j, '}');
}

static void write_measured(json *j, const fc_measured *m) {
  json_open(j, NULL, '{');
  json_int(j, "stage", m->stage);
  json_string(j, "operator", m->operator_name);
  json_string(j, "name", m->name);
  json_string(j, "unit", m->unit ? m->unit : "");
  if (m->channel < 0)
    json_null(j, "channel");
  else
    json_int(j, "channel", m->channel);
  json_number(j, "value", m->value);
  if (m->exact) json_string(j, "exact", m->exact);
  json_close(j, '}');
}

static void write_result(json *j, const fc_result *result) {
  json_string(j, "device", result->device);
  json_string(j, "reason", result->reason);
  if (result->decoder) json_string(j, "decoder", result->decoder);
  json_number(j, "seconds", result->seconds);
  json_int(j, "chunks", result->chunks);
  json_int(j, "bytes_up", result->bytes_up);
  json_int(j, "bytes_down", result->bytes_down);
  write_format(j, "in", result->in);
  write_format(j, "out", result->out);
  json_open(j, "measurements", '[');
  for (gsize i = 0; i < result->n_measured; i++) write_measured(j, result->measured[i]);
  json_close(j, ']');
}

json report_begin(void) {
  json j = json_begin(FALSE);
  json_open(&j, NULL, '{');
  json_string(&j, "filterchain", fc_version());
  g_autofree char *jpeg = formats_reader("jpg");
  json_string(&j, "jpeg", jpeg);
  json_open(&j, "files", '[');
  return j;
}

void report_add(json *j, const outcome *o, const fc_result *result, const GError *why) {
  json_open(j, NULL, '{');
  json_path(j, "input", o->input);
  json_path(j, "output", o->output);
  if (result) write_result(j, result);
  if (why) json_string(j, "error", why->message);
  json_close(j, '}');
}

void totals_add(totals *t, const char *input, double seconds) {
  guint at = SLOWEST_MOST;
  while (at > 0 && (!t->slowest[at - 1].input || t->slowest[at - 1].seconds < seconds)) at--;
  if (at == SLOWEST_MOST) return;
  g_free(t->slowest[SLOWEST_MOST - 1].input);
  memmove(&t->slowest[at + 1], &t->slowest[at], (SLOWEST_MOST - 1 - at) * sizeof t->slowest[0]);
  t->slowest[at].input = g_strdup(input);
  t->slowest[at].seconds = seconds;
}

void totals_clear(totals *t) {
  for (guint i = 0; i < SLOWEST_MOST; i++) g_free(t->slowest[i].input);
  memset(t, 0, sizeof *t);
}

static void write_totals(json *j, const totals *t) {
  const double per = t->seconds > 0 ? 1 / t->seconds : 0;
  json_open(j, "totals", '{');
  json_int(j, "done", t->done);
  json_int(j, "failed", t->failed);
  if (t->failed_earlier) json_int(j, "failed_earlier", t->failed_earlier);
  json_int(j, "resumed", t->resumed);
  json_int(j, "skipped", t->skipped);
  json_int(j, "bytes", t->bytes);
  json_number(j, "seconds", t->seconds);
  json_number(j, "files_per_second", (double)(t->done + t->failed) * per);
  json_number(j, "mb_per_second", (double)t->bytes / 1e6 * per);
  json_close(j, '}');
  json_open(j, "slowest", '[');
  for (guint i = 0; i < SLOWEST_MOST && t->slowest[i].input; i++) {
    json_open(j, NULL, '{');
    json_path(j, "input", t->slowest[i].input);
    json_number(j, "seconds", t->slowest[i].seconds);
    json_close(j, '}');
  }
  json_close(j, ']');
}

char *report_end(json *j, const totals *t) {
  json_close(j, ']');
  if (t) write_totals(j, t);
  json_close(j, '}');
  return json_end(j);
}

#define SPILL_FROM ((gsize)1 << 20) /* bytes */

/* Without a name, in $TMPDIR; or NULL. */
static FILE *open_unnamed(void) {
  g_autofree char *path = NULL;
  const int fd = g_file_open_tmp("filterchain-XXXXXX", &path, NULL);
  if (fd < 0) return NULL;
  unlink(path);
  FILE *file = fdopen(fd, "w+");
  if (!file) close(fd);
  return file;
}

void report_spill(json *j, spill *to) {
  if (j->text->len < SPILL_FROM || to->full) return;
  if (!to->file) to->file = open_unnamed();
  to->full = !to->file;
  if (to->full) return;
  const long before = ftell(to->file);
  if (fwrite(j->text->str, 1, j->text->len, to->file) == j->text->len && fflush(to->file) == 0) {
    g_string_truncate(j->text, 0);
    return;
  }
  to->full = TRUE;
  clearerr(to->file); /* the text stays */
  (void)!ftruncate(fileno(to->file), before);
  fseek(to->file, before, SEEK_SET);
}

static gboolean fail(GError **error, const char *path) {
  g_set_error(error, FC_ERROR, FC_IO, "%s: %s", path, g_strerror(errno));
  return FALSE;
}

static gboolean write_plain(const char *path, const char *text, gsize size, GError **error) {
  FILE *file = fopen(path, "w");
  if (!file) return fail(error, path);
  gboolean written = fwrite(text, 1, size, file) == size;
  return fclose(file) == 0 && written ? TRUE : fail(error, path);
}

gboolean report_write(const char *path, const char *text, gsize size, GError **error) {
  if (strcmp(path, "-") == 0) {
    fwrite(text, 1, size, stdout); /* errors are reported once, when stdout is closed */
    return TRUE;
  }
  struct stat status;
  gboolean existed = stat(path, &status) == 0;
  if (existed && !S_ISREG(status.st_mode)) return write_plain(path, text, size, error);
  int mode = existed ? (int)(status.st_mode & 0777) : 0666;
  // Through a symbolic link, so that the link stays.
  char *target = realpath(path, NULL);
  g_autoptr(GError) cause = NULL;
  gboolean written = g_file_set_contents_full(target ? target : path, text, (gssize)size,
                                              G_FILE_SET_CONTENTS_CONSISTENT, mode, &cause);
  free(target);
  // Before the chmod the file has the mode that umask leaves.
  if (written && existed && chmod(path, (mode_t)mode) != 0) return fail(error, path);
  if (written) return TRUE;
  // GLib's message names its temporary file; the reason is at its end.
  const char *reason = strrchr(cause->message, ':');
  g_set_error(error, FC_ERROR, FC_IO, "%s: the report cannot be written: %s", path,
              reason ? reason + 2 : cause->message);
  return FALSE;
}

/* SPDX-License-Identifier: MIT */
/* stack.c - see stack.h. */
#include "media/batch/stack.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#define NPY_HEADER  256 /* of an array: enough for any number of rows */
#define NPY_MAGIC   "\x93NUMPY\x01\x00"
#define CHUNK_BYTES (8 << 20) /* of a Zarr array, unless a row has more */
#define DESCRIPTION ".zarray"

struct fc_stack {
  char *path;
  unsigned flags;
  gboolean zarr, made; /* made: whether we created the folder */
  char *like;          /* the first one's header */
  gsize row;           /* its bytes */
  gint64 count, each;  /* rows so far; rows per chunk */
  fc_output *output;   /* the .npy, or the current chunk; NULL: none is open */
};

/* ---- what a row is ------------------------------------------------------------- */

/* The offset of the elements, and the header's text (g_free); 0: not an .npy of ours. */
static gsize header_of(GBytes *bytes, char **text) {
  gsize size;
  const guint8 *data = g_bytes_get_data(bytes, &size);
  if (size < 10 || memcmp(data, NPY_MAGIC, 8) != 0) return 0;
  const gsize length = data[8] + 256u * data[9];
  if (10 + length > size) return 0;
  *text = g_strchomp(g_strndup((const char *)data + 10, length));
  return 10 + length;
}

/* The array's description from its header: (3, 32, 32) of '<f4'. Free with g_free. */
static char *described(const char *header) {
  const char *shape = strchr(header, '('), *type = strstr(header, "'descr': ");
  if (!shape || !type || !strchr(shape, ')')) return g_strdup(header);
  type += strlen("'descr': ");
  return g_strdup_printf("%.*s of %.*s", (int)(strchr(shape, ')') + 1 - shape), shape,
                         (int)strcspn(type, ","), type);
}

/* ---- a .npy ---------------------------------------------------------------------- */

/* With the number of rows added before the shape. */
static gboolean put_npy_header(fc_stack *c, GError **error) {
  const char *shape = strstr(c->like, "'shape': (");
  char block[NPY_HEADER + 1];
  if (!shape) return fc_fail(error, FC_FATAL, "%s: there is no shape", c->path);
  shape += strlen("'shape': (");
  g_autofree char *text =
      g_strdup_printf("%.*s%" G_GINT64_FORMAT ", %s", (int)(shape - c->like), c->like, c->count, shape);
  memcpy(block, NPY_MAGIC, 8);
  block[8] = (char)(NPY_HEADER - 10), block[9] = 0;
  snprintf(block + 10, sizeof block - 10, "%-*.*s\n", NPY_HEADER - 11, NPY_HEADER - 11, text);
  return c->count ? fc_output_write_at(c->output, 0, block, NPY_HEADER, error)
                  : fc_output_write(c->output, block, NPY_HEADER, error);
}

static gboolean add_to_npy(fc_stack *c, const void *row, GError **error) {
  if (!c->output) {
    c->output = fc_output_open(c->path, c->flags | FC_OUTPUT_SEEKS, error);
    if (!c->output || !put_npy_header(c, error)) return FALSE;
  }
  c->count++;
  return fc_output_write(c->output, row, c->row, error);
}

/* ---- a folder of chunks ----------------------------------------------------------- */

gboolean fc_stack_is_zarr(const char *path) {
  return g_str_has_suffix(path, ".zarr") || g_str_has_suffix(path, ".zarr/");
}

char *fc_stack_there(const char *path) {
  g_autofree char *description = g_build_filename(path, DESCRIPTION, NULL);
  const gboolean there = fc_stack_is_zarr(path) && g_file_test(description, G_FILE_TEST_EXISTS);
  return there ? g_steal_pointer(&description) : NULL;
}

/* Axes after the first, as in the header. */
static guint axes_of(const fc_stack *c) {
  const char *shape = strstr(c->like, "'shape': ("), *end = shape ? strchr(shape, ')') : NULL;
  guint numbers = 0;
  for (const char *at = shape; at && at < end; at++)
    numbers += g_ascii_isdigit(at[0]) && !g_ascii_isdigit(at[1]);
  return numbers;
}

/* "CHUNK.0.0.0" in the folder; g_free. */
static char *chunk_path(const fc_stack *c, gint64 chunk) {
  g_autoptr(GString) name = g_string_new(NULL);
  g_string_printf(name, "%" G_GINT64_FORMAT, chunk);
  for (guint i = 0; i < axes_of(c); i++) g_string_append(name, ".0");
  return g_build_filename(c->path, name->str, NULL);
}

static gboolean make_folder(fc_stack *c, GError **error) {
  c->made = g_mkdir(c->path, 0777) == 0;
  if (!c->made && errno != EEXIST)
    return fc_fail(error, FC_IO, "%s: the folder cannot be created: %s", c->path, g_strerror(errno));
  c->each = MAX(CHUNK_BYTES / (gint64)MAX(c->row, 1), 1);
  return TRUE;
}

/* The rest of the current chunk is zeros. */
static gboolean end_chunk(fc_stack *c, GError **error) {
  static const char zeros[4096];
  if (!c->output) return TRUE;
  const gint64 size = c->each * (gint64)c->row;
  for (gint64 left; (left = size - fc_output_size(c->output)) > 0;)
    if (!fc_output_write(c->output, zeros, (gsize)MIN(left, (gint64)sizeof zeros), error)) return FALSE;
  const gboolean ok = fc_output_commit(c->output, error);
  fc_output_free(g_steal_pointer(&c->output));
  return ok;
}

static gboolean add_to_zarr(fc_stack *c, const void *row, GError **error) {
  if (c->count == 0 && !make_folder(c, error)) return FALSE;
  if (c->count % c->each == 0) {
    g_autofree char *path = chunk_path(c, c->count / c->each);
    if (!end_chunk(c, error) || !(c->output = fc_output_open(path, c->flags, error))) return FALSE;
  }
  c->count++;
  return fc_output_write(c->output, row, c->row, error);
}

/* The header's shape and type in Zarr's notation. */
static gboolean describe(fc_stack *c, GError **error) {
  const char *shape = strstr(c->like, "'shape': (") + strlen("'shape': ("),
             *type = strstr(c->like, "'descr': '");
  if (!type) return fc_fail(error, FC_FATAL, "%s: there is no type", c->path);
  type += strlen("'descr': '");
  g_autofree char *axes = g_strndup(shape, strcspn(shape, ")")),
                  *element = g_strndup(type, strcspn(type, "'"));
  g_strchomp(axes);
  if (g_str_has_suffix(axes, ",")) axes[strlen(axes) - 1] = '\0';
  g_autofree char *text = g_strdup_printf(
      "{\n  \"zarr_format\": 2,\n  \"shape\": [%" G_GINT64_FORMAT "%s%s],\n  \"chunks\": [%" G_GINT64_FORMAT
      "%s%s],\n  \"dtype\": \"%s\",\n  \"compressor\": null,\n  \"fill_value\": 0,\n  \"order\": \"C\",\n"
      "  \"filters\": null\n}\n",
      c->count, *axes ? ", " : "", axes, c->each, *axes ? ", " : "", axes, element);
  g_autofree char *path = g_build_filename(c->path, DESCRIPTION, NULL);
  g_autoptr(fc_output) output = fc_output_open(path, c->flags, error);
  return output && fc_output_write(output, text, strlen(text), error) && fc_output_commit(output, error);
}

/* ---- both --------------------------------------------------------------------------- */

fc_stack *fc_stack_new(const char *path, unsigned flags) {
  fc_stack *c = g_new0(fc_stack, 1);
  c->path = g_strdup(path), c->flags = flags, c->zarr = fc_stack_is_zarr(path);
  return c;
}

gboolean fc_stack_add(fc_stack *c, const char *path, GBytes *npy, GError **error) {
  g_autofree char *header = NULL;
  if (!npy) return TRUE;
  const gsize begins = header_of(npy, &header), bytes = g_bytes_get_size(npy) - begins;
  const char *row = (const char *)g_bytes_get_data(npy, NULL) + begins;
  if (!begins) return fc_fail(error, FC_FATAL, "%s: is not an array", path);
  if (c->like && (strcmp(c->like, header) != 0 || bytes != c->row)) {
    g_autofree char *is = described(header), *first = described(c->like);
    return fc_fail(error, FC_UNSUPPORTED,
                   "%s: is %s where the first one is %s: one array holds equal ones only", path, is, first);
  }
  if (!c->like) c->like = g_steal_pointer(&header), c->row = bytes;
  return c->zarr ? add_to_zarr(c, row, error) : add_to_npy(c, row, error);
}

gboolean fc_stack_end(fc_stack *c, GError **error) {
  if (!c->like) return TRUE;
  if (!c->zarr) return put_npy_header(c, error) && fc_output_commit(c->output, error);
  if (!end_chunk(c, error) || !describe(c, error)) return FALSE;
  c->count = 0; /* it is not removed */
  return TRUE;
}

void fc_stack_free(fc_stack *c) {
  if (!c) return;
  fc_output_free(c->output);
  for (gint64 i = 0; c->zarr && c->each && i * c->each < c->count; i++) {
    g_autofree char *path = chunk_path(c, i);
    g_unlink(path);
  }
  if (c->made && c->count) g_rmdir(c->path);
  g_free(c->path);
  g_free(c->like);
  g_free(c);
}

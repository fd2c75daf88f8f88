/* SPDX-License-Identifier: MIT */
/*
 * npy_in.c - NumPy's array files, versions 1 to 3, either byte order, C and Fortran
 * order. One dimension is X, two are (Y, X), three (Y, X, C), four (N, Y, X, C).
 *
 * The header is the text of a Python dictionary with three keys. A small parser reads just that, within
 * bounds, whatever length the file claims.
 */
#include <string.h>

#include "media/array/array.h"
#include "media/file/bytes.h"

#define PREFIX     8     /* magic and version */
#define HEADER_MAX 65536 /* NumPy's own limit is 10000 unless the file is trusted */
#define DIMS_MAX   4

typedef struct npy_header {
  char descr[16];
  gboolean fortran;
  int dims;
  gint64 shape[DIMS_MAX];
  int seen; /* a bit for each key */
} npy_header;

enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

/* ---- the dictionary ---------------------------------------------------- */

static void skip_blanks(const char **at) {
  while (**at == ' ' || **at == '\t' || **at == '\n') (*at)++;
}

static gboolean take(const char **at, char c) {
  skip_blanks(at);
  if (**at != c) return FALSE;
  (*at)++;
  return TRUE;
}

static gboolean take_word(const char **at, const char *word) {
  skip_blanks(at);
  if (!g_str_has_prefix(*at, word)) return FALSE;
  *at += strlen(word);
  return TRUE;
}

/* 'text' or "text", without escapes. */
static gboolean take_string(const char **at, char *to, gsize room) {
  skip_blanks(at);
  char quote = **at;
  if (quote != '\'' && quote != '"') return FALSE;
  const char *end = strchr(*at + 1, quote);
  gsize length = end ? (gsize)(end - *at - 1) : room;
  if (length >= room) return FALSE;
  memcpy(to, *at + 1, length);
  to[length] = 0;
  *at = end + 1;
  return TRUE;
}

/* A dimension; Python 2 wrote an L behind long ones. */
static gboolean take_dimension(const char **at, gint64 *value) {
  skip_blanks(at);
  if (!g_ascii_isdigit(**at)) return FALSE;
  for (*value = 0; g_ascii_isdigit(**at); (*at)++) {
    if (*value > (G_MAXINT64 - 9) / 10) return FALSE;
    *value = *value * 10 + (**at - '0');
  }
  if (**at == 'L') (*at)++;
  return TRUE;
}

static gboolean take_shape(const char **at, npy_header *header) {
  if (!take(at, '(')) return FALSE;
  for (header->dims = 0; !take(at, ')'); header->dims++) {
    gint64 value;
    if (!take_dimension(at, &value)) return FALSE;
    if (header->dims < DIMS_MAX) header->shape[header->dims] = value;
    if (!take(at, ',') && **at != ')') return FALSE;
  }
  return TRUE;
}

static gboolean take_entry(const char **at, npy_header *header) {
  char key[16];
  if (!take_string(at, key, sizeof key) || !take(at, ':')) return FALSE;
  int bit = strcmp(key, "descr") == 0           ? SEEN_DESCR
            : strcmp(key, "fortran_order") == 0 ? SEEN_ORDER
            : strcmp(key, "shape") == 0         ? SEEN_SHAPE
                                                : 0;
  if (!bit || (header->seen & bit)) return FALSE;
  header->seen |= bit;
  if (bit == SEEN_DESCR) {
    skip_blanks(at);
    if (**at == '[') { /* a structured type, which is not supported */
      strcpy(header->descr, "a structure");
      header->seen = SEEN_ALL;
      return FALSE;
    }
    return take_string(at, header->descr, sizeof header->descr);
  }
  if (bit == SEEN_SHAPE) return take_shape(at, header);
  header->fortran = take_word(at, "True");
  return header->fortran || take_word(at, "False");
}

static gboolean parse(const char *text, npy_header *header) {
  const char *at = text;
  if (!take(&at, '{')) return FALSE;
  while (!take(&at, '}')) {
    if (!take_entry(&at, header)) return FALSE;
    if (!take(&at, ',') && *at != '}') return FALSE;
  }
  skip_blanks(&at);
  return !*at && header->seen == SEEN_ALL;
}

/* ---- from header to array ---------------------------------------------- */

/* "<f4": order, kind, size. */
static const fc_item *item_of(const npy_header *header, gboolean *swap) {
  const char *descr = header->descr;
  guint64 size;
  if (!strchr("<>=|", descr[0]) || !descr[0] || !descr[1]) return NULL;
  if (!g_ascii_string_to_unsigned(descr + 2, 10, 1, 16, &size, NULL)) return NULL;
  *swap = size > 1 && descr[0] == (G_BYTE_ORDER == G_LITTLE_ENDIAN ? '>' : '<');
  return fc_item_find(descr[1], (int)size);
}

/* Our axes in the order of the file's dimensions. */
static const int *axes_of(int dims) {
  static const int axes[] = {FC_AXIS_N, FC_AXIS_Y, FC_AXIS_X, FC_AXIS_C};
  static const int flat[] = {FC_AXIS_X};
  return dims == 4 ? axes : dims >= 2 ? axes + 1 : flat;
}

static gboolean lay_out(const char *name, const npy_header *header, fc_array_file *file, GError **error) {
  file->item = item_of(header, &file->swap);
  if (!file->item)
    return fc_fail(
        error, FC_UNSUPPORTED,
        "%s: holds elements of type %s; supported are bool, (u)int8 to (u)int64 and float16 to float64", name,
        header->descr);
  if (header->dims > DIMS_MAX)
    return fc_fail(error, FC_UNSUPPORTED, "%s: has %d dimensions; supported are up to %d: (N, Y, X, C)", name,
                   header->dims, DIMS_MAX);
  file->format = (fc_format){
      .size = sizeof(fc_format), .kind = FC_ARRAY, .layout = FC_INTERLEAVED, .extent = {1, 1, 1, 1}};
  file->dims = MAX(header->dims, 1); /* no dimension: a single number */
  const int *axes = axes_of(header->dims);
  file->outermost = axes[0];
  file->strided = header->fortran && header->dims > 1;
  gint64 step = file->item->size;
  for (int i = 0; i < header->dims; i++) {
    file->format.extent[axes[i]] = header->shape[i];
    file->stride[axes[i]] = step;
    if (header->shape[i] && step > G_MAXINT64 / 2 / header->shape[i])
      return fc_fail(error, FC_UNSUPPORTED, "%s: says that it has more elements than any file holds", name);
    step *= header->shape[i];
  }
  return TRUE;
}

static gboolean read_header(fc_input *input, npy_header *header, GError **error) {
  guint8 prefix[PREFIX + 4];
  gssize got = fc_input_read(input, prefix, PREFIX, error);
  if (got < 0) return FALSE;
  if (memcmp(prefix, "\x93NUMPY", MIN((gsize)got, 6)) != 0)
    return fc_fail(error, FC_IO, "%s: is not an .npy file", input->name);
  if (got < PREFIX) return fc_fail(error, FC_IO, "%s: is cut off within its header", input->name);
  int version = prefix[6], width = version == 1 ? 2 : 4;
  if (version < 1 || version > 3)
    return fc_fail(error, FC_UNSUPPORTED, "%s: is a .npy file of version %d; supported are 1 to 3",
                   input->name, version);
  got = fc_input_read(input, prefix + PREFIX, (gsize)width, error);
  if (got < 0) return FALSE;
  gsize length = got == width ? (gsize)fc_little(prefix + PREFIX, width) : 0;
  if (length > HEADER_MAX)
    return fc_fail(error, FC_IO,
                   "%s: its header says that it is %" G_GSIZE_FORMAT " bytes long; the limit is %d",
                   input->name, length, HEADER_MAX);
  g_autofree char *text = g_malloc0(length + 1);
  got = fc_input_read(input, text, length, error);
  if (got < 0) return FALSE;
  if ((gsize)got < length || !got)
    return fc_fail(error, FC_IO, "%s: is cut off within its header", input->name);
  /* A structured type stops the parser, which has seen enough for the message. */
  gboolean parsed = strlen(text) == length && parse(text, header);
  if (!parsed && strcmp(header->descr, "a structure") != 0)
    return fc_fail(error, FC_IO, "%s: its header is damaged", input->name);
  return TRUE;
}

fc_source *fc_npy_open(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                       GError **error) {
  npy_header header = {0};
  fc_array_file file = {0};
  if (read_header(input, &header, error) && lay_out(input->name, &header, &file, error)) {
    file.offset = input->position;
    return fc_array_source_new(input, &file, options, error);
  }
  fc_input_free(input);
  return NULL;
}

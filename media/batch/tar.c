/* SPDX-License-Identifier: MIT */
/*
 * tar.c - see tar.h. A header is a block of 512 bytes; numbers in it are octal, or binary with the highest
 * bit set (GNU). A pax header ("x") before a member, or GNU's "L", has what does not fit: POSIX.1-2017,
 * pax.
 */
#include "media/batch/tar.h"

#include "media/file/formats.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 512
/* Limit of a member's extended headers: names are shorter. */
#define EXTRA_MOST (1 << 20)
/* Content is read in pieces, so that a wrong size allocates no memory. */
#define PIECE      ((gsize)4 << 20)
#define OCTAL_MOST ((gint64)077777777777)

struct fc_tar_reader {
  fc_input *input;
  gint64 size, left, padding; /* of the current member */
  char *path;                 /* of it, for messages */
  gboolean sparse;            /* it is stored without its holes */
  gint64 members, skipped;    /* so far; skipped: links and devices */
};

/* ---- headers ----------------------------------------------------------------- */

static unsigned checksum(const guint8 *block) {
  unsigned sum = 0;
  for (int i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : block[i];
  return sum;
}

/* -1 for an invalid size. */
static gint64 number(const guint8 *field, int width) {
  guint64 value = 0;
  if (field[0] & 0x80) {
    for (int i = 1; i < width; i++) {
      if (value >> 54) return -1;
      value = value << 8 | field[i];
    }
    return field[0] == 0x80 ? (gint64)value : -1;
  }
  int i = 0;
  while (i < width && field[i] == ' ') i++;
  for (; i < width && field[i] >= '0' && field[i] <= '7'; i++) value = value << 3 | (guint64)(field[i] - '0');
  return i == width || field[i] == 0 || field[i] == ' ' ? (gint64)value : -1;
}

static gboolean is_zero(const guint8 *block, gsize size) {
  for (gsize i = 0; i < size; i++)
    if (block[i]) return FALSE;
  return TRUE;
}

/* One without members is blocks of zeros only. */
gboolean fc_tar_is(const fc_input *input) {
  return (input->head_size >= 263 && memcmp(input->head + 257, "ustar", 5) == 0) ||
         (input->head_size >= BLOCK && is_zero(input->head, BLOCK));
}

static gboolean is_header(const guint8 *block) {
  return number(block + 148, 8) == (gint64)checksum(block);
}

fc_tar_reader *fc_tar_open(fc_input *input, GError **error) {
  fc_tar_reader *tar = g_new0(fc_tar_reader, 1);
  tar->input = input;
  if (fc_tar_is(input)) return tar;
  const char *what = fc_probe_describe(input);
  fc_fail(error, FC_IO, "%s: is not a tar archive (ustar, pax or GNU)%s%s", input->name, what ? " but " : "",
          what ? what : "");
  fc_tar_free(tar);
  return NULL;
}

void fc_tar_free(fc_tar_reader *tar) {
  if (!tar) return;
  fc_input_free(tar->input);
  g_free(tar->path);
  g_free(tar);
}

/* ---- reading ----------------------------------------------------------------- */

static gboolean fail_cut(const fc_tar_reader *tar, GError **error) {
  return fc_fail(error, FC_IO, "%s: is cut off at byte %" G_GINT64_FORMAT, tar->input->name,
                 tar->input->position);
}

static gboolean pass(fc_tar_reader *tar, gint64 size, GError **error) {
  fc_input *input = tar->input;
  const gint64 most = (input->seekable ? input->size : G_MAXINT64) - input->position,
               end = input->position + MIN(size, most);
  if (!fc_input_go_to(input, end, error)) return FALSE;
  return (size <= most && input->position == end) || fail_cut(tar, error);
}

static gboolean pass_member(fc_tar_reader *tar, GError **error) {
  const gint64 left = tar->left, padding = tar->padding;
  tar->left = tar->padding = 0;
  return pass(tar, left, error) && pass(tar, padding, error);
}

static GBytes *content(fc_tar_reader *tar, GError **error) {
  g_autofree guint8 *data = NULL;
  gsize done = 0, room = 0;
  while (tar->left > 0) {
    if (done == room) {
      room = MIN(done + (gsize)tar->left, MAX(2 * room, PIECE));
      guint8 *larger = g_try_realloc(data, room);
      if (!larger) {
        fc_fail(error, FC_NO_MEMORY, "%s/%s: no memory for its %" G_GINT64_FORMAT " bytes", tar->input->name,
                tar->path, tar->size);
        return NULL;
      }
      data = larger;
    }
    const gssize got = fc_input_read(tar->input, data + done, MIN(room - done, (gsize)tar->left), error);
    if (got == 0) fail_cut(tar, error);
    if (got <= 0) return NULL;
    done += (gsize)got, tar->left -= got;
  }
  return pass_member(tar, error) ? g_bytes_new_take(g_steal_pointer(&data), done) : NULL;
}

GBytes *fc_tar_content(fc_tar_reader *tar, gint64 most, GError **error) {
  if (tar->sparse) {
    fc_fail(error, FC_UNSUPPORTED,
            "%s/%s: is stored without its holes, which is not read: pack it without --sparse",
            tar->input->name, tar->path);
    return NULL;
  }
  if (tar->left <= most) return content(tar, error);
  fc_fail(error, FC_UNSUPPORTED,
          "%s/%s: holds %" G_GINT64_FORMAT " bytes; --max-memory allows for %" G_GINT64_FORMAT,
          tar->input->name, tar->path, tar->left, most);
  return NULL;
}

/* Repeated "LENGTH KEY=VALUE\n": `path` and `size` are used, and that a member is sparse, whose path is that
 * of a part of it. */
static gboolean read_pax(fc_tar_reader *tar, GBytes *bytes, char **path, gint64 *size, GError **error) {
  g_autofree char *whole = NULL;
  gsize left;
  const char *at = g_bytes_get_data(bytes, &left);
  while (left) {
    gsize length = 0, digits = 0;
    for (; digits < MIN(left, 7) && g_ascii_isdigit(at[digits]); digits++)
      length = length * 10 + (gsize)(at[digits] - '0');
    if (!digits || length <= digits + 2 || length > left || at[digits] != ' ' || at[length - 1] != '\n')
      return fc_fail(error, FC_IO, "%s: a pax header is damaged", tar->input->name);
    g_autofree char *record = g_strndup(at + digits + 1, length - digits - 2);
    if (g_str_has_prefix(record, "path=")) g_free(*path), *path = g_strdup(record + 5);
    if (g_str_has_prefix(record, "GNU.sparse.")) tar->sparse = TRUE;
    if (g_str_has_prefix(record, "GNU.sparse.name=")) g_free(whole), whole = g_strdup(record + 16);
    if (g_str_has_prefix(record, "size=")) *size = g_ascii_strtoll(record + 5, NULL, 10);
    at += length, left -= length;
  }
  if (whole) g_free(*path), *path = g_steal_pointer(&whole);
  return *size >= -1 || fc_fail(error, FC_IO, "%s: a pax header is damaged", tar->input->name);
}

/* The block of the next header; 0 at the end of the file. Blocks of zeros, the end of an archive, are
 * skipped: another one may follow, as in `cat *.tar`. */
static int read_header(fc_tar_reader *tar, guint8 *block, GError **error) {
  if (!pass_member(tar, error)) return -1;
  gssize got;
  do got = fc_input_read(tar->input, block, BLOCK, error);
  while (got == BLOCK && is_zero(block, BLOCK));
  if (got <= 0) return (int)got;
  if (got < BLOCK && is_zero(block, (gsize)got)) return 0;
  if (got < BLOCK) return fail_cut(tar, error), -1;
  tar->size = tar->left = number(block + 124, 12);
  if (is_header(block) && tar->left >= 0) return 1;
  fc_fail(error, FC_IO, "%s: the header at byte %" G_GINT64_FORMAT " is damaged", tar->input->name,
          tar->input->position - BLOCK);
  return -1;
}

static char *path_of(const guint8 *block) {
  g_autofree char *name = g_strndup((const char *)block, 100),
                  *prefix = g_strndup((const char *)block + 345, 155);
  const gboolean posix = memcmp(block + 257, "ustar\0", 6) == 0;
  return posix && *prefix ? g_strconcat(prefix, "/", name, NULL) : g_strdup(name);
}

/* GNU's sparse members may have more blocks of holes behind their header. */
static gboolean pass_holes(fc_tar_reader *tar, const guint8 *header, GError **error) {
  guint8 block[BLOCK];
  tar->sparse = TRUE;
  for (gboolean more = header[482]; more; more = block[504]) {
    const gssize got = fc_input_read(tar->input, block, BLOCK, error);
    if (got < BLOCK) return got < 0 ? FALSE : fail_cut(tar, error);
  }
  return TRUE;
}

static void set_size(fc_tar_reader *tar, gint64 size) {
  tar->size = tar->left = size;
  tar->padding = (BLOCK - size % BLOCK) % BLOCK;
}

int fc_tar_next(fc_tar_reader *tar, char **path, gint64 *size, GError **error) {
  g_autofree char *long_path = NULL;
  gint64 long_size = -1;
  guint8 block[BLOCK];
  tar->sparse = FALSE;
  for (int got; (got = read_header(tar, block, error));) {
    const char type = (char)block[156];
    if (got < 0) return -1;
    set_size(tar, tar->left);
    if (type == 'x' || type == 'L' || type == 'g' || type == 'K' || type == 'V') {
      const gboolean sparse = tar->sparse;
      tar->sparse = FALSE; /* that is of the member, not of this header */
      g_free(tar->path);
      tar->path = g_strdup("a header");
      g_autoptr(GBytes) extra = fc_tar_content(tar, EXTRA_MOST, error);
      if (!extra) return -1;
      tar->sparse = sparse;
      if (type == 'x' && !read_pax(tar, extra, &long_path, &long_size, error)) return -1;
      if (type != 'L') continue;
      g_free(long_path);
      long_path = g_strndup(g_bytes_get_data(extra, NULL), g_bytes_get_size(extra));
      continue;
    }
    if (long_size >= 0) set_size(tar, long_size);
    g_autofree char *name = long_path ? g_steal_pointer(&long_path) : path_of(block);
    long_size = -1;
    tar->members++;
    if (type == 'S' && !pass_holes(tar, block, error)) return -1;
    if ((type != '0' && type != 0 && type != '7' && type != 'S') || !*name || g_str_has_suffix(name, "/")) {
      tar->skipped += type != '5' && !g_str_has_suffix(name, "/");
      tar->sparse = FALSE;
      continue;
    }
    g_free(tar->path);
    tar->path = g_strdup(name);
    *path = g_steal_pointer(&name);
    *size = tar->size;
    return 1;
  }
  return 0;
}

gint64 fc_tar_members(const fc_tar_reader *tar) {
  return tar->members;
}

gint64 fc_tar_skipped(const fc_tar_reader *tar) {
  return tar->skipped;
}

gsize fc_tar_key(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *dot = *name ? strchr(name + 1, '.') : NULL;
  return dot ? (gsize)(dot - path) : strlen(path);
}

/* ---- writing ----------------------------------------------------------------- */

/* Where a path can be cut so that both parts fit into a header; NULL: nowhere. */
static const char *cut_of(const char *path) {
  const gsize length = strlen(path);
  if (length <= 100) return path;
  for (const char *at = strchr(path, '/'); at && at - path <= 155; at = strchr(at + 1, '/'))
    if (at > path && at[1] && length - (gsize)(at - path) - 1 <= 100) return at + 1;
  return NULL;
}

static gboolean put_header(fc_output *output, const char *path, char type, gint64 size, GError **error) {
  guint8 block[BLOCK] = {0};
  char text[16];
  const char *name = cut_of(path);
  if (name && name > path) memcpy(block + 345, path, (gsize)(name - path) - 1);
  if (!name) name = path; /* as much as fits: a pax header has the whole path */
  memcpy(block, name, MIN(strlen(name), 100));
  memcpy(block + 100, "0000644\0000000000\0000000000", 24);
  snprintf(text, sizeof text, "%011" G_GINT64_MODIFIER "o", (guint64)MIN(size, OCTAL_MOST));
  memcpy(block + 124, text, 12);
  memcpy(block + 136, "00000000000", 12);
  block[156] = (guint8)type;
  memcpy(block + 257, "ustar\00000", 8);
  snprintf(text, sizeof text, "%06o", checksum(block));
  memcpy(block + 148, text, 7);
  block[155] = ' ';
  return fc_output_write(output, block, BLOCK, error);
}

static gboolean put_padded(fc_output *output, const void *data, gsize size, GError **error) {
  static const guint8 zeros[BLOCK];
  return fc_output_write(output, data, size, error) &&
         fc_output_write(output, zeros, (BLOCK - size % BLOCK) % BLOCK, error);
}

/* Its length counts its own digits. */
static void add_record(GString *to, const char *key, const char *value) {
  const gsize rest = strlen(key) + strlen(value) + 3;
  gsize length = rest + 1;
  for (int i = 0; i < 3; i++) {
    char digits[24];
    length = rest + (gsize)snprintf(digits, sizeof digits, "%" G_GSIZE_FORMAT, length);
  }
  g_string_append_printf(to, "%" G_GSIZE_FORMAT " %s=%s\n", length, key, value);
}

/* What does not fit into a header; "" if nothing. */
static GString *pax_of(const char *path, gint64 size) {
  GString *text = g_string_new(NULL);
  g_autofree char *digits = g_strdup_printf("%" G_GINT64_FORMAT, size);
  if (!cut_of(path)) add_record(text, "path", path);
  if (size > OCTAL_MOST) add_record(text, "size", digits);
  return text;
}

gboolean fc_tar_put(fc_output *output, const char *path, GBytes *bytes, GError **error) {
  gsize size;
  const void *data = g_bytes_get_data(bytes, &size);
  GString *pax = pax_of(path, (gint64)size);
  gboolean ok = TRUE;
  if (pax->len)
    ok = put_header(output, "pax", 'x', (gint64)pax->len, error) &&
         put_padded(output, pax->str, pax->len, error);
  ok = ok && put_header(output, path, '0', (gint64)size, error) && put_padded(output, data, size, error);
  g_string_free(pax, TRUE);
  return ok;
}

gint64 fc_tar_size(const char *path, gint64 size) {
  GString *pax = pax_of(path, size);
  const gint64 extra = pax->len ? BLOCK + (gint64)(pax->len + BLOCK - 1) / BLOCK * BLOCK : 0;
  g_string_free(pax, TRUE);
  return extra + BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
}

gboolean fc_tar_put_end(fc_output *output, GError **error) {
  static const guint8 zeros[2 * BLOCK];
  return fc_output_write(output, zeros, sizeof zeros, error);
}

/* SPDX-License-Identifier: MIT */
/*
 * batch.c - batches, as filterchain.h describes them: inputs are listed, outputs are named and compared with
 * each other and with the inputs before anything is written, and core/api/batch.c runs them. Costs one stat
 * for each output, and one for each input if an output exists already.
 */
#include "media/batch/batch.h"
#include "media/batch/stack.h"

#include "core/api/ends.h"
#include "media/file/formats.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* links in a row, as the system limits them */

/* ---- what it is --------------------------------------------------------------- */

static gboolean is_stream(const char *path) {
  return strcmp(path, "-") == 0;
}

static gboolean is_folder(const char *output) {
  return g_str_has_suffix(output, "/") || g_file_test(output, G_FILE_TEST_IS_DIR);
}

static gboolean is_tar(const char *path) {
  return g_str_has_suffix(path, ".tar");
}

gboolean fc_batch_is_archive(const fc_batch *b, const char *path) {
  return is_stream(path) || is_tar(path);
}

gboolean fc_batch_is_tar_format(const char *format) {
  return format && g_str_has_prefix(format, "tar") && (!format[3] || (format[3] == ':' && format[4]));
}

gboolean fc_batch_is(const fc_batch_spec *spec) {
  const char *const *inputs = spec->inputs;
  if (!inputs[0]) return FALSE;
  if (inputs[1] || spec->resume || spec->parts || fc_input_is_search(inputs[0])) return TRUE;
  g_autofree char *path = fc_file_split(inputs[0], TRUE, NULL),
                  *output = spec->output ? fc_file_split(spec->output, FALSE, NULL) : NULL;
  if (is_tar(path) || (output && (is_tar(output) || fc_stack_is_zarr(output)))) return TRUE;
  /* A single file from standard input has no name, the members of an archive have. */
  return is_stream(path) && output && !is_stream(output) && (is_folder(output) || fc_pattern_is(output));
}

/* ---- names ---------------------------------------------------------------------- */

static const char *format_of(const fc_batch *b) {
  return b->options.out_format;
}

/* With the extension of the requested format. */
static char *with_format(const char *name, const char *format) {
  const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
  if (!format) return g_strdup(name);
  const int stem = (int)(dot && dot != base ? dot - name : (gssize)strlen(name));
  return g_strdup_printf("%.*s.%s", stem, name, format);
}

/* Members that are passed through keep their extension, or have none, whatever the pattern ends in. */
static char *with_own(const char *filled, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  if (dot && dot != base) return with_format(filled, dot + 1);
  g_autofree char *name = with_format(filled, "");
  name[strlen(name) - 1] = '\0'; /* the point */
  return g_steal_pointer(&name);
}

char *fc_batch_output(const fc_batch *b, const fc_named *named, gboolean found, gboolean pass) {
  if (b->target == FC_TO_NOTHING) return NULL;
  g_autofree char *filled = fc_pattern_fill(b->target != FC_TO_FILES ? "{dir}/{name}"
                                            : b->folder && found     ? "{dir}/{name}"
                                            : b->folder              ? "{name}"
                                                                     : b->pattern,
                                            named);
  g_autofree char *name = NULL;
  if (b->target == FC_TO_FILES && !b->folder)
    name = pass ? with_own(filled, named->path) : g_strdup(filled);
  else
    name = with_format(filled, pass ? NULL : b->target == FC_TO_ARRAY ? "npy" : format_of(b));
  g_autofree char *path = b->folder ? g_build_filename(b->pattern, name, NULL) : g_strdup(name);
  return pass ? g_strdup(path) : fc_file_join(path, b->encoder);
}

static const fc_entry *entry_at(const fc_batch *b, gint64 i) {
  return &g_array_index(b->inputs.entries, fc_entry, (guint)i);
}

static char *output_at(const fc_batch *b, gint64 i) {
  const fc_entry *entry = entry_at(b, i);
  const fc_named named = {.path = entry->path, .root = entry->root, .index = i};
  return fc_batch_output(b, &named, entry->found, FALSE);
}

void fc_batch_names(const fc_batch *b, gint64 i, char **input, char **output) {
  *input = fc_entry_text(entry_at(b, i));
  *output = output_at(b, i);
}

/* ---- collisions ------------------------------------------------------------------ */

/* The target of a dangling link, through other links; g_free. */
static char *follow(const char *path) {
  char *at = g_canonicalize_filename(path, NULL);
  for (int i = 0; i < LINKS_MAX; i++) {
    g_autofree char *link = g_file_read_link(at, NULL), *from = at;
    if (!link) return g_steal_pointer(&from);
    g_autofree char *folder = g_path_get_dirname(from);
    at = g_canonicalize_filename(link, folder);
  }
  return at;
}

/* The same key for all names of one file, existing or not; NULL for what is not a file, such as a device,
 * which may be named twice. g_free. */
static char *identity_of(const char *path, gboolean *there) {
  struct stat info;
  *there = stat(path, &info) == 0;
  if (!*there) return follow(path);
  if (!S_ISREG(info.st_mode)) return NULL;
  return g_strdup_printf("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, (guint64)info.st_dev,
                         (guint64)info.st_ino);
}

static gboolean refuse_same(const fc_batch *b, gint64 first, gint64 second, GError **error) {
  g_autofree char *one = output_at(b, first), *other = output_at(b, second);
  const char *a = entry_at(b, first)->path, *c = entry_at(b, second)->path;
  if (strcmp(one, other) == 0)
    return fc_fail(error, FC_INVALID, "%s and %s would both be written to %s%s%s", a, c, other,
                   b->target == FC_TO_SHARDS ? " in " : "", b->target == FC_TO_SHARDS ? b->pattern : "");
  return fc_fail(error, FC_INVALID, "%s and %s would both be written to one file: %s is %s", a, c, other,
                 one);
}

/* All outputs, and whether any of them exists already. */
static gboolean name_outputs(fc_batch *b, gboolean *some, GError **error) {
  *some = FALSE;
  for (gint64 i = 0; i < b->inputs.entries->len; i++) {
    gboolean there;
    g_autofree char *output = output_at(b, i), *path = fc_file_split(output, FALSE, NULL);
    char *identity = identity_of(path, &there);
    gpointer other;
    if (!identity) continue;
    if (g_hash_table_lookup_extended(b->out_identities, identity, NULL, &other)) {
      g_free(identity);
      return refuse_same(b, GPOINTER_TO_SIZE(other), i, error);
    }
    *some |= there;
    g_hash_table_insert(b->out_identities, identity, GSIZE_TO_POINTER((gsize)i));
  }
  return TRUE;
}

/* Members of archives have names of their own. */
static gboolean check_members(const fc_batch *b, GError **error) {
  g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (gint64 i = 0; i < b->inputs.entries->len; i++) {
    g_autofree char *output = output_at(b, i);
    char *name = fc_file_split(output, FALSE, NULL);
    const gpointer other = g_hash_table_lookup(names, name);
    if (other) {
      g_free(name);
      return refuse_same(b, (gint64)GPOINTER_TO_SIZE(other) - 1, i, error);
    }
    g_hash_table_insert(names, name, GSIZE_TO_POINTER((gsize)i + 1));
  }
  return TRUE;
}

/* No output may overwrite another output, or another one's input, under any name. An output may replace its
 * own input. */
static gboolean check_names(fc_batch *b, GError **error) {
  gboolean some = FALSE, there;
  if (b->target == FC_TO_SHARDS && !b->archives) return check_members(b, error);
  if (b->target != FC_TO_FILES || b->archives) return TRUE;
  if (!name_outputs(b, &some, error)) return FALSE;
  for (gint64 i = 0; some && i < b->inputs.entries->len; i++) {
    const fc_entry *entry = entry_at(b, i);
    g_autofree char *identity = identity_of(entry->path, &there);
    gpointer other;
    if (!identity || !there) continue;
    if (g_hash_table_lookup_extended(b->out_identities, identity, NULL, &other) &&
        GPOINTER_TO_SIZE(other) != (gsize)i) {
      g_autofree char *output = output_at(b, (gint64)GPOINTER_TO_SIZE(other));
      return fc_fail(error, FC_INVALID, "%s would be written to %s, which is %s",
                     entry_at(b, (gint64)GPOINTER_TO_SIZE(other))->path, output, entry->path);
    }
  }
  return TRUE;
}

/* Archives and arrays: against the inputs. */
static gboolean check_one_output(const fc_batch *b, GError **error) {
  gboolean there;
  if (b->target != FC_TO_ARRAY && !(b->target == FC_TO_SHARDS && !fc_pattern_is(b->pattern))) return TRUE;
  g_autofree char *identity = identity_of(b->pattern, &there);
  for (guint i = 0; there && identity && i < b->inputs.entries->len; i++) {
    g_autofree char *own = identity_of(entry_at(b, i)->path, &there);
    if (own && there && strcmp(own, identity) == 0)
      return fc_fail(error, FC_INVALID, "%s: is an input too: name another output", b->pattern);
    there = TRUE;
  }
  return TRUE;
}

const char *fc_batch_has(const fc_batch *b, const char *path, gboolean as_output) {
  gboolean there, other;
  gpointer found;
  g_autofree char *identity = identity_of(path, &there);
  if (!identity) return NULL;
  if (as_output)
    return g_hash_table_lookup_extended(b->out_identities, identity, NULL, &found)
               ? entry_at(b, (gint64)GPOINTER_TO_SIZE(found))->path
               : NULL;
  for (guint i = 0; there && i < b->inputs.entries->len; i++) {
    g_autofree char *own = identity_of(entry_at(b, i)->path, &other);
    if (own && other && strcmp(own, identity) == 0) return entry_at(b, i)->path;
  }
  return NULL;
}

/* ---- making one -------------------------------------------------------------------- */

static gboolean check_target(fc_batch *b, GError **error) {
  const fc_batch_spec *s = &b->spec;
  const gboolean limited = s->shard_items > 0 || s->shard_bytes > 0, sliced = s->parts > 1;
  if (limited && b->target != FC_TO_SHARDS)
    return fc_fail(error, FC_INVALID, "--shard-size is for archives: -o 'out-{shard:06}.tar'");
  if (b->target == FC_TO_SHARDS && is_stream(b->pattern) && (limited || s->resume))
    return fc_fail(error, FC_INVALID, "standard output takes one archive, written whole, without %s",
                   limited ? "--shard-size" : "--resume");
  if (b->target == FC_TO_SHARDS && (limited || sliced) && !is_stream(b->pattern) &&
      !fc_pattern_has(b->pattern, "shard"))
    return fc_fail(error, FC_INVALID,
                   "%s: several archives need {shard} in their name, as in out-{shard:06}.tar", b->pattern);
  if (b->target == FC_TO_ARRAY && (s->resume || sliced))
    return fc_fail(error, FC_INVALID, "%s: one array is written whole, without --resume and --shard",
                   b->pattern);
  g_autofree char *there = b->target == FC_TO_ARRAY ? fc_stack_there(b->pattern) : NULL;
  if (there)
    return fc_fail(error, FC_INVALID, "%s: is there already: remove it, or name another", b->pattern);
  if (b->target == FC_TO_NOTHING && s->resume)
    return fc_fail(error, FC_INVALID, "--resume: a single output is always made anew");
  if (s->parts && (s->part < 0 || s->part >= s->parts))
    return fc_fail(error, FC_INVALID,
                   "--shard %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT
                   ": numbers begin with 0, so the last one is %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT,
                   s->part, s->parts, s->parts - 1, s->parts);
  return TRUE;
}

/* Placeholders that differ for each output, although several outputs are one file; or {shard}, although they
 * are not. */
static gboolean check_words(fc_batch *b, GError **error) {
  static const char *const of_each[] = {"name", "stem", "ext", "dir", "index"};
  const char *pattern = b->pattern;
  if (!fc_pattern_check(pattern, error)) return FALSE;
  if (b->target == FC_TO_FILES && fc_pattern_has(pattern, "shard"))
    return fc_fail(error, FC_INVALID, "%s: {shard} is for archives (.tar); a file's number is {index}",
                   pattern);
  for (guint i = 0; b->target == FC_TO_SHARDS && i < G_N_ELEMENTS(of_each); i++)
    if (fc_pattern_has(pattern, of_each[i]))
      return fc_fail(error, FC_INVALID,
                     "%s: {%s} is of one output, and an archive holds several; its number is {shard}",
                     pattern, of_each[i]);
  return TRUE;
}

static gboolean choose_target(fc_batch *b, GError **error) {
  const char *output = b->spec.output;
  if (!output) return check_target(b, error);
  b->pattern = fc_file_split(output, FALSE, &b->encoder);
  const char *path = b->pattern, *extension = strrchr(path, '.'), *format = b->options.out_format;
  const gboolean searched = b->inputs.searched || b->archives, zarr = fc_stack_is_zarr(path);
  b->folder = !is_stream(path) && !zarr && is_folder(path);
  if (g_str_has_suffix(path, "/") && fc_pattern_is(path))
    return fc_pattern_check(path, error) &&
           fc_fail(error, FC_INVALID, "%s: names a folder for each file: name the files too, as in %s{name}",
                   path, path);
  b->target = FC_TO_FILES;
  if (b->folder) return check_target(b, error);
  if (is_tar(path))
    b->target = FC_TO_SHARDS;
  else if (is_stream(path) && fc_batch_is_tar_format(format)) {
    b->target = FC_TO_SHARDS;
    b->options.out_format = format[3] ? format + 4 : NULL;
  } else if (zarr && !fc_pattern_is(path))
    b->target = FC_TO_ARRAY;
  else if (extension && strcmp(extension, ".npy") == 0 && !fc_pattern_is(path))
    b->target = FC_TO_ARRAY;
  else if (is_stream(path) && (b->inputs.entries->len > 1 || searched || b->spec.inputs[1]))
    return fc_fail(
        error, FC_INVALID,
        "standard output takes one output, or an archive of all (--format tar, or tar:png of PNG): name a "
        "folder (out/), a pattern (out/{stem}.png) or an archive (out.tar)");
  else if (!fc_pattern_is(path) && (b->inputs.entries->len > 1 || searched || b->spec.inputs[1]))
    return fc_pattern_check(path, error) &&
           fc_fail(error, FC_INVALID,
                   "%s: several inputs need -o to name a folder (%s/ is made), or a pattern with {stem}; "
                   "--concat joins sounds",
                   path, path);
  return check_words(b, error) && check_target(b, error);
}

/* A file that is not an archive has no name that its output could be made of. */
static gboolean refuse_stream(const fc_batch *b, GError **error) {
  const char *output = b->spec.output, *what = b->stream ? fc_probe_describe(b->stream) : NULL;
  if (fc_batch_is_tar_format(b->options.out_format) || is_tar(output) || what)
    return fc_fail(error, FC_IO, "standard input is not a tar archive (ustar, pax or GNU)%s%s",
                   what ? " but " : "", what ? what : "");
  return fc_fail(error, FC_INVALID, "%s is a %s, and standard input has no name to keep: give -o FILE",
                 output, is_folder(output) ? "folder" : "pattern");
}

/* Standard input can only be one archive. */
static gboolean check_stream(fc_batch *b, GError **error) {
  for (guint i = 0; i < b->inputs.entries->len; i++) {
    const char *path = entry_at(b, i)->path;
    if (is_stream(path) && b->inputs.entries->len > 1)
      return fc_fail(error, FC_INVALID, "standard input cannot be part of a batch: give -i - alone");
    b->archives |= fc_batch_is_archive(b, path);
    if (!is_stream(path)) continue;
    if (!b->spec.output)
      return fc_fail(error, FC_INVALID, "standard input cannot be part of a batch: give -i - alone");
    b->stream = fc_input_open("-", b->options.cancel, NULL);
    if (!b->stream || !fc_tar_is(b->stream)) return refuse_stream(b, error);
  }
  return TRUE;
}

static gboolean is_below(const char *path, const char *folder) {
  const gsize length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* If the outputs' folder is below a searched folder, outputs of earlier runs are not inputs.
 */
static void pass_over_outputs(fc_batch *b) {
  GArray *entries = b->inputs.entries;
  g_autofree char *fixed = !b->pattern ? NULL
                           : b->folder ? g_strdup(b->pattern)
                                       : fc_pattern_folder(b->pattern);
  g_autofree char *folder = fixed && *fixed ? g_canonicalize_filename(fixed, NULL) : NULL;
  guint kept = 0;
  for (guint i = 0; folder && i < entries->len; i++) {
    const fc_entry entry = g_array_index(entries, fc_entry, i);
    g_autofree char *root = g_strndup(entry.path, entry.root), *whole = g_canonicalize_filename(root, NULL),
                    *path = entry.found ? g_canonicalize_filename(entry.path, NULL) : NULL;
    if (path && is_below(folder, whole) && is_below(path, folder)) {
      g_free(entry.path);
      b->inputs.skipped++;
    } else
      g_array_index(entries, fc_entry, kept++) = entry;
  }
  if (folder) g_array_set_size(entries, kept);
}

static gboolean has_inputs(fc_batch *b, GError **error) {
  pass_over_outputs(b);
  return b->inputs.entries->len > 0 ||
         fc_fail(error, FC_IO, "%s: there are no inputs but what is in the folder of the outputs",
                 b->spec.inputs[0]);
}

fc_batch *fc_batch_new(fc_chain *chain, const fc_batch_spec *spec, const fc_options *options,
                       GError **error) {
  g_autoptr(fc_batch) b = g_new0(fc_batch, 1);
  b->chain = chain;
  memcpy(&b->spec, spec, MIN(spec->size, sizeof b->spec));
  memcpy(&b->options, options, MIN(options->size, sizeof b->options));
  b->options.size = sizeof b->options;
  b->out_identities = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  /* What is resumed may have nothing left to do. */
  if (spec->output && spec->inputs[0] && fc_input_is_search(spec->inputs[0]) && !b->spec.resume &&
      !b->spec.names_only)
    b->starting = fc_start_device(chain, options->device);
  if (fc_inputs_expand(&b->inputs, spec->inputs, spec->recursive, options->in_format || options->in_raw,
                       error) &&
      check_stream(b, error) && choose_target(b, error) && has_inputs(b, error) && check_names(b, error) &&
      check_one_output(b, error))
    return g_steal_pointer(&b);
  return NULL;
}

void fc_batch_free(fc_batch *b) {
  if (!b) return;
  if (b->starting) b->chain->context->driver->start_wait(b->starting);
  fc_inputs_clear(&b->inputs);
  fc_collect_free(b->collect);
  fc_record_free(b->record);
  fc_tar_free(b->tar);
  fc_input_free(b->stream);
  g_hash_table_unref(b->out_identities);
  g_free(b->pattern);
  g_free(b->encoder);
  g_free(b->tar_name);
  g_free(b->key);
  g_clear_error(&b->error);
  g_free(b);
}

gint64 fc_batch_count(const fc_batch *b) {
  const gint64 n = b->inputs.entries->len;
  if (b->archives) return -1;
  return b->spec.parts > 1 ? (n - b->spec.part + b->spec.parts - 1) / b->spec.parts : n;
}

gint64 fc_batch_skipped(const fc_batch *b) {
  return b->inputs.skipped;
}

gint64 fc_batch_resumed(const fc_batch *b) {
  return b->resumed;
}

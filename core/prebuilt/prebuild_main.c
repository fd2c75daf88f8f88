/* SPDX-License-Identifier: MIT */
/*
 * prebuild_main.c - a program of the build: compiles the kernels of prebuilt.list into archives (archive.h).
 *
 *   prebuild ROOT PLUGINS JIT LIBNVRTC FILE-sm_90...
 *   prebuild ROOT PLUGINS                  prints the kernels' texts
 *
 * ROOT is that of the source, for files that the list names. Each line of the list is planned as a run on a
 * GPU would be, so the texts are those that such a run asks for; no device is needed. An archive made before
 * is read first, and what has not changed is kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/device/kernel_cache.h"
#include "core/plan/plan.h"
#include "core/prebuilt/archive.h"

/* The entry of an archive that identifies the compiler. */
#define COMPILER "compiler"

/* ---- a device to plan for ------------------------------------------------------------- */

static gboolean present(void) {
  return TRUE;
}

static const fc_driver imagined = {.kind = FC_KIND_CUDA, .present = present};

/* ---- the list --------------------------------------------------------------------------- */

G_NORETURN static void end(const char *line, const char *why) {
  fprintf(stderr, "prebuilt.list: %s: %s\n", line, why);
  exit(1);
}

static int dtype_of(const char *name) {
  for (int d = 0; d < FC_DTYPE_COUNT; d++)
    if (strcmp(fc_dtype_name(d), name) == 0) return d;
  return -1;
}

/* "image u8 1920x1080x3 [-> f32]", "audio i16 2", "array f32 4096x4096"; the rest of the line is a chain. */
static gboolean read_signal(char **words, fc_format *in, int *wanted, guint *rest) {
  static const char *const kinds[] = {[FC_AUDIO] = "audio", [FC_IMAGE] = "image", [FC_ARRAY] = "array"};
  const guint n = g_strv_length(words);
  long x = 0, y = 1, c = 1;
  *in = (fc_format){.size = sizeof *in, .kind = -1, .rate = 48000};
  for (int k = 0; n > 3 && k < (int)G_N_ELEMENTS(kinds); k++)
    if (strcmp(words[0], kinds[k]) == 0) in->kind = k;
  if (in->kind < 0 || (in->dtype = dtype_of(words[1])) < 0) return FALSE;
  if (in->kind == FC_AUDIO ? sscanf(words[2], "%ld", &c) != 1
                           : sscanf(words[2], "%ldx%ldx%ld", &x, &y, &c) < 2)
    return FALSE;
  if (in->kind == FC_AUDIO) x = 60 * 48000;
  in->bits = in->dtype == FC_F32 ? 24 : in->dtype == FC_F64 ? 53 : 8 * (int)fc_dtype_size(in->dtype);
  in->extent[FC_AXIS_N] = 1, in->extent[FC_AXIS_Y] = y, in->extent[FC_AXIS_X] = x, in->extent[FC_AXIS_C] = c;
  fc_plan_set_white(in);
  const gboolean told = n > 5 && strcmp(words[3], "->") == 0;
  *wanted = told ? dtype_of(words[4]) : in->dtype, *rest = told ? 5 : 3;
  return *wanted >= 0 && x > 0 && y > 0 && c > 0;
}

static void add_texts(fc_context *context, const char *line, GHashTable *texts) {
  g_auto(GStrv) words = g_strsplit(line, " ", -1);
  g_autoptr(GError) error = NULL;
  fc_options options = FC_OPTIONS_INIT;
  fc_format in;
  int wanted;
  guint rest, found = 0, before = g_hash_table_size(texts);
  options.device = "cuda";
  if (!read_signal(words, &in, &wanted, &rest)) end(line, "is not: KIND TYPE SIZE [-> TYPE] STAGE...");
  fc_chain *chain = fc_chain_parse(context, (const char *const *)words + rest, &error);
  const fc_plan_query query = {.in = &in, .wanted = wanted, .rows = TRUE, .options = &options};
  g_autoptr(fc_plan) plan = chain ? fc_plan_new(chain, &query, &error) : NULL;
  if (!plan) end(line, error->message);
  for (guint s = 0; s < plan->n; s++)
    for (int aligned = 0; aligned < 2; aligned++) {
      char *text = fc_plan_kernel_text(plan, s, aligned);
      found += text != NULL;
      if (text) g_hash_table_add(texts, text);
    }
  if (found ? g_hash_table_size(texts) == before : !FC_KERNELS_BUILT)
    end(line, found ? "other lines have its kernels" : "there is no kernel of it");
  g_clear_pointer(&plan, fc_plan_unref);
  fc_chain_free(chain);
}

/* A set of the texts of all lines but empty ones and comments. */
static GHashTable *read_list(const char *plugins) {
  static const char path[] = "core/prebuilt/prebuilt.list";
  GHashTable *texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *content = NULL;
  g_autoptr(GError) error = NULL;
  if (!g_file_get_contents(path, &content, NULL, &error)) end(path, error->message);
  g_auto(GStrv) lines = g_strsplit(content, "\n", -1);
  fc_context *context = fc_context_new();
  context->driver = &imagined;
  fc_registry_set_home(context->registry, plugins, "/nonexistent");
  for (guint i = 0; lines[i]; i++)
    if (*g_strstrip(lines[i]) && *lines[i] != '#') add_texts(context, lines[i], texts);
  fc_context_free(context);
  return texts;
}

/* ---- compiling ---------------------------------------------------------------------------- */

typedef struct archive {
  const char *path, *helper, *compiler;
  int major, minor;
  gboolean usable; /* the file that is there was made by the same compiler */
  GMutex mutex;
  GHashTable *codes; /* key -> GBytes */
} archive;

static void make(gpointer text, gpointer data) {
  enum { LONG = 10 * 60 * 1000 }; /* a build may share its processors with many others */
  archive *a = data;
  g_autoptr(GError) error = NULL;
  char *key = fc_kernel_prebuilt_key(a->major, a->minor, text);
  GBytes *code = a->usable ? fc_archive_find(a->path, key) : NULL;
  if (!code) code = fc_jit_compile(a->helper, a->compiler, a->major, a->minor, text, LONG, NULL, &error);
  if (!code) end(a->path, error->message);
  g_mutex_lock(&a->mutex);
  g_hash_table_insert(a->codes, key, code);
  g_mutex_unlock(&a->mutex);
}

/* The chip is the end of the file's name. */
static void write_archive(archive *a, GHashTable *texts) {
  const char *chip = strrchr(a->path, '_');
  const int number = chip ? atoi(chip + 1) : 0;
  g_autoptr(GError) error = NULL;
  g_autofree char *identity = fc_jit_identity(a->compiler);
  g_autoptr(GBytes) made_by = g_bytes_new(identity, strlen(identity) + 1),
                    before = fc_archive_find(a->path, COMPILER);
  if (number < 10) end(a->path, "ends with no chip");
  a->major = number / 10, a->minor = number % 10;
  a->usable = before && g_bytes_equal(before, made_by);
  a->codes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
  g_mutex_init(&a->mutex);
  GThreadPool *pool = g_thread_pool_new(make, a, (int)g_get_num_processors(), FALSE, NULL);
  GHashTableIter it;
  gpointer text;
  for (g_hash_table_iter_init(&it, texts); g_hash_table_iter_next(&it, &text, NULL);)
    g_thread_pool_push(pool, text, NULL);
  g_thread_pool_free(pool, FALSE, TRUE);
  g_hash_table_insert(a->codes, g_strdup(COMPILER), g_bytes_ref(made_by));
  if (!fc_archive_write(a->path, a->codes, &error)) end(a->path, error->message);
  g_hash_table_destroy(a->codes);
  g_mutex_clear(&a->mutex);
}

int main(int argc, char **argv) {
  if (argc != 3 && argc < 6) return 2;
  for (int i = 1; i < argc; i++) argv[i] = g_canonicalize_filename(argv[i], NULL);
  if (chdir(argv[1]) != 0) end(argv[1], "is not there");
  g_autoptr(GHashTable) texts = read_list(argv[2]);
  if (argc == 3) {
    GHashTableIter it;
    gpointer text;
    for (g_hash_table_iter_init(&it, texts); g_hash_table_iter_next(&it, &text, NULL);) puts(text);
  }
  for (int i = 5; i < argc; i++) {
    archive a = {.path = argv[i], .helper = argv[3], .compiler = argv[4]};
    write_archive(&a, texts);
  }
  return 0;
}

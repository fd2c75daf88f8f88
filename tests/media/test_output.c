/* SPDX-License-Identifier: MIT */
/*
 * test_output.c - outputs appear complete or not at all: whatever is at the target,
 * whatever fails, and whoever else writes there.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/contract/filterchain.h"
#include "media/file/blocks.h"
#include "media/file/output.h"
#include "media/file/temporaries.h"
#include "tests/media/support.h"

#define TEXT "what is new"
#define OLD  "what was there"

static fc_output *opened(const char *path, unsigned flags) {
  GError *error = NULL;
  fc_output *output = fc_output_open(path, flags, &error);
  g_assert_no_error(error);
  g_assert_true(fc_output_write(output, TEXT, strlen(TEXT), &error));
  g_assert_no_error(error);
  return output;
}

static void commit(fc_output *output) {
  GError *error = NULL;
  fc_output_commit(output, &error);
  g_assert_no_error(error);
  fc_output_free(output);
  g_assert_cmpuint(leftovers(), ==, 0);
}

static void assert_holds(const char *path, const char *text) {
  bytes b = load(path);
  g_assert_cmpmem(b.data, b.size, text, strlen(text));
  clear_bytes(&b);
}

static void assert_open_fails(const char *path, unsigned flags, const char *message) {
  GError *error = NULL;
  g_assert_null(fc_output_open(path, flags, &error));
  g_assert_nonnull(error);
  g_assert_cmpstr(error->message, ==, message);
  g_error_free(error);
  g_assert_cmpuint(leftovers(), ==, 0);
}

static mode_t mode_of(const char *path) {
  struct stat info;
  g_assert_cmpint(stat(path, &info), ==, 0);
  return info.st_mode & 07777;
}

/* Nothing at the target until commit; nothing at all without one. */
static void test_appears_at_commit(void) {
  g_autofree char *path = scratch("new");
  fc_output *output = opened(path, 0);
  g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
  g_assert_cmpuint(leftovers(), ==, 1);
  fc_output_free(output);
  g_assert_cmpuint(leftovers(), ==, 0);
  g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
  commit(opened(path, FC_OUTPUT_SYNC));
  assert_holds(path, TEXT);
}

static void test_old_content_survives(void) {
  g_autofree char *path = scratch("old");
  store(path, OLD, strlen(OLD));
  fc_output_free(opened(path, 0));
  assert_holds(path, OLD);
  commit(opened(path, 0));
  assert_holds(path, TEXT);
}

static void test_umask_and_mode(void) {
  g_autofree char *path = scratch("mode");
  mode_t before = umask(027);
  commit(opened(path, 0));
  umask(before);
  g_assert_cmpint(mode_of(path), ==, 0640);
  static const mode_t modes[] = {0600, 0644, 0666, 0755, 02755};
  for (gsize i = 0; i < G_N_ELEMENTS(modes); i++) {
    g_assert_cmpint(chmod(path, modes[i]), ==, 0);
    commit(opened(path, 0));
    g_assert_cmpint(mode_of(path), ==, modes[i]);
  }
}

/* A private file is never readable under its temporary name. */
static void test_private_meanwhile(void) {
  g_autofree char *path = scratch("private");
  store(path, OLD, strlen(OLD));
  g_assert_cmpint(chmod(path, 0600), ==, 0);
  fc_output *output = opened(path, 0);
  g_autofree char *dir = g_path_get_dirname(path);
  GDir *folder = g_dir_open(dir, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name(folder)))
    if (name[0] == '.') {
      g_autofree char *temporary = g_build_filename(dir, name, NULL);
      g_assert_cmpint(mode_of(temporary) & 077, ==, 0);
    }
  g_dir_close(folder);
  fc_output_free(output);
}

/* Whoever may write into the folder, and guesses the name of a temporary, makes us write nowhere else. */
static void test_name_is_taken(void) {
  g_autofree char *path = scratch("taken"), *victim = scratch("victim"), *link_at = NULL, *file_at = NULL;
  g_autofree char *dir = g_path_get_dirname(path);
  store(victim, OLD, strlen(OLD));
  for (int planted = 0; planted < 3; planted++) {
    g_random_set_seed(7);
    fc_output *output = opened(path, 0);
    GDir *folder = g_dir_open(dir, 0, NULL);
    g_autofree char *fresh = NULL;
    for (const char *name; (name = g_dir_read_name(folder));) {
      g_autofree char *at = g_build_filename(dir, name, NULL);
      gboolean ours = name[0] == '.' && g_strcmp0(at, link_at) != 0 && g_strcmp0(at, file_at) != 0;
      if (ours) g_assert_null(fresh);
      if (ours) fresh = g_steal_pointer(&at);
    }
    g_dir_close(folder);
    g_assert_nonnull(fresh);
    fc_output_free(output);
    if (planted == 0) {
      link_at = g_steal_pointer(&fresh);
      g_assert_cmpint(symlink("victim", link_at), ==, 0);
    } else if (planted == 1) {
      file_at = g_steal_pointer(&fresh);
      g_assert_cmpint(link(victim, file_at), ==, 0);
    }
  }
  assert_holds(victim, OLD);
  g_assert_cmpint(unlink(link_at) + unlink(file_at), ==, 0);
  g_random_set_seed((guint32)g_get_real_time());
}

/* The link stays, what it names is replaced; also where nothing is there yet. */
static void test_symbolic_links(void) {
  g_autofree char *real = scratch("real"), *link = scratch("link"), *second = scratch("second");
  store(real, OLD, strlen(OLD));
  g_assert_cmpint(symlink("real", link), ==, 0);
  g_assert_cmpint(symlink(link, second), ==, 0);
  commit(opened(second, 0));
  g_assert_true(g_file_test(second, G_FILE_TEST_IS_SYMLINK));
  g_assert_true(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
  g_assert_false(g_file_test(real, G_FILE_TEST_IS_SYMLINK));
  assert_holds(real, TEXT);
  g_assert_cmpint(unlink(real), ==, 0);
  commit(opened(link, 0));
  assert_holds(real, TEXT);

  g_autofree char *loop = scratch("loop");
  g_assert_cmpint(symlink("loop", loop), ==, 0);
  g_autofree char *message = g_strdup_printf("%s: cannot be created: %s", loop, g_strerror(ELOOP));
  assert_open_fails(loop, 0, message);
}

/* The other name of a hard link keeps the old content. */
static void test_hard_link(void) {
  g_autofree char *path = scratch("one"), *other = scratch("other");
  store(path, OLD, strlen(OLD));
  g_assert_cmpint(link(path, other), ==, 0);
  commit(opened(path, 0));
  assert_holds(path, TEXT);
  assert_holds(other, OLD);
}

static void test_no_clobber(void) {
  g_autofree char *path = scratch("clobber");
  commit(opened(path, FC_OUTPUT_NO_CLOBBER));
  g_autofree char *exists =
      g_strdup_printf("%s: exists already; name another file or leave out --no-clobber", path);
  assert_open_fails(path, FC_OUTPUT_NO_CLOBBER, exists);
}

/* It appears while we write: it is not ours to replace. */
static void test_no_clobber_race(void) {
  g_autofree char *path = scratch("race");
  fc_output *output = opened(path, FC_OUTPUT_NO_CLOBBER);
  store(path, OLD, strlen(OLD));
  GError *error = NULL;
  g_assert_false(fc_output_commit(output, &error));
  g_assert_error(error, FC_ERROR, FC_IO);
  g_assert_nonnull(strstr(error->message, "was created in the meantime"));
  g_error_free(error);
  fc_output_free(output);
  assert_holds(path, OLD);
  g_assert_cmpuint(leftovers(), ==, 0);
}

static gpointer race_thread(gpointer path) {
  GError *error = NULL;
  fc_output *output = fc_output_open(path, FC_OUTPUT_NO_CLOBBER, &error);
  gboolean won =
      output && fc_output_write(output, TEXT, strlen(TEXT), &error) && fc_output_commit(output, &error);
  fc_output_free(output);
  g_clear_error(&error);
  return GINT_TO_POINTER(won);
}

/* Of many at once exactly one wins. */
static void test_no_clobber_many(void) {
  for (int round = 0; round < 20; round++) {
    g_autofree char *path = scratch("many");
    GThread *threads[8];
    int won = 0;
    for (int i = 0; i < 8; i++) threads[i] = g_thread_new("race", race_thread, path);
    for (int i = 0; i < 8; i++) won += GPOINTER_TO_INT(g_thread_join(threads[i]));
    g_assert_cmpint(won, ==, 1);
    assert_holds(path, TEXT);
    g_assert_cmpuint(leftovers(), ==, 0);
    g_assert_cmpint(unlink(path), ==, 0);
  }
}

static void test_wrong_targets(void) {
  g_autofree char *dir = scratch("folder"), *slash = scratch("folder/"), *missing = scratch("nowhere/file");
  g_autofree char *nowhere = scratch("nowhere");
  g_assert_cmpint(g_mkdir(dir, 0755), ==, 0);
  g_autofree char *a = g_strdup_printf("%s: is a directory; name a file in it", dir);
  g_autofree char *b = g_strdup_printf("%s/: names a folder; name a file in it", dir);
  g_autofree char *c = g_strdup_printf("%s: there is no folder %s", missing, nowhere);
  assert_open_fails(dir, 0, a);
  assert_open_fails(slash, 0, b);
  assert_open_fails(missing, 0, c);
}

/* A file that may not be written is not replaced behind its back. Root may everything. */
static void test_read_only(void) {
  if (geteuid() == 0) {
    g_test_skip("root may write everywhere");
    return;
  }
  g_autofree char *path = scratch("read-only");
  store(path, OLD, strlen(OLD));
  g_assert_cmpint(chmod(path, 0444), ==, 0);
  g_autofree char *message = g_strdup_printf("%s: cannot be written: %s", path, g_strerror(EACCES));
  assert_open_fails(path, 0, message);
}

/* The folder may not be written, the file in it may: its content is replaced in place. */
static void test_closed_folder(void) {
  if (geteuid() == 0) {
    g_test_skip("root may write everywhere");
    return;
  }
  g_autofree char *dir = scratch("closed"), *path = scratch("closed/file"), *fresh = scratch("closed/fresh");
  g_assert_cmpint(g_mkdir(dir, 0755), ==, 0);
  store(path, "something much longer than what comes", 37);
  g_assert_cmpint(chmod(dir, 0555), ==, 0);
  fc_output_free(opened(path, 0));
  assert_holds(path, "something much longer than what comes");
  commit(opened(path, 0));
  assert_holds(path, TEXT);
  g_autofree char *message = g_strdup_printf("%s: cannot be created: %s", fresh, g_strerror(EACCES));
  assert_open_fails(fresh, 0, message);
  g_assert_cmpint(chmod(dir, 0755), ==, 0);
}

/* Every write to /dev/full fails, and so does every way to it. */
static void test_full_device(void) {
  for (unsigned flags = 0; flags <= FC_OUTPUT_SEEKS; flags += FC_OUTPUT_SEEKS) {
    GError *error = NULL;
    fc_output *output = opened("/dev/full", flags);
    g_assert_false(fc_output_commit(output, &error));
    g_assert_error(error, FC_ERROR, FC_IO);
    g_assert_nonnull(strstr(error->message, g_strerror(ENOSPC)));
    g_error_free(error);
    fc_output_free(output);
  }
  commit(opened("/dev/null", 0));
}

/* Straight, or when it is complete where the writer goes back. */
static void test_pipe(void) {
  for (unsigned flags = 0; flags <= FC_OUTPUT_SEEKS; flags += FC_OUTPUT_SEEKS) {
    int between[2];
    char got[64] = "";
    g_assert_cmpint(pipe(between), ==, 0);
    g_autofree char *path = g_strdup_printf("/dev/fd/%d", between[1]);
    fc_output *output = opened(path, flags);
    g_assert_cmpint(fc_output_seekable(output), ==, flags != 0);
    if (flags) g_assert_true(fc_output_write_at(output, 0, "WHAT", 4, NULL));
    commit(output);
    g_assert_cmpint(read(between[0], got, sizeof got), ==, strlen(TEXT));
    g_assert_cmpstr(got, ==, flags ? "WHAT is new" : TEXT);
    close(between[0]);
    close(between[1]);
  }
}

/* What the shell opened with >> keeps what is in it. */
static void test_descriptor_of_file(void) {
  g_autofree char *path = scratch("appended");
  store(path, OLD, strlen(OLD));
  int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  g_autofree char *name = g_strdup_printf("/dev/fd/%d", fd);
  commit(opened(name, FC_OUTPUT_SEEKS));
  close(fd);
  assert_holds(path, OLD TEXT);
}

/* Bytes of all sizes, and going back, give what memory would hold. */
static void test_seeking(void) {
  g_autofree char *path = scratch("seek");
  g_autofree guint8 *model = g_malloc0(2 << 20), *block = g_malloc(300000);
  gsize size = 0;
  guint32 state = 5;
  fc_output *output = fc_output_open(path, FC_OUTPUT_SEEKS, NULL);
  for (int i = 0; i < 60; i++) {
    gsize some = noise(&state) % (i % 7 == 0 ? 200000 : 5000), at = size;
    for (gsize k = 0; k < some; k++) block[k] = (guint8)noise(&state);
    if (i % 3 == 2) at = noise(&state) % (size + 1);
    if (at + some > 2 << 20) continue;
    g_assert_true(at == size ? fc_output_write(output, block, some, NULL)
                             : fc_output_write_at(output, (gint64)at, block, some, NULL));
    memcpy(model + at, block, some);
    size = MAX(size, at + some);
    g_assert_cmpint(fc_output_size(output), ==, size);
  }
  g_assert_cmpint(fc_output_read_at(output, 100, block, 1000), ==, 1000);
  g_assert_cmpmem(block, 1000, model + 100, 1000);
  commit(output);
  bytes b = load(path);
  g_assert_cmpmem(b.data, b.size, model, size);
  clear_bytes(&b);
}

/* What a signal handler calls. */
static void test_remove_all(void) {
  g_autofree char *a = scratch("sig-a"), *b = scratch("sig-b"), *done = scratch("sig-done");
  commit(opened(done, 0));
  fc_output *first = opened(a, 0), *second = opened(b, 0);
  g_assert_cmpuint(leftovers(), ==, 2);
  fc_output_remove_all();
  g_assert_cmpuint(leftovers(), ==, 0);
  assert_holds(done, TEXT);
  fc_output_free(first);
  fc_output_free(second);
}

static gpointer list_thread(gpointer dir) {
  for (int i = 0; i < 2000; i++) {
    g_autofree char *path = g_strdup_printf("%s/none-%p-%d", (char *)dir, (void *)&path, i);
    fc_temporary *temporary = fc_temporary_add(path);
    g_assert_nonnull(temporary);
    fc_temporary_drop(temporary);
  }
  return NULL;
}

static void test_list_from_threads(void) {
  g_autofree char *dir = scratch("threads");
  GThread *threads[6];
  for (int i = 0; i < 6; i++) threads[i] = g_thread_new("list", list_thread, dir);
  for (int i = 0; i < 100; i++) fc_output_remove_all();
  for (int i = 0; i < 6; i++) g_thread_join(threads[i]);
}

/* Input and output are one file, by name, by symbolic or by hard link. */
static void test_onto_input(void) {
  g_autofree char *in = scratch("onto.wav"), *soft = scratch("soft.wav"), *hard = scratch("hard.wav"),
                  *before = scratch("before.wav");
  make_sound(in, 0x010002, 8000, 2, 5000);
  make_sound(before, 0x010002, 8000, 2, 5000);
  assert_copies(in, in);
  assert_same_bytes(in, before);
  g_assert_cmpint(symlink(in, soft), ==, 0);
  assert_copies(in, soft);
  assert_same_bytes(in, before);
  g_assert_true(g_file_test(soft, G_FILE_TEST_IS_SYMLINK));
  g_assert_cmpint(link(in, hard), ==, 0);
  assert_copies(in, hard);
  assert_copies(hard, in);
  assert_same_bytes(in, before);
  assert_same_bytes(hard, before);
}

/* An image of noise, by way of an array. */
static void make_picture(const char *npy, const char *png) {
  g_autoptr(GByteArray) array = g_byte_array_new();
  guint32 state = 1;
  g_byte_array_append(
      array,
      (const guint8 *)"\x93NUMPY\x01\0\x3d\0{'descr':'|u1','fortran_order':False,'shape':(200, 300, 3)}   ",
      71);
  for (int i = 0; i < 200 * 300 * 3; i++) {
    guint8 value = (guint8)(noise(&state) >> 24);
    g_byte_array_append(array, &value, 1);
  }
  store(npy, array->data, array->len);
  assert_copies(npy, png);
}

/* ---- a disk that is full ------------------------------------------------- */

/* The copy may write no more than `limit` bytes into any file. */
static gboolean copy_limited(const char *in, const char *out, rlim_t limit, GError **error) {
  struct rlimit before, now;
  const copy_job job = {.in = in, .out = out, .dtype = -1, .hide_length = limit % 2};
  g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
  now = before;
  now.rlim_cur = limit;
  g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &now), ==, 0);
  gboolean done = copy(&job, error);
  g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
  return done;
}

/* Every format, with space for less and less of it: complete, or an error and the old
 * content. (A limit on the size of files stands for the disk.) */
static void test_no_space(void) {
  static const char *const names[] = {"f.wav", "f.rf64", "f.w64", "f.aiff", "f.au",
                                      "f.caf", "f.flac", "f.ogg", "f.opus", "f.npy",
                                      "f.raw", "f.png",  "f.jpg", "f.bmp",  "f.tga"};
  g_autofree char *sound = scratch("space.wav"), *npy = scratch("space.npy"), *image = scratch("space.png");
  signal(SIGXFSZ, SIG_IGN);
  make_sound(sound, 0x010002, 48000, 2, 40000);
  make_picture(npy, image);
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *out = scratch(names[i]);
    const char *in = i < 11 ? sound : npy; /* a limit on files is one on decoding too */
    GStatBuf info;
    assert_copies(in, out);
    g_assert_cmpint(g_stat(out, &info), ==, 0);
    for (int part = 0; part < 12; part++) {
      /* Nothing, the header, a piece, all but a byte. */
      rlim_t limit = part == 0    ? 0
                     : part == 11 ? (rlim_t)info.st_size - 1
                                  : (rlim_t)info.st_size * (rlim_t)(part - 1) / 10 + 9;
      GError *error = NULL;
      store(out, OLD, strlen(OLD));
      g_assert_false(copy_limited(in, out, limit, &error));
      g_assert_error(error, FC_ERROR, FC_IO);
      g_assert_true(g_str_has_prefix(error->message, out));
      g_error_free(error);
      assert_holds(out, OLD);
      g_assert_cmpuint(leftovers(), ==, 0);
    }
  }
}

/* Kept in memory: as much as was expected, and more. */
static void test_kept(void) {
  g_autofree guint8 *piece = g_malloc(100000);
  for (gsize i = 0; i < 100000; i++) piece[i] = (guint8)(i * 7 + i / 251);
  for (guint pieces = 6; pieces <= 12; pieces += 6) {
    GBytes *made = NULL;
    fc_media_options options = {.out_bytes = &made};
    GError *error = NULL;
    fc_output *output = fc_output_open_for("kept", 0, &options, &error);
    g_assert_no_error(error);
    fc_output_expect(output, 600000);
    for (guint i = 0; i < pieces; i++) g_assert_true(fc_output_write(output, piece, 100000, &error));
    commit(output);
    gsize size;
    const guint8 *data = g_bytes_get_data(made, &size);
    g_assert_cmpuint(size, ==, pieces * 100000);
    for (guint i = 0; i < pieces; i++) g_assert_cmpmem(data + i * 100000, 100000, piece, 100000);
    g_bytes_unref(made);
  }
}

/* Memory comes back from what was freed; it may be freed after its owner. */
static void test_lent(void) {
  static guint8 piece[100000];
  fc_blocks *blocks = fc_blocks_new(1 << 20);
  GBytes *made[2] = {NULL};
  memset(piece, 7, sizeof piece);
  for (guint i = 0; i < 8; i++) { /* every fourth is larger than was expected */
    fc_media_options options = {.out_bytes = &made[i % 2], .blocks = blocks};
    GError *error = NULL;
    g_clear_pointer(&made[i % 2], g_bytes_unref);
    fc_output *output = fc_output_open_for("lent", 0, &options, &error);
    g_assert_no_error(error);
    fc_output_expect(output, 250000);
    piece[0] = (guint8)i;
    const guint pieces = i % 4 == 3 ? 5 : 2;
    for (guint k = 0; k < pieces; k++) g_assert_true(fc_output_write(output, piece, sizeof piece, &error));
    if (i == 5)
      fc_output_free(output); /* it fails */
    else
      commit(output);
    for (guint k = 0; made[i % 2] && k < pieces; k++) {
      gsize size;
      const guint8 *data = g_bytes_get_data(made[i % 2], &size);
      g_assert_cmpuint(size, ==, pieces * sizeof piece);
      g_assert_cmpmem(data + k * sizeof piece, sizeof piece, piece, sizeof piece);
    }
  }
  gsize room = 250000;
  void *memory = fc_blocks_take(blocks, &room);
  fc_blocks_give(blocks, memory, room);
  room = 240000;
  g_assert_true(fc_blocks_take(blocks, &room) == memory); /* what was freed last */
  g_assert_cmpuint(room, ==, 250000);
  fc_blocks_give(blocks, memory, room);
  fc_blocks_trim(blocks);
  fc_blocks_free(blocks);
  for (guint i = 0; i < 2; i++) g_clear_pointer(&made[i], g_bytes_unref);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/output/appears-at-commit", test_appears_at_commit);
  g_test_add_func("/media/output/old-content-survives", test_old_content_survives);
  g_test_add_func("/media/output/umask-and-mode", test_umask_and_mode);
  g_test_add_func("/media/output/private-meanwhile", test_private_meanwhile);
  g_test_add_func("/media/output/name-is-taken", test_name_is_taken);
  g_test_add_func("/media/output/symbolic-links", test_symbolic_links);
  g_test_add_func("/media/output/hard-link", test_hard_link);
  g_test_add_func("/media/output/kept", test_kept);
  g_test_add_func("/media/output/lent", test_lent);
  g_test_add_func("/media/output/no-clobber", test_no_clobber);
  g_test_add_func("/media/output/no-clobber-race", test_no_clobber_race);
  g_test_add_func("/media/output/no-clobber-many", test_no_clobber_many);
  g_test_add_func("/media/output/wrong-targets", test_wrong_targets);
  g_test_add_func("/media/output/read-only", test_read_only);
  g_test_add_func("/media/output/closed-folder", test_closed_folder);
  g_test_add_func("/media/output/full-device", test_full_device);
  g_test_add_func("/media/output/pipe", test_pipe);
  g_test_add_func("/media/output/descriptor-of-file", test_descriptor_of_file);
  g_test_add_func("/media/output/seeking", test_seeking);
  g_test_add_func("/media/output/remove-all", test_remove_all);
  g_test_add_func("/media/output/list-from-threads", test_list_from_threads);
  g_test_add_func("/media/output/onto-input", test_onto_input);
  g_test_add_func("/media/output/no-space", test_no_space);
  int status = g_test_run();
  scratch_remove();
  return status;
}

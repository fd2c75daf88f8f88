/* SPDX-License-Identifier: MIT */
/*
 * test_decoders.c - helpers that decode images: the same results
 * whatever happens to a helper, to a child of its, or to the process.
 * $DECODE_PROGRAM is the helper's program.
 */
#include "media/image/decoders.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "media/image/decoder/child.h"
#include "tests/media/support.h"

static const char *program;

/* ---- images ------------------------------------------------------------- */

/* A PNG of noise, by way of an array. */
static bytes make_png(int side, guint32 seed) {
  g_autofree char *npy = scratch("in.npy"), *png = scratch("in.png");
  g_autoptr(GByteArray) array = g_byte_array_new();
  char header[128];
  memset(header, ' ', sizeof header);
  memcpy(header, "\x93NUMPY\x01\0\x76\0", 10);
  g_autofree char *text =
      g_strdup_printf("{'descr':'|u1','fortran_order':False,'shape':(%d, %d, 3)}", side, side);
  memcpy(header + 10, text, strlen(text));
  header[127] = '\n';
  g_byte_array_append(array, (const guint8 *)header, sizeof header);
  for (int i = 0; i < side * side * 3; i++) {
    guint8 value = (guint8)(noise(&seed) >> 24);
    g_byte_array_append(array, &value, 1);
  }
  store(npy, array->data, array->len);
  assert_copies(npy, png);
  return load(png);
}

static gboolean decode(fc_decoders *d, const bytes *file, int side, fc_picture *picture, GError **error) {
  const fc_image_header header = {
      .kind = FC_IMAGE_PNG, .width = side, .height = side, .pixel_bytes = 4, .orientation = 1};
  const fc_decode_wish wish = {.scale = 1};
  g_autofree char *warning = NULL;
  gboolean done =
      fc_image_decode("x.png", file->data, file->size, &header, &wish, d, picture, &warning, error);
  g_assert_null(warning);
  return done;
}

/* The picture that make_png made of this seed. */
static void assert_decodes(fc_decoders *d, const bytes *file, int side, guint32 seed) {
  fc_picture picture = {0};
  GError *error = NULL;
  decode(d, file, side, &picture, &error);
  g_assert_no_error(error);
  g_assert_cmpint(picture.channels, ==, 3);
  for (int i = 0; i < side * side * 3; i++)
    g_assert_cmpuint(((const guint8 *)picture.pixels)[i], ==, noise(&seed) >> 24);
  fc_picture_clear(&picture);
}

static void assert_fails(fc_decoders *d, const bytes *file, int side, const char *sentence) {
  fc_picture picture = {0};
  g_autoptr(GError) error = NULL;
  g_assert_false(decode(d, file, side, &picture, &error));
  g_assert_error(error, FC_ERROR, FC_IO);
  if (sentence) g_assert_cmpstr(error->message, ==, sentence);
}

static void assert_no_children(void) {
  g_assert_cmpint(waitpid(-1, NULL, WNOHANG), ==, -1);
  g_assert_cmpint(errno, ==, ECHILD);
}

/* ---- results ------------------------------------------------------------ */

/* Good files and bad ones in turn. */
static void test_in_turn(void) {
  fc_decoders *d = fc_decoders_new(program);
  for (int i = 0; i < 12; i++) {
    bytes file = make_png(20 + i, (guint32)i);
    assert_decodes(d, &file, 20 + i, (guint32)i);
    assert_fails(d, &file, 21 + i, "x.png: is damaged: its header and its content differ");
    file.data[file.size / 2] ^= 0x55;
    assert_fails(d, &file, 20 + i, NULL);
    file.size = file.size / 3;
    assert_fails(
        d, &file, 20 + i,
        "x.png: is cut off: the file ends before the image; --allow-truncated uses the readable part");
    g_assert_cmpuint(fc_decoders_idle(d), ==, 1);
    clear_bytes(&file);
  }
  fc_decoders_free(d);
  assert_no_children();
}

/* A child serves 128 small images or 32 large ones; with the last it ends. */
static void test_served(void) {
  const struct {
    int side;
    guint images;
  } cases[] = {{20, 128}, {1000, 32}};
  fc_decoders *d = fc_decoders_new(program);
  for (gsize k = 0; k < G_N_ELEMENTS(cases); k++) {
    bytes file = make_png(cases[k].side, 5);
    for (guint i = 1; i <= 2 * cases[k].images + 1; i++) {
      fc_picture picture = {0};
      g_assert_true(decode(d, &file, cases[k].side, &picture, NULL));
      g_assert_cmpint(picture.memory->helper != NULL, ==, i % cases[k].images != 0);
      fc_picture_clear(&picture);
    }
    clear_bytes(&file);
    fc_decoders_free(d);
    d = fc_decoders_new(program);
  }
  fc_decoders_free(d);
  assert_no_children();
}

static gpointer decode_thread(gpointer data) {
  bytes file;
  g_autofree char *png = scratch("threads.png");
  file = load(png);
  for (int i = 0; i < 25; i++) {
    fc_picture picture = {0};
    g_assert_true(decode(data, &file, 40, &picture, NULL));
    fc_picture_clear(&picture);
  }
  clear_bytes(&file);
  return NULL;
}

static void test_from_threads(void) {
  fc_decoders *d = fc_decoders_new(program);
  GThread *threads[4];
  bytes file = make_png(40, 7);
  g_autofree char *png = scratch("threads.png");
  store(png, file.data, file.size);
  clear_bytes(&file);
  for (int i = 0; i < 4; i++) threads[i] = g_thread_new("decode", decode_thread, d);
  for (int i = 0; i < 4; i++) g_thread_join(threads[i]);
  g_assert_cmpuint(fc_decoders_idle(d), >=, 1);
  g_assert_cmpuint(fc_decoders_idle(d), <=, 4);
  fc_decoders_free(d);
  assert_no_children();
}

/* ---- what may happen ----------------------------------------------------- */

/* No such program, one that ends without a word, a file that is none. */
static void test_no_helper(void) {
  static const char *const programs[] = {"/nonexistent/decode", "/bin/true", "/dev/null"};
  bytes file = make_png(30, 3);
  for (gsize i = 0; i < G_N_ELEMENTS(programs); i++) {
    fc_decoders *d = fc_decoders_new(programs[i]);
    for (int k = 0; k < 2; k++)
      assert_fails(d, &file, 30,
                   "x.png: the program that decodes images (filterchain-decode) does not start");
    g_assert_cmpuint(fc_decoders_idle(d), ==, 0);
    fc_decoders_free(d);
  }
  clear_bytes(&file);
  assert_no_children();
}

/* The process number of the one child that there is. */
static pid_t only_child(void) {
  g_autofree char *text = NULL;
  g_autofree char *path = g_strdup_printf("/proc/self/task/%d/children", (int)getpid());
  if (!g_file_get_contents(path, &text, NULL, NULL)) return -1;
  return (pid_t)g_ascii_strtoll(text, NULL, 10);
}

static void test_helper_dies(void) {
  fc_decoders *d = fc_decoders_new(program);
  bytes file = make_png(30, 4);
  assert_decodes(d, &file, 30, 4);
  pid_t first = only_child();
  if (first > 0) {
    g_assert_cmpint(kill(first, SIGKILL), ==, 0);
    siginfo_t info;
    g_assert_cmpint(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), ==, 0);
    assert_decodes(d, &file, 30, 4);
    g_assert_cmpuint(fc_decoders_idle(d), ==, 1);
    g_assert_cmpint(only_child(), !=, first);
  } else
    g_test_skip("/proc does not tell the children here");
  fc_decoders_free(d);
  clear_bytes(&file);
  assert_no_children();
}

/* A request that makes the child touch what is not there, as a file that took it over might:
 * the helper tells, lives on, and the next image is decoded. */
static void test_child_crashes(void) {
  fc_decoders *d = fc_decoders_new(program);
  fc_decode_answer answer;
  fc_decode_request wild = {.magic = FC_DECODE_MAGIC, .seconds = 5, .scale = 1, .file_size = 4096};
  fc_decode_memory *memory = fc_decoders_take_memory(d, &wild, FALSE);
  wild.room = (guint64)1 << 40; /* far beyond its end */
  for (int i = 0; i < 3; i++) {
    g_assert_cmpint(fc_decoders_run(d, &wild, memory, 20 * G_USEC_PER_SEC, NULL, &answer), ==,
                    FC_DECODERS_ANSWERED);
    g_assert_false(answer.kept);
    g_assert_false(WIFEXITED(answer.status) && WEXITSTATUS(answer.status) == 0);
    g_assert_cmpuint(fc_decoders_idle(d), ==, 1);
  }
  fc_decoders_give_memory(d, memory, TRUE);
  bytes file = make_png(30, 5);
  assert_decodes(d, &file, 30, 5);
  clear_bytes(&file);
  fc_decoders_free(d);
  assert_no_children();
}

/* Too late: child and helper are ended, and there is another next time. */
static void test_late(void) {
  fc_decoders *d = fc_decoders_new(program);
  fc_decode_answer answer;
  const fc_decode_request request = {
      .magic = FC_DECODE_MAGIC, .seconds = 5, .scale = 1, .room = 4096, .file_size = 100};
  fc_decode_memory *memory = fc_decoders_take_memory(d, &request, FALSE);
  g_assert_cmpint(fc_decoders_run(d, &request, memory, 0, NULL, &answer), ==, FC_DECODERS_LATE);
  g_assert_cmpuint(fc_decoders_idle(d), ==, 0);
  assert_no_children();
  fc_decoders_give_memory(d, memory, FALSE);
  /* Likewise when the run is to stop. */
  const int cancel = 1;
  memory = fc_decoders_take_memory(d, &request, FALSE);
  g_assert_cmpint(fc_decoders_run(d, &request, memory, 20 * G_USEC_PER_SEC, &cancel, &answer), ==,
                  FC_DECODERS_STOPPED);
  assert_no_children();
  fc_decoders_give_memory(d, memory, FALSE);
  bytes file = make_png(30, 6);
  assert_decodes(d, &file, 30, 6);
  clear_bytes(&file);
  fc_decoders_free(d);
}

/* A request of another version's is none. */
static void test_another_version(void) {
  fc_decoders *d = fc_decoders_new(program);
  fc_decode_answer answer;
  const fc_decode_request request = {.magic = FC_DECODE_MAGIC + 1, .room = 4096};
  fc_decode_memory *memory = fc_decoders_take_memory(d, &request, FALSE);
  g_assert_cmpint(fc_decoders_run(d, &request, memory, 20 * G_USEC_PER_SEC, NULL, &answer), ==,
                  FC_DECODERS_LOST);
  fc_decoders_give_memory(d, memory, FALSE);
  fc_decoders_free(d);
  assert_no_children();
}

/* The child of the one helper, 0 where there is none and -1 where /proc does not tell. */
static pid_t grandchild(void) {
  g_autofree char *text = NULL;
  const pid_t child = only_child();
  g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", (int)child, (int)child);
  if (child <= 0 || !g_file_get_contents(path, &text, NULL, NULL)) return -1;
  return (pid_t)g_ascii_strtoll(text, NULL, 10);
}

/* Between two images it has the helper's socket and the system calls of a decoder, no more. */
static void assert_confined(pid_t child) {
  g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)child), *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  if (!FC_SANITIZED) g_assert_nonnull(strstr(text, "Seccomp:\t"));
  if (!FC_SANITIZED) g_assert_null(strstr(text, "Seccomp:\t0"));
  g_autofree char *descriptors = g_strdup_printf("/proc/%d/fd", (int)child);
  g_autoptr(GDir) folder = g_dir_open(descriptors, 0, NULL); /* only the superuser sees them */
  if (!folder) return;
  g_assert_cmpstr(g_dir_read_name(folder), ==, "0");
  g_assert_null(g_dir_read_name(folder));
}

/* Images one after another have one child, up to a number of them, to one that fails, and to a larger one. */
static void test_child_is_kept(void) {
  fc_decoders *d = fc_decoders_new(program);
  bytes file = make_png(30, 10);
  assert_decodes(d, &file, 30, 10);
  const pid_t first = grandchild();
  if (first <= 0) {
    g_test_skip("/proc does not tell the children here");
  } else {
    assert_confined(first);
    for (int i = 1; i < 127; i++) assert_decodes(d, &file, 30, 10);
    g_assert_cmpint(grandchild(), ==, first);
    for (int i = 0; i < 2; i++) assert_decodes(d, &file, 30, 10);
    const pid_t second = grandchild();
    g_assert_cmpint(second, !=, first);
    assert_fails(d, &file, 31, NULL);
    assert_decodes(d, &file, 30, 10);
    g_assert_cmpint(grandchild(), !=, second);
    bytes large = make_png(1500, 12);
    assert_decodes(d, &large, 1500, 12);
    g_assert_cmpuint(fc_decoders_idle(d), ==, 2);
    assert_decodes(d, &file, 30, 10);
    clear_bytes(&large);
  }
  fc_decoders_free(d);
  clear_bytes(&file);
  assert_no_children();
}

/* A kept child that a file has spoilt, as one that was killed: the next image is not the worse for it. */
static void test_kept_child_dies(void) {
  fc_decoders *d = fc_decoders_new(program);
  bytes file = make_png(30, 11);
  for (int i = 0; i < 4; i++) {
    assert_decodes(d, &file, 30, 11);
    const pid_t child = grandchild();
    if (child > 0) g_assert_cmpint(kill(child, SIGKILL), ==, 0);
  }
  fc_decoders_free(d);
  clear_bytes(&file);
  assert_no_children();
}

/* A fork of a process that has helpers leaves them to it. */
static void test_after_fork(void) {
  fc_decoders *d = fc_decoders_new(program);
  bytes file = make_png(30, 8);
  assert_decodes(d, &file, 30, 8);
  pid_t pid = fork();
  if (pid == 0) {
    fc_picture picture = {0};
    gboolean done = decode(d, &file, 30, &picture, NULL);
    fc_picture_clear(&picture);
    done &= fc_decoders_idle(d) == 1;
    fc_decoders_free(d);
    _exit(done ? 0 : 1);
  }
  int status;
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  g_assert_cmpint(status, ==, 0);
  assert_decodes(d, &file, 30, 8);
  g_assert_cmpuint(fc_decoders_idle(d), ==, 1);
  fc_decoders_free(d);
  clear_bytes(&file);
  assert_no_children();
}

static void assert_zeros(const fc_decode_memory *memory) {
  for (gsize i = 0; i < memory->size; i++) g_assert_cmpint(memory->at[i], ==, 0);
}

static fc_decode_memory *take_memory(fc_decoders *d, gsize size) {
  const fc_decode_request request = {.room = size};
  return fc_decoders_take_memory(d, &request, FALSE);
}

/* Memory comes back as zeros, to the next image and to none in another process. */
static void test_memory(void) {
  fc_decoders *d = fc_decoders_new(program);
  fc_decode_memory *first = take_memory(d, 5000), *second = take_memory(d, 5000);
  const char *place = first->at;
  g_assert_true(first->at != second->at);
  memset(first->at, 1, 5000);
  fc_decoders_give_memory(d, first, TRUE);
  fc_decoders_give_memory(d, second, FALSE); /* somebody may still write into it */
  first = take_memory(d, 4000);
  g_assert_true(first->at == place);
  assert_zeros(first);
  fc_decode_memory *large = take_memory(d, (gsize)64 << 20);
  g_assert_cmpuint(large->size, >=, (gsize)64 << 20);
  fc_decoders_give_memory(d, large, TRUE);
  fc_decoders_give_memory(d, first, TRUE);
  pid_t pid = fork();
  if (pid == 0) {
    fc_decode_memory *own = take_memory(d, 4000);
    memset(own->at, 2, 4000);
    _exit(0);
  }
  int status;
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  first = take_memory(d, 4000);
  assert_zeros(first);
  fc_decoders_give_memory(d, first, TRUE);
  fc_decoders_free(d);
}

/* When a kept child ends, all that it decoded is cleared, that of a larger image before the last one too. */
static void test_memory_of_a_kept_child(void) {
  fc_decoders *d = fc_decoders_new(program);
  bytes large = make_png(60, 13), small = make_png(30, 14);
  assert_decodes(d, &large, 60, 13);
  assert_decodes(d, &small, 30, 14);
  small.data[small.size / 2] ^= 0x55;
  assert_fails(d, &small, 30, NULL);
  const fc_decode_request request = {.room = 4000};
  fc_decode_memory *first = fc_decoders_take_memory(d, &request, FALSE),
                   *second = fc_decoders_take_memory(d, &request, FALSE);
  assert_zeros(first);
  assert_zeros(second);
  fc_decoders_give_memory(d, first, TRUE);
  fc_decoders_give_memory(d, second, TRUE);
  clear_bytes(&large);
  clear_bytes(&small);
  fc_decoders_free(d);
}

/* A pipe of ours ends when we close it: no helper holds the other end. */
static void test_holds_nothing(void) {
  int between[2];
  char byte;
  g_assert_cmpint(pipe(between), ==, 0);
  fc_decoders *d = fc_decoders_new(program);
  bytes file = make_png(30, 9);
  assert_decodes(d, &file, 30, 9);
  close(between[1]);
  g_assert_cmpint(fcntl(between[0], F_SETFL, O_NONBLOCK), ==, 0);
  g_assert_cmpint(read(between[0], &byte, 1), ==, 0);
  close(between[0]);
  fc_decoders_free(d);
  clear_bytes(&file);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  program = g_getenv("DECODE_PROGRAM");
  g_assert_nonnull(program);
  scratch_init();
  g_test_add_func("/media/decoders/in-turn", test_in_turn);
  g_test_add_func("/media/decoders/served", test_served);
  g_test_add_func("/media/decoders/from-threads", test_from_threads);
  g_test_add_func("/media/decoders/no-helper", test_no_helper);
  g_test_add_func("/media/decoders/helper-dies", test_helper_dies);
  g_test_add_func("/media/decoders/child-crashes", test_child_crashes);
  g_test_add_func("/media/decoders/child-is-kept", test_child_is_kept);
  g_test_add_func("/media/decoders/kept-child-dies", test_kept_child_dies);
  g_test_add_func("/media/decoders/late", test_late);
  g_test_add_func("/media/decoders/another-version", test_another_version);
  g_test_add_func("/media/decoders/after-fork", test_after_fork);
  g_test_add_func("/media/decoders/memory", test_memory);
  g_test_add_func("/media/decoders/memory-of-a-kept-child", test_memory_of_a_kept_child);
  g_test_add_func("/media/decoders/holds-nothing", test_holds_nothing);
  int status = g_test_run();
  scratch_remove();
  return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * test_gather.c - batches of images on the fake device: those of equal format share a run, each output is the
 * one of a run by itself, and what goes wrong with one image is its own. JPEG files also by fake_nvjpeg.c.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/api/batch.h"
#include "core/context/chain.h"
#include "tests/device/fake_device.h"
#include "tests/device/fake_nvjpeg.h"
#include "tests/device/hosted.h"
#include "tests/media/support.h"

/* So many that more of them run together than the pinned memory holds. */
#define FILES 40

static fc_context *context;
static GPtrArray *warnings;
static const char *source = "png", *ending = "png"; /* of the inputs, and the outputs */
static int decoding = FC_DECODE_CPU, workers = 1;
static gboolean by_engines;

static void log_line(fc_log_level level, const char *message, void *data) {
  if (level == FC_LOG_WARNING) g_ptr_array_add(warnings, g_strdup(message));
}

static char *name_of(const char *way, guint i) {
  g_autofree char *name = g_strdup_printf("%s-%02u.%s", way, i, strcmp(way, "in") == 0 ? source : ending);
  return scratch(name);
}

static void make_image(guint i, int width, int height) {
  static const char *const nothing[] = {NULL};
  g_autofree char *samples = scratch("samples.raw"), *path = name_of("in", i);
  g_autofree char *raw = g_strdup_printf("dtype=u8,width=%d,height=%d,channels=3", width, height);
  const gsize size = (gsize)width * (gsize)height * 3;
  g_autofree guint8 *noisy = g_malloc(size);
  guint32 state = i;
  for (gsize k = 0; k < size; k++) noisy[k] = (guint8)noise(&state);
  store(samples, noisy, size);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.in_format = "raw", options.in_raw = raw;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, nothing, NULL);
  GError *error = NULL;
  fc_chain_run_file(chain, samples, path, &options, NULL, &error);
  g_assert_no_error(error);
}

/* Seven of ten are of one size. */
static void make_images(void) {
  for (guint i = 0; i < FILES; i++) make_image(i, i % 10 < 7 ? 61 : 40, i % 10 < 7 ? 37 : 33);
}

typedef struct outcome {
  GError *errors[FILES];
  char *devices[FILES];
  gint64 failed;
  guint decoded; /* by nvJPEG, as the results say */
  guint runs;    /* of an operator */
} outcome;

static gboolean keep(gsize index, const fc_result *result, const GError *error, void *data) {
  outcome *o = data;
  o->errors[index] = error ? g_error_copy(error) : NULL;
  o->devices[index] = result ? g_strdup(result->device) : NULL;
  if (result && result->decoder) {
    g_assert_cmpstr(result->decoder, ==, by_engines ? "nvJPEG 1.2.3, engines" : "nvJPEG 1.2.3, CUDA");
    o->decoded++;
  }
  return TRUE;
}

static void clear(outcome *o) {
  for (guint i = 0; i < FILES; i++) {
    g_clear_error(&o->errors[i]);
    g_free(o->devices[i]);
  }
}

static outcome run(const char *const *stages, const char *way, const char *device) {
  outcome o = {0};
  GError *error = NULL;
  fc_chain *chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  GPtrArray *hosted = host_stages(chain, NULL);
  fc_file files[FILES];
  const fc_file *all[FILES];
  for (guint i = 0; i < FILES; i++) {
    files[i] = (fc_file){.size = sizeof(fc_file), .input = name_of("in", i), .output = name_of(way, i)};
    unlink(files[i].output);
    all[i] = &files[i];
  }
  fc_options options = FC_OPTIONS_INIT;
  options.device = device, options.threads = workers, options.fuse = FC_FUSE_NO;
  options.decode = decoding;
  g_ptr_array_set_size(warnings, 0);
  o.failed = fc_chain_run_files(chain, all, FILES, &options, keep, &o, &error);
  g_assert_no_error(error);
  o.runs = fake_device_calls(FAKE_PROCESS);
  for (guint i = 0; i < FILES; i++)
    if (o.errors[i]) g_test_message("%s: %s", device, o.errors[i]->message);
  for (guint i = 0; i < FILES; i++) g_free((char *)files[i].input), g_free((char *)files[i].output);
  fc_chain_free(chain);
  g_ptr_array_unref(hosted);
  fc_context_release(context);
  g_assert_cmpuint(fake_device_live(), ==, 0);
  return o;
}

static void assert_same(guint i) {
  g_autofree char *good = name_of("good", i), *made = name_of("made", i);
  assert_same_bytes(made, good);
}

/* The bytes of runs on the CPU, in fewer calls of the operators than there are images. */
static void check_all(const char *const *stages, gboolean gathers) {
  fake_device_set(NULL);
  outcome good = run(stages, "good", "cpu");
  fake_device_set(NULL);
  outcome made = run(stages, "made", "cuda");
  g_assert_cmpint(good.failed, ==, 0);
  g_assert_cmpint(made.failed, ==, 0);
  for (guint i = 0; i < FILES; i++) {
    assert_same(i);
    g_assert_cmpstr(made.devices[i], ==, FAKE_NAME);
  }
  if (gathers)
    g_assert_cmpuint(made.runs, <, FILES * g_strv_length((char **)stages));
  else
    g_assert_cmpuint(made.runs, >=, FILES * g_strv_length((char **)stages));
  clear(&good), clear(&made);
}

static const char *const plain[] = {"sepconv:[1,2,1]/4", "gain:0.5", "resize:24", "crop:20", NULL};

static void test_same(void) {
  static const char *const turned[] = {"flip", NULL}, *const floating[] = {"gain:0.25", "layout:chw", NULL};
  check_all(plain, TRUE);
  check_all(turned, TRUE);
  ending = "npy";
  check_all(floating, TRUE);
  check_all(plain, TRUE);
  ending = "png";
}

/* Images pass through pinned memory in parts. */
static void test_pinned(void) {
  static const char *const turned[] = {"flip", NULL};
  check_all(turned, TRUE);
  g_test_message("%" G_GSIZE_FORMAT " bytes", fake_device_host_peak());
  g_assert_cmpuint(fake_device_host_peak(), <, 200000);
}

/* What was clipped is said of each image. */
static void test_clipped(void) {
  static const char *const loud[] = {"gain:3", NULL};
  check_all(loud, FALSE);
  g_assert_cmpuint(warnings->len, ==, FILES);
  for (guint i = 0; i < FILES; i++) {
    g_autofree char *name = g_strdup_printf("made-%02u.png: ", i);
    guint at = 0; /* in the order of the runs */
    while (at < warnings->len && !strstr(warnings->pdata[at], name)) at++;
    g_assert_cmpuint(at, <, warnings->len);
  }
}

/* Random numbers depend on the name of the input. */
static void test_random(void) {
  static const char *const drawn[] = {"random_crop:20", "random_flip", NULL};
  check_all(drawn, FALSE);
}

/* An image that cannot be read fails alone, at whatever point. */
static void test_broken(void) {
  g_autofree char *cut = name_of("in", 3), *text = name_of("in", 5);
  bytes whole = load(cut);
  fake_device_set(NULL);
  outcome good = run(plain, "good", "cpu");
  g_assert_cmpint(good.failed, ==, 0);
  clear(&good);
  whole.data[whole.size / 2] ^= 0x55;
  store(cut, whole.data, whole.size);
  store(text, "no image", 8);
  good = run(plain, "other", "cpu");
  fake_device_set(NULL);
  outcome made = run(plain, "made", "cuda");
  g_assert_cmpint(made.failed, ==, 2);
  for (guint i = 0; i < FILES; i++) {
    if (i != 3 && i != 5) {
      g_assert_no_error(made.errors[i]);
      assert_same(i);
      continue;
    }
    g_autofree char *none = name_of("made", i);
    g_assert_cmpstr(made.errors[i]->message, ==, good.errors[i]->message);
    g_assert_cmpint(access(none, F_OK), !=, 0);
  }
  g_assert_cmpuint(leftovers(), ==, 0);
  g_assert_cmpuint(made.runs, <, FILES * 4);
  clear(&good), clear(&made);
  clear_bytes(&whole);
  make_images();
}

/* A call of the device fails once: the images of that run are processed one by one. A device that is lost
 * fails each image, by name. */
static void test_failing(void) {
  fake_device_set(NULL);
  outcome good = run(plain, "good", "cpu");
  clear(&good);
  guint reached = 0;
  for (int call = 0; call < FAKE_CALLS; call++)
    for (guint at = 1; at < 6; at++)
      for (int lost = FALSE; lost <= TRUE; lost++) {
        const fake_faults faults = {.call = (fake_call)call, .at = at, .lost = lost};
        fake_device_set(&faults);
        outcome made = run(plain, "made", "cuda");
        const gboolean failed = fake_device_failed();
        reached += failed;
        for (guint i = 0; i < FILES; i++) {
          if (!made.errors[i])
            assert_same(i);
          else
            g_assert_nonnull(strstr(made.errors[i]->message, "cuda:0"));
        }
        if (!failed) g_assert_cmpint(made.failed, ==, 0);
        if (failed && !lost) g_assert_cmpint(made.failed, <=, 1);
        g_assert_cmpuint(leftovers(), ==, 0);
        clear(&made);
      }
  g_assert_cmpuint(reached, >, 20);
  fake_device_set(NULL);
}

/* ---- a file that takes long --------------------------------------------------------- */

typedef struct slow_batch {
  gint begun; /* atomic */
  char *pipe;
} slow_batch;

/* The first image comes through a pipe. */
static fc_task *next_slow(void *data) {
  slow_batch *slow = data;
  const gint i = g_atomic_int_add(&slow->begun, 1);
  if (i == FILES) return NULL;
  fc_task *task = g_new0(fc_task, 1);
  task->index = i, task->input = i ? name_of("in", (guint)i) : g_strdup(slow->pipe);
  task->output = name_of("made", (guint)i);
  return task;
}

static gboolean done_slow(fc_task *task, void *data) {
  g_assert_no_error(task->why);
  return TRUE;
}

/* Feeds it once the others have been begun, or after 100 s. */
static gpointer feed_slow(gpointer data) {
  slow_batch *slow = data;
  for (int i = 0; i < 10000 && g_atomic_int_get(&slow->begun) <= FILES; i++) g_usleep(10000);
  const gboolean all = g_atomic_int_get(&slow->begun) > FILES;
  g_autofree char *path = name_of("in", 0);
  bytes b = load(path);
  store(slow->pipe, b.data, b.size);
  clear_bytes(&b);
  return GINT_TO_POINTER(all);
}

/* While one worker has it, the other runs all others. */
static void test_slow(void) {
  g_autofree char *pipe = scratch("pipe.png");
  slow_batch slow = {.pipe = pipe};
  const fc_tasks tasks = {next_slow, done_slow, &slow, FILES};
  fc_options options = FC_OPTIONS_INIT;
  GError *error = NULL;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, plain, NULL);
  options.device = "cpu", options.threads = 2;
  g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
  GThread *thread = g_thread_new("feed", feed_slow, &slow);
  g_assert_cmpint(fc_chain_run_tasks(chain, &tasks, &options, &error), ==, 0);
  g_assert_no_error(error);
  g_assert_true(GPOINTER_TO_INT(g_thread_join(thread)));
}

/* ---- nothing to do ---------------------------------------------------------------- */

static fc_task *no_task(void *data) {
  return NULL;
}

/* As of a batch that is resumed and was complete: no device is asked for. */
static void test_nothing(void) {
  const fc_tasks tasks = {.next = no_task, .most = FILES};
  fc_options options = FC_OPTIONS_INIT;
  GError *error = NULL;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, plain, &error);
  g_assert_no_error(error);
  options.device = "cuda", options.threads = 2;
  fake_device_set(NULL);
  g_assert_cmpint(fc_chain_run_tasks(chain, &tasks, &options, &error), ==, 0);
  g_assert_no_error(error);
  g_assert_cmpuint(fake_device_looks(), ==, 0);
}

#ifdef FAKE_NVJPEG
/* ---- nvJPEG --------------------------------------------------------------------- */

static fake_nvjpeg *fake;

/* How many of the images nvJPEG decodes; the others, and all outputs, are as those of a run on the CPU. */
static guint check_decoded(int how, gboolean engines) {
  fake_device_set(NULL);
  decoding = FC_DECODE_CPU;
  outcome good = run(plain, "good", "cpu");
  decoding = how, by_engines = engines;
  *fake = (fake_nvjpeg){.engines = engines, .lies = fake->lies, .handles = fake->handles, .most = fake->most};
  fake_device_set(NULL);
  outcome made = run(plain, "made", "cuda");
  for (guint i = 0; i < FILES; i++) {
    g_assert_cmpstr(made.errors[i] ? made.errors[i]->message : NULL, ==,
                    good.errors[i] ? good.errors[i]->message : NULL);
    if (!made.errors[i]) assert_same(i);
  }
  g_assert_cmpuint(made.decoded, ==, (guint)fake->decoded);
  g_assert_cmpint(fake->batches, <=, fake->decoded);
  clear(&good), clear(&made);
  decoding = FC_DECODE_CPU;
  return (guint)fake->decoded;
}

static void use_jpeg(void) {
  source = "jpg";
  make_images();
}

static void test_decoded(void) {
  use_jpeg();
  g_assert_cmpuint(check_decoded(FC_DECODE_GPU, TRUE), ==, FILES);
  g_assert_cmpint(fake->batches, <, FILES);
  g_assert_cmpuint(check_decoded(FC_DECODE_AUTO, TRUE), ==, FILES);
  g_assert_cmpuint(check_decoded(FC_DECODE_CPU, TRUE), ==, 0);
  /* It sees another size than the header that was checked. */
  fake->lies = 1;
  g_assert_cmpuint(check_decoded(FC_DECODE_GPU, TRUE), ==, 0);
  fake->lies = 0;
}

/* Instances are kept by the context. */
static void restart_media(void) {
  context->media->stop(context, context->media_kept);
  g_assert_cmpint(fake->handles, ==, 0);
  context->media_kept = context->media->start(context);
}

/* Without engines only those who insist get it. */
static void test_engines(void) {
  use_jpeg();
  restart_media();
  g_assert_cmpuint(check_decoded(FC_DECODE_AUTO, FALSE), ==, 0);
  g_assert_cmpuint(check_decoded(FC_DECODE_GPU, FALSE), ==, FILES);
  restart_media();
}

/* More workers than instances: fewer can be started than are wanted, or none. */
static void test_instances(void) {
  use_jpeg();
  workers = 7;
  for (int most = 2; most >= 0; most--) {
    restart_media();
    fake->most = most;
    g_assert_cmpuint(check_decoded(FC_DECODE_GPU, TRUE), ==, FILES);
    g_assert_cmpint(fake->handles, <=, most ? most : 4);
  }
  restart_media();
  fake->handles = 1, fake->most = 1; /* of another process */
  g_assert_cmpuint(check_decoded(FC_DECODE_GPU, TRUE), ==, 0);
  fake->handles = fake->most = 0;
  restart_media();
  workers = 1;
}

/* A batch that ends before all instances are there starts no more of them, and waits for one. */
static void test_settled(void) {
  use_jpeg();
  workers = 7;
  restart_media();
  *fake = (fake_nvjpeg){.engines = 1, .slow = 30000};
  decoding = FC_DECODE_GPU, by_engines = TRUE;
  fake_device_set(NULL);
  outcome made = run(plain, "made", "cuda");
  g_assert_cmpint(__atomic_load_n(&fake->busy, __ATOMIC_RELAXED), ==, 0);
  g_usleep(50000);
  g_assert_cmpint(__atomic_load_n(&fake->busy, __ATOMIC_RELAXED), ==, 0);
  clear(&made);
  decoding = FC_DECODE_CPU, workers = 1;
  *fake = (fake_nvjpeg){.engines = 1, .handles = fake->handles};
  restart_media();
}

/* Replaces an input by another. */
static void write_input(guint i, const char *options, const void *insert, gsize size) {
  g_autofree char *path = name_of("in", i), *to = g_strconcat(path, options, NULL);
  static const char *const half[] = {"gain:0.5", NULL};
  GError *error = NULL;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, half, NULL);
  fc_options how = FC_OPTIONS_INIT;
  how.device = "cpu";
  fc_chain_run_file(chain, path, to, &how, NULL, &error);
  g_assert_no_error(error);
  bytes b = load(path);
  g_autofree guint8 *all = g_malloc(b.size + size);
  memcpy(all, b.data, 2), memcpy(all + 2, insert, size), memcpy(all + 2 + size, b.data + 2, b.size - 2);
  store(path, all, b.size + size);
  clear_bytes(&b);
}

/* Turned, progressive and damaged files go to the other decoder, whose message the last ones get. */
static void test_others(void) {
  static const guint8 turned[] = {0xff, 0xe1, 0, 34,   'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8,
                                  0,    1,    1, 0x12, 0,   3,   0,   0,   0, 1, 0,   6,   0, 0,  0, 0, 0, 0};
  use_jpeg();
  write_input(1, "", turned, sizeof turned);
  write_input(2, ":progressive=yes", "", 0);
  g_assert_cmpuint(check_decoded(FC_DECODE_GPU, TRUE), ==, FILES - 2);
  g_autofree char *path = name_of("in", 4);
  bytes b = load(path);
  memcpy(b.data + b.size / 2, "\xff\xd3\xff\xd5", 4);
  store(path, b.data, b.size);
  const guint rest = check_decoded(FC_DECODE_GPU, TRUE);
  g_assert_cmpuint(rest, >, 0);
  g_assert_cmpuint(rest, <, FILES - 2);
  g_assert_cmpuint(leftovers(), ==, 0);
  clear_bytes(&b);
}
#endif

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  warnings = g_ptr_array_new_with_free_func(g_free);
  context = fc_context_new();
  context->driver = &fake_driver;
  fc_context_set_log(context, log_line, NULL);
  fc_registry_set_home(context->registry, DEVICE_TEST_PLUGINS, "/nonexistent");
  context->media->stop(context, context->media_kept);
  context->media_kept = context->media->start(context);
  scratch_init();
  make_images();
  g_test_add_func("/gather/same", test_same);
  g_test_add_func("/gather/pinned", test_pinned);
  g_test_add_func("/gather/clipped", test_clipped);
  g_test_add_func("/gather/random", test_random);
  g_test_add_func("/gather/broken", test_broken);
  g_test_add_func("/gather/failing", test_failing);
  g_test_add_func("/gather/slow", test_slow);
  g_test_add_func("/gather/nothing", test_nothing);
#ifdef FAKE_NVJPEG
  /* Under the name of the real one, which is then found loaded. */
  void *library = dlopen(FAKE_NVJPEG, RTLD_NOW | RTLD_GLOBAL);
  g_assert_nonnull(library);
  fake = dlsym(library, "fake_nvjpeg_state");
  g_test_add_func("/gather/nvjpeg/decoded", test_decoded);
  g_test_add_func("/gather/nvjpeg/engines", test_engines);
  g_test_add_func("/gather/nvjpeg/instances", test_instances);
  g_test_add_func("/gather/nvjpeg/others", test_others);
  g_test_add_func("/gather/nvjpeg/settled", test_settled);
#endif
  int status = g_test_run();
  scratch_remove();
  fc_context_free(context);
  g_ptr_array_unref(warnings);
  return status;
}

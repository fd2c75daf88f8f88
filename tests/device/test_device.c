/* SPDX-License-Identifier: MIT */
/*
 * test_device.c - a device that fails, and one that is not there: real files through real
 * operators on the fake device.
 *
 * The Nth call of each kind fails, for every kind and every N until none is reached, once or from
 * then on. With device "cuda" a run is then either complete, or ends with one error that
 * names the device, the old output, and nothing beside it; with "auto" it is complete, with the bytes of
 * a run on the CPU, and one warning says why. Either way nothing of the device is kept, and
 * the chain can be run again.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/device/fake_device.h"
#include "tests/device/hosted.h"
#include "tests/media/support.h"

#define OLD "what was here before"

/* ---- jobs -------------------------------------------------------------- */

typedef struct job {
  const char *in, *out, *raw; /* raw: the layout of the samples that the input is made of */
  gint64 chunk;
  const char *const *stages;
} job;

/* Several chunks, a stage that leaves the device, one that measures; a single image whole, and in bands. */
static const char *const sound_stages[] = {"conv1d:[1,2,1]/4:border=reflect", "gain:0.5", "clip:0.2", "stats",
                                           "winstat:window=5:stat=mean",      NULL};
static const char *const image_stages[] = {"sepconv:[1,2,1]/4", "gain:0.5", "conv1d:[1,2,3]/6", NULL};
/* For memory: nothing that leaves the device or measures. */
static const char *const plain_stages[] = {"conv1d:[1,2,1]/4:border=reflect", "gain:0.5",
                                           "winstat:window=5:stat=mean", NULL};
static const job sound = {"in.wav", "out.wav", "dtype=i16,channels=2,rate=8000", 4096, sound_stages};
static const char *const band_stages[] = {"sepconv:[1,2,1]/4", "stats", "clip:99", "conv1d:[1,2,3]/6:axis=y",
                                          NULL};
static const job image = {"in.png", "out.png", "dtype=u8,width=61,height=37,channels=3", 0, image_stages};
static const job in_bands = {"in.png", "bands.png", NULL, 9, band_stages};
#define SOUND_BYTES (20003 * 4)
#define IMAGE_BYTES (61 * 37 * 3)
#define LEAVES      "clip"

static fc_context *context;
static guint warnings;
static char warning[512]; /* the last one */

static void log_line(fc_log_level level, const char *message, void *data) {
  g_assert_cmpint(level, !=, FC_LOG_ERROR);
  if (level != FC_LOG_WARNING) return;
  warnings++;
  g_strlcpy(warning, message, sizeof warning);
}

typedef struct ready_chain {
  fc_chain *chain;
  GPtrArray *hosted;
} ready_chain;

static ready_chain parse(const char *const *stages, const char *but) {
  GError *error = NULL;
  ready_chain c = {fc_chain_parse(context, stages, &error), NULL};
  g_assert_no_error(error);
  c.hosted = host_stages(c.chain, but);
  return c;
}

/* Nothing of the device may be left then, but `kept` pieces of the test's own. */
static void drop(ready_chain *c, guint kept) {
  fc_chain_free(c->chain);
  g_ptr_array_unref(c->hosted);
  fc_context_release(context);
  g_assert_cmpuint(fake_device_live(), ==, kept);
}

static gboolean run(const job *j, fc_chain *chain, const char *device, fc_result **result, GError **error) {
  g_autofree char *in = scratch(j->in), *out = scratch(j->out);
  fc_options options = FC_OPTIONS_INIT;
  options.device = device, options.chunk = j->chunk, options.threads = 2;
  warnings = 0;
  store(out, OLD, sizeof OLD);
  return fc_chain_run_file(chain, in, out, &options, result, error);
}

static void make_input(const job *j, gsize size) {
  static const char *const nothing[] = {NULL};
  g_autofree char *path = scratch("samples.raw"), *in = scratch(j->in);
  g_autofree guint8 *samples = g_malloc(size);
  guint32 state = 1;
  for (gsize i = 0; i < size; i++) samples[i] = (guint8)noise(&state);
  store(path, samples, size);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.in_format = "raw", options.in_raw = j->raw;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, nothing, NULL);
  GError *error = NULL;
  fc_chain_run_file(chain, path, in, &options, NULL, &error);
  g_assert_no_error(error);
}

/* What a run on the CPU makes of the job in one piece, in a file of this name. */
static char *expected_output(const job *j) {
  GError *error = NULL;
  g_autofree char *out = scratch(j->out), *name = g_strconcat("good-", j->out, NULL);
  ready_chain c = parse(j->stages, LEAVES);
  job whole = *j;
  whole.chunk = 0;
  run(&whole, c.chain, "cpu", NULL, &error);
  g_assert_no_error(error);
  drop(&c, 0);
  char *good = scratch(name);
  g_assert_cmpint(rename(out, good), ==, 0);
  return good;
}

/* ---- judging ----------------------------------------------------------- */

static gboolean mentions(const char *text, const char *what) {
  return strstr(text, what) != NULL;
}

static void check_untouched(const job *j) {
  g_autofree char *out = scratch(j->out);
  bytes b = load(out);
  g_assert_cmpmem(b.data, b.size, OLD, sizeof OLD);
  clear_bytes(&b);
}

static void check_complete(const job *j, const char *good) {
  g_autofree char *out = scratch(j->out);
  assert_same_bytes(out, good);
}

/* One line that names the device. */
static void check_error(const GError *error) {
  g_assert_nonnull(error);
  g_assert_true(error->code == FC_DEVICE || error->code == FC_NO_MEMORY);
  g_assert_true(mentions(error->message, "cuda:0"));
  g_assert_false(mentions(error->message, "\n"));
}

/* What must have been said of a run that is complete though the device failed; `name` is that of the input.
 */
static void check_said(const fc_result *r, const char *name) {
  g_autofree char *file = strchr(name, '.') ? scratch(name) : g_strdup(name);
  g_autofree char *beginning = g_strconcat(file, ": ", NULL);
  g_assert_cmpuint(warnings, ==, 1);
  g_assert_true(g_str_has_prefix(warning, beginning));
  g_assert_true(mentions(warning, "cuda:0"));
  if (mentions(warning, "memory was short")) {
    g_assert_cmpstr(r->device, ==, FAKE_NAME);
    return;
  }
  g_assert_true(mentions(warning, ": the GPU failed (cuda:0") || mentions(warning, " on cuda:0: "));
  g_assert_true(g_str_has_prefix(r->device, "cpu"));
  g_assert_true(g_str_has_prefix(r->reason, "the GPU failed ("));
}

static gboolean is_memory(fake_call call) {
  return call == FAKE_ALLOC || call == FAKE_ALLOC_HOST || call == FAKE_MALLOC;
}

/* A run of the job in which something fails, and after a failure one in which nothing does. */
static void check_fault(const job *j, const char *good, const fake_faults *faults, const char *device) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) result = NULL;
  ready_chain c = parse(j->stages, LEAVES);
  fake_device_set(faults);
  gboolean ok = run(j, c.chain, device, &result, &error);
  g_test_message("%s %u%s on %s: %s", fake_call_name(faults->call), faults->at, faults->lost ? "+" : "",
                 device, ok ? "complete" : error->message);
  g_assert_true(fake_device_failed());
  g_assert_cmpuint(leftovers(), ==, 0);
  if (ok) {
    check_complete(j, good);
    check_said(result, j->in);
    /* What did not go well on the device cannot end well there, but for memory. */
    g_assert_true(strcmp(device, "auto") == 0 || (is_memory(faults->call) && !faults->lost));
  } else {
    g_assert_cmpstr(device, ==, "cuda");
    g_assert_cmpuint(warnings, ==, 0);
    check_error(error);
    check_untouched(j);
  }
  fake_device_set(NULL);
  g_clear_error(&error);
  if (!ok) {
    run(j, c.chain, "cuda", NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(warnings, ==, 0);
    check_complete(j, good);
  }
  drop(&c, 0);
}

/* ---- tests ------------------------------------------------------------- */

/* Without a fault: the bytes of a run on the CPU, one way there and back for each chunk. */
static guint run_well(const job *j, const char *good, guint calls[FAKE_CALLS]) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) result = NULL;
  ready_chain c = parse(j->stages, LEAVES);
  fake_device_set(NULL);
  run(j, c.chain, "auto", &result, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(warnings, ==, 0);
  g_assert_cmpstr(result->device, ==, FAKE_NAME);
  g_assert_true(g_str_has_prefix(result->reason, "predicted"));
  check_complete(j, good);
  guint total = 0;
  for (int k = 0; k < FAKE_CALLS; k++) total += calls[k] = fake_device_calls((fake_call)k);
  g_assert_cmpuint(calls[FAKE_UPLOAD], ==, result->chunks);
  g_assert_cmpuint(calls[FAKE_DOWNLOAD], ==, result->chunks);
  drop(&c, 0);
  return total;
}

static void check_every_call(const job *j) {
  g_autofree char *good = expected_output(j);
  guint calls[FAKE_CALLS], trials = 0, total = run_well(j, good, calls);
  for (int k = 0; k < FAKE_CALLS; k++)
    for (guint at = 1; at <= calls[k]; at++)
      for (int lost = 0; lost < 2; lost++) {
        fake_faults faults = {.call = (fake_call)k, .at = at, .lost = lost != 0};
        check_fault(j, good, &faults, "cuda");
        check_fault(j, good, &faults, "auto");
        trials += 2;
      }
  g_test_message("%s: %u calls, %u runs with a fault", j->in, total, trials);
}

static void test_sound(void) {
  check_every_call(&sound);
}

static void test_image(void) {
  check_every_call(&image);
}

static void test_bands(void) {
  check_every_call(&in_bands);
}

/* With others holding the device's memory: smaller chunks, then the CPU or an error. */
static void test_memory(void) {
  static const char *const stages[] = {"gain:0.5", "mix:1,0", "gain:1.5",
                                       NULL}; /* little scratch: nearly all is chunks */
  job whole = {sound.in, sound.out, NULL, 0, stages};
  g_autofree char *good = expected_output(&whole);
  guint calls[FAKE_CALLS];
  run_well(&whole, good, calls);
  gsize peak = fake_device_peak();
  const struct {
    gsize limit;
    gboolean fits;
  } trials[] = {{peak, TRUE}, {peak - 1, TRUE}, {peak / 3, TRUE}, {peak / 50, FALSE}, {1000, FALSE}};
  for (guint i = 0; i < G_N_ELEMENTS(trials); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_result) result = NULL;
    ready_chain c = parse(stages, LEAVES);
    fake_faults faults = {.limit = trials[i].limit};
    fake_device_set(&faults);
    gboolean ok = run(&whole, c.chain, "cuda", &result, &error);
    g_test_message("%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " bytes: %s", trials[i].limit, peak,
                   ok ? warning : error->message);
    g_assert_cmpint(ok, ==, trials[i].fits);
    g_assert_cmpuint(warnings, ==, ok && i > 0);
    if (ok && i > 0) check_said(result, whole.in);
    if (ok) {
      g_assert_cmpuint(fake_device_peak(), <=, trials[i].limit);
      check_complete(&whole, good);
    } else {
      check_error(error);
      check_untouched(&whole);
    }
    drop(&c, 0);
    if (i > 0) check_fault(&whole, good, &faults, "auto");
  }
  /* Of a single image bands of a row, when nothing else fits, and then not even that. */
  g_autofree char *good_image = expected_output(&image);
  fake_faults faults = {.limit = 2 * IMAGE_BYTES};
  check_fault(&image, good_image, &faults, "cuda");
  check_fault(&image, good_image, &faults, "auto");
}

/* No driver, no device, no such device. */
static void test_absent(void) {
  g_autofree char *good = expected_output(&sound);
  const struct {
    fake_faults faults;
    const char *device, *error, *reason;
  } trials[] = {
      {{.no_driver = TRUE}, "auto", NULL, "there is no CUDA driver"},
      {{.no_driver = TRUE}, "cuda", "no CUDA device: there is no NVIDIA driver", NULL},
      {{.no_device = "the NVIDIA driver finds no device"},
       "auto",
       NULL,
       "no CUDA device: the NVIDIA driver finds no device"},
      {{.no_device = "the NVIDIA driver finds no device"},
       "cuda",
       "no CUDA device: the NVIDIA driver finds no device",
       NULL},
      {{.no_device = "CUDA cannot be used: unknown error"},
       "auto",
       NULL,
       "no CUDA device: CUDA cannot be used: unknown error"},
      {{.no_device = "CUDA cannot be used: unknown error"},
       "cuda:0",
       "no CUDA device: CUDA cannot be used: unknown error",
       NULL},
      {{0}, "cuda:1", "no device cuda:1: this machine has 1", NULL},
  };
  for (guint i = 0; i < G_N_ELEMENTS(trials); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_result) result = NULL;
    ready_chain c = parse(sound_stages, NULL);
    fake_device_set(&trials[i].faults);
    gboolean ok = run(&sound, c.chain, trials[i].device, &result, &error);
    g_assert_cmpuint(warnings, ==, 0);
    g_assert_cmpuint(fake_device_calls(FAKE_NEW), ==, 0);
    if (trials[i].error) {
      g_assert_error(error, FC_ERROR, FC_DEVICE);
      g_assert_cmpstr(error->message, ==, trials[i].error);
      check_untouched(&sound);
    } else {
      g_assert_true(ok);
      g_assert_cmpstr(result->reason, ==, trials[i].reason);
      check_complete(&sound, good);
    }
    drop(&c, 0);
  }
}

/* Where the CPU will do, nobody asks whether there is a driver. */
static void test_left_alone(void) {
  static const char *const stages[] = {"gain:0.5", NULL};
  static const char *const devices[] = {"cpu", "auto"};
  const job little = {sound.in, sound.out, NULL, 0, stages};
  g_free(expected_output(&little));
  for (guint i = 0; i < G_N_ELEMENTS(devices); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_result) result = NULL;
    g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, &error); /* as it is: little work */
    fake_device_set(NULL);
    g_assert_true(run(&little, chain, devices[i], &result, &error));
    g_assert_true(g_str_has_prefix(result->device, "cpu"));
    g_assert_cmpuint(fake_device_looks(), ==, 0);
    g_assert_cmpuint(fake_device_calls(FAKE_NEW), ==, 0);
  }
  ready_chain much = parse(stages, NULL);
  g_assert_true(run(&little, much.chain, "auto", NULL, NULL));
  g_assert_cmpuint(fake_device_looks(), >, 0);
  drop(&much, 0);
}

/* Memory is taken before the first chunk: as often for many chunks as for few, for taking and giving it
 * back would hold up the device. */
static void test_allocates_first(void) {
  static const fake_call calls[] = {FAKE_NEW, FAKE_ALLOC, FAKE_ALLOC_HOST, FAKE_MALLOC};
  guint taken[2][G_N_ELEMENTS(calls)], computed[2];
  for (guint i = 0; i < 2; i++) {
    static const char *const stages[] = {"conv1d:[1,2,1]/4", "gain:0.5", "clip:0.2", NULL};
    const job j = {sound.in, sound.out, NULL, i ? 100 : 1000, stages};
    ready_chain c = parse(stages, LEAVES);
    fake_device_set(NULL);
    g_assert_true(run(&j, c.chain, "cuda", NULL, NULL));
    for (guint k = 0; k < G_N_ELEMENTS(calls); k++) taken[i][k] = fake_device_calls(calls[k]);
    computed[i] = fake_device_calls(FAKE_COMPUTE);
    drop(&c, 0);
  }
  g_assert_cmpuint(computed[1], >, 5 * computed[0]);
  g_assert_cmpmem(taken[0], sizeof taken[0], taken[1], sizeof taken[1]);
}

/* ---- what cannot be read twice ------------------------------------------ */

/* Standard input: the CPU takes over as long as nothing has been read of it. */
static void test_standard_input(void) {
  g_autofree char *good = expected_output(&image), *path = scratch(image.in);
  int before = dup(STDIN_FILENO);
  const fake_call calls[] = {FAKE_NEW, FAKE_ALLOC, FAKE_MALLOC, FAKE_UPLOAD};
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_result) result = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    g_assert_cmpint(dup2(file, STDIN_FILENO), ==, STDIN_FILENO);
    close(file);
    job j = image;
    ready_chain c = parse(image_stages, NULL);
    fake_faults faults = {.call = calls[i], .at = 1};
    fake_device_set(&faults);
    g_autofree char *out = scratch(j.out);
    store(out, OLD, sizeof OLD);
    warnings = 0;
    if (fc_chain_run_file(c.chain, "-", out, NULL, &result, &error)) {
      g_assert_cmpint(calls[i], !=, FAKE_UPLOAD);
      check_said(result, "standard input");
      check_complete(&j, good);
    } else {
      g_assert_cmpint(calls[i], ==, FAKE_UPLOAD);
      check_error(error);
      check_untouched(&j);
    }
    drop(&c, 0);
  }
  g_assert_cmpint(dup2(before, STDIN_FILENO), ==, STDIN_FILENO);
  close(before);
}

/* What has gone into a pipe is not sent again: the run fails, or nothing had been sent. */
static void test_pipe(void) {
  const gssize sent_bytes = SOUND_BYTES * 2; /* as floating point */
  g_autofree char *in = scratch(sound.in);
  const fake_call calls[] = {FAKE_NEW, FAKE_ALLOC, FAKE_COMPUTE};
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    g_assert_cmpint(fcntl(ends[0], F_SETPIPE_SZ, 1 << 20), >=, sent_bytes); /* nobody reads meanwhile */
    g_autofree char *out = g_strdup_printf("/dev/fd/%d", ends[1]), *sent = g_malloc(1 << 20);
    g_autoptr(GError) error = NULL;
    ready_chain c = parse(sound_stages, NULL);
    fake_faults faults = {.call = calls[i], .at = calls[i] == FAKE_COMPUTE ? 2 : 1};
    fake_device_set(&faults);
    fc_options options = FC_OPTIONS_INIT;
    options.chunk = sound.chunk, options.out_format = "raw";
    gboolean ok = fc_chain_run_file(c.chain, in, out, &options, NULL, &error);
    close(ends[1]);
    gssize size = read(ends[0], sent, 1 << 20);
    close(ends[0]);
    g_assert_cmpint(ok, ==, calls[i] != FAKE_COMPUTE);
    if (ok) {
      g_assert_cmpint(size, ==, sent_bytes);
    } else {
      check_error(error);
      g_assert_cmpint(size, <, sent_bytes);
    }
    drop(&c, 0);
  }
}

/* ---- memory ------------------------------------------------------------ */

#define FRAMES 3001

static fc_view view_in(float *data, int device) {
  const gint64 all = FRAMES * (gint64)sizeof(float);
  return (fc_view){sizeof(fc_view),   FC_F32,           FC_AUDIO, device,           data,
                   {1, 1, FRAMES, 1}, {all, all, 4, 4}, {0},      {1, 1, FRAMES, 1}};
}

static void fill(float *data) {
  guint32 state = 7;
  for (int i = 0; i < FRAMES; i++) data[i] = (float)(noise(&state) % 2001) / 1000 - 1;
}

/* Host memory to host memory: the CPU takes over at any time, for the input is still there. */
static void test_host_memory(void) {
  g_autofree float *in = g_new(float, FRAMES), *out = g_new(float, FRAMES), *good = g_new(float, FRAMES);
  fill(in);
  fc_view from = view_in(in, FC_HOST), to = view_in(out, FC_HOST), expected = view_in(good, FC_HOST);
  fc_options options = FC_OPTIONS_INIT;
  options.chunk = 500, options.device = "cpu";
  ready_chain c = parse(plain_stages, NULL);
  fake_device_set(NULL);
  g_assert_true(fc_chain_run_host(c.chain, &from, &expected, &options, NULL, NULL));
  guint calls[FAKE_CALLS];
  options.device = "auto";
  g_assert_true(fc_chain_run_host(c.chain, &from, &to, &options, NULL, NULL));
  for (int k = 0; k < FAKE_CALLS; k++) calls[k] = fake_device_calls((fake_call)k);
  g_assert_cmpuint(calls[FAKE_COMPUTE], >=, 5);
  drop(&c, 0);
  for (int k = 0; k < FAKE_CALLS; k++)
    for (guint at = 1; at <= calls[k]; at++) {
      g_autoptr(fc_result) result = NULL;
      GError *error = NULL;
      c = parse(plain_stages, NULL);
      fake_faults faults = {.call = (fake_call)k, .at = at};
      fake_device_set(&faults);
      warnings = 0;
      memset(out, 0xff, FRAMES * sizeof *out);
      fc_chain_run_host(c.chain, &from, &to, &options, &result, &error);
      g_assert_no_error(error);
      check_said(result, "memory");
      g_assert_cmpmem(out, FRAMES * sizeof *out, good, FRAMES * sizeof *good);
      drop(&c, 0);
    }
}

/* A stream of the caller's: an error, nothing kept beside what the chain may keep, and the
 * next call works. */
static void test_stream(void) {
  g_autofree float *host = g_new(float, FRAMES), *good = g_new(float, FRAMES);
  fill(host);
  fc_view expected = view_in(good, FC_HOST), source = view_in(host, FC_HOST);
  ready_chain c = parse(plain_stages, NULL);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu";
  g_assert_true(fc_chain_run_host(c.chain, &source, &expected, &options, NULL, NULL));
  drop(&c, 0);
  fake_device_set(NULL);
  const gsize size = FRAMES * sizeof(float);
  fc_view from = view_in(fake_driver.alloc(FC_CUDA_DEVICE(0), size), FC_CUDA_DEVICE(0)),
          to = view_in(fake_driver.alloc(FC_CUDA_DEVICE(0), size), FC_CUDA_DEVICE(0));
  g_assert_true(fake_driver.upload(FC_CUDA_DEVICE(0), from.data, host, size, NULL));
  int stream = 0, reached = 0;
  for (int k = 0; k < FAKE_CALLS; k++)
    for (guint at = 1;; at++) {
      g_autoptr(GError) error = NULL;
      c = parse(plain_stages, NULL);
      fake_faults faults = {.call = (fake_call)k, .at = at};
      fake_device_set(&faults);
      gboolean ok = fc_chain_run_device(c.chain, &from, &to, &stream, NULL, &error);
      g_assert_cmpint(ok, ==, !fake_device_failed());
      reached += !ok;
      if (!ok) check_error(error);
      fake_device_set(NULL);
      memset(to.data, 0xff, size);
      g_assert_true(fc_chain_run_device(c.chain, &from, &to, &stream, NULL, NULL));
      g_assert_cmpmem(to.data, size, good, size);
      drop(&c, 2);
      if (ok) break;
    }
  g_assert_cmpint(reached, >, 10);
  fake_driver.release(FC_CUDA_DEVICE(0), from.data);
  fake_driver.release(FC_CUDA_DEVICE(0), to.data);
}

/* ---- large views ------------------------------------------------------- */

/* Signals of which a chain copies no more than the borders, and the parts that its first stage is done in. */
static const struct large {
  const char *stages[3];
  int kind, dtype;
  gint64 y, x, c;
  guint parts;
} larges[] = {
    {{"conv1d:[3,1,2,1,1]/8:border=reflect", "gain:0.5"}, FC_AUDIO, FC_F32, 1, 14000003, 1, 3},
    {{"conv1d:[3,1,2,1,1]/8:mode=full"}, FC_AUDIO, FC_F32, 1, 14000003, 1, 3},
    {{"winstat:window=1001:stat=max:border=shrink"}, FC_AUDIO, FC_I16, 1, 14000003, 2, 3},
    {{"winstat:window=9:stat=sum,max:border=replicate"}, FC_ARRAY, FC_F32, 4099, 4111, 1, 3},
    {{"sepconv:[1,2,1]/4:y=[1,2,3,4,5]/15", "conv1d:[1,2,1]/4:axis=y"}, FC_IMAGE, FC_U8, 6001, 6003, 3, 5},
    {{"conv2d:[0,1,0;1,-4,1;0,2,1]:value=3"}, FC_ARRAY, FC_F32, 5101, 5003, 1, 5},
    {{"dct:8"}, FC_ARRAY, FC_F32, 4801, 5501, 1, 3},
    {{"conv2d:[0,1,0;1,-4,1;0,2,1]:border=wrap"}, FC_ARRAY, FC_F32, 2101, 2003, 1, 1},
    /* Its border lies at the far end, and its window is a third of it: both are copied whole. */
    {{"winstat:window=9:border=wrap"}, FC_ARRAY, FC_F32, 4099, 4111, 1, 1},
    {{"winstat:window=1401:stat=max"}, FC_ARRAY, FC_F32, 4099, 4111, 1, 1},
};

static fc_format format_of(const struct large *l) {
  return (fc_format){sizeof(fc_format),
                     l->kind,
                     l->dtype,
                     l->dtype == FC_U8    ? 8
                     : l->dtype == FC_I16 ? 16
                                          : 24,
                     FC_INTERLEAVED,
                     0,
                     {1, l->y, l->x, l->c},
                     0};
}

static fc_view view_as(const fc_format *f, void *data, int device) {
  fc_view v = {sizeof v, f->dtype, f->kind, device, data, {0}, {0}, {0}, {0}};
  gint64 stride = (gint64)fc_dtype_size(f->dtype);
  for (int a = FC_AXES - 1; a >= 0; a--) {
    v.shape[a] = v.extent[a] = f->extent[a];
    v.stride[a] = stride;
    stride *= f->extent[a];
  }
  return v;
}

static void make_noise(void *data, gsize size, int dtype) {
  guint32 state = 11;
  for (gsize i = 0; dtype == FC_F32 && i < size / 4; i++)
    ((float *)data)[i] = (float)(noise(&state) % 20001) / 10000 - 1;
  for (gsize i = 0; dtype != FC_F32 && i < size / 2; i++) ((guint16 *)data)[i] = (guint16)noise(&state);
}

/* Returns how much device memory there was beside the views. */
static gsize check_large(const struct large *l) {
  const char *const stages[] = {l->stages[0], l->stages[1], NULL};
  ready_chain c = parse(stages, NULL);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu";
  fc_format in = format_of(l), out = {.dtype = l->dtype};
  g_assert_true(fc_chain_output_format(c.chain, &in, &options, &out, NULL));
  fc_view from = view_as(&in, NULL, FC_HOST), to = view_as(&out, NULL, FC_HOST);
  const gsize in_bytes = (gsize)fc_view_count(&from) * fc_dtype_size(in.dtype),
              out_bytes = (gsize)fc_view_count(&to) * fc_dtype_size(out.dtype);
  g_autofree void *source = g_malloc(in_bytes + 2), *good = g_malloc(out_bytes);
  make_noise(source, in_bytes + 1, in.dtype);
  from.data = source, to.data = good;
  fake_device_set(NULL);
  g_assert_true(fc_chain_run_host(c.chain, &from, &to, &options, NULL, NULL));
  from.data = fake_driver.alloc(FC_CUDA_DEVICE(0), in_bytes),
  to.data = fake_driver.alloc(FC_CUDA_DEVICE(0), out_bytes);
  from.device = to.device = FC_CUDA_DEVICE(0);
  g_assert_true(fake_driver.upload(FC_CUDA_DEVICE(0), from.data, source, in_bytes, NULL));
  for (int i = 0; i < 2; i++) {
    int stream = 0;
    memset(to.data, 0xff, out_bytes);
    fake_device_set(NULL);
    g_assert_true(fc_chain_run_device(c.chain, &from, &to, &stream, NULL, NULL));
    g_assert_cmpuint(fake_device_calls(FAKE_PROCESS), ==, l->parts + (l->stages[1] != NULL));
    g_assert_true(memcmp(to.data, good, out_bytes) == 0);
  }
  gsize beside = fake_device_peak() - in_bytes - out_bytes;
  drop(&c, 2);
  fake_driver.release(FC_CUDA_DEVICE(0), from.data);
  fake_driver.release(FC_CUDA_DEVICE(0), to.data);
  return beside;
}

/* In parts, where a whole copy is saved: the same to the bit. */
static void test_large(void) {
  for (guint i = 0; i < G_N_ELEMENTS(larges); i++) check_large(&larges[i]);
}

/* By operators that make the border themselves: in one part, and in as many as before where they then do not.
 */
static void test_large_edges(void) {
  for (guint i = 0; i < G_N_ELEMENTS(larges); i++) {
    struct large l = larges[i];
    if (!g_str_has_prefix(l.stages[0], "sepconv") && !g_str_has_prefix(l.stages[0], "conv2d")) continue;
    gboolean whole = l.parts == 1;
    host_borders(HOSTED_REFUSED);
    gsize refused = check_large(&l);
    l.parts = 1;
    host_borders(HOSTED_MADE);
    gsize made = check_large(&l);
    /* No room for a border that nobody makes. */
    g_assert_cmpuint(made, <, refused);
    if (whole) g_assert_cmpuint(refused - made, >=, l.y * l.x * l.c * sizeof(float));
    l.y = 131, l.x = 67; /* of which otherwise a whole copy is made */
    check_large(&l);
    host_borders(HOSTED_GIVEN);
  }
}

/* Nor is a border made between stages, but for operators that do not make it themselves. */
static void test_edges_between(void) {
  const struct large l = {{"gain:0.5", "sepconv:[1,2,1]/4:border=reflect"}, FC_ARRAY, FC_F32, 131, 67, 1, 1};
  static const hosted_border said[] = {HOSTED_GIVEN, HOSTED_REFUSED, HOSTED_MADE};
  for (guint i = 0; i < G_N_ELEMENTS(said); i++) {
    host_borders(said[i]);
    check_large(&l);
    g_assert_cmpuint(fake_device_calls(FAKE_BORDER), ==, said[i] != HOSTED_MADE);
  }
  host_borders(HOSTED_GIVEN);
}

/* One call of an operator that makes its border itself, on y * x elements. */
static gboolean run_edges(gint64 y, gint64 x, hosted_border border, const fake_faults *faults,
                          GError **error) {
  const struct large l = {{"conv2d:[0,1,0;1,-4,1;0,2,1]"}, FC_ARRAY, FC_F32, y, x, 1, 1};
  const char *const stages[] = {l.stages[0], NULL};
  fc_format format = format_of(&l);
  const gsize size = (gsize)(y * x + 1) * sizeof(float);
  fc_view from = view_as(&format, fake_driver.alloc(FC_CUDA_DEVICE(0), size), FC_CUDA_DEVICE(0)),
          to = view_as(&format, fake_driver.alloc(FC_CUDA_DEVICE(0), size), FC_CUDA_DEVICE(0));
  int stream = 0;
  make_noise(from.data, size, FC_F32);
  host_borders(border);
  ready_chain c = parse(stages, NULL);
  fake_device_set(faults);
  gboolean ok = fc_chain_run_device(c.chain, &from, &to, &stream, NULL, error);
  host_borders(HOSTED_GIVEN);
  drop(&c, 2);
  fake_driver.release(FC_CUDA_DEVICE(0), from.data);
  fake_driver.release(FC_CUDA_DEVICE(0), to.data);
  return ok;
}

/* What an operator says in refusing is not why something fails later; and none is called for nothing. */
static void test_edges_refused(void) {
  g_autoptr(GError) error = NULL;
  const fake_faults faults = {.call = FAKE_PROCESS, .at = 1};
  g_assert_false(run_edges(131, 67, HOSTED_REFUSED, &faults, &error));
  check_error(error);
  g_assert_false(mentions(error->message, HOSTED_REFUSAL));
  g_assert_true(run_edges(131, 0, HOSTED_MADE, NULL, NULL));
  g_assert_cmpuint(fake_device_calls(FAKE_PROCESS), ==, 0);
}

/* Each call fails in turn: an error, nothing left over, and the next call works. */
static void check_large_failing(const struct large *l) {
  const char *const stages[] = {l->stages[0], l->stages[1], NULL};
  fc_format format = format_of(l);
  const gsize size = (gsize)(l->y * l->x) * sizeof(float);
  fc_view from = view_as(&format, fake_driver.alloc(FC_CUDA_DEVICE(0), size), FC_CUDA_DEVICE(0)),
          to = view_as(&format, fake_driver.alloc(FC_CUDA_DEVICE(0), size), FC_CUDA_DEVICE(0));
  make_noise(from.data, size, FC_F32);
  int stream = 0, reached = 0;
  for (int k = 0; k < FAKE_CALLS; k++)
    for (guint at = 1;; at++) {
      g_autoptr(GError) error = NULL;
      ready_chain c = parse(stages, NULL);
      fake_faults faults = {.call = (fake_call)k, .at = at};
      fake_device_set(&faults);
      gboolean ok = fc_chain_run_device(c.chain, &from, &to, &stream, NULL, &error);
      g_assert_cmpint(ok, ==, !fake_device_failed());
      reached += !ok;
      if (!ok) check_error(error);
      fake_device_set(NULL);
      if (!ok) g_assert_true(fc_chain_run_device(c.chain, &from, &to, &stream, NULL, NULL));
      drop(&c, 2);
      if (ok) break;
    }
  g_assert_cmpint(reached, >, 15);
  fake_driver.release(FC_CUDA_DEVICE(0), from.data);
  fake_driver.release(FC_CUDA_DEVICE(0), to.data);
}

static void test_large_failing(void) {
  check_large_failing(&larges[0]);
}

/* Where room for the border is made late. */
static void test_large_edges_failing(void) {
  host_borders(HOSTED_REFUSED);
  check_large_failing(&larges[0]);
  host_borders(HOSTED_GIVEN);
}

/* In a stream that is being captured no room can be made when an operator first refuses. */
static void test_edges_captured(void) {
  const struct large l = {{"conv2d:[0,1,0;1,-4,1;0,2,1]"}, FC_ARRAY, FC_F32, 131, 67, 1, 1};
  const char *const stages[] = {l.stages[0], NULL};
  const struct {
    hosted_border border;
    gboolean captures, done;
  } calls[] = {{HOSTED_MADE, FALSE, TRUE},
               {HOSTED_MADE, TRUE, TRUE},
               {HOSTED_REFUSED, TRUE, FALSE},
               {HOSTED_REFUSED, FALSE, TRUE},
               {HOSTED_REFUSED, TRUE, TRUE}};
  fc_format format = format_of(&l);
  const gsize size = (gsize)(l.y * l.x) * sizeof(float);
  fc_view from = view_as(&format, fake_driver.alloc(FC_CUDA_DEVICE(0), size), FC_CUDA_DEVICE(0)),
          to = view_as(&format, fake_driver.alloc(FC_CUDA_DEVICE(0), size), FC_CUDA_DEVICE(0));
  make_noise(from.data, size, FC_F32);
  host_borders(HOSTED_MADE);
  ready_chain c = parse(stages, NULL);
  int stream = 0;
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    g_autoptr(GError) error = NULL;
    const fake_faults faults = {.captures = calls[i].captures};
    fake_device_set(&faults);
    host_borders(calls[i].border);
    gboolean done = fc_chain_run_device(c.chain, &from, &to, &stream, NULL, &error);
    g_assert_cmpint(done, ==, calls[i].done);
    if (!done) g_assert_error(error, FC_ERROR, FC_INVALID);
  }
  host_borders(HOSTED_GIVEN);
  drop(&c, 2);
  fake_driver.release(FC_CUDA_DEVICE(0), from.data);
  fake_driver.release(FC_CUDA_DEVICE(0), to.data);
}

/* Chunks of a sound spread over several devices: the same bytes as with one. */
static void test_several(void) {
  static const char *const names[] = {"cuda:0,1", "cuda:all", "cuda:2,0,1"};
  static const char *const stages[] = {"conv1d:[1,2,1]/4:border=reflect", "gain:0.5", "clip:0.2", NULL};
  const job j = {sound.in, sound.out, NULL, 1000, stages};
  g_autofree char *good = expected_output(&j);
  gint64 up = 0, down = 0;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_result) result = NULL;
    ready_chain c = parse(stages, NULL);
    fake_faults faults = {.devices = 3};
    fake_device_set(&faults);
    run(&j, c.chain, names[i], &result, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(fake_device_calls(FAKE_NEW), ==, i ? 3 : 2);
    g_assert_true(mentions(result->device, ", cuda:"));
    if (i == 0) up = result->bytes_up, down = result->bytes_down;
    g_assert_true(up > 0 && down > 0 && result->bytes_up == up && result->bytes_down == down);
    check_complete(&j, good);
    drop(&c, 0);
  }
  /* One that is not there, or is named twice. */
  static const char *const wrong[] = {"cuda:0,3", "cuda:1,1", "cuda:0,", "cuda:,1"};
  for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
    ready_chain c = parse(stages, NULL);
    fake_faults faults = {.devices = 3};
    fake_device_set(&faults);
    g_assert_false(run(&j, c.chain, wrong[i], NULL, NULL));
    g_assert_cmpuint(fake_device_calls(FAKE_NEW), ==, 0);
    drop(&c, 0);
  }
}

static void check_looks(const char *const *stages, gint64 chunk) {
  const job j = {sound.in, sound.out, NULL, chunk, stages};
  g_autofree char *good = expected_output(&j);
  g_autoptr(GError) error = NULL;
  ready_chain c = parse(stages, "stats");
  fake_device_set(NULL);
  run(&j, c.chain, "cuda", NULL, &error);
  g_assert_no_error(error);
  check_complete(&j, good);
  drop(&c, 0);
}

/* A stage that only looks, and has no version for the device, is shown what lies there, and leaves it alone.
 */
static void test_looks_only(void) {
  static const char *const stages[] = {"gain:0.5", "stats", NULL};
  check_looks(stages, 1000);
}

/* Two of them ahead of a mirrored border: in the memory that they share the source keeps more of the past
 * than they look at. Blocks are rounded up, so that only some lengths show a copy of all that. */
static void test_looks_twice(void) {
  static const char *const stages[] = {"stats", "stats", "winstat:window=121:stat=max:border=reflect", NULL};
  for (gint64 chunk = 100; chunk < 400; chunk += 12) check_looks(stages, chunk);
}

enum { SIDES = 100, SIZES = SIDES * SIDES, FEW = 1000, DOUBLINGS = 6 };

/* Every size from 32 x 32 to 131 x 131, each once, in this order. */
static void order_sizes(guint32 seed, int sizes[SIZES]) {
  for (int i = 0; i < SIZES; i++) sizes[i] = i;
  if (seed == 0) return; /* rising */
  for (int i = SIZES - 1; i > 0; i--) {
    const int other = (int)(noise(&seed) % (guint32)(i + 1)), was = sizes[i];
    sizes[i] = sizes[other], sizes[other] = was;
  }
}

/* 10,000 images of 10,000 sizes, in whatever order: after the first few nothing is prepared any more, and
 * nothing taken of the device. How often it was until then does not depend on how many sizes there are: each
 * of the buffers is taken once for each doubling of what fits. */
static void test_sizes(void) {
  static const char *const stages[] = {"sepconv:[1,2,1]/4", "gain:0.5", "clip:0.2", NULL};
  static const fake_call calls[] = {FAKE_NEW, FAKE_MALLOC, FAKE_COPY_TO, FAKE_ALLOC, FAKE_ALLOC_HOST};
  g_autofree float *in = g_new0(float, 131 * 131), *out = g_new0(float, 131 * 131);
  g_autofree int *sizes = g_new(int, SIZES);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  for (guint32 seed = 0; seed < 3; seed++) {
    ready_chain c = parse(stages, NULL);
    guint few[G_N_ELEMENTS(calls)] = {0};
    order_sizes(seed, sizes);
    fake_device_set(NULL);
    for (int i = 0; i < SIZES; i++) {
      const fc_format format = {.size = sizeof format,
                                .kind = FC_ARRAY,
                                .dtype = FC_F32,
                                .extent = {1, 32 + sizes[i] / SIDES, 32 + sizes[i] % SIDES, 1}};
      fc_view from = view_as(&format, in, FC_HOST), to = view_as(&format, out, FC_HOST);
      g_assert_true(fc_chain_run_host(c.chain, &from, &to, &options, NULL, NULL));
      for (guint k = 0; i == FEW - 1 && k < G_N_ELEMENTS(calls); k++) few[k] = fake_device_calls(calls[k]);
    }
    for (guint k = 0; k < G_N_ELEMENTS(calls); k++) {
      const guint all = fake_device_calls(calls[k]);
      g_test_message("order %u, %s: %u, %u of them for the first %d sizes", seed, fake_call_name(calls[k]),
                     all, few[k], FEW);
      const gboolean blocks = k >= 3;
      if (seed > 0 || !blocks) g_assert_cmpuint(all, ==, few[k]);
      if (blocks) g_assert_cmpuint(all, <=, 4 * DOUBLINGS);
    }
    drop(&c, 0);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  context = fc_context_new();
  context->driver = &fake_driver;
  fc_context_set_log(context, log_line, NULL);
  fc_registry_set_home(context->registry, DEVICE_TEST_PLUGINS, "/nonexistent");
  context->media->stop(context, context->media_kept); /* its program is found from there too */
  context->media_kept = context->media->start(context);
  scratch_init();
  make_input(&sound, SOUND_BYTES);
  make_input(&image, IMAGE_BYTES);
  g_test_add_func("/device/sound", test_sound);
  g_test_add_func("/device/image", test_image);
  g_test_add_func("/device/bands", test_bands);
  g_test_add_func("/device/memory", test_memory);
  g_test_add_func("/device/absent", test_absent);
  g_test_add_func("/device/several", test_several);
  g_test_add_func("/device/sizes", test_sizes);
  g_test_add_func("/device/looks-only", test_looks_only);
  g_test_add_func("/device/looks-twice", test_looks_twice);
  g_test_add_func("/device/left-alone", test_left_alone);
  g_test_add_func("/device/allocates-first", test_allocates_first);
  g_test_add_func("/device/standard-input", test_standard_input);
  g_test_add_func("/device/pipe", test_pipe);
  g_test_add_func("/device/host-memory", test_host_memory);
  g_test_add_func("/device/stream", test_stream);
  g_test_add_func("/device/large", test_large);
  g_test_add_func("/device/large/edges", test_large_edges);
  g_test_add_func("/device/large/edges-between", test_edges_between);
  g_test_add_func("/device/large/edges-refused", test_edges_refused);
  g_test_add_func("/device/large/edges-captured", test_edges_captured);
  g_test_add_func("/device/large/failing", test_large_failing);
  g_test_add_func("/device/large/edges-failing", test_large_edges_failing);
  int status = g_test_run();
  scratch_remove();
  fc_context_free(context);
  return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * test_library.c - the public library as a program that embeds it uses it: only
 * core/contract/filterchain.h, and a chain parsed from a string, on host memory.
 */
#include "core/contract/filterchain.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char *const smooth[] = {"conv1d:[1,2,4,3]/10", "conv1d:[0.5,0.25]", NULL};

static fc_view audio_view(float *data, gint64 frames, int channels, gboolean planar) {
  fc_view v = {sizeof v, FC_F32, FC_AUDIO,
               FC_HOST,  data,   {1, 1, frames, channels},
               {0},      {0},    {1, 1, frames, channels}};
  v.stride[FC_AXIS_C] = planar ? 4 * frames : 4;
  v.stride[FC_AXIS_X] = planar ? 4 : 4 * channels;
  v.stride[FC_AXIS_Y] = v.stride[FC_AXIS_N] = 4 * frames * channels;
  return v;
}

static double at(const fc_view *v, gint64 x, int c) {
  return x >= 0 && x < v->shape[FC_AXIS_X] ? *(float *)fc_view_at(v, 0, 0, x, c) : 0;
}

/* The chain `smooth`, written out. */
static double expected(const fc_view *in, gint64 x, int c) {
  static const double a[] = {0.1, 0.2, 0.4, 0.3}, b[] = {0.5, 0.25};
  double y = 0;
  for (int j = 0; j < 2; j++) {
    gint64 p = x - j; /* centre (2-1)/2 = 0 */
    if (p < 0 || p >= in->shape[FC_AXIS_X]) continue;
    for (int i = 0; i < 4; i++) y += b[j] * a[i] * at(in, p + 1 - i, c); /* centre (4-1)/2 = 1 */
  }
  return y;
}

static void run(gint64 frames, int channels, gboolean planar, gint64 chunk) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, smooth, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(fc_chain_length(chain), ==, 2);
  g_assert_cmpstr(fc_chain_operator(chain, 0)->name, ==, "conv1d");
  g_autofree float *a = g_new(float, frames *channels + 1), *b = g_new(float, frames *channels + 1);
  for (gint64 i = 0; i < frames * channels; i++) a[i] = (float)g_test_rand_double_range(-1, 1), b[i] = NAN;
  fc_view in = audio_view(a, frames, channels, planar), out = audio_view(b, frames, channels, !planar);
  fc_options options = FC_OPTIONS_INIT;
  options.chunk = chunk;
  g_autoptr(fc_result) result = NULL;
  g_assert_true(fc_chain_run_host(chain, &in, &out, &options, &result, &error));
  g_assert_no_error(error);
  for (gint64 x = 0; x < frames; x++)
    for (int c = 0; c < channels; c++)
      g_assert_cmpfloat_with_epsilon(at(&out, x, c), expected(&in, x, c), 1e-6);
  /* Again with the same chain: prepared states and buffers are reused. */
  memset(b, 0xff, sizeof(float) * (gsize)(frames * channels));
  g_assert_true(fc_chain_run_host(chain, &in, &out, NULL, NULL, &error));
  if (frames) g_assert_cmpfloat_with_epsilon(at(&out, 0, 0), expected(&in, 0, 0), 1e-6);
}

static void test_host(void) {
  static const gint64 lengths[] = {0, 1, 5, 1000, 70001};
  for (guint i = 0; i < G_N_ELEMENTS(lengths); i++)
    for (int channels = 1; channels < 4; channels++)
      run(lengths[i], channels, channels == 2, i % 2 ? 0 : 333);
}

/* What must be measured first is, of memory too; a session has no such thing. */
static void test_passes(void) {
  static const char *const stages[] = {"gain:0.5", "loudnorm:peak=0.25", "gain:2", NULL};
  enum { FRAMES = 30000 };
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  g_autofree float *a = g_new(float, FRAMES), *b = g_new(float, FRAMES);
  fc_view in = audio_view(a, FRAMES, 1, FALSE), out = audio_view(b, FRAMES, 1, FALSE);
  for (int round = 1; round <= 3; round++) { /* each signal by its own peak */
    for (int i = 0; i < FRAMES; i++) a[i] = (float)(i == 20000 ? 0.125 * round : 0.01);
    g_assert_true(fc_chain_run_host(chain, &in, &out, NULL, NULL, &error));
    g_assert_cmpfloat_with_epsilon(b[20000], 0.5, 1e-6);
    g_assert_cmpfloat_with_epsilon(b[7], 0.5 * 0.01 / (0.125 * round), 1e-6);
  }
  const fc_format format = {sizeof format,         FC_AUDIO, FC_F32, 24, FC_INTERLEAVED, 0,
                            {1, 1, FC_UNKNOWN, 1}, 48000};
  g_assert_null(fc_session_new(chain, &format, FC_F32, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
}

/* A file in memory, and one made there: a .npy of numbers, doubled. */
static void test_bytes(void) {
  static const char *const stages[] = {"gain:2", NULL};
  static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, &error);
  const float numbers[] = {1, -2, 0.25f, 100};
  guint8 file[128 + sizeof numbers];
  memset(file, ' ', sizeof file);
  memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
  memcpy(file + 10, header, strlen(header));
  file[127] = '\n';
  memcpy(file + 128, numbers, sizeof numbers);
  g_autoptr(GBytes) in = g_bytes_new(file, sizeof file);
  GBytes *out = NULL;
  fc_options options = FC_OPTIONS_INIT;
  options.in_bytes = in, options.out_bytes = &out;
  g_assert_true(fc_chain_run_file(chain, "four.npy", "no/such/folder/out.npy", &options, NULL, &error));
  g_assert_no_error(error);
  g_assert_cmpuint(g_bytes_get_size(out), ==, sizeof file);
  const float *made = (const float *)(const void *)((const guint8 *)g_bytes_get_data(out, NULL) + 128);
  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) g_assert_cmpfloat(made[i], ==, 2 * numbers[i]);
  g_bytes_unref(out);
  out = NULL;
  g_autoptr(GBytes) cut = g_bytes_new(file, sizeof file - 4);
  options.in_bytes = cut;
  g_assert_false(fc_chain_run_file(chain, "four.npy", "out.npy", &options, NULL, &error));
  g_assert_true(g_str_has_prefix(error->message, "four.npy: "));
  g_assert_null(out);
}

static void test_formats(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_context) context = fc_context_new();
  const char *const stages[] = {"conv1d:[1,2,3]:mode=full", NULL};
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  fc_format in = {sizeof in, FC_AUDIO, FC_I16, 16, FC_INTERLEAVED, 0, {1, 1, 100, 2}, 48000},
            out = {.dtype = -1};
  g_assert_true(fc_chain_output_format(chain, &in, NULL, &out, &error));
  g_assert_cmpint(out.extent[FC_AXIS_X], ==, 102);
  g_assert_cmpint(out.dtype, ==, FC_F32);
  out.dtype = FC_I16;
  g_assert_true(fc_chain_output_format(chain, &in, NULL, &out, &error));
  g_assert_cmpint(out.dtype, ==, FC_I16);
}

static void test_errors(void) {
  g_autoptr(fc_context) context = fc_context_new();
  static const struct {
    const char *stage, *contains;
  } cases[] = {{"conv1", "did you mean \"conv1d\"?"},
               {"conv1d", "mask"},
               {"conv1d:[1,2]:flp=no", "did you mean \"flip\"?"},
               {"conv1d:[1,2]:flip=no:flip=no", "flip"},
               {"conv1d:[1,nan]", "nan"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const char *const stages[] = {cases[i].stage, NULL};
    GError *error = NULL;
    g_assert_null(fc_chain_parse(context, stages, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, cases[i].contains));
    g_assert_null(strchr(error->message, '\n'));
    g_error_free(error);
  }
}

/* Runs a box of far more columns than the image has, each row with a border of its own, in so much memory. */
static gboolean run_wide(gsize memory, int threads, guint8 *made, GError **error) {
  static const char *const wide[] = {"winstat:window=100001", NULL};
  guint8 image[64 * 10];
  for (guint i = 0; i < sizeof image; i++) image[i] = (guint8)(i * 37);
  fc_view in = {sizeof in,      FC_U8,           FC_IMAGE, FC_HOST,       image,
                {1, 64, 10, 1}, {640, 10, 1, 1}, {0},      {1, 64, 10, 1}},
          out = in;
  out.data = made;
  g_autoptr(fc_context) context = fc_context_new();
  fc_context_set_max_memory(context, memory);
  g_autoptr(fc_chain) chain = fc_chain_parse(context, wide, NULL);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.threads = threads;
  return fc_chain_run_host(chain, &in, &out, &options, NULL, error);
}

/* The image is cut into rows and the workers become one before memory is said to be too little; and
 * then the error says how much there may be. */
static void test_memory(void) {
  guint8 freely[640], made[640];
  g_assert_true(run_wide(0, 4, freely, NULL));
  gsize least = 1 << 16;
  for (GError *error = NULL; !run_wide(least, 1, made, &error); least += least / 16) {
    g_assert_error(error, FC_ERROR, FC_NO_MEMORY);
    g_assert_nonnull(strstr(error->message, "--max-memory"));
    g_assert_cmpuint(least, <, 64 * 100000); /* of all rows at once */
    g_clear_error(&error);
  }
  memset(made, 0, sizeof made);
  g_assert_true(run_wide(least, 4, made, NULL));
  g_assert_cmpmem(made, sizeof made, freely, sizeof freely);
}

/* Two contexts in two threads do not meet. */
static gpointer in_a_thread(gpointer data) {
  run(20011, 2, FALSE, 999);
  return NULL;
}

static void test_threads(void) {
  GThread *threads[4];
  for (guint i = 0; i < 4; i++) threads[i] = g_thread_new("user", in_a_thread, NULL);
  for (guint i = 0; i < 4; i++) g_thread_join(threads[i]);
}

static void test_wrong_views(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, smooth, &error);
  g_assert_no_error(error);
  float data[20] = {0};
  fc_view in = audio_view(data, 10, 1, FALSE), out = audio_view(data + 10, 9, 1, FALSE);
  g_assert_false(fc_chain_run_host(chain, &in, &out, NULL, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_clear_error(&error);
  in.data = NULL;
  g_assert_false(fc_chain_run_host(chain, &in, &out, NULL, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_clear_error(&error);
  in = audio_view(data, 5, 2, FALSE), out = audio_view(data + 10, 5, 2, FALSE);
  in.stride[FC_AXIS_X] = 6;
  g_assert_false(fc_chain_run_host(chain, &in, &out, NULL, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_assert_cmpstr(error->message, ==, "the input view's stride on axis X is not a multiple of 4 bytes");
  g_clear_error(&error);
  in = audio_view(data, 4, 2, FALSE);
  out = audio_view((float *)(void *)((char *)data + 41), 4, 2, FALSE);
  g_assert_false(fc_chain_run_host(chain, &in, &out, NULL, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_assert_cmpstr(error->message, ==, "the output view's data is not aligned to its elements of 4 bytes");
}

/* ---- sessions, chains of values, memory of the caller's ----------------- */

static fc_chain *chain_of(fc_context *context, const char *const *stages) {
  GError *error = NULL;
  fc_chain *chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  return chain;
}

static fc_format format_of(int channels, double rate) {
  fc_format f = {.size = sizeof f, .kind = FC_AUDIO, .dtype = FC_F32, .bits = 24, .rate = rate};
  f.extent[0] = f.extent[1] = 1, f.extent[FC_AXIS_X] = FC_UNKNOWN, f.extent[FC_AXIS_C] = channels;
  return f;
}

/* Pushed in pieces, pulled as it comes: the samples of one run, at the latency that was told. */
static void test_session(void) {
  static const char *const stages[] = {"conv1d:[1,2,4,3]/10", "biquad:coefficients=[0.2,0.4,0.2,1,-0.4,0.2]",
                                       "winstat:window=31:stat=mean", NULL};
  enum { FRAMES = 5000, CHANNELS = 2 };
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) whole = NULL, pieces = NULL;
  GError *error = NULL;
  whole = fc_chain_parse(context, stages, &error);
  if (!whole) g_error("%s", error->message);
  pieces = chain_of(context, stages);
  g_autofree float *in = g_new(float, FRAMES *CHANNELS), *expect = g_new(float, FRAMES *CHANNELS),
                   *got = g_new0(float, FRAMES *CHANNELS);
  for (int i = 0; i < FRAMES * CHANNELS; i++) in[i] = (float)g_test_rand_double_range(-1, 1);
  fc_view from = audio_view(in, FRAMES, CHANNELS, FALSE), to = audio_view(expect, FRAMES, CHANNELS, FALSE);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu";
  g_assert_true(fc_chain_run_host(whole, &from, &to, &options, NULL, &error));
  const fc_format format = format_of(CHANNELS, 8000);
  fc_session *session = fc_session_new(pieces, &format, FC_F32, &options, &error);
  g_assert_no_error(error);
  g_assert_cmpint(fc_session_format(session)->dtype, ==, FC_F32);
  const gint64 latency = fc_session_latency(session);
  g_assert_cmpint(latency, >=, 15);
  g_assert_cmpint(latency, <, 600); /* winstat sums in blocks */
  gint64 done = 0;
  for (gint64 pushed = 0; pushed < FRAMES;) {
    const gint64 wish = g_test_rand_int_range(1, 400), piece = MIN(wish, FRAMES - pushed);
    fc_view part = audio_view(in + pushed * CHANNELS, piece, CHANNELS, FALSE);
    g_assert_true(fc_session_push(session, &part, &error));
    pushed += piece;
    fc_view room = audio_view(got + done * CHANNELS, FRAMES - done, CHANNELS, FALSE);
    done += fc_session_pull(session, &room, &error);
    g_assert_cmpint(done, >=, pushed - latency);
  }
  g_assert_true(fc_session_drain(session, &error));
  fc_view room = audio_view(got + done * CHANNELS, FRAMES - done, CHANNELS, FALSE);
  done += fc_session_pull(session, &room, &error);
  g_assert_cmpint(done, ==, FRAMES);
  g_assert_cmpmem(got, sizeof(float) * FRAMES * CHANNELS, expect, sizeof(float) * FRAMES * CHANNELS);
  fc_view more = audio_view(in, 1, CHANNELS, FALSE);
  g_assert_false(fc_session_push(session, &more, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_clear_error(&error);
  fc_session_free(session);
}

/* A further input whose length nobody knows ends on the way. */
static void test_session_pipe(void) {
  enum { FRAMES = 3000, SIDE = 1234 };
  static const guint8 head[44] =
      "RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0"
      "data\xff\xff\xff\xff";
  g_autoptr(fc_context) context = fc_context_new();
  GError *error = NULL;
  int ends[2];
  gint16 side[SIDE];
  float in[FRAMES], got[FRAMES] = {0};
  for (int i = 0; i < FRAMES; i++) in[i] = (float)(i % 64) / 64;
  for (int i = 0; i < SIDE; i++) side[i] = (gint16)(i << 4);
  g_assert_cmpint(pipe(ends), ==, 0);
  g_assert_cmpint(write(ends[1], head, sizeof head), ==, sizeof head);
  g_assert_cmpint(write(ends[1], side, sizeof side), ==, sizeof side);
  close(ends[1]);
  g_autofree char *stage = g_strdup_printf("mixin:/dev/fd/%d", ends[0]);
  const char *const stages[] = {stage, NULL};
  g_autoptr(fc_chain) chain = chain_of(context, stages);
  const fc_format format = format_of(1, 8000);
  fc_session *session = fc_session_new(chain, &format, FC_F32, NULL, &error);
  g_assert_no_error(error);
  gint64 done = 0;
  for (gint64 pushed = 0; pushed < FRAMES; pushed += 100) {
    fc_view part = audio_view(in + pushed, 100, 1, FALSE),
            room = audio_view(got + done, FRAMES - done, 1, FALSE);
    g_assert_true(fc_session_push(session, &part, &error));
    done += fc_session_pull(session, &room, &error);
  }
  g_assert_true(fc_session_drain(session, &error));
  fc_view room = audio_view(got + done, FRAMES - done, 1, FALSE);
  done += fc_session_pull(session, &room, &error);
  g_assert_cmpint(done, ==, FRAMES);
  for (int i = 0; i < FRAMES; i++)
    g_assert_cmpfloat(got[i], ==, in[i] + (i < SIDE ? (float)side[i] / 32768 : 0));
  fc_session_free(session);
  close(ends[0]);
}

/* A chain of names and values: tables and views from memory. */
static void test_values(void) {
  enum { FRAMES = 300 };
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = fc_chain_new(context);
  g_autoptr(GError) error = NULL;
  static const double taps[] = {0.25, 0.5, 0.25};
  const fc_table table = {.size = sizeof table, .name = "smooth", .rows = 1, .cols = 3, .data = taps};
  float other[FRAMES], in[FRAMES], out[FRAMES];
  for (int i = 0; i < FRAMES; i++) in[i] = (float)(i % 17), other[i] = (float)(i % 5);
  fc_view side = audio_view(other, FRAMES, 1, FALSE), from = audio_view(in, FRAMES, 1, FALSE),
          to = audio_view(out, FRAMES, 1, FALSE);
  const fc_value mask = {.size = sizeof mask, .name = "mask", .table = &table},
                 second = {.size = sizeof second, .view = &side},
                 half = {.size = sizeof half, .name = "gain", .text = "0.5"};
  const fc_value *const convolve[] = {&mask, NULL}, *const add[] = {&second, &half, NULL},
                        *const wrong[] = {&half, NULL};
  g_assert_true(fc_chain_add(chain, "conv1d", convolve, &error));
  g_assert_no_error(error);
  g_assert_true(fc_chain_add(chain, "mixin", add, &error));
  g_assert_no_error(error);
  g_assert_cmpuint(fc_chain_length(chain), ==, 2);
  g_assert_false(fc_chain_add(chain, "conv1d", wrong, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_clear_error(&error);
  g_assert_cmpuint(fc_chain_length(chain), ==, 2);
  g_assert_true(fc_chain_run_host(chain, &from, &to, NULL, NULL, &error));
  g_assert_no_error(error);
  for (int i = 0; i < FRAMES; i++) {
    double y = 0.5 * in[i] + 0.25 * ((i ? in[i - 1] : 0) + (i + 1 < FRAMES ? in[i + 1] : 0)) + 0.5 * other[i];
    g_assert_cmpfloat_with_epsilon(out[i], y, 1e-5);
  }
}

static gint held;

static void *count_alloc(gsize bytes, gsize alignment, void *data) {
  g_atomic_int_inc(&held);
  (*(gint *)data)++;
  return g_aligned_alloc(1, bytes, alignment);
}

static void count_free(void *memory, gsize bytes, void *data) {
  g_atomic_int_add(&held, -1);
  g_aligned_free(memory);
}

static void test_allocator(void) {
  gint taken = 0;
  fc_context *context = fc_context_new();
  fc_context_set_allocator(context, count_alloc, count_free, &taken);
  fc_chain *chain = chain_of(context, smooth);
  g_autofree float *in = g_new0(float, 4096), *out = g_new0(float, 4096);
  fc_view from = audio_view(in, 4096, 1, FALSE), to = audio_view(out, 4096, 1, FALSE);
  g_assert_true(fc_chain_run_host(chain, &from, &to, NULL, NULL, NULL));
  g_assert_cmpint(taken, >, 0);
  const gint before = taken;
  for (int i = 0; i < 10; i++) g_assert_true(fc_chain_run_host(chain, &from, &to, NULL, NULL, NULL));
  /* What the first call took is kept for the others; a worker may get its first edge of a signal later. */
  g_assert_cmpint(taken, <=, before + 4);
  fc_chain_free(chain);
  fc_context_free(context);
  g_assert_cmpint(held, ==, 0);
}

typedef struct blocked {
  int ends[2];
  int cancel;
} blocked;

static gpointer cancel_soon(gpointer data) {
  g_usleep(100000);
  g_atomic_int_set(&((blocked *)data)->cancel, 1);
  return NULL;
}

/* A reader that waits for a pipe hears the wish to stop. */
static void test_cancel(void) {
  static const char *const stages[] = {"stats", NULL};
  static const guint8 some[60000] = {1, 2, 3};
  blocked b = {.cancel = 0};
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = chain_of(context, stages);
  g_assert_cmpint(pipe(b.ends), ==, 0);
  g_assert_cmpint(write(b.ends[1], some, sizeof some), ==, sizeof some);
  g_autofree char *path = g_strdup_printf("/dev/fd/%d", b.ends[0]);
  fc_options options = FC_OPTIONS_INIT;
  options.in_format = "raw", options.in_raw = "dtype=i16,channels=1,rate=8000", options.cancel = &b.cancel;
  GThread *thread = g_thread_new("cancel", cancel_soon, &b);
  const gint64 start = g_get_monotonic_time();
  GError *error = NULL;
  g_assert_false(fc_chain_run_file(chain, path, NULL, &options, NULL, &error));
  g_assert_cmpint(g_get_monotonic_time() - start, <, 60 * G_USEC_PER_SEC);
  g_assert_nonnull(strstr(error->message, "interrupted"));
  g_clear_error(&error);
  g_thread_join(thread);
  close(b.ends[0]), close(b.ends[1]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/library/host", test_host);
  g_test_add_func("/library/passes", test_passes);
  g_test_add_func("/library/bytes", test_bytes);
  g_test_add_func("/library/formats", test_formats);
  g_test_add_func("/library/errors", test_errors);
  g_test_add_func("/library/memory", test_memory);
  g_test_add_func("/library/threads", test_threads);
  g_test_add_func("/library/wrong-views", test_wrong_views);
  g_test_add_func("/library/session", test_session);
  g_test_add_func("/library/session-pipe", test_session_pipe);
  g_test_add_func("/library/values", test_values);
  g_test_add_func("/library/allocator", test_allocator);
  g_test_add_func("/library/cancel", test_cancel);
  return g_test_run();
}

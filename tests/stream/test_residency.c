/* SPDX-License-Identifier: MIT */
/*
 * test_residency.c - a chunk goes to the device once and comes back once, however long the
 * chain: the trace of a chain of ten operators shows one upload and one download a chunk,
 * of the bytes that they must have and no more: samples of 16 bits go as such. On the CPU it shows none.
 *
 *     test_residency cpu|cuda
 */
#include "core/contract/filterchain.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#define SKIP     77
#define FRAMES   100003
#define CHANNELS 2
#define CHUNK    4096
#define CHUNKS   ((FRAMES + CHUNK - 1) / CHUNK)

/* Ten operators of several kinds. The borders are zero, so that a chunk needs no more of its
 * neighbours than the halos: what they ask for before and after is in the table below. */
static const char *const stages[] = {"conv1d:[1,2,3,2,1]/9:border=zero",
                                     "gain:0.5",
                                     "matrix:[0.5,0.5;0.5,-0.5]",
                                     "conv1d:[1,1,1]/3:border=zero",
                                     "clip:0.9",
                                     "mix:1,0",
                                     "winstat:window=7:stat=mean:border=zero",
                                     "gain:-3dB",
                                     "conv1d:[1,-1]:border=zero",
                                     "gain:2",
                                     NULL};
/* 5 taps, 3 taps and a window of 7 ahead of winstat's output; after it 2 taps, whose centre is
 * the later one. winstat makes its floats in whole blocks, so that a sum does not depend on
 * where a chunk begins. */
#define BEFORE_BLOCKS (2 + 1 + 3)
#define AFTER_BLOCKS  (2 + 1 + 3)
#define BLOCK         512
#define BEFORE        1

static int failed;
static int dtype;   /* of input and output */
static gint64 size; /* of a sample */

#define CHECK(condition, ...)                                                                                \
  do {                                                                                                       \
    if (condition) break;                                                                                    \
    failed++;                                                                                                \
    printf("FAILED %s: ", #condition);                                                                       \
    printf(__VA_ARGS__);                                                                                     \
    putchar('\n');                                                                                           \
  } while (0)

/* ---- the trace ------------------------------------------------------------------- */

typedef struct transfers {
  int count[CHUNKS]; /* a chunk */
  gint64 bytes[CHUNKS];
  int elsewhere; /* of chunks that there are none of */
} transfers;

/* The integer after "key": in a line, or -1. */
static gint64 number_of(const char *line, const char *key) {
  g_autofree char *pattern = g_strdup_printf("\"%s\":", key);
  const char *at = strstr(line, pattern);
  return at ? g_ascii_strtoll(at + strlen(pattern), NULL, 10) : -1;
}

/* Counts the events of this name; the trace has one a line. */
static void count_transfers(const char *trace, const char *name, transfers *t) {
  memset(t, 0, sizeof *t);
  g_auto(GStrv) lines = g_strsplit(trace, "\n", -1);
  g_autofree char *wanted = g_strdup_printf("{\"name\":\"%s\",\"ph\":\"X\"", name);
  for (guint i = 0; lines[i]; i++) {
    if (!g_str_has_prefix(lines[i], wanted)) continue;
    gint64 chunk = number_of(lines[i], "chunk");
    if (chunk < 0 || chunk >= CHUNKS) {
      t->elsewhere++;
      continue;
    }
    t->count[chunk]++;
    t->bytes[chunk] += number_of(lines[i], "bytes");
  }
}

/* ---- running --------------------------------------------------------------------- */

static fc_view view_of(void *data) {
  const gint64 row = size * FRAMES * CHANNELS;
  return (fc_view){sizeof(fc_view),
                   dtype,
                   FC_AUDIO,
                   FC_HOST,
                   data,
                   {1, 1, FRAMES, CHANNELS},
                   {row, row, size * CHANNELS, size},
                   {0},
                   {1, 1, FRAMES, CHANNELS}};
}

/* Runs the chain; the trace as text and the result, or NULL with the error. */
static char *run(const char *device, void *out, fc_result **result, GError **error) {
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, error);
  if (!chain) return NULL;
  g_autofree char *path = NULL;
  int file = g_file_open_tmp("filterchain-trace-XXXXXX", &path, error);
  if (file < 0) return NULL;
  g_close(file, NULL);
  g_autofree void *in = g_malloc((gsize)(FRAMES * CHANNELS * size));
  for (int i = 0; i < FRAMES * CHANNELS; i++)
    if (dtype == FC_F32)
      ((float *)in)[i] = (float)((i * 7919 % 2001 - 1000) / 1000.0);
    else
      ((gint16 *)in)[i] = (gint16)(i * 7919 % 65536 - 32768);
  fc_view from = view_of(in), to = view_of(out);
  fc_options options = FC_OPTIONS_INIT;
  options.device = device, options.trace = path, options.chunk = CHUNK;
  char *trace = NULL;
  if (fc_chain_run_host(chain, &from, &to, &options, result, error))
    g_file_get_contents(path, &trace, NULL, error);
  remove(path);
  return trace;
}

/* ---- checking -------------------------------------------------------------------- */

/* What a chunk must bring along: its frames and the halos, within the signal. */
static gint64 frames_up(int chunk) {
  gint64 first = MAX((gint64)chunk * CHUNK - BEFORE, 0), end = (gint64)(chunk + 1) * CHUNK;
  gint64 lo = first / BLOCK * BLOCK, hi = (end + BLOCK - 1) / BLOCK * BLOCK;
  return MIN(hi + AFTER_BLOCKS, FRAMES) - MAX(lo - BEFORE_BLOCKS, 0);
}

static gint64 frames_down(int chunk) {
  return MIN((gint64)CHUNK, FRAMES - (gint64)chunk * CHUNK);
}

static void check_transfers(const char *trace, const char *name, gint64 (*frames)(int), gint64 reported) {
  transfers t;
  gint64 total = 0;
  count_transfers(trace, name, &t);
  CHECK(t.elsewhere == 0, "%s: %d events of chunks that there are none of", name, t.elsewhere);
  for (int c = 0; c < CHUNKS; c++) {
    gint64 wanted = frames(c) * CHANNELS * size;
    CHECK(t.count[c] == 1, "%d times %s of chunk %d", t.count[c], name, c);
    CHECK(t.bytes[c] == wanted, "%s of chunk %d: %" G_GINT64_FORMAT " bytes, expected %" G_GINT64_FORMAT,
          name, c, t.bytes[c], wanted);
    total += t.bytes[c];
  }
  CHECK(total == reported, "%s: %" G_GINT64_FORMAT " bytes in the trace, %" G_GINT64_FORMAT " in the result",
        name, total, reported);
}

static void check_cuda(const char *trace, const fc_result *r) {
  CHECK(g_str_has_prefix(r->device, "cuda:"), "ran on %s", r->device);
  CHECK(r->chunks == CHUNKS, "%" G_GINT64_FORMAT " chunks, expected %d", r->chunks, CHUNKS);
  check_transfers(trace, "upload", frames_up, r->bytes_up);
  check_transfers(trace, "download", frames_down, r->bytes_down);
}

static void check_cpu(const char *trace, const fc_result *r) {
  CHECK(r->chunks == CHUNKS, "%" G_GINT64_FORMAT " chunks, expected %d", r->chunks, CHUNKS);
  CHECK(strstr(trace, "\"chunk\"") != NULL, "no chunk in the trace");
  CHECK(!strstr(trace, "\"upload\"") && !strstr(trace, "\"download\""), "transfers on the CPU");
  CHECK(r->bytes_up == 0 && r->bytes_down == 0, "bytes transferred on the CPU");
}

static double value_of(const void *data, int i) {
  return dtype == FC_F32 ? ((const float *)data)[i] : ((const gint16 *)data)[i] / 32768.0;
}

/* The same to rounding on either device. */
static void compare(const void *a, const void *b) {
  double worst = 0;
  for (int i = 0; i < FRAMES * CHANNELS; i++) {
    double error = ABS(value_of(a, i) - value_of(b, i));
    worst = error <= worst ? worst : error; /* NaN stays */
  }
  CHECK(worst <= (dtype == FC_F32 ? 1e-6 : 1 / 32768.0), "the device is off by %g", worst);
}

/* FALSE: there is no device. */
static gboolean check(const char *device, int samples) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) result = NULL, cpu_result = NULL;
  gboolean cpu = strcmp(device, "cpu") == 0;
  dtype = samples, size = (gint64)fc_dtype_size(dtype);
  const gsize bytes = (gsize)(FRAMES * CHANNELS * size);
  g_autofree void *out = g_malloc0(bytes), *expected = g_malloc0(bytes);
  g_autofree char *trace = run(device, out, &result, &error);
  if (!trace && !cpu && error->code == FC_DEVICE) {
    printf("skipped: %s\n", error->message);
    return FALSE;
  }
  CHECK(trace != NULL, "%s", error->message);
  if (failed) return TRUE;
  (cpu ? check_cpu : check_cuda)(trace, result);
  g_autofree char *again = cpu ? NULL : run("cpu", expected, &cpu_result, &error);
  if (again) compare(out, expected);
  printf("%s on %s: %" G_GINT64_FORMAT " chunks, %" G_GINT64_FORMAT " bytes up, %" G_GINT64_FORMAT
         " down, %d failed\n",
         fc_dtype_name(dtype), result->device, result->chunks, result->bytes_up, result->bytes_down, failed);
  return TRUE;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  if (!check(argv[1], FC_F32) || !check(argv[1], FC_I16)) return SKIP;
  return failed > 0;
}

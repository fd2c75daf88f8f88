/* SPDX-License-Identifier: MIT */
/*
 * test_fused.c - chains whose stages run as one kernel against the same stages one by one, to the bit and
 * with the same complaints: random ones of operators that look at one sample or pixel, some with a filter
 * between, on every kind of signal, type and layout, whole and in chunks. Skipped without a device or without
 * NVRTC.
 *
 *     test_fused [--seed N] [--random N]
 *     test_fused --times [--only TEXT]      on the device's memory, beside a copy of as many bytes; rows
 * whose name has this in it
 */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/contract/filterchain.h"
#include "tests/filters/check.h"

enum { SKIPPED = 77, MOST_STAGES = 6 };

static fc_context *context;
static GRand *numbers;
static GString *said; /* warnings of the current run */
static gboolean no_compiler;

static void log_line(fc_log_level level, const char *message, void *data) {
  if (level == FC_LOG_WARNING && !strstr(message, " are short: "))
    g_string_append_printf(said, "%s\n", message);
  if (level != FC_LOG_INFO || !strstr(message, "stages run one by one")) return;
  no_compiler = strstr(message, "libnvrtc (part of the CUDA Toolkit) was not found") != NULL;
  CHECK(no_compiler, "%s", message);
}

static int pick(int from, int to) {
  return g_rand_int_range(numbers, from, to);
}

/* ---- chains ---------------------------------------------------------------------- */

typedef struct trial {
  GPtrArray *stages; /* texts, and NULL */
  fc_format in, out;
  fc_view in_view, out_view;
  gsize in_bytes, out_bytes;
} trial;

static char *numbers_of(int n, double low, double high) {
  GString *s = g_string_new(NULL);
  for (int i = 0; i < n; i++)
    g_string_append_printf(s, "%s%.4f", i ? "," : "", g_rand_double_range(numbers, low, high));
  return g_string_free(s, FALSE);
}

static char *matrix_of(int rows, int cols) {
  GString *s = g_string_new("matrix:[");
  for (int r = 0; r < rows; r++) {
    g_autofree char *row = numbers_of(cols, -0.8, 0.8);
    g_string_append_printf(s, "%s%s", r ? ";" : "", row);
  }
  g_string_append_c(s, ']');
  return g_string_free(s, FALSE);
}

/* A filter of any mask, with any border; of sound along time. */
static char *window_of(int kind) {
  static const char *const borders[] = {"zero",    "constant:value=3", "replicate",
                                        "reflect", "reflect101",       "wrap"};
  const char *border = borders[pick(0, G_N_ELEMENTS(borders))];
  GString *s = g_string_new(NULL);
  if (pick(0, 3) == 0) {
    static const char *const stats[] = {"sum", "sumsq", "mean", "var", "std", "rms", "min", "max"};
    const int window = (int)exp(g_rand_double_range(numbers, log(2), log(kind == FC_AUDIO ? 6000 : 60)));
    g_string_printf(s, "winstat:window=%d", window);
    if (kind != FC_AUDIO && pick(0, 2)) g_string_printf(s, "winstat:window=%dx%d", pick(1, 33), pick(1, 33));
    g_string_append_printf(s, ":stat=%s:border=%s", stats[pick(0, G_N_ELEMENTS(stats))], border);
  } else if (kind == FC_AUDIO || pick(0, 5) == 0) {
    g_autofree char *mask = numbers_of(pick(1, pick(0, 3) ? 40 : 129), -0.3, 0.4);
    g_string_printf(s, "conv1d:[%s]:method=direct:axis=%s:border=%s", mask,
                    kind != FC_AUDIO && pick(0, 2) ? "y" : "x", border);
  } else if (pick(0, 2)) {
    g_autofree char *x = numbers_of(pick(1, 20), -0.4, 0.5), *y = numbers_of(pick(1, 20), -0.4, 0.5);
    g_string_printf(s, "sepconv:[%s]:y=[%s]:border=%s", x, y, border);
  } else {
    const int cols = pick(1, 16);
    g_string_assign(s, "conv2d:[");
    for (int rows = pick(1, 16); rows > 0; rows--) {
      g_autofree char *row = numbers_of(cols, -0.3, 0.4);
      g_string_append_printf(s, "%s%s", row, rows > 1 ? ";" : "");
    }
    g_string_append_printf(s, "]:border=%s", border);
  }
  return g_string_free(s, FALSE);
}

/* A stage, and how many channels come out of it. */
static char *stage_of(int kind, int *channels) {
  static const char *const types[] = {"u8", "i16", "u16", "f32", "i32", "f64"};
  const double unit = kind == FC_AUDIO ? 1 : 255;
  g_autofree char *factor = numbers_of(1, -2, 2), *each = numbers_of(*channels, -2, 2);
  const int was = *channels;
  switch (pick(0, 13)) {
  case 0:
  case 1: return g_strconcat("gain:", factor, NULL);
  case 2: return g_strconcat("gain:", each, NULL);
  case 3:
    return g_strdup_printf("clip:min=%.3f:max=%.3f", unit * g_rand_double_range(numbers, -1, 0.2),
                           unit * g_rand_double_range(numbers, 0.3, 1));
  case 4: return g_strdup_printf("convert:%s%s", types[pick(0, 6)], pick(0, 2) ? "" : ":scale=none");
  case 5:
  case 6: *channels = pick(1, 5); return matrix_of(*channels, was);
  case 7: *channels = 2; return g_strdup_printf("mix:%d,%d", pick(0, was), pick(0, was));
  case 8: return g_strdup(kind == FC_AUDIO ? "crop:start=3" : "crop:x=3:y=1");
  default: return window_of(kind);
  }
}

static void lay_out(fc_view *v, const fc_format *f, gsize *bytes) {
  const gint64 size = (gint64)fc_dtype_size(f->dtype), *e = f->extent;
  const gboolean planar = f->layout == FC_PLANAR;
  *v = (fc_view){.size = sizeof *v, .dtype = f->dtype, .kind = f->kind, .device = FC_HOST};
  memcpy(v->shape, e, sizeof v->shape), memcpy(v->extent, e, sizeof v->extent);
  v->stride[FC_AXIS_C] = planar ? size * e[1] * e[2] : size;
  v->stride[FC_AXIS_X] = planar ? size : size * e[3];
  v->stride[FC_AXIS_Y] = v->stride[FC_AXIS_X] * e[2];
  v->stride[FC_AXIS_N] = size * e[1] * e[2] * e[3];
  *bytes = (gsize)(v->stride[FC_AXIS_N] * e[0]);
}

static trial *trial_new(void) {
  static const gint64 pictures[][3] = {{1, 61, 397}, {3, 17, 230}, {1, 300, 9}, {2, 133, 512},
                                       {23, 31, 33}, {1, 5, 3001}, {2, 4000, 1}};
  trial *t = g_new0(trial, 1);
  int channels = pick(1, 5);
  t->in = (fc_format){.size = sizeof t->in,
                      .kind = pick(0, FC_KIND_COUNT),
                      .dtype = pick(0, FC_DTYPE_COUNT),
                      .layout = pick(0, 3) ? FC_INTERLEAVED : FC_PLANAR,
                      .rate = 8000};
  t->in.bits = t->in.dtype == FC_F32 ? 24 : t->in.dtype == FC_F64 ? 53 : 8 * (int)fc_dtype_size(t->in.dtype);
  const gint64 *shape = pictures[pick(0, G_N_ELEMENTS(pictures))];
  if (t->in.kind == FC_AUDIO)
    t->in.extent[0] = t->in.extent[1] = 1, t->in.extent[2] = pick(100, 40000);
  else
    memcpy(t->in.extent, shape, 3 * sizeof *shape);
  t->in.extent[3] = channels;
  t->stages = g_ptr_array_new_with_free_func(g_free);
  for (int n = pick(2, MOST_STAGES + 1); n > 0; n--)
    g_ptr_array_add(t->stages, stage_of(t->in.kind, &channels));
  g_ptr_array_add(t->stages, NULL);
  return t;
}

static void trial_free(trial *t) {
  g_ptr_array_unref(t->stages);
  g_free(t);
}

static char *text_of(const trial *t) {
  g_autofree char *stages = g_strjoinv(" -p ", (char **)t->stages->pdata);
  return g_strdup_printf("kind %d, %s, layout %d, %d x %d x %d x %d: %s", t->in.kind,
                         fc_dtype_name(t->in.dtype), t->in.layout, (int)t->in.extent[0], (int)t->in.extent[1],
                         (int)t->in.extent[2], (int)t->in.extent[3], stages);
}

/* ---- bits ------------------------------------------------------------------------- */

/* Noise over the whole range of integers; of floats about full scale, with what is huge or not a number at
 * times.
 */
static void fill(void *to, gsize bytes, const fc_format *f, gboolean odd) {
  const double unit = f->kind == FC_AUDIO ? 1.2 : 300;
  for (gsize i = 0; i < bytes / fc_dtype_size(f->dtype); i++) {
    const guint32 r = g_rand_int(numbers);
    double v = (double)(gint32)r * 0x1p-31 * unit;
    if (odd && r % 509 == 0) v = r & 512 ? NAN : r & 1024 ? INFINITY : -1e30;
    if (f->dtype == FC_F32)
      ((float *)to)[i] = (float)v;
    else if (f->dtype == FC_F64)
      ((double *)to)[i] = v;
    else
      memcpy((char *)to + i * fc_dtype_size(f->dtype), &r, fc_dtype_size(f->dtype));
  }
}

/* What the run said, errors included; g_free. */
static char *run(trial *t, int fuse, gint64 chunk, void *from, void *to) {
  fc_options options = FC_OPTIONS_INIT;
  g_autoptr(GError) error = NULL;
  fc_chain *chain = fc_chain_parse(context, (const char *const *)t->stages->pdata, &error);
  CHECK(chain != NULL, "%s", error ? error->message : "");
  if (!chain) return g_strdup("no chain");
  options.device = "cuda", options.fuse = fuse, options.chunk = chunk;
  g_string_truncate(said, 0);
  memset(to, 0xa5, t->out_bytes);
  t->in_view.data = from, t->out_view.data = to;
  const gboolean ok = fc_chain_run_host(chain, &t->in_view, &t->out_view, &options, NULL, &error);
  fc_chain_free(chain);
  return g_strdup_printf("%s%s", said->str, ok ? "" : error->message);
}

/* FALSE: the stages do not take the signal, or one another. */
static gboolean negotiate(trial *t) {
  g_autoptr(GError) error = NULL;
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda";
  fc_chain *chain = fc_chain_parse(context, (const char *const *)t->stages->pdata, &error);
  t->out.size = sizeof t->out;
  const gboolean ok = chain && fc_chain_output_format(chain, &t->in, &options, &t->out, NULL);
  fc_chain_free(chain);
  CHECK(chain != NULL, "%s", error ? error->message : "");
  if (!ok) return FALSE;
  lay_out(&t->in_view, &t->in, &t->in_bytes), lay_out(&t->out_view, &t->out, &t->out_bytes);
  return t->out_bytes > 0;
}

static gboolean check_trial(trial *t) {
  if (!negotiate(t)) return FALSE;
  g_autofree void *from = g_malloc(t->in_bytes), *a = g_malloc(t->out_bytes), *b = g_malloc(t->out_bytes);
  g_autofree char *text = text_of(t);
  fill(from, t->in_bytes, &t->in, pick(0, 3) == 0);
  g_autofree char *plain = run(t, FC_FUSE_NO, 0, from, a);
  for (int chunked = 0; chunked < 2; chunked++) {
    g_autofree char *fused =
        run(t, FC_FUSE_WAIT, chunked ? pick(1, 40) * (t->in.kind == FC_AUDIO ? 100 : 1) : 0, from, b);
    const gboolean failed = strstr(plain, "NaN") != NULL;
    CHECK(strcmp(plain, fused) == 0, "%s: said \"%s\", fused \"%s\"", text, plain, fused);
    CHECK(failed || memcmp(a, b, t->out_bytes) == 0, "%s: other bits, chunked %d", text, chunked);
  }
  return TRUE;
}

/* ---- times --------------------------------------------------------------------------- */

static float best_of(fc_chain *chain, int fuse, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  fc_options options = FC_OPTIONS_INIT;
  float best = 1e9f, ms;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  options.fuse = fuse;
  for (int i = 0; i < 14; i++) {
    g_autoptr(GError) error = NULL;
    cudaEventRecord(begin, stream);
    const gboolean ok = chain ? fc_chain_run_device(chain, in, out, stream, &options, &error)
                              : cudaMemcpyAsync(out->data, in->data, (size_t)fuse << 20,
                                                cudaMemcpyDeviceToDevice, stream) == cudaSuccess;
    CHECK(ok, "%s", error ? error->message : "copy");
    cudaEventRecord(end, stream), cudaEventSynchronize(end), cudaEventElapsedTime(&ms, begin, end);
    if (i >= 4) best = MIN(best, ms);
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  return best;
}

static const struct {
  const char *name, *stages[11];
  int dtype, out;
  gint64 n, y, x, c, out_c;
} rows[] = {
#define TAPS5  "[1,4,6,4,1]/16"
#define TAPS15 "[1,2,3,4,5,6,7,8,7,6,5,4,3,2,1]/64"
#define ROW9   "1,2,3,1,5,3,2,4,1"
#define TAPS101                                                                                              \
  "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"                 \
  "33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,50,49,48,47,46,45,44,43,42,41,"                  \
  "40,39,38,37,36,35,34,33,32,31,30,29,28,27,26,25,24,23,22,21,20,19,18,17,16,15,14,13,12,"                  \
  "11,10,9,8,7,6,5,4,3,2,1]/2601"
    {"8 pointwise, 12288^2 f32",
     {"gain:1.1", "clip:min=2:max=250", "gain:0.9", "gain:1.2", "clip:min=3:max=240", "gain:0.7", "gain:1.3",
      "clip:min=4:max=200"},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1},
    {"3x3 matrix, gain, clip, 12288^2 u8 RGB",
     {"matrix:[0.5,0.3,0.2;0.1,0.8,0.1;0.25,0.25,0.5]", "gain:1.1", "clip:min=16:max=235"},
     FC_U8,
     FC_U8,
     1,
     12288,
     12288,
     3,
     3},
    {"luma, gain, 64 x 1080p u8 RGB to u8",
     {"matrix:[0.299,0.587,0.114]", "gain:1.1"},
     FC_U8,
     FC_U8,
     64,
     1080,
     1920,
     3,
     1},
    {"crop, gain, clip, 12288^2 f32",
     {"crop:x=0:y=1000:width=12288", "gain:1.1", "clip:min=16:max=235"},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1},
    {"matrix, gain, clip, 64 x 1080p u8 RGB to f32",
     {"matrix:[0.5,0.3,0.2;0.1,0.8,0.1;0.25,0.25,0.5]", "gain:0.0039", "clip:min=0:max=1"},
     FC_U8,
     FC_F32,
     64,
     1080,
     1920,
     3,
     3},
    {"gain, sepconv 5x5, clip, gain, 12288^2 f32",
     {"gain:1.1", "sepconv:" TAPS5, "clip:min=20:max=200", "gain:0.9"},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1},
    {"gain, sepconv 15x15, clip, gain, 12288^2 f32",
     {"gain:1.1", "sepconv:" TAPS15, "clip:min=20:max=200", "gain:0.9"},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1},
    {"conv2d 5x9, 12288^2 f32",
     {"conv2d:[" ROW9 ";3,"
      "1,2,3,1,5,3,2,4;" ROW9 ";9,8,7,1,5,3,2,4,1;" ROW9 "]/99:separate=no"},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1},
    {"conv2d 6x6, 12288^2 f32",
     {"conv2d:[1,2,3,4,5,7;2,1,4,3,6,5;7,1,2,3,1,2;4,5,6,7,8,1;3,1,4,1,5,9;2,7,1,8,2,8]/99:separate=no"},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1},
    {"gain, sepconv 5, clip, gain, 12288^2 u8 RGB",
     {"gain:1.1", "sepconv:" TAPS5, "clip:min=20:max=200", "gain:0.9"},
     FC_U8,
     FC_U8,
     1,
     12288,
     12288,
     3,
     3},
    {"luma, sepconv 5, 64 x 1080p u8 RGB to u8",
     {"matrix:[0.299,0.587,0.114]", "sepconv:" TAPS5},
     FC_U8,
     FC_U8,
     64,
     1080,
     1920,
     3,
     1},
    {"gain, sepconv 5, 12287 x 12289 u8",
     {"gain:1.1", "sepconv:" TAPS5, "gain:0.9"},
     FC_U8,
     FC_U8,
     1,
     12287,
     12289,
     1,
     1},
    {"conv2d 6x6, 12287 x 12289 f32",
     {"conv2d:[1,2,3,4,5,7;2,1,4,3,6,5;7,1,2,3,1,2;4,5,6,7,8,1;3,1,4,1,5,9;2,7,1,8,2,8]/99:separate=no"},
     FC_F32,
     FC_F32,
     1,
     12287,
     12289,
     1,
     1},
    {"gain, conv2d 3x3, 512 x 225^2 u8 RGB",
     {"gain:1.1", "conv2d:[1,2,1;2,5,2;1,2,2]/18:separate=no", "gain:0.9"},
     FC_U8,
     FC_U8,
     512,
     225,
     225,
     3,
     3},
    {"gain, conv1d 5, clip, 1 h stereo i16",
     {"gain:0.9", "conv1d:" TAPS5, "clip:0.8"},
     FC_I16,
     FC_I16,
     1,
     1,
     172800000,
     2,
     2},
    {"gain, conv1d 31, clip, 1 h stereo i16",
     {"gain:0.9", "conv1d:[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1]/256",
      "clip:0.8"},
     FC_I16,
     FC_I16,
     1,
     1,
     172800000,
     2,
     2},
    {"gain, conv1d 31 down, clip, 12288^2 f32",
     {"gain:0.9",
      "conv1d:[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1]/256:axis=y",
      "clip:min=0:max=200"},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1},
    {"10 x conv1d 101, 1 h stereo i16",
     {"conv1d:" TAPS101, "conv1d:" TAPS101, "conv1d:" TAPS101, "conv1d:" TAPS101, "conv1d:" TAPS101,
      "conv1d:" TAPS101, "conv1d:" TAPS101, "conv1d:" TAPS101, "conv1d:" TAPS101, "conv1d:" TAPS101},
     FC_I16,
     FC_I16,
     1,
     1,
     172800000,
     2,
     2},
    {"mean of 15 x 15, 64 x 1080p u8", {"winstat:window=15x15"}, FC_U8, FC_U8, 64, 1080, 1920, 1, 1},
    {"gain, min of 15 x 15, clip, f32",
     {"gain:0.9", "winstat:window=15x15:stat=min", "clip:min=5:max=200"},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1},
    {"rms of 4800, 1 h stereo i16", {"winstat:window=4800:stat=rms"}, FC_I16, FC_I16, 1, 1, 172800000, 2, 2},
    {"conv2d 3x15, 12288^2 f32",
     {"conv2d:[1,2,1,1,3,1,2,2,1,1,2,3,1,1,2;2,1,1,2,3,1,1,2,4,1,1,2,1,3,1;1,1,2,1,2,1,3,1,1,2,2,1,1,1,3]/"
      "72"},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1},
    {"sepconv 5, gain, sepconv 5, 12288^2 f32",
     {"sepconv:" TAPS5, "gain:0.9", "sepconv:" TAPS5},
     FC_F32,
     FC_F32,
     1,
     12288,
     12288,
     1,
     1}};

static void show_row(guint i, cudaStream_t stream) {
  g_autoptr(GError) error = NULL;
  fc_chain *chain = fc_chain_parse(context, rows[i].stages, &error);
  CHECK(chain != NULL, "%s", error ? error->message : "");
  fc_format in = {.size = sizeof in,
                  .kind = rows[i].y > 1 ? FC_IMAGE : FC_AUDIO,
                  .dtype = rows[i].dtype,
                  .bits = rows[i].dtype == FC_U8    ? 8
                          : rows[i].dtype == FC_I16 ? 16
                                                    : 24,
                  .rate = 48000,
                  .extent = {rows[i].n, rows[i].y, rows[i].x, rows[i].c}};
  fc_format out = {.size = sizeof out};
  if (!fc_chain_output_format(chain, &in, NULL, &out, &error)) CHECK(0, "%s", error->message);
  out.dtype = rows[i].out;
  fc_view from, to;
  gsize in_bytes, out_bytes;
  lay_out(&from, &in, &in_bytes), lay_out(&to, &out, &out_bytes);
  from.device = to.device = FC_CUDA_DEVICE(0);
  const gsize room = MAX(in_bytes, out_bytes) + 64;
  CHECK(cudaMalloc(&from.data, room) == cudaSuccess && cudaMalloc(&to.data, room) == cudaSuccess, "memory");
  cudaMemset(from.data, 0x3c, room);
  const float one = best_of(chain, FC_FUSE_NO, &from, &to, stream),
              fused = best_of(chain, FC_FUSE_WAIT, &from, &to, stream),
              copy = best_of(NULL, (int)((in_bytes + out_bytes) / 2 >> 20), &from, &to, stream);
  float joined = best_of(chain, FC_FUSE_ALGEBRA, &from, &to, stream);
  if (fabsf(joined - fused) > 0.03F * fused) { /* another plan: once more, when its kernel is compiled */
    g_usleep(2 * G_USEC_PER_SEC);
    joined = MIN(joined, best_of(chain, FC_FUSE_ALGEBRA, &from, &to, stream));
  }
  printf(
      "%s: one by one %.4f ms, fused %.4f ms, by algebra %.4f ms, copy %.4f ms: %.3f, %.3f and %.3f of it\n",
      rows[i].name, one, fused, joined, copy, copy / one, copy / fused, copy / joined);
  fflush(stdout);
  fc_chain_free(chain);
  cudaFree(from.data), cudaFree(to.data);
}

static void show_times(const char *only) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    if (!only || strstr(rows[i].name, only)) show_row(i, stream);
  cudaStreamDestroy(stream);
}

/* ---- all --------------------------------------------------------------------------------- */

int main(int argc, char **argv) {
  int devices = 0, seed = 1, random = 60, done = 0;
  gboolean times = FALSE;
  const char *only = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--times") == 0) times = TRUE;
    if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) only = argv[i + 1];
    if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) seed = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--random") == 0 && i + 1 < argc) random = atoi(argv[i + 1]);
  }
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    printf("skipped: no CUDA device\n");
    return SKIPPED;
  }
  numbers = g_rand_new_with_seed((guint32)seed), said = g_string_new(NULL);
  context = fc_context_new();
  fc_context_set_log(context, log_line, NULL);
  for (int i = 0; i < random && !times && !no_compiler; i++) {
    trial *t = trial_new();
    done += check_trial(t);
    trial_free(t);
  }
  if (times) show_times(only);
  if (no_compiler) printf("skipped: no libnvrtc\n");
  if (!times && !no_compiler) CHECK(done > random / 3, "%d chains of %d", done, random);
  printf("%d chains\n", done);
  fc_context_free(context);
  return no_compiler ? SKIPPED : check_result();
}

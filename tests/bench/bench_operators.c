/* SPDX-License-Identifier: MIT */
/*
 * bench_operators.c - operators timed through the library, as chains of one: memory to
 * memory on the CPU, device memory to device memory on a GPU. That each computes the right
 * thing is what tests/ops shows; here the output is only required to be complete.
 */
#include "core/contract/filterchain.h"
#include "tests/bench/bench.h"

#include <string.h>

/* The signals that operators are timed on. */
static const struct signal_kind {
  const char *name;
  int kind, dtype;
  gint64 y, x, c;
} signals[] = {{"stereo f32, 16 Mi frames", FC_AUDIO, FC_F32, 1, 1 << 24, 2},
               {"stereo i16, 16 Mi frames", FC_AUDIO, FC_I16, 1, 1 << 24, 2},
               {"4096 x 4096 f32", FC_ARRAY, FC_F32, 4096, 4096, 1},
               {"4096 x 4096 u8 RGB", FC_IMAGE, FC_U8, 4096, 4096, 3}};

typedef struct timing {
  fc_chain *chain;
  fc_view in, out;
  fc_options options;
  GError *error;
} timing;

static fc_view view_of(const fc_format *f, void *data, int device) {
  fc_view v = {sizeof v, f->dtype, f->kind, device, data, {0}, {0}, {0}, {0}};
  gint64 stride = (gint64)fc_dtype_size(f->dtype);
  for (int a = FC_AXES - 1; a >= 0; a--) {
    v.shape[a] = v.extent[a] = f->extent[a];
    v.stride[a] = stride;
    stride *= MAX(f->extent[a], 1);
  }
  return v;
}

static gsize bytes_of(const fc_view *v) {
  return (gsize)fc_view_count(v) * fc_dtype_size(v->dtype);
}

static void run_host(void *data) {
  timing *t = data;
  if (!t->error) fc_chain_run_host(t->chain, &t->in, &t->out, &t->options, NULL, &t->error);
}

static void *noise(const fc_view *v) {
  gsize bytes = bytes_of(v);
  void *data = g_malloc(bytes + 8);
  if (v->dtype == FC_F32)
    bench_noise_f32(data, bytes / 4, 23);
  else
    bench_noise_i32(data, bytes / 4, 1 << 30, 23);
  return data;
}

static void time_on_host(timing *t, const fc_format *out, int repeats, double *seconds) {
  g_autofree void *in = noise(&t->in), *result = NULL;
  t->in.data = in;
  t->out = view_of(out, NULL, FC_HOST);
  result = t->out.data = g_malloc(bytes_of(&t->out) + 8);
  *seconds = bench_time(run_host, t, repeats);
}

#ifdef FC_HAVE_CUDA
static void run_device(void *data) {
  timing *t = data;
  if (!t->error) fc_chain_run_device(t->chain, &t->in, &t->out, NULL, &t->options, &t->error);
}

static void time_on_device(timing *t, const fc_format *out, int repeats, double *seconds) {
  g_autofree void *in = noise(&t->in);
  t->out = view_of(out, NULL, FC_CUDA_DEVICE(0));
  t->in.data = bench_device_new(in, bytes_of(&t->in));
  t->out.data = bench_device_new(NULL, bytes_of(&t->out));
  t->in.device = FC_CUDA_DEVICE(0);
  *seconds = bench_time_cuda(run_device, t, repeats);
  bench_device_free(t->in.data);
  bench_device_free(t->out.data);
}
#endif

/* One operator on one signal; FALSE with a sentence where the two do not go together. */
static gboolean time_one(fc_context *context, const char *stage, const struct signal_kind *s, gboolean gpu,
                         int repeats, double *seconds, double *bytes, GError **error) {
  const char *const stages[] = {stage, NULL};
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, error);
  if (!chain) return FALSE;
  fc_format in = {sizeof in,
                  s->kind,
                  s->dtype,
                  s->dtype == FC_F32   ? 24
                  : s->dtype == FC_I16 ? 16
                                       : 8,
                  FC_INTERLEAVED,
                  0,
                  {1, s->y, s->x, s->c},
                  s->kind == FC_AUDIO ? 48000 : 0};
  fc_format out = {.dtype = s->dtype};
  if (!fc_chain_output_format(chain, &in, NULL, &out, error)) return FALSE;
  timing t = {.chain = chain, .in = view_of(&in, NULL, FC_HOST), .options = FC_OPTIONS_INIT};
  t.options.device = "cpu";
#ifdef FC_HAVE_CUDA
  if (gpu)
    time_on_device(&t, &out, repeats, seconds);
  else
#endif
    time_on_host(&t, &out, repeats, seconds);
  *bytes = (double)bytes_of(&t.in) + (double)bytes_of(&t.out);
  if (t.error) g_propagate_error(error, t.error);
  return t.error == NULL;
}

static gboolean use_gpu(const char *device, char *name, gsize size) {
  g_strlcpy(name, "cpu", size);
#ifdef FC_HAVE_CUDA
  if (strcmp(device, "cpu") != 0 && bench_has_device(name, size)) return TRUE;
#endif
  return FALSE;
}

static void print_quoted(const char *text) {
  putchar('"');
  for (; *text; text++)
    if ((unsigned char)*text < ' ')
      printf("\\u%04x", (unsigned char)*text);
    else
      printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  putchar('"');
}

static void print_row(const char *stage, const char *on, double seconds, double bytes, double copy,
                      int json) {
  if (json) {
    fputs("{\"operator\":", stdout);
    print_quoted(stage);
    printf(",\"signal\":\"%s\",\"seconds\":%.6g,\"bytes\":%.6g,\"of_copy\":%.4f}\n", on, seconds, bytes,
           bytes / seconds / copy);
  } else
    printf("%-44s %-26s %10.4f ms %9.1f GB/s %6.2f of copy\n", stage, on, seconds * 1e3,
           bytes / seconds / 1e9, bytes / seconds / copy);
}

static gboolean bench_stage(fc_context *context, const char *stage, gboolean gpu, double copy, int repeats,
                            int json) {
  gboolean any = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(signals); i++) {
    g_autoptr(GError) error = NULL;
    double seconds, bytes;
    if (time_one(context, stage, &signals[i], gpu, repeats, &seconds, &bytes, &error)) {
      print_row(stage, signals[i].name, seconds, bytes, copy, json);
      any = TRUE;
    } else if (!json) {
      printf("%-44s %-26s %s\n", stage, signals[i].name, error->message);
    }
    fflush(stdout);
  }
  return any;
}

/* Does it filter one signal, and nothing else? */
static gboolean is_filter(const fc_operator *op) {
  for (guint i = 0; i < op->n_params; i++)
    if (op->params[i]->type == FC_INPUT && op->params[i]->flags & FC_PARAM_REQUIRED) return FALSE;
  return !(op->flags & FC_OP_GENERATOR);
}

/* The first example of every operator that is a filter, when none is named. */
static gboolean bench_all(fc_context *context, gboolean gpu, double copy, int repeats, int json) {
  gsize count;
  g_autofree const fc_operator **operators = fc_context_operators(context, &count);
  gboolean ok = TRUE;
  for (gsize i = 0; i < count; i++)
    if (is_filter(operators[i]) && operators[i]->examples && operators[i]->examples[0])
      ok &= bench_stage(context, operators[i]->examples[0], gpu, copy, repeats, json);
  return ok;
}

/* What does not even parse is a mistake in the command; no operator takes every signal. */
static gboolean all_parse(fc_context *context, int n, const char *const *stages) {
  for (int i = 0; i < n; i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(fc_chain) chain = fc_chain_parse(context, (const char *const[]){stages[i], NULL}, &error);
    if (chain) continue;
    fprintf(stderr, "filterchain: %s\n", error->message);
    return FALSE;
  }
  return TRUE;
}

/* The signals are noise: that some of it was clipped tells nobody anything. */
static void log_nothing(fc_log_level level, const char *message, void *data) {}

int bench_operators(int n, const char *const *stages, const bench_settings *settings, const char *device,
                    int json) {
  g_autoptr(fc_context) context = fc_context_new();
  if (!all_parse(context, n, stages)) return 2;
  fc_context_set_log(context, log_nothing, NULL);
  char name[128];
  gboolean gpu = use_gpu(device, name, sizeof name), ok = TRUE;
  double copy = bench_copy_cpu();
#ifdef FC_HAVE_CUDA
  if (gpu) copy = bench_copy_cuda();
#endif
  if (!json) printf("on %s; its own copy: %.0f GB/s\n", name, copy / 1e9);
  for (int i = 0; i < n; i++) ok &= bench_stage(context, stages[i], gpu, copy, settings->repeats, json);
  if (n == 0) ok = bench_all(context, gpu, copy, settings->repeats, json);
  return ok ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * test_algebra.c - stages joined by algebra (core/plan/algebra.c) against the same stages one by one: random
 * chains of linear operators of every border, length and element type, in chunks, as streams, on the CPU and,
 * by an operator of the test's own that is foreign to the engine, on the fake device; what is joined and what
 * is not, and why.
 */
#include <math.h>
#include <string.h>

#include "core/context/context.h"
#include "core/plan/plan.h"
#include "tests/device/fake_device.h"
#include "tests/device/hosted.h"

static fc_context *context;

/* ---- an operator that the engine does not know ---------------------------------------- */

enum { TAPS_MOST = 300 };

/* Sums along X of floats, by definition; every channel alike. */
typedef struct taps {
  double taps[TAPS_MOST];
  int64_t n, before;
  int border;
  double value;
} taps;

static fc_status taps_create(const fc_host *host, const fc_arg *const *args, void **self) {
  const fc_table *table = args[0]->table;
  taps *t = g_new0(taps, 1);
  (void)host;
  t->n = table->cols, t->before = args[2]->ints[0], t->border = (int)args[1]->ints[0];
  if (t->border == FC_BORDER_CONSTANT) t->value = 0.5;
  memcpy(t->taps, table->data, (gsize)t->n * sizeof(double));
  *self = t;
  return FC_OK;
}

static fc_status taps_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const taps *t = self;
  (void)host;
  terms->needs[0]->border = t->border, terms->needs[0]->border_value = t->value;
  terms->needs[0]->reach[FC_AXIS_X].before = t->before;
  terms->needs[0]->reach[FC_AXIS_X].after = t->n - 1 - t->before;
  terms->work = 2.0 * (double)t->n;
  return FC_OK;
}

static double load(const fc_view *v, int64_t n, int64_t y, int64_t x, int64_t c) {
  const void *at = fc_view_at(v, n, y, x, c);
  return v->dtype == FC_F64 ? *(const double *)at : *(const float *)at;
}

static fc_status taps_process(const fc_host *host, const void *state, const fc_job *job) {
  const taps *t = state;
  const fc_view *in = job->in[0], *out = job->out;
  (void)host;
  for (int64_t n = 0; n < out->shape[0]; n++)
    for (int64_t y = 0; y < out->shape[1]; y++)
      for (int64_t x = 0; x < out->shape[2]; x++)
        for (int64_t c = 0; c < out->shape[3]; c++) {
          double sum = 0;
          for (int64_t i = 0; i < t->n; i++) sum += t->taps[i] * load(in, n, y, x - t->before + i, c);
          void *to = fc_view_at(out, n, y, x, c);
          if (out->dtype == FC_F64)
            *(double *)to = sum;
          else
            *(float *)to = (float)sum;
        }
  return FC_OK;
}

static fc_status taps_describe(const fc_host *host, void *self, const fc_setup *setup, fc_linear_map *map) {
  const taps *t = self;
  (void)host, (void)setup;
  map->form = FC_LINEAR_SEPARABLE, map->masks = 1, map->nx = t->n, map->ny = 1, map->before_x = t->before;
  map->count = t->n + 1;
  if (map->room < map->count) return FC_OK;
  memcpy(map->numbers, t->taps, (gsize)t->n * sizeof(double));
  map->numbers[t->n] = 1;
  return FC_OK;
}

static fc_status taps_make(const fc_host *host, void *self, const fc_setup *setup, const fc_linear_map *map,
                           int32_t border, double value, void **instance) {
  (void)host, (void)self, (void)setup;
  if (map->form != FC_LINEAR_SEPARABLE || map->masks > 1 || map->ny > 1 || map->nx > TAPS_MOST)
    return FC_UNSUPPORTED;
  taps *t = g_new0(taps, 1);
  t->n = map->nx, t->before = map->before_x, t->border = border, t->value = value;
  for (int64_t i = 0; i < t->n; i++) t->taps[i] = map->numbers[i] * map->numbers[t->n];
  *instance = t;
  return FC_OK;
}

static const fc_operator taps_operator;
static const void *taps_extension(const fc_operator *op, const char *name) {
  static const fc_linear linear = {sizeof linear, 0, taps_describe, taps_make, &taps_operator};
  (void)op;
  return strcmp(name, FC_LINEAR) == 0 ? &linear : NULL;
}

static const fc_backend taps_cpu = {.size = sizeof taps_cpu,
                                    .device_kind = FC_KIND_HOST,
                                    .process = taps_process},
                        taps_cuda = {.size = sizeof taps_cuda,
                                     .flags = FC_BACKEND_GRAPH,
                                     .device_kind = FC_KIND_CUDA,
                                     .process = taps_process};
static const fc_backend *const taps_backends[] = {&taps_cpu, &taps_cuda, NULL};
static const fc_choice choices[] = {{sizeof *choices, FC_BORDER_ZERO, "zero", "."},
                                    {sizeof *choices, FC_BORDER_CONSTANT, "constant", "."},
                                    {sizeof *choices, FC_BORDER_REPLICATE, "replicate", "."},
                                    {sizeof *choices, FC_BORDER_REFLECT, "reflect", "."},
                                    {sizeof *choices, FC_BORDER_REFLECT101, "reflect101", "."},
                                    {sizeof *choices, FC_BORDER_WRAP, "wrap", "."}};
static const fc_choice *const all_choices[] = {choices,     choices + 1, choices + 2, choices + 3,
                                               choices + 4, choices + 5, NULL};
static const fc_limits counts = {.size = sizeof counts, .flags = FC_LIMIT_MIN, .int_min = 0};
static const fc_param taps_params[] = {{.size = sizeof(fc_param),
                                        .type = FC_TABLE,
                                        .flags = FC_PARAM_MAIN | FC_PARAM_REQUIRED,
                                        .name = "taps",
                                        .doc = "Them."},
                                       {.size = sizeof(fc_param),
                                        .type = FC_ENUM,
                                        .name = "border",
                                        .doc = "It.",
                                        .preset = "zero",
                                        .choices = all_choices},
                                       {.size = sizeof(fc_param),
                                        .type = FC_INT,
                                        .name = "before",
                                        .doc = "So many.",
                                        .preset = "0",
                                        .limits = &counts}};
static const fc_param *const taps_all[] = {taps_params, taps_params + 1, taps_params + 2};
static const char *const taps_examples[] = {"taps:[1,2]", NULL};
static const fc_operator taps_operator = {.size = sizeof taps_operator,
                                          .name = "taps",
                                          .flags = FC_OP_KEEPS_MEANING,
                                          .summary = "sums along the rows",
                                          .doc = "For tests.",
                                          .examples = taps_examples,
                                          .n_params = 3,
                                          .kinds = FC_KINDS_ALL,
                                          .dtypes_in = FC_DTYPE_BIT(FC_F32) | FC_DTYPE_BIT(FC_F64),
                                          .dtypes_out = FC_DTYPE_BIT(FC_F32) | FC_DTYPE_BIT(FC_F64),
                                          .params = taps_all,
                                          .create = taps_create,
                                          .destroy = g_free,
                                          .negotiate = taps_negotiate,
                                          .backends = taps_backends,
                                          .extension = taps_extension};
/* Another one, which takes what the operator of its joined stages does not, and does what this says. */
static enum {
  PLAIN,
  SUMS_UP,
  TELLS_MORE,
  TELLS_LESS,
  HAS_OWN_NUMBERS,
  HAS_NO_INSTANCE,
  LOOKS_AT_EXTENT,
  HAS_OWN_BORDER
} oddity;

static fc_status odd_describe(const fc_host *host, void *self, const fc_setup *setup, fc_linear_map *map) {
  static double own[TAPS_MOST + 1];
  const gboolean again = map->room > 0;
  const int64_t before = map->before_x;
  const fc_status status = taps_describe(host, self, setup, map);
  if (oddity == SUMS_UP) map->before_x += before;
  if (again && oddity == TELLS_MORE) map->nx += 1 << 24, map->count += 1 << 24;
  if (again && oddity == TELLS_LESS) map->nx--, map->count--;
  if (again && oddity == HAS_OWN_NUMBERS) map->numbers = own;
  if (oddity == LOOKS_AT_EXTENT && setup->in[0]->extent[FC_AXIS_X] >= 0) return FC_UNSUPPORTED;
  return status;
}

/* Its joined stages need no instance, where that is asked for: they are always [1,3,3,1]. */
static taps fixed = {.taps = {1, 3, 3, 1}, .n = 4, .before = 2};

static fc_status odd_make(const fc_host *host, void *self, const fc_setup *setup, const fc_linear_map *map,
                          int32_t border, double value, void **instance) {
  return oddity == HAS_NO_INSTANCE ? FC_OK : taps_make(host, self, setup, map, border, value, instance);
}

static fc_status made_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_status status = taps_negotiate(host, self ? self : &fixed, terms);
  if (oddity == HAS_OWN_BORDER) terms->needs[0]->border = FC_BORDER_REPLICATE;
  return status;
}

static fc_status made_process(const fc_host *host, const void *state, const fc_job *job) {
  return taps_process(host, state ? state : &fixed, job);
}

static const fc_backend made_cpu = {.size = sizeof made_cpu,
                                    .device_kind = FC_KIND_HOST,
                                    .process = made_process},
                        made_cuda = {
                            .size = sizeof made_cuda, .device_kind = FC_KIND_CUDA, .process = made_process};
static const fc_backend *const made_backends[] = {&made_cpu, &made_cuda, NULL}, *const on_cpu[] = {&made_cpu,
                                                                                                   NULL};

static const void *never(const fc_operator *op, const char *name) {
  g_error("%s: beyond its size, and asked for %s", op->name, name);
  return NULL;
}

/* Of a version of the contract in which `backends` was the last member. */
static const fc_operator made_operator = {.size = G_STRUCT_OFFSET(fc_operator, backends) + sizeof(void *),
                                          .name = "odd",
                                          .flags = FC_OP_KEEPS_MEANING,
                                          .summary = "several sums as one",
                                          .kinds = FC_KINDS_ALL,
                                          .dtypes_in = FC_DTYPE_BIT(FC_F32) | FC_DTYPE_BIT(FC_F64),
                                          .dtypes_out = FC_DTYPE_BIT(FC_F32) | FC_DTYPE_BIT(FC_F64),
                                          .destroy = g_free,
                                          .negotiate = made_negotiate,
                                          .backends = made_backends,
                                          .extension = never},
                         host_made_operator = {.size = sizeof host_made_operator,
                                               .name = "odd",
                                               .flags = FC_OP_KEEPS_MEANING,
                                               .summary = "several sums as one",
                                               .kinds = FC_KINDS_ALL,
                                               .dtypes_in = FC_DTYPE_BIT(FC_F32),
                                               .dtypes_out = FC_DTYPE_BIT(FC_F32),
                                               .destroy = g_free,
                                               .negotiate = made_negotiate,
                                               .backends = on_cpu},
                         nameless_operator = {.size = sizeof nameless_operator, .backends = on_cpu};

static const void *odd_extension(const fc_operator *op, const char *name) {
  static const fc_linear linear = {sizeof linear, 0, odd_describe, odd_make, &made_operator},
                         on_host = {sizeof linear, 0, odd_describe, odd_make, &host_made_operator},
                         broken = {sizeof linear, 0, odd_describe, odd_make, &nameless_operator};
  if (strcmp(name, FC_LINEAR) != 0) return NULL;
  return strcmp(op->name, "odd") == 0 ? &linear : strcmp(op->name, "odd_host") == 0 ? &on_host : &broken;
}
#define ODD(text)                                                                                            \
  {                                                                                                          \
    .size = sizeof(fc_operator), .name = text, .flags = FC_OP_KEEPS_MEANING,                                 \
    .summary = "sums along the rows", .doc = "For tests.", .n_params = 3, .kinds = FC_KINDS_ALL,             \
    .dtypes_in = FC_DTYPES_ALL, .dtypes_out = FC_DTYPE_BIT(FC_F32) | FC_DTYPE_BIT(FC_F64),                   \
    .params = taps_all, .create = taps_create, .destroy = g_free, .negotiate = taps_negotiate,               \
    .backends = taps_backends, .extension = odd_extension                                                    \
  }
static const fc_operator odd_operator = ODD("odd"), odd_host_operator = ODD("odd_host"),
                         broken_operator = ODD("broken");
static const fc_operator *const foreign_operators[] = {&taps_operator, &odd_operator, &odd_host_operator,
                                                       &broken_operator};
#define PLUGIN(text, list)                                                                                   \
  {                                                                                                          \
    .size = sizeof(fc_plugin), .abi = FC_PLUGIN_ABI, .id = text, .version = "1", .author = "a test",         \
    .license = "MIT", .url = "", .n_operators = G_N_ELEMENTS(list), .operators = list                        \
  }
static const fc_plugin foreign = PLUGIN("org.example.taps", foreign_operators);

/* ---- signals ---------------------------------------------------------------------------- */

typedef struct signal_ {
  fc_view view;
  void *data;
} signal_;

static signal_ signal_of(const fc_format *f, int dtype) {
  signal_ s = {.view = {.size = sizeof s.view, .dtype = dtype, .kind = f->kind}};
  gint64 stride = (gint64)fc_dtype_size(dtype);
  for (int a = FC_AXES - 1; a >= 0; a--) {
    s.view.shape[a] = s.view.extent[a] = f->extent[a];
    s.view.stride[a] = stride, stride *= f->extent[a];
  }
  s.view.data = s.data = g_malloc0((gsize)MAX(stride, 1));
  return s;
}

static void fill(const signal_ *s) {
  const gint64 count = fc_view_count(&s->view);
  const gboolean sound = s->view.kind == FC_AUDIO;
  for (gint64 i = 0; i < count; i++) {
    const double v = g_test_rand_double_range(sound ? -0.3 : 0, sound ? 0.3 : 100);
    switch (s->view.dtype) {
    case FC_U8: ((guint8 *)s->data)[i] = (guint8)(sound ? 128 + 128 * v : v); break;
    case FC_I16: ((gint16 *)s->data)[i] = (gint16)(sound ? 32768 * v : v); break;
    case FC_U16: ((guint16 *)s->data)[i] = (guint16)(sound ? 32768 + 32768 * v : v); break;
    case FC_I32: ((gint32 *)s->data)[i] = (gint32)(sound ? 0x1p31 * v : v); break;
    case FC_F32: ((float *)s->data)[i] = (float)v; break;
    default: ((double *)s->data)[i] = v;
    }
  }
}

static double value_at(const signal_ *s, gint64 i) {
  return fc_value_decode((const char *)s->data + (gsize)i * fc_dtype_size(s->view.dtype), s->view.kind,
                         s->view.dtype);
}

/* ---- random chains ------------------------------------------------------------------------ */

static const char *const borders[] = {"zero", "constant", "replicate", "reflect", "reflect101", "wrap"};

static const char *some_border(void) {
  static char text[64];
  const char *name = borders[g_test_rand_int_range(0, G_N_ELEMENTS(borders))];
  g_snprintf(text, sizeof text, ":border=%s%s", name, strcmp(name, "constant") == 0 ? ":value=0.25" : "");
  return text;
}

/* "[0.1,-0.2;...]", whose magnitudes add up to about 1. */
static void append_table(GString *s, int rows, int columns) {
  g_string_append_c(s, '[');
  for (int i = 0; i < rows * columns; i++)
    g_string_append_printf(s, "%s%.6f",
                           i == 0        ? ""
                           : i % columns ? ","
                                         : ";",
                           g_test_rand_double_range(-1, 2) / (rows * columns));
  g_string_append_c(s, ']');
}

static int some_taps(void) {
  return g_test_rand_int_range(0, 4) ? g_test_rand_int_range(1, 9) : g_test_rand_int_range(9, 120);
}

/* A factor or one for each channel, a selection of channels, or a matrix; `channels`: now, and then. */
static void append_pixels(GString *s, int *channels) {
  const int what = g_test_rand_int_range(0, 8), now = *channels,
            then = g_test_rand_bit() ? now : g_test_rand_int_range(1, 5);
  if (what < 3) {
    g_string_printf(s, "gain:%g", g_test_rand_double_range(-2, 2));
    for (int c = 1; c < now && what == 0; c++)
      g_string_append_printf(s, ",%g", g_test_rand_double_range(-2, 2));
    return;
  }
  *channels = then;
  if (what == 3) {
    g_string_printf(s, "mix:%d", g_test_rand_int_range(0, now));
    for (int c = 1; c < then; c++) g_string_append_printf(s, ",%d", g_test_rand_int_range(0, now));
  } else {
    g_string_append(s, "matrix:");
    append_table(s, then, now);
    if (g_test_rand_bit()) g_string_append(s, ":offset=0.125");
  }
}

/* One for sound, or for pictures, of the border and mode that the chain has; `channels`: ahead, and behind.
 */
static char *some_stage(int kind, int *channels, const char *border, const char *mode) {
  GString *s = g_string_new(NULL);
  const int what = g_test_rand_int_range(0, kind == FC_AUDIO ? 5 : 8);
  const char *flip = g_test_rand_bit() ? ":flip=no" : "";
  if (!border) border = some_border();
  if (what < 2) {
    append_pixels(s, channels);
  } else if (what < 5) {
    const int length = some_taps(); /* of a mask for all channels, or of one for each */
    g_string_append(s, "conv1d:");
    if (g_test_rand_int_range(0, 3))
      append_table(s, 1, length);
    else
      append_table(s, length, *channels);
    g_string_append_printf(s, "%s%s%s%s", border, flip, mode,
                           kind != FC_AUDIO && g_test_rand_bit() ? ":axis=y" : "");
  } else if (what == 5) {
    g_string_append(s, "conv2d:");
    append_table(s, g_test_rand_int_range(1, 6), g_test_rand_int_range(1, 6));
    g_string_append_printf(s, "%s%s", border, flip);
  } else if (what == 6) {
    g_string_append(s, "sepconv:");
    append_table(s, 1, g_test_rand_int_range(1, 9));
    g_string_append(s, ":y=");
    append_table(s, 1, g_test_rand_int_range(1, 9));
    g_string_append_printf(s, "%s%s", border, flip);
  } else {
    g_string_printf(s, "gauss:%g%s", g_test_rand_double_range(0.3, 1.5), border);
  }
  return g_string_free(s, FALSE);
}

static fc_format some_format(gint64 channels) {
  const int kinds[] = {FC_AUDIO, FC_AUDIO, FC_IMAGE, FC_ARRAY}, kind = kinds[g_test_rand_int_range(0, 4)];
  fc_format f = {
      .size = sizeof f, .kind = kind, .dtype = g_test_rand_int_range(0, FC_DTYPE_COUNT), .rate = 48000};
  const gboolean small = g_test_rand_int_range(0, 3) == 0;
  f.bits = fc_dtype_bits(f.dtype);
  f.extent[FC_AXIS_N] = kind == FC_IMAGE ? g_test_rand_int_range(1, 3) : 1;
  f.extent[FC_AXIS_Y] = kind == FC_AUDIO ? 1 : g_test_rand_int_range(1, small ? 6 : 60);
  f.extent[FC_AXIS_X] = g_test_rand_int_range(1, small ? 20 : kind == FC_AUDIO ? 5000 : 80);
  f.extent[FC_AXIS_C] = channels;
  return f;
}

static fc_chain *parse(const char *const *stages) {
  g_autoptr(GError) error = NULL;
  fc_chain *chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  return chain;
}

static fc_plan *plan_of(fc_chain *chain, const fc_format *in, int wanted, const fc_options *options) {
  const fc_plan_query query = {.in = in, .wanted = wanted, .files = TRUE, .rows = TRUE, .options = options};
  g_autoptr(GError) error = NULL;
  fc_plan *plan = fc_plan_new(chain, &query, &error);
  g_assert_no_error(error);
  return plan;
}

static guint joined_of(fc_chain *chain, const fc_format *in, int wanted, const fc_options *options) {
  g_autoptr(fc_plan) plan = plan_of(chain, in, wanted, options);
  guint joined = 0;
  for (guint s = 0; s < plan->n; s++) joined += plan->stages[s].made ? plan->stages[s].made->n : 0;
  return joined;
}

/* By how much two signals may differ: relative to the largest value, but for integers half a code more. */
static void must_be_near(const signal_ *good, const signal_ *got, double relative, const char *text) {
  const gint64 count = fc_view_count(&good->view);
  double largest = good->view.kind == FC_AUDIO ? 1 : 100, step = 0;
  if (!fc_dtype_is_float(got->view.dtype)) step = fc_scaling_of(got->view.kind, got->view.dtype).scale;
  for (gint64 i = 0; i < count; i++) largest = MAX(largest, fabs(value_at(good, i)));
  for (gint64 i = 0; i < count; i++) {
    const double a = value_at(good, i), b = value_at(got, i);
    if (fabs(a - b) > relative * largest + step)
      g_error("%s: element %" G_GINT64_FORMAT " is %.17g, not %.17g", text, i, b, a);
  }
}

static void run(fc_chain *chain, const signal_ *in, const signal_ *out, const fc_options *options,
                const char *text) {
  g_autoptr(GError) error = NULL;
  if (!fc_chain_run_host(chain, &in->view, &out->view, options, NULL, &error))
    g_error("%s: %s", text, error->message);
}

static void test_random(void) {
  guint joined = 0, trials = g_test_slow() ? 20000 : 1500;
  for (guint t = 0; t < trials; t++) {
    int channels = g_test_rand_int_range(1, 5);
    fc_format in = some_format(channels);
    char *stages[6] = {NULL};
    const guint n = (guint)g_test_rand_int_range(2, 6);
    g_autofree char *border = g_test_rand_bit() ? g_strdup(some_border()) : NULL;
    const char *mode = in.kind == FC_AUDIO && g_test_rand_int_range(0, 4) == 0 ? ":mode=full" : "";
    for (guint i = 0; i < n; i++) stages[i] = some_stage(in.kind, &channels, border, mode);
    g_autofree char *text = g_strjoinv(" | ", stages), *size = NULL;
    fc_options options = FC_OPTIONS_INIT;
    options.device = "cpu", options.precision = g_test_rand_bit() ? FC_F64 : FC_F32;
    options.threads = g_test_rand_int_range(1, 4);
    g_autoptr(fc_chain) chain = parse((const char *const *)stages);
    fc_format out = {.size = sizeof out, .dtype = FC_F64};
    g_autoptr(GError) error = NULL;
    if (!fc_chain_output_format(chain, &in, &options, &out, &error)) g_error("%s: %s", text, error->message);
    const int dtype = g_test_rand_bit() ? FC_F64 : g_test_rand_int_range(0, FC_DTYPE_COUNT);
    signal_ from = signal_of(&in, in.dtype), good = signal_of(&out, dtype), got = signal_of(&out, dtype);
    fill(&from);
    size =
        g_strdup_printf("%s on %s %d x %d x %d to %s in %s, %d threads", text, fc_dtype_name(in.dtype),
                        (int)in.extent[FC_AXIS_Y], (int)in.extent[FC_AXIS_X], (int)in.extent[FC_AXIS_C],
                        fc_dtype_name(dtype), options.precision == FC_F64 ? "f64" : "f32", options.threads);
    options.fuse = FC_FUSE_NO;
    run(chain, &from, &good, &options, size);
    options.fuse = FC_FUSE_ALGEBRA;
    options.chunk = g_test_rand_bit() ? 0 : g_test_rand_int_range(1, 100);
    joined += joined_of(chain, &in, dtype, &options);
    run(chain, &from, &got, &options, size);
    must_be_near(&good, &got, options.precision == FC_F64 ? 1e-12 : 2e-5, size);
    g_free(from.data), g_free(good.data), g_free(got.data);
    for (guint i = 0; i < n; i++) g_free(stages[i]);
  }
  g_test_message("%u stages joined in %u chains", joined, trials);
  g_assert_cmpuint(joined, >, trials);
}

/* On the fake device, whose memory is the host's, by an operator that has a version for it. */
static void test_device(void) {
  for (guint t = 0; t < 300; t++) {
    fc_format in = {.size = sizeof in, .kind = FC_AUDIO, .dtype = FC_F32, .bits = 24, .rate = 48000};
    const gint64 extent[] = {1, 1, g_test_rand_int_range(1, 3000), g_test_rand_int_range(1, 3)};
    memcpy(in.extent, extent, sizeof extent);
    char *stages[5] = {NULL};
    const guint n = (guint)g_test_rand_int_range(2, 5);
    const char *border = borders[g_test_rand_int_range(0, G_N_ELEMENTS(borders))];
    for (guint i = 0; i < n; i++) {
      const int count = 2 * g_test_rand_int_range(0, 20) + 1;
      GString *s = g_string_new("taps:");
      append_table(s, 1, count);
      g_string_append_printf(s, ":border=%s:before=%d", border, count / 2);
      stages[i] = g_string_free(s, FALSE);
    }
    g_autofree char *text = g_strjoinv(" | ", stages);
    g_autoptr(fc_chain) chain = parse((const char *const *)stages);
    signal_ from = signal_of(&in, FC_F32), good = signal_of(&in, FC_F32), got = signal_of(&in, FC_F32);
    fill(&from);
    fc_options options = FC_OPTIONS_INIT;
    options.device = "cuda", options.fuse = FC_FUSE_NO;
    run(chain, &from, &good, &options, text);
    options.fuse = FC_FUSE_ALGEBRA, options.chunk = g_test_rand_bit() ? 0 : g_test_rand_int_range(1, 500);
    g_assert_cmpuint(joined_of(chain, &in, FC_F32, &options), ==, n);
    run(chain, &from, &got, &options, text);
    must_be_near(&good, &got, 1e-6, text);
    g_free(from.data), g_free(good.data), g_free(got.data);
    for (guint i = 0; i < n; i++) g_free(stages[i]);
  }
}

/* Pushes a sound in pieces of up to `most` samples and pulls what becomes of it. */
static void stream(fc_session *session, const signal_ *from, const signal_ *to, int most, const char *text) {
  g_autoptr(GError) error = NULL;
  const gint64 length = from->view.shape[FC_AXIS_X], end = to->view.shape[FC_AXIS_X];
  gint64 made = 0;
  for (gint64 at = 0, count; at < length; at += count) {
    count = g_test_rand_int_range(1, most + 1), count = MIN(count, length - at);
    fc_view piece = from->view, into = to->view;
    piece.data = fc_view_at(&from->view, 0, 0, at, 0), piece.shape[FC_AXIS_X] = count;
    if (!fc_session_push(session, &piece, &error) ||
        (at + count == length && !fc_session_drain(session, &error)))
      g_error("%s: %s", text, error->message);
    into.data = fc_view_at(&to->view, 0, 0, made, 0), into.shape[FC_AXIS_X] = end - made;
    made += made < end ? fc_session_pull(session, &into, &error) : 0;
    g_assert_no_error(error);
  }
  g_assert_cmpint(made, ==, end);
}

/* In pieces, also of a sound whose end is not known before it comes: the bits of the whole. */
static void test_stream(void) {
  guint joined = 0, trials = g_test_slow() ? 10000 : 300;
  for (guint t = 0; t < trials; t++) {
    int channels = g_test_rand_int_range(1, 5);
    fc_format in = {.size = sizeof in, .kind = FC_AUDIO, .dtype = FC_I16, .bits = 16, .rate = 48000};
    const gint64 extent[] = {1, 1, g_test_rand_int_range(1, g_test_rand_bit() ? 30 : 3000), channels};
    memcpy(in.extent, extent, sizeof extent);
    char *stages[6] = {NULL};
    const char *mode = g_test_rand_int_range(0, 4) == 0 ? ":mode=full" : "";
    for (int i = 0, n = g_test_rand_int_range(2, 6); i < n; i++)
      stages[i] = some_stage(FC_AUDIO, &channels, NULL, mode);
    g_autofree char *text = g_strjoinv(" | ", stages);
    fc_options options = FC_OPTIONS_INIT;
    options.device = "cpu", options.fuse = FC_FUSE_ALGEBRA;
    g_autoptr(fc_chain) chain = parse((const char *const *)stages);
    fc_format out = {.size = sizeof out};
    g_assert_true(fc_chain_output_format(chain, &in, &options, &out, NULL));
    joined += joined_of(chain, &in, FC_F32, &options);
    signal_ from = signal_of(&in, FC_I16), good = signal_of(&out, FC_F32), got = signal_of(&out, FC_F32);
    fill(&from);
    run(chain, &from, &good, &options, text);
    options.chunk = g_test_rand_bit() ? 0 : g_test_rand_int_range(1, 400);
    if (g_test_rand_bit()) in.extent[FC_AXIS_X] = FC_UNKNOWN;
    fc_session *session = fc_session_new(chain, &in, FC_F32, &options, NULL); /* not of wrap without an end */
    if (session) stream(session, &from, &got, g_test_rand_bit() ? 10 : 700, text);
    if (session && memcmp(got.data, good.data, (gsize)fc_view_count(&good.view) * sizeof(float)) != 0)
      g_error("%s on %d x %d: the bits are others in pieces", text, (int)extent[2], (int)extent[3]);
    fc_session_free(session);
    g_free(from.data), g_free(good.data), g_free(got.data);
    for (char **stage = stages; *stage; stage++) g_free(*stage);
  }
  g_assert_cmpuint(joined, >, trials);
}

/* Of random chains some clip. */
static void ignore(fc_log_level level, const char *message, void *data) {
  (void)level, (void)message, (void)data;
}

/* So many stages, of two in turn, are too many to be multiplied out. What is kept of those tried at each. */
static guint kept_of_many(const char *one, const char *other, guint n) {
  g_autofree const char **stages = g_new0(const char *, n + 1);
  for (guint i = 0; i < n; i++) stages[i] = i % 2 ? other : one;
  const fc_format in = {.size = sizeof in,
                        .kind = FC_AUDIO,
                        .dtype = FC_F32,
                        .bits = 24,
                        .rate = 48000,
                        .extent = {1, 1, 9999, 2}};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.fuse = FC_FUSE_ALGEBRA;
  g_autoptr(fc_chain) chain = parse(stages);
  g_autoptr(fc_plan) plan = plan_of(chain, &in, -1, &options);
  g_autofree char *text = fc_plan_explain(plan, "in", "out", FALSE);
  g_assert_nonnull(strstr(text, "too much to be multiplied out"));
  guint kept = 0;
  for (guint s = 0; s < n; s++) kept = MAX(kept, chain->stages[s].made ? chain->stages[s].made->len : 0);
  return kept;
}

/* No more is multiplied out than a plan is worth, of few stages with many taps and of many without, and of
 * what is tried only the best is kept. */
static void test_budget(void) {
  static const char fir[] = "fir:lowpass=3k:taps=1001";
  g_assert_cmpuint(kept_of_many(fir, fir, 40), <=, 1);
  kept_of_many("gain:0.9,1.1", "mix:0,0", 1500); /* of which nothing can be made */
}

/* One mask for each channel is not made of so many taps that it takes gigabytes. */
static void test_many_masks(void) {
  enum { TAPS = (1 << 24) - 1, CHANNELS = 64 };
  fc_linear_map mask = {.size = sizeof mask, .form = FC_LINEAR_SEPARABLE, .masks = 1, .nx = TAPS, .ny = 1},
                factors = {.size = sizeof factors, .rows = CHANNELS, .columns = CHANNELS}, both;
  double budget = 1e12;
  mask.numbers = g_new0(double, (gsize)(mask.count = fc_linear_count(&mask)));
  factors.numbers = g_new0(double, (gsize)(factors.count = fc_linear_count(&factors)));
  for (gint64 c = 0; c < CHANNELS; c++) factors.numbers[c * (CHANNELS + 1)] = (double)c;
  g_assert_nonnull(fc_linear_compose(&mask, &factors, &both, &budget));
  g_assert_nonnull(fc_linear_compose(&factors, &mask, &both, &budget));
  fc_linear_map_clear(&mask), fc_linear_map_clear(&factors);
}

static void keep(fc_log_level level, const char *message, void *data) {
  if (level == FC_LOG_WARNING) g_string_append((GString *)data, message);
}

/* Of values near the ends too what is clipped is counted once. */
static void test_clipped(void) {
  static const char *const stages[] = {"conv1d:[3,3,3,3,3]:border=replicate",
                                       "conv1d:[3,3,3,3,3]:border=replicate", NULL};
  const fc_format in = {.size = sizeof in,
                        .kind = FC_AUDIO,
                        .dtype = FC_I16,
                        .bits = 16,
                        .rate = 48000,
                        .extent = {1, 1, 400, 1}};
  signal_ from = signal_of(&in, FC_I16), got = signal_of(&in, FC_I16);
  for (guint i = 0; i < 400; i++) ((gint16 *)from.data)[i] = 32767;
  g_autoptr(fc_chain) chain = parse(stages);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.fuse = FC_FUSE_ALGEBRA;
  GString *said = g_string_new(NULL);
  fc_context_set_log(context, keep, said);
  for (options.chunk = 0; options.chunk <= 64; options.chunk += 16) {
    g_string_truncate(said, 0);
    run(chain, &from, &got, &options, "clipped");
    if (!strstr(said->str, "400 of 400 values")) g_error("of 400 values: %s", said->str);
  }
  fc_context_set_log(context, ignore, NULL);
  g_string_free(said, TRUE);
  g_free(from.data), g_free(got.data);
}

/* What is joined, as its description or the reason of the first stage; without costs and with them. */
static void test_decisions(void) {
  static const struct {
    const char *stages[4];
    int kind;
    gint64 channels;
    const char *text;
  } cases[] = {
      {{"conv1d:[1,2,1]", "conv1d:[1,2,3,4]"}, FC_AUDIO, 2, "conv1d of 6 taps"},
      {{"conv1d:[1,2,1]:mode=full", "conv1d:[1,2,3,4]:mode=full"}, FC_AUDIO, 2, "conv1d of 6 taps"},
      {{"conv1d:[1,2,1]:mode=valid", "conv1d:[1,2,3,4]:mode=valid"}, FC_AUDIO, 2, "conv1d of 6 taps"},
      {{"conv1d:[1,2,1]:mode=full", "conv1d:[1,2,3,4]:mode=valid"},
       FC_AUDIO,
       2,
       "none of the operators can do"},
      {{"fir:lowpass=3k:taps=31", "fir:highpass=300:taps=63", "gain:2"}, FC_AUDIO, 1, "conv1d of 93 taps"},
      {{"gain:2,3", "conv1d:[1,2,1]"}, FC_AUDIO, 2, "conv1d of 3 taps"},
      {{"gain:2", "gain:3"}, FC_AUDIO, 2, "gain of 2 factors"},
      {{"matrix:[1e30]", "matrix:[1e30]"}, FC_AUDIO, 1, "too large for single precision"},
      {{"gain:2,3", "mix:1,0"}, FC_AUDIO, 2, "none of the operators can do"},
      {{"gain:2,3", "mix:1,0", "conv1d:[1,2,1]"}, FC_AUDIO, 2, "none of the operators can do"},
      {{"conv1d:[1,2,1]", "gain:2", "matrix:[1,2;3,4]"},
       FC_AUDIO,
       2,
       "conv1d of 3 taps; not joined to the next stage: a window is not joined to a matrix"},
      {{"gain:2", "matrix:[1,2;3,4]"}, FC_AUDIO, 2, "matrix of 2 x 2"},
      {{"matrix:[1,2;3,4]:offset=0.5", "matrix:[1,1]"}, FC_AUDIO, 2, "matrix of 1 x 2"},
      {{"matrix:[1,2;3,4]", "conv1d:[1,2,1]"}, FC_AUDIO, 2, "mixes channels"},
      {{"mix:1,0", "mix:0,0,1"}, FC_AUDIO, 2, "mix of 3 x 2"},
      {{"mix:1,0", "matrix:[1,2;3,4]"}, FC_AUDIO, 2, "matrix of 2 x 2"},
      {{"mix:1,0", "conv1d:[1,2,1]"}, FC_AUDIO, 2, "mixes channels"},
      {{"conv1d:[1,2,1]", "stats", "conv1d:[1,2,1]"}, FC_AUDIO, 2, ""},
      {{"conv1d:[1,2,1]", "convert:i16", "conv1d:[1,2,1]"}, FC_AUDIO, 2, ""},
      {{"conv1d:[1,2,1]", "clip:0.5", "conv1d:[1,2,1]"}, FC_AUDIO, 2, ""},
      {{"conv1d:[1,2,1]:border=wrap", "conv1d:[1,2,1]:border=wrap"}, FC_AUDIO, 2, "conv1d of 5 taps"},
      {{"conv1d:[1,2,1]:border=wrap", "conv1d:[1,2,1]"},
       FC_AUDIO,
       2,
       "border=wrap is joined to border=wrap only"},
      {{"conv1d:[1,2]:border=reflect101", "conv1d:[1,2,1]"}, FC_AUDIO, 2, "its border mirrors more"},
      {{"gain:2", "conv1d:[1,2]:value=0.5"}, FC_AUDIO, 2, "its border is a constant"},
      {{"conv1d:[1,2]:value=0.5", "gain:2"}, FC_AUDIO, 2, "conv1d of 2 taps"},
      {{"sepconv:[1,2,1]", "sepconv:[1,2,1]:y=[1,2,3,4,5]"}, FC_IMAGE, 3, "sepconv of 5 x 7 taps"},
      {{"conv1d:[1,2,1]", "sepconv:[1,2,1]"}, FC_IMAGE, 3, "sepconv of 5 x 3 taps"},
      {{"conv1d:[1,2,1]", "conv1d:[1,2,1]:axis=y"}, FC_IMAGE, 3, "none of the operators can do"},
      {{"conv2d:[0,1,0;1,-4,1;0,1,0]", "sepconv:[1,2,1]"}, FC_IMAGE, 3, "conv2d of 5 x 5 taps"},
      {{"taps:[1,2,3]:before=1", "taps:[1,1]:before=1"}, FC_AUDIO, 1, "taps of 4 taps"},
      {{"taps:[1,2,3]:before=1", "conv1d:[1,1]"}, FC_AUDIO, 1, "taps of 4 taps"},
  };
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.fuse = FC_FUSE_ALGEBRA;
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const int dtype = cases[i].kind == FC_AUDIO ? FC_F32 : FC_U8;
    const fc_format in = {.size = sizeof in,
                          .kind = cases[i].kind,
                          .dtype = dtype,
                          .bits = fc_dtype_bits(dtype),
                          .rate = 48000,
                          .extent = {1, cases[i].kind == FC_AUDIO ? 1 : 300, 400, cases[i].channels}};
    g_autoptr(fc_chain) chain = parse(cases[i].stages);
    g_autoptr(fc_plan) plan = plan_of(chain, &in, -1, &options);
    g_autofree char *text = fc_plan_explain(plan, "in", "out", FALSE);
    if (!*cases[i].text ? strstr(text, "joined") != NULL : !strstr(text, cases[i].text))
      g_error("\"%s\" is not what becomes of %s:\n%s", cases[i].text, cases[i].stages[0], text);
  }
}

/* Stages that are joined of two of the test's own, of sound of an element type. */
static guint odd_joined(int dtype) {
  static const char *const stages[] = {"odd:[1,2,1]:before=1", "odd:[1,1]:before=1", NULL};
  const fc_format in = {.size = sizeof in,
                        .kind = FC_AUDIO,
                        .dtype = dtype,
                        .bits = fc_dtype_bits(dtype),
                        .rate = 48000,
                        .extent = {1, 1, 400, 1}};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.fuse = FC_FUSE_ALGEBRA;
  g_autoptr(fc_chain) chain = parse(stages);
  return joined_of(chain, &in, FC_F32, &options);
}

/* The operator of joined stages is given what it takes only. */
static void test_types(void) {
  g_assert_cmpuint(odd_joined(FC_F32), ==, 2);
  g_assert_cmpuint(odd_joined(FC_I16), ==, 0);
}

static void test_maps(void) {
  static const struct {
    gint64 taps, before, growth;
    gboolean valid;
  } cases[] = {{5, 2, 0, TRUE},   {5, 4, 4, TRUE},  {5, 0, -4, TRUE},          {5, 2, 4, FALSE},
               {5, 4, -4, FALSE}, {5, 2, 3, FALSE}, {5, 2, G_MININT64, FALSE}, {1, 0, 0, TRUE}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    fc_linear_map map = {.size = sizeof map,
                         .form = FC_LINEAR_SEPARABLE,
                         .masks = 1,
                         .nx = cases[i].taps,
                         .ny = 1,
                         .before_x = cases[i].before,
                         .growth_x = cases[i].growth,
                         .count = cases[i].taps + 1};
    g_assert_cmpint(fc_linear_is_valid(&map, 2, 2), ==, cases[i].valid);
  }
  for (int border = FC_BORDER_ZERO; border <= FC_BORDER_WRAP; border++)
    g_assert_cmpint(fc_sum_inside(border, 3, 0), ==, -1);
}

/* Both calls for the numbers get the same zeros, and what a plugin breaks is not believed. */
static void test_describe(void) {
  oddity = SUMS_UP;
  g_assert_cmpuint(odd_joined(FC_F32), ==, 2);
  for (oddity = TELLS_MORE; oddity <= HAS_OWN_NUMBERS; oddity++) g_assert_cmpuint(odd_joined(FC_F32), ==, 0);
  /* What is made is used for other extents too. */
  oddity = LOOKS_AT_EXTENT;
  g_assert_cmpuint(odd_joined(FC_F32), ==, 2);
  /* Another border than it was asked for. */
  oddity = HAS_OWN_BORDER;
  g_assert_cmpuint(odd_joined(FC_F32), ==, 0);
  oddity = PLAIN;
}

/* The operator of joined stages is copied and checked as others are, and runs where the stages do. */
static void test_made(void) {
  static const char *const stages[] = {"odd_host:[1,2,1]:before=1", "odd_host:[1,1]:before=1", NULL};
  const fc_format in = {
      .size = sizeof in, .kind = FC_AUDIO, .dtype = FC_F32, .rate = 48000, .extent = {1, 1, 400, 1}};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.fuse = FC_FUSE_ALGEBRA;
  g_autoptr(fc_chain) chain = parse(stages);
  g_assert_cmpuint(joined_of(chain, &in, FC_F32, &options), ==, 0);
  static const char *const others[] = {"broken:[1,2,1]:before=1", "broken:[1,1]:before=1", NULL};
  g_autoptr(fc_chain) other = parse(others);
  g_assert_cmpuint(joined_of(other, &in, FC_F32, &options), ==, 0);
}

/* An operator of joined stages without an instance is not given that of the first stage. */
static void test_instance(void) {
  static const char *const stages[] = {"odd:[1,2,1]:before=1", "odd:[1,1]:before=1", NULL};
  const fc_format in = {
      .size = sizeof in, .kind = FC_AUDIO, .dtype = FC_F32, .rate = 48000, .extent = {1, 1, 400, 1}};
  g_autoptr(fc_chain) chain = parse(stages);
  signal_ from = signal_of(&in, FC_F32), good = signal_of(&in, FC_F32), got = signal_of(&in, FC_F32);
  fill(&from);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.fuse = FC_FUSE_NO;
  run(chain, &from, &good, &options, "one by one");
  oddity = HAS_NO_INSTANCE, options.fuse = FC_FUSE_ALGEBRA;
  g_assert_cmpuint(joined_of(chain, &in, FC_F32, &options), ==, 2);
  run(chain, &from, &got, &options, "joined");
  must_be_near(&good, &got, 1e-6, "without an instance");
  oddity = PLAIN;
  g_free(from.data), g_free(good.data), g_free(got.data);
}

/* What is asked of how a sum is computed holds for several as one. */
static void test_separate(void) {
  static const char *const stages[] = {"conv2d:[1,2,1;2,4,2;1,2,1]:separate=no",
                                       "conv2d:[1,2,1;2,4,2;1,2,1]:separate=no", NULL};
  const fc_format in = {
      .size = sizeof in, .kind = FC_IMAGE, .dtype = FC_F32, .bits = 24, .extent = {1, 100, 100, 1}};
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.fuse = FC_FUSE_ALGEBRA;
  g_autoptr(fc_chain) chain = parse(stages);
  g_autoptr(fc_plan) plan = plan_of(chain, &in, -1, &options);
  g_autofree char *text = fc_plan_explain(plan, "in", "out", FALSE);
  g_assert_nonnull(strstr(text, "conv2d of 5 x 5 taps"));
  g_assert_null(strstr(text, "runs as sepconv"));
}

/* Whether it pays. */
static void test_costs(void) {
  static const struct {
    const char *stages[4];
    int kind;
    gint64 rows, columns;
    const char *text;
  } cases[] = {
      {{"conv1d:[1,2,1]", "conv1d:[1,2,1]"},
       FC_AUDIO,
       1,
       100000,
       "2 stages joined by algebra: conv1d of 5 taps"},
      {{"conv2d:[0,1,0;1,-4,1;0,1,0]", "conv2d:[0,1,0;1,-3,1;0,1,0]"},
       FC_IMAGE,
       1000,
       1000,
       "conv2d of 5 x 5"},
      {{"conv2d:[0,1,0;1,-4,1;0,1,0]", "conv2d:[0,1,0;1,-3,1;0,1,0]"},
       FC_IMAGE,
       16,
       16,
       "one stage would take longer"},
      {{"conv2d:[0,1,0,1,3,7,1;1,-4,1,1,1,1,1;0,1,0,1,1,1,1;0,0,0,0,0,0,1;1,2,3,4,5,6,9]",
        "conv2d:[0,1,0,1,3,7,1;1,-4,1,1,1,1,1;0,1,0,1,1,1,1;0,0,0,0,0,0,1;1,2,3,4,5,6,9]"},
       FC_IMAGE,
       1000,
       1000,
       "one stage would take longer"},
  };
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.fuse = FC_FUSE_ALGEBRA;
  context->joins_all = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const fc_format in = {.size = sizeof in,
                          .kind = cases[i].kind,
                          .dtype = FC_F32,
                          .bits = 24,
                          .rate = 48000,
                          .extent = {1, cases[i].rows, cases[i].columns, 1}};
    g_autoptr(fc_chain) chain = parse(cases[i].stages);
    g_autoptr(fc_plan) plan = plan_of(chain, &in, -1, &options);
    g_autofree char *text = fc_plan_explain(plan, "in", "out", FALSE);
    if (!strstr(text, cases[i].text)) g_error("\"%s\" is not in:\n%s", cases[i].text, text);
  }
  /* Of a short sound as much as of a stream of it. */
  static const char *const stages[] = {"fir:lowpass=3k:taps=101:method=direct",
                                       "fir:highpass=300:taps=101:method=direct", NULL};
  fc_format in = {.size = sizeof in,
                  .kind = FC_AUDIO,
                  .dtype = FC_F32,
                  .bits = 24,
                  .rate = 48000,
                  .extent = {1, 1, 150, 1}};
  g_autoptr(fc_chain) chain = parse(stages);
  const guint of_file = joined_of(chain, &in, FC_F32, &options);
  in.extent[FC_AXIS_X] = FC_UNKNOWN;
  g_assert_cmpuint(of_file, ==, joined_of(chain, &in, FC_F32, &options));
  context->joins_all = TRUE;
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  context = fc_context_new_with(NULL);
  g_autoptr(GError) error = NULL;
  fc_registry_set_home(context->registry, DEVICE_TEST_PLUGINS, "/nonexistent");
  g_assert_true(fc_context_add_plugin(context, &foreign, &error));
  fc_context_set_log(context, ignore, NULL);
  context->driver = &fake_driver, context->joins_all = TRUE;
  g_test_add_func("/algebra/decisions", test_decisions);
  g_test_add_func("/algebra/types", test_types);
  g_test_add_func("/algebra/maps", test_maps);
  g_test_add_func("/algebra/describe", test_describe);
  g_test_add_func("/algebra/made", test_made);
  g_test_add_func("/algebra/instance", test_instance);
  g_test_add_func("/algebra/separate", test_separate);
  g_test_add_func("/algebra/costs", test_costs);
  g_test_add_func("/algebra/random", test_random);
  g_test_add_func("/algebra/device", test_device);
  g_test_add_func("/algebra/stream", test_stream);
  g_test_add_func("/algebra/clipped", test_clipped);
  g_test_add_func("/algebra/budget", test_budget);
  g_test_add_func("/algebra/many masks", test_many_masks);
  const int status = g_test_run();
  fc_context_free(context);
  return status;
}

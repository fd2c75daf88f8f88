/* SPDX-License-Identifier: MIT */
/*
 * duotone - a picture in two colours: its brightness says where between them. An operator on pixels with a
 * device function: its text is what a GPU computes, in one kernel with its neighbours in the chain, and
 * `filterchain check` compiles it for the CPU and compares. No nvcc is needed for that.
 *
 *   cc -shared -fPIC -O3 -ffp-contract=off -fvisibility=hidden $(pkg-config --cflags filterchain-plugin) \
 *     duotone.c -o duotone.so
 *   filterchain -i in.png --plugin-dir . -p duotone:dark=20,0,60:light=255,220,160 -o out.png
 */
#include <fc_helpers.h>

enum { DARK, LIGHT, WHITE, N_NUMBERS = 9 };

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_arg *const *args = self;
  if (terms->in[0]->extent[FC_AXIS_C] != 3)
    return host->fail(host, FC_UNSUPPORTED, "it takes 3 channels, red, green and blue; these are %lld",
                      (long long)terms->in[0]->extent[FC_AXIS_C]);
  if (args[DARK]->count != 3 || args[LIGHT]->count != 3)
    return host->fail(host, FC_INVALID, "dark and light are three numbers each");
  terms->needs[0]->reach[FC_AXIS_C].before = terms->needs[0]->reach[FC_AXIS_C].after = FC_WHOLE;
  return FC_OK;
}

/* Weights of red, green and blue for a brightness from 0 to 1 (Rec. 709), the dark colour, and the way to the
 * light one. */
static void numbers_of(const void *self, double to[N_NUMBERS]) {
  static const double weights[] = {0.2126, 0.7152, 0.0722};
  const fc_arg *const *args = self;
  for (int c = 0; c < 3; c++) {
    to[c] = weights[c] / args[WHITE]->floats[0];
    to[3 + c] = args[DARK]->floats[c];
    to[6 + c] = args[LIGHT]->floats[c] - args[DARK]->floats[c];
  }
}

static const char text[] = "struct duotone {\n"
                           "  real weight[3], dark[3], way[3];\n"
                           "  FC_DEVICE void operator()(const real (&x)[3], real (&y)[3]) const {\n"
                           "    const real at = weight[0] * x[0] + weight[1] * x[1] + weight[2] * x[2];\n"
                           "    for (int c = 0; c < 3; c++) y[c] = dark[c] + at * way[c];\n"
                           "  }\n"
                           "};\n";

static fc_status describe(const fc_host *host, void *self, const fc_setup *setup, fc_device_function *f) {
  double numbers[N_NUMBERS];
  (void)host;
  numbers_of(self, numbers);
  f->in = f->out = 3;
  return fc_describe_samples(setup, f, "duotone", text, numbers, N_NUMBERS);
}
FC_FUSIBLE(extension, describe)

/* The same, a stretch of a row at a time. */
#define TONE_STRETCH(name, F, load, store)                                                                   \
  static void name(const fc_host *host, const fc_job *job, const double *numbers, int64_t n, int64_t y,      \
                   int64_t x, int64_t count) {                                                               \
    const fc_view *in = job->in[0], *out = job->out;                                                         \
    F v[3][FC_ROW_VALUES], k[N_NUMBERS];                                                                     \
    for (int i = 0; i < N_NUMBERS; i++) k[i] = (F)numbers[i];                                                \
    for (int c = 0; c < 3; c++)                                                                              \
      host->rows->load(v[c], fc_view_at(in, n, y, x, c), in->stride[FC_AXIS_X], count, in->kind, in->dtype); \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      const F at = k[0] * v[0][i] + k[1] * v[1][i] + k[2] * v[2][i];                                         \
      for (int c = 0; c < 3; c++) v[c][i] = k[3 + c] + at * k[6 + c];                                        \
    }                                                                                                        \
    for (int c = 0; c < 3; c++)                                                                              \
      host->rows->store(fc_view_at(out, n, y, x, c), out->stride[FC_AXIS_X], v[c], count, out->kind,         \
                        out->dtype, job->notes);                                                             \
  }
TONE_STRETCH(tone_f32, float, load_f32, store_f32)
TONE_STRETCH(tone_f64, double, load_f64, store_f64)

static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const int64_t *shape = job->out->shape;
  double numbers[N_NUMBERS];
  numbers_of(state, numbers);
  for (int64_t n = 0; n < shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < shape[FC_AXIS_Y]; y++)
      for (int64_t x = 0, left; (left = shape[FC_AXIS_X] - x) > 0; x += FC_ROW_VALUES)
        (job->compute == FC_F64 ? tone_f64 : tone_f32)(host, job, numbers, n, y, x,
                                                       left < FC_ROW_VALUES ? left : FC_ROW_VALUES);
  return FC_OK;
}

#define COLOUR(name, doc, preset) FC_FLOAT_PARAM(FC_PARAM_LIST, name, doc, "code values", preset, NULL)
static const fc_operator duotone = {
    .size = sizeof(fc_operator),
    .name = "duotone",
    .summary = "a picture in two colours",
    .doc =
        "Mixes two colours by the brightness of each pixel: black becomes the dark one, white the light one.",
    .examples = FC_TEXTS("duotone", "duotone:dark=20,0,60:light=255,220,160",
                         "duotone:white=65535:light=65535,50000,30000"),
    FC_PICTURES_ONLY,
    FC_OPERATOR_PARAMS(COLOUR("dark", "Red, green and blue of what was black.", "20,10,60"),
                       COLOUR("light", "Of what was white.", "255,225,170"),
                       FC_FLOAT_PARAM(0, "white", "The code value of white: 255, or 65535.", "code values",
                                      "255", FC_FLOAT_BETWEEN(1e-6, 1e9))),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process)),
    .extension = extension,
};
FC_PLUGIN("org.example.duotone", "1.0", "you", "MIT", "https://example.org/duotone", &duotone)

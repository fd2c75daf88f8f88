/* SPDX-License-Identifier: MIT */
/*
 * convert.c - the operator convert: another element type and, for images, another range of codes; the work is
 * filters/pointwise.h and filters/stretch.h.
 *
 * Between ranges of codes the map is affine, with a factor that is an odd integer or the reciprocal of one
 * (65535/255 = 257), so no result is half-way between two codes, and f32 is exact except with i32; f64 is
 * used there.
 */
#include <stdlib.h>

#include "core/contract/fc_helpers.h"
#include "filters/pointwise/functions.h"
#include "filters/pointwise/pointwise.h"
#include "filters/pointwise/stretch.h"
#include "plugins/single.h"

enum { DTYPE, SCALE, N_PARAMS };
enum { SCALE_AUTO, SCALE_NONE, SCALE_STRETCH };

typedef struct convert {
  int dtype, scale;
} convert;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const convert self = {(int)args[DTYPE]->ints[0], (int)args[SCALE]->ints[0]};
  return state_keep(host, &self, sizeof self, instance);
}

/* ---- negotiate -------------------------------------------------------------- */

typedef struct codes {
  double low, high;
} codes;

static codes codes_of(int dtype) {
  switch (dtype) {
  case FC_U8: return (codes){0, 255};
  case FC_I16: return (codes){-32768, 32767};
  case FC_U16: return (codes){0, 65535};
  case FC_I32: return (codes){-2147483648.0, 2147483647.0};
  default: return (codes){0, 1};
  }
}

static const int bits_of[FC_DTYPE_COUNT] = {8, 16, 16, 32, 24, 53};

/* The range is determined for each frame, so frames are not cut. */
static fc_status need_whole_frames(const fc_host *host, fc_terms *terms) {
  if (terms->in[0]->kind == FC_AUDIO)
    return host->fail(host, FC_UNSUPPORTED,
                      "scale=stretch is for images; for sound, measure with stats and use gain");
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++)
    if (terms->in[0]->extent[a] > 1) terms->needs[0]->reach[a].align = terms->in[0]->extent[a];
  return FC_OK;
}

/* White is the end of the range if ranges are mapped, else unchanged. */
static double white_behind(const convert *self, const fc_format *in) {
  const int both = !fc_dtype_is_float(in->dtype) && !fc_dtype_is_float(self->dtype);
  const int mapped = self->scale == SCALE_AUTO && in->kind == FC_IMAGE && both && in->dtype != self->dtype;
  return mapped || self->scale == SCALE_STRETCH ? codes_of(self->dtype).high : in->white;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const convert *self = instance;
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  out->dtype = self->dtype;
  out->stored = 1 + self->dtype;
  out->bits = self->dtype == in->dtype ? in->bits : bits_of[self->dtype];
  out->white = white_behind(self, in);
  terms->work = 1;
  return self->scale == SCALE_STRETCH ? need_whole_frames(host, terms) : FC_OK;
}

/* ---- the map ------------------------------------------------------------------ */

static int compute_of(int in, int out) {
  int wide = FC_DTYPE_BIT(FC_I32) | FC_DTYPE_BIT(FC_F64);
  return (FC_DTYPE_BIT(in) | FC_DTYPE_BIT(out)) & wide ? FC_F64 : FC_F32;
}

/* The function between load and store, which convert the types. */
static fc_pointwise map_of(const convert *self, const fc_format *in, const fc_format *out) {
  fc_pointwise work = {.form = FC_POINTWISE_COPY, .compute = compute_of(in->dtype, out->dtype)};
  int both_codes = !fc_dtype_is_float(in->dtype) && !fc_dtype_is_float(out->dtype);
  if (self->scale == SCALE_AUTO && in->kind == FC_IMAGE && both_codes && in->dtype != out->dtype) {
    codes from = codes_of(in->dtype), to = codes_of(out->dtype);
    work.form = FC_POINTWISE_MAP;
    work.from = from.low, work.to = to.low;
    work.factor = (to.high - to.low) / (from.high - from.low);
  }
  return work;
}

/* ---- running ------------------------------------------------------------------ */

typedef struct convert_state {
  int stretches;
  fc_pointwise map;
  fc_stretch stretch;
} convert_state;

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const convert *self = instance;
  const fc_format *in = setup->in[0], *out = setup->out;
  const codes to = codes_of(out->dtype);
  convert_state state = {.stretches = self->scale == SCALE_STRETCH, .map = map_of(self, in, out)};
  state.map.isa = fc_isa_best();
  state.stretch = (fc_stretch){state.map.compute, fc_isa_best(), to.low, to.high - to.low};
  return state_keep(host, &state, sizeof state, prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  const convert_state *state = prepared;
  if (state->stretches) return fc_stretch_scratch(&state->stretch, job->out->shape[FC_AXIS_N]);
  return fc_pointwise_cpu_scratch(&state->map);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const convert_state *state = prepared;
  const fc_view *in = job->in[0], *out = job->out;
  if (state->stretches) return fc_stretch_cpu(&state->stretch, in, out, job->scratch, job->notes);
  return fc_pointwise_cpu(&state->map, in, out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const convert_state *state = prepared;
  if (state->stretches) return fc_stretch_ref(&state->stretch, job->in[0], job->out, job->notes);
  return fc_pointwise_ref(&state->map, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static size_t cuda_scratch(const void *prepared, const fc_job *job) {
  const convert_state *state = prepared;
  return state->stretches ? scratch(prepared, job) : 0;
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const convert_state *state = prepared;
  const fc_view *in = job->in[0], *out = job->out;
  if (state->stretches)
    return fc_stretch_cuda(&state->stretch, in, out, job->scratch, job->stream, job->notes);
  return fc_pointwise_cuda(&state->map, in, out, job->stream, job->notes);
}
#endif

/* ---- as a device function ------------------------------------------------------ */

static fc_status describe(const fc_host *host, void *instance, const fc_setup *setup,
                          fc_device_function *function) {
  const convert *self = instance;
  const fc_pointwise map = map_of(self, setup->in[0], setup->out);
  if (self->scale == SCALE_STRETCH || map.compute != setup->compute) return FC_UNSUPPORTED;
  fc_function_pointwise(&map, function);
  function->flags &= ~FC_FUNCTION_SELECTS; /* a code may be out of another type's range */
  fc_function_alone(map.compute, setup->in[0]->dtype, setup->out->dtype, function);
  return FC_OK;
}
FC_FUSIBLE(extension, describe)

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [DTYPE] = FC_ENUM_PARAM(
        FC_PARAM_MAIN | FC_PARAM_REQUIRED, "dtype", "The element type that samples become.", NULL,
        FC_CHOICES(
            FC_CHOICE(FC_U8, "u8", "8 bits, 0 to 255; for sound centred on 128"),
            FC_CHOICE(FC_I16, "i16", "16 bits with sign"), FC_CHOICE(FC_U16, "u16", "16 bits, 0 to 65535"),
            FC_CHOICE(FC_I32, "i32", "32 bits with sign"), FC_CHOICE(FC_F32, "f32", "single precision"),
            FC_CHOICE(FC_F64, "f64", "double precision"))),
    [SCALE] = FC_ENUM_PARAM(
        0, "scale", "What happens to the range of values.", "auto",
        FC_CHOICES(FC_CHOICE(SCALE_AUTO, "auto",
                             "the whole range of an image's integers onto that of the new type; else none"),
                   FC_CHOICE(SCALE_NONE, "none", "keep values as they are"),
                   FC_CHOICE(SCALE_STRETCH, "stretch",
                             "each frame's smallest and largest value onto the ends of the range"))),
};

static const char *const examples[] = {"convert:u8", "convert:f32", "convert:i16:scale=none", NULL};

static const fc_operator convert_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "convert",
    .summary = "change the element type, and with it the range of an image's codes",
    .keywords = FC_TEXTS("cast", "astype", "dtype", "depth"),
    .doc = "Makes samples of another type. At the end of a chain it chooses the sample format of the file: a "
           "WAV of 16 or 32 bits or floats, a PNG of 8 or 16 bits, any .npy. Within a chain it "
           "is seldom needed, because every operator accepts every type.\n\n"
           "Sound keeps its level: full scale is full scale in every type, so scale=auto and scale=none are "
           "the same.\n\n"
           "Images hold code values. Between integer types scale=auto maps the whole of one range onto the "
           "whole of the other: white stays white. From u16 to u8 that divides by 257, back it multiplies. "
           "scale=none keeps the number: 200 stays 200. To floats and from floats both keep the number too, "
           "because a float has no range of its own: 8-bit white becomes 255.0, and 255.0 becomes 255 in a "
           "u16. Arrays always keep their numbers.\n\n"
           "scale=stretch is for viewing data that are not pictures, such as spectra, deviations or "
           "differences: the least value of each frame becomes the lowest code, the greatest the highest (0 "
           "and 1 for floats), all channels alike. NaN and infinities do not count. Frames are then no "
           "longer comparable in brightness.\n\n"
           "Values that fall between integers are rounded, half to even. Values beyond the range become its "
           "ends, with a warning; they never wrap around. A NaN that is to become an integer is an error.",
    .examples = examples,
    .example_docs = FC_TEXTS("8-bit codes", "floating point", "keep values, change the type"),
    .n_params = N_PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = free,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, state_release, scratch, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, state_release, cuda_scratch, process_cuda)),
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_reference),
    .extension = extension,
};

SINGLE_OPERATOR_PLUGIN("convert", convert_operator)

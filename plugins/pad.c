/* SPDX-License-Identifier: MIT */
/*
 * pad.c - the operator pad: a border around images, silence around sound. Constants are written by
 * filters/geometry/place.h; for other borders the host makes the border, and filters/pointwise/gather.h
 * copies.
 */
#include "filters/geometry/place.h"
#include "filters/pointwise/gather.h"
#include "plugins/anchor.h"
#include "plugins/border.h"
#include "plugins/meaning.h"
#include "plugins/single.h"

enum { SIZE, MULTIPLE, ALL, LEFT, RIGHT, TOP, BOTTOM, BEFORE, AFTER, ANCHOR, BORDER, VALUE, N_PARAMS };

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

static int sides_given(arguments args) {
  return args[ALL]->given || args[LEFT]->given || args[RIGHT]->given || args[TOP]->given ||
         args[BOTTOM]->given;
}

/* ---- create ------------------------------------------------------------------- */

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  const int sound = args[BEFORE]->given || args[AFTER]->given, sides = sides_given(args);
  const int ways = args[SIZE]->given + args[MULTIPLE]->given + sides + sound;
  if (ways != 1)
    return host->fail(
        host, FC_INVALID,
        ways ? "give one of: a size, multiple, sides (left, right, top, bottom, all), before and "
               "after (sound)"
             : "give a size or amount: pad:256 or pad:640x480 pads to a size, multiple=32 to "
               "multiples, all=4 or left=4 at the sides, before=100 sound");
  if (args[ANCHOR]->given && !args[SIZE]->given && !args[MULTIPLE]->given)
    return host->fail(host, FC_INVALID, "anchor goes with a size or multiple");
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  return status == FC_OK ? fc_create_args(host, args, self) : status;
}

/* ---- amounts -------------------------------------------------------------------- */

typedef struct amounts {
  int64_t before, after;
} amounts;

static int64_t number(const fc_arg *arg) {
  return arg->count ? arg->ints[0] : 0;
}

/* For an axis of images; `after` is negative if the image is larger than the size already. */
static amounts of_axis(arguments args, int axis, int64_t extent) {
  const int across = axis == FC_AXIS_X, which = across ? 0 : 1;
  if (sides_given(args)) {
    const fc_arg *before = args[across ? LEFT : TOP], *after = args[across ? RIGHT : BOTTOM];
    return (amounts){before->given ? number(before) : number(args[ALL]),
                     after->given ? number(after) : number(args[ALL])};
  }
  const fc_arg *size = args[args[SIZE]->given ? SIZE : MULTIPLE];
  const int64_t side = size->ints[size->count > 1 ? which : 0];
  const int64_t wanted = args[SIZE]->given ? side : (extent + side - 1) / side * side;
  /* Padding to a multiple keeps the image at the top left, unless an anchor is given. */
  const int at = !args[SIZE]->given && !args[ANCHOR]->given ? ANCHOR_BEGIN
                 : across                                   ? anchor_x(args[ANCHOR])
                                                            : anchor_y(args[ANCHOR]);
  if (wanted < extent) return (amounts){0, wanted - extent};
  const int64_t before = anchor_offset(at, wanted - extent);
  return (amounts){before, wanted - extent - before};
}

/* ---- negotiate ------------------------------------------------------------------- */

static int border_of(arguments args) {
  return args[VALUE]->given ? FC_BORDER_CONSTANT : (int)args[BORDER]->ints[0];
}

static int is_constant(arguments args) {
  return border_of(args) == FC_BORDER_CONSTANT || border_of(args) == FC_BORDER_ZERO;
}

/* A border made from elements near the end reads back as far as it is long: while the end is not known the
 * host keeps that much. */
static void widen(arguments args, fc_terms *terms, int axis, amounts by) {
  const int64_t extent = terms->in[0]->extent[axis];
  terms->needs[0]->reach[axis].before = by.before;
  terms->needs[0]->reach[axis].after = is_constant(args) || extent != FC_UNKNOWN ? -by.before : by.after;
  if (extent != FC_UNKNOWN) terms->out->extent[axis] = by.before + extent + by.after;
}

static fc_status check_values(const fc_host *host, arguments args, const fc_format *in) {
  const int64_t values = args[VALUE]->count, channels = in->extent[FC_AXIS_C];
  if (values <= 1) return FC_OK;
  if (channels > FC_PLACE_CODES)
    return host->fail(host, FC_INVALID, "value: of more than %d channels give one value for all",
                      FC_PLACE_CODES);
  if (values == channels) return FC_OK;
  return host->fail(host, FC_INVALID,
                    "value: %lld values for %lld channel%s; give one, or one for each channel",
                    (long long)values, (long long)channels, channels == 1 ? "" : "s");
}

static fc_status widen_image(const fc_host *host, arguments args, fc_terms *terms) {
  const int64_t *extent = terms->in[0]->extent;
  const amounts x = of_axis(args, FC_AXIS_X, extent[FC_AXIS_X]),
                y = of_axis(args, FC_AXIS_Y, extent[FC_AXIS_Y]);
  if (args[SIZE]->given && (x.after < 0 || y.after < 0))
    return host->fail(
        host, FC_INVALID,
        "the image is %lld x %lld, larger than %lld x %lld already: crop it, or resize it before "
        "(resize:%lldx%lld:mode=fit)",
        (long long)extent[FC_AXIS_X], (long long)extent[FC_AXIS_Y], (long long)args[SIZE]->ints[0],
        (long long)args[SIZE]->ints[args[SIZE]->count - 1], (long long)args[SIZE]->ints[0],
        (long long)args[SIZE]->ints[args[SIZE]->count - 1]);
  widen(args, terms, FC_AXIS_X, x), widen(args, terms, FC_AXIS_Y, y);
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const fc_format *in = terms->in[0];
  const int sound = args[BEFORE]->given || args[AFTER]->given;
  fc_status status = check_values(host, args, in);
  if (status != FC_OK) return status;
  terms->needs[0]->border = is_constant(args) ? FC_BORDER_NONE : border_of(args);
  terms->work = 1;
  if (in->kind != FC_AUDIO && sound)
    return host->fail(host, FC_INVALID,
                      "before and after are for sound; images have left, right, top, bottom");
  if (in->kind != FC_AUDIO) return widen_image(host, args, terms);
  if (!sound)
    return host->fail(host, FC_INVALID, "sizes and sides are for images; sound has before and after");
  const amounts by = {number(args[BEFORE]), number(args[AFTER])};
  meaning_shift_time(terms, -by.before);
  widen(args, terms, FC_AXIS_X, by);
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------- */

typedef struct pad_state {
  arguments args;
  fc_place place; /* without its position */
} pad_state;

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  arguments args = self;
  const fc_format *in = setup->in[0];
  pad_state state = {.args = args};
  state.place.n_codes = border_of(args) == FC_BORDER_ZERO ? 1 : (int32_t)args[VALUE]->count;
  for (int i = 0; i < state.place.n_codes; i++) {
    const double value = border_of(args) == FC_BORDER_ZERO ? 0 : args[VALUE]->floats[i];
    host->rows->store_f64(&state.place.codes[i], 8, &value, 1, in->kind, in->dtype, NULL);
  }
  return state_keep(host, &state, sizeof state, prepared);
}

/* The position depends on the extents, which are in the views. */
static fc_place place_of(const pad_state *state, const fc_view *in) {
  fc_place place = state->place;
  if (in->kind == FC_AUDIO) {
    place.right = number(state->args[BEFORE]);
    return place;
  }
  place.right = of_axis(state->args, FC_AXIS_X, in->extent[FC_AXIS_X]).before;
  place.down = of_axis(state->args, FC_AXIS_Y, in->extent[FC_AXIS_Y]).before;
  return place;
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const pad_state *state = prepared;
  const fc_place place = place_of(state, job->in[0]);
  const fc_gather gather = {.shift_y = -place.down, .shift_x = -place.right};
  if (is_constant(state->args)) return fc_place_cpu(&place, job->in[0], job->out);
  return fc_gather_cpu(&gather, job->in[0], job->out);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const pad_state *state = prepared;
  const fc_place place = place_of(state, job->in[0]);
  const fc_gather gather = {.shift_y = -place.down, .shift_x = -place.right};
  if (is_constant(state->args)) return fc_place_ref(&place, job->in[0], job->out);
  return fc_gather_ref(&gather, job->in[0], job->out);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const pad_state *state = prepared;
  const fc_place place = place_of(state, job->in[0]);
  const fc_gather gather = {.shift_y = -place.down, .shift_x = -place.right};
  if (is_constant(state->args)) return fc_place_cuda(&place, job->in[0], job->out, job->stream);
  return fc_gather_cuda(&gather, job->in[0], job->out, job->stream);
}
#endif

/* ---- descriptor -------------------------------------------------------------- */

#define SIDE(name, doc) FC_INT_PARAM(0, name, doc, "pixels", NULL, FC_INT_BETWEEN(0, INT32_MAX / 4))
#define TIME(name, doc) FC_INT_PARAM(0, name, doc, "samples", NULL, FC_INT_BETWEEN(0, FC_REACH_MOST))
#define SIZES(flags, name, doc)                                                                              \
  FC_PARAM(FC_INT, FC_PARAM_LIST | (flags), 2, name, doc, "pixels", NULL, FC_INT_BETWEEN(1, INT32_MAX / 4),  \
           NULL, NULL, NULL)

static const fc_param *const params[N_PARAMS] = {
    [SIZE] = SIZES(FC_PARAM_MAIN, "size",
                   "Images: the size of the output, one number for a square, or WIDTHxHEIGHT."),
    [MULTIPLE] = SIZES(0, "multiple",
                       "Images: the sides become multiples of this, or of the first across and the second "
                       "down."),
    [ALL] = SIDE("all", "Images: how much is added at each side that is not given separately."),
    [LEFT] = SIDE("left", "Images: how much is added at the left."),
    [RIGHT] = SIDE("right", "Images: how much is added at the right."),
    [TOP] = SIDE("top", "Images: how much is added at the top."),
    [BOTTOM] = SIDE("bottom", "Images: how much is added at the bottom."),
    [BEFORE] = TIME("before", "Sound: how many samples come before."),
    [AFTER] = TIME("after", "Sound: how many samples follow."),
    [ANCHOR] = ANCHOR_PARAM("Images: where the image lies in the larger one. With multiple it is top-left "
                            "unless it is given.",
                            "centre"),
    [BORDER] = FC_ENUM_PARAM(
        0, "border", "What is added.", "constant",
        FC_CHOICES(
            FC_CHOICE(FC_BORDER_CONSTANT, "constant", "v v v | a b c d | v v v, with v from value"),
            FC_CHOICE(FC_BORDER_ZERO, "zero", "0 0 0 | a b c d | 0 0 0: silence, black"),
            FC_CHOICE(FC_BORDER_REPLICATE, "replicate", "a a a | a b c d | d d d"),
            FC_CHOICE(FC_BORDER_REFLECT, "reflect", "c b a | a b c d | d c b: the edge sample counts twice"),
            FC_CHOICE(FC_BORDER_REFLECT101, "reflect101",
                      "d c b | a b c d | c b a: the edge sample counts once"),
            FC_CHOICE(FC_BORDER_WRAP, "wrap", "b c d | a b c d | a b c: the signal repeats"),
            BORDER_REFUSED)),
    [VALUE] =
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, FC_PLACE_CODES, "value",
                 "The value of border=constant, which it implies: one for all channels, or one each, "
                 "separated by commas. Code values of images (255,255,255 is white), full scale of sound is "
                 "1.",
                 NULL, "0", NULL, NULL, NULL, NULL),
};

static const fc_operator pad_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    .name = "pad",
    .summary = "put a border around images, silence around sound",
    .keywords = FC_TEXTS("border", "letterbox", "extend", "embed"),
    .doc = "Adds a border to a signal, whose samples stay unchanged.\n\n"
           "    pad:256                             to 256 x 256, the image in the middle\n"
           "    pad:640x480:value=114,114,114       with gray bars (after resize:640x480:mode=fit)\n"
           "    pad:multiple=32:border=replicate    to sides that a network can halve five times\n"
           "    pad:left=8:right=8                  at two sides\n"
           "    pad:before=4800:after=48000         0.1 and 1 second of silence at 48 kHz\n\n"
           "An image larger than the size is an error. Samples are copied as they are.",
    .examples = FC_TEXTS("pad:64", "pad:96x64:value=7:anchor=right", "pad:multiple=16x8:border=reflect101",
                         "pad:all=2:left=5", "pad:before=10:after=100", "pad:before=7:border=wrap"),
    .example_docs = FC_TEXTS("to 64 pixels square", "colour 7, image at the right", "to multiples, mirrored",
                             "two around, five left", "silence before and after", "seven before, wrapped"),
    .example_commands = FC_TEXTS("-i in.png -p resize:60x60:mode=fit ... -o out.png",
                                 "-i in.png -p resize:90x60:mode=fit ... -o out.png",
                                 "-i in.png ... -o out.png", "-i in.png ... -o out.png", "", ""),
    FC_EVERY_SIGNAL,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .negotiate = negotiate,
    .backends =
        BACKENDS(FC_BACKEND(FC_BACKEND_INSIDE, FC_KIND_HOST, prepare, state_release, NULL, process_cpu),
                 FC_ON_CUDA(FC_BACKEND_INSIDE, prepare, state_release, NULL, process_cuda)),
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("pad", pad_operator)

/* SPDX-License-Identifier: MIT */
/*
 * resize.c - the operator resize: changes the size of images; the work is filters/resample/resample.h.
 *
 * Weights are computed for each piece of output, in its scratch: nothing is prepared for a size.
 */
#include <math.h>

#include "filters/resample/resample.h"
#include "plugins/alpha.h"
#include "plugins/single.h"

enum { SIZE, WIDTH, HEIGHT, LONG, SCALE, MODE, UP, FILTER, ANTIALIAS, N_PARAMS };
enum { MODE_EXACT, MODE_FIT, MODE_FILL };

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

/* ---- create ------------------------------------------------------------------- */

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  const int box = args[WIDTH]->given || args[HEIGHT]->given;
  const int ways = args[SIZE]->given + box + args[LONG]->given + args[SCALE]->given;
  if (ways == 0)
    return host->fail(host, FC_INVALID,
                      "no size given: resize:256 makes the short side 256 pixels, resize:640x480 and "
                      "width=640:height=480 the whole image, scale=0.5 half of it");
  if (ways > 1)
    return host->fail(host, FC_INVALID,
                      "give one of: a size, width and height, long, scale; more than one contradict each "
                      "other");
  const int two = args[SIZE]->count == 2 || (args[WIDTH]->given && args[HEIGHT]->given);
  if (args[MODE]->given && !two)
    return host->fail(host, FC_INVALID, "mode=%s needs width and height", args[MODE]->text);
  return fc_create_args(host, args, self);
}

/* ---- sizes ---------------------------------------------------------------------- */

typedef struct extents {
  int64_t width, height;
} extents;

/* a b / c, rounded half up, at least 1. */
static int64_t proportion(int64_t a, int64_t b, int64_t c) {
  const int64_t size = (int64_t)floor((double)a * (double)b / (double)c + 0.5);
  return size < 1 ? 1 : size;
}

/* One side is given, the other follows. */
static extents by_width(extents in, int64_t width) {
  return (extents){width, proportion(in.height, width, in.width)};
}
static extents by_height(extents in, int64_t height) {
  return (extents){proportion(in.width, height, in.height), height};
}

static extents into_box(extents in, extents box, int mode) {
  /* Whether the image is wider than the box, relative to its height. */
  const int wider = (double)in.width * (double)box.height > (double)box.width * (double)in.height;
  if (mode == MODE_EXACT) return box;
  return (mode == MODE_FIT) == wider ? by_width(in, box.width) : by_height(in, box.height);
}

static int64_t scaled(int64_t in, double factor) {
  const double size = floor((double)in * factor + 0.5);
  return size < 1 ? 1 : size > (double)INT32_MAX ? (int64_t)INT32_MAX + 1 : (int64_t)size;
}

static extents wanted(arguments args, extents in) {
  const fc_arg *size = args[SIZE], *width = args[WIDTH], *height = args[HEIGHT], *scale = args[SCALE];
  const int mode = (int)args[MODE]->ints[0];
  if (size->given && size->count == 2) return into_box(in, (extents){size->ints[0], size->ints[1]}, mode);
  if (size->given) return in.width < in.height ? by_width(in, size->ints[0]) : by_height(in, size->ints[0]);
  if (args[LONG]->given) {
    const int64_t side = args[LONG]->ints[0];
    return in.width < in.height ? by_height(in, side) : by_width(in, side);
  }
  if (scale->given)
    return (extents){scaled(in.width, scale->floats[0]), scaled(in.height, scale->floats[scale->count - 1])};
  if (width->given && height->given) return into_box(in, (extents){width->ints[0], height->ints[0]}, mode);
  return width->given ? by_width(in, width->ints[0]) : by_height(in, height->ints[0]);
}

/* With up=no nothing is enlarged: if proportions are kept the image keeps its size, else the side does. */
static extents chosen(arguments args, extents in) {
  extents out = wanted(args, in);
  const fc_arg *scale = args[SCALE];
  const int two = args[SIZE]->count == 2 || (args[WIDTH]->given && args[HEIGHT]->given);
  const int apart = (two && args[MODE]->ints[0] == MODE_EXACT) || (scale->given && scale->count == 2);
  if (args[UP]->ints[0] || (out.width <= in.width && out.height <= in.height)) return out;
  if (!apart) return in;
  return (extents){out.width < in.width ? out.width : in.width,
                   out.height < in.height ? out.height : in.height};
}

/* ---- negotiate ------------------------------------------------------------------- */

static fc_resample resample_of(arguments args, const fc_format *in, int compute) {
  return (fc_resample){.filter = (int)args[FILTER]->ints[0],
                       .antialias = args[ANTIALIAS]->ints[0] != 0,
                       .compute = compute,
                       .alpha = alpha_is_straight(in) && args[FILTER]->ints[0] != FC_RESAMPLE_NEAREST,
                       .isa = fc_isa_best()};
}

static int64_t divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

static void look(const fc_resample *r, int64_t in, int64_t out, fc_reach *reach) {
  const int64_t common = divisor(in, out);
  reach->num = in / common, reach->den = out / common;
  reach->before = reach->after = fc_resample_halo(r, in, out);
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const fc_format *in = terms->in[0];
  const extents from = {in->extent[FC_AXIS_X], in->extent[FC_AXIS_Y]};
  if (from.width < 1 || from.height < 1) return host->fail(host, FC_INVALID, "the image has no pixels");
  const extents to = chosen(args, from);
  if (to.width > INT32_MAX || to.height > INT32_MAX)
    return host->fail(host, FC_INVALID, "the output would be %lld x %lld pixels; a side has at most %d",
                      (long long)to.width, (long long)to.height, INT32_MAX);
  const fc_resample r = resample_of(args, in, terms->compute);
  fc_need *need = terms->needs[0];
  terms->out->extent[FC_AXIS_X] = to.width, terms->out->extent[FC_AXIS_Y] = to.height;
  need->border = FC_BORDER_NONE; /* windows are cut at the ends of the signal */
  look(&r, from.width, to.width, &need->reach[FC_AXIS_X]);
  look(&r, from.height, to.height, &need->reach[FC_AXIS_Y]);
  /* Alpha is read for all channels. */
  if (r.alpha) need->reach[FC_AXIS_C].align = in->extent[FC_AXIS_C];
  terms->work = 2.0 * (double)(need->reach[FC_AXIS_X].before + need->reach[FC_AXIS_Y].before + 2);
  host->remark(host, "%lld x %lld becomes %lld x %lld", (long long)from.width, (long long)from.height,
               (long long)to.width, (long long)to.height);
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------- */

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const fc_resample state = resample_of(self, setup->in[0], setup->compute);
  return state_keep(host, &state, sizeof state, prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return fc_resample_scratch(prepared, job->in[0], job->out);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_resample_cpu(prepared, job->in[0], job->out, job->scratch);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_resample_ref(prepared, job->in[0], job->out, job->scratch);
}

#if FC_HAVE_CUDA
static size_t scratch_cuda(const void *prepared, const fc_job *job) {
  return fc_resample_cuda_scratch(prepared, job->in[0], job->out);
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_resample_cuda(prepared, job->in[0], job->out, job->scratch, job->stream);
}
#endif

/* ---- descriptor -------------------------------------------------------------- */

#define PIXELS FC_INT_BETWEEN(1, INT32_MAX)

static const fc_param *const params[N_PARAMS] = {
    [SIZE] = FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_LIST, 2, "size",
                      "One number: the short side, proportions are kept. WIDTHxHEIGHT: both.", "pixels", NULL,
                      PIXELS, NULL, FC_TEXTS("short"), NULL),
    [WIDTH] = FC_INT_PARAM(0, "width", "Columns of the output. Alone it keeps proportions.", "pixels", NULL,
                           PIXELS),
    [HEIGHT] =
        FC_INT_PARAM(0, "height", "Rows of the output. Alone it keeps proportions.", "pixels", NULL, PIXELS),
    [LONG] = FC_INT_PARAM(0, "long", "The long side; proportions are kept.", "pixels", NULL, PIXELS),
    [SCALE] =
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, 2, "scale",
                 "Output pixels an input pixel: 0.5 halves both sides. Two numbers, separated by a comma: "
                 "one across and one down.",
                 NULL, NULL, FC_FLOAT_BETWEEN(0.0001, 1000), NULL, NULL, NULL),
    [MODE] = FC_ENUM_PARAM(
        0, "mode", "How width and height are applied to the proportions of the image.", "exact",
        FC_CHOICES(
            FC_CHOICE(MODE_EXACT, "exact", "they change: the output has just that size"),
            FC_CHOICE(MODE_FIT, "fit", "they stay: the largest image that fits into the size"),
            FC_CHOICE(MODE_FILL, "fill", "they stay: the smallest that covers the size; crop the rest"),
            FC_CHOICE(FC_REFUSED, "stretch", "say exact"), FC_CHOICE(FC_REFUSED, "contain", "say fit"),
            FC_CHOICE(FC_REFUSED, "inside", "say fit"), FC_CHOICE(FC_REFUSED, "cover", "say fill"),
            FC_CHOICE(FC_REFUSED, "short", "leave mode out and give one size: resize:256"),
            FC_CHOICE(FC_REFUSED, "long", "leave mode out and give the long side: long=256"))),
    [UP] = FC_BOOL_PARAM(0, "up", "With no, images are made smaller only.", "yes"),
    [FILTER] = FC_ENUM_PARAM(
        0, "filter", "The interpolation filter.", "bilinear",
        FC_CHOICES(
            FC_CHOICE(FC_RESAMPLE_NEAREST, "nearest", "the pixel there: no new values, for masks and labels"),
            FC_CHOICE(FC_RESAMPLE_BILINEAR, "bilinear", "a triangle: never beyond the values there are"),
            FC_CHOICE(FC_RESAMPLE_BICUBIC, "bicubic", "Keys' cubic: sharper, overshoots at edges"),
            FC_CHOICE(FC_RESAMPLE_LANCZOS3, "lanczos3",
                      "a windowed sinc of three lobes: sharpest, overshoots"),
            FC_CHOICE(FC_RESAMPLE_LANCZOS3, "lanczos", "the same as lanczos3"),
            FC_CHOICE(FC_RESAMPLE_AREA, "area", "the mean of the covered area"),
            FC_CHOICE(FC_REFUSED, "linear", "say bilinear"),
            FC_CHOICE(FC_REFUSED, "triangle", "say bilinear"), FC_CHOICE(FC_REFUSED, "cubic", "say bicubic"),
            FC_CHOICE(FC_REFUSED, "box", "say area"), FC_CHOICE(FC_REFUSED, "lanczos4", "say lanczos3"))),
    [ANTIALIAS] = FC_BOOL_PARAM(0, "antialias",
                                "Whether the filter is widened when shrinking, so that every pixel counts. "
                                "Without it some are skipped, as in OpenCV: faster, with aliasing.",
                                "yes"),
};

static const fc_operator resize_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    .name = "resize",
    .summary = "make images larger or smaller",
    .keywords = FC_TEXTS("scale", "zoom", "thumbnail", "shrink", "enlarge", "interpolate"),
    .doc =
        "Makes images of another size.\n\n"
        "    resize:256                          the short side becomes 256 pixels\n"
        "    resize:640x480                      both sides, whatever the proportions\n"
        "    resize:640x480:mode=fit             as large as fits into that\n"
        "    resize:width=1024:up=no             1024 columns, unless there are fewer\n"
        "    resize:scale=0.5:filter=lanczos3\n\n"
        "Results are those of Pillow and of torchvision with antialias=True, within 1 of 255 (Pillow 13 "
        "sums columns first in some shapes, which bicubic and lanczos3 show beside full contrast); with "
        "antialias=no those of OpenCV's INTER_LINEAR and INTER_CUBIC. Positions are half-pixel centres. "
        "Bicubic is "
        "Keys' cubic of a = -1/2, without antialiasing of a = -3/4. filter=area is OpenCV's INTER_AREA where "
        "images shrink. The side that follows from proportions is rounded to the nearest pixel.\n\n"
        "Samples keep their type and are rounded to it. They are the same bits on every processor. "
        "Colours are weighted by an alpha channel that is not premultiplied, so that invisible pixels leave "
        "no fringe.",
    .examples =
        FC_TEXTS("resize:24", "resize:31x17:filter=lanczos3", "resize:scale=0.5:filter=area",
                 "resize:width=20:height=20:mode=fill:filter=bicubic", "resize:long=40:up=no:antialias=no"),
    .example_docs = FC_TEXTS("24 pixels wide and high", "exact size, sharp", "half the size, averaged",
                             "fill and cut a square", "longer side 40, no larger"),
    FC_PICTURES_ONLY,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .negotiate = negotiate,
    .backends =
        BACKENDS(FC_BACKEND(FC_BACKEND_INSIDE, FC_KIND_HOST, prepare, state_release, scratch, process_cpu),
                 FC_ON_CUDA(FC_BACKEND_INSIDE, prepare, state_release, scratch_cuda, process_cuda)),
    .reference = FC_ON_CPU(prepare, state_release, scratch, process_reference),
};

SINGLE_OPERATOR_PLUGIN("resize", resize_operator)

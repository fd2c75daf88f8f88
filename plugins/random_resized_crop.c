/* SPDX-License-Identifier: MIT */
/*
 * random_resized_crop.c - the operator random_resized_crop: a rectangle of random size, position and aspect
 * ratio of each image, resized to a fixed size; by filters/resample/resample.h, which treats the rectangle as
 * the whole image.
 */
#include "filters/resample/resample.h"
#include "plugins/alpha.h"
#include "plugins/random.h"

enum { SIZE, AREA, RATIO, FILTER, ANTIALIAS, N_PARAMS };

typedef const fc_arg *const *arguments;

typedef struct prepared_state {
  arguments args;
  fc_resample work;
} prepared_state;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  fc_status status = random_check_pair(host, "area", args[AREA]);
  if (status == FC_OK) status = random_check_pair(host, "ratio", args[RATIO]);
  return status == FC_OK ? fc_create_args(host, args, self) : status;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  arguments args = instance;
  const fc_format *in = terms->in[0];
  if (in->extent[FC_AXIS_X] < 1 || in->extent[FC_AXIS_Y] < 1)
    return host->fail(host, FC_INVALID, "the image has no pixels");
  terms->out->extent[FC_AXIS_X] = args[SIZE]->ints[0];
  terms->out->extent[FC_AXIS_Y] = args[SIZE]->ints[args[SIZE]->count - 1];
  random_see_all(terms);
  /* Alpha is read for all channels. */
  if (alpha_is_straight(in)) terms->needs[0]->reach[FC_AXIS_C].align = in->extent[FC_AXIS_C];
  terms->work = 20;
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  arguments args = instance;
  prepared_state state = {.args = args};
  const int filter = (int)args[FILTER]->ints[0];
  state.work = (fc_resample){.filter = filter,
                             .antialias = args[ANTIALIAS]->ints[0] != 0,
                             .compute = setup->compute,
                             .alpha = alpha_is_straight(setup->in[0]) && filter != FC_RESAMPLE_NEAREST,
                             .isa = fc_isa_best()};
  return state_keep(host, &state, sizeof state, prepared);
}

/* The rectangle as a signal of its own. */
static fc_view rectangle_view(const fc_view *in, const random_rectangle *r) {
  fc_view part = *in;
  part.data = (char *)in->data + (r->y - in->origin[FC_AXIS_Y]) * in->stride[FC_AXIS_Y] +
              (r->x - in->origin[FC_AXIS_X]) * in->stride[FC_AXIS_X];
  part.origin[FC_AXIS_X] = part.origin[FC_AXIS_Y] = 0;
  part.shape[FC_AXIS_X] = part.extent[FC_AXIS_X] = r->width;
  part.shape[FC_AXIS_Y] = part.extent[FC_AXIS_Y] = r->height;
  return part;
}

/* If none fits: the largest centred rectangle with an allowed aspect ratio. */
static random_rectangle central(int64_t width, int64_t height, const double ratio[2]) {
  const double shape = (double)width / (double)height;
  random_rectangle r = {0, 0, width, height};
  if (shape < ratio[0]) r.height = (int64_t)((double)width / ratio[0] + 0.5);
  if (shape > ratio[1]) r.width = (int64_t)((double)height * ratio[1] + 0.5);
  r.width = r.width < 1 ? 1 : r.width, r.height = r.height < 1 ? 1 : r.height;
  r.x = (width - r.width) / 2, r.y = (height - r.height) / 2;
  return r;
}

static random_rectangle drawn(const prepared_state *state, const random_frame *f) {
  const int64_t width = f->in.extent[FC_AXIS_X], height = f->in.extent[FC_AXIS_Y];
  const double *area = state->args[AREA]->floats, *ratio = state->args[RATIO]->floats;
  random_rectangle r;
  return random_rectangle_of(f->key, 0, width, height, area, ratio, &r) ? r : central(width, height, ratio);
}

typedef size_t (*scratch_fn)(const fc_resample *r, const fc_view *in, const fc_view *out);

/* Upper bound for any rectangle: a smaller one needs fewer taps, and the factor of two covers different
 * algorithms. Checked again when a rectangle is drawn. */
static size_t scratch_by(const prepared_state *state, const fc_job *job, scratch_fn scratch) {
  const int64_t width = job->in[0]->extent[FC_AXIS_X], height = job->in[0]->extent[FC_AXIS_Y];
  size_t most = 0;
  for (int i = 0; i < 9; i++) {
    static const int parts[3] = {1, 8, 1 << 30};
    const random_rectangle r = {0, 0, (width - 1) / parts[i % 3] + 1, (height - 1) / parts[i / 3] + 1};
    const fc_view in = rectangle_view(job->in[0], &r);
    const size_t bytes = scratch(&state->work, &in, job->out);
    most = bytes > most ? bytes : most;
  }
  return 2 * most;
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return scratch_by(prepared, job, fc_resample_scratch);
}

#if FC_HAVE_CUDA
static size_t scratch_cuda(const void *prepared, const fc_job *job) {
  return scratch_by(prepared, job, fc_resample_cuda_scratch);
}
#endif

static fc_status resize(const fc_host *host, const void *prepared, const fc_job *job, const random_frame *f) {
  const prepared_state *state = prepared;
  const fc_resample *work = &state->work;
  const random_rectangle r = drawn(state, f);
  const fc_view in = rectangle_view(&f->in, &r);
  if (RANDOM_CALL(f->version, fc_resample_scratch(work, &in, &f->out),
                  fc_resample_scratch(work, &in, &f->out),
                  fc_resample_cuda_scratch(work, &in, &f->out)) > job->scratch_bytes)
    return host->fail(host, FC_FATAL, "a rectangle of %lld x %lld needs more scratch than was foreseen",
                      (long long)r.width, (long long)r.height);
  return RANDOM_CALL(f->version, fc_resample_cpu(work, &in, &f->out, job->scratch),
                     fc_resample_ref(work, &in, &f->out, job->scratch),
                     fc_resample_cuda(work, &in, &f->out, job->scratch, job->stream));
}

RANDOM_PROCESSES(resize)

static const fc_operator random_resized_crop_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "random_resized_crop",
    .summary = "crop a random part of each image and resize it",
    .doc =
        "Takes a rectangle of each image, whose area is a random part of the image's and whose proportions "
        "and "
        "place are random, and makes it one size: what networks are trained on (Inception). Drawn as "
        "torchvision's "
        "RandomResizedCrop: the area evenly, the proportions evenly by their logarithm; ten times until one "
        "fits, "
        "then the largest in the centre. Filters are those of resize, and end at the rectangle's edges.\n\n"
        "    random_resized_crop:224\n"
        "    random_resized_crop:224:area=0.25,1:filter=bicubic" RANDOM_DOC,
    .examples = FC_TEXTS("random_resized_crop:7", "random_resized_crop:9x5:area=0.3,0.6:filter=bicubic",
                         "random_resized_crop:6:filter=nearest"),
    .example_docs = FC_TEXTS("a random part, 7 square", "smaller parts, smoothly", "quickly"),
    FC_OPERATOR_PARAMS(
        FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST, 2, "size",
                 "Of the output: one number, the side of a square, or WIDTHxHEIGHT.", "pixels", NULL,
                 FC_INT_BETWEEN(1, INT32_MAX), NULL, NULL, NULL),
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, 2, "area", "The rectangle's least and greatest part of the image.",
                 NULL, "0.08,1", FC_FLOAT_BETWEEN(0, 1), NULL, FC_TEXTS("scale"), NULL),
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, 2, "ratio", "Its least and greatest width by height.", NULL,
                 "0.75,1.3333333333333333", FC_FLOAT_BETWEEN(0.001, 1000), NULL, NULL, NULL),
        FC_ENUM_PARAM(
            0, "filter", "How pixels between pixels are found, as of resize.", "bilinear",
            FC_CHOICES(FC_CHOICE(FC_RESAMPLE_NEAREST, "nearest", "the pixel there"),
                       FC_CHOICE(FC_RESAMPLE_BILINEAR, "bilinear", "a triangle"),
                       FC_CHOICE(FC_RESAMPLE_BICUBIC, "bicubic", "Keys' cubic"),
                       FC_CHOICE(FC_RESAMPLE_LANCZOS3, "lanczos3", "a windowed sinc of three lobes"),
                       FC_CHOICE(FC_RESAMPLE_AREA, "area", "the mean over what a pixel covers"))),
        FC_BOOL_PARAM(0, "antialias", "Whether shrinking takes the mean over all pixels.", "yes")),
    .create = create,
    .negotiate = negotiate,
    RANDOM_BACKENDS(prepare, state_release, scratch, scratch_cuda),
};
SINGLE_OPERATOR_PLUGIN("random_resized_crop", random_resized_crop_operator)

/* SPDX-License-Identifier: MIT */
/*
 * jitter.c - the operator jitter: random changes of brightness, contrast, saturation and hue of each image;
 * by filters/color/twist.h, which applies them as one matrix.
 */
#include "filters/color/twist.h"
#include "plugins/alpha.h"
#include "plugins/random.h"
#include "plugins/white.h"

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, WHITE, N_PARAMS };

typedef struct prepared_state {
  const fc_arg *const *args;
  fc_twist work;
} prepared_state;

/* ---- terms ---------------------------------------------------------------------- */

/* The range to draw from: one number v means 1 - v to 1 + v, for hue -v to v; two numbers are the ends. */
typedef struct range {
  double low, high;
} range;

static range range_of(const fc_arg *arg, double middle) {
  if (arg->count == 2) return (range){arg->floats[0], arg->floats[1]};
  const double low = middle - arg->floats[0];
  return (range){middle > 0 && low < 0 ? 0 : low, middle + arg->floats[0]};
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  static const char *const names[] = {"brightness", "contrast", "saturation", "hue"};
  int given = 0;
  for (int i = BRIGHTNESS; i <= HUE; i++) {
    const range r = range_of(args[i], i == HUE ? 0 : 1);
    given |= args[i]->given;
    if (r.low > r.high || (i != HUE && r.low < 0) || (i == HUE && (r.low < -0.5 || r.high > 0.5)))
      return host->fail(host, FC_INVALID,
                        "%s=%s: expected how far it may change, or the least and the most%s", names[i],
                        args[i]->text, i == HUE ? ", within -0.5 and 0.5 turns" : " factor, as in 0.8,1.2");
  }
  if (!given)
    return host->fail(host, FC_INVALID, "nothing changes: give brightness, contrast, saturation or hue");
  return fc_create_args(host, args, self);
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_arg *const *args = instance;
  const fc_format *in = terms->in[0];
  const int64_t colors = in->extent[FC_AXIS_C] - alpha_is_there(in);
  const int rgb =
      in->color == FC_COLOR_UNKNOWN || in->color == FC_COLOR_SRGB || in->color == FC_COLOR_LINEAR_RGB;
  const int gray =
      in->color == FC_COLOR_UNKNOWN || in->color == FC_COLOR_GRAY || in->color == FC_COLOR_LINEAR_GRAY;
  if (colors == 3 ? !rgb : colors == 1 ? !gray : 1)
    return host->fail(
        host, FC_INVALID, "works on grey or R G B, with or without alpha, and the input has %lld channels%s",
        (long long)in->extent[FC_AXIS_C], colors == 3 || colors == 1 ? " of other colours (color:rgb)" : "");
  if (colors == 1 && (args[SATURATION]->given || args[HUE]->given))
    host->remark(host, "a grey image has no saturation and no hue");
  terms->needs[0]->reach[FC_AXIS_C] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, 1};
  terms->work = 8;
  return FC_OK;
}

/* ---- running -------------------------------------------------------------------- */

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  prepared_state state = {.args = instance};
  state.work = (fc_twist){.compute = setup->compute,
                          .isa = fc_isa_best(),
                          .colors = (int32_t)setup->in[0]->extent[FC_AXIS_C] - alpha_is_there(setup->in[0]),
                          .extra = alpha_is_there(setup->in[0]),
                          .white = white_of(state.args[WHITE], setup->in[0])};
  return state_keep(host, &state, sizeof state, prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  (void)job;
  return fc_twist_scratch(&((const prepared_state *)prepared)->work);
}

static fc_status twist(const fc_host *host, const void *prepared, const fc_job *job, const random_frame *f) {
  const prepared_state *state = prepared;
  fc_twist work = state->work;
  double drawn[4];
  (void)host;
  for (int i = BRIGHTNESS; i <= HUE; i++) {
    const range r = range_of(state->args[i], i == HUE ? 0 : 1);
    drawn[i] = fc_random_between(f->key, (uint64_t)i, r.low, r.high);
  }
  fc_twist_set(&work, drawn[BRIGHTNESS], drawn[CONTRAST], drawn[SATURATION], drawn[HUE]);
  return RANDOM_CALL(f->version, fc_twist_cpu(&work, &f->in, &f->out, job->scratch, job->notes),
                     fc_twist_ref(&work, &f->in, &f->out, job->notes),
                     fc_twist_cuda(&work, &f->in, &f->out, job->stream, job->notes));
}

RANDOM_PROCESSES(twist)

/* ---- descriptor ------------------------------------------------------------------ */

#define RANGE_PARAM(name, doc)                                                                               \
  FC_PARAM(FC_FLOAT, FC_PARAM_LIST, 2, name, doc, NULL, "0", FC_FLOAT_BETWEEN(0, 1000), NULL, NULL, NULL)

static const fc_operator jitter_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "jitter",
    .summary = "vary brightness, contrast, saturation and hue at random",
    .keywords = FC_TEXTS("colorjitter", "color_jitter", "color_twist", "saturation", "hue", "contrast"),
    .doc = "Changes each image by a brightness, a contrast, a saturation and a hue of its own. One number is "
           "how far each "
           "may change: brightness=0.4 draws a factor from 0.6 to 1.4; two numbers are the ends of what is "
           "drawn from.\n\n"
           "    jitter:brightness=0.4:contrast=0.4:saturation=0.4:hue=0.1\n"
           "    jitter:brightness=0.8,1.2\n\n"
           "Brightness is a factor; contrast is one around the middle grey; saturation one of the difference "
           "from grey, 0 "
           "giving a grey image; hue turns colours around the grey axis (luma stays), in turns. They follow "
           "in this order, "
           "as one matrix, and the result is limited to black and white. torchvision's ColorJitter takes "
           "contrast around "
           "the image's mean, draws the order too, and turns hue in HSV; DALI's ColorTwist is as here. Alpha "
           "stays." RANDOM_DOC,
    .examples =
        FC_TEXTS("jitter:brightness=0.4:contrast=0.4", "jitter:brightness=0.5,0.9", "jitter:contrast=0.7"),
    .example_docs = FC_TEXTS("brightness and contrast, at random", "always darker", "contrast alone"),
    FC_OPERATOR_PARAMS(
        RANGE_PARAM("brightness", "How far the factor of brightness may be from 1, or its ends."),
        RANGE_PARAM("contrast", "How far the factor of contrast may be from 1, or its ends."),
        RANGE_PARAM("saturation", "How far the factor of saturation may be from 1, or its ends."),
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, 2, "hue", "How far hue may turn, or the ends of the turn.", "turns",
                 "0", FC_FLOAT_BETWEEN(-0.5, 0.5), NULL, NULL, NULL),
        WHITE_PARAM),
    .create = create,
    .negotiate = negotiate,
    RANDOM_BACKENDS(prepare, state_release, scratch, NULL),
};
SINGLE_OPERATOR_PLUGIN("jitter", jitter_operator)

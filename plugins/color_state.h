/* SPDX-License-Identifier: MIT */
/*
 * color_state.h - code shared by gray and color: the conversion for a format, terms and backends. Each
 * includes it once and defines color_wanted, which interprets its arguments.
 */
#ifndef FC_PLUGINS_COLOR_STATE_H
#define FC_PLUGINS_COLOR_STATE_H

#include <stdlib.h>

#include "filters/color/color.h"
#include "plugins/meaning.h"
#include "plugins/single.h"
#include "plugins/white.h"

enum { COLOR_AUTO = -1 };
enum { LUMA_601, LUMA_709 };

#define COLOR_LUMA_PARAM                                                                                     \
  FC_ENUM_PARAM(0, "luma", "The weights of red, green and blue in luma.", "601",                             \
                FC_CHOICES(FC_CHOICE(LUMA_601, "601", "0.299, 0.587, 0.114: BT.601, JPEG, Pillow, OpenCV"),  \
                           FC_CHOICE(LUMA_709, "709", "0.2126, 0.7152, 0.0722: BT.709, HDTV")))

typedef struct color_wish {
  int64_t from, to, luma;
  const fc_arg *white;
} color_wish;
color_wish color_wanted(const void *instance);

/* ---- terms ------------------------------------------------------------------- */

static const int32_t color_meanings[FC_SPACES] = {
    [FC_SPACE_GRAY] = FC_COLOR_GRAY,         [FC_SPACE_RGB] = FC_COLOR_SRGB,
    [FC_SPACE_LINEAR] = FC_COLOR_LINEAR_RGB, [FC_SPACE_YCBCR] = FC_COLOR_YCBCR,
    [FC_SPACE_HSV] = FC_COLOR_HSV,           [FC_SPACE_LAB] = FC_COLOR_LAB,
};

/* The input's colour space: as the user says, else as its format says, else grey or R G B by the number of
 * channels. */
static inline int color_space_of(const color_wish *wish, const fc_format *in) {
  if (in->extent[FC_AXIS_C] < 3) return FC_SPACE_GRAY;
  if (wish->from != COLOR_AUTO) return (int)wish->from;
  for (int space = FC_SPACE_RGB; space < FC_SPACES; space++)
    if (in->color == color_meanings[space]) return space;
  return FC_SPACE_RGB;
}

static inline fc_color_conversion color_conversion(const void *instance, const fc_format *in, int compute) {
  static const double weights[][3] = {[LUMA_601] = {299, 587, 114}, [LUMA_709] = {2126, 7152, 722}};
  const color_wish wish = color_wanted(instance);
  fc_color_conversion c = {.compute = compute,
                           .isa = fc_isa_best(),
                           .from = color_space_of(&wish, in),
                           .to = (int32_t)wish.to,
                           .extra = in->extent[FC_AXIS_C] % 2 == 0};
  fc_color_set(&c, weights[wish.luma], white_of(wish.white, in));
  return c;
}

static inline fc_status color_negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  const int64_t channels = in->extent[FC_AXIS_C];
  const color_wish wish = color_wanted(instance);
  if (channels < 1 || channels > 4)
    return host->fail(
        host, FC_INVALID,
        "works on grey or three colours, with or without alpha, and the input has %lld channels",
        (long long)channels);
  if (in->color == FC_COLOR_CMYK)
    return host->fail(host, FC_UNSUPPORTED, "the input is CMYK, whose inks have no fixed colours");
  if (channels < 3 && wish.from > FC_SPACE_GRAY)
    return host->fail(host, FC_INVALID, "from is for three channels, and the input has %lld",
                      (long long)channels);
  if (channels >= 3 && wish.from == FC_SPACE_GRAY)
    return host->fail(host, FC_INVALID, "from=gray is for one channel, and the input has %lld",
                      (long long)channels);
  const fc_color_conversion c = color_conversion(instance, in, terms->compute);
  out->extent[FC_AXIS_C] = fc_space_channels(c.to) + c.extra;
  out->color = color_meanings[c.to], out->alpha = in->alpha;
  meaning_keep_time(terms);
  terms->needs[0]->reach[FC_AXIS_C] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, 1};
  terms->work = c.to == FC_SPACE_GRAY ? 6 : 60;
  return FC_OK;
}

/* ---- running ----------------------------------------------------------------- */

static inline fc_status color_prepare(const fc_host *host, void *instance, const fc_setup *setup,
                                      void **prepared) {
  fc_color_conversion *c = malloc(sizeof *c);
  if (!c) return host->fail(host, FC_NO_MEMORY, "out of memory");
  *c = color_conversion(instance, setup->in[0], setup->compute);
  *prepared = c;
  return FC_OK;
}

static inline void color_release(const fc_host *host, void *prepared) {
  (void)host;
  free(prepared);
}

static inline size_t color_scratch(const void *prepared, const fc_job *job) {
  (void)job;
  return fc_color_scratch(prepared);
}

static inline fc_status color_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_color_cpu(prepared, job->in[0], job->out, job->scratch, job->notes);
}

static inline fc_status color_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_color_ref(prepared, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static inline fc_status color_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_color_cuda(prepared, job->in[0], job->out, job->stream, job->notes);
}
#endif

static inline fc_status color_describe(const fc_host *host, void *instance, const fc_setup *setup,
                                       fc_device_function *f) {
  const fc_color_conversion c = color_conversion(instance, setup->in[0], setup->compute);
  const fc_view in = {.dtype = setup->in[0]->dtype, .kind = setup->in[0]->kind},
                out = {.dtype = setup->out->dtype, .kind = setup->out->kind};
  (void)host;
  fc_color_describe(&c, f);
  if (fc_color_is_lab_of_bytes(&c, &in, &out)) f->flags &= ~FC_FUNCTION_ALONE; /* color.cu has a table */
  return FC_OK;
}
FC_FUSIBLE(color_extension, color_describe)

/* Members of fc_operator. */
#define COLOR_BACKENDS                                                                                       \
  .negotiate = color_negotiate,                                                                              \
  .backends = BACKENDS(FC_ON_CPU(color_prepare, color_release, color_scratch, color_cpu),                    \
                       FC_ON_CUDA(FC_BACKEND_GRAPH, color_prepare, color_release, NULL, color_cuda)),        \
  .reference = FC_ON_CPU(color_prepare, color_release, NULL, color_reference), .extension = color_extension

#endif

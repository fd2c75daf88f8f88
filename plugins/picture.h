/* SPDX-License-Identifier: MIT */
/*
 * picture.h - what the operators that draw sound (filters/picture) share: sizes, and the terms of a picture
 * that is made after a survey of the sound, or at once of all of it.
 */
#ifndef FC_PLUGINS_PICTURE_H
#define FC_PLUGINS_PICTURE_H

#include "filters/picture/panels.h"
#include "plugins/single.h"

#define PICTURE_WIDTH_PARAM                                                                                  \
  FC_INT_PARAM(0, "width", "How wide the picture is, with its axes.", "pixels", "1024",                      \
               FC_INT_BETWEEN(1, 32767))
#define PICTURE_HEIGHT_PARAM(preset)                                                                         \
  FC_INT_PARAM(0, "height", "How high it is.", "pixels", preset, FC_INT_BETWEEN(1, 32767))
#define PICTURE_AXES_PARAM                                                                                   \
  FC_BOOL_PARAM(0, "axes",                                                                                   \
                "Whether there are margins with scales and numbers; else the panels fill the picture.",      \
                "yes")

/* The part that the host asks for, fc_survey_part. */
static inline int picture_part(const fc_terms *terms) {
  return FC_HAS(terms, part) ? (int)terms->part : FC_PART_ALL;
}

/* Is there room for panels of so many channels? */
static inline fc_status picture_check(const fc_host *host, const fc_panels *p, int64_t sound) {
  const int64_t least = fc_panels_least_height(p, sound);
  if (sound > FC_PANELS_MOST)
    return host->fail(host, FC_INVALID, "draws up to %d channels, not %lld: choose some with mix",
                      FC_PANELS_MOST, (long long)sound);
  if (p->width < fc_panels_least_width(p))
    return host->fail(host, FC_INVALID, "width=%lld is too little for a picture with axes: give %lld or more",
                      (long long)p->width, (long long)fc_panels_least_width(p));
  if (p->height < least)
    return host->fail(host, FC_INVALID, "height=%lld is too little for %lld channels: give %lld or more",
                      (long long)p->height, (long long)sound, (long long)least);
  return FC_OK;
}

/* A survey of all channels in `blocks` stretches of the sound, each with a halo. */
static inline fc_status picture_survey_terms(int64_t blocks, int64_t halo, size_t block_bytes,
                                             fc_terms *terms) {
  const int64_t length = terms->in[0]->extent[FC_AXIS_T];
  fc_need *need = terms->needs[0];
  terms->out->dtype = FC_U8, terms->out->bits = 8;
  terms->out->extent[FC_AXIS_T] = blocks, terms->out->extent[FC_AXIS_C] = 1;
  need->reach[FC_AXIS_T] = (fc_reach){halo, halo, length > 0 ? length : 1, blocks > 0 ? blocks : 1, 1};
  need->reach[FC_AXIS_C].before = need->reach[FC_AXIS_C].after = FC_WHOLE;
  need->border = FC_BORDER_ZERO;
  terms->measure_bytes = block_bytes;
  return FC_OK;
}

/* Of the picture, with so many channels. */
static inline fc_status picture_terms(const fc_panels *p, int64_t channels, fc_terms *terms) {
  fc_format *out = terms->out;
  out->kind = FC_IMAGE, out->layout = FC_INTERLEAVED, out->rate = 0, out->bits = 8, out->stored = 0;
  out->extent[FC_AXIS_N] = 1, out->extent[FC_AXIS_Y] = p->height;
  out->extent[FC_AXIS_X] = p->width, out->extent[FC_AXIS_C] = channels;
  out->color = channels == 1 ? FC_COLOR_GRAY : FC_COLOR_SRGB, out->alpha = FC_ALPHA_NONE;
  /* In one piece: the whole picture uses the same analysis of the sound. */
  const int64_t sizes[FC_AXES] = {1, p->height, p->width, channels};
  for (int a = FC_AXIS_Y; a < FC_AXES; a++)
    terms->needs[0]->reach[a] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, sizes[a]};
  terms->needs[0]->border = FC_BORDER_NONE;
  return FC_OK;
}

/* What part an operator is run for: a survey puts out sound, and what it has seen is made a picture of
 * without looking at anything. */
static inline int picture_part_of(const fc_job *job) {
  if (job->out->kind == FC_AUDIO) return FC_PART_SURVEY;
  return job->in[0]->shape[FC_AXIS_T] < job->in[0]->extent[FC_AXIS_T] ? FC_PART_MAKE : FC_PART_ALL;
}

#endif

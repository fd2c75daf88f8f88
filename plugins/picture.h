/* SPDX-License-Identifier: MIT */
/*
 * picture.h - code shared by the operators that draw sound (filters/picture): sizes, and the terms of a
 * picture that is made from the whole sound at once.
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

static inline fc_status picture_terms(const fc_host *host, const fc_panels *p, int64_t channels,
                                      fc_terms *terms) {
  const int64_t sound = terms->in[0]->extent[FC_AXIS_C], least = fc_panels_least_height(p, sound);
  fc_format *out = terms->out;
  if (sound > FC_PANELS_MOST)
    return host->fail(host, FC_INVALID, "draws up to %d channels, not %lld: choose some with mix",
                      FC_PANELS_MOST, (long long)sound);
  if (p->width < fc_panels_least_width(p))
    return host->fail(host, FC_INVALID, "width=%lld is too little for a picture with axes: give %lld or more",
                      (long long)p->width, (long long)fc_panels_least_width(p));
  if (p->height < least)
    return host->fail(host, FC_INVALID, "height=%lld is too little for %lld channels: give %lld or more",
                      (long long)p->height, (long long)sound, (long long)least);
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

#endif

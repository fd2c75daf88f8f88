/* SPDX-License-Identifier: MIT */
/*
 * meaning.h - helpers for operators that change part of the meaning of samples: what remains of the rest.
 */
#ifndef FC_PLUGINS_MEANING_H
#define FC_PLUGINS_MEANING_H

#include "core/contract/fc_helpers.h"

/* The output begins at the same time as the input. */
static inline void meaning_keep_time(fc_terms *terms) {
  terms->out->time_num = terms->in[0]->time_num, terms->out->time_den = terms->in[0]->time_den;
}

/* The output begins `samples` samples later: unknown if the rate is not an integer, or numbers are too
 * large. */
static inline void meaning_shift_time(fc_terms *terms, int64_t samples) {
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  const int64_t rate = in->rate >= 1 && in->rate < 1e9 ? (int64_t)in->rate : 0, most = INT64_MAX / 4;
  meaning_keep_time(terms);
  if (samples == 0 || in->time_den == 0) return;
  const double largest = ((double)(in->time_num < 0 ? -in->time_num : in->time_num) + 1) * (double)rate +
                         (double)(samples < 0 ? -samples : samples) * (double)in->time_den;
  const int known = rate > 0 && (double)rate == in->rate && in->time_den > 0 && in->time_den < most / rate &&
                    largest < (double)most;
  out->time_num = known ? in->time_num * rate + samples * in->time_den : 0;
  out->time_den = known ? in->time_den * rate : 0;
}

/* Colours and speakers are unknown. */
static inline void meaning_forget_channels(fc_format *out) {
  out->color = FC_COLOR_UNKNOWN, out->alpha = FC_ALPHA_UNKNOWN, out->channels = 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * decibels.h - a hint for gains that are usually given in decibels: here a bare number is a factor.
 */
#ifndef FC_PLUGINS_DECIBELS_H
#define FC_PLUGINS_DECIBELS_H

#include <math.h>
#include <string.h>

#include "core/contract/fc_helpers.h"

/* Where a gain is given without dB, remarks its value in decibels; not for gains within half a decibel of
 * 1. */
static inline void decibels_hint(const fc_host *host, const char *name, const fc_arg *gain) {
  const char *word = gain->text;
  for (int64_t i = 0; gain->given && word && i < gain->count; i++) {
    const size_t length = strcspn(word, ",");
    const double level = 20 * log10(fabs(gain->floats[i]));
    if (!memchr(word, 'B', length) && !memchr(word, 'b', length) && fabs(level) >= 0.5) {
      host->log(host, FC_LEVEL_WARNING, "%s=%.*s is a factor, %.3g dB: decibels are written %.*sdB", name,
                (int)length, word, level, (int)length, word);
      return;
    }
    word += length + (word[length] == ',');
  }
}

#endif

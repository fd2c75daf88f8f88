/* SPDX-License-Identifier: MIT */
/*
 * loudness_meter.h - code shared by operators that measure loudness (filters/recursive/loudness.h): terms,
 * prepared state, and combining blocks into a meter and peaks.
 */
#ifndef FC_PLUGINS_LOUDNESS_METER_H
#define FC_PLUGINS_LOUDNESS_METER_H

#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/recursive/loudness.h"

typedef struct loudness_meter {
  uint32_t channels; /* channels that there are peaks for; 0: nothing was measured */
  uint64_t speakers; /* as negotiated */
  int64_t block;
  fc_loudness_meter m;
  fc_loudness_part *peaks; /* per channel, so far */
} loudness_meter;

static inline void loudness_meter_reset(loudness_meter *meter) {
  free(meter->peaks);
  meter->peaks = NULL;
  meter->channels = 0;
  memset(&meter->m, 0, sizeof meter->m);
}

/* If only peaks are wanted, this rate is assumed for sound of unknown rate. */
static inline double loudness_meter_rate(double rate) {
  return rate >= 100 ? rate : 48000;
}

/* The terms of an operator that measures. */
static inline fc_status loudness_meter_terms(const fc_host *host, loudness_meter *meter, int only_peaks,
                                             fc_terms *terms) {
  const fc_format *in = terms->in[0];
  if (in->rate < 100 && !only_peaks)
    return host->fail(host, FC_INVALID, "the sample rate is not known, or below 100 Hz: loudness needs it");
  if (in->extent[FC_AXIS_C] > UINT16_MAX)
    return host->fail(host, FC_UNSUPPORTED, "measures up to %d channels", UINT16_MAX);
  meter->speakers = in->channels;
  meter->block = fc_loudness_block(loudness_meter_rate(in->rate));
  terms->needs[0]->reach[FC_AXIS_T].align = meter->block;
  terms->measure_bytes = fc_loudness_block_bytes(in->extent[FC_AXIS_C]);
  terms->carry_bytes = fc_loudness_state_bytes(in->extent[FC_AXIS_C]);
  terms->work = 120;
  return FC_OK;
}

typedef struct loudness_state {
  fc_loudness work;
  int64_t block;
} loudness_state;

static inline fc_status loudness_meter_collect(const fc_host *host, loudness_meter *meter, const void *blocks,
                                               int64_t count) {
  const char *at = (const char *)blocks;
  for (int64_t i = 0; i < count; i++, at += fc_loudness_block_bytes(meter->channels)) {
    fc_loudness_head head;
    double energy = 0;
    memcpy(&head, at, sizeof head);
    if (!meter->peaks) {
      meter->peaks = (fc_loudness_part *)calloc(head.channels ? head.channels : 1, sizeof *meter->peaks);
      if (!meter->peaks) return host->fail(host, FC_NO_MEMORY, "no memory for %u channels", head.channels);
      meter->channels = head.channels;
    }
    if (head.channels != meter->channels) return host->fail(host, FC_FATAL, "blocks of different signals");
    for (uint32_t c = 0; c < head.channels; c++) {
      fc_loudness_part part, *most = &meter->peaks[c];
      memcpy(&part, at + sizeof head + c * sizeof part, sizeof part);
      energy += fc_loudness_weight(meter->speakers, head.channels, c) * part.energy;
      if (part.peak > most->peak) most->peak = part.peak;
      if (part.true_peak > most->true_peak) most->true_peak = part.true_peak;
    }
    fc_loudness_add(&meter->m, energy, head.count, meter->block);
  }
  return FC_OK;
}

/* The largest of all channels. */
static inline fc_loudness_part loudness_meter_peaks(const loudness_meter *meter) {
  fc_loudness_part all = {0, 0, 0};
  for (uint32_t c = 0; c < meter->channels; c++) {
    if (meter->peaks[c].peak > all.peak) all.peak = meter->peaks[c].peak;
    if (meter->peaks[c].true_peak > all.true_peak) all.true_peak = meter->peaks[c].true_peak;
  }
  return all;
}

#endif

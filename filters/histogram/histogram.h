/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - the number of samples in each of equal bins, per channel, over blocks of a signal.
 *
 * Bin b takes low + b w <= v < low + (b + 1) w, w = (high - low) / bins, the last one includes `high`;
 * further counters hold values below, above, and NaN. Bin numbers are computed in double: the same counts
 * everywhere.
 *
 * A block is `align` rows of a frame (columns, along time), anchored at position 0; its result is a head and
 * `bins` + FC_HISTOGRAM_EXTRA counters a channel, at `to` + frame * stride + block * fc_histogram_bytes.
 * Views begin at a multiple of `align`. Cost: one pass, about 2 ns a sample on the CPU.
 */
#ifndef FC_FILTERS_HISTOGRAM_H
#define FC_FILTERS_HISTOGRAM_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

#define FC_HISTOGRAM_EXTRA 3 /* below, above, NaN, after the bins */

typedef struct fc_histogram {
  int64_t bins, align;
  int32_t axis; /* the axis of the blocks: X or Y */
  double low, high, scale;
} fc_histogram;

typedef struct fc_histogram_head {
  uint32_t channels, reserved;
} fc_histogram_head;

#ifdef __CUDACC__
#define FC_HISTOGRAM_FN static inline __host__ __device__
#else
#define FC_HISTOGRAM_FN static inline
#endif

FC_HISTOGRAM_FN size_t fc_histogram_bytes(int64_t bins, int64_t channels) {
  return sizeof(fc_histogram_head) + (size_t)(channels * (bins + FC_HISTOGRAM_EXTRA)) * sizeof(uint64_t);
}

/* The index of the counter for a value. */
FC_HISTOGRAM_FN int64_t fc_histogram_place(const fc_histogram *h, double v) {
  if (v != v) return h->bins + 2;
  if (v < h->low) return h->bins;
  if (v > h->high) return h->bins + 1;
  const int64_t place = (int64_t)((v - h->low) * h->scale);
  return place < h->bins ? place : h->bins - 1;
}

/* The plain version, also used on the CPU. */
FC_FILTERS_API fc_status fc_histogram_cpu(const fc_histogram *h, const fc_view *in, void *to, int64_t stride);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_histogram_cuda(const fc_histogram *h, const fc_view *in, void *to, int64_t stride,
                                           void *stream);

FC_END_DECLS

#endif

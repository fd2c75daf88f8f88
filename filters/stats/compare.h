/* SPDX-License-Identifier: MIT */
/*
 * compare.h - differences between two signals: squared and largest differences, structural similarity.
 *
 * The signal is cut into blocks anchored at position 0, ranges of time or whole rows; each gives a partial
 * result per channel, which are added (fc_compare_add) in order. So results are the same to the bit for any
 * chunks and threads. Everything is in double precision.
 *
 * SSIM is that of Wang, Bovik, Sheikh and Simoncelli (2004): windows of 11 x 11 pixels weighted by a Gaussian
 * of standard deviation 1.5, at every position where they fit into the image; K1 = 0.01, K2 = 0.03. Its sums
 * are separable: 5 x 22 multiplications a pixel on the CPU; on a device, which has the arithmetic, 121 x 5.
 *
 * Views: `a` and `b` of equal shape, whole rows for images, readable FC_COMPARE_HALO rows above and below
 * (within the signal; what lies beyond is not read). Any strides and element types.
 */
#ifndef FC_FILTERS_COMPARE_H
#define FC_FILTERS_COMPARE_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

#define FC_COMPARE_HALO 5

typedef struct fc_compare_part {
  uint64_t count, bad;    /* pairs of finite values; pairs with a NaN or an infinity */
  double squares, signal; /* sums of (a - b)^2 and of b^2 */
  double largest;         /* |a - b| */
  double similarity;      /* sum of the SSIM of this many windows */
  uint64_t windows;
} fc_compare_part;

/* The head of a block's results: the number of channels. */
typedef struct fc_compare_block {
  uint32_t channels;
  int32_t kind, dtype; /* of b */
  uint32_t reserved;
} fc_compare_block;

static inline uint64_t fc_compare_block_bytes(int64_t channels) {
  return sizeof(fc_compare_block) + (uint64_t)channels * sizeof(fc_compare_part);
}

typedef struct fc_compare {
  fc_isa isa;
  double c1, c2; /* (K1 L)^2 and (K2 L)^2, where L is the largest value; 0: no SSIM */
} fc_compare;

FC_FILTERS_API fc_compare fc_compare_of(double peak);

/* Size of a block: samples of time, or rows. */
FC_FILTERS_API int64_t fc_compare_align(int kind);

/* Adds the part of a later block. */
FC_FILTERS_API void fc_compare_add(fc_compare_part *sum, const fc_compare_part *part);

/*
 * Compares views that start at a multiple of fc_compare_align: block i of frame n goes to
 * blocks + n * frame_bytes + i * fc_compare_block_bytes(channels), 8-byte aligned.
 */
FC_FILTERS_API fc_status fc_compare_ref(const fc_compare *c, const fc_view *a, const fc_view *b, void *blocks,
                                        int64_t frame_bytes);
/* `scratch` is fc_compare_scratch() bytes, aligned to 64. */
FC_FILTERS_API size_t fc_compare_scratch(void);
FC_FILTERS_API fc_status fc_compare_cpu(const fc_compare *c, const fc_view *a, const fc_view *b, void *blocks,
                                        int64_t frame_bytes, void *scratch);
/* Enqueues on `stream` (a cudaStream_t) of the current device; `blocks` is memory that it can write. Only in
 * a build with CUDA. */
FC_FILTERS_API fc_status fc_compare_cuda(const fc_compare *c, const fc_view *a, const fc_view *b,
                                         void *blocks, int64_t frame_bytes, void *stream);

FC_END_DECLS

#endif

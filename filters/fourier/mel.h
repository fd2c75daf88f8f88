/* SPDX-License-Identifier: MIT */
/*
 * mel.h - mel filterbanks: triangles over the bins of a spectrum, equally wide on a scale of
 * perceived pitch. As librosa.filters.mel defines them, with either scale:
 *
 *   Slaney (Auditory Toolbox): linear below 1 kHz, 200/3 Hz a mel, logarithmic above
 *   HTK: 2595 log10(1 + f / 700)
 */
#ifndef FC_FILTERS_MEL_H
#define FC_FILTERS_MEL_H

#include <stdint.h>

#include "filters/base/api.h"

FC_BEGIN_DECLS

typedef struct fc_mel {
  int64_t bands, size;    /* size of the transform: its bins are k * rate / size, k <= size / 2 */
  double rate, low, high; /* Hz; 0 <= low < high */
  int htk;
  int normalised; /* each triangle of area 1 Hz (Slaney); else of height 1 */
} fc_mel;

/*
 * The bank without its zeros: band b has the weights first[b] .. first[b + 1] - 1, for the bins from bin[b]
 * on. `first` has bands + 1 elements, `bin` bands; `weights` as many as the function returns, and may be NULL
 * to find out that number (at most twice the bins, plus one per band).
 */
FC_FILTERS_API int64_t fc_mel_fill(const fc_mel *mel, int64_t *first, int64_t *bin, double *weights);

FC_END_DECLS

#endif

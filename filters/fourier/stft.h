/* SPDX-License-Identifier: MIT */
/*
 * stft.h - short-time Fourier transforms along X (time), and back.
 *
 * Frame f covers the `frame` samples from f * hop - before on; times the window and filled up with zeros to
 * `size` it is transformed: X[f][k] = sum_i w[i] x[f hop - before + i] exp(-2 pi i k / size), k = 0 ..
 * size/2. (torch.stft, librosa.stft; scipy.signal.stft with its scale in the window. Phases are those of the
 * frame's first sample.) Frames are along X, and bins along C: for each channel of the input in turn the
 * requested components, with `bins` values each - or as many as the filterbank has bands.
 *
 * Back: every sample is sum_f w[i] y[f][i] / sum_f w[i]^2 over the frames that cover it, y being the inverse
 * transforms (Griffin and Lim 1984, the least-squares estimate, as librosa.istft and scipy.signal.istft);
 * where the windows sum to nothing it is 0.
 *
 * A sample that is NaN or infinite makes its frame's whole spectrum NaN, and such a bin makes all samples of
 * its frame NaN: otherwise the affected values would depend on the order of the sums.
 *
 * Frames are anchored at multiples of hop, and sums over frames are in their order, so the result does not
 * depend on how the signal is cut. Nothing allocates; re-entrant.
 */
#ifndef FC_FILTERS_STFT_H
#define FC_FILTERS_STFT_H

#include "core/contract/view.h"
#include "filters/fourier/fft.h"

FC_BEGIN_DECLS

typedef enum fc_component {
  FC_RE = 0,
  FC_IM = 1,
  FC_MAG = 2,   /* |X| */
  FC_POWER = 3, /* |X|^2 */
  FC_DB = 4,    /* 10 log10 |X|^2, of at least FC_DB_FLOOR */
  FC_COMPONENTS = 5
} fc_component;

/* -100 dB, as in librosa.power_to_db. */
#define FC_DB_FLOOR 1e-10

/* A filterbank: band b sums weights times the spectrum, from bin `bin[b]` on, in blocks whose sums are
 * added: a wide band in f32 would lose accuracy in one long sum. */
#define FC_BANDS_BLOCK 32
typedef struct fc_bands {
  int64_t count;
  const int64_t *first; /* [count + 1]: where a band's weights begin; the last entry is the total */
  const int64_t *bin;   /* [count]: the first bin of a band */
  const void *weights;  /* of the compute type */
} fc_bands;

typedef struct fc_stft {
  int32_t compute, isa;
  int64_t frame, size, hop, before; /* 1 <= frame <= size, 1 <= hop */
  const void *window;               /* [frame] of the compute type */
  const fc_rfft *plan;              /* of length size; for CUDA still in host memory */
  int32_t components;               /* number of components */
  int32_t component[FC_COMPONENTS];
  fc_bands bands; /* count 0: none; else applied to the magnitude (MAG) or power (POWER, DB) */

  /* The same in device memory, for CUDA. */
  const void *device_window, *device_plan;
  fc_bands device_bands;
} fc_stft;

/* Values per channel of the input. */
static inline int64_t fc_stft_width(const fc_stft *s) {
  return s->components * (s->bands.count ? s->bands.count : s->size / 2 + 1);
}

/* `in` begins at sample hop times out's first frame and is readable `before` samples
 * ahead of it and to the end of the last frame. */
FC_FILTERS_API fc_status fc_stft_check(const fc_stft *s, const fc_view *in, const fc_view *out);

/* The sums themselves, in double; scratch for a table of cosines, for either direction. */
FC_FILTERS_API size_t fc_stft_ref_scratch(const fc_stft *s);
FC_FILTERS_API fc_status fc_stft_ref(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                                     uint32_t *notes);
/* Scratch grows with the output, up to as many concurrent frames as a vector has lanes. */
FC_FILTERS_API size_t fc_stft_scratch(const fc_stft *s, const fc_view *out);
FC_FILTERS_API fc_status fc_stft_cpu(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                                     uint32_t *notes);
/* Device scratch for this many frames of all channels at a time; any amount from that of one frame on
 * works. */
FC_FILTERS_API size_t fc_stft_device_scratch(const fc_stft *s, const fc_view *out);
FC_FILTERS_API fc_status fc_stft_cuda(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                                      size_t scratch_bytes, uint32_t *notes, void *stream);

/*
 * Back from components RE, IM. `out` begins at a multiple of hop, and `in` at that
 * frame; it is readable (frame - 1 - before) / hop frames ahead and
 * (hop - 1 + before) / hop beyond the last block of hop samples. Frames that are outside
 * in->extent do not count.
 */
FC_FILTERS_API fc_status fc_istft_check(const fc_stft *s, const fc_view *in, const fc_view *out);
FC_FILTERS_API fc_status fc_istft_ref(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                                      uint32_t *notes);
FC_FILTERS_API size_t fc_istft_scratch(const fc_stft *s, const fc_view *out);
FC_FILTERS_API fc_status fc_istft_cpu(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                                      uint32_t *notes);
FC_FILTERS_API size_t fc_istft_device_scratch(const fc_stft *s, const fc_view *in, const fc_view *out);
FC_FILTERS_API fc_status fc_istft_cuda(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                                       size_t scratch_bytes, uint32_t *notes, void *stream);

/* The least sum of squared windows that covers a sample far from the ends, relative to the greatest: near
 * 0, istft cannot restore everything. */
FC_FILTERS_API double fc_stft_coverage(const double *window, int64_t frame, int64_t hop);

FC_END_DECLS

#endif

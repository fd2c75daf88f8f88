/* SPDX-License-Identifier: MIT */
/* windows.h - the choices of a parameter `window`, of spectra and of filter design. */
#ifndef FC_PLUGINS_WINDOWS_H
#define FC_PLUGINS_WINDOWS_H

#include "core/contract/fc_helpers.h"
#include "filters/fourier/window.h"

#define WINDOW_CHOICES                                                                                       \
  FC_CHOICES(FC_CHOICE(FC_WINDOW_HANN, "hann", "a raised cosine: the usual choice"),                         \
             FC_CHOICE(FC_WINDOW_HAMMING, "hamming", "0.54 - 0.46 cos: lower first side lobe"),              \
             FC_CHOICE(FC_WINDOW_BLACKMAN, "blackman", "0.42 - 0.5 cos + 0.08 cos 2: low side lobes"),       \
             FC_CHOICE(FC_WINDOW_BLACKMANHARRIS, "blackmanharris", "four terms: side lobes 92 dB down"),     \
             FC_CHOICE(FC_WINDOW_BARTLETT, "bartlett", "a triangle"),                                        \
             FC_CHOICE(FC_WINDOW_COSINE, "cosine", "half a sine wave"),                                      \
             FC_CHOICE(FC_WINDOW_KAISER, "kaiser", "Kaiser's, with beta"),                                   \
             FC_CHOICE(FC_WINDOW_RECT, "rect", "all ones"), FC_CHOICE(FC_REFUSED, "hanning", "say hann"),    \
             FC_CHOICE(FC_REFUSED, "boxcar", "say rect"), FC_CHOICE(FC_REFUSED, "ones", "say rect"),         \
             FC_CHOICE(FC_REFUSED, "triang", "say bartlett, which begins with 0"))

#endif

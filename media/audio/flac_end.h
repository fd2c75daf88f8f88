/* SPDX-License-Identifier: MIT */
/*
 * flac_end.h - what stands behind the last frame of FLAC, at which its decoder stops.
 */
#ifndef FC_MEDIA_FLAC_END_H
#define FC_MEDIA_FLAC_END_H

#include "media/file/internal.h"

G_BEGIN_DECLS

/* Whether a seekable FLAC file that says how many frames it holds, and of which all have been read well, goes
 * on behind them. Its first `reached` bytes were read for that. */
gboolean fc_flac_goes_on(fc_input *input, gint64 reached);

G_END_DECLS

#endif

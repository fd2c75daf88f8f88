/* SPDX-License-Identifier: MIT */
/*
 * joined.h - several sounds, one after another, as one source.
 */
#ifndef FC_CORE_JOINED_H
#define FC_CORE_JOINED_H

#include "core/context/stream.h"

G_BEGIN_DECLS

/*
 * Takes the sources over, also on failure; `n` is at least 1. Rates, channels and what these mean must agree;
 * the element type is one that holds all of theirs exactly. The name is the first one's "and 2 more". It has
 * no metadata: a sink that needs the first source's is opened with that source.
 */
fc_source *fc_joined_source(fc_source **sources, guint n, GError **error);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * overlap.h - which channels a transform takes in kernels of convolutions by transforms
 * (filters/conv1d/overlap.cuh), functions fc_transforms.
 */
#ifndef FC_CORE_COMPOSE_OVERLAP_H
#define FC_CORE_COMPOSE_OVERLAP_H

#include "core/compose/compose.h"
#include "core/compose/vectors.h"

/* Channels that one transform takes, 1 or 2; 0: it is no convolution by transforms. */
int fc_overlap_together(const fc_device_function *f);

/* Sets from where the window's channels are loaded, and to where they are stored: w->from and w->to. FALSE: a
 * function of pixels does more than exchange channels. */
gboolean fc_overlap_places(fc_vectors *w, const fc_composition *c);

#endif

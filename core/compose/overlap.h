/* SPDX-License-Identifier: MIT */
/*
 * overlap.h - how jobs share the transforms of a position in kernels of convolutions by transforms, functions
 * fc_transforms (filters/conv1d/overlap.cuh). A job makes all of them in turn, and what waits takes shared
 * memory; or each is a job of its own.
 */
#ifndef FC_CORE_COMPOSE_OVERLAP_H
#define FC_CORE_COMPOSE_OVERLAP_H

#include "core/compose/vectors.h"

/* Most shared memory of a block some of whose transforms wait: devices since 2020 have as much. */
enum { FC_OVERLAP_SHARED = 99 << 10 };

/* Whether it is a convolution by transforms; then how many channels one takes, 1 or 2, and its length in
 * complex values. */
gboolean fc_overlap_read(const fc_device_function *f, int *together, int *length);

/* Whether a mask's window lies around its output, where that is all that there is room for (ROOM of
 * overlap.cuh). */
gboolean fc_overlap_lies_around(const fc_vectors *w);

/* Makes different jobs of the transforms of a position, w->v channels each. FALSE: there is but one, or
 * functions of pixels. */
gboolean fc_overlap_take_apart(fc_vectors *w);

/* Shared memory of a block, and blocks per multiprocessor. */
gint64 fc_overlap_shared(const fc_vectors *w);
int fc_overlap_resident(const fc_vectors *w);

#endif

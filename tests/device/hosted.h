/* SPDX-License-Identifier: MIT */
/*
 * hosted.h - the real operators, with their CPU code in place of their CUDA code: for the
 * fake device, whose memory is the host's.
 */
#ifndef FC_TESTS_DEVICE_HOSTED_H
#define FC_TESTS_DEVICE_HOSTED_H

#include "core/context/chain.h"

/*
 * Gives every stage of the chain a CUDA version, but those of the operator `but` (may be NULL),
 * which have none. They say that they are so much work that a GPU always pays. Preparing takes device
 * memory and uploads to it. Free with g_ptr_array_unref once the chain has been freed.
 */
GPtrArray *host_stages(fc_chain *chain, const char *but);

/* What the CUDA versions say from now on of borders: that they need them made (so at first), that they make
 * them themselves, or that they do, and then not of any views. */
typedef enum hosted_border { HOSTED_GIVEN = 0, HOSTED_MADE = 1, HOSTED_REFUSED = 2 } hosted_border;
void host_borders(hosted_border border);
/* What they say in refusing. */
#define HOSTED_REFUSAL "not with views like these"

#endif

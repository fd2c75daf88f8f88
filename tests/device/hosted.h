/* SPDX-License-Identifier: MIT */
/*
 * hosted.h - the real operators, with their CPU code in place of their CUDA code: for the
 * fake device, whose memory is the host's.
 */
#ifndef FC_TESTS_DEVICE_HOSTED_H
#define FC_TESTS_DEVICE_HOSTED_H

#include "core/chain.h"

/*
 * Gives every stage of the chain a CUDA version, but those of the operator `but` (may be NULL),
 * which have none. They say that they are so much work that a GPU always pays. Preparing takes device
 * memory and uploads to it. Free with g_ptr_array_unref once the chain has been freed.
 */
GPtrArray *host_stages(fc_chain *chain, const char *but);

#endif

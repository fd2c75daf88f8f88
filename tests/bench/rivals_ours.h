/* SPDX-License-Identifier: MIT */
/*
 * rivals_ours.h - our side of the comparison on a GPU: chains as a user of the library has
 * them, and the filters' launchers by themselves. No GLib and no C++ library.
 *
 * Nothing here returns after a failure: a comparison that goes wrong has nothing to say.
 */
#ifndef FC_TESTS_BENCH_RIVALS_OURS_H
#define FC_TESTS_BENCH_RIVALS_OURS_H

#include "core/contract/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A chain of the stages of `text`, separated by blanks. */
typedef struct ours_chain ours_chain;
ours_chain *ours_chain_new(const char *text);
/* Enqueues on the stream, a cudaStream_t; views are of device memory. */
void ours_chain_run(ours_chain *chain, const fc_view *in, const fc_view *out, void *stream);
void ours_chain_free(ours_chain *chain);

#ifdef __cplusplus
}
#endif

#endif

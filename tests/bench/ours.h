/* SPDX-License-Identifier: MIT */
/*
 * ours.h - our side of a comparison: chains as a user of the library has them. No GLib and no C++ library.
 *
 * Nothing here returns after a failure: a comparison that goes wrong has nothing to say.
 */
#ifndef FC_TESTS_BENCH_OURS_H
#define FC_TESTS_BENCH_OURS_H

#include "core/contract/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A chain of the stages of `text`, separated by blanks. */
typedef struct ours_chain ours_chain;
ours_chain *ours_chain_new(const char *text);
/* A chain of one stage whose first argument is a table, as `stage` has it with "%s" in its place. `values`
 * are rows x columns numbers by rows, or by columns. */
ours_chain *ours_chain_of_table(const char *stage, const double *values, long rows, long columns,
                                int by_columns);
/* Enqueues on the stream, a cudaStream_t; views are of device memory. Kernels that are composed have been
 * compiled when the first call returns. */
void ours_chain_run(ours_chain *chain, const fc_view *in, const fc_view *out, void *stream);
/* On one CPU core; `out` NULL: for what is measured. */
void ours_chain_run_host(ours_chain *chain, const fc_view *in, const fc_view *out);
/* What the last run measured, in full. */
const char *ours_chain_measured(const ours_chain *chain, const char *name);
void ours_chain_free(ours_chain *chain);

#ifdef __cplusplus
}
#endif

#endif

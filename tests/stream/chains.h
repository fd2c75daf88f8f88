/* SPDX-License-Identifier: MIT */
/*
 * chains.h - chains made from what the operators themselves show: their examples, and these
 * with every border.
 */
#ifndef FC_TESTS_STREAM_CHAINS_H
#define FC_TESTS_STREAM_CHAINS_H

#include "core/contract/filterchain.h"
#include "check/random.h"

/* Stages that take this format, as strings; `gpu`: of operators with a CUDA version only. Free
 * with g_ptr_array_unref. */
GPtrArray *stages_for(fc_context *context, const fc_format *in, gboolean gpu);

/* 2 to 5 random stages which together take the format and make at most some dozens of values of one, as a
 * vector that ends with NULL; NULL when none was found in some attempts. g_strfreev. */
char **random_chain(fc_context *context, const GPtrArray *stages, const fc_format *in, dice *d);

/* Whether a chain takes the format, and what it makes of it; `stages` ends with NULL. */
gboolean chain_takes(fc_context *context, const char *const *stages, const fc_format *in, fc_format *out);

#endif

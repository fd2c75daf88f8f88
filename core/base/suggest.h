/* SPDX-License-Identifier: MIT */
/*
 * suggest.h - "did you mean": the known name nearest to a mistyped one.
 *
 * Nearness is the Damerau-Levenshtein distance (optimal string alignment:
 * insert, delete, replace, swap of neighbours, each 1), case ignored. O(n m).
 * fc_did_you_mean, the end of an error message, is public: see filterchain.h.
 */
#ifndef FC_CORE_SUGGEST_H
#define FC_CORE_SUGGEST_H

#include "core/contract/filterchain.h"

G_BEGIN_DECLS

/* Long texts are compared by their first 64 bytes. */
guint fc_edit_distance(const char *a, const char *b);

/* The nearest of `names` (ends with NULL), if its distance is at most a third of the length typed (at
 * least 1) or if `typed` is a prefix of it; else NULL. The first of equally near ones. Borrowed from
 * `names`. */
const char *fc_suggest(const char *typed, const char *const *names);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * rows.h - what the static library of conversions (rows.c) offers to the rest of filters/.
 */
#ifndef FC_FILTERS_ROWS_H
#define FC_FILTERS_ROWS_H

#include "core/contract/rows_table.h"
#include "filters/base/samples.h"

/* The best instruction set of this machine that was also built. */
fc_isa fc_rows_isa(void);

#endif

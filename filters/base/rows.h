/* SPDX-License-Identifier: MIT */
/*
 * rows.h - the functions of the static library of conversions (rows.c) that the rest of filters/ uses.
 */
#ifndef FC_FILTERS_ROWS_H
#define FC_FILTERS_ROWS_H

#include "core/contract/rows_table.h"
#include "filters/base/samples.h"

/* The best instruction set that both this machine and this build support. */
fc_isa fc_rows_isa(void);

#endif

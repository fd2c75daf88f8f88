/* SPDX-License-Identifier: MIT */
/*
 * rows_table.h - the loads and stores that the host gives to plugins (fc_host.rows). Not installed.
 *
 * They are those of filters/, in a static library that both the engine and libfilterchain-filters link: the
 * engine includes only this header of theirs.
 */
#ifndef FC_ROWS_TABLE_H
#define FC_ROWS_TABLE_H

#include "core/contract/rows.h"

/* The functions for this machine's best instruction set. Cheap; no state; static. */
const fc_rows *fc_rows_table(void);

#endif

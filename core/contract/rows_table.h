/* SPDX-License-Identifier: MIT */
/*
 * rows_table.h - the loads and stores that the host hands to plugins (fc_host.rows). Not installed.
 *
 * They are the algorithms' own, from filters/, in a static library that both the engine and
 * libfilterchain-filters hold: the engine includes nothing of filters/, only this.
 */
#ifndef FC_ROWS_TABLE_H
#define FC_ROWS_TABLE_H

#include "core/contract/rows.h"

/* Those for the best instruction set of this machine. Cheap; no state; lives as long as the process. */
const fc_rows *fc_rows_table(void);

#endif

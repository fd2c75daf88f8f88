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

/*
 * Notes of clipped values that also count. Whoever reads them gives FC_COUNTED_WORDS words, of which the
 * first two are fc_job's notes, and sets the second (FC_NOTE_CLIPPED) to FC_COUNTING; the stores then leave
 * it so and count in the others. A store of a plugin's own knows only of the notes and writes 1 there: then
 * nobody knows how many. Where the second is 0, as on a device, it is set to 1, and there need be no others.
 */
#define FC_COUNTING      2u
#define FC_COUNTED       2 /* how many values; 2^32 - 1 is as many or more */
#define FC_COUNTED_ABOVE 3 /* by how much the largest exceeds the range, in codes: the bits of a float */
#define FC_COUNTED_BELOW 4 /* and the smallest, as a magnitude */
#define FC_COUNTED_WORDS 5

/* Those for the best instruction set of this machine. Cheap; no state; lives as long as the process. */
const fc_rows *fc_rows_table(void);

#endif

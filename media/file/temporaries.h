/* SPDX-License-Identifier: MIT */
/*
 * temporaries.h - the names of the temporary files that would be left behind if the
 * process ended now. fc_output_remove_all (core/contract/filterchain.h) unlinks them.
 */
#ifndef FC_MEDIA_TEMPORARIES_H
#define FC_MEDIA_TEMPORARIES_H

typedef struct fc_temporary fc_temporary;

/* To be called before the file is created. `path` is absolute. NULL if it is too long. */
fc_temporary *fc_temporary_add(const char *path);
/* To be called after the file was removed or renamed; NULL is allowed. */
void fc_temporary_drop(fc_temporary *temporary);

#endif

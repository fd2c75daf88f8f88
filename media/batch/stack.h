/* SPDX-License-Identifier: MIT */
/*
 * stack.h - combines arrays of equal shape into one with a new first axis: a .npy, or a folder NAME.zarr in
 * Zarr version 2, uncompressed, in chunks of whole rows. Its description is written last, so that an
 * incomplete folder is not an array; existing arrays are not replaced.
 */
#ifndef FC_MEDIA_STACK_H
#define FC_MEDIA_STACK_H

#include "media/file/output.h"

G_BEGIN_DECLS

typedef struct fc_stack fc_stack;

/* Whether a path names such a folder. */
gboolean fc_stack_is_zarr(const char *path);
/* The description of an existing array of this kind; NULL: there is none, or it is a .npy. g_free. */
char *fc_stack_there(const char *path);
/* `flags` as for fc_output_open. */
fc_stack *fc_stack_new(const char *path, unsigned flags);
/* Without fc_stack_end everything is removed. NULL is allowed. */
void fc_stack_free(fc_stack *stack);

/* The next row, as the content of a .npy; NULL: there is none. A row with another shape or type than the
 * first is FC_UNSUPPORTED. */
gboolean fc_stack_add(fc_stack *stack, const char *path, GBytes *npy, GError **error);
gboolean fc_stack_end(fc_stack *stack, GError **error);

G_END_DECLS

#endif

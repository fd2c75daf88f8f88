/* SPDX-License-Identifier: MIT */
/*
 * arena.h - host memory that is made ready while something else goes on.
 *
 * The pages of a large allocation are made when they are first touched, or pinned, at some 3 GB a
 * second. A device's start-up takes long enough for a thread to have that done meanwhile, in
 * huge pages where the system lends them, which then pin in no time.
 */
#ifndef FC_CORE_ARENA_H
#define FC_CORE_ARENA_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct fc_arena fc_arena;

/* Begins to make ready so many bytes of zeros; NULL where that cannot be had. */
fc_arena *fc_arena_new(gsize bytes);
/* Waits until they are there: the memory, aligned to 2 MiB, and its size; NULL when there was not enough. */
void *fc_arena_wait(fc_arena *arena, gsize *bytes);
/* The next piece, aligned to 256 bytes; NULL when nothing is left. After waiting. */
void *fc_arena_take(fc_arena *arena, gsize bytes);
gboolean fc_arena_owns(const fc_arena *arena, const void *memory);
/* NULL is allowed. */
void fc_arena_free(fc_arena *arena);

G_END_DECLS

#endif

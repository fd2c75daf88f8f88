/* SPDX-License-Identifier: MIT */
/*
 * borrow.h - chunks of the caller's memory, filtered in place.
 *
 * The first stage reads the caller's memory and the last one writes there. A first stage that reads beyond
 * its input needs a border, for which there is no room: some operators make it themselves (FC_BACKEND_EDGES).
 * For others the output is cut into the inside, which needs none, and up to four margins, whose input is
 * copied to where there is room (plan/parts.h); small inputs are copied whole. The value of an output element
 * does not depend on how the output is cut. On a caller's stream the margins run in lanes beside the inside.
 */
#ifndef FC_CORE_BORROW_H
#define FC_CORE_BORROW_H

#include "core/plan/parts.h"
#include "core/run/workspace.h"

G_BEGIN_DECLS

/* Memory for one part's input with its border, kept from chunk to chunk. */
typedef struct fc_room {
  void *memory;
  gsize bytes;
  void *scratch; /* scratch for a device's margin, which runs concurrently with others */
  gsize scratch_bytes;
} fc_room;

typedef struct fc_borrow {
  const fc_view *in, *out; /* of the current call */
  fc_room rooms[FC_PARTS]; /* number 0: for a copy of everything */
} fc_borrow;

/* Runs - on a device: enqueues - all stages of the slot's chunk, and leaves the result in the caller's
 * memory. */
gboolean fc_borrow_run(fc_borrow *b, fc_workspace *w, fc_slot *slot, GError **error);

G_END_DECLS

#endif

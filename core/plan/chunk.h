/* SPDX-License-Identifier: MIT */
/*
 * chunk.h - cuts a run into chunks: the range of every link that each chunk needs.
 *
 * Normally a chunk is a range of the last link. A measuring stage must process its whole signal even if later
 * stages read only a part (a crop); so there are further chunks, before and after the others, that end at
 * such a stage.
 */
#ifndef FC_CORE_CHUNK_H
#define FC_CORE_CHUNK_H

#include "core/plan/plan.h"

G_BEGIN_DECLS

/* One link, or side, within one chunk. Ranges are positions in its signal. */
typedef struct fc_chunk_link {
  fc_range made[FC_AXES]; /* what the buffer has of the signal (link 0, sides: read) */
  fc_range held[FC_AXES]; /* what the buffer spans: made and border */
  gint64 fresh;   /* on the cut axis made begins here to be computed; what is before is kept from the chunk
                     before */
  fc_range first; /* on the cut axis, of made: what no chunk before has made */
  gint64 needed;  /* of link 0 and of sides what is looked at begins here; made keeps some before it */
  /* As the input of the stage that follows: */
  fc_range view[FC_AXES]; /* what its input view spans */
  fc_range virt[FC_AXES]; /* with halo; may extend beyond the signal */
} fc_chunk_link;

typedef struct fc_chunk {
  guint last;               /* the link it ends at: plan->n, or a measuring stage's output */
  fc_range deliver;         /* on the cut axis of that link: what is written */
  gint64 frame;             /* of a batch that goes by rows, the one it lies in */
  fc_range looked[FC_AXES]; /* of link 0, what is looked at; made is whole frames */
  gboolean interior;        /* no stage's output touches an end of the cut axis */
  fc_chunk_link *links;     /* plan->n + 1 */
  fc_chunk_link *sides;     /* plan->n_sides */
} fc_chunk;

typedef struct fc_chunker fc_chunker;

fc_chunker *fc_chunker_new(fc_plan *plan);
void fc_chunker_free(fc_chunker *chunker);
/* Continues with another plan for the same run, which knows where the signal ends. */
void fc_chunker_replan(fc_chunker *chunker, fc_plan *plan);

fc_chunk *fc_chunk_new(const fc_plan *plan);
void fc_chunk_free(fc_chunk *chunk);

/* The next chunk; FALSE at the end. Returns the same chunk until it is committed, so that it can be
 * planned again when the plan has learned where the signal ends. */
gboolean fc_chunker_next(fc_chunker *chunker, fc_chunk *chunk);
void fc_chunker_commit(fc_chunker *chunker, const fc_chunk *chunk);

/* The longest next chunk that reads only the first `have` elements of link 0, for a session; FALSE if that
 * makes no output yet. For plans without measuring chunks. */
gboolean fc_chunker_within(fc_chunker *chunker, fc_chunk *chunk, gint64 have);

/* What all chunks together look at of link 0; FALSE where that is not told ahead of the run. */
gboolean fc_plan_looks_at(fc_plan *plan, fc_range ranges[FC_AXES]);

/* A number that two chunks share when every stage does the same work for both but for
 * the position on the cut axis; 0 when a chunk is like no other. */
guint64 fc_chunk_key(const fc_plan *plan, const fc_chunk *chunk);

G_END_DECLS

#endif

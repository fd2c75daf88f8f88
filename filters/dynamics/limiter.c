/* SPDX-License-Identifier: MIT */
/* limiter.c - see limiter.h. */
#include "filters/dynamics/limiter.h"

#include <math.h>

#define ONE 0x1p40

/* Depths are 1 - gain, times ONE. The arrays after it have ahead + 1 entries each. */
typedef struct state {
  int64_t now;         /* number of levels so far */
  int64_t first, last; /* the queue holds entries first ... last - 1, modulo its size */
  int64_t depth;       /* of e */
  int64_t sum;         /* of the depths in the ring buffer */
} state;

typedef struct entry {
  int64_t at, depth;
} entry;

static int64_t needed(double level, double ceiling) {
  return level > ceiling ? (int64_t)ceil((1 - ceiling / level) * ONE) : 0;
}

/* The deepest of the last `size` levels: the depth of the queue's entries decreases from first to last. */
static int64_t deepest(state *s, entry *queue, int64_t size, int64_t depth) {
  while (s->last > s->first && queue[(s->last - 1) % size].depth <= depth) s->last--;
  queue[s->last++ % size] = (entry){s->now, depth};
  if (queue[s->first % size].at <= s->now - size) s->first++;
  return queue[s->first % size].depth;
}

static void gains(const void *p, void *memory, const double *level, double *gain, int64_t count) {
  const fc_limiter *l = p;
  const int64_t size = l->ahead + 1;
  state *s = memory;
  entry *queue = (entry *)(void *)(s + 1);
  int64_t *ring = (int64_t *)(void *)(queue + size);
  for (int64_t i = 0; i < count; i++) {
    const int64_t need = deepest(s, queue, size, needed(level[i], l->ceiling));
    const int64_t released = (int64_t)((double)s->depth * (1 - l->release));
    int64_t *oldest = &ring[s->now++ % size];
    s->depth = need > released ? need : released;
    s->sum += s->depth - *oldest;
    *oldest = s->depth;
    if (gain) gain[i] = 1 - (double)s->sum / ((double)size * ONE);
  }
}

fc_dynamics fc_limiter_dynamics(const fc_limiter *l) {
  const size_t size = (size_t)l->ahead + 1;
  return (fc_dynamics){.gains = gains,
                       .p = l,
                       .state_bytes = sizeof(state) + size * (sizeof(entry) + sizeof(int64_t)),
                       .ahead = l->ahead,
                       .linked = 1,
                       .most = l->ceiling};
}

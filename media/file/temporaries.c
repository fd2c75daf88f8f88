/* SPDX-License-Identifier: MIT */
/*
 * temporaries.c - a list that a signal handler may read at any moment.
 *
 * Nodes are taken and released by atomic states and are never freed, so the handler sees no partly linked
 * node and no freed memory; their number is the maximum of outputs open at a time. This is the only state in
 * media/ that is global to the process, as signals are.
 */
#include "media/file/temporaries.h"

#include "core/contract/filterchain.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { FREE, TAKEN, LIVE };

struct fc_temporary {
  fc_temporary *next; /* constant once linked */
  atomic_int state;
  char path[PATH_MAX];
};

static _Atomic(fc_temporary *) first;

static fc_temporary *take_free(void) {
  for (fc_temporary *node = atomic_load(&first); node; node = node->next) {
    int expected = FREE;
    if (atomic_compare_exchange_strong(&node->state, &expected, TAKEN)) return node;
  }
  return NULL;
}

static fc_temporary *link_new(void) {
  fc_temporary *node = g_new0(fc_temporary, 1);
  atomic_init(&node->state, TAKEN);
  node->next = atomic_load(&first);
  while (!atomic_compare_exchange_weak(&first, &node->next, node)) continue;
  return node;
}

fc_temporary *fc_temporary_add(const char *path) {
  if (strlen(path) >= PATH_MAX) return NULL;
  fc_temporary *node = take_free();
  if (!node) node = link_new();
  strcpy(node->path, path);
  atomic_store(&node->state, LIVE);
  return node;
}

void fc_temporary_drop(fc_temporary *temporary) {
  if (temporary) atomic_store(&temporary->state, FREE);
}

void fc_output_remove_all(void) {
  for (fc_temporary *node = atomic_load(&first); node; node = node->next)
    if (atomic_load(&node->state) == LIVE) unlink(node->path);
}

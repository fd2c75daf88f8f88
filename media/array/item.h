/* SPDX-License-Identifier: MIT */
/*
 * item.h - an element as stored in a file, and the element type that represents it exactly.
 */
#ifndef FC_MEDIA_ITEM_H
#define FC_MEDIA_ITEM_H

#include <glib.h>

#include "core/contract/view.h"

G_BEGIN_DECLS

typedef struct fc_item {
  char kind; /* 'u', 'i', 'f'; 'b' a byte that is true or false; of sound, delivered left-justified: 'p'
                signed, 'o' with an offset of half the range; 'm' u-law, 'a' A-law */
  int size;  /* bytes */
  int dtype; /* the element type that it is delivered as */
  int bits;  /* that carry information */
} fc_item;

/* The item of a kind and size, or NULL. */
const fc_item *fc_item_find(char kind, int size);

/* Is it one of our element types without conversion? */
gboolean fc_item_is_plain(const fc_item *item);

/* Reverses the bytes of each of `count` items. */
void fc_items_swap(void *items, gsize count, int size);

/* `count` items in this machine's order, dense, to elements of item->dtype. Returns the
 * index of the first one that cannot be held exactly, or -1. */
gssize fc_items_convert(const fc_item *item, const void *from, gsize count, void *to);

/* A sample as u-law or as A-law. */
guint8 fc_ulaw_of(gint16 sample);
guint8 fc_alaw_of(gint16 sample);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * edges.h - borders: the values beyond the ends of a signal. Part of the contract with plugins (plugin.h); no
 * dependencies, like view.h.
 */
#ifndef FC_EDGES_H
#define FC_EDGES_H

#include <stdint.h>

typedef enum fc_border {
  FC_BORDER_ZERO = 0,       /* 0 0 0 | a b c d | 0 0 0: silence, black */
  FC_BORDER_CONSTANT = 1,   /* v v v | a b c d | v v v */
  FC_BORDER_REPLICATE = 2,  /* a a a | a b c d | d d d */
  FC_BORDER_REFLECT = 3,    /* c b a | a b c d | d c b */
  FC_BORDER_REFLECT101 = 4, /* d c b | a b c d | c b a */
  FC_BORDER_WRAP = 5,       /* b c d | a b c d | a b c */
  FC_BORDER_NONE = 6, /* the operator handles the ends itself, by origin and extent; contents undefined */
  FC_BORDER_UNSET = 7 /* not chosen yet: the host's initial value before negotiate */
} fc_border;

/*
 * For an algorithm that makes the border itself: its input view is the whole signal, memory beyond that must
 * not be read, and this describes the border to assume there.
 */
typedef struct fc_edges {
  uint32_t size;
  int32_t border; /* fc_border; with FC_BORDER_NONE nothing beyond the ends may be used */
  uint64_t code;  /* for FC_BORDER_ZERO and _CONSTANT: the stored element, in the lowest bytes */
} fc_edges;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * vectors.h - how the kernels with windows are laid out over threads (filters/gpu/window.cuh): a thread has a
 * vector of adjacent elements, a block a row of them.
 */
#ifndef FC_CORE_VECTORS_H
#define FC_CORE_VECTORS_H

#include <glib.h>

#include "core/contract/device_function.h"
#include "core/contract/view.h"

G_BEGIN_DECLS

/* Parameters of a skeleton; see march.cuh for their meaning. */
typedef struct fc_vectors {
  const fc_device_function *f;
  gboolean row;                          /* along lines of sound: row.cuh is used */
  gboolean slide;                        /* statistics: slide.cuh is used */
  const fc_function_transforms *overlap; /* transforms: overlap.cuh is used; else NULL */
  int together, transform;               /* channels that each takes, and its length in complex values */
  gboolean around;                       /* any function of neighbours: around.cuh is used */
  gboolean column;                       /* a window of one column and many rows: column.cuh is used */
  gboolean pixels;                       /* some function works on pixels */
  gboolean plain;                        /* nothing is done to samples ahead of the window */
  /* samples per pixel before, in and after the window; distance of taps in elements */
  gint64 ui, um, uo, step;
  int in_dtype, out_dtype;
  gint64 nx, ny;           /* of the window, as the skeleton sees it */
  gint64 few;              /* rows of an image of few: few.cuh is used; else 0 */
  gboolean turned, apart;  /* ... whose row is a column, of pixels that are apart */
  gint64 begins[2];        /* of march.cuh: rows of inputs, of outputs, begin at multiples of so many bytes */
  gboolean loose[2];       /* ... so that vectors begin anywhere */
  gint64 v, batch, unroll; /* elements per thread, rows at a time, and how many of these are unrolled */
  gint64 threads, width;   /* threads per block, at most for march.cuh; output elements per block */
  gboolean copies;         /* of march.cuh: samples go into shared memory as they are, not by registers */
  gboolean longer;         /* of march.cuh: v is twice what fc_vectors_choose chose */
  gboolean lends; /* of march.cuh: all threads have outputs; what lies beside these is loaded by some */
  gint64 cell; /* of march.cuh: threads of some rows of a narrow image, of which blocks have several; or 0 */
  gboolean sorted; /* of row.cuh: channels lie apart in shared memory */
} fc_vectors;

/* A power of two, to 16: rows of a view that begins at `data` begin at multiples of so many bytes. */
gint64 fc_vectors_begins_of(const void *data, const fc_view *v);

/* Whether it is a statistic of columns and rows, fc_box (filters/gpu/box.cuh). */
gboolean fc_vectors_is_box(const fc_device_function *f);
/* Whether numbers of each row are summed: a separable mask, or fc_box_sums. */
gboolean fc_vectors_sums_rows(const fc_device_function *f);

/* Sums and products of an output, or what takes as long. */
gint64 fc_vectors_taps(const fc_vectors *w);

/* Whether memory is the bottleneck of a kernel of so many stages: an estimate. */
gboolean fc_vectors_is_bound_by_memory(const fc_vectors *w, guint stages);

/* Chooses v and what follows from it, given all above `loose`, and sets that. FALSE: registers or shared
 * memory do not suffice. */
gboolean fc_vectors_choose(fc_vectors *w);

/* Chooses the threads of a block of march.cuh for rows of `width` elements, as few as possible in total,
 * whether threads at its ends have outputs, and whether threads have twice as many elements. */
void fc_vectors_fit(fc_vectors *w, gint64 width);

/* Sets the threads of a block of march.cuh, whether those at its ends have outputs, and what follows of how
 * samples are loaded. */
void fc_vectors_cut(fc_vectors *w, gint64 threads, gboolean lends);

/* Gives threads twice as many elements as fc_vectors_choose did. FALSE: that is not possible, and *w is not
 * to be used any more. */
gboolean fc_vectors_lengthen(fc_vectors *w);

/* The same for narrow images, side by side in a block: the smallest of FC_VECTORS_CELLS sizes whose cells
 * contain rows of `width` elements; -1: there is none. And all of a size, without a width. begins[0] becomes
 * 1 where samples are loaded one by one. */
#define FC_VECTORS_CELLS 5
int fc_vectors_fit_cell(fc_vectors *w, gint64 width);
gboolean fc_vectors_set_cell(fc_vectors *w, int size);

/* The same of column.cuh, of whose vectors only one length is possible. */
gboolean fc_vectors_set_column(fc_vectors *w);

/* Threads of a block at most. */
gint64 fc_vectors_threads(const fc_vectors *w);

/* By how many bytes vectors of the inputs (0), or of the outputs (1), are moved: 16, or all where that is
 * less; 8; or 1, from anywhere. */
gint64 fc_vectors_moved(const fc_vectors *w, int side);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * choice.h - which kernel of conv1d takes a signal on a GPU: a table of plain C over a case, which is what
 * matters of the views and the mask. Nothing here touches a device, so tests/filters/test_choice.c checks the
 * table without one. Internal to filters/.
 */
#ifndef FC_FILTERS_CONV1D_CHOICE_H
#define FC_FILTERS_CONV1D_CHOICE_H

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

FC_BEGIN_DECLS

/* Limits of kernels. */
#define FC_CONV1D_ROWS_MOST   640 /* rows.cu: samples of a row, of which it has several in shared memory */
#define FC_CONV1D_BYTES_TAPS  40  /* bytes.cu; longer masks are composed */
#define FC_CONV1D_BYTES_SUM   32000.f /* bytes.cu: a sum's magnitude is below it */
#define FC_CONV1D_BYTES_A_TAP 64      /* elements of a row for each tap, below which its ends take too long */

/* In the order in which they are asked; the first that takes the case is launched. A launcher that finds no
 * room, or sizes beyond 32 bits (bytes.cu also rows of fewer than two of its tiles), returns FC_UNSUPPORTED,
 * then the next one is asked. */
typedef enum fc_kernel1d {
  FC_KERNEL1D_QUADS,   /* quads.cu: long rows of f32 */
  FC_KERNEL1D_SINGLE,  /* single.cu: an axis of one sample */
  FC_KERNEL1D_ROWS,    /* rows.cu: several short rows a block */
  FC_KERNEL1D_BYTES,   /* bytes.cu: rows of u8 */
  FC_KERNEL1D_VECTORS, /* vectors.cu: rows of three or four channels of f32 */
  FC_KERNEL1D_COLUMNS, /* columns.cu */
  FC_KERNEL1D_ANY,     /* conv1d_lines, conv1d_columns: anything */
  FC_KERNEL1D_HOST     /* none that makes the border: the host does, then the case without edges */
} fc_kernel1d;

typedef struct fc_case1d {
  int32_t compute, in_dtype, out_dtype;
  int32_t along_x, edges;  /* edges: the border is to be made, of a whole signal */
  int32_t samples, pixels; /* samples of a channel are adjacent in rows; so are those of all channels */
  int32_t low;             /* low bits that addresses of rows have in common; 0 means multiples of 16 */
  int32_t bytes;           /* u8 to u8, codes are values, and the mask's numbers suit bytes.cu */
  int64_t taps, masks;
  int64_t length; /* outputs along the axis; 1 only if there is one sample of input too */
  int64_t channels;
} fc_case1d;

/* `edges` NULL: the host has made the border. */
FC_FILTERS_API fc_case1d fc_conv1d_case(const fc_conv1d *c, const fc_view *in, const fc_edges *edges,
                                        const fc_view *out);

/* The first kernel from `from` on that takes the case. */
FC_FILTERS_API fc_kernel1d fc_case1d_choose(const fc_case1d *c, fc_kernel1d from);

/* Whether these kernels are as fast as one composed for the mask (core/compose), for a signal of this extent
 * and a mask of one run: figures in choice.c. */
typedef struct fc_signal1d {
  int32_t kind, in_dtype, out_dtype, axis;
  int64_t taps, extent[FC_AXES];
} fc_signal1d;
FC_FILTERS_API int fc_conv1d_is_quick(const fc_signal1d *s);

FC_END_DECLS

#endif

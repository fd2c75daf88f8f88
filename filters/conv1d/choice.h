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

/* In the order in which they are asked; the first that takes the case is launched. A launcher that finds
 * sizes beyond 32 bits returns FC_UNSUPPORTED, then the next one is asked. */
typedef enum fc_kernel1d {
  FC_KERNEL1D_QUADS,   /* quads.cu: long rows of f32 */
  FC_KERNEL1D_COLUMNS, /* columns.cu */
  FC_KERNEL1D_ANY,     /* conv1d_lines, conv1d_columns: anything */
  FC_KERNEL1D_HOST     /* none that makes the border: the host does, then the case without edges */
} fc_kernel1d;

typedef struct fc_case1d {
  int32_t compute, in_dtype, out_dtype;
  int32_t along_x, edges;  /* edges: the border is to be made, of a whole signal */
  int32_t samples, pixels; /* samples of a channel are adjacent in rows; so are those of all channels */
  int32_t low;             /* low bits that addresses of rows have in common; 0 means multiples of 16 */
  int64_t taps, masks;
  int64_t length; /* outputs along the axis */
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

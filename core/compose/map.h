/* SPDX-License-Identifier: MIT */
/*
 * map.h - functions of single samples or pixels (filters/gpu/map.cuh): which of its kernels, its launch and
 * its text. Any thread; nothing is kept; no device is needed.
 */
#ifndef FC_CORE_MAP_H
#define FC_CORE_MAP_H

#include "core/compose/compose.h"

G_BEGIN_DECLS

#define FC_MAP_VARIANTS 6

/* The kernel's struct is named so after fc_map_. */
const char *fc_map_skeleton(guint variant);

/* The arguments, without notes, the variant and the grid. FALSE: positions are more than 32 bits number. */
gboolean fc_map_launch(const fc_composition *c, const fc_view *in, const fc_view *out, guint processors,
                       fc_map_args *args, fc_composed *to);

/* The functions as a chain, and the kernel. */
void fc_map_append(GString *text, const fc_composition *c, const fc_view *in, const fc_view *out,
                   guint variant);

G_END_DECLS

#endif

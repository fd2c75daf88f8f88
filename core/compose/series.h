/* SPDX-License-Identifier: MIT */
/*
 * series.h - which windows may run one behind the other in one kernel (filters/gpu/series.cuh), how that is
 * laid out over threads, and whether it is faster than a kernel for each: an estimate, in cycles of a
 * multiprocessor, of what limits either.
 *
 * Any thread; nothing is kept; no device is needed.
 */
#ifndef FC_CORE_SERIES_H
#define FC_CORE_SERIES_H

#include <glib.h>

#include "core/compose/compose.h"

G_BEGIN_DECLS

typedef struct fc_series {
  guint n, at[FC_SERIES_WINDOWS]; /* the windows: how many, and which stages */
  gboolean line;                  /* along lines of sound */
  gboolean pixels;                /* some function works on pixels */
  /* samples per pixel before, in and after the windows; distance of taps in elements */
  gint64 ui, um, uo, step;
  gint64 v, batch, threads; /* elements per thread, rows at a time, threads per block */
  gint64 left, right;       /* elements of a band without outputs, in whole vectors */
  gint64 width;             /* outputs of a band */
  gint64 above;             /* rows, beside its outputs', that a block makes sums of */
  gint64 shared;            /* bytes */
} fc_series;

/* The layout for rows of `width` pixels (0: any, as long ones). FALSE: there is no such kernel. */
gboolean fc_series_describe(fc_series *k, const fc_composition *c, int in_dtype, gint64 channels,
                            gboolean planar, gint64 width);

/* Of what it has described, vectors of another length (one of those below) and another number of threads. */
gboolean fc_series_set(fc_series *k, const fc_composition *c, gint64 v, gint64 threads);
#define FC_SERIES_LENGTHS 4
extern const gint64 fc_series_lengths[FC_SERIES_LENGTHS];

/* Whether the composition runs faster as it is than with its last window, and what is behind it, in a kernel
 * of its own, on signals of this extent; sets both times, in nanoseconds for a million samples, which may be
 * NULL. A length that is not known, negative, counts as long. */
gboolean fc_series_pays(const fc_composition *c, int in_dtype, const gint64 extent[FC_AXES], double *joined,
                        double *apart);

/* The arguments, without notes, and grid and threads of a launch; `resident` as in compose.h. FALSE: `in`
 * does not have what is read, or the frame is too small for the mirrors of its borders. */
gboolean fc_series_launch(const fc_series *k, const fc_composition *c, const fc_view *in, const fc_view *out,
                          gboolean planar, guint processors, guint resident, fc_series_args *args,
                          fc_composed *to);

/* The kernel's text behind that of the stages. `names`: of the structs with the functions ahead of and behind
 * each window, where there are any; `types` and `aligned`: arguments of the skeleton. */
void fc_series_append(GString *text, const fc_series *k, const fc_composition *c, const char *const *names,
                      const char *types, const char *aligned);

G_END_DECLS

#endif

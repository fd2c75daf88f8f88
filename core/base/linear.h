/* SPDX-License-Identifier: MIT */
/*
 * linear.h - what linear stages do as numbers (fc_linear_map of plugin.h): multiplied out, and computed near
 * the ends of a signal.
 *
 * Two windows one after another are one, their numbers convolved in double precision, where the second reads
 * only what the first has made of the signal. Within `before` and `after` of the ends it reads its own border
 * instead. These outputs, the *edges* of the joined stage, are made stage by stage from the numbers:
 *
 *     signal   0 |--------------------------------| n
 *     outputs    |edge|   one window inside  |edge|
 */
#ifndef FC_CORE_LINEAR_H
#define FC_CORE_LINEAR_H

#include "core/base/demand.h"
#include "core/base/linear_sum.h"

G_BEGIN_DECLS

/* One of the joined stages; of a separable window what it does along X, and then along Y. */
typedef struct fc_linear_step {
  fc_linear_map map; /* owns its numbers */
  int border;
  double border_value;
  gboolean continues; /* it belongs to the stage of the step before */
} fc_linear_step;

/* Stages that are joined. */
typedef struct fc_linear_steps {
  guint n;
  fc_linear_step *step;
  gint64 channels;                      /* of the input */
  gint64 first[FC_AXES], last[FC_AXES]; /* so many outputs at the beginning and the end are edges */
} fc_linear_steps;

static inline gboolean fc_linear_is_window(const fc_linear_map *m) {
  return m->form != FC_LINEAR_PIXELS;
}
/* How many numbers a map has. */
gint64 fc_linear_count(const fc_linear_map *m);
/* More than is multiplied out. */
gboolean fc_linear_is_large(const fc_linear_map *m);
/* Whether its members are within what they may be, that is not large, and all numbers finite. */
gboolean fc_linear_is_valid(const fc_linear_map *m, gint64 channels_in, gint64 channels_out);
void fc_linear_map_clear(fc_linear_map *m);
/* FALSE: there is no memory for its numbers. */
gboolean fc_linear_map_copy(fc_linear_map *to, const fc_linear_map *from);
/* "301 taps", "5 x 5 taps", "3 x 3", "2 factors"; g_free. */
char *fc_linear_size(const fc_linear_map *m);
/* The map of `second` after `first`, for signals without ends. NULL, or why there is none (a static text).
 * Its products, no more than `budget`, are taken off it. */
const char *fc_linear_compose(const fc_linear_map *first, const fc_linear_map *second, fc_linear_map *both,
                              double *budget);

fc_linear_steps *fc_linear_steps_new(gint64 channels);
/* Adds a stage, with a copy of its map. FALSE: there is no memory for it. */
gboolean fc_linear_steps_add(fc_linear_steps *steps, const fc_linear_map *map, int border,
                             double border_value);
/* Completes `first` and `last` when all are there. NULL, or why they cannot be joined near the ends. */
const char *fc_linear_find_edges(fc_linear_steps *steps);
void fc_linear_steps_free(fc_linear_steps *steps); /* NULL is allowed */
/* Multiplications for the edges of an output of this extent, which is known. */
double fc_linear_edge_work(const fc_linear_steps *steps, const gint64 extent[FC_AXES]);

/* What the edges are computed with. */
typedef struct fc_linear_device {
  /* copies between views of equal shape, with conversion of the element type */
  gboolean (*copy)(void *data, const fc_view *to, const fc_view *from, guint32 *notes, GError **error);
  gboolean (*sum)(void *data, const fc_linear_sum *sum, GError **error);
  void *data;
  gint32 where; /* the device of views */
  const double
      *numbers; /* of all steps, one after another, where `sum` reads them; NULL: those of the maps */
} fc_linear_device;

gboolean fc_linear_has_edges(const fc_linear_steps *steps);
/* What of these outputs along an axis is not edge. */
fc_range fc_linear_inside(const fc_linear_steps *steps, const fc_view *out, int axis);
/* Bytes that making the edges of an output of this shape takes at most. */
gsize fc_linear_scratch(const fc_linear_steps *steps, const gint64 shape[FC_AXES]);
/* All numbers, as fc_linear_device has them; `to` NULL: how many there are. */
gsize fc_linear_numbers(const fc_linear_steps *steps, double *to);
/* Makes those outputs of `out` that are edges. `in` is what the joined stage was given; of the signal it can
 * be read as far as the joined window reaches, its border is not looked at. */
gboolean fc_linear_make_edges(const fc_linear_steps *steps, const fc_linear_device *device, const fc_view *in,
                              const fc_view *out, void *scratch, guint32 *notes, GError **error);
/* The sums of a box, on the CPU. */
void fc_linear_sum_on_cpu(const fc_linear_sum *sum);

G_END_DECLS

#endif

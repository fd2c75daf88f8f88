/* SPDX-License-Identifier: MIT */
/*
 * stage.h - stages of a chain made up from an operator's descriptor alone: as text, so
 * that what fails can be typed again.
 */
#ifndef FC_CHECK_STAGE_H
#define FC_CHECK_STAGE_H

#include <glib.h>

#include "core/registry/params.h"
#include "check/random.h"

/* What every operator must be tried with at least once: an example of its own, or one
 * parameter at one value (an enum's choice, yes and no, the ends of a range). */
typedef struct wish {
  char *text;  /* an example, as it stands; or NULL */
  int param;   /* else which parameter; -1: none, everything is random */
  char *value; /* and its value */
} wish;

GPtrArray *wishes_of(const fc_operator *op); /* of wish *, freed with the array */

/* A random stage with that wish in it; `shape` are sizes that tables may have to do with
 * (channels, rows, columns). g_free. */
char *stage_random(const fc_operator *op, const wish *w, const gint64 shape[FC_AXES], dice *d);

/* A table for a parameter of that type; fc_table_free. */
fc_table *stage_table(const fc_param *p, dice *d);

/* The arguments of a stage; a table that names a file is made up. */
fc_args *stage_args(const fc_operator *op, const char *text, dice *d, GError **error);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * stage.h - generates stages from an operator's descriptor alone: as text, so that a failure can be repeated
 * by typing it.
 */
#ifndef FC_CHECK_STAGE_H
#define FC_CHECK_STAGE_H

#include <glib.h>

#include "core/registry/params.h"
#include "check/random.h"

/* What every operator must be tried with at least once: one of its examples, or one parameter at one value
 * (an enum's choice, yes and no, the ends of a range). */
typedef struct wish {
  char *text;  /* an example, unchanged; or NULL */
  int param;   /* otherwise the parameter; -1: none, everything is random */
  char *value; /* and its value */
} wish;

GPtrArray *wishes_of(const fc_operator *op); /* of wish *, freed with the array */

/* A random stage that fulfils the wish; `shape` has sizes that tables may depend on (channels, rows,
 * columns). g_free. */
char *stage_random(const fc_operator *op, const wish *w, const gint64 shape[FC_AXES], dice *d);

/* A table for a parameter of that type; fc_table_free. */
fc_table *stage_table(const fc_param *p, dice *d);

/* The arguments of a stage; for a table that names a file one is generated. */
fc_args *stage_args(const fc_operator *op, const char *text, dice *d, GError **error);

#endif

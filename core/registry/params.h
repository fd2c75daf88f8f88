/* SPDX-License-Identifier: MIT */
/*
 * params.h - from the text of a stage to the typed arguments of its operator.
 *
 * Checks everything that can be checked without knowing the operator: names, types, choices, ranges, counts,
 * repeated keys. Numbers may have units: times where samples are counted, kHz where the unit is Hz (units.h).
 * Combinations of arguments are checked by the operator's create. Presets go through the same parser.
 */
#ifndef FC_CORE_PARAMS_H
#define FC_CORE_PARAMS_H

#include "core/base/error.h"
#include "core/registry/syntax.h"

G_BEGIN_DECLS

/* Reads a table from a file; the caller frees it with fc_table_free. `mask`: rows of
 * different length are joined (FC_PARAM_MASK). Messages name the file. */
typedef fc_table *(*fc_table_loader)(const char *path, gboolean mask, void *data, GError **error);

typedef struct fc_args {
  guint n;                   /* op->n_params */
  const fc_arg *const *argv; /* parallel to op->params; owned by this struct */
  /* Arguments of type FC_INPUT that were given, in the order of op->params: inputs[k]->input is k + 1, since
   * input 0 is the chain's own signal; inputs[k]->text names its file. */
  guint n_inputs;
  const fc_arg *const *inputs;
  /* Some are times that have not been converted to samples: operators are given the result of
   * fc_args_at_rate, never these. */
  gboolean timed;
  const char *const *warnings; /* lines for the log, ends with NULL: what was given and is hardly meant */
} fc_args;

/*
 * The arguments of `op` as written in `stage`, or NULL with one line such as
 *   conv1d: unknown parameter "flp": did you mean "flip"?
 *   conv1d: window: 0 is out of range: expected 1 to 1000000 samples
 * `load` reads table files; with NULL, a table that names a file is an error. `op` must be full-sized (as
 * from the registry); the arguments borrow nothing from it.
 */
fc_args *fc_args_resolve(const fc_operator *op, const fc_stage_text *stage, fc_table_loader load,
                         void *load_data, GError **error);
/* The same from values by name (filterchain.h): text goes through the same parser, tables are copied,
 * views become inputs. */
fc_args *fc_args_of_values(const fc_operator *op, const fc_value *const *values, fc_table_loader load,
                           void *load_data, GError **error);
/*
 * The arguments with times converted to samples: seconds times `rate`, rounded to the nearest. NULL if one is
 * then out of range, or if the rate is not known (0). Arguments without times are returned unchanged, with
 * one more reference.
 */
fc_args *fc_args_at_rate(const fc_operator *op, fc_args *args, double rate, GError **error);
fc_args *fc_args_ref(fc_args *args);
void fc_args_free(fc_args *args); /* gives a reference back; NULL is allowed */

/* Paths of the files that the arguments name - tables, inputs and files that operators read; the strings
 * belong to the arguments. */
void fc_args_add_files(const fc_args *args, GPtrArray *paths);

/* Whether the preset of this parameter is valid (files are not opened). For the registry. */
gboolean fc_param_check_preset(const fc_param *param, GError **error);

/* "int", "float", "choice", "table" ..., with "list of" before it for a list. Static. */
const char *fc_param_type_name(const fc_param *param);
/* The accepted values, for a person: "1 to 1000000 samples", "zero, replicate or wrap", "yes or no";
 * g_free. */
char *fc_param_expected(const fc_param *param);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_args, fc_args_free)

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* describe.h - a descriptor in words: what list, inspect and the report share. */
#ifndef FC_CLI_DESCRIBE_H
#define FC_CLI_DESCRIBE_H

#include "cli/json.h"
#include "core/contract/filterchain.h"

const char *kind_name(int kind);
const char *type_name(int type);

/* "audio, image"; "u8, f32"; "cpu, cuda": g_free. */
char *kinds_text(guint32 kinds);
char *dtypes_text(guint32 dtypes);
char *backends_text(const fc_operator *op);

/* The same as arrays of strings. */
void json_kinds(json *j, const char *key, guint32 kinds);
void json_dtypes(json *j, const char *key, guint32 dtypes);
void json_backends(json *j, const char *key, const fc_operator *op);

/* The choices of an enum that may be chosen, by i = 0, 1, ...; NULL at the end. `refused`
 * asks for those that exist only to be refused. */
const fc_choice *choice_at(const fc_param *param, guint i, gboolean refused);

/* Whether the operator measures, so that it is of use without an output. */
gboolean operator_measures(const fc_operator *op);

#endif

/* SPDX-License-Identifier: MIT */
/* describe.h - describes a descriptor in words, for list, inspect and reports. */
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

/* The accepted choices of an enum, by i = 0, 1, ...; NULL at the end. `refused` selects the choices that
 * are recognised only to be refused. */
const fc_choice *choice_at(const fc_param *param, guint i, gboolean refused);

/* Whether the operator measures, so that it can be used without an output. */
gboolean operator_measures(const fc_operator *op);

/* One paragraph, filled to the width of a terminal with an indent; the first line already has `column`
 * characters. */
void print_filled(const char *text, int indent, int column);

/* An item of a list, "  -v, --verbose     print what is done", in as many lines as it needs. */
void print_term(const char *term, const char *text);

#endif

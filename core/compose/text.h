/* SPDX-License-Identifier: MIT */
/*
 * text.h - parts of the text of a composed kernel that all skeletons have: the stages' functions, and structs
 * that hold some of them.
 *
 * Any thread; nothing is kept. `in_dtype` is the type of the first stage's input.
 */
#ifndef FC_CORE_COMPOSE_TEXT_H
#define FC_CORE_COMPOSE_TEXT_H

#include "core/compose/compose.h"

G_BEGIN_DECLS

/* Of C++: false and true, and the types of samples by fc_dtype. */
extern const char *const fc_text_truth[2], *const fc_text_types[FC_DTYPE_COUNT];

/* A kind as the text has it: it matters for integers of sound alone, so that all other signals share their
 * kernels. */
int fc_text_kind(int kind, int dtype);

/* Whether some function is told where a pixel lies (FC_FUNCTION_POSITION). */
gboolean fc_text_is_placed(const fc_composition *c);

/* The text of stage i in a namespace of its own, with #line so that compiler messages name the operator and
 * count from the text's first line. */
void fc_text_function(GString *text, guint i, const fc_composition *c, int in_dtype);

/* A struct that holds functions `from` to `to`, and applies them to the samples of N / channels pixels.
 * Functions of more channels exchange them, which is left to the kernel's loads and stores (overlap.h). */
void fc_text_chain(GString *text, const char *name, const fc_composition *c, guint from, guint to,
                   gint64 channels, int in_dtype);

G_END_DECLS

#endif

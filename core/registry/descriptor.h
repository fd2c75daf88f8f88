/* SPDX-License-Identifier: MIT */
/*
 * descriptor.h - what a plugin says of itself, made safe to read.
 *
 * A plugin may have been built against an older contract with shorter structs, or
 * a newer one with longer ones. The copy made here has every struct at this
 * host's full size, with zero for what the author did not know; texts that may be
 * missing are empty, `examples` and `params` are never NULL, kinds and dtypes
 * hold only bits known here, and PASSTHROUGH brings KEEPS_DTYPE. So nobody else looks at
 * a size. Texts and functions still are the module's, which stays resident.
 */
#ifndef FC_CORE_DESCRIPTOR_H
#define FC_CORE_DESCRIPTOR_H

#include "core/base/error.h"

G_BEGIN_DECLS

/* Copies and checks; NULL with the end of a sentence about the file:
 * `operator "x": parameter "y" is there twice`. */
fc_plugin *fc_descriptor_copy(const fc_plugin *plugin, GError **error);
void fc_descriptor_free(fc_plugin *copy); /* NULL is allowed */

/* [a-z][a-z0-9_]*, at most 63 characters. NULL is no name. */
gboolean fc_is_name(const char *text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_plugin, fc_descriptor_free)

G_END_DECLS

#endif

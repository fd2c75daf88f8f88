/* SPDX-License-Identifier: MIT */
/*
 * descriptor.h - a checked copy of a plugin's description.
 *
 * A plugin may have been built against an older contract with shorter structs, or a newer one with longer
 * ones. The copy made here has every struct at this host's full size, with zero for fields that the author
 * did not know; optional texts are empty, `examples` and `params` are never NULL, kinds and dtypes have only
 * bits known here, `backends` are those for known kinds of device, and PASSTHROUGH implies KEEPS_DTYPE and
 * KEEPS_MEANING. The same holds for the operator of joined stages (FC_LINEAR). So no other code checks sizes.
 * Texts and functions still belong to the module, which stays loaded.
 */
#ifndef FC_CORE_DESCRIPTOR_H
#define FC_CORE_DESCRIPTOR_H

#include "core/base/error.h"

G_BEGIN_DECLS

/* Copies and checks. Invalid operators are left out: `unfit`, if not NULL, is then set to a line for each,
 * `operator "x": parameter "y" is defined twice` (g_strfreev). NULL if no operator is valid, or the plugin
 * itself is not, with the end of a sentence about the file. */
fc_plugin *fc_descriptor_copy(const fc_plugin *plugin, GStrv *unfit, GError **error);
void fc_descriptor_free(fc_plugin *copy); /* NULL is allowed */

/* [a-z][a-z0-9_]*, at most 63 characters; FALSE for NULL. */
gboolean fc_is_name(const char *text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_plugin, fc_descriptor_free)

G_END_DECLS

#endif

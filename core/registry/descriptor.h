/* SPDX-License-Identifier: MIT */
/*
 * descriptor.h - what a plugin says of itself, made safe to read.
 *
 * A plugin may have been built against an older contract with shorter structs, or
 * a newer one with longer ones. The copy made here has every struct at this
 * host's full size, with zero for what the author did not know; texts that may be
 * missing are empty, `examples` and `params` are never NULL, kinds and dtypes
 * hold only bits known here, `backends` are those for known kinds of device, and PASSTHROUGH brings
 * KEEPS_DTYPE and KEEPS_MEANING. So nobody else looks at a size. Texts and functions still are the module's,
 * which stays resident.
 */
#ifndef FC_CORE_DESCRIPTOR_H
#define FC_CORE_DESCRIPTOR_H

#include "core/base/error.h"

G_BEGIN_DECLS

/* Copies and checks. An operator that is not fit is left out: `unfit`, if not NULL, is then set to a line for
 * each, `operator "x": parameter "y" is defined twice` (g_strfreev). NULL when none is fit, or the plugin
 * itself is not, with the end of a sentence about the file. */
fc_plugin *fc_descriptor_copy(const fc_plugin *plugin, GStrv *unfit, GError **error);
void fc_descriptor_free(fc_plugin *copy); /* NULL is allowed */

/* "cpu", "cuda": as backends and devices are called. Static. */
const char *fc_device_kind_name(int kind);

/* [a-z][a-z0-9_]*, at most 63 characters. NULL is no name. */
gboolean fc_is_name(const char *text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_plugin, fc_descriptor_free)

G_END_DECLS

#endif

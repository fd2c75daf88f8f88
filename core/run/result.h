/* SPDX-License-Identifier: MIT */
/* result.h - making the fc_result of a run. */
#ifndef FC_CORE_RESULT_H
#define FC_CORE_RESULT_H

#include "core/contract/filterchain.h"

G_BEGIN_DECLS

fc_result *fc_result_new(void);
void fc_result_set_formats(fc_result *result, const fc_format *in, const fc_format *out);
/* Copies. */
void fc_result_set_device(fc_result *result, const char *device);
void fc_result_set_reason(fc_result *result, const char *reason);
void fc_result_set_decoder(fc_result *result, const char *decoder);
/* Sets the stage of the following measurements; the name is the operator's. */
void fc_result_stage(fc_result *result, guint stage, const char *operator_name);
/* What was clipped, and what to do, in a sentence about the output; NULL: nothing was. */
void fc_result_set_clipped(fc_result *result, const char *output, const char *sentence);
const char *fc_result_clipped(const fc_result *result);
void fc_result_add(fc_result *result, const fc_measurement *value);

G_END_DECLS

#endif

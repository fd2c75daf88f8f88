/* SPDX-License-Identifier: MIT */
/* result.c - see result.h. Strings and values are allocated together with the result. */
#include "core/run/result.h"

#include <string.h>

typedef struct full_result {
  fc_result pub;
  fc_format in, out;
  GStringChunk *strings;
  GPtrArray *measured; /* of fc_measured */
  guint stage;
  const char *operator_name;
  char *clipped;
} full_result;

fc_result *fc_result_new(void) {
  full_result *r = g_new0(full_result, 1);
  r->pub.size = sizeof r->pub;
  r->strings = g_string_chunk_new(256);
  r->measured = g_ptr_array_new_with_free_func(g_free);
  r->pub.in = &r->in, r->pub.out = &r->out;
  return &r->pub;
}

void fc_result_free(fc_result *result) {
  full_result *r = (full_result *)result;
  if (!r) return;
  g_string_chunk_free(r->strings);
  g_ptr_array_free(r->measured, TRUE);
  g_free(r->clipped);
  g_free(r);
}

void fc_result_set_formats(fc_result *result, const fc_format *in, const fc_format *out) {
  full_result *r = (full_result *)result;
  r->in = *in, r->out = *out;
}

void fc_result_set_device(fc_result *result, const char *device) {
  result->device = g_string_chunk_insert(((full_result *)result)->strings, device);
}

void fc_result_set_reason(fc_result *result, const char *reason) {
  result->reason = g_string_chunk_insert(((full_result *)result)->strings, reason);
}

void fc_result_set_decoder(fc_result *result, const char *decoder) {
  result->decoder = g_string_chunk_insert(((full_result *)result)->strings, decoder);
}

void fc_result_set_clipped(fc_result *result, const char *output, const char *sentence) {
  full_result *r = (full_result *)result;
  g_free(r->clipped);
  r->clipped = g_strdup_printf("%s: %s", output, sentence);
}

const char *fc_result_clipped(const fc_result *result) {
  return ((const full_result *)result)->clipped;
}

void fc_result_stage(fc_result *result, guint stage, const char *operator_name) {
  full_result *r = (full_result *)result;
  r->stage = stage, r->operator_name = operator_name;
}

static const char *keep(full_result *r, const char *text) {
  return text ? g_string_chunk_insert(r->strings, text) : NULL;
}

void fc_result_add(fc_result *result, const fc_measurement *value) {
  full_result *r = (full_result *)result;
  fc_measured *m = g_new0(fc_measured, 1);
  *m = (fc_measured){.size = sizeof *m,
                     .stage = r->stage,
                     .operator_name = r->operator_name,
                     .name = keep(r, value->name),
                     .unit = keep(r, value->unit ? value->unit : ""),
                     .exact = FC_HAS(value, exact) ? keep(r, value->exact) : NULL,
                     .channel = value->channel,
                     .value = value->value};
  g_ptr_array_add(r->measured, m);
  r->pub.n_measured = r->measured->len;
  r->pub.measured = (const fc_measured *const *)r->measured->pdata;
}

/* SPDX-License-Identifier: MIT */
/*
 * chains.c - see chains.h.
 */
#include "tests/stream/chains.h"

#include <string.h>

#define ATTEMPTS 30

/* Values that a chain may make of one, at any of its links: three overlapping transforms one after another
 * make ten thousand, and then nothing else is tried for an hour. */
#define GROWTH 32

gboolean chain_takes(fc_context *context, const char *const *stages, const fc_format *in, fc_format *out) {
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, NULL);
  memset(out, 0, sizeof *out);
  out->size = sizeof *out, out->dtype = -1;
  fc_format bare = *in; /* of memory no rate is known */
  bare.rate = 0;
  return chain && fc_chain_output_format(chain, &bare, NULL, out, NULL);
}

static void add_if_taken(GPtrArray *stages, fc_context *context, const char *text, const fc_format *in) {
  const char *const alone[] = {text, NULL};
  fc_format out;
  if (chain_takes(context, alone, in, &out)) g_ptr_array_add(stages, g_strdup(text));
}

/* The example once more with each border that can be named. */
static void add_borders(GPtrArray *stages, fc_context *context, const fc_operator *op, const char *example,
                        const fc_format *in) {
  for (guint p = 0; p < op->n_params; p++) {
    const fc_param *param = op->params[p];
    if (strcmp(param->name, "border") != 0 || param->type != FC_ENUM) continue;
    for (guint c = 0; param->choices[c]; c++) {
      if (param->choices[c]->value == FC_REFUSED) continue;
      g_autofree char *text = g_strdup_printf("%s:border=%s", example, param->choices[c]->name);
      add_if_taken(stages, context, text, in);
    }
  }
}

GPtrArray *stages_for(fc_context *context, const fc_format *in, gboolean gpu) {
  gsize count;
  GPtrArray *stages = g_ptr_array_new_with_free_func(g_free);
  g_autofree const fc_operator **ops = fc_context_operators(context, &count);
  for (gsize i = 0; i < count; i++) {
    if (ops[i]->flags & FC_OP_GENERATOR) continue; /* these stand first, and take nothing */
    if (gpu && !fc_backend_for(ops[i], FC_KIND_CUDA)) continue;
    for (guint e = 0; ops[i]->examples[e]; e++) {
      add_if_taken(stages, context, ops[i]->examples[e], in);
      add_borders(stages, context, ops[i], ops[i]->examples[e], in);
    }
  }
  return stages;
}

static double count_of(const fc_format *f) {
  return (double)f->extent[0] * (double)f->extent[1] * (double)f->extent[2] * (double)f->extent[3];
}

/* Takes `stages` apart for a time: `length` of them, which take the format. */
static gboolean grows_beyond(fc_context *context, char **stages, guint length, const fc_format *in) {
  gboolean beyond = FALSE;
  for (guint n = 1; !beyond && n <= length; n++) {
    char *rest = stages[n];
    fc_format out;
    stages[n] = NULL;
    beyond = !chain_takes(context, (const char *const *)stages, in, &out) ||
             count_of(&out) > GROWTH * count_of(in);
    stages[n] = rest;
  }
  return beyond;
}

char **random_chain(fc_context *context, const GPtrArray *stages, const fc_format *in, dice *d) {
  for (int i = 0; i < ATTEMPTS && stages->len; i++) {
    GPtrArray *chain = g_ptr_array_new();
    gint64 length = dice_int(d, 2, 5);
    for (gint64 s = 0; s < length; s++)
      g_ptr_array_add(chain,
                      g_strdup(g_ptr_array_index(stages, (guint)dice_int(d, 0, (gint64)stages->len - 1))));
    g_ptr_array_add(chain, NULL);
    char **texts = (char **)g_ptr_array_free(chain, FALSE);
    fc_format out;
    if (chain_takes(context, (const char *const *)texts, in, &out) &&
        !grows_beyond(context, texts, (guint)length, in))
      return texts;
    g_strfreev(texts);
  }
  return NULL;
}

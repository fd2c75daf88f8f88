/* SPDX-License-Identifier: MIT */
/*
 * cpu.c - the CPU as a runner: the outer lanes are empty, compute runs at once.
 */
#include "core/base/buffer.h"
#include "core/device/lease.h"
#include "core/base/error.h"
#include "core/base/pool.h"

#include <string.h>

typedef struct cpu_runner {
  fc_runner base;
  fc_context *context;
  fc_pool *pool; /* NULL before the first loop */
} cpu_runner;

static gboolean cpu_compute(fc_runner *runner, guint slot, guint64 key, fc_enqueue_fn enqueue, void *data,
                            GError **error) {
  return enqueue(data, error);
}

static gboolean cpu_wait(fc_runner *runner, guint slot, GError **error) {
  return TRUE;
}
static gboolean cpu_finish(fc_runner *runner, GError **error) {
  return TRUE;
}

static gboolean cpu_copy(fc_runner *runner, const fc_view *to, const fc_view *from, guint32 *notes,
                         GError **error) {
  fc_view_convert(to, from, notes);
  return TRUE;
}

static gboolean cpu_fill_border(fc_runner *runner, const fc_view *view, const fc_range wanted[FC_AXES],
                                int border, const void *code, GError **error) {
  fc_view_fill_border(view, wanted, border, code);
  return TRUE;
}

static gboolean cpu_sum(fc_runner *runner, const fc_linear_sum *sum, GError **error) {
  fc_linear_sum_on_cpu(sum);
  return TRUE;
}

static void cpu_parallel(fc_runner *runner, guint count, void (*body)(guint, guint, void *), void *data) {
  cpu_runner *me = (cpu_runner *)runner;
  if (count > 1 && runner->threads > 1 && !me->pool)
    me->pool = fc_context_take_crew(me->context, runner->threads);
  if (me->pool) {
    fc_pool_run(me->pool, count, body, data);
    return;
  }
  for (guint i = 0; i < count; i++) body(i, 0, data);
}

static void cpu_rest(fc_runner *runner) {
  cpu_runner *me = (cpu_runner *)runner;
  fc_context_give_crew(me->context, g_steal_pointer(&me->pool));
}

static void cpu_free(fc_runner *runner) {
  cpu_runner *me = (cpu_runner *)runner;
  fc_context_give_crew(me->context, me->pool);
  g_free(me->base.description);
  g_free(me);
}

fc_runner *fc_cpu_runner_new(int threads, fc_context *context) {
  cpu_runner *me = g_new0(cpu_runner, 1);
  me->context = context;
  fc_runner *r = &me->base;
  r->device = FC_HOST;
  r->threads = fc_pool_size(threads);
  r->description = g_strdup_printf("cpu (%d thread%s)", r->threads, r->threads == 1 ? "" : "s");
  r->free = cpu_free;
  r->compute = cpu_compute;
  r->wait = cpu_wait;
  r->finish = cpu_finish;
  r->copy = cpu_copy, r->fill_border = cpu_fill_border, r->sum = cpu_sum;
  r->parallel = cpu_parallel, r->rest = cpu_rest;
  return r;
}

/* SPDX-License-Identifier: MIT */
/* hosted.c - see hosted.h. */
#include "tests/device/hosted.h"

#include <string.h>

#include "core/base/demand.h"
#include "tests/device/fake_device.h"

/* Flop an output element: seconds on any CPU for the smallest input. */
#define MUCH_WORK 1e15

typedef struct hosted {
  fc_operator op; /* first: a stage points at it */
  fc_backend cuda;
  const fc_backend *backends[3];
  const fc_operator *real;
  fc_reach reach[FC_AXES]; /* as it was last negotiated */
} hosted;

typedef struct state {
  const fc_backend *real;
  void *inner; /* what its prepare made */
  int device;
  void *table;
} state;

static const char table[] = "what an operator keeps on a device";

static hosted *hosted_of(const fc_host *host) {
  const fc_stage *stage = (const fc_stage *)((const char *)host - G_STRUCT_OFFSET(fc_stage, host));
  return (hosted *)stage->op;
}

static const fc_operator *real_of(const fc_host *host) {
  return hosted_of(host)->real;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_operator *real = real_of(host);
  fc_status status = real->negotiate ? real->negotiate(host, self, terms) : FC_OK;
  terms->work = MUCH_WORK;
  memcpy(hosted_of(host)->reach, terms->needs[0]->reach, sizeof hosted_of(host)->reach);
  return status;
}

static const void *extension(const fc_operator *op, const char *name) {
  const fc_operator *real = ((const hosted *)op)->real;
  return real->extension ? real->extension(real, name) : NULL;
}

static void release(const fc_host *host, void *memory) {
  state *s = memory;
  if (!s) return;
  if (s->real->release) s->real->release(host, s->inner);
  host->free(host, s->device, s->table);
  g_free(s);
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **made) {
  const fc_backend *real = fc_backend_for(real_of(host), FC_KIND_HOST);
  void *memory = host->alloc(host, setup->device, sizeof table);
  if (!memory) return host->fail(host, FC_NO_MEMORY, "not enough memory for its table");
  void *inner = self;
  fc_status status = host->upload(host, setup->device, memory, table, sizeof table);
  fc_setup here = *setup; /* for a device some operators (dct) take another way, which has other bits */
  here.device = FC_HOST;
  if (status == FC_OK && real->prepare) status = real->prepare(host, self, &here, &inner);
  if (status != FC_OK) {
    host->free(host, setup->device, memory);
    return status;
  }
  state *s = g_new0(state, 1);
  *s = (state){real, inner, setup->device, memory};
  *made = s;
  return FC_OK;
}

static size_t scratch(const void *memory, const fc_job *job) {
  const state *s = memory;
  return s->real->scratch ? s->real->scratch(s->inner, job) : 0;
}

static hosted_border borders;

void host_borders(hosted_border border) {
  borders = border;
}

#define ROOM 8 /* elements of border, on both sides of rows and columns */

/* A copy of the view with the border that `edges` describes around it. */
static fc_view with_border(const fc_view *v, const fc_edges *edges) {
  fc_view to = *v;
  const gsize size = fc_dtype_size(v->dtype);
  const gint64 *n = v->shape;
  to.stride[3] = (gint64)size, to.stride[2] = n[3] * to.stride[3];
  to.stride[1] = (n[2] + 2 * ROOM) * to.stride[2], to.stride[0] = (n[1] + 2 * ROOM) * to.stride[1];
  to.data = (char *)g_malloc((gsize)(n[0] * to.stride[0])) + ROOM * (to.stride[1] + to.stride[2]);
  for (gint64 i = 0; i < n[0]; i++)
    for (gint64 y = -ROOM; y < n[1] + ROOM; y++)
      for (gint64 x = -ROOM; x < n[2] + ROOM; x++)
        for (gint64 c = 0; c < n[3]; c++) {
          gint64 row = fc_border_map(edges->border, y, n[1]), column = fc_border_map(edges->border, x, n[2]);
          gboolean inside = row >= 0 && column >= 0;
          memcpy(fc_view_at(&to, i, y, x, c),
                 inside ? fc_view_at(v, i, row, column, c) : (const void *)&edges->code, size);
        }
  return to;
}

static fc_status process_edges(const fc_host *host, const state *s, const fc_job *job) {
  fc_view in = with_border(job->in[0], job->edges);
  const fc_view *ins[1] = {&in};
  fc_job inner = *job;
  inner.in = ins, inner.edges = NULL;
  fc_status status = s->real->process(host, s->inner, &inner);
  g_free((char *)in.data - ROOM * (in.stride[1] + in.stride[2]));
  return status;
}

/* What may be looked at: the view and its halo, which may be less than nothing on one side. */
static fc_view looked_at(const fc_view *in, const fc_reach reach[FC_AXES]) {
  fc_view v = *in;
  for (int a = 0; a < FC_AXES; a++) {
    if (reach[a].before == FC_WHOLE || reach[a].after == FC_WHOLE) continue;
    v.data = (char *)v.data - reach[a].before * v.stride[a];
    v.shape[a] = MAX(v.shape[a] + reach[a].before + reach[a].after, 0);
  }
  return v;
}

static fc_status process(const fc_host *host, const void *memory, const fc_job *job) {
  const state *s = memory;
  g_assert_true(!job->edges || borders != HOSTED_GIVEN);
  if (job->edges && borders == HOSTED_REFUSED) return host->fail(host, FC_UNSUPPORTED, HOSTED_REFUSAL);
  if (fake_device_fails(FAKE_PROCESS)) return FC_DEVICE;
  g_assert_nonnull(job->stream);
  g_assert_cmpmem(s->table, sizeof table, table, sizeof table);
  fc_view in = job->edges ? *job->in[0] : looked_at(job->in[0], hosted_of(host)->reach);
  fake_device_must_hold(&in);
  fake_device_must_hold(job->out);
  return job->edges ? process_edges(host, s, job) : s->real->process(host, s->inner, job);
}

GPtrArray *host_stages(fc_chain *chain, const char *but) {
  GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < chain->n; i++) {
    hosted *h = g_new0(hosted, 1);
    h->real = chain->stages[i].op;
    h->op = *h->real;
    h->op.negotiate = negotiate;
    h->op.extension = extension;
    const fc_backend *cpu = fc_backend_for(h->real, FC_KIND_HOST);
    h->cuda = (fc_backend){.size = sizeof h->cuda,
                           .flags = FC_BACKEND_GRAPH | (borders ? FC_BACKEND_EDGES : 0) |
                                    (cpu->flags & FC_BACKEND_SHAPED),
                           .device_kind = FC_KIND_CUDA,
                           .prepare = prepare,
                           .release = release,
                           .scratch = scratch,
                           .process = process};
    h->backends[0] = cpu;
    h->backends[1] = but && strcmp(but, h->op.name) == 0 ? NULL : &h->cuda;
    h->op.backends = h->backends;
    chain->stages[i].op = &h->op;
    g_ptr_array_add(all, h);
  }
  return all;
}

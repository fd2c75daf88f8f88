/* SPDX-License-Identifier: MIT */
/* hosted.c - see hosted.h. */
#include "tests/device/hosted.h"

#include <string.h>

#include "tests/device/fake_device.h"

/* Flop an output element: seconds on any CPU for the smallest input. */
#define MUCH_WORK 1e15

typedef struct hosted {
  fc_operator op; /* first: a stage points at it */
  fc_backend cuda;
  const fc_operator *real;
} hosted;

typedef struct state {
  const fc_backend *real;
  void *inner; /* what its prepare made */
  int device;
  void *table;
} state;

static const char table[] = "what an operator keeps on a device";

static const fc_operator *real_of(const fc_host *host) {
  const fc_stage *stage = (const fc_stage *)((const char *)host - G_STRUCT_OFFSET(fc_stage, host));
  return ((const hosted *)stage->op)->real;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_operator *real = real_of(host);
  fc_status status = real->negotiate ? real->negotiate(host, self, terms) : FC_OK;
  terms->work = MUCH_WORK;
  return status;
}

static void release(const fc_host *host, void *memory) {
  state *s = memory;
  if (!s) return;
  if (s->real->release) s->real->release(host, s->inner);
  host->free(host, s->device, s->table);
  g_free(s);
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **made) {
  const fc_backend *real = real_of(host)->cpu;
  void *memory = host->alloc(host, setup->device, sizeof table);
  if (!memory) return host->fail(host, FC_NO_MEMORY, "not enough memory for its table");
  void *inner = self;
  fc_status status = host->upload(host, setup->device, memory, table, sizeof table);
  if (status == FC_OK && real->prepare) status = real->prepare(host, self, setup, &inner);
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

static fc_status process(const fc_host *host, const void *memory, const fc_job *job) {
  const state *s = memory;
  if (fake_device_fails(FAKE_PROCESS)) return FC_DEVICE;
  g_assert_nonnull(job->stream);
  g_assert_cmpmem(s->table, sizeof table, table, sizeof table);
  fake_device_must_hold(job->in[0]);
  fake_device_must_hold(job->out[0]);
  return s->real->process(host, s->inner, job);
}

GPtrArray *host_stages(fc_chain *chain, const char *but) {
  GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < chain->n; i++) {
    hosted *h = g_new0(hosted, 1);
    h->real = chain->stages[i].op;
    h->op = *h->real;
    h->op.negotiate = negotiate;
    h->cuda = (fc_backend){sizeof h->cuda, FC_BACKEND_GRAPH, NULL, prepare, release, scratch, process};
    h->op.cuda = but && strcmp(but, h->op.name) == 0 ? NULL : &h->cuda;
    chain->stages[i].op = &h->op;
    g_ptr_array_add(all, h);
  }
  return all;
}

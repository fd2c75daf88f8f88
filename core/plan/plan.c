/* SPDX-License-Identifier: MIT */
/*
 * plan.c - the order of a plan's steps: formats (negotiate.c), cut axis, device (choose.c), chunks and
 * threads (size.c), kernels (fuse.c); and plans that are derived from plans.
 */
#include "core/plan/plan.h"

#include "core/base/error.h"

#include <math.h>

static gboolean needs_f64(const fc_format *in) {
  return in->dtype == FC_F64 || (in->dtype == FC_I32 && in->bits > 24);
}

/* ---- the cut axis --------------------------------------------------------- */

static void cut_along(fc_plan *plan, fc_axis axis) {
  plan->cut = axis;
  fc_plan_summarise(plan);
}

/* Images larger than this are processed in bands of rows. */
#define BAND_BYTES (16 << 20)

static double frame_bytes(const fc_format *f) {
  return (double)f->extent[FC_AXIS_Y] * (double)f->extent[FC_AXIS_X] * (double)f->extent[FC_AXIS_C] *
         (double)fc_dtype_size(f->dtype);
}

/* Whether all frames of a batch are independent. */
static gboolean frames_apart(const fc_plan *plan) {
  for (guint s = 0; s < plan->n; s++) {
    const fc_reach *r = &plan->stages[s].reach[FC_AXIS_N];
    if (r->before || r->after || r->num != r->den || plan->stages[s].carry_bytes) return FALSE;
  }
  for (guint k = 0; k < plan->n_sides; k++) {
    const fc_reach *r = &plan->sides[k].reach[FC_AXIS_N];
    if (r->before || r->after || r->num != r->den) return FALSE;
  }
  return TRUE;
}

/* Single images are cut by rows, and so are batches whose frames are larger than a chunk. */
static gboolean suits_rows(const fc_plan *plan, const fc_plan_query *query) {
  double widest = 0;
  gint64 frames = plan->links[0].extent[FC_AXIS_N];
  if (plan->cut != FC_AXIS_N || frames < 1 || !(query->rows || query->borrowed) || !frames_apart(plan))
    return FALSE;
  for (guint l = 0; l <= plan->n; l++) {
    if (plan->links[l].extent[FC_AXIS_N] != frames) return FALSE;
    widest = MAX(widest, frame_bytes(&plan->links[l]));
  }
  if (frames == 1) return TRUE;
  return !plan->borrowed && widest > BAND_BYTES && !(query->options && query->options->chunk > 0);
}

/* Rows, where no stage needs all of them at once; chains with measuring stages only where sources and
 * sinks deliver rows. */
static void choose_axis(fc_plan *plan, const fc_plan_query *query) {
  cut_along(plan, plan->cut);
  if (!suits_rows(plan, query)) return;
  cut_along(plan, FC_AXIS_Y);
  if (plan->whole) cut_along(plan, FC_AXIS_N);
}

/* ---- making plans --------------------------------------------------------- */

fc_plan *fc_plan_formats(fc_chain *chain, const fc_plan_query *query, GError **error) {
  fc_plan *plan = fc_plan_empty(chain);
  const fc_options *o = query->options;
  if (query->in)
    plan->links[0] = *query->in, fc_plan_set_white(&plan->links[0]);
  else
    plan->links[0] = (fc_format){.size = sizeof(fc_format), .kind = FC_AUDIO, .dtype = FC_F32, .bits = 24};
  plan->compute = o && o->precision >= 0 ? o->precision : query->in && needs_f64(query->in) ? FC_F64 : FC_F32;
  if (!query->in) plan->links[0].dtype = plan->compute;
  plan->links[0].live = o && o->latency > 0;
  plan->stored = query->stored, plan->stored_bits = MIN(query->bits, 64);
  plan->files = query->files, plan->borrowed = query->borrowed, plan->seeks = query->seeks;
  plan->loaded = query->loaded;
  plan->cut = fc_stream_axis(plan->links[0].kind);
  if (!fc_plan_negotiate(plan, query, error)) {
    fc_plan_unref(plan);
    return NULL;
  }
  if (!query->in) plan->cut = fc_stream_axis(plan->links[1].kind), plan->links[0].kind = plan->links[1].kind;
  if (query->bits > 0) plan->links[plan->n].bits = MIN(query->bits, 64);
  plan->sample_bytes =
      query->sample_bytes ? query->sample_bytes : (int)fc_dtype_size(plan->links[plan->n].dtype);
  choose_axis(plan, query);
  return plan;
}

/* A chunk of borrowed memory is processed alone; where that is not possible the memory is copied, like a
 * file. */
static gboolean can_borrow(const fc_plan *plan) {
  return plan->n > 0 && !plan->stages[0].generator && !plan->whole && !plan->carries && !plan->turned;
}

fc_plan *fc_plan_new(fc_chain *chain, const fc_plan_query *query, GError **error) {
  g_autoptr(fc_plan) plan = fc_plan_formats(chain, query, error);
  if (!plan) return NULL;
  plan->fuse = query->options ? query->options->fuse : FC_FUSE_AUTO;
  if (plan->fuse == FC_FUSE_ALGEBRA) plan = fc_plan_algebra(plan);
  if (!fc_plan_choose_device(plan, query, error)) return NULL;
  if (plan->n_devices == 0 && plan->fuse != FC_FUSE_NO && !fc_plan_join(plan, error)) return NULL;
  /* Onto a device host memory is copied in chunks, as a file is. */
  if (plan->borrowed && query->device == FC_HOST && (plan->n_devices || !can_borrow(plan))) {
    plan->borrowed = FALSE;
    choose_axis(plan, query);
  }
  if (query->device != FC_HOST)
    plan->chunk = plan->freely = MAX(plan->links[plan->n].extent[plan->cut], 1),
    plan->crew = plan->threads = 1;
  else if (!fc_plan_choose_chunk(plan, query->options, error))
    return NULL;
  fc_plan_fuse(plan);
  plan = fc_plan_narrow(plan);
  for (guint s = 0; s < plan->n && fc_plan_stays(plan); s++)
    if (plan->stages[s].on_host && !plan->stages[s].composed)
      return fc_fail(error, FC_UNSUPPORTED, "%s: has no CUDA version for this signal", plan->stages[s].name),
             NULL;
  return g_steal_pointer(&plan);
}

fc_plan *fc_plan_with_extent(const fc_plan *plan, int side, gint64 extent, GError **error) {
  g_autoptr(fc_plan) now = fc_plan_copy(plan);
  fc_format *f = side < 0 ? &now->links[0] : &now->sides[side].format;
  f->extent[side < 0 ? now->cut : fc_stream_axis(f->kind)] = extent;
  return fc_plan_renegotiate(now, plan, error) ? g_steal_pointer(&now) : NULL;
}

fc_plan *fc_plan_with_chunk(const fc_plan *plan, gint64 chunk, int threads, double scratch) {
  fc_plan *now = fc_plan_copy(plan);
  now->chunk = chunk, now->threads = threads, now->scratch = scratch;
  now->crew = MIN(plan->crew, threads);
  return now;
}

fc_plan *fc_plan_on_cpu(const fc_plan *plan, const fc_options *options, const GError *why, GError **error) {
  g_autoptr(fc_plan) now = fc_plan_copy(plan);
  now->n_devices = 0, now->scratch = 0;
  fc_plan_widen(now);
  for (guint s = 0; s < now->n; s++) now->stages[s].on_host = FALSE;
  fc_plan_fuse(now);
  fc_plan_set_reason(now, "the GPU failed (%s)", why->message);
  return fc_plan_choose_chunk(now, options, error) ? g_steal_pointer(&now) : NULL;
}

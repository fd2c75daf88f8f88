/* SPDX-License-Identifier: MIT */
/* fused.c - see fused.h. */
#include "core/run/fused.h"

#include "core/device/kernels.h"

#include <string.h>

/* A kernel is compiled at once if it saves this many bytes, otherwise when that many have accumulated. */
#define WORTH ((gint64)1 << 30)

struct fc_fused {
  fc_context *context;
  gint32 device;
  guint processors;
  guint resident; /* atomic: blocks per multiprocessor of the last kernel, fc_driver.resident */
  gboolean wait;
  char *name;
  gint64 links;                       /* bytes saved per element of N, Y and X */
  fc_made *missing;                   /* atomic: the kernel that the last launch lacked; or NULL */
  fc_made *made[FC_COMPOSE_VARIANTS]; /* atomic; NULL: not requested */
  GSList *bound;                      /* functions with bytes that belong to the device */
  fc_composition what;
  fc_compose_stage stages[]; /* the stages of `what` */
};

typedef struct bound {
  fc_device_function base;
  double bytes[FC_FUNCTION_BYTES / sizeof(double)];
} bound;

/* Bytes of memory traffic that a fused kernel saves for an element of N, Y and X: writing and reading the
 * links in between; for a window alone, whose own kernel is otherwise the slowest, the links at its ends. */
static gint64 bytes_of_links(const fc_plan *plan, guint stage) {
  gint64 bytes = 0;
  if (plan->stages[stage].fused == 1 && !plan->stages[stage].through)
    return 2 * plan->links[stage].extent[FC_AXIS_C] * (gint64)fc_dtype_size(plan->links[stage].dtype);
  for (guint l = stage + 1; l < stage + plan->stages[stage].fused + (plan->stages[stage].through ? 1 : 0);
       l++)
    bytes += 2 * plan->links[l].extent[FC_AXIS_C] * (gint64)fc_dtype_size(plan->links[l].dtype);
  return bytes;
}

/* ---- kernels --------------------------------------------------------------------- */

static fc_made *made_for(fc_fused *f, const fc_view *in, const fc_view *out, guint variant) {
  fc_made *made = g_atomic_pointer_get(&f->made[variant]);
  if (made) return made;
  g_autofree char *text = fc_compose_text(&f->what, in, out, variant);
  made = fc_kernels_find(f->context, f->device, f->name, text);
  g_atomic_pointer_set(&f->made[variant], made);
  return made;
}

/* The kernel, or NULL; then it is requested. */
static void *kernel_for(fc_fused *f, const fc_view *in, const fc_view *out, guint variant) {
  fc_made *made = made_for(f, in, out, variant);
  if (!fc_made_kernel(made)) fc_made_want(made, f->wait, f->wait);
  void *kernel = fc_made_kernel(made);
  g_atomic_pointer_set(&f->missing, kernel ? NULL : made);
  return kernel;
}

void fc_fused_passed(fc_fused *f, gint64 elements) {
  fc_made *made = g_atomic_pointer_get(&f->missing);
  if (made && !fc_made_kernel(made) && fc_made_missed(made, elements * f->links))
    fc_made_want(made, TRUE, FALSE);
}

/* ---- requested in advance --------------------------------------------------------- */

/* Bytes that fusing saves in total; FC_UNKNOWN for a stream of unknown length. */
static gint64 saved_in_all(const fc_plan *plan, guint stage, const fc_fused *f) {
  const gint64 *extent = plan->links[stage].extent;
  gint64 elements = 1;
  for (int a = FC_AXIS_N; a < FC_AXIS_C; a++) elements *= extent[a];
  return extent[plan->cut] < 0 ? FC_UNKNOWN : elements * f->links;
}

static void ask_ahead(fc_fused *f, const fc_plan *plan, guint stage) {
  fc_composed composed;
  fc_view in, out;
  fc_plan_kernel_views(plan, stage, &in, &out);
  if (!fc_compose(&f->what, &in, &out, NULL, f->processors, 0, &composed)) return;
  fc_made_want(made_for(f, &in, &out, composed.variant), f->wait || saved_in_all(plan, stage, f) >= WORTH,
               f->wait);
}

fc_fused *fc_fused_new(const fc_plan *plan, guint stage, guint device) {
  const guint n = plan->stages[stage].fused;
  fc_context *context = plan->chain->context;
  const fc_driver *driver = context->driver;
  int major, minor;
  guint processors;
  if (n < 1 || !driver->load || !driver->chip(plan->devices[device], &major, &minor, &processors, NULL))
    return NULL;
  fc_fused *f = g_malloc0(sizeof *f + n * sizeof *f->stages);
  GString *name = g_string_new(NULL);
  f->context = context, f->device = plan->devices[device], f->processors = processors;
  f->wait = plan->fuse == FC_FUSE_WAIT;
  f->links = bytes_of_links(plan, stage);
  fc_plan_composition(plan, stage, n, f->stages, &f->what);
  /* If a stage cannot run on the device otherwise, the run waits for the kernel. */
  for (guint i = stage; i < stage + n; i++) f->wait |= plan->stages[i].composed;
  for (guint i = 0; i < n; i++) g_string_append_printf(name, "%s%s", i ? "+" : "", f->stages[i].name);
  f->name = g_string_free(name, FALSE);
  if (!plan->borrowed) ask_ahead(f, plan, stage);
  return f;
}

gboolean fc_fused_bind(fc_fused *f, guint i, const fc_plan_stage *stage, const void *prepared) {
  const fc_fusible *fusible = fc_operator_extension(stage->op, FC_DEVICE_FUNCTION);
  if (!fusible || !FC_HAS(fusible, bind) || !fusible->bind) return TRUE;
  bound *own = g_new0(bound, 1);
  own->base = *f->stages[i].function, own->base.bytes = own->bytes;
  memcpy(own->bytes, f->stages[i].function->bytes, own->base.n_bytes);
  f->bound = g_slist_prepend(f->bound, own);
  f->stages[i].function = &own->base;
  return FC_CALLED(f->stages[i].name, fusible->bind(&stage->stage->host.base, prepared, &own->base)) == FC_OK;
}

void fc_fused_free(fc_fused *f) {
  if (!f) return;
  g_slist_free_full(f->bound, g_free);
  g_free(f->name);
  g_free(f);
}

const char *fc_fused_name(const fc_fused *f) {
  return f->name;
}

gboolean fc_fused_run(fc_fused *f, fc_runner *runner, const fc_view *in, const fc_view *out, guint32 *notes,
                      gboolean *done, GError **error) {
  fc_composed composed;
  *done = FALSE;
  guint resident = (guint)g_atomic_int_get(&f->resident);
  if (!fc_compose(&f->what, in, out, notes, f->processors, resident, &composed)) return TRUE;
  void *kernel = kernel_for(f, in, out, composed.variant);
  if (kernel && f->context->driver->resident(kernel) != resident) {
    resident = f->context->driver->resident(kernel);
    g_atomic_int_set(&f->resident, (gint)resident);
    if (!fc_compose(&f->what, in, out, notes, f->processors, resident, &composed)) return TRUE;
  }
  *done = kernel != NULL;
  return !kernel || runner->launch(runner, kernel, &composed, error);
}

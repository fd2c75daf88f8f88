/* SPDX-License-Identifier: MIT */
/*
 * choose.c - the device of a plan: as the user says, or by predicting the time on either.
 */
#include "core/base/error.h"
#include "core/device/kernels.h"
#include "core/plan/plan.h"

#include <string.h>

void fc_plan_set_reason(fc_plan *plan, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *reason = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_free(plan->reason);
  plan->reason = reason;
}

static const char *lacking(const fc_plan *plan, fc_device_kind kind) {
  for (guint s = 0; s < plan->n; s++)
    if (plan->stages[s].op &&
        (!fc_backend_for(plan->stages[s].op, kind) || (kind != FC_KIND_HOST && plan->stages[s].host_only)))
      return plan->stages[s].name;
  return NULL;
}

/* Whether a kernel can be composed from a device function, where there is no CUDA version. */
static gboolean may_be_composed(const fc_plan *plan, const fc_operator *op) {
  return plan->fuse != FC_FUSE_NO && op->extension && op->extension(op, FC_DEVICE_FUNCTION);
}

/* The device is that of the caller's memory. */
static gboolean use_callers(fc_plan *plan, gint32 device, GError **error) {
  for (guint s = 0; s < plan->n; s++) {
    fc_plan_stage *ps = &plan->stages[s];
    ps->on_host = ps->op && !fc_backend_for(ps->op, FC_KIND_CUDA);
    if (ps->on_host && !may_be_composed(plan, ps->op))
      return fc_fail(error, FC_UNSUPPORTED, "%s: has no CUDA version", ps->name);
  }
  plan->n_devices = 1, plan->devices[0] = device;
  fc_plan_set_reason(plan, "the caller's memory is on it");
  return TRUE;
}

/* ---- devices ------------------------------------------------------------ */

/* Determines which stages have a version for the devices; the others run on the CPU. */
static gboolean probe_stages(fc_plan *plan, gboolean touch, GError **error) {
  for (guint s = 0; s < plan->n; s++) {
    fc_plan_stage *ps = &plan->stages[s];
    const fc_backend *there = ps->op && !ps->host_only ? fc_backend_for(ps->op, FC_KIND_CUDA) : NULL;
    ps->on_host = ps->op && !there;
    for (guint d = 0; touch && there && there->probe && d < plan->n_devices && !ps->on_host; d++) {
      fc_status status = FC_CALLED(ps->name, there->probe(&ps->stage->host.base, plan->devices[d]));
      if (status == FC_UNSUPPORTED && fc_backend_for(ps->op, FC_KIND_HOST))
        ps->on_host = TRUE,
        fc_stage_host_check(&ps->stage->host, ps->name, "looking at the device", FC_OK, NULL);
      else if (!fc_stage_host_check_on(&ps->stage->host, ps->name, plan->devices[d], "looking at the device",
                                       status, error))
        return FALSE;
    }
  }
  return TRUE;
}

/* State is carried on one device: if a stage carries state, only one device is used. */
static gboolean use_devices(fc_plan *plan, const gint32 *devices, guint n, gboolean touch, GError **error) {
  plan->n_devices = plan->carries || plan->whole ? MIN(n, 1) : n;
  memcpy(plan->devices, devices, n * sizeof *devices);
  return probe_stages(plan, touch, error);
}

/* Without touching the driver any number is assumed, if there is one. */
static int count_devices(const fc_plan *plan, gboolean touch, char **why) {
  const fc_driver *driver = plan->chain->context->driver;
  if (driver && touch) return driver->count(why);
  if (driver && driver->present()) return FC_DEVICES_MOST;
  *why = g_strdup(driver ? "there is no CUDA driver" : "this build has no CUDA backend");
  return 0;
}

static gboolean unknown_device(const char *device, GError **error) {
  return fc_fail(error, FC_INVALID, "unknown device \"%s\": expected auto%s", device,
                 fc_has_cuda() ? ", cpu, cuda, cuda:N, cuda:N,M or cuda:all" : " or cpu");
}

/* "cuda", "cuda:N", "cuda:N,M,...", "cuda:all". */
static gboolean use_named(fc_plan *plan, const char *device, gboolean touch, GError **error) {
  gint32 devices[FC_DEVICES_MOST];
  guint n = 0;
  g_autofree char *why = NULL;
  const gboolean all = strcmp(device, "cuda:all") == 0;
  int count = count_devices(plan, touch || all, &why);
  if (count == 0) return fc_fail(error, FC_DEVICE, "no CUDA device: %s", why ? why : "none found");
  if (all) {
    for (; n < MIN((guint)count, FC_DEVICES_MOST); n++) devices[n] = FC_CUDA_DEVICE(n);
    return use_devices(plan, devices, n, touch, error);
  }
  const char *p = device[4] == ':' ? device + 5 : "0";
  if (device[4] && device[4] != ':') return unknown_device(device, error);
  for (;;) {
    char *end = NULL;
    guint64 ordinal = g_ascii_isdigit(*p) ? g_ascii_strtoull(p, &end, 10) : G_MAXUINT64;
    if (!end || ordinal > 1023 || (*end && *end != ',')) return unknown_device(device, error);
    if (ordinal >= (guint64)count)
      return fc_fail(error, FC_DEVICE, "no device cuda:%" G_GUINT64_FORMAT ": this machine has %d", ordinal,
                     count);
    for (guint i = 0; i < n; i++)
      if (devices[i] == FC_CUDA_DEVICE((gint32)ordinal))
        return fc_fail(error, FC_INVALID, "device \"%s\": a device is named twice", device);
    if (n == FC_DEVICES_MOST)
      return fc_fail(error, FC_INVALID, "device \"%s\": more than %d devices", device, FC_DEVICES_MOST);
    devices[n++] = FC_CUDA_DEVICE((gint32)ordinal);
    if (!*end) return use_devices(plan, devices, n, touch, error);
    p = end + 1;
  }
}

/* The plan for a GPU, for its kernels: touches no device. NULL: there is none. */
static fc_plan *plan_on_gpu(const fc_plan *plan, const fc_options *options) {
  static const gint32 first[] = {FC_CUDA_DEVICE(0)};
  g_autoptr(fc_plan) other = fc_plan_copy(plan);
  if (!use_devices(other, first, 1, FALSE, NULL) || !fc_plan_choose_chunk(other, options, NULL)) return NULL;
  fc_plan_fuse(other);
  other = fc_plan_narrow(other);
  return g_steal_pointer(&other);
}

/* What the prediction for the GPU contains besides the run. */
static char *parts_of(const fc_prediction *p) {
  if (p->compile <= 0) return g_strdup("with its start-up");
  return g_strdup_printf(p->waits
                             ? "with its start-up and %.2g s for compiling %u kernel%s"
                             : "with its start-up, stages one by one for the %.2g s of compiling %u kernel%s",
                         p->compile, p->kernels, p->kernels == 1 ? "" : "s");
}

/* Kernels are looked for only where the GPU would be chosen if it had them. */
static void predict(const fc_plan *plan, const fc_options *options, fc_prediction *p) {
  fc_plan_predict(plan, options ? options->threads : 0, p);
  if (plan->fuse == FC_FUSE_NO || p->cpu <= p->start || !fc_kernels_possible(plan->chain->context)) return;
  g_autoptr(fc_plan) other = plan_on_gpu(plan, options);
  if (other) fc_plan_predict_kernels(other, p);
}

static void choose_auto(fc_plan *plan, const fc_plan_query *query) {
  const char *needs_gpu = lacking(plan, FC_KIND_HOST);
  const fc_driver *driver = plan->chain->context->driver;
  fc_prediction p;
  if (!driver) {
    fc_plan_set_reason(plan, "the only choice of this build");
    return;
  }
  predict(plan, query->options, &p);
  plan->device_auto = TRUE;
  const double gpu = fc_predicted_gpu(&p);
  g_autofree char *with = parts_of(&p);
  gboolean unknown = plan->links[0].extent[plan->cut] < 0;
  if (!needs_gpu && (unknown || p.cpu <= gpu)) {
    if (unknown)
      fc_plan_set_reason(plan, "the length of the input is not known, so a GPU may not repay its start-up");
    else
      fc_plan_set_reason(plan, "predicted %.3g s on the CPU, %.3g s on a GPU %s", p.cpu, gpu, with);
    return;
  }
  if (!driver->present()) {
    fc_plan_set_reason(plan, "there is no CUDA driver");
    return;
  }
  g_autoptr(GError) error = NULL;
  if (!use_named(plan, "cuda:0", query->touch, &error)) {
    plan->n_devices = 0;
    fc_plan_set_reason(plan, "%s", error->message);
  } else if (needs_gpu) {
    fc_plan_set_reason(plan, "%s runs on a GPU only", needs_gpu);
  } else {
    fc_plan_set_reason(plan, "predicted %.3g s on a GPU %s, %.3g s on the CPU", gpu, with, p.cpu);
  }
}

gboolean fc_plan_choose_device(fc_plan *plan, const fc_plan_query *query, GError **error) {
  const char *device = query->options && query->options->device ? query->options->device : "auto";
  plan->n_devices = 0;
  if (query->device != FC_HOST) return use_callers(plan, query->device, error);
  if (strcmp(device, "auto") == 0) {
    choose_auto(plan, query);
  } else {
    if (g_str_has_prefix(device, "cuda") ? !use_named(plan, device, query->touch, error)
                                         : strcmp(device, "cpu") != 0 && !unknown_device(device, error))
      return FALSE;
    fc_plan_set_reason(plan, "as requested");
  }
  const char *name = lacking(plan, FC_KIND_HOST);
  if (plan->n_devices == 0 && name)
    return fc_fail(error, FC_UNSUPPORTED, "%s: has no CPU version, and there is no GPU for it (%s)", name,
                   plan->reason);
  return TRUE;
}

gboolean fc_plan_may_leave_device(const fc_plan *plan, const GError *why) {
  gboolean failed = g_error_matches(why, FC_ERROR, FC_DEVICE) || g_error_matches(why, FC_ERROR, FC_NO_MEMORY);
  return failed && plan->device_auto && plan->n_devices && !lacking(plan, FC_KIND_HOST);
}

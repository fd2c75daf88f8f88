/* SPDX-License-Identifier: MIT */
/*
 * choose.c - the device of a plan: as the user says, or by predicting the time on either.
 */
#include "core/base/error.h"
#include "core/base/pool.h"
#include "core/plan/plan.h"

#include <string.h>

/*
 * Rates used by the prediction. Files are read and written concurrently, from and to the page cache at 3 GB/s
 * (slower disks and codecs take longer on either device); a run takes at least that. Start-up of a GPU:
 * device count, context, first allocation and the additional time at process exit, measured as 0.28 to 0.4 s
 * on H200 machines. Transfers: pinned memory reaches 50 GB/s over PCIe 5; 20 GB/s is PCIe 4. Pinned memory is
 * allocated at 7 GB/s; a stream, or bands of an image, need little of it; an image that is not cut is held
 * whole, and then transfers and filters do not overlap. CPU: 10 Gflop/s and 4 GB/s per thread are what the
 * vectorised filters reach with AVX2 on ordinary cores. tests/bench/device_sweep.py measures how accurate the
 * prediction is.
 */
#define GPU_START    0.35
#define GPU_PINNED   7e9
#define GPU_STREAMS  1e8
#define GPU_TRANSFER 20e9
#define GPU_MEMORY   500e9
#define GPU_FLOPS    5e12
#define CPU_MEMORY   4e9
#define CPU_FLOPS    10e9
#define FILES        3e9

static double bytes_of(const fc_format *f, fc_axis cut) {
  double count = (double)MAX(f->extent[cut], 0) * (double)fc_dtype_size(f->dtype);
  for (int a = 0; a < FC_AXES; a++)
    if (a != (int)cut) count *= (double)MAX(f->extent[a], 0);
  return count;
}

/* Seconds on the CPU and on a GPU, including start-up. */
static void predict(const fc_plan *plan, int threads, double *cpu, double *gpu) {
  double flops = 0, bytes = 0, up = 0, down = 0;
  for (guint l = 0; l <= plan->n; l++) {
    const fc_format *f = &plan->links[l];
    double size = bytes_of(f, plan->cut);
    if (l == 0) up = size;
    if (l == plan->n) down = size;
    if (l > 0) flops += size / (double)fc_dtype_size(f->dtype) * plan->stages[l - 1].work;
    bytes += 2 * size;
  }
  for (guint k = 0; k < plan->n_sides; k++) {
    double size = bytes_of(&plan->sides[k].format, plan->cut);
    up += size, bytes += size;
  }
  int n = fc_pool_size(threads);
  double files = plan->files ? MAX(up, down) / FILES : 0;
  *cpu = MAX(files, MAX(bytes / (CPU_MEMORY * n), flops / (CPU_FLOPS * n)));
  double filter = MAX(bytes / GPU_MEMORY, flops / GPU_FLOPS);
  if (plan->cut == FC_AXIS_N && plan->links[0].extent[FC_AXIS_N] == 1)
    *gpu = GPU_START + (up + down) / GPU_PINNED + MAX(files, (up + down) / GPU_TRANSFER + filter);
  else
    *gpu = GPU_START + MIN(up + down, GPU_STREAMS) / GPU_PINNED +
           MAX(files, MAX(MAX(up, down) / GPU_TRANSFER, filter));
}

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

static void choose_auto(fc_plan *plan, const fc_plan_query *query) {
  const char *needs_gpu = lacking(plan, FC_KIND_HOST);
  const fc_driver *driver = plan->chain->context->driver;
  double cpu, gpu;
  if (!driver) {
    fc_plan_set_reason(plan, "the only choice of this build");
    return;
  }
  predict(plan, query->options ? query->options->threads : 0, &cpu, &gpu);
  plan->device_auto = TRUE;
  gboolean unknown = plan->links[0].extent[plan->cut] < 0;
  if (!needs_gpu && (unknown || cpu <= gpu)) {
    if (unknown)
      fc_plan_set_reason(plan, "the length of the input is not known, so a GPU may not repay its start-up");
    else
      fc_plan_set_reason(plan, "predicted %.3g s on the CPU, %.3g s on a GPU with its start-up", cpu, gpu);
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
    fc_plan_set_reason(plan, "predicted %.3g s on a GPU with its start-up, %.3g s on the CPU", gpu, cpu);
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

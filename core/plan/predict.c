/* SPDX-License-Identifier: MIT */
/* predict.c - how long a plan takes on the CPU and on a GPU; see fc_prediction in plan.h. */
#include "core/base/pool.h"
#include "core/device/kernels.h"
#include "core/plan/plan.h"

/*
 * Rates used by the prediction. Files are read and written concurrently, from and to the page cache at 3 GB/s
 * (slower disks and codecs take longer on either device); a run takes at least that. Start-up of a GPU:
 * device count, context, first allocation and the additional time at process exit, measured as 0.28 to 0.4 s
 * on H200 machines. Transfers: pinned memory reaches 50 GB/s over PCIe 5; 20 GB/s is PCIe 4. Pinned memory is
 * allocated at 7 GB/s; a stream, or bands of an image, need little of it; an image that is not cut is held
 * whole, and then transfers and filters do not overlap. CPU: 10 Gflop/s and 4 GB/s per thread are what the
 * vectorised filters reach with AVX2 on ordinary cores. A kernel is compiled in 0.1 to 0.25 s, up to four at
 * a time (core/device/kernels.c), once the device has started. tests/bench/device_sweep.py measures how
 * accurate the prediction is.
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
#define COMPILE      0.25
#define COMPILERS    4

static double bytes_of(const fc_format *f, fc_axis cut) {
  double count = (double)MAX(f->extent[cut], 0) * (double)fc_dtype_size(f->dtype);
  for (int a = 0; a < FC_AXES; a++)
    if (a != (int)cut) count *= (double)MAX(f->extent[a], 0);
  return count;
}

/* What a run moves and computes. */
typedef struct load {
  double flops, bytes, up, down;
} load;

static load load_of(const fc_plan *plan) {
  load all = {0};
  for (guint l = 0; l <= plan->n; l++) {
    const fc_format *f = &plan->links[l];
    const double size = bytes_of(f, plan->cut);
    if (l == 0) all.up = size;
    if (l == plan->n) all.down = size;
    if (l > 0) all.flops += size / (double)fc_dtype_size(f->dtype) * plan->stages[l - 1].work;
    all.bytes += 2 * size;
  }
  for (guint k = 0; k < plan->n_sides; k++) {
    const double size = bytes_of(&plan->sides[k].format, plan->cut);
    all.up += size, all.bytes += size;
  }
  return all;
}

/* Bytes that the plan's kernels of several stages do not move. */
static double bytes_saved(const fc_plan *plan) {
  double saved = 0;
  for (guint s = 0; s < plan->n; s++)
    for (guint l = s + 1; l < s + plan->stages[s].fused; l++)
      saved += 2 * bytes_of(&plan->links[l], plan->cut);
  return saved;
}

static double gpu_seconds(const fc_plan *plan, const load *l, double saved) {
  const double files = plan->files ? MAX(l->up, l->down) / FILES : 0,
               filter = MAX((l->bytes - saved) / GPU_MEMORY, l->flops / GPU_FLOPS);
  if (plan->cut == FC_AXIS_N && plan->links[0].extent[FC_AXIS_N] == 1)
    return (l->up + l->down) / GPU_PINNED + MAX(files, (l->up + l->down) / GPU_TRANSFER + filter);
  return MIN(l->up + l->down, GPU_STREAMS) / GPU_PINNED +
         MAX(files, MAX(MAX(l->up, l->down) / GPU_TRANSFER, filter));
}

void fc_plan_predict(const fc_plan *plan, int threads, fc_prediction *p) {
  const load l = load_of(plan);
  const int n = fc_pool_size(threads);
  const double files = plan->files ? MAX(l.up, l.down) / FILES : 0;
  *p = (fc_prediction){.start = GPU_START};
  p->cpu = MAX(files, MAX(l.bytes / (CPU_MEMORY * n), l.flops / (CPU_FLOPS * n)));
  p->apart = p->joined = gpu_seconds(plan, &l, 0);
}

/* Whether some stage has no version for a GPU but in the kernel from stage s on. */
static gboolean is_needed(const fc_plan *plan, guint s) {
  for (guint i = s; i < s + plan->stages[s].fused; i++)
    if (plan->stages[i].composed) return TRUE;
  return FALSE;
}

void fc_plan_predict_kernels(const fc_plan *on_gpu, fc_prediction *p) {
  const load l = load_of(on_gpu);
  fc_context *context = on_gpu->chain->context;
  gboolean possible = TRUE;
  p->kernels = 0, p->waits = FALSE;
  for (guint s = 0; s < on_gpu->n; s++) {
    g_autofree char *text = on_gpu->stages[s].fused ? fc_plan_kernel_text(on_gpu, s, TRUE) : NULL;
    if (!text || fc_kernels_have(context, text)) continue;
    possible = possible && fc_kernels_can_compile(context);
    p->kernels++;
    p->waits |= on_gpu->fuse == FC_FUSE_WAIT || is_needed(on_gpu, s);
  }
  p->compile = possible ? COMPILE * (double)((p->kernels + COMPILERS - 1) / COMPILERS) : 0;
  p->joined = possible ? gpu_seconds(on_gpu, &l, bytes_saved(on_gpu)) : p->apart;
  if (!possible) p->kernels = 0;
}

double fc_predicted_gpu(const fc_prediction *p) {
  if (p->waits) return p->start + p->compile + p->joined;
  if (p->apart <= p->compile) return p->start + p->apart;
  /* One by one until the kernels are there, which by then have done their part of the whole. */
  const double done = p->compile > 0 ? p->compile / p->apart : 0;
  return p->start + MIN(p->apart, p->compile + (1 - done) * p->joined);
}

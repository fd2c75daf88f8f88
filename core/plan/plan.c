/* SPDX-License-Identifier: MIT */
/*
 * plan.c - formats from first to last, device and chunk size; see plan.h.
 */
#include "core/plan/plan.h"

#include "core/base/error.h"
#include "core/base/pool.h"

#include <math.h>
#include <string.h>

/* ---- formats ---------------------------------------------------------- */

static const int bits_of[FC_DTYPE_COUNT] = {8, 16, 16, 32, 24, 53};

static const char *kind_name(int kind) {
  return kind == FC_AUDIO ? "audio" : kind == FC_IMAGE ? "images" : "arrays";
}

/* The element type for link `s + 1`: the delivered one if nothing but keepers follow,
 * else the compute type; something else only where an operator knows no better. */
static int desired_dtype(const fc_plan *plan, guint s, int wanted) {
  const fc_operator *op = plan->stages[s].op;
  if (op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) return plan->links[s].dtype;
  gboolean last = TRUE;
  guint32 loads = FC_DTYPES_ALL;
  for (guint i = s + 1; i < plan->n; i++) {
    const fc_operator *next = plan->stages[i].op;
    if (!next) {
      last = FALSE;
      break;
    }
    loads &= next->dtypes_in;
    if (next->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) continue;
    last = FALSE;
    break;
  }
  guint32 usable = op->dtypes_out & loads ? op->dtypes_out & loads : op->dtypes_out;
  const int order[] = {last ? wanted : -1, plan->compute, FC_F64, FC_F32, FC_I32, FC_I16, FC_U16, FC_U8};
  for (guint i = 0; i < G_N_ELEMENTS(order); i++)
    if (order[i] >= 0 && usable & FC_DTYPE_BIT(order[i])) return order[i];
  return plan->compute;
}

static void set_defaults(fc_plan_stage *ps, const fc_format *in) {
  for (int a = 0; a < FC_AXES; a++) ps->reach[a] = (fc_reach){0, 0, 1, 1, 1};
  ps->border = ps->op ? FC_BORDER_UNSET : FC_BORDER_NONE;
  ps->measure_bytes = 0;
  ps->work = 0;
  g_clear_pointer(&ps->note, g_free);
}

static gboolean broken(fc_plan_stage *ps, const char *what, GError **error) {
  return fc_fail(error, FC_FATAL, "%s: the plugin broke its contract: %s", ps->name, what);
}

/* Stages may multiply them, one after another: products with what is allowed here fit 64 bits. */
static gboolean check_extents(const fc_plan_stage *ps, const fc_format *in, const fc_format *out,
                              GError **error) {
  static const char *const names[FC_AXES] = {"frames", "rows", "columns", "channels"};
  for (int a = 0; a < FC_AXES; a++) {
    gboolean time = a == FC_AXIS_N || (a == FC_AXIS_X && out->kind == FC_AUDIO);
    gint64 most = time ? (gint64)1 << 48 : G_MAXINT32;
    if (out->extent[a] > most && out->extent[a] > in->extent[a])
      return fc_fail(error, FC_INVALID,
                     "%s: makes %" G_GINT64_FORMAT " %s of %" G_GINT64_FORMAT ", and %" G_GINT64_FORMAT
                     " are the most",
                     ps->name, out->extent[a], time ? "samples" : names[a], in->extent[a], most);
  }
  return TRUE;
}

/* Holds an operator to what it may answer. */
static gboolean check_terms(fc_plan_stage *ps, const fc_format *in, const fc_format *out, GError **error) {
  if (out->dtype < 0 || out->dtype >= FC_DTYPE_COUNT) return broken(ps, "unknown element type", error);
  if (!(ps->op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) &&
      !(ps->op->dtypes_out & FC_DTYPE_BIT(out->dtype)))
    return broken(ps, "an element type it does not store", error);
  if ((ps->op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) && out->dtype != in->dtype)
    return broken(ps, "a change of element type", error);
  if (out->kind < 0 || out->kind >= FC_KIND_COUNT) return broken(ps, "unknown kind of output", error);
  if ((out->kind == FC_AUDIO) != (in->kind == FC_AUDIO))
    return broken(ps, "audio cannot become an image or array in mid-chain", error);
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &ps->reach[a];
    if (r->num < 1 || r->den < 1 || r->align < 1) return broken(ps, "a scale or alignment below 1", error);
    if (out->extent[a] < FC_UNKNOWN) return broken(ps, "a negative extent", error);
    if (ps->passthrough && (r->before || r->after || r->num != r->den || out->extent[a] != in->extent[a]))
      return broken(ps, "it passes frames through but asks for a halo or changes their size", error);
  }
  if (ps->border == FC_BORDER_UNSET) ps->border = FC_BORDER_NONE;
  if (ps->border < FC_BORDER_ZERO || ps->border > FC_BORDER_NONE) return broken(ps, "unknown border", error);
  return check_extents(ps, in, out, error);
}

static gboolean negotiate_stage(fc_plan *plan, guint s, int wanted, GError **error) {
  fc_plan_stage *ps = &plan->stages[s];
  const fc_format *in = &plan->links[s];
  fc_format *out = &plan->links[s + 1];
  *out = *in;
  set_defaults(ps, in);
  if (!ps->op) {
    out->dtype = wanted;
    return TRUE;
  }
  out->dtype = desired_dtype(plan, s, wanted);
  if (out->dtype != in->dtype) out->bits = bits_of[out->dtype];
  const fc_format *ins[1] = {in};
  fc_need need = {.size = sizeof need, .border = ps->border};
  fc_need *needs[1] = {&need};
  fc_terms terms = {
      .size = sizeof terms, .compute = plan->compute, .n_in = 1, .in = ins, .out = out, .needs = needs};
  memcpy(need.reach, ps->reach, sizeof need.reach);
  fc_status status =
      ps->op->negotiate ? ps->op->negotiate(&ps->stage->host.base, ps->stage->self, &terms) : FC_OK;
  /* Nothing is amiss with either alone: what was asked does not go with what it is asked of. */
  if (status == FC_UNSUPPORTED) status = FC_INVALID;
  if (!fc_stage_host_check(&ps->stage->host, ps->name, "looking at its input", status, error)) return FALSE;
  memcpy(ps->reach, need.reach, sizeof ps->reach);
  ps->border = need.border, ps->measure_bytes = terms.measure_bytes, ps->work = terms.work;
  ps->passthrough = (ps->op->flags & FC_OP_PASSTHROUGH) != 0;
  ps->note = g_steal_pointer(&ps->stage->host.remark);
  double value = ps->border == FC_BORDER_CONSTANT ? need.border_value : 0;
  fc_value_encode(&ps->border_code, value, in->kind, in->dtype);
  return check_terms(ps, in, out, error);
}

static gboolean takes(const fc_operator *op, const fc_format *in, GError **error) {
  if (op->kinds & FC_KIND_BIT(in->kind)) return TRUE;
  GString *kinds = g_string_new(NULL);
  for (int k = 0; k < FC_KIND_COUNT; k++)
    if (op->kinds & FC_KIND_BIT(k))
      g_string_append_printf(kinds, "%s%s", kinds->len ? " and " : "", kind_name(k));
  fc_fail(error, FC_INVALID, "%s: works on %s, not on %s", op->name, kinds->str, kind_name(in->kind));
  g_string_free(kinds, TRUE);
  return FALSE;
}

static void add_stage(fc_plan *plan, fc_stage *stage) {
  fc_plan_stage *ps = &plan->stages[plan->n++];
  ps->stage = stage;
  ps->op = stage ? stage->op : NULL;
  ps->name = stage ? stage->op->name : "cast";
}

/* Negotiates every stage, putting casts in where a link's element type does not suit. */
static gboolean build(fc_plan *plan, int wanted, GError **error) {
  fc_chain *chain = plan->chain;
  for (guint i = 0; i < chain->n; i++) add_stage(plan, &chain->stages[i]);
  for (guint s = 0; s < plan->n; s++) {
    const fc_operator *op = plan->stages[s].op;
    if (!takes(op, &plan->links[s], error)) return FALSE;
    if (!(op->dtypes_in & FC_DTYPE_BIT(plan->links[s].dtype))) {
      int to = op->dtypes_in & FC_DTYPE_BIT(plan->compute) ? plan->compute
               : op->dtypes_in & FC_DTYPE_BIT(FC_F64)      ? FC_F64
                                                           : g_bit_nth_lsf(op->dtypes_in, -1);
      memmove(&plan->stages[s + 1], &plan->stages[s], (plan->n - s) * sizeof *plan->stages);
      plan->n++;
      plan->stages[s] = (fc_plan_stage){.name = "cast"};
      if (!negotiate_stage(plan, s, to, error)) return FALSE;
      plan->links[s + 1].bits = bits_of[to];
      s++;
    }
    if (!negotiate_stage(plan, s, wanted, error)) return FALSE;
  }
  if (wanted >= 0 && plan->links[plan->n].dtype != wanted) {
    add_stage(plan, NULL);
    if (!negotiate_stage(plan, plan->n - 1, wanted, error)) return FALSE;
  }
  return TRUE;
}

/* Whether the last block of a stage's output is made of more than there is: its end is border,
 * then, though the stage asks for no halo. Not known is yes. */
static gboolean sticks_out(const fc_plan *plan, guint s) {
  const fc_reach *r = &plan->stages[s].reach[plan->cut];
  gint64 in = plan->links[s].extent[plan->cut], out = plan->links[s + 1].extent[plan->cut];
  if (in < 0 || out < 0) return r->align > 1 || r->num != r->den;
  return fc_scale_ceil(out, r->num, r->den) > in;
}

/* A source delivers frames packed, see stream.h: a stage that looks beyond the channels
 * there are, or is given room for more, works on a copy. */
static gboolean pack_frames(fc_plan *plan, GError **error) {
  const fc_format *in = &plan->links[0];
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, 0, capacity);
  if (in->kind != FC_AUDIO || in->layout == FC_PLANAR || capacity[FC_AXIS_C] <= in->extent[FC_AXIS_C])
    return TRUE;
  memmove(&plan->stages[1], &plan->stages[0], plan->n * sizeof *plan->stages);
  memmove(&plan->links[1], &plan->links[0], (plan->n + 1) * sizeof *plan->links);
  plan->n++;
  plan->stages[0] = (fc_plan_stage){.name = "cast"};
  return negotiate_stage(plan, 0, in->dtype, error);
}

static void summarise(fc_plan *plan) {
  plan->whole = plan->measures = plan->reflects = FALSE;
  plan->slack = 0;
  for (guint s = 0; s < plan->n; s++) {
    fc_plan_stage *ps = &plan->stages[s];
    const fc_reach *r = &ps->reach[plan->cut];
    gboolean everything = r->before == FC_WHOLE || r->after == FC_WHOLE;
    gboolean looks_out = everything || r->before > 0 || r->after > 0 || sticks_out(plan, s);
    if (everything || (looks_out && ps->border == FC_BORDER_WRAP)) plan->whole = TRUE;
    /* Mirrored elements may lie behind the chunk that looks at them, and so may a last
     * element that is looked at from beyond it only. */
    gboolean mirrors = ps->border == FC_BORDER_REFLECT || ps->border == FC_BORDER_REFLECT101;
    gboolean shifted = r->before < 0 || r->after < 0;
    if ((looks_out && mirrors) || (shifted && ps->border == FC_BORDER_REPLICATE)) plan->reflects = TRUE;
    if (ps->measure_bytes) plan->measures = TRUE;
  }
  if (plan->whole || !plan->reflects) return;
  for (guint s = plan->n; s-- > 0;) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    plan->slack = fc_scale_ceil(plan->slack, r->num, r->den) + ABS(r->before) + ABS(r->after) + r->align;
  }
}

static gboolean needs_f64(const fc_format *in) {
  return in->dtype == FC_F64 || (in->dtype == FC_I32 && in->bits > 24);
}

fc_plan *fc_plan_new(fc_chain *chain, const fc_format *in, int wanted, const fc_options *options,
                     GError **error) {
  fc_plan *plan = g_new0(fc_plan, 1);
  plan->chain = chain;
  /* At worst a cast ahead of every stage and one at the end. */
  plan->stages = g_new0(fc_plan_stage, 2 * chain->n + 1);
  plan->links = g_new0(fc_format, 2 * chain->n + 2);
  plan->links[0] = *in;
  plan->cut = fc_stream_axis(in->kind);
  plan->device = FC_HOST;
  plan->compute = options && options->precision >= 0 ? options->precision : needs_f64(in) ? FC_F64 : FC_F32;
  if (!build(plan, wanted, error) || !pack_frames(plan, error)) {
    fc_plan_free(plan);
    return NULL;
  }
  summarise(plan);
  return plan;
}

static void cut_along(fc_plan *plan, fc_axis axis) {
  plan->cut = axis;
  summarise(plan);
}

static gboolean is_single(const fc_plan *plan) {
  return plan->cut == FC_AXIS_N && plan->links[0].extent[FC_AXIS_N] == 1;
}

gint64 fc_plan_frames(const fc_plan *plan) {
  return plan->cut == FC_AXIS_Y ? plan->links[0].extent[FC_AXIS_N] : 1;
}

/* Makes it a plan for bands of an image; FALSE, and nothing has changed, where a stage needs all of it at
 * once. */
static gboolean cut_rows(fc_plan *plan) {
  cut_along(plan, FC_AXIS_Y);
  if (!plan->whole) return TRUE;
  cut_along(plan, FC_AXIS_N);
  return FALSE;
}

gboolean fc_plan_for_memory(fc_plan *plan) {
  if (plan->device != FC_HOST || plan->n == 0 || plan->measures) return FALSE;
  if (fc_plan_frames(plan) > 1) cut_along(plan, FC_AXIS_N); /* a frame, or some, for each worker */
  plan->alone = is_single(plan) ? cut_rows(plan) : !plan->whole;
  if (plan->alone) plan->slack = 0;
  return plan->alone;
}

void fc_plan_free(fc_plan *plan) {
  if (!plan) return;
  for (guint s = 0; s < plan->n; s++) g_free(plan->stages[s].note);
  g_free(plan->stages);
  g_free(plan->links);
  g_free(plan->reason);
  g_free(plan);
}

gboolean fc_plan_set_extent(fc_plan *plan, gint64 extent, GError **error) {
  plan->links[0].extent[plan->cut] = extent;
  for (guint s = 0; s < plan->n; s++) {
    int dtype = plan->links[s + 1].dtype;
    if (!negotiate_stage(plan, s, dtype, error)) return FALSE;
    if (plan->links[s + 1].dtype != dtype)
      return broken(&plan->stages[s], "another answer to the same question", error);
  }
  return TRUE;
}

/* ---- sizes ------------------------------------------------------------ */

static gint64 elements(const fc_format *f, fc_axis cut, gint64 along) {
  gint64 count = along;
  for (int a = 0; a < FC_AXES; a++)
    if (a != (int)cut) count *= MAX(f->extent[a], 0);
  return count;
}

gint64 fc_plan_stretch(const fc_plan *plan, guint link) {
  gint64 length = plan->chunk;
  for (guint s = plan->n; s-- > link;) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    if (r->before != FC_WHOLE && r->after != FC_WHOLE) length = fc_scale_floor(length, r->num, r->den);
  }
  return MAX(length, 1);
}

/* Blocks may become others and, later, samples again (stft, istft). */
gboolean fc_plan_lead(const fc_plan *plan, gint64 *lead) {
  double shift = 0, scale = 1; /* frames of the input, and those an element of the link stands for */
  for (guint s = 0; s < plan->n; s++) {
    const fc_reach *r = &plan->stages[s].reach[FC_AXIS_X];
    gboolean moves = r->before == -r->after && r->num == r->den;
    gint64 in = plan->links[s].extent[FC_AXIS_X], out = plan->links[s + 1].extent[FC_AXIS_X];
    if (r->before == FC_WHOLE || r->after == FC_WHOLE || (r->num == r->den && !moves && in != out))
      return FALSE;
    if (moves) shift += (double)r->after * scale;
    scale *= (double)r->num / (double)r->den;
  }
  *lead = llround(shift);
  return fabs(scale - 1) < 1e-9;
}

/* How much of link `l` its producer makes when `asked` of it is looked at: it works in
 * blocks, and one that measures makes up for what later stages skip. */
static gint64 widened(const fc_plan *plan, guint l, int axis, gint64 asked, gint64 gap) {
  const fc_plan_stage *ps = &plan->stages[l - 1];
  gint64 align = ps->reach[axis].align, made = asked;
  if (ps->measure_bytes && axis == (int)plan->cut) made = MAX(made + gap, fc_plan_stretch(plan, l));
  if (ps->measure_bytes && axis != (int)plan->cut && axis != FC_AXIS_N)
    made = MAX(made, plan->links[l].extent[axis]);
  return align > 1 ? made + 2 * align : made;
}

/* How far a stage looks beyond the ends of its input, whatever is asked of it. */
static gint64 overhang(const fc_reach *r, gint64 in_extent, gint64 out_extent) {
  if (r->before == FC_WHOLE || r->after == FC_WHOLE) return 0;
  if (in_extent < 0 || out_extent < 0) return ABS(r->before) + ABS(r->after);
  gint64 end = fc_scale_ceil(out_extent, r->num, r->den) + r->after;
  return MAX(r->before, 0) + MAX(end - in_extent, 0);
}

/* A bound from the last link back to `link` on how much of it is held at a time. */
static gint64 capacity_of(const fc_plan *plan, guint link, int axis) {
  gint64 extent = plan->links[plan->n].extent[axis];
  gboolean cut = axis == (int)plan->cut, one = axis == FC_AXIS_N && plan->cut == FC_AXIS_Y;
  gint64 made = one ? 1 : cut && (extent < 0 || plan->chunk < extent) ? plan->chunk : extent;
  gint64 held = made, gap = 0, out = 0;
  for (guint l = plan->n;; l--) {
    if (l > 0) {
      gint64 end = plan->links[l].extent[axis], more = widened(plan, l, axis, made, gap);
      /* Made is what the signal has; what is looked at may stick out on the other side. */
      gint64 most = end >= 0 && out == 0 ? MIN(more, end) : more;
      held += MAX(most - made, 0);
      made = end >= 0 ? MIN(MAX(more, made), end) : MAX(more, made);
    }
    if (l == link) break;
    const fc_plan_stage *ps = &plan->stages[l - 1];
    const fc_reach *r = &ps->reach[axis];
    gint64 before = plan->links[l - 1].extent[axis], after = plan->links[l].extent[axis];
    gint64 longest = fc_reach_longest(r, ps->border, made, before, after);
    if (r->before != FC_WHOLE && r->after != FC_WHOLE) {
      gap = fc_scale_ceil(gap, r->num, r->den) + MAX(-(r->before + r->after), 0) + 1;
    }
    if (!ps->passthrough) out = overhang(r, before, after);
    made = before >= 0 ? MIN(longest, before) : longest;
    held = ps->passthrough ? MAX(longest, held) : longest;
  }
  if (link == 0 && cut) held += 2 * plan->slack;
  /* The source delivers whole frames, and whole signals where a stage wants one. */
  if (link == 0 && !one && (!cut || plan->whole)) held = MAX(held, MAX(plan->links[0].extent[axis], 0) + out);
  return held;
}

void fc_plan_capacity(const fc_plan *plan, guint link, gint64 capacity[FC_AXES]) {
  for (int a = 0; a < FC_AXES; a++) capacity[a] = capacity_of(plan, link, a);
}

guint fc_plan_output_root(const fc_plan *plan) {
  guint root = plan->n;
  while (root > 0 && plan->stages[root - 1].passthrough) root--;
  return root;
}

guint fc_plan_slots(const fc_plan *plan) {
  gint64 total = plan->links[plan->n].extent[plan->cut];
  gboolean single = total >= 0 && total <= plan->chunk && fc_plan_frames(plan) <= 1 && !plan->measures;
  return plan->alone || single ? 1 : FC_SLOTS;
}

static double link_bytes(const fc_plan *plan, guint link) {
  fc_buffer b = {0};
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, link, capacity);
  if (fc_buffer_layout(&b, &plan->links[link], capacity)) return (double)b.bytes;
  double bytes = (double)fc_dtype_size(plan->links[link].dtype); /* more than can be addressed */
  for (int a = 0; a < FC_AXES; a++) bytes *= (double)MAX(capacity[a], 1);
  return bytes;
}

/* In the memory of the device that the plan is for. */
static double runner_bytes(const fc_plan *plan) {
  guint root = fc_plan_output_root(plan), slots = fc_plan_slots(plan);
  double total = slots * link_bytes(plan, 0);
  for (guint l = 1; l <= root; l++)
    if (l == root || !plan->stages[l - 1].passthrough) total += link_bytes(plan, l) * (l == root ? slots : 1);
  return total;
}

/* Beside a device: pinned twins of its input and output, and what stages without a version for it work in. */
static double twin_bytes(const fc_plan *plan) {
  double total = fc_plan_slots(plan) * (link_bytes(plan, 0) + link_bytes(plan, plan->n));
  for (guint s = 0; s < plan->n; s++)
    if (plan->stages[s].on_host) total += link_bytes(plan, s) + link_bytes(plan, s + 1);
  return total;
}

double fc_plan_host_bytes(const fc_plan *plan) {
  return plan->device == FC_HOST ? runner_bytes(plan) : twin_bytes(plan);
}

/* With room for notes and for rounding up. */
gsize fc_plan_pinned_bytes(const fc_plan *plan) {
  return (gsize)twin_bytes(plan) + 64 * 1024;
}

const char *fc_plan_unit(const fc_plan *plan, gint64 count) {
  if (count == 1) return plan->cut == FC_AXIS_X ? "frame" : plan->cut == FC_AXIS_Y ? "row" : "image";
  return plan->cut == FC_AXIS_X ? "frames" : plan->cut == FC_AXIS_Y ? "rows" : "images";
}

double fc_plan_bytes(const fc_plan *plan) {
  return runner_bytes(plan) + (plan->device == FC_HOST ? 0 : twin_bytes(plan)) + plan->scratch;
}

/* Bytes of the widest link a chunk: small enough on the CPU that a chunk's links stay
 * in the caches, large enough to hide a launch on a GPU. A thread's share of a chunk must be worth waking it
 * for: over an hour of sound ten operators take 32 threads 0.79 s in shares of 128 KB, and 0.5 s in four
 * times that. A signal has several chunks for all that, or reading and writing would wait for one another. */
#define CPU_CHUNK_BYTES (1 << 20)
#define CPU_SHARE_BYTES (512 << 10)
#define CPU_CHUNK_MOST  (16 << 20)
#define CPU_CHUNKS      8
#define CPU_ALONE_BYTES (4 << 20) /* what a worker begins and ends with costs more than the caches */
#define GPU_CHUNK_BYTES (16 << 20)
#define BAND_BYTES      (16 << 20) /* of an image: most are less, and gain nothing by further threads */

/* ---- device ----------------------------------------------------------- */

/*
 * Rates that the prediction goes by. Files are read and written beside, from and to the page cache at 3 GB/s
 * (slower media and codecs take longer on either device); a run takes no less.
 * Start-up of a GPU: device count, context, first allocation and what the process takes to end, measured 0.28
 * to 0.4 s on H200 machines. Transfers: 50 GB/s pinned over PCIe 5; 20 GB/s is what PCIe 4 gives. Pinned
 * memory is made at 7 GB/s; a stream takes a little of it, and so do bands of an image; one that is not cut
 * is in it whole, and then transfers and filters follow one another. CPU: 10 Gflop/s and 4 GB/s a thread are
 * what the vectorised filters reach with AVX2 on ordinary cores. tests/bench/device_sweep.py tells how right
 * it is.
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

void fc_plan_predict(const fc_plan *plan, int threads, double *cpu, double *gpu) {
  double flops = 0, bytes = 0, up = 0, down = 0;
  for (guint l = 0; l <= plan->n; l++) {
    gint64 along = plan->links[l].extent[plan->cut];
    double count = (double)elements(&plan->links[l], plan->cut, along < 0 ? 0 : along);
    double size = count * (double)fc_dtype_size(plan->links[l].dtype);
    if (l == 0) up = size;
    if (l == plan->n) down = size;
    if (l > 0) flops += count * plan->stages[l - 1].work;
    bytes += 2 * size;
  }
  int n = fc_pool_size(threads);
  double files = plan->files ? MAX(up, down) / FILES : 0;
  *cpu = MAX(files, MAX(bytes / (CPU_MEMORY * n), flops / (CPU_FLOPS * n)));
  double filter = MAX(bytes / GPU_MEMORY, flops / GPU_FLOPS);
  if (is_single(plan))
    *gpu = GPU_START + (up + down) / GPU_PINNED + MAX(files, (up + down) / GPU_TRANSFER + filter);
  else
    *gpu = GPU_START + MIN(up + down, GPU_STREAMS) / GPU_PINNED +
           MAX(files, MAX(MAX(up, down) / GPU_TRANSFER, filter));
}

static void set_reason(fc_plan *plan, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void set_reason(fc_plan *plan, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_free(plan->reason);
  plan->reason = g_strdup_vprintf(format, arguments);
  va_end(arguments);
}

static const char *lacking(const fc_plan *plan, gboolean cuda) {
  for (guint s = 0; s < plan->n; s++)
    if (plan->stages[s].op && !fc_backend_for(plan->stages[s].op, cuda ? FC_KIND_CUDA : FC_KIND_HOST))
      return plan->stages[s].name;
  return NULL;
}

static gboolean use_cuda(fc_plan *plan, int ordinal, gboolean touch, GError **error) {
  g_autofree char *why = NULL;
  int count = touch ? fc_cuda_device_count(&why) : ordinal + 1;
  if (ordinal >= count) {
    if (count == 0) return fc_fail(error, FC_DEVICE, "no CUDA device: %s", why ? why : "none found");
    return fc_fail(error, FC_DEVICE, "no device cuda:%d: this machine has %d", ordinal, count);
  }
  plan->device = FC_CUDA_DEVICE(ordinal);
  for (guint s = 0; s < plan->n; s++) {
    fc_plan_stage *ps = &plan->stages[s];
    const fc_backend *cuda = ps->op ? fc_backend_for(ps->op, FC_KIND_CUDA) : NULL;
    ps->on_host = ps->op && !cuda;
    if (touch && cuda && cuda->probe) {
      fc_status status = cuda->probe(&ps->stage->host.base, plan->device);
      if (status == FC_UNSUPPORTED && fc_backend_for(ps->op, FC_KIND_HOST))
        ps->on_host = TRUE,
        fc_stage_host_check(&ps->stage->host, ps->name, "looking at the device", FC_OK, NULL);
      else if (!fc_stage_host_check_on(&ps->stage->host, ps->name, plan->device, "looking at the device",
                                       status, error))
        return FALSE;
    }
  }
  return TRUE;
}

static gboolean choose_auto(fc_plan *plan, const fc_options *options, gboolean touch) {
  const char *needs_gpu = lacking(plan, FALSE);
  double cpu, gpu;
  fc_plan_predict(plan, options ? options->threads : 0, &cpu, &gpu);
  plan->device_auto = TRUE;
  plan->device = FC_HOST;
  gboolean unknown = plan->links[0].extent[plan->cut] < 0;
  if (!needs_gpu && (unknown || cpu <= gpu)) {
    if (unknown)
      set_reason(plan, "the length of the input is not known, so a GPU may not repay its start-up");
    else
      set_reason(plan, "predicted %.3g s on the CPU, %.3g s on a GPU with its start-up", cpu, gpu);
    return TRUE;
  }
  if (!fc_has_cuda() || !fc_cuda_driver_present()) {
    set_reason(plan, fc_has_cuda() ? "there is no CUDA driver" : "this build has no CUDA backend");
    return TRUE;
  }
  g_autoptr(GError) error = NULL;
  if (use_cuda(plan, 0, touch, &error)) {
    if (needs_gpu)
      set_reason(plan, "%s runs on a GPU only", needs_gpu);
    else
      set_reason(plan, "predicted %.3g s on a GPU with its start-up, %.3g s on the CPU", gpu, cpu);
  } else {
    plan->device = FC_HOST;
    set_reason(plan, "%s", error->message);
  }
  return TRUE;
}

/* Single images do, and frames of a batch that would be more than a chunk each. */
static gboolean goes_by_rows(const fc_plan *plan, const fc_options *options) {
  double widest = 0;
  gint64 frames = plan->links[0].extent[FC_AXIS_N];
  for (guint l = 0; l <= plan->n; l++) {
    const fc_format *f = &plan->links[l];
    if (f->extent[FC_AXIS_N] != frames) return FALSE;
    widest = MAX(widest, (double)elements(f, FC_AXIS_N, 1) * (double)fc_dtype_size(f->dtype));
  }
  return plan->cut == FC_AXIS_N &&
         (frames == 1 || (frames > 1 && widest > BAND_BYTES && !(options && options->chunk > 0)));
}

gboolean fc_plan_choose_device(fc_plan *plan, const fc_options *options, gboolean touch, GError **error) {
  const char *device = options && options->device ? options->device : "auto";
  if (plan->rows && goes_by_rows(plan, options)) cut_rows(plan);
  if (strcmp(device, "auto") == 0) {
    choose_auto(plan, options, touch);
  } else if (strcmp(device, "cpu") == 0) {
    plan->device = FC_HOST;
    set_reason(plan, "as asked for");
  } else if (g_str_has_prefix(device, "cuda") &&
             (device[4] == 0 || (device[4] == ':' && g_ascii_isdigit(device[5])))) {
    char *end = NULL;
    guint64 ordinal = device[4] ? g_ascii_strtoull(device + 5, &end, 10) : 0;
    if ((end && *end) || ordinal > 1023)
      return fc_fail(error, FC_INVALID, "unknown device \"%s\": expected auto, cpu, cuda or cuda:N", device);
    if (!use_cuda(plan, (int)ordinal, touch, error)) return FALSE;
    set_reason(plan, "as asked for");
  } else {
    return fc_fail(error, FC_INVALID, "unknown device \"%s\": expected auto, cpu, cuda or cuda:N", device);
  }
  const char *name = lacking(plan, FALSE);
  if (plan->device == FC_HOST && name)
    return fc_fail(error, FC_UNSUPPORTED, "%s: has no CPU version, and there is no GPU for it (%s)", name,
                   plan->reason);
  return TRUE;
}

gboolean fc_plan_may_leave_device(const fc_plan *plan, const GError *why) {
  gboolean failed = g_error_matches(why, FC_ERROR, FC_DEVICE) || g_error_matches(why, FC_ERROR, FC_NO_MEMORY);
  return failed && plan->device_auto && plan->device != FC_HOST && !lacking(plan, FALSE);
}

void fc_plan_leave_device(fc_plan *plan, const GError *why) {
  fc_chain_release_prepared(plan->chain);
  plan->device = FC_HOST;
  for (guint s = 0; s < plan->n; s++) plan->stages[s].on_host = FALSE;
  set_reason(plan, "the GPU failed (%s)", why->message);
}

/* ---- chunks ----------------------------------------------------------- */

/* Blocks that stages work in, one after another each: at least so many, and one for each thread where those
 * are no more than this. */
#define CPU_CHUNK_BLOCKS 4
#define CPU_BLOCKS_MOST  (32 << 20)

/* The shortest chunk that a halo is worth, in halos: at most an eighth is computed twice. */
#define HALO_WORTH 8

/* Elements of a link that lie side by side at one place of the cut axis, borders and all. */
static double across(const fc_plan *plan, guint link) {
  double count = 1;
  for (int a = 0; a < FC_AXES; a++)
    if (a != (int)plan->cut) count *= (double)MAX(capacity_of(plan, link, a), 0);
  return count;
}

/* For a signal that the CPU filters in blocks of so many bytes. Of a pipe's sound, which may be live, no more
 * than must be: what comes out is a chunk behind what goes in. */
static double cpu_chunk_bytes(const fc_plan *plan, int threads, double per_element, double block) {
  int n = fc_pool_size(threads);
  gint64 extent = plan->links[0].extent[plan->cut];
  if (extent < 0) return CPU_CHUNK_BYTES;
  double shares = CLAMP((double)CPU_SHARE_BYTES * n, CPU_CHUNK_BYTES, CPU_CHUNK_MOST);
  double each = MIN(block * n, CPU_BLOCKS_MOST);
  double wanted = each < 1 ? shares : ceil(shares / each) * each;
  return MAX(MIN(wanted, (double)extent * per_element / CPU_CHUNKS), CPU_CHUNK_BYTES);
}

static gint64 natural_chunk(const fc_plan *plan, int threads) {
  double per_element = 1;
  gint64 halo = 0, align = 1;
  for (guint l = 0; l <= plan->n; l++) {
    double bytes = across(plan, l) * (double)fc_dtype_size(plan->links[l].dtype);
    per_element = MAX(per_element, bytes);
    if (l == plan->n) break;
    const fc_reach *r = &plan->stages[l].reach[plan->cut];
    halo += MAX(fc_scale_ceil(MAX(r->before, 0) + MAX(r->after, 0), r->den, r->num), 0);
    align = MAX(align, r->align);
  }
  double budget = plan->alone               ? CPU_ALONE_BYTES
                  : plan->device != FC_HOST ? GPU_CHUNK_BYTES
                  : plan->cut == FC_AXIS_Y
                      ? BAND_BYTES
                      : cpu_chunk_bytes(plan, threads, per_element, (double)align * per_element);
  gint64 chunk = (gint64)MAX(budget / per_element, 1);
  if (plan->cut == FC_AXIS_X) chunk = MAX(chunk, 1024);
  chunk = MAX(chunk, HALO_WORTH * halo);
  if (plan->device == FC_HOST && !plan->alone && align > 1) chunk = MAX(chunk, CPU_CHUNK_BLOCKS * align);
  return (chunk + align - 1) / align * align;
}

/* The stage whose input is mostly border, if one's is, in words. */
static char *wide_border(const fc_plan *plan) {
  static const char *const lines[FC_AXES] = {"a batch", "columns", "rows", "pixels"};
  const fc_plan_stage *widest = NULL;
  double most = 1;
  int axis = 0;
  for (guint s = 0; s < plan->n; s++)
    for (int a = 0; a < FC_AXES; a++) {
      const fc_reach *r = &plan->stages[s].reach[a];
      gint64 extent = plan->links[s].extent[a];
      double halo = r->before == FC_WHOLE || r->after == FC_WHOLE ? 0 : (double)r->before + (double)r->after;
      if (extent < 0 || halo <= most * (double)MAX(extent, 1)) continue;
      most = halo / (double)MAX(extent, 1), widest = &plan->stages[s], axis = a;
    }
  if (!widest) return g_strdup("");
  const fc_reach *r = &widest->reach[axis];
  const fc_format *in = &plan->links[widest - plan->stages];
  return g_strdup_printf(": %s looks at %" G_GINT64_FORMAT " values before and %" G_GINT64_FORMAT
                         " after each, in %s of %" G_GINT64_FORMAT,
                         widest->name, r->before, r->after, in->kind == FC_AUDIO ? "a sound" : lines[axis],
                         in->extent[axis]);
}

static gboolean fits(const fc_plan *plan) {
  return fc_plan_host_bytes(plan) <= (double)plan->chain->context->max_memory;
}

static gboolean check_fits(const fc_plan *plan, GError **error) {
  double need = fc_plan_host_bytes(plan), most = (double)plan->chain->context->max_memory;
  if (fits(plan)) return TRUE;
  g_autofree char *border = wide_border(plan), *takes = fc_size_for_message(need),
                  *limit = fc_size_for_message(most);
  return fc_fail(error, FC_NO_MEMORY,
                 "this would take %s of memory and the limit is %s (--max-memory sets it)%s", takes, limit,
                 *border       ? border
                 : plan->whole ? ": a stage needs the whole signal at once"
                               : "");
}

/* Half of the limit is left for what operators work in, which is not known before they are prepared; but
 * where borders take more than chunks, shorter ones would cost time and save nothing. */
#define ROOM_FOR_SCRATCH 0.5

static void leave_room(fc_plan *plan) {
  const double room = ROOM_FOR_SCRATCH * (double)plan->chain->context->max_memory;
  double need = fc_plan_host_bytes(plan);
  while (plan->chunk > 1 && need > room) {
    gint64 was = plan->chunk;
    plan->chunk /= 2;
    double less = fc_plan_host_bytes(plan);
    if (less > need * (1 - FC_LEAST_WORTH_SAVING)) {
      plan->chunk = was;
      return;
    }
    need = less;
  }
}

/* Several chunks are held at a time, so that a signal that was one may take more in pieces: then, if neither
 * fits, it is the whole that is told of. */
static void shrink_to_fit(fc_plan *plan, gboolean asked_for) {
  gint64 wanted = plan->chunk;
  double need = fc_plan_host_bytes(plan);
  while (plan->chunk > 1 && !fits(plan)) plan->chunk /= 2;
  if (!fits(plan) && fc_plan_host_bytes(plan) > need)
    plan->chunk = wanted;
  else if (!asked_for)
    leave_room(plan);
}

gboolean fc_plan_choose_chunk(fc_plan *plan, const fc_options *options, guint halvings, GError **error) {
  gint64 total = plan->links[plan->n].extent[plan->cut];
  if (plan->whole) {
    plan->freely = plan->chunk = MAX(total, 1);
    if (halvings)
      return fc_fail(error, FC_NO_MEMORY, "not enough memory, and a stage needs the whole signal at once");
    return check_fits(plan, error);
  }
  plan->chunk =
      options && options->chunk > 0 ? options->chunk : natural_chunk(plan, options ? options->threads : 0);
  /* No more than there is: measuring stages make room for a chunk of their own. */
  gint64 most = 1;
  for (guint l = 0; l <= plan->n && most >= 0; l++) {
    gint64 extent = plan->links[l].extent[plan->cut];
    most = extent < 0 ? -1 : MAX(most, extent);
  }
  if (most > 0) plan->chunk = MIN(plan->chunk, most);
  plan->freely = plan->chunk;
  plan->chunk >>= halvings;
  if (plan->chunk < 1)
    return fc_fail(error, FC_NO_MEMORY, "not enough memory for even one element at a time");
  shrink_to_fit(plan, options && options->chunk > 0);
  return check_fits(plan, error);
}

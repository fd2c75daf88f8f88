/* SPDX-License-Identifier: MIT */
/*
 * size.c - how much of each link a chunk can need, the size of chunks, and how many threads work on how many
 * chunks at a time.
 *
 * On the CPU a worker takes a chunk through all stages, so that it stays in the caches of its core. Where
 * chunks must be large (long blocks, a stage that needs the whole signal) one is processed at a time, and the
 * threads share its tiles.
 */
#include "core/base/error.h"
#include "core/base/pool.h"
#include "core/plan/plan.h"

#include <math.h>

/* ---- lengths -------------------------------------------------------------- */

gint64 fc_plan_frames(const fc_plan *plan) {
  return plan->cut == FC_AXIS_Y ? plan->links[0].extent[FC_AXIS_N] : 1;
}

gint64 fc_plan_extent(const fc_plan *plan, int side) {
  const fc_format *f = side < 0 ? &plan->links[0] : &plan->sides[side].format;
  return f->extent[side < 0 ? plan->cut : fc_stream_axis(f->kind)];
}

gint64 fc_plan_stretch(const fc_plan *plan, guint link) {
  gint64 length = plan->chunk;
  for (guint s = plan->n; s-- > link;) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    if (plan->stages[s].part == FC_PART_MAKE)
      length = plan->stretch;
    else if (!fc_reach_is_whole(r))
      length = fc_scale_floor(length, r->num, r->den);
  }
  return MAX(length, 1);
}

/* How far a stage reads beyond the ends of its input, for any output. */
static gint64 overhang(const fc_reach *r, gint64 in_extent, gint64 out_extent) {
  if (fc_reach_is_whole(r)) return 0;
  return MAX(r->before, 0) + fc_reach_beyond(r, in_extent, out_extent);
}

/* Upper bound on how much a chunk's range of a stage's input overlaps that of earlier chunks, if that of
 * its output overlaps by `overlap`: blocks are whole, a scaled range begins and ends within an element,
 * halos overlap, and a border reads as far inside as it extends outside. */
static gint64 overlap_before(const fc_reach *r, gint64 align, int border, gint64 overlap, gint64 in_extent,
                             gint64 out_extent) {
  if (fc_reach_is_whole(r)) return in_extent;
  if (align > 1) overlap = fc_scale_floor(overlap + 2 * (align - 1), 1, align) * align;
  overlap = fc_scale_ceil(overlap, r->num, r->den) + (r->num != r->den);
  overlap += MAX(r->before + r->after, 0);
  /* The last element, which may lie before all that is looked at. */
  if (border == FC_BORDER_REPLICATE) overlap = MAX(overlap, 1 + MAX(-r->before, 0));
  if (border == FC_BORDER_REFLECT || border == FC_BORDER_REFLECT101)
    overlap = MAX(overlap, overhang(r, in_extent, out_extent) + 1);
  return in_extent >= 0 ? MIN(overlap, in_extent) : overlap;
}

/* May more have been read when an end is known than a chunk then looks at, and a stage that measures be shown
 * the rest behind it? */
static gboolean ends_late(const fc_plan *plan) {
  gboolean late = plan->links[0].extent[plan->cut] < 0;
  for (guint k = 0; k < plan->n_sides; k++) late |= fc_plan_extent(plan, (int)k) < 0;
  return late && plan->measures;
}

/* `read`: by what comes of a source, not of a stage, which can be asked again for what it has not made. */
static gint64 span_of(const fc_plan *plan, guint link, gboolean read) {
  const gboolean late = read && ends_late(plan);
  gint64 span = 0;
  for (guint s = plan->n; s-- > link;) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    if (plan->stages[s].part == FC_PART_MAKE) {
      span = 0;
      continue;
    }
    span = overlap_before(r, r->align, plan->stages[s].border, span, plan->links[s].extent[plan->cut],
                          plan->links[s + 1].extent[plan->cut]);
    /* The rest is less than another block would take: else it would have been made. */
    if (late && !fc_reach_is_whole(r)) span += fc_scale_ceil(r->align, r->num, r->den);
  }
  return span;
}

gint64 fc_plan_span(const fc_plan *plan, guint link) {
  return span_of(plan, link, link == 0);
}

gint64 fc_plan_side_span(const fc_plan *plan, guint k) {
  const fc_plan_side *side = &plan->sides[k];
  if (side->random) return 0;
  return overlap_before(&side->reach[plan->cut], plan->stages[side->stage].reach[plan->cut].align,
                        side->border, span_of(plan, side->stage + 1, TRUE), side->format.extent[plan->cut],
                        plan->links[side->stage + 1].extent[plan->cut]);
}

gint64 fc_plan_past(const fc_plan *plan, guint s) {
  return fc_plan_span(plan, s + 1) + plan->stages[s].reach[plan->cut].align - 1;
}

/* Samples may become frames and, later, samples again (stft, istft). */
gboolean fc_plan_lead(const fc_plan *plan, gint64 *lead) {
  double shift = 0, scale = 1; /* shift in frames of the input; input frames per element of the link */
  *lead = 0;
  for (guint s = 0; s < plan->n; s++) {
    const fc_reach *r = &plan->stages[s].reach[FC_AXIS_X];
    gboolean moves = r->before == -r->after && r->num == r->den;
    gint64 in = plan->links[s].extent[FC_AXIS_X], out = plan->links[s + 1].extent[FC_AXIS_X];
    if (plan->stages[s].generator || plan->stages[s].turned || fc_reach_is_whole(r) ||
        (r->num == r->den && !moves && in != out))
      return FALSE;
    if (moves) shift += (double)r->after * scale;
    scale *= (double)r->num / (double)r->den;
  }
  *lead = llround(shift);
  return fabs(scale - 1) < 1e-9;
}

/* ---- capacities ------------------------------------------------------------ */

gboolean fc_plan_shows_all(const fc_plan *plan, guint s, int axis) {
  const fc_plan_stage *ps = &plan->stages[s];
  const int kind = plan->links[s + 1].kind;
  const gboolean foreign = (plan->cut == FC_AXIS_X) != (kind == FC_AUDIO);
  if (axis == FC_AXIS_N && plan->cut == FC_AXIS_Y) return FALSE; /* frames go one by one */
  if (axis != (int)plan->cut) return ps->measure_bytes || ps->carry_bytes;
  return ps->measure_bytes && foreign;
}

/* How much of link `l` its producer makes when `asked` of it is read: it works in blocks; a stage that
 * measures or carries state also makes what later stages skip, and some past output of the latter is kept. */
static gint64 widened(const fc_plan *plan, guint l, int axis, gint64 asked, gint64 gap) {
  const fc_plan_stage *ps = &plan->stages[l - 1];
  const gboolean cut = axis == (int)plan->cut;
  gint64 align = ps->reach[axis].align, made = asked;
  if ((ps->measure_bytes || ps->carry_bytes) && cut) made = MAX(made + gap, fc_plan_stretch(plan, l));
  if (ps->carry_bytes && cut) made += fc_plan_past(plan, l - 1);
  if (fc_plan_shows_all(plan, l - 1, axis)) made = MAX(made, plan->links[l].extent[axis]);
  return align > 1 ? made + 2 * align : made;
}

/* An upper bound on how much of `link` is held at a time and (made_most) computed, derived from the last
 * link backwards. */
static gint64 capacity_of(const fc_plan *plan, guint link, int axis, gint64 *made_most) {
  gint64 extent = plan->links[plan->n].extent[axis];
  gboolean cut = axis == (int)plan->cut, one = axis == FC_AXIS_N && plan->cut == FC_AXIS_Y;
  gint64 made = one ? 1 : cut && (extent < 0 || plan->chunk < extent) ? plan->chunk : extent;
  gint64 held = made, gap = 0, out = 0;
  for (guint l = plan->n;; l--) {
    if (l > 0) {
      gint64 end = plan->links[l].extent[axis], more = widened(plan, l, axis, made, gap);
      /* `made` is limited to the signal; what is read may extend beyond its other end. */
      gint64 most = end >= 0 && out == 0 ? MIN(more, end) : more;
      held += MAX(most - made, 0);
      /* The part of the read range inside the signal may be less than `made` allows. */
      if (more > made || fc_plan_shows_all(plan, l - 1, axis))
        held = MAX(held, (end >= 0 ? MIN(more, end) : more) + out);
      made = end >= 0 ? MIN(MAX(more, made), end) : MAX(more, made);
    }
    if (l == link) break;
    const fc_plan_stage *ps = &plan->stages[l - 1];
    const fc_reach *r = &ps->reach[axis];
    gint64 before = plan->links[l - 1].extent[axis], after = plan->links[l].extent[axis];
    if (ps->part == FC_PART_MAKE) { /* what is ahead of it is run by itself */
      held = made = cut ? MIN(plan->stretch, before) : before;
      gap = out = 0;
      continue;
    }
    gint64 longest = ps->generator ? 0 : fc_reach_longest(r, ps->border, made, before, after);
    if (!fc_reach_is_whole(r)) {
      gap = fc_scale_ceil(gap, r->num, r->den) + MAX(-(r->before + r->after), 0) + 1;
    }
    if (!ps->passthrough) out = overhang(r, before, after);
    made = before >= 0 ? MIN(longest, before) : longest;
    held = ps->passthrough ? MAX(longest, held) : longest;
  }
  if (made_most) *made_most = made;
  if (plan->n && plan->stages[0].generator && link == 0) return 0;
  if (link == 0 && cut) held += 2 * plan->slack;
  /* The source delivers whole frames, and the whole signal where a stage needs it. */
  if (link == 0 && !one && (!cut || plan->whole)) held = MAX(held, MAX(plan->links[0].extent[axis], 0) + out);
  return held;
}

void fc_plan_capacity(const fc_plan *plan, guint link, gint64 capacity[FC_AXES]) {
  for (int a = 0; a < FC_AXES; a++) capacity[a] = capacity_of(plan, link, a, NULL);
}

void fc_plan_side_capacity(const fc_plan *plan, guint k, gint64 capacity[FC_AXES]) {
  const fc_plan_side *side = &plan->sides[k];
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &side->reach[a];
    gint64 made, extent = side->format.extent[a];
    capacity_of(plan, side->stage + 1, a, &made);
    const int border =
        side->random ? FC_BORDER_NONE : side->border; /* such a side is copied, with nothing in between */
    capacity[a] = fc_reach_longest(r, border, made, extent, plan->links[side->stage + 1].extent[a]);
    if (side->random) continue;
    if (a == (int)plan->cut && plan->reflects) capacity[a] += 2 * fc_plan_side_span(plan, k);
    /* Sources deliver all of the other axes, and what was read stays while neighbours look at it. */
    gboolean whole = a != (int)plan->cut && !(a == FC_AXIS_N && plan->cut == FC_AXIS_Y);
    if (whole && a != FC_AXIS_C)
      capacity[a] += MAX(extent, 0);
    else if (whole && !fc_reach_is_whole(r)) { /* no more: frames of sound are packed, if they can be */
      const gint64 end = fc_scale_ceil(plan->links[side->stage + 1].extent[a], r->num, r->den) + r->after;
      capacity[a] = MAX(r->before, 0) + MAX(end, extent);
    }
  }
}

guint fc_plan_output_root(const fc_plan *plan) {
  guint root = plan->n;
  while (root > 0 && plan->stages[root - 1].passthrough) root--;
  return root;
}

/* ---- bytes ------------------------------------------------------------------ */

static gboolean is_single(const fc_plan *plan) {
  gint64 total = plan->links[plan->n].extent[plan->cut];
  return total >= 0 && total <= plan->chunk && fc_plan_frames(plan) <= 1 && !plan->measures && !plan->carries;
}

guint fc_plan_workspaces(const fc_plan *plan) {
  return plan->n_devices ? plan->n_devices : (guint)MAX(plan->crew, 1);
}

guint fc_plan_slots(const fc_plan *plan) {
  if (is_single(plan) || (plan->n_devices == 0 && plan->borrowed)) return 1;
  /* With several workers, one slot is computed while another waits to be written. */
  return plan->n_devices == 0 && plan->crew > 1 ? 2 : FC_SLOTS;
}

static double bytes_of(const fc_format *f, const gint64 capacity[FC_AXES]) {
  fc_buffer b = {0};
  if (fc_buffer_layout(&b, f, capacity)) return (double)b.bytes;
  double bytes = (double)fc_dtype_size(f->dtype); /* larger than the address space */
  for (int a = 0; a < FC_AXES; a++) bytes *= (double)MAX(capacity[a], 1);
  return bytes;
}

static double link_bytes(const fc_plan *plan, guint link) {
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, link, capacity);
  return bytes_of(&plan->links[link], capacity);
}

static double side_bytes(const fc_plan *plan) {
  double total = 0;
  for (guint k = 0; k < plan->n_sides; k++) {
    gint64 capacity[FC_AXES];
    fc_plan_side_capacity(plan, k, capacity);
    total += bytes_of(&plan->sides[k].format, capacity);
  }
  return total;
}

/* Of one workspace, in its device's memory. */
static double workspace_bytes(const fc_plan *plan) {
  guint root = fc_plan_output_root(plan), slots = fc_plan_slots(plan);
  double total = slots * (link_bytes(plan, 0) + side_bytes(plan));
  for (guint l = 1; l <= root; l++)
    if (l == root || !plan->stages[l - 1].passthrough) total += link_bytes(plan, l) * (l == root ? slots : 1);
  return total;
}

/* Besides a device: pinned copies of its inputs and output, and buffers for stages that run on the host. */
static double twin_bytes(const fc_plan *plan) {
  double total = fc_plan_slots(plan) * (link_bytes(plan, 0) + side_bytes(plan) + link_bytes(plan, plan->n));
  for (guint s = 0; s < plan->n; s++)
    if (plan->stages[s].on_host) total += link_bytes(plan, s) + link_bytes(plan, s + 1);
  return total;
}

double fc_plan_host_bytes(const fc_plan *plan) {
  return fc_plan_workspaces(plan) * (plan->n_devices ? twin_bytes(plan) : workspace_bytes(plan));
}

/* With room for notes and for rounding up; for one device. */
gsize fc_plan_pinned_bytes(const fc_plan *plan) {
  return (gsize)twin_bytes(plan) + 64 * 1024;
}

double fc_plan_bytes(const fc_plan *plan) {
  double host = fc_plan_host_bytes(plan) + plan->scratch;
  return plan->n_devices ? host + plan->n_devices * workspace_bytes(plan) : host;
}

double fc_plan_output_bytes(const fc_plan *plan) {
  const fc_format *f = &plan->links[plan->n];
  double bytes = plan->sample_bytes;
  for (int a = 0; a < FC_AXES; a++) bytes *= f->extent[a] < 0 ? -1 : (double)f->extent[a];
  return plan->links[0].extent[plan->cut] < 0 ? -1 : bytes;
}

const char *fc_plan_unit(const fc_plan *plan, gint64 count) {
  if (count == 1) return plan->cut == FC_AXIS_X ? "frame" : plan->cut == FC_AXIS_Y ? "row" : "image";
  return plan->cut == FC_AXIS_X ? "frames" : plan->cut == FC_AXIS_Y ? "rows" : "images";
}

/* How much more than the range of its output a stage reads; a mere shift (a crop) reads nothing more. */
static gint64 beside(const fc_reach *r) {
  return fc_reach_is_whole(r) ? 0 : MAX(r->before + r->after, 0);
}

double fc_plan_rework(const fc_plan *plan, guint stage) {
  double made = (double)plan->chunk, asked = (double)plan->chunk;
  const gint64 total = plan->links[plan->n].extent[plan->cut];
  if (total >= 0 && total <= plan->chunk) return 1; /* one chunk: nothing is computed twice */
  for (guint s = plan->n; s-- > stage;) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    if (fc_reach_is_whole(r)) return 1;
    const double align = (double)r->align;
    if (plan->stages[s].carry_bytes) made = asked; /* earlier output is kept */
    if (r->align > 1) made = ceil(made / align) * align + (made > asked ? align : 0);
    made = made * (double)r->num / (double)r->den + (double)beside(r);
    asked = asked * (double)r->num / (double)r->den;
  }
  return made / asked;
}

char *fc_plan_rework_text(const fc_plan *plan) {
  GString *s = g_string_new(NULL);
  for (guint i = 0; i < plan->n; i++) {
    const double times = fc_plan_rework(plan, i);
    if (times > 2)
      g_string_append_printf(s, "%s%s (stage %u)%s %.*f times", s->len ? ", " : "", plan->stages[i].name,
                             i + 1, s->len ? "" : " looks at each value", times < 10, times);
  }
  return g_string_free(s, s->len == 0);
}

/* ---- chunks ------------------------------------------------------------------ */

/* Bytes of the widest link per chunk: small enough on the CPU that a chunk's links stay in the caches,
 * large enough to hide a launch on a GPU. A worker that reads the caller's memory copies its edges first
 * and last, which costs more than the caches save. */
#define CPU_CHUNK_BYTES    (1 << 20)
#define CPU_BORROWED_BYTES (4 << 20)
#define CPU_CHUNK_MOST     (16 << 20) /* larger chunks are processed one at a time, by all threads */
#define GPU_CHUNK_BYTES    (16 << 20)

/* Minimum of blocks per chunk, for stages that work in blocks. */
#define CPU_CHUNK_BLOCKS 4

/* Minimum chunk length, in halos: so at most an eighth is computed twice. */
#define HALO_WORTH 8

/* Elements for which waking a thread pays. */
#define CHUNK_LEAST 16384

/* A common multiple of blocks is of use up to this many of the largest: in as many blocks others are computed
 * twice in part, a sixteenth of the work at most. */
#define MULTIPLE_WORTH 16
#define MULTIPLE_MOST  ((gint64)1 << 26)

/* What a chunk must be a multiple of, so that stages without a halo compute no block twice, or few. */
static gint64 find_multiple(const fc_plan *plan) {
  gint64 common = 1, largest = 1, num = 1, den = 1; /* common 0: too large */
  for (guint s = plan->n; s-- > 0;) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    /* An element of the last link corresponds to num/den of this stage's output. */
    gint64 divisor = fc_common_divisor(num, den);
    num /= divisor, den /= divisor;
    /* A survey's blocks are no whole number of samples, of which one is then made twice. */
    if (plan->surveyed && r->align == 1) den = 1;
    const gint64 align = r->align / fc_common_divisor(r->align, num) * den,
                 times = common ? align / fc_common_divisor(common, align) : 1;
    common = common > MULTIPLE_MOST / times ? 0 : common * times;
    largest = MAX(largest, align);
    if (fc_reach_is_whole(r) || num > MULTIPLE_MOST / r->num || den > MULTIPLE_MOST / r->den) break;
    num *= r->num, den *= r->den;
  }
  if (common && common / MULTIPLE_WORTH <= largest) return common;
  return largest > MULTIPLE_MOST / MULTIPLE_WORTH ? largest : largest * MULTIPLE_WORTH;
}

static gint64 round_up(gint64 length, gint64 multiple) {
  return fc_scale_ceil(length, 1, multiple) * multiple;
}

/* Elements of a link at one position of the cut axis, borders included. */
static double across(const fc_plan *plan, guint link) {
  double count = 1;
  for (int a = 0; a < FC_AXES; a++)
    if (a != (int)plan->cut) count *= (double)MAX(capacity_of(plan, link, a, NULL), 0);
  return count;
}

/* Elements of the widest link, or their bytes, per element of the last one. */
static double widest(const fc_plan *plan, gboolean bytes) {
  double most = 1, scale = 1;
  for (guint l = plan->n;; l--) {
    const double size = bytes ? (double)fc_dtype_size(plan->links[l].dtype) : 1;
    most = MAX(most, scale * across(plan, l) * size);
    if (l == 0) return most;
    const fc_reach *r = &plan->stages[l - 1].reach[plan->cut];
    if (!fc_reach_is_whole(r)) scale *= (double)r->num / (double)r->den;
  }
}

/* Sum of the halos of all stages, in elements of the last link. */
static gint64 halo_of(const fc_plan *plan) {
  gint64 halo = 0;
  for (guint s = 0; s < plan->n; s++) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    halo += fc_scale_ceil(beside(r), r->den, r->num);
  }
  return halo;
}

static gint64 natural_chunk(const fc_plan *plan) {
  double budget = plan->n_devices ? GPU_CHUNK_BYTES : plan->borrowed ? CPU_BORROWED_BYTES : CPU_CHUNK_BYTES;
  gint64 chunk = (gint64)MAX(budget / widest(plan, TRUE), 1);
  if (plan->cut == FC_AXIS_X && !plan->surveyed) chunk = MAX(chunk, 1024);
  chunk = MAX(chunk, HALO_WORTH * halo_of(plan));
  if (plan->n_devices == 0 && plan->multiple > 1) chunk = MAX(chunk, CPU_CHUNK_BLOCKS * plan->multiple);
  return round_up(chunk, plan->multiple);
}

/* Enough chunks that no worker waits long for others at the end, but not needlessly many. */
static gint64 share_out(const fc_plan *plan, gint64 chunk) {
  gint64 total = plan->links[plan->n].extent[plan->cut], halo = halo_of(plan);
  if (total < 0 || plan->threads <= 1) return chunk;
  gint64 share = MAX(fc_scale_ceil(total, 1, 2 * plan->threads), (gint64)(CHUNK_LEAST / widest(plan, FALSE)));
  if (share / HALO_WORTH < halo) share = MAX(share, fc_scale_ceil(total, 1, plan->threads));
  if (share / HALO_WORTH < halo / 4) return chunk;
  chunk = MAX(MIN(chunk, round_up(share, plan->multiple)), 1);
  if (chunk >= total) return chunk; /* too little to share */
  /* The same number for each worker, so that none works alone on a last short chunk. */
  gint64 round = chunk * plan->threads, rounds = (total + round / 2) / MAX(round, 1);
  if (rounds < 1 || (rounds == 1 && total > round + round / HALO_WORTH)) return chunk;
  return round_up(fc_scale_ceil(total, 1, rounds * plan->threads), plan->multiple);
}

/* One worker per chunk, or all workers on one. */
static int choose_crew(const fc_plan *plan) {
  gint64 total = plan->links[plan->n].extent[plan->cut];
  if (plan->n_devices || plan->whole || (double)plan->chunk * widest(plan, TRUE) > CPU_CHUNK_MOST) return 1;
  if (total < 0) return plan->threads;
  gint64 chunks = fc_scale_ceil(total, 1, MAX(plan->chunk, 1)) * MAX(fc_plan_frames(plan), 1);
  return (int)CLAMP(chunks, 1, plan->threads);
}

/* ---- live ------------------------------------------------------------------------ */

gint64 fc_plan_ahead(const fc_plan *plan) {
  gint64 ahead = 0;
  for (guint s = plan->n; s-- > 0;) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    ahead = fc_scale_ceil(ahead + r->align - 1, r->num, r->den) + MAX(r->after, 0) +
            (r->num > r->den ? (r->num - 1) / r->den : 0);
  }
  return ahead;
}

gint64 fc_plan_held(const fc_plan *plan, gint64 chunk) {
  gint64 end = chunk;
  for (guint s = plan->n; s-- > 0;) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    end = fc_scale_ceil(fc_scale_ceil(end, 1, r->align) * r->align, r->num, r->den) + MAX(r->after, 0);
  }
  return end;
}

static gint64 waits(const fc_plan_stage *ps, fc_axis cut) {
  return ps->reach[cut].align - 1 + MAX(ps->reach[cut].after, 0);
}

/* Elements of output that arrive in half of the latency; the other half remains for what a chunk waits
 * for: its turn, its computation, the pipes. 0 with an error where that is not possible. */
static gint64 live_chunk(const fc_plan *plan, double latency, GError **error) {
  const double rate = plan->links[plan->n && plan->stages[0].generator].rate;
  if (plan->cut != FC_AXIS_X || rate <= 0)
    return fc_fail(error, FC_INVALID, "--latency needs sound of a known sample rate"), 0;
  if (plan->whole)
    return fc_fail(error, FC_INVALID, "a stage needs the whole sound at once, so it cannot run live"), 0;
  const gint64 least = plan->multiple, room = (gint64)(latency * rate + 1e-6);
  const gint64 ahead = fc_plan_held(plan, least) - least;
  double half = MAX((double)(room - ahead), 0) / 2;
  for (guint s = 0; s < plan->n; s++)
    half *= (double)plan->stages[s].reach[plan->cut].den / (double)plan->stages[s].reach[plan->cut].num;
  const gint64 chunk = MAX((gint64)half / least * least, least);
  if (fc_plan_held(plan, chunk) <= room) return chunk;
  if (fc_plan_held(plan, least) <= room) return least;
  const fc_plan_stage *worst = plan->stages;
  for (const fc_plan_stage *ps = worst; ps < plan->stages + plan->n; ps++)
    if (waits(ps, plan->cut) > waits(worst, plan->cut)) worst = ps;
  return fc_fail(
             error, FC_INVALID,
             "the chain holds sound for %.3g ms, most of it for %s, and a latency of %.3g ms is asked for",
             (double)fc_plan_held(plan, least) / rate * 1e3, plan->n ? worst->name : "a copy", latency * 1e3),
         0;
}

/* ---- memory -------------------------------------------------------------------- */

/* Describes the stage whose input is mostly border, if there is one. */
static char *wide_border(const fc_plan *plan) {
  static const char *const lines[FC_AXES] = {"a batch", "columns", "rows", "pixels"};
  const fc_plan_stage *wide = NULL;
  double most = 1;
  int axis = 0;
  for (guint s = 0; s < plan->n; s++)
    for (int a = 0; a < FC_AXES; a++) {
      const fc_reach *r = &plan->stages[s].reach[a];
      gint64 extent = plan->links[s].extent[a];
      double halo = fc_reach_is_whole(r) ? 0 : (double)r->before + (double)r->after;
      if (extent < 0 || halo <= most * (double)MAX(extent, 1)) continue;
      most = halo / (double)MAX(extent, 1), wide = &plan->stages[s], axis = a;
    }
  if (!wide) return g_strdup("");
  const fc_reach *r = &wide->reach[axis];
  const fc_format *in = &plan->links[wide - plan->stages];
  return g_strdup_printf(": %s looks at %" G_GINT64_FORMAT " values before and %" G_GINT64_FORMAT
                         " after each, in %s of %" G_GINT64_FORMAT,
                         wide->name, r->before, r->after, in->kind == FC_AUDIO ? "a sound" : lines[axis],
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
                 "this needs %s of memory, and the limit is %s (--max-memory changes it)%s", takes, limit,
                 *border       ? border
                 : plan->whole ? ": a stage needs the whole signal at once"
                               : "");
}

gint64 fc_plan_half(const fc_plan *plan) {
  gint64 chunk = plan->chunk / 2;
  return chunk > plan->multiple ? fc_scale_floor(chunk, 1, plan->multiple) * plan->multiple : chunk;
}

/* Half of the limit is left for scratch, which is not known before operators are prepared; but if borders
 * need more memory than chunks, shorter chunks would cost time and save nothing. */
#define ROOM_FOR_SCRATCH 0.5

static void leave_room(fc_plan *plan) {
  const double room = ROOM_FOR_SCRATCH * (double)plan->chain->context->max_memory;
  double need = fc_plan_host_bytes(plan);
  while (plan->chunk > 1 && need > room) {
    gint64 was = plan->chunk;
    plan->chunk = fc_plan_half(plan);
    double less = fc_plan_host_bytes(plan);
    if (less > need * (1 - FC_LEAST_WORTH_SAVING)) {
      plan->chunk = was;
      return;
    }
    need = less;
  }
}

/* Fewer workers first, then smaller chunks. Several chunks are held at a time, so a signal that was one
 * chunk may need more memory in pieces: if neither fits, the error describes the whole. */
static void shrink_to_fit(fc_plan *plan, gboolean asked_for) {
  gint64 wanted = plan->chunk;
  while (plan->crew > 1 && !fits(plan)) plan->crew /= 2;
  double need = fc_plan_host_bytes(plan);
  while (plan->chunk > 1 && !fits(plan)) plan->chunk = fc_plan_half(plan);
  if (!fits(plan) && fc_plan_host_bytes(plan) > need)
    plan->chunk = wanted;
  else if (!asked_for)
    leave_room(plan);
}

static gboolean choose_chunk(fc_plan *plan, const fc_options *options, GError **error) {
  gint64 asked = options ? options->chunk : 0;
  const double latency = options ? options->latency : 0;
  plan->threads = fc_pool_size(options ? options->threads : 0);
  plan->crew = 1;
  if (plan->whole && latency <= 0) {
    plan->multiple = 1;
    plan->freely = plan->chunk = MAX(plan->links[plan->n].extent[plan->cut], 1);
    return check_fits(plan, error);
  }
  plan->multiple = find_multiple(plan), plan->asked = asked;
  plan->live = latency > 0;
  if (latency > 0 && !(asked = live_chunk(plan, latency, error))) return FALSE;
  plan->chunk = asked > 0 ? round_up(asked, plan->multiple) : natural_chunk(plan);
  /* At most the signal's length: measuring stages need room for a chunk of their own. */
  gint64 most = 1;
  for (guint l = 0; l <= plan->n && most >= 0; l++) {
    gint64 extent = plan->links[l].extent[plan->cut];
    if (l == 0 && plan->n && plan->stages[0].generator) continue;
    most = extent < 0 ? -1 : MAX(most, extent);
  }
  if (most > 0) plan->chunk = MIN(plan->chunk, most);
  if (asked <= 0 && plan->n_devices == 0) plan->chunk = share_out(plan, plan->chunk);
  plan->crew = choose_crew(plan);
  plan->freely = plan->chunk;
  shrink_to_fit(plan, asked > 0);
  return check_fits(plan, error);
}

/* The stages of a survey are a plan of their own, which ends where what has been seen is made something of;
 * that is one chunk. */
gboolean fc_plan_choose_chunk(fc_plan *plan, const fc_options *options, GError **error) {
  const guint n = plan->n, n_sides = plan->n_sides;
  if (!plan->surveyed) return choose_chunk(plan, options, error);
  plan->n = plan->surveyed;
  while (plan->n_sides && plan->sides[plan->n_sides - 1].stage >= plan->n) plan->n_sides--;
  const gboolean ok = choose_chunk(plan, options, error);
  plan->n = n, plan->n_sides = n_sides;
  plan->stretch = plan->chunk;
  plan->chunk = plan->freely = MAX(plan->links[n].extent[plan->cut], 1);
  return ok && check_fits(plan, error);
}

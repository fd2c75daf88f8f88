/* SPDX-License-Identifier: MIT */
/* vectors.c - see vectors.h. */
#include "core/compose/vectors.h"

#include <math.h>
#include <stdio.h>

#include "core/base/demand.h"
#include "core/contract/plugin.h"

enum {
  MARCH_THREADS = 128, /* at most; half as many where that is faster (fc_vectors_threads) */
  MARCH_SHARED = 48 << 10,
  MARCH_REGISTERS = 200
};

static gint64 up_to(gint64 n, gint64 multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

gint64 fc_vectors_begins_of(const void *data, const fc_view *v) {
  const gint64 all = 16 | (gint64)(guintptr)data | v->stride[FC_AXIS_Y] |
                     (v->shape[FC_AXIS_N] > 1 ? v->stride[FC_AXIS_N] : 0) |
                     (v->shape[FC_AXIS_C] > 1 ? v->stride[FC_AXIS_C] : 0);
  return all & -all;
}

gboolean fc_vectors_is_box(const fc_device_function *f) {
  return g_str_has_prefix(f->entry, "fc_box<");
}

gboolean fc_vectors_sums_rows(const fc_device_function *f) {
  return g_str_has_prefix(f->entry, "fc_separable<") || g_str_has_prefix(f->entry, "fc_box_sums<");
}

/* Words that a statistic keeps of each row, for a thread's vector (kept of box.cuh); else 0. */
static gint64 kept_of_row(const fc_vectors *w) {
  enum { SUM = 0, MEAN = 2, VAR = 3, STD = 4, LEAST = 6 };
  int which = 0, x = 0, y = 0, dtype = 0;
  if (sscanf(w->f->entry, "fc_box<%d,%d,%d,%d", &which, &x, &y, &dtype) != 4) return 0;
  if (which >= LEAST) return fc_dtype_is_float(dtype) ? w->v : w->v / 2;
  const gint64 sums = dtype == FC_U8 ? w->v / 2 : w->v;
  return which == SUM || which == MEAN ? sums : which == VAR || which == STD ? sums + w->v : w->v;
}

/* Rows of a window of fc_box_sums that registers keep, as FC_BOX_PART of box.cuh; the first part of a longer
 * one waits in shared memory. */
enum { SUMS_PART = 16 };

static gboolean is_box_of_sums(const fc_vectors *w) {
  return g_str_has_prefix(w->f->entry, "fc_box_sums<");
}

/* Bytes of shared memory that these rows take, for each thread. */
static gint64 ring_of(const fc_vectors *w) {
  const gint64 rows = is_box_of_sums(w) ? MAX(w->ny - SUMS_PART, 0) * w->v : kept_of_row(w) * w->ny;
  return w->few ? 0 : rows * 4;
}

/* Of a statistic windows that lie `step` apart share most of a row, and nothing is done for each row. */
gint64 fc_vectors_taps(const fc_vectors *w) {
  enum { DOWN = 6, EACH = 4 };
  const gint64 x = w->nx, y = w->ny, share = MIN(MAX(w->v / w->step, 1), x);
  if (is_box_of_sums(w)) return x + y / 4 + EACH;
  if (!fc_vectors_is_box(w->f)) return g_str_has_prefix(w->f->entry, "fc_dense") ? x * y : x + y;
  return (kept_of_row(w) > w->v ? 2 : 1) * ((x + share - 1) / share + 2) + DOWN;
}

/* Of march.cuh. */
static gboolean is_dense(const fc_vectors *w) {
  return !w->row && g_str_has_prefix(w->f->entry, "fc_dense");
}

static gboolean is_separable(const fc_vectors *w) {
  return !w->row && fc_vectors_sums_rows(w->f);
}

/* Elements of a row that a thread's windows see, by whole accesses. */
static gint64 seen_by_thread(const fc_vectors *w) {
  return w->v + (w->nx - 1) * w->step + 3;
}

/* Floats that a thread keeps in registers: its window, and the sums of all rows but one, or what waits for
 * them; of a statistic those of one row. Of a single row the compiler loads the window bit by bit. */
static gint64 kept(const fc_vectors *w) {
  const gint64 x = w->nx, y = is_box_of_sums(w) ? MIN(w->ny, SUMS_PART + 1) : w->ny,
               runs = x * y > FC_FUNCTION_DENSE_RUN && g_str_has_prefix(w->f->entry, "fc_dense")
                          ? MAX(y - 1 - FC_FUNCTION_DENSE_RUN / x, 0)
                          : 0;
  const gboolean waits = g_str_has_prefix(w->f->entry, "fc_sharpened");
  const gint64 seen = seen_by_thread(w);
  if (w->few) /* few.cuh: what is made of each row, of columns too */
    return up_to(seen, 4) + w->v * (is_dense(w) ? 2 : (fc_vectors_is_box(w->f) ? 2 : 1) * (w->few + 1));
  return up_to(y == 1 && !w->row ? MIN(seen, 64) : seen, 4) +
         (fc_vectors_is_box(w->f) ? 3 * kept_of_row(w) : w->v * (y - 1 + (waits ? y / 2 : runs)));
}

/* Whether that is possible. Of a row that is summed by itself a part is enough, where it is long because of
 * other channels: 31 taps of three and four take 214 to 248 registers. */
static gboolean fits_registers(const fc_vectors *w) {
  enum { PART = 64 };
  const gint64 seen = up_to(seen_by_thread(w), 4);
  return kept(w) - (is_separable(w) && w->v == 4 && !w->cell ? MAX(seen - PART, 0) : 0) <= MARCH_REGISTERS;
}

/* Whether march.cuh loads the samples of a row one by one (fc_march_units): u16 by 19 + 17 taps, 114 wide,
 * took 218 us by vectors and 127, 14 + 16 taps 289 wide 176 and 143; but bytes in long rows by 5 + 5 taps 47
 * and 68. */
static gboolean may_be_by_units(const fc_vectors *w) {
  const gsize size = fc_dtype_size(w->in_dtype);
  return w->ui == 1 && w->um == 1 && (size == 2 || (size == 1 && w->cell));
}
static gboolean is_by_units(const fc_vectors *w) {
  return w->apart || (w->loose[0] && may_be_by_units(w));
}

/* Bytes of a thread's vector of inputs, of outputs. */
static gint64 bytes_of(const fc_vectors *w, int side) {
  return side ? w->v * w->uo / w->um * (gint64)fc_dtype_size(w->out_dtype)
              : w->v * w->ui / w->um * (gint64)fc_dtype_size(w->in_dtype);
}

gint64 fc_vectors_moved(const fc_vectors *w, int side) {
  const gint64 bytes = bytes_of(w, side);
  if (w->apart) return 0;
  return MIN(bytes & -bytes, 16) <= w->begins[side] ? 16 : w->begins[side] >= 8 ? 8 : 1;
}

/* Whether samples may be copied into shared memory: aligned floats that remain as they are, where registers
 * are short, but not as short that no more warps run. 16384 x 16384 by 9 + 9 taps took 562 us by registers,
 * 582 copied; 15 + 15 561, 555; 25 + 25 778, 680; 31 + 31 892, 990; the mean of 15 x 15 603, 551; 31 down
 * columns 648, 591, but 25, 30 M, 75, 77; stereo by 19 + 19 88, 106 (H200). */
static gboolean may_copy(const fc_vectors *w) {
  enum { LEAST = 60, MOST = 150, DOWN = 110 };
  const gboolean down = is_dense(w) && w->nx == 1 && kept(w) >= DOWN;
  return w->plain && !w->few && !w->cell && (is_separable(w) || down) && w->v == 4 && w->step == 1 &&
         fc_dtype_is_float(w->in_dtype) && fc_vectors_moved(w, 0) == 16 && kept(w) >= LEAST &&
         kept(w) <= MOST;
}

/* The same of fc_box_sums of more rows than registers keep, of which few warps run at a time. They gain by
 * batches of more rows in smaller blocks: 31 x 31, 16384 x 16384, 640 us by four rows and 128 threads, 626 by
 * eight and 64; but 23 x 23, whose threads' vectors begin at other places, 584 and 662 (H200). */
static gboolean copies_long_box(const fc_vectors *w) {
  return may_copy(w) && is_box_of_sums(w) && w->ny > SUMS_PART && up_to(w->nx / 2, w->v) % 8 == 0;
}

/* Batches of four rows are not copied by small blocks: 598 of 224 x 224, 15 x 15, 88 us by registers, 115. */
void fc_vectors_cut(fc_vectors *w, gint64 threads, gboolean lends) {
  enum { LEAST = 96 };
  w->threads = threads, w->lends = lends;
  w->copies = may_copy(w) && (threads >= LEAST || copies_long_box(w));
}

/* Accesses of 16 bytes that a thread's window takes. */
static gint64 quads_of(const fc_vectors *w) {
  return up_to(seen_by_thread(w), 4) / 4;
}

/* Vectors that windows see beside the outputs of a block. */
static gint64 seen_of(const fc_vectors *w) {
  const gint64 left = w->nx / 2 * w->step, right = (w->nx - 1 - w->nx / 2) * w->step;
  return (up_to(left, w->v) + up_to(right, w->v)) / w->v;
}

/* Vectors of inputs of a block of so many threads, and elements of its outputs: threads at the ends have
 * none, or load two vectors. */
static gint64 vectors_of(const fc_vectors *w, gint64 threads) {
  return threads + (w->lends ? seen_of(w) : 0);
}
static gint64 width_of(const fc_vectors *w, gint64 threads) {
  return (vectors_of(w, threads) - seen_of(w)) * w->v;
}

/* A dense mask whose sums take most of the time. Registers and the instruction cache are what there is too
 * little of then: few elements a thread, one row in the loop, small blocks. 53 such kernels of the sweep took
 * 5.5 % less in all, 19 x 5 of f32 RGBA 145 us for 189, 14 x 9 of u16 RGBA 202 for 274 (H200). Narrow images
 * have not been timed. */
static gboolean is_heavy(const fc_vectors *w) {
  enum { MANY = 50 };
  return is_dense(w) && !w->cell && !w->few && w->ny > 1 && fc_vectors_taps(w) >= MANY;
}

/* Rows of a batch, at most; of copied ones of long boxes eight, see above. Of a single row one, so that more
 * blocks run at a time: 13 taps of f32 RGB took 81 us by 4, and take 54. Of pixels of three of a heavy mask
 * two where floats come out: a matrix and 19 x 8 of bytes took 359 us by 4, 322 by 2; of u16 4 by 14 took 187
 * by 2, 172 by 4 (H200). */
static gint64 batch_of(const fc_vectors *w) {
  if (w->few) return w->few > 2 ? 4 : w->few;
  if (copies_long_box(w)) return 8;
  if (is_dense(w) && w->v >= 8 && w->ny == 1) return 1;
  if (is_heavy(w) && w->v == 8) return 1;
  return w->v < 12 || (w->v == 12 && !(is_heavy(w) && fc_dtype_is_float(w->out_dtype))) ? 4 : 2;
}

gint64 fc_vectors_threads(const fc_vectors *w) {
  enum { RING = 28 << 10, OF_SUMS = 30 << 10 }; /* 31 x 31 of floats fit, by 128 threads */
  /* gain, 5 + 5 taps, clip, gain of RGB of bytes, 12288 x 12288, took 403 us by 64 threads and 389 by 128
   * (H200). */
  const gboolean many = w->v < 16 || (is_separable(w) && w->begins[0] >= 16 && w->begins[1] >= 16);
  gint64 threads = many && !is_heavy(w) && !copies_long_box(w) ? MARCH_THREADS : MARCH_THREADS / 2;
  while (threads > 32 && threads * ring_of(w) > (is_box_of_sums(w) ? OF_SUMS : RING)) threads -= 32;
  return w->sorted ? w->threads : threads;
}

/* Whether memory is the bottleneck: an estimate of instructions per output, compared with seven
 * instructions of a multiprocessor for each byte that it moves; less than that, since neither is busy all
 * the time. */
gboolean fc_vectors_is_bound_by_memory(const fc_vectors *w, guint stages) {
  const gint64 taps = fc_vectors_taps(w);
  const gint64 in = w->ui / w->um, out = MAX(w->uo / w->um, 1);
  const gint64 codes =
      (fc_dtype_is_float(w->in_dtype) ? 0 : 3 * in) + (fc_dtype_is_float(w->out_dtype) ? 0 : 3 * out);
  const gint64 bytes = in * (gint64)fc_dtype_size(w->in_dtype) + out * (gint64)fc_dtype_size(w->out_dtype);
  return taps + codes + 2 * stages < 5 * bytes;
}

/* Bytes of shared memory that a thread's outputs take on their way: of row.cuh if they have more than 16
 * bytes, and may be whole vectors; of march.cuh floats as fc_window_is_wide of window.cuh says, and codes in
 * rows that begin anywhere, but those that lanes exchange (fc_window_exchanges). */
static gint64 room_of(const fc_vectors *w) {
  const gint64 out = bytes_of(w, 1), words = out / 4;
  const gboolean exchanges = (words > 6 || words == 3 || words == 1) && !(w->cell && w->cell < 32),
                 together = w->apart                           ? TRUE
                            : w->row                           ? out > 16
                            : fc_dtype_size(w->out_dtype) == 4 ? out > 32 && out % 16 == 0
                                                               : w->loose[1] && !exchanges;
  return !together ? 0 : out % 32 ? out : out + 16;
}

static gint64 shared_of(const fc_vectors *w) {
  const gint64 padded = w->v % 8 == 0 ? w->v + 4 : w->v,
               vectors = w->cell ? w->threads / w->cell * vectors_of(w, w->cell) : vectors_of(w, w->threads);
  const gint64 rows = w->few ? up_to(w->few, w->batch) : 2 * w->batch;
  return vectors * rows * padded * 4 + w->threads * (ring_of(w) + room_of(w));
}

/* Pixels at the ends of a row that march.cuh loads one by one beside vectors, more of a row that begins
 * anywhere. */
static gint64 single_of(const fc_vectors *w) {
  return is_by_units(w)
             ? 0
             : ((w->nx - 1) * w->step + (w->loose[0] && fc_dtype_size(w->in_dtype) < 4 ? 2 : 1) * w->v) /
                   w->um;
}

/* An estimate, from ptxas for sm_90. */
static gint64 registers_of(const fc_vectors *w) {
  return MIN(kept(w) + 2 * w->v + (w->ny == 1 ? 66 : 51), 255);
}

/* Whether rows of a batch are a loop: for the instruction cache, and of integers for registers, of which the
 * compiler takes fewer: 8 + 12 taps of bytes took 79 us unrolled, with 178, and 67 with 168; 14 + 18 of f32
 * 160 and 196. Where outputs' rows begin anywhere 8 + 12 took 69 unrolled and 72, but 25 + 25 and 9 + 31, of
 * which few elements fit, 193 and 139, 168 and 119 (H200). */
static gboolean loops(const fc_vectors *w) {
  enum { LONG = 600, WARPS_12 = 168, MANY = 110 };
  const gboolean integers = is_separable(w) && !w->cell && !fc_dtype_is_float(w->in_dtype),
                 large = w->loose[1] ? w->v == 4 && kept(w) > MANY : w->v == 8 && registers_of(w) > WARPS_12;
  return is_heavy(w) || fc_vectors_taps(w) * w->v > LONG || (integers && large);
}

/* Of few.cuh, where all sums of a thread are written out: how many. */
static gint64 written_of(const fc_vectors *w) {
  return w->few * w->v * (is_dense(w) ? w->nx * w->ny : w->nx + w->ny);
}

/* Whether both sides of a thread's vector of pixels are whole words, and registers and shared memory suffice;
 * sets what follows from its length. */
static gboolean fits_vector(fc_vectors *w) {
  enum { WRITTEN = 4096 }; /* 15 x 15 of f32 RGB, 8 rows: 7200 took 2155 us */
  for (int i = 0; i < 2; i++) w->loose[i] = fc_vectors_moved(w, i) <= 1;
  const gint64 single = single_of(w);
  if (w->v % w->um || bytes_of(w, 0) % 4 || bytes_of(w, 1) % 4 || !fits_registers(w) ||
      written_of(w) > WRITTEN)
    return FALSE;
  const gint64 threads = fc_vectors_threads(w);
  fc_vectors_cut(w, threads,
                 !w->row && (is_by_units(w) || (8 * seen_of(w) > threads && seen_of(w) <= threads)));
  w->batch = batch_of(w);
  /* march.cuh loads elements at the ends of rows one by one, a few by each thread. */
  const gint64 most = (w->copies ? 8 : 4) * w->threads;
  while (w->batch > 1 && (shared_of(w) > MARCH_SHARED || (!w->row && single * w->batch > most)))
    w->batch /= 2;
  w->unroll = loops(w) ? 1 : w->batch;
  w->width = width_of(w, w->threads);
  return shared_of(w) <= MARCH_SHARED && w->width >= w->threads * w->v / 4;
}

/* About how many cycles of a multiprocessor a row of 32 outputs takes: of shared memory and the first-level
 * cache, which move 128 bytes each, or of instructions, four each; more where few warps fit, which wait, and
 * where many threads have no outputs. Calibrated with ncu on an H200.
 *
 * Outputs in rows that begin at multiples of 8 bytes are stored by halves where a vector has 16: each other
 * row takes twice as many transactions of the second cache, in the shadow of many taps only. u16 RGBA by 5 +
 * 5 taps took 116 us by 8 elements and 97 by 4, f32 to u16 by 11 down 92 and 66, u16 by 9 + 9 42 and 34; by
 * 126 taps 294 and 344, and 6 + 6 to f32, whose rows begin at 16 bytes, 71 and 78. */
static double cost_of(const fc_vectors *w) {
  enum { STEADY = 24, LONG = 40 }; /* warps that hide each other's latency; taps that hide much of it */
  const gint64 taps = fc_vectors_taps(w), v = w->v, sides[] = {bytes_of(w, 0), bytes_of(w, 1)};
  const gint64 quads = quads_of(w);
  double moved = 4 * (double)(quads + v / 4), codes = 0;
  double joined = 0;            /* instructions of rows that begin anywhere */
  for (int i = 0; i < 2; i++) { /* 16 bytes at a time, or words of floats where these are not whole */
    const gint64 each = (sides[i] + 15) / 16, words = (sides[i] + 3) / 4;
    const gboolean floats = fc_dtype_is_float(i ? w->out_dtype : w->in_dtype);
    if (i == 0 && is_by_units(w))
      moved += (double)v, joined += 3 * (double)v;
    else if (i == 1 && w->loose[1] && !floats)
      moved += 4 * (double)words, joined += 5 * (double)words + 12;
    else
      moved += floats && fc_vectors_moved(w, i) < 16 ? (double)(words * words)
                                                     : (double)(each * each * MIN(sides[i], 16)) / 4;
    if (i == 0 && w->loose[0] && !floats && !is_by_units(w)) /* lanes exchange words */
      moved += (double)MIN(sides[0] & -sides[0], 16) / 4, joined += 2 * (double)words + 12;
    codes += floats ? 0 : 5;
  }
  const double issued = ((double)(taps * v + 3 * quads + 80) + codes * (double)v + joined) / 4,
               halves = taps < LONG && fc_vectors_moved(w, 1) == 8
                            ? 1.25 * (double)(sides[1] * ((sides[1] + 15) / 16))
                            : 0;
  const double shared = (double)(shared_of(w) + 1024) * 32 / (double)w->threads;
  const double warps = fmin(2048 / (double)registers_of(w), 227 * 1024 / shared),
               waits = pow(fmax(STEADY / warps, 1), is_by_units(w) ? 1
                                                    : taps < LONG  ? 0.6
                                                                   : 0.5);
  return (fmax(moved, issued) + halves) * waits * (double)w->threads / (double)w->width;
}

/* Elements per thread of a statistic of columns and rows, at most; else 0. Neighbouring windows of a channel
 * share more the more of them there are: u8 extremes of 15 x 15 took, by 4, 8 and 16 elements, 54, 48 and 54
 * us, RGB by 4, 12 and 16 107, 73 and 97, RGBA of 31 x 31 218, 149 and 133; f32 90, 103 and 144, RGB of 31 x
 * 31 by 4 and 12 217 and 180; deviations of 15 x 15 by 8 217, and with all rows in registers by 4 142 (33.5 M
 * samples, H200). */
static gint64 length_of_box(const fc_vectors *w) {
  enum { LONG = 12, LONGER = 24, SQUARES = 8 };
  const gint64 x = w->nx, step = w->step;
  if (!fc_vectors_is_box(w->f) || w->few) return 0;
  if (kept_of_row(w) > w->v && w->ny > SQUARES) return 4; /* sums and squares */
  if (fc_dtype_is_float(w->in_dtype)) return step > 1 && x >= LONGER ? 12 : 4;
  return step == 3 ? 12 : step == 4 && x >= LONG ? 16 : 8;
}

/* Bytes of a sample, of the smaller type. */
static gint64 smaller_size(const fc_vectors *w) {
  return (gint64)MIN(fc_dtype_size(w->in_dtype), fc_dtype_size(w->out_dtype));
}

/* Whether more elements than a shorter vector has are not worth it; `full`: as choose says. Floats ahead of
 * separable masks are two accesses then, which only sums are worth that wait for shared memory: 11 + 13 taps
 * of f32 took 94 us by 8 elements and 78 by 4, of two channels 11 + 6 88 and 80, 16 + 5 53 and 67 (H200). */
static gboolean is_too_long(const fc_vectors *w, const fc_vectors *shorter, gboolean full) {
  enum { SUMS = 9 }; /* for each access */
  if (is_separable(w) && fc_dtype_is_float(w->in_dtype) &&
      SUMS * quads_of(shorter) < fc_vectors_taps(w) * shorter->v)
    return TRUE;
  if (full && (w->v > 16 / smaller_size(w) || kept(w) + w->v > 180 ||
               (fc_vectors_moved(w, 1) == 8 && fc_vectors_moved(shorter, 1) == 16)))
    return TRUE;
  return !w->row && registers_of(w) > MARCH_REGISTERS; /* two warps a scheduler */
}

/* Elements per thread: those that cost least; of heavy masks the fewest that are possible, or twice as many
 * (fc_vectors_fit); along lines of sound, and for separable masks of few taps over bytes, enough to fill 16
 * bytes of the smaller type, fewer where registers are short, or where these would be stored by halves. Of
 * such masks the cost is not a good estimate: 5 + 5 taps over 12287 x 12289 bytes took 0.236 ms by 16, 0.295
 * ms by 8, but over 4104 x 4096 34 us by 16, 27 by 8 (H200). Before rows of 8 bytes were told apart, 62
 * kernels of the sweep took 3 % more than by the best of 4, 8, 12 and 16 for each.
 */
static gboolean choose(fc_vectors *w) {
  static const gint64 lengths[] = {4, 8, 12, 16};
  const gint64 slim = smaller_size(w), box = length_of_box(w);
  const gboolean dense = g_str_has_prefix(w->f->entry, "fc_dense");
  enum { FEW = 12 };
  const gboolean full = box || w->row || (w->few == 1 && smaller_size(w) < 4) ||
                        (!dense && slim == 1 && fc_vectors_taps(w) <= FEW);
  fc_vectors best = {.v = 0};
  double least = 0;
  for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
    w->v = lengths[i];
    if ((w->v == 12 && (box ? w->step : w->um) != 3) || !fits_vector(w)) continue;
    if (best.v && (is_heavy(w) || (box ? w->v > box : is_too_long(w, &best, full)))) continue;
    const double cost = full ? -(double)w->v : cost_of(w);
    if (best.v == 0 || cost < least) best = *w, least = cost;
  }
  if (best.v) *w = best;
  return best.v > 0;
}

/* Several channels of sound are sorted in shared memory where a thread's window, longer by the channels
 * otherwise, takes LOADS times as many loads as going back through it: four channels of f32 took 0.068 ms by
 * 4 taps and 0.186 ms by 32, sorted 0.094 and 0.107 ms; i16 stereo by 31 taps 0.639 ms, sorted 0.665 ms
 * (H200). Of four channels a slice at a time, as of two there is no room to store through shared memory: 32
 * taps 0.106 and 0.082 ms. */
gboolean fc_vectors_choose(fc_vectors *w) {
  enum { LOADS = 3 };
  const gint64 taps = w->nx, v = 4 * w->step, threads = w->step == 3 ? 96 : MARCH_THREADS;
  const gboolean fits = choose(w);
  if (!w->row || w->step == 1 || w->step > 4 ||
      (fits && (w->v + (taps - 1) * w->step) * v <= LOADS * ((v + taps - 1) * w->v + 2 * v * w->v)))
    return fits;
  w->sorted = TRUE, w->v = v, w->threads = threads, w->batch = w->step == 4 ? 1 : 2, w->unroll = 1;
  w->width = (threads / w->step * v - up_to(taps / 2, v) - up_to(taps - 1 - taps / 2, v)) * w->step;
  return TRUE;
}

/* Chooses threads for rows of `width` elements; returns how many there are in all, with what a block costs
 * beside them. A thread has room for few of the elements at the ends of rows, which are loaded one by one.
 * Where all threads have outputs, fewer blocks do: u16 RGB by 99 taps took 246 us, and takes 181; f32 stereo
 * to u16 by 19 + 16 170 and 110 (H200). */
static gint64 fit_threads(fc_vectors *w, gint64 width) {
  enum { FEW = 3, BLOCK = 8 };
  const gint64 single = single_of(w) * w->batch, most = fc_vectors_threads(w);
  fc_vectors best = *w;
  gint64 least = G_MAXINT64;
  for (gint64 threads = most; threads > 0; threads -= 32)
    for (int k = 0; k < 2; k++) {
      const gboolean lends = may_copy(w) ? !k : k; /* takes no registers then */
      fc_vectors_cut(w, threads, lends);
      w->width = width_of(w, threads);
      if (is_by_units(w) ? !lends
                         : (lends && seen_of(w) > threads) || (threads < most && single > FEW * threads))
        continue;
      if (shared_of(w) > MARCH_SHARED || w->width < threads * w->v / 4) continue;
      const gint64 cost = (width + w->width - 1) / w->width * (threads + BLOCK);
      if (cost < least) least = cost, best = *w;
    }
  *w = best;
  return least;
}

/* Heavy masks, or others over bytes whose vectors are then 16 of these: 4096 x 4096 RGB by 5 x 5 took 83 us
 * by 8 and 76 by 16, RGBA 111 and 98, by 3 x 3 both 47; but where rows begin elsewhere 108 and 118 (H200). */
gboolean fc_vectors_lengthen(fc_vectors *w) {
  enum { KEPT = 110 };
  const gboolean bytes =
      is_dense(w) && w->v == 8 && smaller_size(w) == 1 && w->begins[0] >= 16 && w->begins[1] >= 16;
  w->v *= 2, w->longer = TRUE;
  return (is_heavy(w) ? w->v <= 8 : bytes && kept(w) <= KEPT) && fits_vector(w);
}

/* Instructions of a row of a thread of a dense mask, where 16 bytes of shared memory take as long as QUAD of
 * them, and floats of more than 16 bytes FLOATS. */
static gint64 heavy_cost(const fc_vectors *w) {
  enum { QUAD = 12, FLOATS = 40 };
  const gint64 floats = fc_dtype_is_float(w->in_dtype) + fc_dtype_is_float(w->out_dtype);
  return fc_vectors_taps(w) * w->v + QUAD * quads_of(w) + (w->v > 4 ? FLOATS * floats : 0);
}

void fc_vectors_fit(fc_vectors *w, gint64 width) {
  fc_vectors longer = *w;
  const double cost = (double)fit_threads(w, width) * (double)heavy_cost(w);
  if (fc_vectors_lengthen(&longer) &&
      (double)fit_threads(&longer, width) * (double)heavy_cost(&longer) < cost)
    *w = longer;
}

gboolean fc_vectors_set_column(fc_vectors *w) {
  w->v = 4, w->threads = 32, w->width = w->threads * w->v;
  for (int i = 0; i < 2; i++) w->loose[i] = fc_vectors_moved(w, i) == 1;
  return w->v % w->um == 0 && bytes_of(w, 0) % 4 == 0 && bytes_of(w, 1) % 4 == 0;
}

gboolean fc_vectors_set_cell(fc_vectors *w, int size) {
  static const struct {
    gint64 v, threads;
  } sizes[2][FC_VECTORS_CELLS] = {{{4, 4}, {4, 8}, {8, 8}, {8, 16}, {8, 32}},
                                  {{4, 4}, {4, 8}, {4, 16}, {4, 32}, {4, 32}}};
  enum {
    FEW = 3,       /* elements at the ends of rows for each thread, beyond which all are loaded one by one */
    UNITS = 12,    /* most elements at the ends of rows that a thread loads one by one */
    SAMPLES = 48,  /* most samples of a batch that a thread loads, if it loads all one by one */
    REGISTERS = 96 /* most floats that a thread of 8 elements keeps: with more, few warps are resident */
  };
  int few = fc_dtype_is_float(w->in_dtype) || fc_dtype_is_float(w->out_dtype); /* index of sizes */
  w->v = sizes[few][size].v;
  few |= kept(w) > REGISTERS;
  w->v = w->um == 3 ? 12 : sizes[few][size].v, w->cell = sizes[few][size].threads, w->lends = TRUE;
  w->copies = FALSE;
  for (int i = 0; i < 2; i++) w->loose[i] = fc_vectors_moved(w, i) == 1;
  /* As if rows began anywhere: 32 x 32 bytes by 7 x 7 took 475 us by vectors and 394, by 5 taps 172, 183. */
  if (may_be_by_units(w) && single_of(w) > FEW * w->cell) w->begins[0] = 1, w->loose[0] = TRUE;
  if (bytes_of(w, 0) % 4 || bytes_of(w, 1) % 4 || !fits_registers(w) ||
      (!is_by_units(w) && seen_of(w) > w->cell))
    return FALSE;
  const gint64 all = w->cell * w->v + (w->nx - 1) * w->step,
               alone = is_by_units(w) ? (all + w->cell - 1) / w->cell : single_of(w),
               most = is_by_units(w) ? SAMPLES : UNITS * w->cell;
  w->threads = fc_vectors_threads(w), w->batch = 4;
  while (w->batch > 1 && (shared_of(w) > MARCH_SHARED || alone * w->batch > most)) w->batch /= 2;
  w->unroll = loops(w) ? 1 : w->batch;
  w->width = w->cell * w->v;
  return w->threads > w->cell && shared_of(w) <= MARCH_SHARED && alone * w->batch <= most;
}

int fc_vectors_fit_cell(fc_vectors *w, gint64 width) {
  for (int size = 0; size < FC_VECTORS_CELLS; size++) {
    fc_vectors cell = *w;
    if (!fc_vectors_set_cell(&cell, size) || cell.width < width) continue;
    *w = cell;
    return size;
  }
  return -1;
}

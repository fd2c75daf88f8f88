/* SPDX-License-Identifier: MIT */
/*
 * conv1d_overlap.c - see conv1d_overlap.h: chooses transforms by the number of taps.
 */
#include "filters/conv1d/conv1d_overlap.h"

#include <math.h>
#include <string.h>

#include "core/contract/device_function.h"

/* A transform's length, and the nanoseconds that it and an output take on a busy H200; only ratios matter. */
typedef struct window {
  int64_t n;
  double transform, output;
} window;

#define WINDOWS     4
#define F32_LONGEST 16384 /* the only one for masks of several parts */
#define F64_LONGEST 4096

static const window f32_windows[WINDOWS] = {
    {1024, 2.6, 0.00113}, {4096, 16.8, 0.00056}, {8192, 36, 0.0009}, {16384, 67, 0.0017}};
static const window f64_windows[WINDOWS] = {{1024, 12, 0.002}, {4096, 64, 0.002}};

/* Direct sums: nanoseconds per output, and per tap; they are more accurate, so they are used even if they
 * take a quarter longer, as on the CPU: up to about 65 taps. */
#define DIRECT_START  0.00118
#define DIRECT_TAP    0.0000284
#define DIRECT_CREDIT 1.25

/* Additional time per output if its neighbours in memory belong to another transform. */
#define APART 0.001

/* Number of consecutive blocks for a mask of several parts, so that few spectra are computed twice; a grid
 * of millions would force chunks of that length. */
#define MOST_BLOCKS_RUN 64

static const window *windows_of(int compute) {
  return compute == FC_F64 ? f64_windows : f32_windows;
}

/* Maximum of samples of a line in one cache line; fewer than the threads of a transform. */
#define LINE 32

static int64_t hop_of(int64_t taps, int64_t inputs) {
  return (inputs - taps + 1) / FC_CONV1D_OVERLAP_UNIT * FC_CONV1D_OVERLAP_UNIT;
}

static int64_t run_of(int64_t parts) {
  int64_t run = 8;
  while (run < 4 * (parts - 1) && run < MOST_BLOCKS_RUN) run *= 2;
  return parts == 1 ? 1 : run;
}

fc_conv1d_overlap fc_conv1d_overlap_of(int64_t taps, int64_t before, int64_t n, int stretches) {
  const int64_t inputs = stretches * n;
  fc_conv1d_overlap o = {.n = n, .stretches = stretches, .part = taps, .parts = 1, .run = 1};
  o.lead = before < 0 ? 0 : (LINE - before % LINE) % LINE;
  if (hop_of(o.lead + taps, inputs) < inputs / 2) o.lead = 0;
  o.hop = hop_of(o.lead + taps, inputs);
  if (o.hop < inputs / 2) {
    o.hop = o.part = inputs / 2;
    o.parts = (taps + o.part - 1) / o.part;
    o.run = run_of(o.parts);
  }
  return o;
}

int64_t fc_conv1d_overlap_grid(const fc_conv1d_overlap *o) {
  return o->run * o->hop;
}

/* For one line; `apart`: its samples are not adjacent. */
static double time_of(const fc_conv1d_overlap *o, const window *w, double outputs, int apart) {
  double grid = (double)fc_conv1d_overlap_grid(o), places = ceil(outputs / grid);
  double steps = (double)(o->run + o->parts - 1) / (double)o->run; /* some there, all back again */
  double block = w->transform * 0.5 * (1 + steps) * (1 + 0.2 * (double)(o->parts - 1)) * o->stretches / 2;
  return places * grid * (block / (double)o->hop + w->output + (apart ? APART : 0));
}

/* The candidates of a plan. */
static int is_possible(const fc_conv1d_overlap *o, int64_t longest, int64_t extent, int even, int axis) {
  if (o->stretches == 1 && !even) return 0;
  if (o->parts > 1 && (o->n != longest || o->stretches != 2)) return 0;
  /* Images are cut along Y, for CPU threads too. */
  return axis != FC_AXIS_Y || extent < 0 || fc_conv1d_overlap_grid(o) <= extent / 2;
}

fc_conv1d_overlap fc_conv1d_overlap_plan(int64_t taps, int64_t before, int64_t extent, int even, int compute,
                                         int axis, int always) {
  double slow = compute == FC_F64 ? 2 : 1, outputs = extent < 0 ? 1e9 : (double)extent;
  double best =
      always ? INFINITY : slow * outputs * (DIRECT_START + DIRECT_TAP * (double)taps) / DIRECT_CREDIT;
  fc_conv1d_overlap way = {0};
  const window *windows = windows_of(compute);
  const int64_t longest = compute == FC_F64 ? F64_LONGEST : F32_LONGEST;
  for (int i = 0; i < WINDOWS && windows[i].n > 0; i++)
    for (int stretches = 1; stretches <= 2; stretches++) {
      fc_conv1d_overlap o =
          fc_conv1d_overlap_of(taps, axis == FC_AXIS_X ? before : 0, windows[i].n, stretches);
      if (!is_possible(&o, longest, extent, even, axis)) continue;
      double time = time_of(&o, &windows[i], outputs, even && stretches > 1);
      if (time < best) best = time, way = o;
    }
  return way;
}

/* Blocks of threads for a transform of n, as in overlap_save.cuh: values per thread, transforms at a time,
 * resident blocks, floats per value exchanged, and values of the gap after those of a thread. */
typedef struct threads {
  int32_t n, each, groups, resident, floats, gap;
} threads;
static const threads configs[WINDOWS] = {
    {1024, 32, 4, 4, 2, 2}, {4096, 16, 1, 3, 2, 2}, {8192, 32, 1, 2, 2, 1}, {16384, 32, 1, 1, 1, 1}};

static char *put_number(char *to, int32_t n) {
  if (n >= 10) to = put_number(to, n / 10);
  *to = (char)('0' + n % 10);
  return to + 1;
}

fc_status fc_conv1d_overlap_function(const fc_conv1d_overlap *o, int64_t taps, int64_t before, int64_t masks,
                                     fc_device_function *f) {
  int i = 0;
  while (i < WINDOWS && configs[i].n != o->n) i++;
  if (i == WINDOWS || o->parts != 1) return FC_UNSUPPORTED;
  const threads *c = &configs[i];
  const fc_function_transforms members = {.taps = (int32_t)taps,
                                          .before = (int32_t)before,
                                          .hop = (int32_t)o->hop,
                                          .lead = (int32_t)o->lead,
                                          .mask_step = masks > 1 ? (int32_t)taps : 0,
                                          .groups = c->groups,
                                          .threads = c->groups * (c->n / c->each),
                                          .resident = c->resident,
                                          .shared =
                                              c->groups * (c->n + c->n / c->each * c->gap) * 4 * c->floats};
  char *to = f->entry;
  memcpy(to, "fc_transforms<", 14);
  to = put_number(to + 14, c->n), *to++ = ',', *to++ = o->stretches == 1 ? '2' : '1', *to++ = '>', *to = 0;
  memcpy(f->bytes, &members, sizeof members);
  f->source = FC_FUNCTION_TRANSFORMS_TEXT, f->n_bytes = sizeof members, f->align = 8;
  return FC_OK;
}

fc_status fc_conv1d_overlap_bind(const fc_conv1d_overlap *o, const void *device_mask, const void *tables,
                                 fc_device_function *f) {
  fc_function_transforms *members = f->bytes;
  members->mask = device_mask, members->tables = tables, members->room = (int32_t)o->shared;
  return tables && o->shared >= members->shared ? FC_OK : FC_UNSUPPORTED;
}

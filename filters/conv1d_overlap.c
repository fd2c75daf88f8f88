/* SPDX-License-Identifier: MIT */
/*
 * conv1d_overlap.c - see conv1d_overlap.h: which transforms for how many taps.
 */
#include "filters/conv1d_overlap.h"

#include <math.h>

/* Inputs that a block's transform covers, how many blocks go through one, and the nanoseconds
 * that a block and an output take on an H200 when many are at work - of which only ratios
 * matter. */
typedef struct window {
  int64_t n;
  int blocks;
  double block, output;
} window;

#define WINDOWS 3

static const window f32_windows[WINDOWS] = {
    {1024, 2, 1.4, 0.00095}, {4096, 2, 8, 0.0009}, {16384, 2, 42, 0.0011}};
static const window f64_windows[WINDOWS] = {{1024, 2, 6, 0.002}, {4096, 2, 32, 0.002}};

/* Direct sums: nanoseconds an output and a tap more; being more exact, they may take half as
 * long again. */
#define DIRECT_START  0.0016
#define DIRECT_TAP    0.00004
#define DIRECT_CREDIT 1.5

/* Blocks one after another that a mask of several parts is worth, so that few spectra are made
 * twice; a grid of millions would make chunks as long. */
#define MOST_BLOCKS_RUN 64

static const window *windows_of(int compute) {
  return compute == FC_F64 ? f64_windows : f32_windows;
}

static const window *window_of(int64_t n) {
  for (int i = 0; i < WINDOWS; i++)
    if (f32_windows[i].n == n) return &f32_windows[i];
  return NULL;
}

/* Multiples of 64 keep blocks aligned in memory. */
static int64_t hop_of(int64_t taps, int64_t n) {
  return (n - taps + 1) / 64 * 64;
}

static int64_t run_of(int64_t parts) {
  int64_t run = 8;
  while (run < 4 * (parts - 1) && run < MOST_BLOCKS_RUN) run *= 2;
  return parts == 1 ? 1 : run;
}

fc_conv1d_overlap fc_conv1d_overlap_of(int64_t taps, int64_t n) {
  fc_conv1d_overlap o = {.n = n, .hop = hop_of(taps, n), .part = taps, .parts = 1, .run = 1};
  if (o.hop < n / 2) {
    o.hop = o.part = n / 2;
    o.parts = (taps + o.part - 1) / o.part;
    o.run = run_of(o.parts);
  }
  return o;
}

int64_t fc_conv1d_overlap_grid(const fc_conv1d_overlap *o) {
  return window_of(o->n)->blocks * o->run * o->hop;
}

static double time_of(const fc_conv1d_overlap *o, const window *w, double outputs) {
  double grid = (double)fc_conv1d_overlap_grid(o), places = ceil(outputs / grid);
  double steps = (double)(o->run + o->parts - 1) / (double)o->run; /* some there, all back again */
  double block = w->block * 0.5 * (1 + steps) * (1 + 0.2 * (double)(o->parts - 1));
  return places * grid * (block / (double)o->hop + w->output);
}

fc_conv1d_overlap fc_conv1d_overlap_plan(int64_t taps, int64_t extent, int compute, int axis, int always) {
  double slow = compute == FC_F64 ? 2 : 1, outputs = extent < 0 ? 1e9 : (double)extent;
  double best =
      always ? INFINITY : slow * outputs * (DIRECT_START + DIRECT_TAP * (double)taps) / DIRECT_CREDIT;
  fc_conv1d_overlap way = {0};
  const window *windows = windows_of(compute);
  for (int i = 0; i < WINDOWS && windows[i].n > 0; i++) {
    fc_conv1d_overlap o = fc_conv1d_overlap_of(taps, windows[i].n);
    int last = i == WINDOWS - 1 || windows[i + 1].n == 0;
    if (o.parts > 1 && !last) continue;
    /* Images are cut along Y, also for threads without a device. */
    if (axis == FC_AXIS_Y && extent >= 0 && fc_conv1d_overlap_grid(&o) > extent / 2) continue;
    double time = time_of(&o, &windows[i], outputs);
    if (time < best) best = time, way = o;
  }
  return way;
}

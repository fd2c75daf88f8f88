// SPDX-License-Identifier: MIT
//
// spread.cu - launches the kernels of spread.cuh.
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/box/spread.cuh"
#include "filters/winstat/launch.cuh"

namespace winstat {

typedef fc_winstat_seen seen;

// ---- how images are cut into cells ----------------------------------------------------

// Sets c->p, strips, runs and cells; x0 and y0 and strides. False if nothing fits.
static bool cells_fit(cell_args *c, const seen &s, const fc_cell_shape &shape) {
  peak_args *a = &c->p;
  fc_cell_cut cut = {};
  cut.step = a->step, cut.warm = a->x.warm, cut.x0 = c->x0;
  cut.flat = a->y.reach == 0 && s.in.shape[FC_AXIS_N] * a->planes == 1;
  cut.columns = a->columns, cut.rows = a->rows;
  if (!fc_cells_cut(&cut, shape)) return false;
  a->runs = cut.runs, a->strips = cut.strips, c->plane = cut.plane, c->cells = cut.cells;
  c->pixel_in = s.in.stride[FC_AXIS_X], c->pixel_out = s.out.stride[FC_AXIS_X];
  if (a->step > 1) {
    c->channel_in = static_cast<int32_t>(s.in.stride[FC_AXIS_C]);
    c->channel_out = static_cast<int32_t>(s.out.stride[FC_AXIS_C]);
  }
  if (cut.follow == 0) return true;
  c->all = static_cast<int64_t>(a->columns) * a->step, c->follow = static_cast<int64_t>(cut.follow) * a->step;
  a->columns = cut.columns, a->rows = cut.rows, a->lo[1] = 0, a->hi[1] = cut.rows;
  a->row_in = cut.follow * c->pixel_in, a->row_out = cut.follow * c->pixel_out;
  return true;
}

// Steps of a piece: few enough that blocks end together, enough that little is computed twice. Returns the
// blocks of threads.
static int64_t cells_split(cell_args *c, const seen &s, int64_t resident) {
  peak_args *a = &c->p;
  const int64_t images = s.in.shape[FC_AXIS_N] * a->planes, steps = (a->rows - c->y0 + RUN - 1) / RUN;
  double least = 0;
  for (int64_t each = 1;; each += 1 + each / 8) {
    if (each > steps) each = steps;
    const int64_t splits = (steps + each - 1) / each, even = (steps + splits - 1) / splits,
                  blocks = (images * splits + c->cells - 1) / c->cells * a->strips;
    const double cost = static_cast<double>(blocks + resident) * static_cast<double>(even + a->y.warm + 1);
    if (least == 0 || cost < least)
      least = cost, a->blocks = static_cast<int32_t>(even),
      a->splits = static_cast<int32_t>((steps + even - 1) / even);
    if (each == steps) break;
  }
  c->units = images * a->splits;
  return (c->units + c->cells - 1) / c->cells * a->strips;
}

// ---- launching --------------------------------------------------------------------------

static spread_alone alone_of(int rows, int at) {
  spread_alone a = {};
  const int suffix = rows < SPREAD_ROWS ? rows : SPREAD_ROWS;
  const bool begins = at < suffix;
  a.rows = rows, a.own = at == suffix - 1;
  a.real[0] = begins ? suffix - at : 0, a.real[1] = begins ? 0 : at - SPREAD_ROWS + 1;
  a.last[0] = suffix, a.last[1] = rows - suffix;
  for (int part = 0; part < 2; part++)
    a.first[part] = a.own ? 1 : a.real[part] > 0 ? a.real[part] : a.last[part] + 1;
  for (int n = 1; n <= SPREAD_MOST; n++) {
    const float count = static_cast<float>(n);
    a.over[n] = 1 / count, a.share[n] = (count - 1) / count;
  }
  return a;
}

static spread_args spread_args_of(const seen &s, const fc_edges *edges, int which, int step,
                                  uint32_t *notes) {
  spread_args d = {};
  peak_args *a = &d.c.p;
  *a = peak_args_of(&s.w, &s.in, edges, &s.out, which, step);
  d.c.x0 = static_cast<int32_t>(-floor_mod(s.in.origin[FC_AXIS_X], SPREAD_ROWS));
  d.c.y0 = static_cast<int32_t>(-floor_mod(s.in.origin[FC_AXIS_Y], SPREAD_ROWS));
  if (s.alone > 0) d.alone = alone_of(s.alone, s.at);
  for (int k = 0; k < 2; k++) {
    const int window = k == 1 && s.alone > 0 ? s.alone : a->window[k];
    d.over[k] = 1.0f / static_cast<float>(window), d.shares[k] = fc_moments_shares_of(window);
  }
  d.times = s.times, d.over_times = 1.0f / static_cast<float>(s.times);
  d.root = s.w.stat[which] == FC_WINSTAT_STD, d.dtype = s.out.dtype;
  d.store = fc_dev_map_of<float>(s.out.kind, s.out.dtype), d.notes = notes;
  return d;
}

static fc_status launch(spread_args d, const seen &s, cudaStream_t stream) {
  typedef spread_room room;
  peak_args *a = &d.c.p;
  const auto kernel = spread_march;
  a->slots = a->y.warm + 2;
  const int64_t bytes = sizeof(float) *
                        (static_cast<int64_t>(a->slots + 2) * room::STEP + (s.alone > 0 ? room::ROW : 0)),
                resident = march_resident(kernel, room::THREADS, bytes),
                blocks = cells_split(&d.c, s, resident);
  if (resident == 0 || blocks > INT32_MAX) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(blocks), room::THREADS, static_cast<size_t>(bytes), stream>>>(d);
  return fc_launch_status();
}

fc_status run_spread(const call &c, int which) {
  typedef spread_room room;
  const seen s = fc_winstat_see(c.w, c.in, c.edges, c.out);
  const fc_cell_shape shape = {room::SEGMENTS, room::LANES};
  const int step = fc_winstat_channels(&s);
  if (step == 0) return FC_UNSUPPORTED;
  spread_args d = spread_args_of(s, c.edges, which, step, c.notes);
  if (!cells_fit(&d.c, s, shape)) { // too many channels for one block
    d = spread_args_of(s, c.edges, which, 1, c.notes);
    if (!cells_fit(&d.c, s, shape)) return FC_UNSUPPORTED;
  }
  return launch(d, s, c.stream);
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// peak_cells.cu - how images are cut into cells (cells.cuh); launches the kernel of peak_cells.cuh.
#include "filters/winstat/launch.cuh"
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/box/extremes.cuh"
#include "filters/winstat/box/peak_cells.cuh"

namespace winstat {

// ---- how images are cut into cells ----------------------------------------------------

// What of the cut a kernel is told.
bool cells_fit(cell_args *c, const seen &s, const fc_cell_shape &shape) {
  peak_args *a = &c->p;
  fc_cell_cut cut = {};
  cut.step = a->step, cut.skew = a->skew, cut.warm = a->x.warm, cut.x0 = c->x0;
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

int64_t cells_split(cell_args *c, const seen &s, int64_t resident) {
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

template <typename T> constexpr bool is_counted() {
  typedef cell_room<T, false> room;
  return room::WORDS == FC_CELL_WORDS(room::K) && room::SPARE == FC_CELL_SPARE(room::K);
}
static_assert(is_counted<float>() && is_counted<uint16_t>() && is_counted<uint8_t>(), "as counted");

// ---- launching --------------------------------------------------------------------------

// The value outside the image: the border's constant, or one that is never an extreme.
static uint32_t beyond_of(const peak_args &a, const fc_edges *edges, int dtype) {
  if (!edges || !fc_winstat_constant(edges->border)) return a.beyond;
  const uint32_t code = static_cast<uint32_t>(edges->code);
  return dtype == FC_U8    ? (code & 0xff) * 0x01010101u
         : dtype == FC_F32 ? code
                           : (code & 0xffff) * 0x00010001u;
}

template <typename T, bool MANY> static fc_status launch(crest_args d, const seen &s, cudaStream_t stream) {
  typedef cell_room<T, MANY> room;
  peak_args *a = &d.c.p;
  if (!cells_fit(&d.c, s, fc_cell_shape_of(s.in.dtype, MANY))) return FC_UNSUPPORTED;
  // A cell of several channels has one more word, for the bytes before its first pixel.
  const int32_t words = a->step * d.c.plane * room::SEGMENT + (room::K > 1 && MANY);
  while (d.c.cells * words > room::WORDS) d.c.cells--;
  a->slots = a->y.warm + room::SPARE;
  const int64_t bytes = fc_cell_bytes(s.in.dtype, MANY, a->window[1]),
                resident = march_resident(cell_march<T, MANY>, room::THREADS, bytes),
                blocks = cells_split(&d.c, s, resident);
  if (resident == 0 || blocks > INT32_MAX) return FC_UNSUPPORTED;
  cell_march<T, MANY>
      <<<static_cast<unsigned>(blocks), room::THREADS, static_cast<size_t>(bytes), stream>>>(d);
  return fc_launch_status();
}

peak_args seen_args_of(const seen &s, const fc_edges *edges, int which, int step) {
  peak_args a = peak_args_of(&s.w, &s.in, edges, &s.out, which, step);
  a.beyond = beyond_of(a, edges, s.in.dtype);
  return a;
}

fc_status run_peak_cells(const call &c, int which) {
  const seen s = fc_winstat_see(c.w, c.in, c.edges, c.out, true);
  const int step = fc_winstat_channels(&s), size = static_cast<int>(fc_dtype_size(c.in->dtype));
  crest_args d = {};
  peak_args *a = &d.c.p;
  *a = seen_args_of(s, c.edges, which, step);
  d.filled = s.filled, d.filling = a->beyond ^ a->flip;
  a->words = fc_cell_words(&s.out);
  const int64_t at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(a->out)) % 4 / size, K = 4 / size;
  if (a->words) d.late = static_cast<int32_t>(floor_mod(a->skew - at, K));
  if (d.late > a->skew) d.late -= static_cast<int32_t>(K);
  switch (c.in->dtype) {
  case FC_F32: return launch<float, false>(d, s, c.stream);
  case FC_U8: return launch<uint8_t, false>(d, s, c.stream);
  default: return step > 1 ? launch<uint16_t, true>(d, s, c.stream) : launch<uint16_t, false>(d, s, c.stream);
  }
}

} // namespace winstat

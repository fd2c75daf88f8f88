// SPDX-License-Identifier: MIT
//
// peak_cells.cu - extremes of floats, like extremes.cuh, for windows of moderate size, with one barrier per
// 16 rows and several narrow images, or pieces of one, in a block of threads.
//
// A thread copies a column of samples, which no other thread reads, and replaces them by the extremes along y
// of 16 rows. After a barrier, the only one in 16 rows, a warp replaces these by the extremes along x, 16
// pixels per lane; after the next barrier, columns are stored. Shared memory is a ring of blocks of 16 rows.
//
// A row of shared memory is cut into planes: of a channel of a cell, which is an image's piece from top to
// bottom. Beyond the ends is a constant: if a border repeats samples of the window itself, one that is never
// an extreme.
#include "filters/winstat/box/cells.cuh"
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/launch.cuh"

namespace winstat {

// WORDS: per row; LANES: runs of 16 pixels of a row, at most.
struct cell_room {
  static constexpr int WORDS = FC_CELL_WORDS, THREADS = WORDS, LANES = FC_CELL_LANES;
  static constexpr int STEP = PEAK_ROWS * WORDS, BLOCKS = 3;
  // Quarters of segments are permuted so that lanes, one segment each, use different banks.
  static __device__ __forceinline__ int at(int i) { return i ^ (i >> 5 & 3) << 2; }
};

struct crest_args {
  cell_args c;
  int32_t filled; // windows also cover this
  uint32_t filling;
};

// ---- samples into shared memory -----------------------------------------------------

// A thread's column of a cell, of which rows first .. last - 1 exist.
struct cell_column {
  const char *from; // row 0
  int32_t first, last;
  bool seen;
};

__device__ __forceinline__ void cell_copy(const cell_args &c, const cell_column &s, int y, uint32_t *to) {
  constexpr int PITCH = cell_room::WORDS;
  const peak_args &a = c.p;
  if (!s.seen) return;
  const char *at = s.from + y * a.row_in;
  if (y >= s.first && y + PEAK_ROWS <= s.last) {
#pragma unroll
    for (int k = 0; k < PEAK_ROWS; k++, at += a.row_in) fc_copy_word(to + k * PITCH, at);
    return;
  }
#pragma unroll 4
  for (int k = 0; k < PEAK_ROWS; k++, at += a.row_in)
    if (y + k >= s.first && y + k < s.last)
      fc_copy_word(to + k * PITCH, at);
    else
      to[k * PITCH] = a.beyond;
}

// Rows in which element e exists.
__device__ __forceinline__ void cell_rows(const cell_args &c, cell_column *s, int e) {
  const peak_args &a = c.p;
  const int64_t ahead = e - static_cast<int64_t>(a.lo[0]) * a.step,
                left = static_cast<int64_t>(a.hi[0]) * a.step - e - 1;
  s->first = a.lo[1], s->last = a.hi[1];
  if (c.follow) {
    const int64_t from = -floor_div(ahead, c.follow), to = floor_div(left, c.follow) + 1;
    if (from > s->first) s->first = static_cast<int32_t>(from);
    if (to < s->last) s->last = static_cast<int32_t>(to);
  } else if (ahead < 0 || left < 0) {
    s->first = s->last = 0;
  }
}

// ---- extremes along x ---------------------------------------------------------------

// The start of a lane's windows: a run of pixels of one channel. get() loads the first COUNT pixels of the
// run `segment` further on.
struct cell_line {
  uint32_t *row;
  int at;

  template <int COUNT> __device__ __forceinline__ void get(uint32_t (&x)[PEAK_ROWS], int segment) const {
    const int place = cell_room::at(at + segment * PEAK_ROWS);
#pragma unroll
    for (int d = 0; d < PEAK_ROWS; d += 4) {
      if (d >= COUNT) continue;
      const uint4 q = *reinterpret_cast<const uint4 *>(row + (place ^ d));
      x[d] = q.x, x[d + 1] = q.y, x[d + 2] = q.z, x[d + 3] = q.w;
    }
  }
  __device__ __forceinline__ void put(const uint32_t (&v)[PEAK_ROWS]) const {
    const int place = cell_room::at(at);
#pragma unroll
    for (int d = 0; d < PEAK_ROWS; d += 4)
      *reinterpret_cast<uint4 *>(row + (place ^ d)) = make_uint4(v[d], v[d + 1], v[d + 2], v[d + 3]);
  }
};

__device__ __forceinline__ void cell_along(const extent16 &w, uint32_t (&v)[PEAK_ROWS],
                                           const cell_line &line) {
  typedef peak<float> P;
  uint32_t x[PEAK_ROWS], y[PEAK_ROWS], z[PEAK_ROWS];
  auto put = [&](int k, const P &p) { v[k] = p.word(); };
  if (w.segments == 0) {
    with_number(w.reach + 1, [&](auto n) {
      constexpr int W = decltype(n)::value;
      line.get<PEAK_ROWS>(x, 0);
      if (W > 1) line.get<W - 1>(y, 1);
      peak_short<float, W>([&](int k) { return P::of(k < PEAK_ROWS ? x[k % PEAK_ROWS] : y[k % PEAK_ROWS]); },
                           put);
    });
    return;
  }
  P core = P::none();
#pragma unroll 1
  for (int s = 1; s < w.segments; s++) {
    line.get<PEAK_ROWS>(x, s);
#pragma unroll
    for (int k = 0; k < PEAK_ROWS; k++) core = P::least(core, P::of(x[k]));
  }
  with_number(w.rest + 1, [&](auto n) {
    constexpr int PART = decltype(n)::value;
    line.get<PEAK_ROWS>(x, 0);
    line.get<PEAK_ROWS>(y, w.segments);
    if (PART > 1) line.get<PART - 1>(z, w.segments + 1);
    peak_long<float, PART>(
        core, [&](int k) { return P::of(x[k % PEAK_ROWS]); },
        [&](int k) { return P::of(k < PEAK_ROWS ? y[k % PEAK_ROWS] : z[k % PEAK_ROWS]); }, put);
  });
}

// ---- results ------------------------------------------------------------------------

// A thread's column of results.
struct cell_result {
  char *to; // row 0
  int32_t rows;
  bool live;
};

// Sixteen rows from `row` on.
__device__ __forceinline__ void cell_store(const crest_args &d, const cell_result &r, const uint32_t *column,
                                           int row) {
  typedef peak<float> P;
  const peak_args &a = d.c.p;
  if (!r.live) return;
  char *to = r.to + row * a.row_out;
#pragma unroll
  for (int k = 0; k < PEAK_ROWS; k++, to += a.row_out) {
    uint32_t w = column[k * cell_room::WORDS];
    if (d.filled) w = P::least(P::of(w), P::of(d.filling)).word();
    w = P::result(w, a.flip);
    if (row + k < r.rows) *reinterpret_cast<uint32_t *>(to) = w;
  }
}

// ---- the march ----------------------------------------------------------------------

__global__ void __launch_bounds__(cell_room::THREADS, cell_room::BLOCKS)
    cell_march(const __grid_constant__ crest_args d) {
  typedef peak<float> P;
  typedef cell_room room;
  constexpr int STEP = room::STEP;
  extern __shared__ __align__(16) uint32_t memory[];
  const cell_args &c = d.c;
  const peak_args &a = c.p;
  const int C = a.step, thread = threadIdx.x;
  // The thread's column.
  const int plane = c.plane * PEAK_ROWS, words = plane * C; // of a plane, and of a cell
  const cell_spot s = cell_spot_of(c, words);
  const int place = room::at((s.cell * C + s.channel) * plane + s.pixel);
  int y = s.y;
  cell_column source = {nullptr, 0, 0, false};
  cell_result result = {nullptr, 0, false};
  if (s.live) {
    source.seen = s.element < (s.pixels + a.window[0] - 1) * C;
    if (source.seen) {
      source.from = a.in + s.in + (s.x - a.before[0] + s.pixel) * static_cast<int64_t>(c.pixel_in) +
                    s.channel * c.channel_in;
      cell_rows(c, &source, (s.x - a.before[0]) * C + s.element);
    }
    result.live = s.element < s.pixels * C, result.rows = a.rows;
    if (c.follow && c.all - (s.x * C + s.element) - (a.rows - 1) * c.follow <= 0) result.rows--;
    result.to =
        a.out + s.out + (s.x + s.pixel) * static_cast<int64_t>(c.pixel_out) + s.channel * c.channel_out;
  }
  // The lane's windows along x.
  const int lane = thread % 32, run = lane % room::LANES,
            row = thread / 32 * (32 / room::LANES) + lane / room::LANES;
  const int plane_of_run = run / a.runs, planes = c.cells * C;
  const bool slides = row < PEAK_ROWS && plane_of_run < planes;
  const int begins = plane_of_run * plane + (run - plane_of_run * a.runs) * PEAK_ROWS;
  int slot = 0; // of the block in which windows begin
  auto after = [&](int by) { return slot + by < a.slots ? slot + by : slot + by - a.slots; };
  for (int n = 0; n <= a.y.warm; n++)
    cell_copy(c, source, y - a.before[1] + n * PEAK_ROWS, memory + n * STEP + place);
  fc_commit_copies();
#pragma unroll 1
  for (int block = 0; block < s.blocks; block++, y += PEAK_ROWS) {
    fc_await_copies<0>();
    if (source.seen) {
      uint32_t v[PEAK_ROWS];
      peak_windows<float, room::WORDS>(
          a.y, a.flip, [&](int n) { return memory + after(n) * STEP + place; },
          [&](int k, const P &p) { v[k] = p.word(); });
      uint32_t *const here = memory + slot * STEP + place;
#pragma unroll
      for (int k = 0; k < PEAK_ROWS; k++) here[k * room::WORDS] = v[k];
    }
    __syncthreads();
    if (block > 0) cell_store(d, result, memory + after(a.slots - 1) * STEP + place, y - PEAK_ROWS);
    if (block + 1 < s.blocks)
      cell_copy(c, source, y - a.before[1] + (a.y.warm + 1) * PEAK_ROWS,
                memory + after(a.y.warm + 1) * STEP + place);
    fc_commit_copies();
    const bool made = slides && (c.cells > 1 || y + row < a.rows);
    const cell_line line = {memory + slot * STEP + row * room::WORDS, begins};
    uint32_t v[PEAK_ROWS];
    if (made) cell_along(a.x, v, line);
    __syncwarp();
    if (made) line.put(v);
    slot = after(1);
  }
  __syncthreads();
  cell_store(d, result, memory + after(a.slots - 1) * STEP + place, y - PEAK_ROWS);
}

// ---- how images are cut into cells ----------------------------------------------------

// What of the cut a kernel is told.
bool cells_fit(cell_args *c, const seen &s, const fc_cell_shape &shape) {
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

// ---- launching --------------------------------------------------------------------------

// The value outside the image: the border's constant, or one that is never an extreme.
static uint32_t beyond_of(const peak_args &a, const fc_edges *edges, int dtype) {
  if (!edges || !fc_winstat_constant(edges->border)) return a.beyond;
  const uint32_t code = static_cast<uint32_t>(edges->code);
  return dtype == FC_U8 ? (code & 0xff) * 0x01010101u : code;
}

peak_args seen_args_of(const seen &s, const fc_edges *edges, int which, int step) {
  peak_args a = peak_args_of(&s.w, &s.in, edges, &s.out, which, step);
  a.beyond = beyond_of(a, edges, s.in.dtype);
  return a;
}

fc_status run_peak_cells(const call &c, int which) {
  typedef cell_room room;
  const fc_cell_shape shape = FC_CELL_SHAPE;
  const seen s = fc_winstat_see(c.w, c.in, c.edges, c.out, true);
  crest_args d = {};
  peak_args *a = &d.c.p;
  *a = seen_args_of(s, c.edges, which, fc_winstat_channels(&s));
  d.filled = s.filled, d.filling = a->beyond ^ a->flip;
  if (!cells_fit(&d.c, s, shape)) return FC_UNSUPPORTED;
  while (d.c.cells * a->step * d.c.plane * PEAK_ROWS > room::WORDS) d.c.cells--;
  a->slots = fc_cell_slots(a->window[1]);
  const int64_t bytes = fc_cell_bytes(a->window[1]),
                resident = march_resident(cell_march, room::THREADS, bytes),
                blocks = cells_split(&d.c, s, resident);
  if (resident == 0 || blocks > INT32_MAX) return FC_UNSUPPORTED;
  cell_march<<<static_cast<unsigned>(blocks), room::THREADS, static_cast<size_t>(bytes), c.stream>>>(d);
  return fc_launch_status();
}

} // namespace winstat

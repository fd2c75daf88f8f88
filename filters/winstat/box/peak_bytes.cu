// SPDX-License-Identifier: MIT
//
// peak_bytes.cu - launches the kernel of peak_bytes.cuh.
#include "filters/winstat/box/cells.cuh"
#include "filters/winstat/box/peak_bytes.cuh"
#include "filters/winstat/launch.cuh"
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/box/extremes.cuh"

namespace winstat {

// A long row is cut into rows of CREST_FOLLOW strips each, if that gives at least CREST_FOLLOW_ROWS rows.
constexpr int CREST_FOLLOW = 8, CREST_FOLLOW_ROWS = 64;

// Whether all rows are aligned to n bytes; `first` is where strips begin.
static bool begin_at(const peak_args &p, const char *first, bool frames, int64_t n) {
  return reinterpret_cast<uintptr_t>(first) % static_cast<uintptr_t>(n) == 0 && p.row_in % n == 0 &&
         (p.planes == 1 || p.plane_in % n == 0) && (!frames || p.frame_in % n == 0);
}

// Chooses how windows are composed of smaller ones.
static void join(crest_bytes_args *a, int window, int channels) {
  a->power = window < 3 ? 0 : window < 9 ? 1 : 2;
  const int pixels = a->power == 0 ? 1 : a->power == 1 ? 3 : 9;
  a->reads = (window + pixels - 1) / pixels;
  a->joined = pixels * channels, a->last = (window - pixels) * channels;
}

// Chooses the number of lanes, cells and strips.
static void cut(crest_bytes_args *a, const peak_args &p, bool frames) {
  const int before = p.before[0] * p.step;
  const int skew =
                fc_byte_skew(a->out, a->row_out, a->planes > 1 ? a->plane_out : 0, frames ? a->frame_out : 0),
            pad = skew > 0 ? 16 : 0;
  // Strips begin at the alignment of rows, if all rows have the same.
  a->lead = pad, a->ahead = pad + before;
  for (int n = 16; n >= 4; n /= 4) {
    const int more =
        static_cast<int>(floor_mod(static_cast<int64_t>(reinterpret_cast<uintptr_t>(a->in)) - a->ahead, n));
    if (!begin_at(p, a->in - a->ahead - more, frames, n)) continue;
    a->lead += more, a->ahead += more;
    a->quads = n == 16, a->ragged = 0;
    break;
  }
  const int needed = (a->bytes + skew + CREST_BYTES - 1) / CREST_BYTES,
            seen = a->lead + (p.window[0] - 1) * p.step + (a->ragged ? 3 : 0),
            more = (seen + CREST_BYTES - 1) / CREST_BYTES, most = 32 - more;
  a->strips = (needed + most - 1) / most;
  const int each = (needed + a->strips - 1) / a->strips;
  a->made = each * CREST_BYTES, a->lanes = each + more;
  a->cells = a->strips > 1 ? 1 : 32 / a->lanes;
  if (a->rows > 1 || a->tall > 1 || frames || a->planes > 1 || a->strips < 2) return;
  // A long row is cut into rows that follow each other in memory, each of whole strips.
  int strips = a->strips / CREST_FOLLOW_ROWS;
  strips = strips > CREST_FOLLOW ? CREST_FOLLOW : strips < 1 ? 1 : strips;
  int row = strips * a->made - pad;
  row -= row % (16 * p.step);
  a->all = a->bytes, a->follow = a->bytes = row, a->strips = strips;
  a->rows = (a->all + row - 1) / row, a->row_in = a->row_out = row;
  a->lo[1] = 0, a->hi[1] = a->rows;
}

// Chooses the rows per piece: as many warps as are resident, or a small multiple of that if it costs less.
static void split(crest_bytes_args *a, int64_t images, int64_t resident) {
  const int64_t room = resident * a->cells;
  int64_t least = INT64_MAX;
  for (int64_t turns = 1; turns <= 8; turns++) {
    int64_t splits = turns * room / (a->strips * images);
    splits = splits < 1 ? 1 : splits > a->rows ? a->rows : splits;
    const int64_t each = (a->rows + splits - 1) / splits, real = (a->rows + each - 1) / each,
                  warps = (images * real + a->cells - 1) / a->cells * a->strips,
                  cost = (warps + resident - 1) / resident * (each + a->tall / 2 + 2);
    if (cost < least)
      least = cost, a->each = static_cast<int32_t>(each), a->splits = static_cast<int32_t>(real);
  }
}

static crest_bytes_args args_of(const peak_args &p, int64_t frames, bool filled, bool sole) {
  crest_bytes_args a = {};
  a.in = p.in, a.out = p.out;
  a.row_in = p.row_in, a.row_out = p.row_out, a.plane_in = p.plane_in, a.plane_out = p.plane_out;
  a.frame_in = p.frame_in, a.frame_out = p.frame_out;
  a.bytes = p.columns * p.step, a.rows = p.rows, a.planes = p.planes;
  a.sole = sole ? p.step : 0;
  a.lo[0] = p.lo[0] * p.step, a.hi[0] = p.hi[0] * p.step - (sole ? p.step - 1 : 0), a.lo[1] = p.lo[1],
  a.hi[1] = p.hi[1];
  a.above = p.before[1], a.tall = p.window[1], a.ragged = 1;
  a.beyond = p.beyond, a.least = filled ? p.beyond : ~p.flip;
  join(&a, p.window[0], p.step);
  cut(&a, p, frames > 1);
  return a;
}

static_assert(CREST_WARPS == FC_CREST_WARPS && CREST_ROW == FC_CREST_ROW && CREST_AHEAD == FC_CREST_AHEAD &&
                  CREST_SLACK == FC_CREST_SLACK,
              "as counted");

template <bool MOST, int C> static fc_status launch(crest_bytes_args a, int64_t frames, cudaStream_t stream) {
  const auto kernel = crest_march<MOST, C>;
  const int64_t bytes = fc_crest_bytes(a.tall),
                resident = march_resident(kernel, 32 * CREST_WARPS, bytes) * CREST_WARPS;
  if (resident == 0) return FC_DEVICE;
  split(&a, frames * a.planes, resident);
  const int64_t units = frames * a.planes * a.splits, warps = (units + a.cells - 1) / a.cells * a.strips;
  if (units > FC_BYTE_UNITS || warps > INT32_MAX - CREST_WARPS) return FC_UNSUPPORTED;
  a.units = static_cast<uint32_t>(units);
  kernel<<<fc_blocks(warps, CREST_WARPS, INT32_MAX), 32 * CREST_WARPS, static_cast<size_t>(bytes), stream>>>(
      a);
  return fc_launch_status();
}

fc_status run_crest(const call &c, int which) {
  const seen s = fc_winstat_see(c.w, c.in, c.edges, c.out, true);
  const int apart = fc_cell_apart(&s);
  const peak_args p = seen_args_of(s, c.edges, which, apart ? apart : fc_winstat_channels(&s));
  const int64_t frames = s.in.shape[FC_AXIS_N];
  const crest_bytes_args a = args_of(p, frames, s.filled, apart > 0);
  return with_channels(p.step, [&](auto n) {
    constexpr int C = decltype(n)::value;
    return p.flip ? launch<true, C>(a, frames, c.stream) : launch<false, C>(a, frames, c.stream);
  });
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// box_squares.cu - launches the kernel of box_squares.cuh.
#include "filters/winstat/box_squares.cuh"

#include <cmath>

#include "filters/winstat/march.cuh"
#include "filters/winstat/spread_launch.cuh"

namespace winstat {

// ---- codes ---------------------------------------------------------------------------

// How deviations, or squares, become codes, as codes_stat and fc_dev_code have it.
struct squares_rule {
  double n, scale, inverse;
  int stat;

  double code(double of) const {
    if (stat == FC_WINSTAT_RMS) return nearbyint(sqrt(of * scale * scale / n) * inverse);
    const double v = of / n * scale * scale / n;
    return nearbyint((stat == FC_WINSTAT_STD ? sqrt(v) : v) * inverse);
  }
  // What code k, or its root, is of.
  double times() const {
    return stat == FC_WINSTAT_RMS ? sqrt(n) : stat == FC_WINSTAT_STD ? n : n * n / scale;
  }
  // The largest code.
  double most() const { return code(stat == FC_WINSTAT_RMS ? n * 255 * 255 : floor(n * n / 4) * 255 * 255); }
  // The least of which a code above k is made. Numbers are looked at one by one only where they may lie on
  // what parts two codes.
  uint32_t least(int k) const {
    const double half = k + 0.5,
                 limit = stat == FC_WINSTAT_RMS   ? half * half * n
                         : stat == FC_WINSTAT_STD ? half * half * n * n
                                                  : half * times(),
                 near = nearbyint(limit);
    if (limit >= UINT32_MAX) return UINT32_MAX;
    const bool more = fabs(limit - near) > 1e-3 ? near > limit : code(near) > k;
    return static_cast<uint32_t>(near) + !more;
  }
};

static squares_rule rule_of(const fc_winstat *w, const fc_view *in, int which) {
  const int64_t n = (w->before[0] + w->after[0] + 1) * (w->before[1] + w->after[1] + 1);
  return {static_cast<double>(n), fc_scaling_of(in->kind, in->dtype).scale,
          fc_dev_map_of<double>(in->kind, in->dtype).inverse, w->stat[which]};
}

// ---- what it takes -------------------------------------------------------------------

// An image of one row, of which windows see the border's constant above and below.
static bool alone(const fc_winstat *w, const fc_view *in, const fc_edges *edges) {
  return edges && in->shape[FC_AXIS_Y] == 1 && w->before[1] + w->after[1] > 0 &&
         (edges->border == FC_BORDER_ZERO || edges->border == FC_BORDER_CONSTANT);
}

static bool squares_fit(const fc_winstat *w, const fc_view *in, const fc_view *out, int which) {
  const int64_t across = w->before[0] + w->after[0] + 1, tall = w->before[1] + w->after[1] + 1;
  if (in->dtype != FC_U8 || out->dtype != FC_U8 || in->kind != out->kind || w->shrink ||
      across > SQUARES_COLUMNS || tall > SQUARES_ROWS || across * tall > SQUARES_AREA || across * tall == 1)
    return false;
  const squares_rule rule = rule_of(w, in, which);
  const double bias = static_cast<double>(fc_scaling_of(in->kind, in->dtype).bias);
  if (rule.stat != FC_WINSTAT_STD && rule.stat != FC_WINSTAT_VAR &&
      (rule.stat != FC_WINSTAT_RMS || bias != 0))
    return false;
  return byte_channels(in, out) > 0;
}

static squares_args squares_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                    const fc_view *out, int which, int channels, uint32_t *notes) {
  squares_args a = {};
  const squares_rule rule = rule_of(w, in, which);
  a.b = byte_strips_of(w, in, edges, out, which, channels);
  const bool squares = rule.stat == FC_WINSTAT_RMS;
  const uint32_t n = static_cast<uint32_t>(rule.n);
  a.root = rule.stat != FC_WINSTAT_VAR, a.over = static_cast<float>(4 / rule.times());
  a.offset = squares ? 0 : 1u << 19, a.times = squares ? 1 : n, a.sum = n * a.offset;
  const uint32_t bias = static_cast<uint32_t>(fc_scaling_of(in->kind, in->dtype).bias);
  a.bias = bias * 0x01010101u, a.top = 4 * (255 - bias), a.clip = 4 * rule.most() > a.top, a.notes = notes;
  const uint32_t v = (a.b.outside & 0xff) + a.offset, tall = static_cast<uint32_t>(a.b.tall);
  a.fill = tall * v * v;
  if (alone(w, in, edges)) a.begun = (tall - 1) * v * v, a.b.tall = 1, a.b.above = 0;
  return a;
}

// ---- launching -----------------------------------------------------------------------

// Strips with ends of rows take longer than others, so that there are more of them than work at once.
constexpr int64_t WAVES = 4;

template <int C>
static fc_status launch(squares_args a, int64_t frames, bool only_ask, cudaStream_t stream, bool *done) {
  constexpr int CHUNK = squares_chunk<C>::BYTES;
  const auto kernel = box_squares<C>;
  *done = false;
  if (!byte_cut_columns<C, CHUNK>(&a.b, frames, CHUNK)) return FC_OK;
  const int64_t resident = march_resident(kernel, 32 * STRIP_WARPS, 0) * STRIP_WARPS,
                warps = resident > 0 ? byte_cut_rows(&a.b, frames, WAVES * resident) : 0;
  if (warps == 0) return FC_OK;
  *done = true;
  if (only_ask) return FC_OK;
  a.far = a.b.across / squares_chunk<C>::PIXELS, a.rest = a.b.across % squares_chunk<C>::PIXELS;
  kernel<<<fc_blocks(warps, STRIP_WARPS, INT32_MAX), 32 * STRIP_WARPS, 0, stream>>>(a);
  return fc_launch_status();
}

// Bytes from .. to - 1 of a row; what windows see beyond that is in the row, but for its own ends.
static squares_args part_of(squares_args a, int from, int to, int channels) {
  byte_strips &b = a.b;
  const int beyond = b.window - b.before - channels;
  const bool begins = from == 0, ends = to == b.bytes;
  if (!begins) b.lo[0] = -b.before, b.ahead = 0;
  b.hi[0] = ends ? b.hi[0] - from : to - from + beyond;
  b.in += from, b.out += from, b.bytes = to - from, b.columns = b.bytes / channels;
  b.all = b.ahead + b.bytes + beyond - b.hi[0];
  return a;
}

// A long row: but for its ends, as rows that follow one another, which windows see one by one.
template <int C>
static fc_status launch_row(const squares_args &a, bool only_ask, cudaStream_t stream, bool *done) {
  constexpr int64_t WIDE = 32 * squares_chunk<C>::BYTES * 8, ROWS = 64;
  const byte_strips &b = a.b;
  const int64_t middle = (b.bytes / WIDE - 2) * WIDE;
  if (b.rows * b.planes != 1 || b.tall != 1 || middle < ROWS * WIDE || b.edges.border == FC_BORDER_WRAP)
    return launch<C>(a, 1, only_ask, stream, done);
  const int from = static_cast<int>(WIDE), to = static_cast<int>(WIDE + middle);
  squares_args rows = part_of(a, from, from + static_cast<int>(WIDE), C);
  rows.b.row_in = rows.b.row_out = WIDE, rows.b.rows = rows.b.hi[1] = static_cast<int32_t>(middle / WIDE);
  for (const squares_args &part : {rows, part_of(a, 0, from, C), part_of(a, to, b.bytes, C)}) {
    const fc_status status = launch<C>(part, 1, only_ask, stream, done);
    if (status != FC_OK || !*done) return status;
  }
  return FC_OK;
}

fc_status run_box_squares(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          int which, bool only_ask, uint32_t *notes, cudaStream_t stream, bool *done) {
  *done = false;
  if (!squares_fit(w, in, out, which)) return FC_OK;
  const int channels = byte_channels(in, out);
  squares_args a = squares_args_of(w, in, edges, out, which, channels, notes);
  for (int k = 0; k < SQUARES_CODES && !only_ask; k++) a.least[k] = rule_of(w, in, which).least(k);
  const int64_t frames = in->shape[FC_AXIS_N];
  return with_channels(channels, [&](auto c) {
    constexpr int C = decltype(c)::value;
    return frames == 1 ? launch_row<C>(a, only_ask, stream, done)
                       : launch<C>(a, frames, only_ask, stream, done);
  });
}

} // namespace winstat

// SPDX-License-Identifier: MIT
//
// bands.cu - resize of bytes as products with band matrices: tiles, tables and launches of bands.cuh.
#include "filters/resample/bands.cuh"

namespace {

// Shared memory of a block for three, two and one of them on a multiprocessor of 227 KB.
constexpr int64_t SHARED[] = {75 << 10, 112 << 10, 226 << 10};

struct plan : product_plan {
  bool down_first;
  int64_t inputs_x, inputs_y; // of a group
  int64_t tile_x, tile_y;     // groups of a tile
  int64_t raw_pitch, mid_pitch, out_pitch, mid_at, high_at, out_at, bytes, vectors;
};

// Elements that so many adjacent elements of output read, from a multiple of 16 on.
int64_t elements_of(const plan &p, int64_t count) {
  const int64_t pixels = (count + 2 * p.channels - 2) / p.channels;
  return inputs_of(p.x, pixels) * p.channels + 15;
}

// An odd multiple of `unit`, so that rows begin at different banks.
int64_t odd(int64_t bytes, int64_t unit) {
  const int64_t units = (bytes + unit - 1) / unit;
  return (units | 1) * unit;
}

void lay_tile(plan *p, int64_t tile_x, int64_t tile_y) {
  const int64_t cells = GROUP_X * tile_x, rows = inputs_of(p->y, GROUP_Y * tile_y);
  const int64_t columns = up_to(elements_of(*p, cells), 32);
  // Rows that products with weights of 0 read.
  const int64_t reads = inputs_of(p->y, GROUP_Y * (tile_y - 1) + 1) + p->inputs_y;
  p->tile_x = tile_x, p->tile_y = tile_y, p->vectors = columns / 16;
  p->out_pitch = up_to(cells + 15, 16);
  if (p->down_first) {
    p->raw_pitch = p->mid_pitch = odd(columns, 16);
    p->mid_at = (rows > reads ? rows : reads) * p->raw_pitch;
    p->high_at = p->mid_at + GROUP_Y * tile_y * p->mid_pitch;
    p->out_at = p->high_at + GROUP_Y * tile_y * p->mid_pitch + p->inputs_x;
  } else {
    const int64_t blocks = up_to(rows, 16);
    p->raw_pitch = odd(columns, 16), p->mid_pitch = odd(2 * (cells + GROUP_X), 16);
    p->mid_at = p->high_at = up_to(blocks * p->raw_pitch + p->inputs_x, 16);
    p->out_at = p->mid_at + (blocks > reads ? blocks : reads) * p->mid_pitch;
  }
  p->out_at = up_to(p->out_at, 16);
  p->bytes = p->out_at + GROUP_Y * tile_y * p->out_pitch;
}

bool choose_tile(plan *p) {
  const int64_t sides[][2] = {{32, 2}, {24, 2}, {24, 1}, {16, 1}, {8, 1}, {4, 1}, {2, 1}};
  for (int64_t limit : SHARED)
    for (auto &side : sides) {
      lay_tile(p, side[0], side[1]);
      if (p->bytes <= limit) return true;
    }
  return false;
}

// Of shapes and extents, for so many interleaved channels.
bool plan_of(const fc_resample *r, const fc_view *in, const fc_view *out, int64_t channels, plan *p) {
  if (!plan_groups(r, in, out, channels, p)) return false;
  p->down_first = fc_resample_down_first(r, 1, &p->y) != 0;
  p->inputs_x = up_to(elements_of(*p, GROUP_X), 32);
  p->inputs_y = up_to(inputs_of(p->y, GROUP_Y), p->down_first ? 32 : 16);
  return p->inputs_x <= BAND_MOST && p->inputs_y <= BAND_MOST && choose_tile(p);
}

int64_t codes_bytes(int64_t groups, int64_t inputs, int64_t outputs) {
  return up_to(groups * inputs * outputs * 2, 256);
}
int64_t range_bytes(int64_t groups) {
  return up_to(groups * static_cast<int64_t>(sizeof(int2)), 256);
}
int64_t scratch_of(const plan &p) {
  return codes_bytes(p.groups_x, p.inputs_x, GROUP_X) + range_bytes(p.groups_x) +
         codes_bytes(p.groups_y, p.inputs_y, GROUP_Y) + range_bytes(p.groups_y);
}

band_job job_of(const plan &p, const fc_view *in, const fc_view *out, void *scratch) {
  band_job j;
  set_views(j, p, in, out);
  char *at = static_cast<char *>(scratch);
  auto table = [&](int64_t groups, int64_t inputs, int64_t outputs, int axis, int64_t channels) {
    band b;
    b.codes = reinterpret_cast<uint2 *>(at), at += codes_bytes(groups, inputs, outputs);
    b.range = reinterpret_cast<int2 *>(at), at += range_bytes(groups);
    b.inputs = static_cast<int32_t>(inputs), b.groups = static_cast<int32_t>(groups);
    b.count = static_cast<int32_t>(out->shape[axis]), b.channels = static_cast<int32_t>(channels);
    b.from = out->origin[axis];
    return b;
  };
  j.x = table(p.groups_x, p.inputs_x, GROUP_X, FC_AXIS_X, p.channels);
  j.y = table(p.groups_y, p.inputs_y, GROUP_Y, FC_AXIS_Y, 1);
  j.groups_x = static_cast<int32_t>(p.tile_x), j.groups_y = static_cast<int32_t>(p.tile_y);
  j.down = static_cast<int32_t>((p.groups_y + p.tile_y - 1) / p.tile_y);
  j.vectors = static_cast<int32_t>(p.vectors);
  j.aligned = is_aligned(p, in);
  j.step_rows = static_cast<int32_t>(BAND_THREADS / p.vectors);
  j.step_vectors = static_cast<int32_t>(BAND_THREADS % p.vectors);
  j.by_down = fc_dev_divider_of(j.down), j.by_planes = fc_dev_divider_of(p.by_n);
  j.by_vectors = fc_dev_divider_of(p.vectors), j.by_out = fc_dev_divider_of(p.out_pitch / 16);
  j.raw_pitch = static_cast<int32_t>(p.raw_pitch), j.mid_pitch = static_cast<int32_t>(p.mid_pitch);
  j.out_pitch = static_cast<int32_t>(p.out_pitch), j.mid_at = static_cast<int32_t>(p.mid_at);
  j.high_at = static_cast<int32_t>(p.high_at), j.out_at = static_cast<int32_t>(p.out_at);
  return j;
}

// Sums of the first pass whose values between the passes are the least and the most.
void set_limits(band_job *j, int limits) {
  const int32_t whole = 1 << FC_RESAMPLE_SHIFT(0), last = whole - 1;
  j->least = limits ? BIAS * whole : 0;
  j->most = (limits ? BIAS + FC_RESAMPLE_VALUE_MOST : 2 * BIAS - 1) * whole + last;
}

template <bool DOWN_FIRST, int STEPS, int ROWS>
fc_status launch(const plan &p, const band_job &j, void *stream) {
  auto kernel = resample_bands<DOWN_FIRST, STEPS, ROWS>;
  const int64_t processors = processors_for(kernel);
  if (!processors || !fc_allow_shared(kernel, p.bytes)) return FC_UNSUPPORTED;
  const int64_t outputs = static_cast<int64_t>(j.x.count) + j.y.count;
  const fc_status status = fc_launch(resample_band_tables, dim3(fc_blocks(outputs, BAND_WARPS, INT32_MAX)),
                                     dim3(BAND_THREADS), 0, stream, p.x, p.y, j.x, j.y, DOWN_FIRST ? 1 : 0);
  if (status != FC_OK) return status;
  const int64_t across = (p.groups_x + p.tile_x - 1) / p.tile_x,
                tiles = static_cast<int64_t>(j.down) * j.planes;
  // Blocks stay in their columns, whose weights are then in the first-level cache.
  const int64_t resident = p.bytes <= SHARED[0] ? 3 : p.bytes <= SHARED[1] ? 2 : 1;
  const int64_t most = blocks_down(processors * resident, across, tiles), rounds = (tiles + most - 1) / most,
                high = (tiles + rounds - 1) / rounds;
  return fc_launch(kernel, dim3(static_cast<unsigned>(across), static_cast<unsigned>(high)),
                   dim3(BAND_THREADS), static_cast<size_t>(p.bytes), stream, j);
}

template <int STEPS> fc_status launch_rows(const plan &p, const band_job &j, void *stream) {
  return p.tile_y == 1 ? launch<true, STEPS, 1>(p, j, stream) : launch<true, STEPS, 2>(p, j, stream);
}

} // namespace

int64_t fc_resample_bands_scratch(const fc_resample *r, const fc_view *in, const fc_view *out) {
  return most_scratch<plan>(r, in, out, plan_of, scratch_of);
}

fc_status fc_resample_bands(const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch,
                            void *stream) {
  const int64_t channels = channels_of_rows(in, out, BAND_ROWS * BAND_MOST + GROUP_Y);
  plan p;
  if (!channels || !plan_of(r, in, out, channels, &p)) return FC_UNSUPPORTED;
  band_job j = job_of(p, in, out, scratch);
  set_limits(&j, fc_resample_limits(r, 1));
  if (!p.down_first) return launch<false, 0, 1>(p, j, stream);
  switch (p.inputs_y / 32) {
  case 1: return launch_rows<1>(p, j, stream);
  case 2: return launch_rows<2>(p, j, stream);
  case 3: return launch_rows<3>(p, j, stream);
  default: return launch_rows<0>(p, j, stream);
  }
}

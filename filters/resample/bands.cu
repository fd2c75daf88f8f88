// SPDX-License-Identifier: MIT
//
// bands.cu - resize of bytes as products with band matrices: tiles, tables and launches of bands.cuh.
#include "filters/resample/bands.h"
#include "filters/resample/bands.cuh"

namespace {

// Shared memory of a block for three, two and one of them on a multiprocessor of 227 KB.
constexpr int64_t SHARED[] = {75 << 10, 112 << 10, 226 << 10};

struct plan {
  fc_resample_axis x, y;
  bool down_first, aligned;
  int64_t channels, planes, by_n; // interleaved; planes of all frames, of a frame
  int64_t groups_x, groups_y;     // of the view
  int64_t inputs_x, inputs_y;     // of a group
  int64_t tile_x, tile_y;         // groups of a tile
  int64_t raw_pitch, mid_pitch, out_pitch, mid_at, high_at, out_at, bytes, vectors;
};

int64_t up_to(int64_t v, int64_t multiple) {
  return (v + multiple - 1) / multiple * multiple;
}

// The most inputs that `count` adjacent outputs read: windows end less than half an input beyond the filter's
// support.
int64_t inputs_of(const fc_resample_axis &a, int64_t count) {
  const double reach = a.filter == FC_RESAMPLE_AREA ? a.scale + 2 : 2 * a.support + 1;
  const int64_t most = static_cast<int64_t>(static_cast<double>(count - 1) * a.scale + reach + 1e-3);
  return most < a.in ? most : a.in;
}

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
  const int64_t cells = BAND_X * tile_x, rows = inputs_of(p->y, BAND_Y * tile_y);
  const int64_t columns = up_to(elements_of(*p, cells), 32);
  // Rows that products with weights of 0 read.
  const int64_t reads = inputs_of(p->y, BAND_Y * (tile_y - 1) + 1) + p->inputs_y;
  p->tile_x = tile_x, p->tile_y = tile_y, p->vectors = columns / 16;
  p->out_pitch = up_to(cells + 15, 16);
  if (p->down_first) {
    p->raw_pitch = p->mid_pitch = odd(columns, 16);
    p->mid_at = (rows > reads ? rows : reads) * p->raw_pitch;
    p->high_at = p->mid_at + BAND_Y * tile_y * p->mid_pitch;
    p->out_at = p->high_at + BAND_Y * tile_y * p->mid_pitch + p->inputs_x;
  } else {
    const int64_t blocks = up_to(rows, 16);
    p->raw_pitch = odd(columns, 16), p->mid_pitch = odd(2 * (cells + BAND_X), 16);
    p->mid_at = p->high_at = up_to(blocks * p->raw_pitch + p->inputs_x, 16);
    p->out_at = p->mid_at + (blocks > reads ? blocks : reads) * p->mid_pitch;
  }
  p->out_at = up_to(p->out_at, 16);
  p->bytes = p->out_at + BAND_Y * tile_y * p->out_pitch;
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
  p->x = fc_resample_axis_of(r, in->extent[FC_AXIS_X], out->extent[FC_AXIS_X]);
  p->y = fc_resample_axis_of(r, in->extent[FC_AXIS_Y], out->extent[FC_AXIS_Y]);
  if (r->filter == FC_RESAMPLE_NEAREST || !fc_resample_by_codes(r, in->dtype, &p->x, &p->y)) return false;
  const int64_t all = out->shape[FC_AXIS_C];
  p->down_first = fc_resample_down_first(r, 1, &p->y) != 0;
  p->channels = channels, p->by_n = channels == all ? 1 : all, p->planes = out->shape[FC_AXIS_N] * p->by_n;
  const int64_t width = out->shape[FC_AXIS_X] * channels, height = out->shape[FC_AXIS_Y];
  if (width > INT32_MAX / 2 || in->extent[FC_AXIS_X] > INT32_MAX / 2 / channels ||
      height * p->planes > INT32_MAX / 2)
    return false;
  p->groups_x = up_to(width, BAND_X) / BAND_X, p->groups_y = up_to(height, BAND_Y) / BAND_Y;
  p->inputs_x = up_to(elements_of(*p, BAND_X), 32);
  p->inputs_y = up_to(inputs_of(p->y, BAND_Y), p->down_first ? 32 : 16);
  return p->inputs_x <= BAND_MOST && p->inputs_y <= BAND_MOST && choose_tile(p);
}

int64_t codes_bytes(int64_t groups, int64_t inputs, int64_t outputs) {
  return up_to(groups * inputs * outputs * 2, 256);
}
int64_t range_bytes(int64_t groups) {
  return up_to(groups * static_cast<int64_t>(sizeof(int2)), 256);
}
int64_t scratch_of(const plan &p) {
  return codes_bytes(p.groups_x, p.inputs_x, BAND_X) + range_bytes(p.groups_x) +
         codes_bytes(p.groups_y, p.inputs_y, BAND_Y) + range_bytes(p.groups_y);
}

// Whether elements of a row are adjacent: of all channels, or of each.
bool plan_of_views(const fc_resample *r, const fc_view *in, const fc_view *out, plan *p) {
  const bool whole = fc_dev_is_interleaved(in) && fc_dev_is_interleaved(out);
  if (!whole && (in->stride[FC_AXIS_X] != 1 || out->stride[FC_AXIS_X] != 1)) return false;
  const int64_t row = in->stride[FC_AXIS_Y] < 0 ? -in->stride[FC_AXIS_Y] : in->stride[FC_AXIS_Y];
  return row <= INT32_MAX / (BAND_ROWS * BAND_MOST + BAND_Y) &&
         plan_of(r, in, out, whole ? out->shape[FC_AXIS_C] : 1, p);
}

band_job job_of(const plan &p, const fc_view *in, const fc_view *out, void *scratch) {
  band_job j;
  const int64_t x = in->origin[FC_AXIS_X], y = in->origin[FC_AXIS_Y];
  j.in_row = in->stride[FC_AXIS_Y], j.in_n = in->stride[FC_AXIS_N], j.in_c = in->stride[FC_AXIS_C];
  j.out_row = out->stride[FC_AXIS_Y], j.out_n = out->stride[FC_AXIS_N], j.out_c = out->stride[FC_AXIS_C];
  j.in = static_cast<const char *>(in->data) - y * j.in_row - x * p.channels;
  j.out = static_cast<char *>(out->data);
  // Inputs beside the view are readable as far as windows go, within the signal.
  const int64_t halo = fc_resample_halo_of(&p.x), end = x + in->shape[FC_AXIS_X] + halo;
  j.low = static_cast<int32_t>((x > halo ? x - halo : 0) * p.channels);
  j.high = static_cast<int32_t>((end < p.x.in ? end : p.x.in) * p.channels);
  j.planes = static_cast<int32_t>(p.planes), j.by_n = static_cast<int32_t>(p.by_n);
  j.width = static_cast<int32_t>(out->shape[FC_AXIS_X] * p.channels);
  j.height = static_cast<int32_t>(out->shape[FC_AXIS_Y]);
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
  j.x = table(p.groups_x, p.inputs_x, BAND_X, FC_AXIS_X, p.channels);
  j.y = table(p.groups_y, p.inputs_y, BAND_Y, FC_AXIS_Y, 1);
  j.groups_x = static_cast<int32_t>(p.tile_x), j.groups_y = static_cast<int32_t>(p.tile_y);
  j.down = static_cast<int32_t>((p.groups_y + p.tile_y - 1) / p.tile_y);
  j.vectors = static_cast<int32_t>(p.vectors);
  const int64_t apart = (p.planes > p.by_n ? j.in_n : 0) | (p.by_n > 1 ? j.in_c : 0);
  j.aligned = (static_cast<int64_t>(reinterpret_cast<uintptr_t>(j.in)) | j.in_row | apart) % 16 == 0;
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
  j->least = limits ? BAND_BIAS * whole : 0;
  j->most = (limits ? BAND_BIAS + FC_RESAMPLE_VALUE_MOST : 2 * BAND_BIAS - 1) * whole + last;
}

// Whether the kernel was compiled for the units and may have so much shared memory; the multiprocessors there
// are.
template <typename K> bool allow(K kernel, int64_t bytes, int *processors) {
  int device = 0;
  cudaFuncAttributes about;
  if (cudaFuncGetAttributes(&about, kernel) != cudaSuccess || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return fc_forget_error();
  return about.ptxVersion >= 80 && fc_allow_shared(kernel, bytes);
}

template <bool DOWN_FIRST, int STEPS, int ROWS>
fc_status launch(const plan &p, const band_job &j, void *stream) {
  int processors = 0;
  auto kernel = resample_bands<DOWN_FIRST, STEPS, ROWS>;
  if (!allow(kernel, p.bytes, &processors)) return FC_UNSUPPORTED;
  const int64_t outputs = static_cast<int64_t>(j.x.count) + j.y.count;
  const fc_status status = fc_launch(resample_band_tables, dim3(fc_blocks(outputs, BAND_WARPS, INT32_MAX)),
                                     dim3(BAND_THREADS), 0, stream, p.x, p.y, j.x, j.y, DOWN_FIRST ? 1 : 0);
  if (status != FC_OK) return status;
  const int64_t across = (p.groups_x + p.tile_x - 1) / p.tile_x,
                tiles = static_cast<int64_t>(j.down) * j.planes;
  // Blocks stay in their columns, whose weights are then in the first-level cache.
  const int64_t resident = p.bytes <= SHARED[0] ? 3 : p.bytes <= SHARED[1] ? 2 : 1;
  int64_t high = processors * resident / across;
  high = high < 1 ? 1 : high > tiles ? tiles : high;
  const int64_t rounds = (tiles + high - 1) / high;
  high = (tiles + rounds - 1) / rounds;
  if (high > 65535) high = 65535;
  return fc_launch(kernel, dim3(static_cast<unsigned>(across), static_cast<unsigned>(high)),
                   dim3(BAND_THREADS), static_cast<size_t>(p.bytes), stream, j);
}

template <int STEPS> fc_status launch_rows(const plan &p, const band_job &j, void *stream) {
  return p.tile_y == 1 ? launch<true, STEPS, 1>(p, j, stream) : launch<true, STEPS, 2>(p, j, stream);
}

} // namespace

int64_t fc_resample_bands_scratch(const fc_resample *r, const fc_view *in, const fc_view *out) {
  int64_t most = 0;
  for (int64_t channels : {int64_t{1}, out->shape[FC_AXIS_C]}) {
    plan p;
    if (plan_of(r, in, out, channels, &p) && scratch_of(p) > most) most = scratch_of(p);
  }
  return most;
}

fc_status fc_resample_bands(const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch,
                            void *stream) {
  plan p;
  if (!plan_of_views(r, in, out, &p)) return FC_UNSUPPORTED;
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

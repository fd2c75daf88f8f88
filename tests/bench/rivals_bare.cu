// SPDX-License-Identifier: MIT
//
// rivals_bare.cu - our filters' launchers alone: what a chain takes beyond that is what it does to give
// its first stage a border.
#include "tests/bench/rivals.cuh"

#include "filters/conv1d/conv1d.h"
#include "filters/filter2d/conv2d.h"
#include "filters/filter2d/sepconv.h"
#include "filters/winstat/winstat.h"

namespace rivals {
namespace {

// A device's copy of a mask, and the words that clamped samples are noted in.
class tables {
public:
  tables(const float *mask, size_t count) : mask(std::max<size_t>(count, 1) * sizeof(float)), notes(256) {
    if (count)
      must(cudaMemcpy(this->mask.data, mask, count * sizeof(float), cudaMemcpyHostToDevice), "uploading");
    must(cudaMemset(notes.data, 0, notes.bytes), "filling");
  }
  const buffer mask, notes;
};

// Noise with room around it, in whole cache lines, and a result.
class signals {
public:
  signals(int kind, int dtype, int64_t y, int64_t x, int64_t c, int64_t room_y, int64_t room_x,
          int64_t stats = 1)
      : room_x((room_x + 255) / 256 * 256), room_y(room_y),
        memory(static_cast<size_t>((y + 2 * room_y) * (x + 2 * this->room_x) * c) * fc_dtype_size(dtype)),
        result(static_cast<size_t>(y * x * c * stats) * fc_dtype_size(dtype)) {
    fill(memory, dtype);
    in = view_of(kind, dtype, memory.data, y, x + 2 * this->room_x, c);
    in.shape[FC_AXIS_X] = in.extent[FC_AXIS_X] = x;
    in.data = fc_view_at(&in, 0, room_y, this->room_x, 0);
    out = view_of(kind, dtype, result.data, y, x, c);
    out.shape[FC_AXIS_C] = out.extent[FC_AXIS_C] = c * stats;
    if (stats > 1) out.stride[FC_AXIS_C] = y * out.stride[FC_AXIS_Y]; // of one channel: a picture each
  }
  const int64_t room_x, room_y;
  const buffer memory, result;
  fc_view in, out;
};

void must_filter(fc_status status) {
  if (status != FC_OK) must(cudaErrorInvalidValue, "a filter's launcher");
}

} // namespace

double bare_winstat(int columns, int rows, const char *stats) {
  const int32_t both[] = {FC_WINSTAT_SUM, FC_WINSTAT_SUMSQ}, mean[] = {FC_WINSTAT_MEAN};
  const int count = strcmp(stats, "mean") == 0 ? 1 : 2;
  fc_winstat w;
  must_filter(fc_winstat_init(&w, count == 1 ? mean : both, count, columns, rows, 0, FC_F32));
  signals s(FC_ARRAY, FC_F32, SIDE, SIDE, 1, rows, columns, count);
  tables t(NULL, 0);
  buffer scratch(fc_winstat_cuda_scratch(&w, &s.in) + 256);
  return alone([&](int) {
    must_filter(fc_winstat_cuda(&w, &s.in, &s.out, scratch.data, t.notes.as<uint32_t>(), stream));
  });
}

double bare_sepconv(const float *taps, int count, int dtype, int channels) {
  signals s(dtype == FC_U8 ? FC_IMAGE : FC_ARRAY, dtype, SIDE, SIDE, channels, count, count);
  tables t(taps, static_cast<size_t>(count));
  fc_sepconv op = {};
  op.compute = FC_F32, op.rank = 1, op.nx = op.ny = count;
  op.x = op.y = taps, op.device_x = op.device_y = t.mask.data;
  return alone([&](int) {
    must_filter(fc_sepconv_cuda(&op, &s.in, &s.out, nullptr, stream, t.notes.as<uint32_t>()));
  });
}

double bare_conv2d(const float *mask, int side, int dtype) {
  signals s(dtype == FC_U8 ? FC_IMAGE : FC_ARRAY, dtype, SIDE, SIDE, 1, side, side);
  tables t(mask, static_cast<size_t>(side) * side);
  fc_conv2d op = {};
  op.compute = FC_F32, op.nx = op.ny = side, op.mask = mask, op.device_mask = t.mask.data;
  return alone([&](int) { must_filter(fc_conv2d_cuda(&op, &s.in, &s.out, stream, t.notes.as<uint32_t>())); });
}

double bare_conv1d(const float *taps, int count, int64_t samples) {
  signals s(FC_AUDIO, FC_F32, 1, samples, 1, 0, count);
  tables t(taps, static_cast<size_t>(count));
  fc_conv1d c = {};
  c.mask = taps, c.device_mask = t.mask.data, c.taps = count, c.masks = 1, c.before = count / 2;
  c.axis = FC_AXIS_X, c.compute = FC_F32;
  return alone([&](int) { must_filter(fc_conv1d_cuda(&c, &s.in, &s.out, stream, t.notes.as<uint32_t>())); });
}

} // namespace rivals

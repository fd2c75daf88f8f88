// SPDX-License-Identifier: MIT
//
// rivals_npp.cu - beside NPP: images of 16384 x 16384, and 128 Mi samples in one row.
//
// NPP's border is replicate, so that is ours too; variants of NPP without a border filter the inside only,
// where all answers are compared. NPP's masks lie in device memory, ready for use. Its box filter makes the
// mean; ours beside it the sum and the sum of squares.
#ifdef RIVALS_NPP

#include "tests/bench/rivals.cuh"

#include <nppi_color_conversion.h>
#include <nppi_filtering_functions.h>

namespace rivals {
namespace {

constexpr int LONGEST = 31;

// What a call of NPP's filters needs; in and out have `channels` elements of `size` bytes a pixel.
struct call {
  const char *in;
  char *out, *between, *scratch;
  const float *mask; // on the device
  int columns, rows; // of the mask
  int height;        // of the images
  int pixel;         // bytes
  NppStreamContext context;

  int step() const { return static_cast<int>(SIDE) * pixel; }
  NppiSize whole() const { return {static_cast<int>(SIDE), height}; }
  NppiSize line() const { return {static_cast<int>(SIDE) * height, 1}; }
  NppiSize size() const { return {columns, rows}; }
  NppiPoint anchor() const { return {columns / 2, rows / 2}; }
  // Bytes from the first pixel to one that the mask reaches nothing outside from.
  int64_t inside(int x, int y) const { return static_cast<int64_t>(y) * step() + x * pixel; }
  NppiSize less(int x, int y) const { return {static_cast<int>(SIDE) - 2 * x, height - 2 * y}; }
};

const Npp32f *f32(const char *data) {
  return reinterpret_cast<const Npp32f *>(data);
}
Npp32f *f32(char *data) {
  return reinterpret_cast<Npp32f *>(data);
}
const Npp8u *u8(const char *data) {
  return reinterpret_cast<const Npp8u *>(data);
}
Npp8u *u8(char *data) {
  return reinterpret_cast<Npp8u *>(data);
}

NppStreamContext context_of_device() {
  NppStreamContext c = {};
  cudaDeviceProp p;
  must(cudaGetDeviceProperties(&p, 0), "device");
  c.hStream = stream, c.nCudaDeviceId = 0;
  c.nMultiProcessorCount = p.multiProcessorCount;
  c.nMaxThreadsPerMultiProcessor = p.maxThreadsPerMultiProcessor;
  c.nMaxThreadsPerBlock = p.maxThreadsPerBlock;
  c.nSharedMemPerBlock = p.sharedMemPerBlock;
  c.nCudaDevAttrComputeCapabilityMajor = p.major, c.nCudaDevAttrComputeCapabilityMinor = p.minor;
  must(cudaStreamGetFlags(stream, &c.nStreamFlags), "stream");
  return c;
}

struct variant {
  const char *name;
  NppStatus (*run)(const call &c);
};

// ---- what NPP has ------------------------------------------------------------------

NppStatus box(const call &c) {
  const int x = c.columns, y = c.rows > 1 ? c.rows : 0;
  return nppiFilterBox_32f_C1R_Ctx(f32(c.in + c.inside(x, y)), c.step(), f32(c.out + c.inside(x, y)),
                                   c.step(), c.less(x, y), c.size(), c.anchor(), c.context);
}

NppStatus box_border(const call &c) {
  return nppiFilterBoxBorder_32f_C1R_Ctx(f32(c.in), c.step(), c.whole(), {0, 0}, f32(c.out), c.step(),
                                         c.whole(), c.size(), c.anchor(), NPP_BORDER_REPLICATE, c.context);
}

NppStatus box_advanced(const call &c) {
  return nppiFilterBoxBorderAdvanced_32f_C1R_Ctx(f32(c.in), c.step(), c.whole(), {0, 0}, f32(c.out), c.step(),
                                                 c.whole(), c.size(), c.anchor(), NPP_BORDER_REPLICATE,
                                                 u8(c.scratch), c.context);
}

NppStatus row_column(const call &c) {
  const int k = c.columns;
  NppStatus status =
      nppiFilterRow_32f_C1R_Ctx(f32(c.in + c.inside(k, 0)), c.step(), f32(c.between + c.inside(k, 0)),
                                c.step(), c.less(k, 0), c.mask, k, k / 2, c.context);
  if (status != NPP_SUCCESS) return status;
  return nppiFilterColumn_32f_C1R_Ctx(f32(c.between + c.inside(k, k)), c.step(), f32(c.out + c.inside(k, k)),
                                      c.step(), c.less(k, k), c.mask, k, k / 2, c.context);
}

// One row of all samples: as such, and cut into rows whose neighbours to the left and right are the ends of
// others, but for the first and the last.
NppStatus row_cut(const call &c) {
  return nppiFilterRow_32f_C1R_Ctx(f32(c.in + c.inside(0, 1)), c.step(), f32(c.out + c.inside(0, 1)),
                                   c.step(), c.less(0, 1), c.mask, c.columns, c.columns / 2, c.context);
}

NppStatus row_whole(const call &c) {
  const int k = c.columns;
  return nppiFilterRow_32f_C1R_Ctx(f32(c.in + c.inside(k, 0)), c.line().width * c.pixel,
                                   f32(c.out + c.inside(k, 0)), c.line().width * c.pixel,
                                   {c.line().width - 2 * k, 1}, c.mask, k, k / 2, c.context);
}

NppStatus row_border(const call &c) {
  const int bytes = c.line().width * c.pixel;
  return nppiFilterRowBorder_32f_C1R_Ctx(f32(c.in), bytes, c.line(), {0, 0}, f32(c.out), bytes, c.line(),
                                         c.mask, c.columns, c.columns / 2, NPP_BORDER_REPLICATE, c.context);
}

NppStatus row_column_border(const call &c) {
  const int k = c.columns;
  NppStatus status =
      nppiFilterRowBorder_32f_C1R_Ctx(f32(c.in), c.step(), c.whole(), {0, 0}, f32(c.between), c.step(),
                                      c.whole(), c.mask, k, k / 2, NPP_BORDER_REPLICATE, c.context);
  if (status != NPP_SUCCESS) return status;
  return nppiFilterColumnBorder_32f_C1R_Ctx(f32(c.between), c.step(), c.whole(), {0, 0}, f32(c.out), c.step(),
                                            c.whole(), c.mask, k, k / 2, NPP_BORDER_REPLICATE, c.context);
}

NppStatus gauss(const call &c) {
  return nppiFilterGaussAdvancedBorder_32f_C1R_Ctx(f32(c.in), c.step(), c.whole(), {0, 0}, f32(c.out),
                                                   c.step(), c.whole(), c.columns, c.mask,
                                                   NPP_BORDER_REPLICATE, c.context);
}

NppStatus gauss_rgb(const call &c) {
  return nppiFilterGaussAdvancedBorder_8u_C3R_Ctx(u8(c.in), c.step(), c.whole(), {0, 0}, u8(c.out), c.step(),
                                                  c.whole(), c.columns, c.mask, NPP_BORDER_REPLICATE,
                                                  c.context);
}

NppStatus dense(const call &c) {
  const int k = c.columns;
  return nppiFilter_32f_C1R_Ctx(f32(c.in + c.inside(k, k)), c.step(), f32(c.out + c.inside(k, k)), c.step(),
                                c.less(k, k), c.mask, c.size(), c.anchor(), c.context);
}

NppStatus dense_border(const call &c) {
  return nppiFilterBorder_32f_C1R_Ctx(f32(c.in), c.step(), c.whole(), {0, 0}, f32(c.out), c.step(), c.whole(),
                                      c.mask, c.size(), c.anchor(), NPP_BORDER_REPLICATE, c.context);
}

NppStatus dense_bytes(const call &c) {
  const int k = c.columns;
  return nppiFilter32f_8u_C1R_Ctx(u8(c.in + c.inside(k, k)), c.step(), u8(c.out + c.inside(k, k)), c.step(),
                                  c.less(k, k), c.mask, c.size(), c.anchor(), c.context);
}

NppStatus dense_bytes_border(const call &c) {
  return nppiFilterBorder32f_8u_C1R_Ctx(u8(c.in), c.step(), c.whole(), {0, 0}, u8(c.out), c.step(), c.whole(),
                                        c.mask, c.size(), c.anchor(), NPP_BORDER_REPLICATE, c.context);
}

// RGB to YCbCr as JPEG has it, with a code's offset.
const float YCC[3][4] = {
    {0.299f, 0.587f, 0.114f, 0}, {-0.168736f, -0.331264f, 0.5f, 128}, {0.5f, -0.418688f, -0.081312f, 128}};

NppStatus twist(const call &c) {
  return nppiColorTwist32f_8u_C3R_Ctx(u8(c.in), c.step(), u8(c.out), c.step(), c.whole(), YCC, c.context);
}

// ---- side by side ------------------------------------------------------------------

// Images in and out, and what NPP needs besides.
struct images {
  buffer in, ours, theirs, between, mask;
  int dtype, channels;
  int64_t height;

  images(int dtype, int channels, int stats = 1, int64_t height = SIDE)
      : in(static_cast<size_t>(height * SIDE * channels) * fc_dtype_size(dtype)), ours(in.bytes * stats),
        theirs(in.bytes), between(in.bytes), mask(LONGEST * LONGEST * sizeof(float)), dtype(dtype),
        channels(channels), height(height) {
    fill(in, dtype);
  }
  fc_view view(const buffer &b) const {
    return view_of(dtype == FC_U8 ? FC_IMAGE : FC_ARRAY, dtype, b.data, height, SIDE, channels);
  }
  fc_view line(const buffer &b) const { return view_of(FC_AUDIO, dtype, b.data, 1, height * SIDE, channels); }
  call a_call(const float *taps, int columns, int rows) const {
    call c = {in.data, theirs.data, between.data, NULL, mask.as<float>(), columns, rows, 0, 0, {}};
    c.height = static_cast<int>(height), c.pixel = channels * static_cast<int>(fc_dtype_size(dtype));
    c.context = context_of_device();
    if (taps)
      must(cudaMemcpy(mask.data, taps, sizeof(float) * columns * rows, cudaMemcpyHostToDevice), "uploading");
    return c;
  }
};

// The fastest of several ways, with its error beside our answer; those that NPP refuses, or that answer
// otherwise where another agrees, are out and named.
const variant *fastest(const variant *variants, int count, const images &im, const call &c,
                       const fc_view &ours, double scale, row *r) {
  const variant *best = NULL;
  double least = INFINITY;
  const int turns = run_settings.repeats;
  run_settings.repeats = 3;
  for (const variant *v = variants; v < variants + count; v++) {
    im.theirs.poison();
    const NppStatus status = v->run(c);
    if (status != NPP_SUCCESS) {
      printf("  (%s, %d x %d: status %d of NPP)\n", v->name, c.columns, c.rows, static_cast<int>(status));
      continue;
    }
    const double error = difference(ours, im.view(im.theirs), std::max(c.columns, c.rows), scale);
    const bool same = error <= r->allowed;
    if (!same) printf("  (%s, %d x %d: another answer, by %.1e)\n", v->name, c.columns, c.rows, error);
    const double seconds = same || !best ? alone([&](int) { v->run(c); }) : INFINITY;
    if (best && r->error <= r->allowed && (!same || seconds >= least)) continue;
    least = seconds, best = v, r->error = error;
  }
  run_settings.repeats = turns;
  return best;
}

// Runs a chain beside the fastest variant, with `out` for a view of our answer, and adds the row;
// its work, bytes, allowed error, note, target and bare time are there already. `out` is as wide as the
// images, or one row of all their samples; answers are compared as images.
void beside(row *r, const images &im, const char *stages, const fc_view &out, const variant *variants,
            int count, const call &c, double scale = 1) {
  const fc_view in = out.shape[FC_AXIS_X] == SIDE ? im.view(im.in) : im.line(im.in);
  chain ours(stages);
  im.ours.poison();
  ours(in, out);
  fc_view first = im.view(im.ours);
  for (int a = FC_AXIS_Y; a <= FC_AXIS_C && out.shape[FC_AXIS_X] == SIDE; a++)
    first.stride[a] = out.stride[a];
  const variant *v = fastest(variants, count, im, c, first, scale, r);
  if (!v) return;
  name(r->rival, sizeof r->rival, "NPP %s", v->name);
  const times t = in_turns([&](int) { ours(in, out); }, [&](int) { v->run(c); });
  r->ours = t.ours, r->theirs = t.theirs;
  add(*r);
}

double bytes_of_pass(const images &im, int outputs = 1) {
  return static_cast<double>(im.in.bytes) * (1 + outputs);
}

void sliding() {
  const images im(FC_F32, 1, 2);
  buffer scratch(256);
  const call c = im.a_call(NULL, 15, 1);
  const variant ways[] = {{"FilterBox", box}, {"FilterBoxBorder", box_border}};
  row r = {};
  name(r.work, sizeof r.work, "sliding sum + sumsq 16384^2 f32, w = 15");
  r.note = "NPP makes the mean alone; sums compared on the inside";
  r.bytes = bytes_of_pass(im, 2), r.allowed = 1e-5, r.aim = {1, 0.85, 0};
  r.bare = bare_winstat(15, 1, "sum,sumsq");
  // Two pictures, one after the other, rather than pairs.
  fc_view out = view_of(FC_ARRAY, FC_F32, im.ours.data, SIDE, SIDE);
  out.shape[FC_AXIS_C] = out.extent[FC_AXIS_C] = 2;
  out.stride[FC_AXIS_C] = static_cast<int64_t>(im.in.bytes);
  beside(&r, im, "winstat:15:stat=sum,sumsq:border=replicate", out, ways, 2, c, 15);
}

void boxes() {
  const images im(FC_F32, 1);
  for (int k : {3, 15, 31}) {
    call c = im.a_call(NULL, k, k);
    int need = 0;
    if (nppiFilterBoxBorderAdvancedGetDeviceBufferSize(c.whole(), 1, &need) != NPP_SUCCESS) need = 0;
    buffer scratch(static_cast<size_t>(std::max(need, 256)));
    c.scratch = scratch.data;
    const variant ways[] = {
        {"FilterBox", box}, {"FilterBoxBorder", box_border}, {"FilterBoxBorderAdvanced", box_advanced}};
    row r = {};
    name(r.work, sizeof r.work, "box 16384^2 f32, %d x %d", k, k);
    r.note = "compared on the inside";
    r.bytes = bytes_of_pass(im), r.allowed = 1e-5, r.aim = {1, 0.80, 0};
    r.bare = bare_winstat(k, k, "mean");
    text stages;
    stages << "winstat:" << k << "x" << k << ":stat=mean:border=replicate";
    beside(&r, im, stages, im.view(im.ours), ways, need ? 3 : 2, c);
  }
}

void separable() {
  const images im(FC_F32, 1);
  for (int k : {7, 15, 31}) {
    float taps[LONGEST];
    bell(taps, k);
    const variant ways[] = {{"FilterRow + Column", row_column},
                            {"FilterRow + ColumnBorder", row_column_border},
                            {"FilterGaussAdvancedBorder", gauss}};
    row r = {};
    name(r.work, sizeof r.work, "sepconv 16384^2 f32, k = %d", k);
    r.note = "compared on the inside";
    r.bytes = bytes_of_pass(im), r.flops = 4. * k * SIDE * SIDE, r.allowed = 1e-5;
    r.aim = {1, k < 31 ? 0.85 : 0.70, 0};
    r.bare = bare_sepconv(taps, k, FC_F32, 1);
    text stages;
    stages << "sepconv:";
    stages.matrix(taps, 1, k) << ":border=replicate";
    beside(&r, im, stages, im.view(im.ours), ways, 3, im.a_call(taps, k, 1));
  }
}

void separable_rgb() {
  const images im(FC_U8, 3);
  for (int k : {3, 7, 15}) {
    float taps[LONGEST];
    bell(taps, k);
    const variant ways[] = {{"FilterGaussAdvancedBorder", gauss_rgb}};
    row r = {};
    name(r.work, sizeof r.work, "sepconv 16384^2 u8 RGB, k = %d", k);
    r.note = "compared on the inside to 1 code: NPP rounds half up";
    r.bytes = bytes_of_pass(im), r.flops = 12. * k * SIDE * SIDE, r.allowed = 1;
    r.aim = {1, k == 7 ? 0.60 : 0, 0};
    r.bare = bare_sepconv(taps, k, FC_U8, 3);
    text stages;
    stages << "sepconv:";
    stages.matrix(taps, 1, k) << ":border=replicate";
    beside(&r, im, stages, im.view(im.ours), ways, 1, im.a_call(taps, k, 1));
  }
}

void two_dimensional(int dtype) {
  const images im(dtype, 1);
  const bool bytes = dtype == FC_U8;
  for (int k : {3, 7, 15}) {
    float mask[LONGEST * LONGEST];
    uneven(mask, k * k);
    const variant ways[] = {{"Filter", dense}, {"FilterBorder", dense_border}},
                  ways_of_bytes[] = {{"Filter32f", dense_bytes}, {"FilterBorder32f", dense_bytes_border}};
    row r = {};
    name(r.work, sizeof r.work, "conv2d 16384^2 %s, %d x %d", fc_dtype_name(dtype), k, k);
    r.note = bytes ? "a mask of full rank; compared on the inside to 1 code"
                   : "a mask of full rank; compared on the inside";
    r.bytes = bytes_of_pass(im), r.flops = 2. * k * k * SIDE * SIDE, r.allowed = bytes ? 1 : 1e-5;
    r.aim = {1, k == 7 && !bytes ? 0.80 : 0, k == 15 && !bytes ? 0.75 : 0};
    r.bare = bare_conv2d(mask, k, dtype);
    text stages;
    stages << "conv2d:";
    stages.matrix(mask, k, k) << ":separate=no:border=replicate";
    beside(&r, im, stages, im.view(im.ours), bytes ? ways_of_bytes : ways, 2, im.a_call(mask, k, k));
  }
}

void colours() {
  const images im(FC_U8, 3);
  const variant ways[] = {{"ColorTwist32f", twist}};
  row r = {};
  name(r.work, sizeof r.work, "colour matrix 16384^2 u8 RGB");
  r.note = "to YCbCr, with offsets; compared to 1 code: NPP rounds half up";
  r.bytes = bytes_of_pass(im), r.allowed = 1, r.aim = {1, 0.85, 0};
  float m[9];
  for (int i = 0; i < 9; i++) m[i] = YCC[i / 3][i % 3];
  text stages;
  stages << "matrix:";
  stages.matrix(m, 3, 3) << ":offset=0,128,128";
  beside(&r, im, stages, im.view(im.ours), ways, 1, im.a_call(NULL, 0, 0));
}

} // namespace

// Short masks along one row of 128 Mi samples.
void against_npp_row() {
  const images im(FC_F32, 1, 1, SIDE / 2);
  for (int k : {5, 31}) {
    float taps[LONGEST];
    uneven(taps, k);
    const variant ways[] = {
        {"FilterRow, cut into rows", row_cut}, {"FilterRow", row_whole}, {"FilterRowBorder", row_border}};
    row r = {};
    const fc_view out = im.line(im.ours);
    const int64_t samples = out.shape[FC_AXIS_X];
    name(r.work, sizeof r.work, "conv1d 128 Mi f32, %d taps", k);
    r.note = "compared away from the ends, and from where the row may have been cut";
    r.bytes = bytes_of_pass(im), r.flops = 2. * k * static_cast<double>(samples), r.allowed = 1e-5;
    r.aim = {1, 0.88, 0};
    r.bare = bare_conv1d(taps, k, samples);
    text stages;
    stages << "conv1d:";
    stages.matrix(taps, 1, k);
    beside(&r, im, stages, out, ways, 3, im.a_call(taps, k, 1));
  }
}

void against_npp() {
  sliding();
  boxes();
  separable();
  separable_rgb();
  two_dimensional(FC_F32);
  two_dimensional(FC_U8);
  colours();
}

} // namespace rivals

#endif

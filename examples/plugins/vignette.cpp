// SPDX-License-Identifier: MIT
//
// vignette - an image that darkens towards its corners, by fc_plugin.hpp: an operator that depends on where a
// sample is. Positions are view.origin and what is counted from there, in an image of view.extent; so it is
// the same however the host cuts the output.
//
//   c++ -std=c++17 -shared -fPIC -O2 -ffp-contract=off -fvisibility=hidden $(pkg-config --cflags
//   filterchain-plugin)
//     vignette.cpp -o vignette.so
//   filterchain -i in.png --plugin-dir . -p vignette:0.6 -o out.png
#include <fc_plugin.hpp>

namespace {

// Twice the distance from the middle, in units of the axis' length: 0 in the middle, almost 1 at either end.
double from_middle(const fc_view &v, int axis, int64_t i) {
  const double extent = static_cast<double>(v.extent[axis]);
  return (2 * static_cast<double>(v.origin[axis] + i) + 1 - extent) / extent;
}

struct vignette {
  double strength;
  explicit vignette(const fc::arguments &args) : strength(args["strength"].real()) {}

  template <typename real> void row(const fc::job &job, int64_t n, int64_t y, int64_t c) const {
    const fc_view &out = job.out();
    const double v = from_middle(out, FC_AXIS_Y, y);
    real samples[FC_ROW_VALUES];
    for (int64_t x = 0, count; x < out.shape[FC_AXIS_X]; x += count) {
      count = out.shape[FC_AXIS_X] - x < FC_ROW_VALUES ? out.shape[FC_AXIS_X] - x : FC_ROW_VALUES;
      job.load(samples, 0, n, y, x, c, count);
      for (int64_t i = 0; i < count; i++) {
        const double u = from_middle(out, FC_AXIS_X, x + i);
        samples[i] *= static_cast<real>(1 - strength * (u * u + v * v) / 2);
      }
      job.store(samples, n, y, x, c, count);
    }
  }

  void process(const fc::job &job) const {
    const int64_t *shape = job.out().shape;
    for (int64_t n = 0; n < shape[FC_AXIS_N]; n++)
      for (int64_t y = 0; y < shape[FC_AXIS_Y]; y++)
        for (int64_t c = 0; c < shape[FC_AXIS_C]; c++)
          job.raw->compute == FC_F64 ? row<double>(job, n, y, c) : row<float>(job, n, y, c);
  }
};

} // namespace

FC_PLUGIN_OF(
    "org.example.vignette", "1.0", "you", "MIT", "https://example.org/vignette",
    fc::op<vignette>("vignette")
        .flags(FC_OP_KEEPS_MEANING)
        .kinds(FC_KIND_BIT(FC_IMAGE) | FC_KIND_BIT(FC_ARRAY))
        .summary("darken towards the corners")
        .doc("Multiplies pixels by 1 in the middle, and less the further they are from it: 1 - strength in "
             "the "
             "corners, along ellipses of the image's proportions.")
        .example("vignette:0.6")
        .param(fc::real("strength").main().preset("0.5").between(0, 1).doc("What the corners lose.")))

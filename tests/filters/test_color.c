/* SPDX-License-Identifier: MIT */
/*
 * test_color.c - R G B of 8 bits to grey, YCbCr, HSV and Lab of 8 bits, whose loops take other ways to the
 * same codes (reciprocals instead of divisions, roots in single precision): each of the 2^24 colours is that
 * of the conversion to floats, rounded; so is what a device computes for Lab (lab_bytes.h). The other
 * conversions are tested through the operator (check/), and against OpenCV and scikit-image (goldens/pixels).
 */
#include "filters/color/color.h"
#include "filters/color/color_math.h"
#include "filters/color/lab_bytes.h"
#include "tests/filters/views.h"

#define SIDE 256

static fc_color_conversion conversion(int to, int isa) {
  static const double luma[3] = {299, 587, 114};
  fc_color_conversion c = {.compute = FC_F32, .isa = (fc_isa)isa, .from = FC_SPACE_RGB, .to = to};
  fc_color_set(&c, luma, 255);
  return c;
}

static void convert(const fc_color_conversion *c, const fc_view *in, const fc_view *out) {
  guarded room = guarded_new(fc_color_scratch(c));
  uint32_t notes[8] = {0};
  CHECK(fc_color_cpu(c, in, out, room.data, notes) == FC_OK, "fc_color_cpu failed");
  guarded_free(&room);
}

/* All colours of this red. */
static void fill_red(const signal *s, int red) {
  int64_t at[FC_AXES];
  FOR_EACH(&s->view, at)
  view_set(&s->view, at, at[3] == 0 ? red : at[3] == 3 ? (double)(at[1] ^ at[2]) : (double)at[at[3]]);
}

/* With alpha for every other red, with other weights and white for some: one of them beyond 16 bits. */
static fc_color_conversion conversion_of(int to, int red, int isa) {
  static const double luma[3] = {2126, 7152, 722}, large[3] = {13933, 46871, 4732};
  fc_color_conversion c = conversion(to, isa);
  if (to != FC_SPACE_LAB && red % 4 == 1) fc_color_set(&c, luma, red % 8 == 1 ? 255 : 100);
  if (to != FC_SPACE_LAB && red % 4 == 3) fc_color_set(&c, large, 255);
  c.extra = red % 2;
  return c;
}

/* What color.cu does, against the exact values. */
static void check_device_lab(int red, const fc_view *exact) {
  double wide[SIDE];
  float light[SIDE];
  for (int i = 0; i < SIDE; i++)
    wide[i] = fc_color_to_light_f32((double)((float)i / 255.0f)), light[i] = (float)(wide[i] * 255.0);
  int64_t off = 0, doubts = 0;
  for (int64_t at[FC_AXES] = {0}; at[1] < SIDE; at[2] = 0, at[1]++)
    for (; at[2] < SIDE; at[2]++) {
      int doubt;
      const uint32_t careful = fc_lab_careful(wide[red], wide[at[1]], wide[at[2]]),
                     close = fc_lab_close(light[red], light[at[1]], light[at[2]], &doubt);
      doubts += doubt;
      for (at[3] = 0; at[3] < 3; at[3]++) {
        const double want = nearbyint(view_get(exact, at));
        off += (careful >> 8 * at[3] & 255) != want || (!doubt && (close >> 8 * at[3] & 255) != want);
      }
      at[3] = 0;
    }
  CHECK(off == 0 && doubts < SIDE * SIDE / 100,
        "Lab on a device, red %d: %" PRId64 " samples differ, %" PRId64 " doubts", red, off, doubts);
}

static void check_bytes(int to, int red, int isa) {
  const fc_color_conversion c = conversion_of(to, red, isa);
  const int64_t from_shape[FC_AXES] = {1, SIDE, SIDE, 3 + c.extra},
                to_shape[FC_AXES] = {1, SIDE, SIDE, fc_space_channels(to) + c.extra};
  const int lay = red % LAYOUT_COUNT;
  signal in = signal_new(FC_IMAGE, FC_U8, from_shape, lay, FC_AXIS_X, 0, 0);
  signal out = signal_new(FC_IMAGE, FC_U8, to_shape, lay, FC_AXIS_X, 0, 0);
  signal exact = signal_new(FC_IMAGE, FC_F32, to_shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  int64_t at[FC_AXES], off = 0;
  fill_red(&in, red);
  convert(&c, &in.view, &out.view), convert(&c, &in.view, &exact.view);
  FOR_EACH(&out.view, at)
  off += view_get(&out.view, at) != nearbyint(view_get(&exact.view, at));
  CHECK(off == 0, "%s, to %d, red %d: %" PRId64 " samples are not rounded from the value", fc_isa_name(c.isa),
        to, red, off);
  if (to == FC_SPACE_LAB && isa == FC_ISA_BASE) check_device_lab(red, &exact.view);
  CHECK(signal_only_written(&out), "wrote beyond the elements");
  signal_free(&in), signal_free(&out), signal_free(&exact);
}

/* Against the definition: all there is to see, as each channel is by itself. */
static void check_light(int to, int isa) {
  const fc_color_conversion c = conversion(to, isa);
  const int64_t row[FC_AXES] = {1, 1, SIDE, 3};
  signal in = signal_new(FC_IMAGE, FC_U8, row, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal out = signal_new(FC_IMAGE, to == FC_SPACE_LAB ? FC_U8 : FC_F32, row, LAYOUT_PLANAR, FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_IMAGE, out.view.dtype, row, LAYOUT_PLANAR, FC_AXIS_X, 0, 0);
  uint32_t notes[8] = {0};
  int64_t at[FC_AXES], off = 0;
  FOR_EACH(&in.view, at)
  view_set(&in.view, at, (double)((at[2] + 37 * at[3]) % SIDE));
  convert(&c, &in.view, &out.view);
  fc_color_ref(&c, &in.view, &want.view, notes);
  FOR_EACH(&out.view, at)
  off += view_get(&out.view, at) != view_get(&want.view, at);
  CHECK(off == 0, "%s, to %d: %" PRId64 " samples are not those of the definition", fc_isa_name(c.isa), to,
        off);
  signal_free(&in), signal_free(&out), signal_free(&want);
}

int main(void) {
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    check_light(FC_SPACE_LINEAR, isa), check_light(FC_SPACE_LAB, isa);
    for (int red = isa; red < SIDE; red += trial_step()) {
      check_bytes(FC_SPACE_GRAY, red, isa), check_bytes(FC_SPACE_YCBCR, red, isa);
      check_bytes(FC_SPACE_HSV, red, isa), check_bytes(FC_SPACE_LAB, red, isa);
    }
  }
  return check_result();
}

/* SPDX-License-Identifier: MIT */
/*
 * test_picture.c - pictures of sound: tones stand where their frequency is and look as loud as they are, on
 * every scale; the range and level of a waveform; numbers of axes; colours that get lighter evenly; nothing
 * is drawn outside.
 */
#include "filters/fourier/window.h"
#include "filters/picture/spectrogram.h"
#include "filters/picture/waveform.h"
#include "tests/filters/views.h"

#define RATE 16000.
#define SIZE 1024

static signal tone(int64_t length, int channels, double frequency, double level) {
  const int64_t shape[FC_AXES] = {1, 1, length, channels};
  signal s = signal_new(FC_AUDIO, FC_F32, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  for (int64_t i = 0; i < length * channels; i++)
    ((float *)s.view.data)[i] =
        (float)(level * sin(2 * 3.14159265358979323846 * frequency / RATE * (double)(i / channels)));
  return s;
}

static signal canvas(const fc_panels *p, int channels) {
  const int64_t shape[FC_AXES] = {1, p->height, p->width, channels};
  return signal_new(FC_IMAGE, FC_U8, shape, LAYOUT_PADDED, FC_AXIS_X, 0, 0);
}

static uint8_t pixel(const signal *s, int64_t x, int64_t y) {
  return *(uint8_t *)fc_view_at(&s->view, 0, y, x, 0);
}

static void draw(fc_spectrogram *s, const signal *in, const signal *out) {
  guarded plan = guarded_new(fc_rfft_bytes(SIZE, FC_F32));
  double exact[SIZE];
  float window[SIZE];
  fc_window_fill(FC_WINDOW_HANN, 0, 0, SIZE, exact);
  s->window_sum = 0;
  for (int i = 0; i < SIZE; i++) window[i] = (float)exact[i], s->window_sum += exact[i];
  CHECK(fc_rfft_init(plan.data, SIZE, FC_F32, (int)fc_isa_best()) == FC_OK, "no transform");
  s->plan = plan.data, s->window = window;
  const int64_t channels = in->view.shape[FC_AXIS_C];
  const fc_spectrogram_grid g = fc_spectrogram_grid_of(s, in->view.shape[FC_AXIS_X]);
  guarded scratch = guarded_new(fc_spectrogram_scratch(s)),
          powers = guarded_new(3 * fc_spectrogram_block_bytes(s, channels)),
          memory = guarded_new(fc_spectrogram_meter_bytes(s, &g, channels));
  fc_spectrogram_meter meter = fc_spectrogram_meter_of(s, &g, channels, memory.data);
  for (int64_t b = 0, all = g.columns * g.blocks; b < all; b += 3) {
    const int64_t count = all - b < 3 ? all - b : 3;
    fc_spectrogram_blocks(s, &g, &in->view, b, count, powers.data, scratch.data);
    fc_spectrogram_add(s, &meter, powers.data, count);
  }
  CHECK(fc_spectrogram_draw(s, &meter, &out->view) == FC_OK, "it fails");
  CHECK(guarded_intact(&scratch) && guarded_intact(&powers) && guarded_intact(&memory),
        "wrote beyond its memory");
  guarded_free(&scratch), guarded_free(&powers), guarded_free(&memory), guarded_free(&plan);
}

static void check_spectrogram(fc_pitch pitch, double frequency, double level) {
  fc_spectrogram s = {.panels = {60, 200, 0, 1, 1},
                      .rate = RATE,
                      .low = 50,
                      .high = 8000,
                      .pitch = pitch,
                      .range = 100,
                      .colors = FC_COLORS_GRAY};
  signal in = tone(20000, 1, frequency, level), out = canvas(&s.panels, 1);
  draw(&s, &in, &out);
  const int64_t want = (int64_t)((1 - fc_spectrogram_height(&s, frequency)) * 200);
  for (int64_t x = 5; x < 55; x++) {
    int64_t best = 0;
    for (int64_t y = 0; y < 200; y++)
      if (pixel(&out, x, y) > pixel(&out, x, best)) best = y;
    const double db = (pixel(&out, x, best) / 255. - 1) * 100, height = fc_spectrogram_height(&s, frequency);
    CHECK(llabs(best - want) <= 3, "scale %d: %g Hz stands in row %d, not %d", pitch, frequency, (int)best,
          (int)want);
    CHECK(fabs(db - 20 * log10(level)) < 1.6, "scale %d: %g Hz at %g has %g dB", pitch, frequency, level, db);
    CHECK(fabs(fc_spectrogram_frequency(&s, height) - frequency) < 1e-6 * frequency, "no way back");
  }
  CHECK(signal_only_written(&out), "wrote outside the picture");
  signal_free(&in), signal_free(&out);
}

/* With axes, two panels, nothing at all in them; and of a sound of no samples. */
static void check_axes(void) {
  fc_spectrogram s = {
      .panels = {200, 160, 1, 1, 0}, .rate = RATE, .high = 8000, .range = 90, .colors = FC_COLORS_INK};
  for (int64_t length = 0; length <= 9000; length += 9000) {
    signal in = tone(length, 2, 1000, 0), out = canvas(&s.panels, 3);
    draw(&s, &in, &out);
    const fc_box a = fc_panels_box(&s.panels, 2, 0), b = fc_panels_box(&s.panels, 2, 1);
    int64_t ink = 0;
    for (int64_t y = 0; y < 160; y++)
      for (int64_t x = 0; x < 200; x++) {
        const int inside = x >= a.x && x < a.x + a.width &&
                           ((y >= a.y && y < a.y + a.height) || (y >= b.y && y < b.y + b.height));
        if (inside) CHECK(pixel(&out, x, y) == 255, "silence is not paper at %d, %d", (int)x, (int)y);
        ink += !inside && x < a.x && pixel(&out, x, y) < 128;
      }
    CHECK(ink > 100, "no numbers: %d dark pixels", (int)ink);
    CHECK(signal_only_written(&out), "wrote outside the picture");
    signal_free(&in), signal_free(&out);
  }
}

static void check_waveform(void) {
  const fc_rgb range = {10, 10, 10}, rms = {100, 100, 100};
  const fc_waveform w = {{40, 100, 0, 0, 0}, RATE, 1, range, rms};
  signal in = tone(4000, 1, 1000, 0.5), out = canvas(&w.panels, 1);
  const fc_waveform_grid g = fc_waveform_grid_of(&w, 4000);
  guarded scratch = guarded_new(fc_waveform_scratch());
  fc_waveform_part block, columns[40] = {0};
  for (int64_t b = 0; b < g.columns * g.blocks; b++) {
    fc_waveform_blocks(&g, &in.view, b, 1, &block, scratch.data);
    fc_waveform_add(&g, b, 1, &block, columns);
  }
  CHECK(fc_waveform_draw(&w, &g, 1, columns, &out.view) == FC_OK && guarded_intact(&scratch), "it fails");
  for (int64_t x = 0; x < 40; x++) {
    int64_t dark = 0, light = 0;
    for (int64_t y = 0; y < 100; y++) dark += pixel(&out, x, y) == 10, light += pixel(&out, x, y) == 100;
    /* From -0.5 to 0.5, half of the height, and within it to 0.354. */
    CHECK(labs((long)(dark + light) - 51) <= 1 && labs((long)light - 36) <= 1, "column %d: %d and %d", (int)x,
          (int)dark, (int)light);
  }
  CHECK(pixel(&out, 3, 0) == 255 && pixel(&out, 3, 99) == 255, "no paper");
  guarded_free(&scratch);
  CHECK(signal_only_written(&out), "wrote outside the picture");
  signal_free(&in), signal_free(&out);
}

static void check_labels(void) {
  static const struct {
    double value, step;
    int clock;
    const char *text;
  } cases[] = {{0, 5, 0, "0"},          {-20, 10, 0, "-20"},     {1500, 500, 0, "1.5k"},
               {20000, 5000, 0, "20k"}, {0.25, 0.05, 0, "0.25"}, {90, 30, 1, "1:30"},
               {3725, 5, 1, "1:02:05"}, {0.5, 0.1, 1, "0.5"},    {45, 5, 1, "45"},
               {-0.5, 0.5, 0, "-0.5"},  {100, 100, 0, "100"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[FC_LABEL_ROOM];
    fc_label(cases[i].value, cases[i].step, cases[i].clock, text);
    CHECK(strcmp(text, cases[i].text) == 0, "%g is written %s, not %s", cases[i].value, text, cases[i].text);
  }
  CHECK(fc_nice_step(3, 0) == 5 && fc_nice_step(0.15, 0) == 0.2 && fc_nice_step(11, 1) == 15 &&
            fc_nice_step(61, 1) == 120 && fc_nice_step(1, 0) == 1,
        "steps");
}

static void check_colors(void) {
  for (int map = FC_COLORS_EVEN; map <= FC_COLORS_INK; map++) {
    double last = -1;
    for (int i = 0; i <= 100; i++) {
      const fc_rgb c = fc_color_of((fc_colors)map, i / 100.);
      const double luma = 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b,
                   up = map == FC_COLORS_INK ? 255 - luma : luma;
      CHECK(up >= last - 1e-9, "map %d: darker again at %d", map, i);
      last = up;
    }
    CHECK(last > 180, "map %d ends at %g", map, last);
  }
  const fc_rgb low = fc_color_of(FC_COLORS_GRAY, NAN), high = fc_color_of(FC_COLORS_GRAY, 7);
  CHECK(low.r == 0 && high.r == 255, "an invalid level");
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc != 1) return 2;
  random_start(20261125);
  for (int pitch = FC_PITCH_LINEAR; pitch <= FC_PITCH_MEL; pitch++) {
    check_spectrogram((fc_pitch)pitch, 1000, 1);
    check_spectrogram((fc_pitch)pitch, 440, 0.01);
    check_spectrogram((fc_pitch)pitch, 6001, 0.1);
  }
  check_axes();
  check_waveform();
  check_labels();
  check_colors();
  return check_result();
}

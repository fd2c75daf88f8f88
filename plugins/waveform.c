/* SPDX-License-Identifier: MIT */
/* waveform.c - the operator waveform: draws sound over time; the work is filters/picture/waveform.h. */
#include <stdlib.h>
#include <string.h>

#include "filters/picture/waveform.h"
#include "plugins/picture.h"

enum { WIDTH, HEIGHT, AXES, TOP, DARK, N_PARAMS };

typedef struct waveform {
  fc_waveform work;          /* for the rate that was negotiated */
  int64_t channels;          /* of the sound, likewise */
  fc_waveform_grid grid;     /* likewise */
  int64_t taken;             /* blocks of a survey so far */
  fc_waveform_part *columns; /* NULL: there are none yet */
} waveform;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  waveform self = {0};
  self.work = (fc_waveform){.panels = {.width = args[WIDTH]->ints[0],
                                       .height = args[HEIGHT]->ints[0],
                                       .axes = args[AXES]->ints[0] != 0,
                                       .dark = args[DARK]->ints[0] != 0},
                            .top = args[TOP]->floats[0],
                            .range = {58, 96, 168},
                            .rms = {132, 170, 224}};
  return state_keep(host, &self, sizeof self, instance);
}

static void reset(void *instance) {
  waveform *self = instance;
  free(self->columns);
  self->columns = NULL, self->taken = 0;
}

static void destroy(void *instance) {
  if (instance) reset(instance);
  free(instance);
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  waveform *self = instance;
  const fc_format *in = terms->in[0];
  const int part = picture_part(terms);
  self->work.rate = in->rate;
  if (part != FC_PART_MAKE) self->channels = in->extent[FC_AXIS_C];
  const fc_status status = picture_check(host, &self->work.panels, self->channels);
  if (status != FC_OK) return status;
  if (part != FC_PART_MAKE)
    self->grid = fc_waveform_grid_of(&self->work, in->extent[FC_AXIS_T] > 0 ? in->extent[FC_AXIS_T] : 0);
  const int64_t blocks = self->grid.columns * self->grid.blocks;
  terms->work = 10;
  if (part != FC_PART_SURVEY) return picture_terms(&self->work.panels, 3, terms);
  terms->work = 5. * (double)self->grid.length * (double)self->channels / (double)(blocks > 0 ? blocks : 1);
  return picture_survey_terms(blocks, 0, (size_t)self->channels * sizeof(fc_waveform_part), terms);
}

/* ---- running ------------------------------------------------------------------ */

static size_t columns_bytes(const waveform *self) {
  return (size_t)(self->work.panels.width * self->channels) * sizeof(fc_waveform_part);
}

static size_t scratch(const void *instance, const fc_job *job) {
  const waveform *self = instance;
  (void)job;
  return fc_waveform_scratch() + columns_bytes(self) + (size_t)self->channels * sizeof(fc_waveform_part);
}

static fc_status make_all(const waveform *self, const fc_job *job) {
  const fc_waveform_grid grid = fc_waveform_grid_of(&self->work, job->in[0]->shape[FC_AXIS_T]);
  char *memory = (char *)job->scratch + fc_waveform_scratch();
  fc_waveform_part *columns = (fc_waveform_part *)(void *)memory,
                   *block = columns + self->work.panels.width * self->channels;
  memset(columns, 0, columns_bytes(self));
  for (int64_t b = 0; b < grid.columns * grid.blocks; b++) {
    fc_waveform_blocks(&grid, job->in[0], b, 1, block, job->scratch);
    fc_waveform_add(&grid, b, self->channels, block, columns);
  }
  return fc_waveform_draw(&self->work, &grid, self->channels, columns, job->out);
}

static fc_status process(const fc_host *host, const void *instance, const fc_job *job) {
  const waveform *self = instance;
  const int part = picture_part_of(job);
  (void)host;
  if (part == FC_PART_ALL) return make_all(self, job);
  if (part == FC_PART_MAKE)
    return fc_waveform_draw(&self->work, &self->grid, self->channels, self->columns, job->out);
  if (job->measure)
    fc_waveform_blocks(&self->grid, job->in[0], job->out->origin[FC_AXIS_T], job->out->shape[FC_AXIS_T],
                       job->measure, job->scratch);
  return FC_OK;
}

static fc_status collect(const fc_host *host, void *instance, const void *blocks, int64_t count) {
  waveform *self = instance;
  const fc_waveform_part *parts = blocks;
  if (!self->columns) self->columns = calloc(1, columns_bytes(self));
  if (!self->columns) return host->fail(host, FC_NO_MEMORY, "no memory for a picture");
  for (int64_t i = 0; i < count; i++, self->taken++, parts += self->channels)
    fc_waveform_add(&self->grid, self->taken, self->channels, parts, self->columns);
  return FC_OK;
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [WIDTH] = PICTURE_WIDTH_PARAM,
    [HEIGHT] = PICTURE_HEIGHT_PARAM("256"),
    [AXES] = PICTURE_AXES_PARAM,
    [TOP] = FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "top",
                           "The level at the upper edge: a factor of full scale, or decibels.", NULL, "1",
                           FC_FLOAT_BETWEEN(1e-6, 1e6)),
    [DARK] = FC_BOOL_PARAM(0, "dark", "A black background; else white, as for paper.", "no"),
};

static const fc_operator waveform_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_SURVEYS,
    .name = "waveform",
    .summary = "draw a waveform: range and level over time",
    .keywords = FC_TEXTS("showwavespic"),
    .doc =
        "Makes a picture of sound: the range of the samples over time, dark, and twice their root mean "
        "square, light. Each channel has a panel, one below the other.\n\n"
        "    filterchain -i in.wav -p waveform -o wave.png\n"
        "    filterchain -i in.wav -p waveform:width=400:height=60:axes=no -o thumb.png\n\n"
        "A file is read piece by piece; sound whose length is not known, as from a pipe, is held in memory "
        "first. The scale of levels is linear; the one of time is in seconds, or minutes and hours.",
    .examples = FC_TEXTS("waveform:width=16:height=8:axes=no",
                         "waveform:width=9:height=11:axes=no:top=-6dB:dark=yes"),
    .example_docs = FC_TEXTS("small, without axes", "dark, top at -6 dB"),
    .example_commands = FC_TEXTS("-i in.wav ... -o out.png", "-i in.wav ... -o out.png"),
    .kinds = FC_KIND_BIT(FC_AUDIO),
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPE_BIT(FC_U8),
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, scratch, process)),
    .reset = reset,
    .collect = collect,
};

SINGLE_OPERATOR_PLUGIN("waveform", waveform_operator)

/* SPDX-License-Identifier: MIT */
/* waveform.c - the operator waveform: draws sound over time; the work is filters/picture/waveform.h. */
#include <stdlib.h>

#include "filters/picture/waveform.h"
#include "plugins/picture.h"

enum { WIDTH, HEIGHT, AXES, TOP, DARK, N_PARAMS };

static fc_panels panels_of(const fc_arg *const *args) {
  return (fc_panels){.width = args[WIDTH]->ints[0],
                     .height = args[HEIGHT]->ints[0],
                     .axes = args[AXES]->ints[0] != 0,
                     .dark = args[DARK]->ints[0] != 0};
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_panels panels = panels_of(self);
  terms->work = 10;
  return picture_terms(host, &panels, 3, terms);
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const fc_arg *const *args = self;
  fc_waveform *w = malloc(sizeof *w);
  if (!w) return host->fail(host, FC_NO_MEMORY, "out of memory");
  *w = (fc_waveform){
      panels_of(args), setup->in[0]->rate, args[TOP]->floats[0], {58, 96, 168}, {132, 170, 224}};
  *prepared = w;
  return FC_OK;
}

static void release(const fc_host *host, void *prepared) {
  (void)host;
  free(prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  (void)prepared, (void)job;
  return fc_waveform_scratch();
}

static fc_status process(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_waveform_cpu(prepared, job->in[0], job->out, job->scratch);
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
    .name = "waveform",
    .summary = "draw a waveform: range and level over time",
    .doc = "Makes a picture of sound: the range of the samples over time, dark, and twice their root mean "
           "square, light. Each channel has a panel, one below the other.\n\n"
           "    filterchain -i in.wav -p waveform -o wave.png\n"
           "    filterchain -i in.wav -p waveform:width=400:height=60:axes=no -o thumb.png\n\n"
           "The whole sound is read into memory. The scale of levels is linear; the one of time is in "
           "seconds, or "
           "minutes and hours.",
    .examples = FC_TEXTS("waveform:width=16:height=8:axes=no",
                         "waveform:width=9:height=11:axes=no:top=-6dB:dark=yes"),
    .example_docs = FC_TEXTS("small, without axes", "dark, top at -6 dB"),
    .example_commands = FC_TEXTS("-i in.wav ... -o out.png", "-i in.wav ... -o out.png"),
    .kinds = FC_KIND_BIT(FC_AUDIO),
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPE_BIT(FC_U8),
    .n_params = N_PARAMS,
    .params = params,
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(prepare, release, scratch, process)),
};

SINGLE_OPERATOR_PLUGIN("waveform", waveform_operator)

/* SPDX-License-Identifier: MIT */
/* A generator: makes sound of one channel, whose samples are their own numbers modulo 100 as 16-bit codes. */
#include "tests/plugins/minimal.h"

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  fc_format *out = terms->out;
  out->kind = FC_AUDIO, out->dtype = FC_I16, out->bits = 16, out->rate = 8000;
  for (int axis = 0; axis < FC_AXES; axis++) out->extent[axis] = 1;
  out->extent[FC_AXIS_X] = 1000;
  return FC_OK;
}

static fc_status make(const fc_host *host, const void *state, const fc_job *job) {
  const fc_view *out = job->out;
  for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
    *(int16_t *)fc_view_at(out, 0, 0, x, 0) = (int16_t)((out->origin[FC_AXIS_X] + x) % 100);
  return FC_OK;
}

static void spoil(void) {
  op.flags = FC_OP_GENERATOR, op.negotiate = negotiate, op.kinds = FC_KIND_BIT(FC_AUDIO);
  op.dtypes_in = 0, op.dtypes_out = FC_DTYPE_BIT(FC_I16), cpu.process = make;
}

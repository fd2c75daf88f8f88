/* SPDX-License-Identifier: MIT */
/* equalize.c - the operator equalize: histogram equalisation; the work is filters/histogram/equalize.h. */
#include "filters/histogram/equalize.h"

#include <stdlib.h>

#include "plugins/single.h"
#include "plugins/white.h"

/* Each frame is counted first, so frames are not cut. */
static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_format *in = terms->in[0];
  (void)instance;
  if (in->extent[FC_AXIS_Y] > 0 && in->extent[FC_AXIS_X] > UINT32_MAX / in->extent[FC_AXIS_Y])
    return host->fail(host, FC_UNSUPPORTED, "counts up to 2^32 pixels of a frame");
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++)
    if (in->extent[a] > 1) terms->needs[0]->reach[a].align = in->extent[a];
  terms->work = 4;
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const fc_arg *const *args = instance;
  const double white = white_of(args[0], setup->in[0]), most = setup->in[0]->dtype == FC_U8 ? 255 : 65535;
  fc_equalize *e = malloc(sizeof *e);
  if (!e) return host->fail(host, FC_NO_MEMORY, "out of memory");
  e->white = (uint32_t)(white < 1 ? 1 : white > most ? most : white);
  *prepared = e;
  return FC_OK;
}

static void release(const fc_host *host, void *prepared) {
  (void)host;
  free(prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  (void)prepared;
  return fc_equalize_scratch(job->out);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_equalize_cpu(prepared, job->in[0], job->out, job->scratch);
}

#if FC_HAVE_CUDA
static size_t cuda_scratch(const void *prepared, const fc_job *job) {
  (void)prepared;
  return fc_equalize_cuda_scratch(job->out);
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_equalize_cuda(prepared, job->in[0], job->out, job->scratch, job->stream);
}
#endif

#define CODES (FC_DTYPE_BIT(FC_U8) | FC_DTYPE_BIT(FC_U16))

static const fc_operator equalize_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    .kinds = FC_KIND_BIT(FC_IMAGE) | FC_KIND_BIT(FC_ARRAY),
    .dtypes_in = CODES,
    .dtypes_out = CODES,
    .name = "equalize",
    .summary = "spread the values of images so that all are about equally frequent",
    .doc =
        "Histogram equalisation of each channel of each frame: a sample becomes the share of samples below "
        "it, "
        "from black to white. With 8 bits that is Pillow's ImageOps.equalize, code for code; images of fewer "
        "than 255 pixels or of one value stay as they are.\n\n"
        "Codes of 8 and 16 bits are counted; what operators before it made is rounded to them. Of floats "
        "from "
        "a file convert:u16 makes codes. For colours that keep their hue, equalize the lightness alone: mix "
        "takes channels apart.",
    .examples = FC_TEXTS("equalize", "equalize:white=200"),
    FC_OPERATOR_PARAMS(WHITE_PARAM),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, release, scratch, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, release, cuda_scratch, process_cuda)),
    .reference = FC_ON_CPU(prepare, release, scratch, process_cpu),
};
SINGLE_OPERATOR_PLUGIN("equalize", equalize_operator)

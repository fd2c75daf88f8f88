// SPDX-License-Identifier: MIT
//
// solarize_cuda - solarize.c with a GPU version: the same operator in C++ for nvcc, which works on machines
// without a GPU as well.
//
//   nvcc -std=c++20 -shared -Xcompiler -fPIC,-fvisibility=hidden $(pkg-config --cflags filterchain-plugin)
//     solarize_cuda.cu -o solarize_cuda.so
//   filterchain -i photo.png --plugin-dir . -p solarize_cuda:200 --device cuda -o out.png
#include <fc_helpers.cuh>
#include <fc_helpers.h>

#define LEVEL (fc_value) args[0]->floats[0]
FC_POINTWISE(on_cpu, const fc_arg *const *, args, x, x > LEVEL ? 2 * LEVEL - x : x)

struct solarize {
  double level;

  template <typename F> __device__ F operator()(F x) const { return x > F(level) ? 2 * F(level) - x : x; }
};

static fc_status on_cuda(const fc_host *, const void *state, const fc_job *job) {
  const solarize f = {static_cast<const fc_arg *const *>(state)[0]->floats[0]};
  return fc_dev_map_samples(job->in[0], job->out, f, job->compute, job->stream, job->notes);
}

// The same as text, so that the host can make one kernel of it and its neighbours in a chain: --dry-run tells
// when it will. The bits must be those of on_cuda; the host compiles without contraction (-fmad=false).
static fc_status describe(const fc_host *, void *self, const fc_setup *setup, fc_device_function *f) {
  static const char text[] =
      "struct solarize {\n"
      "  real level;\n"
      "  FC_DEVICE real operator()(real x) const { return x > level ? 2 * level - x : x; }\n"
      "};\n";
  const double *level = static_cast<const fc_arg *const *>(self)[0]->floats;
  f->growth = 1, f->offset = 2 * (*level < 0 ? -*level : *level);
  return fc_describe_samples(setup, f, "solarize", text, level, 1);
}
FC_FUSIBLE(extension, describe)

static const fc_operator op = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "solarize_cuda",
    .summary = "turn values above a level around",
    .doc = "Replaces a value v above the level by 2 * level - v.",
    .examples = FC_TEXTS("solarize_cuda:200"),
    .n_params = 1,
    .kinds = FC_KINDS_ALL,
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPES_ALL,
    .params = FC_STATIC_LIST(fc_param,
                             FC_FLOAT_PARAM(FC_PARAM_MAIN, "level", "Where it turns.", NULL, "128", NULL)),
    .create = fc_create_args,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, on_cpu),
                            FC_ON_CUDA(FC_BACKEND_GRAPH, NULL, NULL, NULL, on_cuda)),
    .extension = extension,
};
FC_PLUGIN("org.example.solarize_cuda", "1.0", "you", "MIT", "https://example.org/solarize", &op)

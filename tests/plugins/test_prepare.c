/* SPDX-License-Identifier: MIT */
/*
 * test_prepare.c - an instance may be prepared for several formats at once (core/contract/plugin.h): each
 * operator named is prepared for images of 8 bits, and whenever it asks the host for memory meanwhile, for
 * images of another white too, as another thread might do then. What it makes must be what it makes alone.
 *
 *     test_prepare normalize.so
 *
 * Cost: milliseconds.
 */
#include <dlfcn.h>

#include "core/contract/plugin.h"
#include "tests/filters/check.h"

enum { CHANNELS = 3, PIXELS = 4, MOST_ARGS = 8 };

typedef struct bench {
  const fc_operator *op;
  void *instance;
  int disturbs, nested; /* prepare again when memory is asked for; it is being done */
} bench;

static fc_status make(const fc_host *host, bench *b, double white, void **state) {
  fc_format in = {.size = sizeof in, .kind = FC_IMAGE, .dtype = FC_U8, .bits = 8, .white = white};
  in.extent[FC_AXIS_C] = CHANNELS;
  fc_format out = in;
  out.dtype = FC_F32;
  const fc_format *const inputs[] = {&in};
  const fc_setup setup = {
      .size = sizeof setup, .device = FC_HOST, .compute = FC_F32, .n_in = 1, .in = inputs, .out = &out};
  return b->op->backends[0]->prepare(host, b->instance, &setup, state);
}

static void *take(const fc_host *host, int32_t device, size_t bytes) {
  bench *b = host->ctx;
  void *other = NULL;
  (void)device;
  if (b->disturbs && !b->nested) {
    b->nested = 1;
    CHECK(make(host, b, 65535, &other) == FC_OK, "%s", b->op->name);
    b->op->backends[0]->release(host, other);
    b->nested = 0;
  }
  return aligned_alloc(256, (bytes + 255) & ~(size_t)255);
}

static void give(const fc_host *host, int32_t device, void *memory) {
  (void)host, (void)device;
  free(memory);
}

static fc_status fail(const fc_host *host, fc_status status, const char *format, ...) {
  (void)host;
  fprintf(stderr, "%s\n", format);
  return status;
}

static void run(bench *b, int disturbs, float *made) {
  const fc_host host = {
      .size = sizeof host, .abi = FC_PLUGIN_ABI, .ctx = b, .fail = fail, .alloc = take, .free = give};
  const fc_backend *cpu = b->op->backends[0];
  uint8_t codes[PIXELS * CHANNELS];
  uint32_t notes[FC_NOTES] = {0};
  void *state = NULL;
  for (int i = 0; i < PIXELS * CHANNELS; i++) codes[i] = (uint8_t)(20 * i);
  b->disturbs = disturbs;
  CHECK(make(&host, b, 255, &state) == FC_OK, "%s", b->op->name);
  b->disturbs = 0;
  fc_view in = {.size = sizeof in, .dtype = FC_U8, .kind = FC_IMAGE, .data = codes};
  for (int a = 0; a < FC_AXES; a++) in.shape[a] = in.extent[a] = 1, in.stride[a] = PIXELS * CHANNELS;
  in.shape[FC_AXIS_X] = in.extent[FC_AXIS_X] = PIXELS, in.stride[FC_AXIS_X] = CHANNELS;
  in.shape[FC_AXIS_C] = in.extent[FC_AXIS_C] = CHANNELS, in.stride[FC_AXIS_C] = 1;
  fc_view out = in;
  out.dtype = FC_F32, out.data = made;
  for (int a = 0; a < FC_AXES; a++) out.stride[a] *= (int64_t)sizeof *made;
  const fc_view *const inputs[] = {&in};
  fc_job job = {.size = sizeof job, .compute = FC_F32, .n_in = 1, .in = inputs, .out = &out, .notes = notes};
  job.scratch_bytes = cpu->scratch ? cpu->scratch(state, &job) : 0;
  job.scratch = aligned_alloc(256, (job.scratch_bytes + 256) & ~(size_t)255);
  CHECK(cpu->process(&host, state, &job) == FC_OK, "%s", b->op->name);
  free(job.scratch);
  cpu->release(&host, state);
}

/* normalize:mean=0.1,0.2,0.3:std=1,2,3 */
static void test_normalize(const fc_operator *op) {
  static const double means[] = {0.1, 0.2, 0.3}, deviations[] = {1, 2, 3};
  static const int64_t none = 0;
  fc_arg values[MOST_ARGS] = {{0}};
  const fc_arg *args[MOST_ARGS];
  float alone[PIXELS * CHANNELS], disturbed[PIXELS * CHANNELS];
  bench b = {.op = op};
  const fc_host host = {
      .size = sizeof host, .abi = FC_PLUGIN_ABI, .ctx = &b, .fail = fail, .alloc = take, .free = give};
  for (uint32_t i = 0; i < op->n_params; i++) {
    const char *name = op->params[i]->name;
    const double *given = strcmp(name, "mean") == 0 ? means : strcmp(name, "std") == 0 ? deviations : NULL;
    values[i] = (fc_arg){.size = sizeof values[i], .given = given != NULL, .text = "", .ints = &none};
    values[i].floats = given, values[i].count = given ? CHANNELS : strcmp(name, "preset") == 0;
    args[i] = &values[i];
  }
  CHECK(op->create(&host, args, &b.instance) == FC_OK, "create");
  run(&b, 0, alone);
  run(&b, 1, disturbed);
  for (int i = 0; i < PIXELS * CHANNELS; i++) {
    const int c = i % CHANNELS;
    CHECK(fabs(alone[i] - (20 * i / 255.0 - means[c]) / deviations[c]) < 1e-6, "sample %d is %g", i,
          alone[i]);
    CHECK(alone[i] == disturbed[i], "sample %d: %g alone, %g disturbed", i, alone[i], disturbed[i]);
  }
  op->destroy(b.instance);
}

int main(int argc, char **argv) {
  void *module = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!module) {
    fprintf(stderr, "test_prepare FILE.so: %s\n", argc == 2 ? dlerror() : "name a plugin");
    return 1;
  }
  fc_plugin_entry_fn entry;
  *(void **)&entry = dlsym(module, FC_PLUGIN_ENTRY_NAME);
  test_normalize(entry()->operators[0]);
  return check_result();
}

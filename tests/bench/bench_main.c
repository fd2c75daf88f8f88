/* SPDX-License-Identifier: MIT */
/*
 * bench_main.c - filterchain-bench, which `filterchain bench` runs.
 *
 *   filterchain-bench [-p OPERATOR]...            operators, each on several signals
 *   filterchain-bench --ladder NAME               a ladder of versions, from naive to ours
 *   options: --device auto|cpu|cuda  --size N  --taps N  --window N  --repeats N  --json
 */
#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>

static int usage(const char *what, const char *text) {
  fprintf(stderr, "filterchain: bench: %s%s%s; see filterchain bench --help\n", what, text ? " " : "",
          text ? text : "");
  return 2;
}

#ifdef FC_HAVE_CUDA
#define DEVICE_HELP "  --device DEVICE   auto, cpu or cuda (default auto: a GPU if there is one)\n"
#else
#define DEVICE_HELP ""
#endif

static void help(void) {
  puts("usage: filterchain bench [-p OPERATOR]... [options]\n"
       "       filterchain bench --ladder reduction|conv1d|winstat|gemm [options]\n\n"
       "Measures operators in memory, relative to the machine's copy speed; or all\n"
       "versions of an algorithm (a ladder, from the simplest to the one in use) on the\n"
       "same data, and checks that they give the same answer. Exit status 1 when an\n"
       "answer is wrong.\n\n"
       "  -p OPERATOR       as in filterchain -p; may be repeated; default: all\n" DEVICE_HELP
       "  --size N          size of the data: elements, or rows of a matrix or an image\n"
       "  --taps N          taps of the conv1d ladder's mask (default 31)\n"
       "  --window N        window of the winstat ladder (default 15)\n"
       "  --repeats N       number of runs, whose median is printed (default 20)\n"
       "  --json            print one JSON object a line");
}

static int run_ladder(const char *name, const bench_settings *s, const char *device, int json) {
  static const char *const names[] = {"reduction", "conv1d", "winstat", "gemm"};
  size_t which = 0;
  while (which < 4 && strcmp(names[which], name) != 0) which++;
  if (which == 4) return usage("unknown ladder", name);
  bench_table table = {0};
#ifdef FC_HAVE_CUDA
  static void (*const on_gpu[])(const bench_settings *, bench_table *) = {
      ladder_cuda_reduction, ladder_cuda_conv1d, ladder_cuda_winstat, ladder_cuda_gemm};
  char gpu[128];
  if (strcmp(device, "cpu") != 0 && bench_has_device(gpu, sizeof gpu)) {
    table.device = gpu;
    table.copy = bench_copy_cuda();
    on_gpu[which](s, &table);
    return bench_print(&table, json);
  }
#endif
  if (strcmp(device, "cuda") == 0) {
    fputs("skipped: no CUDA device\n", stderr);
    return 77; /* what a test that cannot be run here returns */
  }
  ladder_cpu(name, s, &table);
  return bench_print(&table, json);
}

static int number(const char *text, long long *value) {
  char *end;
  *value = strtoll(text, &end, 10);
  return *text && !*end && *value > 0 && *value <= 1ll << 34;
}

int main(int argc, char **argv) {
  bench_settings settings = {0, 0, 0, 20};
  const char *ladder = NULL, *device = "auto", *stages[64];
  int n = 0, json = 0;
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i];
    if (strcmp(option, "--help") == 0) return help(), 0;
    if (strcmp(option, "--json") == 0) {
      json = 1;
      continue;
    }
    if (i + 1 == argc)
      return usage(option[0] == '-' ? "missing value or unknown option" : "unexpected", option);
    const char *value = argv[++i];
    long long count = 0;
    if (strcmp(option, "-p") == 0 && n < 64)
      stages[n++] = value;
    else if (strcmp(option, "--ladder") == 0)
      ladder = value;
    else if (strcmp(option, "--device") == 0)
      device = value;
    else if (strcmp(option, "--size") == 0 && number(value, &count))
      settings.size = count;
    else if (strcmp(option, "--taps") == 0 && number(value, &count) && count <= 1 << 20)
      settings.taps = (int)count;
    else if (strcmp(option, "--window") == 0 && number(value, &count) && count <= 1 << 20)
      settings.window = (int)count;
    else if (strcmp(option, "--repeats") == 0 && number(value, &count) && count <= 200)
      settings.repeats = (int)count;
    else
      return usage("unknown option or bad value:", option);
  }
  if (strcmp(device, "auto") && strcmp(device, "cpu") && strcmp(device, "cuda"))
    return usage("unknown device", device);
  if (ladder) return run_ladder(ladder, &settings, device, json);
  return bench_operators(n, stages, &settings, device, json);
}

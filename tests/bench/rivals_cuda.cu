// SPDX-License-Identifier: MIT
//
// rivals_cuda.cu - filterchain beside the libraries of the CUDA Toolkit on one GPU, in one run:
//
//     filterchain-rivals [--only npp,row,cub,blas,fft,self] [--repeats N] [--json FILE]
//
// Every row runs the rival and us in turns, on the same random data in the same device memory
// and on one stream, compares the answers, and prints the median times, their ratio, the fraction
// of the machine's own copy speed (the fastest of cudaMemcpy and two kernels, on as many bytes, in the
// same run) and the target. "ours" is a chain of the library on a caller's stream, as a user has it; "bare"
// is our filter's launcher alone, on memory that has its border already. Of several ways a library has, the
// fastest is taken. PyTorch and CuPy: rivals_torch.py. Exit status 1 when two answers differ, never for a
// slow one; 77 without a GPU.
//
// Meson builds it where the libraries are: ninja -C build tests/bench/filterchain-rivals (headers and
// libraries elsewhere: CPATH and LIBRARY_PATH). Without Meson, beside a built tree, one line, less what is
// not there:
//
//     nvcc -O3 -arch=sm_90 -DRIVALS_NPP -DRIVALS_BLAS -DRIVALS_FFT -I. $(pkg-config --cflags glib-2.0)
//       tests/bench/rivals_*.cu tests/bench/bench_cuda.cu tests/bench/ours.c -o filterchain-rivals
//       build/libfilterchain.so build/filters/libfilterchain-filters.so -lglib-2.0 -lnppif -lnppicc -lnppc
//       -lcublas -lcufft
#include "tests/bench/rivals.cuh"

#include <cstdarg>
#include <ctime>

namespace rivals {

settings run_settings = {20, NULL, NULL};
cudaStream_t stream;

namespace {

constexpr int MOST_ROWS = 128;
row rows[MOST_ROWS];
int count, wrong;
char device[128];

double ratio_of(const row &r) {
  return r.theirs / r.ours;
}

double of_copy(const row &r, double seconds) {
  return r.bytes > 0 && seconds > 0 ? r.bytes / seconds / copy_speed(r.bytes) : 0;
}

double of_peak(const row &r) {
  return r.flops > 0 ? r.flops / r.ours / peak_f32() : 0;
}

bool is_met(const row &r) {
  // Two digits of a ratio are what is told, and what a time is good for.
  const double slack = 0.005;
  return ratio_of(r) >= r.aim.ratio - slack && of_copy(r, r.ours) >= r.aim.of_copy - slack &&
         (r.aim.of_peak == 0 || of_peak(r) >= r.aim.of_peak - slack);
}

bool is_same(const row &r) {
  return r.error <= r.allowed; // and not NaN
}

// ">= 1.00 x, 0.85 of copy"
void say_target(const target &t, char *to, size_t size) {
  char part[3][32] = {"", "", ""};
  if (t.ratio > 0) snprintf(part[0], sizeof part[0], "%.2f x", t.ratio);
  if (t.of_copy > 0) snprintf(part[1], sizeof part[1], "%s%.2f of copy", t.ratio > 0 ? ", " : "", t.of_copy);
  if (t.of_peak > 0) snprintf(part[2], sizeof part[2], ", %.2f of peak", t.of_peak);
  snprintf(to, size, "%s%s%s%s", t.ratio + t.of_copy + t.of_peak > 0 ? ">= " : "-", part[0], part[1],
           part[2]);
}

void print(const row &r) {
  char aim[80], bare[40] = "";
  say_target(r.aim, aim, sizeof aim);
  if (r.bare > 0) snprintf(bare, sizeof bare, "%8.4f (%.2f)", r.bare * 1e3, of_copy(r, r.bare));
  printf("%-50s %-30s %8.4f %8.4f %6.2f", r.work, r.rival, r.ours * 1e3, r.theirs * 1e3, ratio_of(r));
  if (r.bytes > 0)
    printf(" %6.2f", of_copy(r, r.ours));
  else if (r.flops > 0)
    printf(" %4.1fTF", r.flops / r.ours * 1e-12);
  else
    printf(" %6s", "-");
  printf(" %-16s %-26s %-8s %.1e%s\n", bare, aim, is_met(r) ? "met" : "not met", r.error,
         is_same(r) ? "" : " ANSWERS DIFFER");
  fflush(stdout);
}

void write_row(FILE *to, const row &r, bool last) {
  fprintf(to,
          "  {\"work\": \"%s\", \"rival\": \"%s\", \"ours_ms\": %.5g, \"theirs_ms\": %.5g, \"ratio\": %.3f",
          r.work, r.rival, r.ours * 1e3, r.theirs * 1e3, ratio_of(r));
  if (r.bytes > 0) fprintf(to, ", \"bytes\": %.0f, \"of_copy\": %.3f", r.bytes, of_copy(r, r.ours));
  if (r.flops > 0) fprintf(to, ", \"tflops\": %.2f", r.flops / r.ours * 1e-12);
  if (r.flops > 0 && r.aim.of_peak > 0) fprintf(to, ", \"of_peak\": %.3f", of_peak(r));
  if (r.bare > 0)
    fprintf(to, ", \"bare_ms\": %.5g, \"bare_of_copy\": %.3f", r.bare * 1e3, of_copy(r, r.bare));
  fprintf(to, ", \"target\": {\"ratio\": %g, \"of_copy\": %g, \"of_peak\": %g}", r.aim.ratio, r.aim.of_copy,
          r.aim.of_peak);
  fprintf(to, ", \"met\": %s, \"error\": %.2e, \"allowed\": %.0e, \"same\": %s", is_met(r) ? "true" : "false",
          std::isfinite(r.error) ? r.error : 1e300, r.allowed, is_same(r) ? "true" : "false");
  if (r.note) fprintf(to, ", \"note\": \"%s\"", r.note);
  fprintf(to, "}%s\n", last ? "" : ",");
}

bool write_json(const char *path) {
  FILE *to = fopen(path, "w");
  if (!to) return perror(path), false;
  char date[32];
  const time_t now = time(NULL);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S+00:00", gmtime(&now));
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  fprintf(to, "{\n \"program\": \"filterchain-rivals\",\n \"date\": \"%s\",\n \"device\": \"%s\",\n", date,
          device);
  fprintf(to, " \"cuda\": {\"driver\": %d, \"runtime\": %d},\n \"repeats\": %d,\n", driver, runtime,
          run_settings.repeats);
  fprintf(to, " \"copy_gbs\": %.1f,\n \"peak_f32_tflops\": %.1f,\n \"rows\": [\n", copy_speed(2e9) / 1e9,
          peak_f32() / 1e12);
  for (int i = 0; i < count; i++) write_row(to, rows[i], i == count - 1);
  fputs(" ]\n}\n", to);
  return fclose(to) == 0;
}

bool wanted(const char *group) {
  const char *only = run_settings.only;
  const size_t length = strlen(group);
  while (only && *only) {
    const size_t next = strcspn(only, ",");
    if (next == length && strncmp(only, group, length) == 0) return true;
    only += next + (only[next] == ',');
  }
  return !run_settings.only;
}

struct group {
  const char *name;
  void (*run)(); // NULL: not in this build
  const char *missing;
};

const group groups[] = {
#ifdef RIVALS_NPP
    {"npp", against_npp, NULL},        {"row", against_npp_row, NULL},
#else
    {"npp", NULL, "NPP was not there when this was built"},
    {"row", NULL, "NPP was not there when this was built"},
#endif
    {"cub", against_cub, NULL},
#ifdef RIVALS_BLAS
    {"blas", against_blas, NULL},
#else
    {"blas", NULL, "cuBLAS was not there when this was built"},
#endif
#ifdef RIVALS_FFT
    {"fft", against_fft, NULL},
#else
    {"fft", NULL, "cuFFT was not there when this was built"},
#endif
    {"self", against_ourselves, NULL},
};

bool read_arguments(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!value) return false;
    if (strcmp(argv[i], "--only") == 0)
      run_settings.only = value;
    else if (strcmp(argv[i], "--json") == 0)
      run_settings.json = value;
    else if (strcmp(argv[i], "--repeats") == 0)
      run_settings.repeats = std::min(std::max(atoi(value), 1), MOST_REPEATS);
    else
      return false;
    i++;
  }
  return true;
}

void head() {
  printf("%s; copy %.0f GB/s at 1 GiB, f32 peak %.1f TFLOP/s\n", device, copy_speed(2147483648.) / 1e9,
         peak_f32() / 1e12);
  printf("%-50s %-30s %8s %8s %6s %6s %-16s %-26s\n", "work", "rival", "ours ms", "theirs", "ratio", "copy",
         "bare ms (copy)", "target");
}

} // namespace

void add(const row &r) {
  if (count == MOST_ROWS) must(cudaErrorMemoryAllocation, "too many rows");
  rows[count++] = r;
  wrong += !is_same(r);
  print(r);
}

int run(int argc, char **argv) {
  if (!read_arguments(argc, argv)) {
    fputs("usage: filterchain-rivals [--only npp,row,cub,blas,fft,self] [--repeats N] [--json FILE]\n",
          stderr);
    return 2;
  }
  if (!bench_has_device(device, sizeof device)) {
    puts("skipped: no CUDA device");
    return 77;
  }
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  head();
  for (const group &g : groups) {
    if (!wanted(g.name)) continue;
    if (g.run)
      g.run();
    else
      printf("%s: left out, %s\n", g.name, g.missing);
  }
  int met = 0;
  for (int i = 0; i < count; i++) met += is_met(rows[i]);
  printf("%d of %d targets met, %d answers differ\n", met, count, wrong);
  if (run_settings.json && !write_json(run_settings.json)) return 1;
  return wrong ? 1 : 0;
}

} // namespace rivals

int main(int argc, char **argv) {
  return rivals::run(argc, argv);
}

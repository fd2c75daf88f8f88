// SPDX-License-Identifier: MIT
//
// layouts.cu - what an operator on a GPU takes a byte where memory does not lie as a benchmark likes it:
//
//     filterchain-layouts [--only OPERATOR,...] [--repeats N] [--json FILE]
//
// Every operator runs as a chain on a caller's stream, over as many samples in rows of 8192 (the aligned
// case), in rows of odd length, begun one element off, cut out of a larger image, in pixels of several
// channels, as few long rows, a single one, many short ones and a single column. A cell is the time a byte
// over the aligned case's: 1.00 is as good as that, and more than 1.5 is told at the end. The answer must be,
// to the bit, that of the same image lying otherwise: dense ones begun one element later, the others in a
// dense copy. Exit status 1 where one is not, never for a slow one; 77 without a GPU.
//
// Meson builds it with CUDA: ninja -C build tests/bench/filterchain-layouts
#include "filters/stats/stats.h"
#include "tests/bench/rivals.cuh"

#include <ctime>

namespace rivals {

settings run_settings = {20, NULL, NULL};
cudaStream_t stream;

namespace {

constexpr double LIMIT = 1.5;
constexpr int64_t BYTES = 128 << 20; // of an input: with its output several times the second cache

// An image of rows with a gap behind each, in elements, begun `first` elements into its memory.
struct layout {
  const char *name;
  int64_t n, y, x, c, gap, first;
};

constexpr int LAYOUTS = 14;

// Each of about `count` elements; the first is the aligned one.
void layouts_of(int64_t count, layout *to) {
  const int64_t rows = count / 8192;
  const layout all[LAYOUTS] = {
      {"aligned", 1, rows, 8192, 1, 0, 0},
      {"odd width", 1, rows, 8191, 1, 0, 0},
      {"one off", 1, rows, 8192, 1, 0, 1},
      {"cut out", 1, rows, 8191, 1, 6, 1},
      {"3 channels", 1, rows, 2730, 3, 0, 0},
      {"4 channels", 1, rows, 2048, 4, 0, 0},
      {"8 rows", 1, 8, count / 8, 1, 0, 0},
      {"1 row", 1, 1, count, 1, 0, 0},
      {"224x224x3", count / (224 * 224 * 3), 224, 224, 3, 0, 0},
      {"32x32", count / (32 * 32), 32, 32, 1, 0, 0},
      {"100 wide", 1, count / 100, 100, 1, 0, 0},
      {"31 of 40", 1, count / 40, 31, 1, 9, 0},
      {"1 wide", 1, count, 1, 1, 0, 0},
      {"1 of 3", 1, count / 3, 1, 1, 2, 0},
  };
  std::copy(all, all + LAYOUTS, to);
}

fc_view view_of_layout(const layout &l, int kind, int dtype, char *data) {
  const int64_t size = (int64_t)fc_dtype_size(dtype);
  fc_view v = view_of(kind, dtype, data + l.first * size, l.y, l.x, l.c);
  v.stride[FC_AXIS_Y] += l.gap * size;
  v.stride[FC_AXIS_N] = l.y * v.stride[FC_AXIS_Y];
  v.shape[FC_AXIS_N] = v.extent[FC_AXIS_N] = l.n;
  return v;
}

double bytes_of(const fc_view &v) {
  return 2. * v.shape[FC_AXIS_N] * v.shape[FC_AXIS_Y] * v.shape[FC_AXIS_X] * v.shape[FC_AXIS_C] *
         fc_dtype_size(v.dtype);
}

// Of all frames one image.
fc_view joined(fc_view v) {
  v.shape[FC_AXIS_Y] *= v.shape[FC_AXIS_N], v.shape[FC_AXIS_N] = 1;
  return v;
}

// The same image lying otherwise, to give the same answer.
layout otherwise(const layout &l) {
  layout other = l;
  other.first = l.first || l.gap ? 0 : 1, other.gap = 0;
  return other;
}

void copy_image(const fc_view &to, const fc_view &from) {
  const size_t row = (size_t)(from.shape[FC_AXIS_X] * from.shape[FC_AXIS_C]) * fc_dtype_size(from.dtype);
  const size_t rows = (size_t)(from.shape[FC_AXIS_N] * from.shape[FC_AXIS_Y]);
  const bool dense = (size_t)from.stride[FC_AXIS_Y] == row && (size_t)to.stride[FC_AXIS_Y] == row;
  must(dense ? cudaMemcpyAsync(to.data, from.data, row * rows, cudaMemcpyDeviceToDevice, stream)
             : cudaMemcpy2DAsync(to.data, (size_t)to.stride[FC_AXIS_Y], from.data,
                                 (size_t)from.stride[FC_AXIS_Y], row, rows, cudaMemcpyDeviceToDevice, stream),
       "copying an image");
}

// ---- one operator, one type ---------------------------------------------------------------

struct operation {
  const char *group, *stage;
  int64_t least; // columns: narrower images have more border than there is memory
};

// Uneven masks, so that nothing can be made of a symmetry.
const operation operations[] = {
    {"gain", "gain:0.7"},
    {"dither", "dither:8"},
    {"sepconv", "sepconv:[1,3,2]/7"},
    {"sepconv", "sepconv:[1,3,2,5,4,2,1]/19"},
    {"sepconv", "sepconv:[1,3,2,5,4,2,1,7,1,2,3,1,4,2,3]/42"},
    {"sepconv", "sepconv:[1,3,2,5,4,2,1,7,1,2,3,1,4,2,3,1,3,2,5,4,2,1,7,1,2,3,1,4,2,3,1]/85"},
    {"conv2d", "conv2d:[1,2,3;4,1,2;2,3,5]/24"},
    {"conv2d", "conv2d:[1,2,1,1,2,1,2;1,2,2,1,1,1,2;1,1,1,3,2,1,1;2,1,1,1,1,1,3;1,1,2,1,3,1,1;1,2,1,1,1,1,2;"
               "2,1,1,2,1,1,1]/68"},
    {"conv1d", "conv1d:[1,3,2,5,4]/16"},
    {"conv1d", "conv1d:[1,3,2,5,4,2,1,7,1,2,3,1,4,2,3,1,3,2,5,4,2,1,7,1,2,3,1,4,2,3,1]/85"},
    {"conv1d", "conv1d:[1,3,2,5,4]/16:axis=y"},
    {"conv1d", "conv1d:[1,3,2,5,4,2,1,7,1,2,3,1,4,2,3,1,3,2,5,4,2,1,7,1,2,3,1,4,2,3,1]/85:axis=y"},
    {"winstat", "winstat:15"},
    {"winstat", "winstat:1001", 100},
    {"winstat", "winstat:15x15"},
    {"winstat", "winstat:15x15:border=shrink"},
    {"winstat", "winstat:7x7:stat=std"},
    {"winstat", "winstat:15x15:stat=max"},
    {"stats", "stats"},
};

struct cell {
  double seconds, bytes;
  bool same;
};

struct line {
  const char *stage, *dtype;
  cell cells[LAYOUTS]; // 0 seconds: left out
  double ratio(int i) const {
    return cells[i].seconds / cells[i].bytes / (cells[0].seconds / cells[0].bytes);
  }
};

constexpr int MOST_LINES = 64;
line lines[MOST_LINES];
int count;

// What takes long is not run so often.
template <typename F> double seconds_of(const F &job) {
  const int asked = run_settings.repeats;
  run_settings.repeats = 1;
  const double once = alone([&](int) { job(); });
  run_settings.repeats = once > 5e-3 ? std::min(asked, 3) : asked;
  const double seconds = alone([&](int) { job(); });
  run_settings.repeats = asked;
  return seconds;
}

struct memory {
  buffer in, out, in_too, out_too;
  explicit memory(size_t bytes) : in(bytes), out(bytes), in_too(bytes), out_too(bytes) {}
};

cell measure(const chain &c, const layout &l, int kind, int dtype, const memory &m) {
  const layout o = otherwise(l);
  const fc_view in = view_of_layout(l, kind, dtype, m.in.data),
                out = view_of_layout(l, kind, dtype, m.out.data);
  const fc_view in_too = view_of_layout(o, kind, dtype, m.in_too.data),
                out_too = view_of_layout(o, kind, dtype, m.out_too.data);
  copy_image(in_too, in);
  m.out.poison(), m.out_too.poison();
  c(in_too, out_too);
  cell result = {seconds_of([&] { c(in, out); }), bytes_of(in), false};
  result.same = difference(joined(out), joined(out_too), 0) == 0;
  return result;
}

// The statistics of a view's blocks. A chain that measures waits for its results, so the launcher.
class measured {
public:
  explicit measured(const fc_view &in)
      : in(in), align(fc_stats_align(in.kind, in.shape[FC_AXIS_X], in.shape[FC_AXIS_C])),
        frame((in.shape[FC_AXIS_Y] + align - 1) / align * fc_stats_block_bytes(in.shape[FC_AXIS_C])),
        parts(static_cast<size_t>(frame * in.shape[FC_AXIS_N])),
        scratch(fc_stats_cuda_scratch(&in, align) + 256) {
    parts.poison();
  }
  void operator()() const {
    if (fc_stats_cuda(&in, align, parts.data, frame, scratch.data, stream) != FC_OK)
      must(cudaErrorInvalidValue, "fc_stats_cuda");
  }
  bool operator==(const measured &other) const {
    host_array<char> a(parts.bytes), b(parts.bytes);
    must(cudaStreamSynchronize(stream), "measuring");
    must(cudaMemcpy(a.data(), parts.data, parts.bytes, cudaMemcpyDeviceToHost), "downloading");
    must(cudaMemcpy(b.data(), other.parts.data, parts.bytes, cudaMemcpyDeviceToHost), "downloading");
    return memcmp(a.data(), b.data(), parts.bytes) == 0;
  }

private:
  const fc_view in;
  const int64_t align, frame;
  const buffer parts, scratch;
};

// It only reads, so half of the bytes.
cell measure_stats(const layout &l, int kind, int dtype, const memory &m) {
  const fc_view in = view_of_layout(l, kind, dtype, m.in.data),
                in_too = view_of_layout(otherwise(l), kind, dtype, m.in_too.data);
  copy_image(in_too, in);
  const measured one(in), other(in_too);
  other();
  cell result = {seconds_of(one), bytes_of(in) / 2, false};
  result.same = one == other;
  return result;
}

void print(const line &l) {
  printf("%-34.34s %-3s %8.4f", l.stage, l.dtype, l.cells[0].seconds * 1e3);
  printf(" %6.2f", l.cells[0].bytes / l.cells[0].seconds / copy_speed(l.cells[0].bytes));
  for (int i = 1; i < LAYOUTS; i++) {
    if (l.cells[i].seconds == 0)
      printf(" %10s ", "-");
    else
      printf(" %10.2f%c", l.ratio(i), l.cells[i].same ? ' ' : '!');
  }
  puts("");
  fflush(stdout);
}

void add(const operation &o, int kind, int dtype, const memory &m) {
  if (count == MOST_LINES) must(cudaErrorMemoryAllocation, "too many lines");
  line &l = lines[count++];
  l.stage = o.stage, l.dtype = fc_dtype_name(dtype);
  const chain c(o.stage);
  const bool reads = strcmp(o.stage, "stats") == 0;
  layout layouts[LAYOUTS];
  layouts_of(BYTES / (int64_t)fc_dtype_size(dtype), layouts);
  for (int i = 0; i < LAYOUTS; i++)
    if (layouts[i].x < o.least)
      l.cells[i] = {0, 1, true};
    else
      l.cells[i] = reads ? measure_stats(layouts[i], kind, dtype, m) : measure(c, layouts[i], kind, dtype, m);
  print(l);
}

// ---- all --------------------------------------------------------------------------------

void head() {
  char device[128];
  bench_has_device(device, sizeof device);
  printf("%s; time a byte over the aligned case's\n%-34s %-3s %8s %6s", device, "operator", "", "aligned",
         "of copy");
  layout layouts[LAYOUTS];
  layouts_of(BYTES, layouts);
  for (int i = 1; i < LAYOUTS; i++) printf(" %11s", layouts[i].name);
  puts("");
}

int wrong_cells() {
  int wrong = 0;
  for (int i = 0; i < count; i++)
    for (const cell &c : lines[i].cells) wrong += !c.same;
  return wrong;
}

int slow_cells() {
  int slow = 0;
  for (int i = 0; i < count; i++)
    for (int j = 1; j < LAYOUTS; j++) slow += lines[i].ratio(j) > LIMIT + 0.005;
  return slow;
}

void write_line(FILE *to, const line &l, bool last) {
  layout layouts[LAYOUTS];
  layouts_of(BYTES, layouts);
  fprintf(to, "  {\"operator\": \"%s\", \"type\": \"%s\", \"aligned_ms\": %.5g", l.stage, l.dtype,
          l.cells[0].seconds * 1e3);
  fprintf(to, ", \"of_copy\": %.3f", l.cells[0].bytes / l.cells[0].seconds / copy_speed(l.cells[0].bytes));
  for (int i = 1; i < LAYOUTS; i++)
    if (l.cells[i].seconds > 0) fprintf(to, ", \"%s\": %.3f", layouts[i].name, l.ratio(i));
  fprintf(to, "}%s\n", last ? "" : ",");
}

bool write_json(const char *path) {
  char device[128], date[32];
  bench_has_device(device, sizeof device);
  const time_t now = time(NULL);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S+00:00", gmtime(&now));
  FILE *to = fopen(path, "w");
  if (!to) return perror(path), false;
  fprintf(to, "{\n \"program\": \"filterchain-layouts\",\n \"date\": \"%s\",\n \"device\": \"%s\",\n", date,
          device);
  fprintf(to, " \"repeats\": %d,\n \"cells\": %d,\n \"beyond_1.5\": %d,\n \"lines\": [\n",
          run_settings.repeats, count * (LAYOUTS - 1), slow_cells());
  for (int i = 0; i < count; i++) write_line(to, lines[i], i == count - 1);
  fputs(" ]\n}\n", to);
  return fclose(to) == 0;
}

bool wanted(const char *group) {
  const char *only = run_settings.only;
  while (only && *only) {
    const size_t next = strcspn(only, ",");
    if (next == strlen(group) && strncmp(only, group, next) == 0) return true;
    only += next + (only[next] == ',');
  }
  return !run_settings.only;
}

bool read_arguments(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--only") == 0)
      run_settings.only = argv[i + 1];
    else if (strcmp(argv[i], "--json") == 0)
      run_settings.json = argv[i + 1];
    else if (strcmp(argv[i], "--repeats") == 0)
      run_settings.repeats = std::min(std::max(atoi(argv[i + 1]), 1), MOST_REPEATS);
    else
      return false;
  }
  return argc % 2 == 1;
}

int run() {
  struct {
    int kind, dtype;
  } const types[] = {{FC_ARRAY, FC_F32}, {FC_IMAGE, FC_U8}};
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  head();
  const memory m(2 * BYTES);
  for (const auto &type : types) {
    fill(m.in, type.dtype);
    for (const operation &o : operations)
      if (wanted(o.group)) add(o, type.kind, type.dtype, m);
  }
  printf("%d of %d beyond %.1f; %d answers differ\n", slow_cells(), count * (LAYOUTS - 1), LIMIT,
         wrong_cells());
  if (run_settings.json && !write_json(run_settings.json)) return 1;
  return wrong_cells() ? 1 : 0;
}

} // namespace
} // namespace rivals

int main(int argc, char **argv) {
  char device[128];
  if (!rivals::read_arguments(argc, argv)) {
    fputs("usage: filterchain-layouts [--only OPERATOR,...] [--repeats N] [--json FILE]\n", stderr);
    return 2;
  }
  if (!bench_has_device(device, sizeof device)) {
    puts("skipped: no CUDA device");
    return 77;
  }
  return rivals::run();
}

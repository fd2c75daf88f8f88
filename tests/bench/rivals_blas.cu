// SPDX-License-Identifier: MIT
//
// rivals_blas.cu - beside cuBLAS: matrices of any size (the operator matrix), and the same small matrix
// for millions of vectors (operators dct and matrix). cuBLAS computes f32 as f32, without TF32.
#ifdef RIVALS_BLAS

#include "tests/bench/rivals.cuh"

#include <cublas_v2.h>

namespace rivals {
namespace {

cublasHandle_t handle;

void must_blas(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
  exit(1);
}

// ---- GEMM ------------------------------------------------------------------------

// C of m x n, k products a sum; all by rows.
struct shape {
  int m, n, k;
  size_t of_a(void) const { return static_cast<size_t>(m) * k; }
  size_t of_b(void) const { return static_cast<size_t>(k) * n; }
  size_t of_c(void) const { return static_cast<size_t>(m) * n; }
  shape(int side) : m(side), n(side), k(side) {}
  shape(int rows, int columns, int steps) : m(rows), n(columns), k(steps) {}
};

// Row-major for us is the transpose for them.
cublasStatus_t their_gemm(const shape &s, const float *a, const float *b, float *c) {
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, s.n, s.m, s.k, &one, b, s.n, a, s.k, &zero, c, s.n);
}
cublasStatus_t their_gemm(const shape &s, const double *a, const double *b, double *c) {
  const double one = 1, zero = 0;
  return cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, s.n, s.m, s.k, &one, b, s.n, a, s.k, &zero, c, s.n);
}

// The operator matrix on an image that is B, whose columns are multiplied by A: C is B with other rows.
class our_product {
public:
  template <typename F>
  our_product(const shape &s, const buffer &a, const char *options, F) : s(s), dtype(dtype_of(F())) {
    host_array<F> narrow(s.of_a());
    host_array<double> wide(s.of_a());
    must(cudaMemcpy(narrow.data(), a.data, s.of_a() * sizeof(F), cudaMemcpyDeviceToHost), "downloading");
    for (size_t i = 0; i < s.of_a(); i++) wide[i] = narrow[i];
    text stage;
    stage << "matrix:%s:axis=y" << options;
    chain = ours_chain_of_table(stage, wide.data(), s.m, s.k, 0);
  }
  ~our_product() {
    must(cudaStreamSynchronize(stream), "running");
    ours_chain_free(chain);
  }
  our_product(const our_product &) = delete;
  void operator()(const void *b, void *c) const {
    const fc_view in = view_of(FC_ARRAY, dtype, const_cast<void *>(b), s.k, s.n),
                  out = view_of(FC_ARRAY, dtype, c, s.m, s.n);
    ours_chain_run(chain, &in, &out, stream);
  }

private:
  static int dtype_of(float) { return FC_F32; }
  static int dtype_of(double) { return FC_F64; }
  const shape s;
  const int dtype;
  ours_chain *chain;
};

// Small matrices: another B every turn, so that they do not lie in the L2; and theirs is another one than
// ours, or what we have just read would lie there for them.
template <typename F> void gemm(const shape &s, double ratio) {
  const int dtype = sizeof(F) == 8 ? FC_F64 : FC_F32;
  const int turns = static_cast<int>(std::max<size_t>(1, (size_t(1) << 29) / (s.of_b() * sizeof(F))));
  const buffer a(s.of_a() * sizeof(F)), b(s.of_b() * turns * sizeof(F)), ours(s.of_c() * sizeof(F)),
      theirs(ours.bytes);
  fill(a, dtype), fill(b, dtype), ours.poison(), theirs.poison();
  const our_product product(s, a, "", F());
  auto us = [&](int i) { product(b.as<F>() + i % turns * s.of_b(), ours.data); };
  auto them = [&](int i) {
    must_blas(their_gemm(s, a.as<F>(), b.as<F>() + (i + turns / 2) % turns * s.of_b(), theirs.as<F>()));
  };
  row r = {};
  us(0), them(turns - turns / 2);
  r.error = difference(view_of(FC_ARRAY, dtype, ours.data, s.m, s.n),
                       view_of(FC_ARRAY, dtype, theirs.data, s.m, s.n), 0);
  const times t = in_turns(us, them);
  const char letter = sizeof(F) == 8 ? 'D' : 'S';
  if (s.m == s.n && s.n == s.k)
    name(r.work, sizeof r.work, "%cGEMM %d", letter, s.n);
  else
    name(r.work, sizeof r.work, "%cGEMM %d x %d x %d", letter, s.m, s.n, s.k);
  name(r.rival, sizeof r.rival, "cuBLAS");
  r.flops = 2. * s.m * s.n * s.k, r.allowed = sizeof(F) == 8 ? 1e-13 : 1e-5;
  r.ours = t.ours, r.theirs = t.theirs, r.aim = {ratio, 0, 0};
  add(r);
}

__global__ void widen(double *to, const float *from, size_t count) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = from[i];
}

// The product of f32 matrices in f64.
void true_product(int n, const float *a, const float *b, const buffer &c) {
  const size_t size = static_cast<size_t>(n) * n;
  const buffer wide_a(size * sizeof(double)), wide_b(size * sizeof(double));
  widen<<<2048, 256, 0, stream>>>(wide_a.as<double>(), a, size);
  widen<<<2048, 256, 0, stream>>>(wide_b.as<double>(), b, size);
  must_blas(their_gemm(n, wide_a.as<double>(), wide_b.as<double>(), c.as<double>()));
  must(cudaStreamSynchronize(stream), "multiplying");
}

// On tensor cores by 3xTF32, beside cuBLAS in plain f32. The error is ours over theirs, both beside f64.
void gemm_split(int n) {
  const shape s(n);
  const size_t size = s.of_b();
  const int turns = static_cast<int>(std::max<size_t>(1, (size_t(1) << 29) / (size * sizeof(float))));
  const buffer a(size * sizeof(float)), b(size * turns * sizeof(float)), ours(size * sizeof(float)),
      theirs(ours.bytes), right(size * sizeof(double));
  fill(a, FC_F32), fill(b, FC_F32), ours.poison(), theirs.poison();
  const our_product product(s, a, ":tensor=yes", 0.f);
  auto us = [&](int i) { product(b.as<float>() + i % turns * size, ours.data); };
  auto them = [&](int i) {
    must_blas(
        their_gemm(s, a.as<float>(), b.as<float>() + (i + turns / 2) % turns * size, theirs.as<float>()));
  };
  us(0), them(turns - turns / 2), true_product(n, a.as<float>(), b.as<float>(), right);
  const fc_view truth = view_of(FC_ARRAY, FC_F64, right.data, n, n);
  row r = {};
  r.error = difference(view_of(FC_ARRAY, FC_F32, ours.data, n, n), truth, 0) /
            difference(view_of(FC_ARRAY, FC_F32, theirs.data, n, n), truth, 0);
  const times t = in_turns(us, them);
  name(r.work, sizeof r.work, "SGEMM %d by 3xTF32", n);
  name(r.rival, sizeof r.rival, "cuBLAS in plain f32");
  r.note = "error: the largest of ours over the largest of cuBLAS, beside f64";
  r.flops = 2. * n * n * n, r.allowed = 2;
  r.ours = t.ours, r.theirs = t.theirs, r.aim = {1.8, 0, 0};
  add(r);
}

// ---- a small matrix and many vectors -----------------------------------------------

// size x size, column-major, times the vectors that follow each other in `from`.
struct small_matrix {
  buffer m;
  int size;
  int64_t vectors;
  // `rows` is row-major.
  small_matrix(const float *rows, int size, int64_t vectors)
      : m(sizeof(float) * size * size), size(size), vectors(vectors) {
    must(cudaMemcpy(m.data, rows, m.bytes, cudaMemcpyHostToDevice), "uploading");
  }
  void operator()(const buffer &from, const buffer &to) const {
    const float one = 1, zero = 0;
    must_blas(cublasSgemm_64(handle, CUBLAS_OP_T, CUBLAS_OP_N, size, vectors, size, &one, m.as<float>(), size,
                             from.as<float>(), size, &zero, to.as<float>(), size));
  }
};

// A chain on `view` beside the matrix; work, note and target are in the row.
void vectors(row r, const char *stages, const small_matrix &matrix, int64_t y, int64_t x, int64_t c) {
  const buffer in(static_cast<size_t>(y * x * c) * sizeof(float)), ours(in.bytes), theirs(in.bytes);
  fill(in, FC_F32), ours.poison(), theirs.poison();
  const fc_view from = view_of(FC_ARRAY, FC_F32, in.data, y, x, c),
                to = view_of(FC_ARRAY, FC_F32, ours.data, y, x, c);
  chain us(stages);
  us(from, to), matrix(in, theirs);
  r.error = difference(to, view_of(FC_ARRAY, FC_F32, theirs.data, y, x, c), 0);
  const times t = in_turns([&](int) { us(from, to); }, [&](int) { matrix(in, theirs); });
  name(r.rival, sizeof r.rival, "cuBLAS SGEMM");
  r.bytes = 2. * static_cast<double>(in.bytes), r.allowed = 1e-5;
  r.ours = t.ours, r.theirs = t.theirs;
  add(r);
}

void cosines(int size, int64_t count, double of_copy) {
  host_array<float> m(static_cast<size_t>(size) * size);
  for (int k = 0; k < size; k++)
    for (int i = 0; i < size; i++)
      m[k * size + i] =
          static_cast<float>(sqrt((k ? 2. : 1.) / size) * cos(M_PI * k * (2 * i + 1) / (2. * size)));
  row r = {};
  name(r.work, sizeof r.work, "DCT %d, %lld Mi x %d f32", size, static_cast<long long>(count >> 20), size);
  r.aim = {1, of_copy, 0};
  text stages;
  stages << "dct:" << size << ":axis=x";
  vectors(r, stages, small_matrix(m.data(), size, count), count * size / SIDE, SIDE, 1);
}

void colours() {
  constexpr int64_t ROWS = 4096;
  const float m[9] = {0.299f, 0.587f, 0.114f, -0.168736f, -0.331264f, 0.5f, 0.5f, -0.418688f, -0.081312f};
  row r = {};
  name(r.work, sizeof r.work, "colour matrix, 64 Mi x 3 f32");
  r.aim = {1, 0, 0};
  text stages;
  stages << "matrix:";
  stages.matrix(m, 3, 3);
  vectors(r, stages, small_matrix(m, 3, ROWS * SIDE), ROWS, SIDE, 3);
}

} // namespace

void against_blas() {
  must_blas(cublasCreate(&handle));
  must_blas(cublasSetStream(handle, stream));
  colours();
  cosines(8, 1 << 24, 0.85);
  cosines(64, 1 << 20, 0.75);
  for (int n : {1024, 2048, 4096, 8192}) gemm<double>(n, 0.95);
  for (int n : {1024, 2048, 4096, 8192}) gemm<float>(n, 1.0);
  for (int n : {1024, 2048, 4096, 8192}) gemm_split(n);
  // Rows, columns, products a sum: vectors, few rows, few sums of many products, sides of no round number.
  const shape odd[] = {{1, 4096, 4096},    {4096, 1, 4096},    {16, 4096, 4096},  {64, 2048, 2048},
                       {64, 8192, 8192},   {256, 256, 4096},   {256, 2048, 2048}, {512, 512, 512},
                       {1000, 1000, 1000}, {1536, 1536, 1536}, {1001, 999, 1003}};
  for (const shape &s : odd) gemm<float>(s, 1.0), gemm<double>(s, 1.0);
  cublasDestroy(handle);
}

} // namespace rivals

#endif

// SPDX-License-Identifier: MIT
//
// rivals_self.cu - what has no rival but ourselves: a sliding window whose length must not matter, and a
// chain that must not cost more than its stages.
#include "tests/bench/rivals.cuh"

namespace rivals {
namespace {

// Of windows from 3 to 10,000: each beside the first, and the slowest beside the fastest.
void flat() {
  const int windows[] = {3, 15, 127, 1000, 10000};
  const buffer in(SIDE * SIDE * sizeof(float)), out(2 * in.bytes);
  fill(in, FC_F32);
  const fc_view from = view_of(FC_ARRAY, FC_F32, in.data, SIDE, SIDE);
  fc_view to = view_of(FC_ARRAY, FC_F32, out.data, SIDE, SIDE);
  to.shape[FC_AXIS_C] = to.extent[FC_AXIS_C] = 2;
  to.stride[FC_AXIS_C] = static_cast<int64_t>(in.bytes);
  double least = INFINITY, most = 0;
  for (int w : windows) {
    text stages;
    stages << "winstat:" << w << ":stat=sum,sumsq:border=replicate";
    const chain us(stages);
    const double seconds = alone([&](int) { us(from, to); });
    printf("  (winstat of %d: %.4f ms; bare %.4f ms)\n", w, seconds * 1e3,
           bare_winstat(w, 1, "sum,sumsq") * 1e3);
    least = std::min(least, seconds), most = std::max(most, seconds);
  }
  row r = {};
  name(r.work, sizeof r.work, "sliding sum + sumsq, slowest of w = 3 to 10000");
  name(r.rival, sizeof r.rival, "the fastest of them");
  r.note = "w = 3, 15, 127, 1000, 10000; flat within 10 %";
  r.bytes = 3. * static_cast<double>(in.bytes), r.ours = most, r.theirs = least, r.aim = {0.91, 0.85, 0};
  add(r);
}

constexpr int STAGES = 10;
const char *const ten[STAGES] = {
    "gain:0.5", "sepconv:[1,4,6,4,1]/16",      "clip:0.9", "winstat:15",        "conv1d:[1,2,1]/4",
    "gain:2",   "conv2d:[0,1,0;1,-4,1;0,1,0]", "dct:8",    "dct:8:inverse=yes", "clip:1"};

// One chain of ten beside ten chains of one, from one image to another and back.
void chained() {
  constexpr int64_t N = 8192;
  const buffer in(N * N * sizeof(float)), ours(in.bytes), a(in.bytes), b(in.bytes);
  fill(in, FC_F32), ours.poison();
  auto view = [&](const buffer &of) { return view_of(FC_ARRAY, FC_F32, of.data, N, N); };
  text stages;
  for (int i = 0; i < STAGES; i++) stages << (i ? " " : "") << ten[i];
  const chain us(stages),
      one[STAGES] = {chain(ten[0]), chain(ten[1]), chain(ten[2]), chain(ten[3]), chain(ten[4]),
                     chain(ten[5]), chain(ten[6]), chain(ten[7]), chain(ten[8]), chain(ten[9])};
  auto all = [&](int) {
    for (int i = 0; i < STAGES; i++) one[i](view(i == 0 ? in : i % 2 ? a : b), view(i % 2 ? b : a));
  };
  us(view(in), view(ours)), all(0);
  row r = {};
  r.error = difference(view(ours), view(b), 0);
  const times t = in_turns([&](int) { us(view(in), view(ours)); }, all);
  name(r.work, sizeof r.work, "a chain of 10 operators, 8192^2 f32");
  name(r.rival, sizeof r.rival, "its stages one by one");
  r.bytes = 2. * STAGES * static_cast<double>(in.bytes), r.allowed = 1e-5;
  r.ours = t.ours, r.theirs = t.theirs, r.aim = {1, 0, 0};
  add(r);
}

} // namespace

void against_ourselves() {
  flat();
  chained();
}

} // namespace rivals

/* SPDX-License-Identifier: MIT */
/* In C++17, whose initialisers go by position. Works. */
#include "core/contract/plugin.h"

#include <cstring>

namespace {

fc_status process(const fc_host *, const void *, const fc_job *job) {
  const fc_view *in = job->in[0], *out = job->out;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
        for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++)
          std::memcpy(fc_view_at(out, n, y, x, c), fc_view_at(in, n, y, x, c), fc_dtype_size(out->dtype));
  return FC_OK;
}

constexpr fc_backend cpu = {
    sizeof(fc_backend), 0, FC_KIND_HOST, 0, nullptr, nullptr, nullptr, nullptr, process};
constexpr const fc_backend *backends[] = {&cpu, nullptr};

constexpr fc_limits limits = {sizeof(fc_limits), FC_LIMIT_MAX, 0, 0, 0.0, 10.0};

constexpr fc_param amount = {sizeof(fc_param), FC_FLOAT, FC_PARAM_MAIN, 0,       "amount", "Has no effect.",
                             nullptr,          "1",      &limits,       nullptr, nullptr,  nullptr};
constexpr const fc_param *params[] = {&amount};
constexpr const char *examples[] = {"plusplus", nullptr};

constexpr fc_operator op = {sizeof(fc_operator),
                            FC_OP_KEEPS_DTYPE,
                            "plusplus",
                            "copies its input",
                            "In C++.",
                            examples,
                            1,
                            FC_KINDS_ALL,
                            FC_DTYPES_ALL,
                            FC_DTYPES_ALL,
                            params,
                            nullptr,
                            nullptr,
                            nullptr,
                            backends,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr};
constexpr const fc_operator *operators[] = {&op};

constexpr fc_plugin plugin = {
    sizeof(fc_plugin), FC_PLUGIN_ABI, "fixture-plusplus", "1.0", "filterchain", "MIT", "", 1, operators};

} // namespace

extern "C" const fc_plugin *fc_plugin_entry_v1(void) {
  return &plugin;
}

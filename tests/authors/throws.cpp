// SPDX-License-Identifier: MIT
//
// throws.cpp - an operator by fc_plugin.hpp with a parameter of each kind, which throws where and what it is told to.
#include <fc_plugin.hpp>

#include <new>

namespace {

enum { NOWHERE, CREATE, NEGOTIATE, PROCESS, NO_MEMORY, NOTHING_KNOWN };

struct throws {
  int64_t where;
  double factor;
  explicit throws(const fc::arguments &args) : where(args["where"].integer()), factor(args["factor"].real()) {
    if (where == CREATE) throw fc::error("not with these arguments");
    if (where == NO_MEMORY) throw std::bad_alloc();
    if (where == NOTHING_KNOWN) throw 42;
    if (args["counts"].count() > 0 && args["counts"].integer(args["counts"].count() - 1) > 8) args["nothing_like_it"];
    if (args["loud"].flag()) factor *= 2;
  }
  void negotiate(fc::terms &terms) const {
    if (where == NEGOTIATE) throw fc::error("not with these formats", FC_UNSUPPORTED);
    terms.work(1);
  }
  void process(const fc::job &job) const {
    if (where == PROCESS) throw std::runtime_error("it went wrong");
    job.lines([this](auto *in, auto *out, int64_t count) {
      for (int64_t i = 0; i < count; i++) out[i] = static_cast<std::remove_reference_t<decltype(*out)>>(in[i] * factor);
    });
  }
};

} // namespace

FC_PLUGIN_OF("org.example.throws", "1.0", "you", "MIT", "https://example.org",
             fc::op<throws>("throws")
                 .summary("throws")
                 .doc("Throws.")
                 .example("throws:nowhere")
                 .example("throws:where=nowhere:factor=2:counts=1,2:loud=yes")
                 .param(fc::choice("where")
                            .main()
                            .preset("nowhere")
                            .doc("Where.")
                            .choice(NOWHERE, "nowhere", "not at all")
                            .choice(CREATE, "create", "in the constructor")
                            .choice(NEGOTIATE, "negotiate", "in negotiate")
                            .choice(PROCESS, "process", "in process")
                            .choice(NO_MEMORY, "memory", "bad_alloc")
                            .choice(NOTHING_KNOWN, "unknown", "an int")
                            .refused("run", "say process"))
                 .param(fc::real("factor").preset("1").unit("times").between(0, 4).doc("A factor.").decibel())
                 .param(fc::integer("counts").list(3).at_least(1).at_most(9).alias("numbers").doc("Counts."))
                 .param(fc::flag("loud").preset("no").doc("Twice.")))

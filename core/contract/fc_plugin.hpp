// SPDX-License-Identifier: MIT
//
// fc_plugin.hpp - operators as classes of C++17: the descriptor is built by name instead of by position, an
// instance is an object, and exceptions stay inside. Over plugin.h and fc_helpers.h; nothing to link but the
// C++ library.
//
//     struct soften {
//       double weight;
//       explicit soften(const fc::arguments &args) : weight(args["weight"].real()) {}
//
//       void negotiate(fc::terms &terms) const {                   // may be left out: no halo
//         terms.reach(FC_AXIS_X, 1, 1).border(FC_BORDER_REPLICATE);
//       }
//       void process(const fc::job &job) const {                   // any thread, any piece
//         job.lines<1, 1>([&](auto *in, auto *out, int64_t count) {
//           using real = std::remove_reference_t<decltype(*out)>;
//           for (int64_t i = 0; i < count; i++) out[i] = real(weight) * (in[i - 1] + in[i + 1]) + real(1 - 2
//           * weight) * in[i];
//         });
//       }
//     };
//     FC_PLUGIN_OF("org.example.soften", "1.0", "you", "MIT", "https://example.org",
//                  fc::op<soften>("soften").summary("mean of neighbours").doc("...").example("soften:0.25")
//                      .param(fc::real("weight").main().preset("0.25").between(0, 0.5).doc("Of either
//                      neighbour.")))
//
// Texts are borrowed: literals. What is built lives as long as the process, as the contract wants.
#ifndef FC_PLUGIN_HPP
#define FC_PLUGIN_HPP

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fc_helpers.h"

namespace fc {

// Thrown by constructor, negotiate and prepare: why not, in one sentence without a full stop. In process it
// fails the run.
class error : public std::runtime_error {
public:
  explicit error(const std::string &sentence, fc_status why = FC_INVALID)
      : std::runtime_error(sentence), status(why) {}
  fc_status status;
};

// ---- parameters ------------------------------------------------------------------

// One parameter, by name. doc() is wanted of each; all else may be left out.
class param {
public:
  param(int type, const char *name) {
    p.size = sizeof p, p.type = type, p.name = name, p.doc = "";
    l.size = sizeof l;
  }
  param &doc(const char *text) { return p.doc = text, *this; }
  param &unit(const char *text) { return p.unit = text, *this; }
  param &preset(const char *as_typed) { return p.preset = as_typed, *this; }
  param &main() { return p.flags |= FC_PARAM_MAIN, *this; }
  param &required() { return p.flags |= FC_PARAM_REQUIRED, *this; }
  param &decibel() { return p.flags |= FC_PARAM_DECIBEL, *this; }
  param &mask() { return p.flags |= FC_PARAM_MASK, *this; }
  param &list(uint32_t most = 0) { return p.flags |= FC_PARAM_LIST, p.max_count = most, *this; }
  param &at_least(double low) {
    return l.flags |= FC_LIMIT_MIN, l.min = low, l.int_min = static_cast<int64_t>(low), *this;
  }
  param &at_most(double high) {
    return l.flags |= FC_LIMIT_MAX, l.max = high, l.int_max = static_cast<int64_t>(high), *this;
  }
  param &between(double low, double high) { return at_least(low).at_most(high); }
  param &alias(const char *name) { return aliases.push_back(name), *this; }
  param &deprecated(const char *instead) { return p.deprecated = instead, *this; }
  // Of a choice: what it is called and what it means.
  param &choice(int32_t value, const char *name, const char *text) {
    return choices.push_back({sizeof(fc_choice), value, name, text}), *this;
  }
  // A name that is recognised only to say which one to use.
  param &refused(const char *name, const char *say) { return choice(FC_REFUSED, name, say); }

  // Its place is settled: pointers into it may be made.
  const fc_param *settle() {
    for (const fc_choice &c : choices) choice_list.push_back(&c);
    choice_list.push_back(nullptr), aliases.push_back(nullptr);
    p.limits = l.flags ? &l : nullptr;
    p.choices = choices.empty() ? nullptr : choice_list.data();
    p.aliases = aliases.size() > 1 ? aliases.data() : nullptr;
    return &p;
  }

private:
  fc_param p = {};
  fc_limits l = {};
  std::vector<fc_choice> choices;
  std::vector<const fc_choice *> choice_list;
  std::vector<const char *> aliases;
};

inline param real(const char *name) {
  return param(FC_FLOAT, name);
}
inline param integer(const char *name) {
  return param(FC_INT, name);
}
inline param flag(const char *name) {
  return param(FC_BOOL, name);
}
inline param choice(const char *name) {
  return param(FC_ENUM, name);
}
inline param text(const char *name) {
  return param(FC_STRING, name);
}
inline param table(const char *name) {
  return param(FC_TABLE, name);
}
inline param input(const char *name) {
  return param(FC_INPUT, name);
}
inline param path(const char *name) {
  return param(FC_PATH, name);
}

// The value of a parameter; throws where it has none.
class argument {
public:
  argument(const fc_param *param, const fc_arg *arg) : p(param), a(arg) {}
  bool given() const { return a->given != 0; }
  int64_t count() const { return a->count; }
  double real(int64_t i = 0) const { return at(a->floats, i); }
  int64_t integer(int64_t i = 0) const { return at(a->ints, i); }
  bool flag(int64_t i = 0) const { return at(a->ints, i) != 0; }
  const char *text() const { return a->text; }
  const fc_table *table() const { return a->table; }
  uint32_t input() const { return a->input; } // 0: not given

private:
  template <typename T> T at(const T *values, int64_t i) const {
    if (!values || i < 0 || i >= a->count) throw error(std::string(p->name) + " has no value");
    return values[i];
  }
  const fc_param *p;
  const fc_arg *a;
};

// All of them, by name. They live as long as the instance.
class arguments {
public:
  arguments(const fc_param *const *params, uint32_t n, const fc_arg *const *args)
      : ps(params), count(n), as(args) {}
  argument operator[](const char *name) const {
    for (uint32_t i = 0; i < count; i++)
      if (strcmp(ps[i]->name, name) == 0) return argument(ps[i], as[i]);
    throw error(std::string("there is no parameter ") + name, FC_FATAL);
  }

private:
  const fc_param *const *ps;
  uint32_t count;
  const fc_arg *const *as;
};

// ---- callbacks ----------------------------------------------------------------------

// fc_terms, of one input unless said otherwise.
class terms {
public:
  explicit terms(fc_terms *t) : raw(t) {}
  const fc_format &in(uint32_t i = 0) const { return *raw->in[i]; }
  fc_format &out() const { return *raw->out; }
  fc_need &need(uint32_t i = 0) const { return *raw->needs[i]; }
  terms &reach(int axis, int64_t before, int64_t after, uint32_t i = 0) {
    return need(i).reach[axis].before = before, need(i).reach[axis].after = after, *this;
  }
  terms &border(fc_border b, double value = 0, uint32_t i = 0) {
    return need(i).border = b, need(i).border_value = value, *this;
  }
  terms &carry(uint64_t bytes) { return raw->carry_bytes = bytes, *this; }
  terms &work(double flop) { return raw->work = flop, *this; }
  fc_terms *const raw;
};

// fc_job, with loads and stores.
class job {
public:
  job(const fc_host *host, const fc_job *j) : host(host), raw(j) {}
  const fc_view &in(uint32_t i = 0) const { return *raw->in[i]; }
  const fc_view &out() const { return *raw->out; }

  // Calls f(in, out, count) for stretches of lines along X of each frame, row and channel, in the type
  // computed with: const float * and float *, or double. in[-BEFORE] to in[count - 1 + AFTER] may be read.
  template <int BEFORE = 0, int AFTER = 0, typename F> void lines(F &&f) const {
    if (raw->compute == FC_F64)
      lines_of<double, BEFORE, AFTER>(f);
    else
      lines_of<float, BEFORE, AFTER>(f);
  }
  // `count` samples of an input from a position of the view on, along X.
  void load(float *to, uint32_t i, int64_t n, int64_t y, int64_t x, int64_t c, int64_t count) const {
    const fc_view &v = in(i);
    host->rows->load_f32(to, fc_view_at(&v, n, y, x, c), v.stride[FC_AXIS_X], count, v.kind, v.dtype);
  }
  void load(double *to, uint32_t i, int64_t n, int64_t y, int64_t x, int64_t c, int64_t count) const {
    const fc_view &v = in(i);
    host->rows->load_f64(to, fc_view_at(&v, n, y, x, c), v.stride[FC_AXIS_X], count, v.kind, v.dtype);
  }
  void store(const float *from, int64_t n, int64_t y, int64_t x, int64_t c, int64_t count) const {
    const fc_view &v = out();
    host->rows->store_f32(fc_view_at(&v, n, y, x, c), v.stride[FC_AXIS_X], from, count, v.kind, v.dtype,
                          raw->notes);
  }
  void store(const double *from, int64_t n, int64_t y, int64_t x, int64_t c, int64_t count) const {
    const fc_view &v = out();
    host->rows->store_f64(fc_view_at(&v, n, y, x, c), v.stride[FC_AXIS_X], from, count, v.kind, v.dtype,
                          raw->notes);
  }
  const fc_host *const host;
  const fc_job *const raw;

private:
  template <typename T, int BEFORE, int AFTER, typename F> void lines_of(F &f) const {
    T samples[BEFORE + FC_ROW_VALUES + AFTER], made[FC_ROW_VALUES];
    const int64_t *s = out().shape;
    for (int64_t n = 0; n < s[FC_AXIS_N]; n++)
      for (int64_t y = 0; y < s[FC_AXIS_Y]; y++)
        for (int64_t c = 0; c < s[FC_AXIS_C]; c++)
          for (int64_t x = 0; x < s[FC_AXIS_X]; x += FC_ROW_VALUES) {
            const int64_t count = s[FC_AXIS_X] - x < FC_ROW_VALUES ? s[FC_AXIS_X] - x : FC_ROW_VALUES;
            load(samples, 0, n, y, x - BEFORE, c, BEFORE + count + AFTER);
            f(static_cast<const T *>(samples + BEFORE), static_cast<T *>(made), count);
            store(made, n, y, x, c, count);
          }
  }
};

namespace detail {

// What is thrown becomes a status and a sentence.
template <typename F> fc_status guarded(const fc_host *host, F &&f) noexcept {
  try {
    f();
    return FC_OK;
  } catch (const error &e) {
    return host->fail(host, e.status, "%s", e.what());
  } catch (const std::bad_alloc &) {
    return host->fail(host, FC_NO_MEMORY, "out of memory");
  } catch (const std::exception &e) {
    return host->fail(host, FC_FATAL, "%s", e.what());
  } catch (...) {
    return host->fail(host, FC_FATAL, "an exception that says nothing");
  }
}

template <typename T, typename = void> struct negotiates : std::false_type {};
template <typename T>
struct negotiates<T, std::void_t<decltype(std::declval<T &>().negotiate(std::declval<terms &>()))>>
    : std::true_type {};
template <typename T, typename = void> struct processes : std::false_type {};
template <typename T>
struct processes<T, std::void_t<decltype(std::declval<const T &>().process(std::declval<const job &>()))>>
    : std::true_type {};

} // namespace detail

// ---- operators ---------------------------------------------------------------------------

// The descriptor of an operator whose instances are T: made from fc::arguments, copied by nobody.
template <typename T> class op {
public:
  explicit op(const char *name) {
    o.size = sizeof o, o.name = name, o.summary = o.doc = "";
    o.kinds = FC_KINDS_ALL, o.dtypes_in = o.dtypes_out = FC_DTYPES_ALL;
  }
  op &summary(const char *line) { return o.summary = line, *this; }
  op &doc(const char *paragraphs) { return o.doc = paragraphs, *this; }
  // What it does, in a few words; the command around it, as in fc_operator.example_commands.
  op &example(const char *stage, const char *doc = "", const char *command = "") {
    return examples.push_back(stage), example_docs.push_back(doc), example_commands.push_back(command), *this;
  }
  // Another name for what it does, as in fc_operator.keywords.
  op &keyword(const char *word) { return keywords.push_back(word), *this; }
  op &param(const fc::param &p) { return params.push_back(p), *this; }
  op &flags(uint32_t bits) { return o.flags |= bits, *this; }
  op &kinds(uint32_t bits) { return o.kinds = bits, *this; }
  op &dtypes(uint32_t in, uint32_t out) { return o.dtypes_in = in, o.dtypes_out = out, *this; }
  // A backend of C's, beside or instead of T::process.
  op &backend(const fc_backend *b) { return backends.push_back(b), *this; }
  op &extension(const void *(*by_name)(const fc_operator *, const char *)) {
    return o.extension = by_name, *this;
  }

  // The finished descriptor: one for each T.
  const fc_operator *settle() const {
    static op built = *this;
    static const fc_operator *const done = built.finish();
    return done;
  }

private:
  static const fc_operator *&own() {
    static const fc_operator *mine;
    return mine;
  }
  static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
    return detail::guarded(host, [&] { *self = new T(arguments(own()->params, own()->n_params, args)); });
  }
  static void destroy(void *self) { delete static_cast<T *>(self); }
  static fc_status negotiate(const fc_host *host, void *self, fc_terms *t) {
    return detail::guarded(host, [&] {
      terms wrapped(t);
      if constexpr (detail::negotiates<T>::value) static_cast<T *>(self)->negotiate(wrapped);
    });
  }
  static fc_status process(const fc_host *host, const void *state, const fc_job *j) {
    return detail::guarded(host, [&] {
      if constexpr (detail::processes<T>::value) static_cast<const T *>(state)->process(job(host, j));
    });
  }
  const fc_operator *finish() {
    static fc_backend cpu = {
        sizeof(fc_backend), 0, FC_KIND_HOST, 0, nullptr, nullptr, nullptr, nullptr, process};
    if (detail::processes<T>::value) backends.insert(backends.begin(), &cpu);
    for (fc::param &p : params) pointers.push_back(p.settle());
    examples.push_back(nullptr), example_docs.push_back(nullptr), example_commands.push_back(nullptr);
    keywords.push_back(nullptr), o.keywords = keywords.data();
    backends.push_back(nullptr);
    o.examples = examples.data(), o.backends = backends.data();
    o.example_docs = example_docs.data(), o.example_commands = example_commands.data();
    o.n_params = static_cast<uint32_t>(pointers.size()), o.params = pointers.data();
    o.create = create, o.destroy = destroy;
    if (detail::negotiates<T>::value) o.negotiate = negotiate;
    return own() = &o;
  }
  fc_operator o = {};
  std::vector<const char *> examples, example_docs, example_commands, keywords;
  std::vector<const fc_backend *> backends;
  std::vector<fc::param> params;
  std::vector<const fc_param *> pointers;
};

} // namespace fc

// The plugin's entry, with builders of its operators.
#define FC_PLUGIN_OF(id, version, author, license, url, ...)                                                 \
  extern "C" FC_PLUGIN_EXPORT const fc_plugin *fc_plugin_entry_v1(void) {                                    \
    static const std::vector<const fc_operator *> operators = [] {                                           \
      std::vector<const fc_operator *> made;                                                                 \
      const auto add = [&](const auto &...builders) { (made.push_back(builders.settle()), ...); };           \
      add(__VA_ARGS__);                                                                                      \
      return made;                                                                                           \
    }();                                                                                                     \
    static const fc_plugin plugin = {sizeof(fc_plugin),                                                      \
                                     FC_PLUGIN_ABI,                                                          \
                                     id,                                                                     \
                                     version,                                                                \
                                     author,                                                                 \
                                     license,                                                                \
                                     url,                                                                    \
                                     static_cast<uint32_t>(operators.size()),                                \
                                     operators.data()};                                                      \
    return &plugin;                                                                                          \
  }

#endif

/* SPDX-License-Identifier: MIT */
/*
 * fc_helpers.h - shortens the code of a typical operator: descriptors, and loops over samples of any type.
 *
 * C11 and C++17; includes only plugin.h, needs no library, and is optional. What the macros define is
 * constant data at file scope (in C++ initialised when the plugin is loaded).
 */
#ifndef FC_HELPERS_H
#define FC_HELPERS_H

#include <stdio.h>
#include <string.h>

#include "plugin.h"
#include "random.h"

/* ---- descriptors: constants, limits, choices ---------------------------- */

/* The address of a constant of static storage, and of a list of pointers. For use at file scope. */
#ifdef __cplusplus
#define FC_STATIC(type, ...)                                                                                 \
  ([]() -> const type * {                                                                                    \
    static const type constant = {__VA_ARGS__};                                                              \
    return &constant;                                                                                        \
  }())
#define FC_STATIC_LIST(type, ...)                                                                            \
  ([]() -> const type *const * {                                                                             \
    static const type *const list[] = {__VA_ARGS__};                                                         \
    return list;                                                                                             \
  }())
#else
#define FC_STATIC(type, ...)      (&(const type){__VA_ARGS__})
#define FC_STATIC_LIST(type, ...) ((const type *const[]){__VA_ARGS__})
#endif

/* The number of arguments, 1 to 32. */
#define FC_COUNT(...)                                                                                        \
  FC_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, \
            11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define FC_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, \
                  a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, n, ...)                        \
  n

/* Limits of an int or a float, inclusive. */
#define FC_INT_LIMITS(flags, low, high) FC_STATIC(fc_limits, sizeof(fc_limits), (flags), (low), (high), 0, 0)
#define FC_INT_BETWEEN(low, high)       FC_INT_LIMITS(FC_LIMIT_MIN | FC_LIMIT_MAX, low, high)
#define FC_INT_AT_LEAST(low)            FC_INT_LIMITS(FC_LIMIT_MIN, low, 0)
#define FC_INT_AT_MOST(high)            FC_INT_LIMITS(FC_LIMIT_MAX, 0, high)
#define FC_FLOAT_LIMITS(flags, low, high)                                                                    \
  FC_STATIC(fc_limits, sizeof(fc_limits), (flags), 0, 0, (low), (high))
#define FC_FLOAT_BETWEEN(low, high) FC_FLOAT_LIMITS(FC_LIMIT_MIN | FC_LIMIT_MAX, low, high)
#define FC_FLOAT_AT_LEAST(low)      FC_FLOAT_LIMITS(FC_LIMIT_MIN, low, 0)
#define FC_FLOAT_AT_MOST(high)      FC_FLOAT_LIMITS(FC_LIMIT_MAX, 0, high)

/* Choices of an enum: FC_CHOICES(FC_CHOICE(LOW, "low", "..."), FC_CHOICE(FC_REFUSED, "lo", "say low")). */
#define FC_CHOICE(value, name, doc) FC_STATIC(fc_choice, sizeof(fc_choice), (value), name, doc)
#define FC_CHOICES(...)             FC_STATIC_LIST(fc_choice, __VA_ARGS__, NULL)

/* Texts, such as examples and aliases. */
#define FC_TEXTS(...) FC_STATIC_LIST(char, __VA_ARGS__, NULL)

/* ---- descriptors: parameters, backends, operators, plugins ------------------- */

/*
 * Parameters: each FC_X_PARAM(flags, name, doc, ...) is the address of an fc_param. `unit`, `preset`,
 * `limits` may be NULL. FC_PARAM has all fields, in their order.
 */
#define FC_PARAM(type, flags, max_count, name, doc, unit, preset, limits, choices, aliases, deprecated)      \
  FC_STATIC(fc_param, sizeof(fc_param), type, flags, max_count, name, doc, unit, preset, limits, choices,    \
            aliases, deprecated)
#define FC_FLOAT_PARAM(flags, name, doc, unit, preset, limits)                                               \
  FC_PARAM(FC_FLOAT, flags, 0, name, doc, unit, preset, limits, NULL, NULL, NULL)
#define FC_INT_PARAM(flags, name, doc, unit, preset, limits)                                                 \
  FC_PARAM(FC_INT, flags, 0, name, doc, unit, preset, limits, NULL, NULL, NULL)
#define FC_ENUM_PARAM(flags, name, doc, preset, choices)                                                     \
  FC_PARAM(FC_ENUM, flags, 0, name, doc, NULL, preset, NULL, choices, NULL, NULL)
#define FC_BOOL_PARAM(flags, name, doc, preset)                                                              \
  FC_PARAM(FC_BOOL, flags, 0, name, doc, NULL, preset, NULL, NULL, NULL, NULL)
#define FC_STRING_PARAM(flags, name, doc, preset)                                                            \
  FC_PARAM(FC_STRING, flags, 0, name, doc, NULL, preset, NULL, NULL, NULL, NULL)
#define FC_TABLE_PARAM(flags, name, doc)                                                                     \
  FC_PARAM(FC_TABLE, flags, 0, name, doc, NULL, NULL, NULL, NULL, NULL, NULL)
#define FC_INPUT_PARAM(flags, name, doc)                                                                     \
  FC_PARAM(FC_INPUT, flags, 0, name, doc, NULL, NULL, NULL, NULL, NULL, NULL)
#define FC_PATH_PARAM(flags, name, doc)                                                                      \
  FC_PARAM(FC_PATH, flags, 0, name, doc, NULL, NULL, NULL, NULL, NULL, NULL)

/* The backends of an operator: FC_BACKENDS(FC_ON_CPU(...), FC_ON_CUDA(...)). */
#define FC_BACKEND(flags, kind, prepare, release, scratch, process)                                          \
  FC_STATIC(fc_backend, sizeof(fc_backend), flags, kind, 0, NULL, prepare, release, scratch, process)
#define FC_ON_CPU(prepare, release, scratch, process)                                                        \
  FC_BACKEND(0, FC_KIND_HOST, prepare, release, scratch, process)
#define FC_ON_CUDA(flags, prepare, release, scratch, process)                                                \
  FC_BACKEND(flags, FC_KIND_CUDA, prepare, release, scratch, process)
#define FC_BACKENDS(...) FC_STATIC_LIST(fc_backend, __VA_ARGS__, NULL)

/* Members of an fc_operator, for designated initialisers (C). */
#define FC_OPERATOR_PARAMS(...)                                                                              \
  .n_params = FC_COUNT(__VA_ARGS__), .params = FC_STATIC_LIST(fc_param, __VA_ARGS__)
#define FC_EVERY_SIGNAL .kinds = FC_KINDS_ALL, .dtypes_in = FC_DTYPES_ALL, .dtypes_out = FC_DTYPES_ALL
#define FC_SOUND_ONLY   .kinds = FC_KIND_BIT(FC_AUDIO), .dtypes_in = FC_DTYPES_ALL, .dtypes_out = FC_DTYPES_ALL
#define FC_PICTURES_ONLY                                                                                     \
  .kinds = FC_KIND_BIT(FC_IMAGE) | FC_KIND_BIT(FC_ARRAY), .dtypes_in = FC_DTYPES_ALL,                        \
  .dtypes_out = FC_DTYPES_ALL

/* The plugin's entry, with the addresses of its operators. */
#define FC_PLUGIN(id, version, author, license, url, ...)                                                    \
  FC_PLUGIN_EXPORT const fc_plugin *fc_plugin_entry_v1(void) {                                               \
    static const fc_operator *const operators[] = {__VA_ARGS__};                                             \
    static const fc_plugin plugin = {sizeof(fc_plugin),                                                      \
                                     FC_PLUGIN_ABI,                                                          \
                                     id,                                                                     \
                                     version,                                                                \
                                     author,                                                                 \
                                     license,                                                                \
                                     url,                                                                    \
                                     (uint32_t)(sizeof operators / sizeof operators[0]),                     \
                                     operators};                                                             \
    return &plugin;                                                                                          \
  }

/* ---- instances --------------------------------------------------------------- */

/* A `create` for operators that need nothing but their arguments: the instance is the argument array,
 * which lives as long. */
static inline fc_status fc_create_args(const fc_host *host, const fc_arg *const *args, void **self) {
  (void)host;
  *self = (void *)(uintptr_t)args;
  return FC_OK;
}

/* ---- random numbers ------------------------------------------------------------ */

/*
 * The key for the random numbers of a frame, made of seed, epoch, the input's name, stage and frame; for use
 * in process:
 *
 *     const uint64_t key = fc_random_key(host, job->out->origin[FC_AXIS_N] + n);
 *     const int flipped = fc_random_even(key, 0) < 0.5;
 *
 * With a host that does not have this extension the seed is 0 and inputs have no names.
 */
static inline uint64_t fc_random_key(const fc_host *host, int64_t frame) {
  const fc_random *r = (const fc_random *)host->extension(host, FC_RANDOM);
  const uint64_t of_input = r ? fc_random_mix(r->seed, r->epoch, r->name) : 0;
  return fc_random_mix(of_input, r ? r->stage : 0, (uint64_t)frame);
}

/* ---- samples ----------------------------------------------------------------- */

/* Whether a row of the view is X * C contiguous elements. */
static inline int fc_view_is_interleaved(const fc_view *v) {
  const int64_t size = (int64_t)fc_dtype_size(v->dtype);
  return (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] == size) &&
         v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size;
}

/* One channel of a view. */
static inline fc_view fc_view_channel(const fc_view *v, int64_t channel) {
  fc_view one = *v;
  one.data = fc_view_at(v, 0, 0, 0, channel);
  one.origin[FC_AXIS_C] += channel;
  one.shape[FC_AXIS_C] = 1;
  return one;
}

/* Values converted at a time: enough for long inner loops, few enough for the first-level cache. */
#define FC_ROW_VALUES 1024

typedef void (*fc_map_f32)(const void *state, float *values, int64_t count);
typedef void (*fc_map_f64)(const void *state, double *values, int64_t count);

/* At most FC_ROW_VALUES elements of a line, `in_step` and `out_step` bytes apart. */
static inline void fc_map_line_f32(const fc_host *host, const fc_job *job, const void *state, fc_map_f32 map,
                                   const char *in, int64_t in_step, char *out, int64_t out_step,
                                   int64_t count) {
  float values[FC_ROW_VALUES];
  host->rows->load_f32(values, in, in_step, count, job->in[0]->kind, job->in[0]->dtype);
  map(state, values, count);
  host->rows->store_f32(out, out_step, values, count, job->out->kind, job->out->dtype, job->notes);
}

static inline void fc_map_line_f64(const fc_host *host, const fc_job *job, const void *state, fc_map_f64 map,
                                   const char *in, int64_t in_step, char *out, int64_t out_step,
                                   int64_t count) {
  double values[FC_ROW_VALUES];
  host->rows->load_f64(values, in, in_step, count, job->in[0]->kind, job->in[0]->dtype);
  map(state, values, count);
  host->rows->store_f64(out, out_step, values, count, job->out->kind, job->out->dtype, job->notes);
}

/*
 * A `process` for operators that treat each sample independently: in the compute type of the job, for any
 * element types and strides. `f32` and `f64` transform `count` values in place.
 */
static inline fc_status fc_map_samples(const fc_host *host, const fc_job *job, const void *state,
                                       fc_map_f32 f32, fc_map_f64 f64) {
  const fc_view *in = job->in[0], *out = job->out;
  const int rows = fc_view_is_interleaved(in) && fc_view_is_interleaved(out); /* all channels at once */
  const int64_t channels = rows ? 1 : out->shape[FC_AXIS_C];
  const int64_t length = out->shape[FC_AXIS_X] * (rows ? out->shape[FC_AXIS_C] : 1);
  const int64_t in_step = rows ? (int64_t)fc_dtype_size(in->dtype) : in->stride[FC_AXIS_X];
  const int64_t out_step = rows ? (int64_t)fc_dtype_size(out->dtype) : out->stride[FC_AXIS_X];
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < channels; c++) {
        const char *from = (const char *)fc_view_at(in, n, y, 0, c);
        char *to = (char *)fc_view_at(out, n, y, 0, c);
        for (int64_t i = 0; i < length; i += FC_ROW_VALUES) {
          const int64_t count = length - i < FC_ROW_VALUES ? length - i : FC_ROW_VALUES;
          if (job->compute == FC_F64)
            fc_map_line_f64(host, job, state, f64, from + i * in_step, in_step, to + i * out_step, out_step,
                            count);
          else
            fc_map_line_f32(host, job, state, f32, from + i * in_step, in_step, to + i * out_step, out_step,
                            count);
        }
      }
  return FC_OK;
}

/*
 * Defines `process` for y = expression, a function of the sample x (float or double, the job's compute type)
 * and of `self`, the prepared state or instance, of the given pointer type:
 *
 *     FC_POINTWISE(process, const double *, factor, x, x * (fc_value)*factor)
 *
 * fc_value is the compute type: a double that is not cast to it makes the whole loop compute in double, at
 * half the speed. With -O3 -fno-trapping-math the compiler vectorises it.
 */
#if defined(__GNUC__)
#define FC_RESTRICT __restrict__ /* so that *self is read once, and the loop can be vectorised */
#else
#define FC_RESTRICT
#endif
#define FC_POINTWISE_LOOP(name, type, self, x, F, expression)                                                \
  static void name(const void *fc_state, F *FC_RESTRICT fc_values, int64_t fc_count) {                       \
    typedef F fc_value;                                                                                      \
    type self = (type)fc_state;                                                                              \
    (void)self;                                                                                              \
    for (int64_t fc_i = 0; fc_i < fc_count; fc_i++) {                                                        \
      const fc_value x = fc_values[fc_i];                                                                    \
      fc_values[fc_i] = (fc_value)(expression);                                                              \
    }                                                                                                        \
  }
#define FC_POINTWISE(process, type, self, x, expression)                                                     \
  FC_POINTWISE_LOOP(process##_f32, type, self, x, float, expression)                                         \
  FC_POINTWISE_LOOP(process##_f64, type, self, x, double, expression)                                        \
  static fc_status process(const fc_host *host, const void *state, const fc_job *job) {                      \
    return fc_map_samples(host, job, state, process##_f32, process##_f64);                                   \
  }

/* For `describe`: a struct of this name and text (device_function.h) that treats each sample independently
 * and whose members are `count` numbers of type `real`, at most FC_FUNCTION_BYTES / 8. */
static inline fc_status fc_describe_samples(const fc_setup *setup, fc_device_function *f, const char *entry,
                                            const char *source, const double *numbers, uint32_t count) {
  const uint32_t size = (uint32_t)fc_dtype_size(setup->compute);
  if (strlen(entry) >= FC_FUNCTION_ENTRY || count > FC_FUNCTION_BYTES / 8) return FC_FATAL;
  f->source = source;
  strcpy(f->entry, entry);
  f->n_bytes = count * size, f->align = size;
  for (uint32_t i = 0; i < count; i++)
    if (setup->compute == FC_F64)
      ((double *)f->bytes)[i] = numbers[i];
    else
      ((float *)f->bytes)[i] = (float)numbers[i];
  return FC_OK;
}

/* For `describe`: a window (FC_FUNCTION_WINDOW) of nx numbers along X and ny along Y; `y` NULL: of ny rows of
 * nx numbers in `x`. FC_UNSUPPORTED: not in f32, or more than FC_FUNCTION_BYTES. */
static inline fc_status fc_describe_window(const fc_setup *setup, fc_device_function *f, int64_t nx,
                                           int64_t ny, const double *x, const double *y) {
  const int64_t most = FC_FUNCTION_BYTES / (int64_t)sizeof(float);
  if (setup->compute != FC_F32 || nx < 1 || ny < 1 || nx > most || ny > most ||
      (y ? nx + ny : nx * ny) > most)
    return FC_UNSUPPORTED;
  const int64_t first = y ? nx : nx * ny, count = first + (y ? ny : 0);
  float *to = (float *)f->bytes;
  f->flags |= FC_FUNCTION_WINDOW;
  f->source = FC_FUNCTION_WINDOW_TEXT;
  snprintf(f->entry, FC_FUNCTION_ENTRY, "%s<%d,%d>", y ? "fc_separable" : "fc_dense", (int)nx, (int)ny);
  f->window_x = (uint32_t)nx, f->window_y = (uint32_t)ny;
  f->n_bytes = (uint32_t)count * (uint32_t)sizeof *to, f->align = sizeof *to;
  for (int64_t i = 0; i < count; i++) to[i] = (float)(i < first ? x[i] : y[i - first]);
  return FC_OK;
}

/* For `describe`: that the text is a function of neighbours in a window of nx columns and ny rows. */
static inline void fc_describe_around(fc_device_function *f, int64_t nx, int64_t ny) {
  f->flags |= FC_FUNCTION_WINDOW | FC_FUNCTION_AROUND;
  f->window_x = (uint32_t)nx, f->window_y = (uint32_t)ny;
}

/* For `negotiate`: of such a window, or of another one with device functions, what is read. */
static inline void fc_need_window(fc_need *need, int64_t nx, int64_t ny, int32_t border) {
  need->reach[FC_AXIS_X].before = nx / 2, need->reach[FC_AXIS_X].after = nx - 1 - nx / 2;
  need->reach[FC_AXIS_Y].before = ny / 2, need->reach[FC_AXIS_Y].after = ny - 1 - ny / 2;
  need->border = border;
}

/* Defines `extension`, the operator's field of that name, for an operator whose only extension is a device
 * function. */
#define FC_FUSIBLE(extension, describe) FC_FUSIBLE_BOUND(extension, describe, NULL)
#define FC_FUSIBLE_BOUND(extension, describe, bind)                                                          \
  static const void *extension(const fc_operator *op, const char *name) {                                    \
    static const fc_fusible fusible = {sizeof(fc_fusible), describe, bind};                                  \
    (void)op;                                                                                                \
    return strcmp(name, FC_DEVICE_FUNCTION) == 0 ? &fusible : NULL;                                          \
  }

/* With a device function and FC_LINEAR; `made` is an operator that is defined later in the file. For C. */
#define FC_FUSIBLE_LINEAR(extension, describe, bind, map, make, made)                                        \
  static const fc_operator made;                                                                             \
  static const void *extension(const fc_operator *op, const char *name) {                                    \
    static const fc_fusible fusible = {sizeof(fc_fusible), describe, bind};                                  \
    static const fc_linear linear = {sizeof(fc_linear), 0, map, make, &made};                                \
    (void)op;                                                                                                \
    if (strcmp(name, FC_LINEAR) == 0) return &linear;                                                        \
    return strcmp(name, FC_DEVICE_FUNCTION) == 0 ? &fusible : NULL;                                          \
  }

/* ---- one text for the CPU and for GPUs ------------------------------------------- */

#define FC_MACRO_UNPACK(...) __VA_ARGS__
#define FC_MACRO_TEXT(...)   FC_MACRO_TEXT_(__VA_ARGS__)
#define FC_MACRO_TEXT_(...)  #__VA_ARGS__

/* The numbers of an FC_SAMPLE_FUNCTION in float and in double. */
#define FC_SAMPLE_NUMBERS(name, members)                                                                     \
  struct name##_float {                                                                                      \
    float FC_MACRO_UNPACK members;                                                                           \
  };                                                                                                         \
  struct name##_double {                                                                                     \
    double FC_MACRO_UNPACK members;                                                                          \
  };

#define FC_SAMPLE_LOOP(loop, numbers, x, F, expression)                                                      \
  static void loop(const void *fc_state, F *FC_RESTRICT fc_values, int64_t fc_count) {                       \
    typedef F real;                                                                                          \
    const struct numbers *self = (const struct numbers *)fc_state;                                           \
    (void)self;                                                                                              \
    for (int64_t fc_i = 0; fc_i < fc_count; fc_i++) {                                                        \
      const real x = fc_values[fc_i];                                                                        \
      fc_values[fc_i] = (real)(expression);                                                                  \
    }                                                                                                        \
  }

/* NAME_prepare and NAME_release for the numbers that NAME_numbers fills in. */
#define FC_FUNCTION_PREPARE(name)                                                                            \
  enum { name##_count = (int)(sizeof(struct name##_double) / sizeof(double)) };                              \
  static fc_status name##_prepare(const fc_host *fc_h, void *fc_self, const fc_setup *setup, void **state) { \
    double numbers[name##_count] = {0};                                                                      \
    void *made = fc_h->alloc(fc_h, FC_HOST, sizeof numbers);                                                 \
    fc_status status = made ? name##_numbers(fc_h, fc_self, setup, numbers)                                  \
                            : fc_h->fail(fc_h, FC_NO_MEMORY, "out of memory");                               \
    for (int i = 0; status == FC_OK && i < name##_count; i++)                                                \
      if (setup->compute == FC_F64)                                                                          \
        ((double *)made)[i] = numbers[i];                                                                    \
      else                                                                                                   \
        ((float *)made)[i] = (float)numbers[i];                                                              \
    if (status != FC_OK)                                                                                     \
      fc_h->free(fc_h, FC_HOST, made);                                                                       \
    else                                                                                                     \
      *state = made;                                                                                         \
    return status;                                                                                           \
  }                                                                                                          \
  static void name##_release(const fc_host *fc_h, void *state) {                                             \
    fc_h->free(fc_h, FC_HOST, state);                                                                        \
  }

/* NAME_extension: a struct with these members, whose operator() has these parameters and this body; `more`
 * says what else there is to f. */
#define FC_FUNCTION_DESCRIBE(name, members, parameters, more, ...)                                           \
  static fc_status name##_describe(const fc_host *fc_h, void *fc_self, const fc_setup *setup,                \
                                   fc_device_function *f) {                                                  \
    static const char text[] = "struct " #name " {\n  real " FC_MACRO_TEXT(                                  \
        FC_MACRO_UNPACK                                                                                      \
            members) ";\n"                                                                                   \
                     "  FC_DEVICE real operator()" FC_MACRO_TEXT(                                            \
                         parameters) " const {\n"                                                            \
                                     "    const auto *self = this;\n    (void)self;\n    " FC_MACRO_TEXT(    \
                                         __VA_ARGS__) "\n  }\n};\n";                                         \
    double numbers[name##_count] = {0};                                                                      \
    const fc_status status = name##_numbers(fc_h, fc_self, setup, numbers);                                  \
    more;                                                                                                    \
    return status == FC_OK ? fc_describe_samples(setup, f, #name, text, numbers, name##_count) : status;     \
  }                                                                                                          \
  FC_FUSIBLE(name##_extension, name##_describe)

/*
 * A function of each sample, written once: y = expression, of the sample x and of numbers, which are
 * self->member. Defines what an operator needs - NAME_prepare, NAME_release, NAME_process, NAME_extension -
 * from one text: the CPU's loops, and the device function that the host composes into kernels. A GPU needs
 * nothing else; for machines without NVRTC, FC_DEV_SAMPLE_FUNCTION of fc_helpers.cuh makes a CUDA backend
 * from the same text.
 *
 *     static fc_status solarize_numbers(const fc_host *host, void *self, const fc_setup *setup, double
 * *numbers) { numbers[0] = ((const fc_arg *const *)self)[0]->floats[0]; return FC_OK;
 *     }
 *     FC_SAMPLE_FUNCTION(solarize, (level), x, x > self->level ? 2 * self->level - x : x)
 *
 * `real` is the compute type: write constants as ((real)0.5), or the CPU computes in double. Sums, products,
 * quotients, comparisons and ?: give the same bits on every device, provided that the compiler does not
 * contract (-ffp-contract=off); functions of libm do not.
 */
#define FC_SAMPLE_FUNCTION(name, members, x, ...)                                                            \
  FC_SAMPLE_NUMBERS(name, members)                                                                           \
  FC_SAMPLE_LOOP(name##_f32, name##_float, x, float, (__VA_ARGS__))                                          \
  FC_SAMPLE_LOOP(name##_f64, name##_double, x, double, (__VA_ARGS__))                                        \
  FC_FUNCTION_PREPARE(name)                                                                                  \
  static fc_status name##_process(const fc_host *fc_h, const void *state, const fc_job *job) {               \
    return fc_map_samples(fc_h, job, state, name##_f32, name##_f64);                                         \
  }                                                                                                          \
  FC_FUNCTION_DESCRIBE(name, members, (real x), (void)0, return (__VA_ARGS__);)

typedef void (*fc_position_f32)(const void *state, float *values, int64_t count, const fc_position *first);
typedef void (*fc_position_f64)(const void *state, double *values, int64_t count, const fc_position *first);

/* fc_map_samples for functions that use the positions of their samples: `first` is the first one's
 * position, the others follow along X. */
static inline fc_status fc_map_positions(const fc_host *host, const fc_job *job, const void *state,
                                         fc_position_f32 f32, fc_position_f64 f64) {
  const fc_view *in = job->in[0], *out = job->out;
  union {
    float f32[FC_ROW_VALUES];
    double f64[FC_ROW_VALUES];
  } v;
  const int64_t in_step = in->stride[FC_AXIS_X], out_step = out->stride[FC_AXIS_X];
  const int64_t *shape = out->shape, *origin = out->origin;
  for (int64_t n = 0; n < shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < shape[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < shape[FC_AXIS_C]; c++)
        for (int64_t x = 0; x < shape[FC_AXIS_X]; x += FC_ROW_VALUES) {
          const int64_t left = shape[FC_AXIS_X] - x, count = left < FC_ROW_VALUES ? left : FC_ROW_VALUES;
          const fc_position at = {origin[FC_AXIS_X] + x, origin[FC_AXIS_Y] + y, origin[FC_AXIS_C] + c,
                                  out->extent[FC_AXIS_X], out->extent[FC_AXIS_Y]};
          const void *from = fc_view_at(in, n, y, x, c);
          void *to = fc_view_at(out, n, y, x, c);
          if (job->compute == FC_F64) {
            host->rows->load_f64(v.f64, from, in_step, count, in->kind, in->dtype);
            f64(state, v.f64, count, &at);
            host->rows->store_f64(to, out_step, v.f64, count, out->kind, out->dtype, job->notes);
          } else {
            host->rows->load_f32(v.f32, from, in_step, count, in->kind, in->dtype);
            f32(state, v.f32, count, &at);
            host->rows->store_f32(to, out_step, v.f32, count, out->kind, out->dtype, job->notes);
          }
        }
  return FC_OK;
}

#define FC_POSITION_LOOP(loop, numbers, sample, position, F, expression)                                     \
  static void loop(const void *fc_state, F *FC_RESTRICT fc_values, int64_t fc_count,                         \
                   const fc_position *fc_first) {                                                            \
    typedef F real;                                                                                          \
    const struct numbers *self = (const struct numbers *)fc_state;                                           \
    fc_position position = *fc_first;                                                                        \
    (void)self;                                                                                              \
    for (int64_t fc_i = 0; fc_i < fc_count; fc_i++, position.x++) {                                          \
      const real sample = fc_values[fc_i];                                                                   \
      fc_values[fc_i] = (real)(expression);                                                                  \
    }                                                                                                        \
  }

/*
 * The same for functions of the sample's position: `at` is an fc_position (device_function.h), whose numbers
 * are integers: (real)at.x. A vignette or a ramp is thus one expression, on the CPU and fused on a GPU.
 *
 *     FC_POSITION_FUNCTION(ramp, (slope), v, at, v * (self->slope * (real)at.x))
 */
#define FC_POSITION_FUNCTION(name, members, sample, position, ...)                                           \
  FC_SAMPLE_NUMBERS(name, members)                                                                           \
  FC_POSITION_LOOP(name##_f32, name##_float, sample, position, float, (__VA_ARGS__))                         \
  FC_POSITION_LOOP(name##_f64, name##_double, sample, position, double, (__VA_ARGS__))                       \
  FC_FUNCTION_PREPARE(name)                                                                                  \
  static fc_status name##_process(const fc_host *fc_h, const void *state, const fc_job *job) {               \
    return fc_map_positions(fc_h, job, state, name##_f32, name##_f64);                                       \
  }                                                                                                          \
  FC_FUNCTION_DESCRIBE(name, members, (real sample, const fc_position &position),                            \
                       f->flags |= FC_FUNCTION_POSITION, return (__VA_ARGS__);)

/* What a function of neighbours is given: the sample, and elements from one neighbour to the next. */
typedef struct fc_around_f32 {
  const float *middle;
  int64_t column, row;
} fc_around_f32;
typedef struct fc_around_f64 {
  const double *middle;
  int64_t column, row;
} fc_around_f64;

/* Outputs of `count` samples side by side, of which `first` is the first one's. */
typedef void (*fc_neighbours_f32)(const void *state, const fc_around_f32 *first, float *made, int64_t count);
typedef void (*fc_neighbours_f64)(const void *state, const fc_around_f64 *first, double *made, int64_t count);

/* Samples in the first-level cache at a time, and rows of outputs made of them. */
#define FC_AROUND_BYTES 32768
#define FC_AROUND_ROWS  8

/* A stretch of so many pixels of all rows of an image, from column x of channel c on: of that channel, or
 * `step` channels side by side. Of rows that are seen again the samples stay. */
#define FC_AROUND_STRETCH(name, F, type, apply, load, store)                                                 \
  static inline void name(const fc_host *host, const fc_job *job, const void *state, int64_t nx, int64_t ny, \
                          apply f, int64_t step, int64_t n, int64_t x, int64_t c, int64_t pixels) {          \
    const fc_view *in = job->in[0], *out = job->out;                                                         \
    F samples[FC_AROUND_BYTES / sizeof(F)], made[FC_ROW_VALUES];                                             \
    const int64_t seen = (pixels + nx - 1) * step, height = out->shape[FC_AXIS_Y];                           \
    const int64_t in_step = step > 1 ? in->stride[FC_AXIS_C] : in->stride[FC_AXIS_X],                        \
                  out_step = step > 1 ? out->stride[FC_AXIS_C] : out->stride[FC_AXIS_X];                     \
    for (int64_t y = 0, rows; y < height; y += rows) {                                                       \
      const int64_t kept = y > 0 ? ny - 1 : 0;                                                               \
      if (kept > 0) memmove(samples, samples + FC_AROUND_ROWS * seen, (size_t)(kept * seen) * sizeof(F));    \
      rows = height - y < FC_AROUND_ROWS ? height - y : FC_AROUND_ROWS;                                      \
      for (int64_t r = kept; r < rows + ny - 1; r++)                                                         \
        host->rows->load(samples + r * seen, fc_view_at(in, n, y + r - ny / 2, x - nx / 2, c), in_step,      \
                         seen, in->kind, in->dtype);                                                         \
      for (int64_t r = 0; r < rows; r++) {                                                                   \
        const type first = {samples + (r + ny / 2) * seen + nx / 2 * step, step, seen};                      \
        f(state, &first, made, pixels *step);                                                                \
        host->rows->store(fc_view_at(out, n, y + r, x, c), out_step, made, pixels *step, out->kind,          \
                          out->dtype, job->notes);                                                           \
      }                                                                                                      \
    }                                                                                                        \
  }
FC_AROUND_STRETCH(fc_around_stretch_f32, float, fc_around_f32, fc_neighbours_f32, load_f32, store_f32)
FC_AROUND_STRETCH(fc_around_stretch_f64, double, fc_around_f64, fc_neighbours_f64, load_f64, store_f64)

/* fc_map_samples for functions of the neighbours in a window of nx columns and ny rows, up to
 * FC_FUNCTION_AROUND_MOST of either. */
static inline fc_status fc_map_around(const fc_host *host, const fc_job *job, const void *state, int64_t nx,
                                      int64_t ny, fc_neighbours_f32 f32, fc_neighbours_f64 f64) {
  const int64_t *shape = job->out->shape, all = shape[FC_AXIS_C];
  const int64_t rows = (shape[FC_AXIS_Y] < FC_AROUND_ROWS ? shape[FC_AXIS_Y] : FC_AROUND_ROWS) + ny - 1,
                room = FC_AROUND_BYTES / (job->compute == FC_F64 ? 8 : 4) / (rows > 0 ? rows : 1);
  int64_t step = fc_view_is_interleaved(job->in[0]) && fc_view_is_interleaved(job->out) ? all : 1;
  if (nx < 1 || ny < 1 || nx > FC_FUNCTION_AROUND_MOST || ny > FC_FUNCTION_AROUND_MOST) return FC_FATAL;
  /* Few pixels besides those that are only seen, or not one that fits. */
  if (step < 1 || step > FC_ROW_VALUES || room / step < 2 * nx) step = 1;
  int64_t most = room / step - (nx - 1);
  if (most > FC_ROW_VALUES / step) most = FC_ROW_VALUES / step;
  for (int64_t n = 0; n < shape[FC_AXIS_N]; n++)
    for (int64_t c = 0; c < all; c += step)
      for (int64_t x = 0, left; (left = shape[FC_AXIS_X] - x) > 0; x += most) {
        const int64_t pixels = left < most ? left : most;
        if (job->compute == FC_F64)
          fc_around_stretch_f64(host, job, state, nx, ny, f64, step, n, x, c, pixels);
        else
          fc_around_stretch_f32(host, job, state, nx, ny, f32, step, n, x, c, pixels);
      }
  return FC_OK;
}

#define FC_AROUND_LOOP(loop, numbers, type, F, ...)                                                          \
  static inline F loop##_one(const struct numbers *self, const type fc_at) {                                 \
    typedef F real;                                                                                          \
    (void)self, (void)sizeof(real);                                                                          \
    __VA_ARGS__                                                                                              \
  }                                                                                                          \
  static void loop(const void *fc_state, const type *fc_first, F *FC_RESTRICT fc_made, int64_t fc_count) {   \
    const type fc_at = *fc_first;                                                                            \
    for (int64_t fc_i = 0; fc_i < fc_count; fc_i++) {                                                        \
      const type fc_this = {fc_at.middle + fc_i, fc_at.column, fc_at.row};                                   \
      fc_made[fc_i] = loop##_one((const struct numbers *)fc_state, fc_this);                                 \
    }                                                                                                        \
  }

/*
 * The same for functions of a sample's neighbours, in a window of nx columns and ny rows around it
 * (constants): statements that return the result, in which FC_AT(dx, dy) is the neighbour dx columns to the
 * right and dy rows below. Integers and loops are allowed, and constants that are macros; the text knows no
 * other names of the file.
 *
 *     FC_AROUND_FUNCTION(ridge, 3, 3, (factor), {
 *       real most = FC_AT(0, 0);
 *       for (int dy = -1; dy <= 1; dy++)
 *         for (int dx = -1; dx <= 1; dx++) most = FC_AT(dx, dy) > most ? FC_AT(dx, dy) : most;
 *       return (most - FC_AT(0, 0)) * self->factor;
 *     })
 *
 * negotiate asks for that window: fc_need_window(terms->needs[0], 3, 3, FC_BORDER_REPLICATE).
 */
#define FC_AT(dx, dy) fc_at.middle[(dy)*fc_at.row + (dx)*fc_at.column]
#define FC_AROUND_FUNCTION(name, nx, ny, members, ...)                                                       \
  FC_SAMPLE_NUMBERS(name, members)                                                                           \
  FC_AROUND_LOOP(name##_f32, name##_float, fc_around_f32, float, __VA_ARGS__)                                \
  FC_AROUND_LOOP(name##_f64, name##_double, fc_around_f64, double, __VA_ARGS__)                              \
  FC_FUNCTION_PREPARE(name)                                                                                  \
  static fc_status name##_process(const fc_host *fc_h, const void *state, const fc_job *job) {               \
    return fc_map_around(fc_h, job, state, nx, ny, name##_f32, name##_f64);                                  \
  }                                                                                                          \
  FC_FUNCTION_DESCRIBE(name, members, (const fc_around &fc_at), fc_describe_around(f, nx, ny), __VA_ARGS__)

#endif

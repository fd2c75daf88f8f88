/* SPDX-License-Identifier: MIT */
/*
 * plugin_frozen.h - the contract's headers as they were when version 1 was frozen for the guard (compat.py),
 * without their comments: view.h, edges.h, rows.h, device_function.h and plugin.h in one. Not to be edited:
 * plugins built against it must go on loading. Until 1.0 a change of the contract that is meant replaces it,
 * and says so in CHANGELOG.md.
 */
#ifndef FC_VIEW_H
#define FC_VIEW_H
#include <stddef.h>
#include <stdint.h>
#if defined(__CUDACC__)
#define FC_VIEW_INLINE static inline __host__ __device__
#else
#define FC_VIEW_INLINE static inline
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef enum fc_status {
  FC_OK = 0,
  FC_UNSUPPORTED = 1,
  FC_INVALID = 2,
  FC_NO_MEMORY = 3,
  FC_DEVICE = 4,
  FC_IO = 5,
  FC_FATAL = 6
} fc_status;
typedef enum fc_dtype {
  FC_U8 = 0,
  FC_I16 = 1,
  FC_U16 = 2,
  FC_I32 = 3,
  FC_F32 = 4,
  FC_F64 = 5,
  FC_DTYPE_COUNT = 6
} fc_dtype;
#define FC_DTYPE_BIT(dtype) (1u << (unsigned)(dtype))
#define FC_DTYPES_ALL       ((1u << FC_DTYPE_COUNT) - 1u)
#define FC_DTYPES_FLOAT     (FC_DTYPE_BIT(FC_F32) | FC_DTYPE_BIT(FC_F64))
typedef enum fc_axis {
  FC_AXIS_N = 0,
  FC_AXIS_Y = 1,
  FC_AXIS_X = 2,
  FC_AXIS_T = 2,
  FC_AXIS_C = 3,
  FC_AXES = 4
} fc_axis;
typedef enum fc_kind { FC_AUDIO = 0, FC_IMAGE = 1, FC_ARRAY = 2, FC_KIND_COUNT = 3 } fc_kind;
#define FC_KIND_BIT(kind) (1u << (unsigned)(kind))
#define FC_KINDS_ALL      ((1u << FC_KIND_COUNT) - 1u)
typedef enum fc_device_kind { FC_KIND_HOST = 0, FC_KIND_CUDA = 1 } fc_device_kind;
#define FC_HOST                 0
#define FC_CUDA_DEVICE(ordinal) ((int32_t)((FC_KIND_CUDA << 16) | (ordinal)))
FC_VIEW_INLINE int fc_device_kind_of(int32_t device) {
  return (int)((uint32_t)device >> 16);
}
FC_VIEW_INLINE int fc_device_ordinal(int32_t device) {
  return device & 0xffff;
}
#define FC_UNKNOWN (-1)
typedef struct fc_view {
  uint32_t size;
  int32_t dtype;
  int32_t kind;
  int32_t device;
  void *data;
  int64_t shape[FC_AXES];
  int64_t stride[FC_AXES];
  int64_t origin[FC_AXES];
  int64_t extent[FC_AXES];
} fc_view;
FC_VIEW_INLINE size_t fc_dtype_size(int dtype) {
  switch (dtype) {
  case FC_U8: return 1;
  case FC_I16:
  case FC_U16: return 2;
  case FC_I32:
  case FC_F32: return 4;
  case FC_F64: return 8;
  default: return 0;
  }
}
static inline const char *fc_dtype_name(int dtype) {
  switch (dtype) {
  case FC_U8: return "u8";
  case FC_I16: return "i16";
  case FC_U16: return "u16";
  case FC_I32: return "i32";
  case FC_F32: return "f32";
  case FC_F64: return "f64";
  default: return "?";
  }
}
FC_VIEW_INLINE int fc_dtype_is_float(int dtype) {
  return dtype == FC_F32 || dtype == FC_F64;
}
typedef struct fc_scaling {
  double scale, bias;
} fc_scaling;
FC_VIEW_INLINE fc_scaling fc_scaling_of(int kind, int dtype) {
  fc_scaling s = {1.0, 0.0};
  if (kind != FC_AUDIO) return s;
  switch (dtype) {
  case FC_U8: s.scale = 1.0 / 128.0, s.bias = 128.0; break;
  case FC_I16: s.scale = 1.0 / 32768.0; break;
  case FC_U16: s.scale = 1.0 / 32768.0, s.bias = 32768.0; break;
  case FC_I32: s.scale = 1.0 / 2147483648.0; break;
  default: break;
  }
  return s;
}
FC_VIEW_INLINE void *fc_view_at(const fc_view *v, int64_t n, int64_t y, int64_t x, int64_t c) {
  return (char *)v->data + n * v->stride[FC_AXIS_N] + y * v->stride[FC_AXIS_Y] + x * v->stride[FC_AXIS_X] +
         c * v->stride[FC_AXIS_C];
}
FC_VIEW_INLINE int64_t fc_view_count(const fc_view *v) {
  return v->shape[0] * v->shape[1] * v->shape[2] * v->shape[3];
}
#ifdef __cplusplus
}
#endif
#endif
#ifndef FC_EDGES_H
#define FC_EDGES_H
#include <stdint.h>
typedef enum fc_border {
  FC_BORDER_ZERO = 0,
  FC_BORDER_CONSTANT = 1,
  FC_BORDER_REPLICATE = 2,
  FC_BORDER_REFLECT = 3,
  FC_BORDER_REFLECT101 = 4,
  FC_BORDER_WRAP = 5,
  FC_BORDER_NONE = 6,
  FC_BORDER_UNSET = 7
} fc_border;
typedef struct fc_edges {
  uint32_t size;
  int32_t border;
  uint64_t code;
} fc_edges;
#endif
#ifndef FC_ROWS_H
#define FC_ROWS_H
#include <stdint.h>
typedef struct fc_rows {
  uint32_t size;
  void (*load_f32)(float *to, const void *from, int64_t stride, int64_t count, int kind, int dtype);
  void (*load_f64)(double *to, const void *from, int64_t stride, int64_t count, int kind, int dtype);
  void (*store_f32)(void *to, int64_t stride, const float *from, int64_t count, int kind, int dtype,
                    uint32_t *notes);
  void (*store_f64)(void *to, int64_t stride, const double *from, int64_t count, int kind, int dtype,
                    uint32_t *notes);
} fc_rows;
#endif
#ifndef FC_DEVICE_FUNCTION_H
#define FC_DEVICE_FUNCTION_H
#include <stdint.h>
#define FC_FUNCTION_SELECTS     1u
#define FC_FUNCTION_WINDOW      2u
#define FC_FUNCTION_WINDOW_TEXT "using ::fc_separable;\nusing ::fc_dense;\n"
#define FC_FUNCTION_ALONE       4u
#define FC_FUNCTION_ENTRY       64
#define FC_FUNCTION_BYTES       2048
typedef struct fc_device_function {
  uint32_t size;
  uint32_t flags;
  const char *source;
  char *entry;
  uint32_t in, out;
  void *bytes;
  uint32_t n_bytes, align;
  double low, high;
  double growth, offset;
  uint32_t window_x, window_y;
} fc_device_function;
#endif
#ifndef FC_PLUGIN_H
#define FC_PLUGIN_H
#ifdef __cplusplus
extern "C" {
#endif
#define FC_PLUGIN_ABI        1
#define FC_PLUGIN_ENTRY      fc_plugin_entry_v1
#define FC_PLUGIN_ENTRY_NAME "fc_plugin_entry_v1"
#if defined(_WIN32)
#define FC_PLUGIN_EXPORT __declspec(dllexport)
#else
#define FC_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif
#if defined(__GNUC__)
#define FC_PRINTF(at, first) __attribute__((__format__(__printf__, at, first)))
#else
#define FC_PRINTF(at, first)
#endif
#define FC_HAS(ptr, field)                                                                                   \
  ((size_t)(ptr)->size >= (size_t)((const char *)&(ptr)->field - (const char *)(ptr)) + sizeof((ptr)->field))
#define FC_FLAG_IGNORABLE 0xffff0000u
typedef struct fc_measurement {
  uint32_t size;
  int32_t channel;
  const char *name;
  const char *unit;
  double value;
  const char *exact;
} fc_measurement;
typedef enum fc_level {
  FC_LEVEL_ERROR = 0,
  FC_LEVEL_WARNING = 1,
  FC_LEVEL_INFO = 2,
  FC_LEVEL_DEBUG = 3
} fc_level;
typedef struct fc_host fc_host;
struct fc_host {
  uint32_t size;
  uint32_t abi;
  void *ctx;
  fc_status (*fail)(const fc_host *host, fc_status status, const char *format, ...) FC_PRINTF(3, 4);
  void *(*alloc)(const fc_host *host, int32_t device, size_t bytes);
  void (*free)(const fc_host *host, int32_t device, void *memory);
  fc_status (*upload)(const fc_host *host, int32_t device, void *to, const void *from, size_t bytes);
  void (*measured)(const fc_host *host, const fc_measurement *value);
  const void *(*extension)(const fc_host *host, const char *name);
  void (*log)(const fc_host *host, int level, const char *format, ...) FC_PRINTF(3, 4);
  void (*remark)(const fc_host *host, const char *format, ...) FC_PRINTF(2, 3);
  int (*cancelled)(const fc_host *host);
  const fc_rows *rows;
};
typedef enum fc_param_type {
  FC_BOOL = 0,
  FC_INT = 1,
  FC_FLOAT = 2,
  FC_ENUM = 3,
  FC_STRING = 4,
  FC_TABLE = 5,
  FC_INPUT = 6,
  FC_PATH = 7
} fc_param_type;
#define FC_PARAM_MAIN     1u
#define FC_PARAM_REQUIRED 2u
#define FC_PARAM_LIST     4u
#define FC_PARAM_DECIBEL  8u
#define FC_PARAM_MASK     16u
#define FC_REFUSED        INT32_MIN
typedef struct fc_choice {
  uint32_t size;
  int32_t value;
  const char *name;
  const char *doc;
} fc_choice;
#define FC_LIMIT_MIN 1u
#define FC_LIMIT_MAX 2u
typedef struct fc_limits {
  uint32_t size;
  uint32_t flags;
  int64_t int_min, int_max;
  double min, max;
} fc_limits;
typedef struct fc_param {
  uint32_t size;
  int32_t type;
  uint32_t flags;
  uint32_t max_count;
  const char *name;
  const char *doc;
  const char *unit;
  const char *preset;
  const fc_limits *limits;
  const fc_choice *const *choices;
  const char *const *aliases;
  const char *deprecated;
} fc_param;
typedef struct fc_table {
  uint32_t size;
  const char *name;
  int64_t rows, cols;
  const double *data;
  double rate;
} fc_table;
typedef struct fc_arg {
  uint32_t size;
  int32_t given;
  int64_t count;
  const int64_t *ints;
  const double *floats;
  const char *text;
  const fc_table *table;
  uint32_t input;
} fc_arg;
typedef enum fc_layout { FC_INTERLEAVED = 0, FC_PLANAR = 1 } fc_layout;
typedef enum fc_color {
  FC_COLOR_UNKNOWN = 0,
  FC_COLOR_GRAY = 1,
  FC_COLOR_SRGB = 2,
  FC_COLOR_LINEAR_RGB = 3,
  FC_COLOR_YCBCR = 4,
  FC_COLOR_HSV = 5,
  FC_COLOR_LAB = 6,
  FC_COLOR_CMYK = 7,
  FC_COLOR_LINEAR_GRAY = 8
} fc_color;
typedef enum fc_alpha {
  FC_ALPHA_UNKNOWN = 0,
  FC_ALPHA_NONE = 1,
  FC_ALPHA_STRAIGHT = 2,
  FC_ALPHA_PREMULTIPLIED = 3
} fc_alpha;
typedef struct fc_format {
  uint32_t size;
  int32_t kind;
  int32_t dtype;
  int32_t bits;
  int32_t layout;
  int32_t stored;
  int64_t extent[FC_AXES];
  double rate;
  int32_t color;
  int32_t alpha;
  uint64_t channels;
  int64_t time_num, time_den;
} fc_format;
#define FC_WHOLE      INT64_MAX
#define FC_REACH_MOST ((int64_t)1 << 40)
typedef struct fc_reach {
  int64_t before, after;
  int64_t num, den;
  int64_t align;
} fc_reach;
typedef struct fc_need {
  uint32_t size;
  int32_t border;
  double border_value;
  fc_reach reach[FC_AXES];
} fc_need;
typedef struct fc_terms {
  uint32_t size;
  int32_t compute;
  uint32_t n_in;
  uint32_t any_size;
  const fc_format *const *in;
  fc_format *out;
  fc_need *const *needs;
  uint64_t measure_bytes;
  uint64_t carry_bytes;
  double work;
  double error_gain;
} fc_terms;
typedef struct fc_setup {
  uint32_t size;
  int32_t device;
  int32_t compute;
  uint32_t n_in;
  const fc_format *const *in;
  const fc_format *out;
} fc_setup;
#define FC_NOTE_NAN     0
#define FC_NOTE_CLIPPED 1
#define FC_NOTES        2
typedef struct fc_job {
  uint32_t size;
  int32_t compute;
  uint32_t n_in;
  uint32_t reserved;
  const fc_view *const *in;
  const fc_view *out;
  void *stream;
  void *scratch;
  size_t scratch_bytes;
  void *measure;
  int64_t measure_stride;
  void *carry;
  uint32_t *notes;
  const fc_edges *edges;
} fc_job;
typedef struct fc_backend {
  uint32_t size;
  uint32_t flags;
  uint32_t device_kind;
  uint32_t reserved;
  fc_status (*probe)(const fc_host *host, int32_t device);
  fc_status (*prepare)(const fc_host *host, void *self, const fc_setup *setup, void **state);
  void (*release)(const fc_host *host, void *state);
  size_t (*scratch)(const void *state, const fc_job *job);
  fc_status (*process)(const fc_host *host, const void *state, const fc_job *job);
} fc_backend;
#define FC_BACKEND_GRAPH    1u
#define FC_BACKEND_EDGES    2u
#define FC_BACKEND_SHAPED   4u
#define FC_OP_KEEPS_DTYPE   1u
#define FC_OP_PASSTHROUGH   2u
#define FC_OP_NOISE         4u
#define FC_OP_KEEPS_MEANING 8u
#define FC_OP_GENERATOR     16u
typedef struct fc_operator fc_operator;
struct fc_operator {
  uint32_t size;
  uint32_t flags;
  const char *name;
  const char *summary;
  const char *doc;
  const char *const *examples;
  uint32_t n_params;
  uint32_t kinds;
  uint32_t dtypes_in;
  uint32_t dtypes_out;
  const fc_param *const *params;
  fc_status (*create)(const fc_host *host, const fc_arg *const *args, void **self);
  void (*destroy)(void *self);
  fc_status (*negotiate)(const fc_host *host, void *self, fc_terms *terms);
  const fc_backend *const *backends;
  void (*reset)(void *self);
  fc_status (*collect)(const fc_host *host, void *self, const void *blocks, int64_t count);
  fc_status (*report)(const fc_host *host, void *self);
  const fc_backend *reference;
  const void *(*extension)(const fc_operator *op, const char *name);
};
static inline const fc_backend *fc_backend_for(const fc_operator *op, int device_kind) {
  const fc_backend *const *b = op->backends;
  for (; b && *b; b++)
    if ((*b)->device_kind == (uint32_t)device_kind) return *b;
  return NULL;
}
typedef struct fc_plugin {
  uint32_t size;
  uint32_t abi;
  const char *id;
  const char *version, *author, *license, *url;
  uint32_t n_operators;
  const fc_operator *const *operators;
} fc_plugin;
#define FC_DEVICE_FUNCTION "device-function/1"
typedef struct fc_fusible {
  uint32_t size;
  fc_status (*describe)(const fc_host *host, void *self, const fc_setup *setup, fc_device_function *function);
} fc_fusible;
FC_PLUGIN_EXPORT const fc_plugin *fc_plugin_entry_v1(void);
typedef const fc_plugin *(*fc_plugin_entry_fn)(void);
#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/*
 * plugin.h - the contract between filterchain and an operator plugin. Version 1 (0.x: still open).
 *
 * This and the headers it includes are all an author needs: C11 or C++17, no GLib, no CUDA type, no library.
 * fc_helpers.h and fc_helpers.cuh shorten the code of a typical operator. A plugin is a shared object that
 * exports one symbol, fc_plugin_entry_v1, which returns constant data describing one or more operators.
 *
 * Words in capitals are binding, for plugins and for hosts.
 *
 *   entry      MUST return static constant data; MUST NOT do I/O, print, touch a
 *              device, start a thread or keep anything. It may be called in a
 *              short-lived scanner process.
 *   create     checks the arguments against each other and makes an instance.
 *              Host thread; no device. A chain may be instantiated several times, with
 *              the same arguments, for several threads.
 *   negotiate  from the input formats, the output format and what the operator
 *              must see of each input. Any host thread, one at a time for an instance; no device; MAY be
 *              called several times, with other formats, and MUST give the same answer to the same
 *              question. A stream whose end is not known is asked about with FC_UNKNOWN first and again
 *              once the end has come: needs MUST NOT have grown by then, nor element type or border
 *              changed. An output element is made as soon as the inputs that it needs have come, so by then
 *              it MUST be there: an output that ends sooner needs as much more (`after`).
 *   prepare    once for a device, element types, channels, layout and parameters - not once for a
 *              size: turns parameters into what process needs.
 *   process    for every piece of output. MUST be a pure function of its views, the prepared state
 *              and, if the operator declared some, its carried state; MUST be re-entrant, for the host cuts
 *              the output into pieces as it likes and runs them on several threads (with carried state:
 *              in order, one at a time); MUST NOT synchronise, allocate, print or exit. On a device it
 *              enqueues on the stream and returns.
 *   release, destroy   undo prepare and create; both take NULL.
 *
 * The host makes the borders: an input view is readable `before` elements ahead of its first element and
 * `after` beyond its last on every axis, as asked for in negotiate, and those elements are real neighbours or
 * the border the operator chose. So no operator branches on a border, unless it says that it is quicker so
 * (FC_BACKEND_EDGES): making one costs a copy of the input, or of its margins.
 *
 * Compatibility. Every struct starts with its size as its writer knew it; a reader takes fields beyond that
 * size as zero (FC_HAS asks). New fields are added at the end only. Whoever makes a struct is the only one to
 * write its size or to copy it whole: what the host hands out is changed field by field. Arrays are arrays of
 * pointers, so that their elements may grow. What later versions add in kind is reached by name, through
 * host->extension and operator->extension.
 *
 * Flags. The lower half of every flag word must be understood: an unknown bit there makes the host refuse the
 * operator (that one, not its plugin). The upper half (FC_FLAG_IGNORABLE) may be ignored by a host that does
 * not know it.
 */
#ifndef FC_PLUGIN_H
#define FC_PLUGIN_H

#include "device_function.h"
#include "edges.h"
#include "rows.h"
#include "view.h"

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

/* Whether the writer of the struct that `ptr` points to knew this field. */
#define FC_HAS(ptr, field)                                                                                   \
  ((size_t)(ptr)->size >= (size_t)((const char *)&(ptr)->field - (const char *)(ptr)) + sizeof((ptr)->field))

/* Flags that a host which does not know them may ignore. */
#define FC_FLAG_IGNORABLE 0xffff0000u

/* ---- the host --------------------------------------------------------- */

/*
 * One value that an operator measured, handed over by host->measured. Strings
 * need live only for the call.
 */
typedef struct fc_measurement {
  uint32_t size;
  int32_t channel;  /* channel it belongs to, or -1 for all together */
  const char *name; /* "rms", "peak": a C identifier */
  const char *unit; /* "dBFS", "" */
  double value;
  const char *exact; /* decimal integer too long for a double, or NULL */
} fc_measurement;

typedef enum fc_level {
  FC_LEVEL_ERROR = 0,
  FC_LEVEL_WARNING = 1,
  FC_LEVEL_INFO = 2,
  FC_LEVEL_DEBUG = 3
} fc_level;

/*
 * The host's functions. Passed to every callback; valid only during that call, except that the one passed to
 * prepare stays valid until release. All functions may be called from any thread.
 */
typedef struct fc_host fc_host;
struct fc_host {
  uint32_t size;
  uint32_t abi; /* FC_PLUGIN_ABI of the host */
  void *ctx;    /* the host's own */

  /* Records in one sentence, for the user, why the call is about to fail; without a trailing full stop or
   * newline. Returns `status`, so: return host->fail(...). */
  fc_status (*fail)(const fc_host *host, fc_status status, const char *format, ...) FC_PRINTF(3, 4);

  /* Memory on `device`, aligned to 256 bytes, for prepare and release only. NULL when there is
   * none. free takes NULL. */
  void *(*alloc)(const fc_host *host, int32_t device, size_t bytes);
  void (*free)(const fc_host *host, int32_t device, void *memory);

  /* Copies host memory to `device`; complete on return. For prepare only. */
  fc_status (*upload)(const fc_host *host, int32_t device, void *to, const void *from, size_t bytes);

  /* Reports one measurement; for `report` only. */
  void (*measured)(const fc_host *host, const fc_measurement *value);

  /* An extension of this contract by name, or NULL if the host does not have it. */
  const void *(*extension)(const fc_host *host, const char *name);

  /* A line for the user's log, without a newline. Not for process, which may run millions of times. */
  void (*log)(const fc_host *host, int level, const char *format, ...) FC_PRINTF(3, 4);

  /* In negotiate: a short remark for --dry-run, without a full stop or newline, on how the operator will
   * work where that is not obvious ("runs as sepconv: the mask has rank 1"). The last one is shown. */
  void (*remark)(const fc_host *host, const char *format, ...) FC_PRINTF(2, 3);

  /* Whether the user wants the run to stop. To be called where one call works for more than a tenth of a
   * second, which should then return FC_INVALID at once. */
  int (*cancelled)(const fc_host *host);

  const fc_rows *rows; /* never NULL */
};

/* ---- parameters ------------------------------------------------------- */

typedef enum fc_param_type {
  FC_BOOL = 0, /* yes/no, true/false, on/off, 1/0 */
  FC_INT = 1,
  FC_FLOAT = 2,
  FC_ENUM = 3,
  FC_STRING = 4,
  FC_TABLE = 5, /* numbers from a file or written out: a mask, a matrix */
  FC_INPUT = 6, /* a further signal: a file for the command, a view for the library */
  FC_PATH = 7   /* the name of a file that the operator itself reads in create */
} fc_param_type;

/* Flags of a parameter. */
#define FC_PARAM_MAIN     1u /* the name may be omitted; at most one per operator */
#define FC_PARAM_REQUIRED 2u
#define FC_PARAM_LIST                                                                                        \
  4u /* bool, int, float, enum: several values, separated by ',' or (numbers) 'x'; 0x10 is not accepted */
#define FC_PARAM_DECIBEL 8u  /* float: "-6dB" is accepted and means 10^(-6/20) */
#define FC_PARAM_MASK    16u /* table: rows may have different lengths, and are then joined */

/* One choice of an enum. With value FC_REFUSED the name is recognised only to refuse it, and `doc` is the
 * message that says which to use instead. */
#define FC_REFUSED INT32_MIN
typedef struct fc_choice {
  uint32_t size;
  int32_t value;
  const char *name;
  const char *doc;
} fc_choice;

/* Bounds of an int or a float, inclusive. Exact for 64-bit integers; either may be left out. */
#define FC_LIMIT_MIN 1u
#define FC_LIMIT_MAX 2u
typedef struct fc_limits {
  uint32_t size;
  uint32_t flags;           /* FC_LIMIT_* that apply */
  int64_t int_min, int_max; /* of an int */
  double min, max;          /* of a float */
} fc_limits;

typedef struct fc_param {
  uint32_t size;
  int32_t type; /* fc_param_type */
  uint32_t flags;
  uint32_t max_count; /* with FC_PARAM_LIST: the maximum number of values; 0: no limit */
  const char *name;
  const char *doc;                 /* one or more sentences */
  const char *unit;                /* "samples", "Hz", or NULL */
  const char *preset;              /* the default as a user would type it; NULL: none */
  const fc_limits *limits;         /* int and float; NULL: none */
  const fc_choice *const *choices; /* enum; ends with NULL */
  const char *const *aliases;      /* other names that are accepted, ends with NULL; NULL: none */
  const char *deprecated;          /* what to use instead, reported when it is given; NULL: not deprecated */
} fc_param;

/* Numbers read by the host; row-major, finite. A vector is one row. */
typedef struct fc_table {
  uint32_t size;
  const char *name; /* file name or the text as typed, for messages */
  int64_t rows, cols;
  const double *data;
  double rate; /* sample rate when it came from a sound file, else 0 */
} fc_table;

/* The value of one parameter: parallel to the operator's `params`. */
typedef struct fc_arg {
  uint32_t size;
  int32_t given;         /* typed by the user, not the preset */
  int64_t count;         /* values; 0 when neither given nor preset */
  const int64_t *ints;   /* bool, int, enum (fc_choice.value) */
  const double *floats;  /* int and float */
  const char *text;      /* as typed; string and path: unquoted; input: the file's name, for messages */
  const fc_table *table; /* table */
  uint32_t input; /* input: its index among the stage's inputs (fc_terms.in, fc_job.in); 0: not given */
} fc_arg;

/* ---- formats and needs ------------------------------------------------ */

typedef enum fc_layout { FC_INTERLEAVED = 0, FC_PLANAR = 1 } fc_layout;

/* What the channels of an image mean. */
typedef enum fc_color {
  FC_COLOR_UNKNOWN = 0,
  FC_COLOR_GRAY = 1,       /* luma with sRGB's transfer curve */
  FC_COLOR_SRGB = 2,       /* R G B */
  FC_COLOR_LINEAR_RGB = 3, /* R G B, proportional to light */
  FC_COLOR_YCBCR = 4,      /* as in JPEG */
  FC_COLOR_HSV = 5,
  FC_COLOR_LAB = 6,
  FC_COLOR_CMYK = 7,
  FC_COLOR_LINEAR_GRAY = 8
} fc_color;

/* What the last channel of an image with 2 or 4 channels is. */
typedef enum fc_alpha {
  FC_ALPHA_UNKNOWN = 0,
  FC_ALPHA_NONE = 1,
  FC_ALPHA_STRAIGHT = 2,
  FC_ALPHA_PREMULTIPLIED = 3
} fc_alpha;

/*
 * The format of a signal. The meaning of the samples - color, alpha, channels, time, framed - may be unknown,
 * which is zero. Only operators with FC_OP_KEEPS_MEANING pass it on from input to output; for all others the
 * host clears it in `out` before negotiate, which may set what it knows.
 */
typedef struct fc_format {
  uint32_t size;
  int32_t kind;   /* fc_kind */
  int32_t dtype;  /* fc_dtype */
  int32_t bits;   /* bits that carry information; 24 for 24-bit audio held in i32 */
  int32_t layout; /* fc_layout */
  /* 1 + the fc_dtype in which the chain's output is to be stored, as chosen by the user with an operator
   * (convert); 0: as the input was. Kept by later stages. In an `out` whose floating-point samples a file
   * will round, the host sets it, and bits. */
  int32_t stored;
  int64_t extent[FC_AXES]; /* FC_UNKNOWN on X for a stream without a known end */
  double rate;             /* samples (or frames, after an stft) a second; 0 where it has no meaning */
  int32_t color;           /* fc_color */
  int32_t alpha;           /* fc_alpha */
  uint64_t channels; /* sound: bit i is speaker i of WAVEFORMATEXTENSIBLE's mask, channels in that order */
  int64_t time_num, time_den; /* of the first element, in seconds: num / den; den 0 is unknown */
  int64_t framed; /* of overlapping frames (stft): the number of samples they were cut from; 0 is unknown */
  /* Images and arrays: the value of white, 255 for 8-bit files, whatever type the samples have now. The
   * host sets it for integer inputs; `out` begins with the input's. 0: not known, as for floats in a file. */
  double white;
  /* 1: live input (--latency), so an operator with several algorithms uses the one with the least delay.
   * The host sets it. */
  uint32_t live;
  uint32_t reserved;
} fc_format;

/* The whole axis is needed for any output; the input view then spans it. */
#define FC_WHOLE INT64_MAX

/* Limit of reaches, scales and alignments: sums of a few, and products with extents, fit 64 bits. Larger
 * values are refused. */
#define FC_REACH_MOST ((int64_t)1 << 40)

/*
 * The inputs that output o on one axis needs: floor(o*num/den) - before to ceil((o+1)*num/den) - 1 + after.
 * `before` and `after` may be negative (a crop). The output is cut only at multiples of `align` (and at the
 * end); with several inputs, the first one's `align` is used.
 *
 * The input view of process starts at floor(o*num/den) for the output view's first element o, and spans to
 * ceil(end*num/den).
 */
typedef struct fc_reach {
  int64_t before, after;
  int64_t num, den; /* both 1 unless the extent is rescaled */
  int64_t align;    /* >= 1 */
} fc_reach;

/* What a stage reads of one input. The host initialises it, with every reach {0,0,1,1,1} and no border
 * chosen. */
typedef struct fc_need {
  uint32_t size;
  int32_t border;          /* fc_border; MUST be chosen where a reach goes beyond an end */
  double border_value;     /* for FC_BORDER_CONSTANT, as a real value */
  fc_reach reach[FC_AXES]; /* N Y X C */
} fc_need;

/*
 * The terms of one stage. The host fills in everything: `out` as a copy of in[0] with the preferred element
 * type, and a need for each input; the operator changes the fields that differ. out->dtype MUST be one of its
 * dtypes_out.
 *
 * Unknown ends. Where in[0]'s extent is FC_UNKNOWN an output extent is FC_UNKNOWN too, or an upper bound (a
 * crop). If a further input's extent is unknown, a known output extent MUST NOT depend on it: that input is
 * extended by its border wherever it ends. An operator that must know it asks for all of that input
 * (FC_WHOLE), and is asked again when it has been read into memory. An output that is longer than its input
 * by n MUST have `before` of at least n, and one that omits the last n elements MUST have `after` of at least
 * n, or give an upper bound: streams are filtered before their end is known.
 *
 * A generator has no input, and sets kind, extent, rate and whatever else is known of `out`.
 */
typedef struct fc_terms {
  uint32_t size;
  int32_t compute; /* FC_F32 or FC_F64: the type of floating-point accumulation */
  uint32_t n_in;   /* the chain's signal (but for a generator), then the inputs given as parameters, in their
                      order */
  /* Set by an operator with FC_BACKEND_SHAPED backends if, with these arguments and formats, prepare does
   * not depend on extents after all (a mask so short that an FFT never pays). */
  uint32_t any_size;
  const fc_format *const *in;
  fc_format *out;
  fc_need *const *needs;  /* n_in of them */
  uint64_t measure_bytes; /* bytes of partial results per block, see fc_job.measure */
  uint64_t carry_bytes;   /* bytes of state passed from one piece of output to the next, see fc_job.carry */
  double work;            /* approximate flop per output element; 0: not given */
  /* For errors that depend on everything transformed together, not on the terms of one value: the error is
   * a few eps times the largest input times this. 0: not given, or the usual bound holds. */
  double error_gain;
  /* Set by an operator whose backend for a device does not support these arguments in this pass; the stage
   * then runs on the host. */
  uint32_t on_host;
  /* The host sets FC_TURN_POSSIBLE where it can go through in[0] backwards in time: its length is known, and
   * any part of it can be read. An operator whose output o is input extent - 1 - o then adds FC_TURN_WANTED,
   * asks for no halo on that axis, and is given a view of those elements that its output is made of. */
  uint32_t turn;
  /* Of an operator with FC_OP_SURVEYS the host says for which part it asks, fc_survey_part; else 0. */
  uint32_t part;
} fc_terms;

#define FC_TURN_POSSIBLE 1u
#define FC_TURN_WANTED   2u

/* The parts that a stage of FC_OP_SURVEYS is run in, as stages of their own, by one instance. */
typedef enum fc_survey_part {
  FC_PART_ALL = 0, /* at once, with all of the input in one view: where the host cannot do otherwise */
  /* Looks at the signal piece by piece and measures it (measure_bytes): `collect` keeps what will be made of
   * it. Output elements, of which there are as many as blocks, or align times as many, need not be written.
   */
  FC_PART_SURVEY = 1,
  /* Makes the output, after all blocks were collected. Its input is what the survey has put out, of which it
   * asks for all (FC_WHOLE), and is given nothing: a view of shape 0. */
  FC_PART_MAKE = 2
} fc_survey_part;

/* ---- running ---------------------------------------------------------- */

/* What prepare may depend on. Extents other than that of C are FC_UNKNOWN, unless the backend is
 * FC_BACKEND_SHAPED and negotiate left any_size 0. */
typedef struct fc_setup {
  uint32_t size;
  int32_t device;  /* the current device during the call */
  int32_t compute; /* as in fc_terms */
  uint32_t n_in;
  const fc_format *const *in;
  const fc_format *out;
} fc_setup;

/* Bits of *fc_job.notes: set, never cleared, by plain or atomic stores. */
#define FC_NOTE_NAN     0 /* notes[0] = 1: a NaN was to be converted to an integer */
#define FC_NOTE_CLIPPED 1 /* notes[1] = 1: a value was clamped into an integer's range */
#define FC_NOTES        2

typedef struct fc_job {
  uint32_t size;
  int32_t compute;
  uint32_t n_in;
  uint32_t reserved;
  const fc_view *const *in;
  const fc_view *out;
  void *stream;  /* cudaStream_t on a CUDA device, NULL on the CPU */
  void *scratch; /* as many bytes as `scratch` returned, aligned to 256; not shared by concurrent calls */
  size_t scratch_bytes;
  /*
   * Operators with measure_bytes: the output's cut axis (X for audio, Y for images and arrays) is divided
   * into blocks of reach.align elements anchored at position 0; the partial result of the view's block i of
   * its batch entry n goes to measure + n * measure_stride + i * measure_bytes. The host passes each block of
   * the signal to `collect` exactly once.
   */
  void *measure;
  int64_t measure_stride;
  /*
   * Operators with carry_bytes: that many bytes in the device's memory, aligned to 256, zero at the beginning
   * of a stream and not touched by the host until its end. Pieces of output are then processed in order along
   * time (X, for images N), each element once, each piece after the one before has been processed (on a
   * device: on the same stream).
   */
  void *carry;
  uint32_t *notes; /* FC_NOTES words, in memory that the device can write */
  /* NULL, or with FC_BACKEND_EDGES: the input view is the whole signal, memory beyond it must not be read,
   * and process makes the border itself. */
  const fc_edges *edges;
} fc_job;

/* One backend of an operator. */
typedef struct fc_backend {
  uint32_t size;
  uint32_t flags;       /* FC_BACKEND_* */
  uint32_t device_kind; /* fc_device_kind */
  uint32_t reserved;
  /* Whether it can run on this device. May be NULL: always. */
  fc_status (*probe)(const fc_host *host, int32_t device);
  /* May be NULL: process then gets the instance itself as its state. */
  fc_status (*prepare)(const fc_host *host, void *self, const fc_setup *setup, void **state);
  void (*release)(const fc_host *host, void *state);
  /* Bytes of scratch for one call with views of these shapes; NULL: none. MUST NOT decrease when a shape
   * grows. */
  size_t (*scratch)(const void *state, const fc_job *job);
  fc_status (*process)(const fc_host *host, const void *state, const fc_job *job);
} fc_backend;

/* For outputs that touch no end of the signal, the enqueued work depends only on the views' shapes and
 * addresses, so that it may be captured in a graph. */
#define FC_BACKEND_GRAPH 1u
/* The operator can do without a border made by the host: process MAY be called with fc_job.edges, and MAY
 * then return FC_UNSUPPORTED, having enqueued nothing, if it cannot handle those views; it is called again
 * with a border made. The results MUST be the same either way, to the bit. Used on devices, for operators
 * with one input. Scratch is computed for a view with its border. */
#define FC_BACKEND_EDGES 2u
/* What prepare makes depends on the extents: fc_setup has them, and prepare is called again for other
 * extents, unless fc_terms.any_size is set. */
#define FC_BACKEND_SHAPED 4u
/* With FC_BORDER_NONE process reads nothing beyond the ends of the signal, although its reach goes there: the
 * memory of a caller is filtered in place, and need not have room for a halo. */
#define FC_BACKEND_INSIDE 8u

/* ---- the operator ----------------------------------------------------- */

/* Output elements have the input's type (a copy, a crop). */
#define FC_OP_KEEPS_DTYPE 1u
/* The output is the input, unchanged: the operator only measures; implies KEEPS_DTYPE, KEEPS_MEANING. */
#define FC_OP_PASSTHROUGH 2u
/* Adds noise, which may exceed the range of integers where the signal reaches its ends. */
#define FC_OP_NOISE 4u
/* The output's color, alpha, channels, time and framed are the input's. */
#define FC_OP_KEEPS_MEANING 8u
/* Has no input: stands first in a chain and defines the format. */
#define FC_OP_GENERATOR 16u
/* Must measure the whole signal before it can make any output, at least with some arguments: extension
 * "two-passes/1". */
#define FC_OP_TWO_PASSES 32u

/* Makes something of a signal of known length that is small beside it (a picture of sound): it can see all of
 * the signal first, piece by piece, and make its output then: fc_survey_part. */
#define FC_OP_SURVEYS (1u << 16)

typedef struct fc_operator fc_operator;
struct fc_operator {
  uint32_t size;
  uint32_t flags;              /* FC_OP_* */
  const char *name;            /* [a-z][a-z0-9_]* */
  const char *summary;         /* one line, no full stop */
  const char *doc;             /* paragraphs, as a manual page */
  const char *const *examples; /* command-line -p values with their parameters; ends with NULL */
  uint32_t n_params;
  uint32_t kinds;      /* FC_KIND_BITs it takes (a generator: makes) */
  uint32_t dtypes_in;  /* FC_DTYPE_BITs it can load, for every input */
  uint32_t dtypes_out; /* FC_DTYPE_BITs it can store */
  const fc_param *const *params;

  /* `args` has n_params entries, in the order of `params`, already checked for type and range. They live
   * as long as the instance. */
  fc_status (*create)(const fc_host *host, const fc_arg *const *args, void **self);
  void (*destroy)(void *self);
  fc_status (*negotiate)(const fc_host *host, void *self, fc_terms *terms);

  /* One for each kind of device it supports, ends with NULL; at least one. */
  const fc_backend *const *backends;

  /* Measurements, also of a survey, which has no report: collect takes `count` blocks in signal order, from
   * one thread at a time; report, once at the end, calls host->measured, and MAY fail the run, when what was
   * measured is beyond what the user allows. Both NULL if terms.measure_bytes is always 0. reset before a new
   * stream. */
  void (*reset)(void *self);
  fc_status (*collect)(const fc_host *host, void *self, const void *blocks, int64_t count);
  fc_status (*report)(const fc_host *host, void *self);

  /* The plain scalar version, on the host, that the conformance tests compare the others with; never used
   * in a run. NULL if there is none. */
  const fc_backend *reference;

  /* The operator's extensions of this contract, by name; NULL: none. */
  const void *(*extension)(const fc_operator *op, const char *name);

  /* For each entry of `examples`, or NULL: what it does, in a few words; and the command around it, as "-i
   * in.png ... -o out.npy", or "" where one sound, or one image, in and out will do. */
  const char *const *example_docs, *const *example_commands;

  /* Other names for what it does, which are suggested to whoever types one as an operator's name: "volume",
   * or with the stage to write instead, "negative=levels:out_black=255:out_white=0"; ends with NULL. */
  const char *const *keywords;
};

/* The operator's backend for a kind of device, or NULL. */
static inline const fc_backend *fc_backend_for(const fc_operator *op, int device_kind) {
  const fc_backend *const *b = op->backends;
  for (; b && *b; b++)
    if ((*b)->device_kind == (uint32_t)device_kind) return *b;
  return NULL;
}

typedef struct fc_plugin {
  uint32_t size;
  uint32_t abi;                                 /* FC_PLUGIN_ABI */
  const char *id;                               /* reverse domain or a plain word, unique */
  const char *version, *author, *license, *url; /* license: an SPDX expression */
  uint32_t n_operators;
  const fc_operator *const *operators;
} fc_plugin;

/* ---- extension "device-function/1" ------------------------------------- */

/* Returned by operator->extension(op, FC_DEVICE_FUNCTION): an fc_fusible; see device_function.h. `process`
 * is still required: it is the fallback, and the reference for the composed kernel, bit for bit. */
#define FC_DEVICE_FUNCTION "device-function/1"

typedef struct fc_fusible {
  uint32_t size;
  /* Like negotiate: a host thread, no device, pure. `setup` is what prepare would be given.
   * FC_UNSUPPORTED: not for these formats. */
  fc_status (*describe)(const fc_host *host, void *self, const fc_setup *setup, fc_device_function *function);
  /* Writes into function->bytes what only the state from prepare knows, as addresses in device memory. NULL:
   * nothing. FC_UNSUPPORTED: not on this device. */
  fc_status (*bind)(const fc_host *host, const void *prepared, fc_device_function *function);
} fc_fusible;

/* ---- extension "exchange/1" ---------------------------------------------- */

/* Returned by operator->extension(op, FC_EXCHANGE): an fc_exchange, for an operator whose output is its input
 * with other axes, sample by sample as it is. On a device the stages before it may write there instead. */
#define FC_EXCHANGE "exchange/1"

typedef struct fc_exchange {
  uint32_t size;
  /* Like negotiate: a host thread, no device, pure. Axis a of the output is axis[a] of the input, from its
   * beginning to its end; N stays. FC_UNSUPPORTED: not with these arguments. */
  fc_status (*axes)(const fc_host *host, const void *self, int32_t axis[FC_AXES]);
} fc_exchange;

/* ---- extension "random/1" of the host ----------------------------------- */

/*
 * Returned by host->extension(host, FC_RANDOM), in process: what the random numbers of this run depend on,
 * besides the frame number and the operator's own counter. It is the same for any number of threads, chunks
 * and devices, so an operator that draws its numbers by fc_random_key (fc_helpers.h) remains a pure function
 * of its views; it MUST NOT use other sources of randomness. origin[FC_AXIS_N] of a view is the number of its
 * first frame.
 *
 * The values are kernel arguments, and so would be frozen in a graph: a backend that draws MUST NOT have
 * FC_BACKEND_GRAPH, nor a device function.
 */
#define FC_RANDOM "random/1"

typedef struct fc_random {
  uint32_t size;
  uint32_t stage;       /* index of the operator in the chain, from 0 */
  uint64_t seed, epoch; /* set by the user */
  uint64_t name;        /* a hash of the input's name */
} fc_random;

/* ---- extension "two-passes/1" ------------------------------------------- */

/* Returned by operator->extension(op, FC_TWO_PASSES), for an operator with FC_OP_TWO_PASSES. The host runs
 * the chain up to this stage twice: first without any later stage, to collect measurements for `report`,
 * and then with all that follows. A signal that cannot be read twice - a pipe, a session - is refused. */
#define FC_TWO_PASSES "two-passes/1"

typedef struct fc_two_passes {
  uint32_t size;
  /* Called before negotiate: sets the pass, 0 or 1. Pass 0 comes first, as after create; it discards old
   * measurements and measures. Pass 1 applies. Output formats MUST be the same in both. */
  void (*begin)(void *self, int32_t pass);
  /* Whether an instance with these arguments needs two passes; others are run once, without begin. NULL:
   * all need them, and so do all whose arguments have times. */
  int32_t (*wanted)(const void *self);
} fc_two_passes;

/* ---- extension "designed-mask/1" --------------------------------------- */

/* Returned by operator->extension(op, FC_DESIGNED_MASK): an fc_mask_designer, for an operator that
 * convolves with a mask that it designs. */
#define FC_DESIGNED_MASK "designed-mask/1"

typedef struct fc_mask_designer {
  uint32_t size;
  /* Like negotiate: a host thread, no device, pure. The mask for a signal of this rate (0: not known), an
   * impulse response: `*count` is its number of taps; they are written to `taps` if `room` is large
   * enough. */
  fc_status (*design)(const fc_host *host, void *self, double rate, double *taps, int64_t room,
                      int64_t *count);
} fc_mask_designer;

/* ---- extension "cascade/1" ----------------------------------------------- */

/* Reached by operator->extension(op, FC_CASCADE): an fc_cascade, of an operator that filters sound by
 * recursive sections of second order in a row, its state in doubles and zero where a stream begins.
 * Neighbours of the kind are run on the CPU as one stage of the first one's operator, to the same bits. */
#define FC_CASCADE "cascade/1"

/* y = b0 x + b1 x' + b2 x'' - a1 y' - a2 y'', of the sample and those before it. */
typedef struct fc_section {
  double b0, b1, b2, a1, a2;
  uint32_t rounded; /* to float, before the next section takes it: what is stored where stages are run one by
                       one */
  uint32_t reserved;
} fc_section;

typedef struct fc_cascade {
  uint32_t size;
  uint32_t most; /* sections that one stage may have */
  /* As negotiate: a host thread, no device, pure. How many sections there are for a signal of this rate,
   * which are written to `sections` if there is `room` for all. */
  fc_status (*design)(const fc_host *host, void *self, double rate, fc_section *sections, uint32_t room,
                      uint32_t *count);
  /* As prepare of the CPU's backend, whose other functions take the state: of these sections. */
  fc_status (*prepare)(const fc_host *host, void *self, const fc_setup *setup, const fc_section *sections,
                       uint32_t count, void **state);
} fc_cascade;

/* ---- extension "linear/1" ------------------------------------------------- */

/*
 * Reached by operator->extension(op, FC_LINEAR): an fc_linear, of an operator whose outputs are, with some
 * arguments, sums of its inputs times constant numbers. Where the user allows it (fc_options.fuse,
 * FC_FUSE_ALGEBRA) the host multiplies out what neighbours of the kind do, and has one of them make an
 * instance that does it at once. What they would have rounded in between is not rounded then, nor clamped;
 * near the ends of the signal, where their borders matter, the host makes the outputs from the numbers.
 */
#define FC_LINEAR "linear/1"

typedef enum fc_linear_form {
  /* y = M x + v of the channels x of each pixel or frame: rows x columns of M, row by row, then the rows
   * of v. */
  FC_LINEAR_PIXELS = 0,
  /* y[j, i] = sum over l, k of b[l] a[k] x[j - before_y + l, i - before_x + k]: nx numbers a, ny numbers b.
   */
  FC_LINEAR_SEPARABLE = 1,
  /* y[j, i] = sum over l, k of m[l, k] x[j - before_y + l, i - before_x + k]: ny rows of nx numbers. */
  FC_LINEAR_DENSE = 2
} fc_linear_form;

/* The host creates it, zeroed except for size, room and numbers; the numbers too are 0 at first. All are
 * finite. */
typedef struct fc_linear_map {
  uint32_t size;
  int32_t form;          /* fc_linear_form */
  int64_t rows, columns; /* of M: channels out and in */
  int64_t masks;         /* of a window: 1, the same for all channels, or one after another for each */
  int64_t nx, ny, before_x, before_y; /* at least 1; what is read is what negotiate has asked for */
  /* The output is this much longer than the input along X and Y: 0, taps - 1 where it holds every sum that a
   * sample takes part in, 1 - taps where it holds those that need no border. */
  int64_t growth_x, growth_y;
  int64_t count; /* how many numbers there are; written to `numbers` if there is room for all */
  int64_t room;
  double *numbers;
} fc_linear_map;

typedef struct fc_linear {
  uint32_t size;
  uint32_t reserved;
  /* As negotiate: a host thread, no device, pure. `setup` is what prepare would be given, without
   * extents other than that of channels. FC_UNSUPPORTED: not linear with these arguments and formats. */
  fc_status (*describe)(const fc_host *host, void *self, const fc_setup *setup, fc_linear_map *map);
  /* An instance of `made` for this map and border, from the format setup->in[0] to setup->out; `self` is one
   * of the instances that it stands for. FC_UNSUPPORTED: not of this form, or too large. */
  fc_status (*make)(const fc_host *host, void *self, const fc_setup *setup, const fc_linear_map *map,
                    int32_t border, double border_value, void **instance);
  /* The operator of these instances, all of whose functions may be called with them except `create`; it is
   * in no list, and takes no arguments. Checked as other operators are; nothing is joined to one that is not
   * valid. It is used for what its kinds and dtypes_in have, and where it has a version for each device that
   * the stages have.
   */
  const fc_operator *made;
} fc_linear;

/* The one symbol a plugin exports. */
FC_PLUGIN_EXPORT const fc_plugin *fc_plugin_entry_v1(void);
typedef const fc_plugin *(*fc_plugin_entry_fn)(void);

#ifdef __cplusplus
}
#endif

#endif

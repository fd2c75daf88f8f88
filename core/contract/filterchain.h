/* SPDX-License-Identifier: MIT */
/*
 * filterchain.h - the library: everything the command does, without the command.
 *
 * A context owns the operator registry, the devices, the memory pools and the log function; nothing is global
 * to the process, so two contexts in two threads are independent. A chain is parsed from the same strings as
 * the command's -p options and run on files, on host memory, or on device memory and a stream of the
 * caller's.
 *
 * Threads. A context may be shared by threads that only parse and look things up; one chain runs in one
 * thread at a time, several chains of one context may run at once. Nothing starts a thread or touches CUDA
 * before the first run that needs it. After fork() only the parent may go on using a context.
 *
 * Errors are GErrors of domain FC_ERROR whose code is an fc_status and whose message is one line that names
 * the operator or file, the place, and how to repair it. On failure functions return FALSE or NULL and set
 * the error; outputs on disk are then unchanged.
 */
#ifndef FC_FILTERCHAIN_H
#define FC_FILTERCHAIN_H

#include <glib.h>

#include "plugin.h"

G_BEGIN_DECLS

#if defined(__GNUC__)
#define FC_API __attribute__((visibility("default")))
#else
#define FC_API
#endif

#define FC_ERROR (fc_error_quark())
FC_API GQuark fc_error_quark(void);

/* The operator whose callback the calling thread is running, or NULL; async-signal-safe, so that the
 * handler of a crash, or of atexit, can name the operator. */
FC_API const char *fc_running_operator(void);

/* "1.0.0"; static. */
FC_API const char *fc_version(void);
/* TRUE when this build has the CUDA backend. */
FC_API gboolean fc_has_cuda(void);

/* ---- context ---------------------------------------------------------- */

typedef struct fc_context fc_context;

typedef enum fc_log_level { FC_LOG_ERROR, FC_LOG_WARNING, FC_LOG_INFO, FC_LOG_DEBUG } fc_log_level;
/* One line without a newline. Called from any thread, one call at a time. */
typedef void (*fc_log_fn)(fc_log_level level, const char *message, void *data);

/* Never fails (but aborts, as GLib does, if a few bytes cannot be allocated). */
FC_API fc_context *fc_context_new(void);
/* NULL is allowed. All chains of the context must have been freed before. */
FC_API void fc_context_free(fc_context *context);
/* Without a log function, warnings and errors go to stderr. */
FC_API void fc_context_set_log(fc_context *context, fc_log_fn log, void *data);
/* Limit, in bytes, of the buffers of all runs of this context together; 0 is the default: nine tenths of
 * the memory that the machine, container or `ulimit -v` grants the process. A run that needs more works on
 * smaller pieces, or fails with an error that says so. Not counted: memory that operators and decoders
 * allocate themselves, and device memory. Not to be called during a run. */
FC_API void fc_context_set_max_memory(fc_context *context, gsize bytes);
/* Allocates host memory for the buffers of runs, with this alignment; NULL when there is none. Any thread. */
typedef void *(*fc_alloc_fn)(gsize bytes, gsize alignment, void *data);
typedef void (*fc_free_fn)(void *memory, gsize bytes, void *data);
/* Replaces malloc for that memory. Before the first run. */
FC_API void fc_context_set_allocator(fc_context *context, fc_alloc_fn alloc, fc_free_fn free, void *data);
/* Frees what is kept for later runs and not in use: threads, host memory, memory and streams of devices. */
FC_API void fc_context_release(fc_context *context);
/* Searched before $FILTERCHAIN_PLUGIN_PATH and the installed folder, in the order
 * added. Before the first look-up only. */
FC_API void fc_context_add_plugin_dir(fc_context *context, const char *dir);

/* ---- operators and plugins -------------------------------------------- */

/* A plugin file that was found. Strings belong to the context. */
typedef struct fc_plugin_info {
  const char *path;
  const char *id;      /* NULL when rejected */
  const char *version; /* NULL when rejected */
  /* why it was rejected ("is not a regular file"); for an accepted one, which of its operators are not
   * used, or NULL */
  const char *reason;
} fc_plugin_info;

/* All operators, sorted by name: an array that ends with NULL. Free with g_free; the descriptors belong to
 * the context. Opens every plugin. */
FC_API const fc_operator **fc_context_operators(fc_context *context, gsize *count);
/* All plugin files found, accepted and rejected; g_free. */
FC_API fc_plugin_info *fc_context_plugins(fc_context *context, gsize *count);
/* The operator of that name, or NULL with FC_UNSUPPORTED and a "did you mean". If several plugins define
 * it the first in search order is used; "id/name" is the definition in the plugin with this id. */
FC_API const fc_operator *fc_context_find(fc_context *context, const char *name, GError **error);
/* Opens one plugin file by path and adds its operators; NULL with the reason. */
FC_API const fc_plugin *fc_context_open_plugin(fc_context *context, const char *path, GError **error);
/* Adds the operators of a plugin in the program itself, which must live as long as the context; it is
 * checked like one from a file. FALSE with the reason: an operator is invalid, or its name is in use. */
FC_API gboolean fc_context_add_plugin(fc_context *context, const fc_plugin *plugin, GError **error);
/* The plugin that defines an operator, and its file. */
FC_API const fc_plugin *fc_context_plugin_of(fc_context *context, const fc_operator *op, const char **path);

/* ---- files ------------------------------------------------------------- */

/* An option that may follow a file's name, as in "out.jpg:quality=85". */
typedef struct fc_file_option {
  const char *key;
  /* "1..100": a whole number in that range; "yes|no": one of these; otherwise a description */
  const char *values;
  const char *standard; /* the default */
  const char *summary;
} fc_file_option;

/* A file format. Strings are static. */
typedef struct fc_file_format_info {
  const char *name;       /* "jpg": the value for fc_options.in_format and out_format */
  const char *title;      /* "JPEG" */
  const char *extensions; /* separated by blanks */
  const char *reader;     /* the library that reads it, with its version; NULL: reading is not supported */
  const char *writer;     /* likewise */
  const fc_file_option *reading, *writing; /* options, up to one without a key; NULL: there are none */
} fc_file_format_info;

/* All formats of this build; g_free. */
FC_API fc_file_format_info *fc_file_formats(gsize *count);

/* The path in a file argument of fc_chain_run_file, without the options after it; g_free. `options` (or
 * NULL) receives the options with their first colon, or ""; g_free. A colon in a path is written "\:", or
 * the path is put in single quotes; if a file to be read exists under the whole text, all of it is the
 * path. */
FC_API char *fc_file_split(const char *file, gboolean reading, char **options);
/* The inverse: a file argument from a path and such options; g_free. */
FC_API char *fc_file_join(const char *path, const char *options);

/* ---- chain ------------------------------------------------------------ */

typedef struct fc_chain fc_chain;

/*
 * Parses stages as given to -p ("conv1d:mask.txt", "conv1d:[1,2,1]/4:flip=no"),
 * opens the plugins and reads the tables. `stages` ends with NULL; an empty chain
 * copies. The context must outlive the chain.
 */
FC_API fc_chain *fc_chain_parse(fc_context *context, const char *const *stages, GError **error);
/* A chain to add stages to. */
FC_API fc_chain *fc_chain_new(fc_context *context);

/* The value of one parameter by name (NULL: the main one): a text, as it would be typed, or a table or
 * view of the caller's. A table is copied; a view, in host memory, is borrowed for the life of the chain. */
typedef struct fc_value {
  guint32 size;
  const char *name;
  const char *text;
  const fc_table *table;
  const fc_view *view;
} fc_value;

/* Adds an operator with values, which end with NULL. FALSE with the reason; the chain is then unchanged. */
FC_API gboolean fc_chain_add(fc_chain *chain, const char *operator_name, const fc_value *const *values,
                             GError **error);
/* Adds a stage as fc_chain_parse takes it; likewise. */
FC_API gboolean fc_chain_add_text(fc_chain *chain, const char *stage, GError **error);
FC_API void fc_chain_free(fc_chain *chain);
/* Frees what the chain keeps for further runs, device memory included. Graphs captured from
 * fc_chain_run_device must not be launched afterwards. */
FC_API void fc_chain_release(fc_chain *chain);
FC_API guint fc_chain_length(const fc_chain *chain);
FC_API const fc_operator *fc_chain_operator(const fc_chain *chain, guint stage);
/* The mask that a stage's operator designs for a signal of this rate: `count` taps, g_free. NULL where it
 * designs none with these arguments. */
FC_API double *fc_chain_mask(fc_chain *chain, guint stage, double rate, gsize *count, GError **error);
/* Another instance of the same stages, for another thread: files are not read again, views are borrowed
 * too. NULL with the reason. */
FC_API fc_chain *fc_chain_clone(fc_chain *chain, GError **error);
/* Paths of the files that its tables were read from, as given, and NULL; g_free, the paths belong to the
 * chain. */
FC_API const char **fc_chain_files(const fc_chain *chain);

/* Progress; called at most ten times a second from the thread that runs the chain.
 * `total` is FC_UNKNOWN when it is not known. Return FALSE to stop the run. */
typedef gboolean (*fc_progress_fn)(gint64 done, gint64 total, void *data);

/* Whether neighbouring stages that treat each sample or pixel independently run as one kernel on a device.
 * Results are the same to the bit. Kernels of common chains are installed with the library; others are
 * compiled in the background (by NVRTC, in a child process) and cached on disk
 * ($XDG_CACHE_HOME/filterchain/kernels); until then, and where there is no NVRTC, stages run one by one. */
typedef enum fc_fuse {
  FC_FUSE_AUTO = 0, /* when the kernel is available; it is compiled where there is enough work */
  FC_FUSE_NO = 1,   /* never */
  FC_FUSE_WAIT = 2, /* from the first chunk on: the run waits for the compiler */
  /* As auto; and neighbours that are linear - convolutions, matrices of channels, gains - are multiplied out
   * into one stage where that is predicted to be quicker, on the CPU too. Not the same bits: what the stages
   * would have rounded in between, to the compute type or to integers, is not, and is not clamped either;
   * the result is rounded once, at the end. */
  FC_FUSE_ALGEBRA = 3
} fc_fuse;

/* Where the JPEG files of a batch are decoded. NVIDIA's nvJPEG, loaded when it is asked for, decodes those
 * whose chain runs on a GPU, without the confinement of the decoders on the CPU; what it decodes differs from
 * theirs by a few codes. Progressive, four-ink, turned and truncated files are always decoded on the CPU. */
typedef enum fc_decoding {
  FC_DECODE_CPU = 0,
  FC_DECODE_GPU = 1, /* a batch is refused where nvJPEG cannot be used */
  FC_DECODE_AUTO = 2 /* where the GPU has engines for it */
} fc_decoding;

#define FC_PIXELS_MOST ((gint64)1 << 28)

/* How to run; start from FC_OPTIONS_INIT. Strings are borrowed for the call. */
typedef struct fc_options {
  guint32 size;
  const char *device;  /* "auto", "cpu", "cuda", "cuda:N", "cuda:N,M,..." or "cuda:all"; NULL is "auto" */
  int threads;         /* CPU threads; 0: one per core that the process may use */
  int precision;       /* FC_F32, FC_F64; -1 chooses: f32 unless the input holds more than 24 bits */
  gint64 chunk;        /* samples, frames, or rows of a single image, at a time; 0: automatic */
  gboolean no_clobber; /* fail when the output exists */
  gboolean allow_truncated; /* accept the readable part of a truncated input, with a warning */
  gboolean sync;            /* fsync the output before it is renamed */
  const char *trace;        /* file for a Chrome trace, or NULL */
  const char *in_format;    /* "wav", "png", "npy", "raw", ...; NULL: by name and content */
  const char *out_format;   /* likewise; NULL: by extension */
  const char
      *in_raw; /* raw input: "dtype=f32,channels=2,rate=48000" or "dtype=u8,width=..,height=..,channels=.." */
  /* Limit on a decoded image; 0 is FC_PIXELS_MOST. An encoded one may have as many, or FC_PIXELS_MOST if that
   * is more, or as many as the input. */
  gint64 max_pixels;
  fc_progress_fn progress;
  void *progress_data;
  /* read atomically between chunks and while waiting for a pipe: non-zero stops the run; or NULL */
  const int *cancel;
  int fuse; /* fc_fuse */
  /* For live sound: the longest time, in seconds, that a sample may be held before the output that depends
   * on it is written, computing time not included. Chunks are as short as that requires, and output into a
   * pipe is written at once. 0: no limit. */
  double latency;
  /* Inputs that are appended to the first, as if they were one; sounds of the same rate and channels. The
   * output has the metadata and the sample format of the first. Ends with NULL; NULL: none. */
  const char *const *followers;
  /* The meaning of the samples of an input view: rate, bits (0: those of the element type), color, alpha,
   * channels and time; other fields are not read. NULL: unknown. */
  const fc_format *meaning;
  /* in_bytes: the input's content, in place of a file; the file's name is then used for messages and for
   * its extension. out_bytes: receives the output's content in place of a file, if the run succeeds;
   * g_bytes_unref. NULL: files. */
  GBytes *in_bytes, **out_bytes;
  /* What random operators draw depends on these alone, their place in the chain and the frame's: the user's
   * seed, which time the data are gone through, and the input's name. NULL: the input's path as it was given;
   * memory has none, so whoever gives views names each. Of a batch the library names each input: by its path
   * as it was given, below a folder or the fixed part of a pattern by the rest of it, a member by its path in
   * the archive. */
  guint64 seed, epoch;
  const char *random_name;
  int decode; /* fc_decoding */
} fc_options;

#define FC_OPTIONS_INIT                                                                                      \
  {                                                                                                          \
    sizeof(fc_options), NULL, 0, -1, 0, FALSE, FALSE, FALSE, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 0, \
        0, NULL, NULL, NULL, NULL, 0, 0, NULL, FC_DECODE_CPU                                                 \
  }

/* One measured value. */
typedef struct fc_measured {
  guint32 size;
  guint stage; /* index into the chain */
  const char *operator_name;
  const char *name, *unit, *exact; /* exact may be NULL */
  int channel;                     /* -1 for all together */
  double value;
} fc_measured;

/* The outcome of a run. Made by the library and freed by the caller (fc_result_free), with everything it
 * points to. */
typedef struct fc_result {
  guint32 size;
  const fc_format *in, *out; /* with the final extents */
  const char *device;        /* "cpu (8 threads)", "cuda:0 (NVIDIA H200)" */
  const char *reason;        /* why that device */
  double seconds;            /* from opening the input to the output in place */
  gint64 chunks;
  gint64 bytes_up, bytes_down; /* transfers to and from the device */
  gsize n_measured;
  const fc_measured *const *measured;
  const char *decoder; /* what decoded the input on a device: "nvJPEG 13.0.1, engines"; NULL: nothing has */
} fc_result;

FC_API void fc_result_free(fc_result *result);

/*
 * Filters a file into a file. "-" is stdin or stdout; options may follow both, as in "out.jpg:quality=85"
 * (fc_file_formats lists them). `input` is NULL for a chain that begins with a generator, `output` may be
 * NULL when the chain is run for its measurements. Writing onto the input is safe: the output is written
 * beside its target and renamed when complete. `options` and `result` may be NULL. If an operator fails the
 * run because of what it measured, `result` has the measurements; otherwise it is NULL on failure.
 */
FC_API gboolean fc_chain_run_file(fc_chain *chain, const char *input, const char *output,
                                  const fc_options *options, fc_result **result, GError **error);

/* One file of many. */
typedef struct fc_file {
  guint32 size;
  const char *input, *output;
} fc_file;

/* Called after each file, in their order, from the thread that called fc_chain_run_files, with the result
 * or the error; both belong to the library. FALSE: no more files are begun. `progress` of the options is
 * not called. */
typedef gboolean (*fc_file_fn)(gsize index, const fc_result *result, const GError *why, void *data);

/*
 * Filters files into files, several at a time: decoding, filtering and writing of different ones overlap, on
 * options->threads workers, each of which has an instance of the chain; on several devices they are spread.
 * Files are reported in order. A file that fails does not stop the others. Returns how many failed; -1 with
 * an error when none could be begun.
 */
FC_API gint64 fc_chain_run_files(fc_chain *chain, const fc_file *const *files, gsize n,
                                 const fc_options *options, fc_file_fn done, void *data, GError **error);

/* ---- batches: folders, lists and archives --------------------------------- */

/* The description of a batch; start from {sizeof(fc_batch_spec)}. Strings are borrowed for the life of the
 * batch. */
typedef struct fc_batch_spec {
  guint32 size;
  /* Ends with NULL: files, folders, patterns of names ("photos/ ** / *.jpg" without the blanks), "@LIST"
   * (one path per line), archives (.tar, or "-" for one from standard input). */
  const char *const *inputs;
  /* "FOLDER/", a pattern with {name} {stem} {ext} {dir} {index} ("out/{dir}/{stem}.npy"), archives
   * ("out-{shard:06}.tar"), one array of all ("all.npy"), or NULL. */
  const char *output;
  /* of the chain, as text, ends with NULL: to detect a changed chain with `resume` */
  const char *const *stages;
  gboolean recursive; /* include subfolders */
  gboolean resume;    /* omit what an earlier, interrupted run of the same batch has made */
  gint64 part, parts; /* only every parts-th input of the list, beginning with number `part` from 0; 0: all */
  gint64 shard_items, shard_bytes; /* limit of samples, or bytes, in one archive; 0: none */
  gboolean names_only;             /* it is asked for names alone, and not run: no device is started for it */
} fc_batch_spec;

/* A file that is done, has failed, or was skipped. */
typedef struct fc_batch_file {
  guint32 size;
  gint64 index;            /* its number in the batch */
  const char *input;       /* of a member, ARCHIVE/PATH */
  const char *output;      /* for a member likewise; NULL: there is none */
  gint64 bytes;            /* of the input */
  const fc_result *result; /* NULL: it has failed, or was skipped */
  const GError *why;       /* NULL: success */
} fc_batch_file;

/* In order, from the thread that called fc_batch_run. FALSE: no more are begun. */
typedef gboolean (*fc_batch_fn)(const fc_batch_file *file, void *data);

typedef struct fc_batch fc_batch;

/* Whether this is a batch, rather than one file for fc_chain_run_file. */
FC_API gboolean fc_batch_is(const fc_batch_spec *spec);
/* Whether a format is "tar" or "tar:FORMAT": with output "-", an archive of all outputs in that format. */
FC_API gboolean fc_batch_is_tar_format(const char *format);
/* Lists the inputs and names the outputs; FC_INVALID where two outputs would be one file, or one would
 * replace another's input. Writes nothing. `chain` and what `options` point to must outlive it. */
FC_API fc_batch *fc_batch_new(fc_chain *chain, const fc_batch_spec *spec, const fc_options *options,
                              GError **error);
FC_API void fc_batch_free(fc_batch *batch); /* NULL is allowed */
/* The number of files; -1: not known, because there are archives. */
FC_API gint64 fc_batch_count(const fc_batch *batch);
/* For a batch without archives, the names of number i; both g_free, `output` may be NULL. */
FC_API void fc_batch_names(const fc_batch *batch, gint64 i, char **input, char **output);
/* The name of this file as an input or, with `as_output`, as an output of the batch; NULL: it is not in
 * it. */
FC_API const char *fc_batch_has(const fc_batch *batch, const char *path, gboolean as_output);
/* How many were skipped because they are not inputs: files of folders, links and devices of archives; and
 * how many because an earlier run has made them. */
FC_API gint64 fc_batch_skipped(const fc_batch *batch);
FC_API gint64 fc_batch_resumed(const fc_batch *batch);
/* Runs it; once only. Returns how many failed (with those that an earlier run recorded in archives); -1
 * with an error where the batch could not begin or continue. */
FC_API gint64 fc_batch_run(fc_batch *batch, fc_batch_fn done, void *data, GError **error);

/* Writes a picture of at most `n` inputs, spread over the list (the first ones of archives), each beside
 * its output, and nothing else. Before fc_batch_run, or without it. */
FC_API gboolean fc_batch_preview(fc_batch *batch, gint64 n, const char *path, GError **error);

/* A description of what fc_chain_run_file would do, as text or as JSON; writes no output and touches no
 * device. Free with g_free. */
FC_API char *fc_chain_explain_file(fc_chain *chain, const char *input, const char *output,
                                   const fc_options *options, gboolean json, GError **error);

/* The output format of the chain for an input of format `in` with these options; on entry out->dtype is
 * the desired element type, or -1 for the chain's own. */
FC_API gboolean fc_chain_output_format(fc_chain *chain, const fc_format *in, const fc_options *options,
                                       fc_format *out,
                                       GError **error); /* fields beyond out->size are not written */

/*
 * Filters host memory into host memory, on the CPU or a device as the options say. `out` has the shape that
 * fc_chain_output_format gives and any element type; the views must not overlap. Complete on return.
 */
FC_API gboolean fc_chain_run_host(fc_chain *chain, const fc_view *in, const fc_view *out,
                                  const fc_options *options, fc_result **result, GError **error);

/*
 * Filters device memory into device memory on a stream of the caller's (a cudaStream_t), whose device must be
 * that of both views. Enqueues and returns: the work is complete when the stream has reached it, and both
 * views must live until then. The first call with a new format or stream prepares (and may synchronise) and
 * takes device memory, which the chain keeps; later ones only enqueue. They may be captured into a graph; a
 * launch of it counts as a call of the chain: launches and calls must be on one stream, or follow each other.
 * Captured work keeps its memory until fc_chain_release or the chain's end, so the chain must outlive the
 * enqueued work and the launches of such graphs. Chains with measurements are refused. A stage with carried
 * state starts from the beginning with each call.
 */
FC_API gboolean fc_chain_run_device(fc_chain *chain, const fc_view *in, const fc_view *out, void *stream,
                                    const fc_options *options, GError **error);

/* To be called after the stream has completed the work: FALSE when a value that is not a number (NaN) was
 * to be converted to an integer in any call since the last check. */
FC_API gboolean fc_chain_check_device(fc_chain *chain, GError **error);

/* Device memory, for callers without a CUDA runtime; NULL with the reason. Freeing waits for the device;
 * NULL is allowed. */
FC_API void *fc_device_alloc(fc_context *context, gint32 device, gsize bytes, GError **error);
FC_API void fc_device_free(fc_context *context, gint32 device, void *memory);

/* ---- between files and memory ------------------------------------------ */

/*
 * A file whose filtered samples go to the caller's memory: opened, planned and waiting for that memory. The
 * chain must outlive it and must not run anything else meanwhile.
 */
typedef struct fc_loader fc_loader;

/* Opens a file as fc_chain_run_file does; NULL as the path for a chain that begins with a generator. If
 * the length of the input is known only at its end, it is read into memory now. */
FC_API fc_loader *fc_chain_load_file(fc_chain *chain, const char *input, const fc_options *options,
                                     GError **error);
/* The same with the content of a file, which is copied. */
FC_API fc_loader *fc_chain_load_bytes(fc_chain *chain, const void *content, gsize bytes,
                                      const fc_options *options, GError **error);
/* The output format, with all extents; belongs to the loader. */
FC_API const fc_format *fc_loader_format(const fc_loader *loader);
/* Reads and filters into a view of that shape and any element type, in host memory. Once only. */
FC_API gboolean fc_loader_run(fc_loader *loader, const fc_view *out, fc_result **result, GError **error);
FC_API void fc_loader_free(fc_loader *loader); /* NULL is allowed */

/* Filters host memory into a file; NULL: for measurements only. options->meaning gives the rate and so on. */
FC_API gboolean fc_chain_save_file(fc_chain *chain, const fc_view *in, const char *output,
                                   const fc_options *options, fc_result **result, GError **error);

/* ---- session ---------------------------------------------------------- */

/*
 * A chain whose signal arrives and leaves in pieces, as a filter in FFmpeg or an element in GStreamer needs
 * it. The output is byte for byte that of a file with the same samples. On the CPU or one device, in the
 * caller's thread; one thread at a time.
 */
typedef struct fc_session fc_session;

/* For a signal of this format; its extent along time (X, for images N) is ignored. The chain must outlive
 * the session and must not run anything else meanwhile. Chains with stages that need the whole signal at
 * once are refused. */
FC_API fc_session *fc_session_new(fc_chain *chain, const fc_format *in, int out_dtype,
                                  const fc_options *options, GError **error);
/* The output format, with unknown length; belongs to the session. */
FC_API const fc_format *fc_session_format(const fc_session *session);
/* Latency: elements of input, along time, that must be pushed before the corresponding output exists. */
FC_API gint64 fc_session_latency(const fc_session *session);
/* Takes the samples of a view in host memory, which is not used after the call, and filters as much as
 * possible. */
FC_API gboolean fc_session_push(fc_session *session, const fc_view *samples, GError **error);
/* Moves up to as many elements as `into` has along time, in host memory; returns how many, -1 with an
 * error. Fewer means that no more are available yet. */
FC_API gint64 fc_session_pull(fc_session *session, const fc_view *into, GError **error);
/* Ends the signal: the rest of the output can then be pulled. */
FC_API gboolean fc_session_drain(fc_session *session, GError **error);
/* Measurements, after draining; belong to the session. */
FC_API const fc_result *fc_session_result(fc_session *session, GError **error);
FC_API void fc_session_free(fc_session *session); /* NULL is allowed */

/* ---- for programs around the library ---------------------------------- */

/* The end of an error message about a mistyped name: `: did you mean "conv1d"?`, or "" when none of
 * `names` (ends with NULL) is similar. Free with g_free. */
FC_API char *fc_did_you_mean(const char *typed, const char *const *names);

/* Removes the temporary files of every output that this process is writing, and does
 * nothing else. Async-signal-safe: for the handler of a signal that ends the process
 * at once. Nothing of the library may be called afterwards. */
FC_API void fc_output_remove_all(void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_batch, fc_batch_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_context, fc_context_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_chain, fc_chain_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_result, fc_result_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_loader, fc_loader_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_session, fc_session_free)

G_END_DECLS

#endif

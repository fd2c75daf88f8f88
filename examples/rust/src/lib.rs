// SPDX-License-Identifier: MIT
//! bend - sound bent smoothly into -1..1: v / (1 + |v|), v = drive x. An operator against bindings made of plugin.h.
use fc::*;
use std::{mem::{size_of, transmute}, os::raw::{c_char, c_void}, ptr::null};
#[allow(dead_code, non_camel_case_types, non_upper_case_globals, non_snake_case)]
mod fc { include!(concat!(env!("OUT_DIR"), "/fc.rs")); }

struct Constant<T>(T); // descriptors are constant data that point at each other
unsafe impl<T> Sync for Constant<T> {}
macro_rules! text { ($s:expr) => { concat!($s, "\0").as_ptr().cast::<c_char>() }; }
macro_rules! zero { ($t:ty) => { unsafe { transmute::<[u8; size_of::<$t>()], $t>([0; size_of::<$t>()]) } }; }
macro_rules! size { ($t:ty) => { size_of::<$t>() as u32 }; }
const PIECE: usize = 1024;

unsafe extern "C" fn create(_: *const fc_host, args: *const *const fc_arg, this: *mut *mut c_void) -> fc_status {
    *this = args as *mut c_void; // they live as long as the instance
    FC_OK
}

unsafe fn at(v: &fc_view, i: [i64; 4]) -> *mut c_void {
    v.data.cast::<u8>().offset((0..4).map(|a| i[a] * v.stride[a]).sum::<i64>() as isize).cast()
}

/// Any piece of the output, from several threads at once.
unsafe extern "C" fn process(host: *const fc_host, state: *const c_void, job: *const fc_job) -> fc_status {
    let (drive, rows) = (*(**(state as *const *const fc_arg)).floats, &*(*host).rows);
    let (from, to, mut v) = (&**(*job).in_, &*(*job).out, [0f64; PIECE]);
    let lines = (0..to.shape[0]).flat_map(|n| (0..to.shape[1]).flat_map(move |y| (0..to.shape[3]).map(move |c| (n, y, c))));
    for ((n, y, c), x) in lines.flat_map(|line| (0..to.shape[2]).step_by(PIECE).map(move |x| (line, x))) {
        let count = (to.shape[2] - x).min(PIECE as i64);
        rows.load_f64.unwrap()(v.as_mut_ptr(), at(from, [n, y, x, c]), from.stride[2], count, from.kind, from.dtype);
        v[..count as usize].iter_mut().for_each(|v| *v = drive * *v / (1.0 + (drive * *v).abs()));
        rows.store_f64.unwrap()(at(to, [n, y, x, c]), to.stride[2], v.as_ptr(), count, to.kind, to.dtype, (*job).notes);
    }
    FC_OK
}

static DRIVE: Constant<fc_param> = Constant(fc_param { size: size!(fc_param), type_: FC_FLOAT as i32, flags: FC_PARAM_MAIN,
    name: text!("drive"), doc: text!("Gain before the bend."), preset: text!("2"), ..zero!(fc_param) });
static CPU: Constant<fc_backend> = Constant(fc_backend { size: size!(fc_backend), device_kind: FC_KIND_HOST,
    process: Some(process), ..zero!(fc_backend) });
static PARAMS: Constant<[*const fc_param; 1]> = Constant([&DRIVE.0]);
static BACKENDS: Constant<[*const fc_backend; 2]> = Constant([&CPU.0, null()]);
static EXAMPLES: Constant<[*const c_char; 2]> = Constant([text!("bend:4"), null()]);
static BEND: Constant<fc_operator> = Constant(fc_operator { size: size!(fc_operator), flags: FC_OP_KEEPS_MEANING,
    name: text!("bend"), summary: text!("bend loud sound into full scale"), doc: text!("v / (1 + |v|), v = drive x."),
    examples: &EXAMPLES.0[0], kinds: 1 << FC_AUDIO, dtypes_in: 63, dtypes_out: 63, n_params: 1, params: &PARAMS.0[0],
    create: Some(create), backends: &BACKENDS.0[0], ..zero!(fc_operator) });
static OPERATORS: Constant<[*const fc_operator; 1]> = Constant([&BEND.0]);
static PLUGIN: Constant<fc_plugin> = Constant(fc_plugin { size: size!(fc_plugin), abi: FC_PLUGIN_ABI, n_operators: 1,
    id: text!("org.example.bend"), version: text!("1.0"), author: text!("you"), license: text!("MIT"),
    url: text!("https://example.org/bend"), operators: &OPERATORS.0[0] });

#[no_mangle]
pub extern "C" fn fc_plugin_entry_v1() -> *const fc_plugin { &PLUGIN.0 }

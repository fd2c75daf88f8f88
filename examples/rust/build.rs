// SPDX-License-Identifier: MIT
//! Bindings from the installed header: bindgen makes fc.rs of plugin.h.
use std::{env, fs, path::Path, process::Command};

fn main() {
    let folder = env::var("OUT_DIR").unwrap();
    let (header, bindings) = (Path::new(&folder).join("fc.h"), Path::new(&folder).join("fc.rs"));
    fs::write(&header, "#include <plugin.h>\n").unwrap();
    let flags = Command::new("pkg-config").args(["--cflags", "filterchain-plugin"]).output().expect("no pkg-config");
    assert!(flags.status.success(), "filterchain is not installed, or PKG_CONFIG_PATH does not name it");
    let done = Command::new("bindgen")
        .args(["--no-prepend-enum-name", "--allowlist-type", "fc_.*", "--allowlist-var", "FC_.*", "-o"])
        .args([&bindings, &header])
        .arg("--")
        .args(String::from_utf8(flags.stdout).unwrap().split_whitespace())
        .status();
    assert!(done.expect("no bindgen: apt-get install bindgen").success());
}

// Where libhoplite.so is: HOPLITE_LIB_DIR, else what pkg-config says, else where linkers look.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=HOPLITE_LIB_DIR");
    let by_pkg_config = || {
        let said = Command::new("pkg-config").args(["--variable=libdir", "hoplite"]).output().ok()?;
        let text = String::from_utf8(said.stdout).ok()?.trim().to_string();
        (said.status.success() && !text.is_empty()).then(|| text)
    };
    if let Some(dir) = std::env::var("HOPLITE_LIB_DIR").ok().or_else(by_pkg_config) {
        println!("cargo:rustc-link-search=native={dir}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
    }
    println!("cargo:rustc-link-lib=dylib=hoplite");
}

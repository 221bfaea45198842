//! cbindgen makes `include/justfull_plugin.h` from `src/abi.rs`. The header is in the tree, so a
//! user needs no cbindgen and no Rust. `JUSTFULL_BLESS=1` writes it.

use std::fs;
use std::path::Path;

fn generated(root: &Path) -> String {
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    let builder = cbindgen::Builder::new().with_config(config).with_src(root.join("src/abi.rs"));
    let mut bytes = Vec::new();
    builder.generate().expect("bindings").write(&mut bytes);
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn the_header_is_what_the_sources_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (path, text) = (root.join("include/justfull_plugin.h"), generated(root));
    if std::env::var_os("JUSTFULL_BLESS").is_some() {
        fs::write(&path, &text).expect("the header can be written");
    }
    let present = fs::read_to_string(&path).expect("a header");
    assert!(
        present == text,
        "include/justfull_plugin.h is not what the sources say: \
         JUSTFULL_BLESS=1 cargo test -p justfull-plugin --test header"
    );
}

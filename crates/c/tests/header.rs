//! cbindgen makes `include/justfull.h` from the library's sources. The header is in the tree, so a
//! user of the library needs no cbindgen and no Rust. `JUSTFULL_BLESS=1` writes it.

use std::fs;
use std::path::Path;

fn generated(root: &Path) -> String {
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    // It follows the modules.
    let builder = cbindgen::Builder::new().with_config(config).with_src(root.join("src/lib.rs"));
    let mut bytes = Vec::new();
    builder.generate().expect("bindings").write(&mut bytes);
    let text = String::from_utf8(bytes).expect("UTF-8");
    without_safety(&text)
}

/// The contract of pointers stands once, at the top.
fn without_safety(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut within = false;
    for line in text.lines() {
        if line.trim() == "* # Safety" {
            within = true;
            lines.pop();
        }
        within &= line.trim() != "*/";
        if !within {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_header_is_what_the_sources_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (path, text) = (root.join("include/justfull.h"), generated(root));
    if std::env::var_os("JUSTFULL_BLESS").is_some() {
        fs::write(&path, &text).expect("the header can be written");
    }
    let present = fs::read_to_string(&path).expect("a header");
    assert!(
        present == text,
        "include/justfull.h is not what the sources say: \
         JUSTFULL_BLESS=1 cargo test -p justfull-c --test header"
    );
}

#[test]
fn the_cpp_header_covers_every_function() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [cpp, symbols] = ["include/justfull.hpp", "symbols.txt"]
        .map(|file| fs::read_to_string(root.join(file)).expect("a file"));
    let left: Vec<&str> = symbols
        .lines()
        .filter(|name| name.starts_with("jf_"))
        .filter(|name| {
            ![format!("{name}("), format!("{name}>")].iter().any(|use_| cpp.contains(use_))
        })
        .collect();
    assert!(left.is_empty(), "include/justfull.hpp lacks {left:?}");
}

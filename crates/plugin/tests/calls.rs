//! Shared libraries from C: which are refused, and what the others decide.

use justfull_base::{Duration, Instant};
use justfull_plugin::Plugin;
use justfull_ran::limiter::{AnyLimiter, Drql, conformance};
use justfull_ran::limiter::{CapacityUnit, GrantContext, Limiter, LimiterConfig, RlcView};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `source` with every warning an error and `flags` into a shared library `name` in `out`.
fn compiled(source: &str, flags: &[&str], out: &Path, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = out.join(format!("{name}.so"));
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]);
    command.args(flags).arg("-I").arg(root.join("include")).arg(root.join(source));
    let done = command.args(["-o".as_ref(), library.as_os_str()]).arg("-lm").output();
    let done = done.expect("a compiler for C");
    assert!(done.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&done.stderr));
    library
}

/// The limiter of `odd.c` with `flags`, called `name`.
fn odd(flags: &[&str], out: &Path, name: &str) -> PathBuf {
    let flags = [&["-DENTRY=justfull_limiter"], flags].concat();
    compiled("tests/programs/odd.c", &flags, out, name)
}

#[test]
fn a_library_with_a_wrong_table_is_refused_by_what_is_wrong() {
    let out = tempfile::tempdir().expect("a folder");
    let long = format!("-DNAME=\"{}\"", "n".repeat(65));
    for (i, (flags, told)) in [
        (vec!["-DABI=1"], "found `abi` 1, allowed is 2 (JF_PLUGIN_ABI): compile it with this"),
        (vec!["-DSIZE=8"], "found `size` 8, allowed is 88 (sizeof(jf_plugin_limiter))"),
        (vec!["-DFLAGS=4"], "found `flags` 0x4, allowed is JF_PLUGIN_OVERDRAWS,"),
        (vec!["-DNAME=0"], "found `name` NULL, allowed is 1 to 64 bytes of printable UTF-8"),
        (vec!["-DNAME=\"\""], "found `name` \"\", allowed is"),
        (vec!["-DNAME=\"a\\nb\""], "found `name` \"a\\nb\", allowed is"),
        (vec!["-DNAME=\"\\xff\""], "found `name` invalid utf-8"),
        (vec![long.as_str()], "found `name` without an end, allowed is"),
        (vec!["-DWITHOUT=create"], "found `create` NULL, allowed is a function"),
        (vec!["-DWITHOUT=destroy"], "found `destroy` NULL, allowed is a function"),
        (vec!["-DWITHOUT=room"], "found `room` NULL, allowed is a function"),
        (vec!["-DTABLE=NULL"], "found 0x0 from `justfull_limiter`, allowed is the address"),
    ]
    .into_iter()
    .enumerate()
    {
        let library = odd(&flags, out.path(), &format!("odd{i}"));
        let error = Plugin::load(&library).expect_err(told).to_string();
        assert!(error.contains(told), "{flags:?}: {error}");
        assert!(error.starts_with(&*library.to_string_lossy()), "{error}");
    }
}

#[test]
fn a_wrong_setting_of_a_table_is_refused_by_its_field() {
    let out = tempfile::tempdir().expect("a folder");
    for (i, (flag, told)) in [
        ("-DCOUNT=65", "found `settings_count` 65, allowed is 0 to 64 (JF_PLUGIN_MOST_SETTINGS)"),
        ("-DWITHOUT=settings", "found `settings` 0x0, allowed is the address of the settings"),
        ("-DKEY=0", "found `settings[0]`: `name` NULL, allowed is 1 to 64 bytes"),
        ("-DKEY=\"Least\"", "found `settings[0]`: `name` \"Least\", allowed is a to z, 0 to 9"),
        ("-DKEY=\"0\"", "found `settings[0]`: `name` \"0\", allowed is a to z, 0 to 9"),
        ("-DKEY=\"a.b\"", "found `settings[0]`: `name` \"a.b\", allowed is a to z, 0 to 9"),
        ("-DKEY=\"most\"", "found `settings[1]`: `name` \"most\" twice, allowed is each name once"),
        ("-DUNIT=\"\"", "found `settings[0]`: `unit` \"\", allowed is 1 to 64 bytes"),
        ("-DTEXT=0", "found `settings[0]`: `text` NULL, allowed is 1 to 256 bytes"),
        ("-DDEFAULT=5", "`default_value` 5 of `least`, allowed is `min` 1 to `max` 4"),
        ("-DMIN=5", "`default_value` 2 of `least`, allowed is `min` 5 to `max` 4"),
        ("-DMIN=__builtin_nan(\"\")", "`min` NaN of `least`, allowed is a finite number"),
        ("-DNAME=\"a.b\"", "found `name` \"a.b\", allowed is one without . [ ] =: paths name it"),
    ]
    .into_iter()
    .enumerate()
    {
        let flags: &[&str] =
            if flag.starts_with("-DCOUNT") { &[flag] } else { &[flag, "-DCOUNT=2"] };
        let library = odd(flags, out.path(), &format!("setting{i}"));
        let error = Plugin::load(&library).expect_err(told).to_string();
        assert!(error.contains(told), "{flag}: {error}");
    }
}

#[test]
fn an_object_gets_the_values_in_the_order_of_the_settings() {
    let out = tempfile::tempdir().expect("a folder");
    let flags = ["-DCOUNT=2", "-DROOM=(uint64_t)(1000 * ((double *)own)[0] + ((double *)own)[1])"];
    let plugin = Plugin::load(&odd(&flags, out.path(), "values")).expect("it is sound");
    let all: Vec<_> = plugin.settings.iter().map(|s| (&*s.name, s.default, s.allowed())).collect();
    let expected =
        [("least", 2.0, "1 to 4 packets".to_string()), ("most", 20.0, "10 to 40 packets".into())];
    assert_eq!(all, expected);
    for (values, room) in [([2.0, 20.0], 2020), ([3.5, 11.0], 3511)] {
        let mut limiter = AnyLimiter::new(&plugin.limiter(&values), &CONTEXT).expect("it is made");
        assert_eq!(limiter.room(Instant::ZERO, &RlcView::default()), room);
    }
    assert_eq!(plugin.limiter(&[3.0, 11.0]), plugin.limiter(&[3.0, 11.0]));
    assert_ne!(plugin.limiter(&[3.0, 11.0]), plugin.limiter(&[3.0, 12.0]));
}

#[test]
fn what_is_no_library_with_a_limiter_is_refused() {
    let out = tempfile::tempdir().expect("a folder");
    let text = out.path().join("text.so");
    fs::write(&text, "no library\n").expect("it is written");
    let empty = out.path().join("empty.so");
    fs::write(&empty, "").expect("it is written");
    let other = compiled("tests/programs/odd.c", &["-DENTRY=other"], out.path(), "other");
    let whole = fs::read(&other).expect("it is there");
    let half = out.path().join("half.so");
    fs::write(&half, &whole[..whole.len() / 2]).expect("it is written");
    let start = out.path().join("start.so");
    fs::write(&start, &whole[..100]).expect("it is written");
    for (file, told) in [
        (out.path().join("missing.so"), "No such file"),
        (out.path().into(), "no regular file"),
        ("/dev/zero".into(), "no regular file"),
        (text, "allowed is a shared library for this machine"),
        (empty, "allowed is a shared library for this machine"),
        (half, "only a part of a library, allowed is a whole one"),
        (start, "only a part of a library, allowed is a whole one"),
        (other, "a library without it, allowed is one that exports `justfull_limiter`"),
    ] {
        let error = Plugin::load(&file).expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    }
}

const CONTEXT: GrantContext =
    GrantContext { unit: CapacityUnit::Packets, slot: Duration::from_millis(1), mtu: 1500 };

#[test]
fn rooms_out_of_bounds_are_no_limit_and_are_counted() {
    let out = tempfile::tempdir().expect("a folder");
    for (i, (room, expected, count)) in [
        ("7", 7, 0),
        ("JF_PLUGIN_MOST", 1 << 40, 0),
        ("JF_PLUGIN_MOST + 1", u64::MAX, 1),
        ("UINT64_C(1) << 63", u64::MAX, 1),
        ("UINT64_MAX", u64::MAX, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let library = odd(&[&format!("-DROOM={room}")], out.path(), &format!("room{i}"));
        let plugin = Plugin::load(&library).expect("it is sound");
        let mut limiter = AnyLimiter::new(&plugin.limiter(&[]), &CONTEXT).expect("it is made");
        let found = limiter.room(Instant::ZERO, &RlcView::default());
        assert_eq!((found, plugin.odd_rooms()), (expected, count), "{room}");
    }
}

#[test]
fn a_limiter_that_its_library_does_not_make_is_an_error() {
    let out = tempfile::tempdir().expect("a folder");
    let library = odd(&["-DCREATE=refuse"], out.path(), "refuses");
    let plugin = Plugin::load(&library).expect("its table is sound");
    let error = AnyLimiter::new(&plugin.limiter(&[]), &CONTEXT).err().expect("no limiter");
    assert!(error.to_string().contains("`create` returned NULL"), "{error}");
}

#[test]
fn the_example_in_c_keeps_the_rules_of_limiters_and_starts_as_the_built_in_one() {
    let out = tempfile::tempdir().expect("a folder");
    let library = compiled("../../examples/plugin-c/drql.c", &["-pedantic"], out.path(), "drql");
    let plugin = Plugin::load(&library).expect("it is sound");
    assert_eq!((plugin.name.as_str(), plugin.sha256.len()), ("DRQL in C", 64));
    let limiter = plugin.limiter(&[1.2, 1024.0]);
    let rules = conformance::check(&limiter);
    assert!(rules.as_ref().is_ok_and(|rules| rules.len() == 6), "{rules:?}");
    for unit in [CapacityUnit::Packets, CapacityUnit::Bytes] {
        let context = GrantContext { unit, ..CONTEXT };
        let config = LimiterConfig::by_name("drql").expect("it ships");
        let LimiterConfig::Drql(config) = config else { panic!("it is DRQL") };
        let mut known = Drql::new(&config, &context).expect("in bounds");
        let mut own = AnyLimiter::new(&limiter, &context).expect("it is made");
        let view = RlcView { packets: 3, bytes: 4000 };
        assert_eq!(own.room(Instant::ZERO, &view), known.room(Instant::ZERO, &view));
        assert!(own.overdraws() && own.wants_reports() && !own.paces());
    }
}

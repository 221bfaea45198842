//! Loads a shared library and checks its table.

use crate::abi::{
    JF_PLUGIN_ABI, JF_PLUGIN_MOST_SETTINGS, JF_PLUGIN_OVERDRAWS, JF_PLUGIN_PACES,
    jf_plugin_grants as Grants, jf_plugin_limiter as Limiter, jf_plugin_setting as Setting,
};
use crate::whole::is_whole;
use justfull_base::make::OwnSetting;
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::mem::{offset_of, size_of};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Name of the function that a library exports.
const ENTRY: &CStr = c"justfull_limiter";
/// Most bytes of a library.
const MOST_BYTES: u64 = 1 << 30;
/// Most bytes of a name or a unit.
const LONGEST_NAME: usize = 64;
/// Most bytes of a sentence.
const LONGEST_TEXT: usize = 256;

/// The reason why a file is no plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginError {
    /// The file.
    pub file: String,
    /// The value that was found.
    pub found: String,
    /// The allowed values.
    pub allowed: String,
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}, allowed is {}", self.file, self.found, self.allowed)
    }
}

impl std::error::Error for PluginError {}

impl PluginError {
    fn new(file: &Path, found: impl fmt::Display, allowed: &str) -> Self {
        Self { file: file.display().to_string(), found: found.to_string(), allowed: allowed.into() }
    }
}

/// SHA-256 of `file` in hexadecimal digits; the file is not loaded.
///
/// # Errors
/// It is no file of at most 1 GiB that can be read.
pub fn sha256_of(file: &Path) -> Result<String, PluginError> {
    let allowed = "a shared library that can be read";
    let of = |error: io::Error| PluginError::new(file, error, allowed);
    let about = fs::metadata(file).map_err(of)?;
    if !about.is_file() {
        return Err(PluginError::new(file, "no regular file", allowed));
    }
    if about.len() > MOST_BYTES {
        let allowed = format!("a shared library of at most {MOST_BYTES} bytes");
        return Err(PluginError::new(file, format!("{} bytes", about.len()), &allowed));
    }
    let mut content = File::open(file).map_err(of)?.take(MOST_BYTES);
    let (mut hash, mut block) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match content.read(&mut block).map_err(of)? {
            0 => break,
            n => hash.update(&block[..n]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The functions of a limiter, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) overdraws: bool,
    pub(crate) paces: bool,
    pub(crate) create: unsafe extern "C" fn(*const Grants, *const f64) -> *mut c_void,
    pub(crate) destroy: unsafe extern "C" fn(*mut c_void),
    pub(crate) room:
        unsafe extern "C" fn(*mut c_void, u64, *const crate::abi::jf_plugin_queue) -> u64,
    /// The functions that may be NULL.
    pub(crate) optional: Limiter,
}

// SAFETY: the pointers of a table are to functions, and to names and settings that are not read any
// more; the library that has them is never unloaded.
unsafe impl Send for Table {}
// SAFETY: as above; nothing is written.
unsafe impl Sync for Table {}

/// A library's limiter.
pub(crate) struct Loaded {
    pub(crate) table: Table,
    pub(crate) name: String,
    pub(crate) settings: Vec<OwnSetting>,
}

/// The limiter of the library in `file`, checked.
pub(crate) fn load(file: &Path) -> Result<Loaded, PluginError> {
    if cfg!(target_feature = "crt-static") {
        let allowed = "none: this program is linked statically and cannot load a shared library; \
                       the .deb, the wheel and `cargo install` can";
        return Err(PluginError::new(file, "a plugin", allowed));
    }
    // A path with a slash: a bare name would be searched for in the system's folders.
    let path = fs::canonicalize(file)
        .map_err(|error| PluginError::new(file, error, "a shared library that can be read"))?;
    let is_whole = File::open(&path).and_then(|file| is_whole(&file));
    if !is_whole.map_err(|error| PluginError::new(file, error, "a shared library"))? {
        return Err(PluginError::new(file, "only a part of a library", "a whole one"));
    }
    let path = CString::new(path.as_os_str().as_bytes())
        .map_err(|error| PluginError::new(file, error, "a path"))?;
    let entry = entry(file, &path)?;
    // SAFETY: the header gives the function this type.
    let entry: unsafe extern "C" fn() -> *const Limiter = unsafe { std::mem::transmute(entry) };
    // SAFETY: the header's contract: it has no arguments and returns.
    let table = unsafe { entry() };
    checked(table).map_err(|(found, allowed)| PluginError::new(file, found, &allowed))
}

/// The address of [`ENTRY`] in the library at `path`.
fn entry(file: &Path, path: &CStr) -> Result<*mut c_void, PluginError> {
    // SAFETY: `path` is a string of C. The code that a library runs when it is loaded is the
    // user's, who asked for it.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        let allowed = "a shared library for this machine: `cc -shared -fPIC`";
        return Err(PluginError::new(file, last_error(), allowed));
    }
    // SAFETY: `library` is a handle that is never closed, and the name is a string of C.
    let entry = unsafe { libc::dlsym(library, ENTRY.as_ptr()) };
    if entry.is_null() {
        let allowed = "one that exports `justfull_limiter` (justfull_plugin.h)";
        return Err(PluginError::new(file, "a library without it", allowed));
    }
    Ok(entry)
}

/// Why the last call of the loader failed.
fn last_error() -> String {
    // SAFETY: the loader's text is a string of C that stands until this thread's next call of it.
    let text = unsafe { libc::dlerror().cast_const().as_ref() };
    match text {
        // SAFETY: as above.
        Some(text) => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        None => "no reason".into(),
    }
}

/// Found and allowed values.
type Wrong = (String, String);

fn wrong(found: impl fmt::Display, allowed: impl fmt::Display) -> Wrong {
    (found.to_string(), allowed.to_string())
}

/// Checks the table that a library returned.
fn checked(table: *const Limiter) -> Result<Loaded, Wrong> {
    if table.is_null() || !table.is_aligned() {
        return Err(wrong(format!("{table:p} from `justfull_limiter`"), "the address of a table"));
    }
    // Only these two fields are the same in all versions.
    // SAFETY: a table of any version begins with them.
    let (abi, size) = unsafe {
        let field = |offset: usize| table.cast::<u8>().add(offset).cast::<u32>().read();
        (field(offset_of!(Limiter, abi)), field(offset_of!(Limiter, size)))
    };
    if abi != JF_PLUGIN_ABI {
        let allowed =
            format!("{JF_PLUGIN_ABI} (JF_PLUGIN_ABI): compile it with this justfull_plugin.h");
        return Err(wrong(format!("`abi` {abi}"), allowed));
    }
    if size as usize != size_of::<Limiter>() {
        let allowed = format!("{} (sizeof(jf_plugin_limiter))", size_of::<Limiter>());
        return Err(wrong(format!("`size` {size}"), allowed));
    }
    // SAFETY: a table of this version and size. Every value of each field is allowed: pointers and
    // numbers, and a function is NULL or there.
    let limiter = unsafe { table.read() };
    let flags = limiter.flags;
    if flags & !(JF_PLUGIN_OVERDRAWS | JF_PLUGIN_PACES) != 0 {
        let allowed = "JF_PLUGIN_OVERDRAWS, JF_PLUGIN_PACES, both or 0";
        return Err(wrong(format!("`flags` {flags:#x}"), allowed));
    }
    let null = |name: &str| wrong(format!("`{name}` NULL"), "a function");
    let name = text("name", limiter.name, LONGEST_NAME)?;
    let settings = settings(&limiter)?;
    if !settings.is_empty() && name.contains(['.', '[', ']', '=']) {
        return Err(wrong(format!("`name` {name:?}"), "one without . [ ] =: paths name it"));
    }
    let table = Table {
        overdraws: flags & JF_PLUGIN_OVERDRAWS != 0,
        paces: flags & JF_PLUGIN_PACES != 0,
        create: limiter.create.ok_or_else(|| null("create"))?,
        destroy: limiter.destroy.ok_or_else(|| null("destroy"))?,
        room: limiter.room.ok_or_else(|| null("room"))?,
        optional: limiter,
    };
    Ok(Loaded { table, name, settings })
}

/// The settings of `limiter`.
fn settings(limiter: &Limiter) -> Result<Vec<OwnSetting>, Wrong> {
    let (first, count) = (limiter.settings, limiter.settings_count);
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > JF_PLUGIN_MOST_SETTINGS {
        let allowed = format!("0 to {JF_PLUGIN_MOST_SETTINGS} (JF_PLUGIN_MOST_SETTINGS)");
        return Err(wrong(format!("`settings_count` {count}"), allowed));
    }
    if first.is_null() || !first.is_aligned() {
        return Err(wrong(format!("`settings` {first:p}"), "the address of the settings"));
    }
    // SAFETY: the header's contract: there are `count` settings. Every value of each field is
    // allowed: pointers and numbers.
    let all = unsafe { std::slice::from_raw_parts(first, count as usize) };
    let mut known: Vec<OwnSetting> = Vec::new();
    for (i, one) in all.iter().enumerate() {
        let of = |(found, allowed)| (format!("`settings[{i}]`: {found}"), allowed);
        let setting = setting(one).map_err(of)?;
        if known.iter().any(|other| other.name == setting.name) {
            let twice = wrong(format!("`name` {:?} twice", setting.name), "each name once");
            return Err(of(twice));
        }
        known.push(setting);
    }
    Ok(known)
}

/// A setting, checked.
fn setting(one: &Setting) -> Result<OwnSetting, Wrong> {
    let name = text("name", one.name, LONGEST_NAME)?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
        return Err(wrong(format!("`name` {name:?}"), "a to z, 0 to 9 and _, a letter first"));
    }
    let unit = text("unit", one.unit, LONGEST_NAME)?;
    let sentence = text("text", one.text, LONGEST_TEXT)?;
    let Setting { default_value, min, max, .. } = *one;
    for (field, value) in [("min", min), ("max", max)] {
        if !value.is_finite() {
            return Err(wrong(format!("`{field}` {value} of `{name}`"), "a finite number"));
        }
    }
    let setting = OwnSetting { name, unit, default: default_value, min, max, text: sentence };
    if !setting.allows(default_value) {
        let found = format!("`default_value` {default_value} of `{}`", setting.name);
        return Err(wrong(found, format!("`min` {min} to `max` {max}")));
    }
    Ok(setting)
}

/// The text at `from`, the field `field`, of which at most `most` bytes and their end are read.
fn text(field: &str, from: *const c_char, most: usize) -> Result<String, Wrong> {
    let allowed = || format!("1 to {most} bytes of printable UTF-8");
    if from.is_null() {
        return Err(wrong(format!("`{field}` NULL"), allowed()));
    }
    let mut bytes = Vec::new();
    // SAFETY: the header's contract: a string of C. Reading ends at its end or before.
    while let byte @ 1.. = unsafe { from.add(bytes.len()).cast::<u8>().read() } {
        if bytes.len() == most {
            return Err(wrong(format!("`{field}` without an end"), allowed()));
        }
        bytes.push(byte);
    }
    let text =
        String::from_utf8(bytes).map_err(|error| wrong(format!("`{field}` {error}"), allowed()))?;
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err(wrong(format!("`{field}` {text:?}"), allowed()));
    }
    Ok(text)
}

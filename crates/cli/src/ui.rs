//! `ui`: a page on loopback.

use crate::args::ThreadsArgs;
use clap::Args;
use std::path::PathBuf;

/// Look at a cell and touch it: a page in your browser, served on this machine only
#[derive(Args)]
#[command(after_help = "Examples:\n  justfull ui\n  justfull ui results --port 8100\n  \
    justfull ui --watch 9100                           a run of `justfull live --metrics 9100`\n  \
    justfull ui --watch /run/justfull-proxy.sock       a running proxy\n\n\
    The page simulates while you move its controls. Its address has a token; keep it to yourself. \
    Ctrl-C ends it.")]
pub(crate) struct UiArgs {
    /// Folder with earlier results. It also keeps traces dropped on the page, and scenarios of the
    /// page read no other files
    #[arg(default_value = "results")]
    folder: PathBuf,
    /// Port on the loopback address; 0 for any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Show this live run or proxy while it runs: an address of metrics such as
    /// http://127.0.0.1:9100/metrics, a port of 127.0.0.1, or the socket of a proxy; may be given
    /// several times
    #[arg(long, value_name = "PLACE")]
    watch: Vec<String>,
    /// Print the address without opening a browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    jobs: ThreadsArgs,
}

#[cfg(feature = "ui")]
pub(crate) use shown::ui;

#[cfg(feature = "ui")]
mod shown {
    use super::UiArgs;
    use crate::failure::Failure;
    use crate::name::VERSION;
    use crate::runs::threads;
    use crate::scenarios::data_dir;
    use crate::terminal::{print, say};
    use crate::unknown::shown;
    use justfull_ui::{Options, Ui, Watched};
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    /// Serves the page until Ctrl-C.
    pub(crate) fn ui(args: &UiArgs) -> Result<(), Failure> {
        let place = |text: &String| {
            let parsed = text.parse::<Watched>();
            parsed.map_err(|why| Failure::Usage(format!("--watch: found {}, {why}", shown(text))))
        };
        if args.folder.exists() && !args.folder.is_dir() {
            let found = args.folder.display();
            return Err(Failure::Usage(format!("FOLDER: found {found}, allowed is a folder")));
        }
        let options = Options {
            port: args.port,
            folder: args.folder.clone(),
            data: data_dir(),
            watched: args.watch.iter().map(place).collect::<Result<_, _>>()?,
            threads: threads(&args.jobs),
            version: VERSION.into(),
        };
        let cannot = |error: std::io::Error| {
            Failure::Usage(format!("--port: found {}, allowed is a free port: {error}", args.port))
        };
        let (ended, end) = mpsc::channel();
        let set = ctrlc::set_handler(move || _ = ended.send(()));
        set.map_err(|error| Failure::Failed(error.to_string()))?;
        let page = Ui::start(options).map_err(cannot)?;
        print(&format!("{}\n", page.url()))?;
        say("Ctrl-C ends it");
        if !args.no_browser {
            open(&page.url());
        }
        let _ = end.recv();
        Ok(())
    }

    /// Opens `url` in the desktop's browser, if there is one.
    fn open(url: &str) {
        let desktop =
            ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
        if desktop {
            let mut browser = Command::new("xdg-open");
            browser.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            // Without a browser, the user has the address on the terminal.
            let _ = browser.spawn();
        }
    }
}

//! A file of records of one kind, in one of the formats.

use super::columns::{Read, RecordColumn, names_of};
#[cfg(feature = "parquet")]
use super::parquet;
use super::text;
use crate::export::facts::RunFacts;
use crate::export::sink::{ExportError, Sink};
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Records that go to the writer at once.
const BLOCK: usize = 1 << 10;

/// Blocks that may wait for the writer: about as many as a run makes while a row group is encoded,
/// so that neither waits for the other.
const WAITING: usize = 64;

/// Format of a file of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet, in row groups, compressed by Snappy; with the feature `parquet`.
    #[cfg(feature = "parquet")]
    Parquet,
    /// Comma-separated values (RFC 4180), after one line that starts with `#`.
    Csv,
    /// One JSON object a line.
    JsonLines,
}

impl Format {
    /// The formats with their names, which are also their file extensions.
    pub const ALL: &'static [(Self, &'static str)] = &[
        #[cfg(feature = "parquet")]
        (Self::Parquet, "parquet"),
        (Self::Csv, "csv"),
        (Self::JsonLines, "jsonl"),
    ];

    /// The format for the extension of `path`; `ndjson` is another name for JSON lines.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        let name = if ending == "ndjson" { "jsonl" } else { &ending };
        Self::ALL.iter().find(|(_, own)| *own == name).map(|(format, _)| *format)
    }
}

enum Form {
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::Writer>),
    Csv(Sink),
    JsonLines(Sink),
}

/// The end of a file of records of kind `R` in the writer's thread.
struct Writer<R: 'static> {
    form: Form,
    columns: &'static [RecordColumn<R>],
    /// Names by column: the single text for a fact of the run; empty for whole numbers and missing
    /// values.
    names: Vec<Vec<String>>,
}

/// Messages from the run to the writer. A channel that closes without `Finish` cancels the file.
enum Message<R> {
    Block(Vec<R>),
    Finish,
}

/// A file of records of kind `R`, written by a separate thread, since encoding takes about as long
/// as the run itself. Timing does not affect the content.
pub struct RecordFile<R: 'static> {
    block: Vec<R>,
    to_writer: Option<SyncSender<Message<R>>>,
    /// Written blocks, for reuse.
    emptied: Receiver<Vec<R>>,
    writer: Option<JoinHandle<io::Result<Option<Sink>>>>,
}

impl<R> Writer<R> {
    fn new(
        mut sink: Sink,
        format: Format,
        columns: &'static [RecordColumn<R>],
        facts: &RunFacts,
    ) -> io::Result<Self> {
        let names = columns.iter().map(|column| match column.read {
            Read::Whole(..) => Vec::new(),
            Read::Name(names, _) => names_of(names, &facts.classes),
            Read::Run(fact) => fact.text(&facts.provenance).into_iter().collect(),
        });
        let names: Vec<Vec<String>> = names.collect();
        let form = match format {
            #[cfg(feature = "parquet")]
            Format::Parquet => Form::Parquet(Box::new(parquet::Writer::new(
                sink,
                columns,
                &names,
                &facts.provenance,
            )?)),
            Format::Csv => {
                text::csv_header(&mut sink, columns, &facts.provenance)?;
                Form::Csv(sink)
            }
            Format::JsonLines => {
                text::json_header(&mut sink, columns, &facts.provenance)?;
                Form::JsonLines(sink)
            }
        };
        Ok(Self { form, columns, names })
    }

    /// Writes blocks until the message that the file is complete or cancelled. Returns the sink of
    /// the complete file, or none if the file was cancelled.
    fn run(
        mut self,
        blocks: &Receiver<Message<R>>,
        emptied: &Sender<Vec<R>>,
    ) -> io::Result<Option<Sink>> {
        while let Ok(message) = blocks.recv() {
            let Message::Block(mut block) = message else {
                return match self.form {
                    #[cfg(feature = "parquet")]
                    Form::Parquet(writer) => writer.finish().map(Some),
                    Form::Csv(sink) | Form::JsonLines(sink) => Ok(Some(sink)),
                };
            };
            match &mut self.form {
                #[cfg(feature = "parquet")]
                Form::Parquet(writer) => writer.write(self.columns, &block)?,
                Form::Csv(sink) => text::csv_rows(sink, self.columns, &self.names, &block)?,
                Form::JsonLines(sink) => text::json_rows(sink, self.columns, &self.names, &block)?,
            }
            block.clear();
            // A finished run needs no more blocks.
            let _ = emptied.send(block);
        }
        Ok(None)
    }
}

impl<R: Send> RecordFile<R> {
    /// Opens `path` for records of the run of `facts`.
    ///
    /// # Errors
    /// Names the file when it cannot be written.
    pub fn create(
        path: &Path,
        format: Format,
        columns: &'static [RecordColumn<R>],
        facts: &RunFacts,
    ) -> Result<Self, ExportError> {
        let failed = |what| ExportError { path: path.into(), what };
        let writer = Writer::new(Sink::create(path)?, format, columns, facts).map_err(failed)?;
        let (to_writer, blocks) = sync_channel(WAITING);
        let (give_back, emptied) = channel();
        let thread =
            Builder::new().name("records".into()).spawn(move || writer.run(&blocks, &give_back));
        Ok(Self {
            block: Vec::with_capacity(BLOCK),
            to_writer: Some(to_writer),
            emptied,
            writer: Some(thread.map_err(failed)?),
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The disk error, perhaps for an earlier record: records are buffered before they are written.
    #[inline]
    pub fn push(&mut self, record: R) -> io::Result<()> {
        self.block.push(record);
        if self.block.len() < BLOCK { Ok(()) } else { self.hand_on() }
    }

    #[cold]
    fn hand_on(&mut self) -> io::Result<()> {
        let next = self.emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(BLOCK));
        let full = std::mem::replace(&mut self.block, next);
        self.send(Message::Block(full))
    }

    fn send(&mut self, message: Message<R>) -> io::Result<()> {
        let sent = self.to_writer.as_ref().is_some_and(|to| to.send(message).is_ok());
        if sent { Ok(()) } else { self.join().map(drop) }
    }

    /// The writer's result.
    fn join(&mut self) -> io::Result<Option<Sink>> {
        self.to_writer = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => resume_unwind(panic),
            None => Err(io::Error::other("the file could not be written before")),
        }
    }

    /// Writes the remaining records and moves the file into place.
    ///
    /// # Errors
    /// Names the file if it cannot be written; no file is left then.
    pub fn commit(mut self, path: &Path) -> Result<(), ExportError> {
        let written =
            self.hand_on().and_then(|()| self.send(Message::Finish)).and_then(|()| self.join());
        match written.map_err(|what| ExportError { path: path.into(), what })? {
            Some(sink) => sink.commit(),
            None => Ok(()),
        }
    }
}

impl<R> Drop for RecordFile<R> {
    fn drop(&mut self) {
        self.to_writer = None;
        if let Some(writer) = self.writer.take() {
            // The partial file ends with its writer, and its result does not matter.
            let _ = writer.join();
        }
    }
}

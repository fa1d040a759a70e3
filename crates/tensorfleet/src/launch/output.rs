//! What the processes of a cluster write, line by line, with the name of the task before it.

use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::thread::JoinHandle;

/// A task's name before each of its lines, in a colour of its own on a terminal.
#[derive(Clone, Debug)]
pub(super) struct Label {
    text: String,
}

/// Colours that can be told apart on dark and on light ground.
const COLOURS: [u8; 6] = [32, 33, 34, 35, 36, 31];

impl Label {
    /// The label of the task that is `position` in the list of all, as wide as the widest.
    pub(super) fn new(name: &str, width: usize, position: usize) -> Label {
        let coloured = io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let text = format!("[{name:width$}]");
        let colour = COLOURS[position % COLOURS.len()];
        Label { text: if coloured { format!("\x1b[{colour}m{text}\x1b[0m") } else { text } }
    }

    /// Passes on what a process writes until it ends.
    pub(super) fn pass_on(&self, source: impl Read + Send + 'static) -> JoinHandle<()> {
        let label = self.clone();
        std::thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            // What is not text is passed on too.
            while source.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                label.write(&line);
                line.clear();
            }
        })
    }

    /// Writes a line of a task.
    pub(super) fn write(&self, line: &[u8]) {
        let mut output = io::stdout().lock();
        let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
        // There is nobody left to tell if this fails.
        let written = [self.text.as_bytes(), b" ", line, end].map(|part| output.write_all(part));
        drop((written, output.flush()));
    }
}

//! A terminal that is drawn on, and left as it was.

use std::io::{self, IsTerminal, Read, Write};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::sync::mpsc;

use super::picture::{Line, Look, Size};

/// What somebody pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Other,
}

/// The other screen of the terminal, as editors use it.
#[derive(Debug)]
pub(super) struct Screen {
    /// How the terminal read what is typed, if it can be read.
    typing: Option<Termios>,
    is_coloured: bool,
}

impl Screen {
    /// Opens the screen and tells of keys.
    pub(super) fn open(keys: mpsc::Sender<Key>) -> io::Result<Screen> {
        let typing = if io::stdin().is_terminal() { Some(tcgetattr(io::stdin())?) } else { None };
        if let Some(typing) = &typing {
            let mut raw = typing.clone();
            raw.make_raw();
            tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
            // It ends with the process: nothing can be read from a terminal and given up.
            std::thread::spawn(move || {
                for byte in io::stdin().lock().bytes() {
                    let key = match byte {
                        // Control and C, or D, are no signals here.
                        Ok(b'q' | b'Q' | 3 | 4) => Key::Quit,
                        Ok(_) => Key::Other,
                        Err(_) => return,
                    };
                    if keys.blocking_send(key).is_err() {
                        return;
                    }
                }
            });
        } else {
            // Nobody can press anything, which is not the same as being gone.
            std::mem::forget(keys);
        }
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let screen = Screen { typing, is_coloured: !no_colour };
        write(b"\x1b[?1049h\x1b[?25l")?;
        Ok(screen)
    }

    pub(super) fn size(&self) -> Size {
        let found = tcgetwinsize(io::stdout()).ok();
        let found = found.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        found.map_or(Size { columns: 80, rows: 24 }, |size| Size {
            columns: size.ws_col.into(),
            rows: size.ws_row.into(),
        })
    }

    /// Draws over what is there, line by line, so that nothing flickers.
    pub(super) fn draw(&mut self, lines: &[Line]) -> io::Result<()> {
        let size = self.size();
        let mut text = String::from("\x1b[H");
        for (number, line) in lines.iter().take(size.rows).enumerate() {
            if number > 0 {
                text += "\r\n";
            }
            let shown: String = line.text.chars().take(size.columns).collect();
            let look = match line.look {
                Look::Plain => "",
                Look::Heading => "\x1b[1m",
                Look::Bad if self.is_coloured => "\x1b[31m",
                Look::Warn if self.is_coloured => "\x1b[33m",
                Look::Bad | Look::Warn => "\x1b[1m",
            };
            text += look;
            text += &shown;
            text += if look.is_empty() { "\x1b[K" } else { "\x1b[0m\x1b[K" };
        }
        text += "\x1b[J";
        write(text.as_bytes())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // There is nothing left to do where this fails.
        let _ = write(b"\x1b[?25h\x1b[?1049l");
        if let Some(typing) = &self.typing {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, typing);
        }
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    output.flush()
}

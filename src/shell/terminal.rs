//! The terminal: taken over, certainly given back, and its keys as chords.

use crate::app::{Chord, Event, Key};
use crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Alternate screen, no cursor, pasted text told from typed.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?2004h";
/// The reverse; margins and colours first, for a program that died while it drew.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[r\x1b[0m\x1b[?2004l\x1b[?1049l\x1b[?25h";

static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours. Dropping it gives it back; so does a panic.
#[derive(Debug)]
pub(super) struct Terminal;

impl Terminal {
    /// Takes the terminal.
    pub(super) fn take() -> io::Result<Self> {
        enter()?;
        let earlier = std::panic::take_hook();
        let ours = std::thread::current().id();
        std::panic::set_hook(Box::new(move |panic| {
            // A worker's panic is told by its thread as an event; the screen goes on.
            if std::thread::current().id() == ours {
                give_back();
                earlier(panic);
            }
        }));
        Ok(Self)
    }
}

/// Takes the terminal again after `give_back`.
pub(super) fn retake() -> io::Result<()> {
    enter()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let mut out = io::stdout().lock();
    out.write_all(ENTER)?;
    out.flush()
}

/// Gives the terminal to whoever else wants it.
pub(super) fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // The terminal may be gone: then there is nothing to give back.
        let mut out = io::stdout().lock();
        let _ = out.write_all(LEAVE);
        let _ = out.flush();
        let _ = disable_raw_mode();
    }
}

/// Columns and rows.
pub(super) fn size() -> (u16, u16) {
    crossterm::terminal::size().unwrap_or((80, 24))
}

/// Waits for input and hands it over, until the terminal or the receiver is gone.
pub(super) fn read_input(send: &dyn Fn(Event) -> bool) {
    // Asking for input is what makes changes of the size heard; one may have come before.
    let _ = event::poll(Duration::ZERO);
    let (width, height) = size();
    send(Event::Resize(width, height));
    loop {
        let event = match event::read() {
            Ok(event::Event::Key(key)) if key.kind != KeyEventKind::Release => {
                chord(key).map(Event::Key)
            }
            Ok(event::Event::Resize(width, height)) => Some(Event::Resize(width, height)),
            Ok(event::Event::Paste(text)) => Some(Event::Paste(text)),
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(_) => {
                send(Event::Quit);
                return;
            }
        };
        if let Some(event) = event
            && !send(event)
        {
            return;
        }
    }
}

fn chord(key: KeyEvent) -> Option<Chord> {
    let key_of = match key.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PgUp,
        KeyCode::PageDown => Key::PgDn,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    };
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    Some(Chord { key: key_of, ctrl, alt })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
    use std::io::Read;

    /// Run in a terminal of its own by the test below.
    #[test]
    #[ignore = "it panics, and the test below looks on"]
    fn it_dies_while_it_has_the_terminal() {
        let _terminal = Terminal::take().unwrap();
        panic!("a fault");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_speaks() {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        let test = "shell::terminal::tests::it_dies_while_it_has_the_terminal";
        command.args(["--ignored", "--exact", "--nocapture", "--test-threads=1", test]);
        let before = line_flags(&*pair.master);
        let mut child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let reading = std::thread::spawn(move || {
            let mut output = Vec::new();
            let mut buffer = [0; 4096];
            // The other end is gone: an error on Linux.
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                output.extend_from_slice(&buffer[..read]);
            }
            output
        });
        child.wait().unwrap();
        let after = line_flags(&*pair.master);
        drop(pair.slave);
        let written = reading.join().unwrap();
        let find = |wanted: &[u8]| memchr::memmem::find(&written, wanted);
        let all = String::from_utf8_lossy(&written);
        assert!(find(ENTER) < find(LEAVE) && find(LEAVE) < find(b"a fault"), "{all}");
        assert!(find(ENTER).is_some(), "{all}");
        assert!(before.contains("ICANON"), "{before}");
        assert_eq!(before, after);
    }

    fn line_flags(terminal: &dyn MasterPty) -> String {
        format!("{:?}", terminal.get_termios().unwrap().local_flags)
    }
}

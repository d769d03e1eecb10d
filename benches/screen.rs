//! What a page and a line of scrolling cost on a 200×60 screen, in a 200,000-line comparison, against
//! ratatui's own output of the same frames. Ratios of one run; `cargo bench --bench screen`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench prints and may fail"
)]
#![allow(missing_docs, clippy::cast_precision_loss, reason = "a bench is read, not called")]

use handback::app::{App, Base, Choices, Chord, Event, Key, update};
use handback::content::{Changes, ContentId, FileChange, Pair};
use handback::diff::{Limit, compare};
use handback::reader::{Shown, TurnHead};
use handback::session::ChangedFile;
use handback::shell::Painter;
use handback::view::{Depth, Theme, draw};
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SIZE: (u16, u16) = (200, 60);

/// Numbers that look random and are the same each time.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

fn texts() -> (String, String) {
    const WORDS: [&str; 8] =
        ["let", "buffer", "return", "index", "parse", "value", "match", "tree"];
    let mut number = numbers(1);
    let (mut old, mut new) = (String::new(), String::new());
    for at in 0..200_000u64 {
        let words = 2 + number(7);
        let line: Vec<_> =
            (0..words).map(|_| format!("{}{}", WORDS[number(8) as usize], number(100))).collect();
        let line = format!("{}{};\n", "    ".repeat(number(4) as usize), line.join(" "));
        old.push_str(&line);
        match at % 10 {
            0 => new.push_str(&line.replace(';', "; //m")),
            5 if number(3) == 0 => {}
            _ => new.push_str(&line),
        }
    }
    (old, new)
}

fn app(old: &str, new: &str) -> App {
    let (old, new): (Arc<[u8]>, Arc<[u8]>) = (old.as_bytes().into(), new.as_bytes().into());
    let comparison =
        compare(Some(Arc::clone(&old)), Some(Arc::clone(&new)), &Limit::default()).unwrap();
    let pair = Pair::Sides { old: ContentId::Bytes(old), new: ContentId::Bytes(new) };
    let file = ChangedFile { display: "f.rs".into(), ..ChangedFile::default() };
    let change = FileChange { file, pair, counted: false, note: None };
    let changes = Changes { files: vec![change], ..Changes::default() };
    let mut app = App::new(SIZE, Choices::default());
    app.show_only_the_file();
    update(&mut app, Event::Turns { from: 0, turns: [TurnHead::default()].into_iter().collect() });
    update(
        &mut app,
        Event::Changes {
            turn: 0,
            revision: 0,
            base: Base::default(),
            changes: Ok(Some(Arc::new(changes))),
        },
    );
    let (request, shown) = (app.viewer.request, Shown::Text(Arc::new(comparison)));
    update(&mut app, Event::Compared { request, shown });
    app
}

/// Counts what is written.
#[derive(Clone, Default)]
struct Shared(Rc<Cell<usize>>);

impl Shared {
    fn take(&self) -> usize {
        self.0.take()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Cost {
    update: Duration,
    draw: Duration,
    paint: Duration,
    bytes: usize,
    ratatui: Duration,
    ratatui_bytes: usize,
}

fn walk(app: &mut App, key: Key, times: u32) -> Cost {
    let theme = Theme::dark(Depth::True);
    let area = Rect::new(0, 0, SIZE.0, SIZE.1);
    let mut ours = Painter::new(Vec::new(), true);
    let options = TerminalOptions { viewport: Viewport::Fixed(area) };
    let written = Shared::default();
    let backend = CrosstermBackend::new(written.clone());
    let mut theirs = Terminal::with_options(backend, options).unwrap();
    let mut cost = Cost {
        update: Duration::ZERO,
        draw: Duration::ZERO,
        paint: Duration::ZERO,
        bytes: 0,
        ratatui: Duration::ZERO,
        ratatui_bytes: 0,
    };
    for at in 0..=times {
        let start = Instant::now();
        if at > 0 {
            update(app, Event::Key(Chord::key(key)));
        }
        let updated = start.elapsed();
        let start = Instant::now();
        let mut frame = Buffer::empty(area);
        draw(app, &theme, &mut frame);
        let drawn = start.elapsed();
        let start = Instant::now();
        ours.paint(&frame, None).unwrap();
        let painted = start.elapsed();
        let bytes = std::mem::take(ours.out()).len();
        let start = Instant::now();
        theirs.draw(|to| to.buffer_mut().clone_from(&frame)).unwrap();
        let ratatui = start.elapsed();
        let ratatui_bytes = written.take();
        // The first frame is a whole screen, not a step.
        if at > 0 {
            cost.update += updated;
            cost.draw += drawn;
            cost.paint += painted;
            cost.bytes += bytes;
            cost.ratatui += ratatui;
            cost.ratatui_bytes += ratatui_bytes;
        }
    }
    let n = times;
    Cost {
        update: cost.update / n,
        draw: cost.draw / n,
        paint: cost.paint / n,
        bytes: cost.bytes / n as usize,
        ratatui: cost.ratatui / n,
        ratatui_bytes: cost.ratatui_bytes / n as usize,
    }
}

fn main() {
    let (old, new) = texts();
    let mut app = app(&old, &new);
    for layout in ["side by side", "unified"] {
        for (what, key, times) in [
            ("page", Key::PgDn, 200),
            ("line", Key::Down, 200),
            ("page at the end", Key::PgUp, 200),
        ] {
            if what == "page at the end" {
                update(&mut app, Event::Key(Chord::key(Key::End)));
            }
            if what == "line" {
                // Past the margin, so that each step scrolls.
                for _ in 0..60 {
                    update(&mut app, Event::Key(Chord::key(Key::Down)));
                }
            }
            let cost = walk(&mut app, key, times);
            println!(
                "{layout:>12} {what:>15}: update {:>6.1?} draw {:>6.1?} paint {:>6.1?}, {:>6} bytes; ratatui's output {:>6.1?}, {:>6} bytes: {:.2} x",
                cost.update,
                cost.draw,
                cost.paint,
                cost.bytes,
                cost.ratatui,
                cost.ratatui_bytes,
                cost.bytes as f64 / cost.ratatui_bytes as f64,
            );
        }
        update(&mut app, Event::Key(Chord::char('v')));
        update(&mut app, Event::Key(Chord::key(Key::Home)));
    }
}

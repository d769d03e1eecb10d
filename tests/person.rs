//! A person at the reviewer, without a terminal and without threads: keys in, screens out.

use handback::app::{App, Choices, Chord, Effect, Event, Subject, update};
use handback::content::GitObjects;
use handback::diff::{Limit, Text};
use handback::layout::search_rows;
use handback::log::open::{LogFile, OpenOptions};
use handback::log::source::Stored;
use handback::reader::{ReadOptions, Reader, compare, count_all, whole};
use handback::text;
use handback::view::{Depth, Theme, draw};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub struct Person {
    pub app: App,
    reader: Reader,
    /// Effects that nobody but a terminal can carry out.
    pub left_over: Vec<Effect>,
    /// Kept for as long as the person looks at what stands there.
    pub objects: Option<tempfile::TempDir>,
}

impl Person {
    /// At the embedded demo session.
    pub fn at_demo(size: (u16, u16)) -> Self {
        Self::at_demo_with(size, 1 << 20)
    }

    /// At the demo session, with another limit to the size of files.
    pub fn at_demo_with(size: (u16, u16), max_file_bytes: u64) -> Self {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
        let directory = tempfile::tempdir().unwrap();
        let pack = directory.path().join("objects/pack");
        std::fs::create_dir_all(&pack).unwrap();
        for ending in ["pack", "idx"] {
            let from = assets.join(format!("objects.{ending}"));
            std::fs::copy(from, pack.join(format!("pack-demo.{ending}"))).unwrap();
        }
        let options = ReadOptions {
            objects: vec![directory.path().join("objects")],
            max_file_bytes,
            ..ReadOptions::default()
        };
        let log = std::fs::read(assets.join("session.jsonl")).unwrap();
        let mut person = Self::at(&log, options, size);
        person.objects = Some(directory);
        person
    }

    /// At a log.
    pub fn at(log: &[u8], options: ReadOptions, size: (u16, u16)) -> Self {
        let how = options.open_options();
        let mut reader = Reader::new(options);
        let stored = Stored::Bytes(log.into());
        let log = LogFile::from_stored(Path::new("log"), stored, &how).unwrap();
        reader.read_all(log).unwrap();
        let app = App::new(size, Choices::default());
        let mut person = Self { app, reader, left_over: Vec::new(), objects: None };
        let turns = person.reader.heads(0);
        let info = Box::new(person.reader.info());
        person.see(Event::Info(info));
        person.see(Event::Turns { from: 0, turns });
        person.see(Event::Indexed(true));
        person.look_at_commands();
        person
    }

    /// The log holds more by now.
    pub fn goes_on(&mut self, log: &[u8], options: ReadOptions) {
        self.reader = Reader::new(options);
        let stored = Stored::Bytes(log.into());
        let log = LogFile::from_stored(Path::new("log"), stored, &OpenOptions::default()).unwrap();
        self.reader.read_all(log).unwrap();
        let turns = self.reader.heads(0);
        self.see(Event::Turns { from: 0, turns });
    }

    /// Lets an event happen and everything that follows from it.
    pub fn see(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in update(&mut self.app, event) {
                events.extend(self.perform(effect));
            }
        }
    }

    /// Lets the reader tell of all turns' commands, as it does when nobody asks it anything.
    pub fn look_at_commands(&mut self) {
        let turns: Vec<u32> = self.app.turns.keys().map(|key| key.turn).collect();
        let commands = turns.into_iter().map(|turn| (turn, self.reader.commands(turn))).collect();
        self.see(Event::Commands(commands));
    }

    fn perform(&mut self, effect: Effect) -> Vec<Event> {
        match effect {
            Effect::LoadChanges { turn, revision, base } => {
                let changes = self.reader.changes_against(turn, base);
                let changes = changes.map(|changes| changes.map(Arc::new));
                vec![Event::Changes { turn, revision, base, changes }]
            }
            Effect::FindHistory { request, turn, path } => {
                let touches = self.reader.history(turn, &path);
                vec![Event::History { request, touches }]
            }
            Effect::Count { turn, revision, base, changes } => {
                let found = Mutex::new(Vec::new());
                let objects = self.reader.objects();
                count_all(&objects, None, &changes, None, &Arc::default(), &|counts| {
                    found.lock().unwrap().extend(counts);
                });
                vec![Event::Counted { turn, revision, base, counts: found.into_inner().unwrap() }]
            }
            Effect::LoadCommands { turn } => {
                vec![Event::Commands(vec![(turn, self.reader.commands(turn))])]
            }
            Effect::LoadOutput { request, turn, nth } => {
                let output = self.reader.command_output(turn, nth);
                let output = output.map(|text| Arc::new(Text::new(text.into_bytes().into())));
                vec![Event::Output { request, output }]
            }
            Effect::Compare { request, subject } => {
                let shown = compared(&self.reader.objects(), &subject);
                vec![Event::Compared { request, shown }]
            }
            Effect::Search { request, pattern, comparison, plan } => {
                let rows = search_rows(&comparison, &plan, &pattern, &|| true).unwrap();
                vec![Event::Found { request, rows }]
            }
            other => {
                self.left_over.push(other);
                Vec::new()
            }
        }
    }

    /// Types keys, by name, with blanks between them.
    pub fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            self.see(Event::Key(Chord::parse(key).unwrap_or_else(|| panic!("no key `{key}`"))));
        }
        self
    }

    /// What is on the screen, without blanks at the ends of lines.
    pub fn screen(&self) -> String {
        let (width, height) = self.app.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let theme = Theme::dark(Depth::None);
        let paint = |frame: &mut ratatui::Frame<'_>| {
            draw(&self.app, &theme, frame.buffer_mut());
        };
        terminal.draw(paint).unwrap();
        let buffer = terminal.backend().buffer();
        let mut out = String::new();
        for row in buffer.content.chunks(usize::from(width)) {
            let mut line = String::new();
            let mut hidden = 0;
            for cell in row {
                if hidden > 0 {
                    hidden -= 1;
                    continue;
                }
                line.push_str(cell.symbol());
                hidden = text::width(cell.symbol()).saturating_sub(1);
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// The row of the viewer that the cursor stands on, as text of the new side (else the old).
    pub fn line(&self) -> String {
        let comparison = self.app.viewer.comparison().unwrap();
        let row = self.app.viewer.plan.rows[self.app.viewer.view.cursor];
        let line = match (row.new_line(), row.old()) {
            (Some(line), _) => comparison.new.line(line),
            (None, Some(line)) => comparison.old.line(line),
            (None, None) => b"",
        };
        String::from_utf8_lossy(line).into_owned()
    }
}

fn compared(objects: &GitObjects, subject: &Subject) -> handback::app::Shown {
    match subject {
        Subject::Change(change) => compare(objects, change, &Limit::default()).unwrap(),
        Subject::Anyway(change) => {
            let objects = objects.clone().with_max_file_bytes(u64::MAX);
            compare(&objects, change, &Limit::default()).unwrap()
        }
        Subject::Present(path) => whole(objects, path),
    }
}

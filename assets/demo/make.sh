#!/usr/bin/env bash
# Makes the demo session again: session.jsonl and the git objects of its snapshots (a pack and its
# index). Needs git and python3. The same bytes every time.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null HOME="$work"
git init -q -b main .
snapshot() { git add --all && git write-tree; }

mkdir -p src scripts
cat > README.md <<'END'
# tally

Counts the words of text files.

    tally FILE...
END
cat > src/main.rs <<'END'
//! Counts the words of text files.

use std::{env, fs, process};

fn main() {
    let mut total = 0;
    for path in env::args().skip(1) {
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("tally: {path}: {error}");
                process::exit(1);
            }
        };
        total += text.split_whitespace().count();
    }
    println!("{total}");
}
END
cat > scripts/count.sh <<'END'
#!/bin/sh
# The first version, before there was a program.
cat "$@" | wc -w
END
cat > scripts/check.sh <<'END'
#!/bin/sh
cargo test
END
before1=$(snapshot)

cat > src/count.rs <<'END'
//! Counting.

/// What a text holds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Words, split at white space.
    pub words: usize,
    /// Lines, the last one counted whether or not it ends in a newline.
    pub lines: usize,
}

impl Count {
    /// Counts a text.
    pub fn of(text: &str) -> Self {
        Self { words: text.split_whitespace().count(), lines: text.lines().count() }
    }
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.words += other.words;
        self.lines += other.lines;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_words_and_lines() {
        assert_eq!(Count::of("one two\nthree"), Count { words: 3, lines: 2 });
    }
}
END
cat > src/main.rs <<'END'
//! Counts the words and lines of text files.

use count::Count;
use std::{env, fs, process};

mod count;

fn main() {
    let mut total = Count::default();
    for path in env::args().skip(1) {
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("tally: {path}: {error}");
                process::exit(1);
            }
        };
        let count = Count::of(&text);
        println!("{:>8} {:>8} {path}", count.lines, count.words);
        total += count;
    }
    println!("{:>8} {:>8} total", total.lines, total.words);
}
END
after1=$(snapshot)

git mv -q src/count.rs src/tally.rs 2>/dev/null || { mv src/count.rs src/tally.rs; }
sed -i 's/^\/\/! Counting\.$/\/\/! Counting words and lines./' src/tally.rs
sed -i 's/count::Count/tally::Count/; s/^mod count;/mod tally;/' src/main.rs
rm scripts/count.sh
chmod +x scripts/check.sh
python3 - <<'END'
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\0" + b"".join(bytes((40 * (x // 4), 120, 60 + 4 * y)) for x in range(16)) for y in range(16))
open("logo.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0))
                             + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))
END
after2=$(snapshot)

cat > README.md <<'END'
# tally

Counts the words and lines of text files, and tells the sum.

    tally FILE...

Each file gets a line: lines, words, name. 行数と単語数を数えます。
END
printf 'lines\twords\tfile\n       7       21\tREADME.md\n' > report.tsv
cat > REPORT.md <<'END'
# What changed

- `tally` now counts lines as well as words.
- Each file gets a line of its own; the last line is the sum.
- `scripts/count.sh` is gone: the program does what it did.
END
printf '#!/bin/sh\nset -eu\ncargo test\ncargo clippy' > scripts/check.sh
after3=$(snapshot)

# Every object of the four trees, and no other.
for tree in "$before1" "$after1" "$after2" "$after3"; do
    echo "$tree"
    git ls-tree -r -t "$tree" | awk '{ print $3 }'
done | sort -u > objects
rm -f "$here"/objects.pack "$here"/objects.idx
name=$(git pack-objects -q --threads=1 "$work/pack" < objects)
cp "$work/pack-$name.pack" "$here/objects.pack"
cp "$work/pack-$name.idx" "$here/objects.idx"
chmod 644 "$here"/objects.*

TREES="$before1 $after1 $after2 $after3" python3 - "$here/session.jsonl" <<'END'
import json, os, sys
trees = os.environ["TREES"].split()
out = open(sys.argv[1], "w")
start = 1788258600000
state = {"seq": 0, "time": start}
dump = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False)
out.write(dump({"type": "session", "version": 3, "id": "session-demo", "createdAt": start,
                "cwd": "/home/you/tally", "delegationDepth": 0, "isSeeded": False}) + "\n")

def event(kind, data, wait=700, **more):
    state["time"] += wait
    out.write(dump({"type": kind, "seq": state["seq"], "time": state["time"], "data": data, **more}) + "\n")
    state["seq"] += 1

def call(turn, name, arguments, text="done", meta=None, error=False):
    number = f"call_{state['seq']}"
    event("tool/call", {"turn": turn, "step": 1, "callId": number, "name": name, "arguments": dump(arguments)})
    if name == "present":
        event("deliverables/presented", {"turn": turn, "callId": number, "files": arguments["files"]})
    message = {"role": "tool", "source": {"kind": "tool", "callId": number}, "toolCallId": number,
               "isError": error, "content": [{"type": "text", "text": text}], "id": f"r{state['seq']}"}
    event("tool/result", {"turn": turn, "step": 1, "message": message, **({"meta": meta} if meta else {})})

def turn(number, prompt, work, answer):
    event("turn/start", {"turn": number}, 60000)
    event("user/message", {"id": f"u{number}", "role": "user", "source": {"kind": "user"},
                           "content": [{"type": "text", "text": prompt}]}, surfaceOp="append")
    event("step/start", {"turn": number, "step": 1})
    work(number)
    event("assistant/message", {"turn": number, "step": 1, "message": {"content": [{"type": "text", "text": answer}]}})
    event("step/end", {"turn": number, "step": 1})
    event("workspace/changes", {"turn": number, "snapshot": {"before": trees[number - 1], "after": trees[number]}})
    event("turn/end", {"turn": number, "reason": {"kind": "completed"}})

def first(number):
    call(number, "write", {"file_path": "src/count.rs", "content": "…"}, "Created file")
    call(number, "edit", {"file_path": "src/main.rs", "old_string": "…", "new_string": "…"}, "updated")
    call(number, "bash", {"command": "cargo test"}, "test result: ok. 1 passed; 0 failed")

def second(number):
    call(number, "bash", {"command": "git mv src/count.rs src/tally.rs && rm scripts/count.sh && chmod +x scripts/check.sh"})
    call(number, "edit", {"file_path": "src/main.rs", "old_string": "mod count;", "new_string": "mod tally;"}, "updated")
    call(number, "bash", {"command": "python3 make_logo.py"})

def third(number):
    call(number, "edit", {"file_path": "README.md", "old_string": "…", "new_string": "…"}, "updated")
    call(number, "write", {"file_path": "REPORT.md", "content": "…"}, "Created file")
    call(number, "bash", {"command": "cargo run -- README.md > report.tsv"})
    call(number, "present", {"files": [{"path": "REPORT.md", "description": "What changed, for the team"},
                                       {"path": "report.tsv", "description": "A first run over the README"}]}, "Presented")

event("session/title", {"title": "Count lines too", "messageSeqs": [], "source": {"kind": "user"}})
turn(1, "Count lines as well as words, a line for each file.\nKeep it small.", first, "Done: lines and words, with a test.")
turn(2, "Call the module tally, drop the old shell script, and make me a small logo.", second, "Renamed, removed, drawn.")
turn(3, "Bring the README up to date and write a short report that I can hand on.", third, "The report is REPORT.md.")
END

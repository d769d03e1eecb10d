//! Starts the program.

fn main() -> std::process::ExitCode {
    handback::cli::run()
}

//! A progress bar for long work: on a terminal, and only once it takes a while.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// What takes less is not worth a line.
const PATIENCE: Duration = Duration::from_millis(400);

/// The steps of one piece of work. Nothing is drawn where standard error is no terminal,
/// and what was drawn is gone when it is dropped.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new(steps: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        let later = bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            if !later.is_finished() {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Progress(bar)
    }

    /// More steps than were known.
    pub(super) fn lengthen(&self, steps: u64) {
        self.0.inc_length(steps);
    }

    /// So many steps are done.
    pub(super) fn at(&self, steps: u64, what: &str) {
        self.0.set_message(what.to_string());
        self.0.set_position(steps);
    }

    /// Begins the next step.
    pub(super) fn step(&self, what: &str) {
        self.0.set_message(what.to_string());
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

//! Codes of the stage `schedule`.

use super::codes;

codes! {}

//! Codes of the stage `data`.

use super::codes;

codes! {}

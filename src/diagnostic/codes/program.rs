//! Codes of the stage `program`.

use super::codes;

codes! {}

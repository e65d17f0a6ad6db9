//! Codes of the stage `format`.

use super::codes;

codes! {}

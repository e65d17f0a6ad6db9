//! Codes of the stage `performance`.

use super::codes;

codes! {}

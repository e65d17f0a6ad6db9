//! Codes of the stage `lower`.

use super::codes;

codes! {}

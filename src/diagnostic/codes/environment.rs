//! Codes of the stage `environment`.

use super::codes;

codes! {}

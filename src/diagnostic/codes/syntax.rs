//! Codes of the stage `syntax`.

use super::codes;

codes! {}

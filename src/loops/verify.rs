//! The properties that every kernel must have between passes.

//! TACO notation.

//! What the environment may lack, refuse or interrupt: each time clear words, the right exit
//! code, and nothing left behind.

#![cfg(unix)]

mod case;
mod compilers;
mod interrupts;
mod place;
mod room;

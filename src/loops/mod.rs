//! The loop IR, its verifier, simplifier and printer. Knows nothing of tensors
//! or formats beyond the plain description of a kernel's arguments.

pub mod ahead;
pub mod begins;
pub mod build;
pub mod choice;
pub mod cleared;
pub mod consecutive;
mod constants;
mod copy;
pub mod device;
pub mod effects;
pub mod exceeded;
pub mod extremes;
pub mod interface;
pub mod ir;
pub mod jammed;
pub mod lanes;
pub mod linear;
pub mod operands;
pub mod own;
pub mod passes;
pub mod restored;
pub mod reversed;
mod rooms;
pub mod scans;
pub mod simplify;
pub mod tag;
pub mod text;
pub mod tiles;
pub mod trips;
pub mod uniform;
pub mod verify;
pub mod visit;
pub mod widen;

pub use ahead::make_room_ahead;
pub use begins::begin_in_loops;
pub use cleared::set_first;
pub use consecutive::merge_consecutive;
pub use exceeded::drop_exceeded;
pub use jammed::mark_jammed;
pub use restored::restore_rows;
pub use reversed::mark_reversed;
pub use scans::scan_in_loops;
pub use simplify::{divide_plainly, simplify};
pub use tiles::split_full_tiles;
pub use widen::widen;

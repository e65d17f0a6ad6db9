//! The spelling of what is an enum in the IR.

use crate::loops::interface::Direction;
use crate::loops::ir::{
    Axis, BinaryOp, ErrorCode, GpuLevel, Place, ReduceOp, ScalarType, Storage, Strategy,
};
use crate::operators::Own;

/// The word of a value.
pub(super) fn word<T: PartialEq>(table: &[(T, &'static str)], value: &T) -> &'static str {
    table
        .iter()
        .find(|(known, _)| known == value)
        .map_or("?", |(_, word)| word)
}

/// The value of a word.
pub(super) fn value<T: Copy>(table: &[(T, &str)], word: &str) -> Option<T> {
    let found = table.iter().find(|(_, known)| *known == word);
    found.map(|(value, _)| *value)
}

pub(super) const STORAGES: [(Storage, &str); 5] = [
    (Storage::Input, "input"),
    (Storage::Output, "output"),
    (Storage::Returned, "returned"),
    (Storage::Local, "local"),
    (Storage::Shared, "shared"),
];

pub(super) const DIRECTIONS: [(Direction, &str); 3] = [
    (Direction::In, "in"),
    (Direction::Out, "out"),
    (Direction::InOut, "inout"),
];

pub(super) const ERRORS: [(ErrorCode, &str); 4] = [
    (ErrorCode::OutOfMemory, "out_of_memory"),
    (ErrorCode::IndexOutOfRange, "index_out_of_range"),
    (ErrorCode::IndexOverflow, "index_overflow"),
    (ErrorCode::Changed, "changed"),
];

/// Operators between their operands, with how tightly they bind.
pub(super) const INFIX: [(BinaryOp, &str, u8); 14] = [
    (BinaryOp::Or, "||", 1),
    (BinaryOp::And, "&&", 2),
    (BinaryOp::Eq, "==", 3),
    (BinaryOp::Ne, "!=", 3),
    (BinaryOp::Le, "<=", 3),
    (BinaryOp::Lt, "<", 3),
    (BinaryOp::Ge, ">=", 3),
    (BinaryOp::Gt, ">", 3),
    (BinaryOp::Add, "+", 4),
    (BinaryOp::Sub, "-", 4),
    (BinaryOp::Mul, "*", 5),
    (BinaryOp::FloorDiv, "//", 5),
    (BinaryOp::Div, "/", 5),
    (BinaryOp::Rem, "%", 5),
];

/// Operators written as functions. Those of the language that round or take care of NaN are
/// `fmin` and `fmax`.
pub(super) const PREFIX: [(BinaryOp, &str); 2] = [(BinaryOp::Min, "min"), (BinaryOp::Max, "max")];

pub(super) const PLACES: [(Place, &str); 11] = [
    (Place::Thread, "thread"),
    (Place::Threads, "threads"),
    (Place::BlockIndex(Axis::X), "blockIdx.x"),
    (Place::BlockIndex(Axis::Y), "blockIdx.y"),
    (Place::BlockIndex(Axis::Z), "blockIdx.z"),
    (Place::ThreadIndex(Axis::X), "threadIdx.x"),
    (Place::ThreadIndex(Axis::Y), "threadIdx.y"),
    (Place::ThreadIndex(Axis::Z), "threadIdx.z"),
    (Place::Blocks(Axis::X), "gridDim.x"),
    (Place::Blocks(Axis::Y), "gridDim.y"),
    (Place::Blocks(Axis::Z), "gridDim.z"),
];

pub(super) const UNITS: [((GpuLevel, Axis), &str); 9] = [
    ((GpuLevel::Block, Axis::X), "block.x"),
    ((GpuLevel::Block, Axis::Y), "block.y"),
    ((GpuLevel::Block, Axis::Z), "block.z"),
    ((GpuLevel::Warp, Axis::X), "warp.x"),
    ((GpuLevel::Warp, Axis::Y), "warp.y"),
    ((GpuLevel::Warp, Axis::Z), "warp.z"),
    ((GpuLevel::Thread, Axis::X), "thread.x"),
    ((GpuLevel::Thread, Axis::Y), "thread.y"),
    ((GpuLevel::Thread, Axis::Z), "thread.z"),
];

pub(super) const STRATEGIES: [(Strategy, &str); 2] = [
    (Strategy::Segment, "segment"),
    (Strategy::Parallel, "parallel"),
];

/// The scalar type of this name; aliases are the language's, not the IR's.
pub(super) fn scalar_type(name: &str) -> Option<ScalarType> {
    ScalarType::ALL.into_iter().find(|ty| ty.name() == name)
}

/// Words that begin statements or stand for values or tags, so that no variable or array
/// bears them without its number.
const RESERVED: [&str; 51] = [
    "from", "let", "for", "while", "if", "else", "alloc", "append", "grow", "trim", "declare",
    "slice", "assume", "free", "fill", "sort", "enter", "into", "search", "gallop", "place",
    "fail", "prefetch", "launch", "retry", "aligned", "barrier", "reduce", "segments", "claim",
    "sort_all", "atomic", "in", "by", "to", "of", "max", "min", "inf", "NaN", "true", "false",
    "thread", "threads", "parallel", "vector", "lanes", "unroll", "reversed", "no_jam", "function",
];

pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || matches!(name, "group" | "zeroed" | "select" | "capacity")
}

/// The mark that combines with a variable or an element; `min=` is two tokens.
pub(super) fn assigning(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Add => "+=",
        ReduceOp::Mul => "*=",
        ReduceOp::And => "&&=",
        ReduceOp::Or => "||=",
        ReduceOp::Min | ReduceOp::Max | ReduceOp::Own(_) => "",
    }
}

/// How an operator that reduces is written.
pub(super) fn sign(op: ReduceOp) -> String {
    if let ReduceOp::Own(own) = op {
        own_word(own)
    } else {
        op.sign().to_string()
    }
}

/// The word of an operator that the program declares, which may be called as anything else is.
pub(super) fn own_word(own: Own) -> String {
    format!("op.{}", own.name())
}

//! Data: readers and writers of `.mtx`, `.tns` and `.npy`, packing into any
//! format and back, generators. Knows nothing of the compiler but formats.

pub mod tensor;
pub mod values;

//! Ids: numbers of things that stand in a list.

/// An index into a list of one kind of things, as a type of its own.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of what stands at this index. (No list has more than 32 bits of them.)
            #[must_use]
            pub fn at(index: usize) -> Self {
                $name(u32::try_from(index).unwrap_or(u32::MAX))
            }

            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

pub(crate) use id;

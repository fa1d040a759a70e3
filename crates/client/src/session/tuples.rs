//! Tuples of one to eight parts, for the traits that they have as their parts do.

/// Calls a macro with the names of the parts, once for each size.
macro_rules! for_each_tuple {
    ($implement:ident) => {
        $implement!(A);
        $implement!(A B);
        $implement!(A B C);
        $implement!(A B C D);
        $implement!(A B C D E);
        $implement!(A B C D E F);
        $implement!(A B C D E F G);
        $implement!(A B C D E F G H);
    };
}

pub(super) use for_each_tuple;

//! What if: the same engine over a changed snapshot. [`overrides`] changes it; nothing here decides
//! anything of its own.

pub mod overrides;
pub mod value;

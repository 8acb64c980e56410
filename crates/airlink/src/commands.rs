//! One module per command but `stitch`, which is [`crate::pipe`].

pub mod check;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod help;
pub mod init;
pub mod inspect;
pub mod link;
pub mod opt;
pub mod plan;
pub mod rename;
pub mod run;
pub mod verify;

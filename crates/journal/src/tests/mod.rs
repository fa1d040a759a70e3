//! A journal over disks that behave and disks that do not.

mod backup;
mod bad_disk;
mod calls;
mod crashes;
mod damage;
mod offline;
mod resources;
mod survival;
mod task;

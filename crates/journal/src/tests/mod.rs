//! A journal over disks that behave and disks that do not.

mod bad_disk;
mod crashes;
mod damage;
mod survival;
mod task;

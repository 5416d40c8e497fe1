//! Which tests a project has, and where they stand.

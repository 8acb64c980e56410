//! The launch graph: TOML to buffers, views, launches, host steps; effects and roles.

//! The MCP door, over a real process: what is written to its input, and what comes back.

mod calls;
mod client;
mod ends;
mod input;
mod reload;
mod resources;

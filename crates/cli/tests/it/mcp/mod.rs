//! The MCP door as a real process: input and output.

mod calls;
mod client;
mod ends;
mod input;
mod pressure;
mod reload;
mod resources;

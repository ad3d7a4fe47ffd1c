//! The MCP server of Tabwire: the place for it. Nothing is here yet.

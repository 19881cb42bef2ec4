package mcpserver

// Ordinary returns the request that data is and its id as it came, or nil if it is not read the short way.
var Ordinary = ordinary

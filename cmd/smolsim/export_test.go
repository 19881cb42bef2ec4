package main

// Main is the program, for tests that run it as a process of its own.
var Main = main

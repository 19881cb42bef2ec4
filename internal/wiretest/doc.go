// Package wiretest holds what the tests of the two services' wires share: it replays the transcripts in testdata against a stand-in, over a raw
// connection and without a client, and compares the wire types with their documents.
//
// The form of a transcript is described in testdata/wire/README.md.
package wiretest

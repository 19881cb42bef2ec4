// Package cloudwire holds the bodies that the cloud's machine service reads and writes, as types. They are what lies on the wire and
// nothing more: no defaults, no vocabulary of this project, and no validation but that of what cannot be put into one body.
//
// zz_types.gen.go is generated from api/cloud.yaml and never edited. Written by hand are the tagged unions ([MachineSource], [Network]),
// what comes in two forms ([Command], [MachineList]), and the bodies in which absent, empty and set are three different things or in
// which one field has two names. A request leaves out what is nil, never sending null. Replies decode tolerantly: unknown fields are
// ignored, unknown states, codes and members of a union pass through, and a moment that is none is the zero one.
package cloudwire

//go:generate go tool -modfile=../../../tools/go.mod oapi-codegen -templates ../templates -config oapi.yaml ../../../api/cloud.yaml
//go:generate go tool -modfile=../../../tools/go.mod gofumpt -w zz_types.gen.go

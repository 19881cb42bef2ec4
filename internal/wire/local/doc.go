// Package localwire holds the bodies that the local machine service reads and writes, as types. They are what lies on the wire and
// nothing more: no defaults, no validation, no vocabulary of this project.
//
// zz_types.gen.go is generated from api/local.yaml and never edited. types.go holds the two bodies in which absent, empty and set
// are three different things. A request leaves out what is nil, never sending null. Replies decode tolerantly: unknown fields are
// ignored, unknown states and codes pass through.
package localwire

//go:generate go tool -modfile=../../../tools/go.mod oapi-codegen -templates ../templates -config oapi.yaml ../../../api/local.yaml
//go:generate go tool -modfile=../../../tools/go.mod gofumpt -w zz_types.gen.go

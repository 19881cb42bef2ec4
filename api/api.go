// Package api holds the descriptions of the services' HTTP interfaces that this project wrote for itself. The types in internal/wire are
// generated from them; corrections.md lists where they depart from what the services publish.
package api

import _ "embed"

//go:generate go run -C ../tools ./specjson ../api/local.yaml ../api/zz_local.gen.json
//go:generate go run -C ../tools ./specjson ../api/cloud.yaml ../api/zz_cloud.gen.json

// Local is the OpenAPI document of the local machine service, as YAML.
//
//go:embed local.yaml
var Local []byte

// LocalJSON is [Local] as JSON.
//
//go:embed zz_local.gen.json
var LocalJSON []byte

// Cloud is the OpenAPI document of the cloud's machine service, as YAML.
//
//go:embed cloud.yaml
var Cloud []byte

// CloudJSON is [Cloud] as JSON.
//
//go:embed zz_cloud.gen.json
var CloudJSON []byte

package cloud

import (
	"os"
	"strings"
)

// The environment variables that [OptionsFromEnv] reads.
const (
	EnvToken = "SMOL_CLOUD_TOKEN"
	EnvURL   = "SMOL_CLOUD_URL"
)

// OptionsFromEnv returns options with the key and the address that the environment gives.
//
// The key:
//
//  1. SMOL_CLOUD_TOKEN;
//  2. none, which [New] refuses. What the smol command has stored of a login is not read: that a person is logged in does not mean
//     that a program may spend money.
//
// The address:
//
//  1. SMOL_CLOUD_URL, in any form that [Options].URL takes;
//  2. [DefaultURL].
//
// White space around the values is dropped.
func OptionsFromEnv() *Options {
	return &Options{Token: strings.TrimSpace(os.Getenv(EnvToken)), URL: strings.TrimSpace(os.Getenv(EnvURL))}
}

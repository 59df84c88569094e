// Package examples carries the example configuration, meant to be copied; the demo runs it as it stands here.
package examples

import "embed"

// FS holds .fullsend with its config.yaml and harness files.
//
//go:embed all:.fullsend
var FS embed.FS

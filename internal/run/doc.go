// Package run is the bound run: one harness, one entity, and no sandbox without proof on facts that were read for it.
package run

// Package config reads the polling part of .fullsend/config.yaml, strictly, and says where in the file each fault is.
package config

// Package yamlpos reads one YAML document strictly and knows where in the file every byte of a decoded scalar stands.
package yamlpos

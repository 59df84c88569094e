// Package adapters is the contract between the engine and a provider: what an adapter claims, opens, lists and reads.
package adapters

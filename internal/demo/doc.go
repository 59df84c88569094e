// Package demo shows the whole path on a simulated forge: six example harnesses, two thousand entities, a world that
// changes, and an independent count of who should have got what.
package demo

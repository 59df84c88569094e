// Package layout holds no code: its test keeps the direction in which packages may import each other.
package layout

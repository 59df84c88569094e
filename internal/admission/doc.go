// Package admission decides which elements of an entity count, by the verified current role of whoever wrote them.
package admission

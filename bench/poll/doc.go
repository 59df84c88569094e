// Command poll measures whole cycles of the engine over a simulated forge: the same matches spread over one, a hundred
// and ten thousand harnesses, and many idle scopes in one process.
package main

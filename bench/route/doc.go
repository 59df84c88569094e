// Command route measures the router beside other ways to hold many rules against one entity: plain evaluation, interned
// closures, compiled CEL programs and OPA. Its last line is JSON.
package main

// Command plots draws the measurements of route and poll as SVG.
package main

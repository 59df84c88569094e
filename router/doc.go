// Package router holds many queries against one entity and says who matches, who is undecided and why.
package router
